"""Noisy tables of ballots: their costs by enumeration, 40-digit sums and loss distributions."""

import itertools
import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution
from scipy import stats
from sklearn.base import BaseEstimator

from sklearn_pate.accountant import plan_table
from sklearn_pate.aggregators import GaussianMechanism, LaplaceMechanism
from sklearn_pate.exceptions import BudgetExceededError
from sklearn_pate.neighbors.ballots import count_ballots
from sklearn_pate.rdp import DEFAULT_ORDERS, table
from sklearn_pate.rdp.table import GRID, gaussian_table_cost, laplace_table_cost

ORDERS = np.array([1.1, 2.0, 8.0, 50.0, 1000.0])


def shift_divergence(log_pmf, shift, order):
    """D_a between a distribution on the multiples of `table.GRID` and the same, moved."""
    steps = round(shift / table.GRID)
    x = range(-60 * steps - 400, 60 * steps + 400)
    with mp.workdps(40):
        terms = [order * log_pmf(k) + (1 - order) * log_pmf(k - steps) for k in x]
        norm = mp.fsum(mp.exp(log_pmf(k)) for k in x)
        return float(mp.log(mp.fsum(map(mp.exp, terms)) / norm) / (order - 1))


@pytest.mark.parametrize(("scale", "order"), [(0.6, 1.1), (0.6, 30.0), (3.0, 2.0), (3.0, 8.0)])
def test_a_moved_entry_by_40_digits(monkeypatch, scale, order):
    monkeypatch.setattr(table, "GRID", 0.125)  # sums over 2**20 steps would take long
    rate = mp.mpf(0.125) / scale

    def log_pmf(k):
        return -abs(k) * rate

    whole = shift_divergence(log_pmf, 1, order)
    cost = laplace_table_cost(scale, 1, [order])
    assert whole <= cost.rdp[0] <= whole * (1 + 1e-9) + 1e-12
    for share in (0.125, 0.5, 0.875):  # a part of a ballot costs no more than that part
        assert shift_divergence(log_pmf, share, order) <= share * whole * (1 + 1e-12)


@pytest.mark.parametrize("scale", [0.3, 2.0, 40.0, 1e4])
def test_fine_steps_cost_what_real_numbers_do(scale):
    orders = DEFAULT_ORDERS
    real = laplace_table_cost(scale, 1, orders, discrete=False).rdp
    np.testing.assert_allclose(
        laplace_table_cost(scale, 1, orders).rdp, real, rtol=1e-5, atol=1e-12
    )
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
    assert exact <= cost.pure <= exact * (1 + Fraction(2, 10**16))
    assert (cost.rdp <= cost.pure).all()


@pytest.mark.parametrize("epsilon", [0.05, 1 / 3, 0.7, 4.0])
@pytest.mark.parametrize("n_changed", [1, 2, 3])
def test_calibrated_laplace_noise_spends_the_cap_and_no_delta(epsilon, n_changed):
    plan = plan_table(
        LaplaceMechanism(), n_changed=n_changed, n_rows=9, epsilon=epsilon, delta=1e-5
    )
    assert epsilon * (1 - 1e-15) <= plan.epsilon <= epsilon
    assert (plan.delta, plan.method) == (0.0, "pure")


@pytest.mark.parametrize(
    "mechanism",
    [
        GaussianMechanism(),
        GaussianMechanism(noise="continuous"),
        LaplaceMechanism(noise="continuous"),
    ],
)
def test_calibrated_noise_spends_the_cap_at_delta(mechanism):
    plan = plan_table(mechanism, n_changed=2, n_rows=9, epsilon=0.8, delta=1e-5)
    assert 0.8 * (1 - 1e-6) <= plan.epsilon <= 0.8
    assert plan.delta == 1e-5


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
    one = privacy_loss_distribution.from_laplace_mechanism(
        scale, sensitivity=1, value_discretization_interval=1e-4
    )
    exact = one.self_compose(5 * n_changed).get_epsilon_for_delta(1e-5)
    epsilon, _ = laplace_table_cost(scale, n_changed).times(5).epsilon(1e-5)
    assert exact * (1 - 1e-3) <= epsilon <= 1.25 * exact
    one = privacy_loss_distribution.from_gaussian_mechanism(
        scale, sensitivity=math.sqrt(n_changed), value_discretization_interval=1e-4
    )
    exact = one.self_compose(5).get_epsilon_for_delta(1e-5)
    for discrete in (False, True):
        cost = gaussian_table_cost(scale, n_changed, discrete=discrete)
        epsilon, _ = cost.times(5).epsilon(1e-5)
        assert exact * (1 - 1e-3) <= epsilon <= 1.1 * exact


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
    shares = count_ballots(
        cells,
        code,
        n_cells=N_CELLS,
        n_classes=N_CLASSES,
        sample_weight=None if weights is None else np.array(weights)[cell],
        groups=np.unique(group, return_inverse=True)[1] if by_group else None,
    )
    return shares * GRID


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
        assert change.max(initial=0) <= 1
        assert change.sum() <= moved * n_neighbors
        reached = max(reached, change.sum())
    if weights is None:
        assert reached == moved * n_neighbors  # and not less


