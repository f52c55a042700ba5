"""Branches: the cost of one of several steps that an earlier release chooses."""

import dataclasses
import itertools
import math

import mpmath as mp
import numpy as np
import pytest
from conftest import cases
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm
from sklearn.naive_bayes import GaussianNB

from sklearn_pate import PATEClassifier, PrivacySpent
from sklearn_pate.accounting import PrivacyForecast
from sklearn_pate.accounting.plan import Branch, Plan
from sklearn_pate.aggregators import GNMax
from sklearn_pate.audit.bounds import bound_by_samples
from sklearn_pate.ledger import PrivacyLedger
from sklearn_pate.ledger.file import read_costs, transaction
from sklearn_pate.rdp import (
    DEFAULT_ORDERS,
    Contribution,
    Cost,
    gdp_mu,
    gdp_to_epsilon,
    least_scales,
    pure_rdp,
    pure_to_gdp,
)
from sklearn_pate.rdp.branches import branches_delta
from sklearn_pate.rdp.conversion import epsilon_by_order
from sklearn_pate.rdp.cost import no_cost
from sklearn_pate.rdp.discrete import gaussian_table_cost, laplace_table_cost
from sklearn_pate.releases.labels import LabelsRelease

ORDERS = DEFAULT_ORDERS


def gaussian(mu, orders=ORDERS):
    return Cost(orders * mu**2 / 2, mu**2, math.inf)


def pure(epsilon, orders=ORDERS):
    return Cost(pure_rdp(epsilon, orders), pure_to_gdp(epsilon) ** 2, epsilon)


def delta_at(epsilon, earlier, branches):
    return branches_delta(epsilon, earlier=earlier, branches=branches, orders=ORDERS)


#: Numbers of THEORY: a tenth of mu**2, then Gaussian sums or Laplace votes, each path (1, 1e-5)
MU = gdp_mu(1.0, 1e-5)
FIRST, SUMS, VOTES = gaussian(MU * 0.1**0.5), gaussian(MU * 0.9**0.5), pure(0.72437)


# --- the curves and the integral, re-derived ------------------------------------------------------


def sums_delta(e, mu):
    """Return the delta of Gaussian noise at any epsilon."""
    return norm.cdf(mu / 2 - e / mu) - math.exp(e) * norm.cdf(-mu / 2 - e / mu)


def votes_delta(e, epsilon):
    """Return the delta of randomised response at any epsilon, by a sum over its outcomes."""
    p = 1 / (1 + math.exp(-epsilon))
    return max(p - math.exp(e) * (1 - p), 0) + max(1 - p - math.exp(e) * p, 0)


def step_delta(e, step):
    kind, size = step
    return sums_delta(e, size) if kind == "gaussian" else votes_delta(e, size)


def integral(epsilon, mu, steps):
    """Return E[max_b delta_b(epsilon - L)] over the loss of Gaussian noise, by quadrature."""

    def integrand(z):
        loss = mu**2 / 2 + mu * z
        return norm.pdf(z) * max(step_delta(epsilon - loss, step) for step in steps)

    # Kinks are where the curves cross and where randomised response has none left
    grid = np.linspace(-10, 12, 45)
    return sum(
        quad(integrand, a, b, epsabs=1e-18, epsrel=1e-9, limit=200)[0]
        for a, b in zip(grid, grid[1:], strict=False)
    )


def cost_of(step):
    kind, size = step
    return gaussian(size) if kind == "gaussian" else pure(size)


def test_branches_cost_more_than_each_path():
    paths = [FIRST.plus(cost).epsilon(1e-5)[0] for cost in (SUMS, VOTES)]
    assert paths == pytest.approx([1.0, 1.0], abs=1e-5)
    total = FIRST.plus(Cost.worst_of([SUMS, VOTES]))
    epsilon, composition = total.epsilon(1e-5)
    assert composition == "branches"
    assert epsilon == pytest.approx(1.0249, abs=1e-4)
    assert delta_at(1.0, FIRST, [SUMS, VOTES]) == pytest.approx(1.98e-5, rel=1e-3)


