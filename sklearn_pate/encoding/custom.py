"""Transformers that are fitted on public rows and applied to private rows, alone or in blocks.

Transformers of the user and encoders of this library are applied in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy import sparse

from .._numbers import is_number
from .._sklearn import _num_samples, _safe_indexing
from ..public import table_of
from ..runtime.copies import (
    copied_generators,
    copied_rows,
    copier,
    isolated_clone,
    seeded,
    set_seeds,
)
from ..runtime.isolation import PublicError, applied_to_parts, suppress_output
from .vectorizer import RowVectorizer, of_pandas

if TYPE_CHECKING:
    from .._typing import Estimator, Rows

#: Number of public rows that a transformer is tried on, alone and in batches.
_N_TRIED = 12
#: Every second of these rows is tried together with odd rows of several kinds.
_WITH_ODD = slice(None, None, 2)


#: Private rows with numbers more than this many times as large as public ones are transformed
#: alone. Transformers are tried on batches with numbers a million times as large, see `ODD`. The
#: rounding in a batch of private rows is therefore at most a thousandth of that in these trials.
_MOST = 1e3

#: Errors of a transformer, and their remedies, for messages.
_REFUSED = {
    "could not be fitted on X_public": (
        "For columns of several kinds, leave transformer=None or give a ColumnTransformer"
    ),
    "cannot be copied, but each block of private rows requires its own copy": (
        "Use one that can be pickled: it must hold no locks, open files or connections"
    ),
}


def fitted_on_public(transformer: Estimator, X_public: Rows, seed: int) -> Estimator:
    """Fit a copy of a transformer on public rows.

    Parameters
    ----------
    transformer : transformer
        Unfitted; it is copied.
    X_public : array-like with n_public rows
        Public rows.
    seed : int
        Seed of the transformer's random numbers.

    Returns
    -------
    transformer
        The fitted copy.

    Raises
    ------
    ValueError
        If the transformer cannot be copied or fitted.
    """
    not_fitted, not_copied = _REFUSED
    with suppress_output(), seeded(seed):
        try:
            problem = not_copied
            fitted = isolated_clone(transformer, seed)
            problem = not_fitted
            set_seeds(fitted, seed, only_missing=True)
            fitted = copied_generators(fitted.fit(X_public, None))  # FrozenEstimator requires a y
            problem = not_copied
            copier(fitted)()
            return fitted
        except PublicError as error:
            raise ValueError(f"X_public: {error}") from None
        except Exception as error:
            words = str(error).partition("\n")[0].removesuffix(".")
            found = f"{problem}: {type(error).__name__}: {words}"
    remedy = f". {_REFUSED[problem]}"
    if type(transformer) is RowVectorizer and problem == not_fitted:
        remedy = ""  # it is the default already
    raise ValueError(f"the transformer of ReverseNeighbors {found}{remedy}")


def transformed(fitted: Estimator, rows: Rows) -> np.ndarray:
    """Transform rows to a dense float array of shape (n_rows, n_columns).

    Raise an error if the transformer does not return a 2-D array of numbers with as many rows.
    """
    numbers = fitted.transform(rows)
    if sparse.issparse(numbers):
        numbers = numbers.toarray()
    numbers = np.asarray(numbers)
    if numbers.ndim != 2 or numbers.dtype.kind not in "iufb" or len(numbers) != _num_samples(rows):
        raise ValueError(
            f"transformer must return a 2-D array of numbers; got {numbers.dtype}, {numbers.shape}"
        )
    return numbers.astype(float)


def transformed_private(
    fitted: Estimator,
    X: Rows,
    n_columns: int,
    rows: np.ndarray | None = None,
    *,
    largest: np.ndarray | None = None,
) -> np.ndarray:
    """Encode private rows as numbers, with NaN in rows that cannot be transformed.

    Their errors and warnings are suppressed. A row that fails does not affect the others, because a
    block that fails is halved until this row is alone. If `rows` is given, only the rows at these
    positions are encoded, each by itself. Otherwise, rows with numbers far beyond `largest`, from
    `largest_sizes`, are each encoded by themselves, and all others in one block.
    """
    parts = [np.arange(_num_samples(X))]
    if rows is None and largest is not None:
        far = are_far(X, largest)
        parts = [np.flatnonzero(~far), *np.flatnonzero(far)[:, None]]
    if rows is not None:
        X = copied_rows(X, rows)
        parts = list(np.arange(len(rows))[:, None])
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


def rounding_among_others(fitted: Estimator, X_public: Rows, public: np.ndarray) -> float:
    """Return the rounding difference of public rows transformed alone and together.

    In a matrix product, the rounding of a row depends on the other rows of the batch. To detect
    larger effects of other rows, some public rows, and odd copies of some of them, are transformed
    alone and together. The odd copies are omitted for `RowVectorizer`, and all of the rows if it
    computes no matrix product, because the tests of this library cover it.

    Parameters
    ----------
    fitted : transformer
        Fitted on public rows.
    X_public : array-like with n_public rows
        Public rows.
    public : ndarray of shape (n_public, n_columns)
        The public rows, all transformed together.

    Returns
    -------
    float
        The largest difference, relative to the root mean square length of a row.

    Raises
    ------
    ValueError
        If the numbers of a row depend on other rows of the batch by more than rounding.
    """
    if type(fitted) is RowVectorizer and fitted.rounds_alone:
        return 0.0
    rows = np.unique(np.linspace(0, len(public) - 1, _N_TRIED).astype(int))  # far apart
    some = _safe_indexing(X_public, rows)
    with suppress_output():
        if type(fitted) is RowVectorizer:
            by_itself = [transformed(fitted, _safe_indexing(some, [k])) for k in range(len(rows))]
            together = transformed(fitted, some)
        else:
            by_itself = _alone(fitted, some)
            together, _ = _together(fitted, some)
            if not (
                _are_like_wide(by_itself) and treats_rows_alone(fitted, some, by_itself, together)
            ):
                raise ValueError(
                    "the transformer's numbers for a row depend on the other rows of the batch, so "
                    "one record could change the votes of others; use a transformer that encodes "
                    "each row by itself in transform"
                )
    alone = np.vstack(by_itself)
    difference = max(np.abs(alone - public[rows]).max(), np.abs(alone - together).max())
    return float(difference / max(np.sqrt((public**2).sum(axis=1).mean()), 1e-300))


def treats_rows_alone(
    fitted: Estimator, some: Rows, by_itself: list[np.ndarray], together: np.ndarray | None
) -> bool:
    """Return whether rows are encoded equally alone and together with odd rows.

    Parameters
    ----------
    fitted : transformer
        Fitted on public rows.
    some : array-like with n_some rows
        Public rows.
    by_itself : list of n_some ndarrays of shape (1, n_columns)
        The same rows, each transformed by itself.
    together : ndarray of shape (n_some, n_columns) or None
        The same rows, all transformed together; None if that failed.
    """
    low, middle, high = np.nanpercentile(np.vstack(by_itself), [25, 50, 75], axis=0)
    typical = np.nan_to_num(middle), np.nan_to_num(high - low)  # medians, interquartile ranges
    few = _safe_indexing(some, np.arange(_num_samples(some))[_WITH_ODD])
    return _agree(by_itself, together, *typical) and all(
        _is_row_by_row(fitted, batch, *typical) for batch in _with_odd_rows(few)
    )


def _alone(fitted: Estimator, batch: Rows) -> list[Any]:
    """Transform each row by itself; return a list of their numbers, None for a row that fails."""
    rows = np.arange(_num_samples(batch))[:, None]
    return [found for _, (found, _) in applied_to_parts(transformed, fitted, batch, rows)]


def _together(fitted: Estimator, batch: Rows) -> tuple[Any, str | None]:
    """Transform all rows together; return their numbers and the failure, if any.

    The seed differs from the seed of `_alone`, so random numbers cause a difference.
    """
    all_rows = np.arange(_num_samples(batch))
    ((_, found),) = applied_to_parts(transformed, fitted, batch, [all_rows], seed=1)
    return found


def _are_like_wide(rows: Sequence[np.ndarray | None]) -> bool:
    """Return whether all rows were transformed, to the same number of columns."""
    widths = {None if row is None else row.shape[1] for row in rows}
    return len(widths) == 1 and None not in widths


def _is_row_by_row(fitted: Estimator, batch: Rows, middle: np.ndarray, width: np.ndarray) -> bool:
    """Return whether rows are encoded equally alone and in the batch; True if the batch fails."""
    together, failed = _together(fitted, batch)
    if failed is not None:
        return True  # private rows of such a batch are transformed in smaller batches
    return _agree(_alone(fitted, batch), together, middle, width)


def _agree(
    by_itself: list[Any],
    together: Any,
    middle: np.ndarray,
    width: np.ndarray,
) -> bool:
    """Return whether rows have the same numbers alone and together, except for rounding."""
    if not _are_like_wide([together, *by_itself]):
        return False
    alone = np.vstack(by_itself)
    with np.errstate(over="ignore", invalid="ignore"):
        # The tolerance is relative to the width of each column. It is larger for columns much
        # narrower than the others, and for rows far from the median, because of rounding
        close = 1e-4 * np.maximum(width, 0.01 * np.linalg.norm(width))
        far = np.where(np.isfinite(alone), alone - middle, 0)
        close = close + 2e-6 * np.linalg.norm(far, axis=1, keepdims=True)
        same = np.abs(alone - together) <= close
    return bool((same | (alone == together) | (np.isnan(alone) & np.isnan(together))).all())


def _with_odd_rows(some: Rows) -> Iterator[Rows]:
    """Yield batches of the rows between odd copies: extreme, missing or unseen values."""
    if sparse.issparse(some):
        half = _num_samples(some) // 2
        for odd in _odd_sparse(some):
            yield sparse.vstack([odd[:half], some, odd[half:]]).tocsr()
    elif isinstance(some, pd.DataFrame):
        yield from _frames_with_odd(some)
    elif isinstance(some, pd.Series):
        for frame in _frames_with_odd(some.to_frame()):
            yield frame.iloc[:, 0]
    elif isinstance(some, np.ndarray):
        dtype = object if some.dtype.kind in "US" else some.dtype
        for frame in _frames_with_odd(pd.DataFrame(some.reshape(len(some), -1), dtype=dtype)):
            yield frame.to_numpy().reshape(-1, *some.shape[1:])


def _frames_with_odd(some: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Yield batches with odd values in the columns of one dtype at a time.

    A transformer may fail on odd values of one dtype, and failed batches are not compared.
    """
    half = len(some) // 2
    columns = [some.iloc[:, k] for k in range(some.shape[1])]
    for dtype, change in product(dict.fromkeys(some.dtypes.astype(str)), ODD):
        odd = [change(column) if str(column.dtype) == dtype else column for column in columns]
        pairs = list(zip(odd, columns, strict=True))
        if any(changed is not column for changed, column in pairs):
            yield pd.concat([_between(*pair, half) for pair in pairs], axis=1)


