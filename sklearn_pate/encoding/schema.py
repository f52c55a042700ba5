"""Public description of a table: its declared columns, bins of values, and sampled values."""

import contextlib
import math
from numbers import Real
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from .._numbers import shown
from ..rdp.checks import as_array
from ..runtime.isolation import attempt, kind_of
from .dtypes import difference

#: Largest absolute value of a bound, so that the difference of two bounds is finite.
_LARGEST = 8e307


class Schema:
    """Declared values of the columns of a table: public, so safe to print and to publish.

    Parameters
    ----------
    columns : dict, list or tuple
        For each column, a tuple of numbers, ``(low, high)`` or the edges of bins, or a list of
        categories. The keys of a dict are column names, or positions in an array. A list has all
        columns in order. A tuple of numbers applies to all columns of an array. Boolean columns
        and pandas categoricals need no declaration.
    missing : list, default=()
        Columns that may have missing values. Missing values of other columns are not counted.

    Examples
    --------
    >>> from sklearn_pate.synthesis import Schema
    >>> Schema({"age": (18, 90), "job": ["clerk", "farmer"]}, missing=["job"])
    Schema({'age': (18, 90), 'job': ['clerk', 'farmer']}, missing=['job'])
    """

    def __init__(self, columns, *, missing=()):
        self.columns = columns
        self.missing = missing

    def __repr__(self):
        return f"Schema({self.columns!r}, missing={self.missing!r})"

    def parameters(self, X):
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
            If a column is not declared by a tuple or a list.
        """
        dtypes = _dtypes_by_name(checked_table(X))
        declared = self.columns
        if isinstance(declared, tuple):
            declared = [declared] * len(dtypes)
        if isinstance(declared, list) and len(declared) == len(dtypes):
            declared = dict(zip(dtypes, declared, strict=True))
        if not isinstance(declared, dict):
            raise ValueError(
                f"schema must be a dict, a tuple or a list; X has {len(dtypes)} columns, got "
                f"{_short(declared)}"
            )
        for name, values in declared.items():
            if not isinstance(values, tuple | list):
                raise ValueError(
                    "schema must have a tuple of numbers, (low, high), for each column of numbers, "
                    f"and a list of categories for others; got {_short(values)} for {name!r}"
                )
            are_two = len(values) == 2 and all(isinstance(value, Real) for value in values)
            is_list = isinstance(values, list) and _kind(dtypes.get(name)) in "iuf"
            if is_list and are_two and values[1] - values[0] != 1:  # they may be meant as bounds
                raise ValueError(
                    f"column {name!r} has only the two values {values}: bounds are a tuple, (low, "
                    "high)"
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


def declared_columns(X, bounds, categories, missing, *, n_bins):
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
    """
    X = checked_table(X)
    dtypes = _dtypes_by_name(X)
    categories = _own_categories(dtypes) | (categories or {})
    numbers = [name for name, t in dtypes.items() if _kind(t) in "iuf" and name not in categories]
    if not isinstance(bounds, dict):
        bounds = {} if bounds is None else dict.fromkeys(numbers, bounds)
    missing = [] if missing is None else missing
    if isinstance(missing, str) or not np.iterable(missing):
        raise ValueError(f"missing must be a list of columns that may have gaps; got {missing!r}")
    missing = list(missing)
    _check_are_declared(dtypes, numbers, bounds, categories, missing)
    columns = [
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


def _dtypes_by_name(X):
    return {name: values.dtype for name, values in columns_of(X).items()}


def _own_categories(dtypes):
    """Return the values of boolean and categorical columns, which dtypes determine, by name."""
    own = {name: [False, True] for name, dtype in dtypes.items() if _kind(dtype) == "b"}
    coded = {name: dtype for name, dtype in dtypes.items() if _kind(dtype) == "category"}
    return own | {name: list(dtype.categories) for name, dtype in coded.items()}


def _check_are_declared(dtypes, numbers, bounds, categories, missing):
    """Refuse unknown names of columns, and columns that are not declared."""
    given = {"bounds": bounds, "categories": categories, "missing": missing}
    for parameter, names in given.items():
        unknown = [name for name in names if name not in list(dtypes)]  # a name may be a list
        if unknown:
            raise ValueError(
                f"{parameter} names {_short(unknown)}, which X does not have; its columns are "
                f"{_short(list(dtypes))}"
            )
    others = [name for name in bounds if name not in numbers]
    if others:
        raise ValueError(
            f"bounds, (low, high), are for numbers without categories, not for {_short(others)}: "
            "give a list of its values instead"
        )
    lacking = [name for name in dtypes if name not in bounds and name not in categories]
    if lacking:
        raise ValueError(
            f"columns {_short(lacking)} of X are not declared, in a schema or in bounds and "
            "categories: give (low, high) for numbers and a list of values for others, from public "
            "knowledge. Convert dates, and texts with many values, to numbers, and sparse columns "
            "to dense ones"
        )
    complete = [name for name in missing if not _holds_missing(dtypes[name])]
    if complete:
        raise ValueError(
            f"missing names {_short(complete)}, whose dtype holds no missing values; leave them "
            "out, or convert these columns (Int64, boolean)"
        )


def _category_column(name, dtype, values, may_be_missing):
    if not isinstance(values, list | tuple | np.ndarray | pd.Index):
        raise ValueError(
            f"categories of column {name!r} must be a list of values, in an order that does not "
            f"depend on the private rows; got {_short(values)}"
        )
    values = list(values)
    own = list(dtype.categories) if _kind(dtype) == "category" else values
    if len(own) != len(values) or not all(value in values for value in own):
        raise ValueError(
            f"column {name!r} is categorical, and the categories of its dtype, which are "
            "published, differ from the declared ones: convert it, X[column].astype(object)"
        )
    with contextlib.suppress(Exception):  # pandas has many errors for values that do not fit
        return CategoryColumn(dtype, values, may_be_missing)
    raise ValueError(
        f"categories of column {name!r} must be different values that its dtype, {dtype}, can "
        f"hold, none of them missing; got {_short(values)}"
    )


def _number_column(name, dtype, edges, may_be_missing, n_bins):
    given = edges if isinstance(edges, list | tuple | np.ndarray) else ()
    # numpy's short integers overflow
    edges = [edge.item() if isinstance(edge, np.generic) else edge for edge in given]
    are_finite = all(isinstance(edge, Real) and abs(edge) < math.inf for edge in edges)
    are_edges = are_finite and len(edges) >= 2 and edges == sorted(edges)
    if not are_edges or (len(edges) > 2 and len(set(edges)) < len(edges)):
        raise ValueError(
            f"bounds of column {name!r} must be two finite numbers (low, high), low not above "
            f"high, or more numbers in increasing order, the edges of bins; got {_short(given)}"
        )
    make_bins = _real_bins if _kind(dtype) == "f" else _integer_bins
    return NumberColumn(dtype, *make_bins(name, dtype, edges, n_bins), may_be_missing, edges)


def _integer_bins(name, dtype, bounds, n_bins):
    """Return the first and the last integer of each bin."""
    low = math.ceil(bounds[0])
    high = math.floor(bounds[-1])
    n_values = high - low + 1
    if len(bounds) > 2:
        first = [low, *(math.ceil(edge) for edge in bounds[1:-1])]
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
            f"bounds of column {name!r} must have whole numbers between them, and between any two "
            f"edges, from {limits.min} to {limits.max}; got {_short(bounds)}"
        )
    return first, last


