"""The private table: which ones can be drawn from, their columns, and what to do with others."""

import numpy as np
import pandas as pd
from scipy import sparse

from ..rdp.checks import as_array
from .columns import kind_of


def checked_table(X):
    """Return `X`, a DataFrame of pandas or an array of numbers with two axes; refuse others."""
    if sparse.issparse(X):
        raise ValueError(
            "X is sparse, and a synthesizer needs a DataFrame or an array: pass X.toarray()"
        )
    if isinstance(X, pd.DataFrame):
        _check_names(X)
        return X
    if hasattr(X, "columns"):
        raise ValueError(
            f"X is a {type(X).__name__}, and a synthesizer needs pandas: pass X.to_pandas()"
        )
    if not isinstance(X, list | tuple) and not hasattr(X, "__array__"):
        raise ValueError(
            f"X is a {type(X).__name__}, and a synthesizer needs all rows; or pass X_public"
        )
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
        raise ValueError(
            "X must be an array of numbers; give text and categories as columns of a DataFrame"
        )
    return X


def _check_names(X):
    if X.shape[1] == 0:
        raise ValueError("X has no columns, and a synthesizer makes a histogram of each")
    if not X.columns.is_unique:
        raise ValueError(
            f"Expected unique column names, got {list(X.columns)}; rename the columns of X"
        )


def dtypes_of(X):
    """Return the dtype of each column by its name, or by its position in an array."""
    if isinstance(X, pd.DataFrame):
        return dict(zip(X.columns, X.dtypes, strict=True))
    return dict.fromkeys(range(X.shape[1]), _native(X.dtype))


def columns_of(X):
    """Yield each column as a Series."""
    for k in range(X.shape[1]):
        if isinstance(X, pd.DataFrame):
            yield X.iloc[:, k]
        else:
            yield pd.Series(X[:, k].astype(_native(X.dtype), copy=False))


def _native(dtype):
    return dtype.newbyteorder("=")  # pandas has no other


# --- columns that have no histogram as they are --------------------------------------------------

#: So many names of columns are told in a message.
_MOST_NAMES = 20

_OF_PERIODS = "make numbers of them, such as column.dt.year"
_OF_CATEGORIES = (
    "they have bins as they are, leave them out; if they should be numbers, convert them, "
    'pd.to_numeric(column.astype(object), errors="coerce")'
)
_OF_TEXT = (
    'make numbers of those that should be, pd.to_numeric(column, errors="coerce"); of others say '
    "which values there may be, categories={column: [...]}; drop what tells people apart, as names"
)
_BY_KIND = {
    "sparse": "make them dense, column.sparse.to_dense()",
    "M": 'make numbers of dates, such as column.sub(pd.Timestamp("2020-01-01")).dt.days',
    "m": "make numbers of lengths of time, column.dt.total_seconds()",
    "c": "make two columns of real numbers",
    "b": "they have bins as they are, leave them out",
    **dict.fromkeys("iuf", "they have categories; give bounds or categories, not both"),
}


def remedies(dtype_by_name):
    """Return what to do with columns, in words: for each dtype their names, and a remedy."""
    names_by_dtype = {}
    remedy_by_dtype = {}
    for name, dtype in dtype_by_name.items():
        in_words = "category" if isinstance(dtype, pd.CategoricalDtype) else str(dtype)
        names_by_dtype.setdefault(in_words, []).append(name)
        remedy_by_dtype[in_words] = _remedy(dtype)
    return "; ".join(
        f"{named(names)} (dtype {in_words}): {remedy_by_dtype[in_words]}"
        for in_words, names in names_by_dtype.items()
    )


def _remedy(dtype):
    if isinstance(dtype, pd.CategoricalDtype):
        return _OF_CATEGORIES
    if isinstance(dtype, pd.PeriodDtype):
        return _OF_PERIODS
    return _BY_KIND.get(kind_of(dtype), _OF_TEXT)


def named(names):
    """Return names of columns in words."""
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"{names[:_MOST_NAMES]}{more}"
