"""What is public of a table: its columns, as declared, the bins of values, and values drawn."""

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

#: Bounds lie within, so that their difference is finite.
_LARGEST = 8e307


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
        self.columns = columns
        self.missing = missing

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
                    f"column {name!r} has only two values, {values}; bounds are a tuple"
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


# --- what the user says of the columns -----------------------------------------------------------


def declared_columns(X, bounds, categories, missing, *, n_bins):
    """Return the columns of a table as they are declared; no value of it is looked at.

    Parameters
    ----------
    X : DataFrame or array-like of shape (n_samples, n_columns)
        Private rows. Names and dtypes of the columns are taken to be public.
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
            f"a synthesizer cannot draw rows of the dtypes of columns {_short(found.columns)}; use "
            "plain ones, such as float64, Int64, str or pandas.CategoricalDtype([...])"
        )
    return schema


def _dtypes_by_name(X):
    return {name: values.dtype for name, values in columns_of(X).items()}


def _own_categories(dtypes):
    """Return the values of columns whose dtype says them, by name."""
    own = {name: [False, True] for name, dtype in dtypes.items() if _kind(dtype) == "b"}
    coded = {name: dtype for name, dtype in dtypes.items() if _kind(dtype) == "category"}
    return own | {name: list(dtype.categories) for name, dtype in coded.items()}


def _check_are_declared(dtypes, numbers, bounds, categories, missing):
    """Refuse names of columns that the table does not have, and columns that are not declared."""
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
            "give a list of its values"
        )
    lacking = [name for name in dtypes if name not in bounds and name not in categories]
    if lacking:
        raise ValueError(
            f"columns {_short(lacking)} of X are not declared, in a schema or in bounds and "
            "categories: give (low, high) of numbers and a list of values of others, as known "
            "publicly. Make numbers of dates and of texts of many kinds, and sparse columns dense"
        )
    complete = [name for name in missing if not _holds_missing(dtypes[name])]
    if complete:
        raise ValueError(
            f"missing names {_short(complete)}, whose dtype holds no missing values; leave them "
            "out, or convert them (Int64, boolean)"
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
            f"column {name!r} is categorical, with other categories than declared, and those of a "
            "dtype are published: convert it, X[column].astype(object)"
        )
    with contextlib.suppress(Exception):  # pandas has many words for values that do not fit
        return CategoryColumn(dtype, values, may_be_missing)
    raise ValueError(
        f"categories of column {name!r} must be different values that its dtype, {dtype}, can "
        f"hold, none of them missing; got {_short(values)}"
    )


def _number_column(name, dtype, edges, may_be_missing, n_bins):
    given = edges if isinstance(edges, list | tuple | np.ndarray) else ()
    # numpy's short numbers overflow
    edges = [edge.item() if isinstance(edge, np.generic) else edge for edge in given]
    are_finite = all(isinstance(edge, Real) and abs(edge) < math.inf for edge in edges)
    are_edges = are_finite and len(edges) >= 2 and edges == sorted(edges)
    if not are_edges or (len(edges) > 2 and len(set(edges)) < len(edges)):
        raise ValueError(
            f"bounds of column {name!r} must be two finite numbers (low, high), low not above "
            f"high, or more numbers that increase, the edges of bins; got {_short(given)}"
        )
    make_bins = _real_bins if _kind(dtype) == "f" else _integer_bins
    return NumberColumn(dtype, *make_bins(name, dtype, edges, n_bins), may_be_missing, edges)


def _integer_bins(name, dtype, bounds, n_bins):
    """Return the first whole number of each bin, and the last."""
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
    """Return the least number of each bin, and the greatest."""
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
    """Return the beginning of a value that the user gave, or of names."""
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
        Of an array.
    """

    columns: list
    names: pd.Index | None
    dtype: np.dtype | None

    def bins(self, X):
        """Yield the bin of each row, -1 for none, column after column."""
        return (column.bins(values) for column, values in self._with_values(X))

    @property
    def width(self):
        """Number of columns of `spread`."""
        return sum(column.width for column in self.columns) + 1

    @property
    def n_categories(self):
        """Number of declared categories of each column that has some, a dict."""
        names = range(len(self.columns)) if self.names is None else self.names
        pairs = zip(names, self.columns, strict=True)
        return {name: column.n_bins for name, column in pairs if isinstance(column, CategoryColumn)}

    def spread(self, X):
        """Return rows as numbers from -1 to 1, a constant last, (n_rows, width)."""
        parts = [column.spread(values) for column, values in self._with_values(X)]
        return np.column_stack([*parts, np.ones(len(X))])

    def _with_values(self, X):
        return zip(self.columns, columns_of(X).values(), strict=True)

    def gathered(self, spread):
        """Return the rows that such numbers, with noise or not, are nearest to."""
        ends = np.cumsum([column.width for column in self.columns])
        parts = np.split(spread[:, : ends[-1]], ends[:-1], axis=1)
        return self._table(map(Column.gathered, self.columns, parts))

    def rows(self, bins, rng):
        """Draw rows from their bins, which are an array for each column."""
        pairs = zip(self.columns, bins, strict=True)
        return self._table(column.draw(places, rng) for column, places in pairs)

    def _table(self, sampled):
        """Return columns as a table of the same form."""
        if self.names is None:
            return np.column_stack([values.to_numpy() for values in sampled]).astype(self.dtype)
        rows = pd.concat(sampled, axis=1)
        rows.columns = self.names
        return rows

    def any_rows(self, n_rows, rng):
        """Draw rows from bins that are all equally likely."""
        return self.rows([rng.integers(column.n_bins, size=n_rows) for column in self.columns], rng)

    def check(self, X):
        """Return a table of the same form; refuse others, by their form alone."""
        X = self.like(X)
        if self.difference(X) is not None:
            raise ValueError("X has other columns or dtypes than were declared; declare a clone")
        return X

    def like(self, X):
        """Return a table with as many columns; their dtypes may be others."""
        X = checked_table(X)
        if X.shape[1] != len(self.columns):
            raise ValueError(f"X must have {len(self.columns)} columns; got {X.shape[1]}")
        return X

    def within(self, X):
        """Return a table of the same form, with numbers beyond the bounds at the nearer bound."""
        X = self.like(X)
        values = [column.within(series) for column, series in self._with_values(X)]
        if not isinstance(X, pd.DataFrame):
            return np.column_stack(values)
        rows = pd.concat(values, axis=1)
        rows.columns = X.columns
        return rows

    def difference(self, X):
        """Return how the form of a table differs from that of drawn rows; None if it does not."""
        return difference(X, self.any_rows(2, np.random.default_rng(0)))


