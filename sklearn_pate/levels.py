"""Numbers as ballots that are split between levels, and distributions over levels as numbers."""

import contextlib

import numpy as np

from ._numbers import shown


def levels_of(bounds, n_levels):
    """Return evenly spaced levels from one bound to the other; refuse bounds that are none.

    Parameters
    ----------
    bounds : (float, float)
        As given by the user.
    n_levels : int
        At least 2.

    Returns
    -------
    ndarray of shape (n_levels,)

    Raises
    ------
    ValueError
        If there are no two finite numbers, the lower one first, with levels between them.

    Examples
    --------
    >>> from sklearn_pate.levels import levels_of
    >>> levels_of((0, 40), 3)
    array([ 0., 20., 40.])
    """
    if bounds is None:
        raise ValueError(
            "bounds is missing: bounds=(low, high), between which y counts. They are published, so "
            "take them from what everybody knows, not from y"
        )
    no_numbers = contextlib.suppress(TypeError, ValueError, OverflowError)
    with no_numbers, np.errstate(over="ignore", invalid="ignore"):
        low, high = map(float, bounds)
        levels = np.linspace(low, high, n_levels)
        if (np.diff(levels) > 0).all() and np.isfinite(high - low):
            return levels
    raise ValueError(
        f"bounds must be two finite numbers (low, high), in order; got {shown(bounds)}"
    )


def positions(y, levels):
    """Return how far along the levels numbers lie, each by itself; beyond an end, at that end.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
        Finite numbers.
    levels : ndarray of shape (n_levels,)
        From `levels_of`.

    Returns
    -------
    ndarray of shape (n_samples,)
        From 0 to ``n_levels - 1``; whole at a level.
    """
    with np.errstate(over="ignore"):
        share = (y - levels[0]) / (levels[-1] - levels[0])
    return np.clip(share, 0.0, 1.0) * (len(levels) - 1)


def numbers_at(positions, levels):
    """Return the numbers at positions along the levels: the other way round."""
    return np.interp(positions, np.arange(len(levels)), levels)


def split(codes, shares):
    """Return the classes that the shares of each ballot go to, and how many go to each.

    Parameters
    ----------
    codes : ndarray of shape (n_samples,)
        Classes, as integers; or positions along levels, as floats.
    shares : ndarray of shape (n_samples,), int
        What each ballot counts, in whole shares.

    Returns
    -------
    classes, shares : ndarray of shape (n_samples, n_parts), int
        A class gets all shares. A number between two levels splits them, so that the mean of the
        levels is that number, or less than a share below. None is lost, and none below 0.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_pate.levels import split
    >>> split(np.array([0.25, 1.0]), np.array([8, 8]))
    (array([[0, 1],
           [1, 1]]), array([[6, 2],
           [8, 0]]))
    """
    if codes.dtype.kind != "f":
        return codes[:, None], shares[:, None]
    lower = np.floor(codes)
    # The fraction is exact, and the product may be rounded up: to all shares at most
    upper_shares = np.floor((codes - lower) * shares).astype(np.int64)
    classes = np.column_stack([lower, np.ceil(codes)]).astype(np.int64)
    return classes, np.column_stack([shares - upper_shares, upper_shares])


def mean(rates, levels):
    """Return the means of distributions over levels, (n_rows, n_levels), within the bounds."""
    return np.clip(rates @ levels, levels[0], levels[-1])


def quantiles(rates, levels, q):
    """Return quantiles of distributions over levels.

    Parameters
    ----------
    rates : ndarray of shape (n_rows, n_levels)
        Rows sum to 1.
    levels : ndarray of shape (n_levels,)
        Evenly spaced.
    q : ndarray of shape (n_quantiles,)
        From 0 to 1.

    Returns
    -------
    ndarray of shape (n_rows, n_quantiles)
        Within the bounds, and they rise with q.

    Notes
    -----
    A number between two levels gives the lower one a share that falls linearly from 1 to 0. So the
    shares of the levels up to one of them sum to the mean of the distribution function between it
    and the next: its value in the middle, and a part of its second difference, 1/24.
    """
    ends = np.concatenate([levels[:1], (levels[:-1] + levels[1:]) / 2, levels[-1:]])
    below = np.zeros((len(rates), len(ends)))
    below[:, 1:-1] = np.cumsum(rates, axis=1)[:, :-1]
    below[:, -1] = 1
    below[:, 1:-1] -= np.diff(below, n=2, axis=1) / 24
    below = np.maximum.accumulate(np.clip(below, 0, 1), axis=1)
    return np.array([np.interp(q, row, ends) for row in below]).reshape(len(rates), len(q))
