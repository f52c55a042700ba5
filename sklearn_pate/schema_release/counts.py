"""Private part of a schema release: counts of the columns, their contribution and their noise.

The release has two steps.

1. *Ranges*. The cells of each column are counted in bins that do not depend on the data: gaps,
   texts, zero, and numbers between two powers of two.
2. *Values*. The cells of a column of numbers are counted in the nodes of a binary tree over 512
   intervals within the range. The cells of a column of texts are counted by text, and a text is
   published only if its noisy count reaches a threshold. The published first step determines the
   kind of each column and the intervals.

Each record is in one bin of each column in the first step. In the second step, it is in at most one
node of each level of a tree, and has at most one text in each column of texts. The cost therefore
depends only on the number of columns and on the parameters; see `SchemaRelease.cost`.

The numbers of a column with declared bounds are clipped to these bounds, which are public. Such a
column is never counted by text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from joblib import Memory
from numpy.typing import ArrayLike
from scipy.stats import norm
from sklearn import get_config

from .._sklearn import _safe_indexing
from ..encoding.columns import checked_table
from ..encoding.values import Cells, distinct_cells
from ..rdp import DEFAULT_ORDERS, Contribution, Cost, Neighbors, discrete_gaussian_mu_squared
from ..rdp.checks import check_orders
from ..rdp.discrete import DiscreteGaussian
from ..rdp.records import Record, gaussian_record
from ..runtime.blocks import BLOCK_SIZE, count_block, row_blocks
from ..runtime.copies import without_index
from ..runtime.memory import digest
from ..runtime.workers import add_up, block_batch_size, run, threads_per_worker
from ..secure import plus_noise

#: Counts are whole numbers of ticks; a whole record has this many.
TICKS = 2**12

#: Powers of two that separate the bins of numbers; the outermost bins are open.
MIN_POWER, MAX_POWER = -20, 40

#: Number of powers, and of bins: gaps, texts, negative numbers, zero, positive numbers.
N_POWERS = MAX_POWER - MIN_POWER + 1
GAP, TEXT, FIRST_NUMBER = 0, 1, 2
N_BINS = FIRST_NUMBER + 2 * N_POWERS + 1
_ZERO = FIRST_NUMBER + N_POWERS

#: Levels of a tree below its root, and its number of leaves.
N_LEVELS = 9
N_LEAVES = 2**N_LEVELS

#: Number of trees whose noise is drawn together; many short draws take ten times as long.
_TREES_AT_ONCE = 64

#: Fraction of mu squared for the first step.
RANGES_FRACTION = 0.3

#: Factor of the noise for rounding errors of floats.
_ROUNDED = 1 + 1e-9

#: Bounds to which the numbers of a column are clipped; None for a column that is not declared.
Limits = tuple[float, float] | None


class Kind(NamedTuple):
    """Kind of a column, determined by the first step.

    Attributes
    ----------
    is_text : bool
        Whether the column is counted by text.
    leaves : ndarray of shape (N_LEAVES + 1,) or None
        Edges of the intervals at the leaves of the column's tree; None if it has no tree.
    is_shared : bool
        Whether the leaves are those of the range that several columns share.
    """

    is_text: bool
    leaves: np.ndarray | None = None
    is_shared: bool = False


class Values(NamedTuple):
    """Noisy counts of the second step, and the standard deviations of their noise.

    Attributes
    ----------
    trees : dict of list of ndarray
        For the position of a column of numbers, the noisy counts of each level of its tree, from 2
        nodes to `N_LEAVES`, in records.
    texts : dict of dict
        For the position of a column of texts, the noisy count of each published text, in records.
    sd_trees, sd_texts : float
        Standard deviations of the noise, in records.
    """

    trees: dict[int, list[np.ndarray]]
    texts: dict[int, dict[str, float]]
    sd_trees: float
    sd_texts: float


@dataclass(frozen=True)
class SchemaRelease:
    """Counts, noise and cost of a schema release.

    Parameters
    ----------
    n_columns : int
        Number of columns with an estimated schema.
    mu : float
        Gaussian privacy parameter of both steps together, for a replaced record.
    delta : float
        Upper bound of the probability that a text of only one record is published, in any column; 0
        if all columns have limits, so that no text is counted.
    limits : tuple of (float, float) or None, default=()
        For each column, its declared bounds, to which its numbers are clipped, or None. An empty
        tuple is None for each column.

    Notes
    -----
    *Contribution.* In the first step, a replaced record moves from one bin to another in each
    column: the squared L2 change is at most ``2 n_columns``. In the second step, it moves from one
    node to another in each of the `N_LEVELS` levels of a tree, or from one text to another. An
    added or removed record changes half as much. A group counts as the mean of its records: the
    change of a mean of unit vectors is at most the change of one of them. In a column of texts, a
    group has one text, its most frequent one, with the weight of all its texts in this column.
    Weights from 0 to 1 do not increase the change. Numbers are clipped one by one, so limits change
    nothing. The ticks of a record are divided among the columns that are counted together, and
    rounded down: its counts have a sum of at most 1, so they change no more than those of one
    column.

    *Cost.* The noise of each step is discrete Gaussian, so `rdp.discrete_gaussian_mu_squared`
    computes the cost. The published first step determines the columns that are counted by text, and
    the intervals. Gaussian costs add up for such adaptive steps.

    *Thresholds.* The texts themselves are private. Two neighboring data sets differ in at most one
    text per column that only one of them has, and its count is at most 1. Let q be the probability
    that such a count reaches the threshold with its noise. Given that no such text is published in
    either run, the runs are as close as those of noisy counts of the same texts. Hence, if all else
    is (epsilon, delta)-DP, the fit is (epsilon, delta + n_columns q)-DP, also with later steps that
    depend on published results (joint convexity of the hockey-stick divergence).

    References
    ----------
    Hay, Rastogi, Miklau, Suciu (2010). Boosting the accuracy of differentially private histograms
    through consistency. VLDB. Korolova, Kenthapadi, Mishra, Ntoulas (2009). Releasing search
    queries and clicks privately. WWW: thresholds.

    Examples
    --------
    >>> from sklearn_pate.schema_release import SchemaRelease
    >>> release = SchemaRelease(n_columns=7, mu=0.085, delta=1e-8)
    >>> round(release.sd_ranges), round(release.sd_values(n_trees=5, n_texts=2)[0])
    (80, 158)
    """

    n_columns: int
    mu: float
    delta: float
    limits: tuple[Limits, ...] = ()

    # --- noise and cost ---------------------------------------------------------------------------

    @property
    def sd_ranges(self) -> float:
        """Standard deviation of the noise on the counts of the first step, in records."""
        mu = self.mu * math.sqrt(RANGES_FRACTION)
        return _sd(2 * self.n_columns, mu)

    def sd_values(self, *, n_trees: int, n_texts: int) -> tuple[float, float]:
        """Return the standard deviations of the noise of the second step, in records.

        Parameters
        ----------
        n_trees, n_texts : int
            Number of columns that are counted in trees, and by text.

        Returns
        -------
        float
            On each node of a tree.
        float
            On each text.
        """
        mu = self.mu * math.sqrt(1 - RANGES_FRACTION)
        n = max(1, n_trees + n_texts)  # each column has the same part of mu squared
        return _sd(2 * N_LEVELS * n, mu), _sd(2 * n, mu)

    def threshold(self, sd: float) -> int:
        """Return the smallest published count of a text, in ticks.

        The tail of a discrete Gaussian beyond t is at most the tail of the continuous one beyond
        ``t - 1`` (Canonne, Kamath, Steinke 2020, Proposition 25).
        """
        beyond = self._deviations * sd * TICKS
        return TICKS + math.ceil(beyond * _ROUNDED) + 1

    @property
    def _deviations(self) -> float:
        """Noise in standard deviations that lifts a count of 1 to the threshold."""
        return float(norm.isf(self.delta / self.n_columns * (1 - 1e-9)))

    def records(self, contribution: Contribution, *, n_steps: int) -> list[Record]:
        """Return the records of the steps, for privacy statements; their cost is `cost`.

        The noise of the second step is for a single column of texts. With other columns it is
        larger in proportion to their change.

        Parameters
        ----------
        contribution, n_steps
            As in `cost`.
        """
        ranges = gaussian_record(
            "noisy counts of the columns in bins between powers of two",
            _changed(contribution.l2_squared * 2 * self.n_columns),
            scale=self.sd_ranges,
            grid=1 / TICKS,
        )
        if n_steps == 1:
            return [ranges]
        values = gaussian_record(
            "noisy counts of the columns in finer bins, and of texts above a threshold",
            _changed(contribution.l2_squared * 2),
            scale=self.sd_values(n_trees=0, n_texts=1)[1],
            grid=1 / TICKS,
            delta=self.delta,
            threshold=(self.n_columns, self._deviations) if self.delta else None,
        )
        return [ranges, values]

    def cost(self, contribution: Contribution, n_steps: int = 2) -> tuple[float, float]:
        """Return the squared Gaussian privacy parameter, and the delta of the thresholds.

        Parameters
        ----------
        contribution : rdp.Contribution
            From `schema_contribution`.
        n_steps : int, default=2
            Number of steps, 1 or 2.
        """
        n = self.n_columns
        moves = [2 * n * TICKS**2]
        sds = [self.sd_ranges * TICKS]
        if n_steps == 2:
            # The squared change divided by the variance is the same for all kinds of columns. The
            # extra cost of discrete noise is largest for the smallest noise: one column of texts
            moves.append(2 * TICKS**2)
            sds.append(self.sd_values(n_trees=0, n_texts=1)[1] * TICKS)
        mu_squared = discrete_gaussian_mu_squared(sds, moves) * (1 + 1e-7)
        return contribution.l2_squared * mu_squared, self.delta if n_steps == 2 else 0.0

    # --- first step -------------------------------------------------------------------------------

    def gather_ranges(
        self,
        columns: Any,
        amount: np.ndarray,
        n_jobs: int | None = None,
        *,
        places: Sequence[int | tuple[int, ...]] | None = None,
        memory: Memory | None = None,
    ) -> np.ndarray:
        """Return the private counts of the first step.

        Parameters
        ----------
        columns : DataFrame or ndarray with n_rows rows
            The columns, of any dtype.
        amount : ndarray of shape (n_rows,), int
            Ticks of each record, at most `TICKS` for all of one unit.
        n_jobs : int or None, default=None
            As in joblib.
        places : sequence of int or tuple of int, default=None
            Positions in `columns` of the columns to count; None for all. The columns of a tuple are
            counted together, as one column of their mean counts.
        memory : joblib.Memory or None, default=None
            It caches the counts of each block of records.

        Returns
        -------
        ndarray of shape (n_columns, N_BINS), int

        Raises
        ------
        TeacherError
            If a block could not be counted. The message has no private value.
        """
        count = partial(_count_ranges, limits=self._limits)
        blocks = _blocks(columns, places, amount, None)
        (counts,) = _added(count, blocks, len(amount), n_jobs, memory, ("ranges", self._limits))
        return counts

    @property
    def _limits(self) -> tuple[Limits, ...]:
        return self.limits or (None,) * self.n_columns

    def publish_ranges(self, counts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return the noisy counts of the first step, in records."""
        noise = DiscreteGaussian(self.sd_ranges * TICKS).sample(rng, counts.shape)
        return plus_noise(counts, noise, 1 / TICKS)

    # --- second step ------------------------------------------------------------------------------

    def gather_values(
        self,
        columns: Any,
        amount: np.ndarray,
        units: np.ndarray | None,
        kinds: list[Kind],
        n_jobs: int | None = None,
        *,
        places: Sequence[int | tuple[int, ...]] | None = None,
        memory: Memory | None = None,
    ) -> tuple[dict[int, np.ndarray], dict[int, dict[str, int]]]:
        """Return the private counts of the second step.

        Parameters
        ----------
        columns, amount, n_jobs, places, memory
            As in `gather_ranges`.
        units : ndarray of shape (n_rows,), int, or None
            The protected unit of each record, numbered from 0; None if each record is a unit.
        kinds : list of Kind
            Kinds of the columns, from `estimates.kinds_of`.

        Returns
        -------
        dict of ndarray of shape (N_LEAVES,), int
            Counts of the leaves of each tree.
        dict of dict
            Count of each text, for each column of texts.
        """
        leaves = {k: kind.leaves for k, kind in enumerate(kinds) if kind.leaves is not None}
        are_texts = [k for k, kind in enumerate(kinds) if kind.is_text]
        if not leaves and not are_texts:
            return {}, {}
        count = partial(_count_values, leaves=leaves, texts=are_texts, limits=self._limits)
        blocks = _blocks(columns, places, amount, units if are_texts else None)
        key = "values", leaves, are_texts, self._limits
        counts, *texts = _added(count, blocks, len(amount), n_jobs, memory, key)
        return dict(zip(leaves, counts, strict=True)), dict(zip(are_texts, texts, strict=True))

    def publish_values(
        self,
        gathered: tuple[dict[int, np.ndarray], dict[int, dict[str, int]]],
        rng: np.random.Generator,
    ) -> Values:
        """Return the noisy counts of the second step."""
        trees, texts = gathered
        sd_trees, sd_texts = self.sd_values(n_trees=len(trees), n_texts=len(texts))
        on_trees, on_texts = (DiscreteGaussian(sd * TICKS) for sd in (sd_trees, sd_texts))
        noisy_trees: dict[int, list[np.ndarray]] = {}
        for some in _batches(trees, _TREES_AT_ONCE):
            nodes = np.array([_counts_of_nodes(trees[k]) for k in some])
            noisy = plus_noise(nodes, on_trees.sample(rng, nodes.shape), 1 / TICKS)
            noisy_trees |= {k: _levels_of(row) for k, row in zip(some, noisy, strict=True)}
        threshold = self.threshold(sd_texts) if texts else 0
        noisy_texts = {}
        for k, counts in texts.items():
            names = sorted(counts)
            ticks = np.array([counts[name] for name in names], dtype=object)
            noisy = ticks + on_texts.sample(rng, (len(names),)).astype(object)
            noisy_texts[k] = {
                name: float(count) / TICKS
                for name, count in zip(names, noisy, strict=True)
                if count >= threshold
            }
        return Values(noisy_trees, noisy_texts, sd_trees, sd_texts)


