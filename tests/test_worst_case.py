"""Data-independent costs against enumeration, dense grids, 20-digit arithmetic and composition."""

import itertools
import math

import mpmath as mp
import numpy as np
import pytest
from conftest import cases, histograms_of, moves
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gammaln

from sklearn_pate import rdp
from sklearn_pate.aggregators import Aggregator, ExponentialNMax, GNMax, LNMax
from sklearn_pate.rdp.exact import Pairs
from sklearn_pate.rdp.worst_case import _Region, argmax_rdp
from sklearn_pate.smooth_sensitivity import half_margins

ORDERS = [1.1, 2.0, 8.0, 20.0, 60.0, 300.0, 2000.0]


def test_a_search_that_ends_at_its_border_has_no_answer(monkeypatch):
    monkeypatch.setattr("sklearn_pate.rdp.worst_case._borders", lambda *args: (0.3, -12.0))
    assert np.isinf(argmax_rdp(rdp.Gaussian(5.0), np.array([2.0, 30.0]), 1000.0)).all()


# --- the three outcomes --------------------------------------------------------------------------


@pytest.mark.parametrize("noise", [rdp.Gaussian, rdp.Laplace])
@pytest.mark.parametrize("counts", [(0.3, 0.7), (30.0, -2.0)])
def test_three_outcomes_against_mpmath(noise, counts):
    def pdf(x):
        return mp.npdf(x) if noise is rdp.Gaussian else mp.exp(-abs(x)) / 2

    def cdf(x):
        if noise is rdp.Gaussian:
            return mp.ncdf(x)
        return mp.exp(x) / 2 if x < 0 else 1 - mp.exp(-x) / 2

    def wins(ahead, behind):
        kinks = sorted({0.0, max(ahead, 0), max(behind, 0), max((ahead + behind) / 2, 0)})
        steps = (-6, -4, -2, -1, 0, 1, 2, 4, 6, 9, 14, 40)
        points = sorted({max(k + d, 0.0) for k in kinks for d in steps})
        return mp.quad(lambda y: pdf(y - ahead) * cdf(y - behind), points)

    first, second = counts
    with mp.workdps(20):
        expected = [wins(first, second), wins(second, first), cdf(-first) * cdf(-second)]
        expected = [float(mp.log(p)) for p in expected]
    got = noise.log_rivals(np.array([first]), np.array([second]))[0]
    np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-12)
    assert abs(np.exp(got).sum() - 1) < 1e-11


@pytest.mark.parametrize("noise", [rdp.Gaussian, rdp.Laplace, rdp.Exponential])
@pytest.mark.parametrize("n_rivals", [1, 9, 150])
@pytest.mark.parametrize("behind", [0.0, 0.02, 25.0])
def test_overtaking_equal_counts_is_as_likely_as_winning_among_all(noise, n_rivals, behind):
    by_all = noise(1.0).log_argmax([[0.0] + [behind] * n_rivals])[0, 0]
    assert noise.log_overtake(behind, n_rivals) == pytest.approx(by_all, rel=1e-12, abs=2e-13)


# --- the supremum --------------------------------------------------------------------------------


@cases(
    "votes, scale, order",
    *(((0.0, 0.7), 0.5, 60.0), ((2.5, -3.0), 20.0, 1.1), ((1.0, 9.0), 3000.0, 1500.0)),
)
def test_slopes_of_the_cost_are_its_differences(votes, scale, order):
    region = _Region(rdp.Gaussian(scale), 100.0, -200.0)
    orders = np.array([order])
    cost, slopes = region.one_way_and_slopes(np.array(votes)[:, None], orders)
    assert cost == region.one_way(*np.array(votes)[:, None], orders)
    for axis, slope in enumerate(slopes[:, 0]):
        apart = np.zeros((2, 4))
        apart[axis] = 2e-3 * np.array([-2, -1, 1, 2])
        margin, second = np.array(votes)[:, None] + apart
        near = region.one_way(margin, second, np.tile(orders, 4))
        difference = near @ [1, -8, 8, -1] / 12 / 2e-3  # to the fourth power of the distance
        assert slope == pytest.approx(difference, rel=1e-5, abs=1e-7 * cost[0])


def dense_supremum(noise, order, gaps, levels):
    """Largest divergence of the three outcomes over a grid, in noise units, both directions."""
    step = 1 / noise.scale
    gap, level = (axis.ravel() for axis in np.meshgrid(gaps, levels))
    before = noise.log_rivals(level + gap + step / 2, level - step / 2)
    after = noise.log_rivals(level + gap - step / 2, level + step / 2)
    pairs = (before, after), (after, before)
    return max(Pairs.from_log_proba(*pair).divergence(order).max() for pair in pairs)


