"""Estimators inside a saved model: if one cannot be loaded, the model still predicts."""

import pickle
from typing import Any, NamedTuple

from sklearn.base import BaseEstimator, ClassifierMixin


class Saved(NamedTuple):
    """An unfitted estimator, pickled by itself: a model that holds it loads even if it does not.

    Attributes
    ----------
    name : str
        Its class.
    data : bytes
        Its pickle.
    """

    name: str
    data: bytes

    @classmethod
    def of(cls, estimator):
        """Pickle an estimator; if it cannot be pickled, return it as it is."""
        try:
            return cls(type(estimator).__name__, pickle.dumps(estimator))
        except Exception:
            return estimator  # another pickler may manage it

    def load(self) -> Any:
        """Return the estimator, or an `Unavailable` in its place."""
        try:
            return pickle.loads(self.data)
        except ImportError as error:
            return Unavailable(self.name, str(error))


class Unavailable(ClassifierMixin, BaseEstimator):
    """Takes the place of a classifier in a saved model if its library is not installed here.

    Parameters
    ----------
    name : str
        Its class.
    reason : str
        Why it could not be loaded.
    """

    def __init__(self, name, reason):
        self.name = name
        self.reason = reason

    def fit(self, X, y=None):
        """Say what is missing.

        Parameters
        ----------
        X, y : object
            Ignored.

        Raises
        ------
        ImportError
            Always.
        """
        raise ImportError(f"{self.name} could not be loaded with the model: {self.reason}")

    predict = fit  # without `predict` it would not be valid as a parameter
    read = rates = fit  # a table's transformer may be what is missing
