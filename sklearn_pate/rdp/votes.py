"""Vote counts: the margin of the first class, and the moves of one vote."""

import numpy as np


def margins(votes):
    """Return the count of the first class minus that of the second, one for each row of votes."""
    first_two = np.sort(votes, axis=-1)[..., -2:]
    return first_two[..., 1] - first_two[..., 0]


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
