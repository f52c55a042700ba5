"""Records that vote where they lie: what they may change, what is refused, and what comes out."""

import datetime
import math
import pickle
import uuid
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_digits, load_iris, load_wine, make_classification
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from sklearn_pate import PATEClassifier, PublicData
from sklearn_pate.aggregators import (
    GaussianMechanism,
    GNMax,
    LaplaceMechanism,
    TableMechanism,
)
from sklearn_pate.classifier.student import sure_labels
from sklearn_pate.exceptions import BadPlanError, BudgetExceededError
from sklearn_pate.ledger import PrivacyLedger
from sklearn_pate.model_selection import PrivateGridSearchCV
from sklearn_pate.neighbors import ReverseNeighbors, RowVectorizer
from sklearn_pate.neighbors.ballots import count_ballots
from sklearn_pate.neighbors.cells import make_centers, nearest_cells
from sklearn_pate.neighbors.rates import deal_labels
from sklearn_pate.neighbors.transform import _beside_odd_rows
from sklearn_pate.partition import HashPartition
from sklearn_pate.plotting import (
    BudgetDisplay,
    LabelAccuracyDisplay,
    MarginDisplay,
    PrivacySpentDisplay,
)
from sklearn_pate.rdp import DEFAULT_ORDERS, Cost
from sklearn_pate.rdp.table import GRID, laplace_table_cost
from sklearn_pate.students import SoftLabelClassifier
from sklearn_pate.teachers import Sites

X, Y = make_classification(
    900, 5, n_informative=4, n_redundant=0, n_classes=3, class_sep=2, random_state=0
)
X_PUBLIC = X[600:]
X, Y, Y_PUBLIC = X[:600], Y[:600], Y[600:]


def voters(**params):
    return ReverseNeighbors(**{"n_cells": 12, "random_state": 0, **params})


def pate(electorate=None, **params):
    params = {"epsilon": 5.0, "classes": [0, 1, 2], "random_state": 0, **params}
    return PATEClassifier(voters() if electorate is None else electorate, **params)


# --- cells ---------------------------------------------------------------------------------------


def test_a_row_lies_in_the_cell_with_the_nearest_center():
    centers = make_centers(X_PUBLIC, 20, 0)
    assert centers.shape == (20, 5)
    distance = ((X[:, None] - centers) ** 2).sum(axis=2)
    found = nearest_cells(X, centers, 3)
    np.testing.assert_array_equal(np.sort(found), np.sort(distance.argsort(axis=1)[:, :3]))
    alone = np.vstack([nearest_cells(row[None], centers, 3) for row in X])
    np.testing.assert_array_equal(np.sort(found), np.sort(alone))


def test_near_ties_go_to_the_lowest_cell():
    centers = np.array([[2.0], [0.0], [4.0]])
    rows = [[1.0], [1.0 + 1e-12], [1.0 - 1e-12], [3.0], [-9.0]]
    assert nearest_cells(np.array(rows), centers)[:, 0].tolist() == [0, 0, 0, 0, 1]


def test_rows_without_finite_numbers_lie_nowhere():
    rows = np.array([[0.0, 0.0], [np.nan, 0.0], [np.inf, 0.0], [1e200, -1e200]])
    found = nearest_cells(rows, np.array([[0.0, 0.0], [5.0, 5.0]]), 2)
    assert found.tolist() == [[0, 1], [-1, -1], [-1, -1], [-1, -1]]


@pytest.mark.parametrize(
    ("public", "n_cells", "n_centers"),
    [
        (np.zeros((9, 2)), 4, 1),
        (np.repeat(np.eye(3), 5, axis=0), 10, 3),
        (np.arange(8.0)[:, None], 1, 1),
        (np.arange(8.0)[:, None], 100, 8),
    ],
)
def test_equal_rows_make_one_cell(public, n_cells, n_centers):
    assert len(make_centers(public, n_cells, 0)) == n_centers


# --- what one record changes ---------------------------------------------------------------------


@pytest.mark.parametrize("n_neighbors", [1, 3])
def test_each_record_casts_as_many_ballots_as_it_says(n_neighbors):
    clf = pate(voters(n_neighbors=n_neighbors))
    votes = clf.poll(X, Y, X_public=X_PUBLIC)
    assert votes.counts.sum() == 600 * n_neighbors
    assert votes.ballots.n_changed == 2 * n_neighbors
    np.testing.assert_array_equal(votes.counts.sum(axis=0), np.bincount(Y) * n_neighbors)


@pytest.mark.parametrize("adjacency", ["replace", "add_or_remove"])
def test_one_record_moves_its_own_ballots_alone(adjacency):
    clf = pate(voters(adjacency=adjacency))
    before = clf.poll(X, Y, X_public=X_PUBLIC).counts
    moved = 2 if adjacency == "replace" else 1
    for k in range(0, 600, 40):
        if adjacency == "replace":
            changed, codes = X.copy(), Y.copy()
            changed[k] = [1e9, -1e9, 3, 4, 5] if k % 80 else np.nan
            codes[k] = (codes[k] + 1) % 3
        else:
            changed, codes = np.delete(X, k, axis=0), np.delete(Y, k)
        after = clone(clf).poll(changed, codes, X_public=X_PUBLIC).counts
        assert 1 <= np.abs(after - before).sum() <= moved


@pytest.mark.filterwarnings("ignore:the noise drowns")
def test_cells_and_labels_see_private_rows_through_the_table_alone():
    seen = []
    for records in (X, X[::-1] * 1000):
        clf = pate(aggregator=LaplaceMechanism(1e9), epsilon=None)
        votes = clf.poll(records, Y, X_public=X_PUBLIC)
        seen.append(votes.electorate)
    np.testing.assert_array_equal(seen[0]._centers, seen[1]._centers)


def test_a_record_that_cannot_be_transformed_casts_no_ballot_and_says_nothing(capsys):
    def refuse(rows):
        if (np.asarray(rows) > 100).any():
            raise ValueError(f"secret {rows}")
        return rows

    clf = pate(voters(transformer=FunctionTransformer(refuse)), verbose=0)
    odd = X.copy()
    odd[[3, 77, 599]] = 1000.0
    votes = clf.poll(odd, Y, X_public=X_PUBLIC)
    rest = np.delete(np.arange(600), [3, 77, 599])
    np.testing.assert_array_equal(
        votes.counts, clone(clf).poll(X[rest], Y[rest], X_public=X_PUBLIC).counts
    )
    assert clf.fit(odd, Y, X_public=X_PUBLIC).n_features_in_ == 5
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("adjacency", "groups", "text"),
    [
        ("replace", False, "replace one record"),
        ("add_or_remove", False, "add or remove one record"),
        ("replace", True, "replace one group, or add, remove or change some of its records"),
        ("add_or_remove", True, "add or remove one group, with all of its records"),
    ],
)
def test_the_change_that_is_covered_is_named(adjacency, groups, text):
    names = np.arange(600) // 4 if groups else None
    clf = pate(voters(adjacency=adjacency)).fit(X, Y, X_public=X_PUBLIC, groups=names)
    assert clf.privacy_spent_.adjacency == text
    assert clf.privacy_spent_.unit == ("group" if groups else "record")
    assert text in clf.privacy_spent_.summary()
    assert clf.aggregator_.scale == pytest.approx((2 if adjacency == "replace" else 1) / 5.0)


