"""Counts of private records in blocks, in worker processes or in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn import config_context

from .copies import copied_rows
from .isolation import attempt, suppress_output
from .memory import is_cached

if TYPE_CHECKING:
    from joblib import Memory

    from .private_data import PrivateData

#: Number of records in a block. It does not depend on the number of workers, because the keys of
#: cached tables depend on it.
BLOCK_SIZE = 20_000


class Block(NamedTuple):
    """A block of private records: rows, codes, weights, and group numbers from 0."""

    X: Any
    codes: np.ndarray
    weight: np.ndarray | None
    groups: np.ndarray | None


def blocks_of(
    private: PrivateData, groups: np.ndarray | None, *, may_be_views: bool = False
) -> Iterator[Block]:
    """Yield blocks of `BLOCK_SIZE` records, or more if a block would split a group.

    Parameters
    ----------
    private : PrivateData
        The records.
    groups : ndarray of shape (n_records,), int, or None
        Group of each record, numbered from 0.
    may_be_views : bool, default=False
        Whether blocks of an array without groups may be views of it. Other processes get copies;
        in this process, a transformer could change the array.
    """
    codes: Any = private.codes
    weight = private.vote_weight
    all_rows = private.X
    is_plain = isinstance(all_rows, np.ndarray) and not all_rows.dtype.hasobject
    for rows in row_blocks(len(codes), groups):
        if may_be_views and is_plain and isinstance(rows, slice):
            X = all_rows[rows]
        else:
            X = copied_rows(all_rows, _positions(rows, len(codes)))
        own = None if groups is None else groups[rows]
        yield Block(
            X,
            codes[rows],
            None if weight is None else weight[rows],
            None if own is None else own - own[0],
        )


def _positions(rows: slice | np.ndarray, n_records: int) -> np.ndarray:
    return np.arange(*rows.indices(n_records)) if isinstance(rows, slice) else rows


def row_blocks(n_records: int, groups: np.ndarray | None) -> Iterator[slice | np.ndarray]:
    """Yield the rows of blocks of about `BLOCK_SIZE` records.

    Parameters
    ----------
    n_records : int
        Number of records.
    groups : ndarray of shape (n_records,), int, or None
        Group of each record. All records of a group are in one block.

    Yields
    ------
    slice, or ndarray of int with groups
    """
    if groups is None:
        for start in range(0, n_records, BLOCK_SIZE):
            yield slice(start, start + BLOCK_SIZE)
        return
    order = np.argsort(groups, kind="stable")
    start = 0
    while start < n_records:
        last = groups[order[min(start + BLOCK_SIZE, n_records) - 1]]
        stop = int(np.searchsorted(groups, last, side="right", sorter=order))
        yield order[start:stop]
        start = stop


class _Result(NamedTuple):
    """The counts of a block, whether memory stored them, and a public description of a failure."""

    table: Any = None
    is_cached: bool = True
    problem: str | None = None


def count_block(
    block: Any,
    key: Any,
    *,
    count: Callable[[Any], Any],
    config: dict[str, Any],
    memory: Memory,
) -> _Result:
    """Count one block, a `Block` or other records, or return its cached table."""
    recall = memory.cache(_counted, ignore=["count", "config", "block"])
    given = count, config, block, key
    with suppress_output():
        # A failure is returned, not raised, because a traceback would contain private rows
        counted, failed = attempt(lambda: (recall(*given), is_cached(memory, recall, *given)))
    if failed is not None:
        return _Result(problem=f"a block of records could not be counted: {failed}")
    return _Result(*counted)


def _counted(
    count: Callable[[Block], np.ndarray], config: dict[str, Any], block: Block, key: Any
) -> np.ndarray:
    """Return the table of a block, which memory caches by `key` alone."""
    with config_context(**config):
        return count(block)
