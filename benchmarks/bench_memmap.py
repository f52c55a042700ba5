"""Memory of a fit on private data that stay on disk (`numpy.memmap`) against the same in memory."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from sklearn.naive_bayes import GaussianNB

from sklearn_pate import PATEClassifier
from sklearn_pate.aggregators import GNMax

from .shared import Row, anonymous_peak_above, in_child, peak_above, show

WIDTH = 50


def peaks(path, mmap_mode, n_teachers, n_jobs):
    """MiB that opening the file and fitting take, in the main process.

    With mapped pages, and without.
    """
    X_public = np.random.default_rng(1).normal(size=(500, WIDTH))

    def fit(X, n_teachers):
        y = (np.arange(len(X)) % 2).astype(np.int8)
        PATEClassifier(
            GaussianNB(),
            n_teachers=n_teachers,
            aggregator=GNMax(n_teachers / 10),
            epsilon=None,
            delta=1e-8,
            classes=[0, 1],
            n_jobs=n_jobs,
        ).fit(X, y, X_public=X_public)

    fit(np.random.default_rng(0).normal(size=(100, WIDTH)), 4)  # imports, workers
    anonymous = []

    def measured():
        fit(np.load(path, mmap_mode=mmap_mode), n_teachers)

    resident = peak_above(lambda: anonymous.append(anonymous_peak_above(measured)))
    return resident, anonymous[0]


def rows(quick):
    n_records, n_teachers, n_rounds = (20_000, 20, 1) if quick else (1_000_000, 200, 3)
    with TemporaryDirectory() as folder:
        path = str(Path(folder) / "X.npy")
        X = np.lib.format.open_memmap(path, "w+", float, (n_records, WIDTH))
        for start in range(0, n_records, 10_000):
            X[start : start + 10_000] = np.random.default_rng(start).normal(size=(10_000, WIDTH))
        X.flush()
        setting = f"{X.nbytes / 2**20:.0f} MiB, {n_teachers} teachers, GaussianNB"
        for n_jobs in (1,) if quick else (1, 2):
            rounds = [
                [in_child(peaks, path, mode, n_teachers, n_jobs) for mode in ("r", None)]
                for _ in range(n_rounds)
            ]
            kinds = ("pages of the file included", "that the system cannot drop")
            for k, kind in enumerate(kinds):
                yield Row(
                    f"peak memory of a fit on a memmap, {kind}",
                    "MiB",
                    "the same array loaded",
                    f"{setting}, n_jobs={n_jobs}",
                    tuple((mapped[k], loaded[k]) for mapped, loaded in rounds),
                )


if __name__ == "__main__":
    show(rows(quick=False))
