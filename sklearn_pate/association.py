"""Score tests for a relation between features and classes, from released statistics.

The null hypothesis is that class probabilities do not depend on the features. All tests are
computed from released statistics, so they have no privacy cost.
"""

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigh, null_space
from scipy.stats import chi2, norm

#: Significance level: without a relation, at most about this fraction of fits has a smaller
#: p-value.
LEVEL = 0.05

#: Inverse squared widths of the Gaussian kernels, for squared distances with a median of 1.
_STEEPNESS = (1.0, 8.0, 64.0)

#: Powers of the variance of a direction. Each test assumes that squared differences of class means
#: are proportional to one of these powers.
_POWERS = (0.0, 0.5, 1.0, 2.0, 3.0)

#: Fourth cumulant of Laplace noise divided by its squared variance. No other noise of this library
#: has a larger ratio.
_FOURTH_OF_LAPLACE = 3.0

#: Median of a chi-squared variable of one degree of freedom.
_MEDIAN = chi2.median(1)

#: If all records have the same class: approximate probability that the noisy count of another class
#: exceeds the bound in `only_class`.
_RARELY = 1e-3

#: Number of cells, or up to twice as many, from which the median distance is computed.
_MOST_COMPARED = 300

#: Smallest tried ratio of the variance of split votes to the variance of whole votes.
_LEAST_SCATTER = 1e-3


def p_value_of_counts(
    noisy: np.ndarray,
    total: np.ndarray,
    centers: np.ndarray,
    noise_std: float,
    *,
    n_votes: int = 1,
    splits_votes: bool = False,
) -> float:
    """Return the p-value of a noisy table, under equal class probabilities in all cells.

    Parameters
    ----------
    noisy : ndarray of shape (n_cells, n_classes)
        Counts with independent noise on each.
    total : ndarray of shape (n_cells,)
        Expected counts of the cells, above 0.
    centers : ndarray of shape (n_cells, n_columns)
        Centers of the cells.
    noise_std : float
        Standard deviation of the noise; 0 for counts without noise.
    n_votes : int, default=1
        Number of cells that a record votes in.
    splits_votes : bool, default=False
        Whether the classes are ordered levels, and the vote of a record is split between two
        neighbouring ones; see `encoding.targets.Target`.

    Returns
    -------
    float
        P-value, from 0 to 1.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_pate.association import p_value_of_counts
    >>> centers, total = np.arange(20.0)[:, None], np.full(20, 50.0)
    >>> share = np.repeat([0.2, 0.8], 10)
    >>> counts = 50 * np.column_stack([share, 1 - share])
    >>> p_value_of_counts(counts, total, centers, 2.8) < 0.001
    True
    """
    share = _shares(noisy.sum(axis=0))
    # Subtract the expected counts, which are proportional to the noisy total of each cell
    rest = noisy - np.outer(noisy.sum(axis=1), share)
    if splits_votes:
        contrasts = (np.arange(len(share)) - share @ np.arange(len(share)))[:, None]
        of_record = share @ contrasts**2
    else:
        contrasts, of_record = _contrasts(share, len(share))
    of_noise = (contrasts - share @ contrasts) ** 2
    away = rest @ contrasts
    # Because `share` is estimated, each cell's fraction of the overall sum is subtracted
    away -= np.outer(total / total.sum(), away.sum(axis=0))
    of_records = n_votes * np.outer(total, of_record)
    fourth = _FOURTH_OF_LAPLACE * noise_std**4 * (of_noise.sum(axis=1) ** 2).sum()
    return _p_value(
        away,
        _variance(away, of_records, noise_std**2 * of_noise.sum(axis=0), splits_votes),
        _kernels(centers),
        weight=total / total.sum(),
        fourth=fourth,
    )


