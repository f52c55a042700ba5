"""Synthetic public rows: the protocol, marginals of columns, and class sums."""

from __future__ import annotations

import math
from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property, partial
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from joblib import Memory
from numpy.typing import ArrayLike
from scipy.special import softmax
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from .._numbers import first_names
from .._sklearn import CheckedEstimator, Interval, preprocessing
from ..aggregators import GaussianMechanism, LaplaceMechanism, TableMechanism
from ..aggregators.base import checked_scale
from ..aggregators.table import checked_noisy
from ..class_sums.discriminants import Discriminants
from ..class_sums.residuals import (
    RESIDUAL_FRACTION,
    GatheredResiduals,
    Residuals,
    gather_residuals,
    noise_of_residuals,
    publish_residuals,
)
from ..class_sums.statistic import (
    CONSTANT,
    WITHOUT_PUBLIC_ROWS,
    Centre,
    NClasses,
    Sums,
    as_numbers,
    centre_cost,
    centre_record,
    gather_sums,
    gather_total,
    noise_sizes,
    publish_centre,
    publish_sums,
    sums_contribution,
    sums_cost,
    sums_record,
    ticks_of,
    with_constant,
)
from ..encoding.bins import encoder_of_bins
from ..encoding.columns import Columns, checked_table, columns_of, dtypes_of
from ..encoding.encoder import RowEncoder
from ..encoding.fitted_steps import (
    affine_by_hand,
    proba_by_softmax,
    scaler_by_hand,
    sharpened_by_hand,
)
from ..encoding.schema import (
    column_within,
    declared_columns,
    estimated_columns,
    plain_bounds,
    undeclared_columns,
)
from ..encoding.values import distinct_cells
from ..exceptions import TeacherError
from ..forecasts import noise_exceeds
from ..neighbors.counting import count_votes, numbered
from ..neighbors.smoothing import MIN_PROBA, floored, sharpened
from ..rdp import DEFAULT_ORDERS, Cost, Event, ProvedEvent, gdp_mu
from ..rdp.discrete import GRID
from ..readouts import ReleasedProba, of_targets
from ..releases.base import BaseRelease
from ..rules import (
    default_rows_fraction,
    default_scale_fraction,
    default_schema_fraction,
    estimates_scale,
    estimates_within_bounds,
)
from ..runtime.blocks import Block
from ..runtime.isolation import attempt, suppress_output
from ..runtime.workers import WorkerDeathError
from ..schema_release import ScaleRelease, SchemaRelease
from ..schema_release.counts import TICKS, schema_contribution, schema_cost
from ..schema_release.estimates import estimated, is_far_from_zero, kinds_of, max_intervals

if TYPE_CHECKING:
    from .._typing import Estimator, Rows
    from ..class_sums.statistic import GatheredSums, GatheredTotal
    from ..encoding.targets import Target
    from ..rdp.contribution import Neighbors


