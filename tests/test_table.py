"""Noisy tables of ballots: costs by enumeration, exact sums and loss distributions."""

import itertools
import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from conftest import cases
from dp_accounting.pld import privacy_loss_distribution
from scipy import stats
from scipy.optimize import brentq
from scipy.special import expit, logsumexp

from sklearn_pate import rdp
from sklearn_pate.accountant import plan_table
from sklearn_pate.aggregators import GaussianMechanism, LaplaceMechanism
from sklearn_pate.exceptions import BudgetExceededError
from sklearn_pate.neighbors.cells import count_ballots
from sklearn_pate.rdp.discrete import GRID, gaussian_table_cost, laplace_table_cost


def shift_divergence(log_pmf, shift, order):
    """D_a between a distribution on the multiples of `table.GRID` and the same, moved."""
    steps = round(shift / rdp.discrete.GRID)
    x = range(-60 * steps - 400, 60 * steps + 400)
    with mp.workdps(40):
        terms = [order * log_pmf(k) + (1 - order) * log_pmf(k - steps) for k in x]
        norm = mp.fsum(mp.exp(log_pmf(k)) for k in x)
        return float(mp.log(mp.fsum(map(mp.exp, terms)) / norm) / (order - 1))


@pytest.mark.parametrize(("scale", "order"), [(0.6, 1.1), (0.6, 30.0), (3.0, 2.0), (3.0, 8.0)])
def test_a_moved_entry_by_40_digits(monkeypatch, scale, order):
    monkeypatch.setattr(rdp.discrete, "GRID", 0.125)  # sums over 2**20 steps would take long
    rate = mp.mpf(0.125) / scale

    def log_pmf(k):
        return -abs(k) * rate

    whole = shift_divergence(log_pmf, 1, order)
    assert whole <= laplace_table_cost(scale, 1, [order]).rdp[0] <= whole * (1 + 1e-9) + 1e-12
    for share in (0.125, 0.5, 0.875):  # a part of a ballot costs no more than that part
        assert shift_divergence(log_pmf, share, order) <= share * whole * (1 + 1e-12)


@pytest.mark.parametrize("scale", [0.3, 2.0, 40.0, 1e4])
def test_fine_steps_cost_what_real_numbers_do(scale):
    orders = rdp.DEFAULT_ORDERS
    fine, real = (laplace_table_cost(scale, 1, orders, discrete=kind).rdp for kind in (True, False))
    np.testing.assert_allclose(fine, real, rtol=1e-5, atol=1e-12)
    for order, cost in zip(orders[::40], real[::40], strict=True):
        with mp.workdps(40):
            a, t = mp.mpf(float(order)), 1 / mp.mpf(scale)
            power = a * mp.exp((a - 1) * t) + (a - 1) * mp.exp(-a * t)
            exact = mp.log(power / (2 * a - 1)) / (a - 1)
        assert exact <= cost <= exact * (1 + mp.mpf("1e-9")) + mp.mpf("1e-12")


@pytest.mark.parametrize("n_changed", [1, 2, 6])
@pytest.mark.parametrize("scale", [0.5, 2.0, 7.3, 1e3])
def test_pure_epsilon_is_that_of_the_noise_that_is_drawn(scale, n_changed):
    exact = n_changed * Fraction(GRID / scale) / Fraction(GRID)
    cost = laplace_table_cost(scale, n_changed)
    assert exact <= cost.pure <= exact * (1 + Fraction(2, 10**16)) and (cost.rdp <= cost.pure).all()


@pytest.mark.parametrize("epsilon", [0.05, 1 / 3, 0.7, 4.0])
@pytest.mark.parametrize("n_changed", [1, 2, 3])
def test_calibrated_laplace_noise_spends_the_cap_and_no_delta(epsilon, n_changed):
    public = {"n_changed": n_changed, "n_rows": 9, "delta": 1e-5}
    plan = plan_table(LaplaceMechanism(), epsilon=epsilon, **public)
    assert epsilon * (1 - 1e-15) <= plan.epsilon <= epsilon
    assert (plan.delta, plan.method) == (0.0, "pure")


