"""Form of rows: column names and dtypes, which are public and the same for all teachers."""

from __future__ import annotations

import math
import re
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.utils import check_array

from ..runtime.isolation import kind_of

if TYPE_CHECKING:
    from .._typing import Rows

__all__ = ["Difference", "difference", "dtype_name", "same_dtypes"]

#: Kinds of numpy dtypes that cannot hold a missing value: one missing value changes the dtype.
_NEVER_MISSING = "iub"


class Difference(NamedTuple):
    """Difference in form between private and public rows, without any private value.

    Attributes
    ----------
    kind : {"form", "unknown", "columns", "dtype", "dtypes", "codes"}
        Property that differs. "unknown": the dtypes of the columns cannot be read. "codes": a
        column assigns codes in order of appearance.
    columns : list
        Names of the columns that differ, for "dtypes" and "codes"; empty for other kinds.
    """

    kind: str
    columns: list[Any]


class RowForm(NamedTuple):
    """Form of the public rows of a fit, without any value.

    Attributes
    ----------
    library : str
        Import name of the library of a DataFrame; empty for other rows.
    kinds : dict
        Maps the name of each column of a DataFrame to its kind: "number", "truth" (boolean) or
        "other". Empty for other rows.
    holds_numbers : bool
        Whether rows that are not a DataFrame have a numeric or boolean dtype.
    by_value : columns.Columns or None
        The columns, if some of them are converted cell by cell, regardless of dtypes; None if the
        dtypes of the public rows determine the conversion.
    is_sparse : bool
        Whether the rows are a sparse matrix.
    """

    library: str
    kinds: dict[Any, str]
    holds_numbers: bool
    by_value: Any = None
    is_sparse: bool = False

    @classmethod
    def of(cls, X: Rows) -> RowForm:
        """Return the form of public rows."""
        if not hasattr(X, "dtypes"):
            holds_numbers = getattr(X, "dtype", np.dtype(object)).kind in "biuf"
            return cls("", {}, holds_numbers, is_sparse=sparse.issparse(X))
        dtypes = zip(X.columns, X.dtypes, strict=True)
        return cls(library_of(X), {name: _kind_of_column(dtype) for name, dtype in dtypes}, False)

    @property
    def others(self) -> list[Any]:
        """Names of the DataFrame columns that are neither numeric nor boolean."""
        return [name for name, kind in self.kinds.items() if kind == "other"]

    def like(self, X: Rows) -> Rows:
        """Convert rows to this form, for a prediction.

        An array becomes a DataFrame if the model was fitted on a DataFrame of pandas or polars with
        numeric and boolean columns only. A DataFrame becomes an array if the model was fitted on an
        array. Sparse rows become an array if the model was fitted on an array, and an array becomes
        sparse rows if it was fitted on these. Objects, and arrays of text, become floats if the
        model was fitted on numbers. Values that cannot be converted without guessing a type stay
        unchanged. If `by_value` is set, the rows get its form (array or DataFrame): its columns
        that are read by value become floats or text, and arrays also get its dtype.
        """
        if self.by_value is not None:
            return self.by_value.like(X)
        if hasattr(X, "columns"):
            if self.library:
                return self._without_huge(X)
            X = array_of(X)
        if sparse.issparse(X) and not self.is_sparse:
            X = X.toarray()
        if not isinstance(X, np.ndarray):
            return X
        if self.holds_numbers or (self.library and not self.others):
            X = _as_floats(X) if X.dtype.kind in "OSU" else X
        if self.is_sparse:
            return sparse.csr_matrix(X) if X.ndim == 2 and X.dtype.kind in "biuf" else X
        if self.library not in ("pandas", "polars") or self.others or X.dtype.kind not in "biuf":
            return X
        columns = dict(zip(self.kinds, X.T, strict=True))
        for name, kind in self.kinds.items():
            if kind == "truth":
                if not np.isin(columns[name], [0, 1]).all():
                    return X
                columns[name] = columns[name].astype(bool)
        return import_module(self.library).DataFrame(columns)

    def _without_huge(self, X: Rows) -> Rows:
        """Convert object columns of a pandas DataFrame to floats if they were numeric in the fit.

        Integers beyond the range of floats become infinite. Columns with other values than numbers
        stay unchanged.
        """
        if not isinstance(X, pd.DataFrame) or not X.columns.is_unique:
            return X
        numbers = [name for name, kind in self.kinds.items() if kind == "number"]
        objects = [name for name in numbers if name in X.columns and X[name].dtype == object]
        X = X.copy(deep=False) if objects else X
        for name in objects:
            X[name] = _as_floats(X[name].to_numpy())
        return X


def library_of(frame: Any) -> str:
    """Return the import name of the library of a DataFrame."""
    return "pandas" if isinstance(frame, pd.DataFrame) else type(frame).__module__.split(".")[0]


def array_of(frame: Any) -> np.ndarray:
    """Convert a DataFrame to an array, as scikit-learn's ensembles do."""
    return check_array(frame, dtype=None, ensure_all_finite=False)


