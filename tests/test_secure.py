"""Noise from the operating system: its distributions, and that nothing else is drawn from."""

import copy
import functools
import itertools
import math
import os
import pickle
from functools import partial

import numpy as np
import pytest
from conftest import cases, histograms_of, moves
from draws import assert_drawn_from
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad
from scipy.stats import binom, norm
from sklearn.naive_bayes import GaussianNB

from sklearn_pate import PATEClassifier, rdp
from sklearn_pate.accounting.propose_test_release import ProposeTestRelease
from sklearn_pate.accounting.smooth_sensitivity import (
    SanitizedRelease,
    half_margins,
    smooth_release_rdp,
    smooth_sensitivity,
)
from sklearn_pate.aggregators import (
    ConfidentGNMax,
    ExponentialNMax,
    GaussianMechanism,
    GNMax,
    ImmutableArgmax,
    InteractiveGNMax,
    LaplaceMechanism,
    LNMax,
    PluralityVote,
    SoftVote,
    StableArgmax,
)
from sklearn_pate.rdp import data_independent_epsilon, exact_rdp, margin_rdp
from sklearn_pate.secure import SystemGenerator, _integers
from sklearn_pate.synthesis import MarginalSynthesizer

RNG = np.random.default_rng(0)
X, X_PUBLIC = RNG.normal(size=(400, 3)), RNG.normal(size=(60, 3))
Y = (X[:, 0] > 0).astype(int)
N = 100_000
ALMOST_NEVER = 1e-9  # p-value below which an exact sampler is called wrong


