"""Costs and conversions against independent computations: mpmath, dp-accounting, quadrature."""

import itertools
import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from conftest import cases, divergences, histograms_of, moves, outcome_probabilities, sampled
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gammaln

from sklearn_pate import rdp
from sklearn_pate.accounting import plan_queries
from sklearn_pate.accounting.budget import plan_table
from sklearn_pate.accounting.smooth_sensitivity import half_margins
from sklearn_pate.aggregators import (
    Aggregator,
    ExponentialNMax,
    GNMax,
    LaplaceMechanism,
    LNMax,
    PluralityVote,
)
from sklearn_pate.exceptions import BudgetExceededError
from sklearn_pate.ledger.filters import Account, LedgerTerms, new_filters
from sklearn_pate.rdp import Contribution
from sklearn_pate.rdp.checks import check_votes
from sklearn_pate.rdp.conversion import conversion_penalty
from sklearn_pate.rdp.cost import _where_it_fits, rounded_up, sum_up, times_up
from sklearn_pate.rdp.discrete import laplace_table_cost
from sklearn_pate.rdp.exact import Pairs, round_up
from sklearn_pate.rdp.worst_case import _Region, argmax_rdp

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
def test_reverse_divergence_can_exceed_the_published_bound(mechanism, counts, order):
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
def test_gnmax_answer_has_its_gaussian_guarantee(counts, sigma):
    delta = 1e-3
    epsilon = rdp.gdp_to_epsilon(GNMax(sigma).bounds().gdp_mu, delta)
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
def test_pure_rdp_equals_randomized_response(epsilon, order):
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


def test_classic_conversion_equals_its_formula_above_the_improved_one():
    costs = rdp.DEFAULT_ORDERS / 100
    classic, order = rdp.rdp_to_epsilon(costs, 1e-5, rdp.DEFAULT_ORDERS, conversion="classic")
    assert classic == pytest.approx(order / 100 + math.log(1e5) / (order - 1))
    assert rdp.rdp_to_epsilon(costs, 1e-5, rdp.DEFAULT_ORDERS)[0] < classic


def test_rdp_to_epsilon_warns_at_the_edge_of_the_grid():
    with pytest.warns(UserWarning, match="edge of the grid"):
        rdp.rdp_to_epsilon([0.5, 0.6], 1e-5, [2.0, 3.0])


def gdp_delta(epsilon, mu):
    with mp.workdps(50):
        e, m = mp.mpf(epsilon), mp.mpf(mu)
        return mp.ncdf(m / 2 - e / m) - mp.exp(e) * mp.ncdf(-m / 2 - e / m)


@pytest.mark.parametrize("delta", [1e-5, 1e-3, 0.01, 0.1])
def test_conversion_penalty_is_negative_above_an_order_that_delta_sets(delta):
    order = 1 / (math.e * delta) + 1 / 2
    below, above = conversion_penalty(delta, [0.98 * order, 1.02 * order])
    assert above < 0 < below
    assert (conversion_penalty(delta, [1.01, order, 1e9], "classic") > 0).all()


@settings(max_examples=100, deadline=None)
@given(st.floats(1e-3, 30), st.sampled_from([1e-2, 1e-5, 1e-9]))
def test_gdp_to_epsilon_returns_the_least_epsilon(mu, delta):
    epsilon = rdp.gdp_to_epsilon(mu, delta)
    assert gdp_delta(epsilon, mu) <= delta  # rounded up to the last digit
    if epsilon > 0:
        assert gdp_delta(epsilon * (1 - 3e-12) - 1e-13, mu) > delta


@pytest.mark.parametrize("delta", [1e-9, 1e-5, 0.1, 0.6])
@pytest.mark.parametrize("epsilon", [1e4, 1e6, 4.9e7, 5.01e7, 1e9])
def test_gdp_mu_of_a_huge_epsilon_agrees_with_mpmath(epsilon, delta):
    mu = rdp.gdp_mu(epsilon, delta)
    assert gdp_delta(epsilon, mu) <= delta and rdp.gdp_to_epsilon(mu, delta) <= epsilon
    assert mu == 1e4 or gdp_delta(epsilon, mu * (1 + 1e-10)) > delta
    assert (mu == 1e4) == (rdp.gdp_to_epsilon(1e4, delta) <= epsilon)
    assert rdp.gdp_mu(1e300, delta) == 1e4


