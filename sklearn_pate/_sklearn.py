"""The few private scikit-learn names this package uses; nowhere else."""

from sklearn.base import _fit_context
from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import HasMethods, Interval, InvalidParameterError, StrOptions
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


__all__ = [
    "CallbackSupportMixin",
    "HasMethods",
    "Interval",
    "InvalidParameterError",
    "StrOptions",
    "_VisualBlock",
    "_check_sample_weight",
    "_fit_context",
    "_num_samples",
    "_safe_indexing",
]
