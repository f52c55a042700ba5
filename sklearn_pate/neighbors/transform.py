"""Numbers made of rows: by a transformer that sees public rows alone when it is fitted."""

from itertools import product
from numbers import Real

import numpy as np
import pandas as pd
from scipy import sparse

from .._sklearn import _num_samples, _safe_indexing
from ..isolation import (
    Quiet,
    applied_to_parts,
    own_clone,
    own_generators,
    own_rows,
    seeded,
    set_seeds,
)
from .columns import RowVectorizer, are_far

#: How many public rows a transformer is tried on, alone and beside others.
_N_TRIED = 12
#: Every second of them is tried beside odd ones, of which there are several kinds.
_BESIDE_ODD = slice(None, None, 2)


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
        try:
            return own_generators(fitted.fit(X_public, None))  # FrozenEstimator wants a y
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
    raise ValueError(
        f"the transformer of ReverseNeighbors could not be fitted on X_public: {problem}. For "
        "columns of several kinds, leave transformer=None or give a ColumnTransformer"
    )


def transformed(fitted, rows):
    """Return the numbers of rows, (n_rows, n_columns), or raise what is wrong with them."""
    numbers = fitted.transform(rows)
    if sparse.issparse(numbers):
        numbers = numbers.toarray()
    numbers = np.asarray(numbers)
    if numbers.ndim != 2 or numbers.dtype.kind not in "iufb" or len(numbers) != _num_samples(rows):
        raise ValueError(
            f"transformer must make a 2-D array of numbers; got {numbers.dtype}, {numbers.shape}"
        )
    return numbers.astype(float)


def transformed_private(fitted, X, n_columns, rows=None, *, largest=None):
    """Return the numbers of private rows; NaN in rows that cannot be transformed.

    Nothing is said of these. A row that fails does so by itself: the others are transformed
    without it, as parts that fail are halved. Of `rows`, each is transformed by itself; without
    any, those are that are far beyond the `largest` sizes of public ones.
    """
    parts = [np.arange(_num_samples(X))]
    if rows is None and largest is not None:
        far = are_far(X, largest)
        parts = [np.flatnonzero(~far), *np.flatnonzero(far)[:, None]]
    if rows is not None:
        X = own_rows(X, rows)
        parts = np.arange(len(rows))[:, None]
    numbers = np.full((_num_samples(X), n_columns), np.nan)
    while len(parts):
        halves = []
        for rows, (found, failed) in applied_to_parts(transformed, fitted, X, parts):
            if failed is None and found.shape == (rows.size, n_columns):
                numbers[rows] = found
            elif rows.size > 1:
                halves += np.array_split(rows, 2)
        parts = halves
    return numbers


def rounding_beside_others(fitted, X_public, public):
    """Return by how much numbers of public rows differ if each is transformed by itself.

    A matrix product rounds a row by those beside it. Refuses a transformer whose numbers for a row
    depend on the rows beside it: some public rows, and odd copies of some of them, are transformed
    alone and together. That of this library does not, as its tests show in the same way.

    Parameters
    ----------
    fitted : transformer
        Fitted on public rows.
    X_public : array-like with n_public rows
        Public rows.
    public : ndarray of shape (n_public, n_columns)
        Their numbers, all transformed together.

    Returns
    -------
    float
        The largest difference, relative to the root mean square length of a row.
    """
    rows = np.unique(np.linspace(0, len(public) - 1, _N_TRIED).astype(int))  # far apart
    some = _safe_indexing(X_public, rows)
    with Quiet():
        if type(fitted) is RowVectorizer:
            by_itself = [transformed(fitted, _safe_indexing(some, [k])) for k in range(len(rows))]
            together = transformed(fitted, some)
        else:
            by_itself = _alone(fitted, some)
            together, _ = _together(fitted, some)
            if not (_are_like_wide(by_itself) and treats_rows_alone(fitted, some, by_itself)):
                raise ValueError(
                    "the transformer's numbers for a row depend on the rows beside it, so one "
                    "record could move the ballots of others; use one that treats each row by "
                    "itself in transform"
                )
    alone = np.vstack(by_itself)
    difference = max(np.abs(alone - public[rows]).max(), np.abs(alone - together).max())
    return float(difference / max(np.sqrt((public**2).sum(axis=1).mean()), 1e-300))


def treats_rows_alone(fitted, some, by_itself):
    """Return whether rows have the numbers that they have by themselves, odd ones beside them.

    Parameters
    ----------
    fitted : transformer
        Fitted on public rows.
    some : array-like with n_some rows
        Public rows.
    by_itself : list of n_some ndarrays of shape (1, n_columns)
        Their numbers, each transformed by itself.
    """
    low, middle, high = np.nanpercentile(np.vstack(by_itself), [25, 50, 75], axis=0)
    typical = np.nan_to_num(middle), np.nan_to_num(high - low)  # and how far apart quartiles are
    if not _is_row_by_row(fitted, some, by_itself, typical):
        return False
    few = _safe_indexing(some, np.arange(_num_samples(some))[_BESIDE_ODD])
    return all(
        _is_row_by_row(fitted, batch, _alone(fitted, batch), typical)
        for batch in _beside_odd_rows(few)
    )


def _alone(fitted, batch):
    """Return the numbers of each row by itself; None for a row that fails."""
    rows = np.arange(_num_samples(batch))[:, None]
    return [found for _, (found, _) in applied_to_parts(transformed, fitted, batch, rows)]


