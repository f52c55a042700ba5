"""Mechanisms with more than an argmax: sampling, true costs, and the guarantee of whole runs."""

import functools
import itertools
import math

import mpmath
import numpy as np
import pytest
from conftest import cases, histograms_of, moves, sampled
from draws import assert_drawn_from
from faulty import Unwilling
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_ndtr, logsumexp
from scipy.stats import laplace
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.naive_bayes import GaussianNB

from sklearn_pate import PATEClassifier, rdp
from sklearn_pate.accounting import RenyiFilter, plan_queries
from sklearn_pate.aggregators import (
    ConfidentGNMax,
    GNMax,
    ImmutableArgmax,
    InteractiveGNMax,
    LNMax,
    PluralityVote,
    SoftVote,
    StableArgmax,
    distance_to_instability,
)
from sklearn_pate.exceptions import BudgetExceededError, PrivacyLeakWarning, StudentError
from sklearn_pate.teachers.training import probability_shares

VOTES = [[126, 124], [41, *[23] * 8, 25]]


def student_for(counts, share=0.7):
    proba = np.full(len(counts), (1 - share) / (len(counts) - 1))
    proba[-1] = share
    return proba


# --- sampling ------------------------------------------------------------------------------------


@pytest.mark.parametrize("counts", VOTES, ids=str)
@cases(
    "mechanism",
    ConfidentGNMax(140, sigma1=30.0, sigma2=40.0),
    ConfidentGNMax(0.3, sigma1=60.0, sigma2=10.0),
    InteractiveGNMax(60, sigma1=40.0, sigma2=30.0, confidence=0.6),
    InteractiveGNMax(0.3, sigma1=40.0, sigma2=30.0, confidence=0.9),
    ImmutableArgmax(gamma=0.05),
    ImmutableArgmax(constant=3.0, sigma=20.0),
    ids=str,
)
def test_samples_of_staged_mechanisms_follow_the_outcome_distribution(
    mechanism, counts, global_random_seed
):
    """Finds noise of 5 % less on any of its counts, where an outcome is neither sure nor rare."""
    n_samples = 100_000
    votes = np.tile(counts, (n_samples, 1))
    proba = student_for(counts) if mechanism.uses_student_proba else None
    given = None if proba is None else np.tile(proba, (n_samples, 1))
    labels = mechanism.aggregate(votes, given, random_state=global_random_seed)
    log_proba = mechanism.outcome_log_proba([counts], None if proba is None else [proba])[0]
    observed = np.bincount(np.where(labels < 0, len(counts), labels), minlength=len(counts) + 1)
    assert_drawn_from(observed[: log_proba.size], np.exp(log_proba))
    assert observed.sum() == observed[: log_proba.size].sum()


def test_interactive_reinforces_a_confident_student_only():
    interactive = InteractiveGNMax(50, sigma1=1.0, sigma2=1.0, confidence=0.8)
    votes = [[240, 10], [240, 10], [240, 10]]
    student = [[1.0, 0.0], [0.1, 0.9], [0.7, 0.3]]  # agrees; contradicted; too low
    labels, paid = interactive.draw(votes, student, random_state=0)
    assert labels.tolist() == [0, 0, 0] and paid.tolist() == [False, True, True]
    labels, paid = interactive.draw([[200, 50]], [[0.79, 0.21]], random_state=0)
    assert labels.tolist() == [-1] and paid.tolist() == [False]


# --- costs ---------------------------------------------------------------------------------------


