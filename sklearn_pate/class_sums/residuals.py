"""Private part of the residual step: sums of rows times the residuals of published discriminants.

After the class sums, their discriminants predict each record. The residual of a record is its label
minus the predicted probability, clipped. The sums of the rows times their residuals are released,
with Gaussian noise: the gradient of the log likelihood of logistic regression, with a clipped
residual. `discriminants.Discriminants` makes one step in this direction.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import expit

from ..runtime.sites import plus
from ..secure import exact_type
from . import statistic
from .statistic import ROUNDED, STEP, STEPS_PER_UNIT, sums_over_blocks, whole_steps

if TYPE_CHECKING:
    from .._typing import Rows
    from .statistic import Centre

#: Fraction of mu**2 that is spent on the residuals; the mean and the class sums get the rest.
RESIDUAL_FRACTION = 0.4

#: Largest size of a residual. Records whose predicted probability of the true class is below 0.7
#: count equally, so the step is less sensitive to few records, and the noise is smaller.
MOST_RESIDUAL = 0.3

#: Ticks of a residual of 1.
_TICKS = 2**12


class GatheredResiduals(NamedTuple):
    """The sums of rows times residuals, in whole steps: private.

    Attributes
    ----------
    total : ndarray of shape (n_columns,), int
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
    total : ndarray of shape (n_columns,)
    sd : float
        Standard deviation of the noise on each sum.
    """

    total: np.ndarray
    sd: float


def noise_of_residuals(mu: float) -> float:
    """Return the standard deviation of the noise on each sum, in records.

    Rows have a length of at most 1, and residuals a size of at most `MOST_RESIDUAL`. So the sums
    change by at most ``2 * MOST_RESIDUAL`` if a record is replaced, and by half of it if a record
    is added or removed.

    Parameters
    ----------
    mu : float
        Gaussian privacy parameter of the residuals, for a replaced record.
    """
    return 2 * MOST_RESIDUAL / mu * ROUNDED


def gather_residuals(
    rows: Rows,
    codes: np.ndarray,
    part: tuple[np.ndarray, int],
    centre: Centre,
    linear: tuple[np.ndarray, float],
    *,
    n_jobs: int | None = None,
    encode: Callable[[Rows], np.ndarray] = np.asarray,
) -> GatheredResiduals:
    """Return the sums of rows about a centre times their residuals, a `GatheredResiduals`.

    Parameters
    ----------
    rows, codes, part, centre, n_jobs, encode
        As in `statistic.gather_sums`; the codes are 0 and 1.
    linear : (ndarray of shape (n_columns,), float)
        Published slopes and constant of the log odds of class 1.
    """
    amount, whole = part
    kind = exact_type(math.ceil(len(amount) * whole * STEPS_PER_UNIT * _TICKS * MOST_RESIDUAL))
    sums_of = partial(_residuals_of, centre=centre, linear=linear)
    (total,) = sums_over_blocks(sums_of, n_jobs, encode, kind, rows, amount, codes)
    return GatheredResiduals(total, whole)


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
    linear: tuple[np.ndarray, float],
) -> tuple[np.ndarray]:
    """Return the sums of the rows of a block, in whole steps, times residuals in whole ticks.

    The log odds of each row are summed by themselves: in a matrix product, their rounding could
    depend on other rows.
    """
    steps = whole_steps(centre.apply(psi))
    slopes, constant = linear
    odds = (steps * STEP * slopes).sum(axis=1) + constant
    residuals = np.clip((codes == 1) - expit(odds), -MOST_RESIDUAL, MOST_RESIDUAL)
    ticks = np.trunc(residuals * _TICKS) * amount
    return ((ticks @ steps.astype(float)).astype(np.int64),)