def test_a_group_casts_one_ballot_in_all():
    names = np.repeat([f"person {k}" for k in range(6)], [1, 3, 96, 100, 200, 200])
    table = pate().poll(X, Y, X_public=X_PUBLIC, groups=names).counts
    assert 6 - 600 * GRID <= table.sum() <= 6
    with pytest.raises(ValueError, match="give groups=, one identifier per record"):
        pate(unit="group").fit(X, Y, X_public=X_PUBLIC)


def test_groups_are_checked_before_anything_is_counted():
    with pytest.raises(ValueError, match="one identifier for each of 600 records"):
        pate().plan(X, Y, X_public=X_PUBLIC, groups=np.arange(599))
    with pytest.raises(ValueError, match="groups") as caught:
        pate().plan(X, Y, X_public=X_PUBLIC, groups=[*range(599), 0.123456])
    assert "0.123" not in str(caught.value)


def test_weights_are_clipped_and_count_in_part():
    weight = np.linspace(-1, 3, 600)
    cells = np.zeros((600, 1), dtype=int)
    table = count_ballots(cells, Y, n_cells=1, n_classes=3, sample_weight=weight) * GRID
    assert table.sum() == pytest.approx(np.clip(weight, 0, 1).sum(), abs=600 * GRID)
    weight = np.linspace(0, 1, 600)
    table = pate().poll(X, Y, X_public=X_PUBLIC, sample_weight=weight).counts
    assert table.sum() == pytest.approx(weight.sum(), abs=600 * GRID)
    with pytest.raises(ValueError, match="sample_weight must be from 0 to 1"):
        pate().poll(X, Y, X_public=X_PUBLIC, sample_weight=2 * weight)


# --- transformers --------------------------------------------------------------------------------


class CentredInBatch(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X - np.mean(X, axis=0)


class FilledInBatch(CentredInBatch):
    """Missing values get the mean of the rows beside them."""

    def transform(self, X):
        return np.where(np.isnan(X), np.nanmean(X, axis=0), X) * (1 + np.isnan(X).any())


class Remembering(CentredInBatch):
    def transform(self, X):
        self.n_rows_ = getattr(self, "n_rows_", 0) + len(X)
        return np.asarray(X) + self.n_rows_


@pytest.mark.parametrize("transformer", [CentredInBatch(), FilledInBatch(), Remembering()])
def test_transformers_whose_rows_influence_each_other_are_refused(transformer):
    clf = pate(voters(transformer=transformer))
    with pytest.raises(ValueError, match="depend on the rows beside it") as caught:
        clf.fit(X, Y, X_public=X_PUBLIC)
    assert "Nothing was spent" in str(caught.value)
    assert not hasattr(clf, "privacy_spent_")


class Upset(CentredInBatch):
    """Of rows where no public one lies, does something that outlives the call."""

    def __init__(self, what="fails"):
        self.what = what

    def fit(self, X, y=None):
        self.n_far_ = 0
        return self

    def transform(self, X):
        n_far = int((X[:, 0] == 1000.0).sum())
        if n_far and self.what == "fails":
            raise ValueError("far")
        if n_far and self.what == "sets":
            np.seterr(all="raise")
            warnings.simplefilter("error")
        if n_far and self.what == "keeps":
            self.n_far_ += n_far
        return X


@pytest.mark.parametrize("what", ["fails", "sets", "keeps"])
def test_a_record_that_upsets_the_transformer_moves_its_own_ballots_alone(what):
    clf = pate(voters(transformer=Upset(what)))
    before = clf.poll(X, Y, X_public=X_PUBLIC).counts
    state = np.geterr(), list(warnings.filters)
    changes = []
    for k in (0, 150, 299, 450, 599):
        upset = X.copy()
        upset[k, 0] = 1000.0
        votes = clone(clf).poll(upset, Y, X_public=X_PUBLIC)
        changes.append(np.abs(votes.counts - before).sum())
        assert votes.electorate._transformer.n_far_ == 0
    assert 1 <= max(changes) <= 2
    assert (np.geterr(), list(warnings.filters)) == state


def test_a_transformer_is_fitted_on_public_rows_alone():
    seen = []

    class Spy(StandardScaler):
        def fit(self, X, y=None, sample_weight=None):
            seen.append(np.array(X))
            return super().fit(X)

    pate(voters(transformer=Spy())).poll(X, Y, X_public=X_PUBLIC)
    assert seen
    for rows in seen:
        np.testing.assert_array_equal(rows, X_PUBLIC)


def test_a_matrix_product_that_rounds_by_the_batch_is_accepted():
    clf = pate(voters(transformer=make_pipeline(StandardScaler(), PCA(5))))
    assert clf.fit(X, Y, X_public=X_PUBLIC).score(X_PUBLIC, Y_PUBLIC) > 0.6


class RoundsByTheBatch(CentredInBatch):
    """Its numbers depend on how many rows there are, as if by rounding."""

    def transform(self, X):
        return X * (1 + 1e-6 * np.sin(len(X)))


def test_rows_near_the_border_of_cells_are_transformed_by_themselves():
    """Where rounding could move a record, no other record moves it: 402 lie on borders."""
    clf = pate(voters(transformer=RoundsByTheBatch(), adjacency="add_or_remove"))
    electorate = clf.poll(X, Y, X_public=X_PUBLIC).electorate
    assert electorate._rounding > 1e-8
    centers = electorate._centers
    middles = (centers[:, None] + centers)[np.triu_indices(len(centers), 1)] / 2
    on_borders = np.tile(middles, (7, 1))[:402]
    labels = np.arange(403) % 3
    more = np.vstack([on_borders, [[9.0] * 5]])
    for n in (402, 47, 3):  # between these and the next number the sine changes its sign
        fewer = clf.poll(more[:n], labels[:n], X_public=X_PUBLIC)
        joined = np.append(np.arange(n), 402)
        counts = clf.poll(more[joined], labels[joined], X_public=X_PUBLIC).counts
        assert np.abs(counts - fewer.counts).sum() == 1


@pytest.mark.parametrize("far", [1e3, 1e5, 1e9])
def test_one_public_row_far_from_all_does_no_harm(far):
    public = X_PUBLIC.copy()
    public[7, 0] = far
    clf = pate(voters(n_cells=40)).fit(X, Y, X_public=public)
    plain = pate(voters(n_cells=40)).fit(X, Y, X_public=X_PUBLIC)
    assert clf.score(X_PUBLIC, Y_PUBLIC) > plain.score(X_PUBLIC, Y_PUBLIC) - 0.05


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_principal_components_that_say_nothing_are_accepted(dtype):
    """Of images all of whose numbers follow from five, 95 components hold but rounding."""
    rng = np.random.default_rng(0)
    images = (rng.normal(size=(600, 5)) @ rng.normal(size=(5, 150))).astype(dtype)
    labels = (images[:, 0] > 0).astype(int)
    clf = pate(voters(n_cells=40), classes=[0, 1]).fit(
        images[200:], labels[200:], X_public=images[:200]
    )
    assert clf.score(images[:200], labels[:200]) > 0.7


def frames(n):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.1, np.nan, rng.normal(40, 10, n)),
            "count": rng.integers(0, 9, n),
            "city": pd.Categorical(rng.choice(["Oslo", "Bern", "Rome"], n)),
            "word": pd.Series(rng.choice(["a", "b", None], n), dtype=object),
            "nothing": np.full(n, np.nan),
            "flag": rng.random(n) < 0.5,
        }
    )
    y = ((frame["age"].fillna(40) > 40) ^ (frame["city"] == "Oslo")).to_numpy().astype(int)
    return frame, y


