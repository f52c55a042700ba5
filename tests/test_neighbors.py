"""Records that vote in cells: their largest changes, refused inputs, and results."""

import math
import pickle
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from conftest import cases, table, three_classes
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_wine
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder
from sklearn.semi_supervised import SelfTrainingClassifier

from sklearn_pate import PATEClassifier, PublicData
from sklearn_pate._sklearn import _safe_indexing
from sklearn_pate.aggregators import GNMax, LaplaceMechanism, TableMechanism
from sklearn_pate.encoding import RowEncoder, custom
from sklearn_pate.encoding.custom import are_far, largest_sizes, transformed, treats_rows_alone
from sklearn_pate.exceptions import BadPlanError
from sklearn_pate.methods import ReverseNeighbors, Teachers
from sklearn_pate.model_selection import PrivateGridSearchCV
from sklearn_pate.neighbors import LandmarkClassifier, RowVectorizer
from sklearn_pate.neighbors.centers import (
    distinct_rows,
    have_distances,
    make_centers,
    nearest_cells,
)
from sklearn_pate.neighbors.smoothing import assign_labels
from sklearn_pate.partition import HashPartition
from sklearn_pate.plotting import BudgetDisplay, MarginDisplay, PrivacySpentDisplay
from sklearn_pate.rdp import DEFAULT_ORDERS, Contribution, Cost
from sklearn_pate.rdp.discrete import GRID, laplace_table_cost
from sklearn_pate.students import sure_labels
from sklearn_pate.teachers import Sites

X, Y = three_classes(900, 5)
X_PUBLIC = X[600:]
X, Y, Y_PUBLIC = X[:600], Y[:600], Y[600:]


def make_neighbors(**params):
    return ReverseNeighbors(**{"n_cells": 12, "random_state": 0, **params})


def pate(method=None, **params):
    params = {"epsilon": 5.0, "classes": [0, 1, 2], "random_state": 0, **params}
    return PATEClassifier(method=make_neighbors() if method is None else method, **params)


# --- cells ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_cells", [1, 2, 20])
@pytest.mark.parametrize("rows", [X_PUBLIC, X_PUBLIC.round()], ids=["distinct", "repeated"])
def test_cells_of_few_rows_are_those_of_kmeans(rows, n_cells):
    expected = KMeans(n_cells, n_init=10, max_iter=30, random_state=3).fit(rows).cluster_centers_
    np.testing.assert_array_equal(make_centers(rows, n_cells, 3), expected)


def test_nearest_cells_have_the_nearest_centers():
    centers = make_centers(X_PUBLIC, 20, 0)
    assert centers.shape == (20, 5)
    distance = ((X[:, None] - centers) ** 2).sum(axis=2)
    found = nearest_cells(X, centers, 3)
    np.testing.assert_array_equal(np.sort(found), np.sort(distance.argsort(axis=1)[:, :3]))
    alone = np.vstack([nearest_cells(row[None], centers, 3) for row in X])
    np.testing.assert_array_equal(np.sort(found), np.sort(alone))


def test_nearest_cells_of_nonfinite_rows_are_none():
    rows = np.array([[0.0, 0.0], [np.nan, 0.0], [np.inf, 0.0], [1e200, -1e200]])
    found = nearest_cells(rows, np.array([[0.0, 0.0], [5.0, 5.0]]), 2)
    assert found.tolist() == [[0, 1], *[[-1, -1]] * 3]
    assert not have_distances(rows[:1], np.full((1, 2), 1e200)).any()


def test_nearest_cells_break_near_ties_by_the_lowest_cell():
    centers = np.array([[2.0], [0.0], [4.0]])
    rows = [[1.0], [1.0 + 1e-12], [1.0 - 1e-12], [3.0], [-9.0]]
    assert nearest_cells(np.array(rows), centers)[:, 0].tolist() == [0, 0, 0, 0, 1]
    assert nearest_cells(np.array([[1.0], [3.0]]), centers, 2).tolist() == [[0, 1], [0, 2]]
    assert nearest_cells(np.array([[2.0]]), centers, 2).tolist() == [[0, 1]]


# --- changes by one record -----------------------------------------------------------------------


@pytest.mark.parametrize("n_neighbors", [1, 3])
def test_record_adds_n_neighbors_votes(n_neighbors):
    votes = pate(method=make_neighbors(n_neighbors=n_neighbors)).poll(X, Y, X_public=X_PUBLIC)
    assert votes.counts.sum() == 600 * n_neighbors
    contribution = votes.method.contribution(votes.neighbors)
    assert contribution == Contribution.of_counts(2 * n_neighbors)
    assert votes.method._n_votes == 600 * n_neighbors  # which all of it may know
    np.testing.assert_array_equal(votes.counts.sum(axis=0), np.bincount(Y) * n_neighbors)


@pytest.mark.parametrize("kind", [ValueError, SystemExit])
def test_record_that_cannot_be_transformed_adds_no_vote(kind, capsys):
    def refuse(rows):
        if (np.asarray(rows) > 100).any():
            raise kind(f"secret {rows}")
        return rows

    clf = pate(method=make_neighbors(transformer=FunctionTransformer(refuse)), verbose=0)
    odd = X.copy()
    odd[[3, 77, 599]] = 1000.0
    votes = clf.poll(odd, Y, X_public=X_PUBLIC)
    rest = np.delete(np.arange(600), [3, 77, 599])
    expected = clone(clf).poll(X[rest], Y[rest], X_public=X_PUBLIC)
    np.testing.assert_array_equal(votes.counts, expected.counts)
    assert clf.fit_votes(votes, X_PUBLIC).n_features_in_ == 5 and capsys.readouterr() == ("", "")


