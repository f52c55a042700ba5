"""Conversion of each cell of a table to a canonical value, independently of other cells.

pandas infers the dtype of a column from all of its values, so one malformed record can change how
all others are read. Here, each cell is converted by itself to a number, a text or a gap:

- Numbers, texts that Python converts to a float, and complex numbers without an imaginary part
  become numbers. Durations become numbers of seconds.
- Booleans, and texts that `pandas.read_csv` converts to booleans, become the text "True" or
  "False".
- None, NaN, NA, NaT, the text "nan", and values that cannot be converted to text are gaps.
- All other values become their text. Equal times of different types have the same text, and so do
  equal intervals.
"""

from __future__ import annotations

import datetime
from numbers import Number, Real
from typing import Any, NamedTuple

import numpy as np
import pandas as pd


class Cells(NamedTuple):
    """The canonical values of a column.

    Attributes
    ----------
    numbers : ndarray of shape (n_rows,)
        Numbers; NaN for cells that are not numbers.
    texts : ndarray of shape (n_rows,), object, or None
        Texts; None for cells that are not texts. If None, the column has no texts.
    """

    numbers: np.ndarray
    texts: np.ndarray | None

    @property
    def are_texts(self) -> np.ndarray:
        """Whether each cell is a text, (n_rows,)."""
        if self.texts is None:
            return np.zeros(len(self.numbers), dtype=bool)
        return np.array([text is not None for text in self.texts], dtype=bool)

    @property
    def are_gaps(self) -> np.ndarray:
        """Whether each cell is a gap, (n_rows,)."""
        return np.isnan(self.numbers) & ~self.are_texts

    def all_texts(self) -> np.ndarray:
        """Return the text of each cell, also of numbers, or None for a gap; shape (n_rows,)."""
        texts = np.full(len(self.numbers), None, dtype=object)
        for k in np.flatnonzero(~np.isnan(self.numbers)):
            texts[k] = text_of_number(self.numbers[k])
        if self.texts is not None:
            own = self.are_texts
            texts[own] = self.texts[own]
        return texts


def text_of_number(number: float) -> str:
    """Return the shortest text of a float, without a point if it is whole and below 1e15."""
    is_short = abs(number) < 1e15 and number == int(number)
    return str(int(number)) if is_short else repr(float(number))


def text_of(value: Any) -> str | None:
    """Return a value as text; None if it is missing or cannot be converted to text."""
    try:
        if pd.isna(value) is True:
            return None
        text = bytes.decode(value) if isinstance(value, bytes) else str(value)
        # An instance of a subclass of str may compare equal to other texts
        return text if type(text) is str else str.__str__(text)
    except Exception:  # a failing `__str__`, thousands of digits, bytes that are not text
        return None


def cells_of(values: np.ndarray | pd.Series) -> Cells:
    """Return the canonical values of a column.

    Parameters
    ----------
    values : ndarray or Series of shape (n_rows,)
        A column of any dtype.

    Returns
    -------
    Cells

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn_pate.encoding.values import cells_of
    >>> cells = cells_of(pd.Series(["3", 4, True, "Oslo", None], dtype=object))
    >>> cells.numbers
    array([ 3.,  4., nan, nan, nan])
    >>> cells.texts
    array([None, None, 'True', 'Oslo', None], dtype=object)
    """
    cells, codes = distinct_cells(values)
    if codes is None:
        return cells
    texts = None if cells.texts is None else cells.texts[codes]
    return Cells(cells.numbers[codes], texts)


#: Types whose equal values are one cell, so that each distinct value is read once. True is equal to
#: 1, and a subclass may define its own equality.
_COMPARABLE = ({str, int, float, type(None)}, {str, bool, type(None)})


