"""Whole-number noise on vote counts, sampled exactly, and who wins when it is added."""

import math
from abc import ABC, abstractmethod
from fractions import Fraction

import numpy as np
from scipy.special import logsumexp

from .checks import check_log_proba, check_votes

__all__ = ["DiscreteGaussian", "DiscreteLaplace", "DiscreteNoise"]

_WORD = 2**62
_MOST_TERMS = 5_000_000


class DiscreteNoise(ABC):
    """Independent noise on the whole numbers, symmetric around 0, the same on every count.

    The largest noisy count wins; of equal ones, the lowest class code. So the outcome depends on
    the order of the classes.

    Parameters
    ----------
    scale : float
        In votes.

    Attributes
    ----------
    mu, pure_epsilon : float
        As of `Noise`. Gaussian DP is about continuous noise: `mu` is inf.
    """

    mu = math.inf
    pure_epsilon = math.inf

    def __init__(self, scale):
        self.scale = scale

    def log_argmax(self, votes):
        """Log probability that each class wins.

        Parameters
        ----------
        votes : array-like of shape (n_queries, n_classes)
            Vote counts.

        Returns
        -------
        ndarray of shape (n_queries, n_classes)
            By sums over the whole numbers, as accurate at both ends as `Noise.log_argmax`.
        """
        votes = check_votes(votes)
        rows, where = np.unique(votes, axis=0, return_inverse=True)
        if not rows.size:
            return np.empty(votes.shape)
        if votes.shape[1] == 2:
            gap = rows[:, 0] - rows[:, 1]
            log_proba = self._log_tail_at(self._log_lead_tail, np.column_stack([-gap, gap + 1]))
        else:
            log_proba = self._log_argmax(rows)
        return check_log_proba(log_proba)[where.reshape(-1)]

    def _log_argmax(self, rows):
        # Class j wins with probability
        # sum_x pmf(x - n_j) prod_{k < j} cdf(x - 1 - n_k) prod_{k > j} cdf(x - n_k)
        below, above = self._reach(rows.shape[1])
        spread = int(rows.max() - rows.min())
        n_terms = spread + below + above
        self._check_terms(n_terms)
        offset = np.arange(-spread - below - 1, spread + above)
        log_pmf, log_cdf = (
            np.lib.stride_tricks.sliding_window_view(values, n_terms)
            for values in (
                self.log_pmf(offset),
                self._log_tail_at(self._log_tail, -offset),  # P(Z <= x) = P(Z >= -x)
            )
        )
        start = rows.max() - rows + 1  # x - n_k = offset[start + i]
        result = np.empty(rows.shape)
        for part in np.array_split(np.arange(len(rows)), math.ceil(len(rows) * n_terms / 1e6)):
            lower = np.zeros((part.size, n_terms))
            higher = sum(log_cdf[at] for at in start[part].T)
            for j, at in enumerate(start[part].T):
                higher -= log_cdf[at]
                result[part, j] = logsumexp(log_pmf[at] + lower + higher, axis=1)
                lower += log_cdf[at - 1]
        result = check_log_proba(result)
        # near 1 a log is better known from the others
        likely, top = np.flatnonzero(result.max(axis=1) > math.log(0.5)), result.argmax(axis=1)
        others = result[likely]
        others[np.arange(likely.size), top[likely]] = -np.inf
        result[likely, top[likely]] = np.log1p(-np.exp(logsumexp(others, axis=1)))
        return result

    def _check_terms(self, n_terms):
        if n_terms > _MOST_TERMS:
            raise ValueError(
                f"discrete noise of scale {self.scale:g} is too large for its outcome distribution "
                "to be computed; use continuous noise"
            )

    @staticmethod
    def _log_tail_at(log_tail, t):
        """Log probability to be at least `t`, by `log_tail` for t > 0 and by symmetry below."""
        value = log_tail(np.where(t > 0, t, 1 - t))
        return np.where(t > 0, value, np.log1p(-np.exp(value)))

    @abstractmethod
    def sample(self, rng, shape):
        """Draw noise of the given shape: exactly, if `rng` draws whole numbers uniformly."""

    @abstractmethod
    def log_pmf(self, x):
        """Log probability of `x`, an array of whole numbers."""

    @abstractmethod
    def _log_tail(self, t):
        """Log probability that the noise is at least `t`, an array of positive numbers."""

    @abstractmethod
    def _log_lead_tail(self, t):
        """Log probability that two draws differ by at least `t`, in this direction."""

    @abstractmethod
    def _reach(self, n_classes):
        """How far below the lowest and above the highest count terms matter."""


