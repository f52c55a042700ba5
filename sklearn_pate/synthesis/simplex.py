"""Shares from noisy counts: all of this is free."""

import numpy as np


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
    >>> from sklearn_pate.synthesis.simplex import on_simplex
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