@pytest.mark.parametrize("epsilon", [1e-300, 1e-17, 1e-5, 0.1, 0.999, 1.0, 5.0, 40.0, 800.0, 1e6])
def test_pure_to_gdp_agrees_with_mpmath(epsilon):
    mu = rdp.pure_to_gdp(epsilon)

    def log_odds(h):  # log(Phi(h) / Phi(-h)) is epsilon at the exact mu / 2, and grows with it
        x = h / mp.sqrt(2)
        if epsilon < 100:
            return mp.log1p(mp.erf(x)) - mp.log1p(-mp.erf(x))
        return mp.log(mp.ncdf(h)) - mp.log(mp.erfc(x) / 2)

    with mp.workdps(max(60, 30 - math.floor(math.log10(epsilon)))):
        half = mp.mpf(mu) / 2
        assert log_odds(half * (1 - mp.mpf("3e-12"))) < mp.mpf(epsilon) <= log_odds(half)


def test_pure_to_gdp_handles_its_ends_and_refuses_wrong_numbers():
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
def test_pure_and_gdp_to_epsilon_returns_the_least_epsilon(pure, mu, delta):
    epsilon = rdp.pure_and_gdp_to_epsilon(delta, pure=pure, mu=mu)
    at_it = both_delta(epsilon, pure, mu)
    assert at_it <= delta * (1 + 1e-12)
    assert rdp.pure_and_gdp_delta(epsilon, pure=pure, mu=mu) == pytest.approx(
        float(at_it), rel=1e-9
    )
    assert both_delta(epsilon * (1 - 1e-9) - 1e-12, pure, mu) > delta
    assert rdp.gdp_to_epsilon(mu, delta) <= epsilon <= pure + rdp.gdp_to_epsilon(mu, delta) + 1e-15


@pytest.mark.parametrize(("pure", "mu"), [(1e-3, 3.0), (5.0, 0.27)])
def test_pure_and_gdp_delta_agrees_with_quadrature(pure, mu):
    for epsilon in (0.0, pure / 2, 2 * pure + mu):
        exact = float(both_delta(epsilon, pure, mu))
        assert rdp.pure_and_gdp_delta(epsilon, pure=pure, mu=mu) == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("delta", [1e-2, 1e-5, 1e-9])
def test_pure_and_gdp_to_epsilon_agrees_with_its_limits(delta):
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
def test_noise_search_ends_on_the_side_that_fits(height):
    for place in np.random.default_rng(0).uniform(-30, 3, 100):  # of a jump: no root to be found

        def excess(power, place=place):
            return height if power < place else -height

        found = _where_it_fits(excess, 3.0, -34.0)
        assert excess(found) < 0 and found - place < 5e-7


@cases("epsilon, delta, n_queries", (1e-3, 1e-10, 1), (1.0, 1e-5, 5000), (50.0, 1e-3, 1))
def test_gnmax_sigma_costs_the_cap_and_not_more(epsilon, delta, n_queries):
    assert epsilon * (1 - 1e-6) <= rdp.gdp_to_epsilon(rdp.gdp_mu(epsilon, delta), delta) <= epsilon
    sigma = rdp.gnmax_sigma(epsilon, delta, n_queries)
    spent, _ = rdp.data_independent_epsilon(GNMax(sigma), n_queries, delta)
    assert epsilon * (1 - 2e-6) <= spent <= epsilon
    # never more noise than exact Gaussian composition asks for
    assert rdp.gdp_to_epsilon(math.sqrt(2 * n_queries) / sigma, delta) >= epsilon * (1 - 2e-6)


# --- measured values --------------------------------------------------------------------------


@cases(
    "file, n_queried, lnmax, gnmax",  # the published bounds by both conversions, and exact costs
    ("adult_250_random_forest", 500, (2.55, 2.28, 0.98), (None, 1.35, 0.90)),
    ("mnist_250_cnn", 1000, (5.14, 4.65, 1.50), (2.49, 2.16, 1.28)),
)
def test_costs_of_real_votes_equal_measured_values(data_home, file, n_queried, lnmax, gnmax):
    votes = np.load(data_home / "votes" / f"{file}.npz")["votes"][:n_queried]
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
    ([[2**62] * 5] * 2, "at most 2..53"),  # their sum in 64 bits is 2**62
)
def test_votes_check_refuses_bad_votes(votes, message):
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
def test_rdp_parameters_out_of_range_are_named(call, name):
    pytest.raises(ValueError, call).match(name)


# --- sums of costs are never below the exact ones -------------------------------------------------

COSTS = st.floats(0, 1e6, allow_subnormal=False)


