"""Reported scores of a fit, and comparisons of two fits."""

import functools

import numpy as np
from scipy import stats
from sklearn.metrics import accuracy_score, balanced_accuracy_score, log_loss, roc_auc_score

#: Of log loss: no probability is smaller.
_LEAST = 1e-3


def scores(y, probabilities, rate):
    """Numbers of one fit.

    Parameters
    ----------
    y : array of shape (n_rows,)
        Codes of the true classes.
    probabilities : array of shape (n_rows, n_classes)
    rate : float or None
        Of two classes: the public share of the second. "accuracy at rate" calls that share of the
        test rows the second class, those that are likeliest; it looks at no label.
    """
    probabilities = np.nan_to_num(np.asarray(probabilities, dtype=float))
    predicted = probabilities.argmax(axis=1)
    classes = np.arange(probabilities.shape[1])
    clipped = np.clip(probabilities, _LEAST, None)
    found = {
        "accuracy": accuracy_score(y, predicted),
        "balanced accuracy": balanced_accuracy_score(y, predicted),
        "log loss": log_loss(y, clipped / clipped.sum(axis=1, keepdims=True), labels=classes),
    }
    if probabilities.shape[1] == 2:
        second = probabilities[:, 1]
        found["AUC"] = roc_auc_score(y, second)
        if rate is not None:
            likeliest = np.argsort(np.argsort(-second, kind="stable")) < round(rate * len(y))
            found["accuracy at rate"] = accuracy_score(y, likeliest.astype(int))
    else:
        shares = probabilities / np.maximum(probabilities.sum(axis=1, keepdims=True), _LEAST)
        found["AUC"] = float(
            np.mean([roc_auc_score(y == label, shares[:, label]) for label in classes])
        )
    return {name: round(float(value), 5) for name, value in found.items()}


def half_width(differences):
    """Half a 95 % interval (Student) of the mean of paired differences."""
    differences = np.asarray(differences, dtype=float)
    if len(differences) < 2:
        return float("inf")
    error = differences.std(ddof=1) / np.sqrt(len(differences))
    return float(_quantile(len(differences) - 1) * error)


@functools.cache
def _quantile(n_free):
    return stats.t.ppf(0.975, n_free)
