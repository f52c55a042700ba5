"""Noisy argmax with a constant added to the top count, and what it truly costs."""

import math
from numbers import Real

import numpy as np
from scipy.special import logsumexp

from .._sklearn import Interval
from ..rdp import Facts, Gaussian, Laplace, gaussian_rdp, laplace_rdp, pure_rdp
from ..rdp.checks import check_votes, margins
from ..secure import noise_generator
from .base import POSITIVE, Aggregator


class ImmutableArgmax(Aggregator):
    """Noisy argmax that adds a constant to the top count ("near-zero-cost"): **not private**.

    The constant makes the noise almost never change the answer, so the answer is almost the plain
    argmax. Where two neighbouring data sets have different argmaxes (a tie will do), both answer
    almost surely differently: the cost of a query grows with the constant without bound. The paper
    claims a cost near zero by looking only at queries with a margin of more than 2 votes, but
    which queries those are is private. For comparison only; `StableArgmax` is the sound
    way.

    Parameters
    ----------
    constant : float, default=None
        Votes added to the top count, at least 0; inf is the plain argmax. None is the paper's
        choice for `failure_probability`: ``log(n_classes / failure_probability) / gamma`` or
        ``sqrt(2 * sigma**2 * log(2 * n_classes / failure_probability))``.
    gamma : float, default=None
        Laplace noise of scale ``1 / gamma`` votes. Give either `gamma` or `sigma`.
    sigma : float, default=None
        Gaussian noise of standard deviation `sigma` votes.
    failure_probability : float, default=0.01
        Probability of another answer than the argmax for which `constant` is chosen.

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
        "it adds a constant to the top count, so neighbouring data sets whose top classes differ "
        "are told apart almost surely; privacy_spent_ holds its true cost, and the paper's figure "
        "near zero is a claim about other data sets. StableArgmax is the private way"
    )

    def __init__(self, constant=None, *, gamma=None, sigma=None, failure_probability=0.01):
        self.constant = constant
        self.gamma = gamma
        self.sigma = sigma
        self.failure_probability = failure_probability

    def outcome_log_proba(self, votes, student_proba=None):
        """Log probability of each class: of a noisy argmax with the constant added."""
        raised = self._raised(votes)
        if np.isinf(raised).any():
            return np.where(np.isinf(raised), 0.0, -np.inf)
        return self._noise().log_argmax(raised)

    def aggregate(self, votes, student_proba=None, random_state=None):
        """Draw the released label of each query; see `Aggregator.aggregate`."""
        raised = self._raised(votes)
        noise = self._noise().sample(noise_generator(random_state), raised.shape)
        return (raised + noise).argmax(axis=1)

    def facts(self):
        """Return its true cost: two counts change by up to ``1 + constant`` each."""
        noise = self._noise()

        def rdp(orders, n_teachers, n_classes):
            if self.constant is None and n_classes is None:
                return np.full(len(orders), np.inf)
            change = 1 + self._added(n_classes)
            if noise.mu < math.inf:
                with np.errstate(over="ignore"):
                    return np.asarray(orders) * np.square(np.float64(noise.mu * change)) / 2
            pure = noise.pure_epsilon * change
            return pure_rdp(pure, orders) if pure < math.inf else np.full(len(orders), np.inf)

        return Facts(rdp=rdp)

    def qualified(self, votes):
        """Queries to which the paper's claim applies: of a margin above 2. Private.

        Parameters
        ----------
        votes : array-like of shape (n_queries, n_classes)
            Vote counts.

        Returns
        -------
        ndarray of shape (n_queries,), bool
        """
        return margins(check_votes(votes)) > 2

    def claimed_rdp(self, votes, orders):
        """What the paper claims: the noise's published bound at the raised counts. Not a bound.

        Parameters
        ----------
        votes : array-like of shape (n_queries, n_classes)
            Vote counts.
        orders : array-like of shape (n_orders,)
            Renyi orders, above 1.

        Returns
        -------
        ndarray of shape (n_queries, n_orders)
            Private, and false: the theorems behind it need counts that change by one vote.
        """
        log_proba = self.outcome_log_proba(votes)
        rows = np.arange(len(votes))
        log_proba[rows, log_proba.argmax(axis=1)] = -np.inf
        log_q = np.minimum(logsumexp(log_proba, axis=1), math.log(0.5))
        log_q = np.maximum(log_q, -1e4)  # at -inf the cost is 0, and the formulas fail
        if self.sigma is not None:
            return gaussian_rdp(log_q, self.sigma, orders)
        return laplace_rdp(log_q, self.gamma, orders)

    def _noise(self):
        self._validate_params()
        if (self.gamma is None) == (self.sigma is None):
            raise ValueError(
                f"give either gamma or sigma; got gamma={self.gamma!r} and sigma={self.sigma!r}"
            )
        return Gaussian(float(self.sigma)) if self.gamma is None else Laplace(1 / float(self.gamma))

    def _added(self, n_classes):
        if self.constant is not None:
            return float(self.constant)
        failure_probability = float(self.failure_probability)
        if self.sigma is None:
            return math.log(n_classes / failure_probability) / float(self.gamma)
        return float(self.sigma) * math.sqrt(2 * math.log(2 * n_classes / failure_probability))

    def _raised(self, votes):
        self._noise()  # checks the parameters
        raised = check_votes(votes).astype(float)
        rows = np.arange(len(raised))
        raised[rows, raised.argmax(axis=1)] += self._added(raised.shape[1])
        return raised
