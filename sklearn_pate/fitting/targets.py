"""Checks of labels, numbers and weights of the private records. No message quotes one."""

import contextlib

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from .._sklearn import _num_samples
from ..exceptions import PrivacyLeakWarning, warn
from ..isolation import Quiet, kind_of
from ..levels import levels_of, positions
from ..rdp.checks import as_array

#: What of scikit-learn's messages about labels is passed on. The rest may quote labels.
_SAFE_REASONS = tuple(
    f"Unknown label type: {kind}"
    for kind in ("continuous-multioutput", "continuous", "multiclass-multioutput", "unknown")
)

#: So many classes are named in a message.
_N_LISTED = 5


def declared_classes(estimator):
    """Return what a ballot may be for, as declared: levels of numbers, or classes; else None."""
    if estimator.predicts_numbers:
        return levels_of(estimator.bounds, estimator.n_levels)
    return estimator.classes


def checked_targets(estimator, X, y, sample_weight=None):
    """Return what `y` says as codes or positions, the classes or levels, and the weights."""
    declared = declared_classes(estimator)
    y = _one_each(y, "number" if estimator.predicts_numbers else "label")
    if declared is None:
        warn(
            "classes_ is read from the private labels, which the privacy guarantee does not "
            "cover; pass classes=[...], all labels that may occur",
            PrivacyLeakWarning,
        )
    with Quiet():  # from here on, libraries warn of private values
        if estimator.predicts_numbers:
            codes, classes = positions(_finite(y, declared), declared), declared
        else:
            codes, classes = _encode(y, declared)
        return codes, classes, _checked_weight(X, codes, sample_weight)


def _one_each(y, what):
    """Return `y` as a 1-D array; scikit-learn warns of a column, which shows only its shape."""
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None")
    if sparse.issparse(y):
        raise ValueError(f"y must be a 1-D array of {what}s; got a sparse matrix")
    array = as_array("y", y)
    if array.ndim > 1 and array.shape[1] != 1:
        raise ValueError(
            f"y must be a 1-D array with one {what} per record: multilabel and multi-output "
            f"targets are not supported; got shape {array.shape}. sklearn's MultiOutputRegressor "
            "fits one for each column, each with its own epsilon: give it a ledger, which adds up"
        )
    if array.dtype.kind == "c":  # scikit-learn's message quotes them all
        raise ValueError(f"Complex data not supported: y must hold text or numbers as {what}s")
    return column_or_1d(y, warn=True)


def _checked_weight(X, codes, sample_weight):
    """Return weights as floats, or None; refuse other numbers of them, or of codes, than of X."""
    if _num_samples(X) != len(codes):
        raise ValueError(
            "X and y have inconsistent numbers of samples: "
            f"{_num_samples(X)} records and {len(codes)} labels"
        )
    if sample_weight is None:
        return None
    given = as_array("sample_weight", sample_weight)
    fits = given.dtype.kind in "iufb" and given.shape == codes.shape
    if not (fits and np.isfinite(given).all()):
        raise ValueError(
            f"sample_weight must be {len(codes)} finite numbers, one per record of X; got "
            f"{kind_of(given.dtype)} of shape {given.shape}{', not all finite' * fits}"
        )
    return given.astype(float)


def check_classes(labels, name="classes"):
    """Return labels sorted and without repetition, at least two of them."""
    labels = as_array(name, labels)
    if labels.ndim != 1 or pd.isna(labels).any():
        raise ValueError(f"{name} must be a list of labels, none of them missing")
    classes = None
    # The error's text may quote labels. Ours is raised after the block: within `except` it would
    # keep the other one as its context.
    with contextlib.suppress(Exception):
        classes = np.unique(labels)
    if classes is None:
        raise ValueError(f"{name} must hold labels of one type, which can be sorted")
    if len(classes) < 2:
        raise ValueError(
            f"a classifier needs labels of at least 2 classes; {name} has {len(classes)} class"
        )
    if name == "classes" and len(classes) < len(labels):
        raise ValueError(
            f"classes must list each label once; got {len(labels)} labels, {len(classes)} of them "
            "different"
        )
    return classes


