"""Conversion of Renyi costs and Gaussian noise to (epsilon, delta)."""

import math
from dataclasses import dataclass
from functools import lru_cache
from numbers import Real
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import erfcx, erfinv, expit, log_ndtr, ndtr, ndtri_exp

from .._numbers import as_float, check_positive, shown
from ..exceptions import warn
from .checks import (
    as_array,
    check_cost,
    check_delta,
    check_nonnegative,
    check_orders,
)


def rdp_to_epsilon(
    rdp: ArrayLike,
    delta: float,
    orders: ArrayLike,
    conversion: Literal["improved", "classic"] = "improved",
) -> tuple[float, float]:
    """Compute the smallest epsilon that a Renyi cost curve guarantees at `delta`.

    Parameters
    ----------
    rdp : array-like of shape (n_orders,)
        Total Renyi cost at each order, in both directions.
    delta : float
        Delta of the guarantee, strictly between 0 and 1.
    orders : array-like of shape (n_orders,)
        Renyi orders, above 1.
    conversion : {"improved", "classic"}, default="improved"
        "classic" is ``rdp + log(1 / delta) / (a - 1)`` (Mironov (2017), Proposition 3), used in
        the PATE papers. "improved" is Canonne, Kamath, Steinke (2020), Proposition 12, which is
        never larger.

    Returns
    -------
    epsilon : float
        At least 0; inf if every cost is infinite.
    order : float
        The order with the smallest epsilon.

    Raises
    ------
    ValueError
        If delta is outside (0, 1), an order is <= 1, a cost is negative or NaN, the number of costs
        differs from the number of orders, or the conversion is unknown.

    Warns
    -----
    UserWarning
        If the best of several orders is the first or the last, because other orders may give a
        smaller epsilon.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_pate.rdp import DEFAULT_ORDERS, rdp_to_epsilon
    >>> epsilon, order = rdp_to_epsilon(100 * DEFAULT_ORDERS / 40**2, 1e-5, DEFAULT_ORDERS)
    >>> round(epsilon, 2)
    1.48
    """
    orders = check_orders(orders)
    epsilons = epsilon_by_order(rdp, delta, orders, conversion)
    best = int(np.argmin(epsilons))
    if orders.size > 1 and best in (0, orders.size - 1) and 0 < epsilons[best] < math.inf:
        warn(
            f"the best Renyi order is at the edge of the grid ({orders[best]:g}); "
            "a wider grid of orders may give a smaller epsilon"
        )
    return float(epsilons[best]), float(orders[best])


def epsilon_by_order(
    rdp: ArrayLike,
    delta: float,
    orders: ArrayLike,
    conversion: Literal["improved", "classic"] = "improved",
) -> NDArray[np.float64]:
    """Compute the epsilon that each order of a Renyi cost curve guarantees.

    See `rdp_to_epsilon`.

    Parameters
    ----------
    rdp, delta, orders, conversion
        As in `rdp_to_epsilon`.

    Returns
    -------
    ndarray of shape (n_orders,)
        Epsilons, at least 0. Each is a guarantee if its order was fixed in advance. The smallest is
        a guarantee if the costs do not depend on private data.

    Examples
    --------
    >>> from sklearn_pate.rdp.conversion import epsilon_by_order
    >>> epsilon_by_order([0.1, 0.5], 1e-5, [2, 10]).round(2)
    array([10.23,  1.42])
    """
    penalty = conversion_penalty(delta, orders, conversion)
    rdp = as_array("rdp", rdp, dtype=float)
    if rdp.shape != penalty.shape:
        raise ValueError(
            f"rdp must have one cost per order, shape {penalty.shape}; got shape {rdp.shape}"
        )
    if not (rdp >= 0).all():
        raise ValueError("rdp must contain costs of at least 0; got a negative cost or NaN")
    return np.maximum(rdp + penalty, 0.0)


def conversion_penalty(
    delta: float, orders: ArrayLike, conversion: Literal["improved", "classic"] = "improved"
) -> NDArray[np.float64]:
    """Compute the term that the conversion to epsilon adds to a Renyi cost at each order.

    Epsilon is the cost plus this penalty, or 0 if the sum is negative. The largest cost within a
    given epsilon at an order is thus the epsilon minus the penalty.

    Parameters
    ----------
    delta, orders, conversion
        As in `rdp_to_epsilon`.

    Returns
    -------
    ndarray of shape (n_orders,)
        Penalties. With "classic" they are above 0. With "improved" they are below 0 at orders above
        about ``1 / (e * delta) + 1 / 2``.

    Examples
    --------
    >>> from sklearn_pate.rdp.conversion import conversion_penalty
    >>> conversion_penalty(1e-5, [2, 10]).round(2)
    array([10.13,  0.92])
    """
    orders = check_orders(orders)
    delta = check_delta(delta)
    if conversion == "improved":  # Canonne, Kamath, Steinke (2020), Proposition 12
        return np.log1p(-1 / orders) - (math.log(delta) + np.log(orders)) / (orders - 1)
    if conversion == "classic":  # Mironov (2017), Proposition 3
        return -math.log(delta) / (orders - 1)
    raise ValueError(f"conversion must be 'improved' or 'classic'; got {conversion!r}")


