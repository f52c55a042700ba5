"""The auditor: silent about private mechanisms, loud about others."""

import csv
import functools
import inspect
import itertools
import math
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import cases, histograms_of, sampled, table
from scipy.spatial.distance import cdist
from scipy.special import expit
from scipy.stats import binom
from sklearn.base import BaseEstimator
from sklearn.neighbors import KNeighborsClassifier

from sklearn_pate import PATEClassifier, PATERegressor
from sklearn_pate.aggregators import (
    Aggregator,
    ConfidentGNMax,
    ExponentialNMax,
    GNMax,
    ImmutableArgmax,
    InteractiveGNMax,
    LNMax,
    PluralityVote,
    SoftVote,
    StableArgmax,
)
from sklearn_pate.audit import (
    Canaries,
    audit_aggregator,
    audit_estimator,
    exact_epsilon,
    make_canaries,
    one_run_epsilon,
)
from sklearn_pate.audit.bounds import AuditedMechanism
from sklearn_pate.audit.query import plain_pairs, search
from sklearn_pate.rdp import (
    DEFAULT_ORDERS,
    data_independent_epsilon,
    gnmax_sigma,
    rdp_to_epsilon,
)


def test_audit_of_immutable_argmax_exceeds_its_claimed_epsilon():
    immutable = ImmutableArgmax(sigma=40.0)
    cost = immutable.claimed_rdp([[250, 0]], DEFAULT_ORDERS)[0]
    claimed = rdp_to_epsilon(cost, 1e-5, DEFAULT_ORDERS)[0]
    found = audit_aggregator(immutable, [125, 125], random_state=0)
    true, _ = data_independent_epsilon(immutable, 1, 1e-5, n_teachers=250, n_classes=2)
    assert claimed < 0.5 < 3 < found.epsilon <= true
    np.testing.assert_array_equal(found.votes, [125, 125])
    assert np.abs(found.votes - found.neighbour_votes).sum() == 2


def response(share, revealed=0.0):
    """Return randomised response that keeps the largest count, and sometimes returns it."""

    def sample(votes, rng):
        top, n = votes.argmax(axis=1), len(votes)
        noisy = np.where(rng.random(n) < share, top, 1 - top)
        return np.where(rng.random(n) < revealed, top + 2, noisy)

    return sample


def assert_seldom(wrong, chance):
    """So many are wrong by chance in more than one of 10 million runs."""
    assert binom.sf(np.sum(wrong) - 1, len(wrong), chance) > 1e-7


def test_audit_epsilon_reaches_most_of_a_known_loss(global_random_seed):
    found = audit_aggregator(response(0.75), [5, 6], random_state=global_random_seed)
    assert 0.95 * math.log(3) < found.epsilon <= math.log(3) and found.event in ((0,), (1,))


@pytest.mark.parametrize(("revealed", "delta"), [(0.0, 1e-12), (0.05, 0.05)])
def test_audit_epsilon_errs_as_rarely_as_claimed(revealed, delta, global_random_seed):
    """At the exact edge of a guarantee; finds bounds wrong in 0.36 of runs instead of 0.2."""
    given = {"delta": delta, "n_samples": 2000, "confidence": 0.8}
    seeds = 1000 * global_random_seed + np.arange(300)
    pair = [5, 6], [6, 5]
    audit = functools.partial(audit_aggregator, response(0.6, revealed), *pair, **given)
    bounds = np.array([audit(random_state=seed).epsilon for seed in seeds])
    assert_seldom(bounds > math.log(1.5), 0.2)
    exact = math.log(1.5) + math.log(1 - revealed)  # the rest of epsilon, for the other outcomes
    assert np.median(bounds) > exact - 0.25


# --- exact pairs and the search ----------------------------------------------------------------


def by_all_events(log_p, log_q, delta):
    """Epsilon of a pair from all its events, one by one."""
    p, q = np.exp(log_p), np.exp(log_q)
    worst = 0.0
    for size in range(1, len(p) + 1):
        for event in itertools.combinations(range(len(p)), size):
            for here, there in ((p, q), (q, p)):
                inside, outside = here[list(event)].sum() - delta, there[list(event)].sum()
                if inside > 1e-15:
                    worst = max(worst, math.log(inside / outside) if outside else math.inf)
    return worst


