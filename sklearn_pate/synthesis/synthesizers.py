"""Public rows where there are none: the protocol, marginals of columns, and class sums."""

import math
from abc import ABCMeta, abstractmethod
from copy import copy
from dataclasses import dataclass
from functools import cached_property, partial
from numbers import Integral, Real

import numpy as np
from scipy.special import softmax
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import Normalizer, PolynomialFeatures

from .._sklearn import CheckedEstimator, Interval
from ..aggregators import GaussianMechanism, LaplaceMechanism, TableMechanism
from ..aggregators.table import checked_noisy
from ..class_sums.discriminants import Discriminants
from ..class_sums.statistic import (
    CONSTANT,
    COUNT_WEIGHT,
    Centre,
    Sums,
    centre_cost,
    gather_sums,
    gather_total,
    noise_sizes,
    publish_centre,
    publish_sums,
    sums_contribution,
    sums_cost,
    ticks_of,
    unit,
)
from ..encoding.encoders import encoder_of_bins, encoder_of_numbers
from ..encoding.fitted_steps import affine_by_hand, proba_by_softmax, scaler_by_hand
from ..encoding.schema import Columns, declared_columns
from ..forecasts import noise_exceeds
from ..neighbors.cells import LEAST_RATE, count_votes, floored, numbered
from ..rdp import Event, ProvedEvent
from ..rdp.discrete import GRID
from ..readouts import ReleasedProba
from ..releases.base import BaseRelease
from ..runtime.blocks import Block
from ..runtime.isolation import attempt, suppress_output
from ..runtime.workers import WorkerDeathError


