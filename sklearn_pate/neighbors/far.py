"""Rows far outside what public ones show: their size decides how a batch is rounded."""

import numpy as np
import pandas as pd
from scipy import sparse

__all__ = ["are_far", "largest_sizes"]

#: A transformer is tried beside rows a million times as large, see `odd`. Rounding beside rows
#: that are so many times as large at most is a thousandth of what was tried.
_MOST = 1e3


def largest_sizes(X_public):
    """Return the largest size of a number in each column of public rows; None if unknown.

    Parameters
    ----------
    X_public : array-like with n_public rows
        Public rows.

    Returns
    -------
    ndarray of shape (n_columns,) or None
    """
    sizes = _sizes(X_public)
    return None if sizes is None else np.nan_to_num(sizes, posinf=0).max(axis=0, initial=0)


def are_far(X, largest):
    """Return which rows hold a number far beyond the public ones, each by itself.

    Parameters
    ----------
    X : array-like with n_rows rows
        Private rows.
    largest : ndarray of shape (n_columns,) or None
        From `largest_sizes`.

    Returns
    -------
    ndarray of shape (n_rows,), bool, or None
        None where sizes are unknown.
    """
    sizes = None if largest is None else _sizes(X)
    if sizes is None:
        return None
    return (sizes > _MOST * (1 + largest)).any(axis=1)


def _sizes(X):
    """Return the absolute numbers of rows, (n_rows, n_columns), 0 for all else; None if unknown."""
    if sparse.issparse(X):
        # One size for each row: that of its largest number
        largest = abs(X).nanmax(axis=1).toarray().astype(float)
        return np.nan_to_num(largest, posinf=np.inf).reshape(-1, 1)
    if isinstance(X, pd.DataFrame):
        columns = [_numbers(X.iloc[:, k]) for k in range(X.shape[1])]
        return np.column_stack(columns)
    if isinstance(X, pd.Series):
        return _numbers(X)[:, None]
    if isinstance(X, np.ndarray) and X.dtype.kind in "iuf":
        return np.abs(X.reshape(len(X), -1).astype(float))
    if isinstance(X, np.ndarray) and X.dtype.kind == "O":
        return np.column_stack([_numbers(pd.Series(column)) for column in X.reshape(len(X), -1).T])
    return None


def _numbers(column):
    """Return the absolute numbers of a column, 0 for all else. No value makes it fail."""
    if column.dtype == object:
        return np.array([_size(value) for value in column])
    if getattr(column.dtype, "kind", "O") not in "iuf":
        return np.zeros(len(column))
    sizes = np.abs(column.to_numpy(float, na_value=np.nan))
    return np.where(np.isnan(sizes), 0, sizes)


def _size(value):
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return 0.0
    try:
        size = abs(float(value))
    except OverflowError:
        return np.inf
    return 0.0 if np.isnan(size) else size
