"""What is done with a PATEClassifier after its fit, or too early."""

from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB

from .helpers import NAN, NUMBER, X_PUBLIC, X, changed, fitted, pate, refused, table


@table(
    "method, rows",
    {
        "predict before fit": ("predict", X),
        "predict_proba before fit": ("predict_proba", X),
        "fit_student before fit": ("fit_student", X_PUBLIC),
    },
)
def test_a_method_before_fit(method, rows):
    call = getattr(pate(), method)
    with refused("not fitted yet", NotFittedError):
        call(rows)


@table(
    "X, message",
    {
        "X=None": (None, "Expected X as a 2D array"),
        "X: one axis": (X[0], "Expected X as a 2D array"),
        "X: empty": (X[:0], r"X has 0 sample\(s\)"),
        "X: features": (X[:, 1:], "X has 2 features, but PATEClas"),
        "X: lengths": ([[NUMBER], [1, 2]], "X must be array-like"),
        "X: NaN": (changed(X, NAN), "Input X contains NaN"),
    },
)
def test_predict_of_wrong_rows(X, message):
    clf = fitted()
    with refused(message):
        clf.predict(X)


def test_predict_proba_of_other_features():
    clf = fitted()
    with refused("X has 2 features"):
        clf.predict_proba(X[:, :2])


@table(
    "X_public, message",
    {
        "X_public=None": (None, "X_public is missing: the rows given to fit"),
        "a row missing": (
            X_PUBLIC[1:],
            "X_public has 29 rows, and labels were released for the 30 rows",
        ),
        "a column missing": (X_PUBLIC[:, 1:], "X_public does not have the features of X"),
    },
)
def test_fit_student_on_wrong_rows(X_public, message):
    clf = fitted()
    with refused(message):
        clf.fit_student(X_public)


@table("student", {"student: a regressor": LinearRegression(), "student=5": 5})
def test_fit_student_of_what_is_no_classifier(student):
    clf = fitted()
    with refused("student must be a classifier"):
        clf.fit_student(X_PUBLIC, student)


def test_fit_student_of_a_class():
    clf = fitted()
    with refused("student must be an estimator instance", TypeError):
        clf.fit_student(X_PUBLIC, GaussianNB)
