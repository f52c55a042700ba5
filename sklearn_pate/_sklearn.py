"""The few private scikit-learn names this package uses; nowhere else."""

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import HasMethods, InvalidParameterError, StrOptions
from sklearn.utils._param_validation import Interval as _Interval
from sklearn.utils.validation import _check_sample_weight, _num_samples

try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:  # before 1.9: no callbacks

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing to support."""


try:
    from sklearn.utils._repr_html.estimator import _VisualBlock
except ImportError:  # before 1.7
    from sklearn.utils._estimator_html_repr import _VisualBlock


class Interval(_Interval):
    """Numbers that count: no truth values, no fractions, nothing that is no float."""

    def is_satisfied_by(self, val):
        """Return whether a value is such a number, in the interval."""
        if isinstance(val, bool) or not isinstance(val, int | float | np.integer | np.floating):
            return False
        try:
            float(val)
        except OverflowError:
            return False
        return super().is_satisfied_by(val)


def delegated(method, *names):
    """Return a check for `available_if`: the first part that there is has a method.

    Its own AttributeError says why it has none.
    """

    def check(self):
        parts = (getattr(self, name, None) for name in names)
        getattr(next((part for part in parts if part is not None), None), method)
        return True

    return check