def distinct_cells(values: np.ndarray | pd.Series) -> tuple[Cells, np.ndarray | None]:
    """Return the canonical values of a column, each once as far as this is fast.

    Parameters
    ----------
    values : ndarray or Series of shape (n_rows,)
        A column of any dtype.

    Returns
    -------
    Cells
        Canonical values. Some may be equal, and some may not occur.
    ndarray of shape (n_rows,), int, or None
        Position of each row's value; None if the values are those of the rows, in order.
    """
    dtype = values.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return _of_unique(values.dtype.categories, values.cat.codes.to_numpy())  # type: ignore[union-attr]
    if getattr(dtype, "kind", "O") in "iuf":
        with np.errstate(all="ignore"):  # numbers beyond the range of floats become infinite
            if isinstance(values, np.ndarray):
                return Cells(values.astype(float, copy=False), None), None
            return Cells(values.to_numpy("float64", na_value=np.nan), None), None
    if isinstance(dtype, pd.StringDtype):
        codes, unique = pd.factorize(values)
        return _of_unique(unique, codes)
    objects = pd.Series(values).astype(object)
    types = set(map(type, objects))
    if any(types <= comparable for comparable in _COMPARABLE):
        codes, unique = pd.factorize(objects.to_numpy())
        return _of_unique(unique, codes)
    return _of_unique(objects, None)


def _of_unique(unique: Any, codes: np.ndarray | None) -> tuple[Cells, np.ndarray | None]:
    """Return the canonical values of distinct ones, with a gap at the end for the code -1."""
    read = _Reader().read
    pairs = [*map(read, unique), *([] if codes is None else [(np.nan, None)])]
    numbers = np.array([number for number, _ in pairs], dtype=float)
    texts = np.empty(len(pairs), dtype=object)
    texts[:] = [text for _, text in pairs]
    return Cells(numbers, texts), None if codes is None else np.where(codes < 0, len(unique), codes)


class _Reader:
    """Converter of values to numbers or texts, with a cache for values of type str.

    Values of other types are not cached, because values that are read differently can be equal as
    keys of a dict, such as 1 and True.
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[float, str | None]] = {}

    def read(self, value: Any) -> tuple[float, str | None]:
        """Return a value as a pair of a number, or NaN, and a text, or None.

        Gaps are NaN and None. A value that raises any error other than KeyboardInterrupt is a gap.
        """
        try:
            if type(value) is not str:
                return _of_object(value)
            if value not in self._known:
                self._known[value] = _of_text(value)
            return self._known[value]
        except KeyboardInterrupt:
            raise
        except BaseException:
            return np.nan, None


def _of_object(value: Any) -> tuple[float, str | None]:
    if isinstance(value, bool | np.bool_):
        return np.nan, str(bool(value))
    if isinstance(value, datetime.timedelta | np.timedelta64):  # timedelta64 is a Number
        return float(pd.Timedelta(value) / np.timedelta64(1, "s")), None
    if isinstance(value, Number):
        return _of_number(value)
    if isinstance(value, datetime.datetime | np.datetime64):
        value = _as_timestamp(value)
    if isinstance(value, pd.Interval):
        return np.nan, _text_of_interval(value)
    text = text_of(value)
    return (np.nan, None) if text is None else _of_text(text)


def _as_timestamp(value: Any) -> Any:
    """Return a time as a pandas Timestamp, or unchanged if it is out of range."""
    try:
        return pd.Timestamp(value)
    except Exception:
        return value


def _text_of_interval(interval: pd.Interval) -> str:
    """Return the text of an interval, which is the same for integer and float ends."""
    low, high = (
        text_of_number(float(end)) if isinstance(end, Real) else str(end)
        for end in (interval.left, interval.right)
    )
    brackets = "[" if interval.closed_left else "(", "]" if interval.closed_right else ")"
    return f"{brackets[0]}{low}, {high}{brackets[1]}"


def _of_number(value: Any) -> tuple[float, str | None]:
    if isinstance(value, complex | np.complexfloating) and value.imag == 0:
        value = value.real  # one complex number makes the whole column complex
    try:
        return float(value), None  # NaN is a gap
    except OverflowError:
        return (np.inf if value > 0 else -np.inf), None
    except Exception:  # a signalling NaN becomes a gap, and a complex number a text
        text = text_of(value)
        return np.nan, None if text is None or "nan" in text.lower() else text


def _of_text(text: str) -> tuple[float, str | None]:
    if text in ("TRUE", "true", "FALSE", "false"):
        return np.nan, text.capitalize()
    try:
        return float(text), None
    except ValueError:
        return np.nan, text
