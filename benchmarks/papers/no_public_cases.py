"""Tables whose public rows are left out: their rows, and what is public of their columns.

Bounds and edges are round numbers, from what the data sets' documentation says.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import GroupShuffleSplit

from sklearn_pate.datasets import fetch_diabetes130
from sklearn_pate.synthesis import MarginalSynthesizer

from . import ballots
from .diabetes import FEATURES
from .shared import data

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


@dataclass(frozen=True)
class Case:
    """Rows, those who are private, and what is public of the columns."""

    rows: ballots.Data
    bounds: Any
    categories: dict | None = None
    missing: tuple = ()
    groups: np.ndarray | None = None

    def fit(self, clf, is_public):
        """Fit with public rows, or with none."""
        known = {"X_public": self.rows.X_public}
        if not is_public:
            synthesizer = MarginalSynthesizer(
                self.bounds, categories=self.categories, missing=list(self.missing)
            )
            clf.set_params(synthesizer=synthesizer)
            known = {}
        clf.set_params(classes=np.unique(self.rows.y))
        return clf.fit(self.rows.X, self.rows.y, groups=self.groups, **known)


def adult():
    missing = ("workclass", "occupation", "native-country")
    return Case(ballots.adult(), ADULT, missing=missing)


def flights():
    return Case(ballots.flights(), FLIGHTS, FLIGHT_CATEGORIES)


def diabetes(seed):
    """As many stays with a readmission as without; patients are private, public or for tests."""
    data("diabetes130", "Diabetes 130-US")
    stays = fetch_diabetes130()
    X = stays.data[FEATURES]
    X = X.assign(**{c: X[c].cat.set_categories(range(1, n + 1)) for c, n in CODES.items()})
    y = stays.target.to_numpy()
    patient = stays.groups.to_numpy()
    rng = np.random.default_rng(seed)
    negative = rng.choice(np.flatnonzero(y == 0), y.sum(), replace=False)
    chosen = rng.permutation(np.concatenate([np.flatnonzero(y == 1), negative]))
    private, rest = divided(chosen, patient, 0.25, seed)
    public, test = divided(rest, patient, 0.5, seed)
    rows = ballots.Data(X.iloc[private], y[private], X.iloc[public], X.iloc[test], y[test])
    return Case(rows, DIABETES, groups=patient[private])


def divided(rows, patient, test_size, seed):
    """Two parts of some rows, such that no patient is in both."""
    split = GroupShuffleSplit(1, test_size=test_size, random_state=seed)
    return (rows[part] for part in next(split.split(rows, groups=patient[rows])))


def digits(seed):
    return Case(ballots.digits(seed), (0, 16))


def parity():
    """Two columns of eight decide together."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(60_000, 8))
    return artificial(X, X[:, 0] != X[:, 1], rng, (0, 1))


def dependent():
    """Two columns of eight are nearly the same, and their difference decides."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60_000, 8))
    X[:, 1] = X[:, 0] + 0.3 * X[:, 1]
    return artificial(X, X[:, 0] > X[:, 1], rng, (-4, 4))


def two_causes():
    """Twenty columns are mixtures of two numbers, whose signs decide together."""
    rng = np.random.default_rng(0)
    causes = rng.normal(size=(60_000, 2))
    X = causes @ rng.normal(size=(2, 20)) + 0.1 * rng.normal(size=(60_000, 20))
    return artificial(X, causes[:, 0] * causes[:, 1] > 0, rng, (-6, 6))


def artificial(X, y, rng, bounds):
    """One label of ten is wrong."""
    y = (y ^ (rng.random(len(y)) < 0.1)).astype(int)
    private, public, test = np.split(X, [46_000, 50_000])
    return Case(ballots.Data(private, y[:46_000], public, test, y[50_000:]), bounds)
