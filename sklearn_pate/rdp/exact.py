"""The exact Renyi cost of a query on given votes, for any mechanism."""

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from .checks import check_log_proba, check_orders, check_votes
from .facts import facts_of
from .votes import move_one_vote, moves_of_one_vote

__all__ = ["Pairs", "exact_rdp", "round_up"]

#: About how many moves of one vote are looked at together, which bounds the memory that takes.
_MOVES_AT_A_TIME = 60_000


def exact_rdp(aggregator, votes, orders, student_proba=None):
    """Exact Renyi cost of each query: the largest divergence over all moves of one vote.

    The outcome distributions of the votes and of every neighbour are computed, and their
    divergences in both directions: the cost itself, not a bound. Like every data-dependent cost it
    is private.

    Parameters
    ----------
    aggregator : Aggregator
        Any mechanism; only its `outcome_log_proba` and `Facts.label_symmetric` are used.
    votes : array-like of shape (n_queries, n_classes)
        Vote counts; each row sums to the number of teachers.
    orders : array-like of shape (n_orders,)
        Renyi orders, above 1.
    student_proba : array-like of shape (n_queries, n_classes), default=None
        The student's probabilities, for mechanisms that use them.

    Returns
    -------
    ndarray of shape (n_queries, n_orders)
        Costs, rounded up by what floating point may hide (about 1e-9 relative); inf where an
        outcome is possible on one side only. They add up over queries fixed in advance.

    Raises
    ------
    ValueError
        For negative counts, rows with different totals or orders <= 1.

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
    if facts_of(aggregator).label_symmetric:  # the cost depends on the sorted counts only
        histograms, number = np.unique(np.sort(votes, axis=1), axis=0, return_inverse=True)
        costs = _costs_in_parts(aggregator, histograms, increasing, None, symmetric=True)
        return costs[number.reshape(-1)][:, place]
    if student_proba is not None:
        student_proba = np.asarray(student_proba, dtype=float)
    costs = _costs_in_parts(aggregator, votes, increasing, student_proba, symmetric=False)
    return costs[:, place]


def _costs_in_parts(aggregator, votes, orders, student_proba, symmetric):
    """Costs of votes, (n_queries, n_orders), of a few queries at a time."""
    costs = np.empty((len(votes), orders.size))
    size = max(1, _MOVES_AT_A_TIME // votes.shape[1] ** 2)
    for start in range(0, len(votes), size):
        part = slice(start, start + size)
        proba = None if student_proba is None else student_proba[part]
        costs[part] = _exact_costs(aggregator, votes[part], orders, proba, symmetric)
    return costs


def _exact_costs(aggregator, votes, orders, student_proba, symmetric):
    """Costs of a few queries at increasing orders."""
    n_classes = votes.shape[1]
    query, neighbours = _neighbours(votes, symmetric)
    proba_of_moves = None if student_proba is None else student_proba[query]
    log_p = aggregator.outcome_log_proba(votes, student_proba)
    log_p = check_log_proba(log_p, n_classes=n_classes)[query]
    log_q = aggregator.outcome_log_proba(neighbours, proba_of_moves)
    log_q = check_log_proba(log_q, n_classes=n_classes)
    return _largest_divergences(log_p, log_q, query, orders)


def _largest_divergences(log_p, log_q, query, orders):
    """Of each query, the largest divergence over its moves, in both directions.

    At some orders all moves are looked at. `D_a` does not decrease in `a`, so a move that is below
    the largest of one of these orders, even at the next of them, cannot win in between.
    """
    both_ways = Pairs.from_log_proba(np.concatenate([log_p, log_q]), np.concatenate([log_q, log_p]))
    first_move = np.flatnonzero(np.diff(query, prepend=-1))
    query = np.concatenate([query, query])
    coarse = np.unique(np.linspace(0, orders.size - 1, 25).astype(int))  # both ends are among them
    costs = np.zeros((first_move.size, orders.size))
    at_coarse = []
    for k in coarse:
        divergence = both_ways.divergence(orders[k])
        there, back = divergence.reshape(2, -1)
        costs[:, k] = np.maximum.reduceat(np.maximum(there, back), first_move)
        at_coarse.append(divergence)
    for low, high, at_high in zip(coarse, coarse[1:], at_coarse[1:], strict=False):
        if high == low + 1:
            continue
        may_win = at_high >= costs[query, low] * (1 - 1e-9)  # rounding must leave out no winner
        candidates = both_ways.take(may_win)
        for k in range(low + 1, high):
            np.maximum.at(costs[:, k], query[may_win], candidates.divergence(orders[k]))
    # Nor may the rounded divergence decrease with the order
    return np.maximum.accumulate(round_up(costs, orders), axis=1)


def round_up(costs, orders):
    """Add what floating point may have lost.

    A small divergence is quadratic: D is about ``a r**2 / 2`` for a typical ``log P - log Q`` of
    r. So an error of 1e-14 in r moves D by sqrt(2 a D) times that. So do errors of the sum of
    outcomes, which ``1 / (a - 1)`` enlarges at orders close to 1.
    """
    return costs * (1 + 1e-9) + (1e-14 + 4e-16 / (orders - 1)) * np.sqrt(2 * orders * costs)


def _neighbours(votes, symmetric):
    """All neighbours of each query, as (query, neighbour); one of each kind if `symmetric`."""
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
    """Rows of two outcome distributions P and Q, with what every order of divergence shares."""

    log_p: np.ndarray
    log_q: np.ndarray
    log_ratio: np.ndarray
    q: np.ndarray
    drift: np.ndarray  # sum of P - Q: 0 but for rounding
    largest_loss: np.ndarray  # the largest |log(P / Q)|: the pure epsilon of the pair

    @classmethod
    def from_log_proba(cls, log_p, log_q):
        """Pair rows of log probabilities, (n_pairs, n_outcomes) each."""
        with np.errstate(over="ignore", invalid="ignore"):
            log_ratio = log_p - log_q
            q = np.exp(log_q)
            drift = np.einsum("ij,ij->i", q, np.expm1(log_ratio))
            largest_loss = np.abs(log_ratio).max(axis=1)
        return cls(log_p, log_q, log_ratio, q, drift, largest_loss)

    def take(self, which):
        """Select rows."""
        return Pairs(*(part[which] for part in self))

    def divergence(self, order):
        """D_order(P || Q) of each row; `order` is a number, or one per row.

        ``sum Q r**a = 1 + sum Q (r**a - 1) - a sum Q (r - 1)`` for ``r = P / Q``, as the last sum
        is 0: nothing as large as 1 cancels, and errors in the sums of P and Q cancel.
        """
        order = np.asarray(order, dtype=float)
        tame = order * self.largest_loss < 500  # exp overflows at 709; false for NaN and infinities
        if tame.all():
            return self._tame(order)
        order = np.broadcast_to(order, tame.shape)
        result = np.empty(len(tame))
        result[tame] = self.take(tame)._tame(order[tame])
        result[~tame] = self.take(~tame)._wild(order[~tame])
        return result

    def _tame(self, order):
        """Divergences of moderate ratios, whose powers do not overflow."""
        growth = np.expm1(order[..., None] * self.log_ratio)
        excess = np.einsum("ij,ij->i", self.q, growth) - order * self.drift
        return np.log1p(np.maximum(excess, 0)) / (order - 1)

    def _wild(self, order):
        """Divergences of large or infinite ratios, in log space."""
        column = order[..., None]
        with np.errstate(invalid="ignore"):
            log_terms = column * self.log_p + (1 - column) * self.log_q
        # An outcome that P rules out adds nothing, even where Q rules it out as well
        log_terms = np.where(np.isneginf(self.log_p), -np.inf, log_terms)
        return np.maximum(logsumexp(log_terms, axis=1), 0) / (order - 1)