def test_branches_delta_equals_a_quadrature_in_thirty_digits():
    mu0, mu, size = math.sqrt(FIRST.mu_squared), math.sqrt(SUMS.mu_squared), VOTES.pure
    with mp.workdps(30):

        def of_sums(e):
            return mp.ncdf(mu / 2 - e / mu) - mp.exp(e) * mp.ncdf(-mp.mpf(mu) / 2 - e / mu)

        def of_votes(e):
            p = 1 / (1 + mp.exp(-mp.mpf(size)))
            return max(p - mp.exp(e) * (1 - p), 0) + max(1 - p - mp.exp(e) * p, 0)

        def integrand(z):
            e = 1 - mp.mpf(mu0) ** 2 / 2 - mu0 * z
            return mp.npdf(z) * max(of_sums(e), of_votes(e))

        def place_of(e):
            return (1 - e - mp.mpf(mu0) ** 2 / 2) / mu0

        crossing = mp.findroot(lambda e: of_sums(e) - of_votes(e), (0.6, 0.72), solver="anderson")
        kinks = sorted([place_of(crossing), place_of(mp.mpf(size)), mp.mpf(-9), mp.mpf(14)])
        points = sorted([*kinks, *map(mp.mpf, range(-8, 14, 2))])
        exact = float(mp.quad(integrand, points))
    assert exact <= delta_at(1.0, FIRST, [SUMS, VOTES]) <= exact * (1 + 3e-5)


STEP = st.one_of(
    st.tuples(st.just("gaussian"), st.floats(0.03, 1.5)),
    st.tuples(st.just("pure"), st.floats(0.05, 3.0)),
)


@settings(max_examples=12, deadline=None)
@given(st.floats(0.02, 1.2), st.lists(STEP, min_size=1, max_size=4), st.floats(0.05, 3.0))
def test_branches_delta_is_never_below_the_integral_and_close_to_it(mu, steps, epsilon):
    exact = integral(epsilon, mu, steps)
    found = delta_at(epsilon, gaussian(mu), [cost_of(step) for step in steps])
    assert found >= exact * (1 - 1e-8) - 1e-15
    assert found <= exact * (1 + 2e-3) + 1e-15


def path_delta(epsilon, mu, pures):
    """Return the delta of Gaussian noise and of randomised responses, by a sum over outcomes."""
    total = 0.0
    for signs in itertools.product((1, -1), repeat=len(pures)):
        losses = [sign * size for sign, size in zip(signs, pures, strict=True)]
        chance = math.prod(1 / (1 + math.exp(-loss)) for loss in losses)
        left = epsilon - sum(losses)
        total += chance * (sums_delta(left, mu) if mu > 0 else max(1 - math.exp(left), 0.0))
    return total


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from([0.0, 0.05, 0.3, 1.2]),
    st.sampled_from([0.0, 0.1, 0.8]),
    st.lists(STEP, min_size=1, max_size=4),
    st.sampled_from([1e-10, 1e-5, 1e-2]),
)
def test_branches_never_cost_less_than_a_path(mu, first_pure, steps, delta):
    earlier = (gaussian(mu) if mu else no_cost(ORDERS)).plus(pure(first_pure))
    epsilon, _ = earlier.plus(Cost.worst_of(map(cost_of, steps))).epsilon(delta)
    for kind, size in steps:
        noise, pures = math.hypot(mu, size), [first_pure]
        if kind == "pure":
            noise, pures = mu, [first_pure, size]
        assert path_delta(epsilon, noise, pures) <= delta * (1 + 1e-6)
        # The cost of a path of pure steps alone is their sum, which does not fall with delta
        if kind == "gaussian" or (first_pure == 0 and mu > 0):
            assert earlier.plus(cost_of((kind, size))).epsilon(delta)[0] <= epsilon * (1 + 2e-5)


@cases("step", ("gaussian", 0.3), ("pure", 0.7), ids=str)
@pytest.mark.parametrize("earlier", [gaussian(0.1), pure(0.2), gaussian(0.1).plus(pure(0.2))])
def test_one_branch_costs_as_much_as_its_path(step, earlier):
    cost = cost_of(step)
    alone = Cost.worst_of([cost])
    assert alone.branches == () and alone.earlier is None
    assert earlier.plus(alone).epsilon(1e-5) == earlier.plus(cost).epsilon(1e-5)


