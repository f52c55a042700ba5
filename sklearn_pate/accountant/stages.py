"""Stages of a fit: what cannot be asked, how much noise and how many queries a cap leaves."""

import functools
import math
from bisect import bisect_right
from dataclasses import replace
from functools import reduce
from numbers import Integral, Number

import numpy as np
from sklearn.base import clone

from ..exceptions import BudgetExceededError, PrivacyLeakWarning, warn
from ..rdp import DEFAULT_ORDERS, Cost, least_scale
from ..rdp.calibration import FEW_ORDERS, orders_near_best
from ..rdp.conversion import conversion_penalty
from ..rdp.cost import no_cost
from ..rdp.facts import facts_of, has_distribution
from ..rules import fewest_queries, most_noise

# --- what cannot be asked is refused, and what will hardly be answered is warned of ---------------


def as_cap(epsilon, delta):
    """Return the cap as floats; epsilon may be None.

    A cost that is compared with one of numpy's short floats is rounded to it first.
    """
    return (None if epsilon is None else float(epsilon)), float(delta)


def check_stages(aggregator, n_queries, *, n_public):
    """Return clones of the aggregators, and the queries wanted of each, as lists.

    Parameters
    ----------
    aggregator, n_queries
        As given by the user.
    n_public : int
        Number of public rows.
    """
    is_list = isinstance(aggregator, list)
    if aggregator == []:
        raise ValueError("aggregator must not be an empty list; give at least 1 stage")
    for stage in aggregator if is_list else [aggregator]:
        if isinstance(stage, type) or not hasattr(type(stage), "release"):
            raise ValueError(
                f"aggregator must be an Aggregator, or a list of them, each an instance; "
                f"got {stage!r}"
            )
    aggregators = [clone(stage) for stage in (aggregator if is_list else [aggregator])]
    if is_list and (not isinstance(n_queries, list) or len(n_queries) != len(aggregators)):
        raise ValueError(
            f"aggregator is a list of {len(aggregators)} stages, so n_queries must be a list of as "
            f"many numbers; got n_queries={n_queries!r}"
        )
    if not is_list and isinstance(n_queries, list):
        raise ValueError(
            f"n_queries={n_queries!r} is a list, for stages, but aggregator is not; give a list of "
            "aggregators or one number"
        )
    wanted = _queries_wanted(n_queries, n_public, len(aggregators))
    soft_stage(aggregators)
    if aggregators[0].uses_student_proba:
        raise ValueError(
            f"{aggregators[0]} compares votes with a student, and there is none yet: put it after "
            f"another stage, aggregator=[other, {aggregators[0]}]"
        )
    return aggregators, wanted


def soft_stage(aggregators):
    """Return the stage that needs the teachers' probabilities, or None; it must be the only one."""
    soft = [stage for stage in aggregators if getattr(stage, "temperature", None) is not None]
    if not soft:
        return None
    stage = soft[0]
    if has_distribution(stage):
        raise ValueError(
            f"{stage} has a temperature, that of the teachers' probabilities, but takes votes; "
            "give its parameter another name, or subclass SoftAggregator"
        )
    if len(aggregators) > 1:
        raise ValueError(
            f"{type(stage).__name__} asks teachers for probabilities, other stages for votes; "
            "use it alone"
        )
    return stage


def _queries_wanted(n_queries, n_public, n_stages):
    """Return the number of queries of each stage, as a list of int."""
    if n_queries is None:
        wanted = [n_public]
    else:
        wanted = n_queries if isinstance(n_queries, list) else [n_queries]
    if any(not isinstance(n, Integral) or n < 1 for n in wanted):
        raise ValueError(
            "every stage needs an aggregator and a number of queries, at least 1; "
            f"got n_queries={n_queries!r} for {n_stages} aggregator(s)"
        )
    wanted = [int(n) for n in wanted]  # numpy's small ints overflow
    if sum(wanted) > n_public:
        raise ValueError(
            f"n_queries={n_queries} is more than the rows of X_public, {n_public}; "
            "ask fewer queries or give more public rows"
        )
    return wanted


