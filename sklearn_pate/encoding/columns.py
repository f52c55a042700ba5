"""Declared columns of a table: bins of values, and values drawn from bins."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from pandas.api.extensions import ExtensionDtype
from scipy import sparse

from ..rdp.checks import as_array
from ..runtime.isolation import attempt, kind_of
from .dtypes import Difference, difference
from .texts import distinct_values
from .values import cells_of

if TYPE_CHECKING:
    from .._typing import Rows

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
    by_value : tuple of int
        Positions of the columns that are read by value: `values.cells_of` converts their cells one
        by one, regardless of the dtype. Numeric columns become floats, and categorical columns
        become texts of dtype object.
    """

    columns: list[Column]
    names: pd.Index | None
    dtype: np.dtype | None
    by_value: tuple[int, ...] = ()

    def bins(self, X: Rows) -> Iterator[np.ndarray]:
        """Yield the bins of all rows, column by column; -1 for values without a bin."""
        return (column.bins(values) for column, values in self._with_values(X))

    def declaration(self) -> tuple[dict[Any, Any], list[Any]]:
        """Return the declared values by column name, and the columns that may have gaps."""
        names = range(len(self.columns)) if self.names is None else list(self.names)
        pairs = list(zip(names, self.columns, strict=True))
        declared = {name: column.declaration() for name, column in pairs}
        return declared, [name for name, column in pairs if column.may_be_missing]

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.columns)

    @property
    def n_categories(self) -> dict[Any, int]:
        """Number of categories of each categorical column, by name, without the bin for gaps."""
        names = range(len(self.columns)) if self.names is None else self.names
        pairs = zip(names, self.columns, strict=True)
        return {
            name: column.n_values for name, column in pairs if isinstance(column, CategoryColumn)
        }

    def _with_values(self, X: Rows) -> Iterator[tuple[Column, pd.Series]]:
        return zip(self.columns, columns_of(X).values(), strict=True)

    def rows(self, bins: Iterable[np.ndarray], rng: np.random.Generator) -> Rows:
        """Draw rows from bins, given as one array per column."""
        pairs = zip(self.columns, bins, strict=True)
        return self.table(column.draw(places, rng) for column, places in pairs)

    def table(self, sampled: Iterable[pd.Series]) -> Rows:
        """Combine Series, one for each column, into a table of the declared form."""
        if self.names is None:
            return np.column_stack([values.to_numpy() for values in sampled]).astype(self.dtype)
        rows = pd.concat(sampled, axis=1)
        rows.columns = self.names
        return rows

    def any_rows(self, n_rows: int, rng: np.random.Generator) -> Rows:
        """Draw rows uniformly from all bins."""
        return self.rows([rng.integers(column.n_bins, size=n_rows) for column in self.columns], rng)

    def check(self, X: Rows) -> Rows:
        """Return a table as it is; raise an error if names or dtypes differ from the declared ones.

        `like` converts the columns that are read by value.
        """
        X = self._of_n_columns(X)
        if self.difference(self.like(X[:0])) is not None:
            raise ValueError(
                "the columns or dtypes of X differ from the declared ones; clone the synthesizer, "
                "and call declare of the clone with X"
            )
        return X

    def like(self, X: Rows) -> Rows:
        """Return a table with the declared number of columns; dtypes may differ."""
        X = self._of_n_columns(X)
        return self._canonical(X) if self.by_value else X

    def _of_n_columns(self, X: Rows) -> Rows:
        """Return a table as it is; raise an error if it has another number of columns."""
        X = checked_table(X)
        if X.shape[1] != len(self.columns):
            raise ValueError(f"X must have {len(self.columns)} columns; got {X.shape[1]}")
        return X

    def _canonical(self, X: Rows) -> Rows:
        """Return rows with the columns in `by_value` converted to floats or to texts."""
        if self.names is None:
            # Numbers stay numbers, and a file that is mapped is not read; truth values are 0 and 1
            return np.asarray(X, dtype=self.dtype)
        values = list(columns_of(X).values())
        for k in self.by_value:
            is_text = isinstance(self.columns[k], CategoryColumn)
            if values[k].dtype == float and not is_text:
                continue
            cells = cells_of(values[k])
            found = cells.all_texts() if is_text else cells.numbers
            values[k] = pd.Series(found, index=values[k].index, dtype=object if is_text else float)
        rows = pd.concat(values, axis=1)
        rows.columns = self.names
        return rows

    def within(self, X: Rows) -> Rows:
        """Return rows as from `like`, with numbers clipped to the bounds of their columns.

        A column of integers may become floats if a bound is not a whole number.
        """
        X = self.like(X)
        values = [column.within(series) for column, series in self._with_values(X)]
        if not isinstance(X, pd.DataFrame):
            return np.column_stack(values)
        rows = pd.concat(values, axis=1)
        rows.columns = X.columns
        return rows

    def difference(self, X: Rows) -> Difference | None:
        """Return the difference in form between a table and synthetic rows, or None."""
        return difference(X, self.any_rows(2, np.random.default_rng(0)))


