"""The exact epsilon of a pair of histograms, and the pairs where it is large."""

import math
from numbers import Integral

import numpy as np

from ..rdp.checks import check_delta, check_votes
from ..rdp.facts import has_distribution
from ..rdp.votes import move_one_vote, moves_of_one_vote
from .sampling import (
    TO_CHOOSE,
    check_confidence,
    check_neighbours,
    lower_bound,
    pilot_bound,
    sample,
)
from .statement import plain_pairs, stated_log_proba

#: Pairs tried at once if each has to be sampled.
_BY_SAMPLES = 40


def exact_epsilon(aggregator, votes, neighbour_votes, delta=1e-5, *, student_proba=None):
    """Exact epsilon of one query on a pair of histograms: the hockey-stick divergence.

    Parameters
    ----------
    aggregator : Aggregator
        The mechanism; only its `outcome_log_proba` is used.
    votes, neighbour_votes : array-like of shape (n_classes,) or (n_pairs, n_classes)
        Vote counts, and the same with one vote moved.
    delta : float or array-like of shape (n_deltas,), default=1e-5
        Failure probability, in [0, 1).
    student_proba : array-like of shape (n_classes,), default=None
        The student's probabilities, for mechanisms that use them.

    Returns
    -------
    float or ndarray of shape (n_pairs, n_deltas)
        The smallest epsilon that holds at `delta` in both directions, at least 0; without the
        axis of whatever was given alone. Like all that depends on votes it is private.

    Raises
    ------
    ValueError
        If the histograms are no neighbours, or an argument is out of range.

    Notes
    -----
    A pair is (epsilon, delta)-indistinguishable if ``P(E) - exp(epsilon) Q(E) <= delta`` for all
    events `E` (Dwork and Roth (2014), Definition 2.4). For each epsilon the worst event holds the
    outcomes whose likelihood ratio is above exp(epsilon), so epsilon is the largest
    ``log((P(E) - delta) / Q(E))`` over the events of the largest ratios.

    Examples
    --------
    >>> from sklearn_pate.aggregators import GNMax, LNMax
    >>> from sklearn_pate.audit import exact_epsilon
    >>> round(exact_epsilon(LNMax(0.05), [249, 1], [250, 0], delta=0), 3)
    0.093
    >>> exact_epsilon(GNMax(40.0), [[126, 124], [213, 37]], [[125, 125], [212, 38]]).round(3)
    array([0.029, 0.11 ])
    """
    pairs = [np.atleast_2d(np.asarray(side)) for side in (votes, neighbour_votes)]
    votes_, others = (check_votes(side) for side in pairs)
    check_neighbours(votes_, others)
    deltas = np.array([check_delta(value, allow_zero=True) for value in np.atleast_1d(delta)])
    found = np.stack([_exact(aggregator, votes_, others, d, student_proba) for d in deltas], axis=1)
    found = found if np.ndim(delta) else found[:, 0]
    found = found if np.ndim(votes) > 1 else found[0]
    return found if np.ndim(found) else float(found)


