"""Costs of queries for one target, or for several.

A query of a public row is one query for each target: a teacher casts a vote for each of them. One
unit changes one teacher, and so at most one vote of each query. The queries of all targets are
therefore as many mechanisms on the same private data, whose costs are composed like the queries of
one target, in any order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from ..rdp import DEFAULT_ORDERS, Cost
from ..rdp.bounds import bounds_of

#: Number of classes; for several targets, of each.
NClasses = int | tuple[int, ...]


def by_target(n_classes: NClasses) -> tuple[int, ...]:
    """Return the number of classes of each target."""
    return n_classes if isinstance(n_classes, tuple) else (n_classes,)


def check_several(stages: Sequence[Any], accounting: str) -> None:
    """Refuse queries of several targets whose costs cannot be added up.

    Parameters
    ----------
    stages : sequence of Mechanism
        The mechanisms, with or without their noise.
    accounting : {"data_independent", "ptr"}
        As in `PATEClassifier`.

    Raises
    ------
    ValueError
        If there are several stages, if the mechanism charges all queries together, or with
        ``accounting="ptr"``, whose test is for the votes on one target.
    """
    first = type(stages[0]).__name__
    refused = {
        "accounting='ptr'": accounting == "ptr",
        f"a list of {len(stages)} aggregators": len(stages) > 1,
        f"{first}, which charges all queries together,": (
            bounds_of(stages[0].with_scale(1.0) or stages[0]).total is not None
        ),
    }
    for what, is_so in refused.items():
        if is_so:
            raise ValueError(
                f"{what} is for one target, and y has several: use one aggregator such as GNMax or "
                "SoftVote with accounting='data_independent', or make one fit for each target"
            )


def queries_cost(
    mechanism: Any, orders: np.ndarray = DEFAULT_ORDERS, *, n_teachers: int, n_classes: NClasses
) -> Callable[[int], Cost]:
    """Return a function that computes the cost of the queries of a number of rows.

    Parameters
    ----------
    mechanism : Mechanism
        The mechanism, with its noise set. For several targets, it must not charge all queries
        together; see `check_several`.
    orders : ndarray of shape (n_orders,), default=DEFAULT_ORDERS
        Renyi orders, above 1.
    n_teachers : int
        Number of teachers.
    n_classes : int or tuple of int
        Number of classes; for several targets, of each.

    Returns
    -------
    callable
        Function of the number of queried rows that returns their `rdp.Cost`, of one query for each
        row and target.

    Examples
    --------
    >>> from sklearn_pate.accounting.targets import queries_cost
    >>> from sklearn_pate.aggregators import GNMax
    >>> of_three = queries_cost(GNMax(40.0), n_teachers=250, n_classes=(2, 2, 10))
    >>> of_one = queries_cost(GNMax(40.0), n_teachers=250, n_classes=10)
    >>> of_three(100).epsilon(1e-5)[0] <= of_one(300).epsilon(1e-5)[0]
    True
    """
    n_targets_with = Counter(by_target(n_classes))
    costs = [
        (mechanism.costs(orders, n_teachers=n_teachers, n_classes=number), n_targets)
        for number, n_targets in n_targets_with.items()
    ]

    def cost_of(n_rows: int) -> Cost:
        return reduce(Cost.plus, [cost(n_targets * n_rows) for cost, n_targets in costs])

    return cost_of


def query_steps(
    mechanism: Any, orders: np.ndarray, *, n_teachers: int, n_classes: NClasses
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the Renyi costs of the checks and of the answers of all queries of a row.

    Parameters
    ----------
    mechanism, orders, n_teachers, n_classes
        As in `queries_cost`.

    Returns
    -------
    checks, answers : ndarray of shape (n_orders,)
        Sums over the targets; None if the mechanism charges all queries together.
    """
    steps = [
        mechanism.steps(orders, n_teachers=n_teachers, n_classes=number)
        for number in by_target(n_classes)
    ]
    if any(step is None for step in steps):
        return None
    checks, answers = zip(*steps, strict=True)
    return reduce(np.add, checks), reduce(np.add, answers)
