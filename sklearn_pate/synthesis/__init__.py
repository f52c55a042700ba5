"""Public rows drawn from noisy marginals of private ones, for people who have no public rows."""

from .base import Synthesizer
from .columns import Schema
from .marginal import MarginalSynthesizer
from .sums import ClassSums, ReleasedSums

__all__ = ["ClassSums", "MarginalSynthesizer", "ReleasedSums", "Schema", "Synthesizer"]
