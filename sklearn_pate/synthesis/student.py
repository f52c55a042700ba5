"""The student of class sums, if none is given: the discriminants themselves."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..levels import mean
from ..neighbors.rates import LEAST_GAIN, deal_to_alike, shifted


class ReleasedRates:
    """Base class: discriminants that were released; a subclass has `gain`, and `rates` of rows."""

    @property
    def is_flat(self):
        """Whether the sums say little more than how frequent the classes are."""
        return self.gain < LEAST_GAIN

    def default_student(self):
        """Return a classifier that says what the sums say."""
        return SumsClassifier(self)

    def read(self, X):
        """Return rates, and labels dealt by them, of public rows; see `ReleasedTable.read`."""
        rates = self.rates(X)
        return rates, deal_to_alike(rates)


class SumsClassifier(ClassifierMixin, BaseEstimator):
    """A classifier that says what a released table or released sums say; it learns nothing.

    Parameters
    ----------
    released : ReleasedSums or None, default=None
        What has `rates`.
    weight : ndarray of shape (n_classes,) or None, default=None
        What each class counts.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels that it was fitted on.
    """

    def __init__(self, released=None, weight=None):
        self.released = released
        self.weight = weight

    def fit(self, X, y, sample_weight=None):
        """Note which labels there are."""
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        """Return the probabilities of the classes, (n_samples, n_classes)."""
        check_is_fitted(self)
        rates = self.released.rates(X)[:, self.classes_]
        return shifted(rates, self._weight())

    def predict(self, X):
        """Return the likeliest labels, (n_samples,)."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    @available_if(lambda self: hasattr(self.released, "to_sklearn"))
    def to_sklearn(self):
        """Return a Pipeline of scikit-learn's own that predicts the same, with these `classes_`."""
        check_is_fitted(self)
        return self.released.to_sklearn(self.classes_, self._weight())

    def _weight(self):
        return np.ones(len(self.classes_)) if self.weight is None else self.weight[self.classes_]


class RatesRegressor(RegressorMixin, BaseEstimator):
    """A regressor that says what a released table or released sums say; it learns nothing.

    Parameters
    ----------
    released : object or None, default=None
        What has `rates`, of levels.
    levels : ndarray of shape (n_levels,) or None, default=None
        What the rates are of.
    """

    def __init__(self, released=None, levels=None):
        self.released = released
        self.levels = levels

    def fit(self, X, y):
        """Note that there are means."""
        self.is_fitted_ = True
        return self

    def predict(self, X):
        """Return the means of the levels, (n_samples,)."""
        check_is_fitted(self)
        return mean(self.released.rates(X), self.levels)
