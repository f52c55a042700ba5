"""What makes public rows where there are none: the protocol, and what both of ours share."""

from abc import ABCMeta, abstractmethod
from functools import partial
from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from .._sklearn import Interval
from ..isolation import Quiet, attempt
from ..neighbors.cells import numbered
from ..rdp import DEFAULT_ORDERS
from .columns import declared_columns


class Synthesizer(BaseEstimator, metaclass=ABCMeta):
    """Base class: draws public rows from what a mechanism releases of private ones.

    What it releases is one mechanism before the votes. It is paid for once, and everything made of
    it is public. A subclass has the parameters `share`, the share of epsilon that its noise may
    cost (a number between 0 and 1, or None for `rules.default_share`), and `n_rows`, how many rows
    are drawn. The library calls `declare` on a clone first, then `with_scale`, `cost` and
    `rehearsal_rows`, then `draw`, once. Parameters follow scikit-learn's conventions. What
    `suited_to` and `with_scale` return must know what `declare` found: make it by `copy.copy`, as
    `sklearn.base.clone` drops that.

    What `declare` keeps must follow from parameters, columns and dtypes alone, or be warned of and
    named in `not_covered_`; so must all errors. `cost` must be true of every table.

    Attributes
    ----------
    not_covered_ : tuple of str
        What `declare` read from the private rows, for `PrivacySpent.not_covered`; no private value.
    """

    not_covered_ = ()

    #: What is released of the private rows, for statements.
    released_as = "noisy statistics of the columns"

    #: Whether `cost` holds with delta 0, by its pure epsilon and nothing else.
    is_pure = False

    #: Whether the noise is sampled without rounding, given a generator of whole numbers.
    is_exact = False

    @abstractmethod
    def declare(self, X, classes):
        """Check parameters against what is public of the private table, and fix the schema.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_columns)
            Private rows. Names and dtypes of the columns are public.
        classes : array-like of shape (n_classes,)
            Labels. They are public.

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

        Where `is_pure`, the pure epsilon must be proportional to ``1 / scale``.
        """

    @abstractmethod
    def cost(self, n_moved, orders=DEFAULT_ORDERS):
        """Return what the release costs, for every table.

        Parameters
        ----------
        n_moved : int
            2 if one record (or group) is replaced, or changed under the same identifier; 1 if it
            can only join or leave.
        orders : array-like of shape (n_orders,), default=DEFAULT_ORDERS
            Renyi orders, above 1.

        Returns
        -------
        rdp.Cost
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

    def obstacles(self, *, n_records, n_classes):
        """Return why nothing can be learnt, as a tuple of sentences; here, none."""
        return ()

    def describe(self, *, n_records, n_classes):
        """Say what else than rows is released; None if nothing is."""
        return None

    @abstractmethod
    def rehearsal_rows(self, n_rows, rng):
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
    def draw(self, X, codes, *, n_classes, noise, rng, sample_weight=None, groups=None):
        """Release what the private rows say, with noise, and draw rows from it.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_columns)
            Private rows, with the columns of `declare`.
        codes : ndarray of shape (n_samples,)
            Labels as indices into the classes, int; or positions along levels, float, which only
            synthesizers of this library are given.
        n_classes : int
            Number of classes.
        noise : Generator
            Source of the mechanism's noise.
        rng : numpy.random.Generator
            Source of the rows, given what was released.
        sample_weight : ndarray of shape (n_samples,) or None
            What each record counts, clipped to [0, 1].
        groups : array-like of shape (n_samples,) or None
            One identifier for each record. A group counts as the mean of its records.

        Returns
        -------
        DataFrame or ndarray with `n_rows` rows
            Columns, their order, dtypes and categories are those of the schema.
        """


class ColumnSynthesizer(Synthesizer):
    """Base class: draws rows from what is counted of declared columns.

    A subclass has `_counted`, which returns what records say together, and `_drawn`, which returns
    rows drawn from that.
    """

    n_bins = 32

    _parameter_constraints = {
        "bounds": [dict, list, tuple, np.ndarray, None],
        "categories": [dict, None],
        "n_rows": [Interval(Integral, 1, None, closed="left")],
    }

    def declare(self, X, classes):
        """Fix the schema; see `Synthesizer.declare`."""
        self._validate_params()
        self.schema_ = declared_columns(
            X,
            bounds=self.bounds,
            categories=self.categories,
            missing=self.missing,
            n_bins=int(self.n_bins),
        )
        return self

    def rehearsal_rows(self, n_rows, rng):
        """Draw rows from the schema alone; see `Synthesizer.rehearsal_rows`."""
        self._check_declared()
        return self.schema_.any_rows(n_rows, rng)

    def draw(self, X, codes, *, n_classes, noise, rng, sample_weight=None, groups=None):
        """Release what records say, with noise, and draw rows; see `Synthesizer.draw`."""
        self._check_declared()
        X = self.schema_.check(X)
        with Quiet():
            groups = numbered(groups, len(X))
            count = partial(self._counted, X, codes, sample_weight, groups, n_classes, noise)
            counted, failed = attempt(count)
        if failed is not None:
            raise ValueError(f"the private rows could not be counted: {failed}, in their values")
        return self._drawn(counted, noise, rng)

    def _check_declared(self):
        if not hasattr(self, "schema_"):
            raise NotFittedError(f"{type(self).__name__} knows no columns yet; call declare first")
