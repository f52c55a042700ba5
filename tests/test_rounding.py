"""Sums of costs are never below the exact ones."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_pate.accountant.table import plan_table
from sklearn_pate.aggregators import LaplaceMechanism, LNMax
from sklearn_pate.ledger.filters import Account, Budget, new_filters
from sklearn_pate.rdp import Cost
from sklearn_pate.rdp.cost import rounded_up, sum_up, times_up
from sklearn_pate.rdp.table import laplace_table_cost

COSTS = st.floats(0, 1e6, allow_subnormal=False)


@given(st.lists(COSTS, min_size=1, max_size=8))
def test_a_sum_is_the_least_float_that_is_not_below(costs):
    exact = sum(map(Fraction, costs))
    total = sum_up(*costs)
    assert total >= exact
    assert total == 0 or math.nextafter(total, 0) < exact


@given(COSTS, st.integers(0, 10**6))
def test_a_product_is_not_below(cost, number):
    assert times_up(number, cost) >= Fraction(cost) * number
    assert times_up(number, cost) <= number * cost * (1 + 3e-16) + 5e-324


def test_infinite_costs_stay():
    assert sum_up(1.0, math.inf) == times_up(3, math.inf) == math.inf
    assert rounded_up(Fraction(1, 10)) > Fraction(1, 10) > Fraction(math.nextafter(0.1, 0))


def test_plans_with_drawn_rows_publish_no_epsilon_below_the_exact_sum():
    rng = np.random.default_rng(0)
    for _ in range(300):
        epsilon = float(np.exp(rng.uniform(-3, 2)))
        n_moved = 2 * int(rng.integers(1, 60))
        rows = laplace_table_cost(n_moved / (rng.uniform(0.1, 0.9) * epsilon), n_moved)
        given = {"n_changed": 2, "n_rows": 9, "delta": 1e-5, "before": lambda _, rows=rows: rows}
        plan = plan_table(LaplaceMechanism(), epsilon=epsilon, **given)
        assert Fraction(rows.pure) + Fraction(plan.own_cost.pure) <= Fraction(plan.epsilon)
        assert plan.epsilon <= epsilon


@pytest.mark.parametrize("n_queries", [3, 7, 100])
def test_queries_of_pure_mechanisms(n_queries):
    assert LNMax(0.05).costs()(n_queries).pure >= Fraction(LNMax(0.05).costs()(1).pure) * n_queries


def test_a_ledger_adds_up_so_too():
    budget = Budget(10.0, 1e-5, "pure", 1e-5)
    costs = [Cost(np.zeros(204), 0.0, pure, delta) for pure, delta in [(0.1, 1e-7)] * 3]
    assert Account.of_costs(budget, new_filters(budget), costs).epsilon() >= 3 * Fraction(0.1)
