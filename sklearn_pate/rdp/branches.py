"""Cost of one of several steps, if an earlier release determines the step that follows.

A branch is a step that may follow, such as a release of class sums or of votes. `Cost.worst_of`
builds the cost of branches, and this module converts it to epsilon. A conversion of each path by
itself, with the largest epsilon of all paths, would claim too little.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import erfcx, expit, ndtri_exp

from .checks import check_orders
from .conversion import pure_rdp, pure_to_gdp

if TYPE_CHECKING:
    from .cost import Cost

#: Distance of two losses in the sums, in standard deviations of the loss.
_STEP = 0.008

#: Loss below which the probability is moved to this loss, in standard deviations below the mean.
_LOWEST = -6.0

#: Part of delta that covers the largest losses, and part that covers the rounding of the sums.
_FOR_LARGEST, _FOR_ROUNDING = 1e-9, 1e-9

#: Gaussian-DP parameter from which on curves are 1, because `erfcx` would overflow.
_LARGEST_MU = 50.0

#: Relative difference below which a measure of a cost does not improve on another.
_NEGLIGIBLE = 1e-6

_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(5)


def branches_to_epsilon(
    delta: float, *, earlier: Cost, branches: Sequence[Cost], orders: ArrayLike, enough: float
) -> float:
    """Compute the epsilon of earlier steps and of one of several branches.

    Parameters
    ----------
    delta : float
        Delta of the guarantee, above 0, without the delta of the costs.
    earlier : Cost
        Cost of all steps that do not belong to the branches. The choice of the branch, its order of
        steps and its noise may depend on all of their releases.
    branches : list of Cost
        Cost of each branch, fixed in advance.
    orders : array-like of shape (n_orders,)
        Renyi orders of all costs.
    enough : float
        An epsilon that holds by another composition.

    Returns
    -------
    float
        The least epsilon at which `branches_delta` is at most `delta`, rounded up; inf if it is
        above `enough`, or if the earlier steps have neither a pure nor a Gaussian-DP cost.

    Examples
    --------
    >>> import math
    >>> from sklearn_pate.rdp import DEFAULT_ORDERS, Cost, gdp_mu, pure_rdp, pure_to_gdp
    >>> from sklearn_pate.rdp.branches import branches_to_epsilon
    >>> first = gdp_mu(1.0, 1e-5) ** 2 / 10
    >>> earlier = Cost(first * DEFAULT_ORDERS / 2, first, math.inf)
    >>> sums = Cost(9 * first * DEFAULT_ORDERS / 2, 9 * first, math.inf)
    >>> votes = Cost(pure_rdp(0.7244, DEFAULT_ORDERS), pure_to_gdp(0.7244) ** 2, 0.7244)
    >>> epsilons = [earlier.plus(cost).epsilon(1e-5)[0] for cost in (sums, votes)]
    >>> [round(epsilon, 3) for epsilon in epsilons]
    [1.0, 1.0]
    >>> numbers = {"earlier": earlier, "branches": [sums, votes], "orders": DEFAULT_ORDERS}
    >>> round(branches_to_epsilon(1e-5, **numbers, enough=9.0), 3)
    1.025
    """
    aim = delta * (1 - _FOR_ROUNDING)
    losses = _losses_of(earlier, delta)
    curves = [_Curve.of(cost, check_orders(orders)) for cost in branches]
    if not losses or not all(curve.pairs or curve.slopes.size for curve in curves):
        return math.inf

    def excess(epsilon: float) -> float:
        reached = _delta_of(epsilon, losses, curves)
        return math.log(max(reached, 1e-300)) - math.log(aim)

    if excess(0.0) <= 0:
        return 0.0
    if not enough < math.inf:
        enough = 1.0
        while excess(enough) > 0:
            enough *= 2
            if enough > 1e6:
                return math.inf
    elif excess(enough) >= 0:
        return math.inf
    root = brentq(excess, 0.0, enough, xtol=1e-13, rtol=1e-12)
    return float(root * (1 + 2e-12) + 4e-13)


def branches_delta(
    epsilon: float, *, earlier: Cost, branches: Sequence[Cost], orders: ArrayLike
) -> float:
    """Compute a delta that holds at `epsilon` for earlier steps and one of several branches.

    Parameters
    ----------
    epsilon : float
        Epsilon of the guarantee, at least 0.
    earlier, branches, orders
        As in `branches_to_epsilon`.

    Returns
    -------
    float
        Delta without the delta of the costs, at most 1: the expectation in the notes, rounded up by
        about 1e-5 relative.

    Notes
    -----
    The curve of a step is the largest ``delta_b(e) = sup_S P(S) - exp(e) P'(S)`` over neighboring
    data sets, for every real e. Let o be the release of the earlier steps, ``L = log(p(o) /
    p'(o))`` its privacy loss, and b(o) the branch that follows. For a set of outcomes S,

        P(S) - exp(epsilon) P'(S) = E_o[P(S | o) - exp(epsilon - L) P'(S | o)]
                                 <= E_o[max_b delta_b(epsilon - L)].

    The maximum is inside of the expectation, because b may depend on L. Each path by itself has
    ``E_o[delta_b(epsilon - L)]``, and the maximum of these is less.

    *Worst earlier steps.* Let ``g(x) = max_b delta_b(log x)``, with the largest curve of all steps
    that a branch allows. A curve is convex in x, and so is g. The expectation is
    ``E'_o[r g(exp(epsilon) / r)]`` with ``r = p / p'``, and ``r g(c / r)`` is convex in r. So it is
    an f-divergence of P and P': a mixture of the differences ``sup_S P(S) - t P'(S)`` over t. Each
    is largest for a pair of distributions that dominates the earlier steps (Zhu, Dong, Wang
    (2022)), so the expectation is, too. The pair of Gaussian steps has a normal loss with mean
    ``mu**2 / 2`` and variance ``mu**2``. The pair of pure steps has the loss of randomised
    response; see `pure_and_gdp_delta`. The losses of both add up, in both directions.

    *Bounds on the curves.* The expectation grows with the curves, so it remains valid with any
    bound on each of them. A curve here is the least of these bounds: the exact curve of pure and
    Gaussian steps together; that of Gaussian noise which covers all steps; and the bounds
    ``exp((a - 1) (rdp_a - e)) (1 - 1 / a)**a / (a - 1)`` at all orders (Canonne, Kamath, Steinke
    (2020), Proposition 12; the proof holds for every real e). Below 0, each follows from
    ``delta(-e) = 1 - exp(-e) + exp(-e) delta(e)``, as it holds in both directions.

    *The sum.* The normal loss is divided into intervals. Inside an interval, g is at most its chord
    as a function of ``exp(-L)``, because it is convex (Doroshenko, Ghazi, Kamath, Kumar, Manurangsi
    (2022)). So the expectation is at most a sum over the ends, with weights that depend on neither
    epsilon nor the branches. Losses above the last interval count as a delta of 1, and losses below
    the first as its lower end, because g falls with epsilon.

    *Steps of any order.* A step that follows the branch may count as earlier: the expectation over
    its loss is then outside of the maximum, which is at least as large.

    References
    ----------
    Zhu, Dong, Wang (2022). Optimal accounting of differential privacy via characteristic function.
    AISTATS. Doroshenko et al. (2022). Connect the dots: tighter discrete approximations of privacy
    loss distributions. PETS.

    Examples
    --------
    >>> import math
    >>> from sklearn_pate.rdp import DEFAULT_ORDERS, Cost
    >>> from sklearn_pate.rdp.branches import branches_delta
    >>> cost = Cost(0.04 * DEFAULT_ORDERS, 0.08, math.inf)
    >>> numbers = {"earlier": cost, "branches": [cost], "orders": DEFAULT_ORDERS}
    >>> f"{branches_delta(1.0, **numbers):.3g}"
    '0.0013'
    """
    losses = _losses_of(earlier, 1e-9)
    curves = [_Curve.of(cost, check_orders(orders)) for cost in branches]
    return _delta_of(epsilon, losses, curves) if losses else 1.0


def _delta_of(epsilon: float, losses: Sequence[_Loss], curves: Sequence[_Curve]) -> float:
    """Return the least bound over the descriptions of the earlier loss."""
    return min(_expected(epsilon, loss, curves) for loss in losses)


def _expected(epsilon: float, loss: _Loss, curves: Sequence[_Curve]) -> float:
    """Return the expectation of the largest curve over an earlier loss."""
    left = epsilon - loss.values
    largest = np.max([curve(left) for curve in curves], axis=0)
    return float(loss.weights @ largest + loss.rest)


# --- the loss of the earlier steps ----------------------------------------------------------------


class _Loss(NamedTuple):
    """A discrete privacy loss that dominates the loss of some steps.

    Attributes
    ----------
    values, weights : ndarray of shape (n_values,)
        Losses and their probabilities.
    rest : float
        Probability of any larger loss.
    """

    values: NDArray[np.float64]
    weights: NDArray[np.float64]
    rest: float


def _losses_of(cost: Cost, delta: float) -> list[_Loss]:
    """Return discrete losses of a cost; each of them is valid, and the list may be empty."""
    return [_discrete_loss(*pair, delta) for pair in _pairs_of(cost)]


def _discrete_loss(pure: float, mu: float, delta: float) -> _Loss:
    """Return the loss of randomised response and of Gaussian noise together."""
    of_noise = _discrete_normal_loss(mu, delta)
    if pure == 0:
        return of_noise
    values = np.concatenate([of_noise.values + pure, of_noise.values - pure])
    weights = np.concatenate([expit(pure) * of_noise.weights, expit(-pure) * of_noise.weights])
    return _Loss(values, weights, of_noise.rest)


def _discrete_normal_loss(mu: float, delta: float) -> _Loss:
    """Return a discrete loss that dominates the normal loss of Gaussian noise.

    The probability of an interval is split between its ends: a loss L adds
    ``(exp(-L) - exp(-high)) / (exp(-low) - exp(-high))`` of its probability to the lower end.
    """
    if mu == 0:
        return _Loss(np.zeros(1), np.ones(1), 0.0)
    log_rest = math.log(delta) + math.log(_FOR_LARGEST)
    highest = -float(ndtri_exp(log_rest))
    n_intervals = math.ceil((highest - _LOWEST) / _STEP)
    ends = np.linspace(_LOWEST, highest, n_intervals + 1)
    width = (highest - _LOWEST) / n_intervals
    # Gauss-Legendre quadrature inside of each interval; no terms cancel
    place = (1 + _NODES) / 2
    inside = ends[:-1, None] + width * place
    density = np.exp(-(inside**2) / 2) * (_NODE_WEIGHTS * width / 2 / math.sqrt(2 * math.pi))
    lower = np.expm1(mu * width * (1 - place)) / math.expm1(mu * width)
    weights = np.zeros(n_intervals + 1)
    weights[:-1] += density @ lower
    weights[1:] += density @ (1 - lower)
    rest = math.exp(log_rest)
    weights[0] += max(1 - rest - weights.sum(), 0.0)  # losses below the first interval
    return _Loss(mu**2 / 2 + mu * ends, weights, rest)


# --- the curve of a branch ------------------------------------------------------------------------


class _Curve(NamedTuple):
    """Bound on the delta of a step at every epsilon.

    Attributes
    ----------
    pairs : list of (float, float)
        Pure epsilon and Gaussian-DP parameter; each pair covers the step.
    slopes, offsets : ndarray of shape (n_lines,)
        Lines ``offset - slope * epsilon`` above the log of delta, from the Renyi costs. Each line
        is the least of all lines somewhere.
    changes : ndarray of shape (n_lines - 1,)
        The epsilons at which one line follows another as the least.
    """

    pairs: list[tuple[float, float]]
    slopes: NDArray[np.float64]
    offsets: NDArray[np.float64]
    changes: NDArray[np.float64]

    @classmethod
    def of(cls, cost: Cost, orders: NDArray[np.float64]) -> _Curve:
        """Return the curve of a cost, without its delta."""
        slopes = orders - 1
        offsets = slopes * (cost.rdp + np.log1p(-1 / orders)) - np.log(orders)
        least = orders * cost.mu_squared / 2
        if cost.pure < 1e6:
            least = np.minimum(least, pure_rdp(cost.pure, orders))
        pairs = _pairs_of(cost)
        with np.errstate(invalid="ignore"):
            improves = np.isfinite(offsets) & (cost.rdp < least * (1 - _NEGLIGIBLE))
        if pairs and not improves.any():  # the pairs are exact
            return cls(pairs, *np.zeros((3, 0)))
        is_finite = np.isfinite(offsets)
        return cls(pairs, *_lowest_lines(slopes[is_finite], offsets[is_finite]))

    def __call__(self, epsilon: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return delta at each epsilon, which may be below 0."""
        distance = np.abs(epsilon)
        delta = np.ones(epsilon.shape)
        for pure, mu in self.pairs:
            of_pair = gdp_deltas(distance - pure, mu)
            if pure > 0:
                of_pair = expit(pure) * of_pair + expit(-pure) * gdp_deltas(distance + pure, mu)
            delta = np.minimum(delta, of_pair)
        if self.slopes.size:
            line = np.searchsorted(self.changes, distance)
            exponent = self.offsets[line] - self.slopes[line] * distance
            delta = np.minimum(delta, np.exp(np.minimum(exponent, 0.0)))
        # By symmetry: the same test with exchanged data sets
        below = -np.expm1(-distance) + np.exp(-distance) * delta
        return np.where(epsilon < 0, below, delta)


