"""Who votes on public rows: what an electorate says of itself, and the votes that it casts."""

from abc import ABCMeta, abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import numpy as np

from ._sklearn import CheckedEstimator
from .rdp import NeighboringRelation, Neighbors
from .targets import ClassTarget, Target

__all__ = [
    "CellForecast",
    "Electorate",
    "PrivateData",
    "TableElectorate",
    "Votes",
]


class Private:
    """Base class: what is private. The repr shows nothing of it, and no pickle holds it."""

    def __repr__(self):
        return f"{type(self).__name__}(private)"

    def __reduce__(self):
        raise TypeError(f"{type(self).__name__} is private: it cannot be pickled or copied")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PrivateData(Private):
    """The private data of one fit, after all checks.

    Its repr shows nothing of them, and it cannot be pickled.

    Attributes
    ----------
    X : array-like, sparse matrix or DataFrame with n_samples rows, or teachers.Sites
        Features, as they were given.
    codes : ndarray of shape (n_samples,) or None
        Labels or numbers as codes, from ``target.encode``. None with `Sites`, which load their own.
    target : targets.Target
        The classes of the labels, or the levels of the numbers. It is public.
    sample_weight : ndarray of shape (n_samples,) or None
        Weights of the records.
    groups : array-like of shape (n_samples,) or None
        One identifier per record.
    """

    X: Any
    codes: np.ndarray | None
    target: Target
    sample_weight: np.ndarray | None = None
    groups: Any = None

    @property
    def classes(self) -> np.ndarray:
        """Sorted labels, or levels, (n_classes,). They are public."""
        return self.target.values


class Electorate(CheckedEstimator, metaclass=ABCMeta):
    """Base class: who votes on public rows.

    `PATEClassifier` makes a `teachers.TeacherEnsemble` from its parameters. Give another electorate
    as its `base_estimator`. `enrol` returns the neighboring data sets that the votes protect and
    sets `n_teachers_`, before anything is trained, and `vote` casts the votes. Both run in silence,
    on a clone. What they learn from private data stays in attributes of that clone, which is
    dropped after the fit. Parameters follow scikit-learn's conventions (`get_params`, `clone`).
    """

    #: The kind of target that it votes for; tables suit any.
    target_type: type[Target] = ClassTarget

    #: Number of votes on each row, set by `enrol`; None where records vote in a table.
    n_teachers_: int | None = None

    #: The teacher of each private record, if records have one. Private: it is for `curator_`.
    teacher_indices_: np.ndarray | None = None

    #: The fitted teachers, if they are kept. Private: they are for `curator_`.
    teachers_: list | None = None

    #: What is released of all votes at once, for statements; empty where labels are.
    released_as = ""

    def __getstate__(self):
        """Return the parameters alone: the rest is private."""
        return self.get_params(deep=False)

    def check(self, *, soft_aggregator=None):
        """Refuse parameters that cannot work, before any data are looked at.

        Parameters
        ----------
        soft_aggregator : SoftAggregator or None
            The aggregator, if it needs probabilities in place of votes. This method refuses it.
            An electorate that gives probabilities overrides this method.

        Raises
        ------
        ValueError
            It says what was got and what was expected.
        """
        if soft_aggregator is not None:
            raise ValueError(
                f"{type(self).__name__} casts votes, and {soft_aggregator} needs probabilities"
            )

    @abstractmethod
    def enrol(self, private, X_public, *, seed=None, memory=None):
        """Return the neighboring data sets that the votes protect; nothing is trained yet.

        One protected unit must reach at most one of `n_teachers_` teachers, so that it changes at
        most one vote on each row.

        Parameters
        ----------
        private : PrivateData
            The private data to vote by.
        X_public : array-like with n_public rows
            All public rows.
        seed : numpy.random.SeedSequence, default=None
            Source of randomness; None draws from the operating system.
        memory : joblib.Memory or None
            A private folder for what an interrupted fit should keep. An electorate may ignore it.

        Returns
        -------
        rdp.Neighbors
            It must be true of every data set with the same public numbers.
        """

    @abstractmethod
    def vote(self, private, X_query, *, temperature=None, seed=None, on_done=None):
        """Cast the votes on public rows.

        Parameters
        ----------
        private : PrivateData
            The data that `enrol` was called with before.
        X_query : array-like with n_queries rows
            The public rows to vote on.
        temperature : float or None
            Temperature of the probabilities that are wanted; None for votes.
        seed : numpy.random.SeedSequence, default=None
            Source of randomness; None draws from the operating system.
        on_done : callable, default=None
            Called with the number of teachers that have finished, each time one does.

        Returns
        -------
        ndarray of shape (n_queries, n_classes), int
            Vote counts. Each row sums to `n_teachers_`.
        """

    def default_student(self):
        """Return the student to train if none is given; None if there is nothing to suggest."""
        return None

    def classifiers(self):
        """Return the unfitted classifiers that vote, for the diagram; none: an empty list."""
        return []


