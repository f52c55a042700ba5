"""Cells of the feature space: their centers, and the cells nearest to rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.spatial.distance import cdist

#: Squared distances that differ by less, relative to the shorter, count as equal.
_EQUAL = 1e-9

#: Smallest bound of the error of a matrix product, relative to the lengths of its factors. The
#: rounding of float64 is much smaller.
_CLOSE = 3e-8

#: If scaled squared distances differ by less, they are computed again: float32 rounds them to zero.
_TINY = 1e-30

#: Assumed rounding of rows in a batch, as a multiple of the rounding of public rows.
_MORE_ROUNDING = 100

#: Maximal number of public rows to cluster: more take long and make about the same cells.
_MOST_CLUSTERED = 20_000

#: Product of rows and clusters up to which rows are clustered by k-means, several times, and the
#: best result is kept. Otherwise, cells are made by a few steps of k-means from random rows.
_QUICKLY_CLUSTERED = 100_000

_N_STEPS = 2

_N_STARTS = 10

#: Number of distances computed at a time, which limits the memory they take.
_DISTANCES_AT_A_TIME = 500_000

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
    rng = np.random.default_rng(random_state)
    if len(public) > max(_MOST_CLUSTERED, 2 * n_cells):
        public = public[rng.choice(len(public), max(_MOST_CLUSTERED, 2 * n_cells), replace=False)]
    distinct = distinct_rows(public)[0]
    if len(distinct) <= n_cells:
        return distinct
    if len(public) * n_cells <= _QUICKLY_CLUSTERED:
        from sklearn.cluster import KMeans

        public = np.ascontiguousarray(public, dtype=float)
        starts = iter(_far_apart(public - public.mean(axis=0), n_cells, random_state))
        clusters = KMeans(
            n_cells, init=lambda *_, **__: next(starts), n_init=_N_STARTS, max_iter=30
        )
        return clusters.fit(public).cluster_centers_
    # More steps, or a start far from each other, take long and do not make better cells
    centers = distinct[rng.choice(len(distinct), n_cells, replace=False)]
    for _ in range(_N_STEPS):
        centers = _means_of_cells(public, centers, nearest_cells(public, centers)[:, 0])
    return centers


def _far_apart(rows: np.ndarray, n_cells: int, random_state: int | None) -> np.ndarray:
    """Return several starts of k-means by the greedy k-means++, (n_starts, n_cells, n_columns).

    The results are those of `sklearn.cluster.kmeans_plusplus`, called again and again with one
    generator. All starts are computed together, which is about four times faster for few rows.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_columns)
        Rows with mean 0.
    n_cells : int
        Number of centers of each start.
    random_state : int or None
        Seed.

    References
    ----------
    Arthur, Vassilvitskii (2007). k-means++: the advantages of careful seeding. SODA.
    """
    n_tried = 2 + int(np.log(n_cells))
    uniform = np.random.RandomState(random_state).uniform(
        size=(_N_STARTS, 1 + (n_cells - 1) * n_tried)
    )
    squares, ones = np.einsum("ij,ij->i", rows, rows), np.ones(len(rows))

    def distances(chosen: np.ndarray) -> np.ndarray:
        squared = -2 * (rows[chosen] @ rows.T)
        squared += squares[chosen][:, None]
        squared += squares
        return np.maximum(squared, 0, out=squared)

    equally = np.cumsum(ones / len(rows))
    centers = np.empty((_N_STARTS, n_cells), dtype=int)
    centers[:, 0] = np.searchsorted(equally / equally[-1], uniform[:, 0], side="right")
    nearest = distances(centers[:, 0])  # squared distances to the nearest center
    total, start = nearest @ ones, np.arange(_N_STARTS)
    for k in range(1, n_cells):
        # Of several random rows, likely ones if far from all centers, the best is the next center
        at = uniform[:, 1 + (k - 1) * n_tried : 1 + k * n_tried] * total[:, None]
        sums = np.cumsum(nearest, axis=1)
        tried = np.array([np.searchsorted(*pair) for pair in zip(sums, at, strict=True)])
        np.minimum(tried, len(rows) - 1, out=tried)  # rounding may lead beyond the last row
        after = distances(tried.ravel()).reshape(_N_STARTS, n_tried, len(rows))
        np.minimum(after, nearest[:, None], out=after)
        totals = after @ ones
        best = totals.argmin(axis=1)
        centers[:, k] = tried[start, best]
        nearest, total = after[start, best], totals[start, best]
    return rows[centers]


def _means_of_cells(rows: np.ndarray, centers: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """Return the mean of the rows in each cell; the center of a cell without rows is unchanged."""
    n_rows = np.bincount(cells, minlength=len(centers))
    entries = np.ones(len(cells)), (cells, np.arange(len(cells)))
    members = sparse.csr_array(entries, shape=(len(centers), len(cells)))
    means = (members @ rows) / np.maximum(n_rows, 1)[:, None]
    return np.where(n_rows[:, None] > 0, means, centers).astype(centers.dtype)


def distinct_rows(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct rows of a table, and the position of each row among them.

    They are in the order of a hash, which is found faster than the order of the numbers.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_columns)
        Finite numbers.

    Returns
    -------
    distinct : ndarray of shape (n_distinct, n_columns)
        The distinct rows.
    positions : ndarray of shape (n_rows,), int
        ``distinct[positions]`` are the rows.
    """
    if not rows.size:
        return np.unique(rows, axis=0), np.zeros(len(rows), dtype=int)
    rows = np.ascontiguousarray(rows, dtype=float) + 0.0  # 0.0 and -0.0 have other hashes
    factors = np.random.default_rng(0).integers(2**64, size=rows.shape[1], dtype=np.uint64)
    hashes = pd.util.hash_array(rows.ravel()).reshape(rows.shape) @ (factors | np.uint64(1))
    _, first, positions = np.unique(hashes, return_index=True, return_inverse=True)
    distinct, positions = rows[first], positions.ravel()
    if not np.array_equal(distinct[positions], rows):  # different rows have the same hash
        distinct, positions = np.unique(rows, axis=0, return_inverse=True)
    return distinct, positions.ravel()


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
    open_rows = np.flatnonzero(have_distances(rows, centers))
    for dtype in (np.float32, np.float64):
        products = _Products.of(centers, dtype)
        still_open = []
        for part in _in_parts(open_rows, len(centers)):
            nearest[part], is_open = products.nearest(rows[part], n_neighbors, rounding)
            still_open.append(part[is_open])
        open_rows = np.concatenate(still_open)
    if open_rows.size:
        again = rows[open_rows] if alone is None else alone(open_rows)
        nearest[open_rows] = _exactly_nearest(again, centers, n_neighbors)
    return np.sort(nearest, axis=1)