def check_for_test(aggregators, n_queries, epsilon):
    """Refuse what a private test cannot be planned for: all must be fixed in advance."""
    if len(aggregators) > 1:
        raise ValueError("accounting='ptr' tests one list of queries; give one aggregator")
    (aggregator,) = aggregators
    is_missing = {
        "epsilon": epsilon is None,
        "n_queries": n_queries is None,
        f"the noise of {aggregator}": aggregator.with_scale(1.0) is not None,
    }
    for name in is_missing:
        if is_missing[name]:
            raise ValueError(
                f"accounting='ptr' tests a fixed number of queries with fixed noise against a cap; "
                f"set {name} to a number"
            )


def check_failure_probability(aggregators, delta):
    """Refuse mechanisms that fail more often than `delta` allows."""
    totals = [facts_of(stage).total for stage in aggregators]
    failure_probability = sum(total(DEFAULT_ORDERS).delta for total in totals if total is not None)
    if failure_probability >= delta:
        raise ValueError(
            f"failure_probability of the aggregator, {failure_probability:g} in all, must be below "
            f"delta={delta:g}, of which it is a part"
        )


def check_threshold(aggregator, *, n_teachers):
    """Refuse a threshold that no votes reach: every query would be paid for and not answered."""
    threshold = getattr(aggregator, "threshold", None)
    if isinstance(threshold, Integral) and threshold > n_teachers:
        raise ValueError(
            f"threshold={threshold} of {aggregator} is more than n_teachers={n_teachers}, so that "
            "no votes reach it; lower it, or give a share of the teachers as a float in (0, 1]"
        )


def warn_of_caveat(aggregator):
    """Warn of what a mechanism says of itself."""
    if aggregator.caveat is not None:
        facts_of(aggregator)  # refuses parameters that are wrong
        warn(f"{aggregator}: {aggregator.caveat}", PrivacyLeakWarning)


def query_over_budget(aggregator, query_epsilon, epsilon, delta):
    """Return the error for a cap that does not pay for one query."""
    advice = "Use more noise, or raise epsilon"
    if query_epsilon == math.inf:
        advice = f"{aggregator.missing_facts()}; or set epsilon=None to run it without a guarantee"
    return BudgetExceededError(
        f"one query of {aggregator} costs epsilon={query_epsilon:.4g} at delta={delta:g}, more "
        f"than the cap epsilon={epsilon:g}. {advice}"
    )


# --- how much noise, and how many queries, a cap leaves -------------------------------------------