@pytest.mark.parametrize("delta", [0.0, 1e-5, 0.02])
@pytest.mark.parametrize(
    "mechanism",
    [LNMax(0.3), GNMax(5.0), ConfidentGNMax(9, sigma1=2.0, sigma2=3.0), ExponentialNMax(0.3)],
    ids=str,
)
def test_exact_epsilon_equals_the_worst_event(mechanism, delta):
    votes = np.random.default_rng(0).multinomial(15, [0.4, 0.4, 0.1, 0.1], size=8) + [0, 1, 0, 0]
    others = votes + [1, -1, 0, 0]
    pairs = np.stack([votes, others], axis=1)
    expected = [by_all_events(*mechanism.outcome_log_proba(pair), delta) for pair in pairs]
    found = exact_epsilon(mechanism, votes, others, delta)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)
    assert exact_epsilon(mechanism, votes[0], others[0], delta) == pytest.approx(found[0])


def test_exact_epsilon_falls_with_delta_and_stays_below_the_account():
    deltas = np.geomspace(1e-12, 0.1, 8)
    votes, others = [[20, 10], [29, 1]], [[19, 11], [30, 0]]
    public = {"n_teachers": 30, "n_classes": 2}
    for mechanism in (GNMax(5.0), LNMax(0.2), PluralityVote()):
        found = np.transpose([exact_epsilon(mechanism, votes, others, d) for d in deltas])
        assert found.shape == (2, 8) and (np.diff(found, axis=1) <= 1e-12).all()
        claimed = [data_independent_epsilon(mechanism, 1, d, **public)[0] for d in deltas]
        assert (found <= claimed).all()
    assert exact_epsilon(PluralityVote(), [15, 15], [14, 16]) == math.inf
    assert exact_epsilon(PluralityVote(), [20, 10], [19, 11], delta=0) == 0


def searched(mechanism, n_samples, **size):
    rng = np.random.default_rng(0)
    settings = {"delta": 1e-5, "n_samples": n_samples, "confidence": 1 - 1e-6}
    return search(AuditedMechanism(mechanism), plain_pairs(rng, **size), rng, **settings)


def every_pair(n_teachers, n_classes):
    rows = histograms_of(n_teachers, n_classes)
    pairs = [(v, w) for v in rows for w in rows if sum(map(abs, np.subtract(v, w))) == 2]
    return np.array(pairs).transpose(1, 0, 2)


@sampled()
@cases("mechanism", LNMax(0.3), GNMax(3.0), ConfidentGNMax(9, sigma1=2.0, sigma2=3.0), ids=str)
@pytest.mark.parametrize("size", [(40, 2), (12, 3)])
def test_search_finds_the_worst_of_all_pairs(mechanism, size):
    worst = exact_epsilon(mechanism, *every_pair(*size), 1e-5).max()
    found = searched(mechanism, 10**12, n_teachers=size[0], n_classes=size[1])
    assert exact_epsilon(mechanism, *found, 1e-5) >= 0.98 * worst
    assert found[0].sum() == size[0] and np.abs(found[0] - found[1]).sum() == 2


def test_search_by_samples_finds_a_leak():
    def leaks_at_one_tie(votes, rng):  # noise everywhere but between 12 and 13 votes
        noisy = votes[:, 0] + rng.normal(scale=5, size=len(votes))
        return np.where(votes[:, 0] == 12, 0, np.where(noisy > 10, 0, 1))

    found = audit_aggregator(leaks_at_one_tie, n_teachers=25, n_classes=2, random_state=0)
    assert found.epsilon > 1 and 12 in (found.votes[0], found.neighbour_votes[0])


# --- faults that the auditor must show ---------------------------------------------------------


