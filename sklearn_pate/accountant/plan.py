"""What a fit will ask and spend, decided from public numbers alone."""

import math
import warnings
from bisect import bisect_right
from dataclasses import dataclass, field, replace
from functools import reduce
from numbers import Integral

import numpy as np
from sklearn.base import clone

from ..exceptions import BudgetExceededError, PrivacyLeakWarning
from ..propose_test_release import ProposeTestRelease
from ..rdp import DEFAULT_ORDERS, Cost, least_scale, pure_rdp
from ..rdp.conversion import conversion_penalty
from ..rdp.facts import facts_of, has_distribution
from .spent import PrivacySpent

__all__ = ["Plan", "RenyiFilter", "plan_queries"]


@dataclass(frozen=True, eq=False)
class Plan:
    """What a fit will ask and spend, decided from public numbers alone.

    Attributes
    ----------
    stages : list of (Aggregator, int)
        Clones with their noise set, and the queries each may ask.
    epsilon : float
        What they cost on any votes, at most the cap.
    method : str
        As in `PrivacySpent`.
    cost : Cost
        The same as `epsilon`, in all the ways that add up with the costs of other fits.
    budget : RenyiFilter or None
        What stops the stages before the cap, if not all queries fit.
    test : ProposeTestRelease or None
        What the votes must pass before labels are released, with ``accounting="ptr"``.
    spent : PrivacySpent or None
        What `privacy_spent_` will say, before any answer.
    """

    stages: list
    epsilon: float
    method: str
    cost: Cost = field(repr=False)
    budget: "RenyiFilter | None" = None
    test: ProposeTestRelease | None = None
    spent: PrivacySpent | None = None

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
        refundable = check > 0  # where no check is paid for, nothing can be given back
        return self.budget.allow(paid if refundable else np.ones(len(paid)), check, answer)


