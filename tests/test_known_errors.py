"""The known errors of public PATE code: ours gets each right, and the wrong version differs.

Each test describes an error and its place, has the wrong version inline, and compares both with a
reference that is neither: a closed form, many digits, enumeration or simulation.
"""

import itertools
import math
import pickle

import mpmath as mp
import numpy as np
import pytest
from conftest import moves
from faulty import Unwilling
from scipy.stats import norm
from sklearn.naive_bayes import GaussianNB

from sklearn_pate import PATEClassifier, rdp
from sklearn_pate.accounting import plan_queries
from sklearn_pate.accounting.propose_test_release import ProposeTestRelease
from sklearn_pate.accounting.smooth_sensitivity import (
    half_margins,
    smooth_release_rdp,
    smooth_sensitivity,
)
from sklearn_pate.aggregators import (
    ConfidentGNMax,
    ExponentialNMax,
    GNMax,
    ImmutableArgmax,
    InteractiveGNMax,
    LNMax,
    PluralityVote,
    distance_to_instability,
)
from sklearn_pate.exceptions import StudentError
from sklearn_pate.fitting import inputs
from sklearn_pate.fitting.seeds import seed_streams

pytestmark = pytest.mark.slow


def hockey_stick(p, q, epsilon):
    """The delta of two outcome distributions at epsilon, both ways."""
    return max(np.maximum(a - math.exp(epsilon) * b, 0).sum() for a, b in ((p, q), (q, p)))


# --- 1. the data-dependent bound outside its condition -------------------------------------------


@pytest.mark.parametrize("gamma", [0.5, 1.0, 2.0])
def test_data_dependent_bound_is_used_inside_its_condition_only(gamma):
    # 2017 (`logmgf_exact`): the formula of Theorem 3 for all q < 0.5, not q < 1 / (e^(2 gamma) + 1)
    e0, condition = 2 * gamma, 1 / (math.exp(2 * gamma) + 1)

    def of_2017(q, order):
        value = (1 - q) * ((1 - q) / (1 - math.exp(e0) * q)) ** (order - 1)
        value += q * math.exp(e0 * (order - 1))
        return math.log(value) / (order - 1) if value > 0 else math.nan

    def true(q, order):  # two outcomes, as far from a neighbour's as (2 gamma, 0)-privacy allows
        with mp.workdps(40):
            a, e, p = mp.mpf(order), mp.exp(mp.mpf(e0)), [1 - mp.mpf(q), mp.mpf(q)]
            other = max(p[0] / e, 1 - e * p[1])
            moment = p[0] ** a * other ** (1 - a) + p[1] ** a * (1 - other) ** (1 - a)
            return float(mp.log(moment) / (a - 1))

    too_small = 0
    for q in np.append(np.linspace(0.02, 0.98, 9) * condition, np.linspace(condition, 0.499, 9)):
        for order in (2.0, 9.0):
            cost = rdp.laplace_rdp([math.log(q)], gamma, [order])[0, 0]
            assert cost >= true(q, order) * (1 - 1e-9)
            too_small += not of_2017(q, order) >= true(q, order)
    assert too_small > 0


# --- 2. integer orders turned into infinities ----------------------------------------------------


def test_infinite_costs_at_whole_orders_stay_infinite():
    # 2018 (`rdp_pure_eps`): np.full_like(orders, inf) keeps the integer type of the orders
    orders = [2, 8, 32]
    for cost in (
        rdp.worst_case_rdp(PluralityVote(), orders),
        PluralityVote().published_rdp([[6, 4]], orders)[0],
        rdp.worst_case_rdp(ImmutableArgmax(math.inf, sigma=40.0), orders, n_teachers=10),
        rdp.exact_rdp(PluralityVote(), [[5, 5]], orders)[0],
        smooth_release_rdp(np.array(orders), beta=0.5, sigma=6.0),
    ):
        assert np.isposinf(cost).all()
    assert rdp.rdp_to_epsilon([np.inf] * 3, 1e-5, orders)[0] == math.inf


# --- 3. sensitivity on unsorted counts -----------------------------------------------------------


@pytest.mark.parametrize("counts", list(itertools.permutations([20, 30, 200])), ids=str)
def test_smooth_sensitivity_does_not_depend_on_the_order_of_counts(counts):
    # 2018: local sensitivity from the first two counts as if they were the largest two
    cost = rdp.margin_rdp(GNMax(40.0), [10.0], n_teachers=250, n_classes=3)[:, 0]
    own = half_margins([counts])
    true = max(abs(cost[half_margins([near])] - cost[own])[0] for near in moves(counts))
    got = smooth_sensitivity(cost, own, beta=700.0)  # no weight on other teachers
    assert got >= true > 0
    assert got == smooth_sensitivity(cost, half_margins([[200, 30, 20]]), beta=700.0)
    if counts[0] < 200:  # a query that looks tied, whose cost is flat
        first_two = max(counts[0] - counts[1], 0) // 2
        assert cost[first_two] == cost[first_two + 1] and got > 0
    assert (own[0], distance_to_instability([counts])[0]) == (85, 84)


