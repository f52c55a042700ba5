"""The class with the largest noisy count: the papers' mechanisms, their kin, and without noise."""

import math
from abc import abstractmethod
from dataclasses import replace

import numpy as np
from sklearn.base import clone

from .. import rdp
from ..rdp.checks import check_votes
from ..rdp.facts import argmax_facts
from ..secure import noise_generator
from .base import NOISES, POSITIVE, Aggregator, checked_scale


class _NoisyArgmax(Aggregator):
    """The class with the largest count after independent noise on every count."""

    @abstractmethod
    def _noise(self):
        """The noise on each count."""

    def _facts_of_noise(self):
        noise = self._noise()
        if not isinstance(noise, rdp.Noise):  # discrete noise has ties, which go to the lowest code
            return rdp.Facts(pure_epsilon=noise.pure_epsilon, exact=True)
        return argmax_facts(noise)

    def outcome_log_proba(self, votes, student_proba=None):
        """Log probability of each class; see `log_argmax` of the noise in `rdp`."""
        return self._noise().log_argmax(check_votes(votes))

    def aggregate(self, votes, student_proba=None, random_state=None):
        """Draw the released label of each query; see `Aggregator.aggregate`."""
        votes = check_votes(votes)
        noise = self._noise().sample(noise_generator(random_state), votes.shape)
        return (votes + noise).argmax(axis=1)


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

    def facts(self):
        """Return no facts: without noise, no cost is bounded."""
        return rdp.Facts()


class LNMax(_NoisyArgmax):
    """Argmax of the votes after Laplace noise: the 2017 paper's mechanism.

    Parameters
    ----------
    gamma : float or None, default=0.05
        Inverse scale: every count gets Laplace noise of scale ``1 / gamma`` votes. Above 0; a
        smaller gamma is more private. One query is ``2 * gamma``-differentially private. None:
        calibrated by `PATEClassifier` so that its queries cost exactly its `epsilon`.
    noise : {"continuous", "discrete"}, default="continuous"
        "discrete" is noise on the whole numbers with probabilities proportional to
        ``exp(-gamma * abs(x))``, sampled exactly, so that no rounding of floats weakens the
        guarantee; ties go to the lowest class code.

    References
    ----------
    Papernot et al. (2017), ICLR, Section 3.1 and Theorem 3. Discrete noise: Canonne, Kamath,
    Steinke (2020), NeurIPS.

    Examples
    --------
    >>> from sklearn_pate.aggregators import LNMax
    >>> LNMax(gamma=0.05).aggregate([[240, 10]], random_state=0)
    array([0])
    >>> LNMax(gamma=0.05).facts().pure_epsilon
    0.1
    """

    _parameter_constraints = {"gamma": [POSITIVE, None], "noise": [NOISES]}

    def __init__(self, gamma=0.05, noise="continuous"):
        self.gamma = gamma
        self.noise = noise

    def _noise(self):
        gamma = checked_scale(self, "gamma")
        return rdp.Laplace(1 / gamma) if self.noise == "continuous" else rdp.DiscreteLaplace(gamma)

    @property
    def noise_std(self):
        """Standard deviation of the noise on each count, in votes; None if it is not set."""
        return None if self.gamma is None else math.sqrt(2) / self.gamma

    def facts(self):
        """Return what is proved of its noise; see `Aggregator.facts`."""
        return self._facts_of_noise()

    def with_scale(self, scale):
        """Return a copy with Laplace noise of this scale; see `Aggregator.with_scale`."""
        return clone(self).set_params(gamma=1 / scale) if self.gamma is None else None

    def published_rdp(self, votes, orders, student_proba=None, paid=None):
        """The 2017 paper's data-dependent bound, inf with discrete noise; see `rdp.lnmax_rdp`."""
        if not isinstance(self._noise(), rdp.Noise):
            return super().published_rdp(votes, orders)
        return rdp.lnmax_rdp(votes, self.gamma, orders)


