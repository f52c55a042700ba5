"""Release of one common scale of all columns with declared bounds, where records are few.

Declared bounds may be far too wide. With enough records, a `SchemaRelease` estimates edges within
them. With fewer records, its noise hides single columns, but not the mean of all columns. This
release counts, in one small histogram, which powers of two the numbers of all columns reach,
relative to their bounds. If all are far below their bounds, the bounds are narrowed.

Statistic: mean over the columns of the bins of a record's numbers. Contribution: the counts of a
record have a sum of at most 1. Noise: discrete Gaussian, on each count.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from joblib import Memory
from numpy.typing import ArrayLike
from scipy.stats import norm

from ..encoding.values import distinct_cells
from ..rdp import DEFAULT_ORDERS, Contribution, Cost, discrete_gaussian_mu_squared
from ..rdp.checks import check_orders
from ..rdp.discrete import DiscreteGaussian
from ..rdp.records import Record, gaussian_record
from ..secure import plus_noise
from .counts import TICKS, _added, _blocks, _changed, _column, _counted, _Rows, _sd

#: Number of powers of two on either side of zero; smaller numbers count as zero.
N_POWERS = 20

#: Number of bins: zero, positive numbers, and negative numbers.
N_BINS = 1 + 2 * N_POWERS

#: Bounds are narrowed if the found range is at most this fraction of them.
_MUCH_NARROWER = 1 / 8

#: Probability that noise alone makes a bin of one sign look occupied.
_FALSE_ALARM = 0.001

#: Declared bounds of a column.
Bounds = tuple[float, float]


@dataclass(frozen=True)
class ScaleRelease:
    """Counts, noise and cost of a release of a common scale.

    Parameters
    ----------
    bounds : tuple of (float, float)
        Declared bounds of each column, the lower one below the upper one.
    mu : float
        Gaussian privacy parameter, for a replaced record.

    Notes
    -----
    *Statistic.* A number is clipped to the bounds of its column and divided by the larger absolute
    bound. Its bin is determined by its sign and its power of two. Gaps and texts count nowhere.

    *Contribution.* The ticks of a record are divided among the columns and rounded down, so its
    counts are at least 0 and have a sum of at most 1. Their L2 norm is at most 1. If one record is
    replaced, two such vectors without negative entries are exchanged, so the squared L2 change is
    at most 2; if one is added or removed, it is at most 1. The records of a group share the ticks
    of one record.

    *Cost.* The noise is discrete Gaussian, so `rdp.discrete_gaussian_mu_squared` computes the cost.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_pate.schema_release.scales import ScaleRelease
    >>> release = ScaleRelease(bounds=((0.0, 16_000.0),) * 8, mu=0.1)
    >>> columns = np.random.default_rng(0).integers(0, 17, size=(2000, 8)).astype(float)
    >>> counts = release.gather(columns, np.full(2000, 2**12))
    >>> noisy = release.publish(counts, np.random.default_rng(1))
    >>> release.narrowed(noisy)[0]
    (0.0, 31.25)
    """

    bounds: tuple[Bounds, ...]
    mu: float

    @property
    def sd(self) -> float:
        """Standard deviation of the noise on each count, in records."""
        return _sd(2, self.mu)

    def cost(self, contribution: Contribution, orders: ArrayLike = DEFAULT_ORDERS) -> Cost:
        """Return the `Cost` of the release.

        Parameters
        ----------
        contribution : rdp.Contribution
            From `counts.schema_contribution`.
        orders : array-like of float, default=DEFAULT_ORDERS
            Renyi orders.
        """
        own = discrete_gaussian_mu_squared([self.sd * TICKS], [2 * TICKS**2]) * (1 + 1e-7)
        mu_squared = contribution.l2_squared * own
        return Cost(check_orders(orders) * mu_squared / 2, mu_squared, math.inf, 0.0)

    def records(self, contribution: Contribution) -> list[Record]:
        """Return the record of the release, for privacy statements; its cost is `cost`.

        Parameters
        ----------
        contribution : rdp.Contribution
            As in `cost`.
        """
        return [
            gaussian_record(
                "noisy counts of all columns in bins between powers of two, relative to the bounds",
                _changed(contribution.l2_squared * 2),
                scale=self.sd,
                grid=1 / TICKS,
            )
        ]

    def gather(
        self,
        columns: Any,
        amount: np.ndarray,
        n_jobs: int | None = None,
        *,
        places: Sequence[int] | None = None,
        memory: Memory | None = None,
    ) -> np.ndarray:
        """Return the private counts, (N_BINS,), in ticks.

        Parameters
        ----------
        columns, amount, n_jobs, memory
            As in `SchemaRelease.gather_ranges`.
        places : sequence of int, default=None
            Position in `columns` of the column of each pair of bounds; None for all columns.

        Raises
        ------
        TeacherError
            If a block could not be counted. The message has no private value.
        """
        count = partial(_count_scales, bounds=self.bounds)
        blocks = _blocks(columns, places, amount, None)
        (counts,) = _added(count, blocks, len(amount), n_jobs, memory, ("scales", self.bounds))
        return counts

    def publish(self, counts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return the noisy counts, in records."""
        noise = DiscreteGaussian(self.sd * TICKS).sample(rng, counts.shape)
        return plus_noise(counts, noise, 1 / TICKS)

    def narrowed(self, noisy: np.ndarray) -> tuple[Bounds, ...]:
        """Return the bounds of each column, narrowed by the noisy counts if they are too wide.

        Parameters
        ----------
        noisy : ndarray of shape (N_BINS,)
            Noisy counts, in records.
        """
        positive, negative = np.split(noisy[1:], 2)
        high, low = (_largest(counts, self.sd) for counts in (positive, negative))
        if max(high, low) == 0.0 or max(high, low) > _MUCH_NARROWER:
            return self.bounds
        return tuple(_within(bounds, -low, high) for bounds in self.bounds)