@cases(
    "mechanism",
    GaussianMechanism(),
    GaussianMechanism(noise="continuous"),
    LaplaceMechanism(noise="continuous"),
)
def test_calibrated_noise_spends_the_cap_at_delta(mechanism):
    plan = plan_table(mechanism, n_changed=2, n_rows=9, epsilon=0.8, delta=1e-5)
    assert 0.8 * (1 - 1e-6) <= plan.epsilon <= 0.8 and plan.delta == 1e-5
    assert plan.method == ("gaussian" if isinstance(mechanism, GaussianMechanism) else "pure")


def test_noise_that_costs_more_than_the_cap_is_refused():
    with pytest.raises(BudgetExceededError, match=r"costs epsilon=1, more than the cap"):
        plan_table(LaplaceMechanism(2.0), n_changed=2, n_rows=9, epsilon=0.9, delta=1e-5)
    with pytest.raises(ValueError, match="epsilon is None"):
        plan_table(LaplaceMechanism(), n_changed=2, n_rows=9, epsilon=None, delta=1e-5)
    plan = plan_table(LaplaceMechanism(2.0), n_changed=2, n_rows=9, epsilon=None, delta=1e-5)
    assert plan.epsilon == 1.0


@pytest.mark.parametrize("n_changed", [1, 2, 4])
@pytest.mark.parametrize("scale", [3.0, 10.0])
def test_several_tables_against_loss_distributions(n_changed, scale):
    # each of 5 tables: as many entries as can change, each by a whole ballot
    step = {"value_discretization_interval": 1e-4}
    one = privacy_loss_distribution.from_laplace_mechanism(scale, sensitivity=1, **step)
    exact = one.self_compose(5 * n_changed).get_epsilon_for_delta(1e-5)
    epsilon, _ = laplace_table_cost(scale, n_changed).times(5).epsilon(1e-5)
    assert exact * (1 - 1e-3) <= epsilon <= 1.25 * exact
    given = {"sensitivity": math.sqrt(n_changed)} | step
    one = privacy_loss_distribution.from_gaussian_mechanism(scale, **given)
    exact = one.self_compose(5).get_epsilon_for_delta(1e-5)
    for discrete in (False, True):
        epsilon, _ = gaussian_table_cost(scale, n_changed, discrete=discrete).times(5).epsilon(1e-5)
        assert exact * (1 - 1e-3) <= epsilon <= 1.1 * exact


# --- discrete Gaussian noise at the price of continuous noise ------------------------------------


def outcomes_of(steps, moves):
    """Log probabilities and privacy losses of discrete Gaussian noise on numbers that move."""
    log_pmf = np.zeros(1)
    loss = np.zeros(1)
    for move in moves:
        far = math.ceil(9 * steps) + move
        x = np.arange(-far, far + 1)
        log_weight = -(x**2) / (2 * steps**2)
        log_pmf = np.add.outer(log_pmf, log_weight - logsumexp(log_weight)).ravel()
        loss = np.add.outer(loss, (move**2 - 2 * move * x) / (2 * steps**2)).ravel()
    return log_pmf, loss


def exact_delta(epsilon, log_pmf, loss):
    """Delta by the sum over all outcomes, whose terms are all above 0."""
    above = loss > epsilon
    return np.sum(np.exp(log_pmf[above]) * -np.expm1(epsilon - loss[above]))


