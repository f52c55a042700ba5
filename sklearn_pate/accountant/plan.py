"""What a fit will ask and spend, decided from public numbers alone."""

import math
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import numpy as np

from ..exceptions import BudgetExceededError, warn
from ..propose_test_release import ProposeTestRelease
from ..rdp import DEFAULT_ORDERS, Cost, pure_rdp
from .calibration import calibrate, costs_once, most_affordable, no_cost
from .checks import (
    as_cap,
    check_failure_probability,
    check_for_test,
    check_stages,
    check_threshold,
    query_over_budget,
    warn_of_stage,
)
from .filter import RenyiFilter, best_filter
from .spent import PrivacySpent

__all__ = ["Plan", "plan_queries"]


@dataclass(frozen=True, eq=False)
class Plan:
    """What a fit will ask and spend, decided from public numbers alone.

    Attributes
    ----------
    stages : list of (Aggregator, int)
        Clones with their noise set, and the queries each may ask.
    epsilon : float
        Their data-independent cost, at most the cap.
    method : str
        As in `PrivacySpent`.
    cost : Cost
        The same as `epsilon`, in all the ways that add up with the costs of other fits.
    own_cost : Cost or None
        Of the queries alone; None if nothing is released before them.
    synthesizer : Synthesizer or None
        What draws the public rows, with its noise set; its cost is in `epsilon`.
    budget : RenyiFilter or None
        What stops the stages before the cap, if not all queries fit.
    test : ProposeTestRelease or None
        What the votes must pass before labels are released, with ``accounting="ptr"``.
    spent : PrivacySpent or None
        What `privacy_spent_` will say, before any answer.
    delta : float or None
        The delta of `epsilon`, if it is not the one that was given.
    """

    stages: list
    epsilon: float
    method: str
    cost: Cost = field(repr=False)
    budget: RenyiFilter | None = None
    test: ProposeTestRelease | None = None
    spent: PrivacySpent | None = None
    delta: float | None = None
    own_cost: Cost | None = field(default=None, repr=False)
    synthesizer: Any = None

    @property
    def n_queries(self):
        """Queries of all stages."""
        return sum(n_queries for _, n_queries in self.stages)

    def allowed(self, aggregator, paid, *, n_teachers, n_classes):
        """Spend on the queries of a stage, in order; return how many the budget lets through."""
        if self.budget is None:
            return len(paid)
        order = np.array([self.budget.order])
        steps = aggregator.steps(order, n_teachers=n_teachers, n_classes=n_classes)
        check, answer = (float(cost[0]) for cost in steps)
        is_refundable = check > 0  # where no check is paid for, nothing can be given back
        paid = paid if is_refundable else np.ones(len(paid))
        return self.budget.allow(paid, check, answer)


def plan_queries(
    aggregator,
    n_queries,
    *,
    n_public,
    n_teachers,
    n_classes,
    epsilon,
    delta,
    accounting="data_independent",
    before=no_cost,
):
    """Decide the noise, and how many queries the budget pays for.

    Parameters
    ----------
    aggregator : Aggregator or list of Aggregator
        As given by the user; ``GNMax(sigma=None)`` and others of their kind are calibrated. A list
        is asked in stages.
    n_queries : int, list of int or None
        Queries wanted, of each stage. None, for one stage: all that the budget pays for and, for
        calibrated noise, that leave its scale at ``n_teachers / 4`` or less.
    n_public, n_teachers, n_classes : int
        Number of public rows, of teachers and of classes.
    epsilon : float or None
        Hard cap; None for no cap.
    delta : float
        Failure probability.
    accounting : {"data_independent", "ptr"}, default="data_independent"
        As in `PATEClassifier`.
    before : callable, default=no_cost
        Returns, for Renyi orders, the `Cost` of what is released under the same cap before the
        first query.

    Returns
    -------
    Plan
        With it the cost, and what is spent before, is at most the cap.

    Raises
    ------
    BudgetExceededError
        If the cap does not pay for one query. Nothing was spent.
    ValueError
        If there is nothing to calibrate to, or there are fewer public rows than queries.

    Examples
    --------
    >>> from sklearn_pate.accountant import plan_queries
    >>> from sklearn_pate.aggregators import GNMax
    >>> public = {"n_public": 1000, "n_teachers": 250, "n_classes": 10}
    >>> plan = plan_queries(GNMax(sigma=40), None, **public, epsilon=1.0, delta=1e-5)
    >>> plan.n_queries, plan.epsilon < 1.0, plan.method
    (75, True, 'renyi')
    """
    epsilon, delta = as_cap(epsilon, delta)
    sizes = {"n_teachers": n_teachers, "n_classes": n_classes}
    aggregators, wanted = check_stages(aggregator, n_queries, n_public=n_public)
    if accounting == "ptr":
        check_for_test(aggregators, n_queries, epsilon)
    else:
        aggregators, wanted = calibrate(
            aggregators,
            wanted,
            is_number_given=n_queries is not None,
            epsilon=epsilon,
            delta=delta,
            sizes=sizes,
            before=before,
        )
    if epsilon is not None:
        check_failure_probability(aggregators, delta)
    costs = [costs_once(stage, **sizes) for stage in aggregators]
    stages = _Stages(aggregators, wanted, costs, before(DEFAULT_ORDERS))
    for stage, n_wanted in stages.pairs():
        check_threshold(stage, n_teachers=n_teachers)
        warn_of_stage(stage, n_wanted, n_teachers=n_teachers)

    all_queries = _plan_all(stages, delta)
    if epsilon is None or all_queries.epsilon <= epsilon:
        return all_queries
    if accounting == "ptr":
        return _plan_test(stages, all_queries.epsilon, epsilon, delta, sizes)
    # Where all queries cost the same, their number is the budget; else it is a filter
    if len(aggregators) == 1 and not _has_check(aggregators[0], sizes):
        return _plan_fewer(stages, n_queries, epsilon, delta)
    return _plan_filter(stages, epsilon, delta, sizes)


