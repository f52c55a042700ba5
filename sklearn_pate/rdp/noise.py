"""Noise on vote counts, and the log probability that each class has the largest noisy count."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr, logsumexp, ndtr

from .checks import check_log_proba


def _gauss_legendre(n_nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return Gauss-Legendre nodes and weights on (0, 1)."""
    nodes, weights = np.polynomial.legendre.leggauss(n_nodes)
    return (nodes + 1) / 2, weights / 2


#: Nodes for one peak about 16 standard deviations wide, with a relative error of about 1e-14.
_NODES, _WEIGHTS = _gauss_legendre(40)


def _refine_last(log_proba: np.ndarray) -> np.ndarray:
    """Recompute log probabilities near 1 of the last class, the plurality, from the others."""
    others = np.exp(logsumexp(log_proba[:, :-1], axis=1))
    likely = others < 0.5
    log_proba[likely, -1] = np.log1p(-others[likely])
    return log_proba


class Noise(ABC):
    """Independent noise with a continuous log-concave density, the same on every count.

    A class of two-sided noise also defines `log_pdf` and `log_cdf`, the logs of its density and
    distribution function; `nodes`, the nodes and weights of an integral over it; and
    `_log_tail_win`, the log of the integral in `log_other_classes`.

    Parameters
    ----------
    scale : float
        Scale of the noise, in votes. The arguments of all methods except `log_argmax` and `sample`
        are counts divided by this scale.

    Attributes
    ----------
    mu, pure_epsilon : float
        Gaussian-DP parameter and pure epsilon of the class with the largest noisy count, if one
        vote moves from a class to another; inf if there is none.
    two_sided : bool
        Whether the density is positive everywhere. If not, the noisy counts of other classes may
        make an outcome impossible. `worst_case_rdp` then cannot use the cost given these noisy
        counts, because it is infinite.
    smooth : bool
        Whether the density is smooth. If so, the search for the costliest votes uses slopes, and
        needs fewer steps.
    """

    mu: float = math.inf
    pure_epsilon: float = math.inf
    two_sided = True
    smooth = False

    # Methods of two-sided noise; only smooth noise needs the last one
    log_pdf: Callable[[Any], Any]
    log_cdf: Callable[[Any], Any]
    nodes: Callable[..., tuple[np.ndarray, np.ndarray]]
    _log_tail_win: Callable[[np.ndarray, np.ndarray], np.ndarray]
    other_class_slopes: Callable[..., np.ndarray]

    def __init__(self, scale: float) -> None:
        self.scale = float(scale)

    def log_argmax(self, votes: ArrayLike) -> NDArray[np.float64]:
        """Compute the log probability that each class has the largest noisy count.

        Probabilities near 0, such as 1e-300, have the same relative error as larger ones. The log
        of a probability near 1 is as accurate as the sum of the other probabilities.

        Parameters
        ----------
        votes : array-like of shape (n_queries, n_classes)
            Vote counts, or other numbers.

        Returns
        -------
        ndarray of shape (n_queries, n_classes)
            Log probabilities: in closed form for two classes, and by quadrature for more.
        """
        votes = np.asarray(votes, dtype=float)
        # The distribution depends on the sorted counts alone, so each histogram is computed once
        order = votes.argsort(axis=1, kind="stable")
        ascending = np.take_along_axis(votes, order, axis=1)
        histograms, number = np.unique(ascending, axis=0, return_inverse=True)
        log_proba = self._log_argmax_of_histograms(histograms / self.scale)
        result = np.empty(votes.shape)
        np.put_along_axis(result, order, log_proba[number.reshape(-1)], axis=1)
        return result

    def _log_argmax_of_histograms(self, counts: np.ndarray) -> np.ndarray:
        """Compute the log probability that each class wins.

        `counts`, of shape (n, m), are in units of the noise and in ascending order in each row.
        """
        if counts.shape[1] == 2:
            margin = counts[:, 0] - counts[:, 1]
            return np.column_stack([self.log_win(margin), self.log_win(-margin)])
        log_proba = np.empty(counts.shape)
        alike = np.lexsort(counts.T)  # sorted by the largest count, so that blocks share levels
        for part in np.array_split(alike, max(1, math.ceil(len(counts) / 256))):
            if part.size:
                log_proba[part] = self._log_argmax(counts[part])
        return log_proba

    def _log_argmax(self, counts: np.ndarray) -> np.ndarray:
        """Compute the log probabilities for more than two classes, by quadrature.

        Class j wins with probability ``integral pdf(x - n_j) prod_{k != j} cdf(x - n_k) dx``. All
        histograms share the nodes, so densities are tabulated once per distinct count, and sums
        over classes and nodes are matrix products.
        """
        levels, level = np.unique(counts, return_inverse=True)
        level = level.reshape(counts.shape)
        if levels[-1] - levels[0] > 20_000:
            raise ValueError(
                f"noise scale {self.scale:g} is too small; use a larger scale, or PluralityVote"
            )
        x, log_weights = self.nodes(levels, n_classes=counts.shape[1])
        if len(counts) > 1 and (levels.size + len(counts)) * x.size > 5_000_000:  # tables of 40 MB
            half = len(counts) // 2  # fewer histograms have fewer levels and nodes
            first = self._log_argmax(counts[:half])
            second = self._log_argmax(counts[half:])
            return np.concatenate([first, second])
        offset = x - levels[:, None]
        log_cdf = self.log_cdf(offset)
        log_share = self.log_pdf(offset) - log_cdf + log_weights
        n_classes_at = np.zeros((len(counts), levels.size))
        rows = np.arange(len(counts))[:, None]
        np.add.at(n_classes_at, (rows, level), 1.0)
        log_all_below = n_classes_at @ log_cdf
        proba = np.exp(log_all_below) @ np.exp(log_share).T
        with np.errstate(divide="ignore"):
            result = np.log(proba[rows, level])
        # exp loses digits below -708. For results above -640, all relevant terms are far from that
        for k in np.flatnonzero((result < -640).any(axis=1)):
            result[k] = logsumexp(log_share[level[k]] + log_all_below[k], axis=1)
        return _refine_last(check_log_proba(result))

    @abstractmethod
    def sample(self, rng: np.random.Generator, shape: int | tuple[int, ...]) -> np.ndarray:
        """Sample noise of the given shape, in votes."""

    @staticmethod
    @abstractmethod
    def log_win(margin: Any) -> Any:
        """Compute the log probability that a count with a lead of `margin` wins against another."""

    @classmethod
    def log_overtake(cls, behind: float, n_other_classes: int) -> float:
        """Compute the log probability that a noisy count exceeds several others of equal counts.

        Parameters
        ----------
        behind : float
            Difference between the other counts and this count, at least 0.
        n_other_classes : int
            Number of other counts.

        Returns
        -------
        float
            The log of ``integral pdf(x + behind) cdf(x)**n_other_classes dx``.
        """
        x, log_weights = cls.nodes(np.array([-behind, 0.0]), n_classes=n_other_classes + 1)
        return logsumexp(cls.log_pdf(x + behind) + n_other_classes * cls.log_cdf(x) + log_weights)

    @classmethod
    def log_other_classes(cls, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Compute the log probability that the first, the second or neither noisy count wins.

        Parameters
        ----------
        first, second : ndarray of shape (n,)
            Two counts, minus the largest noisy count of all other classes, which is fixed.

        Returns
        -------
        ndarray of shape (n, 3)
            Log probabilities. The first count wins with probability
            ``integral_0^inf pdf(y - first) cdf(y - second) dy``.
        """
        first_wins = cls._log_tail_win(first, second)
        second_wins = cls._log_tail_win(second, first)
        neither = cls.log_cdf(-first) + cls.log_cdf(-second)
        return np.column_stack([first_wins, second_wins, neither])


class Gaussian(Noise):
    """Normal noise of standard deviation `scale`."""

    smooth = True

    @property
    def mu(self) -> float:  # type: ignore[override]
        """L2 sensitivity divided by the noise standard deviation."""
        return math.sqrt(2) / self.scale

    def sample(self, rng: np.random.Generator, shape: int | tuple[int, ...]) -> np.ndarray:
        """Sample noise of the given shape, in votes."""
        return rng.normal(scale=self.scale, size=shape)

    @staticmethod
    def log_pdf(x: np.ndarray) -> np.ndarray:
        """Compute the log density."""
        return -0.5 * x**2 - 0.5 * math.log(2 * math.pi)

    @staticmethod
    def log_cdf(x: np.ndarray) -> np.ndarray:
        """Compute the log of the distribution function."""
        return log_ndtr(x)

    @staticmethod
    def log_win(margin: Any) -> Any:
        """Compute the log probability that a count with a lead of `margin` wins against another."""
        return log_ndtr(margin / math.sqrt(2))

    @staticmethod
    def _log_tail_win(ahead: np.ndarray, behind: np.ndarray) -> np.ndarray:
        # The integrand is log-concave. It peaks near `ahead`; if the other count is more than 3
        # above, it peaks halfway between the two, with twice the curvature. 8 (or 6.5) units from
        # its peak it is about 1e-14 of the peak. If it decreases from 0 on, it decreases about like
        # exp(-fall * y), so a range of 40 / fall is enough; 1e-9 avoids a division by 0.
        near = ahead > behind - 3
        local_maximum = np.maximum(np.where(near, ahead, (ahead + behind) / 2), 0)[:, None]
        fall = np.maximum(-ahead - np.maximum(behind, 0), 1e-9)
        reach = np.minimum(np.where(near, 8.0, 6.5), 40 / fall)[:, None]
        low = np.maximum(local_maximum - reach, 0)
        width = local_maximum + reach - low
        y = low + width * _NODES
        log_density = Gaussian.log_pdf(y - ahead[:, None])
        top = log_density.max(axis=1, keepdims=True)
        terms = np.exp(log_density - top) * ndtr(y - behind[:, None])
        deep = (low[:, 0] - behind < -30) | (ahead < -30)
        if deep.any():  # the product might underflow there
            log_terms = log_density[deep] + log_ndtr(y[deep] - behind[deep, None])
            top[deep] = log_terms.max(axis=1, keepdims=True)
            terms[deep] = np.exp(log_terms - top[deep])
        return (top + np.log(terms @ _WEIGHTS[:, None] * width))[:, 0]

    @staticmethod
    def other_class_slopes(
        first: np.ndarray, second: np.ndarray, log_other_classes: np.ndarray
    ) -> np.ndarray:
        """Compute the slopes of `log_other_classes`; smooth noise must have this method.

        Parameters
        ----------
        first, second : ndarray of shape (n,)
            As in `log_other_classes`.
        log_other_classes : ndarray of shape (n, 3)
            The result of `log_other_classes`.

        Returns
        -------
        ndarray of shape (2, n, 3)
            Slopes with respect to the first count alone, and to both counts at once.
        """
        log_first, log_second, log_neither = log_other_classes.T
        # The integral of pdf(y - first) pdf(y - second) over y > 0: the density of a tie
        level = log_ndtr((first + second) / math.sqrt(2)) - (first - second) ** 2 / 4
        level -= math.log(4 * math.pi) / 2
        # Densities of a tie of one count with the largest count of all other classes, if the other
        # of the two counts is below
        first_level = Gaussian.log_pdf(first) + log_ndtr(-second)
        second_level = Gaussian.log_pdf(second) + log_ndtr(-first)
        first_gains = np.exp(first_level - log_first)
        first_takes = np.exp(first_level - log_neither)
        second_takes = np.exp(second_level - log_neither)
        second_gains = np.exp(second_level - log_second)
        second_loses = np.exp(level - log_second)
        of_first = [first_gains + np.exp(level - log_first), -second_loses, -first_takes]
        of_both = [first_gains, second_gains, -first_takes - second_takes]
        return np.array([of_first, of_both]).transpose(0, 2, 1)

    @staticmethod
    def nodes(levels: np.ndarray, *, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
        """Return nodes and log weights to integrate the outcomes of votes with counts in `levels`.

        Parameters
        ----------
        levels : ndarray of shape (n_levels,)
            All counts that occur, ascending, in units of the noise.
        n_classes : int
            Number of classes.

        Returns
        -------
        nodes, log_weights : ndarray of shape (n_nodes,)
            Nodes in units of the noise, and the logs of their weights.
        """
        # Class j's integrand is log-concave with at least the curvature of the normal density. It
        # peaks between n_j and the largest count, or at most 2 units above. There the trapezoidal
        # rule converges geometrically, with a step in proportion to the width of the peak. 9.5
        # units from its peak, the integrand is exp(-45) of it, so the nodes end 9.5 units below the
        # lowest count and 11.5 units above the largest.
        step = min(0.125, 0.7 / math.sqrt(n_classes))
        n_nodes = math.ceil((levels[-1] - levels[0] + 21) / step)
        x = levels[0] - 9.5 + step * np.arange(n_nodes + 1)
        return x, np.full(x.size, math.log(step))


class Laplace(Noise):
    """Laplace noise of scale `scale` (standard deviation ``sqrt(2) * scale``)."""

    @property
    def pure_epsilon(self) -> float:  # type: ignore[override]
        """L1 sensitivity divided by the scale."""
        return 2 / self.scale

    def sample(self, rng: np.random.Generator, shape: int | tuple[int, ...]) -> np.ndarray:
        """Sample noise of the given shape, in votes."""
        return rng.laplace(scale=self.scale, size=shape)

    @staticmethod
    def log_pdf(x: np.ndarray) -> np.ndarray:
        """Compute the log density."""
        return -np.abs(x) - math.log(2)

    @staticmethod
    def log_cdf(x: np.ndarray) -> np.ndarray:
        """Compute the log of the distribution function."""
        log_half = Laplace.log_pdf(x)
        return np.where(x < 0, log_half, np.log1p(-np.exp(log_half)))

    @staticmethod
    def log_win(margin: Any) -> Any:
        """Compute the log probability that a count with a lead of `margin` wins against another."""
        distance = np.abs(margin)
        log_lose = np.log((2 + distance) / 4) - distance
        return np.where(margin >= 0, np.log1p(-np.exp(log_lose)), log_lose)

    @staticmethod
    def log_overtake(behind: float, n_other_classes: int) -> float:
        """Compute the log probability that a noisy count exceeds several others of equal counts."""
        # The integral in three pieces: above all counts, below, and in between
        log_half = -(n_other_classes + 1) * math.log(2)
        above = -np.expm1(log_half) / (n_other_classes + 1)
        below = math.exp(log_half - (n_other_classes - 1) * behind) / (n_other_classes + 1)
        if n_other_classes == 1:
            between = math.exp(log_half) * behind
        else:
            between = (
                math.exp(log_half)
                * -math.expm1((1 - n_other_classes) * behind)
                / (n_other_classes - 1)
            )
        return math.log(above + below + between) - behind

    @staticmethod
    def _log_tail_win(ahead: np.ndarray, behind: np.ndarray) -> np.ndarray:
        # The integral from 0 in three pieces, split at both counts
        low = np.maximum(np.minimum(ahead, behind), 0)
        high = np.maximum(np.maximum(ahead, behind), 0)
        below = np.exp(2 * low - ahead - behind) * -np.expm1(-2 * low) / 8
        level = np.exp(-np.abs(ahead - behind)) * (high - low) / 4
        rising = np.exp(np.minimum(high - ahead, 0)) * -np.expm1(low - high) / 2 - level
        between = np.where(ahead <= behind, level, rising)
        above = np.exp(ahead - high) / 2 - np.exp(ahead + behind - 2 * high) / 8
        return np.log(below + between + above)

    @staticmethod
    def nodes(levels: np.ndarray, *, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
        """Return nodes and log weights; see `Gaussian.nodes`."""
        # The integrand has a kink at every count. So the counts separate Gauss-Legendre panels of
        # at most one scale, with nodes for growth up to exp(n_classes * x). Below the lowest count
        # the integrand grows exactly like that, and one node is exact. Above the highest count it
        # is a polynomial in exp(-x) of degree `n_classes`, and n_classes // 2 + 1 nodes are exact.
        distances = np.diff(levels)
        n_panels = np.maximum(1, np.ceil(distances)).astype(int)
        width = np.repeat(distances / n_panels, n_panels)
        first_panel = np.repeat(np.cumsum(n_panels) - n_panels, n_panels)
        left = np.repeat(levels[:-1], n_panels) + (np.arange(width.size) - first_panel) * width
        above, above_weights = _gauss_legendre(max(8, n_classes // 2 + 1))
        x = [levels[:1], levels[-1] - np.log(above)]
        weights = [np.array([1 / n_classes]), above_weights / above]
        n_nodes = 4 + np.ceil(1.2 * n_classes * width - 0.6).astype(int)
        for n in np.unique(n_nodes):
            nodes, node_weights = _gauss_legendre(n)
            these = n_nodes == n
            x.append((left[these, None] + width[these, None] * nodes).ravel())
            weights.append((width[these, None] * node_weights).ravel())
        return np.concatenate(x), np.log(np.concatenate(weights))


class Exponential(Noise):
    """One-sided exponential noise with scale and standard deviation `scale`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_pate.rdp import Exponential
    >>> np.exp(Exponential(20.0).log_argmax([[130, 120], [250, 0]])).round(4)
    array([[0.6967, 0.3033],
           [1.    , 0.    ]])
    """

    two_sided = False

    # A vote added to one class and a vote removed from another cost 1 / scale each
    pure_epsilon = Laplace.pure_epsilon

    def sample(self, rng: np.random.Generator, shape: int | tuple[int, ...]) -> np.ndarray:
        """Sample noise of the given shape, in votes."""
        return rng.exponential(scale=self.scale, size=shape)

    @staticmethod
    def log_win(margin: Any) -> Any:
        """Compute the log probability that a count with a lead of `margin` wins against another."""
        log_lose = -np.abs(margin) - math.log(2)
        return np.where(margin >= 0, np.log1p(-np.exp(log_lose)), log_lose)

    @staticmethod
    def log_overtake(behind: float, n_other_classes: int) -> float:
        """Compute the log probability that a noisy count exceeds several others of equal counts."""
        return -behind - math.log(n_other_classes + 1)

    def _log_argmax(self, counts: np.ndarray) -> np.ndarray:
        # With u = exp(top - x), class j wins with probability exp(n_j - top) times the integral of
        # prod_{k != j} (1 - u exp(n_k - top)) over (0, 1): a polynomial, and at least 1 / m.
        behind = counts - counts[:, -1:]
        integral = np.zeros(counts.shape)
        for u, weight in zip(*_gauss_legendre(counts.shape[1] // 2 + 1), strict=True):
            log_below = np.log1p(-u * np.exp(behind))
            integral += weight * np.exp(log_below.sum(axis=1, keepdims=True) - log_below)
        return _refine_last(check_log_proba(behind + np.log(integral)))