INTERACTIVE = InteractiveGNMax(5, sigma1=4.0, sigma2=4.0, confidence=0.8)
#: Each with its arguments other than votes
EVERY = {
    "LNMax": (LNMax(0.3), {}),
    "LNMax, discrete": (LNMax(0.3, noise="discrete"), {}),
    "ExponentialNMax": (ExponentialNMax(0.3), {}),
    "GNMax": (GNMax(5.0), {}),
    "GNMax, discrete": (GNMax(5.0, noise="discrete"), {}),
    "ConfidentGNMax": (ConfidentGNMax(15, sigma1=4.0, sigma2=4.0), {}),
    "InteractiveGNMax": (INTERACTIVE, {"student_proba": [0.6, 0.4]}),
    "InteractiveGNMax, sure": (INTERACTIVE, {"student_proba": [0.9, 0.1]}),
    "SoftVote": (SoftVote(5.0), {}),
    "ImmutableArgmax": (ImmutableArgmax(gamma=1.0), {}),
    "PluralityVote": (PluralityVote(), {}),
}


@pytest.mark.parametrize("name", EVERY)
def test_audit_of_each_aggregator_stays_below_its_claim(name, global_random_seed):
    mechanism, student = EVERY[name]
    given = student | {"random_state": global_random_seed, "confidence": 1 - 1e-9}
    given["n_samples"] = 1000 if "discrete" in name or "SoftVote" in name else 5000
    pairs = [([top, 30 - top], [top - 1, 31 - top]) for top in (15, 20)]
    if not student:
        pairs.append(([10, 10, 10], [9, 11, 10]))
    for votes, neighbour in pairs:
        public = {"n_teachers": 30, "n_classes": len(votes)}
        claimed, _ = data_independent_epsilon(mechanism, 1, 1e-5, **public)
        found = audit_aggregator(mechanism, votes, neighbour, **given)
        assert 0 <= found.epsilon <= claimed


def test_audit_refuses_queries_that_share_noise():
    with pytest.raises(ValueError, match="share noise"):
        audit_aggregator(StableArgmax(run_epsilon=1.0), [20, 10])


def test_audit_accepts_outcomes_that_are_no_classes():
    def far_out(votes, rng):
        return np.where(votes[:, 0] > 5, 7, 3) + rng.integers(2, size=len(votes))

    found = audit_aggregator(far_out, [5, 6], [6, 5], random_state=0)
    assert found.epsilon > 8 and found.event in ((3, 4), (7, 8))
    with pytest.raises(ValueError, match="must return [0-9]+ whole numbers"):
        audit_aggregator(lambda votes, rng: votes[:, 0] / 2, [5, 6], [6, 5])


# --- mechanisms that sample something else than they state -------------------------------------


class States(Aggregator):
    """States GNMax(40), and samples by a function of votes and a generator."""

    def __init__(self, sample):
        self.sample = sample

    def outcome_log_proba(self, votes, student_proba=None):
        return GNMax(40.0).outcome_log_proba(votes)

    def aggregate(self, votes, student_proba=None, random_state=None):
        return self.sample(np.asarray(votes), np.random.default_rng(random_state))


def liar(sigma=0.0, where=None, share=1.0):
    """Return a mechanism with noise of `sigma` where `where` holds, with a probability."""

    def sample(votes, rng):
        lies = np.ones(len(votes), dtype=bool) if where is None else where(votes)
        lies = lies & (rng.random(len(votes)) < share)
        scale = np.where(lies, sigma, 40.0)
        return (votes + scale[:, None] * rng.normal(size=votes.shape)).argmax(axis=1)

    return States(sample)


def lead(votes):
    return np.diff(np.sort(votes, axis=1)[:, -2:])[:, 0]


