"""Rows drawn from noisy histograms of the columns."""

import math
from copy import copy
from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
from scipy.special import softmax
from sklearn.base import clone

from .._sklearn import Interval
from ..aggregators import GaussianMechanism, LaplaceMechanism, TableMechanism
from ..aggregators.table import checked_noisy
from ..neighbors.cells import count_ballots
from ..neighbors.electorate import told_of_noise
from ..neighbors.rates import LEAST_RATE, floored
from ..rdp import DEFAULT_ORDERS
from ..rdp.checks import check_count
from ..rdp.table import GRID
from .base import ColumnSynthesizer
from .columns import Columns

#: Each bin of each class gets this many standard deviations of the noise, in records, that are
#: shared as in all classes together.
_PULL = 0.3

#: Noise moves no sum of counts by this many of its standard deviations.
_SURE = 5

#: Warned of is more noise: that on the bins of a column, together, beside the records of a class.
#: docs/no_public_rows.md has the runs it was chosen by.
_MOST_NOISE = 0.4


@dataclass(frozen=True, eq=False, repr=False)
class ReleasedHistograms:
    """Histograms of each column for each class, less their noise: all of this is published.

    Attributes
    ----------
    schema : Columns
        What is public of the columns.
    n_records : float
        Number of records, as released.
    class_shares : ndarray of shape (n_classes,)
        They sum to 1.
    bin_shares : list of ndarray of shape (n_bins, n_classes)
        For each column, the shares of its bins in each class, which sum to 1.
    noise_std : float
        Standard deviation of the noise that was on each count.
    """

    schema: Columns
    n_records: float
    class_shares: np.ndarray
    bin_shares: list
    noise_std: float

    #: Powers of the rates that are tried beside those of cells: columns that lean on each other
    #: make them far too sure.
    powers = (0.0, 0.125, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)

    def __repr__(self):
        return (
            f"ReleasedHistograms({len(self.class_shares)} classes, {len(self.bin_shares)} columns)"
        )

    @property
    def is_flat(self):
        """Whether no bin of a class has more or fewer records than noise explains."""
        sizes = self.n_records * self.class_shares
        gaps = [np.abs(part - (part @ self.class_shares)[:, None]) for part in self.bin_shares]
        return max((sizes * gap).max() for gap in gaps) < _SURE * self.noise_std

    def rates(self, X):
        """Return the rates of the classes, of rows with the declared columns, each by itself.

        Columns are taken to be unrelated given the class. A value without a bin says nothing.

        Parameters
        ----------
        X : DataFrame or array-like with n_samples rows
            As declared; dtypes may be others.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Rows sum to 1.
        """
        sizes = self.n_records * self.class_shares
        pull = _PULL * max(self.noise_std, 1.0)
        logits = np.log(np.maximum(self.class_shares, LEAST_RATE))
        for part, bins in zip(self.bin_shares, self.schema.bins(self.schema.like(X)), strict=True):
            overall = (part @ self.class_shares)[:, None]
            says = np.log((sizes * part + pull) / (sizes * overall + pull))
            logits = logits + np.append(says, np.zeros((1, len(sizes))), axis=0)[bins]
        return floored(softmax(logits, axis=1))


