"""Records of steps, as privacy statements list them.

A record is a dict of text and numbers from which the cost of a step can be recomputed without this
library. `verify` does so; it imports nothing from here. Numbers that must be exact are hexadecimal
text (`float.hex`). All of them are public: parameters that were fixed before the step, or that
follow from what earlier steps published.

A guarantee is a dict with a rule: "composition" adds up the costs of a list of steps, and "sum"
adds the epsilons and deltas of its parts. `statement.schema.json` describes all of these dicts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .checks import DEFAULT_ORDERS
from .conversion import epsilon_by_order, pure_rdp

if TYPE_CHECKING:
    from .contribution import Contribution
    from .cost import Cost

#: A record of a step, or a guarantee.
Record = dict[str, Any]

#: Key of a Renyi curve at all orders, `composition` keeps a few orders of it.
_CURVE = "_curve"

#: Relative distance of a Renyi curve and its simple formula that counts as none.
_NEGLIGIBLE = 1e-9

#: Pure epsilon from which on a query has no useful pure cost.
_MAX_PURE = 50.0


def exact_text(number: float) -> str:
    """Return a number as hexadecimal text, which represents a float exactly; "inf" for infinity.

    Examples
    --------
    >>> from sklearn_pate.rdp.records import exact_text
    >>> exact_text(0.1), exact_text(float("inf"))
    ('0x1.999999999999ap-4', 'inf')
    """
    return float(number).hex()


# --- steps ----------------------------------------------------------------------------------------


def laplace_record(
    name: str,
    contribution: Contribution,
    *,
    inverse_scale: float,
    grid: float | None,
    delta: float = 0.0,
    level: float | None = None,
) -> Record:
    """Return the record of Laplace noise on every entry of a table.

    Parameters
    ----------
    name : str
        The released statistic, in words.
    contribution : Contribution
        Largest change of the table.
    inverse_scale : float
        The inverse scale, which the sampler of discrete noise uses without rounding.
    grid : float or None
        Distance of two possible values of the noise; None for continuous noise.
    delta : float, default=0.0
        Bound of the probability that a text or label of only one unit reaches `level`.
    level : float or None, default=None
        Noisy count from which on a text or label is published; None if none is published.

    Returns
    -------
    dict
    """
    record: Record = {
        "mechanism": "laplace",
        "name": name,
        "inverse_scale": exact_text(inverse_scale),
        "grid": None if grid is None else exact_text(grid),
        "contribution": _contribution(contribution),
        "count": 1,
    }
    if level is not None:
        record["threshold"] = {"count": 1, "level": exact_text(level)}
        record["delta"] = exact_text(delta)
    return record


def gaussian_record(
    name: str,
    contribution: Contribution,
    *,
    scale: float,
    grid: float | None,
    count: int = 1,
    delta: float = 0.0,
    threshold: tuple[int, float] | None = None,
    blocks: Record | None = None,
) -> Record:
    """Return the record of Gaussian noise on every entry of a statistic.

    Parameters
    ----------
    name, contribution, grid
        As in `laplace_record`.
    scale : float
        Standard deviation of the noise, in the unit of the contribution.
    count : int, default=1
        Number of such releases.
    delta : float, default=0.0
        Bound of the probability that a text of only one unit reaches its threshold.
    threshold : (int, float) or None, default=None
        Number of columns of texts, and the noise, in standard deviations, that lifts a count of 1
        to the threshold.
    blocks : dict or None, default=None
        Released blocks of class sums, from `class_sums.statistic.blocks_record`.

    Returns
    -------
    dict
    """
    record: Record = {
        "mechanism": "gaussian",
        "name": name,
        "scale": exact_text(scale),
        "grid": None if grid is None else exact_text(grid),
        "contribution": _contribution(contribution),
        "count": int(count),
    }
    if grid is not None:
        record["tau"] = 2  # of `discrete_gaussian_mu_squared`
    if threshold is not None:
        n_columns, deviations = threshold
        record["threshold"] = {
            "count": int(n_columns),
            "standard_deviations": exact_text(deviations),
        }
        record["delta"] = exact_text(delta)
    if blocks is not None:
        record["blocks"] = blocks
    return record


def argmax_record(
    name: str,
    contribution: Contribution,
    *,
    noise: str,
    scale: float,
    count: int,
    curve: ArrayLike,
    pure: float = math.inf,
    grid: float | None = None,
    check_scale: float | None = None,
) -> Record:
    """Return the record of noisy argmaxes of the votes on several queries.

    Parameters
    ----------
    name : str
        The queries, in words.
    contribution : Contribution
        Largest change of the votes on one query.
    noise : {"gaussian", "laplace", "exponential"}
        Kind of the noise on each vote count.
    scale : float
        Standard deviation of Gaussian noise; the inverse scale of other noise.
    count : int
        Number of queries.
    curve : array-like of shape (n_orders,)
        Renyi cost of one query at `DEFAULT_ORDERS`.
    pure : float, default=inf
        Pure epsilon of one query.
    grid : float or None, default=None
        As in `laplace_record`.
    check_scale : float or None, default=None
        Standard deviation of the noise on a check before each answer, whose statistic changes by at
        most 1; None without a check.

    Returns
    -------
    dict
        Without costs that equal the cost of all noisy counts, which has a simple formula.
    """
    is_gaussian = noise == "gaussian"
    record: Record = {
        "mechanism": "noisy argmax",
        "name": name,
        "noise": noise,
        "scale" if is_gaussian else "inverse_scale": exact_text(scale),
        "grid": None if grid is None else exact_text(grid),
        "contribution": _contribution(contribution),
        "count": int(count),
    }
    if check_scale is not None:
        record["check_scale"] = exact_text(check_scale)
    if is_gaussian:
        ratio = contribution.l2_squared / scale**2
        ratio += 0 if check_scale is None else 1 / check_scale**2
        simple, simple_pure = DEFAULT_ORDERS * ratio / 2, math.inf
    else:
        simple_pure = contribution.l1 * scale
        simple = pure_rdp(simple_pure, DEFAULT_ORDERS)
    if pure < min(simple_pure * (1 - _NEGLIGIBLE), _MAX_PURE):
        record["pure"] = exact_text(pure)
    curve = np.asarray(curve, dtype=float)
    if (curve < simple * (1 - _NEGLIGIBLE)).any():
        record[_CURVE] = curve
    return record


def sparse_vector_record(
    name: str,
    *,
    run_epsilon: float,
    n_runs: int,
    n_queries: int,
    scales: tuple[float, float],
    threshold: float,
    delta: float,
) -> Record:
    """Return the record of runs of noisy comparisons; see `aggregators.StableArgmax`.

    Parameters
    ----------
    name : str
        The queries, in words.
    run_epsilon, n_runs, delta
        The parameters `run_epsilon`, `max_unstable` and `delta`.
    n_queries : int
        Largest number of queries.
    scales : (float, float)
        Scales of the noise on the threshold and on the distance.
    threshold : float
        The threshold, without its noise.

    Returns
    -------
    dict
    """
    on_threshold, on_distance = scales
    return {
        "mechanism": "sparse vector",
        "name": name,
        "run_epsilon": exact_text(run_epsilon),
        "n_runs": int(n_runs),
        "n_queries": int(n_queries),
        "threshold_scale": exact_text(on_threshold),
        "distance_scale": exact_text(on_distance),
        "threshold": exact_text(threshold),
        "delta": exact_text(delta),
    }


def stated_record(name: str, cost: Cost) -> Record:
    """Return the record of a step whose cost is proved by hand.

    Parameters
    ----------
    name : str
        The released statistic, in words.
    cost : Cost
        Its cost, which no record of a mechanism describes. It has no branches.

    Returns
    -------
    dict
    """
    return {
        "mechanism": "stated",
        "name": name,
        "pure": exact_text(cost.pure),
        "mu_squared": exact_text(cost.mu_squared),
        "delta": exact_text(cost.delta),
        _CURVE: np.asarray(cost.rdp),
    }


def filter_record(steps: Sequence[Record], *, order: float, limit: float) -> Record:
    """Return the record of a filter that stops steps at a Renyi cost; see `RenyiFilter`.

    Parameters
    ----------
    steps : list of dict
        Records of the steps that the filter may stop.
    order, limit : float
        The Renyi order and the limit.

    Returns
    -------
    dict
    """
    return {
        "mechanism": "filter",
        "name": "a filter stops the queries at a limit",
        "order": exact_text(order),
        "limit": exact_text(limit),
        "steps": list(steps),
    }


def trials_record(
    candidates: Iterable[tuple[Sequence[Record], float | None]],
    *,
    mean: float,
    eta: float,
    second_order: float,
) -> Record:
    """Return the record of the best of a random number of trials; see `TrialCount`.

    Parameters
    ----------
    candidates : iterable of (list of dict, float or None)
        Steps of a trial of each candidate, and the standard deviation of the noise on its score;
        None if scores are computed on public rows.
    mean, eta : float
        Distribution of the number of trials.
    second_order : float
        The Renyi order at which the cost of the number of trials is smallest.

    Returns
    -------
    dict
    """
    alike: list[Record] = []
    for steps, score_scale in candidates:
        scale = None if score_scale is None else exact_text(score_scale)
        for other in alike:
            if other["score_scale"] == scale and _are_equal(other["steps"], list(steps)):
                other["count"] += 1
                break
        else:
            alike.append({"count": 1, "score_scale": scale, "steps": list(steps)})
    return {
        "mechanism": "best of trials",
        "name": "the best of a random number of trials",
        "mean": exact_text(mean),
        "eta": exact_text(eta),
        "second_orders": [exact_text(second_order)],
        "candidates": alike,
    }


def branches_record(branches: Iterable[Sequence[Record]]) -> Record:
    """Return the record of one of several branches, chosen by earlier steps; see `Cost.worst_of`.

    Parameters
    ----------
    branches : iterable of list of dict
        Records of the steps of each branch, including those that are not taken.

    Returns
    -------
    dict
    """
    return {
        "mechanism": "one of several",
        "name": "one of several methods, chosen by an earlier step",
        "branches": [list(steps) for steps in branches],
    }


# --- guarantees -----------------------------------------------------------------------------------


def composition(
    steps: Iterable[Record],
    cost: Cost,
    *,
    epsilon: float,
    delta: float,
    order: float | None = None,
) -> Record:
    """Return the guarantee of steps whose costs add up.

    Parameters
    ----------
    steps : iterable of dict
        Records of the steps.
    cost : Cost
        Their total cost.
    epsilon, delta : float
        The guarantee.
    order : float or None, default=None
        The only Renyi order at which the cost holds. None chooses the best order and its
        neighbours, from public numbers alone.

    Returns
    -------
    dict

    Examples
    --------
    >>> from sklearn_pate.rdp import Contribution
    >>> from sklearn_pate.rdp.discrete import laplace_table_cost
    >>> from sklearn_pate.rdp.records import composition, laplace_record
    >>> two = Contribution.of_counts(2)
    >>> noise = laplace_record("votes", two, inverse_scale=0.25, grid=2**-20)
    >>> part = composition([noise], laplace_table_cost(4.0, two), epsilon=0.5, delta=0.0)
    >>> part["rule"], float.fromhex(part["epsilon"]), part["renyi_orders"]
    ('composition', 0.5, [])
    """
    left = delta - cost.delta
    orders: list[float] = []
    if order is not None:
        orders = [order]
    elif 0 < left < 1 and np.isfinite(cost.rdp).any():
        best = int(np.argmin(epsilon_by_order(cost.rdp, left, DEFAULT_ORDERS)))
        orders = DEFAULT_ORDERS[max(best - 1, 0) : best + 2].tolist()
    return {
        "rule": "composition",
        "epsilon": exact_text(epsilon),
        "delta": exact_text(delta),
        "renyi_orders": [exact_text(each) for each in orders],
        "steps": list(steps),
    }


def sum_of_parts(parts: Iterable[Record], *, epsilon: float, delta: float) -> Record:
    """Return the guarantee of parts; earlier parts choose later ones.

    Epsilons and deltas of the parts are added (Dwork, Roth 2014, theorem 3.16).

    Parameters
    ----------
    parts : iterable of dict
        Guarantees of the parts.
    epsilon, delta : float
        The guarantee: at least the sums.

    Returns
    -------
    dict
    """
    return {
        "rule": "sum",
        "epsilon": exact_text(epsilon),
        "delta": exact_text(delta),
        "parts": list(parts),
    }


def as_limit(part: Record, *, epsilon: float, delta: float) -> Record:
    """Return a guarantee with larger numbers, which hold for all that may follow an earlier part.

    Parameters
    ----------
    part : dict
        Guarantee of what follows.
    epsilon, delta : float
        Limits that were fixed before the earlier part; not below the guarantee of `part`.

    Returns
    -------
    dict
    """
    if (exact_text(epsilon), exact_text(delta)) == (part["epsilon"], part["delta"]):
        return part
    numbers = {"epsilon": exact_text(epsilon), "delta": exact_text(delta)}
    return part | numbers | {"is_limit": True}


def private_test(
    steps: Iterable[Record],
    *,
    epsilon: float,
    delta: float,
    order: float,
    limit: float,
    pass_probabilities: ArrayLike,
) -> Record:
    """Return the guarantee of a private test and of the labels; see `ProposeTestRelease`.

    Parameters
    ----------
    steps : iterable of dict
        Records of the queries.
    epsilon, delta : float
        Guarantee of test and labels together.
    order, limit : float
        The Renyi order, and the limit on the cost of the votes.
    pass_probabilities : array-like of shape (n_distances,)
        Probability of passing at each distance.

    Returns
    -------
    dict
    """
    return {
        "rule": "propose-test-release",
        "epsilon": exact_text(epsilon),
        "delta": exact_text(delta),
        "order": exact_text(order),
        "limit": exact_text(limit),
        "pass_probabilities": list(map(exact_text, np.asarray(pass_probabilities).tolist())),
        "renyi_orders": [exact_text(order)],
        "steps": list(steps),
    }


def steps_of(guarantee: Record) -> list[Record]:
    """Return the records of all steps of a guarantee, in their order.

    Parameters
    ----------
    guarantee : dict
        From `composition`, `sum_of_parts` or `private_test`.

    Returns
    -------
    list of dict
    """
    if "parts" in guarantee:
        return [step for part in guarantee["parts"] for step in steps_of(part)]
    return guarantee["steps"]


def finished(guarantee: Record) -> Record:
    """Return a guarantee of plain text and numbers, with Renyi costs at the orders that it uses.

    Parameters
    ----------
    guarantee : dict
        From `composition`, `sum_of_parts` or `private_test`. Its records may hold Renyi costs at
        all `DEFAULT_ORDERS`, so that they can become part of another guarantee.

    Returns
    -------
    dict
    """
    if "parts" in guarantee:
        return guarantee | {"parts": [finished(part) for part in guarantee["parts"]]}
    orders = [float.fromhex(text) for text in guarantee["renyi_orders"]]
    return guarantee | {"steps": [_at_orders(step, orders) for step in guarantee["steps"]]}


def _at_orders(record: Record, orders: Sequence[float]) -> Record:
    """Return a record with Renyi costs at a few orders in place of its curve."""
    kept = {name: value for name, value in record.items() if name != _CURVE}
    orders = list(orders)
    if "second_orders" in kept:
        orders += [float.fromhex(text) for text in kept["second_orders"]]
    if "order" in kept:
        orders += [float.fromhex(kept["order"])]
    if _CURVE in record:
        curve: NDArray[np.float64] = record[_CURVE]
        kept["renyi"] = {
            exact_text(order): exact_text(curve[order == DEFAULT_ORDERS].item())
            for order in dict.fromkeys(orders)
        }
    trim: Callable[[Sequence[Record]], list[Record]] = lambda steps: [  # noqa: E731
        _at_orders(step, orders) for step in steps
    ]
    if "steps" in kept:
        kept["steps"] = trim(kept["steps"])
    if "branches" in kept:
        kept["branches"] = [trim(branch) for branch in kept["branches"]]
    if "candidates" in kept:
        kept["candidates"] = [part | {"steps": trim(part["steps"])} for part in kept["candidates"]]
    return kept


def _are_equal(first: Any, second: Any) -> bool:
    """Return whether two records are equal, with their curves."""
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(
            _are_equal(first[name], second[name]) for name in first
        )
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(_are_equal, first, second))
    return bool(np.array_equal(first, second)) if type(first) is type(second) else False


def _contribution(contribution: Contribution) -> dict[str, str]:
    """Return a contribution with exact numbers."""
    names = ("l1", "l2_squared", "linf")
    return {name: exact_text(getattr(contribution, name)) for name in names}
