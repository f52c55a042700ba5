"""Data-independent costs against enumeration, dense grids, 30-digit arithmetic and composition."""

import itertools
import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import gammaln

from sklearn_pate.aggregators import Aggregator, ExponentialNMax, GNMax, LNMax
from sklearn_pate.rdp import (
    DEFAULT_ORDERS,
    Exponential,
    Facts,
    Gaussian,
    Laplace,
    data_independent_epsilon,
    exact_rdp,
    gdp_to_epsilon,
    gnmax_sigma,
    lnmax_gamma,
    margin_rdp,
    pure_rdp,
    worst_case_pure,
    worst_case_rdp,
)
from sklearn_pate.rdp.exact import Pairs
from sklearn_pate.rdp.supremum import _Region, argmax_rdp
from sklearn_pate.smooth_sensitivity import half_margins

ORDERS = [1.1, 2.0, 8.0, 20.0, 60.0, 300.0, 2000.0]


def all_histograms(n_teachers, n_classes):
    """Sorted histograms of `n_teachers` votes."""
    rows = [
        row
        for row in itertools.product(range(n_teachers + 1), repeat=n_classes - 1)
        if sum(row) <= n_teachers
    ]
    rows = np.array([[*row, n_teachers - sum(row)] for row in rows])
    return np.unique(np.sort(rows, axis=1), axis=0)


# --- the three outcomes --------------------------------------------------------------------------


@pytest.mark.parametrize("noise", [Gaussian, Laplace])
@pytest.mark.parametrize(
    "counts", [(0.3, 0.7), (2.0, -1.0), (-4.0, -4.5), (9.0, 0.4), (30.0, -2.0), (0.0, 20.0)]
)
def test_three_outcomes_against_mpmath(noise, counts):
    def pdf(x):
        return mp.npdf(x) if noise is Gaussian else mp.exp(-abs(x)) / 2

    def cdf(x):
        if noise is Gaussian:
            return mp.ncdf(x)
        return mp.exp(x) / 2 if x < 0 else 1 - mp.exp(-x) / 2

    def wins(ahead, behind):
        kinks = sorted({0.0, max(ahead, 0), max(behind, 0), max((ahead + behind) / 2, 0)})
        steps = (-6, -4, -2, -1, 0, 1, 2, 4, 6, 9, 14, 40)
        points = sorted({max(k + d, 0.0) for k in kinks for d in steps})
        return mp.quad(lambda y: pdf(y - ahead) * cdf(y - behind), points)

    first, second = counts
    with mp.workdps(30):
        expected = [wins(first, second), wins(second, first), cdf(-first) * cdf(-second)]
        expected = [float(mp.log(p)) for p in expected]
    got = noise.log_rivals(np.array([first]), np.array([second]))[0]
    np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-12)
    assert abs(np.exp(got).sum() - 1) < 1e-11


@pytest.mark.parametrize("noise", [Gaussian, Laplace, Exponential])
@pytest.mark.parametrize("n_rivals", [1, 2, 9, 150, 2000])
@pytest.mark.parametrize("behind", [0.0, 0.02, 3.0, 25.0])
def test_overtaking_equal_counts_against_quadrature(noise, n_rivals, behind):
    def log_density(x):
        return float(noise.log_pdf(np.array(x + behind)) + n_rivals * noise.log_cdf(np.array(x)))

    with np.errstate(divide="ignore"):
        grid = np.linspace(-behind - 10, 60, 4001)
        highest = max(map(log_density, grid))
        peak = grid[np.argmax([log_density(x) for x in grid])]
        total, _ = quad(
            lambda x: math.exp(log_density(x) - highest),
            -behind - 45,
            60,
            points=sorted({-behind, 0.0, peak - 1, peak, peak + 1}),
            epsabs=0,
            epsrel=1e-11,
            limit=500,
        )
    expected = math.log(total) + highest
    assert noise.log_overtake(behind, n_rivals) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    if n_rivals <= 150:
        counts = [[0.0] + [behind] * n_rivals]
        by_all = noise(1.0).log_argmax(counts)[0, 0]
        assert noise.log_overtake(behind, n_rivals) == pytest.approx(by_all, rel=1e-12, abs=2e-13)


