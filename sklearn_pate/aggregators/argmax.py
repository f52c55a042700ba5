"""The class with the largest noisy count: the papers' mechanisms, and their kin."""

from abc import abstractmethod
from numbers import Real

import numpy as np

from .._sklearn import Interval, StrOptions
from ..rdp import (
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    Laplace,
    Noise,
    check_votes,
    gnmax_rdp,
    lnmax_rdp,
)
from .base import Aggregator, check_calibrated

__all__ = ["LNMax", "ExponentialNMax", "GNMax"]


class _NoisyArgmax(Aggregator):
    """The class with the largest count after independent noise on every count."""

    noise = "continuous"  # a parameter of those that may also be discrete

    @property
    def label_symmetric(self):
        """Whether ties are impossible: they go to the lowest code."""
        return self.noise == "continuous"

    @property
    @abstractmethod
    def _noise(self):
        """The noise on each count."""

    @property
    def argmax_noise(self):
        """The noise on each count, None if discrete; see `Aggregator.argmax_noise`."""
        noise = self._noise
        return noise if isinstance(noise, Noise) else None

    def outcome_log_proba(self, votes, student_proba=None):
        """Log probability of each class; see `log_argmax` of the noise in `rdp`."""
        return self._noise.log_argmax(check_votes(votes))

    def aggregate(self, votes, student_proba=None, random_state=None):
        """Draw the released label of each query; see `Aggregator.aggregate`."""
        noise, votes = self._noise, check_votes(votes)
        noisy = votes + noise.sample(np.random.default_rng(random_state), votes.shape)
        return noisy.argmax(axis=1)

    @property
    def gdp_mu(self):
        """Gaussian-DP parameter of one query on any votes; inf if it is not Gaussian DP."""
        return self._noise.mu

    @property
    def pure_epsilon(self):
        """Pure epsilon of one query on any votes; inf if there is none without more knowledge."""
        return self._noise.pure_epsilon


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
        guarantee; ties go to the lowest class code. Its `gamma` is not calibrated.

    References
    ----------
    Papernot et al. (2017), ICLR, Section 3.1 and Theorem 3. Discrete noise: Canonne, Kamath,
    Steinke (2020), NeurIPS.

    Examples
    --------
    >>> from sklearn_pate.aggregators import LNMax
    >>> LNMax(gamma=0.05).aggregate([[240, 10]], random_state=0)
    array([0])
    >>> LNMax(gamma=0.05).pure_epsilon
    0.1
    """

    calibrates = "gamma"

    _parameter_constraints = {
        "gamma": [Interval(Real, 0, None, closed="neither"), None],
        "noise": [StrOptions({"continuous", "discrete"})],
    }

    def __init__(self, gamma=0.05, noise="continuous"):
        self.gamma = gamma
        self.noise = noise

    @property
    def _noise(self):
        self._validate_params()
        check_calibrated(self, "gamma")
        gamma = float(self.gamma)
        return Laplace(1 / gamma) if self.noise == "continuous" else DiscreteLaplace(gamma)

    def published_rdp(self, votes, orders, student_proba=None, paid=None):
        """The 2017 paper's data-dependent bound, inf with discrete noise; see `rdp.lnmax_rdp`."""
        if self.argmax_noise is None:
            return super().published_rdp(votes, orders)
        return lnmax_rdp(votes, self.gamma, orders)


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
    With more than two classes its Renyi cost on any votes is that of a pure mechanism,
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
    >>> ExponentialNMax(gamma=0.05).pure_epsilon
    0.1
    """

    _parameter_constraints = {"gamma": [Interval(Real, 0, None, closed="neither")]}

    def __init__(self, gamma=0.05):
        self.gamma = gamma

    @property
    def _noise(self):
        self._validate_params()
        return Exponential(1 / float(self.gamma))


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
        guarantee; ties go to the lowest class code. It costs order / sigma**2 per query, has no
        Gaussian-DP composition, and its `sigma` is not calibrated.

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

    calibrates = "sigma"

    _parameter_constraints = {
        "sigma": [Interval(Real, 0, None, closed="neither"), None],
        "noise": [StrOptions({"continuous", "discrete"})],
    }

    def __init__(self, sigma=40.0, noise="continuous"):
        self.sigma = sigma
        self.noise = noise

    @property
    def _noise(self):
        self._validate_params()
        check_calibrated(self, "sigma")
        sigma = float(self.sigma)
        return Gaussian(sigma) if self.noise == "continuous" else DiscreteGaussian(sigma)

    def known_rdp(self, orders, n_teachers=None, n_classes=None):
        """With discrete noise, order over the square of `sigma`: two counts change by one."""
        if self.argmax_noise is None:
            return np.asarray(orders) / float(self.sigma) ** 2
        return super().known_rdp(orders, n_teachers, n_classes)

    def published_rdp(self, votes, orders, student_proba=None, paid=None):
        """The 2018 paper's data-dependent bound, inf with discrete noise; see `rdp.gnmax_rdp`."""
        if self.argmax_noise is None:
            return super().published_rdp(votes, orders)
        return gnmax_rdp(votes, self.sigma, orders)