def checked_table(X: Rows) -> Rows:
    """Return `X` as a pandas DataFrame or a 2-D array of numbers; raise an error for others."""
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


def are_missing(values: pd.Series) -> np.ndarray:
    """Return a mask of the missing values of a Series; a value that raises is not missing."""
    try:
        return values.isna().to_numpy(dtype=bool)
    except Exception:  # raised by a single value, such as a signalling NaN of decimal
        return np.array([attempt(partial(_is_missing, value))[0] is True for value in values])


def _is_missing(value: Any) -> bool:
    return bool(pd.isna(value))


def dtypes_of(X: Rows) -> dict[Any, Any]:
    """Return the dtypes of all columns by name (DataFrame) or position (array).

    No value is read, so the rows may be a large file that is mapped.
    """
    if isinstance(X, pd.DataFrame):
        return dict(zip(X.columns, X.dtypes, strict=True))
    return dict.fromkeys(range(X.shape[1]), X.dtype.newbyteorder("="))


def columns_of(X: Rows) -> dict[Any, pd.Series]:
    """Return all columns as Series, in a dict by name (DataFrame) or position (array).

    Columns of arrays may be copied; `dtypes_of` reads no value.
    """
    if isinstance(X, pd.DataFrame):
        return dict(X.items())
    native = X.dtype.newbyteorder("=")  # pandas supports no other byte order
    return {k: pd.Series(X[:, k].astype(native, copy=False)) for k in range(X.shape[1])}


# --- one column ----------------------------------------------------------------------------------


class Column(ABC):
    """Public description of a column.

    Missing values are in the last bin if `may_be_missing` is True, and have no bin otherwise.
    `_bins` and `_draw` are never called with missing values.

    Attributes
    ----------
    dtype : numpy or pandas dtype
    n_values : int
        Number of bins of values that are not missing.
    may_be_missing : bool
        Whether there is one more bin, for missing values.
    n_bins : int
        Number of bins.
    """

    def __init__(self, dtype: Any, n_values: int, may_be_missing: bool) -> None:
        self.dtype = dtype
        self.n_values = n_values
        self.may_be_missing = may_be_missing
        self.n_bins = n_values + may_be_missing

    def bins(self, values: pd.Series) -> np.ndarray:
        """Return the bin of each value of a Series, -1 if it has none.

        The bin depends on this value only, not on others in the Series.
        """
        missing = are_missing(values)
        bins = np.full(len(values), self.n_values if self.may_be_missing else -1)
        bins[~missing] = self._bins(values[~missing])
        return bins

    def draw(self, bins: np.ndarray, rng: np.random.Generator) -> pd.Series:
        """Draw a value uniformly from each bin; return a Series of the column's dtype."""
        missing = bins == self.n_values
        return masked(self._draw(np.where(missing, 0, bins), rng), missing)

    @abstractmethod
    def declaration(self) -> Any:
        """Return the declared values: a tuple of bounds or edges, or a list of categories."""

    def within(self, values: pd.Series) -> pd.Series:
        """Clip a Series of numbers to the bounds; return other Series unchanged."""
        return values

    @abstractmethod
    def decoded(self, encoded: np.ndarray) -> pd.Series:
        """Return the values of the column nearest to encoded values, as a Series."""

    @abstractmethod
    def _bins(self, values: pd.Series) -> np.ndarray:
        """Return the bin of each value of a Series."""

    @abstractmethod
    def _draw(self, bins: np.ndarray, rng: np.random.Generator) -> pd.Series:
        """Draw a value from each bin."""


