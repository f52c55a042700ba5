"""Teachers and students that fail, or leave marks, in a module that workers import in no time."""

import time

import numpy as np
from sklearn.naive_bayes import GaussianNB


class RaisesIt(GaussianNB):
    """Raises a given error, in the method `at`."""

    def __init__(self, error=None, at="fit"):
        super().__init__()
        self.error, self.at = error, at

    def fit(self, X, y, sample_weight=None):
        if self.at == "fit":
            raise self.error
        return super().fit(X, y)

    def predict(self, X):
        if self.at == "predict":
            raise self.error
        return super().predict(X)

    def __sklearn_clone__(self):  # an error need not be one that can be cloned
        return type(self)(self.error, self.at)


class Unwilling(GaussianNB):
    """Fails on labels that were released, and not on made-up ones, which alternate."""

    def fit(self, X, y, sample_weight=None):
        if not np.array_equal(y, np.arange(len(y)) % 2):
            raise RuntimeError("not today")
        return super().fit(X, y, sample_weight)


class Marked(GaussianNB):
    """Leaves a mark in a file whenever it is trained, and takes its time."""

    def __init__(self, file=None, seconds=0.0, var_smoothing=1e-9):
        super().__init__(var_smoothing=var_smoothing)
        self.file, self.seconds = file, seconds

    def fit(self, X, y, sample_weight=None):
        with open(self.file, "a") as file:
            file.write("x")
        time.sleep(self.seconds)
        return super().fit(X, y, sample_weight)


class Counted(GaussianNB):
    """Counts how often teachers of its kind are trained in this process."""

    n_fits = 0

    def fit(self, X, y, sample_weight=None):
        Counted.n_fits += 1
        return super().fit(X, y, sample_weight)
