"""Renyi costs of private votes, and their conversion to (epsilon, delta). Pure functions.

A Renyi cost is an array over orders: entry `a` bounds the Renyi divergence of order `a` between
what is released on a data set and on a neighbouring one. Neighbours change at most one teacher,
so at most one vote of a query moves from one class to another.

References
----------
.. [1] Papernot, Abadi, Erlingsson, Goodfellow, Talwar (2017). Semi-supervised knowledge transfer
       for deep learning from private training data. ICLR.
.. [2] Papernot, Song, Mironov, Raghunathan, Talwar, Erlingsson (2018). Scalable private learning
       with PATE. ICLR.
.. [3] Balle, Wang (2018). Improving the Gaussian mechanism for differential privacy. ICML.
.. [4] Dong, Roth, Su (2022). Gaussian differential privacy. JRSS B.
.. [5] Canonne, Kamath, Steinke (2020). The discrete Gaussian for differential privacy. NeurIPS.
.. [6] Mironov (2017). Renyi differential privacy. CSF.
"""

import math
import warnings
from numbers import Integral, Real

import numpy as np
from scipy.optimize import brentq
from scipy.special import erfcx, log_ndtr, logsumexp, ndtr

__all__ = [
    "DEFAULT_ORDERS",
    "check_delta",
    "check_log_proba",
    "check_orders",
    "check_votes",
    "epsilon_by_order",
    "exact_rdp",
    "gaussian_rdp",
    "gdp_mu",
    "gdp_to_epsilon",
    "gnmax_rdp",
    "gnmax_sigma",
    "lnmax_rdp",
    "pure_rdp",
    "rdp_to_epsilon",
    "threshold_rdp",
    "worst_case_rdp",
]

#: Orders at which costs are computed: 1.1 to 2001, 5% apart in `order - 1`.
DEFAULT_ORDERS = 1.0 + np.geomspace(0.1, 2000.0, 204)
DEFAULT_ORDERS.setflags(write=False)


# --- input checks: messages never quote votes, which are private -----------------------------


def check_orders(orders):
    """Return `orders` as a 1-D float array; every order must be finite and above 1."""
    orders = np.atleast_1d(np.asarray(orders, dtype=float))
    if orders.ndim != 1 or orders.size == 0 or not np.all(np.isfinite(orders) & (orders > 1)):
        raise ValueError(f"orders must be a non-empty list of finite numbers above 1; got {orders}")
    return orders


def check_delta(delta):
    """Return `delta` as a float; it must lie strictly between 0 and 1."""
    if not isinstance(delta, Real) or not 0 < delta < 1:
        raise ValueError(f"delta must be a number strictly between 0 and 1; got {delta!r}")
    return float(delta)


def check_votes(votes):
    """Return `votes` as an int64 array (n_queries, n_classes) of counts with equal row sums."""
    votes = np.asarray(votes)
    if votes.ndim != 2 or votes.shape[1] < 2:
        raise ValueError(
            "votes must have shape (n_queries, n_classes) with at least 2 classes; "
            f"got shape {votes.shape}"
        )
    if votes.dtype.kind not in "iuf":
        raise ValueError(f"votes must be whole numbers; got dtype {votes.dtype}")
    counts = votes.astype(np.int64) if np.isfinite(votes).all() else None
    if counts is None or not np.array_equal(counts, votes):
        raise ValueError("votes must be finite whole numbers: the vote count of each class")
    if (counts < 0).any():
        raise ValueError("votes has negative counts; a count is the number of teachers for a class")
    totals = counts.sum(axis=1)
    if totals.size and (totals[0] < 1 or (totals != totals[0]).any()):
        raise ValueError("every row of votes must sum to the number of teachers, at least 1")
    return counts


def check_log_proba(log_proba):
    """Return outcome log probabilities; each row must be a distribution."""
    log_proba = np.asarray(log_proba, dtype=float)
    if not np.allclose(logsumexp(log_proba, axis=1), 0.0, rtol=0, atol=1e-9):
        raise ValueError(
            "outcome_log_proba must return the log of probabilities that sum to 1 in each row; "
            "subtract logsumexp(..., axis=1, keepdims=True) from unnormalised scores"
        )
    return log_proba


def _check_positive(name, value):
    if not isinstance(value, Real) or not 0 < value < math.inf:
        raise ValueError(f"{name} must be a finite number above 0; got {value!r}")
    return float(value)


