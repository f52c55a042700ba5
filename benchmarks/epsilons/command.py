"""Measure whether default fits are ever worse with more epsilon.

    python -m benchmarks epsilons [--tables NAME ...] [--seeds S ...] [--page]

Each fit is `PATEClassifier(epsilon=..., classes=...)` with default settings and public rows. The
fits of one seed differ only in epsilon. Measurements go to docs/results/epsilons/fits.json and are
kept there: a run goes on where the last one stopped. docs/results/rules_epsilons.csv is made of it.
A fall is the mean change of a score from an epsilon to the next, over seeds, if it is negative.
Limits are simultaneous: the quantile of Student's t is for all comparisons of the page
(Bonferroni), so that all changes are within their limits with a probability of 95 %.
"""

import argparse
import json
import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy.stats import t
from sklearn.metrics import roc_auc_score

from sklearn_pate import PATEClassifier

from ..shared import MissingError, machine, write_table
from .tables import TABLES

FOLDER = Path(__file__).parents[2] / "docs" / "results"
FILE = FOLDER / "epsilons" / "fits.json"
PAGE = FOLDER / "rules_epsilons.csv"
EPSILONS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
SCORES = ("AUC", "accuracy")
CONFIDENCE = 0.95


def measured(table, epsilon, seed):
    """Return the scores of a fit, and its method."""
    clf = PATEClassifier(epsilon=epsilon, classes=table.classes, random_state=seed)
    clf.set_params(unit="record" if table.groups is None else "group", on_bad_plan="warn")
    with warnings.catch_warnings(action="ignore"):
        clf.fit(table.X, table.y, X_public=table.X_public, groups=table.groups)
    proba = clf.predict_proba(table.X_test)
    proba = proba / proba.sum(axis=1, keepdims=True)
    second = proba[:, 1] if len(table.classes) == 2 else proba
    return {
        "AUC": round(float(roc_auc_score(table.y_test, second, multi_class="ovr")), 5),
        "accuracy": round(float((clf.predict(table.X_test) == table.y_test).mean()), 5),
        "method": type(clf.table_).__name__,
    }


def measure(results, name, seeds):
    """Fit a table at all epsilons that were not measured, and keep the scores."""
    for seed in seeds:
        keys = {epsilon: f"{name} | {epsilon:g} | {seed}" for epsilon in EPSILONS}
        missing = {e: key for e, key in keys.items() if key not in results["fits"]}
        table = TABLES[name](seed) if missing else None
        for epsilon, key in missing.items():
            results["fits"][key] = measured(table, epsilon, seed)
        if missing:
            print(f"{name}, seed {seed}", *(results["fits"][key] for key in keys.values()), sep=" ")
            save(results)


def save(results):
    lines = [f"{json.dumps(key)}: {json.dumps(fit)}" for key, fit in results["fits"].items()]
    fits = "{\n" + ",\n".join(sorted(lines)) + "\n}"
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(f'{{"machine": {json.dumps(results["machine"])},\n"fits": {fits}}}\n')


def by_table(results, score):
    """Return the scores of each table that was measured at all epsilons, (n_seeds, n_epsilons)."""
    found = {}
    for key, fit in results["fits"].items():
        name, epsilon, seed = key.split(" | ")
        found.setdefault(name, {}).setdefault(seed, {})[float(epsilon)] = fit[score]
    return {
        name: np.array([[of_seed[e] for e in EPSILONS] for of_seed in found[name].values()])
        for name in TABLES
        if len(found.get(name, ())) > 1
    }


def limits(changes, n_comparisons):
    """Return the mean of paired changes over seeds, and half the width of its limits."""
    n_seeds = len(changes)
    quantile = t.isf((1 - CONFIDENCE) / 2 / n_comparisons, n_seeds - 1)
    return changes.mean(axis=0), quantile * changes.std(axis=0, ddof=1) / np.sqrt(n_seeds)


def rows(results):
    """Return a row for each table and score; the largest falls come first."""
    of_scores = {score: by_table(results, score) for score in SCORES}
    n_comparisons = sum(map(len, of_scores.values())) * (len(EPSILONS) - 1)
    found = []
    for score, tables in of_scores.items():
        for name, scores in tables.items():
            change, half = limits(np.diff(scores, axis=1), n_comparisons)
            steps = [f"{a:g} to {b:g}" for a, b in pairwise(EPSILONS)]
            worst = int(np.argmin(change))
            certain = [step for step, c, h in zip(steps, change, half, strict=True) if c < -h]
            cells = [name, score, str(len(scores))]
            cells += [f"{mean:.3f}" for mean in scores.mean(axis=0)]
            cells += [f"{change[worst]:+.4f}", steps[worst], f"{half[worst]:.4f}"]
            found.append((change[worst], [*cells, ", ".join(certain) or "none"]))
    return [cells for _, cells in sorted(found, key=lambda row: row[0])]


def write(found):
    """Put the table into the page."""
    header = ["table", "score", "seeds", *(f"{epsilon:g}" for epsilon in EPSILONS)]
    header += ["lowest change", "from epsilon", "limits, +-", "falls beyond the limits"]
    write_table(PAGE, "Epsilons", header, found)


def main(arguments):
    parser = argparse.ArgumentParser(prog="python -m benchmarks epsilons", description=__doc__)
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES), metavar="NAME")
    parser.add_argument("--seeds", nargs="+", type=int, default=range(4), metavar="S")
    parser.add_argument("--page", action="store_true", help="measure nothing, write the page")
    given = parser.parse_args(arguments)
    results = {"machine": machine(), "fits": {}}
    if FILE.exists():
        results = json.loads(FILE.read_text())
    for name in () if given.page else given.tables:
        try:
            measure(results, name, given.seeds)
        except MissingError as error:
            print(f"{name}: needs {error}")
    write(rows(results))
