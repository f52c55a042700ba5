"""A fit with `memory=` that finds all votes of its teachers there, and what keeping them costs."""

from tempfile import TemporaryDirectory

from sklearn.ensemble import RandomForestClassifier

from sklearn_pate import PATEClassifier
from sklearn_pate.aggregators import GNMax

from .shared import Row, adult, seconds, show


def rows(quick):
    n_teachers, n_trees, n_rounds = (10, 10, 1) if quick else (100, 100, 3)
    X, y, X_public = adult()
    X_public = X_public[:500]

    def fit(folder):
        PATEClassifier(
            RandomForestClassifier(n_trees),
            n_teachers=n_teachers,
            aggregator=GNMax(n_teachers / 10),
            epsilon=None,
            classes=[0, 1],
            memory=folder,
        ).fit(X, y, X_public=X_public)

    rounds = []
    for _ in range(n_rounds):
        with TemporaryDirectory() as folder:
            first = seconds(fit, folder)
            second = seconds(fit, folder)
            rounds.append((first, second, seconds(fit, None)))
    setting = f"Adult, {n_teachers} forests of {n_trees} trees, 500 queries, n_jobs=1"
    yield Row(
        "second fit, all votes in memory=",
        "s",
        "first fit with memory=",
        setting,
        tuple((second, first) for first, second, _ in rounds),
    )
    yield Row(
        "first fit with memory=",
        "s",
        "fit without",
        setting,
        tuple((first, without) for first, _, without in rounds),
    )


if __name__ == "__main__":
    show(rows(quick=False))
