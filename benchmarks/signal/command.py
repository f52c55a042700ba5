"""Count the warnings of no relation, over ten tables without a relation and ten with one.

    python -m benchmarks signal [--seeds S ...] [--methods NAME ...]

Each table is drawn anew for each seed, and a model is fitted by each method. A warning of no
relation, or of one class, is a false alarm where there is a relation; a fit without one is a miss
where there is none. Results go to docs/results/rules_signal.csv.
"""

import argparse
import csv
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline

from sklearn_pate import PATEClassifier
from sklearn_pate.encoding import RowVectorizer
from sklearn_pate.exceptions import BudgetExceededError
from sklearn_pate.methods import ClassSums, ReverseNeighbors

FILE = Path(__file__).parents[2] / "docs" / "results" / "rules_signal.csv"
WARNINGS = ("the released numbers may be little better", "of one class", "have the class that")
N_PUBLIC, N_TEST = 1000, 1000


def linear(X, rng, strength, n_classes=2, rare=None):
    """Classes by a noisy sum of all columns; `rare` is the share of the second of two."""
    score = strength * X @ rng.normal(size=X.shape[1]) / np.sqrt(X.shape[1])
    score = score + rng.logistic(size=len(X))
    shares = np.linspace(0, 1, n_classes + 1)[1:-1] if rare is None else [1 - rare]
    return np.searchsorted(np.quantile(score, shares), score)


def ring(X, rng):
    return ((X[:, :2] ** 2).sum(axis=1) > 1.4).astype(int)


def product(X, rng):
    return (X[:, 0] * X[:, 1] > 0).astype(int)


def one_column(X, rng):
    return (X[:, 0] + rng.normal(size=len(X)) > 0).astype(int)


def clusters(X, rng, n_classes=10):
    centers = 1.5 * rng.normal(size=(n_classes, X.shape[1]))
    y = rng.integers(n_classes, size=len(X))
    X += centers[y]
    return y


def same(X, rng):
    return np.zeros(len(X), dtype=int)


class Table(NamedTuple):
    """Sizes of a table, epsilon, and what makes its labels, with its arguments."""

    name: str
    n: int
    n_columns: int
    epsilon: float
    labels: object
    given: dict = {}
    n_classes: int = 2
    is_text: bool = False


def unrelated(name, n, n_columns, epsilon, **given):
    return Table(name, n, n_columns, epsilon, linear, {"strength": 0.0, **given})


UNRELATED = [
    unrelated("few records", 500, 3, 1.0),
    unrelated("ten columns", 3000, 10, 1.0),
    unrelated("forty columns", 3000, 40, 1.0),
    unrelated("a class of 5 %", 3000, 10, 1.0, rare=0.05),
    unrelated("small epsilon", 20_000, 10, 0.1),
    unrelated("large epsilon", 3000, 5, 8.0),
    unrelated("five classes", 3000, 5, 2.0, n_classes=5)._replace(n_classes=5),
    unrelated("a hundred classes", 20_000, 5, 1.0, n_classes=100)._replace(n_classes=100),
    unrelated("text", 3000, 5, 1.0)._replace(is_text=True),
    Table("labels of one class", 3000, 5, 1.0, same),
]
RELATED = [
    Table("weak, linear", 5000, 5, 1.0, linear, {"strength": 0.5}),
    Table("linear, few records", 500, 3, 1.0, linear, {"strength": 1.5}),
    Table("linear, ten columns", 3000, 10, 1.0, linear, {"strength": 1.0}),
    Table("linear, forty columns", 3000, 40, 1.0, linear, {"strength": 2.0}),
    Table("linear, a class of 5 %", 5000, 5, 1.0, linear, {"strength": 1.5, "rare": 0.05}),
    Table("one of twenty columns", 5000, 20, 1.0, one_column),
    Table("a ring", 5000, 4, 1.0, ring),
    Table("a product", 5000, 2, 1.0, product),
    Table("ten clusters", 5000, 5, 1.0, clusters, {}, 10),
    Table("text, linear", 3000, 5, 2.0, linear, {"strength": 1.5}, 2, True),
]

MODEL = make_pipeline(RowVectorizer(), LogisticRegression())

#: Parameters for each method, and whether a schema takes the place of public rows.
METHODS = {
    "cells": ({"method": ReverseNeighbors()}, False),
    "class sums": ({"method": ClassSums()}, False),
    "schema": ({}, True),
    "teachers": ({"base_estimator": MODEL, "n_teachers": 100}, False),
}


def fitted(method, table, seed):
    """Fit one model; return whether it warned, and its AUC; None if the fit is refused.

    With more than two classes, 0.5 + accuracy - share of the largest class takes its place.
    """
    rng = np.random.default_rng([seed, table.n, table.n_columns])
    X = rng.normal(size=(table.n + N_PUBLIC + N_TEST, table.n_columns))
    y = table.labels(X, rng, **table.given)
    if table.is_text:
        kinds = pd.CategoricalDtype([*"abcd"])
        codes = np.digitize(X, [-0.7, 0.0, 0.7])
        columns = (pd.Categorical.from_codes(column, dtype=kinds) for column in codes.T)
        X = pd.DataFrame({f"c{k}": column for k, column in enumerate(columns)})
    params, has_schema = METHODS[method]
    clf = PATEClassifier(epsilon=table.epsilon, classes=range(table.n_classes), **params)
    clf.set_params(random_state=seed, on_bad_plan="warn")
    first, last = slice(table.n), slice(table.n + N_PUBLIC, None)
    rows, test = X[first], X[last]
    public = X[table.n : table.n + N_PUBLIC]
    if has_schema:
        clf.set_params(schema={} if table.is_text else (-5, 5))
        public = None
    with warnings.catch_warnings(record=True, action="always") as caught:
        try:
            clf.fit(rows, y[first], X_public=public)
        except BudgetExceededError:
            return None
    warned = any(words in str(warning.message) for warning in caught for words in WARNINGS)
    return warned, scored(clf, test, y[last], table.n_classes)


def scored(clf, X, y, n_classes):
    if n_classes == 2 and len(clf.student_.classes_) == 2 and len(np.unique(y)) == 2:
        return roc_auc_score(y, clf.predict_proba(X)[:, 1])
    return 0.5 + (clf.predict(X) == y).mean() - np.bincount(y).max() / len(y)


def main(arguments):
    parser = argparse.ArgumentParser("python -m benchmarks signal", description=__doc__)
    parser.add_argument("--seeds", nargs="+", type=int, default=[3, 4])
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    given = parser.parse_args(arguments)
    lines = []
    for kind, tables in (("none", UNRELATED), ("some", RELATED)):
        for table in tables:
            cells = [table.name, kind]
            for method in given.methods:
                found = [fitted(method, table, seed) for seed in given.seeds]
                found = [result for result in found if result is not None]
                n_warned = sum(warned for warned, _ in found)
                score = np.mean([score for _, score in found]) if found else 0
                cells.append(f"{n_warned} of {len(found)} ({score:.2f})" if found else "refused")
            print(*cells, sep=", ", flush=True)
            lines.append(cells)
    header = ["table", "relation", *(f"{method}: warned" for method in given.methods)]
    write(header, lines)


def write(header, lines):
    """Put the table into the file, under the words that it has."""
    old = FILE.read_text(encoding="utf-8").splitlines() if FILE.exists() else ["# Warnings"]
    words = [line for line in old if line.startswith("#")]
    with FILE.open("w", encoding="utf-8", newline="") as file:
        file.write("\n".join(words) + "\n")
        csv.writer(file, lineterminator="\n").writerows([header, *lines])