class CellForecast(NamedTuple):
    """What the cells of records that vote will be like, by public numbers alone.

    Attributes
    ----------
    n_cells : int
        Number of cells, at most.
    n_ballots : int
        Ballots in the table: of the records or, where their number is private, of as many records
        as there are public rows.
    explained : float or None
        The share of the spread of public rows that cells of other public rows explain, from 0 to 1;
        None where the public rows are still to be drawn.
    n_columns : int or None
        Number of columns that are summed, where there are no cells.
    problems, obstacles : tuple of str
        What is wrong with these numbers, and what of it leaves nothing to be learnt.
    """

    n_cells: int
    n_ballots: int
    explained: float | None = None
    problems: tuple = ()
    obstacles: tuple = ()
    n_columns: int | None = None


class TableElectorate(Electorate):
    """Base class: records that cast ballots in a table, where they lie.

    `enrol` returns the neighboring data sets, and `contribution` the largest change of the table
    between two of them. Then `divide` divides the feature space into cells, by public rows and
    numbers alone, `vote` counts the ballots in them, and `read` reads the noisy table.
    `PATEClassifier` accepts those of this library alone.
    """

    _parameter_constraints: dict = {}

    #: The relation that the guarantee covers: "replace_one", or "add_or_remove_one".
    relation = NeighboringRelation.REPLACE_ONE

    #: A mechanism of its own; None: noise on every entry of its table.
    mechanism: Any = None

    released_as = "a noisy table of the records' ballots"

    @property
    def size_is_private(self):
        """Whether records may join or leave, so that their number is private."""
        return self.relation == NeighboringRelation.ADD_OR_REMOVE_ONE

    def check(self, *, soft_aggregator=None):
        """Refuse parameters that cannot work; see `Electorate.check`."""
        super().check(soft_aggregator=soft_aggregator)
        self._validate_params()

    def neighbors(self, private):
        """Return the neighboring data sets: records, or groups where private data have them.

        Parameters
        ----------
        private : PrivateData
            As in `enrol`.

        Returns
        -------
        rdp.Neighbors
        """
        unit = "record" if private.groups is None else "group"
        return Neighbors(relation=self.relation, unit=unit).with_size(len(private.codes))

    @abstractmethod
    def contribution(self, neighbors):
        """Return the largest change of the table between neighboring data sets.

        Parameters
        ----------
        neighbors : rdp.Neighbors
            From `enrol`.

        Returns
        -------
        rdp.Contribution
        """

    @abstractmethod
    def divide(self, X_public, *, noise_std, n_records, n_classes, are_drawn=False):
        """Divide the feature space into cells, from public rows and numbers alone.

        Parameters
        ----------
        X_public : array-like with n_public rows
            All public rows.
        noise_std : float
            Standard deviation of the noise that each entry of the table will get, in ballots.
        n_records : int or None
            Number of private records; None where it is private.
        n_classes : int
            Number of classes.
        are_drawn : bool, default=False
            Whether a synthesizer drew the public rows: they lie roughly where private records do.
        """

    def n_steps(self, *, n_records):
        """Return how often `vote` calls `on_done`, by public numbers alone.

        Parameters
        ----------
        n_records : int or None
            As in `divide`.
        """
        return 1

    @abstractmethod
    def vote(self, private, X_query, *, temperature=None, seed=None, n_jobs=None, on_done=None):
        """Count the ballots in the cells; see `Electorate.vote`.

        Parameters
        ----------
        private, X_query, temperature, seed
            As in `Electorate.vote`.
        n_jobs : int, default=None
            As in joblib. The table does not depend on it.
        on_done : callable, default=None
            Called with the number of steps that are done, `n_steps` times.

        Returns
        -------
        ndarray of shape (n_cells, n_classes)
            Whole multiples of `rdp.discrete.GRID`.
        """

    @abstractmethod
    def forecast(self, *, noise_std, n_records, n_classes, are_drawn=False):
        """Say what `divide` will do, by public numbers alone.

        Parameters
        ----------
        noise_std, n_records, n_classes
            As in `divide`.
        are_drawn : bool, default=False
            Whether the public rows stand for others that are drawn later.

        Returns
        -------
        CellForecast
        """

    @abstractmethod
    def check_public(self, X_public):
        """Refuse other public rows, or another order, than those that `enrol` was given.

        Parameters
        ----------
        X_public : array-like with n_public rows
            Public rows.
        """

    @abstractmethod
    def released(self, noisy, *, noise_std):
        """Return a noisy table, of the cells of `divide`, as it is published. It takes no time.

        Parameters
        ----------
        noisy : ndarray of shape (n_cells, n_classes)
            The table with its noise.
        noise_std : float
            Standard deviation of the noise, in ballots.

        Returns
        -------
        object
            Its `read` returns rates and labels of any public rows; `p_value` is that of the table
            if labels have nothing to do with rows: a fit warns of a large one.
        """

    @abstractmethod
    def read(self, table):
        """Return what a published table says of each public row.

        Parameters
        ----------
        table : object
            From `released`.

        Returns
        -------
        rates : ndarray of shape (n_public, n_classes)
            The share of each class near each public row; rows sum to 1.
        labels : ndarray of shape (n_public,), int
            Class codes, in about these rates; -1 for a row that gets no label.
        """


