"""Peak memory of a fit with thousands of trivial teachers against one with few."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression

from sklearn_pate import PATEClassifier
from sklearn_pate.aggregators import GNMax

from .shared import Row, in_child, memory, peak_above, show


class Trivial(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return (X[:, 0] > 0).astype(int)


def peaks(n_teachers, n_queries):
    """MiB of the main process: with data and imports, and above them."""
    X = np.random.default_rng(0).normal(size=(50_000 + n_queries, 5))
    y = (X[:, 1] > 0).astype(int)

    def fit(n_teachers, n_queries):
        PATEClassifier(
            Trivial(),
            n_teachers=n_teachers,
            aggregator=GNMax(n_teachers / 10),
            epsilon=None,
            classes=[0, 1],
            student=LogisticRegression(),
        ).fit(X[:50_000], y[:50_000], X_public=X[50_000 : 50_000 + n_queries])

    fit(2, 100)  # what is imported or started once
    above = peak_above(lambda: fit(n_teachers, n_queries))
    return memory("VmHWM"), above


def rows(quick):
    few, many, n_queries, n_rounds = (20, 200, 1000, 1) if quick else (100, 5000, 10_000, 5)
    rounds = [
        (in_child(peaks, many, n_queries), in_child(peaks, few, n_queries)) for _ in range(n_rounds)
    ]
    for k, kind in enumerate(("data included", "above data and imports")):
        yield Row(
            f"peak memory of a fit with {many:,} trivial teachers, {kind}",
            "MiB",
            f"{few} teachers",
            f"50,000 records, {n_queries:,} queries, 2 classes, n_jobs=1",
            tuple((ours[k], base[k]) for ours, base in rounds),
        )


if __name__ == "__main__":
    show(rows(quick=False))
