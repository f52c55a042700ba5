"""Mechanisms that release one class for each query: noisy and exact argmaxes."""

from __future__ import annotations

import functools
import math
import operator
from dataclasses import replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr, logsumexp
from sklearn.base import clone

from .. import rdp
from .._sklearn import Interval
from ..rdp.bounds import argmax_bounds
from ..rdp.checks import check_votes, margins
from ..rdp.cost import bisect
from ..rdp.records import Record, argmax_record, sparse_vector_record, stated_record
from ..secure import noise_generator
from .base import NOISES, POSITIVE, Aggregator, checked_scale

if TYPE_CHECKING:
    from .._typing import Seed
    from ..rdp.cost import Cost


class _NoisyArgmax(Aggregator):
    """Base class of aggregators that release the class with the largest noisy count.

    A subclass defines `_noise`, which returns the distribution of the noise on each count.
    """

    def _bounds_of_noise(self) -> rdp.PrivacyBounds:
        """Return the proved bounds of the noise; see `Aggregator.bounds`."""
        noise = self._noise()
        if not isinstance(noise, rdp.Noise):  # discrete noise has ties, which go to the lowest code
            return rdp.PrivacyBounds(pure_epsilon=noise.pure_epsilon, exact=True)
        return argmax_bounds(noise)

    def outcome_log_proba(
        self, votes: ArrayLike, student_proba: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Return the log probability of each class; see `log_argmax` of the noise in `rdp`."""
        return self._noise().log_argmax(check_votes(votes))

    def aggregate(
        self, votes: ArrayLike, student_proba: ArrayLike | None = None, random_state: Seed = None
    ) -> np.ndarray:
        """Draw the released label of each query; see `Aggregator.aggregate`."""
        votes = check_votes(votes)
        noise = self._noise().sample(noise_generator(random_state), votes.shape)
        return (votes + noise).argmax(axis=1)


class PluralityVote(Aggregator):
    """Argmax of the votes without noise, which is **not private**: epsilon is inf.

    Ties go to the lowest class code. Use this aggregator for comparisons only.

    Examples
    --------
    >>> from sklearn_pate.aggregators import PluralityVote
    >>> PluralityVote().aggregate([[1, 5, 4], [5, 5, 0]])
    array([1, 0])
    """

    def outcome_log_proba(
        self, votes: ArrayLike, student_proba: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Return the log probability of each class: 0 for the plurality, else -inf."""
        votes = check_votes(votes)
        chosen = votes.argmax(axis=1)[:, None] == np.arange(votes.shape[1])
        return np.where(chosen, 0.0, -np.inf)

    def bounds(self) -> rdp.PrivacyBounds:
        """Return empty bounds, because no cost is bounded without noise."""
        return rdp.PrivacyBounds()


class LNMax(_NoisyArgmax):
    """Argmax of the votes with Laplace noise, from Papernot et al. (2017).

    Parameters
    ----------
    gamma : float or None, default=0.05
        Inverse scale, above 0: every count gets Laplace noise of scale ``1 / gamma`` votes. A
        smaller gamma is more private. One query is ``2 * gamma``-differentially private. With None,
        `PATEClassifier` calibrates gamma so that all queries together cost its `epsilon`.
    noise : {"continuous", "discrete"}, default="continuous"
        "continuous" is floating-point noise. "discrete" is noise on the integers with probabilities
        proportional to ``exp(-gamma * abs(x))``, sampled exactly, so that no rounding of floats
        weakens the guarantee; ties go to the lowest class code.

    References
    ----------
    Papernot et al. (2017), ICLR, Section 3.1 and Theorem 3. Discrete noise: Canonne, Kamath,
    Steinke (2020), NeurIPS.

    Examples
    --------
    >>> from sklearn_pate.aggregators import LNMax
    >>> LNMax(gamma=0.05).aggregate([[240, 10]], random_state=0)
    array([0])
    >>> LNMax(gamma=0.05).bounds().pure_epsilon
    0.1
    """

    _parameter_constraints = {"gamma": [POSITIVE, None], "noise": [NOISES]}

    def __init__(
        self, gamma: float | None = 0.05, noise: Literal["continuous", "discrete"] = "continuous"
    ) -> None:
        self.gamma = gamma
        self.noise = noise

    def _noise(self) -> rdp.Laplace | rdp.DiscreteLaplace:
        gamma = checked_scale(self, "gamma")
        return rdp.Laplace(1 / gamma) if self.noise == "continuous" else rdp.DiscreteLaplace(gamma)

    @property
    def noise_std(self) -> float | None:  # type: ignore[override]
        """Standard deviation of the noise on each count, in votes; None if it is not set."""
        return None if self.gamma is None else math.sqrt(2) / self.gamma

    bounds = _NoisyArgmax._bounds_of_noise

    def queries_record(self, name: str, n_queries: int, *, n_classes: int, cost: Cost) -> Record:
        """Return the record of the queries; see `Mechanism.queries_record`."""
        return argmax_record(
            name,
            rdp.Contribution.of_counts(2),
            noise="laplace",
            scale=checked_scale(self, "gamma"),
            grid=None if self.noise == "continuous" else 1.0,
            count=n_queries,
            curve=cost.rdp,
            pure=cost.pure,
        )

    def with_scale(self, scale: float) -> Self | None:
        """Return a copy with Laplace noise of this scale; see `Aggregator.with_scale`."""
        return clone(self).set_params(gamma=1 / scale) if self.gamma is None else None

    def published_rdp(
        self,
        votes: ArrayLike,
        orders: ArrayLike,
        student_proba: ArrayLike | None = None,
        paid: ArrayLike | None = None,
    ) -> NDArray[np.float64]:
        """Return the data-dependent bound `rdp.lnmax_rdp`; inf for discrete noise."""
        if not isinstance(self._noise(), rdp.Noise):
            return super().published_rdp(votes, orders)
        return rdp.lnmax_rdp(votes, checked_scale(self, "gamma"), orders)


class ExponentialNMax(_NoisyArgmax):
    """Argmax of the votes with one-sided exponential noise, also known as permute-and-flip.

    Parameters
    ----------
    gamma : float, default=0.05
        Inverse scale, above 0: every count gets exponential noise of scale ``1 / gamma`` votes,
        with half the variance of the noise of `LNMax`. A smaller gamma is more private. One query
        is ``2 * gamma``-differentially private.

    Notes
    -----
    With more than two classes, the data-independent Renyi cost is the largest cost of any mechanism
    with this pure epsilon, `rdp.pure_rdp`. The smaller cost of the exponential mechanism,
    ``a (2 gamma)**2 / 8``, is not proved for exponential noise. At equal gamma, this aggregator
    costs more than `LNMax`; compare the two at equal accuracy.

    References
    ----------
    McKenna, Sheldon (2020). Permute-and-flip. NeurIPS. Ding et al. (2021). The permute-and-flip
    mechanism is identical to report-noisy-max with exponential noise. arXiv:2105.07260.

    Examples
    --------
    >>> from sklearn_pate.aggregators import ExponentialNMax
    >>> ExponentialNMax(gamma=0.05).aggregate([[240, 10]], random_state=0)
    array([0])
    >>> ExponentialNMax(gamma=0.05).bounds().pure_epsilon
    0.1
    """

    _parameter_constraints = {"gamma": [POSITIVE]}

    def __init__(self, gamma: float = 0.05) -> None:
        self.gamma = gamma

    def _noise(self) -> rdp.Exponential:
        return rdp.Exponential(1 / checked_scale(self, "gamma"))

    @property
    def noise_std(self) -> float:  # type: ignore[override]
        """Standard deviation of the noise on each count, in votes."""
        return 1 / self.gamma

    bounds = _NoisyArgmax._bounds_of_noise

    def queries_record(self, name: str, n_queries: int, *, n_classes: int, cost: Cost) -> Record:
        """Return the record of the queries; see `Mechanism.queries_record`."""
        return argmax_record(
            name,
            rdp.Contribution.of_counts(2),
            noise="exponential",
            scale=checked_scale(self, "gamma"),
            grid=None,
            count=n_queries,
            curve=cost.rdp,
            pure=cost.pure,
        )


class GNMax(_NoisyArgmax):
    """Argmax of the votes with Gaussian noise, from Papernot et al. (2018).

    Parameters
    ----------
    sigma : float or None, default=40.0
        Standard deviation of the noise on each count, in votes, above 0. A larger sigma is more
        private. With None, `PATEClassifier` calibrates sigma so that all queries together cost its
        `epsilon`.
    noise : {"continuous", "discrete"}, default="continuous"
        "continuous" is floating-point noise. "discrete" is noise on the integers with probabilities
        proportional to ``exp(-x**2 / (2 * sigma**2))``, sampled exactly, so that no rounding of
        floats weakens the guarantee; ties go to the lowest class code. The Renyi cost of a query
        with discrete noise is at most ``a / sigma**2`` at order `a`; no Gaussian-DP parameter is
        claimed.

    References
    ----------
    Papernot et al. (2018), ICLR, Section 4.1. Discrete noise: Canonne, Kamath, Steinke (2020),
    NeurIPS.

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

    _parameter_constraints = {"sigma": [POSITIVE, None], "noise": [NOISES]}

    def __init__(
        self, sigma: float | None = 40.0, noise: Literal["continuous", "discrete"] = "continuous"
    ) -> None:
        self.sigma = sigma
        self.noise = noise

    def _noise(self) -> rdp.Gaussian | rdp.DiscreteGaussian:
        sigma = checked_scale(self, "sigma")
        return rdp.Gaussian(sigma) if self.noise == "continuous" else rdp.DiscreteGaussian(sigma)

    @property
    def noise_std(self) -> float | None:  # type: ignore[override]
        """Standard deviation of the noise on each count, in votes; None if it is not set."""
        return self.sigma

    def bounds(self) -> rdp.PrivacyBounds:
        """Return the proved bounds of the noise; see `Aggregator.bounds`.

        Discrete noise costs at most ``a / sigma**2`` at order `a`, because two counts change by 1
        (Canonne, Kamath, Steinke (2020), Proposition 5).
        """
        bounds = self._bounds_of_noise()
        if self.noise == "continuous":
            return bounds
        variance = checked_scale(self, "sigma") ** 2
        return replace(bounds, rdp=lambda orders, n_teachers, n_classes: orders / variance)

    def queries_record(self, name: str, n_queries: int, *, n_classes: int, cost: Cost) -> Record:
        """Return the record of the queries; see `Mechanism.queries_record`."""
        return argmax_record(
            name,
            rdp.Contribution.of_counts(2),
            noise="gaussian",
            scale=checked_scale(self, "sigma"),
            grid=None if self.noise == "continuous" else 1.0,
            count=n_queries,
            curve=cost.rdp,
            pure=cost.pure,
        )

    def with_scale(self, scale: float) -> Self | None:
        """Return a copy with noise of this standard deviation; see `Aggregator.with_scale`."""
        return clone(self).set_params(sigma=scale) if self.sigma is None else None

    def published_rdp(
        self,
        votes: ArrayLike,
        orders: ArrayLike,
        student_proba: ArrayLike | None = None,
        paid: ArrayLike | None = None,
    ) -> NDArray[np.float64]:
        """Return the data-dependent bound `rdp.gnmax_rdp`; inf for discrete noise."""
        if not isinstance(self._noise(), rdp.Noise):
            return super().published_rdp(votes, orders)
        return rdp.gnmax_rdp(votes, checked_scale(self, "sigma"), orders)


# --- GNMax after a noisy check of agreement -------------------------------------------------------


class _CheckedGNMax(Aggregator):
    """GNMax that answers only queries that pass a noisy check of the teachers' agreement.

    A subclass defines two methods. `_agreement` returns the statistic of each query that is
    compared with the threshold; one teacher must change it by at most 1. `_labels_if_failed`
    returns the labels of queries that fail the check, -1 for no answer.
    """

    _parameter_constraints = {"threshold": [POSITIVE], "sigma1": [POSITIVE], "sigma2": [POSITIVE]}

    def _bounds_of_both_steps(self) -> rdp.PrivacyBounds:
        self._validate_params()
        sigma1, sigma2 = float(self.sigma1), float(self.sigma2)
        argmax = GNMax(sigma2)

        def steps(
            orders: np.ndarray, n_teachers: int | None, n_classes: int | None
        ) -> tuple[np.ndarray, np.ndarray]:
            answer = rdp.worst_case_rdp(argmax, orders, n_teachers=n_teachers, n_classes=n_classes)
            return rdp.checked_rdp(sigma1, np.zeros(len(answer)), orders), answer

        def of_query(
            orders: np.ndarray, n_teachers: int | None, n_classes: int | None
        ) -> np.ndarray:
            _, answer = steps(orders, n_teachers, n_classes)
            return rdp.checked_rdp(sigma1, answer, orders)

        # A query is a composition of two Gaussian mechanisms, the check and the answer
        gdp_mu = math.sqrt(1 / sigma1**2 + 2 / sigma2**2)
        symmetric = not self.uses_student_proba
        return rdp.PrivacyBounds(
            gdp_mu=gdp_mu, rdp=of_query, steps=steps, label_symmetric=symmetric
        )

    def _record_of_both_steps(self, name: str, n_queries: int, cost: Cost) -> Record:
        """Return the record of checks and answers; see `Mechanism.queries_record`."""
        return argmax_record(
            name,
            rdp.Contribution.of_counts(2),
            noise="gaussian",
            scale=float(self.sigma2),
            check_scale=float(self.sigma1),
            count=n_queries,
            curve=cost.rdp,
            pure=cost.pure,
        )

    @property
    def noise_std(self) -> float:  # type: ignore[override]
        """Standard deviation of the noise on each count of a query that passes, in votes."""
        return self.sigma2

    def outcome_log_proba(
        self, votes: ArrayLike, student_proba: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Return the log probability of each class and of no answer."""
        self._validate_params()
        votes = check_votes(votes)
        excess = self._excess(votes, student_proba)[:, None]
        answer = GNMax(float(self.sigma2)).outcome_log_proba(votes)
        log_proba = np.hstack([answer + log_ndtr(excess), log_ndtr(-excess)])
        # If a failed check releases the student's label, the two ways to this label are added
        labels = self._labels_if_failed(len(votes), student_proba)
        rows = np.flatnonzero(labels >= 0)
        column = labels[rows]
        log_proba[rows, column] = np.logaddexp(log_proba[rows, column], log_proba[rows, -1])
        log_proba[rows, -1] = -np.inf
        return log_proba

    def aggregate(
        self, votes: ArrayLike, student_proba: ArrayLike | None = None, random_state: Seed = None
    ) -> np.ndarray:
        """Draw the released label of each query; see `Aggregator.aggregate`."""
        return self.draw(votes, student_proba, random_state)[0]

    def draw(
        self, votes: ArrayLike, student_proba: ArrayLike | None = None, random_state: Seed = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw labels, and a mask of queries that passed the check; see `Aggregator.draw`."""
        self._validate_params()
        votes = check_votes(votes)
        rng = noise_generator(random_state)
        passes = self._excess(votes, student_proba) + rng.normal(size=len(votes)) >= 0
        answer = (votes + rng.normal(scale=float(self.sigma2), size=votes.shape)).argmax(axis=1)
        labels = np.where(passes, answer, self._labels_if_failed(len(votes), student_proba))
        return labels, passes

    def published_rdp(
        self,
        votes: ArrayLike,
        orders: ArrayLike,
        student_proba: ArrayLike | None = None,
        paid: ArrayLike | None = None,
    ) -> NDArray[np.float64]:
        """Return `rdp.threshold_rdp` plus, for the queries in `paid`, `rdp.gnmax_rdp`."""
        self._validate_params()
        votes = check_votes(votes)
        excess = self._excess(votes, student_proba)
        log_smaller = np.minimum(log_ndtr(excess), log_ndtr(-excess))
        check = rdp.gaussian_rdp(log_smaller, math.sqrt(2) * float(self.sigma1), orders)
        paid = np.ones(len(votes)) if paid is None else np.asarray(paid, dtype=float)
        return check + paid[:, None] * rdp.gnmax_rdp(votes, self.sigma2, orders)

    def _excess(self, votes: Any, student_proba: ArrayLike | None) -> np.ndarray:
        """Return the agreement minus the threshold, divided by `sigma1`."""
        threshold = float(self.threshold)
        if not isinstance(self.threshold, Integral) and len(votes):
            threshold *= votes[0].sum()  # a fraction of the teachers
        return (self._agreement(votes, student_proba) - threshold) / float(self.sigma1)

    def _validate_params(self) -> None:
        super()._validate_params()
        if not isinstance(self.threshold, Integral) and self.threshold > 1:
            raise ValueError(
                f"threshold={self.threshold!r} is a float above 1: pass {round(self.threshold)}, "
                "or a fraction of the teachers"
            )


class ConfidentGNMax(_CheckedGNMax):
    """GNMax that answers only if many teachers agree, from Papernot et al. (2018).

    A query passes if its largest vote count plus noise is at least the threshold. Check and answer
    are one mechanism, with "no answer" as an outcome. Every query has a privacy cost, with or
    without an answer.

    Parameters
    ----------
    threshold : int or float
        Threshold of the largest noisy count: an int is a number of votes, at most the number of
        teachers; a float in (0, 1] is a fraction of the teachers.
    sigma1 : float
        Standard deviation of the noise on the largest count, in votes.
    sigma2 : float
        Standard deviation of the noise on each count of a query that passes, in votes.

    References
    ----------
    Papernot et al. (2018), ICLR, Section 4.2 and Algorithm 1.

    Examples
    --------
    >>> from sklearn_pate.aggregators import ConfidentGNMax
    >>> confident = ConfidentGNMax(threshold=0.8, sigma1=10.0, sigma2=5.0)
    >>> confident.aggregate([[240, 10], [130, 120]], random_state=0)
    array([ 0, -1])
    """

    def __init__(self, threshold: int | float, sigma1: float, sigma2: float) -> None:
        self.threshold = threshold
        self.sigma1 = sigma1
        self.sigma2 = sigma2

    def bounds(self) -> rdp.PrivacyBounds:
        """Return the cost of check and answer as one mechanism; see `rdp.checked_rdp`.

        One teacher changes the largest count by at most 1.
        """
        return self._bounds_of_both_steps()

    def queries_record(self, name: str, n_queries: int, *, n_classes: int, cost: Cost) -> Record:
        """Return the record of the queries; see `Mechanism.queries_record`."""
        return self._record_of_both_steps(name, n_queries, cost)

    published_rdp = _CheckedGNMax.published_rdp

    def _agreement(self, votes: np.ndarray, student_proba: ArrayLike | None) -> np.ndarray:
        return votes.max(axis=1)

    def _labels_if_failed(self, n_queries: int, student_proba: ArrayLike | None) -> np.ndarray:
        return np.full(n_queries, -1)


class InteractiveGNMax(_CheckedGNMax):
    """GNMax that answers if teachers contradict the student, from Papernot et al. (2018).

    A query passes if a class has many more votes than the student expects: the excess
    ``max_j(n_j - n_teachers * p_j)`` plus noise is at least the threshold. The teachers then answer
    the query. If a query fails and the student is confident, the student's label is released, at
    the cost of the check; otherwise there is no answer. The mechanism requires a student: use it
    after another stage.

    Parameters
    ----------
    threshold : int or float
        Threshold of the noisy excess: an int is a number of votes; a float in (0, 1] is a fraction
        of the teachers.
    sigma1 : float
        Standard deviation of the noise on the checked excess, in votes.
    sigma2 : float
        Standard deviation of the noise on each count of a query that passes, in votes.
    confidence : float
        Number in [0, 1). The student is confident if its largest probability is above this number.

    References
    ----------
    Papernot et al. (2018), ICLR, Section 4.3 and Algorithm 2.

    Examples
    --------
    >>> from sklearn_pate.aggregators import InteractiveGNMax
    >>> interactive = InteractiveGNMax(0.5, sigma1=5.0, sigma2=5.0, confidence=0.9)
    >>> student = [[0.05, 0.95], [0.95, 0.05], [0.6, 0.4]]
    >>> interactive.aggregate([[240, 10]] * 3, student, random_state=0)
    array([ 0,  0, -1])
    """

    uses_student_proba = True

    _parameter_constraints = {
        **_CheckedGNMax._parameter_constraints,
        "confidence": [Interval(Real, 0, 1, closed="left")],
    }

    def __init__(
        self, threshold: int | float, sigma1: float, sigma2: float, confidence: float
    ) -> None:
        self.threshold = threshold
        self.sigma1 = sigma1
        self.sigma2 = sigma2
        self.confidence = confidence

    def bounds(self) -> rdp.PrivacyBounds:
        """Return the cost of check and answer as one mechanism; see `rdp.checked_rdp`.

        One teacher changes the largest excess over the student's expectation by at most 1.
        """
        return self._bounds_of_both_steps()

    def queries_record(self, name: str, n_queries: int, *, n_classes: int, cost: Cost) -> Record:
        """Return the record of the queries; see `Mechanism.queries_record`."""
        return self._record_of_both_steps(name, n_queries, cost)

    published_rdp = _CheckedGNMax.published_rdp

    def _agreement(self, votes: np.ndarray, student_proba: ArrayLike | None) -> np.ndarray:
        proba = np.asarray(np.nan if student_proba is None else student_proba, dtype=float)
        sums_to_1 = proba.shape == votes.shape and np.allclose(proba.sum(axis=1), 1)
        if not sums_to_1 or (proba < 0).any():
            got = "None" if student_proba is None else f"shape {proba.shape}"
            if proba.shape == votes.shape:
                got = "this shape, but rows with other sums or negative numbers"
            raise ValueError(
                f"student_proba must be the student's probabilities, of shape {votes.shape}, with "
                f"rows that sum to 1; got {got}"
            )
        return (votes - votes[:1].sum() * proba).max(axis=1)

    def _labels_if_failed(self, n_queries: int, student_proba: ArrayLike | None) -> np.ndarray:
        proba = np.asarray(student_proba, dtype=float)
        return np.where(proba.max(axis=1) > self.confidence, proba.argmax(axis=1), -1)


# --- a constant added to the top count, and its true cost -----------------------------------------


class ImmutableArgmax(Aggregator):
    """Noisy argmax that adds a constant to the top count ("near-zero-cost"): **not private**.

    With the constant, noise rarely changes the answer, so the answer is nearly always the plain
    argmax. If two neighbouring data sets have different argmaxes (a tie is sufficient), their
    answers differ with high probability, and the cost of a query grows with the constant without
    bound. The paper claims a cost near zero only for queries with a margin of more than 2 votes,
    but the set of these queries is private. Use this aggregator for comparisons only;
    `StableArgmax` is the private alternative.

    Parameters
    ----------
    constant : float, default=None
        Number of votes added to the top count, at least 0; inf gives the plain argmax. None is the
        paper's choice: ``log(n_classes / failure_probability) / gamma`` for Laplace noise, and
        ``sqrt(2 * sigma**2 * log(2 * n_classes / failure_probability))`` for Gaussian noise.
    gamma : float, default=None
        Inverse scale of Laplace noise: every count gets noise of scale ``1 / gamma`` votes. Set
        either `gamma` or `sigma`.
    sigma : float, default=None
        Standard deviation of Gaussian noise on every count, in votes.
    failure_probability : float, default=0.01
        Probability of an answer other than the argmax in the paper, from which the default
        `constant` is computed. With three or more classes, the true probability may be larger.

    Examples
    --------
    >>> from sklearn_pate.aggregators import ImmutableArgmax
    >>> from sklearn_pate.rdp import data_independent_epsilon
    >>> immutable = ImmutableArgmax(gamma=0.05)
    >>> immutable.aggregate([[126, 124], [124, 126]], random_state=0)
    array([0, 1])
    >>> data_independent_epsilon(immutable, 1, 1e-5, n_teachers=250, n_classes=2)[0] > 4
    True
    """

    _parameter_constraints = {
        "constant": [Interval(Real, 0, None, closed="both"), None],
        "gamma": [POSITIVE, None],
        "sigma": [POSITIVE, None],
        "failure_probability": [Interval(Real, 0, 1, closed="neither")],
    }

    caveat = (
        "it adds a constant to the top count, so neighbouring data sets with different top classes "
        "nearly always get different answers. privacy_spent_ contains the true cost; the paper "
        "claims a cost near zero only for other data sets. Use StableArgmax for privacy"
    )

    def __init__(
        self,
        constant: float | None = None,
        *,
        gamma: float | None = None,
        sigma: float | None = None,
        failure_probability: float = 0.01,
    ) -> None:
        self.constant = constant
        self.gamma = gamma
        self.sigma = sigma
        self.failure_probability = failure_probability

    def outcome_log_proba(
        self, votes: ArrayLike, student_proba: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Return the log probability of each class, with the constant added to the top count."""
        raised = self._raised(votes)
        if np.isinf(raised).any():
            return np.where(np.isinf(raised), 0.0, -np.inf)
        return self._noise().log_argmax(raised)

    def aggregate(
        self, votes: ArrayLike, student_proba: ArrayLike | None = None, random_state: Seed = None
    ) -> np.ndarray:
        """Draw the released label of each query; see `Aggregator.aggregate`."""
        raised = self._raised(votes)
        noise = self._noise().sample(noise_generator(random_state), raised.shape)
        return (raised + noise).argmax(axis=1)

    def bounds(self) -> rdp.PrivacyBounds:
        """Return the true cost: two raised counts change by up to ``1 + constant`` each."""
        noise = self._noise()

        def of_query(
            orders: np.ndarray, n_teachers: int | None, n_classes: int | None
        ) -> np.ndarray:
            if self.constant is None and n_classes is None:
                return np.full(len(orders), np.inf)
            change = 1 + self._added(n_classes)
            if noise.mu < math.inf:
                with np.errstate(over="ignore"):
                    return np.asarray(orders) * np.square(np.float64(noise.mu * change)) / 2
            pure = noise.pure_epsilon * change
            return rdp.pure_rdp(pure, orders) if pure < math.inf else np.full(len(orders), np.inf)

        return rdp.PrivacyBounds(rdp=of_query)

    def queries_record(self, name: str, n_queries: int, *, n_classes: int, cost: Cost) -> Record:
        """Return the record of the queries; see `Mechanism.queries_record`."""
        change = 1 + self._added(n_classes)
        if change == math.inf:
            return stated_record(name, cost.times(n_queries))
        is_gaussian = self.sigma is not None
        return argmax_record(
            name,
            rdp.Contribution(l1=2 * change, l2_squared=2 * change**2, linf=change),
            noise="gaussian" if is_gaussian else "laplace",
            scale=checked_scale(self, "sigma" if is_gaussian else "gamma"),
            count=n_queries,
            curve=cost.rdp,
            pure=cost.pure,
        )

    def claimed_rdp(self, votes: ArrayLike, orders: ArrayLike) -> NDArray[np.float64]:
        """Return the cost that the paper claims, which is not a bound.

        It is the published bound of the noise at the raised counts.

        Parameters
        ----------
        votes : array-like of shape (n_queries, n_classes)
            Vote counts.
        orders : array-like of shape (n_orders,)
            Renyi orders, above 1.

        Returns
        -------
        ndarray of shape (n_queries, n_orders)
            Claimed Renyi costs, which are private. They are too small, because the theorems behind
            them require counts that change by one vote.
        """
        log_proba = self.outcome_log_proba(votes)
        rows = np.arange(len(log_proba))
        log_proba[rows, log_proba.argmax(axis=1)] = -np.inf
        log_q = np.minimum(logsumexp(log_proba, axis=1), math.log(0.5))
        log_q = np.maximum(log_q, -1e4)  # at -inf the cost is 0, and the formulas fail
        if self.sigma is not None:
            return rdp.gaussian_rdp(log_q, self.sigma, orders)
        return rdp.laplace_rdp(log_q, checked_scale(self, "gamma"), orders)

    def _noise(self) -> rdp.Gaussian | rdp.Laplace:
        self._validate_params()
        if (self.gamma is None) == (self.sigma is None):
            raise ValueError(
                f"set either gamma or sigma; got gamma={self.gamma!r} and sigma={self.sigma!r}"
            )
        if self.gamma is None:
            return rdp.Gaussian(checked_scale(self, "sigma"))
        return rdp.Laplace(1 / float(self.gamma))

    def _added(self, n_classes: int | None) -> float:
        if self.constant is not None:
            return float(self.constant)
        if n_classes is None:
            return math.inf
        failure_probability = float(self.failure_probability)
        if self.sigma is None:
            return math.log(n_classes / failure_probability) / checked_scale(self, "gamma")
        return float(self.sigma) * math.sqrt(2 * math.log(2 * n_classes / failure_probability))

    def _raised(self, votes: ArrayLike) -> np.ndarray:
        self._noise()  # checks the parameters
        raised = check_votes(votes).astype(float)
        rows = np.arange(len(raised))
        raised[rows, raised.argmax(axis=1)] += self._added(raised.shape[1])
        return raised


# --- the exact argmax of stable queries, by the sparse vector technique ---------------------------


class StableArgmax(Aggregator):
    """Exact argmax of stable queries, at a cost that does not depend on their number.

    The mechanism applies the sparse vector technique to the number of teachers that can change
    without changing the argmax, ``d = max(ceil(margin / 2) - 1, 0)``. A run answers queries with
    their exact argmax while ``d`` plus noise is above a noisy threshold. The first query that is
    not above it is unstable: it gets no answer, and ends the run. The mechanism stops after
    `max_unstable` runs. It always costs `max_unstable` runs, for any number of queries.

    Parameters
    ----------
    run_epsilon : float or None, default=0.1
        Pure epsilon of one run. With None, `PATEClassifier` calibrates it so that all runs together
        cost its `epsilon`.
    max_unstable : int, default=20
        Number of runs, which is the largest number of unstable queries.
    delta : float, default=1e-6
        Delta of the mechanism, which is a part of the delta of a fit. It bounds the probability
        that an answer depends on more than the noisy comparisons.

    Notes
    -----
    This is Algorithm 3 of Bassily, Thakkar, Thakurta (2018), with fresh threshold noise per run. On
    neighbouring data sets, `d` differs by at most 1; if the argmax differs, `d` is 0 on both.
    Unless a query with ``d = 0`` is answered, the answers are a function of the comparisons, and
    one run of comparisons is ``run_epsilon``-DP (Dwork and Roth (2014), Theorem 3.23).
    `run_epsilon` is divided between the noise on the threshold and the noise on `d` in the ratio 1
    to 2**(2/3) (Lyu, Su, Li (2017)). With `k` queries, a query with ``d = 0`` is answered only if
    the largest of `k` noises on `d` minus the smallest of `max_unstable` noises on thresholds
    exceeds the threshold. With the threshold chosen here, the probability of this event is at most
    `delta`. It is lower than the threshold in the paper, which adds two separate bounds.

    The answers have no finite Renyi divergence, because the answers on neighbouring data sets may
    differ with a tiny probability. So `rdp.exact_rdp` is infinite near ties. `costs` returns the
    cost of the guarantee.

    Examples
    --------
    >>> from sklearn_pate.aggregators import StableArgmax
    >>> stable = StableArgmax(run_epsilon=1.0, max_unstable=2)
    >>> stable.aggregate([[990, 10], [505, 495], [20, 980]], random_state=0)
    array([ 0, -1,  1])
    >>> epsilon, _ = stable.costs()(1000).epsilon(1e-5)
    >>> epsilon
    2.0
    """

    _parameter_constraints = {
        "run_epsilon": [POSITIVE, None],
        "max_unstable": [Interval(Integral, 1, None, closed="left")],
        "delta": [Interval(Real, 0, 1, closed="neither")],
    }

    def __init__(
        self,
        run_epsilon: float | None = 0.1,
        max_unstable: int = 20,
        delta: float = 1e-6,
    ) -> None:
        self.run_epsilon = run_epsilon
        self.max_unstable = max_unstable
        self.delta = delta

    def bounds(self) -> rdp.PrivacyBounds:
        """Return the cost of all runs, which is the same for any number of queries."""
        run_epsilon = checked_scale(self, "run_epsilon")
        n_runs = int(self.max_unstable)  # small NumPy types overflow and round
        delta = float(self.delta)

        def total(orders: np.ndarray) -> rdp.Cost:
            mu_squared = rdp.pure_to_gdp(run_epsilon) ** 2
            cost = rdp.pure_rdp(run_epsilon, orders)
            return rdp.Cost(n_runs * cost, n_runs * mu_squared, n_runs * run_epsilon, delta=delta)

        return rdp.PrivacyBounds(total=total)

    def queries_record(self, name: str, n_queries: int, *, n_classes: int, cost: Cost) -> Record:
        """Return the record of the runs; see `Mechanism.queries_record`."""
        return sparse_vector_record(
            name,
            run_epsilon=checked_scale(self, "run_epsilon"),
            n_runs=int(self.max_unstable),
            n_queries=n_queries,
            scales=self._scales(),
            threshold=self.stability_needed(n_queries),
            delta=float(self.delta),
        )

    def with_scale(self, scale: float) -> Self | None:
        """Return a copy with a `run_epsilon` of 1 / scale; see `Aggregator.with_scale`."""
        return clone(self).set_params(run_epsilon=1 / scale) if self.run_epsilon is None else None

    def outcome_log_proba(
        self, votes: ArrayLike, student_proba: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Return the log probability of each class and of no answer, for a single query."""
        votes = check_votes(votes)
        on_threshold, on_distance = self._scales()
        excess = distance_to_instability(votes) - self.stability_needed(1)
        log_pass, log_fail = _log_laplace_difference(excess, on_distance, on_threshold)
        log_proba = np.full((len(votes), votes.shape[1] + 1), -np.inf)
        log_proba[np.arange(len(votes)), votes.argmax(axis=1)] = log_pass
        log_proba[:, -1] = log_fail
        return log_proba

    def aggregate(
        self, votes: ArrayLike, student_proba: ArrayLike | None = None, random_state: Seed = None
    ) -> np.ndarray:
        """Draw the label of each query; -1 for unstable queries and after the last run."""
        labels, _ = self.draw(votes, student_proba, random_state)
        return np.pad(labels, (0, len(votes) - len(labels)), constant_values=-1)  # type: ignore[arg-type]

    def draw(
        self, votes: ArrayLike, student_proba: ArrayLike | None = None, random_state: Seed = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw labels until all runs are used up; see `Aggregator.draw`."""
        votes = check_votes(votes)
        rng = noise_generator(random_state)
        on_threshold, on_distance = self._scales()
        distance = distance_to_instability(votes) + rng.laplace(scale=on_distance, size=len(votes))
        stable = np.zeros(len(votes), dtype=bool)
        n_queried = 0
        for _ in range(self.max_unstable):
            threshold = self.stability_needed(max(1, len(votes))) + rng.laplace(scale=on_threshold)
            unstable = n_queried + np.flatnonzero(distance[n_queried:] <= threshold)
            if unstable.size == 0:
                stable[n_queried:] = True
                n_queried = len(votes)
                break
            stable[n_queried : unstable[0]] = True
            n_queried = unstable[0] + 1
        labels = np.where(stable, votes.argmax(axis=1), -1)[:n_queried]
        return labels, np.ones(n_queried, dtype=bool)

    def stability_needed(self, n_queries: int) -> float:
        """Return the threshold for the distance to instability, without its noise.

        Parameters
        ----------
        n_queries : int
            Largest number of queries.

        Returns
        -------
        float
            Number of teachers. If it is above the `distance_to_instability` of unanimous votes,
            almost no query is answered.
        """
        # Small NumPy types overflow and round
        numbers = int(self.max_unstable), float(self.delta), operator.index(n_queries)
        return _stability_needed(*self._scales(), *numbers)

    def _scales(self) -> tuple[float, float]:
        """Return the scales of the noise on the threshold and on the distance."""
        run_epsilon = checked_scale(self, "run_epsilon")
        for_threshold = run_epsilon / (1 + 2 ** (2 / 3))
        return 1 / for_threshold, 2 / (run_epsilon - for_threshold)


@functools.lru_cache(maxsize=64)
def _stability_needed(
    on_threshold: int | float,
    on_distance: float,
    max_unstable: int,
    delta: float,
    n_queries: int,
) -> float:
    """Return the least threshold that the noise exceeds with probability at most `delta`."""
    # The probability is bounded by a sum over a grid of values of the noise on the threshold. For
    # each value, the noise on distances must exceed the rest of the threshold
    n_scales = max(60, 2 * math.log(max_unstable / delta))
    drop = np.linspace(0, n_scales * on_threshold, 4001)
    beyond = np.minimum(1, max_unstable * np.exp(-drop / on_threshold) / 2)
    mass = np.concatenate([[1 - beyond[0]], -np.diff(beyond), beyond[-1:]])

    def fails_often(threshold: int | float) -> bool:
        left = threshold - np.append(drop, math.inf)  # each part of the mass at its upper end
        above = np.exp(-np.maximum(left, 0) / on_distance) * n_queries / 2
        failure = mass @ np.where(left > 0, np.minimum(1, above), 1)
        return bool(failure > delta)

    high = 100 * (on_threshold + on_distance)
    while fails_often(high):
        high *= 2
    _, enough = bisect(fails_often, 0.0, high)
    return float(enough)


def distance_to_instability(votes: ArrayLike) -> NDArray[np.int64]:
    """Return the number of teachers that can change without changing the argmax.

    Parameters
    ----------
    votes : array-like of shape (n_queries, n_classes)
        Vote counts.

    Returns
    -------
    ndarray of shape (n_queries,), int
        Number of teachers for each query, which is private; one teacher changes it by at most 1.

    Examples
    --------
    >>> from sklearn_pate.aggregators import distance_to_instability
    >>> distance_to_instability([[7, 3, 0], [5, 5, 0]])
    array([1, 0])
    """
    return np.maximum((margins(check_votes(votes)) + 1) // 2 - 1, 0)


def _log_laplace_difference(x: np.ndarray, b: float, c: float) -> tuple[np.ndarray, np.ndarray]:
    """Return log probabilities that ``x + Lap(b) - Lap(c)`` is above 0, and that it is not."""
    distance = np.abs(x)
    factor = (b**2 - c**2 * np.exp(distance / b - distance / c)) / (2 * (b**2 - c**2))
    log_tail = np.log(factor) - distance / b
    log_other = np.log1p(-np.exp(log_tail))
    return np.where(x >= 0, log_other, log_tail), np.where(x >= 0, log_tail, log_other)
