"""Costs of releases, and the noise and the number of queries that a cap allows."""

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import reduce
from numbers import Integral
from typing import Any, NamedTuple, TypedDict

import numpy as np
from sklearn.base import clone

from .._numbers import shown
from .._sklearn import InvalidParameterError
from ..exceptions import BudgetExceededError, PrivacyLeakWarning, warn
from ..rdp import (
    DEFAULT_ORDERS,
    Contribution,
    Cost,
    Event,
    Neighbors,
    ProvedEvent,
    least_scale,
    pure_rdp,
)
from ..rdp.bounds import bounds_of, has_distribution
from ..rdp.conversion import conversion_penalty
from ..rdp.cost import FEW_ORDERS, LEAST_SCALE, no_cost, orders_near_best, sum_up
from ..rules import fewest_queries, most_noise
from .findings import dropped_queries
from .plan import MethodSummary, Plan
from .propose_test_release import ProposeTestRelease
from .renyi_filter import RenyiFilter
from .targets import NClasses, by_target, check_several, queries_cost, query_steps

#: Function of Renyi orders that returns the cost of earlier releases under the same cap.
PriorCost = Callable[[Any], Cost]

#: A mechanism, a number of queries, and a function that returns the cost of any number of queries.
_PricedStage = tuple[Any, int, Callable[[int], Cost]]


def plan_queries(
    aggregator: Any,
    n_queries: int | list[int] | None,
    *,
    n_public: int,
    n_teachers: int,
    n_classes: NClasses,
    epsilon: float | None,
    delta: float,
    accounting: str = "data_independent",
    before: PriorCost = no_cost,
) -> Plan:
    """Choose the noise and the number of queries within the budget.

    Parameters
    ----------
    aggregator : Aggregator or list of Aggregator
        The user's parameter. ``GNMax(sigma=None)`` and similar mechanisms are calibrated. The
        mechanisms of a list are stages, used in this order.
    n_queries : int, list of int or None
        Largest number of queried rows of each stage, with one query for each target; None is
        `n_public`, and is not possible for a list of stages. If the cap does not pay for all
        queries of a single stage that have equal costs, their number is reduced to the largest
        number within the cap. The queries of several stages, and queries whose cost depends on a
        check, are not reduced, but a filter stops them at the cap. If `n_queries` is None and the
        noise of each query is calibrated, the number is also reduced until the noise scale is at
        most `rules.most_noise`, but not below `rules.fewest_queries`.
    n_public, n_teachers : int
        Number of public rows and of teachers.
    n_classes : int or tuple of int
        Number of classes; for several targets, of each. There must be one stage then.
    epsilon : float or None
        Cap: the largest epsilon of the plan. None means no cap.
    delta : float
        Delta of the guarantee.
    accounting : {"data_independent", "ptr"}, default="data_independent"
        As in `PATEClassifier`.
    before : callable, default=no_cost
        ``before(orders)`` returns the prior cost: the `Cost` of releases under the same cap before
        the first query.

    Returns
    -------
    Plan
        The plan. Its epsilon includes the prior cost, and is at most the cap.

    Raises
    ------
    BudgetExceededError
        If the cap does not pay for one query of each stage (if noise and number are both chosen
        here: with a noise scale of at most `rules.most_noise`). If some noise is calibrated, and
        the cap does not pay for the stages with fixed noise. With ``accounting="ptr"``, if the test
        would fail even if all teachers agreed.
    ValueError
        If `epsilon` is None and the noise of a mechanism must be calibrated, if there are fewer
        public rows than queries, or if the parameters are invalid. For several targets, if there
        are several stages, if the mechanism charges all queries together, or with
        ``accounting="ptr"``.

    Examples
    --------
    >>> from sklearn_pate.accounting import plan_queries
    >>> from sklearn_pate.aggregators import GNMax
    >>> public = {"n_public": 1000, "n_teachers": 250, "n_classes": 10}
    >>> plan = plan_queries(GNMax(sigma=40), None, **public, epsilon=1.0, delta=1e-5)
    >>> plan.n_queries, plan.epsilon < 1.0, plan.composition
    (75, True, 'renyi')
    """
    aggregators, requested = check_stages(aggregator, n_queries, n_public=n_public)
    if len(by_target(n_classes)) > 1:
        check_several(aggregators, accounting)
    for stage in aggregators:
        if stage.caveat is not None:
            bounds_of(stage)  # raises an error for invalid parameters
            warn(f"{stage}: {stage.caveat}", PrivacyLeakWarning)
        _check_threshold(stage, n_teachers)
    cap = _Cap(*as_cap(epsilon, delta), accounting, before)
    sizes: _Sizes = {"n_teachers": n_teachers, "n_classes": n_classes}
    is_number_given = n_queries is not None
    n_requested = sum(requested)
    without_noise = [stage for stage in aggregators if stage.with_scale(1.0) is not None]
    for stage in without_noise:
        check_with_scale(stage)
    if accounting == "ptr":
        _check_for_test(aggregators, is_number_given, cap)
    if cap.epsilon is not None:
        _check_delta_of_mechanisms(aggregators, cap.delta)
    elif without_noise:
        raise ValueError(
            f"{without_noise[0]} is calibrated to epsilon, but epsilon is None; set epsilon, or "
            "the noise of the aggregator"
        )
    if without_noise:
        aggregators, requested = _calibrate(aggregators, requested, is_number_given, cap, sizes)
    costs = [queries_cost(stage, **sizes) for stage in aggregators]
    plan = _plan_within(list(zip(aggregators, requested, costs, strict=True)), cap, sizes)
    if is_number_given and cap.epsilon is not None:
        dropped = dropped_queries(
            epsilon=cap.epsilon, n_queries=plan.n_queries, n_requested=n_requested
        )
        if dropped is not None:
            warn(str(dropped))
    return replace(
        plan,
        method_summary=MethodSummary(
            n_teachers=n_teachers,
            n_classes=max(by_target(n_classes)),
            n_targets=len(by_target(n_classes)),
            n_classes_by_target=by_target(n_classes),
        ),
        n_public=n_public,
        n_requested=n_requested,
        is_calibrated=bool(without_noise),
    )


