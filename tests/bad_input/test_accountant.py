"""What the curator asks after a fit, and plans."""

import functools
import warnings

import pytest
from sklearn.naive_bayes import GaussianNB

from sklearn_pate import PATEClassifier
from sklearn_pate.accountant import plan_queries
from sklearn_pate.aggregators import ConfidentGNMax

from .helpers import NAN, QUICK, VOTES, X_PUBLIC, each, fitted, refused, table

DELTA = "delta must be a number strictly between 0 and 1; got"
WRONG_DELTAS = (0, 1, -1, NAN, "x", [1])


@functools.cache
def stopped():
    """A fit that a budget stopped: what it cost is known at its own delta only."""
    params = {"aggregator": ConfidentGNMax(0.5, 4.0, 4.0), "n_queries": 30, "epsilon": 6.0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return PATEClassifier(GaussianNB(), **(QUICK | params)).fit_votes(VOTES, X_PUBLIC)


@table(
    "arguments, message",
    {
        "method": ({"method": "rdp"}, "method must be"),
        "conversion": (
            {"conversion": "best"},
            "conversion must be 'improved' or 'classic'; got 'best'",
        ),
    },
)
def test_wrong_arguments_of_the_curators_epsilon(arguments, message):
    curator = fitted().curator_
    with refused(message):
        curator.epsilon(**arguments)


@table(
    "arguments, message",
    {
        "method": ({"method": None}, "method must be .*None"),
        "orders=[1]": ({"orders": [1]}, "orders must be a non"),
        "orders: text": ({"orders": "x"}, "orders must be arr"),
    },
)
def test_wrong_arguments_of_the_curators_rdp(arguments, message):
    curator = fitted().curator_
    with refused(message):
        curator.rdp(**arguments)


@each("delta", WRONG_DELTAS)
@pytest.mark.parametrize("method", ["exact", "data_independent"])
def test_a_wrong_delta_of_the_curators_epsilon(method, delta):
    curator = fitted().curator_
    with refused(DELTA):
        curator.epsilon(delta, method)


@each("delta", WRONG_DELTAS)
def test_a_wrong_delta_of_the_curators_epsilon_of_a_budget(delta):
    curator = stopped().curator_
    with refused(DELTA):
        curator.epsilon(delta, "data_independent")


def test_another_delta_than_that_of_a_budget():
    curator = stopped().curator_
    with refused("a budget at delta=1e-05 stopped the queries.*got 1e-06"):
        curator.epsilon(1e-6, "data_independent")


def test_a_plan_of_what_is_no_aggregator():
    data = {"n_public": 9, "n_teachers": 9, "n_classes": 2}
    with refused("aggregator must be an Aggregator.*got 'x'"):
        plan_queries("x", 5, epsilon=1.0, delta=1e-5, **data)
