"""Fits and polls of teachers, compared with a plain loop, few teachers, or data in memory."""

import importlib.util
import os
import time
from functools import partial

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from sklearn_pate import PATEClassifier
from sklearn_pate.aggregators import GNMax, LNMax
from sklearn_pate.datasets import fetch_adult, fetch_mnist
from sklearn_pate.encoding import ClassTarget
from sklearn_pate.methods import Teachers
from sklearn_pate.releases import PrivateData
from sklearn_pate.teachers.batched import BatchedTeachers

from ..shared import MissingError, data
from .measure import Row, in_child, paired, peak_above, seconds

STUMP = DecisionTreeClassifier(max_depth=1)
PART = 20  # records of each stump


def fit_and_predict(teacher, X, y, X_query):
    """Fit a teacher, and predict."""
    return teacher.fit(X, y).predict(X_query)


def fit(quick):
    """The whole fit, compared with a joblib loop that only fits and queries the same forests."""
    n_teachers, n_trees, n_rounds = (20, 5, 1) if quick else (250, 100, 5)
    data("adult", "UCI Adult")
    X, y = fetch_adult(subset="train", as_frame=False, return_X_y=True)
    X_public = fetch_adult(subset="test", as_frame=False, return_X_y=True)[0][:500]
    parts = np.array_split(np.random.default_rng(0).permutation(len(y)), n_teachers)

    def bare(n_jobs, n_trees=n_trees):
        Parallel(n_jobs=n_jobs)(
            delayed(fit_and_predict)(
                RandomForestClassifier(n_trees, random_state=i), X[part], y[part], X_public
            )
            for i, part in enumerate(parts)
        )

    def pate(n_jobs, n_trees=n_trees):
        PATEClassifier(
            RandomForestClassifier(n_trees),
            n_teachers=n_teachers,
            aggregator=LNMax(12.5 / n_teachers),
            epsilon=None,
            classes=[0, 1],
            n_jobs=n_jobs,
        ).fit(X, y, X_public=X_public)

    for jobs in (2, 1):
        for each in (pate, bare):  # start the workers, and have them import
            each(jobs, 1)
        yield Row(
            f"whole fit, n_jobs={jobs}",
            "s",
            "joblib loop, fit and predict alone",
            f"Adult, {n_teachers} forests of {n_trees} trees, 500 queries",
            paired(partial(pate, jobs), partial(bare, jobs), n_rounds),
        )


def ours(X, codes, X_query, n_teachers):
    """Votes as the library collects them."""
    private = PrivateData(X=X, codes=codes, target=ClassTarget(range(10)))
    ensemble = Teachers([STUMP], n_teachers=n_teachers)
    ensemble.prepare(private, X_query)
    ensemble.vote(private, X_query)


def naive(X, codes, X_query, n_teachers):
    """Keep the predictions of all teachers in one array, and count in the end."""
    predicted = np.empty((n_teachers, len(X_query)), dtype=np.intp)
    for i in range(n_teachers):
        part = slice(i * PART, (i + 1) * PART)
        stump = clone(STUMP).set_params(random_state=i)
        predicted[i] = fit_and_predict(stump, X[part], codes[part], X_query)
    counts = np.zeros((len(X_query), 10), dtype=np.int64)
    for classes in predicted:
        counts[np.arange(len(classes)), classes] += 1


def cpu_and_peak(name, n_teachers, n_queries):
    """CPU seconds of collecting votes, and MiB at the peak above the data."""
    collect = {"ours": ours, "naive": naive}[name]
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_teachers * PART, 10))
    X_query = rng.normal(size=(n_queries, 10))
    codes = rng.integers(10, size=len(X))
    collect(X[: 4 * PART], codes[: 4 * PART], X_query, 4)  # imports
    start = time.process_time()
    peak = peak_above(collect, X, codes, X_query, n_teachers)
    return time.process_time() - start, peak


def votes(quick):
    """Collecting the votes of thousands of stumps: memory and time."""
    n_teachers, n_queries, n_rounds = (100, 2000, 1) if quick else (5000, 20_000, 3)
    rounds = [
        [in_child(cpu_and_peak, name, n_teachers, n_queries) for name in ("ours", "naive")]
        for _ in range(n_rounds)
    ]
    for k, (what, unit) in enumerate((("time", "s of CPU"), ("peak memory", "MiB"))):
        yield Row(
            f"{what} of collecting votes",
            unit,
            "loop that keeps teachers x queries codes",
            f"{n_teachers:,} stumps, {n_queries:,} queries, 10 classes, {PART} records each",
            tuple((one[k], other[k]) for one, other in rounds),
        )


def peak_of_poll(n_teachers):
    """MiB of a poll of naive Bayes, above data and imports."""
    X = np.random.default_rng(0).normal(size=(100_000, 10))
    X_public = np.random.default_rng(1).normal(size=(10_000, 10))
    y = (np.arange(len(X)) % 2).astype(np.int8)

    def poll(n_teachers):
        clf = PATEClassifier(
            GaussianNB(),
            n_teachers=n_teachers,
            aggregator=GNMax(n_teachers / 10),
            epsilon=None,
            classes=[0, 1],
        )
        clf.poll(X, y, X_public=X_public)

    poll(2)  # imports
    return peak_above(poll, n_teachers)


def memory(quick):
    """Thousands of teachers, compared with few."""
    few, many, n_rounds = (20, 200, 1) if quick else (100, 5000, 3)
    yield Row(
        f"peak memory of a poll of {many:,} teachers",
        "MiB",
        f"{few} teachers",
        "100,000 records x 10 numbers, GaussianNB, 10,000 queries",
        tuple((in_child(peak_of_poll, many), in_child(peak_of_poll, few)) for _ in range(n_rounds)),
    )


def batched(quick):
    """Networks trained together, compared with the same one by one; on a GPU, if there is one."""
    if importlib.util.find_spec("skorch") is None:
        raise MissingError("the extra torch")
    import torch
    from skorch import NeuralNetClassifier
    from torch import nn

    data("mnist", "MNIST")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    n_teachers, epochs, n_rounds = (4, 1, 1) if quick else (16, 10, 3)
    X, y = fetch_mnist(subset="train", return_X_y=True, as_frame=False)
    X = X.reshape(-1, 784)[: 240 * n_teachers + 1000].astype(np.float32) / 255

    class OneByOne(NeuralNetClassifier):
        def train_step(self, *args, **kwargs):  # overridden: not batched, even on a GPU
            return super().train_step(*args, **kwargs)

    def train(kind, wrap):
        network = kind(
            lambda: nn.Sequential(nn.Linear(784, 64), nn.ReLU(), nn.Linear(64, 10)),
            criterion=nn.CrossEntropyLoss,
            optimizer=torch.optim.Adam,
            max_epochs=epochs,
            batch_size=32,
            train_split=None,
            classes=list(range(10)),
            device=device,
            verbose=0,
        )
        clf = PATEClassifier(wrap(network), n_teachers=n_teachers, classes=range(10))
        clf.poll(X[:-1000], y[: len(X) - 1000].astype(int), X[-1000:])

    together = partial(train, NeuralNetClassifier, BatchedTeachers)
    one_by_one = partial(train, OneByOne, lambda network: network)
    seconds(together)  # imports
    yield Row(
        f"networks trained together, {device}",
        "s",
        "skorch, one by one",
        f"MNIST, {n_teachers} networks, 240 images each, {epochs} epochs, {os.cpu_count()} CPUs",
        paired(together, one_by_one, n_rounds),
    )
