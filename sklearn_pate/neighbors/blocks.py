"""Records that vote, in blocks: each block is counted by itself, and the tables are added up."""

import math
from abc import abstractmethod
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from joblib import Memory
from sklearn import config_context, get_config

from ..electorate import TableElectorate
from ..isolation import Quiet, attempt, limit_threads, own_rows
from ..memory import digest, is_kept
from ..workers import add_up, run, threads_per_worker, warn_if_taking_turns
from .cells import numbered
from .transform import transformed

#: Records of a block, whatever the number of workers: what memory keeps does not depend on that.
BLOCK_SIZE = 20_000


class Block(NamedTuple):
    """Some private records: rows, codes, weights, and groups from 0."""

    X: Any
    codes: np.ndarray
    weight: np.ndarray | None
    groups: np.ndarray | None


class BlockElectorate(TableElectorate):
    """Base class: records that are counted some at a time, by a transformer that saw public rows.

    A subclass sets `_transformer` and `_public`, the numbers that it makes of the public rows, when
    it enrols; where there is a memory, also `_fingerprint`, what tells both from others.
    """

    def _enrolled(self, private, memory, n_ballots=1):
        """Note what is public of the records, and return what one unit changes."""
        self._memory = Memory(None) if memory is None else memory
        self._is_weighted = private.sample_weight is not None
        self._is_split = private.codes.dtype.kind == "f"
        self._groups = numbered(private.groups, len(private.codes))
        ballots = self.ballots(private, n_ballots)
        self._tells_blocks = ballots.n_records is not None
        return ballots

    @abstractmethod
    def _counter(self, n_classes):
        """Return a function of a `Block` and the transformer, and its other arguments, all public.

        It returns whole numbers in an array.
        """

    def n_steps(self, *, n_records):
        """Return the number of blocks, where that of records is public."""
        return 1 if n_records is None else math.ceil(n_records / BLOCK_SIZE)

    def vote(self, private, X_query, *, temperature=None, seed=None, n_jobs=None, on_done=None):
        """Count what records cast, in whole shares; see `TableElectorate.vote`.

        A block is read when it is its turn, and all that comes back of it is its table.
        """
        warn_if_taking_turns(n_jobs, "transformers")
        count, public = self._counter(len(private.classes))
        transformer = limit_threads(self._transformer, threads_per_worker(n_jobs))
        shared = partial(count, transformer=transformer, **public), get_config(), self._memory
        keeps = self._memory.location is not None
        fingerprint = digest(self._fingerprint, public) if keeps else None
        tasks = (
            # Keys here: what a worker unpickles does not lie in memory as it did, which counts
            (block, *shared, (fingerprint, digest(*block)) if keeps else None)
            for block in _blocks(private, self._groups, BLOCK_SIZE)
        )
        table = 0

        def add(result):
            nonlocal table
            table = table + result.table

        add_up(
            add,
            partial(run, function=_count, n_jobs=n_jobs),
            tasks,
            threads=threads_per_worker(n_jobs),
            on_done=on_done if self._tells_blocks else None,
        )
        if on_done is not None and not self._tells_blocks:
            on_done(1)
        return table

    def check_public(self, X_public):
        """Compare the numbers of public rows; see `TableElectorate.check_public`."""
        numbers = transformed(self._transformer, X_public)
        size = np.abs(self._public).max(axis=0)
        least = 1e-6 * size + 1e-12 * size.max()  # sums may be rounded otherwise
        is_alike = numbers.shape == self._public.shape
        if not is_alike or not np.allclose(numbers, self._public, rtol=0, atol=least):
            raise ValueError(
                "X_public is not what was voted on; pass the X_public that poll was given"
            )


def _blocks(private, groups, size):
    """Yield blocks of so many records; where they have groups, each ends where a group ends."""
    n_records = len(private.codes)
    weight = private.sample_weight
    order = np.arange(n_records)
    if groups is not None:
        order = np.argsort(groups, kind="stable")
        groups = groups[order]
    start = 0
    while start < n_records:
        stop = min(start + size, n_records)
        if groups is not None:
            stop = int(np.searchsorted(groups, groups[stop - 1], side="right"))
        rows = order[start:stop]
        yield Block(
            own_rows(private.X, rows),
            private.codes[rows],
            None if weight is None else weight[rows],
            None if groups is None else groups[start:stop] - groups[start],
        )
        start = stop


# --- what a worker does --------------------------------------------------------------------------


class _Result(NamedTuple):
    """The table of a block, whether memory has it, and what went wrong as it may be told."""

    table: Any = None
    is_kept: bool = True
    problem: str | None = None


def _count(block, count, config, memory, key):
    """Count one block, or recall its table."""
    recall = memory.cache(_counted, ignore=["count", "config", "block"])
    given = count, config, block, key
    with Quiet():
        # A failure is returned, not raised: a traceback would carry private rows
        counted, failed = attempt(lambda: (recall(*given), is_kept(memory, recall, *given)))
    if failed is not None:
        return _Result(problem=f"a block of records could not be counted: {failed}")
    return _Result(*counted)


def _counted(count, config, block, key):
    """Return the table of a block; memory finds it by `key` alone."""
    with config_context(**config):
        return count(block)