def test_frames_with_numbers_categories_and_missing_values():
    frame, y = frames(3000)
    clf = PATEClassifier(ReverseNeighbors(random_state=0), epsilon=3, classes=[0, 1])
    clf.fit(frame[:2000], y[:2000], X_public=frame[2000:])
    assert clf.score(frame[2000:], y[2000:]) > 0.6
    assert clf.predict_proba(frame[:5]).shape == (5, 2)


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csr_array, np.asarray])
def test_arrays_and_sparse_rows(form):
    counts = np.random.default_rng(0).poisson(np.exp(X[:, [0, 1, 2, 3] * 5] / 3))
    public = np.random.default_rng(1).poisson(np.exp(X_PUBLIC[:, [0, 1, 2, 3] * 5] / 3))
    clf = PATEClassifier(voters(), epsilon=8, classes=[0, 1, 2], random_state=0)
    clf.fit(form(counts.astype(float)), Y, X_public=form(public.astype(float)))
    assert clf.score(form(public.astype(float)), Y_PUBLIC) > 0.5


def test_columns_in_other_units_count_alike():
    """Wine's largest column is in units of hundreds, and alone decided which rows were near."""
    X, y = load_wine(return_X_y=True)
    public, later, _, y_later = train_test_split(X, y, test_size=0.5, random_state=0)
    clf = pate(ReverseNeighbors(), epsilon=20.0)
    assert clf.fit(later, y_later, X_public=public).score(later, y_later) > 0.93
    numbers = RowVectorizer().fit(public).transform(later)
    smaller = RowVectorizer().fit(public / 1024).transform(later / 1024)
    np.testing.assert_allclose(smaller, numbers, atol=1e-9)


def test_columns_in_one_unit_stay_as_they_are():
    np.testing.assert_array_equal(RowVectorizer().fit_transform(X_PUBLIC), X_PUBLIC)
    far = X_PUBLIC.copy()
    far[3, 1] = 1e9  # one row is no unit
    far[4, 2] = np.nan
    assert RowVectorizer().fit_transform(far).shape == X_PUBLIC.shape
    assert RowVectorizer().fit_transform(np.full((4, 2), np.nan)).shape == (4, 2)


def test_text_in_arrays_is_refused():
    for rows in (np.array([["a", "1"], ["b", "2"]]), np.array([["a", 1], ["b", 2]], dtype=object)):
        with pytest.raises(ValueError, match="takes arrays of numbers; give text"):
            RowVectorizer().fit(rows)


def test_images_need_no_flattening():
    images, labels = load_digits(return_X_y=True)
    images = images.reshape(-1, 8, 8)
    assert RowVectorizer().fit_transform(images[:50]).shape == (50, 64)
    student = make_pipeline(FunctionTransformer(lambda X: X.reshape(len(X), -1)), SVC())
    clf = PATEClassifier(ReverseNeighbors(), student=student, epsilon=20, classes=range(10))
    clf.fit(images[:1000], labels[:1000], X_public=images[1000:1500])
    assert clf.score(images[1500:], labels[1500:]) > 0.5


# --- what is spent -------------------------------------------------------------------------------


def test_discrete_laplace_noise_spends_no_delta():
    clf = pate(epsilon=0.25).fit(X, Y, X_public=X_PUBLIC)
    spent = clf.privacy_spent_
    assert (spent.epsilon, spent.delta, spent.method, spent.arithmetic) == (
        0.25,
        0,
        "pure",
        "exact",
    )
    assert spent.n_teachers is None and not hasattr(clf, "n_teachers_")
    assert "plus" not in spent.summary() and "teachers" not in spent.summary()
    assert clf.plan(X, Y, X_public=X_PUBLIC).spent.epsilon == 0.25


@pytest.mark.parametrize(
    ("mechanism", "arithmetic"),
    [
        (GaussianMechanism(), "exact"),
        (GaussianMechanism(noise="continuous"), "real"),
        (LaplaceMechanism(noise="continuous"), "real"),
    ],
)
def test_other_noise_spends_delta(mechanism, arithmetic):
    spent = pate(aggregator=mechanism, epsilon=1.0).fit(X, Y, X_public=X_PUBLIC).privacy_spent_
    assert 1 - 1e-6 <= spent.epsilon <= 1.0
    assert (spent.delta, spent.arithmetic) == (1e-5, arithmetic)


def test_noise_that_is_set_must_fit_the_cap():
    with pytest.raises(BudgetExceededError, match="Nothing was spent"):
        pate(aggregator=LaplaceMechanism(1.0), epsilon=1.9).fit(X, Y, X_public=X_PUBLIC)
    clf = pate(aggregator=LaplaceMechanism(1.0), epsilon=None).fit(X, Y, X_public=X_PUBLIC)
    assert clf.privacy_spent_.epsilon == 2.0


def test_fits_add_up_in_a_ledger(tmp_path):
    ledger = PrivacyLedger(tmp_path / "ledger", epsilon=1.0, delta=1e-5)
    for _ in range(2):
        pate(epsilon=0.4, ledger=ledger, random_state=None).fit(X, Y, X_public=X_PUBLIC)
    assert 0.4 < ledger.epsilon_spent <= 0.8
    with pytest.raises(BudgetExceededError):
        pate(epsilon=0.4, ledger=ledger, random_state=None).fit(X, Y, X_public=X_PUBLIC)


