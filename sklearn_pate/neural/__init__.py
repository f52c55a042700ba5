"""Semi-supervised neural students on skorch: virtual adversarial training, and a GAN."""

from .base import RandomAffine
from .gan import SSGANClassifier
from .vat import VATClassifier

__all__ = ["RandomAffine", "SSGANClassifier", "VATClassifier"]
