"""Planning from public numbers, what is reported as spent, and the curator's view."""

import copy
import math
import pickle
import warnings

import numpy as np
import pytest
from conftest import cases
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import binom

from sklearn_pate.accountant import Curator, StageRecord, plan_queries
from sklearn_pate.aggregators import (
    ConfidentGNMax,
    ExponentialNMax,
    GNMax,
    LNMax,
    StableArgmax,
)
from sklearn_pate.exceptions import BudgetExceededError
from sklearn_pate.rdp import (
    DEFAULT_ORDERS,
    data_independent_epsilon,
    exact_rdp,
    gdp_to_epsilon,
    gnmax_rdp,
    lnmax_rdp,
    rdp_to_epsilon,
)
from sklearn_pate.rdp.cost import total_cost

PUBLIC = {"n_public": 1000, "n_teachers": 250, "n_classes": 10, "epsilon": 1.0, "delta": 1e-5}


# --- data-independent cost ---------------------------------------------------------------------


def test_a_known_cost_is_that_of_the_same_mechanism_among_the_same_teachers():
    sizes = {"n_teachers": 40, "n_classes": 3}
    stages = GNMax(20.0), GNMax(20.0), GNMax(30.0), LNMax(0.05), ExponentialNMax(0.05)
    some = DEFAULT_ORDERS[::9]
    asked = [(stage, some, sizes) for stage in stages]
    for threshold in (1, 1.0):  # of one vote, and of all teachers
        two = {"n_teachers": 40, "n_classes": 2}
        asked.append((ConfidentGNMax(threshold, 5.0, 20.0), some, two))
    asked.append((GNMax(20.0), DEFAULT_ORDERS[1::9], sizes))
    for n_teachers, n_classes in ((4, 3), (40, 2), (None, None)):
        public = {"n_teachers": n_teachers, "n_classes": n_classes}
        asked.append((GNMax(20.0), some, public))
    for stage, orders, public in asked:
        known = stage.costs(orders, **public)(7)
        computed = total_cost(stage, orders, **public)(7)
        np.testing.assert_array_equal(known.rdp, computed.rdp)
        assert (known.pure, known.mu_squared) == (computed.pure, computed.mu_squared)


def test_costs_of_a_mechanism_of_ones_own_are_not_remembered():
    class Mine(GNMax):
        n_asked = 0

        def facts(self):
            Mine.n_asked += 1
            return super().facts()

    Mine(20.0).costs(DEFAULT_ORDERS[:3], n_teachers=10, n_classes=2)(1)
    n_asked = Mine.n_asked
    Mine(20.0).costs(DEFAULT_ORDERS[:3], n_teachers=10, n_classes=2)(1)
    assert Mine.n_asked == 2 * n_asked > 0


def test_gaussian_cost_is_at_most_exact_composition():
    for n_queries, best in ((1, "gaussian"), (3, "renyi"), (100, "renyi"), (5000, "renyi")):
        epsilon, method = data_independent_epsilon(GNMax(40.0), n_queries, 1e-5)
        composed = gdp_to_epsilon(math.sqrt(2 * n_queries) / 40, 1e-5)
        assert method == best
        assert epsilon == composed if best == "gaussian" else 0.75 < epsilon / composed < 1


def test_bounded_counts_make_few_queries_of_large_noise_pure():
    # one noise scale is beyond the largest margin: the loss of a label is bounded
    epsilon, method = data_independent_epsilon(GNMax(40.0), 1, 1e-5, n_teachers=20, n_classes=10)
    assert method == "pure" and epsilon < 0.6 * data_independent_epsilon(GNMax(40.0), 1, 1e-5)[0]


def optimal_pure_composition(epsilon, k, delta):
    """Exact k-fold composition of randomised response, the worst pure mechanism (Kairouz 2015)."""
    losses = (k - 2 * np.arange(k + 1)) * epsilon  # log ratio of the two outcome probabilities
    proba = binom.pmf(np.arange(k + 1), k, 1 / (1 + math.exp(epsilon)))

    def excess(e):
        return np.sum(np.maximum(0, -np.expm1(np.minimum(e - losses, 0))) * proba) - delta

    return brentq(excess, 0.0, k * epsilon)


@pytest.mark.parametrize("n_queries", [1, 3, 20, 100, 500])
def test_laplace_cost_covers_the_optimal_composition(n_queries):
    # the loss of a label is pure, so the optimal composition covers any votes; the argmax itself
    # costs less than a mechanism that reaches that loss everywhere
    epsilon, _ = data_independent_epsilon(LNMax(0.05), n_queries, 1e-5)
    exact = optimal_pure_composition(0.1, n_queries, 1e-5)
    assert 0.45 * exact <= epsilon <= min(n_queries * 0.1, 1.1 * exact + 0.05) + 1e-12


# --- plans --------------------------------------------------------------------------------------


@settings(max_examples=5, deadline=None)
@given(
    st.floats(0.2, 10),
    st.sampled_from([LNMax(0.02), GNMax(60.0)]),
    st.integers(1, 900),
    st.sampled_from([2, 3]),
)
def test_own_noise_stops_before_the_cap_and_not_earlier(epsilon, aggregator, wanted, n_classes):
    public = {"n_teachers": 250, "n_classes": n_classes}
    with warnings.catch_warnings(action="ignore"):
        plan = plan_queries(aggregator, wanted, **(PUBLIC | public | {"epsilon": epsilon}))
    first = plan.stages[0][0]
    counts = plan.n_queries, plan.n_queries + 1
    spent = [data_independent_epsilon(first, n, 1e-5, **public)[0] for n in counts]
    assert spent[0] == plan.epsilon <= epsilon
    assert plan.n_queries == wanted or spent[1] > epsilon


