"""Changes by one unit: counts by enumeration, and costs by independent computations."""

import itertools
import math
from collections import Counter
from fractions import Fraction
from functools import cache, partial, reduce

import mpmath as mp
import numpy as np
import pytest
from conftest import cases
from dp_accounting.pld import privacy_loss_distribution
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from sklearn_pate import rdp
from sklearn_pate.aggregators import GaussianMechanism, LaplaceMechanism
from sklearn_pate.audit import audit_table
from sklearn_pate.class_sums.statistic import sums_cost
from sklearn_pate.rdp import (
    DEFAULT_ORDERS,
    Contribution,
    NeighboringRelation,
    Neighbors,
)
from sklearn_pate.rdp.discrete import GRID, gaussian_table_cost, laplace_table_cost

# --- counts, by enumeration ----------------------------------------------------------------------

N_ENTRIES = 4


def ways_to_count(n_counts):
    """Return all that one unit can add to a table: 1 or a half to some entries, few of them."""
    amounts = (0.5, 1.0) if n_counts == 1 else (1.0,)
    ways = []
    for size in range(1, n_counts + 1):
        for entries in itertools.combinations(range(N_ENTRIES), size):
            for each in itertools.product(amounts, repeat=size):
                ways.append(tuple(zip(entries, each, strict=True)))
    return ways


def data_sets(n_counts):
    """Return all data sets of up to two units, as the additions of each unit by its name."""
    ways = [None, *ways_to_count(n_counts)]
    of_two = itertools.product(ways, repeat=2)
    return [{name: way for name, way in enumerate(units) if way is not None} for units in of_two]


def are_neighbors(relation, one, other):
    """Whether two data sets are neighbors, from the definition of the relation alone."""
    lost, gained = (a - b for a, b in itertools.permutations(map(count_units, (one, other))))
    differing = [name for name in (0, 1) if one.get(name) != other.get(name)]
    return {
        "replace_one": lost.total() == gained.total() == 1,
        "add_or_remove_one": lost.total() + gained.total() == 1,
        "add_remove_or_change_one": len(differing) == 1,
        "change_one_named": len(differing) == 1,
        "change_one_named_nonempty": len(differing) == 1 and len(one) == len(other) == 2,
    }[str(relation)]


def count_units(data_set):
    return Counter(data_set.values())


def table_of(data_set):
    table = np.zeros(N_ENTRIES)
    for entry, amount in itertools.chain(*data_set.values()):
        table[entry] += amount
    return table


@pytest.mark.parametrize("n_counts", [1, 2])
@pytest.mark.parametrize("relation", NeighboringRelation)
def test_contribution_of_counts_equals_sensitivity_by_enumeration(relation, n_counts):
    pairs = itertools.combinations(data_sets(n_counts), 2)
    changes = np.array(
        [table_of(a) - table_of(b) for a, b in pairs if are_neighbors(relation, a, b)]
    )
    stated = Neighbors(relation=relation, unit="record").counts(n_counts)
    assert stated.l1 == np.abs(changes).sum(axis=1).max()
    assert stated.l2_squared == (changes**2).sum(axis=1).max()
    assert stated.linf == np.abs(changes).max() == 1
    assert stated.l2 == math.sqrt(stated.l2_squared)
    for unit in ("record", "group"):
        assert Neighbors(relation=str(relation), unit=unit).counts(n_counts) == stated


def test_contribution_of_short_integers_does_not_overflow():
    neighbors = Neighbors(relation="replace_one", unit="record")
    for short in (np.uint8(129), np.int8(127)):
        assert neighbors.counts(short) == Contribution.of_counts(2 * short.item())
        assert Contribution.of_counts(short) == Contribution.of_counts(short.item())


# --- refused inputs ------------------------------------------------------------------------------

STATED = {"relation": "replace_one", "unit": "record"}


