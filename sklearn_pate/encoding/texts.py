"""Texts of columns that are not numeric: each distinct value is converted once.

The encoding of a value depends on this value alone, so equal values may share a conversion only if
equal values always have the same text. In Python, 1, 1.0 and True are equal and have three texts.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from .._sklearn import preprocessing
from .values import text_of

if TYPE_CHECKING:
    from sklearn.preprocessing import OneHotEncoder

    from .._typing import Estimator

#: A text has its own category if at least this fraction of the public rows have it.
MIN_FREQUENCY = 0.005

#: Types of the values of a column whose equal values have the same text, if all floats are NaN.
_COMPARABLE = {str, float, type(None)}


def distinct_values(values: pd.Series) -> tuple[Any, np.ndarray] | None:
    """Return the distinct values of a column, and the position of each row's value.

    Parameters
    ----------
    values : Series of shape (n_rows,)
        A column of any dtype.

    Returns
    -------
    (array-like, ndarray of shape (n_rows,)) or None
        Values, some of which may not occur, and positions, -1 for missing values. None if equal
        values may have different texts, or if the values cannot be compared quickly.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn_pate.encoding.texts import distinct_values
    >>> distinct_values(pd.Series(["b", "a", None, "b"], dtype=object))
    (array(['b', 'a'], dtype=object), array([ 0,  1, -1,  0]))
    >>> distinct_values(pd.Series([1, True], dtype=object)) is None
    True
    """
    dtype = values.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return dtype.categories, values.cat.codes.to_numpy()
    if isinstance(dtype, pd.StringDtype) or dtype.kind == "b":
        codes, unique = pd.factorize(values)
        return unique, codes
    if dtype.kind != "O" or not _COMPARABLE.issuperset(map(type, values)):
        return None
    codes, unique = pd.factorize(values.to_numpy())
    if any(type(value) is not str for value in unique):  # 0.0 and -0.0 are equal
        return None
    return unique, codes


def strict_texts(values: pd.Series) -> list[Any]:
    """Return the text of each value, None for missing ones; raise an error if one has no text."""
    # `map(str)` would infer a dtype from all values and raise an error for some combinations
    return values.astype("string[python]").to_numpy("object", na_value=None).tolist()


def lenient_texts(values: pd.Series) -> list[Any]:
    """Return the text of each value; None for missing ones and for values without a text."""
    return [value if type(value) is str else text_of(value) for value in values]


def counts_of_texts(
    values: pd.Series, texts_of: Callable[[pd.Series], list[Any]]
) -> dict[Any, int]:
    """Return the number of rows of each text of a column; None stands for missing values."""
    found = distinct_values(values)
    if found is None:
        return dict(Counter(texts_of(values.astype(object))))
    unique, positions = found
    numbers = np.bincount(positions + 1, minlength=len(unique) + 1)
    occur = np.flatnonzero(numbers[1:])
    texts = _texts([unique[k] for k in occur], texts_of)
    counts: Counter = Counter()
    for text, n in zip([None, *texts], [numbers[0], *numbers[1:][occur]], strict=True):
        if n:
            counts[text] += int(n)
    return dict(counts)


class CodesOfTexts:
    """Callable that returns the output column of each value from its text.

    Parameters
    ----------
    code_by_text : dict
        Output column of each known text.
    missing, other : int
        Output columns of missing values and of unknown texts; -1 for none.
    texts_of : callable, default=lenient_texts
        Converts a Series of objects to a list of texts, each by itself; None for missing values.
    """

    def __init__(
        self,
        code_by_text: dict[Any, int],
        missing: int,
        other: int,
        texts_of: Callable[[pd.Series], list[Any]] | None = None,
    ) -> None:
        self.code_by_text = code_by_text
        self.missing = missing
        self.other = other
        self.texts_of = lenient_texts if texts_of is None else texts_of

    def __call__(self, values: pd.Series) -> np.ndarray:
        """Return the output column of each value of a Series, (n_rows,), -1 for none."""
        found = distinct_values(values)
        if found is not None:
            unique, positions = found
            with contextlib.suppress(Exception):  # a value that does not occur may have no text
                codes = [*self._codes(_texts(unique, self.texts_of)), self.missing]
                return np.array(codes, dtype=np.int64)[positions]
        return np.array(self._codes(self.texts_of(values.astype(object))), dtype=np.int64)

    def _codes(self, texts: list[Any]) -> list[int]:
        known = self.code_by_text
        return [self.missing if text is None else known.get(text, self.other) for text in texts]


def _texts(unique: Any, texts_of: Callable[[pd.Series], list[Any]]) -> list[Any]:
    """Return the texts of distinct values."""
    unique = list(unique)
    if all(type(value) is str for value in unique):
        return unique
    return texts_of(pd.Series(unique, dtype=object))


def fit_one_hot(
    columns: list[pd.Series], texts_of: Callable[[pd.Series], list[Any]], *, missing: Any
) -> OneHotEncoder:
    """Return the one-hot encoder that scikit-learn fits on the texts of columns, in less time.

    Parameters
    ----------
    columns : list of Series
        The columns, of one length.
    texts_of : callable
        As in `CodesOfTexts`.
    missing : object
        Text of missing values, or NaN.

    Returns
    -------
    OneHotEncoder
        Texts that occur in less than `MIN_FREQUENCY` of the rows share an output column.
    """
    encoder = preprocessing.OneHotEncoder(
        min_frequency=MIN_FREQUENCY, handle_unknown="infrequent_if_exist", sparse_output=False
    )
    counts: list[Counter] = []
    for values in columns:
        of_column: Counter = Counter()
        for text, n in counts_of_texts(values, texts_of).items():
            of_column[missing if text is None else text] += n  # `missing` may occur as a text
        counts.append(of_column)
    few = [_few_rows(of_column) for of_column in counts]
    if all(few):
        encoder.set_params(min_frequency=2)
    else:
        few = [[*of_column.elements()] for of_column in counts]
    length = max(map(len, few))
    rows = np.empty((length, len(few)), dtype=object)
    for k, column in enumerate(few):
        rows[:, k] = [*column, *column[-1:] * (length - len(column))]
    return encoder.fit(rows).set_params(min_frequency=MIN_FREQUENCY)


def _few_rows(counts: Counter) -> list[Any]:
    """Return each rare text once, and each frequent text twice; nothing if no text is frequent.

    With more copies of the last, frequent one, the encoder has the same frequent texts.
    """
    least = MIN_FREQUENCY * sum(counts.values())
    frequent = [text for text, n in counts.items() if n >= least]
    rare = [text for text, n in counts.items() if n < least]
    return [*rare, *frequent, *frequent] if frequent else []


def codes_of_one_hot(encoder: Estimator, k: int) -> tuple[CodesOfTexts, list[Any]]:
    """Return the codes of a column of a fitted `OneHotEncoder`, and labels of its outputs.

    Parameters
    ----------
    encoder : OneHotEncoder
        From `fit_one_hot`.
    k : int
        Position of the column.
    """
    # NaN differs from itself
    categories = [None if text != text else text for text in encoder.categories_[k]]
    infrequent = encoder.infrequent_categories_[k]
    rare = set() if infrequent is None else {None if x != x else x for x in infrequent}
    frequent = [text for text in categories if text not in rare]
    other = len(frequent) if rare else -1
    code_by_text = {text: code for code, text in enumerate(frequent)}
    missing = code_by_text.pop(None, other)
    labels = ["missing" if text is None else text for text in frequent]
    return CodesOfTexts(code_by_text, missing, other), [*labels, *(["other"] if rare else [])]
