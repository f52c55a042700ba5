"""PATEClassifier: private teachers vote, noise protects the votes, a public student learns them."""

from .estimator import PATEClassifier

__all__ = ["PATEClassifier"]