class Synthesizer(CheckedEstimator, BaseRelease, metaclass=ABCMeta):
    """Base class of synthesizers, which draw public rows from noisy statistics of private ones.

    The statistics are released before the votes, in one step or several. For each step, a fit calls
    `gather`, which computes private statistics at no cost, records the cost of the step, and calls
    `publish`, which adds noise. Then `draw` draws rows from the published parts. A subclass has the
    parameters `epsilon_fraction`, the fraction of epsilon for its noise (a number between 0 and 1,
    or None for `rules.default_rows_fraction`), and `n_rows`, the number of rows to draw. The
    library calls `declare` on a clone first, then `with_scale`, `event` and `dry_run_rows`, then
    the steps, then `draw`, once.

    Parameters follow scikit-learn's conventions. The copies that `suited_to` and `with_scale`
    return must keep the attributes that `declare` sets: make them with `copy.copy`, because
    `sklearn.base.clone` drops these attributes.

    The attributes that `declare` sets must depend only on parameters, columns and dtypes. If they
    depend on anything else, `declare` must warn and name it in `not_covered_`. Errors must depend
    only on parameters, columns and dtypes, too.

    Attributes
    ----------
    not_covered_ : tuple of str
        Properties that `declare` read from the private rows, for `PrivacySpent.not_covered`,
        without any private value.
    """

    #: Parameters of a subclass.
    epsilon_fraction: float | None
    n_rows: int

    not_covered_: tuple[str, ...] = ()

    #: Whether some columns of the private rows are converted cell by cell, regardless of dtypes.
    reads_by_value = False

    #: Name of the released statistics of the private rows, for statements.
    released_as = "noisy statistics of the columns"

    #: Number of steps. A step may depend on the parts that earlier steps published.
    n_steps = 1

    @abstractmethod
    def declare(self, X: Rows, target: Target | None) -> Self:
        """Check parameters against the columns of the private table, and set the declared schema.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_columns)
            Private rows. Names and dtypes of the columns are public.
        target : targets.Target or None
            Classes of the labels, or levels of the numbers; None if they are not declared.

        Returns
        -------
        Synthesizer
            Itself, with `schema_` unless part of the schema is estimated; `draw` then sets it.

        Raises
        ------
        ValueError
            If the parameters do not suit the table. The message has the invalid and the expected
            value, and no private value.

        Warns
        -----
        PrivacyLeakWarning
            If part of the schema is read from the private rows. The warning names columns, never
            values.
        """

    def planned_for(self, *, n_records: int | None, epsilon: float | None, delta: float) -> Self:
        """Return a copy for a number of records and limits of the fit; by default, itself.

        Parameters
        ----------
        n_records : int or None
            Number of private records; None if it is private.
        epsilon, delta : float
            Limits of the fit; epsilon may be None.
        """
        return self

    def like(self, X: Rows) -> Rows:
        """Return private rows, or rows to predict, in the form of the synthetic rows.

        By default, return them unchanged.
        """
        return X

    def suited_to(self, *, pure: bool) -> Self:
        """Return a copy with noise that suits the cost of the votes; by default, itself.

        Parameters
        ----------
        pure : bool
            Whether the votes have a pure epsilon, without delta, so the rows should have one, too.
        """
        return self

    @abstractmethod
    def with_scale(self, scale: float) -> Self | None:
        """Return a copy with noise of this scale, in records; None if the noise is set.

        If the event is pure, its pure epsilon must be proportional to ``1 / scale``.
        """

    @abstractmethod
    def event(self, neighbors: Neighbors, n_steps: int | None = None) -> Event | ProvedEvent:
        """Return the event of the releases; its cost must hold for every table.

        Parameters
        ----------
        neighbors : rdp.Neighbors
            The neighboring data sets that are covered.
        n_steps : int or None, default=None
            Number of first steps to include; None includes all of them.

        Returns
        -------
        rdp.Event or rdp.ProvedEvent
        """

    def forecast(self, *, n_records: int | None, n_classes: int) -> str | None:
        """Return a warning if records are too few for the noise; by default, return None.

        It is called after the noise is set.

        Parameters
        ----------
        n_records : int or None
            Number of private records; None if it is private.
        n_classes : int
            Number of classes.

        Returns
        -------
        str or None
            Text of a warning, one or two sentences with the best remedy; None for no warning.
        """
        return None

    def errors(self, *, n_records: int | None, n_classes: int) -> tuple[str, ...]:
        """Return the reasons why nothing can be learnt, a tuple of sentences; by default, empty."""
        return ()

    def describe(self, *, n_records: int | None, n_classes: int) -> str | None:
        """Describe released statistics other than rows; by default, return None."""
        return None

    def describe_schema(self) -> str | None:
        """Describe the release from which the schema is estimated; None if it is declared."""
        return None

    def schema_warning(self) -> str | None:
        """Return a warning if the noise probably hides undeclared columns; by default, None.

        It is called after the noise is set, and depends on public numbers alone.
        """
        return None

    @abstractmethod
    def dry_run_rows(self, n_rows: int, rng: np.random.Generator) -> Rows:
        """Draw rows from the schema only.

        Parameters
        ----------
        n_rows : int
            Number of rows.
        rng : numpy.random.Generator
            Source of the rows.

        Returns
        -------
        DataFrame or ndarray with n_rows rows
            Rows in the form of `draw`.
        """

    @abstractmethod
    def gather(
        self,
        X: Rows,
        codes: np.ndarray,
        *,
        target: Target,
        sample_weight: np.ndarray | None = None,
        groups: ArrayLike | None = None,
        published: Sequence[Any] = (),
    ) -> Any:
        """Compute the private statistics of the next step; this has no privacy cost.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_columns)
            Private rows, with the columns of `declare`.
        codes : ndarray of shape (n_samples,)
            Labels or numbers as codes, from ``target.encode``.
        target : targets.Target
            Target of classes. Only synthesizers of this library get targets of numbers.
        sample_weight : ndarray of shape (n_samples,) or None
            Weight of each record, clipped to [0, 1].
        groups : array-like of shape (n_samples,) or None
            One identifier for each record. A group counts as the mean of its records.
        published : sequence
            The parts that earlier steps published.

        Returns
        -------
        object
            The private statistics.
        """

    @abstractmethod
    def publish(
        self, gathered: Any, rng: np.random.Generator, *, published: Sequence[Any] = ()
    ) -> Any:
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
            The noisy statistics, which are public.
        """

    @abstractmethod
    def draw(self, published: Sequence[Any], rng: np.random.Generator) -> Rows:
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
            Rows with the columns, their order, dtypes and categories of the schema.
        """

    def synthesize(
        self,
        X: Rows,
        codes: np.ndarray,
        *,
        target: Target,
        noise: np.random.Generator,
        rng: np.random.Generator,
        sample_weight: np.ndarray | None = None,
        groups: ArrayLike | None = None,
    ) -> Rows:
        """Run all steps and draw rows: `gather` and `publish` in turn, then `draw`.

        No cost is recorded, unlike in a fit with this synthesizer.

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
        gather = partial(
            self.gather, X, codes, target=target, sample_weight=sample_weight, groups=groups
        )
        published: list[Any] = []
        for _ in range(self.n_steps):
            gathered = gather(published=published)
            published.append(self.publish(gathered, noise, published=published))
        return self.draw(published, rng)


#: Smallest number of records for an undeclared schema, in standard deviations of the noise of the
#: first step. With fewer, 30 of 56 fits found nothing in some columns; with 10 to 14, none of 24.
_MIN_RECORDS_OF_SCHEMA = 10

#: With fewer intervals in a column of numbers, the noise is the reason for few edges.
_MIN_INTERVALS = 8

#: Smallest delta of the thresholds of texts.
_MIN_SCHEMA_DELTA = 1e-300

#: Bounds of undeclared columns in dry runs; they do not depend on dtypes, which are private.
_GUESS = (-1.0, 1.0)


class ColumnSynthesizer(Synthesizer):
    """Base class of synthesizers that draw rows from statistics of columns.

    The schema of columns that are not declared is estimated by a `SchemaRelease`, whose two steps
    are the first ones. A subclass has `_n_own_steps` other steps. It defines `_schema_mu` and
    `_counted`, which returns the statistics of a `Block` of records for its next step. `_counted`
    calls `schema_.like`, which converts the columns that are read by value. Its `event`, `publish`
    and `draw` call `_with_schema`, `_publish_schema` and `_learn_columns`.

    Attributes
    ----------
    schema_ : encoding.columns.Columns
        Public description of the table, set by `declare`, or by `draw` if it is estimated.
    not_found_ : list
        Names of the columns in which the schema release found no values, set by `draw`.
    far_from_zero_ : list
        Names of the columns with few edges, because their numbers are far from zero compared with
        their range, set by `draw`. Empty if the noise is a sufficient reason.
    """

    schema_: Columns
    not_found_: list[Any] = []
    far_from_zero_: list[Any] = []

    #: Parameters of a subclass.
    bounds: Any
    categories: dict[Any, Any] | None
    missing: list[Any] | None
    n_bins = 32

    #: Fraction of the cost that the schema release gets, and the delta of its thresholds;
    #: `planned_for` sets them.
    schema_fraction = 0.1
    schema_delta = 1e-8

    #: Number of blocks of records counted in parallel, and the cache of the counts of the schema
    #: release; no release depends on them.
    n_jobs: int | None = None
    memory: Memory | None = None

    #: Whether `planned_for` may choose columns with plain bounds to have edges estimated within
    #: these bounds.
    _estimates_within_bounds = False

    #: Positions of the columns that are not declared, and bounds of the columns in which edges are
    #: estimated, by their position, or positions if they share their edges.
    _places: tuple[int, ...] = ()
    _within: dict[tuple[int, ...], tuple[float, float]] = {}

    #: Bounds of the columns whose common scale is estimated instead, by their position.
    _scaled: dict[int, tuple[float, float]] = {}

    #: Number of private records, set by `planned_for`; None if it is private.
    _n_records: int | None = None

    #: Made-up columns for dry runs, if columns are not declared.
    _guess: Columns | None = None

    #: Names of the columns that `guess_kinds` takes for texts.
    guessed_texts: Sequence[Any] = ()

    _parameter_constraints = {
        "bounds": [dict, list, tuple, np.ndarray, None],
        "categories": [dict, None],
        "n_rows": [Interval(Integral, 1, None, closed="left")],
    }

    @property
    @abstractmethod
    def _statistics(self) -> str:
        """Name of the statistics, for statements."""

    @property
    def _n_own_steps(self) -> int:
        """Number of steps of the statistics, after the steps of the schema release."""
        return 1

    # --- declared and undeclared columns ----------------------------------------------------------

    def declare(self, X: Rows, target: Target | None) -> Self:
        """Set the schema of the declared columns; see `Synthesizer.declare`."""
        self._validate_params()
        self._places = undeclared_columns(X, self.bounds, self.categories)
        self._within = {}
        if self._places:
            self._declared = self._declare_others(checked_table(X))
            self._form = _form_of(X)
            self._guess = self._guessed([_GUESS] * len(self._places))
            return self
        columns = declared_columns(
            X, self.bounds, self.categories, self.missing, n_bins=int(self.n_bins)
        )
        self._declared = columns
        self._form = _form_of(X)
        self._set_columns(columns)
        return self

    def _set_columns(self, columns: Columns) -> None:
        """Set the schema of all columns."""
        self.schema_ = columns

    def guess_kinds(self, X: Rows) -> None:
        """Set made-up kinds of undeclared columns for dry runs: texts, if most cells are texts.

        A few malformed cells therefore change nothing. `like` then loses few values of these rows,
        before the schema is estimated.
        """
        if self._places and not isinstance(self._form, np.ndarray):  # arrays have no texts
            columns = columns_of(checked_table(X))
            are_texts = [_are_mostly_texts(values) for values in columns.values()]
            texts = ["a", "b"]
            self._guess = self._guessed([texts if are_texts[k] else _GUESS for k in self._places])
            names = list(columns)
            self.guessed_texts = [names[k] for k in self._places if are_texts[k]]

    def _guessed(self, estimates: list[Any]) -> Columns:
        """Return columns with a made-up schema of the undeclared ones."""
        gaps = [False] * len(self._places)
        given = self._form, self._places, estimates, gaps, self._declared
        return estimated_columns(*given, n_bins=int(self.n_bins))

    def _declare_others(self, X: Rows) -> Columns | None:
        """Return the declared columns of a table; None if there are none."""
        others = [k for k in range(X.shape[1]) if k not in self._places]
        names = list(dtypes_of(X))
        missing = [] if self.missing is None else list(self.missing)
        with_bounds = list(self.bounds) if isinstance(self.bounds, dict) else []
        named = [*with_bounds, *(self.categories or {}), *missing]
        if any(name not in names for name in named):
            declared_columns(X, self.bounds, self.categories, missing, n_bins=3)  # an error
        unknown = [name for name in missing if name in [names[k] for k in self._places]]
        if unknown:
            raise ValueError(
                f"missing has the columns {unknown}, which are not declared: their gaps are "
                "estimated. Remove them from missing, or declare these columns"
            )
        if not others:
            return None
        part = X.iloc[:, others] if hasattr(X, "iloc") else X[:, others]
        bounds, categories = self.bounds, self.categories
        if not hasattr(X, "iloc"):  # positions in the array become positions in the part
            place = {k: i for i, k in enumerate(others)}
            bounds, categories = (
                {place.get(k, k): v for k, v in given.items()} if isinstance(given, dict) else given
                for given in (bounds, categories)
            )
            missing = [place.get(k, k) for k in missing]
        return declared_columns(part, bounds, categories, missing, n_bins=int(self.n_bins))

    def planned_for(self, *, n_records: int | None, epsilon: float | None, delta: float) -> Self:
        """Return a copy with the estimated columns and their fraction of the cost."""
        if not self._places and not self._estimates_within_bounds:
            return self
        fraction = self.epsilon_fraction
        fraction = default_rows_fraction() if fraction is None else float(fraction)
        mu = gdp_mu(fraction * (1.0 if epsilon is None else epsilon), delta)
        planned = copy(self)
        planned._n_records = n_records
        planned._within = self.chosen_within(n_records=n_records, mu=mu)
        if not planned._estimated:
            planned._scaled = planned._chosen_scaled(n_records, mu)
            planned.schema_fraction = default_scale_fraction()
            return planned if planned._scaled else self
        planned.schema_fraction = default_schema_fraction(
            n_records=n_records, n_columns=len(planned._estimated), mu=mu
        )
        if not self._places:
            return planned
        planned.schema_delta = delta / 1000
        if planned.schema_delta < _MIN_SCHEMA_DELTA:
            raise ValueError(
                f"delta={delta:g} is too small for an estimated schema: a thousandth of delta "
                "bounds the probability that a rare text is published. Declare all columns, "
                "schema={column: (low, high) or [values]}, or use a larger delta"
            )
        return planned

    def chosen_within(
        self, *, n_records: int | None, mu: float
    ) -> dict[tuple[int, ...], tuple[float, float]]:
        """Return the columns with plain bounds in which edges are estimated.

        Parameters
        ----------
        n_records : int or None
            Number of private records; None if it is private.
        mu : float
            Gaussian privacy parameter of the part of epsilon for schema and rows.

        Returns
        -------
        dict
            Bounds by positions. Columns with the same bounds may share their edges.
        """
        if not self._estimates_within_bounds or self._declared is None:
            return {}
        others = [k for k in range(self.n_columns) if k not in self._places]
        within = {others[k]: bounds for k, bounds in plain_bounds(self._declared).items()}
        if not within:
            return {}
        own: dict[tuple[int, ...], Any] = {(k,): bounds for k, bounds in within.items()}
        n_others = len(self._places)
        sizes: dict[str, Any] = {"n_records": n_records, "mu": mu}
        has_many = n_records is not None and (
            default_schema_fraction(n_columns=n_others + len(own), **sizes) < _FRACTION_OF_FEW
        )
        chosen = own if has_many else _joined(within)
        is_worth_it = estimates_within_bounds(n_columns=n_others + len(chosen), **sizes)
        return chosen if is_worth_it else {}

    def _chosen_scaled(self, n_records: int | None, mu: float) -> dict[int, tuple[float, float]]:
        """Return the columns with plain bounds whose common scale is estimated."""
        if self._declared is None or not estimates_scale(n_records=n_records, mu=mu):
            return {}
        return plain_bounds(self._declared)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return self._form.shape[1]

    @property
    def undeclared(self) -> list[Any]:
        """Names of all columns, positions of undeclared ones, and bounds with estimated edges."""
        if not self._n_schema_steps:
            return [[], []]
        if self._scaled:
            return [list(dtypes_of(self._form)), list(self._scaled.items())]
        return [list(dtypes_of(self._form)), list(self._places), list(self._within.items())]

    @property
    def reads_by_value(self) -> bool:  # type: ignore[override]
        """Whether some columns are not declared, so their cells are read by value."""
        return bool(self._places)

    def like(self, X: Rows) -> Rows:
        """Convert undeclared columns of rows to floats or texts; see `Synthesizer.like`.

        Before the schema is estimated, rows get the form of the rows in dry runs.
        """
        return self._known_columns().like(X) if self._places else X

    def dry_run_rows(self, n_rows: int, rng: np.random.Generator) -> Rows:
        """Draw rows from the schema only; see `Synthesizer.dry_run_rows`."""
        return self._known_columns().any_rows(n_rows, rng)

    def _known_columns(self) -> Columns:
        """Return the columns, with a made-up schema of those not yet declared or estimated."""
        columns = getattr(self, "schema_", None) or self._guess
        if columns is None:
            raise NotFittedError(f"{type(self).__name__} has no columns yet; call declare first")
        return columns

    # --- the schema release -----------------------------------------------------------------------

    @property
    def _estimated(self) -> list[Any]:
        """Positions of the columns of the schema release, in its order; a tuple of joined ones."""
        return [*self._places, *self._within]

    @property
    def _n_schema_steps(self) -> int:
        """Number of steps before the statistics."""
        return 2 if self._estimated else 1 if self._scaled else 0

    @property
    def schema_source(self) -> str:
        """Whether the schema is declared or estimated, as in `accounting.PrivacySpent`."""
        if not self._n_schema_steps:
            return "declared"
        return "estimated" if self._declared is None else "partly estimated"

    @property
    def released_as(self) -> str:  # type: ignore[override]
        """Name of the released statistics, for statements."""
        counts = "noisy counts of the columns, which the schema is estimated from, and "
        return f"{counts}{self._statistics}" if self._n_schema_steps else self._statistics

    @property
    def n_steps(self) -> int:  # type: ignore[override]
        """Number of steps: two for an estimated schema, one for a scale, and the statistics'."""
        return self._n_schema_steps + self._n_own_steps

    @property
    def _schema_mu(self) -> float:
        """Gaussian privacy parameter of the schema release, for a replaced record."""
        raise NotImplementedError

    def _schema_release(self) -> SchemaRelease:
        """Return the `SchemaRelease` of the estimated columns."""
        limits = (*(None for _ in self._places), *self._within.values())
        delta = self.schema_delta if self._places else 0.0  # no text is counted within bounds
        return SchemaRelease(len(self._estimated), self._schema_mu, delta, limits)

    def _scale_release(self) -> ScaleRelease:
        """Return the `ScaleRelease` of the columns whose common scale is estimated."""
        return ScaleRelease(tuple(self._scaled.values()), self._schema_mu)

    def _with_schema(
        self, own: Event | ProvedEvent, neighbors: Neighbors, n_steps: int | None
    ) -> Event | ProvedEvent:
        """Return the event of the first steps, whose own statistics have the event `own`."""
        if not self._n_schema_steps:
            return own
        contribution = schema_contribution(neighbors)
        if self._scaled:
            scale = self._scale_release()
            of_schema = partial(scale.cost, contribution)
            records = partial(scale.records, contribution)
        else:
            release = self._schema_release()
            of_schema = partial(schema_cost, release, contribution, n_steps)
            records = partial(release.records, contribution, n_steps=1 if n_steps == 1 else 2)
        if n_steps is not None and n_steps <= self._n_schema_steps:
            return ProvedEvent(of_schema, is_exact=True, stated=records)
        return ProvedEvent(
            partial(_sum_of_costs, of_schema, own.cost),
            is_exact=own.is_exact,
            stated=lambda: [*records(), *own.records(self._statistics)],
        )

    def describe_schema(self) -> str | None:
        """Describe the schema release; see `Synthesizer.describe_schema`."""
        if self._scaled:
            names = list(dtypes_of(self._form))
            scaled = first_names([names[k] for k in self._scaled])
            return (
                f"a common scale of columns {scaled}, estimated first, by which bounds that are "
                f"far too wide are narrowed, with noise of standard deviation "
                f"{self._scale_release().sd:.3g} on each count"
            )
        if not self._estimated:
            return None
        found = []
        if self._places:
            n_columns = len(self._places)
            are = "are" if n_columns > 1 else "is"
            found.append(f"of {_columns(n_columns)}, which {are} not declared, estimated first")
        if self._within:
            names = list(dtypes_of(self._form))
            within = [names[k] for joined in self._within for k in joined]
            if len(within) == 1:
                found.append(f"edges of column {within[0]!r} within its bounds, estimated first")
            else:
                found.append(
                    f"edges of columns {first_names(within)} within their bounds, estimated first"
                )
        noise = f"with noise of standard deviation {self._schema_release().sd_ranges:.3g}"
        return f"{'; '.join(found)}, {noise} on each count"

    def schema_warning(self) -> str | None:
        """Return a warning if noise may hide columns; see `Synthesizer.schema_warning`."""
        n_records = self._n_records
        if not self._places or n_records is None:
            return None
        sd = self._schema_release().sd_ranges
        if n_records >= _MIN_RECORDS_OF_SCHEMA * sd:
            return None
        are = "are" if len(self._places) > 1 else "is"
        return (
            f"{n_records} records are few for {_columns(len(self._places))} that {are} not "
            f"declared: a text or a range of numbers is found if about {4 * sd:.0f} records have "
            "it. Declare them, schema={column: (low, high) or [values]}, which costs no epsilon"
        )

    def _gather_schema(self, X: Rows, weight: Any, groups: Any, published: Sequence[Any]) -> Any:
        """Return the counts of a step of the schema release."""
        X = checked_table(X)
        units = numbered(groups, len(X))
        amount, whole = ticks_of(len(X), units, weight, whole=TICKS)
        if whole != TICKS:  # all records are whole
            amount = np.broadcast_to(np.int64(TICKS), len(X))
        settings = {"places": self._estimated or [*self._scaled], "memory": self.memory}

        def counted() -> Any:
            if self._scaled:
                return self._scale_release().gather(X, amount, self.n_jobs, **settings)
            release = self._schema_release()
            if not published:
                return release.gather_ranges(X, amount, self.n_jobs, **settings)
            kinds = kinds_of(published[0], release.sd_ranges, release.limits)
            return release.gather_values(X, amount, units, kinds, self.n_jobs, **settings)

        def counted_or_not() -> tuple[Any, str | None]:
            try:
                return counted(), None
            except TeacherError as error:  # its text quotes no values
                return None, str(error)

        with suppress_output():
            found, failed = attempt(counted_or_not)
        counts, problem = (None, failed) if failed is not None else found
        if problem is not None:
            raise ValueError(f"the columns of the private rows could not be counted: {problem}")
        return counts

    def _publish_schema(
        self, gathered: Any, rng: np.random.Generator, published: Sequence[Any]
    ) -> Any:
        """Return the noisy counts of a step of the schema release."""
        if self._scaled:
            return self._scale_release().publish(gathered, rng)
        release = self._schema_release()
        return (release.publish_values if published else release.publish_ranges)(gathered, rng)

    def _estimates(self, published: Sequence[Any]) -> tuple[Columns, list[Any]]:
        """Return the columns of the published schema, and names of those without found values."""
        ranges, values = published[:2]
        known = getattr(self, "_last_estimates", None)
        if known is not None and known[0] is ranges and known[1] is values:
            return known[2]
        found = self._new_estimates(ranges, values)
        self._last_estimates = ranges, values, found
        return found

    def _new_estimates(self, ranges: np.ndarray, values: Any) -> tuple[Columns, list[Any]]:
        release = self._schema_release()
        kinds = kinds_of(ranges, release.sd_ranges, release.limits)
        estimates, gaps, not_found = estimated(release, ranges, values, kinds)
        estimates = [self._edges_of(found) for found in estimates]
        names = list(dtypes_of(self._form))
        declared = self._declared
        n_bins = int(self.n_bins)
        if declared is not None:
            columns: list[Any] = list(declared.columns)
            others = [k for k in range(self.n_columns) if k not in self._places]
            for joined, found in zip(self._within, estimates[len(self._places) :], strict=True):
                for k in joined:
                    at = others.index(k)
                    columns[at] = column_within(columns[at], names[k], found, n_bins=n_bins)
            declared = declared._replace(columns=columns)
        not_found = [names[self._places[k]] for k in not_found]  # others have their bounds
        if not self._places:
            return declared, not_found  # type: ignore[return-value]
        own = slice(len(self._places))
        given = self._form, self._places, estimates[own], gaps[own], declared
        return estimated_columns(*given, n_bins=n_bins), not_found

    def _edges_of(self, estimate: Any) -> Any:
        """Return estimated edges or categories as the statistics need them."""
        return estimate

    def _learn_columns(self, published: Sequence[Any]) -> None:
        """Set the schema from the published counts, if it is estimated."""
        if self._estimated:
            columns, self.not_found_ = self._estimates(published)
            self._set_columns(columns)
            names = list(dtypes_of(self._form))
            if self._can_find_intervals:
                self.far_from_zero_ = [
                    names[k] for k in self._places if is_far_from_zero(columns.columns[k])
                ]
        elif self._scaled:
            self._set_columns(self._narrowed(published[0]))

    @property
    def _can_find_intervals(self) -> bool:
        """Whether the noise leaves enough intervals, so that few of them have another reason."""
        if self._n_records is None:
            return True
        sd, _ = self._schema_release().sd_values(n_trees=len(self._estimated), n_texts=0)
        return max_intervals(self._n_records, sd) >= _MIN_INTERVALS

    def _narrowed(self, noisy: np.ndarray) -> Columns:
        """Return the declared columns, with bounds that are narrowed by the published scale."""
        columns, names = list(self._declared.columns), list(dtypes_of(self._form))  # type: ignore[union-attr]
        found = self._scale_release().narrowed(noisy)
        for (k, bounds), narrow in zip(self._scaled.items(), found, strict=True):
            if narrow != bounds:
                columns[k] = column_within(columns[k], names[k], narrow, n_bins=int(self.n_bins))
        return self._declared._replace(columns=columns)  # type: ignore[union-attr]

    # --- statistics -------------------------------------------------------------------------------

    def gather(
        self,
        X: Rows,
        codes: np.ndarray,
        *,
        target: Target,
        sample_weight: np.ndarray | None = None,
        groups: ArrayLike | None = None,
        published: Sequence[Any] = (),
    ) -> Any:
        """Compute the statistics of the next step; see `Synthesizer.gather`."""
        self._known_columns()
        n_of_schema = self.n_steps - self._n_own_steps
        if len(published) < n_of_schema:
            return self._gather_schema(X, sample_weight, groups, published)
        if self._estimated:
            self._estimates(published)  # kept for the next step
        known = copy(self)
        known._learn_columns(published)
        X = known.schema_.check(X)
        own = published[n_of_schema:]
        with suppress_output():
            records = Block(X, codes, sample_weight, numbered(groups, len(X)))
            found, failed = attempt(partial(known._counted_or_died, records, target, own))
        if failed is not None:
            raise ValueError(
                f"the private rows could not be counted: {failed} (the text of this error is "
                "redacted, because it may quote private data)"
            )
        counted, death = found
        if death is not None:
            raise ValueError(f"the private rows could not be counted: {death}")
        return counted

    @abstractmethod
    def _counted(self, records: Block, target: Target, published: Sequence[Any]) -> Any:
        """Return the statistics of records; `published` has the parts after the schema."""

    def _counted_or_died(
        self, records: Block, target: Target, published: Sequence[Any]
    ) -> tuple[Any, str | None]:
        """Return the statistics, and the message of a `WorkerDeathError` or None."""
        try:
            return self._counted(records, target, published), None
        except WorkerDeathError as error:
            return None, str(error)