@cases(
    "wrong",
    {"relation": None},
    {"relation": ""},
    {"relation": 2},
    {"unit": "househld"},
    {"unit": None},
    {"n_records": "400"},
    {"n_records": 7.5},
)
def test_neighbors_refuse_wrong_arguments(wrong):
    with pytest.raises(ValueError, match="Neighbors requires a relation .* whole number or None"):
        Neighbors(**STATED | wrong)


def test_neighbors_error_does_not_quote_n_records():
    with pytest.raises(ValueError, match="got 'replace_one', 'record' and float") as error:
        Neighbors(**STATED, n_records=86420.5)
    assert "86420" not in str(error.value)


@pytest.mark.parametrize("unit", ["record", "group", "teacher"])
@pytest.mark.parametrize("relation", NeighboringRelation)
def test_neighbors_refuse_a_private_n_records(relation, unit):
    neighbors = Neighbors(relation=str(relation), unit=unit)
    is_public = (relation, unit) == (NeighboringRelation.REPLACE_ONE, "record")
    assert neighbors.relation is relation and neighbors.size_is_public == is_public
    assert neighbors.with_size(400).n_records == (400 if is_public else None)
    if is_public:
        assert neighbors.with_size(400) == Neighbors(relation=relation, unit=unit, n_records=400)
        return
    with pytest.raises(ValueError, match=f"n_records must be None: under '{relation}'") as error:
        Neighbors(relation=relation, unit=unit, n_records=86420)
    assert "86420" not in str(error.value)


def test_neighbors_with_a_custom_relation_have_no_known_costs():
    neighbors = Neighbors(relation="replace one household", unit="record")
    assert type(neighbors.relation) is str and neighbors.with_size(400).n_records is None
    for use in (neighbors.check_known, lambda: neighbors.n_units, lambda: neighbors.counts(1)):
        with pytest.raises(ValueError, match="'replace one household' is not an rdp.Neighboring"):
            use()
    teacher = Neighbors(relation="replace_one", unit="teacher")
    pytest.raises(ValueError, teacher.counts, 1).match("protect one teacher, not one record")


@pytest.mark.parametrize("n_counts", [0, -1, 1.5, True, "2", None, np.float32(2)])
def test_counts_refuse_numbers_that_are_not_whole(n_counts):
    with pytest.raises(ValueError, match="n_counts must be a whole number, at least 1"):
        Neighbors(**STATED).counts(n_counts)
    with pytest.raises(ValueError, match="n_changed must be a whole number, at least 1"):
        Contribution.of_counts(n_counts)


NORMS = {"l1": 2.5, "l2_squared": 1.25, "linf": 0.5}


@pytest.mark.parametrize("name", NORMS)
@pytest.mark.parametrize("value", [0, -1.0, math.nan, "1", None])
def test_contribution_refuses_norms_that_are_not_above_0(name, value):
    with pytest.raises(ValueError, match=f"Contribution.{name} must be a number above 0; got"):
        Contribution(**NORMS | {name: value})


@cases("wrong", {"linf": 3.0}, {"linf": math.inf}, {"l2_squared": 1.2501}, {"l1": 2.4999})
def test_contribution_refuses_norms_that_contradict_each_other(wrong):
    with pytest.raises(ValueError, match="must have linf <= l1 and l2_squared <= l1 . linf; got"):
        Contribution(**NORMS | wrong)


def test_contribution_accepts_rounded_norms():
    for n in range(1, 200):
        for step in (0.1, 0.07, 1 / 3):
            found = Contribution(l1=n * step, l2_squared=n * step**2, linf=step)
            assert (found.l1, found.linf) == (n * step, step)
            assert found.l2_squared == n * step**2


def test_contribution_norms_are_floats_rounded_up():
    short = Contribution(l1=np.float16(2.5), l2_squared=np.float32(1.25), linf=np.int8(1))
    assert [type(norm) for norm in (short.l1, short.l2_squared, short.linf)] == [float] * 3
    for exact in (Fraction(1, 3), Fraction(2, 3), 2**53 + 1):
        found = Contribution(l1=exact, l2_squared=exact**2, linf=exact)
        assert exact <= found.l1 == found.linf <= exact * (1 + Fraction(1, 2**52))
        assert exact**2 <= found.l2_squared


