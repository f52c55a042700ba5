"""Query strategies: their parameters, and what they return."""

import numpy as np
from sklearn.linear_model import LinearRegression, Perceptron
from sklearn.naive_bayes import GaussianNB

from sklearn_pate.queries import (
    BinaryExpertQueries,
    DiversityQueries,
    RandomQueries,
    UncertaintyQueries,
)

from .helpers import NAN, each, fit, refused, table


class Selects:
    """A strategy that returns what it was given, or raises it."""

    def __init__(self, rows):
        self.rows = rows

    def select(self, X_public, n_queries, random_state=None):
        if isinstance(self.rows, Exception):
            raise self.rows
        return self.rows


def test_a_strategy_that_is_a_class():
    with refused("query_strategy .* got a class"):
        fit({"query_strategy": RandomQueries})


def test_a_strategy_that_needs_probabilities_of_a_student_without():
    message = r"UncertaintyQueries\(\) needs a student with predict_proba; got Perceptron\(\)"
    with refused(message):
        fit({"query_strategy": "uncertainty", "base_estimator": Perceptron()})


@each("n_rounds", (0, -1, 2.5, "x", None, NAN))
def test_a_wrong_number_of_rounds(n_rounds):
    strategy = UncertaintyQueries(n_rounds=n_rounds)
    with refused("n_rounds of query_strategy must be a whole number, at least 1; got"):
        fit({"query_strategy": strategy})


@table(
    "strategy, name",
    {
        "UncertaintyQueries.n_rounds": (UncertaintyQueries(n_rounds=1), "n_rounds"),
        "BinaryExpertQueries.estimator": (BinaryExpertQueries(LinearRegression()), "estimator"),
        "BinaryExpertQueries.confident": (
            BinaryExpertQueries(GaussianNB(), confident=1.5),
            "confident",
        ),
        "BinaryExpertQueries.possible": (
            BinaryExpertQueries(GaussianNB(), possible=NAN),
            "possible",
        ),
        "BinaryExpertQueries.n_rivals": (
            BinaryExpertQueries(GaussianNB(), n_rivals=0),
            "n_rivals",
        ),
        "DiversityQueries.transformer": (DiversityQueries(GaussianNB()), "transformer"),
    },
)
def test_a_parameter_that_a_strategy_refuses(strategy, name):
    with refused(f"query_strategy failed.*nothing was spent.*'{name}' parameter of"):
        fit({"query_strategy": strategy})


@table(
    "rows",
    {
        "None": None,
        "nothing": [],
        "text": "rows",
        "one row often": [0] * 6,
        "too few": range(5),
        "too many": range(7),
        "beyond the last": range(25, 31),
        "negative": range(-6, 0),
        "floats": np.arange(6.0),
        "a mask": np.arange(30) < 6,
        "two axes": [[0, 1, 2, 3, 4, 5]],
    },
)
def test_a_strategy_that_returns_no_rows_of_x_public(rows):
    with refused("query_strategy.select must return 6 distinct numbers of rows of X_public"):
        fit({"query_strategy": Selects(rows)})


def test_a_strategy_that_returns_rows_of_unequal_length():
    with refused("query_strategy failed.*nothing was spent"):
        fit({"query_strategy": Selects([[0], [1, 2]])})


def test_a_strategy_that_raises():
    with refused("query_strategy failed.*nothing was spent. KeyError: 'centre'"):
        fit({"query_strategy": Selects(KeyError("centre"))})
