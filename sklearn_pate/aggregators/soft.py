"""Noisy sums of the teachers' probabilities."""

import math
from numbers import Real

import numpy as np
from sklearn.base import clone

from .._sklearn import Interval
from ..rdp import DiscreteGaussian, Facts
from ..rdp.checks import as_array
from ..secure import noise_generator
from .base import NOISES, POSITIVE, SoftAggregator, checked_scale

#: Sums of probabilities are whole multiples of one over this number, see `teachers`.
_SHARES = 2**20


class SoftVote(SoftAggregator):
    """Noisy mean of the teachers' class probabilities: soft labels, for distillation.

    Each teacher gives a probability for each class instead of one vote. Their sums get Gaussian
    noise, and are clipped and normalised to a distribution over classes.

    Parameters
    ----------
    sigma : float or None, default=40.0
        Standard deviation of the noise on each sum, in votes; at most 1e9. None: calibrated.
    temperature : float, default=1.0
        Teachers' probabilities are raised to ``1 / temperature`` and normalised: above 1 softens
        them.
    noise : {"discrete", "continuous"}, default="discrete"
        "discrete" is noise on the multiples of 2**-20 with probabilities proportional to
        ``exp(-x**2 / (2 * sigma**2))``, sampled exactly. "continuous" is floating-point noise: it
        costs a little less, in real arithmetic.

    Notes
    -----
    One teacher changes the sums by the difference of two distributions, at most sqrt(2) in L2
    norm. `GNMax` costs less at equal noise, as it releases the argmax alone. There is no
    `outcome_log_proba`, as the outcomes are no classes, and the cost is the same for all sums:
    ``a / sigma**2`` at order `a` (with discrete noise: Canonne, Kamath, Steinke (2020),
    Proposition 5, for each sum).

    Teachers' probabilities are rounded down to multiples of 2**-20, so the sums are multiples as
    well, also after discrete noise: clipping and normalising see nothing else. With continuous
    noise the last digits of the floating-point numbers that come out depend on the true sums: with
    hundreds of classes only the true sums fit all of them. No epsilon covers that.

    References
    ----------
    Hinton, Vinyals, Dean (2015). Distilling the knowledge in a neural network.

    Examples
    --------
    >>> from sklearn_pate.aggregators import SoftVote
    >>> SoftVote(sigma=5.0).soft_labels([[180.5, 69.5]], random_state=0).round(2)
    array([[0.73, 0.27]])
    """

    _parameter_constraints = {
        "sigma": [Interval(Real, 0, 1e9, closed="right"), None],
        "temperature": [POSITIVE],
        "noise": [NOISES],
    }

    def __init__(self, sigma=40.0, temperature=1.0, noise="discrete"):
        self.sigma = sigma
        self.temperature = temperature
        self.noise = noise

    @property
    def noise_std(self):
        """Standard deviation of the noise on each sum, in votes."""
        return self.sigma

    def with_scale(self, scale):
        """Return a copy with noise of this standard deviation; see `Mechanism.with_scale`."""
        return clone(self).set_params(sigma=scale) if self.sigma is None else None

    def facts(self):
        """Return the cost of Gaussian noise on sums that change by sqrt(2) in L2 norm."""
        sigma = checked_scale(self, "sigma")
        if self.noise == "continuous":
            return Facts(gdp_mu=math.sqrt(2) / sigma)
        return Facts(rdp=lambda orders, n_teachers, n_classes: orders / sigma**2, exact=True)

    def soft_labels(self, sums, random_state=None):
        """Draw the released distribution over classes of each query.

        Parameters
        ----------
        sums : array-like of shape (n_queries, n_classes)
            Sums of the teachers' probabilities; with discrete noise, multiples of 2**-20.
        random_state : int, SeedSequence, Generator or None, default=None
            Source of the noise; None is the operating system's generator.

        Returns
        -------
        ndarray of shape (n_queries, n_classes)
            Rows sum to 1; uniform where no noisy sum is above 0.
        """
        sigma = checked_scale(self, "sigma")
        sums = as_array("sums", sums, dtype=float)
        rng = noise_generator(random_state)
        if self.noise == "continuous":
            noisy = sums + rng.normal(scale=sigma, size=sums.shape)
        else:
            noise = DiscreteGaussian(sigma * _SHARES)
            noisy = whole_shares(sums) + noise.sample(rng, sums.shape)
        noisy = np.maximum(noisy, 0)
        noisy[noisy.sum(axis=1) == 0] = 1
        return noisy / noisy.sum(axis=1, keepdims=True)


def whole_shares(sums):
    """Return sums as whole numbers of 2**-20."""
    shares = sums * _SHARES
    fits = (np.abs(shares) < 2**53).all()
    if not fits or not np.array_equal(shares.astype(np.int64), shares):
        raise ValueError('noise="discrete" needs multiples of 2**-20: round down what teachers add')
    return shares.astype(np.int64)