@cases(
    "cost",
    LaplaceMechanism(2.0).cost,
    GaussianMechanism(2.0).cost,
    lambda contribution: sums_cost(2.0, contribution),
    lambda contribution: audit_table(LaplaceMechanism(2.0), contribution=contribution),
)
@cases("wrong", 2, 1.5, Neighbors(**STATED), ids=["int", "float", "neighbors"])
def test_costs_refuse_anything_but_a_contribution(cost, wrong):
    with pytest.raises(ValueError, match="contribution must be an rdp.Contribution, such as"):
        cost(wrong)


# --- costs: the worst of all changes with these norms --------------------------------------------

ORDERS = np.array([1.05, 2.0, 8.0, 40.0])
#: Largest changes of a table, none of which is by whole counts alone
CONTRIBUTIONS = [
    Contribution(l1=1.75, l2_squared=0.75, linf=0.5),
    Contribution(l1=2.5, l2_squared=2.5, linf=1.0),
    Contribution(l1=2.25, l2_squared=2.0, linf=1.5),
    Contribution(l1=0.75, l2_squared=0.5625, linf=0.75),
]
STEP = 0.25


def changes_within(contribution):
    """Return all vectors of absolute changes, in steps, that a contribution allows."""

    def some(left, largest):
        yield ()
        for size in range(1, min(left, largest) + 1):
            yield from ((size, *others) for others in some(left - size, size))

    steps = some(int(contribution.l1 / STEP), int(contribution.linf / STEP))
    changes = [STEP * np.array(change, dtype=float) for change in steps]
    return [change for change in changes if (change**2).sum() <= contribution.l2_squared]


def of_any_l2(contribution):
    """Return the same without a bound on the L2 norm, which the cost of Laplace noise ignores."""
    l1, linf = contribution.l1, contribution.linf
    return Contribution(l1=l1, l2_squared=l1 * linf, linf=linf)


def test_changes_within_a_contribution_are_complete():
    contribution = of_any_l2(CONTRIBUTIONS[0])
    changes = changes_within(contribution)
    assert max(change.sum() for change in changes) == contribution.l1
    assert max(change.max(initial=0) for change in changes) == contribution.linf
    # Whole numbers of steps, 1 or 2, with a sum of at most 7
    assert len(changes) == sum(1 for ones in range(8) for twos in range(4) if ones + 2 * twos <= 7)


@cache
def laplace_divergence(scale, shift, order):
    """Renyi divergence of continuous Laplace noise and the same, shifted, by an integral."""
    with mp.workdps(20):
        a, b, s = mp.mpf(order), mp.mpf(scale), mp.mpf(shift)

        def density(x):
            return mp.exp(-(a * abs(x) + (1 - a) * abs(x - s)) / b) / (2 * b)

        total = mp.quad(density, [-mp.inf, 0, s, mp.inf])
        return float(mp.log(total) / (a - 1))


@pytest.mark.parametrize("scale", [0.4, 3.0])
@pytest.mark.parametrize("contribution", CONTRIBUTIONS)
def test_laplace_cost_covers_the_worst_change(contribution, scale):
    shifts = STEP * np.arange(1, int(contribution.linf / STEP) + 1)
    of_shift = {s: np.array([laplace_divergence(scale, s, a) for a in ORDERS]) for s in shifts}
    changes = changes_within(of_any_l2(contribution))
    worst = np.max([sum((of_shift[s] for s in change), 0 * ORDERS) for change in changes], axis=0)
    cost = laplace_table_cost(scale, contribution, ORDERS, discrete=False)
    assert (worst <= cost.rdp * (1 + 1e-12)).all()
    # It is as if entries could change in part, which none does here: at most one entry more
    n_entries = contribution.l1 / contribution.linf
    bound = np.minimum(n_entries * of_shift[shifts[-1]], rdp.pure_rdp(cost.pure, ORDERS))
    np.testing.assert_allclose(cost.rdp, bound, rtol=1e-9)
    assert (cost.rdp <= worst + of_shift[shifts[-1]]).all()
    if n_entries == 1:
        np.testing.assert_allclose(cost.rdp, worst, rtol=1e-9)


