"""The table of ballots: what records cast in the cells, in whole shares of a ballot."""

import numpy as np

from ..identifiers import spelled_identifiers
from ..levels import split
from ..rdp.table import GRID

_SHARES = round(1 / GRID)


def count_ballots(cells, codes, *, n_cells, n_classes, sample_weight=None, groups=None):
    """Count the ballots of records in a table.

    Parameters
    ----------
    cells : ndarray of shape (n_samples, n_neighbors), int
        The cells of each record; -1 for a record that casts no ballot.
    codes : ndarray of shape (n_samples,)
        Classes of the records, or positions along levels, between which ballots are split.
    n_cells, n_classes : int
        Shape of the table.
    sample_weight : ndarray of shape (n_samples,) or None
        What a ballot of each record counts, clipped to [0, 1].
    groups : ndarray of shape (n_samples,), int, or None
        The group of each record, numbered from 0. A group casts the mean of its records' ballots.

    Returns
    -------
    ndarray of shape (n_cells, n_classes), int
        In whole shares, `rdp.table.GRID` of a ballot each, rounded down for each record, and each
        group. So the order in which they are added makes no difference.
    """
    weight = np.ones(len(codes)) if sample_weight is None else np.clip(sample_weight, 0, 1)
    shares = np.floor(weight * _SHARES).astype(np.int64)
    classes, shares = split(codes, shares)
    entry = (cells * n_classes)[:, :, None] + classes[:, None, :]
    casts = np.broadcast_to((cells >= 0)[:, :, None], entry.shape)
    shares = np.broadcast_to(shares[:, None, :], entry.shape)[casts]
    entry = entry[casts]
    if groups is not None:
        group = np.broadcast_to(groups[:, None, None], casts.shape)[casts]
        group, entry, shares = _by_group(group, entry, shares, n_cells * n_classes)
        shares = shares // np.bincount(groups)[group]
    table = np.zeros(n_cells * n_classes, dtype=np.int64)
    np.add.at(table, entry, shares)
    return table.reshape(n_cells, n_classes)


def _by_group(group, entry, shares, n_entries):
    """Sum the shares of each group in each entry."""
    pairs, number = np.unique(group * n_entries + entry, return_inverse=True)
    total = np.zeros(len(pairs), dtype=np.int64)
    np.add.at(total, number, shares)
    return pairs // n_entries, pairs % n_entries, total


def numbered(groups, n_records):
    """Return the number of each record's group, from 0; None if there are no groups."""
    if groups is None:
        return None
    # By their spelling, one for each identifier whatever its type and that of others
    _, numbers = np.unique(spelled_identifiers(groups, "groups"), return_inverse=True)
    if len(numbers) != n_records:
        raise ValueError(
            f"groups must have one identifier for each of {n_records} records; got {len(numbers)}"
        )
    return numbers
