"""Costs and conversions against independent computations: mpmath, dp-accounting, quadrature."""

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from conftest import cases, divergences, moves
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_pate import rdp
from sklearn_pate.accountant.pricing import plan_table
from sklearn_pate.aggregators import GNMax, LaplaceMechanism, LNMax
from sklearn_pate.ledger.filters import Account, Budget, new_filters
from sklearn_pate.rdp.checks import check_votes
from sklearn_pate.rdp.cost import _where_it_fits, rounded_up, sum_up, times_up
from sklearn_pate.rdp.discrete import laplace_table_cost

histograms = st.lists(st.integers(0, 120), min_size=2, max_size=6).filter(lambda n: sum(n) > 0)


# --- the published bounds, re-derived one number at a time in 40 digits -----------------------


def lnmax_bound(counts, gamma, order):
    with mp.workdps(40):
        gamma, order = mp.mpf(gamma), mp.mpf(order)
        top = max(range(len(counts)), key=lambda j: counts[j])
        gaps = [counts[top] - n for j, n in enumerate(counts) if j != top]
        q = sum((2 + gamma * d) / (4 * mp.exp(gamma * d)) for d in gaps)
        q = min(q, 1 - mp.mpf(1) / len(counts))
        costs = [2 * gamma**2 * order, 2 * gamma]
        if q < (mp.exp(2 * gamma) - 1) / (mp.exp(4 * gamma) - 1):
            lam = order - 1
            ratio = (1 - q) / (1 - mp.exp(2 * gamma) * q)
            costs.append(mp.log((1 - q) * ratio**lam + q * mp.exp(2 * gamma * lam)) / lam)
        return float(min(costs))


def gaussian_bound(q, sigma, order):
    with mp.workdps(60):
        q, s, a = mp.mpf(q), mp.mpf(sigma), mp.mpf(order)
        costs = [a / s**2]
        mu2 = s * mp.sqrt(mp.log(1 / q))
        mu1 = mu2 + 1
        e1, e2 = mu1 / s**2, mu2 / s**2
        if mu1 >= a and mu2 > 1 and q * mp.exp(e2) < 1:
            limit = mp.exp((mu2 - 1) * e2) / (mu1 / (mu1 - 1) * mu2 / (mu2 - 1)) ** mu2
            if q <= limit:
                big_a = (1 - q) / (1 - (q * mp.exp(e2)) ** ((mu2 - 1) / mu2))
                big_b = mp.exp(e1) / q ** (1 / (mu1 - 1))
                costs.append(mp.log((1 - q) * big_a ** (a - 1) + q * big_b ** (a - 1)) / (a - 1))
        return float(min(costs))


def gnmax_bound(counts, sigma, order):
    with mp.workdps(60):
        top = max(range(len(counts)), key=lambda j: counts[j])
        gaps = [counts[top] - n for j, n in enumerate(counts) if j != top]
        q = sum(mp.erfc(mp.mpf(gap) / (2 * sigma)) / 2 for gap in gaps)
        return gaussian_bound(min(q, 1 - mp.mpf(1) / len(counts)), sigma, order)


@settings(max_examples=60, deadline=None)
@given(histograms, st.floats(0.01, 3), st.floats(1.05, 500))
def test_lnmax_bound_agrees_with_mpmath(counts, gamma, order):
    got = rdp.lnmax_rdp([counts], gamma, [order])[0, 0]
    assert got == pytest.approx(lnmax_bound(counts, gamma, order), rel=1e-6, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(histograms, st.floats(0.5, 200), st.floats(1.05, 500))
def test_gnmax_bound_agrees_with_mpmath(counts, sigma, order):
    got = rdp.gnmax_rdp([counts], sigma, [order])[0, 0]
    assert got == pytest.approx(gnmax_bound(counts, sigma, order), rel=1e-6, abs=1e-12)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 250), st.integers(1, 250), st.floats(1, 200), st.floats(1.05, 200))
def test_threshold_bound_agrees_with_mpmath(top, threshold, sigma, order):
    with mp.workdps(60):
        tail = mp.ncdf(mp.mpf(-abs(top - threshold)) / mp.mpf(sigma))
    expected = gaussian_bound(tail, math.sqrt(2) * sigma, order)
    got = rdp.threshold_rdp([top], threshold, sigma, [order])[0, 0]
    assert got == pytest.approx(expected, rel=1e-6, abs=1e-12)


