"""What all teachers see of the form of private data: names and types of columns, so public."""

import math
import re
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.utils import check_array

from ..runtime.isolation import kind_of

__all__ = ["Difference", "difference", "dtype_name", "same_dtypes"]

#: Kinds of numpy dtypes that have no missing value: one missing value changes the type.
_NEVER_MISSING = "iub"


class Difference(NamedTuple):
    """How private rows differ in form from public ones, without any private value.

    Attributes
    ----------
    kind : {"form", "unknown", "columns", "dtype", "dtypes", "codes"}
        What differs. "unknown": the types of the columns cannot be read. "codes": the codes of a
        column are assigned as values appear.
    columns : list
        Names of the columns that differ, which public rows have too.
    """

    kind: str
    columns: list


class RowForm(NamedTuple):
    """The form of the public rows that a model was fitted on, without any value.

    Attributes
    ----------
    library : str
        The library of a DataFrame; empty for other rows.
    kinds : dict
        Name of each column of a DataFrame to its kind: "number", "truth" or "other".
    holds_numbers : bool
        Whether rows that are no DataFrame have a dtype of numbers.
    """

    library: str
    kinds: dict
    holds_numbers: bool

    @classmethod
    def of(cls, X: Any) -> "RowForm":
        """Return the form of public rows."""
        if not hasattr(X, "dtypes"):
            return cls("", {}, getattr(X, "dtype", np.dtype(object)).kind in "biuf")
        dtypes = zip(X.columns, X.dtypes, strict=True)
        return cls(library_of(X), {name: _kind_of_column(dtype) for name, dtype in dtypes}, False)

    @property
    def others(self) -> list:
        """Names of the columns of a DataFrame whose values are neither numbers nor truth values."""
        return [name for name, kind in self.kinds.items() if kind == "other"]

    def like(self, X: Any) -> Any:
        """Return rows to predict in this form; as they are, where types would have to be guessed.

        An array becomes a DataFrame if all columns were numbers or truth values. A DataFrame
        becomes an array if the model was fitted on one. Objects become floats where numbers were.
        """
        if hasattr(X, "columns"):
            if self.library:
                return self._without_huge(X)
            X = array_of(X)
        if not isinstance(X, np.ndarray):
            return X
        if self.holds_numbers or (self.library and not self.others):
            X = _as_floats(X) if X.dtype.kind in "OSU" else X
        if self.library not in ("pandas", "polars") or self.others or X.dtype.kind not in "biuf":
            return X
        columns = dict(zip(self.kinds, X.T, strict=True))
        for name, kind in self.kinds.items():
            if kind == "truth":
                if not np.isin(columns[name], [0, 1]).all():
                    return X
                columns[name] = columns[name].astype(bool)
        return import_module(self.library).DataFrame(columns)

    def _without_huge(self, X):
        """Return a DataFrame of pandas without whole numbers that no float can hold."""
        if not isinstance(X, pd.DataFrame) or not X.columns.is_unique:
            return X
        numbers = [name for name, kind in self.kinds.items() if kind == "number"]
        objects = [name for name in numbers if name in X.columns and X[name].dtype == object]
        X = X.copy(deep=False) if objects else X
        for name in objects:
            X[name] = _as_floats(X[name].to_numpy())
        return X


def library_of(frame: Any) -> str:
    """Return the name of the library of a DataFrame, as it is imported."""
    return "pandas" if isinstance(frame, pd.DataFrame) else type(frame).__module__.split(".")[0]


def array_of(frame: Any) -> np.ndarray:
    """Return a DataFrame as an array, as scikit-learn's ensembles convert it."""
    return check_array(frame, dtype=None, ensure_all_finite=False)


