"""Private data of one fit, with a repr without data, and without pickling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

if TYPE_CHECKING:
    from ..encoding.targets import Target


class Private:
    """Base class of private objects: their repr shows no data, and they cannot be pickled."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(private)"

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{type(self).__name__} is private: it cannot be pickled or copied")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PrivateData(Private):
    """The private data of one fit, after all checks.

    The repr shows none of the data, and the object cannot be pickled.

    Attributes
    ----------
    X : array-like, sparse matrix or DataFrame with n_samples rows, or teachers.Sites
        Features, as given.
    codes : ndarray of shape (n_samples,) or None
        Labels or numbers as codes, from ``target.encode``. None with `Sites`, which load their own
        labels.
    target : targets.Target
        The classes of the labels, or the levels of the numbers, which are public.
    sample_weight : ndarray of shape (n_samples,) or None
        Weights of the records.
    groups : array-like of shape (n_samples,) or None
        One identifier per record.
    is_other : ndarray of shape (n_samples,), bool, or None
        Whether the label of a record is none of the classes that were found. Such a record counts
        nowhere, and its code is 0. None if the classes are declared.
    """

    X: Any
    codes: np.ndarray | None
    target: Target
    sample_weight: np.ndarray | None = None
    groups: Any = None
    is_other: np.ndarray | None = None

    @property
    def vote_weight(self) -> np.ndarray | None:
        """Weights of the records where they vote or are counted; None if all are 1."""
        if self.is_other is None:
            return self.sample_weight
        weight = 1.0 if self.sample_weight is None else self.sample_weight
        return np.where(self.is_other, 0.0, weight)

    @property
    def n_records(self) -> int:
        """Number of records; raises a TypeError with `Sites`, where it is unknown."""
        if self.codes is None:
            raise TypeError("the number of records is unknown: each site loads its own")
        return len(self.codes)

    @property
    def classes(self) -> np.ndarray:
        """Sorted public labels or levels, of shape (n_classes,)."""
        return self.target.values
