"""The least noise with which a number of answers costs no more than epsilon, on any votes."""

import functools
import math

import numpy as np
from scipy.optimize import brentq

from .checks import DEFAULT_ORDERS, check_count, check_delta, check_positive
from .conversion import epsilon_by_order, gdp_mu
from .facts import Facts
from .noise import Gaussian, Laplace
from .worst_case import total_cost

__all__ = ["gnmax_sigma", "least_scale", "lnmax_gamma"]

#: Logarithm of the largest scale that is tried.
_LARGEST = math.log(1e15)

#: Logarithm of the smallest scale that is tried: there is next to no noise.
_SMALLEST = math.log(1e-15)


def gnmax_sigma(epsilon, delta, n_queries, *, n_teachers=None, n_classes=None):
    """Noise with which `n_queries` GNMax answers cost exactly `epsilon`, on any votes.

    Parameters
    ----------
    epsilon : float
        Total privacy loss, above 0.
    delta : float
        Failure probability, strictly between 0 and 1.
    n_queries : int
        Number of answers, fixed in advance.
    n_teachers, n_classes : int, default=None
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
    public = {"n_teachers": n_teachers, "n_classes": n_classes}
    return _least_noise(Gaussian, epsilon, delta, n_queries, public)


def lnmax_gamma(epsilon, delta, n_queries, *, n_teachers=None, n_classes=None):
    """Inverse noise scale with which `n_queries` LNMax answers cost exactly `epsilon`.

    Parameters
    ----------
    epsilon, delta, n_queries, n_teachers, n_classes
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
    public = {"n_teachers": n_teachers, "n_classes": n_classes}
    return 1 / _least_noise(Laplace, epsilon, delta, n_queries, public)


def least_scale(cost_at, epsilon, delta):
    """Least noise scale with which something costs at most `epsilon`, on any votes.

    Parameters
    ----------
    cost_at : callable
        ``cost_at(scale, orders)`` returns the `Cost` with noise of that scale, at these orders. It
        should not grow with the scale.
    epsilon : float
        Total privacy loss, above 0.
    delta : float
        Failure probability, strictly between 0 and 1.

    Returns
    -------
    float
        To 1e-6 relative, and with a cost that was found to be at most `epsilon`; inf if there is
        none up to 1e15.

    Examples
    --------
    >>> from sklearn_pate.aggregators import GNMax
    >>> from sklearn_pate.rdp import least_scale
    >>> scale = least_scale(lambda scale, orders: GNMax(scale).costs(orders)(20), 1.0, 1e-5)
    >>> round(scale, 1)
    20.7
    """
    epsilon = check_positive("epsilon", epsilon)
    delta = check_delta(delta)

    @functools.cache  # brentq asks at both ends and at the root, where the answer is known
    def total(log_scale, *part):
        orders = DEFAULT_ORDERS[slice(*part)]
        return cost_at(math.exp(log_scale), orders), orders

    def excess(log_scale, *part):
        cost, orders = total(log_scale, *part)
        found, _ = cost.epsilon(delta, orders)
        return min(found, 1e300) - epsilon  # brentq takes no infinite values

    def best_order(log_scale):
        cost, orders = total(log_scale, *coarse)
        return 4 * int(np.argmin(epsilon_by_order(cost.rdp, delta, orders)))

    coarse = (None, None, 4)
    high = _first_guess(cost_at, epsilon, delta)
    while excess(high, *coarse) > 0:
        high += 0.5
        if high > _LARGEST:
            return math.inf
    low = high
    while excess(low, *coarse) <= 0:
        low, high = low - 0.5, low
        if low < _SMALLEST:
            return math.exp(high)
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


def _first_guess(cost_at, epsilon, delta):
    """Logarithm of a scale that fits, if costs fall with it as those of noise do."""
    at_one = cost_at(1.0, np.array([2.0]))
    if 0 < at_one.mu_squared < math.inf:
        enough = math.sqrt(at_one.mu_squared) / gdp_mu(epsilon, delta)
    elif 0 < at_one.pure < math.inf:
        enough = at_one.pure / epsilon
    else:
        enough = 1.0
    return math.log(enough * (1 + 1e-9))


def _least_noise(noise, epsilon, delta, n_queries, public):
    """Least scale of the noise of an argmax that answers a number of queries."""
    n_queries = check_count("n_queries", n_queries)

    def cost_at(scale, orders):
        return total_cost(_Argmax(noise(scale)), orders, **public)(n_queries)

    return least_scale(cost_at, epsilon, delta)


class _Argmax:
    """A noisy argmax without the rest of an aggregator: what its cost depends on."""

    uses_student_proba = False

    def __init__(self, noise):
        self._noise = noise

    def outcome_log_proba(self, votes, student_proba=None):
        return self._noise.log_argmax(votes)

    def facts(self):
        return Facts(
            gdp_mu=self._noise.mu,
            pure_epsilon=self._noise.pure_epsilon,
            argmax_noise=self._noise,
            label_symmetric=True,
        )