@pytest.mark.parametrize("scale", [2.0, 5.0, 40.0])
@pytest.mark.parametrize("mechanism", [GNMax, LNMax])
def test_no_point_of_a_dense_grid_exceeds_the_supremum(mechanism, scale):
    aggregator = mechanism(scale if mechanism is GNMax else 1 / scale)
    orders = np.array([1.1, 8.0, 60.0])
    for order, bound in zip(orders, rdp.worst_case_rdp(aggregator, orders), strict=True):
        grid = np.linspace(0, min(3 * order / scale + 8, 60), 181), np.linspace(-7, 12, 77)
        found = dense_supremum(aggregator.facts().argmax_noise, order, *grid)
        assert found <= bound
        if order / scale < 20:  # the search is no looser than the grid is coarse
            assert bound <= found * 1.01


@pytest.mark.parametrize("scale", [100, 1e5])
@pytest.mark.parametrize("noise", [rdp.Laplace, rdp.Gaussian])
def test_a_peak_as_narrow_as_one_vote_is_found(noise, scale):
    # with Laplace noise, the cost falls off within one vote of margin 0
    orders = np.array([1.5, 35.6])
    found = argmax_rdp(noise(scale), orders, np.inf)
    gaps, levels = np.linspace(0, 10, 51) / scale, np.linspace(-1, 1, 101)
    for order, cost in zip(orders, found, strict=True):
        assert dense_supremum(noise(scale), order, gaps, levels) <= cost * (1 + 5e-7)


@cases(
    "scale, n_teachers, order",
    # the best of the search's coarse grid is on the lower of two peaks, of nearly equal height
    *((22.325877214445942, 50, 123.0), (1.5109314, 5, 9.9)),
    # when the gap is limited, a high order costs most if both classes are unlikely
    *((10, 50, 119), (40, 20, 479), (100, 50, 1000)),
)
def test_peaks_that_are_hard_to_find_with_few_teachers_are_found(scale, n_teachers, order):
    gaps = np.linspace(0, (n_teachers - 1) / scale, 81)
    dense = dense_supremum(rdp.Gaussian(scale), order, gaps, np.linspace(-25, 10, 501))
    cost = argmax_rdp(rdp.Gaussian(scale), np.array([order]), n_teachers / scale)[0]
    assert dense <= cost * (1 + 1e-6) and cost <= dense * 1.001


@pytest.mark.parametrize(("scale", "n_teachers"), [(20.0, 50), (1.51, 5)])
def test_orders_searched_together_cost_what_each_costs_alone(scale, n_teachers):
    noise = rdp.Gaussian(scale)
    orders = rdp.DEFAULT_ORDERS[rdp.DEFAULT_ORDERS / scale < 100][::5]
    orders = np.append(orders, [99.99999999999999, 100.0])
    together = argmax_rdp(noise, orders, n_teachers / scale)
    reversed_orders = argmax_rdp(noise, orders[::-1], n_teachers / scale)[::-1]
    alone = [argmax_rdp(noise, orders[[k]], n_teachers / scale)[0] for k in range(orders.size)]
    np.testing.assert_array_equal(together, reversed_orders)
    np.testing.assert_allclose(together, alone, rtol=5e-7)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("scale", [1e7, 1e12, 1e20, 1e100])
def test_rounding_hides_no_vote(scale, n_classes):
    orders = np.array([1.1, 2.0, 20.0, 2000.0])
    public = {"n_teachers": 100, "n_classes": n_classes}
    # of two level counts, one vote moves the chance to win by phi(0) sqrt(2) / scale
    least = orders / 2 * 8 / (2 * math.pi) / 2 / scale**2
    assert (rdp.worst_case_rdp(GNMax(scale), orders, **public) >= least).all()
    least = orders / 2 / scale**2  # likewise: the density of the difference at 0 is 1/4
    assert (rdp.worst_case_rdp(LNMax(1 / scale), orders, **public) >= least * (1 - 1e-6)).all()


def test_supremum_has_the_known_values():
    expected = [0.05134, 0.2228, 0.713]
    np.testing.assert_allclose(rdp.worst_case_rdp(GNMax(5.0), [2, 8, 20]), expected, rtol=5e-4)
    shares = rdp.worst_case_rdp(GNMax(40.0), [2, 10, 60, 120]) / np.array([2, 10, 60, 120]) * 1600
    np.testing.assert_allclose(shares, [0.6404, 0.6412, 0.695, 0.842], atol=1e-3)


