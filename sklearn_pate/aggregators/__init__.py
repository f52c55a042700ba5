"""Mechanisms that turn vote counts into released labels, each with its outcome distribution.

A new mechanism for single queries is a subclass of `base.Aggregator`, or of `base.SoftAggregator`,
and states its proof in `bounds`. One for a whole table is a subclass of `table.TableMechanism`, and
proves its `cost`.
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
