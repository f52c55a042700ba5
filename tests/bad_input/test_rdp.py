"""Functions of the Renyi costs: orders, delta, epsilon, scales, numbers."""

import pytest

from sklearn_pate.aggregators import GNMax
from sklearn_pate.rdp import (
    TrialCount,
    data_independent_epsilon,
    epsilon_by_order,
    exact_rdp,
    gdp_mu,
    gdp_to_epsilon,
    gnmax_rdp,
    gnmax_sigma,
    lead_rdp,
    least_scale,
    lnmax_gamma,
    pure_rdp,
    rdp_to_epsilon,
    worst_case_pure,
    worst_case_rdp,
)

from .helpers import (
    INF,
    NAN,
    NOT_A_DELTA,
    NOT_ORDERS,
    NOT_POSITIVE,
    accepted,
    each,
    refused,
    table,
)


def cost_at(scale, orders):
    return GNMax(scale).costs(orders)(5)


MECHANISM = GNMax(5.0)
#: Arguments that each function takes; a test changes one of them
RIGHT = {
    TrialCount: {"mean": 5.0},
    data_independent_epsilon: {
        "aggregator": MECHANISM,
        "n_queries": 5,
        "delta": 1e-5,
        "n_teachers": 9,
        "n_classes": 2,
    },
    epsilon_by_order: {"rdp": [1.0], "delta": 1e-5, "orders": [2.0]},
    exact_rdp: {"aggregator": MECHANISM, "votes": [[5, 5]], "orders": [2.0]},
    gdp_mu: {"epsilon": 1.0, "delta": 1e-5},
    gdp_to_epsilon: {"mu": 1.0, "delta": 1e-5},
    gnmax_rdp: {"votes": [[5, 5]], "sigma": 3.0, "orders": [2.0]},
    gnmax_sigma: {
        "epsilon": 1.0,
        "delta": 1e-5,
        "n_queries": 5,
        "n_teachers": 100,
        "n_classes": 3,
    },
    lead_rdp: {"aggregator": MECHANISM, "orders": [2.0], "n_teachers": 10, "n_classes": 2},
    least_scale: {"cost_at": cost_at, "epsilon": 1.0, "delta": 1e-5},
    lnmax_gamma: {
        "epsilon": 1.0,
        "delta": 1e-5,
        "n_queries": 5,
        "n_teachers": 100,
        "n_classes": 3,
    },
    pure_rdp: {"epsilon": 1.0, "orders": [2.0]},
    rdp_to_epsilon: {"rdp": [1.0], "delta": 1e-5, "orders": [2.0]},
    worst_case_pure: {"aggregator": MECHANISM, "n_teachers": 10, "n_classes": 3},
    worst_case_rdp: {
        "aggregator": MECHANISM,
        "orders": [2.0],
        "n_teachers": 10,
        "n_classes": 2,
    },
}


def call(function, **changes):
    return function(**(RIGHT[function] | changes))


def functions(*values):
    return pytest.mark.parametrize("function", values, ids=[f.__name__ for f in values])


def arguments(*values):
    """Parametrize a test with functions, and the name of one argument of each."""
    ids = [f"{function.__name__}.{name}" for function, name in values]
    return pytest.mark.parametrize(("function", "name"), values, ids=ids)


# --- one argument, wrong in itself ---------------------------------------------------------------


@each("orders", NOT_ORDERS)
@functions(exact_rdp, worst_case_rdp, rdp_to_epsilon)
def test_wrong_orders(function, orders):
    with refused("orders must be "):
        call(function, orders=orders)


@each("delta", NOT_A_DELTA)
@functions(
    gnmax_sigma,
    lnmax_gamma,
    gdp_mu,
    gdp_to_epsilon,
    epsilon_by_order,
    data_independent_epsilon,
    least_scale,
)
def test_a_wrong_delta(function, delta):
    with refused("delta must be a number strictly between 0 and 1; got"):
        call(function, delta=delta)


@each("value", NOT_POSITIVE)
@arguments(
    (gnmax_sigma, "epsilon"),
    (lnmax_gamma, "epsilon"),
    (gdp_mu, "epsilon"),
    (least_scale, "epsilon"),
    (gnmax_rdp, "sigma"),
    (TrialCount, "mean"),
)
def test_a_number_that_is_not_above_0(function, name, value):
    with refused(f"{name} must be a finite number above 0; got"):
        call(function, **{name: value})


@each("value", (-1, 2.5, NAN, INF, "x"))
@arguments(
    (gnmax_sigma, "n_queries"),
    (gnmax_sigma, "n_teachers"),
    (gnmax_sigma, "n_classes"),
    (lnmax_gamma, "n_teachers"),
    (data_independent_epsilon, "n_queries"),
    (data_independent_epsilon, "n_teachers"),
    (worst_case_rdp, "n_classes"),
    (worst_case_pure, "n_teachers"),
    (lead_rdp, "n_teachers"),
    (lead_rdp, "n_classes"),
)
def test_a_number_that_is_not_whole(function, name, value):
    with refused(f"{name} must be a whole number, at least [012]; got"):
        call(function, **{name: value})


@table(
    "changes, message",
    {
        "n_queries=0": ({"n_queries": 0}, "n_queries must be a whole"),
        "n_teachers=0": ({"n_teachers": 0}, "n_teachers must be a"),
        "n_classes=1": ({"n_classes": 1}, "n_classes .*at least 2"),
    },
)
def test_gnmax_sigma_for_too_few(changes, message):
    with refused(message):
        call(gnmax_sigma, **changes)


# --- the others ----------------------------------------------------------------------------------


@table(
    "rdp, message",
    {
        "lengths": ([1.0, 2.0], "rdp must have one"),
        "negative": ([-1.0], "rdp must hold costs"),
        "NaN": ([NAN], "rdp must hold costs"),
    },
)
def test_rdp_to_epsilon_of_wrong_costs(rdp, message):
    with refused(message):
        call(rdp_to_epsilon, rdp=rdp)


@each("mu", (-1, NAN))
def test_gdp_to_epsilon_of_a_wrong_mu(mu):
    with refused(f"mu must be at least 0; got {mu}"):
        call(gdp_to_epsilon, mu=mu)


def test_pure_rdp_of_a_negative_epsilon():
    with refused("epsilon must be a finite number"):
        call(pure_rdp, epsilon=-1)


def test_exact_rdp_of_negative_votes():
    with refused("votes has negative"):
        call(exact_rdp, votes=[[5, -1]])


def test_exact_rdp_without_a_noise_scale():
    with refused("Set sigma to a"):
        call(exact_rdp, aggregator=GNMax(None))


@table(
    "changes, message",
    {
        "eta=-1": ({"eta": -1}, "eta from -0.9 to 20; got .*eta=-1"),
        "eta=x": ({"eta": "x"}, "eta must be a number; got 'x'"),
        "eta=nan": ({"eta": NAN}, "eta from -0.9 to 20; got .*eta=nan"),
        "distribution": ({"distribution": "uniform"}, "distribution must be"),
    },
)
def test_wrong_trial_counts(changes, message):
    with refused(message):
        call(TrialCount, **changes)


# --- what is accepted ----------------------------------------------------------------------------


def test_orders_may_be_a_number():
    with accepted():
        assert call(exact_rdp, orders=2).shape == (1, 1)


def test_no_queries_cost_nothing():
    with accepted():
        epsilon, _ = call(data_independent_epsilon, n_queries=0)
        assert epsilon == 0


def test_one_teacher_has_a_cost():
    with accepted():
        assert call(worst_case_rdp, n_teachers=1)[0] > 0