def calibrate(aggregators, n_queries, *, is_number_given, epsilon, delta, sizes, before=no_cost):
    """Set the noise of the stages that have none, so that all stages together cost the cap.

    Parameters
    ----------
    aggregators : list of Aggregator
        The stages, in order.
    n_queries : list of int
        Queries wanted, of each stage.
    is_number_given : bool
        Whether the user said how many. If not, fewer are asked where the noise would otherwise be
        larger than `rules.most_noise`, but at least `rules.fewest_queries`.
    epsilon : float or None
        The cap.
    delta : float
        Delta of the guarantee.
    sizes : dict
        `n_teachers` and `n_classes`.
    before : callable, default=no_cost
        Returns, for Renyi orders, the `Cost` of what is released before.

    Returns
    -------
    aggregators : list of Aggregator
        With noise in all stages.
    n_queries : list of int
        What the noise is calibrated to.

    Raises
    ------
    BudgetExceededError
        If the cap does not pay for one query, or not for the stages that have noise.
    ValueError
        If there is no cap to calibrate to.
    """
    without_noise = [stage for stage in aggregators if stage.with_scale(1.0) is not None]
    if not without_noise:
        return aggregators, n_queries
    if epsilon is None:
        raise ValueError(
            f"{without_noise[0]} is calibrated to epsilon, and epsilon is None; set one of them "
            "to a number"
        )
    for stage in without_noise:
        check_with_scale(stage)
    # Facts need noise, and what is asked of them here is the same for any
    with_any_noise = _at_scale(aggregators, 1.0)
    check_failure_probability(with_any_noise, delta)
    start = None
    if not is_number_given and facts_of(with_any_noise[0]).total is None:
        start = most_noise(**sizes)
        # One stage: a list of stages has numbers of queries
        (noisiest,) = _at_scale(aggregators, start)
        affordable = _most_queries(noisiest, n_queries[0], epsilon, delta, sizes, before)
        fewest = fewest_queries(n_classes=sizes["n_classes"])
        n_queries = [max(affordable, min(n_queries[0], fewest))]

    def cost_at(scale, orders):
        stages = zip(_at_scale(aggregators, scale), n_queries, strict=True)
        costs = [costs_once(stage, orders, **sizes)(n) for stage, n in stages]
        return reduce(Cost.plus, costs, before(orders))

    scale = least_scale(cost_at, epsilon, delta, start=start)
    if scale == math.inf:
        raise BudgetExceededError(
            f"epsilon={epsilon:g} does not pay for the stages that have noise of their own. "
            "Ask fewer queries, use more noise or raise epsilon"
        )
    return _at_scale(aggregators, scale), n_queries


def costs_once(stage, orders=DEFAULT_ORDERS, **sizes):
    """Return what `Mechanism.costs` returns, computed once for equal stages, orders and sizes.

    A cost is the result of a search for the costliest votes, which takes long. It depends on public
    numbers alone.

    Parameters
    ----------
    stage : Mechanism
        A stage, with noise.
    orders, **sizes
        As in `Mechanism.costs`.

    Returns
    -------
    callable
        From a number of queries to `Cost`.
    """
    parameters = stage.get_params(deep=False)
    is_ours = type(stage).__module__.startswith(__package__.partition(".")[0] + ".")
    is_plain = all(isinstance(value, Number | str | None) for value in parameters.values())
    if not (is_ours and is_plain):  # what else the cost depends on is unknown
        return stage.costs(orders, **sizes)
    # With their types: a threshold of 1 is a vote, and one of 1.0 all teachers
    typed = tuple((name, type(value), value) for name, value in parameters.items())
    return _known_costs(type(stage), typed, orders.tobytes(), tuple(sizes.items()))


@functools.lru_cache(maxsize=1000)
def _known_costs(mechanism, typed_parameters, orders, sizes):
    parameters = {name: value for name, _, value in typed_parameters}
    return mechanism(**parameters).costs(np.frombuffer(orders), **dict(sizes))


def _at_scale(aggregators, scale):
    """Return the stages, with noise of one scale where they have none."""
    scaled = [stage.with_scale(scale) for stage in aggregators]
    return [
        stage if with_noise is None else with_noise
        for stage, with_noise in zip(aggregators, scaled, strict=True)
    ]


def check_with_scale(stage):
    """Refuse a `with_scale` that returns no copy with noise."""
    scaled = stage.with_scale(1.0)
    is_copy = isinstance(scaled, type(stage)) and scaled is not stage
    if not is_copy or scaled.with_scale(1.0) is not None:
        raise ValueError(
            f"with_scale of {type(stage).__name__} must return None if the noise is set, else "
            f"a copy with noise of that scale, clone(self).set_params(...); got {scaled!r}"
        )


