"""Private data of one fit, with a repr without data, and without pickling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

if TYPE_CHECKING:
    from ..encoding.targets import Target
    from .sites import SiteRecords


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
    X : array-like, sparse matrix or DataFrame with n_samples rows, teachers.Sites or None
        Features, as given; `Sites` if each site is one teacher, and None with `at_sites`.
    codes : ndarray of shape (n_samples,) or None
        Labels or numbers as codes, from ``target.encode``. None if sites load their own labels.
    target : targets.Target
        The classes of the labels, or the levels of the numbers, which are public.
    sample_weight : ndarray of shape (n_samples,) or None
        Weights of the records.
    groups : array-like of shape (n_samples,) or None
        One identifier per record.
    is_other : ndarray of shape (n_samples,), bool, or None
        Whether the label of a record is none of the classes that were found. Such a record counts
        nowhere, and its code is 0. None if the classes are declared.
    at_sites : sites.SiteRecords or None
        Records that stay at their sites and vote there; None if the records are here.
    """

    X: Any
    codes: np.ndarray | None
    target: Target
    sample_weight: np.ndarray | None = None
    groups: Any = None
    is_other: np.ndarray | None = None
    at_sites: SiteRecords | None = None

    @property
    def vote_weight(self) -> np.ndarray | None:
        """Weights of the records where they vote or are counted; None if all are 1."""
        if self.is_other is None:
            return self.sample_weight
        weight = 1.0 if self.sample_weight is None else self.sample_weight
        return np.where(self.is_other, 0.0, weight)

    @property
    def has_groups(self) -> bool:
        """Whether the records have groups."""
        return self.groups is not None if self.at_sites is None else self.at_sites.has_groups

    @property
    def is_weighted(self) -> bool:
        """Whether some records may count less than others, or nowhere."""
        if self.at_sites is None:
            return self.vote_weight is not None
        return self.at_sites.has_weight or self.at_sites.has_others

    @property
    def n_records(self) -> int:
        """Number of records; raises a TypeError with `Sites`, where it is unknown."""
        if self.at_sites is not None:
            return self.at_sites.n_records
        if self.codes is None:
            raise TypeError("the number of records is unknown: each site loads its own")
        return len(self.codes)

    @property
    def classes(self) -> np.ndarray:
        """Sorted public labels or levels, of shape (n_classes,)."""
        return self.target.values