# 4 was noise cut to whole votes (tinydp): test_aggregators.py
# 5 was a part that is fed to every teacher (mlforhealthlabpub 29, PATE-GAN): test_teachers.py

# --- 6. expected instead of realised cost --------------------------------------------------------


def test_plan_cost_exceeds_expected_and_realized_cost():
    # capc and others: a checked query is charged its check, and its answer times the probability
    # (or the fact) that it was answered
    mechanism, delta = ConfidentGNMax(60, sigma1=4.0, sigma2=0.3), 1e-5
    votes, near = [[50, 50]], [[49, 51]]
    p, q = (np.exp(mechanism.outcome_log_proba(v)[0]) for v in (votes, near))
    answered = 1 - p[-1]
    check, answer = 1 / mechanism.sigma1**2, 2 / mechanism.sigma2**2
    expected = rdp.gdp_to_epsilon(math.sqrt(check + answered * answer), delta)
    refused = rdp.gdp_to_epsilon(math.sqrt(check), delta)
    public = {"n_public": 1, "n_teachers": 100, "n_classes": 2}
    plan = plan_queries(mechanism, 1, **public, epsilon=None, delta=delta)
    assert hockey_stick(p, q, plan.epsilon) <= delta and hockey_stick(p, q, expected) > 100 * delta
    assert hockey_stick(p, q, refused) > 100 * delta  # the answer to a refused query
    assert refused < expected < plan.epsilon and 0.001 < answered < 0.01


# --- 7. order and beta picked on private votes ---------------------------------------------------


def test_ptr_order_and_limit_do_not_depend_on_votes():
    # 2018 (smooth_sensitivity_table): the order, and beta, that give the smallest figure on these
    # votes are taken, and their choice is not paid for
    n_queries, public = 100, {"n_teachers": 250, "n_classes": 2}
    table = rdp.margin_rdp(GNMax(40.0), rdp.DEFAULT_ORDERS, **public)

    def best_order(half_margin):
        return rdp.rdp_to_epsilon(n_queries * table[half_margin], 1e-5, rdp.DEFAULT_ORDERS)[1]

    # one teacher, who changes all half margins by 1, changes the published order for certain
    assert len({best_order(half_margin) for half_margin in range(40, 61)}) > 1
    # a fit: order and limit of its test and its stated cost are the same for all votes
    is_second = np.arange(400) % 2
    rows = np.column_stack([is_second, np.arange(400)]).astype(float)
    params = {"aggregator": GNMax(40.0), "n_queries": 400, "epsilon": 1.6, "accounting": "ptr"}
    statements = set()
    for half_margin in (124, 90):
        votes = 125 + np.outer(1 - 2 * is_second, [half_margin, -half_margin])
        clf = PATEClassifier(GaussianNB(), random_state=0, **params).fit_votes(votes, rows)
        test, spent = clf.curator_.test, clf.privacy_spent_
        statements.add((test.order, test.limit, spent.epsilon, spent.composition))
        assert test.pass_probability(votes) > 0.9
    assert len(statements) == 1


# --- 8. rounding in the accounting only ---------------------------------------------------------


def test_interactive_check_is_not_rounded(global_random_seed):
    # 2018: the largest of counts minus expectations is rounded, half to even, before its cost is
    # computed; the mechanism compares the number itself, and so rounded its sensitivity would be 2
    sigma = 0.6
    interactive = InteractiveGNMax(1, sigma1=sigma, sigma2=5.0, confidence=0.99)
    n_samples = 100_000
    for votes, p in (([5, 5], 0.45), ([6, 4], 0.45), ([7, 3], 0.45), ([5, 5], 0.43)):
        proba = [p, 1 - p]
        excess = max(votes[0] - 10 * p, votes[1] - 10 * (1 - p))
        fails = norm.cdf((1 - excess) / sigma)
        got = interactive.outcome_log_proba([votes], [proba])[0]
        assert math.exp(got[-1]) == pytest.approx(fails, rel=1e-9)
        rows = np.tile(votes, (n_samples, 1)), np.tile(proba, (n_samples, 1))
        _, paid = interactive.draw(*rows, random_state=global_random_seed)
        assert abs(1 - paid.mean() - fails) < 6 * math.sqrt(fails * (1 - fails) / n_samples)
        assert abs(norm.cdf((1 - round(excess)) / sigma) - fails) > 0.03


