"""The least noise with which the data-independent cost of some answers is at most epsilon."""

import math

import numpy as np
from scipy.optimize import brentq

from .checks import DEFAULT_ORDERS, check_count, check_delta, check_positive
from .conversion import epsilon_by_order, gdp_mu
from .cost import total_cost
from .facts import argmax_facts
from .noise import Gaussian

#: The largest and the smallest scale that are tried.
_LARGEST = 1e15
_SMALLEST = 1e-15

#: On a first look, one in so many orders: the optimum over orders is flat, and a cost is slow.
_STEP = 4
FEW_ORDERS = DEFAULT_ORDERS[::_STEP]

#: On a closer look, so many orders on both sides of the best.
_NEAR = 8


def gnmax_sigma(epsilon, delta, n_queries, *, n_teachers=None, n_classes=None):
    """Noise with which `n_queries` GNMax answers cost exactly `epsilon`, whatever the votes.

    Parameters
    ----------
    epsilon : float
        Total privacy loss, above 0.
    delta : float
        Delta of the guarantee, strictly between 0 and 1.
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
    n_queries = check_count("n_queries", n_queries)
    public = {"n_teachers": n_teachers, "n_classes": n_classes}

    def cost_at(sigma, orders):
        return total_cost(_Argmax(Gaussian(sigma)), orders, **public)(n_queries)

    return least_scale(cost_at, epsilon, delta)


def least_scale(cost_at, epsilon, delta, *, start=None):
    """Least noise scale with which something costs at most `epsilon`.

    Parameters
    ----------
    cost_at : callable
        ``cost_at(scale, orders)`` returns the `Cost` with noise of that scale, at these orders. It
        should not grow with the scale.
    epsilon : float
        Total privacy loss, above 0.
    delta : float
        Delta of the guarantee, strictly between 0 and 1.
    start : float, default=None
        Where to start. None starts where Gaussian or pure costs would fit.

    Returns
    -------
    float
        To 1e-6 relative, and with a cost that was seen to be at most `epsilon`; inf if there is
        none up to 1e15.

    Notes
    -----
    Epsilon at any set of orders is a guarantee, as the best order follows from public numbers. So
    the search goes by few orders near the best, until the best of all is among them.

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

    if start is None:
        start = _first_guess(cost_at, epsilon, delta)
    known = {}

    def cost_of(power, orders):
        key = power, orders.tobytes()
        if key not in known:
            known[key] = cost_at(start * math.exp(power), orders)
        return known[key]

    # The last digits of a cost that was searched for depend on which orders were asked together
    log_aim = math.log(epsilon) - 3e-7

    # Both by their logarithms: over thirty powers of ten, and nearly a straight line
    def excess_by(orders):
        def excess(power):
            reached, _ = cost_of(power, orders).epsilon(delta, orders)
            return math.log(min(max(reached, 1e-300), 1e300)) - log_aim

        return excess

    lowest, highest = math.log(_SMALLEST / start), math.log(_LARGEST / start)
    high = 0.0
    near = orders_near_best(cost_of(high, FEW_ORDERS), delta)
    while excess_by(near)(high) > 0:
        high += 0.5
        if high > highest:
            return math.inf
        near = orders_near_best(cost_of(high, FEW_ORDERS), delta)
    while True:
        high = _where_it_fits(excess_by(near), high, lowest)
        best = _best_order(cost_of(high, DEFAULT_ORDERS), delta, DEFAULT_ORDERS)
        if high == lowest or best in near:
            return start * math.exp(high)
        near = _orders_near(best)


def orders_near_best(cost, delta):
    """Orders on both sides of the one at which a cost at `FEW_ORDERS` converts best."""
    return _orders_near(_best_order(cost, delta, FEW_ORDERS))


def _best_order(cost, delta, orders):
    return orders[np.argmin(epsilon_by_order(cost.rdp, delta, orders))]


def _orders_near(order):
    place = int(np.searchsorted(DEFAULT_ORDERS, order))
    return DEFAULT_ORDERS[max(place - _NEAR, 0) : place + _NEAR + 1]


def _where_it_fits(excess, high, lowest):
    """Least number at which `excess` is not above 0, to 2e-7, starting from a larger one.

    For noise that is calibrated alone, the excess falls at a rate between 1 and 2.
    """
    step = min(1e-3 - 1.05 * excess(high), 1)
    low = max(high - step, lowest)
    while excess(low) <= 0:
        if low == lowest:
            return low
        high = low
        step *= 2
        low = max(low - step, lowest)
    if excess(high) >= 0:  # by its last digits
        return high
    root = brentq(excess, low, high, xtol=2e-7)
    while excess(root) > 0:  # the root may lie on either side
        root += 2e-7
    return min(root, high)


def _first_guess(cost_at, epsilon, delta):
    """A scale that fits, if `mu` and pure epsilon are proportional to 1 / scale."""
    at_one = cost_at(1.0, np.array([2.0]))  # only the Renyi cost depends on the order
    if 0 < at_one.mu_squared < math.inf:
        enough = math.sqrt(at_one.mu_squared) / gdp_mu(epsilon, delta)
    elif 0 < at_one.pure < math.inf:
        enough = at_one.pure / epsilon
    else:
        enough = 1.0
    return enough * (1 + 1e-9)  # rounding must not make it just too small


class _Argmax:
    """A noisy argmax without the rest of an aggregator: what its cost depends on."""

    uses_student_proba = False

    def __init__(self, noise):
        self._noise = noise

    def outcome_log_proba(self, votes, student_proba=None):
        return self._noise.log_argmax(votes)

    def facts(self):
        return argmax_facts(self._noise)


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
    >>> from sklearn_pate.rdp.calibration import bisect
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