class Synthesizer(CheckedEstimator, BaseRelease, metaclass=ABCMeta):
    """Base class: draws public rows from noisy statistics of private ones.

    The statistics are released before the votes, in one step or several. For each step, a fit calls
    `gather`, which is private and free, records the cost, and calls `publish`, which adds noise.
    Then `draw` draws rows from the published parts. A subclass has the parameters
    `epsilon_fraction`, the part of epsilon that its noise may cost (a number between 0 and 1, or
    None for `rules.default_rows_fraction`), and `n_rows`, the number of rows to draw. The library
    calls `declare` on a clone first, then `with_scale`, `event` and `dry_run_rows`, then the steps,
    then `draw`, once.
    Parameters follow scikit-learn's conventions. What `suited_to` and `with_scale` return must know
    what `declare` found: make it by `copy.copy`, as `sklearn.base.clone` drops that.

    What `declare` keeps must follow from parameters, columns and dtypes alone, or be warned of and
    named in `not_covered_`; so must all errors.

    Attributes
    ----------
    not_covered_ : tuple of str
        What `declare` read from the private rows, for `PrivacySpent.not_covered`; no private value.
    """

    not_covered_ = ()

    #: What is released of the private rows, for statements.
    released_as = "noisy statistics of the columns"

    #: Number of steps: a later one may depend on the parts that earlier ones published.
    n_steps = 1

    @abstractmethod
    def declare(self, X, target):
        """Check parameters against what is public of the private table, and fix the schema.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_columns)
            Private rows. Names and dtypes of the columns are public.
        target : targets.Target or None
            Classes of the labels, or levels of the numbers; None where nobody declares them.

        Returns
        -------
        Synthesizer
            Itself, with `schema_`.

        Raises
        ------
        ValueError
            It says what was got and what was expected, and no private value.

        Warns
        -----
        PrivacyLeakWarning
            If part of the schema is read from the private rows; it names columns, never values.
        """

    def suited_to(self, *, pure):
        """Return a copy that suits votes that spend no delta, or some; here, itself.

        Parameters
        ----------
        pure : bool
            Whether the votes cost a pure epsilon and nothing else, so that rows should as well.
        """
        return self

    @abstractmethod
    def with_scale(self, scale):
        """Return a copy with noise of this scale, in records; None if the noise is set.

        Where the event is pure, its pure epsilon must be proportional to ``1 / scale``.
        """

    @abstractmethod
    def event(self, neighbors, n_steps=None):
        """Return the releases as the accountant sees them: their cost must hold for every table.

        Parameters
        ----------
        neighbors : rdp.Neighbors
            The neighboring data sets that are covered.
        n_steps : int or None, default=None
            Number of the first steps to count; None counts all of them.

        Returns
        -------
        rdp.Event or rdp.ProvedEvent
        """

    def forecast(self, *, n_records, n_classes):
        """Say that the noise, which is set, has the better of the records; here, nothing.

        Parameters
        ----------
        n_records : int or None
            Number of private records; None where it is private.
        n_classes : int
            Number of classes.

        Returns
        -------
        str or None
            A sentence or two, with what would help most; it is warned of. None if all is well.
        """
        return None

    def errors(self, *, n_records, n_classes):
        """Return why nothing can be learnt, as a tuple of sentences; here, none."""
        return ()

    def describe(self, *, n_records, n_classes):
        """Say what else than rows is released; None if nothing is."""
        return None

    @abstractmethod
    def dry_run_rows(self, n_rows, rng):
        """Draw rows from the schema alone.

        Parameters
        ----------
        n_rows : int
            Number of rows.
        rng : numpy.random.Generator
            Draws them.

        Returns
        -------
        DataFrame or ndarray with n_rows rows
            As those of `draw`.
        """

    @abstractmethod
    def gather(self, X, codes, *, target, sample_weight=None, groups=None, published=()):
        """Compute the private statistics of the next step. It costs nothing, and nothing leaves.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_columns)
            Private rows, with the columns of `declare`.
        codes : ndarray of shape (n_samples,)
            Labels or numbers as codes, from ``target.encode``.
        target : targets.Target
            Of classes; numbers are given to synthesizers of this library alone.
        sample_weight : ndarray of shape (n_samples,) or None
            Weight of each record, clipped to [0, 1].
        groups : array-like of shape (n_samples,) or None
            One identifier for each record. A group counts as the mean of its records.
        published : sequence
            The parts that earlier steps published.

        Returns
        -------
        object
            Private.
        """

    @abstractmethod
    def publish(self, gathered, rng, *, published=()):
        """Add noise to the statistics of a step, and return the published part.

        Parameters
        ----------
        gathered : object
            From `gather`.
        rng : numpy.random.Generator
            Source of all noise: the operating system's generator, unless the fit has a seed.
        published : sequence
            The parts that earlier steps published.

        Returns
        -------
        object
            Public.
        """

    @abstractmethod
    def draw(self, published, rng):
        """Draw rows from the published parts.

        Parameters
        ----------
        published : sequence
            The part of each step.
        rng : numpy.random.Generator
            Source of the rows.

        Returns
        -------
        DataFrame or ndarray with `n_rows` rows
            Columns, their order, dtypes and categories are those of the schema.
        """

    def synthesize(self, X, codes, *, target, noise, rng, sample_weight=None, groups=None):
        """Run all steps and draw rows: `gather` and `publish` in turn, then `draw`.

        No cost is recorded: a fit with this synthesizer does that.

        Parameters
        ----------
        X, codes, target, sample_weight, groups
            As in `gather`.
        noise : numpy.random.Generator
            Source of the noise.
        rng : numpy.random.Generator
            Source of the rows.

        Returns
        -------
        DataFrame or ndarray with `n_rows` rows
        """
        given = {"target": target, "sample_weight": sample_weight, "groups": groups}
        published = []
        for _ in range(self.n_steps):
            gathered = self.gather(X, codes, **given, published=published)
            published.append(self.publish(gathered, noise, published=published))
        return self.draw(published, rng)


class ColumnSynthesizer(Synthesizer):
    """Base class: draws rows from statistics of declared columns.

    A subclass has `_counted`, which returns the statistics of a `Block` of records.
    """

    n_bins = 32

    _parameter_constraints = {
        "bounds": [dict, list, tuple, np.ndarray, None],
        "categories": [dict, None],
        "n_rows": [Interval(Integral, 1, None, closed="left")],
    }

    def declare(self, X, target):
        """Fix the schema; see `Synthesizer.declare`."""
        self._validate_params()
        self.schema_ = declared_columns(
            X, self.bounds, self.categories, self.missing, n_bins=int(self.n_bins)
        )
        return self

    def dry_run_rows(self, n_rows, rng):
        """Draw rows from the schema alone; see `Synthesizer.dry_run_rows`."""
        self._check_declared()
        return self.schema_.any_rows(n_rows, rng)

    def gather(self, X, codes, *, target, sample_weight=None, groups=None, published=()):
        """Compute the statistics of records; see `Synthesizer.gather`."""
        self._check_declared()
        X = self.schema_.check(X)
        with suppress_output():
            records = Block(X, codes, sample_weight, numbered(groups, len(X)))
            found, failed = attempt(partial(self._counted_or_died, records, target, published))
        if failed is not None:
            raise ValueError(f"the private rows could not be counted: {failed}, in their values")
        counted, death = found
        if death is not None:
            raise ValueError(f"the private rows could not be counted: {death}")
        return counted

    def _counted_or_died(self, records, target, published):
        """Return the statistics, and the text of the death of workers, or None."""
        try:
            return self._counted(records, target, published), None
        except WorkerDeathError as error:
            return None, str(error)

    def _check_declared(self):
        if not hasattr(self, "schema_"):
            raise NotFittedError(f"{type(self).__name__} knows no columns yet; call declare first")