#: Number of columns with the same bounds from which on they are counted together.
_MIN_JOINED = 16

#: Fraction of the cost for the schema if there are few records, from `default_schema_fraction`.
#: Columns with the same bounds are then joined.
_FRACTION_OF_FEW = 0.2


def _joined(
    within: dict[int, tuple[float, float]],
) -> dict[tuple[int, ...], tuple[float, float]]:
    """Return the bounds by positions, where many columns with the same bounds are joined."""
    found: dict[tuple[int, ...], tuple[float, float]] = {}
    for bounds in dict.fromkeys(within.values()):
        alike = tuple(k for k in within if within[k] == bounds)
        groups = [alike] if len(alike) >= _MIN_JOINED else [(k,) for k in alike]
        found |= dict.fromkeys(groups, bounds)
    return found


def _are_mostly_texts(values: Any) -> bool:
    """Return whether most cells of a column are texts."""
    if values.dtype.kind in "iuf":
        return False
    cells, codes = distinct_cells(values)
    are_texts = cells.are_texts if codes is None else cells.are_texts[codes]
    return len(are_texts) > 0 and bool(are_texts.mean() > 0.5)


def _form_of(X: Rows) -> Rows:
    """Return a table without rows and dtypes, with only the names of the columns."""
    table = checked_table(X)
    if isinstance(table, pd.DataFrame):
        return pd.DataFrame(columns=table.columns.copy(), dtype=object)
    return np.empty((0, table.shape[1]))


