"""Query strategies: their choices, their inputs, and the cost of their rounds."""

import dataclasses
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from conftest import cases
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.metrics import pairwise_distances
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from sklearn_pate import PATEClassifier
from sklearn_pate.aggregators import (
    ConfidentGNMax,
    GNMax,
    InteractiveGNMax,
    PluralityVote,
    SoftVote,
    StableArgmax,
)
from sklearn_pate.encoding.targets import ClassTarget
from sklearn_pate.exceptions import StudentError, TeacherError
from sklearn_pate.queries import DiversityQueries, RandomQueries, UncertaintyQueries
from sklearn_pate.rdp import PrivacyBounds

X, Y = make_blobs(1500, centers=3, cluster_std=2.0, random_state=0)
X_PRIVATE, Y_PRIVATE, X_PUBLIC = X[:1000], Y[:1000], X[1000:1300]


def pate(**params):
    defaults = {"n_teachers": 20, "student": GaussianNB(), "aggregator": GNMax(5.0)}
    defaults |= {"n_queries": 40, "epsilon": None, "classes": [0, 1, 2], "random_state": 0}
    return PATEClassifier(DecisionTreeClassifier(), **(defaults | params))


def fitted(**params):
    return pate(**params).fit(X_PRIVATE, Y_PRIVATE, X_public=X_PUBLIC)


# --- each strategy alone -----------------------------------------------------------------------


def test_uncertainty_queries_start_at_random_and_repeat_no_row():
    strategy = UncertaintyQueries()
    first = [strategy.select(X_PUBLIC, 30, random_state=seed) for seed in (0, 0, 1)]
    assert np.array_equal(first[0], first[1]) and not np.array_equal(first[0], first[2])
    proba = np.random.default_rng(0).dirichlet(np.ones(3), size=300)
    labels = Y[1000:1300][first[0]]
    more = strategy.select(X_PUBLIC, 270, queried=first[0], labels=labels, student_proba=proba)
    assert sorted([*first[0], *more]) == list(range(300))


@given(st.integers(0, 10**6), st.integers(2, 6), st.integers(1, 20))
@settings(max_examples=50, deadline=None)
def test_uncertainty_queries_select_the_lowest_maximum_probability(seed, n_classes, n_queries):
    rng = np.random.default_rng(seed)
    proba, queried = rng.dirichlet(np.ones(n_classes), size=40), rng.permutation(40)[:15]
    shown = {"queried": queried, "labels": queried % 2, "student_proba": proba}
    rows = UncertaintyQueries().select(np.zeros((40, 1)), n_queries, **shown)
    rest = np.setdiff1d(np.arange(40), queried)
    assert np.array_equal(rows, rest[np.argsort(proba[rest].max(axis=1))][:n_queries])


@given(st.integers(0, 10**6), st.integers(1, 5))
@settings(max_examples=40, deadline=None)
def test_diversity_queries_cover_within_twice_the_optimum(seed, k):
    points = np.random.default_rng(seed).normal(size=(9, 2))
    distance = pairwise_distances(points)

    def radius(rows):
        return distance[:, list(rows)].min(axis=1).max()

    rows = DiversityQueries().select(points, k, random_state=seed)
    assert len(set(rows.tolist())) == k
    best = min(radius(chosen) for chosen in combinations(range(9), k))
    assert radius(rows) <= 2 * best + 1e-9


def test_diversity_queries_accept_rows_of_many_forms():
    assert sorted(DiversityQueries().select(np.zeros((6, 2)), 6)) == list(range(6))
    dense = np.random.default_rng(0).normal(size=(30, 8))
    forms = dense, sparse.csr_array(dense), dense.reshape(30, 2, 2, 2)
    chosen = [DiversityQueries().select(rows, 5, random_state=0).tolist() for rows in forms]
    assert chosen[0] == chosen[1] == chosen[2]
    text = pd.DataFrame({"a": list("xyzxyz")})
    pytest.raises(ValueError, DiversityQueries().select, text, 3).match("transformer")
    rows = DiversityQueries(OneHotEncoder()).select(text, 3)
    assert set(text["a"][rows]) == set("xyz")


class Spy(RandomQueries):
    """Random rounds that note their inputs."""

    uses_student_proba = True

    def __init__(self, n_rounds=4, seen=None):
        self.n_rounds, self.seen = n_rounds, seen

    def __sklearn_clone__(self):
        return self

    def select(self, X_public, n_queries, random_state=None, **shown):
        if self.seen is not None:
            self.seen.append((n_queries, shown))
        rest = np.setdiff1d(np.arange(len(X_public)), shown["queried"])
        return random_state.permutation(rest)[:n_queries]