# --- the supremum --------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [1.1, 8.0, 60.0, 1500.0])
@pytest.mark.parametrize("scale", [0.5, 20.0, 3000.0])
@pytest.mark.parametrize("votes", [(0.0, 0.7), (-0.4, 1.2), (2.5, -3.0), (30.0, -40.0), (1.0, 9.0)])
def test_slopes_of_the_cost_are_its_differences(votes, scale, order):
    region = _Region(Gaussian(scale), 100.0, -200.0)
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
    return max(
        Pairs.from_log_proba(before, after).divergence(order).max(),
        Pairs.from_log_proba(after, before).divergence(order).max(),
    )


@pytest.mark.parametrize("scale", [2.0, 5.0, 40.0])
@pytest.mark.parametrize("mechanism", [GNMax, LNMax])
def test_no_point_of_a_dense_grid_exceeds_the_supremum(mechanism, scale):
    aggregator = mechanism(scale if mechanism is GNMax else 1 / scale)
    orders = np.array([1.1, 2.0, 8.0, 20.0, 60.0, 120.0, 500.0])
    cost = worst_case_rdp(aggregator, orders)
    for order, bound in zip(orders, cost, strict=True):
        widest = min(3 * order / scale + 8, 60)
        grid = np.linspace(0, widest, 181), np.linspace(-7, 12, 77)
        found = dense_supremum(aggregator.facts().argmax_noise, order, *grid)
        assert found <= bound
        if order / scale < 20:  # the search is no looser than the grid is coarse
            assert bound <= found * 1.01


@pytest.mark.parametrize("scale", [100, 300, 1094.7, 3000, 10_000, 1e5])
@pytest.mark.parametrize("noise", [Laplace, Gaussian])
def test_a_peak_as_narrow_as_one_vote_is_found(noise, scale):
    # with Laplace noise, the cost falls off within one vote of margin 0
    orders = np.array([1.5, 8.0, 35.6, 120.0])
    found = argmax_rdp(noise(scale), orders, np.inf)
    votes = np.linspace(0, 10, 101) / scale
    for order, cost in zip(orders, found, strict=True):
        assert dense_supremum(noise(scale), order, votes, np.linspace(-1, 1, 201)) <= cost * (
            1 + 5e-7
        )


def climbed_supremum(noise, orders, widest_margin):
    """What one climb per order finds, from the best of a grid and to a fixed small step."""
    half = 0.5 / noise.scale
    reach = 2 * half * orders.max()
    widest = max(0.0, min(widest_margin - 2 * half, 10 + 2.5 * reach))
    lowest = -8 - 1.2 * reach

    def cost_at(margin, level):
        before = noise.log_rivals(level + margin + half, level - half)
        after = noise.log_rivals(level + margin - half, level + half)
        there = Pairs.from_log_proba(before, after)
        back = Pairs.from_log_proba(after, before)
        return lambda order: np.maximum(there.divergence(order), back.divergence(order))

    margins = np.append(np.linspace(0, widest, 60), np.arange(0, min(5, widest), 0.5))
    levels = np.append(np.linspace(0.9 * lowest, 6, 60), 20)
    margins, levels = (axis.ravel() for axis in np.meshgrid(margins, levels))
    on_grid = cost_at(margins, levels)
    start = [(cost.max(), cost.argmax()) for cost in map(on_grid, orders)]
    best = np.array([cost for cost, _ in start])
    margin = np.array([margins[k] for _, k in start])
    level = np.array([levels[k] for _, k in start])
    step = np.full(orders.size, 0.25)
    directions = np.array([(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1)])
    while (live := np.flatnonzero(step > 1e-4 * min(1, 60 * half))).size:
        across = step[live, None] * np.maximum(1, margin[live, None] / 4)
        near_margin = np.clip(margin[live, None] + across * directions[:, 0], 0, widest)
        near_level = level[live, None] + step[live, None] * directions[:, 1]
        cost = cost_at(near_margin.ravel(), np.clip(near_level, lowest, 20).ravel())
        cost = cost(np.repeat(orders[live], 9)).reshape(near_margin.shape)
        chosen = np.arange(live.size), cost.argmax(axis=1)
        better = cost[chosen] > best[live] * (1 + 1e-9)
        best[live[better]] = cost[chosen][better]
        margin[live[better]] = near_margin[chosen][better]
        level[live[better]] = np.clip(near_level[chosen][better], lowest, 20)
        step[live[~better]] /= 2
    return best


