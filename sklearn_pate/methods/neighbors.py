"""Method `neighbors`: each record votes for its label in the nearest cells.

Statistic: votes of records, by cell and class. Contribution: adding or removing a unit changes each
count by at most 1, and all counts together by at most `n_neighbors`; replacing a unit counts twice.
Noise: Laplace, on every count. Read-out: a Gaussian process over the cells.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.base import clone

from .._sklearn import Interval, StrOptions, pipeline
from ..aggregators import GaussianMechanism, LaplaceMechanism, TableMechanism
from ..encoding import custom
from ..encoding.encoder import MAX_COLUMNS, n_encoded_columns
from ..encoding.vectorizer import RowVectorizer
from ..forecasts import CellForecast, errors_and_warnings, noise_exceeds
from ..neighbors import centers, counting, smoothing
from ..neighbors.landmarks import LandmarkClassifier
from ..rdp.discrete import GRID, TICKS
from ..readouts import SeveralTables, of_targets
from ..rules import default_n_cells
from ..runtime.copies import fresh_seed, isolated_clone, seed_number
from ..runtime.memory import cached_seed, code_digest, digest
from ..shift import PublicShift
from .base import Method
from .blocks import BlockMethod

if TYPE_CHECKING:
    from joblib import Memory

    from .._typing import Estimator, Rows
    from ..encoding.targets import Target
    from ..rdp.contribution import Contribution, Neighbors
    from ..runtime.private_data import PrivateData

#: A plan warns about more relative noise: the standard deviation of the noise on the votes for one
#: class, summed over ``n_cells / n_classes`` cells, divided by ``n_records / n_classes``. At 0.2,
#: between a third and a twentieth of the labels were wrong on small data sets; see
#: docs/results/neighbors_records.csv.
_MOST_NOISE = 0.2

#: A plan warns about fewer votes per class and cell, divided by the standard deviation of the
#: noise, for equally frequent classes. At 0.07 (100 classes, 20,000 records), the accuracy was 0.02
#: to 0.54; at 0.14, it was 0.09 to 0.74.
_MIN_VOTES_OVER_NOISE = 0.1

#: With less than this fraction of the required records, a plan has an error instead of a warning.
_HOPELESS = 0.1

#: A plan warns about cells that explain a smaller fraction of the variance of the public rows. It
#: was 0.02 with 200 and with 100 independent columns (accuracy 0.5 and 0.70), 0.08 with 50 columns
#: (accuracy 0.81), 0.74 on Adult and 0.56 on Diabetes.
_LEAST_EXPLAINED = 0.05

#: Number of rows with the same weight as public rows, if they are synthetic or from elsewhere; see
#: `smoothing.expected_votes`.
_TRUSTED_IF_OTHERS = 300

#: Attributes that `prepare` computes from parameters, public rows and a seed.
_OF_PUBLIC_ROWS = {
    "_seed",
    "_transformer",
    "_public",
    "_largest",
    "_rounding",
    "_explained",
    "_distinct",
    "_fingerprint",
}


class ReverseNeighbors(BlockMethod):
    """Noisy votes of records in cells of the feature space.

    The cells are made from public rows only. Each private record votes for its own label in the
    nearest cell. Noise is added to the table of votes once, and the whole table is released: the
    cost depends neither on the number of labels nor on the number of classes. Labelling public rows
    from the noisy table has no privacy cost.

    ``PATEClassifier(method="neighbors")`` uses this method with default parameters. It suits small
    epsilons, many classes, and features for which nearby rows have similar labels. Teachers suit
    features that must be learnt.

    Parameters
    ----------
    transformer : transformer, default=None
        Encodes rows as numbers, with similar rows near each other. It is fitted on public
        rows only, and must transform each row by itself. None is a `neighbors.RowVectorizer`,
        which accepts numbers, categories and missing values in DataFrames, arrays and sparse rows.
    n_cells : int, default=None
        Number of cells. With None, `rules.default_n_cells` computes it from public numbers: the
        number of records (of public rows, if the number of records is private), divided by seven
        times the standard deviation of the noise (20 records per cell at epsilon 1). A small number
        is doubled, up to 32, and raised to four cells for each class. It is then limited to half
        the number of public rows, and to 1,000.
    n_neighbors : int, default=1
        Number of nearest cells in which each record votes.
    smoothing : {"auto"} or float, default="auto"
        Length scale of the Gaussian process that smooths the cells, in units of the median distance
        between two cells, from 0.001 to 1000. "auto" estimates it from the noisy table. With a
        number, all rows that are many length scales away from every cell get the same class
        probabilities: those of the whole table, raised to a power and normalized. So values far
        below 0.3 are not useful.
    relation : {"replace_one", "add_or_remove_one"}, default="replace_one"
        The neighboring data sets that the guarantee covers. "replace_one": one record (or one
        group) is replaced by another. "add_or_remove_one": one record (or one group) is added or
        removed, which is a weaker guarantee with half the Laplace noise.
    random_state : int or None, default=None
        Seed of the transformer and of the clustering, which use public rows only. With None, the
        seed is derived from the estimator's `random_state` if that is set. Otherwise it is new or,
        if the estimator has a `memory`, stored there for later fits on the same public rows.

    References
    ----------
    Li, Wang, Wang et al. (2022). Fine-grained private knowledge distillation. arXiv 2207.13253.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn_pate import PATEClassifier
    >>> from sklearn_pate.methods import ReverseNeighbors
    >>> X, y = load_iris(return_X_y=True)
    >>> method = ReverseNeighbors(random_state=0)
    >>> clf = PATEClassifier(method=method, epsilon=10, classes=[0, 1, 2], random_state=0)
    >>> clf.fit(X[::2], y[::2], X_public=X[1::2]).score(X[1::2], y[1::2]) > 0.8
    True
    """

    released_as = "a noisy table of the records' votes"
    accepts_several_targets = True

    _most_by_record = TICKS

    _parameter_constraints = {
        "n_cells": [Interval(Integral, 1, 2**31, closed="left"), None],
        "n_neighbors": [Interval(Integral, 1, 2**31, closed="left")],
        "smoothing": [StrOptions({"auto"}), Interval(Real, 1e-3, 1e3, closed="both")],
        "relation": [StrOptions({"replace_one", "add_or_remove_one"})],
        "random_state": [Interval(Integral, 0, 2**32, closed="left"), None],
    }

    def __init__(
        self,
        transformer: Estimator | None = None,
        *,
        n_cells: int | None = None,
        n_neighbors: int = 1,
        smoothing: Literal["auto"] | float = "auto",
        relation: Literal["replace_one", "add_or_remove_one"] = "replace_one",
        random_state: int | None = None,
    ) -> None:
        self.transformer = transformer
        self.n_cells = n_cells
        self.n_neighbors = n_neighbors
        self.smoothing = smoothing
        self.relation = relation
        self.random_state = random_state

    # --- statistic --------------------------------------------------------------------------------

    def prepare(
        self,
        private: PrivateData,
        X_public: Rows,
        *,
        seed: np.random.SeedSequence | None = None,
        memory: Memory | None = None,
    ) -> Neighbors:
        """Fit the transformer on public rows, and return the neighboring data sets."""
        neighbors = self._note_public(private, memory)
        earlier = self.__dict__.pop("_earlier", None)
        if earlier is not None:
            self.__dict__.update(earlier)
            return neighbors
        self._seed = self._public_seed(X_public, seed)
        self._transformer = custom.fitted_on_public(self._unfitted(), X_public, self._seed)
        self._public = smoothing.numbers_of_public(self._transformer, X_public)
        self._sums_accept = n_encoded_columns(X_public) is not None
        # RowVectorizer encodes each row by itself, regardless of the size of its numbers
        is_ours = type(self._transformer) is RowVectorizer
        self._largest = None if is_ours else custom.largest_sizes(X_public)
        self._rounding = custom.rounding_among_others(self._transformer, X_public, self._public)
        # Computed when the choice of the method or the plan requires it
        self._explained = cache(partial(centers.explained_share, self._public, random_state=0))
        self._distinct = cache(lambda: centers.distinct_rows(self._public)[0])
        if self._memory.location is not None:
            code = code_digest(isolated_clone(self._unfitted(), self._seed))
            self._fingerprint = digest(code, self._seed, X_public, self._public)
        return neighbors

    def use_prepared(self, earlier: Method) -> None:
        """Use encoded public rows of another method; see `Method.use_prepared`."""
        if type(earlier) is type(self):
            names = _OF_PUBLIC_ROWS & set(vars(earlier))
            self._earlier = {name: vars(earlier)[name] for name in names}

    def _public_seed(self, X_public: Rows, seed: np.random.SeedSequence | None) -> int:
        """Return the seed of the transformer and of the cells.

        If neither `random_state` nor `seed` is set, the seed is new, or `memory` stores it under a
        digest of the public rows.
        """
        if self.random_state is not None:
            return int(self.random_state)
        if seed is not None:
            return seed_number(seed)
        if self._memory.location is None:
            return fresh_seed()
        return seed_number(cached_seed(self._memory, (digest(X_public), "cells")))

    def prepare_public(
        self,
        X_public: Rows,
        *,
        noise_std: float,
        n_records: int | None,
        n_classes: int,
        are_synthetic: bool = False,
    ) -> None:
        """Make cells of the public rows; see `TableMethod.prepare_public`."""
        self._n_trusted = _TRUSTED_IF_OTHERS if are_synthetic else math.inf
        n_cells = self._most_cells(noise_std=noise_std, n_records=n_records, n_classes=n_classes)
        self._n_votes = None
        if n_records is not None and not self._is_weighted:
            self._n_votes = n_records * int(self.n_neighbors)
        self._centers = centers.make_centers(self._public, n_cells, self._seed)
        self._cells = cache(partial(centers.nearest_cells, self._public, self._centers))

    def _most_cells(self, **sizes: Any) -> int:
        if self.n_cells is not None:
            return int(self.n_cells)
        return default_n_cells(n_public=len(self._public), **sizes)

    def _counter(self, target: Target) -> tuple[Callable[..., np.ndarray], dict[str, Any]]:
        return counting.count_block_in_cells, {
            "centers": self._centers,
            "n_neighbors": self.n_neighbors,
            "largest": self._largest,
            "rounding": self._rounding,
            "target": target,
        }

    def vote(self, private: PrivateData, X_query: Rows, **given: Any) -> np.ndarray:
        """Count the votes of records in the cells; see `TableMethod.vote`."""
        return super().vote(private, X_query, **given).astype(float) * GRID

    # --- contribution -----------------------------------------------------------------------------

    def contribution(self, neighbors: Neighbors) -> Contribution:
        """Return the contribution of a unit that adds at most 1 to each of `n_neighbors` counts.

        A record adds its weight, at most 1, to the count of its class in each of its `n_neighbors`
        nearest cells, which depend only on its row and on public rows. The votes of a group are the
        mean of the votes of its records, see `neighbors.counting.count_votes`, so no norm of them
        exceeds the norm for one record. If a unit is replaced, its votes are removed and other
        votes are added, so `Neighbors.counts` doubles the number of counts. With several targets,
        a record adds to one count of each target in these cells.
        """
        n_cells = int(self.n_neighbors)  # short integers overflow
        return neighbors.counts(n_cells * self._target.n_targets)

    # --- noise ------------------------------------------------------------------------------------

    def mechanism(self, aggregator: TableMechanism | None) -> TableMechanism:
        """Return the aggregator, or `LaplaceMechanism` if None; see `TableMethod.mechanism`."""
        if aggregator is None:
            return LaplaceMechanism()
        if not isinstance(aggregator, TableMechanism) or aggregator.statistic != "votes":
            raise ValueError(
                "aggregator must be a TableMechanism, such as LaplaceMechanism() or "
                "GaussianMechanism(): records vote in a table, which is released as a whole; "
                f"got {aggregator!r}"
            )
        return aggregator

    def mechanisms(self, aggregator: TableMechanism | None) -> list[TableMechanism]:
        """Return the mechanisms to choose from; see `TableMethod.mechanisms`.

        For q targets, the noise of `LaplaceMechanism` is proportional to q, and the noise of
        `GaussianMechanism` to the root of q.
        """
        mechanism = self.mechanism(aggregator)
        is_default = aggregator is None and self._target.n_targets > 1
        return [mechanism, GaussianMechanism()] if is_default else [mechanism]

    # --- read-out ---------------------------------------------------------------------------------

    def released(
        self, noisy: np.ndarray, *, noise_std: float
    ) -> smoothing.ReleasedTable | SeveralTables:
        """Return the `ReleasedTable` of noisy counts; see `TableMethod.released`."""
        return of_targets(
            self._released(noisy[:, own], noise_std, part)
            for part, own in zip(self._target.parts, self._target.columns_by_target, strict=True)
        )

    def _released(
        self, noisy: np.ndarray, noise_std: float, target: Target
    ) -> smoothing.ReleasedTable:
        """Return the `ReleasedTable` of the noisy counts of one target."""
        nearest = self._cells(1)[:, 0]
        n_public_in = np.bincount(nearest, minlength=len(self._centers))
        shift, n_trusted = None, self._n_trusted
        if n_trusted == math.inf:  # rows that were given, not synthetic ones
            shift = self._shift(noisy, noise_std)
            n_trusted = _TRUSTED_IF_OTHERS if shift.is_alarm else n_trusted
        known = self._n_votes, n_trusted
        params = {
            "total": smoothing.expected_votes(noisy, n_public_in, noise_std, *known),
            "noise_std": noise_std,
            "smoothing": self.smoothing,
            "target": target,
        }
        return smoothing.ReleasedTable(
            noisy,
            self._centers,
            self._transformer,
            params,
            n_neighbors=int(self.n_neighbors),
            shift=shift,
            rows_digest=digest(self._public),
        )

    def _shift(self, noisy: np.ndarray, noise_std: float) -> PublicShift:
        """Compare the noisy counts with the public rows."""
        n_neighbors = int(self.n_neighbors)
        given = self._public, self._centers, n_neighbors, noise_std
        return smoothing.shift_of_rows_that_made_cells(
            noisy, *given, tolerance=self._tolerance, cells=self._cells
        )

    def read(self, table: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return class probabilities and labels of each public row; see `TableMethod.read`."""
        return table.read_numbers(self._public, self._cells(1)[:, 0])

    def default_student(self) -> Estimator:
        """Return a Pipeline of the transformer and a `LandmarkClassifier`."""
        return pipeline.make_pipeline(self._unfitted(), LandmarkClassifier())

    def _unfitted(self) -> Estimator:
        return RowVectorizer() if self.transformer is None else clone(self.transformer)

    # --- forecast of public rows and numbers ------------------------------------------------------

    def forecast(
        self,
        *,
        noise_std: float,
        n_records: int | None,
        n_classes: int,
        are_synthetic: bool = False,
    ) -> CellForecast:
        """Return a forecast of the cells and votes, with warnings; see `TableMethod.forecast`."""
        n_public = len(self._public)
        n_distinct = n_public if are_synthetic else len(self._distinct())
        n_cells = self._most_cells(noise_std=noise_std, n_records=n_records, n_classes=n_classes)
        n_cells = min(n_cells, n_distinct)
        n_records_expected, kind = n_public, "public rows, as many records as are expected"
        if n_records is not None:
            n_records_expected, kind = n_records, "private records"
        # With the default `n_cells`, at most four cells per class count as separate, because
        # smoothing joins neighboring cells
        n_apart = n_cells if self.n_cells is not None else min(n_cells, 4 * n_classes)
        n_needed = noise_std * math.sqrt(n_apart * n_classes) / _MOST_NOISE
        text = noise_exceeds("votes", n_records_expected, n_needed, kind)
        public = {"n_public": n_public, "n_distinct": n_distinct, "n_classes": n_classes}
        errors, warnings = errors_and_warnings(
            text, n_records_expected < _HOPELESS * n_needed, **public
        )
        each = n_records_expected * int(self.n_neighbors) / n_cells / n_classes
        if not errors and not warnings and each < _MIN_VOTES_OVER_NOISE * noise_std:
            warnings.append(
                f"a cell has about {each:.2g} votes for each of {n_classes} classes, and noise "
                f"of standard deviation {noise_std:.3g}: classes that share cells cannot be "
                "separated. Join classes, predict a number with PATERegressor if they are ordered, "
                "raise epsilon or give more records"
            )
        explained = None if are_synthetic else self._explained(n_cells)
        can_tell = not errors and n_public >= 8 * n_classes
        if can_tell and explained is not None and explained < _LEAST_EXPLAINED:
            warnings.append(
                f"{n_cells} cells explain {explained:.1%} of the variance of the public rows: the "
                "cell of a record hardly determines its label, and the student may be as good as a "
                f"coin flip. {self._remedy}"
            )
        n_votes = n_records_expected * int(self.n_neighbors)
        return CellForecast(n_cells, n_votes, explained, tuple(warnings), tuple(errors))

    @property
    def _remedy(self) -> str:
        """What to do if cells explain little of the public rows."""
        if self._sums_accept:
            return "Use sums of all columns, method='sums', or keep only relevant columns"
        return f"Keep only relevant columns; method='sums' uses up to {MAX_COLUMNS}"

    @property
    def public_shape(self) -> tuple[int, ...]:
        """Number of public rows, and of encoded columns."""
        return self._public.shape