# --- bounds against the divergence itself ---------------------------------------------------


@settings(max_examples=50, deadline=None)
@given(
    histograms,
    st.one_of(st.builds(LNMax, st.floats(0.02, 1.5)), st.builds(GNMax, st.floats(1, 100))),
    st.floats(1.1, 60),
)
def test_costs_cover_the_divergence(counts, mechanism, order):
    forward, reverse = divergences(mechanism, counts, order)
    assert forward.max() <= mechanism.published_rdp([counts], [order])[0, 0] + 1e-9
    assert max(forward.max(), reverse.max()) <= mechanism.costs([order])(1).rdp[0] + 1e-9


@cases("mechanism, counts, order", (LNMax(1 / 1.5), [29, 20], 5.0), (GNMax(3.0), [249, 1], 63.0))
def test_reverse_direction_can_exceed_the_published_bound(mechanism, counts, order):
    # So the published bound is no guarantee: the two cases of THEORY's section on it
    forward, reverse = divergences(mechanism, counts, order)
    bound = mechanism.published_rdp([counts], [order])[0, 0]
    assert forward.max() <= bound < reverse.max()
    exact = rdp.exact_rdp(mechanism, [counts], [order])[0, 0]
    assert exact == pytest.approx(reverse.max(), rel=1e-6)
    if isinstance(mechanism, GNMax):
        assert exact == pytest.approx(0.259, abs=0.001)


@settings(max_examples=30, deadline=None)
@given(histograms, st.floats(1, 100))
def test_one_gnmax_answer_keeps_its_gaussian_guarantee(counts, sigma):
    delta = 1e-3
    epsilon = rdp.gdp_to_epsilon(GNMax(sigma).facts().gdp_mu, delta)
    p = np.exp(GNMax(sigma).outcome_log_proba([counts]))
    q = np.exp(GNMax(sigma).outcome_log_proba(moves(counts)))
    for a, b in ((p, q), (q, p)):
        assert np.maximum(a - np.exp(epsilon) * b, 0).sum(axis=1).max() <= delta + 1e-12


@pytest.mark.parametrize("sigma", [0.3, 0.5])
def test_gnmax_bound_ends_at_its_largest_order(sigma):
    # the theorem needs order <= mu1 = 2.5; its formula goes on below a / sigma^2
    log_q = -((1.5 / sigma) ** 2)
    got = rdp.gaussian_rdp([log_q], sigma, [2.4, 2.6, 3.4])[0]
    expected = [gaussian_bound(mp.exp(log_q), sigma, order) for order in (2.4, 2.6, 3.4)]
    assert got == pytest.approx(expected, rel=1e-9)
    np.testing.assert_array_equal(got[1:], np.array([2.6, 3.4]) / sigma**2)


# --- pure steps -----------------------------------------------------------------------------


@settings(max_examples=100, deadline=None)
@given(st.floats(1e-6, 60), st.floats(1.01, 2000))
def test_pure_rdp_is_randomised_response(epsilon, order):
    with mp.workdps(80):
        e, a = mp.mpf(epsilon), mp.mpf(order)
        p, q = mp.exp(e) / (1 + mp.exp(e)), 1 / (1 + mp.exp(e))
        exact = float(mp.log(p**a * q ** (1 - a) + q**a * p ** (1 - a)) / (a - 1))
    got = rdp.pure_rdp(epsilon, [order])[0]
    assert got == pytest.approx(exact, rel=1e-9)
    assert got <= min(epsilon, order * epsilon**2 / 2) * (1 + 1e-9)


# --- conversions ------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:the best Renyi order is at the edge")
@settings(max_examples=50, deadline=None)
@given(st.floats(1e-4, 5), st.sampled_from([1e-3, 1e-5, 1e-8]))
def test_improved_conversion_agrees_with_dp_accounting(scale, delta):
    from dp_accounting.rdp import compute_epsilon

    orders = np.concatenate([np.arange(1.5, 64, 0.5), [128, 256, 512]])
    costs = scale * orders / (1 + 0.01 * orders)
    expected, order = compute_epsilon(orders, costs, delta)
    got, got_order = rdp.rdp_to_epsilon(costs, delta, orders)
    assert got == pytest.approx(expected, abs=1e-9)
    assert expected == 0 or got_order == order