def _check_threshold(stage: Any, n_teachers: int) -> None:
    """Raise an error if a mechanism requires more votes than there are teachers."""
    threshold = getattr(stage, "threshold", None)  # fewer votes give no answer
    if isinstance(threshold, Integral) and int(threshold) > n_teachers:
        bounds_of(stage)  # raises an error for invalid parameters
        raise ValueError(
            f"threshold={shown(threshold)} of {type(stage).__name__} is more than n_teachers="
            f"{n_teachers}, so no vote count reaches it; lower it, or pass a fraction of the "
            "teachers as a float in (0, 1]"
        )


def _check_delta_of_mechanisms(aggregators: list[Any], delta: float) -> None:
    """Raise an error unless the deltas of the mechanisms are below the delta of the guarantee."""
    # The bounds require a noise scale, but the delta of a mechanism does not depend on it
    totals = [bounds_of(stage).total for stage in _at_scale(aggregators, 1.0)]
    delta_of_mechanisms = sum(total(DEFAULT_ORDERS).delta for total in totals if total)
    if delta_of_mechanisms >= delta:
        raise ValueError(
            f"the aggregator has a delta of its own, {delta_of_mechanisms:g} in total. The "
            f"guarantee includes it, so it must be below delta={delta:g}: lower the delta of the "
            "aggregator, or raise delta"
        )


class _Sizes(TypedDict):
    """Number of teachers, and of classes of each target."""

    n_teachers: int
    n_classes: NClasses


class _Cap(NamedTuple):
    """The limit on the cost of queries, and a function that returns the prior cost."""

    epsilon: float | None
    delta: float
    accounting: str
    before: PriorCost

    @property
    def limit(self) -> float:
        """The largest epsilon; inf without a cap."""
        return math.inf if self.epsilon is None else self.epsilon

    def epsilon_of(self, cost: Cost, orders: np.ndarray = DEFAULT_ORDERS) -> float:
        """Return the epsilon of a cost of queries, composed with the prior cost."""
        return self.before(orders).plus(cost).epsilon(self.delta, orders)[0]


