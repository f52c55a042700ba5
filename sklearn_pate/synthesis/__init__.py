"""Public rows drawn from noisy statistics of private ones, for people who have no public rows."""

from ..encoding.schema import Schema
from .synthesizers import (
    ClassSumsSynthesizer,
    MarginalSynthesizer,
    ReleasedSums,
    Synthesizer,
)

__all__ = ["ClassSumsSynthesizer", "MarginalSynthesizer", "ReleasedSums", "Schema", "Synthesizer"]
