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
    voted = np.empty((n_teachers, len(X_query)), dtype=np.intp)
    for i in range(n_teachers):
        part = slice(i * PART, (i + 1) * PART)
        stump = clone(STUMP).set_params(random_state=i)
        voted[i] = stump.fit(X[part], codes[part]).predict(X_query)
    counts = np.zeros((len(X_query), CLASSES), dtype=np.int64)
    for one in voted:
        counts[np.arange(len(one)), one] += 1
    return counts


COLLECT = {"ours": ours, "naive": naive}


def seconds_and_peak(how, n_teachers, n_queries, n_jobs):
    collect, rng = COLLECT[how], np.random.default_rng(0)
    X, X_query = rng.normal(size=(n_teachers * PART, 10)), rng.normal(size=(n_queries, 10))
    codes = rng.integers(CLASSES, size=len(X))
    collect(X[: 4 * PART], codes[: 4 * PART], X_query, 4, n_jobs)  # imports, workers
    start = time.process_time()  # of this process alone: rounds are too long for the clock
    peak = peak_above(lambda: collect(X, codes, X_query, n_teachers, n_jobs))
    return time.process_time() - start, peak


def rows(quick):
    sizes, n_queries, n_rounds = ((20, 100), 2000, 1) if quick else ((1000, 2000, 5000), 20_000, 3)
    most = sizes[-1]
    taken = {}  # by what ran, one (seconds, peak) per round
    for _ in range(n_rounds):
        for how in [*(("ours", n, 1) for n in sizes), ("ours", most, 2), ("naive", most, 1)]:
            name, n, jobs = how
            taken.setdefault(how, []).append(in_child(seconds_and_peak, name, n, n_queries, jobs))
    setting = f"{most:,} stumps, {n_queries:,} queries, {CLASSES} classes, {PART} records each"
    base = "loop that keeps teachers x queries codes"
    for jobs in (1, 2):
        yield Row(
            f"peak memory of collecting votes above the data, main process, n_jobs={jobs}",
            "MiB",
            base,
            setting,
            pairs(taken["ours", most, jobs], taken["naive", most, 1], 1),
        )
    yield Row(
        "collecting votes, n_jobs=1",
        "s of CPU",
        base,
        setting,
        pairs(taken["ours", most, 1], taken["naive", most, 1], 0),
        (most * n_queries, "votes"),
    )
    for n in sizes[1:]:
        yield Row(
            f"time per teacher, {n:,} teachers",
            "ms of CPU/teacher",
            f"{sizes[0]:,} teachers",
            f"stumps, {n_queries:,} queries, {CLASSES} classes, {PART} records each, n_jobs=1",
            pairs(taken["ours", n, 1], taken["ours", sizes[0], 1], 0, (1e3 / n, 1e3 / sizes[0])),
        )


def pairs(some, others, k, scales=(1, 1)):
    """Pair entry `k` of what was measured in the same round."""
    return tuple((a[k] * scales[0], b[k] * scales[1]) for a, b in zip(some, others, strict=True))


if __name__ == "__main__":
    show(rows(quick=False))