@pytest.mark.parametrize("n_neighbors", [1, 2])
@pytest.mark.parametrize(("adjacency", "moved"), [("replace", 2), ("add_or_remove", 1)])
def test_a_group_changes_no_more_than_one_record(adjacency, moved, n_neighbors):
    rng = np.random.default_rng(0)
    reached = 0.0
    for _ in range(1000):

        def some(number, size):
            picked = rng.integers(len(ALL_RECORDS), size=size)
            return [(*ALL_RECORDS[k], number) for k in picked]

        others = some(0, rng.integers(0, 4)) + some(1, rng.integers(0, 4))
        before = others + some(2, rng.integers(1, 6))
        after = others
        if adjacency == "replace":
            after = others + some(2, rng.integers(1, 6))
        before, after = (tables_of(part, n_neighbors, None, True) for part in (before, after))
        change = np.abs(before - after)
        assert change.max(initial=0) <= 1
        assert change.sum() <= moved * n_neighbors
        reached = max(reached, change.sum())
    assert reached > 0.9 * moved * n_neighbors


def test_the_order_of_records_makes_no_difference():
    rng = np.random.default_rng(0)
    cells, codes = rng.integers(0, 5, size=(300, 2)), rng.integers(0, 3, size=300)
    weight, groups = rng.random(300), rng.integers(0, 40, size=300)
    first, second = (
        count_ballots(
            *(cells[rows], codes[rows]),
            n_cells=5,
            n_classes=3,
            sample_weight=weight[rows],
            groups=groups[rows],
        )
        for rows in (np.arange(300), rng.permutation(300))
    )
    np.testing.assert_array_equal(first, second)
    assert first.dtype == np.int64


# --- what is drawn -------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", ["discrete", "continuous"])
@pytest.mark.parametrize(
    ("mechanism", "law"), [(LaplaceMechanism, stats.laplace), (GaussianMechanism, stats.norm)]
)
def test_the_noise_follows_its_law(mechanism, law, noise, global_random_seed):
    """Finds noise that is 4 % too small or too large."""
    counts = np.arange(60_000).reshape(-1, 3) % 50
    mechanism = mechanism(3.0, noise)
    noisy = mechanism.noisy(counts, random_state=global_random_seed)
    assert stats.kstest((noisy - counts).ravel(), law(scale=3).cdf).pvalue > 1e-7
    assert mechanism.noise_std == pytest.approx((noisy - counts).std(), rel=0.03)
    assert (noisy / GRID == np.round(noisy / GRID)).all()


@pytest.mark.parametrize("mechanism", [LaplaceMechanism, GaussianMechanism])
def test_tables_that_are_not_on_the_grid_are_refused(mechanism):
    with pytest.raises(ValueError, match="multiples of 2"):
        mechanism(3.0).noisy([[0.1, 3.0]])
    with pytest.raises(ValueError, match="calibrates it"):
        mechanism().noisy([[1.0, 3.0]])


@pytest.mark.parametrize("mechanism", [LaplaceMechanism, GaussianMechanism])
def test_noise_that_is_yet_to_be_set_has_no_deviation(mechanism):
    unset = mechanism()
    assert not hasattr(unset, "noise_std")
    with pytest.raises(AttributeError, match="has no noise yet: PATEClassifier calibrates it"):
        unset.noise_std  # noqa: B018
    is_filtered = "__dir__" in vars(BaseEstimator)  # by newer versions of scikit-learn
    assert "noise_std" not in dir(unset) or not is_filtered
    assert "noise_std" in dir(mechanism(2.0))


@pytest.mark.parametrize("size", [0.0, 1e-300, 2.0**-21, 2e9, math.inf, math.nan])
@pytest.mark.parametrize("mechanism", [LaplaceMechanism, GaussianMechanism])
def test_noise_that_is_none_or_drowns_all_is_refused(mechanism, size):
    for call in (lambda m: m.cost(2), lambda m: m.noisy([[1.0, 3.0]])):
        with pytest.raises(ValueError, match="must be a float in the range"):
            call(mechanism(size))


@pytest.mark.parametrize("size", [2.0**-20, 1e9])
@pytest.mark.parametrize("mechanism", [LaplaceMechanism, GaussianMechanism])
def test_the_least_and_the_most_noise_can_be_drawn(mechanism, size):
    noisy = mechanism(size).noisy(np.zeros((50, 2)), random_state=0)
    assert size / 3 < np.abs(noisy).mean() < 3 * size
    assert mechanism(size).cost(2).rdp.min() > 0


@pytest.mark.parametrize("epsilon", [1e-12, 1e-9, 1e20])
@pytest.mark.parametrize("mechanism", [LaplaceMechanism(), GaussianMechanism()])
def test_an_epsilon_out_of_reach_is_named(mechanism, epsilon):
    with pytest.raises(ValueError, match="cannot be calibrated to epsilon=1e") as caught:
        plan_table(mechanism, n_changed=2, n_rows=9, epsilon=epsilon, delta=1e-5)
    assert "in the range" not in str(caught.value)
    assert caught.value.__context__ is None
