"""Cells of the feature space, made from public rows alone, and the ballots that records cast."""

import math
from functools import partial

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans, kmeans_plusplus

from ..identifiers import spelled_groups
from ..levels import split
from ..rdp.table import GRID
from .transform import transformed_private

_SHARES = round(1 / GRID)

#: Squared distances that differ by less, relative to the shorter, count as equal.
_EQUAL = 1e-9

#: Cells whose squared distances, by a matrix product, differ by less are looked at again. It is in
#: units of the squares, of which rounding is a small part.
_CLOSE = 1e-7

#: Numbers of rows beside others may be rounded by so many times what was seen.
_MORE_ROUNDING = 100

#: Clusters are made of so many public rows at most: more take long and make about the same cells.
_MOST_CLUSTERED = 20_000

#: Clustering starts anew several times, and the best is kept, where rows times clusters are fewer.
_QUICKLY_CLUSTERED = 100_000
_N_STARTS = 10

#: Distances are computed for so many at a time, which bounds the memory that takes.
_DISTANCES_AT_A_TIME = 250_000

#: So many public rows are looked at: half make cells, and half are compared with them.
_MOST_ROWS = 4000
#: The share of rows whose distances count.
_KEPT = 0.9


def make_centers(public, n_cells, random_state):
    """Return the centers of cells: of clusters of the public rows.

    Parameters
    ----------
    public : ndarray of shape (n_public, n_columns)
        Transformed public rows.
    n_cells : int
        Number of clusters; equal rows make one.
    random_state : int or None
        Seeds the clustering.

    Returns
    -------
    ndarray of shape (n_centers, n_columns)
    """
    if len(public) > max(_MOST_CLUSTERED, 2 * n_cells):
        rng = np.random.default_rng(random_state)
        public = public[rng.choice(len(public), max(_MOST_CLUSTERED, 2 * n_cells), replace=False)]
    distinct = np.unique(public, axis=0)
    if len(distinct) <= n_cells:
        return distinct
    start, n_starts = "k-means++", _N_STARTS
    if len(public) * n_cells > _QUICKLY_CLUSTERED:
        # One candidate for each next center: several take most of a fit's time, and gain nothing
        start, _ = kmeans_plusplus(public, n_cells, random_state=random_state, n_local_trials=1)
        n_starts = 1
    clusters = KMeans(n_cells, init=start, n_init=n_starts, max_iter=30, random_state=random_state)
    return clusters.fit(public).cluster_centers_


def nearest_cells(rows, centers, n_neighbors=1, *, rounding=0.0, alone=None):
    """Return the cells nearest to each row, each by that row alone.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_columns)
        Transformed rows; those that hold anything but finite numbers have no nearest cell.
    centers : ndarray of shape (n_cells, n_columns)
        Centers of the cells.
    n_neighbors : int, default=1
        How many cells for each row.
    rounding : float, default=0.0
        By how much numbers differed on public rows, relative to the length of a row, where a row
        was transformed beside others; a hundred times as much is allowed for.
    alone : callable, default=None
        Called with the positions of some rows, ascending; returns these rows, each transformed by
        itself. It decides near the borders of cells.

    Returns
    -------
    ndarray of shape (n_rows, n_neighbors), int
        Distinct cells, ascending; of cells at equal distances the lowest. -1 in rows without a
        nearest cell.
    """
    n_neighbors = min(n_neighbors, len(centers))
    nearest = np.full((len(rows), n_neighbors), -1)
    is_open = np.zeros(len(rows), dtype=bool)
    for part in _parts(rows, centers):
        nearest[part], is_open[part] = _nearest(rows[part], centers, n_neighbors, rounding)
    open_rows = np.flatnonzero(is_open)
    if open_rows.size:
        again = rows[open_rows] if alone is None else alone(open_rows)
        nearest[open_rows] = _exactly_nearest(again, centers, n_neighbors)
    return np.sort(nearest, axis=1)


