"""A mechanism under audit: what it samples, and what it states of itself."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..rdp.checks import check_log_proba
from ..rdp.facts import has_distribution

#: Vote counts that are handed to the mechanism at a time: 8 MB.
_COUNTS_AT_A_TIME = 2**20


@dataclass(frozen=True)
class AuditedMechanism:
    """An aggregator or a function, with the student's probabilities if it uses them."""

    aggregator: Any
    student_proba: Any = None

    def has_independent_queries(self):
        """Whether each query has its own noise; where queries share it, there are no steps."""
        steps = getattr(self.aggregator, "steps", None)
        if steps is None:
            return True
        return steps([1e12]) is not None  # at such a high order, costs are quick to compute

    def draw(self, rows, rng):
        """Draw one outcome for each row of votes."""
        aggregate = getattr(self.aggregator, "aggregate", None)
        if aggregate is None:
            return self.aggregator(rows, rng)
        if self.student_proba is None:
            return aggregate(rows, random_state=rng)
        return aggregate(rows, self._student_rows(len(rows)), random_state=rng)

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
        if self.student_proba is None:
            log_proba = self.aggregator.outcome_log_proba(votes)
        else:
            student_rows = self._student_rows(len(votes))
            log_proba = self.aggregator.outcome_log_proba(votes, student_rows)
        return check_log_proba(log_proba, n_classes=votes.shape[1])

    def stated_proba(self, votes):
        """Return stated probabilities in the order of `sample`, or None if nothing is stated."""
        if not has_distribution(self.aggregator):
            return None
        proba = np.exp(self.stated_log_proba(votes))
        n_classes = votes.shape[1]
        refused = proba[:, n_classes:]
        if refused.shape[1] == 0:
            refused = np.zeros((len(votes), 1))
        return np.clip(np.hstack([refused, proba[:, :n_classes]]), 0, 1)

    def without_statement(self):
        """Return the sampler alone: nothing that follows from it uses what is stated."""
        return AuditedMechanism(self.draw)

    def _student_rows(self, n_rows):
        return np.tile(self.student_proba, (n_rows, 1))


def padded(*counts):
    """Return copies of equal length: outcomes need not be classes, so there may be more of them."""
    size = max(map(len, counts))
    return [np.pad(part, (0, size - len(part))) for part in counts]


def added(counts, more):
    """Add counts of outcomes, of which there may be different numbers."""
    counts, more = padded(counts, more)
    return counts + more
