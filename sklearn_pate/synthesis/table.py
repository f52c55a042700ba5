"""The private table: which ones can be drawn from, and their columns."""

import math

import numpy as np
import pandas as pd
from scipy import sparse

from ..rdp.checks import as_array


def checked_table(X):
    """Return `X`, a DataFrame of pandas or an array of numbers with two axes; refuse others."""
    if sparse.issparse(X):
        raise ValueError(
            "X is sparse, and a synthesizer makes histograms of the columns of DataFrames and "
            "arrays: pass X.toarray() or, of many columns, a few"
        )
    if isinstance(X, pd.DataFrame):
        _check_names(X)
        return X
    if hasattr(X, "columns"):
        raise ValueError(
            f"X is a {type(X).__module__}.{type(X).__name__}, and a synthesizer needs a DataFrame "
            "of pandas or an array: pass X.to_pandas()"
        )
    if not isinstance(X, list | tuple) and not hasattr(X, "__array__"):
        raise ValueError(
            f"X is a {type(X).__name__}, and a synthesizer needs all private rows in one "
            "DataFrame or array; without them, pass public rows, X_public"
        )
    is_masked = isinstance(X, np.ma.MaskedArray)
    X = as_array("X", X)
    if X.ndim == 1 and X.dtype.kind in "OSTU":
        raise ValueError(
            "X is a list of texts or objects, and a synthesizer draws columns: it cannot write "
            "texts. Make a few numbers or categories of each, in a DataFrame, or pass public "
            "texts, X_public"
        )
    if X.ndim != 2:
        raise ValueError(
            "X must have two axes for a synthesizer, which draws each column by itself; got "
            f"{X.ndim} axes and {math.prod(X.shape[1:])} features. Images and other rows whose "
            "columns say little alone need public rows, X_public"
        )
    if X.shape[1] == 0:
        raise ValueError(
            f"X has 0 feature(s) (shape={X.shape}) while a minimum of 1 is required; a synthesizer "
            "makes a histogram of each"
        )
    if X.dtype.kind == "c":
        raise ValueError("Complex data not supported: X must hold numbers or truth values")
    if X.dtype.kind not in "biuf" or is_masked:
        raise ValueError(
            "X must be an array of numbers or truth values for a synthesizer; give text, "
            "categories and masked values as columns of a DataFrame"
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
