"""Noisy sums of the teachers' probabilities."""

import math
from numbers import Real

import numpy as np

from .._sklearn import Interval
from .base import Aggregator

__all__ = ["SoftVote"]


class SoftVote(Aggregator):
    """Noisy mean of the teachers' class probabilities: soft labels, for distillation.

    Each teacher gives a probability for each class instead of one vote. Their sums get Gaussian
    noise, and are clipped and normalised to a distribution over classes.

    Parameters
    ----------
    sigma : float, default=40.0
        Standard deviation of the noise on each sum, in votes.
    temperature : float, default=1.0
        Teachers' probabilities are raised to ``1 / temperature`` and normalised: above 1 softens
        them.

    Notes
    -----
    One teacher changes the sums by the difference of two distributions, at most sqrt(2) in L2
    norm: a query costs as much as one of `GNMax`, without the argmax that hides most of it. The
    outcome is continuous, so there is no `outcome_log_proba`, and the cost is the same for all
    sums: ``a / sigma**2`` at order `a`.

    References
    ----------
    Hinton, Vinyals, Dean (2015). Distilling the knowledge in a neural network.

    Examples
    --------
    >>> from sklearn_pate.aggregators import SoftVote
    >>> SoftVote(sigma=5.0).soft_labels([[180.5, 69.5]], random_state=0).round(2)
    array([[0.72, 0.28]])
    """

    wants_proba = True

    _parameter_constraints = {
        "sigma": [Interval(Real, 0, None, closed="neither")],
        "temperature": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(self, sigma=40.0, temperature=1.0):
        self.sigma = sigma
        self.temperature = temperature

    @property
    def gdp_mu(self):
        """``sqrt(2) / sigma``."""
        self._validate_params()
        return math.sqrt(2) / float(self.sigma)

    def outcome_log_proba(self, votes, student_proba=None):
        """Not defined: soft labels are continuous."""
        raise NotImplementedError("SoftVote releases real numbers: it has no outcome probabilities")

    def soft_labels(self, sums, random_state=None):
        """Draw the released distribution over classes of each query.

        Parameters
        ----------
        sums : array-like of shape (n_queries, n_classes)
            Sums of the teachers' probabilities.
        random_state : int, SeedSequence, Generator or None, default=None
            Source of the noise; None draws from the operating system's entropy.

        Returns
        -------
        ndarray of shape (n_queries, n_classes)
            Rows sum to 1; uniform where no noisy sum is above 0.
        """
        self._validate_params()
        sums = np.asarray(sums, dtype=float)
        rng = np.random.default_rng(random_state)
        noisy = np.maximum(sums + rng.normal(scale=self.sigma, size=sums.shape), 0)
        noisy[noisy.sum(axis=1) == 0] = 1
        return noisy / noisy.sum(axis=1, keepdims=True)

    def aggregate(self, votes, student_proba=None, random_state=None):
        """Draw the most probable class of each query's soft label."""
        return self.soft_labels(votes, random_state).argmax(axis=1)
