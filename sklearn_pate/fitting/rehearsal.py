"""What is tried out before anything is paid for: mechanisms, teachers, students, missing values."""

import os

import numpy as np
import pandas as pd
from joblib import Memory
from scipy import sparse
from sklearn import get_config

from .._sklearn import _num_samples, _safe_indexing
from ..isolation import Quiet, is_ours, seeded
from ..public import table_of
from ..releases import beside, release_of
from ..releases.published import check_class_weight, student_of
from ..students import check_scored_alone, rehearse_student, unfitted_copy
from ..teachers.one import Part, Settings, Task, fit_and_predict
from .given import temperature_of
from .voters import make_electorate

#: So many rows with missing values are tried, and so many without, or five for each class.
_N_TRIED = 20
_N_COMPLETE = 50

#: Encoders and imputers want NaN in its place.
_NAN_FOR_NA = """. Where text holds pandas.NA, make it NaN:
    text = dict.fromkeys(X_public.select_dtypes(["object", "string"]), object)
    X, X_public = (t.astype(text).where(t.notna(), float("nan")) for t in (X, X_public))"""


def rehearse(given, plan):
    """Try the user's own mechanisms and student on made-up data, before anything is spent."""
    estimator = given.estimator
    release = given.release
    weight = getattr(estimator, "class_weight", None)
    check_class_weight(weight, given.classes, given.student(), gives_rates=release.gives_rates)
    release.rehearse(given, plan)
    if given.beside:
        beside.rehearse(given.beside, given.X_public, given.private)
    if given.rows_are_to_draw:
        rehearse_teachers(given, given.synthesis.synthesizer)
    check_missing(given, are_drawn=given.synthesis is not None)
    # A student like the teachers is not tried: it trains after them, so they would fail first.
    # Nor is one for a single query: most classifiers cannot be trained on a single class.
    n_queries = min(plan.n_queries, release.most_rehearsed)
    if estimator.student is not None and n_queries > 1:
        rehearse_student(
            estimator.student,
            given.X_public,
            n_queries,
            n_classes=len(given.classes),
            soft=given.temperature is not None,
            levels=given.classes if estimator.predicts_numbers else None,
        )


def check_scored(estimator, X_public, n_queries):
    """For a private search: refuse a student whose prediction for a row depends on others."""
    electorate = make_electorate(estimator)
    release = release_of(electorate)
    if release.gives_rates and estimator.student is None:
        return  # it is of this library, and tested
    check_scored_alone(
        student_of(estimator, electorate),
        X_public,
        min(n_queries, release.most_rehearsed),
        n_classes=len(estimator.classes),
        soft=temperature_of(estimator, release) is not None,
    )


def rehearse_teachers(given, synthesizer):
    """Try the teachers on rows drawn from the schema alone, before rows are paid for.

    Parameters
    ----------
    given : Given
        Of a fit whose rows are to be drawn.
    synthesizer : Synthesizer
        Declared.
    """
    n_classes = len(given.classes)
    n_train = 500
    n_teachers = given.ballots.n_teachers
    if given.ballots.n_records is not None and n_teachers is not None:
        n_train = min(n_train, given.ballots.n_records // n_teachers)
    n_train = max(n_train, 20, 2 * n_classes)  # fewer might be of one class, which is not learnt
    rows = synthesizer.rehearsal_rows(n_train + 500, np.random.default_rng(0))
    levels = given.classes if given.estimator.predicts_numbers else None
    codes = (np.arange(n_train) % n_classes).astype(int if levels is None else float)
    part = Part(_safe_indexing(rows, np.arange(n_train)), codes)
    asked = _safe_indexing(rows, np.arange(n_train, _num_samples(rows)))
    settings = Settings(
        n_classes, given.temperature, False, None, get_config(), None, os.getpid(), levels
    )
    for classifier in given.electorate.classifiers() if is_ours(given.electorate) else []:
        try:
            fit_and_predict(Task(0, classifier, asked, 0, settings, Memory(None), (), part))
        except Exception as error:
            raise ValueError(
                "base_estimator failed when tried on made-up rows and labels. It must take what is "
                "drawn: missing values, and categories that none of its few rows has "
                f"(OneHotEncoder(handle_unknown='ignore')). {type(error).__name__}: {error}"
            ) from error


def check_missing(given, *, are_drawn):
    """Refuse public rows with missing values if teachers or student do not take them.

    Teachers are asked about some rows only, so that without this a fit would fail or not by the
    draw of these; and a student is tried on the first rows only. This looks at public rows alone,
    or at made-up rows in place of those that will be drawn.

    Parameters
    ----------
    given : Given
        What the fit was given.
    are_drawn : bool
        Whether a synthesizer draws the rows.

    Raises
    ------
    ValueError
        If one of them takes rows without missing values, and not those with.
    """
    if given.release.gives_rates and given.estimator.student is None:
        return  # it is of this library, and takes them
    X_public, n_classes = given.X_public, len(given.classes)
    is_missing = is_missing_in(X_public)
    if is_missing.all() or not is_missing.any():
        return  # then all rows that may be asked are alike
    rows = np.flatnonzero(is_missing)
    complete = np.flatnonzero(~is_missing)[: max(_N_COMPLETE, 5 * n_classes)]
    tried = np.append(complete, rows[:_N_TRIED])
    labels = np.arange(len(tried)) % n_classes
    classifiers = [] if given.private is None else given.electorate.classifiers()
    parts = [("base_estimator", classifier) for classifier in classifiers]
    for name, classifier in [*parts, ("student", given.student())]:
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