SOME_ORDERS = 1 + np.geomspace(0.1, 2000, 204)[::3]


def assert_found(noise, orders, n_teachers):
    """The search finds no less than one climb per order; votes that it finds exist."""
    orders = orders[orders / noise.scale < 100]
    if not orders.size or (n_teachers is not None and n_teachers < 2):
        return
    widest_margin = math.inf if n_teachers is None else n_teachers / noise.scale
    found = argmax_rdp(noise, orders, widest_margin)
    climbed = climbed_supremum(noise, orders, widest_margin)
    assert (found >= climbed * (1 - 1e-6)).all()
    assert (found <= climbed * 1.01).all()  # one climb may end on the lower of two peaks


@pytest.mark.parametrize("n_teachers", [None, 2, 50, 250, 10_000])
@pytest.mark.parametrize("scale", [0.3, 2.0, 20.0, 62.5, 1000.0, 1e5])
@pytest.mark.parametrize("noise", [Gaussian, Laplace])
def test_the_search_finds_what_a_climb_finds(noise, scale, n_teachers):
    assert_found(noise(scale), SOME_ORDERS, n_teachers)


@pytest.mark.parametrize(
    "orders", [[3.0, 4.0, 2000.9999999999998, 2001.0], [2000.9999999999998, 2001.0]]
)
def test_orders_may_be_next_to_each_other(orders):
    assert_found(Gaussian(100.0), np.array(orders), None)


@settings(max_examples=30, deadline=None)
@given(
    st.floats(-1, 5).map(lambda power: 10**power),
    st.lists(st.floats(1.05, 2001), min_size=1, max_size=40, unique=True),
    st.one_of(st.none(), st.integers(2, 10_000)),
)
def test_the_search_finds_what_a_climb_finds_at_any_orders(scale, orders, n_teachers):
    assert_found(Gaussian(scale), np.array(orders), n_teachers)


@pytest.mark.parametrize(
    ("scale", "n_teachers", "order"),
    [(22.325877214445942, 50, 123.0), (37.314166997404264, 120, 246.5), (1.5109314, 5, 9.9)],
)
def test_the_higher_of_two_peaks_is_found(scale, n_teachers, order):
    # the best of the search's coarse grid is on the lower of two peaks, of nearly equal height
    noise = Gaussian(scale)
    gaps = np.linspace(0, (n_teachers - 1) / scale, 81)
    dense = dense_supremum(noise, order, gaps, np.linspace(-20, 8, 561))
    assert dense <= argmax_rdp(noise, np.array([order]), n_teachers / scale)[0] * (1 + 1e-6)


@pytest.mark.parametrize(("scale", "n_teachers"), [(20.0, 50), (0.3, 2), (1.51, 5), (62.5, 250)])
def test_orders_searched_together_cost_what_each_costs_alone(scale, n_teachers):
    noise = Gaussian(scale)
    orders = DEFAULT_ORDERS[DEFAULT_ORDERS / scale < 100]
    together = argmax_rdp(noise, orders, n_teachers / scale)
    reversed_orders = argmax_rdp(noise, orders[::-1], n_teachers / scale)[::-1]
    alone = [argmax_rdp(noise, orders[[k]], n_teachers / scale)[0] for k in range(orders.size)]
    np.testing.assert_array_equal(together, reversed_orders)
    np.testing.assert_allclose(together, alone, rtol=5e-7)


