"""The student of class sums, if none is given: the discriminants themselves."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

__all__ = ["SumsClassifier"]


class SumsClassifier(ClassifierMixin, BaseEstimator):
    """A classifier that says what a released table or released sums say; it learns nothing.

    Parameters
    ----------
    released : ReleasedSums or None, default=None
        What has `rates`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels that it was fitted on.
    """

    def __init__(self, released=None):
        self.released = released

    def fit(self, X, y, sample_weight=None):
        """Note which labels there are."""
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        """Return the probabilities of the classes, (n_samples, n_classes)."""
        check_is_fitted(self)
        rates = self.released.rates(X)[:, self.classes_]
        return rates / rates.sum(axis=1, keepdims=True)

    def predict(self, X):
        """Return the likeliest labels, (n_samples,)."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]