@cases(
    "sampler, n_teachers, n_classes, least, most, lies",
    (liar(0.0), 10, 2, 8, math.inf, True),
    (liar(0.0), 10, 3, 8, math.inf, True),
    (liar(1.0), 250, 10, 2.5, math.inf, True),
    (liar(0.0, lambda votes: lead(votes) > 1), 250, 3, 6, math.inf, True),
    (liar(0.0, lambda votes: lead(votes) <= 1), 250, 3, 6, math.inf, True),
    (liar(0.0, lambda votes: votes.max(axis=1) < votes.sum(axis=1)), 250, 2, 6, math.inf, True),
    (liar(0.0, lambda votes: votes[:, 0] == votes.sum(axis=1)), 100, 2, 6, math.inf, True),
    (liar(20.0), 10, 2, -1, 0.22, True),  # little leaks, which contradicts the statement
    (liar(20.0), 250, 3, -1, 0.22, True),
    (liar(40.0), 250, 3, -1, 0.11, False),  # the truth
)
def test_audit_contradicts_a_sampler_without_the_stated_noise(
    sampler, n_teachers, n_classes, least, most, lies, global_random_seed
):
    given = {"n_teachers": n_teachers, "n_classes": n_classes, "random_state": global_random_seed}
    found = audit_aggregator(sampler, **given)
    assert least < found.epsilon < most and found.contradicts is lies
    assert f"contradicts={lies}" in repr(found)


def test_audit_contradicts_wrong_samples_of_a_given_pair():
    pair = [150, 100], [149, 101]
    for mechanism, contradicts in (
        (liar(36.0), True),
        (liar(0.0, share=0.05), True),
        (GNMax(40.0), False),
        (liar(0.0, share=0.05).sample, None),  # states nothing
        (SoftVote(5.0), None),  # continuous: nothing to compare with
    ):
        n_samples = 1000 if contradicts is None else 200_000
        found = audit_aggregator(mechanism, *pair, n_samples=n_samples, random_state=0)
        assert found.contradicts is contradicts


@pytest.mark.parametrize("other", [2, -1])  # no class, and "no answer", which GNMax never gives
def test_audit_contradicts_outcomes_that_are_not_stated(other):
    def sample(votes, rng):
        labels = GNMax(40.0).aggregate(votes, random_state=rng)
        return np.where(rng.random(len(labels)) < 0.01, other, labels)

    found = audit_aggregator(States(sample), [13, 12], [12, 13], n_samples=1000, random_state=0)
    assert found.contradicts is True and found.epsilon < 0.1


@pytest.mark.slow
@cases(
    "votes",
    {"n_teachers": 30, "n_classes": 2},
    {"votes": [14, 13, 3], "neighbour_votes": [13, 14, 3]},
    ids=["searched", "pair"],
)
def test_audit_contradicts_true_statements_as_rarely_as_claimed(votes, global_random_seed):
    """Finds alarms in 0.6 of runs instead of 0.2."""
    seeds = 1000 * global_random_seed + np.arange(60)
    given = {"n_samples": 8000, "confidence": 0.8}
    found = [audit_aggregator(GNMax(5.0), **votes, random_state=s, **given) for s in seeds]
    assert_seldom([f.contradicts for f in found], 0.2)


@pytest.mark.slow
def test_audit_epsilon_of_a_wrong_sampler_errs_as_rarely_as_claimed(global_random_seed):
    """Finds bounds wrong in 0.6 of runs instead of 0.2."""
    given = {"delta": 1e-12, "n_samples": 3000, "confidence": 0.8, "n_teachers": 11, "n_classes": 2}
    seeds, liar_ = 1000 * global_random_seed + np.arange(60), States(response(0.75))
    found = [audit_aggregator(liar_, random_state=seed, **given) for seed in seeds]
    bounds = np.array([f.epsilon for f in found])
    assert all(f.contradicts for f in found)
    assert_seldom(bounds > math.log(3), 0.2)
    assert np.median(bounds) > 0.8


def test_audit_searches_pairs_by_a_true_statement():
    size = {"n_teachers": 250, "n_classes": 3}
    found = audit_aggregator(GNMax(40.0), **size, n_samples=20_000, random_state=0)
    pair = searched(GNMax(40.0), 20_000, **size)
    np.testing.assert_array_equal([found.votes, found.neighbour_votes], pair)
    few = audit_aggregator(GNMax(40.0), **size, n_samples=100, random_state=0)
    assert few.epsilon == 0 and few.contradicts is False  # too few to look elsewhere


