"""Private part of class sums: statistic, contribution and noise.

A row is encoded as `psi`, a unit vector that includes a constant last entry. The sums of
`psi` by class and in total are released, about a mean. `sensitivity` proves the largest change by
one record, and `sums_cost` computes the cost.

- With public rows, the mean and the covariance are those of the public rows, and the constant entry
  counts the records of each class. The blocks are `WITH_PUBLIC_ROWS`, and `methods.sums` draws the
  noise.
- Without public rows, the mean is released first. The class counts and the second moment are then
  released with the sums. The blocks are `WITHOUT_PUBLIC_ROWS`, and `noise_sizes` scales the noise.
  For both releases, `gather_...` computes private whole numbers and `publish_...` adds noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial, reduce
from numbers import Integral
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .._sklearn import _safe_indexing
from ..encoding.targets import Target
from ..rdp import (
    DEFAULT_ORDERS,
    Contribution,
    Cost,
    discrete_gaussian_mu_squared,
)
from ..rdp.checks import check_orders
from ..rdp.contribution import check_contribution
from ..rdp.cost import bisect
from ..rdp.discrete import DiscreteGaussian
from ..rdp.records import Record, exact_text, gaussian_record
from ..runtime.isolation import suppress_output
from ..runtime.sites import plus
from ..runtime.workers import block_batch_size, run, threads_limited, threads_per_worker
from ..secure import exact_type, plus_noise

if TYPE_CHECKING:
    from .._typing import Rows
    from ..rdp.contribution import Neighbors

#: The numbers of `psi` are whole multiples of this step, so their sums are exact.
STEP = 2.0**-14

STEPS_PER_UNIT = 2**14

#: Ticks of a whole record, if not all records count equally or if votes are split.
_TICKS = 2**12

#: Value of the constant entry, relative to a row of length 1.
CONSTANT = 0.3

#: Length of a row without its constant entry, and the value of this entry, if the whole row is
#: scaled to length 1.
ROW_LENGTH = 1 / math.sqrt(1 + CONSTANT**2)
ROW_CONSTANT = CONSTANT * ROW_LENGTH

#: Fraction of mu**2 that is spent on the mean.
MEAN_FRACTION = 0.1

#: Number of rows multiplied at once, so that their sums are exact in floats.
_ROWS = 4096

#: Number of such blocks that a worker reads in one task.
_BLOCKS_OF_TASK = 5

#: Factor of the noise for rounding errors of floats.
ROUNDED = 1 + 1e-9


#: Number of classes or, for several targets, the number of each.
NClasses = int | Sequence[int]


class Blocks(NamedTuple):
    """The blocks that are released with the sums by class, and their weights relative to these.

    A block of weight w has the noise of the sums by class, divided by w.

    Attributes
    ----------
    total : float
        Weight of the sum of `psi` over all records.
    counts : float
        Weight of the numbers of records of each class; 0 if they are not released.
    has_moment : bool
        Whether the second moment is released, with weight `free_weight`.
    min_product : float
        Smallest inner product of two rows.
    one_changed : float
        Upper bound of the squared change by an added or removed record, divided by the squared
        change by a replaced record.
    """

    total: float
    counts: float
    has_moment: bool
    min_product: float
    one_changed: float


#: With public rows, the constant entry of every row raises the smallest inner product above -1.
WITH_PUBLIC_ROWS = Blocks(0.25, 0.0, False, ROW_CONSTANT**2 - ROW_LENGTH**2, 0.273)
WITHOUT_PUBLIC_ROWS = Blocks(0.35, 0.5, True, -1.0, 0.455)


class Centre(NamedTuple):
    """The published mean of all rows.

    Attributes
    ----------
    mean : ndarray of shape (n_columns,)
    """

    mean: np.ndarray

    def apply(self, psi: np.ndarray) -> np.ndarray:
        """Return rows about the mean, with a constant last entry, on the unit sphere."""
        away = psi - self.mean
        is_encoded = psi.any(axis=1)
        away[~is_encoded] = 0  # a row that could not be encoded stays a row of zeros
        return with_constant(away, np.where(is_encoded, CONSTANT, 0.0))


class Sums(NamedTuple):
    """The published counts and sums about the mean.

    Attributes
    ----------
    counts : ndarray of shape (n_classes,)
    by_class : ndarray of shape (n_classes, n_columns)
        Sums of ``psi * (one_hot(y) - 1 / n_classes)``.
    total : ndarray of shape (n_columns,)
    moment : ndarray of shape (n_columns, n_columns)
    sd, sd_moment : float
        Standard deviations of the noise on a sum by class, and on the diagonal of the moment.
    target : targets.Target
        Its values are the classes, or levels, of the sums.
    n_targets : int
        Number of targets that share the total and the moment.
    """

    counts: np.ndarray
    by_class: np.ndarray
    total: np.ndarray
    moment: np.ndarray
    sd: float
    sd_moment: float
    target: Target
    n_targets: int = 1

    @property
    def sd_total(self) -> float:
        """Standard deviation of the noise on an entry of the total."""
        return self.sd / (WITHOUT_PUBLIC_ROWS.total * math.sqrt(self.n_targets))

    def by_target(self) -> list[Sums]:
        """Return the sums of each target; all have the same total and moment."""
        return [
            self._replace(counts=self.counts[own], by_class=self.by_class[own], target=part)
            for part, own in zip(self.target.parts, self.target.columns_by_target, strict=True)
        ]


def unit(rows: np.ndarray) -> np.ndarray:
    """Scale rows to length 1; rows of zeros stay zero."""
    # Divide by the largest number first, because the squares of tiny numbers would underflow to 0
    largest = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
    rows = rows / np.where(largest > 0, largest, 1.0)
    norms = np.sqrt((rows * rows).sum(axis=1, keepdims=True))
    return rows / np.where(norms > 0, norms, 1.0)


def with_constant(rows: np.ndarray, constant: ArrayLike = CONSTANT) -> np.ndarray:
    """Append a constant entry to each row, and scale each row to length 1."""
    constants = np.broadcast_to(constant, len(rows))
    return unit(np.column_stack([rows, constants]))


def ticks_of(
    n_rows: int,
    units: np.ndarray | None = None,
    weight: np.ndarray | None = None,
    *,
    whole: int = _TICKS,
    target: Target | None = None,
) -> tuple[np.ndarray, int]:
    """Return the ticks of each record, and the ticks of a whole record.

    Parameters
    ----------
    n_rows : int
        Number of records.
    units : ndarray of shape (n_rows,), int, default=None
        The protected unit of each record, numbered from 0. All records of a unit count as one.
    weight : ndarray of shape (n_rows,), default=None
        Weight of each record, clipped to [0, 1].
    whole : int
        Ticks of a whole record, if `units` or `weight` is given, or if votes are split. Otherwise,
        a whole record is one tick.
    target : targets.Target or None, default=None
        Values that records vote for; None for classes.

    Returns
    -------
    ndarray of shape (n_rows,), int
        Ticks of each record, read-only if all are whole.
    int
        Ticks of a whole record.
    """
    splits_votes = target is not None and target.splits_votes
    if units is None and weight is None and not splits_votes:
        return np.broadcast_to(np.int64(1), n_rows), 1  # takes no memory
    part = np.ones(n_rows) if weight is None else np.clip(weight, 0.0, 1.0)
    if units is not None:
        part = part / np.bincount(units)[units]
    return np.floor(part * whole).astype(np.int64), whole


def sensitivity(
    n_changed: int, blocks: Blocks, *, n_classes: NClasses, moment_weight: float = 0.0
) -> float:
    """Return the L2 sensitivity of all blocks at their weights.

    Parameters
    ----------
    n_changed : int
        2 if a record is replaced or changed; 1 if it is added or removed.
    blocks : Blocks
        The released blocks and their weights.
    n_classes : int or tuple of int
        Number of classes; for several targets, the number of each.
    moment_weight : float, default=0.0
        Weight of the second moment, at most `free_weight`.

    Returns
    -------
    float

    Notes
    -----
    Let ``a = 1 - 1 / n_classes``, ``x`` the inner product of two rows, ``w`` the weight of the
    total, ``c`` the weight of the counts and ``m`` the weight of the moment. The squared change is
    ``(a + w**2) (2 - 2 x) + m**2 (2 - 2 x**2)`` for two records of one class, and ``2 a + 2 x /
    n_classes + w**2 (2 - 2 x) + 2 c**2 + m**2 (2 - 2 x**2)`` for two records of different classes.
    Each is a parabola in ``x``, from ``blocks.min_product`` to 1, so its maximum is at an end or at
    the vertex. Shorter rows change the sums less. With ``m**2 <= (a + w**2) / 2``, the change
    increases with the longer of the two lengths. It is convex in the shorter length, so it is
    largest for equal lengths, or for length 0, which is no row at all. A record with a weight below
    1, or the mean of several records, is a convex combination of whole records and no record. A
    record that is split between two levels is the mean of two records with the same row and one
    class each.

    The sums and the counts of each of q targets have the weight ``1 / sqrt(q)``, so that `a` and
    ``1 / n_classes`` are the means over the targets. If two records differ in a fraction `d` of
    their labels, the squared change is ``(1 - d)`` times the first expression plus `d` times the
    second, so its maximum is at d = 0 or 1. A record whose numbers are split between levels is a
    convex combination of records with one level of each target.
    """
    of_class = [1 / number for number in as_numbers(n_classes)]
    shared = sum(of_class) / len(of_class)
    a = 1 - shared
    total, square = blocks.total**2, moment_weight**2
    if n_changed == 1:
        return math.sqrt(a + total + blocks.counts**2 + square)
    limits = blocks.min_product, 1.0
    same = _largest(2 * a + 2 * total + 2 * square, -2 * a - 2 * total, square, *limits)
    constant = 2 * a + 2 * total + 2 * blocks.counts**2 + 2 * square
    other = _largest(constant, 2 * shared - 2 * total, square, *limits)
    return math.sqrt(max(same, other))


def _largest(constant: float, slope: float, square: float, low: float, high: float) -> float:
    """Return the largest ``constant + slope x - 2 square x**2`` for x between two numbers."""
    vertex = slope / (4 * square) if square else math.copysign(1, slope)
    x = min(max(vertex, low), high)
    return constant + slope * x - 2 * square * x**2


def as_numbers(n_classes: NClasses) -> tuple[int, ...]:
    """Return the number of classes of each target, from one number or several."""
    return (n_classes,) if isinstance(n_classes, Integral) else tuple(n_classes)  # type: ignore[arg-type, return-value]


def free_weight(n_classes: NClasses) -> float:
    """Return the largest weight of the second moment that leaves the sensitivity unchanged.

    The sensitivity here is for a replaced record. The weight is also at most
    ``sqrt((1 - 1 / n_classes + total**2) / 2)``, because of the condition on ``m`` in the notes of
    `sensitivity`. For several targets, it is also small enough for `Blocks.one_changed`, which
    holds for any single target without this limit.
    """
    return _free_weight(tuple(map(int, as_numbers(n_classes))))


@lru_cache(maxsize=1000)
def _free_weight(numbers: tuple[int, ...]) -> float:
    """Return the `free_weight` of targets with these numbers of classes."""
    a = 1 - sum(1 / number for number in numbers) / len(numbers)
    most = math.sqrt((a + WITHOUT_PUBLIC_ROWS.total**2) / 2)

    def change(weight: float) -> float:
        return sensitivity(2, WITHOUT_PUBLIC_ROWS, n_classes=numbers, moment_weight=weight)

    without = change(0.0)
    if len(numbers) > 1:
        one = sensitivity(1, WITHOUT_PUBLIC_ROWS, n_classes=numbers)
        limit = WITHOUT_PUBLIC_ROWS.one_changed * (1 - 1e-9) * without**2
        most = min(most, math.sqrt(limit - one**2))
    if change(most) <= without:
        return most
    return bisect(lambda weight: change(weight) <= without, 0.0, most, 60)[0]


def noise_of_sums(mu: float, blocks: Blocks, *, n_classes: NClasses) -> float:
    """Return the standard deviation of the noise on each sum by class, in records.

    A block of weight w, such as the total, has this noise divided by ``w * sqrt(q)``, for q
    targets.

    Parameters
    ----------
    mu : float
        Gaussian privacy parameter of all blocks together, for a replaced record.
    blocks : Blocks
        The released blocks.
    n_classes : int or tuple of int
        Number of classes; for several targets, the number of each.
    """
    weight = free_weight(n_classes) if blocks.has_moment else 0.0
    changed = sensitivity(2, blocks, n_classes=n_classes, moment_weight=weight)
    return changed / mu * ROUNDED * math.sqrt(len(as_numbers(n_classes)))


def noise_sizes(mu: float, *, n_classes: NClasses) -> tuple[float, float, float]:
    """Return the noise standard deviations of the mean, the sums by class and the moment.

    `mu` is the Gaussian privacy parameter of all of them together, for a replaced record. The first
    standard deviation is that of the sum of rows, before it is divided by their number.
    """
    sd_centre = 2 / (mu * math.sqrt(MEAN_FRACTION)) * ROUNDED
    rest = mu * math.sqrt(1 - MEAN_FRACTION)
    sd = noise_of_sums(rest, WITHOUT_PUBLIC_ROWS, n_classes=n_classes)
    n_targets = len(as_numbers(n_classes))
    return sd_centre, sd, sd / (free_weight(n_classes) * math.sqrt(n_targets))


def sums_contribution(neighbors: Neighbors, blocks: Blocks) -> Contribution:
    """Return the contribution of one unit to all blocks and, without public rows, to the mean.

    The contribution is relative to the L2 sensitivity for a replaced record, with each block
    multiplied by its weight.

    Parameters
    ----------
    neighbors : rdp.Neighbors
        The neighboring data sets.
    blocks : Blocks
        The released blocks.

    Returns
    -------
    rdp.Contribution
        Contribution with `l2_squared`; the other norms are unknown, so they are infinite.
    """
    l2_squared = blocks.one_changed if neighbors.n_units == 1 else 1.0
    return Contribution(l1=math.inf, l2_squared=l2_squared, linf=math.inf)


def centre_cost(
    noise_multiplier: float, contribution: Contribution, orders: ArrayLike = DEFAULT_ORDERS
) -> Cost:
    """Return the cost of the mean only.

    Parameters
    ----------
    noise_multiplier, contribution, orders
        As in `sums_cost`.

    Notes
    -----
    `noise_sizes` assigns `MEAN_FRACTION` of mu squared, for a replaced record, to the mean. If a
    record is added or removed, the squared change of the sum of rows and of the number of records
    is 1 plus the squared weight of the counts. This is less than `Blocks.one_changed` times 4,
    where 4 is the squared change by a replaced record.
    """
    cost = sums_cost(noise_multiplier, contribution, orders)
    part = MEAN_FRACTION * ROUNDED
    return Cost(part * cost.rdp, part * cost.mu_squared, math.inf)


def centre_record(name: str, contribution: Contribution, *, noise_multiplier: float) -> Record:
    """Return the record of the mean only, for privacy statements; its cost is `centre_cost`.

    Parameters
    ----------
    name, contribution, noise_multiplier
        As in `sums_record`.
    """
    scale = noise_multiplier / math.sqrt(MEAN_FRACTION * ROUNDED)
    return gaussian_record(name, contribution, scale=scale, grid=1 / STEPS_PER_UNIT)


def sums_cost(
    noise_multiplier: float, contribution: Contribution, orders: ArrayLike = DEFAULT_ORDERS
) -> Cost:
    """Return the cost of the mean, all sums and, if they are released, the residuals.

    Parameters
    ----------
    noise_multiplier : float
        Noise standard deviation divided by the L2 sensitivity of all blocks together, for a
        replaced record.
    contribution : rdp.Contribution
        From `sums_contribution`.
    orders : array-like of shape (n_orders,), default=DEFAULT_ORDERS
        Renyi orders, above 1.

    Returns
    -------
    Cost

    Notes
    -----
    The change by one record, with each block divided by the standard deviation of its noise, is at
    most ``1 / noise_multiplier``. The noise of each block has a standard deviation of at least
    ``noise_multiplier / STEP`` steps, so the extra cost of discrete noise is at most its cost at
    this number of steps; see `rdp.discrete_gaussian_mu_squared`. Renyi cost: Canonne, Kamath,
    Steinke (2020), Proposition 5. Residuals depend on published sums only, and have their own part
    of mu squared (adaptive composition: Dong, Roth, Su 2022).
    """
    check_contribution(contribution)
    changed = contribution.l2_squared
    mu_squared = discrete_gaussian_mu_squared(
        [noise_multiplier * STEPS_PER_UNIT], [STEPS_PER_UNIT**2]
    )
    rdp = check_orders(orders) / (2 * noise_multiplier**2)
    return Cost(changed * rdp, changed * mu_squared, math.inf)


def sums_record(
    name: str,
    contribution: Contribution,
    *,
    noise_multiplier: float,
    blocks: Record | None = None,
) -> Record:
    """Return the record of the sums, for privacy statements; its cost is `sums_cost`.

    Parameters
    ----------
    name : str
        The released statistic, in words.
    contribution, noise_multiplier
        As in `sums_cost`.
    blocks : dict or None, default=None
        From `blocks_record`.
    """
    return gaussian_record(
        name, contribution, scale=noise_multiplier, grid=1 / STEPS_PER_UNIT, blocks=blocks
    )


def blocks_record(
    blocks: Blocks, contribution: Contribution, *, noise: float, n_classes: int
) -> Record:
    """Return the released blocks, from which `sensitivity` can be recomputed.

    Parameters
    ----------
    blocks : Blocks
        The released blocks; they share one noise multiplier.
    contribution : rdp.Contribution
        From `sums_contribution`.
    noise : float
        Standard deviation of the noise on each sum by class, in records.
    n_classes : int
        Number of classes.
    """
    return {
        "n_classes": int(n_classes),
        "n_changed": 1 if contribution.l2_squared < 1 else 2,
        "total": exact_text(blocks.total),
        "counts": exact_text(blocks.counts),
        "moment": exact_text(free_weight(n_classes) if blocks.has_moment else 0.0),
        "least_product": exact_text(blocks.min_product),
        "noise": exact_text(noise),
    }


class GatheredTotal(NamedTuple):
    """The sum of all rows and their number, in whole steps: private.

    Attributes
    ----------
    total : ndarray of shape (n_columns,), int
    n_records : ndarray of shape (1,), int
    whole : int
        Ticks of a whole record, from `ticks_of`.
    """

    total: np.ndarray
    n_records: np.ndarray
    whole: int

    def plus(self, other: GatheredTotal) -> GatheredTotal:
        """Return the sum over the records of both."""
        total, n_records = plus(self[:2], other[:2])
        return GatheredTotal(total, n_records, self.whole)


class GatheredSums(NamedTuple):
    """Counts, sums by class and second moment about a centre, in whole steps: private.

    Attributes
    ----------
    counts : ndarray of shape (n_classes,), int
    by_class : ndarray of shape (n_classes, n_columns), int
    moment : ndarray of shape (n_columns, n_columns), int
    whole : int
        Ticks of a whole record, from `ticks_of`.
    target : targets.Target
        Its values are the classes, or levels, of the sums.
    """

    counts: np.ndarray
    by_class: np.ndarray
    moment: np.ndarray
    whole: int
    target: Target

    def plus(self, other: GatheredSums) -> GatheredSums:
        """Return the sums over the records of both."""
        counts, by_class, moment = plus(self[:3], other[:3])
        return GatheredSums(counts, by_class, moment, self.whole, self.target)


def gather_total(
    rows: Rows,
    part: tuple[np.ndarray, int],
    n_jobs: int | None = None,
    encode: Callable[[Rows], np.ndarray] = np.asarray,
) -> GatheredTotal:
    """Return the sum of all rows and their number, a `GatheredTotal`.

    Parameters
    ----------
    rows, part, n_jobs, encode
        As in `gather_sums`.
    """
    amount, whole = part
    kind = exact_type(len(amount) * whole * STEPS_PER_UNIT)
    total, n_records = sums_over_blocks(_mean_of, n_jobs, encode, kind, rows, amount)
    return GatheredTotal(total, n_records, whole)


def publish_centre(gathered: GatheredTotal, sd: float, rng: np.random.Generator) -> Centre:
    """Return the mean of all rows, with noise of standard deviation `sd` on the sum of each column.

    The sums are divided by the noisy number of records, which has half the weight, and shrunk to 0
    by their noise. For a replaced record, this number costs nothing: it changes only if one of the
    two records cannot be encoded, and the sums then change by less.

    Parameters
    ----------
    gathered : GatheredTotal
        From `gather_total`.
    sd : float
        From `noise_sizes`.
    rng : numpy.random.Generator
        Source of the noise.

    Returns
    -------
    Centre
    """
    step = STEP / gathered.whole
    total = noisy_sums(gathered.total, sd, step, rng)
    number = gathered.n_records * STEPS_PER_UNIT
    noisy = noisy_sums(number, sd / WITHOUT_PUBLIC_ROWS.counts, step, rng)
    count = max(noisy[0], sd)
    mean = total / count
    variance = (sd / count) ** 2
    seen = max(mean @ mean, variance)
    return Centre(mean * max(0.0, 1 - len(mean) * variance / seen))


def gather_sums(
    rows: Rows,
    codes: np.ndarray,
    part: tuple[np.ndarray, int],
    centre: Centre,
    *,
    target: Target,
    n_jobs: int | None = None,
    encode: Callable[[Rows], np.ndarray] = np.asarray,
) -> GatheredSums:
    """Return counts, sums by class and second moment of rows about a centre, a `GatheredSums`.

    Parameters
    ----------
    rows : array-like with n_rows rows
        The records.
    codes : ndarray of shape (n_rows,)
        Labels or numbers as codes, from ``target.encode``.
    part : (ndarray, int)
        From `ticks_of`.
    centre : Centre
        From `publish_centre`.
    target : targets.Target
        Its values are the classes, or levels, of the sums.
    n_jobs : int, default=None
        As in joblib. The sums do not depend on it.
    encode : callable
        Returns `psi` of some rows, (n_rows, n_columns). Each has a length of at most 1, and a row
        of zeros adds nothing.
    """
    amount, whole = part
    kind = exact_type(len(amount) * whole * STEPS_PER_UNIT**2)
    sums_of = partial(_sums_of, centre=centre, target=target)
    counts, by_class, moment = sums_over_blocks(sums_of, n_jobs, encode, kind, rows, amount, codes)
    return GatheredSums(counts, by_class, moment, whole, target)


def publish_sums(
    gathered: GatheredSums, sd: float, sd_moment: float, rng: np.random.Generator
) -> Sums:
    """Return noisy `Sums`; their last column is the constant entry of rows.

    Parameters
    ----------
    gathered : GatheredSums
        From `gather_sums`.
    sd, sd_moment : float
        From `noise_sizes`.
    rng : numpy.random.Generator
        Source of the noise.
    """
    counts, by_class, moment, whole, target = gathered
    parts = [about_mean(by_class[own]) for own in target.columns_by_target]
    _, total = parts[0]  # the same for all targets
    step = STEP / whole
    exact = Sums(counts, by_class, total, moment, sd, sd_moment, target, target.n_targets)
    return exact._replace(
        counts=noisy_sums(counts * STEPS_PER_UNIT, sd / WITHOUT_PUBLIC_ROWS.counts, step, rng),
        by_class=np.concatenate(
            [noisy_sums(centred, sd, step / len(centred), rng) for centred, _ in parts]
        ),
        total=noisy_sums(total, exact.sd_total, step, rng),
        moment=_noisy_moment(moment, sd_moment, step * STEP, rng),
    )


def about_mean(by_class: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return sums by class about their mean, and their total, as Python integers.

    Parameters
    ----------
    by_class : ndarray of shape (n_classes, n_columns), int
        Sums in whole steps.

    Returns
    -------
    centred : ndarray of shape (n_classes, n_columns), object
        Sums of ``one_hot(y) - 1 / n_classes``, in steps divided by the number of classes.
    total : ndarray of shape (n_columns,), object
        Sums over all classes, in the steps of `by_class`.
    """
    by_class = by_class.astype(object)  # a product with the number of classes may exceed 64 bits
    total = by_class.sum(axis=0)
    return len(by_class) * by_class - total, total


