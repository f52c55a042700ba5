"""Private part of the residuals, and their noise.

After the class sums, their discriminants predict each record. The residual of a record is a vector
with a number for each class: the one-hot label minus the predicted probabilities, divided by their
distance to the farthest label. So its length is at most 1, and its expected value is 0 if the
prediction is right. Without the division, residuals of uncertain records would be shorter, at the
same sensitivity. For each class, the sums of the rows times their residuals are released, with
Gaussian noise. They are the gradient of the log likelihood of logistic regression, with a weight
for each record. `discriminants.Discriminants` multiplies its discriminants by one number, and makes
a damped Newton step.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import softmax

from ..runtime.sites import plus
from ..secure import exact_type
from . import statistic
from .statistic import ROUNDED, STEP, STEPS_PER_UNIT, sums_over_blocks, whole_steps

if TYPE_CHECKING:
    from .._typing import Rows
    from .statistic import Centre

#: Fraction of mu**2 that is spent on the residuals; the mean and the class sums get the rest.
RESIDUAL_FRACTION = 0.4

#: Ticks of a residual of length 1. A block has few enough rows for exact floats: 4096 rows of 2**14
#: steps, times 2**12 ticks of a residual and 2**12 ticks of a record, are 2**50.
_TICKS = 2**12


class GatheredResiduals(NamedTuple):
    """The sums of rows times residuals, in whole numbers of ``STEP / (_TICKS * whole)``: private.

    Attributes
    ----------
    total : ndarray of shape (n_classes, n_columns), int
    whole : int
        Ticks of a whole record, from `statistic.ticks_of`.
    """

    total: np.ndarray
    whole: int

    def plus(self, other: GatheredResiduals) -> GatheredResiduals:
        """Return the sum over the records of both."""
        (total,) = plus(self[:1], other[:1])
        return GatheredResiduals(total, self.whole)


class Residuals(NamedTuple):
    """The published sums of rows times residuals.

    Attributes
    ----------
    total : ndarray of shape (n_classes, n_columns)
    sd : float
        Standard deviation of the noise on each sum.
    """

    total: np.ndarray
    sd: float


def noise_of_residuals(mu: float) -> float:
    """Return the standard deviation of the noise on each sum, in records.

    Rows and residuals have a length of at most 1, so the length of all their products together is
    at most 1. All sums together change by at most 2 if a record is replaced, and by at most 1 if a
    record is added or removed. The ratio of the squares, 1/4, is below
    `WITHOUT_PUBLIC_ROWS.one_changed`.

    Parameters
    ----------
    mu : float
        Gaussian privacy parameter of the residuals, for a replaced record.
    """
    return 2 / mu * ROUNDED


def gather_residuals(
    rows: Rows,
    codes: np.ndarray,
    part: tuple[np.ndarray, int],
    centre: Centre,
    linear: tuple[np.ndarray, np.ndarray],
    *,
    n_jobs: int | None = None,
    encode: Callable[[Rows], np.ndarray] = np.asarray,
) -> GatheredResiduals:
    """Return the sums of rows about a centre times their residuals, a `GatheredResiduals`.

    Parameters
    ----------
    rows, codes, part, centre, n_jobs, encode
        As in `statistic.gather_sums`.
    linear : (ndarray of shape (n_classes, n_columns), ndarray of shape (n_classes,))
        Published slopes and constants of the logarithms of the class probabilities.
    """
    amount, whole = part
    kind = exact_type(len(amount) * whole * STEPS_PER_UNIT * _TICKS)
    sums_of = partial(_residuals_of, centre=centre, linear=linear)
    (total,) = sums_over_blocks(sums_of, n_jobs, encode, kind, rows, amount, codes)
    return GatheredResiduals(total, whole)


def largest_distance(proba: np.ndarray) -> np.ndarray:
    """Return the distance from class probabilities to the farthest one-hot label, (n_rows, 1).

    Residuals are divided by it, and so are their expected values.
    """
    squared = 1 - 2 * proba.min(axis=1, keepdims=True) + (proba**2).sum(axis=1, keepdims=True)
    return np.sqrt(squared)


def publish_residuals(
    gathered: GatheredResiduals, sd: float, rng: np.random.Generator
) -> Residuals:
    """Return noisy `Residuals`.

    Parameters
    ----------
    gathered : GatheredResiduals
        From `gather_residuals`.
    sd : float
        From `noise_of_residuals`.
    rng : numpy.random.Generator
        Source of the noise.
    """
    step = STEP / (_TICKS * gathered.whole)
    return Residuals(statistic.noisy_sums(gathered.total, sd, step, rng), sd)


def _residuals_of(
    psi: np.ndarray,
    amount: np.ndarray,
    codes: np.ndarray,
    *,
    centre: Centre,
    linear: tuple[np.ndarray, np.ndarray],
) -> tuple[np.ndarray]:
    """Return the sums of the rows of a block, in whole steps, times residuals in whole ticks.

    Ticks are truncated towards zero, and the sum of their squares is a whole number, so rounding of
    floats cannot make a residual longer than `_TICKS`. A record whose discriminants are not finite
    has no residual.
    """
    steps = whole_steps(centre.apply(psi)).astype(float)
    proba = softmax(_logits(steps, *linear), axis=1)
    one_hot = codes[:, None] == np.arange(proba.shape[1])
    residuals = np.nan_to_num((one_hot - proba) / largest_distance(proba))
    ticks = np.trunc(residuals * _TICKS) * amount[:, None]
    return ((ticks.T @ steps).astype(np.int64),)


def _logits(steps: np.ndarray, slopes: np.ndarray, constants: np.ndarray) -> np.ndarray:
    """Return the discriminants of rows in whole steps, (n_rows, n_classes).

    Slopes are rounded to multiples of a power of 2, so small that all partial sums are whole
    numbers below 2**53 of this power. They are exact in any order, so the result for a row does not
    depend on other rows.
    """
    longest = np.abs(slopes).max() * math.sqrt(slopes.shape[1])
    unit = 2.0 ** (math.ceil(math.log2(longest)) - 38) if longest > 0 else 1.0
    return (steps @ np.rint(slopes / unit).T) * (unit * STEP) + constants
