"""The private table, and its columns: the bin that a value lies in, and values drawn from bins."""

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from ..rdp.checks import as_array
from ..schema import difference


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
        for column, values in zip(self.columns, columns_of(X).values(), strict=True):
            yield column.bins(values)

    @property
    def width(self):
        """Number of columns of `spread`."""
        return sum(column.width for column in self.columns) + 1

    def spread(self, X):
        """Return rows as numbers from -1 to 1, a constant last, (n_rows, width)."""
        parts = [
            column.spread(values)
            for column, values in zip(self.columns, columns_of(X).values(), strict=True)
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

    def difference(self, X):
        """Return how the form of a table differs from that of drawn rows; None if it does not."""
        return difference(X, self.any_rows(2, np.random.default_rng(0)))


def checked_table(X):
    """Return `X`, a DataFrame of pandas or an array of numbers with two axes; refuse others."""
    kind = type(X).__name__
    if sparse.issparse(X):
        raise ValueError("X is sparse, and a synthesizer needs all columns: pass X.toarray()")
    if isinstance(X, pd.DataFrame):
        if X.shape[1] == 0:
            raise ValueError("X has no columns, and a synthesizer makes a histogram of each")
        if not X.columns.is_unique:
            raise ValueError(f"Expected unique column names, got {list(X.columns)}; rename some")
        return X
    if hasattr(X, "columns"):
        raise ValueError(f"X is a {kind}, and a synthesizer needs pandas: pass X.to_pandas()")
    if not isinstance(X, list | tuple) and not hasattr(X, "__array__"):
        raise ValueError(f"X is a {kind}, and a synthesizer needs all rows; or pass X_public")
    is_masked = isinstance(X, np.ma.MaskedArray)
    X = as_array("X", X)
    if X.ndim == 1 and X.dtype.kind in "OSTU":
        raise ValueError(
            "X is a list of texts or objects; a synthesizer draws columns: it cannot write texts. "
            "Make numbers or categories of each, or pass public texts, X_public"
        )
    if X.ndim != 2:
        raise ValueError(
            "X must have two axes for a synthesizer, which draws each column by itself; got "
            f"{X.ndim} axes. Images need public rows, X_public"
        )
    if X.shape[1] == 0:
        raise ValueError(f"X has 0 feature(s) (shape={X.shape}) while a minimum of 1 is required.")
    if X.dtype.kind == "c":
        raise ValueError("Complex data not supported: X must hold numbers or truth values")
    if X.dtype.kind not in "biuf" or is_masked:
        raise ValueError("X must be an array of numbers; give others as columns of a DataFrame")
    return X


def columns_of(X):
    """Return each column as a Series, by its name, or by its position in an array."""
    if isinstance(X, pd.DataFrame):
        return {name: X.iloc[:, k] for k, name in enumerate(X.columns)}
    native = X.dtype.newbyteorder("=")  # pandas has no other
    return {k: pd.Series(X[:, k].astype(native, copy=False)) for k in range(X.shape[1])}


# --- one column ----------------------------------------------------------------------------------


class Column(ABC):
    """What is public of a column. Values that are missing have the last bin, or none.

    Attributes
    ----------
    dtype : numpy or pandas dtype
    n_values : int
        Number of bins of values that are not missing.
    may_be_missing : bool
        Whether there is one more bin.
    """

    def __init__(self, dtype, n_values, may_be_missing):
        self.dtype = dtype
        self.n_values = n_values
        self.may_be_missing = may_be_missing

    @property
    def n_bins(self):
        """Number of bins."""
        return self.n_values + self.may_be_missing

    def bins(self, values):
        """Return the bin of each value of a Series, each by itself; -1 for no bin."""
        missing = are_missing(values)
        bins = np.full(len(values), self.n_values if self.may_be_missing else -1)
        bins[~missing] = self._bins(values[~missing])
        return bins

    def draw(self, bins, rng):
        """Draw a value from each bin, uniformly; return a Series of the column's dtype."""
        missing = bins == self.n_values
        drawn = self._draw(np.where(missing, 0, bins), rng)
        return drawn.mask(missing) if missing.any() else drawn

    @property
    def width(self):
        """Number of columns of `spread`."""
        return self._width + self.may_be_missing

    def spread(self, values):
        """Return a Series as numbers from -1 to 1, (n_rows, width), each row by itself.

        A missing value, or an unknown one, is 0 everywhere but in the column that says "missing".
        """
        missing = are_missing(values)
        spread = np.zeros((len(values), self.width))
        spread[~missing, : self._width] = self._spread(values[~missing])
        if self.may_be_missing:
            spread[missing, -1] = 1.0
        return spread

    def gathered(self, spread):
        """Return the Series of values that such numbers, with noise or not, are nearest to."""
        values = self._gathered(spread[:, : self._width])
        if not self.may_be_missing:
            return values
        missing = spread[:, -1] > 0.5
        return values.mask(missing) if missing.any() else values

    @abstractmethod
    def _bins(self, values):
        """Return the bin of each value, none of which is missing."""

    @abstractmethod
    def _draw(self, bins, rng):
        """Draw a value from each bin, none of which is that of missing values."""


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
        self._values = _of_dtype(categories, dtype)
        self._bin_by_value = {value: k for k, value in enumerate(self._values.astype(object))}
        self._width = len(self._bin_by_value)
        if not self._width or self._width < len(self._values) or self._values.isna().any():
            raise ValueError("categories must differ, and not be missing, in the column's dtype")
        super().__init__(dtype, self._width, may_be_missing)

    def _bins(self, values):
        if kind_of(values.dtype) == "category":
            place = np.array([self._bin_of(value) for value in values.dtype.categories])
            return place[values.cat.codes.to_numpy()]
        objects = values.astype(object)
        return np.fromiter(map(self._bin_of, objects), dtype=np.int64, count=len(objects))

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


def _of_dtype(categories, dtype):
    """Return categories as a Series; refuse a dtype that changes them."""
    if kind_of(dtype) == "category":
        fits = set(categories) <= set(dtype.categories)
        values = pd.Series(categories, dtype=dtype if fits else object)
    else:
        values = pd.Series(categories, dtype=dtype)
        fits = kind_of(dtype) == "f" or list(values) == list(categories)  # floats may be rounded
    if not fits:
        raise ValueError("the dtype of the column cannot hold them")
    return values


class NumberColumn(Column):
    """A column of numbers between bounds: each bin has those from its least one to the next bin.

    Parameters
    ----------
    dtype : numpy or pandas dtype
    bins : list of (float, float) or of (int, int)
        The least and the greatest number that are drawn from each bin, in increasing order.
    may_be_missing : bool
    edges : list of numbers
        As declared: bounds, or the edges of bins. They are spread evenly from -1 to 1.
    """

    _width = 1

    def __init__(self, dtype, bins, may_be_missing, edges):
        kind = numpy_dtype(dtype).kind
        self._wide = np.dtype({"i": np.int64, "u": np.uint64, "f": np.float64}[kind])
        least, greatest = zip(*bins, strict=True)
        self._least = np.array(least, dtype=self._wide)
        self._greatest = np.array(greatest, dtype=self._wide)
        self._edges = np.array(edges, dtype=float)
        super().__init__(dtype, len(bins), may_be_missing)

    def is_wide(self, bin):
        """Whether a bin has more than one number."""
        return bool(self._least[bin] < self._greatest[bin])

    def _bins(self, values):
        is_as_declared = kind_of(values.dtype) == self._wide.kind
        numbers = values.to_numpy(dtype=self._wide if is_as_declared else float)
        return np.searchsorted(self._least[1:], numbers, side="right")

    def _draw(self, bins, rng):
        least, greatest = self._least[bins], self._greatest[bins]
        if self._wide.kind == "f":
            drawn = least + (greatest - least) * rng.random(len(bins))
        else:
            drawn = rng.integers(least, greatest, endpoint=True, dtype=self._wide)
        return pd.Series(drawn).astype(self.dtype)

    def _places(self):
        return np.linspace(-1, 1, len(self._edges))

    def _spread(self, values):
        if self._edges[0] == self._edges[-1]:
            return np.zeros((len(values), 1))
        with np.errstate(all="ignore"):
            spread = np.interp(values.to_numpy(dtype=float), self._edges, self._places())
        return np.where(np.isfinite(spread), spread, 0.0)[:, None]  # no record may make an error

    def _gathered(self, spread):
        numbers = np.interp(spread[:, 0], self._places(), self._edges)
        if self._wide.kind != "f":
            numbers = np.rint(numbers)
        drawn = np.clip(numbers.astype(self._wide), self._least[0], self._greatest[-1])
        return pd.Series(drawn).astype(self.dtype)


def are_missing(values):
    """Return which values of a Series are missing; what cannot be asked is not."""
    try:
        return values.isna().to_numpy(dtype=bool)
    except Exception:  # one value decides, such as a signalling NaN of decimal
        return np.fromiter(map(is_missing, values), dtype=bool, count=len(values))


def is_missing(value):
    """Whether a value is missing; what cannot be asked is not."""
    try:
        return pd.api.types.is_scalar(value) and bool(pd.isna(value))
    except Exception:
        return False


def numpy_dtype(dtype):
    """Return the numpy dtype of what a dtype holds."""
    return np.dtype(getattr(dtype, "numpy_dtype", dtype))


def kind_of(dtype):
    """Return what a dtype holds: a letter as of numpy, "O" for text and objects, or a word."""
    words = {pd.SparseDtype: "sparse", pd.CategoricalDtype: "category", pd.PeriodDtype: "period"}
    return words.get(type(dtype), getattr(dtype, "kind", "O"))


def holds_missing(dtype):
    """Whether a dtype has missing values."""
    return not isinstance(dtype, np.dtype) or dtype.kind not in "biu"
