"""Encoding of rows and targets: dtypes, schemas, the vectorizer, classes and numbers."""

from .dtypes import same_dtypes
from .encoder import RowEncoder
from .schema import Schema
from .targets import ClassTarget, NumberTarget, Target
from .vectorizer import RowVectorizer

__all__ = [
    "ClassTarget",
    "NumberTarget",
    "RowEncoder",
    "RowVectorizer",
    "Schema",
    "Target",
    "same_dtypes",
]
