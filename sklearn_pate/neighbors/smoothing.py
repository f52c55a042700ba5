"""Public part of cells: class probabilities from a noisy table of votes, at no privacy cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.lapack import dpotri
from scipy.optimize import minimize
from scipy.spatial.distance import cdist

from .._sklearn import pipeline
from ..association import p_value_of_counts
from ..encoding.custom import transformed
from ..encoding.fitted_steps import (
    affine_by_hand,
    nearness_by_hand,
    numbers_by_hand,
    scaler_by_hand,
    sharpened_by_hand,
)
from ..runtime.memory import digest
from ..shift import PublicShift, shift_of_votes
from .centers import cells_without_own_row, have_distances, nearest_cells

if TYPE_CHECKING:
    from .._typing import Estimator, Rows
    from ..encoding.targets import Target

#: Number of kernel values computed at a time, few enough for the caches of a processor.
_PAIRS_AT_A_TIME = 250_000

#: Number of entries of the splits of a table that are solved for together.
_NUMBERS_AT_A_TIME = 1_000_000

#: Maximal number of cells from which the parameters of the process are estimated.
_MOST_COMPARED = 300

#: Smallest class probability, before the sum is normalized to 1.
MIN_PROBA = 1e-3

#: Candidate powers of class probabilities, which smoothing has shrunk towards each other.
POWERS = (1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)

#: Number of rows with similar class probabilities that labels are assigned to together.
_ASSIGNED_TOGETHER = 16

#: Relative difference below which two likelihoods count as equal.
_PRECISE = 1e-6

#: Logarithm of a negligible slope.
_NO_SLOPE = -60.0

#: Number of random splits of a table, and the multiple of noise added to one of its parts. Tables
#: of many entries need fewer splits, as the mean over entries is less random.
_N_SPLITS = 20
_MIN_SPLITS = 2
_NUMBERS_OF_SPLITS = 4_000_000

_ADDED_NOISE = 0.5


def shift_of_rows_that_made_cells(
    noisy: np.ndarray,
    numbers: np.ndarray,
    centers: np.ndarray,
    n_neighbors: int,
    noise_std: float,
    *,
    tolerance: float,
    cells: Callable[[int], np.ndarray] | None = None,
) -> PublicShift:
    """Compare the published votes with the public rows that made the cells.

    These rows are nearer to the centers than records are, so they are compared twice: in their
    cells, and as if each had not made its center. The latter moves rows too far where cells have
    few rows. The comparison with the smaller alarm is returned.

    Parameters
    ----------
    noisy : ndarray of shape (n_cells, n_classes)
        Published votes, with noise.
    numbers : ndarray of shape (n_public, n_columns)
        The encoded public rows.
    centers : ndarray of shape (n_cells, n_columns)
        Centers of the cells.
    n_neighbors : int
        Number of cells of each row.
    noise_std : float
        Standard deviation of the noise on each count.
    tolerance : float
        As in `shift.shift_of_votes`.
    cells : callable, default=None
        As in `centers.cells_without_own_row`.
    """
    cells = cache(partial(nearest_cells, numbers, centers)) if cells is None else cells
    without_own = cells_without_own_row(numbers, centers, n_neighbors, cells=cells)
    both = (
        shift_of_votes(noisy, each, centers, noise_std, tolerance=tolerance)
        for each in (without_own, cells(n_neighbors))
    )
    return min(both, key=lambda shift: max(shift.z, shift.mean_z))


@dataclass(frozen=True, eq=False, repr=False)
class ReleasedTable:
    """Published noisy table of votes, and the class probabilities computed from it.

    It is the attribute `table_` of a fitted `PATEClassifier` or `PATERegressor` if records vote in
    cells of public rows. With synthetic rows, `table_` may be a `readouts.StackedTable` of it.

    Attributes
    ----------
    counts : ndarray of shape (n_cells, n_classes)
        Votes with noise, which may be below zero.
    centers : ndarray of shape (n_cells, n_columns)
        Centers of the cells, in the output space of the transformer.
    transformer : transformer
        Transformer that was fitted on public rows.
    smoothing : dict
        Arguments of `smooth` other than the counts and the centers: `total`, `noise_std`,
        `smoothing` and `target`. All of them are public.
    n_neighbors : int
        Number of cells in which each record votes.
    shift : shift.PublicShift or None
        Distance of the public rows from the private records, by the published votes. None if the
        public rows are synthetic.
    rows_digest : str
        Digest of the transformed public rows that made the cells.

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
    >>> clf.table_.class_proba(X[101::2]).shape  # of rows that the fit did not use
    (25, 3)
    """

    counts: np.ndarray
    centers: np.ndarray
    transformer: Any
    smoothing: dict[str, Any]
    n_neighbors: int = 1
    shift: PublicShift | None = None
    rows_digest: str = ""

    @property
    def class_counts(self) -> tuple[np.ndarray, float]:
        """Noisy number of votes for each class, and the standard deviation of that noise."""
        return self.counts.sum(axis=0), self.smoothing["noise_std"] * math.sqrt(len(self.counts))

    @cached_property
    def p_value(self) -> float:
        """P-value of the counts, under equal class probabilities in all cells."""
        return p_value_of_counts(
            self.counts,
            self.smoothing["total"],
            self.centers,
            self.smoothing["noise_std"],
            n_votes=self.n_neighbors,
            splits_votes=self.smoothing["target"].splits_votes,
        )

    @cached_property
    def probability_field(self) -> ProbabilityField:
        """Class probabilities at any point, computed at first use."""
        return smooth(self.counts, self.centers, **self.smoothing)

    @cached_property
    def accuracy(self) -> float:
        """Estimated accuracy of predictions for the records; see `ProbabilityField.splits`."""
        shares = [
            np.take_along_axis(hidden, means.argmax(axis=1)[:, None], axis=1).sum() / hidden.sum()
            for means, hidden in self.probability_field.splits(self.counts)
        ]
        return float(np.clip(np.mean(shares), 0, 1))

    def __repr__(self) -> str:
        n_cells, n_classes = self.counts.shape
        return f"ReleasedTable({n_cells} cells, {n_classes} classes)"

    def class_proba(self, X: Rows) -> np.ndarray:
        """Return the class probabilities of rows, each row by itself.

        Parameters
        ----------
        X : array-like with n_samples rows
            Rows with the features of the public rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Rows sum to 1.

        Raises
        ------
        ValueError
            If the transformer returns infinite or missing numbers for a row.
        """
        return self.probability_field.class_proba(numbers_of_public(self.transformer, X, "X"))

    def shift_from(self, X: Rows) -> PublicShift | None:
        """Compare the published votes with rows; see `shift.shift_of_votes`.

        Parameters
        ----------
        X : array-like with n_samples rows
            Rows with the features of the public rows.

        Returns
        -------
        shift.PublicShift or None
            None if the public rows of the fit are synthetic.
        """
        if self.shift is None:
            return None
        numbers = numbers_of_public(self.transformer, X)
        noise_std, tolerance = self.smoothing["noise_std"], self.shift.tolerance
        if digest(numbers) == self.rows_digest:
            given = numbers, self.centers, self.n_neighbors, noise_std
            return shift_of_rows_that_made_cells(self.counts, *given, tolerance=tolerance)
        cells = nearest_cells(numbers, self.centers, self.n_neighbors)
        return shift_of_votes(self.counts, cells, self.centers, noise_std, tolerance=tolerance)

    def cell_of(self, X: Rows) -> np.ndarray:
        """Return the nearest cell of each row, (n_samples,)."""
        return nearest_cells(numbers_of_public(self.transformer, X), self.centers)[:, 0]

    def by_hand(self) -> list[Any]:
        """Return fitted scikit-learn steps that compute the class probabilities of rows."""
        return [*numbers_by_hand(self.transformer), *self.probability_field.by_hand()]

    def read(self, X: Rows) -> tuple[np.ndarray, np.ndarray]:
        """Return class probabilities of public rows, and labels assigned by them.

        Parameters
        ----------
        X : array-like with n_public rows
            Rows with the features of the public rows.

        Returns
        -------
        class_proba : ndarray of shape (n_public, n_classes)
            As from `class_proba`.
        labels : ndarray of shape (n_public,), int
            Class codes. Their frequencies among the rows of a cell are about the mean class
            probabilities of these rows.
        """
        numbers = numbers_of_public(self.transformer, X)
        return self.read_numbers(numbers, nearest_cells(numbers, self.centers)[:, 0])

    def read_numbers(self, numbers: np.ndarray, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the same as `read`, for transformed rows and the nearest cell of each row."""
        class_proba = self.probability_field.class_proba(numbers)
        return class_proba, assign_labels(class_proba, cells)


