"""Does a private search pay? `python -m benchmarks.search_or_rules [--seeds N] [--data NAME ...]`.

A search divides its epsilon among trials: each gets about a third. Here its choice is perfect, and
free: of all candidates, each fitted at a trial's epsilon, the one is taken whose mean test score is
best. Where even that is below one bare fit at the whole epsilon, no search can win. Rows go to
docs/results/rules/search_or_rules.json.
"""

import argparse
import json
import math
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

from sklearn_pate import PATEClassifier
from sklearn_pate.exceptions import StudentError
from sklearn_pate.model_selection import PrivateGridSearchCV
from sklearn_pate.model_selection.cost import search_cost
from sklearn_pate.neighbors import ReverseNeighbors
from sklearn_pate.rdp import DEFAULT_ORDERS, TrialCount, pure_rdp

from .papers.ballots import Data, adult, digits, rendered_letters, two_columns_decide
from .shared import machine

EPSILONS = (0.5, 1.0, 2.0, 4.0)
FILE = Path(__file__).parents[1] / "docs" / "results" / "rules" / "search_or_rules.json"


def breast_cancer(seed):
    X, y = load_breast_cancer(return_X_y=True)
    X, X_rest, y, y_rest = train_test_split(X, y, train_size=340, random_state=seed)
    X_public, X_test, _, y_test = train_test_split(
        X_rest, y_rest, train_size=100, random_state=seed
    )
    return Data(X, y, X_public, X_test, y_test)


def always(rows):
    return lambda seed: rows


DATA = {
    "breast cancer": lambda: breast_cancer,
    "digits": lambda: digits,
    "letters, 26 classes": lambda: always(rendered_letters()),
    "UCI Adult": lambda: always(adult()),
    "two columns of twenty decide": lambda: always(two_columns_decide()),
}

CANDIDATES = {
    "16 cells": {"base_estimator": ReverseNeighbors(n_cells=16)},
    "60 cells": {"base_estimator": ReverseNeighbors(n_cells=60)},
    "250 cells": {"base_estimator": ReverseNeighbors(n_cells=250)},
    "1,000 cells": {"base_estimator": ReverseNeighbors(n_cells=1000)},
    "two cells each": {"base_estimator": ReverseNeighbors(n_neighbors=2)},
    "100 linear teachers": {"n_teachers": 100},
    "400 linear teachers": {"n_teachers": 400},
    "200 boosted teachers": {
        "base_estimator": HistGradientBoostingClassifier(max_leaf_nodes=6, max_iter=60),
        "n_teachers": 200,
    },
}


def trial_epsilon(epsilon):
    """Return what each of the trials of a search may spend, if public rows score them."""
    search = PrivateGridSearchCV(PATEClassifier(), {})
    count = TrialCount(5 * len(CANDIDATES), search.distribution, search.eta)
    low, high = 0.0, epsilon
    for _ in range(30):
        middle = (low + high) / 2
        cost = search_cost([pure_rdp(middle, DEFAULT_ORDERS)], count)
        fits = cost.epsilon(search.delta)[0] <= epsilon
        low, high = (middle, high) if fits else (low, middle)
    return low


def mean_score(make_rows, seeds, epsilon, **params):
    """Return the mean test accuracy of a setting; NaN where a fit is refused, or fails."""
    scores = []
    for seed in seeds:
        rows = make_rows(seed)
        classes = np.unique(rows.y)
        clf = PATEClassifier(epsilon=epsilon, classes=classes, random_state=seed, **params)
        try:
            clf.fit(rows.X, rows.y, X_public=rows.X_public)
        except (StudentError, ValueError):  # more teachers than records, say
            return math.nan
        scores.append(clf.score(rows.X_test, rows.y_test))
    return float(np.mean(scores))


def row(name, make_rows, seeds, epsilon):
    """Compare one bare fit with a search whose choice is perfect."""
    each = trial_epsilon(epsilon)
    scores = {
        candidate: mean_score(make_rows, seeds, each, **params)
        for candidate, params in CANDIDATES.items()
    }
    best = max(scores, key=lambda candidate: np.nan_to_num(scores[candidate]))
    return {
        "data": name,
        "epsilon": epsilon,
        "trial_epsilon": each,
        "bare": mean_score(make_rows, seeds, epsilon),
        "best": scores[best],
        "candidate": best,
    }


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.search_or_rules")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--data", nargs="+", choices=DATA, default=list(DATA), metavar="NAME")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    done = json.loads(FILE.read_text())["rows"] if FILE.exists() else []
    kept = [found for found in done if found["data"] not in args.data]
    for name in args.data:
        make_rows = DATA[name]()
        for epsilon in EPSILONS:
            kept.append(row(name, make_rows, range(args.seeds), epsilon))
            print(kept[-1], flush=True)
    found = {"machine": machine(), "seeds": args.seeds, "rows": kept}
    FILE.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
