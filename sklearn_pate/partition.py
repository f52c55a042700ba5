"""Which teacher gets which record, decided without looking at labels or feature values.

A partition is an object with a string `adjacency`, the change of the private data that reaches one
teacher at most, and a method ``assign(*, n_records, n_teachers, index, groups, seed)`` that returns
the teacher's number of every record. `index` is the index of a DataFrame (else None), `groups` an
array of one identifier per record (else None), `seed` a `numpy.random.SeedSequence`.
"""

import inspect
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from .adjacency import Adjacency
from .identifiers import (
    factorize_identifiers,
    factorize_texts,
    identifiers,
    keyed_digests,
    spelled_names,
)
from .isolation import attempt, kind_of

__all__ = [
    "Assignment",
    "GroupPartition",
    "HashPartition",
    "PredefinedPartition",
    "RandomPartition",
    "assign_teachers",
]


class RandomPartition:
    """Near-equal parts by a seeded permutation of positions.

    Replacing one record by any other changes one teacher. The number of records is public: adding
    or removing a record would move all the others.
    """

    adjacency = Adjacency.REPLACE_RECORD

    def assign(self, *, n_records, n_teachers, index=None, groups=None, seed=None):
        """Return the teacher of each record, an int array of shape (n_records,)."""
        if n_teachers > n_records:
            raise ValueError(
                f"n_teachers={n_teachers} is more than the private records, "
                f"n_samples={n_records}; use fewer teachers"
            )
        return np.random.default_rng(seed).permutation(n_records) % n_teachers


class HashPartition:
    """A keyed hash of each record's identifier, the DataFrame's index.

    Rows that share an identifier are one record and go to the same teacher.
    Adding or removing a record, or changing it under the same identifier, changes one teacher.
    Replacing it by a record with another identifier is a removal and an addition: two teachers.
    """

    adjacency = Adjacency.ADD_OR_REMOVE_RECORD

    def assign(self, *, n_records, n_teachers, index=None, groups=None, seed=None):
        """Return the teacher of each record, an int array of shape (n_records,)."""
        if index is None:
            raise ValueError(
                'partition="hash" hashes the index of a DataFrame, and X has none; '
                'pass a DataFrame whose index identifies the records, or use partition="random"'
            )
        if isinstance(index, pd.RangeIndex):
            raise ValueError(
                'partition="hash" needs identifiers, and the index of X is a RangeIndex: positions '
                "shift when a record is removed. Set the index to a column that identifies the "
                'records (X.set_index(...)), or use partition="random"'
            )
        return _keyed_hash(index, n_teachers, seed, "the index of X")


class GroupPartition:
    """A keyed hash of each group's identifier: all records of a group go to one teacher.

    Adding or removing a group, or changing its records, changes one teacher. Identifiers are
    hashed, never ranked, because a rank shifts when another group leaves.
    """

    adjacency = Adjacency.ADD_OR_REMOVE_GROUP

    def assign(self, *, n_records, n_teachers, index=None, groups=None, seed=None):
        """Return the teacher of each record, an int array of shape (n_records,)."""
        if groups is None:
            raise ValueError("GroupPartition needs groups=, one identifier per record; got None")
        return _keyed_hash(groups, n_teachers, seed, "groups")


@dataclass(frozen=True)
class PredefinedPartition:
    """Each name in `groups` is one teacher: one hospital, one teacher.

    Parameters
    ----------
    names : sequence, default=None
        The names of all teachers, in their order: public, so never read them from the records. A
        name without records has a teacher too, which votes for a fixed class; a record of a name
        that is not here is refused. None reads the names from `groups`, in sorted order. Then no
        name may appear or vanish: which names there are is not covered.

    Attributes
    ----------
    names : tuple of str or None
        As `identifiers` spells them.
    adjacency : str
        With names, any change of the records of one name, even of all of them; without, only one
        that leaves it at least one record.

    Raises
    ------
    ValueError
        If `names` is no sequence of at least one name, or two are spelled alike.

    Notes
    -----
    The number of teachers is that of names: `n_teachers` is ignored. A teacher's seed follows from
    its name, its place in a list of classifiers and its vote without records from the position of
    the name. So a name that is put at the end leaves all other teachers as they are.

    Examples
    --------
    >>> from sklearn_pate.partition import PredefinedPartition
    >>> PredefinedPartition(names=["north", "south"]).adjacency
    'add, remove or change records of one named group, even all; the names are public'
    >>> PredefinedPartition().adjacency
    'add, remove or change records of one named group, which keeps at least one; no name joins'
    """

    names: Sequence | None = None

    def __post_init__(self):
        if self.names is not None:
            object.__setattr__(self, "names", tuple(spelled_names(self.names)))

    @property
    def adjacency(self):
        """The change of the data that reaches one teacher at most."""
        if self.names is None:
            return Adjacency.CHANGE_NAMED_GROUP_NEVER_EMPTY
        return Adjacency.CHANGE_NAMED_GROUP

    def teachers(self, groups):
        """Return the name of each teacher, a tuple of str."""
        if groups is None:
            raise ValueError(
                'partition="predefined" needs groups=, one name per record that says which '
                "teacher it belongs to"
            )
        if self.names is not None:
            return self.names
        return tuple(np.unique(identifiers(groups, "groups")).tolist())

    def assign(self, *, n_records, n_teachers, index=None, groups=None, seed=None):
        """Return the teacher of each record, an int array of shape (n_records,)."""
        names = pd.Index(self.teachers(groups), dtype=object)
        teacher = names.get_indexer(pd.Index(identifiers(groups, "groups"), dtype=object))
        if (teacher < 0).any():
            raise ValueError(
                f"groups has a name that is not among the {len(names)} names of "
                "PredefinedPartition; give it all names that may occur"
            )
        return teacher


