"""Infinite and huge numbers: no record makes a fit fail, and rows that have them are predicted."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from conftest import cases, table
from scipy import sparse
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.pipeline import make_pipeline

from sklearn_pate import PATEClassifier, PATERegressor
from sklearn_pate.methods import ClassSums, ReverseNeighbors
from sklearn_pate.neighbors import RowVectorizer
from sklearn_pate.synthesis import ClassSumsSynthesizer

RNG = np.random.default_rng(0)
N = 300
X = RNG.normal(size=(2 * N, 4))
Y = (X[:, 0] > 0).astype(int)
UNITS = np.array([1.0, 1e4, 1.0, 1e-4])
WIDE = RNG.normal(size=(N, 120))


def with_huge(rows, value, dtype=float):
    """Return rows with such a value in one of them."""
    rows = rows.copy()
    rows.reshape(len(rows), -1)[3, 1] = value
    with np.errstate(over="ignore"):
        return rows.astype(dtype)


def named(rows):
    return pd.DataFrame(rows, columns=list("abcd"))


FORMS = {
    "array": lambda value: with_huge(X[:N], value),
    "units": lambda value: with_huge(X[:N] * UNITS, value),
    "wide": lambda value: with_huge(WIDE, value),
    "float32": lambda value: with_huge(X[:N], value, np.float32),
    "wide float32": lambda value: with_huge(WIDE, value, np.float32),
    "float16": lambda value: with_huge(X[:N], value, np.float16),
    "objects": lambda value: with_huge(X[:N], value, object),
    "images": lambda value: with_huge(WIDE[:, :12].reshape(N, 3, 4), value),
    "sparse": lambda value: sparse.csr_array(with_huge(X[:N], value)),
    "frame": lambda value: named(with_huge(X[:N], value)),
    "frame of float32": lambda value: named(with_huge(X[:N], value, np.float32)),
    "frame of Float64": lambda value: named(with_huge(X[:N], value)).astype("Float64"),
    "with text": lambda value: named(with_huge(X[:N], value)).assign(t=list("uvw") * 100),
}


#: Infinite in all forms; squares that overflow; and more than a float32 holds
HUGE = [
    *((form, -np.inf) for form in FORMS),
    *((form, 1.7e308) for form in ("array", "units", "wide", "objects", "sparse", "frame")),
    *((form, 1e39) for form in ("float32", "wide float32", "frame of float32")),
]


@cases("form, value", *HUGE)
@pytest.mark.filterwarnings("ignore")  # which teachers do not show
def test_row_vectorizer_accepts_rows_with_a_huge_number(form, value):
    rows = FORMS[form](value)
    for model in (LogisticRegression(max_iter=20), RidgeCV()):
        fitted = make_pipeline(RowVectorizer(random_state=0), model).fit(rows, Y[:N])
        assert np.isfinite(fitted.predict(rows)).all()


@cases("form", "array", "units", "wide", "images", "frame", "objects")
def test_row_vectorizer_counts_infinity_as_missing(form):
    with_gap = FORMS[form](np.nan)
    for value in (np.inf, -np.inf):
        rows = FORMS[form](value)
        expected = RowVectorizer(random_state=0).fit_transform(with_gap)
        np.testing.assert_array_equal(
            RowVectorizer(random_state=0).fit_transform(rows), expected, strict=True
        )


def test_row_vectorizer_counts_infinite_sparse_entries_as_zero():
    rows = with_huge(X[:N], 0.0)
    expected = RowVectorizer(random_state=0).fit_transform(sparse.csr_array(rows))
    for value in (np.inf, -np.inf, np.nan, 1e300):
        numbers = RowVectorizer(random_state=0).fit_transform(FORMS["sparse"](value))
        np.testing.assert_allclose(numbers, expected, atol=1e-12)


MODELS = {
    "teachers": lambda: PATEClassifier(n_teachers=10, n_queries=10, epsilon=9, classes=[0, 1]),
    "numbers": lambda: PATERegressor(n_teachers=10, n_queries=10, epsilon=50, bounds=(0, 1)),
    "cells": lambda: PATEClassifier(method=ReverseNeighbors(n_cells=20), epsilon=9, classes=[0, 1]),
    "sums": lambda: PATEClassifier(method=ClassSums(), epsilon=9, classes=[0, 1]),
}


@cases("model", *MODELS)
@pytest.mark.filterwarnings(
    "ignore:about 5 labels per class", "ignore:epsilon=50", "ignore:the released numbers"
)
def test_fit_accepts_an_infinite_number_without_warnings(model):
    rows = with_huge(X[:N], np.inf)
    rows[5, 2] = 1e300
    fitted = MODELS[model]().fit(rows, Y[:N], X_public=X[N:])
    assert np.isfinite(fitted.predict(with_huge(X[N:], -np.inf))).all()


def test_fit_of_synthetic_rows_accepts_an_infinite_number():
    clf = PATEClassifier(n_teachers=10, n_queries=10, epsilon=20, classes=[0, 1], schema=(-4, 4))
    clf.fit(with_huge(X[:N], -np.inf), Y[:N])
    assert clf.predict(with_huge(X, np.inf)).shape == (2 * N,)


# --- arrays of objects ---------------------------------------------------------------------------

OBJECTS = X[:N].astype(object)


NO_NUMBERS = ["text", 10**400, -(10**5000), 1j, [1], None, pd.NA, Fraction(10**400)]


@cases("value", *NO_NUMBERS, ids=map(str, range(len(NO_NUMBERS))))
def test_row_vectorizer_counts_objects_without_number_as_missing(value):
    rows = OBJECTS.copy()
    rows[3, 1] = value
    numbers = RowVectorizer().fit_transform(rows)
    assert numbers.dtype == float and np.isfinite(numbers).all()
    expected = RowVectorizer().fit_transform(with_huge(X[:N], np.nan))
    np.testing.assert_array_equal(numbers, expected)


def with_texts(n_texts):
    rows = OBJECTS[:100].copy()
    rows[:n_texts, 1] = "unknown"
    return rows


def test_row_vectorizer_refuses_array_columns_of_mostly_text():
    numbers = RowVectorizer().fit_transform(with_texts(50))
    expected = RowVectorizer().fit_transform(
        np.where(with_texts(50) == "unknown", None, OBJECTS[:100])
    )
    np.testing.assert_array_equal(numbers, expected)
    with pytest.raises(
        ValueError, match="an array that holds text .* convert X and X_public to DataFrames"
    ):
        RowVectorizer().fit(with_texts(51))


def test_fit_of_default_teachers_accepts_text_in_private_arrays():
    """Some teachers get columns with more texts than numbers, or with texts alone."""
    rows = OBJECTS.copy()
    rows[:140, 1] = "unknown"
    rows[:, 2] = "unknown"
    fitted = MODELS["teachers"]().fit(rows, Y[:N], X_public=X[N:].astype(object))
    assert np.isfinite(fitted.predict_proba(X[N:].astype(object))).all()


# --- models with a schema ------------------------------------------------------------------------

BOUNDS = dict.fromkeys("abcd", (-3.0, 3.0))
OPTIONS = {"epsilon": 8.0, "on_bad_plan": "warn", "random_state": 0}
CLASSIFIER = OPTIONS | {"classes": [0, 1]}


def sums(bounds=BOUNDS, **params):
    return ClassSumsSynthesizer(bounds, missing=[], n_rows=200, **params)


SCHEMA_MODELS = {
    "sums": lambda: PATEClassifier(synthesizer=sums(epsilon_fraction=1.0), **CLASSIFIER),
    "sums and cells": lambda: PATEClassifier(
        method=ReverseNeighbors(n_cells=20), synthesizer=sums(), **CLASSIFIER
    ),
    "levels": lambda: PATERegressor(
        method=ReverseNeighbors(n_cells=20), synthesizer=sums(), bounds=(0, 1), **OPTIONS
    ),
}


@pytest.mark.filterwarnings("ignore:the released numbers", "ignore:X does not have valid feature")
@table("make", SCHEMA_MODELS)
def test_numbers_beyond_the_bounds_count_at_the_bound(make):
    model = make().fit(named(X[:N]), Y[:N])
    edge, beyond = named(X[:5]), named(X[:5])
    edge.loc[1, "b"], edge.loc[2, "c"], edge.loc[3, "d"], edge.loc[4, "a"] = -3, 3, 3, -3
    beyond.loc[1, "b"], beyond.loc[2, "c"], beyond.loc[3, "d"] = -np.inf, np.inf, 1.7e308
    beyond["a"] = beyond["a"].astype(object)
    beyond.loc[4, "a"] = -(10**400)
    methods = {"predict", "predict_proba"} & set(dir(model))
    for method in methods:
        predict = getattr(model, method)
        expected = predict(edge)
        assert np.isfinite(expected).all()
        np.testing.assert_allclose(predict(beyond), expected)
        np.testing.assert_allclose(predict(beyond.to_numpy()), expected)
    assert model.score(beyond, Y[:5]) == model.score(edge, Y[:5])


def test_predictions_of_arrays_count_huge_numbers_at_the_bound():
    clf = PATEClassifier(
        method=ReverseNeighbors(n_cells=20), synthesizer=sums((-3.0, 3.0)), **CLASSIFIER
    )
    clf.fit(X[:N], Y[:N])
    expected = clf.predict_proba(with_huge(X[:9], -3.0))
    for value in (-np.inf, -1e300, float("-1.8e308")):
        np.testing.assert_allclose(clf.predict_proba(with_huge(X[:9], value)), expected)
    rows = X[:9].astype(object)
    rows[3, 1] = -(10**400)
    np.testing.assert_allclose(clf.predict_proba(rows), expected)


def test_export_predicts_infinite_numbers_as_the_model():
    clf = PATEClassifier(n_teachers=10, n_queries=40, epsilon=40, classes=[0, 1])
    clf.fit(X[:N], Y[:N], X_public=X[N:])
    rows = with_huge(X, np.inf)
    np.testing.assert_array_equal(clf.export().predict_proba(rows), clf.predict_proba(rows))


def test_class_proba_error_for_infinite_transformed_rows_names_x():
    class Divides(RowVectorizer):
        def transform(self, X):
            return 1 / np.where(X == 7.0, np.inf, X) * np.where(X == 7.0, np.inf, 1.0)

    clf = PATEClassifier(method=ReverseNeighbors(Divides(), n_cells=20), epsilon=9, classes=[0, 1])
    clf.fit(X[:N], Y[:N], X_public=X[N:])
    with (
        pytest.raises(ValueError, match="infinite or missing numbers for X: impute"),
        np.errstate(invalid="ignore"),
    ):
        clf.table_.class_proba(with_huge(X[:5], 7.0))