def _parts(rows, centers):
    """Return the places of rows that have distances from the centers, some at a time."""
    known = np.flatnonzero(have_distances(rows, centers))
    return np.array_split(known, max(1, len(known) * len(centers) // _DISTANCES_AT_A_TIME))


def have_distances(rows, centers):
    """Whether the distances of each row from all centers are finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        sizes = (rows**2).sum(axis=1) + (centers**2).sum(axis=1).max()
        return np.isfinite(16 * sizes)  # of which no squared distance is more than a part


def _nearest(rows, centers, n_neighbors, rounding):
    """Return the nearest cells of finite rows, and which rows are open: others may be nearer.

    A matrix product is fast, and rounds a row by those beside it. So does the transformer.
    """
    size = (rows**2).sum(axis=1)
    squares = (centers**2).sum(axis=1)
    # The product adds the centers' squares as well, in place of another pass over all distances
    known = np.vstack([-2 * centers.T, squares * (1 - _CLOSE)])  # at most what is right
    rough = np.column_stack([rows, np.ones(len(rows))]) @ known
    at = np.arange(len(rows))
    nearest = np.empty((len(rows), n_neighbors), dtype=int)
    for k in range(n_neighbors):
        nearest[:, k] = rough.argmin(axis=1)
        last = rough[at, nearest[:, k]]
        rough[at, nearest[:, k]] = np.inf
    squared = np.maximum(last + size, 0)
    length = np.sqrt(size) + math.sqrt(squares.mean())
    off = _MORE_ROUNDING * rounding * math.sqrt(rows.shape[1]) * length
    # Distances from two cells are off by so much each: is none of the others surely farther?
    slack = 4 * _CLOSE * (size + squared) + 4 * off * (np.sqrt(squared) + off)
    is_open = rough.min(axis=1) <= last + slack
    return nearest, is_open


def _exactly_nearest(rows, centers, n_neighbors):
    """Return the nearest cells of rows by the distance of each pair by itself."""
    nearest = np.full((len(rows), n_neighbors), -1)
    for part in _parts(rows, centers):
        distance = cdist(rows[part], centers, "sqeuclidean")
        at = np.arange(len(part))
        for k in range(n_neighbors):
            shortest = distance.min(axis=1)
            cells = (distance <= (shortest * (1 + _EQUAL))[:, None]).argmax(axis=1)
            nearest[part, k] = cells
            distance[at, cells] = np.inf
    return nearest


def explained_share(public, n_cells, random_state):
    """Return the share of the spread of public rows that cells of other public rows explain.

    A record tells only in which cell it lies. Where cells explain nothing of how rows differ, as
    where many columns have little to do with each other, what they tell of labels is nothing too.

    Parameters
    ----------
    public : ndarray of shape (n_public, n_columns)
        Transformed public rows.
    n_cells : int
        Number of cells.
    random_state : int
        Seeds the choice of rows and the clustering.

    Returns
    -------
    float
        From 0 to 1; 0 where all rows are equal.
    """
    rng = np.random.default_rng(random_state)
    some = rng.permutation(len(public))[:_MOST_ROWS]
    made_of, held_out = public[some[::2]], public[some[1::2]]
    if not len(held_out):
        return 0.0
    centers = make_centers(made_of, min(n_cells, len(made_of)), random_state)
    cells = nearest_cells(held_out, centers)[:, 0]
    # Of all but the tenth farthest off: a single row far away would be most of a spread
    far = ((made_of - np.median(made_of, axis=0)) ** 2).sum(axis=1)
    middle = made_of[far <= np.quantile(far, _KEPT)].mean(axis=0)
    spread = _trimmed(((held_out - middle) ** 2).sum(axis=1))
    left = _trimmed(((held_out - centers[cells]) ** 2).sum(axis=1))
    return float(np.clip(1 - left / spread, 0, 1)) if spread > 0 else 0.0


def _trimmed(squares):
    return np.sort(squares)[: max(1, int(_KEPT * len(squares)))].mean()


# --- what records cast in cells, in whole shares of a ballot -------------------------------------


def cast_in_cells(block, *, transformer, centers, n_neighbors, largest, rounding, n_classes):
    """Return the table of what a `Block` of records casts; all else follows from public rows.

    Parameters
    ----------
    block : Block
        The records.
    transformer : transformer
        Fitted.
    centers : ndarray of shape (n_cells, n_columns)
        Of the cells.
    n_neighbors : int
        Cells that each record casts a ballot in.
    largest : ndarray of shape (n_features,) or None
        From `largest_sizes`, of the public rows.
    rounding : float
        As in `nearest_cells`.
    n_classes : int
        Number of classes.

    Returns
    -------
    ndarray of shape (n_cells, n_classes), int
        As from `count_ballots`.
    """
    n_cells, n_columns = centers.shape
    numbers_of = partial(transformed_private, transformer, block.X, n_columns, largest=largest)
    cells = nearest_cells(numbers_of(), centers, n_neighbors, rounding=rounding, alone=numbers_of)
    return count_ballots(
        cells,
        block.codes,
        n_cells=n_cells,
        n_classes=n_classes,
        sample_weight=block.weight,
        groups=block.groups,
    )


def count_ballots(cells, codes, *, n_cells, n_classes, sample_weight=None, groups=None):
    """Count the ballots of records in a table.

    Parameters
    ----------
    cells : ndarray of shape (n_samples, n_neighbors), int
        The cells of each record; -1 for a record that casts no ballot.
    codes : ndarray of shape (n_samples,)
        Classes of the records, or positions along levels, between which ballots are split.
    n_cells, n_classes : int
        Shape of the table.
    sample_weight : ndarray of shape (n_samples,) or None
        What a ballot of each record counts, clipped to [0, 1].
    groups : ndarray of shape (n_samples,), int, or None
        The group of each record, numbered from 0. A group casts the mean of its records' ballots.

    Returns
    -------
    ndarray of shape (n_cells, n_classes), int
        In whole shares, `rdp.table.GRID` of a ballot each, rounded down for each record, and each
        group. So the order in which they are added makes no difference.
    """
    weight = np.ones(len(codes)) if sample_weight is None else np.clip(sample_weight, 0, 1)
    classes, shares = split(codes, np.floor(weight * _SHARES).astype(np.int64))
    entry = (cells * n_classes)[:, :, None] + classes[:, None, :]
    casts = np.broadcast_to((cells >= 0)[:, :, None], entry.shape)
    shares = np.broadcast_to(shares[:, None, :], entry.shape)[casts]
    entry = entry[casts]
    n_entries = n_cells * n_classes
    if groups is not None:
        group = np.broadcast_to(groups[:, None, None], casts.shape)[casts]
        pairs, number = np.unique(group * n_entries + entry, return_inverse=True)
        group, entry = np.divmod(pairs, n_entries)
        shares = _sums_of(shares, number, len(pairs)) // np.bincount(groups)[group]
    return _sums_of(shares, entry, n_entries).reshape(n_cells, n_classes)


def _sums_of(shares, place, n_places):
    total = np.zeros(n_places, dtype=np.int64)
    np.add.at(total, place, shares)
    return total


def numbered(groups, n_records):
    """Return the number of each record's group, from 0; None if there are no groups."""
    if groups is None:
        return None
    # By their spelling, one for each identifier whatever its type and that of others
    return np.unique(spelled_groups(groups, n_records), return_inverse=True)[1]
