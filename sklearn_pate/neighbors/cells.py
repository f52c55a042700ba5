"""Cells of the feature space, the ballots that records cast, and what a noisy table says."""

import math
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans, kmeans_plusplus
from sklearn.pipeline import make_union

from ..association import p_value_of_counts
from ..encoding.fitted_steps import (
    affine_by_hand,
    nearness_by_hand,
    numbers_by_hand,
    scaler_by_hand,
    sharpened_by_hand,
)
from ..encoding.vectorizer import transformed, transformed_private
from ..identifiers import normalize_groups
from ..rdp.discrete import TICKS

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


def cast_in_cells(block, *, transformer, centers, n_neighbors, largest, rounding, target):
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
    target : targets.Target
        The values that records vote for.

    Returns
    -------
    ndarray of shape (n_cells, n_classes), int
        As from `count_votes`.
    """
    n_cells, n_columns = centers.shape
    numbers_of = partial(transformed_private, transformer, block.X, n_columns, largest=largest)
    cells = nearest_cells(numbers_of(), centers, n_neighbors, rounding=rounding, alone=numbers_of)
    _, *given = block
    return count_votes(cells, *given, n_cells=n_cells, target=target)


def count_votes(cells, codes, sample_weight=None, groups=None, *, n_cells, target):
    """Count the ballots of records in a table.

    Parameters
    ----------
    cells : ndarray of shape (n_samples, n_neighbors), int
        The cells of each record; -1 for a record that casts no ballot.
    codes : ndarray of shape (n_samples,)
        Labels or numbers of the records as codes, from ``target.encode``.
    sample_weight : ndarray of shape (n_samples,) or None
        What a ballot of each record counts, clipped to [0, 1].
    groups : ndarray of shape (n_samples,), int, or None
        The group of each record, numbered from 0. A group casts the mean of its records' ballots.
    n_cells : int
        Number of cells.
    target : targets.Target
        The values that records vote for, which are the columns of the table.

    Returns
    -------
    ndarray of shape (n_cells, n_classes), int
        In whole shares, `rdp.discrete.GRID` of a ballot each, rounded down for each record, and
        each group. So the order in which they are added makes no difference.
    """
    weight = np.ones(len(codes)) if sample_weight is None else np.clip(sample_weight, 0, 1)
    classes, shares = target.split(codes, np.floor(weight * TICKS).astype(np.int64))
    n_classes = target.n_values
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
    return np.bincount(place, shares, n_places).astype(np.int64)  # floats hold them exactly


def numbered(groups, n_records):
    """Return the number of each record's group, from 0; None if there are no groups."""
    if groups is None:
        return None
    # By their spelling, one for each identifier whatever its type and that of others
    return np.unique(normalize_groups(groups, n_records), return_inverse=True)[1]


# --- what a noisy table of ballots says of any row: all of this is free ---------------------------


#: Likeness of public rows and cells is computed for so many pairs at a time: what caches hold.
_PAIRS_AT_A_TIME = 250_000

#: Height and width of the process are chosen on so many cells at most.
_MOST_COMPARED = 300

#: Least rate of a class, before rates are made to sum to 1.
LEAST_RATE = 1e-3

#: Powers of rates that are tried: what is smoothed is pulled together.
POWERS = (1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)

#: Rows of like rates that labels are dealt to together.
_ASSIGNED_TOGETHER = 16

#: Likelihoods that differ by less, relative to them, are alike.
_PRECISE = 1e-6

#: The logarithm of a slope that is none.
_NO_SLOPE = -60.0

#: A table is split in so many ways, each time with so much of the noise added to one of its parts.
_N_SPLITS = 20
_ADDED_NOISE = 0.5