@pytest.mark.parametrize(
    ("scale", "n_teachers", "order"),
    [(10, 50, 119), (40, 160, 400), (40, 20, 479), (100, 50, 1000), (5, 30, 60)],
)
def test_supremum_with_few_teachers_lies_far_below_the_rivals(scale, n_teachers, order):
    # when the gap is limited, a high order costs most if both classes are unlikely
    gaps = np.linspace(0, (n_teachers - 1) / scale, 60)
    found = dense_supremum(Gaussian(scale), order, gaps, np.linspace(-25, 10, 351))
    bound = worst_case_rdp(GNMax(scale), [order], n_teachers=n_teachers)[0]
    assert found <= bound <= found * 1.001


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("scale", [1e7, 1e9, 1e12, 1e16, 1e20, 1e100])
def test_rounding_hides_no_vote(scale, n_classes):
    orders = np.array([1.1, 2.0, 20.0, 2000.0])
    public = {"n_teachers": 100, "n_classes": n_classes}
    # of two level counts, one vote moves the chance to win by phi(0) sqrt(2) / scale
    least = orders / 2 * 8 / (2 * math.pi) / 2 / scale**2
    assert (worst_case_rdp(GNMax(scale), orders, **public) >= least).all()
    least = orders / 2 / scale**2  # likewise: the density of the difference at 0 is 1/4
    assert (worst_case_rdp(LNMax(1 / scale), orders, **public) >= least * (1 - 1e-6)).all()


def test_supremum_has_the_known_values():
    expected = [0.05134, 0.2228, 0.713]
    np.testing.assert_allclose(worst_case_rdp(GNMax(5.0), [2, 8, 20]), expected, rtol=5e-4)
    shares = worst_case_rdp(GNMax(40.0), [2, 10, 60, 120]) / np.array([2, 10, 60, 120]) * 1600
    np.testing.assert_allclose(shares, [0.6404, 0.6412, 0.695, 0.842], atol=1e-3)


def test_publishable_epsilons_of_any_number_of_classes():
    for n_queries, expected in ((100, 1.16), (500, 2.82), (1000, 4.16), (3000, 7.89)):
        epsilon, method = data_independent_epsilon(GNMax(40.0), n_queries, 1e-5)
        assert epsilon == pytest.approx(expected, rel=0.003) and method == "renyi"


@pytest.mark.parametrize(("n_teachers", "n_classes"), [(30, 3), (18, 4), (1, 3), (2, 3), (9, 5)])
@pytest.mark.parametrize("mechanism", [GNMax(5.0), GNMax(1.5), LNMax(0.2), LNMax(1.0)])
def test_enumeration_never_exceeds_the_worst_case(mechanism, n_teachers, n_classes):
    exact = exact_rdp(mechanism, all_histograms(n_teachers, n_classes), ORDERS).max(axis=0)
    bounded = worst_case_rdp(mechanism, ORDERS, n_teachers=n_teachers, n_classes=n_classes)
    unbounded = worst_case_rdp(mechanism, ORDERS)
    assert (exact <= bounded).all() and (bounded <= unbounded * (1 + 1e-9)).all()
    if n_teachers >= 18 and mechanism.get_params().get("sigma") == 5.0:
        assert (bounded[:3] <= 1.05 * exact[:3]).all()  # tight at low orders


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 60), min_size=3, max_size=7).filter(lambda n: sum(n) > 0),
    st.one_of(
        st.builds(GNMax, sigma=st.floats(0.7, 200)), st.builds(LNMax, gamma=st.floats(0.005, 2))
    ),
)
def test_the_worst_case_covers_any_votes(counts, mechanism):
    orders = [1.2, 3.0, 15.0, 150.0]
    exact = exact_rdp(mechanism, [counts], orders)[0]
    assert (
        exact <= worst_case_rdp(mechanism, orders, n_teachers=sum(counts), n_classes=len(counts))
    ).all()
    table = margin_rdp(mechanism, orders, n_teachers=sum(counts), n_classes=len(counts))
    assert (exact <= table[half_margins([counts])[0]] + 1e-25).all()  # below, both are rounding
    assert (np.diff(table, axis=0) <= 1e-9).all()