@cases("step", ("gaussian", 0.3), ("pure", 0.7), ids=str)
def test_branches_delta_of_one_branch_is_the_closed_form(step):
    kind, size = step
    found = delta_at(0.8, gaussian(0.2), [cost_of(step)])
    if kind == "gaussian":
        exact = sums_delta(0.8, math.hypot(0.2, size))
    else:
        p = 1 / (1 + math.exp(-size))
        exact = p * sums_delta(0.8 - size, 0.2) + (1 - p) * sums_delta(0.8 + size, 0.2)
    assert exact <= found <= exact * (1 + 1e-4)


@settings(max_examples=40, deadline=None)
@given(
    st.floats(0.05, 1.0), st.lists(STEP, min_size=2, max_size=3), st.data(), st.floats(1.01, 2.0)
)
def test_branches_cost_more_if_a_branch_or_the_first_step_does(mu, steps, data, factor):
    def epsilon(mu, steps):
        worst = Cost.worst_of([cost_of(step) for step in steps])
        return gaussian(mu).plus(worst).epsilon(1e-5)[0]

    before = epsilon(mu, steps) * (1 - 2e-5)
    place = data.draw(st.integers(0, len(steps) - 1))
    kind, size = steps[place]
    grown = [*steps[:place], (kind, size * factor), *steps[place + 1 :]]
    assert epsilon(mu, grown) >= before
    assert epsilon(mu * factor, steps) >= before
    assert epsilon(mu, [*steps, data.draw(STEP)]) >= before