def as_float(value: Any) -> float:
    """Return a value as a float, NaN if it is none. No value makes it fail."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except Exception:
        return math.nan


def _as_floats(values):
    """Return an array of objects as floats, or as it is if some are no numbers."""
    try:
        return values.astype(float)
    except OverflowError:
        return np.reshape([as_float(value) for value in values.ravel()], values.shape)
    except (TypeError, ValueError):
        return values


def _kind_of_column(dtype):
    """Return "number", "truth" or "other" for a dtype of pandas or polars."""
    if hasattr(dtype, "is_numeric"):  # of polars
        return "number" if dtype.is_numeric() else "truth" if str(dtype) == "Boolean" else "other"
    kind = "O" if isinstance(dtype, pd.CategoricalDtype) else getattr(dtype, "kind", "O")
    return "number" if kind in "iuf" else "truth" if kind == "b" else "other"


def difference(X, X_public):
    """Compare names and types of columns, and categories in their order.

    Equality is not enough: pandas ignores the order of categories, which decides the codes. Where
    codes are assigned as values appear, in dictionaries of Arrow and `Categorical` of polars, one
    record can change the codes of all others; such columns count as different, whatever they hold.

    Parameters
    ----------
    X, X_public : ndarray, sparse matrix or DataFrame
        Private and public rows; DataFrames of pandas, polars or similar libraries.

    Returns
    -------
    Difference or None
        None if nothing differs.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn_pate.encoding.dtypes import difference
    >>> X = pd.DataFrame({"kind": pd.Categorical(["b", "a"], categories=["b", "a"])})
    >>> X_public = pd.DataFrame({"kind": pd.Categorical(["a", "b"])})
    >>> difference(X, X_public)
    Difference(kind='dtypes', columns=['kind'])
    """
    if hasattr(X, "dtypes") != hasattr(X_public, "dtypes"):
        return Difference("form", [])
    if not _is_readable(X) or not _is_readable(X_public):
        return Difference("unknown", [])
    if not hasattr(X, "dtypes"):
        return None if _are_same(X.dtype, X_public.dtype) else Difference("dtype", [])
    if list(X.columns) != list(X_public.columns):
        return Difference("columns", [])
    names = list(X_public.columns)
    columns = list(zip(names, list(X.dtypes), list(X_public.dtypes), strict=True))
    different = [name for name, private, public in columns if not _are_same(private, public)]
    if different:
        return Difference("dtypes", different)
    coded = [name for name, private, _ in columns if _assigns_codes(private)]
    return Difference("codes", coded) if coded else None


def dtype_name(dtype):
    """Name the type of a column without what it holds: widths, categories, fill values, notes.

    Parameters
    ----------
    dtype : dtype
        Of numpy, pandas, polars or another library.

    Returns
    -------
    str

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn_pate.encoding.dtypes import dtype_name
    >>> dtype_name(pd.CategoricalDtype(["Ada", "Grace"]))
    'category'
    """
    if isinstance(dtype, np.dtype):
        return dtype.name if dtype.kind in "biufcmMO" else kind_of(dtype)
    if isinstance(dtype, pd.DatetimeTZDtype | pd.PeriodDtype):
        return dtype.name
    return re.match(r"\w*", str(dtype))[0] or type(dtype).__name__


def same_dtypes(X, X_public):
    """Return both with the same dtypes, by which nothing private is seen.

    Whole numbers and truth values become floats, as one missing value changes their dtype. Private
    values that are no numbers, or none of the public categories, become missing. Of the private
    rows, no more decides a dtype than which columns hold dates.

    Parameters
    ----------
    X, X_public : ndarray, sparse matrix or DataFrame
        Private and public rows; DataFrames of pandas or polars, with the same columns.

    Returns
    -------
    X, X_public
        Copies.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn_pate.encoding.dtypes import same_dtypes
    >>> X, X_public = pd.DataFrame({"age": [31, None]}), pd.DataFrame({"age": [50, 60]})
    >>> X, X_public = same_dtypes(X, X_public)
    >>> str(X["age"].dtype), str(X_public["age"].dtype)
    ('float64', 'float64')
    """
    if isinstance(X_public, pd.DataFrame):
        return _same_in_pandas(X.copy(), X_public.copy())
    if hasattr(X_public, "schema"):
        return _same_in_polars(X, X_public)
    dtype = X_public.dtype
    if dtype.kind in _NEVER_MISSING:
        dtype = float
    elif dtype.kind in "OSTU":
        dtype = object
    return X.astype(dtype), X_public.astype(dtype)


def _same_in_pandas(X, X_public):
    found = difference(X, X_public)
    for name in [] if found is None else found.columns:
        private, public = X[name], X_public[name]
        if isinstance(public.dtype, pd.CategoricalDtype):
            private = private.astype(object).where(private.isin(public.cat.categories))
        elif _is_text(public) and pd.api.types.is_datetime64_any_dtype(private.dtype):
            public = pd.to_datetime(public, utc=isinstance(private.dtype, pd.DatetimeTZDtype))
        elif isinstance(public.dtype, np.dtype) and public.dtype.kind in "iubf":
            public = public.astype("float64") if public.dtype.kind in _NEVER_MISSING else public
            private = pd.to_numeric(private, errors="coerce") if _is_text(private) else private
        X_public[name] = public
        X[name] = private.astype(public.dtype)
    return X, X_public


def _same_in_polars(X, X_public):
    types = dict(X_public.schema)
    for name, kind in types.items():
        if kind.is_integer() and X.schema[name] != kind:
            types[name] = float
        elif str(kind) == "String" and X.schema[name].is_temporal():
            types[name] = X.schema[name]
    X_public = X_public.cast(types)
    return X.cast(dict(X_public.schema), strict=False), X_public


def _is_text(values):
    return pd.api.types.is_object_dtype(values.dtype) or isinstance(values.dtype, pd.StringDtype)


def _is_readable(X):
    """Whether `X` has the types of its columns where arrays or DataFrames have them."""
    if not hasattr(X, "dtypes"):
        return hasattr(X, "dtype")
    return hasattr(X, "columns") and len(list(X.dtypes)) == len(list(X.columns))


def _are_same(private, public):
    """Compare two types, and their categories in order and type, which decide the codes."""
    try:
        are_equal = bool(private == public)
    except Exception:  # types of two libraries
        return False
    return are_equal and _categories(private) == _categories(public)


def _categories(dtype):
    """Return the categories of a type with their types, as 1, 1.0 and True are equal.

    None if it has none, as polars' `Categorical`, see below.
    """
    try:
        return [(type(value), value) for value in dtype.categories]
    except (AttributeError, TypeError):
        return None


def _assigns_codes(dtype):
    """Whether a type, or one within it, assigns codes as values appear: Arrow's, and polars'."""
    stored = getattr(getattr(dtype, "pyarrow_dtype", None), "storage_type", "")
    without_names = re.sub(r"'[^']*'|\"[^\"]*\"", "", f"{dtype} {stored}")
    return re.search(r"\bdictionary<|\bCategorical\b", without_names) is not None