def worst_pair(
    aggregator,
    *,
    n_teachers,
    n_classes,
    delta=1e-5,
    n_samples=None,
    confidence=1 - 1e-6,
    student_proba=None,
    random_state=None,
):
    """Search the neighbouring histograms that an aggregator tells apart best.

    Parameters
    ----------
    aggregator : Aggregator or callable
        As in `audit_aggregator`.
    n_teachers, n_classes : int
        Size of the histograms.
    delta : float, default=1e-5
        Failure probability, in [0, 1).
    n_samples : int, default=None
        The pair is sought that gives the largest lower bound from that many samples of each
        histogram. None: the largest exact epsilon, often that of an event too rare to be seen. A
        mechanism without `outcome_log_proba` needs a number; every pair tried takes a hundredth.
    confidence : float, default=1 - 1e-6
        That of the lower bound.
    student_proba : array-like of shape (n_classes,), default=None
        The student's probabilities, for mechanisms that use them.
    random_state : int, Generator or None, default=None
        Source of samples.

    Returns
    -------
    votes, neighbour_votes : ndarray of shape (n_classes,)
        A local optimum of hill climbing: ever smaller numbers of votes are moved between classes,
        from ties and leads of many sizes.

    Raises
    ------
    ValueError
        If there is nothing to search by, or an argument is out of range.

    Examples
    --------
    >>> from sklearn_pate.aggregators import LNMax
    >>> from sklearn_pate.audit import worst_pair
    >>> public = {"n_teachers": 250, "n_classes": 2}
    >>> sorted(sorted(h.tolist()) for h in worst_pair(LNMax(0.05), **public, delta=0))
    [[0, 250], [1, 249]]
    >>> votes, _ = worst_pair(LNMax(0.05), **public, delta=0, n_samples=5_000_000)
    >>> 150 < max(votes.tolist()) < 170  # near a tie all outcomes are frequent
    True
    """
    check_size(n_teachers, n_classes)
    delta = check_delta(delta, allow_zero=True)
    rng = np.random.default_rng(random_state)
    pairs = plain_pairs(int(n_teachers), int(n_classes), rng)
    how = {"delta": delta, "n_samples": n_samples, "confidence": confidence}
    how |= {"student_proba": student_proba, "rng": rng}
    return search(aggregator, int(n_teachers), int(n_classes), pairs, **how)


def search(aggregator, n_teachers, n_classes, pairs, **how):
    """`worst_pair`; pairs that have to be sampled begin with those given, in their order."""
    value, most = _objective(aggregator, **how)
    first = pairs if most == _BY_SAMPLES else pairs[:, :0]
    return _climb(value, n_teachers, n_classes, most, how["rng"], first)


def best_of(aggregator, pairs, **how):
    """The pair that is told apart best, of those given."""
    value, _ = _objective(aggregator, share=0.1, **how)
    k = int(np.argmax(value(*pairs)))
    return pairs[0, k], pairs[1, k]


def pairs_of(votes):
    """All pairs with a histogram."""
    others = votes + _moves(len(votes))[votes[_moves(len(votes)).argmin(axis=1)] > 0]
    return np.stack([np.tile(votes, (len(others), 1)), others])


def check_size(n_teachers, n_classes):
    """Refuse sizes of histograms that there are none of."""
    for name, value, least in (("n_teachers", n_teachers, 1), ("n_classes", n_classes, 2)):
        if not isinstance(value, Integral) or value < least:
            raise ValueError(f"{name} must be a whole number, at least {least}; got {value!r}")


def _events(log_p, log_q):
    """Log probabilities of the events of the largest ratios P / Q: prefixes, row by row."""
    with np.errstate(invalid="ignore"):
        ratio = log_p - log_q
    order = np.argsort(-np.where(np.isnan(ratio), -np.inf, ratio), axis=1, kind="stable")
    sides = (np.take_along_axis(side, order, axis=1)[:, :-1] for side in (log_p, log_q))
    return [np.logaddexp.accumulate(side, axis=1) for side in sides]


def _exact(aggregator, votes, others, delta, student_proba):
    """Exact epsilon of each pair."""
    log_p, log_q = (stated_log_proba(aggregator, side, student_proba) for side in (votes, others))
    worst = np.zeros(len(votes))
    log_delta = math.log(delta) if delta else -math.inf
    for pair in ((log_p, log_q), (log_q, log_p)):
        log_first, log_second = _events(*pair)
        above = log_first > log_delta
        beyond = np.where(above, log_first, 0.0)
        excess = beyond + np.log1p(-np.exp(np.minimum(log_delta - beyond, 0)) * above)
        with np.errstate(invalid="ignore"):
            loss = np.where(above, excess - log_second, -np.inf)
        worst = np.maximum(worst, loss.max(axis=1))
    return worst


