"""Public part of a schema release: ranges, edges and categories from noisy counts.

All results are computed from published numbers, so they have no privacy cost.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import norm
from sklearn.isotonic import isotonic_regression

from ..encoding.values import text_of_number
from .counts import (
    FIRST_NUMBER,
    GAP,
    MAX_POWER,
    MIN_POWER,
    N_LEAVES,
    N_LEVELS,
    N_POWERS,
    TEXT,
    Kind,
    Limits,
    SchemaRelease,
    Values,
)

#: Probability that noise alone makes a bin of any column look occupied.
_FALSE_ALARM = 0.01

#: Among neighboring bins with a significant sum, a bin is occupied above this many standard
#: deviations of the noise.
_NEXT = 1.5

#: A column has gaps if their count exceeds this many standard deviations of the noise.
_GAPS = 4.0

#: Minimal number of columns without texts for which a common range can replace their own ranges.
_MIN_SHARED = 16

#: Largest number of intervals between the edges of a column.
_MAX_INTERVALS = 64

#: With fewer intervals, inner edges would be noise, so only the ends of the range are used.
_MIN_INTERVALS = 4

#: A column is categorical if it has at most this many distinct whole numbers, and each of them has
#: at least this many records, in standard deviations of the noise.
_MAX_CATEGORIES = 12
_MIN_RECORDS = 25

#: Fraction of an interval that is cut off at either end.
_END = 0.25

#: An interval with less than this fraction of the intended mass, such as noise after a frequent
#: value, is joined with the next one.
_MIN_BETWEEN = 0.5

#: A column with fewer intervals of its own gets the common edges of the columns with its range.
_MIN_OWN = 8

#: Smallest number of leaves within a bin of the first step.
_MIN_LEAVES = 2

#: An interval holds at least this many standard deviations of the error of a cumulative count.
_MIN_MASS = 2.0

#: Measured error of a cumulative count, in standard deviations of the noise on a node.
_ERROR = 0.7

#: Declared bounds are kept if, within them, the numbers from -1 to 1 have at least this standard
#: deviation, and this correlation with their ranks.
_MIN_STD = 0.1
_MIN_CORRELATION = 0.92

#: Bounds of a column in which nothing was found.
NOTHING_FOUND = (-1.0, 1.0)

#: A column with at most this number of edges, whose sizes differ by at most this factor, is far
#: from zero. Noise may double one end of a single interval once or twice more.
_FEW_EDGES, _NEAR, _NEAR_AT_TWO = 4, 4.0, 16.0


def _powers() -> np.ndarray:
    return 2.0 ** np.arange(MIN_POWER, MAX_POWER + 2)


def _bin_edges() -> tuple[np.ndarray, np.ndarray]:
    """Return the lower and the upper edge of each bin of numbers, (n_number_bins,)."""
    powers = _powers()
    low = np.concatenate([[0.0], powers[1:-1]])  # the smallest bin begins at zero
    high = powers[1:]
    lower = np.concatenate([-high[::-1], [0.0], low])
    upper = np.concatenate([-low[::-1], [0.0], high])
    return lower, upper


def kinds_of(noisy: np.ndarray, sd: float, limits: Sequence[Limits] = ()) -> list[Kind]:
    """Return the kind of each column from the counts of the first step.

    The mean counts of all columns without texts have less noise and determine a common range. A
    column without an occupied bin gets this range, and so do all of these columns if there are many
    of them and at least half of their own ranges are similar to it. A column with limits has a
    range within them, and gets the common range only if all of these columns have the same limits.

    Parameters
    ----------
    noisy : ndarray of shape (n_columns, N_BINS)
        Noisy counts, in records.
    sd : float
        Standard deviation of the noise on each count.
    limits : sequence of (float, float) or None, default=()
        As in `SchemaRelease`.

    Returns
    -------
    list of Kind
    """
    limits = limits or (None,) * len(noisy)
    within = np.array([_bins_within(bounds) for bounds in limits])
    numbers = np.where(within, noisy[:, FIRST_NUMBER:], 0.0)
    sure = norm.isf(_FALSE_ALARM / noisy.size) * sd
    found = np.where(numbers > sure, numbers, 0).sum(axis=1)
    may_be_texts = np.array([bounds is None for bounds in limits])
    are_texts = may_be_texts & (noisy[:, TEXT] > sure) & (noisy[:, TEXT] > found)
    others = np.flatnonzero(~are_texts).tolist()
    own = {k: _occupied(numbers[k], sd, _FALSE_ALARM / len(noisy)) for k in others}
    pooled = numbers[others].mean(axis=0) if len(others) else np.zeros(numbers.shape[1])
    sd_pooled = sd / math.sqrt(max(1, len(others)))
    shared = _occupied(pooled, sd_pooled, _FALSE_ALARM)
    have_one = len({limits[k] for k in others}) == 1
    common = limits[others[0]] if have_one else None
    shared_leaves = None if shared is None else _leaves(shared, pooled, sd_pooled, common)
    are_alike = _are_alike([own[k] for k in others], shared)
    kinds = []
    for k, is_text in enumerate(are_texts):
        if is_text:
            kinds.append(Kind(True))
            continue
        may_share = limits[k] is None or (have_one and shared_leaves is not None)
        if (own[k] is None or are_alike) and may_share:
            kinds.append(Kind(False, shared_leaves, is_shared=shared_leaves is not None))
        else:
            kinds.append(Kind(False, _own_leaves(own[k], numbers[k], sd, limits[k])))
    return kinds


def _own_leaves(
    bins: tuple[int, int] | None, counts: np.ndarray, sd: float, bounds: Limits
) -> np.ndarray | None:
    """Return the edges of the leaves of a column, by its own counts."""
    if bins is not None:
        return _leaves(bins, counts, sd, bounds)
    return None if bounds is None else np.linspace(bounds[0], bounds[1], N_LEAVES + 1)


def _bins_within(bounds: Limits) -> np.ndarray:
    """Return whether each bin of numbers has numbers within bounds, (n_number_bins,)."""
    low, high = (-math.inf, math.inf) if bounds is None else bounds
    lower, upper = _bin_edges()
    lower[0], upper[-1] = -math.inf, math.inf  # the outermost bins are open
    return (lower <= high) & (upper >= low)


def _are_alike(own: list[Any], shared: Any) -> bool:
    """Return whether many columns have about the largest value of their common range."""
    found = [bins for bins in own if bins is not None]
    if shared is None or len(own) < _MIN_SHARED or not found:
        return False
    near = [abs(last - shared[1]) <= 1 for _, last in found]
    return bool(np.mean(near) >= 0.5)


def _occupied(counts: np.ndarray, sd: float, false_alarm: float) -> tuple[int, int] | None:
    """Return the first and the last occupied bin of numbers; None if there is none.

    Sums of two and of four neighboring bins are tested as well: they can be significant even if no
    single bin is.
    """
    z = norm.isf(false_alarm / (3 * len(counts)))
    is_sure = np.zeros(len(counts), dtype=bool)
    for width in (1, 2, 4):
        sums = np.convolve(counts, np.ones(width), "valid")
        for start in np.flatnonzero(sums > z * sd * math.sqrt(width)):
            window = slice(start, start + width)
            is_sure[window] |= counts[window] > _NEXT * sd
            is_sure[start + np.argmax(counts[window])] = True
    places = np.flatnonzero(is_sure)
    return (int(places[0]), int(places[-1])) if len(places) else None


def _leaves(
    bins: tuple[int, int], counts: np.ndarray, sd: float, bounds: Limits = None
) -> np.ndarray:
    """Return the edges of the leaves; bins with larger counts have more leaves.

    The leaves are within the bounds, if there are any. Zero has one leaf. Neighboring bins with
    counts that do not exceed the noise share one leaf.
    """
    first, last = bins
    lower, upper = _bin_edges()
    if bounds is not None:
        lower, upper = (np.clip(edges, *bounds) for edges in (lower, upper))
    parts: list[tuple[float, float, float]] = []  # lower edge, upper edge, and mass
    was_empty = False
    for place in range(first, last + 1):
        is_zero = place == N_POWERS
        if lower[place] == upper[place] and not is_zero:
            continue  # a bin with a bound alone: its numbers count in the next leaf
        is_empty = not is_zero and counts[place] < _NEXT * sd and first < place < last
        mass = 0.0 if is_zero or is_empty else max(float(counts[place]), sd)
        if is_empty and was_empty:
            parts[-1] = parts[-1][0], upper[place], 0.0
        else:
            parts.append((lower[place], upper[place], mass))
        was_empty = is_empty
    if bounds is not None and (not parts or parts[0][0] == parts[-1][1]):  # a single number
        return np.linspace(bounds[0], bounds[1], N_LEAVES + 1)
    if len(parts) == 1 and parts[0][2] == 0:  # a column of zeros
        return np.concatenate([[0.0], np.linspace(2.0**MIN_POWER, 1.0, N_LEAVES)])
    masses = np.array([mass for *_, mass in parts])
    n_leaves = np.where(masses > 0, _MIN_LEAVES, 1)
    n_free = N_LEAVES - n_leaves.sum()
    n_leaves += np.floor(masses / masses.sum() * n_free).astype(int)
    n_leaves[np.argmax(masses)] += N_LEAVES - n_leaves.sum()
    edges = [
        np.linspace(low, high, n, endpoint=False)
        for (low, high, _), n in zip(parts, n_leaves, strict=True)
    ]
    joined = np.concatenate([*edges, [parts[-1][1]]])
    # The leaf of zero ends at the smallest number above it
    after_zero = np.flatnonzero(joined[1:] == joined[:-1])
    joined[after_zero + 1] = np.nextafter(joined[after_zero], np.inf)
    return joined


def consistent(levels: list[np.ndarray]) -> np.ndarray:
    """Return consistent counts of the leaves: each node of the tree is the sum of its children.

    The noise has the same variance on each node. This is the least-squares estimate of Hay,
    Rastogi, Miklau and Suciu (2010).

    Parameters
    ----------
    levels : list of ndarray
        Noisy counts of each level, from the level with 2 nodes to the leaves.
    """
    means, variances = [levels[-1]], [1.0]
    for counts in levels[-2::-1]:
        below, variance = means[0].reshape(-1, 2).sum(axis=1), 2 * variances[0]
        weight = variance / (1 + variance)
        means.insert(0, weight * counts + (1 - weight) * below)
        variances.insert(0, weight)
    out = means[0]
    for counts in means[1:]:
        pairs = counts.reshape(-1, 2)
        out = (pairs + ((out - pairs.sum(axis=1)) / 2)[:, None]).ravel()
    return out


def edges_of(
    leaves: np.ndarray, levels: list[np.ndarray], sd: float, bounds: Limits = None
) -> tuple[float, ...] | list[str]:
    """Return edges of intervals that hold about equal parts of a column.

    Declared bounds that suit the column are kept instead. If the column has few distinct whole
    numbers, with many records of each, they are categories, because effects of weekdays or of codes
    are rarely monotonic.

    Parameters
    ----------
    leaves : ndarray of shape (N_LEAVES + 1,)
        Edges of the leaves.
    levels : list of ndarray
        Noisy counts of the levels of the column's tree.
    sd : float
        Standard deviation of the noise on each count.
    bounds : (float, float) or None, default=None
        Declared bounds of the column.

    Returns
    -------
    tuple of float, or list of str
        At least two increasing numbers; with much noise, the ends of the range. A list of the
        numbers as texts if they are categories.
    """
    counts = consistent(levels)
    total = max(counts.sum(), sd)
    n_intervals = int(np.clip(total / (_MIN_MASS * _ERROR * sd), 1, _MAX_INTERVALS))
    if n_intervals < _MIN_INTERVALS:
        is_wide = bounds is None or leaves[-1] - leaves[0] < _MIN_STD * (bounds[1] - bounds[0])
        return _plain(leaves) if bounds is None or is_wide else bounds
    cumulative = isotonic_regression(np.cumsum(counts), y_min=0.0, y_max=total)
    if bounds is not None and _suit(bounds, leaves, cumulative / total):
        return bounds
    parts = np.linspace(0, 1, n_intervals + 1)
    parts[0], parts[-1] = _END / n_intervals, 1 - _END / n_intervals
    places = np.unique(np.searchsorted(cumulative, parts * total))
    mass = _MIN_BETWEEN * total / n_intervals
    kept = _with_mass(places[places < N_LEAVES], cumulative, mass)
    edges = sorted({_simplest(*leaves[place : place + 2]) for place in kept})
    has_many = counts[kept].min() >= _MIN_RECORDS * sd
    is_all = abs(counts[kept].sum() - total) < _MIN_BETWEEN * total / n_intervals
    are_whole = all(edge == int(edge) for edge in edges)
    if 2 < len(edges) <= _MAX_CATEGORIES and has_many and is_all and are_whole:
        return [text_of_number(edge) for edge in edges]
    return tuple(edges) if len(edges) > 1 else _plain(leaves)


def _suit(bounds: tuple[float, float], leaves: np.ndarray, cumulative: np.ndarray) -> bool:
    """Return whether a column, in units of its bounds, is spread out and not very skewed.

    Then its numbers are about as good as their ranks, and have no noise.
    """
    low, high = bounds
    shares = np.diff(cumulative, prepend=0.0)
    numbers = ((leaves[1:] + leaves[:-1]) / 2 - low) / (high - low) * 2 - 1
    ranks = 2 * cumulative - shares - 1
    pair = np.array([numbers, ranks])
    covariance = np.cov(pair, aweights=shares / shares.sum(), ddof=0)
    std, std_of_ranks = np.sqrt(np.diag(covariance))
    return bool(std >= _MIN_STD and covariance[0, 1] >= _MIN_CORRELATION * std * std_of_ranks)


def _with_mass(places: np.ndarray, cumulative: np.ndarray, mass: float) -> list[int]:
    """Omit places with less than this mass since the last place that was kept."""
    kept: list[int] = []
    for place in places:
        if not kept or cumulative[place] - cumulative[kept[-1]] >= mass:
            kept.append(int(place))
    return kept


def _plain(leaves: np.ndarray) -> tuple[float, ...]:
    """Return the lowest and the highest edge of the leaves, as the bounds of the column."""
    return float(leaves[0]), float(leaves[-1])


def _simplest(low: float, high: float) -> float:
    """Return the number from low to below high with the fewest decimals."""
    for n_decimals in range(8):
        number = math.ceil(low * 10**n_decimals) / 10**n_decimals
        if low <= number < high:
            return number
    return float(low)


def estimated(
    release: SchemaRelease, ranges: np.ndarray, values: Values, kinds: list[Kind]
) -> tuple[list[Any], list[bool], list[int]]:
    """Return the schema of each column.

    Parameters
    ----------
    release : SchemaRelease
        The schema release, with the scale of its noise.
    ranges : ndarray of shape (n_columns, N_BINS)
        Noisy counts of the first step, in records.
    values : Values
        Noisy counts of the second step.
    kinds : list of Kind
        From `kinds_of`.

    Returns
    -------
    list of tuple or list
        For each column, a tuple of edges or a list of categories, which is empty if no text was
        found. A column of few whole numbers has categories, too.
    list of bool
        Whether each column has gaps.
    list of int
        Positions of the columns in which nothing was found.
    """
    has_gaps = (ranges[:, GAP] > _GAPS * release.sd_ranges).tolist()
    sharing = [k for k, kind in enumerate(kinds) if kind.is_shared]
    shared = None
    if sharing:
        levels = [np.mean([values.trees[k][i] for k in sharing], axis=0) for i in range(N_LEVELS)]
        sd = values.sd_trees / math.sqrt(len(sharing))
        bounds = release.limits[sharing[0]] if release.limits else None  # those of all of them
        shared = edges_of(kinds[sharing[0]].leaves, levels, sd, bounds)  # type: ignore[arg-type]
    limits = release.limits or (None,) * len(kinds)
    columns: list[Any] = []
    nothing = []
    for k, kind in enumerate(kinds):
        if kind.is_text:
            columns.append(sorted(values.texts[k]))
        elif kind.leaves is not None:
            edges = edges_of(kind.leaves, values.trees[k], values.sd_trees, limits[k])
            is_noisy = isinstance(edges, tuple) and len(edges) <= _MIN_OWN
            columns.append(shared if kind.is_shared and is_noisy else edges)
        else:
            columns.append(NOTHING_FOUND)
        if not columns[-1] or (kind.leaves is None and not kind.is_text):
            nothing.append(k)
    return columns, has_gaps, nothing


def max_intervals(n_records: int, sd: float) -> float:
    """Return the largest number of intervals that a column of numbers can have, given the noise.

    Parameters
    ----------
    n_records : int
        Number of records.
    sd : float
        Standard deviation of the noise on the counts of a tree.
    """
    return n_records / (_MIN_MASS * _ERROR * sd)


def is_far_from_zero(column: Any) -> bool:
    """Return whether an estimated column has few edges, because zero is far from its range.

    Ranges are found by powers of two, and leaves divide a range evenly: numbers that differ by much
    less than their size share few leaves.
    """
    edges = np.asarray(getattr(column, "edges", ()), dtype=float)
    if not 2 <= len(edges) <= _FEW_EDGES:
        return False
    sizes = np.abs(edges)
    is_one_sided = bool((edges > 0).all() or (edges < 0).all())
    near = _NEAR_AT_TWO if len(edges) == 2 else _NEAR
    return is_one_sided and float(sizes.max()) <= near * float(sizes.min())
