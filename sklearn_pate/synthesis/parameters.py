"""What the user says of the columns: bounds, categories, missing values; and remedies."""

import math
from numbers import Integral, Real

import numpy as np
import pandas as pd

from .columns import holds_missing, is_missing, kind_of


def categories_by_name(categories, dtype_by_name):
    """Return the categories of columns by name: those given, and those of dtypes."""
    given = {} if categories is None else categories
    check_are_columns("categories", given, dtype_by_name)
    by_name = {}
    for name, dtype in dtype_by_name.items():
        if name in given:
            by_name[name] = _listed(name, given[name])
        elif isinstance(dtype, pd.CategoricalDtype):
            by_name[name] = list(dtype.categories)
        elif kind_of(dtype) == "b":
            by_name[name] = [False, True]
    return by_name


def _listed(name, values):
    values = values.tolist() if isinstance(values, np.ndarray | pd.Index) else values
    if not isinstance(values, list | tuple) or len(values) == 0:
        raise ValueError(
            f"categories of column {name!r} must be a list of values, in an order that does not "
            f"depend on the private rows; got {short(values)}"
        )
    return list(values)


def bounds_by_name(bounds, dtype_by_name, categories):
    """Return the bounds of columns of numbers by name, each a list of numbers."""
    numbers = [
        name
        for name, dtype in dtype_by_name.items()
        if name not in categories and kind_of(dtype) in "iuf"
    ]
    if bounds is None:
        return {}
    if len(bounds) > 0 and all(isinstance(edges, list | tuple | np.ndarray) for edges in bounds):
        bounds = _by_position(bounds, list(dtype_by_name), numbers)
    if not isinstance(bounds, dict):
        edges = _checked_edges("bounds", bounds)
        return {name: edges for name in numbers}
    check_are_columns("bounds", bounds, dtype_by_name)
    others = {name: dtype_by_name[name] for name in bounds if name not in numbers}
    if others:
        raise ValueError(f"bounds are for numbers without categories, not for {remedies(others)}")
    return {
        name: _checked_edges(f"bounds of column {name!r}", edges) for name, edges in bounds.items()
    }


def _by_position(bounds, names, numbers):
    """Return bounds by name, of a pair for each column in order; refuse what may mean others.

    Two pairs for two columns may as well be all low and all high ones.
    """
    lengths = {len(edges) for edges in bounds}
    is_sure = len(names) != 2
    if is_sure and lengths == {2} and len(bounds) == len(names) == len(numbers):
        return dict(zip(names, bounds, strict=True))
    if is_sure and lengths == {len(names)} and len(bounds) == 2:
        hint = "of all low and all high bounds, make pairs, list(zip(*bounds))"
    else:
        are_places = names == list(range(len(names)))
        pairs = "enumerate(bounds)" if are_places else "zip(X.columns, bounds)"
        hint = f"say which column each pair is of, dict({pairs}), of numbers alone"
    raise ValueError(
        "bounds must be two finite numbers (low, high), low not above high, or more numbers that "
        f"increase, or a pair for each column; got {short(bounds)}: {hint}"
    )


def _checked_edges(what, edges):
    given = np.atleast_1d(edges) if isinstance(edges, np.ndarray) else edges
    given = given if isinstance(given, list | tuple | np.ndarray) else []
    # numpy's short numbers overflow
    numbers = [edge.item() if isinstance(edge, np.generic) else edge for edge in given]
    are_numbers = all(_is_finite(edge) for edge in numbers)
    is_pair = are_numbers and len(numbers) == 2 and numbers[0] <= numbers[1]
    is_ladder = are_numbers and len(numbers) > 2 and sorted(set(numbers)) == numbers
    if not is_pair and not is_ladder:
        raise ValueError(
            f"{what} must be two finite numbers (low, high), low not above high, or more numbers "
            f"that increase, the edges of bins; got {short(edges)}"
        )
    return numbers


def _is_finite(edge):
    is_whole = isinstance(edge, Integral)  # and maybe too large for a float
    return is_whole or (isinstance(edge, Real) and math.isfinite(edge))


def missing_names(missing, dtype_by_name, categories):
    """Return whether each column may have missing values, by its name; None if nothing is said."""
    said = {name for name, values in categories.items() if any(map(is_missing, values))}
    if missing is None:
        return {name: True if name in said else None for name in dtype_by_name}
    if not isinstance(missing, list | tuple | set | range | np.ndarray | pd.Index):
        raise ValueError(f"missing must be a list of columns that may have gaps; got {missing!r}")
    missing = list(missing)
    check_are_columns("missing", missing, dtype_by_name)
    complete = [name for name in missing if not holds_missing(dtype_by_name[name])]
    if complete:
        raise ValueError(
            f"missing names {named(complete)}, whose dtype holds no missing values; leave them "
            "out, or convert them (Int64, boolean)"
        )
    return {name: name in said or name in missing for name in dtype_by_name}


def check_are_columns(parameter, names, dtype_by_name):
    """Refuse names of columns that the table does not have."""
    unknown = [name for name in names if not _is_among(name, dtype_by_name)]
    if unknown:
        raise ValueError(
            f"{parameter} names {named(unknown)}, which X does not have; its columns are "
            f"{named(list(dtype_by_name))}"
        )


def _is_among(name, dtype_by_name):
    try:
        return name in dtype_by_name
    except TypeError:  # a list, say
        return False


def short(value):
    """Return the beginning of a value that the user gave."""
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}..."


# --- columns that have no histogram as they are --------------------------------------------------

#: So many names of columns are told in a message.
_MOST_NAMES = 20

_OF_PERIODS = "make numbers of them, such as column.dt.year"
_OF_CATEGORIES = (
    "they have bins as they are, leave them out; if they should be numbers, convert them, "
    'pd.to_numeric(column.astype(object), errors="coerce")'
)
_OF_TEXT = (
    'make numbers of those that should be, pd.to_numeric(column, errors="coerce"); of others say '
    "which values there may be, categories={column: [...]}; drop what tells people apart, as names"
)
_BY_KIND = {
    "sparse": "make them dense, column.sparse.to_dense()",
    "M": 'make numbers of dates, such as column.sub(pd.Timestamp("2020-01-01")).dt.days',
    "m": "make numbers of lengths of time, column.dt.total_seconds()",
    "c": "make two columns of real numbers",
    "b": "they have bins as they are, leave them out",
    **dict.fromkeys("iuf", "they have categories; give bounds or categories, not both"),
}


def remedies(dtype_by_name):
    """Return what to do with columns, in words: for each dtype their names, and a remedy."""
    names_by_dtype = {}
    for name, dtype in dtype_by_name.items():
        names_by_dtype.setdefault((in_words(dtype), _remedy(dtype)), []).append(name)
    return "; ".join(
        f"{named(names)} (dtype {dtype}): {remedy}"
        for (dtype, remedy), names in names_by_dtype.items()
    )


def in_words(dtype):
    """Return the name of a dtype, without categories."""
    return "category" if isinstance(dtype, pd.CategoricalDtype) else str(dtype)


def _remedy(dtype):
    if isinstance(dtype, pd.CategoricalDtype):
        return _OF_CATEGORIES
    if isinstance(dtype, pd.PeriodDtype):
        return _OF_PERIODS
    return _BY_KIND.get(kind_of(dtype), _OF_TEXT)


def named(names):
    """Return names of columns in words."""
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"{names[:_MOST_NAMES]}{more}"
