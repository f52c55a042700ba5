"""Semi-supervised neural students on skorch: virtual adversarial training, and a GAN."""

from .gan import SSGANClassifier
from .networks import RandomAffine
from .vat import VATClassifier

__all__ = ["RandomAffine", "SSGANClassifier", "VATClassifier"]
