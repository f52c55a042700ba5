"""A mechanism under audit: what it samples, what it states, and the epsilon that follows."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..rdp.checks import check_delta, check_log_proba, check_votes
from ..rdp.facts import has_distribution
from .bounds import check_neighbours, padded

#: Vote counts that are handed to the mechanism at a time: 8 MB.
_COUNTS_AT_A_TIME = 2**20


@dataclass(frozen=True)
class AuditedMechanism:
    """An aggregator or a function, with the student's probabilities if it uses them."""

    aggregator: Any
    student_proba: Any = None

    def draw(self, rows, rng):
        """Draw one outcome for each row of votes."""
        if not hasattr(self.aggregator, "aggregate"):
            return self.aggregator(rows, rng)
        return self.aggregator.aggregate(rows, *self._student_of(rows), random_state=rng)

    def sample(self, histogram, n_samples, rng):
        """Count the outcomes of samples of one histogram, "no answer" first."""
        counts = np.zeros(len(histogram) + 1, dtype=np.int64)
        size = max(1, _COUNTS_AT_A_TIME // len(histogram))
        for start in range(0, n_samples, size):
            rows = np.tile(histogram, (min(size, n_samples - start), 1))
            labels = np.asarray(self.draw(rows, rng))
            if labels.shape != (len(rows),) or labels.dtype.kind not in "iu" or labels.min() < -1:
                raise ValueError(
                    f"the mechanism must return {len(rows)} whole numbers; got {labels.shape}"
                )
            counts = added(counts, np.bincount(labels + 1))
        return counts

    def stated_log_proba(self, votes):
        """Return the outcome log probabilities that the mechanism states, row by row."""
        log_proba = self.aggregator.outcome_log_proba(votes, *self._student_of(votes))
        return check_log_proba(log_proba, n_classes=votes.shape[1])

    def stated_proba(self, votes):
        """Return stated probabilities in the order of `sample`, or None if nothing is stated."""
        if not has_distribution(self.aggregator):
            return None
        proba = np.exp(self.stated_log_proba(votes))
        n_classes = votes.shape[1]
        refused = proba[:, n_classes:].sum(axis=1, keepdims=True)  # 0 without such a column
        return np.clip(np.hstack([refused, proba[:, :n_classes]]), 0, 1)

    def _student_of(self, rows):
        """Return what a mechanism gets of a student beside votes, as a tuple; it may be empty."""
        return () if self.student_proba is None else (np.tile(self.student_proba, (len(rows), 1)),)


def added(counts, more):
    """Add counts of outcomes, of which there may be different numbers."""
    return sum(padded(counts, more))


# --- the epsilon that follows from what is stated ------------------------------------------------


def exact_epsilon(aggregator, votes, neighbour_votes, delta=1e-5, *, student_proba=None):
    """Exact epsilon of one query on a pair of histograms: the hockey-stick divergence.

    Parameters
    ----------
    aggregator : Aggregator
        The mechanism; only its `outcome_log_proba` is used.
    votes, neighbour_votes : array-like of shape (n_classes,) or (n_pairs, n_classes)
        Vote counts, and the same with one vote moved.
    delta : float, default=1e-5
        Delta of the guarantee, in [0, 1).
    student_proba : array-like of shape (n_classes,), default=None
        The student's probabilities, for mechanisms that use them.

    Returns
    -------
    float or ndarray of shape (n_pairs,)
        The smallest epsilon that holds at `delta` in both directions, at least 0. Like everything
        that depends on votes, it is private.

    Raises
    ------
    ValueError
        If the histograms are not neighbours, or an argument is out of range.

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
    first = check_votes(np.atleast_2d(np.asarray(votes)))
    second = check_votes(np.atleast_2d(np.asarray(neighbour_votes)))
    check_neighbours(first, second)
    delta = check_delta(delta, allow_zero=True)
    epsilon = epsilon_of_pairs(AuditedMechanism(aggregator, student_proba), first, second, delta)
    return epsilon if np.ndim(votes) > 1 else float(epsilon[0])


def epsilon_of_pairs(mechanism, votes, neighbours, delta):
    """Return the exact epsilon of each pair, the larger of the two directions."""
    log_p = mechanism.stated_log_proba(votes)
    log_q = mechanism.stated_log_proba(neighbours)
    there = _epsilon_one_way(log_p, log_q, delta)
    back = _epsilon_one_way(log_q, log_p, delta)
    return np.maximum(np.maximum(there, back), 0.0)


def _epsilon_one_way(log_p, log_q, delta):
    """Return the largest ``log((P(E) - delta) / Q(E))`` over events E, row by row."""
    log_delta = math.log(delta) if delta else -math.inf
    log_p_event, log_q_event = log_proba_of_events(log_p, log_q)
    above = log_p_event > log_delta
    # log(P - delta) = log P + log(1 - delta / P); events up to delta count for nothing
    log_p_above = np.where(above, log_p_event, 0.0)
    share_of_delta = np.exp(np.minimum(log_delta - log_p_above, 0)) * above
    log_excess = log_p_above + np.log1p(-share_of_delta)
    with np.errstate(invalid="ignore"):
        loss = np.where(above, log_excess - log_q_event, -np.inf)
    return loss.max(axis=1)


def log_proba_of_events(log_p, log_q):
    """Return log P and log Q of the events of the largest ratios P / Q, row by row.

    Column k is the event of the k + 1 outcomes with the largest ratios; the certain event is left
    out.
    """
    with np.errstate(invalid="ignore"):
        log_ratio = log_p - log_q
    log_ratio = np.where(np.isnan(log_ratio), -np.inf, log_ratio)  # impossible on both sides
    order = np.argsort(-log_ratio, axis=1, kind="stable")[:, :-1]
    log_p_event = np.logaddexp.accumulate(np.take_along_axis(log_p, order, axis=1), axis=1)
    log_q_event = np.logaddexp.accumulate(np.take_along_axis(log_q, order, axis=1), axis=1)
    return log_p_event, log_q_event