def _between(odd: pd.Series, values: pd.Series, half: int) -> pd.Series:
    return pd.concat([odd.iloc[:half], values.astype(odd.dtype), odd.iloc[half:]])


def _odd_sparse(some: Any) -> Iterator[Any]:
    """Yield sparse rows with extreme entries, entries in other columns, and missing entries."""
    yield some * 1e6
    yield some[:, ::-1] * -1e6
    if some.dtype.kind == "f":
        missing = some.copy()
        missing.data[::2] = np.nan
        yield missing


# --- odd values of a column, which private rows may have and public rows may lack ----------------

#: A time and a duration, far from usual ones, that every unit can represent.
_FAR = {"M": "2200-01-01", "m": "36500 days"}


def _extreme(values: pd.Series) -> pd.Series:
    """Return extreme numbers or times of the same dtype, and other values unchanged."""
    kind = getattr(values.dtype, "kind", "O")
    if kind == "f":
        return values * 1e6 + 1e6
    if kind in "iu":
        stored = getattr(values.dtype, "numpy_dtype", values.dtype)
        return values * 0 + np.iinfo(stored).max // 4
    if kind in _FAR:
        return pd.Series(_FAR[kind], index=values.index, name=values.name).astype(values.dtype)
    return values


def _negative(values: pd.Series) -> pd.Series:
    """Return negative extreme numbers or durations; other values stay unchanged."""
    kind = getattr(values.dtype, "kind", "O")
    return -_extreme(values) if kind in "fim" else values