def masked(values: pd.Series, missing: np.ndarray) -> pd.Series:
    """Replace masked values by missing ones.

    If none is masked, return `values` unchanged, because its dtype may not hold missing values.
    """
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

    def __init__(self, dtype: Any, categories: Sequence[Any], may_be_missing: bool) -> None:
        self._values = pd.Series(categories, dtype=dtype)
        are_rounded = kind_of_values(dtype) != "f" and list(self._values) != list(categories)
        self._bin_by_value = {value: k for k, value in enumerate(self._values.astype(object))}
        n_values = len(self._bin_by_value)
        are_all = 0 < n_values == len(self._values) and not self._values.isna().any()
        if are_rounded or not are_all:
            raise ValueError(
                "categories must be one or more distinct, non-missing values that the column's "
                "dtype can hold"
            )
        super().__init__(dtype, n_values, may_be_missing)

    def categories(self, missing: Any) -> np.ndarray:
        """Return the values as objects, in the order of bins; `missing` stands for gaps."""
        last = [missing] if self.may_be_missing else []
        return np.array([*self._bin_by_value, *last], dtype=object)

    def _bins(self, values: pd.Series) -> np.ndarray:
        if kind_of_values(values.dtype) == "category":
            place = np.array([self._bin_of(value) for value in values.dtype.categories])
            return place[values.cat.codes.to_numpy()]
        found = distinct_values(values)
        if found is not None:
            unique, positions = found
            return np.array([*map(self._bin_of, unique), -1], dtype=np.int64)[positions]
        return np.array([self._bin_of(value) for value in values.astype(object)], dtype=np.int64)

    def _bin_of(self, value: Any) -> int:
        try:
            return self._bin_by_value.get(value, -1)
        except Exception:  # an unhashable value, such as a list, is not a category
            return -1

    def _draw(self, bins: np.ndarray, rng: np.random.Generator) -> pd.Series:
        return self._values_of(bins)

    def _values_of(self, bins: np.ndarray) -> pd.Series:
        return self._values.take(bins).reset_index(drop=True)

    def declaration(self) -> list[Any]:
        """Return the categories, a list."""
        return list(self._bin_by_value)

    def decoded(self, encoded: np.ndarray) -> pd.Series:
        """Return the value at the maximum of each row, (n_rows, n_values), as a Series."""
        return self._values_of(encoded.argmax(axis=1))


class NumberColumn(Column):
    """A column of numbers between bounds, divided into bins.

    A bin contains the numbers from its smallest number up to, but not including, the smallest
    number of the next bin. Numbers beyond the bounds are in the first or in the last bin.

    Parameters
    ----------
    dtype : numpy or pandas dtype
    least, greatest : list of float or of int
        The smallest and the largest number drawn from each bin, in increasing order.
    may_be_missing : bool
    edges : list of numbers
        Declared bounds, or edges of bins, in increasing order.
    """

    def __init__(
        self,
        dtype: Any,
        least: Sequence[float],
        greatest: Sequence[float],
        may_be_missing: bool,
        edges: Sequence[float],
    ) -> None:
        kind = numpy_dtype(dtype).kind
        self._wide = np.dtype({"i": np.int64, "u": np.uint64, "f": np.float64}[kind])
        self._least = np.array(least, dtype=self._wide)
        self._greatest = np.array(greatest, dtype=self._wide)
        self.edges = np.array(edges, dtype=float)
        super().__init__(dtype, len(least), may_be_missing)

    def within(self, values: pd.Series) -> pd.Series:
        """Clip a Series of numbers to the bounds."""
        low, high = self.edges[0], self.edges[-1]
        is_whole = float(low).is_integer() and float(high).is_integer()
        if isinstance(values.dtype, ExtensionDtype) and values.dtype.kind in "iu" and not is_whole:
            values = values.astype("Float64")  # nullable integers accept no fraction as a bound
        return values.clip(low, high)

    def inner_bounds(self) -> np.ndarray:
        """Return the smallest number of each bin except the first."""
        return self._least[1:]

    def _bins(self, values: pd.Series) -> np.ndarray:
        is_as_declared = kind_of_values(values.dtype) == self._wide.kind
        numbers = values.to_numpy(dtype=self._wide if is_as_declared else float)
        return np.searchsorted(self._least[1:], numbers, side="right")

    def _draw(self, bins: np.ndarray, rng: np.random.Generator) -> pd.Series:
        least, greatest = self._least[bins], self._greatest[bins]
        if self._wide.kind == "f":
            sampled = least + (greatest - least) * rng.random(len(bins))
        else:
            sampled = rng.integers(least, greatest, endpoint=True, dtype=self._wide)
        return pd.Series(sampled).astype(self.dtype)

    def declaration(self) -> tuple[float, ...]:
        """Return the bounds or edges, a tuple."""
        return tuple(self.edges.tolist())

    def decoded(self, encoded: np.ndarray) -> pd.Series:
        """Return the numbers at ranks from -1 (first edge) to 1 (last edge), as a Series."""
        places = np.linspace(-1, 1, len(self.edges))
        numbers = np.interp(encoded, places, self.edges)
        if self._wide.kind != "f":
            numbers = np.rint(numbers)
        sampled = np.clip(numbers.astype(self._wide), self._least[0], self._greatest[-1])
        return pd.Series(sampled).astype(self.dtype)


def numpy_dtype(dtype: Any) -> np.dtype:
    """Return the numpy dtype of the values of a dtype."""
    return np.dtype(getattr(dtype, "numpy_dtype", dtype))


def kind_of_values(dtype: Any) -> str:
    """Return numpy's letter for the kind of a dtype ("O" for text), "sparse" or "category"."""
    words = {pd.SparseDtype: "sparse", pd.CategoricalDtype: "category"}
    return words.get(type(dtype), getattr(dtype, "kind", "O"))


def holds_missing(dtype: Any) -> bool:
    """Return whether a dtype can hold missing values."""
    return not isinstance(dtype, np.dtype) or dtype.kind not in "biu"
