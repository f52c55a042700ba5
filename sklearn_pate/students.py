"""Training of students on released labels, and a student that is trained on soft labels.

Any classifier or regressor can be a student. The attributes `accepts_soft_labels` and
`accepts_unlabeled` of a student, and a `sample_weight` in its `fit`, determine the labels on which
it is trained. Students that predict from a released table are in `readouts`. The default student of
a method is its `default_student`, and `releases.published.student_of` returns the student of a fit.
"""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn import config_context
from sklearn.base import ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from ._sklearn import (
    CheckedEstimator,
    HasMethods,
    _fit_context,
    _num_samples,
    _safe_indexing,
    has_method,
    is_pipeline,
    learns_several,
    pipeline,
)
from .encoding.targets import NumberTarget, SeveralTargets, Target
from .exceptions import StudentError
from .public import indexable_rows, plain, table_of
from .rdp.checks import as_array
from .runtime.copies import (
    copied_generators,
    copier,
    isolated_clone,
    seed_number,
    seeded,
    set_seeds,
    without_caches,
)
from .runtime.isolation import is_ours, remedy_of, suppress_output

if TYPE_CHECKING:
    from ._typing import Estimator, Rows
    from .releases.published import Published

__all__ = ["SoftLabelClassifier"]

#: A row gets no weight in a class with a smaller probability, unless the class would have no rows.
_LEAST_RATE = 0.01

#: Fraction of each class's rows that is labelled for students that learn from unlabelled rows.
_SURE = 0.5

#: Remedy for a student that does not accept the public rows.
_INSIDE = (
    "If rows need preprocessing (an encoder, an imputer), put it into the student, as a Pipeline"
)

#: Maximal number of rows, and of columns of sparse rows, in the dry run with weights.
_N_WEIGHTED = 200
_N_SPARSE_COLUMNS = 500

#: Weight of a row in its own class in this dry run; the other class has the rest.
_OWN_WEIGHT = 0.9

#: Remedy if a classifier does not use the weights that soft labels require.
_WEIGHTS_NEEDED = (
    "which soft labels require. Use a classifier that supports weights; if it is the last step of "
    "a Pipeline, wrap this step alone: make_pipeline(scaler, SoftLabelClassifier(classifier))"
)


class SoftLabelClassifier(MetaEstimatorMixin, ClassifierMixin, CheckedEstimator):
    """Classifier that is trained on distributions over classes, such as those of `SoftVote`.

    The estimator is fitted on every row once per class, weighted by the probability of the class.
    For a classifier with a log loss, this minimises the cross-entropy to the soft labels.

    Parameters
    ----------
    estimator : classifier
        Any classifier that accepts `sample_weight` in ``fit``.

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier.
    classes_ : ndarray of shape (n_classes,)
        Codes 0..n_classes-1 if fitted on soft labels, else the sorted labels.

    References
    ----------
    Hinton, Vinyals, Dean (2015). Distilling the knowledge in a neural network.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn_pate.students import SoftLabelClassifier
    >>> soft = [[0.9, 0.1], [0.6, 0.4], [0.1, 0.9]]
    >>> student = SoftLabelClassifier(LogisticRegression()).fit([[0.0], [1.0], [2.0]], soft)
    >>> student.predict([[0.0], [2.0]])
    array([0, 1])
    """

    #: `PATEClassifier` fits students with this attribute on soft labels.
    accepts_soft_labels = True

    _parameter_constraints = {"estimator": [HasMethods(["fit", "predict"])]}

    def __init__(self, estimator: Estimator) -> None:
        self.estimator = estimator

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Rows, y: ArrayLike) -> Self:
        """Fit on soft or hard labels.

        Parameters
        ----------
        X : array-like with n_samples rows
            Features, passed on unchanged.
        y : array-like of shape (n_samples, n_classes) or (n_samples,)
            Distributions over classes, or one label per row.

        Returns
        -------
        SoftLabelClassifier
            Itself, fitted.

        Raises
        ------
        ValueError
            If the rows of soft labels are not distributions, or if `estimator` does not accept
            `sample_weight`.
        """
        y = as_array("y", y)
        if y.ndim == 1:
            self.estimator_ = clone(self.estimator).fit(X, y)
            self.classes_ = self.estimator_.classes_
            return self
        is_one_each = y.ndim == 2 and len(y) == _num_samples(X) and y.dtype.kind in "iufb"
        if not is_one_each or not (y >= 0).all() or not np.allclose(y.sum(axis=1), 1):
            raise ValueError(
                "y must hold one label, or one distribution over classes (at least 0, sum 1), for "
                f"each of the {_num_samples(X)} rows of X; got shape {y.shape}, or other numbers"
            )
        if not has_fit_parameter(self.estimator, "sample_weight"):
            raise ValueError(
                f"fit of {self.estimator!r} does not accept sample_weight, {_WEIGHTS_NEEDED}"
            )
        rows, codes = np.nonzero(y)
        self.estimator_ = clone(self.estimator).fit(
            _safe_indexing(X, rows), codes, sample_weight=y[rows, codes]
        )
        self.classes_ = np.arange(y.shape[1])
        return self

    def to_sklearn(self) -> Estimator:
        """Return the fitted classifier `estimator_`, which has the same predictions."""
        check_is_fitted(self)
        return self.estimator_

    def predict(self, X: Rows) -> np.ndarray:
        """Predict labels, as the estimator does."""
        check_is_fitted(self)
        return self.estimator_.predict(X)

    @available_if(lambda self: has_method(self.estimator, "predict_proba"))
    def predict_proba(self, X: Rows) -> np.ndarray:
        """Predict probabilities; a class that had probability 0 in every row gets 0."""
        check_is_fitted(self)
        proba = self.estimator_.predict_proba(X)
        seen = self.estimator_.classes_
        return all_columns(proba, seen, n_classes=len(self.classes_), fill=0.0)


