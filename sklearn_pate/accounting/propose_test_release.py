"""Propose-test-release: a release of labels after a private test of the cost of the votes.

The test uses a table of costs by half margin; see `smooth_sensitivity`.

References
----------
.. [1] Redberg, Zhu, Wang (2023). Generalized PTR: user-friendly recipes for data-adaptive
       algorithms with differential privacy. AISTATS.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, log_expit, logit

from ..rdp import DEFAULT_ORDERS, margin_rdp
from ..rdp.checks import check_votes
from ..rdp.conversion import conversion_penalty
from ..rdp.cost import bisect
from ..secure import noise_generator
from .smooth_sensitivity import half_margins, sums_within

if TYPE_CHECKING:
    from .._typing import Seed

__all__ = ["ProposeTestRelease"]

#: Largest log odds of passing: the test then fails with a probability of 1e-6.
_SURE = 13.8

#: Probability of passing that is assumed in the choice of the order and the limit.
_LIKELY = 0.99


@dataclass(frozen=True, eq=False, kw_only=True)
class ProposeTestRelease:
    """Private test of whether the cost of the votes permits a release of labels at `epsilon`.

    Labels are released only if the test passes. The probability of passing depends on a distance:
    the number of teachers that must change before the computed cost of the votes can exceed a
    limit. The probability increases with the distance at the largest rate within the guarantee.

    Attributes
    ----------
    order, limit : float
        The Renyi order of the analysis, and the limit on the cost of the votes.
    cost_by_half_margin : ndarray of shape (n_half_margins,)
        Cost at `order` of a query with half margin 0, 1, ..., in both directions.
    pass_probability_at : ndarray of shape (n_distances,)
        Probability of passing at distance 0, 1, ...; the last one also holds at larger distances.
    epsilon, delta : float
        Guarantee of test and labels together.
    n_queries, n_teachers : int
        Numbers of queries and of teachers that the test was planned for.

    Notes
    -----
    This is a generalised propose-test-release ([1]_). Neighbouring data sets have distances that
    differ by at most 1, and the guarantee has two cases:

    - both are at distance 0: each passes with probability `delta`, so the outcomes are
      ``(0, delta)``-DP;
    - otherwise one of them costs at most `limit`, in both directions, so the divergence between
      the labels of the two data sets is at most `limit`. Together with the outcome of the test, the
      divergence is at most
      ``log((1 - p)**a (1 - p')**(1 - a) + p**a p'**(1 - a) exp((a - 1) limit)) / (a - 1)``, and
      the probabilities are chosen so that this converts to `epsilon` at `delta`.

    Each pair of neighbours belongs to one of the two cases, so `delta` is not spent twice. Test and
    labels together are (epsilon, delta)-DP, but have no Renyi cost. They compose with other
    releases as an (epsilon, delta)-DP step.
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
    def plan(
        cls,
        aggregator: Any,
        n_queries: int,
        *,
        n_teachers: int,
        n_classes: int,
        epsilon: float,
        delta: float,
    ) -> "ProposeTestRelease | None":
        """Choose the order and the limit from public numbers.

        Among several choices with a guarantee of `epsilon`, the method selects the choice that
        permits the largest fraction of tied queries if the test is to pass with probability 0.99
        and the teachers agree on all other queries.

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
            None if the test would fail even for teachers that always agree.

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
        # Reduced, because the conversion of odds to probabilities rounds
        total = (epsilon - conversion_penalty(delta, grid)) * (1 - 1e-7)
        usable = np.flatnonzero((total > 0) & np.isfinite(table).all(axis=0))
        if usable.size == 0:
            return None
        # Choices of an order, and of the share of the total that limits the cost of the labels
        number, share = np.meshgrid(usable, np.arange(0.2, 0.99, 0.06))
        number = number.ravel()
        limit = share.ravel() * total[number]
        passing = _steepest(grid[number], limit, total[number], delta)
        tied_share = _tied_share(table[:, number], passing, limit / n_queries)
        best = int(tied_share.argmax())
        if tied_share[best] < 0:
            return None
        return cls(
            order=float(grid[number[best]]),
            limit=float(limit[best]),
            cost_by_half_margin=table[:, number[best]],
            pass_probability_at=passing[:, best],
            epsilon=epsilon,
            delta=delta,
            n_queries=n_queries,
            n_teachers=n_teachers,
        )

    def pass_probability(self, votes: ArrayLike) -> float:
        """Return the probability that the test passes on these votes, which is private.

        Parameters
        ----------
        votes : array-like of shape (n_queries, n_classes)
            Vote counts.

        Returns
        -------
        float

        Raises
        ------
        ValueError
            If the numbers of queries and teachers differ from the numbers in `plan`.
        """
        counts = check_votes(votes)
        if len(counts) != self.n_queries or counts[0].sum() != self.n_teachers:
            raise ValueError(
                f"the test was planned for {self.n_queries} queries of {self.n_teachers} teachers; "
                f"got votes of shape {counts.shape}"
            )
        distance = 0
        for total in sums_within(self.cost_by_half_margin, half_margins(counts)):
            if total * (1 + 1e-12) > self.limit:
                break
            distance += 1
        return float(np.take(self.pass_probability_at, distance, mode="clip"))

    def passes(self, votes: ArrayLike, random_state: "Seed" = None) -> bool:
        """Draw the outcome of the test, which is safe to publish."""
        waits = noise_generator(random_state).exponential()  # exact at any delta
        return bool(waits > -math.log(self.pass_probability(votes)))


def _tied_share(table: np.ndarray, passing: np.ndarray, limit: np.ndarray) -> np.ndarray:
    """Return the fraction of queries that may be tied, for each choice.

    The fraction is negative if no query may be tied, or if the probability of passing is below 0.99
    at every distance. The half margin of all other queries is the largest half margin minus the
    smallest distance with a probability of at least 0.99.

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


def _steepest(order: np.ndarray, limit: np.ndarray, total: np.ndarray, delta: float) -> np.ndarray:
    """Return probabilities of passing that increase from `delta` at the largest valid rate.

    The shape of the result is (100, n_choices); `order`, `limit` and `total` are arrays of choices.
    Each step is the largest step for which test and labels together cost at most `total` in both
    directions, rounded down.
    """

    def cost(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the cost of test and labels at log odds `x` relative to log odds `y`."""
        passed = order * log_expit(x) + (1 - order) * log_expit(y) + (order - 1) * limit
        failed = order * log_expit(-x) + (1 - order) * log_expit(-y)
        return np.logaddexp(passed, failed) / (order - 1)

    def farthest_from(last: np.ndarray) -> np.ndarray:
        def fits(following: np.ndarray) -> np.ndarray:
            return np.maximum(cost(last, following), cost(following, last)) <= total

        following, _ = bisect(fits, last, np.minimum(last + 8, _SURE), n_steps=40)
        return following

    odds = [np.full(order.size, logit(delta * (1 - 1e-12)))]
    while len(odds) < 100:
        odds.append(farthest_from(odds[-1]))
    return expit(np.array(odds))