@sampled()
@pytest.mark.parametrize(("n_teachers", "n_classes"), [(20, 2), (14, 3), (9, 4)])
@pytest.mark.parametrize("threshold", [2, 7, 0.8])
def test_confident_cost_is_at_most_its_worst_case(n_teachers, n_classes, threshold):
    orders = [1.2, 2.0, 8.0, 30.0]
    for sigma1, sigma2 in ((3.0, 4.0), (20.0, 3.0), (1.0, 10.0)):
        confident = ConfidentGNMax(threshold, sigma1=sigma1, sigma2=sigma2)
        exact = rdp.exact_rdp(confident, histograms_of(n_teachers, n_classes), orders).max(axis=0)
        worst = rdp.worst_case_rdp(confident, orders, n_teachers=n_teachers, n_classes=n_classes)
        anything = rdp.worst_case_rdp(confident, orders)
        assert (exact <= worst).all() and (worst <= anything * (1 + 1e-9)).all()
        gaussian = np.array(orders) * (1 / sigma1**2 + 2 / sigma2**2) / 2
        mu = math.hypot(1 / sigma1, math.sqrt(2) / sigma2)
        np.testing.assert_allclose(confident.bounds().gdp_mu, mu)
        assert (anything <= gaussian * (1 + 1e-9)).all()
        public = {"n_teachers": n_teachers, "n_classes": n_classes}
        check, answer = confident.steps(np.array(orders), **public)
        assert (answer == rdp.worst_case_rdp(GNMax(sigma2), orders, **public)).all()
        assert n_classes == 2 or (worst == rdp.checked_rdp(sigma1, answer, orders)).all()
        assert (anything[:2] <= (check + answer)[:2] * 1.05).all()


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.integers(0, 40), min_size=2, max_size=5).filter(lambda n: sum(n) > 0),
    st.data(),
    st.floats(1, 40),
    st.floats(1, 40),
)
def test_interactive_cost_is_at_most_its_worst_case(counts, data, sigma1, sigma2):
    weights = [data.draw(st.floats(0, 1)) + 1e-3 for _ in counts]
    proba = np.array(weights) / sum(weights)
    threshold = data.draw(st.integers(1, 40))
    interactive = InteractiveGNMax(threshold, sigma1=sigma1, sigma2=sigma2, confidence=0.5)
    orders = [1.3, 4.0, 20.0]
    exact = rdp.exact_rdp(interactive, [counts], orders, student_proba=[proba])[0]
    worst = rdp.worst_case_rdp(interactive, orders, n_teachers=sum(counts), n_classes=len(counts))
    assert (exact <= worst).all()


@pytest.mark.parametrize("sigma", [0.1, 0.7, 2.646223, 40.0])
def test_checked_rdp_covers_a_dense_grid(sigma):
    orders = np.array([1.1, 1.2472462545, 2.0919, 5.0, 30.0])
    for answer in (np.zeros(5), orders / 500**2, np.full(5, 1.92119e-5), np.full(5, 0.001), orders):
        got, step = rdp.checked_rdp(sigma, answer, orders), 1 / sigma
        for a, r, bound in zip(orders, answer, got, strict=True):
            x = np.linspace(-10 - 1.3 * a * step, 10 + 1.3 * a * step, 20_001)
            fail, ok = (log_ndtr(-x), log_ndtr(-x - step)), (log_ndtr(x), log_ndtr(x + step))
            for k in (0, 1):
                fails = a * fail[k] + (1 - a) * fail[1 - k]
                passes = a * ok[k] + (1 - a) * ok[1 - k] + (a - 1) * r
                moment = np.logaddexp(fails, passes)
                assert moment.max() / (a - 1) <= bound * (1 + 1e-12)
            assert bound <= (r + a * step**2 / 2) * (1 + 1e-9)


def test_published_rdp_of_confident_adds_check_and_answer():
    votes = np.array([[200, 50], [130, 120]])
    confident = ConfidentGNMax(150, sigma1=40.0, sigma2=30.0)
    check = rdp.threshold_rdp([200, 130], 150, 40.0, rdp.DEFAULT_ORDERS)
    answer = rdp.gnmax_rdp(votes, 30.0, rdp.DEFAULT_ORDERS)
    for paid, share in ((None, 1), ([True, False], [[1], [0]])):
        published = confident.published_rdp(votes, rdp.DEFAULT_ORDERS, paid=paid)
        np.testing.assert_allclose(published, check + answer * share)


# --- immutable -----------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", [{"sigma": 3.0}, {"gamma": 0.5}])
def test_immutable_cost_is_at_most_its_worst_case_and_unbounded(noise):
    public = {"n_teachers": 12, "n_classes": 3}
    exact = rdp.exact_rdp(ImmutableArgmax(4.0, **noise), histograms_of(12, 3), [1.5, 4.0])
    worst = rdp.worst_case_rdp(ImmutableArgmax(4.0, **noise), [1.5, 4.0], **public)
    assert (exact <= worst).all()
    for gone in (math.inf, 1e200):
        mechanism = ImmutableArgmax(gone, **noise)
        assert rdp.data_independent_epsilon(mechanism, 1, 1e-5, **public)[0] > 1e100


