"""What is public of a table: its columns, and what each may hold, declared or read."""

import contextlib
import math
from itertools import pairwise
from numbers import Integral, Real

import numpy as np
import pandas as pd

from ..exceptions import PrivacyLeakWarning, warn
from .columns import (
    CategoryColumn,
    Columns,
    NumberColumn,
    are_missing,
    checked_table,
    columns_of,
    holds_missing,
    is_missing,
    kind_of,
    numpy_dtype,
)

#: Bounds that are read lie within, so that their difference is finite.
_LARGEST_READ = 8e307


class Schema:
    """What the columns of a table may hold: public, so safe to print and to publish.

    Parameters
    ----------
    columns : dict, list or tuple
        For each column a tuple of numbers, ``(low, high)`` or the edges of bins, or a list of
        categories. A dict goes by name, or by position in an array; a list has all columns in
        order; a tuple of numbers is for all columns of an array. Truth values and pandas'
        categoricals declare themselves.
    missing : list, default=()
        Columns that may have missing values. In others they count nowhere.

    Examples
    --------
    >>> from sklearn_pate.synthesis import Schema
    >>> Schema({"age": (18, 90), "job": ["clerk", "farmer"]}, missing=["job"])
    Schema({'age': (18, 90), 'job': ['clerk', 'farmer']}, missing=['job'])
    """

    def __init__(self, columns, *, missing=()):
        if not isinstance(missing, list | tuple | set):
            raise TypeError(f"missing must be a list of columns with gaps; got {missing!r}")
        self.columns = columns
        self.missing = list(missing)

    def __repr__(self):
        return f"Schema({self.columns!r}, missing={self.missing!r})"

    def parameters(self, X):
        """Return bounds, categories and missing, as a synthesizer takes them.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_columns)
            Rows, of whose columns names and dtypes are looked at, no values.

        Returns
        -------
        dict

        Raises
        ------
        ValueError
            If a column is not declared, or not by a tuple or a list.
        """
        dtype_by_name = _dtypes(columns_of(checked_table(X)))
        declared = self._by_name(list(dtype_by_name))
        _check_are_columns("schema", declared, dtype_by_name)
        lacking = [
            name
            for name, dtype in dtype_by_name.items()
            if name not in declared and kind_of(dtype) not in ("category", "b")
        ]
        if lacking:
            raise ValueError(f"schema lacks {named(lacking)}; give (low, high) or a list of values")
        for name, values in declared.items():
            _check_declared(name, values, dtype_by_name[name])
        return {
            "bounds": {name: said for name, said in declared.items() if isinstance(said, tuple)},
            "categories": {name: said for name, said in declared.items() if isinstance(said, list)},
            "missing": self.missing,
        }

    def _by_name(self, names):
        if isinstance(self.columns, dict):
            return self.columns
        if isinstance(self.columns, tuple):
            return dict.fromkeys(names, self.columns)
        if not isinstance(self.columns, list) or len(self.columns) != len(names):
            raise ValueError(
                f"schema must be a dict, a tuple or a list; X has {len(names)} columns, got "
                f"{_short(self.columns)}"
            )
        return dict(zip(names, self.columns, strict=True))


def _check_declared(name, said, dtype):
    """Refuse what is neither bounds of numbers nor categories that suit the dtype of a column."""
    holds_numbers = kind_of(dtype) in "iuf"
    if not isinstance(said, list) and not (isinstance(said, tuple) and holds_numbers):
        raise ValueError(
            "schema must have a tuple of numbers, (low, high), for each column of numbers, "
            f"and a list of categories for others; got {_short(said)} for {name!r}"
        )
    if isinstance(said, tuple):
        return
    if kind_of(dtype) == "category" and set(said) != set(dtype.categories):
        raise ValueError(
            f"column {name!r} is categorical, with other categories than declared, and those of a "
            "dtype are published: convert it, X[column].astype(object)"
        )
    are_two = len(said) == 2 and all(isinstance(value, Real) for value in said)
    if holds_numbers and are_two and said[1] - said[0] != 1:  # they may be meant as bounds
        raise ValueError(f"column {name!r} has only two values, {said}; bounds are a tuple")