def _sum_of_costs(
    first: Callable[..., Cost], second: Callable[..., Cost], orders: ArrayLike = DEFAULT_ORDERS
) -> Cost:
    return first(orders).plus(second(orders))


# --- rows drawn from noisy histograms of the columns ----------------------------------------------


#: Number of records, in standard deviations of the noise, added to the count of each bin in a class
#: and to its expected count. They shrink the ratio of these counts to 1.
_PULL = 0.3

#: Threshold of a warning: noise on all bins of a column together, divided by the records of a
#: class. docs/no_public_rows.md has the runs that it is based on.
_MOST_NOISE = 0.4


@dataclass(frozen=True, eq=False, repr=False)
class ReleasedHistograms:
    """Published, denoised histograms of each column for each class.

    Attributes
    ----------
    schema : Columns
        Public description of the columns.
    n_records : float
        Released number of records.
    class_shares : ndarray of shape (n_classes,)
        Frequencies of the classes, which sum to 1.
    bin_shares : list of ndarray of shape (n_bins, n_classes)
        For each column, the frequencies of its bins in each class, which sum to 1.
    noise_std : float
        Standard deviation of the noise that was added to each count.
    """

    schema: Columns
    n_records: float
    class_shares: np.ndarray
    bin_shares: list[np.ndarray]
    noise_std: float

    #: Candidate powers of the class probabilities in a combination with cells. Columns that depend
    #: on each other make the class probabilities far too extreme.
    powers = (0.0, 0.125, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)

    def __repr__(self) -> str:
        n_classes, n_columns = len(self.class_shares), len(self.bin_shares)
        return f"ReleasedHistograms({n_classes} classes, {n_columns} columns)"

    @property
    def class_counts(self) -> tuple[np.ndarray, float]:
        """Released number of records of each class; see `ReleasedTable.class_counts`."""
        return self.n_records * self.class_shares, self.noise_std

    @property
    def p_value(self) -> float:
        """P-value of the bin that differs most, under equal frequencies in all classes."""
        sizes = self.n_records * self.class_shares
        n_counts, largest = 0, 0.0
        for part in self.bin_shares:
            overall = (part @ self.class_shares)[:, None]
            spread = np.sqrt(self.noise_std**2 + sizes * overall + 1e-300)
            largest = max(largest, (np.abs(part - overall) * sizes / spread).max())
            n_counts += part.size
        # Laplace noise has the heaviest tails
        return float(min(1.0, n_counts * math.exp(-math.sqrt(2) * largest)))

    def class_proba(self, X: Rows) -> np.ndarray:
        """Return the class probabilities of rows with the declared columns, each row by itself.

        Columns are assumed to be independent given the class. A value without a bin is ignored.

        Parameters
        ----------
        X : DataFrame or array-like with n_samples rows
            Rows with the declared columns; dtypes may differ.

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

    def _overall(self) -> np.ndarray:
        """Return the logarithms of the class frequencies, (n_classes,)."""
        return np.log(np.maximum(self.class_shares, MIN_PROBA))

    def _weights(self, part: np.ndarray) -> np.ndarray:
        """Return the terms that the bins of a column add to the logarithms, (n_bins, n_classes)."""
        sizes = self.n_records * self.class_shares
        pull = _PULL * max(self.noise_std, 1.0)
        overall = (part @ self.class_shares)[:, None]
        return np.log((sizes * part + pull) / (sizes * overall + pull))

    def by_hand(self) -> list[Estimator]:
        """Return fitted scikit-learn steps that compute the class probabilities of rows."""
        encoder, combine = encoder_of_bins(self.schema)
        weights = combine([self._weights(part) for part in self.bin_shares])
        return [encoder, *affine_by_hand(weights, self._overall()), *proba_by_softmax(MIN_PROBA)]


class MarginalSynthesizer(ColumnSynthesizer):
    """Synthesizer that draws rows from noisy histograms of the columns, given the label.

    It is for users without public rows. The values of each column are counted in bins, for each
    class, and the records of each class are counted. Noise is added to all counts once. For each
    synthetic row, a class is drawn, and then each value independently, given the class. The class
    is discarded. Each column therefore has approximately the distribution of the private column,
    but columns depend on each other only through the class.

    The schema of undeclared columns is estimated first, by a `schema_release.SchemaRelease` with a
    fraction of the cost. Names and dtypes of declared columns are assumed to be public. The
    parameters, which declare the possible values of these columns, are public as well. A list of
    rows is converted to an array of floats. Categories of pandas categoricals are part of their
    dtype: all of them are published, whether drawn or not. `astype("category")` reads them from the
    private rows, and the synthesizer cannot detect that: use a ``pd.CategoricalDtype([...])``.

    Parameters
    ----------
    bounds : dict or tuple of numbers, default=None
        Range of the numbers: (low, high) for each column, or one pair for all columns of numbers.
        The keys for columns of arrays are their positions. Each bound has a bin of its own, which
        includes the numbers beyond it, because the values of many columns are mostly at one bound
        (no earnings, no days of illness). The bins between the bounds have equal width. More than
        two numbers are the edges of all bins instead, which suits skewed columns:
        ``(0, 1, 1_000, 10_000, 100_000, 1_000_000)``.
    categories : dict, default=None
        The values of columns that are not numeric, and of numeric columns that are codes or have
        few values (with bounds instead, a column of 12, 24 and 36 may get synthetic values such as
        13). Boolean columns and pandas categoricals need no entry. Other values are not counted.
    missing : list, default=None
        Columns that may have missing values, which get a bin of their own. Missing values of other
        columns are not counted. If integers may be missing, set the dtype ``Int64`` as well.
        Otherwise the dtype in pandas is int64 or float64, depending on whether a value is missing,
        and the synthetic rows disclose this dtype.
    n_rows : int, default=5000
        Number of rows to draw.
    n_bins : int, default=32
        Number of bins of a column of numbers, at least 3. Integers have one bin each if there are
        fewer of them.
    epsilon_fraction : float or None, default=None
        Fraction of epsilon for the histograms, and for the schema if it is estimated, between 0
        and 1; None uses `rules.default_rows_fraction`.
    noise : TableMechanism or None, default=None
        Noise on every count: `LaplaceMechanism` or `GaussianMechanism`. Its scale is in records,
        and is calibrated if it is None. None uses ``LaplaceMechanism()``. If the votes of a
        `PATEClassifier` spend a delta, None uses ``GaussianMechanism()``, which then adds less
        noise.

    Attributes
    ----------
    schema_ : encoding.schema.Columns
        Public description of the table, set by `declare`.
    released_ : ReleasedHistograms
        Histograms released by `draw`.

    Notes
    -----
    One record adds at most 1 to one count of each histogram. If it is replaced, at most two counts
    of each histogram change, by at most 1 each. The sum of all changes is at most ``2 * n_tables``,
    and at most ``n_tables`` if a record is added or removed instead. A group counts as the mean of
    its records' histograms, rounded down to multiples of 2**-20, so its contribution is at most the
    contribution of one record.

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

    _statistics = "noisy histograms of the columns"

    _parameter_constraints = {
        **ColumnSynthesizer._parameter_constraints,
        "n_bins": [Interval(Integral, 3, None, closed="left")],
        "epsilon_fraction": [Interval(Real, 0, 1, closed="neither"), None],
        "noise": [TableMechanism, None],
    }

    def __init__(
        self,
        bounds: Any = None,
        *,
        categories: dict[Any, Any] | None = None,
        missing: list[Any] | None = None,
        n_rows: int = 5000,
        n_bins: int = 32,
        epsilon_fraction: float | None = None,
        noise: TableMechanism | None = None,
    ) -> None:
        self.bounds = bounds
        self.categories = categories
        self.missing = missing
        self.n_rows = n_rows
        self.n_bins = n_bins
        self.epsilon_fraction = epsilon_fraction
        self.noise = noise

    @property
    def n_tables(self) -> int:
        """Number of histograms; a record counts once in each."""
        return len(self._known_columns().columns) + 1

    def _edges_of(self, estimate: Any) -> Any:
        """Return at most `n_bins` of the intervals between estimated edges."""
        n_bins = int(self.n_bins)
        if isinstance(estimate, list) or len(estimate) <= n_bins + 1:
            return estimate
        kept = np.linspace(0, len(estimate) - 1, n_bins + 1).round().astype(int)
        return tuple(estimate[k] for k in kept)

    def suited_to(self, *, pure: bool) -> Self:
        """Return a copy with Laplace noise for pure votes, else Gaussian; see `Synthesizer`.

        The noise of a schema release is Gaussian, and so is the noise of the histograms after it.
        """
        if self.noise is not None:
            return self
        is_pure = pure and not self._places
        return self._with_noise(LaplaceMechanism() if is_pure else GaussianMechanism())

    def with_scale(self, scale: float) -> Self | None:
        """Return a copy with noise of this scale, in records; None if the noise is set."""
        noise = self._mechanism().with_scale(scale)
        return None if noise is None else self._with_noise(noise)

    def _with_noise(self, noise: TableMechanism) -> Self:
        return copy(self).set_params(noise=noise)  # scikit-learn's clone would drop the schema

    def event(self, neighbors: Neighbors, n_steps: int | None = None) -> Event | ProvedEvent:
        """Return the release of the noisy histograms; see `Synthesizer.event`."""
        own = Event(self._mechanism(), neighbors.counts(self.n_tables))
        return self._with_schema(own, neighbors, n_steps)

    @property
    def _schema_mu(self) -> float:
        """As Gaussian noise on the histograms, times a factor for the fraction of the schema."""
        noise_std = self._mechanism().noise_std
        if noise_std is None:
            raise ValueError("MarginalSynthesizer has no noise yet: set noise")
        mu = math.sqrt(2 * self.n_tables) / noise_std
        return mu * math.sqrt(self.schema_fraction / (1 - self.schema_fraction))

    def forecast(self, *, n_records: int | None, n_classes: int) -> str | None:
        """Return a warning if records are too few for the noise; see `Synthesizer.forecast`."""
        n_bins = [column.n_bins for column in self._known_columns().columns]
        noise_std = self._mechanism().noise_std
        if noise_std is None:
            return None
        noise = noise_std * math.sqrt(sum(n_bins) / len(n_bins)) * n_classes
        n_expected, of_whom = int(self.n_rows), "rows to draw, the assumed number of records"
        if n_records is not None:
            n_expected, of_whom = n_records, "private records"
        what = "histograms of the columns"
        fewer = " or fewer columns, lower n_bins"
        return noise_exceeds(what, n_expected, noise / _MOST_NOISE, of_whom, fewer=fewer)

    def _mechanism(self) -> TableMechanism:
        return LaplaceMechanism() if self.noise is None else self.noise

    def _counted(self, records: Block, target: Target, published: Sequence[Any]) -> np.ndarray:
        """Return the histograms of all columns, stacked in one table, in ticks.

        The table has a column for each class, a row for each bin of each column, and a last row
        for the number of records of each class.
        """
        X, codes, weight, groups = records
        count = partial(
            count_votes, codes=codes, sample_weight=weight, groups=groups, target=target
        )
        bins_of = self.schema_.bins(self.schema_.like(X))
        tables = [
            count(bins[:, None], n_cells=column.n_bins)
            for column, bins in zip(self.schema_.columns, bins_of, strict=True)
        ]
        only_bin = np.zeros((len(X), 1), dtype=np.int64)
        return np.concatenate([*tables, count(only_bin, n_cells=1)])

    def publish(
        self, gathered: Any, rng: np.random.Generator, *, published: Sequence[Any] = ()
    ) -> Any:
        """Return the noisy counts of the schema, or the noise and the noisy histograms."""
        if self.n_steps - len(published) > self._n_own_steps:
            return self._publish_schema(gathered, rng, published)
        mechanism = clone(self._mechanism())  # a user's mechanism may keep the counts
        # Read the attribute before the mechanism gets the counts, so it cannot depend on them
        noise_std = getattr(mechanism, "noise_std", None)
        return noise_std, checked_noisy(mechanism, gathered * GRID, rng)

    def draw(self, published: Sequence[Any], rng: np.random.Generator) -> Rows:
        """Draw rows from noisy histograms: a class, and all values given the class."""
        self._learn_columns(published)
        noise_std, noisy = published[-1]
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


