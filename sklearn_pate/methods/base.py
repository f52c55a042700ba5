"""Base classes of methods: how private records become labels of public rows.

A method states, in this order, its *statistic* (the sum over records), its *contribution*
(the largest change of the statistic between neighboring data sets, with the proof), its *noise* and
its *read-out* (class probabilities at any row).
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
    """Base class of methods of any kind.

    `VotingMethod` is the base class of your own. Parameters follow scikit-learn's conventions
    (`get_params`, `clone`).
    """

    #: The kind of target that it is for; tables suit any.
    target_type: type[Target] = ClassTarget

    #: How a fit releases labels.
    release: VotesRelease

    #: Number of votes on each row, set by `prepare`; None where there are no teachers.
    n_teachers_: int | None = None

    #: Description of a table that is released at once, for statements; empty where labels are.
    released_as = ""

    def __getstate__(self) -> dict[str, Any]:
        """Return the parameters alone: the rest is private."""
        return self.get_params(deep=False)

    def check(self, *, soft_aggregator: SoftAggregator | None = None) -> None:
        """Refuse parameters that cannot work, before any data are looked at.

        Parameters
        ----------
        soft_aggregator : SoftAggregator or None
            The aggregator, if it needs probabilities in place of votes. This method refuses it.
            A class whose votes are probabilities overrides it.

        Raises
        ------
        ValueError
            With the value and the expected one.
        """
        if soft_aggregator is not None:
            raise ValueError(
                f"{type(self).__name__} casts votes, and {soft_aggregator} needs probabilities"
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
        """Return the neighboring data sets that are protected; nothing is trained yet.

        Parameters
        ----------
        private : PrivateData
            The private data.
        X_public : array-like with n_public rows
            All public rows.
        seed : numpy.random.SeedSequence, default=None
            Source of randomness; None draws from the operating system.
        memory : joblib.Memory or None
            A private folder that keeps intermediate results for the fit after an interrupted one.
            A method may ignore it.

        Returns
        -------
        rdp.Neighbors
            It must be true of every data set with the same public numbers.
        """

    def default_student(self) -> Estimator:
        """Return the student to train if none is given; None if there is nothing to suggest."""
        return None

    def classifiers(self) -> list[Estimator]:
        """Return the unfitted classifiers that vote, for the diagram; none: an empty list."""
        return []


class VotingMethod(Method):
    """Base class: votes on public rows, each of a teacher.

    Give it as `method` of `PATEClassifier`. `prepare` returns the neighboring data sets that the
    votes protect and sets `n_teachers_`, before anything is trained, and `vote` returns the votes.
    **One protected unit must reach at most one teacher**, so that it changes at most one vote on
    each row. Both are called on a clone, and their output is suppressed. Attributes
    of that clone may depend on private data; it is dropped after the fit.
    """

    release = LabelsRelease()

    #: The teacher of each private record, if records have one. Private: it is for `curator_`.
    teacher_indices_: np.ndarray | None = None

    #: The fitted teachers, if they are kept. Private: they are for `curator_`.
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
        """Cast the votes on public rows.

        Parameters
        ----------
        private : PrivateData
            The data that `prepare` was called with before.
        X_query : array-like with n_queries rows
            The public rows to vote on.
        temperature : float or None
            Temperature of the requested probabilities; None for votes.
        seed : numpy.random.SeedSequence, default=None
            Source of randomness; None draws from the operating system.
        on_done : callable, default=None
            Called with the number of teachers that have finished, each time one does.

        Returns
        -------
        ndarray of shape (n_queries, n_classes), int
            Vote counts. Each row sums to `n_teachers_`.
        """


class TableMethod(Method):
    """Base class: records that vote in a table, which is released as a whole.

    `prepare` returns the neighboring data sets, and `contribution` the largest change of the table
    between two of them. Then `prepare_public` lays out the table, by public rows and numbers alone,
    `vote` counts the records in it, `released` reads the noisy table, and `read` its class
    probabilities at the public rows. `PATEClassifier` accepts the classes of this library alone.
    """

    _parameter_constraints: dict = {}

    release = TableRelease()

    #: The relation that the guarantee covers: "replace_one", or "add_or_remove_one".
    relation: NeighboringRelation | str = NeighboringRelation.REPLACE_ONE

    @property
    def size_is_private(self) -> bool:
        """Whether records may join or leave, so that their number is private."""
        return self.relation == NeighboringRelation.ADD_OR_REMOVE_ONE

    def check(self, *, soft_aggregator: SoftAggregator | None = None) -> None:
        """Refuse parameters that cannot work; see `Method.check`."""
        super().check(soft_aggregator=soft_aggregator)
        self._validate_params()

    def neighbors(self, private: PrivateData) -> Neighbors:
        """Return the neighboring data sets: records, or groups where private data have them.

        Parameters
        ----------
        private : PrivateData
            As in `prepare`.

        Returns
        -------
        rdp.Neighbors
        """
        unit = "record" if private.groups is None else "group"
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
        """Lay out the table, from public rows and numbers alone.

        Parameters
        ----------
        X_public : array-like with n_public rows
            All public rows.
        noise_std : float
            Standard deviation of the noise that each entry of the table will get, in votes.
        n_records : int or None
            Number of private records; None where it is private.
        n_classes : int
            Number of classes.
        are_synthetic : bool, default=False
            Whether a synthesizer drew the public rows: they lie roughly where private records do.
        """

    def n_steps(self, *, n_records: int | None) -> int:
        """Return how often `vote` calls `on_done`, by public numbers alone.

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
            Called with the number of steps that are done, `n_steps` times.

        Returns
        -------
        ndarray of shape (n_cells, n_classes)
            Whole multiples of `rdp.discrete.GRID`.
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
        """Return the mechanism that adds noise to the table; refuse one that does not fit.

        Parameters
        ----------
        aggregator : TableMechanism or None
            The parameter of the classifier; None is the default.

        Returns
        -------
        TableMechanism
        """

    # --- read-out --------------------------------------------------------------------------------

    @abstractmethod
    def released(self, noisy: np.ndarray, *, noise_std: float) -> Any:
        """Return the object that is published, which follows from the noisy table.

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
            depend on rows. A fit warns if it is large.
        """

    @abstractmethod
    def read(self, table: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return class probabilities and labels at each public row.

        Parameters
        ----------
        table : object
            From `released`.

        Returns
        -------
        class_proba : ndarray of shape (n_public, n_classes)
            The share of each class near each public row; rows sum to 1.
        labels : ndarray of shape (n_public,), int
            Class codes, in about these shares; -1 for a row that gets no label.
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
        """Return what `prepare_public` will do, by public numbers alone.

        Parameters
        ----------
        noise_std, n_records, n_classes
            As in `prepare_public`.
        are_synthetic : bool, default=False
            Whether the public rows stand for others that are drawn later.

        Returns
        -------
        forecasts.CellForecast
        """

    @abstractmethod
    def check_public(self, X_public: Rows) -> None:
        """Refuse other public rows, or another order, than those that `prepare` was given.

        Parameters
        ----------
        X_public : array-like with n_public rows
            Public rows.
        """