def _gdp_delta(epsilon: float, mu: float) -> float:
    """Compute the delta at `epsilon` of a `mu`-Gaussian-DP mechanism."""
    # Balle and Wang (2018), Theorem 8; Dong, Roth, Su (2022), Corollary 1
    a = mu / 2 - epsilon / mu
    b = -mu / 2 - epsilon / mu
    if a > 0:  # erfcx of the other form may overflow here
        return ndtr(a) - math.exp(epsilon + log_ndtr(b))
    # exp(epsilon - b**2 / 2) = exp(-a**2 / 2), so the two tails share one factor
    tails = erfcx(-a / math.sqrt(2)) - erfcx(-b / math.sqrt(2))
    return 0.5 * math.exp(-(a**2) / 2) * tails


#: Largest Gaussian-DP parameter with a finite epsilon. This epsilon is about 5e7, which guarantees
#: nothing in practice.
_MAX_MU = 1e4


def gdp_to_epsilon(mu: float, delta: float) -> float:
    """Compute the exact epsilon of a composition of Gaussian mechanisms.

    Parameters
    ----------
    mu : float
        Gaussian-DP parameter of the composition, at least 0: the square root of the sum of
        ``(sensitivity / sigma)**2``. For `N` GNMax answers it is ``sqrt(2 * N) / sigma``.
    delta : float
        Delta of the guarantee, strictly between 0 and 1.

    Returns
    -------
    float
        The least e >= 0 with ``Phi(mu/2 - e/mu) - exp(e) Phi(-mu/2 - e/mu) <= delta``, rounded up
        by at most 2e-12 relative and 3e-14 absolute; inf for `mu` above 10,000.

    Notes
    -----
    The formula is from Balle and Wang (2018), Theorem 8 and Dong, Roth, Su (2022), Corollary 1. It
    holds for Gaussian noise and a number of answers that is fixed in advance. Discrete Gaussian
    noise has a larger `mu`: see `discrete_gaussian_mu_squared`.

    Examples
    --------
    >>> from sklearn_pate.rdp import gdp_to_epsilon
    >>> round(gdp_to_epsilon((2 * 100) ** 0.5 / 40, 1e-5), 2)
    1.36
    """
    delta = check_delta(delta)
    mu = check_nonnegative("mu", mu)
    if mu == 0:
        return 0.0
    if mu > _MAX_MU:
        return math.inf
    if _gdp_delta(0.0, mu) <= delta:
        return 0.0
    high = 1.0
    while _gdp_delta(high, mu) > delta:
        high *= 2
    root = brentq(lambda e: _gdp_delta(e, mu) - delta, 0.0, high, xtol=1e-14, rtol=1e-13)
    return _rounded_up(root)


def _rounded_up(root: float) -> float:
    """Return a root from brentq, increased by its tolerances, so that it is never too small."""
    return float(root * (1 + 1e-12) + 2e-14)


def gdp_mu(epsilon: float, delta: float) -> float:
    """Compute the largest Gaussian-DP parameter that implies (`epsilon`, `delta`)-DP.

    This is the inverse of `gdp_to_epsilon`.

    Parameters
    ----------
    epsilon : float
        Epsilon of the guarantee, above 0.
    delta : float
        Delta of the guarantee, strictly between 0 and 1.

    Returns
    -------
    float
        `mu`, rounded down so that ``gdp_to_epsilon(mu, delta) <= epsilon``. It is at most 10,000,
        also for an `epsilon` above about 5e7, because `gdp_to_epsilon` is inf for a larger `mu`.

    Examples
    --------
    >>> from sklearn_pate.rdp import gdp_mu, gdp_to_epsilon
    >>> mu = gdp_mu(1.0, 1e-5)
    >>> 0.999999 < gdp_to_epsilon(mu, 1e-5) <= 1.0
    True
    """
    return _gdp_mu(check_positive("epsilon", epsilon), check_delta(delta))