@cases(
    "steps, moves",
    *((2.5, [1]), (3.0, [2]), (8.0, [1]), (8.3, [5]), (20.0, [40]), (64.0, [17])),
    *((3.0, [1, 2]), (8.0, [1, 3]), (20.0, [8, 8]), (3.0, [1, 1, 4]), (4.0, [3, 2, 1])),
)
def test_discrete_gaussian_noise_by_sums_over_all_outcomes(steps, moves):
    norm = math.sqrt(sum(move**2 for move in moves))
    outcomes = outcomes_of(steps, moves)
    pure = 0.7  # of one step beside, the one that costs most
    for epsilon in np.linspace(0, 4 * norm / steps + (norm / steps) ** 2, 10):
        alone = exact_delta(epsilon, *outcomes)
        both = expit(pure) * exact_delta(epsilon - pure, *outcomes)
        both += expit(-pure) * exact_delta(epsilon + pure, *outcomes)
        for tau in (0.5, 0.7, 1.0, 2.0):
            mu = math.sqrt(rdp.discrete_gaussian_mu_squared([steps], [round(norm**2)], tau=tau))
            claimed = rdp.pure_and_gdp_delta(epsilon, pure=0.0, mu=mu)
            assert alone <= claimed and both <= rdp.pure_and_gdp_delta(epsilon, pure=pure, mu=mu)
            if tau >= 1 and steps >= 64:
                assert alone >= 0.99 * claimed


@pytest.mark.parametrize(
    ("steps", "move", "delta", "least"),
    [(0.7, 1, 1e-5, 0.04), (1.0, 1, 1e-3, 0.04), (2.0, 2, 1e-2, 0.01), (8.0, 2, 1e-2, 5e-4)],
)
def test_coarse_noise_costs_more_than_continuous_noise(steps, move, delta, least):
    same = rdp.gdp_to_epsilon(move / steps, delta)
    outcomes = outcomes_of(steps, [move])
    exact = brentq(lambda epsilon: exact_delta(epsilon, *outcomes) - delta, 0, 100)
    assert exact > (1 + least) * same
    mu_squared = rdp.discrete_gaussian_mu_squared([steps], [move**2])
    assert rdp.gdp_to_epsilon(math.sqrt(mu_squared), delta) >= exact


@pytest.mark.parametrize("tau", [0.5, 0.6, 0.8])
def test_discrete_noise_is_rounded_continuous_noise_but_for_eta(tau):
    steps = 3.0
    u, z = np.arange(-40, 40, 0.01), np.arange(-60, 61)
    rounded = np.exp(-((z - u[:, None]) ** 2) / (2 * tau**2))
    norms = rounded.sum(axis=1) / (tau * math.sqrt(2 * math.pi))
    r = np.abs(norms - 1).max()
    two_steps = np.exp(-(u**2) / (2 * (steps**2 - tau**2))) @ (rounded / norms[:, None])
    at_once = np.exp(-(z**2) / (2 * steps**2))
    ratio = (two_steps / two_steps.sum() / (at_once / at_once.sum()))[abs(z) <= 20]
    mu = math.sqrt(rdp.discrete_gaussian_mu_squared([steps], [1], tau=tau))
    eta = (mu * math.sqrt(steps**2 - tau**2) - 1) / (math.sqrt(2 * math.pi) * steps)
    assert 0.99 * eta <= math.log((1 + r) / (1 - r)) <= eta * (1 + 1e-9)
    assert np.abs(np.log(ratio)).max() <= eta


def test_the_parameter_of_discrete_gaussian_noise_is_rounded_up():
    for steps, squares in [(2.5, 1), (1e3, 7), (2.0**55, 2**81), (1e9 * 2**20, 3 * 2**40)]:
        exact = Fraction(squares) / (Fraction(steps) ** 2 - 4)
        found = Fraction(rdp.discrete_gaussian_mu_squared([steps], [squares]))
        assert exact < found < exact * (1 + Fraction(1, 2**51))
    groups = rdp.discrete_gaussian_mu_squared([30.0, 50.0, 1.0], [4, 9, 0])
    assert groups == pytest.approx(4 / (900 - 4) + 9 / (2500 - 4), rel=1e-15)
    assert rdp.discrete_gaussian_mu_squared([30.0, 2.0], [4, 1]) == math.inf
    assert rdp.discrete_gaussian_mu_squared([math.nan], [1]) == math.inf
    with pytest.raises(ValueError, match="tau must be at least 0.5"):
        rdp.discrete_gaussian_mu_squared([30.0], [4], tau=0.4)
    with pytest.raises(ValueError, match="squared_moves must hold numbers of at least 0"):
        rdp.discrete_gaussian_mu_squared([30.0, 30.0], [4, -1])
    pytest.raises(TypeError, rdp.discrete_gaussian_mu_squared, [30.0], [4.5])


