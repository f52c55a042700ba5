"""The public rows that labels belong to: they go by position, so other rows would get them."""

import hashlib
from numbers import Real

import numpy as np
from scipy import sparse

from .._sklearn import _num_samples, _safe_indexing
from ..exceptions import warn

__all__ = ["check_labelled_rows", "rows_digest"]

#: So many rows are looked at, far apart.
_N_SEEN = 100


def rows_digest(X_public):
    """Return what tells public rows from others, whatever type of array holds them."""
    n_public = _num_samples(X_public)
    seen = np.unique(np.linspace(0, n_public - 1, _N_SEEN).astype(int))
    rows = _safe_indexing(X_public, seen)
    values = rows.toarray() if sparse.issparse(rows) else np.asarray(rows)
    with np.errstate(over="ignore"):
        words = [_word(value) for value in values.ravel().tolist()]
    return hashlib.sha256("\0".join(words).encode(errors="replace")).hexdigest()


def _word(value):
    """Write a value; numbers as short floats, which long ones may have been made of."""
    return str(np.float32(value)) if isinstance(value, Real) else str(value)


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