def fit_student(
    student: Estimator, X_public: Rows, released: Published, seed: np.random.SeedSequence
) -> Estimator:
    """Train a student on released labels.

    Parameters
    ----------
    student : classifier
        Unfitted.
    X_public : array-like with n_public rows
        All public rows.
    released : Published
        Labels, and soft labels if there are any.
    seed : numpy.random.SeedSequence
        Source of the student's randomness.

    Returns
    -------
    classifier
        A fitted copy.

    Raises
    ------
    StudentError
        If no query was answered, or if the student cannot be trained. If it cannot be trained on
        labels of a single class, a `DummyClassifier` that predicts this class is returned instead.
    """
    if len(released.parts) > 1:
        return _fit_several(student, X_public, released, seed)
    labelled = np.flatnonzero(released.labels >= 0)
    labels = released.labels[labelled]
    number = seed_number(seed)
    try:
        if labelled.size == 0:
            raise ValueError("no query was answered")
        learns_class_proba = released.table is not None and released.target.has_accuracy
        by_weights = learns_class_proba and heeds_weights(student, X_public)
        with seeded(number):
            student = unfitted_copy(student, number)
            _teach(released.target, student, X_public, released, labelled, by_weights)
            return copied_generators(student)
    except Exception as error:
        if not released.target.are_of_one_class(labels):
            cause = f"{type(error).__name__}: {error}".removesuffix(".") + remedy_of(error)
            problem = (
                f"the student could not be trained on {labelled.size} released labels. {cause}. "
                f"{_INSIDE}"
            )
            raise student_error(problem, released) from error
        released.problem = f"{type(error).__name__}: {str(error).removesuffix('.')}"
    from sklearn.dummy import DummyClassifier

    # Most classifiers raise an error for labels of one class, but these labels are paid for
    return DummyClassifier().fit(_safe_indexing(X_public, labelled), labels)


