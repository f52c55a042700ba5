"""The search for neighbouring histograms that a mechanism tells apart best."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from ..rdp.exact import move_one_vote, moves_of_one_vote
from ..rdp.facts import has_distribution
from .bounds import lower_bound, pilot_bound
from .mechanism import log_proba_of_events

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

#: Classes whose ties and unanimity are looked at.
_MOST_CLASSES = 64


class Objective(NamedTuple):
    """How pairs are compared."""

    score: Callable  # of votes and neighbours: large where they are told apart
    is_sampled: bool


def search(mechanism, pairs, rng, **settings):
    """Return the best pair found; if pairs have to be sampled, the given ones are tried first.

    Pairs are compared by the lower bound that is expected from so many samples or, if the mechanism
    states no distribution, by a few samples. Then some histograms are looked at: from the best of
    ties of the top classes, and of margins of many sizes, votes are moved as long as that helps.
    """
    objective = _objective(mechanism, rng, **settings)
    n_classes = pairs.shape[2]
    n_teachers = int(pairs[0, 0].sum())
    moves = single_moves(n_classes)
    starts = starting_histograms(n_teachers=n_teachers, n_classes=n_classes)
    first_votes, first_neighbours = pairs if objective.is_sampled else pairs[:, :0]
    score, votes, move = _best_of(
        objective,
        np.concatenate([first_votes, np.repeat(starts, len(moves), axis=0)]),
        np.concatenate([first_neighbours - first_votes, np.tile(moves, (len(starts), 1))]),
        rng,
        n_first=len(first_votes),
    )
    step = max(1, n_teachers // 8)
    for _ in range(100):
        # Either the histogram moves by `step` votes, or another single vote makes the neighbour
        tried = np.concatenate([votes + step * moves, np.tile(votes, (len(moves), 1))])
        tried_moves = np.concatenate([np.tile(move, (len(moves), 1)), moves])
        found = _best_of(objective, tried, tried_moves, rng)
        if found[0] > score + 1e-9:
            score, votes, move = found
        elif step == 1:
            break
        else:
            step = max(1, step // 2)
    return votes, votes + move


def best_of(mechanism, pairs, rng, **settings):
    """Return the pair that is told apart best, of those given."""
    objective = _objective(mechanism, rng, **settings, to_try=_TO_TRY_OF_FEW)
    votes, neighbours = pairs
    best = int(np.argmax(objective.score(votes, neighbours)))
    return votes[best], neighbours[best]


def _objective(mechanism, rng, *, delta, n_samples, confidence, to_try=_TO_TRY):
    """Return how to compare pairs: by what the mechanism states, else by samples."""
    if has_distribution(mechanism.aggregator):
        to_bound = {"n_samples": int(n_samples * (1 - TO_CHOOSE)), "confidence": confidence}
        score = partial(_expected_bound, mechanism, delta=delta, **to_bound)
        return Objective(score, is_sampled=False)
    n_to_try = max(int(n_samples * to_try), _LEAST)
    score = partial(_sampled_score, mechanism, n_samples=n_to_try, delta=delta, rng=rng)
    return Objective(score, is_sampled=True)


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


def _best_of(objective, votes, moves, rng, n_first=0):
    """Return score, votes and move of the best pair; of too many, of a part with the first few."""
    possible = (votes >= 0).all(axis=1) & (votes + moves >= 0).all(axis=1)
    votes, moves = votes[possible], moves[possible]
    most = _MOST_SAMPLED if objective.is_sampled else _MOST_STATED
    if len(votes) > most:
        n_first = min(n_first, most)
        others = rng.choice(len(votes) - n_first, most - n_first, replace=False)
        kept = np.append(np.arange(n_first), n_first + others)
        votes, moves = votes[kept], moves[kept]
    scores = objective.score(votes, votes + moves)
    best = int(np.argmax(scores))
    return scores[best], votes[best], moves[best]


# --- pairs to look at, and where to start --------------------------------------------------------


def single_moves(n_classes):
    """Return all moves of one vote, as what they add to a histogram: -1 and 1."""
    giver, taker = moves_of_one_vote(n_classes=n_classes)
    unmoved = np.zeros((len(giver), n_classes), dtype=int)
    return move_one_vote(unmoved, giver, taker)


def pairs_with(votes):
    """Return all pairs of a histogram with a neighbour, shape (2, n_pairs, n_classes).

    Those between whose classes there are most votes come first: they are the most telling.
    """
    moves = single_moves(len(votes))
    moves = moves[(votes + moves >= 0).all(axis=1)]
    moves = moves[np.argsort(-(np.abs(moves) @ votes), kind="stable")]
    return np.stack([np.tile(votes, (len(moves), 1)), votes + moves])


def plain_pairs(rng, *, n_teachers, n_classes):
    """Return pairs that do not follow from what a mechanism states, the most telling first.

    Ties of two classes and margins of 1 to 4 on both sides of them, unanimity, ties that a vote of
    a third class breaks, ties of all classes; then margins of 4, 8, 16, ... over one class or over
    all others, each for another class; last, ties and unanimity for other classes, in random order.
    """
    sizes = n_teachers, n_classes
    classes = np.arange(n_classes)

    def leading(among, margin):
        return _leading(sizes, among, margin), among[0], among[-1]

    def around(top):
        return np.roll(classes, -top)

    wanted = [leading(classes[:2], margin) for margin in (0, 2, -2, n_teachers)]
    if n_classes > 2:
        broken = np.zeros(n_classes, dtype=int)
        broken[:3] = n_teachers // 2, (n_teachers - 1) // 2, 1
        wanted += [(broken, 2, 1), leading(classes, 0)]
    for k, margin in enumerate(2 ** np.arange(2, max(int(n_teachers).bit_length(), 2))):
        wanted.append(leading(around((k + 1) % n_classes)[[0, -1]], margin))
        if n_classes > 2:
            wanted.append(leading(around(k % n_classes), margin))
    for top in 1 + rng.permutation(n_classes - 1)[:_MOST_CLASSES]:
        wanted += [leading(around(top)[:2], margin) for margin in (0, 2, n_teachers)]
    pairs = {}
    for votes, giver, taker in wanted:
        if votes.min() >= 0 and votes[giver] > 0:
            neighbour = votes.copy()
            neighbour[[giver, taker]] += -1, 1
            pairs.setdefault(frozenset([tuple(votes), tuple(neighbour)]), (votes, neighbour))
    return np.array(list(pairs.values())).transpose(1, 0, 2)


def _leading(sizes, classes, margin):
    """Return nearly equal votes for some classes, and `margin` more for the first of them."""
    n_teachers, n_classes = sizes
    votes = np.zeros(n_classes, dtype=int)
    votes[classes], n_left = divmod(n_teachers - margin, len(classes))
    votes[classes[:n_left]] += 1
    votes[classes[0]] += margin
    return votes


def starting_histograms(*, n_teachers, n_classes):
    """Return ties of the top classes, and margins of many sizes over one or over all others."""
    sizes = n_teachers, n_classes
    classes = np.arange(n_classes)
    starts = [_leading(sizes, classes[:n_tied], 0) for n_tied in range(1, n_classes + 1)]
    for margin in np.linspace(0, n_teachers, 9).astype(int):
        starts += [_leading(sizes, classes[:2], margin), _leading(sizes, classes, margin)]
    return np.unique(starts, axis=0)
