"""What a fit tells of itself: its seed, if it has one, and its number among those of its process.

Fits are counted as they begin, by calls and never by data.
"""

import html
import threading
import warnings

import numpy as np
import pytest
from conftest import cases
from faulty import RaisesIt
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB

from sklearn_pate import PATEClassifier, PrivacySpent, PublicData
from sklearn_pate.exceptions import TeacherError
from sklearn_pate.fitting import given
from sklearn_pate.isolation import next_fit_number
from sklearn_pate.model_selection import PrivateGridSearchCV
from sklearn_pate.neighbors import ReverseNeighbors

ROWS = np.random.default_rng(0).normal(size=(900, 3))
X, X_PUBLIC = ROWS[:600], ROWS[600:].copy()
Y = (X[:, 0] > 0).astype(int)
MESSAGE = "random_state is set, so the noise follows from a seed"
REMEDY = "Use random_state=None for whatever you publish"


@pytest.fixture(autouse=True)
def no_seed_yet(monkeypatch):
    """Let no fit of the process have had a seed."""
    monkeypatch.setattr(given, "_has_warned", threading.Event())


def pate(base=None, **params):
    given = {"epsilon": 20.0, "classes": [0, 1], "student": GaussianNB()}
    given |= {"n_queries": 10} if isinstance(base, GaussianNB) else {}
    return PATEClassifier(base, **(given | params))


def search(grid, **params):
    """A private search that is scored on public rows."""
    found = PrivateGridSearchCV(pate(GaussianNB()), grid, epsilon=50.0, n_trials=2, **params)
    return found.fit(X, Y, X_PUBLIC, X_val=X_PUBLIC[:50], y_val=Y[:50])


def warned_of_seeds(*actions):
    with warnings.catch_warnings(record=True, action="always") as caught:
        for action in actions:
            action()
    return sum(MESSAGE in str(w.message) for w in caught)


@cases("base, seed", (GaussianNB(), 42), (ReverseNeighbors(), np.random.RandomState(42)))
def test_a_seeded_fit_says_so_wherever_it_shows_itself(base, seed):
    with pytest.warns(UserWarning, match=f"{MESSAGE}.*{REMEDY}"):
        clf = pate(base, random_state=seed).fit(X, Y, X_PUBLIC)
    assert clf.privacy_spent_.generator == "seed" and "generator='seed'" in repr(clf.privacy_spent_)
    summary = clf.privacy_spent_.summary()
    assert summary.startswith("Made with a seed: whoever knows or guesses the random_state")
    assert summary in html.unescape(clf.privacy_spent_._repr_html_())
    bare = pate(base).fit(X, Y, X_PUBLIC)
    assert "with a seed" not in bare.privacy_spent_.summary()


def test_the_warning_comes_once_in_a_process():
    def fit(seed):
        return lambda: pate(GaussianNB(), random_state=seed).fit(X, Y, X_PUBLIC)

    assert warned_of_seeds(fit(None)) == 0
    # A plan warns before anything is spent
    plan = pate(random_state=0).plan
    assert warned_of_seeds(lambda: plan(X, Y, X_PUBLIC), fit(1), fit(2), fit(1)) == 1
    assert warned_of_seeds(fit(3)) == 0


def test_a_seeded_search_warns_and_its_silent_trials_do_not_use_the_warning_up():
    grid = {"n_teachers": [20, 40]}
    assert warned_of_seeds(lambda: search(grid)) == 0
    assert warned_of_seeds(lambda: search(grid, random_state=0)) == 1
    assert warned_of_seeds(lambda: pate(random_state=0).fit(X, Y, X_PUBLIC)) == 0


# --- numbers of fits -----------------------------------------------------------------------------


def number_of(clf):
    return clf.privacy_spent_.fit_number


def test_a_search_of_scikit_learn_says_how_many_fits_there_were():
    search = GridSearchCV(pate(), {"epsilon": [10.0, 20.0]}, cv=2)
    search.fit(X, Y, X_public=PublicData(X_PUBLIC))
    best = search.best_estimator_
    assert number_of(best) == 5 and "fit_number=5" in repr(best.privacy_spent_)
    for text in (best.privacy_spent_.summary(), best.privacy_spent_._repr_html_()):
        assert "this is fit number 5 of its process" in text


@pytest.mark.slow
def test_worker_processes_count_for_themselves():
    search = GridSearchCV(pate(), {"epsilon": [10.0, 20.0]}, cv=2, n_jobs=2)
    search.fit(X, Y, X_public=PublicData(X_PUBLIC))
    assert number_of(search.best_estimator_) == 1


def test_the_count_does_not_look_at_the_data():
    fits = [pate().fit(rows, Y[: len(rows)], X_PUBLIC) for rows in (X, X, -X, X[:300])]
    assert [number_of(clf) for clf in fits] == [1, 2, 3, 4]
    assert "fit number" not in fits[0].privacy_spent_.summary()


def test_fits_that_failed_count_and_plans_do_not():
    clf = pate(RaisesIt(ValueError("no")), n_teachers=5)
    pytest.raises(TeacherError, clf.fit, X, Y, X_PUBLIC)
    labels = Y.copy()
    labels[0] = 5  # that one record was refused is private, too
    with pytest.raises(ValueError, match="labels that are not in classes"):
        pate().fit(X, labels, X_PUBLIC)
    plan = pate().plan(X, Y, X_PUBLIC)
    assert plan.spent.fit_number == 1 and "fit number" not in plan.spent.summary()
    assert number_of(pate().fit(X, Y, X_PUBLIC)) == 3


def test_votes_that_are_used_twice_are_two_fits():
    clf = pate(GaussianNB(), n_teachers=20)
    votes = clf.poll(X, Y, X_PUBLIC)
    assert number_of(clf.fit_votes(votes, X_PUBLIC)) == 1
    assert number_of(clf.fit_votes(votes, X_PUBLIC)) == 2


def test_a_private_search_is_one_fit_whatever_its_number_of_trials():
    found = search({"n_teachers": [20, 30]})
    assert number_of(found) == number_of(found.best_estimator_) == 1 and next_fit_number() == 2


def test_records_of_what_was_spent_are_equal_whatever_their_number():
    given = (1.0, 1e-5, "renyi", "record", "replace one record")
    numbers = {"n_teachers": 5, "n_queries": 3, "n_answered": 3}
    first, second = (PrivacySpent(*given, **numbers, fit_number=k) for k in (1, 2))
    assert first == second and first.summary() != second.summary()
    assert next_fit_number() == 1  # each test has a count of its own
