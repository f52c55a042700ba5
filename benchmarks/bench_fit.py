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
    taken = [  # one round after the other, each (ours, baseline) with 2 jobs and with 1
        [(seconds(pate, n), seconds(bare, n)) for n in (2, 1)] for _ in range(n_rounds)
    ]
    baseline = "joblib loop, fit and predict alone"
    setting = f"Adult, {n_teachers} forests of {n_trees} trees, 500 queries"
    for k, jobs in enumerate((2, 1)):
        yield Row(
            f"whole fit, {jobs} job{'s' * (jobs > 1)}",
            "s",
            baseline,
            setting,
            tuple(pairs[k] for pairs in taken),
            (n_teachers, "teachers"),
        )
    yield Row(
        "parallel efficiency of a fit",
        "time with 1 job / (2 x time with 2); more is better",
        baseline,
        setting,
        tuple((one[0] / (2 * two[0]), one[1] / (2 * two[1])) for two, one in taken),
    )


if __name__ == "__main__":
    show(rows(quick=False))
