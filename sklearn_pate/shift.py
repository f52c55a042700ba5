"""Shift between public rows and private records, from released statistics.

Public rows may come from another population, or have a column in another unit. A released statistic
shows this: the published votes per group of cells differ from the public rows per group, or the
published mean of encoded records differs from the mean of encoded public rows. All functions read
published statistics and public rows alone, so they have no privacy cost.

A shift raises an alarm if it is more than `LEAST_Z` standard deviations above its expectation
without a shift. Noise, and the sampling of records and of public rows, explain this expectation.
The mean of each encoded column is compared as well: a single column in another unit may move the
votes only little between groups, and be one of many columns of the sums.
"""

import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from scipy.special import log_ndtr, ndtri_exp

__all__ = ["PublicShift", "shift_of_sums", "shift_of_votes", "weights_of_cells"]

#: Number of groups that cells are joined into. Over single cells, shifts would hide in the noise.
N_GROUPS = 32

#: Standard deviations above the expectation from which a shift raises an alarm.
LEAST_Z = 4.0

#: Distance that groups and weights of records may add. The votes of a group are the mean of the
#: votes of its records, so records of large groups count less than public rows. On Diabetes, where
#: patients are groups, this added 0.09 to the distance of votes, and 0.05 to the distance of sums.
OF_UNEQUAL_RECORDS = 0.1

#: Difference of the means of a column that is no shift, in standard deviations. Cells are made of
#: public rows, which are nearer to the centers than records are; `cells_without_own_row` corrects
#: most of this difference.
_MIN_MEAN_DISTANCE = 0.15

#: Difference of the means of a column, in standard deviations, at a total variation distance of 1:
#: two normal distributions ``d`` standard deviations apart have a total variation distance of about
#: ``0.4 * d``.
_STDS_OF_DISTANCE = 2.5

#: Distances above which fits without public rows were mostly better, if noise and sampling do not
#: explain the distance (`PublicShift.is_distant`); see docs/results/shift_scores.csv. Class sums
#: have no weights, and use the covariance of public rows.
_FAR = {"votes": 0.5, "sums": 0.0}

#: Limits of the weight of a public row.
_MIN_WEIGHT, _MAX_WEIGHT = 1 / 3, 3.0


@dataclass(frozen=True, kw_only=True)
class PublicShift:
    """Distance between public rows and private records, by published statistics.

    Attributes
    ----------
    statistic : {"votes", "sums"}
        Published statistic that is compared with the public rows.
    distance : float
        For votes, the total variation distance between the published votes and the public rows,
        over groups of cells: the fraction of the votes that would have to move, from 0 to 1. For
        sums, the distance of the two means of encoded rows, divided by the root of the total
        variance of the public rows.
    expected : float
        Expected distance without a shift.
    z : float
        Standard deviations of the distance above `expected`. About standard normal without a shift.
    tolerance : float
        Additional distance without a shift, for groups and weights of records.
    mean_distance : float
        Largest difference between the published mean of an encoded column and the mean of the
        public rows. For votes, each record and row is in the center of its cell. The unit is the
        standard deviation of the column over records and public rows together or, for sums, an
        upper bound of it (see `shift_of_sums`). The largest difference is the one with the largest
        ratio to its standard error.
    mean_z : float
        This ratio, reduced by the number of columns: a standard normal variable exceeds it with
        the probability that the ratio of any column is as large, at most (Bonferroni). Minus
        infinity if this bound of the probability is 1, or if no column varies.
    cell_weight : ndarray of shape (n_cells,) or None
        Weight of a public row in each cell; see `weights_of_cells`. None for sums.
    """

    statistic: Literal["votes", "sums"]
    distance: float
    expected: float
    z: float
    tolerance: float = 0.0
    mean_distance: float = 0.0
    mean_z: float = -math.inf
    cell_weight: np.ndarray | None = field(default=None, repr=False, compare=False)

    @property
    def is_alarm(self) -> bool:
        """Whether noise, sampling and the tolerance do not explain one of the distances."""
        return self.is_distant or self.mean_is_off

    @property
    def is_distant(self) -> bool:
        """Whether noise, sampling and the tolerance do not explain `distance`."""
        return self.z > LEAST_Z and self.distance > self.expected + self.tolerance

    @property
    def mean_is_off(self) -> bool:
        """Whether noise, sampling and the tolerance do not explain the mean of a column."""
        least = max(_MIN_MEAN_DISTANCE, _STDS_OF_DISTANCE * self.tolerance)
        return self.mean_z > LEAST_Z and self.mean_distance > least

    @property
    def is_far(self) -> bool:
        """Whether a fit without public rows is probably better."""
        return self.is_distant and self.distance > _FAR[self.statistic]