def denoised(
    schema: Columns, tables: list[np.ndarray], sizes: np.ndarray, noise_std: float
) -> ReleasedHistograms:
    """Convert noisy histograms to frequencies, and return `ReleasedHistograms`.

    Parameters
    ----------
    schema : Columns
        Public description of the columns.
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


def on_simplex(numbers: ArrayLike) -> np.ndarray:
    """Project numbers onto the probability simplex, where they are nonnegative and sum to 1.

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
    away = np.asarray(numbers, dtype=float)
    away = away - away.max()  # the same result, without cancellation of large numbers
    descending = np.sort(away)[::-1]
    levels = (np.cumsum(descending) - 1) / np.arange(1, len(away) + 1)
    n_kept = np.count_nonzero(descending > levels)
    kept = np.maximum(away - levels[n_kept - 1], 0)
    return kept / kept.sum()


def bin_shares_of(counts: np.ndarray, total: float, noise_std: float) -> np.ndarray:
    """Return the frequencies of bins from their noisy counts.

    Parameters
    ----------
    counts : ndarray of shape (n_bins,)
        Noisy counts.
    total : float
        Expected number of records in all bins together, above 0.
    noise_std : float
        Standard deviation of the noise on each count.

    Returns
    -------
    ndarray of shape (n_bins,)
        Frequencies of at least 0, which sum to 1.

    Notes
    -----
    If many bins hold only noise, the sum of the counts is inaccurate, and `total` determines the
    noise to subtract. However, values without a bin are not counted, so the sum may truly be lower.
    The sum of the counts therefore replaces `total` if they differ by more than two standard
    deviations of the noise on the sum.
    """
    own = counts.sum()
    if abs(own - total) > 2 * noise_std * np.sqrt(len(counts)):
        total = max(own, noise_std, 1.0)
    return on_simplex(counts / total)


