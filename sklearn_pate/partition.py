"""Which teacher gets which record, decided without looking at labels or feature values.

A partition is an object with a string `adjacency`, the change of the private data that reaches one
teacher at most, and a method ``assign(n_records, n_teachers, *, index, groups, seed)`` that returns
the teacher's number of every record. `index` is the index of a DataFrame (else None), `groups` an
array of one identifier per record (else None), `seed` a `numpy.random.SeedSequence`.
"""

import datetime
import hashlib
import re
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
import pandas as pd

from .isolation import kind_of, known_name

__all__ = [
    "Assignment",
    "GroupPartition",
    "HashPartition",
    "PredefinedPartition",
    "RandomPartition",
    "assign_teachers",
    "identifiers",
    "keyed_digests",
]


class RandomPartition:
    """Near-equal parts by a seeded permutation of positions.

    Replacing one record by any other changes one teacher. The number of records is public: adding
    or removing a record would move all the others.
    """

    adjacency = "replace one record"

    def assign(self, n_records, n_teachers, *, index=None, groups=None, seed=None):
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

    adjacency = "add or remove one record, or change it under the same identifier"

    def assign(self, n_records, n_teachers, *, index=None, groups=None, seed=None):
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

    adjacency = "add or remove one group, or change its records under the same identifier"

    def assign(self, n_records, n_teachers, *, index=None, groups=None, seed=None):
        """Return the teacher of each record, an int array of shape (n_records,)."""
        if groups is None:
            raise ValueError("GroupPartition needs groups=, one identifier per record; got None")
        return _keyed_hash(groups, n_teachers, seed, "groups")


class PredefinedPartition:
    """Each distinct value of `groups` is one teacher: one hospital, one teacher.

    Any change of the records of one group changes one teacher. The set of group names is public
    and fixed, so a group must not vanish; `n_teachers` is ignored.
    """

    adjacency = "add, remove or change records of one named group; the set of names is public"

    def assign(self, n_records, n_teachers, *, index=None, groups=None, seed=None):
        """Return the teacher of each record, an int array of shape (n_records,)."""
        if groups is None:
            raise ValueError(
                'partition="predefined" needs groups=, one name per record that says which '
                "teacher it belongs to"
            )
        names = identifiers(groups, "groups")
        return np.unique(names, return_inverse=True)[1]


PARTITIONS = {
    "random": RandomPartition,
    "hash": HashPartition,
    "predefined": PredefinedPartition,
}


class Assignment(NamedTuple):
    """The teacher of each record, and what that partition protects."""

    teacher: np.ndarray
    n_teachers: int
    unit: str
    adjacency: str


def assign_teachers(partition, n_records, n_teachers, *, unit, index=None, groups=None, seed=None):
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
        What the guarantee protects.
    index : pandas.Index of shape (n_records,), default=None
        Identifiers of the records, for "hash".
    groups : array-like of shape (n_records,), default=None
        Identifiers of groups.
    seed : numpy.random.SeedSequence, default=None
        Source of the permutation or of the hash key; None draws from the operating system.

    Returns
    -------
    Assignment
        `teacher` of shape (n_records,), `n_teachers`, `unit` and `adjacency`.

    Raises
    ------
    ValueError
        If the partition lacks what it needs, or there are more teachers than records where the
        number of records is public.

    Examples
    --------
    >>> from sklearn_pate.partition import assign_teachers
    >>> assignment = assign_teachers("random", 6, 3, unit="record")
    >>> sorted(assignment.teacher.tolist())
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
        if partition not in PARTITIONS:
            raise ValueError(
                f"partition must be one of {sorted(PARTITIONS)} or an object; got {partition!r}"
            )
        by_group = groups is not None and partition != "predefined"
        partition = GroupPartition() if by_group else PARTITIONS[partition]()
        unit = "group" if by_group else unit
    seed = np.random.SeedSequence() if seed is None else seed
    if isinstance(partition, type) or not isinstance(getattr(partition, "adjacency", None), str):
        raise ValueError(
            "partition must be an object (no class) with a string adjacency, the change of the "
            f"data that reaches one teacher at most; got {partition!r}"
        )
    given = {"index": index, "groups": groups, "seed": seed}
    if type(partition).__module__ == __name__:  # ours: their messages quote nothing
        teacher = partition.assign(n_records, n_teachers, **given)
    else:
        teacher = _assigned(partition, n_records, n_teachers, given)
    if isinstance(partition, PredefinedPartition):
        n_teachers = int(teacher.max()) + 1
    if teacher.shape != (n_records,) or teacher.dtype.kind not in "iu":
        raise ValueError(
            f"partition.assign must return {n_records} whole numbers, one per record; "
            f"got shape {teacher.shape} and {kind_of(teacher.dtype)}"
        )
    if ((teacher < 0) | (teacher >= n_teachers)).any():
        raise ValueError(f"partition.assign must return numbers from 0 to {n_teachers - 1}")
    if (
        unit == "group"
        and pd.DataFrame({"g": groups, "t": teacher}).drop_duplicates()["g"].duplicated().any()
    ):
        raise ValueError(
            'unit="group" needs all records of a group with one teacher, and this partition '
            'splits groups; use partition="random" or "hash", which deal whole groups'
        )
    return Assignment(teacher, n_teachers, unit, partition.adjacency)


