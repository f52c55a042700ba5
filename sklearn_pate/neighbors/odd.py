"""Odd values of a column: what no public row may have, and a private row can."""

from numbers import Real

import numpy as np
import pandas as pd

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


def _half_missing(values):
    """Return values of which every second is missing, where the dtype has missing values."""
    extreme = _extreme(values)
    missing = extreme.mask(np.arange(len(values)) % 2 == 0)
    return missing if missing.dtype == extreme.dtype else values


def _unseen(values):
    """Return texts, categories or objects that no rows have."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        return _unseen_category(values)
    if values.dtype != object and not pd.api.types.is_string_dtype(values.dtype):
        return values
    unseen = [_unlike(value, k) for k, value in enumerate(values)]
    return pd.Series(unseen, index=values.index, name=values.name, dtype=values.dtype)


def _unlike(value, k):
    """Return a text, or a number for a number; every second text is empty."""
    if isinstance(value, bool | np.bool_ | bytes):
        return value
    if isinstance(value, Real) and value == value:
        return 1e9 + k
    return "" if k % 2 else f"unseen {k}"


def _unseen_category(values):
    """Return the category that is added to those of the rows."""
    categories = values.cat.categories
    unseen = "unseen" if categories.dtype.kind not in "iuf" else 10**9
    if unseen in categories:
        return values
    more = pd.CategoricalDtype([*categories, unseen], values.dtype.ordered)
    return pd.Series([unseen] * len(values), index=values.index, name=values.name, dtype=more)


#: What is done to columns: each returns a changed copy, or the very column if it does not apply.
ODD = (_extreme, _half_missing, _unseen)
