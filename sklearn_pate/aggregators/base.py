"""What every mechanism is: a distribution over outcomes given vote counts."""

import math
from abc import ABCMeta, abstractmethod

import numpy as np
from sklearn.base import BaseEstimator

from ..rdp import (
    DEFAULT_ORDERS,
    check_log_proba,
    check_orders,
    check_votes,
    query_cost,
    worst_case_rdp,
)

__all__ = ["Aggregator", "PluralityVote"]


#: What a mechanism says of itself beyond its distribution.
_CLAIMS = (
    *("label_symmetric", "argmax_noise", "gdp_mu", "pure_epsilon", "known_rdp", "costs", "steps"),
    "published_rdp",
)


def _unknown_distribution(self, votes, student_proba=None):
    raise ValueError(
        f"{type(self).__name__} changes how labels are drawn and inherits their distribution: its "
        "cost is unknown. Write outcome_log_proba as well"
    )


class Aggregator(BaseEstimator, metaclass=ABCMeta):
    """Base class: a mechanism is a distribution over outcomes given vote counts.

    A subclass writes `outcome_log_proba`; sampling, exact cost and, for two classes, the guarantee
    follow from it. A mechanism whose cost is known for every data set also overrides `gdp_mu` or
    `pure_epsilon`; without either its epsilon is infinite for more than two classes. A subclass
    that changes what is released inherits no claims, neither costs nor symmetry, and if it samples
    in its own way it must also write the distribution. Parameters follow scikit-learn's
    conventions (`get_params`, `clone`).
    """

    _parameter_constraints: dict = {}

    def __init_subclass__(cls, **kwargs):
        """Keep what is released and what is claimed about it together.

        Claims older than a change of what is released are forgotten; so is a sampler older than
        the distribution. A distribution older than the sampler is refused.
        """
        super().__init_subclass__(**kwargs)

        def age(name):  # of a definition: 0 in the class itself
            return next(k for k, c in enumerate(cls.__mro__) if name in vars(c))

        distribution = age("outcome_log_proba")
        for name in ("aggregate", "draw"):
            if distribution < age(name):
                setattr(cls, name, vars(Aggregator)[name])
            elif age(name) < distribution:
                cls.outcome_log_proba = _unknown_distribution
        released = min(age(name) for name in ("outcome_log_proba", "aggregate", "draw"))
        for name in _CLAIMS:
            if age(name) > released:
                setattr(cls, name, vars(Aggregator)[name])

    #: Whether permuting the vote counts permutes the outcome probabilities and nothing else, so
    #: that costs depend on the sorted counts only. Ties broken by class number are not symmetric.
    label_symmetric = False

    #: Whether the outcomes depend on `student_proba`: then no list of votes covers all cases, and
    #: only `gdp_mu` and `pure_epsilon` are guarantees.
    uses_student_proba = False

    #: Whether teachers give class probabilities, whose sums take the place of vote counts.
    wants_proba = False

    #: Name of the noise parameter that may be None, to be calibrated by `PATEClassifier`.
    calibrates: str | None = None

    #: Why the guarantee is not what a reader may expect; `PATEClassifier` warns with it.
    caveat: str | None = None

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
        log_proba = check_log_proba(self.outcome_log_proba(votes, student_proba), votes.shape[1])
        gumbel = np.random.default_rng(random_state).gumbel(size=log_proba.shape)
        outcomes = (log_proba + gumbel).argmax(axis=1)
        return np.where(outcomes < votes.shape[1], outcomes, -1)

    def draw(self, votes, student_proba=None, random_state=None):
        """Draw labels, and which of them were paid for in full.

        Parameters
        ----------
        votes, student_proba, random_state
            As in `aggregate`.

        Returns
        -------
        labels : ndarray of shape (n_asked,), int
            As `aggregate`; shorter than `votes` if the mechanism stopped by itself.
        paid : ndarray of shape (n_asked,), bool
            False where a check refused the query, so that no answer was drawn from the votes.
        """
        labels = self.aggregate(votes, student_proba, random_state)
        return labels, np.ones(len(labels), dtype=bool)

    def steps(self, orders, n_teachers=None, n_classes=None):
        """Renyi cost of one query on any votes, in two steps of which the second may not happen.

        Parameters
        ----------
        orders : ndarray of shape (n_orders,)
            Renyi orders, above 1.
        n_teachers, n_classes : int, default=None
            Public numbers; None means any number.

        Returns
        -------
        check, answer : ndarray of shape (n_orders,)
            A query whose answer is not `paid` costs `check` alone. None instead of both for a
            mechanism whose queries share their cost.
        """
        orders = check_orders(orders)
        return np.zeros(orders.size), worst_case_rdp(self, orders, n_teachers, n_classes)

    def stability_needed(self, n_queries):
        """Teachers who must be able to change for an answer to be likely; 0 if none must."""
        return 0.0

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

    def published_rdp(self, votes, orders, student_proba=None, paid=None):
        """The bound its paper prints: data-dependent, one direction, private.

        Parameters
        ----------
        votes : array-like of shape (n_queries, n_classes)
            Vote counts.
        orders : array-like of shape (n_orders,)
            Renyi orders, above 1.
        student_proba : array-like of shape (n_queries, n_classes), default=None
            The student's probabilities, for mechanisms that use them.
        paid : array-like of shape (n_queries,), bool, default=None
            As drawn by `draw`; None counts every query in full.

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


class _NotCalibratedError(ValueError, AttributeError):
    """Noise is None; a property that needs it is absent, as `dir` and `hasattr` must see it."""


def check_calibrated(aggregator, name):
    """Refuse noise that is None."""
    if getattr(aggregator, name) is None:
        raise _NotCalibratedError(
            f"{type(aggregator).__name__}({name}=None) has no noise level of its own: "
            f"PATEClassifier calibrates it to epsilon. Set {name} to a number to use it alone or "
            "with epsilon=None"
        )
