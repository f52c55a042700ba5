"""Measure PATERegressor and private peers: R2, and the coverage of 80 % intervals.

    python -m benchmarks regression [--seeds S ...] [--tables NAME ...] [--models NAME ...]

Measurements go to docs/results/regression.json and are kept there: a run goes on where the
last one stopped. Peers run in the environments that `python -m benchmarks peers --environments`
makes. They get all of epsilon for records that join or leave, which is the weaker promise; ours is
for records that are replaced. Nothing is tuned.
"""

import argparse
import json
import subprocess
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.stats import norm
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_pate import PATERegressor
from sklearn_pate.neighbors import RowVectorizer
from sklearn_pate.rdp.conversion import gdp_mu

from ..peers.columns import n_categories, numbers
from ..peers.environments import python_of
from ..shared import MissingError, machine
from .peers import FAILURE
from .tables import TABLES

FILE = Path(__file__).parents[2] / "docs" / "results" / "regression.json"
EPSILONS = (0.5, 1.0, 4.0)
DELTA = 1e-5
#: Each peer, and the environment that it runs in.
PEERS = {"DP-EBM": "interpret", "diffprivlib": "diffprivlib", "AdaSSP": ""}
#: Learning rates of Opacus; which is best differs from table to table.
RATES = {"Opacus, rate 0.05": 0.05, "Opacus, rate 0.5": 0.5}
PEERS |= dict.fromkeys(RATES, "opacus")
#: Ours, by the number of levels.
OURS = {"PATE": 2, "PATE, 10 levels": 10, "PATE, 30 levels": 30}
PUBLIC = ("no privacy, boosting", "no privacy, ridge on columns of public rows")


def ours(name, table, bounds, epsilon, seed):
    reg = PATERegressor(bounds=bounds, epsilon=epsilon, delta=DELTA, n_levels=OURS[name])
    reg.set_params(random_state=seed).fit(table.X, table.y, X_public=table.X_public)
    found = {"R2": reg.score(table.X_test, table.y_test), "method": type(reg.table_).__name__}
    if OURS[name] > 2:
        low, high = reg.predict_quantiles(table.X_test, [0.1, 0.9]).T
        found["coverage"] = float(np.mean((low <= table.y_test) & (table.y_test <= high)))
    return found


def without_privacy(name, table, bounds, epsilon, seed):
    if "boosting" in name:
        model = HistGradientBoostingRegressor(random_state=seed, categorical_features="from_dtype")
        predicted = model.fit(table.X, table.y).predict(table.X_test)
        return {"R2": r2_score(table.y_test, predicted)}
    columns = RowVectorizer(random_state=0).fit(table.X_public)
    model = make_pipeline(StandardScaler(), Ridge())
    model.fit(columns.transform(table.X), table.y)
    return {"R2": r2_score(table.y_test, model.predict(columns.transform(table.X_test)))}


def peer(name, table, bounds, epsilon, seed):
    low, high = bounds
    learned = make_pipeline(RowVectorizer(random_state=0), StandardScaler()).fit(table.X_public)
    arrays = {
        "y": 2 * (np.clip(table.y, low, high) - low) / (high - low) - 1,
        "n_categories": n_categories(table),
        "learned": learned.transform(table.X),
        "learned_test": learned.transform(table.X_test),
    }
    for kind in ("wide", "codes"):
        arrays[kind] = numbers(table.X, table, kind)
        arrays[f"{kind}_test"] = numbers(table.X_test, table, kind)
    request = {"model": name, "epsilon": epsilon, "delta": DELTA, "seed": seed}
    request |= {"rate": RATES.get(name)}
    request |= {"mu": float(gdp_mu(epsilon, DELTA)), "tail": float(norm.isf(FAILURE / 2))}
    with tempfile.TemporaryDirectory() as folder:
        request |= {"arrays": f"{folder}/rows.npz", "to": f"{folder}/predicted.npy"}
        np.savez(request["arrays"], **arrays)
        script = str(Path(__file__).with_name("peers.py"))
        python = python_of(PEERS[name])
        subprocess.run([python, "-W", "ignore", script, json.dumps(request)], check=True)
        predicted = np.load(request["to"])
    return {"R2": r2_score(table.y_test, (predicted + 1) / 2 * (high - low) + low)}


def measure(results, models, tables, seeds):
    for name in models:
        fit = peer if name in PEERS else ours if name in OURS else without_privacy
        for title in tables:
            make, bounds = TABLES[title]
            for epsilon in (0.0,) if name in PUBLIC else EPSILONS:
                for seed in seeds:
                    key = f"{name} | {title} | {epsilon:g} | {seed}"
                    if key in results["fits"]:
                        continue
                    start = time.perf_counter()
                    with warnings.catch_warnings(action="ignore"):
                        found = fit(name, make(seed), bounds, epsilon, seed)
                    found |= {"seconds": round(time.perf_counter() - start, 1)}
                    results["fits"][key] = found
                    FILE.write_text(json.dumps(results, indent=1, default=float) + "\n")
                    print(key, found, flush=True)


def print_means(results):
    """Print the mean and two standard errors, by table, model and epsilon."""
    rows = {}
    for key, found in results["fits"].items():
        *what, _ = key.split(" | ")
        rows.setdefault(tuple(what), []).append(found)
    for (name, title, epsilon), found in sorted(rows.items(), key=lambda row: row[0][1:] + row[0]):
        for score in ("R2", "coverage"):
            values = np.array([one[score] for one in found if score in one])
            if len(values):
                error = 2 * values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
                print(
                    f"{title:9} {epsilon:4} {name:30} {score:8} {values.mean():.3f} ± {error:.3f}"
                )


def main(arguments):
    parser = argparse.ArgumentParser(prog="python -m benchmarks regression", description=__doc__)
    every = [*OURS, *PEERS, *PUBLIC]
    parser.add_argument("--models", nargs="*", choices=every, default=every, metavar="NAME")
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES), metavar="NAME")
    parser.add_argument("--seeds", nargs="+", type=int, default=range(5), metavar="S")
    args = parser.parse_args(arguments)
    results = {"machine": machine(), "fits": {}}
    if FILE.exists():
        results = json.loads(FILE.read_text())
    for title in args.tables:
        try:
            measure(results, args.models, [title], args.seeds)
        except MissingError as error:
            print(f"{title}: needs {error}")
    print_means(results)
