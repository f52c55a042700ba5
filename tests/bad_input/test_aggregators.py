"""Aggregators: every parameter, stages, and what depends on the teachers."""

import pytest
from sklearn.base import clone
from sklearn.linear_model import Perceptron

from sklearn_pate.aggregators import (
    ConfidentGNMax,
    ExponentialNMax,
    GNMax,
    ImmutableArgmax,
    InteractiveGNMax,
    LNMax,
    PluralityVote,
    SoftVote,
    StableArgmax,
)
from sklearn_pate.exceptions import BudgetExceededError

from .helpers import INF, NAN, NO_FLOATS, fit, mistakes, refused, short

# --- parameters ----------------------------------------------------------------------------------

NOT_A_SCALE = (*NO_FLOATS, 0, -1, NAN, INF, "x", [1], 1j)
#: An aggregator, one of its parameters, and wrong values
WRONG = [
    (GNMax(3.0), "sigma", NOT_A_SCALE),
    (GNMax(3.0), "noise", ("gaussian", None, 1)),
    (LNMax(0.5), "gamma", NOT_A_SCALE),
    (LNMax(0.5), "noise", ("laplace", None)),
    (ExponentialNMax(0.5), "gamma", (*NOT_A_SCALE, None)),
    (ConfidentGNMax(2, 3.0, 3.0), "threshold", (*NOT_A_SCALE, None)),
    (ConfidentGNMax(2, 3.0, 3.0), "sigma1", (*NOT_A_SCALE, None)),
    (ConfidentGNMax(2, 3.0, 3.0), "sigma2", (*NOT_A_SCALE, None)),
    (InteractiveGNMax(0.5, 2.0, 2.0, 0.5), "confidence", (-0.1, 1, 1.5, NAN, "x", None)),
    (SoftVote(5.0), "sigma", NOT_A_SCALE),
    (SoftVote(5.0), "temperature", (*NOT_A_SCALE, None)),
    (StableArgmax(1.0), "run_epsilon", NOT_A_SCALE),
    (StableArgmax(1.0), "max_unstable", (*NOT_A_SCALE, None, 2.5)),
    (StableArgmax(1.0, 2), "failure_probability", (*NOT_A_SCALE, None, 1)),
    (ImmutableArgmax(gamma=0.5), "constant", (*NO_FLOATS, -1, NAN, "x")),
    (ImmutableArgmax(), "gamma", NOT_A_SCALE),
    (ImmutableArgmax(), "sigma", NOT_A_SCALE),
    (ImmutableArgmax(gamma=0.5), "failure_probability", (True, 10**400, 0, 1, NAN, "x", None)),
]


@pytest.mark.parametrize(
    ("aggregator", "name", "value"),
    [
        pytest.param(
            aggregator, name, value, id=f"{type(aggregator).__name__}.{name}={short(value)}"
        )
        for aggregator, name, values in WRONG
        for value in values
    ],
)
def test_a_parameter_of_a_wrong_type_or_size(aggregator, name, value):
    wrong = clone(aggregator).set_params(**{name: value})
    stages = [GNMax(1.5), wrong] if isinstance(wrong, InteractiveGNMax) else wrong
    params = {"aggregator": stages, "n_queries": [3, 3] if stages is not wrong else 6}
    with refused(rf"'{name}' parameter of {type(aggregator).__name__} must be .*Got"):
        fit(params)


DELTA_OF_ITS_OWN = StableArgmax(0.5, failure_probability=0.1)
CALIBRATED = StableArgmax(None, failure_probability=0.1)
NO_STAGE = "aggregator must be an Aggregator"
EITHER = "either gamma or sigma"
TWO = "list of 2 stages, so n_queries .* got n_queries="


def one(aggregator, **params):
    return lambda: fit({"aggregator": aggregator} | params)


def stages(aggregators):
    return one(aggregators, n_queries=[5] * len(aggregators))


def two(n_queries):
    return one([GNMax(1.5), GNMax(1.5)], n_queries=n_queries)


test_an_aggregator_that_cannot_be_used = mistakes(
    ("threshold above 1, a float", one(ConfidentGNMax(3.0, 3.0, 3.0)), "threshold=3.0 is"),
    ("above", one(ConfidentGNMax(5, 2.0, 2.0)), "threshold=5 of ConfidentGNMax.*than n_teachers=4"),
    ("no noise", one(ImmutableArgmax()), EITHER),
    ("two", one(ImmutableArgmax(gamma=0.5, sigma=3.0)), f"{EITHER}; got gamma=0.5 and sigma=3.0"),
    ("delta", one(DELTA_OF_ITS_OWN), "failure_probability .* 0.1 .*below delta=1e-05"),
    ("delta, calibrated", one(CALIBRATED), "0.1 in all, must be below delta=1e-05"),
    ("infinite", one(PluralityVote()), "epsilon=inf .* set epsilon=None", BudgetExceededError),
    ("dear", one(GNMax(0.01)), "GNMax.*cap epsilon=20.*more noise", BudgetExceededError),
    (
        "no probabilities",
        one(SoftVote(5.0), base_estimator=Perceptron()),
        r"SoftVote\(sigma=5.0\) needs teachers with predict_proba; got Perceptron\(\)",
    ),
    ("stages: a number", stages([5]), f"{NO_STAGE}.*got 5"),
    ("stages: none", stages([]), "aggregator must not be an empty list"),
    ("stages: with SoftVote", stages([GNMax(3.0), SoftVote(5.0)]), "SoftVote .* use it alone"),
    (
        "stages: InteractiveGNMax first",
        stages([InteractiveGNMax(0.5, 3.0, 3.0, 0.9), GNMax(3.0)]),
        "InteractiveGNMax.*put it after another stage, aggregator=",
    ),
    ("n_queries 5", two(5), f"{TWO}5"),
    ("n_queries short", two([5]), rf"{TWO}\[5\]"),
    ("n_queries with 0", two([5, 0]), r"at least 1; got n_queries=\[5, 0\]"),
    ("n_queries with None", two([5, None]), r"at least 1; got n_queries=\[5, None\]"),
    ("n_queries above X_public", two([16, 15]), "n_queries=.*more than .* X_public, 30"),
)


# --- aggregate and draw --------------------------------------------------------------------------


test_votes_that_cannot_be_aggregated = mistakes(
    ("no noise", lambda: GNMax(None).aggregate([[5, 5]]), "Set sigma to a num"),
    ("wrong noise", lambda: SoftVote(0).aggregate([[5.0, 5.0]]), "'sigma' parameter"),
    ("fractions", lambda: StableArgmax().draw([[5.5, 4.5]]), "votes must be finite"),
)
