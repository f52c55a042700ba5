"""CPU time and memory of default fits as one size grows, such as the number of records.

Each fit runs in a new process, in which a small fit has imported everything. `exponent` is the
slope of the logarithms of time from the size before: 1 where time grows in proportion.
`docs/results/growth_fits.csv` has all rows.
"""

import csv
import math
import time
import warnings
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from sklearn.naive_bayes import GaussianNB

from sklearn_pate import PATEClassifier
from sklearn_pate.aggregators import GNMax
from sklearn_pate.methods import ReverseNeighbors
from sklearn_pate.teachers import Sites

from ..shared import machine
from .measure import Row, in_child, paired, peak_above

FILE = Path(__file__).parents[2] / "docs" / "results" / "growth_fits.csv"
#: Sizes of a fit unless they grow.
DEFAULT = {
    "records": 50_000,
    "columns": 10,
    "classes": 2,
    "public rows": 5000,
    "teachers": 100,
    "targets": 1,
    "sites": 1,
}
#: What grows, the kinds of fits, the sizes, and the sizes for `--quick`.
GROWTH = (
    ("classes", ("cells", "sums", "no public rows"), (2, 10, 100, 1000), (2, 4)),
    ("public rows", ("cells", "sums"), (500, 5000, 50_000), (300, 600)),
    ("teachers", ("teachers",), (10, 100, 1000), (5, 10)),
    ("targets", ("cells", "sums", "no public rows"), (1, 4, 16), (1, 2)),
    ("sites", ("cells", "no public rows"), (1, 10, 100), (2, 4)),
    ("columns", ("cells", "sums"), (10, 100, 500, 2000), (5, 10)),
    ("columns", ("no public rows",), (10, 100, 500), (5, 10)),
    ("records", ("cells", "no public rows"), (10_000, 100_000, 1_000_000, 10**7), (2000, 4000)),
)
#: Fits with many columns have fewer records.
RECORDS_OF_COLUMNS = 10_000


