"""Parts of `methods.ReverseNeighbors`: cells, the table that is released, and its student."""

from ..encoding.vectorizer import RowVectorizer
from .cells import ReleasedTable
from .landmarks import LandmarkClassifier

__all__ = ["LandmarkClassifier", "ReleasedTable", "RowVectorizer"]
