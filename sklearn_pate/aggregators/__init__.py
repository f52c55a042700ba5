"""The mechanisms that turn vote counts into released labels, each by its outcome distribution."""

from .argmax import ExponentialNMax, GNMax, LNMax
from .base import Aggregator, PluralityVote
from .checked import ConfidentGNMax, InteractiveGNMax
from .immutable import ImmutableArgmax
from .soft import SoftVote
from .stable import StableArgmax, stable_leads

__all__ = [
    "Aggregator",
    "ConfidentGNMax",
    "ExponentialNMax",
    "GNMax",
    "ImmutableArgmax",
    "InteractiveGNMax",
    "LNMax",
    "PluralityVote",
    "SoftVote",
    "StableArgmax",
    "stable_leads",
]
