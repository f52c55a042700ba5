"""The mechanisms that turn vote counts into released labels, each by its outcome distribution."""

from .argmax import ExponentialNMax, GNMax, LNMax, PluralityVote
from .base import Aggregator, Mechanism, Released, SoftAggregator
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
    "Mechanism",
    "PluralityVote",
    "Released",
    "SoftAggregator",
    "SoftVote",
    "StableArgmax",
    "stable_leads",
]
