"""Propose-test-release: labels are released if a private test finds their votes cheap enough.

It works on a table of costs by lead, see `smooth_sensitivity`.

References
----------
.. [1] Redberg, Zhu, Wang (2023). Generalized PTR: user-friendly recipes for data-adaptive
       algorithms with differential privacy. AISTATS.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, log_expit, logit

from .rdp import (
    DEFAULT_ORDERS,
    check_votes,
    epsilon_by_order,
    lead_rdp,
)
from .smooth_sensitivity import leads, sums_within

__all__ = ["ProposeTestRelease"]

_SURE = 13.8  # log odds at which the test passes for certain, but for 1e-6


@dataclass(frozen=True, eq=False, kw_only=True)
class ProposeTestRelease:
    """A private test that votes are cheap enough to release their labels at `epsilon`.

    Labels are released only if the test passes. It passes with a probability that depends on
    the number of teachers who would have to change before the exact cost of the votes exceeds a
    limit, and grows with that distance as fast as the budget allows.

    Attributes
    ----------
    order, limit : float
        The Renyi order of the analysis, and the cost the votes must stay below.
    cost_by_lead : ndarray of shape (n_leads,)
        Cost at `order` of a query with lead 0, 1, ..., in both directions.
    pass_probability_at : ndarray of shape (n_distances,)
        Probability of passing at distance 0, 1, ...; the last holds beyond.
    epsilon, delta : float
        Guarantee of test and labels together.
    n_queries, n_teachers : int
        The votes it was planned for.

    Notes
    -----
    A generalised propose-test-release ([1]_). The guarantee, for neighbouring data sets at
    distances that differ by at most 1:

    - both at distance 0: each passes with probability `delta`, so the outcomes are
      ``(0, delta)``-DP;
    - otherwise one of them costs at most `limit`, in both directions, so the labels of either
      have at most that divergence from those of the other; with the outcome of the test, at most
      ``log((1 - p)**a (1 - p')**(1 - a) + p**a p'**(1 - a) exp((a - 1) limit)) / (a - 1)``, and
      the probabilities are chosen so that this converts to `epsilon` at `delta`.

    Each pair of neighbours falls under one of the two, so `delta` is not spent twice. As a whole
    it is (epsilon, delta)-DP without a Renyi curve: compose it with others as such.
    """

    order: float
    limit: float
    cost_by_lead: np.ndarray
    pass_probability_at: np.ndarray
    epsilon: float
    delta: float
    n_queries: int
    n_teachers: int

    @classmethod
    def plan(cls, aggregator, n_queries, *, n_teachers, n_classes, epsilon, delta):
        """Choose order and limit from public numbers.

        Among all that reach `epsilon`, those that are passed (with probability 0.99) by the largest
        share of tied queries, when teachers agree on all others.

        Parameters
        ----------
        aggregator : Aggregator
            The mechanism.
        n_queries : int
            Number of queries, fixed in advance.
        n_teachers, n_classes : int
            Public numbers.
        epsilon, delta : float
            Guarantee of test and labels together.

        Returns
        -------
        ProposeTestRelease or None
            None if not even teachers who always agree would pass.

        Examples
        --------
        >>> from sklearn_pate.aggregators import GNMax
        >>> from sklearn_pate.propose_test_release import ProposeTestRelease
        >>> public = {"n_teachers": 250, "n_classes": 2}
        >>> test = ProposeTestRelease.plan(GNMax(40.0), 500, **public, epsilon=1.6, delta=1e-5)
        >>> test.pass_probability([[240, 10]] * 400 + [[150, 100]] * 100) > 0.99
        True
        """
        grid = DEFAULT_ORDERS[::4]
        table = lead_rdp(aggregator, grid, n_teachers=n_teachers, n_classes=n_classes)
        penalty = epsilon_by_order(np.full(grid.size, 1e3), delta, grid) - 1e3
        total = (epsilon - penalty) * (1 - 1e-7)  # odds are rounded when they become probabilities
        usable = (total > 0) & np.isfinite(table).all(axis=0)
        which, share = (
            axis.ravel() for axis in np.meshgrid(np.flatnonzero(usable), np.arange(0.2, 0.99, 0.06))
        )
        limit = share * total[which]
        passing = _steepest(grid[which], limit, total[which], delta)
        needed = (passing < 0.99).sum(axis=0)
        agreed = table[np.maximum(len(table) - 1 - needed, 0), which]
        tied = table[0, which]
        with np.errstate(divide="ignore", invalid="ignore"):
            tied_share = (limit / n_queries - agreed) / (tied - agreed)
        tied_share[~((tied > agreed) & (needed < len(passing)))] = -1
        if not usable.any() or tied_share.max() < 0:
            return None
        best = int(tied_share.argmax())
        return cls(
            order=float(grid[which[best]]),
            limit=float(limit[best]),
            cost_by_lead=table[:, which[best]],
            pass_probability_at=passing[:, best],
            epsilon=epsilon,
            delta=delta,
            n_queries=n_queries,
            n_teachers=n_teachers,
        )

    def pass_probability(self, votes):
        """Probability that the test passes on these votes: private.

        Parameters
        ----------
        votes : array-like of shape (n_queries, n_classes)
            Vote counts.

        Returns
        -------
        float
        """
        votes = check_votes(votes)
        if len(votes) != self.n_queries or votes[0].sum() != self.n_teachers:
            raise ValueError(
                f"the test was planned for {self.n_queries} queries of {self.n_teachers} teachers; "
                f"got votes of shape {votes.shape}"
            )
        distance = 0
        for total in sums_within(self.cost_by_lead, leads(votes)):
            if total * (1 + 1e-12) > self.limit:
                break
            distance += 1
        return float(self.pass_probability_at[min(distance, len(self.pass_probability_at) - 1)])

    def passes(self, votes, random_state=None):
        """Draw the outcome of the test: safe to publish."""
        waits = np.random.default_rng(random_state).exponential()  # exact at any delta
        return bool(waits > -math.log(self.pass_probability(votes)))


def _steepest(order, limit, total, delta, n_steps=100):
    """Pass probabilities (n_steps, n_choices) that grow from `delta` as fast as `total` allows.

    `order`, `limit` and `total` are arrays of choices. Each step is the largest, by bisection from
    below, for which test and labels together cost at most `total` in both directions.
    """

    def cost(x, y):  # of log odds x against y
        passed = order * log_expit(x) + (1 - order) * log_expit(y) + (order - 1) * limit
        failed = order * log_expit(-x) + (1 - order) * log_expit(-y)
        return np.logaddexp(passed, failed) / (order - 1)

    odds = [np.full(order.size, logit(delta * (1 - 1e-12)))]
    while len(odds) < n_steps:
        low, high = odds[-1], np.minimum(odds[-1] + 8, _SURE)
        for _ in range(40):
            middle = (low + high) / 2
            fits = np.maximum(cost(odds[-1], middle), cost(middle, odds[-1])) <= total
            low, high = np.where(fits, middle, low), np.where(fits, high, middle)
        odds.append(low)
    return expit(np.array(odds))
