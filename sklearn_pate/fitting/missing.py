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

#: Encoders and imputers want NaN in its place.
_NAN_FOR_NA = """. Where text holds pandas.NA, make it NaN:
    text = dict.fromkeys(X_public.select_dtypes(["object", "string"]), object)
    X, X_public = (t.astype(text).where(t.notna(), float("nan")) for t in (X, X_public))"""


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
        if problem is None:
            continue
        found = (
            f"X_public has missing values in {len(rows)} of its rows (the first is row {rows[0]})"
        )
        others = "leave these rows out"
        if isinstance(X_public, pd.DataFrame):
            others += _NAN_FOR_NA
        if are_drawn:
            found = "the synthesizer may draw missing values"
            others = "name fewer columns in its missing=[...]"
        raise ValueError(
            f"{found}, and {name}, a {type(classifier).__name__}, does not take them: {problem}. "
            "This is refused whichever rows are asked. Put an imputer inside, "
            f"make_pipeline(SimpleImputer(), ...), or {others}"
        )


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
