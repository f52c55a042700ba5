"""What a mechanism states of itself against what it samples."""

import numpy as np
from scipy.stats import binom

from .bounds import pilot_bound

#: Samples of other histograms, as a part of those of the pair.
TO_COMPARE = 0.1

#: Fewest samples of a histogram: with fewer, fewer histograms are looked at.
_LEAST = 200


def p_value(counts, proba):
    """Largest probability, from any histogram and outcome, of counts as far from the stated ones.

    Parameters
    ----------
    counts : list of ndarray
        Sampled outcomes of each histogram, as `Mechanism.sample` counts them.
    proba : ndarray of shape (n_histograms, n_classes + 1)
        Their stated probabilities.

    Returns
    -------
    float
        The smallest two-sided binomial p-value times the number of tests, at most 1. If the
        statement is true, it is at most `alpha` with probability at most `alpha`, whatever the
        histograms.
    """
    smallest = 1.0
    for seen, stated in zip(counts, proba, strict=True):
        if seen[len(stated) :].any():  # outcomes that are not even named
            return 0.0
        hits = seen[: len(stated)]
        n_samples = seen.sum()
        at_most = binom.cdf(hits, n_samples, stated)
        at_least = binom.sf(hits - 1, n_samples, stated)
        sides = np.minimum(at_most, at_least)
        smallest = min(smallest, 2 * sides.min() * proba.size)
    return float(smallest)


def compare(mechanism, pairs, *, n_samples, alarm, delta, rng):
    """Compare samples of pairs of histograms with the statement.

    Parameters
    ----------
    mechanism : Mechanism
        What is audited.
    pairs : ndarray of shape (2, n_pairs, n_classes)
        The most telling first; as many are used as there are samples for.
    n_samples : int
        Those of each histogram of the audit; at most ``2 * TO_COMPARE`` as many are drawn here.
    alarm : float
        Largest probability of a contradiction although the statement is true.
    delta : float
        As in the audit.
    rng : Generator
        Source of the samples.

    Returns
    -------
    contradicts : bool or None
        Whether the samples contradict the statement; None if there is none.
    pairs : ndarray of shape (2, n_pairs, n_classes)
        Those that were used; after a contradiction, those that samples tell apart best first.
    """
    n_outcomes = int(2 * TO_COMPARE * n_samples)
    pairs = pairs[:, : n_outcomes // (2 * _LEAST)]
    histograms, rows = np.unique(np.concatenate(pairs), axis=0, return_inverse=True)
    if len(histograms) == 0:
        return None, pairs
    stated = mechanism.stated_proba(histograms)
    if stated is None:
        return None, pairs
    n_of_each = n_outcomes // len(histograms)
    counts = [mechanism.sample(votes, n_of_each, rng) for votes in histograms]
    contradicts = p_value(counts, stated) <= alarm
    if contradicts:
        row_pairs = rows.reshape(2, -1).T
        bounds = [pilot_bound(counts[k], counts[j], n_of_each, delta) for k, j in row_pairs]
        pairs = pairs[:, np.argsort(-np.array(bounds), kind="stable")]
    return contradicts, pairs