# --- rows drawn from noisy histograms of the columns ----------------------------------------------


#: Each bin of each class gets this many standard deviations of the noise, in records, that are
#: shared as in all classes together.
_PULL = 0.3

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
        n_classes, n_columns = len(self.class_shares), len(self.bin_shares)
        return f"ReleasedHistograms({n_classes} classes, {n_columns} columns)"

    @property
    def class_counts(self):
        """Number of records of each class, as released; see `ReleasedTable.class_counts`."""
        return self.n_records * self.class_shares, self.noise_std

    @property
    def p_value(self):
        """Of the bin that differs most, if all bins are as frequent in each class."""
        sizes = self.n_records * self.class_shares
        n_counts, largest = 0, 0.0
        for part in self.bin_shares:
            overall = (part @ self.class_shares)[:, None]
            spread = np.sqrt(self.noise_std**2 + sizes * overall + 1e-300)
            largest = max(largest, (np.abs(part - overall) * sizes / spread).max())
            n_counts += part.size
        # The tails are those of Laplace noise, the heaviest
        return float(min(1.0, n_counts * math.exp(-math.sqrt(2) * largest)))

    def class_proba(self, X):
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
        logits = self._overall()
        for part, bins in zip(self.bin_shares, self.schema.bins(self.schema.like(X)), strict=True):
            no_bin = np.zeros((1, len(logits.T)))
            logits = logits + np.append(self._weights(part), no_bin, axis=0)[bins]
        return floored(softmax(logits, axis=1))

    def _overall(self):
        """Return the logarithm of each class's share, (n_classes,)."""
        return np.log(np.maximum(self.class_shares, LEAST_RATE))

    def _weights(self, part):
        """Return what each bin of a column adds to the logarithms, (n_bins, n_classes)."""
        sizes = self.n_records * self.class_shares
        pull = _PULL * max(self.noise_std, 1.0)
        overall = (part @ self.class_shares)[:, None]
        return np.log((sizes * part + pull) / (sizes * overall + pull))

    def by_hand(self):
        """Return fitted steps of scikit-learn's own that make the rates of rows."""
        encoder, combine = encoder_of_bins(self.schema)
        weights = combine([self._weights(part) for part in self.bin_shares])
        return [encoder, *affine_by_hand(weights, self._overall()), *proba_by_softmax(LEAST_RATE)]


