"""scikit-learn steps with fitted attributes set by hand, so exports load without this library."""

from __future__ import annotations

from operator import methodcaller
from typing import TYPE_CHECKING, Any

import numpy as np

from .._sklearn import preprocessing, softmax

if TYPE_CHECKING:
    from sklearn.dummy import DummyClassifier
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import LinearRegression, LogisticRegression
    from sklearn.preprocessing import FunctionTransformer, StandardScaler

    from .._typing import Estimator


def calling(method: str, *args: Any) -> FunctionTransformer:
    """Return a transformer that calls a method of the rows, and loads without this library."""
    return preprocessing.FunctionTransformer(methodcaller(method, *args))


def numbers_by_hand(transformer: Estimator) -> list[Estimator]:
    """Return steps with the output of a fitted transformer, as floats.

    Parameters
    ----------
    transformer : transformer
        Fitted. A transformer of this library is replaced by its scikit-learn parts.
    """
    if hasattr(transformer, "to_sklearn"):
        transformer = transformer.to_sklearn()
    return [transformer, as_floats()]


def as_floats() -> FunctionTransformer:
    """Return a transformer that converts arrays to 64-bit floats."""
    return preprocessing.FunctionTransformer(np.asarray, kw_args={"dtype": "float64"})


def scaler_by_hand(mean: np.ndarray, scale: np.ndarray) -> StandardScaler:
    """Return a fitted scaler with this mean and scale."""
    return _by_hand(
        preprocessing.StandardScaler(), mean_=mean, scale_=scale, n_features_in_=len(mean)
    )


def affine_by_hand(matrix: np.ndarray, constant: np.ndarray | float) -> list[Estimator]:
    """Return the steps that multiply rows by a matrix and add a constant."""
    return [calling("__matmul__", matrix), calling("__add__", constant)]


def nearness_by_hand(centers: np.ndarray, gamma: float, weights: np.ndarray) -> Nystroem:
    """Return a transformer that multiplies the kernel of rows and centers by weights.

    Parameters
    ----------
    centers : ndarray of shape (n_centers, n_columns)
        Encoded rows.
    gamma : float
        The kernel at a distance d is ``exp(-gamma * d**2)``.
    weights : ndarray of shape (n_centers, n_outputs)
        Weight of each center in each output.
    """
    from sklearn.kernel_approximation import Nystroem

    learnt = {"components_": centers, "normalization_": weights.T}
    nearness = Nystroem(gamma=float(gamma), n_components=len(centers))
    return _by_hand(nearness, **learnt, n_features_in_=centers.shape[1])


def floored_by_hand(least: float) -> list[Estimator]:
    """Return the steps of `smoothing.floored`: class probabilities get a minimum, and sum to 1."""
    return [calling("clip", least, 1), preprocessing.Normalizer("l1")]


def proba_by_softmax(least: float) -> list[Estimator]:
    """Return the steps that convert logarithms to class probabilities with a minimum."""
    return [preprocessing.FunctionTransformer(softmax), *floored_by_hand(least)]


def sharpened_by_hand(power: float, least: float) -> list[Estimator]:
    """Return the steps of `smoothing.sharpened`, which convert means to class probabilities."""
    powers = calling("__pow__", power)
    return [
        calling("clip", least, 1),
        powers,
        preprocessing.Normalizer("l1"),
        *floored_by_hand(least),
    ]


def linear_by_hand(
    coef: np.ndarray, intercept: np.ndarray, labels: np.ndarray
) -> LogisticRegression:
    """Return a fitted logistic regression with these coefficients."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=2, max_iter=1000)
    learnt = {"coef_": coef, "intercept_": intercept, "classes_": labels}
    return _by_hand(model, **learnt, n_features_in_=coef.shape[1])


def softmax_by_hand(
    coef: np.ndarray, intercept: np.ndarray, labels: np.ndarray
) -> DummyClassifier | LogisticRegression:
    """Return a fitted classifier by the softmax of one linear function per label.

    Parameters
    ----------
    coef : ndarray of shape (n_labels, n_columns)
        Slopes.
    intercept : ndarray of shape (n_labels,)
        Constants.
    labels : ndarray of shape (n_labels,)
        Labels; if there is a single one, the classifier always predicts it.
    """
    if len(labels) == 1:
        from sklearn.dummy import DummyClassifier

        return DummyClassifier().fit(np.zeros((1, coef.shape[1])), labels)
    if len(labels) == 2:
        coef, intercept = np.diff(coef, axis=0), np.diff(intercept)
    return linear_by_hand(coef, intercept, labels)


def classes_by_proba(n_classes: int, codes: np.ndarray, weight: np.ndarray) -> list[Estimator]:
    """Return the steps that predict classes from class probabilities, (n_rows, n_classes).

    Parameters
    ----------
    n_classes : int
        Number of classes.
    codes : ndarray of shape (n_codes,), int
        Classes to predict.
    weight : ndarray of shape (n_codes,)
        Weight of each of these classes.
    """
    # The softmax of logarithms divides by the sum
    logarithm = preprocessing.FunctionTransformer(np.log)
    return [logarithm, softmax_by_hand(np.eye(n_classes)[codes], np.log(weight), codes)]


def mean_by_proba(levels: np.ndarray) -> LinearRegression:
    """Return the step that predicts the mean of the levels from their probabilities."""
    from sklearn.linear_model import LinearRegression

    learnt = {"coef_": levels, "intercept_": 0.0, "n_features_in_": len(levels)}
    return _by_hand(LinearRegression(), **learnt)


def _by_hand(model: Estimator, **learnt: Any) -> Estimator:
    model.__dict__.update(learnt)
    return model
