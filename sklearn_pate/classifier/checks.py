"""What `fit` is given, checked: messages never quote private values."""

import contextlib
import warnings

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from .._sklearn import _num_samples, _safe_indexing
from ..aggregators import Released
from ..exceptions import PrivacyLeakWarning
from ..isolation import Quiet, kind_of
from ..partition import RandomPartition
from ..rdp.checks import as_array, check_log_proba
from ..rdp.facts import has_distribution
from ..schema import difference

__all__ = [
    "check_classes",
    "check_dtypes",
    "check_forms",
    "check_mechanism",
    "check_predicted",
    "check_private",
    "check_released",
    "check_rows_alone",
    "indexable_rows",
    "warn_if_delta_is_large",
]


def check_private(X, y, classes, sample_weight):
    """Return labels as codes, the sorted classes, and the weights."""
    y = _one_label_each(y)
    if classes is None:
        warnings.warn(
            "classes_ is read from the private labels, which the privacy guarantee does not "
            "cover; pass classes=[...], all labels that may occur",
            PrivacyLeakWarning,
            stacklevel=5,  # the caller of fit, past scikit-learn's wrapper
        )
    with Quiet():  # what libraries warn of from here on, they found in private values
        return _check_values(X, y, classes, sample_weight)


def _check_values(X, y, classes, sample_weight):
    codes, classes = _encode(y, classes)
    if _num_samples(X) != len(codes):
        raise ValueError(
            "X and y have inconsistent numbers of samples: "
            f"{_num_samples(X)} records and {len(codes)} labels"
        )
    if sample_weight is not None:
        given = as_array("sample_weight", sample_weight)
        numbers = given.dtype.kind in "iufb" and np.isfinite(given).all()
        if not numbers or given.shape != codes.shape:
            raise ValueError(
                f"sample_weight must be {len(codes)} finite numbers, one per record of X; "
                f"got shape {given.shape} and {kind_of(given.dtype)}"
            )
        sample_weight = given.astype(float)
    return codes, classes, sample_weight


def check_mechanism(aggregator, *, n_teachers, n_classes):
    """Try a mechanism on made-up votes: what fails now would fail when votes are paid for."""
    second = n_teachers // 2
    votes = np.zeros((2, n_classes), dtype=np.int64)
    votes[0, 0] = n_teachers
    votes[1, :2] = n_teachers - second, second
    proba = np.full(votes.shape, 1 / n_classes) if aggregator.uses_student_proba else None
    rng = np.random.default_rng(0)
    try:
        if has_distribution(aggregator):
            check_log_proba(aggregator.outcome_log_proba(votes, proba), n_classes=n_classes)
        check_released(aggregator, aggregator.release(votes, proba, rng), votes.shape)
    except Exception as error:
        raise ValueError(
            f"{type(aggregator).__name__} failed when tried on made-up votes of {n_teachers} "
            f"teachers for {n_classes} classes, before any teacher was trained; nothing was spent. "
            f"{type(error).__name__}: {error}"
        ) from error


def check_released(aggregator, released, shape):
    """Return what a mechanism released, as arrays: codes, bools and distributions."""
    n_queries, n_classes = shape
    labels, paid, soft = released
    if soft is not None:
        soft = _check_soft(aggregator, soft, shape)
    labels = np.asarray(labels)
    paid = np.asarray(paid)
    whole = labels.dtype.kind in "iu" and labels.ndim == 1 and len(labels) <= n_queries
    if not whole or (labels < -1).any() or (labels >= n_classes).any():
        raise ValueError(
            f"{type(aggregator).__name__} must draw one whole number for each of {n_queries} "
            f"queries, from 0 to {n_classes - 1} or -1 for no answer; got shape {labels.shape} of "
            f"{kind_of(labels.dtype)}, or other numbers"
        )
    if paid.shape != labels.shape or paid.dtype != bool:
        raise ValueError(
            f"draw of {type(aggregator).__name__} must return a bool for each label: whether it "
            f"was paid for in full; got shape {paid.shape} of {kind_of(paid.dtype)}"
        )
    return Released(labels, paid, soft)


