"""Private rows, labels, groups and weights."""

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.neighbors import KNeighborsClassifier

from sklearn_pate.aggregators import PluralityVote
from sklearn_pate.exceptions import TeacherError

from .helpers import (
    INF,
    LABEL,
    NAN,
    NUMBER,
    TEXT,
    X_PUBLIC,
    X,
    Y,
    accepted,
    changed,
    fit,
    frame,
    refused,
    table,
)

# --- rows ----------------------------------------------------------------------------------------

TABLE = "Expected X as a 2D array"


@table(
    "X, message",
    {
        "X=None": (None, TABLE),
        "X=5": (5, TABLE),
        "X: text": (TEXT, TABLE),
        "X: a dict": ({TEXT: [NUMBER]}, TABLE),
        "X: one axis": (X[:, 2], f"{TABLE}.*got a 1D array"),
        "X: a Series": (pd.Series(X[:, 2]), f"{TABLE}.*got a 1D array"),
        "X: no columns": (X[:, :0], r"X has 40 sample\(s\) and 0 feature\(s\)"),
        "X: rows of unequal length": ([[1, NUMBER], [1]], "X must be array-like, with rows of"),
        "X: duplicate names": (frame(columns="aac"), "X: Expected unique column names"),
    },
)
def test_wrong_rows(X, message):
    with refused(message):
        fit(X=X)


def test_no_rows():
    with refused(r"X has 0 sample\(s\)"):
        fit(X=X[:0], y=[])


def test_one_row_for_four_teachers():
    with refused("n_teachers=4 is more .* n_samples=1"):
        fit(X=X[:1], y=Y[:1])


def test_names_of_two_types():
    with refused("X: Feature names are only supported if all", TypeError):
        fit(X=frame(columns=["a", 1, "c"]))


# What only estimators can judge is left to them, and of their words the known ones are told
@table(
    "X, X_public, message",
    {
        "X: NaN": (changed(X, NAN, (5, 1)), X_PUBLIC, "ValueError: Input X contains NaN"),
        "X: inf": (changed(X, INF, (5, 1)), X_PUBLIC, "ValueError: Input X contains infinity"),
        "X: sparse": (
            sparse.csr_matrix(X),
            X_PUBLIC,
            "TypeError: Sparse data was passed for X",
        ),
        "X: text among objects": (
            changed(X.astype(object), TEXT, (5, 1)),
            X_PUBLIC.astype(object),
            "ValueError: could not convert string",
        ),
        "X: complex": (X + 1j, X_PUBLIC + 1j, "ValueError: Complex data not supported"),
    },
)
def test_rows_that_a_teacher_refuses(X, X_public, message):
    message = rf"teacher \d failed: {message}.*base_estimator"
    with refused(message, TeacherError, by_teachers=True):
        fit(X=X, X_public=X_public)


def test_rows_may_be_a_list():
    with accepted():
        assert fit(X=X.tolist()).n_features_in_ == 3


def test_rows_may_be_numbers_as_objects():
    with accepted():
        clf = fit(X=X.astype(object), X_public=X_PUBLIC.astype(object))
        assert clf.n_features_in_ == 3


def test_one_row_may_have_one_teacher():
    params = {"n_teachers": 1, "aggregator": PluralityVote(), "epsilon": None}
    with accepted():
        assert fit(params, X=X[:1], y=[1]).n_teachers_ == 1


# --- labels --------------------------------------------------------------------------------------

INCONSISTENT = "X and y have inconsistent numbers of samples: 40"
NOT_IN_CLASSES = "y has labels .* not in classes"


@table(
    "y, message",
    {
        "y=None": (None, "y to be passed, but the target y is None"),
        "y=5": (5, "y should be a 1d array"),
        "y: text": (TEXT, "y should be a 1d array"),
        "y: a dict": ({TEXT: 1}, "y should be a 1d array"),
        "y: empty": (Y[:0], f"{INCONSISTENT} .* 0"),
        "y: short": (Y[1:], f"{INCONSISTENT} .* 39"),
        "y: long": ([*Y, 0], f"{INCONSISTENT} .* 41"),
        "y: two columns": (np.c_[Y, Y], r"y must be a 1-D array.*got shape \(40, 2\)"),
        "y: one-hot": (np.eye(2)[Y], r"y must be a 1-D array.*got shape \(40, 2\)"),
        "y: sparse": (sparse.csr_matrix(np.eye(2)[Y]), "y must be a 1-D array.*sparse"),
        "y: rows of unequal length": ([[LABEL], [1, 2]] * 20, "y must be array-like"),
        "y: NaN": (changed(Y, NAN), "y contains NaN"),
        "y: inf": (changed(Y, INF), "y contains NaN or infinity"),
        "y: None inside": ([None, LABEL] * 20, "y contains NaN"),
        "y: NA": (pd.array([pd.NA, LABEL] * 20, dtype="Int64"), "y contains NaN"),
        "y: continuous": (X[:, 2], "y holds floats: Unknown label type: continuous"),
        "y: complex": (Y + 1j * LABEL, "Complex data not supported: y must hold text"),
        "y: objects": (
            changed(Y, LABEL).astype(object),
            "y holds objects: Unknown label",
        ),
        "y: a label not in classes": (changed(Y, LABEL), NOT_IN_CLASSES),
        "y: text, classes numbers": ([TEXT, "b"] * 20, NOT_IN_CLASSES),
        "y: mixed": ([0, TEXT] * 20, NOT_IN_CLASSES),
        "y: dates": (Y.astype("datetime64[s]"), NOT_IN_CLASSES),
    },
)
def test_wrong_labels(y, message):
    with refused(message):
        fit(y=y)


