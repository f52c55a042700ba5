"""Normalization of identifiers of records, groups and teachers to text, and hashes of the text."""

import contextlib
import datetime
import hashlib
import re
from collections.abc import Iterable, Mapping, Set
from typing import Any

import numpy as np
import pandas as pd

from ._numbers import is_real, is_whole


def normalize_identifiers(values: Any, name: str) -> np.ndarray:
    """Return the normalized text of every identifier.

    The text depends on the value of the identifier alone. It does not depend on the type of the
    identifier, or on the dtype of its array, which may depend on other identifiers. Therefore, text
    of a whole number, a date in ISO 8601 or a truth value is normalized like the value itself (True
    to 1, and a date to a number such as 20200105), and spaces around a text are removed. A date
    with a time zone is converted to UTC.

    Parameters
    ----------
    values : array-like of shape (n_records,)
        Text, whole numbers, truth values, dates, or tuples of these.
    name : str
        Name of the identifiers, for errors.

    Returns
    -------
    ndarray of shape (n_records,), object
        Text of each identifier. Equal identifiers have equal texts, even if their types differ.

    Raises
    ------
    ValueError
        For identifiers of other types, missing values, floats that are not whole or too large to be
        exact, and text that may be rounded when it is read as a float. The message quotes no
        identifier.

    Notes
    -----
    One malformed row makes a file reader return a column as text. Then the text of the other rows
    changes if they are dates in another format ("2020-1-5", "1/5/2020"), years that are read as
    dates, numbers with thousands separators or another decimal point, or words from options such as
    `true_values`. Read such a column as text (``dtype=str``, no `parse_dates`). Then convert each
    value by one fixed format, or do not convert the column to numbers or dates at all. A column
    that mixes integers and floats is rounded before this function is called, and so are floats of
    less than 64 bits. A `MultiIndex` or a categorical may merge two texts with lone surrogates.

    Examples
    --------
    >>> from sklearn_pate.identifiers import normalize_identifiers
    >>> normalize_identifiers([7, " 7", "7.0", "1e3", "2020-01-05", "1/5/2020"], "groups").tolist()
    ['7', '7', '7', '1000', '20200105', '1/5/2020']
    """
    are_plain = getattr(getattr(values, "dtype", None), "kind", "") in ("i", "u", "U")
    try:
        identifiers = values.tolist() if are_plain else list(values)  # each keeps its own type
        # Objects of several kinds may be equal by ==, such as dates in two time zones
        if set(map(type, identifiers)) not in ({str}, {bytes}, {int}, {pd.Timestamp}):
            return np.array([_text(identifier) for identifier in identifiers], dtype=object)
        # `pandas.factorize` confuses a lone surrogate with the text of its escape sequence
        normalized = {identifier: _text(identifier) for identifier in dict.fromkeys(identifiers)}
        return np.array([normalized[identifier] for identifier in identifiers], dtype=object)
    except _NoSpelling as error:
        problem = str(error)
    except Exception:  # its text may quote identifiers
        problem = "values that cannot be compared"
    # Raised outside of `except`, because `__context__` would keep the caught error
    raise ValueError(
        f"{name} has {problem}; every record requires an identifier that is text, a whole number "
        "or a date: convert others to text"
    )


def normalize_names(names: Iterable[Any]) -> list[str]:
    """Return the normalized text of public names, which must be distinct.

    Parameters
    ----------
    names : sequence
        At least one name. A str, bytes, a set or a mapping is refused.

    Returns
    -------
    list of str
        Normalized text of each name; see `normalize_identifiers`.

    Raises
    ------
    ValueError
        If `names` is not such a sequence, a name cannot be normalized, or two names have the same
        normalized text.
    """
    is_sequence = hasattr(names, "__iter__") and not isinstance(names, str | bytes | Set | Mapping)
    normalized = normalize_identifiers(list(names), "names").tolist() if is_sequence else []
    if not normalized or len(set(normalized)) < len(normalized):
        raise ValueError(
            "names must be a non-empty sequence of names that differ after normalization to text; "
            f"got {names!r}"
        )
    return normalized


def normalize_groups(groups: Any, n_records: int) -> np.ndarray:
    """Return the normalized group of each record; raise a ValueError unless each has one."""
    # Sets have no order, so records would get the groups of other records
    is_sequence = hasattr(groups, "__len__") and not isinstance(groups, str | bytes | Set | Mapping)
    shape = getattr(groups, "shape", (len(groups),) if is_sequence else ())
    if shape != (n_records,):
        raise ValueError(
            f"groups must have one identifier per record, shape ({n_records},); got shape {shape}"
        )
    return normalize_identifiers(groups, "groups")