# --- rows drawn from class sums, and their class probabilities of any row -------------------------


#: Thresholds of a warning and of an error: number of records divided by the noise on all sums of a
#: class. At 1, 2, 5 and 8, the accuracy on digits was .09, .11, .34 and .60. At .6, 1.1, 2.1 and
#: 4.9, the AUC on breast cancer was .60, .71, .89 and .98.
LEAST_SIGNAL = 4
HOPELESS_SIGNAL = 1

#: Minimal signal for folded ranks of columns with estimated edges: records of a class, divided by
#: the noise on all of its sums together. On twelve textbook and made-up tables of two classes, AUC
#: rose by up to 0.12 above it if effects are not monotonic, and fell by at most 0.005; below it, it
#: fell by up to 0.09.
_MIN_SIGNAL_OF_FOLDED = 40


@dataclass(frozen=True, eq=False, repr=False)
class ReleasedSums(ReleasedProba):
    """Published class sums, and the class probabilities computed from them.

    It is the attribute `table_` of a fitted `PATEClassifier` if there are no votes.

    Attributes
    ----------
    schema : Columns
        Public description of the columns.
    encoder : RowEncoder
        Encoder of these columns.
    centre : class_sums.statistic.Centre
        The released mean of all rows.
    sums : class_sums.statistic.Sums
        The released sums about this mean.
    residuals : class_sums.residuals.Residuals or None
        The released sums of rows times the residuals of the discriminants from the sums alone.
    """

    schema: Columns
    encoder: RowEncoder
    centre: Centre
    sums: Sums
    residuals: Residuals | None = None

    #: Candidate powers of the class probabilities in a combination with cells.
    powers = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.sums.counts)

    @cached_property
    def discriminants(self) -> Discriminants:
        """Linear discriminants from the sums and, if they are released, the residuals."""
        return Discriminants(self.sums, self.residuals)

    @property
    def class_counts(self) -> tuple[np.ndarray, float]:
        """Noisy number of records of each class; see `ReleasedTable.class_counts`."""
        return self.sums.counts, self.sums.sd / WITHOUT_PUBLIC_ROWS.counts

    @property
    def p_value(self) -> float:
        """P-value of the sums by class, under equal class means."""
        return self.discriminants.p_value

    def __repr__(self) -> str:
        n_classes, n_columns = self.sums.by_class.shape
        return f"ReleasedSums({n_classes} classes, {n_columns} columns)"

    def class_proba(self, X: Rows) -> np.ndarray:
        """Return the class probabilities of rows; see `ReleasedHistograms.class_proba`."""
        psi = self.centre.apply(_on_sphere(self.encoder, self.schema, X))
        linear = self.discriminants.linear(psi)
        if self.discriminants.proba_is_linear:
            return sharpened(linear, 1.0)
        return floored(softmax(linear, axis=1))

    def by_hand(self) -> list[Estimator]:
        """Return fitted scikit-learn steps that compute the class probabilities of rows.

        `PolynomialFeatures` of degree 1 inserts a column of ones before the others. It replaces the
        constant columns of `_on_sphere` and of `Centre.apply`, which are the last columns there.
        """
        width = len(self.centre.mean)
        order = np.array([width - 1, *range(width - 1)])
        slopes = self.discriminants.slopes[:, [width, *order]]
        class_proba = proba_by_softmax(MIN_PROBA)
        if self.discriminants.proba_is_linear:
            class_proba = sharpened_by_hand(1.0, MIN_PROBA)
        return [
            self.encoder.to_sklearn(),
            preprocessing.PolynomialFeatures(1).fit(np.zeros((1, width - 1))),
            preprocessing.Normalizer(),
            scaler_by_hand(self.centre.mean[order], np.full(width, CONSTANT)),
            preprocessing.PolynomialFeatures(1).fit(np.zeros((1, width))),
            preprocessing.Normalizer(),
            *affine_by_hand(slopes.T, self.discriminants.constants),
            *class_proba,
        ]