def test_conversions_are_ordered_and_the_classic_one_is_the_formula():
    costs = rdp.DEFAULT_ORDERS / 100
    classic, order = rdp.rdp_to_epsilon(costs, 1e-5, rdp.DEFAULT_ORDERS, conversion="classic")
    assert classic == pytest.approx(order / 100 + math.log(1e5) / (order - 1))
    assert rdp.rdp_to_epsilon(costs, 1e-5, rdp.DEFAULT_ORDERS)[0] < classic


def test_the_edge_of_the_grid_warns():
    with pytest.warns(UserWarning, match="edge of the grid"):
        rdp.rdp_to_epsilon([0.5, 0.6], 1e-5, [2.0, 3.0])


def gdp_delta(epsilon, mu):
    with mp.workdps(50):
        e, m = mp.mpf(epsilon), mp.mpf(mu)
        return mp.ncdf(m / 2 - e / m) - mp.exp(e) * mp.ncdf(-m / 2 - e / m)


@settings(max_examples=100, deadline=None)
@given(st.floats(1e-3, 30), st.sampled_from([1e-2, 1e-5, 1e-9]))
def test_gaussian_epsilon_is_the_least_one(mu, delta):
    epsilon = rdp.gdp_to_epsilon(mu, delta)
    assert gdp_delta(epsilon, mu) <= delta  # rounded up to the last digit
    if epsilon > 0:
        assert gdp_delta(epsilon * (1 - 3e-12) - 1e-13, mu) > delta


@pytest.mark.parametrize("epsilon", [1e-300, 1e-17, 1e-5, 0.1, 0.999, 1.0, 5.0, 40.0, 800.0, 1e6])
def test_a_pure_step_is_gaussian_dp_by_mpmath(epsilon):
    mu = rdp.pure_to_gdp(epsilon)

    def log_odds(h):  # log(Phi(h) / Phi(-h)) is epsilon at the exact mu / 2, and grows with it
        x = h / mp.sqrt(2)
        if epsilon < 100:
            return mp.log1p(mp.erf(x)) - mp.log1p(-mp.erf(x))
        return mp.log(mp.ncdf(h)) - mp.log(mp.erfc(x) / 2)

    with mp.workdps(max(60, 30 - math.floor(math.log10(epsilon)))):
        half = mp.mpf(mu) / 2
        assert log_odds(half * (1 - mp.mpf("3e-12"))) < mp.mpf(epsilon) <= log_odds(half)


def test_pure_to_gdp_at_its_ends_and_what_it_refuses():
    assert rdp.pure_to_gdp(0) == 0.0 and rdp.pure_to_gdp(math.inf) == math.inf
    for wrong in (-0.1, math.nan, "1", None):
        with pytest.raises(ValueError, match="epsilon must be a number, at least 0; got"):
            rdp.pure_to_gdp(wrong)


# --- one pure step and Gaussian noise ------------------------------------------------------------


def both_delta(epsilon, pure, mu):
    """Integral of the excess, over the answers of randomised response and a normal number."""
    with mp.workdps(30):
        e, m = mp.mpf(epsilon), mp.mpf(mu)
        odds = mp.exp(mp.mpf(pure))
        total = mp.mpf(0)
        for here, there in ((odds, 1), (1, odds)):  # the chances of an answer, times 1 + odds
            # The densities of x are those of N(m, 1) and N(0, 1); the first exceeds from here on
            start = (e + mp.log(mp.mpf(there) / here)) / m + m / 2

            def excess(x, here=here, there=there):
                return ((here * mp.npdf(x - m)) - mp.exp(e) * there * mp.npdf(x)) / (1 + odds)

            places = [start, *(x for x in (m - 8, m, m + 8) if x > start), max(start, m) + 40]
            total += mp.quad(excess, sorted(places))
        return total


@cases(
    "pure, mu, delta",
    *((1e-3, 0.01, 1e-9), (1.0, 3.0, 1e-3), (5.0, 0.01, 1e-3), (5.0, 0.27, 1e-9)),
)
def test_a_pure_step_and_gaussian_noise_cost_the_least_epsilon(pure, mu, delta):
    epsilon = rdp.pure_and_gdp_to_epsilon(delta, pure=pure, mu=mu)
    at_it = both_delta(epsilon, pure, mu)
    assert at_it <= delta * (1 + 1e-12)
    assert rdp.pure_and_gdp_delta(epsilon, pure=pure, mu=mu) == pytest.approx(
        float(at_it), rel=1e-9
    )
    assert both_delta(epsilon * (1 - 1e-9) - 1e-12, pure, mu) > delta
    assert rdp.gdp_to_epsilon(mu, delta) <= epsilon <= pure + rdp.gdp_to_epsilon(mu, delta) + 1e-15


