"""Exact Renyi cost of a query with given votes, for mechanisms with a known distribution."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .bounds import bounds_of
from .checks import check_log_proba, check_orders, check_votes

if TYPE_CHECKING:
    from ..aggregators.base import Aggregator

#: Approximate number of neighbours in one computation, which limits its memory.
_MOVES_AT_A_TIME = 60_000

#: Number of orders at which all pairs are computed.
_FEW_ORDERS = 10


def exact_rdp(
    aggregator: Aggregator,
    votes: ArrayLike,
    orders: ArrayLike,
    student_proba: ArrayLike | None = None,
) -> NDArray[np.float64]:
    """Compute the exact Renyi cost of each query.

    The cost is the largest divergence over all moves of one vote, in both directions. It is
    computed from the outcome distributions of the votes and of every neighbour, so it is not only
    an upper bound. Like every data-dependent cost, it is private.

    Parameters
    ----------
    aggregator : Aggregator
        The mechanism. Only its `outcome_log_proba` and the attribute `label_symmetric` of its
        `PrivacyBounds` are used.
    votes : array-like of shape (n_queries, n_classes)
        Vote counts; each row sums to the number of teachers.
    orders : array-like of shape (n_orders,)
        Renyi orders, above 1.
    student_proba : array-like of shape (n_queries, n_classes), default=None
        The student's probabilities, for mechanisms that use them.

    Returns
    -------
    ndarray of shape (n_queries, n_orders)
        Costs, rounded up by the possible rounding errors (about 1e-9 relative); inf if an outcome
        is possible for only one of two neighbours. The costs of queries that are fixed in advance
        add up.

    Raises
    ------
    ValueError
        If votes are not counts with equal row sums, an order is <= 1, or `outcome_log_proba` does
        not return distributions over the classes and "no answer".

    Notes
    -----
    For order `a` and neighbours ``n' = n - e_u + e_v``: ``max(D_a(P_n || P_n'), D_a(P_n' || P_n))``
    with ``D_a(P || Q) = log(sum_o P(o)**a Q(o)**(1 - a)) / (a - 1)`` (Mironov (2017),
    Definition 3).

    Examples
    --------
    >>> from sklearn_pate.aggregators import GNMax
    >>> from sklearn_pate.rdp import exact_rdp, gnmax_rdp
    >>> exact_rdp(GNMax(40.0), [[130, 120], [200, 50]], [10.0]).round(5)
    array([[0.00399],
           [0.00033]])
    >>> gnmax_rdp([[130, 120], [200, 50]], 40.0, [10.0]).round(5)
    array([[0.00625],
           [0.00133]])
    """
    votes = check_votes(votes)
    increasing, place = np.unique(check_orders(orders), return_inverse=True)
    bounds = bounds_of(aggregator)
    number = np.arange(len(votes))
    if bounds.label_symmetric:  # the cost depends on the sorted counts only
        votes, number = np.unique(np.sort(votes, axis=1), axis=0, return_inverse=True)
        student_proba = None
    elif student_proba is not None:
        student_proba = np.asarray(student_proba, dtype=float)
    size = max(1, _MOVES_AT_A_TIME // votes.shape[1] ** 2)
    costs = np.empty((len(votes), increasing.size))
    for start in range(0, len(votes), size):
        part = slice(start, start + size)
        proba = None if student_proba is None else student_proba[part]
        query, log_p, log_q = _changed(aggregator, votes[part], proba, bounds.label_symmetric)
        pairs = Pairs.from_log_proba(np.concatenate([log_p, log_q]), np.concatenate([log_q, log_p]))
        costs[part] = _largest_divergences(pairs, np.concatenate([query, query]), increasing)
    return costs[number.reshape(-1)][:, place]


def _changed(
    aggregator: Aggregator, votes: np.ndarray, student_proba: np.ndarray | None, symmetric: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return, for each neighbour, the query index and the log probabilities before and after."""
    n_classes = votes.shape[1]
    query, neighbours = _neighbours(votes, symmetric)
    proba_of_moves = None if student_proba is None else student_proba[query]
    log_p = aggregator.outcome_log_proba(votes, student_proba)
    log_q = aggregator.outcome_log_proba(neighbours, proba_of_moves)
    log_p = check_log_proba(log_p, n_classes=n_classes)[query]
    return query, log_p, check_log_proba(log_q, n_classes=n_classes)


def _largest_divergences(pairs: Pairs, query: np.ndarray, orders: np.ndarray) -> np.ndarray:
    """Return the largest divergence of each query at each order over its pairs, rounded up.

    All pairs are computed at a few orders. Between two of these orders, ``(a - 1) D_a`` is at most
    its chord, because it is convex in `a`. So a pair is skipped where its chord is below the
    divergence of another pair.
    """
    costs = np.zeros((query.max() + 1, orders.size))

    def look(rows: Any, places: Iterable[int]) -> np.ndarray:
        some = pairs.take(rows)
        for k in places:
            divergence = some.divergence(orders[k])
            np.maximum.at(costs[:, k], query[rows], divergence)
        return divergence

    place = np.arcsinh(np.sqrt(orders - 1))  # equal distances make all chords equally close
    few = np.linspace(place[0], place[-1], _FEW_ORDERS)
    coarse = np.unique(np.searchsorted(place, few).clip(max=place.size - 1))
    divergences = [look(slice(None), [k]) for k in coarse]
    for ends, at_ends in zip(pairwise(coarse), pairwise(divergences), strict=True):
        inside = np.arange(ends[0] + 1, ends[1])
        if not inside.size:
            continue
        # The costliest pair at an end is nearly the costliest between the ends
        is_winner = (np.array(at_ends) == costs[:, ends].T[:, query]).any(axis=0)
        look(is_winner, inside)
        low, high = orders[list(ends)]
        share = (orders[inside] - low) / (high - low) * ((high - 1) / (orders[inside] - 1))
        chord = at_ends[0][:, None] * (1 - share) + at_ends[1][:, None] * share
        known = costs[:, inside]
        with np.errstate(invalid="ignore"):  # NaN for infinite costs, which no chord exceeds
            least = 2 * known - round_up(known, orders[inside])  # so that rounding keeps the winner
        look(~is_winner & (chord >= least[query]).any(axis=1), inside)
    # The rounded divergence must not decrease with the order
    return np.maximum.accumulate(round_up(costs, orders), axis=1)


def round_up(costs: np.ndarray, orders: np.ndarray) -> np.ndarray:
    """Increase costs by the possible rounding errors.

    A small divergence D is about ``a r**2 / 2`` at order `a`, where r is a typical
    ``log P - log Q``. So an error of 1e-14 in r changes D by sqrt(2 a D) times this error. Errors
    in the sum of outcomes have the same effect, multiplied by ``1 / (a - 1)`` at orders near 1.
    """
    return costs * (1 + 1e-9) + (1e-14 + 4e-16 / (orders - 1)) * np.sqrt(2 * orders * costs)


def _neighbours(votes: np.ndarray, symmetric: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the votes after each move of one vote, and the index of the query of each.

    If `symmetric`, classes are interchangeable, and the counts of a query must be sorted. Then,
    among classes with equal counts, only one loses a vote, and only one gets a vote.
    """
    leaves = votes > 0
    arrives = np.ones(votes.shape, dtype=bool)
    if symmetric:  # classes with equal counts are interchangeable, and counts are sorted
        differs = votes[:, 1:] != votes[:, :-1]
        leaves[:, :-1] &= differs
        arrives[:, 1:] = differs
    giver, taker = moves_of_one_vote(n_classes=votes.shape[1])
    query, move = np.nonzero(leaves[:, giver] & arrives[:, taker])
    return query, move_one_vote(votes[query], giver[move], taker[move])


class Pairs(NamedTuple):
    """Rows of two outcome distributions P and Q, with the terms common to all orders."""

    log_p: np.ndarray
    log_q: np.ndarray
    log_ratio: np.ndarray
    q: np.ndarray
    drift: np.ndarray  # sum of P - Q, which is 0 up to rounding
    largest_loss: np.ndarray  # the largest |log(P / Q)|, which is the pure epsilon of the pair

    @classmethod
    def from_log_proba(cls, log_p: np.ndarray, log_q: np.ndarray) -> Self:
        """Create pairs from two arrays of log probabilities of shape (n_pairs, n_outcomes)."""
        with np.errstate(over="ignore", invalid="ignore"):
            log_ratio = log_p - log_q
            q = np.exp(log_q)
            drift = np.einsum("ij,ij->i", q, np.expm1(log_ratio))
            largest_loss = np.abs(log_ratio).max(axis=1)
        return cls(log_p, log_q, log_ratio, q, drift, largest_loss)

    def take(self, which: Any) -> Pairs:
        """Select rows."""
        return Pairs(*(part[which] for part in self))

    def divergence(self, order: Any) -> np.ndarray:
        """Compute D_order(P || Q) of each row; `order` is a number or an array of numbers per row.

        For ``r = P / Q``, ``sum Q r**a = 1 + sum Q (r**a - 1) - a sum Q (r - 1)`` because the last
        sum is 0. So no terms of size 1 cancel, and errors in the sums of P and Q cancel.
        """
        order = np.asarray(order, dtype=float)
        # exp overflows at 709; the comparison is false for NaN and infinities
        is_finite_power = order * self.largest_loss < 500
        if is_finite_power.all():
            return self._by_powers(order)
        order = np.broadcast_to(order, is_finite_power.shape)
        result = np.empty(is_finite_power.shape)
        result[is_finite_power] = self.take(is_finite_power.nonzero()[-1])._by_powers(
            order[is_finite_power]
        )
        result[~is_finite_power] = self.take((~is_finite_power).nonzero()[-1])._by_logarithms(
            order[~is_finite_power]
        )
        return result

    def _by_powers(self, order: Any) -> np.ndarray:
        """Compute divergences of moderate ratios, whose powers do not overflow."""
        growth = np.expm1(order[..., None] * self.log_ratio)
        excess = np.einsum("ij,...ij->...i", self.q, growth) - order * self.drift
        return np.log1p(np.maximum(excess, 0)) / (order - 1)

    def _by_logarithms(self, order: Any) -> np.ndarray:
        """Compute divergences of large or infinite ratios in log space."""
        column = order[..., None]
        with np.errstate(invalid="ignore"):
            log_terms = column * self.log_p + (1 - column) * self.log_q
        # An outcome of probability 0 under P adds nothing, even with probability 0 under Q
        log_terms = np.where(np.isneginf(self.log_p), -np.inf, log_terms)
        return np.maximum(np.logaddexp.reduce(log_terms, axis=1), 0) / (order - 1)


def moves_of_one_vote(*, n_classes: int) -> tuple[np.ndarray, ...]:
    """Return all moves of one vote from a class to another.

    The first array has the class that loses the vote, the second the class that gains it.
    """
    return np.nonzero(~np.eye(n_classes, dtype=bool))


def move_one_vote(votes: np.ndarray, giver: np.ndarray, taker: np.ndarray) -> np.ndarray:
    """Return a copy of votes with one vote of each row moved from class `giver` to `taker`."""
    changed = np.array(votes)
    row = np.arange(len(changed))
    changed[row, giver] -= 1
    changed[row, taker] += 1
    return changed
