"""What a fit may ask, what it spent, and the curator's private view of it."""

import math
import warnings
from dataclasses import dataclass
from functools import partial

import numpy as np
from sklearn.base import clone

from .exceptions import BudgetExceededError
from .rdp import (
    DEFAULT_ORDERS,
    epsilon_by_order,
    exact_rdp,
    gdp_to_epsilon,
    gnmax_sigma,
    rdp_to_epsilon,
    worst_case_rdp,
)

__all__ = ["Curator", "PrivacySpent", "data_independent_epsilon", "plan_queries"]


@dataclass(frozen=True)
class PrivacySpent:
    """What a fit spent: true on every data set, so safe to publish.

    Unpacks into ``epsilon, delta``.

    Attributes
    ----------
    epsilon, delta : float
        The guarantee. `epsilon` is inf where a mechanism has none.
    method : str
        How `epsilon` was obtained: "gaussian" (exact composition of Gaussian noise), "renyi"
        (composition of the worst-case Renyi cost of one query), "pure" (plain sum) or "none".
    unit : str
        What one change is about: "record" or "group".
    adjacency : str
        The change of the private data that the guarantee covers.
    n_teachers, n_queries, n_answered : int
        Number of teachers, of public rows they were asked about, and of labels released.

    Examples
    --------
    >>> from sklearn_pate import PrivacySpent
    >>> spent = PrivacySpent(1.0, 1e-5, "gaussian", "record", "replace one record", 100, 20, 20)
    >>> epsilon, delta = spent
    >>> epsilon
    1.0
    """

    epsilon: float
    delta: float
    method: str
    unit: str
    adjacency: str
    n_teachers: int
    n_queries: int
    n_answered: int

    def __iter__(self):
        return iter((self.epsilon, self.delta))


def data_independent_epsilon(aggregator, n_queries, delta, n_teachers=None, n_classes=None):
    """Epsilon that `n_queries` answers cost on any votes.

    Parameters
    ----------
    aggregator : Aggregator
        The mechanism.
    n_queries : int
        Number of queries, fixed in advance.
    delta : float
        Failure probability, strictly between 0 and 1.
    n_teachers, n_classes : int, default=None
        Public numbers that make the cost of one query sharper; see `rdp.worst_case_rdp`.

    Returns
    -------
    epsilon : float
        The smallest that the known compositions give; inf without a guarantee.
    method : {"gaussian", "renyi", "pure", "none"}
        The composition that gave it: exact for Gaussian noise, of the worst-case Renyi cost of one
        query, or the plain sum of pure epsilons.

    Examples
    --------
    >>> from sklearn_pate.accountant import data_independent_epsilon
    >>> from sklearn_pate.aggregators import LNMax
    >>> epsilon, method = data_independent_epsilon(LNMax(gamma=0.05), 100, 1e-5)
    >>> round(epsilon, 2), method
    (4.62, 'renyi')
    >>> public = {"n_teachers": 250, "n_classes": 2}
    >>> epsilon, method = data_independent_epsilon(LNMax(gamma=0.05), 100, 1e-5, **public)
    >>> round(epsilon, 2)
    2.13
    """
    return _composition(aggregator, delta, n_teachers, n_classes)(n_queries)


def _composition(aggregator, delta, n_teachers, n_classes):
    """Return a function from a number of queries to its epsilon and method."""
    one_query = worst_case_rdp(aggregator, DEFAULT_ORDERS, n_teachers, n_classes)

    def of(n_queries):
        if n_queries == 0:
            return 0.0, "none"
        renyi = float(epsilon_by_order(n_queries * one_query, delta, DEFAULT_ORDERS).min())
        mu = math.sqrt(n_queries) * aggregator.gdp_mu
        candidates = [
            (gdp_to_epsilon(mu, delta), "gaussian"),
            (n_queries * aggregator.pure_epsilon, "pure"),
            (renyi, "renyi"),
        ]
        epsilon, method = min(candidates)
        return epsilon, method if epsilon < math.inf else "none"

    return of