def p_value_of_sums(
    by_class: np.ndarray,
    counts: np.ndarray,
    mean: np.ndarray,
    *,
    sds: tuple[float, float, float | np.ndarray],
    variance: np.ndarray,
    basis: np.ndarray,
    splits_votes: bool = False,
) -> float:
    """Return the p-value of a test of equal class means, from noisy sums by class.

    Parameters
    ----------
    by_class : ndarray of shape (n_classes, n_columns)
        Noisy sums of ``rows * (one_hot(y) - 1 / n_classes)``.
    counts : ndarray of shape (n_classes,)
        Noisy number of records of each class.
    mean : ndarray of shape (n_columns,)
        Estimated mean of all rows.
    sds : (float, float, float or ndarray of shape (n_directions,))
        Standard deviations of the noise on sums, of the noise on counts, and of the error of the
        mean, which may differ by direction.
    variance : ndarray of shape (n_directions,)
        Variance of all rows in each direction.
    basis : ndarray of shape (n_columns, n_directions)
        The directions.
    splits_votes : bool, default=False
        As in `p_value_of_counts`.

    Returns
    -------
    float
        P-value, from 0 to 1.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_pate.association import p_value_of_sums
    >>> by_class, directions = 100 * np.array([[1.0, 0, 0], [-1.0, 0, 0]]), np.eye(3)
    >>> known = {"sds": (8.0, 8.0, 0.0), "variance": np.full(3, 1 / 3), "basis": directions}
    >>> p_value_of_sums(by_class, np.array([500.0, 500.0]), np.zeros(3), **known) < 0.001
    True
    """
    sd, sd_of_count, sd_of_mean = sds
    n = max(counts.sum(), 1.0)
    share = _shares(counts)
    contrasts, of_record = _contrasts(share, 0)
    off = counts - counts.mean()
    away = ((by_class - np.outer(off, mean)) @ basis).T @ contrasts
    of_noise = sd**2 + sd_of_count**2 * (mean @ basis) ** 2
    of_mean = np.outer(sd_of_mean**2 + np.zeros(len(variance)), (n * share @ contrasts) ** 2)
    noise = np.broadcast_to(of_noise[:, None], away.shape) + of_mean
    of_records = n * np.outer(variance, of_record)
    forms = [(variance / variance.mean()) ** power for power in _POWERS]
    return _p_value(away, _variance(away, of_records, noise, splits_votes), forms)


def combined(p_values: ArrayLike) -> float:
    """Combine p-values, which may depend on each other, by the Cauchy combination test.

    Parameters
    ----------
    p_values : sequence of float
        P-values, from 0 to 1.

    Returns
    -------
    float
        Combined p-value.

    References
    ----------
    Liu, Xie (2020). Cauchy combination test. JASA.
    """
    p_values = np.clip(p_values, 1e-15, 1 - 1e-15)
    return float(0.5 - np.arctan(np.tan((0.5 - p_values) * np.pi).mean()) / np.pi)


def only_class(counts: np.ndarray, noise_std: float) -> tuple[int | None, float]:
    """Return the only class with a noisy count above the noise, if there is exactly one.

    Parameters
    ----------
    counts : ndarray of shape (n_classes,)
        Noisy number of records of each class.
    noise_std : float
        Standard deviation of the noise on each count.

    Returns
    -------
    class : int or None
        Code of the class; None if no count, or more than one, is above `least`.
    least : float
        Bound on counts; a count up to this bound may be noise on 0 records.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_pate.association import only_class
    >>> only_class(np.array([5.0, 812.0]), 9.0)
    (1, 27.8...)
    """
    least = float(noise_std * norm.isf(_RARELY / max(len(counts) - 1, 1)))
    is_there = counts > least
    return (int(np.argmax(counts)) if is_there.sum() == 1 else None), least


def _shares(counts: np.ndarray) -> np.ndarray:
    """Return the fraction of each class, clipped from below; the fractions sum to 1."""
    shares = np.maximum(counts, 1e-3 * max(counts.sum(), 1.0))
    return shares / shares.sum()


