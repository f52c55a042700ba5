"""The mechanisms that turn vote counts into released labels, each by its outcome distribution."""

from .argmax import ExponentialNMax, GNMax, LNMax, PluralityVote
from .base import Aggregator, Mechanism, Released, SoftAggregator
from .checked import ConfidentGNMax, InteractiveGNMax
from .immutable import ImmutableArgmax
from .soft import SoftVote
from .stable import StableArgmax, distance_to_instability
from .table import GaussianMechanism, LaplaceMechanism, TableMechanism

__all__ = [
    "Aggregator",
    "ConfidentGNMax",
    "ExponentialNMax",
    "GNMax",
    "GaussianMechanism",
    "ImmutableArgmax",
    "InteractiveGNMax",
    "LNMax",
    "LaplaceMechanism",
    "Mechanism",
    "PluralityVote",
    "Released",
    "SoftAggregator",
    "SoftVote",
    "StableArgmax",
    "TableMechanism",
    "distance_to_instability",
]