# --- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ({"n_teachers": 50}, "n_teachers=50 says how teachers are made"),
        ({"partition": HashPartition()}, "partition=.* says how teachers are made"),
        ({"n_queries": 20}, "n_queries=20 says how many rows"),
        ({"query_strategy": "uncertainty"}, "query_strategy='uncertainty' says which rows"),
        ({"accounting": "ptr"}, "accounting='ptr' says how the cost"),
        ({"aggregator": GNMax(40.0)}, "must be a TableMechanism"),
        ({"aggregator": [LaplaceMechanism()]}, "must be a TableMechanism"),
        ({"epsilon": None}, "epsilon is None"),
        ({"base_estimator": voters(n_cells=0)}, "n_cells of ReverseNeighbors must be"),
        ({"base_estimator": voters(n_neighbors=1.5)}, "n_neighbors of ReverseNeighbors must be"),
        ({"base_estimator": voters(smoothing=-1.0)}, "smoothing of ReverseNeighbors must be"),
        ({"base_estimator": voters(smoothing="no")}, "smoothing of ReverseNeighbors must be"),
        ({"base_estimator": voters(smoothing=9e-4)}, "a number from 0.001 to 1000; got 0.0009"),
        ({"base_estimator": voters(smoothing=1e200)}, "a number from 0.001 to 1000; got 1e"),
        ({"base_estimator": voters(random_state=-1)}, "random_state of ReverseNeighbors must be"),
        ({"base_estimator": voters(adjacency="add")}, "'replace' or 'add_or_remove'"),
    ],
)
def test_what_makes_no_sense_together_is_refused(params, reason):
    clf = pate().set_params(**params)
    with pytest.raises(ValueError, match=reason):
        clf.fit(X, Y, X_public=X_PUBLIC)
    assert not hasattr(clf, "privacy_spent_")


def test_teachers_do_not_vote_in_tables():
    clf = PATEClassifier(LogisticRegression(), aggregator=LaplaceMechanism(), classes=[0, 1, 2])
    with pytest.raises(ValueError, match="aggregator"):
        clf.fit(X, Y, X_public=X_PUBLIC)


def test_sites_are_refused():
    sites = Sites(lambda name: None, ["a", "b"])
    with pytest.raises(ValueError, match="lets records vote"):
        pate().fit(sites, None, X_public=X_PUBLIC)


def test_a_width_of_ones_own_smooths_more_or_less():
    """Stripes of alternating labels are seen by a narrow process, not by a wide one."""
    rows = np.random.default_rng(0).random((2000, 1))
    labels = np.floor(8 * rows[:, 0]).astype(int) % 2
    spreads = []
    for width in (0.3, 100.0):
        clf = pate(voters(smoothing=width), epsilon=1.0)
        clf.fit(rows[200:], labels[200:], X_public=rows[:200])
        spreads.append(clf.public_soft_labels_.std(axis=0).mean())
    assert spreads[1] < spreads[0] / 2


def test_a_large_delta_is_warned_of_once():
    clf = pate(aggregator=GaussianMechanism(), delta=0.01)
    with pytest.warns(UserWarning, match="delta=0.01 is not below one over") as caught:
        clf.fit(X, Y, X_public=X_PUBLIC)
    assert len(caught) == 1


@pytest.mark.parametrize(
    ("params", "n_voters"),
    [
        ({}, "there are 600 private records"),
        ({"n_neighbors": 2}, "there are 600 private records"),
        ({"adjacency": "add_or_remove"}, "there are 300 public rows, as many records as"),
    ],
)
def test_noise_that_drowns_the_ballots_is_warned_of_before_it_is_paid_for(params, n_voters):
    clf = pate(voters(**params), epsilon=0.001)
    with pytest.warns(UserWarning, match=n_voters) as caught:
        votes = clf.poll(X, Y, X_public=X_PUBLIC)
    assert len(caught) == 1
    assert n_voters in clf.plan(X, Y, X_public=X_PUBLIC).obstacles[0]
    with pytest.raises(BadPlanError, match=n_voters):
        clf.fit(X, Y, X_public=X_PUBLIC)
    with pytest.raises(BadPlanError, match=n_voters):
        clf.fit_votes(votes, X_PUBLIC)
    clf.set_params(on_bad_plan="warn")
    with pytest.warns(UserWarning, match=n_voters):
        clf.fit_votes(votes, X_PUBLIC)
    with pytest.warns(UserWarning, match=n_voters) as caught:
        clf.fit(X, Y, X_public=X_PUBLIC)
    assert sum(n_voters in str(one.message) for one in caught) == 1
    assert clf.predict(X_PUBLIC).shape == (300,)


def test_the_warning_says_nothing_of_the_number_of_records_where_it_is_private():
    texts = set()
    for n_records in (600, 599, 10):
        with pytest.warns(UserWarning, match="the noise drowns") as caught:
            pate(voters(adjacency="add_or_remove"), epsilon=0.001).poll(
                X[:n_records], Y[:n_records], X_public=X_PUBLIC
            )
        texts.add(str(caught[0].message))
    assert len(texts) == 1


def test_rates_of_one_class_train_students_that_take_weights():
    clf = pate().fit(X, Y, X_public=X_PUBLIC)
    surface = clf.table_.surface
    surface = surface._replace(
        overall=np.array([0.998, 0.001, 0.001]), weights=0 * surface.weights, power=1.0
    )
    vars(clf.table_)["surface"] = surface
    clf.fit_student(X_PUBLIC, LogisticRegression())
    assert list(clf.student_.classes_) == [0, 1, 2]
    proba = clf.predict_proba(X_PUBLIC)
    assert proba[:, 0].min() > 0.99 and proba[:, 1:].max() < 0.005
    with pytest.warns(UserWarning, match="labels that were released are of one class"):
        clf.fit_student(X_PUBLIC, GaussianProcessClassifier())
    assert (clf.predict(X_PUBLIC) == clf.classes_[0]).all()


def test_a_bare_table_is_refused():
    table = pate().poll(X, Y, X_public=X_PUBLIC).counts
    with pytest.raises(ValueError, match="pass what poll returned"):
        pate().fit_votes(table, X_PUBLIC)
    votes = pate().poll(X, Y, X_public=X_PUBLIC)
    with pytest.raises(ValueError, match="300 rows and X_public 299"):
        pate().fit_votes(votes, X_PUBLIC[1:])


def test_public_rows_in_another_order_are_refused(tmp_path):
    ledger = PrivacyLedger(tmp_path / "spent", epsilon=50.0)
    clf = pate(ledger=ledger, random_state=None)
    votes = clf.poll(X, Y, X_public=X_PUBLIC)
    swapped = X_PUBLIC.copy()
    swapped[[3, 200]] = swapped[[200, 3]]
    for other in (X_PUBLIC[::-1], swapped, X_PUBLIC[:, ::-1], X_PUBLIC + 1e-3, X_PUBLIC * np.nan):
        with pytest.raises(ValueError, match="X_public is not what was voted on"):
            clf.fit_votes(votes, other)
    for failing in (X_PUBLIC[:, :4], np.full(X_PUBLIC.shape, "a", dtype=object)):
        with pytest.raises(ValueError, match="X_public is not what was voted on.*ValueError"):
            clf.fit_votes(votes, failing)
    assert ledger.epsilon_spent == 0.0
    for same in (X_PUBLIC, X_PUBLIC.tolist(), PublicData(X_PUBLIC), X_PUBLIC.astype(np.float32)):
        clf.fit_votes(votes, same)


def test_frames_in_another_order_are_refused():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=300), "b": rng.choice(["x", "y", None], 300)})
    y = rng.integers(0, 3, 200)
    clf = pate()
    votes = clf.poll(frame[:200], y, X_public=frame[200:])
    clf.fit_votes(votes, frame[200:].copy())
    for other in (frame[200:][::-1], frame[200:].rename(columns={"a": "c"})):
        with pytest.raises(ValueError, match="X_public is not what was voted on"):
            clf.fit_votes(votes, other)