def _together(fitted, batch):
    """Return the numbers of all rows, and what failed; by another seed, which shows draws."""
    all_rows = np.arange(_num_samples(batch))
    ((_, found),) = applied_to_parts(transformed, fitted, batch, [all_rows], seed=1)
    return found


def _are_like_wide(rows):
    """Whether all of these rows have numbers, and equally many."""
    widths = {None if row is None else row.shape[1] for row in rows}
    return len(widths) == 1 and None not in widths


def _is_row_by_row(fitted, batch, alone, typical):
    """Whether each row of a batch has the numbers that it has by itself."""
    together, failed = _together(fitted, batch)
    if failed is not None:
        return True  # private rows of such a batch are transformed in smaller ones
    if not _are_like_wide([together, *alone]):
        return False
    alone = np.vstack(alone)
    middle, width = typical
    with np.errstate(over="ignore", invalid="ignore"):
        # Columns have units of their own, but those of no size beside the others hold nothing but
        # what is rounded, as do those of rows that are far away
        close = 1e-4 * np.maximum(width, 0.01 * np.linalg.norm(width))
        far = np.where(np.isfinite(alone), alone - middle, 0)
        close = close + 2e-6 * np.linalg.norm(far, axis=1, keepdims=True)
        same = np.abs(alone - together) <= close
    return bool((same | (alone == together) | (np.isnan(alone) & np.isnan(together))).all())


def _beside_odd_rows(some):
    """Yield the rows between copies with extreme, with missing, and with unseen values."""
    if sparse.issparse(some):
        half = _num_samples(some) // 2
        for odd in _odd_sparse(some):
            yield sparse.vstack([odd[:half], some, odd[half:]]).tocsr()
    elif isinstance(some, pd.DataFrame):
        yield from _frames_beside_odd(some)
    elif isinstance(some, pd.Series):
        for frame in _frames_beside_odd(some.to_frame()):
            yield frame.iloc[:, 0]
    elif isinstance(some, np.ndarray):
        dtype = object if some.dtype.kind in "US" else some.dtype
        for frame in _frames_beside_odd(pd.DataFrame(some.reshape(len(some), -1), dtype=dtype)):
            yield frame.to_numpy().reshape(-1, *some.shape[1:])


def _frames_beside_odd(some):
    """Change columns of one dtype at a time: a transformer may fail at odd values of another."""
    half = len(some) // 2
    columns = [some.iloc[:, k] for k in range(some.shape[1])]
    for dtype, change in product(dict.fromkeys(some.dtypes.astype(str)), ODD):
        odd = [change(column) if str(column.dtype) == dtype else column for column in columns]
        pairs = list(zip(odd, columns, strict=True))
        if any(changed is not column for changed, column in pairs):
            yield pd.concat([_between(*pair, half) for pair in pairs], axis=1)


def _between(odd, values, half):
    return pd.concat([odd.iloc[:half], values.astype(odd.dtype), odd.iloc[half:]])


def _odd_sparse(some):
    """Yield sparse rows with extreme entries, with entries where others have none, and missing."""
    yield some * 1e6
    yield some[:, ::-1] * -1e6
    if some.dtype.kind == "f":
        missing = some.copy()
        missing.data[::2] = np.nan
        yield missing


# --- odd values of a column: what no public row may have, and a private row can ------------------

#: Times far from others, which fit into all units.
_FAR = {"M": "2200-01-01", "m": "36500 days"}


def _extreme(values):
    """Return numbers or times that no rows have, of the same dtype."""
    kind = getattr(values.dtype, "kind", "O")
    if kind == "f":
        return values * 1e6 + 1e6
    if kind in "iu":
        stored = getattr(values.dtype, "numpy_dtype", values.dtype)
        return values * 0 + np.iinfo(stored).max // 4
    if kind in _FAR:
        return pd.Series(_FAR[kind], index=values.index, name=values.name).astype(values.dtype)
    return values


def _negative(values):
    """Return the negative of extreme numbers and times, where the dtype has them."""
    kind = getattr(values.dtype, "kind", "O")
    return -_extreme(values) if kind in "fim" else values


def _half_missing(values):
    """Return values of which every second is missing, where the dtype has missing values."""
    extreme = _extreme(values)
    missing = extreme.mask(np.arange(len(values)) % 2 == 0)
    return missing if missing.dtype == extreme.dtype else values


def _unseen(values):
    """Return texts, categories or objects that no rows have."""
    dtype = values.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        unseen = ["unseen" if dtype.categories.dtype.kind not in "iuf" else 10**9] * len(values)
        dtype = pd.CategoricalDtype(dtype.categories.union(unseen[:1], sort=False), dtype.ordered)
    elif pd.api.types.is_object_dtype(dtype) or pd.api.types.is_string_dtype(dtype):
        unseen = [_unlike(value, k) for k, value in enumerate(values)]
    else:
        return values
    return pd.Series(unseen, index=values.index, name=values.name, dtype=dtype)


def _unlike(value, k):
    """Return a text, or a number for a number, of either sign; some texts are empty."""
    if isinstance(value, bool | np.bool_ | bytes):
        return value
    if isinstance(value, Real) and value == value:
        return (-1) ** k * (1e9 + k)
    return "" if k % 4 == 1 else f"unseen {k}"


#: What is done to columns: each returns a changed copy, or the very column if it does not apply.
ODD = (_extreme, _negative, _half_missing, _unseen)
