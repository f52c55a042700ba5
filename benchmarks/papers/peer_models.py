"""Fit diffprivlib models on prepared arrays; runs in diffprivlib's own environment.

    python peer_models.py ARRAYS.npz MODEL EPSILON SEED ...

prints, as JSON, the accuracies of each variant, one per seed.
"""

import json
import sys

import numpy as np
from diffprivlib.models import GaussianNB, LogisticRegression, RandomForestClassifier


def variants(model, epsilon, seed):
    """Name, columns, what to divide them by, and model."""
    if model == "naive Bayes":
        for columns in ("numbers", "codes", "onehot"):
            clf = GaussianNB(epsilon=epsilon, bounds=(0.0, 1.0), random_state=seed)
            yield columns, columns, 1.0, clf
    elif model == "logistic regression":
        # The largest norm of a row: 5 numbers, 13 columns, or 8 ones beside 5 numbers or splines
        norms = {"numbers": 5**0.5, "codes": 13**0.5, "onehot": 13**0.5, "splines": 13**0.5}
        for columns, norm in norms.items():
            for C in (0.01, 0.1, 1.0):
                clf = LogisticRegression(
                    epsilon=epsilon, data_norm=1.0, C=C, max_iter=500, random_state=seed
                )
                yield f"{columns}, C={C:g}", columns, norm, clf
    else:
        for columns in ("numbers", "codes"):
            for n_trees, depth in ((10, 5), (25, 8), (50, 10)):
                yield (
                    f"{columns}, {n_trees} trees of depth {depth}",
                    columns,
                    1.0,
                    RandomForestClassifier(
                        n_estimators=n_trees,
                        max_depth=depth,
                        epsilon=epsilon,
                        bounds=(0.0, 1.0),
                        classes=[0, 1],
                        random_state=seed,
                    ),
                )


file, model, epsilon, *seeds = sys.argv[1:]
with np.load(file) as stored:
    arrays = dict(stored)
scores = {}
for seed in map(int, seeds):
    for name, columns, norm, clf in variants(model, float(epsilon), seed):
        clf.fit(arrays[f"X_{columns}"] / norm, arrays["y"])
        score = clf.score(arrays[f"X_test_{columns}"] / norm, arrays["y_test"])
        scores.setdefault(name, []).append(score)
print(json.dumps(scores))
