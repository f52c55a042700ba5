"""What a fit will ask and spend, decided from public numbers alone."""

import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property, partial, reduce
from typing import Any

import numpy as np
from sklearn.base import clone

from ..exceptions import BudgetExceededError, warn
from ..propose_test_release import ProposeTestRelease
from ..rdp import DEFAULT_ORDERS, Cost, pure_rdp
from ..rdp.cost import no_cost, sum_up
from .advice import advice_on
from .forecast import RecordVoters, RowsCost, TeacherVoters, noise_of_stages, shares_of_stages
from .report import html_of, text_of
from .spent import PrivacyForecast
from .stages import (
    RenyiFilter,
    as_cap,
    best_filter,
    calibrate,
    check_failure_probability,
    check_for_test,
    check_stages,
    check_threshold,
    costs_once,
    most_affordable,
    query_over_budget,
    warn_of_caveat,
)


@dataclass(frozen=True, eq=False)
class Plan:
    """What a fit will ask and spend, decided from public numbers alone.

    It is a forecast: nothing is spent yet, and nothing released. Print it for what a person needs
    to know before a fit; a notebook shows the same.

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
    spent : PrivacyForecast or None
        A forecast of what `privacy_spent_` will say once a fit has paid for its rows and labels:
        the guarantee is the same, and no query is answered yet.
    delta : float or None
        The delta of `epsilon`, if it is not the one that was given.
    voters : TeacherVoters, RecordVoters or None
        Who votes, and the public numbers that all forecasts are made of; None if unknown.
    n_public, n_wanted : int
        Public rows, and queries wanted, before the cap was looked at.
    rows_cost : RowsCost or None
        What the synthesizer takes of `epsilon`.
    beside : tuple of (str, float)
        What else is released, in words, and the epsilon that each takes by itself.
    problems : tuple of str
        What those who vote find wrong with these numbers.
    obstacles : tuple of str
        Why nothing can be learnt: a fit refuses such a plan, see `on_bad_plan`.
    again : callable or None
        Plans the same for another number of teachers, `n_teachers`; None if the noise of all
        stages is set.

    Examples
    --------
    >>> from sklearn_pate.accountant import plan_queries
    >>> from sklearn_pate.aggregators import GNMax
    >>> public = {"n_public": 1000, "n_teachers": 50, "n_classes": 2}
    >>> plan = plan_queries(GNMax(sigma=None), None, **public, epsilon=1.0, delta=1e-5)
    >>> plan.n_labels, plan.labels_per_class, round(plan.noise_std, 1)
    (14, 7.0, 17.4)
    >>> round(plan.share_right(0.8), 2)
    0.89
    >>> plan.advice
    ['2 classes and 50 teachers: 7 labels a class, ...']
    """

    stages: list
    epsilon: float
    method: str
    cost: Cost = field(repr=False)
    budget: RenyiFilter | None = None
    test: ProposeTestRelease | None = None
    spent: PrivacyForecast | None = None
    delta: float | None = None
    own_cost: Cost | None = field(default=None, repr=False)
    synthesizer: Any = None
    _: KW_ONLY
    voters: TeacherVoters | RecordVoters | None = None
    n_public: int = 0
    n_wanted: int = 0
    rows_cost: RowsCost | None = None
    beside: tuple = ()
    problems: tuple = ()
    obstacles: tuple = ()
    again: Callable | None = field(default=None, repr=False)

    def __str__(self):
        return text_of(self)

    def _repr_html_(self):
        """Return what a notebook shows."""
        return html_of(self)

    @property
    def n_queries(self):
        """Queries of all stages."""
        return sum(n_queries for _, n_queries in self.stages)

    @property
    def has_teachers(self):
        """Whether teachers vote; False where records do, or nobody knows who."""
        return isinstance(self.voters, TeacherVoters)

    @property
    def are_labels(self):
        """Whether what is released are labels of classes; else means of levels."""
        return not self.voters.are_levels

    @cached_property
    def n_labels(self):
        """Labels, if every query is answered and paid for in full."""
        if self.budget is None:
            return self.n_queries
        sizes = {"n_teachers": self.voters.n_teachers, "n_classes": self.voters.n_classes}
        untouched = replace(self, budget=RenyiFilter(self.budget.order, self.budget.limit))
        return sum(untouched.allowed(stage, np.ones(n), **sizes) for stage, n in self.stages)

    @property
    def labels_per_class(self):
        """Labels, divided by the number of classes."""
        return self.n_labels / self.voters.n_classes

    @property
    def noise_std(self):
        """Standard deviation of the noise on a count, in votes or ballots; None if unknown.

        Of several stages, the largest.
        """
        return noise_of_stages(self.stages)

    def share_right(self, agreement):
        """Return the share of labels that will be right, if so many of those who vote agree.

        All others vote for one other class: of normal and Laplace noise, no other spread of their
        votes is worse. So with teachers who agree on the right class at least so many labels will
        be right. Where records vote, there is no such share: `voters.explained` says how much of
        the public rows their cells tell.

        Parameters
        ----------
        agreement : float
            Share of the teachers, above 0.5 and at most 1.

        Returns
        -------
        float
            Computed from the mechanism's distribution or, where it has none, drawn from a fixed
            seed. Of a mechanism that may refuse to answer, the share of its answers; NaN if it
            answers nothing. One that asks a student gets one that knows nothing, and one that
            takes probabilities teachers who are certain.
        """
        if not self.has_teachers:
            raise ValueError("share_right is about teachers, and the voters of this plan are none")
        return self._shares(agreement)[1]

    def share_answered(self, agreement):
        """Return the share of queries that get an answer, if so many teachers agree.

        Parameters
        ----------
        agreement : float
            As in `share_right`.

        Returns
        -------
        float
            1 where records vote: each public row gets a label.
        """
        return self._shares(agreement)[0] if self.has_teachers else 1.0

    def _shares(self, agreement):
        sizes = {"n_teachers": self.voters.n_teachers, "n_classes": self.voters.n_classes}
        return shares_of_stages(self.stages, agreement, **sizes)

    @cached_property
    def advice(self):
        """What is to be said of these numbers, and what would help most: a list of str, or []."""
        return advice_on(self)

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
        calibrated noise, that leave its scale at `rules.most_noise` or less, but at least
        `rules.fewest_queries`.
    n_public, n_teachers, n_classes : int
        Number of public rows, of teachers and of classes.
    epsilon : float or None
        Hard cap; None for no cap.
    delta : float
        Delta of the guarantee.
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
        If the cap does not pay for one query.
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
    stages, _ = check_stages(aggregator, n_queries, n_public=n_public)
    for stage in stages:
        warn_of_caveat(stage)
    again = partial(
        _plan_queries,
        clone(aggregator),
        n_queries,
        n_public=n_public,
        n_classes=n_classes,
        epsilon=epsilon,
        delta=delta,
        accounting=accounting,
        before=before,
    )
    plan = again(n_teachers=n_teachers)
    if n_queries is not None and plan.n_queries < plan.n_wanted:
        warn(
            f"epsilon={epsilon:g} pays for {plan.n_queries} of the {n_queries} queries wanted; "
            "only those are asked. Use more noise or raise epsilon to ask them all"
        )
    is_calibrated = any(stage.with_scale(1.0) is not None for stage in stages)
    return replace(plan, again=again if is_calibrated else None)