@given(st.lists(COSTS, min_size=1, max_size=8))
def test_sum_up_returns_the_least_float_not_below(costs):
    exact = sum(map(Fraction, costs))
    total = sum_up(*costs)
    assert total >= exact
    assert total == 0 or math.nextafter(total, 0) < exact


@given(COSTS, st.integers(0, 10**6))
def test_times_up_is_not_below_the_exact_product(cost, number):
    assert times_up(number, cost) >= Fraction(cost) * number
    assert times_up(number, cost) <= number * cost * (1 + 3e-16) + 5e-324


def test_sum_up_and_times_up_keep_infinite_costs():
    assert sum_up(1.0, math.inf) == times_up(3, math.inf) == math.inf
    assert rounded_up(Fraction(1, 10)) > Fraction(1, 10) > Fraction(math.nextafter(0.1, 0))


def test_plan_table_epsilon_is_not_below_the_exact_sum():
    rng = np.random.default_rng(0)
    for _ in range(100):
        epsilon = float(np.exp(rng.uniform(-3, 2)))
        n_changed = 2 * int(rng.integers(1, 60))
        scale = n_changed / (rng.uniform(0.1, 0.9) * epsilon)
        rows = laplace_table_cost(scale, Contribution.of_counts(n_changed))
        given = {"n_rows": 9, "delta": 1e-5, "before": lambda _, rows=rows: rows}
        given["contribution"] = Contribution.of_counts(2)
        plan = plan_table(LaplaceMechanism(), epsilon=epsilon, **given)
        assert Fraction(rows.pure) + Fraction(plan.own_cost.pure) <= Fraction(plan.epsilon)
        assert plan.epsilon <= epsilon


def test_query_and_ledger_costs_are_not_below_the_exact_sum():
    assert LNMax(0.05).costs()(7).pure >= Fraction(LNMax(0.05).costs()(1).pure) * 7
    budget = LedgerTerms(10.0, 1e-5, "pure", 1e-5)
    costs = [rdp.Cost(np.zeros(204), 0.0, pure, delta) for pure, delta in [(0.1, 1e-7)] * 3]
    assert Account(budget, new_filters(budget), costs).epsilon() >= 3 * Fraction(0.1)


# --- exact costs against 50-digit arithmetic, enumeration and the bounds they must stay below -----

any_histograms = st.lists(st.integers(0, 80), min_size=2, max_size=7).filter(lambda n: sum(n) > 0)
mechanisms = st.one_of(
    st.builds(GNMax, sigma=st.floats(0.7, 100)), st.builds(LNMax, gamma=st.floats(0.01, 2))
)


# --- against mpmath ------------------------------------------------------------------------------


def reference_cost(mechanism, counts, orders):
    """The largest divergence over moves of one vote, both directions, in 50 digits."""
    with mp.workdps(50):
        known = {}

        def proba(histogram):
            sort = sorted(histogram)
            key = tuple(sort)
            if key not in known:
                known[key] = dict(zip(sort, outcome_probabilities(mechanism, sort), strict=True))
            return [known[key][n] for n in histogram]

        p, costs = proba(list(counts)), [mp.mpf(0)] * len(orders)
        seen = set()
        for neighbour in moves(counts):
            pairs = tuple(sorted(zip(counts, neighbour.tolist(), strict=True)))
            if pairs in seen:
                continue
            seen.add(pairs)
            q = proba(neighbour.tolist())
            for k, order in enumerate(orders):
                a = mp.mpf(order)
                for x, y in ((p, q), (q, p)):
                    total = mp.fsum(s**a * t ** (1 - a) for s, t in zip(x, y, strict=True))
                    costs[k] = max(costs[k], mp.log(total) / (a - 1))
        return [float(cost) for cost in costs]


ORDERS = [1.1, 2.0, 17.0, 200.0, 1000.0]


@cases(
    "mechanism, counts",
    (GNMax(40.0), [2500, 2500]),
    (LNMax(0.05), [5000, 0]),
    (LNMax(2.0), [130, 120]),
    (GNMax(1e5), [130, 120]),
    (LNMax(1e-5), [130, 120]),
    (GNMax(40.0), [250] + [0] * 9),
    (LNMax(0.05), [250] + [0] * 9),
    (LNMax(1.0), [20, 9, 1]),
    (GNMax(3.0), [1] + [0] * 3),
    (LNMax(0.3), [5] * 30),
)
def test_exact_rdp_agrees_with_mpmath(mechanism, counts):
    expected = reference_cost(mechanism, counts, ORDERS)
    got = rdp.exact_rdp(mechanism, [counts], ORDERS)[0]
    for ours, reference in zip(got, expected, strict=True):
        if reference > 1e-12:
            assert ours == pytest.approx(reference, rel=1e-6)
        assert ours >= reference * (1 - 1e-12)  # rounded up, never down