def _real_bins(name, dtype, bounds, n_bins):
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


def _short(value):
    """Return the text of a value, or of names, cut to 200 characters."""
    text = shown(value)
    return text if len(text) <= 200 else f"{text[:200]}..."


# --- the table -----------------------------------------------------------------------------------


class Columns(NamedTuple):
    """The columns of a table.

    Attributes
    ----------
    columns : list of Column
        In order.
    names : pandas.Index or None
        Names of the columns of a DataFrame; None for an array.
    dtype : numpy.dtype or None
        Dtype of an array; None for a DataFrame.
    """

    columns: list
    names: pd.Index | None
    dtype: np.dtype | None

    def bins(self, X):
        """Yield the bins of all rows, column by column; -1 is no bin."""
        return (column.bins(values) for column, values in self._with_values(X))

    @property
    def width(self):
        """Number of columns of `spread`."""
        return sum(column.width for column in self.columns) + 1

    @property
    def n_categories(self):
        """Number of declared categories of each categorical column, a dict."""
        names = range(len(self.columns)) if self.names is None else self.names
        pairs = zip(names, self.columns, strict=True)
        return {name: column.n_bins for name, column in pairs if isinstance(column, CategoryColumn)}

    def spread(self, X):
        """Encode rows as numbers from -1 to 1, with a constant last column, (n_rows, width)."""
        parts = [column.spread(values) for column, values in self._with_values(X)]
        return np.column_stack([*parts, np.ones(len(X))])

    def _with_values(self, X):
        return zip(self.columns, columns_of(X).values(), strict=True)

    def gathered(self, spread):
        """Decode numbers from `spread`, with or without noise, to the nearest rows."""
        ends = np.cumsum([column.width for column in self.columns])
        parts = np.split(spread[:, : ends[-1]], ends[:-1], axis=1)
        return self._table(map(Column.gathered, self.columns, parts))

    def rows(self, bins, rng):
        """Draw rows from bins, given as one array per column."""
        pairs = zip(self.columns, bins, strict=True)
        return self._table(column.draw(places, rng) for column, places in pairs)

    def _table(self, sampled):
        """Combine sampled columns into a table of the declared form."""
        if self.names is None:
            return np.column_stack([values.to_numpy() for values in sampled]).astype(self.dtype)
        rows = pd.concat(sampled, axis=1)
        rows.columns = self.names
        return rows

    def any_rows(self, n_rows, rng):
        """Draw rows uniformly from all bins."""
        return self.rows([rng.integers(column.n_bins, size=n_rows) for column in self.columns], rng)

    def check(self, X):
        """Return a table of the declared form; refuse other tables, by their form alone."""
        X = self.like(X)
        if self.difference(X) is not None:
            raise ValueError(
                "X has other columns or dtypes than were declared; call declare of a clone with X"
            )
        return X

    def like(self, X):
        """Return a table with the declared number of columns; dtypes may differ."""
        X = checked_table(X)
        if X.shape[1] != len(self.columns):
            raise ValueError(f"X must have {len(self.columns)} columns; got {X.shape[1]}")
        return X

    def within(self, X):
        """Return a table of the same form, with numbers clipped to the declared bounds."""
        X = self.like(X)
        values = [column.within(series) for column, series in self._with_values(X)]
        if not isinstance(X, pd.DataFrame):
            return np.column_stack(values)
        rows = pd.concat(values, axis=1)
        rows.columns = X.columns
        return rows

    def difference(self, X):
        """Return the difference in form between a table and synthetic rows, or None."""
        return difference(X, self.any_rows(2, np.random.default_rng(0)))


