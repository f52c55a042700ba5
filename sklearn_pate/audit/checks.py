"""Checks of the arguments of audits."""

from numbers import Real

import numpy as np

from ..rdp.checks import check_count


def check_confidence(confidence):
    """Refuse what is no probability strictly between 0 and 1."""
    if not isinstance(confidence, Real) or not 0 < confidence < 1:
        raise ValueError(f"confidence must lie strictly between 0 and 1; got {confidence!r}")


def check_neighbours(votes, neighbours):
    """Refuse histograms that are not one moved vote apart, row by row."""
    if votes.shape != neighbours.shape or (np.abs(votes - neighbours).sum(axis=1) != 2).any():
        raise ValueError("neighbour_votes must be votes with one vote moved to another class")


def check_size(*, n_teachers, n_classes):
    """Return the size of histograms as ints; there must be a vote, and a class to move it to."""
    n_teachers = check_count("n_teachers", n_teachers)
    n_classes = check_count("n_classes", n_classes, least=2)
    return n_teachers, n_classes