# --- one-run audits ----------------------------------------------------------------------------


def test_one_run_epsilon_without_delta_equals_the_binomial_bound():
    for n in (5, 23, 200):
        q = 0.001 ** (1 / n)
        expected = max(math.log(q / (1 - q)), 0)
        assert one_run_epsilon(n, n, n, delta=0) == pytest.approx(expected, abs=1e-9)
    assert one_run_epsilon(0, 10, 10, delta=0) == 0
    assert one_run_epsilon(40, 40, 40, delta=0) > one_run_epsilon(40, 40, 40, delta=1e-4)
    assert one_run_epsilon(40, 40, 400, delta=1e-4) < one_run_epsilon(40, 40, 40, delta=1e-4)


@sampled(2)
@pytest.mark.parametrize("delta", [0.0, 1e-3, 0.02])
@pytest.mark.parametrize("confidence", [0.8, 0.99])
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_one_run_epsilon_errs_as_rarely_as_claimed(epsilon, confidence, delta):
    # each bit by randomised response, revealed with probability delta: exact probabilities
    n, q = 25, delta + (1 - delta) / (1 + math.exp(-epsilon))
    bounds = np.array([one_run_epsilon(v, n, n, delta, confidence) for v in range(n + 1)])
    assert (np.diff(bounds) >= 0).all()
    wrong = bounds > epsilon
    assert binom.pmf(np.arange(n + 1), n, q)[wrong].sum() <= 1 - confidence
    # all bits revealed together with probability delta
    q = 1 / (1 + math.exp(-epsilon))
    chance = (1 - delta) * binom.pmf(np.arange(n + 1), n, q)
    chance[-1] += delta
    assert chance[wrong].sum() <= 1 - confidence


class Response(BaseEstimator):
    """Releases the private label of every public row, each by randomised response."""

    delta = 1e-6

    def __init__(self, epsilon, random_state=None):
        self.epsilon, self.random_state = epsilon, random_state

    def fit(self, X, y, X_public):
        own = dict(zip(X[:, 0], y, strict=True))
        labels = np.array([own.get(row[0], 0) for row in X_public])
        rng = np.random.default_rng(self.random_state)
        is_true = rng.random(len(labels)) <= expit(self.epsilon)
        self.classes_ = np.array([0, 1])
        self.public_labels_ = np.where(is_true, labels, 1 - labels)
        self._seen = dict(zip(X_public[:, 0], self.public_labels_, strict=True))
        return self

    def predict(self, X):
        return np.array([self._seen[row[0]] for row in X])


IDS = np.arange(600.0)[:, None]
BITS = np.arange(600) % 2


@pytest.mark.parametrize("attack", ["labels", "student"])
@pytest.mark.parametrize("canaries", ["mislabelled", "out_of_distribution"])
def test_audit_estimator_nearly_reaches_a_known_epsilon(canaries, attack):
    for runs, m in ((1, 500), (10, 50)):
        given = {"canaries": canaries, "attack": attack, "n_runs": runs, "random_state": 1}
        found = audit_estimator(Response(2.0), IDS, BITS, None, m, claimed=2.0, **given)
        assert found.n_canaries == found.n_guesses == 500 and found.n_runs == runs
        assert 1.3 < found.epsilon <= 2.0 and not found.refuted
    assert audit_estimator(Response(9.0), IDS, BITS, None, 300, claimed=2.0).refuted


@pytest.mark.slow
def test_audit_estimator_errs_as_rarely_as_claimed(global_random_seed):
    """Finds bounds wrong in 0.6 of runs instead of 0.2."""
    given = {"n_canaries": 60, "confidence": 0.8}
    seeds = 1000 * global_random_seed + np.arange(60)
    data = IDS[:100], BITS[:100], None
    found = [audit_estimator(Response(1.0), *data, random_state=seed, **given) for seed in seeds]
    assert_seldom([f.epsilon > 1.0 for f in found], 0.2)