def _fit_several(
    student: Any, X_public: Rows, released: Any, seed: np.random.SeedSequence
) -> Estimator:
    """Train a student on the labels of several targets.

    A multi-output student learns the labels of all targets at once. Any other student is trained
    for each target, and the copies are joined as in `sklearn.multioutput`. So is any student with
    class weights for labels from teachers, because a row has a weight for each target.

    Parameters
    ----------
    student : estimator or list of estimators
        One student for all targets, or one for each.
    X_public, seed
        As in `fit_student`.
    released : SeveralPublished
        Published results of several targets.
    """
    are_weighted = any(part.weights_labels for part in released.parts)
    if not isinstance(student, list) and learns_several(student) and not are_weighted:
        return _fit_together(student, X_public, released, seed)
    students = student if isinstance(student, list) else [student] * len(released.parts)
    fitted = []
    for each, part in zip(students, released.parts, strict=True):
        try:
            fitted.append(fit_student(each, X_public, part, seed))
        except StudentError as error:
            error.public_labels = released.public_labels.copy()
            error.privacy_spent = released.spent
            raise
    return joined(fitted, students[0], released.target)


def _fit_together(
    student: Estimator, X_public: Rows, released: Any, seed: np.random.SeedSequence
) -> Estimator:
    """Train a multi-output student on the rows with labels of all targets."""
    has_label = [part.target.labels_of(part.public_labels) >= 0 for part in released.parts]
    labelled = np.flatnonzero(np.all(has_label, axis=0))
    number = seed_number(seed)
    try:
        with seeded(number):
            rows = _safe_indexing(X_public, labelled)
            student = unfitted_copy(student, number)
            student.fit(rows, released.public_labels[labelled])
            return copied_generators(student)
    except Exception as error:
        cause = f"{type(error).__name__}: {error}".removesuffix(".") + remedy_of(error)
        problem = (
            f"the student could not be trained on {labelled.size} released rows of labels. "
            f"{cause}. {_INSIDE}"
        )
        raise student_error(problem, released) from error


def joined(fitted: list[Estimator], unfitted: Estimator, target: Target) -> Estimator:
    """Join the fitted students of several targets as one fitted estimator of scikit-learn."""
    from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor

    if not target.has_accuracy:
        regressor = MultiOutputRegressor(unfitted)
        regressor.estimators_ = fitted
        return regressor
    classifier = MultiOutputClassifier(unfitted)
    classifier.estimators_ = fitted
    classifier.classes_ = [each.classes_ for each in fitted]
    return classifier


@singledispatch
def _teach(
    target: Target,
    student: Estimator,
    X_public: Rows,
    released: Published,
    labelled: np.ndarray,
    by_weights: bool,
) -> Estimator:
    """Fit a student on the kind of labels that it accepts.

    It is the first that applies: all rows, if only some have labels; soft labels; class
    probabilities as weights of rows (if `by_weights`); labels alone.
    """
    has_class_proba = released.table is not None  # then they are the soft labels
    soft_labels = released.soft_labels
    if accepts_unlabeled(student):
        targets = released.labels
        if soft_labels is not None and has_class_proba:
            targets = sure_labels(soft_labels)
        return student.fit(X_public, targets)
    rows = _safe_indexing(X_public, labelled)
    if soft_labels is not None and accepts_soft_labels(student):
        return student.fit(rows, soft_labels[labelled])
    if soft_labels is not None and by_weights:
        # Each row has a weight in each class, and every class has some rows
        class_proba = soft_labels[labelled]
        counts = class_proba > np.minimum(_LEAST_RATE, class_proba.max(axis=0) / 2)
        weights = np.where(counts, class_proba, 0.0)
        if released.row_weight is not None:
            weights *= released.row_weight[labelled][:, None]
            released.row_weight_used = True
        if getattr(last_step(student), "accepts_class_weights", False):
            return student.fit(rows, weights)
        row, code = np.nonzero(counts)
        return _fit_weighted(student, _safe_indexing(rows, row), code, weights[row, code])
    labels = released.labels[labelled]
    weight = None if has_class_proba else released.label_weights(labels)
    return _fit_weighted(student, rows, labels, weight)


@_teach.register
def _(
    target: NumberTarget,
    student: Any,
    X_public: Any,
    released: Any,
    labelled: np.ndarray,
    by_weights: bool,
) -> Any:
    """Fit a student on released means."""
    return student.fit(_safe_indexing(X_public, labelled), released.public_labels[labelled])


