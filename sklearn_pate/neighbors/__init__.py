"""Records as voters: each casts its ballot where it lies, in a table that is released at once."""

from .cells import ReleasedTable
from .electorate import ReverseNeighbors
from .landmarks import LandmarkClassifier
from .transform import RowVectorizer

__all__ = ["LandmarkClassifier", "ReleasedTable", "ReverseNeighbors", "RowVectorizer"]
