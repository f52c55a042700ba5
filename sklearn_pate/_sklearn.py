"""The few private scikit-learn names this package uses; nowhere else."""

from sklearn.base import _fit_context
from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import HasMethods, Interval, InvalidParameterError, StrOptions
from sklearn.utils.validation import _check_sample_weight, _num_samples


def delegated(method, *names):
    """Return a check for `available_if`: the first part that there is has a method.

    Its own AttributeError says why it has none.
    """

    def check(self):
        parts = (getattr(self, name, None) for name in names)
        getattr(next((part for part in parts if part is not None), None), method)
        return True

    return check
