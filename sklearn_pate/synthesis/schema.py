"""What is public of a table: its columns, and what each may hold."""

import math
from typing import NamedTuple

import numpy as np
import pandas as pd

from ..exceptions import PrivacyLeakWarning, warn
from ..schema import difference
from .columns import CategoryColumn, NumberColumn, are_missing, holds_missing, kind_of, numpy_dtype
from .parameters import bounds_by_name, categories_by_name, missing_names, short
from .table import checked_table, columns_of, dtypes_of, named, remedies

#: Bounds that are read lie within, so that their difference is finite.
_LARGEST_READ = 8e307


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
        for column, values in zip(self.columns, columns_of(X), strict=True):
            yield column.bins(values)

    @property
    def width(self):
        """Number of columns of `spread`."""
        return sum(column.width for column in self.columns) + 1

    def spread(self, X):
        """Return rows as numbers from -1 to 1, a constant last, (n_rows, width)."""
        parts = [
            column.spread(values)
            for column, values in zip(self.columns, columns_of(X), strict=True)
        ]
        return np.column_stack([*parts, np.ones(len(X))])

    def gathered(self, spread):
        """Return the rows that such numbers, with noise or not, are nearest to."""
        ends = np.cumsum([column.width for column in self.columns])
        parts = np.split(spread[:, : ends[-1]], ends[:-1], axis=1)
        return self._table(
            [column.gathered(part) for column, part in zip(self.columns, parts, strict=True)]
        )

    def rows(self, bins, rng):
        """Draw rows from their bins, which are an array for each column."""
        return self._table(
            [column.draw(places, rng) for column, places in zip(self.columns, bins, strict=True)]
        )

    def _table(self, drawn):
        """Return columns as a table of the same form."""
        if self.names is None:
            return np.column_stack([values.to_numpy() for values in drawn]).astype(self.dtype)
        rows = pd.concat(drawn, axis=1)
        rows.columns = self.names
        return rows

    def any_rows(self, n_rows, rng):
        """Draw rows from bins that are all equally likely."""
        return self.rows([rng.integers(column.n_bins, size=n_rows) for column in self.columns], rng)

    def check(self, X):
        """Return a table of the same form; refuse others, by their form alone."""
        X = checked_table(X)
        if X.shape[1] != len(self.columns) or self.difference(X) is not None:
            raise ValueError(
                "X has other columns or dtypes than were declared; declare a clone for it"
            )
        return X

    def like(self, X):
        """Return a table with as many columns; their dtypes may be others."""
        X = checked_table(X)
        if X.shape[1] != len(self.columns):
            raise ValueError(
                f"X must have the {len(self.columns)} declared columns; got {X.shape[1]}"
            )
        return X

    def difference(self, X):
        """Return how the form of a table differs from that of drawn rows; None if it does not."""
        return difference(X, self.any_rows(2, np.random.default_rng(0)))


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
    dtype_by_name = dtypes_of(X)
    categories = categories_by_name(categories, dtype_by_name)
    bounds = bounds_by_name(bounds, dtype_by_name, categories)
    missing = missing_names(missing, dtype_by_name)
    _check_are_known(dtype_by_name, categories)
    reader = _Reader(categories, bounds, missing, n_bins)
    columns = [
        reader.column(name, dtype, values)
        for (name, dtype), values in zip(dtype_by_name.items(), columns_of(X), strict=True)
    ]
    not_covered = reader.warn(has_dtype)
    if isinstance(X, pd.DataFrame):
        schema = Columns(columns, names=X.columns.copy(), dtype=None)
    else:
        schema = Columns(columns, names=None, dtype=X.dtype)
    found = schema.difference(X)
    if found is not None:
        where = f" in columns {named(found.columns)}" if found.columns else ""
        raise ValueError(
            f"a synthesizer cannot draw rows of the dtypes of X{where}; use plain ones, such as "
            "float64, Int64, str or pandas.CategoricalDtype([...])"
        )
    return schema, not_covered


def _check_are_known(dtype_by_name, categories):
    """Refuse columns that are neither numbers nor categories."""
    others = {
        name: dtype
        for name, dtype in dtype_by_name.items()
        if kind_of(dtype) == "sparse" or (name not in categories and kind_of(dtype) not in "iuf")
    }
    if others:
        raise ValueError(
            f"all columns of X must hold numbers or known categories; {remedies(others)}"
        )


class _Reader:
    """Makes columns, and notes those whose private values it had to look at."""

    def __init__(self, categories, bounds, missing, n_bins):
        self._categories = categories
        self._bounds = bounds
        self._missing = missing
        self._n_bins = n_bins
        self._read_bounds = []
        self._read_missing = []

    def column(self, name, dtype, values):
        """Return a column of the schema."""
        may_be_missing = self._may_be_missing(name, dtype, values)
        if name in self._categories:
            return _category_column(name, dtype, self._categories[name], may_be_missing)
        bounds = self._bounds.get(name)
        if bounds is None:
            self._read_bounds.append(name)
            bounds = _range_of(values)
        make_bins = _real_bins if kind_of(dtype) == "f" else _integer_bins
        bins = make_bins(name, dtype, bounds, self._n_bins)
        return NumberColumn(dtype, bins, may_be_missing, edges=bounds)

    def _may_be_missing(self, name, dtype, values):
        if any(_is_missing(value) for value in self._categories.get(name, [])):
            return True
        if self._missing is not None:
            return name in self._missing
        if holds_missing(dtype) or kind_of(dtype) in "iu":
            # With a missing value, whole numbers would mostly have become floats
            self._read_missing.append(name)
        return holds_missing(dtype) and bool(are_missing(values).any())

    def warn(self, has_dtype):
        """Warn of what was read, in words that give no value away, and return these."""
        remedy_by_part = {}
        if not has_dtype:
            remedy_by_part["the dtype of X"] = "an array, as np.array(X, dtype=float)"
        if self._read_bounds:
            part = f"the bounds of columns {named(self._read_bounds)}"
            remedy_by_part[part] = "bounds={column: (low, high)}"
        if self._read_missing:
            part = f"whether values are missing in columns {named(self._read_missing)}"
            remedy_by_part[part] = "missing=[...], the columns that may have them"
        if remedy_by_part:
            parts = [f"{part} (give {remedy})" for part, remedy in remedy_by_part.items()]
            warn(
                "read from the private rows, which the privacy guarantee does not cover: "
                + "; ".join(parts),
                PrivacyLeakWarning,
            )
        return tuple(f"{part}, read from the private rows" for part in remedy_by_part)


def _is_missing(value):
    return pd.api.types.is_scalar(value) and bool(pd.isna(value))


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
    values = [value for value in categories if not _is_missing(value)]
    is_said = len(values) < len(categories)
    try:
        column = CategoryColumn(dtype, values, may_be_missing)
        fits = column.is_unique and column.n_values > 0
    except Exception:  # pandas has many words for values that do not fit
        fits = False
    if not fits or (is_said and not holds_missing(dtype)):
        in_words = "category" if isinstance(dtype, pd.CategoricalDtype) else str(dtype)
        raise ValueError(
            f"categories of column {name!r} must be different values that its dtype, {in_words}, "
            f"can hold, at least one of them not missing; got {short(categories)}"
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