def students_view(
    student: Estimator, X_public: Rows, released: Published, seed: np.random.SeedSequence
) -> np.ndarray:
    """Train a student on the labels so far, and return its probabilities for all public rows."""
    fitted = fit_student(student, X_public, released, seed)
    try:
        with seeded(seed_number(seed)):
            proba = fitted.predict_proba(X_public)
        return all_columns(proba, fitted.classes_, n_classes=released.n_classes, fill=0.0)
    except Exception as error:
        problem = f"the student's predict_proba failed: {type(error).__name__}: {error}"
        raise student_error(problem, released) from error


def student_error(problem: str, released: Published) -> StudentError:
    """Return an error with the released labels, because they are paid for."""
    return StudentError(
        f"{problem.removesuffix('.')}. The released labels are paid for, and are in public_labels "
        "of this error; fit_student(X_public, student) tries another student at no cost",
        released.public_labels.copy(),
        released.spent,
    )


def all_columns(
    values: np.ndarray, codes: np.ndarray, *, n_classes: int, fill: float
) -> np.ndarray:
    """Return `values` with one column per class, and `fill` for missing classes.

    A student has columns only for its training classes, `codes`.
    """
    if values.shape[1] == n_classes:
        return values
    full = np.full((len(values), n_classes), fill)
    full[:, np.asarray(codes).astype(np.intp)] = values
    return full


def dry_run_student(
    student: Estimator, X_public: Rows, n_queries: int, *, target: Target, soft: bool
) -> None:
    """Try the student on public rows with made-up labels, before anything is spent."""
    with (
        suppress_output(),
        seeded(0),
    ):  # any seed suffices, because this fit is discarded
        try:
            target = target if learns_several(student) else target.parts[0]
            fitted = _dry_run_done(target, student, X_public, n_queries, soft)
            first_rows = np.arange(min(_num_samples(X_public), 50))
            predicted = fitted.predict(_safe_indexing(X_public, first_rows))
            target.check_predicted(predicted, n_rows=len(first_rows))
            if soft:
                _check_soft(student, X_public)
        except Exception as error:
            cause = f"{type(error).__name__}: {error}".removesuffix(".") + remedy_of(error)
            raise ValueError(
                f"the student failed when tried on public rows with made-up labels. {cause}. "
                f"{_INSIDE}"
            ) from error


def _check_soft(student: Estimator, X_public: Rows) -> None:
    """Raise an error if the classifier of a `SoftLabelClassifier` does not use weights."""
    last = last_step(student)
    if not isinstance(last, SoftLabelClassifier):
        return
    classifier = last.estimator
    if last is not student:
        name, _ = student.steps[-1]
        classifier = pipeline.Pipeline([*student.steps[:-1], (name, last.estimator)])
    if not heeds_weights(classifier, X_public):
        raise ValueError(
            f"{last.estimator!r} ignores the sample_weight that is passed to fit, {_WEIGHTS_NEEDED}"
        )


def check_scored_alone(
    student: Estimator, X_public: Rows, n_queries: int, *, target: Target, soft: bool
) -> None:
    """Raise an error if a student cannot score private rows one by one, by a dry run.

    Its prediction for a row must not depend on other rows, and it must be possible to copy it.
    """
    X_public = indexable_rows(X_public, "X_public")
    with suppress_output(), seeded(0):
        try:
            fitted = _dry_run_done(target, student, X_public, n_queries, soft)
        except Exception:  # released labels may still train it, and rows are scored alone
            return
        check_predicts_alone(fitted, X_public)
        try:
            copier(fitted)()
        except Exception as error:
            raise ValueError(
                "the student cannot be copied, which private scores require. Use one that can be "
                "pickled, or score on public rows, X_val and y_val. "
                f"{type(error).__name__}: {error}"
            ) from error


def _dry_run_done(
    target: Target, student: Estimator, X_public: Rows, n_queries: int, soft: bool
) -> Estimator:
    """Fit the student as if labels had been released for the first public rows."""
    codes = target.alternating(n_queries)
    labels = _made_up_labels(target, codes, student, X_public, soft)
    rows = _safe_indexing(X_public, np.arange(len(labels)))
    return unfitted_copy(student, 0).fit(rows, labels)