def _encode(y, classes):
    """Return labels as indices into the sorted classes, and these."""
    _check_labels(y)
    if classes is None:
        classes = check_classes(y, "y")
        return np.searchsorted(classes, y).astype(np.int64), classes
    classes = check_classes(classes)
    known = False
    with contextlib.suppress(Exception):  # text and numbers, for instance, cannot be compared
        codes = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
        known = bool(np.all(classes[codes] == y))
    if not known:
        raise ValueError(
            f"y has labels that are not in classes, which are {_listed(classes)}; classes must "
            f"list all labels that may occur, in the type that y has{_other_kind(y, classes)}"
        )
    return codes.astype(np.int64), classes


def _other_kind(y, classes):
    """Say what to do where `classes` are of another kind than the labels; no label is told."""
    kinds = [_kind_of_labels(labels) for labels in (classes, y)]
    if kinds[0] == kinds[1]:
        return ""
    said = f". classes are {kinds[0]}, y holds {kinds[1]}"
    if kinds == ["integers", "text"]:
        return f"{said}: classes={_listed(classes.astype(str))}, or other text as y has it"
    if kinds != ["text", "integers"]:
        return said
    if all(str(label).lstrip("-").isdecimal() for label in classes):
        return f"{said}: classes={_listed(np.unique(classes.astype(int)))} or y.astype(str)"
    return (
        f"{said}. If these are places in your list: y = numpy.asarray(classes)[y]. Stacking and "
        f"VotingClassifier number the sorted labels: within them, classes=range({len(classes)})"
    )


def _listed(classes):
    """Write the first of the classes as a list."""
    more = ", ..." if len(classes) > _N_LISTED else ""
    return f"{str(classes[:_N_LISTED].tolist())[:-1]}{more}]"


def _kind_of_labels(labels):
    """Name the kind of labels; text is text where it is kept as objects."""
    if labels.dtype.kind == "O" and pd.api.types.infer_dtype(labels) == "string":
        return "text"
    return kind_of(labels.dtype)


def _check_labels(y):
    """Refuse labels that are missing or are not labels of classes."""
    if pd.isna(y).any() or (y.dtype.kind == "f" and np.isinf(y).any()):
        raise ValueError("Input y contains NaN or infinity; every private record needs a label")
    if y.dtype.kind == "S":
        raise TypeError("y holds bytes: labels that are bytes are not supported; decode them")
    problem = None
    try:
        check_classification_targets(y)
    except Exception as error:
        text = str(error)
        problem = next((safe for safe in _SAFE_REASONS if safe in text), "no labels of classes")
    if problem is not None:
        raise ValueError(
            f"y holds {kind_of(y.dtype)}: {problem}. y must hold text, integers or booleans"
        )


def _finite(y, levels):
    """Return numbers as floats, cut to the levels; refuse missing, infinite or only far ones."""
    if y.dtype.kind not in "iufbO":
        raise ValueError(f"y must hold numbers; got {kind_of(y.dtype)}")
    is_finite = numbers = are_outside = None
    # As the error's text may quote them, ours is raised after the block
    with contextlib.suppress(Exception):
        is_finite = not (pd.isna(y) | (np.abs(y) == np.inf)).any()
        are_outside = ((y < levels[0]) | (y > levels[-1])).all()
        numbers = np.clip(y, levels[0], levels[-1]).astype(float)  # some are too large for a float
    if is_finite is False:
        raise ValueError("Input y contains NaN or infinity; every private record needs a number")
    if numbers is None:
        raise ValueError("y must hold numbers; some are of another type")
    if len(numbers) and are_outside:
        raise ValueError(
            f"all of y lies outside of bounds=({levels[0]:g}, {levels[-1]:g}): give bounds in the "
            "unit of y. If y is transformed, as in a TransformedTargetRegressor, in the new unit"
        )
    return numbers
