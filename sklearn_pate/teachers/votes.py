"""The votes of all teachers: private."""

from dataclasses import KW_ONLY, dataclass

import numpy as np

from ..adjacency import Adjacency

__all__ = ["Votes"]


@dataclass(frozen=True, eq=False)
class Votes:
    """Votes of all teachers on public rows: private, so it has no repr and cannot be pickled.

    Attributes
    ----------
    counts : ndarray of shape (n_rows, n_classes), int
        Vote counts; with `temperature`, float sums of probabilities.
    classes : ndarray of shape (n_classes,)
        Sorted labels.
    n_teachers : int
        Number of teachers.
    unit, adjacency : str
        What changes one teacher; as in `PrivacySpent`.
    temperature : float or None
        Of the teachers' probabilities; None for votes.
    teacher_indices : ndarray of shape (n_samples,), int, or None
        The teacher of each private record, if known.
    teachers : list or None
        Fitted teachers, if kept.
    """

    counts: np.ndarray
    classes: np.ndarray
    _: KW_ONLY
    n_teachers: int
    unit: str
    adjacency: str
    temperature: float | None = None
    teacher_indices: np.ndarray | None = None
    teachers: list | None = None

    @classmethod
    def of_teachers(cls, counts, classes=None):
        """Bare counts, of which one teacher may change; `classes` default to 0..n_classes-1."""
        given = np.arange(counts.shape[1]) if classes is None else np.asarray(classes)
        classes = np.unique(given)
        if not np.array_equal(classes, given):
            raise ValueError(
                "the columns of votes are the sorted classes: give classes in that order, and "
                f"without repetition; got classes={given.tolist()}"
            )
        if len(classes) != counts.shape[1]:
            raise ValueError(
                f"votes has {counts.shape[1]} columns, and there are {len(classes)} classes"
            )
        return cls(
            counts,
            classes,
            n_teachers=int(counts[0].sum()),
            unit="teacher",
            adjacency=Adjacency.CHANGE_TEACHER,
        )

    def __repr__(self):
        return "Votes(private)"

    def __reduce__(self):
        raise TypeError("votes are private: they cannot be pickled or copied")
