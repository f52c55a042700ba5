"""The data of the fair table: private, public and test rows, and the declared columns.

Defaults were set on the private rows of Adult and of flights, on other splits of breast cancer,
digits and Diabetes (with another label), and on training images of MNIST, but on no test row of
Adult, flights or MNIST. Bounds are round numbers from the documentation of the data sets.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import GroupShuffleSplit

from sklearn_pate.datasets import fetch_diabetes130, fetch_mnist

from ..papers.adult import frames
from ..papers.diabetes import FEATURES
from ..shared import data
from .surveys import SURVEYS

ADULT = {
    "age": (17, 90),
    "education-num": (1, 16),
    "capital-gain": (0, 1, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000),
    "capital-loss": (0, 1, 500, 1000, 1500, 2000, 2500, 3000, 5000),
    "hours-per-week": (1, 99),
}
FLIGHTS = {"hour": (0, 23), "day of the year": (1, 365), "log miles": (np.log(50), np.log(5000))}
CARRIERS = "9E AA AS B6 DL EV F9 FL HA MQ OO UA US VX WN YV"
#: The timetable of New York's airports.
DESTINATIONS = (
    "ABQ ACK ALB ANC ATL AUS AVL BDL BGR BHM BNA BOS BQN BTV BUF BUR BWI BZN CAE CAK CHO CHS CLE "
    "CLT CMH CRW CVG DAY DCA DEN DFW DSM DTW EGE EYW FLL GRR GSO GSP HDN HNL HOU IAD IAH ILM IND "
    "JAC JAX LAS LAX LGB MCI MCO MDW MEM MHT MIA MKE MSN MSP MSY MTJ MVY MYR OAK OKC OMA ORD ORF "
    "PBI PDX PHL PHX PIT PSE PSP PVD PWM RDU RIC ROC RSW SAN SAT SAV SBN SDF SEA SFO SJC SJU SLC "
    "SMF SNA SRQ STL STT SYR TPA TUL TVC TYS XNA"
)
FLIGHT_CATEGORIES = {
    "weekday": [str(day) for day in range(7)],
    "month": [str(month) for month in range(1, 13)],
    "carrier": CARRIERS.split(),
    "origin": ["EWR", "JFK", "LGA"],
    "destination": DESTINATIONS.split(),
}
#: Greatest codes that the data set's mapping of codes names.
CODES = {"admission_type_id": 8, "discharge_disposition_id": 30, "admission_source_id": 26}
VISITS = (0, 1, 2, 3, 5, 10, 50)
DIABETES = {
    "time_in_hospital": (1, 14),
    "num_lab_procedures": (0, 120),
    "num_procedures": (0, 6),
    "num_medications": (0, 80),
    "number_outpatient": VISITS,
    "number_emergency": VISITS,
    "number_inpatient": VISITS,
    "number_diagnoses": (1, 16),
}
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
    bounds: Any = None
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


def adult(seed):
    """The file's own division; the last 11,282 test rows, as the papers have it."""
    X, y, X_all, y_all = frames()
    missing = ("workclass", "occupation", "native-country")
    public, test = X_all[:4999], X_all[-11282:]
    return Table(X, y, public, test, y_all[-11282:], ADULT, missing=missing, rate=0.24)


def flights(seed):
    """Flights, and whether they were more than a quarter of an hour late."""
    table = pd.read_csv(data("flights", "`flights.csv.gz`") / "flights.csv.gz")
    day = pd.to_datetime({"year": 2013, "month": table.month, "day": table.day})
    X = pd.DataFrame(
        {
            "hour": table.sched_dep_time // 100,
            "day of the year": day.dt.dayofyear,
            "weekday": day.dt.dayofweek.astype(str),
            "month": table.month.astype(str),
            "log miles": np.log(table.distance),
            "carrier": table.carrier,
            "origin": table.origin,
            "destination": table.dest,
        }
    )
    y = (table.arr_delay > 15).to_numpy().astype(int)
    public, test, private = slice(20_000), slice(20_000, 50_000), slice(50_000, None)
    rows = X[private], y[private], X[public], X[test], y[test]
    return Table(*rows, FLIGHTS, FLIGHT_CATEGORIES, rate=0.24)


def diabetes(is_balanced, seed):
    """All stays, or as many with a readmission as without; patients are in one part each."""
    data("diabetes130", "Diabetes 130-US")
    stays = fetch_diabetes130()
    X = stays.data[FEATURES]
    X = X.assign(**{c: X[c].cat.set_categories(range(1, n + 1)) for c, n in CODES.items()})
    y = stays.target.to_numpy()
    patient = stays.groups.to_numpy()
    rng = np.random.default_rng(seed)
    rows = np.arange(len(y))
    if is_balanced:
        negative = rng.choice(np.flatnonzero(y == 0), y.sum(), replace=False)
        rows = np.concatenate([np.flatnonzero(y == 1), negative])
    private, rest = divided(rng.permutation(rows), patient, 0.25, seed)
    public, test = divided(rest, patient, 0.5, seed)
    return Table(
        *(X.iloc[private], y[private], X.iloc[public], X.iloc[test], y[test]),
        DIABETES,
        groups=patient[private],
        rate=0.5 if is_balanced else 0.11,
    )


def divided(rows, patient, test_size, seed):
    """Two parts of some rows; no patient is in both."""
    split = GroupShuffleSplit(1, test_size=test_size, random_state=seed)
    return (rows[part] for part in next(split.split(rows, groups=patient[rows])))


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
    return Table(*ordered(X, cloud % 24, 30_000, 35_000), bounds=(-4, 4))


def only_together(seed):
    """Six columns; the product of two determines the label. One label of ten is wrong."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(40_000, 6))
    y = (X[:, 0] * X[:, 1] > 0) ^ (rng.random(40_000) < 0.1)
    return Table(*ordered(X, y.astype(int), 30_000, 35_000), bounds=(-4, 4), rate=0.5)


def ordered(X, y, public, test):
    return X[:public], y[:public], X[public:test], X[test:], y[test:]


#: In the order of the page.
TABLES = {
    "Adult": adult,
    "Diabetes, natural": partial(diabetes, False),
    "Diabetes, balanced": partial(diabetes, True),
    "flights": flights,
    "breast cancer": breast_cancer,
    "digits": digits,
    "MNIST pixels": mnist,
    "24 classes": classes_24,
    "only together": only_together,
    **SURVEYS,
}
