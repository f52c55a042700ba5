"""Dry runs of user-defined mechanisms, teachers and students on made-up data."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy import sparse

from .._numbers import first_names
from .._sklearn import (
    _num_samples,
    _safe_indexing,
    learns_columns_only,
    learns_several,
)
from ..public import table_of
from ..releases import extra_releases
from ..releases.published import check_class_weight, student_of
from ..releases.synthetic_rows import dry_run_rows
from ..runtime.copies import seeded
from ..runtime.isolation import is_ours, suppress_output
from ..students import check_scored_alone, dry_run_student, unfitted_copy
from ..synthesis import ClassSumsSynthesizer, MarginalSynthesizer
from ..teachers.training import Part, Settings, Task, fit_and_predict
from .inputs import temperature_of
from .methods import make_method

if TYPE_CHECKING:
    from .._typing import Estimator, Rows
    from ..accounting.plan import Plan
    from .inputs import Inputs

#: Largest number of tried rows with missing values, and of tried complete rows. The latter is at
#: least five for each class.
_N_TRIED = 20
_N_COMPLETE = 50

#: Remedy for pandas.NA, which scikit-learn's encoders and imputers refuse in text.
_NAN_FOR_NA = """. If text columns hold pandas.NA, replace it by NaN:
    text = dict.fromkeys(X_public.select_dtypes(["object", "string"]), object)
    X, X_public = (t.astype(text).where(t.notna(), float("nan")) for t in (X, X_public))"""


def dry_run(inputs: Inputs, plan: Plan) -> None:
    """Try user-defined mechanisms, releases and models on made-up data, at no privacy cost."""
    estimator = inputs.estimator
    release = inputs.release
    tried = _with_texts(inputs) if inputs.rows_are_to_draw else inputs
    weight = getattr(estimator, "class_weight", None)
    parts = inputs.target.parts
    if isinstance(weight, list) and len(weight) != len(parts):
        raise ValueError(
            f"class_weight must be a list of {len(parts)} weights, one for each target; got "
            f"{len(weight)}"
        )
    is_weighted = weight is not None and not release.releases_proba
    if is_weighted and len(parts) > 1 and learns_columns_only(inputs.student()):
        raise ValueError(
            "class_weight weights the labels of each target, but fit of "
            f"{type(inputs.student()).__name__} learns all targets at once: give the classifier "
            "inside it as student, or class_weight=None"
        )
    for number, part in enumerate(parts):
        check_class_weight(
            weight[number] if isinstance(weight, list) else weight,
            part.values,
            inputs.student(),
            tried.X_public,
            releases_proba=release.releases_proba,
        )
    release.dry_run(inputs, plan)
    if inputs.extra_releases:
        extra_releases.dry_run(inputs.extra_releases, inputs.X_public, inputs.records)
    if inputs.rows_are_to_draw:
        dry_run_teachers(tried, tried.known_synthesis.synthesizer)
    check_missing(tried, are_synthetic=inputs.synthesis is not None)
    # No dry run of the default student, which is a copy of a teacher or a class of this library.
    # No dry run with a single query either, because most classifiers refuse a single class.
    n_queries = min(plan.n_queries, release.max_dry_run_rows)
    if estimator.student is not None and n_queries > 1:
        dry_run_student(
            estimator.student,
            tried.X_public,
            n_queries,
            target=inputs.target,
            soft=release.releases_proba or inputs.temperature is not None,
        )


def _with_texts(inputs: Inputs) -> Inputs:
    """Return inputs whose made-up rows have texts in undeclared columns of texts.

    Teachers or the student may not accept them. The private rows affect nothing else here, and a
    few malformed cells do not make a column one of texts.
    """
    synthesizer = copy(inputs.known_synthesis.synthesizer)
    is_at_sites = inputs.private is None or inputs.private.at_sites is not None
    if is_at_sites or not isinstance(synthesizer, ClassSumsSynthesizer | MarginalSynthesizer):
        return inputs
    synthesizer.guess_kinds(inputs.records.X)
    synthesis = replace(inputs.known_synthesis, synthesizer=synthesizer)
    return replace(inputs, synthesis=synthesis, X_public=dry_run_rows(synthesizer))


def check_scored(estimator: Estimator, X_public: Rows, n_queries: int) -> None:
    """Refuse a student of a private search if its prediction for a row depends on other rows."""
    method = make_method(estimator)
    release = method.release
    if release.releases_proba and estimator.student is None:
        return  # the default student is tested in this library
    check_scored_alone(
        student_of(estimator, method),
        X_public,
        min(n_queries, release.max_dry_run_rows),
        target=estimator._declared_target(),
        soft=release.releases_proba or temperature_of(estimator, method) is not None,
    )


def dry_run_teachers(inputs: Inputs, synthesizer: Any) -> None:
    """Try the teachers on made-up rows from the schema, before synthetic rows are paid for.

    Parameters
    ----------
    inputs : Inputs
        Inputs of a fit that draws synthetic rows.
    synthesizer : Synthesizer
        Synthesizer whose `declare` was called.

    Raises
    ------
    ValueError
        If a teacher cannot be fitted, or cannot predict.
    """
    target = inputs.target
    n_records: Any
    n_teachers: Any
    n_records, n_teachers = inputs.neighbors.n_records, inputs.n_teachers
    n_train = 500 if None in (n_records, n_teachers) else min(500, n_records // n_teachers)
    # With fewer rows, a class could be missing
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
                "synthetic rows: missing values, and categories that its training rows lack "
                f"(OneHotEncoder(handle_unknown='ignore')). {type(error).__name__}: {error}"
                f"{_about_texts(synthesizer)}"
            ) from error


def _about_texts(synthesizer: Any) -> str:
    """Return the remedy for columns that were tried as texts; empty if there are none.

    Undeclared columns are read by value, so numbers in a column of texts become numbers.
    """
    names = getattr(synthesizer, "guessed_texts", [])
    if not names:
        return ""
    return (
        f". Columns {first_names(names)} were tried as texts. If they hold numbers, convert them "
        "with pandas.to_numeric, or declare them in schema"
    )


def check_missing(inputs: Inputs, *, are_synthetic: bool) -> None:
    """Refuse public rows with missing values if teachers or student do not accept them.

    Without this check, a fit with few such rows could fail or succeed by chance, because only some
    rows are queried and `dry_run_student` uses only the first rows. The check reads public rows or,
    if a synthesizer draws the rows, made-up rows.

    Parameters
    ----------
    inputs : Inputs
        Inputs of the fit.
    are_synthetic : bool
        Whether a synthesizer draws the rows.

    Raises
    ------
    ValueError
        If a teacher or the student accepts rows without missing values, but not rows with them.
    """
    if inputs.release.releases_proba and inputs.estimator.student is None:
        return  # the default student accepts missing values
    X_public, target = inputs.X_public, inputs.target
    is_missing = is_missing_in(X_public)
    if is_missing.all() or not is_missing.any():
        return  # a failure does not depend on the queried rows
    rows = np.flatnonzero(is_missing)
    complete = np.flatnonzero(~is_missing)[: max(_N_COMPLETE, 5 * target.n_values)]
    tried = np.append(complete, rows[:_N_TRIED])
    student = inputs.student()
    classifiers = [] if inputs.private is None else inputs.method.classifiers()
    parts = [("base_estimator", classifier) for classifier in classifiers]
    for name, classifier in [*parts, ("student", student)]:
        both = _safe_indexing(X_public, complete), _safe_indexing(X_public, tried)
        of_model = target if learns_several(classifier) else target.parts[0]
        labels = of_model.teacher_values(of_model.alternating(len(tried)))
        problem = _problem(classifier, *both, labels, learns=name == "student")
        if problem is None:
            continue
        found = f"X_public has missing values in {len(rows)} rows (the first is row {rows[0]})"
        others = "leave these rows out"
        others += _NAN_FOR_NA if isinstance(X_public, pd.DataFrame) else ""
        if are_synthetic:
            found = "the synthesizer may draw missing values"
            others = "list fewer columns in missing=[...] of the Schema or synthesizer"
        raise ValueError(
            f"{found}, and {name}, a {type(classifier).__name__}, does not accept them: {problem}. "
            "This is an error even if no such row is queried. Put an imputer inside, "
            f"make_pipeline(SimpleImputer(), ...), or {others}"
        )


def is_missing_in(X: Rows) -> np.ndarray:
    """Return whether each row has a missing value.

    Parameters
    ----------
    X : array-like, sparse matrix or DataFrame with n_rows rows
        Rows.

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
    """Return the error of a classifier on rows with missing values, as text.

    Return None if there is no error, or if the classifier fails on complete rows as well. If
    `learns`, the classifier is also fitted on the rows with missing values.
    """
    with suppress_output(), seeded(0):  # any seed suffices, because this fit is discarded
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
