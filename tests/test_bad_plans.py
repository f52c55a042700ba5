"""Budgets that would be spent for nothing: told by a plan, refused by a fit."""

import warnings
from functools import partial

import numpy as np
import pytest
from conftest import table
from sklearn.datasets import load_breast_cancer
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from sklearn_pate import PATEClassifier
from sklearn_pate.aggregators import GNMax
from sklearn_pate.exceptions import BadPlanError
from sklearn_pate.neighbors import ReleasedTable, ReverseNeighbors
from sklearn_pate.neighbors.cells import explained_share

DATA, LABELS = load_breast_cancer(return_X_y=True)
ORDER = np.random.default_rng(0).permutation(len(LABELS))
X, Y = DATA[ORDER[:350]], LABELS[ORDER[:350]]
PUBLIC = DATA[ORDER[350:]]


def pate(base_estimator=None, **params):
    return PATEClassifier(base_estimator, **({"classes": [0, 1]} | params))


EQUAL = np.tile(PUBLIC[:1], (100, 1))
ALL_EQUAL = "rows of X_public are all equal"
NOISY = {"n_teachers": 5, "aggregator": GNMax(100.0), "n_queries": 50}
HOPELESS = {
    "noise": (pate(epsilon=0.01), X[:100], PUBLIC, "the noise drowns the ballots"),
    "three rows": (pate(), X, PUBLIC[:3], "X_public has 3 rows"),
    "equal rows": (pate(), X, EQUAL, "1 of them different"),
    "equal, teachers": (pate(GaussianNB(), n_teachers=20), X, EQUAL, ALL_EQUAL),
    "noise of teachers": (pate(GaussianNB(), **NOISY), X, PUBLIC, "drowns the votes"),
}


@pytest.mark.filterwarnings("ignore")
@table("clf, private, public, words", HOPELESS)
def test_a_fit_refuses_what_cannot_work_and_a_plan_tells(clf, private, public, words, tmp_path):
    labels = Y[: len(private)]
    plan = clf.plan(private, labels, X_public=public)
    assert any(words in text for text in plan.obstacles) and words in " ".join(plan.advice)
    assert "! fit refuses: " in str(plan)
    votes = clf.poll(private, labels, X_public=public)
    fit = partial(clf.fit, private, labels, public)
    for act in (fit, partial(clf.fit_votes, votes, public)):
        with pytest.raises(BadPlanError, match="this cannot work: ") as caught:
            act()
        assert words in str(caught.value) or ALL_EQUAL in str(caught.value)
        assert caught.value.plan.epsilon == plan.epsilon
    assert not hasattr(clf, "privacy_spent_")
    insists = pate(**(clf.get_params(deep=False) | {"on_bad_plan": "warn"}))
    with pytest.warns(UserWarning, match=words):
        insists.fit(private, labels, X_public=public)
    assert insists.privacy_spent_.epsilon > 0


def test_what_works_is_not_refused():
    assert pate().plan(X, Y, X_public=PUBLIC).obstacles == ()
    assert pate(GaussianNB(), n_teachers=40, epsilon=2).fit(X, Y, PUBLIC).n_teachers_ == 40


# --- how much the cells tell ---------------------------------------------------------------------


@pytest.mark.parametrize("n_columns, low, high", [(2, 0.9, 1), (10, 0.3, 0.8), (200, 0, 0.05)])
def test_what_cells_explain_falls_with_independent_columns(n_columns, low, high):
    public = np.random.default_rng(0).normal(size=(3000, n_columns))
    assert low <= explained_share(public, 100, 0) <= high
    assert explained_share(np.ones((50, n_columns)), 10, 0) == 0


def test_many_columns_that_say_a_little_each_are_told_of():
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(9000, 200))
    slopes = 4 * rng.normal(size=200) / np.sqrt(200)
    labels = (rng.random(9000) < 1 / (1 + np.exp(-wide @ slopes))).astype(int)
    clf = pate(ReverseNeighbors())
    plan = clf.plan(wide[:6000], labels[:6000], X_public=wide[6000:])
    assert plan.voters.cells.explained < 0.05 and "a coin flip is likely" in plan.advice[0]
    assert "cells tell" in str(plan)
    with pytest.warns(UserWarning, match="a coin flip is likely"):
        clf.fit(wide[:6000], labels[:6000], X_public=wide[6000:])


def test_a_table_that_tells_nothing_is_told_of():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(5000, 4))
    coins, labels = rng.integers(2, size=5000), (rows[:, 0] > 0).astype(int)
    clf = pate(random_state=1)  # for some seeds coins look as if they told a little
    with pytest.warns(UserWarning, match="little better than a coin flip"):
        clf.fit(rows[:4000], coins[:4000], X_public=rows[4000:])
    assert clf.table_.surface.gain < 3
    clf.fit(rows[:4000], labels[:4000], X_public=rows[4000:])  # without a warning
    assert clf.table_.surface.gain > 50  # about 750, give or take 30


# --- what was paid for is not lost ---------------------------------------------------------------


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_cells_of_unrelated_truth_values_explain_nothing(share):
    rows = (np.random.default_rng(0).random((1000, 100)) < share).astype(float)
    assert explained_share(rows, 1, 0) < 0.01 and explained_share(rows, 100, 0) < 0.05


def test_warnings_that_are_errors_lose_no_model(monkeypatch):
    monkeypatch.setattr(ReleasedTable, "is_flat", True)
    clf = pate()
    is_told = pytest.raises(UserWarning, match="little better than a coin flip")
    with warnings.catch_warnings(action="error"), is_told:
        clf.fit(X, Y, X_public=PUBLIC)
    assert clf.predict(PUBLIC).shape == (219,)


def test_a_student_that_learns_from_one_class_is_told_of_too():
    clf = pate(GaussianNB(), n_teachers=20, epsilon=20, n_queries=30)
    clf.student = DecisionTreeClassifier()
    with pytest.warns(UserWarning, match="30 released labels are of one class, .* predicts. A"):
        clf.fit(X, 0 * Y, X_public=PUBLIC)
    assert isinstance(clf.student_, DecisionTreeClassifier)