def _batches(keys: Iterable[int], size: int) -> Iterator[list[int]]:
    """Yield the keys in lists of at most this size."""
    keys = list(keys)
    return (keys[start : start + size] for start in range(0, len(keys), size))


def _counts_of_nodes(leaves: np.ndarray) -> np.ndarray:
    """Return the counts of the nodes of a tree without its root, level by level, (1022,)."""
    levels = [leaves.reshape(2**level, -1).sum(axis=1) for level in range(1, N_LEVELS + 1)]
    return np.concatenate(levels)


def _levels_of(nodes: np.ndarray) -> list[np.ndarray]:
    """Return the counts of the nodes of each level, from the result of `_counts_of_nodes`."""
    return np.split(nodes, [2**level - 2 for level in range(2, N_LEVELS + 1)])


def _sd(squared_change: float, mu: float) -> float:
    """Return the noise standard deviation for a squared L2 change and a Gaussian mu."""
    return math.sqrt(squared_change) / mu * _ROUNDED


# --- counting -------------------------------------------------------------------------------------


def _bins_by_top_bits() -> np.ndarray:
    """Return the bin of a number by the sign and the exponent of its float, (4096,)."""
    sign, exponent = np.divmod(np.arange(4096), 2048)
    power = np.clip(exponent - 1023, MIN_POWER, MAX_POWER) - MIN_POWER
    return np.where(sign == 0, _ZERO + 1 + power, _ZERO - 1 - power)


