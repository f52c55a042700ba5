"""Students that learn from soft labels."""

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from sklearn_pate.students import SoftLabelClassifier

from .helpers import NAN, refused, table

THREE_ROWS = np.zeros((3, 1))
SOFT_LABELS = [[0.5, 0.5]] * 3
DISTRIBUTION = "soft labels y must be a distribution"


@table(
    "y, message",
    {
        "a row missing": (
            [[0.5, 0.5]] * 2,
            r"y must hold .* 3 rows of X; got shape \(2, 2\)",
        ),
        "one class": ([[1.0]] * 3, r"y must hold .* at least 2 classes .* shape \(3, 1\)"),
        "three axes": ([[[0.5, 0.5]]] * 3, r"y must hold .* got shape \(3, 1, 2\)"),
        "None": (None, r"y must hold .* got shape \(\)"),
        "another sum": ([[0.5, 0.6]] * 3, DISTRIBUTION),
        "negative": ([[1.5, -0.5]] * 3, DISTRIBUTION),
        "NaN": ([[NAN, 1.0]] * 3, DISTRIBUTION),
        "text": ([["a", "b"]] * 3, DISTRIBUTION),
        "objects": (np.array(SOFT_LABELS, dtype=object), DISTRIBUTION),
        "unequal lengths": ([[0.5, 0.5], [1.0], [1.0]], "y must be array-like"),
        "hard, NaN": ([NAN, 0, 1], "y contains NaN"),
    },
)
def test_wrong_soft_labels(y, message):
    with refused(message):
        SoftLabelClassifier(GaussianNB()).fit(THREE_ROWS, y)


def test_an_estimator_that_is_a_number():
    with refused("'estimator' parameter of SoftLabelClassifier"):
        SoftLabelClassifier(5).fit(THREE_ROWS, SOFT_LABELS)


def test_an_estimator_that_takes_no_weights():
    with refused(r"KNeighborsClassifier\(\) takes no sample_weight"):
        SoftLabelClassifier(KNeighborsClassifier()).fit(THREE_ROWS, SOFT_LABELS)


def test_predict_before_fit():
    with refused("not fitted yet", NotFittedError):
        SoftLabelClassifier(GaussianNB()).predict(THREE_ROWS)
