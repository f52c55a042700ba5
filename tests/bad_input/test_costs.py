"""Renyi costs, sensitivities, calibration, the auditor of one query, and the curator's view."""

import functools
import warnings

import pytest
from sklearn.naive_bayes import GaussianNB

from sklearn_pate import PATEClassifier
from sklearn_pate.accountant import plan_queries
from sklearn_pate.aggregators import ConfidentGNMax, ExponentialNMax, GNMax
from sklearn_pate.audit import audit_aggregator
from sklearn_pate.rdp import (
    TrialCount,
    data_independent_epsilon,
    exact_rdp,
    gdp_mu,
    gdp_to_epsilon,
    gnmax_rdp,
    gnmax_sigma,
    least_scale,
    margin_rdp,
    pure_rdp,
    rdp_to_epsilon,
    worst_case_pure,
    worst_case_rdp,
)
from sklearn_pate.smooth_sensitivity import smooth_release_rdp, smooth_sensitivity

from . import helpers as h


def cost_at(scale, orders):
    return GNMax(scale).costs(orders)(5)


ORDERS = {"orders": [2.0]}
BUDGET = {"epsilon": 1.0, "delta": 1e-5}
TEN = {"n_teachers": 10, "n_classes": 2}
ONE = {"aggregator": GNMax(5.0)}
#: Arguments that each function takes; a test changes one of them
RIGHT = {
    TrialCount: {"mean": 5.0},
    audit_aggregator: ONE | {"votes": [5, 5], "n_samples": 200},
    data_independent_epsilon: ONE | TEN | {"n_queries": 5, "delta": 1e-5},
    exact_rdp: ONE | ORDERS | {"votes": [[5, 5]]},
    gdp_mu: BUDGET,
    gdp_to_epsilon: {"mu": 1.0, "delta": 1e-5},
    gnmax_rdp: ORDERS | {"votes": [[5, 5]], "sigma": 3.0},
    gnmax_sigma: BUDGET | TEN | {"n_queries": 5},
    least_scale: BUDGET | {"cost_at": cost_at},
    margin_rdp: ONE | TEN | ORDERS,
    plan_queries: BUDGET | TEN | ONE | {"n_queries": 5, "n_public": 9},
    pure_rdp: ORDERS | {"epsilon": 1.0},
    rdp_to_epsilon: ORDERS | {"rdp": [1.0], "delta": 1e-5},
    smooth_release_rdp: ORDERS | {"beta": 0.1, "sigma": 1.0},
    smooth_sensitivity: {"cost_by_half_margin": [1.0, 0.5], "half_margin": [1], "beta": 0.1},
    worst_case_pure: ONE | TEN,
    worst_case_rdp: ONE | TEN | ORDERS,
}


def call(function, **changes):
    return function(**(RIGHT[function] | changes))


ABOVE_0 = "must be a finite number above 0; got"
WHOLE = "must be a whole number, at least [012]; got"
NOT_POSITIVE = (True, 0, -1, h.NAN, h.INF, "x", None)
NOT_WHOLE = (-1, 2.5, h.NAN, h.INF, "x")
NOT_ORDERS = ([1], [0.5], [h.NAN], [h.INF], [], "x", None, [[2, 3]], ["a"], [[2], [3, 4]], 0)
DELTAS = "must be a number strictly between 0 and 1; got"
#: Wrong values of an argument, what is said of them, and the functions
WRONG = [
    ("orders", NOT_ORDERS, "must be ", (exact_rdp, rdp_to_epsilon, smooth_release_rdp)),
    ("delta", h.NOT_A_DELTA, DELTAS, (gnmax_sigma, gdp_mu, gdp_to_epsilon)),
    ("delta", h.NOT_A_DELTA, DELTAS, (rdp_to_epsilon, data_independent_epsilon, least_scale)),
    ("epsilon", NOT_POSITIVE, ABOVE_0, (gnmax_sigma, gdp_mu, least_scale)),
    ("sigma", NOT_POSITIVE, ABOVE_0, (gnmax_rdp, smooth_release_rdp)),
    ("beta", NOT_POSITIVE, ABOVE_0, (smooth_release_rdp, smooth_sensitivity)),
    ("n_queries", NOT_WHOLE, WHOLE, (gnmax_sigma, data_independent_epsilon)),
    ("n_teachers", NOT_WHOLE, WHOLE, (gnmax_sigma, data_independent_epsilon)),
    ("n_teachers", NOT_WHOLE, WHOLE, (worst_case_pure, margin_rdp)),
    ("n_classes", NOT_WHOLE, WHOLE, (gnmax_sigma, worst_case_rdp, margin_rdp)),
    ("confidence", (0, 1.0, h.NAN, "x"), "must lie strictly between 0 and 1", (audit_aggregator,)),
    ("n_samples", (99, 500.0, "x"), "must be a whole number, at least 100", (audit_aggregator,)),
    ("delta", (1, -1, h.NAN, "x", None), "must be a number from 0 to below 1", (audit_aggregator,)),
    ("mu", (-1, h.NAN), "must be a number, at least 0; got", (gdp_to_epsilon,)),
]