@pytest.mark.parametrize(("pure", "mu"), [(1e-3, 3.0), (5.0, 0.27)])
def test_delta_of_a_pure_step_and_gaussian_noise_by_quadrature(pure, mu):
    for epsilon in (0.0, pure / 2, 2 * pure + mu):
        exact = float(both_delta(epsilon, pure, mu))
        assert rdp.pure_and_gdp_delta(epsilon, pure=pure, mu=mu) == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("delta", [1e-2, 1e-5, 1e-9])
def test_a_pure_step_and_gaussian_noise_at_the_ends(delta):
    for mu in (0.01, 0.3, 4.0):
        alone = rdp.gdp_to_epsilon(mu, delta)
        assert rdp.pure_and_gdp_to_epsilon(delta, pure=0.0, mu=mu) == pytest.approx(alone, rel=1e-9)
        assert alone - 1e-12 <= rdp.pure_and_gdp_to_epsilon(delta, pure=1e-9, mu=mu) <= alone + 1e-8
    for pure in (0.1, 1.0, 6.0):
        # randomised response alone: p (1 - exp(epsilon - pure)) is delta
        alone = pure + math.log1p(-delta * (1 + math.exp(-pure)))
        for mu in (0.0, 1e-9):
            got = rdp.pure_and_gdp_to_epsilon(delta, pure=pure, mu=mu)
            assert got == pytest.approx(alone, abs=1e-7)
    for infinite in ({"pure": math.inf, "mu": 0.1}, {"pure": 0.1, "mu": math.inf}):
        assert rdp.pure_and_gdp_to_epsilon(delta, **infinite) == math.inf
        assert rdp.pure_and_gdp_delta(3.0, **infinite) == 1.0
    assert rdp.pure_and_gdp_to_epsilon(0.5, pure=0.1, mu=0.1) == 0.0
    inf = np.full(rdp.DEFAULT_ORDERS.shape, math.inf)
    both = rdp.Cost(inf, 0.3**2, math.inf).plus(rdp.Cost(inf, math.inf, 1.0)).epsilon(delta)
    assert both == (rdp.pure_and_gdp_to_epsilon(delta, pure=1.0, mu=0.3), "mixed")


@pytest.mark.parametrize("height", [1e-8, 1e-4, 1.0])
def test_a_search_for_noise_ends_on_the_side_that_fits(height):
    for place in np.random.default_rng(0).uniform(-30, 3, 100):  # of a jump: no root to be found

        def excess(power, place=place):
            return height if power < place else -height

        found = _where_it_fits(excess, 3.0, -34.0)
        assert excess(found) < 0 and found - place < 5e-7


@cases("epsilon, delta, n_queries", (1e-3, 1e-10, 1), (1.0, 1e-5, 5000), (50.0, 1e-3, 1))
def test_calibrated_noise_costs_the_cap_and_not_more(epsilon, delta, n_queries):
    assert epsilon * (1 - 1e-6) <= rdp.gdp_to_epsilon(rdp.gdp_mu(epsilon, delta), delta) <= epsilon
    sigma = rdp.gnmax_sigma(epsilon, delta, n_queries)
    spent, _ = rdp.data_independent_epsilon(GNMax(sigma), n_queries, delta)
    assert epsilon * (1 - 2e-6) <= spent <= epsilon
    # never more noise than exact Gaussian composition asks for
    assert rdp.gdp_to_epsilon(math.sqrt(2 * n_queries) / sigma, delta) >= epsilon * (1 - 2e-6)


# --- measured values --------------------------------------------------------------------------


@cases(
    "file, n_asked, lnmax, gnmax",  # the published bounds by both conversions, and exact costs
    ("adult_250_random_forest", 500, (2.55, 2.28, 0.98), (None, 1.35, 0.90)),
    ("mnist_250_cnn", 1000, (5.14, 4.65, 1.50), (2.49, 2.16, 1.28)),
)
def test_numbers_on_real_votes(data_home, file, n_asked, lnmax, gnmax):
    votes = np.load(data_home / "votes" / f"{file}.npz")["votes"][:n_asked]
    for mechanism, expected in ((LNMax(0.05), lnmax), (GNMax(40.0), gnmax)):
        bound = mechanism.published_rdp(votes, rdp.DEFAULT_ORDERS)
        costs = bound, bound, rdp.exact_rdp(mechanism, votes, rdp.DEFAULT_ORDERS)
        conversions = "classic", "improved", "improved"
        for cost, conversion, number in zip(costs, conversions, expected, strict=True):
            if number is not None:
                got = rdp.rdp_to_epsilon(cost.sum(axis=0), 1e-5, rdp.DEFAULT_ORDERS, conversion)[0]
                assert got == pytest.approx(number, rel=0.01)