def read_schema(X, *, bounds, categories, missing, n_bins):
    """Return the schema of a table: what the parameters say, and what they leave out from its rows.

    Parameters
    ----------
    X : DataFrame or array-like of shape (n_samples, n_columns)
        Private rows. Names and dtypes of the columns are taken to be public.
    bounds, categories, missing, n_bins
        As in `MarginalSynthesizer`.

    Returns
    -------
    schema : Columns
    not_covered : tuple of str
        What was read from the rows, in words.

    Warns
    -----
    PrivacyLeakWarning
        Of columns whose bounds, or missing values, are read from the rows, and of a list of rows,
        whose dtype is.
    """
    has_dtype = hasattr(X, "dtype") or hasattr(X, "dtypes")
    X = checked_table(X)
    values_by_name = columns_of(X)
    dtype_by_name = _dtypes(values_by_name)
    categories = _categories_by_name(categories, dtype_by_name)
    bounds = _bounds_by_name(bounds, dtype_by_name, categories)
    missing = _missing_names(missing, dtype_by_name, categories)
    _check_are_known(dtype_by_name, categories)
    columns = [
        _column(name, values, bounds, categories, missing, n_bins)
        for name, values in values_by_name.items()
    ]
    is_frame = isinstance(X, pd.DataFrame)
    names, dtype = (X.columns.copy(), None) if is_frame else (None, X.dtype)
    schema = Columns(columns, names, dtype)
    found = schema.difference(X)
    if found is not None:
        where = f" in columns {named(found.columns)}" if found.columns else ""
        raise ValueError(
            f"a synthesizer cannot draw rows of the dtypes of X{where}; use plain ones, such as "
            "float64, Int64, str or pandas.CategoricalDtype([...])"
        )
    # With a missing value, whole numbers would mostly have become floats
    of_gaps = [
        name
        for name, dtype in dtype_by_name.items()
        if missing[name] is None and (holds_missing(dtype) or kind_of(dtype) in "iu")
    ]
    unbounded = [name for name in dtype_by_name if name not in categories and name not in bounds]
    return schema, _warned_of(has_dtype, unbounded, of_gaps)


def _dtypes(values_by_name):
    return {name: values.dtype for name, values in values_by_name.items()}


def _warned_of(has_dtype, unbounded, of_gaps):
    """Warn of what was read, in words that give no value away, and return these."""
    parts = [
        (not has_dtype, "the dtype of X", "an array, as np.array(X, dtype=float)"),
        (unbounded, f"the bounds of columns {named(unbounded)}", "bounds={column: (low, high)}"),
        (of_gaps, f"whether values are missing in columns {named(of_gaps)}", "missing=[...]"),
    ]
    read = [(part, remedy) for is_read, part, remedy in parts if is_read]
    if read:
        words = "; ".join(f"{part} (give {remedy})" for part, remedy in read)
        warn(
            f"read from the private rows, which the privacy guarantee does not cover: {words}",
            PrivacyLeakWarning,
        )
    return tuple(f"{part}, read from the private rows" for part, _ in read)


def _check_are_known(dtype_by_name, categories):
    """Refuse columns that are neither numbers nor categories."""
    others = {
        name: dtype
        for name, dtype in dtype_by_name.items()
        if kind_of(dtype) == "sparse" or (name not in categories and kind_of(dtype) not in "iuf")
    }
    if others:
        raise ValueError(f"columns of X must hold numbers or known categories; {_remedies(others)}")


def _column(name, values, bounds, categories, missing, n_bins):
    """Return a column of the schema; its private values are looked at where nothing is said."""
    dtype = values.dtype
    may_be_missing = missing[name]
    if may_be_missing is None:
        may_be_missing = holds_missing(dtype) and bool(are_missing(values).any())
    if name in categories:
        return _category_column(name, dtype, categories[name], may_be_missing)
    edges = bounds[name] if name in bounds else _range_of(values)
    make_bins = _real_bins if kind_of(dtype) == "f" else _integer_bins
    return NumberColumn(dtype, make_bins(name, dtype, edges, n_bins), may_be_missing, edges)