def checked_table(X):
    """Return `X`, a DataFrame of pandas or an array of numbers with two axes; refuse others."""
    if isinstance(X, pd.DataFrame):
        if X.shape[1] == 0 or not X.columns.is_unique:
            raise ValueError(f"X must have columns with unique names; got {list(X.columns)}")
        return X
    is_list = isinstance(X, list | tuple)
    if sparse.issparse(X) or hasattr(X, "columns") or not (is_list or hasattr(X, "__array__")):
        raise ValueError(
            f"X is a {type(X).__name__}, and a synthesizer takes DataFrames of pandas, and arrays "
            "that are not sparse: pass X.to_pandas() or X.toarray(), or public rows, X_public"
        )
    X = as_array("X", X, dtype=float if is_list else None)  # whose dtype its values would tell
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        complex_data = "Complex data not supported: " if X.dtype.kind == "c" else ""
        raise ValueError(
            f"{complex_data}X must be an array of numbers with two axes for a synthesizer; got "
            f"{X.ndim} axes of {kind_of(X.dtype)}. Texts and objects are to be columns of a "
            "DataFrame. Images and long texts need public rows, X_public"
        )
    if X.shape[1] == 0:
        raise ValueError(f"X has 0 feature(s) (shape={X.shape}) while a minimum of 1 is required.")
    return X


def _are_missing(values):
    """Return which values of a Series are missing; one that cannot be asked is not."""
    try:
        return values.isna().to_numpy(dtype=bool)
    except Exception:  # one value decides, such as a signalling NaN of decimal
        return np.array([attempt(lambda v=v: bool(pd.isna(v)))[0] is True for v in values])


def columns_of(X):
    """Return each column as a Series, by its name, or by its position in an array."""
    if isinstance(X, pd.DataFrame):
        return {name: X.iloc[:, k] for k, name in enumerate(X.columns)}
    native = X.dtype.newbyteorder("=")  # pandas has no other
    return {k: pd.Series(X[:, k].astype(native, copy=False)) for k in range(X.shape[1])}


