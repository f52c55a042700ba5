"""A publishable bound on private costs, with noise from smooth sensitivity.

The bound uses a table of costs by half margin, `rdp.margin_rdp`. Half the margin of a query,
rounded down, is an integer that one teacher changes by at most 1. The largest cost of a query after
a change of `k` teachers is thus the maximum cost over half margins within distance `k`.

References
----------
.. [1] Nissim, Raskhodnikova, Smith (2007). Smooth sensitivity and sampling in private data
       analysis. STOC.
.. [2] Papernot et al. (2018). Scalable private learning with PATE. ICLR, Appendix B.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from .._numbers import check_positive
from ..rdp.checks import as_array, check_orders, check_votes, margins
from ..secure import noise_generator

if TYPE_CHECKING:
    from .._typing import Seed

__all__ = ["SanitizedRelease", "half_margins", "smooth_release_rdp", "smooth_sensitivity"]


def half_margins(votes: ArrayLike) -> np.ndarray:
    """Return half the difference of the two largest counts, rounded down.

    Parameters
    ----------
    votes : array-like of shape (n_queries, n_classes)
        Vote counts.

    Returns
    -------
    ndarray of shape (n_queries,), int
        Private; one teacher changes each by at most 1.

    Examples
    --------
    >>> from sklearn_pate.accounting.smooth_sensitivity import half_margins
    >>> half_margins([[7, 3, 0], [5, 5, 0]])
    array([2, 0])
    """
    return margins(check_votes(votes)) // 2


def sums_within(values: np.ndarray, half_margin: np.ndarray) -> Iterator[float]:
    """Yield the sum over queries of the largest value within distance k, for k = 0, 1, ...

    Parameters
    ----------
    values : ndarray of shape (n_half_margins,)
        Value of a query with half margin 0, 1, ...
    half_margin : ndarray of shape (n_queries,), int
        Half margin of each query.

    Yields
    ------
    float
    """
    n_queries_at = np.bincount(half_margin, minlength=len(values))
    for _ in range(len(values)):
        yield float(n_queries_at @ values)
        wider = np.concatenate([values[:1], values, values[-1:]])
        values = np.maximum(values, np.maximum(wider[:-2], wider[2:]))


def _check_costs(
    cost_by_half_margin: ArrayLike, half_margin: ArrayLike
) -> tuple[np.ndarray, np.ndarray]:
    """Return both as arrays; half margins must be valid indices of the array of costs."""
    cost = as_array("cost_by_half_margin", cost_by_half_margin, dtype=float)
    are_costs = cost.ndim == 1 and (cost >= 0).all()
    places = as_array("half_margin", half_margin)
    are_places = places.ndim == 1 and places.dtype.kind in "iu"
    if not are_costs or not are_places or not np.isin(places, np.arange(len(cost))).all():
        raise ValueError(
            f"half_margin must be whole numbers below {np.size(cost)}, half the margin of each "
            f"query, and cost_by_half_margin a list of {np.size(cost)} costs of at least 0"
        )
    return cost, places


def smooth_sensitivity(
    cost_by_half_margin: ArrayLike, half_margin: ArrayLike, beta: float
) -> float:
    """Return the smooth sensitivity of the total cost of all queries, which is private.

    Parameters
    ----------
    cost_by_half_margin : array-like of shape (n_half_margins,)
        Cost, at one order, of a query with half margin 0, 1, ...; see `rdp.margin_rdp`.
    half_margin : array-like of shape (n_queries,), int
        Half margin of each query, see `half_margins`.
    beta : float
        Smoothness, above 0: the result changes by a factor of at most ``exp(beta)`` between
        neighbours.

    Returns
    -------
    float
        ``max_d exp(-beta d) sum_q LS_d(q)``, where ``LS_d`` is the largest change of a query's
        cost due to one teacher, after `d` other teachers have changed. Local sensitivities add up
        over queries, because one teacher votes on all of them.

    Notes
    -----
    See [1]_, Definition 2.2. The result is exact for costs that depend on one integer.

    Examples
    --------
    >>> from sklearn_pate.accounting.smooth_sensitivity import smooth_sensitivity
    >>> float(smooth_sensitivity([1.0, 0.5, 0.0], [2, 2], beta=0.1))
    1.0
    """
    cost, half_margin = _check_costs(cost_by_half_margin, half_margin)
    beta = check_positive("beta", beta)
    change = np.abs(np.diff(cost))
    local = np.maximum(np.append(change, 0), np.insert(change, 0, 0))  # to either side
    totals = sums_within(local, half_margin)
    return max(math.exp(-beta * d) * total for d, total in enumerate(totals))


def smooth_release_rdp(orders: ArrayLike, beta: float, sigma: float) -> np.ndarray:
    """Return the Renyi cost of ``f + S * sigma * Z`` for a `beta`-smooth sensitivity S of f.

    Z is standard normal noise.

    Parameters
    ----------
    orders : array-like of shape (n_orders,)
        Renyi orders, above 1.
    beta : float
        Smoothness of the sensitivity.
    sigma : float
        Standard deviation of the noise, divided by the sensitivity.

    Returns
    -------
    ndarray of shape (n_orders,)
        Largest divergence of two normal distributions with means that differ by the smaller of the
        two sensitivities, and with scales that differ by a factor of ``exp(beta)``; inf at orders
        with ``w <= 0`` (see Notes).

    Notes
    -----
    The cost is ``a exp(-2 beta) / (2 sigma**2 w) - (a beta + log(w) / 2) / (a - 1)`` with
    ``w = 1 + a (exp(-2 beta) - 1)``, in closed form from the divergence of two normal
    distributions. If ``a * beta`` is above about 0.25, the formula in the public reference code of
    Papernot et al. (2018) is smaller than this divergence, so it underestimates the cost.

    Examples
    --------
    >>> from sklearn_pate.accounting.smooth_sensitivity import smooth_release_rdp
    >>> smooth_release_rdp([20.0, 40.0], beta=0.0225, sigma=6.0).round(3)
    array([2.246,   inf])
    """
    order = check_orders(orders)
    beta = check_positive("beta", beta)
    sigma = check_positive("sigma", sigma)
    w = 1 + order * math.expm1(-2 * beta)
    with np.errstate(divide="ignore", invalid="ignore"):
        cost = order * math.exp(-2 * beta) / (2 * sigma**2 * w)
        cost -= (order * beta + np.log(w) / 2) / (order - 1)
    return np.where(w > 0, cost, np.inf)


@dataclass(frozen=True)
class SanitizedRelease:
    """A published upper bound on a private sum of costs, with noise from smooth sensitivity.

    All parameters must be chosen independently of the votes, and the queries must not depend on
    released labels.

    Attributes
    ----------
    order : float
        The Renyi order of the costs.
    beta : float
        Smoothness; ``beta * order`` must be well below 0.5.
    sigma_scale : float
        Standard deviation of the noise on the log of the smooth sensitivity, in units of `beta`.
    sigma_cost : float
        Standard deviation of the noise on the sum, in units of the smooth sensitivity.
    failure_probability : float
        Largest probability that the bound is below the sum.

    Examples
    --------
    >>> from sklearn_pate.aggregators import GNMax
    >>> from sklearn_pate.rdp import margin_rdp
    >>> from sklearn_pate.accounting.smooth_sensitivity import SanitizedRelease
    >>> release = SanitizedRelease(order=12.0)
    >>> cost = margin_rdp(GNMax(40.0), [12.0], n_teachers=250, n_classes=2)[:, 0]
    >>> bound = release.draw(cost, [110, 120, 90], random_state=0)
    >>> bool(bound > cost[[110, 120, 90]].sum())
    True
    """

    order: float
    beta: float = 0.01
    sigma_scale: float = 10.0
    sigma_cost: float = 10.0
    failure_probability: float = 1e-5

    @property
    def rdp(self) -> float:
        """Renyi cost of the release itself, at `order`."""
        smooth = smooth_release_rdp([self.order], self.beta, self.sigma_cost)[0]
        return float(self.order / (2 * self.sigma_scale**2) + smooth)

    def draw(
        self, cost_by_half_margin: ArrayLike, half_margin: ArrayLike, random_state: "Seed" = None
    ) -> float:
        """Draw the upper bound, which is safe to publish at the cost `rdp`.

        Parameters
        ----------
        cost_by_half_margin : array-like of shape (n_half_margins,)
            Cost, at `order`, of a query with half margin 0, 1, ...
        half_margin : array-like of shape (n_queries,), int
            Half margin of each query.
        random_state : int, SeedSequence, Generator or None, default=None
            Source of the noise; None uses the operating system's generator.

        Returns
        -------
        float
            The bound. It is at least the sum of the costs of all queries, with probability
            ``1 - failure_probability``.

        Raises
        ------
        ValueError
            If `beta` is too large for `order`, or the costs or half margins are invalid.
        """
        cost, half_margin = _check_costs(cost_by_half_margin, half_margin)
        if self.rdp == math.inf:
            raise ValueError(
                f"beta={self.beta:g} is too large for order={self.order:g}: the release has no "
                "finite cost; keep beta * order well below 0.5"
            )
        sensitivity = max(smooth_sensitivity(cost, half_margin, self.beta), 1e-12)
        on_scale, on_cost = noise_generator(random_state).normal(size=2)
        z = float(ndtri(1 - self.failure_probability / 2))
        # The safety margin must be public, so it is computed from a noisy sensitivity
        scale = math.exp(math.log(sensitivity) + self.beta * self.sigma_scale * (on_scale + z))
        total = cost[half_margin].sum()
        return float(total + self.sigma_cost * (sensitivity * on_cost + scale * z))
