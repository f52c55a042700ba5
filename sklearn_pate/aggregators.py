"""The mechanisms that turn vote counts into released labels, each by its outcome distribution."""

import math
from abc import ABCMeta, abstractmethod
from numbers import Real

import numpy as np
from sklearn.base import BaseEstimator

from ._sklearn import Interval
from .rdp import (
    DEFAULT_ORDERS,
    Gaussian,
    Laplace,
    check_log_proba,
    check_orders,
    check_votes,
    gnmax_rdp,
    lnmax_rdp,
    query_cost,
)

__all__ = ["Aggregator", "GNMax", "LNMax", "PluralityVote"]


class Aggregator(BaseEstimator, metaclass=ABCMeta):
    """Base class: a mechanism is a distribution over outcomes given vote counts.

    A subclass writes `outcome_log_proba`; sampling, exact cost and, for two classes, the guarantee
    follow from it. A mechanism whose cost is known for every data set also overrides `gdp_mu` or
    `pure_epsilon`; without either its epsilon is infinite for more than two classes. A subclass
    that writes `outcome_log_proba` or `aggregate` inherits no claims: neither costs nor symmetry.
    Parameters follow scikit-learn's conventions (`get_params`, `clone`).
    """

    _parameter_constraints: dict = {}

    def __init_subclass__(cls, **kwargs):
        """Forget claims about what a subclass changes: it must state its own."""
        super().__init_subclass__(**kwargs)
        if {"outcome_log_proba", "aggregate"} & vars(cls).keys():
            claims = {
                *("label_symmetric", "argmax_noise", "gdp_mu", "pure_epsilon"),
                *("known_rdp", "costs", "published_rdp"),
            }
            for name in claims - vars(cls).keys():
                setattr(cls, name, vars(Aggregator)[name])

    #: Whether permuting the vote counts permutes the outcome probabilities and nothing else, so
    #: that costs depend on the sorted counts only. Ties broken by class number are not symmetric.
    label_symmetric = False

    #: Whether the outcomes depend on `student_proba`: then no list of votes covers all cases, and
    #: only `gdp_mu` and `pure_epsilon` are guarantees.
    uses_student_proba = False

    #: `rdp.Noise` on every count, for mechanisms that release the argmax of the noisy counts and
    #: nothing else; else None.
    argmax_noise = None

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

    def known_rdp(self, orders, n_teachers=None, n_classes=None):
        """Renyi cost of one query on any votes that the other claims do not imply.

        Parameters
        ----------
        orders : ndarray of shape (n_orders,)
            Renyi orders, above 1.
        n_teachers, n_classes : int, default=None
            Public numbers; None means any number.

        Returns
        -------
        ndarray of shape (n_orders,)
            inf where nothing is known.
        """
        return np.full(len(orders), np.inf)

    def costs(self, orders=DEFAULT_ORDERS, n_teachers=None, n_classes=None):
        """Return a function from a number of queries to their `rdp.Cost` on any votes.

        Parameters
        ----------
        orders : array-like of shape (n_orders,), default=DEFAULT_ORDERS
            Renyi orders, above 1.
        n_teachers, n_classes : int, default=None
            Public numbers that make it sharper.

        Returns
        -------
        callable
            From a number of queries asked, answered or not, to `rdp.Cost`.
        """
        return query_cost(self, orders, n_teachers, n_classes).times

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

    @property
    @abstractmethod
    def argmax_noise(self):
        """The noise on each count; see `Aggregator.argmax_noise`."""

    def outcome_log_proba(self, votes, student_proba=None):
        """Log probability of each class; see `rdp.Noise.log_argmax`."""
        return self.argmax_noise.log_argmax(votes)

    def aggregate(self, votes, student_proba=None, random_state=None):
        """Draw the released label of each query; see `Aggregator.aggregate`."""
        noise, noisy = self.argmax_noise, check_votes(votes).astype(float)
        noisy += noise.sample(np.random.default_rng(random_state), noisy.shape)
        return noisy.argmax(axis=1)

    @property
    def gdp_mu(self):
        """Gaussian-DP parameter of one query on any votes; inf if it is not Gaussian DP."""
        return self.argmax_noise.mu

    @property
    def pure_epsilon(self):
        """Pure epsilon of one query on any votes; inf if there is none without more knowledge."""
        return self.argmax_noise.pure_epsilon


class LNMax(_NoisyArgmax):
    """Argmax of the votes after Laplace noise: the 2017 paper's mechanism.

    Parameters
    ----------
    gamma : float or None, default=0.05
        Inverse scale: every count gets Laplace noise of scale ``1 / gamma`` votes. Above 0; a
        smaller gamma is more private. One query is ``2 * gamma``-differentially private. None:
        calibrated by `PATEClassifier` so that its queries cost exactly its `epsilon`.

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

    _parameter_constraints = {"gamma": [Interval(Real, 0, None, closed="neither"), None]}

    def __init__(self, gamma=0.05):
        self.gamma = gamma

    @property
    def argmax_noise(self):
        """Laplace noise of scale ``1 / gamma``."""
        self._validate_params()
        _check_calibrated(self, "gamma")
        return Laplace(1 / float(self.gamma))

    def published_rdp(self, votes, orders):
        """The 2017 paper's data-dependent bound; see `rdp.lnmax_rdp`."""
        return lnmax_rdp(votes, self.gamma, orders)


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
    def argmax_noise(self):
        """Gaussian noise of standard deviation `sigma`."""
        self._validate_params()
        _check_calibrated(self, "sigma")
        return Gaussian(float(self.sigma))

    def published_rdp(self, votes, orders):
        """The 2018 paper's data-dependent bound; see `rdp.gnmax_rdp`."""
        return gnmax_rdp(votes, self.sigma, orders)


def _check_calibrated(aggregator, name):
    if getattr(aggregator, name) is None:
        raise ValueError(
            f"{type(aggregator).__name__}({name}=None) has no noise level of its own: "
            f"PATEClassifier calibrates it to epsilon. Set {name} to a number to use it alone or "
            "with epsilon=None"
        )