# --- properties ----------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", [GNMax(0.8), GNMax(3.0), LNMax(1.3)])
def test_exact_rdp_equals_the_divergence_of_every_small_histogram(mechanism):
    # at high orders the worst move may be the last vote of a class, or towards one that has none
    from_single = 0
    for n_teachers, n_classes in ((1, 3), (9, 2), (5, 3), (3, 4)):
        every = histograms_of(n_teachers, n_classes)
        for counts, got in zip(
            every, rdp.exact_rdp(mechanism, every, [1.2, 8.0, 300.0]), strict=True
        ):
            leaving = np.argmin(moves(counts) - counts, axis=1)
            for order, cost in zip([1.2, 8.0, 300.0], got, strict=True):
                each = np.maximum(*divergences(mechanism, counts, order))
                assert cost == pytest.approx(each.max(), rel=1e-6, abs=1e-9)
                if sum(counts) > max(counts) and 1 in counts:
                    others = each[counts[leaving] > 1]
                    from_single += others.size and others.max() < 0.999 * each.max()
    assert from_single > 0 or isinstance(mechanism, LNMax)


@settings(max_examples=25, deadline=None)
@given(any_histograms, mechanisms)
def test_exact_rdp_grows_with_order_below_data_independent_cost(counts, mechanism):
    orders = rdp.DEFAULT_ORDERS[::8]
    cost = rdp.exact_rdp(mechanism, [counts], orders)[0]
    assert (np.diff(cost) >= -1e-8 * cost[1:]).all()
    if isinstance(mechanism, GNMax):
        worst = orders / mechanism.sigma**2
    else:
        worst = rdp.pure_rdp(mechanism.bounds().pure_epsilon, orders)
    assert (cost <= worst * (1 + 1e-7) + 1e-12).all()


@pytest.mark.parametrize("n_teachers", [1, 255])
@pytest.mark.parametrize("scale", [0.01, 0.06694177748211866, 1.0])
def test_worst_case_rdp_of_tiny_noise_grows_with_the_order(scale, n_teachers):
    # The divergence is flat in the order: rounding must not make a winner look like a loser
    for mechanism in (GNMax(scale), LNMax(1 / scale)):
        some, public = (
            rdp.DEFAULT_ORDERS[::29],
            {"n_teachers": np.uint8(n_teachers), "n_classes": 2},
        )
        costs = rdp.worst_case_rdp(mechanism, rdp.DEFAULT_ORDERS, **public)
        alone = [rdp.worst_case_rdp(mechanism, [order], **public)[0] for order in some]
        np.testing.assert_allclose(costs[::29], alone, rtol=1e-8)
        assert (np.diff(costs) >= -1e-8 * costs[1:]).all() and costs[0] > 0


def test_plan_refuses_tiny_noise_under_a_cap():
    public = {"n_teachers": 1, "n_classes": 2, "delta": 1e-5}
    epsilon, _ = rdp.data_independent_epsilon(GNMax(0.07), 10, **public)
    assert epsilon == pytest.approx(542.6, abs=0.1)
    with pytest.raises(BudgetExceededError):
        plan_queries(GNMax(0.07), 10, n_public=20, epsilon=1.0, **public)


def test_outcome_distribution_that_does_not_sum_to_one_is_refused():
    class Scores(Aggregator):
        def outcome_log_proba(self, votes, student_proba=None):
            return 0.05 * np.asarray(votes, dtype=float)

    two = {"n_teachers": 250, "n_classes": 2}
    for call, sizes in ((rdp.exact_rdp, {"votes": [[130, 120]]}), (rdp.worst_case_rdp, two)):
        with pytest.raises(ValueError, match="sum to 1 in each row"):
            call(Scores(), orders=[2.0], **sizes)
    pytest.raises(ValueError, Scores().aggregate, [[130, 120]]).match("sum to 1 in each row")


class Biased(Aggregator):
    """Plurality with probability 3/4, class 0 otherwise, no answer when unanimous; asymmetric."""

    def outcome_log_proba(self, votes, student_proba=None):
        votes = np.asarray(votes)
        chosen = (votes.argmax(axis=1)[:, None] == np.arange(votes.shape[1])) * 0.75
        chosen[:, 0] += 0.25
        silent = (votes.max(axis=1) == votes.sum(axis=1)) * 0.5
        proba = np.hstack([chosen * (1 - silent[:, None]), silent[:, None]])
        with np.errstate(divide="ignore"):
            return np.log(proba)