def checked_table(X):
    """Return `X` if it is a pandas DataFrame or a 2-D array of numbers; refuse other tables."""
    if isinstance(X, pd.DataFrame):
        if X.shape[1] == 0 or not X.columns.is_unique:
            raise ValueError(f"X must have columns with unique names; got {list(X.columns)}")
        return X
    is_list = isinstance(X, list | tuple)
    if sparse.issparse(X) or hasattr(X, "columns") or not (is_list or hasattr(X, "__array__")):
        raise ValueError(
            f"X is a {type(X).__name__}, and a synthesizer requires a pandas DataFrame or an array "
            "that is not sparse: pass X.to_pandas() or X.toarray(), or public rows, X_public"
        )
    # The dtype of a list would depend on its values
    X = as_array("X", X, dtype=float if is_list else None)
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        complex_data = "Complex data not supported: " if X.dtype.kind == "c" else ""
        raise ValueError(
            f"{complex_data}X must be an array of numbers with two axes for a synthesizer; got "
            f"{X.ndim} axes of {kind_of(X.dtype)}. Give texts and objects as columns of a "
            "DataFrame. Images and long texts require public rows, X_public"
        )
    if X.shape[1] == 0:
        raise ValueError(f"X has 0 feature(s) (shape={X.shape}) while a minimum of 1 is required.")
    return X


