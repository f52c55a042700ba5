"""Declared schema of a table: bounds, edges, categories and gaps of its columns."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from .._numbers import is_real, shown
from .columns import (
    CategoryColumn,
    Column,
    Columns,
    NumberColumn,
    checked_table,
    dtypes_of,
    holds_missing,
    kind_of_values,
    numpy_dtype,
)

if TYPE_CHECKING:
    from .._typing import Rows

#: The category of a column of texts in which no frequent text was found.
NO_CATEGORY = "(none found)"

#: Whole numbers between bounds with at most this many steps have no estimated edges.
_FEW_STEPS = 12

#: Largest absolute value of a bound, so that the difference of two bounds is finite.
_LARGEST = 8e307


class Schema:
    """Declare the values of the columns of a table, from public knowledge.

    A schema is public, so it may be printed and published.

    Parameters
    ----------
    columns : dict, list or tuple
        For each column, a tuple of numbers, ``(low, high)`` or the edges of bins, or a list of
        categories. The keys of a dict are column names, or positions in an array. A list has one
        entry for each column, in order. A single tuple of numbers applies to all columns, which
        must then be numeric. Boolean columns and pandas categoricals may be omitted from a dict.
    missing : list, default=()
        Columns that may have missing values. Missing values of other columns are not counted.

    Examples
    --------
    >>> from sklearn_pate.synthesis import Schema
    >>> Schema({"age": (18, 90), "job": ["clerk", "farmer"]}, missing=["job"])
    Schema({'age': (18, 90), 'job': ['clerk', 'farmer']}, missing=['job'])
    """

    def __init__(
        self,
        columns: dict[Any, Any] | list[Any] | tuple[float, ...],
        *,
        missing: Sequence[Any] = (),
    ) -> None:
        self.columns = columns
        self.missing = missing

    def __repr__(self) -> str:
        return f"Schema({self.columns!r}, missing={self.missing!r})"

    def parameters(self, X: Rows) -> dict[str, Any]:
        """Return the parameters bounds, categories and missing of a synthesizer.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_columns)
            Rows. Only the names and dtypes of their columns are read, no values.

        Returns
        -------
        dict

        Raises
        ------
        ValueError
            If the schema is not a dict, a tuple, or a list with one entry for each column; if an
            entry is not a tuple or a list; or if a numeric column has a list of two numbers that
            may be meant as bounds.
        """
        dtypes = dtypes_of(checked_table(X))
        declared: Any = self.columns
        if isinstance(declared, tuple):
            declared = [declared] * len(dtypes)
        if isinstance(declared, list) and len(declared) == len(dtypes):
            declared = dict(zip(dtypes, declared, strict=True))
        if not isinstance(declared, dict):
            raise ValueError(
                "schema must be a dict, a tuple, or a list with one entry for each of the "
                f"{len(dtypes)} columns of X; got {_short(declared)}"
            )
        for name, values in declared.items():
            if not isinstance(values, tuple | list):
                raise ValueError(
                    "schema must have a tuple of numbers, (low, high), for each column of numbers, "
                    f"and a list of categories for others; got {_short(values)} for {name!r}"
                )
            are_two = len(values) == 2 and all(map(is_real, values))
            is_list = isinstance(values, list) and kind_of_values(dtypes.get(name)) in "iuf"
            if is_list and are_two and values[1] - values[0] != 1:  # they may be meant as bounds
                raise ValueError(
                    f"column {name!r} is declared with only two categories, {values}: for bounds, "
                    "give a tuple, (low, high); for two categories, convert the column of a "
                    f"DataFrame with X[column].astype(pandas.CategoricalDtype({values}))"
                )
        return {
            "bounds": {
                name: values for name, values in declared.items() if isinstance(values, tuple)
            },
            "categories": {
                name: values for name, values in declared.items() if isinstance(values, list)
            },
            "missing": self.missing,
        }


# --- columns that the user declares --------------------------------------------------------------


def declared_columns(
    X: Rows,
    bounds: Any,
    categories: dict[Any, Any] | None,
    missing: Iterable[Any] | None,
    *,
    n_bins: int,
) -> Columns:
    """Return the declared columns of a table, without reading its values.

    Parameters
    ----------
    X : DataFrame or array-like of shape (n_samples, n_columns)
        Private rows. Names and dtypes of the columns are assumed to be public.
    bounds, categories, missing, n_bins
        As in `MarginalSynthesizer`.

    Returns
    -------
    Columns

    Raises
    ------
    ValueError
        If a column is not declared, or its declaration does not suit its dtype.
    """
    X = checked_table(X)
    dtypes = dtypes_of(X)
    categories = _own_categories(dtypes) | (categories or {})
    numbers = [
        name for name, t in dtypes.items() if kind_of_values(t) in "iuf" and name not in categories
    ]
    if not isinstance(bounds, dict):
        bounds = {} if bounds is None else dict.fromkeys(numbers, bounds)
    missing = [] if missing is None else missing
    if isinstance(missing, str) or not np.iterable(missing):
        raise ValueError(f"missing must be a list of columns that may have gaps; got {missing!r}")
    missing = list(missing)
    _check_are_declared(dtypes, numbers, bounds, categories, missing)
    columns: list[Column] = [
        _category_column(name, dtype, categories[name], name in missing)
        if name in categories
        else _number_column(name, dtype, bounds[name], name in missing, n_bins)
        for name, dtype in dtypes.items()
    ]
    is_frame = isinstance(X, pd.DataFrame)
    schema = Columns(columns, *((X.columns.copy(), None) if is_frame else (None, X.dtype)))
    found = schema.difference(X)
    if found is not None:
        raise ValueError(
            f"a synthesizer cannot draw values of the dtypes of columns {_short(found.columns)}; "
            "use other dtypes, such as float64, Int64, str or pandas.CategoricalDtype([...])"
        )
    return schema


def undeclared_columns(X: Rows, bounds: Any, categories: Any) -> tuple[int, ...]:
    """Return the positions of the undeclared columns of a table, as a tuple.

    Boolean and categorical dtypes count as a declaration only if at least one column is declared
    explicitly. Otherwise, no column counts as declared, because one malformed record could change a
    dtype.

    Parameters
    ----------
    X, bounds, categories
        As in `declared_columns`.
    """
    dtypes = dtypes_of(checked_table(X))
    has_no_bounds = bounds is None or (isinstance(bounds, dict) and not bounds)
    if not categories and has_no_bounds:
        return tuple(range(len(dtypes)))
    categories = _own_categories(dtypes) | (categories or {})
    is_dict = bounds is None or isinstance(bounds, dict)
    found = []
    for k, (name, dtype) in enumerate(dtypes.items()):
        has_bounds = name in (bounds or {}) if is_dict else kind_of_values(dtype) in "iuf"
        if not has_bounds and name not in categories:
            found.append(k)
    return tuple(found)


def estimated_columns(
    X: Rows,
    places: tuple[int, ...],
    estimates: list[Any],
    gaps: list[bool],
    declared: Columns | None,
    *,
    n_bins: int,
) -> Columns:
    """Return the columns of a table, some of them with an estimated schema.

    Parameters
    ----------
    X : DataFrame or ndarray with n_rows rows
        Any rows with the names of the columns, which are public.
    places : tuple of int
        Positions of the columns that are estimated.
    estimates : list of tuple or list
        For each of these columns, a tuple of edges or a list of categories. An empty list becomes
        the single category `NO_CATEGORY`, which no value has.
    gaps : list of bool
        Whether each of these columns has gaps.
    declared : Columns or None
        The other columns, in order; None if there are none.
    n_bins : int
        As in `declared_columns`.

    Returns
    -------
    Columns
        The estimated columns are read by value.
    """
    names = list(dtypes_of(X))
    is_frame = isinstance(X, pd.DataFrame)
    found: dict[int, Column] = {}
    for place, values, has_gaps in zip(places, estimates, gaps, strict=True):
        if not is_frame and isinstance(values, list):  # an array holds only numbers
            values = tuple(sorted(map(float, values)))
        if isinstance(values, tuple):
            found[place] = _number_column(names[place], np.dtype(float), values, has_gaps, n_bins)
        else:
            found[place] = CategoryColumn(np.dtype(object), values or [NO_CATEGORY], has_gaps)
    others = iter(() if declared is None else declared.columns)
    columns = [found[k] if k in found else next(others) for k in range(len(names))]
    if is_frame:
        return Columns(columns, X.columns.copy(), None, by_value=places)
    return Columns(columns, None, np.dtype(float), by_value=places)


def plain_bounds(declared: Columns) -> dict[int, tuple[float, float]]:
    """Return the bounds of columns in which edges may be estimated, by position.

    These are numbers with a lower and an upper bound, without edges between them, except whole
    numbers of few values.

    Parameters
    ----------
    declared : Columns
        Declared columns.
    """
    found = {}
    for k, column in enumerate(declared.columns):
        if isinstance(column, NumberColumn) and len(column.edges) == 2:
            low, high = map(float, column.edges)
            has_few = numpy_dtype(column.dtype).kind in "iu" and high - low <= _FEW_STEPS
            if low < high and not has_few:
                found[k] = low, high
    return found


def column_within(column: NumberColumn, name: Any, estimate: Any, *, n_bins: int) -> Column:
    """Return a declared column with edges, or categories, that were estimated within its bounds.

    Parameters
    ----------
    column : NumberColumn
        The declared column.
    name : object
        Its name.
    estimate : tuple of float, or list of str
        Edges, or categories, which are texts of whole numbers.
    n_bins : int
        As in `declared_columns`.
    """
    low, high = map(float, column.edges)
    is_whole = numpy_dtype(column.dtype).kind in "iu"
    numbers = np.clip(np.array(estimate, dtype=float), low, high)
    numbers = np.unique(np.rint(numbers) if is_whole else numbers)
    values = [int(number) for number in numbers] if is_whole else numbers.tolist()
    if isinstance(estimate, list):
        return CategoryColumn(column.dtype, values, column.may_be_missing)
    if len(values) < 2:
        return column
    return _number_column(name, column.dtype, tuple(values), column.may_be_missing, n_bins)


def _own_categories(dtypes: dict[Any, Any]) -> dict[Any, list[Any]]:
    """Return the values of boolean and categorical columns by name, from their dtypes."""
    own = {name: [False, True] for name, dtype in dtypes.items() if kind_of_values(dtype) == "b"}
    coded = {name: dtype for name, dtype in dtypes.items() if kind_of_values(dtype) == "category"}
    return own | {name: list(dtype.categories) for name, dtype in coded.items()}


def _check_are_declared(
    dtypes: dict[Any, Any],
    numbers: list[Any],
    bounds: dict[Any, Any],
    categories: dict[Any, Any],
    missing: list[Any],
) -> None:
    """Raise an error for unknown, undeclared or unsuitably declared columns."""
    given = {"bounds": bounds, "categories": categories, "missing": missing}
    for parameter, names in given.items():
        unknown = [name for name in names if name not in list(dtypes)]  # a name may be a list
        if unknown:
            raise ValueError(
                f"schema or {parameter} has the unknown columns {_short(unknown)}; the columns of "
                f"X are {_short(list(dtypes))}"
            )
    others = [name for name in bounds if name not in numbers]
    if others:
        raise ValueError(
            f"bounds, (low, high), are for numbers without categories, not for {_short(others)}: "
            "give a list of the values of each such column instead"
        )
    lacking = [name for name in dtypes if name not in bounds and name not in categories]
    if lacking:
        raise ValueError(
            f"columns {_short(lacking)} of X are declared neither in a schema nor in bounds and "
            "categories: give (low, high) for numbers and a list of values for others, from public "
            "knowledge. Convert dates, and texts with many values, to numbers, and sparse columns "
            "to dense ones"
        )
    complete = [name for name in missing if not holds_missing(dtypes[name])]
    if complete:
        raise ValueError(
            f"missing has the columns {_short(complete)}, but their dtypes cannot hold missing "
            "values; remove them from missing, or convert these columns to Int64 or boolean"
        )


def _category_column(name: Any, dtype: Any, values: Any, may_be_missing: bool) -> CategoryColumn:
    if not isinstance(values, list | tuple | np.ndarray | pd.Index):
        raise ValueError(
            f"categories of column {name!r} must be a list of values, in an order that does not "
            f"depend on the private rows; got {_short(values)}"
        )
    values = list(values)
    own = list(dtype.categories) if kind_of_values(dtype) == "category" else values
    if len(own) != len(values) or not all(value in values for value in own):
        raise ValueError(
            f"column {name!r} is categorical, and the categories of its dtype, which would be "
            "published, differ from the declared ones: convert it with X[column].astype(object)"
        )
    with contextlib.suppress(Exception):  # pandas raises many kinds of errors for unsuitable values
        return CategoryColumn(dtype, values, may_be_missing)
    raise ValueError(
        f"categories of column {name!r} must be different values that its dtype, {dtype}, can "
        f"hold, none of them missing; got {_short(values)}"
    )


def _number_column(
    name: Any, dtype: Any, edges: Any, may_be_missing: bool, n_bins: int
) -> NumberColumn:
    given = edges
    is_list = isinstance(given, list | tuple | np.ndarray)
    # Short integers of numpy could overflow, so they become integers of Python
    edges = [e.item() if isinstance(e, np.generic) else e for e in (given if is_list else ())]
    are_finite = all(is_real(edge) and abs(edge) < math.inf for edge in edges)
    are_edges = are_finite and len(edges) >= 2 and edges == sorted(edges)
    if not are_edges or (len(edges) > 2 and len(set(edges)) < len(edges)):
        raise ValueError(
            f"bounds of column {name!r} must be a tuple or list of two finite numbers, (low, high) "
            "with low <= high, or of three or more finite numbers in increasing order, the edges "
            f"of bins; got {_short(given)}"
        )
    least: Sequence[float]
    greatest: Sequence[float]
    make_bins = _real_bins if kind_of_values(dtype) == "f" else _integer_bins
    least, greatest = make_bins(name, dtype, edges, n_bins)
    return NumberColumn(dtype, least, greatest, may_be_missing, edges)


def _integer_bins(
    name: Any, dtype: Any, bounds: list[Any], n_bins: int
) -> tuple[list[int], list[int]]:
    """Return the first and the last integer of each bin."""
    low = math.ceil(bounds[0])
    high = math.floor(bounds[-1])
    n_values = high - low + 1
    if len(bounds) > 2:
        # Two edges without a whole number between them make one bin
        first = sorted({low, *(math.ceil(edge) for edge in bounds[1:-1])})
    elif n_values <= n_bins:
        first = list(range(low, high + 1)) or [low]
    else:
        inner = (low + 1 + (n_values - 2) * k // (n_bins - 2) for k in range(n_bins - 2))
        first = [low, *inner, high]
    last = [number - 1 for number in first[1:]] + [high]
    limits = np.iinfo(numpy_dtype(dtype))
    are_filled = all(a <= b for a, b in zip(first, last, strict=True))
    if not are_filled or low < limits.min or high > limits.max:
        raise ValueError(
            f"bounds of column {name!r} must be from {limits.min} to {limits.max}, with at least "
            f"one whole number between the last two; got {_short(bounds)}"
        )
    return first, last


def _real_bins(
    name: Any, dtype: Any, bounds: list[Any], n_bins: int
) -> tuple[list[float], list[float]]:
    """Return the smallest and the largest number of each bin."""
    kind = numpy_dtype(dtype)
    most = min(float(np.finfo(kind).max), _LARGEST)
    if max(abs(edge) for edge in bounds) > most:
        raise ValueError(
            f"bounds of column {name!r} must be from {-most:g} to {most:g}, as its dtype is "
            f"{dtype}; got {_short(bounds)}"
        )
    edges = [float(kind.type(edge)) for edge in bounds]
    low, high = edges[0], edges[-1]
    if len(edges) > 2 or low == high:
        return edges[:-1], edges[1:]
    inner = np.maximum(np.linspace(low, high, n_bins - 1), math.nextafter(low, math.inf))
    return [low, *inner[:-1], high], [low, *inner[1:], high]


def _short(value: Any) -> str:
    """Return the text of a value, or of names, cut to 200 characters."""
    text = shown(value)
    return text if len(text) <= 200 else f"{text[:200]}..."
