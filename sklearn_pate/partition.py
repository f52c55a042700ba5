"""Partitions, which assign records to teachers without using labels or feature values.

A partition is an object with a `relation` and a method `assign`. The relation is an
`rdp.NeighboringRelation`, or a str that describes it. Data sets with this relation differ in one
unit, and this difference must change the records of at most one teacher.

``assign(*, n_records, n_teachers, index, groups, seed)`` returns the number of each record's
teacher. `index` is the index of a DataFrame or None, `groups` is an array with one identifier per
record or None, and `seed` is a `numpy.random.SeedSequence`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from .identifiers import (
    keyed_digests,
    normalize_groups,
    normalize_identifiers,
    normalize_names,
)
from .rdp import NeighboringRelation
from .runtime.isolation import kind_of, redacted

__all__ = [
    "Assignment",
    "GroupPartition",
    "HashPartition",
    "PredefinedPartition",
    "RandomPartition",
    "assign_teachers",
]


class RandomPartition:
    """Assign nearly equal numbers of records to teachers, by a seeded permutation.

    Replacing one record by any other changes one teacher. The number of records is public: adding
    or removing a record would reassign all the others.
    """

    relation = NeighboringRelation.REPLACE_ONE

    def assign(
        self,
        *,
        n_records: int,
        n_teachers: int,
        index: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        seed: np.random.SeedSequence | None = None,
    ) -> np.ndarray:
        """Return the teacher of each record, an int array of shape (n_records,)."""
        if n_teachers > n_records:
            raise ValueError(
                f"n_teachers={n_teachers} is more than n_samples={n_records}; use fewer teachers"
            )
        return np.random.default_rng(seed).permutation(n_records) % n_teachers


class HashPartition:
    """Assign each record by a keyed hash of its identifier in the DataFrame's index.

    Rows with the same identifier are one record, and are assigned to the same teacher. Adding or
    removing a record, or changing a record but not its identifier, changes one teacher. Replacing a
    record by one with another identifier is a removal and an addition, and may change two teachers.
    """

    relation = NeighboringRelation.ADD_REMOVE_OR_CHANGE_ONE

    def assign(
        self,
        *,
        n_records: int,
        n_teachers: int,
        index: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        seed: np.random.SeedSequence | None = None,
    ) -> np.ndarray:
        """Return the teacher of each record, an int array of shape (n_records,)."""
        if index is None or isinstance(index, pd.RangeIndex):
            found = "X has none" if index is None else "the index of X is a RangeIndex"
            raise ValueError(
                f'partition="hash" hashes the index of a DataFrame: {found}. Set the index to a '
                'column that identifies the records, X.set_index(...), or use partition="random"'
            )
        return _keyed_hash(index, n_teachers, seed, "the index of X")


class GroupPartition:
    """Assign each group, with all of its records, by a keyed hash of its identifier.

    Adding or removing a group, or changing its records, changes one teacher. Identifiers are hashed
    and not ranked, because the rank of an identifier changes if another group is removed.
    """

    relation = NeighboringRelation.ADD_REMOVE_OR_CHANGE_ONE

    def assign(
        self,
        *,
        n_records: int,
        n_teachers: int,
        index: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        seed: np.random.SeedSequence | None = None,
    ) -> np.ndarray:
        """Return the teacher of each record, an int array of shape (n_records,)."""
        if groups is None:
            raise ValueError(
                "GroupPartition requires the argument groups: one identifier per record"
            )
        return _keyed_hash(groups, n_teachers, seed, "groups")


@dataclass(frozen=True)
class PredefinedPartition:
    """Assign one teacher to each name in `groups`, for example to each hospital.

    Parameters
    ----------
    names : sequence, default=None
        The names of all teachers, in their order. They are public, so never read them from the
        records. A name without records also has a teacher, with a fixed vote. A record with a name
        that is not listed raises an error. If None, the names are read from `groups`, in sorted
        order. The guarantee then does not cover changes that add or remove a name.

    Attributes
    ----------
    names : tuple of str or None
        Names as normalized text; None if they are read from `groups`.
    relation : NeighboringRelation
        With `names`, any change of the records of one name, even of all of them. Without `names`,
        any change of the records of one name after which the name has at least one record.

    Raises
    ------
    ValueError
        If `names` is not a sequence of at least one name, or two have the same normalized text.

    Notes
    -----
    Each name has one teacher, and `n_teachers` is ignored. The seed of a teacher depends on its
    name. If `base_estimator` is a list, the classifier of a teacher depends on the position of the
    name, and so does the vote of a teacher without records. Therefore, a name that is added at the
    end does not change the other teachers.

    Examples
    --------
    >>> from sklearn_pate.partition import PredefinedPartition
    >>> PredefinedPartition(names=["north", "south"]).relation
    <NeighboringRelation.CHANGE_ONE_NAMED: 'change_one_named'>
    >>> PredefinedPartition().relation
    <NeighboringRelation.CHANGE_ONE_NAMED_NONEMPTY: 'change_one_named_nonempty'>
    """

    names: Sequence[Any] | None = None

    def __post_init__(self) -> None:
        if self.names is not None:
            object.__setattr__(self, "names", tuple(normalize_names(self.names)))

    @property
    def relation(self) -> NeighboringRelation:
        """Neighboring relation under which at most one teacher changes."""
        if self.names is None:
            return NeighboringRelation.CHANGE_ONE_NAMED_NONEMPTY
        return NeighboringRelation.CHANGE_ONE_NAMED

    def teachers(self, groups: ArrayLike | None) -> tuple[str, ...]:
        """Return the name of each teacher, a tuple of str."""
        if groups is None:
            raise ValueError(
                'partition="predefined" requires the argument groups: the name of the teacher of '
                "each record"
            )
        if self.names is not None:
            return tuple(self.names)
        return tuple(np.unique(normalize_identifiers(groups, "groups")).tolist())

    def assign(
        self,
        *,
        n_records: int,
        n_teachers: int,
        index: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        seed: np.random.SeedSequence | None = None,
    ) -> np.ndarray:
        """Return the teacher of each record, an int array of shape (n_records,)."""
        names = pd.Index(self.teachers(groups), dtype=object)
        normalized = pd.Index(normalize_identifiers(groups, "groups"), dtype=object)
        teacher_indices = names.get_indexer(normalized)
        if (teacher_indices < 0).any():
            raise ValueError(
                f"groups has a name that is not among the {len(names)} listed; list all names"
            )
        return teacher_indices


_PARTITIONS = {"random": RandomPartition, "hash": HashPartition, "predefined": PredefinedPartition}


class Assignment(NamedTuple):
    """The teacher of each record, and the unit and relation that the partition protects.

    Attributes
    ----------
    teacher_indices : ndarray of shape (n_records,), int, or None
        The teacher of each record; None if the records are elsewhere, at sites.
    n_teachers : int
        Number of teachers.
    unit : {"record", "group"}
        The protected unit.
    relation : NeighboringRelation or str
        Neighboring relation under which at most one teacher changes.
    names : tuple of str or None
        Public names of the teachers, if they have any.
    """

    teacher_indices: np.ndarray | None
    n_teachers: int
    unit: str
    relation: NeighboringRelation | str
    names: tuple[str, ...] | None = None


def assign_teachers(
    partition: Any,
    *,
    n_records: int,
    n_teachers: int,
    unit: Literal["record", "group"],
    index: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    seed: np.random.SeedSequence | None = None,
) -> Assignment:
    """Assign the records to teachers, and return the assignment with the protected unit.

    Parameters
    ----------
    partition : {"random", "hash", "predefined"} or object
        The partition. With `groups`, "random" and "hash" both use a keyed hash of the group.
    n_records : int
        Number of private records.
    n_teachers : int
        Number of teachers; ignored by "predefined".
    unit : {"record", "group"}
        Unit that the guarantee protects. It is always "group" with `PredefinedPartition`,
        `GroupPartition` and, if `groups` are given, with "random" and "hash". For any other
        partition object it is used as given.
    index : pandas.Index of shape (n_records,), default=None
        Identifiers of the records, for "hash".
    groups : array-like of shape (n_records,), default=None
        Identifiers of groups.
    seed : numpy.random.SeedSequence, default=None
        Source of the permutation or of the hash key; None draws from the operating system.

    Returns
    -------
    Assignment
        The teacher of each record, and the protected unit and relation.

    Raises
    ------
    ValueError
        If the partition is invalid or an input is missing, if it splits a group although the unit
        is "group", or if there are fewer records than teachers with "random".

    Examples
    --------
    >>> from sklearn_pate.partition import assign_teachers
    >>> assignment = assign_teachers("random", n_records=6, n_teachers=3, unit="record")
    >>> sorted(assignment.teacher_indices.tolist())
    [0, 0, 1, 1, 2, 2]
    >>> assignment.relation
    <NeighboringRelation.REPLACE_ONE: 'replace_one'>
    """
    if unit == "group" and groups is None:
        raise ValueError(
            'unit="group" protects whole groups and requires the argument groups: one identifier '
            "per record. Searches drop groups unless metadata routing is on. Pass groups to "
            "cross_validate in params, not as its parameter groups"
        )
    if groups is not None:
        groups = normalize_groups(groups, n_records)
    partition = _partition_object(partition, has_groups=groups is not None)
    if isinstance(partition, GroupPartition | PredefinedPartition):
        unit = "group"
    names = partition.teachers(groups) if isinstance(partition, PredefinedPartition) else None
    n_teachers = int(n_teachers) if names is None else len(names)  # numpy's small ints overflow
    records: dict[str, Any] = {
        "n_records": n_records,
        "n_teachers": n_teachers,
        "index": index,
        "groups": groups,
    }
    records["seed"] = np.random.SeedSequence() if seed is None else seed
    if type(partition).__module__ == __name__:  # messages of this library quote nothing private
        teacher_indices = partition.assign(**records)
    else:
        teacher_indices = redacted(  # its errors may quote identifiers
            lambda: np.asarray(partition.assign(**records)),
            "partition.assign failed with",
            "To read it, call assign(n_records=, n_teachers=, index=, groups=, seed=) yourself",
        )
    _check_teachers(teacher_indices, n_records, n_teachers)
    if unit == "group":
        _check_whole_groups(groups, teacher_indices)
    return Assignment(teacher_indices, n_teachers, unit, partition.relation, names)


def _partition_object(partition: Any, *, has_groups: bool) -> Any:
    """Return the object of a named partition, or a user's object; raise an error for others."""
    if isinstance(partition, str):
        if partition not in _PARTITIONS:
            raise ValueError(
                f"partition must be one of {[*_PARTITIONS]} or an object; got {partition!r}"
            )
        is_hashed = has_groups and partition != "predefined"
        partition = GroupPartition() if is_hashed else _PARTITIONS[partition]()
    if isinstance(partition, type) or not isinstance(getattr(partition, "relation", None), str):
        raise ValueError(
            "partition must be an instance with an attribute relation: an rdp.NeighboringRelation, "
            "or a str that describes a change of the data that changes at most one teacher; got "
            f"{partition!r}"
        )
    return partition


