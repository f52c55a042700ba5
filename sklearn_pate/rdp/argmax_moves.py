"""What each move of one vote does to the outcomes of a noisy argmax."""

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from .checks import check_log_proba

#: Above these, the log of a change might overflow, or tables take more than 16 MB each.
_LARGEST_CHANGE = 100.0
_LARGEST_TABLE = 2_000_000

#: Counts are at most that far apart, in units of the noise.
_WIDEST = 1000.0


def argmax_moves(noise, counts):
    """Outcomes of one histogram, and the factors by which each move of a vote changes them.

    Parameters
    ----------
    noise : Gaussian or Laplace
        The noise on every count.
    counts : ndarray of shape (n_classes,)
        Vote counts.

    Returns
    -------
    (log_p, log_ratio), each of shape (n_moves, n_levels + 2), or None
        Log probabilities before each move, and the logs of the factors. A row stands for all moves
        from a class with one count to a class with another. A column stands for all classes that
        have one count and keep it, and the last two for the classes where the vote leaves and
        arrives; without any class, it is -inf and 0. None if the noise is very small.

    Notes
    -----
    Given that class o wins, its noisy count x has the density
    ``pdf(x - n_o) prod_{k != o} cdf(x - n_k) / P(o)``. A move changes two of these factors, and
    the mean of what both change is ``P'(o) / P(o)``: some matrix products for all moves together.
    """
    levels, n_at = np.unique(counts, return_counts=True)
    one_vote = 1 / noise.scale
    if (levels[-1] - levels[0]) * one_vote > _WIDEST:
        return None
    near_levels = np.unique(np.concatenate([levels - 1, levels, levels + 1]))
    x, log_weights = noise.nodes(near_levels * one_vote, n_classes=counts.size)
    ends = np.array([x.min() - levels[-1] * one_vote, x.max() - levels[0] * one_vote])
    largest_change = _changes(noise, ends, one_vote).largest
    if largest_change > _LARGEST_CHANGE or levels.size * x.size > _LARGEST_TABLE:
        return None
    offset = x - levels[:, None] * one_vote
    log_cdf = noise.log_cdf(offset)
    log_density = noise.log_pdf(offset) - log_cdf + n_at @ log_cdf + log_weights
    log_p = logsumexp(log_density, axis=1)
    log_density -= log_p[:, None]
    matters = log_density.max(axis=0) > -50 - 4 * largest_change
    density = np.exp(log_density[:, matters])
    log_ratio = _log_mean_changes(density, _changes(noise, offset[:, matters], one_vote))
    return _kinds_of_moves(levels, n_at, log_p, log_ratio)


class _Changes(NamedTuple):
    """Logs of what a vote less, or more, for a class changes at each node."""

    cdf_less: np.ndarray
    cdf_more: np.ndarray
    pdf_less: np.ndarray
    pdf_more: np.ndarray

    @property
    def largest(self):
        return max(np.abs(change).max() for change in self)


def _changes(noise, offset, one_vote):
    """Changes at nodes `offset` above a count. All are monotone, as cdf and pdf are log-concave."""
    log_cdf = noise.log_cdf(offset)
    log_pdf = noise.log_pdf(offset)
    return _Changes(
        noise.log_cdf(offset + one_vote) - log_cdf,
        noise.log_cdf(offset - one_vote) - log_cdf,
        noise.log_pdf(offset + one_vote) - log_pdf,
        noise.log_pdf(offset - one_vote) - log_pdf,
    )


def _log_mean_changes(density, changes):
    """Log of ``P' / P``, (n_levels, n_levels, n_levels + 2): giver, taker, outcome."""
    cdf_less, cdf_more, pdf_less, pdf_more = (np.exp(change) for change in changes)
    n_levels = len(density)
    ratio = np.empty((n_levels, n_levels, n_levels + 2))
    for giver in range(n_levels):
        ratio[giver, :, :-2] = cdf_more @ (density * cdf_less[giver]).T
    ratio[:, :, -2] = (density * pdf_less) @ cdf_more.T
    ratio[:, :, -1] = cdf_less @ (density * pdf_more).T
    return np.log(ratio)


def _kinds_of_moves(levels, n_at, log_p, log_ratio):
    """Rows for the moves that are possible, with the number of classes of each outcome."""
    n_levels = levels.size
    possible = np.ones((n_levels, n_levels), dtype=bool)
    possible[levels == 0] = False
    possible[np.diag(n_at == 1)] = False
    giver, taker = np.nonzero(possible)
    row = np.arange(giver.size)
    n_classes = np.ones((giver.size, n_levels + 2))
    n_classes[:, :-2] = n_at
    n_classes[row, giver] -= 1
    n_classes[row, taker] -= 1
    outcome = np.column_stack([np.tile(np.arange(n_levels), (giver.size, 1)), giver, taker])
    with np.errstate(divide="ignore"):
        log_before = log_p[outcome] + np.log(n_classes)
    log_change = np.where(n_classes > 0, log_ratio[giver, taker], 0.0)
    _refine_likeliest(log_before, log_change)
    for log_proba in (log_before, log_before + log_change):
        total = np.exp(log_proba).sum(axis=1, keepdims=True)
        check_log_proba(np.log(total))
    return log_before, log_change


def _refine_likeliest(log_p, log_ratio):
    """In place: near 1, the log of a probability, and of its change, from those of all others."""
    row = np.arange(len(log_p))
    likeliest = log_p.argmax(axis=1)
    p = np.exp(log_p)
    gain = p * np.expm1(log_ratio)
    p[row, likeliest] = 0
    gain[row, likeliest] = 0
    others = p.sum(axis=1)
    change = -gain.sum(axis=1) / (1 - others)
    near_1 = (others < 0.5) & (change > -0.5)
    row, likeliest = row[near_1], likeliest[near_1]
    log_p[row, likeliest] = np.log1p(-others[near_1])
    log_ratio[row, likeliest] = np.log1p(change[near_1])
