"""Measure fits whose public rows come from elsewhere: alarms, and scores of the student.

    python -m benchmarks shift [--tables NAME ...] [--shifts PART ...] [--seeds S ...] [--page]

Measurements go to docs/results/shift/fits.json and are kept there: a run goes on where the
last one stopped. Two pages, docs/results/shift_alarms.csv and shift_scores.csv, are made of it.
Each fit is `PATEClassifier(epsilon=..., classes=...)` with default settings. "Without weights" is
the same fit without its alarm: no weights for the student, and full trust in the public rows.
Scores without public rows are from the fair table, docs/results/peers.
"""

import argparse
import json
import warnings
from pathlib import Path
from unittest import mock

import numpy as np
from sklearn.dummy import DummyClassifier

from sklearn_pate import PATEClassifier, shift
from sklearn_pate.exceptions import PublicRowsWarning

from ..peers.found import firsts, found, other_models
from ..peers.measure import Results
from ..peers.scores import scores
from ..peers.tables import TABLES
from ..shared import MissingError, machine, write_table
from .tables import SHIFTS, shifted

FOLDER = Path(__file__).parents[2] / "docs" / "results"
FILE = FOLDER / "shift" / "fits.json"
EPSILONS = (0.5, 1.0, 4.0)
#: Tables whose students are scored. The others get a student that learns nothing, as alarms do not
#: depend on it.
SCORED = ("Adult", "flights", "Diabetes, natural")


def fitted(table, epsilon, seed, student=None):
    """Fit by default, and return the estimator and whether it warned of its public rows."""
    clf = PATEClassifier(epsilon=epsilon, classes=table.classes, student=student, random_state=seed)
    clf.set_params(unit="record" if table.groups is None else "group", on_bad_plan="warn")
    with warnings.catch_warnings(record=True, action="always") as caught:
        clf.fit(table.X, table.y, X_public=table.X_public, groups=table.groups)
    return clf, any(issubclass(one.category, PublicRowsWarning) for one in caught)


def scored(clf, table):
    y = np.searchsorted(table.classes, table.y_test)
    got = scores(y, clf.predict_proba(table.X_test), table.rate)
    return {name: got[name] for name in ("accuracy", "AUC")}


def measured(table, epsilon, seed, *, is_scored):
    """Return the alarm of a fit, its scores, and the scores of the same fit without an alarm."""
    clf, warned = fitted(table, epsilon, seed, None if is_scored else DummyClassifier())
    seen = clf.table_.shift
    result = {
        "warned": warned,
        "statistic": seen.statistic,
        "distance": round(seen.distance, 4),
        "expected": round(seen.expected, 4),
        "z": round(seen.z, 2),
        "of means": round(seen.mean_distance, 4),
        "z of means": round(max(seen.mean_z, -9), 2),
    }
    if not is_scored:
        return result
    result |= scored(clf, table)
    without = result
    if warned and seen.statistic == "votes":
        with mock.patch.object(shift, "LEAST_Z", np.inf):
            without = scored(fitted(table, epsilon, seed)[0], table)
    return result | {f"{name} without": without[name] for name in ("accuracy", "AUC")}


def measure(results, tables, parts, epsilons, seeds):
    for name in tables:
        for kind in ["none", *SHIFTS.get(name, ())]:
            if not any(part in kind for part in parts):
                continue
            for seed in seeds:
                table = None
                for epsilon in epsilons:
                    key = f"{name} | {kind} | {epsilon:g} | {seed}"
                    if key in results["fits"]:
                        continue
                    table = shifted(name, kind, seed) if table is None else table
                    results["fits"][key] = measured(table, epsilon, seed, is_scored=name in SCORED)
                    lines = [
                        f"{json.dumps(k)}: {json.dumps(v)}" for k, v in results["fits"].items()
                    ]
                    fits = "{\n" + ",\n".join(sorted(lines)) + "\n}"
                    FILE.parent.mkdir(exist_ok=True)
                    FILE.write_text(
                        f'{{"machine": {json.dumps(results["machine"])},\n"fits": {fits}}}\n'
                    )
                    print(key, results["fits"][key], flush=True)


# --- pages ----------------------------------------------------------------------------------------


def by_case(results):
    """Return the fits of each table, shift and epsilon."""
    cases = {}
    for key, fit in results["fits"].items():
        *case, _ = key.split(" | ")
        cases.setdefault(tuple(case), []).append(fit)
    return cases


