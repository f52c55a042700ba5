"""Proved privacy bounds of mechanisms, and the bounds published in the PATE papers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr, logsumexp

from .._numbers import check_positive
from .checks import check_cost, check_nonnegative, check_orders, check_votes
from .noise import Noise

if TYPE_CHECKING:
    from ..aggregators.base import Mechanism
    from .cost import Cost


@dataclass(frozen=True, kw_only=True, eq=False)
class PrivacyBounds:
    """Privacy bounds of a mechanism that hold for all votes.

    A mechanism returns them from `Mechanism.bounds`. Each attribute that is set needs a proof; an
    attribute at its default claims nothing. If several attributes bound the cost, the smallest
    bound is used.

    Attributes
    ----------
    gdp_mu : float
        Gaussian-DP parameter of one query; inf if it is not Gaussian DP.
    pure_epsilon : float
        Pure epsilon (delta = 0) of one query; inf if there is none.
    rdp : callable or None
        ``rdp(orders, n_teachers=, n_classes=)`` returns the Renyi cost of one query at each order.
        `n_teachers` and `n_classes` may be None, which means any number.
    argmax_noise : Noise or None
        The noise on every count, if only the class with the largest noisy count is released.
    label_symmetric : bool
        Whether permuting the vote counts permutes the outcome probabilities and changes nothing
        else, so that costs depend on the sorted counts only. Ties broken by class number are not
        symmetric.
    steps : callable or None
        For a query with two steps, a check and an answer that is drawn only if the check passes:
        ``steps(orders, n_teachers=, n_classes=)`` returns the Renyi cost of each step. A query that
        fails the check has only the cost of the first step.
    total : callable or None
        For a mechanism that charges all queries together: ``total(orders)`` returns the `Cost` of
        any number of queries.
    exact : bool
        Whether the outcome is sampled without rounding, from uniform integers. If not, the other
        bounds hold in real arithmetic, which floating-point numbers approximate.

    Examples
    --------
    >>> from sklearn_pate.aggregators import LNMax
    >>> bounds = LNMax(gamma=0.05).bounds()
    >>> bounds.pure_epsilon, bounds.gdp_mu, bounds.label_symmetric
    (0.1, inf, True)
    """

    gdp_mu: float = math.inf
    pure_epsilon: float = math.inf
    rdp: Callable[..., np.ndarray] | None = None
    argmax_noise: Noise | None = None
    label_symmetric: bool = False
    steps: Callable[..., tuple[np.ndarray, np.ndarray]] | None = None
    total: Callable[[NDArray[np.float64]], Cost] | None = None
    exact: bool = False

    def __post_init__(self) -> None:
        for name in ("gdp_mu", "pure_epsilon"):
            check_nonnegative(f"PrivacyBounds.{name}", getattr(self, name))
        if self.argmax_noise is not None and not isinstance(self.argmax_noise, Noise):
            raise TypeError(
                f"PrivacyBounds.argmax_noise must be an rdp.Noise; got {self.argmax_noise!r}"
            )


def argmax_bounds(noise: Noise) -> PrivacyBounds:
    """Return the bounds of an argmax of counts with independent noise on each count."""
    return PrivacyBounds(
        gdp_mu=noise.mu, pure_epsilon=noise.pure_epsilon, argmax_noise=noise, label_symmetric=True
    )


#: Names in a class body that change no behaviour; Python and `abc` write most of them.
_WITHOUT_EFFECT = {
    *("__module__", "__qualname__", "__doc__", "__dict__", "__weakref__", "__slots__"),
    *("__annotations__", "__annotate__", "__annotate_func__", "__annotations_cache__"),
    *("__conditional_annotations__", "__firstlineno__", "__static_attributes__"),
    *("__abstractmethods__", "__orig_bases__", "__parameters__", "__type_params__"),
}


def defines_anything(kind: type) -> bool:
    """Return whether a class body defines a method or attribute, special methods included."""
    names = vars(kind).keys() - _WITHOUT_EFFECT
    return any(not name.startswith("_abc_") for name in names)


def age_of(kind: type, name: str) -> int:
    """Return the index in the MRO of the first class that defines a name; 0 is `kind` itself."""
    return next(k for k, base in enumerate(kind.__mro__) if name in vars(base))


def check_stated(kind: type, stated: str, sampled: Iterable[str]) -> None:
    """Raise TypeError if a class overrides a method in `sampled`, but inherits `stated`."""
    if getattr(getattr(kind, stated), "__isabstractmethod__", False):
        return  # the method is not implemented yet
    for name in sampled:
        if age_of(kind, name) < age_of(kind, stated):
            raise TypeError(
                f"{kind.__name__} overrides the sampler {name}, but inherits {stated}, which "
                f"is valid only for the inherited sampler. Override {stated} as well"
            )


def stating_class(mechanism: Mechanism) -> type | None:
    """Return the class that defines the bounds of a mechanism, if they hold for it.

    Bounds are proved for one class. They also hold for a subclass that defines nothing: a special
    method such as ``__init__`` could replace the sampler or the noise, see `defines_anything`.

    Parameters
    ----------
    mechanism : Mechanism
        The mechanism.

    Returns
    -------
    type or None
        The first class in the MRO with a method `bounds`; None if an earlier class in the MRO
        defines any method or attribute.
    """
    for base in type(mechanism).__mro__:
        if "bounds" in vars(base):
            return base
        if defines_anything(base):
            return None
    return None


def has_distribution(mechanism: Any) -> bool:
    """Return whether a mechanism has a distribution over outcomes, `outcome_log_proba`.

    Costs can be computed from this distribution.

    Parameters
    ----------
    mechanism : Mechanism
        The mechanism.

    Returns
    -------
    bool
        False for a mechanism that releases soft labels, because its outcomes are not classes.
    """
    return hasattr(type(mechanism), "outcome_log_proba")


def bounds_of(mechanism: Mechanism) -> PrivacyBounds:
    """Return the bounds that hold for a mechanism.

    Parameters
    ----------
    mechanism : Mechanism
        The mechanism.

    Returns
    -------
    PrivacyBounds
        The bounds of the mechanism. Empty bounds, which claim nothing, if `stating_class` is None.

    Raises
    ------
    TypeError
        If `mechanism.bounds` is not callable, or does not return `PrivacyBounds`.
    """
    if stating_class(mechanism) is None:
        return PrivacyBounds()
    bounds = mechanism.bounds()
    if not isinstance(bounds, PrivacyBounds):
        raise TypeError(
            f"bounds of {type(mechanism).__name__} must be a method that returns "
            f"rdp.PrivacyBounds(...); got {bounds!r}"
        )
    return bounds


# --- the published bounds -------------------------------------------------------------------------


def _log_not_plurality(
    votes: ArrayLike, log_tail: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """Return the log of an upper bound on Pr[outcome != plurality].

    It is the union bound, capped at 1 - 1/m for m classes. No class is likelier than the plurality,
    so the probability of the plurality is at least 1/m.
    """
    votes = check_votes(votes)
    rows = np.arange(len(votes))
    plurality = votes.argmax(axis=1)
    terms = log_tail((votes.max(axis=1, keepdims=True) - votes).astype(float))
    terms[rows, plurality] = -np.inf
    return np.minimum(logsumexp(terms, axis=1), math.log1p(-1.0 / votes.shape[1]))


def lnmax_rdp(votes: ArrayLike, gamma: float, orders: ArrayLike) -> NDArray[np.float64]:
    """Compute the data-dependent bound of Papernot et al. (2017) for LNMax queries.

    The bound depends on private votes and covers one direction of the divergence only. It is meant
    for comparison with the literature, not for publication.

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
        The smallest of ``2 gamma**2 a``, ``2 gamma`` and the bound of Papernot et al. (2017),
        Theorem 3. The theorem applies only if ``q < 1 / (exp(2 gamma) + 1)``, where q is the bound
        of Lemma 4 on the probability of all outcomes other than the plurality.

    Raises
    ------
    ValueError
        If votes are not counts with equal row sums, gamma <= 0, or an order is <= 1.

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