def _assigned(partition, n_records, n_teachers, given):
    """Ask a partition of the user's; its errors may quote identifiers."""
    try:
        return np.asarray(partition.assign(n_records, n_teachers, **given))
    except Exception as error:
        failed = known_name(error)
    # Not within `except`, where an error keeps the one that was caught
    raise ValueError(
        f"partition.assign failed with {failed}; its text is withheld, as it may quote identifiers"
    )


def _check_groups(groups, n_records):
    """Return the spelling of each record's group identifier."""
    listed = hasattr(groups, "__len__") and not isinstance(groups, str | dict)
    shape = groups.shape if hasattr(groups, "shape") else (len(groups),) if listed else ()
    if shape != (n_records,):
        raise ValueError(
            f"groups must have one identifier per record, shape ({n_records},); got shape {shape}"
        )
    return identifiers(groups, "groups")


class _NoIdentifier(ValueError):
    """Says what a value is instead, in our words."""


def _text(identifier):
    """One spelling per identifier, whatever type the other identifiers impose on it."""
    if isinstance(identifier, tuple):
        return "\x1f".join(_text(part) for part in identifier)
    if isinstance(identifier, bytes):
        identifier = identifier.decode("utf-8", "surrogateescape")
    if isinstance(identifier, str):
        whole = re.fullmatch(r"([+-]?[0-9]+)(\.0*)?", identifier)
        return str(int(whole[1])) if whole and len(identifier) < 1000 else identifier
    if pd.isna(identifier):
        raise _NoIdentifier("a missing value")
    if isinstance(identifier, Integral | np.bool_):
        return str(int(identifier))
    if isinstance(identifier, Real):
        # a float that is no exact whole number would be spelled by the precision of its array
        if not abs(identifier) <= 2**53 or identifier != int(identifier):
            raise _NoIdentifier("a number that is not whole")
        return str(int(identifier))
    if isinstance(identifier, datetime.date | np.datetime64):
        return pd.Timestamp(identifier).isoformat()
    if isinstance(identifier, datetime.timedelta | np.timedelta64):
        return pd.Timedelta(identifier).isoformat()
    if isinstance(identifier, pd.Interval):
        return "\x1f".join([_text(identifier.left), _text(identifier.right), identifier.closed])
    return str(identifier)


def identifiers(values, name):
    """Return the spelling of every identifier, an array of str.

    Parameters
    ----------
    values : array-like of shape (n_records,)
        Text, whole numbers or dates.
    name : str
        What to call them in an error.

    Returns
    -------
    ndarray of shape (n_records,), object
        Equal for equal identifiers, whatever their type.
    """
    if isinstance(values, list | tuple):  # each keeps its own type
        values = pd.Series(list(values), dtype=object)
    problem = "values that cannot be compared"
    try:
        codes, distinct = pd.factorize(values, use_na_sentinel=False)
        spelled = [_text(value) for value in distinct]
    except _NoIdentifier as error:
        problem = error.args[0]
    except Exception:  # its text may quote identifiers, and so may an error raised in here
        pass
    else:
        return np.array(spelled, dtype=object)[codes]
    raise ValueError(
        f"{name} has {problem}; every record needs an identifier that is text, a whole number or "
        "a date"
    )


def _keyed_hash(values, n_teachers, seed, name):
    """Teacher of each identifier: no identifier affects another's."""
    codes, distinct = pd.factorize(identifiers(values, name))
    teachers = (keyed_digests(distinct, seed) % np.uint64(n_teachers)).astype(np.int64)
    return teachers[codes]


def keyed_digests(texts, seed):
    """Hash each text by BLAKE2b, under a key that follows from the seed.

    Parameters
    ----------
    texts : array-like of shape (n_texts,), str
        Spelled identifiers.
    seed : numpy.random.SeedSequence
        What the key follows from.

    Returns
    -------
    ndarray of shape (n_texts,), uint64
        Of each text by itself.
    """
    key = seed.generate_state(8, np.uint32).tobytes()
    digests = (
        hashlib.blake2b(text.encode("utf-8", "surrogatepass"), key=key, digest_size=8).digest()
        for text in texts
    )
    return np.array([int.from_bytes(digest, "little") for digest in digests], dtype=np.uint64)