def test_audit_estimator_annotates_attack_as_it_calls_it():
    annotation = inspect.signature(audit_estimator).parameters["attack"].annotation
    assert annotation.endswith("| Callable[[Any], ArrayLike]")
    noted = []
    noting = functools.partial(note_arguments, noted)
    audit_estimator(Response(1.0), IDS[:100], BITS[:100], attack=noting, random_state=0)
    assert noted == [1]


def note_arguments(noted, *args):
    """An attack that guesses nothing, and notes the number of its arguments."""
    noted.append(len(args))
    return np.zeros(30)


def test_audit_estimator_with_n_guesses_counts_the_best_guesses():
    def knows_some(fitted):  # sure and right about the first 50, else nothing
        return np.where(np.arange(200) < 50, 1 - 2.0 * fitted.public_labels_[-200:], 0.0)

    canaries = Canaries(np.arange(200), IDS[:200], np.tile([0, 1], (200, 1)))
    given = {"canaries": canaries, "attack": knows_some, "random_state": 0}
    some = audit_estimator(Response(30.0), IDS, BITS, n_guesses=50, **given)
    assert (some.n_right, some.n_guesses, some.n_canaries) == (50, 50, 200)
    every = audit_estimator(Response(30.0), IDS, BITS, **given)
    assert every.n_guesses == 200 and every.epsilon < some.epsilon


def assigned(y, n_teachers, random_state):
    order = np.random.default_rng(random_state).permutation(len(y))
    return [order[k::n_teachers] for k in range(n_teachers)]


def everyone(y, n_teachers, random_state):
    return [np.arange(len(y))] * n_teachers


@functools.cache
def sigma_due(n_teachers, n_queries):
    return gnmax_sigma(1.0, 1e-5, n_queries, n_teachers=n_teachers, n_classes=2)


class Votes(BaseEstimator):
    """Votes of 1-nearest neighbours, each taught by a part, with a multiple of the noise due."""

    def __init__(self, n_teachers, parts=assigned, noise=1.0, random_state=None):
        self.n_teachers, self.parts, self.noise = n_teachers, parts, noise
        self.random_state = random_state

    def fit(self, X, y, X_public):
        votes = np.zeros((len(X_public), 2), dtype=int)
        for part in self.parts(y, self.n_teachers, self.random_state):
            nearest = cdist(X_public, X[part]).argmin(axis=1)
            votes[np.arange(len(votes)), y[part][nearest]] += 1
        noisy = GNMax(sigma_due(self.n_teachers, len(votes)) * self.noise)
        self.public_labels_ = noisy.aggregate(votes, random_state=self.random_state)
        self.classes_ = np.array([0, 1])
        return self


CLAIM = {"claimed": 1.0, "delta": 1e-5}


@pytest.mark.slow
def test_audit_estimator_refutes_overlapping_partitions_in_one_run():
    X = np.random.default_rng(0).normal(size=(300, 3))
    y = (X[:, 0] > 0).astype(int)
    for canaries in ("mislabelled", "out_of_distribution"):
        given = {"canaries": canaries, "random_state": 1, **CLAIM}
        assert audit_estimator(Votes(200, everyone), X, y, **given).refuted
    clf = PATEClassifier(KNeighborsClassifier(1), classes=[0, 1], n_teachers=50, n_queries=30)
    found = audit_estimator(clf, X, y, **given)
    assert found.epsilon < 0.5 and not found.refuted


@pytest.mark.slow
def test_audit_estimator_refutes_a_tenth_of_the_noise_in_forty_runs():
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = (X[:, 0] > 0).astype(int)
    # one teacher, one query: the canary decides it, and noise as accounted for is tight
    given = {"n_runs": 40, "n_canaries": 1, "canaries": "out_of_distribution", "random_state": 0}
    assert audit_estimator(Votes(1, noise=0.1), X, y, **given, **CLAIM).refuted
    assert not audit_estimator(Votes(1), X, y, **given, **CLAIM).refuted


