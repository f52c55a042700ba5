"""What cannot be asked is refused, and what will hardly be answered is warned of, in advance."""

import math
from numbers import Integral

from sklearn.base import clone

from ..exceptions import BudgetExceededError, PrivacyLeakWarning, warn
from ..rdp import DEFAULT_ORDERS
from ..rdp.facts import facts_of, has_distribution


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
        f"than the cap epsilon={epsilon:g}. {advice}. Nothing was spent"
    )