def _half_missing(values: pd.Series) -> pd.Series:
    """Return extreme values, every second one missing, if the dtype can hold missing values."""
    extreme = _extreme(values)
    missing = extreme.mask(np.arange(len(values)) % 2 == 0)
    return missing if missing.dtype == extreme.dtype else values


def _unseen(values: pd.Series) -> pd.Series:
    """Replace texts, categories or objects by unseen ones; other values stay unchanged."""
    dtype = values.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        unseen = ["unseen" if dtype.categories.dtype.kind not in "iuf" else 10**9] * len(values)
        dtype = pd.CategoricalDtype(dtype.categories.union(unseen[:1], sort=False), dtype.ordered)
    elif pd.api.types.is_object_dtype(dtype) or pd.api.types.is_string_dtype(dtype):
        unseen = [_unlike(value, k) for k, value in enumerate(values)]
    else:
        return values
    return pd.Series(unseen, index=values.index, name=values.name, dtype=dtype)


def _unlike(value: Any, k: int) -> Any:
    """Return an unseen number for a number, and an unseen or empty text for most other values."""
    if isinstance(value, bool | np.bool_ | bytes):
        return value
    if isinstance(value, Real) and value == value:
        return (-1) ** k * (1e9 + k)
    return "" if k % 4 == 1 else f"unseen {k}"


