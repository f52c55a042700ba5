"""Propose-test-release: labels are released if a private test finds that their votes cost little.

It works on a table of costs by half margin, see `smooth_sensitivity`.

References
----------
.. [1] Redberg, Zhu, Wang (2023). Generalized PTR: user-friendly recipes for data-adaptive
       algorithms with differential privacy. AISTATS.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, log_expit, logit

from ..rdp import DEFAULT_ORDERS, margin_rdp
from ..rdp.checks import check_votes
from ..rdp.conversion import conversion_penalty
from ..rdp.cost import bisect
from ..secure import noise_generator
from .smooth_sensitivity import half_margins, sums_within

__all__ = ["ProposeTestRelease"]

#: Log odds at which the test passes for certain, but for 1e-6.
_SURE = 13.8

#: Probability of passing with which the order and the limit are chosen.
_LIKELY = 0.99


@dataclass(frozen=True, eq=False, kw_only=True)
class ProposeTestRelease:
    """A private test that votes cost little enough to release their labels at `epsilon`.

    Labels are released only if the test passes. It passes with a probability that depends on
    the number of teachers who would have to change before the exact cost of the votes is above a
    limit, and grows with that distance as fast as the budget allows.

    Attributes
    ----------
    order, limit : float
        The Renyi order of the analysis, and the cost the votes must stay below.
    cost_by_half_margin : ndarray of shape (n_half_margins,)
        Cost at `order` of a query with half margin 0, 1, ..., in both directions.
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
      have at most that divergence from those of the other. Together with the outcome of the test
      the divergence is at most
      ``log((1 - p)**a (1 - p')**(1 - a) + p**a p'**(1 - a) exp((a - 1) limit)) / (a - 1)``, and
      the probabilities are chosen so that this converts to `epsilon` at `delta`.

    Each pair of neighbours falls under one of the two, so `delta` is not spent twice. As a whole
    it is (epsilon, delta)-DP without a Renyi curve: compose it with others as such.
    """

    order: float
    limit: float
    cost_by_half_margin: np.ndarray
    pass_probability_at: np.ndarray
    epsilon: float
    delta: float
    n_queries: int
    n_teachers: int

    @classmethod
    def plan(cls, aggregator, n_queries, *, n_teachers, n_classes, epsilon, delta):
        """Choose order and limit from public numbers.

        Of all that reach `epsilon`, these let the largest share of queries be tied, when teachers
        agree on all others, and the test still pass (with probability 0.99).

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
        >>> from sklearn_pate.accounting.propose_test_release import ProposeTestRelease
        >>> public = {"n_teachers": 250, "n_classes": 2}
        >>> test = ProposeTestRelease.plan(GNMax(40.0), 500, **public, epsilon=1.6, delta=1e-5)
        >>> test.pass_probability([[240, 10]] * 400 + [[150, 100]] * 100) > 0.99
        True
        """
        grid = DEFAULT_ORDERS[::4]
        table = margin_rdp(aggregator, grid, n_teachers=n_teachers, n_classes=n_classes)
        # Odds are rounded when they become probabilities
        total = (epsilon - conversion_penalty(delta, grid)) * (1 - 1e-7)
        usable = np.flatnonzero((total > 0) & np.isfinite(table).all(axis=0))
        if usable.size == 0:
            return None
        # Choices: the orders, and the share of the total that is the limit of the labels
        number, share = np.meshgrid(usable, np.arange(0.2, 0.99, 0.06))
        number = number.ravel()
        limit = share.ravel() * total[number]
        passing = _steepest(grid[number], limit, total[number], delta)
        tied_share = _tied_share(table[:, number], passing, limit / n_queries)
        best = int(tied_share.argmax())
        if tied_share[best] < 0:
            return None
        chosen = {"order": float(grid[number[best]]), "limit": float(limit[best])}
        chosen["cost_by_half_margin"] = table[:, number[best]]
        chosen["pass_probability_at"] = passing[:, best]
        given = {"epsilon": epsilon, "delta": delta, "n_queries": n_queries}
        return cls(**chosen, **given, n_teachers=n_teachers)

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
        for total in sums_within(self.cost_by_half_margin, half_margins(votes)):
            if total * (1 + 1e-12) > self.limit:
                break
            distance += 1
        return float(np.take(self.pass_probability_at, distance, mode="clip"))

    def passes(self, votes, random_state=None):
        """Draw the outcome of the test: safe to publish."""
        waits = noise_generator(random_state).exponential()  # exact at any delta
        return bool(waits > -math.log(self.pass_probability(votes)))


def _tied_share(table, passing, limit):
    """Share of the queries that may be tied, of each choice; -1 if none may, or the test may fail.

    The others are as unanimous as the distance leaves them from which the test is likely to pass.

    Parameters
    ----------
    table : ndarray of shape (n_half_margins, n_choices)
        Cost of a query.
    passing : ndarray of shape (n_distances, n_choices)
        Probability of passing.
    limit : ndarray of shape (n_choices,)
        Largest cost of a query, on average.

    Returns
    -------
    ndarray of shape (n_choices,)
    """
    distance = (passing < _LIKELY).sum(axis=0)
    half_margin = np.maximum(len(table) - 1 - distance, 0)
    agreed = table[half_margin, np.arange(half_margin.size)]
    tied = table[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        share = (limit - agreed) / (tied - agreed)
    share[(tied <= agreed) | (distance == len(passing))] = -1
    return share


def _steepest(order, limit, total, delta):
    """Pass probabilities (100, n_choices) that grow from `delta` as fast as `total` allows.

    `order`, `limit` and `total` are arrays of choices. Each step is the largest for which test and
    labels together cost at most `total` in both directions, rounded down.
    """

    def cost(x, y):
        """Cost of test and labels at log odds `x` against those at `y`."""
        passed = order * log_expit(x) + (1 - order) * log_expit(y) + (order - 1) * limit
        failed = order * log_expit(-x) + (1 - order) * log_expit(-y)
        return np.logaddexp(passed, failed) / (order - 1)

    def farthest_from(last):
        def fits(following):
            return np.maximum(cost(last, following), cost(following, last)) <= total

        following, _ = bisect(fits, last, np.minimum(last + 8, _SURE), n_steps=40)
        return following

    odds = [np.full(order.size, logit(delta * (1 - 1e-12)))]
    while len(odds) < 100:
        odds.append(farthest_from(odds[-1]))
    return expit(np.array(odds))
