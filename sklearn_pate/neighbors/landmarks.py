"""Default student of classifiers if records vote in cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from scipy.special import expit
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from .._sklearn import _check_sample_weight, pipeline, preprocessing
from ..encoding.fitted_steps import as_floats, calling, linear_by_hand, scaler_by_hand
from .centers import distinct_rows
from .smoothing import MIN_PROBA, POWERS, sharpened

if TYPE_CHECKING:
    from .._typing import Estimator, RandomState, Rows

#: Maximal number of landmarks for two classes, and for more.
_N_LANDMARKS = 300
_N_LANDMARKS_OF_MORE = 1000

#: Scaled numbers are clipped to this size.
_FARTHEST = 10

#: Inverse strength of the penalty of the logistic regression, and the options of its solver, which
#: are those of scikit-learn.
_C = 2.0
_OPTIONS = {"maxiter": 1000, "maxls": 50, "gtol": 1e-4, "ftol": 64 * np.finfo(float).eps}


class LandmarkClassifier(ClassifierMixin, BaseEstimator):
    """Linear classifier on the columns and on the kernel of a row with landmarks.

    The model is fitted on the distinct rows of positive weight, each with the sum of its weights in
    every class. Landmarks are a random choice of these rows: at most 300 for two classes, and at
    most 1,000 for more. The median of the distinct rows is subtracted. All columns are divided by
    one number, the median distance of the distinct rows from their median, and clipped to
    [-10, 10]. The kernel of two rows is ``exp(-distance**2)`` in this unit.

    For two classes, the model is a logistic regression with a `C` of 2. For more classes, it is a
    ridge regression of the class probabilities with an `alpha` of 0.1. Its predictions are raised
    to a power from 1 to 8, the one of a fixed list that maximizes the likelihood of the labels.

    Parameters
    ----------
    random_state : int, RandomState or None, default=None
        Source of randomness for the choice of landmarks.

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

    def __init__(self, random_state: RandomState = None) -> None:
        self.random_state = random_state

    #: `fit` accepts the weight of each row in each class in place of labels.
    accepts_class_weights = True

    def fit(self, X: Rows, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit on rows of numbers, (n_samples, n_features), with labels and weights.

        `y` may be the weight of each row in each class, (n_samples, n_classes), of floats. The
        labels are then the numbers of the columns that are not zero.
        """
        from sklearn.kernel_approximation import Nystroem

        if isinstance(y, np.ndarray) and y.ndim == 2 and y.shape[1] > 1 and y.dtype.kind == "f":
            X = validate_data(self, X, dtype=np.float64)
            weights = np.asarray(y)
            self.classes_ = np.flatnonzero(weights.any(axis=0))
            row, code = np.nonzero(weights[:, self.classes_])
            weight = weights[row, self.classes_[code]]
        else:
            X, y = validate_data(self, X, y, dtype=np.float64)
            check_classification_targets(y)
            self.classes_, code = np.unique(y, return_inverse=True)
            weight = _check_sample_weight(sample_weight, X)
            row = np.flatnonzero(weight > 0)
            code, weight = code[row], weight[row]
        n_classes = len(self.classes_)
        if n_classes < 2:
            raise ValueError(f"y must have two classes or more; got one class, {self.classes_[0]}")
        is_used = np.zeros(len(X), dtype=bool)
        is_used[row] = True
        distinct, position = distinct_rows(X[is_used])
        # Equal rows count as one, with a weight for each class
        entry = position[(np.cumsum(is_used) - 1)[row]] * n_classes + code
        shares = np.bincount(entry, weight, len(distinct) * n_classes).reshape(-1, n_classes)
        middle = np.median(distinct, axis=0)
        spread = np.median(np.linalg.norm(distinct - middle, axis=1)) or 1.0
        scale = scaler_by_hand(middle, np.full(len(middle), spread))
        cut = calling("clip", -_FARTHEST, _FARTHEST)
        n_landmarks = min(_N_LANDMARKS if n_classes == 2 else _N_LANDMARKS_OF_MORE, len(distinct))
        nearness = Nystroem(gamma=1.0, n_components=n_landmarks, random_state=self.random_state)
        columns = pipeline.FeatureUnion([("rows", "passthrough"), ("nearness", nearness)])
        with config_context(transform_output="default"):  # the user's setting is for other models
            rows = cut.transform(scale.transform(distinct))
            nearness = columns.fit(rows).named_transformers["nearness"]
            # The logistic regression is precise enough in single precision, in half of the time
            dtype = np.float32 if n_classes == 2 else np.float64
            features = np.empty((len(rows), rows.shape[1] + n_landmarks), dtype=dtype)
            features[:, : rows.shape[1]] = rows
            features[:, rows.shape[1] :] = nearness.transform(rows)
        learnt = _logistic if n_classes == 2 else _least_squares
        linear = learnt(features, shares, self.classes_)
        self._model = pipeline.make_pipeline(scale, cut, columns, *linear).set_output(
            transform="default"
        )
        return self

    def predict_proba(self, X: Rows) -> np.ndarray:
        """Return the probabilities of the classes, (n_samples, n_classes)."""
        return self._ask("predict_proba", X)

    def decision_function(self, X: Rows) -> np.ndarray:
        """Return log odds, (n_samples,), or log probabilities of more than two classes."""
        return self._ask("decision_function", X)

    def predict(self, X: Rows) -> np.ndarray:
        """Return the most probable labels, (n_samples,)."""
        return self._ask("predict", X)

    def to_sklearn(self) -> Estimator:
        """Return a scikit-learn Pipeline with the same predictions and the same `classes_`."""
        check_is_fitted(self)
        model = pipeline.make_pipeline(as_floats(), *(step for _, step in self._model.steps))
        return model.set_output(transform="default")

    def _ask(self, method: str, X: Rows) -> np.ndarray:
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return getattr(self._model, method)(X)


def _logistic(features: np.ndarray, shares: np.ndarray, labels: np.ndarray) -> list[Any]:
    """Return a logistic regression of two classes, the last step of a Pipeline.

    Parameters
    ----------
    features : ndarray of shape (n_rows, n_features)
        Distinct rows.
    shares : ndarray of shape (n_rows, n_classes)
        Weight of each row in each class.
    labels : ndarray of shape (n_classes,)
        Labels to predict.
    """
    weight = shares / shares.sum()
    of_rows, of_second = weight.sum(axis=1), weight[:, 1]
    penalty = 1 / (_C * shares.sum())

    def cost(point: np.ndarray) -> tuple[float, np.ndarray]:
        slopes = point[:-1]
        odds = (features @ slopes.astype(features.dtype)).astype(float) + point[-1]
        value = of_rows @ np.logaddexp(0, odds) - of_second @ odds + penalty / 2 * slopes @ slopes
        off = of_rows * expit(odds) - of_second
        slope = (off.astype(features.dtype) @ features).astype(float) + penalty * slopes
        return value, np.append(slope, off.sum())

    start = np.zeros(features.shape[1] + 1)
    found = minimize(cost, start, jac=True, method="L-BFGS-B", options=_OPTIONS).x
    return [linear_by_hand(found[None, :-1], found[-1:], labels)]


def _least_squares(features: np.ndarray, shares: np.ndarray, labels: np.ndarray) -> list[Any]:
    """Return a ridge regression of several classes' probabilities, the last steps of a Pipeline.

    The parameters are the same as in `_logistic`. Noise has the same weight in all classes. The
    fit uses no logarithms, because logarithms of small probabilities are mostly noise.
    """
    from sklearn.linear_model import Ridge

    weight = shares.sum(axis=1)
    model = Ridge(alpha=0.1).fit(features, shares / weight[:, None], weight)
    means = model.predict(features)
    likelihoods = [(shares * np.log(sharpened(means, power))).sum() for power in POWERS]
    cut = calling("clip", MIN_PROBA, 1)
    n_classes = len(labels)
    return [
        calling("__matmul__", model.coef_.T),
        calling("__add__", model.intercept_),
        # As in `smoothing.sharpened`
        cut,
        calling("__pow__", POWERS[int(np.argmax(likelihoods))]),
        preprocessing.Normalizer("l1"),
        cut,
        preprocessing.FunctionTransformer(np.log),
        # The softmax of logarithms divides by the sum
        linear_by_hand(np.eye(n_classes), np.zeros(n_classes), labels),
    ]