def shift_of_votes(
    noisy: np.ndarray,
    public: np.ndarray,
    centers: np.ndarray,
    noise_std: float,
    *,
    tolerance: float = 0.0,
) -> PublicShift:
    """Compare the published votes with the public rows, over groups of cells.

    Parameters
    ----------
    noisy : ndarray of shape (n_cells, n_classes)
        Published votes, with noise.
    public : ndarray of shape (n_public, n_neighbors), int
        The cells of each public row; see `neighbors.smoothing.shift_of_rows_that_made_cells` for
        rows that made the cells.
    centers : ndarray of shape (n_cells, n_columns)
        Centers of the cells.
    noise_std : float
        Standard deviation of the noise on each entry of `noisy`, in votes.
    tolerance : float, default=0.0
        As in `PublicShift`.

    Returns
    -------
    PublicShift

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_pate.shift import shift_of_votes
    >>> centers, public = np.arange(4.0)[:, None], np.repeat([0, 1, 2, 3], 100)[:, None]
    >>> counts = np.array([[700.0, 100.0], [100.0, 50.0], [30.0, 10.0], [10.0, 0.0]])
    >>> shift = shift_of_votes(counts, public, centers, noise_std=2.8)
    >>> shift.is_alarm, shift.cell_weight.round(2)
    (True, array([3.  , 0.6 , 0.33, 0.33]))

    Notes
    -----
    With the fraction s of the public rows in a group, P public rows, n records, q cells in the
    group and K classes, the difference of the two fractions has the variance ::

        v = s / n + s / P + K q (sigma / n)^2

    without a shift. The total variation distance has the mean ``sum(sqrt(2 v / pi)) / 2`` and the
    standard deviation ``sqrt((1 - 2 / pi) sum(v)) / 2``, with sums over groups. If records vote in
    several cells, the first two s are mean squares of the part of a row in the group. The
    variances are upper bounds, as fractions of groups are negatively correlated: z has a mean of
    about -0.6.

    The means of encoded columns are compared with each row in the center of its cell. With the
    centers m of a column about their mean, and their mean square V, the difference of the means has
    the variance ::

        V / n + V / P + K (sigma / n)^2 sum(m^2)

    without a shift. V is the mean square over records and public rows together, but at least the
    one over public rows: few public rows do not show the variance of a rare category.
    """
    n_cells, n_classes = noisy.shape
    n_public, n_neighbors = public.shape
    in_cell = np.bincount(public.ravel(), minlength=n_cells) / n_neighbors
    total = noisy.sum(axis=1) / n_neighbors
    noise_std = noise_std / n_neighbors
    n = max(total.sum(), noise_std * math.sqrt(noisy.size), 1.0)
    group = _groups(centers, in_cell)
    share = np.bincount(group, in_cell) / n_public
    observed = np.bincount(group, total) / n
    n_entries = n_classes * np.bincount(group)
    # With several cells for each record, the mean square of a record's part in the group
    of_row = group[public]
    square = np.array([((of_row == g).mean(axis=1) ** 2).mean() for g in range(len(share))])
    variance = square / n + square / n_public + n_entries * (noise_std / n) ** 2
    distance = np.abs(observed - share).sum() / 2
    expected = np.sqrt(2 * variance / math.pi).sum() / 2
    std = math.sqrt((1 - 2 / math.pi) * variance.sum()) / 2
    mean_distance, mean_z = _shift_of_means(
        total / n, public, centers, n=n, noise_std=noise_std * math.sqrt(n_classes)
    )
    return PublicShift(
        statistic="votes",
        distance=float(distance),
        expected=float(expected),
        z=float((distance - expected) / std),
        tolerance=tolerance,
        mean_distance=mean_distance,
        mean_z=mean_z,
        cell_weight=weights_of_cells(
            total, in_cell, n=n, noise_std=noise_std * math.sqrt(n_classes)
        ),
    )