def _plan_within(stages: list[_PricedStage], cap: _Cap, sizes: _Sizes) -> Plan:
    """Return a plan of all queries, or a limited plan if their cost exceeds the cap."""
    own = reduce(Cost.plus, [cost_of(n) for _, n, cost_of in stages])
    queried = [(aggregator, n) for aggregator, n, _ in stages]
    before = cap.before(DEFAULT_ORDERS)
    cost = before.plus(own)
    epsilon, composition = cost.epsilon(cap.delta)
    if epsilon <= cap.limit:
        return Plan(queried, epsilon, composition, cost, own_cost=own)
    if cap.accounting == "ptr":
        test = _planned_test(*queried[0], epsilon, cap, sizes)
        # Test and labels together are (epsilon, delta)-private: pure, but for a probability of
        # delta (by the reduction of Kairouz, Oh, Viswanath (2015), The composition theorem for DP)
        pure = pure_rdp(test.epsilon, DEFAULT_ORDERS)
        own = Cost(pure, math.inf, test.epsilon, test.delta)
        cost = before.plus(own)
        return Plan(queried, cap.limit, "propose-test-release", cost, test=test, own_cost=own)
    # Queries of equal cost are limited by their number, other queries by a filter
    if len(stages) == 1 and not _has_check(stages[0][0], sizes):
        ((aggregator, requested, cost_of),) = stages
        affordable = _most_within(cap, cost_of, requested)
        if affordable == 0:
            raise _query_over_budget(aggregator, cap.epsilon_of(cost_of(1)), cap)
        return _plan_within([(aggregator, affordable, cost_of)], cap, sizes)
    budget = _planned_filter(stages, cap, sizes)
    own = budget.cost(own)
    cost = before.plus(own)
    return Plan(queried, cap.limit, "filter", cost, budget=budget, own_cost=own)


def _planned_test(
    aggregator: Any, n_queries: int, needed: float, cap: _Cap, sizes: _Sizes
) -> ProposeTestRelease:
    """Return a private test that the votes on all queries must pass."""
    before = cap.before(DEFAULT_ORDERS)
    if before.pure < math.inf:
        # The test has no Renyi cost, so it gets the plain difference, rounded down
        epsilon, delta = -sum_up(-cap.limit, before.pure), -sum_up(-cap.delta, before.delta)
    else:
        delta = cap.delta / 2
        epsilon = cap.limit - before.epsilon(delta)[0]
    test = None
    if epsilon > 0:
        (n_classes,) = by_target(sizes["n_classes"])  # for one target only
        test = ProposeTestRelease.plan(
            aggregator,
            n_queries,
            n_teachers=sizes["n_teachers"],
            n_classes=n_classes,
            epsilon=epsilon,
            delta=delta,
        )
    if test is None:
        raise BudgetExceededError(
            f"epsilon={cap.epsilon:g} is too small for accounting='ptr': earlier releases leave no "
            f"epsilon for a test of {n_queries} queries of {aggregator}, or the test would fail "
            "even if all teachers agreed. Raise epsilon, use fewer queries or more noise; without "
            f"a test, the queries and all earlier releases cost {needed:.4g}"
        )
    return test


