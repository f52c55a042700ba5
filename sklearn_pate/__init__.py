"""Train on private data, publish the model: PATE as scikit-learn estimators."""

from ._version import __version__
from .accounting import PrivacySpent
from .classifier import PATEClassifier
from .public import FitOnPublic, PublicData
from .regressor import PATERegressor

__all__ = [
    "FitOnPublic",
    "PATEClassifier",
    "PATERegressor",
    "PrivacySpent",
    "PublicData",
    "__version__",
]