@pytest.mark.parametrize("mechanism", [GNMax(40.0), LNMax(0.05)])
def test_the_published_epsilon_covers_the_exact_composition_of_three_class_votes(mechanism):
    # The same histogram asked n times: counts of answers are multinomial, so the composed
    # mechanism's delta at the reported epsilon is a finite sum
    n_queries, delta, n_teachers = 60, 1e-5, 250
    epsilon, _ = data_independent_epsilon(
        mechanism, n_queries, delta, n_teachers=n_teachers, n_classes=3
    )
    counts = np.array(
        [(i, j, n_queries - i - j) for i in range(n_queries + 1) for j in range(n_queries + 1 - i)]
    )
    log_ways = gammaln(n_queries + 1) - gammaln(counts + 1).sum(axis=1)
    largest = 0.0
    for votes in ([84, 83, 83], [100, 100, 50], [120, 70, 60], [125, 124, 1], [200, 25, 25]):
        for move in itertools.permutations(range(3), 2):
            neighbour = np.array(votes)
            neighbour[list(move)] += [-1, 1]
            log_p = mechanism.outcome_log_proba([votes, neighbour])
            p, q = (np.exp(counts @ row + log_ways) for row in log_p)
            for x, y in ((p, q), (q, p)):
                largest = max(largest, np.maximum(x - np.exp(epsilon) * y, 0).sum())
    assert delta / 1000 < largest <= delta


def test_a_cost_that_depends_on_the_student_is_not_enumerated():
    class Student(Aggregator):
        uses_student_proba = True

        def facts(self):
            return Facts(gdp_mu=0.1)

        def outcome_log_proba(self, votes, student_proba=None):
            raise AssertionError("no list of votes covers what this mechanism does")

    np.testing.assert_allclose(
        worst_case_rdp(Student(), [2.0], n_teachers=10, n_classes=2), 2 * 0.1**2 / 2
    )
    np.testing.assert_allclose(
        margin_rdp(Student(), [2.0], n_teachers=10, n_classes=2), 2 * 0.1**2 / 2
    )
    epsilon, method = data_independent_epsilon(Student(), 4, 1e-5, n_teachers=10, n_classes=2)
    assert epsilon == gdp_to_epsilon(0.2, 1e-5) and method == "gaussian"


# --- pure costs ----------------------------------------------------------------------------------


def largest_loss(mechanism, n_teachers, n_classes):
    """Largest log ratio of an outcome's probabilities over all histograms and moves."""
    loss = 0.0
    for row in all_histograms(n_teachers, n_classes):
        for u, v in itertools.permutations(range(n_classes), 2):
            if row[u]:
                neighbour = row.copy()
                neighbour[[u, v]] += [-1, 1]
                log_p = mechanism.outcome_log_proba([row, neighbour])
                loss = max(loss, np.abs(log_p[0] - log_p[1]).max())
    return loss


@pytest.mark.parametrize(("n_teachers", "n_classes"), [(1, 2), (7, 2), (1, 3), (8, 3), (5, 4)])
@pytest.mark.parametrize("scale", [0.5, 3.0, 30.0])
def test_bounded_votes_have_pure_privacy(n_teachers, n_classes, scale):
    for mechanism in (GNMax(scale), LNMax(1 / scale)):
        loss = largest_loss(mechanism, n_teachers, n_classes)
        pure = worst_case_pure(mechanism, n_teachers=n_teachers, n_classes=n_classes)
        assert loss <= pure <= mechanism.facts().pure_epsilon
        if n_classes == 2:
            assert pure == pytest.approx(loss, rel=1e-6)
        cost = worst_case_rdp(mechanism, [2.0, 1e4], n_teachers=n_teachers, n_classes=n_classes)
        assert (cost <= pure_rdp(pure, [2.0, 1e4]) * (1 + 1e-9)).all()