@pytest.mark.parametrize("constant", [0, 0.5, 4.0])
def test_immutable_rdp_counts_a_change_by_one_and_the_constant(constant):
    # a vote goes, and the constant with it: two counts change by 1 + constant each
    orders = np.array([1.5, 8.0])
    gaussian = rdp.worst_case_rdp(ImmutableArgmax(constant, sigma=7.0), orders)
    np.testing.assert_allclose(gaussian, orders * (1 + constant) ** 2 / 7.0**2)
    laplace_ = rdp.worst_case_rdp(ImmutableArgmax(constant, gamma=0.2), orders)
    np.testing.assert_allclose(laplace_, rdp.pure_rdp(2 * 0.2 * (1 + constant), orders))


def test_immutable_constant_equals_that_of_the_paper():
    assert ImmutableArgmax(gamma=0.05)._added(10) == pytest.approx(math.log(1000) / 0.05)
    expected = math.sqrt(2 * 40**2 * math.log(2000))
    assert ImmutableArgmax(sigma=40.0)._added(10) == pytest.approx(expected)
    assert np.isinf(ImmutableArgmax(sigma=40.0).costs()(1).rdp).all()  # of any number of classes


@cases("scale, bound", ({"gamma": 0.05}, rdp.laplace_rdp), ({"sigma": 40.0}, rdp.gaussian_rdp))
def test_immutable_claimed_rdp_equals_the_noise_bound_at_raised_counts(scale, bound):
    immutable = ImmutableArgmax(3.0, **scale)
    log_q = immutable.outcome_log_proba([[130, 120]])[:, 1]
    claim = immutable.claimed_rdp([[130, 120], [250, 0]], [2.0, 9.0])
    np.testing.assert_allclose(claim[:1], bound(log_q, *scale.values(), [2.0, 9.0]))
    assert (claim[1] < claim[0]).all()


def test_immutable_plan_warns_of_its_leak():
    public = {"n_public": 20, "n_teachers": 250, "n_classes": 10, "delta": 1e-5}
    with pytest.warns(
        PrivacyLeakWarning, match="nearly always get different answers.*Use StableArgmax"
    ):
        plan = plan_queries(ImmutableArgmax(gamma=0.05), 3, epsilon=None, **public)
    assert plan.epsilon > 10


# --- stable argmax -------------------------------------------------------------------------------


@settings(max_examples=50)
@given(st.lists(st.integers(0, 30), min_size=2, max_size=5))
def test_distance_to_instability_changes_by_one_and_reaches_zero(counts):
    counts[0] += 1
    neighbours = moves(counts)
    here, there = distance_to_instability([counts])[0], distance_to_instability(neighbours)
    assert (np.abs(here - there) <= 1).all()
    changes = neighbours.argmax(axis=1) != np.argmax(counts)
    assert not changes.any() or (here == 0 and (there[changes] == 0).all())


def test_stability_threshold_fails_as_rarely_as_claimed(global_random_seed):
    """Finds a rate that is 5 % above the rate that it states."""
    stable = StableArgmax(1.0, max_unstable=3, delta=0.05)
    on_threshold, on_distance = stable._scales()
    rng = np.random.default_rng(global_random_seed)
    distances = rng.laplace(scale=on_distance, size=(500_000, 5)).max(axis=1)
    bars = rng.laplace(scale=on_threshold, size=(500_000, 3)).min(axis=1)
    rate = (distances > stable.stability_needed(5) + bars).mean()
    assert 0.02 < rate <= 0.05 + 5 * math.sqrt(0.05 / 500_000)
    # below the sum of the paper's two bounds
    paper = on_threshold * math.log(3 / 0.05) + on_distance * math.log(5 / 0.05)
    assert stable.stability_needed(5) < 0.9 * paper


@pytest.mark.parametrize("failure", [1e-6, 1e-60, 1e-300])
def test_stability_threshold_agrees_with_a_closed_form(failure):
    stable = StableArgmax(1.0, max_unstable=1, delta=failure)
    on_threshold, on_distance = map(mpmath.mpf, stable._scales())
    bar = mpmath.mpf(stable.stability_needed(1))
    # the chance that the difference of two Laplace variables exceeds the bar
    tails = [scale**2 * mpmath.exp(-bar / scale) for scale in (on_distance, on_threshold)]
    rate = (tails[0] - tails[1]) / (on_distance**2 - on_threshold**2) / 2
    assert 0.8 * failure < rate <= failure
    # which is the chance that a query passes though one teacher decides it
    assert math.exp(stable.outcome_log_proba([[5, 5]])[0, 0]) == pytest.approx(float(rate))


