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

from .helpers import INF, NAN, NO_FLOATS, accepted, each, fit, refused, short, table

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
    (SoftVote(5.0), "sigma", (*NOT_A_SCALE, None)),
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
    with refused(rf"'{name}' parameter of {type(aggregator).__name__} must be .*Got"):
        fit({"aggregator": wrong})


@each("confidence", (-0.1, 1, 1.5, NAN, "x", None))
def test_a_wrong_confidence_of_interactive_gnmax(confidence):
    stages = [GNMax(1.5), InteractiveGNMax(0.5, 2.0, 2.0, confidence)]
    with refused("'confidence' parameter of InteractiveGNMax must be"):
        fit({"aggregator": stages, "n_queries": [3, 3]})


@table(
    "aggregator, message",
    {
        "threshold above 1, a float": (
            ConfidentGNMax(3.0, 3.0, 3.0),
            "threshold=3.0 is a float",
        ),
        "threshold above the teachers": (
            ConfidentGNMax(5, 2.0, 2.0),
            "threshold=5 of ConfidentGNMax.*more than n_teachers=4",
        ),
        "ImmutableArgmax without noise": (
            ImmutableArgmax(),
            "either gamma .* or sigma",
        ),
        "ImmutableArgmax with both": (
            ImmutableArgmax(gamma=0.5, sigma=3.0),
            "either gamma .* or sigma .*got gamma=0.5 and sigma=3.0",
        ),
        "failure_probability above delta": (
            StableArgmax(0.5, failure_probability=0.1),
            "failure_probability .* 0.1 .*below delta=1e-05",
        ),
        "failure_probability above delta, calibrated": (
            StableArgmax(None, failure_probability=0.1),
            "failure_probability of the aggregator, 0.1 in all, must be below delta=1e-05",
        ),
    },
)
def test_a_parameter_that_does_not_fit_the_others(aggregator, message):
    with refused(message):
        fit({"aggregator": aggregator})


@table(
    "threshold",
    {
        "threshold of all teachers": 4,
        "threshold: numpy": np.int64(2),
        "threshold=1.0, a share": 1.0,
    },
)
def test_thresholds_that_are_accepted(threshold):
    aggregator = ConfidentGNMax(threshold, 0.3, 0.3)
    with accepted():
        clf = fit({"aggregator": aggregator, "epsilon": None, "n_queries": 20, "random_state": 0})
        assert clf.n_teachers_ == 4


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


@table(
    "stages, message",
    {
        "stages: a number": ([5], "aggregator must be an Aggregator.*got 5"),
        "stages: a class": ([GNMax], "aggregator must be an Aggregator.*each an instance"),
        "stages: None": ([None, GNMax(3.0)], "aggregator must be an Aggregator.*got None"),
        "stages: none": ([], "aggregator must not be an empty list"),
        "stages with SoftVote": ([GNMax(3.0), SoftVote(5.0)], "SoftVote .* use it alone"),
        "stages that begin with InteractiveGNMax": (
            [InteractiveGNMax(0.5, 3.0, 3.0, 0.9), GNMax(3.0)],
            "InteractiveGNMax.*put it after another stage, aggregator=",
        ),
    },
)
def test_stages_that_cannot_be_used(stages, message):
    with refused(message):
        fit({"aggregator": stages, "n_queries": [5] * len(stages)})


@table(
    "n_queries, message",
    {
        "n_queries=None": (None, "list of 2 stages, so n_queries .* got n_queries=None"),
        "n_queries=5": (5, "list of 2 stages, so n_queries .* got n_queries=5"),
        "n_queries short": ([5], r"list of 2 stages, so n_queries .* got n_queries=\[5\]"),
        "n_queries long": ([5, 5, 5], "list of 2 stages, so n_queries must be a list"),
        "n_queries with 0": ([5, 0], r"at least 1; got n_queries=\[5, 0\]"),
        "n_queries with -1": ([5, -1], r"at least 1; got n_queries=\[5, -1\]"),
        "n_queries with 2.5": ([5, 2.5], r"at least 1; got n_queries=\[5, 2.5\]"),
        "n_queries with text": ([5, "x"], r"at least 1; got n_queries=\[5, 'x'\]"),
        "n_queries with None": ([5, None], r"at least 1; got n_queries=\[5, None\]"),
        "n_queries above X_public": ([16, 15], "n_queries=.*more than .* X_public, 30"),
    },
)
def test_numbers_of_queries_that_do_not_fit_two_stages(n_queries, message):
    with refused(message):
        fit({"aggregator": [GNMax(1.5), GNMax(1.5)], "n_queries": n_queries})


def test_a_threshold_above_the_teachers_in_a_second_stage():
    stages = [GNMax(1.5), InteractiveGNMax(5, 2.0, 2.0, 0.5)]
    with refused("threshold=5 of InteractiveGNMax.*more than n_teachers=4"):
        fit({"aggregator": stages, "n_queries": [3, 3]})


# --- a mechanism of one's own --------------------------------------------------------------------


class Outcomes(Aggregator):
    """A mechanism whose distribution has the wrong number of columns, or the wrong sum."""

    def __init__(self, n_outcomes):
        self.n_outcomes = n_outcomes

    def outcome_log_proba(self, votes, student_proba=None):
        return np.zeros((len(votes), self.n_outcomes))


@table(
    "aggregator, message",
    {
        "own mechanism, columns": (Outcomes(7), "outcome_log_proba must return a column"),
        "own mechanism, sums": (Outcomes(2), "outcome_log_proba must .* sum to 1"),
    },
)
def test_a_wrong_distribution(aggregator, message):
    with refused(message):
        fit({"aggregator": aggregator})


# --- aggregate and draw --------------------------------------------------------------------------


def test_aggregating_negative_votes():
    with refused("votes has negative"):
        GNMax(3.0).aggregate([[5, -1]])


def test_aggregating_without_a_noise_scale():
    with refused("Set sigma to a num"):
        GNMax(None).aggregate([[5, 5]])


def test_aggregating_with_a_wrong_noise_scale():
    with refused("'sigma' parameter"):
        SoftVote(0).aggregate([[5.0, 5.0]])


@table(
    "student_proba, message",
    {
        "no student": (None, "student_proba must hold .* got None"),
        "shape": ([[1.0]], r"student_proba must hold .* got shape \(1, 1\)"),
    },
)
def test_aggregating_without_what_the_student_says(student_proba, message):
    aggregator = InteractiveGNMax(0.5, 3.0, 3.0, 0.9)
    with refused(message):
        aggregator.aggregate([[5, 5]], student_proba)


def test_drawing_from_fractions_of_votes():
    with refused("votes must be finite"):
        StableArgmax().draw([[5.5, 4.5]])
