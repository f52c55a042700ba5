"""Methods: how private records become labels of public rows.

Each file states the statistic, its contribution, its noise and its read-out; `choose` decides.
"""

from .base import Method, TableMethod, VotingMethod
from .choose import MethodChoice, MethodParameters, PublicCounts, choose_method
from .neighbors import ReverseNeighbors
from .sums import ClassSums, ReleasedClassSums
from .teachers import Teachers

__all__ = [
    "MethodChoice",
    "MethodParameters",
    "PublicCounts",
    "ClassSums",
    "Method",
    "ReleasedClassSums",
    "ReverseNeighbors",
    "TableMethod",
    "Teachers",
    "VotingMethod",
    "choose_method",
]