def made(n, sizes, seed):
    """Rows of independent numbers, and labels of each target that depend on all of them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, sizes["columns"]))
    slopes = np.random.default_rng(0).normal(size=(sizes["columns"], sizes["targets"]))
    y = np.empty((n, sizes["targets"]), dtype=np.int16)
    for k, along in enumerate((X @ slopes).T):
        places = np.quantile(along[:10_000], np.linspace(0, 1, sizes["classes"] + 1)[1:-1])
        y[:, k] = np.searchsorted(places, along)
    return X, y if sizes["targets"] > 1 else y[:, 0]


def written(path, sizes):
    """Files of private rows, which the fit maps, and of their labels."""
    n, at_once = sizes["records"], 100_000
    X = np.lib.format.open_memmap(path / "X.npy", "w+", float, (n, sizes["columns"]))
    y = np.empty((n, sizes["targets"]) if sizes["targets"] > 1 else n, dtype=np.int16)
    for start in range(0, n, at_once):
        rows = slice(start, min(start + at_once, n))
        X[rows], y[rows] = made(rows.stop - start, sizes, start + 1)
    X.flush()
    np.save(path / "y.npy", y)
    return np.load(path / "X.npy", mmap_mode="r"), y


def load(name):
    """The rows of a site: its name is the folder of the files, its number, and their number."""
    folder, number, n_sites = name.split("|")
    X, y = (np.load(Path(folder) / file, mmap_mode="r") for file in ("X.npy", "y.npy"))
    ends = np.linspace(0, len(y), int(n_sites) + 1).astype(int)
    rows = slice(*ends[int(number) : int(number) + 2])
    return X[rows], y[rows]


def fit(kind, X, y, X_public, sizes, n_jobs=None):
    """A fit of a kind, with nothing declared but the classes."""
    classes = [*range(sizes["classes"])]
    if sizes["targets"] > 1:
        classes = [classes] * sizes["targets"]
    params = {"epsilon": 1.0, "delta": 1e-6, "classes": classes}
    params |= {"random_state": 0, "on_bad_plan": "warn", "n_jobs": n_jobs}
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
        X_public, params["method"] = None, "sums"
    PATEClassifier(**params).fit(X, y, X_public)


def measured(kind, sizes):
    """CPU seconds of a fit, and MiB at its peak above the labels and the public rows."""
    warnings.simplefilter("ignore")
    with TemporaryDirectory() as folder:
        few = sizes | {"records": 2000, "public rows": 400, "classes": 2, "columns": 4}
        few |= {"teachers": 2}
        fit(kind, *made(2000, few, 1), made(400, few, 2)[0], few)
        X, y = written(Path(folder), sizes)
        mapped = X.nbytes / 2**20
        if sizes["sites"] > 1:
            names = [f"{folder}|{number}|{sizes['sites']}" for number in range(sizes["sites"])]
            X, y = Sites(load, names), None
        X_public = made(sizes["public rows"], sizes, 0)[0]
        start = time.process_time()
        peak = peak_above(fit, kind, X, y, X_public, sizes)
        return time.process_time() - start, peak, mapped


def used(kind, sizes):
    """Names of the sizes that a kind of fit depends on, without single targets and sites."""
    unused = {name for name in ("targets", "sites") if sizes[name] == 1}
    unused |= {"public rows"} if kind == "no public rows" else set()
    unused |= {"teachers"} if kind != "teachers" else set()
    return [name for name in sizes if name not in unused]


def growth(quick):
    """A row for each size, compared with the size before."""
    rows = []
    for what, kinds, full, few in GROWTH:
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
                setting = ", ".join(f"{sizes[name]:,} {name}" for name in used(kind, sizes))
                rows.append(
                    {
                        "grows": what,
                        "fit": kind,
                        "size": size,
                        "CPU seconds": round(seconds, 3),
                        "exponent": exponent and round(exponent, 2),
                        "MiB": round(peak, 1),
                        "MiB of the private rows": round(mapped, 1),
                        "all sizes": setting,
                    }
                )
                pair = (seconds, seconds if before is None else before[1])
                yield Row(
                    f"{what}, {kind}: {size:,}",
                    "s of CPU",
                    "the size before",
                    setting,
                    (pair,),
                    details={"exponent": exponent, "MiB": peak, "MiB of the private rows": mapped},
                )
                before = size, seconds
                if not quick:
                    write(rows)


def write(rows):
    """Write all rows as CSV, under the words of the page that is made of them."""
    about = machine()
    with FILE.open("w", newline="") as file:
        file.write(
            "# Time and memory of a fit as one size grows\n"
            "# `python -m benchmarks speed --only growth`, one process for each fit, at epsilon 1\n"
            "# with nothing declared but the classes. Fits without public rows are class sums.\n"
            "# The exponent is the slope of the logarithms of time from the size before, and the\n"
            "# memory the peak above the labels and the public rows, with the pages of the mapped\n"
            "# file of private rows that were read.\n"
            f"# scikit-learn {about['scikit-learn']}, NumPy {about['numpy']}, one thread.\n"
        )
        table = csv.DictWriter(file, rows[0], lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


def workers(quick):
    """Two workers compared with one, on a file of records: seconds of a clock, in turn."""
    n_records, n_rounds = (50_000, 1) if quick else (10_000_000, 3)
    sizes = DEFAULT | {"records": n_records}
    warnings.simplefilter("ignore")
    for kind in ("cells", "no public rows"):
        with TemporaryDirectory() as folder:
            X, y = written(Path(folder), sizes)
            X_public = made(sizes["public rows"], sizes, 0)[0]
            ours, baseline = (partial(fit, kind, X, y, X_public, sizes, n_jobs=n) for n in (2, 1))
            ours()  # starts the workers
            yield Row(
                f"two workers, {kind}",
                "s",
                "one worker",
                f"{n_records:,} records x {sizes['columns']} numbers in a file",
                paired(ours, baseline, n_rounds),
            )
