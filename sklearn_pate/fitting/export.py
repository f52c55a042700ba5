"""Export of a student that loads without this library."""

from __future__ import annotations

import contextlib
import copy
import pickle
import pickletools
import sys
from collections.abc import Iterable
from functools import singledispatch
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import Bunch

from .._sklearn import is_pipeline, pipeline, preprocessing
from ..encoding.targets import NumberTarget, SeveralTargets, Target
from ..public import table_of
from ..runtime.isolation import suppress_output
from ..students import last_step

if TYPE_CHECKING:
    from .._typing import Estimator, Rows

_OURS = __name__.partition(".")[0]

#: Number of random rows on which predictions are compared if there are no public rows.
_N_TRIED = 100

#: Largest difference of probabilities that count as equal, because sums have rounding errors.
_MOST_DIFFERENCE = 1e-9


def handed_over(estimator: Estimator, X: Rows) -> Estimator:
    """Return a copy of the student that predicts labels without this library.

    Parameters
    ----------
    estimator : PATEClassifier or PATERegressor
        Fitted estimator.
    X : array-like with n_samples rows, or None
        Public rows on which the copy and `estimator` must predict the same. None compares the copy
        of a classifier with the student on random numbers.

    Returns
    -------
    classifier or regressor

    Raises
    ------
    ValueError
        If the student requires this library or the running program, cannot be pickled, or does
        not predict the same as `estimator`.
    """
    student = _in_sklearn(copy.deepcopy(estimator.student_))
    _check_modules(student)
    return _decoded(estimator._fitted_target, student, estimator, X)


def readable_rows(estimator: Estimator, X: Rows) -> Rows:
    """Return rows that the export can read: of polars, in pandas if the student requires it.

    Parameters
    ----------
    estimator : PATEClassifier or PATERegressor
        Fitted estimator.
    X : array-like with n_samples rows, or None
        Public rows.

    Returns
    -------
    array-like with n_samples rows, or None

    Raises
    ------
    ValueError
        If the estimator predicts otherwise for the same rows in pandas.
    """
    if isinstance(X, pd.DataFrame) or not hasattr(X, "get_column"):
        return X
    student = _in_sklearn(copy.deepcopy(estimator.student_))
    with contextlib.suppress(Exception), suppress_output():
        student.predict(X)
        return X
    rows = table_of(X)
    expected = estimator.predict(X)
    are_same = np.allclose if expected.dtype.kind == "f" else np.array_equal
    if not are_same(estimator.predict(rows), expected):
        raise ValueError(
            "the export of this student reads DataFrames of pandas, and it predicts otherwise for "
            "these rows in pandas: fit on pandas from the start,\n"
            "    X, X_public = X.to_pandas(), X_public.to_pandas()"
        )
    return rows


@singledispatch
def _decoded(target: Target, student: Estimator, estimator: Estimator, X: Rows) -> Estimator:
    """Convert a student that predicts codes to a model that predicts labels."""
    labels = target.values
    models = _with_labels(student, labels)
    if X is not None:
        estimator.predict(X)  # raises a clear error if the rows are wrong
        # These models need rows, to check that predictions have the largest probability
        models += _votes_of_one(student, labels)
    for model in models:
        with contextlib.suppress(Exception):  # then try the next model
            if (X is None and model is student) or _agrees(model, student, estimator, X):
                return model
    name = type(last_step(student)).__name__
    if X is None:
        raise ValueError(
            f"{name} may predict class codes instead of labels. Give public rows, on which its "
            "predictions can be compared: export(X_public)"
        )
    raise ValueError(
        f"{name} cannot be exported, because its predictions for the given rows differ outside of "
        "PATEClassifier; use another student"
    )


class _OneTarget:
    """The predictions of an estimator for one of several targets.

    Parameters
    ----------
    estimator : PATEClassifier
        Estimator of several targets.
    number : int
        Number of the target, from 0.
    """

    def __init__(self, estimator: Estimator, number: int) -> None:
        self.estimator = estimator
        self.number = number
        self.classes_ = estimator.classes_[number]

    def predict(self, X: Rows) -> np.ndarray:
        """Return the predicted labels of the target, (n_samples,)."""
        labels: np.ndarray = self.estimator.predict(X)[:, self.number]
        return labels.astype(self.classes_.dtype)

    def predict_proba(self, X: Rows) -> np.ndarray:
        """Return the class probabilities of the target, (n_samples, n_classes)."""
        proba: np.ndarray = self.estimator.predict_proba(X)[self.number]
        return proba


