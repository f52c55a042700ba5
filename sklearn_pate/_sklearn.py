"""Private names of scikit-learn, wrappers of them, and modules that are imported on first use.

All private names that this package uses are imported here. `pipeline` and `preprocessing` are
imported when one of their names is first read, because they take a third of the time of all
imports.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils._available_if import _AvailableIfDescriptor
from sklearn.utils._param_validation import HasMethods as _HasMethods
from sklearn.utils._param_validation import Interval as _Interval
from sklearn.utils._param_validation import InvalidParameterError, StrOptions
from sklearn.utils.extmath import softmax
from sklearn.utils.validation import _check_sample_weight, _num_samples

from ._numbers import LARGEST_COUNT, as_float, has_many_digits, shown

if TYPE_CHECKING:
    from ._typing import Estimator


class _Lazy:
    """A module that is imported when one of its names is first read."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self._name), name)


pipeline: Any = _Lazy("sklearn.pipeline")
preprocessing: Any = _Lazy("sklearn.preprocessing")


def is_pipeline(estimator: Any) -> bool:
    """Return whether an estimator is a `Pipeline`."""
    module = sys.modules.get("sklearn.pipeline")  # without this module, there is no Pipeline
    return module is not None and isinstance(estimator, module.Pipeline)


class Interval(_Interval):
    """Interval of numbers, without booleans and numbers beyond the range of float or int64."""

    def is_satisfied_by(self, val: Any) -> bool:
        """Return whether a value is a number in the interval."""
        if isinstance(val, bool | np.bool_) or not isinstance(val, self.type):
            return False
        if isinstance(val, Integral) and self.type is Integral:
            return abs(int(val)) <= LARGEST_COUNT and super().is_satisfied_by(val)
        # Computations use the float, and a fraction may round to the edge of the interval
        return super().is_satisfied_by(as_float(val))

    def __str__(self) -> str:
        text = super().__str__()
        return text.replace("inf", "2**63") if self.type is Integral else text


#: Types whose equal values are equally valid.
_PLAIN = {bool, int, float, str, type(None)}

#: Classes with plain values of all parameters that were found valid, and how many are kept.
_valid: set[tuple[Any, ...]] = set()
_MOST_VALID = 1000

#: Names of the parameters of each class.
_names: WeakKeyDictionary[type, list[str]] = WeakKeyDictionary()


class CheckedEstimator(BaseEstimator):
    """Base class of estimators that check their parameters without quoting private values."""

    @classmethod
    def _get_param_names(cls) -> list[str]:
        """Return the names of the parameters; scikit-learn inspects `__init__` in each call."""
        if cls not in _names:
            _names[cls] = super()._get_param_names()
        return list(_names[cls])

    def _validate_params(self) -> None:
        """Raise an error for invalid parameters; it quotes neither data nor long numbers."""
        params = self.get_params(deep=False)
        # A plan tries dozens of noise levels and reads each mechanism several times
        key = (type(self), *((name, type(value), value) for name, value in params.items()))
        are_plain = all(type(value) in _PLAIN for value in params.values())
        if are_plain and key in _valid:
            return
        refuse_classes(self)
        _refuse_long_numbers(self)
        try:
            super()._validate_params()
        except InvalidParameterError as error:
            text = str(error)
        else:
            if are_plain:
                if len(_valid) >= _MOST_VALID:
                    _valid.clear()
                _valid.add(key)
            return
        rule, _, _ = text.partition(" Got ")
        value = getattr(self, rule.split("'")[1], None)
        if np.shape(getattr(value, "shape", ())) != (0,):  # rows, which may be private
            text = f"{rule} Got {type(value).__name__} instead."
        raise InvalidParameterError(text)


def _refuse_long_numbers(estimator: Estimator) -> None:
    """Raise an error, without all digits, for a number over 80 digits outside its interval."""
    for name, value in estimator.get_params(deep=False).items():
        constraints = estimator._parameter_constraints.get(name, ())
        intervals = [part for part in constraints if isinstance(part, Interval)]
        if not intervals or not has_many_digits(value):
            continue
        if not any(interval.is_satisfied_by(value) for interval in intervals):
            is_real = intervals[0].type is Real
            limits = ", within the range of floats (5e-324 to 1.8e308)" if is_real else ""
            raise InvalidParameterError(
                f"The {name!r} parameter of {type(estimator).__name__} must be "
                f"{intervals[0]}{limits}. Got {shown(value)} instead."
            )


def refuse_classes(estimator: Estimator) -> None:
    """Raise an error if a parameter, or an element of a list, is a class.

    Parameters
    ----------
    estimator : estimator
        The estimator. Parameters of nested estimators are not checked.

    Raises
    ------
    InvalidParameterError
        If a class is given instead of an instance.
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


class HasMethods(_HasMethods):
    """Objects with some methods, which may exist only after fitting."""

    def is_satisfied_by(self, val: Any) -> bool:
        """Return whether an object has all methods, or will have them after fitting."""
        return all(has_method(val, name) for name in self.methods)


def learns_several(estimator: Estimator) -> bool:
    """Return whether an estimator learns all targets at once, from `y` with several columns."""
    target_tags = get_tags(estimator).target_tags
    return bool(target_tags.multi_output or not target_tags.single_output)


def learns_columns_only(estimator: Estimator) -> bool:
    """Return whether an estimator requires `y` with two axes, also for a single target."""
    return not get_tags(estimator).target_tags.single_output


def has_method(estimator: Estimator, name: str) -> bool:
    """Return whether an estimator has a method, or will have it after fitting.

    A `StackingClassifier`, and an estimator that delegates to one, has neither `predict` nor
    `predict_proba` before it is fitted, although its class defines both. If `predict` already
    exists, parameters alone determine the other methods: an `SVC` without `probability` will have
    no `predict_proba`.
    """
    if callable(getattr(estimator, name, None)):
        return True
    if not callable(getattr(type(estimator), name, None)):
        return False
    if is_pipeline(estimator):
        part = estimator.steps[-1][1]
    else:
        parts = (getattr(estimator, param, None) for param in ("estimator", "final_estimator"))
        part = next((part for part in parts if part is not None), None)
    if part is None:
        return not callable(getattr(estimator, "predict", None))
    # If the part has the method, another setting removes it here, such as refit=False of a search
    return not callable(getattr(part, name, None)) and has_method(part, name)


def delegated(method: str, *names: str) -> Callable[[Any], bool]:
    """Return a check for `available_if` that the first attribute that is set has a method.

    If the method is missing, the check raises the AttributeError of that attribute.
    """

    def check(self: Any) -> bool:
        parts = (getattr(self, name, None) for name in names)
        getattr(next((part for part in parts if part is not None), None), method)
        return True

    return check


def available_where(check: Callable[[Any], Any]) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator like `available_if` that raises the error of the check.

    Parameters
    ----------
    check : callable
        Takes the estimator. Raises an AttributeError with a remedy if the method is unavailable.
    """
    return lambda method: _AvailableWhere(method, check, method.__name__)


class _AvailableWhere(_AvailableIfDescriptor):
    """Descriptor of `available_where`."""

    def _check(self, obj: Any, owner: Any) -> None:
        self.check(obj)
