"""What to do with columns that have no histogram as they are, by their dtype."""

import pandas as pd

from .columns import kind_of

#: So many names of columns are told in a message.
_MOST_NAMES = 20

_DENSE = "make them dense, column.sparse.to_dense()"
_OF_DATES = (
    "make numbers of dates, such as column.dt.year, or days since a public date, "
    'column.sub(pd.Timestamp("2020-01-01")).dt.days'
)
_OF_DATES_IN_ZONES = _OF_DATES.replace('"2020-01-01"', '"2020-01-01", tz="UTC"')
_OF_PERIODS = (
    "make numbers of them, such as column.dt.year, or months since a public one, "
    "column.dt.year.sub(2020).mul(12).add(column.dt.month)"
)
_OF_TIMES = "make numbers of lengths of time, column.dt.total_seconds()"
_OF_COMPLEX = "make two columns of real numbers"
_OF_TRUTH = "they have bins as they are, leave them out"
_OF_CATEGORIES = (
    "they have bins as they are, leave them out; if they should be numbers, convert them, "
    'pd.to_numeric(column.astype(object), errors="coerce")'
)
_OF_TEXT = (
    "of text that should be numbers, make numbers, pd.to_numeric(column, "
    'errors="coerce"); of other text, say which values there may be, categories={column: [...]}; '
    "drop what tells people apart, such as names"
)
_OF_PLAIN = "they have categories; give bounds or categories, not both"


def remedies(dtype_by_name):
    """Return what to do with columns, in words.

    Parameters
    ----------
    dtype_by_name : dict
        At least one.

    Returns
    -------
    str
        For each dtype the names of its columns, and what to do.
    """
    names_by_dtype = {}
    remedy_by_dtype = {}
    for name, dtype in dtype_by_name.items():
        in_words = "category" if isinstance(dtype, pd.CategoricalDtype) else str(dtype)
        names_by_dtype.setdefault(in_words, []).append(name)
        remedy_by_dtype[in_words] = _remedy(dtype)
    return "; ".join(
        f"{named(names)} (dtype {in_words}): {remedy_by_dtype[in_words]}"
        for in_words, names in names_by_dtype.items()
    )


def _remedy(dtype):
    if isinstance(dtype, pd.CategoricalDtype):
        return _OF_CATEGORIES
    if isinstance(dtype, pd.PeriodDtype):
        return _OF_PERIODS
    if isinstance(dtype, pd.DatetimeTZDtype):
        return _OF_DATES_IN_ZONES
    by_kind = {
        "sparse": _DENSE,
        "M": _OF_DATES,
        "m": _OF_TIMES,
        "c": _OF_COMPLEX,
        "b": _OF_TRUTH,
    }
    by_kind |= dict.fromkeys("iuf", _OF_PLAIN)
    return by_kind.get(kind_of(dtype), _OF_TEXT)


def named(names):
    """Return names of columns in words."""
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"{names[:_MOST_NAMES]}{more}"