def test_unbounded_votes_have_none_with_gaussian_noise():
    assert worst_case_pure(GNMax(40.0)) == math.inf
    assert worst_case_pure(GNMax(40.0), n_teachers=100) == math.inf
    assert worst_case_pure(LNMax(0.05)) == 0.1


def all_ordered_histograms(n_teachers, n_classes):
    """Histograms of `n_teachers` votes, for mechanisms that treat classes differently."""
    rows = itertools.product(range(n_teachers + 1), repeat=n_classes)
    return np.array([row for row in rows if sum(row) == n_teachers])


def costs_and_loss(mechanism, n_teachers, n_classes):
    """Largest Renyi costs, and log ratio of probabilities, of all histograms and moves."""
    rows = all_ordered_histograms(n_teachers, n_classes)
    log_proba = dict(zip(map(tuple, rows), mechanism.outcome_log_proba(rows), strict=True))
    loss = 0.0
    for row in rows:
        for u, v in itertools.permutations(range(n_classes), 2):
            if row[u]:
                neighbour = row.copy()
                neighbour[[u, v]] += [-1, 1]
                ratio = log_proba[tuple(row)] - log_proba[tuple(neighbour)]
                loss = max(loss, np.abs(ratio).max())
    return exact_rdp(mechanism, rows, ORDERS).max(axis=0), loss


@pytest.mark.parametrize(("n_teachers", "n_classes"), [(1, 2), (9, 2), (1, 3), (8, 3), (5, 4)])
@pytest.mark.parametrize("gamma", [0.05, 0.5, 2.0])
@pytest.mark.parametrize("mechanism", [ExponentialNMax, LNMax])
def test_one_sided_and_discrete_noise_are_pure(mechanism, gamma, n_teachers, n_classes):
    mechanism = mechanism(gamma) if mechanism is ExponentialNMax else LNMax(gamma, "discrete")
    exact, loss = costs_and_loss(mechanism, n_teachers, n_classes)
    pure = worst_case_pure(mechanism, n_teachers=n_teachers, n_classes=n_classes)
    assert loss <= pure * (1 + 1e-12) and pure <= 2 * gamma
    bounded = worst_case_rdp(mechanism, ORDERS, n_teachers=n_teachers, n_classes=n_classes)
    assert (exact <= bounded * (1 + 1e-12)).all()
    assert (bounded <= worst_case_rdp(mechanism, ORDERS) * (1 + 1e-12)).all()
    if isinstance(mechanism, ExponentialNMax) and n_teachers > 5:
        assert loss > 1.6 * gamma  # 2 gamma is not slack


@pytest.mark.parametrize(("n_teachers", "n_classes"), [(1, 2), (40, 2), (1, 3), (8, 3), (5, 4)])
@pytest.mark.parametrize("sigma", [0.5, 2.0, 40.0])
def test_discrete_gaussian_noise_costs_at_most_its_formula(sigma, n_teachers, n_classes):
    mechanism = GNMax(sigma, "discrete")
    exact, loss = costs_and_loss(mechanism, n_teachers, n_classes)
    bounded = worst_case_rdp(mechanism, ORDERS, n_teachers=n_teachers, n_classes=n_classes)
    assert (exact <= bounded * (1 + 1e-12)).all()
    assert (bounded <= np.array(ORDERS) / sigma**2).all()
    assert loss <= worst_case_pure(mechanism, n_teachers=n_teachers, n_classes=n_classes)
    if sigma == 40.0 and n_teachers == 40:  # whole numbers are fine next to the noise
        assert exact == pytest.approx(
            worst_case_rdp(GNMax(40.0), ORDERS, n_teachers=40, n_classes=2), rel=0.01
        )


def test_one_sided_noise_may_rule_out_an_outcome():
    # given the largest noisy count of the others, a class above it wins for certain
    log_proba = Exponential.log_rivals(np.array([0.1, -0.1]), np.array([-0.2, -0.2]))
    assert np.isneginf(log_proba[0, 2]) and np.isfinite(log_proba[1]).all()
    np.testing.assert_allclose(np.exp(log_proba).sum(axis=1), 1, rtol=1e-14)
    assert not Exponential.two_sided and Gaussian.two_sided and Laplace.two_sided


