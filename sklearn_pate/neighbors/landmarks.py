"""The student of records that vote, if none is given."""

from operator import methodcaller

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, Normalizer, StandardScaler
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from .._sklearn import _check_sample_weight
from ..rdp.checks import check_count
from .rates import LEAST_RATE, POWERS, sharpened

#: Most landmarks of two classes, and of more.
_N_LANDMARKS = 300
_N_LANDMARKS_OF_MORE = 1000

#: Numbers that are more spreads away from the middle count as if they were so many.
_FARTHEST = 10


class LandmarkClassifier(ClassifierMixin, BaseEstimator):
    """A linear model of columns, and of how near a row is to some rows: the landmarks.

    All columns are divided by one number, the typical (median) distance of rows from their middle,
    and cut at ten. The nearness of two rows is ``exp(-distance**2)`` in that unit.

    For two classes the model is a logistic regression, with `C` of 2. For more it is a ridge
    regression of the classes' rates, with `alpha` of 0.1. Its numbers are raised to the power under
    which they are the likeliest probabilities of the labels.

    Parameters
    ----------
    n_landmarks : int, default=None
        Most landmarks; None is 300 for two classes, and 1,000 for more.
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

    def __init__(self, n_landmarks=None, random_state=None):
        self.n_landmarks = n_landmarks
        self.random_state = random_state

    def fit(self, X, y, sample_weight=None):
        """Learn from rows of numbers, (n_samples, n_features), their labels and weights."""
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        n_classes = len(self.classes_)
        if n_classes < 2:
            raise ValueError(f"y must have two classes or more; got one class, {self.classes_[0]}")
        n_landmarks = _N_LANDMARKS if n_classes == 2 else _N_LANDMARKS_OF_MORE
        if self.n_landmarks is not None:
            n_landmarks = check_count("n_landmarks", self.n_landmarks)
        weight = _check_sample_weight(sample_weight, X)
        distinct, row = np.unique(X[weight > 0], axis=0, return_inverse=True)
        self._middle = np.median(distinct, axis=0)
        self._spread = np.median(np.linalg.norm(distinct - self._middle, axis=1)) or 1.0
        self._nearness = Nystroem(
            gamma=1.0, n_components=min(n_landmarks, len(distinct)), random_state=self.random_state
        ).fit(self._scaled(distinct))
        # Equal rows as one, which is each class in part
        shares = np.zeros((len(distinct), n_classes))
        np.add.at(shares, (row.ravel(), codes[weight > 0]), weight[weight > 0])
        learn = _logistic if n_classes == 2 else _LeastSquares
        self._linear = learn(self._features(distinct), shares)
        return self

    def predict_proba(self, X):
        """Return the probabilities of the classes, (n_samples, n_classes)."""
        features = self._checked_features(X)
        return self._linear.predict_proba(features)

    def decision_function(self, X):
        """Return log odds, (n_samples,), or the predicted rates of more classes than two."""
        features = self._checked_features(X)
        return self._linear.decision_function(features)

    def predict(self, X):
        """Return the likeliest labels, (n_samples,)."""
        features = self._checked_features(X)
        return self.classes_[self._linear.predict(features)]

    def to_sklearn(self):
        """Return a Pipeline of scikit-learn's own that predicts the same, with these `classes_`."""
        check_is_fitted(self)
        as_floats = FunctionTransformer(np.asarray, kw_args={"dtype": "float64"})
        n_columns = len(self._middle)
        scale = scaler_by_hand(self._middle, np.full(n_columns, self._spread))
        ends = np.full((2, n_columns), [[-_FARTHEST], [_FARTHEST]])
        cut = MinMaxScaler((-_FARTHEST, _FARTHEST), clip=True).fit(ends)  # changes nothing between
        features = FeatureUnion([("rows", "passthrough"), ("nearness", self._nearness)])
        if len(self.classes_) == 2:
            linear = [linear_by_hand(self._linear.coef_, self._linear.intercept_, self.classes_)]
        else:
            linear = self._linear.to_sklearn(self.classes_)
        return make_pipeline(as_floats, scale, cut, features, *linear)

    def _checked_features(self, X):
        check_is_fitted(self)
        return self._features(validate_data(self, X, dtype=np.float64, reset=False))

    def _features(self, X):
        rows = self._scaled(X)
        return np.hstack([rows, self._nearness.transform(rows)])

    def _scaled(self, X):
        return np.clip((X - self._middle) / self._spread, -_FARTHEST, _FARTHEST)


def _logistic(features, shares):
    """Return a logistic regression of two classes.

    Parameters
    ----------
    features : ndarray of shape (n_rows, n_features)
        Distinct rows.
    shares : ndarray of shape (n_rows, n_classes)
        The weight with which each is of each class.
    """
    row, code = np.nonzero(shares)
    model = LogisticRegression(C=2, max_iter=1000)
    return model.fit(features[row], code, shares[row, code])


class _LeastSquares:
    """A ridge regression of the rates of several classes; parameters as of `_logistic`.

    Noise counts alike in all classes, and nothing is taken to logarithms, in which small rates are
    mostly noise.
    """

    def __init__(self, features, shares):
        weight = shares.sum(axis=1)
        self._model = Ridge(alpha=0.1).fit(features, shares / weight[:, None], weight)
        means = self._model.predict(features)
        likelihoods = [(shares * np.log(sharpened(means, power))).sum() for power in POWERS]
        self._power = POWERS[int(np.argmax(likelihoods))]

    def decision_function(self, features):
        return self._model.predict(features)

    def predict_proba(self, features):
        return sharpened(self._model.predict(features), self._power)

    def predict(self, features):
        return self.predict_proba(features).argmax(axis=1)

    def to_sklearn(self, labels):
        """Return the last steps of a Pipeline that predicts labels; see `rates.sharpened`."""
        n_classes = len(labels)
        cut = methodcaller("clip", LEAST_RATE, 1)
        return [
            FunctionTransformer(methodcaller("__matmul__", self._model.coef_.T)),
            FunctionTransformer(methodcaller("__add__", self._model.intercept_)),
            FunctionTransformer(cut),
            FunctionTransformer(methodcaller("__pow__", self._power)),
            Normalizer("l1"),
            FunctionTransformer(cut),
            FunctionTransformer(np.log),
            # The softmax of logarithms divides by the sum
            linear_by_hand(np.eye(n_classes), np.zeros(n_classes), labels),
        ]


def scaler_by_hand(mean, scale):
    """Return a scaler that is fitted by hand."""
    model = StandardScaler()
    model.mean_ = mean
    model.scale_ = scale
    model.n_features_in_ = len(mean)
    return model


def linear_by_hand(coef, intercept, labels):
    """Return a logistic regression that is fitted by hand."""
    model = LogisticRegression(C=2, max_iter=1000)
    model.coef_ = coef
    model.intercept_ = intercept
    model.classes_ = labels
    model.n_features_in_ = coef.shape[1]
    return model