class MarginalSynthesizer(ColumnSynthesizer):
    """Draws public rows from noisy histograms of the private columns, each given the label.

    For people who have no public rows. Each column is counted in bins, for each class, and so are
    the classes. All counts get noise, once. Then a row's class is drawn, which is not kept, and
    each of its values by itself, given the class. So the rows are right column by column, and they
    say of how two columns go together only what follows from the label.

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
    epsilon_fraction : float or None, default=None
        Share of epsilon that the noise may cost, between 0 and 1; None is
        `rules.default_rows_fraction`.
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
    >>> from sklearn_pate.rdp import Neighbors
    >>> from sklearn_pate.synthesis import MarginalSynthesizer
    >>> from sklearn_pate.encoding.targets import ClassTarget
    >>> private = pd.DataFrame({"age": [31, 64, 45] * 200, "smokes": [True, False, False] * 200})
    >>> known = {"bounds": {"age": (18, 100)}, "missing": []}
    >>> target = ClassTarget([0, 1])
    >>> synthesizer = MarginalSynthesizer(**known, n_rows=3, noise=LaplaceMechanism(6.0))
    >>> synthesizer = synthesizer.declare(private, target)
    >>> synthesizer.event(Neighbors(relation="replace_one", unit="record")).cost().pure
    1.0
    >>> labels = np.tile([0, 1, 1], 200)
    >>> generators = {"noise": np.random.default_rng(0), "rng": np.random.default_rng(1)}
    >>> synthesizer.synthesize(private, labels, target=target, **generators)
       age  smokes
    0   43   False
    1   64   False
    2   72    True
    """

    released_as = "noisy histograms of the columns"

    _parameter_constraints = {
        **ColumnSynthesizer._parameter_constraints,
        "n_bins": [Interval(Integral, 3, None, closed="left")],
        "epsilon_fraction": [Interval(Real, 0, 1, closed="neither"), None],
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
        epsilon_fraction=None,
        noise=None,
    ):
        self.bounds = bounds
        self.categories = categories
        self.missing = missing
        self.n_rows = n_rows
        self.n_bins = n_bins
        self.epsilon_fraction = epsilon_fraction
        self.noise = noise

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

    def event(self, neighbors, n_steps=None):
        """Return the release of the noisy histograms; see `Synthesizer.event`."""
        return Event(self._mechanism(), neighbors.counts(self.n_tables))

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
        return noise_exceeds(what, n_expected, noise / _MOST_NOISE, of_whom, fewer=fewer)

    def _mechanism(self):
        return LaplaceMechanism() if self.noise is None else self.noise

    def _counted(self, records, target, published):
        """Return the histograms, one below the other, in whole shares of a record.

        A column of the table for each class, a row for each bin of each column, and a last row for
        the labels.
        """
        X, *given = records
        tables = [
            count_votes(bins[:, None], *given, n_cells=column.n_bins, target=target)
            for column, bins in zip(self.schema_.columns, self.schema_.bins(X), strict=True)
        ]
        only_bin = np.zeros((len(X), 1), dtype=np.int64)
        sizes = count_votes(only_bin, *given, n_cells=1, target=target)
        return np.concatenate([*tables, sizes])

    def publish(self, gathered, rng, *, published=()):
        """Return the standard deviation of the noise, and the noisy histograms."""
        mechanism = clone(self._mechanism())  # the user's may keep the counts that it is given
        # Read before the mechanism gets them, which it could follow from
        noise_std = getattr(mechanism, "noise_std", None)
        return noise_std, checked_noisy(mechanism, gathered * GRID, rng)

    def draw(self, published, rng):
        """Draw rows from noisy histograms: a class, and the values of all columns given it."""
        ((noise_std, noisy),) = published
        ends = np.cumsum([column.n_bins for column in self.schema_.columns])
        *tables, sizes = np.split(noisy, ends)
        self.released_ = denoised(self.schema_, tables, sizes[0], noise_std)
        class_shares = self.released_.class_shares
        codes = rng.choice(len(class_shares), int(self.n_rows), p=class_shares)
        bins = [np.empty(len(codes), dtype=np.int64) for _ in tables]
        for code in np.flatnonzero(class_shares):
            rows = np.flatnonzero(codes == code)
            for sampled, part in zip(bins, self.released_.bin_shares, strict=True):
                sampled[rows] = rng.choice(len(part), len(rows), p=part[:, code])
        return self.schema_.rows(bins, rng)


def denoised(schema, tables, sizes, noise_std):
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
            part[:, code] = bin_shares_of(table[:, code], total, noise_std)
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
    >>> from sklearn_pate.synthesis.synthesizers import on_simplex
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


def bin_shares_of(counts, total, noise_std):
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


# --- rows drawn from class sums, and the rates that these tell of any row -------------------------


#: Warned of, and refused, are fewer records beside the noise on all sums of a class. At 1, 2, 5 and
#: 8, digits had .09, .11, .34 and .60 right; at .6, 1.1, 2.1 and 4.9, the AUC of breast cancer was
#: .60, .71, .89 and .98.
LEAST_SIGNAL = 4
HOPELESS_SIGNAL = 1


