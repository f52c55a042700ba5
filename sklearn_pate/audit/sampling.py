"""Outcomes drawn from a pair of histograms, and what they prove about epsilon."""

import math
from numbers import Real

import numpy as np
from scipy.stats import beta

#: Vote counts that are handed to the mechanism at a time: 8 MB.
_CHUNK = 2**20

#: Part of the samples that chooses the event.
TO_CHOOSE = 0.1

#: Part of the error probability that goes to the smaller correction for delta.
_FOR_DELTA = 0.1


def check_confidence(confidence):
    """Refuse what is no probability strictly between 0 and 1."""
    if not isinstance(confidence, Real) or not 0 < confidence < 1:
        raise ValueError(f"confidence must lie strictly between 0 and 1; got {confidence!r}")


def check_neighbours(votes, others):
    """Refuse histograms that are not one moved vote apart."""
    if votes.shape != others.shape or (np.abs(votes - others).sum(axis=1) != 2).any():
        raise ValueError("neighbour_votes must be votes with one vote moved to another class")


def independent(aggregator):
    """Whether each query has noise of its own; aggregators whose queries share it have no steps."""
    steps = getattr(aggregator, "steps", None)
    return steps is None or steps([1e12]) is not None  # at such an order costs take no search


def draw(aggregator, rows, student_proba, rng):
    """One outcome of each row of votes, by an aggregator or a function."""
    aggregate = getattr(aggregator, "aggregate", None)
    if aggregate is None:
        return aggregator(rows, rng)
    if student_proba is None:
        return aggregate(rows, random_state=rng)
    return aggregate(rows, np.tile(student_proba, (len(rows), 1)), random_state=rng)


def sample(aggregator, histogram, n, student_proba, rng):
    """Counts of `n` outcomes of a histogram, that of "no answer" first."""
    total = np.zeros(len(histogram) + 1, dtype=np.int64)
    size = max(1, _CHUNK // len(histogram))
    for start in range(0, n, size):
        rows = np.tile(histogram, (min(size, n - start), 1))
        labels = np.asarray(draw(aggregator, rows, student_proba, rng))
        if labels.shape != (len(rows),) or labels.dtype.kind not in "iu" or labels.min() < -1:
            raise ValueError(
                f"the mechanism must return {len(rows)} whole numbers, -1 for no answer; got shape "
                f"{labels.shape} and dtype {labels.dtype}"
            )
        total = sum(padded(total, np.bincount(labels + 1)))
    return total


def padded(*counts):
    """Copies of equal length: outcomes need not be classes."""
    size = max(map(len, counts))
    return [np.pad(part, (0, size - len(part))) for part in counts]


def lower_bound(hits, other_hits, n, delta, confidence):
    """Lower bound on epsilon from hits of an event among `n` samples of each side, on average.

    Vectorised; hits may be expectations.
    """
    hits, other_hits = np.asarray(hits, dtype=float), np.asarray(other_hits, dtype=float)
    alpha = 1 - confidence
    for_delta = _FOR_DELTA * alpha if delta else 0.0
    some = hits > 1e-9  # expectations far below one bound nothing, and beta.ppf overflows
    own = np.where(some, hits, 1.0)
    t = np.where(some, beta.ppf(alpha - for_delta, own, other_hits + 1), 0.0)
    d = 0.0
    if delta:
        total = np.minimum(own + other_hits, 2 * n)
        d = delta / (2 * beta.ppf(for_delta, total, 2 * n - total + 1))
    with np.errstate(divide="ignore"):
        return np.where(t > d, np.log(np.maximum(t - d, 0) / (1 - t)), -np.inf)


def choose(first, second, scale, n, delta, confidence):
    """Event that is expected to bound best, as a mask; whether the second set has more of it."""
    best, event, swapped = -math.inf, np.ones(len(first), dtype=bool), False
    for swap, (p, q) in ((False, (first, second)), (True, (second, first))):
        order = np.argsort(-(p + 1) / (q + 1), kind="stable")
        hits, others = np.cumsum(p[order])[:-1] * scale, np.cumsum(q[order])[:-1] * scale
        values = lower_bound(hits, others, n, delta, confidence)
        k = int(np.argmax(values))
        if values[k] > best:
            best, swapped = values[k], swap
            event = np.isin(np.arange(len(order)), order[: k + 1])
    return event, swapped


def pilot_bound(first, second, n, delta):
    """What a few samples of a pair say of its epsilon, to compare pairs: no valid bound."""
    counts = padded(first, second)
    event, swapped = choose(*counts, 1, n, delta, 0.9)
    hits = [side[event].sum() for side in counts[:: -1 if swapped else 1]]
    return float(lower_bound(*hits, n, delta, 0.9))
