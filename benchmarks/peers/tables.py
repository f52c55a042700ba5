"""The data of the fair table: private, public and test rows, and what is public of their columns.

Defaults were set (`benchmarks.rules`) on the private rows of Adult and of flights, on other splits
of breast cancer, digits and Diabetes (with another label), and on training images of MNIST, but on
no test row of Adult, flights or MNIST. Bounds are round numbers from what the
data sets' documentation says.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits

from sklearn_pate.datasets import fetch_diabetes130, fetch_mnist

from ..papers import ballots
from ..papers import no_public_cases as cases
from ..papers.diabetes import FEATURES
from ..papers.shared import data

#: The greatest value of each column, rounded up, from the table in scikit-learn's description.
BREAST_CANCER = (
    *(30, 40, 200, 2600, 0.2, 0.4, 0.5, 0.25, 0.35, 0.1),
    *(3, 5, 25, 600, 0.04, 0.15, 0.4, 0.06, 0.08, 0.03),
    *(40, 50, 300, 4500, 0.25, 1.1, 1.3, 0.3, 0.7, 0.25),
)


@dataclass(frozen=True)
class Table:
    """Rows, and what everybody may know of them."""

    X: Any
    y: np.ndarray
    X_public: Any
    X_test: Any
    y_test: np.ndarray
    #: bounds or edges of numbers, as `MarginalSynthesizer` takes them
    bounds: Any
    #: categories of text columns that have no categorical dtype
    categories: dict | None = None
    #: columns that may have gaps
    missing: tuple = ()
    #: who each private row is about, where a person has several
    groups: np.ndarray | None = None
    #: the public share of the second class, where there is one
    rate: float | None = None

    @property
    def classes(self):
        return np.unique(self.y)


def of_case(case, rate=None):
    rows = case.rows
    return Table(
        rows.X,
        rows.y,
        rows.X_public,
        rows.X_test,
        rows.y_test,
        case.bounds,
        case.categories,
        case.missing,
        case.groups,
        rate,
    )


def adult(seed):
    return of_case(cases.adult(), rate=0.24)


def flights(seed):
    return of_case(cases.flights(), rate=0.24)


def diabetes_balanced(seed):
    return of_case(cases.diabetes(seed), rate=0.5)


def diabetes_natural(seed):
    """All stays; patients are private, public or for tests."""
    data("diabetes130", "Diabetes 130-US")
    stays = fetch_diabetes130()
    X = stays.data[FEATURES]
    levels = {name: range(1, n + 1) for name, n in cases.CODES.items()}
    X = X.assign(**{name: X[name].cat.set_categories(codes) for name, codes in levels.items()})
    y = stays.target.to_numpy()
    patient = stays.groups.to_numpy()
    rows = np.random.default_rng(seed).permutation(len(y))
    private, rest = cases.divided(rows, patient, 0.25, seed)
    public, test = cases.divided(rest, patient, 0.5, seed)
    parts = ballots.Data(X.iloc[private], y[private], X.iloc[public], X.iloc[test], y[test])
    return of_case(cases.Case(parts, cases.DIABETES, groups=patient[private]), rate=0.11)


def split(X, y, n_private, n_public, bounds, seed, rate=None):
    """Rows in random order: private ones, public ones, and the rest for tests."""
    rows = np.random.default_rng(seed).permutation(len(y))
    private, public, test = np.split(rows, [n_private, n_private + n_public])
    return Table(X[private], y[private], X[public], X[test], y[test], bounds, rate=rate)


def breast_cancer(seed):
    X, y = load_breast_cancer(return_X_y=True)
    bounds = [(0, most) for most in BREAST_CANCER]
    return split(X, y, 320, 120, bounds, 500 + seed, rate=0.63)


def digits(seed):
    X, y = load_digits(return_X_y=True)
    return split(X, y, 1000, 500, (0, 16), 500 + seed)


def mnist(seed):
    """Pixels of 60,000 private, 5,000 public and 5,000 test images."""
    data("mnist", "MNIST")
    train, test = (fetch_mnist(subset=part) for part in ("train", "test"))
    X, X_test = (part.data.astype(float) for part in (train, test))
    y, y_test = (part.target.astype(int) for part in (train, test))
    return Table(X, y, X_test[:5000], X_test[5000:], y_test[5000:], (0, 255))


def classes_24(seed):
    """Eight columns, 24 classes of two clouds each: 30,000 private rows."""
    rng = np.random.default_rng(24)
    centres = rng.normal(size=(48, 8))
    cloud = rng.integers(48, size=40_000)
    X = centres[cloud] + 0.35 * rng.normal(size=(40_000, 8))
    return Table(
        *ordered(X, cloud % 24, 30_000, 35_000),
        bounds=(-4, 4),
    )


def only_together(seed):
    """Six columns, of which the product of two decides; one label of ten is wrong."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(40_000, 6))
    y = (X[:, 0] * X[:, 1] > 0) ^ (rng.random(40_000) < 0.1)
    return Table(*ordered(X, y.astype(int), 30_000, 35_000), bounds=(-4, 4), rate=0.5)


def ordered(X, y, public, test):
    return X[:public], y[:public], X[public:test], X[test:], y[test:]


#: In the order of the page.
TABLES = {
    "Adult": adult,
    "Diabetes, natural": diabetes_natural,
    "Diabetes, balanced": diabetes_balanced,
    "flights": flights,
    "breast cancer": breast_cancer,
    "digits": digits,
    "MNIST pixels": mnist,
    "24 classes": classes_24,
    "only together": only_together,
}