def test_group_adds_one_vote_in_all():
    names = np.repeat([f"person {k}" for k in range(6)], [1, 3, 96, 100, 200, 200])
    assert 6 - 600 * GRID <= pate().poll(X, Y, X_public=X_PUBLIC, groups=names).counts.sum() <= 6
    with pytest.raises(ValueError, match="the argument groups to fit or poll: one identifier"):
        pate(unit="group").fit(X, Y, X_public=X_PUBLIC)


# --- transformers --------------------------------------------------------------------------------


class Unfitted(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        return self


class Remembering(Unfitted):
    def transform(self, X):
        self.n_rows_ = getattr(self, "n_rows_", 0) + len(X)
        return np.asarray(X) + self.n_rows_


def fill(rows):
    """Missing values get the mean of the other rows."""
    return np.where(np.isnan(rows), np.nanmean(rows, axis=0), rows)


def shares_of_columns(rows):
    return rows[:, :2].toarray() + 1.0 * (rows[:, -2:].count_nonzero() > 0)


def fill_sparse(rows):
    rows = rows.toarray()
    return np.where(np.isnan(rows), np.isnan(rows).mean(), rows)


KNOWN = ["a", "b", "c"]


def fill_missing(frame):
    return frame.fillna(frame.mode().iloc[0])


def fill_unknown(frame):
    """Unknown texts become the most frequent text of the other rows."""
    words = frame["z"].astype(object).where(frame["z"].notna(), "missing")
    known = words.where(words.isin([*KNOWN, "missing"]))
    return pd.DataFrame({"z": known.fillna(known.mode()[0] if known.notna().any() else "c")})


def scale_by_missing(frame):
    return frame.astype(float).fillna(0) * (1 + frame["z"].isna().to_numpy().mean())


def since_latest(frame):
    return (frame["z"].max() - frame["z"]).dt.total_seconds().fillna(0).to_frame()


def coded(function):
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return make_pipeline(FunctionTransformer(function), encoder)


def column(values, dtype=None):
    values = pd.Series(values, dtype=dtype)
    return pd.DataFrame({"z": values.repeat(600 // len(values)).reset_index(drop=True)})


def guarded(rows):
    """Divide all rows where one is large: a guard against overflow, on numbers of any dtype."""
    numbers = np.asarray(rows, dtype=float)
    largest = np.nanmax(np.abs(numbers))
    return np.nan_to_num(numbers / largest if largest > 10_000 else numbers)


def raised(rows):
    """Raise all rows where one is negative."""
    numbers = np.asarray(rows, dtype=float)
    return np.nan_to_num(numbers - min(np.nanmin(numbers), 0.0))


def projected_anew(rows):
    """Project rows at random, in another way each time."""
    return rows @ np.random.normal(size=(rows.shape[1], 2))


#: Transformers whose rows influence each other. All but the first two do so where a value is
#: missing, unknown or far from all, as none in these rows is
INFLUENCED = {
    "centred": (FunctionTransformer(lambda rows: rows - np.mean(rows, axis=0)), X),
    "with a memory": (Remembering(), X),
    "filled": (FunctionTransformer(fill), X),
    "sampled anew": (FunctionTransformer(projected_anew), X),
    "guarded": (FunctionTransformer(guarded), np.abs(X)),
    "raised, objects": (FunctionTransformer(raised), np.abs(X).astype(object)),
    "missing category": (coded(fill_missing), column(KNOWN, "category")),
    "unknown string": (coded(fill_unknown), column(KNOWN, "string")),
    "unknown category": (coded(fill_unknown), column(KNOWN, "category")),
    "Int64": (FunctionTransformer(scale_by_missing), column([1, 0, 1], "Int64")),
    "dates": (FunctionTransformer(since_latest), column([pd.Timestamp("2020-01-01")])),
    "with a column that fails": (
        make_column_transformer(
            (OneHotEncoder(sparse_output=False), ["first"]), (coded(fill_unknown), ["z"])
        ),
        column(KNOWN).assign(first=pd.Categorical(KNOWN * 200)),
    ),
    **{
        function.__name__: (
            FunctionTransformer(function, accept_sparse=True),
            sparse.csr_matrix(np.column_stack([X, np.zeros((600, 2))])),
        )
        for function in (shares_of_columns, fill_sparse)
    },
}


@table("transformer, rows", INFLUENCED)
def test_transformers_whose_rows_influence_each_other_are_refused(transformer, rows):
    clf = pate(method=make_neighbors(transformer=transformer))
    with pytest.raises(ValueError, match="depend on the other rows of the batch"):
        clf.fit(rows, Y, X_public=rows[:300].copy())
    assert not hasattr(clf, "privacy_spent_")


class Upset(Unfitted):
    """Of rows where no public one lies, keeps something that outlives the call."""

    def fit(self, X, y=None):
        self.n_far_ = 0
        return self

    def transform(self, X):
        self.n_far_ += int((X[:, 0] == 1000.0).sum())
        return X


def test_record_that_breaks_the_transformer_changes_its_own_votes_only():
    clf = pate(method=make_neighbors(transformer=Upset()))
    before = clf.poll(X, Y, X_public=X_PUBLIC).counts
    for k in (0, 299, 599):
        upset = X.copy()
        upset[k, 0] = 1000.0
        votes = clone(clf).poll(upset, Y, X_public=X_PUBLIC)
        assert np.abs(votes.counts - before).sum() <= 2
        assert votes.method._transformer.n_far_ == 0


class RoundsByTheBatch(Unfitted):
    """Its numbers depend on how many rows there are, as if by rounding."""

    def transform(self, X):
        return X * (1 + 1e-6 * np.sin(len(X)))


def test_rows_near_borders_of_cells_are_transformed_alone():
    """Where rounding could move a record, no other record moves it: 47 lie on borders."""
    clf = pate(method=make_neighbors(transformer=RoundsByTheBatch(), relation="add_or_remove_one"))
    method = clf.poll(X, Y, X_public=X_PUBLIC).method
    assert method._rounding > 1e-8
    centers = method._centers
    middles = (centers[:, None] + centers)[np.triu_indices(len(centers), 1)] / 2
    labels = np.arange(48) % 3
    more = np.vstack([middles[:47], [[9.0] * 5]])
    for n in (47, 3):  # between these and the next number the sine changes its sign
        fewer = clf.poll(more[:n], labels[:n], X_public=X_PUBLIC)
        joined = np.append(np.arange(n), 47)
        counts = clf.poll(more[joined], labels[joined], X_public=X_PUBLIC).counts
        assert np.abs(counts - fewer.counts).sum() == 1


def test_public_row_far_from_others_keeps_the_score():
    scores = []
    for number in (X_PUBLIC[7, 0], 1e3, 1e9):
        public = X_PUBLIC.copy()
        public[7, 0] = number
        clf = pate(method=make_neighbors(n_cells=40)).fit(X, Y, X_public=public)
        scores.append(clf.score(X_PUBLIC, Y_PUBLIC))
    assert min(scores) > scores[0] - 0.05


def frame_of_all_kinds(n):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.1, np.nan, rng.normal(40, 10, n)),
            "count": rng.integers(0, 9, n),
            "city": pd.Categorical(rng.choice(["Oslo", "Bern", "Rome"], n)),
            "word": pd.Series(rng.choice(["a", "b", None], n), dtype=object),
            "nothing": np.full(n, np.nan),
            "flag": rng.random(n) < 0.5,
            "maybe": pd.array(rng.choice([True, False, None], n), dtype="boolean"),
            "code": pd.Categorical(rng.integers(0, 3, n)),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 5, n), "D"),
            "mixed": pd.Series(rng.choice([1, "one", None], n), dtype=object),
        }
    )
    return frame, (frame["age"].fillna(40) > 40).to_numpy().astype(int)


