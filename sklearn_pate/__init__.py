"""Train on private data, publish the model: PATE as a scikit-learn classifier."""

from ._version import __version__
from .accountant import PrivacySpent
from .classifier import PATEClassifier
from .public import FitOnPublic, PublicData

__all__ = ["FitOnPublic", "PATEClassifier", "PrivacySpent", "PublicData", "__version__"]
