"""Peak memory of a fit with 5,000 trivial teachers against one with 100, 10,000 queries each.

    python benchmarks/bench_memory.py [--pairs 5] [--jobs 1]

Each fit runs in a process of its own; the peak is that of its main process, data included.
Pairs are interleaved; the ratio is the median over pairs.
"""

import argparse
import statistics
import subprocess
import sys

CHILD = """
import resource, sys
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn_pate import PATEClassifier
from sklearn_pate.aggregators import GNMax

class Trivial(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self
    def predict(self, X):
        return (X[:, 0] > 0).astype(int)

n_teachers, n_jobs = int(sys.argv[1]), int(sys.argv[2])
rng = np.random.default_rng(0)
X = rng.normal(size=(60_000, 5))
PATEClassifier(
    Trivial(), n_teachers=n_teachers, aggregator=GNMax(20.0), epsilon=None, classes=[0, 1],
    student=LogisticRegression(), n_jobs=n_jobs,
).fit(X[:50_000], (X[:50_000, 1] > 0).astype(int), X_public=X[50_000:])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def peak(n_teachers, n_jobs):
    command = [sys.executable, "-c", CHILD, str(n_teachers), str(n_jobs)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    pairs = [(peak(100, args.jobs), peak(5000, args.jobs)) for _ in range(args.pairs)]
    for few, many in pairs:
        print(f"100 teachers {few:6.1f} MiB   5,000 teachers {many:6.1f} MiB   {many / few:.3f}")
    print(f"median ratio {statistics.median(many / few for few, many in pairs):.3f}")


if __name__ == "__main__":
    main()