def _check_cost(cost):
    """Refuse NaN and negative divergences; lift negative rounding errors to 0."""
    if np.isnan(cost).any() or (cost < -1e-9).any():
        raise ArithmeticError("a Renyi cost came out negative or NaN; please report this")
    return np.maximum(cost, 0.0)


def _log_gap_sum(votes, log_tail):
    """Log of an upper bound on Pr[outcome != plurality]: the union bound, capped at 1 - 1/m."""
    votes = check_votes(votes)
    rows = np.arange(len(votes))
    top = votes.argmax(axis=1)
    gaps = votes[rows, top][:, None] - votes
    terms = log_tail(gaps.astype(float))
    terms[rows, top] = -np.inf
    return np.minimum(logsumexp(terms, axis=1), math.log1p(-1.0 / votes.shape[1]))


# --- published bounds ------------------------------------------------------------------------


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
    [6]_, Proposition 6 (randomised response) with the bound of [5]_, Proposition 3.3.

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
    x, y = (orders - 0.5) * epsilon, epsilon / 2
    u, v = np.minimum(x, 20.0), np.minimum(y, np.minimum(x, 20.0))
    log_ratio = np.where(
        x < 20,
        np.log1p(2 * np.sinh((u + v) / 2) * np.sinh((u - v) / 2) / np.cosh(v)),
        x - y + np.log1p(np.exp(-2 * x)) - math.log1p(math.exp(-2 * y)),
    )
    return _check_cost(log_ratio / (orders - 1))


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
        The smallest of ``2 gamma**2 a``, ``2 gamma`` and Theorem 3 of [1]_, which holds only for
        ``q < 1 / (exp(2 gamma) + 1)``; q is bounded by Lemma 4.

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
    gamma, orders = _check_positive("gamma", gamma), check_orders(orders)
    log_q = _log_gap_sum(votes, lambda d: np.log((2 + gamma * d) / 4) - gamma * d)[:, None]
    fixed = np.minimum(2 * gamma**2 * orders, 2 * gamma)
    holds = log_q < -np.logaddexp(2 * gamma, 0.0)
    safe = np.where(holds, log_q, -np.logaddexp(2 * gamma, 0.0) - 1)
    log_p = np.log1p(-np.exp(safe))
    moments = orders - 1
    stay = log_p + moments * (log_p - np.log1p(-np.exp(2 * gamma + safe)))
    move = safe + 2 * gamma * moments
    return _check_cost(
        np.where(holds, np.minimum(fixed, np.logaddexp(stay, move) / moments), fixed)
    )


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
        The smaller of ``a / sigma**2`` and, where its conditions hold, [2]_, Theorem 2.

    Examples
    --------
    >>> from sklearn_pate.rdp import gaussian_rdp
    >>> bool(gaussian_rdp([-50.0], 40.0, [10.0])[0, 0] < 10 / 40**2)
    True
    """
    sigma, orders = _check_positive("sigma", sigma), check_orders(orders)
    log_q = np.asarray(log_q, dtype=float)[:, None]
    fixed = orders / sigma**2
    mu2 = sigma * np.sqrt(-log_q)  # Lemma 9's choice of the two orders
    mu1 = mu2 + 1
    e1, e2 = mu1 / sigma**2, mu2 / sigma**2
    with np.errstate(divide="ignore", invalid="ignore"):
        holds = (mu1 >= orders) & (mu2 > 1) & (log_q + e2 < 0)
        holds &= log_q <= (mu2 - 1) * e2 - mu2 * (np.log(mu1 / mu2) + np.log(mu2 / (mu2 - 1)))
        log_p = np.log1p(-np.exp(log_q))
        log_a = log_p - np.log1p(-np.exp((log_q + e2) * (mu2 - 1) / mu2))
        log_b = e1 - log_q / mu2
        moments = orders - 1
        bound = np.logaddexp(log_p + moments * log_a, log_q + moments * log_b) / moments
    return _check_cost(np.where(holds, np.minimum(fixed, bound), fixed))


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
        [2]_, Proposition 8 (``a / sigma**2``) and Theorem 2 with Proposition 7, the smaller.

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
    sigma = _check_positive("sigma", sigma)
    log_q = _log_gap_sum(votes, lambda d: log_ndtr(-d / (math.sqrt(2) * sigma)))
    return gaussian_rdp(log_q, sigma, orders)


def threshold_rdp(max_votes, threshold, sigma, orders):
    """Published data-dependent bound on the cost of a noisy threshold check.

    Parameters
    ----------
    max_votes : array-like of shape (n_queries,)
        The quantity compared with the threshold; one teacher changes it by at most 1.
    threshold : float
        The check passes when ``max_votes + noise >= threshold``.
    sigma : float
        Standard deviation of the Gaussian noise, above 0.
    orders : array-like of shape (n_orders,)
        Renyi orders, above 1.

    Returns
    -------
    ndarray of shape (n_queries, n_orders)
        [2]_, Theorem 2 with noise level ``sqrt(2) * sigma``; private.

    Examples
    --------
    >>> from sklearn_pate.rdp import threshold_rdp
    >>> threshold_rdp([150, 250], 150, 20.0, [10.0]).round(5)
    array([[0.0125],
           [0.    ]])
    """
    sigma = _check_positive("sigma", sigma)
    excess = (np.asarray(max_votes, dtype=float) - threshold) / sigma
    log_q = np.minimum(log_ndtr(excess), log_ndtr(-excess))
    return gaussian_rdp(log_q, math.sqrt(2) * sigma, orders)


# --- exact cost ------------------------------------------------------------------------------


def exact_rdp(aggregator, votes, orders, student_proba=None):
    """Exact Renyi cost of each query: the largest divergence over all moves of one vote.

    Nothing is bounded: the outcome distributions of the votes and of every neighbour are computed,
    and their divergences in both directions. Like every data-dependent cost it is private.

    Parameters
    ----------
    aggregator : Aggregator
        Any mechanism; only its `outcome_log_proba` and `label_symmetric` are used.
    votes : array-like of shape (n_queries, n_classes)
        Vote counts; each row sums to the number of teachers.
    orders : array-like of shape (n_orders,)
        Renyi orders, above 1.
    student_proba : array-like of shape (n_queries, n_classes), default=None
        The student's probabilities, for mechanisms that use them.

    Returns
    -------
    ndarray of shape (n_queries, n_orders)
        Costs, rounded up by what floating point may hide (about 1e-9 relative); inf where an
        outcome is possible on one side only. They add over queries fixed in advance.

    Raises
    ------
    ValueError
        For negative counts, rows with different totals or orders <= 1.

    Notes
    -----
    For order `a` and neighbours ``n' = n - e_u + e_v``: ``max(D_a(P_n || P_n'), D_a(P_n' || P_n))``
    with ``D_a(P || Q) = log(sum_o P(o)**a Q(o)**(1 - a)) / (a - 1)`` ([6]_, Definition 3). `D_a`
    does not decrease in `a`, so a move that loses at the upper end of an interval of orders to
    another at its lower end loses everywhere between: it is left out there.

    Examples
    --------
    >>> from sklearn_pate.aggregators import GNMax
    >>> from sklearn_pate.rdp import exact_rdp, gnmax_rdp
    >>> exact_rdp(GNMax(40.0), [[130, 120], [200, 50]], [10.0]).round(5)
    array([[0.00399],
           [0.00033]])
    >>> gnmax_rdp([[130, 120], [200, 50]], 40.0, [10.0]).round(5)
    array([[0.00625],
           [0.00133]])
    """
    votes, orders = check_votes(votes), check_orders(orders)
    increasing, back = np.unique(orders, return_inverse=True)
    if aggregator.label_symmetric:  # the cost depends on the sorted counts only
        rows, where = np.unique(np.sort(votes, axis=1), axis=0, return_inverse=True)
        where, proba = where.reshape(-1), None
    else:
        rows, where = votes, np.arange(len(votes))
        proba = None if student_proba is None else np.asarray(student_proba, dtype=float)
    costs = np.empty((len(rows), increasing.size))
    size = max(1, 60_000 // votes.shape[1] ** 2)
    for start in range(0, len(rows), size):
        part = slice(start, start + size)
        costs[part] = _exact_costs(
            aggregator, rows[part], increasing, None if proba is None else proba[part]
        )
    return costs[where][:, back]


def _exact_costs(aggregator, rows, orders, proba):
    row, neighbours = _moves(rows, aggregator.label_symmetric)
    log_p = check_log_proba(aggregator.outcome_log_proba(rows, proba))[row]
    log_q = check_log_proba(
        aggregator.outcome_log_proba(neighbours, None if proba is None else proba[row])
    )
    first = np.concatenate([log_p, log_q])
    second = np.concatenate([log_q, log_p])
    row = np.concatenate([row, row])
    coarse = np.unique(np.linspace(0, orders.size - 1, 25).astype(int))
    at_coarse = [_divergence(first, second, orders[k]) for k in coarse]
    costs = np.zeros((len(rows), orders.size))
    for k, divergence in zip(coarse, at_coarse, strict=True):
        np.maximum.at(costs[:, k], row, divergence)
    for low, high, at_high in zip(coarse, coarse[1:], at_coarse[1:], strict=False):
        may_win = at_high >= costs[row, low] * (1 - 1e-9)  # rounding must not leave out a winner
        p, q, of = first[may_win], second[may_win], row[may_win]
        for k in range(low + 1, high):
            np.maximum.at(costs[:, k], of, _divergence(p, q, orders[k]))
    costs = np.maximum.accumulate(costs, axis=1)  # D_a does not decrease; nor may its rounding
    # Errors of 1e-14 in log P - log Q move a small divergence D by about sqrt(2 a D) times that
    return costs * (1 + 1e-9) + 1e-14 * np.sqrt(2 * orders * costs)


def _moves(rows, symmetric):
    """All neighbours of each row, as (row number, neighbour); one of each kind if `symmetric`."""
    leaves, arrives = rows > 0, np.ones(rows.shape, dtype=bool)
    if symmetric:  # classes with equal counts are interchangeable, and rows are sorted
        differs = rows[:, 1:] != rows[:, :-1]
        leaves[:, :-1] &= differs
        arrives[:, 1:] = differs
    pairs = leaves[:, :, None] & arrives[:, None, :] & ~np.eye(rows.shape[1], dtype=bool)
    row, u, v = np.nonzero(pairs)
    neighbours = rows[row]
    number = np.arange(len(row))
    neighbours[number, u] -= 1
    neighbours[number, v] += 1
    return row, neighbours


def _divergence(log_p, log_q, order):
    """Renyi divergence of each row of outcome log probabilities: D_order(P || Q), exact when tiny.

    ``sum Q r**a = 1 + sum Q (r**a - 1 - a (r - 1))`` for ``r = P / Q``, as both sum to 1: all terms
    of the second sum are at least 0, so nothing cancels between outcomes.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        log_r = log_p - log_q
        power = order * log_r
        tame = np.abs(power).max(axis=1) < 500  # false for NaN and infinities
        log_sum = np.empty(len(power))
        log_r, power = log_r[tame], power[tame]
        excess = np.expm1(power) - order * np.expm1(log_r)
        tiny = np.abs(power) < 0.01  # where that difference cancels: its Taylor series
        r = log_r[tiny]
        excess[tiny] = sum((order**k - order) / math.factorial(k) * r**k for k in range(2, 8))
        log_sum[tame] = np.log1p((np.exp(log_q[tame]) * np.maximum(excess, 0)).sum(axis=1))
        p, q = log_p[~tame], log_q[~tame]
        log_terms = np.where(np.isneginf(p), -np.inf, order * p + (1 - order) * q)
        log_sum[~tame] = np.maximum(logsumexp(log_terms, axis=1), 0)
    return log_sum / (order - 1)


def worst_case_rdp(aggregator, orders, n_teachers=None, n_classes=None):
    """Renyi cost of one query on any votes: data-independent, so safe to publish.

    Parameters
    ----------
    aggregator : Aggregator
        The mechanism.
    orders : array-like of shape (n_orders,)
        Renyi orders, above 1.
    n_teachers, n_classes : int, default=None
        With two classes and up to 10,000 teachers the cost is exact: the largest `exact_rdp` over
        all histograms, without `student_proba`. Otherwise it follows from the mechanism's `gdp_mu`
        and `pure_epsilon`.

    Returns
    -------
    ndarray of shape (n_orders,)
        Costs; they add over queries, adaptive ones too. inf without a guarantee.

    Notes
    -----
    A `mu`-Gaussian-DP mechanism costs ``a mu**2 / 2`` ([4]_, Corollary B.6), a pure one
    `pure_rdp`.

    Examples
    --------
    >>> from sklearn_pate.aggregators import GNMax
    >>> from sklearn_pate.rdp import worst_case_rdp
    >>> worst_case_rdp(GNMax(40.0), [10.0]).round(5)
    array([0.00625])
    >>> worst_case_rdp(GNMax(40.0), [10.0], n_teachers=250, n_classes=2).round(5)
    array([0.00399])
    """
    orders = check_orders(orders)
    cost = np.full(orders.size, np.inf)
    if aggregator.gdp_mu < math.inf:
        cost = orders * aggregator.gdp_mu**2 / 2
    if aggregator.pure_epsilon < math.inf:
        cost = np.minimum(cost, pure_rdp(aggregator.pure_epsilon, orders))
    if n_classes == 2 and n_teachers is not None and n_teachers <= 10_000:
        n_teachers = int(n_teachers)
        first = np.arange(n_teachers + 1)
        every_histogram = np.column_stack([first, n_teachers - first])
        cost = np.minimum(cost, exact_rdp(aggregator, every_histogram, orders).max(axis=0))
    return cost


# --- from costs to (epsilon, delta) ----------------------------------------------------------


def rdp_to_epsilon(rdp, delta, orders, conversion="improved"):
    """Smallest epsilon that a Renyi cost curve guarantees at `delta`.

    Parameters
    ----------
    rdp : array-like of shape (n_orders,)
        Total Renyi cost at each order, in both directions.
    delta : float
        Failure probability, strictly between 0 and 1.
    orders : array-like of shape (n_orders,)
        Renyi orders, above 1.
    conversion : {"improved", "classic"}, default="improved"
        "classic" is ``rdp + log(1 / delta) / (a - 1)`` ([6]_, Proposition 3), used in the PATE
        papers; "improved" is [5]_, Proposition 12, never larger.

    Returns
    -------
    epsilon : float
        At least 0; inf if every cost is infinite.
    order : float
        The order that gave it.

    Raises
    ------
    ValueError
        For delta outside (0, 1), orders <= 1, or costs that are negative, NaN or of another
        length.

    Warns
    -----
    UserWarning
        If the best order is the first or last of the grid: a wider grid may give less.

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
        warnings.warn(
            f"the best Renyi order is at the edge of the grid ({orders[best]:g}); "
            "a wider grid of orders may give a smaller epsilon",
            stacklevel=2,
        )
    return float(epsilons[best]), float(orders[best])


def epsilon_by_order(rdp, delta, orders, conversion="improved"):
    """Epsilon that each order of a Renyi cost curve guarantees; see `rdp_to_epsilon`.

    Parameters
    ----------
    rdp, delta, orders, conversion
        As in `rdp_to_epsilon`.

    Returns
    -------
    ndarray of shape (n_orders,)
        Epsilons, at least 0; each is a guarantee if its order was fixed in advance, the smallest
        if the costs do not depend on private data.

    Examples
    --------
    >>> from sklearn_pate.rdp import epsilon_by_order
    >>> epsilon_by_order([0.1, 0.5], 1e-5, [2, 10]).round(2)
    array([10.23,  1.42])
    """
    orders, delta = check_orders(orders), check_delta(delta)
    rdp = np.asarray(rdp, dtype=float)
    if rdp.shape != orders.shape:
        raise ValueError(f"rdp must have one cost per order, {orders.shape}; got {rdp.shape}")
    if np.isnan(rdp).any() or (rdp < 0).any():
        raise ValueError("rdp must hold costs that are at least 0")
    if conversion == "improved":
        penalty = np.log1p(-1 / orders) - (math.log(delta) + np.log(orders)) / (orders - 1)
    elif conversion == "classic":
        penalty = -math.log(delta) / (orders - 1)
    else:
        raise ValueError(f"conversion must be 'improved' or 'classic'; got {conversion!r}")
    return np.maximum(rdp + penalty, 0.0)


def _gdp_delta(epsilon, mu):
    """Delta at `epsilon` of a `mu`-Gaussian-DP mechanism: [3]_, Theorem 8; [4]_, Corollary 1."""
    a, b = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
    if a > 0:
        return ndtr(a) - math.exp(epsilon + log_ndtr(b))
    # exp(epsilon - b**2 / 2) = exp(-a**2 / 2), so the two tails share one factor
    tails = erfcx(-a / math.sqrt(2)) - erfcx(-b / math.sqrt(2))
    return 0.5 * math.exp(-(a**2) / 2) * tails


def gdp_to_epsilon(mu, delta):
    """Exact epsilon of a composition of Gaussian mechanisms.

    Parameters
    ----------
    mu : float
        Root of the summed squares of sensitivity / noise; for `N` GNMax answers
        ``sqrt(2 * N) / sigma``. At least 0.
    delta : float
        Failure probability, strictly between 0 and 1.

    Returns
    -------
    float
        The least epsilon with ``Phi(mu/2 - e/mu) - exp(e) Phi(-mu/2 - e/mu) <= delta``, rounded
        up by at most 1e-12 relative.

    Notes
    -----
    [3]_, Theorem 8 and [4]_, Corollary 1. Valid for continuous Gaussian noise and a number of
    answers fixed in advance.

    Examples
    --------
    >>> from sklearn_pate.rdp import gdp_to_epsilon
    >>> round(gdp_to_epsilon((2 * 100) ** 0.5 / 40, 1e-5), 2)
    1.36
    """
    delta = check_delta(delta)
    if not isinstance(mu, Real) or not mu >= 0:
        raise ValueError(f"mu must be at least 0; got {mu!r}")
    if mu == 0:
        return 0.0
    if mu > 1e4:  # beyond exp's range, and no guarantee worth the name
        return math.inf
    if _gdp_delta(0.0, mu) <= delta:
        return 0.0
    high = 1.0
    while _gdp_delta(high, mu) > delta:
        high *= 2
    root = brentq(lambda e: _gdp_delta(e, mu) - delta, 0.0, high, xtol=1e-14, rtol=1e-13)
    return float(root * (1 + 1e-12) + 2e-14)


def gdp_mu(epsilon, delta):
    """Largest Gaussian-DP parameter that is (`epsilon`, `delta`)-DP: inverse of `gdp_to_epsilon`.

    Parameters
    ----------
    epsilon : float
        Cap on epsilon, above 0.
    delta : float
        Failure probability, strictly between 0 and 1.

    Returns
    -------
    float
        `mu`, rounded down so that ``gdp_to_epsilon(mu, delta) <= epsilon``.

    Examples
    --------
    >>> from sklearn_pate.rdp import gdp_mu, gdp_to_epsilon
    >>> mu = gdp_mu(1.0, 1e-5)
    >>> 0.999999 < gdp_to_epsilon(mu, 1e-5) <= 1.0
    True
    """
    epsilon, delta = _check_positive("epsilon", epsilon), check_delta(delta)
    high = 1.0
    while gdp_to_epsilon(high, delta) < epsilon:
        high *= 2
    mu = brentq(lambda m: gdp_to_epsilon(m, delta) - epsilon, 0.0, high, xtol=1e-14, rtol=1e-12)
    step = 1e-12
    while gdp_to_epsilon(mu, delta) > epsilon:
        mu, step = mu * (1 - step), 2 * step
    return float(mu)


# --- calibration -----------------------------------------------------------------------------


def _check_count(name, value):
    if not isinstance(value, Integral) or value < 1:
        raise ValueError(f"{name} must be a whole number, at least 1; got {value!r}")
    return int(value)


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
        With two classes and the number of teachers, the exact cost of the argmax is used where it
        is smaller than exact Gaussian composition, which depends on neither.

    Returns
    -------
    float
        Standard deviation of the noise on each vote count, in votes; the least that fits, to 1e-6
        relative.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> from sklearn_pate.rdp import gnmax_sigma
    >>> round(gnmax_sigma(1.0, 1e-5, n_queries=20), 1)
    23.6
    """
    n_queries = _check_count("n_queries", n_queries)
    sigma = math.sqrt(2 * n_queries) / gdp_mu(epsilon, delta) * (1 + 1e-10)
    step = 1e-12
    while gdp_to_epsilon(math.sqrt(2 * n_queries) / sigma, delta) > epsilon:
        sigma, step = sigma * (1 + step), 2 * step
    if n_classes != 2 or n_teachers is None:
        return sigma

    def costs(sigma, orders):
        cost = worst_case_rdp(_TwoClassGaussian(sigma), orders, n_teachers, n_classes)
        return epsilon_by_order(n_queries * cost, delta, orders)

    # Orders near the best one serve the search; any order is a guarantee
    best = int(np.argmin(costs(sigma, DEFAULT_ORDERS)))
    orders = DEFAULT_ORDERS[max(best - 8, 0) : best + 9]
    low, high = 0.5 * sigma, sigma
    while high > low * (1 + 1e-6):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if costs(middle, orders).min() <= epsilon else (middle, high)
    return high


class _TwoClassGaussian:
    """The two-class GNMax, for calibration: its outcome distribution and nothing else."""

    label_symmetric, pure_epsilon = True, math.inf

    def __init__(self, sigma):
        self.sigma, self.gdp_mu = sigma, math.sqrt(2) / sigma

    def outcome_log_proba(self, votes, student_proba=None):
        gap = np.asarray(votes, dtype=float) @ [1, -1]
        return log_ndtr(np.column_stack([gap, -gap]) / (math.sqrt(2) * self.sigma))