@singledispatch
def _made_up_labels(
    target: Target, codes: np.ndarray, student: Estimator, X_public: Rows, soft: bool
) -> np.ndarray:
    """Return made-up labels for the first public rows, in the form that a student gets."""
    if accepts_unlabeled(student):
        n_unlabeled = max(min(_num_samples(X_public), 1000) - len(codes), 0)  # a few, for speed
        return np.append(codes, np.full(n_unlabeled, -1))
    return np.eye(target.n_values)[codes] if soft and accepts_soft_labels(student) else codes


@_made_up_labels.register
def _(target: SeveralTargets, codes: np.ndarray, student: Any, X_public: Any, soft: bool) -> Any:
    """Return made-up labels or numbers of several targets."""
    return target.teacher_values(codes)


@_made_up_labels.register
def _(target: NumberTarget, codes: np.ndarray, student: Any, X_public: Any, soft: bool) -> Any:
    """Return made-up numbers."""
    return target.teacher_values(codes)


def unfitted_copy(student: Estimator, number: int) -> Estimator:
    """Return an unfitted copy that has its own seeds and caches nothing on disk."""
    student = isolated_clone(student, number)
    return without_caches(set_seeds(student, number, only_missing=True))


def _fit_weighted(
    student: Estimator, rows: Rows, labels: np.ndarray, weight: np.ndarray | None
) -> Estimator:
    """Fit a student with weights of rows, if there are any."""
    if weight is None:
        return student.fit(rows, labels)
    step = f"{student.steps[-1][0]}__" if is_pipeline(student) else ""
    with config_context(enable_metadata_routing=False):  # with it, pipelines need a request
        return student.fit(rows, labels, **{f"{step}sample_weight": weight})


def sure_labels(class_proba: np.ndarray) -> np.ndarray:
    """Label the most certain rows of each class, in proportion to the class probabilities.

    Parameters
    ----------
    class_proba : ndarray of shape (n_public, n_classes)
        Rows sum to 1.

    Returns
    -------
    ndarray of shape (n_public,), int
        -1 for rows without a label: about half.
    """
    n_requested = np.ceil(_SURE * class_proba.sum(axis=0)).astype(int)
    labels = np.full(len(class_proba), -1)
    for code in np.argsort(n_requested):  # the rarest class first, so it gets its surest rows
        free = np.flatnonzero(labels < 0)
        surest_first = free[np.argsort(-class_proba[free, code], kind="stable")]
        labels[surest_first[: n_requested[code]]] = code
    return labels


def accepts_weights(student: Estimator) -> bool:
    """Return whether the student accepts a weight for each row."""
    return has_fit_parameter(last_step(student), "sample_weight")


def heeds_weights(student: Estimator, X_public: Rows) -> bool:
    """Return whether a student uses `sample_weight`, by a dry run.

    For soft labels, a student is fitted on each row once per class, with the probability of the
    class as its weight. A wrapper may accept `sample_weight` and not pass it on, because its
    classifier does not accept weights. Then each row counts equally in every class.

    The dry run fits one copy of the student on made-up labels of public rows, and another copy on
    each row in both classes, with weights 0.9 and 0.1. The student uses the weights if the accuracy
    of the second copy exceeds chance by at least half as much as the accuracy of the first. Both
    copies have the same seed. A student that ignores the weights predicts by chance, even if it
    draws its own random numbers. There is no dry run for classifiers of this library.

    Parameters
    ----------
    student : classifier
        Unfitted; it is not changed.
    X_public : array-like with n_public rows
        At most 200 of the rows are used.

    Returns
    -------
    bool
        True also if the student cannot be fitted on the made-up labels, because it may be possible
        to fit it on the released labels. False also if it can be fitted only without weights.
    """
    if not accepts_weights(student):
        return False
    if is_ours(last_step(student)):
        return True
    n_rows = min(_num_samples(X_public), _N_WEIGHTED)
    used = np.linspace(0, _num_samples(X_public) - 1, n_rows).astype(int)
    rows = _safe_indexing(X_public, used)
    labels = _two_halves(rows)
    row, code = np.divmod(np.arange(2 * n_rows), 2)
    weight = np.where(code == labels[row], _OWN_WEIGHT, 1 - _OWN_WEIGHT)
    with suppress_output():
        try:
            by_labels = _share_predicted(student, rows, labels, rows, labels, None)
        except Exception:  # it may still be possible to fit the student on released labels
            return True
        try:
            twice = _safe_indexing(rows, row)
            by_weights = _share_predicted(student, rows, labels, twice, code, weight)
        except Exception:
            return False
    return by_weights - 0.5 >= (by_labels - 0.5) / 2