def _range_of(values):
    """Return the least and the greatest of private numbers."""
    numbers = values[values.notna().to_numpy(dtype=bool)].to_numpy()
    if numbers.dtype == object:  # nullable numbers, before pandas 2.2
        numbers = np.array(numbers.tolist())
    if numbers.dtype.kind == "f":
        numbers = numbers.astype(float)
        numbers = np.clip(numbers[np.isfinite(numbers)], -_LARGEST_READ, _LARGEST_READ)
    if len(numbers) == 0:
        return [0, 1]
    return [numbers.min().item(), numbers.max().item()]


def _category_column(name, dtype, categories, may_be_missing):
    values = [value for value in categories if not is_missing(value)]
    is_said = len(values) < len(categories)
    column = None
    with contextlib.suppress(Exception):  # pandas has many words for values that do not fit
        column = CategoryColumn(dtype, values, may_be_missing)
    if column is None or (is_said and not holds_missing(dtype)):
        raise ValueError(
            f"categories of column {name!r} must be different values that its dtype, "
            f"{_in_words(dtype)}, can hold, at least one of them not missing; got "
            f"{_short(categories)}"
        )
    return column


def _integer_bins(name, dtype, bounds, n_bins):
    """Return the first and the last whole number of each bin."""
    low = math.ceil(bounds[0])
    high = math.floor(bounds[-1])
    if len(bounds) > 2:
        first = [low, *(math.ceil(edge) for edge in bounds[1:-1])]
    else:
        first = _first_of_bins(low, high, n_bins)
    last = [number - 1 for number in first[1:]] + [high]
    limits = np.iinfo(numpy_dtype(dtype))
    are_filled = all(a <= b for a, b in zip(first, last, strict=True))
    if not are_filled or low < limits.min or high > limits.max:
        raise ValueError(
            f"bounds of column {name!r} must have whole numbers between them, and between any two "
            f"edges, from {limits.min} to {limits.max}; got {_short(bounds)}"
        )
    return list(zip(first, last, strict=True))


