"""Public rows with missing values: refused, whichever rows are asked, if nobody can learn them."""

import numpy as np
import pandas as pd
from scipy import sparse

from .._sklearn import _num_samples, _safe_indexing
from ..isolation import Quiet, seeded
from ..public import table_of
from ..students import unfitted_copy

#: So many rows with missing values are tried, and so many without, or five for each class.
_N_TRIED = 20
_N_COMPLETE = 50

_NAN_FOR_NA = """
    X, X_public = X.copy(), X_public.copy()
    for table in (X, X_public):
        for name in {names}:
            text = table[name].astype(object)
            table[name] = text.where(text.notna(), float('nan'))"""


def check_missing(X_public, classifiers, student, *, n_classes, are_drawn=False):
    """Refuse public rows with missing values if teachers or student do not take them.

    Teachers are asked about some rows only, so that without this a fit would fail or not by the
    draw of these; and a student is tried on the first rows only. This looks at public rows alone,
    or at made-up rows in place of those that will be drawn.

    Parameters
    ----------
    X_public : array-like with n_public rows
        All public rows.
    classifiers : list of classifier
        What teachers are clones of.
    student : classifier
        Unfitted.
    n_classes : int
        Number of classes.
    are_drawn : bool, default=False
        Whether a synthesizer draws the rows.

    Raises
    ------
    ValueError
        If one of them takes rows without missing values, and not those with.
    """
    is_missing = is_missing_in(X_public)
    if is_missing.all() or not is_missing.any():
        return  # then all rows that may be asked are alike
    rows = np.flatnonzero(is_missing)
    complete = np.flatnonzero(~is_missing)[: max(_N_COMPLETE, 5 * n_classes)]
    tried = np.append(complete, rows[:_N_TRIED])
    labels = np.arange(len(tried)) % n_classes
    parts = [("base_estimator", classifier) for classifier in classifiers]
    for name, classifier in [*parts, ("student", student)]:
        problem = _problem(
            classifier,
            _safe_indexing(X_public, complete),
            _safe_indexing(X_public, tried),
            labels,
            learns=name == "student",
        )
        if problem is not None:
            who = f"{name}, a {type(classifier).__name__}, does not take them: {problem}"
            raise ValueError(_refusal(X_public, rows, who, are_drawn=are_drawn))


def _refusal(X_public, rows, who, *, are_drawn):
    """Say who does not take the missing values of some rows, and what to do."""
    found = f"X_public has missing values in {len(rows)} of its rows (the first is row {rows[0]})"
    others = "or leave these rows out"
    if are_drawn:
        found = "the synthesizer may draw missing values"
        others = "or name fewer columns in its missing=[...]"
    problem = (
        f"{found}, and {who}. This is refused before labels are paid for, even if none of these "
        "rows would be asked"
    )
    names = _texts_with_na(X_public)
    if names and not are_drawn:
        return (
            f"{problem}. Encoders and imputers want NaN where pandas.NA stands among text:"
            f"{_NAN_FOR_NA.format(names=names)}"
        )
    return f"{problem}. Put an imputer inside, make_pipeline(SimpleImputer(), ...), {others}"


def _texts_with_na(X):
    """Return the names of a pandas frame's columns in which pandas.NA stands among text."""
    if not isinstance(X, pd.DataFrame):
        return []
    return [
        name
        for name, column in X.items()
        if pd.api.types.is_string_dtype(column.dtype)
        and any(value is pd.NA for value in column[column.isna()])
    ]


def is_missing_in(X):
    """Return for each row whether a value is missing in it.

    Parameters
    ----------
    X : array-like with n_rows rows
        Of any form.

    Returns
    -------
    ndarray of shape (n_rows,), bool
    """
    if sparse.issparse(X):
        entries = X.tocoo()
        holes = entries.row[pd.isna(entries.data)]
        return np.isin(np.arange(X.shape[0]), holes)
    return table_of(X).isna().to_numpy().any(axis=1)


def _problem(classifier, complete, tried, labels, *, learns):
    """Say how a classifier fails on missing values; None if it does not, or fails without them.

    `learns` says whether it is to learn from public rows, not only to predict them.
    """
    with Quiet(), seeded(0):  # any number: nothing of this fit is kept
        try:
            fitted = unfitted_copy(classifier, 0).fit(complete, labels[: _num_samples(complete)])
            fitted.predict(complete)
        except Exception:
            return None
        try:
            if learns:
                fitted = unfitted_copy(classifier, 0).fit(tried, labels)
            fitted.predict(tried)
        except Exception as error:
            return f"{type(error).__name__}: {str(error).partition(chr(10))[0].rstrip('.')}"
    return None