@cases(
    "mechanism, n_queries, public, expected",
    (GNMax(40.0), 500, {}, 2.82),
    (GNMax(40.0), 3000, {}, 7.89),
    (GNMax(40.0), 500, {"n_teachers": 250, "n_classes": 2}, 2.81),
    (LNMax(0.05), 500, {"n_teachers": 250, "n_classes": 2}, 5.36),
)
def test_publishable_epsilons(mechanism, n_queries, public, expected):
    epsilon, method = rdp.data_independent_epsilon(mechanism, n_queries, 1e-5, **public)
    assert epsilon == pytest.approx(expected, rel=0.003) and method == "renyi"


def costs_and_loss(mechanism, n_teachers, n_classes):
    """Largest Renyi costs, and log ratio of probabilities, of all histograms and moves."""
    rows = histograms_of(n_teachers, n_classes)
    loss = 0.0
    for row in rows:
        log_proba = mechanism.outcome_log_proba([row, *moves(row)])
        loss = max(loss, np.abs(log_proba[1:] - log_proba[0]).max())
    return rdp.exact_rdp(mechanism, rows, ORDERS).max(axis=0), loss


@pytest.mark.parametrize("n_teachers, n_classes", [(1, 2), (9, 2), (2, 3), (8, 3), (5, 4)])
@cases(
    "mechanism",
    *(GNMax(0.5), GNMax(5.0), LNMax(0.05), LNMax(2.0), ExponentialNMax(0.05), ExponentialNMax(2.0)),
    *(LNMax(0.05, "discrete"), LNMax(2.0, "discrete")),
    *(GNMax(0.5, "discrete"), GNMax(40.0, "discrete")),
    ids=str,
)
def test_enumeration_never_exceeds_the_worst_case(mechanism, n_teachers, n_classes):
    public = {"n_teachers": n_teachers, "n_classes": n_classes}
    exact, loss = costs_and_loss(mechanism, **public)
    pure = rdp.worst_case_pure(mechanism, **public)
    bounded = rdp.worst_case_rdp(mechanism, ORDERS, **public)
    assert loss <= pure * (1 + 1e-12) and pure <= mechanism.facts().pure_epsilon
    assert (exact <= bounded * (1 + 1e-12)).all()
    assert (bounded <= rdp.worst_case_rdp(mechanism, ORDERS) * (1 + 1e-9)).all()
    assert pure == math.inf or (bounded <= rdp.pure_rdp(pure, ORDERS) * (1 + 1e-9)).all()
    if n_classes == 2 and mechanism.facts().argmax_noise is not None:
        assert n_teachers == 1 or pure == pytest.approx(loss, rel=1e-6)


def test_the_worst_case_is_nearly_reached():
    exact = rdp.exact_rdp(GNMax(5.0), histograms_of(30, 3), ORDERS).max(axis=0)
    bounded = rdp.worst_case_rdp(GNMax(5.0), ORDERS, n_teachers=30, n_classes=3)
    assert (bounded[:3] <= 1.05 * exact[:3]).all()  # at low orders
    assert costs_and_loss(ExponentialNMax(0.5), 8, 3)[1] > 1.6 * 0.5  # 2 gamma is not slack
    # whole numbers are fine next to the noise
    exact = rdp.exact_rdp(GNMax(40.0, "discrete"), histograms_of(40, 2), ORDERS).max(axis=0)
    continuous = rdp.worst_case_rdp(GNMax(40.0), ORDERS, n_teachers=40, n_classes=2)
    assert exact == pytest.approx(continuous, rel=0.01)


@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.integers(0, 60), min_size=2, max_size=7).filter(lambda n: sum(n) > 0),
    st.one_of(
        st.builds(GNMax, sigma=st.floats(0.7, 200)), st.builds(LNMax, gamma=st.floats(0.005, 2))
    ),
)
def test_the_worst_case_covers_any_votes(counts, mechanism):
    orders = [1.2, 3.0, 15.0, 150.0]
    public = {"n_teachers": sum(counts), "n_classes": len(counts)}
    exact = rdp.exact_rdp(mechanism, [counts], orders)[0]
    assert (exact <= rdp.worst_case_rdp(mechanism, orders, **public) * (1 + 1e-12) + 1e-25).all()
    table = rdp.margin_rdp(mechanism, orders, **public)
    assert (exact <= table[half_margins([counts])[0]] * (1 + 1e-12) + 1e-25).all()
    if len(counts) > 2:  # of two, it is the exact cost of each margin
        assert (np.diff(table, axis=0) <= 1e-9).all()