def _contrasts(share: np.ndarray, shared: float) -> tuple[np.ndarray, np.ndarray]:
    """Return uncorrelated contrasts of the classes, and their variances.

    A contrast sums to zero over the classes. Its noise has unit variance if the noise of each class
    has unit variance. `shared` is the number of classes if the expected count of each class, from
    the noisy total, is subtracted from its noisy count, and 0 if nothing is subtracted.
    """
    basis = null_space(np.ones((1, len(share))))
    mean = basis.T @ share
    of_records = (basis.T * share) @ basis - np.outer(mean, mean)
    of_noise = np.eye(len(mean)) + shared * np.outer(mean, mean)
    variance, turned = eigh(of_records, of_noise)
    return basis @ turned, np.maximum(variance, 0)


def _variance(
    away: np.ndarray, of_records: np.ndarray, of_noise: np.ndarray, splits_votes: bool
) -> np.ndarray:
    """Return the variance of each entry of `away`.

    Split votes have a smaller variance than whole votes. For them, the variance due to records is
    scaled so that the median of the standardized squares is the median of a chi-squared variable.
    """
    if not splits_votes:
        return of_records + of_noise
    scatters = np.geomspace(_LEAST_SCATTER, 1, 61)
    variances = [scatter * of_records + of_noise for scatter in scatters]
    fits = [abs(np.log(np.median(away**2 / variance) / _MEDIAN)) for variance in variances]
    return variances[int(np.argmin(fits))]


def _kernels(centers: np.ndarray) -> Iterator[np.ndarray]:
    """Yield kernels of the cells: a linear kernel, and Gaussian kernels of several widths."""
    away = centers - centers.mean(axis=0)
    products = away @ away.T
    size = np.diag(products)
    squared = size[:, None] + size
    squared -= 2 * products
    np.maximum(squared, 0, out=squared)
    step = max(1, len(squared) // _MOST_COMPARED)
    squared /= max(np.median(squared[::step, ::step]), 1e-300)
    yield products / max(size.mean(), 1e-300)
    for steepness in _STEEPNESS:
        yield np.exp(-steepness / 2 * squared)


def _p_value(
    away: np.ndarray,
    variance: np.ndarray,
    kernels: Iterable[np.ndarray],
    *,
    weight: np.ndarray | None = None,
    fourth: float = 0.0,
) -> float:
    """Return the combined p-value of score tests for a mean of zero, one for each kernel.

    Parameters
    ----------
    away : ndarray of shape (n_places, n_contrasts)
        Numbers that have mean zero if there is no relation. They are independent before the
        subtraction described in `weight`.
    variance : ndarray of shape (n_places, n_contrasts)
        Variance of each number before that subtraction.
    kernels : iterable of ndarray of shape (n_places, n_places) or (n_places,)
        Covariance matrices that a relation would add, up to a factor. A 1-D array is the diagonal
        of a diagonal matrix.
    weight : ndarray of shape (n_places,) or None, default=None
        Fraction of the sum over all places that was subtracted from each place.
    fourth : float, default=0.0
        Sum of the fourth cumulants of the contrasts of a place.

    Returns
    -------
    float
        P-value, from 0 to 1.

    Notes
    -----
    The statistic is a quadratic form: the slope of the log likelihood in the strength of the
    relation, at zero. Its distribution without a relation is approximated by a scaled chi-squared
    variable with the same mean and variance (Satterthwaite 1946).
    """
    typical = variance.mean(axis=1)
    p_values = []
    for kernel in kernels:
        if kernel.ndim == 1:
            form = np.diag(kernel / typical**2)
        else:
            form = kernel / typical[:, None]
            form /= typical
        if weight is not None:
            form -= weight @ form
            form -= (form @ weight)[:, None]
        diagonal = np.diag(form).copy()
        seen = (away * (form @ away)).sum()
        mean = (diagonal @ variance).sum()
        squares = np.square(form, out=form)
        spread = 2 * (variance * (squares @ variance)).sum() + fourth * (diagonal**2).sum()
        if mean > 0:  # the mean is 0 if all places coincide
            p_values.append(chi2.sf(2 * mean / spread * seen, 2 * mean**2 / spread))
    return combined(p_values) if p_values else 1.0
