"""Noisy histograms that were released, and the rates of the classes that they tell of any row."""

from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from ..neighbors.rates import LEAST_RATE, floored
from .schema import Columns

#: Each bin of each class gets this many standard deviations of the noise, in records, that are
#: shared as in all classes together.
_PULL = 0.3

#: Noise alone makes no bin of a class stand out by this many of its standard deviations.
_SURE = 5


@dataclass(frozen=True, eq=False, repr=False)
class ReleasedHistograms:
    """Histograms of each column for each class, less their noise: all of this is published.

    Attributes
    ----------
    schema : Columns
        What is public of the columns.
    n_records : float
        Number of records, as released.
    class_shares : ndarray of shape (n_classes,)
        They sum to 1.
    bin_shares : list of ndarray of shape (n_bins, n_classes)
        For each column, the shares of its bins in each class, which sum to 1.
    noise_std : float
        Standard deviation of the noise that was on each count.
    """

    schema: Columns
    n_records: float
    class_shares: np.ndarray
    bin_shares: list
    noise_std: float

    #: Powers of the rates that are tried beside those of cells: columns that lean on each other
    #: make them far too sure.
    powers = (0.0, 0.125, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)

    def __repr__(self):
        return (
            f"ReleasedHistograms({len(self.class_shares)} classes, {len(self.bin_shares)} columns)"
        )

    @property
    def is_flat(self):
        """Whether no bin of a class has more or fewer records than noise explains."""
        sizes = self.n_records * self.class_shares
        gaps = [np.abs(part - (part @ self.class_shares)[:, None]) for part in self.bin_shares]
        return max((sizes * gap).max() for gap in gaps) < _SURE * self.noise_std

    def rates(self, X):
        """Return the rates of the classes, of rows with the declared columns, each by itself.

        Columns are taken to be unrelated given the class. A value without a bin says nothing.

        Parameters
        ----------
        X : DataFrame or array-like with n_samples rows
            As declared; dtypes may be others.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Rows sum to 1.
        """
        sizes = self.n_records * self.class_shares
        pull = _PULL * max(self.noise_std, 1.0)
        logits = np.log(np.maximum(self.class_shares, LEAST_RATE))
        for part, bins in zip(self.bin_shares, self.schema.bins(self.schema.like(X)), strict=True):
            overall = (part @ self.class_shares)[:, None]
            says = np.log((sizes * part + pull) / (sizes * overall + pull))
            logits = logits + np.append(says, np.zeros((1, len(sizes))), axis=0)[bins]
        return floored(softmax(logits, axis=1))


def cleaned(schema, tables, sizes, noise_std):
    """Return what noisy histograms say, a `ReleasedHistograms`.

    Parameters
    ----------
    schema : Columns
        What is public of the columns.
    tables : list of ndarray of shape (n_bins, n_classes)
        The noisy histogram of each column.
    sizes : ndarray of shape (n_classes,)
        The noisy number of records of each class.
    noise_std : float
        Standard deviation of the noise on each count.
    """
    n_records = max(sizes.sum(), noise_std)
    class_shares = on_simplex(sizes / n_records)
    bin_shares = [np.zeros(table.shape) for table in tables]
    for code in np.flatnonzero(class_shares):
        total = n_records * class_shares[code]
        for part, table in zip(bin_shares, tables, strict=True):
            part[:, code] = shares(table[:, code], total, noise_std)
    return ReleasedHistograms(schema, n_records, class_shares, bin_shares, noise_std)


def on_simplex(numbers):
    """Return the nearest numbers that are at least 0 and sum to 1.

    Parameters
    ----------
    numbers : array-like of shape (n,)
        Any finite numbers, at least one.

    Returns
    -------
    ndarray of shape (n,)

    References
    ----------
    Held, Wolfe, Crowder (1974). Validation of subgradient optimization. Mathematical Programming.

    Examples
    --------
    >>> from sklearn_pate.synthesis.histograms import on_simplex
    >>> on_simplex([0.75, 0.5, -0.5])
    array([0.625, 0.375, 0.   ])
    """
    numbers = np.asarray(numbers, dtype=float)
    numbers = numbers - numbers.max()  # the same result, and no large numbers that cancel
    descending = np.sort(numbers)[::-1]
    levels = (np.cumsum(descending) - 1) / np.arange(1, len(numbers) + 1)
    n_kept = np.count_nonzero(descending > levels)
    kept = np.maximum(numbers - levels[n_kept - 1], 0)
    return kept / kept.sum()


def shares(counts, total, noise_std):
    """Return the shares of bins, from their noisy counts.

    Parameters
    ----------
    counts : ndarray of shape (n_bins,)
        Noisy counts.
    total : float
        Number of records that are expected in the bins together, above 0.
    noise_std : float
        Standard deviation of the noise on each count.

    Returns
    -------
    ndarray of shape (n_bins,)
        At least 0, and they sum to 1.

    Notes
    -----
    Where many bins are noise, their sum says little, and `total` says how much of it to take away.
    But values may have no bin. So the sum of the counts is taken for the total if it differs by
    more than two standard deviations of its noise.
    """
    own = counts.sum()
    if abs(own - total) > 2 * noise_std * np.sqrt(len(counts)):
        total = max(own, noise_std, 1.0)
    return on_simplex(counts / total)


def draw_bins(shares, n_rows, rng):
    """Draw a bin for each of some rows.

    Parameters
    ----------
    shares : ndarray of shape (n_bins,)
        They sum to 1.
    n_rows : int
        Number of rows.
    rng : numpy.random.Generator
        Draws them.

    Returns
    -------
    ndarray of shape (n_rows,), int
    """
    ends = np.cumsum(shares)
    drawn = np.searchsorted(ends, rng.random(n_rows) * ends[-1], side="right")
    return np.minimum(drawn, np.flatnonzero(shares)[-1])
