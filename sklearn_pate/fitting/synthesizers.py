"""The synthesizer of a fit without public rows: declared, and tried before rows are paid for."""

import os

import numpy as np
from joblib import Memory
from sklearn import get_config
from sklearn.base import clone

from .._sklearn import _num_samples, _safe_indexing
from ..releases.votes import is_ours
from ..rules import share_of_sums
from ..synthesis import ClassSums, MarginalSynthesizer, Schema
from ..teachers import Sites
from ..teachers.one import Part, Settings, Task, fit_and_predict
from .targets import declared_classes
from .voters import speaks_of_teachers


def declared_synthesizer(estimator, X, X_public, *, groups=None, may_be_all=True):
    """Return a clone of an estimator's synthesizer that knows the table's public schema, or None.

    Parameters
    ----------
    estimator : PATEClassifier
        Its synthesizer may be None.
    X : array-like with n_samples rows
        Private rows.
    X_public : array-like or None
        As given by the user: none where there is a synthesizer.
    groups : array-like or None, default=None
        As given by the user: with groups, the number of records is private.
    may_be_all : bool, default=True
        Whether it may spend all of epsilon, so that nobody votes.
    """
    if estimator.synthesizer is None and (estimator.schema is None or X_public is not None):
        return None
    if isinstance(estimator.synthesizer, type):
        name = estimator.synthesizer.__name__
        raise TypeError(f"synthesizer must be an instance, {name}(...); got the class")
    check_no_public(X_public)
    if isinstance(X, Sites):
        raise ValueError(
            "synthesizer needs the private rows, and with Sites each teacher loads its own; give "
            "X_public"
        )
    synthesizer = clone(ClassSums() if estimator.synthesizer is None else estimator.synthesizer)
    if estimator.schema is not None:
        _declare_columns(synthesizer, estimator.schema, X)
    asked = estimator.base_estimator is not None or estimator.aggregator is not None
    asked = asked or speaks_of_teachers(estimator)
    if not asked and _says_columns_alone(synthesizer):
        names = ("bounds", "categories", "missing", "n_rows")
        synthesizer = ClassSums(**{name: getattr(synthesizer, name) for name in names})
    if estimator.predicts_numbers and not is_ours(synthesizer):
        raise ValueError(
            f"{type(synthesizer).__name__} counts labels of classes, and those of PATERegressor "
            "are split: use ClassSums or MarginalSynthesizer"
        )
    synthesizer.declare(X, declared_classes(estimator))
    if isinstance(synthesizer, ClassSums):
        synthesizer.n_jobs = synthesizer.n_jobs or estimator.n_jobs
    if isinstance(synthesizer, ClassSums) and synthesizer.share is None:
        is_public = groups is None and not _may_join(estimator)
        synthesizer.share = share_of_sums(
            n_records=_num_samples(X) if is_public else None,
            n_columns=len(synthesizer.schema_.columns),
            width=synthesizer.schema_.width,
            epsilon=estimator.epsilon,
            may_be_all=may_be_all and not asked and not estimator.releases,
        )
    return synthesizer


def _declare_columns(synthesizer, schema, X):
    """Let a synthesizer of the library know what the user declares of the columns."""
    schema = schema if isinstance(schema, Schema) else Schema(schema)
    name = type(synthesizer).__name__
    if not isinstance(synthesizer, ClassSums | MarginalSynthesizer):
        raise ValueError(
            f"schema declares columns for synthesizers of this library, not for {name}"
        )
    said = [p for p in ("bounds", "categories", "missing") if getattr(synthesizer, p) is not None]
    if said:
        raise ValueError(
            f"columns are declared once: schema was given, and {said[0]} of {name} as well"
        )
    synthesizer.set_params(**schema.parameters(X))


def _says_columns_alone(synthesizer):
    """Whether a `MarginalSynthesizer` declares columns, and says nothing of its histograms."""
    if type(synthesizer) is not MarginalSynthesizer:
        return False
    said = synthesizer.get_params(deep=False)
    default = MarginalSynthesizer().get_params(deep=False)
    return all(said[name] == default[name] for name in ("n_bins", "given_label", "share", "noise"))


def _may_join(estimator):
    """Whether the number of records may be private."""
    return estimator.partition != "random" or getattr(estimator.base_estimator, "may_join", False)


def check_no_public(X_public):
    """Refuse public rows beside synthetic ones."""
    if X_public is not None:
        raise ValueError(
            "X_public and synthesizer are two ways to have public rows: give X_public, and "
            "synthesizer=None, or no X_public"
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
    codes = np.arange(n_train) % n_classes
    codes = codes if levels is None else codes.astype(float)
    part = Part(_safe_indexing(rows, np.arange(n_train)), codes)
    asked = _safe_indexing(rows, np.arange(n_train, _num_samples(rows)))
    settings = Settings(
        n_classes, given.temperature, False, None, get_config(), None, os.getpid(), levels
    )
    classifiers = given.electorate.classifiers() if is_ours(given.electorate) else []
    for classifier in classifiers:
        try:
            fit_and_predict(Task(0, classifier, part, asked, 0, settings, Memory(None), ()))
        except Exception as error:
            raise ValueError(
                "base_estimator failed when tried on made-up rows and labels. "
                "A teacher gets few rows, and votes on drawn ones: whatever the synthesizer may "
                "draw, such as missing values and categories that none of its records has, it "
                f"must take (OneHotEncoder(handle_unknown='ignore')). {type(error).__name__}: "
                f"{error}"
            ) from error
