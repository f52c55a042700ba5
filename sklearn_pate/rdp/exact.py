"""The exact Renyi cost of a query on given votes, for any mechanism."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from .checks import check_log_proba, check_orders, check_votes
from .facts import facts_of
from .noise import Gaussian, Laplace

#: About how many moves of one vote are looked at together, which bounds the memory that takes.
_MOVES_AT_A_TIME = 60_000

#: Up to here, neighbours of many queries are computed together; above, all moves of one query.
_FEW_CLASSES = 20

#: At how many orders all pairs are looked at.
_FEW_ORDERS = 10


def exact_rdp(aggregator, votes, orders, student_proba=None):
    """Exact Renyi cost of each query: the largest divergence over all moves of one vote.

    The outcome distributions of the votes and of every neighbour are computed, and their
    divergences in both directions: the cost itself, not a bound. Like every data-dependent cost it
    is private.

    Parameters
    ----------
    aggregator : Aggregator
        Any mechanism. Of what it states, `outcome_log_proba` and `Facts.label_symmetric` are used,
        and, for more than 20 classes, `Facts.argmax_noise` in the place of `outcome_log_proba`.
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
    facts = facts_of(aggregator)
    number = np.arange(len(votes))
    if facts.label_symmetric:  # the cost depends on the sorted counts only
        votes, number = np.unique(np.sort(votes, axis=1), axis=0, return_inverse=True)
        student_proba = None
    elif student_proba is not None:
        student_proba = np.asarray(student_proba, dtype=float)
    noise = facts.argmax_noise
    # A subclass of a noise may have a distribution of its own
    has_moves = type(noise) in (Gaussian, Laplace) and votes.shape[1] > _FEW_CLASSES
    one_by_one = facts.label_symmetric and has_moves
    size = 1 if one_by_one else max(1, _MOVES_AT_A_TIME // votes.shape[1] ** 2)
    costs = np.empty((len(votes), increasing.size))
    for start in range(0, len(votes), size):
        part = slice(start, start + size)
        moves = argmax_moves(noise, votes[start]) if one_by_one else None
        if moves is None:
            proba = None if student_proba is None else student_proba[part]
            query, *log_proba = _moved(aggregator, votes[part], proba, facts.label_symmetric)
        else:
            log_p, change = moves
            query, log_proba = np.zeros(len(log_p), dtype=int), (log_p, log_p + change, -change)
        pairs = Pairs.both_ways(*log_proba)
        costs[part] = _largest_divergences(pairs, np.concatenate([query, query]), increasing)
    return costs[number.reshape(-1)][:, place]


def _moved(aggregator, votes, student_proba, symmetric):
    """Query of each neighbour, and log probabilities of its votes and of the neighbour."""
    n_classes = votes.shape[1]
    query, neighbours = _neighbours(votes, symmetric)
    proba_of_moves = None if student_proba is None else student_proba[query]
    log_p = aggregator.outcome_log_proba(votes, student_proba)
    log_q = aggregator.outcome_log_proba(neighbours, proba_of_moves)
    log_p = check_log_proba(log_p, n_classes=n_classes)[query]
    return query, log_p, check_log_proba(log_q, n_classes=n_classes)


def _largest_divergences(pairs, query, orders):
    """Largest divergence of each query at each order, over the pairs that belong to it, rounded up.

    All pairs are looked at a few orders. Between two of these, ``(a - 1) D_a`` lies below its
    chord, as it is convex in `a`: pairs whose chords lie below what others reach are left out.
    """
    costs = np.zeros((query.max() + 1, orders.size))

    def look(rows, places):
        some = pairs.take(rows)
        for k in places:
            divergence = some.divergence(orders[k])
            np.maximum.at(costs[:, k], query[rows], divergence)
        return divergence

    place = np.arcsinh(np.sqrt(orders - 1))  # equally far apart, chords are equally close
    few = np.linspace(place[0], place[-1], _FEW_ORDERS)
    coarse = np.unique(np.searchsorted(place, few).clip(max=place.size - 1))
    divergences = [look(slice(None), [k]) for k in coarse]
    for ends, at_ends in zip(pairwise(coarse), pairwise(divergences), strict=True):
        inside = np.arange(ends[0] + 1, ends[1])
        if not inside.size:
            continue
        # What costs most at an end is near the most between them
        is_winner = (at_ends == costs[:, ends].T[:, query]).any(axis=0)
        look(is_winner, inside)
        low, high = orders[list(ends)]
        share = (orders[inside] - low) / (high - low) * ((high - 1) / (orders[inside] - 1))
        chord = at_ends[0][:, None] * (1 - share) + at_ends[1][:, None] * share
        known = costs[:, inside]
        with np.errstate(invalid="ignore"):  # where the cost is infinite: NaN, which none reaches
            least = 2 * known - round_up(known, orders[inside])  # rounding must leave out no winner
        look(~is_winner & (chord >= least[query]).any(axis=1), inside)
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
    def from_log_proba(cls, log_p, log_q, log_ratio=None):
        """Pair rows of log probabilities, (n_pairs, n_outcomes) each; the ratio may be given."""
        with np.errstate(over="ignore", invalid="ignore"):
            if log_ratio is None:
                log_ratio = log_p - log_q
            q = np.exp(log_q)
            drift = np.einsum("ij,ij->i", q, np.expm1(log_ratio))
            largest_loss = np.abs(log_ratio).max(axis=1)
        return cls(log_p, log_q, log_ratio, q, drift, largest_loss)

    @classmethod
    def both_ways(cls, log_p, log_q, log_ratio=None):
        """Pair rows of log probabilities, and then the reverse; `log_ratio` is of P to Q."""
        if log_ratio is not None:
            log_ratio = np.concatenate([log_ratio, -log_ratio])
        both = np.concatenate([log_p, log_q]), np.concatenate([log_q, log_p])
        return cls.from_log_proba(*both, log_ratio)

    def take(self, which):
        """Select rows."""
        return Pairs(*(part[which] for part in self))

    def divergence(self, order):
        """D_order(P || Q) of each row; `order` is a number, or one per row, or rows of these.

        ``sum Q r**a = 1 + sum Q (r**a - 1) - a sum Q (r - 1)`` for ``r = P / Q``, as the last sum
        is 0: nothing as large as 1 cancels, and errors in the sums of P and Q cancel.
        """
        order = np.asarray(order, dtype=float)
        tame = order * self.largest_loss < 500  # exp overflows at 709; false for NaN and infinities
        if tame.all():
            return self._tame(order)
        order = np.broadcast_to(order, tame.shape)
        result = np.empty(tame.shape)
        result[tame] = self.take(tame.nonzero()[-1])._tame(order[tame])
        result[~tame] = self.take((~tame).nonzero()[-1])._wild(order[~tame])
        return result

    def _tame(self, order):
        """Divergences of moderate ratios, whose powers do not overflow."""
        growth = np.expm1(order[..., None] * self.log_ratio)
        excess = np.einsum("ij,...ij->...i", self.q, growth) - order * self.drift
        return np.log1p(np.maximum(excess, 0)) / (order - 1)

    def _wild(self, order):
        """Divergences of large or infinite ratios, in log space."""
        column = order[..., None]
        with np.errstate(invalid="ignore"):
            log_terms = column * self.log_p + (1 - column) * self.log_q
        # An outcome that P rules out adds nothing, even where Q rules it out as well
        log_terms = np.where(np.isneginf(self.log_p), -np.inf, log_terms)
        return np.maximum(np.logaddexp.reduce(log_terms, axis=1), 0) / (order - 1)


def moves_of_one_vote(*, n_classes):
    """Return all pairs of different classes, as an array of givers and one of takers."""
    return np.nonzero(~np.eye(n_classes, dtype=bool))


def move_one_vote(votes, giver, taker):
    """Return a copy of votes with one vote of each row moved from class `giver` to `taker`."""
    moved = np.array(votes)
    row = np.arange(len(moved))
    moved[row, giver] -= 1
    moved[row, taker] += 1
    return moved


# --- what each move of one vote does to the outcomes of a noisy argmax ----------------------------


#: Above these, the log of a change might overflow, or tables take more than 16 MB each.
_LARGEST_CHANGE = 100.0
_LARGEST_TABLE = 2_000_000

#: Counts are at most that far apart, in units of the noise.
_WIDEST = 1000.0


def argmax_moves(noise, counts):
    """Outcomes of one histogram, and the factors by which each move of a vote changes them.

    Parameters
    ----------
    noise : Gaussian or Laplace
        The noise on every count.
    counts : ndarray of shape (n_classes,)
        Vote counts.

    Returns
    -------
    (log_p, log_ratio), each of shape (n_moves, n_levels + 2), or None
        Log probabilities before each move, and the logs of the factors. A row stands for all moves
        from a class with one count to a class with another. A column stands for all classes that
        have one count and keep it, and the last two for the classes where the vote leaves and
        arrives; without any class, it is -inf and 0. None if the noise is very small.

    Notes
    -----
    Given that class o wins, its noisy count x has the density
    ``pdf(x - n_o) prod_{k != o} cdf(x - n_k) / P(o)``. A move changes two of these factors, and
    the mean of what both change is ``P'(o) / P(o)``: some matrix products for all moves together.
    """
    levels, n_at = np.unique(counts, return_counts=True)
    one_vote = 1 / noise.scale
    if (levels[-1] - levels[0]) * one_vote > _WIDEST:
        return None
    near_levels = np.unique(np.concatenate([levels - 1, levels, levels + 1]))
    x, log_weights = noise.nodes(near_levels * one_vote, n_classes=counts.size)
    ends = np.array([x.min() - levels[-1] * one_vote, x.max() - levels[0] * one_vote])
    largest_change = max(np.abs(change).max() for change in _changes(noise, ends, one_vote))
    if largest_change > _LARGEST_CHANGE or levels.size * x.size > _LARGEST_TABLE:
        return None
    offset = x - levels[:, None] * one_vote
    log_cdf = noise.log_cdf(offset)
    log_density = noise.log_pdf(offset) - log_cdf + n_at @ log_cdf + log_weights
    log_p = logsumexp(log_density, axis=1)
    log_density -= log_p[:, None]
    matters = log_density.max(axis=0) > -50 - 4 * largest_change
    density = np.exp(log_density[:, matters])
    log_ratio = _log_mean_changes(density, _changes(noise, offset[:, matters], one_vote))
    return _kinds_of_moves(levels, n_at, log_p, log_ratio)


def _changes(noise, offset, one_vote):
    """Logs of what a vote less, or more, for a class changes at nodes `offset` above its count.

    Of the cdf, then of the pdf. All are monotone, as both are log-concave.
    """
    log_cdf = noise.log_cdf(offset)
    log_pdf = noise.log_pdf(offset)
    less, more = offset + one_vote, offset - one_vote
    of_cdf = [noise.log_cdf(less) - log_cdf, noise.log_cdf(more) - log_cdf]
    return *of_cdf, noise.log_pdf(less) - log_pdf, noise.log_pdf(more) - log_pdf


def _log_mean_changes(density, changes):
    """Log of ``P' / P``, (n_levels, n_levels, n_levels + 2): giver, taker, outcome."""
    cdf_less, cdf_more, pdf_less, pdf_more = map(np.exp, changes)
    n_levels = len(density)
    ratio = np.empty((n_levels, n_levels, n_levels + 2))
    for giver in range(n_levels):
        ratio[giver, :, :-2] = cdf_more @ (density * cdf_less[giver]).T
    ratio[:, :, -2] = (density * pdf_less) @ cdf_more.T
    ratio[:, :, -1] = cdf_less @ (density * pdf_more).T
    return np.log(ratio)


def _kinds_of_moves(levels, n_at, log_p, log_ratio):
    """Rows for the moves that are possible, with the number of classes of each outcome."""
    n_levels = levels.size
    possible = np.ones((n_levels, n_levels), dtype=bool)
    possible[levels == 0] = False
    possible[np.diag(n_at == 1)] = False
    giver, taker = np.nonzero(possible)
    row = np.arange(giver.size)
    n_classes = np.ones((giver.size, n_levels + 2))
    n_classes[:, :-2] = n_at
    n_classes[row, giver] -= 1
    n_classes[row, taker] -= 1
    outcome = np.column_stack([np.tile(np.arange(n_levels), (giver.size, 1)), giver, taker])
    with np.errstate(divide="ignore"):
        log_before = log_p[outcome] + np.log(n_classes)
    log_change = np.where(n_classes > 0, log_ratio[giver, taker], 0.0)
    _refine_likeliest(log_before, log_change)
    for log_proba in (log_before, log_before + log_change):
        total = np.exp(log_proba).sum(axis=1, keepdims=True)
        check_log_proba(np.log(total))
    return log_before, log_change


def _refine_likeliest(log_p, log_ratio):
    """In place: near 1, the log of a probability, and of its change, from those of all others."""
    row = np.arange(len(log_p))
    likeliest = log_p.argmax(axis=1)
    p = np.exp(log_p)
    gain = p * np.expm1(log_ratio)
    p[row, likeliest] = 0
    gain[row, likeliest] = 0
    others = p.sum(axis=1)
    change = -gain.sum(axis=1) / (1 - others)
    near_1 = (others < 0.5) & (change > -0.5)
    row, likeliest = row[near_1], likeliest[near_1]
    log_p[row, likeliest] = np.log1p(-others[near_1])
    log_ratio[row, likeliest] = np.log1p(change[near_1])
