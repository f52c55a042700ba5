"""Encoding of rows and targets: dtypes, schemas, the vectorizer, classes and numbers."""

from .dtypes import same_dtypes
from .schema import Schema
from .targets import ClassTarget, NumberTarget, Target
from .vectorizer import RowVectorizer

__all__ = ["ClassTarget", "NumberTarget", "RowVectorizer", "Schema", "Target", "same_dtypes"]