def test_exact_rdp_of_a_custom_mechanism_follows_its_distribution():
    # [5, 4]: a move to [4, 5] turns P(1) from 0 to 3/4: infinite
    costs = rdp.exact_rdp(Biased(), [[5, 4], [7, 2], [8, 1]], [2.0, 3.0])
    assert np.isinf(costs[0]).all()
    assert (costs[1] < 1e-12).all()  # no move changes the outcome
    assert np.isinf(costs[2]).all()  # unanimity is one move away, and may be silent


def test_exact_rdp_keeps_finite_costs_next_to_infinite_ones():
    votes = [[5, 4, 0], [7, 2, 0], [8, 1, 0], [4, 3, 2]]
    for mechanism in (Biased(), PluralityVote()):
        together = rdp.exact_rdp(mechanism, votes, rdp.DEFAULT_ORDERS)
        for k in (0, 1, 50, 101, 203):
            for row, counts in zip(together, votes, strict=True):
                alone = rdp.exact_rdp(mechanism, [counts], rdp.DEFAULT_ORDERS[[k]])[0, 0]
                assert row[k] == pytest.approx(alone, rel=1e-12)
        assert np.isinf(together[0]).all() and np.isfinite(together[1]).all()
        assert (together[1] < 1e-12).all()  # no move changes the outcome


# --- worst case over all votes -------------------------------------------------------------------


@pytest.mark.parametrize("n_teachers", [1, 25, 250])
@pytest.mark.parametrize("mechanism", [GNMax(40.0), GNMax(3.0), LNMax(0.05), LNMax(1.0)])
def test_worst_case_rdp_of_two_classes_is_the_largest_over_gaps(mechanism, n_teachers):
    orders = [1.5, 20.0] if n_teachers > 100 else [1.1, 8.0, 300.0]
    got = rdp.worst_case_rdp(mechanism, orders, n_teachers=n_teachers, n_classes=2)
    with mp.workdps(40):
        votes = [[n, n_teachers - n] for n in range(n_teachers + 1)]
        proba = [outcome_probabilities(mechanism, counts) for counts in votes]
        for a, cost in zip(map(mp.mpf, orders), got, strict=True):
            moments = [
                mp.fsum(x**a * y ** (1 - a) for x, y in zip(p, q, strict=True))
                for pair in itertools.pairwise(proba)
                for p, q in (pair, pair[::-1])
            ]
            largest = mp.log(max(moments)) / (a - 1)
            assert cost == pytest.approx(float(largest), rel=1e-6) and cost >= largest


def test_worst_case_rdp_without_closed_form_enumerates_two_classes():
    # two classes: by enumeration, from the outcome distribution alone; else no guarantee
    class Quarter(Aggregator):
        """The plurality's label with probability 3/4, the other with 1/4; ties even."""

        def outcome_log_proba(self, votes, student_proba=None):
            gap = np.sign(np.asarray(votes) @ [1, -1])
            return np.log(np.column_stack([2 + gap, 2 - gap]) / 4)

    worst = rdp.worst_case_rdp(Quarter(), [2.0], n_teachers=11, n_classes=2)[0]
    assert worst == pytest.approx(rdp.pure_rdp(math.log(3), [2.0])[0])
    assert np.isinf(rdp.worst_case_rdp(Quarter(), [2.0], n_teachers=11, n_classes=3)).all()
    assert np.isinf(rdp.worst_case_rdp(PluralityVote(), [2.0], n_teachers=11, n_classes=2)).all()


# --- the largest divergence over all moves of a vote ---------------------------------------------

MANY_ORDERS = 1 + np.geomspace(0.01, 5000, 60)


def random_votes(n_teachers, concentration, n_classes):
    rng = np.random.default_rng([n_teachers, n_classes])
    return rng.multinomial(n_teachers, rng.dirichlet(np.full(n_classes, concentration)))


def by_definition(mechanism, counts, orders):
    """The largest divergence over all neighbours, each with a distribution of its own."""
    after = mechanism.outcome_log_proba(moves(counts))
    before = np.broadcast_to(mechanism.outcome_log_proba([counts]), after.shape)
    costs = []
    for order in orders:
        there = Pairs.from_log_proba(before, after).divergence(order)
        back = Pairs.from_log_proba(after, before).divergence(order)
        costs.append(max(there.max(), back.max()))
    return np.maximum.accumulate(round_up(np.array(costs), orders))


