"""Whole-number noise on vote counts, sampled exactly, and the cost of noise on a table."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import lru_cache
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from .._numbers import check_positive
from ..secure import discrete_gaussian, discrete_laplace
from .checks import DEFAULT_ORDERS, check_log_proba, check_orders, check_votes
from .contribution import check_contribution
from .conversion import pure_rdp, pure_to_gdp
from .cost import Cost, rounded_up

if TYPE_CHECKING:
    from .contribution import Contribution

#: Largest number of terms of a sum over the integers; they use 40 MB.
_MOST_TERMS = 5_000_000


class DiscreteNoise(ABC):
    """Independent integer noise on every count, with a distribution symmetric around 0.

    The largest noisy count wins; ties go to the lowest class code. So the outcome depends on the
    order of the classes.

    A subclass also defines three private methods. ``_log_tail(t)`` returns the log probability that
    the noise is at least `t`, for `t` above 0. `_log_difference_tail` returns the same for the
    difference of two draws. `_reach` returns two distances, below the lowest and above the highest
    count. Terms at larger distances are negligible.

    Parameters
    ----------
    scale : float
        Scale of the noise, in votes.

    Attributes
    ----------
    mu, pure_epsilon : float
        As in `Noise`; inf if there is none, or if none is claimed.
    """

    mu: float = math.inf
    pure_epsilon: float = math.inf

    # Methods of every subclass
    _log_tail: Callable[[np.ndarray], np.ndarray]
    _log_difference_tail: Callable[[np.ndarray], np.ndarray]
    _reach: Callable[[int], tuple[int, int]]

    def __init__(self, scale: float) -> None:
        self.scale = float(scale)

    def log_argmax(self, votes: ArrayLike) -> NDArray[np.float64]:
        """Compute the log probability that each class wins.

        Parameters
        ----------
        votes : array-like of shape (n_queries, n_classes)
            Vote counts.

        Returns
        -------
        ndarray of shape (n_queries, n_classes)
            Log probabilities, computed by sums over the integers. Probabilities near 0 and near 1
            are accurate, as in `Noise.log_argmax`.
        """
        votes = check_votes(votes)
        histograms, number = np.unique(votes, axis=0, return_inverse=True)
        if not histograms.size:
            return np.empty(votes.shape)
        if votes.shape[1] == 2:
            # Smallest difference of the draws with which each class wins; the first wins ties
            margin = histograms[:, 0] - histograms[:, 1]
            needed = np.column_stack([-margin, margin + 1])
            log_proba = self._log_tail_at(self._log_difference_tail, needed)
        else:
            log_proba = self._log_argmax(histograms)
        return check_log_proba(log_proba)[number.reshape(-1)]

    def _log_argmax(self, counts: np.ndarray) -> np.ndarray:
        """Compute `log_argmax` for more than two classes and distinct histograms, by sums.

        Class j wins with probability
        ``sum_x pmf(x - n_j) prod_{k < j} cdf(x - 1 - n_k) prod_{k > j} cdf(x - n_k)``. All classes
        share one table of each function. Each class uses a window of the table, which depends on
        the count of the class.
        """
        below, above = self._reach(counts.shape[1])
        spread = int(counts.max() - counts.min())
        n_terms = spread + below + above
        self._check_terms(n_terms)
        offset = np.arange(-spread - below - 1, spread + above)
        window = np.lib.stride_tricks.sliding_window_view
        log_pmf = window(self.log_pmf(offset), n_terms)
        # P(Z <= x) = P(Z >= -x)
        log_cdf = window(self._log_tail_at(self._log_tail, -offset), n_terms)
        starts = counts.max() - counts + 1  # x - n_k = offset[start + i]
        result = np.empty(counts.shape)
        n_parts = math.ceil(len(counts) * n_terms / 1e6)  # 8 MB for each array of terms
        for part in np.array_split(np.arange(len(counts)), n_parts):
            lower_codes = np.zeros((part.size, n_terms))
            higher_codes = sum(log_cdf[start] for start in starts[part].T)
            for j, start in enumerate(starts[part].T):
                higher_codes -= log_cdf[start]
                log_terms = log_pmf[start] + lower_codes + higher_codes
                result[part, j] = logsumexp(log_terms, axis=1)
                lower_codes += log_cdf[start - 1]
        return _refine_first(check_log_proba(result))  # the refinement would hide a wrong sum

    def _check_terms(self, n_terms: float) -> None:
        if n_terms > _MOST_TERMS:
            raise ValueError(
                f"the distribution of outcomes cannot be computed: discrete noise of scale "
                f'{self.scale:g} is too large. Use noise="continuous", or a smaller scale'
            )

    @staticmethod
    def _log_tail_at(log_tail: Callable[[np.ndarray], np.ndarray], t: np.ndarray) -> np.ndarray:
        """Compute the log probability of at least `t`, by `log_tail` and symmetry around 0."""
        value = log_tail(np.where(t > 0, t, 1 - t))
        return np.where(t > 0, value, np.log1p(-np.exp(value)))

    @abstractmethod
    def sample(self, rng: np.random.Generator, shape: int | tuple[int, ...]) -> np.ndarray:
        """Sample noise of the given shape, exactly if `rng` draws whole numbers uniformly."""

    @abstractmethod
    def log_pmf(self, x: np.ndarray) -> np.ndarray:
        """Compute the log probability of `x`, an array of whole numbers."""


class DiscreteLaplace(DiscreteNoise):
    """Integer noise with probabilities proportional to ``exp(-gamma * abs(x))``.

    Parameters
    ----------
    gamma : float
        Inverse scale.

    References
    ----------
    Canonne, Kamath, Steinke (2020), Algorithm 2.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_pate.rdp import DiscreteLaplace
    >>> np.exp(DiscreteLaplace(0.05).log_argmax([[125, 125], [130, 120]])).round(4)
    array([[0.5063, 0.4937],
           [0.6266, 0.3734]])
    """

    def __init__(self, gamma: float) -> None:
        self.gamma = float(gamma)
        super().__init__(1 / self.gamma)

    @property
    def pure_epsilon(self) -> float:  # type: ignore[override]
        """L1 sensitivity divided by the scale."""
        return 2 * self.gamma

    def sample(self, rng: np.random.Generator, shape: int | tuple[int, ...]) -> np.ndarray:
        """Sample noise of the given shape, exactly if `rng` draws whole numbers uniformly."""
        return discrete_laplace(rng, Fraction(self.gamma), shape)

    def log_pmf(self, x: np.ndarray) -> np.ndarray:
        """Compute the log probability of `x`, an array of whole numbers."""
        return math.log(math.tanh(self.gamma / 2)) - self.gamma * np.abs(x)

    def _log_tail(self, t: np.ndarray) -> np.ndarray:
        return -self.gamma * t - math.log1p(math.exp(-self.gamma))

    def _log_difference_tail(self, t: np.ndarray) -> np.ndarray:
        # Differences have probabilities tanh(gamma / 2)**2 exp(-gamma d) (d + coth(gamma))
        ratio = math.exp(-self.gamma)
        rest = -math.expm1(-self.gamma)  # 1 - ratio
        log_first = 2 * math.log(math.tanh(self.gamma / 2)) - self.gamma * t
        return log_first + np.log((t + 1 / math.tanh(self.gamma) + ratio / rest) / rest)

    def _reach(self, n_classes: int) -> tuple[int, int]:
        # Terms fall like exp(-gamma n_classes x) below, for at least three classes, and like
        # exp(-gamma x) above. Both ends are cut where the terms are below exp(-45) = 3e-20
        below = math.ceil(15 * self.scale) + 1
        above = math.ceil((45 + math.log(n_classes)) * self.scale) + 1
        return below, above


class DiscreteGaussian(DiscreteNoise):
    """Integer noise with probabilities proportional to ``exp(-x**2 / (2 * sigma**2))``.

    Parameters
    ----------
    sigma : float
        Parameter of the formula, nearly equal to the standard deviation if it is at least 1.

    References
    ----------
    Canonne, Kamath, Steinke (2020), Algorithm 3.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_pate.rdp import DiscreteGaussian
    >>> np.exp(DiscreteGaussian(40.0).log_argmax([[125, 125], [130, 120]])).round(4)
    array([[0.5035, 0.4965],
           [0.5736, 0.4264]])
    """

    def sample(self, rng: np.random.Generator, shape: int | tuple[int, ...]) -> np.ndarray:
        """Sample noise of the given shape, exactly if `rng` draws whole numbers uniformly."""
        return discrete_gaussian(rng, Fraction(self.scale), shape)

    def log_pmf(self, x: np.ndarray) -> np.ndarray:
        """Compute the log probability of `x`, an array of whole numbers."""
        return -0.5 * (x / self.scale) ** 2 - self._log_sum(2, 0)

    def _log_tail(self, t: np.ndarray) -> np.ndarray:
        return self._log_tails(t, self.log_pmf, 1)

    def _log_difference_tail(self, t: np.ndarray) -> np.ndarray:
        # Two draws x and x + d: x**2 + (x + d)**2 = d**2 / 2 + 2 (x + d / 2)**2. The remaining
        # sum over x depends only on the parity of d: d / 2 is whole or half
        of_even_and_odd = np.array([self._log_sum(1, 0), self._log_sum(1, 0.5)])
        log_factor = of_even_and_odd - 2 * self._log_sum(2, 0)

        def log_pmf(d: np.ndarray) -> np.ndarray:
            return log_factor[d % 2] - 0.25 * (d / self.scale) ** 2

        return self._log_tails(t, log_pmf, 2)

    def _log_sum(self, width: float, shift: float) -> float:
        """Compute the log of the sum of ``exp(-(x + shift)**2 / (width * sigma**2))``.

        The sum is over all integers x, and `shift` is 0 or 0.5.
        """
        self._check_terms(20 * self.scale)
        x = np.arange(math.ceil(10 * self.scale) + 2) + shift  # exp(-50) is cut off
        both = 2.0 - (x == 0)  # x and -x, which coincide at 0
        return logsumexp(-((x / self.scale) ** 2) / width, b=both)

    def _log_tails(
        self, t: np.ndarray, log_pmf: Callable[[np.ndarray], np.ndarray], variance: float
    ) -> np.ndarray:
        """Compute the log tail of `log_pmf` at `t`; `variance` is relative to one draw."""
        most = int(t.max()) + math.ceil(10 * math.sqrt(variance) * self.scale) + 2
        self._check_terms(most)
        log_tail = np.logaddexp.accumulate(log_pmf(np.arange(most))[::-1])[::-1]
        return log_tail[t]

    def _reach(self, n_classes: int) -> tuple[int, int]:
        # The terms of a class are log-concave with at least the curvature of the normal density.
        # They peak between its count and the largest count, or less than 2.5 standard deviations
        # above. 9.5 standard deviations from the peak, they are below exp(-45) of it
        below = math.ceil(9.5 * self.scale) + 1
        above = math.ceil(12 * self.scale) + 1
        return below, above


def _refine_first(log_proba: np.ndarray) -> np.ndarray:
    """Recompute log probabilities near 1 from the smaller ones, which are more accurate."""
    likely = np.flatnonzero(log_proba.max(axis=1) > math.log(0.5))
    first = log_proba[likely].argmax(axis=1)
    others = log_proba[likely]
    others[np.arange(likely.size), first] = -np.inf
    log_proba[likely, first] = np.log1p(-np.exp(logsumexp(others, axis=1)))
    return log_proba


def discrete_gaussian_mu_squared(
    steps: Iterable[float], squared_moves: Iterable[int], *, tau: float = 2.0
) -> float:
    """Compute the squared Gaussian-DP parameter of discrete Gaussian noise on integers.

    Parameters
    ----------
    steps : list of float
        Parameter `sigma` of `DiscreteGaussian` for each group of integers with the same noise.
    squared_moves : list of int
        Sum of the squared changes of the integers in each group.
    tau : float, default=2.0
        Standard deviation of the part of the noise that covers the rounding to integers, at least
        0.5. Each such value gives a valid cost. Use 2 for a large `sigma`; 0.8 costs less if
        `sigma` is below 20.

    Returns
    -------
    float
        The sum of ``squared_moves / (steps**2 - tau**2)``, increased by the tiny correction in the
        notes and rounded up. With a `tau` of 0, it would be the parameter of continuous noise. inf
        if the `sigma` of a group that changes is not above `tau`.

    Raises
    ------
    ValueError
        If `tau` is below 0.5, a sum of squared changes is negative, or the lists differ in length.

    Notes
    -----
    Let v be the integers, S the `sigma` of the noise, and u normal around v with variance
    ``S**2 - tau**2``. Let z be a random integer with probability
    ``exp(-(z - u)**2 / (2 tau**2)) / Z(u)``. z depends on v through u alone, so it is Gaussian DP
    with parameter ``D / sqrt(S**2 - tau**2)`` if v changes by D. By Poisson summation, Z differs
    from ``tau sqrt(2 pi)`` by a relative error of at most ``r = 2 sum_k exp(-2 (pi tau k)**2)``.
    Without this error, z would be discrete Gaussian around v with parameter S, by a convolution.
    So z is discrete Gaussian up to factors ``exp(+-eta)`` on probabilities, with
    ``eta = log((1 + r) / (1 - r))`` (Peikert (2010), Theorem 3.1). These factors change the logit
    of each of the two errors of a test by at most 2 eta, and its normal quantile by at most
    ``sqrt(pi / 2) eta``, because the slope of the logit over the quantile is least at 0 (Sampford
    (1953)). So discrete Gaussian noise is Gaussian DP, with a parameter that is larger by
    ``x = sqrt(2 pi) eta``. Because ``D >= 1``, the relative increase is at most ``S x``, which is
    2e-17 for tau = 2 and S = 2**55.

    References
    ----------
    Peikert (2010). An efficient and parallel Gaussian sampler for lattices. CRYPTO. Sampford
    (1953). Some inequalities on Mill's ratio and related functions. Annals of Mathematical
    Statistics.

    Examples
    --------
    >>> from sklearn_pate.rdp import discrete_gaussian_mu_squared
    >>> discrete_gaussian_mu_squared([40.0], [2])  # continuous noise: 2 / 40**2, 0.00125
    0.001253...
    """
    if not tau >= 0.5:
        raise ValueError(f"tau must be at least 0.5; got {tau!r}")
    steps, squared_moves = tuple(steps), tuple(squared_moves)
    if any(squares < 0 for squares in squared_moves):
        raise ValueError("squared_moves must be integers of at least 0; got a negative one")
    return _mu_squared(steps, squared_moves, tau)


@lru_cache(maxsize=1000, typed=True)
def _mu_squared(steps: tuple[float, ...], squared_moves: tuple[int, ...], tau: float) -> float:
    """Return the result of `discrete_gaussian_mu_squared`, for checked arguments."""
    # sqrt(2 pi) eta of the notes of `discrete_gaussian_mu_squared`, rounded up
    first = math.exp(-2 * (math.pi * tau) ** 2)
    r = 2 * first / (1 - first)  # a geometric series, which is an upper bound
    shift = Fraction(math.sqrt(2 * math.pi) * 2 * math.atanh(r) * (1 + 1e-12))
    total = Fraction(0)
    size: Any
    for size, squares in zip(steps, squared_moves, strict=True):
        if squares == 0:
            continue
        if not size > tau:
            return math.inf
        size = Fraction(float(size))
        excess = shift * size
        total += index(squares) * (1 + excess) ** 2 / (size**2 - Fraction(tau) ** 2)
    return rounded_up(total)


# --- noise on every entry of a table, in which one unit changes few entries -----------------------
#
# Counts are integer numbers of ticks. The costs of Laplace and Gaussian noise on one entry are
# convex functions of its change, and 0 at 0. So no table costs more than a table in which
# ``l1 / linf`` entries change by ``linf``, the largest change of one entry.


#: Number of ticks in a count of 1. Votes, probabilities and discrete noise are whole multiples of a
#: tick, so their sums do not depend on the order of addition.
TICKS = 2**20
GRID = 1 / TICKS


def laplace_table_cost(
    scale: float,
    contribution: Contribution,
    orders: ArrayLike = DEFAULT_ORDERS,
    *,
    discrete: bool = True,
) -> Cost:
    """Compute the cost of Laplace noise on every entry of a table.

    Parameters
    ----------
    scale : float
        Scale of the noise, in counts.
    contribution : Contribution
        Largest change of the table, in counts.
    orders : array-like of shape (n_orders,), default=DEFAULT_ORDERS
        Renyi orders, above 1.
    discrete : bool, default=True
        Whether the noise is discrete, on the multiples of `GRID`.

    Returns
    -------
    Cost
        The cost, with pure epsilon ``l1 / scale``; inf without a finite ``l1``. The Renyi cost is
        the cost of a table in which ``l1 / linf`` entries change by ``linf``, or the cost of the
        pure epsilon if it is smaller. The former is rounded up by the possible rounding errors.

    Notes
    -----
    For continuous noise: Mironov (2017), Proposition 6. For discrete noise, let `g` be the inverse
    scale in steps of `GRID`, and `s` the number of steps by which an entry changes. With
    ``q = exp(-g)`` and ``w = q**(2a - 1)``, the sum of ``P**a Q**(1 - a)`` consists of three
    geometric series: below, between and above the two values of the entry. It is
    ``((1 - q w) exp((a - 1) g s) + (q - w) exp(-a g s)) / ((1 + q) (1 - w))``. For both kinds of
    noise, the logarithm of the sum is convex in the change, and 0 at 0.

    Examples
    --------
    >>> from sklearn_pate.rdp import Contribution
    >>> from sklearn_pate.rdp.discrete import laplace_table_cost
    >>> cost = laplace_table_cost(8.0, Contribution.of_counts(2))
    >>> cost.pure
    0.25
    """
    orders = check_orders(orders)
    scale = check_positive("scale", scale)
    check_contribution(contribution)
    if not math.isfinite(contribution.l1):
        return Cost(np.full(orders.size, math.inf), math.inf, math.inf)
    inverse = 1 / scale  # a parameter of the sampler; inf for the smallest floats
    is_finite = inverse < math.inf
    pure = rounded_up(Fraction(contribution.l1) * Fraction(inverse)) if is_finite else math.inf
    shift = _discrete_shift if discrete else _continuous_shift
    one_entry = shift(scale, contribution.linf, orders)
    n_entries = contribution.l1 / contribution.linf
    hidden = 2e-14 / (orders - 1)  # rounding error of logarithms that cancel
    rdp = np.minimum(pure_rdp(pure, orders), n_entries * (one_entry * (1 + 1e-12) + hidden))
    return Cost(rdp, pure_to_gdp(pure) ** 2, pure)


def _continuous_shift(scale: float, distance: float, orders: np.ndarray) -> np.ndarray:
    """Compute the Renyi divergence between Laplace noise and the same noise, shifted."""
    up = np.log(orders / (2 * orders - 1)) + (orders - 1) * distance / scale
    down = np.log((orders - 1) / (2 * orders - 1)) - orders * distance / scale
    return np.logaddexp(up, down) / (orders - 1)


def _discrete_shift(scale: float, distance: float, orders: np.ndarray) -> np.ndarray:
    """Compute the Renyi divergence between discrete Laplace noise on `GRID` and shifted noise."""
    g = GRID / scale
    log_w = -(2 * orders - 1) * g
    log_norm = np.log1p(math.exp(-g)) + np.log(-np.expm1(log_w))
    up = np.log(-np.expm1(log_w - g)) + (orders - 1) * distance / scale
    down = -g + np.log(-np.expm1(log_w + g)) - orders * distance / scale
    return (np.logaddexp(up, down) - log_norm) / (orders - 1)


def gaussian_table_cost(
    sigma: float,
    contribution: Contribution,
    orders: ArrayLike = DEFAULT_ORDERS,
    *,
    discrete: bool = True,
) -> Cost:
    """Compute the cost of Gaussian noise on every entry of a table.

    Parameters
    ----------
    sigma : float
        Standard deviation of the noise, in counts.
    contribution, orders, discrete
        As in `laplace_table_cost`.

    Returns
    -------
    Cost
        The cost: Renyi cost ``a l2**2 / (2 sigma**2)`` at order `a`, and squared Gaussian-DP
        parameter ``l2**2 / sigma**2``, or ``l2**2 / (sigma**2 - (2 * GRID)**2)`` for discrete
        noise. The pure epsilon is inf.

    Notes
    -----
    The Renyi cost of discrete noise is from Canonne, Kamath, Steinke (2020), Proposition 5, for
    each entry, and its Gaussian-DP parameter from `discrete_gaussian_mu_squared`.

    Examples
    --------
    >>> from sklearn_pate.rdp import Contribution
    >>> from sklearn_pate.rdp.discrete import gaussian_table_cost
    >>> gaussian_table_cost(10.0, Contribution.of_counts(2), orders=[5.0]).rdp
    array([0.05])
    """
    orders = check_orders(orders)
    sigma = check_positive("sigma", sigma)
    check_contribution(contribution)
    mu_squared = contribution.l2_squared / sigma**2
    rdp = orders * mu_squared / 2
    if discrete and math.isfinite(mu_squared):
        squares = math.ceil(Fraction(contribution.l2_squared) * TICKS**2)
        mu_squared = discrete_gaussian_mu_squared([sigma / GRID], [squares])
    return Cost(rdp, mu_squared, math.inf)
