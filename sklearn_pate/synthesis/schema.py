"""What is public of a table: its columns, and what each may hold, declared or read."""

import math
from numbers import Real

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
from .parameters import (
    bounds_by_name,
    categories_by_name,
    check_are_columns,
    in_words,
    missing_names,
    named,
    remedies,
    short,
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
        check_are_columns("schema", declared, dtype_by_name)
        lacking = [
            name
            for name, dtype in dtype_by_name.items()
            if name not in declared
            and not isinstance(dtype, pd.CategoricalDtype)
            and kind_of(dtype) != "b"
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
                f"{short(self.columns)}"
            )
        return dict(zip(names, self.columns, strict=True))


def _check_declared(name, said, dtype):
    """Refuse what is neither bounds of numbers nor categories that suit the dtype of a column."""
    holds_numbers = kind_of(dtype) in "iuf"
    if not isinstance(said, list) and not (isinstance(said, tuple) and holds_numbers):
        raise ValueError(
            "schema must have a tuple of numbers, (low, high), for each column of numbers, "
            f"and a list of categories for others; got {short(said)} for {name!r}"
        )
    if isinstance(said, tuple):
        return
    if isinstance(dtype, pd.CategoricalDtype) and set(said) != set(dtype.categories):
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
    categories = categories_by_name(categories, dtype_by_name)
    bounds = bounds_by_name(bounds, dtype_by_name, categories)
    missing = missing_names(missing, dtype_by_name, categories)
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
    remedy_by_part = {}
    if not has_dtype:
        remedy_by_part["the dtype of X"] = "an array, as np.array(X, dtype=float)"
    if unbounded:
        remedy_by_part[f"the bounds of columns {named(unbounded)}"] = "bounds={column: (low, high)}"
    if of_gaps:
        part = f"whether values are missing in columns {named(of_gaps)}"
        remedy_by_part[part] = "missing=[...], the columns that may have them"
    if remedy_by_part:
        parts = [f"{part} (give {remedy})" for part, remedy in remedy_by_part.items()]
        warn(
            "read from the private rows, which the privacy guarantee does not cover: "
            + "; ".join(parts),
            PrivacyLeakWarning,
        )
    return tuple(f"{part}, read from the private rows" for part in remedy_by_part)


def _check_are_known(dtype_by_name, categories):
    """Refuse columns that are neither numbers nor categories."""
    others = {
        name: dtype
        for name, dtype in dtype_by_name.items()
        if kind_of(dtype) == "sparse" or (name not in categories and kind_of(dtype) not in "iuf")
    }
    if others:
        raise ValueError(f"columns of X must hold numbers or known categories; {remedies(others)}")


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
    try:
        column = CategoryColumn(dtype, values, may_be_missing)
        fits = column.is_unique and column.n_values > 0
    except Exception:  # pandas has many words for values that do not fit
        fits = False
    if not fits or (is_said and not holds_missing(dtype)):
        raise ValueError(
            f"categories of column {name!r} must be different values that its dtype, "
            f"{in_words(dtype)}, can hold, at least one of them not missing; got "
            f"{short(categories)}"
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
            f"edges, from {limits.min} to {limits.max}; got {short(bounds)}"
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
            f"must their difference; got {short(bounds)}"
        )
    edges = [float(kind.type(edge)) for edge in bounds]
    if len(edges) > 2 or edges[0] == edges[1]:
        return list(zip(edges[:-1], edges[1:], strict=True))
    low, high = edges
    if n_bins < 3:
        edges = np.linspace(low, high, n_bins + 1).tolist()
        return list(zip(edges[:-1], edges[1:], strict=True))
    above_low = math.nextafter(low, math.inf)
    edges = np.maximum(np.linspace(low, high, n_bins - 1), above_low).tolist()
    return [(low, low), *zip(edges[:-1], edges[1:], strict=True), (high, high)]