@pytest.mark.parametrize(
    ("params", "told"),
    [
        ({"adjacency": "add_or_remove"}, "adjacency='replace'"),
        ({"n_neighbors": 2}, "n_neighbors=1"),
    ],
)
def test_votes_that_were_cast_under_another_guarantee_are_refused(params, told):
    votes = pate().poll(X, Y, X_public=X_PUBLIC)
    clf = pate(voters(**params))
    with pytest.raises(ValueError, match=f"or set base_estimator__{told}"):
        clf.fit_votes(votes, X_PUBLIC)
    (name,) = params
    clf.set_params(**{f"base_estimator__{name}": getattr(voters(), name)})
    assert clf.fit_votes(votes, X_PUBLIC).privacy_spent_.adjacency == "replace one record"
    # what is no part of the guarantee is that of the votes
    other = pate(voters(n_cells=5, smoothing=0.5)).fit_votes(votes, X_PUBLIC)
    assert other.curator_.votes.shape == (12, 3)


def test_votes_of_teachers_are_no_ballots():
    teachers = PATEClassifier(LogisticRegression(), n_teachers=5, classes=[0, 1, 2])
    votes = teachers.poll(X, Y, X_public=X_PUBLIC)
    with pytest.raises(ValueError, match="nor votes of teachers say which"):
        pate().fit_votes(votes, X_PUBLIC)


@pytest.mark.parametrize("kind", [SystemExit, GeneratorExit, RecursionError])
def test_errors_of_all_kinds_on_a_row_silence_that_row_alone(kind):
    def refuse(rows):
        if (np.asarray(rows) > 100).any():
            raise kind(f"secret {rows}")
        return rows

    odd = X.copy()
    odd[77] = 1000.0
    votes = pate(voters(transformer=FunctionTransformer(refuse))).poll(odd, Y, X_public=X_PUBLIC)
    assert votes.counts.sum() == 599


def test_an_interruption_stops_the_fit_and_quotes_no_row():
    def interrupted(rows):
        if (np.asarray(rows) == 1234.5).any():  # no public row, nor an odd copy of one
            raise KeyboardInterrupt(f"secret {rows}")
        return rows

    odd = X.copy()
    odd[77] = 1234.5
    clf = pate(voters(transformer=FunctionTransformer(interrupted)))
    clf.plan(odd, Y, X_public=X_PUBLIC)
    with pytest.raises(KeyboardInterrupt) as caught:
        clf.fit(odd, Y, X_public=X_PUBLIC)
    assert caught.value.args == () and caught.value.__context__ is None
    assert not hasattr(clf, "privacy_spent_")


# --- from the table to labels --------------------------------------------------------------------


def test_what_is_published():
    clf = pate().fit(X, Y, X_public=X_PUBLIC)
    rates = clf.public_soft_labels_
    assert rates.shape == (300, 3)
    np.testing.assert_allclose(rates.sum(axis=1), 1)
    assert (rates >= 0).all()
    np.testing.assert_array_equal(clf.query_indices_, np.flatnonzero(clf.public_labels_ >= 0))
    assert clf.privacy_spent_.n_answered == len(clf.query_indices_)
    assert clf.score(X_PUBLIC, Y_PUBLIC) > 0.7


def test_labels_are_dealt_by_the_rates():
    rates = np.tile([0.2, 0.5, 0.3], (40, 1))
    labels = deal_labels(rates, np.arange(40) % 2)
    for cell in range(2):
        counts = np.bincount(labels[cell::2], minlength=3)
        assert np.abs(counts - 20 * rates[0]).max() <= 1
    assert deal_labels(np.eye(3), np.zeros(3, dtype=int)).tolist() == [0, 1, 2]


def test_students_that_learn_from_unlabelled_rows_get_the_surest_labels():
    rng = np.random.default_rng(0)
    second = np.sort(rng.beta(0.3, 1.2, size=200))
    rates = np.stack([1 - second, second], axis=1)
    labels = sure_labels(rates)
    n_second = int(np.ceil(second.sum() / 2))
    np.testing.assert_array_equal(np.flatnonzero(labels == 1), np.arange(200 - n_second, 200))
    n_first = int(np.ceil((1 - second).sum() / 2))
    np.testing.assert_array_equal(np.flatnonzero(labels == 0), np.arange(n_first))
    flat = sure_labels(np.tile([0.2, 0.8], (50, 1)))
    assert np.bincount(flat + 1).tolist() == [25, 5, 20]


def test_a_student_that_takes_unlabelled_rows_gets_all_rows():
    student = make_pipeline(Recorder())
    clf = pate(student=student).fit(X, Y, X_public=X_PUBLIC)
    seen = clf.student_[-1].targets_
    np.testing.assert_array_equal(seen, sure_labels(clf.public_soft_labels_))
    assert -1 in seen


class Recorder(LogisticRegression):
    """Keeps what it is to learn."""

    accepts_unlabeled = True

    def fit(self, X, y):
        self.targets_ = y
        return super().fit(X[y >= 0], y[y >= 0])


@pytest.mark.parametrize(
    "student",
    [
        LogisticRegression(),
        make_pipeline(StandardScaler(), LogisticRegression()),
        KNeighborsClassifier(),
        SVC(),
        SoftLabelClassifier(LogisticRegression()),
    ],
)
def test_students_of_all_kinds(student):
    clf = pate(student=student).fit(X, Y, X_public=X_PUBLIC)
    assert clf.score(X_PUBLIC, Y_PUBLIC) > 0.7


def test_an_imbalanced_problem_keeps_its_rates():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(6000, 2))
    chance = 0.02 + 0.3 * (features[:, 0] > 1)  # nowhere the majority
    labels = (rng.random(6000) < chance).astype(int)
    clf = PATEClassifier(voters(n_cells=30), epsilon=2, classes=[0, 1], random_state=0)
    clf.fit(features[:4000], labels[:4000], X_public=features[4000:])
    proba = clf.predict_proba(features[4000:])[:, 1]
    assert proba.mean() == pytest.approx(chance.mean(), abs=0.03)
    high = features[4000:, 0] > 1.3
    assert proba[high].mean() > 2 * proba[~high].mean()


# --- what is around a fit ------------------------------------------------------------------------


def test_poll_once_and_fit_often():
    votes = pate().poll(X, Y, X_public=X_PUBLIC)
    once = pate().fit(X, Y, X_public=X_PUBLIC)
    again = pate().fit_votes(votes, X_PUBLIC)
    np.testing.assert_array_equal(once.public_soft_labels_, again.public_soft_labels_)
    other = pate(aggregator=GaussianMechanism(), student=SVC()).fit_votes(votes, X_PUBLIC)
    assert other.score(X_PUBLIC, Y_PUBLIC) > 0.7
    assert other.fit_student(X_PUBLIC, KNeighborsClassifier()).score(X_PUBLIC, Y_PUBLIC) > 0.7
    with pytest.raises(TypeError, match="private"):
        pickle.dumps(votes)
    assert repr(votes) == "Votes(private)"


