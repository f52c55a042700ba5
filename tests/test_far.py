"""A private row far outside what public rows show moves no ballot but its own."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from conftest import cases
from scipy import sparse
from sklearn.kernel_approximation import RBFSampler
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sklearn_pate import PATEClassifier
from sklearn_pate.electorate import PrivateData
from sklearn_pate.neighbors import ReverseNeighbors, electorate
from sklearn_pate.neighbors.columns import are_far, largest_sizes

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 2))
Y = (X[:, 0] > 0).astype(int)
PUBLIC = RNG.normal(size=(500, 2))


def about_the_mean(rows):
    """Rows by themselves but for rounding, which grows with the largest of the batch."""
    mean = rows.mean(axis=0)
    return (rows - mean) + mean


def moved_by(value):
    transformer = make_pipeline(
        FunctionTransformer(about_the_mean), RBFSampler(gamma=50, n_components=20, random_state=0)
    )
    voters = ReverseNeighbors(transformer, n_cells=60, random_state=0)
    clf = PATEClassifier(voters, classes=[0, 1], epsilon=4)
    other = X.copy()
    other[3] = value
    tables = [clf.poll(rows, Y, X_public=PUBLIC).counts for rows in (X, other)]
    return np.abs(tables[0] - tables[1]).sum()


def test_sizes_are_by_columns_and_infinity_is_none():
    rows = np.array([[1.0, -5.0], [np.inf, 2.0]])
    assert largest_sizes(rows).tolist() == [1.0, 5.0]
    assert largest_sizes(sparse.csr_array(rows)).tolist() == [5.0]


@pytest.mark.parametrize("value", [1e4, 1e9, 1e15, -1e30])
def test_one_record_moves_two_ballots(value):
    assert moved_by(value) <= 2


def test_this_would_be_seen(monkeypatch):
    monkeypatch.setattr(electorate, "largest_sizes", lambda X_public: None)
    assert moved_by(1e17) > 2


@cases(
    "kind",
    np.asarray,
    pd.DataFrame,
    sparse.csr_array,
    lambda rows: np.asarray(rows, dtype=object),
    lambda rows: pd.DataFrame(rows).astype("Float64"),
    lambda rows: pd.DataFrame(rows).assign(text="a"),
    lambda rows: pd.DataFrame(rows).astype("category"),
    lambda rows: pd.DataFrame(rows).map(Decimal),
)
def test_rows_of_all_kinds_have_sizes(kind):
    public = kind([[1.0, -5.0], [np.nan, 2.0]])
    given = kind([[1.0, -900.0], [2e6, 0.0], [np.inf, 1.0], [np.nan, np.nan]])
    assert are_far(given, largest_sizes(public)).tolist() == [False, True, True, False]


def test_texts_and_dates_have_none():
    rows = pd.DataFrame({"text": ["a", "b"], "when": pd.to_datetime(["2020-01-01"] * 2)})
    assert are_far(rows, largest_sizes(rows)).tolist() == [False, False]


def test_our_transformer_takes_all_rows_at_once():
    other = X.copy()
    other[3] = 1e300
    voters = ReverseNeighbors(n_cells=60, random_state=0)
    clf = PATEClassifier(voters, classes=[0, 1], epsilon=4)
    tables = [clf.poll(rows, Y, X_public=PUBLIC).counts for rows in (X, other)]
    assert np.abs(tables[0] - tables[1]).sum() <= 2
    assert (
        voters.enrol(PrivateData(X=X, codes=Y, classes=[0, 1]), PUBLIC) and voters._largest is None
    )
