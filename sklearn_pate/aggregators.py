"""The mechanisms that turn vote counts into released labels, each by its outcome distribution."""

import math
from abc import ABCMeta, abstractmethod
from numbers import Real

import numpy as np
from scipy.special import log_ndtr, logsumexp
from sklearn.base import BaseEstimator

from ._sklearn import Interval
from .rdp import check_log_proba, check_orders, check_votes, gnmax_rdp, lnmax_rdp

__all__ = ["Aggregator", "GNMax", "LNMax", "PluralityVote"]


class Aggregator(BaseEstimator, metaclass=ABCMeta):
    """Base class: a mechanism is a distribution over outcomes given vote counts.

    A subclass writes `outcome_log_proba`; sampling and, for two classes, cost follow from it. A
    mechanism whose cost is known for every data set also overrides `gdp_mu` or `pure_epsilon`;
    without either its epsilon is infinite for more than two classes. Parameters follow
    scikit-learn's conventions (`get_params`, `clone`).
    """

    _parameter_constraints: dict = {}

    #: Whether permuting the vote counts permutes the outcome probabilities and nothing else, so
    #: that costs depend on the sorted counts only. Ties broken by class number are not symmetric.
    label_symmetric = False

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
        log_proba = check_log_proba(self.outcome_log_proba(votes, student_proba))
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

    label_symmetric = True

    def outcome_log_proba(self, votes, student_proba=None):
        """Log probability of each class, by closed form (two classes) or quadrature.

        Accurate at both ends: the relative error of a probability of 1e-300 is that of one near
        1, and the log of a probability near 1 is as accurate as the sum of the others.
        """
        self._validate_params()
        votes = check_votes(votes)
        # The distribution depends on the counts alone, so each histogram is computed once
        order = votes.argsort(axis=1, kind="stable")
        histograms, where = np.unique(
            np.take_along_axis(votes, order, axis=1), axis=0, return_inverse=True
        )
        counts = histograms / self._scale
        if votes.shape[1] == 2:
            gap = counts[:, 0] - counts[:, 1]
            log_proba = np.column_stack([self._log_win(gap), self._log_win(-gap)])
        else:
            log_proba = self._log_argmax(counts)
        result = np.empty(votes.shape)
        np.put_along_axis(result, order, log_proba[where.reshape(-1)], axis=1)
        return result

    def aggregate(self, votes, student_proba=None, random_state=None):
        """Draw the released label of each query; see `Aggregator.aggregate`."""
        self._validate_params()
        noisy = check_votes(votes).astype(float)
        noisy += self._noise(np.random.default_rng(random_state), noisy.shape)
        return noisy.argmax(axis=1)

    def _log_argmax(self, counts):
        """Log probability that each class wins; counts in units of the noise, (n, m) ascending.

        Class j wins with probability ``integral pdf(x - n_j) prod_{k != j} cdf(x - n_k) dx``. All
        histograms share the nodes, so densities are tabulated once per count that occurs, and
        sums over classes and nodes are matrix products.
        """
        if not len(counts):
            return counts
        levels, level = np.unique(counts, return_inverse=True)
        level = level.reshape(counts.shape)
        if levels[-1] - levels[0] > 20_000:
            raise ValueError(
                f"the noise of {self} is below 1/20,000 of the vote counts' range, too small for "
                "its outcome distribution to be computed; use more noise, or PluralityVote"
            )
        x, log_weights = self._nodes(levels, counts.shape[1])
        if len(counts) > 1 and (levels.size + len(counts)) * x.size > 5_000_000:
            half = len(counts) // 2
            return np.concatenate(
                [self._log_argmax(counts[:half]), self._log_argmax(counts[half:])]
            )
        offset = x - levels[:, None]
        log_cdf = self._log_cdf(offset)
        log_share = self._log_pdf(offset) - log_cdf + log_weights
        n_classes_at = np.zeros((len(counts), levels.size))
        rows = np.arange(len(counts))[:, None]
        np.add.at(n_classes_at, (rows, level), 1.0)
        log_all_below = n_classes_at @ log_cdf
        with np.errstate(divide="ignore"):
            result = np.log((np.exp(log_all_below) @ np.exp(log_share).T)[rows, level])
        for i in np.flatnonzero((result < -640).any(axis=1)):  # exp may have lost digits
            result[i] = logsumexp(log_share[level[i]] + log_all_below[i], axis=1)
        result = check_log_proba(result)
        # the last class has most votes; near 1 its log is better known from the others
        others = np.exp(logsumexp(result[:, :-1], axis=1))
        likely = others < 0.5
        result[likely, -1] = np.log1p(-others[likely])
        return result

    @property
    @abstractmethod
    def _scale(self):
        """Scale of the noise, in votes; all below is in units of it."""

    @abstractmethod
    def _noise(self, rng, shape):
        """Noise of the given shape, in votes."""

    @abstractmethod
    def _log_win(self, gap):
        """Log probability that the first of two classes wins, `gap` ahead."""

    @abstractmethod
    def _log_pdf(self, x):
        """Log density of the noise."""

    @abstractmethod
    def _log_cdf(self, x):
        """Log distribution function of the noise."""

    @abstractmethod
    def _nodes(self, levels, n_classes):
        """Nodes and log weights that integrate all histograms over the ascending `levels`."""


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
        return 2 * float(self.gamma)

    def published_rdp(self, votes, orders):
        """The 2017 paper's data-dependent bound; see `rdp.lnmax_rdp`."""
        return lnmax_rdp(votes, self.gamma, orders)

    @property
    def _scale(self):
        return 1 / float(self.gamma)

    def _noise(self, rng, shape):
        return rng.laplace(scale=self._scale, size=shape)

    def _log_win(self, gap):
        distance = np.abs(gap)
        log_lose = np.log((2 + distance) / 4) - distance
        return np.where(gap >= 0, np.log1p(-np.exp(log_lose)), log_lose)

    def _log_pdf(self, x):
        return -np.abs(x) - math.log(2)

    def _log_cdf(self, x):
        log_half = self._log_pdf(x)
        return np.where(x < 0, log_half, np.log1p(-np.exp(log_half)))

    def _nodes(self, levels, n_classes):
        # The integrand has a kink at every count: Gauss-Legendre on panels between them, at most
        # one scale long. Below the lowest count it is one exponential, so one node is exact;
        # above the highest it is a polynomial in exp(-x).
        gaps = np.diff(levels)
        pieces = np.maximum(1, np.ceil(gaps)).astype(int)
        ends = [
            np.linspace(a, a + gap, n + 1) for a, gap, n in zip(levels, gaps, pieces, strict=False)
        ]
        left = np.concatenate([[], *(e[:-1] for e in ends)])[:, None]
        width = np.repeat(gaps / pieces, pieces)[:, None]
        z, w = _gauss_legendre(4 + math.ceil(1.2 * n_classes * width.max(initial=0)))
        u, v = _gauss_legendre(max(8, n_classes // 2 + 1))
        x = [levels[:1], (left + width * z).ravel(), levels[-1] - np.log(u)]
        weights = [np.array([1 / n_classes]), (width * w).ravel(), v / u]
        return np.concatenate(x), np.log(np.concatenate(weights))


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
        return math.sqrt(2) / float(self.sigma)

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

    @property
    def _scale(self):
        return float(self.sigma)

    def _noise(self, rng, shape):
        return rng.normal(scale=self._scale, size=shape)

    def _log_win(self, gap):
        return log_ndtr(gap / math.sqrt(2))

    def _log_pdf(self, x):
        return -0.5 * x**2 - 0.5 * math.log(2 * math.pi)

    def _log_cdf(self, x):
        return log_ndtr(x)

    def _nodes(self, levels, n_classes):
        # Class j's integrand is log-concave, at least as curved as the normal density, and peaks
        # between n_j and the top count or a little above: there the trapezoidal rule converges
        # geometrically, with a step that follows the width of the peak.
        step = min(0.125, 0.7 / math.sqrt(n_classes))
        n_nodes = math.ceil((levels[-1] - levels[0] + 21) / step)
        x = levels[0] - 9.5 + step * np.arange(n_nodes + 1)
        return x, np.full(x.size, math.log(step))


def _gauss_legendre(n_nodes):
    """Nodes and weights on (0, 1)."""
    nodes, weights = np.polynomial.legendre.leggauss(n_nodes)
    return (nodes + 1) / 2, weights / 2