class DiscreteLaplace(DiscreteNoise):
    """Whole numbers with probabilities proportional to ``exp(-gamma * abs(x))``.

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

    def __init__(self, gamma):
        super().__init__(1 / gamma)
        self.gamma = gamma

    @property
    def pure_epsilon(self):
        """L1 sensitivity over scale."""
        return 2 * self.gamma

    def sample(self, rng, shape):
        """Draw noise of the given shape: exactly, if `rng` draws whole numbers uniformly."""
        gamma = Fraction(self.gamma)
        return _until(lambda n: _discrete_laplace(rng, gamma, n), math.prod(shape)).reshape(shape)

    def log_pmf(self, x):
        """Log probability of `x`, an array of whole numbers."""
        return math.log(math.tanh(self.gamma / 2)) - self.gamma * np.abs(x)

    def _log_tail(self, t):
        return -self.gamma * t - math.log1p(math.exp(-self.gamma))

    def _log_lead_tail(self, t):
        # differences have probabilities tanh(gamma / 2)**2 exp(-gamma d) (d + coth(gamma))
        p, q = math.exp(-self.gamma), -math.expm1(-self.gamma)
        log_first = 2 * math.log(math.tanh(self.gamma / 2)) - self.gamma * t
        return log_first + np.log((t + 1 / math.tanh(self.gamma) + p / q) / q)

    def _reach(self, n_classes):
        # terms fall like exp(-gamma n_classes x) below, and like exp(-gamma x) above
        return math.ceil(15 * self.scale) + 1, math.ceil(
            (45 + math.log(n_classes)) * self.scale
        ) + 1


class DiscreteGaussian(DiscreteNoise):
    """Whole numbers with probabilities proportional to ``exp(-x**2 / (2 * sigma**2))``.

    Parameters
    ----------
    sigma : float
        Standard deviation of the normal distribution that is restricted to whole numbers.

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

    def sample(self, rng, shape):
        """Draw noise of the given shape: exactly, if `rng` draws whole numbers uniformly."""
        sigma = Fraction(self.scale)
        return _until(lambda n: _discrete_gaussian(rng, sigma, n), math.prod(shape)).reshape(shape)

    def log_pmf(self, x):
        """Log probability of `x`, an array of whole numbers."""
        return -0.5 * (x / self.scale) ** 2 - self._log_sum(2, 0)

    def _log_tail(self, t):
        return self._log_tails(t, self.log_pmf, 1)

    def _log_lead_tail(self, t):
        # Two draws x and x + d: x**2 + (x + d)**2 = d**2 / 2 + 2 (x + d / 2)**2
        parity = np.array([self._log_sum(1, 0), self._log_sum(1, 0.5)]) - 2 * self._log_sum(2, 0)
        return self._log_tails(t, lambda d: parity[d % 2] - 0.25 * (d / self.scale) ** 2, 2)

    def _log_sum(self, width, shift):
        """Log of the sum of ``exp(-(x + shift)**2 / (width * sigma**2))``."""
        self._check_terms(20 * self.scale)
        x = np.arange(math.ceil(10 * self.scale) + 2) + shift
        both = 2.0 - (x == 0)
        return logsumexp(-((x / self.scale) ** 2) / width, b=both)

    def _log_tails(self, t, log_pmf, variance):
        most = int(t.max()) + math.ceil(10 * math.sqrt(variance) * self.scale) + 2
        self._check_terms(most)
        log_tail = np.logaddexp.accumulate(log_pmf(np.arange(most))[::-1])[::-1]
        return log_tail[t]

    def _reach(self, n_classes):
        # the terms of a class are log-concave, at least as curved as the normal density, and peak
        # between its count and the top count or a little above
        return math.ceil(9.5 * self.scale) + 1, math.ceil(12 * self.scale) + 1


def _until(attempt, size):
    """Draw `size` values by rejection; `attempt(n)` makes n attempts."""
    draws = np.empty(0, dtype=np.int64)
    while draws.size < size:
        draws = np.append(draws, attempt(size - draws.size).astype(np.int64))
    return draws


def _discrete_gaussian(rng, sigma, n):
    t = math.floor(sigma) + 1
    y = _discrete_laplace(rng, Fraction(1, t), n)
    top, bottom = sigma.numerator**2, sigma.denominator**2
    # (|y| - sigma**2 / t)**2 / (2 sigma**2) over a common denominator
    distance = (np.abs(y) * (t * bottom) - top) ** 2
    return y[_bernoulli_exp(rng, distance, 2 * t**2 * bottom * top)]


def _discrete_laplace(rng, gamma, n):
    s, t = gamma.numerator, gamma.denominator
    u = _integers(rng, t, n)
    u = u[_bernoulli_exp(rng, u, t)]
    v = np.zeros(u.size, dtype=object)
    live = np.arange(u.size)
    while live.size:
        live = live[_bernoulli_exp(rng, np.ones(live.size, dtype=object), 1)]
        v[live] += 1
    size = (u + v * t) // s
    negative = rng.integers(2, size=u.size) == 1
    return np.where(negative, -size, size)[~negative | (size != 0)]


def _bernoulli_exp(rng, p, q):
    """Draw True with probability ``exp(-p / q)``.

    Canonne, Kamath, Steinke (2020), Algorithm 1. `p` is an array of Python integers: products of
    the digits of floats exceed 64 bits.
    """
    whole = p // q
    result = _bernoulli_exp_fraction(rng, p - whole * q, q)
    left = np.flatnonzero(result & (whole > 0))
    while left.size:
        result[left] = _bernoulli_exp_fraction(rng, np.ones(left.size, dtype=object), 1)
        whole[left] -= 1
        left = left[result[left] & (whole[left] > 0)]
    return result


def _bernoulli_exp_fraction(rng, p, q):
    """Draw True with probability ``exp(-p / q)``, for ``0 <= p <= q``."""
    result = np.empty(p.size, dtype=bool)
    live, k = np.arange(p.size), 1
    while live.size:
        ends = ~_bernoulli(rng, p[live], q) | (rng.integers(k, size=live.size) != 0)
        result[live[ends]] = k % 2
        live, k = live[~ends], k + 1
    return result


def _bernoulli(rng, p, q):
    """Draw True with probability ``p / q``: a uniform number is below, digit by digit."""
    digit = p * _WORD // q
    uniform = rng.integers(_WORD, size=p.size)
    result, equal = uniform < digit, uniform == digit
    if equal.any():
        result[equal] = _bernoulli(rng, (p * _WORD - digit * q)[equal], q)
    return result


def _integers(rng, limit, n):
    """Draw from 0 to ``limit - 1``; above 2**62, `limit` must be a power of two."""
    if limit <= _WORD:
        return rng.integers(limit, size=n).astype(object)
    return _integers(rng, limit // _WORD, n) * _WORD + rng.integers(_WORD, size=n)