#: Changes of columns: each returns a changed copy, or the same object if it does not apply.
ODD = (_extreme, _negative, _half_missing, _unseen)


# --- rows far beyond the public ones: their size affects the rounding of a batch ------------------


def largest_sizes(X_public: Rows) -> np.ndarray:
    """Return the largest absolute value of the finite numbers in each column of public rows.

    Parameters
    ----------
    X_public : array-like with n_public rows
        Public rows.

    Returns
    -------
    ndarray of shape (n_columns,)
        For sparse rows, the shape is (1,): the largest absolute value of all entries.
    """
    return np.nan_to_num(_sizes(X_public), posinf=0).max(axis=0, initial=0)


def are_far(X: Rows, largest: np.ndarray) -> np.ndarray:
    """Return a mask of the rows with a number far beyond the public ones.

    The entry of a row depends on this row and public rows only.

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
    return np.any(_sizes(X) > _MOST * (1 + largest), axis=1)


def _sizes(X: Rows) -> np.ndarray:
    """Return absolute values of numbers, (n_rows, n_columns), and 0 or NaN for other values."""
    if sparse.issparse(X):
        # One size for each row: its largest absolute value
        return abs(X).nanmax(axis=1).toarray().astype(float).reshape(-1, 1)
    if isinstance(X, np.ndarray) and X.dtype.kind in "iuf":
        return np.abs(X.reshape(len(X), -1).astype(float))
    table = table_of(of_pandas(X))
    return np.column_stack([_numbers(table.iloc[:, k]) for k in range(table.shape[1])])


def _numbers(column: pd.Series) -> np.ndarray:
    """Return the absolute values of numbers in a column, and 0 or NaN for other values."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(object)
    if column.dtype == object:
        return np.array([_size(value) for value in column])
    if getattr(column.dtype, "kind", "O") not in "iuf":
        return np.zeros(len(column))
    return np.abs(column.to_numpy(float, na_value=np.nan))


def _size(value: Any) -> float:
    try:
        return abs(float(value)) if is_number(value) else 0.0
    except OverflowError:
        return np.inf
    except Exception:  # complex numbers, signalling NaN
        return 0.0
