"""What every mechanism is: a distribution over outcomes given vote counts."""

import itertools
from abc import ABCMeta, abstractmethod

import numpy as np
from sklearn.base import BaseEstimator

from ..rdp import (
    DEFAULT_ORDERS,
    Facts,
    check_log_proba,
    check_orders,
    check_votes,
    defined_in,
    query_steps,
    stater_of,
    total_cost,
)

__all__ = ["Aggregator", "PluralityVote"]


def _unknown_distribution(self, votes, student_proba=None):
    raise ValueError(
        f"{type(self).__name__} changes how labels are drawn and inherits their distribution: its "
        "cost is unknown. Write outcome_log_proba as well"
    )


#: Computed from what a class states.
_COMPUTED = ("costs", "steps")


class Aggregator(BaseEstimator, metaclass=ABCMeta):
    """Base class: a mechanism is a distribution over outcomes given vote counts.

    A subclass writes `outcome_log_proba`; sampling, exact cost and, for two classes, the guarantee
    follow from it. A mechanism whose cost is known for every data set states it in `facts`; without
    that its epsilon is infinite for more than two classes. Facts hold for exactly the class whose
    body states them: a subclass that defines anything at all must state its own, and one that
    returns ``super().facts()`` says that the proof still holds. One that samples in its own way
    must also write the distribution. Parameters follow scikit-learn's conventions
    (`get_params`, `clone`).
    """

    _parameter_constraints: dict = {}

    #: Whether the outcomes depend on `student_proba`: then no list of votes covers all cases, and
    #: only `facts` are guarantees.
    uses_student_proba = False

    #: Whether teachers give class probabilities, whose sums take the place of vote counts.
    wants_proba = False

    #: Why the guarantee is not what a reader may expect; `PATEClassifier` warns with it.
    caveat: str | None = None

    def __init_subclass__(cls, **kwargs):
        """Keep the sampler and the distribution together.

        A sampler older than the distribution is forgotten. A distribution older than the sampler
        is refused. So is a published bound of a class that defines anything since.
        """
        changed = defined_in(cls)
        super().__init_subclass__(**kwargs)
        if changed and "published_rdp" not in changed:
            cls.published_rdp = vars(Aggregator)["published_rdp"]
        computed = [name for name in _COMPUTED if name in vars(cls)]
        if computed:
            raise TypeError(
                f"{cls.__name__} defines {computed[0]}, which is computed: state what is known of "
                "the mechanism in facts"
            )
        cls._keep_sampler_and_distribution_together()

    @classmethod
    def _keep_sampler_and_distribution_together(cls):
        def age(name):  # of a definition: 0 in the class itself
            return next(k for k, c in enumerate(cls.__mro__) if name in vars(c))

        distribution = age("outcome_log_proba")
        for name in ("aggregate", "draw"):
            if distribution < age(name):
                setattr(cls, name, vars(Aggregator)[name])
            elif age(name) < distribution:
                cls.outcome_log_proba = _unknown_distribution

    def facts(self):
        """Return what is proved of this mechanism on any votes, as `rdp.Facts`.

        Written by the class itself: nothing is inherited by a subclass that defines anything.

        Returns
        -------
        rdp.Facts
            Empty, unless the class says more.
        """
        return Facts()

    def missing_facts(self):
        """Say which claim is missing where a cost is infinite, and what can be stated.

        Returns
        -------
        str
            A sentence for an error message.
        """
        name = type(self).__name__
        if stater_of(self) not in (None, Aggregator):
            return "Use an aggregator with noise"
        lost = ""
        stated = next(kind for kind in type(self).__mro__ if "facts" in vars(kind))
        if stated is not Aggregator:
            since = itertools.takewhile(lambda kind: kind is not stated, type(self).__mro__)
            changed = sorted({found for kind in since for found in defined_in(kind)})
            lost = (
                f"What {stated.__name__} states of itself does not hold for {name}, which defines "
                f"{', '.join(changed) or 'nothing but has other bases, or methods of its own'}: "
            )
        return (
            f"{lost}{name} states no cost for more than two classes. Write a method facts that "
            "returns rdp.Facts with gdp_mu, pure_epsilon, rdp or argmax_noise, each proved for any "
            "votes"
        )

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
        log_proba = self.outcome_log_proba(votes, student_proba)
        log_proba = check_log_proba(log_proba, n_classes=votes.shape[1])
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

    def with_scale(self, scale):
        """Return a copy with noise of a scale, if the noise is yet to be calibrated.

        `PATEClassifier` looks for the smallest scale whose cost is at most its `epsilon`.

        Parameters
        ----------
        scale : float
            In votes, above 0: costs fall as it grows.

        Returns
        -------
        Aggregator or None
            None for a mechanism that has its noise, as all have unless they write this method.
        """
        return None

    def stability_needed(self, n_queries):
        """Teachers who must be able to change for an answer to be likely; 0 if none must."""
        return 0.0

    def steps(self, orders, *, n_teachers=None, n_classes=None):
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
        return query_steps(self, orders, n_teachers=n_teachers, n_classes=n_classes)

    def costs(self, orders=DEFAULT_ORDERS, *, n_teachers=None, n_classes=None):
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
        return total_cost(self, orders, n_teachers=n_teachers, n_classes=n_classes)

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

    def facts(self):
        """Return no facts: without noise, no cost is bounded."""
        return Facts()


def check_calibrated(aggregator, name):
    """Refuse noise that is None."""
    if getattr(aggregator, name) is None:
        raise ValueError(
            f"{type(aggregator).__name__}({name}=None) has no noise level of its own: "
            f"PATEClassifier calibrates it to epsilon. Set {name} to a number to use it alone or "
            "with epsilon=None"
        )