_BIN_BY_TOP_BITS = _bins_by_top_bits()


def range_bins(cells: Cells) -> np.ndarray:
    """Return the bin of each cell in the first step, (n_rows,), independently of other cells."""
    bins = _bins_of_numbers(cells.numbers)
    return bins if cells.texts is None else np.where(cells.are_texts, TEXT, bins)


def _bins_of_numbers(numbers: np.ndarray) -> np.ndarray:
    """Return the bin of each number, (n_rows,); NaN is a gap."""
    bits = np.ascontiguousarray(numbers, dtype=np.float64).view(np.uint64)
    bins = _BIN_BY_TOP_BITS[bits >> np.uint64(52)]
    bins[numbers == 0] = _ZERO
    bins[np.isnan(numbers)] = GAP
    return bins


def _column(columns: Any, k: int) -> Any:
    if hasattr(columns, "iloc"):
        return columns.iloc[:, k]
    # Booleans of an array become 0 and 1
    return columns[:, k].astype(float) if columns.dtype.kind == "b" else columns[:, k]


def _cells_within(
    block: _Rows, k: int, limits: tuple[Limits, ...]
) -> Iterator[tuple[Cells, np.ndarray]]:
    """Yield distinct cells and their ticks, for each of the columns that are counted together.

    Numbers are clipped to the limits. The ticks of a record are divided among the columns.
    """
    places, bounds = block.places[k], limits[k]
    amount = block.amount // len(places)
    for place in places:
        cells, codes = distinct_cells(_column(block.columns, place))
        if bounds is not None:
            cells = cells._replace(numbers=np.clip(cells.numbers, *bounds))
        own = amount if codes is None else _counted(codes, amount, len(cells.numbers))
        yield cells, own


