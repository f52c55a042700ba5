"""One canonical value for each cell of a table, by that cell alone.

pandas chooses the dtype of a column from all of its values, so that one malformed record changes
how every other one is read. Here, a cell is a number, a text or a gap, whatever the others are:

- numbers, and texts that Python reads as a number, are numbers. Durations are in seconds;
- True and False are the texts "True" and "False";
- None, NaN, NA, NaT and values without a text are gaps;
- anything else is its text.
"""

from __future__ import annotations

from numbers import Number
from typing import Any, NamedTuple

import numpy as np
import pandas as pd


class Cells(NamedTuple):
    """The canonical values of a column.

    Attributes
    ----------
    numbers : ndarray of shape (n_rows,)
        Numbers; NaN where a cell is none.
    texts : ndarray of shape (n_rows,), object, or None
        Texts; None where a cell is none. None for a column without any text.
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
        """Return the text of each cell, also of numbers, (n_rows,), None for gaps."""
        texts = np.full(len(self.numbers), None, dtype=object)
        for k in np.flatnonzero(~np.isnan(self.numbers)):
            texts[k] = text_of_number(self.numbers[k])
        if self.texts is not None:
            own = self.are_texts
            texts[own] = self.texts[own]
        return texts


def text_of_number(number: float) -> str:
    """Return the shortest text of a float, without a decimal point if it is whole."""
    is_short = abs(number) < 1e15 and number == int(number)
    return str(int(number)) if is_short else repr(float(number))


def text_of(value: Any) -> str | None:
    """Return the text of a value, or None for a missing value and for one without a text."""
    try:
        if pd.isna(value) is True:
            return None
        return value.decode() if isinstance(value, bytes) else str(value)
    except Exception:  # the `__str__` of an object, thousands of digits, bytes that are no text
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
    dtype = values.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return _of_categories(values)  # type: ignore[arg-type]
    kind = getattr(dtype, "kind", "O")
    if kind == "m":
        values = pd.Series(values) / np.timedelta64(1, "s")
        kind = "f"
    if kind in "iuf":
        if isinstance(values, np.ndarray):
            return Cells(values.astype(float), None)
        return Cells(values.to_numpy("float64", na_value=np.nan), None)
    objects = values.astype(object)
    found = _Reader()
    pairs = [found.read(value) for value in objects]
    numbers = np.array([number for number, _ in pairs], dtype=float)
    texts = np.empty(len(pairs), dtype=object)
    texts[:] = [text for _, text in pairs]
    return Cells(numbers, texts)


def _of_categories(values: pd.Series) -> Cells:
    """Return the canonical values of a categorical column, from its categories."""
    read = _Reader().read
    pairs = [*map(read, values.dtype.categories), (np.nan, None)]
    codes = values.cat.codes.to_numpy()
    texts = np.empty(len(pairs), dtype=object)
    texts[:] = [text for _, text in pairs]
    return Cells(np.array([number for number, _ in pairs], dtype=float)[codes], texts[codes])


class _Reader:
    """Reads values, and remembers those of type str, which are equal only to themselves."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[float, str | None]] = {}

    def read(self, value: Any) -> tuple[float, str | None]:
        """Return the number or the text of a value, NaN and None for what it is not."""
        if type(value) is str:
            if value not in self._known:
                self._known[value] = _of_text(value)
            return self._known[value]
        if isinstance(value, Number) and not isinstance(value, bool | np.bool_):
            return _of_number(value)
        text = text_of(value)
        return (np.nan, None) if text is None else _of_text(text)


def _of_number(value: Any) -> tuple[float, str | None]:
    try:
        return float(value), None  # NaN is a gap
    except OverflowError:
        return (np.inf if value > 0 else -np.inf), None
    except Exception:  # a signalling NaN is a gap; a complex number has a text
        text = text_of(value)
        return np.nan, None if text is None or "nan" in text.lower() else text


def _of_text(text: str) -> tuple[float, str | None]:
    try:
        return float(text), None
    except ValueError:
        return np.nan, text
