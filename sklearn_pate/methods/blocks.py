"""Base class of methods that count records in blocks."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import Memory
from sklearn import get_config

from ..encoding import custom
from ..neighbors import counting
from ..runtime import blocks
from ..runtime.isolation import limit_threads
from ..runtime.memory import digest
from ..runtime.sites import plus
from ..runtime.workers import (
    add_up,
    block_batch_size,
    run,
    run_in_this_process,
    threads_per_worker,
    warn_if_taking_turns,
)
from ..secure import exact_type
from ..shift import OF_UNEQUAL_RECORDS
from .base import TableMethod

if TYPE_CHECKING:
    from .._typing import Rows
    from ..encoding.targets import Target
    from ..rdp.contribution import Neighbors
    from ..runtime.private_data import PrivateData


class BlockMethod(TableMethod):
    """Base class of methods that encode and count records in blocks.

    `prepare` of a subclass calls `_note_public` and returns its result. It also sets
    `_transformer`, fitted on public rows, and `_public`, the encoded public rows. If there is a
    cache folder, it sets `_fingerprint`, a digest for the cache key, as well.
    """

    def _note_public(self, private: PrivateData, memory: Memory | None) -> Neighbors:
        """Store the memory, groups and target, and return the neighboring data sets."""
        self._memory = Memory(None) if memory is None else memory
        self._is_weighted = private.is_weighted
        self._target = private.target
        self._has_groups = private.has_groups
        # Groups of records at sites are numbered there
        self._groups = counting.numbered(private.groups, private.n_records)
        self._n_sites = None if private.at_sites is None else len(private.at_sites.readers)
        neighbors = self.neighbors(private)
        self._shows_blocks = neighbors.n_records is not None
        return neighbors

    @property
    def _tolerance(self) -> float:
        """Distance of public rows and records that is no shift; see `shift.PublicShift`."""
        return OF_UNEQUAL_RECORDS if self._is_weighted or self._has_groups else 0.0

    #: The largest whole number that one record adds to an entry of the table.
    _most_by_record: int

    @abstractmethod
    def _counter(self, target: Target) -> tuple[Callable[..., np.ndarray], dict[str, Any]]:
        """Return a function that counts a `Block`, and a dict of its public keyword arguments.

        The function is also called with the keyword `transformer`. It returns an array of integers.
        """

    def n_steps(self, *, n_records: int | None) -> int:
        """Return the number of sites or blocks, or 1 if the number of records is private."""
        if self._n_sites is not None:
            return self._n_sites
        return 1 if n_records is None else math.ceil(n_records / blocks.BLOCK_SIZE)

    def vote(
        self,
        private: PrivateData,
        X_query: Rows,
        *,
        temperature: float | None = None,
        seed: np.random.SeedSequence | None = None,
        n_jobs: int | None = None,
        on_done: Callable[[int], Any] | None = None,
    ) -> np.ndarray:
        """Count the records in the table, as integers; see `TableMethod.vote`.

        Blocks are read one at a time, and workers return only the table of a block. Sites read
        their own blocks, and return the table of all of them.
        """
        count, public = self._counter(private.target)
        threads = threads_per_worker(n_jobs)
        transformer = limit_threads(self._transformer, threads)
        if private.at_sites is not None:
            count_all = partial(_count_all, partial(count, transformer=transformer, **public))
            return private.at_sites.gathered(count_all, on_done=on_done)
        warn_if_taking_turns(n_jobs, "transformers")
        count_one = partial(
            blocks.count_block,
            count=partial(count, transformer=transformer, **public),
            config=get_config(),
            memory=self._memory,
        )
        keeps = self._memory.location is not None
        fingerprint = digest(self._fingerprint, public) if keeps else None
        may_be_views = not keeps and not run_in_this_process(n_jobs)
        tasks = (
            # Digests are computed here, because they can differ for unpickled arrays in workers
            (block, (fingerprint, digest(*block)) if keeps else None)
            for block in blocks.blocks_of(private, self._groups, may_be_views=may_be_views)
        )
        kind = exact_type(private.n_records * self._most_by_record)
        table: Any = 0

        def add(result: Any) -> None:
            nonlocal table
            table = table + result.table.astype(kind)

        size = block_batch_size(private.n_records, blocks.BLOCK_SIZE, n_jobs)
        start = partial(run, function=count_one, n_jobs=n_jobs, batch_size=size)
        shown = on_done if self._shows_blocks else None
        add_up(add, start, tasks, threads=threads, on_done=shown)
        if on_done is not None and not self._shows_blocks:
            on_done(1)
        return table

    def check_public(self, X_public: Rows) -> None:
        """Raise an error if the encoded rows differ; see `TableMethod.check_public`."""
        numbers = custom.transformed(self._transformer, X_public)
        size = np.abs(self._public).max(axis=0)
        least = 1e-6 * size + 1e-12 * size.max()  # for rounding errors
        are_alike = numbers.shape == self._public.shape
        if not are_alike or not (np.abs(numbers - self._public) <= least).all():
            raise ValueError(
                "X_public differs from the public rows of these votes; pass the X_public that was "
                "passed to poll"
            )


def _count_all(count: Callable[[blocks.Block], np.ndarray], private: PrivateData) -> np.ndarray:
    """Return the table of the records of one site, in whole numbers."""
    groups = counting.numbered(private.groups, private.n_records)
    tables = map(count, blocks.blocks_of(private, groups))
    return reduce(plus, tables)