def test_stable_argmax_stops_after_its_runs_and_pays_once():
    stable = StableArgmax(run_epsilon=2.0, max_unstable=3)
    votes = np.tile([990, 10], (50, 1))
    votes[[5, 9, 20, 30]] = [500, 500]
    labels, _ = stable.draw(votes, random_state=0)
    assert len(labels) == 21 and np.flatnonzero(labels < 0).tolist() == [5, 9, 20]
    whole = stable.aggregate(votes, random_state=0)
    assert whole.shape == (50,) and (whole[21:] == -1).all()
    costs = stable.costs()
    assert costs(1).pure == 6.0 and costs(1).epsilon(1e-5) == costs(10_000).epsilon(1e-5)
    assert costs(1).epsilon(1e-6)[0] == math.inf  # nothing left of delta


def test_stable_argmax_draws_a_threshold_for_each_run(monkeypatch, global_random_seed):
    """With one noisy threshold for all runs, two queries would fail together more often."""
    monkeypatch.setattr(StableArgmax, "stability_needed", lambda self, n_queries: 30.0)
    stable = StableArgmax(run_epsilon=1.0, max_unstable=2)
    rng = np.random.default_rng(global_random_seed)
    votes = np.tile([131, 69], (2, 1))  # 30 teachers can change
    draws = np.array([stable.aggregate(votes, random_state=rng) for _ in range(3000)]) < 0
    on_threshold, on_distance = stable._scales()
    assert 1 / on_threshold + 2 / on_distance == pytest.approx(1.0)
    assert on_distance / on_threshold == pytest.approx(2 ** (1 / 3))
    chance = (np.arange(10_000) + 0.5) / 10_000  # quantiles of the noise on the threshold
    rho = laplace.ppf(chance, scale=on_threshold)
    # two that pass share a run: its noise makes that more likely than if each had its own
    together = (laplace.sf(rho, scale=on_distance) ** 2).mean()
    assert together > 0.3
    shares = [draws[:, 0].mean(), draws.all(axis=1).mean(), (~draws).all(axis=1).mean()]
    np.testing.assert_allclose(shares, [1 / 2, 1 / 4, together], atol=0.046)  # 5 standard errors


def test_stable_argmax_run_costs_its_pure_epsilon():
    # many queries pass and one fails, whose distances one teacher moves in opposite directions
    run_epsilon = 1.5
    on_threshold, on_distance = StableArgmax(run_epsilon)._scales()
    rho = np.linspace(-40, 40, 4001) * on_threshold
    log_rho = laplace.logpdf(rho, scale=on_threshold)

    def log_chance(n_pass, passing, failing):  # distances, relative to the threshold
        log_pass = laplace.logsf(rho - passing, scale=on_distance)
        log_fail = laplace.logcdf(rho - failing, scale=on_distance)
        return logsumexp(log_rho + n_pass * log_pass + log_fail)

    largest = 0.0
    for n_pass, passing, failing in itertools.product(
        (1, 30, 3000), np.linspace(-5, 25, 7) * on_distance, np.linspace(-5, 25, 7) * on_distance
    ):
        here = log_chance(n_pass, passing, failing)
        for there in ((passing + 1, failing - 1), (passing - 1, failing + 1)):
            largest = max(largest, abs(log_chance(n_pass, *there) - here))
    assert 0.9 * run_epsilon < largest <= run_epsilon * (1 + 1e-3)


# --- filter --------------------------------------------------------------------------------------


def test_filter_reserves_costs_before_and_refunds_after():
    budget = RenyiFilter(order=5.0, limit=1.001)
    assert budget.allow(np.array([False] * 20), check=0.1, answer=0.3) == 7
    assert budget.spent == pytest.approx(0.7)
    assert budget.allow(np.array([True]), check=0.0, answer=0.3) == 1
    assert budget.allow(np.array([True]), check=0.0, answer=0.1) == 0 and budget.spent <= 1.001