def _planned_filter(stages: list[_PricedStage], cap: _Cap, sizes: _Sizes) -> RenyiFilter:
    """Return a filter that may stop queries, because their costs depend on the votes.

    With its order, the limit pays for one query of each stage, and for the largest number of
    answers of the first stage.
    """
    steps: Any = [query_steps(stage, DEFAULT_ORDERS, **sizes) for stage, _, _ in stages]
    before = cap.before(DEFAULT_ORDERS)
    if before.delta < cap.delta and all(step is not None for step in steps):
        limit = cap.limit - conversion_penalty(cap.delta - before.delta, DEFAULT_ORDERS)
        # Reduced, so that the rounded epsilon of the filter stays within the cap
        limit = (limit - before.rdp) * (1 - 1e-9)
        one_of_each = sum(check + answer for check, answer in steps)
        n_answers = np.where(limit >= one_of_each, limit / sum(steps[0]), 0)
        best = int(np.argmax(n_answers))
        if n_answers[best] > 0:
            return RenyiFilter(float(DEFAULT_ORDERS[best]), float(limit[best]))
    alone = [cap.epsilon_of(cost_of(1)) for _, _, cost_of in stages]
    costliest = int(np.argmax(alone))
    raise _query_over_budget(stages[costliest][0], alone[costliest], cap)


def _has_check(aggregator: Any, sizes: _Sizes) -> bool:
    """Return whether a query has a check with a cost, and no other cost if the check fails."""
    steps = query_steps(aggregator, DEFAULT_ORDERS[:1], **sizes)
    return steps is not None and steps[0][0] > 0


# --- checks of aggregators and numbers of queries -------------------------------------------------


def as_cap(epsilon: float | None, delta: float) -> tuple[float | None, float]:
    """Return the cap as Python floats; epsilon may be None.

    NumPy's short floats are converted, because a comparison would round the cost to their
    precision.
    """
    return (None if epsilon is None else float(epsilon)), float(delta)


def check_stages(
    aggregator: Any, n_queries: int | list[int] | None, *, n_public: int
) -> tuple[list[Any], list[int]]:
    """Return clones of the aggregators and the requested number of queries of each, as lists.

    Parameters
    ----------
    aggregator, n_queries
        As in `plan_queries`.
    n_public : int
        Number of public rows.
    """
    is_list = isinstance(aggregator, list)
    stages = aggregator if is_list else [aggregator]
    if not stages:
        raise ValueError("aggregator must not be an empty list; pass at least one aggregator")
    for stage in stages:
        if isinstance(stage, type) or not hasattr(type(stage), "release"):
            of_records = hasattr(stage, "noisy") and not isinstance(stage, type)
            remedy = (
                ". This mechanism is for methods of records: set method='neighbors', and leave "
                "base_estimator, n_teachers and all other parameters of teachers at their defaults"
            )
            raise ValueError(
                f"aggregator must be an Aggregator instance, or a list of instances; got {stage!r}"
                f"{remedy if of_records else ''}"
            )
    if n_queries is None and not is_list:
        n_queries = n_public
    requested: list[Any] = n_queries if isinstance(n_queries, list) else [n_queries]
    if isinstance(n_queries, list) != is_list or len(requested) != len(stages):
        expected = f"a list of length {len(stages)}" if is_list else "one number or None"
        raise ValueError(
            f"n_queries must be {expected}, because aggregator is "
            f"{'a list of stages' if is_list else 'a single stage'}; got "
            f"n_queries={shown(n_queries)}"
        )
    if any(not isinstance(n, Integral) or n < 1 for n in requested):
        raise ValueError(
            "n_queries must be a whole number of at least 1 for each stage; got "
            f"n_queries={shown(n_queries)}"
        )
    requested = [int(n) for n in requested]  # NumPy's small integers overflow
    if sum(requested) > n_public:
        raise ValueError(
            f"n_queries={shown(n_queries)} is more than the number of rows of X_public, "
            f"{n_public}; use fewer queries or give more public rows"
        )
    aggregators = [clone(stage) for stage in stages]
    soft_stage(aggregators)
    if aggregators[0].uses_student_proba:
        raise ValueError(
            f"{aggregators[0]} compares votes with a student, but the first stage has no student "
            f"yet: use it after another stage, aggregator=[other, {aggregators[0]}]"
        )
    return aggregators, requested


