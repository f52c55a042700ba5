"""Private votes on public rows."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ..encoding.targets import ClassTarget, Target
from ..rdp import NeighboringRelation, Neighbors
from ..runtime.private_data import Private


@dataclass(frozen=True, eq=False, repr=False)
class Votes(Private):
    """Private votes on public rows. The repr does not show them, and they cannot be pickled.

    Attributes
    ----------
    counts : ndarray of shape (n_rows, n_classes), int
        Vote counts. With a `temperature`, sums of probabilities, as floats. For a `TableMethod`,
        the table, for instance with one row for each cell.
    target : targets.Target
        Classes of the labels, or levels of the numbers: the columns of votes.
    neighbors : rdp.Neighbors
        The neighboring data sets. Their counts differ by at most one vote in each row or, for a
        `TableMethod`, by its `contribution`.
    n_teachers : int or None
        Number of votes in each row; None for a table.
    temperature : float or None
        Temperature of the teachers' probabilities; None for votes.
    teacher_indices : ndarray of shape (n_samples,), int, or None
        The teacher of each private record, if known.
    teachers : list or None
        Fitted teachers, if kept.
    method : Method or None
        The prepared method that returned the table; None if teachers voted.
    n_public : int or None
        Number of public rows, if `method` is not None. Otherwise it is the number of rows of
        `counts`.
    synthesis : releases.synthetic_rows.Synthesis or None
        Source of the synthetic rows, and their cost; None if the user gave public rows.
    not_covered : tuple of str
        Entries for `PrivacySpent.not_covered` in `fit_votes`.
    errors : tuple of str
        Reasons why no publishable model can be trained.
    """

    counts: np.ndarray
    target: Target
    neighbors: Neighbors
    _: KW_ONLY
    n_teachers: int | None = None
    temperature: float | None = None
    teacher_indices: np.ndarray | None = None
    teachers: list[Any] | None = None
    method: Any = None
    n_public: int | None = None
    synthesis: Any = None
    not_covered: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()

    @property
    def classes(self) -> np.ndarray:
        """Sorted labels, or levels, of shape (n_classes,)."""
        return self.target.values

    @classmethod
    def of_teachers(cls, counts: np.ndarray, classes: ArrayLike | None = None) -> Self:
        """Convert counts of teachers' votes to `Votes` that protect one teacher as a unit.

        `classes` are the sorted labels of the columns. None is 0, ..., n_classes - 1.
        """
        classes = np.arange(counts.shape[1]) if classes is None else np.asarray(classes)
        if len(classes) != counts.shape[1] or not np.array_equal(np.unique(classes), classes):
            raise ValueError(
                "votes must have one column for each class, in sorted order; got "
                f"{counts.shape[1]} columns and the classes {classes.tolist()}. Sort classes, and "
                "order the columns of votes like them"
            )
        neighbors = Neighbors(relation=NeighboringRelation.REPLACE_ONE, unit="teacher")
        n_teachers = int(counts[0].sum())
        return cls(counts, ClassTarget(classes), neighbors, n_teachers=n_teachers)
