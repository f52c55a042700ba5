"""CPU time and memory of default fits as one size grows: records, columns, classes, rows, teachers.

Each fit runs in a new process. `exponent` is the slope of the logarithms of time from the size
before: 1 where time grows in proportion. `docs/results/growth.csv` has all rows.
"""

import csv
import math
import time
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from sklearn.naive_bayes import GaussianNB

from sklearn_pate import PATEClassifier
from sklearn_pate.aggregators import GNMax
from sklearn_pate.methods import ReverseNeighbors

from .measure import Row, in_child, peak_above

FILE = Path(__file__).parents[2] / "docs" / "results" / "growth.csv"
#: Sizes of a fit unless they grow.
DEFAULT = {"records": 50_000, "columns": 10, "classes": 2, "public rows": 5000, "teachers": 100}
#: What grows, the kinds of fits, and the sizes; the last list is for `--quick`.
GROWTH = {
    "classes": (("cells", "sums", "no public rows"), (2, 10, 100, 1000), (2, 4)),
    "columns": (("cells", "sums", "no public rows"), (10, 100, 500, 2000), (5, 10)),
    "public rows": (("cells", "sums"), (500, 5000, 50_000), (300, 600)),
    "teachers": (("teachers",), (10, 100, 1000), (5, 10)),
    "records": (("cells", "no public rows"), (10_000, 100_000, 1_000_000), (2000, 4000)),
}
#: Fits with many columns have fewer records.
RECORDS_OF_COLUMNS = 10_000


def made(n, sizes, seed):
    """Rows of independent numbers, and labels that depend on all of them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, sizes["columns"]))
    along = X @ np.random.default_rng(0).normal(size=sizes["columns"])
    places = np.quantile(along[:10_000], np.linspace(0, 1, sizes["classes"] + 1)[1:-1])
    return X, np.searchsorted(places, along)


def written(path, sizes):
    """A file of private rows, which the fit maps, and their labels."""
    n, at_once = sizes["records"], 100_000
    X = np.lib.format.open_memmap(path, "w+", float, (n, sizes["columns"]))
    y = np.empty(n, dtype=np.int16)
    for start in range(0, n, at_once):
        rows = slice(start, min(start + at_once, n))
        X[rows], y[rows] = made(rows.stop - start, sizes, start + 1)
    X.flush()
    return np.load(path, mmap_mode="r"), y


def fit(kind, X, y, X_public, sizes):
    """A fit of a kind, with nothing declared but the classes."""
    params = {"epsilon": 1.0, "delta": 1e-6, "classes": range(sizes["classes"])}
    params |= {"random_state": 0, "on_bad_plan": "warn"}
    if kind == "teachers":
        params |= {
            "base_estimator": GaussianNB(),
            "n_teachers": sizes["teachers"],
            "aggregator": GNMax(sizes["teachers"] / 10),
            "epsilon": None,
        }
    elif kind != "no public rows":
        params["method"] = "sums" if kind == "sums" else ReverseNeighbors()
    if kind == "no public rows":
        X_public = None
    PATEClassifier(**params).fit(X, y, X_public)


def measured(kind, sizes):
    """CPU seconds of a fit, and MiB at its peak above the labels and the public rows."""
    warnings.simplefilter("ignore")
    with TemporaryDirectory() as folder:
        few = sizes | {"records": 2000, "public rows": 400, "classes": 2, "columns": 4}
        fit(kind, *made(2000, few, 1), made(400, few, 2)[0], few | {"teachers": 2})  # imports
        X, y = written(Path(folder) / "X.npy", sizes)
        X_public = made(sizes["public rows"], sizes, 0)[0]
        start = time.process_time()
        peak = peak_above(fit, kind, X, y, X_public, sizes)
        mapped = X.nbytes / 2**20
        return time.process_time() - start, peak, mapped


def growth(quick):
    """A row for each size, compared with the size before."""
    rows = []
    for what, (kinds, full, few) in GROWTH.items():
        for kind in kinds:
            before = None
            for size in few if quick else full:
                sizes = DEFAULT | {what: size}
                if what == "columns":
                    sizes["records"] = RECORDS_OF_COLUMNS
                if quick and what != "records":
                    sizes["records"] = 2000
                seconds, peak, mapped = in_child(measured, kind, sizes)
                exponent = ""
                if before is not None:
                    exponent = math.log(seconds / before[1]) / math.log(size / before[0])
                rows.append(
                    {
                        "grows": what,
                        "fit": kind,
                        **sizes,
                        "CPU seconds": round(seconds, 3),
                        "exponent": exponent and round(exponent, 2),
                        "MiB": round(peak, 1),
                        "MiB of the private rows": round(mapped, 1),
                    }
                )
                pair = (seconds, seconds if before is None else before[1])
                yield Row(
                    f"{what}, {kind}: {size:,}",
                    "s of CPU",
                    "the size before",
                    ", ".join(f"{number:,} {name}" for name, number in sizes.items()),
                    (pair,),
                    details={"exponent": exponent, "MiB": peak, "MiB of the private rows": mapped},
                )
                before = size, seconds
                if not quick:
                    write(rows)


def write(rows):
    """Write all rows as CSV."""
    with FILE.open("w", newline="") as file:
        table = csv.DictWriter(file, rows[0], lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