@cases("kind", "mislabelled", "out_of_distribution")
def test_canaries_have_the_types_of_a_table(kind):
    columns = {"age": np.arange(20, dtype=np.int32), "share": np.linspace(0, 1, 20)}
    columns["job"] = pd.Categorical(["a", "b"] * 10)
    table = pd.DataFrame(columns, index=[f"r{k}" for k in range(20)])
    y = np.array(["no", "yes"] * 10)
    canaries = make_canaries(table, y, 5, kind, random_state=0)
    assert canaries.X.dtypes.equals(table.dtypes)
    assert (canaries.labels[:, 0] != canaries.labels[:, 1]).all()
    far = (canaries.X["share"] < 0) | (canaries.X["share"] > 1)
    assert far.all() == (kind == "out_of_distribution")

    class Looks(Response):
        classes_ = np.array(["no", "yes"])
        public_labels_ = np.zeros(10, int)

        def fit(self, X, labels, X_public):
            assert X.index.equals(table.index) and X.dtypes.equals(table.dtypes)
            assert len(X_public) == 10 and X_public.dtypes.equals(table.dtypes)
            changed = np.flatnonzero((X.to_numpy() != table.to_numpy()).any(axis=1))
            assert set(changed) | set(np.flatnonzero(labels != y)) <= set(canaries.positions)
            return self

    audit_estimator(Looks(1.0), table, y, canaries=canaries, n_copies=2, n_runs=2)


