"""Components of `methods.ReverseNeighbors`: cells, the released table, and its student."""

from ..encoding.vectorizer import RowVectorizer
from .landmarks import LandmarkClassifier
from .smoothing import ReleasedTable

__all__ = ["LandmarkClassifier", "ReleasedTable", "RowVectorizer"]
