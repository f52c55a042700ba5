"""Lower bounds on epsilon of a noisy table, or of a user's release."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
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
    from ..rdp.event import ProvedEvent
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
        Votes of two data sets that differ in one protected unit, for instance the `counts` that
        `PATEClassifier.poll` returns for each. Their difference is not checked, because it is part
        of the audited claim. If both are None, the tables differ by ``linf`` in each of
        ``l1 / linf`` entries, rounded down, which is the worst case within `contribution`.
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
    tail, which has few samples; a claim is easier to refute at a delta of 0.01. Noise on entries
    that do not differ is not audited.

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
    return _audit(mechanism.noisy, pair, pair, Event(mechanism, contribution), **queried)


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
    return _audit(release.publish, pair, means, release.event(neighbors), **queried)


def _audit(
    draw: Callable[..., Any],
    pair: Any,
    means: Any,
    event: Event | ProvedEvent,
    *,
    delta: float | None,
    n_samples: int,
    confidence: float,
    rng: np.random.Generator,
) -> TableAudit:
    """Bound epsilon from samples of both sides of a pair, and compare it with a stated cost."""
    n_samples = check_count("n_samples", n_samples, least=100)
    confidence = check_confidence(confidence)
    if delta is None:
        delta = 0.0 if event.is_pure else 1e-5
    delta = check_delta(delta, allow_zero=True)

    first, second = means

    def sample(side: Any, number: int) -> np.ndarray:
        return _statistics(first, second, [draw(side, rng) for _ in range(number)])

    queried: dict[str, Any] = {"delta": delta, "confidence": confidence}
    game: dict[str, Any] = {"n_samples": n_samples, "part": _TO_CHOOSE, **queried}
    epsilon, _, _ = bound_by_samples(sample, pair, partial(_choose, **queried), rng, **game)
    cost = event.cost()
    of_pure = cost.pure if cost.delta == 0 else math.inf
    claimed = cost.epsilon(delta)[0] if delta else of_pure
    return TableAudit(epsilon, claimed, delta, confidence, n_samples)


def _statistics(first: np.ndarray, second: np.ndarray, sampled: Sequence[Any]) -> np.ndarray:
    """Return statistics that may distinguish two sides, (n_statistics, n_samples).

    The statistics are each number with different means on the two sides, and two sums of these
    numbers in the direction from the first to the second mean. In the second sum, each number is
    clipped to the range between its two means.
    """
    differs = first != second
    move = (second - first)[differs]
    numbers = np.reshape(sampled, (len(sampled), *first.shape))[:, differs]
    way = (numbers - first[differs]) / move
    return np.vstack([numbers.T, way @ move**2, np.clip(way, 0, 1) @ np.abs(move)])


class _Event(NamedTuple):
    """Event that a statistic is at least an edge, or at most an edge."""

    statistic: int
    edge: float
    is_above: bool

    def hits(self, first: np.ndarray, second: np.ndarray) -> tuple[int, int]:
        """Count the samples of each side in the event; if `is_above`, the second side is first."""
        first, second = first[self.statistic], second[self.statistic]
        if self.is_above:
            return (second >= self.edge).sum(), (first >= self.edge).sum()
        return (first <= self.edge).sum(), (second <= self.edge).sum()


def _choose(
    pilot: Any, n_to_choose: int, n_to_bound: int, delta: float, confidence: float
) -> _Event:
    """Choose the event with the largest expected bound."""
    events = []
    for statistic in range(len(pilot[0])):
        every = np.concatenate([side[statistic] for side in pilot])
        for edge in np.quantile(every, np.linspace(0, 1, _N_EDGES)):
            events += [_Event(statistic, edge, False), _Event(statistic, edge, True)]
    hits = np.array([event.hits(*pilot) for event in events]) * (n_to_bound / n_to_choose)
    bounds = lower_bound(hits[:, 0], hits[:, 1], n_to_bound, delta, confidence)
    return events[int(np.argmax(bounds))]