@dataclass(frozen=True, eq=False, repr=False)
class Votes(Private):
    """Votes on public rows. They are private: the repr does not show them, no pickle holds them.

    Attributes
    ----------
    counts : ndarray of shape (n_rows, n_classes), int
        Vote counts. With a `temperature`, sums of probabilities, as floats. Of a
        `TableElectorate`, the table of ballots, with a row for each cell.
    target : targets.Target
        The values that votes are for.
    neighbors : rdp.Neighbors
        The neighboring data sets whose counts differ by at most one vote in each row, or by the
        contribution that `electorate` states.
    n_teachers : int or None
        Number of votes in each row; None for a table.
    temperature : float or None
        Temperature of the teachers' probabilities; None for votes.
    teacher_indices : ndarray of shape (n_samples,), int, or None
        The teacher of each private record, if known.
    teachers : list or None
        Fitted teachers, if kept.
    electorate : TableElectorate or None
        Who reads the table, if `counts` is one: it knows the cells.
    n_public : int or None
        Number of public rows, if `counts` is a table; else each has a row of counts.
    synthesis : releases.ahead.Synthesis or None
        Where the public rows come from, if they were drawn: they, and what they cost.
    not_covered : tuple of str
        What `PrivacySpent.not_covered` says of a fit to them.
    obstacles : tuple of str
        Why nothing that may be published can be learnt from them.
    """

    counts: np.ndarray
    target: Target
    neighbors: Neighbors
    _: KW_ONLY
    n_teachers: int | None = None
    temperature: float | None = None
    teacher_indices: np.ndarray | None = None
    teachers: list | None = None
    electorate: Any = None
    n_public: int | None = None
    synthesis: Any = None
    not_covered: tuple = ()
    obstacles: tuple = ()

    @property
    def classes(self) -> np.ndarray:
        """Sorted labels, or levels, (n_classes,): the columns of votes."""
        return self.target.values

    @classmethod
    def of_teachers(cls, counts, classes=None):
        """Return votes of bare counts, whose protected unit is one teacher.

        `classes` defaults to 0..n_classes-1.
        """
        classes = np.arange(counts.shape[1]) if classes is None else np.asarray(classes)
        if len(classes) != counts.shape[1] or not np.array_equal(np.unique(classes), classes):
            raise ValueError(
                "votes needs a column for each of the sorted classes, in that order; got "
                f"{counts.shape[1]} columns and the classes {classes.tolist()}"
            )
        neighbors = Neighbors(relation=NeighboringRelation.REPLACE_ONE, unit="teacher")
        n_teachers = int(counts[0].sum())
        return cls(counts, ClassTarget(classes), neighbors, n_teachers=n_teachers)