def _pairs_of(cost: Cost) -> list[tuple[float, float]]:
    """Return pairs of a pure epsilon and a Gaussian-DP parameter; each covers all steps.

    They are the parts of the cost, and Gaussian noise alone where it may cost less than the parts:
    for many pure steps, whose sum is large.
    """
    pairs = []
    covered = math.inf
    if max(cost.pure_part, cost.mu_squared_part) < math.inf:
        pairs.append((cost.pure_part, math.sqrt(cost.mu_squared_part)))
        covered = pure_to_gdp(cost.pure_part) ** 2 + cost.mu_squared_part
    if cost.mu_squared < covered * (1 - _NEGLIGIBLE):
        pairs.append((0.0, math.sqrt(cost.mu_squared)))
    return [(pure, mu) for pure, mu in pairs if pure < 1e6 and mu <= _LARGEST_MU]


def gdp_deltas(epsilon: NDArray[np.float64], mu: float) -> NDArray[np.float64]:
    """Compute the delta of a `mu`-Gaussian-DP step at each `epsilon`, which may be below 0.

    Parameters
    ----------
    epsilon : ndarray of shape (n_epsilons,)
        Any finite numbers.
    mu : float
        Gaussian-DP parameter, from 0 to 50.

    Returns
    -------
    ndarray of shape (n_epsilons,)
        ``Phi(mu/2 - e/mu) - exp(e) Phi(-mu/2 - e/mu)`` for each `e` in `epsilon`, where `Phi` is
        the standard normal distribution function; see `gdp_to_epsilon`. If `mu` is 0, the limit,
        ``max(0, 1 - exp(e))``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_pate.rdp.branches import gdp_deltas
    >>> gdp_deltas(np.array([-1.0, 0.0, 1.0]), 0.5).round(4)
    array([0.6346, 0.1974, 0.0068])
    """
    distance = np.abs(epsilon)
    delta = np.zeros(epsilon.shape)
    if mu > 0:
        a = mu / 2 - distance / mu
        tails = erfcx(-a / math.sqrt(2)) - erfcx((mu / 2 + distance / mu) / math.sqrt(2))
        delta = 0.5 * np.exp(-(a**2) / 2) * tails
    return np.where(epsilon < 0, -np.expm1(-distance) + np.exp(-distance) * delta, delta)


def _lowest_lines(
    slopes: NDArray[np.float64], offsets: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the lines that are the least somewhere, by slope, and where each follows another.

    A line is ``offset - slope * x``. The least lines are the lower convex hull of the points
    (slope, offset).
    """
    kept: list[tuple[float, float]] = []
    changes: list[float] = []
    for slope, offset in sorted(zip(slopes.tolist(), offsets.tolist(), strict=True)):
        if kept and slope == kept[-1][0]:  # of two equal slopes, the first is lower
            continue
        while kept:
            change = (offset - kept[-1][1]) / (slope - kept[-1][0])
            if not changes or change > changes[-1]:
                break
            kept.pop()
            changes.pop()
        if kept:
            changes.append(change)
        kept.append((slope, offset))
    lines = np.array(kept).reshape(-1, 2)
    return lines[:, 0], lines[:, 1], np.array(changes)
