"""300 fits in one process: memory, open files, processes and temporary files at the end.

    python benchmarks/soak.py [--fits 300]

Fits take turns: mechanisms and students, one and two jobs, in processes and threads, with memory=
and without, with failures and interruptions in between. The first 60 warm up. Needs Linux.
"""

import argparse
import gc
import os
import tempfile
import time
from pathlib import Path

import joblib
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from sklearn_pate import PATEClassifier
from sklearn_pate.aggregators import ConfidentGNMax, GNMax, LNMax, SoftVote
from sklearn_pate.exceptions import TeacherError


class Failing(GaussianNB):
    def fit(self, X, y):
        raise ValueError("this one always fails")


class Hanging(GaussianNB):
    def fit(self, X, y):
        end = time.monotonic() + 5
        while time.monotonic() < end:
            pass


class Interrupted(GaussianNB):
    def fit(self, X, y):
        raise KeyboardInterrupt


def fits(folder):
    """Fit on and on, with what could hold on to memory or files in turn; yield how many so far."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 20))
    X_public = rng.normal(size=(300, 20))
    y = (X[:, 0] > 0).astype(int)
    aggregators = [GNMax(10.0), LNMax(0.1), ConfidentGNMax(12, 8.0, 8.0), SoftVote(10.0)]
    k = 0
    while True:
        clf = PATEClassifier(
            [GaussianNB(), DecisionTreeClassifier(max_depth=3)][k // 4 % 2],
            n_teachers=20,
            aggregator=aggregators[k % 4],
            student=[LogisticRegression(), GaussianNB()][k % 2],
            n_queries=50,
            epsilon=None,
            classes=[0, 1],
            n_jobs=1 + k % 2,
            memory=os.path.join(folder, f"votes{k // 3 % 2}") if k % 3 == 0 else None,
            timeout=30 if k % 8 == 1 else None,
            secure=k % 7 == 0,
        )
        with joblib.parallel_config(backend=["loky", "threading"][k // 2 % 2]):
            clf.fit(X, y, X_public).predict(X_public)
        fit_wrong_teachers(clf, k % 30, X, y, X_public)
        k += 1
        yield k


def fit_wrong_teachers(clf, k, X, y, X_public):
    """Let a fit fail, time out or be interrupted, in some turns."""
    wrong = {
        4: {"base_estimator": Failing(), "n_jobs": 1, "timeout": None},
        14: {"base_estimator": Hanging(), "n_jobs": 2, "timeout": 0.2},
        24: {"base_estimator": Interrupted(), "n_jobs": 1, "timeout": None},
    }
    if k not in wrong:
        return
    clf.set_params(memory=None, **wrong[k])
    try:
        with joblib.parallel_config(backend="loky"):
            clf.fit(X, y, X_public)
    except (TeacherError, KeyboardInterrupt):
        pass


def held():
    """Resident MiB, open files, processes below this one, threads, joblib's temporary files."""
    gc.collect()
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    resident = int(status["VmRSS"].split()[0]) / 1024
    threads = int(status["Threads"])
    children = sum(
        len(path.read_text().split()) for path in Path("/proc/self/task").glob("*/children")
    )
    temporary = [Path(tempfile.gettempdir()), Path("/dev/shm")]
    # (joblib itself leaves one empty folder per call until the process ends)
    files = sum(len(list(folder.glob("joblib_memmapping*/*"))) for folder in temporary)
    return resident, len(os.listdir("/proc/self/fd")), children, threads, files


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fits", type=int, default=300)
    args = parser.parse_args()
    print("fits: resident MiB, open files, processes, threads, temporary files", flush=True)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for k in fits(folder):
            if k % (args.fits // 5) == 0:
                rows.append(held())
                print(f"{k}: {rows[-1][0]:.1f}", *rows[-1][1:], flush=True)
            if k == args.fits:
                break
    print(f"memory at the end over that after the first fifth: {rows[-1][0] / rows[0][0]:.3f}")


if __name__ == "__main__":
    main()