@lru_cache(maxsize=1000)
def _gdp_mu(epsilon: float, delta: float) -> float:
    """Return `gdp_mu` of checked numbers."""
    if gdp_to_epsilon(_MAX_MU, delta) <= epsilon:
        return _MAX_MU
    high = 1.0
    while gdp_to_epsilon(high, delta) < epsilon:
        high = min(2 * high, _MAX_MU)
    mu = brentq(lambda m: gdp_to_epsilon(m, delta) - epsilon, 0.0, high, xtol=1e-14, rtol=1e-12)
    step = 1e-12
    while gdp_to_epsilon(mu, delta) > epsilon:  # the computed root may lie on either side
        mu *= 1 - step
        step *= 2
    return float(mu)


def pure_to_gdp(epsilon: float) -> float:
    """Compute the smallest Gaussian-DP parameter that covers all (`epsilon`, 0)-DP steps.

    Parameters
    ----------
    epsilon : float
        Pure privacy loss of the step, at least 0; inf for a step without a guarantee.

    Returns
    -------
    float
        ``mu = 2 * Phi^-1(e^epsilon / (1 + e^epsilon))``, rounded up by at most 1e-12 relative.

    Notes
    -----
    A trade-off function gives the smallest type II error at each type I error (Dong, Roth, Su
    (2022), JRSS B). The trade-off function of an `epsilon`-DP step is bounded below by the
    trade-off function of randomised response: straight lines from (0, 1) to (k, k) to (1, 0) with
    ``k = 1 / (1 + e^epsilon)``. The trade-off function of `mu`-Gaussian DP is convex. It goes
    through the same three points because ``Phi(-mu / 2) = k``, so it is on or below these lines.
    With a smaller `mu`, it would be above the point (k, k).

    Examples
    --------
    >>> from sklearn_pate.rdp import pure_to_gdp
    >>> round(pure_to_gdp(1.0), 4)
    1.232
    """
    epsilon = check_nonnegative("epsilon", epsilon)
    if epsilon == math.inf:
        return math.inf
    if epsilon < 1:  # Phi^-1(p) = sqrt(2) erfinv(2 p - 1), and 2 p - 1 = tanh(epsilon / 2)
        half = math.sqrt(2) * erfinv(math.tanh(epsilon / 2))
    else:  # from the logarithm, because the tail is tiny
        half = -ndtri_exp(-np.logaddexp(0.0, epsilon))
    return float(2 * half * (1 + 1e-12))  # a larger `mu` is on the safe side


def pure_and_gdp_delta(epsilon: float, *, pure: float, mu: float) -> float:
    """Compute the exact delta of one pure step composed with Gaussian noise.

    Parameters
    ----------
    epsilon : float
        Epsilon of the guarantee, at least 0.
    pure : float
        Pure privacy loss of the first step, at least 0.
    mu : float
        Gaussian-DP parameter of all other steps, at least 0. These may depend on the release of the
        first step.

    Returns
    -------
    float
        The smallest delta that holds for all such steps.

    Notes
    -----
    Every (`pure`, 0)-differentially private step is a function of randomised response, whose
    privacy loss is `pure` with probability ``p = e^pure / (1 + e^pure)``, else ``-pure`` (Kairouz,
    Oh, Viswanath (2015), Theorem 3.1 and its proof). The Gaussian noise must satisfy the rest of
    `epsilon` in both cases, so delta is
    ``p delta_mu(epsilon - pure) + (1 - p) delta_mu(epsilon + pure)``, where ``delta_mu`` is the
    delta of `mu`-Gaussian DP.

    Examples
    --------
    >>> from sklearn_pate.rdp import pure_and_gdp_delta
    >>> f"{pure_and_gdp_delta(2.0, pure=1.0, mu=0.27):.2g}"
    '8.2e-06'
    """
    pure, mu = check_nonnegative("pure", pure), check_nonnegative("mu", mu)
    epsilon = check_nonnegative("epsilon", epsilon)
    return 1.0 if math.inf in (pure, mu) else _pure_and_gdp_delta(epsilon, pure, mu)


