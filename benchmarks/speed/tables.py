"""Votes and schema counts of a million records and more, compared with plain loops.

The loop for votes transforms a block and finds the nearest center of each row by a matrix product,
250 rows at a time, whose distances stay in the processor's cache. It counts nothing, checks no near
ties, keeps nothing apart, and stops at the first row that fails.
"""

import ctypes
import time
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from sklearn.preprocessing import StandardScaler

from sklearn_pate import PATEClassifier
from sklearn_pate.encoding import ClassTarget
from sklearn_pate.methods import ReverseNeighbors
from sklearn_pate.releases import PrivateData
from sklearn_pate.runtime.blocks import BLOCK_SIZE
from sklearn_pate.schema_release import SchemaRelease
from sklearn_pate.schema_release.counts import TICKS
from sklearn_pate.schema_release.estimates import kinds_of

from .measure import Row, in_child, memory, peak_above, seconds

WIDTH = 30
N_CELLS = 1000
FEW = 250
X_PUBLIC = np.random.default_rng(1).normal(size=(5000, WIDTH))
cpu = partial(seconds, clock=time.process_time)


def opened(path):
    """Records on disk, and their labels."""
    X = np.load(path, mmap_mode="r")
    return X, (np.arange(len(X)) % 2).astype(np.int8)


def neighbors():
    """Records that vote in so many cells."""
    return ReverseNeighbors(StandardScaler(), n_cells=N_CELLS, random_state=0)


def plain(transformer, X, centers):
    """The plain loop."""
    squares = (centers**2).sum(axis=1)
    for start in range(0, len(X), BLOCK_SIZE):
        numbers = transformer.transform(X[start : start + BLOCK_SIZE])
        for k in range(0, len(numbers), FEW):
            (squares - 2 * numbers[k : k + FEW] @ centers.T).argmin(axis=1)


def times(path, n_rounds):
    """Seconds of the processor for all votes and for the loop, in turn."""
    X, codes = opened(path)
    private = PrivateData(X=X, codes=codes, target=ClassTarget([0, 1]))
    method = neighbors()
    method.prepare(private, X_PUBLIC)
    method.prepare_public(X_PUBLIC, noise_std=1.0, n_records=len(X), n_classes=2)
    transformer = StandardScaler().fit(X_PUBLIC)
    return tuple(
        (
            cpu(method.vote, private, X_PUBLIC),
            cpu(plain, transformer, X, method._centers),
        )
        for _ in range(n_rounds)
    )


def peak_memory(path):
    """MiB of a process that polls, without pages of the file, which the system can drop."""
    X, y = opened(path)
    clf = PATEClassifier(method=neighbors(), epsilon=1.0, delta=1e-9, classes=[0, 1])
    clf.poll(X, y, X_public=X_PUBLIC)
    return memory("VmHWM") - memory("RssFile")


def tables(quick):
    """Time and memory by number of records."""
    sizes = {60_000: 1} if quick else {1_000_000: 3, 3_000_000: 3, 10_000_000: 1}
    with TemporaryDirectory() as folder:
        for n_records, n_rounds in sizes.items():
            path = Path(folder) / "X.npy"
            X = np.lib.format.open_memmap(path, "w+", float, (n_records, WIDTH))
            for start in range(0, n_records, 20_000):
                rng = np.random.default_rng(start)
                X[start : start + 20_000] = rng.normal(size=(20_000, WIDTH))
            X.flush()
            setting = f"{n_records:,} records x {WIDTH} numbers, {N_CELLS:,} cells, n_jobs=1"
            yield Row(
                "votes of records on disk",
                "s of CPU",
                f"transform and a matrix product, {FEW} rows at a time",
                setting,
                times(path, n_rounds),
            )
            pair = (in_child(peak_memory, str(path)), X.nbytes / 2**20)
            yield Row(
                "peak memory of a poll, imports included", "MiB", "the file", setting, (pair,)
            )


# --- counts of a schema release -------------------------------------------------------------------

#: Numbers, whole numbers and texts of a mixed table.
N_NUMBERS, N_WHOLE, N_TEXTS = 18, 6, 6


def mixed(n_records):
    """A table of mixed columns: skewed numbers, whole numbers, and texts of 2 to 500 values."""
    rng = np.random.default_rng(0)
    columns = {f"number {k}": np.exp(rng.normal(size=n_records)) for k in range(N_NUMBERS)}
    columns |= {f"whole {k}": rng.integers(0, 5 * 4**k, n_records) for k in range(N_WHOLE)}
    for k, n_values in zip(range(N_TEXTS), (2, 5, 12, 50, 200, 500), strict=True):
        codes = (n_values * rng.random(n_records) ** 2).astype(np.int16)
        values = np.array([f"value {code}" for code in range(n_values)], dtype=object)
        columns[f"text {k}"] = pd.Series(values[codes], dtype=object)
    return pd.DataFrame(columns, copy=False)


def schema_counts(X):
    """Both steps of the counts, as a fit gathers them."""
    amount = np.full(len(X), TICKS)
    release = SchemaRelease(X.shape[1], 1.0, 1e-8)
    ranges = release.gather_ranges(X, amount) / TICKS
    kinds = kinds_of(ranges, 1.0)
    return release.gather_values(X, amount, None, kinds)


def plain_counts(X):
    """A histogram of each column of numbers in 512 intervals, and the counts of each text."""
    for name in X:
        if X[name].dtype == object:
            X[name].value_counts()
        else:
            np.histogram(X[name], 512)


def cpu_and_peak(name, n_records):
    """CPU seconds of both counts, and MiB at the peak above the table."""
    count = {"schema": schema_counts, "plain": plain_counts}[name]
    count(mixed(2000))  # imports
    X = mixed(n_records)
    ctypes.CDLL(None).malloc_trim(0)  # so that memory which is free already counts as well
    start = time.process_time()
    peak = peak_above(count, X)
    return time.process_time() - start, peak


def schema(quick):
    """Counts of a schema release, compared with histograms and counts of values."""
    for n_records, n_rounds in ({60_000: 1} if quick else {1_000_000: 3, 10_000_000: 1}).items():
        rounds = [
            [in_child(cpu_and_peak, name, n_records) for name in ("schema", "plain")]
            for _ in range(n_rounds)
        ]
        width = N_NUMBERS + N_WHOLE + N_TEXTS
        for k, (what, unit) in enumerate((("time", "s of CPU"), ("peak memory", "MiB"))):
            yield Row(
                f"{what} of both counts of a schema release",
                unit,
                "numpy.histogram of numbers, value_counts of texts",
                f"{n_records:,} records x {width} mixed columns, n_jobs=1",
                tuple((one[k], other[k]) for one, other in rounds),
            )
