"""Public rows, PublicData and FitOnPublic."""

import re

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler

from sklearn_pate import FitOnPublic, PublicData
from sklearn_pate.exceptions import BadPlanError, TeacherError

from .helpers import NAN, X_PUBLIC, X, Y, accepted, changed, fit, pate, refused, table

# --- X_public ------------------------------------------------------------------------------------


@table(
    "X_public, message",
    {
        "None": (None, "X_public is missing: public, unlabelled rows"),
        "PublicData(None)": (PublicData(None), "X_public is missing"),
        "5": (5, "Expected X_public as a 2D array"),
        "text": ("rows", "Expected X_public as a 2D array"),
        "()": ((), "Expected X_public as a 2D array"),
        "one axis": (X_PUBLIC[0], "Expected X_public as a 2D array.*got a 1D array"),
        "empty": (X_PUBLIC[:0], r"X_public has 0 sample\(s\)"),
        "one row": (X_PUBLIC[:1], "n_queries=6 is more than the rows of X_public, 1"),
        "unequal lengths": (
            [[1, 2, 3], [1]],
            "X_public must be array-like, with rows of one length",
        ),
        "rows and labels": ((X_PUBLIC, np.zeros(30)), "X_public must be array-like"),
        "a column missing": (
            X_PUBLIC[:, 1:],
            "X_public does not have the features of X: .*2 features",
        ),
        "labels appended": (
            np.c_[X_PUBLIC, np.zeros(30)],
            "X_public does not have the features of X",
        ),
    },
)
def test_wrong_public_rows(X_public, message):
    with refused(message):
        fit(X_public=X_public)


def test_public_rows_that_the_student_refuses():
    missing = changed(X_PUBLIC, NAN, (slice(None), 1))
    message = "the student failed when tried on public rows.*nothing was spent.*contains NaN"
    with refused(message):
        fit({"student": GaussianNB()}, X_public=missing)


def test_public_rows_that_the_teachers_refuse():
    missing = changed(X_PUBLIC, NAN, (slice(None), 1))
    message = "teacher 0 failed: ValueError: Input X contains NaN"
    with refused(message, TeacherError, by_teachers=True):
        fit(X_public=missing)


@table(
    "X_public",
    {
        "X_public: a list": X_PUBLIC.tolist(),
        "X_public: PublicData": PublicData(X_PUBLIC),
        "X_public: PublicData twice": PublicData(PublicData(X_PUBLIC)),
        # Whether public rows equal private ones is private: a warning would tell who is among them
        "X_public equal to X": X.copy(),
        "X_public with a row of X": np.vstack([X_PUBLIC, X[:1]]),
    },
)
def test_public_rows_that_are_accepted(X_public):
    with accepted():
        assert fit(X_public=X_public).n_teachers_ == 4


def test_one_public_row_for_each_class_is_enough():
    with accepted():
        assert fit({"n_queries": 2}, X_public=X_PUBLIC[:2]).n_teachers_ == 4


def test_one_public_row_is_not_enough_for_two_classes():
    text = "labels is 1, all that is asked for.* give more public rows, 20"
    with refused(f"this cannot work: .*{text}", BadPlanError):
        fit({"n_queries": 1}, X_public=X_PUBLIC[:1])
    with accepted():
        plan = pate(n_queries=1).plan(X, Y, X_PUBLIC[:1])
    assert re.search(text, plan.obstacles[0]) and plan.obstacles[0] in plan.advice


@table(
    "X_public, found",
    {
        "X_public is X": (X, "X_public is X"),
        "X_public is X, in PublicData": (PublicData(X), "X_public is X"),
        "X_public: a part of X": (X[:30], "X_public shares memory with X"),
    },
)
def test_public_rows_that_are_the_private_ones(X_public, found):
    leak = f"{found}.*: .* pass rows that are public"
    obstacle = "X_public is X or a part of it, .* give rows that are public, or a synthesizer"
    with refused(f"this cannot work: {obstacle}.*Nothing was spent", BadPlanError, warning=leak):
        fit(X_public=X_public)
    with accepted(leak):
        plan = pate().plan(X, Y, X_public)
    assert len(plan.obstacles) == 1 and plan.obstacles[0] in plan.advice
    with accepted(leak, obstacle):
        clf = fit({"on_bad_plan": "warn"}, X_public=X_public)
    assert clf.n_teachers_ == 4
    assert "private rows, which were given as X_public" in clf.privacy_spent_.not_covered


# --- PublicData and FitOnPublic ------------------------------------------------------------------


def test_public_data_of_nothing():
    with refused("missing 1 required positional arg.*'X'", TypeError):
        PublicData()


def test_public_data_with_labels():
    with refused("positional arguments", TypeError):
        PublicData(X_PUBLIC, Y)


def test_fit_on_public_without_public_rows():
    with refused("FitOnPublic got no X_public"):
        FitOnPublic(StandardScaler()).fit(X)


@table("transformer", {"transformer=5": 5, "transformer: a classifier": GaussianNB()})
def test_fit_on_public_of_what_is_no_transformer(transformer):
    with refused("'transformer' parameter of FitOnPublic"):
        FitOnPublic(transformer).fit(X, X_public=X_PUBLIC)


def test_fit_on_public_before_fit():
    with refused("not fitted yet", NotFittedError):
        FitOnPublic(StandardScaler()).transform(X)