@pytest.mark.slow
def test_audit_estimator_handles_groups_and_seeds():
    X = np.random.default_rng(0).normal(size=(500, 2))
    y = (X[:, 0] > 0).astype(int)
    given = {"n_teachers": 60, "unit": "group", "n_queries": 10, "random_state": 3}
    clf = PATEClassifier(KNeighborsClassifier(1), classes=[0, 1], **given)
    given = {"fit_params": {"groups": np.arange(500) // 2}, "n_canaries": 10, "random_state": 0}
    one, two = (audit_estimator(clf, X, y, **given) for _ in range(2))
    assert one == two and one.claimed == pytest.approx(1.0, abs=1e-3) and one.delta == 1e-5
    seeds = []

    class Seeded(Response):
        def set_params(self, random_state):
            self.random_state = random_state
            seeds.append(random_state)

    audit_estimator(Seeded(1.0, 3), IDS, BITS, n_runs=3, random_state=0)
    assert len(set(seeds)) == 3 and 3 not in seeds
    audit_estimator(Seeded(1.0, 3), IDS, BITS)
    assert seeds[-1] is None


ONE = np.ones((2, 2), int)


@cases(
    "given, match",
    ({"n_runs": 0}, "n_runs must be a whole number, at least 1; got 0"),
    ({"attack": "guess"}, 'attack must be "labels", "class_proba", "student" or a function'),
    ({"n_copies": 0}, "require n_copies of at least 1"),
    ({"n_guesses": 31}, "from 1 to 30, the number of canaries in all runs; got 31"),
    ({"canaries": "yellow"}, 'kind must be "mislabelled" or "out_of_distribution"'),
    ({"n_canaries": 601}, "n_canaries must be a whole number from 1 to 600, the number of rec"),
    ({"attack": lambda fitted: np.zeros(2)}, "must return 30 numbers"),
    ({"canaries": Canaries(ONE[:, 0] * [3, 3], IDS[:2], ONE * [0, 1])}, "different positions from"),
    (
        {"canaries": Canaries(np.array([3]), IDS[:1], ONE[:1])},
        "two different labels .* and one row",
    ),
)
def test_audit_estimator_refuses_wrong_arguments(given, match):
    pytest.raises(ValueError, audit_estimator, Response(1.0), IDS, BITS, **given).match(match)


@cases("kind", "mislabelled", "out_of_distribution")
def test_canaries_of_several_targets_differ_in_all_of_them(kind):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), rng.integers(3, size=(40, 2))
    of_numbers = make_canaries(X, y, 30, kind, random_state=1).labels
    assert of_numbers.shape == (30, 2, 2) and of_numbers.dtype == y.dtype
    assert (of_numbers[:, 0] != of_numbers[:, 1]).all()
    mixed = np.column_stack([y[:, 0], np.array(["a", "b", "c"])[y[:, 1]]]).astype(object)
    mixed[:, 0] = y[:, 0]
    classes = [[0, 1, 2], ["a", "b", "c", "d"]]
    canaries = make_canaries(X, mixed, 30, kind, classes=classes, random_state=1)
    assert (canaries.labels[:, 0] != canaries.labels[:, 1]).all()
    assert {type(label) for label in canaries.labels[:, :, 0].ravel()} == {int}
    if kind == "mislabelled":
        assert (canaries.labels[:, 1] == mixed[canaries.positions]).all()
    with pytest.raises(ValueError, match="for several targets, of each"):
        audit_estimator(PATEClassifier(), X, y[:, 0], canaries=canaries)


def test_audit_functions_require_delta_and_ordered_numbers():
    with pytest.raises(ValueError, match=r"delta must be a number in \[0, 1\); got None"):
        audit_estimator(KNeighborsClassifier(), IDS, BITS)
    for numbers in ((5, 4, 10), (3, 11, 10), (-1, 4, 10), (2.5, 4, 10)):
        with pytest.raises(ValueError, match="n_right <= n_guesses <= n_canaries"):
            one_run_epsilon(*numbers, delta=0)


def test_audit_aggregator_refuses_wrong_sizes_and_pairs():
    with pytest.raises(ValueError, match="without votes, pass n_teachers and n_classes"):
        audit_aggregator(GNMax(), n_teachers=3)
    with pytest.raises(ValueError, match="n_classes must be a whole number, at least 2; got 1"):
        audit_aggregator(GNMax(), n_teachers=3, n_classes=1)
    pytest.raises(ValueError, exact_epsilon, GNMax(), [3, 1], [1, 3]).match("one vote moved")


class NeverFitted(KNeighborsClassifier):
    """Fails if an audit fits it: the fault must be found before."""

    def fit(self, X, y):
        raise AssertionError("it was fitted")


@table(
    "estimator, labels, params, message",
    {
        "class probabilities of teachers": (
            PATEClassifier(NeverFitted(), classes=[0, 1]),
            BITS,
            {"attack": "class_proba"},
            "the estimator releases labels",
        ),
        "numbers without bounds": (PATERegressor(), BITS, {}, "bounds is None: give"),
        "three axes": (
            PATEClassifier(classes=[0, 1]),
            IDS[:, :, None],
            {},
            "y must be a 1-D array",
        ),
        "no delta": (NeverFitted(), BITS, {}, "None, and NeverFitted has no delta to use instead"),
    },
)
def test_audit_estimator_refuses_impossible_audits_before_a_fit(estimator, labels, params, message):
    with pytest.raises(ValueError, match=message):
        audit_estimator(estimator, IDS, labels, **params)


def test_audit_estimator_refuses_a_class():
    with pytest.raises(TypeError, match=r"PATEClassifier\(\); got the class"):
        audit_estimator(PATEClassifier, IDS, BITS)


def test_table_of_faults_names_planted_faults():
    root = Path(__file__).parents[1]
    planted = tomllib.loads((root / "tests" / "faults.toml").read_text())["fault"]
    text = (root / "docs" / "results" / "audit_faults.csv").read_text().splitlines()
    rows = list(csv.DictReader(line for line in text if not line.startswith("#")))
    names = [row["fault"] for row in rows]
    assert len(names) == len(set(names)) and set(names) <= {fault["name"] for fault in planted}
    assert {row["found by"] for row in rows} <= {"enumeration", "audit", "sum", "source"}
    # A fault in a noisy statistic, and not in the sum of costs, has an enumeration or an audit
    of_noise = ("aggregators/", "class_sums/", "schema_release/counts.py", "neighbors/")
    paths = {fault["name"]: fault["path"] for fault in planted}
    found = {row["fault"]: row["found by"] for row in rows}
    for name, path in paths.items():
        if path.startswith(of_noise) and name != "schema-thresholds-without-delta":
            assert found[name] in ("enumeration", "audit"), name
