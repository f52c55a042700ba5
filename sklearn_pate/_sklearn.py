"""The few private scikit-learn names this package uses; nowhere else."""

from sklearn.base import _fit_context
from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import _num_samples

__all__ = ["HasMethods", "Interval", "StrOptions", "_fit_context", "_num_samples", "_safe_indexing"]