class MarginalSynthesizer(ColumnSynthesizer):
    """Draws public rows from noisy histograms of the private columns, each given the label.

    For people who have no public rows. Each column is counted in bins, for each class, and so are
    the classes. All counts get noise, once. Then a row's class is drawn, which is not kept, and
    each of its values by itself, given the class. So the rows are right column by column, and they
    say of how two columns go together only what follows from the label.

    Where a `PATEClassifier` says nothing of who votes, and this nothing of how histograms are
    released (`n_bins`, `share`, `noise`), it declares columns alone: the fit does what it does with
    a `schema`.

    Names and dtypes of the columns are taken to be public, as are the parameters, which must say
    what each column may hold; a list of rows is taken for an array of floats. Categories of pandas'
    categoricals are part of their dtype: all of them are published, whether drawn or not.
    `astype("category")` reads them from the private rows, and nothing here can warn of that: use a
    ``pd.CategoricalDtype([...])``.

    Parameters
    ----------
    bounds : dict or tuple of numbers, default=None
        Where numbers lie: (low, high) for each column, or one pair for all columns of numbers.
        Columns of arrays go by their position. Each bound has a bin of its own, where numbers
        beyond it count as well, as many a column has mostly one of them (nothing earned, nobody
        ill). Between them are bins of equal width. More than two numbers are the edges of all bins
        instead, which suits skewed columns: ``(0, 1, 1_000, 10_000, 100_000, 1_000_000)``.
    categories : dict, default=None
        The values of columns that are no numbers, and of numbers that are codes or have few values
        (terms of 12, 24 or 36 months come out as 13 as well if not). Those of pandas' categoricals
        and of truth values are known. Another value counts nowhere.
    missing : list, default=None
        Columns that may have missing values, which then have a bin of their own; in any other they
        count nowhere. Where one may be missing among whole numbers, fix the dtype as well,
        ``Int64``: without, pandas has int64 or float64 as one is missing or not, and drawn rows
        show which.
    n_rows : int, default=5000
        Number of rows to draw.
    n_bins : int, default=32
        Number of bins of a column of numbers, at least 3. Whole numbers have a bin each, if they
        are fewer.
    share : float or None, default=None
        Share of epsilon that the noise may cost, between 0 and 1; None is
        `rules.default_share`.
    noise : TableMechanism or None, default=None
        Noise on every count: `LaplaceMechanism` or `GaussianMechanism`, whose size is in records,
        and calibrated where it is None. None is ``LaplaceMechanism()``, but in a `PATEClassifier`
        whose votes spend a delta, ``GaussianMechanism()``, which is smaller then.

    Attributes
    ----------
    schema_ : columns.Columns
        What is public of the table: fixed by `declare`.
    released_ : ReleasedHistograms
        What `draw` released.

    Notes
    -----
    One record adds at most 1 to one count of each histogram. If it is replaced, at most two counts
    of each move, by at most 1: together by ``2 * n_tables``, and by ``n_tables`` where records can
    only join or leave. A group counts as the mean of its records' histograms, rounded down to
    multiples of 2**-20, so it moves no more than one record.

    References
    ----------
    Held, Wolfe, Crowder (1974) for the nearest distribution to noisy counts.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from sklearn_pate.aggregators import LaplaceMechanism
    >>> from sklearn_pate.synthesis import MarginalSynthesizer
    >>> private = pd.DataFrame({"age": [31, 64, 45] * 200, "smokes": [True, False, False] * 200})
    >>> known = {"bounds": {"age": (18, 100)}, "missing": []}
    >>> synthesizer = MarginalSynthesizer(**known, n_rows=3, noise=LaplaceMechanism(6.0))
    >>> synthesizer = synthesizer.declare(private, classes=[0, 1])
    >>> synthesizer.cost(n_moved=2).pure
    1.0
    >>> labels = np.tile([0, 1, 1], 200)
    >>> generators = {"noise": np.random.default_rng(0), "rng": np.random.default_rng(1)}
    >>> synthesizer.draw(private, labels, n_classes=2, **generators)
       age  smokes
    0   43   False
    1   64   False
    2   72    True
    """

    released_as = "noisy histograms of the columns"

    _parameter_constraints = {
        **ColumnSynthesizer._parameter_constraints,
        "n_bins": [Interval(Integral, 3, None, closed="left")],
        "share": [Interval(Real, 0, 1, closed="neither"), None],
        "noise": [TableMechanism, None],
    }

    def __init__(
        self,
        bounds=None,
        *,
        categories=None,
        missing=None,
        n_rows=5000,
        n_bins=32,
        share=None,
        noise=None,
    ):
        self.bounds = bounds
        self.categories = categories
        self.missing = missing
        self.n_rows = n_rows
        self.n_bins = n_bins
        self.share = share
        self.noise = noise

    @property
    def is_pure(self):
        """Whether the noise is pure."""
        return self._mechanism().is_pure

    @property
    def is_exact(self):
        """Whether the noise is discrete."""
        return self._mechanism().is_exact

    @property
    def n_tables(self):
        """Number of histograms, in each of which a record counts once."""
        self._check_declared()
        return len(self.schema_.columns) + 1

    def suited_to(self, *, pure):
        """Return a copy with Laplace noise for pure votes, else Gaussian; see `Synthesizer`."""
        if self.noise is not None:
            return self
        return self._with_noise(LaplaceMechanism() if pure else GaussianMechanism())

    def with_scale(self, scale):
        """Return a copy with noise of this scale, in records; None if the noise is set."""
        noise = self._mechanism().with_scale(scale)
        return None if noise is None else self._with_noise(noise)

    def _with_noise(self, noise):
        return copy(self).set_params(noise=noise)  # scikit-learn's clone would drop the schema

    def cost(self, n_moved, orders=DEFAULT_ORDERS):
        """Return what the noisy histograms cost, for every table; see `Synthesizer.cost`."""
        return self._mechanism().cost(check_count("n_moved", n_moved) * self.n_tables, orders)

    def forecast(self, *, n_records, n_classes):
        """Say that the noise drowns the columns; see `Synthesizer.forecast`."""
        self._check_declared()
        n_bins = [column.n_bins for column in self.schema_.columns]
        noise = self._mechanism().noise_std * math.sqrt(sum(n_bins) / len(n_bins)) * n_classes
        n_expected, of_whom = n_records, "private records"
        if n_records is None:
            n_expected, of_whom = int(self.n_rows), "rows to draw, as many records as are expected"
        what = "columns of the synthetic rows"
        fewer = " or fewer columns, lower n_bins"
        return told_of_noise(what, n_expected, noise / _MOST_NOISE, of_whom, fewer=fewer)

    def _mechanism(self):
        return LaplaceMechanism() if self.noise is None else self.noise

    def _counted(self, X, codes, weight, groups, n_classes, noise):
        """Return the histograms, one below the other, in whole shares of a record.

        A column of the table for each class, a row for each bin of each column, and a last row for
        the labels.
        """
        options = {"n_classes": n_classes, "sample_weight": weight, "groups": groups}
        tables = [
            count_ballots(bins[:, None], codes, n_cells=column.n_bins, **options)
            for column, bins in zip(self.schema_.columns, self.schema_.bins(X), strict=True)
        ]
        only_bin = np.zeros((len(codes), 1), dtype=np.int64)
        return np.concatenate([*tables, count_ballots(only_bin, codes, n_cells=1, **options)])

    def _drawn(self, counts, noise, rng):
        """Draw rows from noisy histograms, and note what these tell of the schema."""
        mechanism = clone(self._mechanism())  # the user's may keep the counts that it is given
        # Before it sees them, as it could say something of them; none if `noisy` will refuse
        noise_std = getattr(mechanism, "noise_std", None)
        noisy = checked_noisy(mechanism, counts * GRID, noise)
        ends = np.cumsum([column.n_bins for column in self.schema_.columns])
        *tables, sizes = np.split(noisy, ends)
        self.released_ = cleaned(self.schema_, tables, sizes[0], noise_std)
        return self._rows(self.released_, rng)

    def _rows(self, histograms, rng):
        """Draw rows from histograms: a class, and the values of all columns given it."""
        n_rows = int(self.n_rows)
        codes = rng.choice(len(histograms.class_shares), n_rows, p=histograms.class_shares)
        bins = [np.empty(n_rows, dtype=np.int64) for _ in histograms.bin_shares]
        for code in np.flatnonzero(histograms.class_shares):
            rows = np.flatnonzero(codes == code)
            for drawn, part in zip(bins, histograms.bin_shares, strict=True):
                drawn[rows] = rng.choice(len(part), len(rows), p=part[:, code])
        return self.schema_.rows(bins, rng)


