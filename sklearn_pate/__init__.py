"""Train on private data, publish the model: PATE as a scikit-learn classifier."""

from .accountant import PrivacySpent
from .classifier import PATEClassifier

__version__ = "0.1.0"

__all__ = ["PATEClassifier", "PrivacySpent", "__version__"]
