"""Ballots of records on disk (`numpy.memmap`) against the plain loop that everybody must pay.

The loop transforms a block and finds the nearest center of each row by a matrix product. It counts
nothing, checks no near ties, keeps nothing apart, and stops at the first row that fails. Ours looks
at few distances at a time, so there is a second loop that does as well.
"""

import shutil
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from sklearn.preprocessing import StandardScaler

from sklearn_pate import PATEClassifier
from sklearn_pate.electorate import PrivateData
from sklearn_pate.neighbors import ReverseNeighbors
from sklearn_pate.neighbors.blocks import BLOCK_SIZE

from .shared import MissingError, Row, anonymous_peak_above, in_child, memory, show

WIDTH = 30
N_CELLS = 1000
FEW = 250  # rows whose distances to all centers stay in the processor's cache
X_PUBLIC = np.random.default_rng(1).normal(size=(5000, WIDTH))


def voters():
    return ReverseNeighbors(StandardScaler(), n_cells=N_CELLS, random_state=0)


def labels_of(X):
    return (np.arange(len(X)) % 2).astype(np.int8)


def written(path, n_records):
    """Write a file of random rows."""
    n_bytes = 8 * WIDTH * n_records
    if shutil.disk_usage(path.parent).free < 2 * n_bytes:
        raise MissingError(f"{2 * n_bytes / 2**30:.0f} GiB of disk for temporary files")
    X = np.lib.format.open_memmap(path, "w+", float, (n_records, WIDTH))
    for start in range(0, n_records, 100_000):
        part = X[start : start + 100_000]
        part[:] = np.random.default_rng(start).normal(size=part.shape)
    X.flush()
    return n_bytes


def plain(transformer, X, centers, n_at_a_time):
    """The plain loop, which finds the nearest centers of so many rows at a time."""
    squares = (centers**2).sum(axis=1)
    for start in range(0, len(X), BLOCK_SIZE):
        numbers = transformer.transform(X[start : start + BLOCK_SIZE])
        for k in range(0, len(numbers), n_at_a_time):
            (squares - 2 * numbers[k : k + n_at_a_time] @ centers.T).argmin(axis=1)


def cpu_seconds(function, *args):
    start = time.process_time()
    function(*args)
    return time.process_time() - start


def times(path, n_rounds):
    """Seconds of the processor for all ballots, and for both loops, in turn."""
    X = np.load(path, mmap_mode="r")
    private = PrivateData(X=X, codes=labels_of(X), classes=np.arange(2))
    electorate = voters()
    electorate.enrol(private, X_PUBLIC)
    electorate.divide(X_PUBLIC, noise_std=1.0, n_records=len(X), n_classes=2)
    transformer = StandardScaler().fit(X_PUBLIC)
    centers = electorate._centers
    return tuple(
        (
            cpu_seconds(electorate.vote, private, X_PUBLIC),
            cpu_seconds(plain, transformer, X, centers, BLOCK_SIZE),
            cpu_seconds(plain, transformer, X, centers, FEW),
        )
        for _ in range(n_rounds)
    )


def peak(path):
    """MiB of the process's own pages at the peak of `poll`, with all that is imported."""
    before = memory("RssAnon")

    def poll():
        X = np.load(path, mmap_mode="r")
        clf = PATEClassifier(voters(), epsilon=1.0, delta=1e-9, classes=[0, 1])
        clf.poll(X, labels_of(X), X_public=X_PUBLIC)

    return before + anonymous_peak_above(poll)


def rows(quick):
    sizes = {60_000: 1} if quick else {1_000_000: 3, 3_000_000: 3, 10_000_000: 1}
    with TemporaryDirectory() as folder:
        for n_records, n_rounds in sizes.items():
            path = Path(folder) / "X.npy"
            n_bytes = written(path, n_records)
            setting = f"{n_records:,} records x {WIDTH} numbers, {N_CELLS:,} cells, n_jobs=1"
            rounds = times(path, n_rounds)
            for k, loop in enumerate(("", f", {FEW} rows at a time"), start=1):
                yield Row(
                    "ballots of records on disk",
                    "CPU s",
                    f"transform and a matrix product{loop}",
                    setting,
                    tuple((ours[0], ours[k]) for ours in rounds),
                    (n_records, "records"),
                )
            yield Row(
                "peak memory of poll that the system cannot drop, imports included",
                "MiB",
                "the file",
                setting,
                ((in_child(peak, str(path)), n_bytes / 2**20),),
            )


if __name__ == "__main__":
    show(rows(quick=False))
