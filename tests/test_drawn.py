"""Rows that a fit drew and another is given: what they cost is not forgotten."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from conftest import interrupt
from sklearn.datasets import make_classification
from sklearn.naive_bayes import GaussianNB

from sklearn_pate import PATEClassifier
from sklearn_pate.aggregators import LaplaceMechanism
from sklearn_pate.exceptions import BudgetExceededError
from sklearn_pate.ledger import PrivacyLedger
from sklearn_pate.model_selection import PrivateGridSearchCV
from sklearn_pate.neighbors import ReverseNeighbors
from sklearn_pate.rdp import Contribution
from sklearn_pate.releases import ahead as drawn
from sklearn_pate.releases.table import TableRelease
from sklearn_pate.synthesis import MarginalSynthesizer

# One or two bins of a column, by chance of the noise, hold most of its records
pytestmark = pytest.mark.filterwarnings("ignore:nearly all records lie in one or two bins")

X, Y = make_classification(1500, n_features=4, random_state=0)
PUBLIC = np.random.default_rng(1).normal(size=(200, 4))
DRAWS = MarginalSynthesizer(bounds=(-4, 4), missing=[], n_rows=200, noise=LaplaceMechanism())
UNKNOWN = ("X_public, drawn from private data by an earlier fit, whose cost adds up",)


def pate(**params):
    return PATEClassifier(**({"classes": [0, 1], "epsilon": 1.0} | params))


def drawn_rows(synthesizer=DRAWS):
    return pate(synthesizer=synthesizer).fit(X, Y).X_synthetic_


def interrupted(monkeypatch, **params):
    """An estimator that has paid for its rows, and was interrupted before any label."""
    clf = pate(synthesizer=DRAWS, **params)
    with monkeypatch.context() as patch:
        patch.setattr(TableRelease, "gather", interrupt)
        with pytest.raises(KeyboardInterrupt) as caught:
            clf.fit(X, Y)
    return clf, caught.value


def test_the_cap_holds_for_rows_and_labels_of_a_recovered_fit(monkeypatch):
    clf, error = interrupted(monkeypatch)
    assert error.privacy_spent.covers == "rows" and 0 < error.privacy_spent.epsilon < 0.4
    assert "its privacy_spent_ says whether it covers them" in error.__notes__[0]
    clf.set_params(synthesizer=None).fit(X, Y, X_public=clf.X_synthetic_)
    spent = clf.privacy_spent_
    assert (spent.epsilon, spent.n_synthetic, spent.not_covered) == (1.0, 200, ())
    of_table = clf.aggregator_.cost(Contribution.of_counts(2))
    assert of_table.pure == pytest.approx(0.6)  # 0.4 went to the rows
    assert clf.aggregator_.scale == pate(synthesizer=DRAWS).fit(X, Y).aggregator_.scale
    assert clf.predict(X).shape == Y.shape and "made from noisy statistics" in spent.summary()


def test_rows_of_another_estimator_are_known_by_their_values():
    rows = drawn_rows()
    for given in (rows.copy(), rows[::-1], pd.DataFrame(rows).to_numpy(), rows[:80]):
        spent = pate().plan(X, Y, X_public=given).spent
        assert (spent.epsilon, spent.n_synthetic) == (1.0, len(given))
    votes = pate().poll(X, Y, X_public=rows)
    assert pate().fit_votes(votes, rows).privacy_spent_.n_synthetic == 200


def test_what_cannot_be_known_is_said():
    rows = drawn_rows()
    some = np.vstack([rows[:160], PUBLIC[:40]])
    groups = np.arange(len(X)) // 2
    for spent in (
        pate().fit(X, Y, X_public=some).privacy_spent_,
        pate().plan(X, Y, X_public=rows, groups=groups).spent,  # of another unit
        pate().fit_votes(np.tile([[40, 10], [10, 40]], (100, 1)), rows).privacy_spent_,
    ):
        assert spent.not_covered == UNKNOWN and spent.n_synthetic == 0
        assert "drawn from private data by an earlier fit" in spent.summary()


def test_rows_that_a_pickle_brings_are_known_as_drawn():
    fitted = pickle.dumps(pate(synthesizer=DRAWS).fit(X, Y))
    drawn._drawn.clear()
    rows = pickle.loads(fitted).X_synthetic_
    assert pate().fit(X, Y, X_public=rows).privacy_spent_.not_covered == UNKNOWN


class Keeps(MarginalSynthesizer):
    """A careless synthesizer of the user's: it keeps the records that it saw."""

    def draw(self, X, codes, **given):
        self.seen_ = X.copy()
        return super().draw(X, codes, **given)


def test_a_synthesizer_that_has_seen_records_is_not_handed_out():
    rows = drawn_rows(Keeps(bounds=(-4, 4), missing=[], n_rows=200))
    assert all(synthesis is None for _, synthesis in drawn._drawn.values())
    plan = pate().plan(X, Y, X_public=rows)
    assert plan.synthesizer is None and plan.spent.not_covered == UNKNOWN


def test_a_copy_of_an_estimator_does_not_forget_what_its_rows_cost():
    clf = copy.deepcopy(pate(synthesizer=DRAWS).fit(X, Y))
    assert pate().plan(X, Y, X_public=clf.X_synthetic_).spent.n_synthetic == 200