def sums_over_blocks(
    sums_of: Callable[..., tuple[np.ndarray, ...]],
    n_jobs: int | None,
    encode: Callable[[Rows], np.ndarray],
    kind: type,
    *records: Any,
) -> list[np.ndarray]:
    """Add the sums of blocks of rows as integers; the sums of each block are exact in floats."""
    size = _BLOCKS_OF_TASK * _ROWS
    size_of_batch = block_batch_size(len(records[-1]), size, n_jobs)
    tasks = ((block,) for block in _blocks(records, size))
    add_task = partial(_of_task, sums_of, encode, kind, _ROWS)
    with threads_limited(threads_per_worker(n_jobs)):
        return reduce(_plus, run(tasks, add_task, n_jobs, size_of_batch))


def _blocks(records: Sequence[Any], size: int) -> Iterator[tuple[Any, ...]]:
    """Yield blocks of rows of arrays, or of tables."""
    for start in range(0, len(records[-1]), size):
        yield tuple(_sliced(part, slice(start, start + size)) for part in records)


def _sliced(part: Any, rows: slice) -> Any:
    """Return rows of an array, or of a table; `_safe_indexing` takes long to find the type."""
    return part[rows] if isinstance(part, np.ndarray) else _safe_indexing(part, rows)


def _plus(sums: list[np.ndarray], others: list[np.ndarray]) -> list[np.ndarray]:
    return list(map(np.add, sums, others))