def assert_same_costs(got, expected, orders):
    """The same to 12 digits and what log probabilities of 14 digits allow."""
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(np.isfinite(got), finite)
    blur = 3 * (1e-14 + 4e-16 / (orders - 1)) * np.sqrt(2 * orders * expected)
    deep = 1e-13 * orders * expected  # log probabilities of -700 have 13 digits after the point
    assert (np.abs(got - expected) <= (1e-12 * expected + blur + deep))[finite].all()


@pytest.mark.slow
@cases("given", (40, 5.0, 4), (5000, 30.0, 60))
def test_exact_rdp_of_many_orders_equals_each_alone(given):
    counts = random_votes(*given)
    for mechanism in (GNMax(60.0), LNMax(1 / 60)):
        together = rdp.exact_rdp(mechanism, [counts], np.append(rdp.DEFAULT_ORDERS[::-1], 2.0))[0]
        some = [*range(0, rdp.DEFAULT_ORDERS.size, 13), -1]
        for k, order in zip(some, [*rdp.DEFAULT_ORDERS[::-1][some[:-1]], 2.0], strict=True):
            alone = rdp.exact_rdp(mechanism, [counts], [order])[0, 0]
            assert together[k] == pytest.approx(alone, rel=1e-12)


@cases("n_teachers, concentration, scale", (40, 5.0, 0.7), (250, 0.02, 30.0), (5000, 30.0, 1e6))
def test_exact_rdp_of_many_classes_is_the_largest_over_moves(n_teachers, concentration, scale):
    counts = random_votes(n_teachers, concentration, 21)
    for mechanism in (GNMax(scale), LNMax(1 / scale)):
        expected = by_definition(mechanism, counts, MANY_ORDERS[::7])
        got = rdp.exact_rdp(mechanism, [counts], MANY_ORDERS[::7])[0]
        assert_same_costs(got, expected, MANY_ORDERS[::7])


few_classes = st.integers(2, 12).flatmap(
    lambda n: st.lists(st.integers(0, 60), min_size=n, max_size=n).filter(any)
)
any_noise = st.floats(-1.0, 6.0).map(lambda digits: 10.0**digits)


@settings(max_examples=15, deadline=None)
@given(few_classes, any_noise, st.sampled_from([GNMax, LNMax]), st.randoms(use_true_random=False))
def test_exact_rdp_is_the_largest_over_moves(counts, scale, kind, random):
    mechanism = kind(scale) if kind is GNMax else kind(1 / scale)
    shuffled = random.sample(counts, len(counts))
    got = rdp.exact_rdp(mechanism, [counts, shuffled], MANY_ORDERS)
    np.testing.assert_array_equal(got[0], got[1])
    assert_same_costs(got[0], by_definition(mechanism, counts, MANY_ORDERS), MANY_ORDERS)


# --- data-independent costs against enumeration, dense grids, 20-digit arithmetic and composition -

SOME_ORDERS = [1.1, 2.0, 8.0, 20.0, 60.0, 300.0, 2000.0]


def test_argmax_rdp_that_ends_at_its_border_is_infinite(monkeypatch):
    monkeypatch.setattr("sklearn_pate.rdp.worst_case._borders", lambda *args: (0.3, -12.0))
    assert np.isinf(argmax_rdp(rdp.Gaussian(5.0), np.array([2.0, 30.0]), 1000.0)).all()


# --- the three outcomes --------------------------------------------------------------------------


@pytest.mark.parametrize("noise", [rdp.Gaussian, rdp.Laplace])
@pytest.mark.parametrize("counts", [(0.3, 0.7), (30.0, -2.0)])
def test_log_other_classes_agree_with_mpmath(noise, counts):
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
    got = noise.log_other_classes(np.array([first]), np.array([second]))[0]
    np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-12)
    assert abs(np.exp(got).sum() - 1) < 1e-11


@pytest.mark.parametrize("noise", [rdp.Gaussian, rdp.Laplace, rdp.Exponential])
@pytest.mark.parametrize("n_other_classes", [1, 9, 150])
@pytest.mark.parametrize("behind", [0.0, 0.02, 25.0])
def test_log_overtake_equals_argmax_among_all(noise, n_other_classes, behind):
    by_all = noise(1.0).log_argmax([[0.0] + [behind] * n_other_classes])[0, 0]
    assert noise.log_overtake(behind, n_other_classes) == pytest.approx(
        by_all, rel=1e-12, abs=2e-13
    )


