"""Cells of the feature space, made from public rows alone, and the cells nearest to a row."""

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans

__all__ = ["make_centers", "nearest_cells"]

#: Squared distances that differ by less, relative to the largest of a row, count as equal: last
#: digits of a transformed row may depend on the rows beside it.
_EQUAL = 1e-9

#: Cells whose squared distances, by a matrix product, differ by less are looked at again. It is in
#: units of the largest squares, of which rounding is a small part.
_CLOSE = 1e-7

#: Clusters are made of so many public rows at most: more take long and make about the same cells.
_MOST_CLUSTERED = 20_000

#: Clustering starts anew several times, and the best is kept, where rows times clusters are fewer.
_QUICKLY_CLUSTERED = 100_000
_N_STARTS = 10

#: So many distances are computed at a time: few enough that they stay in the processor's cache.
_DISTANCES_AT_A_TIME = 500_000


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
    n_init = _N_STARTS if len(public) * n_cells < _QUICKLY_CLUSTERED else 1
    clusters = KMeans(n_cells, n_init=n_init, max_iter=30, random_state=random_state).fit(public)
    return clusters.cluster_centers_


def nearest_cells(rows, centers, n_neighbors=1):
    """Return the cells nearest to each row, each by that row alone.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_columns)
        Transformed rows; those that hold anything but finite numbers have no nearest cell.
    centers : ndarray of shape (n_cells, n_columns)
        Centers of the cells.
    n_neighbors : int, default=1
        How many cells for each row.

    Returns
    -------
    ndarray of shape (n_rows, n_neighbors), int
        Distinct cells, ascending; of cells at equal distances the lowest. -1 in rows without a
        nearest cell.
    """
    n_neighbors = min(n_neighbors, len(centers))
    nearest = np.full((len(rows), n_neighbors), -1)
    with np.errstate(over="ignore", invalid="ignore"):
        sizes = (rows**2).sum(axis=1) + (centers**2).sum(axis=1).max()
        is_known = np.isfinite(16 * sizes)  # so are all distances
    known = np.flatnonzero(is_known)
    n_parts = max(1, len(known) * len(centers) // _DISTANCES_AT_A_TIME)
    for part in np.array_split(known, n_parts):
        nearest[part] = _nearest(rows[part], centers, n_neighbors)
    return nearest


def _nearest(rows, centers, n_neighbors):
    """Return the nearest cells of finite rows.

    A matrix product is fast, and rounds a row by those beside it. So what it leaves open is
    decided by the distances of each pair by itself.
    """
    size = (rows**2).sum(axis=1)
    squares = (centers**2).sum(axis=1)
    # The product adds the centers' squares as well, in place of another pass over all distances
    rough = np.column_stack([rows, np.ones(len(rows))]) @ np.vstack([-2 * centers.T, squares])
    nearest = np.empty((len(rows), n_neighbors), dtype=int)
    at = np.arange(len(rows))
    for k in range(n_neighbors):
        nearest[:, k] = rough.argmin(axis=1)
        last = rough[at, nearest[:, k]]
        rough[at, nearest[:, k]] = np.inf
    is_open = rough.min(axis=1) <= last + _CLOSE * (size + squares.max())
    if is_open.any():
        nearest[is_open] = _exactly_nearest(rows[is_open], centers, n_neighbors)
    return np.sort(nearest, axis=1)


def _exactly_nearest(rows, centers, n_neighbors):
    distance = cdist(rows, centers, "sqeuclidean")  # sums up each pair by itself
    equal = _EQUAL * distance.max(axis=1, initial=0)
    nearest = np.empty((len(rows), n_neighbors), dtype=int)
    at = np.arange(len(rows))
    for k in range(n_neighbors):
        shortest = distance.min(axis=1)
        nearest[:, k] = (distance <= (shortest + equal)[:, None]).argmax(axis=1)
        distance[at, nearest[:, k]] = np.inf
    return nearest