def _plan_queries(
    aggregator, n_queries, *, n_public, n_teachers, n_classes, epsilon, delta, accounting, before
):
    """Do what `plan_queries` does, without a warning."""
    epsilon, delta = as_cap(epsilon, delta)
    sizes = {"n_teachers": n_teachers, "n_classes": n_classes}
    aggregators, wanted = check_stages(aggregator, n_queries, n_public=n_public)
    facts = {"voters": TeacherVoters(**sizes), "n_public": n_public, "n_wanted": sum(wanted)}
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
    for stage in aggregators:
        check_threshold(stage, n_teachers=n_teachers)
    stages = list(zip(aggregators, wanted, costs, strict=True))
    spent = before(DEFAULT_ORDERS)
    return replace(_plan_within(stages, spent, epsilon, delta, sizes, accounting), **facts)


def _plan_within(stages, before, epsilon, delta, sizes, accounting):
    """Plan all queries or, if a cap does not pay for them, what it pays for."""
    all_queries = _plan_all(stages, before, delta)
    if epsilon is None or all_queries.epsilon <= epsilon:
        return all_queries
    if accounting == "ptr":
        return _plan_test(stages, before, all_queries.epsilon, epsilon, delta, sizes)
    # Where all queries cost the same, their number is the budget; else it is a filter
    if len(stages) == 1 and not _has_check(stages[0][0], sizes):
        return _plan_fewer(stages, before, epsilon, delta)
    return _plan_filter(stages, before, epsilon, delta, sizes)


