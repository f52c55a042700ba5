"""Numbers made of rows: by a transformer that sees public rows alone when it is fitted."""

import numpy as np
import pandas as pd
from scipy import sparse

from .._sklearn import _num_samples, _safe_indexing
from ..isolation import Quiet, attempt, copier, isolated, own_clone, own_rows, seeded, set_seeds

__all__ = ["check_rows_alone", "fitted_on_public", "transformed", "transformed_private"]

#: How many public rows a transformer is tried on, alone and beside others.
_N_TRIED = 40


def fitted_on_public(transformer, X_public, seed):
    """Return a copy of a transformer that is fitted on public rows.

    Parameters
    ----------
    transformer : transformer
        Unfitted.
    X_public : array-like with n_public rows
        Public rows.
    seed : int
        Seeds what it draws.
    """
    with Quiet(), seeded(seed):
        fitted = own_clone(transformer, seed)
        set_seeds(fitted, seed, only_missing=True)
        return fitted.fit(X_public)


def transformed(fitted, rows):
    """Return the numbers of rows, (n_rows, n_columns), or raise what is wrong with them."""
    numbers = fitted.transform(rows)
    if sparse.issparse(numbers):
        numbers = numbers.toarray()
    numbers = np.asarray(numbers)
    if numbers.ndim != 2 or numbers.dtype.kind not in "iufb" or len(numbers) != _num_samples(rows):
        raise ValueError(
            "transformer must make a row of numbers of each row, a 2-D array; got shape "
            f"{numbers.shape} of kind {numbers.dtype.kind!r}"
        )
    return numbers.astype(float)


def transformed_private(fitted, X, n_columns):
    """Return the numbers of private rows; NaN in rows that cannot be transformed.

    Nothing is said of these. A row that fails does so by itself: the others are transformed
    without it.
    """
    numbers = np.full((_num_samples(X), n_columns), np.nan)
    parts = [np.arange(len(numbers))]
    fresh = copier(fitted)
    while parts:
        rows = parts.pop()
        with isolated(0):
            found, failed = attempt(
                lambda: transformed(fresh(), own_rows(X, rows, _safe_indexing))  # noqa: B023
            )
        if failed is None and found.shape == (rows.size, n_columns):
            numbers[rows] = found
        elif rows.size > 1:
            parts += np.array_split(rows, 2)
    return numbers


def check_rows_alone(fitted, X_public):
    """Refuse a transformer whose numbers for a row depend on the rows beside it."""
    rows = np.unique(np.linspace(0, _num_samples(X_public) - 1, _N_TRIED).astype(int))
    some = _safe_indexing(X_public, rows)
    fresh = copier(fitted)
    with Quiet(), isolated(0):
        alone = np.vstack([transformed(fresh(), _safe_indexing(X_public, [row])) for row in rows])
        batches = [some, *_beside_odd_rows(some)]
        for batch in batches:
            together, failed = attempt(lambda: transformed(fresh(), batch))  # noqa: B023
            if failed is None and not _are_alike(alone, together[: rows.size]):
                break
        else:
            return
    raise ValueError(
        "the transformer's numbers for a row depend on the rows beside it, so one private record "
        "could move the ballots of others: a row of X_public is transformed otherwise when given "
        "alone, or beside extreme or missing values. Use a transformer that learns in fit alone "
        "and treats each row by itself in transform. Nothing was spent"
    )


def _are_alike(alone, together):
    size = np.nanmax(np.abs(alone), initial=1e-300)
    return np.allclose(alone, together, rtol=1e-4, atol=1e-6 * size, equal_nan=True)


def _beside_odd_rows(some):
    """Yield the rows with extreme, and with missing, copies of them behind."""
    if isinstance(some, pd.DataFrame):
        is_number = [pd.api.types.is_float_dtype(dtype) for dtype in some.dtypes]
        extreme, missing = some.copy(), some.copy()
        for name in some.columns[is_number]:
            extreme[name] = some[name] * 1e6 + 1e6
            missing[name] = np.nan
        yield pd.concat([some, extreme])
        yield pd.concat([some, missing])
    elif sparse.issparse(some):
        yield sparse.vstack([some, some * 1e6]).tocsr()
    elif isinstance(some, np.ndarray) and some.dtype.kind == "f":
        yield np.concatenate([some, some * 1e6 + 1e6])
        yield np.concatenate([some, np.full_like(some, np.nan)])