def _are_missing(values):
    """Return a mask of the missing values of a Series; a value that raises is not missing."""
    try:
        return values.isna().to_numpy(dtype=bool)
    except Exception:  # raised by a single value, such as a signalling NaN of decimal
        return np.array([attempt(lambda v=v: bool(pd.isna(v)))[0] is True for v in values])


def columns_of(X):
    """Return a dict of all columns as Series, by name, or by position in an array."""
    if isinstance(X, pd.DataFrame):
        return {name: X.iloc[:, k] for k, name in enumerate(X.columns)}
    native = X.dtype.newbyteorder("=")  # pandas supports no other byte order
    return {k: pd.Series(X[:, k].astype(native, copy=False)) for k in range(X.shape[1])}


# --- one column ----------------------------------------------------------------------------------


class Column:
    """Public description of a column.

    Missing values have the last bin, or none. A subclass defines `_width`, and `_bins`, `_draw`,
    `_spread` and `_gathered`, which are never called with missing values.

    Attributes
    ----------
    dtype : numpy or pandas dtype
    n_values : int
        Number of bins of values that are not missing.
    may_be_missing : bool
        Whether there is one more bin, for missing values.
    n_bins : int
        Number of bins.
    width : int
        Number of columns of `spread`.
    """

    def __init__(self, dtype, n_values, may_be_missing):
        self.dtype = dtype
        self.n_values = n_values
        self.may_be_missing = may_be_missing
        self.n_bins = n_values + may_be_missing
        self.width = self._width + may_be_missing

    def bins(self, values):
        """Return the bin of each value of a Series, by that value alone; -1 is no bin."""
        missing = _are_missing(values)
        bins = np.full(len(values), self.n_values if self.may_be_missing else -1)
        bins[~missing] = self._bins(values[~missing])
        return bins

    def draw(self, bins, rng):
        """Draw a value from each bin, uniformly; return a Series of the column's dtype."""
        missing = bins == self.n_values
        return _masked(self._draw(np.where(missing, 0, bins), rng), missing)

    def spread(self, values):
        """Encode a Series as numbers from -1 to 1, (n_rows, width), each row by itself.

        A missing or undeclared value is 0 everywhere, but a missing value is 1 in the column of
        missing values, if there is one.
        """
        missing = _are_missing(values)
        spread = np.zeros((len(values), self.width))
        spread[~missing, : self._width] = self._spread(values[~missing])
        if self.may_be_missing:
            spread[missing, -1] = 1.0
        return spread

    def within(self, values):
        """Clip a Series of numbers to the bounds; return other Series unchanged."""
        return values

    def gathered(self, spread):
        """Decode numbers from `spread`, with or without noise, to the nearest values, a Series."""
        values = self._gathered(spread[:, : self._width])
        return _masked(values, spread[:, -1] > 0.5) if self.may_be_missing else values


def _masked(values, missing):
    """Mask values as missing; without any, skip it, as the dtype may not hold missing values."""
    return values.mask(missing) if missing.any() else values


class CategoryColumn(Column):
    """A column of declared values, with one bin each.

    Parameters
    ----------
    dtype : numpy or pandas dtype
    categories : list
        Values, none of them missing.
    may_be_missing : bool
    """

    def __init__(self, dtype, categories, may_be_missing):
        self._values = pd.Series(categories, dtype=dtype)
        are_rounded = _kind(dtype) != "f" and list(self._values) != list(categories)
        self._bin_by_value = {value: k for k, value in enumerate(self._values.astype(object))}
        self._width = len(self._bin_by_value)
        are_all = 0 < self._width == len(self._values) and not self._values.isna().any()
        if are_rounded or not are_all:
            raise ValueError("categories must differ, and not be missing, in the column's dtype")
        super().__init__(dtype, self._width, may_be_missing)

    def categories(self, missing):
        """Return the values as objects, in the order of their bins, with the missing one last."""
        last = [missing] if self.may_be_missing else []
        return np.array([*self._bin_by_value, *last], dtype=object)

    def _bins(self, values):
        if _kind(values.dtype) == "category":
            place = np.array([self._bin_of(value) for value in values.dtype.categories])
            return place[values.cat.codes.to_numpy()]
        return np.array([self._bin_of(value) for value in values.astype(object)], dtype=np.int64)

    def _bin_of(self, value):
        try:
            return self._bin_by_value.get(value, -1)
        except Exception:  # a value without a hash, such as a list, is not a category
            return -1

    def _draw(self, bins, rng):
        return self._values.take(bins).reset_index(drop=True)

    def _spread(self, values):
        return (self._bins(values)[:, None] == np.arange(self.n_values)).astype(float)

    def _gathered(self, spread):
        return self._draw(spread.argmax(axis=1), None)