def soft_stage(aggregators: Iterable[Any]) -> Any:
    """Return the stage that requires teachers' probabilities, or None.

    Such a stage must be the only stage; otherwise, ValueError is raised.
    """
    stages = list(aggregators)
    soft = [stage for stage in stages if getattr(stage, "temperature", None) is not None]
    if not soft:
        return None
    stage = soft[0]
    if has_distribution(stage):
        raise ValueError(
            f"{stage} aggregates votes, but has a temperature, which applies to the teachers' "
            "probabilities; rename this parameter, or subclass SoftAggregator"
        )
    if len(stages) > 1:
        raise ValueError(
            f"{type(stage).__name__} requires the teachers' probabilities, and other stages "
            "require votes; use it alone"
        )
    return stage


def _check_for_test(aggregators: list[Any], is_number_given: bool, cap: _Cap) -> None:
    """Raise an error unless there is one stage, and epsilon, n_queries and the noise are set."""
    if len(aggregators) > 1:
        raise ValueError("accounting='ptr' supports one stage only; pass one aggregator")
    needed = {
        "epsilon": cap.epsilon is not None,
        "n_queries": is_number_given,
        f"the noise scale of {aggregators[0]}": aggregators[0].with_scale(1.0) is None,
    }
    missing = [name for name, is_set in needed.items() if not is_set]
    if missing:
        raise ValueError(
            "accounting='ptr' requires epsilon, n_queries and the noise scale of the aggregator to "
            f"be set; {missing[0]} is None"
        )


def _query_over_budget(aggregator: Any, query_epsilon: float, cap: _Cap) -> BudgetExceededError:
    """Return the error for a cap that does not pay for one query."""
    advice = "Use more noise, or raise epsilon"
    if query_epsilon == math.inf:
        advice = f"{aggregator.missing_bounds()}; or set epsilon=None to run it without a guarantee"
    return BudgetExceededError(
        f"one query of {aggregator} costs epsilon={query_epsilon:.4g} at delta={cap.delta:g}, more "
        f"than the cap epsilon={cap.epsilon:g}. {advice}"
    )


# --- calibration of the noise and of the number of queries ----------------------------------------


def _calibrate(
    aggregators: list[Any],
    requested: list[int],
    is_number_given: bool,
    cap: _Cap,
    sizes: _Sizes,
) -> tuple[list[Any], list[int]]:
    """Set the noise of stages without noise, so that the cost of all stages equals the cap.

    If the user sets no number of queries, and each query has a cost, the number is reduced until
    the noise is at most `rules.most_noise`, but not below `rules.fewest_queries`.

    Returns
    -------
    aggregators : list of Aggregator
        Stages that all have noise.
    requested : list of int
        Number of queries of each stage for which the noise is calibrated.
    """
    start = None
    if not is_number_given and bounds_of(_at_scale(aggregators, 1.0)[0]).total is None:
        n_classes = max(by_target(sizes["n_classes"]))
        start = most_noise(n_teachers=sizes["n_teachers"], n_classes=n_classes)
        # There is one stage, because a list of stages requires numbers of queries
        (noisiest,) = _at_scale(aggregators, start)
        affordable = _most_queries(noisiest, requested[0], cap, sizes)
        requested = [max(affordable, min(requested[0], fewest_queries(n_classes=n_classes)))]

    def cost_at(scale: float, orders: np.ndarray) -> Cost:
        stages = zip(_at_scale(aggregators, scale), requested, strict=True)
        costs = [queries_cost(stage, orders, **sizes)(n) for stage, n in stages]
        return reduce(Cost.plus, costs, cap.before(orders))

    scale = least_scale(cost_at, cap.limit, cap.delta, start=start)
    if scale == math.inf:
        raise BudgetExceededError(
            f"epsilon={cap.epsilon:g} does not pay for the stages with fixed noise. Use fewer "
            "queries or more noise in these stages, or raise epsilon"
        )
    return _at_scale(aggregators, scale), requested


def _at_scale(aggregators: list[Any], scale: float) -> list[Any]:
    """Return the stages; stages without noise get noise of the given scale."""
    return [stage.with_scale(scale) or stage for stage in aggregators]