@pytest.mark.parametrize("discrete", [True, False])
@pytest.mark.parametrize("contribution", [*CONTRIBUTIONS, *map(Contribution.of_counts, (1, 2, 6))])
def test_laplace_pure_cost_is_rounded_up(contribution, discrete):
    for scale in (0.4, 0.5, 1.0, 2.0, 7.3, 1e3):
        cost = laplace_table_cost(scale, contribution, discrete=discrete)
        exact = Fraction(contribution.l1) * Fraction(1 / scale)
        assert exact <= cost.pure <= exact * (1 + Fraction(2, 10**16))
        assert (cost.rdp <= cost.pure).all() and cost.delta == 0


@pytest.mark.parametrize("contribution", CONTRIBUTIONS)
def test_laplace_epsilon_covers_loss_distributions(contribution):
    """Each of 5 tables changes as much as it can."""
    scale, most = 3.0, contribution.l1
    step = {"value_discretization_interval": 2e-3}
    loss = cache(partial(privacy_loss_distribution.from_laplace_mechanism, scale, **step))
    changes = (c for c in changes_within(of_any_l2(contribution)) if c.sum() == most)
    losses = ([loss(sensitivity=s).self_compose(5) for s in change] for change in changes)
    worst = max(reduce(compose, each).get_epsilon_for_delta(1e-5) for each in losses)
    for discrete in (True, False):
        cost = laplace_table_cost(scale, contribution, discrete=discrete)
        epsilon, _ = cost.times(5).epsilon(1e-5)
        assert worst * (1 - 1e-2) <= epsilon <= 1.35 * worst


def compose(one, other):
    return one.compose(other)


def test_discrete_laplace_cost_covers_sums_over_all_outcomes(monkeypatch):
    """Between steps of the grid no entry changes, and the cost of a finer change is no less."""
    monkeypatch.setattr(rdp.discrete, "GRID", STEP)  # sums over 2**20 steps would take long
    scale = 0.6

    def divergence(n_steps, order):
        with mp.workdps(30):
            g, a = mp.mpf(STEP) / scale, mp.mpf(order)
            x = range(-200, 200 + n_steps)
            norm_ = mp.fsum(mp.exp(-abs(k) * g) for k in x)
            powers = (mp.exp(-a * abs(k) * g - (1 - a) * abs(k - n_steps) * g) for k in x)
            return float(mp.log(mp.fsum(powers) / norm_) / (a - 1))

    for contribution in (of_any_l2(CONTRIBUTIONS[0]), Contribution(l1=1, l2_squared=0.4, linf=0.4)):
        n_largest = int(contribution.linf / STEP)
        of_steps = [np.array([divergence(k, a) for a in ORDERS]) for k in range(n_largest + 1)]
        rows = [
            sum((of_steps[round(s / STEP)] for s in change), 0 * ORDERS)
            for change in changes_within(of_any_l2(contribution))
        ]
        cost = laplace_table_cost(scale, contribution, ORDERS)
        assert (np.max(rows, axis=0) <= cost.rdp * (1 + 1e-12)).all()
    within_a_step = Contribution(l1=0.1, l2_squared=0.01, linf=0.1)
    assert (laplace_table_cost(scale, within_a_step, ORDERS).rdp >= 0).all()


def gaussian_delta(epsilon, mu):
    """Delta of Gaussian noise at distance `mu`: Balle, Wang (2018), Theorem 5."""
    return norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)


