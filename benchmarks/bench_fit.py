"""The whole fit against a bare joblib loop over the same forests on UCI Adult, with 1 and 2 jobs.

The baseline fits and queries the same clones on parts of the same sizes and does nothing else: no
votes, no noise, no student.
"""

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier

from sklearn_pate import PATEClassifier
from sklearn_pate.aggregators import LNMax

from .shared import Row, adult, seconds, show


def fit_and_predict(forest, X, y, X_query):
    return forest.fit(X, y).predict(X_query)


def rows(quick):
    n_teachers, n_trees, n_rounds = (20, 10, 2) if quick else (250, 100, 5)
    X, y, X_public = adult()
    X_public = X_public[:500]
    forest = RandomForestClassifier(n_trees)
    parts = np.array_split(np.random.default_rng(0).permutation(len(y)), n_teachers)

    def bare(n_jobs, forest=forest):
        Parallel(n_jobs=n_jobs)(
            delayed(fit_and_predict)(
                clone(forest).set_params(random_state=i), X[part], y[part], X_public
            )
            for i, part in enumerate(parts)
        )

    def pate(n_jobs, forest=forest):
        PATEClassifier(
            forest,
            n_teachers=n_teachers,
            aggregator=LNMax(12.5 / n_teachers),
            epsilon=None,
            classes=[0, 1],
            n_jobs=n_jobs,
        ).fit(X, y, X_public=X_public)

    for fit in (pate, bare):  # start the workers, and have them import
        fit(2, RandomForestClassifier(1))
    pairs = {1: [], 2: []}  # by number of jobs, one (ours, baseline) per round
    for _ in range(n_rounds):
        for n_jobs in (2, 1):
            pairs[n_jobs].append((seconds(pate, n_jobs), seconds(bare, n_jobs)))
    baseline = "joblib loop, fit and predict alone"
    setting = f"Adult, {n_teachers} forests of {n_trees} trees, 500 queries"
    for n_jobs, jobs in ((2, "2 jobs"), (1, "1 job")):
        yield Row(
            f"whole fit, {jobs}",
            "s",
            baseline,
            setting,
            tuple(pairs[n_jobs]),
            (n_teachers, "teachers"),
        )
    yield Row(
        "parallel efficiency of a fit",
        "time with 1 job / (2 x time with 2); more is better",
        baseline,
        setting,
        tuple(
            (ours_1 / (2 * ours_2), base_1 / (2 * base_2))
            for (ours_1, base_1), (ours_2, base_2) in zip(pairs[1], pairs[2], strict=True)
        ),
    )


if __name__ == "__main__":
    show(rows(quick=False))