def plan_queries(aggregator, n_queries, *, n_public, n_teachers, n_classes, epsilon, delta):
    """Decide, from public numbers alone, the noise and how many queries the budget pays for.

    Parameters
    ----------
    aggregator : Aggregator
        As given by the user; ``GNMax(sigma=None)`` is calibrated.
    n_queries : int or None
        Queries wanted. None: all that the budget pays for and, for a calibrated sigma, that leave
        it at ``n_teachers / 4`` or less.
    n_public, n_teachers, n_classes : int
        Number of public rows, of teachers and of classes.
    epsilon : float or None
        Hard cap; None for no cap.
    delta : float
        Failure probability.

    Returns
    -------
    aggregator : Aggregator
        A clone with its noise set.
    n_queries : int
        Queries to ask; with them the cost is at most the cap.

    Raises
    ------
    BudgetExceededError
        If the cap does not pay for one query. Nothing was spent.
    ValueError
        If there is nothing to calibrate to, or fewer public rows than queries.

    Examples
    --------
    >>> from sklearn_pate.accountant import plan_queries
    >>> from sklearn_pate.aggregators import GNMax
    >>> public = {"n_public": 1000, "n_teachers": 250, "n_classes": 10}
    >>> plan_queries(GNMax(sigma=40), None, **public, epsilon=1.0, delta=1e-5)
    (GNMax(sigma=40), 57)
    """
    if n_queries is not None and n_queries > n_public:
        raise ValueError(
            f"n_queries={n_queries} is more than the rows of X_public, {n_public}; "
            "ask fewer queries or give more public rows"
        )
    wanted = n_public if n_queries is None else n_queries
    aggregator = clone(aggregator)
    if getattr(aggregator, "sigma", 0.0) is None:
        if epsilon is None:
            raise ValueError(
                f"{type(aggregator).__name__}(sigma=None) is calibrated to epsilon, and epsilon "
                "is None; set one of them to a number"
            )
        if n_queries is None:
            least_useful = clone(aggregator).set_params(sigma=n_teachers / 4)
            cost = _composition(least_useful, delta, n_teachers, n_classes)
            wanted = _affordable(cost, n_public, epsilon)
            if wanted == 0:
                raise BudgetExceededError(
                    f"epsilon={epsilon:g} pays for no query with noise that "
                    f"n_teachers={n_teachers} teachers can outvote (sigma at most n_teachers / 4). "
                    "Use more teachers, raise epsilon, or set n_queries. Nothing was spent"
                )
        sigma = gnmax_sigma(epsilon, delta, wanted, n_classes=n_classes, n_teachers=n_teachers)
        aggregator.set_params(sigma=sigma)
    _warn_if_drowned(aggregator, n_teachers)
    if epsilon is None:
        return aggregator, wanted
    cost = _composition(aggregator, delta, n_teachers, n_classes)
    affordable = _affordable(cost, wanted, epsilon)
    if affordable == 0:
        advice = (
            "set epsilon=None to run it without a guarantee, or use an aggregator with noise"
            if cost(1)[0] == math.inf
            else "use more noise, or raise epsilon"
        )
        raise BudgetExceededError(
            f"one query of {aggregator} costs epsilon={cost(1)[0]:.4g} at delta={delta:g}, more "
            f"than the cap epsilon={epsilon:g}; {advice}. Nothing was spent"
        )
    if n_queries is not None and affordable < n_queries:
        warnings.warn(
            f"epsilon={epsilon:g} pays for {affordable} of the {n_queries} queries wanted; only "
            "those are asked. Use more noise or raise epsilon to ask them all",
            stacklevel=4,  # the caller of fit, past scikit-learn's wrapper
        )
    return aggregator, affordable


