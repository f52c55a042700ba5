"""Statements on privacy hold: summaries, dicts, cards, exports and errors."""

import json
import pickle

import numpy as np
import pytest
from conftest import table
from faulty import RaisesIt
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.naive_bayes import GaussianNB

from sklearn_pate import PATEClassifier, PrivacySpent
from sklearn_pate.aggregators import GNMax, ImmutableArgmax
from sklearn_pate.exceptions import BadPlanError, StudentError
from sklearn_pate.methods import ReverseNeighbors
from sklearn_pate.methods.sums import ClassSums
from sklearn_pate.model_selection import PrivateGridSearchCV
from sklearn_pate.releases.table import TableRelease
from sklearn_pate.report.formats import text_rounded_up
from sklearn_pate.synthesis import MarginalSynthesizer, Schema

ROWS = np.random.default_rng(0).normal(size=(900, 2))
X, X_PUBLIC = ROWS[:600], ROWS[600:].copy()
Y = (X[:, 0] > 0).astype(int)
KNOWN = {"bounds": (-3, 3), "missing": [], "n_rows": 200}
LEAKS = pytest.mark.filterwarnings("ignore::sklearn_pate.exceptions.PrivacyLeakWarning")


@pytest.fixture(autouse=True)
def few_are_scored(monkeypatch):
    monkeypatch.setattr("sklearn_pate.model_selection.trials.MOST_SCORED", 10)


def pate(base=None, **params):
    given = {"epsilon": 20.0, "classes": [0, 1], "student": GaussianNB()}
    return PATEClassifier(base, **(given | params))


def synthetic(**params):
    """Records that vote on rows that a synthesizer draws."""
    return pate(method=ReverseNeighbors(), synthesizer=MarginalSynthesizer(**KNOWN), **params)


# --- what private data shaped without a mechanism ------------------------------------------------


def check_stated_first(spent, words):
    assert any(words in part for part in spent.not_covered)
    assert spent.summary().startswith("Not covered by this guarantee: ")
    assert words in spent.summary().partition(". ")[0]
    assert any(words in part for part in json.loads(spent.to_json())["not_covered"])
    assert words in spent._repr_html_().partition("in words")[0]


def without_a_limit():
    """Return a classifier that reads the classes, as it has no epsilon to find them with."""
    noise = {"aggregator": GNMax(4.0), "epsilon": None}
    return pate(GaussianNB(), classes=None, n_teachers=20, n_queries=10, **noise)


def votes_without_classes():
    clf = without_a_limit()
    votes = clf.poll(X, Y, X[:300])
    with pytest.raises(BadPlanError, match="X_public is X or a part of it"):
        clf.fit_votes(votes, X[:300])
    clf.set_params(on_bad_plan="warn").fit_votes(votes, X[:300])
    assert any("private rows, which were given" in s for s in clf.privacy_spent_.not_covered)
    return clf


def search_of(clf):
    return PrivateGridSearchCV(clf, {"method__n_neighbors": [1]}, epsilon=20.0, n_trials=2)


def with_a_caveat():
    params = {"n_teachers": 20, "n_queries": 5, "epsilon": None}
    return pate(GaussianNB(), aggregator=ImmutableArgmax(10.0, gamma=0.1), **params)


def of_private_validation_rows():
    given = {"X_public": X_PUBLIC, "X_val": X[:50], "y_val": Y[:50]}
    return search_of(pate(method=ReverseNeighbors())).fit(X, Y, **given)


AS_PUBLIC = "private rows, which were given as X_public"
CLASSES = "classes_, read from the private labels"
#: Estimators, their data, and their statements.
READ = {
    "labels": (lambda: without_a_limit().fit(X, Y, X_PUBLIC), CLASSES),
    "rows": (lambda: pate(on_bad_plan="warn").fit(X, Y, X[::-1]), AS_PUBLIC),
    "votes": (votes_without_classes, CLASSES),
    "caveat": (lambda: with_a_caveat().fit(X, Y, X_PUBLIC), "nearly always get different answers"),
    "X_val": (of_private_validation_rows, "private rows, which were given as X_val"),
}


@LEAKS
@pytest.mark.filterwarnings("ignore:X_public is X or a part of it")
@table("fitted, words", READ)
def test_statement_begins_with_private_data_that_is_not_covered(fitted, words):
    spent = fitted().privacy_spent_
    if np.isfinite(spent.epsilon):
        assert "changes the probability" in spent.summary()
    check_stated_first(spent, words)


@LEAKS
def test_statement_of_plan_and_export_names_what_is_not_covered():
    clf = without_a_limit()
    assert "classes_, read from" in clf.plan(X, Y, X_PUBLIC).spent.summary()
    model = clf.fit(X, Y, X_PUBLIC).export(X_PUBLIC)
    assert model.privacy_spent_["not_covered"] == ["classes_, read from the private labels"]
    assert pickle.loads(pickle.dumps(clf)).privacy_spent_ == clf.privacy_spent_


@pytest.mark.slow
def test_statement_names_nothing_for_a_fit_without_leaks():
    for clf, public in ((pate(), [X_PUBLIC]), (synthetic(), [])):
        spent = clf.fit(X, Y, *public).privacy_spent_
        assert spent.not_covered == () and spent.summary().startswith("Any one record")
        assert "not_covered" not in spent._repr_html_()


