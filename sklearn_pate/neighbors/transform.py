"""Numbers made of rows: by a transformer that sees public rows alone when it is fitted."""

from functools import partial

import numpy as np
import pandas as pd
from scipy import sparse

from .._sklearn import _num_samples, _safe_indexing
from ..isolation import (
    Quiet,
    attempt,
    copier,
    isolated,
    own_clone,
    own_generators,
    own_rows,
    seeded,
    set_seeds,
)
from .columns import RowVectorizer
from .far import are_far
from .odd import ODD

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
            mixed = _mixed_columns(X_public)
            problem = f"{type(error).__name__}: {error}"
    if mixed is None or type(transformer) is RowVectorizer:
        raise ValueError(
            f"the transformer of ReverseNeighbors could not be fitted on X_public: {problem}"
        )
    raise ValueError(
        f"{type(transformer).__name__}, the transformer of ReverseNeighbors, could not be fitted "
        f"on public rows of several kinds, {mixed}. Leave transformer=None, which suits them, or "
        "give a ColumnTransformer with a transformer for each kind, such as make_column_transformer"
        "((StandardScaler(), [numbers]), (OneHotEncoder(handle_unknown='ignore'), [others])). "
        f"{problem}"
    )


def _mixed_columns(X_public):
    """Return in words which columns hold numbers and which do not; None if all are alike."""
    if not isinstance(X_public, pd.DataFrame):
        return None
    numbers = [name for name, dtype in X_public.dtypes.items() if dtype.kind in "iufb"]
    others = [name for name in X_public.columns if name not in numbers]
    if not others:
        return None
    return f"numbers in columns {_some(numbers)} and others in {_some(others)}"


def _some(names, most=20):
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{names[:most]}{more}"


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


def transformed_private(fitted, X, n_columns, largest=None):
    """Return the numbers of private rows; NaN in rows that cannot be transformed.

    Nothing is said of these. A row that fails does so by itself: the others are transformed
    without it, and without those that are far beyond the `largest` sizes of public ones.
    """
    numbers = np.full((_num_samples(X), n_columns), np.nan)
    parts = [np.arange(len(numbers))]
    if largest is not None:
        far = are_far(X, largest)
        parts = [np.flatnonzero(~far), *np.flatnonzero(far)[:, None]]
    fresh = copier(fitted)

    def numbers_of(rows):
        return transformed(fresh(), own_rows(X, rows, _safe_indexing))

    while parts:
        rows = parts.pop()
        with isolated(0):
            found, failed = attempt(partial(numbers_of, rows))
        if failed is None and found.shape == (rows.size, n_columns):
            numbers[rows] = found
        elif rows.size > 1:
            parts += np.array_split(rows, 2)
    return numbers


def transformed_alone(fitted, X, n_columns, rows):
    """Return the numbers of some private rows, each transformed by itself."""
    parts = [own_rows(X, rows[k : k + 1], _safe_indexing) for k in range(len(rows))]
    return np.vstack([transformed_private(fitted, part, n_columns) for part in parts])


def rounding_beside_others(fitted, X_public, public, alone):
    """Return by how much numbers of public rows differ if each is transformed by itself.

    A matrix product rounds a row by those beside it.

    Parameters
    ----------
    fitted : transformer
        Fitted on public rows.
    X_public : array-like with n_public rows
        Public rows.
    public : ndarray of shape (n_public, n_columns)
        Their numbers, all transformed together.
    alone : ndarray of shape (n_some, n_columns)
        Those of some, each transformed by itself, as `numbers_alone` returns them.

    Returns
    -------
    float
        The largest difference, relative to the root mean square length of a row.
    """
    rows = _some_rows(X_public)
    with Quiet(), isolated(0):
        together = transformed(copier(fitted)(), _safe_indexing(X_public, rows))
    difference = max(np.abs(alone - public[rows]).max(), np.abs(alone - together).max())
    return float(difference / max(np.sqrt((public**2).sum(axis=1).mean()), 1e-300))


def _some_rows(X_public):
    """Return the positions of some public rows, far apart."""
    return np.unique(np.linspace(0, _num_samples(X_public) - 1, _N_TRIED).astype(int))


