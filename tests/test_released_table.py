"""A released table labels other public rows as well; labels of teachers belong to theirs."""

import pickle

import numpy as np
import pandas as pd
import pytest
from conftest import cases, interrupt, three_classes
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.datasets import load_iris, make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_pate import PATEClassifier
from sklearn_pate.aggregators import LaplaceMechanism
from sklearn_pate.fitting.given import rows_digest
from sklearn_pate.ledger import PrivacyLedger
from sklearn_pate.neighbors import LandmarkClassifier, ReleasedTable, ReverseNeighbors
from sklearn_pate.neighbors.cells import (
    Surface,
    _sharpness,
    expected_ballots,
    make_centers,
    smooth,
)
from sklearn_pate.rdp.discrete import GRID

X, Y = three_classes(1200, 5)
X_PUBLIC, X_LATER, Y_LATER = X[600:900], X[900:], Y[900:]
X, Y = X[:600], Y[:600]


def pate(voters=None, **params):
    params = {"epsilon": 5.0, "classes": [0, 1, 2], "random_state": 0, **params}
    return PATEClassifier(ReverseNeighbors() if voters is None else voters, **params)


def teachers(**params):
    return pate(GaussianNB(), n_teachers=20, epsilon=10.0, n_queries=100, **params)


# --- records that vote ---------------------------------------------------------------------------


def test_the_table_says_of_public_rows_what_was_released():
    clf = pate().fit(X, Y, X_public=X_PUBLIC)
    assert isinstance(clf.table_, ReleasedTable)
    assert clf.table_.counts.shape == clf.curator_.votes.shape
    assert not np.array_equal(clf.table_.counts, clf.curator_.votes)  # the noise is in it
    np.testing.assert_allclose(clf.table_.rates(X_PUBLIC), clf.public_soft_labels_, atol=1e-12)
    one_by_one = np.vstack([clf.table_.rates(row[None]) for row in X_PUBLIC[:20]])
    np.testing.assert_allclose(one_by_one, clf.public_soft_labels_[:20], atol=1e-9)


def test_other_public_rows_cost_nothing(tmp_path):
    ledger = PrivacyLedger(tmp_path / "ledger", epsilon=5.0, delta=1e-5)  # pays for one fit
    clf = pate(ledger=ledger, random_state=None).fit(X, Y, X_public=X_PUBLIC)
    spent = clf.privacy_spent_
    clf.fit_student(X_LATER)
    assert (clf.privacy_spent_.epsilon, clf.privacy_spent_.delta) == (spent.epsilon, spent.delta)
    assert len(clf.public_labels_) == clf.privacy_spent_.n_answered == 300
    assert (clf.public_labels_ == Y_LATER).mean() > 0.85 and clf.score(X_LATER, Y_LATER) > 0.85
    more = np.concatenate([X_PUBLIC, X_LATER])
    assert clf.fit_student(more, LogisticRegression()).public_soft_labels_.shape == (600, 3)
    assert clf.privacy_spent_.n_answered == len(clf.query_indices_) == 600


def test_labels_follow_rows_in_another_order():
    clf = pate().fit(X, Y, X_public=X_PUBLIC)
    rates, proba = clf.public_soft_labels_, clf.predict_proba(X_LATER)
    loaded = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(loaded.table_.rates(X_LATER), clf.table_.rates(X_LATER))
    assert repr(loaded.table_).endswith(" cells, 3 classes)")
    clf.fit_student(X_PUBLIC)
    np.testing.assert_array_equal(clf.public_labels_, loaded.public_labels_)
    np.testing.assert_allclose(clf.predict_proba(X_LATER), proba)
    clf.fit_student(X_PUBLIC[::-1])
    np.testing.assert_allclose(clf.public_soft_labels_[::-1], rates, atol=1e-12)
    assert loaded.fit_student(X_LATER).score(X_LATER, Y_LATER) > 0.85


def test_rows_that_cannot_be_read_change_nothing():
    clf = pate(ReverseNeighbors(StandardScaler())).fit(X, Y, X_public=X_PUBLIC)
    before = clf.student_, clf.public_labels_
    wider = X_LATER[:, 1:]
    pytest.raises(ValueError, clf.fit_student, wider).match("does not have the features of X")
    pytest.raises(ValueError, clf.fit_student, np.full((5, 5), np.inf)).match("infinity")
    assert clf.student_ is before[0] and clf.public_labels_ is before[1]


