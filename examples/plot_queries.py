"""
Which rows to ask: query strategies on MNIST and Adult
======================================================

The 2017 paper reports that asking about the rows of which the student is least sure gives 4 to 10
points over random rows at the same number of labels. Here three strategies are compared at equal
numbers of labels, 5 seeds each, with supervised students.

The guarantee (`privacy_spent_`) is the same for all strategies: it depends on the number of queries
alone. The exact, private epsilon is not: rows on which a student is unsure are often rows on which
teachers disagree, and those cost more. The lower pictures show accuracy against it.

Measured: the least sure rows gain 0.6 to 1.8 points on Adult; on MNIST they lose 1.8 with 100
labels and gain 0.4 to 0.8 with more. At equal exact epsilon nothing is left of that: 4 to 10 points
do not show here.

The last lines fit Adult at an exact epsilon below 1 (the paper: 0.83 at 2.66).

Takes about 10 minutes on 2 cores. Needs the data below ``$SKLEARN_PATE_DATA`` or a network
connection. Give a file name to save the figure.
"""

import itertools
import sys
import time

import matplotlib.pyplot as plt
import numpy as np
from joblib import Parallel, delayed
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    SplineTransformer,
    StandardScaler,
)

from sklearn_pate import PATEClassifier
from sklearn_pate.aggregators import GNMax
from sklearn_pate.datasets import fetch_adult, fetch_mnist
from sklearn_pate.queries import DiversityQueries, RandomQueries, UncertaintyQueries

SEEDS = range(5)
start = time.monotonic()


def compare(counts, student, transformer, X_public, X_test, y_test, numbers):
    """Names of strategies; accuracy and exact epsilon by strategy, number of labels and seed."""
    strategies = {
        "random": RandomQueries(),
        "least sure (uncertainty)": UncertaintyQueries(n_rounds=5),
        "diversity (k-centre)": DiversityQueries(transformer),
    }

    def run(strategy, n, seed):
        clf = PATEClassifier(
            aggregator=GNMax(sigma=40.0),
            student=student,
            n_queries=n,
            query_strategy=strategy,
            epsilon=None,
            random_state=seed,
        ).fit_votes(counts, X_public)
        return clf.score(X_test, y_test), clf.curator_.epsilon()

    tasks = itertools.product(strategies.values(), numbers, SEEDS)
    results = Parallel(n_jobs=2)(delayed(run)(*task) for task in tasks)
    return list(strategies), np.reshape(results, (len(strategies), len(numbers), len(SEEDS), 2))


def tell(title, names, numbers, results):
    print(f"{title} [{(time.monotonic() - start) / 60:.0f} min]")
    mean = results.mean(axis=2)
    spread = results.std(axis=2)
    for i, name in enumerate(names):
        for j, n in enumerate(numbers):
            gain = 100 * (mean[i, j, 0] - mean[0, j, 0])
            print(
                f"  {name}, {n} labels: {mean[i, j, 0]:.4f} +- {spread[i, j, 0]:.4f} "
                f"({gain:+.1f} points), exact epsilon {mean[i, j, 1]:.2f}"
            )


# %%
# Adult: additive models as teachers and student
# ----------------------------------------------
# Splines of numbers, categories one by one: models this simple learn from 130 records.
train = fetch_adult(subset="train")
X = train.data.drop(columns="fnlwgt")
y = train.target.to_numpy()
test = fetch_adult(subset="test")
X_all = test.data.drop(columns="fnlwgt")
X_public = X_all[:4999]
X_test = X_all[-11282:]
y_test = test.target.to_numpy()[-11282:]


def log_capital(frame):
    logs = {name: np.log1p(frame[name]) for name in ("capital-gain", "capital-loss")}
    return frame.assign(**logs)