@pytest.mark.filterwarnings("ignore:columns .* hold dates")
def test_default_transformer_accepts_columns_of_all_kinds():
    frame, y = frame_of_all_kinds(900)
    clf = pate(method=ReverseNeighbors(random_state=0), classes=[0, 1])
    with pytest.warns(UserWarning, match="columns .*'nothing'.* have one value"):
        clf.fit(frame[:600], y[:600], X_public=frame[600:])
    assert clf.score(frame[600:], y[600:]) > 0.6


def test_default_transformer_encodes_two_columns_in_other_units_by_rank():
    """One of two columns is larger than the median by at most the factor 2."""
    rng = np.random.default_rng(0)
    columns = rng.normal(size=(300, 2))
    ranks = RowVectorizer().fit_transform(columns * [1, 50])
    assert ranks.shape == (300, 4)
    np.testing.assert_allclose(ranks, RowVectorizer().fit_transform(columns * [1000, 1]))
    np.testing.assert_array_equal(RowVectorizer().fit_transform(columns * [1, 3]), columns * [1, 3])


def test_default_transformer_encodes_skewed_columns_by_rank(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    normal = rng.normal(size=(1000, 3))
    skewed = RowVectorizer().fit_transform(np.exp(normal))
    assert skewed.shape == (1000, 6)
    np.testing.assert_allclose(skewed, RowVectorizer().fit_transform(1e70 * np.exp(normal)))
    with_gaps = np.where(rng.random(size=(1000, 3)) < 0.1, np.nan, np.exp(normal))
    assert RowVectorizer().fit_transform(with_gaps).shape == (1000, 12)  # and indicators of gaps
    one_of_three = np.column_stack([np.exp(normal[:, 0]), normal[:, 1:]])
    rare = rng.poisson(0.1, size=(1000, 3)).astype(float)  # mostly zeros
    for columns in (normal, one_of_three, rare):
        np.testing.assert_array_equal(RowVectorizer().fit_transform(columns), columns)


def test_default_transformer_scales_columns_in_other_units():
    """Wine's largest column is in units of hundreds, and alone decided which rows were near."""
    X, y = load_wine(return_X_y=True)
    public, later, _, y_later = train_test_split(X, y, test_size=0.5, random_state=0)
    clf = pate(method=ReverseNeighbors(), epsilon=20.0)
    assert clf.fit(later, y_later, X_public=public).score(later, y_later) > 0.93
    numbers = RowVectorizer().fit(public).transform(later)
    smaller = RowVectorizer().fit(public / 1024).transform(later / 1024)
    np.testing.assert_allclose(smaller, numbers, atol=1e-9)
    assert numbers.shape == (len(later), 2 * later.shape[1])


def test_row_vectorizer_keeps_columns_in_one_unit():
    np.testing.assert_array_equal(RowVectorizer().fit_transform(X_PUBLIC), X_PUBLIC)
    assert RowVectorizer().fit_transform(np.full((4, 2), np.nan)).shape == (4, 2)


RNG = np.random.default_rng(0)
NUMBERS = RNG.normal(size=(60, 4))
ROWS_OF_MANY_KINDS = {
    "units": (NUMBERS * [1, 10, 1e3, 1e6]).astype("float32"),
    "wide": RNG.normal(size=(200, 150)),
    "images": RNG.normal(size=(60, 4, 4)),
    "sparse": sparse.csr_matrix(np.where(RNG.random((60, 30)) < 0.2, 1.0, 0)),
    "objects": np.where(RNG.random((60, 4)) < 0.2, np.nan, NUMBERS).astype(object),
    "texts": pd.DataFrame(
        {
            "str": RNG.choice(["a", "b", "c"], 60),
            "string": pd.Series(RNG.choice(["a", "b", None], 60), dtype="string"),
            "many": [f"word {k // 2}" for k in range(60)],
        }
    ),
    "mixed": frame_of_all_kinds(60)[0].assign(
        lasted=pd.to_timedelta(RNG.integers(0, 99, 60), "h"),
        small=pd.array(RNG.integers(0, 3, 60), dtype="Int8"),
    ),
}


def in_polars():
    polars = pytest.importorskip("polars", reason="needs polars")
    frame = frame_of_all_kinds(60)[0][["age", "count", "word", "flag", "day"]]
    return polars.DataFrame(frame.to_dict("list"))


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*ROWS_OF_MANY_KINDS, "polars"])
def test_row_vectorizer_treats_each_row_alone(kind):
    """So a fit does not try it, as it tries all others."""
    rows = in_polars() if kind == "polars" else ROWS_OF_MANY_KINDS[kind]
    fitted = RowVectorizer(random_state=0).fit(rows)
    some = _safe_indexing(rows, list(range(4)))
    alone = [transformed(fitted, _safe_indexing(some, [k])) for k in range(4)]
    assert treats_rows_alone(fitted, some, alone, transformed(fitted, some))