def _two_halves(rows: Rows) -> np.ndarray:
    """Return made-up labels, 0 or 1, computed from the rows; about half of them are 1.

    The labels split the rows at their median along the first principal component of the ranks of
    their values.
    """
    if sparse.issparse(rows):
        most_filled = np.argsort(-rows.getnnz(axis=0), kind="stable")[:_N_SPARSE_COLUMNS]
        rows = rows.tocsc()[:, most_filled]
    table = table_of(rows)
    columns = [plain(table.iloc[:, k]) for k in range(table.shape[1])]
    ranks = np.column_stack([np.unique(column, return_inverse=True)[1] for column in columns])
    away = ranks - ranks.mean(axis=0)
    along, _, _ = np.linalg.svd(away / np.maximum(away.std(axis=0), 1e-300), full_matrices=False)
    return (along[:, 0].argsort(kind="stable").argsort() >= len(table) / 2).astype(int)


def _share_predicted(
    student: Estimator,
    rows: Rows,
    labels: np.ndarray,
    X: Rows,
    y: np.ndarray,
    weight: np.ndarray | None,
) -> float:
    """Fit a copy of the student, and return its accuracy on `rows`."""
    with seeded(0):  # any seed suffices, because this fit is discarded
        fitted = _fit_weighted(unfitted_copy(student, 0), X, y, weight)
        return np.mean(np.asarray(fitted.predict(rows)) == labels)


def accepts_unlabeled(student: Estimator) -> bool:
    """Return whether the student also learns from unlabelled rows, which are marked -1."""
    from sklearn.semi_supervised import LabelPropagation, LabelSpreading, SelfTrainingClassifier

    last = last_step(student)
    if isinstance(last, SelfTrainingClassifier | LabelPropagation | LabelSpreading):
        return True
    return getattr(last, "accepts_unlabeled", False)


def accepts_soft_labels(student: Estimator) -> bool:
    """Return whether the student learns from distributions over classes."""
    return getattr(last_step(student), "accepts_soft_labels", False)


def last_step(student: Estimator) -> Estimator:
    """Return the classifier at the end of a Pipeline, or the student itself."""
    return student.steps[-1][1] if is_pipeline(student) else student


def check_predicts_alone(student: Estimator, X_public: Rows) -> None:
    """Raise an error if predictions of a fitted student depend on other rows of the batch."""
    rows = np.unique(np.linspace(0, _num_samples(X_public) - 1, 50).astype(int))
    labels, scores = _predicted(student, _safe_indexing(X_public, rows))
    n_different = 0
    for row, together, label in zip(rows, scores, labels, strict=True):
        (alone,), (score,) = _predicted(student, _safe_indexing(X_public, [row]))
        # Sums of one row and of many may be rounded differently, and rounding decides a tie
        same_score = np.allclose(score, together, rtol=1e-3, atol=1e-4, equal_nan=True)
        is_tie = np.diff(np.sort(together)[-2:]).min(initial=np.inf) < 1e-4
        n_different += not (same_score and (alone == label or is_tie))
    if n_different:
        raise ValueError(
            "the student's prediction for a row depends on other rows of the batch: "
            f"{n_different} of {len(rows)} public rows are predicted differently alone. Use a "
            "student that predicts each row by itself, or score on public rows, X_val and y_val"
        )


def _predicted(student: Estimator, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Return predicted labels and scores; scores have no columns if the student has none."""
    labels = np.asarray(student.predict(rows))
    for method in ("predict_proba", "decision_function"):
        if hasattr(student, method):
            scores = np.asarray(getattr(student, method)(rows), dtype=float)
            if scores.ndim == 1:
                scores = np.column_stack([scores, np.zeros(len(scores))])
            return labels, scores
    return labels, np.empty((len(labels), 0))
