"""The few private scikit-learn names this package uses; nowhere else."""

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils import _safe_indexing
from sklearn.utils._available_if import _AvailableIfDescriptor
from sklearn.utils._param_validation import HasMethods, InvalidParameterError, StrOptions
from sklearn.utils._param_validation import Interval as _Interval
from sklearn.utils.validation import _check_sample_weight, _num_samples


class Interval(_Interval):
    """Numbers, but no truth values."""

    def is_satisfied_by(self, val):
        """Return whether a value is a number in the interval."""
        return not isinstance(val, bool | np.bool_) and super().is_satisfied_by(val)


def delegated(method, *names):
    """Return a check for `available_if`: the first part that there is has a method.

    Its own AttributeError says why it has none.
    """

    def check(self):
        parts = (getattr(self, name, None) for name in names)
        getattr(next((part for part in parts if part is not None), None), method)
        return True

    return check


def available_where(check):
    """Return a decorator as `available_if`, where the check's own error is the last one shown.

    Parameters
    ----------
    check : callable
        Takes the estimator, and raises an AttributeError with the remedy.
    """
    return lambda method: _AvailableWhere(method, check, method.__name__)


class _AvailableWhere(_AvailableIfDescriptor):
    def _check(self, obj, owner):
        self.check(obj)


class CheckedParameters:
    """Refuse parameters that are classes, and do not quote data that were given as a parameter."""

    def _validate_params(self):
        refuse_classes(self)
        try:
            super()._validate_params()
        except InvalidParameterError as error:
            text = str(error)
        else:
            return
        rule, _, _ = text.partition(" Got ")
        value = getattr(self, rule.split("'")[1], None)
        if np.shape(getattr(value, "shape", ())) != (0,):  # rows, which may be private
            text = f"{rule} Got {type(value).__name__} instead."
        raise InvalidParameterError(text)


def refuse_classes(estimator):
    """Refuse classes in the place of instances, by themselves or in a list.

    Parameters
    ----------
    estimator : estimator
        Its parameters are looked at, and not those of estimators within.
    """
    for name, value in estimator.get_params(deep=False).items():
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, type):
                kind, call = "an instance", f"{part.__name__}(...)"
                if hasattr(part, "fit"):
                    kind, call = "an estimator", f"{part.__name__}()"
                raise InvalidParameterError(
                    f"The {name!r} parameter of {type(estimator).__name__} must be {kind}, {call}. "
                    "Got the class instead."
                )
