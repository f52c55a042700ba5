"""What a synthesizer's histograms cost and how fine they are: shares of epsilon, bins, labels.

Bounds of columns are read from all rows; in life they would have to be known.
"""

import warnings

import numpy as np

from sklearn_pate import PATEClassifier
from sklearn_pate.aggregators import GaussianMechanism
from sklearn_pate.synthesis import MarginalSynthesizer

from ..papers.no_public_cases import ADULT, FLIGHT_CATEGORIES, FLIGHTS
from . import tables
from .votes import EPSILONS

MISSING = ("workclass", "occupation", "native-country")
#: Where tables are small, a second seed; it changes the rows of these, and all noise.
N_SEEDS = {"Adult": 1, "flights": 1}
#: What is kept of Gaussian noise, which costs a delta, has this in its name.
GAUSSIAN = "Gaussian noise"
#: Shares, bins, and whether columns are counted for each class; the first is the default.
SETTINGS = [
    (0.4, 32, True),
    *((share, n_bins, True) for n_bins in (32, 4) for share in (0.05, 0.2)),
    *((0.4, n_bins, True) for n_bins in (16, 8, 4)),
    *((0.4, n_bins, False) for n_bins in (32, 4)),
    (0.05, 4, False),
]


def some_digits(digits, n_records):
    return lambda seed: tables.few(tables.pixels(), n_records, digits, seed)


def some_letters(letters, n_records):
    classes = [ord(letter) - ord("a") for letter in letters]
    return lambda seed: tables.few(tables.small_letters(), n_records, classes, seed)


#: Rows by seed. Breast cancer is reported, and nothing is set on it.
TABLES = {
    "breast cancer": tables.breast_cancer,
    "wine": tables.wine,
    "digits": tables.digits,
    "MNIST, 3 and 5": some_digits([3, 5], 200),
    "small letters, c and e": some_letters("ce", 500),
    "Adult, few": lambda seed: tables.few(tables.adult(), 2000, seed=seed),
    "Adult": lambda seed: tables.cut(tables.adult()),
    "flights": lambda seed: tables.cut(tables.flights(), (20_000, 3000, 5000)),
}


def measure(kept, *, is_quick=False):
    """Measure what is not kept yet."""
    for name in ("wine",) if is_quick else TABLES:
        for epsilon in EPSILONS[-1:] if is_quick else EPSILONS:
            for setting in SETTINGS:
                words = " | ".join(map(str, (name, epsilon, *setting)))
                kept.measure(words, one_setting, name, epsilon, *setting)
            words = f"{name} | {epsilon} | {GAUSSIAN}"
            kept.measure(words, one_setting, name, epsilon, *SETTINGS[0], GaussianMechanism())


def one_setting(name, epsilon, share, n_bins, given_label, noise=None):
    """Mean accuracy over seeds, and what is public of the table."""
    params = {"share": share, "n_bins": n_bins, "given_label": given_label, "noise": noise}
    scores = []
    for seed in range(N_SEEDS.get(name, 2)):
        rows = TABLES[name](seed)
        synthesizer = MarginalSynthesizer(**known(name, rows), **params)
        scores.append(score(rows, epsilon, synthesizer, seed))
    return {
        "n_records": len(rows.y),
        "n_columns": rows.X.shape[1],
        "n_classes": len(np.unique(rows.y)),
        "accuracy": round(float(np.mean(scores)), 5),
    }


def score(rows, epsilon, synthesizer, seed):
    clf = PATEClassifier(
        epsilon=epsilon, classes=np.unique(rows.y), synthesizer=synthesizer, random_state=seed
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clf.fit(rows.X, rows.y).score(rows.X_test, rows.y_test)


def known(name, rows):
    """What is public of the columns."""
    if name.startswith("Adult"):
        return {"bounds": ADULT, "missing": list(MISSING)}
    if name.startswith("flights"):
        return {"bounds": FLIGHTS, "categories": FLIGHT_CATEGORIES, "missing": []}
    every = np.concatenate([rows.X, rows.X_public, rows.X_test])
    ranges = zip(every.min(axis=0).tolist(), every.max(axis=0).tolist(), strict=True)
    return {"bounds": dict(enumerate(ranges)), "missing": []}
