"""The lower bound on epsilon from guesses at hidden bits."""

import math
from numbers import Integral

import numpy as np
from scipy.stats import binom

from ..rdp.bisection import bisect
from ..rdp.checks import check_delta
from .bounds import check_confidence

#: The largest bound that is looked for, and how often the interval is halved: to 1e-12.
_MOST_EPSILON = 50.0
_N_HALVINGS = 45


def one_run_epsilon(n_right, n_guesses, n_canaries, delta, confidence=0.999):
    """Lower bound on epsilon from correct guesses of independent fair bits.

    Parameters
    ----------
    n_right, n_guesses, n_canaries : int
        Bits guessed correctly, bits guessed at all, and bits hidden. How many are guessed must be
        fixed before the outcome is seen; which ones may depend on it.
    delta : float
        Delta of the guarantee that is tested, in [0, 1).
    confidence : float, default=0.999
        Probability with which the bound holds.

    Returns
    -------
    float
        At least 0. If a mechanism is (epsilon, delta)-differentially private in its bits, the bound
        is above that epsilon with probability at most ``1 - confidence``.

    Raises
    ------
    ValueError
        If the numbers do not fit each other.

    Notes
    -----
    Steinke, Nasr, Jagielski (2023), Privacy auditing with one (1) training run, NeurIPS, Theorem
    5.2. With pure privacy, given the outcome and the bits before, each guess is right with
    probability at most ``q = 1 / (1 + exp(-epsilon))``, so their number is dominated by
    ``W ~ Bin(n_guesses, q)``. With delta it is dominated by `W` plus a number of failures whose
    mean is at most ``2 delta n_canaries``:
    ``Pr[n_right >= v] <= Pr[W >= v] + 2 delta n_canaries max_i Pr[v > W >= v - i] / i``.
    Any epsilon at which this is below ``1 - confidence`` is a valid bound: it falls as `v` grows,
    and what is private at some epsilon is private at any larger one. Whether it is monotone in
    epsilon does not matter.

    Examples
    --------
    >>> from sklearn_pate.audit import one_run_epsilon
    >>> round(one_run_epsilon(30, 30, 30, delta=1e-5), 2)
    1.34
    >>> one_run_epsilon(16, 30, 30, delta=1e-5)
    0.0
    """
    delta = check_delta(delta, allow_zero=True)
    check_confidence(confidence)
    are_whole = all(isinstance(n, Integral) for n in (n_right, n_guesses, n_canaries))
    if not are_whole or not 0 <= n_right <= n_guesses <= n_canaries:
        raise ValueError(
            f"give n_right <= n_guesses <= n_canaries; got {n_right}, {n_guesses}, {n_canaries}"
        )

    def is_refuted(epsilon):
        p_value = _p_value(epsilon, n_right, n_guesses, n_canaries, delta)
        return p_value <= 1 - confidence

    if not is_refuted(0.0):
        return 0.0
    low, _ = bisect(is_refuted, 0.0, _MOST_EPSILON, _N_HALVINGS)
    return float(low)


def _p_value(epsilon, n_right, n_guesses, n_canaries, delta):
    """Bound the probability of so many correct guesses (Theorem 5.2)."""
    q = 1 / (1 + math.exp(-epsilon))
    largest = 0.0
    if n_right:
        below = np.cumsum(binom.pmf(np.arange(n_right - 1, -1, -1), n_guesses, q))
        largest = (below / np.arange(1, n_right + 1)).max()
    return binom.sf(n_right - 1, n_guesses, q) + 2 * delta * n_canaries * largest
