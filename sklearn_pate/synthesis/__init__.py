"""Public rows drawn from noisy marginals of private ones, for people who have no public rows."""

from .base import Synthesizer, default_share
from .marginal import MarginalSynthesizer

__all__ = ["MarginalSynthesizer", "Synthesizer", "default_share"]
