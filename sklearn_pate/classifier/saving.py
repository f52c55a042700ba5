"""Parameters in the file of a fitted model: what they need to load is not needed to predict."""

import pickle
from typing import Any, NamedTuple

from sklearn.base import BaseEstimator, ClassifierMixin

__all__ = ["Saved", "Unavailable"]


class Saved(NamedTuple):
    """An unfitted estimator, pickled by itself: the model also loads where the estimator does not.

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
        """Pickle an estimator; one that cannot be is returned as it is."""
        try:
            return cls(type(estimator).__name__, pickle.dumps(estimator))
        except Exception:
            return estimator

    def load(self) -> Any:
        """Return the estimator, or an `Unavailable` in its place."""
        try:
            return pickle.loads(self.data)
        except ImportError as error:
            return Unavailable(self.name, str(error))


class Unavailable(ClassifierMixin, BaseEstimator):
    """Stands for a classifier of a saved model whose library is not installed here.

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

    def fit(self, X, y):
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

    predict = fit