def _of_task(
    sums_of: Callable[..., tuple[np.ndarray, ...]],
    encode: Callable[[Rows], np.ndarray],
    kind: type,
    size: int,
    records: tuple[Any, ...],
) -> list[np.ndarray]:
    """Add the sums of the blocks of a task."""
    with suppress_output():  # in workers as well
        found = (sums_of(encode(rows), *others) for rows, *others in _blocks(records, size))
        return reduce(_plus, ([part.astype(kind) for part in parts] for parts in found))


def _mean_of(psi: np.ndarray, amount: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the sum of the rows of a block, and their number."""
    steps = whole_steps(psi)
    return amount @ steps, np.array([amount @ steps.any(axis=1)])


def _sums_of(
    psi: np.ndarray, amount: np.ndarray, codes: np.ndarray, *, centre: Centre, target: Target
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return counts, sums by class and second moment of a block, about the centre."""
    steps = whole_steps(centre.apply(psi))
    weighted = steps * amount[:, None]
    cast = target.contributions(codes, amount)
    counts = cast[steps.any(axis=1)].sum(axis=0)
    moment = (weighted.T.astype(float) @ steps.astype(float)).astype(np.int64)
    return counts, of_classes(steps, cast), moment


def of_classes(steps: np.ndarray, cast: np.ndarray) -> np.ndarray:
    """Return sums of whole steps by class; a block has few enough rows for exact floats."""
    return (cast.T.astype(float) @ steps.astype(float)).astype(np.int64)


def whole_steps(psi: np.ndarray) -> np.ndarray:
    """Return rows in whole steps; rows that are not finite, or longer than 1, become zeros.

    No record raises an error, because an error would disclose information without noise.
    """
    steps = np.trunc(np.clip(psi, -1, 1) * (STEPS_PER_UNIT * (1 - 1e-12)))
    fits = (steps * steps).sum(axis=1) <= STEPS_PER_UNIT**2  # False for NaN
    return np.where(fits[:, None], steps, 0).astype(np.int64)


def noisy_sums(whole: np.ndarray, sd: float, step: float, rng: np.random.Generator) -> np.ndarray:
    """Add noise to whole numbers of steps, and return them in units."""
    return plus_noise(whole, DiscreteGaussian(sd / step).sample(rng, whole.shape), step)


def _noisy_moment(
    whole: np.ndarray, sd: float, step: float, rng: np.random.Generator
) -> np.ndarray:
    """Add symmetric noise to a matrix; entries off the diagonal occur twice, so get less noise."""
    n = len(whole)
    above = np.triu_indices(n, 1)
    noisy = np.zeros((n, n))
    noisy[above] = noisy_sums(whole[above], sd / math.sqrt(2) * ROUNDED, step, rng)
    noisy += noisy.T
    noisy[np.diag_indices(n)] = noisy_sums(np.diag(whole), sd, step, rng)
    return noisy