def test_a_fit_with_teachers_forgets_the_table():
    clf = pate().fit(X, Y, X_public=X_PUBLIC)
    clf.set_params(**teachers().get_params(deep=False)).fit(X, Y, X_public=X_PUBLIC)
    assert not hasattr(clf, "table_") and clf.n_teachers_ == 20


# --- teachers ------------------------------------------------------------------------------------


def test_rows_in_another_order_are_warned_of():
    clf = teachers().fit(X, Y, X_public=X_PUBLIC)
    for rows in (X_PUBLIC[::-1], X_LATER, X_PUBLIC + 0.01):
        with pytest.warns(UserWarning, match="Labels go by position"):
            clf.fit_student(rows)


@cases("rows", X_PUBLIC.copy(), X_PUBLIC.astype(np.float32), np.asfortranarray(X_PUBLIC))
@pytest.mark.filterwarnings("error")
def test_the_same_rows_are_not_warned_of(rows):
    loaded = pickle.loads(pickle.dumps(teachers().fit(X, Y, X_public=X_PUBLIC)))
    assert loaded.fit_student(rows).score(X_LATER, Y_LATER) > 0.7


def test_rows_are_known_again_whatever_holds_them():
    mixed = pd.DataFrame({"age": [20, 30, 40], "city": ["Oslo", "Bern", None]})
    digest = rows_digest(mixed)
    assert rows_digest(mixed.astype({"city": "category"})) == digest
    assert rows_digest(mixed.iloc[::-1]) != digest
    whole = np.arange(6.0).reshape(3, 2)
    for same in (whole.tolist(), sparse.csr_matrix(whole), pd.DataFrame(whole.astype(int))):
        assert rows_digest(same) == rows_digest(whole)


# --- what the table must not hold ----------------------------------------------------------------


class Shared(TransformerMixin, BaseEstimator):
    """Keeps numpy's global generator, as estimators do whose random_state is None."""

    def fit(self, X, y=None):
        self.rng_ = check_random_state(None)
        return self

    def transform(self, X):
        return X


def test_a_table_holds_no_global_generator():
    clf = pate(ReverseNeighbors(Shared())).fit(X, Y, X_public=X_PUBLIC)
    assert clf.table_.transformer.rng_ is not check_random_state(None)
    assert np.random.get_state()[1].tobytes()[:400] not in pickle.dumps(clf.table_)


def test_public_rows_leave_what_they_were_cut_from_behind():
    people = pd.MultiIndex.from_product([["public", "secret"], range(300)])
    frame = pd.DataFrame(np.vstack([X_PUBLIC, X_LATER]), people, list("abcde"))
    frame.attrs["note"] = "secret"

    class Keeps(TransformerMixin, BaseEstimator):
        def fit(self, X, y=None):
            self.rows_ = X
            return self

        def transform(self, X):
            return X.to_numpy()

    private = pd.DataFrame(X, columns=list("abcde"))
    clf = pate(ReverseNeighbors(Keeps())).fit(private, Y, X_public=frame[:300])
    kept = clf.table_.transformer.rows_
    assert kept.attrs == {} and type(kept.index) is pd.RangeIndex


def test_continuous_noise_has_no_digits_that_tell(global_random_seed):
    """Unrounded, the lowest digits of half of the entries told 0 from 1.

    Finds digits that are even in 52 % of entries, in 99 % of runs.
    """
    mechanism = LaplaceMechanism(20.0, noise="continuous")
    noisy = mechanism.noisy(np.tile([0.0, 1.0], (50_000, 1)), global_random_seed)
    assert (noisy / GRID == np.round(noisy / GRID)).all()
    even = (noisy / GRID % 2 == 0).mean(axis=0)
    np.testing.assert_allclose(even, 0.5, atol=0.0125)  # 5.6 standard deviations


def test_an_interrupt_while_a_table_is_smoothed_keeps_it(monkeypatch):
    X, y = load_iris(return_X_y=True)
    clf = PATEClassifier(epsilon=10, classes=[0, 1, 2], random_state=0)
    with monkeypatch.context() as patch:
        patch.setattr("sklearn_pate.neighbors.cells.smooth", interrupt)
        pytest.raises(KeyboardInterrupt, clf.fit, X[::2], y[::2], X_public=X[1::2])
    assert clf.privacy_spent_.epsilon == 10 and not hasattr(clf, "student_")
    table = clf.table_.counts.copy()
    clf.fit_student(X[1::2])  # of the noisy table that is paid for
    assert (clf.table_.counts == table).all() and clf.score(X[1::2], y[1::2]) > 0.8