@_decoded.register
def _(target: SeveralTargets, student: Any, estimator: Any, X: Any) -> Any:
    """Convert a student of several targets, each by itself if they have one model each."""
    from sklearn.multioutput import MultiOutputClassifier

    if target.kind is NumberTarget:
        return _as_is(student, estimator, X)
    if len({values.dtype.kind for values in target.values}) > 1:
        raise ValueError(
            "a model with labels of several types cannot be exported: encode the labels of all "
            "targets as one type, or pickle the estimator"
        )
    if isinstance(student, MultiOutputClassifier):
        models = [
            _decoded(part, model, _OneTarget(estimator, number), X)
            for number, (part, model) in enumerate(
                zip(target.parts, student.estimators_, strict=True)
            )
        ]
        student.estimator = clone(models[0])
        student.estimators_ = models
        student.classes_ = [model.classes_ for model in models]
        return student
    labelled = copy.deepcopy(student)
    last = last_step(labelled)
    if isinstance(getattr(last, "classes_", None), list):
        pairs = zip(target.values, last.classes_, strict=True)
        last.classes_ = [labels[np.asarray(codes).astype(np.intp)] for labels, codes in pairs]
    if X is None or not np.array_equal(labelled.predict(X), estimator.predict(X)):
        raise ValueError(
            f"{type(last).__name__} cannot be exported for several targets: give public rows, "
            "export(X_public), or use a student with one model for each target"
        )
    return labelled


@_decoded.register
def _(target: NumberTarget, student: Any, estimator: Any, X: Any) -> Any:
    """Return the student, which predicts numbers."""
    return _as_is(student, estimator, X)


def _as_is(student: Any, estimator: Any, X: Any) -> Any:
    """Return a student that predicts numbers, if it predicts like the estimator."""
    if X is not None and not np.allclose(student.predict(X), estimator.predict(X)):
        raise ValueError(
            f"{type(last_step(student)).__name__} cannot be exported, because its predictions for "
            "the given rows differ outside of PATERegressor; use another student"
        )
    return student


def libraries_of(model: Estimator, rows: Iterable[Any] = ()) -> dict[str, str]:
    """Return the versions of the libraries that are required to load a model.

    Parameters
    ----------
    model : object
        Model that can be pickled.
    rows : iterable of DataFrame, default=()
        DataFrames that the model predicts on. Their libraries are included.

    Returns
    -------
    dict of str to str
        Version of each package by its import name; "" for a package without a version.
    """
    names = [*_names_in(model), *(type(frame).__module__ for frame in rows)]
    packages = {name.partition(".")[0] for name in names} - set(sys.stdlib_module_names)
    modules = {name: sys.modules.get(name) for name in sorted(packages)}
    return {name: str(getattr(module, "__version__", "")) for name, module in modules.items()}


# --- without this library ------------------------------------------------------------------------


def _in_sklearn(student: Estimator) -> Estimator:
    """Convert a student, or the steps of a Pipeline, to equivalent scikit-learn estimators."""
    from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor

    if hasattr(student, "to_sklearn"):
        return _in_sklearn(student.to_sklearn())
    if isinstance(student, MultiOutputClassifier | MultiOutputRegressor):
        student.estimators_ = [_in_sklearn(each) for each in student.estimators_]
        student.estimator = clone(student.estimators_[0])
    if not is_pipeline(student):
        return student
    steps: list[Any] = []
    for name, step in student.steps:
        replaced = _in_sklearn(step)
        steps += replaced.steps if is_pipeline(replaced) else [(name, replaced)]
    names = [name for name, _ in steps]
    for k, (name, step) in enumerate(steps):
        if names.count(name) > 1:
            steps[k] = f"{name}-{names[: k + 1].count(name)}", step
    return pipeline.Pipeline(steps)


def _check_modules(student: Estimator) -> None:
    """Refuse a student that requires this library or the running program."""
    names = sorted(_names_in(student))
    unnamed = [name for name in names if name.startswith("__main__.")]
    if unnamed:
        raise ValueError(
            f"the student holds {', '.join(unnamed)}, of the program or notebook that is running: "
            "import it from a file, and train the student again with fit_student(X_public, "
            "student), at no privacy cost"
        )
    ours = [name for name in names if name.partition(".")[0] == _OURS]
    if ours:
        raise ValueError(
            f"the student holds {', '.join(ours)}, but an export must load without sklearn_pate. "
            "Pickle the estimator instead, or train a scikit-learn student with "
            "fit_student(X_public, student) or, on synthetic rows, fit_student(student=student)"
        )