def test_default_number_of_queries_keeps_the_noise_below_that_of_the_rule():
    most = 250 / (2 * math.sqrt(3))
    cap = PUBLIC | {"epsilon": 2.0, "n_classes": 3}
    plan = plan_queries(GNMax(None), None, **cap)
    assert plan.n_queries > 5 * 3 and plan.stages[0][0].sigma <= most
    assert plan_queries(GNMax(None), plan.n_queries + 1, **cap).stages[0][0].sigma > most
    plan = plan_queries(LNMax(None), None, **cap)
    assert 1 / plan.stages[0][0].gamma <= most
    assert plan_queries(GNMax(None), None, **(cap | {"n_public": 7})).n_queries == 7


def test_at_least_five_queries_a_class_are_asked():
    few = PUBLIC | {"n_teachers": 100}
    plan = plan_queries(GNMax(None), None, **few)
    assert plan.n_queries == 5 * PUBLIC["n_classes"]
    assert plan.stages[0][0].sigma > 100 / (2 * math.sqrt(PUBLIC["n_classes"]))
    assert plan.epsilon <= PUBLIC["epsilon"]
    assert plan_queries(GNMax(None), None, **(few | {"n_public": 12})).n_queries == 12


def test_a_cap_that_cuts_the_queries_says_so():
    with pytest.warns(UserWarning, match="epsilon=1 pays for 75 of the 500"):
        plan = plan_queries(GNMax(40), 500, **PUBLIC)
    assert plan.n_queries == 75


def test_too_few_teachers_for_any_useful_query_are_refused():
    with pytest.raises(BudgetExceededError, match="n_teachers=10 teachers .* more teachers"):
        plan_queries(GNMax(None), None, **(PUBLIC | {"n_teachers": 10}))


def test_discrete_noise_is_paid_for_without_gaussian_composition():
    plan = plan_queries(GNMax(40.0, noise="discrete"), None, **PUBLIC)
    assert plan.method == "renyi" and 0.97 < plan.epsilon <= 1.0
    every = rdp_to_epsilon(plan.n_queries * DEFAULT_ORDERS / 40**2, 1e-5, DEFAULT_ORDERS)[0]
    assert plan.epsilon == pytest.approx(every)
    assert plan.n_queries < plan_queries(GNMax(40.0), None, **PUBLIC).n_queries


def test_the_delta_of_a_private_test_adds_up():
    public = {"n_public": 500, "n_teachers": 250, "n_classes": 2, "delta": 1e-5}
    plan = plan_queries(GNMax(40.0), 500, **public, epsilon=1.6, accounting="ptr")
    assert plan.method == "propose-test-release"
    twice = plan.cost.plus(plan.cost)
    assert twice.epsilon(1.9e-5)[0] == math.inf and 1.6 < twice.epsilon(3e-5)[0] <= 3.2


# --- records ----------------------------------------------------------------------------------


def curator(aggregator, votes):
    return Curator([StageRecord(aggregator, len(votes))], np.asarray(votes), 1e-5, np.arange(5))


@cases("aggregator, bound, noise", (GNMax(40.0), gnmax_rdp, 40.0), (LNMax(0.05), lnmax_rdp, 0.05))
def test_curators_epsilon_is_exact_or_the_published_bound(aggregator, bound, noise):
    votes = np.random.default_rng(0).multinomial(250, [0.8, 0.15, 0.05], size=300)
    view = curator(aggregator, votes)
    total = bound(votes, noise, DEFAULT_ORDERS).sum(axis=0)
    for conversion in ("improved", "classic"):
        expected, _ = rdp_to_epsilon(total, 1e-5, DEFAULT_ORDERS, conversion)
        got = view.epsilon(method="bound", conversion=conversion)
        assert got == pytest.approx(expected, rel=1e-9)
    np.testing.assert_array_equal(view.rdp("bound", orders=[2, 4]), bound(votes, noise, [2, 4]))
    public = {"n_teachers": 250, "n_classes": 3}
    independent = data_independent_epsilon(aggregator, 300, 1e-5, **public)[0]
    assert view.epsilon(method="data_independent") == independent
    exact = exact_rdp(aggregator, votes, DEFAULT_ORDERS).sum(axis=0)
    assert view.epsilon() == rdp_to_epsilon(exact, 1e-5, DEFAULT_ORDERS)[0]
    assert view.epsilon(delta=1e-3) < view.epsilon() < view.epsilon(method="bound") < independent


def test_the_curators_view_cannot_leave():
    view = curator(GNMax(40.0), [[7, 3]])
    assert repr(view) == str(view) == "Curator(private)"
    for leave in (pickle.dumps, copy.copy, copy.deepcopy):
        pytest.raises(TypeError, leave, view).match("private")


def test_costs_that_are_kept_cannot_be_changed():
    for stage in (GNMax(20.0), StableArgmax(3.0)):
        cost = stage.costs(n_teachers=200, n_classes=2)(30)
        for change in (np.multiply, np.add):
            with pytest.raises(ValueError, match="read-only"):
                change(cost.rdp, 0.5, out=cost.rdp)
        assert stage.costs(n_teachers=200, n_classes=2)(30).epsilon(1e-5) == cost.epsilon(1e-5)