# --- calibration ---------------------------------------------------------------------------------


@pytest.mark.parametrize("calibrate", [gnmax_sigma, lnmax_gamma])
@pytest.mark.parametrize("n_classes", [None, 2, 10])
def test_calibration_is_the_least_noise_that_fits(calibrate, n_classes):
    n_teachers = None if n_classes is None else 300
    for n_queries in (1, 40):
        noise = calibrate(1.0, 1e-5, n_queries, n_classes=n_classes, n_teachers=n_teachers)
        more = noise * (1 - 1e-4 if calibrate is gnmax_sigma else 1 + 1e-4)
        mechanism = GNMax if calibrate is gnmax_sigma else LNMax
        public = {"n_teachers": n_teachers, "n_classes": n_classes}
        assert data_independent_epsilon(mechanism(noise), n_queries, 1e-5, **public)[0] <= 1.0
        assert data_independent_epsilon(mechanism(more), n_queries, 1e-5, **public)[0] > 1.0


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0])
def test_calibration_at_small_delta_neither_exceeds_nor_wastes(epsilon):
    for n_teachers, n_classes in ((50, 3), (1000, 10)):
        public = {"n_teachers": n_teachers, "n_classes": n_classes}
        for noise in (
            GNMax(gnmax_sigma(epsilon, 1e-12, 1, **public)),
            LNMax(lnmax_gamma(epsilon, 1e-12, 1, **public)),
        ):
            spent = data_independent_epsilon(noise, 1, 1e-12, **public)[0]
            assert epsilon * (1 - 1e-5) <= spent <= epsilon


@pytest.mark.parametrize("calibrate", [gnmax_sigma, lnmax_gamma])
def test_calibration_refuses_what_it_cannot_use(calibrate):
    for arguments, name in (
        ((0.0, 1e-5, 1), "epsilon"),
        ((1.0, 1.0, 1), "delta"),
        ((1.0, 1e-5, 0), "n_queries"),
        ((1.0, 1e-5, 2.5), "n_queries"),
    ):
        with pytest.raises(ValueError, match=name):
            calibrate(*arguments)


# --- a number of answers that is itself an outcome -----------------------------------------------


class Checked(Aggregator):
    """Answers only if the top count passes a noisy threshold: `m + 1` outcomes."""

    def facts(self):
        return Facts(label_symmetric=True)

    def outcome_log_proba(self, votes, student_proba=None):
        answer = GNMax(20.0).outcome_log_proba(votes)
        passes = Gaussian.log_cdf((np.max(votes, axis=1) - 35) / 10)[:, None]
        fails = Gaussian.log_cdf((35 - np.max(votes, axis=1)) / 10)[:, None]
        return np.hstack([answer + passes, fails])


def test_checked_queries_are_paid_for_answered_or_not():
    epsilon, _ = data_independent_epsilon(Checked(), 30, 1e-5, n_teachers=50, n_classes=2)
    # the exact composition over outcomes (answer 0, answer 1, none), worst over histograms
    counts = np.array([(i, j, 30 - i - j) for i in range(31) for j in range(31 - i)])
    log_ways = gammaln(31) - gammaln(counts + 1).sum(axis=1)
    largest = 0.0
    for n in range(50):
        log_p = Checked().outcome_log_proba(np.array([[n, 50 - n], [n + 1, 49 - n]]))
        p, q = (np.exp(counts @ row + log_ways) for row in log_p)
        for x, y in ((p, q), (q, p)):
            largest = max(largest, np.maximum(x - np.exp(epsilon) * y, 0).sum())
    assert 1e-8 < largest <= 1e-5


def test_every_default_order_is_finite_and_increasing():
    for mechanism in (GNMax(40.0), LNMax(0.05)):
        cost = worst_case_rdp(mechanism, DEFAULT_ORDERS, n_teachers=250, n_classes=10)
        assert np.isfinite(cost).all() and (np.diff(cost) > -1e-7 * cost[1:]).all()