# --- synthetic rows, and others ------------------------------------------------------------------


def test_statement_names_rows_of_fit_student_unless_synthetic():
    clf = synthetic().fit(X, Y)
    almost = clf.X_synthetic_.copy()
    almost[1] += 1.0  # of a row that a digest of a hundred rows does not see
    for rows in (X_PUBLIC, almost):
        clf.fit_student(rows)
        check_stated_first(clf.privacy_spent_, "the rows given to fit_student")
        assert clf.privacy_spent_.n_synthetic == 200  # they are published still
        assert "rows given to fit_student" in clf.export().privacy_spent_["not_covered"][0]
    for rows in (None, clf.X_synthetic_.copy()):
        assert clf.fit_student(rows).privacy_spent_.not_covered == ()


@pytest.mark.slow
def test_statement_of_a_search_equals_that_of_its_best_estimator():
    search = search_of(synthetic().set_params(synthesizer__n_rows=50))
    assert not hasattr(search, "privacy_spent_")
    search.fit(X, Y)
    assert "best_params_, best_score_ and this statement" in search.privacy_spent_.summary()
    search.best_estimator_.fit_student(X_PUBLIC)
    check_stated_first(search.privacy_spent_, "the rows given to fit_student")


# --- the sentence itself -------------------------------------------------------------------------


SUMS = "noisy sums of the columns, by class"
VOTES = "a noisy table of the records' votes"
HISTOGRAMS = "noisy histograms of the columns"


@pytest.mark.parametrize(
    "clf, tables",
    [
        (pate(method=ReverseNeighbors()), (VOTES,)),
        (pate(method=ClassSums()), (SUMS,)),
        (pate(schema=Schema([(-3, 3), (-3, 3)]), epsilon=0.3), (SUMS,)),
        (synthetic(), (HISTOGRAMS, VOTES)),
        (pate(GaussianNB(), n_teachers=20, n_queries=10), ()),
    ],
)
def test_statement_names_the_released_tables(clf, tables):
    given = {} if clf.schema or clf.synthesizer else {"X_public": X_PUBLIC}
    plan = clf.plan(X, Y, **given)
    spent = clf.fit(X, Y, **given).privacy_spent_
    assert spent.tables == plan.spent.tables == tables
    for text in (SUMS, VOTES, HISTOGRAMS):
        assert (text in spent.summary()) == (text in plan.spent.summary()) == (text in tables)


# --- errors after something was paid for ---------------------------------------------------------


def failing(monkeypatch, step):
    def fail(*args, **kwargs):
        raise RuntimeError("this cannot be")

    monkeypatch.setattr(TableRelease, step, fail)
    with pytest.raises(RuntimeError) as caught:
        synthetic().fit(X, Y)
    return caught.value


def test_statement_after_a_failed_gather_covers_synthetic_rows(monkeypatch):
    error = failing(monkeypatch, "gather")
    spent = error.privacy_spent
    assert spent.covers == spent.to_dict()["covers"] == "rows" and spent.epsilon < 19
    (note,) = error.__notes__
    assert f"epsilon={text_rounded_up(spent.epsilon)} is spent. The synthetic rows" in note
    text = spent.summary()
    assert "The fit failed after its synthetic rows were sampled, before labels" in text
    assert "This guarantee covers the synthetic rows and this statement." in text
    assert "the student" not in text and "votes" not in text


def test_statement_after_a_failed_publish_covers_the_fit(monkeypatch):
    error = failing(monkeypatch, "publish")
    spent = error.privacy_spent
    assert spent.epsilon == pytest.approx(20.0) and spent.covers == "fit"
    assert "is spent; all results until then are kept" in error.__notes__[0]
    assert "It labelled no row." in spent.summary()


def test_statement_after_a_failed_student_names_released_labels():
    clf = synthetic().fit(X, Y)
    with pytest.raises(StudentError) as caught:
        clf.fit_student(student=RaisesIt(ValueError("no")))
    assert caught.value.privacy_spent.covers == "fit"
    assert "It labelled 200 synthetic rows" in caught.value.privacy_spent.summary()


# --- fits within fits ----------------------------------------------------------------------------


@pytest.mark.slow
def test_fit_number_does_not_count_fits_of_teachers():
    inner = synthetic().set_params(synthesizer__n_rows=20)
    clf = pate(inner, n_teachers=2, n_queries=4, student=DummyClassifier())
    numbers = []
    few = np.zeros(len(Y), dtype=int)  # of one label: no teacher is fitted
    few[0] = 1
    for labels in (Y, few):
        clone(clf).fit(X, labels, X_PUBLIC[:50])
        numbers.append(pate().fit(X, Y, X_PUBLIC[:50]).privacy_spent_.fit_number)
    assert numbers == [2, 4]


# --- numbers of other types ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [("epsilon", -0.1), ("epsilon", np.nan), ("delta", -1e-9), ("delta", np.nan), ("delta", 1.5)],
)
def test_privacy_spent_refuses_impossible_numbers(name, value):
    numbers = {"epsilon": 1.0, "delta": 1e-5, "n_teachers": 100, "n_queries": 20, "n_answered": 15}
    protected = {"unit": "record", "relation": "replace_one"}
    with pytest.raises(ValueError, match=f"{name} must be a number"):
        PrivacySpent(**numbers | {name: value}, composition="renyi", **protected)
