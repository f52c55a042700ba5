"""How much noise, and how many queries, a cap on the cost leaves."""

import functools
import math
from bisect import bisect_right
from functools import reduce
from numbers import Number

import numpy as np

from ..exceptions import BudgetExceededError
from ..rdp import DEFAULT_ORDERS, Cost, least_scale
from ..rdp.calibration import FEW_ORDERS, orders_near_best
from ..rdp.facts import facts_of
from ..rules import fewest_queries, most_noise
from .checks import check_failure_probability, query_over_budget


def no_cost(orders):
    """Return the `Cost` of nothing, at these orders."""
    return Cost(np.zeros(len(orders)), 0.0, 0.0)


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
            "Ask fewer queries, use more noise or raise epsilon. Nothing was spent"
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
            f"{sizes['n_teachers']} teachers can outvote (scale at most "
            f"{most_noise(**sizes):.3g}). Use more teachers, raise epsilon, or set n_queries. "
            "Nothing was spent"
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
