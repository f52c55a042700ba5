"""The least noise with which the data-independent cost of some answers is at most epsilon."""

import functools
import math

import numpy as np
from scipy.optimize import brentq

from .checks import DEFAULT_ORDERS, check_count, check_delta, check_positive
from .conversion import epsilon_by_order, gdp_mu
from .cost import total_cost
from .facts import Facts
from .noise import Gaussian, Laplace

__all__ = ["gnmax_sigma", "least_scale", "lnmax_gamma"]

#: Logarithms of the largest and the smallest scale that are tried.
_LOG_LARGEST = math.log(1e15)
_LOG_SMALLEST = math.log(1e-15)

#: On a first look, one in so many orders: the optimum over orders is flat, and a cost is slow.
_COARSE_STEP = 4
_COARSE = (None, None, _COARSE_STEP)


def gnmax_sigma(epsilon, delta, n_queries, *, n_teachers=None, n_classes=None):
    """Noise with which `n_queries` GNMax answers cost exactly `epsilon`, whatever the votes.

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
    """Least noise scale with which something costs at most `epsilon`.

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
        To 1e-6 relative, and with a cost that was seen to be at most `epsilon`; inf if there is
        none up to 1e15.

    Notes
    -----
    Epsilon at any set of orders is a guarantee, as the best order follows from public numbers. So
    the search brackets the scale with few orders, and ends with those near the best.

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

    # The last digits of a cost that was searched for depend on which orders were asked together
    aim = epsilon * (1 - 3e-7)

    @functools.cache  # brentq asks at both ends and at the root, where the answer is known
    def cost_and_orders(log_scale, *part):
        orders = DEFAULT_ORDERS[slice(*part)]
        return cost_at(math.exp(log_scale), orders), orders

    # The scale is sought by its logarithm: relative precision, over thirty powers of ten
    def excess(log_scale, *part):
        cost, orders = cost_and_orders(log_scale, *part)
        reached, _ = cost.epsilon(delta, orders)
        return min(reached, 1e300) - aim  # brentq takes no infinite values

    def best_order(log_scale):
        cost, orders = cost_and_orders(log_scale, *_COARSE)
        return _COARSE_STEP * int(np.argmin(epsilon_by_order(cost.rdp, delta, orders)))

    high = _first_guess(cost_at, epsilon, delta)
    while excess(high, *_COARSE) > 0:
        high += 0.5
        if high > _LOG_LARGEST:
            return math.inf
    low = high
    while excess(low, *_COARSE) <= 0:
        high = low
        low -= 0.5
        if low < _LOG_SMALLEST:
            return math.exp(high)
    best = best_order(high)
    while True:
        near = (max(best - 8, 0), best + 9)
        while excess(low, *near) <= 0:  # more orders give a smaller epsilon: `low` may fit now
            low -= 0.5
        if excess(high, *near) >= 0:
            return math.exp(high)
        root = brentq(excess, low, high, args=near, xtol=2e-7)
        while excess(root, *near) > 0:  # the root may lie on either side
            root += 2e-7
        high = min(root, high)
        previous = best
        best = best_order(root)
        if abs(best - previous) <= 4:  # well within `near`: another look would find the same
            return math.exp(high)


def _first_guess(cost_at, epsilon, delta):
    """Logarithm of a scale that fits, if `mu` and pure epsilon are proportional to 1 / scale."""
    at_one = cost_at(1.0, np.array([2.0]))  # only the Renyi cost depends on the order
    if 0 < at_one.mu_squared < math.inf:
        enough = math.sqrt(at_one.mu_squared) / gdp_mu(epsilon, delta)
    elif 0 < at_one.pure < math.inf:
        enough = at_one.pure / epsilon
    else:
        enough = 1.0
    return math.log(enough * (1 + 1e-9))  # rounding must not make it just too small


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