def test_a_seed_reproduces_the_fit():
    first = pate().fit(X, Y, X_public=X_PUBLIC)
    second = pate().fit(X, Y, X_public=X_PUBLIC)
    np.testing.assert_array_equal(first.public_soft_labels_, second.public_soft_labels_)
    other = pate(random_state=1).fit(X, Y, X_public=X_PUBLIC)
    assert (other.public_soft_labels_ != first.public_soft_labels_).any()


def test_pickles_hold_nothing_private():
    clf = pate(student=LogisticRegression(), random_state=None).fit(X, Y, X_public=X_PUBLIC)
    assert clf.curator_.votes.shape == (12, 3)
    loaded = pickle.loads(pickle.dumps(clf))
    assert not hasattr(loaded, "curator_")
    np.testing.assert_array_equal(loaded.predict(X_PUBLIC), clf.predict(X_PUBLIC))
    assert len(pickle.dumps(clf)) < 100_000
    assert set(vars(loaded.base_estimator)) == set(voters().get_params())


def test_in_pipelines_with_public_data():
    model = make_pipeline(StandardScaler(), pate())
    model.fit(X, Y, pateclassifier__X_public=PublicData((X_PUBLIC - X.mean(0)) / X.std(0)))
    assert model.score(X_PUBLIC, Y_PUBLIC) > 0.7


def test_diagrams_show_records_as_voters():
    clf = pate()
    for shown in (clf, clf.fit(X, Y, X_public=X_PUBLIC)):
        page = shown._repr_html_()
        assert "electorate: ReverseNeighbors" in page
        assert "aggregator: LaplaceMechanism" in page
        assert "student: Pipeline" in page
        assert "teachers:" not in page and "GNMax" not in page
    assert "A noisy table of the records" in page


def test_a_plan_and_what_was_spent_say_that_records_vote():
    clf = pate(epsilon=1.0, random_state=None)
    plan = clf.plan(X, Y, X_public=X_PUBLIC)
    assert "stages=[(LaplaceMechanism(scale=2.0), 300)], epsilon=1.0, method='pure'" in repr(plan)
    spent = clf.fit(X, Y, X_public=X_PUBLIC).privacy_spent_
    assert "n_teachers=None, n_queries=300, n_answered=300, arithmetic='exact'" in repr(spent)
    text = spent.summary()
    assert "a factor e^1 (epsilon), without exception (delta is 0)." in text
    assert "A noisy table of the records' ballots was released, and 300 public rows got" in text
    assert "PATEClassifier(base_estimator=ReverseNeighbors(" in repr(clf)


@pytest.mark.parametrize(
    ("display", "args", "params"),
    [
        (PrivacySpentDisplay, (), {}),
        (PrivacySpentDisplay, (), {"private": False}),
        (BudgetDisplay, (), {}),
        (MarginDisplay, (), {}),
        (LabelAccuracyDisplay, (Y_PUBLIC,), {"param_name": "scale", "param_range": [1.0, 2.0]}),
    ],
)
def test_displays_of_queries_say_that_there_are_none(display, args, params):
    clf = pate().fit(X, Y, X_public=X_PUBLIC)
    for shown in (clf, pickle.loads(pickle.dumps(clf))):
        with pytest.raises(ValueError, match="records voted in a table that was released at once"):
            display.from_estimator(shown, *args, **params)


def test_good_out_of_the_box():
    features, labels = load_iris(return_X_y=True)
    clf = PATEClassifier(ReverseNeighbors(), epsilon=20, classes=[0, 1, 2])
    assert (
        clf.fit(features[::2], labels[::2], X_public=features[1::2]).score(
            features[1::2], labels[1::2]
        )
        > 0.8
    )


def test_private_searches_choose_among_tables():
    grid = {"base_estimator__n_cells": [4, 12], "student": [SVC(), LogisticRegression()]}
    search = PrivateGridSearchCV(
        pate(random_state=None, epsilon=None), grid, epsilon=6.0, random_state=0, n_trials=6
    )
    search.fit(X, Y, X_PUBLIC, X_val=X_PUBLIC[:100], y_val=Y_PUBLIC[:100])
    assert search.score(X_PUBLIC, Y_PUBLIC) > 0.6
    spent = search.privacy_spent_
    assert spent.epsilon <= 6.0 and spent.n_teachers is None and spent.method == "tuning"


def test_the_curator_sees_the_table():
    clf = pate(aggregator=GaussianMechanism(), epsilon=1.0).fit(X, Y, X_public=X_PUBLIC)
    assert clf.curator_.votes.sum() == 600
    assert clf.curator_.epsilon() == clf.privacy_spent_.epsilon
    assert repr(clf.curator_) == "Curator(private)"
    with pytest.raises(TypeError, match="private"):
        pickle.dumps(clf.curator_)


@pytest.mark.parametrize(
    "identifiers",
    [
        np.arange(51),
        list(np.arange(51)),
        [int(k) for k in range(51)],
        pd.Series(list(np.arange(51)), dtype=object),
        [uuid.UUID(int=k) for k in range(51)],
        [datetime.date(2020, 1, 1) + datetime.timedelta(k) for k in range(51)],
        [("house", k) for k in range(51)],
        [*range(50), "x"],
        [True, *range(2, 52)],
    ],
    ids=["array", "numpy", "int", "series", "uuid", "date", "tuple", "mixed", "true"],
)
def test_a_group_is_one_whatever_its_identifiers_are(identifiers):
    place = np.minimum(np.arange(600), 50)  # the last group has 550 records
    groups = [list(identifiers)[k] for k in place]
    if isinstance(identifiers, np.ndarray):
        groups = identifiers[place]
    if isinstance(identifiers, pd.Series):
        groups = pd.Series(groups, dtype=object)
    table = pate().poll(X, Y, X_public=X_PUBLIC, groups=groups).counts
    assert 51 - 600 * GRID <= table.sum() <= 51


class SharesItsMaximum(CentredInBatch):
    def transform(self, X):
        return X / np.max(X)


class ShiftsOneColumn(CentredInBatch):
    def transform(self, X):
        X = np.array(X, dtype=float)
        X[:, 0] -= np.tanh(np.nanmean(X[:, 0]))
        return X


class FillsByTheBatch(CentredInBatch):
    def transform(self, X):
        return np.where(np.isnan(X), np.nanmean(X, axis=0), X)


@pytest.mark.parametrize(
    ("transformer", "rows"),
    [
        (FillsByTheBatch(), X),
        (SharesItsMaximum(), np.maximum((X * 0).astype(int) + 7, 7)),
        (ShiftsOneColumn(), np.column_stack([X, np.full(600, 1.7e9)])),
    ],
)
def test_odd_rows_show_what_public_rows_do_not(transformer, rows):
    with pytest.raises(ValueError, match="depend on the rows beside it"):
        pate(voters(transformer=transformer)).plan(rows, Y, X_public=rows[:300].copy())


KNOWN = ["a", "b", "c"]


def fill_missing(frame):
    return frame.fillna(frame.mode().iloc[0])


