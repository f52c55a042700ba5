"""The mechanisms that turn vote counts into released labels, each by its outcome distribution."""

import math
from abc import ABCMeta, abstractmethod
from numbers import Real

import numpy as np
from scipy.special import expit, log_ndtr, logsumexp
from sklearn.base import BaseEstimator

from ._sklearn import Interval
from .rdp import check_orders, check_votes, gnmax_rdp, lnmax_rdp

__all__ = ["Aggregator", "GNMax", "LNMax", "PluralityVote"]


class Aggregator(BaseEstimator, metaclass=ABCMeta):
    """Base class: a mechanism is a distribution over outcomes given vote counts.

    A subclass writes `outcome_log_proba`; sampling follows from it. A mechanism whose cost is
    known for every data set also overrides `gdp_mu` or `pure_epsilon`; without either its epsilon
    is infinite. Parameters follow scikit-learn's conventions (`get_params`, `clone`).
    """

    _parameter_constraints: dict = {}

    @abstractmethod
    def outcome_log_proba(self, votes, student_proba=None):
        """Log probability of each outcome.

        Parameters
        ----------
        votes : array-like of shape (n_queries, n_classes)
            Vote counts; each row sums to the number of teachers.
        student_proba : array-like of shape (n_queries, n_classes), default=None
            The student's probabilities, for mechanisms that use them.

        Returns
        -------
        ndarray of shape (n_queries, n_outcomes)
            One column per class and, for mechanisms that may refuse, a last one for "no answer".

        Raises
        ------
        ValueError
            For negative counts, rows with different totals or parameters out of range.
        """

    def aggregate(self, votes, student_proba=None, random_state=None):
        """Draw the released label of each query.

        Parameters
        ----------
        votes : array-like of shape (n_queries, n_classes)
            Vote counts; each row sums to the number of teachers.
        student_proba : array-like of shape (n_queries, n_classes), default=None
            The student's probabilities, for mechanisms that use them.
        random_state : int, SeedSequence, Generator or None, default=None
            Source of the noise; None draws from the operating system's entropy.

        Returns
        -------
        ndarray of shape (n_queries,), int
            Class codes, -1 for "no answer".

        Raises
        ------
        ValueError
            For negative counts, rows with different totals or parameters out of range.
        """
        votes = check_votes(votes)
        log_proba = self.outcome_log_proba(votes, student_proba)
        gumbel = np.random.default_rng(random_state).gumbel(size=log_proba.shape)
        outcomes = (log_proba + gumbel).argmax(axis=1)
        return np.where(outcomes < votes.shape[1], outcomes, -1)

    @property
    def gdp_mu(self):
        """Gaussian-DP parameter of one query on any votes; inf if it is not Gaussian DP."""
        return math.inf

    @property
    def pure_epsilon(self):
        """Pure epsilon (delta = 0) of one query on any votes; inf if there is none."""
        return math.inf

    def published_rdp(self, votes, orders):
        """The bound its paper prints: data-dependent, one direction, private.

        Parameters
        ----------
        votes : array-like of shape (n_queries, n_classes)
            Vote counts.
        orders : array-like of shape (n_orders,)
            Renyi orders, above 1.

        Returns
        -------
        ndarray of shape (n_queries, n_orders)
            Renyi costs; inf for a mechanism without a published bound.
        """
        return np.full((len(check_votes(votes)), check_orders(orders).size), np.inf)


class PluralityVote(Aggregator):
    """The class with most votes, ties to the lowest code. No noise, no privacy: epsilon = inf.

    For comparisons only.

    Examples
    --------
    >>> from sklearn_pate.aggregators import PluralityVote
    >>> PluralityVote().aggregate([[1, 5, 4], [5, 5, 0]])
    array([1, 0])
    """

    def outcome_log_proba(self, votes, student_proba=None):
        """Log probability of each class: 0 for the plurality, else -inf."""
        votes = check_votes(votes)
        chosen = votes.argmax(axis=1)[:, None] == np.arange(votes.shape[1])
        return np.where(chosen, 0.0, -np.inf)