def cleaned(schema, tables, sizes, noise_std):
    """Return what noisy histograms say, a `ReleasedHistograms`.

    Parameters
    ----------
    schema : Columns
        What is public of the columns.
    tables : list of ndarray of shape (n_bins, n_classes)
        The noisy histogram of each column.
    sizes : ndarray of shape (n_classes,)
        The noisy number of records of each class.
    noise_std : float
        Standard deviation of the noise on each count.
    """
    n_records = max(sizes.sum(), noise_std)
    class_shares = on_simplex(sizes / n_records)
    bin_shares = [np.zeros(table.shape) for table in tables]
    for code in np.flatnonzero(class_shares):
        total = n_records * class_shares[code]
        for part, table in zip(bin_shares, tables, strict=True):
            part[:, code] = shares(table[:, code], total, noise_std)
    return ReleasedHistograms(schema, n_records, class_shares, bin_shares, noise_std)


def on_simplex(numbers):
    """Return the nearest numbers that are at least 0 and sum to 1.

    Parameters
    ----------
    numbers : array-like of shape (n,)
        Any finite numbers, at least one.

    Returns
    -------
    ndarray of shape (n,)

    References
    ----------
    Held, Wolfe, Crowder (1974). Validation of subgradient optimization. Mathematical Programming.

    Examples
    --------
    >>> from sklearn_pate.synthesis.marginal import on_simplex
    >>> on_simplex([0.75, 0.5, -0.5])
    array([0.625, 0.375, 0.   ])
    """
    numbers = np.asarray(numbers, dtype=float)
    numbers = numbers - numbers.max()  # the same result, and no large numbers that cancel
    descending = np.sort(numbers)[::-1]
    levels = (np.cumsum(descending) - 1) / np.arange(1, len(numbers) + 1)
    n_kept = np.count_nonzero(descending > levels)
    kept = np.maximum(numbers - levels[n_kept - 1], 0)
    return kept / kept.sum()


def shares(counts, total, noise_std):
    """Return the shares of bins, from their noisy counts.

    Parameters
    ----------
    counts : ndarray of shape (n_bins,)
        Noisy counts.
    total : float
        Number of records that are expected in the bins together, above 0.
    noise_std : float
        Standard deviation of the noise on each count.

    Returns
    -------
    ndarray of shape (n_bins,)
        At least 0, and they sum to 1.

    Notes
    -----
    Where many bins are noise, their sum says little, and `total` says how much of it to take away.
    But values may have no bin. So the sum of the counts is taken for the total if it differs by
    more than two standard deviations of its noise.
    """
    own = counts.sum()
    if abs(own - total) > 2 * noise_std * np.sqrt(len(counts)):
        total = max(own, noise_std, 1.0)
    return on_simplex(counts / total)
