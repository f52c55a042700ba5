"""Public rows with missing values pass or fail whichever rows are asked, before teachers train."""

import re

import numpy as np
import pandas as pd
import pytest
from conftest import cases
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from sklearn_pate import PATEClassifier
from sklearn_pate.aggregators import PluralityVote
from sklearn_pate.fitting.rehearsal import is_missing_in

RNG = np.random.default_rng(0)
Y = np.arange(300) % 2
X = RNG.normal(size=(300, 3)) + 2 * Y[:, None]
X_PUBLIC = RNG.normal(size=(100, 3)) + 2 * (np.arange(100) % 2)[:, None]
WITH_NAN = X_PUBLIC.copy()
WITH_NAN[[7, 50], 1] = np.nan


class Counting(GaussianNB):
    """Counts how often private rows are learnt from."""

    n_fits = 0

    def fit(self, X, y):
        Counting.n_fits += len(X) != 50 and len(X) != 52
        return super().fit(X, y)


class AtRandom:
    """Asks these rows."""

    def __init__(self, rows=()):
        self.rows = rows

    def select(self, X_public, n_queries, random_state):
        return np.asarray(self.rows)


def imputing():
    return make_pipeline(SimpleImputer(), GaussianNB())


def pate(base, **params):
    given = {"n_teachers": 5, "aggregator": PluralityVote(), "epsilon": None, "n_queries": 20}
    return PATEClassifier(base, classes=[0, 1], **(given | params))


@pytest.mark.parametrize("rows", [range(20), range(10, 30)], ids=["asked", "not asked"])
@cases(
    "params, who",
    ({"base": Counting()}, "base_estimator, a Counting"),
    ({"base": [imputing(), Counting()], "student": imputing()}, "base_estimator, a Counting"),
    ({"base": imputing(), "student": GaussianNB()}, "student, a GaussianNB"),
    ids=["teachers", "one of two", "student"],
)
def test_teachers_and_students_that_take_no_missing_values_are_refused(params, who, rows):
    Counting.n_fits = 0
    clf = pate(**params, query_strategy=AtRandom(rows))
    message = (
        rf"missing values in 2 of its rows \(the first is row 7\), and {who}, does not take them: "
        r"ValueError: Input X contains NaN\. .*SimpleImputer\(\)"
    )
    for call in (clf.fit, clf.plan):
        pytest.raises(ValueError, call, X, Y, WITH_NAN).match(message)
    assert Counting.n_fits == 0 and not hasattr(clf, "privacy_spent_")


@pytest.mark.parametrize("rows", [range(20), range(10, 30)], ids=["asked", "not asked"])
@pytest.mark.parametrize("base", [imputing(), HistGradientBoostingClassifier(max_iter=2), None])
def test_those_that_take_missing_values_are_not(base, rows):
    clf = pate(base, query_strategy=AtRandom(rows)).fit(X, Y, WITH_NAN)
    assert clf.privacy_spent_.n_queries == 20 and np.isfinite(clf.predict_proba(WITH_NAN)).all()


def test_a_student_of_records_is_tried_on_missing_values_that_come_late():
    late = np.tile(X_PUBLIC, (10, 1))
    late[900, 1] = np.nan
    clf = PATEClassifier(classes=[0, 1], epsilon=8.0, student=GaussianNB())
    for call in (clf.fit, clf.plan):
        pytest.raises(ValueError, call, X, Y, late).match(r"the first is row 900.*student")
    assert not hasattr(clf, "privacy_spent_")
    clf.set_params(student=imputing()).fit(X, Y, late)
    assert np.isfinite(clf.predict_proba(late)).all()


def test_rows_that_are_left_out_and_an_imputer_are_the_remedies():
    with pytest.raises(ValueError, match="leave these rows out") as caught:
        pate(GaussianNB()).fit(X, Y, WITH_NAN)
    (code,) = re.findall(r"make_pipeline\(SimpleImputer\(\), \.\.\.\)", str(caught.value))
    names = {"make_pipeline": make_pipeline, "SimpleImputer": SimpleImputer, "model": GaussianNB()}
    pate(eval(code.replace("...", "model"), names)).fit(X, Y, WITH_NAN)
    pate(GaussianNB()).fit(X, Y, WITH_NAN[~np.isnan(WITH_NAN).any(axis=1)])


FORMS = {
    "array": WITH_NAN,
    "objects": WITH_NAN.astype(object),
    "sparse": sparse.csr_array(WITH_NAN),
    "frame": pd.DataFrame(WITH_NAN),
}


@pytest.mark.parametrize("form", FORMS)
def test_missing_values_are_seen_in_every_form(form):
    assert np.flatnonzero(is_missing_in(FORMS[form])).tolist() == [7, 50]
    assert not is_missing_in(FORMS[form][:7]).any()


def test_missing_values_are_seen_in_polars_and_in_text():
    assert is_missing_in(pd.DataFrame({"a": ["x", None]})).tolist() == [False, True]
    assert is_missing_in(np.array([["x"], ["nan"]])).tolist() == [False, False]
    polars = pytest.importorskip("polars", reason="needs polars")
    table = polars.DataFrame({"a": ["x", None, "y"], "b": [1.0, None, np.nan], "c": [[1], [], [2]]})
    assert is_missing_in(table).tolist() == [False, True, True]
