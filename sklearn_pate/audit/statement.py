"""What a mechanism states of itself against what it samples."""

import numpy as np
from scipy.stats import binom

from ..rdp.checks import check_log_proba
from ..rdp.facts import has_distribution
from .sampling import draw, pilot_bound, sample

#: Samples of other histograms, as a part of those of the pair.
TO_COMPARE = 0.1

#: Fewest samples of a histogram: with fewer, fewer histograms are looked at.
_LEAST = 200

#: Classes whose ties and unanimity are looked at.
_MOST_CLASSES = 64


def stated_log_proba(aggregator, votes, student_proba):
    """Outcome log probabilities that the mechanism states, row by row."""
    proba = None if student_proba is None else np.tile(student_proba, (len(votes), 1))
    given = () if proba is None else (proba,)
    return check_log_proba(aggregator.outcome_log_proba(votes, *given), n_classes=votes.shape[1])


def stated_proba(aggregator, votes, student_proba):
    """Stated probabilities in the order of `sample`, None if the mechanism does not say."""
    if not has_distribution(aggregator):
        return None
    stated = np.exp(stated_log_proba(aggregator, votes, student_proba))
    m = votes.shape[1]
    refused = stated[:, m:] if stated.shape[1] > m else np.zeros((len(votes), 1))
    return np.clip(np.hstack([refused, stated[:, :m]]), 0, 1)


def unstated(aggregator, student_proba):
    """The sampler alone, as a function: nothing that follows from it uses the statement."""

    def run(votes, rng):
        return draw(aggregator, votes, student_proba, rng)

    return run


def p_value(counts, proba):
    """Largest probability, from any histogram and outcome, of counts as far from the stated ones.

    Parameters
    ----------
    counts : list of ndarray
        Sampled outcomes of each histogram, as `sample` has them.
    proba : ndarray of shape (n_histograms, n_classes + 1)
        Their stated probabilities.

    Returns
    -------
    float
        The smallest two-sided binomial p-value times the number of tests, at most 1: whatever the
        histograms, at most `alpha` with probability at most `alpha` if the statement is true.
    """
    smallest = 1.0
    for seen, stated in zip(counts, proba, strict=True):
        if seen[len(stated) :].any():  # outcomes that are not even named
            return 0.0
        hits, n = seen[: len(stated)], seen.sum()
        sides = np.minimum(binom.cdf(hits, n, stated), binom.sf(hits - 1, n, stated))
        smallest = min(smallest, 2 * sides.min() * proba.size)
    return float(smallest)


def plain_pairs(n_teachers, n_classes, rng):
    """Pairs of histograms that no statement leads to, the most telling first.

    Ties of two classes and margins of 1 to 4 on both sides of them, unanimity, ties that a vote of
    a third class breaks, ties of all classes; then leads of 4, 8, 16, ... over one class or over
    all others, each for another class; last, ties and unanimity for other classes, in random order.
    """
    pairs = {}

    def add(votes, giver, taker):
        votes = np.asarray(votes)
        if votes.min() >= 0 and votes[giver] > 0:
            other = votes.copy()
            other[giver] -= 1
            other[taker] += 1
            pairs.setdefault(frozenset([tuple(votes), tuple(other)]), (votes, other))

    def of_two(top, second, lead):
        votes = np.zeros(n_classes, dtype=int)
        votes[top] = (n_teachers + lead + 1) // 2
        votes[second] = n_teachers - votes[top]
        add(votes, top, second)

    def over_all(top, lead):
        each = (n_teachers - lead) // n_classes
        votes = np.full(n_classes, each)
        votes[(top + np.arange(n_teachers - n_classes * each - lead)) % n_classes] += 1
        votes[top] += lead
        add(votes, top, (top - 1) % n_classes)

    for lead in (0, 2, -2, n_teachers):
        of_two(0, 1, lead)
    if n_classes > 2:
        votes = np.zeros(n_classes, dtype=int)
        votes[:3] = n_teachers // 2, (n_teachers - 1) // 2, 1
        add(votes, 2, 1)
        over_all(0, 0)
    leads = 2 ** np.arange(2, max(int(n_teachers).bit_length(), 2))
    for k, lead in enumerate(leads):
        of_two((k + 1) % n_classes, k % n_classes, lead)
        if n_classes > 2:
            over_all(k % n_classes, lead)
    for top in 1 + rng.permutation(n_classes - 1)[:_MOST_CLASSES]:
        for lead in (0, 2, n_teachers):
            of_two(top, (top + 1) % n_classes, lead)
    return np.array(list(pairs.values())).transpose(1, 0, 2)


def compare(aggregator, pairs, *, n_samples, alarm, delta, student_proba, rng):
    """Compare samples of pairs of histograms with the statement.

    Parameters
    ----------
    aggregator : Aggregator
        The mechanism.
    pairs : ndarray of shape (2, n_pairs, n_classes)
        The most telling first; as many are used as samples suffice for.
    n_samples : int
        Those of each histogram of the audit; at most ``2 * TO_COMPARE`` as many are drawn here.
    alarm : float
        Probability of a contradiction although the statement is true, at most.
    delta, student_proba, rng
        As in the audit.

    Returns
    -------
    contradicts : bool or None
        Whether the samples contradict the statement; None if there is none.
    pairs : ndarray of shape (2, n_pairs, n_classes)
        Those that samples tell apart best first.
    """
    n_outcomes = int(2 * TO_COMPARE * n_samples)
    pairs = pairs[:, : n_outcomes // (2 * _LEAST)]
    histograms, row = np.unique(np.concatenate(pairs), axis=0, return_inverse=True)
    stated = stated_proba(aggregator, histograms, student_proba) if len(histograms) else None
    if stated is None:
        return None, pairs
    n = n_outcomes // len(histograms)
    counts = [sample(aggregator, votes, n, student_proba, rng) for votes in histograms]
    contradicts = p_value(counts, stated) <= alarm
    if contradicts:
        sides = row.reshape(2, -1)
        found = [pilot_bound(counts[k], counts[j], n, delta) for k, j in sides.T]
        pairs = pairs[:, np.argsort(-np.array(found), kind="stable")]
    return contradicts, pairs