def laplace_rdp(log_q: ArrayLike, gamma: float, orders: ArrayLike) -> NDArray[np.float64]:
    """Compute the data-dependent bound of Papernot et al. (2017), Theorem 3.

    The bound is for mechanisms with a pure epsilon of ``2 * gamma``.

    Parameters
    ----------
    log_q : array-like of shape (n_queries,)
        Log of an upper bound on the total probability of all outcomes but one.
    gamma : float
        Half the pure epsilon of the mechanism.
    orders : array-like of shape (n_orders,)
        Renyi orders, above 1.

    Returns
    -------
    ndarray of shape (n_queries, n_orders)
        The smallest of ``2 gamma**2 a``, ``2 gamma`` and, if its condition holds, the bound of
        Papernot et al. (2017), Theorem 3.

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
    # `theorem` is unused if its condition does not hold; `safe` avoids NaN in these entries
    safe = np.where(holds, log_q, -np.logaddexp(2 * gamma, 0.0) - 1)
    log_p = np.log1p(-np.exp(safe))
    moments = orders - 1
    stay = log_p + moments * (log_p - np.log1p(-np.exp(2 * gamma + safe)))
    move = safe + 2 * gamma * moments
    theorem = np.logaddexp(stay, move) / moments  # Papernot et al. (2017), Theorem 3
    bound = np.where(holds, np.minimum(data_independent, theorem), data_independent)
    return check_cost(bound)[place]


def gaussian_rdp(log_q: ArrayLike, sigma: float, orders: ArrayLike) -> NDArray[np.float64]:
    """Compute the data-dependent bound of Papernot et al. (2018), Theorem 2.

    The bound is for mechanisms that cost at most ``a / sigma**2`` at each order `a`.

    Parameters
    ----------
    log_q : array-like of shape (n_queries,)
        Log of an upper bound on the total probability of all outcomes but one.
    sigma : float
        Noise level: the mechanism costs at most ``a / sigma**2`` on every data set.
    orders : array-like of shape (n_orders,)
        Renyi orders, above 1.

    Returns
    -------
    ndarray of shape (n_queries, n_orders)
        The smaller of ``a / sigma**2`` and, if its conditions hold, the bound of Papernot et al.
        (2018), Theorem 2.

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