@dataclass(frozen=True, eq=False, repr=False)
class ReleasedTable:
    """A noisy table of ballots, and what it says of any row: all of this is published.

    `PATEClassifier` has it as `table_` where records vote.

    Attributes
    ----------
    counts : ndarray of shape (n_cells, n_classes)
        Ballots with noise; those of a cell may be below zero.
    centers : ndarray of shape (n_cells, n_columns)
        Centers of the cells, as the transformer's numbers.
    transformer : transformer
        Fitted on public rows.
    smoothing : dict
        The other arguments of `neighbors.cells.smooth`: public numbers, and the target.
    n_neighbors : int
        Number of cells that a record counts in.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn_pate import PATEClassifier
    >>> from sklearn_pate.methods import ReverseNeighbors
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = PATEClassifier(method=ReverseNeighbors(n_cells=9), epsilon=10, classes=[0, 1, 2])
    >>> clf = clf.fit(X[::2], y[::2], X_public=X[1:100:2])
    >>> clf.table_.counts.shape
    (9, 3)
    >>> clf.table_.class_proba(X[101::2]).shape  # of rows that were not there
    (25, 3)
    """

    counts: np.ndarray
    centers: np.ndarray
    transformer: Any
    smoothing: dict
    n_neighbors: int = 1

    @property
    def class_counts(self):
        """Noisy number of votes for each class, and the standard deviation of that noise."""
        return self.counts.sum(axis=0), self.smoothing["noise_std"] * math.sqrt(len(self.counts))

    @cached_property
    def p_value(self):
        """Of the counts, if classes have equal rates in all cells."""
        return p_value_of_counts(
            self.counts,
            self.smoothing["total"],
            self.centers,
            self.smoothing["noise_std"],
            n_votes=self.n_neighbors,
            splits_votes=self.smoothing["target"].splits_votes,
        )

    @cached_property
    def probability_field(self):
        """The class probabilities at any place, a `ProbabilityField`: computed when needed."""
        return smooth(self.counts, self.centers, **self.smoothing)

    @cached_property
    def accuracy(self):
        """Estimated share of the records whose class the table predicts, by `splits`."""
        shares = [
            np.take_along_axis(hidden, means.argmax(axis=1)[:, None], axis=1).sum() / hidden.sum()
            for means, hidden in self.probability_field.splits(self.counts)
        ]
        return float(np.clip(np.mean(shares), 0, 1))

    def __repr__(self):
        n_cells, n_classes = self.counts.shape
        return f"ReleasedTable({n_cells} cells, {n_classes} classes)"

    def class_proba(self, X):
        """Return the rates of the classes near rows, each by itself.

        Parameters
        ----------
        X : array-like with n_samples rows
            With the features of the public rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Rows sum to 1.

        Raises
        ------
        ValueError
            If the transformer makes anything but finite numbers of a row.
        """
        return self.probability_field.class_proba(numbers_of_public(self.transformer, X, "X"))

    def by_hand(self):
        """Return fitted steps of scikit-learn's own that make the rates of rows."""
        return [*numbers_by_hand(self.transformer), *self.probability_field.by_hand()]

    def read(self, X):
        """Return rates, and labels dealt by them, of public rows.

        Parameters
        ----------
        X : array-like with n_public rows
            With the features of the public rows.

        Returns
        -------
        class_proba : ndarray of shape (n_public, n_classes)
            As from `class_proba`.
        labels : ndarray of shape (n_public,), int
            Class codes, such that those of a cell's rows come in about the mean of their rates.
        """
        return self.read_numbers(numbers_of_public(self.transformer, X))

    def read_numbers(self, numbers):
        """Do the same for rows that are transformed already, (n_public, n_columns)."""
        class_proba = self.probability_field.class_proba(numbers)
        return class_proba, assign_labels(class_proba, nearest_cells(numbers, self.centers)[:, 0])


def numbers_of_public(transformer, X_public, name="X_public"):
    """Return the numbers of public rows, (n_public, n_columns), or raise if some are not finite."""
    numbers = transformed(transformer, X_public)
    if not have_distances(numbers, numbers).all():
        raise ValueError(f"the transformer makes infinite or missing numbers of {name}: impute")
    return numbers


