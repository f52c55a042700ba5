"""The electorate whose voters are the records themselves."""

import math
from abc import abstractmethod
from functools import cache, partial
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from joblib import Memory
from sklearn import config_context, get_config
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from .._sklearn import Interval, StrOptions
from ..electorate import CellForecast, TableElectorate
from ..isolation import Quiet, attempt, fresh_seed, limit_threads, own_clone, own_rows, seed_number
from ..memory import code_digest, digest, is_kept, kept_seed
from ..rdp.discrete import GRID, SHARES
from ..rules import default_n_cells
from ..secure import exact_type
from ..workers import add_up, run, threads_per_worker, warn_if_taking_turns
from . import cells, transform
from .landmarks import LandmarkClassifier

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

    def _enrolled(self, private, memory):
        """Note the public facts of the records, and return the neighboring data sets."""
        self._memory = Memory(None) if memory is None else memory
        self._is_weighted = private.sample_weight is not None
        self._target = private.target
        self._groups = cells.numbered(private.groups, len(private.codes))
        neighbors = self.neighbors(private)
        self._tells_blocks = neighbors.n_records is not None
        return neighbors

    #: The largest whole number that one record adds to an entry of the table.
    _most_by_record: int

    @abstractmethod
    def _counter(self, target):
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
        count, public = self._counter(private.target)
        threads = threads_per_worker(n_jobs)
        transformer = limit_threads(self._transformer, threads)
        shared = partial(count, transformer=transformer, **public), get_config(), self._memory
        keeps = self._memory.location is not None
        fingerprint = digest(self._fingerprint, public) if keeps else None
        tasks = (
            # Keys here: what a worker unpickles does not lie in memory as it did, which counts
            (block, *shared, (fingerprint, digest(*block)) if keeps else None)
            for block in _blocks(private, self._groups)
        )
        kind = exact_type(len(private.codes) * self._most_by_record)
        table = 0

        def add(result):
            nonlocal table
            table = table + result.table.astype(kind)

        start = partial(run, function=_count, n_jobs=n_jobs)
        told = on_done if self._tells_blocks else None
        add_up(add, start, tasks, threads=threads, on_done=told)
        if on_done is not None and not self._tells_blocks:
            on_done(1)
        return table

    def check_public(self, X_public):
        """Compare the numbers of public rows; see `TableElectorate.check_public`."""
        numbers = transform.transformed(self._transformer, X_public)
        size = np.abs(self._public).max(axis=0)
        least = 1e-6 * size + 1e-12 * size.max()  # sums may be rounded otherwise
        are_alike = numbers.shape == self._public.shape
        if not are_alike or not (np.abs(numbers - self._public) <= least).all():
            raise ValueError(
                "X_public is not what was voted on; pass the X_public that poll was given"
            )


