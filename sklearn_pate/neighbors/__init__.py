"""Records as voters: each casts its ballot where it lies, in a table that is released at once."""

from .columns import RowVectorizer
from .electorate import ReverseNeighbors
from .landmarks import LandmarkClassifier
from .rates import ReleasedTable

__all__ = ["LandmarkClassifier", "ReleasedTable", "ReverseNeighbors", "RowVectorizer"]