# --- the supremum --------------------------------------------------------------------------------


@cases(
    "votes, scale, order",
    *(((0.0, 0.7), 0.5, 60.0), ((2.5, -3.0), 20.0, 1.1), ((1.0, 9.0), 3000.0, 1500.0)),
)
def test_region_slopes_equal_finite_differences(votes, scale, order):
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
    before = noise.log_other_classes(level + gap + step / 2, level - step / 2)
    after = noise.log_other_classes(level + gap - step / 2, level + step / 2)
    pairs = (before, after), (after, before)
    return max(Pairs.from_log_proba(*pair).divergence(order).max() for pair in pairs)


@pytest.mark.parametrize("scale", [2.0, 5.0, 40.0])
@pytest.mark.parametrize("mechanism", [GNMax, LNMax])
def test_worst_case_rdp_covers_a_dense_grid(mechanism, scale):
    aggregator = mechanism(scale if mechanism is GNMax else 1 / scale)
    orders = np.array([1.1, 8.0, 60.0])
    for order, bound in zip(orders, rdp.worst_case_rdp(aggregator, orders), strict=True):
        grid = np.linspace(0, min(3 * order / scale + 8, 60), 181), np.linspace(-7, 12, 77)
        found = dense_supremum(aggregator.bounds().argmax_noise, order, *grid)
        assert found <= bound
        if order / scale < 20:  # the search is no looser than the grid is coarse
            assert bound <= found * 1.01


@pytest.mark.parametrize("scale", [100, 1e5])
@pytest.mark.parametrize("noise", [rdp.Laplace, rdp.Gaussian])
def test_argmax_rdp_finds_a_local_maximum_within_one_vote(noise, scale):
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
def test_argmax_rdp_finds_local_maxima_of_few_teachers(scale, n_teachers, order):
    gaps = np.linspace(0, (n_teachers - 1) / scale, 81)
    dense = dense_supremum(rdp.Gaussian(scale), order, gaps, np.linspace(-25, 10, 501))
    cost = argmax_rdp(rdp.Gaussian(scale), np.array([order]), n_teachers / scale)[0]
    assert dense <= cost * (1 + 1e-6) and cost <= dense * 1.001


@pytest.mark.parametrize(("scale", "n_teachers"), [(20.0, 50), (1.51, 5)])
def test_argmax_rdp_of_many_orders_equals_each_alone(scale, n_teachers):
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
def test_worst_case_rdp_of_huge_noise_is_not_rounded_down(scale, n_classes):
    orders = np.array([1.1, 2.0, 20.0, 2000.0])
    public = {"n_teachers": 100, "n_classes": n_classes}
    # of two level counts, one vote moves the chance to win by phi(0) sqrt(2) / scale
    least = orders / 2 * 8 / (2 * math.pi) / 2 / scale**2
    assert (rdp.worst_case_rdp(GNMax(scale), orders, **public) >= least).all()
    least = orders / 2 / scale**2  # likewise: the density of the difference at 0 is 1/4
    assert (rdp.worst_case_rdp(LNMax(1 / scale), orders, **public) >= least * (1 - 1e-6)).all()


def test_worst_case_rdp_equals_known_values():
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
def test_data_independent_epsilon_equals_known_values(mechanism, n_queries, public, expected):
    epsilon, method = rdp.data_independent_epsilon(mechanism, n_queries, 1e-5, **public)
    assert epsilon == pytest.approx(expected, rel=0.003) and method == "renyi"


def costs_and_loss(mechanism, n_teachers, n_classes):
    """Largest Renyi costs, and log ratio of probabilities, of all histograms and moves."""
    rows = histograms_of(n_teachers, n_classes)
    loss = 0.0
    for row in rows:
        log_proba = mechanism.outcome_log_proba([row, *moves(row)])
        loss = max(loss, np.abs(log_proba[1:] - log_proba[0]).max())
    return rdp.exact_rdp(mechanism, rows, SOME_ORDERS).max(axis=0), loss


