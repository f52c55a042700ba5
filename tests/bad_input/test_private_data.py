"""Private rows, labels, groups and weights; and that the checks of this folder see them."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.neighbors import KNeighborsClassifier

from sklearn_pate.aggregators import PluralityVote
from sklearn_pate.exceptions import TeacherError

from . import helpers as h

# --- each argument -------------------------------------------------------------------------------

TABLE = "Expected X as a 2D array"
INCONSISTENT = "X and y have inconsistent numbers of samples: 40"
NOT_IN_CLASSES = "y has labels .* not in classes"
MISSING_LABEL = pd.array([pd.NA, h.LABEL] * 20, dtype="Int64")
DATES = h.Y.astype("datetime64[s]")
ONE_IDENTIFIER = "groups must have one identifier"
FINITE = "sample_weight must be 40 finite"
#: Wrong values of each argument, by what is said of them
WRONG = {
    "X": {
        TABLE: (None, 5, h.TEXT, {h.TEXT: [h.NUMBER]}),
        f"{TABLE}.*got a 1D array": (h.X[:, 2], pd.Series(h.X[:, 2])),
        r"X has 40 sample\(s\) and 0 feature\(s\)": (h.X[:, :0],),
        "X must be array-like, with rows of": ([[1, h.NUMBER], [1]],),
        "X: Expected unique column names": (h.frame(columns="aac"),),
    },
    "y": {
        "y to be passed, but the target y is None": (None,),
        "y should be a 1d array": (5, h.TEXT, {h.TEXT: 1}),
        rf"{INCONSISTENT} .* (0|39|41)\D": (h.Y[:0], h.Y[1:], [*h.Y, 0]),
        r"y must be a 1-D array.*got shape \(40, 2\)": (np.c_[h.Y, h.Y], np.eye(2)[h.Y]),
        "y must be a 1-D array.*sparse": (sparse.csr_matrix(np.eye(2)[h.Y]),),
        "y must be array-like": ([[h.LABEL], [1, 2]] * 20,),
        "y contains NaN": (h.changed(h.Y, h.NAN), [None, h.LABEL] * 20, MISSING_LABEL),
        "y contains NaN or infinity": (h.changed(h.Y, h.INF),),
        "y holds floats: Unknown label type: continuous": (h.X[:, 2],),
        "Complex data not supported: y must hold text": (h.Y + 1j * h.LABEL,),
        "y holds objects: Unknown label": (h.changed(h.Y, h.LABEL).astype(object),),
        NOT_IN_CLASSES: (h.changed(h.Y, h.LABEL), [h.TEXT, "b"] * 20, [0, h.TEXT] * 20, DATES),
    },
    "groups": {
        rf"{ONE_IDENTIFIER} .*\(40,\); got shape \(\)": (5, {h.TEXT: 1}),
        rf"{ONE_IDENTIFIER} .* is one text: .* of that name, groups=X.pop\(name\)$": (h.TEXT,),
        rf"{ONE_IDENTIFIER} .* got shape \((0|39|41),\)": ([], [h.TEXT] * 39, [h.TEXT] * 41),
        rf"{ONE_IDENTIFIER} .* got shape \(40, (1|3)\)": (h.X[:, 2:], h.frame()),
        "groups has values that can": ([[h.NUMBER], [1, 2]] * 20,),
        "groups has a missing value": (h.changed(np.ones(40), h.NAN), [None, *[h.TEXT] * 39]),
        "groups has a number that is not whole": (h.X[:, 2], h.changed(np.ones(40), h.INF)),
    },
    "sample_weight": {
        r"sample_weight must be 40 .* shape \(\)": (2.0,),
        f"{FINITE} numbers": (h.TEXT, [h.TEXT] * 40, h.X[:, 2] * 1j),
        r"sample_weight must .* \(39,\)": (h.X[1:, 2],),
        r"sample_weight must .* \(40, 3\)": (h.X,),
        FINITE: (h.changed(h.X[:, 2], h.NAN), h.changed(h.X[:, 2], h.INF)),
        "sample_weight .*objects of shape": (h.X[:, 2].astype(object),),
        "sample_weight must be array-like": ([[h.NUMBER], [1, 2]] * 20,),
    },
}


@h.said_of(
    {
        message: [(name, value) for value in values]
        for name, by_message in WRONG.items()
        for message, values in by_message.items()
    }
)
def test_wrong_values(value, message):
    name, wrong = value
    with h.refused(message):
        h.fit(**{name: wrong})


# --- rows ----------------------------------------------------------------------------------------


NO_NOISE = {"aggregator": PluralityVote(), "epsilon": None}
TWO_TYPES = h.frame(columns=["a", 1, "c"])


test_too_few_rows_and_names_of_two_types = h.mistakes(
    ("none", lambda: h.fit(X=h.X[:0], y=[]), r"X has 0 sample\(s\)"),
    ("one", lambda: h.fit(X=h.X[:1], y=h.Y[:1]), "n_teachers=4 is more .* n_samples=1"),
    ("names", lambda: h.fit(X=TWO_TYPES), "X: Feature names .* all", TypeError),
)


# What only estimators can judge is left to them, and of their words the known ones are told
@h.table(
    "X, X_public, message",
    ("NaN", h.changed(h.X, h.NAN, (5, 1)), h.X_PUBLIC, "ValueError: Input X contains NaN"),
    ("inf", h.changed(h.X, h.INF, (5, 1)), h.X_PUBLIC, "ValueError: Input X contains infinity"),
    ("sparse", sparse.csr_matrix(h.X), h.X_PUBLIC, "TypeError: Sparse data was passed for X"),
    (
        "text",
        h.changed(h.X.astype(object), h.TEXT, (5, 1)),
        h.X_PUBLIC.astype(object),
        "ValueError: could not convert string",
    ),
    ("complex", h.X + 1j, h.X_PUBLIC + 1j, "ValueError: Complex data not supported"),
)
def test_rows_that_a_teacher_refuses(X, X_public, message):
    message = rf"teacher \d failed: {message}.*base_estimator"
    with h.refused(message, TeacherError, by_teachers=True):
        h.fit(X=X, X_public=X_public)


OBJECTS = {"X": h.X.astype(object), "X_public": h.X_PUBLIC.astype(object)}


test_rows_that_are_accepted = h.works(
    ("objects", lambda: h.fit(**OBJECTS).n_features_in_ == 3),
    ("one row", lambda: h.fit({"n_teachers": 1} | NO_NOISE, X=h.X[:1], y=[1]).n_teachers_ == 1),
)


# --- labels --------------------------------------------------------------------------------------


def test_labels_of_bytes():
    with h.refused("y holds bytes: .* not supported", TypeError):
        h.fit(y=np.array([b"0", b"1"] * 20))


def test_labels_of_one_class_where_classes_is_none():
    message = "at least 2 classes; y has 1 class"
    with h.refused(message, warning="classes_ is read from the private labels"):
        h.fit({"classes": None}, y=np.full(40, h.LABEL))


def classes_of(y, classes=(0, 1)):
    return h.fit({"classes": list(classes)}, y=y).classes_.tolist()


test_labels_that_are_accepted = h.works(
    ("whole floats", lambda: classes_of(h.Y.astype(float)) == [0, 1]),
    ("one column", lambda: classes_of(h.Y[:, None]) == [0, 1], "A column-vector y was passed"),
    ("text", lambda: classes_of(np.where(h.Y, "yes", "no"), ["no", "yes"]) == ["no", "yes"]),
    ("of one class", lambda: h.fit(y=np.zeros(40, int)).privacy_spent_.n_answered == 6),
)


# --- groups --------------------------------------------------------------------------------------


@h.each("groups", ([h.TEXT] * 40, pd.Series([h.TEXT, "b"] * 20), [(i, h.TEXT) for i in range(40)]))
def test_groups_that_are_accepted(groups):
    with h.accepted():
        assert h.fit(groups=groups).privacy_spent_.unit == "group"


# --- weights -------------------------------------------------------------------------------------


def test_weights_that_no_teacher_takes():
    with h.refused("sample_weight was given, but the fit of base_estimator takes none"):
        h.fit({"base_estimator": KNeighborsClassifier()}, sample_weight=h.X[:, 2])


def test_weights_may_differ():
    with h.accepted():
        assert h.fit(sample_weight=np.where(np.arange(40) < 30, 1, 0.5)).n_teachers_ == 4


# --- the checks of this folder -------------------------------------------------------------------


def test_the_search_for_private_values_finds_what_is_there():
    with pytest.raises(ValueError) as caught:
        raise ValueError("the cause") from KeyError(h.TEXT)
    assert h.TEXT in h.shown(caught.value) and str(h.NUMBER) in h.shown(ValueError(h.X[0, 2]))