# --- in rounds ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_rounds_receive_public_rows_and_released_labels_only():
    seen = []
    clf = fitted(query_strategy=Spy(4, seen), n_queries=42)
    dry_runs, seen = seen[:2], seen[2:]  # before teachers train, with made-up labels
    assert [n for n, _ in dry_runs] == [11, 11]
    assert dry_runs[1][1]["labels"].tolist() == [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1]
    assert [n for n, _ in seen] == [11, 11, 10, 10]
    assert seen[0][1]["student_proba"] is None and len(seen[0][1]["queried"]) == 0
    for k, (_, shown) in enumerate(seen[1:], 1):
        n_before = sum(n for n, _ in seen[:k])
        assert set(shown) == {"queried", "labels", "student_proba"}
        assert np.array_equal(shown["queried"], clf.query_indices_[:n_before])
        assert np.array_equal(shown["labels"], clf.public_labels_[shown["queried"]])
        student = GaussianNB().fit(X_PUBLIC[shown["queried"]], shown["labels"])
        np.testing.assert_allclose(shown["student_proba"], student.predict_proba(X_PUBLIC))
    assert len(set(clf.query_indices_)) == 42 == clf.privacy_spent_.n_queries
    # the votes of the curator are for the queried rows
    clf = fitted(query_strategy=Spy(4), aggregator=PluralityVote())
    labels = clf.public_labels_[clf.query_indices_]
    assert np.array_equal(clf.curator_.votes.argmax(axis=1), labels)
    # stages with a student in between
    stages = [ConfidentGNMax(0.5, 3.0, 3.0), InteractiveGNMax(0.5, 3.0, 3.0, confidence=0.9)]
    clf = fitted(aggregator=stages, n_queries=[20, 20], query_strategy=Spy(2, seen_in_stages := []))
    assert [n for n, _ in seen_in_stages[2:]] == [10] * 4 and len(set(clf.query_indices_)) == 40


def test_rounds_select_the_same_rows_for_votes_of_equal_plurality():
    # unanimous and narrow votes with the same plurality
    codes = Y[1000:1300]
    unanimous, narrow = 20 * np.eye(3, dtype=int)[codes], np.full((300, 3), 6)
    narrow[np.arange(300), codes] += 2
    clf = pate(query_strategy="uncertainty", aggregator=PluralityVote())
    first = clf.fit_votes(unanimous, X_PUBLIC).query_indices_
    assert np.array_equal(first, clf.fit_votes(narrow, X_PUBLIC).query_indices_)


@pytest.mark.slow
@pytest.mark.parametrize(
    "aggregator, n_queries, epsilon",
    [(GNMax(sigma=None), None, 5.0), ([GNMax(20.0), GNMax(10.0)], [30, 15], 10.0)],
    ids=str,
)
def test_rounds_cost_as_much_as_queries_at_once(aggregator, n_queries, epsilon):
    params = {"aggregator": aggregator, "n_queries": n_queries, "epsilon": epsilon}
    strategies = "random", Spy(5)
    at_once, rounds = (fitted(query_strategy=s, n_teachers=60, **params) for s in strategies)
    assert rounds.privacy_spent_ == at_once.privacy_spent_
    total = rounds.curator_.epsilon(bound="data_independent")
    assert total == pytest.approx(rounds.privacy_spent_.epsilon, rel=1e-9)
    assert 0 < rounds.curator_.epsilon() <= total * (1 + 1e-9)
    assert len(rounds.curator_.rdp()) == len(rounds.query_indices_)


@pytest.mark.slow
def test_rounds_stop_at_the_budget_of_a_filter():
    aggregator = ConfidentGNMax(0.6, sigma1=30.0, sigma2=10.0)
    params = {"aggregator": aggregator, "n_queries": 200, "epsilon": 6.0, "n_teachers": 50}
    with (
        pytest.warns(UserWarning, match="epsilon=6 pays for 111 answers to the 200 requested"),
        pytest.warns(UserWarning, match="epsilon=6 paid for .* of the 200 requested rows"),
    ):
        clf = fitted(query_strategy=Spy(8), **params)
    assert 0 < len(clf.query_indices_) < 200
    assert clf.privacy_spent_.composition == "filter" and clf.privacy_spent_.epsilon == 6.0
    assert (np.bincount(clf.query_indices_) <= 1).all()
    assert len(clf.curator_.votes) == len(clf.query_indices_)


@cases(
    "params, message",
    ({"aggregator": StableArgmax(1.0, max_unstable=1)}, "StableArgmax.*all queries at once"),
    ({"accounting": "ptr", "epsilon": 100.0}, "accounting='ptr' requires all queries at once"),
    ids=str,
)
@pytest.mark.filterwarnings("ignore:.*counts a query as stable")
def test_rounds_are_refused_before_training_where_impossible(params, message, monkeypatch):
    monkeypatch.setattr(DecisionTreeClassifier, "fit", lambda *args: 1 / 0)
    clf = pate(**{"query_strategy": "uncertainty", **params})
    with pytest.raises(ValueError, match=message) as caught:
        clf.fit(X_PRIVATE, Y_PRIVATE, X_public=X_PUBLIC)
    assert not isinstance(caught.value, TeacherError) and not hasattr(clf, "privacy_spent_")