def alarms(results):
    """Return rows with the number of alarms; false alarms and misses come first."""
    cases = by_case(results)
    rows = []
    for name in TABLES:
        for kind in ["none", *SHIFTS.get(name, ())]:
            cells, n_missed = [name, kind], 0
            for epsilon in EPSILONS:
                fits = cases.get((name, kind, f"{epsilon:g}"))
                if fits is None:
                    cells.append("")
                    continue
                n_warned = sum(fit["warned"] for fit in fits)
                n_missed += n_warned if kind == "none" else len(fits) - n_warned
                distance, expected = (
                    np.mean([fit[what] for fit in fits]) for what in ("distance", "expected")
                )
                which = "/".join(sorted({fit["statistic"] for fit in fits}))
                cells.append(f"{n_warned} of {len(fits)} ({which}; {distance:.2f}; {expected:.2f})")
            if any(cells[2:]):
                rows.append((kind != "none", -n_missed, cells))
    return [cells for _, _, cells in sorted(rows, key=lambda row: row[:2])]


def without_public_rows():
    """Return mean scores of ours and of the best peer without public rows, by table and epsilon."""
    frame = firsts(found(Results(FOLDER / "peers"), range(5)))
    means = frame.groupby(["table", "epsilon", "model"])[["accuracy", "AUC"]].mean()
    ours, others = {}, {}
    for (table, epsilon), part in means.groupby(level=[0, 1]):
        part = part.droplevel([0, 1])
        if "PATE, no public rows" in part.index:
            ours[table, epsilon] = part.loc["PATE, no public rows"]
        peers = part[part.index.isin(other_models(public=False))]
        if len(peers):
            others[table, epsilon] = peers.max()
    return ours, others


def score_rows(results):
    """Return rows with mean scores; those that lose most by the shift come first."""
    cases = by_case(results)
    ours, others = without_public_rows()
    rows = []
    for name in SCORED:
        for kind in ["none", *SHIFTS[name]]:
            for epsilon in EPSILONS:
                fits = cases.get((name, kind, f"{epsilon:g}"))
                same = cases.get((name, "none", f"{epsilon:g}"))
                if fits is None or same is None:
                    continue
                loss = np.mean([f["AUC"] for f in fits]) - np.mean([f["AUC"] for f in same])
                cells = [name, kind, f"{epsilon:g}", f"{loss:+.3f}"]
                for end in ("", " without"):
                    cells.append(
                        pair(
                            *(
                                np.mean([fit[what + end] for fit in fits])
                                for what in ("accuracy", "AUC")
                            )
                        )
                    )
                for means in (ours, others):
                    found_there = means.get((name, epsilon))
                    cells.append("" if found_there is None else pair(*found_there))
                rows.append((loss, cells))
    return [cells for _, cells in sorted(rows, key=lambda row: row[0])]


def pair(accuracy, auc):
    return f"{accuracy:.3f} / {auc:.3f}"


def write(name, header, rows):
    """Put a table into its file."""
    write_table(FOLDER / f"shift_{name}.csv", name, header, rows)


def main(arguments):
    parser = argparse.ArgumentParser(prog="python -m benchmarks shift", description=__doc__)
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES), metavar="NAME")
    parser.add_argument("--shifts", nargs="+", default=[""], metavar="PART", help="of their names")
    parser.add_argument("--seeds", nargs="+", type=int, default=range(5), metavar="S")
    parser.add_argument("--epsilons", nargs="+", type=float, default=EPSILONS, metavar="E")
    parser.add_argument("--page", action="store_true", help="measure nothing, write the pages")
    given = parser.parse_args(arguments)
    results = {"machine": machine(), "fits": {}}
    if FILE.exists():
        results = json.loads(FILE.read_text())
    for name in () if given.page else given.tables:
        try:
            measure(results, [name], given.shifts, given.epsilons, given.seeds)
        except MissingError as error:
            print(f"{name}: needs {error}")
    each = [f"epsilon {epsilon:g}" for epsilon in EPSILONS]
    write("alarms", ["table", "public rows", *each], alarms(results))
    header = ["table", "public rows", "epsilon", "AUC, change", "accuracy / AUC", "without weights"]
    write(
        "scores",
        [*header, "ours, no public rows", "best peer, no public rows"],
        score_rows(results),
    )
