"""Shared fixtures: the real data, where there is some, and the divergences of one query."""

import contextlib
import io
import logging
import math
import os
import warnings

# Before numpy is imported: on rows as few as these, threads of BLAS wait for each other
os.environ.setdefault("OMP_NUM_THREADS", "1")

from pathlib import Path

import matplotlib
import mpmath as mp
import numpy as np
import pytest
from mpmath.calculus.quadrature import GaussLegendre
from scipy.special import logsumexp

from sklearn_pate.aggregators import GNMax

matplotlib.use("Agg")

with mp.workdps(50):
    NODES = GaussLegendre(mp.mp).calc_nodes(5, mp.mp.prec)


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


def outcome_probabilities(mechanism, counts):
    """Outcome probabilities of a histogram, by 48-point Gauss-Legendre on pieces, in 50 digits."""
    gaussian = isinstance(mechanism, GNMax)
    scale = mp.mpf(mechanism.sigma) if gaussian else 1 / mp.mpf(mechanism.gamma)
    counts = [mp.mpf(int(n)) / scale for n in counts]

    def pdf_and_cdf(x):
        if gaussian:
            return mp.npdf(x), mp.ncdf(x)
        half = mp.exp(-abs(x)) / 2
        return half, half if x < 0 else 1 - half

    if len(counts) == 2:
        gap = counts[0] - counts[1]
        if gaussian:
            return [mp.ncdf(gap / mp.sqrt(2)), mp.ncdf(-gap / mp.sqrt(2))]
        tail = (2 + abs(gap)) / 4 * mp.exp(-abs(gap))
        return [1 - tail, tail] if gap >= 0 else [tail, 1 - tail]
    kinks = sorted(set(counts))
    reach, longest = (12, 4) if gaussian else (80, 4)
    edges = [kinks[0] - reach, *kinks, kinks[-1] + reach]
    of = {n: counts.count(n) for n in kinks}
    proba = dict.fromkeys(kinks, mp.mpf(0))
    for a, b in zip(edges, edges[1:], strict=False):
        pieces = max(1, math.ceil((b - a) / longest))
        for k in range(pieces):
            half = (b - a) / pieces / 2
            for node, weight in NODES:
                x = a + half * (2 * k + 1 + node)
                at = {n: pdf_and_cdf(x - n) for n in kinks}
                product = weight * half * mp.fprod(below ** of[n] for n, (_, below) in at.items())
                for n, (density, below) in at.items():
                    proba[n] += product / below * density
    total = mp.fsum(proba[n] for n in counts)
    assert abs(total - 1) < 1e-25
    return [proba[n] / total for n in counts]


def said_while(action):
    """What an action prints, logs and warns of, and what it returns."""
    out, log = io.StringIO(), io.StringIO()
    handler, root = logging.StreamHandler(log), logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        with (
            warnings.catch_warnings(record=True) as caught,
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(out),
        ):
            warnings.simplefilter("always")
            result = action()
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
    told = [(w.category.__name__, str(w.message)) for w in caught]
    return result, out.getvalue(), log.getvalue(), told


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Neighbours on one process, which then share fixtures and joblib's workers."""
    if config.getvalue("dist") != "load":  # another was asked for
        return None
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log)
