"""Compare one fit of several targets with a fit for each of them.

    python -m benchmarks targets [--seeds S ...] [--tables NAME ...]

The fit of all targets has epsilon 1. The baseline has an equal part of epsilon and delta for each
target, and the ceiling all of it for each. All have public rows.

- Adult: income and hours of work per week, which are left out of the features. Income is a number
  from 0 to 1 of the fit of both, scored as accuracy; hours are scored by R2.
- Adult, teachers: income, and whether the hours are above 40, as two labels; 250 decision trees
  vote, and a logistic regression is the student. Scored by accuracy and AUC.
- ten labels: made-up labels of 20,000 records with 12 or 50 columns, by the mean AUC.

Results go to docs/results/rules_targets.csv.
"""

import argparse
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, r2_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from sklearn_pate import PATEClassifier, PATERegressor
from sklearn_pate.encoding.vectorizer import LenientRowVectorizer

from ..peers.tables import adult
from ..shared import write_table

FILE = Path(__file__).parents[2] / "docs" / "results" / "rules_targets.csv"
HOURS, BOUNDS, LONG_HOURS = "hours-per-week", (1, 99), 40
N_LABELS, N_RECORDS, N_PUBLIC, N_TEST = 10, 20_000, 2000, 5000
DELTA = 1e-5


def adult_scores(seed):
    """Return the scores of Adult: accuracy of income, and R2 of hours, of each kind of fit."""
    table = adult(seed)
    hours, tested = (np.asarray(rows[HOURS], dtype=float) for rows in (table.X, table.X_test))
    X, X_public, X_test = (
        rows.drop(columns=HOURS) for rows in (table.X, table.X_public, table.X_test)
    )
    income = np.asarray(table.y).astype(int)

    def alone(part):
        given = {"epsilon": part, "delta": part * DELTA, "random_state": seed}
        clf = PATEClassifier(classes=[0, 1], **given).fit(X, income, X_public)
        reg = PATERegressor(bounds=BOUNDS, **given).fit(X, hours, X_public)
        return {
            "accuracy of income": accuracy_score(table.y_test, clf.predict(X_test)),
            "R2 of hours": r2_score(tested, reg.predict(X_test)),
        }

    both = PATERegressor(bounds=[(0, 1), BOUNDS], random_state=seed)
    proba, predicted = both.fit(X, np.column_stack([income, hours]), X_public).predict(X_test).T
    together = {
        "accuracy of income": accuracy_score(table.y_test, proba > 0.5),
        "R2 of hours": r2_score(tested, predicted),
    }
    return {"together": together, "a part each": alone(0.5), "all each": alone(1.0)}


def label_scores(seed, n_columns):
    """Return the mean AUC of ten made-up labels, of each kind of fit."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_RECORDS + N_PUBLIC + N_TEST, n_columns))
    weights = rng.normal(size=(n_columns, N_LABELS))
    Y = (X @ weights / np.sqrt(n_columns) + rng.logistic(size=(len(X), N_LABELS)) > 0).astype(int)
    private, test = slice(N_RECORDS), slice(N_RECORDS + N_PUBLIC, None)
    X_public = X[N_RECORDS : N_RECORDS + N_PUBLIC]

    def area(proba, labels):
        return float(np.mean([roc_auc_score(y, p) for y, p in zip(labels.T, proba, strict=True)]))

    def alone(part):
        given = {"epsilon": part, "delta": part * DELTA, "random_state": seed}
        proba = []
        for y in Y[private].T:
            clf = PATEClassifier(classes=[0, 1], **given).fit(X[private], y, X_public)
            proba.append(clf.predict_proba(X[test])[:, 1])
        return {"mean AUC": area(proba, Y[test])}

    clf = PATEClassifier(classes=[[0, 1]] * N_LABELS, random_state=seed)
    proba = clf.fit(X[private], Y[private], X_public).predict_proba(X[test])
    together = {"mean AUC": area([each[:, 1] for each in proba], Y[test])}
    return {"together": together, "a part each": alone(1 / N_LABELS), "all each": alone(1.0)}


def teacher_scores(seed):
    """Return the scores of income and of long hours of Adult, as voted by trees."""
    table = adult(seed)
    X, X_public, X_test = (
        rows.drop(columns=HOURS) for rows in (table.X, table.X_public, table.X_test)
    )
    labels, tested = (
        np.column_stack([y, np.asarray(rows[HOURS], dtype=float) > LONG_HOURS]).astype(int)
        for rows, y in ((table.X, table.y), (table.X_test, table.y_test))
    )
    tree = DecisionTreeClassifier(max_depth=5, min_samples_leaf=10)
    model, student = (
        make_pipeline(LenientRowVectorizer(), each)
        for each in (tree, LogisticRegression(C=0.1, max_iter=1000))
    )
    given = {"student": student, "n_teachers": 250, "random_state": seed}

    def scores_of(proba):
        found = {}
        for name, y, column in zip(("income", "hours"), tested.T, proba, strict=True):
            found[f"accuracy of {name}"] = accuracy_score(y, column > 0.5)
            found[f"AUC of {name}"] = roc_auc_score(y, column)
        return found

    def alone(part):
        of_part = {"epsilon": part, "delta": part * DELTA}
        fits = [
            PATEClassifier(model, classes=[0, 1], **of_part, **given).fit(X, y, X_public)
            for y in labels.T
        ]
        return scores_of([clf.predict_proba(X_test)[:, 1] for clf in fits])

    both = PATEClassifier(model, classes=[[0, 1], [0, 1]], **given).fit(X, labels, X_public)
    together = scores_of([proba[:, 1] for proba in both.predict_proba(X_test)])
    return {"together": together, "a part each": alone(0.5), "all each": alone(1.0)}


TABLES = {
    "ten labels, 12 columns": partial(label_scores, n_columns=12),
    "ten labels, 50 columns": partial(label_scores, n_columns=50),
    "Adult": adult_scores,
    "Adult, teachers": teacher_scores,
}
HEADER = ("table", "score", "seed", "together", "a part each", "all each")


def main(arguments):
    parser = argparse.ArgumentParser(prog="python -m benchmarks targets", description=__doc__)
    parser.add_argument("--seeds", nargs="+", type=int, default=range(5))
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=TABLES)
    parser.add_argument("--file", type=Path, default=FILE, help="file to write")
    given = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    rows = []
    for name in given.tables:
        for seed in given.seeds:
            found = TABLES[name](seed)
            for score in found["together"]:
                numbers = (f"{found[kind][score]:.4f}" for kind in HEADER[3:])
                rows.append((name, score, seed, *numbers))
                print(*rows[-1], sep=", ", flush=True)
            write_table(given.file, "Targets", HEADER, rows)