def _blocks(private, groups):
    """Yield blocks of so many records; where they have groups, each ends where a group ends."""
    n_records = len(private.codes)
    unit = np.arange(n_records) if groups is None else groups
    order = np.argsort(unit, kind="stable")
    unit = unit[order]
    start = 0
    while start < n_records:
        stop = min(start + BLOCK_SIZE, n_records)
        stop = int(np.searchsorted(unit, unit[stop - 1], side="right"))
        rows = order[start:stop]
        yield Block(
            own_rows(private.X, rows),
            private.codes[rows],
            None if private.sample_weight is None else private.sample_weight[rows],
            None if groups is None else unit[start:stop] - unit[start],
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


# --- the electorate, its cells and its student ----------------------------------------------------


#: Warned of is more noise: that on the ballots of a class, in the cells that are its share, times
#: the number of classes, beside the number of records. At 0.2, from a third of the labels to one
#: in twenty were wrong on small data sets; see docs/results/voters_records.csv.
_MOST_NOISE = 0.2

#: Warned of are fewer votes for a class in a cell, if all are as common, beside the noise on them.
#: At 0.07 (100 classes, 20,000 records), 0.02 to 0.54 were right; at 0.14, 0.09 to 0.74.
_FEWEST_BESIDE_NOISE = 0.1

#: With less than this part of the records that are needed, noise is all that there is.
_HOPELESS = 0.1

#: Warned of are cells that explain less of the public rows' spread: 0.02 with 200 independent
#: columns, where the student is right half of the time, and with 100, where it is in 0.70; 0.08
#: with 50 (0.81). On Adult it is 0.74, on Diabetes 0.56.
_LEAST_EXPLAINED = 0.05

#: So many rows that a synthesizer drew are trusted to lie as private records do.
_TRUSTED_IF_DRAWN = 300


class ReverseNeighbors(BlockElectorate):
    """Records that vote themselves: each casts one ballot, for its label, where it lies.

    The feature space is divided into cells by public rows alone. Each private record casts a
    ballot for its own label in the cell that it lies in. The table of ballots gets noise, once,
    and all of it is released: its cost depends neither on the number of labels nor on that of
    classes. What the noisy table says of each public row is free.

    Give it as `base_estimator` of `PATEClassifier`. It suits small epsilons, many classes and
    features in which rows that are near each other have like labels. Teachers suit features that
    must be learnt.

    Parameters
    ----------
    transformer : transformer, default=None
        Makes numbers of rows, such that like rows are near each other. It is fitted on public rows
        alone, and must treat each row by itself. None suits numbers, categories and missing values
        of DataFrames, arrays and sparse rows.
    n_cells : int, default=None
        Number of cells. None follows from public numbers: about one for each seven standard
        deviations of the noise in records (20 records at epsilon 1), or twice as many, up to 32; at
        least four for each class, at most half of the public rows and 1,000.
    n_neighbors : int, default=1
        Number of cells that each record casts a ballot in, the nearest to it.
    smoothing : {"auto"} or float, default="auto"
        How far cells that are near each other share what they say: the width of a Gaussian
        process, in typical (median) distances of two cells, from 0.001 to 1000. "auto" is the width
        under which the noisy table is most likely. A row that is many widths away from all cells
        gets the rates of the whole table, so widths far below 0.3 are of no use.
    relation : {"replace_one", "add_or_remove_one"}, default="replace_one"
        The neighboring data sets that the guarantee covers: one record (or one group) is replaced
        by another, or one is added or removed, a weaker guarantee for half the Laplace noise.
    random_state : int or None, default=None
        Seeds transformer and clustering, which see public rows alone. None takes a seed that
        follows from the classifier's `random_state`, if it has one.

    References
    ----------
    Li, Wang, Wang et al. (2022). Fine-grained private knowledge distillation. arXiv 2207.13253.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn_pate import PATEClassifier
    >>> from sklearn_pate.neighbors import ReverseNeighbors
    >>> X, y = load_iris(return_X_y=True)
    >>> voters = ReverseNeighbors(random_state=0)
    >>> clf = PATEClassifier(voters, epsilon=10, classes=[0, 1, 2], random_state=0)
    >>> clf.fit(X[::2], y[::2], X_public=X[1::2]).score(X[1::2], y[1::2]) > 0.8
    True
    """

    _most_by_record = SHARES

    _parameter_constraints = {
        "n_cells": [Interval(Integral, 1, 2**31, closed="left"), None],
        "n_neighbors": [Interval(Integral, 1, 2**31, closed="left")],
        "smoothing": [StrOptions({"auto"}), Interval(Real, 1e-3, 1e3, closed="both")],
        "relation": [StrOptions({"replace_one", "add_or_remove_one"})],
        "random_state": [Interval(Integral, 0, 2**32, closed="left"), None],
    }

    def __init__(
        self,
        transformer=None,
        *,
        n_cells=None,
        n_neighbors=1,
        smoothing="auto",
        relation="replace_one",
        random_state=None,
    ):
        self.transformer = transformer
        self.n_cells = n_cells
        self.n_neighbors = n_neighbors
        self.smoothing = smoothing
        self.relation = relation
        self.random_state = random_state

    def enrol(self, private, X_public, *, seed=None, memory=None):
        """Fit the transformer on public rows, and return the neighboring data sets."""
        neighbors = self._enrolled(private, memory)
        self._seed = self._public_seed(X_public, seed)
        self._transformer = transform.fitted_on_public(self._unfitted(), X_public, self._seed)
        self._public = cells.numbers_of_public(self._transformer, X_public)
        # Ours treats each row by itself, however far it is
        is_ours = type(self._transformer) is transform.RowVectorizer
        self._largest = None if is_ours else transform.largest_sizes(X_public)
        self._rounding = transform.rounding_beside_others(self._transformer, X_public, self._public)
        # A fit asks before it chooses who votes, and its plan again
        self._explained = cache(partial(cells.explained_share, self._public, random_state=0))
        if self._memory.location is not None:
            code = code_digest(own_clone(self._unfitted(), self._seed))
            self._fingerprint = digest(code, self._seed, X_public, self._public)
        return neighbors

    def contribution(self, neighbors):
        """Return the contribution of units that each add 1 to the counts of a few cells."""
        return neighbors.counts(int(self.n_neighbors))  # short integers overflow

    def _public_seed(self, X_public, seed):
        """Return the seed of transformer and cells; memory keeps it, by the public rows alone."""
        if self.random_state is not None:
            return int(self.random_state)
        if seed is not None:
            return seed_number(seed)
        if self._memory.location is None:
            return fresh_seed()
        return seed_number(kept_seed(self._memory, (digest(X_public), "cells")))

    def divide(self, X_public, *, noise_std, n_records, n_classes, are_drawn=False):
        """Make cells of the public rows; see `TableElectorate.divide`."""
        self._n_trusted = _TRUSTED_IF_DRAWN if are_drawn else math.inf
        n_cells = self._most_cells(noise_std=noise_std, n_records=n_records, n_classes=n_classes)
        is_known = n_records is not None and not self._is_weighted
        self._n_ballots = n_records * int(self.n_neighbors) if is_known else None
        self._centers = cells.make_centers(self._public, n_cells, self._seed)

    def _most_cells(self, **sizes):
        if self.n_cells is not None:
            return int(self.n_cells)
        return default_n_cells(n_public=len(self._public), **sizes)

    def forecast(self, *, noise_std, n_records, n_classes, are_drawn=False):
        """Say what the cells will be like; see `TableElectorate.forecast`."""
        n_public = len(self._public)
        n_distinct = n_public if are_drawn else len(np.unique(self._public, axis=0))
        n_cells = self._most_cells(noise_std=noise_std, n_records=n_records, n_classes=n_classes)
        n_cells = min(n_cells, n_distinct)
        n_voters, of_whom = n_records, "private records"
        if n_records is None:
            n_voters, of_whom = n_public, "public rows, as many records as are expected"
        # Where the rule has more cells than four a class, smoothing makes up for it
        n_apart = n_cells if self.n_cells is not None else min(n_cells, 4 * n_classes)
        n_needed = noise_std * math.sqrt(n_apart * n_classes) / _MOST_NOISE
        text = told_of_noise("ballots", n_voters, n_needed, of_whom)
        public = {"n_public": n_public, "n_distinct": n_distinct, "n_classes": n_classes}
        problems, obstacles = told(text, n_voters < _HOPELESS * n_needed, **public)
        each = n_voters * int(self.n_neighbors) / n_cells / n_classes
        if not obstacles and not problems and each < _FEWEST_BESIDE_NOISE * noise_std:
            problems.append(
                f"a cell has about {each:.2g} votes for each of {n_classes} classes, under noise "
                f"of standard deviation {noise_std:.3g}: classes that share cells cannot be told "
                "apart. Join classes, predict a number with PATERegressor if they are ordered, "
                "raise epsilon or give more records"
            )
        explained = None if are_drawn else self._explained(n_cells)
        can_tell = not obstacles and n_public >= 8 * n_classes
        if can_tell and explained is not None and explained < _LEAST_EXPLAINED:
            problems.append(
                f"{n_cells} cells explain {explained:.1%} of the spread of the public rows: where "
                "a record lies tells next to nothing, a coin flip is likely. Let records vote with "
                "all columns, base_estimator=ColumnSums(), or give those that matter"
            )
        n_ballots = n_voters * int(self.n_neighbors)
        return CellForecast(n_cells, n_ballots, explained, tuple(problems), tuple(obstacles))

    @property
    def public_shape(self):
        """Number of public rows, and of the transformer's numbers."""
        return self._public.shape

    def _counter(self, target):
        return cells.cast_in_cells, {
            "centers": self._centers,
            "n_neighbors": self.n_neighbors,
            "largest": self._largest,
            "rounding": self._rounding,
            "target": target,
        }

    def vote(self, private, X_query, **given):
        """Count the ballots that records cast in the cells; see `TableElectorate.vote`."""
        return super().vote(private, X_query, **given).astype(float) * GRID

    def released(self, noisy, *, noise_std):
        """Return a noisy table as it is published; see `TableElectorate.released`."""
        nearest = cells.nearest_cells(self._public, self._centers)[:, 0]
        n_public_in = np.bincount(nearest, minlength=len(self._centers))
        known = self._n_ballots, self._n_trusted
        smoothing = {
            "total": cells.expected_ballots(noisy, n_public_in, noise_std, *known),
            "noise_std": noise_std,
            "smoothing": self.smoothing,
            "target": self._target,
        }
        released = noisy, self._centers, self._transformer, smoothing
        return cells.ReleasedTable(*released, n_neighbors=int(self.n_neighbors))

    def read(self, table):
        """Return what a published table says of each public row; see `TableElectorate.read`."""
        return table.read_numbers(self._public)

    def default_student(self):
        """Return a classifier that learns from the transformer's numbers."""
        return make_pipeline(self._unfitted(), LandmarkClassifier())

    def _unfitted(self):
        return transform.RowVectorizer() if self.transformer is None else clone(self.transformer)


def told(of_noise, is_drowned, *, n_public, n_distinct, n_classes):
    """Return problems, and what is hopeless, of few public rows and of what is told of noise."""
    problems, obstacles = [], []
    enough = 8 * n_classes
    if n_public < enough or n_distinct < n_classes:
        is_hopeless = n_public < 2 * n_classes or n_distinct == 1
        (obstacles if is_hopeless else problems).append(
            f"X_public has {n_public} rows, {n_distinct} of them different once transformed, and "
            f"there are {n_classes} classes: few to tell them apart by. Give {enough} or more"
        )
    if of_noise is not None:
        (obstacles if is_drowned else problems).append(of_noise)
    return problems, obstacles


def told_of_noise(what, n_records, n_needed, of_whom="records", *, fewer=""):
    """Say that the noise drowns what records cast, if they are fewer than needed; else None."""
    if n_records >= n_needed:
        return None
    return (
        f"the noise drowns the {what}: there are {n_records} {of_whom}, and about {n_needed:.0f} "
        f"are needed. Raise epsilon, give more records{fewer}, or join classes"
    )
