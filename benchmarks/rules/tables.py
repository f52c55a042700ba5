"""Data sets that rules may be set on: none has a row that the page of results reports on."""

import zipfile
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.decomposition import PCA

from ..papers import adult as papers_adult
from ..papers import ballots
from ..papers.images import LETTERS, gradient_histograms, letters
from ..papers.shared import data, mnist

#: Most private, public and test rows.
MOST_ROWS = (60_000, 3000, 5000)
_CODES = ["admission_type_id", "discharge_disposition_id", "admission_source_id"]
_NO_COLUMNS = ["encounter_id", "patient_nbr", "readmitted"]


@dataclass(frozen=True)
class Table(ballots.Data):
    """Private, public and test rows; labels of public ones serve to choose classes."""

    y_public: Any = None


def part(X, rows):
    """Some rows of a frame or an array."""
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def split(X, y, private, public, test):
    """A table of three sets of rows."""
    return Table(part(X, private), y[private], part(X, public), part(X, test), y[test], y[public])


def shuffled(X, y, n_private, n_public, seed=0):
    """Private, public and test rows, in this order, of rows in random order."""
    rows = np.random.default_rng(seed).permutation(len(y))
    return split(X, y, *np.split(rows, [n_private, n_private + n_public]))


def breast_cancer(seed=0):
    X, y = load_breast_cancer(return_X_y=True)
    return shuffled(X, y, 320, 120, seed)


def wine(seed=0):
    X, y = load_wine(return_X_y=True)
    return shuffled(X, y, 99, 38, seed)


def digits(seed=0):
    X, y = load_digits(return_X_y=True)
    return shuffled(X, y, 1000, 500, seed)


@cache
def adult():
    """Adult's training file, split."""
    X, y, _, _ = papers_adult.frames()
    rows = np.random.default_rng(0).permutation(len(y))
    public, test, private = np.split(rows, [4000, 11_000])
    return split(X, y, private, public, test)


@cache
def flights():
    """The private flights of the page of results, split: they are private there, too."""
    rows = ballots.flights()
    public, test, private = slice(20_000), slice(20_000, 50_000), slice(50_000, None)
    return split(rows.X, rows.y, private, public, test)


@cache
def diabetes():
    """Stays in hospital, and whether another was on record."""
    archive = data("diabetes130", "Diabetes 130-US") / "dataset_diabetes.zip"
    with zipfile.ZipFile(archive).open("dataset_diabetes/diabetic_data.csv") as file:
        X = pd.read_csv(file, na_values="?", keep_default_na=False, low_memory=False)
    y = (X.readmitted != "NO").to_numpy().astype(int)
    X = X.drop(columns=_NO_COLUMNS).astype(dict.fromkeys(_CODES, str))
    rows = np.random.default_rng(0).permutation(len(y))
    public, test, private = np.split(rows, [8000, 20_000])
    return split(X, y, private, public, test)


@cache
def small_letters():
    """Gradients of rendered lower-case letters."""
    images, y = letters(22_000, seed=2, alphabet=LETTERS.lower())
    gradients = gradient_histograms(images)
    X = PCA(60, random_state=0).fit(gradients[14_000:18_000]).transform(gradients)
    return split(X, y, slice(14_000), slice(14_000, 18_000), slice(18_000, None))


@cache
def pixels():
    """MNIST's training images, 7 by 7 pixels, of which 1,000 are private."""
    data("mnist", "MNIST")
    (images, y), _ = mnist()
    X = (255 * images.reshape(-1, 7, 4, 7, 4).astype(float)).round().mean(axis=(2, 4))
    rows = np.random.default_rng(0).permutation(len(y))[:4500]
    X = X.reshape(-1, 49) / 16
    return split(X, y, *np.split(rows, [1000, 1500]))


@cache
def two_columns():
    """Two columns of twenty decide together; other rows than on the page of results."""
    X = np.random.default_rng(1).normal(size=(60_000, 20))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    return split(X, y, slice(46_000), slice(46_000, 50_000), slice(50_000, None))


#: In the order of the page.
TABLES = {
    "breast cancer": breast_cancer,
    "wine": wine,
    "digits": digits,
    "MNIST, 7 x 7": pixels,
    "small letters": small_letters,
    "Adult": adult,
    "flights": flights,
    "Diabetes": diabetes,
    "two columns": two_columns,
}


def cut(rows, sizes=MOST_ROWS, seed=0):
    """At most so many private, public and test rows, at random."""
    rng = np.random.default_rng(seed)
    lengths = map(len, (rows.X, rows.X_public, rows.X_test))
    kept = [
        rng.permutation(length)[:size] if length > size else np.arange(length)
        for length, size in zip(lengths, sizes, strict=True)
    ]
    return _kept(rows, *kept)


def few(rows, n_records, classes=None, seed=0):
    """A small table: so many private rows, half as many public ones, of some classes."""
    rng = np.random.default_rng(seed + 100)
    sizes = {"y": n_records, "y_public": max(100, n_records // 2), "y_test": 1500}
    kept = []
    for name, size in sizes.items():
        y = getattr(rows, name)
        among = np.arange(len(y)) if classes is None else np.flatnonzero(np.isin(y, classes))
        kept.append(rng.permutation(among)[:size])
    return _kept(rows, *kept)


def _kept(rows, private, public, test):
    return replace(
        rows,
        X=part(rows.X, private),
        y=rows.y[private],
        X_public=part(rows.X_public, public),
        y_public=rows.y_public[public],
        X_test=part(rows.X_test, test),
        y_test=rows.y_test[test],
    )