def _count_ranges(block: _Rows, limits: tuple[Limits, ...]) -> list[Any]:
    """Return the counts of the first step of a block, (n_columns, N_BINS), in a list."""
    counts = np.zeros((len(limits), N_BINS), dtype=np.int64)
    for k, count in enumerate(counts):
        for cells, ticks in _cells_within(block, k, limits):
            count += _counted(range_bins(cells), ticks, N_BINS)
    return [counts]


def _counted(places: np.ndarray, amount: np.ndarray, n_places: int) -> np.ndarray:
    """Return the sum of the amounts at each place; a block is small enough for exact floats."""
    return np.bincount(places, weights=amount, minlength=n_places).astype(np.int64)


def _count_values(
    block: _Rows,
    leaves: dict[int, np.ndarray],
    texts: list[int],
    limits: tuple[Limits, ...],
) -> list[Any]:
    """Return the counts of the leaves of each tree, (n_trees, N_LEAVES), then those of texts.

    The counts of the texts of a column are a dict.
    """
    counts = np.zeros((len(leaves), N_LEAVES), dtype=np.int64)
    for count, (k, edges) in zip(counts, leaves.items(), strict=True):
        for cells, ticks in _cells_within(block, k, limits):
            are_numbers = ~np.isnan(cells.numbers)
            places = np.searchsorted(edges, cells.numbers[are_numbers], side="right") - 1
            places = np.clip(places, 0, N_LEAVES - 1)
            count += _counted(places, ticks[are_numbers], N_LEAVES)
    found = [
        _count_texts(_column(block.columns, block.places[k][0]), block.amount, block.units)
        for k in texts
    ]
    return [counts, *found]


