"""What all teachers see of the form of private data: names and types of columns, so public."""

import sys
from typing import NamedTuple

import numpy as np
import pandas as pd

__all__ = ["Difference", "difference"]


class Difference(NamedTuple):
    """How private rows differ in form from public ones; it holds no private value.

    Attributes
    ----------
    kind : {"form", "unknown", "columns", "dtype", "dtypes", "codes"}
        What differs; "unknown": types of columns cannot be read, "codes": those of a column are
        given out as values appear.
    columns : list
        Names of the columns, which public rows have too.
    """

    kind: str
    columns: list


def difference(X, X_public):
    """Compare names and types of columns, and all that types hold.

    Equality is not enough: pandas ignores the order of categories, which codes follow. Where codes
    are given out as values appear, in dictionaries of Arrow and `Categorical` of polars, one record
    can change those of all others; they count as different, whatever they hold.

    Parameters
    ----------
    X, X_public : ndarray, sparse matrix or DataFrame
        Private and public rows; DataFrames of pandas, polars or what is like them.

    Returns
    -------
    Difference or None
        None if there is none.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn_pate.schema import difference
    >>> X = pd.DataFrame({"kind": pd.Categorical(["b", "a"], categories=["b", "a"])})
    >>> X_public = pd.DataFrame({"kind": pd.Categorical(["a", "b"])})
    >>> difference(X, X_public)
    Difference(kind='dtypes', columns=['kind'])
    """
    if hasattr(X, "dtypes") != hasattr(X_public, "dtypes"):
        return Difference("form", [])
    if not all(map(_is_readable, (X, X_public))):
        return Difference("unknown", [])
    if not hasattr(X, "dtypes"):
        return None if _are_same(X.dtype, X_public.dtype) else Difference("dtype", [])
    if not _have_same_columns(X.columns, X_public.columns):
        return Difference("columns", [])
    names = list(X_public.columns)
    columns = list(zip(names, list(X.dtypes), list(X_public.dtypes), strict=True))
    differ = [name for name, ours, public in columns if not _are_same(ours, public)]
    if differ:
        return Difference("dtypes", differ)
    coded = [name for name, ours, _ in columns if _has_codes_of_its_own(ours)]
    return Difference("codes", coded) if coded else None


def _is_readable(X):
    """Whether it says the types of its columns as arrays or as DataFrames do."""
    if not hasattr(X, "dtypes"):
        return hasattr(X, "dtype")
    return hasattr(X, "columns") and len(list(X.dtypes)) == len(list(X.columns))


def _have_same_columns(ours, public):
    """Names, and what pandas' index of them holds besides."""
    if len(ours) != len(public) or list(ours) != list(public):
        return False
    if not isinstance(ours, pd.Index) or not isinstance(public, pd.Index):
        return True
    if list(ours.names) != list(public.names):
        return False
    levels = [[list(level) for level in getattr(index, "levels", [])] for index in (ours, public)]
    return levels[0] == levels[1] and _are_same(ours.dtype, public.dtype)


def _are_same(ours, public):
    try:
        equal = bool(ours == public)
    except Exception:  # types of two libraries
        return False
    return equal and _beyond_equality(ours) == _beyond_equality(public)


def _beyond_equality(dtype):
    """What a type holds that its own comparison leaves out."""
    if isinstance(dtype, np.dtype):
        fields = dtype.fields or {}
        within = [_beyond_equality(fields[name][0]) for name in dtype.names or ()]
        if dtype.subdtype is not None:
            within.append(_beyond_equality(dtype.subdtype[0]))
        return repr(dict(dtype.metadata or {})), within
    if isinstance(dtype, pd.SparseDtype):
        fill = dtype.fill_value
        return type(fill), repr(fill), _beyond_equality(dtype.subtype)
    if isinstance(dtype, pd.ArrowDtype):
        kinds = list(_within(dtype.pyarrow_dtype))
        fields = [kind.field(i) for kind in kinds for i in range(getattr(kind, "num_fields", 0))]
        return [str(dict(getattr(field, "metadata", None) or {})) for field in fields]
    categories = getattr(dtype, "categories", None)  # other libraries' types have them too
    if isinstance(dtype, pd.CategoricalDtype) and categories is not None:
        own = str(categories.dtype), _beyond_equality(categories.dtype)
        return *own, [(type(category), category) for category in categories]
    try:
        return None if categories is None else list(categories)
    except TypeError:  # polars' `Categorical`, see below
        return None


def _has_codes_of_its_own(dtype):
    """Whether a type, or one within it, gives out codes as values appear."""
    arrow = sys.modules.get("pyarrow")
    polars = sys.modules.get("polars")
    if isinstance(dtype, pd.SparseDtype):
        dtype = dtype.subtype
    for kind in _within(getattr(dtype, "pyarrow_dtype", dtype)):
        if arrow is not None and isinstance(kind, arrow.DictionaryType):
            return True
        if polars is None:
            continue
        # those with named categories do not equal the class
        if kind is polars.Categorical or isinstance(kind, polars.Categorical):
            return True
    return False


def _within(kind):
    """Yield a type of Arrow's or polars', and those of lists and structures within it."""
    yield kind
    for name in ("value_type", "key_type", "item_type", "storage_type", "inner"):
        part = getattr(kind, name, None)
        if part is not None and part is not kind:
            yield from _within(part)
    parts = getattr(kind, "fields", None)  # polars'
    if not isinstance(parts, list):
        parts = [kind.field(i) for i in range(getattr(kind, "num_fields", 0))]
    for part in parts:
        yield from _within(getattr(part, "type", None) or part.dtype)
