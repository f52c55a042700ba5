"""Code that a message gives to a user whose private and public rows differ in their types."""

import numpy as np
import pandas as pd

#: Kinds of numpy dtypes that have no missing value: one missing value changes the type.
_NEVER_MISSING = "iub"

_TEXT = "OSTU"

#: So many columns are named in a line of code.
_FEW = 5


def nan_for_na(names):
    """Return code that puts NaN where pandas.NA stands in columns of text, in both frames.

    Parameters
    ----------
    names : list
        The columns.

    Returns
    -------
    str
        Lines, each on a line of its own.
    """
    return _lines(
        "X, X_public = X.copy(), X_public.copy()",
        "for table in (X, X_public):",
        f"    for name in {names}:",
        "        text = table[name].astype(object)",
        "        table[name] = text.where(text.notna(), float('nan'))",
    )


def same_columns(X, X_public):
    """Return code that gives `X` the columns of `X_public`, as many as it has.

    Parameters
    ----------
    X, X_public : DataFrame
        Private and public rows.

    Returns
    -------
    str
        Lines, each on a line of its own.
    """
    if len(X.columns.intersection(X_public.columns)) == len(X_public.columns):
        return _lines("X = X[X_public.columns]", "X.columns = X_public.columns")
    return _lines("X.columns = X_public.columns")


def same_names(X, X_public):
    """Return code that gives both frames the same columns, where leaving out some is enough.

    Parameters
    ----------
    X, X_public : DataFrame
        Private and public rows, whose columns have names that are text.

    Returns
    -------
    str
        Lines, each on a line of its own; none if both have columns that the other has not.
    """
    names, public_names = list(X.columns), list(X_public.columns)
    extra = [name for name in public_names if name not in names]
    if not set(names) <= set(public_names):
        return "" if extra else _lines("X = X[list(X_public.columns)]")
    kept = [name for name in public_names if name in names]
    if kept == names and len(extra) <= _FEW and isinstance(X_public, pd.DataFrame):
        return _lines(f"X_public = X_public.drop(columns={extra})")
    return _lines("X_public = X_public[list(X.columns)]")


def same_dtype(dtype):
    """Return code that gives both arrays a dtype by which nothing private is seen.

    Parameters
    ----------
    dtype : dtype
        Of the public rows. Numbers that may be missing are floats in both.

    Returns
    -------
    str
        Lines, each on a line of its own.
    """
    kind = getattr(dtype, "kind", "")
    if kind in _NEVER_MISSING:
        return _lines("X_public = X_public.astype(float)", "X = X.astype(float)")
    if kind in _TEXT:
        return _lines("X_public = X_public.astype(object)", "X = X.astype(object)")
    return _lines("X = X.astype(X_public.dtype)")


def same_dtypes(X, X_public, names):
    """Return code that gives both frames dtypes by which nothing private is seen.

    Parameters
    ----------
    X, X_public : DataFrame of pandas, polars or another library
        Private and public rows. Of the private ones, only which columns hold dates is looked at.
    names : list
        The columns that differ.

    Returns
    -------
    str
        Lines, each on a line of its own; none if the library is not known.
    """
    if isinstance(X_public, pd.DataFrame):
        return _of_pandas(X, X_public, names)
    if hasattr(X_public, "schema") and hasattr(X_public, "cast"):
        return _of_polars(X, X_public, names)
    return ""


def _of_pandas(X, X_public, names):
    dtypes = {name: X_public[name].dtype for name in names}
    dates = [name for name in names if _are_dates(X[name].dtype) and _is_text(dtypes[name])]
    numbers = [name for name, dtype in dtypes.items() if _is_never_missing(dtype)]
    coded = [name for name, kind in dtypes.items() if isinstance(kind, pd.CategoricalDtype)]
    written = [name for name in names if _is_number(dtypes[name]) and _is_text(X[name].dtype)]
    lines = []
    if dates:
        lines += [
            "X_public = X_public.copy()",
            *(_to_dates(name, X[name].dtype) for name in dates),
            f"X = X.astype(X_public.dtypes[{dates}])",
        ]
        if dates == list(names):
            return _lines(*lines)
    if numbers:
        lines.append(f"X_public = X_public.astype({dict.fromkeys(numbers, 'float64')})")
    if coded:
        lines += [
            "X = X.copy()",
            f"for name in {coded}:",
            "    known = X[name].isin(X_public[name].cat.categories)  # others are missing then",
            "    X[name] = X[name].astype(object).where(known).astype(X_public[name].dtype)",
        ]
    if written:
        lines += [
            f"for name in {written}:",
            "    numbers = pd.to_numeric(X[name], errors='coerce')  # what is no number is missing",
            "    X = X.assign(**{name: numbers})",
        ]
    return _lines(*lines, "X = X.astype(X_public.dtypes)")


def _to_dates(name, dtype):
    utc = ", utc=True" if isinstance(dtype, pd.DatetimeTZDtype) else ""
    return f"X_public[{name!r}] = pd.to_datetime(X_public[{name!r}]{utc})"


def _of_polars(X, X_public, names):
    numbers = [name for name in names if X_public.schema[name].is_integer()]
    texts = [name for name in names if str(X_public.schema[name]) == "String"]
    dates = [name for name in texts if X.schema[name].is_temporal()]
    lines = []
    if dates:
        lines.append(f"X_public = X_public.cast({{name: X.schema[name] for name in {dates}}})")
    if numbers:
        # Values with a decimal point are private, too
        lines.append(f"X_public = X_public.cast({{name: float for name in {numbers}}})")
    # What is not among the categories of a polars.Enum is missing
    return _lines(*lines, "X = X.cast(dict(X_public.schema), strict=False)")


def _are_dates(dtype):
    return pd.api.types.is_datetime64_any_dtype(dtype)


def _is_text(dtype):
    return pd.api.types.is_object_dtype(dtype) or isinstance(dtype, pd.StringDtype)


def _is_number(dtype):
    return isinstance(dtype, np.dtype) and dtype.kind in "iuf"


def _is_never_missing(dtype):
    return isinstance(dtype, np.dtype) and dtype.kind in _NEVER_MISSING


def _lines(*code):
    return "".join(f"\n    {line}" for line in code)
