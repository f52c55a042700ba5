"""Aggregators: every parameter, stages, and what depends on the teachers."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import Perceptron

from sklearn_pate.aggregators import (
    Aggregator,
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

from .helpers import INF, NAN, fit, refused, short, table

# --- parameters ----------------------------------------------------------------------------------

NOT_A_SCALE = (0, -1, NAN, INF, True, "x")
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
    (SoftVote(5.0), "sigma", (*NOT_A_SCALE, None)),
    (SoftVote(5.0), "temperature", (*NOT_A_SCALE, None)),
    (StableArgmax(1.0), "run_epsilon", NOT_A_SCALE),
    (StableArgmax(1.0), "max_unstable", (*NOT_A_SCALE, None, 2.5)),
    (StableArgmax(1.0, 2), "failure_probability", (*NOT_A_SCALE, None, 1)),
    (ImmutableArgmax(gamma=0.5), "constant", (-1, NAN, "x")),
    (ImmutableArgmax(), "gamma", NOT_A_SCALE),
    (ImmutableArgmax(), "sigma", NOT_A_SCALE),
    (ImmutableArgmax(gamma=0.5), "failure_probability", (0, 1, NAN, "x", None)),
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


class Outcomes(Aggregator):
    """A mechanism whose distribution has the wrong number of columns, or the wrong sum."""

    def __init__(self, n_outcomes):
        self.n_outcomes = n_outcomes

    def outcome_log_proba(self, votes, student_proba=None):
        return np.zeros((len(votes), self.n_outcomes))


DELTA_OF_ITS_OWN = StableArgmax(0.5, failure_probability=0.1)
CALIBRATED = StableArgmax(None, failure_probability=0.1)


@table(
    "aggregator, message",
    {
        "above 1": (
            ConfidentGNMax(3.0, 3.0, 3.0),
            "threshold=3.0 is above 1: give 3",
        ),
        "threshold above the teachers": (
            ConfidentGNMax(5, 2.0, 2.0),
            "threshold=5 of ConfidentGNMax.*more than n_teachers=4",
        ),
        "no noise": (ImmutableArgmax(), "either gamma or sigma"),
        "two noises": (
            ImmutableArgmax(gamma=0.5, sigma=3.0),
            "either gamma or sigma; got gamma=0.5 and sigma=3.0",
        ),
        "delta": (DELTA_OF_ITS_OWN, "failure_probability .* 0.1 .*below delta=1e-05"),
        "delta, calibrated": (CALIBRATED, "0.1 in all, must be below delta=1e-05"),
        "columns": (Outcomes(7), "outcome_log_proba must return a column"),
        "sums": (Outcomes(2), "outcome_log_proba must .* sum to 1"),
    },
)
def test_an_aggregator_that_cannot_be_used(aggregator, message):
    with refused(message):
        fit({"aggregator": aggregator})


@table(
    "aggregator, message",
    {
        "no noise": (PluralityVote(), "epsilon=inf .* set epsilon=None"),
        "too little noise": (GNMax(0.01), "GNMax.*cap epsilon=20.*more noise"),
    },
)
def test_an_aggregator_over_budget(aggregator, message):
    with refused(message, BudgetExceededError):
        fit({"aggregator": aggregator})


def test_soft_votes_of_teachers_without_probabilities():
    message = r"SoftVote\(sigma=5.0\) needs teachers with predict_proba; got Perceptron\(\)"
    with refused(message):
        fit({"aggregator": SoftVote(5.0), "base_estimator": Perceptron()})


# --- stages --------------------------------------------------------------------------------------

NO_STAGE = "aggregator must be an Aggregator"


@table(
    "stages, message",
    {
        "a number": ([5], f"{NO_STAGE}.*got 5"),
        "a class": ([GNMax], f"{NO_STAGE}.*each an instance"),
        "none": ([], "aggregator must not be an empty list"),
        "with SoftVote": ([GNMax(3.0), SoftVote(5.0)], "SoftVote .* use it alone"),
        "InteractiveGNMax first": (
            [InteractiveGNMax(0.5, 3.0, 3.0, 0.9), GNMax(3.0)],
            "InteractiveGNMax.*put it after another stage, aggregator=",
        ),
        "threshold above the teachers": (
            [GNMax(1.5), InteractiveGNMax(5, 2.0, 2.0, 0.5)],
            "threshold=5 of InteractiveGNMax.*more than n_teachers=4",
        ),
    },
)
def test_stages_that_cannot_be_used(stages, message):
    with refused(message):
        fit({"aggregator": stages, "n_queries": [5] * len(stages)})


@table(
    "n_queries, message",
    {
        "None": (None, "list of 2 stages, so n_queries .* got n_queries=None"),
        "5": (5, "list of 2 stages, so n_queries .* got n_queries=5"),
        "short": ([5], r"list of 2 stages, so n_queries .* got n_queries=\[5\]"),
        "with 0": ([5, 0], r"at least 1; got n_queries=\[5, 0\]"),
        "with text": ([5, "x"], r"at least 1; got n_queries=\[5, 'x'\]"),
        "with None": ([5, None], r"at least 1; got n_queries=\[5, None\]"),
        "above X_public": ([16, 15], "n_queries=.*more than .* X_public, 30"),
    },
)
def test_numbers_of_queries_that_do_not_fit_two_stages(n_queries, message):
    with refused(message):
        fit({"aggregator": [GNMax(1.5), GNMax(1.5)], "n_queries": n_queries})
