"""Records whose labels hide a bit."""

from dataclasses import dataclass, field
from numbers import Integral

import numpy as np
import pandas as pd


@dataclass(frozen=True, eq=False)
class Canaries:
    """Records of the private data whose labels are secret bits.

    Attributes
    ----------
    positions : ndarray of shape (n_canaries,), int
        The records that they take the place of, all different.
    X : array-like or DataFrame with n_canaries rows
        Their features.
    labels : ndarray of shape (n_canaries, 2)
        The two labels that each may have: bit 0 the first, bit 1 the second.
    """

    positions: np.ndarray
    X: object = field(repr=False)
    labels: np.ndarray = field(repr=False)


def make_canaries(X, y, n_canaries, kind="mislabelled", *, classes=None, random_state=None):
    """Choose canaries: records of the data, or points far from it.

    Parameters
    ----------
    X : array or DataFrame with n_samples rows
        Private features.
    y : array-like of shape (n_samples,)
        Private labels.
    n_canaries : int
        How many.
    kind : {"mislabelled", "out_of_distribution"}, default="mislabelled"
        "mislabelled": records drawn at random, with their own label or a wrong one.
        "out_of_distribution": in the place of such records, points in which every number is one to
        three ranges beyond the smallest or largest of its column (other columns are taken from
        random records), with one of two labels drawn at random.
    classes : array-like of shape (n_classes,), default=None
        All labels; None reads them from `y`.
    random_state : int, Generator or None, default=None
        Source of the choice.

    Returns
    -------
    Canaries

    Raises
    ------
    ValueError
        If there are too few records or classes.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_pate.audit import make_canaries
    >>> X, y = np.arange(20.0).reshape(10, 2), np.arange(10) % 2
    >>> canaries = make_canaries(X, y, 3, random_state=0)
    >>> bool((canaries.labels[:, 1] == y[canaries.positions]).all())
    True
    """
    rng = np.random.default_rng(random_state)
    y = np.asarray(y)
    classes = np.unique(y if classes is None else np.asarray(classes))
    if not isinstance(n_canaries, Integral) or not 1 <= n_canaries <= len(y):
        raise ValueError(
            f"n_canaries must be a whole number from 1 to the {len(y)} records; got {n_canaries!r}"
        )
    if len(classes) < 2:
        raise ValueError("canaries need at least 2 classes to hide a bit in a label")
    positions = rng.choice(len(y), n_canaries, replace=False)
    if kind == "mislabelled":
        true = np.searchsorted(classes, y[positions])
        wrong = (true + rng.integers(1, len(classes), size=n_canaries)) % len(classes)
        labels = np.column_stack([classes[wrong], classes[true]])
        rows = X.iloc[positions] if hasattr(X, "iloc") else np.asarray(X)[positions]
        return Canaries(positions, rows, labels)
    if kind != "out_of_distribution":
        raise ValueError(f'kind must be "mislabelled" or "out_of_distribution"; got {kind!r}')
    labels = np.array([rng.choice(classes, 2, replace=False) for _ in positions])
    if hasattr(X, "iloc"):
        return Canaries(positions, _far_table(X, n_canaries, rng), labels)
    X = np.asarray(X)
    far = _far(X.astype(float), n_canaries, rng)
    return Canaries(positions, far.astype(np.result_type(X.dtype, np.float32)), labels)


def check_canaries(canaries, y):
    """Refuse canaries that do not fit the labels or each other."""
    positions = np.asarray(canaries.positions)
    labels = np.asarray(canaries.labels)
    n_canaries = len(positions)
    are_different = n_canaries > 0 and len(np.unique(positions)) == n_canaries
    are_records = are_different and positions.min() >= 0 and positions.max() < len(y)
    have_two_labels = labels.shape == (n_canaries, 2) and (labels[:, 0] != labels[:, 1]).all()
    if not are_records or not have_two_labels or len(canaries.X) != n_canaries:
        raise ValueError(
            f"canaries need different positions from 0 to {len(y) - 1}, two different labels each, "
            f"and as many rows of X; got {n_canaries} positions"
        )


def _far(values, n_points, rng):
    """Return points far outside the range of every column."""
    low, high = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
    span = np.where(high > low, high - low, 1.0)
    shape = (n_points, *values.shape[1:])
    distance = rng.uniform(1, 3, size=shape) * span
    return np.where(rng.random(shape) < 0.5, low - distance, high + distance)


def _far_table(table, n_points, rng):
    """Return points far outside the range of every column of numbers, in the same types."""
    columns = {}
    for name, column in table.items():
        if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
            far = _far(column.to_numpy(dtype=float), n_points, rng)
            if pd.api.types.is_integer_dtype(column):
                far = far.round().astype(np.int64)
            columns[name] = pd.Series(far).astype(column.dtype)
        else:
            taken = rng.integers(len(column), size=n_points)
            columns[name] = column.iloc[taken].reset_index(drop=True)
    return pd.DataFrame(columns)[table.columns]


def replaced(X, canaries):
    """Return the private features with the canaries in their places."""
    if hasattr(X, "iloc"):
        order = np.arange(len(X))
        order[canaries.positions] = len(X) + np.arange(len(canaries.positions))
        return pd.concat([X, canaries.X]).iloc[order].set_index(X.index)
    X = np.asarray(X)
    new = np.asarray(canaries.X)
    # Canaries far out may not fit into small integers
    X = X.astype(np.result_type(X, new)) if X.dtype.kind in "biuf" else X.copy()
    X[canaries.positions] = new
    return X


def stacked(parts):
    """Return rows below each other, arrays or DataFrames."""
    if any(hasattr(part, "iloc") for part in parts):
        return pd.concat(parts, ignore_index=True)
    return np.concatenate([np.asarray(part) for part in parts])