def numbers_of_public(transformer: Estimator, X_public: Rows, name: str = "X_public") -> np.ndarray:
    """Encode public rows as numbers.

    Parameters
    ----------
    transformer : transformer
        Fitted transformer of rows to numbers.
    X_public : array-like with n_public rows
        Public rows.
    name : str, default="X_public"
        Name of the rows, for messages.

    Returns
    -------
    ndarray of shape (n_public, n_columns)

    Raises
    ------
    ValueError
        If a number is missing, infinite, or too large for finite distances between rows.
    """
    numbers = transformed(transformer, X_public)
    if not have_distances(numbers, numbers).all():
        raise ValueError(
            f"the transformer returns infinite or missing numbers for {name}: impute missing values"
        )
    return numbers


class ProbabilityField(NamedTuple):
    """Class probabilities at any point of the encoded space.

    Attributes
    ----------
    centers : ndarray of shape (n_cells, n_columns)
        Centers of the cells.
    overall : ndarray of shape (n_classes,)
        Class probabilities in the whole table.
    weights : ndarray of shape (n_cells, n_classes)
        Weight of each cell in the class probabilities nearby; 0 until the power is chosen.
    height, steepness, slope : float
        Parameters of the kernel of two points: ``height * exp(-steepness * d)`` at a squared
        distance d, plus `slope` times the inner product of the two points about the mean center.
    variance : ndarray of shape (n_cells,)
        Variance of the noise on the class probabilities of each cell.
    total : ndarray of shape (n_cells,)
        Expected number of votes in each cell.
    power : float
        Exponent of the class probabilities.
    """

    centers: np.ndarray
    overall: np.ndarray
    weights: np.ndarray
    height: float
    steepness: float
    slope: float
    variance: np.ndarray
    total: np.ndarray
    power: float = 1.0

    def kernel(self, numbers: np.ndarray) -> np.ndarray:
        """Return the kernel of rows and cells, (n_rows, n_cells)."""
        middle = self.centers.mean(axis=0)
        away, centers = numbers - middle, self.centers - middle
        products = away @ centers.T
        kernel = (away**2).sum(axis=1)[:, None] + (centers**2).sum(axis=1)
        products *= 2
        kernel -= products
        np.maximum(kernel, 0, out=kernel)
        kernel *= -self.steepness
        np.exp(kernel, out=kernel)
        kernel *= self.height
        products *= self.slope / 2
        kernel += products
        return kernel

    def splits(
        self, noisy: np.ndarray, between: np.ndarray | None = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield means in each cell from one part of a noisy table, and the other part.

        For `noise` with the distribution of the noise of the table, and any `part`,
        ``table + part * noise`` and ``table - noise / part`` have uncorrelated noise. Class
        probabilities from the first can therefore be scored by the second. `sharpened` converts
        the means to class probabilities. `between` is the kernel of the cells, if it is known.
        """
        if between is None:
            between = self.kernel(self.centers)
        rng = np.random.default_rng(0)  # any seed suffices, and equal tables get equal splits
        deviation = (np.sqrt(self.variance) * self.total)[:, None]
        factor = _factor(between, self.variance * (1 + _ADDED_NOISE**2))
        n_all = min(max(_NUMBERS_OF_SPLITS // noisy.size, _MIN_SPLITS), _N_SPLITS)
        n_together = max(1, _NUMBERS_AT_A_TIME // noisy.size)
        for first in range(0, n_all, n_together):
            n_splits = min(n_together, n_all - first)
            noises = deviation * rng.standard_normal((n_splits, *noisy.shape))
            seen = [
                _differences(noisy + _ADDED_NOISE * noise, self.total, self.overall)
                for noise in noises
            ]
            solved = between @ cho_solve(factor, np.hstack(seen), overwrite_b=True)
            for noise, means in zip(noises, np.hsplit(solved, n_splits), strict=True):
                yield self.overall + means, noisy - noise / _ADDED_NOISE

    def class_proba(self, numbers: np.ndarray) -> np.ndarray:
        """Return the class probabilities at transformed rows, (n_rows, n_classes)."""
        n_parts = max(1, len(numbers) * len(self.centers) // _PAIRS_AT_A_TIME)
        means = [
            self.overall + self.kernel(part) @ self.weights
            for part in np.array_split(numbers, n_parts)
        ]
        return sharpened(np.concatenate(means), self.power)

    def by_hand(self) -> list[Any]:
        """Return fitted scikit-learn steps that compute class probabilities of transformed rows."""
        middle = self.centers.mean(axis=0)
        centers = self.centers - middle
        linear, _ = affine_by_hand(self.slope * centers.T @ self.weights, 0)
        nearness = nearness_by_hand(centers, self.steepness, self.height * self.weights)
        both = np.vstack([np.eye(len(self.overall))] * 2)
        return [
            scaler_by_hand(middle, np.ones(len(middle))),
            pipeline.make_union(linear, nearness),
            *affine_by_hand(both, self.overall),
            *sharpened_by_hand(self.power, MIN_PROBA),
        ]


def smooth(
    noisy: np.ndarray,
    centers: np.ndarray,
    total: np.ndarray,
    *,
    noise_std: float,
    target: Target,
    smoothing: Literal["auto"] | float = "auto",
) -> ProbabilityField:
    """Estimate class probabilities at any point from a noisy table.

    The probability of a class in a cell, minus the probability in the whole table, is modelled as
    a smooth function of the point. The model is a Gaussian process with a linear term; its values
    are similar in cells near each other. The class probabilities of each cell are observed with
    noise of known size. The parameters of the process maximize the likelihood of the noisy table
    times a wide prior. Because of the noise, the estimated means are shrunk towards each other, so
    they are raised to a power. To choose the power, the table is split into two parts with
    uncorrelated noise: with the chosen power, one part predicts the other best.

    Parameters
    ----------
    noisy : ndarray of shape (n_cells, n_classes)
        The released table.
    centers : ndarray of shape (n_cells, n_columns)
        Centers of the cells.
    total : ndarray of shape (n_cells,)
        Expected number of votes in each cell, from `expected_votes`.
    noise_std : float
        Standard deviation of the noise on each entry.
    target : targets.Target
        The columns of the table. Split votes have a smaller variance than whole ones; the ratio is
        estimated as well.
    smoothing : "auto" or float
        Length scale of the process, in units of the median distance between two cells; "auto"
        estimates it.

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
    some = np.unique(np.linspace(0, len(centers) - 1, _MOST_COMPARED).astype(int))
    squared = cdist(centers[some], centers[some], "sqeuclidean")
    unit = max(np.median(squared), 1e-300)  # a single distant center does not move the median
    away = (centers - centers.mean(axis=0))[some]
    variance = (noise_std**2 + total * scatter) / total**2
    height, steepness, slope, less = _likeliest(
        squared / unit,
        away @ away.T / unit,
        difference[some] / np.sqrt(scatter),
        variance[some] / scatter,
        1 / total[some] if target.splits_votes else None,
        smoothing,
    )
    variance = variance - (1 - less) * scatter / total
    process = scatter * height, steepness / 2 / unit, scatter * slope / unit
    unweighted = np.zeros_like(difference)
    probability_field = ProbabilityField(centers, overall, unweighted, *process, variance, total)
    between = probability_field.kernel(centers)
    weights = cho_solve(_factor(between, variance), difference)
    power = _sharpness(probability_field, noisy, between)
    return probability_field._replace(weights=weights, power=power)


def _differences(noisy: np.ndarray, total: np.ndarray, overall: np.ndarray) -> np.ndarray:
    """Return the class probabilities of each cell, minus the overall class probabilities."""
    difference = noisy / total[:, None] - overall
    return difference - difference.mean(axis=1, keepdims=True)  # class probabilities sum to 1


def expected_votes(
    noisy: np.ndarray,
    n_public_in: np.ndarray,
    noise_std: float,
    n_votes: float | None = None,
    n_trusted: float = math.inf,
) -> np.ndarray:
    """Estimate the number of votes in each cell, from its noisy votes and from the public rows.

    The estimate is a mean of the sum of the noisy votes in the cell and of its share of all votes
    if they were distributed like the public rows, weighted by the inverse variances.

    Parameters
    ----------
    noisy, noise_std
        As in `smooth`.
    n_public_in : ndarray of shape (n_cells,)
        The number of public rows in each cell.
    n_votes : float or None, default=None
        Number of votes in the table; None uses the noisy number.
    n_trusted : float, default=inf
        Largest number of public rows that counts in the weight of their distribution over cells.

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


def _likeliest(
    squared: np.ndarray,
    products: np.ndarray,
    difference: np.ndarray,
    variance: np.ndarray,
    of_votes: np.ndarray | None,
    smoothing: Literal["auto"] | float,
) -> np.ndarray:
    """Return height, steepness and slope of the process with the highest posterior density.

    They are relative to the class variance and the median squared distance. A wide normal prior
    stabilizes the fit if cells are few or the noise is large; steep slopes are rare under it. The
    fourth number is the variance of the votes divided by the variance of whole votes. It is 1 if
    `of_votes`, the variance of whole votes, is None.
    """
    n_free = difference.shape[1] - 1
    # Logarithms of the four numbers
    start = np.array([0.0, 2.0, -3.3, 0.0])
    bounds = [(-6, 3), (-2, 6), (-11.3, 3.7), (0, 0)]
    scattered = np.zeros(len(squared))
    if of_votes is not None:
        scattered = of_votes
        start[3] = -2.0
        bounds[::3] = (-9, 3), (-6, 0)
    if smoothing != "auto":  # a fixed length scale, without a linear term
        start[1:3] = -2 * np.log(float(smoothing)), _NO_SLOPE
        bounds[1:3] = zip(start[1:3], start[1:3], strict=True)

    def cost(point: np.ndarray) -> tuple[float, np.ndarray]:
        steepness = np.exp(point[1]) / 2
        kernel = np.exp(point[0] - steepness * squared)
        linear = np.exp(point[2]) * products
        less = (1 - np.exp(point[3])) * scattered
        factor = _factor(kernel + linear, variance - less)
        weights = cho_solve(factor, difference)
        inverse, _ = dpotri(factor[0], lower=True)  # its lower triangle
        inverse = np.tril(inverse) + np.tril(inverse, -1).T
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


def _factor(matrix: np.ndarray, diagonal: np.ndarray) -> tuple[np.ndarray, bool]:
    """Return the Cholesky factor, of `cho_solve`, of a matrix after an addition to its diagonal."""
    matrix = matrix.copy()
    matrix.flat[:: len(matrix) + 1] += diagonal
    return cho_factor(matrix, lower=True, overwrite_a=True)


def sharpened(means: np.ndarray, power: float) -> np.ndarray:
    """Convert class means, (n_rows, n_classes), to class probabilities.

    The means are clipped to positive numbers up to 1, raised to `power`, and normalized to sum 1.
    """
    class_proba = np.clip(means, MIN_PROBA, 1) ** power
    return floored(class_proba / class_proba.sum(axis=1, keepdims=True))


def floored(class_proba: np.ndarray) -> np.ndarray:
    """Raise class probabilities, (n_rows, n_classes), to at least `MIN_PROBA`, with sum 1."""
    class_proba = np.maximum(class_proba, MIN_PROBA)
    return class_proba / class_proba.sum(axis=1, keepdims=True)


def _sharpness(
    probability_field: ProbabilityField, noisy: np.ndarray, between: np.ndarray
) -> float:
    """Return the power under which one part of the table predicts the other best."""
    gain = np.zeros(len(POWERS))
    for means, hidden in probability_field.splits(noisy, between):
        gain += [(hidden * np.log(sharpened(means, power))).sum() for power in POWERS]
    return POWERS[int(np.argmax(gain))]


def shifted(class_proba: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Multiply class probabilities, (n_rows, n_classes), by class weights; rows then sum to 1."""
    class_proba = class_proba * weight
    return class_proba / class_proba.sum(axis=1, keepdims=True)


def assign_to_similar(class_proba: np.ndarray) -> np.ndarray:
    """Assign labels by class probabilities, (n_rows, n_classes), to blocks of similar rows."""
    order = np.lexsort((class_proba.max(axis=1), class_proba.argmax(axis=1)))
    together = np.empty(len(class_proba), dtype=int)
    together[order] = np.arange(len(class_proba)) // _ASSIGNED_TOGETHER
    return assign_labels(class_proba, together)


def assign_labels(class_proba: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """Assign labels by class probabilities, with about the same frequencies in each cell.

    The frequencies of the labels in a cell are about the mean class probabilities of its rows.
    Within a cell, the class probabilities are summed row by row. Each row gets the class with the
    largest difference between its sum and the number of its labels so far.

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
    # The first rows of all cells are labelled together, then their second rows, and so on
    n_rows = np.bincount(cells)
    by_cell = np.argsort(cells, kind="stable")
    rank = np.arange(len(cells)) - np.repeat(np.cumsum(n_rows) - n_rows, n_rows)
    by_rank = by_cell[np.argsort(rank, kind="stable")]
    labels = np.empty(len(class_proba), dtype=int)
    owed = np.zeros((len(n_rows), class_proba.shape[1]))
    for rows in np.split(by_rank, np.cumsum(np.bincount(rank))[:-1]):
        sums = owed[cells[rows]] + class_proba[rows]
        labels[rows] = largest = sums.argmax(axis=1)
        sums[np.arange(len(rows)), largest] -= 1
        owed[cells[rows]] = sums
    return labels