def test_labels_of_bytes():
    with refused("y holds bytes: .* not supported", TypeError):
        fit(y=np.array([b"0", b"1"] * 20))


def test_labels_of_one_class_where_classes_is_none():
    message = "at least 2 classes; y has 1 class"
    with refused(message, warning="classes_ is read from the private labels"):
        fit({"classes": None}, y=np.full(40, LABEL))


@table("y", {"y: booleans": Y == 1, "y: whole floats": Y.astype(float)})
def test_labels_may_be_other_numbers(y):
    with accepted():
        assert fit(y=y).classes_.tolist() == [0, 1]


def test_labels_may_be_categorical():
    with accepted():
        assert fit(y=pd.Categorical(Y)).n_teachers_ == 4


def test_labels_may_be_one_column():
    with accepted("A column-vector y was passed"):
        assert fit(y=Y[:, None]).n_teachers_ == 4


def test_labels_may_be_text():
    with accepted():
        assert fit({"classes": ["no", "yes"]}, y=np.where(Y, "yes", "no")).n_teachers_ == 4


def test_labels_may_be_of_one_class_where_classes_is_given():
    with accepted():
        assert fit(y=np.zeros(40, int)).privacy_spent_.n_answered == 6


# --- groups --------------------------------------------------------------------------------------

ONE_IDENTIFIER = "groups must have one identifier"
ONES = np.ones(40)


@table(
    "groups, message",
    {
        "groups=5": (5, rf"{ONE_IDENTIFIER} .*\(40,\); got shape \(\)"),
        "groups: text": (TEXT, rf"{ONE_IDENTIFIER} .* is one text: .* groups=X.pop\(name\)$"),
        "groups: a dict": ({TEXT: 1}, rf"{ONE_IDENTIFIER} .* shape \(\)"),
        "groups: empty": ([], rf"{ONE_IDENTIFIER} .* got shape \(0,\)"),
        "groups: short": ([TEXT] * 39, r"groups must have one .* got shape \(39,\)"),
        "groups: long": ([TEXT] * 41, r"groups must have one .* got shape \(41,\)"),
        "groups: a column": (X[:, 2:], r"groups must have one .* got shape \(40, 1\)"),
        "groups: a table": (frame(), r"groups must have one .* got shape \(40, 3\)"),
        "groups: unequal lengths": ([[NUMBER], [1, 2]] * 20, "groups has values that can"),
        "groups: NaN": (changed(ONES, NAN), "groups has a missing value"),
        "groups: None inside": ([None, *[TEXT] * 39], "groups has a missing value"),
        "groups: fractions": (X[:, 2], "groups has a number that is not whole"),
        "groups: inf": (changed(ONES, INF), "groups has a number that is not whole"),
    },
)
def test_wrong_groups(groups, message):
    with refused(message):
        fit(groups=groups)


@table(
    "groups",
    {
        "groups: one for all": [TEXT] * 40,
        "groups: a Series of text": pd.Series([TEXT, "b"] * 20),
        "groups: pairs": [(i, TEXT) for i in range(40)],
    },
)
def test_groups_that_are_accepted(groups):
    with accepted():
        assert fit(groups=groups).privacy_spent_.unit == "group"


# --- weights -------------------------------------------------------------------------------------

FINITE = "sample_weight must be 40 finite"


@table(
    "sample_weight, message",
    {
        "sample_weight=2.0": (2.0, r"sample_weight must be 40 .* shape \(\)"),
        "sample_weight: text": (TEXT, f"{FINITE} numbers"),
        "sample_weight: texts": ([TEXT] * 40, FINITE),
        "sample_weight: short": (X[1:, 2], r"sample_weight must .* \(39,\)"),
        "sample_weight: two axes": (X, r"sample_weight must .* \(40, 3\)"),
        "sample_weight: NaN": (changed(X[:, 2], NAN), "sample_weight must be 40"),
        "sample_weight: inf": (changed(X[:, 2], INF), "sample_weight must be 40"),
        "sample_weight: objects": (X[:, 2].astype(object), "sample_weight .*objects$"),
        "sample_weight: complex": (X[:, 2] * 1j, "sample_weight must be 40"),
        "sample_weight: unequal lengths": (
            [[NUMBER], [1, 2]] * 20,
            "sample_weight must be array-like",
        ),
    },
)
def test_wrong_weights(sample_weight, message):
    with refused(message):
        fit(sample_weight=sample_weight)


def test_weights_that_no_teacher_takes():
    with refused("sample_weight was given, but the fit of base_estimator takes none"):
        fit({"base_estimator": KNeighborsClassifier()}, sample_weight=X[:, 2])


def test_weights_may_differ():
    with accepted():
        assert fit(sample_weight=np.where(np.arange(40) < 30, 1, 0.5)).n_teachers_ == 4
