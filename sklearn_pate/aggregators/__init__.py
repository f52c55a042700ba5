"""Mechanisms that turn vote counts into released labels or tables, with their privacy bounds.

A new mechanism for single queries is a subclass of `base.Aggregator` or `base.SoftAggregator`, with
its proved bounds in `bounds`. A new mechanism for a whole table is a subclass of
`table.TableMechanism`, with a proved `cost`.
"""

from .argmax import (
    ConfidentGNMax,
    ExponentialNMax,
    GNMax,
    ImmutableArgmax,
    InteractiveGNMax,
    LNMax,
    PluralityVote,
    StableArgmax,
    distance_to_instability,
)
from .base import Aggregator, Mechanism, Released, SoftAggregator, SoftVote
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