@dataclass(frozen=True, eq=False, repr=False)
class ReleasedSums(ReleasedProba):
    """Class sums that were released, and what they say of any row: all of this is published.

    `PATEClassifier` has it as `table_` where nothing else was released.

    Attributes
    ----------
    schema : Columns
        What is public of the columns.
    centre : sums.Centre
        The mean of all rows, as released.
    sums : sums.Sums
        What was released about it.
    """

    schema: Columns
    centre: Centre
    sums: Sums

    #: Powers of the rates that are tried beside those of cells.
    powers = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)

    @property
    def n_classes(self):
        """Number of classes."""
        return len(self.sums.counts)

    @cached_property
    def discriminants(self):
        """What follows from the sums, a `sums.Discriminants`."""
        return Discriminants(self.sums)

    @property
    def class_counts(self):
        """Noisy number of records of each class; see `ReleasedTable.class_counts`."""
        return self.sums.counts, self.sums.sd / COUNT_WEIGHT

    @property
    def p_value(self):
        """Of the sums by class, if classes have equal means."""
        return self.discriminants.p_value

    def __repr__(self):
        n_classes, n_columns = self.sums.by_class.shape
        return f"ReleasedSums({n_classes} classes, {n_columns} columns)"

    def class_proba(self, X):
        """Return the rates of the classes of rows; see `ReleasedHistograms.class_proba`."""
        psi = self.centre.apply(_encoded(self.schema, self.schema.like(X)))
        return floored(softmax(self.discriminants.logits(psi), axis=1))

    def by_hand(self):
        """Return fitted steps of scikit-learn's own that make the rates of rows.

        `PolynomialFeatures` of degree 1 puts a column of ones before the others: the constants of
        `Columns.spread` and of `Centre.apply`, which are the last ones there.
        """
        encoder, order = encoder_of_numbers(self.schema)
        width = self.schema.width
        order = np.array([width - 1, *order])
        slopes = self.discriminants.slopes[:, [width, *order]]
        return [
            encoder,
            PolynomialFeatures(1).fit(np.zeros((1, width - 1))),
            Normalizer(),
            scaler_by_hand(self.centre.mean[order], np.full(width, CONSTANT)),
            PolynomialFeatures(1).fit(np.zeros((1, width))),
            Normalizer(),
            *affine_by_hand(slopes.T, self.discriminants.constants),
            *proba_by_softmax(LEAST_RATE),
        ]


