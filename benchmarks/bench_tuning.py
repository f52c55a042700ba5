"""Private tuning against plain grid search on UCI Adult: accuracy, privacy and time.

20 candidates: teachers, queries and the student's regularisation. Plain `GridSearchCV` spends on
every candidate and fold, and again on the refit; here its private cross-validation scores are used
as if they were free, as users do. Both are scored on 11,282 other rows.

``python benchmarks/bench_tuning.py [runs]``: about 25 minutes on 2 cores. Needs
``$SKLEARN_PATE_DATA``.
"""

import sys
import time
import warnings

import numpy as np
from joblib import Parallel, delayed
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, ParameterGrid
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from sklearn_pate import PATEClassifier, PublicData
from sklearn_pate.datasets import fetch_adult
from sklearn_pate.model_selection import PrivateGridSearchCV

RUNS = int(sys.argv[1]) if len(sys.argv) > 1 else 20
train = fetch_adult(subset="train")
test = fetch_adult(subset="test")
X, X_all = (part.data.drop(columns="fnlwgt") for part in (train, test))
y = train.target.to_numpy()
y_test = test.target.to_numpy()[-11282:]
columns = make_column_transformer(
    (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_include="category")),
    (StandardScaler(), make_column_selector(dtype_include="number")),
    sparse_threshold=0,
).fit(X_all[:4999])  # public rows alone
X, X_public, X_test = (columns.transform(part) for part in (X, X_all[:4999], X_all[-11282:]))
pate = PATEClassifier(
    LogisticRegression(max_iter=200),
    student=LogisticRegression(max_iter=200),
    epsilon=1.0,
    classes=[0, 1],
)
grid = {
    "n_teachers": [100, 250],
    "n_queries": [50, 200],
    "student__C": [0.0001, 0.001, 0.01, 0.1, 1.0],
}


def private(run):
    start = time.perf_counter()
    search = PrivateGridSearchCV(pate, grid, epsilon=None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # noise for 200 queries drowns the margin of 100 teachers
        search.fit(X, y, X_public)
    seconds = time.perf_counter() - start
    return search.score(X_test, y_test), search.privacy_spent_.epsilon, seconds


def plain(run):
    start = time.perf_counter()
    search = GridSearchCV(pate, grid, cv=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(X, y, X_public=PublicData(X_public))
    seconds = time.perf_counter() - start
    return search.score(X_test, y_test), np.nan, seconds


def one_candidate(params):
    clf = PATEClassifier(**pate.get_params(deep=False)).set_params(**params)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clf.fit(X, y, X_public).score(X_test, y_test)


candidates = list(ParameterGrid(grid))
scores = Parallel(n_jobs=2)(delayed(one_candidate)(params) for params in candidates)
print(
    f"{len(candidates)} candidates once each: accuracy {np.min(scores):.3f} to {np.max(scores):.3f}"
)
for name, search, runs in (("private", private, RUNS), ("plain", plain, RUNS // 2)):
    results = np.array(Parallel(n_jobs=2)(delayed(search)(run) for run in range(runs)))
    accuracy, epsilon, seconds = results.T
    print(
        f"{name} grid search, {runs} runs: accuracy {accuracy.mean():.4f} +- {accuracy.std():.4f}, "
        f"epsilon {epsilon.max():.3f} (one fit: 1), {np.median(seconds):.0f} s",
        flush=True,
    )
