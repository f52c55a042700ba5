"""Records that vote, beside teachers.

"Fine-grained private knowledge distillation" (2022) lets each record vote where it lies. Here it is
`ReverseNeighbors()` as it is, with the default student where no other is named: its formulas were
set on other data (splits of Adult's training file, later flights, Diabetes 130-US, small images),
never on these test rows; but the floor of four cells a class was set after digits at epsilon 0.5
had been seen. Discrete Laplace noise, delta 0, one record replaced by another.
"""

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score
from sklearn.svm import SVC

from sklearn_pate import PATEClassifier
from sklearn_pate.neighbors import ReverseNeighbors

from .adult import frames
from .shared import Entry, by_seed, data


def fitted(X, y, X_public, epsilon, seed, student=None):
    """Fit, with cells and noise from the seed."""
    clf = PATEClassifier(
        ReverseNeighbors(random_state=seed),
        student=student,
        epsilon=epsilon,
        classes=np.unique(y),
        random_state=seed,
    )
    return clf.fit(X, y, X_public=X_public)


def scores(clf, X_test, y_test):
    """Accuracy, and the area under the ROC curve of the second of two classes."""
    second = clf.predict_proba(X_test)[:, 1]
    return {
        "accuracy": clf.score(X_test, y_test),
        "AUC": roc_auc_score(y_test == clf.classes_[1], second),
    }


def flights():
    """Flights, and whether they were late: public rows, test rows, private rows, in this order."""
    table = pd.read_csv(data("flights", "`flights.csv.gz`") / "flights.csv.gz")
    day = pd.to_datetime({"year": 2013, "month": table.month, "day": table.day})
    X = pd.DataFrame(
        {
            "hour": table.sched_dep_time // 100,
            "day of the year": day.dt.dayofyear,
            "weekday": day.dt.dayofweek.astype(str),
            "month": table.month.astype(str),
            "log miles": np.log(table.distance),
            "carrier": table.carrier,
            "origin": table.origin,
            "destination": table.dest,
        }
    )
    y = (table.arr_delay > 15).to_numpy().astype(int)
    return [
        (X[rows], y[rows]) for rows in (slice(20_000), slice(20_000, 50_000), slice(50_000, None))
    ]


def entries(seeds):
    X, y, X_test, y_test = frames()
    for epsilon in (0.1, 0.25, 1.0):
        runs = [fitted(X, y, X_test[:4999], epsilon, seed) for seed in seeds]
        yield Entry(
            "2022",
            f"UCI Adult, epsilon {epsilon:g}",
            "",
            by_seed([scores(clf, X_test[-11282:], y_test[-11282:]) for clf in runs]),
            "4,999 public rows, logistic regression as student; the seed changes cells and noise",
            "teachers that are published at epsilon 0.25 and 1 reach 0.818 and 0.844",
        )
    (X_public, _), (X_late, y_late), (X, y) = flights()
    for epsilon in (0.1, 1.0):
        runs = [fitted(X, y, X_public, epsilon, seed) for seed in seeds]
        yield Entry(
            "2022",
            f"Flights out of New York that are late, epsilon {epsilon:g}",
            "",
            by_seed([scores(clf, X_late, y_late) for clf in runs]),
            "277,346 private and 20,000 public rows, logistic regression as student",
            "without privacy 0.694 (logistic regression on one-hot columns and splines)",
        )
    X, y = load_digits(return_X_y=True)
    for epsilon in (0.5, 1.0):
        runs = []
        for seed in seeds:
            private, public, rest = np.split(
                np.random.default_rng(seed).permutation(len(y)), [1000, 1500]
            )
            clf = fitted(X[private], y[private], X[public], epsilon, seed, SVC())
            runs.append({"accuracy": clf.score(X[rest], y[rest])})
        yield Entry(
            "2022",
            f"Digits of scikit-learn, 10 classes, epsilon {epsilon:g}",
            "",
            by_seed(runs),
            "1,000 private and 500 public rows, SVC as student; the seed changes the rows as well",
        )
