"""Runs the aggregators: on made-up votes first, then on votes, and checks what they draw."""

import numpy as np

from ..aggregators import Released
from ..isolation import Quiet, attempt, kind_of
from ..rdp.checks import check_log_proba
from ..rdp.facts import has_distribution
from ..secure import noise_generator


def is_ours(part):
    """Whether an object's class is of this library, whose messages quote no private values."""
    return type(part).__module__.partition(".")[0] == __package__.partition(".")[0]


def rehearse_mechanism(aggregator, *, n_teachers, n_classes):
    """Try a mechanism on made-up votes: what fails now would fail after the votes are paid for."""
    votes = np.zeros((2, n_classes), dtype=np.int64)
    votes[0, 0] = n_teachers  # all agree
    votes[1, 1] = n_teachers // 2  # two classes share the votes
    votes[1, 0] = n_teachers - votes[1, 1]
    proba = np.full(votes.shape, 1 / n_classes) if aggregator.uses_student_proba else None
    try:
        if has_distribution(aggregator):
            check_log_proba(aggregator.outcome_log_proba(votes, proba), n_classes=n_classes)
        _checked_release(aggregator, votes, proba, noise_generator(0))
    except Exception as error:
        raise ValueError(
            f"{type(aggregator).__name__} failed when tried on made-up votes of {n_teachers} "
            f"teachers for {n_classes} classes, before any teacher was trained. "
            f"{type(error).__name__}: {error}"
        ) from error


def draw(aggregator, votes, proba, noise):
    """Let a mechanism draw labels from private votes; return a checked `aggregators.Released`."""
    with Quiet():  # a mechanism of the user's may warn of votes, or print them
        released, failed = attempt(lambda: _checked_release(aggregator, votes, proba, noise))
    if failed is not None:
        raise ValueError(
            f"{type(aggregator).__name__} could not draw labels: {failed}, whose text is "
            "withheld, as it may quote votes. What the plan costs is spent. Try the mechanism "
            "on made-up votes"
        )
    return released


def _checked_release(aggregator, votes, proba, noise):
    """Return what an aggregator releases, with labels, bools and soft labels checked."""
    released = aggregator.release(votes, proba, noise)
    labels, paid = _check_labels_and_paid(aggregator, released.labels, released.paid, votes.shape)
    soft_labels = released.soft_labels
    if soft_labels is not None:
        soft_labels = _check_soft_labels(aggregator, soft_labels, votes.shape)
    return Released(labels, paid, soft_labels)


def _check_labels_and_paid(aggregator, labels, paid, shape):
    """Return drawn labels, which must be codes, and which of them were paid for."""
    n_queries, n_classes = shape
    labels = np.asarray(labels)
    paid = np.asarray(paid)
    # Fewer than were asked for, if the mechanism stopped: its Released says so
    are_whole = labels.dtype.kind in "iu" and labels.ndim == 1 and len(labels) <= n_queries
    if not are_whole or (labels < -1).any() or (labels >= n_classes).any():
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
    return labels, paid


def _check_soft_labels(aggregator, soft_labels, shape):
    """Return drawn soft labels, whose rows must be distributions."""
    if has_distribution(aggregator):
        raise ValueError(
            f"{type(aggregator).__name__} must release labels alone: its cost is that of "
            "outcome_log_proba, whose outcomes are classes. For soft labels subclass SoftAggregator"
        )
    soft = np.asarray(soft_labels)
    if soft.shape != shape or soft.dtype.kind != "f" or not np.allclose(soft.sum(axis=1), 1):
        raise ValueError(
            f"soft_labels of {type(aggregator).__name__} must return rows that sum to 1, of shape "
            f"{shape}; got shape {soft.shape} of {kind_of(soft.dtype)}"
        )
    return soft
