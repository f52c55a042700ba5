"""Votes on public rows, as they are gathered: private."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ..encoding.targets import ClassTarget, Target
from ..rdp import NeighboringRelation, Neighbors
from ..runtime.private_data import Private


@dataclass(frozen=True, eq=False, repr=False)
class Votes(Private):
    """Votes on public rows. They are private: the repr does not show them, no pickle holds them.

    Attributes
    ----------
    counts : ndarray of shape (n_rows, n_classes), int
        Vote counts. With a `temperature`, sums of probabilities, as floats. Of a
        `TableMethod`, the table of votes, with a row for each cell.
    target : targets.Target
        The values that votes are for.
    neighbors : rdp.Neighbors
        The neighboring data sets whose counts differ by at most one vote in each row, or by the
        contribution that `method` states.
    n_teachers : int or None
        Number of votes in each row; None for a table.
    temperature : float or None
        Temperature of the teachers' probabilities; None for votes.
    teacher_indices : ndarray of shape (n_samples,), int, or None
        The teacher of each private record, if known.
    teachers : list or None
        Fitted teachers, if kept.
    method : TableMethod or None
        Who reads the table, if `counts` is one: it knows the cells.
    n_public : int or None
        Number of public rows, if `counts` is a table; else each has a row of counts.
    synthesis : releases.synthetic_rows.Synthesis or None
        Source of the public rows, if they were drawn, and their cost.
    not_covered : tuple of str
        For `PrivacySpent.not_covered` of a fit to them.
    errors : tuple of str
        Why nothing that may be published can be learnt from them.
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
        """Sorted labels, or levels, (n_classes,): the columns of votes."""
        return self.target.values

    @classmethod
    def of_teachers(cls, counts: np.ndarray, classes: ArrayLike | None = None) -> Self:
        """Return votes of bare counts, whose protected unit is one teacher.

        `classes` defaults to 0..n_classes-1.
        """
        classes = np.arange(counts.shape[1]) if classes is None else np.asarray(classes)
        if len(classes) != counts.shape[1] or not np.array_equal(np.unique(classes), classes):
            raise ValueError(
                "votes needs a column for each of the sorted classes, in that order; got "
                f"{counts.shape[1]} columns and the classes {classes.tolist()}"
            )
        neighbors = Neighbors(relation=NeighboringRelation.REPLACE_ONE, unit="teacher")
        n_teachers = int(counts[0].sum())
        return cls(counts, ClassTarget(classes), neighbors, n_teachers=n_teachers)
