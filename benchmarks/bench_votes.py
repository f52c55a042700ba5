"""Collecting the votes of thousands of stumps: memory and time, and time by number of teachers."""

import time

import numpy as np
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier

from sklearn_pate.teachers import collect_votes

from .shared import Row, in_child, peak_above, show

STUMP = DecisionTreeClassifier(max_depth=1)
PART = 20  # records of each teacher
CLASSES = 10


def ours(X, codes, X_query, n_teachers, n_jobs):
    return collect_votes(
        [STUMP],
        X,
        codes,
        X_query,
        teacher_indices=np.repeat(np.arange(n_teachers), PART),
        n_teachers=n_teachers,
        n_classes=CLASSES,
        n_jobs=n_jobs,
    )[0]


def naive(X, codes, X_query, n_teachers, n_jobs=1):
    """Keep what each teacher predicts in one array, and count in the end."""
    predicted = np.empty((n_teachers, len(X_query)), dtype=np.intp)
    for i in range(n_teachers):
        part = slice(i * PART, (i + 1) * PART)
        stump = clone(STUMP).set_params(random_state=i)
        predicted[i] = stump.fit(X[part], codes[part]).predict(X_query)
    counts = np.zeros((len(X_query), CLASSES), dtype=np.int64)
    for classes in predicted:
        counts[np.arange(len(classes)), classes] += 1
    return counts


COLLECT = {"ours": ours, "naive": naive}


def seconds_and_peak(name, n_teachers, n_queries, n_jobs):
    collect = COLLECT[name]
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_teachers * PART, 10))
    X_query = rng.normal(size=(n_queries, 10))
    codes = rng.integers(CLASSES, size=len(X))
    collect(X[: 4 * PART], codes[: 4 * PART], X_query, 4, n_jobs)  # imports, workers
    start = time.process_time()  # of this process alone: rounds are too long for the clock
    peak = peak_above(lambda: collect(X, codes, X_query, n_teachers, n_jobs))
    return time.process_time() - start, peak


def rows(quick):
    sizes, n_queries, n_rounds = ((20, 100), 2000, 1) if quick else ((1000, 2000, 5000), 20_000, 3)
    n_most = sizes[-1]
    runs = [("ours", n_teachers, 1) for n_teachers in sizes]
    runs += [("ours", n_most, 2), ("naive", n_most, 1)]
    measured = {run: [] for run in runs}  # one (seconds, peak) per round
    for _ in range(n_rounds):
        for name, n_teachers, n_jobs in runs:
            numbers = in_child(seconds_and_peak, name, n_teachers, n_queries, n_jobs)
            measured[name, n_teachers, n_jobs].append(numbers)
    setting = f"{n_most:,} stumps, {n_queries:,} queries, {CLASSES} classes, {PART} records each"
    base = "loop that keeps teachers x queries codes"
    for n_jobs in (1, 2):
        yield Row(
            f"peak memory of collecting votes above the data, main process, n_jobs={n_jobs}",
            "MiB",
            base,
            setting,
            pairs(measured["ours", n_most, n_jobs], measured["naive", n_most, 1], 1),
        )
    yield Row(
        "collecting votes, n_jobs=1",
        "s of CPU",
        base,
        setting,
        pairs(measured["ours", n_most, 1], measured["naive", n_most, 1], 0),
        (n_most * n_queries, "votes"),
    )
    n_fewest = sizes[0]
    for n in sizes[1:]:
        scales = (1e3 / n, 1e3 / n_fewest)
        yield Row(
            f"time per teacher, {n:,} teachers",
            "ms of CPU/teacher",
            f"{n_fewest:,} teachers",
            f"stumps, {n_queries:,} queries, {CLASSES} classes, {PART} records each, n_jobs=1",
            pairs(measured["ours", n, 1], measured["ours", n_fewest, 1], 0, scales),
        )


def pairs(ours, base, k, scales=(1, 1)):
    """Pair entry `k` of what was measured in the same round."""
    return tuple((a[k] * scales[0], b[k] * scales[1]) for a, b in zip(ours, base, strict=True))


if __name__ == "__main__":
    show(rows(quick=False))
