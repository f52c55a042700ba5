"""Aggregators and their costs: parameters, stages, calibration, an audit, the curator's view."""

import functools
import warnings

import pytest
from sklearn.base import clone
from sklearn.linear_model import Perceptron
from sklearn.naive_bayes import GaussianNB

from sklearn_pate import PATEClassifier, rdp
from sklearn_pate.accounting import plan_queries
from sklearn_pate.accounting.smooth_sensitivity import smooth_release_rdp, smooth_sensitivity
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
from sklearn_pate.audit import audit_aggregator
from sklearn_pate.exceptions import BudgetExceededError
from sklearn_pate.rdp.cost import no_cost

from . import helpers as h
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
    (StableArgmax(1.0, 2), "delta", (*NOT_A_SCALE, None, 1)),
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
def test_aggregator_parameter_refuses_wrong_type_or_range(aggregator, name, value):
    wrong = clone(aggregator).set_params(**{name: value})
    stages = [GNMax(1.5), wrong] if isinstance(wrong, InteractiveGNMax) else wrong
    params = {"aggregator": stages, "n_queries": [3, 3] if stages is not wrong else 6}
    with refused(rf"'{name}' parameter of {type(aggregator).__name__} must be .*Got"):
        fit(params)


DELTA_OF_ITS_OWN = StableArgmax(0.5, delta=0.1)
CALIBRATED = StableArgmax(None, delta=0.1)
NO_STAGE = "aggregator must be an Aggregator"
EITHER = "either gamma or sigma"
TWO = "n_queries must be a list of length 2, because .* got n_queries="


def one(aggregator, **params):
    return lambda: fit({"aggregator": aggregator} | params)


def stages(aggregators):
    return one(aggregators, n_queries=[5] * len(aggregators))


def two(n_queries):
    return one([GNMax(1.5), GNMax(1.5)], n_queries=n_queries)


test_aggregator_is_refused_where_it_cannot_run = mistakes(
    ("threshold above 1, a float", one(ConfidentGNMax(3.0, 3.0, 3.0)), "threshold=3.0 is"),
    ("above", one(ConfidentGNMax(5, 2.0, 2.0)), "threshold=5 of ConfidentGNMax.*than n_teachers=4"),
    (
        "far above",
        one(ConfidentGNMax(10**300, 2.0, 2.0)),
        "of about 300 digits of ConfidentGNMax is",
    ),
    ("no noise", one(ImmutableArgmax()), EITHER),
    ("two", one(ImmutableArgmax(gamma=0.5, sigma=3.0)), f"{EITHER}; got gamma=0.5 and sigma=3.0"),
    (
        "delta",
        one(DELTA_OF_ITS_OWN),
        "a delta of its own, 0.1 .*below delta=1e-05",
    ),
    ("delta, calibrated", one(CALIBRATED), "0.1 in total.* must be below delta=1e-05"),
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
        "InteractiveGNMax.*use it after another stage, aggregator=",
    ),
    ("n_queries 5", two(5), f"{TWO}5"),
    ("n_queries short", two([5]), rf"{TWO}\[5\]"),
    ("n_queries with 0", two([5, 0]), r"at least 1 for each stage; got n_queries=\[5, 0\]"),
    (
        "n_queries with None",
        two([5, None]),
        r"at least 1 for each stage; got n_queries=\[5, None\]",
    ),
    ("n_queries above X_public", two([16, 15]), "n_queries=.*more than .* X_public, 30"),
)


# --- aggregate and draw --------------------------------------------------------------------------


test_votes_are_refused_where_they_cannot_be_aggregated = mistakes(
    ("no noise", lambda: GNMax(None).aggregate([[5, 5]]), "Set sigma to a num"),
    ("wrong noise", lambda: SoftVote(0).aggregate([[5.0, 5.0]]), "'sigma' parameter"),
    ("fractions", lambda: StableArgmax().draw([[5.5, 4.5]]), "votes must be finite"),
)


# --- renyi costs, sensitivities, calibration, the auditor of one query, and the curator's view ----


def cost_at(scale, orders):
    return GNMax(scale).costs(orders)(5)


