"""A fit of decision trees with 2 jobs against 1, in processes (loky) and in threads."""

from functools import partial

from joblib import parallel_config
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier

from sklearn_pate import PATEClassifier
from sklearn_pate.aggregators import GNMax

from .shared import Row, paired, show


def rows(quick):
    n_teachers, n_rounds = (20, 1) if quick else (200, 5)
    n_records = n_teachers * 1000
    X, y = make_classification(n_records + 500, n_informative=5, random_state=0)

    def fit(backend, n_jobs):
        with parallel_config(backend=backend):
            PATEClassifier(
                DecisionTreeClassifier(),
                n_teachers=n_teachers,
                aggregator=GNMax(n_teachers / 10),
                epsilon=None,
                delta=1e-8,
                classes=[0, 1],
                n_jobs=n_jobs,
            ).fit(X[:n_records], y[:n_records], X_public=X[n_records:])

    for backend in ("loky", "threading"):
        fit(backend, 2)  # start the workers
        yield Row(
            f"fit with 2 jobs, {backend}",
            "s",
            "n_jobs=1",
            f"{n_teachers} decision trees, 1,000 records of 20 features each, 500 queries",
            paired(partial(fit, backend, 2), partial(fit, backend, 1), n_rounds),
            (n_teachers, "teachers"),
        )


if __name__ == "__main__":
    show(rows(quick=False))