@pytest.mark.slow
@pytest.mark.parametrize("is_interactive", [False, True])
def test_filter_guarantee_holds_for_stopped_runs(is_interactive, global_random_seed):
    """Runs of 40 queries under a filter, each with its exact likelihood ratio.

    The mean of max(0, 1 - exp(epsilon) Q / P) estimates the hockey-stick divergence without bias.
    """
    epsilon, delta, n_runs, n_queries, votes = 1.0, 1e-3, 10_000, 40, [60, 40]
    public = {"n_teachers": 100, "n_classes": 2}
    if is_interactive:
        mechanism = InteractiveGNMax(10, sigma1=12.0, sigma2=15.0, confidence=0.9)
        proba, stages, numbers = [[0.6, 0.4]], [GNMax(60.0), mechanism], [1, n_queries]
    else:
        mechanism = ConfidentGNMax(60, sigma1=12.0, sigma2=15.0)
        proba, stages, numbers = None, mechanism, n_queries
    cap = {"n_public": 100, "epsilon": epsilon, "delta": delta}
    budget = plan_queries(stages, numbers, **cap, **public).budget
    check, answer = (float(c[0]) for c in mechanism.steps(np.array([budget.order]), **public))

    def log_outcomes(counts):
        """Log probabilities of (class 0 from votes, class 1 from votes, check failed)."""
        excess = mechanism._excess(np.array([counts]), proba)[0]
        win = GNMax(mechanism.sigma2).outcome_log_proba([counts])[0]
        return np.append(win + log_ndtr(excess), log_ndtr(-excess))

    rng = np.random.default_rng(global_random_seed)
    for neighbour in ([votes[0] - 1, votes[1] + 1], [votes[0] + 1, votes[1] - 1]):
        p, q = log_outcomes(votes), log_outcomes(neighbour)
        for first, second in ((p, q), (q, p)):
            outcome = rng.choice(3, p=np.exp(first), size=(n_runs, n_queries))
            queried = np.empty(n_runs)
            for k, answered in enumerate(outcome < 2):
                queried[k] = RenyiFilter(budget.order, budget.limit).allow(answered, check, answer)
            ratio = np.where(np.arange(n_queries) < queried[:, None], (second - first)[outcome], 0)
            excess = np.maximum(0, 1 - np.exp(epsilon + ratio.sum(axis=1)))
            assert excess.mean() <= delta  # a quarter of it, with a standard error of a tenth
            assert 0 < queried.min() and queried.max() <= n_queries


# --- stages --------------------------------------------------------------------------------------


X, Y = make_classification(3400, n_features=5, class_sep=1.0, random_state=1)
CONFIDENT = ConfidentGNMax(0.8, sigma1=30.0, sigma2=15.0)
INTERACTIVE = InteractiveGNMax(0.3, sigma1=30.0, sigma2=15.0, confidence=0.8)


PRIVATE_X, PRIVATE_Y, PUBLIC_X = X[:2000], Y[:2000], X[2000:3000]


@functools.cache
def votes_of_120():
    clf = PATEClassifier(GaussianNB(), n_teachers=120, classes=[0, 1])
    return clf.poll(PRIVATE_X, PRIVATE_Y, X_public=PUBLIC_X)


def model(aggregators, n_queries, **params):
    fixed = {"n_teachers": 120, "classes": [0, 1], "random_state": 0, "epsilon": 6.0}
    fixed |= {"aggregator": aggregators, "n_queries": n_queries, "student": GaussianNB()}
    return PATEClassifier(GaussianNB(), **(fixed | params))


def staged(aggregators, n_queries, **params):
    return model(aggregators, n_queries, **params).fit_votes(votes_of_120(), PUBLIC_X)


@pytest.mark.slow
def test_stages_run_in_order_and_share_the_cap():
    clf = staged([CONFIDENT, INTERACTIVE], [60, 200])
    spent = clf.privacy_spent_
    assert spent.n_queries == len(clf.query_indices_) == 260
    assert spent.n_answered == (clf.public_labels_ >= 0).sum() < 260
    public = {"n_teachers": 120, "n_classes": 2}
    costs = [CONFIDENT.costs(**public)(60), INTERACTIVE.costs(**public)(200)]
    assert spent.epsilon == costs[0].plus(costs[1]).epsilon(1e-5)[0] <= 6.0
    assert [type(a) for a in clf.aggregator_] == [ConfidentGNMax, InteractiveGNMax]
    assert clf.curator_.votes.shape == (260, 2)
    assert 0 < clf.curator_.epsilon() < clf.curator_.epsilon(bound="data_independent")
    assert clf.curator_.epsilon(bound="published") > 0 and clf.score(X[3000:], Y[3000:]) > 0.75