def _warn_if_drowned(aggregator, n_teachers):
    """Warn if unanimous teachers would often lose to the noise: public numbers only.

    Two classes stand for all, as the number of classes may have been read from private labels; a
    mechanism that treats classes differently has no such stand-in.
    """
    if not aggregator.label_symmetric:
        return
    win = math.exp(aggregator.outcome_log_proba([[n_teachers, 0]])[0, 0])
    if win < 0.84:  # the noise between two classes has a standard deviation above the margin
        warnings.warn(
            f"the noise of {aggregator} drowns the largest possible margin, "
            f"{n_teachers} votes: even unanimous teachers are heard in only {win:.0%} of the "
            "queries between two classes. Use more teachers, fewer queries or less noise",
            stacklevel=5,
        )


def _affordable(cost, most, epsilon):
    """Largest number of queries, up to `most`, whose cost is at most `epsilon`."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if cost(middle)[0] <= epsilon else (low, middle - 1)
    return low


class Curator:
    """The private view of a fit, for the holder of the data alone: not to be published.

    Everything here depends on private data and was released by no mechanism. It does not survive
    pickling or copying, and its repr shows nothing.

    Attributes
    ----------
    votes : ndarray of shape (n_queries, n_classes), int
        Vote counts of the queries, in the order of `query_indices_`.
    teacher_indices : ndarray of shape (n_samples,), int
        The teacher of each private record.
    teachers : list or None
        Fitted teachers if ``keep_teachers=True``; None for a part that needed no fit.
    """

    def __init__(self, aggregator, votes, delta, teacher_indices, teachers=None):
        self.votes = votes
        self.teacher_indices = teacher_indices
        self.teachers = teachers
        self._aggregator = aggregator
        self._delta = delta
        self._n_teachers = int(votes[0].sum())

    def __repr__(self):
        return "Curator(private)"

    def __reduce__(self):
        raise TypeError("the curator's view is private: it cannot be pickled or copied")

    def rdp(self, method="exact", orders=DEFAULT_ORDERS):
        """Renyi cost of each query, computed from its votes. Private.

        Parameters
        ----------
        method : {"exact", "bound"}, default="exact"
            "exact" is the largest divergence over all moves of one vote, in both directions;
            "bound" is the published bound of the mechanism's paper.
        orders : array-like of shape (n_orders,), default=DEFAULT_ORDERS
            Renyi orders, above 1.

        Returns
        -------
        ndarray of shape (n_queries, n_orders)
            Costs; they add over queries.
        """
        return self._costs(method)(self.votes, orders)

    def epsilon(self, delta=None, method="exact", conversion="improved"):
        """Epsilon of the released labels, as papers print it. Private unless data-independent.

        Parameters
        ----------
        delta : float, default=None
            Failure probability; None is the estimator's.
        method : {"exact", "bound", "data_independent"}, default="exact"
            "exact" sums the exact costs of the votes that were cast. "bound" is the data-dependent
            bound of the mechanism's paper, which covers one direction of the divergence only. Both
            are private, and no guarantee: they hold for these votes, not for every data set.
            "data_independent" is what `privacy_spent_` holds.
        conversion : {"improved", "classic"}, default="improved"
            From Renyi costs to epsilon; the papers used "classic".

        Returns
        -------
        float
            Epsilon, at least 0; inf without noise.
        """
        delta = self._delta if delta is None else delta
        if method == "data_independent":
            n_queries, n_classes = self.votes.shape
            public = {"n_teachers": self._n_teachers, "n_classes": n_classes}
            return data_independent_epsilon(self._aggregator, n_queries, delta, **public)[0]
        costs, total = self._costs(method), np.zeros(DEFAULT_ORDERS.size)
        for start in range(0, len(self.votes), 4096):
            total += costs(self.votes[start : start + 4096], DEFAULT_ORDERS).sum(axis=0)
        return rdp_to_epsilon(total, delta, DEFAULT_ORDERS, conversion)[0]

    def _costs(self, method):
        if method == "exact":
            return partial(exact_rdp, self._aggregator)
        if method == "bound":
            return self._aggregator.published_rdp
        raise ValueError(
            f"method must be 'exact' or 'bound' (or, for epsilon, 'data_independent'); "
            f"got {method!r}"
        )
