"""Public rows drawn from noisy statistics of private ones, for people who have no public rows."""

from .columns import Schema
from .synthesizers import ClassSums, MarginalSynthesizer, ReleasedSums, Synthesizer

__all__ = ["ClassSums", "MarginalSynthesizer", "ReleasedSums", "Schema", "Synthesizer"]