def _shift_of_means(
    observed: np.ndarray, public: np.ndarray, centers: np.ndarray, *, n: float, noise_std: float
) -> tuple[float, float]:
    """Return `mean_distance` and `mean_z` of `PublicShift`.

    Parameters
    ----------
    observed : ndarray of shape (n_cells,)
        Fraction of the published votes in each cell.
    public, centers
        As in `shift_of_votes`.
    n : float
        Number of records.
    noise_std : float
        Standard deviation of the noise on the votes in a cell.
    """
    rows = centers[public].mean(axis=1)
    middle = rows.mean(axis=0)
    away = centers - middle
    of_public = ((rows - middle) ** 2).mean(axis=0)
    of_records = np.maximum(observed @ away**2, 0)  # noise may make it negative
    n_public = len(public)
    variance = np.maximum(of_public, (n_public * of_public + n * of_records) / (n_public + n))
    noise_variance = (noise_std / n) ** 2 * (away**2).sum(axis=0)
    error_variance = variance * (1 / n + 1 / n_public) + noise_variance
    return _largest_difference(np.abs(observed @ away), variance, error_variance)


def _largest_difference(
    difference: np.ndarray, variance: np.ndarray, error_variance: np.ndarray
) -> tuple[float, float]:
    """Return `mean_distance` and `mean_z` of `PublicShift`.

    Parameters
    ----------
    difference : ndarray of shape (n_columns,)
        Absolute differences of the means.
    variance : ndarray of shape (n_columns,)
        Variance of each column.
    error_variance : ndarray of shape (n_columns,)
        Variance of each difference without a shift.
    """
    # A column that is equal in nearly all rows has no standard error
    varies = variance > 1e-9 * variance.max()
    if not varies.any():
        return 0.0, -math.inf
    difference, variance = difference[varies], variance[varies]
    ratio = difference / np.sqrt(error_variance[varies])
    most = int(ratio.argmax())
    log_p = math.log(2 * len(ratio)) + log_ndtr(-ratio[most])
    mean_distance = difference[most] / math.sqrt(variance[most])
    return float(mean_distance), float(-ndtri_exp(min(log_p, 0.0)))


def _groups(centers: np.ndarray, in_cell: np.ndarray) -> np.ndarray:
    """Return the group of each cell; groups are clusters of the cells, weighted by public rows."""
    if len(centers) <= N_GROUPS:
        return np.arange(len(centers))
    from sklearn.cluster import KMeans

    clusters = KMeans(N_GROUPS, n_init=1, random_state=0)  # any seed suffices
    return clusters.fit_predict(centers, sample_weight=in_cell + 1e-6)