@pytest.mark.parametrize("n_teachers, n_classes", [(1, 2), (9, 2), (2, 3), (8, 3), (5, 4)])
@cases(
    "mechanism",
    *(GNMax(0.5), GNMax(5.0), LNMax(0.05), LNMax(2.0), ExponentialNMax(0.05), ExponentialNMax(2.0)),
    *(LNMax(0.05, "discrete"), LNMax(2.0, "discrete")),
    *(GNMax(0.5, "discrete"), GNMax(40.0, "discrete")),
    ids=str,
)
def test_worst_case_rdp_covers_enumeration(mechanism, n_teachers, n_classes):
    public = {"n_teachers": n_teachers, "n_classes": n_classes}
    exact, loss = costs_and_loss(mechanism, **public)
    pure = rdp.worst_case_pure(mechanism, **public)
    bounded = rdp.worst_case_rdp(mechanism, SOME_ORDERS, **public)
    assert loss <= pure * (1 + 1e-12) and pure <= mechanism.bounds().pure_epsilon
    assert (exact <= bounded * (1 + 1e-12)).all()
    assert (bounded <= rdp.worst_case_rdp(mechanism, SOME_ORDERS) * (1 + 1e-9)).all()
    assert pure == math.inf or (bounded <= rdp.pure_rdp(pure, SOME_ORDERS) * (1 + 1e-9)).all()
    if n_classes == 2 and mechanism.bounds().argmax_noise is not None:
        assert n_teachers == 1 or pure == pytest.approx(loss, rel=1e-6)


def test_worst_case_rdp_is_nearly_reached():
    exact = rdp.exact_rdp(GNMax(5.0), histograms_of(30, 3), SOME_ORDERS).max(axis=0)
    bounded = rdp.worst_case_rdp(GNMax(5.0), SOME_ORDERS, n_teachers=30, n_classes=3)
    assert (bounded[:3] <= 1.05 * exact[:3]).all()  # at low orders
    assert costs_and_loss(ExponentialNMax(0.5), 8, 3)[1] > 1.6 * 0.5  # 2 gamma is not slack
    # whole numbers are fine next to the noise
    exact = rdp.exact_rdp(GNMax(40.0, "discrete"), histograms_of(40, 2), SOME_ORDERS).max(axis=0)
    continuous = rdp.worst_case_rdp(GNMax(40.0), SOME_ORDERS, n_teachers=40, n_classes=2)
    assert exact == pytest.approx(continuous, rel=0.01)


@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.integers(0, 60), min_size=2, max_size=7).filter(lambda n: sum(n) > 0),
    st.one_of(
        st.builds(GNMax, sigma=st.floats(0.7, 200)), st.builds(LNMax, gamma=st.floats(0.005, 2))
    ),
)
def test_worst_case_rdp_covers_any_votes(counts, mechanism):
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
def test_data_independent_epsilon_covers_exact_composition(mechanism, pairs, n_queries):
    public = {"n_teachers": 250, "n_classes": len(pairs[0][0])}
    epsilon, _ = rdp.data_independent_epsilon(mechanism, n_queries, 1e-5, **public)
    largest = max(composed_delta(mechanism, pair, n_queries, epsilon) for pair in pairs)
    assert 1e-8 < largest <= 1e-5


def test_worst_case_rdp_does_not_enumerate_student_dependent_costs():
    class Student(Aggregator):
        uses_student_proba = True

        def bounds(self):
            return rdp.PrivacyBounds(gdp_mu=0.1)

        def outcome_log_proba(self, votes, student_proba=None):
            raise AssertionError("no list of votes covers what this mechanism does")

    public = {"n_teachers": 10, "n_classes": 2}
    for cost in (rdp.worst_case_rdp, rdp.margin_rdp):
        np.testing.assert_allclose(cost(Student(), [2.0], **public), 2 * 0.1**2 / 2)
    epsilon, method = rdp.data_independent_epsilon(Student(), 4, 1e-5, **public)
    assert epsilon == rdp.gdp_to_epsilon(0.2, 1e-5) and method == "gaussian"


# --- pure costs ----------------------------------------------------------------------------------


def test_worst_case_pure_of_gaussian_noise_is_infinite():
    assert rdp.worst_case_pure(GNMax(40.0)) == math.inf
    assert rdp.worst_case_pure(GNMax(40.0), n_teachers=100) == math.inf
    assert rdp.worst_case_pure(LNMax(0.05)) == 0.1


# --- calibration ---------------------------------------------------------------------------------


@sampled()
@pytest.mark.parametrize("unset", [GNMax(None), LNMax(None)])
@cases(
    "epsilon, n_queries, n_teachers, n_classes",
    *((1.0, 1, None, None), (0.1, 40, 60, 2), (8.0, 40, 300, 10)),
)
def test_least_scale_returns_the_least_noise_that_fits(
    unset, epsilon, n_queries, n_teachers, n_classes
):
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