def numbers_alone(fitted, X_public):
    """Return the numbers of some public rows, each transformed by itself.

    Refuses a transformer whose numbers for a row depend on the rows beside it: these rows, and odd
    copies of some of them, are transformed alone and together. That of this library does not, as
    its tests show in the same way.
    """
    some = _safe_indexing(X_public, _some_rows(X_public))
    fresh = copier(fitted)
    is_ours = type(fitted) is RowVectorizer
    with Quiet(), isolated(0):
        by_itself = _alone(fresh, some)
        if _are_like_wide(by_itself) and (is_ours or treats_rows_alone(fresh, some, by_itself)):
            return np.vstack(by_itself)
    raise ValueError(
        "the transformer's numbers for a row depend on the rows beside it, so one private record "
        "could move the ballots of others: a row of X_public, or an odd copy of one, is "
        "transformed otherwise when given alone. Use a transformer that learns in fit alone and "
        "treats each row by itself in transform. Nothing was spent"
    )


def treats_rows_alone(fresh, some, by_itself):
    """Return whether rows have the numbers that they have by themselves, odd ones beside them.

    Parameters
    ----------
    fresh : callable
        Returns a copy of the fitted transformer.
    some : array-like with n_some rows
        Public rows.
    by_itself : list of n_some ndarrays of shape (1, n_columns)
        Their numbers, each transformed by itself.
    """
    typical = _typical(np.vstack(by_itself))
    are_alike = _is_row_by_row(fresh, some, by_itself, typical)
    few = _safe_indexing(some, np.arange(_num_samples(some))[_BESIDE_ODD])
    for batch in _beside_odd_rows(few) if are_alike else ():
        # The rows between the odd ones are as they were, unless their types had to change
        known = by_itself[_BESIDE_ODD] if _are_of_one_type(batch, few) else ()
        alone = _alone(fresh, batch, known)
        are_alike = are_alike and _is_row_by_row(fresh, batch, alone, typical)
    return are_alike


def _alone(fresh, batch, known=()):
    """Return the numbers of each row by itself; None for a row that fails.

    Those of the rows in the middle may be known.
    """

    def numbers_of(row):
        return transformed(fresh(), _safe_indexing(batch, [row]))

    start = len(known) // 2
    end = start + len(known)
    before, after = range(start), range(end, _num_samples(batch))
    found = [attempt(partial(numbers_of, row))[0] for row in (*before, *after)]
    return [*found[:start], *known, *found[start:]]


def _are_of_one_type(first, second):
    if isinstance(first, pd.DataFrame):
        return first.dtypes.tolist() == second.dtypes.tolist()
    return first.dtype == second.dtype


def _typical(numbers):
    """Return the middle of each column, and how far apart its quartiles are."""
    low, middle, high = np.nanpercentile(numbers, [25, 50, 75], axis=0)
    return np.nan_to_num(middle), np.nan_to_num(high - low)


def _are_like_wide(rows):
    """Whether all of these rows have numbers, and equally many."""
    widths = {None if row is None else row.shape[1] for row in rows}
    return len(widths) == 1 and None not in widths


def _is_row_by_row(fresh, batch, alone, typical):
    """Whether each row of a batch has the numbers that it has by itself."""
    together, failed = attempt(partial(transformed, fresh(), batch))
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
    half = _num_samples(some) // 2
    if isinstance(some, pd.DataFrame):
        yield from _frames_beside_odd(some, half)
    elif isinstance(some, pd.Series):
        yield from _columns_beside_odd(some, half)
    elif sparse.issparse(some):
        for odd in _odd_sparse(some):
            yield sparse.vstack([odd[:half], some, odd[half:]]).tocsr()
    elif isinstance(some, np.ndarray) and some.dtype.kind in "fiuOUSmM":
        values = pd.Series(some.ravel(), dtype=object if some.dtype.kind in "OUS" else None)
        for column in _columns_beside_odd(values, values.size // len(some) * half):
            yield column.to_numpy().reshape(-1, *some.shape[1:])


def _columns_beside_odd(values, half):
    for change in ODD:
        odd = change(values)
        if odd is not values:
            yield _between(odd, values, half)


def _between(odd, values, half):
    return pd.concat([odd.iloc[:half], values.astype(odd.dtype), odd.iloc[half:]])


def _frames_beside_odd(some, half):
    """Change columns of one dtype at a time: a transformer may fail at odd values of another."""
    columns = [some.iloc[:, k] for k in range(some.shape[1])]
    for dtype in dict.fromkeys(column.dtype.name for column in columns):
        for change in ODD:
            odd = [change(column) if column.dtype.name == dtype else column for column in columns]
            pairs = list(zip(odd, columns, strict=True))
            if any(changed is not column for changed, column in pairs):
                yield pd.concat([_between(*pair, half) for pair in pairs], axis=1)


def _odd_sparse(some):
    """Yield sparse rows with extreme entries, with entries where others have none, and missing."""
    yield some * 1e6
    yield some[:, ::-1] * -1e6
    if some.dtype.kind == "f":
        missing = some.copy()
        missing.data[::2] = np.nan
        yield missing
