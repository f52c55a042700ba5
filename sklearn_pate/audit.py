"""Empirical lower bounds on epsilon: a mechanism that leaks more than it says is caught."""

import math
from dataclasses import dataclass, field

import numpy as np
from scipy.stats import beta

from .rdp import check_delta, check_votes

__all__ = ["AuditResult", "audit_aggregator"]


@dataclass(frozen=True, eq=False)
class AuditResult:
    """What an audit found.

    Attributes
    ----------
    epsilon : float
        Lower bound on epsilon at `delta`, at least 0: true with probability `confidence`.
    delta, confidence : float
        As asked for.
    n_samples : int
        Outcomes drawn of each of the two histograms.
    votes, neighbour_votes : ndarray of shape (n_classes,)
        The pair that was told apart best.
    event : tuple of int
        The outcomes that tell them apart: labels, -1 for no answer.
    """

    epsilon: float
    delta: float
    confidence: float
    n_samples: int
    votes: np.ndarray = field(repr=False)  # they may be private
    neighbour_votes: np.ndarray = field(repr=False)
    event: tuple = field(repr=False)


def audit_aggregator(
    aggregator,
    votes,
    neighbour_votes=None,
    *,
    delta=1e-5,
    n_samples=200_000,
    confidence=1 - 1e-6,
    random_state=None,
):
    """Lower bound on epsilon of one query from sampled outcomes.

    Parameters
    ----------
    aggregator : Aggregator or callable
        The mechanism, or a function of vote counts (n_queries, n_classes) and a numpy Generator
        that returns integer labels, -1 for no answer.
    votes : array-like of shape (n_classes,)
        Vote counts.
    neighbour_votes : array-like of shape (n_classes,), default=None
        The same with one vote moved. None: all moves are tried on a tenth of the samples, and the
        one that is told apart best is audited.
    delta : float, default=1e-5
        Failure probability of the guarantee that is tested.
    n_samples : int, default=200_000
        Outcomes drawn of each histogram: half to choose the event, half to bound it.
    confidence : float, default=1 - 1e-6
        Probability with which the bound holds.
    random_state : int, Generator or None, default=None
        Source of the samples.

    Returns
    -------
    AuditResult
        Its epsilon exceeds a true guarantee with probability at most ``1 - confidence``.

    Raises
    ------
    ValueError
        If the histograms are no neighbours, or an argument is out of range.

    Notes
    -----
    ``log((p - delta) / q)`` for an event's probabilities, `p` bounded from below and `q` from above
    by Clopper and Pearson at ``(1 - confidence) / 2`` each. The event is chosen on other samples
    than it is bounded on.

    Examples
    --------
    >>> from sklearn_pate.aggregators import GNMax, PluralityVote
    >>> from sklearn_pate.audit import audit_aggregator
    >>> audit_aggregator(PluralityVote(), [126, 125], random_state=0).epsilon > 8
    True
    >>> audit_aggregator(GNMax(40.0), [126, 125], random_state=0).epsilon < 0.13
    True
    """
    delta, rng = check_delta(delta), np.random.default_rng(random_state)
    if not 0 < confidence < 1 or n_samples < 100:
        raise ValueError(
            f"confidence must lie strictly between 0 and 1 and n_samples be at least 100; got "
            f"{confidence!r} and {n_samples!r}"
        )
    votes = check_votes([votes])[0]
    if neighbour_votes is None:
        neighbours = _neighbours(votes)
    else:
        neighbours = check_votes([neighbour_votes])
        if neighbours.shape[1] != len(votes) or np.abs(neighbours[0] - votes).sum() != 2:
            raise ValueError("neighbour_votes must be votes with one vote moved to another class")

    def counts(histogram, n):
        """Sampled outcomes of a histogram; the last count is of "no answer"."""
        repeated = np.tile(histogram, (n, 1))
        draw = getattr(aggregator, "aggregate", None)
        labels = aggregator(repeated, rng) if draw is None else draw(repeated, random_state=rng)
        return np.bincount(np.where(labels < 0, len(votes), labels), minlength=len(votes) + 1)

    n = n_samples // 2
    if len(neighbours) > 1:
        pilot = max(n // 10, 50)
        here = counts(votes, pilot)
        tried = [_choose(here, counts(other, pilot), delta, confidence)[0] for other in neighbours]
        neighbours = neighbours[[int(np.argmax(tried))]]
    _, event, swapped = _choose(counts(votes, n), counts(neighbours[0], n), delta, confidence)
    first, second = (counts(h, n)[event].sum() for h in (votes, neighbours[0]))
    low, high = _bounds(*((second, first) if swapped else (first, second)), n, confidence)
    epsilon = math.log((low - delta) / high) if low > delta else 0.0
    labels = np.append(np.arange(len(votes)), -1)[event]
    return AuditResult(
        epsilon=max(epsilon, 0.0),
        delta=delta,
        confidence=confidence,
        n_samples=n_samples,
        votes=votes,
        neighbour_votes=neighbours[0],
        event=tuple(labels.tolist()),
    )


def _neighbours(votes):
    """All histograms with one vote moved."""
    moved = [
        votes - np.eye(len(votes), dtype=int)[u] + np.eye(len(votes), dtype=int)[v]
        for u in np.flatnonzero(votes)
        for v in range(len(votes))
        if v != u
    ]
    return np.array(moved)


def _choose(first, second, delta, confidence):
    """Plug-in epsilon of the event that tells two counts of outcomes apart best.

    Returns it, the event as a mask, and whether the second set has more of it.
    """
    n, best = first.sum(), (-math.inf, np.ones(len(first), dtype=bool), False)
    for swapped, (p, q) in ((False, (first, second)), (True, (second, first))):
        order = np.argsort(-(p + 1) / (q + 1))
        for size in range(1, len(order)):
            event = np.isin(np.arange(len(order)), order[:size])
            low, high = _bounds(p[event].sum(), q[event].sum(), n, confidence)
            value = math.log(max(low - delta, 1e-300) / high)
            if value > best[0]:
                best = value, event, swapped
    return best


def _bounds(hits, other_hits, n, confidence):
    """Lower bound on one probability and upper bound on the other."""
    alpha = (1 - confidence) / 2
    low = beta.ppf(alpha, hits, n - hits + 1) if hits else 0.0
    high = beta.ppf(1 - alpha, other_hits + 1, n - other_hits) if other_hits < n else 1.0
    return float(low), float(high)
