"""What is public of a table: its columns, and what each may hold."""

import math
from numbers import Real
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from ..exceptions import PrivacyLeakWarning, warn
from ..rdp.checks import as_array
from ..schema import difference
from .columns import CategoryColumn, IntegerColumn, RealColumn, is_integer, numpy_dtype

__all__ = ["Schema", "read_schema"]

#: So many names of columns are told in a message.
_MOST_NAMES = 20

#: Bounds that are read lie within, so that their difference is finite.
_LARGEST_READ = 8e307


class Schema(NamedTuple):
    """The columns of a table.

    Attributes
    ----------
    columns : list of Column
        In order.
    names : pandas.Index or None
        Names of the columns of a DataFrame; None for an array.
    dtype : numpy.dtype or None
        Of an array.
    """

    columns: list
    names: pd.Index | None
    dtype: np.dtype | None

    def bins(self, X):
        """Yield the bin of each row, -1 for none, column after column."""
        for column, values in zip(self.columns, _series_of(X), strict=True):
            yield column.bins(values)

    def rows(self, bins, rng):
        """Draw a row from the bins of each: an array for each column."""
        drawn = [
            column.draw(places, rng) for column, places in zip(self.columns, bins, strict=True)
        ]
        if self.names is None:
            return np.column_stack([values.to_numpy() for values in drawn]).astype(self.dtype)
        rows = pd.concat(drawn, axis=1)
        rows.columns = self.names
        return rows

    def any_rows(self, n_rows, rng):
        """Draw rows from bins that are all equally likely."""
        return self.rows([rng.integers(column.n_bins, size=n_rows) for column in self.columns], rng)

    def check(self, X):
        """Refuse a table whose form is another, without any value."""
        X = checked_table(X)
        found = difference(X, self.any_rows(1, np.random.default_rng(0)))
        if found is not None or X.shape[1] != len(self.columns):
            raise ValueError(
                "X has other columns or dtypes than the table that the synthesizer was declared "
                "for; declare a clone of it for this one"
            )
        return X


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
    Schema

    Warns
    -----
    PrivacyLeakWarning
        Of columns whose bounds, or missing values, are read from the rows.
    """
    X = checked_table(X)
    names = list(X.columns) if isinstance(X, pd.DataFrame) else list(range(X.shape[1]))
    dtypes = list(X.dtypes) if isinstance(X, pd.DataFrame) else [_native(X.dtype)] * X.shape[1]
    dtype_by_name = dict(zip(names, dtypes, strict=True))
    categories = _checked_categories(categories, dtype_by_name)
    edges = _checked_bounds(bounds, dtype_by_name, categories)
    missing = _checked_missing(missing, dtype_by_name)
    _check_are_known(dtype_by_name, categories)
    known = _Known(categories, edges, missing, n_bins)
    columns = [
        known.column(name, dtype_by_name[name], values)
        for name, values in zip(names, _series_of(X), strict=True)
    ]
    _warn_of_what_was_read(known)
    frame_names = X.columns.copy() if isinstance(X, pd.DataFrame) else None
    dtype = None if isinstance(X, pd.DataFrame) else X.dtype
    schema = Schema(columns, frame_names, dtype)
    _check_dtypes(X, schema)
    return schema


# --- the table -----------------------------------------------------------------------------------


def checked_table(X):
    """Return `X`, a DataFrame of pandas or an array of numbers with two axes; refuse others."""
    if sparse.issparse(X):
        raise ValueError(
            "X is sparse, and a synthesizer makes histograms of the columns of DataFrames and "
            "arrays: pass X.toarray() or, of many columns, a few"
        )
    if isinstance(X, pd.DataFrame):
        _check_names(X)
        return X
    if hasattr(X, "columns"):
        raise ValueError(
            f"X is a {type(X).__module__}.{type(X).__name__}, and a synthesizer needs a DataFrame "
            "of pandas or an array: pass X.to_pandas()"
        )
    if not isinstance(X, np.ndarray | list | tuple):
        raise ValueError(
            f"X is a {type(X).__name__}, and a synthesizer needs all private rows in one "
            "DataFrame or array; without them, pass public rows, X_public"
        )
    X = as_array("X", X)
    if X.ndim != 2 or X.shape[1] == 0:
        raise ValueError(
            "X must have two axes and at least one column for a synthesizer, which draws each "
            f"column by itself; got {X.ndim} axes and {math.prod(X.shape[1:])} features. Images "
            "and other rows whose columns say little alone need public rows, X_public"
        )
    if X.dtype.kind not in "biuf" or isinstance(X, np.ma.MaskedArray):
        raise ValueError(
            "X must be an array of numbers or truth values for a synthesizer; give text, "
            "categories and masked values as columns of a DataFrame"
        )
    return X


def _check_names(X):
    if X.shape[1] == 0:
        raise ValueError("X has no columns, and a synthesizer makes a histogram of each")
    if not X.columns.is_unique:
        raise ValueError(
            f"Expected unique column names, got {list(X.columns)[:_MOST_NAMES]}; rename the "
            "columns of X"
        )


def _native(dtype):
    return dtype.newbyteorder("=")


def _series_of(X):
    """Yield each column as a Series."""
    for k in range(X.shape[1]):
        if isinstance(X, pd.DataFrame):
            yield X.iloc[:, k]
        else:
            yield pd.Series(X[:, k].astype(_native(X.dtype), copy=False))


# --- what the parameters say ---------------------------------------------------------------------


def _checked_categories(categories, dtype_by_name):
    """Return the categories of columns by name: those given, and those of dtypes."""
    given = {} if categories is None else categories
    _check_are_columns("categories", given, dtype_by_name)
    by_name = {}
    for name, dtype in dtype_by_name.items():
        if name in given:
            by_name[name] = _listed(name, given[name])
        elif isinstance(dtype, pd.CategoricalDtype):
            by_name[name] = list(dtype.categories)
        elif getattr(dtype, "kind", "O") == "b":
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


def _checked_bounds(bounds, dtype_by_name, categories):
    """Return the bounds of columns of numbers by name, each a list of numbers."""
    numbers = [
        name
        for name, dtype in dtype_by_name.items()
        if name not in categories and getattr(dtype, "kind", "O") in "iuf"
    ]
    if bounds is None:
        return {}
    if not isinstance(bounds, dict):
        edges = _checked_edges("bounds", bounds)
        return {name: edges for name in numbers}
    _check_are_columns("bounds", bounds, dtype_by_name)
    others = [name for name in bounds if name not in numbers]
    if others:
        raise ValueError(
            f"bounds are for columns of numbers without categories; leave out {_names(others)}"
        )
    return {
        name: _checked_edges(f"bounds of column {name!r}", edges) for name, edges in bounds.items()
    }


def _checked_edges(what, edges):
    given = edges
    if isinstance(edges, list | tuple):  # numpy's short numbers overflow
        numbers = [edge.item() if isinstance(edge, np.generic) else edge for edge in edges]
    else:
        numbers = edges.tolist() if isinstance(edges, np.ndarray) else []
    are_numbers = all(isinstance(edge, Real) and math.isfinite(edge) for edge in numbers)
    is_pair = are_numbers and len(numbers) == 2 and numbers[0] <= numbers[1]
    is_ladder = are_numbers and len(numbers) > 2 and _increase(numbers)
    if not is_pair and not is_ladder:
        raise ValueError(
            f"{what} must be two finite numbers (low, high), low not above high, or more numbers "
            f"that increase, the edges of bins; got {_short(given)}"
        )
    return list(numbers)


def _increase(numbers):
    return all(low < high for low, high in zip(numbers[:-1], numbers[1:], strict=True))


def _checked_missing(missing, dtype_by_name):
    """Return the names of columns that may have missing values; None if nothing is said."""
    if missing is None:
        return None
    if not isinstance(missing, list | tuple | set | range | np.ndarray | pd.Index):
        raise ValueError(
            "missing must be a list of the columns that may have missing values, [] for none, or "
            f"None; got {_short(missing)}"
        )
    missing = list(missing)
    _check_are_columns("missing", missing, dtype_by_name)
    complete = [name for name in missing if not _holds_missing(dtype_by_name[name])]
    if complete:
        raise ValueError(
            f"missing names {_names(complete)}, whose dtype holds no missing values; leave them "
            "out, or convert them (Int64, boolean)"
        )
    return set(missing)


def _holds_missing(dtype):
    return not isinstance(dtype, np.dtype) or dtype.kind not in "biu"


def _check_are_columns(parameter, names, dtype_by_name):
    unknown = [name for name in names if not _is_among(name, dtype_by_name)]
    if unknown:
        raise ValueError(
            f"{parameter} names {_names(unknown)}, which X does not have; its columns are "
            f"{_names(list(dtype_by_name))}"
        )


def _is_among(name, dtype_by_name):
    try:
        return name in dtype_by_name
    except TypeError:  # a list, say
        return False


def _check_are_known(dtype_by_name, categories):
    """Refuse columns that are neither numbers nor categories, in words that give no value away."""
    others = [
        name
        for name, dtype in dtype_by_name.items()
        if isinstance(dtype, pd.SparseDtype)
        or (name not in categories and getattr(dtype, "kind", "O") not in "iuf")
    ]
    if others:
        raise ValueError(
            f"columns {_names(others)} of X hold neither numbers nor known categories. Of text and "
            "objects, say which values there may be: categories={column: [...]}, or a "
            "pandas.CategoricalDtype. Make numbers of dates and lengths of time, and dense columns "
            "of sparse ones; drop what tells people apart, such as names"
        )


# --- one column ----------------------------------------------------------------------------------


class _Known:
    """What is known of the columns, and the names of those whose rows had to be looked at."""

    def __init__(self, categories, edges, missing, n_bins):
        self.categories = categories
        self.edges = edges
        self.missing = missing
        self.n_bins = n_bins
        self.read_bounds = []
        self.read_missing = []

    def column(self, name, dtype, values):
        """Return a column of the schema; `values` are private, and looked at if need be."""
        may_be_missing = self._may_be_missing(name, dtype, values)
        if name in self.categories:
            return _of_categories(name, dtype, self.categories[name], may_be_missing)
        edges = self.edges.get(name)
        if edges is None:
            self.read_bounds.append(name)
            edges = _range_of(values)
        if is_integer(dtype):
            edges = _integer_edges(name, dtype, edges, self.n_bins)
            return IntegerColumn(dtype, edges, may_be_missing)
        return RealColumn(dtype, _real_edges(name, dtype, edges, self.n_bins), may_be_missing)

    def _may_be_missing(self, name, dtype, values):
        if any(_is_missing(value) for value in self.categories.get(name, [])):
            return _holds_missing(dtype)
        if self.missing is not None:
            return name in self.missing
        if not _holds_missing(dtype):
            return False
        self.read_missing.append(name)
        return bool(values.isna().any())


def _is_missing(value):
    return pd.api.types.is_scalar(value) and bool(pd.isna(value))


def _range_of(values):
    """Return the least and the largest number of private values."""
    numbers = values[values.notna().to_numpy(dtype=bool)].to_numpy()
    if numbers.dtype.kind == "f":
        numbers = numbers.astype(float)
        numbers = np.clip(numbers[np.isfinite(numbers)], -_LARGEST_READ, _LARGEST_READ)
    if len(numbers) == 0:
        return [0, 1]
    return [numbers.min().item(), numbers.max().item()]


def _of_categories(name, dtype, categories, may_be_missing):
    values = [value for value in categories if not _is_missing(value)]
    column = None
    try:
        column = CategoryColumn(dtype, values, may_be_missing)
        fits = column.is_unique and column.n_values > 0
    except Exception:
        fits = False
    if not fits:
        raise ValueError(
            f"categories of column {name!r} must be different values that its dtype, "
            f"{numpy_free(dtype)}, can hold, at least one of them not missing"
        )
    return column


def numpy_free(dtype):
    """Return a dtype in words, without categories."""
    return "category" if isinstance(dtype, pd.CategoricalDtype) else str(dtype)


def _integer_edges(name, dtype, edges, n_bins):
    """Return the first number of each bin, and one more than the last of all."""
    limits = np.iinfo(numpy_dtype(dtype))
    low = math.ceil(edges[0])
    end = math.floor(edges[-1]) + 1
    inner = [math.ceil(edge) for edge in edges[1:-1]]
    if len(edges) == 2:
        n_bins = max(min(n_bins, end - low), 1)
        inner = [low - (low - end) * k // n_bins for k in range(1, n_bins)]
    whole = [low, *inner, end]
    if not _increase(whole) or low < limits.min or end - 1 > limits.max:
        raise ValueError(
            f"bounds of column {name!r} must have a whole number of {dtype} in each bin, "
            f"{limits.min} to {limits.max}; got {_short(edges)}"
        )
    return whole


def _real_edges(name, dtype, edges, n_bins):
    """Return where bins begin, and the last one ends."""
    most = float(np.finfo(numpy_dtype(dtype)).max)
    low, high = float(edges[0]), float(edges[-1])
    if max(-low, high) > most or not math.isfinite(high - low):
        raise ValueError(
            f"bounds of column {name!r} must be numbers of {dtype}, whose difference is too; got "
            f"{_short(edges)}"
        )
    if len(edges) > 2:
        return [float(edge) for edge in edges]
    if low == high:
        return [low, high]
    return np.linspace(low, high, n_bins + 1).tolist()


def _check_dtypes(X, schema):
    """Refuse dtypes whose rows, if drawn, would be others."""
    found = difference(X, schema.any_rows(2, np.random.default_rng(0)))
    if found is not None:
        raise ValueError(
            "a synthesizer cannot draw rows of the dtypes of X"
            + (f" in columns {_names(found.columns)}" if found.columns else "")
            + "; use plain ones, such as float64, Int64, str or pandas.CategoricalDtype([...])"
        )


# --- words ---------------------------------------------------------------------------------------


def _warn_of_what_was_read(known):
    parts = []
    if known.read_bounds:
        parts.append(
            f"the bounds of columns {_names(known.read_bounds)} (give bounds={{column: (low, "
            "high)})"
        )
    if known.read_missing:
        parts.append(
            f"whether values are missing in columns {_names(known.read_missing)} (give missing, a "
            "list of columns, [] for none)"
        )
    if parts:
        warn(
            f"read from the private rows, which the privacy guarantee does not cover: "
            f"{'; '.join(parts)}",
            PrivacyLeakWarning,
        )


def _names(names):
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"{names[:_MOST_NAMES]}{more}"


def _short(value):
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}..."
