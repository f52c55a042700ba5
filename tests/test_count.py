"""Each process counts the fits that it begins, by calls and never by data."""

import numpy as np
import pytest
from faulty import RaisesIt
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB

from sklearn_pate import PATEClassifier, PrivacySpent, PublicData
from sklearn_pate.exceptions import TeacherError
from sklearn_pate.isolation import next_fit_number
from sklearn_pate.model_selection import PrivateGridSearchCV

ROWS = np.random.default_rng(0).normal(size=(900, 3))
X, X_PUBLIC = ROWS[:600], ROWS[600:].copy()
Y = (X[:, 0] > 0).astype(int)


def pate(base=None, **params):
    return PATEClassifier(base, epsilon=20.0, classes=[0, 1], **params)


def number_of(clf):
    return clf.privacy_spent_.fit_number


def test_a_search_of_scikit_learn_says_how_many_fits_there_were():
    search = GridSearchCV(pate(), {"epsilon": [10.0, 20.0]}, cv=2)
    search.fit(X, Y, X_public=PublicData(X_PUBLIC))
    best = search.best_estimator_
    assert number_of(best) == 5 and "fit_number=5" in repr(best.privacy_spent_)
    for text in (best.privacy_spent_.summary(), best._repr_html_()):
        assert "this is fit number 5 of its process" in text


@pytest.mark.slow
def test_worker_processes_count_for_themselves():
    search = GridSearchCV(pate(), {"epsilon": [10.0, 20.0]}, cv=2, n_jobs=2)
    search.fit(X, Y, X_public=PublicData(X_PUBLIC))
    assert number_of(search.best_estimator_) == 1


@pytest.mark.parametrize("other", [X, -X, X[:300]], ids=["same", "others", "fewer"])
def test_the_count_does_not_look_at_the_data(other):
    first = pate().fit(other, Y[: len(other)], X_PUBLIC)
    assert number_of(first) == 1 and "fit number" not in first.privacy_spent_.summary()
    assert number_of(pate().fit(X, Y, X_PUBLIC)) == 2


def test_fits_that_failed_count_and_plans_do_not():
    clf = pate(RaisesIt(ValueError("no")), n_teachers=5, n_queries=10)
    pytest.raises(TeacherError, clf.fit, X, Y, X_PUBLIC)
    labels = Y.copy()
    labels[0] = 5  # that one record was refused is private, too
    with pytest.raises(ValueError, match="labels that are not in classes"):
        pate().fit(X, labels, X_PUBLIC)
    plan = pate().plan(X, Y, X_PUBLIC)
    assert plan.spent.fit_number == 1 and "fit number" not in plan.spent.summary()
    assert number_of(pate().fit(X, Y, X_PUBLIC)) == 3


def test_votes_that_are_used_twice_are_two_fits():
    clf = pate(GaussianNB(), n_teachers=20, n_queries=10)
    votes = clf.poll(X, Y, X_PUBLIC)
    assert number_of(clf.fit_votes(votes, X_PUBLIC)) == 1
    assert number_of(clf.fit_votes(votes, X_PUBLIC)) == 2


def test_a_private_search_is_one_fit_whatever_its_number_of_trials():
    clf = pate(GaussianNB(), n_teachers=20, n_queries=10)
    search = PrivateGridSearchCV(clf, {"n_teachers": [20, 30]}, epsilon=50.0, n_trials=2)
    search.fit(X, Y, X_public=X_PUBLIC)
    assert number_of(search) == number_of(search.best_estimator_) == 1 and next_fit_number() == 2


def test_records_of_what_was_spent_are_equal_whatever_their_number():
    given = (1.0, 1e-5, "renyi", "record", "replace one record")
    numbers = {"n_teachers": 5, "n_queries": 3, "n_answered": 3}
    first, second = (PrivacySpent(*given, **numbers, fit_number=k) for k in (1, 2))
    assert first == second and first.summary() != second.summary()
    assert next_fit_number() == 1  # each test has a count of its own