# --- one column ----------------------------------------------------------------------------------


class Column:
    """What is public of a column. Values that are missing have the last bin, or none.

    A subclass has `_bins`, `_draw`, `_spread` and `_gathered`, which see no missing value, and
    `_width`.

    Attributes
    ----------
    dtype : numpy or pandas dtype
    n_values : int
        Number of bins of values that are not missing.
    may_be_missing : bool
        Whether there is one more bin.
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
        """Return the bin of each value of a Series, each by itself; -1 for no bin."""
        missing = _are_missing(values)
        bins = np.full(len(values), self.n_values if self.may_be_missing else -1)
        bins[~missing] = self._bins(values[~missing])
        return bins

    def draw(self, bins, rng):
        """Draw a value from each bin, uniformly; return a Series of the column's dtype."""
        missing = bins == self.n_values
        return _masked(self._draw(np.where(missing, 0, bins), rng), missing)

    def spread(self, values):
        """Return a Series as numbers from -1 to 1, (n_rows, width), each row by itself.

        A missing value, or an unknown one, is 0 everywhere but in the column that says "missing".
        """
        missing = _are_missing(values)
        spread = np.zeros((len(values), self.width))
        spread[~missing, : self._width] = self._spread(values[~missing])
        if self.may_be_missing:
            spread[missing, -1] = 1.0
        return spread

    def within(self, values):
        """Return a Series with numbers beyond the bounds at the nearer one; others as they are."""
        return values

    def gathered(self, spread):
        """Return the Series of values that such numbers, with noise or not, are nearest to."""
        values = self._gathered(spread[:, : self._width])
        return _masked(values, spread[:, -1] > 0.5) if self.may_be_missing else values


def _masked(values, missing):
    """Return values with missing ones; where there are none, the dtype may not hold any."""
    return values.mask(missing) if missing.any() else values


class CategoryColumn(Column):
    """A column of known values: a bin for each.

    Parameters
    ----------
    dtype : numpy or pandas dtype
    categories : list
        None of them missing.
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
        """Return the values, as objects, in the order of their bins; the missing one is last."""
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
        except Exception:  # what cannot be looked up, such as a list, is no category
            return -1

    def _draw(self, bins, rng):
        return self._values.take(bins).reset_index(drop=True)

    def _spread(self, values):
        return (self._bins(values)[:, None] == np.arange(self.n_values)).astype(float)

    def _gathered(self, spread):
        return self._draw(spread.argmax(axis=1), None)


class NumberColumn(Column):
    """A column of numbers between bounds: each bin has those from its least one to the next bin.

    Parameters
    ----------
    dtype : numpy or pandas dtype
    least, greatest : list of float or of int
        The least and the greatest number that are drawn from each bin, in increasing order.
    may_be_missing : bool
    edges : list of numbers
        As declared: bounds, or the edges of bins. They are spread evenly from -1 to 1.
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
        """Return a Series of numbers, those beyond the bounds at the nearer one."""
        return values.clip(self._edges[0], self._edges[-1])

    def points(self):
        """Return the points between which `spread` is a line, as arguments of `numpy.interp`."""
        if self._edges[0] == self._edges[-1]:
            return {"xp": self._edges[:1], "fp": np.zeros(1)}
        return {"xp": self._edges, "fp": self._places}

    def inner_bounds(self):
        """Return the least number of each bin but the first."""
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
        return np.where(np.isfinite(spread), spread, 0.0)[:, None]  # no record may make an error

    def _gathered(self, spread):
        numbers = np.interp(spread[:, 0], self._places, self._edges)
        if self._wide.kind != "f":
            numbers = np.rint(numbers)
        sampled = np.clip(numbers.astype(self._wide), self._least[0], self._greatest[-1])
        return pd.Series(sampled).astype(self.dtype)


def numpy_dtype(dtype):
    """Return the numpy dtype of what a dtype holds."""
    return np.dtype(getattr(dtype, "numpy_dtype", dtype))


def _kind(dtype):
    """Return what a dtype holds: a letter as of numpy, "O" for text and objects, or a word."""
    words = {pd.SparseDtype: "sparse", pd.CategoricalDtype: "category"}
    return words.get(type(dtype), getattr(dtype, "kind", "O"))


def _holds_missing(dtype):
    """Whether a dtype has missing values."""
    return not isinstance(dtype, np.dtype) or dtype.kind not in "biu"