def _most_queries(aggregator, n_wanted, epsilon, delta, sizes, before):
    """Return how many queries the cap pays for with the largest noise that is of use."""

    def affordable_by(orders):
        queries = costs_once(aggregator, orders, **sizes)
        spent = before(orders)

        def cost_of(n):
            return spent.plus(queries(n))

        def epsilon_of(n):
            return cost_of(n).epsilon(delta, orders)[0]

        return most_affordable(epsilon_of, n_wanted, epsilon), cost_of

    affordable, cost_of = affordable_by(FEW_ORDERS)
    if cost_of(1).epsilon(delta, FEW_ORDERS)[0] == math.inf:
        raise query_over_budget(aggregator, math.inf, epsilon, delta)
    affordable, _ = affordable_by(orders_near_best(cost_of(max(1, affordable)), delta))
    if affordable == 0:
        raise BudgetExceededError(
            f"epsilon={epsilon:g} pays for no query with noise that n_teachers="
            f"{sizes['n_teachers']} teachers can outvote (at most {most_noise(**sizes):.3g}). "
            "Use more teachers, raise epsilon, or set n_queries"
        )
    return affordable


def most_affordable(epsilon_of, n_wanted, cap):
    """Return the largest number of queries whose epsilon is at most the cap.

    Parameters
    ----------
    epsilon_of : callable
        Epsilon of a number of queries; it never falls as the number grows.
    n_wanted : int
        The most that are of use.
    cap : float
        The largest epsilon.

    Returns
    -------
    int
        From 0 to `n_wanted`.
    """
    return bisect_right(range(1, n_wanted + 1), cap, key=epsilon_of)


# --- a budget that stops the queries, where the votes decide what each of them costs --------------


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
    Privacy filters for Renyi costs: Feldman, Zrnic (2021), Individual privacy accounting via a
    Renyi filter, NeurIPS.

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
        """Cost of what the filter lets through.

        Costs grow with the order: up to the filter's own, its limit holds; above, only the total.

        Parameters
        ----------
        total : Cost
            Of all queries that could be asked.

        Returns
        -------
        Cost
            At most the total.
        """
        within = self.order >= DEFAULT_ORDERS
        rdp = np.where(within, np.minimum(self.limit, total.rdp), total.rdp)
        return replace(total, rdp=rdp)

    def allow(self, paid, check, answer):
        """Spend on as many of the queries, in order, as the budget pays for.

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
        n_asked = np.arange(len(paid) + 1)
        n_answered = np.concatenate([[0], np.cumsum(paid)])
        spent = self.spent + check * n_asked + answer * n_answered
        # Both steps are set aside, whatever the check will say: a refund comes after the query.
        # The sum over queries is rounded; 1e-12 keeps it from passing the limit
        fits = spent[:-1] + check + answer <= self.limit * (1 - 1e-12)
        allowed = len(paid) if fits.all() else int(np.argmin(fits))
        self.spent = float(spent[allowed])
        return allowed


def best_filter(aggregators, epsilon, delta, sizes, before=0.0):
    """Return the filter at the order that pays for most answers of the first stage.

    Parameters
    ----------
    aggregators : list of Aggregator
        The stages.
    epsilon, delta : float
        The cap.
    sizes : dict
        `n_teachers` and `n_classes`.
    before : ndarray of shape (n_orders,), default=0.0
        Renyi cost, at each of `rdp.DEFAULT_ORDERS`, of what is released before.

    Returns
    -------
    RenyiFilter or None
        None if at no order the limit pays for one query of each stage.
    """
    steps = [stage.steps(DEFAULT_ORDERS, **sizes) for stage in aggregators]
    if any(step is None for step in steps):
        return None
    limit = epsilon - conversion_penalty(delta, DEFAULT_ORDERS)
    # Less, so that rounding the epsilon of the filter cannot pass the cap
    limit = (limit - before) * (1 - 1e-9)
    one_of_each = sum(check + answer for check, answer in steps)
    # An order counts only if no stage would be planned in vain
    n_answers = np.where(limit >= one_of_each, limit / sum(steps[0]), 0)
    best = int(np.argmax(n_answers))
    if n_answers[best] == 0:
        return None
    return RenyiFilter(float(DEFAULT_ORDERS[best]), float(limit[best]))