def _objective(aggregator, *, delta, n_samples, confidence, student_proba, rng, share=0.01):
    """A function of pairs that is large where they are told apart, and how many to try at once."""
    check_confidence(confidence)
    stated = _by_statement(aggregator, delta, n_samples, confidence, student_proba)
    if stated is not None:
        return stated, 4000
    if n_samples is None:
        raise ValueError(
            "the mechanism has no outcome_log_proba to search by; give n_samples, and pairs are "
            "compared by samples"
        )
    pilot = max(int(n_samples * share), 50)

    def sampled(votes, others):
        values = []
        for pair in zip(votes, others, strict=True):
            counts = [sample(aggregator, h, pilot, student_proba, rng) for h in pair]
            values.append(pilot_bound(*counts, pilot, delta))
        return np.array(values)

    return sampled, _BY_SAMPLES


def _by_statement(aggregator, delta, n_samples, confidence, student_proba):
    """Exact epsilon, or the bound expected from so many samples; None if nothing is stated."""
    if not has_distribution(aggregator):
        return None
    if n_samples is None:
        return lambda v, w: _exact(aggregator, v, w, delta, student_proba)
    n = int(n_samples * (1 - TO_CHOOSE))

    def expected(votes, others):
        log_p, log_q = (stated_log_proba(aggregator, h, student_proba) for h in (votes, others))
        bounds = []
        for pair in ((log_p, log_q), (log_q, log_p)):
            hits, other_hits = (n * np.exp(side) for side in _events(*pair))
            bounds.append(lower_bound(hits, other_hits, n, delta, confidence).max(axis=1))
        return np.maximum(*bounds)

    return expected


def _moves(n_classes):
    """All moves of one vote, as what they add: -1 and 1."""
    giver, taker = moves_of_one_vote(n_classes=n_classes)
    return move_one_vote(np.zeros((len(giver), n_classes), dtype=int), giver, taker)


def _starts(n_teachers, n_classes):
    """Ties of the top classes, and leads of many sizes over one or all others."""
    shapes = []
    for tied in range(1, n_classes + 1):
        shapes.append(np.append(np.full(tied, 1 / tied), np.zeros(n_classes - tied)))
    for lead in np.linspace(0, 1, 9):
        shapes.append(np.append([(1 + lead) / 2, (1 - lead) / 2], np.zeros(n_classes - 2)))
        rest = (1 - lead) / n_classes
        shapes.append(np.append(lead + rest, np.full(n_classes - 1, rest)))
    rows = np.floor(n_teachers * np.array(shapes) + 1e-9).astype(int)
    rows[:, 0] += n_teachers - rows.sum(axis=1)
    return np.unique(rows, axis=0)


def _climb(value, n_teachers, n_classes, most, rng, first):
    """Best pair found from the best of the starts, of which those in `first` are never left out."""
    moves = _moves(n_classes)

    def best_of(votes, added, n_first=0):
        fits = (votes >= 0).all(axis=1) & (votes + added >= 0).all(axis=1)
        votes, added = votes[fits], added[fits]
        if len(votes) > most:
            n_first = min(n_first, most)
            others = rng.choice(len(votes) - n_first, most - n_first, replace=False)
            kept = np.append(np.arange(n_first), n_first + others)
            votes, added = votes[kept], added[kept]
        values = value(votes, votes + added)
        k = int(np.argmax(values))
        return values[k], votes[k], added[k]

    starts = _starts(n_teachers, n_classes)
    votes = np.concatenate([first[0], np.repeat(starts, len(moves), axis=0)])
    added = np.concatenate([first[1] - first[0], np.tile(moves, (len(starts), 1))])
    best = best_of(votes, added, len(first[0]))
    step = max(1, n_teachers // 8)
    for _ in range(100):
        _, votes, added = best
        further = votes + step * moves
        found = best_of(
            np.concatenate([further, np.tile(votes, (len(moves), 1))]),
            np.concatenate([np.tile(added, (len(moves), 1)), moves]),
        )
        if found[0] > best[0] + 1e-9:
            best = found
        elif step == 1:
            break
        else:
            step = max(1, step // 2)
    return best[1], best[1] + best[2]