@pytest.mark.parametrize("discrete", [True, False])
@pytest.mark.parametrize("sigma", [0.7, 5.0])
@pytest.mark.parametrize("contribution", CONTRIBUTIONS)
def test_gaussian_cost_equals_that_of_the_worst_change(contribution, sigma, discrete):
    distances = [math.sqrt((change**2).sum()) / sigma for change in changes_within(contribution)]
    cost = gaussian_table_cost(sigma, contribution, ORDERS, discrete=discrete)
    worst = max(distances)
    assert worst * sigma >= math.sqrt(contribution.l2_squared) - STEP  # the grid is fine enough
    assert (cost.rdp >= ORDERS * worst**2 / 2 * (1 - 1e-15)).all()
    np.testing.assert_allclose(cost.rdp, ORDERS * contribution.l2_squared / (2 * sigma**2))
    epsilon, _ = gaussian_table_cost(sigma, contribution, discrete=discrete).epsilon(1e-5)
    assert all(gaussian_delta(epsilon, mu) <= 1e-5 * (1 + 1e-9) for mu in distances if mu)
    largest = contribution.l2 / sigma
    assert gaussian_delta(epsilon, largest) == pytest.approx(1e-5, rel=1e-4)


@pytest.mark.parametrize("l2_squared", [0.3, 1 / 3, 2.5, 1e-9])
def test_gaussian_mu_squared_is_rounded_up(l2_squared):
    contribution = Contribution(l1=2.5, l2_squared=l2_squared, linf=1.0)
    for sigma in (0.1, 3.0, 1e3):
        found = gaussian_table_cost(sigma, contribution).mu_squared
        exact = Fraction(l2_squared) / (Fraction(sigma) ** 2 - Fraction(2 * GRID) ** 2)
        one_step = Fraction(GRID / sigma) ** 2
        assert exact <= found <= exact * (1 + Fraction(1, 10**9)) + one_step


def test_unknown_norms_cost_infinity():
    unknown = Contribution(l1=math.inf, l2_squared=0.5, linf=math.inf)
    cost = laplace_table_cost(2.0, unknown)
    assert (cost.rdp == math.inf).all() and cost.pure == cost.mu_squared == math.inf
    assert gaussian_table_cost(2.0, unknown).mu_squared < 0.2
    unknown = Contribution(l1=math.inf, l2_squared=math.inf, linf=1.0)
    for discrete in (True, False):
        cost = gaussian_table_cost(2.0, unknown, discrete=discrete)
        assert (cost.rdp == math.inf).all() and cost.mu_squared == math.inf


@st.composite
def ordered(draw):
    """Return a contribution, and another that is larger in one of its norms."""
    l1 = draw(st.floats(0.05, 20))
    linf = draw(st.floats(max(l1 / 50, 0.02), l1))
    l2_squared = l1 * linf * draw(st.floats(0.05, 1))
    norms = {"l1": l1, "l2_squared": l2_squared, "linf": linf}
    name = draw(st.sampled_from(sorted(norms)))
    most = {"l1": 40.0, "l2_squared": l1 * linf, "linf": l1}[name]
    larger = draw(st.floats(norms[name], max(norms[name], most)))
    return Contribution(**norms), Contribution(**norms | {name: larger})


@settings(max_examples=80, deadline=None)
@given(ordered(), st.floats(0.05, 50), st.booleans())
def test_costs_are_monotone_in_each_norm(pair, scale, discrete):
    n_entries = max(one.l1 / one.linf for one in pair)
    rounding = 4e-14 / (DEFAULT_ORDERS - 1) * n_entries  # additions for each entry
    for cost in (
        lambda one: laplace_table_cost(scale, one, discrete=discrete),
        lambda one: gaussian_table_cost(scale, one, discrete=discrete),
        lambda one: sums_cost(scale, one),
    ):
        smaller, larger = map(cost, pair)
        assert (smaller.rdp <= larger.rdp * (1 + 1e-9) + rounding).all()
        assert smaller.mu_squared <= larger.mu_squared and smaller.pure <= larger.pure
        assert (smaller.rdp >= 0).all()
