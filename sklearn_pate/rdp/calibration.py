"""The least noise with which a number of answers costs no more than epsilon, on any votes."""

import functools
import math
from numbers import Real

import numpy as np
from scipy.optimize import brentq

from .checks import DEFAULT_ORDERS, check_count, check_delta, check_positive
from .conversion import epsilon_by_order, gdp_mu
from .noise import Gaussian, Laplace
from .published import pure_rdp
from .worst_case import query_cost

__all__ = ["gnmax_sigma", "lnmax_gamma", "stable_run_epsilon"]


def gnmax_sigma(epsilon, delta, n_queries, n_classes=None, n_teachers=None):
    """Noise with which `n_queries` GNMax answers cost exactly `epsilon`, on any votes.

    Parameters
    ----------
    epsilon : float
        Total privacy loss, above 0.
    delta : float
        Failure probability, strictly between 0 and 1.
    n_queries : int
        Number of answers, fixed in advance.
    n_classes, n_teachers : int, default=None
        Public numbers that make the cost sharper; None means any number.

    Returns
    -------
    float
        Standard deviation of the noise on each vote count, in votes: the least for which
        `data_independent_epsilon` is at most `epsilon`, to 1e-6 relative.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> from sklearn_pate.rdp import gnmax_sigma
    >>> round(gnmax_sigma(1.0, 1e-5, n_queries=20), 1)
    20.7
    """
    n_queries = check_count("n_queries", n_queries)
    enough = math.sqrt(2 * n_queries) / gdp_mu(epsilon, delta) * (1 + 1e-9)
    return _least_scale(Gaussian, enough, epsilon, delta, n_queries, n_classes, n_teachers)


def lnmax_gamma(epsilon, delta, n_queries, n_classes=None, n_teachers=None):
    """Inverse noise scale with which `n_queries` LNMax answers cost exactly `epsilon`.

    Parameters
    ----------
    epsilon, delta, n_queries, n_classes, n_teachers
        As in `gnmax_sigma`.

    Returns
    -------
    float
        The largest `gamma` (noise of scale ``1 / gamma`` votes) for which
        `data_independent_epsilon` is at most `epsilon`, to 1e-6 relative.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> from sklearn_pate.rdp import lnmax_gamma
    >>> 1 / lnmax_gamma(1.0, 1e-5, n_queries=1)  # one query is 2 * gamma-DP
    1.877...
    """
    n_queries = check_count("n_queries", n_queries)
    enough = 2 * n_queries / check_positive("epsilon", epsilon) * (1 + 1e-9)
    return 1 / _least_scale(Laplace, enough, epsilon, delta, n_queries, n_classes, n_teachers)


def stable_run_epsilon(epsilon, delta, max_unstable, failure_probability):
    """Pure epsilon of one run of `StableArgmax` with which all runs cost exactly `epsilon`.

    Parameters
    ----------
    epsilon : float
        Total privacy loss, above 0.
    delta : float
        Failure probability, above `failure_probability`.
    max_unstable : int
        Number of runs.
    failure_probability : float
        Part of `delta` that the mechanism itself takes.

    Returns
    -------
    float
        The largest that fits, to 1e-9 relative.

    Examples
    --------
    >>> from sklearn_pate.rdp import stable_run_epsilon
    >>> round(stable_run_epsilon(1.0, 1e-5, 20, 1e-6), 4)
    0.0602
    """
    runs, epsilon = check_count("max_unstable", max_unstable), check_positive("epsilon", epsilon)
    delta = check_delta(delta)
    if not isinstance(failure_probability, Real) or not 0 <= failure_probability < delta:
        raise ValueError(
            f"failure_probability must be below delta={delta:g}, of which it is a part; "
            f"got {failure_probability!r}"
        )
    left = delta - failure_probability

    def spent(run):
        by_order = epsilon_by_order(runs * pure_rdp(run, DEFAULT_ORDERS), left, DEFAULT_ORDERS)
        return min(runs * run, by_order.min())

    low, high = epsilon / runs, epsilon
    while high > low * (1 + 1e-9):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if spent(middle) <= epsilon else (low, middle)
    return low * (1 - 1e-12)


def _least_scale(noise, enough, epsilon, delta, n_queries, n_classes, n_teachers):
    """Least noise scale that fits, given one that does."""
    delta = check_delta(delta)

    @functools.cache  # brentq asks at both ends and at the root, where the answer is known
    def total(log_scale, *part):
        orders = DEFAULT_ORDERS[slice(*part)]
        mechanism = _Argmax(noise(math.exp(log_scale)))
        return mechanism.costs(orders, n_teachers, n_classes)(n_queries), orders

    def excess(log_scale, *part):
        cost, orders = total(log_scale, *part)
        return cost.epsilon(delta, orders)[0] - epsilon

    def best_order(log_scale):
        cost, orders = total(log_scale, *coarse)
        return 4 * int(np.argmin(epsilon_by_order(cost.rdp, delta, orders)))

    coarse = (None, None, 4)
    high = low = math.log(enough)
    while excess(low, *coarse) <= 0:
        low, high = low - 0.5, low
    best = best_order(high)
    while True:  # orders near the best at one end serve the search; any order is a guarantee
        near = (max(best - 16, 0), best + 17)
        while excess(low, *near) <= 0:
            low -= 0.5
        if excess(high, *near) >= 0:
            return math.exp(high)
        root = brentq(excess, low, high, args=near, xtol=2e-7)
        while excess(root, *near) > 0:
            root += 2e-7
        high, previous, best = min(root, high), best, best_order(root)
        if abs(best - previous) <= 12:
            return math.exp(high)


class _Argmax:
    """A noisy argmax without the rest of an aggregator: what its cost depends on."""

    label_symmetric, uses_student_proba, wants_proba = True, False, False

    def __init__(self, noise):
        self.argmax_noise = noise
        self.gdp_mu, self.pure_epsilon = noise.mu, noise.pure_epsilon

    def outcome_log_proba(self, votes, student_proba=None):
        return self.argmax_noise.log_argmax(votes)

    def known_rdp(self, orders, n_teachers, n_classes):
        return np.full(orders.size, np.inf)

    def costs(self, orders, n_teachers, n_classes):
        return query_cost(self, orders, n_teachers, n_classes).times
