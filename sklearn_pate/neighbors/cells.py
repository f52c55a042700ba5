"""Cells of the feature space, made from public rows alone, and the cells nearest to a row."""

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans

__all__ = ["make_centers", "nearest_cells"]

#: Squared distances that differ by less, relative to the largest of a row, count as equal: last
#: digits of a transformed row may depend on the rows beside it.
_EQUAL = 1e-9

#: Distances are computed for so many at a time, which bounds the memory that takes.
_DISTANCES_AT_A_TIME = 4_000_000


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
    distinct = np.unique(public, axis=0)
    if len(distinct) <= n_cells:
        return distinct
    clusters = KMeans(n_cells, n_init=1, max_iter=100, random_state=random_state).fit(public)
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
        Distinct cells, the nearest first; of cells at equal distances the lowest. -1 in rows
        without a nearest cell.
    """
    n_neighbors = min(n_neighbors, len(centers))
    nearest = np.full((len(rows), n_neighbors), -1)
    size = max(1, _DISTANCES_AT_A_TIME // len(centers))
    for start in range(0, len(rows), size):
        part = slice(start, start + size)
        nearest[part] = _nearest(rows[part], centers, n_neighbors)
    return nearest


def _nearest(rows, centers, n_neighbors):
    # cdist adds up each pair by itself; a matrix product would round a row by those beside it
    with np.errstate(over="ignore", invalid="ignore"):
        distance = cdist(rows, centers, "sqeuclidean")
        is_known = np.isfinite(distance).all(axis=1)
        equal = _EQUAL * distance.max(axis=1)
    nearest = np.full((len(rows), n_neighbors), -1)
    distance = distance[is_known]
    equal = equal[is_known]
    found = np.empty((len(distance), n_neighbors), dtype=int)
    at = np.arange(len(distance))
    for k in range(n_neighbors):
        shortest = distance.min(axis=1)
        found[:, k] = (distance <= (shortest + equal)[:, None]).argmax(axis=1)
        distance[at, found[:, k]] = np.inf
    nearest[is_known] = found
    return nearest