def _count_texts(values: Any, amount: np.ndarray, units: np.ndarray | None) -> dict[str, int]:
    """Return the count of each text of a column.

    A unit of several records counts for one text, its most frequent one, with the weight of all of
    its texts. If several texts are most frequent, it is the first in sorted order.
    """
    cells, codes = distinct_cells(values)
    if codes is None and cells.texts is None:  # numbers: each distinct one is written once
        _, first, codes = np.unique(cells.numbers, return_index=True, return_inverse=True)
        cells = Cells(cells.numbers[first], None)
    elif codes is None:
        codes = np.arange(len(cells.numbers))
    texts = cells.all_texts()
    counts: dict[str, int] = {}
    if units is None:
        ticks = _counted(codes, amount, len(texts))
        for code in np.unique(codes):
            text = texts[code]
            if text is not None:
                counts[text] = counts.get(text, 0) + int(ticks[code])
        return counts
    by_unit: dict[int, dict[str, int]] = {}
    for code, ticks, unit in zip(codes.tolist(), amount.tolist(), units.tolist(), strict=True):
        text = texts[code]
        if text is not None:
            own = by_unit.setdefault(unit, {})
            own[text] = own.get(text, 0) + ticks
    for own in by_unit.values():
        text = min(own, key=lambda name: (-own[name], name))
        counts[text] = counts.get(text, 0) + sum(own.values())
    return counts


class _Rows(NamedTuple):
    """A block of records: columns, positions of those counted together, ticks, and units."""

    columns: Any
    places: tuple[tuple[int, ...], ...]
    amount: np.ndarray
    units: np.ndarray | None


