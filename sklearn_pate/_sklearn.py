"""The few private scikit-learn names this package uses; nowhere else."""

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils import _safe_indexing
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