class NumberColumn(Column):
    """A column of numbers between bounds, in bins that reach from their least number to the next.

    Parameters
    ----------
    dtype : numpy or pandas dtype
    least, greatest : list of float or of int
        The smallest and the largest number drawn from each bin, in increasing order.
    may_be_missing : bool
    edges : list of numbers
        Declared bounds, or edges of bins. They are encoded as evenly spaced numbers from -1 to 1.
    """

    _width = 1

    def __init__(self, dtype, least, greatest, may_be_missing, edges):
        kind = numpy_dtype(dtype).kind
        self._wide = np.dtype({"i": np.int64, "u": np.uint64, "f": np.float64}[kind])
        self._least = np.array(least, dtype=self._wide)
        self._greatest = np.array(greatest, dtype=self._wide)
        self._edges = np.array(edges, dtype=float)
        self._places = np.linspace(-1, 1, len(edges))
        super().__init__(dtype, len(least), may_be_missing)

    def within(self, values):
        """Clip a Series of numbers to the bounds."""
        return values.clip(self._edges[0], self._edges[-1])

    def points(self):
        """Return the points that `spread` interpolates linearly, as arguments of `numpy.interp`."""
        if self._edges[0] == self._edges[-1]:
            return {"xp": self._edges[:1], "fp": np.zeros(1)}
        return {"xp": self._edges, "fp": self._places}

    def inner_bounds(self):
        """Return the smallest number of each bin except the first."""
        return self._least[1:]

    def _bins(self, values):
        is_as_declared = _kind(values.dtype) == self._wide.kind
        numbers = values.to_numpy(dtype=self._wide if is_as_declared else float)
        return np.searchsorted(self._least[1:], numbers, side="right")

    def _draw(self, bins, rng):
        least, greatest = self._least[bins], self._greatest[bins]
        if self._wide.kind == "f":
            sampled = least + (greatest - least) * rng.random(len(bins))
        else:
            sampled = rng.integers(least, greatest, endpoint=True, dtype=self._wide)
        return pd.Series(sampled).astype(self.dtype)

    def _spread(self, values):
        with np.errstate(all="ignore"):
            spread = np.interp(values.to_numpy(dtype=float), **self.points())
        return np.where(np.isfinite(spread), spread, 0.0)[:, None]  # no record may raise an error

    def _gathered(self, spread):
        numbers = np.interp(spread[:, 0], self._places, self._edges)
        if self._wide.kind != "f":
            numbers = np.rint(numbers)
        sampled = np.clip(numbers.astype(self._wide), self._least[0], self._greatest[-1])
        return pd.Series(sampled).astype(self.dtype)


def numpy_dtype(dtype):
    """Return the numpy dtype of the values of a dtype."""
    return np.dtype(getattr(dtype, "numpy_dtype", dtype))


def _kind(dtype):
    """Return the kind of a dtype: a letter of numpy, "O" for text and objects, or a word."""
    words = {pd.SparseDtype: "sparse", pd.CategoricalDtype: "category"}
    return words.get(type(dtype), getattr(dtype, "kind", "O"))


def _holds_missing(dtype):
    """Return whether a dtype can hold missing values."""
    return not isinstance(dtype, np.dtype) or dtype.kind not in "biu"