def check_with_scale(stage: Any) -> None:
    """Raise an error if `with_scale` does not return a copy with noise."""
    scaled = stage.with_scale(1.0)
    if not isinstance(scaled, type(stage)) or scaled is stage or scaled.with_scale(1.0) is not None:
        raise ValueError(
            f"with_scale of {type(stage).__name__} must return None if the noise is set, else "
            f"a copy with noise of that scale, clone(self).set_params(...); got {scaled!r}"
        )


def _most_queries(aggregator: Any, n_requested: int, cap: _Cap, sizes: _Sizes) -> int:
    """Return the largest number of queries within the cap, at the largest useful noise."""
    cost_of = queries_cost(aggregator, FEW_ORDERS, **sizes)
    if cap.epsilon_of(cost_of(1), FEW_ORDERS) == math.inf:
        raise _query_over_budget(aggregator, math.inf, cap)
    affordable = _most_within(cap, cost_of, n_requested, FEW_ORDERS)
    near = orders_near_best(cap.before(FEW_ORDERS).plus(cost_of(max(1, affordable))), cap.delta)
    affordable = _most_within(cap, queries_cost(aggregator, near, **sizes), n_requested, near)
    if affordable == 0:
        largest = most_noise(
            n_teachers=sizes["n_teachers"], n_classes=max(by_target(sizes["n_classes"]))
        )
        raise BudgetExceededError(
            f"epsilon={cap.epsilon:g} does not pay for one query with a noise scale of at most "
            f"{largest:.3g}, the largest that is useful with n_teachers="
            f"{sizes['n_teachers']}. Use more teachers, raise epsilon, or set n_queries"
        )
    return affordable


def _most_within(
    cap: _Cap,
    cost_of: Callable[[int], Cost],
    n_requested: int,
    orders: np.ndarray = DEFAULT_ORDERS,
) -> int:
    """Return the largest number of queries within the cap; epsilon must grow with the number."""
    before = cap.before(orders)

    def epsilon_of(n_queries: int) -> float:
        return before.plus(cost_of(n_queries)).epsilon(cap.delta, orders)[0]

    return bisect_right(range(1, n_requested + 1), cap.limit, key=epsilon_of)


# --- single releases: a noisy table, synthetic rows, extra releases -------------------------------


def plan_table(
    mechanism: Any,
    *,
    contribution: Contribution,
    n_rows: int,
    epsilon: float | None,
    delta: float,
    before: PriorCost = no_cost,
    prior_is_pure: bool = True,
) -> Plan:
    """Choose the noise on a table of votes that is released as a whole.

    Parameters
    ----------
    mechanism : TableMechanism
        The mechanism. If its noise is not set, it is calibrated to `epsilon`.
    contribution : rdp.Contribution
        Largest change of the table between neighboring data sets.
    n_rows : int
        Number of public rows that may get a label.
    epsilon : float or None
        Cap: the largest epsilon of the plan. None means no cap.
    delta : float
        Delta of the guarantee. It is not spent if the mechanism and the prior cost are pure.
    before : callable, default=no_cost
        ``before(orders)`` returns the prior cost: the `Cost` of earlier releases under the same
        cap.
    prior_is_pure : bool, default=True
        Whether the prior cost holds with delta 0. False if any of its noise is rounded.

    Returns
    -------
    Plan
        The plan. Its only stage is the mechanism, with its noise set.

    Raises
    ------
    BudgetExceededError
        If the noise is set and costs more than the cap, if the prior cost is at least the cap, or
        if no valid noise has a cost within the cap.
    TypeError
        If `cost` of the mechanism does not return an `rdp.Cost`.
    ValueError
        If `epsilon` is None and the noise of the mechanism is not set, or if the numbers of a cost
        are invalid.

    Examples
    --------
    >>> from sklearn_pate.accounting.budget import plan_table
    >>> from sklearn_pate.aggregators import LaplaceMechanism
    >>> from sklearn_pate.rdp import Contribution
    >>> sizes = {"contribution": Contribution.of_counts(2), "n_rows": 9}
    >>> plan = plan_table(LaplaceMechanism(), **sizes, epsilon=0.25, delta=1e-5)
    >>> plan.stages, plan.epsilon, plan.delta
    ([(LaplaceMechanism(scale=8.0), 9)], 0.25, 0.0)
    """
    epsilon, delta = as_cap(epsilon, delta)
    # Cloned below, because the user's mechanism may store its table
    mechanism = calibrated(
        mechanism, lambda part: Event(part, contribution), epsilon, delta, before
    )
    mechanism = clone(mechanism)
    own = priced(Event(mechanism, contribution), mechanism)
    cost = before(DEFAULT_ORDERS).plus(own)
    spent, composition, delta = guarantee(cost, delta, is_pure=mechanism.is_pure and prior_is_pure)
    if epsilon is not None and spent > epsilon:
        raise BudgetExceededError(
            f"{mechanism} costs epsilon={spent:.4g}, more than the cap epsilon={epsilon:g}. Use "
            "more noise, or raise epsilon"
        )
    return Plan(
        [(mechanism, n_rows)],
        spent,
        composition,
        cost,
        delta=delta,
        own_cost=own,
        n_public=n_rows,
        n_requested=n_rows,
    )


