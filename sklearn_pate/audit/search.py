"""The search for neighbouring histograms that a mechanism tells apart best."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from ..rdp.checks import check_delta
from ..rdp.facts import has_distribution
from .bounds import check_confidence, check_size, lower_bound, pilot_bound
from .exact import epsilon_of_pairs, log_proba_of_events
from .mechanism import AuditedMechanism
from .pairs import plain_pairs, single_moves, starting_histograms

#: Part of the samples of an audit that chooses the event.
TO_CHOOSE = 0.1

#: Part of the samples of an audit that each pair takes in a search, and among few pairs.
_TO_TRY = 0.01
_TO_TRY_OF_FEW = 0.1

#: Fewest samples by which a pair is tried.
_LEAST = 50

#: Pairs tried in a step, if each has to be sampled, and if not.
_MOST_SAMPLED = 40
_MOST_STATED = 4000


class Objective(NamedTuple):
    """How pairs are compared."""

    score: Callable  # of votes and neighbours: large where they are told apart
    most_pairs: int  # how many are tried in a step
    is_sampled: bool


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
        Delta of the guarantee, in [0, 1).
    n_samples : int, default=None
        Search for the pair with the largest lower bound from that many samples of each histogram.
        None: for the largest exact epsilon, often that of an event too rare to be seen. A mechanism
        without `outcome_log_proba` needs a number; every pair tried takes a hundredth of it.
    confidence : float, default=1 - 1e-6
        Confidence of the lower bound.
    student_proba : array-like of shape (n_classes,), default=None
        The student's probabilities, for mechanisms that use them.
    random_state : int, Generator or None, default=None
        Source of samples.

    Returns
    -------
    votes, neighbour_votes : ndarray of shape (n_classes,)
        A local optimum of hill climbing: from ties and margins of many sizes, ever smaller numbers
        of votes are moved between classes.

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
    >>> 150 < max(votes.tolist()) < 170  # nearer to a tie, where all outcomes are frequent
    True
    """
    n_teachers, n_classes = check_size(n_teachers=n_teachers, n_classes=n_classes)
    delta = check_delta(delta, allow_zero=True)
    rng = np.random.default_rng(random_state)
    return search(
        AuditedMechanism(aggregator, student_proba),
        plain_pairs(rng, n_teachers=n_teachers, n_classes=n_classes),
        delta=delta,
        n_samples=n_samples,
        confidence=confidence,
        rng=rng,
    )


def search(mechanism, pairs, *, delta, n_samples, confidence, rng):
    """Return the best pair found; if pairs have to be sampled, the given ones are tried first."""
    n_classes = pairs.shape[2]
    n_teachers = int(pairs[0, 0].sum())
    objective = _objective(
        mechanism, delta=delta, n_samples=n_samples, confidence=confidence, rng=rng
    )
    if not objective.is_sampled:
        pairs = pairs[:, :0]
    return _climb(objective, n_teachers, n_classes, pairs, rng)


def best_of(mechanism, pairs, *, delta, n_samples, confidence, rng):
    """Return the pair that is told apart best, of those given."""
    objective = _objective(
        mechanism,
        delta=delta,
        n_samples=n_samples,
        confidence=confidence,
        rng=rng,
        to_try=_TO_TRY_OF_FEW,
    )
    votes, neighbours = pairs
    best = int(np.argmax(objective.score(votes, neighbours)))
    return votes[best], neighbours[best]


def _objective(mechanism, *, delta, n_samples, confidence, rng, to_try=_TO_TRY):
    """Return how to compare pairs: by what the mechanism states, else by samples."""
    check_confidence(confidence)
    score = _score_by_statement(mechanism, delta, n_samples, confidence)
    if score is not None:
        return Objective(score, _MOST_STATED, is_sampled=False)
    if n_samples is None:
        raise ValueError("the mechanism has no outcome_log_proba to search by; give n_samples")
    n_to_try = max(int(n_samples * to_try), _LEAST)
    score = partial(_sampled_score, mechanism, n_samples=n_to_try, delta=delta, rng=rng)
    return Objective(score, _MOST_SAMPLED, is_sampled=True)


