"""Private rows, labels, groups and weights; and that the checks of this folder see them."""

import numpy as np
import pandas as pd
import pytest
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
    each,
    fit,
    frame,
    mistakes,
    refused,
    said_of,
    shown,
    table,
    works,
)

# --- each argument -------------------------------------------------------------------------------

TABLE = "Expected X as a 2D array"
INCONSISTENT = "X and y have inconsistent numbers of samples: 40"
NOT_IN_CLASSES = "y has labels .* not in classes"
MISSING_LABEL = pd.array([pd.NA, LABEL] * 20, dtype="Int64")
DATES = Y.astype("datetime64[s]")
ONE_IDENTIFIER = "groups must have one identifier"
FINITE = "sample_weight must be 40 finite"
#: Wrong values of each argument, by what is said of them
WRONG = {
    "X": {
        TABLE: (None, 5, TEXT, {TEXT: [NUMBER]}),
        f"{TABLE}.*got a 1D array": (X[:, 2], pd.Series(X[:, 2])),
        r"X has 40 sample\(s\) and 0 feature\(s\)": (X[:, :0],),
        "X must be array-like, with rows of": ([[1, NUMBER], [1]],),
        "X: Expected unique column names": (frame(columns="aac"),),
    },
    "y": {
        "y to be passed, but the target y is None": (None,),
        "y should be a 1d array": (5, TEXT, {TEXT: 1}),
        rf"{INCONSISTENT} .* (0|39|41)\D": (Y[:0], Y[1:], [*Y, 0]),
        r"y must be a 1-D array.*got shape \(40, 2\)": (np.c_[Y, Y], np.eye(2)[Y]),
        "y must be a 1-D array.*sparse": (sparse.csr_matrix(np.eye(2)[Y]),),
        "y must be array-like": ([[LABEL], [1, 2]] * 20,),
        "y contains NaN": (changed(Y, NAN), [None, LABEL] * 20, MISSING_LABEL),
        "y contains NaN or infinity": (changed(Y, INF),),
        "y holds floats: Unknown label type: continuous": (X[:, 2],),
        "Complex data not supported: y must hold text": (Y + 1j * LABEL,),
        "y holds objects: Unknown label": (changed(Y, LABEL).astype(object),),
        NOT_IN_CLASSES: (changed(Y, LABEL), [TEXT, "b"] * 20, [0, TEXT] * 20, DATES),
    },
    "groups": {
        rf"{ONE_IDENTIFIER} .*\(40,\); got shape \(\)": (5, {TEXT: 1}),
        rf"{ONE_IDENTIFIER} .* is one text: .* of that name, groups=X.pop\(name\)$": (TEXT,),
        rf"{ONE_IDENTIFIER} .* got shape \((0|39|41),\)": ([], [TEXT] * 39, [TEXT] * 41),
        rf"{ONE_IDENTIFIER} .* got shape \(40, (1|3)\)": (X[:, 2:], frame()),
        "groups has values that can": ([[NUMBER], [1, 2]] * 20,),
        "groups has a missing value": (changed(np.ones(40), NAN), [None, *[TEXT] * 39]),
        "groups has a number that is not whole": (X[:, 2], changed(np.ones(40), INF)),
    },
    "sample_weight": {
        r"sample_weight must be 40 .* shape \(\)": (2.0,),
        f"{FINITE} numbers": (TEXT, [TEXT] * 40, X[:, 2] * 1j),
        r"sample_weight must .* \(39,\)": (X[1:, 2],),
        r"sample_weight must .* \(40, 3\)": (X,),
        FINITE: (changed(X[:, 2], NAN), changed(X[:, 2], INF)),
        "sample_weight .*objects of shape": (X[:, 2].astype(object),),
        "sample_weight must be array-like": ([[NUMBER], [1, 2]] * 20,),
    },
}


@said_of(
    {
        message: [(name, value) for value in values]
        for name, by_message in WRONG.items()
        for message, values in by_message.items()
    }
)
def test_wrong_values(value, message):
    name, wrong = value
    with refused(message):
        fit(**{name: wrong})


# --- rows ----------------------------------------------------------------------------------------