# --- 9. exp(gap) --------------------------------------------------------------------------------


def test_outcome_distribution_of_large_margins_does_not_overflow():
    # 2017 (`compute_q_noisy_max`): exp(gamma * gap), which overflows from 710 on
    for mechanism, tail in (
        (LNMax(1.0), lambda g: (2 + g) / 4 * mp.exp(-g)),
        (ExponentialNMax(1.0), lambda g: mp.exp(-g) / 2),
        (GNMax(1.0), lambda g: mp.ncdf(-g / mp.sqrt(2))),
    ):
        for margin in (1000, 30_000):
            got = mechanism.outcome_log_proba([[margin, 0]])[0, 1]
            with mp.workdps(40):
                assert got == pytest.approx(float(mp.log(tail(mp.mpf(margin)))), rel=1e-12)
    for votes in ([[10**6, 0, 0]], [[10**6, 10**6, 0]], [[10**9, 0]]):
        for bound in (rdp.lnmax_rdp, rdp.gnmax_rdp):
            cost = bound(votes, 1.0, rdp.DEFAULT_ORDERS)
            assert np.isfinite(cost).all() and (cost >= 0).all()


# 10 was permute-and-flip charged as the exponential mechanism (opendp 2911): test_rdp.py


# --- 11. seeds stored with the model -------------------------------------------------------------


VOTES = np.column_stack([np.full(60, 52), np.full(60, 48)])  # so close that noise decides
ROWS = np.column_stack([np.arange(60) % 2, np.arange(60)]).astype(float)
SEED = 987_654_321


def noisy(**params):
    return PATEClassifier(GaussianNB(), aggregator=GNMax(5.0), epsilon=None, n_queries=60, **params)


@pytest.mark.parametrize("seed", [SEED, np.random.RandomState(SEED)], ids=["int", "instance"])
def test_pickle_of_the_model_contains_no_seed(seed):
    # tinydp and kin: the generator, or its seed, is an attribute of the model and pickled with it
    clf = noisy(random_state=seed).fit_votes(VOTES, ROWS)
    content = pickle.dumps(clf)
    loaded = pickle.loads(content)
    assert loaded.random_state is None and clf.random_state is seed
    if seed is SEED:
        assert SEED.to_bytes(4, "little") in pickle.dumps(vars(loaded) | {"random_state": SEED})
        assert SEED.to_bytes(4, "little") not in content and str(SEED).encode() not in content
        # who has it subtracts the noise: the labels follow from the votes
        noise = np.random.default_rng(seed_streams(SEED)["noise"]).normal(scale=5.0, size=(60, 2))
        released = clf.public_labels_[clf.query_indices_]
        np.testing.assert_array_equal(released, (VOTES + noise).argmax(axis=1))
        assert 0 < clf.public_labels_.mean() < 1


def test_pickle_state_after_a_failed_student_contains_no_seed():
    clf = noisy(random_state=SEED, student=Unwilling())
    pytest.raises(StudentError, clf.fit_votes, VOTES, ROWS)
    state = clf.__getstate__()
    assert state["random_state"] is None and "curator_" not in state


def test_seed_streams_of_noise_and_queries_are_independent(monkeypatch):
    # The queried rows are published: drawn from the same source as the noise, they reveal it
    fixed = {use: np.random.SeedSequence(i) for i, use in enumerate(seed_streams(0))}

    def released(**fresh):
        monkeypatch.setattr(inputs, "seed_streams", lambda *_: fixed | fresh)
        clf = noisy().fit_votes(np.tile(VOTES, (3, 1)), np.tile(ROWS, (3, 1)))
        return clf.query_indices_.tolist(), clf.public_labels_[clf.query_indices_].tolist()

    queries, labels = released()
    assert released() == (queries, labels)
    for use in ("noise", "queries"):
        other = released(**{use: np.random.SeedSequence(99)})
        assert (other[0] != queries, other[1] != labels) == (use == "queries", use == "noise")


def test_seed_stream_of_the_private_test_is_separate(monkeypatch):
    sampled = []

    def passes(self, votes, random_state=None):
        sampled.append(np.random.default_rng(random_state).random())
        return True

    monkeypatch.setattr(ProposeTestRelease, "passes", passes)
    params = {"aggregator": GNMax(40.0), "n_queries": 60, "epsilon": 0.65, "accounting": "ptr"}
    clf = PATEClassifier(GaussianNB(), random_state=SEED, **params)
    clf.fit_votes(np.tile([[250, 0], [0, 250]], (30, 1)), ROWS)
    streams = seed_streams(SEED)
    matches = [use for use, s in streams.items() if np.random.default_rng(s).random() == sampled[0]]
    assert matches == ["test"]
