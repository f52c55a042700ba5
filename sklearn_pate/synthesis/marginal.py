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
from ..neighbors.rates import LEAST_RATE, floored
from ..rdp import DEFAULT_ORDERS
from ..rdp.checks import check_count
from ..rdp.table import GRID
from .base import ColumnSynthesizer
from .columns import Columns, NumberColumn
from .schema import named

#: Each bin of each class gets this many standard deviations of the noise, in records, that are
#: shared as in all classes together.
_PULL = 0.3

#: Noise moves no sum of counts by this many of its standard deviations.
_SURE = 5


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
    released (`n_bins`, `given_label`, `share`, `noise`), it declares columns alone: the fit does
    what it does with a `schema`.

    Names and dtypes of the columns are taken to be public, as are the parameters. Categories of
    pandas' categoricals are part of their dtype: all of them are published, whether drawn or not.
    `astype("category")` reads them from the private rows, and nothing here can warn of that: use a
    ``pd.CategoricalDtype([...])``. Bounds, whether values are missing, and the dtype of a list of
    rows, that nothing tells, are read from the private rows, with a `PrivacyLeakWarning`. Text
    needs its categories.

    Parameters
    ----------
    bounds : dict, tuple of numbers or list of pairs, default=None
        Where numbers lie: (low, high) for each column, or one pair for all columns of numbers.
        Columns of arrays go by their position. A list has a pair for each column in order, if all
        hold numbers. Each bound has a bin of its own, where numbers beyond it count as well, as
        many a column has mostly one of them (nothing earned, nobody ill). Between them are bins of
        equal width. More than two numbers are the edges of all bins instead, which suits skewed
        columns: ``(0, 1, 1_000, 10_000, 100_000, 1_000_000)``.
    categories : dict, default=None
        The values of columns that are no numbers, and of numbers that are codes or have few values
        (terms of 12, 24 or 36 months come out as 13 as well if not). Those of pandas' categoricals
        and of truth values are known. Another value counts nowhere.
    missing : list, default=None
        Columns that may have missing values, which then have a bin of their own; in any other they
        count nowhere. A missing value among the `categories` of a column says the same. None reads
        it from the private rows, of whole numbers by their dtype. Where one may be missing, fix the
        dtype as well, ``Int64``: without, pandas has int64 or float64 as one is missing or not, and
        drawn rows show which.
    n_rows : int, default=5000
        Number of rows to draw.
    n_bins : int, default=32
        Number of bins of a column of numbers. Whole numbers have a bin each, if they are fewer.
    given_label : bool, default=True
        Whether the columns are counted for each class. If not, labels are not looked at.
    share : float or None, default=None
        Share of epsilon that the noise may cost, between 0 and 1; None is
        `rules.default_share`.
    noise : TableMechanism or None, default=None
        Noise on every count: `LaplaceMechanism` or `GaussianMechanism`, whose size is in records,
        and calibrated where it is None. None is ``LaplaceMechanism()``, but in a `PATEClassifier`
        whose votes spend a delta, ``GaussianMechanism()``, which is smaller then.

    Attributes
    ----------
    schema_ : schema.Columns
        What is public of the table: fixed by `declare`.
    not_covered_ : tuple of str
        What `declare` read from the private rows.
    findings_ : list of str
        What the noisy counts of `draw` tell of bounds, categories and missing values that do not
        suit the records. A fit warns of it.
    released_ : ReleasedHistograms
        What `draw` released; with `given_label` only.

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
        "n_bins": [Interval(Integral, 1, None, closed="left")],
        "given_label": ["boolean"],
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
        given_label=True,
        share=None,
        noise=None,
    ):
        self.bounds = bounds
        self.categories = categories
        self.missing = missing
        self.n_rows = n_rows
        self.n_bins = n_bins
        self.given_label = given_label
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
        return len(self.schema_.columns) + bool(self.given_label)

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
        return _drowned(
            n_bins,
            n_tables=self.n_tables,
            n_classes=n_classes if self.given_label else 1,
            noise_std=self._mechanism().noise_std,
            growth=0.5 if isinstance(self._mechanism(), GaussianMechanism) else 1.0,
            n_records=n_records,
            n_rows=int(self.n_rows),
        )

    def _mechanism(self):
        return LaplaceMechanism() if self.noise is None else self.noise

    def _counted(self, X, codes, weight, groups, n_classes, noise):
        """Return the histograms, one below the other, in whole shares of a record.

        A column of the table for each class, a row for each bin of each column, and a last row for
        the labels.
        """
        if not self.given_label:
            codes = np.zeros_like(codes)
            n_classes = 1
        options = {"n_classes": n_classes, "sample_weight": weight, "groups": groups}
        tables = [
            count_ballots(bins[:, None], codes, n_cells=column.n_bins, **options)
            for column, bins in zip(self.schema_.columns, self.schema_.bins(X), strict=True)
        ]
        if self.given_label:
            only_bin = np.zeros((len(codes), 1), dtype=np.int64)
            tables.append(count_ballots(only_bin, codes, n_cells=1, **options))
        return np.concatenate(tables)

    def _drawn(self, counts, noise, rng):
        """Draw rows from noisy histograms, and note what these tell of the schema."""
        mechanism = clone(self._mechanism())  # the user's may keep the counts that it is given
        # Before it sees them, as it could say something of them; none if `noisy` will refuse
        noise_std = getattr(mechanism, "noise_std", None)
        noisy = checked_noisy(mechanism, counts * GRID, noise)
        ends = np.cumsum([column.n_bins for column in self.schema_.columns])
        tables = np.split(noisy[: ends[-1]], ends[:-1])
        sizes = noisy[-1] if self.given_label else None
        self.findings_ = _findings(tables, sizes, self.schema_, noise_std)
        if sizes is None:
            sizes = _size_without_labels(tables)
        histograms = cleaned(self.schema_, tables, sizes, noise_std)
        if self.given_label:
            self.released_ = histograms
        return self._rows(histograms, rng)

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


