"""Holding out private rows, so that trials can be scored on what their teachers never saw."""

from typing import NamedTuple

import numpy as np

from .._sklearn import _safe_indexing
from ..identifiers import keyed_digests, spelled_identifiers
from ..isolation import Quiet
from ..partition import assign_teachers

#: Most units that a private score looks at: enough for one point of accuracy, and each takes time.
MOST_SCORED = 1000


class HeldOut(NamedTuple):
    """Private rows in two parts: each record, or group, is in one of them.

    Attributes
    ----------
    train : ndarray of int
        Rows to train on.
    units : list of ndarray of int
        The rows of each unit that is scored, at most `MOST_SCORED`.
    """

    train: np.ndarray
    units: list


def hold_out(X, groups, *, n_records, partition, unit, fraction, seeds):
    """Hold out a part of the private rows.

    Groups are dealt by a keyed hash, under which all names are alike. So the guarantee lets a group
    that replaces another of a different name take that one's place.

    Parameters
    ----------
    X : array-like with n_records rows
        Private rows.
    groups : array-like of shape (n_records,) or None
        Identifiers of groups.
    n_records : int
        Number of private rows.
    partition : str
        How the rows are dealt to teachers.
    unit : str
        What the guarantee protects, as in `PATEClassifier`.
    fraction : float
        Part of the private data to hold out.
    seeds : list of numpy.random.SeedSequence
        Source of the split, and of the choice of the units that are scored.

    Returns
    -------
    HeldOut
        The two parts.

    Raises
    ------
    ValueError
        If `fraction` is less than one of the records, which are dealt at random. Groups and hashed
        records may leave a part empty: their number is private, and no error says so.
    """
    split_seed, choice_seed = seeds
    n_parts = round(1 / fraction)
    units = _identifiers(X, groups, partition)
    if partition == "random" and groups is None and n_parts > n_records:  # their number is public
        raise ValueError(
            f"validation_fraction={fraction:g} is less than one of the "
            f"{n_records} private records; hold out more"
        )
    with Quiet():  # what libraries warn of may quote identifiers
        part = assign_teachers(
            partition if groups is None else "hash",  # whole groups, in any partition
            n_records=n_records,
            n_teachers=n_parts,
            unit=unit,
            index=getattr(X, "index", None),
            groups=groups,
            seed=split_seed,
        ).teacher_indices
    held = np.flatnonzero(part == 0)
    if units is None:
        shuffled = np.random.default_rng(choice_seed).permutation(held)
        scored = list(shuffled[:MOST_SCORED, None])  # units of one row
    else:
        # By a keyed hash of their names, adding or removing a unit moves at most one other out of
        # the choice or into it, in its place. Each counts between 0 and 1, so the score changes by
        # at most 1
        distinct, unit = np.unique(units[held], return_inverse=True)
        chosen = np.argsort(keyed_digests(distinct, choice_seed), kind="stable")[:MOST_SCORED]
        scored = [held[unit == k] for k in chosen]
    return HeldOut(np.flatnonzero(part > 0), scored)


def hold_out_by_coins(fraction, rng, *, n_records):
    """Hold out a part of the private rows, each by a coin of its own; their number is private.

    Coins are independent of each other and of the data. So the guarantee takes each for its
    record's own, which it keeps where another record joins: that one changes one part alone.

    Parameters
    ----------
    fraction : float
        Probability that a row is held out.
    rng : numpy.random.Generator
        Draws the coin of each row and, for the choice of those that are scored, its place.
    n_records : int
        Number of private rows.

    Returns
    -------
    HeldOut
        The two parts. Either may be empty, with a probability that falls with every record, and
        no error may say so.
    """
    coin, place = rng.random((n_records, 2)).T
    held = np.flatnonzero(coin < fraction)
    scored = held[np.argsort(place[held])][:MOST_SCORED]
    return HeldOut(np.flatnonzero(coin >= fraction), list(scored[:, None]))


def _identifiers(X, groups, partition):
    """Return the identifier of each row's unit, or None if each row is a unit of its own."""
    if groups is not None:
        return spelled_identifiers(groups, "groups")
    if partition == "hash" and hasattr(X, "index"):
        return spelled_identifiers(X.index, "the index of X")
    return None


def take(array, rows):
    """Return some rows of an array; None for None."""
    return None if array is None else _safe_indexing(array, rows)