def guarantee(cost: Cost, delta: float, *, is_pure: bool) -> tuple[float, str, float]:
    """Return epsilon, composition and delta of a cost; delta is 0 if all costs are pure."""
    if is_pure and cost.pure < math.inf and cost.delta == 0:
        return cost.pure, "pure", 0.0
    return *cost.epsilon(delta), delta


def calibrated(
    part: Any,
    event_of: Callable[[Any], Event | ProvedEvent],
    epsilon: float | None,
    delta: float,
    before: PriorCost = no_cost,
    fraction: float = 1.0,
) -> Any:
    """Return `part` if its noise is set, else a copy with the least noise within the cap.

    Parameters
    ----------
    part : TableMechanism, Synthesizer or Release
        The object to calibrate.
    event_of : callable
        ``event_of(part)`` returns the `rdp.Event` of a part with noise.
    epsilon : float or None
        The cap; None raises an error if the noise is not set.
    delta, before
        As in `plan_table`.
    fraction : float, default=1.0
        Fraction of `epsilon` for the part and the prior cost together.
    """
    if part.with_scale(1.0) is None:
        return part
    check_with_scale(part)
    name = type(part).__name__
    if epsilon is None:
        raise ValueError(
            f"{name} is calibrated to epsilon, or to a fraction of it, but epsilon is None; set "
            "epsilon, or set the noise (of a synthesizer: noise=LaplaceMechanism(scale))"
        )
    whole = float(epsilon)  # NumPy's short floats would round
    epsilon = float(fraction) * whole
    rest = before(DEFAULT_ORDERS)
    at_one = event_of(part.with_scale(1.0))
    is_pure = at_one.is_pure and rest.pure < math.inf
    spent = rest.pure if is_pure else rest.epsilon(delta)[0]
    if spent >= epsilon:
        raise BudgetExceededError(
            f"synthetic rows and extra releases cost epsilon={spent:.4g}, so the cap "
            f"epsilon={epsilon:g} leaves no epsilon for labels. Raise epsilon"
        )

    def cost_at(scale: float, orders: np.ndarray = DEFAULT_ORDERS) -> Cost:
        """Return the cost at a noise scale; inf if the part does not accept the scale."""
        try:
            own = event_of(part.with_scale(scale)).cost(orders)
        except InvalidParameterError:  # its message is about a scale that the user did not set
            own = Cost(np.full(np.shape(orders), math.inf), math.inf, math.inf)
        return before(orders).plus(own)

    if is_pure:
        own = at_one.cost().pure
        scale = _least_pure_scale(
            lambda scale: cost_at(scale).pure, own / (epsilon - spent), epsilon
        )
        is_possible = cost_at(scale).pure < math.inf
    else:
        scale = least_scale(cost_at, epsilon, delta)
        is_possible = scale < math.inf
    if is_possible:
        return part.with_scale(scale)
    part_of = "" if fraction == 1 else f", the fraction {fraction:g} of epsilon={whole:g}"
    raise BudgetExceededError(
        f"{name} cannot be calibrated to epsilon={epsilon:g}{part_of}: no valid noise has this "
        "cost. Choose an epsilon closer to 1"
    )