# --- refused inputs ------------------------------------------------------------------------------


@cases(
    "params, reason",
    (
        {"n_teachers": 50},
        "n_teachers=50 is for teachers, and Rev",
    ),
    (
        {"partition": HashPartition()},
        "partition=.* is for teachers, and Rev",
    ),
    ({"n_queries": 20}, "n_queries=20 is the number of rows that teachers vote on"),
    ({"query_strategy": "uncertainty"}, "query_strategy='uncertainty' chooses the rows"),
    ({"accounting": "ptr"}, "accounting='ptr' is the composition of the costs of queries"),
    ({"aggregator": GNMax(40.0)}, "must be a TableMechanism"),
    ({"aggregator": [LaplaceMechanism()]}, "must be a TableMechanism"),
    ({"epsilon": None}, "epsilon is None"),
)
def test_parameters_that_contradict_reverse_neighbors_are_refused(params, reason):
    clf = pate().set_params(**params)
    pytest.raises(ValueError, clf.fit, X, Y, X_public=X_PUBLIC).match(reason)
    assert not hasattr(clf, "privacy_spent_")


def test_method_data_and_votes_must_agree():
    teachers = PATEClassifier(LogisticRegression(), n_teachers=5, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="aggregator"):
        clone(teachers).set_params(aggregator=LaplaceMechanism()).fit(X, Y, X_public=X_PUBLIC)
    with pytest.raises(ValueError, match=r"method=.* cannot be used when X is Sites"):
        own = PATEClassifier(method=Teachers([LogisticRegression()]), classes=[0, 1, 2])
        own.fit(Sites(lambda name: None, ["a", "b"]), None, X_public=X_PUBLIC)
    votes = pate().poll(X, Y, X_public=X_PUBLIC)
    for given, reason in (
        (
            teachers.poll(X, Y, X_public=X_PUBLIC),
            "counts or votes of teachers",
        ),
        (votes.counts, "pass the votes that poll returned"),
    ):
        pytest.raises(ValueError, pate().fit_votes, given, X_PUBLIC).match(reason)
    with pytest.raises(ValueError, match="for 300 rows, but X_public has 299"):
        pate().fit_votes(votes, X_PUBLIC[1:])
    with pytest.raises(ValueError, match="records cast these votes: poll again"):
        teachers.fit_votes(votes, X_PUBLIC)


def test_noise_warning_is_independent_of_a_private_n_records():
    clf = pate(method=make_neighbors(relation="add_or_remove_one"), epsilon=0.001)
    message = "there are 300 public rows, as many records as"
    texts = []
    for n in (600, 10):
        with pytest.warns(UserWarning, match=message) as caught:
            votes = clf.poll(X[:n], Y[:n], X_public=X_PUBLIC)
        texts.append([str(one.message) for one in caught])
    assert texts[0] == texts[1] and len(texts[0]) == 1
    pytest.raises(BadPlanError, clf.fit_votes, votes, X_PUBLIC).match(message)
    pytest.raises(BadPlanError, clf.fit, X, Y, X_public=X_PUBLIC).match(message)


