"""Train on private data, publish the model: PATE as a scikit-learn classifier."""

from .accountant import PrivacySpent
from .classifier import PATEClassifier
from .public import FitOnPublic, PublicData

__version__ = "0.1.0"

__all__ = ["FitOnPublic", "PATEClassifier", "PrivacySpent", "PublicData", "__version__"]
