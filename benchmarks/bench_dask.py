"""What a local Dask cluster costs over loky, with two workers and teachers that sleep.

Both pools are up before the clock starts. Needs the extra `dask`.
"""

import contextlib
import time

import numpy as np
from joblib import parallel_config
from sklearn.base import BaseEstimator, ClassifierMixin

from sklearn_pate.teachers import collect_votes

from .shared import MissingError, Row, show


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
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise MissingError("the extra dask") from None

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
            teacher_indices=teacher,
            n_teachers=n_teachers,
            n_classes=2,
            n_jobs=n_jobs,
        )
        return time.perf_counter() - start


def rows(quick):
    n_rounds, n_teachers, sleep = (1, 8, 0.25) if quick else (3, 24, 1.0)
    with dask_workers(2):
        for backend in ("loky", "dask"):  # workers import what they need
            seconds_of(backend, 4, 0.01, 2)
        taken = [
            tuple(seconds_of(backend, n_teachers, sleep, 2) for backend in ("dask", "loky"))
            for _ in range(n_rounds)
        ]
    yield Row(
        "votes of all teachers, Dask",
        "s",
        "loky",
        f"{n_teachers} teachers of {sleep:g} s, 2 workers",
        tuple(taken),
        (n_teachers, "teachers"),
    )


if __name__ == "__main__":
    show(rows(quick=False))