def _size_without_labels(tables):
    """Return the number of records, an array of one, by columns of few bins above all."""
    trust = np.array([1 / len(table) for table in tables])
    sums = np.array([table.sum() for table in tables])
    return np.array([(trust * sums).sum() / trust.sum()])


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


# --- whether the noise drowns the records, by public numbers ------------------------------------

#: Warned of is more noise: that on the bins of a column, together, beside the records of a class.
#: docs/no_public_rows.md has the runs it was chosen by.
_MOST_NOISE = 0.4

#: Fewer bins are too coarse, two of them being the bounds.
_FEWEST_BINS = 8


def _drowned(n_bins, *, n_tables, n_classes, noise_std, growth, n_records, n_rows):
    """Say that the noise drowns the records, and what would help; None if it does not.

    Parameters
    ----------
    n_bins : list of int
        Number of bins of each column.
    n_tables : int
        Number of histograms: the label may have one beside the columns.
    n_classes : int
        For each of which a column has a histogram.
    noise_std : float
        Standard deviation of the noise on each count, in records.
    growth : float
        The noise at equal cost grows with this power of the number of histograms.
    n_records : int or None
        Number of private records. None where it is private: that of the rows that are drawn takes
        its place.
    n_rows : int
        Number of rows that are drawn.

    Returns
    -------
    str or None
    """
    n_columns = len(n_bins)
    usual = sum(n_bins) / n_columns
    n_expected = n_rows if n_records is None else n_records
    factor = noise_std * math.sqrt(usual) * n_classes / n_expected / _MOST_NOISE
    if factor <= 1 + 1e-9:  # as much as floats may round, here and below
        return None
    of_whom = f"{n_expected} private records"
    if n_records is None:
        of_whom = f"{n_expected} rows to draw, as many records as are expected"
    helps = []
    n_fit = int(n_tables * factor ** (-1 / growth) + 1e-9) - (n_tables - n_columns)
    if n_columns > 1:
        helps.append(f"fewer columns ({n_fit} would do)" if n_fit > 1 else "fewer columns")
    n_coarser = int(usual / factor**2)
    if n_coarser >= _FEWEST_BINS:
        helps.append(f"n_bins={n_coarser}")
    digits = 1 - math.floor(math.log10(factor))
    times = f"about {math.ceil(factor * 10**digits) / 10**digits:g} times"  # rounded up
    helps.append(f"an epsilon {times} as large")
    return (
        f"the noise drowns the columns of the synthetic rows: its standard deviation on each count "
        f"is {noise_std:.3g} records, and there are {of_whom}, for {n_classes} x {usual:.0f} "
        f"counts in each of {n_columns} columns. What would help: {', '.join(helps)} or {times} "
        "as many records"
    )


