"""Public rows drawn from noisy marginals of private ones, for people who have no public rows."""

from .base import Synthesizer
from .marginal import MarginalSynthesizer

__all__ = ["MarginalSynthesizer", "Synthesizer"]
