"""The exact Renyi cost of a query on given votes, for any mechanism."""

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from .checks import check_log_proba, check_orders, check_votes
from .facts import facts_of


def exact_rdp(aggregator, votes, orders, student_proba=None):
    """Exact Renyi cost of each query: the largest divergence over all moves of one vote.

    Nothing is bounded: the outcome distributions of the votes and of every neighbour are computed,
    and their divergences in both directions. Like every data-dependent cost it is private.

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
        outcome is possible on one side only. They add over queries fixed in advance.

    Raises
    ------
    ValueError
        For negative counts, rows with different totals or orders <= 1.

    Notes
    -----
    For order `a` and neighbours ``n' = n - e_u + e_v``: ``max(D_a(P_n || P_n'), D_a(P_n' || P_n))``
    with ``D_a(P || Q) = log(sum_o P(o)**a Q(o)**(1 - a)) / (a - 1)`` (Mironov (2017),
    Definition 3). `D_a` does not decrease in `a`, so a move that loses at the upper end of an
    interval of orders to another at its lower end loses everywhere between: it is left out there.

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
    votes, orders = check_votes(votes), check_orders(orders)
    increasing, back = np.unique(orders, return_inverse=True)
    symmetric = facts_of(aggregator).label_symmetric
    if symmetric:  # the cost depends on the sorted counts only
        rows, where = np.unique(np.sort(votes, axis=1), axis=0, return_inverse=True)
        where, proba = where.reshape(-1), None
    else:
        rows, where = votes, np.arange(len(votes))
        proba = None if student_proba is None else np.asarray(student_proba, dtype=float)
    costs = np.empty((len(rows), increasing.size))
    size = max(1, 60_000 // votes.shape[1] ** 2)
    for start in range(0, len(rows), size):
        part = slice(start, start + size)
        costs[part] = _exact_costs(
            aggregator, rows[part], increasing, None if proba is None else proba[part], symmetric
        )
    return costs[where][:, back]


def _exact_costs(aggregator, rows, orders, proba, symmetric):
    row, neighbours = _moves(rows, symmetric)
    n_classes = rows.shape[1]
    log_p = check_log_proba(aggregator.outcome_log_proba(rows, proba), n_classes=n_classes)[row]
    log_q = check_log_proba(
        aggregator.outcome_log_proba(neighbours, None if proba is None else proba[row]),
        n_classes=n_classes,
    )
    both_ways = Pairs.of(np.concatenate([log_p, log_q]), np.concatenate([log_q, log_p]))
    start = np.flatnonzero(np.diff(row, prepend=-1))
    row = np.concatenate([row, row])
    coarse = np.unique(np.linspace(0, orders.size - 1, 25).astype(int))
    costs = np.zeros((len(rows), orders.size))
    at_coarse = []
    for k in coarse:
        divergence = both_ways.divergence(orders[k])
        there, back = divergence.reshape(2, -1)
        costs[:, k] = np.maximum.reduceat(np.maximum(there, back), start)
        at_coarse.append(divergence)
    for low, high, at_high in zip(coarse, coarse[1:], at_coarse[1:], strict=False):
        if high == low + 1:
            continue
        may_win = at_high >= costs[row, low] * (1 - 1e-9)  # rounding must not leave out a winner
        pairs, of = both_ways.take(may_win), row[may_win]
        for k in range(low + 1, high):
            np.maximum.at(costs[:, k], of, pairs.divergence(orders[k]))
    # D_a does not decrease in a; nor may its rounding
    return np.maximum.accumulate(round_up(costs, orders), axis=1)


def round_up(costs, orders):
    """Add what floating point may have lost.

    Errors of 1e-14 in ``log P - log Q``, and of the sum of outcomes at orders close to 1, move a
    small divergence D by about sqrt(2 a D) times that.
    """
    return costs * (1 + 1e-9) + (1e-14 + 4e-16 / (orders - 1)) * np.sqrt(2 * orders * costs)


def _moves(rows, symmetric):
    """All neighbours of each row, as (row number, neighbour); one of each kind if `symmetric`."""
    leaves, arrives = rows > 0, np.ones(rows.shape, dtype=bool)
    if symmetric:  # classes with equal counts are interchangeable, and rows are sorted
        differs = rows[:, 1:] != rows[:, :-1]
        leaves[:, :-1] &= differs
        arrives[:, 1:] = differs
    pairs = leaves[:, :, None] & arrives[:, None, :] & ~np.eye(rows.shape[1], dtype=bool)
    row, u, v = np.nonzero(pairs)
    neighbours = rows[row]
    number = np.arange(len(row))
    neighbours[number, u] -= 1
    neighbours[number, v] += 1
    return row, neighbours


class Pairs(NamedTuple):
    """Rows of two outcome distributions P and Q, with what every order of divergence shares."""

    log_p: np.ndarray
    log_q: np.ndarray
    log_ratio: np.ndarray
    q: np.ndarray
    drift: np.ndarray  # sum of P - Q: 0 but for rounding
    reach: np.ndarray  # largest |log P / Q|

    @classmethod
    def of(cls, log_p, log_q):
        """Pair rows of log probabilities, (n_pairs, n_outcomes) each."""
        with np.errstate(over="ignore", invalid="ignore"):
            log_ratio, q = log_p - log_q, np.exp(log_q)
            drift = np.einsum("ij,ij->i", q, np.expm1(log_ratio))
            reach = np.abs(log_ratio).max(axis=1)
        return cls(log_p, log_q, log_ratio, q, drift, reach)

    def take(self, which):
        """Select rows."""
        return Pairs(*(part[which] for part in self))

    def divergence(self, order):
        """D_order(P || Q) of each row; `order` is a number, or one per row.

        ``sum Q r**a = 1 + sum Q (r**a - 1) - a sum Q (r - 1)`` for ``r = P / Q``, as the last sum
        is 0: nothing as large as 1 cancels, and errors in the sums of P and Q cancel.
        """
        order = np.asarray(order, dtype=float)
        tame = order * self.reach < 500  # false for NaN and infinities
        if not tame.all():
            wild, result = ~tame, np.empty(len(tame))
            for part, divergence in ((tame, Pairs._tame), (wild, Pairs._wild)):
                result[part] = divergence(self.take(part), order[part] if order.ndim else order)
            return result
        return self._tame(order)

    def _tame(self, order):
        growth = np.expm1(order[..., None] * self.log_ratio)
        excess = np.einsum("ij,ij->i", self.q, growth) - order * self.drift
        return np.log1p(np.maximum(excess, 0)) / (order - 1)

    def _wild(self, order):
        column = order[..., None]
        with np.errstate(invalid="ignore"):
            log_terms = column * self.log_p + (1 - column) * self.log_q
        log_terms = np.where(np.isneginf(self.log_p), -np.inf, log_terms)
        return np.maximum(logsumexp(log_terms, axis=1), 0) / (order - 1)