def gnmax_rdp(votes: ArrayLike, sigma: float, orders: ArrayLike) -> NDArray[np.float64]:
    """Compute the data-dependent bound of Papernot et al. (2018) for GNMax queries.

    The bound depends on private votes and covers one direction of the divergence only. It is meant
    for comparison with the literature, not for publication.

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
        The smaller of the bounds of Papernot et al. (2018), Proposition 8 (``a / sigma**2``) and
        Theorem 2 with Proposition 7.

    Raises
    ------
    ValueError
        If votes are not counts with equal row sums, sigma <= 0, or an order is <= 1.

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


def threshold_rdp(
    max_votes: ArrayLike, threshold: float, sigma: float, orders: ArrayLike
) -> NDArray[np.float64]:
    """Compute the published data-dependent bound on the cost of a noisy threshold check.

    Parameters
    ----------
    max_votes : array-like of shape (n_queries,)
        Statistic of each query that is compared with the threshold, such as the largest vote count.
        One teacher must change it by at most 1.
    threshold : float
        The check passes if ``max_votes + noise >= threshold``.
    sigma : float
        Standard deviation of the Gaussian noise, above 0.
    orders : array-like of shape (n_orders,)
        Renyi orders, above 1.

    Returns
    -------
    ndarray of shape (n_queries, n_orders)
        The bound of Papernot et al. (2018), Theorem 2, with noise level ``sqrt(2) * sigma``. It
        depends on private votes.

    Examples
    --------
    >>> from sklearn_pate.rdp import threshold_rdp
    >>> threshold_rdp([150, 250], 150, 20.0, [10.0]).round(5)
    array([[0.0125],
           [0.    ]])
    """
    sigma = check_positive("sigma", sigma)
    excess = (np.asarray(max_votes, dtype=float) - threshold) / sigma
    log_q = np.minimum(log_ndtr(excess), log_ndtr(-excess))  # the less likely outcome
    # The check alone costs a / (2 sigma**2), which is a / (sqrt(2) sigma)**2
    return gaussian_rdp(log_q, math.sqrt(2) * sigma, orders)