class Broken(Spy):
    """Asks the same rows again, in the round after `healthy` ones."""

    def __init__(self, n_rounds=4, healthy=1):
        self.n_rounds, self.healthy, self.seen = n_rounds, healthy, None

    def select(self, X_public, n_queries, random_state=None, *, queried, **shown):
        if len(queried) >= 10 * self.healthy:
            return np.asarray(queried)[:n_queries]
        return super().select(X_public, n_queries, random_state, queried=queried, **shown)


def test_query_strategy_that_fails_midway_keeps_released_labels(monkeypatch):
    clf = pate(query_strategy=Broken(healthy=2))
    with pytest.raises(StudentError, match="query_strategy failed.*none queried before") as caught:
        clf.fit(X_PRIVATE, Y_PRIVATE, X_public=X_PUBLIC)
    assert (caught.value.public_labels >= 0).sum() == 20
    assert caught.value.privacy_spent.n_queries == 20 == len(clf.curator_.votes)
    assert clf.fit_student(X_PUBLIC, GaussianNB()).score(X[1300:], Y[1300:]) > 0.5
    # what fails with made-up labels fails before any teacher is trained
    monkeypatch.setattr(DecisionTreeClassifier, "fit", lambda *args: 1 / 0)
    clf = pate(query_strategy=Broken(healthy=1))
    with pytest.raises(ValueError, match="was trained. ValueError: .*with 0 such numbers"):
        clf.fit(X_PRIVATE, Y_PRIVATE, X_public=X_PUBLIC)
    assert not hasattr(clf, "privacy_spent_")


class ThreeForOne(GNMax):
    """A mechanism with a cost of a list of queries, but not of one query."""

    def bounds(self):
        one = GNMax(self.sigma)
        return PrivacyBounds(total=lambda orders: one.costs(orders)(1))


def test_rounds_refuse_a_cost_that_may_not_add_up():
    with pytest.raises(ValueError, match="ThreeForOne.*all queries at once"):
        fitted(query_strategy=Spy(), aggregator=ThreeForOne(5.0))


# --- votes that are used again -----------------------------------------------------------------


@pytest.mark.slow
@cases(
    "strategy, aggregator",
    ("random", GNMax(5.0)),
    ("uncertainty", SoftVote(5.0, temperature=2.0)),
    ("diversity", [SoftVote(5.0, temperature=2.0)]),
    ids=str,
)
def test_poll_and_fit_votes_equal_fit(strategy, aggregator):
    n_queries = [40] if isinstance(aggregator, list) else 40
    params = {"query_strategy": strategy, "aggregator": aggregator, "n_queries": n_queries}
    at_once = fitted(**params)
    votes = pate(**params).poll(X_PRIVATE, Y_PRIVATE, X_PUBLIC)
    later = pate(**params).fit_votes(votes, X_PUBLIC)
    for name in ("query_indices_", "public_labels_"):
        assert np.array_equal(getattr(later, name), getattr(at_once, name))
    for name in ("votes", "teacher_indices"):
        assert np.array_equal(getattr(later.curator_, name), getattr(at_once.curator_, name))
    assert later.privacy_spent_ == at_once.privacy_spent_
    assert np.array_equal(later.predict(X), at_once.predict(X))


def test_bare_votes_protect_one_teacher():
    counts = np.eye(3, dtype=np.int16)[Y[1000:1300]] * 20
    clf = pate(classes=None).fit_votes(counts, X_PUBLIC)  # no warning: columns are public
    assert clf.privacy_spent_.unit == "teacher" and clf.privacy_spent_.n_teachers == 20
    assert clf.classes_.tolist() == [0, 1, 2]
    named = pate(classes=["a", "b", "c"]).fit_votes(counts.tolist(), X_PUBLIC)
    assert named.classes_.tolist() == ["a", "b", "c"]
    with pytest.raises(
        ValueError, match="order the columns of votes"
    ):  # or columns would be swapped
        pate(classes=["c", "a", "b"]).fit_votes(counts, X_PUBLIC)


def test_fit_votes_refuses_votes_that_do_not_match():
    votes = pate().poll(X_PRIVATE, Y_PRIVATE, X_PUBLIC)
    soft = pate(aggregator=SoftVote(3.0)).poll(X_PRIVATE, Y_PRIVATE, X_PUBLIC)
    counts, warm = votes.counts, {"aggregator": SoftVote(3.0)}
    no_votes = "each row of votes must hold one vote of each teacher"
    for params, given_votes, message in (
        ({}, dataclasses.replace(votes, counts=2 * counts), no_votes),
        ({}, dataclasses.replace(votes, counts=counts[:, :2]), no_votes),
        (
            {},
            dataclasses.replace(votes, target=ClassTarget(range(4))),
            "for other classes than classes=",
        ),
        (warm, dataclasses.replace(soft, counts=2 * soft.counts), no_votes),
    ):
        clf = pate(**params)
        pytest.raises(ValueError, clf.fit_votes, given_votes, X_PUBLIC).match(message)
        assert not hasattr(clf, "privacy_spent_")