def _check_teachers(teacher_indices: np.ndarray, n_records: int, n_teachers: int) -> None:
    """Raise an error, without any value, unless each record has one of the teachers."""
    are_whole = teacher_indices.shape == (n_records,) and teacher_indices.dtype.kind in "iu"
    if not are_whole or ((teacher_indices < 0) | (teacher_indices >= n_teachers)).any():
        raise ValueError(
            f"partition.assign must return {n_records} whole numbers from 0 to {n_teachers - 1}; "
            f"got other values, shape {teacher_indices.shape} and "
            f"{kind_of(teacher_indices.dtype)}"
        )


def _check_whole_groups(groups: Any, teacher_indices: np.ndarray) -> None:
    """Raise an error if records of a group have different teachers."""
    pairs = set(zip(groups.tolist(), teacher_indices.tolist(), strict=True))
    if len(pairs) > len(set(groups.tolist())):
        raise ValueError(
            'unit="group" requires that all records of a group have the same teacher, but this '
            'partition splits groups; use partition="random" or "hash", which assign whole groups'
        )


def _keyed_hash(values: Any, n_teachers: int, seed: Any, name: str) -> np.ndarray:
    """Return the teacher of each identifier, which does not depend on other identifiers."""
    digests = keyed_digests(normalize_identifiers(values, name), seed)
    return (digests % np.uint64(n_teachers)).astype(np.int64)
