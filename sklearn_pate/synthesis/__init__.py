"""Synthetic rows from noisy statistics of private rows, for users without public rows."""

from ..encoding.schema import Schema
from .synthesizers import (
    ClassSumsSynthesizer,
    MarginalSynthesizer,
    ReleasedSums,
    Synthesizer,
)

__all__ = ["ClassSumsSynthesizer", "MarginalSynthesizer", "ReleasedSums", "Schema", "Synthesizer"]
