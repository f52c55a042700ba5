"""Shared fixtures: the real data, where there is some, and the divergences of one query."""

import os
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from scipy.special import logsumexp

matplotlib.use("Agg")


@pytest.fixture(scope="session")
def data_home():
    """Return the folder with the real data sets."""
    folder = os.environ.get("SKLEARN_PATE_DATA")
    if not folder:
        pytest.skip("needs the real data: set SKLEARN_PATE_DATA to its folder")
    return Path(folder)


def moves(counts):
    """All neighbours of one histogram: a vote moves from one class to another."""
    counts = np.asarray(counts)
    neighbours = []
    for u in np.flatnonzero(counts):
        for v in range(len(counts)):
            if v != u:
                neighbour = counts.copy()
                neighbour[u] -= 1
                neighbour[v] += 1
                neighbours.append(neighbour)
    return np.array(neighbours)


def divergences(aggregator, counts, order):
    """Renyi divergences of one query from all its neighbours: forward and reverse."""
    p = aggregator.outcome_log_proba([counts])
    q = aggregator.outcome_log_proba(moves(counts))
    with np.errstate(invalid="ignore"):
        forward = logsumexp(order * p + (1 - order) * q, axis=1) / (order - 1)
        reverse = logsumexp(order * q + (1 - order) * p, axis=1) / (order - 1)
    return forward, reverse