@h.table(
    "function, name, values, message",
    {
        f"{function.__name__}.{name}": (function, name, values, message)
        for name, values, message, functions in WRONG
        for function in functions
    },
)
def test_an_argument_that_is_wrong_in_itself(function, name, values, message):
    for value in values:
        with h.refused(f"{name} {message}"):
            call(function, **{name: value})


NO_CAP = {"aggregator": GNMax(None), "epsilon": None}


@h.table(
    "function, changes, message",
    ("no queries", gnmax_sigma, {"n_queries": 0}, "n_queries must be a whole"),
    ("no teachers", gnmax_sigma, {"n_teachers": 0}, "n_teachers must be a"),
    ("two costs", rdp_to_epsilon, {"rdp": [1.0, 2.0]}, "rdp must have one"),
    ("negative cost", rdp_to_epsilon, {"rdp": [-1.0]}, "rdp must hold costs"),
    ("no noise", exact_rdp, {"aggregator": GNMax(None)}, "Set sigma to a"),
    ("eta=-1", TrialCount, {"eta": -1}, "eta from -0.9 to 20; got .*eta=-1"),
    ("mean", TrialCount, {"mean": 1e6 + 0.5}, "needs a mean from 1.001 to 1e6"),
    ("text margin", smooth_sensitivity, {"half_margin": "x"}, "half_margin must be"),
    ("audit, class", audit_aggregator, {"votes": [5]}, "votes must have shape"),
    ("a plan", plan_queries, {"aggregator": "x"}, "aggregator must be an Aggregator.*got 'x'"),
    ("no sigma", plan_queries, NO_CAP, "sigma=None.* epsilon is None"),
    ("gamma", plan_queries, {"aggregator": ExponentialNMax(None)}, "'gamma' parameter of Expon"),
)
def test_arguments_that_are_refused(function, changes, message):
    with h.refused(message):
        call(function, **changes)


@h.each("neighbour_votes", ([7, 3], [5, 5], [5, 4, 1]))
def test_votes_that_are_no_neighbours(neighbour_votes):
    with h.refused("neighbour_votes must be votes with one"):
        call(audit_aggregator, neighbour_votes=neighbour_votes)


# --- the curator ---------------------------------------------------------------------------------


CONVERSION = "conversion must be 'improved' or 'classic'; got 'best'"
AT_ITS_DELTA = "a budget at delta=1e-05 stopped the queries.*got 1e-06"


@functools.cache
def stopped():
    """A fit that a budget stopped: what it cost is known at its own delta only."""
    params = {"aggregator": ConfidentGNMax(0.5, 4.0, 4.0), "n_queries": 30, "epsilon": 6.0}
    with warnings.catch_warnings(action="ignore"):
        return PATEClassifier(GaussianNB(), **(h.QUICK | params)).fit_votes(h.VOTES, h.X_PUBLIC)


test_the_curator_of_wrong_arguments = h.mistakes(
    ("method", lambda: h.fitted().curator_.epsilon(method="rdp"), "method must be"),
    ("conversion", lambda: h.fitted().curator_.epsilon(conversion="best"), CONVERSION),
    ("rdp, method", lambda: h.fitted().curator_.rdp(method=None), "method must be .*None"),
    ("rdp, orders", lambda: h.fitted().curator_.rdp(orders=[1]), "orders must be a non"),
    ("rdp, text", lambda: h.fitted().curator_.rdp(orders="x"), "orders must be arr"),
    ("another delta", lambda: stopped().curator_.epsilon(1e-6, "data_independent"), AT_ITS_DELTA),
)


@pytest.mark.parametrize(
    "fit, method",
    [(h.fitted, "exact"), (h.fitted, "data_independent"), (stopped, "data_independent")],
)
def test_the_curator_of_a_wrong_delta(fit, method):
    curator = fit().curator_
    for delta in (0, 1, -1, h.NAN, "x", [1]):
        with h.refused(f"delta {DELTAS}"):
            curator.epsilon(delta, method)