def _least_pure_scale(pure_at: Callable[[float], float], scale: float, epsilon: float) -> float:
    """Return the noise scale with a pure cost of `epsilon`, or the least valid scale.

    Parameters
    ----------
    pure_at : callable
        Returns the pure epsilon at a noise scale; inf if the scale is invalid.
    scale : float
        Scale with a cost of `epsilon` in real arithmetic. The cost must be proportional to
        ``1 / scale``.
    epsilon : float
        The cap.
    """
    scale = max(scale, LEAST_SCALE)
    while pure_at(scale) == math.inf and scale < 1:  # finds a valid scale, to a factor of 2
        scale *= 2
    for _ in range(10):  # the scale may be too small by one or two floats
        if pure_at(scale) <= epsilon:
            break
        scale = math.nextafter(scale, math.inf)
    return scale


def stated_event(part: Any, neighbors: Neighbors) -> Event | ProvedEvent:
    """Return the event of a synthesizer or of a user's release, after a check of its type."""
    event = part.event(neighbors)
    if not isinstance(event, Event | ProvedEvent):
        raise TypeError(
            f"event of {type(part).__name__} must return rdp.Event(mechanism, contribution) or "
            f"rdp.ProvedEvent(cost_at); got {type(event).__name__}"
        )
    return event


def stated_cost(part: Any, neighbors: Neighbors, orders: np.ndarray = DEFAULT_ORDERS) -> Cost:
    """Return the `Cost` of the event of a synthesizer or of a user's release."""
    return priced(stated_event(part, neighbors), part, orders)


def priced(event: Event | ProvedEvent, part: Any, orders: np.ndarray = DEFAULT_ORDERS) -> Cost:
    """Return the `Cost` of an event; raise an error if it is invalid or inconsistent.

    Parameters
    ----------
    event : rdp.Event or rdp.ProvedEvent
        The event of a step.
    part : object
        The mechanism, synthesizer or release that error messages name.
    orders : array-like of shape (n_orders,), default=DEFAULT_ORDERS
        Renyi orders, above 1.
    """
    cost = event.cost(orders)
    subject = f"cost of {type(part).__name__}"
    if not isinstance(cost, Cost) or np.shape(cost.rdp) != np.shape(orders):
        raise TypeError(
            f"{subject} must return rdp.Cost(rdp, mu_squared, pure), with rdp at each of the orders"
        )
    numbers = np.array([*cost.rdp, cost.mu_squared, cost.pure, cost.delta], dtype=float)
    if not (numbers >= 0).all() or cost.delta >= 1:  # false for NaN, too
        raise ValueError(
            f"{subject} must return an rdp.Cost with numbers of at least 0 and a delta below 1"
        )
    sizes = [float(np.max(cost.rdp)), cost.mu_squared, cost.pure]
    if min(sizes) == 0 and any(0 < size < np.inf for size in sizes):
        raise ValueError(
            f"{subject} is 0 in one of rdp, mu_squared and pure, but positive and finite in "
            "another, which is a contradiction: set each one without a proof to inf"
        )
    if event.is_pure and cost.delta > 0:
        raise ValueError(
            f"{subject} has delta={cost.delta:g}, but is_pure=True requires 0: set is_pure=False"
        )
    # A new cost, because the other numbers of a cost must follow from these
    return Cost(cost.rdp, cost.mu_squared, cost.pure, cost.delta)


def cost_of_all(
    parts: Iterable[Any], neighbors: Neighbors, orders: np.ndarray = DEFAULT_ORDERS
) -> Cost:
    """Return the total `Cost` of a synthesizer and of releases, from the event of each."""
    return reduce(Cost.plus, [stated_cost(p, neighbors, orders) for p in parts], no_cost(orders))