def _check_soft(aggregator, soft, shape):
    """Return drawn soft labels, whose rows must be distributions."""
    soft = np.asarray(soft)
    if soft.shape != shape or soft.dtype.kind != "f" or not np.allclose(soft.sum(axis=1), 1):
        raise ValueError(
            f"soft_labels of {type(aggregator).__name__} must return rows that sum to 1, of shape "
            f"{shape}; got shape {soft.shape} of {kind_of(soft.dtype)}"
        )
    return soft


def check_predicted(codes, *, n_classes):
    """Return what a student predicted, which must be codes of classes."""
    codes = np.asarray(codes)
    whole = codes.dtype.kind in "iufb" and codes.ndim == 1
    if not whole or not np.isin(codes, np.arange(n_classes)).all():
        raise ValueError(
            f"predict of the student must return codes of classes, whole numbers from 0 to "
            f"{n_classes - 1} as it was fitted on; got {kind_of(codes.dtype)} of shape "
            f"{codes.shape}, or other numbers (-1 is no class, but a row without a label)"
        )
    return codes.astype(np.intp)


def indexable_rows(X, name):
    """Return `X` in a form whose rows can be selected, otherwise untouched."""
    if sparse.issparse(X):
        return X.tocsr()
    return X if hasattr(X, "shape") else as_array(name, X)


def check_rows_alone(student, X_public):
    """Refuse a fitted student whose prediction for a row depends on the rows beside it."""
    rows = np.unique(np.linspace(0, _num_samples(X_public) - 1, 50).astype(int))
    labels, scores = _predicted(student, _safe_indexing(X_public, rows))
    differ = []
    for k, row in enumerate(rows):
        label, score = _predicted(student, _safe_indexing(X_public, [row]))
        same_score = np.allclose(score[0], scores[k], rtol=1e-3, atol=1e-4, equal_nan=True)
        same_label = label[0] == labels[k] or _is_tie(scores[k])  # in a tie, rounding decides
        differ.append(not (same_score and same_label))
    if any(differ):
        raise ValueError(
            f"the student's prediction for a row depends on the rows beside it: {sum(differ)} of "
            f"{len(rows)} public rows are predicted differently when given alone. Private scores "
            "predict held-out records one at a time. Use a student that treats each row by itself "
            "(no statistics of the rows given to predict), or score on public rows, X_val and "
            "y_val. Nothing was spent"
        )


def _predicted(student, rows):
    """Labels of rows, and probabilities or decision values if there are any, else no columns."""
    labels = np.asarray(student.predict(rows))
    for method in ("predict_proba", "decision_function"):
        if hasattr(student, method):
            return labels, np.asarray(getattr(student, method)(rows), dtype=float)
    return labels, np.empty((len(labels), 0))


def _is_tie(scores):
    """Whether rounding can decide between the first two classes."""
    if scores.ndim == 0:
        return abs(scores) < 1e-4
    first_two = np.sort(scores)[-2:]
    return len(first_two) == 2 and first_two[1] - first_two[0] < 1e-4


def check_forms(X, X_public):
    """Types of columns can only be compared if both have them."""
    if hasattr(X, "dtypes") != hasattr(X_public, "dtypes"):
        raise ValueError(
            f"X is a {type(X).__name__} and X_public a {type(X_public).__name__}. All teachers see "
            "the types of columns, so they must be public: give both as DataFrames, or neither"
        )


def check_dtypes(X, X_public):
    """Every teacher sees the types of all rows, which one private record can change."""
    check_forms(X, X_public)
    found = difference(X, X_public)
    if found is None:
        return
    if found.of == "unknown":
        raise ValueError(
            "X and X_public must be arrays, which have a dtype, or DataFrames, which have dtypes "
            "for their columns: all teachers see the types of columns, so they must be public, "
            "and of these data they cannot be compared. Convert both, for instance with to_pandas()"
        )
    if found.of == "columns":
        raise ValueError(
            "X has other columns than X_public, or levels or a name of columns that X_public has "
            "not. All teachers see them, so they must be public: set X.columns = X_public.columns"
        )
    if found.of == "dtype":
        raise ValueError(
            f"X has another dtype than X_public, which has {X_public.dtype}. All teachers see "
            "it, so it must be public, not what the private records happen to need: fix it in "
            "advance, for instance X.astype(X_public.dtype); text as dtype object in both"
        )
    if found.of == "codes":
        raise ValueError(
            f"columns {found.columns} of X hold dictionaries of Arrow or Categorical of polars, "
            "whose codes are given out as values appear: one private record can change those of "
            "all others, and all teachers see them. Fix categories in advance: "
            "pandas.CategoricalDtype([...]) or polars.Enum([...]), the same in X and X_public, or "
            "give text"
        )
    raise ValueError(
        f"columns {found.columns} of X and X_public have different dtypes or categories. All "
        "teachers see them, so they must be public, not what the private records happen to hold: "
        "fix them in advance, for instance X.astype(object).astype(X_public.dtypes)"
    )


