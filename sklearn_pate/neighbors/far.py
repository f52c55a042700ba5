"""Rows far outside what public ones show: their size decides how a batch is rounded."""

from numbers import Number

import numpy as np
import pandas as pd
from scipy import sparse

from ..public import table_of
from .columns import of_pandas

#: A transformer is tried beside rows a million times as large, see `transform.ODD`. Rounding beside
#: rows that are so many times as large at most is a thousandth of what was tried.
_MOST = 1e3


def largest_sizes(X_public):
    """Return the largest size of a number in each column of public rows.

    Parameters
    ----------
    X_public : array-like with n_public rows
        Public rows.

    Returns
    -------
    ndarray of shape (n_columns,)
    """
    return np.nan_to_num(_sizes(X_public), posinf=0).max(axis=0, initial=0)


def are_far(X, largest):
    """Return which rows hold a number far beyond the public ones, each by itself.

    Parameters
    ----------
    X : array-like with n_rows rows
        Private rows.
    largest : ndarray of shape (n_columns,)
        From `largest_sizes`.

    Returns
    -------
    ndarray of shape (n_rows,), bool
    """
    return (_sizes(X) > _MOST * (1 + largest)).any(axis=1)


def _sizes(X):
    """Return the absolute numbers of rows, (n_rows, n_columns), 0 for all else."""
    if sparse.issparse(X):
        # One size for each row: that of its largest number
        largest = abs(X).nanmax(axis=1).toarray().astype(float)
        return np.nan_to_num(largest, posinf=np.inf).reshape(-1, 1)
    if isinstance(X, np.ndarray) and X.dtype.kind in "iuf":
        return np.abs(X.reshape(len(X), -1).astype(float))
    table = table_of(of_pandas(X))
    return np.column_stack([_numbers(table.iloc[:, k]) for k in range(table.shape[1])])


def _numbers(column):
    """Return the absolute numbers of a column, 0 for all else. No value makes it fail."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(object)
    if column.dtype == object:
        return np.array([_size(value) for value in column])
    if getattr(column.dtype, "kind", "O") not in "iuf":
        return np.zeros(len(column))
    sizes = np.abs(column.to_numpy(float, na_value=np.nan))
    return np.where(np.isnan(sizes), 0, sizes)


def _size(value):
    if not isinstance(value, Number):  # Decimal is one
        return 0.0
    try:
        size = abs(float(value))
    except OverflowError:
        return np.inf
    except Exception:  # complex numbers, signalling NaN
        return 0.0
    return 0.0 if np.isnan(size) else size
