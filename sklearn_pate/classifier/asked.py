"""The public rows that labels belong to: they go by position, so other rows would get them."""

import hashlib
import warnings

import numpy as np
from scipy import sparse

from .._sklearn import _num_samples, _safe_indexing
from ..exceptions import warn

#: So many rows are looked at, far apart.
_N_SEEN = 100


def rows_digest(X_public):
    """Return what tells public rows from others, whatever type of array holds them."""
    n_public = _num_samples(X_public)
    seen = np.unique(np.linspace(0, n_public - 1, _N_SEEN).astype(int))
    rows = _safe_indexing(X_public, seen)
    if not sparse.issparse(rows):
        rows = np.asarray(rows).reshape(len(seen), -1)
    try:
        # As short floats, which long ones may have been made of
        with np.errstate(over="ignore"), warnings.catch_warnings():
            warnings.simplefilter("error")  # of complex numbers, which would lose a part
            numbers = sparse.csr_array(rows, dtype=np.float32)
    except (TypeError, ValueError, OverflowError, Warning):
        parts = [str(value).encode(errors="replace") for value in rows.ravel().tolist()]
    else:
        numbers.sum_duplicates()
        numbers.eliminate_zeros()
        parts = [numbers.indptr, numbers.indices.astype(np.int64), numbers.data]
    return hashlib.sha256(b"\0".join(bytes(part) for part in parts)).hexdigest()


def are_same_rows(X, other):
    """Return whether two tables are equal in all rows; False where that cannot be told."""
    if X is other:
        return True
    if type(X) is not type(other):
        return False
    if isinstance(X, np.ndarray):
        return np.array_equal(X, other, equal_nan=X.dtype.kind == "f")
    return bool(X.equals(other)) if hasattr(X, "equals") else False


def check_labelled_rows(X_public, n_labelled, digest):
    """Refuse another number of public rows than got labels, and warn if they are others.

    Parameters
    ----------
    X_public : array-like with n_public rows
        Public rows.
    n_labelled : int
        The number of rows given to fit.
    digest : str
        Of these, from `rows_digest`.
    """
    if _num_samples(X_public) != n_labelled:
        raise ValueError(
            f"X_public has {_num_samples(X_public)} rows, and labels were released for the "
            f"{n_labelled} rows given to fit; pass the same rows in that order"
        )
    if rows_digest(X_public) != digest:
        warn(
            "X_public holds other values than the rows given to fit, or in another order. Labels "
            "go by position: if these are not the same rows, the student learns wrong labels"
        )
