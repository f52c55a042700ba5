"""Training the student, and trying it out before anything is spent."""

import numpy as np
from sklearn import config_context
from sklearn.dummy import DummyClassifier
from sklearn.pipeline import Pipeline
from sklearn.semi_supervised import LabelPropagation, LabelSpreading, SelfTrainingClassifier
from sklearn.utils.validation import has_fit_parameter

from .._sklearn import _num_samples, _safe_indexing
from ..exceptions import StudentError
from ..isolation import (
    Quiet,
    copier,
    own_clone,
    own_generators,
    seed_number,
    seeded,
    set_seeds,
    without_caches,
)
from .checks import check_predicted, check_predicts_alone, indexable_rows

#: Rows are not of a class whose share in them is less.
_LEAST_RATE = 0.01

#: The part of each class's rows that is labelled for students that learn from unlabelled rows.
_SURE = 0.5

_LEARN_FROM_UNLABELED = (SelfTrainingClassifier, LabelPropagation, LabelSpreading)


def fit_student(student, X_public, released, seed):
    """Train a student on what was released.

    Parameters
    ----------
    student : classifier
        Unfitted.
    X_public : array-like with n_public rows
        All public rows.
    released : Release
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
        If it cannot be trained on them, and they are of several classes. Of one, a
        `DummyClassifier` returns it.
    """
    labelled = np.flatnonzero(released.labels >= 0)
    labels = released.labels[labelled]
    number = seed_number(seed)
    try:
        if labelled.size == 0:
            raise ValueError("no query was answered")
        with seeded(number):
            student = unfitted_copy(student, number)
            _teach(student, X_public, released, labelled)
            return own_generators(student)
    except Exception as error:
        n_classes = np.unique(labels).size
        if n_classes != 1:
            raise student_error(
                f"the student could not be trained on the {labelled.size} released labels of "
                f"{n_classes} classes: {str(error).removesuffix('.')}",
                released,
            ) from error
        released.problem = f"{type(error).__name__}: {str(error).removesuffix('.')}"
    # Most classifiers refuse labels of one class, and these are paid for
    return DummyClassifier().fit(_safe_indexing(X_public, labelled), labels)


def _teach(student, X_public, released, labelled):
    """Fit a student on what it can learn from: all rows, soft labels, rates or labels."""
    if accepts_unlabeled(student):
        targets = released.labels
        if released.has_rates:
            targets = sure_labels(released.soft_labels)
        return student.fit(X_public, targets)
    rows = _safe_indexing(X_public, labelled)
    if released.soft_labels is not None and accepts_soft_labels(student):
        return student.fit(rows, released.soft_labels[labelled])
    if released.has_rates and accepts_weights(student):
        return fit_on_rates(student, rows, released.soft_labels[labelled])
    labels = released.labels[labelled]
    weight = None if released.has_rates else released.label_weights(labels)
    if weight is not None:
        return _fit_weighted(student, rows, labels, weight)
    return student.fit(rows, labels)


def students_view(student, X_public, released, seed):
    """Train a student on the labels so far, and return its probabilities for all public rows."""
    fitted = fit_student(student, X_public, released, seed)
    try:
        with seeded(seed_number(seed)):
            proba = fitted.predict_proba(X_public)
        return all_columns(proba, fitted.classes_, n_classes=released.n_classes, fill=0.0)
    except Exception as error:
        raise student_error(
            f"the student's predict_proba failed: {type(error).__name__}: {error}", released
        ) from error


def student_error(problem, released):
    """Return an error that carries the released labels, because they are paid for."""
    return StudentError(
        f"{problem.removesuffix('.')}. The labels released so far are paid for, and this "
        "error's public_labels holds them; fit_student(X_public, student) tries another student "
        "at no cost",
        released.labels.copy(),
        released.spent,
    )


def all_columns(values, codes, *, n_classes, fill):
    """Return one column per class; the student has columns only for the classes it saw, `codes`."""
    if values.shape[1] == n_classes:
        return values
    full = np.full((len(values), n_classes), fill)
    full[:, np.asarray(codes).astype(np.intp)] = values
    return full


