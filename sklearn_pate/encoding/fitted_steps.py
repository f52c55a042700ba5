"""Parts of scikit-learn that are fitted by hand: an export loads where this library is not."""

import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.preprocessing import FunctionTransformer, Normalizer, StandardScaler

from .._sklearn import softmax
from .vectorizer import calling


def numbers_by_hand(transformer):
    """Return the steps that make a fitted transformer's numbers of rows, as floats.

    Parameters
    ----------
    transformer : transformer
        Fitted; one of this library is replaced by the parts that it is made of.
    """
    if hasattr(transformer, "to_sklearn"):
        transformer = transformer.to_sklearn()
    return [transformer, as_floats()]


def as_floats():
    """Return a transformer of arrays to floats of 64 bits."""
    return FunctionTransformer(np.asarray, kw_args={"dtype": "float64"})


def scaler_by_hand(mean, scale):
    """Return a scaler that is fitted by hand."""
    return _by_hand(StandardScaler(), mean_=mean, scale_=scale, n_features_in_=len(mean))


def affine_by_hand(matrix, constant):
    """Return the steps that multiply rows by a matrix, and add a constant."""
    return [calling("__matmul__", matrix), calling("__add__", constant)]


def nearness_by_hand(centers, gamma, weights):
    """Return a transformer of rows to how near they are to centers, times weights.

    Parameters
    ----------
    centers : ndarray of shape (n_centers, n_columns)
        Rows of numbers.
    gamma : float
        The nearness at a distance d is ``exp(-gamma * d**2)``.
    weights : ndarray of shape (n_centers, n_outputs)
        What the nearness to each center counts in each output.
    """
    learnt = {"components_": centers, "normalization_": weights.T}
    nearness = Nystroem(gamma=float(gamma), n_components=len(centers))
    return _by_hand(nearness, **learnt, n_features_in_=centers.shape[1])


def floored_by_hand(least):
    """Return the steps of `cells.floored`: rates are at least so large, and sum to 1."""
    return [calling("clip", least, 1), Normalizer("l1")]


def proba_by_softmax(least):
    """Return the steps that make rates, of at least so much each, of their logarithms."""
    return [FunctionTransformer(softmax), *floored_by_hand(least)]


def sharpened_by_hand(power, least):
    """Return the steps of `cells.sharpened`: means become rates."""
    powers = calling("__pow__", power)
    return [calling("clip", least, 1), powers, Normalizer("l1"), *floored_by_hand(least)]


def linear_by_hand(coef, intercept, labels):
    """Return a logistic regression that is fitted by hand."""
    model = LogisticRegression(C=2, max_iter=1000)
    learnt = {"coef_": coef, "intercept_": intercept, "classes_": labels}
    return _by_hand(model, **learnt, n_features_in_=coef.shape[1])


def softmax_by_hand(coef, intercept, labels):
    """Return a classifier whose probabilities are the softmax of a line for each label.

    Parameters
    ----------
    coef : ndarray of shape (n_labels, n_columns)
        Slopes.
    intercept : ndarray of shape (n_labels,)
        Constants.
    labels : ndarray of shape (n_labels,)
        One of them is all that is predicted.
    """
    if len(labels) == 1:
        return DummyClassifier().fit(np.zeros((1, coef.shape[1])), labels)
    if len(labels) == 2:
        coef, intercept = np.diff(coef, axis=0), np.diff(intercept)
    return linear_by_hand(coef, intercept, labels)


def classes_by_proba(n_classes, codes, weight):
    """Return the last steps of a classifier that reads rates, (n_rows, n_classes).

    Parameters
    ----------
    n_classes : int
        Number of classes.
    codes : ndarray of shape (n_codes,), int
        The classes that it predicts.
    weight : ndarray of shape (n_codes,)
        What each of them counts.
    """
    logarithm = FunctionTransformer(np.log)  # the softmax of logarithms divides by the sum
    return [logarithm, softmax_by_hand(np.eye(n_classes)[codes], np.log(weight), codes)]


def mean_by_proba(levels):
    """Return the last step of a regressor that reads rates: the mean of the levels."""
    learnt = {"coef_": levels, "intercept_": 0.0, "n_features_in_": len(levels)}
    return _by_hand(LinearRegression(), **learnt)


def _by_hand(model, **learnt):
    vars(model).update(learnt)
    return model
