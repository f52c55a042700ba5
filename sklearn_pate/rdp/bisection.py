"""Where a condition stops holding, for one number or for many at once."""

import numpy as np


def bisect(holds, low, high, n_steps=45):
    """Close in on the number up to which a condition holds.

    Parameters
    ----------
    holds : callable
        ``holds(x)`` returns whether the condition holds at `x`, a number or an array like `low`.
    low, high : float or ndarray
        Where it holds, and where it does not.
    n_steps : int, default=45
        Number of times the distance between the two is halved; 45 leave 3e-14 of it.

    Returns
    -------
    low, high : float or ndarray
        The same, closer together. Take the one that is on the safe side.

    Examples
    --------
    >>> from sklearn_pate.rdp.bisection import bisect
    >>> low, high = bisect(lambda x: x**2 <= 2, 0.0, 2.0)
    >>> bool(low <= 2**0.5 <= high), round(float(low), 6)
    (True, 1.414214)
    """
    for _ in range(n_steps):
        middle = (low + high) / 2
        fits = holds(middle)
        low = np.where(fits, middle, low)
        high = np.where(fits, high, middle)
    return low[()], high[()]