def keyed_digests(texts: Iterable[str], seed: np.random.SeedSequence) -> np.ndarray:
    """Hash each text by BLAKE2b, with a key that is generated from the seed.

    Parameters
    ----------
    texts : array-like of shape (n_texts,), str
        Normalized identifiers.
    seed : numpy.random.SeedSequence
        Source of the key.

    Returns
    -------
    ndarray of shape (n_texts,), uint64
        Hash of each text, which does not depend on the other texts.
    """
    key = seed.generate_state(8, np.uint32).tobytes()
    encoded = (text.encode("utf-8", "surrogatepass") for text in texts)
    digests = (hashlib.blake2b(text, key=key, digest_size=8).digest() for text in encoded)
    return np.array([int.from_bytes(digest, "little") for digest in digests], dtype=np.uint64)


class _NoSpelling(ValueError):
    """Error for an identifier without a unique normalized text; its message is not private."""


#: A number as text.
_NUMBER = re.compile(r"[+-]?(?=\.?[0-9])(?P<digits>[0-9]*\.?[0-9]*)(?P<exponent>[eE][+-]?[0-9]+)?")
#: A date as text, with or without a time, in ISO 8601.
_MOMENT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?)?"
)
#: Padding: whitespace that parsers of numbers ignore, and null characters, which numpy drops.
_PADDING = " \t\n\v\f\r\0"
#: Floats at or beyond this bound may have been rounded.
_EXACT = 2**53
#: Number of significant digits of a float; a text with more digits may be rounded when it is read.
_DIGITS = 15
_TRUTH = {"true": "1", "false": "0"}


def _text(identifier: Any) -> str:
    """Return the normalized text of an identifier, which does not depend on its type.

    Normalizing twice changes nothing. Two different identifiers with the same text are harmless:
    their records form one group.
    """
    if isinstance(identifier, tuple):
        return "\x1f".join(_text(part) for part in identifier)
    if isinstance(identifier, bytes):
        identifier = identifier.decode("utf-8", "surrogateescape")
    if isinstance(identifier, str):
        return _normalized_text(str.__str__(identifier))
    is_scalar = pd.api.types.is_scalar(identifier)
    if identifier is np.ma.masked or (is_scalar and pd.isna(identifier)):
        raise _NoSpelling("a missing value")
    if isinstance(identifier, datetime.date | np.datetime64):
        return _moment(identifier)
    # numpy's durations count as whole numbers
    is_bool = isinstance(identifier, np.bool_)
    if (is_real(identifier) or is_bool) and not isinstance(identifier, np.timedelta64):
        # Larger floats are rounded, and whether a number is a float depends on the others
        is_exact = is_whole(identifier) or is_bool or abs(float(identifier)) < _EXACT
        if is_exact and int(identifier) == identifier:
            return str(int(identifier))
        raise _NoSpelling("a number that is not whole, or too large to be exact")
    # The text of any other object may be its address, or may not depend on its value alone
    raise _NoSpelling("values that cannot be compared")


def _normalized_text(text: str) -> str:
    """Normalize text of a number, a date or a truth value like the value itself.

    This is necessary because one malformed value makes a file reader return a whole column as text.
    Padding is removed from any other text.
    """
    text = text.strip(_PADDING)
    number = _NUMBER.fullmatch(text)
    if number:
        return _normalized_number(text, **number.groupdict())
    if _MOMENT.fullmatch(text):
        with contextlib.suppress(ValueError):  # such as 30 February
            return _moment(text)
    return _TRUTH.get(text.lower(), text)


def _normalized_number(text: str, digits: str, exponent: str | None) -> str:
    """Normalize text of a number; text with a point or an exponent is read as a float."""
    if exponent is None and "." not in digits:
        whole = digits.lstrip("0") or "0"  # Python limits the number of digits of an int
        return f"-{whole}" if text[0] == "-" and whole != "0" else whole
    number = float(text)
    if len(digits.replace(".", "").strip("0")) > _DIGITS and abs(number) < 2 * _EXACT:
        raise _NoSpelling("text of a number that would be rounded when it is read")
    return str(int(number)) if number.is_integer() and abs(number) < _EXACT else text


def _moment(identifier: Any) -> str:
    """Normalize a date and time to ISO 8601, in UTC if it has a time zone.

    A date without a time is normalized to a text such as 20200105, which is also the text of a
    number.
    """
    stamp = pd.Timestamp(identifier)
    text = (stamp if stamp.tz is None else stamp.tz_convert("UTC")).isoformat()
    if re.fullmatch(r"[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}T00:00:00", text):
        return text[:10].replace("-", "")
    return text