def test_stages_that_may_fail_share_delta():
    stages = [StableArgmax(1.0, max_unstable=1, delta=6e-6) for _ in range(2)]
    public = {"n_public": 20, "n_teachers": 300, "n_classes": 2, "epsilon": None}
    assert plan_queries(stages, [5, 5], **public, delta=1.3e-5).epsilon == 2.0
    assert plan_queries(stages, [5, 5], **public, delta=1e-5).epsilon == math.inf


def test_stages_are_stopped_by_the_filter_at_the_cap(monkeypatch):
    allowed, allow = {}, RenyiFilter.allow

    def noted(self, paid, check, answer):
        n_allowed = allow(self, paid, check, answer)
        allowed.setdefault(id(self), []).append(n_allowed)
        return n_allowed

    monkeypatch.setattr(RenyiFilter, "allow", noted)
    with (
        pytest.warns(UserWarning, match="epsilon=2 pays for 33 answers.*may get no query"),
        pytest.warns(UserWarning, match="epsilon=2 paid for .* of the 700 requested rows"),
    ):
        clf = staged([CONFIDENT, INTERACTIVE], [60, 640], epsilon=2.0)
    spent = clf.privacy_spent_
    assert (spent.epsilon, spent.composition) == (2.0, "filter")
    queried = list(allowed.values())[-1]  # before, plans count labels on filters of their own
    assert 0 < sum(queried) == spent.n_queries == len(clf.query_indices_) < 700
    assert spent.n_queries == len(clf.curator_.votes)
    assert (clf.public_labels_[np.setdiff1d(np.arange(1000), clf.query_indices_)] == -1).all()
    of_filter = clf.curator_.epsilon(bound="data_independent")
    assert of_filter <= 2.0 and of_filter == pytest.approx(2.0, rel=1e-9)  # as in `_planned_filter`


class Free(GNMax):
    """States that none of its answers were paid for, and states no cost of a check."""

    def bounds(self):
        return rdp.PrivacyBounds(gdp_mu=math.sqrt(2) / self.sigma)

    def outcome_log_proba(self, votes, student_proba=None):
        return GNMax(self.sigma).outcome_log_proba(votes)

    def draw(self, votes, student_proba=None, random_state=None):
        labels = self.aggregate(votes, random_state=random_state)
        return labels, np.zeros(len(labels), dtype=bool)


def test_filter_refunds_nothing_for_a_check_without_cost():
    queried = []
    for first in (Free(14.0), GNMax(14.0)):
        with (
            pytest.warns(UserWarning, match="epsilon=2 pays for 33 answers to the 310 requested"),
            pytest.warns(UserWarning, match="epsilon=2 paid for .* of the 310 requested rows"),
        ):
            clf = staged([first, GNMax(20.0)], [300, 10], epsilon=2.0)
        queried.append(clf.privacy_spent_.n_queries)
    assert queried[0] <= queried[1] < 310


def test_stages_without_noise_share_one_scale_that_costs_the_cap():
    clf = staged([GNMax(None), LNMax(0.02), GNMax(None)], [10, 20, 30], epsilon=3.0)
    first, _, last = clf.aggregator_
    assert first.sigma == last.sigma and 3.0 * (1 - 1e-4) <= clf.privacy_spent_.epsilon <= 3.0


def test_student_between_stages_is_fitted_on_released_labels():
    seen = []

    class Watched(LogisticRegression):
        def fit(self, X, y):
            seen.append(len(y))
            return super().fit(X, y)

    clf = staged([GNMax(20.0), INTERACTIVE], [40, 60], student=Watched())
    assert seen == [100, 40, clf.privacy_spent_.n_answered]  # the first with made-up labels


def test_student_error_between_stages_keeps_released_labels():
    with pytest.raises(StudentError, match="on 40 released labels") as caught:
        staged([GNMax(20.0), INTERACTIVE], [40, 60], student=Unwilling())
    assert (caught.value.public_labels >= 0).sum() == 40
    assert caught.value.privacy_spent.n_queries == 40


def test_ptr_refuses_several_stages():
    with pytest.raises(ValueError, match="accounting='ptr' supports one stage"):
        staged([GNMax(20.0), GNMax(20.0)], [9, 9], accounting="ptr")