def as_float(value: Any) -> float:
    """Convert a value to a float, or to NaN if that is impossible; no value raises an error."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except Exception:
        return math.nan


def _as_floats(values: np.ndarray) -> np.ndarray:
    """Convert an array of objects to floats; return it unchanged if some are not numbers."""
    try:
        return values.astype(float)
    except OverflowError:
        return np.reshape([as_float(value) for value in values.ravel()], values.shape)
    except (TypeError, ValueError):
        return values


def _kind_of_column(dtype: Any) -> str:
    """Return "number", "truth" or "other" for a dtype of pandas or polars."""
    if hasattr(dtype, "is_numeric"):  # a dtype of polars
        return "number" if dtype.is_numeric() else "truth" if str(dtype) == "Boolean" else "other"
    kind = "O" if isinstance(dtype, pd.CategoricalDtype) else getattr(dtype, "kind", "O")
    return "number" if kind in "iuf" else "truth" if kind == "b" else "other"


def difference(X: Rows, X_public: Rows) -> Difference | None:
    """Compare column names, dtypes, and categories in their order.

    Equality of dtypes is not sufficient: pandas ignores the order of categories, which determines
    the codes. Dictionaries of Arrow and `Categorical` of polars assign codes in order of
    appearance, so one record can change the codes of all others. Such columns always count as
    different.

    Parameters
    ----------
    X, X_public : ndarray, sparse matrix or DataFrame
        Private and public rows; DataFrames of pandas, polars or similar libraries.

    Returns
    -------
    Difference or None
        None if the forms are equal.

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


def dtype_name(dtype: Any) -> str:
    """Return the name of a dtype without widths, categories, fill values and metadata.

    Parameters
    ----------
    dtype : dtype
        A dtype of numpy, pandas, polars or another library.

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
    return re.split(r"\W", str(dtype), maxsplit=1)[0] or type(dtype).__name__


def same_dtypes(X: Rows, X_public: Rows) -> tuple[Rows, Rows]:
    """Convert private and public rows to the same dtypes.

    The public rows determine the dtypes, whether or not the private ones differ. Integers and
    booleans become floats in both tables, because one missing or malformed private value changes
    their dtype (booleans of polars stay booleans). Private values that are not numbers or dates, or
    not among the public categories, become missing.

    There is one exception: a public column of texts becomes a column of dates if the private column
    has a dtype of dates, which may depend on private values. Convert dates in advance, in both
    tables, to avoid it.

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


def _same_in_pandas(X: pd.DataFrame, X_public: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    found = difference(X, X_public)
    if found is not None and not found.columns:  # no table, or other columns, which a fit refuses
        return X, X_public
    for k in range(X_public.shape[1]):  # names may occur twice
        private, public = X.iloc[:, k], X_public.iloc[:, k]
        dtype = public.dtype
        if isinstance(dtype, pd.CategoricalDtype):
            private = private.astype(object).where(private.isin(public.cat.categories))
        elif _is_text(public) and pd.api.types.is_datetime64_any_dtype(private.dtype):
            public = pd.to_datetime(public, utc=isinstance(private.dtype, pd.DatetimeTZDtype))
        elif pd.api.types.is_datetime64_any_dtype(dtype) and _is_text(private):
            # "mixed": otherwise, the first private value would determine the format of the others
            utc = isinstance(dtype, pd.DatetimeTZDtype)
            private = pd.to_datetime(private, errors="coerce", format="mixed", utc=utc)
        elif pd.api.types.is_numeric_dtype(dtype) and not isinstance(dtype, pd.SparseDtype):
            if dtype.kind in _NEVER_MISSING:
                public = public.astype("float64" if isinstance(dtype, np.dtype) else "Float64")
            private = pd.to_numeric(private, errors="coerce") if _is_text(private) else private
        X_public.isetitem(k, public)
        X.isetitem(k, private.astype(public.dtype))
    return X, X_public


def _same_in_polars(X: Rows, X_public: Rows) -> tuple[Rows, Rows]:
    types = dict(X_public.schema)
    for name, kind in types.items():
        if kind.is_integer():
            types[name] = float
        elif str(kind) == "String" and X.schema[name].is_temporal():
            types[name] = X.schema[name]
    X_public = X_public.cast(types)
    return X.cast(dict(X_public.schema), strict=False), X_public


def _is_text(values: pd.Series) -> bool:
    return pd.api.types.is_object_dtype(values.dtype) or isinstance(values.dtype, pd.StringDtype)


def _is_readable(X: Rows) -> bool:
    """Return whether `X` has one dtype, or one dtype for each named column."""
    if not hasattr(X, "dtypes"):
        return hasattr(X, "dtype")
    return hasattr(X, "columns") and len(list(X.dtypes)) == len(list(X.columns))


def _are_same(private: Any, public: Any) -> bool:
    """Compare two dtypes, with the order and the types of their categories, which set the codes."""
    try:
        are_equal = bool(private == public)
    except Exception:  # dtypes of two libraries
        return False
    return are_equal and _categories(private) == _categories(public)


def _categories(dtype: Any) -> list[tuple[type, Any]] | None:
    """Return the categories of a dtype with their types, because 1, 1.0 and True are equal.

    A dtype without categories, such as `Categorical` of polars, gives None; see `_assigns_codes`.
    """
    try:
        return [(type(value), value) for value in dtype.categories]
    except (AttributeError, TypeError):
        return None


def _assigns_codes(dtype: Any) -> bool:
    """Return whether a dtype of Arrow or polars, or one within it, assigns codes by appearance."""
    stored = getattr(getattr(dtype, "pyarrow_dtype", None), "storage_type", "")
    without_names = re.sub(r"'[^']*'|\"[^\"]*\"", "", f"{dtype} {stored}")
    return re.search(r"\bdictionary<|\bCategorical\b", without_names) is not None