def pure_and_gdp_to_epsilon(delta: float, *, pure: float, mu: float) -> float:
    """Compute the exact epsilon of one pure step composed with Gaussian noise.

    Parameters
    ----------
    delta : float
        Delta of the guarantee, strictly between 0 and 1.
    pure, mu : float
        As in `pure_and_gdp_delta`.

    Returns
    -------
    float
        The least epsilon at which `pure_and_gdp_delta` is at most `delta`, rounded up as in
        `gdp_to_epsilon`; never above ``pure + gdp_to_epsilon(mu, delta)``.

    Examples
    --------
    >>> from sklearn_pate.rdp import gdp_to_epsilon, pure_and_gdp_to_epsilon
    >>> round(pure_and_gdp_to_epsilon(1e-5, pure=1.0, mu=0.27), 3)
    1.987
    >>> round(1.0 + gdp_to_epsilon(0.27, 1e-5), 3)
    2.008
    """
    delta = check_delta(delta)
    pure, mu = check_nonnegative("pure", pure), check_nonnegative("mu", mu)
    enough = math.nextafter(pure + gdp_to_epsilon(mu, delta), math.inf)
    if enough == math.inf:
        return math.inf
    if _pure_and_gdp_delta(0.0, pure, mu) <= delta:
        return 0.0

    def excess(epsilon: float) -> float:
        return _pure_and_gdp_delta(epsilon, pure, mu) - delta

    if excess(enough) >= 0:  # possible in the last digits
        return enough
    root = brentq(excess, 0.0, enough, xtol=1e-14, rtol=1e-13)
    return min(_rounded_up(root), enough)


def _pure_and_gdp_delta(epsilon: float, pure: float, mu: float) -> float:
    above = expit(pure) * _gdp_delta_of_any(epsilon - pure, mu)
    return float(above + expit(-pure) * _gdp_delta_of_any(epsilon + pure, mu))


def _gdp_delta_of_any(epsilon: float, mu: float) -> float:
    """Compute `_gdp_delta` also for negative `epsilon` and for a `mu` of 0."""
    if epsilon < 0:  # by symmetry of Gaussian noise: the same test with exchanged data sets
        return -math.expm1(epsilon) + math.exp(epsilon) * _gdp_delta_of_any(-epsilon, mu)
    return _gdp_delta(epsilon, mu) if mu > 0 else 0.0


def pure_rdp(epsilon: float, orders: ArrayLike) -> NDArray[np.float64]:
    """Compute the largest Renyi cost of any (`epsilon`, 0)-differentially private step.

    It is the cost of randomised response,
    ``log(cosh((a - 1/2) epsilon) / cosh(epsilon / 2)) / (a - 1)`` at order `a`.

    Parameters
    ----------
    epsilon : float
        Pure privacy loss of the step, at least 0 and finite.
    orders : array-like of shape (n_orders,)
        Renyi orders, above 1.

    Returns
    -------
    ndarray of shape (n_orders,)
        Costs, at most ``min(epsilon, a * epsilon**2 / 2)``.

    Raises
    ------
    ValueError
        If `epsilon` is negative or infinite, or an order is not above 1.

    Notes
    -----
    The ratio r of the probabilities of an outcome on the two data sets is between
    ``exp(-epsilon)`` and ``exp(epsilon)``, and has a mean of 1. Because ``r**a`` is convex, its
    mean is largest if r has only these two values. This is the case for randomised response (Bun,
    Steinke (2016), Concentrated differential privacy, Proposition 3.3).

    Examples
    --------
    >>> from sklearn_pate.rdp import pure_rdp
    >>> pure_rdp(0.1, [2, 10]).round(5)
    array([0.00996, 0.04389])
    """
    orders = check_orders(orders)
    given, epsilon = epsilon, as_float(epsilon) if isinstance(epsilon, Real) else math.nan
    if not 0 <= epsilon < math.inf:
        raise ValueError(f"epsilon must be a finite number, at least 0; got {shown(given)}")
    # log(cosh x / cosh y) with x = (a - 1/2) e, y = e / 2, accurate for tiny and for huge e
    x = (orders - 0.5) * epsilon
    y = epsilon / 2
    # cosh u - cosh v = 2 sinh((u + v) / 2) sinh((u - v) / 2). Both forms are computed for every
    # order, so the arguments of the first are capped to avoid overflow
    u = np.minimum(x, 20.0)
    v = np.minimum(y, u)
    of_small = np.log1p(2 * np.sinh((u + v) / 2) * np.sinh((u - v) / 2) / np.cosh(v))
    of_large = x - y + np.log1p(np.exp(-2 * x)) - math.log1p(math.exp(-2 * y))
    return check_cost(np.where(x < 20, of_small, of_large) / (orders - 1))


# --- the best of a random number of private runs --------------------------------------------------


