"""The classifier with no settings but epsilon and classes, and settings that may be better.

These are the rows that the page of results reports on. Nothing is set by them.
"""

import time
from functools import cache

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from sklearn_pate import PATEClassifier
from sklearn_pate.classifier.voters import default_classifier
from sklearn_pate.exceptions import BudgetExceededError
from sklearn_pate.neighbors import ReverseNeighbors, RowVectorizer

from ..papers import ballots
from . import tables
from .votes import EPSILONS


@cache
def capitals():
    return ballots.rendered_letters()


#: Rows by seed.
TABLES = {
    "breast cancer": tables.breast_cancer,
    "digits": ballots.digits,
    "capital letters": lambda seed: capitals(),
    "Adult": lambda seed: ballots.adult(),
    "two columns decide": lambda seed: ballots.two_columns_decide(),
    "flights": lambda seed: ballots.flights(),
}
#: Where a seed takes long, there are fewer.
N_SEEDS = {"flights": 3}
#: The bare classifier has more seeds than the settings beside it.
MOST_SEEDS = {True: 5, False: 3}

SETTINGS = {
    "bare": dict,
    "300 cells": lambda: {"base_estimator": ReverseNeighbors(n_cells=300)},
    "a forest as student": lambda: {
        "student": make_pipeline(
            RowVectorizer(), RandomForestClassifier(200, min_samples_leaf=3, random_state=0)
        )
    },
    "a support vector machine as student": lambda: {
        "student": make_pipeline(RowVectorizer(), SVC())
    },
    "logistic regressions as teachers": lambda: {"base_estimator": default_classifier()},
}
#: Settings that are measured only here; elsewhere they take long, or lose by much.
ONLY = {
    "300 cells": ("breast cancer", "digits", "capital letters", "Adult", "two columns decide"),
    "a forest as student": ("breast cancer", "digits", "Adult", "two columns decide"),
    "a support vector machine as student": ("breast cancer", "digits"),
    "logistic regressions as teachers": ("breast cancer", "digits", "Adult"),
}


def measure(kept, *, is_quick=False):
    """Measure what is not kept yet."""
    for setting in SETTINGS:
        for name in ONLY.get(setting, TABLES):
            if is_quick and name != "digits":
                continue
            for epsilon in EPSILONS:
                kept.measure(f"{name} | {epsilon} | {setting}", one, name, epsilon, setting)


def one(name, epsilon, setting):
    """Scores and seconds by seed; none if the setting is refused."""
    found = {"scores": [], "seconds": [], "CPU seconds": []}
    for seed in range(min(MOST_SEEDS[setting == "bare"], N_SEEDS.get(name, 5))):
        rows = TABLES[name](seed)
        clf = PATEClassifier(epsilon=epsilon, classes=np.unique(rows.y), random_state=seed)
        clf.set_params(**SETTINGS[setting]())
        start = time.perf_counter(), time.process_time()
        try:
            clf.fit(rows.X, rows.y, X_public=rows.X_public)
        except BudgetExceededError:  # too few labels for a student
            return found
        found["seconds"].append(round(time.perf_counter() - start[0], 1))
        found["CPU seconds"].append(round(time.process_time() - start[1], 1))
        found["scores"].append(round(score(clf, rows, is_area=name == "flights"), 5))
    return found


def score(clf, rows, *, is_area):
    """Accuracy, or the area under the ROC curve of the second class."""
    if not is_area:
        return float(clf.score(rows.X_test, rows.y_test))
    second = clf.predict_proba(rows.X_test)[:, 1]
    return float(roc_auc_score(rows.y_test == clf.classes_[1], second))
