"""Partitions, query strategies and students: what they need, and what they return."""

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, Perceptron
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from sklearn_pate import queries
from sklearn_pate.partition import RandomPartition
from sklearn_pate.students import SoftLabelClassifier

from .helpers import NAN, NUMBER, TEXT, X_PUBLIC, each, fit, frame, refused, table


class Returns:
    """A partition, or a strategy, that returns what it was given, or raises it."""

    adjacency = "replace one record"

    def __init__(self, value):
        self.value = value

    def assign(self, **known):
        if isinstance(self.value, Exception):
            raise self.value
        return self.value

    def select(self, X_public, n_queries, random_state=None):
        return self.assign()


# --- partitions ----------------------------------------------------------------------------------


class NoAdjacency:
    def assign(self, n_records, n_teachers, **more):
        return np.arange(n_records) % n_teachers


@table(
    "params, message",
    ("no groups", {"unit": "group"}, 'unit="group" .* needs groups='),
    ("no index", {"partition": "hash"}, 'partition="hash".*index of a DataFrame'),
    ("no names", {"partition": "predefined"}, '"predefined" needs groups='),
    ("a class", {"partition": RandomPartition}, "partition must be an object"),
    ("no adjacency", {"partition": NoAdjacency()}, "must be an object.*string adjacency"),
)
def test_a_partition_that_cannot_be_used(params, message):
    with refused(message):
        fit(params)


@table(
    "index, message",
    ("positions", range(40), "the index of X is a RangeIndex"),
    ("missing", [None, *[TEXT] * 39], "the index of X has a missing value"),
    ("floats", np.arange(40) + NUMBER, "the index of X has a number that is not whole"),
)
def test_an_index_that_cannot_be_hashed(index, message):
    rows = frame().set_axis(index)
    with refused(message):
        fit({"partition": "hash"}, X=rows, X_public=frame(X_PUBLIC))


FORTY = "partition.assign must return 40 whole numbers"
RANGE = "partition.assign must return 40 whole numbers from 0 to 3"


@table(
    "teachers, message",
    ("None", None, rf"{FORTY}.*shape \(\)"),
    ("floats", np.zeros(40), f"{FORTY}.*and floats$"),
    ("two axes", [[0]] * 40, rf"{FORTY}.*\(40, 1\)"),
    ("a teacher too many", [4] * 40, RANGE),
    ("a negative teacher", [-1] * 40, RANGE),
    ("unequal lengths", [[0], [1, 2]], "partition.assign failed with ValueError"),
    ("an error", KeyError(TEXT), "partition.assign failed with KeyError"),
)
def test_a_partition_that_returns_no_teacher_for_each_record(teachers, message):
    with refused(message):
        fit({"partition": Returns(teachers)}, groups=[TEXT] * 40)


# --- query strategies ----------------------------------------------------------------------------


def test_a_strategy_that_cannot_be_used():
    with refused("query_strategy .* got a class"):
        fit({"query_strategy": queries.RandomQueries})
    message = r"UncertaintyQueries\(\) needs a student with predict_proba; got Perceptron\(\)"
    with refused(message):
        fit({"query_strategy": "uncertainty", "base_estimator": Perceptron()})


@each("n_rounds", (0, -1, 2.5, "x", None, NAN))
def test_a_wrong_number_of_rounds(n_rounds):
    strategy = queries.UncertaintyQueries(n_rounds=n_rounds)
    with refused("n_rounds of query_strategy must be a whole number, at least 1; got"):
        fit({"query_strategy": strategy})


@table(
    "strategy, name",
    ("n_rounds", queries.UncertaintyQueries(n_rounds=1), "n_rounds"),
    ("estimator", queries.BinaryExpertQueries(LinearRegression()), "estimator"),
    ("confident", queries.BinaryExpertQueries(GaussianNB(), confident=1.5), "confident"),
    ("possible", queries.BinaryExpertQueries(GaussianNB(), possible=NAN), "possible"),
    ("n_rivals", queries.BinaryExpertQueries(GaussianNB(), n_rivals=0), "n_rivals"),
    ("transformer", queries.DiversityQueries(GaussianNB()), "transformer"),
)
def test_a_parameter_that_a_strategy_refuses(strategy, name):
    with refused(f"query_strategy failed.*'{name}' parameter of"):
        fit({"query_strategy": strategy})


@each("rows", (None, [0] * 6, range(5), range(25, 31), range(-6, 0), np.arange(6.0)))
def test_a_strategy_that_returns_no_rows_of_x_public(rows):
    with refused("query_strategy.select must return 6 distinct numbers of rows of X_public"):
        fit({"query_strategy": Returns(rows)})


def test_a_strategy_that_fails():
    for rows, error in (([[0], [1, 2]], ""), (KeyError("centre"), ". KeyError: 'centre'")):
        with refused(f"query_strategy failed.*{error}"):
            fit({"query_strategy": Returns(rows)})


# --- students of soft labels ---------------------------------------------------------------------

THREE_ROWS = np.zeros((3, 1))
HALVES = [[0.5, 0.5]] * 3


@table(
    "y, message",
    ("a row missing", HALVES[:2], r"y must hold .* 3 rows of X; got shape \(2, 2\)"),
    ("one class", [[1.0]] * 3, r"y must hold .* at least 2 classes .* shape \(3, 1\)"),
    ("None", None, r"y must hold .* got shape \(\)"),
    ("unequal lengths", [[0.5, 0.5], [1.0], [1.0]], "y must be array-like"),
    ("hard, NaN", [NAN, 0, 1], "y contains NaN"),
)
def test_wrong_soft_labels(y, message):
    with refused(message):
        SoftLabelClassifier(GaussianNB()).fit(THREE_ROWS, y)


@each("row", ([0.5, 0.6], [1.5, -0.5], [NAN, 1.0], ["a", "b"]))
def test_soft_labels_that_are_no_distribution(row):
    with refused("soft labels y must be a distribution"):
        SoftLabelClassifier(GaussianNB()).fit(THREE_ROWS, [row] * 3)


def test_a_student_that_cannot_be_used():
    with refused("'estimator' parameter of SoftLabelClassifier"):
        SoftLabelClassifier(5).fit(THREE_ROWS, HALVES)
    with refused(r"KNeighborsClassifier\(\) takes no sample_weight"):
        SoftLabelClassifier(KNeighborsClassifier()).fit(THREE_ROWS, HALVES)
    with refused("not fitted yet", NotFittedError):
        SoftLabelClassifier(GaussianNB()).predict(THREE_ROWS)
