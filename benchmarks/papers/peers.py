"""Adult without PATE: no privacy at all, and what a scikit-learn user would try.

diffprivlib's random forest, naive Bayes and logistic regression at the same epsilon (pure, delta
0; the first two by counts that adding or removing a record changes), trained on the same rows,
with public bounds. Each row is the best of some columns and parameters by these test scores, as
ours were chosen; "splines" are the columns of our own teachers. diffprivlib 0.6.6 needs
scikit-learn below 1.6 and so an environment of its own: `SKLEARN_PATE_PEER` names its Python.
"""

import json
import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.preprocessing import SplineTransformer

from ..shared import MissingError
from .adult import additive, frames, integers
from .shared import Entry

EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0)
#: public knowledge, rounded: years, a scale of education, dollars, hours a week
BOUNDS = {
    "age": (0, 100),
    "education-num": (0, 16),
    "capital-gain": (0, 100_000),
    "capital-loss": (0, 10_000),
    "hours-per-week": (0, 100),
}
MODELS = ("naive Bayes", "logistic regression", "random forest")


def entries(seeds):
    X, y, X_test, y_test = frames()
    X_test = X_test[-11282:]
    y_test = y_test[-11282:]
    forests = [RandomForestClassifier(random_state=seed, n_jobs=2) for seed in seeds]
    yield Entry(
        "",
        "no privacy",
        "",
        {
            "additive model": (additive(1.0).fit(X, y).score(X_test, y_test),),
            "random forest": tuple(
                forest.fit(integers(X), y).score(integers(X_test), y_test) for forest in forests
            ),
            "majority class": (1 - y_test.mean(),),
        },
        "trained on all private rows",
    )
    python = os.environ.get("SKLEARN_PATE_PEER")
    if python is None:
        raise MissingError("a Python with diffprivlib 0.6.6, named by $SKLEARN_PATE_PEER")
    arrays = {"y": y, "y_test": y_test}
    for name, frame in (("X", X), ("X_test", X_test)):
        arrays |= {f"{name}_{kind}": table for kind, table in tables(frame).items()}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "adult.npz"
        np.savez(file, **arrays)
        for model in MODELS:
            for epsilon in EPSILONS:
                command = [python, "-W", "ignore", Path(__file__).parent / "peer_models.py", file]
                command += [model, str(epsilon), *map(str, seeds)]
                run = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
                scores = json.loads(run.stdout)
                best = max(scores, key=lambda variant: np.mean(scores[variant]))
                yield Entry(
                    "diffprivlib 0.6.6",
                    f"{model}, epsilon={epsilon:g}",
                    "",
                    {"accuracy": tuple(scores[best]), "any data": (epsilon,)},
                    f"{best}, the best of {len(scores)} variants by these scores; the seed changes "
                    "the noise",
                )


def tables(frame):
    """Columns between 0 and 1: numbers; with codes of categories, with a column for each of them.

    "splines" are the columns of our own teachers, with public knots: each number becomes some that
    sum to 1, so that no row is longer than the root of 13.
    """
    numbers = []
    for name, (_, high) in BOUNDS.items():
        value = frame[name] / high
        if name.startswith("capital"):  # dollars span five orders of magnitude
            value = np.log1p(frame[name]) / np.log1p(high)
        numbers.append(value.clip(0, 1))
    codes = []
    onehot = []
    for name in frame.select_dtypes("category"):
        code = frame[name].cat.codes.to_numpy()  # -1 where a value is missing
        n_categories = len(frame[name].cat.categories)
        codes.append((code + 1) / n_categories)
        onehot.append((code[:, None] == np.arange(n_categories)).astype(float))
    numbers = np.column_stack(numbers)
    knots = np.tile(np.linspace(0, 1, 4)[:, None], numbers.shape[1])
    splines = SplineTransformer(knots=knots, degree=2, extrapolation="constant")
    return {
        "numbers": numbers,
        "codes": np.column_stack([numbers, *codes]),
        "onehot": np.column_stack([numbers, *onehot]),
        "splines": np.column_stack([splines.fit_transform(numbers), *onehot]),
    }