@pytest.mark.parametrize("n_changed", [1, 2, 6])
def test_a_discrete_table_costs_what_a_continuous_one_does(n_changed):
    for sigma in (0.01, 0.5, 3.0, 1e3, 1e9):
        kinds = True, False
        discrete, real = (gaussian_table_cost(sigma, n_changed, discrete=kind) for kind in kinds)
        excess = (2 * GRID / sigma) ** 2
        assert real.mu_squared <= discrete.mu_squared
        assert discrete.mu_squared == pytest.approx(real.mu_squared * (1 + excess), rel=1e-14)
        np.testing.assert_array_equal(discrete.rdp, real.rdp)
    assert gaussian_table_cost(2 * GRID, n_changed).mu_squared == math.inf


# --- all tables of few records -------------------------------------------------------------------

N_CELLS = 3
N_CLASSES = 2


def tables_of(records, n_neighbors, weights, by_group):
    """The table of records, each a cell, a class and a group."""
    if not records:
        return np.zeros((N_CELLS, N_CLASSES))
    cell, code, group = np.array(records).T
    cells = (cell[:, None] + np.arange(n_neighbors)) % N_CELLS  # the cell and the next ones
    cells[cell < 0] = -1  # a record that casts no ballot
    given = {"sample_weight": None if weights is None else np.array(weights)[cell]}
    given["groups"] = np.unique(group, return_inverse=True)[1] if by_group else None
    return count_ballots(cells, code, n_cells=N_CELLS, n_classes=N_CLASSES, **given) * GRID


ALL_RECORDS = list(itertools.product([-1, 0, 1, 2], [0, 1]))


def neighbours(n_records, adjacency):
    """Pairs of data sets that differ in one record, as the adjacency says."""
    for others in itertools.combinations_with_replacement(ALL_RECORDS, n_records - 1):
        for one in ALL_RECORDS:
            with_one = [(*record, number) for number, record in enumerate([*others, one])]
            if adjacency == "add_or_remove":
                yield with_one, with_one[:-1]
                continue
            for other in ALL_RECORDS:
                yield with_one, [*with_one[:-1], (*other, n_records - 1)]


@pytest.mark.parametrize("weights", [None, [0.3, 1.7, -2.0, 0.999]])
@pytest.mark.parametrize("n_neighbors", [1, 2, 3])
@pytest.mark.parametrize(("adjacency", "moved"), [("replace", 2), ("add_or_remove", 1)])
def test_a_record_changes_no_more_than_it_says(adjacency, moved, n_neighbors, weights):
    reached = 0.0
    for before, after in neighbours(3, adjacency):
        before = tables_of(before, n_neighbors, weights, by_group=False)
        after = tables_of(after, n_neighbors, weights, by_group=False)
        change = np.abs(before - after)
        assert change.max(initial=0) <= 1 and change.sum() <= moved * n_neighbors
        reached = max(reached, change.sum())
    if weights is None:
        assert reached == moved * n_neighbors  # and not less