_PARTITIONS = {
    "random": RandomPartition,
    "hash": HashPartition,
    "predefined": PredefinedPartition,
}


class Assignment(NamedTuple):
    """The teacher of each record, and what that partition protects."""

    teacher_indices: np.ndarray
    n_teachers: int
    unit: str
    adjacency: str
    names: tuple | None = None


def assign_teachers(partition, *, n_records, n_teachers, unit, index=None, groups=None, seed=None):
    """Split the records over the teachers and say what the split protects.

    Parameters
    ----------
    partition : {"random", "hash", "predefined"} or object
        How to split. With `groups`, "random" and "hash" give way to the keyed hash of the group.
    n_records : int
        Number of private records.
    n_teachers : int
        Number of parts; ignored by "predefined".
    unit : {"record", "group"}
        What the guarantee protects. With `groups` that the partition uses it is "group".
    index : pandas.Index of shape (n_records,), default=None
        Identifiers of the records, for "hash".
    groups : array-like of shape (n_records,), default=None
        Identifiers of groups.
    seed : numpy.random.SeedSequence, default=None
        Source of the permutation or of the hash key; None draws from the operating system.

    Returns
    -------
    Assignment
        `teacher_indices` of shape (n_records,), `n_teachers`, `unit`, `adjacency` and, where each
        teacher has a name, a public one, `names`.

    Raises
    ------
    ValueError
        If the partition lacks what it needs, or there are more teachers than records where the
        number of records is public.

    Examples
    --------
    >>> from sklearn_pate.partition import assign_teachers
    >>> assignment = assign_teachers("random", n_records=6, n_teachers=3, unit="record")
    >>> sorted(assignment.teacher_indices.tolist())
    [0, 0, 1, 1, 2, 2]
    >>> assignment.adjacency
    'replace one record'
    """
    if unit == "group" and groups is None:
        raise ValueError(
            'unit="group" protects whole groups and needs groups=, one identifier per record; '
            "got None. Searches and cross-validation drop groups unless metadata routing is on"
        )
    if groups is not None:
        groups = _check_groups(groups, n_records)
    if isinstance(partition, str):
        if partition not in _PARTITIONS:
            raise ValueError(
                f"partition must be one of {sorted(_PARTITIONS)} or an object; got {partition!r}"
            )
        by_group = groups is not None and partition != "predefined"
        partition = GroupPartition() if by_group else _PARTITIONS[partition]()
    if isinstance(partition, GroupPartition | PredefinedPartition):
        unit = "group"
    seed = np.random.SeedSequence() if seed is None else seed
    if isinstance(partition, type) or not isinstance(getattr(partition, "adjacency", None), str):
        raise ValueError(
            "partition must be an object (no class) with a string adjacency, the change of the "
            f"data that reaches one teacher at most; got {partition!r}"
        )
    given = {
        "n_records": n_records,
        "n_teachers": n_teachers,
        "index": index,
        "groups": groups,
        "seed": seed,
    }
    if type(partition).__module__ == __name__:  # ours: their messages quote nothing
        teacher = partition.assign(**given)
    else:
        teacher = _assigned(partition, given)
    names = None
    if isinstance(partition, PredefinedPartition):
        names = partition.teachers(groups)
        n_teachers = len(names)
    if teacher.shape != (n_records,) or teacher.dtype.kind not in "iu":
        raise ValueError(
            f"partition.assign must return {n_records} whole numbers, one per record; "
            f"got shape {teacher.shape} and {kind_of(teacher.dtype)}"
        )
    if ((teacher < 0) | (teacher >= n_teachers)).any():
        raise ValueError(f"partition.assign must return numbers from 0 to {n_teachers - 1}")
    if unit == "group":
        number, _ = factorize_texts(groups)
        pairs = pd.DataFrame({"g": number, "t": teacher})
        if pairs.drop_duplicates()["g"].duplicated().any():
            raise ValueError(
                'unit="group" needs all records of a group with one teacher, and this partition '
                'splits groups; use partition="random" or "hash", which deal whole groups'
            )
    return Assignment(teacher, n_teachers, unit, partition.adjacency, names)


#: What an `assign` of the user's must accept.
_SIGNATURE = "assign(self, *, n_records, n_teachers, index=None, groups=None, seed=None)"


def _assigned(partition, given):
    """Ask a partition of the user's; its errors may quote identifiers."""
    try:
        inspect.signature(partition.assign).bind(**given)
    except (TypeError, ValueError):
        fits = False
    else:
        fits = True
    if not fits:
        raise TypeError(f"partition.assign does not take what it is given; it must be {_SIGNATURE}")
    teacher, failed = attempt(lambda: np.asarray(partition.assign(**given)))
    if failed is None:
        return teacher
    raise ValueError(
        f"partition.assign failed with {failed}; its text is withheld, as it may quote "
        f"identifiers. To read it, call {_SIGNATURE} yourself"
    )


def _check_groups(groups, n_records):
    """Return the spelling of each record's group identifier."""
    # sets have no order, so records would get strangers' groups
    listed = hasattr(groups, "__len__") and not isinstance(groups, str | bytes | Set | Mapping)
    shape = (len(groups),) if listed else ()
    shape = getattr(groups, "shape", shape)
    if shape != (n_records,):
        raise ValueError(
            f"groups must have one identifier per record, shape ({n_records},); got shape {shape}"
        )
    return identifiers(groups, "groups")


def _keyed_hash(values, n_teachers, seed, name):
    """Teacher of each identifier: no identifier affects another's."""
    codes, spelled = factorize_identifiers(values, name)
    teachers = (keyed_digests(spelled, seed) % np.uint64(n_teachers)).astype(np.int64)
    return teachers[codes]
