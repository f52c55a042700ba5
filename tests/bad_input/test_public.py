"""Public rows, PublicData and FitOnPublic."""

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler

from sklearn_pate import FitOnPublic, PublicData
from sklearn_pate.exceptions import BadPlanError, TeacherError

from .helpers import (
    INF,
    NAN,
    X_PUBLIC,
    Teacher,
    X,
    Y,
    accepted,
    changed,
    fit,
    mistakes,
    refused,
    said_of,
    table,
)

# --- X_public ------------------------------------------------------------------------------------


FEATURES = "X_public does not have the features of X"


@said_of(
    {
        "X_public is missing: public, unlabelled rows": (None, PublicData(None)),
        "Expected X_public as a 2D array": (5, "rows", ()),
        "Expected X_public as a 2D array.*got a 1D array": (X_PUBLIC[0],),
        r"X_public has 0 sample\(s\)": (X_PUBLIC[:0],),
        "n_queries=6 is more than the rows of X_public, 1": (X_PUBLIC[:1],),
        "X_public must be array-like, with rows of one length": ([[1, 2, 3], [1]],),
        "X_public must be array-like": ((X_PUBLIC, np.zeros(30)),),
        f"{FEATURES}: .*2 features": (X_PUBLIC[:, 1:],),
        FEATURES: (np.c_[X_PUBLIC, np.zeros(30)],),
    }
)
def test_wrong_public_rows(value, message):
    with refused(message):
        fit(X_public=value)


def test_public_rows_that_the_student_refuses():
    missing = changed(X_PUBLIC, NAN, (slice(None), 1))
    message = "the student failed when tried on public rows.*contains NaN"
    with refused(message):
        fit({"student": GaussianNB()}, X_public=missing)


@table("number, name", {"NaN": (NAN, "NaN"), "infinite": (INF, "infinity")})
def test_public_rows_that_the_teachers_refuse(number, name):
    message = f"X_public is not finite: teacher 0 failed: ValueError: Input X contains {name}"
    with refused(message, TeacherError, by_teachers=True):
        fit(X_public=changed(X_PUBLIC, number, (slice(None), 1)))


@table(
    "X_public",
    {
        "X_public: a list": X_PUBLIC.tolist(),
        "X_public: PublicData twice": PublicData(PublicData(X_PUBLIC)),
        # Whether public rows equal private ones is private: a warning would tell who is among them
        "X_public equal to X": X.copy(),
        "X_public with a row of X": np.vstack([X_PUBLIC, X[:1]]),
    },
)
def test_public_rows_that_are_accepted(X_public):
    with accepted():
        assert fit(X_public=X_public).n_teachers_ == 4


def test_each_class_needs_a_public_row():
    text = "labels is 1, all that is asked for.* give more public rows, 20"
    with refused(f"this cannot work: .*{text}", BadPlanError):
        fit({"n_queries": 1}, X_public=X_PUBLIC[:1])
    with accepted():
        assert fit({"n_queries": 2}, X_public=X_PUBLIC[:2]).n_teachers_ == 4


@said_of({"X_public is X": (X, PublicData(X)), "X_public shares memory with X": (X[:30],)})
def test_public_rows_that_are_the_private_ones(value, message):
    leak = f"{message}.*: .* pass rows that are public"
    obstacle = "X_public is X or a part of it, .* give rows that are public, or a synthesizer"
    with refused(f"this cannot work: {obstacle}", BadPlanError, warning=leak):
        fit(X_public=value)
    with accepted(leak, obstacle):
        clf = fit({"on_bad_plan": "warn"}, X_public=value)
    assert "private rows, which were given as X_public" in clf.privacy_spent_.not_covered


# --- PublicData and FitOnPublic ------------------------------------------------------------------


NO_TRANSFORMER = "'transformer' parameter of FitOnPublic"
SCALER = FitOnPublic(StandardScaler())


@mistakes(
    ("nothing", lambda: PublicData(), "missing 1 required positional arg.*'X'", TypeError),
    ("labels", lambda: PublicData(X_PUBLIC, Y), "positional arguments", TypeError),
    ("no public rows", lambda: SCALER.fit(X), "FitOnPublic got no X_public"),
    ("a number", lambda: FitOnPublic(5).fit(X, X_public=X_PUBLIC), NO_TRANSFORMER),
    ("a teacher", lambda: FitOnPublic(Teacher()).fit(X, X_public=X_PUBLIC), NO_TRANSFORMER),
    ("before fit", lambda: SCALER.transform(X), "not fitted yet", NotFittedError),
)
def test_wrong_use_of_public_data_and_fit_on_public(call, message, error):
    with refused(message, error):
        call()