class ClassSumsSynthesizer(ColumnSynthesizer):
    """Releases what every record says of every column, and draws public rows from it.

    For people who have no public rows. Each record becomes numbers from -1 to 1, by the declared
    bounds and categories. Their mean, their sums by class and their second moment are released
    once, with Gaussian noise. Linear discriminants follow from them, and rows whose classes have
    these means and this covariance. Where that is all that epsilon is spent on, the student learns
    the discriminants; else records or teachers vote on the rows.

    It suits many columns that each say a little. What shows only in columns together, such as their
    product, sums do not see.

    Parameters
    ----------
    bounds, categories, missing
        As in `MarginalSynthesizer`. The edges of bins are spread evenly from -1 to 1.
    n_rows : int, default=5000
        Number of rows to draw.
    epsilon_fraction : float or None, default=None
        Share of epsilon that the sums may cost, above 0 and at most 1: of 1 nobody votes. None
        follows from public numbers, see `rules.default_sums_fraction`.
    noise_multiplier : float or None, default=None
        Noise beside what one record changes in all sums together: one over Gaussian mu, from 1/16
        to 100,000. None: `PATEClassifier` calibrates it.

    Attributes
    ----------
    schema_ : columns.Columns
        What is public of the table: fixed by `declare`.
    released_ : ReleasedSums
        What `draw` released.

    Notes
    -----
    A row is divided by its length, so that one record adds a row of length 1 at most to the sum of
    its class; `sklearn_pate.class_sums` has the sensitivity of all blocks together.

    References
    ----------
    McSherry, Mironov (2009) release such moments for recommendations. Benaych-Georges, Nadakuditi
    (2011) tell eigenvalues from noise.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_pate.rdp import Neighbors
    >>> from sklearn_pate.synthesis import ClassSumsSynthesizer
    >>> from sklearn_pate.encoding.targets import ClassTarget
    >>> rng = np.random.default_rng(0)
    >>> labels = np.tile([0, 1], 500)
    >>> private = rng.normal(size=(1000, 3)) + labels[:, None]
    >>> sums = ClassSumsSynthesizer(bounds=(-4, 5), missing=[], n_rows=4, noise_multiplier=2.0)
    >>> target = ClassTarget([0, 1])
    >>> sums = sums.declare(private, target)
    >>> neighbors = Neighbors(relation="replace_one", unit="record")
    >>> round(sums.event(neighbors).cost().mu_squared, 3)
    0.25
    >>> sums.synthesize(private, labels, target=target, noise=rng, rng=rng).shape
    (4, 3)
    >>> sums.released_.class_proba(np.array([[3.0, 3.0, 3.0], [-2.0, -2.0, -2.0]])).argmax(axis=1)
    array([1, 0])
    """

    n_steps = 2

    #: Blocks of records summed in parallel; nothing that is released depends on it.
    n_jobs = None

    released_as = "noisy sums of the columns, by class"

    _parameter_constraints = {
        **ColumnSynthesizer._parameter_constraints,
        "epsilon_fraction": [Interval(Real, 0, 1, closed="right"), None],
        "noise_multiplier": [Interval(Real, 2**-4, 1e5, closed="both"), None],
    }

    def __init__(
        self,
        bounds=None,
        *,
        categories=None,
        missing=None,
        n_rows=5000,
        epsilon_fraction=None,
        noise_multiplier=None,
    ):
        self.bounds = bounds
        self.categories = categories
        self.missing = missing
        self.n_rows = n_rows
        self.epsilon_fraction = epsilon_fraction
        self.noise_multiplier = noise_multiplier

    def with_scale(self, scale):
        """Return a copy with this noise multiplier; None if it is set."""
        if self.noise_multiplier is not None:
            return None
        return copy(self).set_params(noise_multiplier=float(scale))

    def event(self, neighbors, n_steps=None):
        """Return the release of the mean, or of the mean and all sums; see `Synthesizer.event`."""
        if self.noise_multiplier is None:
            raise ValueError("ClassSumsSynthesizer has no noise yet: set noise_multiplier")
        self._validate_params()
        price = centre_cost if n_steps == 1 else sums_cost
        contribution = sums_contribution(neighbors)
        cost_at = partial(price, float(self.noise_multiplier), contribution)
        return ProvedEvent(cost_at, is_exact=True)

    def forecast(self, *, n_records, n_classes):
        """Say that the noise drowns the sums; see `Synthesizer.forecast`."""
        if n_records is None:
            return None
        n_needed = LEAST_SIGNAL * self._noise(n_classes)
        return noise_exceeds("sums", n_records, n_needed, fewer=" or fewer columns")

    def errors(self, *, n_records, n_classes):
        """Say that the noise drowns all; see `Synthesizer.errors`."""
        if n_records is None or n_records > HOPELESS_SIGNAL * self._noise(n_classes):
            return ()
        return (self.forecast(n_records=n_records, n_classes=n_classes),)

    def _noise(self, n_classes):
        """Return the length of the noise on the sums of a class."""
        return self._noise_sizes(n_classes)[1] * math.sqrt(self.schema_.width)

    def describe(self, *, n_records, n_classes):
        """Say how noisy the sums are; see `Synthesizer.describe`."""
        records = "" if n_records is None else f", beside {n_records} records"
        return (
            f"{self.schema_.width} numbers for each of {n_classes} classes, of "
            f"{len(self.schema_.columns)} columns, with noise of standard deviation "
            f"{self._noise_sizes(n_classes)[1]:.3g} on each{records}"
        )

    def _noise_sizes(self, n_classes):
        """Return the noise of the mean, of the sums of a class and of the moment."""
        return noise_sizes(1 / float(self.noise_multiplier), n_classes=n_classes)

    def _counted(self, records, target, published):
        """Return the total of records, then their sums about the published mean."""
        X, codes, weight, groups = records
        part = ticks_of(len(X), groups, weight, target=target)
        how = {"n_jobs": self.n_jobs, "encode": partial(_encoded, self.schema_)}
        if not published:
            return gather_total(X, part, **how)
        (centre,) = published
        return gather_sums(X, codes, part, centre, target=target, **how)

    def publish(self, gathered, rng, *, published=()):
        """Return the noisy mean, then the noisy sums; see `Synthesizer.publish`."""
        if not published:  # the noise of the mean is the same for any number of classes
            return publish_centre(gathered, self._noise_sizes(2)[0], rng)
        return publish_sums(gathered, *self._noise_sizes(len(gathered.counts))[1:], rng)

    def draw(self, published, rng):
        """Draw rows of the discriminants' classes, means and covariance."""
        released = ReleasedSums(self.schema_, *published)
        self.released_ = released
        about = released.discriminants.draw(int(self.n_rows), rng)
        constant = np.maximum(about[:, -1:], CONSTANT / 2)
        psi = released.centre.mean + CONSTANT * about[:, :-1] / constant
        psi = psi / np.maximum(psi[:, -1:], CONSTANT / 2)
        return self.schema_.gathered(np.clip(psi, -1, 1))


def _encoded(schema, X):
    """Return rows on the unit sphere."""
    return unit(schema.spread(X))
