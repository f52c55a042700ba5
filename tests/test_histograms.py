"""What noisy histograms say of the classes, read by themselves and with a table of ballots."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from sklearn_pate import PATEClassifier
from sklearn_pate.aggregators import LaplaceMechanism
from sklearn_pate.neighbors import LandmarkClassifier, RowVectorizer
from sklearn_pate.synthesis import MarginalSynthesizer, Schema
from sklearn_pate.synthesis.marginal import _PULL

ROWS = [(0, "a", 0)] * 3 + [(1, "a", 0)] * 5 + [(3, "b", 0)] * 2 + [(3, "b", 1)] * 6
ROWS += [(2, "a", 1)] * 2 + [(2, None, 1)] * 2


def framed(rows):
    return pd.DataFrame([row[:2] for row in rows], columns=["age", "kind"]).astype({"age": float})


def released(scale=1e-5, repeat=1, **params):
    """What is released of the rows, with next to no noise."""
    rows = ROWS * repeat
    declared = {"bounds": {"age": (0, 3)}, "categories": {"kind": ["a", "b"]}, "n_bins": 2}
    declared |= {"missing": ["kind"], "n_rows": 5, "noise": LaplaceMechanism(scale)} | params
    synthesizer = MarginalSynthesizer(**declared).declare(framed(rows), [0, 1])
    codes = np.array([row[2] for row in rows])
    rng = np.random.default_rng(0)
    synthesizer.draw(framed(rows), codes, n_classes=2, noise=rng, rng=rng)
    return synthesizer


def by_hand(row):
    """The posterior of naive Bayes, with a little of all classes' shares in each class."""
    pull = _PULL  # as there is no noise, so many records
    rates = []
    for code in (0, 1):
        own = [each for each in ROWS if each[2] == code]
        rate = len(own) / len(ROWS)
        is_alike = [lambda each: (each[0] < 1.5) == (row[0] < 1.5), lambda each: each[1] == row[1]]
        for alike, is_known in zip(is_alike, (True, row[1] in ("a", "b", None)), strict=True):
            if is_known:
                overall = np.mean([alike(each) for each in ROWS])
                share = np.mean([alike(each) for each in own])
                rate *= (len(own) * share + pull) / (len(own) * overall + pull)
        rates.append(rate)
    return np.array(rates) / sum(rates)


@pytest.mark.parametrize("row", [(0, "a"), (2.9, "b"), (2, None), (-50, "a"), (9, "b"), (2, "new")])
def test_the_posterior_is_that_of_naive_bayes(row):
    rates = released().released_.rates(framed([row]))
    np.testing.assert_allclose(rates[0], by_hand(row), atol=1e-3)


def test_noise_pulls_rates_to_those_of_all_records():
    table = released().released_
    rows = framed([(0, "a"), (3, "b")])
    strong, weak, none = (
        np.abs(replace(table, noise_std=noise_std).rates(rows)[:, 0] - 0.5)
        for noise_std in (0.0, 20.0, 1e6)
    )
    assert (none < weak).all() and (weak < strong).all()
    np.testing.assert_allclose(none, 0.0, atol=1e-3)


def test_flat_is_what_noise_explains():
    assert not released(1.0, repeat=50).released_.is_flat
    assert released(1e4, repeat=50).released_.is_flat


def test_dtypes_of_other_rows_may_be_others():
    table = released().released_
    rows = [(1, "a"), (3, "b"), (0, "a")]
    expected = table.rates(framed(rows))
    for dtype in ("int64", "Int64", "float32", object):
        np.testing.assert_array_equal(table.rates(framed(rows).astype({"age": dtype})), expected)


def test_whole_numbers_beyond_bounds_count_at_the_edge_in_any_dtype():
    X = pd.DataFrame({"n": np.arange(8, dtype=np.uint8)})
    synthesizer = MarginalSynthesizer({"n": (0, 7)}, missing=[], noise=LaplaceMechanism(1e-5))
    synthesizer.declare(X, [0, 1])
    rng = np.random.default_rng(0)
    synthesizer.draw(X, np.arange(8) // 4, n_classes=2, noise=rng, rng=rng)
    edges = synthesizer.released_.rates(pd.DataFrame({"n": [0, 7]}))
    beyond = synthesizer.released_.rates(pd.DataFrame({"n": [-np.inf, np.inf]}))
    np.testing.assert_array_equal(beyond, edges)
    beyond = synthesizer.released_.rates(pd.DataFrame({"n": [-1, 300]}))
    np.testing.assert_array_equal(beyond, edges)


def test_without_labels_nothing_is_said_of_them():
    assert not hasattr(released(given_label=False), "released_")


def test_what_is_released_can_be_pickled():
    table = released(repeat=20, scale=2.0).released_
    again = pickle.loads(pickle.dumps(table))
    rows = framed([(1, "a"), (3, None)])
    np.testing.assert_array_equal(again.rates(rows), table.rates(rows))
    assert repr(again) == "ReleasedHistograms(2 classes, 2 columns)"


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.integers(0, 50, 4000), "kind": rng.choice(["a", "b"], 4000)})
    X = X.astype({"kind": object})
    y = (X["age"] + 20 * (X["kind"] == "a") + 5 * rng.normal(size=4000) > 30).astype(int)
    schema = Schema({"age": (0, 49), "kind": ["a", "b"]})
    clf = PATEClassifier(
        schema=schema,
        synthesizer=MarginalSynthesizer(n_rows=1000, noise=LaplaceMechanism()),
        classes=[0, 1],
        epsilon=2,
    )
    return X, y, clf.fit(X, y)


def test_records_vote_beside_histograms(fitted):
    X, y, clf = fitted
    assert "ReleasedHistograms" in repr(clf.table_)
    assert type(clf.student_.steps[-1][1]) is LandmarkClassifier and clf.score(X, y) > 0.85
    assert (clf.table_.rates(X).argmax(axis=1) == y).mean() > 0.85 and clf.privacy_spent_.delta == 0
    assert clf.privacy_spent_.epsilon <= 2
    loaded = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(loaded.table_.rates(X[:50]), clf.table_.rates(X[:50]))


def test_another_student_and_votes_that_were_polled(fitted):
    X, y, clf = fitted
    other = clone(clf)
    other.fit_votes(other.poll(X, y))
    assert "ReleasedHistograms" in repr(other.table_)
    spent = other.privacy_spent_.epsilon
    assert spent <= 2
    other.fit_student(student=make_pipeline(RowVectorizer(), DecisionTreeClassifier(max_depth=4)))
    assert other.score(X, y) > 0.8 and other.privacy_spent_.epsilon == spent