def count_numeric_records(X: Any) -> int:
    """Return the private number of records with numbers alone: no texts, and no 0 or 1.

    Columns of 0 and 1 indicate categories. Replacing a record changes the number by at most 1, as
    each cell is judged alone. Gaps do not matter.

    Parameters
    ----------
    X : DataFrame or array of shape (n_records, n_columns)
        Private rows.
    """
    table = checked_table(X)
    blocks = (_safe_indexing(table, rows) for rows in row_blocks(len(table), None))
    return sum(map(_count_numeric, blocks))


def _count_numeric(block: Any) -> int:
    """Return the number of records of a block with numbers alone."""
    have_others = np.zeros(len(block), dtype=bool)
    for k in range(block.shape[1]):
        cells, codes = distinct_cells(_column(block, k))
        are_others = cells.are_texts | (cells.numbers == 0) | (cells.numbers == 1)
        have_others |= are_others if codes is None else are_others[codes]
    return int(np.count_nonzero(~have_others))


def _blocks(
    columns: Any,
    places: Sequence[int | tuple[int, ...]] | None,
    amount: np.ndarray,
    units: np.ndarray | None,
) -> Iterator[_Rows]:
    """Yield blocks of records; with units, all records of a unit are in one block."""
    n_columns = columns.shape[1]
    given = range(n_columns) if places is None else places
    parts = [(part,) if isinstance(part, int) else part for part in given]
    used = [k for part in parts for k in part]
    is_all = used == list(range(n_columns))
    ends = np.cumsum([0, *map(len, parts)])
    positions = tuple(tuple(range(*pair)) for pair in pairwise(ends.tolist()))
    for rows in row_blocks(len(amount), units):
        block = without_index(_safe_indexing(columns, rows))
        if not is_all:
            block = block.iloc[:, used] if hasattr(block, "iloc") else block[:, used]
        yield _Rows(block, positions, amount[rows], None if units is None else units[rows])


def _added(
    count: Callable[[_Rows], list[Any]],
    blocks: Iterator[_Rows],
    n_records: int,
    n_jobs: int | None,
    memory: Memory | None,
    key: tuple[Any, ...],
) -> list[Any]:
    """Add the counts of blocks, arrays and dicts, which are whole numbers and so exact.

    `memory` caches the counts of a block by its records and by `key`, which determines `count`.
    """
    memory = Memory(None) if memory is None else memory
    keeps = memory.location is not None
    count_one = partial(count_block, count=count, config=get_config(), memory=memory)
    tasks = ((block, (digest(*block), digest(*key)) if keeps else None) for block in blocks)
    total: list[Any] = []

    def add(result: Any) -> None:
        if not total:
            total.extend(dict(part) if isinstance(part, dict) else part for part in result.table)
            return
        for k, part in enumerate(result.table):
            if isinstance(part, dict):
                for text, ticks in part.items():
                    total[k][text] = total[k].get(text, 0) + ticks
            else:
                total[k] = total[k] + part

    size = block_batch_size(n_records, BLOCK_SIZE, n_jobs)
    start = partial(run, function=count_one, n_jobs=n_jobs, batch_size=size)
    add_up(add, start, tasks, threads=threads_per_worker(n_jobs))
    return total


# --- contribution and cost ------------------------------------------------------------------------


def schema_contribution(neighbors: Neighbors) -> Contribution:
    """Return the contribution of one unit to a schema release; see `SchemaRelease`."""
    l2_squared = 0.5 if neighbors.n_units == 1 else 1.0
    return Contribution(l1=math.inf, l2_squared=l2_squared, linf=math.inf)


def _changed(l2_squared: float) -> Contribution:
    return Contribution(l1=math.inf, l2_squared=l2_squared, linf=math.inf)


def schema_cost(
    release: SchemaRelease,
    contribution: Contribution,
    n_steps: int | None,
    orders: ArrayLike = DEFAULT_ORDERS,
) -> Cost:
    """Return the `Cost` of a schema release, or of its first step if `n_steps` is 1."""
    mu_squared, delta = release.cost(contribution, n_steps=1 if n_steps == 1 else 2)
    return Cost(check_orders(orders) * mu_squared / 2, mu_squared, math.inf, delta)