def test_branches_delta_equals_a_mean_over_sampled_losses(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    mu, first_pure, steps = 0.5, 0.3, [("gaussian", 0.6), ("pure", 1.0)]
    z = rng.standard_normal(4000)
    p = 1 / (1 + math.exp(-first_pure))
    signs = np.where(rng.random(4000) < p, 1, -1)
    losses = mu**2 / 2 + mu * z + first_pure * signs
    largest = np.array([max(step_delta(1.0 - x, step) for step in steps) for x in losses])
    found = delta_at(1.0, gaussian(mu).plus(pure(first_pure)), [cost_of(step) for step in steps])
    assert abs(found - largest.mean()) < 6 * largest.std() / math.sqrt(4000)


# --- any earlier mechanism, by enumeration --------------------------------------------------------


def test_branches_cover_enumerated_mechanisms(global_random_seed):
    """No discrete first release with any choice of a branch exceeds the bound."""
    rng = np.random.default_rng(global_random_seed)
    closest = 0.0
    for _ in range(200):
        first, sizes = rng.uniform(0.1, 1.0), rng.uniform(0.1, 1.5, 2)
        epsilon = rng.uniform(0.05, 1.5)
        n = rng.integers(2, 5)
        q = rng.dirichlet(np.ones(n))
        p = q * np.exp(rng.uniform(-first, first, n))
        p = p / p.sum()
        loss = np.abs(np.log(p / q)).max()  # the release is pure with this epsilon
        exact = 0.0
        for p_o, q_o in zip(p, q, strict=True):
            choices = []
            for size in sizes:
                yes = 1 / (1 + math.exp(-size))
                pairs = [(p_o * yes, q_o * (1 - yes)), (p_o * (1 - yes), q_o * yes)]
                choices.append(sum(max(a - math.exp(epsilon) * b, 0) for a, b in pairs))
            exact += max(choices)
        bound = delta_at(epsilon, pure(loss), [pure(size) for size in sizes])
        assert exact <= bound + 1e-12
        closest = max(closest, exact / bound if bound > 1e-9 else 0)
    assert closest > 0.3  # the bound is of the same size


# --- measures, and sums of them -------------------------------------------------------------------


def test_branches_of_gaussian_noise_cost_the_largest():
    worst = Cost.worst_of([gaussian(0.2), gaussian(0.5), gaussian(0.3)])
    assert worst.branches == ()
    assert worst.mu_squared == 0.25
    assert FIRST.plus(worst).epsilon(1e-5) == FIRST.plus(gaussian(0.5)).epsilon(1e-5)


def test_branches_of_pure_noise_cost_the_largest():
    worst = Cost.worst_of([pure(0.5), pure(0.2)])
    assert worst.branches == () and worst.pure == 0.5
    assert pure(0.3).plus(worst).pure == 0.8


def test_branches_have_the_largest_renyi_cost_at_each_order():
    low, high = 0.02 * np.sqrt(ORDERS), 0.001 * ORDERS
    teachers = [Cost(rdp, math.inf, math.inf) for rdp in (low, high)]
    earlier = Cost(0.01 * ORDERS, math.inf, math.inf)
    total = earlier.plus(Cost.worst_of(teachers))
    expected = np.maximum(low, high) + 0.01 * ORDERS
    assert total.rdp == pytest.approx(expected)
    epsilon, composition = total.epsilon(1e-5)
    assert composition == "renyi"
    assert epsilon == pytest.approx(epsilon_by_order(expected, 1e-5, ORDERS).min())


def test_branches_of_teachers_are_composed_by_their_loss():
    teachers = Cost(GNMax(40.0).costs(n_teachers=250, n_classes=2)(60).rdp, math.inf, math.inf)
    total = FIRST.plus(Cost.worst_of([teachers, VOTES]))
    epsilon, composition = total.epsilon(1e-5)
    path = Cost(FIRST.rdp + teachers.rdp, math.inf, math.inf).epsilon(1e-5)[0]
    by_order = Cost(total.rdp, math.inf, math.inf).epsilon(1e-5)[0]
    assert composition == "branches"
    assert FIRST.plus(VOTES).epsilon(1e-5)[0] <= epsilon < by_order
    alone = branches_delta(path, earlier=FIRST, branches=[teachers], orders=ORDERS)
    assert alone <= 1e-5  # the integral improves on the order that is best for the sum


def test_branches_have_the_largest_delta_and_the_delta_before():
    first = dataclasses.replace(FIRST, delta=1e-6)
    worst = Cost.worst_of(
        [dataclasses.replace(SUMS, delta=2e-6), dataclasses.replace(VOTES, delta=3e-6)]
    )
    assert worst.delta == 3e-6
    total = first.plus(worst)
    assert total.delta == pytest.approx(4e-6)
    without = FIRST.plus(Cost.worst_of([SUMS, VOTES]))
    assert total.epsilon(1e-5)[0] == pytest.approx(without.epsilon(6e-6)[0])
    assert total.epsilon(3.9e-6) == (math.inf, "none")
    covered = Cost.worst_of([dataclasses.replace(gaussian(0.1), delta=1e-6), gaussian(0.2)])
    assert covered.branches == () and covered.delta == 1e-6


def test_branches_cost_the_same_in_any_order_of_addition():
    worst, later = Cost.worst_of([SUMS, VOTES]), pure(0.1)
    totals = [
        FIRST.plus(worst).plus(later),
        later.plus(FIRST).plus(worst),
        worst.plus(later.plus(FIRST)),
        worst.times(1).plus(FIRST).plus(later),
    ]
    epsilons = [total.epsilon(1e-5)[0] for total in totals]
    assert epsilons == pytest.approx([epsilons[0]] * 4, rel=1e-12)
    after = FIRST.plus(SUMS.plus(later)).epsilon(1e-5)[0]
    assert epsilons[0] >= after


def test_two_choices_cost_at_least_as_much_as_any_pair_of_branches():
    worst = Cost.worst_of([SUMS, VOTES])
    for total in (FIRST.plus(worst).plus(worst), worst.times(2).plus(FIRST)):
        assert total.branches == () and total.earlier is None
        for pair in ((SUMS, SUMS), (SUMS, VOTES), (VOTES, VOTES)):
            path = FIRST.plus(pair[0]).plus(pair[1])
            assert (total.rdp >= path.rdp * (1 - 1e-12)).all()
            assert total.epsilon(1e-5)[0] >= path.epsilon(1e-5)[0]
    assert worst.times(0).epsilon(1e-5) == (0.0, "none")


def test_branches_of_branches_keep_a_valid_cost():
    inner = Cost.worst_of([SUMS, VOTES])
    flat = Cost.worst_of([inner, gaussian(0.1)])
    assert FIRST.plus(flat).epsilon(1e-5) == FIRST.plus(inner).epsilon(1e-5)
    nested = FIRST.plus(Cost.worst_of([gaussian(0.1).plus(inner), gaussian(0.4)]))
    each = [gaussian(0.1).plus(SUMS), gaussian(0.1).plus(VOTES), gaussian(0.4)]
    assert nested.epsilon(1e-5)[0] >= FIRST.plus(Cost.worst_of(each)).epsilon(1e-5)[0]


def test_branches_without_an_earlier_release_cost_the_largest():
    worst = Cost.worst_of([SUMS, VOTES])
    own = [cost.epsilon(1e-5)[0] for cost in (SUMS, VOTES)]
    assert worst.epsilon(1e-5)[0] == pytest.approx(max(own), rel=1e-9)


def test_branches_of_real_mechanisms_include_their_rounding():
    two = Contribution.of_counts(2)
    costs = [gaussian_table_cost(5.5, two), laplace_table_cost(2.8, two)]
    total = FIRST.plus(Cost.worst_of(costs))
    epsilon, composition = total.epsilon(1e-5)
    assert composition == "branches"
    assert epsilon > max(FIRST.plus(cost).epsilon(1e-5)[0] for cost in costs)


def test_worst_of_refuses_no_costs_and_other_orders():
    with pytest.raises(ValueError, match="at least 1 cost"):
        Cost.worst_of([])
    with pytest.raises(ValueError, match="same Renyi orders"):
        Cost.worst_of([SUMS, gaussian(0.1, np.array([2.0]))])


# --- an audit -------------------------------------------------------------------------------------


class LikelihoodRatio:
    """The event that the total loss of both steps is above a threshold."""

    def __init__(self, threshold):
        self.threshold = threshold

    def hits(self, first, second):
        return np.sum(first > self.threshold), np.sum(second > self.threshold)


@pytest.mark.slow
def test_audit_refutes_the_largest_epsilon_of_paths_but_not_of_branches(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    delta = 0.01
    mu = gdp_mu(3.0, delta)
    mu0, mu1, size = mu * 0.3**0.5, mu * 0.7**0.5, 1.708
    costs = [gaussian(mu1), pure(size)]
    naive = max(gaussian(mu0).plus(cost).epsilon(delta)[0] for cost in costs)
    claimed, _ = gaussian(mu0).plus(Cost.worst_of(costs)).epsilon(delta)
    assert naive == pytest.approx(3.0, abs=0.01)

    # The losses at which votes are worse than sums, from the first release alone
    grid = np.linspace(-12, 12, 2401)
    curves = [[step_delta(claimed - x, s) for x in grid] for s in (("gaussian", mu1), ("p", size))]
    is_votes = np.subtract(*curves) < 0

    def sample(side, n):
        """Run both steps on one of two data sets; return the log of the likelihood ratio."""
        loss = mu0 * (rng.standard_normal(n) + side * mu0) - mu0**2 / 2
        votes = is_votes[np.searchsorted(grid, loss).clip(0, grid.size - 1)]
        right = rng.random(n) < 1 / (1 + math.exp(-size))
        of_votes = size * np.where(right == bool(side), 1.0, -1.0)
        of_sums = mu1 * (rng.standard_normal(n) + side * mu1) - mu1**2 / 2
        return loss + np.where(votes, of_votes, of_sums)

    def audited(confidence):
        numbers = {"n_samples": 6_000_000, "part": 0.01, "delta": delta, "confidence": confidence}
        event = LikelihoodRatio(claimed)
        return bound_by_samples(sample, (1, 0), lambda *_: event, rng, **numbers)[0]

    bound = audited(1 - 1e-6)
    assert naive < bound <= claimed


# --- calibration ----------------------------------------------------------------------------------


def of_sums(sigma, orders):
    return gaussian(1 / sigma, orders)


def of_votes(scale, orders):
    return pure(1 / scale, orders)


def first(orders):
    return gaussian(MU * 0.1**0.5, orders)


def total_of(scales, branches, prior=first):
    costs = [branch(scale, ORDERS) for branch, scale in zip(branches, scales, strict=True)]
    return prior(ORDERS).plus(Cost.worst_of(costs))


def test_least_scales_spend_the_cap_and_leave_each_branch_most_of_it():
    branches = [of_sums, of_votes]
    scales = least_scales(first, branches, 1.0, 1e-5)
    epsilon, composition = total_of(scales, branches).epsilon(1e-5)
    assert composition == "branches"
    assert 1 - 1e-4 < epsilon <= 1.0
    paths = [
        first(ORDERS).plus(branch(s, ORDERS)) for branch, s in zip(branches, scales, strict=True)
    ]
    assert min(path.epsilon(1e-5)[0] for path in paths) > 0.95
    # Each path costs 1 at the same fraction of delta, of at least a half
    costs = [[branch(s, ORDERS)] for branch, s in zip(branches, scales, strict=True)]
    fractions = [delta_at(1.0, FIRST, cost) / 1e-5 for cost in costs]
    assert fractions[0] == pytest.approx(fractions[1], rel=1e-4)
    assert 0.5 < fractions[0] < 1


@settings(max_examples=8, deadline=None)
@given(st.floats(0.2, 4.0), st.sampled_from([1e-7, 1e-4]), st.floats(0.02, 0.6))
@example(2.0, 1e-7, 0.0234375)  # its total exceeds the cap by rounding at half of delta
def test_least_scales_stay_within_any_cap(epsilon, delta, fraction):
    mu = gdp_mu(epsilon, delta) * math.sqrt(fraction)

    def prior(orders):
        return gaussian(mu, orders)

    branches = [of_sums, of_votes]
    scales = least_scales(prior, branches, epsilon, delta)
    reached = total_of(scales, branches, prior).epsilon(delta)[0]
    assert epsilon * (1 - 1e-3) < reached <= epsilon


@pytest.mark.slow
def test_least_scales_include_teachers():
    def of_teachers(scale, orders):
        return GNMax(scale).costs(orders)(3)

    branches = [of_sums, of_votes, of_teachers]
    scales = least_scales(first, branches, 1.0, 1e-5)
    assert 1 - 1e-3 < total_of(scales, branches).epsilon(1e-5)[0] <= 1


@cases("branch", of_sums, of_votes)
def test_least_scales_of_equal_branches_lose_nothing(branch):
    one = least_scales(first, [branch], 1.0, 1e-5)
    assert least_scales(first, [branch, branch], 1.0, 1e-5) == one * 2
    path = first(ORDERS).plus(branch(one[0], ORDERS))
    assert 1 - 1e-6 < path.epsilon(1e-5)[0] <= 1


def test_least_scales_leave_room_for_the_delta_of_a_branch():
    def with_delta(scale, orders):
        return dataclasses.replace(of_votes(scale, orders), delta=4e-6)

    scales = least_scales(first, [of_sums, with_delta], 1.0, 1e-5)
    assert 1 - 1e-3 < total_of(scales, [of_sums, with_delta]).epsilon(1e-5)[0] <= 1
    assert least_scales(first, [of_sums, with_delta], 1.0, 4e-6) == [math.inf] * 2


def test_least_scales_are_infinite_if_nothing_fits():
    assert least_scales(first, [of_sums, of_votes], 0.2, 1e-5) == [math.inf] * 2
    with pytest.raises(ValueError, match="at least 1 function"):
        least_scales(first, [], 1.0, 1e-5)


# --- ledgers, plans and statements ----------------------------------------------------------------


NUMBERS = {"n_teachers": None, "n_queries": 9, "n_answered": 9}


def test_ledger_keeps_the_epsilon_of_branches(tmp_path):
    total = FIRST.plus(Cost.worst_of([SUMS, VOTES]))
    epsilon, composition = total.epsilon(1e-5)
    spent = PrivacySpent(epsilon, 1e-5, composition, "record", "replace_one", **NUMBERS)
    ledger = PrivacyLedger(tmp_path / "one", epsilon=1.03)
    ledger.record(spent, total)
    with transaction(ledger.path) as db:
        (found,) = read_costs(db).values()
    assert found.epsilon(1e-5) == (epsilon, "branches")
    assert ledger.epsilon_spent == epsilon
    without = dataclasses.replace(total, earlier=None, branches=())
    assert without.epsilon(1e-5)[0] > 1.1  # the ledger would be over its budget


BRANCHES = (
    Branch(method="ClassSums", noise="Gaussian noise of 4 records", cost=SUMS, delta=1e-5),
    Branch(method="ReverseNeighbors", noise="Laplace noise of 2 records", cost=VOTES, delta=1e-5),
)


def plan_of(branches):
    cost = FIRST.plus(Cost.worst_of([SUMS, VOTES]))
    return Plan([], *cost.epsilon(1e-5), cost, branches=branches)


def test_plan_prints_all_branches():
    text = " ".join(str(plan_of(BRANCHES)).split())
    assert "one of 2 methods follows, chosen by an earlier release" in text
    own = math.ceil(1000 * gdp_to_epsilon(MU * 0.9**0.5, 1e-5)) / 1000
    assert f"ClassSums, Gaussian noise of 4 records, epsilon {own} by itself" in text
    assert "delta 1e-05 are for all of them" in text
    assert "ReverseNeighbors, Laplace noise of 2 records" in text
    assert "1.025" in text and "composition branches" in text
    html = plan_of(BRANCHES)._repr_html_()
    assert "ReverseNeighbors, Laplace noise" in html and "ClassSums" in html


@cases("branches", (), BRANCHES[:1])
def test_plan_prints_nothing_about_a_single_branch(branches):
    assert "branch" not in str(plan_of(branches)).replace("composition branches", "")


@pytest.mark.parametrize(("kind", "verb"), [(PrivacySpent, "chose"), (PrivacyForecast, "would")])
def test_statement_names_all_branches_and_their_delta(kind, verb):
    names = tuple(map(str, BRANCHES))
    values = {"branches": names} | NUMBERS
    spent = kind(1.025, 1e-5, "branches", "record", "replace_one", **values)
    summary = spent.summary()
    assert f"An earlier release of the fit {verb}" in summary
    assert all(name in summary for name in names)
    assert "Epsilon and delta (1e-05) are for all of them" in summary
    assert spent.to_dict()["branches"] == list(names)
    assert names[0] in spent._repr_html_()


def test_fit_states_the_branches_of_its_plan(monkeypatch):
    plan_of_labels = LabelsRelease.plan

    def with_branches(self, inputs):
        return dataclasses.replace(plan_of_labels(self, inputs), branches=BRANCHES)

    monkeypatch.setattr(LabelsRelease, "plan", with_branches)
    clf = PATEClassifier(GaussianNB(), n_queries=5)
    clf.fit_votes(np.full((5, 2), 50), np.zeros((5, 1)))
    assert clf.privacy_spent_.branches == tuple(map(str, BRANCHES))


def test_statement_prints_nothing_without_branches():
    spent = PrivacySpent(1.0, 1e-5, "mixed", "record", "replace_one", **NUMBERS)
    assert "branch" not in spent._repr_html_() and "methods" not in spent.summary()


def test_cost_that_is_stated_has_no_other_epsilon():
    chosen = dataclasses.replace(FIRST.plus(SUMS), stated=(3.0, 8e-6))
    assert chosen.epsilon(8e-6) == (3.0, "sum") and chosen.epsilon(7.9e-6) == (math.inf, "none")
    assert FIRST.plus(SUMS).epsilon(8e-6)[0] < 1.1
    for both in (chosen.plus(VOTES), VOTES.plus(chosen)):
        assert both.stated == (pytest.approx(3.0 + VOTES.pure, abs=1e-15), 8e-6)
    assert chosen.plus(chosen).stated == chosen.times(2).stated == (6.0, 1.6e-5)
    assert chosen.plus(SUMS).epsilon(1e-3) == (math.inf, "none")  # no pure epsilon to add
    with pytest.raises(ValueError, match="worst_of requires costs without `stated`"):
        Cost.worst_of([VOTES, chosen])