@cases(
    "method, law",
    ("random", stats.uniform),
    ("normal", stats.norm),
    ("laplace", stats.laplace),
    ("exponential", stats.expon),
    ("gumbel", stats.gumbel_r),
)
def test_system_generator_draws_continuous_distributions(method, law):
    rng = SystemGenerator()
    sampled = getattr(rng, method)(size=(N // 2, 2))
    assert sampled.shape == (N // 2, 2) and np.isfinite(sampled).all()
    assert stats.kstest(sampled.ravel(), law.cdf).pvalue > ALMOST_NEVER
    assert isinstance(getattr(rng, method)(), float)
    if method != "random":
        scale = {"scale": 3.0}
        scaled = getattr(rng, method)(**scale, size=N)
        assert stats.kstest(scaled, law(**scale).cdf).pvalue > ALMOST_NEVER


@pytest.mark.parametrize("low, high", [(0, 2), (-5, 6), (3, 1000)])
def test_system_generator_integers_are_uniform(low, high):
    sampled = SystemGenerator().integers(low, high, size=N)
    assert sampled.min() >= low and sampled.max() < high
    assert stats.chisquare(np.bincount(sampled - low, minlength=high - low)).pvalue > ALMOST_NEVER


def test_system_generator_large_integers_are_uniform():
    width = 2**63 - 2**61  # taken modulo the width, larger numbers would fall below a third
    sampled = SystemGenerator().integers(width, size=N) / width
    assert stats.kstest(sampled, "uniform").pvalue > ALMOST_NEVER
    assert isinstance(SystemGenerator().integers(width), int)
    pytest.raises(ValueError, SystemGenerator().integers, 3, 3).match("high must exceed low")


@cases("noise", rdp.DiscreteLaplace(1.7), rdp.DiscreteGaussian(0.6), rdp.DiscreteGaussian(7.5))
def test_system_generator_draws_discrete_noise_exactly(noise):
    sampled = noise.sample(SystemGenerator(), (N,))
    most = int(noise.scale * 4 if noise.scale > 1 else 4)
    inside = np.exp(noise.log_pmf(np.arange(-most, most + 1)))
    counts = np.bincount(np.clip(sampled, -most - 1, most + 1) + most + 1, minlength=2 * most + 3)
    outside = (1 - inside.sum()) / 2
    assert_drawn_from(counts, [outside, *inside, outside])


@cases("limit", 2**62 + 1, 5 * 2**61, 10**19 + 1, 3 * 2**123 + 7, 2**70)
def test_large_integers_are_uniform(limit, global_random_seed):
    for rng in (SystemGenerator(), np.random.default_rng(global_random_seed)):
        whole = _integers(rng, limit, N // 5)
        assert min(whole) >= 0 and max(whole) < limit
        assert stats.kstest((whole / limit).astype(float), "uniform").pvalue > ALMOST_NEVER


@cases("sigma", 5e18, 1e19, 2.0**64, 1e25)
def test_large_discrete_gaussian_noise_is_normal(sigma):
    sampled = rdp.DiscreteGaussian(sigma).sample(SystemGenerator(), (N // 2,)) / sigma
    assert stats.kstest(sampled.astype(float), "norm").pvalue > ALMOST_NEVER


def test_system_generator_draws_once_for_each_array_entry():
    rng, loc = SystemGenerator(), np.zeros((2, 3))
    for sampled in (
        rng.normal(loc, 40.0),
        rng.laplace(loc),
        rng.gumbel(loc),
        rng.normal(0, loc + 1),
    ):
        assert sampled.shape == (2, 3) and len(np.unique(sampled)) == 6
    assert len(np.unique(rng.exponential(np.ones(9)))) == 9


def test_system_generator_does_not_cut_tails(monkeypatch):
    words = iter([5 << 12, 0, 0, 1 << 63])

    def bits(self, size):
        return np.full(() if size is None else size, next(words), dtype=np.uint64)

    monkeypatch.setattr(SystemGenerator, "_bits", bits)
    tiny = SystemGenerator().random()
    assert 2.0**-106 < tiny < 2.0**-104  # two words of zeros, and half of the third


def test_system_generator_refuses_other_methods_of_numpy():
    rng = SystemGenerator()
    for name in set(dir(np.random.Generator)) - {"bit_generator"}:
        if name.startswith("_") or name in OWN:
            continue
        with pytest.raises(NotImplementedError, match="would not draw from the operating system"):
            getattr(rng, name)(1, 1)


OWN = {"random", "integers", "normal", "laplace", "exponential", "gumbel"}


def test_system_generator_refuses_pickle_and_copy():
    for take in (pickle.dumps, copy.copy, copy.deepcopy):
        pytest.raises(TypeError, take, SystemGenerator()).match("no state")


@pytest.fixture
def queried(monkeypatch):
    """How many bytes the system was asked for, call by call."""
    queried, urandom = [], os.urandom
    monkeypatch.setattr("sklearn_pate.secure.urandom", lambda n: queried.append(n) or urandom(n))
    return queried


@cases(
    "secure, aggregator",
    *((False, GNMax(5.0)), (True, ConfidentGNMax(10, 5.0, 5.0)), (True, GNMax(5.0, "discrete"))),
)
def test_fit_draws_all_noise_from_the_system(queried, secure, aggregator):
    given = {"n_teachers": 20, "epsilon": None, "classes": [0, 1], "student": GaussianNB()}
    clf = PATEClassifier(GaussianNB(), aggregator=aggregator, random_state=0, **given)
    clf.fit(X, Y, X_PUBLIC)
    assert not queried and clf.privacy_spent_.generator == "seed"
    clf.set_params(random_state=None, secure=secure)
    votes = clf.poll(X, Y, X_PUBLIC)
    assert not queried  # votes have no noise yet
    for fit in (lambda: clf.fit_votes(votes, X_PUBLIC), lambda: clf.fit(X, Y, X_PUBLIC)):
        queried.clear()
        fit()
        assert sum(queried) >= 60 * 8  # eight bytes a query at least
        assert clf.privacy_spent_.generator == "system"


def mechanism_calls():
    """Stand-alone calls that draw noise, and how many bytes that takes at least.

    What numpy would draw from elsewhere is refused (see above).
    """
    votes, table = np.array([[40, 8, 2]] * 50), np.full((50, 3), 20.0)
    of_votes = [GNMax(4.0), GNMax(4.0, noise="discrete"), LNMax(0.05), ExponentialNMax(0.05)]
    of_votes += [LNMax(0.05, noise="discrete"), ConfidentGNMax(30, 4.0, 4.0), SoftVote(4.0)]
    of_votes += [ImmutableArgmax(gamma=0.05)]
    for aggregator in of_votes:
        yield partial(aggregator.release, votes), 50 * 8
        if not isinstance(aggregator, SoftVote | ImmutableArgmax):
            yield partial(aggregator.aggregate, votes), 50 * 8
    yield partial(SoftVote(4.0).soft_labels, votes), 50 * 3 * 8
    yield partial(StableArgmax(run_epsilon=5.0).release, votes), 8
    for noise in ("discrete", "continuous"):
        yield partial(LaplaceMechanism(2.0, noise=noise).noisy, table), 50 * 3 * 8
        yield partial(GaussianMechanism(2.0, noise=noise).noisy, table), 50 * 3 * 8
    interactive = InteractiveGNMax(3, 4.0, 4.0, 0.9)
    yield partial(interactive.release, votes, np.full((50, 3), 1 / 3)), 50 * 8
    release = SanitizedRelease(order=20.0, beta=0.01, sigma_cost=5.0, sigma_scale=5.0)
    yield partial(release.draw, np.exp(-np.arange(30.0)), np.arange(20)), 2 * 8


@pytest.mark.parametrize("number", range(len(list(mechanism_calls()))))
def test_mechanisms_called_alone_draw_from_the_system(queried, number):
    call, n_bytes = list(mechanism_calls())[number]
    call()
    assert sum(queried) >= n_bytes
    queried.clear()
    for seed in (0, np.random.SeedSequence(0), np.random.default_rng(0)):
        call(random_state=seed)
    assert not queried


def test_tables_and_synthetic_rows_draw_noise_from_the_system(queried):
    synthesizer = MarginalSynthesizer((-4, 4), missing=[], n_rows=200)
    for params, public in (({}, X_PUBLIC), ({"synthesizer": synthesizer}, None)):
        clf = PATEClassifier(classes=[0, 1], epsilon=8.0, random_state=0, **params)
        clf.fit(X, Y, public)
        assert clf.privacy_spent_.generator == "seed" and not queried
        clf.set_params(random_state=None).fit(X, Y, public)
        assert clf.privacy_spent_.generator == "system"
        table = clf.table_ if public is not None else clf.table_.table
        # eight bytes an entry at least, and for rows one for each bin and class of three columns
        of_rows = 0 if public is not None else 8 * 3 * 2 * synthesizer.n_bins
        assert sum(queried) >= 8 * table.counts.size + of_rows
        queried.clear()
        clf.poll(X, Y, public)  # draws rows, and no labels
        assert sum(queried) >= of_rows and (of_rows > 0 or not queried)
        queried.clear()


def test_ptr_draws_from_the_system(queried, monkeypatch):
    sampled, passes = [], ProposeTestRelease.passes

    def recorded(self, votes, random_state=None):
        before = sum(queried)
        passed = passes(self, votes, random_state)
        sampled.append(sum(queried) - before)
        return passed

    monkeypatch.setattr(ProposeTestRelease, "passes", recorded)
    given = {"n_queries": 200, "classes": [0, 1], "accounting": "ptr", "epsilon": 2.2}
    clf = PATEClassifier(GaussianNB(), aggregator=GNMax(25.0), student=GaussianNB(), **given)
    votes, public = np.tile([[0, 250], [250, 0]], (100, 1)), RNG.normal(size=(200, 3))
    clf.fit_votes(votes, public)
    assert sampled.pop() >= 8 and sum(queried) >= 8 * 201  # the test, and each of 200 queries
    clf.curator_.test.passes(votes)  # by itself
    assert sampled.pop() >= 8
    queried.clear()
    clf.set_params(random_state=0).fit_votes(votes, public)
    assert sampled == [0] and not queried


@pytest.mark.parametrize("call", ["fit", "plan", "poll", "fit_votes"])
def test_secure_refuses_a_seed(call):
    clf = PATEClassifier(GaussianNB(), n_teachers=20, classes=[0, 1], secure=True, random_state=0)
    given = (np.full((60, 2), 10), X_PUBLIC) if call == "fit_votes" else (X, Y, X_PUBLIC)
    message = "secure=True requires random_state=None, .*; got random_state=0"
    pytest.raises(ValueError, getattr(clf, call), *given).match(message)


# --- sanitised releases and propose-test-release against enumeration, quadrature and simulation ---

PUBLIC = {"n_teachers": 250, "n_classes": 2, "delta": 1e-5}


@functools.cache
def planned(n_queries, epsilon):
    return ProposeTestRelease.plan(GNMax(40.0), n_queries, **PUBLIC, epsilon=epsilon)


@given(st.lists(st.integers(0, 30), min_size=2, max_size=6))
def test_half_margins_change_by_at_most_one(counts):
    counts[0] += 1
    assert np.abs(half_margins([counts]) - half_margins(moves(counts))).max() <= 1


@pytest.mark.parametrize("n_teachers", [1, 2, 7, 12, 13])
@pytest.mark.parametrize("mechanism", [GNMax(3.0), LNMax(0.7), GNMax(40.0)])
def test_margin_rdp_of_two_classes_equals_the_exact_cost(mechanism, n_teachers):
    orders, votes = [1.5, 8.0, 60.0], histograms_of(n_teachers, 2)
    table = margin_rdp(mechanism, orders, n_teachers=n_teachers, n_classes=2)
    assert len(table) == n_teachers // 2 + 1
    exact = exact_rdp(mechanism, votes, orders)
    np.testing.assert_allclose(table[half_margins(votes)], exact, rtol=1e-12)


@pytest.mark.parametrize(("n_teachers", "n_classes"), [(24, 3), (25, 3), (9, 4)])
@pytest.mark.parametrize("mechanism", [GNMax(3.0), LNMax(1.5), LNMax(0.7)])
def test_margin_rdp_covers_all_votes(mechanism, n_teachers, n_classes):
    orders, votes = [1.5, 5.0, 60.0], histograms_of(n_teachers, n_classes)
    table = margin_rdp(mechanism, orders, n_teachers=n_teachers, n_classes=n_classes)
    assert (exact_rdp(mechanism, votes, orders) <= table[half_margins(votes)] * (1 + 1e-9)).all()
    assert (np.diff(table, axis=0) <= 0).all()


# --- smooth sensitivity --------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.floats(0, 3), min_size=2, max_size=6),
    st.lists(st.integers(0, 5), min_size=1, max_size=2),
    st.floats(0.01, 2),
)
def test_smooth_sensitivity_covers_enumeration(cost, half_margin, beta):
    cost, half_margin = np.array(cost), [min(j, len(cost) - 1) for j in half_margin]
    every = np.array(list(itertools.product(range(len(cost)), repeat=len(half_margin))))
    sums = cost[every].sum(axis=1)
    distance = np.abs(every[:, None] - every[None]).max(axis=2)  # one teacher votes on all queries
    local = np.where(distance <= 1, np.abs(sums[:, None] - sums[None]), 0).max(axis=1)
    here = np.flatnonzero((every == half_margin).all(axis=1))[0]
    needed = (np.exp(-beta * distance[here]) * local).max()
    result = smooth_sensitivity(cost, half_margin, beta)
    assert result >= needed * (1 - 1e-12)
    if len(half_margin) == 1:
        assert result == pytest.approx(needed, rel=1e-12)
    for near in np.flatnonzero(distance[here] <= 1):
        assert result <= math.exp(beta) * smooth_sensitivity(cost, every[near], beta) * (1 + 1e-12)


def divergence_of_normals(order, shift, scale):
    """D_order(N(shift, scale) || N(0, 1)) by quadrature."""

    def integrand(x):
        return math.exp(order * norm.logpdf(x, shift, scale) + (1 - order) * norm.logpdf(x))

    w = order - (order - 1) * scale**2
    if w <= 0:
        return math.inf
    local_maximum, width = order * shift / w, scale / math.sqrt(w)
    value, _ = quad(
        integrand,
        local_maximum - 40 * width,
        local_maximum + 40 * width,
        points=[local_maximum],
        limit=500,
    )
    return math.log(value) / (order - 1)


@pytest.mark.parametrize("order, beta, sigma", [(20, 0.015, 6), (20, 0.0225, 6), (5, 0.08, 2)])
def test_smooth_release_rdp_agrees_with_quadrature(order, beta, sigma):
    worst = 0.0
    for log_ratio in np.linspace(-beta, beta, 9):  # of the two smooth sensitivities
        mine, other = 1.0, math.exp(log_ratio)
        shift = min(mine, other)  # local sensitivity is at most either
        worst = max(worst, divergence_of_normals(order, shift / (other * sigma), mine / other))
    assert smooth_release_rdp([order], beta, sigma)[0] == pytest.approx(worst, rel=1e-9)
    assert smooth_release_rdp([order], 1 / order, sigma)[0] == math.inf


def test_sanitized_bound_covers_as_often_as_claimed(global_random_seed):
    """Finds a bound that misses in 0.09 of all draws instead of 0.05."""
    failure, n_draws = 0.05, 2_000
    release = SanitizedRelease(order=12.0, failure_probability=failure)
    cost = margin_rdp(GNMax(20.0), [12.0], n_teachers=60, n_classes=2)[:, 0]
    rng = np.random.default_rng(global_random_seed)
    half_margin = rng.integers(0, 31, size=40)
    draws = np.array([release.draw(cost, half_margin, rng) for _ in range(n_draws)])
    misses = int((draws < cost[half_margin].sum()).sum())
    assert 0 < misses <= binom.isf(1e-7, n_draws, failure)  # and the bound is not vacuous
    assert len(np.unique(draws)) == n_draws


def test_sanitized_release_is_shifted_by_a_noisy_scale(global_random_seed):
    # were it shifted by the smooth sensitivity itself, its mean would depend on that, unpaid for
    release = SanitizedRelease(order=12.0, failure_probability=0.01)
    cost, half_margin = np.linspace(1.0, 0.0, 21), np.array([4, 9, 15])
    sensitivity = smooth_sensitivity(cost, half_margin, release.beta)
    rng = np.random.default_rng(global_random_seed)
    draws = np.array([release.draw(cost, half_margin, rng) for _ in range(2_000)])
    z, spread = norm.ppf(0.995), release.beta * release.sigma_scale
    scale = math.exp(spread * z + spread**2 / 2)  # mean of exp(spread (Z + z))
    variance = 1 + z**2 * scale**2 * math.expm1(spread**2)
    unit = release.sigma_cost * sensitivity
    got = (draws - cost[half_margin].sum()) / unit
    assert abs(got.mean() - z * scale) < 6 * math.sqrt(variance / 2_000)
    assert got.var() == pytest.approx(variance, rel=0.2)
    assert z * scale > z + 10 * math.sqrt(variance / 2_000)


def test_sanitized_release_costs_both_draws():
    release = SanitizedRelease(order=12.0, beta=0.02, sigma_scale=8.0, sigma_cost=6.0)
    assert release.rdp == pytest.approx(12 / (2 * 64) + smooth_release_rdp([12.0], 0.02, 6.0)[0])


# --- propose-test-release ------------------------------------------------------------------------


def small_test(mechanism, n_teachers, n_queries, share, delta):
    public = {"n_teachers": n_teachers, "n_classes": 2}
    worst = data_independent_epsilon(mechanism, n_queries, delta, **public)[0]
    public |= {"epsilon": share * worst, "delta": delta}
    return ProposeTestRelease.plan(mechanism, n_queries, **public)


@cases("mechanism, share, delta", (GNMax(4.0), 0.7, 1e-3), (LNMax(0.4), 0.8, 1e-2))
def test_ptr_delta_covers_enumeration_of_neighbors(mechanism, share, delta):
    # 3 queries, two classes: outcomes are "fail" and 8 label vectors; one teacher moves the count
    # of each query by -1, 0 or 1
    n_teachers, n_queries = 80, 3
    test = small_test(mechanism, n_teachers, n_queries, share, delta)
    first = np.arange(n_teachers + 1)
    log_p = mechanism.outcome_log_proba(np.column_stack([first, n_teachers - first]))
    labels = np.array(list(itertools.product((0, 1), repeat=n_queries)))

    def outcomes(counts):
        counts = np.array(counts)
        passes = test.pass_probability(np.column_stack([counts, n_teachers - counts]))
        released = np.exp(log_p[counts][np.arange(n_queries), labels].sum(axis=1))
        return np.append(passes * released, 1 - passes)

    rng = np.random.default_rng(0)
    largest, passed = 0.0, []
    for _ in range(700):
        counts = rng.integers(0, n_teachers + 1, size=n_queries)
        if rng.random() < 0.7:  # near the limit of the test
            counts = np.clip(rng.integers(0, 25) + rng.integers(-3, 4, n_queries), 0, n_teachers)
        neighbour = np.clip(counts + rng.integers(-1, 2, size=n_queries), 0, n_teachers)
        p, q = outcomes(counts), outcomes(neighbour)
        passed.append(1 - p[-1])
        largest = max(largest, np.maximum(p - math.exp(test.epsilon) * q, 0).sum())
    assert largest <= delta
    assert min(passed) == pytest.approx(delta) and max(passed) > 0.9  # both kinds were drawn


def test_ptr_steps_of_pass_probability_cost_at_most_the_budget():
    test = planned(500, 1.6)
    a, p = test.order, test.pass_probability_at
    assert p[0] == pytest.approx(1e-5) and (np.diff(p) >= 0).all() and p[-1] > 0.99
    conversion = math.log((a - 1) / a) - (math.log(1e-5) + math.log(a)) / (a - 1)
    for x, y in itertools.chain(zip(p, p[1:], strict=False), zip(p[1:], p, strict=False)):
        moment = (1 - x) ** a * (1 - y) ** (1 - a)
        moment += x**a * y ** (1 - a) * math.exp((a - 1) * test.limit)
        assert math.log(moment) / (a - 1) + conversion <= 1.6


def test_ptr_pass_probability_counts_teachers_to_the_limit():
    test = planned(100, 0.8)
    reached = []

    def reachable(half_margin, d):  # the largest cost that teachers reach who move all queries
        return 100 * test.cost_by_half_margin[max(half_margin - d, 0) : half_margin + d + 1].max()

    for half_margin in range(126):
        d = 0
        while d < 126 and reachable(half_margin, d) <= test.limit:
            d += 1
        votes = np.tile([125 + half_margin, 125 - half_margin], (100, 1))
        expected = test.pass_probability_at[min(d, len(test.pass_probability_at) - 1)]
        assert test.pass_probability(votes) == expected
        reached.append(d)
    assert reached[0] == 0 and reached[-1] > 20


def test_ptr_passes_as_often_as_claimed(global_random_seed):
    """Finds a chance that is 0.1 off."""
    test = planned(100, 0.8)
    votes = np.tile([200, 50], (100, 1))
    votes[:12] = [140, 110]
    expected = test.pass_probability(votes)
    assert 0.001 < expected < 0.999
    rng = np.random.default_rng(global_random_seed)
    passes = sum(test.passes(votes, rng) for _ in range(1000))
    assert abs(passes / 1000 - expected) < 6 * math.sqrt(expected * (1 - expected) / 1000)


def test_ptr_plan_is_none_where_the_test_is_hopeless():
    assert ProposeTestRelease.plan(GNMax(40.0), 500, **PUBLIC, epsilon=0.5) is None
    assert ProposeTestRelease.plan(PluralityVote(), 500, **PUBLIC, epsilon=5.0) is None
    # a mechanism whose cost does not depend on the margin leaves nothing to test
    three = PUBLIC | {"n_classes": 3}
    assert ProposeTestRelease.plan(LNMax(0.001), 5, **three, epsilon=1e-4) is None


def test_ptr_epsilon_is_below_the_worst_case_on_real_votes(data_home):
    adult = np.load(data_home / "votes" / "adult_250_random_forest.npz")["votes"][:500]
    assert data_independent_epsilon(GNMax(40.0), 500, 1e-5, n_teachers=250, n_classes=2)[0] > 2.8
    test = planned(500, 1.6)
    assert test.pass_probability(adult) > 0.999
    mnist = np.load(data_home / "votes" / "mnist_250_cnn.npz")["votes"][:1000]
    ten = PUBLIC | {"n_classes": 10}
    assert data_independent_epsilon(GNMax(40.0), 1000, 1e-5, n_teachers=250, n_classes=10)[0] > 4.1
    test = ProposeTestRelease.plan(GNMax(40.0), 1000, **ten, epsilon=3.2)
    assert test.pass_probability(mnist) > 0.99


def test_sanitized_release_draws_fresh_noise():
    release, cost = SanitizedRelease(order=12.0), np.linspace(1, 0, 20)
    assert release.draw(cost, [3]) != release.draw(cost, [3])


def test_sanitized_release_and_ptr_refuse_other_votes():
    release, cost = SanitizedRelease(order=12.0), np.linspace(1, 0, 20)
    for half_margin in ([25], [-1], [1.5], [[1]]):
        with pytest.raises(ValueError, match="half_margin must be whole numbers below 20"):
            release.draw(cost, half_margin)
    with pytest.raises(ValueError, match="beta=0.1 is too large for order=12"):
        SanitizedRelease(order=12.0, beta=0.1).draw(cost, [3])
    test = planned(100, 0.8)
    for votes in ([[200, 50]] * 99, [[200, 51]] * 100):
        with pytest.raises(ValueError, match="planned for 100 queries of 250 teachers"):
            test.pass_probability(votes)
