"""How much of a private search is planning: noise, numbers of queries and what the search costs."""

import time
import warnings
from unittest.mock import patch

from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from sklearn_pate import PATEClassifier
from sklearn_pate.accountant.calibration import _known_costs
from sklearn_pate.classifier import estimator
from sklearn_pate.model_selection import PrivateGridSearchCV, base

from .shared import Row, seconds, show

GRID = {
    "n_teachers": [50, 100],
    "n_queries": [50, 200],
    "student__C": [0.001, 0.01, 0.1, 1.0, 10.0],
}


class Clock:
    """Adds up the seconds in functions, and not twice where one calls another."""

    def __init__(self):
        self.total = 0.0
        self.is_running = False

    def around(self, function):
        def timed(*args, **kwargs):
            if self.is_running:
                return function(*args, **kwargs)
            self.is_running = True
            start = time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                self.total += time.perf_counter() - start
                self.is_running = False

        return timed


def planning_and_all(n_records, n_classes, epsilon):
    """Seconds of planning and of the whole search, with nothing known from before."""
    X, y = make_classification(
        n_records + 500, n_informative=10, n_classes=n_classes, random_state=0
    )
    pate = PATEClassifier(
        LogisticRegression(max_iter=200),
        student=LogisticRegression(max_iter=200),
        classes=list(range(n_classes)),
        epsilon=None if epsilon else 1.0,
    )
    search = PrivateGridSearchCV(pate, GRID, epsilon=epsilon, random_state=0)
    clock = Clock()
    _known_costs.cache_clear()
    with (
        warnings.catch_warnings(),
        patch.object(base, "calibrate", clock.around(base.calibrate)),
        patch.object(estimator, "plan_queries", clock.around(estimator.plan_queries)),
    ):
        warnings.simplefilter("ignore")  # noise for 200 queries drowns the margin of 50 teachers
        whole = seconds(search.fit, X[:n_records], y[:n_records], X[n_records:])
    return clock.total, whole


def rows(quick):
    n_records, n_rounds = (200, 1) if quick else (2000, 3)
    for n_classes in (2,) if quick else (2, 5):
        for epsilon in (None, 4.0):
            budget = "of each trial is 1" if epsilon is None else f"of the search is {epsilon:g}"
            yield Row(
                f"planning in a private search, {n_classes} classes, epsilon {budget}",
                "s",
                "the whole search",
                f"20 candidates, {n_records:,} records, logistic regression",
                tuple(planning_and_all(n_records, n_classes, epsilon) for _ in range(n_rounds)),
            )


if __name__ == "__main__":
    show(rows(quick=False))