NO_NOISE = {"aggregator": PluralityVote(), "epsilon": None}


@mistakes(
    ("none", lambda: fit(X=X[:0], y=[]), r"X has 0 sample\(s\)"),
    ("one", lambda: fit(X=X[:1], y=Y[:1]), "n_teachers=4 is more .* n_samples=1"),
    ("names", lambda: fit(X=frame(columns=["a", 1, "c"])), "X: Feature names .* all", TypeError),
)
def test_too_few_rows_and_names_of_two_types(call, message, error):
    with refused(message, error):
        call()


# What only estimators can judge is left to them, and of their words the known ones are told
@table(
    "X, X_public, message",
    ("NaN", changed(X, NAN, (5, 1)), X_PUBLIC, "ValueError: Input X contains NaN"),
    ("inf", changed(X, INF, (5, 1)), X_PUBLIC, "ValueError: Input X contains infinity"),
    ("sparse", sparse.csr_matrix(X), X_PUBLIC, "TypeError: Sparse data was passed for X"),
    (
        "text",
        changed(X.astype(object), TEXT, (5, 1)),
        X_PUBLIC.astype(object),
        "ValueError: could not convert string",
    ),
    ("complex", X + 1j, X_PUBLIC + 1j, "ValueError: Complex data not supported"),
)
def test_rows_that_a_teacher_refuses(X, X_public, message):
    message = rf"teacher \d failed: {message}.*base_estimator"
    with refused(message, TeacherError, by_teachers=True):
        fit(X=X, X_public=X_public)


OBJECTS = {"X": X.astype(object), "X_public": X_PUBLIC.astype(object)}


@works(
    ("objects", lambda: fit(**OBJECTS).n_features_in_ == 3),
    ("one row", lambda: fit({"n_teachers": 1} | NO_NOISE, X=X[:1], y=[1]).n_teachers_ == 1),
)
def test_rows_that_are_accepted(holds, warned):
    with accepted(*warned):
        assert holds()


# --- labels --------------------------------------------------------------------------------------


def test_labels_of_bytes():
    with refused("y holds bytes: .* not supported", TypeError):
        fit(y=np.array([b"0", b"1"] * 20))


def test_labels_of_one_class_where_classes_is_none():
    message = "at least 2 classes; y has 1 class"
    with refused(message, warning="classes_ is read from the private labels"):
        fit({"classes": None}, y=np.full(40, LABEL))


def classes_of(y, classes=(0, 1)):
    return fit({"classes": list(classes)}, y=y).classes_.tolist()


@works(
    ("whole floats", lambda: classes_of(Y.astype(float)) == [0, 1]),
    ("one column", lambda: classes_of(Y[:, None]) == [0, 1], "A column-vector y was passed"),
    ("text", lambda: classes_of(np.where(Y, "yes", "no"), ["no", "yes"]) == ["no", "yes"]),
    ("of one class", lambda: fit(y=np.zeros(40, int)).privacy_spent_.n_answered == 6),
)
def test_labels_that_are_accepted(holds, warned):
    with accepted(*warned):
        assert holds()


# --- groups --------------------------------------------------------------------------------------


@each("groups", ([TEXT] * 40, pd.Series([TEXT, "b"] * 20), [(i, TEXT) for i in range(40)]))
def test_groups_that_are_accepted(groups):
    with accepted():
        assert fit(groups=groups).privacy_spent_.unit == "group"


# --- weights -------------------------------------------------------------------------------------


def test_weights_that_no_teacher_takes():
    with refused("sample_weight was given, but the fit of base_estimator takes none"):
        fit({"base_estimator": KNeighborsClassifier()}, sample_weight=X[:, 2])


def test_weights_may_differ():
    with accepted():
        assert fit(sample_weight=np.where(np.arange(40) < 30, 1, 0.5)).n_teachers_ == 4


# --- the checks of this folder -------------------------------------------------------------------


def test_the_search_for_private_values_finds_what_is_there():
    with pytest.raises(ValueError) as caught:
        raise ValueError("the cause") from KeyError(TEXT)
    assert TEXT in shown(caught.value) and str(NUMBER) in shown(ValueError(X[0, 2]))
