"""Rows that a fit drew and another is given: what they cost is not forgotten."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.naive_bayes import GaussianNB

from sklearn_pate import PATEClassifier
from sklearn_pate.classifier import drawn, estimator
from sklearn_pate.ledger import PrivacyLedger
from sklearn_pate.model_selection import PrivateGridSearchCV
from sklearn_pate.synthesis import MarginalSynthesizer

# One or two bins of a column, by chance of the noise, hold most of its records
pytestmark = pytest.mark.filterwarnings("ignore:nearly all records lie in one or two bins")

X, Y = make_classification(3000, n_features=4, random_state=0)
PUBLIC = np.random.default_rng(1).normal(size=(500, 4))
DRAWS = MarginalSynthesizer(bounds=(-4, 4), missing=[], n_rows=500)
UNKNOWN = ("X_public, drawn from private data by an earlier fit, whose cost adds up",)


@pytest.fixture(autouse=True)
def nothing_drawn_yet():
    drawn._drawn.clear()
    yield
    drawn._drawn.clear()


def pate(**params):
    return PATEClassifier(**({"classes": [0, 1], "epsilon": 1.0} | params))


def interrupted(monkeypatch, **params):
    """An estimator that has paid for its rows, and was interrupted before any label."""

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    clf = pate(synthesizer=DRAWS, **params)
    with monkeypatch.context() as patch:
        patch.setattr(estimator, "collect_table", interrupt)
        with pytest.raises(KeyboardInterrupt) as caught:
            clf.fit(X, Y)
    return clf, caught.value


def test_the_cap_holds_for_rows_and_labels_of_a_recovered_fit(monkeypatch):
    clf, error = interrupted(monkeypatch)
    assert error.privacy_spent.covers == "rows" and 0 < error.privacy_spent.epsilon < 0.4
    assert "its privacy_spent_ is of both" in error.__notes__[0]
    clf.set_params(synthesizer=None).fit(X, Y, X_public=clf.X_synthetic_)
    spent = clf.privacy_spent_
    assert (spent.epsilon, spent.n_synthetic, spent.not_covered) == (1.0, 500, ())
    assert clf.aggregator_.cost(2).pure == pytest.approx(0.6)  # 0.4 went to the rows
    fresh = pate(synthesizer=DRAWS).fit(X, Y)
    assert clf.aggregator_.scale == fresh.aggregator_.scale
    assert clf.predict(X).shape == Y.shape and "drawn from noisy statistics" in spent.summary()


@pytest.mark.parametrize(
    "given",
    [
        lambda rows: rows,
        lambda rows: rows.copy(),
        lambda rows: rows[::-1],
        lambda rows: rows[:200],
        lambda rows: pd.DataFrame(rows).to_numpy(),
    ],
)
def test_rows_of_another_estimator_are_known_by_their_values(given):
    rows = pate(synthesizer=DRAWS).fit(X, Y).X_synthetic_
    spent = pate().plan(X, Y, X_public=given(rows)).spent
    assert (spent.epsilon, spent.n_synthetic) == (1.0, len(given(rows)))
    votes = pate().poll(X, Y, X_public=given(rows))
    assert pate().fit_votes(votes, given(rows)).privacy_spent_.n_synthetic == len(given(rows))


def test_what_cannot_be_known_is_said():
    rows = pate(synthesizer=DRAWS).fit(X, Y).X_synthetic_
    some = np.vstack([rows[:400], PUBLIC[:100]])
    groups = np.arange(len(X)) // 2
    for spent in (
        pate().fit(X, Y, X_public=some).privacy_spent_,
        pate().plan(X, Y, X_public=rows, groups=groups).spent,  # of another unit
        pate().fit_votes(np.tile([[40, 10], [10, 40]], (250, 1)), rows).privacy_spent_,
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
    keeps = Keeps(bounds=(-4, 4), missing=[], n_rows=500)
    rows = pate(synthesizer=keeps).fit(X, Y).X_synthetic_
    assert all(synthesis is None for _, synthesis in drawn._drawn.values())
    plan = pate().plan(X, Y, X_public=rows)
    assert plan.synthesizer is None and plan.spent.not_covered == UNKNOWN


def test_an_interrupt_while_rows_are_noted_keeps_them(monkeypatch):
    def interrupt(*args):
        raise KeyboardInterrupt

    clf = pate(synthesizer=DRAWS)
    monkeypatch.setattr("sklearn_pate.classifier.synthesis.note_drawn", interrupt)
    with pytest.raises(KeyboardInterrupt):
        clf.fit(X, Y)
    assert clf.X_synthetic_.shape == (500, 4)


def test_a_copy_of_an_estimator_does_not_forget_what_its_rows_cost():
    clf = copy.deepcopy(pate(synthesizer=DRAWS).fit(X, Y))
    assert pate().plan(X, Y, X_public=clf.X_synthetic_).spent.n_synthetic == 500


def test_public_rows_are_not_taken_for_drawn_ones():
    pate(synthesizer=DRAWS).fit(X, Y)
    spent = pate().fit(X, Y, X_public=PUBLIC).privacy_spent_
    assert (spent.n_synthetic, spent.not_covered) == (0, ())
    # Where there are few values, rows are equal by chance
    coins = MarginalSynthesizer(bounds=(0, 1), missing=[], n_rows=500)
    pate(synthesizer=coins).fit((X > 0).astype(int), Y)
    public = (PUBLIC > 0).astype(int)
    assert pate().plan((X > 0).astype(int), Y, X_public=public).spent.n_synthetic == 0


def test_a_ledger_that_has_the_rows_is_charged_for_labels_alone(tmp_path, monkeypatch):
    ledger = PrivacyLedger(tmp_path / "one.sqlite", epsilon=3.0, composition="pure")
    clf, _ = interrupted(monkeypatch, ledger=ledger)
    clf.set_params(synthesizer=None).fit(X, Y, X_public=clf.X_synthetic_)
    assert ledger.epsilon_spent == pytest.approx(1.0)
    assert len(ledger.history()) == 2


def test_teachers_of_an_interrupted_fit_share_the_cap(monkeypatch):
    rows = interrupted(monkeypatch)[0].X_synthetic_
    clf = pate(base_estimator=GaussianNB(), n_teachers=50).fit(X, Y, X_public=rows)
    assert clf.privacy_spent_.epsilon <= 1.0 and clf.privacy_spent_.n_synthetic == 500
    assert clf.curator_.epsilon(method="data_independent") < clf.privacy_spent_.epsilon


def test_searches_and_students_say_it():
    rows = pate(synthesizer=DRAWS).fit(X, Y).X_synthetic_
    clf = pate(base_estimator=GaussianNB(), n_teachers=50)
    search = PrivateGridSearchCV(clf, {"n_queries": [20, 30]}, epsilon=4, n_trials=2)
    search.fit(X, Y, X_public=rows, X_val=X[:100].copy(), y_val=Y[:100])
    assert UNKNOWN[0] in search.privacy_spent_.not_covered
    other = pate().fit(X, Y, X_public=PUBLIC).fit_student(rows)
    assert "the rows given to fit_student" in other.privacy_spent_.not_covered[0]