def _names_in(model: Estimator) -> set[str]:
    """Return the full names of the classes and functions that a pickle of a model imports."""
    try:
        data = pickle.dumps(model, protocol=3)  # later ones split names
    except Exception as error:
        name = type(error).__name__
        raise ValueError(f"the student cannot be pickled: {name}: {error}") from error
    found = (str(text) for opcode, text, _ in pickletools.genops(data) if opcode.name == "GLOBAL")
    return {text.replace(" ", ".") for text in found}


# --- labels in place of codes --------------------------------------------------------------------


def _with_labels(student: Estimator, labels: np.ndarray) -> list[Estimator]:
    """Return a list of one copy of the student with labels in `classes_`.

    Most classifiers look up their predictions in `classes_`. If the labels equal the codes, the
    list contains the student itself. If `classes_` cannot be set, the list is empty.
    """
    if labels.dtype.kind in "iu" and np.array_equal(labels, np.arange(len(labels))):
        return [student]
    labelled = copy.deepcopy(student)
    last = last_step(labelled)
    if "classes_" not in vars(last):
        return []
    last.classes_ = labels[np.asarray(last.classes_).astype(np.intp)]
    return [labelled]


def _votes_of_one(student: Estimator, labels: np.ndarray) -> list[Estimator]:
    """Return ensembles of one student: soft voting if it has `predict_proba`, and hard voting."""
    kinds = [("hard", labels)]
    if hasattr(student, "predict_proba"):
        # Some students have a column for each class, others only for their training classes
        seen = labels[np.asarray(student.classes_).astype(np.intp)]
        kinds = [("soft", seen), ("soft", labels), *kinds]
    return [_vote_of_one(student, voting, seen) for voting, seen in kinds]


def _vote_of_one(student: Estimator, voting: str, labels: np.ndarray) -> Estimator:
    """Return an ensemble of one student; it decodes the student's predictions to labels."""
    from sklearn.ensemble import VotingClassifier

    vote = VotingClassifier([("student", student)], voting=voting)
    vote.estimators_ = [student]
    vote.named_estimators_ = Bunch(student=student)
    vote.le_ = preprocessing.LabelEncoder().fit(labels)
    vote.classes_ = vote.le_.classes_
    return vote


# --- the same predictions ------------------------------------------------------------------------


def _agrees(model: Estimator, student: Estimator, estimator: Estimator, X: Rows) -> bool:
    """Return whether a model predicts like the estimator; without rows, compare last steps."""
    if X is not None:
        classes, labels = estimator.classes_, estimator.predict(X)
        of_codes = estimator
    else:
        model, of_codes = last_step(model), last_step(student)
        X = np.random.default_rng(0).normal(size=(_N_TRIED, of_codes.n_features_in_))
        classes = model.classes_
        labels = classes[np.searchsorted(of_codes.classes_, of_codes.predict(X))]
    if not np.array_equal(model.predict(X), labels):
        return False
    if not hasattr(model, "predict_proba"):
        return True
    expected = of_codes.predict_proba(X)[:, np.searchsorted(classes, model.classes_)]
    return np.abs(model.predict_proba(X) - expected).max() <= _MOST_DIFFERENCE


class Saved(NamedTuple):
    """Pickle of one object in a model; the model loads even if the object does not.

    Attributes
    ----------
    name : str
        Class name of the object.
    data : bytes
        Pickle of the object.
    """

    name: str
    data: bytes

    @classmethod
    def of(cls, estimator: Estimator) -> Any:
        """Pickle an object; return it unchanged if it cannot be pickled."""
        try:
            return cls(type(estimator).__name__, pickle.dumps(estimator))
        except Exception:
            return estimator  # another pickler may manage it

    def load(self) -> Any:
        """Return the object, or an `Unavailable` if its library or class is missing."""
        try:
            return pickle.loads(self.data)
        except (ImportError, AttributeError) as error:  # no library, or no such class in it
            return Unavailable(self.name, str(error))


class Unavailable(ClassifierMixin, BaseEstimator):
    """Placeholder in a loaded model for an object that could not be loaded.

    Parameters
    ----------
    name : str
        Class name of the object.
    reason : str
        Text of the error.
    """

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        self.reason = reason

    def fit(self, X: Any, y: Any = None) -> NoReturn:
        """Raise an error that names the missing object.

        Parameters
        ----------
        X, y : object
            Ignored.

        Raises
        ------
        ImportError
            Always.
        """
        raise ImportError(f"{self.name} could not be loaded with the model: {self.reason}")

    predict = fit  # without `predict` it would not be valid as a parameter
    read = class_proba = fit  # the transformer of a table may be missing
