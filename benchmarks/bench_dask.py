"""What a Dask cluster costs over loky: fits with two workers and teachers of one second each.

    python benchmarks/bench_dask.py [--pairs 3] [--teachers 24] [--seconds 1.0]

A teacher sleeps and predicts a constant. Both pools are up before the clock starts. Pairs are
interleaved; the ratio is the median over pairs. Needs the extra `dask`.
"""

import argparse
import contextlib
import statistics
import time

import numpy as np
from joblib import parallel_config
from sklearn.base import BaseEstimator, ClassifierMixin

from sklearn_pate.teachers import collect_votes


class Sleeper(ClassifierMixin, BaseEstimator):
    def __init__(self, seconds=1.0):
        self.seconds = seconds

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        time.sleep(self.seconds)
        return self

    def predict(self, X):
        return np.zeros(len(X), dtype=int)


@contextlib.contextmanager
def dask_workers(n_workers):
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        client.wait_for_workers(n_workers)
        yield client


def seconds_of(backend, n_teachers, seconds, n_jobs):
    rng = np.random.default_rng(0)
    X, X_query = rng.normal(size=(n_teachers * 100, 10)), rng.normal(size=(1000, 10))
    teacher = np.arange(len(X)) % n_teachers
    codes = np.arange(len(X)) // n_teachers % 2  # both classes in each part
    with parallel_config(backend=backend):
        start = time.perf_counter()
        collect_votes(
            [Sleeper(seconds)],
            X,
            codes,
            X_query,
            teacher=teacher,
            n_teachers=n_teachers,
            n_classes=2,
            n_jobs=n_jobs,
        )
        return time.perf_counter() - start


def pairs_of(n_pairs, n_teachers, seconds, n_jobs=2):
    with dask_workers(n_jobs):
        for backend in ("loky", "dask"):  # workers import what they need
            seconds_of(backend, 2 * n_jobs, 0.01, n_jobs)
        for _ in range(n_pairs):
            yield tuple(seconds_of(b, n_teachers, seconds, n_jobs) for b in ("loky", "dask"))


def rows(quick=False):
    """Yield one row; with `quick`, one pair of fits of fewer and shorter teachers."""
    n_pairs, n_teachers, seconds = (1, 8, 0.25) if quick else (3, 24, 1.0)
    pairs = list(pairs_of(n_pairs, n_teachers, seconds))
    yield {
        "name": "Dask against loky",
        "measured": "votes of all teachers, Dask",
        "value": statistics.median(dask for _, dask in pairs),
        "unit": "s",
        "baseline": "loky",
        "baseline_value": statistics.median(loky for loky, _ in pairs),
        "ratio": statistics.median(dask / loky for loky, dask in pairs),
        "setting": f"{n_teachers} teachers of {seconds:g} s, 2 workers, {n_pairs} pairs",
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--teachers", type=int, default=24)
    parser.add_argument("--seconds", type=float, default=1.0)
    args = parser.parse_args()
    ratios = []
    for loky, dask in pairs_of(args.pairs, args.teachers, args.seconds):
        ratios.append(dask / loky)
        print(f"loky {loky:6.2f} s   Dask {dask:6.2f} s   ratio {ratios[-1]:.3f}")
    print(f"median ratio {statistics.median(ratios):.3f}")


if __name__ == "__main__":
    main()