class ExponentialNMax(_NoisyArgmax):
    """Argmax of the votes after one-sided exponential noise, also known as permute-and-flip.

    Parameters
    ----------
    gamma : float, default=0.05
        Inverse scale: every count gets exponential noise of scale ``1 / gamma`` votes, half the
        variance of `LNMax`. Above 0; a smaller gamma is more private. One query is
        ``2 * gamma``-differentially private.

    Notes
    -----
    With more than two classes its data-independent Renyi cost is that of a pure mechanism,
    `rdp.pure_rdp`: the smaller cost of the exponential mechanism, ``a (2 gamma)**2 / 8``, is not
    proved for it. At equal gamma it costs more than `LNMax`; compare at equal accuracy.

    References
    ----------
    McKenna, Sheldon (2020). Permute-and-flip. NeurIPS. Ding et al. (2021). The permute-and-flip
    mechanism is identical to report-noisy-max with exponential noise. arXiv:2105.07260.

    Examples
    --------
    >>> from sklearn_pate.aggregators import ExponentialNMax
    >>> ExponentialNMax(gamma=0.05).aggregate([[240, 10]], random_state=0)
    array([0])
    >>> ExponentialNMax(gamma=0.05).facts().pure_epsilon
    0.1
    """

    _parameter_constraints = {"gamma": [POSITIVE]}

    def __init__(self, gamma=0.05):
        self.gamma = gamma

    def _noise(self):
        return rdp.Exponential(1 / checked_scale(self, "gamma"))

    @property
    def noise_std(self):
        """Standard deviation of the noise on each count, in votes."""
        return 1 / self.gamma

    def facts(self):
        """Return what is proved of its noise; see `Aggregator.facts`."""
        return self._facts_of_noise()


class GNMax(_NoisyArgmax):
    """Argmax of the votes after Gaussian noise: the 2018 paper's mechanism.

    Parameters
    ----------
    sigma : float or None, default=40.0
        Standard deviation of the noise on each count, in votes; above 0, larger is more private.
        None: calibrated by `PATEClassifier` so that its queries cost exactly its `epsilon`.
    noise : {"continuous", "discrete"}, default="continuous"
        "discrete" is noise on the whole numbers with probabilities proportional to
        ``exp(-x**2 / (2 * sigma**2))``, sampled exactly, so that no rounding of floats weakens the
        guarantee; ties go to the lowest class code. It costs order / sigma**2 per query;
        Gaussian-DP composition is not claimed for it.

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

    def __init__(self, sigma=40.0, noise="continuous"):
        self.sigma = sigma
        self.noise = noise

    def _noise(self):
        sigma = checked_scale(self, "sigma")
        return rdp.Gaussian(sigma) if self.noise == "continuous" else rdp.DiscreteGaussian(sigma)

    @property
    def noise_std(self):
        """Standard deviation of the noise on each count, in votes; None if it is not set."""
        return self.sigma

    def facts(self):
        """Return what is proved of its noise; see `Aggregator.facts`.

        Discrete noise costs ``order / sigma**2``, as two counts change by one (Canonne, Kamath,
        Steinke (2020), Proposition 5).
        """
        facts = self._facts_of_noise()
        if self.noise == "continuous":
            return facts
        variance = float(self.sigma) ** 2
        return replace(facts, rdp=lambda orders, n_teachers, n_classes: orders / variance)

    def with_scale(self, scale):
        """Return a copy with noise of this standard deviation; see `Aggregator.with_scale`."""
        return clone(self).set_params(sigma=scale) if self.sigma is None else None

    def published_rdp(self, votes, orders, student_proba=None, paid=None):
        """The 2018 paper's data-dependent bound, inf with discrete noise; see `rdp.gnmax_rdp`."""
        if not isinstance(self._noise(), rdp.Noise):
            return super().published_rdp(votes, orders)
        return rdp.gnmax_rdp(votes, self.sigma, orders)
