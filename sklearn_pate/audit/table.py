"""Lower bounds on epsilon of a noisy table, or of a user's release."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..rdp import Contribution, Event, NeighboringRelation, Neighbors
from ..rdp.checks import as_array, check_count, check_delta
from ..rdp.contribution import check_contribution
from .bounds import Audit, bound_by_samples, check_confidence, lower_bound

if TYPE_CHECKING:
    from .._typing import RandomGenerator
    from ..aggregators.table import TableMechanism
    from ..rdp.cost import Cost
    from ..releases.base import Release
    from ..runtime.private_data import PrivateData

#: Fraction of the samples from which the event is chosen.
_TO_CHOOSE = 0.2

#: Number of candidate edges of the event for each statistic: quantiles of the first samples.
_N_EDGES = 41

#: Number of samples of each side from which the direction of the difference is estimated.
_N_FOR_MEAN = 200


@dataclass(frozen=True)
class TableAudit(Audit):
    """Result of an audit of a noisy table, or of a release.

    Attributes
    ----------
    epsilon : float
        Lower bound on epsilon at `delta`, at least 0. It holds with probability `confidence`.
    claimed : float
        Epsilon, at `delta`, of the cost of the mechanism or release.
    delta, confidence : float
        Parameters of the audit.
    n_samples : int
        Number of sampled tables, or releases, of each of the two data sets, on average.
    """

    n_samples: int


def audit_table(
    mechanism: TableMechanism,
    table: ArrayLike | None = None,
    neighbour_table: ArrayLike | None = None,
    *,
    contribution: Contribution | None = None,
    delta: float | None = None,
    n_samples: int = 20_000,
    confidence: float = 1 - 1e-6,
    random_state: RandomGenerator | None = None,
) -> TableAudit:
    """Return a lower bound on epsilon of a noisy table of votes, from samples.

    Parameters
    ----------
    mechanism : TableMechanism
        The mechanism, with its noise set.
    table, neighbour_table : array-like of shape (n_cells, n_classes), default=None
        Votes, or class sums, of two data sets that differ in one protected unit, for instance the
        `counts` that `PATEClassifier.poll` returns for each. Their difference is not checked,
        because it is part of the audited claim. If both are None, the tables differ by ``linf`` in
        each of ``l1 / linf`` entries, rounded down, which is the worst case within `contribution`.
    contribution : rdp.Contribution, default=None
        Largest change of the table that the claim covers. None uses ``Contribution.of_counts(2)``,
        the change due to a replaced record that counts once.
    delta : float, default=None
        Delta of the claim, in [0, 1). None uses 0 if the mechanism is pure, else 1e-5.
    n_samples : int, default=20_000
        Number of noisy tables of each of the two data sets, on average. The event is chosen from a
        fifth of them, and the bound is computed from the rest. Tables are sampled one by one,
        because their entries may share noise; 20,000 tables take some seconds.
    confidence : float, default=1 - 1e-6
        Probability with which the bound holds.
    random_state : int, Generator or None, default=None
        Source of the samples.

    Returns
    -------
    TableAudit
        If a guarantee is true, `epsilon` of the result is above it with probability at most
        ``1 - confidence``.

    Raises
    ------
    ValueError
        If `mechanism` is not a table mechanism, only one table is given, the tables have different
        shapes or equal entries, no tables are given and `contribution.l1` is infinite, or an
        argument is out of range.

    Notes
    -----
    The bound is computed as in `audit_aggregator`, with samples from either table with probability
    1/2. The event is a range of values of one statistic of the noisy entries that differ. The
    statistic and the range that distinguish the tables best are chosen from a fifth of the samples.
    There are three kinds of statistics: one entry; the sum of all entries in the direction of the
    difference, on which the likelihood ratio of Gaussian noise depends; and, for Laplace noise, the
    same sum with each entry clipped to the range between its two values.

    The audit can detect a privacy loss in events that are frequent for both tables. The loss of
    Laplace noise is largest in such events. The loss of Gaussian noise at a small delta is in the
    tail, which has few samples; a claim is easier to refute at a large delta. Noise that is too
    small by the root of two is refuted at a delta of 0.3 with 3,000 tables, for a mu of 1. Noise on
    entries that do not differ is not audited.

    Examples
    --------
    >>> from sklearn_pate.aggregators import LaplaceMechanism
    >>> from sklearn_pate.audit import audit_table
    >>> found = audit_table(LaplaceMechanism(2.0), n_samples=500, random_state=0)
    >>> found.claimed, found.refuted
    (1.0, False)
    >>> too_far = {"table": [[5, 5]], "neighbour_table": [[0, 10]]}
    >>> audit_table(LaplaceMechanism(2.0), **too_far, n_samples=500, random_state=0).refuted
    True
    """
    if not hasattr(mechanism, "noisy"):
        raise ValueError(
            f"mechanism must be a TableMechanism; got {mechanism!r}. Use audit_aggregator for an "
            "aggregator"
        )
    contribution = Contribution.of_counts(2) if contribution is None else contribution
    check_contribution(contribution)
    if table is None and neighbour_table is None:
        if not math.isfinite(contribution.l1):
            raise ValueError(
                "contribution.l1 is infinite, so pass table and neighbour_table, two tables with "
                f"the largest difference within contribution; got {contribution}"
            )
        n_changed = int(contribution.l1 // contribution.linf)
        # Consecutive entries decrease and increase by turns
        table = np.full((math.ceil(n_changed / 2), 2), 10.0)
        neighbour_table = table.copy()
        neighbour_table.flat[:n_changed] += contribution.linf * np.resize([-1, 1], n_changed)
    first, second = as_array("table", table), as_array("neighbour_table", neighbour_table)
    if first.ndim != 2 or first.shape != second.shape or (first == second).all():
        raise ValueError(
            "table and neighbour_table must be two different 2-D arrays of the same shape, or both "
            f"None; got shapes {first.shape} and {second.shape}"
            f"{', with equal entries' if np.array_equal(first, second) else ''}"
        )
    pair = first, second
    rng = np.random.default_rng(random_state)
    queried: dict[str, Any] = {
        "delta": delta,
        "n_samples": n_samples,
        "confidence": confidence,
        "rng": rng,
    }
    cost = Event(mechanism, contribution).cost()
    if delta is None and not getattr(mechanism, "is_pure", False):
        queried["delta"] = max(cost.delta, 1e-5)
    (mean, scale), (other_mean, _) = map(mechanism.moments, pair)
    return audit_numbers(mechanism.noisy, pair, Pair(mean, other_mean, scale), cost, **queried)


def audit_release(
    release: Release,
    private: PrivateData,
    neighbour: PrivateData,
    *,
    relation: NeighboringRelation | str = "replace_one",
    delta: float | None = None,
    n_samples: int = 20_000,
    confidence: float = 1 - 1e-6,
    random_state: RandomGenerator | None = None,
) -> TableAudit:
    """Return a lower bound on epsilon of a user's release, from samples.

    Parameters
    ----------
    release : releases.Release
        The release, with its noise set.
    private, neighbour : releases.PrivateData
        Two data sets that differ in one protected unit. Their difference is not checked, because it
        is part of the audited claim. Other pairs may have a larger epsilon, so choose a pair for
        which you expect the largest epsilon.
    relation : rdp.NeighboringRelation or str, default="replace_one"
        Relation between the two data sets, from which `event` of the release computes its claim.
        The protected unit is a record.
    delta, n_samples, confidence, random_state
        As in `audit_table`.

    Returns
    -------
    TableAudit
        If a guarantee is true, `epsilon` of the result is above it with probability at most
        ``1 - confidence``.

    Raises
    ------
    ValueError
        If `relation` is unknown, or an argument is out of range.

    Notes
    -----
    `gather` is called once for each data set, and `publish` once for each sample. The event is
    chosen as in `audit_table`. Published numbers replace entries, and the average difference of
    the numbers between the two data sets replaces the difference of the tables.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_pate.aggregators import LaplaceMechanism
    >>> from sklearn_pate.audit import audit_release
    >>> from sklearn_pate.releases import PrivateData
    >>> from sklearn_pate.rdp import Contribution, Event
    >>> from sklearn_pate.releases import Release
    >>> from sklearn_pate.encoding.targets import ClassTarget
    >>> class Total(Release):
    ...     '''The sum of a column, under the assumption of values between 0 and 1.'''
    ...
    ...     def event(self, neighbors):  # a replaced value changes the sum by 1
    ...         return Event(LaplaceMechanism(2.0), Contribution.of_counts(1))
    ...
    ...     def gather(self, private):
    ...         return [[private.X[:, 0].sum()]]  # the values are not clipped
    ...
    ...     def publish(self, gathered, rng):
    ...         return LaplaceMechanism(2.0).noisy(gathered, rng)
    ...
    ...     def describe(self):
    ...         return "a sum"
    >>> X = np.full((9, 1), 0.5)
    >>> target = ClassTarget([0, 1])
    >>> both = [PrivateData(X=rows, codes=None, target=target) for rows in (X, 9 * X)]
    >>> audit_release(Total(), *both, n_samples=500, random_state=0).refuted
    True
    """
    if relation not in list(NeighboringRelation):
        raise ValueError(
            f"relation must be one of {[str(each) for each in NeighboringRelation]}; got "
            f"{relation!r}"
        )
    neighbors = Neighbors(relation=relation, unit="record")
    pair = [release.gather(data) for data in (private, neighbour)]
    rng = np.random.default_rng(random_state)
    sampled = [[np.ravel(release.publish(side, rng)) for _ in range(_N_FOR_MEAN)] for side in pair]
    means = [np.mean(of_side, axis=0) for of_side in sampled]
    queried: dict[str, Any] = {
        "delta": delta,
        "n_samples": n_samples,
        "confidence": confidence,
        "rng": rng,
    }
    cost = release.event(neighbors).cost()
    return audit_numbers(release.publish, pair, Pair(*means), cost, **queried)


class Pair(NamedTuple):
    """Mean of the published numbers of two sides, and the scale of their noise; arrays."""

    first: np.ndarray
    second: np.ndarray
    scale: Any = 1.0


def audit_numbers(
    draw: Callable[..., Any],
    sides: Any,
    means: Pair,
    cost: Cost,
    *,
    delta: float | None,
    n_samples: int,
    confidence: float,
    rng: np.random.Generator,
) -> TableAudit:
    """Bound epsilon from samples of published numbers, and compare it with a stated cost.

    Parameters
    ----------
    draw : callable
        ``draw(side, rng)`` publishes an array of numbers for a side.
    sides : tuple
        The two sides, arguments of `draw`.
    means : Pair
        Means of the numbers of both sides.
    cost : rdp.Cost
        The stated cost.
    delta, n_samples, confidence
        As in `audit_table`.
    rng : numpy.random.Generator
        Source of the samples.
    """
    n_samples = check_count("n_samples", n_samples, least=100)
    confidence = check_confidence(confidence)
    if delta is None:
        delta = cost.delta if cost.pure < math.inf else 1e-5
    delta = check_delta(delta, allow_zero=True)
    if np.array_equal(means.first, means.second):
        raise ValueError(
            "the published numbers of both data sets have equal means: pass two data sets that "
            "differ in a record that is counted"
        )

    def sample(side: Any, number: int) -> np.ndarray:
        return _statistics(means, [draw(side, rng) for _ in range(number)])

    queried: dict[str, Any] = {"delta": delta, "confidence": confidence}
    game: dict[str, Any] = {"n_samples": n_samples, "part": _TO_CHOOSE, **queried}
    epsilon, _, _ = bound_by_samples(sample, sides, partial(_choose, **queried), rng, **game)
    return TableAudit(epsilon, _claimed(cost, delta), delta, confidence, n_samples)


def _claimed(cost: Cost, delta: float) -> float:
    """Return the epsilon that a cost guarantees at `delta`; inf if it guarantees none."""
    of_pure = cost.pure if cost.delta <= delta else math.inf
    return min(of_pure, cost.epsilon(delta)[0] if delta else math.inf)


def _statistics(pair: Pair, sampled: Sequence[Any]) -> np.ndarray:
    """Return statistics that may distinguish two sides, (n_statistics, n_samples).

    The statistics are each number with different means on the two sides, shifted and scaled so that
    it is 0 at the first mean and 1 at the second, and two sums of these numbers: weighted as in the
    likelihood ratio of Gaussian noise, and clipped to [0, 1] as for Laplace noise.
    """
    first, second, scale = np.broadcast_arrays(*pair)
    differs = first != second
    numbers = np.reshape(sampled, (len(sampled), *first.shape))[:, differs]
    way = (numbers - first[differs]) / (second - first)[differs]
    signal = np.abs((second - first) / scale)[differs]
    return np.vstack([way.T, way @ signal**2, np.clip(way, 0, 1) @ signal])


class _Event(NamedTuple):
    """Event that a statistic is beyond an edge.

    Attributes
    ----------
    statistic : int
        Number of the statistic.
    edge : float
        Limit of the values in the event.
    is_above : bool
        Whether the values are above the edge, or below.
    has_edge : bool
        Whether the edge itself is in the event.
    swapped : bool
        Whether the event is more frequent for the second side.
    """

    statistic: int
    edge: float
    is_above: bool
    has_edge: bool
    swapped: bool

    def hits(self, first: np.ndarray, second: np.ndarray) -> tuple[int, int]:
        """Count samples of each side in the event; the side with more frequent events is first."""
        of_sides = [
            int(_n_beyond(np.sort(side[self.statistic]), self.edge, self.is_above, self.has_edge))
            for side in ((second, first) if self.swapped else (first, second))
        ]
        return of_sides[0], of_sides[1]


def _n_beyond(ordered: np.ndarray, edge: Any, is_above: bool, has_edge: bool) -> Any:
    """Count the sorted values above or below each edge, with or without the edge itself."""
    n_below = np.searchsorted(ordered, edge, side="left" if is_above == has_edge else "right")
    return len(ordered) - n_below if is_above else n_below


def _choose(
    pilot: Any, n_to_choose: int, n_to_bound: int, delta: float, confidence: float
) -> _Event:
    """Choose the event with the largest expected bound.

    All events are tried in both directions, because a fault may make an event more frequent for
    either side.
    """
    scale = n_to_bound / n_to_choose
    best, event = -math.inf, _Event(0, -math.inf, True, True, False)
    for statistic, sides in enumerate(zip(*pilot, strict=True)):
        ordered = [np.sort(side) for side in sides]
        edges = np.unique(np.quantile(np.concatenate(ordered), np.linspace(0, 1, _N_EDGES)))
        for is_above, has_edge, swapped in product((False, True), repeat=3):
            hits, other_hits = (
                scale * _n_beyond(side, edges, is_above, has_edge)
                for side in (reversed(ordered) if swapped else ordered)
            )
            bounds = lower_bound(hits, other_hits, n_to_bound, delta, confidence)
            k = int(np.argmax(bounds))
            if bounds[k] > best:
                best = bounds[k]
                event = _Event(statistic, float(edges[k]), is_above, has_edge, swapped)
    return event
