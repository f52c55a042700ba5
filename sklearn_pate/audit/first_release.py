"""Lower bounds on epsilon of the first release of a fit, and of a schema release."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, singledispatch
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..rdp import Neighbors
from ..rdp.checks import as_array
from ..schema_release import (
    ClassRelease,
    RangeRelease,
    SchemaRelease,
    ShareRelease,
    TargetRelease,
)
from ..schema_release.counts import (
    N_BINS,
    N_LEVELS,
    TICKS,
    schema_contribution,
    schema_cost,
)
from ..schema_release.estimates import kinds_of
from ..schema_release.targets import counts_of_numbers
from .table import Pair, TableAudit, audit_numbers

if TYPE_CHECKING:
    from .._typing import RandomGenerator


def audit_first_release(
    release: TargetRelease,
    y: ArrayLike,
    neighbour_y: ArrayLike,
    *,
    units: ArrayLike | None = None,
    delta: float | None = None,
    n_samples: int = 20_000,
    confidence: float = 1 - 1e-6,
    random_state: RandomGenerator | None = None,
) -> TableAudit:
    """Return a lower bound on epsilon of the release of a target, from samples.

    Parameters
    ----------
    release : schema_release.TargetRelease
        The release of classes, of class counts or of the range of numbers: `ClassRelease`,
        `ShareRelease` or `RangeRelease`.
    y, neighbour_y : array-like of shape (n_records,)
        Labels, or numbers, of two data sets that differ in one protected unit. Their difference is
        not checked, because it is part of the audited claim. For a `ShareRelease`, codes.
    units : array-like of shape (n_records,), int, default=None
        The protected unit of each record of both data sets; None if each record is its own. Two
        data sets of different sizes require None.
    delta : float, default=None
        Delta of the claim, in [0, 1). None uses the delta of the cost of the release.
    n_samples, confidence, random_state
        As in `audit_table`.

    Returns
    -------
    TableAudit
        If the cost of the release is true, `epsilon` of the result is above it with probability at
        most ``1 - confidence``.

    Raises
    ------
    TypeError
        If no audit of this kind of release is known.
    ValueError
        If the published numbers of both data sets have equal means, or an argument is out of range.

    Notes
    -----
    The bound is computed as in `audit_table`, from all noisy counts that the release draws. A label
    that is not published has a count of 0. The finer bins of a `RangeRelease` are fixed by one
    draw: its cost holds for each outcome of its first step.

    A label of one unit is published with a probability of at most the delta of the release, which
    is rare. To audit its threshold, give the release a delta of a few percent.

    Examples
    --------
    >>> from sklearn_pate.audit import audit_first_release
    >>> from sklearn_pate.rdp import Neighbors
    >>> from sklearn_pate.schema_release import ClassRelease
    >>> one = Neighbors(relation="replace_one", unit="record", n_records=60)
    >>> release = ClassRelease(epsilon=2.0, delta=1e-3, neighbors=one)
    >>> y, other = ["no"] * 30 + ["yes"] * 30, ["no"] * 31 + ["yes"] * 29
    >>> audit_first_release(release, y, other, n_samples=300, random_state=0).refuted
    False
    >>> far = ["no"] * 40 + ["yes"] * 20
    >>> audit_first_release(release, y, far, n_samples=300, random_state=0).refuted
    True
    """
    rng = np.random.default_rng(random_state)
    of_units = (
        None if units is None else np.unique(as_array("units", units), return_inverse=True)[1]
    )
    gathered = [release.gather(release.check(part), of_units) for part in (y, neighbour_y)]
    numbers = numbers_of_target(release, gathered, rng)
    return audit_numbers(
        numbers.draw,
        gathered,
        numbers.means(gathered),
        release.cost,
        delta=delta,
        n_samples=n_samples,
        confidence=confidence,
        rng=rng,
    )


def audit_schema_release(
    release: SchemaRelease,
    columns: Any,
    neighbour_columns: Any,
    neighbors: Neighbors,
    *,
    units: ArrayLike | None = None,
    delta: float | None = None,
    n_samples: int = 1_000,
    confidence: float = 1 - 1e-6,
    random_state: RandomGenerator | None = None,
) -> TableAudit:
    """Return a lower bound on epsilon of both steps of a schema release, from samples.

    Parameters
    ----------
    release : schema_release.SchemaRelease
        The release.
    columns, neighbour_columns : DataFrame or ndarray of shape (n_records, n_columns)
        Columns of two data sets that differ in one protected unit. Their difference is not checked,
        because it is part of the audited claim.
    neighbors : rdp.Neighbors
        The neighboring data sets of the claim.
    units : array-like of shape (n_records,), int, default=None
        As in `audit_first_release`. All records of a unit count as one.
    delta : float, default=None
        Delta of the claim. None uses 0.01 plus the delta of the thresholds: the loss of Gaussian
        noise at a smaller delta is in the tail, which has few samples.
    n_samples : int, default=1_000
        Number of sampled releases of each of the two data sets, on average. With a column of
        numbers, whose tree has a thousand counts, a release takes some 30 milliseconds.
    confidence, random_state
        As in `audit_table`.

    Returns
    -------
    TableAudit
        As in `audit_first_release`.

    Raises
    ------
    ValueError
        As in `audit_first_release`.

    Notes
    -----
    The published numbers are the counts of the first step, of all nodes of the trees and of all
    texts, in units of their noise. The kinds of the columns are fixed by one draw of the first step
    from `columns`: the cost holds for each outcome of this step.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_pate.audit import audit_schema_release
    >>> from sklearn_pate.rdp import Neighbors
    >>> from sklearn_pate.schema_release import SchemaRelease
    >>> one = Neighbors(relation="replace_one", unit="record", n_records=50)
    >>> release = SchemaRelease(n_columns=1, mu=0.5, delta=1e-3)
    >>> columns = np.full((50, 1), "yes", dtype=object)
    >>> other, far = columns.copy(), columns.copy()
    >>> other[0], far[:25] = "no", "no"
    >>> pairs = [(columns, rows, one) for rows in (other, far)]
    >>> given = {"n_samples": 120, "random_state": 0}
    >>> [audit_schema_release(release, *pair, **given).refuted for pair in pairs]
    [False, True]
    """
    rng = np.random.default_rng(random_state)
    n_records = len(columns)
    of_units = (
        None if units is None else np.unique(as_array("units", units), return_inverse=True)[1]
    )
    sizes = np.ones(n_records, int) if of_units is None else np.bincount(of_units)[of_units]
    amount = TICKS // sizes
    ranges = [
        release.gather_ranges(part, amount[: len(part)]) for part in (columns, neighbour_columns)
    ]
    kinds = kinds_of(release.publish_ranges(ranges[0], rng), release.sd_ranges, release.limits)
    gathered = [
        (counts, release.gather_values(part, amount[: len(part)], of_units, kinds))
        for counts, part in zip(ranges, (columns, neighbour_columns), strict=True)
    ]
    both = [texts for _, (_, texts) in gathered]
    numbers = _SchemaNumbers(release, {k: sorted({*both[0][k], *both[1][k]}) for k in both[0]})
    cost = schema_cost(release, schema_contribution(neighbors), None)
    return audit_numbers(
        numbers.draw,
        gathered,
        Pair(*map(numbers.exact, gathered)),
        cost,
        delta=0.01 + cost.delta if delta is None else delta,
        n_samples=n_samples,
        confidence=confidence,
        rng=rng,
    )


def _numbered(units: ArrayLike | None) -> np.ndarray | None:
    """Return the number of the unit of each record, from 0; None if each record is a unit."""
    return None if units is None else np.unique(as_array("units", units), return_inverse=True)[1]


# --- published numbers of a release ---------------------------------------------------------------


class Numbers(NamedTuple):
    """Published numbers of a release, for all draws in one order.

    Attributes
    ----------
    draw : callable
        ``draw(gathered, rng)`` publishes a statistic, and returns the numbers.
    exact : callable
        ``exact(gathered)`` returns these numbers without noise.
    scale : float or ndarray
        Scale of their noise.
    """

    draw: Callable[..., np.ndarray]
    exact: Callable[[Any], np.ndarray]
    scale: Any

    def means(self, gathered: Sequence[Any]) -> Pair:
        """Return the numbers of both sides without noise, and the scale of the noise."""
        first, second = map(self.exact, gathered)
        return Pair(first, second, self.scale)


@singledispatch
def numbers_of_target(release: Any, gathered: Sequence[Any], rng: np.random.Generator) -> Numbers:
    """Return the `Numbers` of a release of a target; register another kind of release here."""
    raise TypeError(
        f"no audit is known of a {type(release).__name__}: register a function that returns its "
        "published numbers with numbers_of_target"
    )


@numbers_of_target.register
def _(release: ClassRelease, gathered: Sequence[Any], rng: np.random.Generator) -> Numbers:
    labels = sorted({*gathered[0], *gathered[1]})

    def exact(counts: dict[Any, int]) -> np.ndarray:
        return np.array([counts.get(label, 0) for label in labels], dtype=float)

    def draw(counts: dict[Any, int], rng: np.random.Generator) -> np.ndarray:
        found = release.found_labels(counts, rng)
        return np.array([found.get(label, 0) for label in labels], dtype=float)

    return Numbers(draw, exact, release.mechanism().scale)


@numbers_of_target.register
def _(release: ShareRelease, gathered: Sequence[Any], rng: np.random.Generator) -> Numbers:
    def draw(counts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        noisy = release.publish(counts, rng).counts
        assert noisy is not None
        return noisy

    return Numbers(draw, partial(np.asarray, dtype=float), release.mechanism().scale)


@numbers_of_target.register
def _(release: RangeRelease, gathered: Sequence[Any], rng: np.random.Generator) -> Numbers:
    on_bins, on_parts = release.mechanisms
    edges = release.finer_edges(on_bins.noisy(counts_of_numbers(gathered[0])[:, None], rng)[:, 0])

    def exact(numbers: np.ndarray) -> np.ndarray:
        return np.concatenate(
            [counts_of_numbers(numbers), counts_of_numbers(numbers, edges)]
        ).astype(float)

    def draw(numbers: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        parts = (
            on_bins.noisy(counts_of_numbers(numbers)[:, None], rng),
            on_parts.noisy(counts_of_numbers(numbers, edges)[:, None], rng),
        )
        return np.concatenate(parts)[:, 0]

    n_counts = [N_BINS, len(edges) - 1]
    return Numbers(draw, exact, np.repeat([on_bins.scale, on_parts.scale], n_counts))


class _SchemaNumbers(NamedTuple):
    """Published numbers of both steps of a schema release, in units of their noise.

    Attributes
    ----------
    release : SchemaRelease
    texts : dict of list
        For the position of each column of texts, the texts that are looked up.
    """

    release: SchemaRelease
    texts: dict[int, list[str]]

    def draw(self, gathered: Any, rng: np.random.Generator) -> np.ndarray:
        """Publish both steps, and return their numbers."""
        ranges, values = gathered
        noisy = self.release.publish_values(values, rng)
        return self._joined(self.release.publish_ranges(ranges, rng), noisy.trees, noisy.texts)

    def exact(self, gathered: Any) -> np.ndarray:
        """Return the numbers without noise, also of texts below the threshold."""
        ranges, (leaves, texts) = gathered
        trees = {
            k: [
                counts.reshape(2**level, -1).sum(axis=1) / TICKS for level in range(1, N_LEVELS + 1)
            ]
            for k, counts in leaves.items()
        }
        counts = {
            k: {text: ticks / TICKS for text, ticks in own.items()} for k, own in texts.items()
        }
        return self._joined(ranges / TICKS, trees, counts)

    def _joined(
        self,
        ranges: np.ndarray,
        trees: dict[int, list[np.ndarray]],
        texts: dict[int, dict[str, float]],
    ) -> np.ndarray:
        sd_trees, sd_texts = self.release.sd_values(n_trees=len(trees), n_texts=len(texts))
        of_texts = [texts[k].get(text, 0.0) for k, own in self.texts.items() for text in own]
        of_trees = [level / sd_trees for k in sorted(trees) for level in trees[k]]
        return np.concatenate(
            [np.ravel(ranges) / self.release.sd_ranges, *of_trees, np.array(of_texts) / sd_texts]
        )
