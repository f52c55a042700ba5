"""Dry runs: the user's own mechanisms, teachers and students on made-up data, before a fit pays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy import sparse

from .._sklearn import _num_samples, _safe_indexing
from ..public import table_of
from ..releases import extra_releases
from ..releases.published import check_class_weight, student_of
from ..runtime.copies import seeded
from ..runtime.isolation import is_ours, suppress_output
from ..students import check_scored_alone, dry_run_student, unfitted_copy
from ..teachers.training import Part, Settings, Task, fit_and_predict
from .inputs import temperature_of
from .methods import make_method

if TYPE_CHECKING:
    from .._typing import Estimator, Rows
    from ..accounting.plan import Plan
    from .inputs import Inputs

#: So many rows with missing values are tried, and so many without, or five for each class.
_N_TRIED = 20
_N_COMPLETE = 50

#: Encoders and imputers want NaN in its place.
_NAN_FOR_NA = """. Where text holds pandas.NA, make it NaN:
    text = dict.fromkeys(X_public.select_dtypes(["object", "string"]), object)
    X, X_public = (t.astype(text).where(t.notna(), float("nan")) for t in (X, X_public))"""


def dry_run(inputs: Inputs, plan: Plan) -> None:
    """Try the user's own mechanisms and student on made-up data, before anything is spent."""
    estimator = inputs.estimator
    release = inputs.release
    weight = getattr(estimator, "class_weight", None)
    check_class_weight(
        weight,
        inputs.target.values,
        inputs.student(),
        inputs.X_public,
        releases_proba=release.releases_proba,
    )
    release.dry_run(inputs, plan)
    if inputs.extra_releases:
        extra_releases.dry_run(inputs.extra_releases, inputs.X_public, inputs.records)
    if inputs.rows_are_to_draw:
        dry_run_teachers(inputs, inputs.drawn.synthesizer)
    check_missing(inputs, are_synthetic=inputs.synthesis is not None)
    # A student like the teachers is not tried: it trains after them, so they would fail first.
    # Nor is one for a single query: most classifiers cannot be trained on a single class.
    n_queries = min(plan.n_queries, release.max_dry_run_rows)
    if estimator.student is not None and n_queries > 1:
        dry_run_student(
            estimator.student,
            inputs.X_public,
            n_queries,
            target=inputs.target,
            soft=release.releases_proba or inputs.temperature is not None,
        )


def check_scored(estimator: Estimator, X_public: Rows, n_queries: int) -> None:
    """For a private search: refuse a student whose prediction for a row depends on others."""
    method = make_method(estimator)
    release = method.release
    if release.releases_proba and estimator.student is None:
        return  # it is of this library, and tested
    check_scored_alone(
        student_of(estimator, method),
        X_public,
        min(n_queries, release.max_dry_run_rows),
        target=estimator._declared_target(),
        soft=release.releases_proba or temperature_of(estimator, method) is not None,
    )


def dry_run_teachers(inputs: Inputs, synthesizer: Any) -> None:
    """Try the teachers on rows drawn from the schema alone, before rows are paid for.

    Parameters
    ----------
    inputs : Inputs
        Of a fit whose rows are to be drawn.
    synthesizer : Synthesizer
        Declared.
    """
    target = inputs.target
    n_records: Any
    n_teachers: Any
    n_records, n_teachers = inputs.neighbors.n_records, inputs.n_teachers
    n_train = 500 if None in (n_records, n_teachers) else min(500, n_records // n_teachers)
    # Fewer might be of one class, which is not learnt
    n_train = max(n_train, 20, 2 * target.n_values)
    rows = synthesizer.dry_run_rows(n_train + 500, np.random.default_rng(0))
    part = Part(_safe_indexing(rows, np.arange(n_train)), target.alternating(n_train))
    queried = _safe_indexing(rows, np.arange(n_train, _num_samples(rows)))
    settings = Settings(target, inputs.temperature)
    for classifier in inputs.method.classifiers() if is_ours(inputs.method) else []:
        try:
            fit_and_predict(Task(0, classifier, queried, 0, settings, part=part))
        except Exception as error:
            raise ValueError(
                "base_estimator failed when tried on made-up rows and labels. It must accept "
                "synthetic rows: missing values, and categories that none of its few rows has "
                f"(OneHotEncoder(handle_unknown='ignore')). {type(error).__name__}: {error}"
            ) from error


def check_missing(inputs: Inputs, *, are_synthetic: bool) -> None:
    """Refuse public rows with missing values if teachers or student do not take them.

    Teachers are asked about some rows only, so that without this a fit would fail or not by the
    draw of these; and a student is tried on the first rows only. This looks at public rows alone,
    or at made-up rows in place of those that will be drawn.

    Parameters
    ----------
    inputs : Inputs
        Inputs of the fit.
    are_synthetic : bool
        Whether a synthesizer draws the rows.

    Raises
    ------
    ValueError
        If one of them takes rows without missing values, and not those with.
    """
    if inputs.release.releases_proba and inputs.estimator.student is None:
        return  # it is of this library, and takes them
    X_public, target = inputs.X_public, inputs.target
    is_missing = is_missing_in(X_public)
    if is_missing.all() or not is_missing.any():
        return  # then all rows that may be asked are alike
    rows = np.flatnonzero(is_missing)
    complete = np.flatnonzero(~is_missing)[: max(_N_COMPLETE, 5 * target.n_values)]
    tried = np.append(complete, rows[:_N_TRIED])
    labels = target.teacher_values(target.alternating(len(tried)))
    classifiers = [] if inputs.private is None else inputs.method.classifiers()
    parts = [("base_estimator", classifier) for classifier in classifiers]
    for name, classifier in [*parts, ("student", inputs.student())]:
        both = _safe_indexing(X_public, complete), _safe_indexing(X_public, tried)
        problem = _problem(classifier, *both, labels, learns=name == "student")
        if problem is None:
            continue
        found = f"X_public has missing values in {len(rows)} rows (the first is row {rows[0]})"
        others = "leave these rows out"
        others += _NAN_FOR_NA if isinstance(X_public, pd.DataFrame) else ""
        if are_synthetic:
            found = "the synthesizer may draw missing values"
            others = "name fewer columns in its missing=[...]"
        raise ValueError(
            f"{found}, and {name}, a {type(classifier).__name__}, does not take them: {problem}. "
            "This is refused whichever rows are asked. Put an imputer inside, "
            f"make_pipeline(SimpleImputer(), ...), or {others}"
        )


def is_missing_in(X: Rows) -> np.ndarray:
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
        return np.diff((X != X).tocsr().indptr) > 0  # a missing value is unequal to itself
    return table_of(X).isna().to_numpy().any(axis=1)


def _problem(
    classifier: Estimator, complete: Rows, tried: Rows, labels: np.ndarray, *, learns: bool
) -> str | None:
    """Return how a classifier fails on missing values; None if it does not, or fails without.

    `learns` is whether it learns from public rows, and does not only predict them.
    """
    with suppress_output(), seeded(0):  # any number: nothing of this fit is kept
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
