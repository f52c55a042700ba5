"""The bounds that the PATE papers print, and the cost of a pure step."""

import math
from numbers import Real

import numpy as np
from scipy.special import log_ndtr, logsumexp

from .checks import check_cost, check_orders, check_positive, check_votes


def _log_not_plurality(votes, log_tail):
    """Log of an upper bound on Pr[outcome != plurality]: the union bound, capped at 1 - 1/m.

    No class is likelier than the plurality, so its own probability is at least 1/m.
    """
    votes = check_votes(votes)
    rows = np.arange(len(votes))
    plurality = votes.argmax(axis=1)
    behind = votes[rows, plurality][:, None] - votes
    terms = log_tail(behind.astype(float))
    terms[rows, plurality] = -np.inf
    return np.minimum(logsumexp(terms, axis=1), math.log1p(-1.0 / votes.shape[1]))


def pure_rdp(epsilon, orders):
    """Largest Renyi cost of any (`epsilon`, 0)-differentially private step.

    It is reached by randomised response: ``log(cosh((a - 1/2) e) / cosh(e / 2)) / (a - 1)``.

    Parameters
    ----------
    epsilon : float
        Pure privacy loss of the step, >= 0.
    orders : array-like of shape (n_orders,)
        Renyi orders, above 1.

    Returns
    -------
    ndarray of shape (n_orders,)
        Costs, at most ``min(epsilon, a * epsilon**2 / 2)``.

    Raises
    ------
    ValueError
        If `epsilon` is negative or an order is not above 1.

    Notes
    -----
    The ratio r of the probabilities of an outcome is between ``exp(-epsilon)`` and
    ``exp(epsilon)``, and its mean is 1. As ``r**a`` is convex, its mean is largest if r takes only
    these two values: randomised response (Bun, Steinke (2016), Concentrated differential privacy,
    Proposition 3.3).

    Examples
    --------
    >>> from sklearn_pate.rdp import pure_rdp
    >>> pure_rdp(0.1, [2, 10]).round(5)
    array([0.00996, 0.04389])
    """
    orders = check_orders(orders)
    if not isinstance(epsilon, Real) or not 0 <= epsilon < math.inf:
        raise ValueError(f"epsilon must be a finite number, at least 0; got {epsilon!r}")
    # log(cosh x / cosh y) with x = (a - 1/2) e, y = e / 2, exact for tiny and for huge e
    x = (orders - 0.5) * epsilon
    y = epsilon / 2
    # cosh u - cosh v = 2 sinh((u + v) / 2) sinh((u - v) / 2). Both forms are computed for every
    # order, so the first gets arguments that do not overflow
    u = np.minimum(x, 20.0)
    v = np.minimum(y, u)
    of_small = np.log1p(2 * np.sinh((u + v) / 2) * np.sinh((u - v) / 2) / np.cosh(v))
    of_large = x - y + np.log1p(np.exp(-2 * x)) - math.log1p(math.exp(-2 * y))
    return check_cost(np.where(x < 20, of_small, of_large) / (orders - 1))


def lnmax_rdp(votes, gamma, orders):
    """Published data-dependent bound on the cost of LNMax queries: the 2017 paper's.

    It depends on private votes and bounds one direction of the divergence only: for comparison
    with the literature, not for publication.

    Parameters
    ----------
    votes : array-like of shape (n_queries, n_classes)
        Vote counts; each row sums to the number of teachers.
    gamma : float
        Inverse scale of the Laplace noise (scale ``1 / gamma``), above 0.
    orders : array-like of shape (n_orders,)
        Renyi orders, above 1.

    Returns
    -------
    ndarray of shape (n_queries, n_orders)
        The smallest of ``2 gamma**2 a``, ``2 gamma`` and Theorem 3 of Papernot et al.
        (2017), which holds only for ``q < 1 / (exp(2 gamma) + 1)``; q is bounded by Lemma 4.

    Raises
    ------
    ValueError
        For negative counts, rows with different totals, gamma <= 0 or orders <= 1.

    Examples
    --------
    >>> from sklearn_pate.rdp import lnmax_rdp
    >>> lnmax_rdp([[130, 120], [250, 0]], 0.05, [10.0]).round(4)
    array([[0.05],
           [0.  ]])
    """
    gamma = check_positive("gamma", gamma)
    # Papernot et al. (2017), Lemma 4
    log_q = _log_not_plurality(votes, lambda d: np.log((2 + gamma * d) / 4) - gamma * d)
    return laplace_rdp(log_q, gamma, orders)


def laplace_rdp(log_q, gamma, orders):
    """Theorem 3 of the 2017 paper for a mechanism that is ``2 * gamma``-differentially private.

    Parameters
    ----------
    log_q : array-like of shape (n_queries,)
        Log of an upper bound on the probability of all outcomes but one.
    gamma : float
        Half the pure epsilon of the mechanism.
    orders : array-like of shape (n_orders,)
        Renyi orders, above 1.

    Returns
    -------
    ndarray of shape (n_queries, n_orders)
        The smallest of ``2 gamma**2 a``, ``2 gamma`` and, where its condition holds, Papernot et
        al. (2017), Theorem 3.

    Examples
    --------
    >>> from sklearn_pate.rdp import laplace_rdp
    >>> bool(laplace_rdp([-20.0], 0.05, [10.0])[0, 0] < 2 * 0.05**2 * 10)
    True
    """
    gamma = check_positive("gamma", gamma)
    orders = check_orders(orders)
    log_q, place = np.unique(np.asarray(log_q, dtype=float), return_inverse=True)
    log_q = log_q[:, None]
    data_independent = np.minimum(2 * gamma**2 * orders, 2 * gamma)
    holds = log_q < -np.logaddexp(2 * gamma, 0.0)
    # Where it does not hold, `theorem` is not used: any number will do that the formulas take
    safe = np.where(holds, log_q, -np.logaddexp(2 * gamma, 0.0) - 1)
    log_p = np.log1p(-np.exp(safe))
    moments = orders - 1
    stay = log_p + moments * (log_p - np.log1p(-np.exp(2 * gamma + safe)))
    move = safe + 2 * gamma * moments
    theorem = np.logaddexp(stay, move) / moments  # Papernot et al. (2017), Theorem 3
    bound = np.where(holds, np.minimum(data_independent, theorem), data_independent)
    return check_cost(bound)[place]