@pytest.mark.parametrize("n_neighbors", [1, 2])
@pytest.mark.parametrize(("adjacency", "moved"), [("replace", 2), ("add_or_remove", 1)])
def test_a_group_changes_no_more_than_one_record(adjacency, moved, n_neighbors):
    rng = np.random.default_rng(0)
    reached = 0.0

    def some(number, least, most):
        picked = rng.integers(len(ALL_RECORDS), size=rng.integers(least, most))
        return [(*ALL_RECORDS[k], number) for k in picked]

    for _ in range(1000):
        others = some(0, 0, 4) + some(1, 0, 4)
        before = others + some(2, 1, 6)
        after = others + (some(2, 1, 6) if adjacency == "replace" else [])
        before, after = (tables_of(part, n_neighbors, None, True) for part in (before, after))
        change = np.abs(before - after)
        assert change.max(initial=0) <= 1 and change.sum() <= moved * n_neighbors
        reached = max(reached, change.sum())
    assert reached > 0.9 * moved * n_neighbors


def test_the_order_of_records_makes_no_difference():
    rng = np.random.default_rng(0)
    cells, codes = rng.integers(0, 5, size=(300, 2)), rng.integers(0, 3, size=300)
    weight, groups = rng.random(300), rng.integers(0, 40, size=300)
    counted = []
    for rows in (np.arange(300), rng.permutation(300)):
        given = {"sample_weight": weight[rows], "groups": groups[rows]}
        counted.append(count_ballots(cells[rows], codes[rows], n_cells=5, n_classes=3, **given))
    first, second = counted
    np.testing.assert_array_equal(first, second)
    assert first.dtype == np.int64


# --- what is drawn -------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", ["discrete", "continuous"])
@cases("mechanism, law", (LaplaceMechanism, stats.laplace), (GaussianMechanism, stats.norm))
def test_the_noise_follows_its_law(mechanism, law, noise, global_random_seed):
    """Finds noise that is 4 % too small or too large."""
    counts = np.arange(60_000).reshape(-1, 3) % 50
    mechanism = mechanism(3.0, noise)
    noisy = mechanism.noisy(counts, random_state=global_random_seed)
    assert stats.kstest((noisy - counts).ravel(), law(scale=3).cdf).pvalue > 1e-7
    assert mechanism.noise_std == pytest.approx((noisy - counts).std(), rel=0.03)
    assert (noisy / GRID == np.round(noisy / GRID)).all()


@pytest.mark.parametrize("mechanism", [LaplaceMechanism, GaussianMechanism])
def test_tables_and_noise_that_cannot_be_are_refused(mechanism):
    pytest.raises(ValueError, mechanism(3.0).noisy, [[0.1, 3.0]]).match("multiples of 2")
    pytest.raises(ValueError, mechanism().noisy, [[1.0, 3.0]]).match("calibrates it")
    for size in (0.0, 1e-300, 2.0**-21, 2e9, math.inf, math.nan):
        for call in (lambda m: m.cost(2), lambda m: m.noisy([[1.0, 3.0]])):
            pytest.raises(ValueError, call, mechanism(size)).match("must be a float in the range")
    for size in (2.0**-20, 1e9):  # the least and the most
        noisy = mechanism(size).noisy(np.zeros((50, 2)), random_state=0)
        assert size / 3 < np.abs(noisy).mean() < 3 * size and mechanism(size).cost(2).rdp.min() > 0


@pytest.mark.parametrize("mechanism", [LaplaceMechanism, GaussianMechanism])
def test_noise_that_is_yet_to_be_set_has_no_deviation(mechanism):
    assert mechanism().noise_std is None
    assert mechanism(2.0).noise_std > 0


@pytest.mark.parametrize("epsilon", [1e-12, 1e-9, 1e20])
@pytest.mark.parametrize("mechanism", [LaplaceMechanism(), GaussianMechanism()])
def test_an_epsilon_out_of_reach_is_named(mechanism, epsilon):
    with pytest.raises(ValueError, match="cannot be calibrated to epsilon=1e") as caught:
        plan_table(mechanism, n_changed=2, n_rows=9, epsilon=epsilon, delta=1e-12)
    assert "in the range" not in str(caught.value) and caught.value.__context__ is None