def _cost_of_queries(stages):
    """Return the cost of all queries of stages: triples of a mechanism, a number and costs."""
    return reduce(Cost.plus, [cost_of(n) for _, n, cost_of in stages])


def _pairs(stages):
    """Return each stage, and its queries."""
    return [(aggregator, n) for aggregator, n, _ in stages]


def _plan_all(stages, before, delta):
    """Plan all queries."""
    own = _cost_of_queries(stages)
    cost = before.plus(own)
    epsilon, method = cost.epsilon(delta)
    return Plan(_pairs(stages), epsilon, method, cost, own_cost=own)


def _plan_fewer(stages, before, epsilon, delta):
    """Plan as many queries of the only stage as the cap pays for."""
    ((aggregator, wanted, cost_of),) = stages

    def epsilon_of(n):
        return before.plus(cost_of(n)).epsilon(delta)[0]

    affordable = most_affordable(epsilon_of, wanted, epsilon)
    if affordable == 0:
        raise query_over_budget(aggregator, epsilon_of(1), epsilon, delta)
    return _plan_all([(aggregator, affordable, cost_of)], before, delta)


def _plan_filter(stages, before, epsilon, delta, sizes):
    """Plan all queries, with a budget that may stop them: the votes decide what they cost."""
    aggregators = [aggregator for aggregator, _, _ in stages]
    budget = None
    if before.delta < delta:
        budget = best_filter(aggregators, epsilon, delta - before.delta, sizes, before.rdp)
    if budget is None:  # some stage cannot ask a single query
        alone = [before.plus(cost_of(1)).epsilon(delta)[0] for _, _, cost_of in stages]
        costliest = aggregators[int(np.argmax(alone))]
        raise query_over_budget(costliest, max(alone), epsilon, delta)
    own = budget.cost(_cost_of_queries(stages))
    cost = before.plus(own)
    return Plan(_pairs(stages), epsilon, "filter", cost, budget, own_cost=own)


def _plan_test(stages, before, data_independent_epsilon, epsilon, delta, sizes):
    """Plan all queries, with a private test that their votes must pass."""
    ((aggregator, n_queries, _),) = stages
    left, its_delta = _left(before, epsilon, delta)
    test = None
    if left > 0:
        test = ProposeTestRelease.plan(
            aggregator, n_queries, **sizes, epsilon=left, delta=its_delta
        )
    if test is None:
        raise BudgetExceededError(
            f"epsilon={epsilon:g} is too small for accounting='ptr': the test of {n_queries} "
            f"queries of {aggregator} would fail even if all teachers agreed. Raise epsilon, ask "
            f"less or use more noise; their data-independent cost is {data_independent_epsilon:.4g}"
        )
    # (epsilon, delta) for test and labels together: pure, but for a probability of delta
    # (by the reduction of Kairouz, Oh, Viswanath (2015), The composition theorem for DP)
    own = Cost(pure_rdp(left, DEFAULT_ORDERS), math.inf, left, its_delta)
    cost = before.plus(own)
    return Plan(_pairs(stages), epsilon, "propose-test-release", cost, test=test, own_cost=own)


def _left(before, epsilon, delta):
    """Return what is left of a cap, by the plain sum: a private test has no Renyi cost."""
    if before.pure < math.inf:
        # Rounded down, so that the sum is within the cap
        return -sum_up(-epsilon, before.pure), -sum_up(-delta, before.delta)
    spent, _ = before.epsilon(delta / 2)
    return epsilon - spent, delta / 2


def _has_check(aggregator, sizes):
    """Whether a query has a first step, after which it may cost nothing more."""
    steps = aggregator.steps(DEFAULT_ORDERS[:1], **sizes)
    return steps is not None and steps[0][0] > 0
