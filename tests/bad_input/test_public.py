"""Public rows, PublicData and FitOnPublic."""

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler

from sklearn_pate import FitOnPublic, PublicData
from sklearn_pate.exceptions import BadPlanError, TeacherError

from . import helpers as h

# --- X_public ------------------------------------------------------------------------------------


FEATURES = "X_public does not have the features of X"


@h.said_of(
    {
        "X_public is missing: public, unlabelled rows": (None, PublicData(None)),
        "Expected X_public as a 2D array": (5, "rows", ()),
        "Expected X_public as a 2D array.*got a 1D array": (h.X_PUBLIC[0],),
        r"X_public has 0 sample\(s\)": (h.X_PUBLIC[:0],),
        "n_queries=6 is more than the rows of X_public, 1": (h.X_PUBLIC[:1],),
        "X_public must be array-like, with rows of one length": ([[1, 2, 3], [1]],),
        "X_public must be array-like": ((h.X_PUBLIC, np.zeros(30)),),
        f"{FEATURES}: .*2 features": (h.X_PUBLIC[:, 1:],),
        FEATURES: (np.c_[h.X_PUBLIC, np.zeros(30)],),
    }
)
def test_wrong_public_rows(value, message):
    with h.refused(message):
        h.fit(X_public=value)


def test_public_rows_that_the_student_refuses():
    missing = h.changed(h.X_PUBLIC, h.NAN, (slice(None), 1))
    with h.refused("the student failed when tried on public rows.*contains NaN"):
        h.fit({"student": GaussianNB()}, X_public=missing)


@h.table("number, name", {"NaN": (h.NAN, "NaN"), "infinite": (h.INF, "infinity")})
def test_public_rows_that_the_teachers_refuse(number, name):
    message = f"X_public is not finite: teacher 0 failed: ValueError: Input X contains {name}"
    with h.refused(message, TeacherError, by_teachers=True):
        h.fit(X_public=h.changed(h.X_PUBLIC, number, (slice(None), 1)))


@h.table(
    "X_public",
    {
        "X_public: a list": h.X_PUBLIC.tolist(),
        "X_public: PublicData twice": PublicData(PublicData(h.X_PUBLIC)),
        # Whether public rows equal private ones is private: a warning would tell who is among them
        "X_public equal to X": h.X.copy(),
        "X_public with a row of X": np.vstack([h.X_PUBLIC, h.X[:1]]),
    },
)
def test_public_rows_that_are_accepted(X_public):
    with h.accepted():
        assert h.fit(X_public=X_public).n_teachers_ == 4


def test_each_class_needs_a_public_row():
    text = "labels is 1, all that is asked for.* give more public rows, 20"
    with h.refused(f"this cannot work: .*{text}", BadPlanError):
        h.fit({"n_queries": 1}, X_public=h.X_PUBLIC[:1])
    with h.accepted():
        assert h.fit({"n_queries": 2}, X_public=h.X_PUBLIC[:2]).n_teachers_ == 4


@h.said_of({"X_public is X": (h.X, PublicData(h.X)), "X_public shares memory with X": (h.X[:30],)})
def test_public_rows_that_are_the_private_ones(value, message):
    leak = f"{message}.*: .* pass rows that are public"
    obstacle = "X_public is X or a part of it, .* give rows that are public, or a synthesizer"
    with h.refused(f"this cannot work: {obstacle}", BadPlanError, warning=leak):
        h.fit(X_public=value)
    with h.accepted(leak, obstacle):
        clf = h.fit({"on_bad_plan": "warn"}, X_public=value)
    assert "private rows, which were given as X_public" in clf.privacy_spent_.not_covered


# --- PublicData and FitOnPublic ------------------------------------------------------------------


NO_TRANSFORMER = "'transformer' parameter of FitOnPublic"
SCALER = FitOnPublic(StandardScaler())


test_wrong_use_of_public_data_and_fit_on_public = h.mistakes(
    ("nothing", lambda: PublicData(), "missing 1 required positional arg.*'X'", TypeError),
    ("labels", lambda: PublicData(h.X_PUBLIC, h.Y), "positional arguments", TypeError),
    ("no public rows", lambda: SCALER.fit(h.X), "FitOnPublic got no X_public"),
    ("a number", lambda: FitOnPublic(5).fit(h.X, X_public=h.X_PUBLIC), NO_TRANSFORMER),
    ("a teacher", lambda: FitOnPublic(h.Teacher()).fit(h.X, X_public=h.X_PUBLIC), NO_TRANSFORMER),
    ("before fit", lambda: SCALER.transform(h.X), "not fitted yet", NotFittedError),
)
