"""The student of records that vote, if none is given."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import check_is_fitted, validate_data

from .._sklearn import _check_sample_weight
from ..rdp.checks import check_count

__all__ = ["LandmarkClassifier"]

#: Numbers that are more spreads away from the middle count as if they were so many.
_FARTHEST = 10


class LandmarkClassifier(ClassifierMixin, BaseEstimator):
    """A logistic regression on columns, and on how near a row is to some rows: the landmarks.

    All columns are divided by one number, the typical (median) distance of rows from their middle,
    and cut at ten. The nearness of two rows is ``exp(-distance**2)`` in that unit. `C` of the
    regression is the number of classes.

    Parameters
    ----------
    n_landmarks : int, default=300
        Most landmarks.
    random_state : int, RandomState or None, default=None
        Source of the choice of landmarks.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn_pate.neighbors import LandmarkClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> LandmarkClassifier(random_state=0).fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.9
    True
    """

    def __init__(self, n_landmarks=300, random_state=None):
        self.n_landmarks = n_landmarks
        self.random_state = random_state

    def fit(self, X, y, sample_weight=None):
        """Learn from rows of numbers, (n_samples, n_features), their labels and weights."""
        n_landmarks = check_count("n_landmarks", self.n_landmarks)
        X, y = validate_data(self, X, y, dtype=np.float64)
        weight = _check_sample_weight(sample_weight, X)
        distinct = np.unique(X[weight > 0], axis=0)
        self._middle = np.median(distinct, axis=0)
        self._spread = np.median(np.linalg.norm(distinct - self._middle, axis=1)) or 1.0
        self._nearness = Nystroem(
            gamma=1.0,
            n_components=min(n_landmarks, len(distinct)),
            random_state=self.random_state,
        ).fit(self._scaled(distinct))
        n_classes = len(np.unique(y))
        self._linear = LogisticRegression(C=n_classes, max_iter=1000)
        self._linear.fit(self._features(X), y, weight)
        self.classes_ = self._linear.classes_
        return self

    def predict_proba(self, X):
        """Return the probabilities of the classes, (n_samples, n_classes)."""
        features = self._checked_features(X)
        return self._linear.predict_proba(features)

    def decision_function(self, X):
        """Return the logarithms of odds, as `LogisticRegression` does."""
        features = self._checked_features(X)
        return self._linear.decision_function(features)

    def predict(self, X):
        """Return the likeliest labels, (n_samples,)."""
        features = self._checked_features(X)
        return self._linear.predict(features)

    def _checked_features(self, X):
        check_is_fitted(self)
        return self._features(validate_data(self, X, dtype=np.float64, reset=False))

    def _features(self, X):
        rows = self._scaled(X)
        return np.hstack([rows, self._nearness.transform(rows)])

    def _scaled(self, X):
        return np.clip((X - self._middle) / self._spread, -_FARTHEST, _FARTHEST)