class _NoisyArgmax(Aggregator):
    """The class with the largest count after independent continuous noise on every count."""

    def outcome_log_proba(self, votes, student_proba=None):
        """Log probability of each class, by closed form (two classes) or quadrature.

        Accurate in the tails: the relative error of a probability of 1e-300 is that of one near 1.
        """
        self._validate_params()
        votes = check_votes(votes)
        # The distribution depends on the counts alone, so each histogram is computed once
        order = votes.argsort(axis=1, kind="stable")
        histograms, where = np.unique(
            np.take_along_axis(votes, order, axis=1), axis=0, return_inverse=True
        )
        counts = histograms.astype(float)
        if votes.shape[1] == 2:
            gap = counts[:, 0] - counts[:, 1]
            log_proba = np.column_stack([self._log_win(gap), self._log_win(-gap)])
        else:
            per_histogram = self._quadrature_size(votes.shape[1], votes[:1].sum())
            size = max(1, 4_000_000 // per_histogram)
            chunks = [
                self._log_argmax(counts[start : start + size])
                for start in range(0, len(counts), size)
            ]
            log_proba = np.concatenate(chunks) if chunks else counts
            if not np.allclose(logsumexp(log_proba, axis=1), 0.0, atol=1e-9):
                raise ArithmeticError("outcome probabilities do not sum to 1; please report this")
        result = np.empty(votes.shape)
        np.put_along_axis(result, order, log_proba[where.reshape(-1)], axis=1)
        return result

    def aggregate(self, votes, student_proba=None, random_state=None):
        """Draw the released label of each query; see `Aggregator.aggregate`."""
        self._validate_params()
        noisy = check_votes(votes).astype(float)
        noisy += self._noise(np.random.default_rng(random_state), noisy.shape)
        return noisy.argmax(axis=1)

    @abstractmethod
    def _noise(self, rng, shape):
        """Noise of the given shape."""

    @abstractmethod
    def _log_win(self, gap):
        """Log probability that the first of two classes wins, `gap` votes ahead."""

    @abstractmethod
    def _log_argmax(self, counts):
        """Log probability that each class wins, three classes or more."""

    @abstractmethod
    def _quadrature_size(self, n_classes, n_teachers):
        """Number of floats that one histogram needs in `_log_argmax`."""


class LNMax(_NoisyArgmax):
    """Argmax of the votes after Laplace noise: the 2017 paper's mechanism.

    Parameters
    ----------
    gamma : float, default=0.05
        Inverse scale: every count gets Laplace noise of scale ``1 / gamma`` votes. Above 0; a
        smaller gamma is more private. One query is ``2 * gamma``-differentially private.

    References
    ----------
    Papernot et al. (2017), ICLR, Section 3.1 and Theorem 3.

    Examples
    --------
    >>> from sklearn_pate.aggregators import LNMax
    >>> LNMax(gamma=0.05).aggregate([[240, 10]], random_state=0)
    array([0])
    >>> LNMax(gamma=0.05).pure_epsilon
    0.1
    """

    _parameter_constraints = {"gamma": [Interval(Real, 0, None, closed="neither")]}

    def __init__(self, gamma=0.05):
        self.gamma = gamma

    @property
    def pure_epsilon(self):
        """Pure epsilon of one query: ``2 * gamma`` (two counts change by one vote each)."""
        self._validate_params()
        return 2 * self.gamma

    def published_rdp(self, votes, orders):
        """The 2017 paper's data-dependent bound; see `rdp.lnmax_rdp`."""
        return lnmax_rdp(votes, self.gamma, orders)

    def _noise(self, rng, shape):
        return rng.laplace(scale=1 / self.gamma, size=shape)

    def _log_win(self, gap):
        distance = self.gamma * np.abs(gap)
        log_lose = np.log((2 + distance) / 4) - distance
        return np.where(gap >= 0, np.log1p(-np.exp(log_lose)), log_lose)

    def _quadrature_size(self, n_classes, n_teachers):
        return _tanh_sinh(self.gamma * n_teachers)[0].size * n_classes**2

    def _log_argmax(self, counts):
        # The integrand has a kink at every count. Below the lowest it is one exponential, above
        # the highest a polynomial in exp(-gamma x), between two counts tanh-sinh resolves the
        # exponentials at both ends.
        m = counts.shape[1]
        scaled = self.gamma * np.sort(counts, axis=1)  # noise of scale 1
        low, high, span = scaled[:, :1], scaled[:, -1:], np.diff(scaled, axis=1)[:, :, None]
        de_nodes, de_log_weights = _tanh_sinh(self.gamma * counts[0].sum())
        between = scaled[:, :-1, None] + span * de_nodes
        nodes, weights = np.polynomial.legendre.leggauss(max(8, m // 2 + 1))
        above = high - np.log((nodes + 1) / 2)  # exp(high - x) uniform on (0, 1)
        x = np.concatenate([between.reshape(len(counts), -1), above], axis=1)[:, :, None]
        with np.errstate(divide="ignore"):
            log_weights = np.concatenate(
                [
                    (np.log(span) + de_log_weights).reshape(len(counts), -1),
                    np.log(weights / 2) + (above - high),
                ],
                axis=1,
            )[:, :, None]
        offset = x - self.gamma * counts[:, None, :]
        log_half = -np.abs(offset) - math.log(2)
        log_cdf = np.where(offset < 0, log_half, np.log1p(-np.exp(log_half)))
        log_integrand = log_cdf.sum(axis=2, keepdims=True) - log_cdf + log_half
        inside = logsumexp(log_integrand + log_weights, axis=1)
        below = (low - scaled).sum(axis=1, keepdims=True) - m * math.log(2) - math.log(m)
        return np.logaddexp(inside, below)


class GNMax(_NoisyArgmax):
    """Argmax of the votes after Gaussian noise: the 2018 paper's mechanism.

    Parameters
    ----------
    sigma : float or None, default=40.0
        Standard deviation of the noise on each count, in votes; above 0, larger is more private.
        None: calibrated by `PATEClassifier` so that its queries cost exactly its `epsilon`.

    References
    ----------
    Papernot et al. (2018), ICLR, Section 4.1.

    Examples
    --------
    >>> from sklearn_pate.aggregators import GNMax
    >>> GNMax(sigma=40.0).aggregate([[240, 10]], random_state=0)
    array([0])
    >>> import numpy as np
    >>> np.exp(GNMax(sigma=40.0).outcome_log_proba([[130, 120], [250, 0]])).round(4)
    array([[0.5702, 0.4298],
           [1.    , 0.    ]])
    """

    _parameter_constraints = {"sigma": [Interval(Real, 0, None, closed="neither"), None]}

    def __init__(self, sigma=40.0):
        self.sigma = sigma

    @property
    def gdp_mu(self):
        """Gaussian-DP parameter of one query: ``sqrt(2) / sigma`` (L2 sensitivity sqrt(2))."""
        self._validate_params()
        return math.sqrt(2) / self.sigma

    def published_rdp(self, votes, orders):
        """The 2018 paper's data-dependent bound; see `rdp.gnmax_rdp`."""
        return gnmax_rdp(votes, self.sigma, orders)

    def _validate_params(self):
        super()._validate_params()
        if self.sigma is None:
            raise ValueError(
                "GNMax(sigma=None) has no noise level of its own: PATEClassifier calibrates it to "
                "epsilon. Set sigma to a number to use it alone or with epsilon=None"
            )

    def _noise(self, rng, shape):
        return rng.normal(scale=self.sigma, size=shape)

    def _log_win(self, gap):
        return log_ndtr(gap / (math.sqrt(2) * self.sigma))

    def _quadrature_size(self, n_classes, n_teachers):
        return _gaussian_nodes(n_classes).size * n_classes**2

    def _log_argmax(self, counts):
        # Class j's integrand phi(x - n_j) prod Phi(x - n_k) is log-concave, with at least the
        # curvature of phi: the trapezoidal rule around its mode converges geometrically.
        m = counts.shape[1]
        scaled = counts / self.sigma  # noise of scale 1
        others = np.broadcast_to(scaled[:, None, :], (len(counts), m, m))
        itself = np.eye(m, dtype=bool)
        mode = scaled.copy()
        for _ in range(25):  # Newton from the left of a convex slope: monotone
            t = mode[:, :, None] - others
            mills = np.exp(-0.5 * t**2 - 0.5 * math.log(2 * math.pi) - log_ndtr(t))
            slope = scaled - mode + np.where(itself, 0.0, mills).sum(axis=2)
            bend = 1 + np.where(itself, 0.0, mills * (t + mills)).sum(axis=2)
            mode += slope / bend
        nodes = _gaussian_nodes(m)
        x = mode[:, :, None] + nodes
        log_integrand = -0.5 * (x - scaled[:, :, None]) ** 2
        log_cdf = log_ndtr(x[:, :, :, None] - others[:, :, None, :])
        log_integrand += np.where(itself[:, None, :], 0.0, log_cdf).sum(axis=3)
        step = nodes[1] - nodes[0]
        return logsumexp(log_integrand, axis=2) + math.log(step) - 0.5 * math.log(2 * math.pi)


def _tanh_sinh(length):
    """Nodes in (0, 1) and log weights of the double exponential rule.

    The step resolves, to about 1e-13, exponentials that fall by a factor e over ``1 / length``.
    """
    step = min(0.075, 0.33 / math.log1p(max(length, 1.0)))
    t = step * np.arange(-math.ceil(3.3 / step), math.ceil(3.3 / step) + 1)
    z = math.pi * np.sinh(t)
    return expit(z), np.log(math.pi * step * np.cosh(t)) - z - 2 * np.logaddexp(0, -z)


def _gaussian_nodes(n_classes):
    """Offsets from the mode in units of sigma; the peak narrows as 1 / sqrt(n_classes)."""
    step = min(0.125, 0.7 / math.sqrt(n_classes))
    return step * np.arange(-math.ceil(9 / step), math.ceil(9 / step) + 1)