def fill_unknown(frame):
    """Texts that are not known get the one that most rows beside them have."""
    words = frame["z"].astype(object).where(frame["z"].notna(), "missing")
    known = words.where(words.isin([*KNOWN, "missing"]))
    return pd.DataFrame({"z": known.fillna(known.mode()[0] if known.notna().any() else "c")})


def scale_by_last(frame):
    return frame.astype(float).fillna(0) * (1 + frame["z"].isna().to_numpy().mean())


def since_latest(frame):
    return (frame["z"].max() - frame["z"]).dt.total_seconds().fillna(0).to_frame()


def texts(dtype):
    return pd.Series(KNOWN * 100, dtype=dtype)


def coded(fill):
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return make_pipeline(FunctionTransformer(fill), encoder)


FIXED_DAY = pd.Timestamp("2020-01-01")


@pytest.mark.parametrize(
    ("column", "transformer"),
    [
        *((texts(dtype), coded(fill_missing)) for dtype in (object, "str", "string", "category")),
        *((texts(dtype), coded(fill_unknown)) for dtype in (object, "str", "string", "category")),
        (pd.Series([1, 2, 3] * 100, dtype="Int64"), FunctionTransformer(scale_by_last)),
        (pd.Series([1.0, 2, 3] * 100, dtype="Float64"), FunctionTransformer(scale_by_last)),
        (pd.Series([True] * 300, dtype="boolean"), FunctionTransformer(scale_by_last)),
        (pd.Series([FIXED_DAY] * 300), FunctionTransformer(since_latest)),
        (pd.Series([pd.Timedelta(1, "D")] * 300), FunctionTransformer(since_latest)),
    ],
)
def test_odd_values_of_every_kind_of_column_are_tried(column, transformer):
    rows = pd.DataFrame({"z": column.repeat(2).to_numpy()}).astype({"z": column.dtype})
    clf = pate(voters(transformer=transformer))
    with pytest.raises(ValueError, match="depend on the rows beside it"):
        clf.plan(rows, Y, X_public=pd.DataFrame({"z": column}))


def test_a_column_that_fails_at_odd_values_hides_no_other():
    """Words that are not known are an error in one column, and filled in the other."""
    rows = pd.DataFrame({"first": pd.Categorical(KNOWN * 200), "z": KNOWN * 200})
    transformer = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["first"]), (coded(fill_unknown), ["z"])
    )
    with pytest.raises(ValueError, match="depend on the rows beside it"):
        pate(voters(transformer=transformer)).plan(rows, Y, X_public=rows[:300].copy())


def fill_texts(texts):
    """Missing texts get the one that most rows have."""
    texts = pd.DataFrame(np.asarray(texts, dtype=object))
    return texts.fillna(texts.mode().iloc[0]).to_numpy()


def none_by_mode(texts):
    """The same, for None alone."""
    most = pd.Series([text for text in texts[:, 0] if isinstance(text, str)]).mode()
    most = "c" if most.empty else most[0]
    return np.array([[most if text is None else str(text)] for (text,) in texts], dtype=object)


@pytest.mark.parametrize("fill", [fill_texts, none_by_mode])
@pytest.mark.parametrize("dtype", [object, str])
def test_odd_values_of_arrays_of_texts_are_tried(dtype, fill):
    rows = np.array(KNOWN * 200, dtype=dtype)[:, None]
    with pytest.raises(ValueError, match="depend on the rows beside it"):
        pate(voters(transformer=coded(fill))).plan(rows, Y, X_public=rows[:300].copy())


def shares_of_columns(rows):
    return rows[:, :2].toarray() + 1.0 * (rows[:, -2:].count_nonzero() > 0)


def fill_by_batch(rows):
    rows = rows.toarray()
    return np.where(np.isnan(rows), np.isnan(rows).mean(), rows)


@pytest.mark.parametrize("transform", [shares_of_columns, fill_by_batch])
def test_odd_entries_of_sparse_rows_are_tried(transform):
    rows = sparse.csr_matrix(np.column_stack([X, np.zeros((600, 2))]))
    transformer = FunctionTransformer(transform, accept_sparse=True)
    with pytest.raises(ValueError, match="depend on the rows beside it"):
        pate(voters(transformer=transformer)).plan(rows, Y, X_public=rows[:300].copy())


def test_odd_values_keep_the_dtype_of_the_column():
    frame, _ = frames(12)
    batches = list(_beside_odd_rows(frame))
    assert len(batches) == 8
    for batch in batches:
        assert batch.shape == (24, 6)
        assert [d.name for d in batch.dtypes] == [d.name for d in frame.dtypes]
        pd.testing.assert_frame_equal(batch[6:18], frame, check_categorical=False)


def test_an_embedding_that_was_fitted_before_is_used_as_it_is():
    embedding = FrozenEstimator(PCA(5).fit(X_PUBLIC))
    clf = pate(voters(transformer=embedding)).fit(X, Y, X_public=X_PUBLIC)
    assert clf.score(X_PUBLIC, Y_PUBLIC) > 0.6


def test_columns_of_all_kinds_have_a_default():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "flag": rng.random(300) < 0.5,
            "maybe": pd.array(rng.choice([True, False, None], 300), dtype="boolean"),
            "code": pd.Categorical(rng.integers(0, 3, 300)),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 5, 300), "D"),
            "mixed": pd.Series(rng.choice([1, "one", None], 300), dtype=object),
        }
    )
    y = frame["flag"].to_numpy().astype(int)
    clf = PATEClassifier(ReverseNeighbors(), epsilon=5, classes=[0, 1])
    assert clf.fit(frame[:200], y[:200], X_public=frame[200:]).score(frame, y) > 0.6


@pytest.mark.parametrize(
    "dtype",
    ["Int64", "Int8", "Float64", "Sparse[int]", "Sparse[float]", "timedelta64[s]", "uint8"],
)
def test_numbers_of_every_dtype_are_ranked_alike(dtype):
    numbers = pd.Series(np.random.default_rng(0).integers(0, 9, 300))
    column = pd.to_timedelta(numbers, "s") if dtype[0] == "t" else numbers
    plain = pd.DataFrame({"y": X[:300, 0], "z": numbers.astype(float)})
    frame = pd.DataFrame({"y": X[:300, 0], "z": column.astype(dtype)})
    if dtype[0] in "IFt" or dtype == "Sparse[float]":
        missing = numbers.index % 7 == 0
        plain["z"] = plain["z"].mask(missing)
        frame["z"] = frame["z"].mask(missing)
    assert frame["z"].dtype == pd.Series([], dtype=dtype).dtype
    expected = RowVectorizer().fit(plain).transform(plain)
    np.testing.assert_array_equal(RowVectorizer().fit(frame).transform(frame), expected)
    clf = PATEClassifier(ReverseNeighbors(), epsilon=5, classes=[0, 1, 2])
    clf.fit(frame[:200], Y[:200], X_public=frame[200:])
    assert clf.predict(frame).shape == (300,)