class RenyiFilter:
    """A budget at one Renyi order, fixed in advance, for steps whose number is an outcome.

    The whole cost of a query is set aside before it is asked; what was not spent is refunded.

    Parameters
    ----------
    order : float
        The order.
    limit : float
        Largest total cost.

    Notes
    -----
    Privacy filters for Renyi costs: Feldman, Zrnic (2021), NeurIPS, Theorem 3.3.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_pate.accountant import RenyiFilter
    >>> budget = RenyiFilter(order=10.0, limit=1.0)
    >>> budget.allow(np.array([True, False, False, True, True]), check=0.1, answer=0.3)
    3
    """

    def __init__(self, order, limit):
        self.order = order
        self.limit = limit
        self.spent = 0.0

    def cost(self, total):
        """Cost of what the filter lets through, given the `Cost` of all that could be asked.

        Costs grow with the order, so below its own the limit holds as well; above, only the total.
        """
        within = self.order >= DEFAULT_ORDERS
        rdp = np.where(within, np.minimum(self.limit, total.rdp), total.rdp)
        return replace(total, rdp=rdp)

    def allow(self, paid, check, answer):
        """Spend on as many of the queries, in order, as fit.

        Parameters
        ----------
        paid : ndarray of shape (n_queries,), bool
            Whether the answer of each query, if asked, is paid for.
        check, answer : float
            Cost of the two steps of a query.

        Returns
        -------
        int
            How many were asked.
        """
        answered = np.concatenate([[0], np.cumsum(paid)])
        k = np.arange(len(paid) + 1)
        spent = self.spent + check * k + answer * answered
        fits = spent[:-1] + check + answer <= self.limit * (1 - 1e-12)
        asked = len(paid) if fits.all() else int(np.argmin(fits))
        self.spent = float(spent[asked])
        return asked


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

    Returns
    -------
    Plan
        With it the cost is at most the cap.

    Raises
    ------
    BudgetExceededError
        If the cap does not pay for one query. Nothing was spent.
    ValueError
        If there is nothing to calibrate to, or fewer public rows than queries.

    Examples
    --------
    >>> from sklearn_pate.accountant import plan_queries
    >>> from sklearn_pate.aggregators import GNMax
    >>> public = {"n_public": 1000, "n_teachers": 250, "n_classes": 10}
    >>> plan = plan_queries(GNMax(sigma=40), None, **public, epsilon=1.0, delta=1e-5)
    >>> plan.n_queries, plan.epsilon < 1.0, plan.method
    (75, True, 'renyi')
    """
    aggregators, wanted = _check_stages(aggregator, n_queries, n_public)
    public = {"n_teachers": n_teachers, "n_classes": n_classes}
    if accounting == "ptr":
        _check_fixed(aggregators, n_queries, epsilon)
    else:
        aggregators, wanted = _calibrate(aggregators, wanted, n_queries, epsilon, delta, public)
    if epsilon is not None:
        _check_own_delta(aggregators, delta)
    costs = [stage.costs(**public) for stage in aggregators]
    for stage, n in zip(aggregators, wanted, strict=True):
        _check_threshold(stage, n_teachers)
        _warn_if_drowned(stage, n_teachers, n)
        if stage.caveat is not None:
            warnings.warn(f"{stage}: {stage.caveat}", PrivacyLeakWarning, stacklevel=5)
    if accounting == "ptr":
        cost = costs[0](wanted[0])
        return _plan_test(aggregators[0], wanted[0], cost, epsilon, delta, public)

    def total(wanted):
        parts = [cost(n) for cost, n in zip(costs, wanted, strict=True)]
        return reduce(Cost.plus, parts)

    def plan(wanted):
        cost = total(wanted)
        return Plan(list(zip(aggregators, wanted, strict=True)), *cost.epsilon(delta), cost)

    if epsilon is None or total(wanted).epsilon(delta)[0] <= epsilon:
        return plan(wanted)
    if len(aggregators) == 1 and not _has_check(aggregators[0], public):
        affordable = _affordable(lambda n: total([n]).epsilon(delta), wanted[0], epsilon)
        if affordable == 0:
            raise _over_budget(aggregators[0], total([1]).epsilon(delta)[0], epsilon, delta)
        if n_queries is not None:
            warnings.warn(
                f"epsilon={epsilon:g} pays for {affordable} of the {n_queries} queries wanted; "
                "only those are asked. Use more noise or raise epsilon to ask them all",
                stacklevel=5,  # the caller of fit, past scikit-learn's wrapper
            )
        return plan([affordable])
    budget = _plan_filter(aggregators, epsilon, delta, public)
    if budget is None:  # some stage cannot ask a single query
        alone = [cost(1).epsilon(delta)[0] for cost in costs]
        raise _over_budget(aggregators[int(np.argmax(alone))], max(alone), epsilon, delta)
    stages = list(zip(aggregators, wanted, strict=True))
    return Plan(stages, epsilon, "filter", budget.cost(total(wanted)), budget)


def _check_stages(aggregator, n_queries, n_public):
    """Return clones of the aggregators, and the queries wanted of each, as lists."""
    staged = isinstance(aggregator, list)
    if aggregator == []:
        raise ValueError("aggregator must not be an empty list; give at least 1 stage")
    for stage in aggregator if staged else [aggregator]:
        if isinstance(stage, type) or not hasattr(type(stage), "release"):
            raise ValueError(
                f"aggregator must be an Aggregator, or a list of them, each an instance; "
                f"got {stage!r}"
            )
    aggregators = [clone(stage) for stage in (aggregator if staged else [aggregator])]
    if staged and (not isinstance(n_queries, list) or len(n_queries) != len(aggregators)):
        raise ValueError(
            f"aggregator is a list of {len(aggregators)} stages, so n_queries must be a list of as "
            f"many numbers; got n_queries={n_queries!r}"
        )
    if not staged and isinstance(n_queries, list):
        raise ValueError(
            f"n_queries={n_queries!r} is a list, for stages, but aggregator is not; give a list of "
            "aggregators or one number"
        )
    wanted = n_queries if staged else [n_public if n_queries is None else n_queries]
    if any(not isinstance(n, Integral) or n < 1 for n in wanted):
        raise ValueError(
            "every stage needs an aggregator and a number of queries, at least 1; "
            f"got n_queries={n_queries!r} for {len(aggregators)} aggregator(s)"
        )
    wanted = [int(n) for n in wanted]  # numpy's small ints overflow
    if sum(wanted) > n_public:
        raise ValueError(
            f"n_queries={n_queries} is more than the rows of X_public, {n_public}; "
            "ask fewer queries or give more public rows"
        )
    for stage in aggregators:
        if stage.temperature is not None and has_distribution(stage):
            raise ValueError(
                f"{stage} has a temperature, that of the teachers' probabilities, but takes votes; "
                "give its parameter another name, or subclass SoftAggregator"
            )
    if len(aggregators) > 1 and any(stage.temperature is not None for stage in aggregators):
        raise ValueError(
            "SoftVote asks teachers for probabilities, other stages for votes; use it alone"
        )
    if aggregators[0].uses_student_proba:
        raise ValueError(
            f"{aggregators[0]} compares votes with a student, and there is none yet: put it after "
            "another stage, aggregator=[ConfidentGNMax(...), InteractiveGNMax(...)]"
        )
    return aggregators, wanted


def _over_budget(aggregator, cost, epsilon, delta):
    advice = "Use more noise, or raise epsilon"
    if cost == math.inf:
        advice = f"{aggregator.missing_facts()}; or set epsilon=None to run it without a guarantee"
    return BudgetExceededError(
        f"one query of {aggregator} costs epsilon={cost:.4g} at delta={delta:g}, more "
        f"than the cap epsilon={epsilon:g}. {advice}. Nothing was spent"
    )


def _has_check(aggregator, public):
    steps = aggregator.steps(DEFAULT_ORDERS[:1], **public)
    return steps is not None and steps[0][0] > 0


def _plan_filter(aggregators, epsilon, delta, public):
    """Return the filter whose order pays for most answers of the first stage.

    None if at no order the limit pays for one query of each stage.
    """
    steps = [stage.steps(DEFAULT_ORDERS, **public) for stage in aggregators]
    if any(step is None for step in steps):
        return None
    limit = (epsilon - conversion_penalty(delta, DEFAULT_ORDERS)) * (1 - 1e-9)
    answers = np.where(limit >= sum(sum(step) for step in steps), limit / sum(steps[0]), 0)
    best = int(np.argmax(answers))
    if answers[best] == 0:
        return None
    return RenyiFilter(float(DEFAULT_ORDERS[best]), float(limit[best]))


def _calibrate(aggregators, wanted, n_queries, epsilon, delta, public):
    """Return the stages with noise where it was None, and the queries it is calibrated to."""
    missing = [stage.with_scale(1.0) is not None for stage in aggregators]
    if not any(missing):
        return aggregators, wanted
    if epsilon is None:
        stage = aggregators[missing.index(True)]
        raise ValueError(
            f"{stage} is calibrated to epsilon, and epsilon is None; set one of them to a number"
        )

    def at_scale(scale):
        pairs = zip(aggregators, missing, strict=True)
        return [stage.with_scale(scale) if lacks else stage for stage, lacks in pairs]

    _check_scales(aggregators, missing)
    _check_own_delta(at_scale(1.0), delta)
    if n_queries is None and facts_of(at_scale(1.0)[0]).total is None:
        (weakest,) = at_scale(public["n_teachers"] / 4)  # least useful noise
        costs = weakest.costs(**public)
        if costs(1).epsilon(delta)[0] == math.inf:
            raise _over_budget(weakest, math.inf, epsilon, delta)
        affordable = _affordable(lambda n: costs(n).epsilon(delta), wanted[0], epsilon)
        if affordable == 0:
            raise BudgetExceededError(
                f"epsilon={epsilon:g} pays for no query with noise that n_teachers="
                f"{public['n_teachers']} teachers can outvote (scale at most n_teachers / 4). "
                "Use more teachers, raise epsilon, or set n_queries. Nothing was spent"
            )
        wanted = [affordable]

    def cost_at(scale, orders):
        stages = zip(at_scale(scale), wanted, strict=True)
        return reduce(Cost.plus, [stage.costs(orders, **public)(n) for stage, n in stages])

    scale = least_scale(cost_at, epsilon, delta)
    if scale == math.inf:
        raise BudgetExceededError(
            f"epsilon={epsilon:g} does not pay for the stages that have noise of their own. "
            "Ask fewer queries, use more noise or raise epsilon. Nothing was spent"
        )
    return at_scale(scale), wanted


def _check_scales(aggregators, missing):
    """Refuse a `with_scale` that returns no copy with noise."""
    for stage, lacks in zip(aggregators, missing, strict=True):
        if not lacks:
            continue
        scaled = stage.with_scale(1.0)
        if not isinstance(scaled, type(stage)) or scaled is stage or scaled.with_scale(1.0):
            raise ValueError(
                f"with_scale of {type(stage).__name__} must return None if the noise is set, else "
                f"a copy with noise of that scale, clone(self).set_params(...); got {scaled!r}"
            )


def _check_own_delta(aggregators, delta):
    """Refuse mechanisms that fail more often than `delta` allows."""
    totals = [facts_of(stage).total for stage in aggregators]
    own = sum(total(DEFAULT_ORDERS).delta for total in totals if total is not None)
    if own >= delta:
        raise ValueError(
            f"failure_probability of the aggregator, {own:g} in all, must be below delta="
            f"{delta:g}, of which it is a part"
        )


def _check_fixed(aggregators, n_queries, epsilon):
    if len(aggregators) > 1:
        raise ValueError("accounting='ptr' tests one list of queries; give one aggregator")
    for name, missing in (
        ("epsilon", epsilon is None),
        ("n_queries", n_queries is None),
        (f"the noise of {aggregators[0]}", aggregators[0].with_scale(1.0) is not None),
    ):
        if missing:
            raise ValueError(
                f"accounting='ptr' tests a fixed number of queries with fixed noise against a cap; "
                f"set {name} to a number"
            )


def _plan_test(aggregator, n_queries, cost, epsilon, delta, public):
    stages = [(aggregator, n_queries)]
    worst, method = cost.epsilon(delta)
    if worst <= epsilon:
        return Plan(stages, worst, method, cost)
    test = ProposeTestRelease.plan(aggregator, n_queries, **public, epsilon=epsilon, delta=delta)
    if test is None:
        raise BudgetExceededError(
            f"epsilon={epsilon:g} is too small for accounting='ptr': the test of {n_queries} "
            f"queries of {aggregator} would fail even if all teachers agreed. Raise epsilon, ask "
            f"fewer queries or use more noise; any votes cost at most {worst:.4g}. Nothing was "
            "spent"
        )
    # (epsilon, delta) for test and labels together: pure, but for a probability of delta
    cost = Cost(pure_rdp(epsilon, DEFAULT_ORDERS), math.inf, epsilon, delta)
    return Plan(stages, epsilon, "propose-test-release", cost, test=test)


def _check_threshold(aggregator, n_teachers):
    """Refuse a threshold that no votes reach: every query would be paid for and not answered."""
    threshold = getattr(aggregator, "threshold", None)
    if isinstance(threshold, Integral) and threshold > n_teachers:
        raise ValueError(
            f"threshold={threshold} of {aggregator} is more than n_teachers={n_teachers}, so that "
            "no votes reach it; lower it, or give a share of the teachers as a float in (0, 1]"
        )


def _warn_if_drowned(aggregator, n_teachers, n_queries):
    """Warn if unanimous teachers would often lose to the noise: public numbers only.

    Two classes stand for all, as the number of classes may have been read from private labels; a
    mechanism that treats classes differently has no such stand-in.
    """
    bar = aggregator.stability_needed(n_queries)
    if bar > max(n_teachers / 2 - 1, 0):
        warnings.warn(
            f"{aggregator} counts a query as stable if {bar:.0f} teachers can change without "
            f"changing the answer, and half of n_teachers={n_teachers} is less: almost nothing "
            "will be answered. Use more teachers, fewer runs or a larger epsilon",
            stacklevel=6,
        )
    if not (facts_of(aggregator).label_symmetric and has_distribution(aggregator)):
        return
    right, wrong = aggregator.outcome_log_proba([[n_teachers, 0]])[0, :2]
    win = math.exp(right - np.logaddexp(right, wrong))  # of the queries that are answered
    if win < 0.84:  # the noise between two classes has a standard deviation above the margin
        warnings.warn(
            f"the noise of {aggregator} drowns the largest possible margin, "
            f"{n_teachers} votes: even unanimous teachers are heard in only {win:.0%} of the "
            "queries between two classes. Use more teachers, fewer queries or less noise",
            stacklevel=6,
        )


def _affordable(cost, most, epsilon):
    """Largest number of queries, up to `most`, whose cost is at most `epsilon`."""
    return bisect_right(range(1, most + 1), epsilon, key=lambda n_queries: cost(n_queries)[0])