def _in_parts(positions: np.ndarray, n_cells: int) -> list[np.ndarray]:
    """Split positions of rows into blocks with few distances from cells."""
    return np.array_split(positions, max(1, len(positions) * n_cells // _DISTANCES_AT_A_TIME))


def have_distances(rows: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """Return whether the distances of each row from all centers are finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        sizes = (rows**2).sum(axis=1) + (centers**2).sum(axis=1).max()
        return np.isfinite(16 * sizes)  # above all squared distances


class _Products(NamedTuple):
    """Lower bounds of squared distances by matrix products, in one precision.

    A matrix product is fast, but rounds a row differently in another batch of rows, and so may the
    transformer. So a row has a nearest cell only if it has the same one under any rounding.

    Attributes
    ----------
    middle : ndarray of shape (n_columns,)
        Subtracted from rows and centers.
    scale : float
        Rows and centers are divided by it; then half of the centers are no longer than 1.
    known : ndarray of shape (n_columns + 1, n_cells)
        Scaled centers times -2, and their squared lengths minus the error of the products.
    mean_length, largest_length : float
        Root mean square and largest length of the scaled centers.
    error : float
        Bound of the rounding of a product, relative to the lengths of its factors.
    """

    middle: np.ndarray
    scale: float
    known: np.ndarray
    mean_length: float
    largest_length: float
    error: float

    @classmethod
    def of(cls, centers: np.ndarray, dtype: type) -> _Products:
        """Return the products with some centers; float32 takes half of the time of float64."""
        # n products are added with a relative error of at most n units in the last place, in any
        # order; a few more are the rounding of the factors (Higham 2002, section 3.1)
        error = max((centers.shape[1] + 8) * float(np.finfo(dtype).eps), _CLOSE)
        middle = np.median(centers, axis=0)  # not moved by a single distant center
        away = centers - middle
        lengths = np.sqrt((away**2).sum(axis=1))
        scale = float(np.median(lengths)) or float(lengths.max()) or 1.0
        away = away / scale
        squares = (away**2).sum(axis=1)
        known = np.vstack([-2 * away.T, squares * (1 - 2 * error)])
        with np.errstate(over="ignore"):
            known = known.astype(dtype)
        lengths = math.sqrt(squares.mean()), math.sqrt(squares.max())
        return cls(middle, scale, known, *lengths, error)

    def nearest(
        self, rows: np.ndarray, n_neighbors: int, rounding: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the nearest cells of finite rows, and whether they are unsure for each row."""
        away = np.ones((len(rows), rows.shape[1] + 1))
        np.subtract(rows, self.middle, out=away[:, :-1])
        away[:, :-1] /= self.scale
        size = np.einsum("ij,ij->i", away[:, :-1], away[:, :-1])
        at = np.arange(len(rows))
        nearest = np.empty((len(rows), n_neighbors), dtype=int)
        with np.errstate(over="ignore", invalid="ignore"):
            rough = away.astype(self.known.dtype) @ self.known
            for k in range(n_neighbors):
                nearest[:, k] = rough.argmin(axis=1)
                last = rough[at, nearest[:, k]].astype(float)
                rough[at, nearest[:, k]] = np.inf
            squared = np.maximum(last + size, 0)
            length = np.sqrt(size) + self.mean_length
            off = _MORE_ROUNDING * rounding * math.sqrt(rows.shape[1]) * length
            # Both distances may be inaccurate, so a row is open unless all other cells are farther
            # away by at least this slack. `rough` is below a squared distance minus `size` by at
            # most 2 * error * (size + 2 * squares), and the squares of the nearest center are at
            # most 2 * (size + squared)
            slack = 12 * self.error * (size + squared) + 4 * off * (np.sqrt(squared) + off)
            is_sure = rough.min(axis=1) > last + slack + _TINY
            # A sum that overflows is infinite in one order of its terms and not in another
            most = float(np.finfo(rough.dtype).max) / 4
            overflows = (np.sqrt(size) + self.largest_length) ** 2 >= most
        return nearest, ~is_sure | overflows


def _exactly_nearest(rows: np.ndarray, centers: np.ndarray, n_neighbors: int) -> np.ndarray:
    """Return the nearest cells of rows, with the distance of each pair computed by itself."""
    nearest = np.full((len(rows), n_neighbors), -1)
    for part in _in_parts(np.flatnonzero(have_distances(rows, centers)), len(centers)):
        distance = cdist(rows[part], centers, "sqeuclidean")
        at = np.arange(len(part))
        for k in range(n_neighbors):
            shortest = distance.min(axis=1)
            cells = (distance <= (shortest * (1 + _EQUAL))[:, None]).argmax(axis=1)
            nearest[part, k] = cells
            distance[at, cells] = np.inf
    return nearest


def cells_without_own_row(
    rows: np.ndarray,
    centers: np.ndarray,
    n_neighbors: int = 1,
    *,
    cells: Callable[[int], np.ndarray] | None = None,
) -> np.ndarray:
    """Return the nearest cells of rows that made the centers, as if each row had not.

    A center is the mean of its rows, so these rows are nearer to it than other rows of the same
    population are. Without the row x, the center c of n rows is ``c - (x - c) / (n - 1)``, at
    n / (n - 1) times the distance. A cell with a single row would not exist.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_columns)
        The rows that made the centers.
    centers : ndarray of shape (n_cells, n_columns)
        From `make_centers`.
    n_neighbors : int, default=1
        Number of cells for each row.
    cells : callable, default=None
        Returns the result of `nearest_cells` for a number of cells. None computes it.

    Returns
    -------
    ndarray of shape (n_rows, n_neighbors), int
        Indices of distinct cells in ascending order.
    """
    cells = partial(nearest_cells, rows, centers) if cells is None else cells
    if len(centers) <= n_neighbors:
        return cells(n_neighbors)
    own = cells(1)
    n_members = np.bincount(own[:, 0], minlength=len(centers))[own]
    with np.errstate(divide="ignore"):
        farther = np.where(n_members > 1, n_members / (n_members - 1), np.inf)
    candidates = cells(n_neighbors + 1)
    distance = np.stack(
        [((rows - centers[each]) ** 2).sum(axis=1) for each in candidates.T], axis=1
    )
    # A center at the row itself stays there only if it has other rows, which are equal
    with np.errstate(invalid="ignore"):
        distance_to_rest = np.where(n_members > 1, distance * farther**2, np.inf)
    distance = np.where(candidates == own, distance_to_rest, distance)
    is_kept = np.ones(candidates.shape, dtype=bool)
    is_kept[np.arange(len(rows)), distance.argmax(axis=1)] = False
    return candidates[is_kept].reshape(len(rows), n_neighbors)


def explained_share(public: np.ndarray, n_cells: int, random_state: int) -> float:
    """Return the fraction of the variance of public rows that cells of other public rows explain.

    A record contributes only the cell in which it lies. If cells do not explain the differences
    between rows, for example with many columns that are nearly independent, they do not explain
    the labels either. The cells are made by a few steps of k-means from random rows, which explain
    about as much as those of `make_centers`, and take a tenth of the time for few rows.

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
    if len(some) < 2:
        return 0.0
    rows = public[some] - np.median(public[some[::2]], axis=0)
    made_of, held_out = rows[::2], rows[1::2]
    scale = np.abs(rows).max() or 1.0  # squares of huge numbers overflow
    made_of_32, held_out_32 = ((part / scale).astype(np.float32) for part in (made_of, held_out))
    centers = made_of_32[:n_cells]  # random rows
    for _ in range(_N_STEPS):
        centers = _means_of_cells(made_of_32, centers, _roughly_nearest(made_of_32, centers))
    left = held_out - scale * centers[_roughly_nearest(held_out_32, centers)]
    # Without the farthest tenth, because a single distant row would dominate the variance
    far = (made_of**2).sum(axis=1)
    middle = made_of[far <= np.quantile(far, _KEPT)].mean(axis=0)
    spread, left = (_trimmed((away**2).sum(axis=1)) for away in (held_out - middle, left))
    return float(np.clip(1 - left / spread, 0, 1)) if spread > 0 else 0.0


def _roughly_nearest(rows: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """Return the nearest center of each row, up to the rounding of a matrix product."""
    halves = np.einsum("ij,ij->i", centers, centers) / 2
    parts = _in_parts(np.arange(len(rows)), len(centers))
    return np.concatenate([(rows[part] @ centers.T - halves).argmax(axis=1) for part in parts])


def _trimmed(squares: np.ndarray) -> float:
    return np.sort(squares)[: max(1, int(_KEPT * len(squares)))].mean()