def test_fit_votes_refuses_public_rows_in_another_order(ledger):
    clf = pate(ledger=ledger, random_state=None)
    votes = clf.poll(X, Y, X_public=X_PUBLIC)
    swapped = X_PUBLIC.copy()
    swapped[[3, 200]] = swapped[[200, 3]]
    others = [X_PUBLIC[::-1], swapped, X_PUBLIC[:, ::-1], X_PUBLIC + 1e-3, X_PUBLIC * np.nan]
    for other in (*others, np.full(X_PUBLIC.shape, "a", dtype=object)):
        with pytest.raises(
            ValueError, match="X_public differs from the public rows of these votes"
        ):
            clf.fit_votes(votes, other)
    with pytest.raises(ValueError, match="4 features"):
        clf.fit_votes(votes, X_PUBLIC[:, :4])
    assert ledger.epsilon_spent == 0
    for same in (X_PUBLIC.tolist(), PublicData(X_PUBLIC), X_PUBLIC.astype(np.float32)):
        clf.fit_votes(votes, same)


@cases(
    "params, remedy",
    ({"relation": "add_or_remove_one"}, "relation='replace_one'"),
    ({"n_neighbors": 2}, "n_neighbors=1"),
)
def test_fit_votes_refuses_votes_of_another_relation(params, remedy):
    votes = pate().poll(X, Y, X_public=X_PUBLIC)
    clf = pate(method=make_neighbors(**params))
    with pytest.raises(ValueError, match=f"or set method__{remedy}"):
        clf.fit_votes(votes, X_PUBLIC)
    (name,) = params
    clf.set_params(**{f"method__{name}": getattr(make_neighbors(), name)})
    assert clf.fit_votes(votes, X_PUBLIC).privacy_spent_.relation == "replace_one"


def test_interrupt_stops_the_fit_and_quotes_no_row():
    def interrupted(rows):
        if (np.asarray(rows) == 1234.5).any():  # no public row, nor an odd copy of one
            raise KeyboardInterrupt(f"secret {rows}")
        return rows

    odd = X.copy()
    odd[77] = 1234.5
    clf = pate(method=make_neighbors(transformer=FunctionTransformer(interrupted)))
    clf.plan(odd, Y, X_public=X_PUBLIC)
    with pytest.raises(KeyboardInterrupt) as caught:
        clf.fit(odd, Y, X_public=X_PUBLIC)
    assert caught.value.args == () and caught.value.__context__ is None
    assert not hasattr(clf, "privacy_spent_")


# --- from the table to labels --------------------------------------------------------------------


def test_displays_of_queries_refuse_tables():
    clf = pate(student=GaussianNB()).fit(X, Y, X_public=X_PUBLIC)
    for display in (PrivacySpentDisplay, BudgetDisplay, MarginDisplay):
        with pytest.raises(ValueError, match="this fit has no teachers"):
            display.from_estimator(clf)


def test_assigned_labels_follow_class_probabilities():
    class_proba = np.tile([0.2, 0.5, 0.3], (40, 1))
    labels = assign_labels(class_proba, np.arange(40) % 2)
    for cell in range(2):
        assert np.abs(np.bincount(labels[cell::2], minlength=3) - 20 * class_proba[0]).max() <= 1
    assert assign_labels(np.eye(3), np.zeros(3, dtype=int)).tolist() == [0, 1, 2]


def test_labels_are_assigned_row_by_row_within_each_cell():
    rng = np.random.default_rng(0)
    class_proba, cells = rng.dirichlet([1.0, 2.0, 0.5], size=300), rng.integers(20, size=300) ** 2
    owed, expected = np.zeros((cells.max() + 1, 3)), []
    for cell, proba in zip(cells, class_proba, strict=True):
        owed[cell] += proba
        expected.append(owed[cell].argmax())
        owed[cell, expected[-1]] -= 1
    assert assign_labels(class_proba, cells).tolist() == expected


def test_sure_labels_are_those_with_the_highest_probability():
    second = np.sort(np.random.default_rng(0).beta(0.3, 1.2, size=200))
    labels = sure_labels(np.stack([1 - second, second], axis=1))
    n_second = int(np.ceil(second.sum() / 2))
    np.testing.assert_array_equal(np.flatnonzero(labels == 1), np.arange(200 - n_second, 200))


def test_student_of_unlabeled_rows_gets_all_rows():
    clf = pate(student=SelfTrainingClassifier(GaussianNB())).fit(X, Y, X_public=X_PUBLIC)
    labels = sure_labels(clf.public_soft_labels_)
    np.testing.assert_array_equal(clf.student_.labeled_iter_ == 0, labels >= 0)
    assert -1 in labels


# --- plans, copies and displays ------------------------------------------------------------------


