"""The parts of a fit of records that vote, for experiments that change some of them."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import FunctionTransformer

from sklearn_pate.aggregators import LaplaceMechanism
from sklearn_pate.classifier.student import fit_on_rates
from sklearn_pate.neighbors import RowVectorizer
from sklearn_pate.neighbors import rates as ballot_rates
from sklearn_pate.neighbors.ballots import count_ballots
from sklearn_pate.neighbors.cells import make_centers, nearest_cells
from sklearn_pate.rdp.table import GRID
from sklearn_pate.rules import default_n_cells

#: Ballots that change where one record is replaced
CHANGED = 2


@dataclass(frozen=True, eq=False)
class Rows:
    """Numbers of private, public and test rows by the default transformer, and codes of classes."""

    X: np.ndarray
    y: np.ndarray
    public: np.ndarray
    test: np.ndarray
    y_test: np.ndarray
    n_classes: int


@dataclass(frozen=True, eq=False)
class Table:
    """A noisy table, the centers of its cells, and the cell of each public row."""

    noisy: np.ndarray
    centers: np.ndarray
    cells: np.ndarray
    noise_std: float


def numbers(data):
    transformer = RowVectorizer(random_state=0).fit(data.X_public)
    X, public, test = map(transformer.transform, (data.X, data.X_public, data.X_test))
    classes, y = np.unique(data.y, return_inverse=True)
    return Rows(X, y, public, test, np.searchsorted(classes, data.y_test), len(classes))


def laplace(epsilon):
    return LaplaceMechanism(CHANGED / epsilon)


def cast(rows, cells, public_cells, n_cells, mechanism, seed):
    """One ballot a record; a cell's center is the mean of its public rows."""
    votes = count_ballots(cells[:, None], rows.y, n_cells=n_cells, n_classes=rows.n_classes)
    noisy = mechanism.noisy(votes * GRID, np.random.default_rng([seed, 1]))
    centers = means(rows.public, public_cells, n_cells)
    return Table(noisy, centers, public_cells, mechanism.noise_std)


def means(numbers, cells, n_cells):
    sums = np.zeros((n_cells, numbers.shape[1]))
    np.add.at(sums, cells, numbers)
    return sums / np.maximum(np.bincount(cells, minlength=n_cells), 1)[:, None]


def default_cells(rows, mechanism):
    return default_n_cells(
        n_records=len(rows.y),
        n_public=len(rows.public),
        n_classes=rows.n_classes,
        noise_std=mechanism.noise_std,
    )


def clustered(rows, mechanism, seed, n_cells=None):
    """A table in clusters, as the library makes it."""
    centers = make_centers(rows.public, n_cells or default_cells(rows, mechanism), seed)
    cells, public_cells = (nearest_cells(part, centers)[:, 0] for part in (rows.X, rows.public))
    table = cast(rows, cells, public_cells, len(centers), mechanism, seed)
    return replace(table, centers=centers)


def smooth(rows, table, at, n_tables=1):
    """The smoother's rates at any rows."""
    surface = ballot_rates.smooth(
        table.noisy,
        table.centers,
        np.bincount(table.cells, minlength=len(table.centers)),
        noise_std=table.noise_std,
        n_ballots=n_tables * len(rows.y),
    )
    return surface.rates(at)


def joint(tables):
    """Several tables as one: the smoother weighs them by place and noise."""
    starts = np.cumsum([0, *(len(table.centers) for table in tables)])
    shifted = [table.cells + start for table, start in zip(tables, starts, strict=False)]
    noisy = np.vstack([table.noisy for table in tables])
    centers = np.vstack([table.centers for table in tables])
    return Table(noisy, centers, np.concatenate(shifted), tables[0].noise_std)


def landmarks(rows, n_landmarks=300):
    """The default student as it was before j won: a logistic regression for any classes."""
    unit = np.median(np.linalg.norm(rows.public - np.median(rows.public, axis=0), axis=1))
    n_landmarks = min(n_landmarks, len(rows.public))
    nearness = Nystroem(gamma=1.0, n_components=n_landmarks, random_state=0)
    return make_pipeline(
        FunctionTransformer(partial(np.multiply, 1 / unit)),
        make_union("passthrough", nearness),
        LogisticRegression(C=rows.n_classes, max_iter=1000),
    )


def student(rows, rates, model=None):
    model = landmarks(rows) if model is None else model
    return fit_on_rates(model, rows.public, rates)


def taught(rows, table, model=None, n_tables=1):
    """What a student of the table's rates says of the test rows."""
    return student(rows, smooth(rows, table, rows.public, n_tables), model).predict_proba(rows.test)
