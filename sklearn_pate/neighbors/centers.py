"""Cells of the feature space: their centers, and the cells nearest to rows."""

import math
from collections.abc import Callable

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans, kmeans_plusplus

#: Squared distances that differ by less, relative to the shorter, count as equal.
_EQUAL = 1e-9

#: If squared distances from a matrix product differ by less, they are computed again. The unit is
#: the squared length of rows; rounding is much smaller.
_CLOSE = 1e-7

#: Assumed rounding of rows in a batch, as a multiple of the rounding of public rows.
_MORE_ROUNDING = 100

#: Maximal number of public rows to cluster: more take long and make about the same cells.
_MOST_CLUSTERED = 20_000

#: Product of rows and clusters up to which clustering is repeated, and the best result is kept.
_QUICKLY_CLUSTERED = 100_000

_N_STARTS = 10

#: Number of distances computed at a time, which limits the memory they take.
_DISTANCES_AT_A_TIME = 250_000

#: Maximal number of public rows in `explained_share`: half make cells, the others are held out.
_MOST_ROWS = 4000

#: Fraction of these rows that are used; rows with larger distances are ignored.
_KEPT = 0.9


def make_centers(public: np.ndarray, n_cells: int, random_state: int | None) -> np.ndarray:
    """Return the centers of cells, which are clusters of the public rows.

    Parameters
    ----------
    public : ndarray of shape (n_public, n_columns)
        Transformed public rows.
    n_cells : int
        Number of clusters, or fewer if there are fewer distinct rows.
    random_state : int or None
        Seed of the clustering.

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
        # Several candidates for each center would take most of the time of a fit without a benefit
        start, _ = kmeans_plusplus(public, n_cells, random_state=random_state, n_local_trials=1)
        n_starts = 1
    clusters = KMeans(n_cells, init=start, n_init=n_starts, max_iter=30, random_state=random_state)
    return clusters.fit(public).cluster_centers_


def nearest_cells(
    rows: np.ndarray,
    centers: np.ndarray,
    n_neighbors: int = 1,
    *,
    rounding: float = 0.0,
    alone: Callable[[np.ndarray], np.ndarray] | None = None,
) -> np.ndarray:
    """Return the nearest cells of each row, independently of other rows.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_columns)
        Transformed rows; rows with infinite or missing numbers have no nearest cell.
    centers : ndarray of shape (n_cells, n_columns)
        Centers of the cells.
    n_neighbors : int, default=1
        Number of cells for each row.
    rounding : float, default=0.0
        Difference between the numbers of public rows transformed alone and together, relative to
        the length of a row. Private rows may differ by a hundred times as much.
    alone : callable, default=None
        Called with ascending positions of rows near borders between cells. It returns these rows,
        each transformed by itself, and they determine the cells. None uses `rows` instead.

    Returns
    -------
    ndarray of shape (n_rows, n_neighbors), int
        Indices of distinct cells in ascending order. If cells have equal distances, the lowest
        index is chosen. Rows without a nearest cell have -1.
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


def _parts(rows: np.ndarray, centers: np.ndarray) -> list[np.ndarray]:
    """Return the positions of rows with finite distances from the centers, in blocks."""
    known = np.flatnonzero(have_distances(rows, centers))
    return np.array_split(known, max(1, len(known) * len(centers) // _DISTANCES_AT_A_TIME))


def have_distances(rows: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """Return whether the distances of each row from all centers are finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        sizes = (rows**2).sum(axis=1) + (centers**2).sum(axis=1).max()
        return np.isfinite(16 * sizes)  # above all squared distances


def _nearest(
    rows: np.ndarray, centers: np.ndarray, n_neighbors: int, rounding: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the nearest cells of finite rows, and a mask of rows whose nearest cells are unsure.

    A matrix product is fast, but rounds a row differently in another batch of rows, and so may the
    transformer.
    """
    size = (rows**2).sum(axis=1)
    squares = (centers**2).sum(axis=1)
    # The product includes the centers' squares, which saves another pass over all distances
    known = np.vstack([-2 * centers.T, squares * (1 - _CLOSE)])  # a lower bound
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
    # Both distances may be inaccurate, so a row is open unless all other cells are farther away by
    # at least this slack
    slack = 4 * _CLOSE * (size + squared) + 4 * off * (np.sqrt(squared) + off)
    is_open = rough.min(axis=1) <= last + slack
    return nearest, is_open


def _exactly_nearest(rows: np.ndarray, centers: np.ndarray, n_neighbors: int) -> np.ndarray:
    """Return the nearest cells of rows, with the distance of each pair computed by itself."""
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


def explained_share(public: np.ndarray, n_cells: int, random_state: int) -> float:
    """Return the fraction of the variance of public rows that cells of other public rows explain.

    A record contributes only the cell in which it lies. If cells do not explain the differences
    between rows, for example with many columns that are nearly independent, they do not explain
    the labels either.

    Parameters
    ----------
    public : ndarray of shape (n_public, n_columns)
        Transformed public rows.
    n_cells : int
        Number of cells.
    random_state : int
        Seed of the choice of rows and of the clustering.

    Returns
    -------
    float
        Fraction from 0 to 1; 0 if all rows are equal.
    """
    rng = np.random.default_rng(random_state)
    some = rng.permutation(len(public))[:_MOST_ROWS]
    made_of, held_out = public[some[::2]], public[some[1::2]]
    if not len(held_out):
        return 0.0
    centers = make_centers(made_of, min(n_cells, len(made_of)), random_state)
    cells = nearest_cells(held_out, centers)[:, 0]
    # Without the farthest tenth, because a single distant row would dominate the variance
    far = ((made_of - np.median(made_of, axis=0)) ** 2).sum(axis=1)
    middle = made_of[far <= np.quantile(far, _KEPT)].mean(axis=0)
    spread = _trimmed(((held_out - middle) ** 2).sum(axis=1))
    left = _trimmed(((held_out - centers[cells]) ** 2).sum(axis=1))
    return float(np.clip(1 - left / spread, 0, 1)) if spread > 0 else 0.0


def _trimmed(squares: np.ndarray) -> float:
    return np.sort(squares)[: max(1, int(_KEPT * len(squares)))].mean()
