"""Private data of one fit: no repr shows them, no pickle holds them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ..encoding.targets import Target


class Private:
    """Base class: what is private. The repr shows nothing of it, and no pickle holds it."""

    def __repr__(self):
        return f"{type(self).__name__}(private)"

    def __reduce__(self):
        raise TypeError(f"{type(self).__name__} is private: it cannot be pickled or copied")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PrivateData(Private):
    """The private data of one fit, after all checks.

    Its repr shows nothing of them, and it cannot be pickled.

    Attributes
    ----------
    X : array-like, sparse matrix or DataFrame with n_samples rows, or teachers.Sites
        Features, as they were given.
    codes : ndarray of shape (n_samples,) or None
        Labels or numbers as codes, from ``target.encode``. None with `Sites`, which load their own.
    target : targets.Target
        The classes of the labels, or the levels of the numbers. It is public.
    sample_weight : ndarray of shape (n_samples,) or None
        Weights of the records.
    groups : array-like of shape (n_samples,) or None
        One identifier per record.
    """

    X: Any
    codes: np.ndarray | None
    target: Target
    sample_weight: np.ndarray | None = None
    groups: Any = None

    @property
    def classes(self) -> np.ndarray:
        """Sorted labels, or levels, (n_classes,). They are public."""
        return self.target.values