ORDERS = {"orders": [2.0]}
BUDGET = {"epsilon": 1.0, "delta": 1e-5}
TEN = {"n_teachers": 10, "n_classes": 2}
ONE = {"aggregator": GNMax(5.0)}
#: Arguments that each function takes; a test changes one of them
RIGHT = {
    rdp.TrialCount: {"mean": 5.0},
    audit_aggregator: ONE | {"votes": [5, 5], "n_samples": 200},
    rdp.data_independent_epsilon: ONE | TEN | {"n_queries": 5, "delta": 1e-5},
    rdp.exact_rdp: ONE | ORDERS | {"votes": [[5, 5]]},
    rdp.gdp_mu: BUDGET,
    rdp.gdp_to_epsilon: {"mu": 1.0, "delta": 1e-5},
    rdp.gnmax_rdp: ORDERS | {"votes": [[5, 5]], "sigma": 3.0},
    rdp.gnmax_sigma: BUDGET | TEN | {"n_queries": 5},
    rdp.least_scale: BUDGET | {"cost_at": cost_at},
    rdp.least_scales: BUDGET | {"prior_cost": no_cost, "branches": [cost_at]},
    rdp.margin_rdp: ONE | TEN | ORDERS,
    plan_queries: BUDGET | TEN | ONE | {"n_queries": 5, "n_public": 9},
    rdp.pure_rdp: ORDERS | {"epsilon": 1.0},
    rdp.rdp_to_epsilon: ORDERS | {"rdp": [1.0], "delta": 1e-5},
    smooth_release_rdp: ORDERS | {"beta": 0.1, "sigma": 1.0},
    smooth_sensitivity: {"cost_by_half_margin": [1.0, 0.5], "half_margin": [1], "beta": 0.1},
    rdp.worst_case_pure: ONE | TEN,
    rdp.worst_case_rdp: ONE | TEN | ORDERS,
}


def call(function, **changes):
    return function(**(RIGHT[function] | changes))


ABOVE_0 = "must be a finite number above 0; got"
WHOLE = "must be a whole number, at least [012]; got"
BELOW_2_63 = "must be a whole number below 2..63; got"
NOT_POSITIVE = (True, 0, -1, h.NAN, h.INF, "x", None, *h.HUGE, h.TINY)
NOT_WHOLE = (-1, 2.5, h.NAN, h.INF, "x")
NOT_ORDERS = ([1], [0.5], [h.NAN], [h.INF], [], "x", None, [[2, 3]], ["a"], [[2], [3, 4]], 0)
DELTAS = "must be a number strictly between 0 and 1; got"
#: Wrong values of an argument, their message, and the functions
WRONG_ARGUMENTS = [
    ("orders", NOT_ORDERS, "must be ", (rdp.exact_rdp, rdp.rdp_to_epsilon, smooth_release_rdp)),
    ("delta", h.NOT_A_DELTA, DELTAS, (rdp.gnmax_sigma, rdp.gdp_mu, rdp.gdp_to_epsilon)),
    ("delta", h.NOT_A_DELTA, DELTAS, (rdp.rdp_to_epsilon, rdp.least_scale)),
    ("delta", h.NOT_A_DELTA, DELTAS, (rdp.data_independent_epsilon, rdp.least_scales)),
    ("epsilon", NOT_POSITIVE, ABOVE_0, (rdp.gnmax_sigma, rdp.gdp_mu, rdp.least_scale)),
    ("epsilon", NOT_POSITIVE, ABOVE_0, (rdp.least_scales,)),
    ("sigma", NOT_POSITIVE, ABOVE_0, (rdp.gnmax_rdp, smooth_release_rdp)),
    ("beta", NOT_POSITIVE, ABOVE_0, (smooth_release_rdp, smooth_sensitivity)),
    ("n_queries", NOT_WHOLE, WHOLE, (rdp.gnmax_sigma, rdp.data_independent_epsilon)),
    ("n_teachers", NOT_WHOLE, WHOLE, (rdp.gnmax_sigma, rdp.data_independent_epsilon)),
    ("n_teachers", NOT_WHOLE, WHOLE, (rdp.worst_case_pure, rdp.margin_rdp)),
    ("n_classes", NOT_WHOLE, WHOLE, (rdp.gnmax_sigma, rdp.worst_case_rdp, rdp.margin_rdp)),
    (
        "confidence",
        (0, 1.0, h.NAN, "x", *h.HUGE),
        "must be strictly between 0 and 1",
        (audit_aggregator,),
    ),
    ("n_samples", (99, 500.0, "x"), "must be a whole number, at least 100", (audit_aggregator,)),
    ("delta", (1, -1, h.NAN, "x", None), "must be a number from 0 to below 1", (audit_aggregator,)),
    ("mu", (-1, h.NAN, *h.HUGE), "must be a number, at least 0; got", (rdp.gdp_to_epsilon,)),
    ("n_queries", h.HUGE, BELOW_2_63, (rdp.gnmax_sigma, rdp.data_independent_epsilon)),
    ("n_teachers", h.HUGE, BELOW_2_63, (rdp.gnmax_sigma, rdp.margin_rdp)),
]


