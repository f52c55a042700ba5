"""Which teacher gets which record, decided without looking at labels or feature values.

A partition is an object with a string `adjacency`, the change of the private data that reaches one
teacher at most, and a method ``assign(*, n_records, n_teachers, index, groups, seed)`` that returns
the teacher's number of every record. `index` is the index of a DataFrame (else None), `groups` an
array of one identifier per record (else None), `seed` a `numpy.random.SeedSequence`.
"""

import datetime
import hashlib
import inspect
import re
import uuid
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from decimal import Decimal
from numbers import Integral, Rational, Real
from typing import NamedTuple

import numpy as np
import pandas as pd

from .adjacency import Adjacency
from .isolation import attempt, kind_of

__all__ = [
    "Assignment",
    "GroupPartition",
    "HashPartition",
    "PredefinedPartition",
    "RandomPartition",
    "assign_teachers",
    "identifiers",
    "keyed_digests",
    "spelled_names",
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
        `teacher` of shape (n_records,), `n_teachers`, `unit`, `adjacency` and, where each teacher
        has a name, a public one, `names`.

    Raises
    ------
    ValueError
        If the partition lacks what it needs, or there are more teachers than records where the
        number of records is public.

    Examples
    --------
    >>> from sklearn_pate.partition import assign_teachers
    >>> assignment = assign_teachers("random", n_records=6, n_teachers=3, unit="record")
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
        number, _ = _numbered(groups)
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


class _NoSpelling(ValueError):
    """What an identifier is, if it has no one spelling: a text of ours, which quotes nothing."""


#: A number and a date, with or without a day and a time, as text.
_NUMBER = re.compile(r"([+-]?)(?=\.?[0-9])([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]+))?")
_MOMENT = re.compile(
    r"([0-9]{4})([-/.])([0-9]{1,2})(?:\2([0-9]{1,2})"
    r"(?:(?:T| +)([0-9]{1,2})((?::[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?)?)"
    r" ?((?:Z|[+-][0-9]{2}(?::?[0-9]{2})?)?))?)?"
)
#: What readers of numbers take for padding, and the zeros that numpy's arrays of text drop.
_PADDING = " \t\n\v\f\r\0"
#: Floats at or beyond this bound, and significant digits beyond these, may have been rounded.
_EXACT = 2**53
_DIGITS = 15
_TRUTH = {"true": "1", "false": "0"}
_UNITS = {"W", "D", "h", "m", "s", "ms", "us", "ns"}


def _text(identifier):
    """One spelling per identifier, whatever type the other identifiers impose on it.

    Spelling twice changes nothing. That some different ones are spelled alike is harmless: their
    records go to one teacher.
    """
    if isinstance(identifier, tuple):
        return "\x1f".join(_text(part) for part in identifier)
    if isinstance(identifier, bytes):
        identifier = identifier.decode("utf-8", "surrogateescape")
    if isinstance(identifier, str):
        return _spelled_text(str.__str__(identifier))
    if pd.api.types.is_scalar(identifier) and pd.isna(identifier):
        raise _NoSpelling("a missing value")
    # before whole numbers: numpy's durations count as such
    if isinstance(identifier, datetime.timedelta | np.timedelta64):
        _check_unit(identifier, _UNITS)
        return pd.Timedelta(identifier).isoformat()
    if isinstance(identifier, datetime.date | np.datetime64):
        _check_unit(identifier, _UNITS | {"Y", "M"})
        return _moment(identifier)
    if isinstance(identifier, Real | Decimal | np.bool_):
        return str(_whole(identifier))
    if isinstance(identifier, pd.Interval):
        return "\x1f".join([_text(identifier.left), _text(identifier.right), identifier.closed])
    if isinstance(identifier, pd.Period | uuid.UUID):
        return _text(str(identifier))
    # The text of any other object may be its address, or depend on more than its value
    raise _NoSpelling("values that cannot be compared")


def _spelled_text(text):
    """Spell text as what it says: one malformed value makes text of a whole column."""
    text = text.strip(_PADDING)
    number = _NUMBER.fullmatch(text)
    if number:
        return _spelled_number(text, *number.groups())
    moment = _MOMENT.fullmatch(text)
    if moment:
        year, _, month, day, hour, rest, zone = moment.groups()
        date = f"{year}-{month:0>2}-{day or '01':0>2}"
        try:
            return _moment(date if hour is None else f"{date}T{hour:0>2}{rest or ':00'}{zone}")
        except ValueError:  # such as 30 February
            return text
    return _TRUTH.get(text.lower(), text)


def _spelled_number(text, sign, whole, fraction, exponent):
    """Spell text that says a number; with a point or an exponent, a column makes floats of it."""
    # by its digits: an int may not have many, nor a Decimal a large exponent
    mantissa = (whole + (fraction or "")).lstrip("0")
    digits = mantissa.rstrip("0")
    if not digits:
        return "0"
    minus = "-" if sign == "-" else ""
    if fraction is None and exponent is None:
        return minus + mantissa
    zeros = int(exponent or 0) - len(fraction or "") + len(mantissa) - len(digits)
    length = zeros + len(digits)  # of what is before the point
    if zeros >= 0 and length <= 16 and int(digits + "0" * zeros) < _EXACT:
        number = digits + "0" * zeros
        if exponent is not None:
            _check_print(text, int(minus + number))
        return minus + number
    if zeros >= 0 and text.isalnum():  # hexadecimal digits, or so large that no float is accepted
        return text
    shown = digits[length:_DIGITS] if length > 0 else "0" * min(-length, _DIGITS) + digits
    if not shown[:_DIGITS].strip("0") or not shown[:_DIGITS].strip("9"):
        raise _NoSpelling("text of a number that reading it would round")
    return text


def _check_print(text, number):
    """Refuse a number that numpy rounded when it made text of short floats."""
    for kind in (np.float16, np.float32):
        with np.errstate(over="ignore"):
            short = kind(number)
        if float(short) != number and str(short) == text:
            raise _NoSpelling("text of a float that is too large to be exact")


def _moment(identifier):
    """A date and time; those with a time zone are instants, in UTC.

    A date is spelled as the whole number that its compact text, such as 20200105, may be.
    """
    stamp = pd.Timestamp(identifier)
    text = (stamp if stamp.tz is None else stamp.tz_convert("UTC")).isoformat()
    if re.fullmatch(r"[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}T00:00:00", text):
        return text[:10].replace("-", "")
    return text


def _check_unit(identifier, units):
    if hasattr(identifier, "dtype") and np.datetime_data(identifier.dtype)[0] not in units:
        raise _NoSpelling("a date or duration of a unit that pandas does not have")


def _whole(identifier):
    """Return a number that is whole for sure as an int."""
    if isinstance(identifier, Integral | np.bool_):
        return int(identifier)
    if isinstance(identifier, Rational):
        exact = identifier.denominator == 1
    elif isinstance(identifier, Decimal):
        # an int of 10**9 digits would take all memory
        exact = identifier.is_finite() and identifier.adjusted() < 1000
    else:
        # from here on floats are rounded, and which of them are floats depends on the others
        digits = np.finfo(identifier).nmant if isinstance(identifier, np.floating) else 52
        exact = abs(identifier) < 2 ** (min(digits, 52) + 1)
    if not exact or identifier != int(identifier):
        raise _NoSpelling("a number that is not whole, or too large to be exact")
    return int(identifier)


def identifiers(values, name):
    """Return the spelling of every identifier, an array of str.

    It depends on the identifier alone: not on its type, nor on the dtype of its array, which
    others may decide. So text that says a whole number, a date of year, month and day or a truth
    value is spelled as what it says (True is 1, and a date the number 20200105), without spaces
    around it, and a date with a time zone by its instant.

    Parameters
    ----------
    values : array-like of shape (n_records,)
        Text, whole numbers, truth values, dates, durations, `pandas.Period`, `uuid.UUID`, or
        tuples or intervals of these.
    name : str
        What to call them in an error.

    Returns
    -------
    ndarray of shape (n_records,), object
        Equal for equal identifiers, whatever their type.

    Raises
    ------
    ValueError
        For any other identifier, a missing value, a float that is not whole or too large to be
        exact, text of such a float that looks rounded, and dates finer than nanoseconds; it quotes
        none.

    Notes
    -----
    What a reader of files made of text is not always to be told from the text. Where one malformed
    row makes text of a column, the others are spelled differently if they are dates in another
    order ("1/5/2020", or `dayfirst`), years alone that are read as dates, numbers with separators
    of thousands or another decimal point, or words that options name (`true_values`). So read such
    a column as text (``dtype=str``, no `parse_dates`) and convert it by one fixed format, each
    value by itself; or make no numbers or dates of it at all. A column of integers beside floats
    is rounded before it comes here, as are floats of less than 64 bits that numpy makes text of,
    and a `MultiIndex` or a categorical may hold one text for two (lone surrogates).

    Examples
    --------
    >>> from sklearn_pate.partition import identifiers
    >>> identifiers([7, " 7", "7.0", "1e3", "2020-1-5", "1/5/2020"], "groups").tolist()
    ['7', '7', '7', '1000', '20200105', '1/5/2020']
    """
    codes, spelled = _spellings(values, name)
    return np.array(spelled, dtype=object)[codes]


def _spellings(values, name):
    """Return the number of each identifier's spelling and a list of the spellings."""
    if isinstance(values, np.ma.MaskedArray):
        rows = zip(values.data, np.ma.getmaskarray(values), strict=True)
        values = [None if masked else value for value, masked in rows]
    if not hasattr(values, "dtype"):  # each keeps its own type
        values = pd.Series(list(values), dtype=object)
    problem = None
    try:
        if values.dtype == object and not _is_of_one_kind(values):
            return np.arange(len(values)), [_text(value) for value in values]
        if values.dtype == object or _is_text(values.dtype):
            codes, distinct = _numbered(values)
        else:
            codes, distinct = pd.factorize(values, use_na_sentinel=False)
        if (codes < 0).any():  # some of Arrow's columns have the sentinel all the same
            raise _NoSpelling("a missing value")
        spelled = [_text(value) for value in distinct]
    except _NoSpelling as error:
        problem = str(error)
    except Exception:  # its text may quote identifiers
        problem = "values that cannot be compared"
    if problem is not None:  # not within `except`, where an error keeps the one that was caught
        raise ValueError(
            f"{name} has {problem}; every record needs an identifier that is text, a whole number "
            "or a date"
        )
    return codes, spelled


def _is_of_one_kind(values):
    """Whether objects may be told apart by ==; dates in two time zones, for one, may not."""
    return set(map(type, values)) in ({str}, {bytes}, {int})


def _is_text(dtype):
    """Whether it may hold lone surrogates."""
    return dtype.kind == "U" or getattr(dtype, "storage", None) == "python"


def _numbered(texts):
    """Return the number of each text and a list of the distinct ones.

    As `pandas.factorize`, which takes a lone surrogate for the text of its escape sequence, and
    before pandas 3 ends texts at a NUL.
    """
    texts = np.asarray(texts, dtype=object).tolist()
    distinct = list(dict.fromkeys(texts))
    number = {text: i for i, text in enumerate(distinct)}
    return np.fromiter(map(number.__getitem__, texts), np.intp, len(texts)), distinct


def spelled_names(names, name="names"):
    """Return the spelling of public names, all different.

    Parameters
    ----------
    names : sequence
        At least one; no text, set or dict.
    name : str, default="names"
        What to call them in an error.

    Returns
    -------
    list of str
        As `identifiers` spells them.

    Raises
    ------
    ValueError
        If they are not that, or two are spelled alike.
    """
    several = hasattr(names, "__iter__") and not isinstance(names, str | bytes | Set | Mapping)
    listed = list(names) if several else []
    spelled = identifiers(listed, name).tolist()
    if not spelled or len(set(spelled)) < len(spelled):
        raise ValueError(f"{name} must be a sequence of distinct names, at least 1; got {names!r}")
    return spelled


def _keyed_hash(values, n_teachers, seed, name):
    """Teacher of each identifier: no identifier affects another's."""
    codes, spelled = _spellings(values, name)
    teachers = (keyed_digests(spelled, seed) % np.uint64(n_teachers)).astype(np.int64)
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
