"""A column of the schema: the bin that a value lies in, and values drawn from bins."""

from abc import ABC, abstractmethod

import numpy as np
import pandas as pd


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
        found = self._bins(values, missing)
        return np.where(missing, self.n_values if self.may_be_missing else -1, found)

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
        spread = self._spread(values, missing)
        spread[missing] = 0.0
        if self.may_be_missing:
            spread = np.column_stack([spread, missing.astype(float)])
        return spread

    def gathered(self, spread):
        """Return the Series of values that such numbers, with noise or not, are nearest to."""
        values = self._gathered(spread[:, : self._width])
        if not self.may_be_missing:
            return values
        missing = spread[:, -1] > 0.5
        return values.mask(missing) if missing.any() else values

    @abstractmethod
    def _bins(self, values, missing):
        """Return the bin of each value; anything where it is missing."""

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
        super().__init__(dtype, len(self._values), may_be_missing)
        self._width = len(self._values)

    @property
    def is_unique(self):
        """Whether the categories differ, and hold no missing value, in the column's dtype."""
        return len(self._bin_by_value) == self.n_values and not self._values.isna().any()

    def _bins(self, values, missing):
        if isinstance(values.dtype, pd.CategoricalDtype):
            place = np.array([self._bin_of(value) for value in values.dtype.categories])
            return np.append(place, -1)[values.cat.codes.to_numpy()]  # code -1 takes the last
        objects = values.astype(object)
        return np.fromiter(map(self._bin_of, objects), dtype=np.int64, count=len(objects))

    def _bin_of(self, value):
        try:
            return self._bin_by_value.get(value, -1)
        except Exception:  # what cannot be looked up, such as a list, is no category
            return -1

    def _draw(self, bins, rng):
        return self._values.take(bins).reset_index(drop=True)

    def _spread(self, values, missing):
        return (self._bins(values, missing)[:, None] == np.arange(self.n_values)).astype(float)

    def _gathered(self, spread):
        return self._draw(spread.argmax(axis=1), None)


def _of_dtype(categories, dtype):
    """Return categories as a Series; refuse a dtype that changes them."""
    if isinstance(dtype, pd.CategoricalDtype):
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

    def _bins(self, values, missing):
        is_as_declared = kind_of(values.dtype) == self._wide.kind
        numbers = np.zeros(len(values), dtype=self._wide if is_as_declared else float)
        numbers[~missing] = values[~missing].to_numpy(dtype=numbers.dtype)
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

    def _spread(self, values, missing):
        numbers = np.zeros(len(values))
        numbers[~missing] = values[~missing].to_numpy(dtype=float)
        if self._edges[0] == self._edges[-1]:
            return np.zeros((len(values), 1))
        with np.errstate(all="ignore"):
            spread = np.interp(numbers, self._edges, self._places())
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
        return np.fromiter(map(_is_missing, values), dtype=bool, count=len(values))


def _is_missing(value):
    try:
        return pd.api.types.is_scalar(value) and bool(pd.isna(value))
    except Exception:
        return False


def numpy_dtype(dtype):
    """Return the numpy dtype of what a dtype holds."""
    return np.dtype(getattr(dtype, "numpy_dtype", dtype))


def kind_of(dtype):
    """Return the letter of what a dtype holds, "O" for text, objects and categories."""
    if isinstance(dtype, pd.SparseDtype):
        return "sparse"
    return getattr(dtype, "kind", "O")


def holds_missing(dtype):
    """Whether a dtype has missing values."""
    return not isinstance(dtype, np.dtype) or dtype.kind not in "biu"
