"""Private records in blocks: each block is counted by itself, and the tables are added up."""

import itertools
import math
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from joblib import Memory
from sklearn import config_context
from threadpoolctl import threadpool_limits

from ..exceptions import TeacherError, warn
from ..isolation import Quiet, attempt, own_rows
from ..memory import digest, is_kept
from ..workers import add_up, run, threads_per_worker, warn_if_taking_turns
from .ballots import count_ballots
from .cells import nearest_cells
from .transform import transformed_alone, transformed_private

#: Records of a block, whatever the number of workers: what memory keeps does not depend on that.
BLOCK_SIZE = 20_000

_ADVICE = (
    "The transformer, and the cells of a DataFrame, must pickle and be importable: define their "
    "classes in a module, not in the script that runs; or use n_jobs=1"
)


class Counting(NamedTuple):
    """What all blocks of a vote in cells share; all of it follows from public rows and numbers.

    `count_in_blocks` takes whatever has `count`, `shape`, `config`, `memory` and `fingerprint`.

    Attributes
    ----------
    transformer : transformer
        Fitted.
    centers : ndarray of shape (n_cells, n_columns)
        Of the cells.
    n_neighbors : int
        Cells that each record casts a ballot in.
    largest : ndarray of shape (n_features,) or None
        From `largest_sizes`, of the public rows.
    rounding : float
        As in `nearest_cells`.
    n_classes : int
        Number of classes.
    config : dict
        scikit-learn's configuration where `fit` was called.
    memory : joblib.Memory
        Where the table of each block is kept.
    fingerprint : str or None
        What tells this count from others in memory; None where nothing is kept.
    """

    transformer: Any
    centers: np.ndarray
    n_neighbors: int
    largest: np.ndarray | None
    rounding: float
    n_classes: int
    config: dict
    memory: Memory
    fingerprint: str | None

    @property
    def shape(self):
        """Shape of the table."""
        return len(self.centers), self.n_classes

    def count(self, block):
        """Return the table of a block."""
        n_columns = self.centers.shape[1]
        cells = nearest_cells(
            transformed_private(self.transformer, block.X, n_columns, self.largest),
            self.centers,
            self.n_neighbors,
            rounding=self.rounding,
            alone=partial(transformed_alone, self.transformer, block.X, n_columns),
        )
        return count_ballots(
            cells,
            block.codes,
            n_cells=len(self.centers),
            n_classes=self.n_classes,
            sample_weight=block.weight,
            groups=block.groups,
        )


class Block(NamedTuple):
    """Some private records: rows, codes, weights, and groups from 0."""

    X: Any
    codes: np.ndarray
    weight: np.ndarray | None
    groups: np.ndarray | None


class _Result(NamedTuple):
    """A block's table in whole shares, or why there is none, and whether memory has it."""

    table: np.ndarray | None
    problem: str | None = None
    is_kept: bool = True


def n_blocks(*, n_records):
    """Return the number of blocks of so many records that have no groups."""
    return math.ceil(n_records / BLOCK_SIZE)


def count_in_blocks(counting, private, groups=None, *, n_jobs=None, on_done=None):
    """Count the ballots of private records, some records at a time.

    A block is read when it is its turn, and all that comes back of it is its table. A group lies in
    one block, so the blocks of groups vary in size.

    Parameters
    ----------
    counting : Counting
        What all blocks share, and how each is counted.
    private : PrivateData
        The records.
    groups : ndarray of shape (n_samples,), int, or None
        The group of each record, numbered from 0.
    n_jobs : int, default=None
        As in joblib. The table does not depend on it.
    on_done : callable, default=None
        Called with the number of blocks that are counted, each time one is. That number is private
        where that of records is.

    Returns
    -------
    ndarray of shape `counting.shape`, int
        In whole shares, as `counting.count` returns them.

    Raises
    ------
    TeacherError
        If a block could not be counted; its error's text is withheld.
    """
    warn_if_taking_turns(n_jobs, "transformers")
    sums = _Sums(counting.shape)
    tasks = _tasks(counting, _blocks(private, groups, BLOCK_SIZE))
    # After a failure no more blocks are sent; those under way are finished, and ignored
    tasks = itertools.takewhile(lambda _: sums.problem is None, tasks)
    with Quiet(), threadpool_limits(threads_per_worker(n_jobs)):
        add_up(sums, run(_count, tasks, n_jobs), on_done, "records", _ADVICE)
    if sums.problem is not None:
        raise TeacherError(sums.problem) from None
    if not sums.all_kept:
        warn(
            "memory could not keep the ballots of all records (a full disk?): the table is right, "
            "but if this fit is repeated, some records will be counted again"
        )
    return sums.table


# --- what lies in a block ------------------------------------------------------------------------


def _blocks(private, groups, size):
    """Yield blocks of so many records; where they have groups, each ends where a group ends."""
    n_records = len(private.codes)
    order = None
    if groups is not None:
        order = np.argsort(groups, kind="stable")
        groups = groups[order]
    start = 0
    while start < n_records:
        stop = min(start + size, n_records)
        if groups is None:
            yield _block(private, np.arange(start, stop))
        else:
            stop = int(np.searchsorted(groups, groups[stop - 1], side="right"))
            yield _block(private, order[start:stop], groups[start:stop] - groups[start])
        start = stop


def _block(private, rows, groups=None):
    X = own_rows(private.X, rows)
    weight = None if private.sample_weight is None else private.sample_weight[rows]
    return Block(X, private.codes[rows], weight, groups)


def _tasks(counting, blocks):
    """Yield what a worker is sent with each block: what all share, and its key in memory."""
    for block in blocks:
        key = None
        if counting.memory.location is not None:
            # Here, not in a worker: what pickles does not lie in memory as it did, which counts
            key = (counting.fingerprint, digest(*block))
        yield counting, block, key


# --- what a worker does --------------------------------------------------------------------------


def _count(task):
    """Count one block, or recall its table; return its `_Result`."""
    with Quiet():
        # A failure is returned, not raised: a traceback would carry private rows
        result, failed = attempt(partial(_recalled, *task))
    return _Result(None, problem=failed) if failed is not None else result


def _recalled(counting, block, key):
    memory = counting.memory
    count = memory.cache(_counted, ignore=["counting", "block"])
    table = count(counting, block, key)
    return _Result(table, is_kept=is_kept(memory, count, counting, block, key))


def _counted(counting, block, key):
    """Return the table of a block; memory finds it by `key` alone."""
    with config_context(**counting.config):
        return counting.count(block)


# --- adding up their tables ----------------------------------------------------------------------


class _Sums:
    """The table so far, whether memory has all of it, and the first failure as it may be told."""

    def __init__(self, shape):
        self.table = np.zeros(shape, dtype=np.int64)
        self.all_kept = True
        self.problem = None

    def add(self, result):
        """Add a block's table; return False if it has none."""
        if result.problem is not None:
            self.fail(f"a block of records could not be counted: {result.problem}")
            return False
        self.all_kept &= result.is_kept
        self.table += result.table
        return True

    def fail(self, problem):
        """Note a problem, if it is the first."""
        if self.problem is None:
            self.problem = problem