def gaussian_rdp(log_q, sigma, orders):
    """Theorem 2 of the 2018 paper for a mechanism of cost ``a / sigma**2`` at order `a`.

    Parameters
    ----------
    log_q : array-like of shape (n_queries,)
        Log of an upper bound on the probability of all outcomes but one.
    sigma : float
        Noise level: the mechanism costs at most ``a / sigma**2`` on every data set.
    orders : array-like of shape (n_orders,)
        Renyi orders, above 1.

    Returns
    -------
    ndarray of shape (n_queries, n_orders)
        The smaller of ``a / sigma**2`` and, where its conditions hold, Papernot et al. (2018),
        Theorem 2.

    Examples
    --------
    >>> from sklearn_pate.rdp import gaussian_rdp
    >>> bool(gaussian_rdp([-50.0], 40.0, [10.0])[0, 0] < 10 / 40**2)
    True
    """
    sigma = check_positive("sigma", sigma)
    orders = check_orders(orders)
    log_q, place = np.unique(np.asarray(log_q, dtype=float), return_inverse=True)
    log_q = log_q[:, None]
    data_independent = orders / sigma**2
    mu2 = sigma * np.sqrt(-log_q)  # Lemma 9's choice of the two orders
    mu1 = mu2 + 1
    e1 = mu1 / sigma**2
    e2 = mu2 / sigma**2
    with np.errstate(divide="ignore", invalid="ignore"):
        # Papernot et al. (2018), Theorem 2: its conditions, then A, B and the bound
        holds = (mu1 >= orders) & (mu2 > 1) & (log_q + e2 < 0)
        holds &= log_q <= (mu2 - 1) * e2 - mu2 * (np.log(mu1 / mu2) + np.log(mu2 / (mu2 - 1)))
        log_p = np.log1p(-np.exp(log_q))
        log_a = log_p - np.log1p(-np.exp((log_q + e2) * (mu2 - 1) / mu2))
        log_b = e1 - log_q / mu2
        moments = orders - 1
        theorem = np.logaddexp(log_p + moments * log_a, log_q + moments * log_b) / moments
    bound = np.where(holds, np.minimum(data_independent, theorem), data_independent)
    return check_cost(bound)[place]


def gnmax_rdp(votes, sigma, orders):
    """Published data-dependent bound on the cost of GNMax queries: the 2018 paper's.

    It depends on private votes and bounds one direction of the divergence only: for comparison
    with the literature, not for publication.

    Parameters
    ----------
    votes : array-like of shape (n_queries, n_classes)
        Vote counts; each row sums to the number of teachers.
    sigma : float
        Standard deviation of the Gaussian noise on each count, above 0.
    orders : array-like of shape (n_orders,)
        Renyi orders, above 1.

    Returns
    -------
    ndarray of shape (n_queries, n_orders)
        Papernot et al. (2018), Proposition 8 (``a / sigma**2``) and Theorem 2 with
        Proposition 7, the smaller.

    Raises
    ------
    ValueError
        For negative counts, rows with different totals, sigma <= 0 or orders <= 1.

    Examples
    --------
    >>> from sklearn_pate.rdp import gnmax_rdp
    >>> gnmax_rdp([[130, 120], [250, 0]], 40.0, [10.0]).round(5)
    array([[0.00625],
           [0.     ]])
    """
    sigma = check_positive("sigma", sigma)
    # Papernot et al. (2018), Proposition 7
    log_q = _log_not_plurality(votes, lambda d: log_ndtr(-d / (math.sqrt(2) * sigma)))
    return gaussian_rdp(log_q, sigma, orders)


def threshold_rdp(max_votes, threshold, sigma, orders):
    """Published data-dependent bound on the cost of a noisy threshold check.

    Parameters
    ----------
    max_votes : array-like of shape (n_queries,)
        The number compared with the threshold; one teacher changes it by at most 1.
    threshold : float
        The check passes when ``max_votes + noise >= threshold``.
    sigma : float
        Standard deviation of the Gaussian noise, above 0.
    orders : array-like of shape (n_orders,)
        Renyi orders, above 1.

    Returns
    -------
    ndarray of shape (n_queries, n_orders)
        Papernot et al. (2018), Theorem 2 with noise level ``sqrt(2) * sigma``; private.

    Examples
    --------
    >>> from sklearn_pate.rdp import threshold_rdp
    >>> threshold_rdp([150, 250], 150, 20.0, [10.0]).round(5)
    array([[0.0125],
           [0.    ]])
    """
    sigma = check_positive("sigma", sigma)
    excess = (np.asarray(max_votes, dtype=float) - threshold) / sigma
    log_q = np.minimum(log_ndtr(excess), log_ndtr(-excess))  # the less likely of pass and fail
    # The check alone costs a / (2 sigma**2), which is a / (sqrt(2) sigma)**2
    return gaussian_rdp(log_q, math.sqrt(2) * sigma, orders)