# --- what noisy counts tell ----------------------------------------------------------------------

#: Told of are bins that hold more than this share of the records, side by side and no more than
#: one in so many, and a column that loses more than that share; whatever the noise.
_CROWDED = 0.8
_ONE_IN = 5
_LOST = 0.1

_LAST_WORDS = (
    "This is told by noisy counts alone. Let public knowledge mend it, not a look at the records; "
    "another fit spends anew"
)


def _findings(tables, sizes, schema, noise_std):
    """Return what noisy histograms tell of bounds, categories and missing values.

    Parameters
    ----------
    tables : list of ndarray of shape (n_bins, n_classes)
        The noisy histograms of the columns.
    sizes : ndarray of shape (n_classes,) or None
        The noisy number of records of each class; None if the labels are not counted.
    schema : Columns
        What was declared of the columns.
    noise_std : float
        Standard deviation of the noise on each count.

    Returns
    -------
    list of str
    """
    crowded = []
    lost = []
    names = range(len(tables)) if schema.names is None else schema.names
    for k, (name, column, table) in enumerate(zip(names, schema.columns, tables, strict=True)):
        counted = [*tables[:k], *tables[k + 1 :]] if sizes is None else [sizes]
        if not counted:
            continue
        # The number of records: of the labels, else of the fullest other column
        records = max(counted, key=lambda counts: _least(noise_std, (1, counts)))
        if _is_crowded(column, table, records, noise_std):
            crowded.append(name)
        if _least(noise_std, (1, records), (-1, table), (-_LOST, records)) > 0:
            lost.append(name)
    return _in_words(crowded, lost)


def _least(noise_std, *parts):
    """Return the least that noisy counts may sum to without the noise, each part by a factor."""
    value = sum(factor * counts.sum() for factor, counts in parts)
    n_counts = sum(factor**2 * counts.size for factor, counts in parts)
    return value - _SURE * noise_std * math.sqrt(n_counts)


def _is_crowded(column, table, records, noise_std):
    """Whether a bin, or two side by side, hold nearly all records, and lie within the bounds.

    Bins of one value are not meant: what is drawn from them is right.
    """
    if not isinstance(column, NumberColumn):
        return False
    parts = [(-_CROWDED, records)]
    if column.may_be_missing:
        parts.append((_CROWDED, table[column.n_values]))
    inner = [k for k in range(1, column.n_values - 1) if column.is_wide(k)]
    widths = [width for width in (1, 2) if column.n_values >= width * _ONE_IN]
    return any(
        _least(noise_std, (1, table[k : k + width]), *parts) > 0
        for k in inner
        for width in widths
        if k + width - 1 in inner
    )


def _in_words(crowded, lost):
    texts = []
    if crowded:
        texts.append(
            f"nearly all records lie in one or two bins of columns {named(crowded)}, over which "
            "drawn values are spread: give narrower bounds, or the edges of all bins, most of them "
            f"where values are dense. {_LAST_WORDS}"
        )
    if lost:
        texts.append(
            f"many records have no bin in columns {named(lost)}, and drawn rows follow the others: "
            "give the categories that occur, spelled and of the type that they have in X, and name "
            f"columns whose values may be missing in missing=[...]. {_LAST_WORDS}"
        )
    return texts