# --- nonsense -----------------------------------------------------------------------------------


@cases(
    "votes, message",
    ([[5, -1]], "finite"),
    ([[5, 5], [5, 4]], "sum"),
    ([[5.5, 4.5]], "whole numbers"),
    ([[np.nan, 1]], "whole numbers"),
    ([["5", "5"]], "whole numbers"),
    ([5, 5], "shape"),
    ([[5]], "2 classes"),
    ([[0, 0]], "at least 1"),
)
def test_bad_votes_raise_without_quoting_them(votes, message):
    pytest.raises(ValueError, check_votes, votes).match(message)


@cases(
    "call, name",
    (lambda: rdp.lnmax_rdp([[5, 5]], 0.0, [2]), "gamma"),
    (lambda: rdp.gaussian_rdp([-1.0], "a", [2]), "sigma"),
    (lambda: rdp.rdp_to_epsilon([1.0], 1.0, [2]), "delta"),
    (lambda: rdp.pure_and_gdp_to_epsilon(0.0, pure=1.0, mu=1.0), "delta"),
    (lambda: rdp.pure_and_gdp_to_epsilon(1e-5, pure=-1.0, mu=1.0), "pure must be"),
    (lambda: rdp.pure_and_gdp_to_epsilon(1e-5, pure=1.0, mu=math.nan), "mu must be"),
    (lambda: rdp.pure_and_gdp_delta(-1.0, pure=1.0, mu=1.0), "epsilon must be"),
    (lambda: rdp.pure_and_gdp_delta(1.0, pure="1", mu=1.0), "pure must be"),
)
def test_parameters_out_of_range_raise_and_are_named(call, name):
    pytest.raises(ValueError, call).match(name)


# --- sums of costs are never below the exact ones -------------------------------------------------

COSTS = st.floats(0, 1e6, allow_subnormal=False)


@given(st.lists(COSTS, min_size=1, max_size=8))
def test_a_sum_is_the_least_float_that_is_not_below(costs):
    exact = sum(map(Fraction, costs))
    total = sum_up(*costs)
    assert total >= exact
    assert total == 0 or math.nextafter(total, 0) < exact


@given(COSTS, st.integers(0, 10**6))
def test_a_product_is_not_below(cost, number):
    assert times_up(number, cost) >= Fraction(cost) * number
    assert times_up(number, cost) <= number * cost * (1 + 3e-16) + 5e-324


def test_infinite_costs_stay():
    assert sum_up(1.0, math.inf) == times_up(3, math.inf) == math.inf
    assert rounded_up(Fraction(1, 10)) > Fraction(1, 10) > Fraction(math.nextafter(0.1, 0))


def test_plans_with_drawn_rows_publish_no_epsilon_below_the_exact_sum():
    rng = np.random.default_rng(0)
    for _ in range(100):
        epsilon = float(np.exp(rng.uniform(-3, 2)))
        n_moved = 2 * int(rng.integers(1, 60))
        rows = laplace_table_cost(n_moved / (rng.uniform(0.1, 0.9) * epsilon), n_moved)
        given = {"n_changed": 2, "n_rows": 9, "delta": 1e-5, "before": lambda _, rows=rows: rows}
        plan = plan_table(LaplaceMechanism(), epsilon=epsilon, **given)
        assert Fraction(rows.pure) + Fraction(plan.own_cost.pure) <= Fraction(plan.epsilon)
        assert plan.epsilon <= epsilon


def test_queries_and_a_ledger_add_up_so_too():
    assert LNMax(0.05).costs()(7).pure >= Fraction(LNMax(0.05).costs()(1).pure) * 7
    budget = Budget(10.0, 1e-5, "pure", 1e-5)
    costs = [rdp.Cost(np.zeros(204), 0.0, pure, delta) for pure, delta in [(0.1, 1e-7)] * 3]
    assert Account(budget, new_filters(budget), costs).epsilon() >= 3 * Fraction(0.1)