def _score_by_statement(mechanism, delta, n_samples, confidence):
    """Return how to score pairs by what the mechanism states, or None if that is not possible."""
    if not has_distribution(mechanism.aggregator):
        return None
    if n_samples is None:
        return partial(epsilon_of_pairs, mechanism, delta=delta)
    return partial(
        _expected_bound,
        mechanism,
        n_samples=int(n_samples * (1 - TO_CHOOSE)),
        delta=delta,
        confidence=confidence,
    )


def _expected_bound(mechanism, votes, neighbours, *, n_samples, delta, confidence):
    """Return the lower bound that is expected from so many samples."""
    log_p = mechanism.stated_log_proba(votes)
    log_q = mechanism.stated_log_proba(neighbours)
    bounds = []
    for log_first, log_second in ((log_p, log_q), (log_q, log_p)):
        log_hits, log_other_hits = log_proba_of_events(log_first, log_second)
        hits = n_samples * np.exp(log_hits)
        other_hits = n_samples * np.exp(log_other_hits)
        bound = lower_bound(hits, other_hits, n_samples, delta, confidence)
        bounds.append(bound.max(axis=1))
    return np.maximum(*bounds)


def _sampled_score(mechanism, votes, neighbours, *, n_samples, delta, rng):
    """Return what a few samples say of each pair."""
    scores = []
    for histogram, neighbour in zip(votes, neighbours, strict=True):
        first = mechanism.sample(histogram, n_samples, rng)
        second = mechanism.sample(neighbour, n_samples, rng)
        scores.append(pilot_bound(first, second, n_samples, delta))
    return np.array(scores)


class _Trial(NamedTuple):
    """A histogram, the move of one vote that leads to its neighbour, and their score."""

    score: float
    votes: np.ndarray
    move: np.ndarray


def _climb(objective, n_teachers, n_classes, first_pairs, rng):
    """Return the best pair found from the best of the starts; the first pairs are all tried."""
    moves = single_moves(n_classes)
    starts = starting_histograms(n_teachers=n_teachers, n_classes=n_classes)
    first_votes, first_neighbours = first_pairs
    best = _best_trial(
        objective,
        np.concatenate([first_votes, np.repeat(starts, len(moves), axis=0)]),
        np.concatenate([first_neighbours - first_votes, np.tile(moves, (len(starts), 1))]),
        rng,
        n_first=len(first_votes),
    )
    step = max(1, n_teachers // 8)
    for _ in range(100):
        # Either the histogram moves by `step` votes, or another single vote makes the neighbour
        moved = best.votes + step * moves
        unmoved = np.tile(best.votes, (len(moves), 1))
        same_move = np.tile(best.move, (len(moves), 1))
        trial = _best_trial(
            objective, np.concatenate([moved, unmoved]), np.concatenate([same_move, moves]), rng
        )
        if trial.score > best.score + 1e-9:
            best = trial
        elif step == 1:
            break
        else:
            step = max(1, step // 2)
    return best.votes, best.votes + best.move


def _best_trial(objective, votes, moves, rng, n_first=0):
    """Return the best of pairs; of too many a random part, which has the first `n_first`."""
    possible = (votes >= 0).all(axis=1) & (votes + moves >= 0).all(axis=1)
    votes = votes[possible]
    moves = moves[possible]
    most = objective.most_pairs
    if len(votes) > most:
        n_first = min(n_first, most)
        others = rng.choice(len(votes) - n_first, most - n_first, replace=False)
        kept = np.append(np.arange(n_first), n_first + others)
        votes = votes[kept]
        moves = moves[kept]
    scores = objective.score(votes, votes + moves)
    best = int(np.argmax(scores))
    return _Trial(scores[best], votes[best], moves[best])