#: Minimal signal for residuals, see `ClassSumsSynthesizer._signal`. With signals of 5 to 71,
#: residuals lowered AUC by up to 0.035 on breast cancer, fertil2, digits, other labels of Adult and
#: stays in hospital, and raised it by up to 0.012 on Adult, very happy and MNIST;
#: docs/results/rules_residuals.csv has tables on which nothing was set.
_MIN_SIGNAL_OF_RESIDUALS = 80

#: Guessed length of the encoding of an undeclared column, for this signal.
_NUMBERS_PER_COLUMN = 4

#: Name of the class sums, for statements.
_CLASS_SUMS = "noisy sums of the columns, by class"


class ClassSumsSynthesizer(ColumnSynthesizer):
    """Synthesizer that releases noisy sums of all columns by class, and draws rows from them.

    It is for users without public rows. Each record is encoded as numbers from -1 to 1, by the
    bounds or edges and the categories of the columns. The schema of undeclared columns is estimated
    first, by a `schema_release.SchemaRelease`. Then the mean of the encoded records is released,
    followed by class counts, sums by class and the second moment about this mean, with Gaussian
    noise. They determine linear discriminants, and the class means and the covariance of the
    synthetic rows. If ``epsilon_fraction`` is 1, the default student predicts by these
    discriminants. Then, if the labels are classes and there are enough records, a last release
    improves them: for each class, the sum of the encoded records, each multiplied by its residual
    (the one-hot label minus the predicted probabilities, divided by their distance to the farthest
    one-hot label). With a lower fraction, records or teachers vote on the synthetic rows.

    It suits many columns with small effects. Sums do not capture interactions of columns, such as
    their product. If there are many records compared with the noise, numbers with estimated edges
    also have a column of their folded rank, ``2 * abs(rank) - 1``, which captures effects that rise
    and then fall.

    Parameters
    ----------
    bounds, categories, missing
        As in `MarginalSynthesizer`, for the columns that are declared. The edges of bins are
        encoded as evenly spaced numbers from -1 to 1. If there are enough records, edges are also
        estimated within plain bounds, ``(low, high)``, and used if the bounds do not suit the
        column; see `rules.estimates_within_bounds`. With fewer records, one common scale of these
        columns is estimated, and the bounds are narrowed if it shows that all of them are at least
        8 times too wide; see `rules.estimates_scale`. Declared edges and categories are used as
        they are.
    n_rows : int, default=5000
        Number of rows to draw.
    epsilon_fraction : float or None, default=None
        Fraction of epsilon for the schema and the sums, above 0 and at most 1. At 1, neither
        records nor teachers vote. None is computed from public numbers by
        `rules.default_sums_fraction`.
    noise_multiplier : float or None, default=None
        Noise standard deviation divided by the L2 sensitivity of all releases together. It is the
        inverse of Gaussian mu, from 1/16 to 100,000. None is calibrated by `PATEClassifier`.

    Attributes
    ----------
    schema_ : encoding.columns.Columns
        Public description of the table, set by `declare`, or by `draw` if it is estimated.
    not_found_ : list
        Names of the columns in which the schema release found no values, set by `draw`.
    released_ : ReleasedSums or readouts.SeveralTables
        Sums released by `draw`, for each target.

    Notes
    -----
    Each row is divided by its length, so one record adds a row of length at most 1 to the sum of
    its class. `class_sums.statistic.sensitivity` is the sensitivity of all blocks together.

    References
    ----------
    McSherry, Mironov (2009) release such moments for recommendations. Benaych-Georges, Nadakuditi
    (2011) separate eigenvalues from noise. Le Cam (1956): one step from a first estimate towards
    the maximum of the likelihood.

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

    _n_classes = 2

    #: Whether the labels are classes of one target, set by `declare`.
    _has_classes = False

    #: Whether the residuals of the discriminants are released as well, set by `planned_for`.
    _has_residuals = False

    _estimates_within_bounds = True

    _parameter_constraints = {
        **ColumnSynthesizer._parameter_constraints,
        "epsilon_fraction": [Interval(Real, 0, 1, closed="right"), None],
        "noise_multiplier": [Interval(Real, 2**-4, 1e5, closed="both"), None],
    }

    def __init__(
        self,
        bounds: Any = None,
        *,
        categories: dict[Any, Any] | None = None,
        missing: list[Any] | None = None,
        n_rows: int = 5000,
        epsilon_fraction: float | None = None,
        noise_multiplier: float | None = None,
    ) -> None:
        self.bounds = bounds
        self.categories = categories
        self.missing = missing
        self.n_rows = n_rows
        self.epsilon_fraction = epsilon_fraction
        self.noise_multiplier = noise_multiplier

    def declare(self, X: Rows, target: Target | None) -> Self:
        """Set the schema of the declared columns; see `Synthesizer.declare`."""
        if target is not None:
            self._n_classes = target.n_values
        self._has_classes = target is not None and target.n_targets == 1 and not target.splits_votes
        return super().declare(X, target)

    def planned_for(self, *, n_records: int | None, epsilon: float | None, delta: float) -> Self:
        """Return a copy for a number of records and limits; see `Synthesizer.planned_for`.

        Residuals are released if the labels are classes of one target, the class sums are the
        model, the number of records is public, and the signal is sufficient.
        """
        planned = copy(super().planned_for(n_records=n_records, epsilon=epsilon, delta=delta))
        planned._has_residuals = (
            self._has_classes
            and self.epsilon_fraction == 1
            and self._signal(n_records, epsilon, delta) >= _MIN_SIGNAL_OF_RESIDUALS
        )
        return planned

    def _signal(self, n_records: int | None, epsilon: float | None, delta: float) -> float:
        """Return the number of records divided by the length of the noise on the class sums.

        The noise is for class sums that get all of epsilon. Sums of all classes but one count, as
        residuals of all classes sum to zero. Return 0 if the number of records is private.
        """
        if n_records is None:
            return 0.0
        if self.noise_multiplier is None:
            mu = gdp_mu(1.0 if epsilon is None else epsilon, delta)
        else:
            mu = 1 / checked_scale(self, "noise_multiplier")
        width = self.n_encoded + (_NUMBERS_PER_COLUMN - 1) * len(self._places)
        noise = noise_sizes(mu, n_classes=self._n_classes)[1]
        return n_records / (noise * math.sqrt((self._n_classes - 1) * width))

    @property
    def _statistics(self) -> str:
        residuals = ", and of rows times residuals" if self._has_residuals else ""
        return f"{_CLASS_SUMS}{residuals}"

    @property
    def _n_own_steps(self) -> int:
        return 3 if self._has_residuals else 2  # the mean, the sums, and the residuals

    def _set_columns(self, columns: Columns) -> None:
        """Set the schema and the encoder of all columns.

        Folded ranks depend on published columns and on public numbers only.
        """
        super()._set_columns(columns)
        self._encoder = RowEncoder.of_columns(columns)
        if self._estimated and self._n_records is not None:
            folding = RowEncoder.of_columns(columns, folds=True)
            width = len(folding.get_feature_names_out()) + 1
            mu = 1 / self._multiplier_of_all()  # residuals correct effects of folded ranks as well
            noise = noise_sizes(mu, n_classes=self._n_classes)[1] * math.sqrt(width)
            if self._n_records / self._n_classes >= _MIN_SIGNAL_OF_FOLDED * noise:
                self._encoder = folding

    @property
    def n_encoded(self) -> int:
        """Length of an encoded row with its constant; a guess until the schema is estimated."""
        encoder = getattr(self, "_encoder", None)
        if encoder is None:
            encoder = RowEncoder.of_columns(self._guess)  # type: ignore[arg-type]
        return len(encoder.get_feature_names_out()) + 1

    def with_scale(self, scale: float) -> Self | None:
        """Return a copy with this noise multiplier; None if it is set."""
        if self.noise_multiplier is not None:
            return None
        return copy(self).set_params(noise_multiplier=float(scale))

    def event(self, neighbors: Neighbors, n_steps: int | None = None) -> Event | ProvedEvent:
        """Return the event of the first steps, or of all; see `Synthesizer.event`."""
        if self.noise_multiplier is None:
            raise ValueError("ClassSumsSynthesizer has no noise yet: set noise_multiplier")
        self._validate_params()
        n_own = self._n_own_steps if n_steps is None else n_steps - self._n_schema_steps
        # `_with_schema` ignores this event if there are no own steps
        price: Callable[..., Cost] = sums_cost
        record: Callable[..., dict[str, Any]] = sums_record
        name, multiplier = _CLASS_SUMS, self._multiplier_of_sums()
        if n_own == self._n_own_steps:
            name, multiplier = self._statistics, self._multiplier_of_all()
        elif n_own == 1:
            price, record, name = centre_cost, centre_record, "the noisy mean of all rows"
        contribution = sums_contribution(neighbors, WITHOUT_PUBLIC_ROWS)
        own = ProvedEvent(
            partial(price, multiplier, contribution),
            is_exact=True,
            stated=lambda: [record(name, contribution, noise_multiplier=multiplier)],
        )
        return self._with_schema(own, neighbors, n_steps)

    @property
    def _schema_mu(self) -> float:
        return math.sqrt(self.schema_fraction) / checked_scale(self, "noise_multiplier")

    def _multiplier_of_all(self) -> float:
        """Return the noise multiplier of the mean, the sums and the residuals together."""
        rest = 1 - self.schema_fraction if self._n_schema_steps else 1.0
        return checked_scale(self, "noise_multiplier") / math.sqrt(rest)

    def _multiplier_of_sums(self) -> float:
        """Return the noise multiplier of the mean and the sums."""
        rest = 1 - RESIDUAL_FRACTION if self._has_residuals else 1.0
        return self._multiplier_of_all() / math.sqrt(rest)

    def _noise_of_residuals(self) -> float:
        """Return the noise standard deviation of the residuals."""
        return noise_of_residuals(math.sqrt(RESIDUAL_FRACTION) / self._multiplier_of_all())

    def forecast(self, *, n_records: int | None, n_classes: NClasses) -> str | None:
        """Return a warning if records are too few for the noise; see `Synthesizer.forecast`."""
        if n_records is None:
            return None
        n_needed = LEAST_SIGNAL * self._noise(n_classes)
        return noise_exceeds("sums", n_records, n_needed, fewer=" or fewer columns")

    def errors(self, *, n_records: int | None, n_classes: NClasses) -> tuple[str, ...]:
        """Return an error if the noise leaves nothing to learn; see `Synthesizer.errors`."""
        if n_records is None or n_records > HOPELESS_SIGNAL * self._noise(n_classes):
            return ()
        text = self.forecast(n_records=n_records, n_classes=n_classes)
        return () if text is None else (text,)

    def _noise(self, n_classes: NClasses) -> float:
        """Return the root mean square of the L2 norm of the noise on the sums of a class."""
        return self._noise_sizes(n_classes)[1] * math.sqrt(self.n_encoded)

    def describe(self, *, n_records: int | None, n_classes: NClasses) -> str | None:
        """Describe the sums and their noise; see `Synthesizer.describe`."""
        records = "" if n_records is None else f", compared with {n_records} records"
        noise = f"noise of standard deviation {self._noise_sizes(n_classes)[1]:.3g} on each"
        number = "numbers" if self._places else f"{self.n_encoded} numbers"
        numbers = as_numbers(n_classes)
        several = f" of {len(numbers)} targets" if len(numbers) > 1 else ""
        columns = _columns(self.n_columns)
        sums = f"{number} for each of {sum(numbers)} classes{several}, of {columns}"
        then = ""
        if self._has_residuals:
            sd = self._noise_of_residuals()
            then = f"; then sums of rows times residuals, with noise of {sd:.3g} on each"
        return f"{sums}, with {noise}{records}{then}"

    def _noise_sizes(self, n_classes: NClasses) -> tuple[float, float, float]:
        """Return the noise standard deviations of the mean, the sums by class and the moment."""
        return noise_sizes(1 / self._multiplier_of_sums(), n_classes=n_classes)

    def _counted(
        self, records: Block, target: Target, published: Sequence[Any]
    ) -> GatheredTotal | GatheredSums | GatheredResiduals:
        """Return the total of the records, their sums about the published mean, or residuals.

        `published` has the parts after those of the schema.
        """
        X, codes, weight, groups = records
        part = ticks_of(len(X), groups, weight, target=target)
        encode = partial(_on_sphere, self._encoder, self.schema_)
        if not published:
            return gather_total(X, part, n_jobs=self.n_jobs, encode=encode)
        settings: dict[str, Any] = {"n_jobs": self.n_jobs, "encode": encode}
        if len(published) == 1:
            (centre,) = published
            return gather_sums(X, codes, part, centre, target=target, **settings)
        centre, sums = published
        before = Discriminants(sums)
        linear = before.slopes, before.constants
        return gather_residuals(X, codes, part, centre, linear, **settings)

    def publish(
        self, gathered: Any, rng: np.random.Generator, *, published: Sequence[Any] = ()
    ) -> Any:
        """Return the noisy statistics of the next step: schema counts, mean, sums or residuals."""
        n_own = len(published) - self._n_schema_steps
        if n_own < 0:
            return self._publish_schema(gathered, rng, published)
        if n_own == 0:  # the noise of the mean is the same for any number of classes
            return publish_centre(gathered, self._noise_sizes(2)[0], rng)
        if n_own == 1:
            return publish_sums(gathered, *self._noise_sizes(gathered.target.n_classes)[1:], rng)
        return publish_residuals(gathered, self._noise_of_residuals(), rng)

    def draw(self, published: Sequence[Any], rng: np.random.Generator) -> Rows:
        """Draw rows with the class frequencies, means and covariance of the discriminants.

        With several targets, these are the discriminants of the first. The covariance of all rows
        contains the effects of the others.
        """
        self._learn_columns(published)
        own = published[self._n_schema_steps :]
        centre, sums = own[:2]
        residuals = own[2] if self._has_residuals else None
        tables = [
            ReleasedSums(self.schema_, self._encoder, centre, of_target, residuals)
            for of_target in sums.by_target()
        ]
        self.released_ = of_targets(tables)
        released = tables[0]
        about = released.discriminants.draw(int(self.n_rows), rng)
        constant = np.maximum(about[:, -1:], CONSTANT / 2)
        psi = released.centre.mean + CONSTANT * about[:, :-1] / constant
        psi = psi / np.maximum(psi[:, -1:], CONSTANT / 2)
        return self._encoder.decode(np.clip(psi[:, :-1], -1, 1))


def _on_sphere(encoder: RowEncoder, schema: Columns, X: Rows) -> np.ndarray:
    """Return encoded rows, with a constant entry of 1, scaled to length 1.

    Columns that are read by value are converted here, block by block: a copy of a mapped file as
    floats would take more memory.
    """
    return with_constant(encoder.transform(schema.like(X)), 1.0)


def _columns(number: int) -> str:
    """Return a number of columns as text."""
    return "1 column" if number == 1 else f"{number} columns"