def test_public_rows_are_not_taken_for_drawn_ones():
    drawn_rows()
    spent = pate().fit(X, Y, X_public=PUBLIC).privacy_spent_
    assert (spent.n_synthetic, spent.not_covered) == (0, ())
    # Where there are few values, rows are equal by chance
    coins = MarginalSynthesizer(bounds=(0, 1), missing=[], n_rows=200, noise=LaplaceMechanism())
    pate(synthesizer=coins).fit((X > 0).astype(int), Y)
    public = (PUBLIC > 0).astype(int)
    assert pate().plan((X > 0).astype(int), Y, X_public=public).spent.n_synthetic == 0


def test_a_ledger_that_has_the_rows_is_charged_for_labels_alone(tmp_path, monkeypatch):
    ledger = PrivacyLedger(tmp_path / "one.sqlite", epsilon=3.0, composition="pure")
    clf, _ = interrupted(monkeypatch, ledger=ledger)
    clf.set_params(synthesizer=None).fit(X, Y, X_public=clf.X_synthetic_)
    assert ledger.epsilon_spent == pytest.approx(1.0) and len(ledger.history()) == 2


def test_teachers_of_an_interrupted_fit_share_the_cap(monkeypatch):
    rows = interrupted(monkeypatch)[0].X_synthetic_
    clf = pate(base_estimator=GaussianNB(), n_teachers=50).fit(X, Y, X_public=rows)
    assert clf.privacy_spent_.epsilon <= 1.0 and clf.privacy_spent_.n_synthetic == 200
    assert clf.curator_.epsilon(method="data_independent") < clf.privacy_spent_.epsilon


def test_searches_and_students_say_it():
    rows = drawn_rows()
    clf = pate(base_estimator=GaussianNB(), n_teachers=50)
    search = PrivateGridSearchCV(clf, {"n_queries": [20, 30]}, epsilon=4, n_trials=2)
    search.fit(X, Y, X_public=rows, X_val=X[:100].copy(), y_val=Y[:100])
    assert UNKNOWN[0] in search.privacy_spent_.not_covered
    other = pate().fit(X, Y, X_public=PUBLIC).fit_student(rows)
    assert "the rows given to fit_student" in other.privacy_spent_.not_covered[0]


def test_rows_of_two_draws_or_beside_others_are_not_covered():
    first, second = drawn_rows(), drawn_rows()
    for rows in (np.r_[first, second], np.r_[first, PUBLIC], np.r_[first, PUBLIC, PUBLIC + 1]):
        assert pate().fit(X, Y, X_public=rows).privacy_spent_.not_covered == UNKNOWN
    assert pate().fit(X, Y, X_public=PUBLIC).privacy_spent_.not_covered == ()


def test_a_part_of_rows_with_few_values_is_not_covered():
    grid = np.random.default_rng(0).integers(0, 3, (1500, 3))
    codes = {k: [0, 1, 2] for k in range(3)}
    few = MarginalSynthesizer(categories=codes, missing=[], n_rows=200, noise=LaplaceMechanism())
    rows = pate(synthesizer=few).fit(grid, Y).X_synthetic_
    assert len(np.unique(rows, axis=0)) < 30
    assert pate().fit(grid, Y, X_public=rows).privacy_spent_.n_synthetic == 200
    assert pate().fit(grid, Y, X_public=rows[1:]).privacy_spent_.not_covered == UNKNOWN


def test_rows_are_known_if_the_fit_is_interrupted_while_they_are_noted(monkeypatch):
    noted = []
    note_drawn = drawn.note_drawn

    def interrupted_once(*args):
        noted.append(args)
        if len(noted) == 1:
            raise KeyboardInterrupt
        note_drawn(*args)

    monkeypatch.setattr(drawn, "note_drawn", interrupted_once)
    clf = pate(synthesizer=DRAWS)
    pytest.raises(KeyboardInterrupt, clf.fit, X, Y)
    clf.set_params(synthesizer=None).fit(X, Y, X_public=clf.X_synthetic_)
    assert clf.privacy_spent_.n_synthetic == 200


@pytest.mark.parametrize("epsilon", [0.4, 0.3])
def test_rows_that_cost_all_of_epsilon_are_refused(epsilon):
    rows = drawn_rows()
    with pytest.raises(BudgetExceededError, match="drawn from private ones.* cost epsilon=0.4,"):
        pate(epsilon=epsilon).plan(X, Y, X_public=rows)


def test_a_search_says_that_rows_to_vote_on_or_to_score_on_are_not_covered(monkeypatch):
    monkeypatch.setattr("sklearn_pate.model_selection.trials.MOST_SCORED", 20)
    rows = drawn_rows()
    search = PrivateGridSearchCV(pate(), {"base_estimator__n_cells": [8]}, epsilon=3, n_trials=2)
    search.estimator.base_estimator = ReverseNeighbors()
    assert search.fit(X, Y, X_public=rows).privacy_spent_.not_covered == UNKNOWN
    assert search.best_estimator_.on_bad_plan == "raise"
    given = {"X_val": rows, "y_val": np.arange(len(rows)) % 2}
    (said,) = search.fit(X, Y, X_public=PUBLIC, **given).privacy_spent_.not_covered
    assert said.startswith("X_val, drawn from private data")
