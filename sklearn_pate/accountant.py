"""What a fit may ask, what it spent, and the curator's private view of it."""

import math
import warnings
from dataclasses import KW_ONLY, dataclass, field, replace
from decimal import ROUND_CEILING, Context, Decimal
from functools import reduce
from numbers import Integral

import numpy as np
from sklearn.base import clone

from ._version import __version__
from .exceptions import BudgetExceededError, PrivacyLeakWarning
from .rdp import (
    DEFAULT_ORDERS,
    Cost,
    check_delta,
    epsilon_by_order,
    exact_rdp,
    facts_of,
    least_scale,
    pure_rdp,
    rdp_to_epsilon,
    worst_case_rdp,
)
from .smooth_sensitivity import PrivacyTest

__all__ = ["Asked", "Curator", "Plan", "PrivacySpent", "RenyiFilter", "plan_queries"]


@dataclass(frozen=True)
class PrivacySpent:
    """What a fit spent: true on every data set, so safe to publish.

    Unpacks into ``epsilon, delta``.

    Attributes
    ----------
    epsilon, delta : float
        The guarantee. `epsilon` is inf where a mechanism has none.
    method : str
        How `epsilon` was obtained: "gaussian" (exact composition of Gaussian noise), "renyi"
        (composition of the worst-case Renyi cost of one query), "pure" (plain sum), "filter" (a
        budget that stopped the queries),
        "propose-test-release" (of the exact cost of the votes, after a private test), "tuning"
        (the best of a random number of trials) or "none".
    unit : str
        What one change is about: "record" or "group"; "teacher" for votes of unknown origin.
    adjacency : str
        The change of the private data that the guarantee covers.
    n_teachers, n_queries, n_answered : int
        Number of teachers, of public rows they were asked about, and of labels released.
    arithmetic : {"exact", "real"}
        "exact": all noise was whole numbers, sampled without rounding. "real": the guarantee holds
        in real arithmetic, and floating-point numbers round the noise.
    generator : {"system", "numpy", "seed"}
        What the noise was drawn from: the operating system (``secure=True``), numpy's generator,
        started by the operating system, or one that follows from a `random_state`, with which the
        noise can be undone.
    version : str
        Of this library.

    Examples
    --------
    >>> from sklearn_pate import PrivacySpent
    >>> numbers = {"n_teachers": 100, "n_queries": 20, "n_answered": 20}
    >>> spent = PrivacySpent(1.0, 1e-5, "gaussian", "record", "replace one record", **numbers)
    >>> epsilon, delta = spent
    >>> epsilon
    1.0
    """

    epsilon: float
    delta: float
    method: str
    unit: str
    adjacency: str
    _: KW_ONLY
    n_teachers: int
    n_queries: int
    n_answered: int
    arithmetic: str = "real"
    generator: str = "numpy"
    version: str = __version__

    def __iter__(self):
        return iter((self.epsilon, self.delta))

    def summary(self):
        """Return the guarantee in words, for who signs for it; epsilon is rounded up.

        Returns
        -------
        str
            One paragraph, safe to publish.

        Examples
        --------
        >>> from sklearn_pate import PrivacySpent
        >>> numbers = {"n_teachers": 100, "n_queries": 9, "n_answered": 9}
        >>> spent = PrivacySpent(0.98, 1e-5, "gaussian", "record", "replace one record", **numbers)
        >>> print(spent.summary().split(". ")[0])
        Any one person's record changes the probability of any outcome by at most a factor e^0.98, except with probability 1e-05
        """  # noqa: E501
        answered = (
            f"{self.n_teachers} teachers were asked {self.n_queries} questions and "
            f"{self.n_answered} answers were released."
        )
        if not math.isfinite(self.epsilon):
            return f"No privacy is guaranteed (epsilon is infinite). {answered}"
        whose = {
            "record": "Any one person's record changes",
            "group": "All records of any one person (or other group) change",
        }.get(self.unit, f"Any one {self.unit} changes")
        alone = "Each record is protected by itself. " if self.unit == "record" else ""
        change = f"The change that is covered: {self.adjacency}. {alone}"
        noise = _ABOUT_ARITHMETIC[self.arithmetic] + _ABOUT_GENERATOR[self.generator]
        return (
            f"{whose} the probability of any outcome by at most a factor "
            f"e^{_rounded_up(self.epsilon)}, except with probability "
            f"{float(self.delta)!r}. {change}{noise}{answered}"
        )


