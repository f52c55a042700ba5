"""Base classes of methods, which turn private records into labels of public rows.

A method defines, in this order, its *statistic* (a sum over records), its *contribution* (the
largest change of the statistic between neighboring data sets, with a proof), its *noise* and its
*read-out* (class probabilities at any row).
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .._sklearn import CheckedEstimator
from ..encoding.targets import ClassTarget, Target
from ..rdp import NeighboringRelation, Neighbors
from ..releases.base import VotesRelease
from ..releases.labels import LabelsRelease
from ..releases.table import TableRelease

if TYPE_CHECKING:
    from joblib import Memory

    from .._typing import Estimator, Rows
    from ..aggregators.base import SoftAggregator
    from ..aggregators.table import TableMechanism
    from ..forecasts import CellForecast
    from ..rdp.contribution import Contribution
    from ..runtime.private_data import PrivateData

__all__ = ["Method", "TableMethod", "VotingMethod"]


class Method(CheckedEstimator, metaclass=ABCMeta):
    """Base class of all methods.

    Subclass `VotingMethod` for your own method. Parameters follow scikit-learn's conventions
    (`get_params`, `clone`).
    """

    #: The kind of target. If `release.releases_proba` is True, the method accepts any kind.
    target_type: type[Target] = ClassTarget

    #: The release of labels.
    release: VotesRelease

    #: Number of votes on each row, set by `prepare`; None if there are no teachers.
    n_teachers_: int | None = None

    #: Description of the released table, for privacy statements; empty if no table is released.
    released_as = ""

    #: Whether `y` may have several columns, so that one unit changes one vote for each.
    accepts_several_targets = False

    def __getstate__(self) -> dict[str, Any]:
        """Return only the parameters, because other attributes may be private."""
        return self.get_params(deep=False)

    def use_prepared(self, earlier: Method) -> None:
        """Let `prepare` use what another method computed from the same public rows, if it can.

        Parameters
        ----------
        earlier : Method
            Method of the same fit before its first release, with the same parameters and prepared
            with the same public rows.
        """

    def check(self, *, soft_aggregator: SoftAggregator | None = None) -> None:
        """Raise an error for invalid parameters, before any data are read.

        Parameters
        ----------
        soft_aggregator : SoftAggregator or None
            The aggregator, if it requires probabilities instead of votes. This implementation
            raises an error if it is not None. Override `check` if `vote` can return probabilities.

        Raises
        ------
        ValueError
            If a parameter is invalid.
        """
        if soft_aggregator is not None:
            raise ValueError(
                f"{type(self).__name__} returns votes, but {soft_aggregator} requires "
                "probabilities; use an aggregator of votes"
            )

    @abstractmethod
    def prepare(
        self,
        private: PrivateData,
        X_public: Rows,
        *,
        seed: np.random.SeedSequence | None = None,
        memory: Memory | None = None,
    ) -> Neighbors:
        """Prepare the method without training, and return the neighboring data sets.

        Parameters
        ----------
        private : PrivateData
            The private data.
        X_public : array-like with n_public rows
            All public rows.
        seed : numpy.random.SeedSequence, default=None
            Source of randomness; None draws from the operating system.
        memory : joblib.Memory or None
            Private cache of intermediate results. The next fit can use it to continue an
            interrupted fit. A method may ignore it.

        Returns
        -------
        rdp.Neighbors
            The relation, unit and number of records that the guarantee covers. They must be valid
            for every data set with the same public numbers.
        """

    def default_student(self) -> Estimator:
        """Return the student that is trained if `student` is None; None if there is no default."""
        return None

    def classifiers(self) -> list[Estimator]:
        """Return the unfitted models of the teachers; an empty list if there are none."""
        return []


class VotingMethod(Method):
    """Base class of methods in which teachers vote on public rows.

    Pass an instance as `method` of `PATEClassifier`. `prepare` returns the neighboring data sets
    and sets `n_teachers_`, before anything is trained, and `vote` returns the votes. **One
    protected unit must reach at most one teacher**, so that it changes at most one vote on each
    row. Both methods are called on a clone, and printed output is suppressed. Attributes of the
    clone may depend on private data, because the clone is discarded after the fit.
    """

    release = LabelsRelease()

    #: The teacher of each private record, or None. Private: only `curator_` stores it.
    teacher_indices_: np.ndarray | None = None

    #: The fitted teachers, if they are kept. Private: only `curator_` stores them.
    teachers_: list[Any] | None = None

    @abstractmethod
    def vote(
        self,
        private: PrivateData,
        X_query: Rows,
        *,
        temperature: float | None = None,
        seed: np.random.SeedSequence | None = None,
        on_done: Callable[[int], Any] | None = None,
    ) -> np.ndarray:
        """Return the votes on public rows.

        Parameters
        ----------
        private : PrivateData
            The private data that were passed to `prepare`.
        X_query : array-like with n_queries rows
            The public rows to vote on.
        temperature : float or None
            Temperature of the requested probabilities; None for votes.
        seed : numpy.random.SeedSequence, default=None
            Source of randomness; None draws from the operating system.
        on_done : callable, default=None
            Called with the number of finished teachers after each teacher.

        Returns
        -------
        ndarray of shape (n_queries, n_classes), int
            Vote counts. Each row sums to `n_teachers_`. With a `temperature`, sums of
            probabilities, as floats. For several targets, the columns of each in turn.
        """


class TableMethod(Method):
    """Base class of methods in which records vote in a table that is released as a whole.

    `prepare` returns the neighboring data sets, and `contribution` returns the largest change of
    the table between two neighboring data sets. Then `prepare_public` defines the layout of the
    table from public rows and numbers only, and `vote` counts the records in the table. `released`
    returns the object to publish, and `read` returns its class probabilities at the public rows.
    `PATEClassifier` accepts only the table methods of this library.
    """

    _parameter_constraints: dict = {}

    release = TableRelease()

    #: The relation that the guarantee covers: "replace_one", or "add_or_remove_one".
    relation: NeighboringRelation | str = NeighboringRelation.REPLACE_ONE

    @property
    def size_is_private(self) -> bool:
        """Whether the relation adds or removes records, so that their number is private."""
        return self.relation == NeighboringRelation.ADD_OR_REMOVE_ONE

    def check(self, *, soft_aggregator: SoftAggregator | None = None) -> None:
        """Raise an error for invalid parameters; see `Method.check`."""
        super().check(soft_aggregator=soft_aggregator)
        self._validate_params()

    def neighbors(self, private: PrivateData) -> Neighbors:
        """Return the neighboring data sets; their unit is a group if there are groups.

        Parameters
        ----------
        private : PrivateData
            As in `prepare`.

        Returns
        -------
        rdp.Neighbors
        """
        unit = "group" if private.has_groups else "record"
        return Neighbors(relation=self.relation, unit=unit).with_size(private.n_records)

    # --- statistic -------------------------------------------------------------------------------

    @abstractmethod
    def prepare_public(
        self,
        X_public: Rows,
        *,
        noise_std: float,
        n_records: int | None,
        n_classes: int,
        are_synthetic: bool = False,
    ) -> None:
        """Define the layout of the table from public rows and numbers only.

        Parameters
        ----------
        X_public : array-like with n_public rows
            All public rows.
        noise_std : float
            Standard deviation of the noise that each entry of the table will get, in votes.
        n_records : int or None
            Number of private records; None if it is private.
        n_classes : int
            Number of classes.
        are_synthetic : bool, default=False
            Whether a synthesizer drew the public rows, so that their distribution is only roughly
            the distribution of private records.
        """

    def n_steps(self, *, n_records: int | None) -> int:
        """Return the number of calls of `on_done` in `vote`, from public numbers only.

        Parameters
        ----------
        n_records : int or None
            As in `prepare_public`.
        """
        return 1

    @abstractmethod
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
        """Count the records in the table.

        Parameters
        ----------
        private, X_query, temperature, seed
            As in `VotingMethod.vote`.
        n_jobs : int, default=None
            As in joblib. The table does not depend on it.
        on_done : callable, default=None
            Called `n_steps` times, with the number of finished steps.

        Returns
        -------
        ndarray of shape (n_cells, n_classes)
            Votes in cells, as multiples of `rdp.discrete.GRID`. A method may return another table.
        """

    # --- contribution ----------------------------------------------------------------------------

    @abstractmethod
    def contribution(self, neighbors: Neighbors) -> Contribution:
        """Return the largest change of the table between neighboring data sets.

        Parameters
        ----------
        neighbors : rdp.Neighbors
            From `prepare`.

        Returns
        -------
        rdp.Contribution
        """

    # --- noise -----------------------------------------------------------------------------------

    @abstractmethod
    def mechanism(self, aggregator: TableMechanism | None) -> TableMechanism:
        """Return the mechanism that adds noise to the table.

        An unsuitable aggregator raises a ValueError.

        Parameters
        ----------
        aggregator : TableMechanism or None
            The parameter `aggregator` of the estimator. None is the default mechanism.

        Returns
        -------
        TableMechanism
        """

    def mechanisms(self, aggregator: TableMechanism | None) -> list[TableMechanism]:
        """Return the mechanisms among which a plan chooses the one with the least noise.

        Parameters
        ----------
        aggregator : TableMechanism or None
            As in `mechanism`.

        Returns
        -------
        list of TableMechanism
        """
        return [self.mechanism(aggregator)]

    # --- read-out --------------------------------------------------------------------------------

    @abstractmethod
    def released(self, noisy: np.ndarray, *, noise_std: float) -> Any:
        """Return the object to publish, computed from the noisy table and public data.

        Parameters
        ----------
        noisy : ndarray of shape (n_cells, n_classes)
            The table with its noise, in the layout of `prepare_public`.
        noise_std : float
            Standard deviation of the noise, in votes.

        Returns
        -------
        object
            Its method `read` returns class probabilities and labels of any public rows. Its
            attribute `p_value` is the p-value of the table under the hypothesis that labels do not
            depend on rows. A fit warns if the p-value is large. For several targets, it is a
            `readouts.SeveralTables` with one such object for each.
        """

    @abstractmethod
    def read(self, table: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return class probabilities and labels at each public row.

        Parameters
        ----------
        table : object
            Result of `released`, for one target.

        Returns
        -------
        class_proba : ndarray of shape (n_public, n_classes)
            Class probabilities; rows sum to 1.
        labels : ndarray of shape (n_public,), int
            Class codes, -1 for a row without a label. The frequencies of the classes are about the
            means of `class_proba`.
        """

    # --- public rows and numbers -----------------------------------------------------------------

    @abstractmethod
    def forecast(
        self,
        *,
        noise_std: float,
        n_records: int | None,
        n_classes: int,
        are_synthetic: bool = False,
    ) -> CellForecast:
        """Return a forecast of the table and its noise, from public data only.

        Parameters
        ----------
        noise_std, n_records, n_classes
            As in `prepare_public`.
        are_synthetic : bool, default=False
            Whether the public rows are made up, and synthetic rows will replace them.

        Returns
        -------
        forecasts.CellForecast
        """

    @abstractmethod
    def check_public(self, X_public: Rows) -> None:
        """Raise an error if public rows, or their order, differ from those in `prepare`.

        Parameters
        ----------
        X_public : array-like with n_public rows
            Public rows.
        """