class ProbabilityField(NamedTuple):
    """The rates of the classes at any place.

    Attributes
    ----------
    centers : ndarray of shape (n_cells, n_columns)
        Centers of the cells.
    overall : ndarray of shape (n_classes,)
        Rates in the whole table.
    weights : ndarray of shape (n_cells, n_classes) or None
        What each cell adds to them nearby; None until the power is chosen.
    height, steepness, slope : float
        Of the likeness of two places: ``height * exp(-steepness * d)`` at a squared distance d,
        and `slope` times the product of how far they are from the middle of all cells.
    power : float
        To which rates are raised.
    variance : ndarray of shape (n_cells,)
        Of the noise on the rates seen in each cell.
    total : ndarray of shape (n_cells,)
        Ballots in each cell, as expected.
    """

    centers: np.ndarray
    overall: np.ndarray
    weights: np.ndarray | None
    height: float
    steepness: float
    slope: float
    power: float = 1.0
    variance: np.ndarray | None = None
    total: np.ndarray | None = None

    def kernel(self, numbers):
        """Return how much each row is like each cell, (n_rows, n_cells)."""
        middle = self.centers.mean(axis=0)
        away, centers = numbers - middle, self.centers - middle
        products = away @ centers.T
        squares = (away**2).sum(axis=1)[:, None] + (centers**2).sum(axis=1)
        squared = np.maximum(squares - 2 * products, 0)
        return self.height * np.exp(-self.steepness * squared) + self.slope * products

    def splits(self, noisy):
        """Yield rates in each cell by one part of a noisy table, and the other part.

        With `noise` drawn like that of the table, and any `part`, ``table + part * noise`` and
        ``table - noise / part`` have unrelated noise. So rates made of the first may be scored by
        the second. What is yielded first are not rates yet: see `sharpened`.
        """
        between = self.kernel(self.centers)
        rng = np.random.default_rng(0)  # any splits do, the same for the same table
        deviation = (np.sqrt(self.variance) * self.total)[:, None]
        covariance = between + np.diag(self.variance * (1 + _ADDED_NOISE**2))
        factor = cho_factor(covariance, lower=True)
        for _ in range(_N_SPLITS):
            noise = deviation * rng.standard_normal(noisy.shape)
            seen = _differences(noisy + _ADDED_NOISE * noise, self.total, self.overall)
            means = self.overall + between @ cho_solve(factor, seen)
            yield means, noisy - noise / _ADDED_NOISE

    def class_proba(self, numbers):
        """Return the rates at rows of numbers, (n_rows, n_classes), which sum to 1."""
        n_parts = max(1, len(numbers) * len(self.centers) // _PAIRS_AT_A_TIME)
        means = [
            self.overall + self.kernel(part) @ self.weights
            for part in np.array_split(numbers, n_parts)
        ]
        return sharpened(np.concatenate(means), self.power)

    def by_hand(self):
        """Return fitted steps of scikit-learn's own that make these rates of rows of numbers."""
        middle = self.centers.mean(axis=0)
        centers = self.centers - middle
        linear, _ = affine_by_hand(self.slope * centers.T @ self.weights, 0)
        nearness = nearness_by_hand(centers, self.steepness, self.height * self.weights)
        both = np.vstack([np.eye(len(self.overall))] * 2)
        return [
            scaler_by_hand(middle, np.ones(len(middle))),
            make_union(linear, nearness),
            *affine_by_hand(both, self.overall),
            *sharpened_by_hand(self.power, LEAST_RATE),
        ]


def smooth(noisy, centers, total, *, noise_std, target, smoothing="auto"):
    """Return the surface that a noisy table lets one expect.

    The rate of a class in a cell, less that in the whole table, is taken for a smooth function of
    the place: a Gaussian process that is alike in cells near each other, and has a linear term.
    Each cell's rate is seen through noise whose size is known. The process is the one under which
    the noisy table is most likely. The noise pulls its means together. So they are raised to a
    power: that under which one part of the table, split in two whose noise is unrelated, says most
    of the other.

    Parameters
    ----------
    noisy : ndarray of shape (n_cells, n_classes)
        The released table.
    centers : ndarray of shape (n_cells, n_columns)
        Centers of the cells.
    total : ndarray of shape (n_cells,)
        Ballots in each cell, from `expected_votes`.
    noise_std : float
        Standard deviation of the noise on each entry.
    target : targets.Target
        The columns of the table. Votes that are split scatter less than whole ones, and how much
        less is chosen as well.
    smoothing : "auto" or float
        Width of the process, in typical (median) distances of two cells; "auto" chooses one.

    Returns
    -------
    ProbabilityField

    References
    ----------
    Rasmussen, Williams (2006). Gaussian processes for machine learning, equations 2.23 and 2.30
    (the mean and the likelihood). Leiner, Duan, Wasserman, Ramdas (2023). Data fission: splitting
    a single data point. JASA.
    """
    n_classes = noisy.shape[1]
    overall = np.maximum(noisy.sum(axis=0), 1)
    overall = overall / overall.sum()
    difference = _differences(noisy, total, overall)
    scatter = (overall * (1 - overall)).sum() / (n_classes - 1)
    squared = cdist(centers, centers, "sqeuclidean")
    unit = max(np.median(squared), 1e-300)  # one center that is far from all moves no median
    away = centers - centers.mean(axis=0)
    variance = (noise_std**2 + total * scatter) / total**2
    of_noise = variance / scatter, 1 / total if target.splits_votes else None
    height, steepness, slope, less = _likeliest(
        squared / unit, away @ away.T / unit, difference / np.sqrt(scatter), *of_noise, smoothing
    )
    variance = variance - (1 - less) * scatter / total
    process = scatter * height, steepness / 2 / unit, scatter * slope / unit
    probability_field = ProbabilityField(
        centers, overall, None, *process, variance=variance, total=total
    )
    factor = cho_factor(probability_field.kernel(centers) + np.diag(variance), lower=True)
    weights = cho_solve(factor, difference)
    power = _sharpness(probability_field, noisy)
    return probability_field._replace(weights=weights, power=power)


def _differences(noisy, total, overall):
    """Return by how much the rates in each cell differ from those of the whole table."""
    difference = noisy / total[:, None] - overall
    return difference - difference.mean(axis=1, keepdims=True)  # as rates sum to 1


def expected_votes(noisy, n_public_in, noise_std, n_votes=None, n_trusted=math.inf):
    """Return the ballots of each cell: the noisy sum, and what the public rows let one expect.

    Parameters
    ----------
    noisy, noise_std
        As in `smooth`.
    n_public_in : ndarray of shape (n_cells,)
        The number of public rows in each cell.
    n_votes : float or None, default=None
        Number of ballots in the table; None takes the noisy one.
    n_trusted : float, default=inf
        What the public rows tell of where records lie is trusted as if there were no more of them.

    Returns
    -------
    ndarray of shape (n_cells,)
    """
    if n_votes is None:
        n_votes = max(noisy.sum(), 1.0)
    share = (n_public_in + 0.5) / (n_public_in + 0.5).sum()
    expected = n_votes * share
    trust_in_sum = 1 / (noisy.shape[1] * noise_std**2)
    n_trusted = min(n_public_in.sum(), n_trusted)
    trust_in_share = n_trusted / (n_votes * expected)  # public counts are Poisson
    both = noisy.sum(axis=1) * trust_in_sum + expected * trust_in_share
    return np.maximum(both / (trust_in_sum + trust_in_share), expected / 20)


def _likeliest(squared, products, difference, variance, of_votes, smoothing):
    """Return height, steepness and slope of the likeliest process, in units of the spread.

    With a wide normal prior, as few cells or much noise say little. Steep slopes are rare in it.
    The fourth number is what ballots scatter beside whole ones: 1 if these are whole, and
    `of_votes`, the part of the variance that is theirs, is None.
    """
    some = np.unique(np.linspace(0, len(squared) - 1, _MOST_COMPARED).astype(int))
    squared = squared[np.ix_(some, some)]
    products = products[np.ix_(some, some)]
    difference = difference[some]
    noise = variance[some]
    n_free = difference.shape[1] - 1
    # Their logarithms
    start = np.array([0.0, 2.0, -3.3, 0.0])
    bounds = [(-6, 3), (-2, 6), (-11.3, 3.7), (0, 0)]
    scattered = np.zeros(len(some))
    if of_votes is not None:
        scattered = of_votes[some]
        start[3] = -2.0
        bounds[::3] = (-9, 3), (-6, 0)
    if smoothing != "auto":  # set by hand: only what is near is like
        start[1:3] = -2 * np.log(float(smoothing)), _NO_SLOPE
        bounds[1:3] = zip(start[1:3], start[1:3], strict=True)

    def cost(point):
        steepness = np.exp(point[1]) / 2
        kernel = np.exp(point[0] - steepness * squared)
        linear = np.exp(point[2]) * products
        less = (1 - np.exp(point[3])) * scattered
        factor = cho_factor(kernel + linear + np.diag(noise - less), lower=True)
        weights = cho_solve(factor, difference)
        inverse = cho_solve(factor, np.eye(len(some)))
        change = (n_free * inverse - weights @ weights.T) / 2
        off = (point - start) / 2
        value = (difference * weights).sum() / 2 + off @ off / 2
        value += n_free * np.log(np.diag(factor[0])).sum()
        slopes = [
            (change * kernel).sum(),
            -steepness * (change * kernel * squared).sum(),
            (change * linear).sum(),
            (np.diag(change) * (scattered - less)).sum(),
        ]
        return value, slopes + off / 2

    options = {"ftol": _PRECISE}
    found = minimize(cost, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return np.exp(found.x)


def sharpened(means, power):
    """Return means, (n_rows, n_classes), as rates: raised to a power, above 0, and with sum 1."""
    class_proba = np.clip(means, LEAST_RATE, 1) ** power
    return floored(class_proba / class_proba.sum(axis=1, keepdims=True))


def floored(class_proba):
    """Return rates, (n_rows, n_classes), of at least `LEAST_RATE` each, and with sum 1."""
    class_proba = np.maximum(class_proba, LEAST_RATE)
    return class_proba / class_proba.sum(axis=1, keepdims=True)


def _sharpness(probability_field, noisy):
    """Return the power under which one part of the table says most of the other."""
    gain = np.zeros(len(POWERS))
    for means, hidden in probability_field.splits(noisy):
        gain += [(hidden * np.log(sharpened(means, power))).sum() for power in POWERS]
    return POWERS[int(np.argmax(gain))]


def shifted(class_proba, weight):
    """Return rates, (n_rows, n_classes), times what each class counts, (n_classes,)."""
    class_proba = class_proba * weight
    return class_proba / class_proba.sum(axis=1, keepdims=True)


def assign_to_similar(class_proba):
    """Deal labels by rates, (n_rows, n_classes), some rows with like rates at a time."""
    order = np.lexsort((class_proba.max(axis=1), class_proba.argmax(axis=1)))
    together = np.empty(len(class_proba), dtype=int)
    together[order] = np.arange(len(class_proba)) // _ASSIGNED_TOGETHER
    return assign_labels(class_proba, together)


def assign_labels(class_proba, cells):
    """Deal labels by rates, so that those of a cell's rows come in about the mean of their rates.

    Within a cell the rates are added up over its rows, class by class, and a row gets the class
    that is owed most.

    Parameters
    ----------
    class_proba : ndarray of shape (n_public, n_classes)
        Rows sum to 1.
    cells : ndarray of shape (n_public,), int
        The cell of each row.

    Returns
    -------
    ndarray of shape (n_public,), int
    """
    labels = np.empty(len(class_proba), dtype=int)
    owed = np.zeros((cells.max() + 1, class_proba.shape[1]))
    for row in range(len(class_proba)):
        owed[cells[row]] += class_proba[row]
        labels[row] = owed[cells[row]].argmax()
        owed[cells[row], labels[row]] -= 1
    return labels