splines = make_pipeline(
    FunctionTransformer(log_capital),
    SplineTransformer(4, degree=2, extrapolation="constant"),
    StandardScaler(),
)
columns = make_column_transformer(
    (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_include="category")),
    (splines, make_column_selector(dtype_include="number")),
)
teacher = make_pipeline(columns, LogisticRegression(C=1.0, max_iter=500))
student = make_pipeline(columns, LogisticRegression(C=0.3, max_iter=500))
pate = PATEClassifier(
    teacher,
    n_teachers=250,
    aggregator=GNMax(70.0),
    student=student,
    n_queries=700,
    epsilon=None,
    classes=[0, 1],
    n_jobs=2,
    random_state=0,  # to reproduce the page; never for a model that is published
)
votes = pate.poll(X, y, X_public)
numbers = (50, 100, 200, 500)
names, results = compare(votes.counts, student, columns, X_public, X_test, y_test, numbers)
on_adult = ("Adult", names, numbers, results)
tell(*on_adult)

runs = []
for seed in SEEDS:
    clf = pate.set_params(random_state=seed).fit(X, y, X_public)
    exact = clf.curator_.epsilon()
    bound = clf.curator_.epsilon(bound="published")
    runs.append((clf.score(X_test, y_test), exact, bound, clf.privacy_spent_.epsilon))
scores, exact, bound, data_independent = np.transpose(runs)
print(
    f"Adult, 700 random queries, GNMax(70): accuracy {scores.mean():.4f} +- {scores.std():.4f}"
    f" at exact epsilon {exact.mean():.2f} (largest {exact.max():.2f}), published bound "
    f"{bound.mean():.2f}, data-independent {data_independent.mean():.2f}"
)

# %%
# MNIST: forests as teachers, kernel logistic regression as student
# -----------------------------------------------------------------
train = fetch_mnist(subset="train")
X = train.data / 255
y = train.target.astype(int)
test = fetch_mnist(subset="test")
X_public, X_test = np.split(test.data / 255, [9000])
y_public, y_test = np.split(test.target.astype(int), [9000])
student = make_pipeline(
    RBFSampler(gamma=0.02, n_components=1000, random_state=0),
    LogisticRegression(C=10.0, max_iter=200),
)
pate.set_params(
    base_estimator=RandomForestClassifier(), student=student, classes=range(10), random_state=0
)
votes = pate.poll(X, y, X_public)
right = np.mean(votes.counts.argmax(axis=1) == y_public)
print(f"MNIST, plurality of the teachers: {right:.3f}")
numbers = (100, 200, 500, 1000)
names, results = compare(votes.counts, student, None, X_public, X_test, y_test, numbers)
on_mnist = ("MNIST", names, numbers, results)
tell(*on_mnist)

# %%
# Accuracy by labels, and by exact epsilon
# ----------------------------------------

LOOKS = (
    ("#0072B2", "o", "-"),
    ("#D55E00", "s", "--"),
    ("#009E73", "^", ":"),
)


def draw(by_labels, by_epsilon, title, names, numbers, results):
    for name, measured, (color, marker, dashes) in zip(names, results, LOOKS, strict=True):
        accuracy, epsilon = measured.mean(axis=1).T
        spread = measured[:, :, 0].std(axis=1)
        looks = {"color": color, "marker": marker, "linestyle": dashes, "label": name}
        by_labels.errorbar(numbers, accuracy, spread, **looks)
        by_epsilon.errorbar(epsilon, accuracy, spread, **looks)
    by_labels.set(title=f"{title}, by labels", xscale="log", xlabel="labels")
    by_labels.set_xticks(numbers, numbers)
    by_labels.minorticks_off()
    by_epsilon.set(title=f"{title}, by exact epsilon", xlabel="exact epsilon (private)")


figure, axes = plt.subplots(2, 2, figsize=(10, 8), sharey="col", layout="constrained")
draw(*axes[:, 0], *on_adult)
draw(*axes[:, 1], *on_mnist)
axes[0, 0].set_ylabel("accuracy of the student")
axes[1, 0].set_ylabel("accuracy of the student")
axes[0, 0].legend()
if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=150)