def composed_delta(mechanism, pair, n_queries, epsilon):
    """Delta of one pair of histograms, asked many times: numbers of answers are multinomial."""
    n_outcomes = mechanism.outcome_log_proba(pair).shape[1]
    counts = itertools.product(range(n_queries + 1), repeat=n_outcomes - 1)
    counts = np.array([(*c, n_queries - sum(c)) for c in counts if sum(c) <= n_queries])
    log_ways = gammaln(n_queries + 1) - gammaln(counts + 1).sum(axis=1)
    p, q = (np.exp(counts @ row + log_ways) for row in mechanism.outcome_log_proba(pair))
    return max(np.maximum(x - np.exp(epsilon) * y, 0).sum() for x, y in ((p, q), (q, p)))


TWO = [[[n, 250 - n], [n + 1, 249 - n]] for n in range(0, 250, 3)]
THREE = [[84, 83, 83], [100, 100, 50], [120, 70, 60], [125, 124, 1], [200, 25, 25]]
THREE = [[counts, neighbour] for counts in THREE for neighbour in moves(counts)]


@pytest.mark.parametrize("mechanism", [GNMax(40.0), LNMax(0.05)])
@pytest.mark.parametrize(("pairs", "n_queries"), [(TWO, 1), (TWO, 100), (TWO, 500), (THREE, 60)])
def test_the_published_epsilon_covers_the_exact_composition(mechanism, pairs, n_queries):
    public = {"n_teachers": 250, "n_classes": len(pairs[0][0])}
    epsilon, _ = rdp.data_independent_epsilon(mechanism, n_queries, 1e-5, **public)
    largest = max(composed_delta(mechanism, pair, n_queries, epsilon) for pair in pairs)
    assert 1e-8 < largest <= 1e-5


def test_a_cost_that_depends_on_the_student_is_not_enumerated():
    class Student(Aggregator):
        uses_student_proba = True

        def facts(self):
            return rdp.Facts(gdp_mu=0.1)

        def outcome_log_proba(self, votes, student_proba=None):
            raise AssertionError("no list of votes covers what this mechanism does")

    public = {"n_teachers": 10, "n_classes": 2}
    for cost in (rdp.worst_case_rdp, rdp.margin_rdp):
        np.testing.assert_allclose(cost(Student(), [2.0], **public), 2 * 0.1**2 / 2)
    epsilon, method = rdp.data_independent_epsilon(Student(), 4, 1e-5, **public)
    assert epsilon == rdp.gdp_to_epsilon(0.2, 1e-5) and method == "gaussian"


# --- pure costs ----------------------------------------------------------------------------------


def test_unbounded_votes_have_none_with_gaussian_noise():
    assert rdp.worst_case_pure(GNMax(40.0)) == math.inf
    assert rdp.worst_case_pure(GNMax(40.0), n_teachers=100) == math.inf
    assert rdp.worst_case_pure(LNMax(0.05)) == 0.1


def test_one_sided_noise_may_rule_out_an_outcome():
    # given the largest noisy count of the others, a class above it wins for certain
    assert not rdp.Exponential.two_sided and rdp.Gaussian.two_sided and rdp.Laplace.two_sided


# --- calibration ---------------------------------------------------------------------------------


@pytest.mark.parametrize("unset", [GNMax(None), LNMax(None)])
@cases(
    "epsilon, n_queries, n_teachers, n_classes",
    *((1.0, 1, None, None), (0.1, 40, 60, 2), (8.0, 40, 300, 10)),
)
def test_calibration_is_the_least_noise_that_fits(unset, epsilon, n_queries, n_teachers, n_classes):
    def calibrated(**public):
        def cost_at(scale, orders):
            return unset.with_scale(scale).costs(orders, **public)(n_queries)

        return rdp.least_scale(cost_at, epsilon, 1e-5)

    public = {"n_teachers": n_teachers, "n_classes": n_classes}
    scale = calibrated(**public)
    for factor, fits in ((1, True), (1 - 1e-4, False)):
        mechanism = unset.with_scale(scale * factor)
        spent, _ = rdp.data_independent_epsilon(mechanism, n_queries, 1e-5, **public)
        assert (spent <= epsilon) == fits
    assert scale <= calibrated()
