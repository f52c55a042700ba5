"""Components of `methods.ReverseNeighbors`: cells, the released table, and its student."""

from ..encoding.vectorizer import RowVectorizer
from .cells import ReleasedTable
from .landmarks import LandmarkClassifier

__all__ = ["LandmarkClassifier", "ReleasedTable", "RowVectorizer"]