#: What a summary adds about the noise.
_ABOUT_ARITHMETIC = {
    "exact": "",
    "real": "This holds in real arithmetic; floating-point numbers round the noise. ",
}
_ABOUT_GENERATOR = {
    "system": "",
    "numpy": "",
    "seed": "The noise follows from a seed: whoever knows or guesses it can undo the protection. ",
}


def _rounded_up(epsilon):
    exact = Decimal(repr(float(epsilon)))
    text = f"{exact.quantize(Decimal('0.001'), ROUND_CEILING, Context(prec=400)):f}"
    return text.rstrip("0").rstrip(".")


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
    test : PrivacyTest or None
        What the votes must pass before labels are released, with ``accounting="ptr"``.
    spent : PrivacySpent or None
        What `privacy_spent_` will say, before any answer.
    """

    stages: list
    epsilon: float
    method: str
    cost: Cost = field(repr=False)
    budget: "RenyiFilter | None" = None
    test: PrivacyTest | None = None
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
    accounting="worst_case",
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
    accounting : {"worst_case", "ptr"}, default="worst_case"
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
            raise _too_dear(aggregators[0], total([1]).epsilon(delta)[0], epsilon, delta)
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
        raise _too_dear(aggregators[int(np.argmax(alone))], max(alone), epsilon, delta)
    stages = list(zip(aggregators, wanted, strict=True))
    return Plan(stages, epsilon, "filter", budget.cost(total(wanted)), budget)


def _check_stages(aggregator, n_queries, n_public):
    """Return clones of the aggregators, and the queries wanted of each, as lists."""
    staged = isinstance(aggregator, list)
    if aggregator == []:
        raise ValueError("aggregator must not be an empty list; give at least 1 stage")
    for stage in aggregator if staged else [aggregator]:
        if isinstance(stage, type) or not hasattr(type(stage), "outcome_log_proba"):
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
    if len(aggregators) > 1 and any(stage.wants_proba for stage in aggregators):
        raise ValueError(
            "SoftVote asks teachers for probabilities, other stages for votes; use it alone"
        )
    if aggregators[0].uses_student_proba:
        raise ValueError(
            f"{aggregators[0]} compares votes with a student, and there is none yet: put it after "
            "another stage, aggregator=[ConfidentGNMax(...), InteractiveGNMax(...)]"
        )
    return aggregators, wanted


def _too_dear(aggregator, cost, epsilon, delta):
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
    penalty = epsilon_by_order(np.full(DEFAULT_ORDERS.size, 1e3), delta, DEFAULT_ORDERS) - 1e3
    limit = (epsilon - penalty) * (1 - 1e-9)
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
            raise _too_dear(weakest, math.inf, epsilon, delta)
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
    test = PrivacyTest.plan(aggregator, n_queries, **public, epsilon=epsilon, delta=delta)
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
    if not facts_of(aggregator).label_symmetric or aggregator.wants_proba:
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
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if cost(middle)[0] <= epsilon else (low, middle - 1)
    return low


@dataclass(frozen=True, eq=False)
class Asked:
    """The queries of one stage, for the curator.

    Attributes
    ----------
    aggregator : Aggregator
        The mechanism.
    n_queries : int
        How many were asked.
    student_proba : ndarray of shape (n_queries, n_classes) or None
        The student's probabilities, if the mechanism uses them.
    paid : ndarray of shape (n_queries,), bool, or None
        Which answers were drawn from the votes; None means all.
    """

    aggregator: object
    n_queries: int
    student_proba: np.ndarray | None = field(default=None, repr=False)
    paid: np.ndarray | None = field(default=None, repr=False)  # may not have been released


class Curator:
    """The private view of a fit, for the holder of the data alone: not to be published.

    Everything here depends on private data and was released by no mechanism. It does not survive
    pickling or copying, and its repr shows nothing.

    Attributes
    ----------
    votes : ndarray of shape (n_queries, n_classes), int
        Vote counts of the queries, in the order of `query_indices_`.
    teacher_indices : ndarray of shape (n_samples,), int
        The teacher of each private record.
    teachers : list or None
        Fitted teachers if ``keep_teachers=True``; None for a part that needed no fit.
    test : PrivacyTest or None
        The test that the votes passed, with ``accounting="ptr"``; its `pass_probability` of these
        votes is private.
    """

    def __init__(self, stages, votes, delta, teacher_indices, teachers=None, test=None, cap=None):
        self.votes = votes
        self.teacher_indices = teacher_indices
        self.teachers = teachers
        self.test = test
        self._stages = stages
        self._delta = delta
        self._cap = cap  # the guarantee, if a budget stopped the queries: their number says less

    def __repr__(self):
        return "Curator(private)"

    def __reduce__(self):
        raise TypeError("the curator's view is private: it cannot be pickled or copied")

    def rdp(self, method="exact", orders=DEFAULT_ORDERS):
        """Renyi cost of each query, computed from its votes. Private.

        Parameters
        ----------
        method : {"exact", "bound"}, default="exact"
            "exact" is the largest divergence over all moves of one vote, in both directions;
            "bound" is the published bound of the mechanism's paper.
        orders : array-like of shape (n_orders,), default=DEFAULT_ORDERS
            Renyi orders, above 1.

        Returns
        -------
        ndarray of shape (n_queries, n_orders)
            Costs; they add over queries.
        """
        return np.concatenate(list(self._costs(method, orders)))

    def epsilon(self, delta=None, method="exact", conversion="improved"):
        """Epsilon of the released labels, as papers print it. Private unless data-independent.

        Parameters
        ----------
        delta : float, default=None
            Failure probability; None is the estimator's.
        method : {"exact", "bound", "data_independent"}, default="exact"
            "exact" sums the exact costs of the votes that were cast. "bound" is the data-dependent
            bound of the mechanism's paper, which covers one direction of the divergence only. Both
            are private, and no guarantee: they hold for these votes, not for every data set, and
            where a query depends on labels released before, only along the path that was taken.
            "data_independent" holds for any votes; it is what `privacy_spent_` says, unless
            ``accounting="ptr"``.
        conversion : {"improved", "classic"}, default="improved"
            From Renyi costs to epsilon; the papers used "classic".

        Returns
        -------
        float
            Epsilon, at least 0; inf without noise.
        """
        delta = check_delta(self._delta if delta is None else delta)
        if method == "data_independent" and self._cap is not None:
            if delta != self._delta:
                raise ValueError(
                    f"a budget at delta={self._delta:g} stopped the queries, so what any votes "
                    f"cost is known for that delta only; got {delta:g}"
                )
            return self._cap
        if method == "data_independent":
            n_teachers, n_classes = round(self.votes[0].sum()), self.votes.shape[1]
            parts = [
                stage.aggregator.costs(n_teachers=n_teachers, n_classes=n_classes)(stage.n_queries)
                for stage in self._stages
            ]
            return reduce(Cost.plus, parts).epsilon(delta)[0]
        total = sum(part.sum(axis=0) for part in self._costs(method, DEFAULT_ORDERS))
        return rdp_to_epsilon(total, delta, DEFAULT_ORDERS, conversion)[0]

    def _costs(self, method, orders):
        """Yield the costs of some queries at a time."""
        if method not in ("exact", "bound"):
            raise ValueError(
                f"method must be 'exact' or 'bound' (or, for epsilon, 'data_independent'); "
                f"got {method!r}"
            )
        first = 0
        for stage in self._stages:
            end, mechanism = first + stage.n_queries, stage.aggregator
            for start in range(first, end, 4096):
                part = slice(start, min(start + 4096, end))
                own = slice(part.start - first, part.stop - first)
                votes = self.votes[part]
                proba = None if stage.student_proba is None else stage.student_proba[own]
                if mechanism.wants_proba:  # it costs the same on all sums, and no less
                    cost = worst_case_rdp(mechanism, orders)
                    yield np.tile(cost, (len(votes), 1))
                elif method == "exact":
                    yield exact_rdp(mechanism, votes, orders, proba)
                else:
                    paid = None if stage.paid is None else stage.paid[own]
                    yield mechanism.published_rdp(votes, orders, proba, paid)
            first = end
