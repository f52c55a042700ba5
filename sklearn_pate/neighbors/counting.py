"""Private part of cells: votes of records, in ticks.

A record adds its weight, at most 1, to the count of its class in each of its nearest cells. The
votes of a group are the mean of the votes of its records.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..encoding.custom import transformed_private
from ..encoding.vectorizer import RowVectorizer
from ..identifiers import normalize_groups
from ..rdp.discrete import TICKS
from .centers import nearest_cells

if TYPE_CHECKING:
    from .._typing import Estimator
    from ..encoding.targets import Target
    from ..runtime.blocks import Block


def count_block_in_cells(
    block: Block,
    *,
    transformer: Estimator,
    centers: np.ndarray,
    n_neighbors: int,
    largest: np.ndarray | None,
    rounding: float,
    target: Target,
) -> np.ndarray:
    """Count the votes of a `Block` of records in a table.

    All arguments other than the block are public.

    Parameters
    ----------
    block : Block
        The records.
    transformer : transformer
        Transformer that was fitted on public rows.
    centers : ndarray of shape (n_cells, n_columns)
        Centers of the cells.
    n_neighbors : int
        Number of cells that each record votes in.
    largest : ndarray of shape (n_features,) or None
        Largest absolute values of public rows, from `largest_sizes`; None for `RowVectorizer`.
    rounding : float
        As in `nearest_cells`.
    target : targets.Target
        The values that records vote for.

    Returns
    -------
    ndarray of shape (n_cells, n_classes), int
        As from `count_votes`.
    """
    n_cells, n_columns = centers.shape
    numbers_of = partial(transformed_private, transformer, block.X, n_columns, largest=largest)
    is_same_alone = type(transformer) is RowVectorizer and transformer.rounds_alone
    alone = None if is_same_alone else numbers_of
    cells = nearest_cells(numbers_of(), centers, n_neighbors, rounding=rounding, alone=alone)
    given: Any
    _, *given = block
    return count_votes(cells, *given, n_cells=n_cells, target=target)


def count_votes(
    cells: np.ndarray,
    codes: np.ndarray,
    sample_weight: np.ndarray | None = None,
    groups: np.ndarray | None = None,
    *,
    n_cells: int,
    target: Target,
) -> np.ndarray:
    """Count the votes of records in a table.

    Parameters
    ----------
    cells : ndarray of shape (n_samples, n_neighbors), int
        The cells of each record; -1 for a record that does not vote.
    codes : ndarray of shape (n_samples,)
        Labels or numbers of the records as codes, from ``target.encode``.
    sample_weight : ndarray of shape (n_samples,) or None
        Weight of the votes of each record, clipped to [0, 1].
    groups : ndarray of shape (n_samples,), int, or None
        The group of each record, numbered from 0. The votes of a group are the mean of the votes
        of its records.
    n_cells : int
        Number of cells.
    target : targets.Target
        The values that records vote for, which are the columns of the table.

    Returns
    -------
    ndarray of shape (n_cells, n_classes), int
        Votes in ticks of `rdp.discrete.GRID` votes each, rounded down for each record and for each
        group. Sums of ticks are exact, so they do not depend on the order of the records.
    """
    weight = np.ones(len(codes)) if sample_weight is None else np.clip(sample_weight, 0, 1)
    classes, shares = target.split(codes, np.floor(weight * TICKS).astype(np.int64))
    n_classes = target.n_values
    entry = (cells * n_classes)[:, :, None] + classes[:, None, :]
    casts = np.broadcast_to((cells >= 0)[:, :, None], entry.shape)
    shares = np.broadcast_to(shares[:, None, :], entry.shape)[casts]
    entry = entry[casts]
    n_entries = n_cells * n_classes
    if groups is not None:
        group = np.broadcast_to(groups[:, None, None], casts.shape)[casts]
        pairs, number = np.unique(group * n_entries + entry, return_inverse=True)
        group, entry = np.divmod(pairs, n_entries)
        shares = _sums_of(shares, number, len(pairs)) // np.bincount(groups)[group]
    return _sums_of(shares, entry, n_entries).reshape(n_cells, n_classes)


def _sums_of(shares: np.ndarray, place: np.ndarray, n_places: int) -> np.ndarray:
    return np.bincount(place, shares, n_places).astype(np.int64)  # floats hold them exactly


def numbered(groups: Any, n_records: int) -> np.ndarray | None:
    """Return the number of each record's group, from 0; None if there are no groups."""
    if groups is None:
        return None
    # Normalized identifiers do not depend on their types
    return np.unique(normalize_groups(groups, n_records), return_inverse=True)[1]