@dataclass(frozen=True)
class _Stages:
    """The stages of a fit.

    Attributes
    ----------
    aggregators : list of Aggregator
        With their noise set, in order.
    n_queries : list of int
        The queries of each.
    costs : list of callable
        For each, the `Cost` of a number of its queries.
    before : Cost
        Of what is released before the first query.
    """

    aggregators: list
    n_queries: list
    costs: list
    before: Cost

    def pairs(self):
        """Each stage, and its queries."""
        return list(zip(self.aggregators, self.n_queries, strict=True))

    def cost_of_queries(self):
        """Cost of all queries."""
        parts = [cost_of(n) for cost_of, n in zip(self.costs, self.n_queries, strict=True)]
        return reduce(Cost.plus, parts)

    def cost(self):
        """Cost of all queries, and of what is released before."""
        return self.before.plus(self.cost_of_queries())


def _plan_all(stages, delta):
    """Plan all queries."""
    cost = stages.cost()
    epsilon, method = cost.epsilon(delta)
    return Plan(stages.pairs(), epsilon, method, cost, own_cost=stages.cost_of_queries())


def _plan_fewer(stages, n_requested, epsilon, delta):
    """Plan as many queries of the only stage as the cap pays for."""
    (aggregator,) = stages.aggregators
    (cost_of,) = stages.costs

    def epsilon_of(n):
        return stages.before.plus(cost_of(n)).epsilon(delta)[0]

    affordable = most_affordable(epsilon_of, stages.n_queries[0], epsilon)
    if affordable == 0:
        raise query_over_budget(aggregator, epsilon_of(1), epsilon, delta)
    if n_requested is not None:
        warn(
            f"epsilon={epsilon:g} pays for {affordable} of the {n_requested} queries wanted; "
            "only those are asked. Use more noise or raise epsilon to ask them all"
        )
    return _plan_all(replace(stages, n_queries=[affordable]), delta)


def _plan_filter(stages, epsilon, delta, sizes):
    """Plan all queries, with a budget that may stop them: the votes decide what they cost."""
    budget = best_filter(stages.aggregators, epsilon, delta, sizes, stages.before.rdp)
    if budget is None:  # some stage cannot ask a single query
        alone = [stages.before.plus(cost_of(1)).epsilon(delta)[0] for cost_of in stages.costs]
        costliest = stages.aggregators[int(np.argmax(alone))]
        raise query_over_budget(costliest, max(alone), epsilon, delta)
    own = budget.cost(stages.cost_of_queries())
    cost = stages.before.plus(own)
    return Plan(stages.pairs(), epsilon, "filter", cost, budget, own_cost=own)


def _plan_test(stages, data_independent_epsilon, epsilon, delta, sizes):
    """Plan all queries, with a private test that their votes must pass."""
    ((aggregator, n_queries),) = stages.pairs()
    left, its_delta = _left(stages.before, epsilon, delta)
    test = None
    if left > 0:
        test = ProposeTestRelease.plan(
            aggregator, n_queries, **sizes, epsilon=left, delta=its_delta
        )
    if test is None:
        raise BudgetExceededError(
            f"epsilon={epsilon:g} is too small for accounting='ptr': the test of {n_queries} "
            f"queries of {aggregator} would fail even if all teachers agreed. Raise epsilon, ask "
            "fewer queries or use more noise; their data-independent cost is "
            f"{data_independent_epsilon:.4g}. Nothing was spent"
        )
    # (epsilon, delta) for test and labels together: pure, but for a probability of delta
    # (by the reduction of Kairouz, Oh, Viswanath (2015), The composition theorem for DP)
    own = Cost(pure_rdp(left, DEFAULT_ORDERS), math.inf, left, its_delta)
    cost = stages.before.plus(own)
    return Plan(stages.pairs(), epsilon, "propose-test-release", cost, test=test, own_cost=own)


def _left(before, epsilon, delta):
    """Return what is left of a cap, by the plain sum: a private test has no Renyi cost."""
    if before.pure < math.inf:
        return epsilon - before.pure, delta - before.delta
    spent, _ = before.epsilon(delta / 2)
    return epsilon - spent, delta / 2


def _has_check(aggregator, sizes):
    """Whether a query has a first step, after which it may cost nothing more."""
    steps = aggregator.steps(DEFAULT_ORDERS[:1], **sizes)
    return steps is not None and steps[0][0] > 0