def weights_of_cells(
    total: np.ndarray, in_cell: np.ndarray, *, n: float, noise_std: float
) -> np.ndarray:
    """Return the weight of a public row in each cell: published votes per public row, shrunk.

    Parameters
    ----------
    total : ndarray of shape (n_cells,)
        Published votes in each cell, with noise.
    in_cell : ndarray of shape (n_cells,)
        Number of public rows in each cell.
    n : float
        Number of votes in all cells.
    noise_std : float
        Standard deviation of the noise on each entry of `total`.

    Returns
    -------
    ndarray of shape (n_cells,)
        Weights from 1/3 to 3; 1 in cells without public rows.

    Notes
    -----
    The ratio a of the fractions of votes and of public rows in a cell has the variance v without a
    shift, by noise and sampling. Its variance due to a shift is estimated as
    ``t = max(0, sum(s ((a - 1)^2 - v)))``, where s is the fraction of the public rows in a cell.
    The weight is ``1 + t / (t + v) (a - 1)``, clipped to [1/3, 3].
    """
    weight = np.ones(len(total))
    seen = in_cell > 0
    n_public = in_cell.sum()
    share = in_cell[seen] / n_public
    difference = total[seen] / (n * share) - 1
    variance = 1 / (n * share) + 1 / (n_public * share) + (noise_std / (n * share)) ** 2
    tau_squared = max(0.0, (share * (difference**2 - variance)).sum())
    shrunk = 1 + tau_squared / (tau_squared + variance) * difference
    weight[seen] = np.clip(shrunk, _MIN_WEIGHT, _MAX_WEIGHT)
    return weight


def shift_of_sums(
    total: np.ndarray,
    public: np.ndarray,
    *,
    n: float,
    noise_std: float,
    tolerance: float = 0.0,
) -> PublicShift:
    """Compare the published mean of encoded records with the mean of encoded public rows.

    Parameters
    ----------
    total : ndarray of shape (n_columns,)
        Published sum of the encoded records, with noise.
    public : ndarray of shape (n_public, n_columns)
        Encoded public rows.
    n : float
        Number of records.
    noise_std : float
        Standard deviation of the noise on each entry of `total`.
    tolerance : float, default=0.0
        As in `PublicShift`.

    Returns
    -------
    PublicShift

    Notes
    -----
    Without a shift, the difference of the means has the covariance
    ``C = S (1 / n + 1 / P) + (sigma / n)^2 I``, where S is the covariance of P public rows. Its
    squared length has the mean ``trace(C)`` and the variance ``2 trace(C^2)``, like a scaled
    chi-squared variable with ``trace(C)^2 / trace(C^2)`` degrees of freedom (Satterthwaite 1946).
    Its cube root is about normal (Wilson and Hilferty 1931), which gives `z`.

    The difference d of the means of one column has the variance
    ``W (1 / n + 1 / P) + (sigma / n)^2``. W is the mean square of the column about the mean of the
    public rows, over records and public rows together. Over public rows it is V. Over records it
    is not published, so the bound ``V + m abs(d)`` is used: it holds if records differ from public
    rows only by some records at the public value farthest from the mean, at the distance m. Few
    public rows do not show the variance of a rare category.
    """
    n_public = len(public)
    middle = public.mean(axis=0)
    away = public - middle
    difference = total / n - middle
    total_variance = (away**2).sum() / max(n_public - 1, 1)
    # The smaller of the two Gram matrices has the same trace of its square
    gram = away.T @ away if len(middle) <= n_public else away @ away.T
    trace_of_square = (gram**2).sum() / max(n_public - 1, 1) ** 2
    sampling, noise = 1 / n + 1 / n_public, (noise_std / n) ** 2
    mean = total_variance * sampling + len(middle) * noise
    of_both = 2 * total_variance * sampling * noise
    variance = trace_of_square * sampling**2 + of_both + len(middle) * noise**2
    part = 2 * variance / (9 * mean**2)
    z = ((difference @ difference / mean) ** (1 / 3) - 1 + part) / math.sqrt(part)
    unit = math.sqrt(total_variance) if total_variance > 0 else 1.0
    farthest = np.abs(away).max(axis=0)
    of_records = farthest * np.abs(difference)  # beyond the mean square over public rows
    pooled = (away**2).mean(axis=0) + of_records * n / (n + n_public)
    mean_distance, mean_z = _largest_difference(
        np.abs(difference), pooled, pooled * sampling + noise
    )
    return PublicShift(
        statistic="sums",
        distance=float(math.sqrt(difference @ difference) / unit),
        expected=float(math.sqrt(mean) / unit),
        z=float(z),
        tolerance=tolerance,
        mean_distance=mean_distance,
        mean_z=mean_z,
    )
