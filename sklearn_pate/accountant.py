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
    composition,
    data_independent_epsilon,
    exact_rdp,
    gnmax_sigma,
    lnmax_gamma,
    rdp_to_epsilon,
)
from .smooth_sensitivity import PrivacyTest

__all__ = ["Curator", "Plan", "PrivacySpent", "plan_queries"]


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
        (composition of the worst-case Renyi cost of one query), "pure" (plain sum),
        "propose-test-release" (of the exact cost of the votes, after a private test) or "none".
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


@dataclass(frozen=True, eq=False)
class Plan:
    """What a fit will ask, decided from public numbers alone.

    Attributes
    ----------
    aggregator : Aggregator
        A clone with its noise set.
    n_queries : int
        Queries to ask.
    epsilon : float
        What they cost on any votes, at most the cap.
    method : str
        As in `PrivacySpent`.
    test : PrivacyTest or None
        What the votes must pass before labels are released, with ``accounting="ptr"``.
    """

    aggregator: object
    n_queries: int
    epsilon: float
    method: str
    test: PrivacyTest | None = None


def plan_queries(
    aggregator,
    n_queries,
    *,
    n_public,
    n_teachers,
    n_classes,
    epsilon,
    delta,
    accounting="worst_case",
):
    """Decide the noise, and how many queries the budget pays for.

    Parameters
    ----------
    aggregator : Aggregator
        As given by the user; ``GNMax(sigma=None)`` and ``LNMax(gamma=None)`` are calibrated.
    n_queries : int or None
        Queries wanted. None: all that the budget pays for and, for calibrated noise, that leave
        its scale at ``n_teachers / 4`` or less.
    n_public, n_teachers, n_classes : int
        Number of public rows, of teachers and of classes.
    epsilon : float or None
        Hard cap; None for no cap.
    delta : float
        Failure probability.
    accounting : {"worst_case", "ptr"}, default="worst_case"
        As in `PATEClassifier`.

    Returns
    -------
    Plan
        With it the cost is at most the cap.

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
    >>> plan = plan_queries(GNMax(sigma=40), None, **public, epsilon=1.0, delta=1e-5)
    >>> plan.n_queries, plan.epsilon < 1.0, plan.method
    (75, True, 'renyi')
    """
    if n_queries is not None and n_queries > n_public:
        raise ValueError(
            f"n_queries={n_queries} is more than the rows of X_public, {n_public}; "
            "ask fewer queries or give more public rows"
        )
    public = {"n_teachers": n_teachers, "n_classes": n_classes}
    aggregator, noise = clone(aggregator), _uncalibrated(aggregator)
    wanted = n_public if n_queries is None else n_queries
    if accounting == "ptr":
        _check_fixed(n_queries, epsilon, noise)
    elif noise is not None:
        wanted = _calibrate(aggregator, noise, wanted, n_queries, epsilon, delta, public)
    _warn_if_drowned(aggregator, n_teachers)
    if accounting == "ptr":
        return _plan_test(aggregator, n_queries, epsilon, delta, public)
    cost = composition(aggregator, delta, **public)
    if epsilon is None:
        return Plan(aggregator, wanted, *cost(wanted))
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
    return Plan(aggregator, affordable, *cost(affordable))


def _uncalibrated(aggregator):
    """Return the noise parameter that is None, with its calibration; else None."""
    for name, calibrate, scale in (
        ("sigma", gnmax_sigma, lambda votes: votes),
        ("gamma", lnmax_gamma, lambda votes: 1 / votes),
    ):
        if getattr(aggregator, name, 0.0) is None:
            return name, calibrate, scale
    return None


def _calibrate(aggregator, noise, wanted, n_queries, epsilon, delta, public):
    """Set the aggregator's noise; return how many queries it is calibrated to."""
    name, calibrate, scale = noise
    if epsilon is None:
        raise ValueError(
            f"{type(aggregator).__name__}({name}=None) is calibrated to epsilon, and epsilon "
            "is None; set one of them to a number"
        )
    if n_queries is None:
        aggregator.set_params(**{name: scale(public["n_teachers"] / 4)})  # the least useful noise
        wanted = _affordable(composition(aggregator, delta, **public), wanted, epsilon)
        if wanted == 0:
            n_teachers = public["n_teachers"]
            raise BudgetExceededError(
                f"epsilon={epsilon:g} pays for no query with noise that "
                f"n_teachers={n_teachers} teachers can outvote (scale at most n_teachers / 4). "
                "Use more teachers, raise epsilon, or set n_queries. Nothing was spent"
            )
    aggregator.set_params(**{name: calibrate(epsilon, delta, wanted, **public)})
    return wanted


def _check_fixed(n_queries, epsilon, noise):
    for name, missing in (
        ("epsilon", epsilon is None),
        ("n_queries", n_queries is None),
        ("aggregator" if noise is None else f"aggregator's {noise[0]}", noise is not None),
    ):
        if missing:
            raise ValueError(
                f"accounting='ptr' tests a fixed number of queries with fixed noise against a cap; "
                f"set {name} to a number"
            )


def _plan_test(aggregator, n_queries, epsilon, delta, public):
    worst, method = data_independent_epsilon(aggregator, n_queries, delta, **public)
    if worst <= epsilon:
        return Plan(aggregator, n_queries, worst, method)
    test = PrivacyTest.plan(aggregator, n_queries, **public, epsilon=epsilon, delta=delta)
    if test is None:
        raise BudgetExceededError(
            f"epsilon={epsilon:g} is too small for accounting='ptr': the test of {n_queries} "
            f"queries of {aggregator} would fail even if all teachers agreed. Raise epsilon, ask "
            f"fewer queries or use more noise; any votes cost at most {worst:.4g}. Nothing was "
            "spent"
        )
    return Plan(aggregator, n_queries, epsilon, "propose-test-release", test)


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
    test : PrivacyTest or None
        The test that the votes passed, with ``accounting="ptr"``; its `pass_probability` of these
        votes is private.
    """

    def __init__(self, aggregator, votes, delta, teacher_indices, teachers=None, test=None):
        self.votes = votes
        self.teacher_indices = teacher_indices
        self.teachers = teachers
        self.test = test
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
            "data_independent" holds for any votes; it is what `privacy_spent_` says, unless
            ``accounting="ptr"``.
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
