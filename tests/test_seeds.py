"""Seeds are told of: in what was spent, in its summary, in the diagram, and once by a warning."""

import html
import threading
import warnings

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from sklearn_pate import PATEClassifier
from sklearn_pate.fitting import seeds
from sklearn_pate.model_selection import PrivateGridSearchCV
from sklearn_pate.neighbors import ReverseNeighbors

ROWS = np.random.default_rng(0).normal(size=(600, 3))
X, X_PUBLIC = ROWS[:400], ROWS[400:].copy()
Y = (X[:, 0] > 0).astype(int)
MESSAGE = "random_state is set, so the noise follows from a seed"
REMEDY = "Use random_state=None for whatever you publish"


@pytest.fixture(autouse=True)
def no_seed_yet(monkeypatch):
    """Let no fit of the process have had a seed."""
    monkeypatch.setattr(seeds, "_has_warned", threading.Event())


def pate(base=None, **params):
    given = {"n_queries": 10} if isinstance(base, GaussianNB) else {}
    return PATEClassifier(base, epsilon=20.0, classes=[0, 1], **(given | params))


def warned_of_seeds(*actions):
    with warnings.catch_warnings(record=True, action="always") as caught:
        for action in actions:
            action()
    return sum(MESSAGE in str(w.message) for w in caught)


@pytest.mark.parametrize("base", [GaussianNB(), ReverseNeighbors()], ids=["teachers", "records"])
@pytest.mark.parametrize("seed", [42, np.random.RandomState(42)], ids=["number", "generator"])
def test_a_seeded_fit_says_so_wherever_it_shows_itself(base, seed):
    with pytest.warns(UserWarning, match=f"{MESSAGE}.*{REMEDY}"):
        clf = pate(base, random_state=seed).fit(X, Y, X_PUBLIC)
    assert clf.privacy_spent_.generator == "seed" and "generator='seed'" in repr(clf.privacy_spent_)
    summary = clf.privacy_spent_.summary()
    assert summary.startswith("Made with a seed: whoever knows or guesses the random_state")
    assert summary in html.unescape(clf._repr_html_())
    bare = pate(base).fit(X, Y, X_PUBLIC)
    assert "with a seed" not in bare.privacy_spent_.summary() + bare._repr_html_()


def test_the_warning_comes_once_in_a_process():
    def fit(seed):
        return lambda: pate(GaussianNB(), random_state=seed).fit(X, Y, X_PUBLIC)

    assert warned_of_seeds(fit(None)) == 0
    # A plan warns before anything is spent
    plan = pate(random_state=0).plan
    assert warned_of_seeds(lambda: plan(X, Y, X_PUBLIC), fit(1), fit(2), fit(1)) == 1
    assert warned_of_seeds(fit(3)) == 0


def test_a_seeded_search_warns_and_its_silent_trials_do_not_use_the_warning_up():
    def search(seed):
        given = {"epsilon": 50.0, "random_state": seed, "n_trials": 2}
        tried = PrivateGridSearchCV(pate(GaussianNB()), {"n_teachers": [20, 40]}, **given)
        return lambda: tried.fit(X, Y, X_public=X_PUBLIC)

    assert warned_of_seeds(search(None)) == 0 and warned_of_seeds(search(0)) == 1
    assert warned_of_seeds(lambda: pate(random_state=0).fit(X, Y, X_PUBLIC)) == 0
