"""The tables: rows, a number for each, and the public description of both.

Diamonds come with the package `plotnine`, hourly bike rentals and wages with `ISLP`; hours per week
are from Adult, in $SKLEARN_PATE_DATA. Bounds are round numbers that everybody may know.
"""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd

from ..papers.adult import frames
from ..peers.tables import ADULT, Table
from ..shared import MissingError


def diamonds(seed):
    table = _read("plotnine", "data/diamonds.csv")
    y = np.log(table.pop("price").to_numpy(float))
    sizes = dict.fromkeys("xyz", (0, 12))
    bounds = {"carat": (0, 5.5), "depth": (40, 80), "table": (40, 100), **sizes}
    return _assigned(table, y, seed, bounds, n_public=5000, n_private=40_000)


def bikes(seed):
    table = _read("ISLP", "data/Bikeshare.csv")
    y = table["bikers"].to_numpy(float)
    shares = dict.fromkeys(("holiday", "workingday", "temp", "atemp", "hum", "windspeed"), (0, 1))
    bounds = {"hr": (0, 23), "weekday": (0, 6), **shares}
    columns = ["mnth", "weathersit", *bounds]
    return _assigned(table[columns], y, seed, bounds, n_public=len(y) // 3, n_private=4300)


def wages(seed):
    table = _read("ISLP", "data/Wage.csv")
    y = table.pop("wage").to_numpy(float)
    table = table.drop(columns=["logwage", "region"])
    bounds = {"year": (2003, 2009), "age": (18, 80)}
    return _assigned(table, y, seed, bounds, n_public=1000, n_private=1500)


def hours(seed):
    rows, _, others, _ = frames()
    table = pd.concat([rows, others], ignore_index=True)
    y = table.pop("hours-per-week").to_numpy(float)
    bounds = {name: edges for name, edges in ADULT.items() if name != "hours-per-week"}
    return _assigned(table, y, seed, bounds, n_public=5000, n_private=30_000)


#: Each table, and the bounds of its numbers: log dollars, rentals, thousands of dollars, hours.
TABLES = {
    "diamonds": (diamonds, (np.log(300), np.log(20_000))),
    "bikes": (bikes, (0, 1000)),
    "wages": (wages, (20, 320)),
    "hours": (hours, (1, 99)),
}


def _read(package, name):
    spec = find_spec(package)
    if spec is None:
        raise MissingError(f"the package {package} (pip install --no-deps {package})")
    return pd.read_csv(Path(spec.submodule_search_locations[0]) / name)


def _assigned(table, y, seed, bounds, *, n_public, n_private):
    """Rows in random order: public ones, private ones, and those to score on."""
    texts = [name for name in table if name not in bounds]
    table = table.astype({name: "category" for name in texts} | dict.fromkeys(bounds, float))
    order = np.random.default_rng(seed).permutation(len(y))
    public, private, test = np.split(order, [n_public, n_public + n_private])
    X, X_public, X_test = (
        table.iloc[rows].reset_index(drop=True) for rows in (private, public, test)
    )
    return Table(X, y[private], X_public, X_test, y[test], bounds)