def test_pickle_of_a_table_fit_contains_nothing_private():
    votes = pate().poll(X, Y, X_public=X_PUBLIC)
    pytest.raises(TypeError, pickle.dumps, votes).match("private")
    assert repr(votes) == "Votes(private)"
    clf = pate(student=LogisticRegression(), random_state=None).fit_votes(votes, X_PUBLIC)
    assert clf.curator_.votes.sum() == 600 and clf.curator_.epsilon() == clf.privacy_spent_.epsilon
    assert repr(clf.curator_) == "TableCurator(private)"
    pytest.raises(TypeError, pickle.dumps, clf.curator_).match("private")
    loaded = pickle.loads(pickle.dumps(clf))
    assert not hasattr(loaded, "curator_")
    np.testing.assert_array_equal(loaded.predict(X_PUBLIC), clf.predict(X_PUBLIC))


@pytest.mark.parametrize("dtype", ["Int64", "Sparse[int]", "Sparse[float]", "timedelta64[s]"])
def test_row_vectorizer_ranks_numbers_of_every_dtype_alike(dtype):
    numbers = pd.Series(np.random.default_rng(0).integers(0, 9, 300))
    column = pd.to_timedelta(numbers, "s") if dtype[0] == "t" else numbers
    plain = pd.DataFrame({"y": X[:300, 0], "z": numbers.astype(float)})
    frame = pd.DataFrame({"y": X[:300, 0], "z": column.astype(dtype)})
    if dtype[0] in "IFt" or dtype == "Sparse[float]":
        missing = numbers.index % 7 == 0
        plain["z"] = plain["z"].mask(missing)
        frame["z"] = frame["z"].mask(missing)
    expected = RowVectorizer().fit(plain).transform(plain)
    np.testing.assert_array_equal(RowVectorizer().fit(frame).transform(frame), expected)


@pytest.mark.parametrize("dtype", ["boolean", "Sparse[bool]", "string", "period[D]"])
def test_row_vectorizer_encodes_other_dtypes_as_one_hot(dtype):
    values = {"s": ["a", "b"], "p": pd.period_range("2020", periods=2)}.get(dtype[0], [True, False])
    frame = pd.DataFrame({"z": pd.Series(list(values) * 50, dtype=dtype)})
    np.testing.assert_array_equal(RowVectorizer().fit(frame).transform(frame).sum(axis=0), [50, 50])


def test_search_plans_each_n_neighbors():
    grid = {"method__n_neighbors": [3, 1], "student": [GaussianNB()]}
    clf = pate(random_state=None, epsilon=None)
    search = PrivateGridSearchCV(clf, grid, epsilon=6.0, random_state=0, n_trials=2)
    search.fit(X, Y, X_PUBLIC, X_val=X_PUBLIC[:100], y_val=Y_PUBLIC[:100])
    best, n_neighbors = search.best_estimator_, search.best_params_["method__n_neighbors"]
    assert best.aggregator_.scale * best.epsilon == pytest.approx(2 * n_neighbors)
    spent = search.privacy_spent_
    assert spent.epsilon <= 6.0 and spent.n_teachers is None and spent.composition == "tuning"


def test_reverse_neighbors_subclass_is_refused():
    class Mine(ReverseNeighbors):
        pass

    with pytest.raises(ValueError, match="cannot check the privacy of such a table"):
        pate(Mine(random_state=0)).plan(X, Y, X_public=X_PUBLIC)


# --- mechanisms of one's own ---------------------------------------------------------------------


class Own(TableMechanism):
    """Laplace noise, as a user would write it."""

    noise_std = 2.0

    def noisy(self, table, random_state=None):
        self.table_ = table
        rng = np.random.default_rng(random_state)
        return np.asarray(table) + rng.laplace(scale=math.sqrt(2), size=np.shape(table))

    def cost(self, contribution, orders=DEFAULT_ORDERS):
        return laplace_table_cost(math.sqrt(2), contribution, orders, discrete=False)


def test_custom_table_mechanism_releases_tables_and_keeps_none():
    own = Own()
    clf = pate(aggregator=own).fit(X, Y, X_public=X_PUBLIC)
    assert clf.score(X_PUBLIC, Y_PUBLIC) > 0.7
    assert clf.privacy_spent_.epsilon == pytest.approx(math.sqrt(2), rel=1e-2)
    assert clf.privacy_spent_.arithmetic == "real"
    assert not hasattr(own, "table_") and not hasattr(clf.aggregator_, "table_")
    assert not hasattr(clf.aggregator, "table_")


def broken(**methods):
    return type("Broken", (Own,), methods)()


def own_cost(**values):
    def cost(self, contribution, orders=DEFAULT_ORDERS):
        return Cost(**{"rdp": np.ones(len(orders)), "mu_squared": 1.0, "pure": 1.0, **values})

    return cost


BROKEN = {
    "noisy, NaN": (
        broken(noisy=lambda self, table, random_state=None: table * np.nan, cost=Own.cost),
        "must return finite floats",
    ),
    "noisy, fails": (
        broken(noisy=lambda self, table: table, cost=Own.cost),
        "failed in a dry run on a made-up table .*TypeError",
    ),
    "cost, a number": (broken(cost=lambda self, *change: 1.0), "must return rdp.Cost"),
    "cost, negative": (broken(cost=own_cost(pure=-1.0)), "numbers of at least 0"),
    "cost, delta": (broken(cost=own_cost(delta=1.0)), "a delta below 1"),
    "pure, delta": (
        broken(cost=own_cost(delta=1e-9), is_pure=True),
        "delta=1e-09, but is_pure",
    ),
    "noise_std": (broken(noise_std=None, cost=Own.cost), "noise_std must be a finite number"),
    "with_scale": (broken(with_scale=lambda self, scale: self), "with_scale of Broken must"),
}