@pytest.mark.parametrize("dtype", ["boolean", "Sparse[bool]", "string", "period[D]"])
def test_others_than_numbers_are_one_hot(dtype):
    values = {"s": ["a", "b"], "p": pd.period_range("2020", periods=2)}.get(dtype[0], [True, False])
    frame = pd.DataFrame({"z": pd.Series(list(values) * 50, dtype=dtype)})
    np.testing.assert_array_equal(RowVectorizer().fit(frame).transform(frame).sum(axis=0), [50, 50])


def test_searches_plan_each_number_of_ballots():
    grid = {"base_estimator__n_neighbors": [3, 1]}
    search = PrivateGridSearchCV(
        pate(random_state=None, epsilon=None), grid, epsilon=4.0, random_state=0, n_trials=4
    )
    search.fit(X, Y, X_PUBLIC, X_val=X_PUBLIC[:100], y_val=Y_PUBLIC[:100])
    best = search.best_estimator_
    assert best.aggregator_.scale * best.epsilon == pytest.approx(
        2 * search.best_params_["base_estimator__n_neighbors"]
    )


def test_huge_public_numbers_and_tables_of_ones_own_are_refused():
    with pytest.raises(ValueError, match="infinite, huge or missing"):
        pate(voters(transformer=FunctionTransformer())).plan(X, Y, X_public=X_PUBLIC * 1e154)

    class Mine(ReverseNeighbors):
        pass

    with pytest.raises(ValueError, match="is not checked"):
        pate(Mine(random_state=0)).plan(X, Y, X_public=X_PUBLIC)


# --- mechanisms of one's own ---------------------------------------------------------------------


class Own(TableMechanism):
    """Laplace noise, as a user would write it."""

    noise_std = 2.0

    def noisy(self, table, random_state=None):
        self.table_ = table
        rng = np.random.default_rng(random_state)
        return np.asarray(table) + rng.laplace(scale=math.sqrt(2), size=np.shape(table))

    def cost(self, n_changed, orders=DEFAULT_ORDERS):
        return laplace_table_cost(math.sqrt(2), n_changed, orders, discrete=False)


def test_a_mechanism_of_ones_own_releases_tables_and_keeps_none():
    own = Own()
    clf = pate(aggregator=own).fit(X, Y, X_public=X_PUBLIC)
    assert clf.score(X_PUBLIC, Y_PUBLIC) > 0.7
    assert clf.privacy_spent_.epsilon == pytest.approx(math.sqrt(2), rel=1e-2)
    assert clf.privacy_spent_.arithmetic == "real"
    assert not hasattr(own, "table_") and not hasattr(clf.aggregator_, "table_")
    assert not hasattr(clf.aggregator, "table_")


def broken(**methods):
    return type("Broken", (Own,), methods)()


def not_a_number(self, table, random_state=None):
    return np.full(np.shape(table), np.nan)


def own_cost(**values):
    def cost(self, n_changed, orders=DEFAULT_ORDERS):
        values_of_all = {"rdp": np.ones(len(orders)), "mu_squared": 1.0, "pure": 1.0, **values}
        return Cost(**values_of_all)

    return cost


def drawn_otherwise():
    own = Own()
    own.noisy = lambda table, random_state=None: np.asarray(table, dtype=float)
    return own


BROKEN = {
    "noisy of an object": (drawn_otherwise(), "Own changes how the table is drawn"),
    "noisy, NaN": (broken(noisy=not_a_number, cost=Own.cost), "must return finite floats"),
    "noisy, shape": (
        broken(noisy=lambda self, table, random_state=None: table[0], cost=Own.cost),
        "must return finite floats, a table of the shape that it is given",
    ),
    "noisy, whole": (
        broken(noisy=lambda self, table, random_state=None: table.astype(int), cost=Own.cost),
        "must return finite floats",
    ),
    "noisy, fails": (
        broken(noisy=lambda self, table: table, cost=Own.cost),
        "failed when tried on a made-up table .* nothing was spent. TypeError",
    ),
    "noisy alone": (
        broken(noisy=Own.noisy),
        "changes how the table is drawn and inherits its cost",
    ),
    "cost, a number": (broken(cost=lambda self, n_changed: 1.0), "must return rdp.Cost"),
    "cost, one order": (broken(cost=own_cost(rdp=np.ones(1))), "must return rdp.Cost"),
    "cost, NaN": (broken(cost=own_cost(rdp=np.full(204, np.nan))), "numbers of at least 0"),
    "cost, negative": (broken(cost=own_cost(pure=-1.0)), "numbers of at least 0"),
    "cost, delta": (broken(cost=own_cost(delta=1.0)), "a delta below 1"),
    "pure, delta": (broken(cost=own_cost(delta=1e-9), is_pure=True), "says is_pure"),
    "noise_std": (broken(noise_std=None), "noise_std must be a finite number above 0"),
    "with_scale": (broken(with_scale=lambda self, scale: self), "with_scale of Broken must"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_mechanism_of_ones_own_is_tried_before_anything_is_spent(case, tmp_path):
    mechanism, reason = BROKEN[case]
    ledger = PrivacyLedger(tmp_path / "spent", epsilon=50.0)
    clf = pate(aggregator=mechanism, ledger=ledger, random_state=None)
    for method in (clf.plan, clf.fit):
        with pytest.raises((ValueError, TypeError), match=reason):
            method(X, Y, X_public=X_PUBLIC)
    assert ledger.epsilon_spent == 0.0


def test_a_mechanism_that_fails_on_ballots_quotes_none():
    def noisy(self, table, random_state=None):
        if len(table) > 3:  # not made up
            raise ValueError(f"ballots {table.tolist()}")
        return table + 1.0

    clf = pate(aggregator=broken(noisy=noisy, cost=Own.cost))
    with pytest.raises(ValueError, match="could not draw a table: ValueError") as caught:
        clf.fit(X, Y, X_public=X_PUBLIC)
    assert caught.value.__context__ is None and "ballots [" not in str(caught.value)


def test_noise_is_said_before_the_table_is_seen():
    class Tells(Own):
        @property
        def noise_std(self):
            return 2.0 + getattr(self, "table_", np.zeros(1)).sum()

    said = []
    clf = pate(aggregator=Tells())
    votes = clf.poll(X, Y, X_public=X_PUBLIC)
    released = votes.electorate.released

    def heard(noisy, *, noise_std):
        said.append(noise_std)
        return released(noisy, noise_std=noise_std)

    votes.electorate.released = heard
    clf.fit_votes(votes, X_PUBLIC)
    assert said == [2.0]


def test_few_public_rows_for_many_classes_are_told_of():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2000, 2)), np.arange(2000) % 6
    clf = PATEClassifier(epsilon=8.0, classes=range(6))
    few = clf.plan(X, y, X_public=rng.normal(size=(20, 2)))
    assert "X_public has 20 rows, 20 of them different" in few.advice[0]
    assert "there are 6 classes: few to tell them apart by. Give 48" in few.advice[0]
    assert len(few.advice) == 1 and few.obstacles == ()
    enough = clf.plan(X, y, X_public=rng.normal(size=(48, 2)))
    assert not any("or more" in text for text in enough.advice)