def check_classes(labels, name="classes"):
    """Return the sorted classes."""
    labels = as_array(name, labels)
    if labels.ndim != 1 or pd.isna(labels).any():
        raise ValueError(f"{name} must be a list of labels, none of them missing")
    classes = None
    # Errors are raised outside of `except`, or they would keep the one that was caught
    with contextlib.suppress(Exception):  # its text may quote labels
        classes = np.unique(labels)
    if classes is None:
        raise ValueError(f"{name} must hold labels of one type, which can be sorted")
    if len(classes) < 2:
        raise ValueError(
            f"a classifier needs labels of at least 2 classes; {name} has {len(classes)} class"
        )
    return classes


def warn_if_delta_is_large(delta, adjacency, *, n_records, n_teachers, stacklevel=5):
    """Warn of a delta that pays for a whole record's release; from public numbers alone."""
    public = n_records is not None and adjacency == RandomPartition.adjacency
    number, of = (n_records, "records") if public else (n_teachers, "teachers")
    if delta * number >= 1:
        warnings.warn(
            f"delta={delta:g} is not below one over the number of {of}, {number}: publishing one "
            "of them at random would be as private. Choose delta well below that",
            stacklevel=stacklevel,
        )


def _encode(y, classes):
    """Labels as codes into the sorted classes."""
    _check_labels(y)
    classes = check_classes(y, "y") if classes is None else check_classes(classes)
    known = False
    with contextlib.suppress(Exception):  # for instance text among numbers
        codes = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
        known = bool(np.all(classes[codes] == y))
    if not known:
        raise ValueError(
            "y has labels that are not in classes; classes must list all labels that may occur, "
            "in the type that y has"
        )
    return codes.astype(np.int64), classes


def _one_label_each(y):
    """Return labels as an array; scikit-learn warns of a column, by its shape."""
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None")
    if sparse.issparse(y):
        raise ValueError("y must be a 1-D array of labels; got a sparse matrix (multilabel?)")
    shape = as_array("y", y).shape
    if len(shape) > 1 and shape[1] != 1:
        raise ValueError(
            "y must be a 1-D array with one label per record, as multilabel and multi-output "
            f"targets are not supported; got shape {shape}"
        )
    if np.asarray(y).dtype.kind == "c":  # scikit-learn's message quotes them all
        raise ValueError("Complex data not supported: y must hold text, integers or booleans")
    return column_or_1d(y, warn=True)


def _check_labels(y):
    if pd.isna(y).any() or (y.dtype.kind == "f" and np.isinf(y).any()):
        raise ValueError("Input y contains NaN or infinity; every private record needs a label")
    if y.dtype.kind == "S":
        raise TypeError("y holds bytes: labels that are bytes are not supported; decode them")
    problem = None
    try:
        check_classification_targets(y)
    except Exception as error:
        problem = type(error), str(error)
    if problem is not None:
        kind, text = problem
        said = next((known for known in _TOLD_OF_LABELS if known in text), "no labels of classes")
        raise (TypeError if issubclass(kind, TypeError) else ValueError)(
            f"y holds {kind_of(y.dtype)}: {said}. y must hold text, integers or booleans"
        )


#: What scikit-learn's text about labels may be told to contain; the rest may quote them.
_TOLD_OF_LABELS = tuple(
    f"Unknown label type: {kind}"
    for kind in ("continuous-multioutput", "continuous", "multiclass-multioutput", "unknown")
)