def _largest(counts: np.ndarray, sd: float) -> float:
    """Return the power of two that the numbers of one sign do not exceed; 0 without numbers.

    Sums of two and of four neighboring bins are tested as well. The bin with the largest count of a
    significant sum is occupied.
    """
    z = norm.isf(_FALSE_ALARM / (3 * len(counts)))
    occupied = []
    for width in (1, 2, 4):
        sums = np.convolve(counts, np.ones(width), "valid")
        starts = np.flatnonzero(sums > z * sd * math.sqrt(width))
        occupied += [start + np.argmax(counts[start : start + width]) for start in starts]
    return 2.0 ** -int(min(occupied)) if occupied else 0.0


def _within(bounds: Bounds, low: float, high: float) -> Bounds:
    """Return bounds that are narrowed to relative ones, or the same if these do not fit."""
    size = _size(bounds)
    narrow = max(bounds[0], low * size), min(bounds[1], high * size)
    return narrow if narrow[0] < narrow[1] else bounds


def _size(bounds: Bounds) -> float:
    return max(abs(bounds[0]), abs(bounds[1]))


def _bins(numbers: np.ndarray, bounds: Bounds) -> np.ndarray:
    """Return the bin of each number, (n_rows,), from that number alone."""
    relative = np.clip(numbers, *bounds) / _size(bounds)
    _, exponent = np.frexp(np.abs(relative))
    power = np.maximum(-exponent, 0)
    is_zero = (relative == 0) | (power >= N_POWERS)
    return np.where(is_zero, 0, 1 + power + np.where(relative < 0, N_POWERS, 0))


def _count_scales(block: _Rows, bounds: tuple[Bounds, ...]) -> list[Any]:
    """Return the counts of a block, (N_BINS,), in a list."""
    counts = np.zeros(N_BINS, dtype=np.int64)
    amount = block.amount // len(bounds)
    for (place,), own in zip(block.places, bounds, strict=True):
        cells, codes = distinct_cells(_column(block.columns, place))
        ticks = amount if codes is None else _counted(codes, amount, len(cells.numbers))
        are_numbers = ~np.isnan(cells.numbers)
        counts += _counted(_bins(cells.numbers[are_numbers], own), ticks[are_numbers], N_BINS)
    return [counts]