# --- what a noisy table says of public rows, and the student that learns it -----------------------


def sharpness(ballots, noise_std, height, rng):
    """Return the power that is chosen for one table of noisy ballots, in cells on a line."""
    n_cells, n_classes = ballots.shape
    total = np.maximum(ballots.sum(axis=1), 1.0)
    overall = ballots.sum(axis=0) / ballots.sum()
    spread = (overall * (1 - overall)).sum() / (n_classes - 1)
    variance = (noise_std**2 + total * spread) / total**2
    centers = np.arange(n_cells)[:, None] / 10
    noisy = ballots + rng.normal(0, noise_std, ballots.shape)
    given = {"steepness": 2.0, "slope": 0.0, "power": 1.0, "variance": variance, "total": total}
    surface = Surface(centers, overall, np.zeros_like(ballots), height * spread, **given)
    return _sharpness(surface, noisy)


def test_rates_of_one_class_a_cell_are_sharpened():
    """Each ten cells are of one class, so means that noise pulls together are too timid."""
    ballots = np.repeat(30.0 * np.eye(10), 10, axis=0)
    assert sharpness(ballots, noise_std=12.0, height=0.3, rng=np.random.default_rng(0)) >= 2


@pytest.mark.parametrize("seed", range(4))
def test_rates_that_are_as_they_seem_are_left(seed):
    """Each cell has the same rates: what the means differ by is noise, which says nothing."""
    rng = np.random.default_rng(seed)
    ballots = rng.multinomial(40, [0.5, 0.5], size=100).astype(float)
    assert sharpness(ballots, noise_std=15.0, height=0.1, rng=rng) == 1


def test_a_smooth_table_is_recovered():
    """Rates that change slowly are found through noise that hides them in each cell alone."""
    rng = np.random.default_rng(0)
    public = rng.random((2000, 2))
    centers = make_centers(public, 200, 0)
    truth = 0.5 + 0.4 * np.sin(3 * centers[:, 0])
    n_ballots = 30
    noisy = n_ballots * np.stack([1 - truth, truth], axis=1) + rng.normal(0, 10, (200, 2))
    cells = cdist(public, centers).argmin(axis=1)
    total = expected_ballots(noisy, np.bincount(cells), 10.0, n_ballots=200 * n_ballots)
    surface = smooth(noisy, centers, total, noise_std=10.0)
    rates = surface.rates(public)
    wanted = 0.5 + 0.4 * np.sin(3 * public[:, 0])
    alone = np.clip(noisy / noisy.sum(axis=1, keepdims=True), 0, 1)[cells, 1]
    found = np.abs(rates[:, 1] - wanted).mean()
    assert found < 0.08 and found < np.abs(alone - wanted).mean() / 3


# --- the default student -------------------------------------------------------------------------


# scikit-learn's checks skip some of their own
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([LandmarkClassifier(random_state=0)])
def test_sklearn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_a_unit_that_all_columns_share_makes_no_difference(unit):
    X, y = make_moons(200, noise=0.1, random_state=0)
    fits = ((LandmarkClassifier(random_state=0).fit(rows, y), rows) for rows in (X, X * unit))
    plain, scaled = (clf.predict_proba(rows) for clf, rows in fits)
    np.testing.assert_allclose(plain, scaled, atol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_weights_are_as_good_as_repeats(n_classes):
    """A row that counts three times is like three rows, and one that counts nothing like none."""
    X, y = make_moons(60, noise=0.2, random_state=0)
    y = y + (X[:, 0] > 1) * (n_classes - 2)
    weight = np.arange(60) % 4
    weighted = LandmarkClassifier(random_state=0).fit(X, y, sample_weight=weight)
    repeated = LandmarkClassifier(random_state=0).fit(X.repeat(weight, axis=0), y.repeat(weight))
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-4)


def test_equal_rows_are_one_landmark():
    same = LandmarkClassifier().fit(np.ones((6, 2)), [0, 0, 1, 1, 1, 1])
    np.testing.assert_allclose(same.predict_proba(np.ones((1, 2))), [[1 / 3, 2 / 3]], atol=0.01)