def test_plan_refuses_a_stage_that_cannot_pay_for_a_query():
    public = {"n_public": 100, "n_teachers": 250, "n_classes": 2, "delta": 1e-5}
    for dear in (PluralityVote(), GNMax(1.0), ConfidentGNMax(0.6, 3.0, 1.0)):
        with pytest.raises(BudgetExceededError, match=f"one query of {type(dear).__name__}"):
            plan_queries([GNMax(40.0), dear], [30, 30], epsilon=1.0, **public)


# --- soft votes ----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["discrete", "continuous"])
def test_soft_votes_release_noisy_sums_of_probabilities(noise):
    soft_vote = SoftVote(sigma=12.0, temperature=2.0, noise=noise)
    clf = model(soft_vote, 50, epsilon=8.0, keep_teachers=True)
    clf.fit(PRIVATE_X, PRIVATE_Y, X_public=PUBLIC_X)
    queried, soft = clf.query_indices_, clf.public_soft_labels_
    assert soft.shape == (1000, 2) and np.isnan(np.delete(soft, queried, axis=0)).all()
    np.testing.assert_allclose(soft[queried].sum(axis=1), 1)
    np.testing.assert_array_equal(soft[queried].argmax(axis=1), clf.public_labels_[queried])
    proba = (t.predict_proba(PUBLIC_X[queried]) for t in clf.curator_.teachers)
    expected = sum(np.sqrt(p) / np.sqrt(p).sum(axis=1, keepdims=True) for p in proba)
    np.testing.assert_allclose(clf.curator_.votes, expected, atol=120 * 2 / 2**19)
    gaussian = rdp.gdp_to_epsilon(math.sqrt(2 * 50) / 12, 1e-5)
    renyi = rdp.rdp_to_epsilon(rdp.DEFAULT_ORDERS * 50 / 12**2, 1e-5, rdp.DEFAULT_ORDERS)[0]
    claimed = gaussian if noise == "continuous" else renyi
    assert clf.privacy_spent_.epsilon == pytest.approx(claimed, rel=1e-12)
    assert clf.privacy_spent_.arithmetic == ("real" if noise == "continuous" else "exact")
    assert clf.curator_.epsilon() == pytest.approx(renyi) and clf.score(X[3000:], Y[3000:]) > 0.75


@given(
    st.lists(st.floats(0, 1), min_size=2, max_size=6),
    st.lists(st.floats(0, 1), min_size=6, max_size=6),
    st.sampled_from([0.3, 1.0, 5.0]),
)
def test_probability_shares_have_a_bounded_norm(first, second, temperature):
    pair = [np.array([v]) + 1e-6 for v in (first, second[: len(first)])]
    given = {"n_classes": len(first), "temperature": temperature}
    codes = np.arange(len(first))
    shares = [probability_shares(p / p.sum(), codes, **given) / 2**20 for p in pair]
    assert all((s >= 0).all() and s.sum() <= 1 for s in shares)
    assert np.linalg.norm(shares[0] - shares[1]) <= math.sqrt(2)


def test_interactive_stage_requires_a_student_with_probabilities():
    with pytest.raises(ValueError, match="Interactive.* needs a student with predict_proba"):
        staged([GNMax(20.0), INTERACTIVE], [5, 5], student=Perceptron())


# --- parameters ----------------------------------------------------------------------------------


def test_thresholds_accept_votes_or_fractions():
    votes = [[150, 100], [200, 50]]
    for same in (np.int64(150), 150, 0.6):
        np.testing.assert_allclose(
            ConfidentGNMax(same, 10.0, 10.0).outcome_log_proba(votes),
            ConfidentGNMax(150, 10.0, 10.0).outcome_log_proba(votes),
        )


def test_interactive_requires_valid_student_proba():
    interactive = InteractiveGNMax(10, 10.0, 10.0, confidence=0.5)
    for proba, got in (
        (None, "None"),
        ([[0.5, 0.5]] * 2, r"shape \(2, 2\)"),
        ([[0.5, 0.2]], "this shape, but rows with other sums"),
        ([[1.5, -0.5]], "this shape, but .* negative numbers"),
        ([[np.nan, 1.0]], "this shape"),
    ):
        with pytest.raises(ValueError, match=f"student_proba must be the student's.* got {got}"):
            interactive.aggregate([[5, 5]], proba)