@h.table(
    "function, name, values, message",
    {
        f"{function.__name__}.{name}": (function, name, values, message)
        for name, values, message, functions in WRONG_ARGUMENTS
        for function in functions
    },
)
def test_rdp_functions_refuse_wrong_arguments(function, name, values, message):
    for value in values:
        with h.refused(f"{name} {message}"):
            call(function, **{name: value})


NO_CAP = {"aggregator": GNMax(None), "epsilon": None}


@h.table(
    "function, changes, message",
    ("no queries", rdp.gnmax_sigma, {"n_queries": 0}, "n_queries must be a whole"),
    ("no teachers", rdp.gnmax_sigma, {"n_teachers": 0}, "n_teachers must be a"),
    ("two costs", rdp.rdp_to_epsilon, {"rdp": [1.0, 2.0]}, "rdp must have one"),
    ("negative cost", rdp.rdp_to_epsilon, {"rdp": [-1.0]}, "rdp must contain costs"),
    ("no noise", rdp.exact_rdp, {"aggregator": GNMax(None)}, "Set sigma to a"),
    ("eta=-1", rdp.TrialCount, {"eta": -1}, "eta from -0.9 to 20; got .*eta=-1"),
    ("mean", rdp.TrialCount, {"mean": 1e6 + 0.5}, "requires a mean from 1.001 to 1e6"),
    ("text margin", smooth_sensitivity, {"half_margin": "x"}, "half_margin must be"),
    ("audit, class", audit_aggregator, {"votes": [5]}, "votes must have shape"),
    ("a plan", plan_queries, {"aggregator": "x"}, "aggregator must be an Aggregator.*got 'x'"),
    ("no sigma", plan_queries, NO_CAP, "sigma=None.* epsilon is None"),
    ("gamma", plan_queries, {"aggregator": ExponentialNMax(None)}, "'gamma' parameter of Expon"),
)
def test_rdp_functions_refuse_unsuitable_arguments(function, changes, message):
    with h.refused(message):
        call(function, **changes)


@h.each("neighbour_votes", ([7, 3], [5, 5], [5, 4, 1]))
def test_audit_aggregator_refuses_votes_that_are_no_neighbors(neighbour_votes):
    with h.refused("neighbour_votes must equal votes, with one"):
        call(audit_aggregator, neighbour_votes=neighbour_votes)


# --- the curator ---------------------------------------------------------------------------------


CONVERSION = "conversion must be 'improved' or 'classic'; got 'best'"
AT_ITS_DELTA = "the number of queries was limited at delta=1e-05.*got 1e-06"


@functools.cache
def stopped():
    """A fit that a budget stopped: its cost is known at its own delta only."""
    params = {"aggregator": ConfidentGNMax(0.5, 4.0, 4.0), "n_queries": 30, "epsilon": 6.0}
    with warnings.catch_warnings(action="ignore"):
        return PATEClassifier(GaussianNB(), **(h.QUICK | params)).fit_votes(h.VOTES, h.X_PUBLIC)


test_curator_refuses_wrong_arguments = h.mistakes(
    ("method", lambda: h.fitted().curator_.epsilon(bound="rdp"), "bound must be"),
    ("conversion", lambda: h.fitted().curator_.epsilon(conversion="best"), CONVERSION),
    ("rdp, method", lambda: h.fitted().curator_.rdp(bound=None), "bound must be .*None"),
    ("rdp, orders", lambda: h.fitted().curator_.rdp(orders=[1]), "orders must be a non"),
    ("rdp, text", lambda: h.fitted().curator_.rdp(orders="x"), "orders must be arr"),
    ("another delta", lambda: stopped().curator_.epsilon(1e-6, "data_independent"), AT_ITS_DELTA),
)


@pytest.mark.parametrize(
    "fit, method",
    [(h.fitted, "exact"), (h.fitted, "data_independent"), (stopped, "data_independent")],
)
def test_curator_refuses_wrong_delta(fit, method):
    curator = fit().curator_
    for delta in (0, 1, -1, h.NAN, "x", [1]):
        with h.refused(f"delta {DELTAS}"):
            curator.epsilon(delta, method)