def rehearse_student(student, X_public, n_queries, *, n_classes, soft):
    """Try the student on public rows with made-up labels, before anything is spent."""
    with Quiet(), seeded(0):  # any number: nothing of this fit is kept
        try:
            fitted = _fitted_on_made_up_labels(student, X_public, n_queries, n_classes, soft)
            first_rows = np.arange(min(_num_samples(X_public), 50))
            predicted = fitted.predict(_safe_indexing(X_public, first_rows))
            check_predicted(predicted, n_classes=n_classes)
        except Exception as error:
            raise ValueError(
                "the student failed when tried on public rows with made-up labels; nothing was "
                "spent. Its preprocessing (an encoder, an imputer) belongs inside it. "
                f"{type(error).__name__}: {error}"
            ) from error


def check_scored_alone(student, X_public, n_queries, *, n_classes, soft):
    """Try the student on public rows; refuse it if its prediction for one row depends on others."""
    X_public = indexable_rows(X_public, "X_public")
    with Quiet(), seeded(0):
        try:
            fitted = _fitted_on_made_up_labels(student, X_public, n_queries, n_classes, soft)
        except Exception:  # released labels may train it all the same, and rows are scored alone
            return
        check_predicts_alone(fitted, X_public)
        try:
            copier(fitted)()
        except Exception as error:
            raise ValueError(
                "the student cannot be copied, and a private score shows each held-out record "
                "to a fresh copy. Use a student that pickles, or score on public rows, X_val "
                f"and y_val. {type(error).__name__}: {error}"
            ) from error


def _fitted_on_made_up_labels(student, X_public, n_queries, n_classes, soft):
    """Fit the student as if labels had been released for the first public rows."""
    n_rows = n_queries
    labels = np.arange(n_queries) % n_classes
    if accepts_unlabeled(student):
        n_rows = min(_num_samples(X_public), max(1000, n_queries))  # some, to be quick
        labels = np.append(labels, np.full(n_rows - n_queries, -1))
    elif soft and accepts_soft_labels(student):
        labels = np.eye(n_classes)[labels]
    rows = _safe_indexing(X_public, np.arange(n_rows))
    return unfitted_copy(student, 0).fit(rows, labels)


def unfitted_copy(student, number):
    """Return a copy that has seeds of its own and caches nothing on disk."""
    student = own_clone(student, number)
    set_seeds(student, number, only_missing=True)
    without_caches(student)
    return student


def fit_on_rates(student, rows, rates):
    """Fit a student on rows that are of each class in part, by weights."""
    least = np.minimum(_LEAST_RATE, rates.max(axis=0) / 2)  # every class has some rows
    row, code = np.nonzero(rates > least)
    return _fit_weighted(student, _safe_indexing(rows, row), code, rates[row, code])


def _fit_weighted(student, rows, labels, weight):
    """Fit a student with weights of rows."""
    name = "sample_weight"
    if isinstance(student, Pipeline):
        name = f"{student.steps[-1][0]}__sample_weight"
    with config_context(enable_metadata_routing=False):  # with it, pipelines need a request
        return student.fit(rows, labels, **{name: weight})


def sure_labels(rates):
    """Label the rows that are surest of each class, so that labels come in the classes' shares.

    Parameters
    ----------
    rates : ndarray of shape (n_public, n_classes)
        Rows sum to 1.

    Returns
    -------
    ndarray of shape (n_public,), int
        -1 for rows without a label: about half.
    """
    n_wanted = np.ceil(_SURE * rates.sum(axis=0)).astype(int)
    labels = np.full(len(rates), -1)
    for code in np.argsort(n_wanted):  # the rarest class first: it has few rows to choose from
        free = np.flatnonzero(labels < 0)
        surest_first = free[np.argsort(-rates[free, code], kind="stable")]
        labels[surest_first[: n_wanted[code]]] = code
    return labels


def accepts_weights(student):
    """Whether the student takes a weight for each row."""
    return has_fit_parameter(_last_step(student), "sample_weight")


def accepts_unlabeled(student):
    """Whether the student also learns from unlabelled rows, which are marked -1."""
    last = _last_step(student)
    return isinstance(last, _LEARN_FROM_UNLABELED) or getattr(last, "accepts_unlabeled", False)


def accepts_soft_labels(student):
    """Whether the student learns from distributions over classes."""
    return getattr(_last_step(student), "accepts_soft_labels", False)


def _last_step(student):
    """Return the classifier at the end of a Pipeline, or the student itself."""
    return student.steps[-1][1] if isinstance(student, Pipeline) else student
