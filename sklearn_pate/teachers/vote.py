"""The votes of one teacher: codes of labels, or shares of probability."""

import numpy as np

from ..isolation import TellableError

#: Probabilities are whole multiples of one over this number: sums of whole numbers do not depend on
#: the order in which teachers finish.
SHARES = 2**20


def constant_votes(i, codes, n_queries, settings):
    """Return the votes of teacher `i` if it has one class or no record; None if it has more."""
    n_classes = settings.n_classes
    present = np.unique(codes)
    if present.size > 1:
        return None
    # Without records the label follows from the position alone, which is public
    label = present[0] if present.size else i % n_classes
    if settings.temperature is None:
        return _compact(np.full(n_queries, label), n_classes)
    certain = np.ones((n_queries, 1))
    return probability_shares(certain, [label], n_classes=n_classes, temperature=1)


def label_votes(predicted, *, n_queries, n_classes):
    """Return predicted labels as codes; refuse what is not a code, without quoting it."""
    predicted = np.asarray(predicted)
    if predicted.shape != (n_queries,):
        raise TellableError("predict must return one label per row, a 1-D array")
    is_number = predicted.dtype.kind in "iufb"
    codes = predicted.astype(np.int64) if is_number else np.full(n_queries, -1)
    # Unequal: fractions and NaN, which the cast would hide
    if not np.array_equal(codes, predicted) or ((codes < 0) | (codes >= n_classes)).any():
        raise TellableError("predict returned labels that are not among the codes it was fitted on")
    return _compact(codes, n_classes)


def probability_shares(proba, classes, *, n_classes, temperature):
    """Return probabilities as whole shares, in a column for each class; rows sum to 1 at most."""
    proba = np.asarray(proba, dtype=float)
    if proba.ndim != 2 or proba.shape[1] != len(classes) or not (proba >= 0).all():
        raise TellableError(
            "predict_proba must return a column of probabilities for each class seen"
        )
    tempered = proba ** (1 / temperature)
    sums = tempered.sum(axis=1, keepdims=True)
    if not (np.isfinite(sums) & (sums > 0)).all():
        raise TellableError("predict_proba returned rows that are not probabilities")
    shares = np.zeros((len(proba), n_classes), dtype=np.int64)
    columns = np.asarray(classes).astype(np.intp)
    # Rounded down, and one share less: rounding must not take a row's sum above 1
    shares[:, columns] = np.floor(tempered / sums * (SHARES - 1))
    return shares


def _compact(codes, n_classes):
    """Return codes in the smallest integer type: they wait in memory until they are counted."""
    return codes.astype(np.min_scalar_type(n_classes - 1))