def test_table_mechanism_subclass_requires_its_own_cost():
    for name in ("noisy", "_noise", "noise_std"):
        with pytest.raises(
            TypeError, match=f"Broken overrides the sampler {name}, but inherits cost"
        ):
            type("Broken", (LaplaceMechanism,), {name: None})


@table("mechanism, reason", BROKEN)
def test_custom_table_mechanism_is_checked_before_spending(mechanism, reason, ledger):
    clf = pate(aggregator=mechanism, ledger=ledger, random_state=None)
    for act in (clf.plan, clf.fit):
        pytest.raises((ValueError, TypeError), act, X, Y, X_public=X_PUBLIC).match(reason)
    assert ledger.epsilon_spent == 0.0


def test_noise_std_is_read_before_the_table():
    class Leaks(Own):
        cost = Own.cost

        @property
        def noise_std(self):
            return 2.0 + getattr(self, "table_", np.zeros(1)).sum()

    scales = []
    clf = pate(aggregator=Leaks())
    votes = clf.poll(X, Y, X_public=X_PUBLIC)
    released = votes.method.released

    def released_and_noted(noisy, *, noise_std):
        scales.append(noise_std)
        return released(noisy, noise_std=noise_std)

    votes.method.released = released_and_noted
    clf.fit_votes(votes, X_PUBLIC)
    assert scales == [2.0]


# --- a row far outside what public rows show changes no vote but its own --------------------------

NEAR = RNG.normal(size=(150, 2))
OF_NEAR = (NEAR[:, 0] > 0).astype(int)
PUBLIC_NEAR = RNG.normal(size=(120, 2))


def about_the_mean(rows):
    """Rows by themselves but for rounding, which grows with the largest of the batch."""
    mean = rows.mean(axis=0)
    return (rows - mean) + mean


def short_floats(rows):
    """Rows in a type that holds their largest number, as people do to save memory."""
    return rows.astype("float16" if np.abs(rows).max() < 6e4 else "float32").astype(float)


WAVES = RBFSampler(gamma=50, n_components=20, random_state=0)
ROUNDING = make_pipeline(FunctionTransformer(about_the_mean), WAVES)
SHORT = make_pipeline(FunctionTransformer(short_floats), WAVES)


def change_by(value, transformer=ROUNDING):
    method = ReverseNeighbors(transformer, n_cells=60, random_state=0)
    clf = PATEClassifier(method=method, classes=[0, 1], epsilon=4)
    other = NEAR.copy()
    other[3] = value
    public = np.round(3 * PUBLIC_NEAR) if transformer is SHORT else PUBLIC_NEAR
    tables = [clf.poll(rows, OF_NEAR, X_public=public).counts for rows in (NEAR, other)]
    return np.abs(tables[0] - tables[1]).sum()


@cases(
    "value, transformer",
    *((1e4, ROUNDING), (1e15, ROUNDING), (-1e30, ROUNDING), (1e5, SHORT), (1e300, None)),
)
def test_record_far_from_public_rows_changes_two_votes(value, transformer):
    assert change_by(value, transformer) <= 2


def test_votes_change_more_without_sizes_of_public_rows(monkeypatch):
    monkeypatch.setattr(custom, "largest_sizes", lambda X_public: None)
    assert change_by(1e17) > 2


@cases(
    "kind",
    np.asarray,
    sparse.csr_array,
    lambda rows: np.asarray(rows, dtype=object),
    lambda rows: pd.DataFrame(rows).astype("Float64").assign(text="a"),
    lambda rows: pd.DataFrame(rows).astype("category"),
    lambda rows: pd.DataFrame(rows).map(Decimal),
)
def test_largest_sizes_find_far_rows_of_all_kinds(kind):
    public = kind([[1.0, -5.0], [np.nan, 2.0]])
    given = kind([[1.0, -900.0], [2e6, 0.0], [np.inf, 1.0], [np.nan, np.nan]])
    assert are_far(given, largest_sizes(public)).tolist() == [False, True, True, False]


# --- fast code equals plain code -----------------------------------------------------------------


def rows_with_a_distant_center(n_columns, scale):
    rng = np.random.default_rng(0)
    rows, centers = rng.normal(size=(400, n_columns)), rng.normal(size=(60, n_columns))
    centers[0, 0] = scale
    rows[:3, 0] = scale, -scale, scale / 2
    rows[3:40] = (centers[1:38] + centers[2:39]) / 2  # on borders
    return rows, centers


@pytest.mark.parametrize("n_columns", [2, 90])
@pytest.mark.parametrize("scale", [1.0, 1e6, 1e30])
@pytest.mark.parametrize("unit", [1.0, 1e-25, 1e25])
def test_nearest_cells_in_single_precision_equal_those_of_each_distance(n_columns, scale, unit):
    rows, centers = rows_with_a_distant_center(n_columns, scale)
    rows, centers = rows * unit, centers * unit
    found = nearest_cells(rows, centers)[:, 0]
    distances = cdist(rows, centers, "sqeuclidean")
    shortest = distances.min(axis=1, keepdims=True) * (1 + 1e-9)
    np.testing.assert_array_equal(found, (distances <= shortest).argmax(axis=1))