def _first_of_bins(low, high, n_bins):
    """Return the first whole number of each bin between two bounds."""
    n_values = high - low + 1
    if n_values <= n_bins:
        return list(range(low, high + 1)) or [low]
    if n_bins < 3:
        return [low + n_values * k // n_bins for k in range(n_bins)]
    inner = [low + 1 + (n_values - 2) * k // (n_bins - 2) for k in range(n_bins - 2)]
    return [low, *inner, high]


def _real_bins(name, dtype, bounds, n_bins):
    """Return the least and the greatest number of each bin."""
    kind = numpy_dtype(dtype)
    most = float(np.finfo(kind).max)
    if max(abs(edge) for edge in bounds) > most or bounds[-1] - bounds[0] > 2 * _LARGEST_READ:
        raise ValueError(
            f"bounds of column {name!r} must be within what its dtype, {dtype}, can hold, and so "
            f"must their difference; got {_short(bounds)}"
        )
    edges = [float(kind.type(edge)) for edge in bounds]
    low, high = edges[0], edges[-1]
    if len(edges) == 2 and low < high and n_bins < 3:
        edges = np.linspace(low, high, n_bins + 1).tolist()
    elif len(edges) == 2 and low < high:
        inner = np.maximum(np.linspace(low, high, n_bins - 1), math.nextafter(low, math.inf))
        return [(low, low), *pairwise(inner.tolist()), (high, high)]
    return list(pairwise(edges))


# --- what the user says: bounds, categories, missing values --------------------------------------


def _categories_by_name(categories, dtype_by_name):
    """Return the categories of columns by name: those given, and those of dtypes."""
    given = {} if categories is None else categories
    _check_are_columns("categories", given, dtype_by_name)
    by_name = {}
    for name, dtype in dtype_by_name.items():
        if name in given:
            by_name[name] = _listed(name, given[name])
        elif kind_of(dtype) == "category":
            by_name[name] = list(dtype.categories)
        elif kind_of(dtype) == "b":
            by_name[name] = [False, True]
    return by_name


def _listed(name, values):
    values = values.tolist() if isinstance(values, np.ndarray | pd.Index) else values
    if not isinstance(values, list | tuple) or len(values) == 0:
        raise ValueError(
            f"categories of column {name!r} must be a list of values, in an order that does not "
            f"depend on the private rows; got {_short(values)}"
        )
    return list(values)


def _bounds_by_name(bounds, dtype_by_name, categories):
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
    _check_are_columns("bounds", bounds, dtype_by_name)
    others = {name: dtype_by_name[name] for name in bounds if name not in numbers}
    if others:
        raise ValueError(f"bounds are for numbers without categories, not for {_remedies(others)}")
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
        f"increase, or a pair for each column; got {_short(bounds)}: {hint}"
    )


def _checked_edges(what, edges):
    given = np.atleast_1d(edges) if isinstance(edges, np.ndarray) else edges
    given = given if isinstance(given, list | tuple | np.ndarray) else []
    # numpy's _short numbers overflow
    numbers = [edge.item() if isinstance(edge, np.generic) else edge for edge in given]
    are_numbers = all(_is_finite(edge) for edge in numbers)
    is_pair = are_numbers and len(numbers) == 2 and numbers[0] <= numbers[1]
    is_ladder = are_numbers and len(numbers) > 2 and sorted(set(numbers)) == numbers
    if not is_pair and not is_ladder:
        raise ValueError(
            f"{what} must be two finite numbers (low, high), low not above high, or more numbers "
            f"that increase, the edges of bins; got {_short(edges)}"
        )
    return numbers


def _is_finite(edge):
    is_whole = isinstance(edge, Integral)  # and maybe too large for a float
    return is_whole or (isinstance(edge, Real) and math.isfinite(edge))


def _missing_names(missing, dtype_by_name, categories):
    """Return whether each column may have missing values, by its name; None if nothing is said."""
    said = {name for name, values in categories.items() if any(map(is_missing, values))}
    if missing is None:
        return {name: True if name in said else None for name in dtype_by_name}
    if not isinstance(missing, list | tuple | set | range | np.ndarray | pd.Index):
        raise ValueError(f"missing must be a list of columns that may have gaps; got {missing!r}")
    missing = list(missing)
    _check_are_columns("missing", missing, dtype_by_name)
    complete = [name for name in missing if not holds_missing(dtype_by_name[name])]
    if complete:
        raise ValueError(
            f"missing names {named(complete)}, whose dtype holds no missing values; leave them "
            "out, or convert them (Int64, boolean)"
        )
    return {name: name in said or name in missing for name in dtype_by_name}


def _check_are_columns(parameter, names, dtype_by_name):
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


def _short(value):
    """Return the beginning of a value that the user gave."""
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}..."


# --- columns that have no histogram as they are --------------------------------------------------

#: So many names of columns are told in a message.
_MOST_NAMES = 20

_OF_TEXT = 'pd.to_numeric(column, errors="coerce"), or categories={column: [...]}; drop names'
_BY_KIND = {
    "sparse": "make them dense, column.sparse.to_dense()",
    "category": "they have bins as they are, leave them out; if they should be numbers, convert "
    'them, pd.to_numeric(column.astype(object), errors="coerce")',
    "period": "make numbers of them, such as column.dt.year",
    "M": 'make numbers of dates, such as column.sub(pd.Timestamp("2020-01-01")).dt.days',
    "m": "make numbers of lengths of time, column.dt.total_seconds()",
    "c": "make two columns of real numbers",
    "b": "they have bins as they are, leave them out",
    **dict.fromkeys("iuf", "they have categories; give bounds or categories, not both"),
}


def _remedies(dtype_by_name):
    """Return what to do with columns, in words: for each dtype their names, and a remedy."""
    names_by_dtype = {}
    for name, dtype in dtype_by_name.items():
        remedy = _BY_KIND.get(kind_of(dtype), _OF_TEXT)
        names_by_dtype.setdefault((_in_words(dtype), remedy), []).append(name)
    return "; ".join(
        f"{named(names)} (dtype {dtype}): {remedy}"
        for (dtype, remedy), names in names_by_dtype.items()
    )


def _in_words(dtype):
    """Return the name of a dtype, without categories."""
    return "category" if kind_of(dtype) == "category" else str(dtype)


def named(names):
    """Return names of columns in words."""
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"{names[:_MOST_NAMES]}{more}"