@dataclass(frozen=True)
class TrialCount:
    """Distribution of a secret number of trials, if only the best trial is published.

    Because the number is random and secret, the cost grows only with the logarithm of its mean or,
    for a pure epsilon, not at all. The cost of a fixed number of trials is the sum of their costs.

    Parameters
    ----------
    mean : float
        Expected number of trials, 1.001 to 1e6.
    eta : float, default=1.0
        Shape of the distribution, a zero-truncated negative binomial, from -0.9 to 20. The value 1
        is the geometric distribution, and 0 the logarithmic one. Small values cost less, but then
        most draws are far below the mean.

    References
    ----------
    .. [1] Papernot, Steinke (2022). Hyperparameter tuning with Renyi differential privacy. ICLR.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_pate.rdp import DEFAULT_ORDERS, TrialCount, rdp_to_epsilon
    >>> rdp = 0.05 * DEFAULT_ORDERS  # Gaussian noise; by the same conversion, epsilon is 1.3
    >>> best_of_20 = TrialCount(20).rdp(rdp, DEFAULT_ORDERS)
    >>> round(rdp_to_epsilon(best_of_20, 1e-5, DEFAULT_ORDERS)[0], 1)
    3.0
    """

    mean: float
    eta: float = 1.0

    def __post_init__(self) -> None:
        are_numbers = isinstance(self.mean, Real) and isinstance(self.eta, Real)
        if not are_numbers or not (1.001 <= self.mean <= 1e6 and -0.9 <= self.eta <= 20):
            raise ValueError(
                "the distribution of the number of trials requires a mean from 1.001 to 1e6 and an "
                f"eta from -0.9 to 20; got mean={self.mean!r}, eta={self.eta!r}"
            )
        # Small NumPy types overflow and round
        object.__setattr__(self, "mean", float(self.mean))
        object.__setattr__(self, "eta", float(self.eta))

    @property
    def log_inverse_gamma(self) -> float:
        """Log of 1 / gamma, where gamma is the success probability of the distribution."""

        def excess(x: float) -> float:
            # mean = eta (1 - g) / (g (1 - g^eta)) with g = exp(-x); its limit for eta = 0
            if abs(self.eta) < 1e-9:
                return math.log(math.expm1(x) / x / self.mean)
            shape = self.eta / -math.expm1(-self.eta * x)
            return math.log(shape) + math.log(math.expm1(x)) - math.log(self.mean)

        return brentq(excess, 1e-6, 500.0, xtol=1e-13)

    def rdp(self, rdp: ArrayLike, orders: ArrayLike) -> NDArray[np.float64]:
        """Compute the Renyi cost of publishing the best trial.

        Parameters
        ----------
        rdp : array-like of shape (n_orders,)
            Renyi cost of one trial, including the choice of its parameters and its score.
        orders : array-like of shape (n_orders,)
            Renyi orders, above 1.

        Returns
        -------
        ndarray of shape (n_orders,)
            Costs by Papernot, Steinke (2022), Theorem 2.
        """
        rdp = np.asarray(rdp, dtype=float)
        orders = check_orders(orders)
        # The theorem holds for any second order, and the minimum is over all of them
        second = self._at_second_order(rdp, orders)
        return rdp + (1 + self.eta) * second.min() + math.log(self.mean) / (orders - 1)

    def second_order(self, rdp: ArrayLike, orders: ArrayLike) -> float:
        """Return the second order of the theorem at which the cost in `rdp` is smallest.

        Parameters
        ----------
        rdp, orders
            As in `rdp`.

        Returns
        -------
        float
        """
        orders = check_orders(orders)
        second = self._at_second_order(np.asarray(rdp, dtype=float), orders)
        return float(orders[np.argmin(second)])

    def _at_second_order(
        self, rdp: NDArray[np.float64], orders: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the term of the theorem that depends on a second order."""
        return (1 - 1 / orders) * rdp + self.log_inverse_gamma / orders

    def draw(self, rng: np.random.Generator) -> int:
        """Draw a number of trials.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of randomness.

        Returns
        -------
        int
            The number, which must stay secret.
        """
        # The probability of k + 1 is the probability of k times (1 - gamma) (k + eta) / (k + 1).
        # The probability of k = 1 makes the sum 1; for eta = 0 it is a limit
        log_inverse_gamma = self.log_inverse_gamma
        stay = -math.expm1(-log_inverse_gamma)  # 1 - gamma
        if abs(self.eta) < 1e-9:
            probability = stay / log_inverse_gamma
        else:
            probability = self.eta * stay / math.expm1(self.eta * log_inverse_gamma)
        # The number at which the distribution function exceeds a uniform draw
        left = rng.random()
        k = 1
        while left > probability > 0:  # a probability may be rounded to 0 earlier
            left -= probability
            probability *= stay * (k + self.eta) / (k + 1)
            k += 1
        return k
