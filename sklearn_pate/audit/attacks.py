"""Attacks: what a fitted estimator tells about the labels of its canaries."""

import numpy as np


def collect_evidence(fitted, canaries, attack, n_copies):
    """Return a number for each canary, above 0 where the evidence is for its first label.

    Parameters
    ----------
    fitted : estimator
        As fitted on the private data with the canaries.
    canaries : Canaries
        Those in its data; their bits are not known here.
    attack : {"labels", "rates", "student"} or callable
        As in `audit_estimator`.
    n_copies : int
        Copies of each canary at the end of the public rows.

    Returns
    -------
    ndarray of shape (n_canaries,)
    """
    if callable(attack):
        return _by_function(fitted, attack, len(canaries.positions))
    first, second = np.asarray(canaries.labels).T
    if attack == "labels":
        return _by_labels(fitted, first, second, n_copies)
    if attack == "rates":
        return _by_rates(fitted, first, second, n_copies)
    return _by_student(fitted, canaries.X, first, second)


def _by_function(fitted, attack, n_canaries):
    evidence = np.asarray(attack(fitted), dtype=float)
    if evidence.shape != (n_canaries,) or np.isnan(evidence).any():
        raise ValueError(
            f"attack must return {n_canaries} numbers, none NaN; got shape {evidence.shape}"
        )
    return evidence


def _by_labels(fitted, first, second, n_copies):
    """Read the released labels of the copies."""
    n_rows = n_copies * len(first)
    codes = np.asarray(fitted.public_labels_)[-n_rows:].reshape(n_copies, len(first))
    labels = np.asarray(fitted.classes_)[codes]
    evidence = np.where(codes >= 0, _which_label(labels, first, second), 0.0)
    return evidence.mean(axis=0)


def _by_rates(fitted, first, second, n_copies):
    """Read the released rates of the copies."""
    rates = np.asarray(fitted.public_soft_labels_)[-n_copies * len(first) :]
    rates = rates.reshape(n_copies, len(first), -1).mean(axis=0)
    return _above_mean(_proba_of(fitted, rates, first) - _proba_of(fitted, rates, second))


def _by_student(fitted, X, first, second):
    """Ask the estimator for its predictions."""
    if hasattr(fitted, "predict_proba"):
        proba = fitted.predict_proba(X)
        evidence = _proba_of(fitted, proba, first) - _proba_of(fitted, proba, second)
    else:
        evidence = _which_label(np.asarray(fitted.predict(X)), first, second)
    return _above_mean(evidence)


def _above_mean(evidence):
    """Take off what is found whatever the bits of a run: right labels are more likely."""
    return evidence - evidence.mean() if len(evidence) > 1 else evidence


def _which_label(labels, first, second):
    """Return 1 where a label is the first of its canary, -1 where it is the second, else 0."""
    return (labels == first).astype(float) - (labels == second)


def _proba_of(fitted, proba, labels):
    """Return the probability of one label in each row."""
    is_label = np.asarray(fitted.classes_) == labels[:, None]
    return np.where(is_label, proba, 0).sum(axis=1)
