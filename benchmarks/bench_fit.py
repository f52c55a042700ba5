"""The whole fit against a bare joblib loop over the same forests, on UCI Adult.

    python benchmarks/bench_fit.py [--pairs 5] [--teachers 250] [--jobs 2]

The baseline fits and queries the same clones on the same parts with the same seeds and nothing
else: no votes, no noise, no student. Pairs are interleaved; the ratio is the median over pairs.
"""

import argparse
import statistics
import time

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier

from sklearn_pate import PATEClassifier
from sklearn_pate.aggregators import LNMax
from sklearn_pate.datasets import fetch_adult


def fit_and_predict(forest, X, y, X_query):
    return forest.fit(X, y).predict(X_query)


def seconds(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--teachers", type=int, default=250)
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()

    X, y = fetch_adult(subset="train", as_frame=False, return_X_y=True)
    X_public = fetch_adult(subset="test", as_frame=False, return_X_y=True)[0][:500]
    forest = RandomForestClassifier(n_estimators=100)
    parts = np.array_split(np.random.default_rng(0).permutation(len(y)), args.teachers)

    def bare():
        Parallel(n_jobs=args.jobs)(
            delayed(fit_and_predict)(
                clone(forest).set_params(random_state=i), X[part], y[part], X_public
            )
            for i, part in enumerate(parts)
        )

    def pate():
        PATEClassifier(
            forest,
            n_teachers=args.teachers,
            aggregator=LNMax(0.05),
            epsilon=None,
            classes=[0, 1],
            n_jobs=args.jobs,
        ).fit(X, y, X_public=X_public)

    Parallel(n_jobs=args.jobs)(delayed(abs)(i) for i in range(4))  # start the workers
    pairs = [(seconds(bare), seconds(pate)) for _ in range(args.pairs)]
    for base, ours in pairs:
        print(f"bare loop {base:7.2f} s   whole fit {ours:7.2f} s   ratio {ours / base:.3f}")
    print(f"median ratio {statistics.median(ours / base for base, ours in pairs):.3f}")


if __name__ == "__main__":
    main()
