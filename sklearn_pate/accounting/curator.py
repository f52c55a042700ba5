"""The private view of a fit, for the holder of the data only."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ..rdp import (
    DEFAULT_ORDERS,
    Cost,
    exact_rdp,
    rdp_to_epsilon,
    worst_case_rdp,
)
from ..rdp.bounds import has_distribution
from ..rdp.checks import check_delta
from ..runtime.private_data import Private
from .propose_test_release import ProposeTestRelease

#: Number of queries per batch in the computation of costs; it limits the memory.
_QUERIES_AT_A_TIME = 4096


@dataclass(frozen=True, eq=False)
class StageRecord:
    """The queries of one stage, for the curator.

    Attributes
    ----------
    aggregator : Aggregator
        The mechanism.
    n_queries : int
        Number of queries.
    student_proba : ndarray of shape (n_queries, n_classes) or None
        The student's probabilities, if the mechanism uses them.
    paid : ndarray of shape (n_queries,), bool, or None
        Mask of the answers that were drawn from the votes; None means all.
    """

    aggregator: Any
    n_queries: int
    student_proba: np.ndarray | None = field(default=None, repr=False)
    paid: np.ndarray | None = field(default=None, repr=False)  # private unless released


class Curator(Private):
    """The private view of a fit, for the holder of the data only. Do not publish it.

    All attributes depend on private data, and no mechanism released them. A curator cannot be
    pickled or copied, and its repr shows no data.

    Attributes
    ----------
    votes : ndarray of shape (n_queries, n_classes)
        Vote counts of the queries, in the order of `query_indices_`. With soft labels, sums of the
        teachers' probabilities.
    teacher_indices : ndarray of shape (n_samples,), int, or None
        The teacher of each private record; None with `Sites`.
    teachers : list or None
        Fitted teachers if ``keep_teachers=True``; an entry is None if its block needed no fit.
    test : ProposeTestRelease or None
        The test that the votes passed, with ``accounting="ptr"``; its `pass_probability` for these
        votes is private.
    """

    def __init__(
        self,
        stages: list[StageRecord],
        votes: np.ndarray,
        delta: float,
        teacher_indices: np.ndarray | None,
        teachers: list[Any] | None = None,
        test: ProposeTestRelease | None = None,
        cap: float | None = None,
    ) -> None:
        self.votes = votes
        self.teacher_indices = teacher_indices
        self.teachers = teachers
        self.test = test
        self._stages = stages
        self._delta = delta
        self._cap = cap  # the guarantee, if a budget limited the number of queries

    def rdp(
        self, bound: Literal["exact", "published"] = "exact", orders: ArrayLike = DEFAULT_ORDERS
    ) -> np.ndarray:
        """Return the Renyi cost of each query, computed from its votes; it is private.

        Parameters
        ----------
        bound : {"exact", "published"}, default="exact"
            "exact" is the largest divergence over all moves of one vote, in both directions;
            "published" is the bound of the mechanism's paper. For soft labels, both are the
            data-independent cost, `rdp.worst_case_rdp`.
        orders : array-like of shape (n_orders,), default=DEFAULT_ORDERS
            Renyi orders, above 1.

        Returns
        -------
        ndarray of shape (n_queries, n_orders)
            Costs. The cost of several queries is their sum.
        """
        return np.concatenate(list(self._costs(bound, orders)))

    def epsilon(
        self,
        delta: float | None = None,
        bound: Literal["exact", "published", "data_independent"] = "exact",
        conversion: Literal["improved", "classic"] = "improved",
    ) -> float:
        """Return epsilon of the labels; it is private, unless it is data-independent.

        Parameters
        ----------
        delta : float, default=None
            Delta of the guarantee; None uses the delta of the estimator.
        bound : {"exact", "published", "data_independent"}, default="exact"
            "exact" sums the exact costs of these votes. "published" sums the data-dependent bounds
            of the mechanism's paper, which cover one direction of the divergence only. Both are
            private, and neither is a guarantee: they hold for these votes, not for every data set.
            If a query depends on labels released before it, they hold only for these labels.
            "data_independent" holds for all votes. With ``accounting="ptr"``, it may be larger than
            the epsilon in `privacy_spent_`, because it does not depend on the test of the votes.
        conversion : {"improved", "classic"}, default="improved"
            Conversion of Renyi costs to epsilon; the papers used "classic".

        Returns
        -------
        float
            Epsilon, at least 0; inf without noise.
        """
        delta = check_delta(self._delta if delta is None else delta)
        if bound != "data_independent":
            total = sum(costs.sum(axis=0) for costs in self._costs(bound, DEFAULT_ORDERS))
            return rdp_to_epsilon(total, delta, DEFAULT_ORDERS, conversion)[0]
        if self._cap is None:
            return reduce(Cost.plus, self._stage_costs()).epsilon(delta)[0]
        if delta != self._delta:
            raise ValueError(
                f"the number of queries was limited at delta={self._delta:g}, so the "
                f"data-independent cost exists for this delta only; got {delta:g}. Use delta=None"
            )
        return self._cap

    def _stage_costs(self) -> list[Cost]:
        """Return the data-independent cost of each stage."""
        # Rounded, because sums of the teachers' probabilities are floats
        sizes = {"n_teachers": round(self.votes[0].sum()), "n_classes": self.votes.shape[1]}
        return [s.aggregator.costs(**sizes)(s.n_queries) for s in self._stages]

    def _costs(self, bound: str, orders: ArrayLike) -> Iterator[np.ndarray]:
        """Yield the costs of batches of queries, arrays of shape (n_in_batch, n_orders)."""
        if bound not in ("exact", "published"):
            raise ValueError(
                f"bound must be 'exact' or 'published' (or, for epsilon, 'data_independent'); "
                f"got {bound!r}"
            )
        ends = np.cumsum([stage.n_queries for stage in self._stages])
        for stage, stage_votes in zip(self._stages, np.split(self.votes, ends[:-1]), strict=True):
            mechanism = stage.aggregator
            for start in range(0, stage.n_queries, _QUERIES_AT_A_TIME):
                some = slice(start, start + _QUERIES_AT_A_TIME)
                votes = stage_votes[some]
                parts = (stage.student_proba, stage.paid)
                proba, paid = (None if part is None else part[some] for part in parts)
                if not has_distribution(mechanism):  # the worst case over all votes is used
                    yield np.tile(worst_case_rdp(mechanism, orders), (len(votes), 1))
                elif bound == "exact":
                    yield exact_rdp(mechanism, votes, orders, proba)
                else:
                    yield mechanism.published_rdp(votes, orders, proba, paid)


class SeveralCurator(Curator):
    """The private view of teachers of several targets, for the holder of the data only.

    Parameters
    ----------
    parts : list of Curator
        The queries of each target.
    votes, delta, **given
        As in `Curator`.

    Attributes
    ----------
    votes : ndarray of shape (n_queries, n_classes)
        Vote counts of the queried rows, with the classes of each target in turn. The other
        attributes are those of `Curator`. Costs of a row are sums over its queries.
    """

    def __init__(self, parts: list[Curator], votes: np.ndarray, delta: float, **given: Any) -> None:
        super().__init__([], votes, delta, **given)
        self._parts = parts

    def _stage_costs(self) -> list[Cost]:
        """Return the data-independent cost of the queries of each target."""
        return [cost for part in self._parts for cost in part._stage_costs()]

    def _costs(self, bound: str, orders: ArrayLike) -> Iterator[np.ndarray]:
        """Yield the costs of batches of rows, sums over the targets."""
        for batches in zip(*(part._costs(bound, orders) for part in self._parts), strict=True):
            yield reduce(np.add, batches)


class TableCurator(Curator):
    """The private view of a table of votes, for the holder of the data only.

    Attributes
    ----------
    votes : ndarray of shape (n_cells, n_classes)
        The table, without noise. The other attributes are None.
    """

    def __init__(self, table: np.ndarray, cost: Cost, delta: float) -> None:
        super().__init__([], table, delta, teacher_indices=None)
        self._cost = cost

    def rdp(
        self, bound: Literal["exact", "published"] = "exact", orders: ArrayLike = DEFAULT_ORDERS
    ) -> np.ndarray:
        """Return the Renyi cost, shape (1, n_orders), which does not depend on the table."""
        if not np.array_equal(orders, DEFAULT_ORDERS):
            raise ValueError("orders must be rdp.DEFAULT_ORDERS for a table; got other orders")
        return self._cost.rdp[None]

    def epsilon(
        self,
        delta: float | None = None,
        bound: Literal["exact", "published", "data_independent"] = "exact",
        conversion: Literal["improved", "classic"] = "improved",
    ) -> float:
        """Return epsilon; it does not depend on the table, `bound` or `conversion`."""
        return self._cost.epsilon(check_delta(self._delta if delta is None else delta))[0]