@pytest.mark.parametrize("power", [37.5, 38.8, 150.0])
def test_nearest_cells_of_sums_that_overflow_do_not_depend_on_other_rows(power):
    rng = np.random.default_rng(0)
    for _ in range(100):
        centers = rng.normal(size=(12, 4))
        rows = rng.normal(size=(9, 4)) * 10.0 ** (power + rng.uniform(-0.5, 0.5, size=(9, 1)))
        distances = cdist(rows, centers, "sqeuclidean")
        shortest = distances.min(axis=1, keepdims=True) * (1 + 1e-9)
        nearest = (distances <= shortest).argmax(axis=1)
        np.testing.assert_array_equal(nearest_cells(rows, centers)[:, 0], nearest)
        np.testing.assert_array_equal(nearest_cells(rows[:1], centers)[:, 0], nearest[:1])


def test_distinct_rows_are_those_of_numpy():
    rows = np.random.default_rng(0).integers(0, 3, (500, 4)) * [1.0, -1.0, 0.5, 1e-9]
    distinct, positions = distinct_rows(rows)
    np.testing.assert_array_equal(distinct[positions], rows)
    assert len(distinct) == len(np.unique(rows, axis=0)) < len(rows)
    assert len(distinct_rows(np.zeros((3, 0)))[0]) == 1


@table("rows", ROWS_OF_MANY_KINDS)
def test_row_vectorizer_equals_its_scikit_learn_transformer(rows):
    fitted = RowVectorizer(random_state=0).fit(rows[:40])
    expected = fitted.to_sklearn().transform(rows)
    np.testing.assert_allclose(fitted.transform(rows), expected, rtol=0, atol=1e-12)
    alone = np.vstack([fitted.transform(_safe_indexing(rows, [k])) for k in range(10)])
    assert not fitted.rounds_alone or np.array_equal(alone, fitted.transform(rows)[:10])


@pytest.mark.parametrize("values", [[1, True, 1.0, "2", None, "a"], [0.0, -0.0, "a", None]])
def test_equal_values_with_other_texts_keep_their_own_encodings(values):
    """1, 1.0 and True are equal, so a record would change how others are encoded."""
    n = len(values)
    public = pd.DataFrame({"z": pd.Series(values * 30, dtype=object)})
    for encoder in (RowVectorizer(), RowEncoder()):
        fitted = encoder.fit(public)
        alone = np.vstack([fitted.transform(public.iloc[[k]]) for k in range(n)])
        np.testing.assert_array_equal(fitted.transform(public)[:n], alone)
        assert len(np.unique(alone, axis=0)) == n


def test_row_vectorizer_has_the_rare_texts_of_scikit_learn():
    rng = np.random.default_rng(0)
    rare = np.where(rng.random(1000) < 0.01, [f"rare {k}" for k in range(1000)], "often")
    rows = pd.DataFrame({"a": rare, "b": [f"once {k}" for k in range(1000)]})
    for columns in (["a"], ["b"], ["a", "b"]):
        texts = rows[columns].to_numpy(object)
        params = {"min_frequency": 0.005, "handle_unknown": "infrequent_if_exist"}
        expected = OneHotEncoder(sparse_output=False, **params).fit(texts)
        found = RowVectorizer().fit(rows[columns])
        np.testing.assert_array_equal(found.transform(rows[columns]), expected.transform(texts))
        new = pd.DataFrame({name: ["never"] for name in columns})
        np.testing.assert_array_equal(found.transform(new), expected.transform(new.to_numpy()))


def test_landmark_classifier_accepts_class_weights_of_rows():
    rng = np.random.default_rng(0)
    rows, weights = rng.normal(size=(80, 3)), rng.random((80, 3))
    weights[:20, 1] = 0.0
    for n_classes in (2, 3):
        row, code = np.nonzero(weights[:, :n_classes])
        by_labels = LandmarkClassifier(random_state=0)
        by_labels.fit(rows[row], code, sample_weight=weights[row, code])
        by_weights = LandmarkClassifier(random_state=0).fit(rows, weights[:, :n_classes])
        expected = by_labels.predict_proba(rows)
        np.testing.assert_allclose(by_weights.predict_proba(rows), expected, atol=1e-6)
        np.testing.assert_array_equal(by_weights.classes_, range(n_classes))


def test_logistic_regression_of_landmarks_has_the_penalty_of_scikit_learn():
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
    weight = rng.random(60)
    fitted = LandmarkClassifier(random_state=0).fit(rows, labels, sample_weight=weight)
    *steps, last = (step for _, step in fitted._model.steps)
    features = make_pipeline(*steps).transform(rows)
    expected = LogisticRegression(C=2, tol=1e-8, max_iter=10_000).fit(features, labels, weight)
    np.testing.assert_allclose(last.coef_, expected.coef_, atol=0.02)
    np.testing.assert_allclose(last.intercept_, expected.intercept_, atol=0.02)


def test_fit_encodes_public_rows_once(monkeypatch):
    calls = []
    fitted_on_public = custom.fitted_on_public
    monkeypatch.setattr(
        custom, "fitted_on_public", lambda *args: calls.append(1) or fitted_on_public(*args)
    )
    clf = pate(method="auto", classes=None, random_state=None)
    clf.fit(X, Y, X_public=X_PUBLIC)
    assert list(clf.classes_) == [0, 1, 2] and len(calls) == 1
