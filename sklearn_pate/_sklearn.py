"""The few private scikit-learn names this package uses; nowhere else."""

import numpy as np
from sklearn.base import _fit_context
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import HasMethods as _HasMethods
from sklearn.utils._param_validation import Interval as _Interval
from sklearn.utils._param_validation import InvalidParameterError, StrOptions
from sklearn.utils.extmath import softmax
from sklearn.utils.validation import _check_sample_weight, _num_samples


class Interval(_Interval):
    """Numbers, but no truth values."""

    def is_satisfied_by(self, val):
        """Return whether a value is a number in the interval."""
        return not isinstance(val, bool | np.bool_) and super().is_satisfied_by(val)


class HasMethods(_HasMethods):
    """Objects with some methods, some of which may exist after fitting only."""

    def is_satisfied_by(self, val):
        """Return whether an object has all of the methods, or will have them."""
        return all(has_method(val, name) for name in self.methods)


def has_method(estimator, name):
    """Return whether an estimator has a method, or will have it once it is fitted.

    A `StackingClassifier`, and what delegates to one, has neither `predict` nor `predict_proba`
    before it is fitted, though its class defines both. Where `predict` exists already, parameters
    alone decide on other methods: an `SVC` without `probability` will have no `predict_proba`.
    """
    if callable(getattr(estimator, name, None)):
        return True
    if not callable(getattr(type(estimator), name, None)):
        return False
    if isinstance(estimator, Pipeline):
        part = estimator.steps[-1][1]
    else:
        parts = (getattr(estimator, param, None) for param in ("estimator", "final_estimator"))
        part = next((part for part in parts if part is not None), None)
    if part is None:
        return not callable(getattr(estimator, "predict", None))
    # Where the part has the method, something else leaves this one without: a search's refit=False
    return not callable(getattr(part, name, None)) and has_method(part, name)


def delegated(method, *names):
    """Return a check for `available_if`: the first part that there is has a method.

    Its own AttributeError says why it has none.
    """

    def check(self):
        parts = (getattr(self, name, None) for name in names)
        getattr(next((part for part in parts if part is not None), None), method)
        return True

    return check
