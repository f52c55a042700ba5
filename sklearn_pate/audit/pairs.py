"""Pairs of neighbouring histograms: which ones to look at, and where to start a search."""

import numpy as np

from ..rdp.votes import move_one_vote, moves_of_one_vote

#: Classes whose ties and unanimity are looked at.
_MOST_CLASSES = 64


def single_moves(n_classes):
    """Return all moves of one vote, as what they add to a histogram: -1 and 1."""
    giver, taker = moves_of_one_vote(n_classes=n_classes)
    unmoved = np.zeros((len(giver), n_classes), dtype=int)
    return move_one_vote(unmoved, giver, taker)


def pairs_with(votes):
    """Return all pairs of a histogram with a neighbour, shape (2, n_pairs, n_classes)."""
    moves = single_moves(len(votes))
    givers = moves.argmin(axis=1)
    neighbours = votes + moves[votes[givers] > 0]
    return np.stack([np.tile(votes, (len(neighbours), 1)), neighbours])


def large_classes_first(pairs):
    """Sort pairs by the votes of the two classes between which a vote moves, largest first."""
    votes, neighbours = pairs
    between = (np.abs(neighbours - votes) * votes).sum(axis=1)
    return pairs[:, np.argsort(-between, kind="stable")]


def plain_pairs(rng, *, n_teachers, n_classes):
    """Return pairs that do not follow from what a mechanism states, the most telling first.

    Ties of two classes and margins of 1 to 4 on both sides of them, unanimity, ties that a vote of
    a third class breaks, ties of all classes; then margins of 4, 8, 16, ... over one class or over
    all others, each for another class; last, ties and unanimity for other classes, in random order.
    """
    pairs = {}

    def add(votes, giver, taker):
        if votes.min() < 0 or votes[giver] == 0:
            return
        neighbour = votes.copy()
        neighbour[giver] -= 1
        neighbour[taker] += 1
        pairs.setdefault(frozenset([tuple(votes), tuple(neighbour)]), (votes, neighbour))

    def add_over_one(top, second, margin):
        add(_over_one(n_teachers, n_classes, top, second, margin), top, second)

    def add_over_all(top, margin):
        add(_over_all(n_teachers, n_classes, top, margin), top, (top - 1) % n_classes)

    for margin in (0, 2, -2, n_teachers):
        add_over_one(0, 1, margin)
    if n_classes > 2:
        votes = np.zeros(n_classes, dtype=int)
        votes[:3] = n_teachers // 2, (n_teachers - 1) // 2, 1
        add(votes, 2, 1)
        add_over_all(0, 0)
    margins = 2 ** np.arange(2, max(int(n_teachers).bit_length(), 2))
    for k, margin in enumerate(margins):
        add_over_one((k + 1) % n_classes, k % n_classes, margin)
        if n_classes > 2:
            add_over_all(k % n_classes, margin)
    for top in 1 + rng.permutation(n_classes - 1)[:_MOST_CLASSES]:
        for margin in (0, 2, n_teachers):
            add_over_one(top, (top + 1) % n_classes, margin)
    return np.array(list(pairs.values())).transpose(1, 0, 2)


def _over_one(n_teachers, n_classes, top, second, margin):
    """Return votes for two classes alone, with this margin or, by parity, one more."""
    votes = np.zeros(n_classes, dtype=int)
    votes[top] = (n_teachers + margin + 1) // 2
    votes[second] = n_teachers - votes[top]
    return votes


def _over_all(n_teachers, n_classes, top, margin):
    """Return nearly equal votes for all classes, and `margin` more for one of them."""
    each = (n_teachers - margin) // n_classes
    votes = np.full(n_classes, each)
    n_left = n_teachers - n_classes * each - margin
    votes[(top + np.arange(n_left)) % n_classes] += 1
    votes[top] += margin
    return votes


def starting_histograms(*, n_teachers, n_classes):
    """Return ties of the top classes, and margins of many sizes over one or over all others."""
    shares = []
    for n_tied in range(1, n_classes + 1):
        shares.append([1 / n_tied] * n_tied + [0] * (n_classes - n_tied))
    for margin in np.linspace(0, 1, 9):
        over_one = [(1 + margin) / 2, (1 - margin) / 2]
        shares.append(over_one + [0] * (n_classes - 2))
        each = (1 - margin) / n_classes
        shares.append([margin + each] + [each] * (n_classes - 1))
    votes = np.floor(n_teachers * np.array(shares) + 1e-9).astype(int)  # 1e-9 against rounding
    votes[:, 0] += n_teachers - votes.sum(axis=1)
    return np.unique(votes, axis=0)
