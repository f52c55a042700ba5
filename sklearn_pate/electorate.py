"""Who votes on public rows: what an electorate says of itself, and the votes that it casts."""

from abc import ABCMeta, abstractmethod
from dataclasses import KW_ONLY, dataclass
from enum import StrEnum
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_classifier, is_regressor

from ._sklearn import CheckedEstimator

__all__ = [
    "Adjacency",
    "Ballots",
    "CellForecast",
    "Electorate",
    "PrivateData",
    "TableBallots",
    "TableElectorate",
    "Votes",
    "check_predicts",
]


class Adjacency(StrEnum):
    """The change of the private data that a guarantee covers.

    Each member is the text that is published. A partition of a user's own states an adjacency as
    plain text; nothing else is known of it.

    Examples
    --------
    >>> from sklearn_pate.electorate import Adjacency
    >>> Adjacency.REPLACE_RECORD
    'replace one record'
    """

    REPLACE_RECORD = "replace one record"
    ADD_OR_REMOVE_RECORD = "add or remove one record, or change it under the same identifier"
    ADD_OR_REMOVE_GROUP = "add or remove one group, or change its records under the same identifier"
    CHANGE_NAMED_GROUP = (
        "add, remove or change records of one named group, even all; the names are public"
    )
    CHANGE_NAMED_GROUP_NEVER_EMPTY = (
        "add, remove or change records of one named group, which keeps at least one; no name joins"
    )
    CHANGE_TEACHER = "change the votes of one"
    ADD_OR_REMOVE_RECORD_ALONE = "add or remove one record"
    REPLACE_GROUP = "replace one group, or add, remove or change some of its records"
    ADD_OR_REMOVE_GROUP_ALONE = "add or remove one group, with all of its records"

    __repr__ = str.__repr__

    @classmethod
    def public_count(cls, text, n_records):
        """Return the number of private records if a published text leaves it public, else None."""
        return n_records if text == cls.REPLACE_RECORD else None


@dataclass(frozen=True, kw_only=True)
class Ballots:
    """What one protected unit can change of the votes: all that the accountant knows of them.

    Each teacher casts one vote on every row. A protected unit reaches at most one teacher, so it
    moves at most one vote on each row. Everything here is public.

    Attributes
    ----------
    n_teachers : int
        Number of votes on each row.
    unit : str
        What is protected: "record" or "group"; "teacher" for votes of unknown origin.
    adjacency : str
        The change of the private data that moves at most one vote on each row.
    n_records : int or None
        Number of private records, if `adjacency` leaves it public.

    Examples
    --------
    >>> from sklearn_pate.electorate import Ballots
    >>> Ballots(n_teachers=250, unit="record", adjacency="replace one record").n_teachers
    250
    """

    n_teachers: int
    unit: str
    adjacency: str
    n_records: int | None = None

    def __post_init__(self):
        votes_fit = isinstance(self.n_teachers, Integral) and self.n_teachers > 0
        unit_fits = self.unit in ("record", "group", "teacher")
        is_said = isinstance(self.adjacency, str) and self.adjacency != ""
        records_fit = isinstance(self.n_records, Integral | None)
        if not (votes_fit and unit_fits and is_said and records_fit):
            raise ValueError(
                "Ballots needs n_teachers, a whole number from 1, a unit ('record', 'group' or "
                "'teacher'), an adjacency that says what is covered, and n_records, a whole number "
                f"or None; got {self.n_teachers!r}, {self.unit!r} and {self.adjacency!r}"
            )
        object.__setattr__(self, "n_teachers", int(self.n_teachers))  # numpy's overflow
        private = set(Adjacency) - {Adjacency.REPLACE_RECORD}
        if self.n_records is not None and self.adjacency in private:
            raise ValueError(f"n_records must be None: with {str(self.adjacency)!r} it is private")


@dataclass(frozen=True, kw_only=True)
class TableBallots:
    """What one protected unit can change of a table of ballots: all that the accountant knows.

    The table has a row for each cell of the feature space and a column for each class. Each unit
    casts a few ballots where it lies, so its row sums vary, and all of the table is released at
    once. Everything here is public.

    Attributes
    ----------
    n_changed : int
        Ballots that one unit changes at most: no entry of the table moves by more than 1, and all
        entries together by no more than this.
    unit : str
        What is protected: "record" or "group".
    adjacency : str
        The change of the private data that changes at most so many ballots.
    n_records : int or None
        Number of private records, if `adjacency` leaves it public.
    """

    #: Records vote themselves.
    n_teachers = None

    n_changed: int
    unit: str
    adjacency: str
    n_records: int | None = None


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
        Labels as indices into `classes`, int. Of numbers, how far along the levels each lies, float
        from 0 to ``n_classes - 1``: its ballot is split between the levels beside it. None with
        `Sites`, which load their own.
    classes : ndarray of shape (n_classes,)
        Sorted labels, or levels. They are public.
    sample_weight : ndarray of shape (n_samples,) or None
        Weights of the records.
    groups : array-like of shape (n_samples,) or None
        One identifier per record.
    """

    X: Any
    codes: np.ndarray | None
    classes: np.ndarray
    sample_weight: np.ndarray | None = None
    groups: Any = None


_ADJACENCY = {
    ("replace", "record"): Adjacency.REPLACE_RECORD,
    ("replace", "group"): Adjacency.REPLACE_GROUP,
    ("add_or_remove", "record"): Adjacency.ADD_OR_REMOVE_RECORD_ALONE,
    ("add_or_remove", "group"): Adjacency.ADD_OR_REMOVE_GROUP_ALONE,
}


class Electorate(CheckedEstimator, metaclass=ABCMeta):
    """Base class: who votes on public rows.

    `PATEClassifier` makes a `teachers.TeacherEnsemble` from its parameters. Give another electorate
    as its `base_estimator`. `enrol` says what one protected unit can change, before anything is
    trained, and `vote` casts the votes. Both run in silence, on a clone. What they learn from
    private data stays in attributes of that clone, which is dropped after the fit. Parameters
    follow scikit-learn's conventions (`get_params`, `clone`).
    """

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
        """Say what one protected unit can change; nothing is trained yet.

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
        Ballots
            What it says must be true of every data set with the same public numbers.
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
            Vote counts. Each row sums to the `n_teachers` that `enrol` returned.
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

    `enrol` returns `TableBallots`. Then `divide` divides the feature space into cells, by public
    rows and numbers alone, `vote` counts the ballots in them, and `read` reads the noisy table.
    `PATEClassifier` accepts those of this library alone.
    """

    _parameter_constraints: dict = {}

    #: The change that the guarantee covers: "replace", or "add_or_remove".
    adjacency = "replace"

    #: A mechanism of its own; None: noise on every entry of its table.
    mechanism: Any = None

    released_as = "a noisy table of the records' ballots"

    @property
    def may_join(self):
        """Whether records may join or leave, so that their number is private."""
        return self.adjacency == "add_or_remove"

    def check(self, *, soft_aggregator=None):
        """Refuse parameters that cannot work; see `Electorate.check`."""
        super().check(soft_aggregator=soft_aggregator)
        self._validate_params()

    def ballots(self, private, n_ballots=1):
        """Return what one protected unit changes, where each casts so many ballots.

        Parameters
        ----------
        private : PrivateData
            As in `enrol`.
        n_ballots : int, default=1
            Of each record, or of each group in all.

        Returns
        -------
        TableBallots
        """
        unit = "record" if private.groups is None else "group"
        adjacency = _ADJACENCY[self.adjacency, unit]
        return TableBallots(
            n_changed=n_ballots if self.may_join else 2 * n_ballots,
            unit=unit,
            adjacency=adjacency,
            n_records=Adjacency.public_count(adjacency, len(private.codes)),
        )

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
    classes : ndarray of shape (n_classes,)
        Sorted labels.
    ballots : Ballots
        What one protected unit can change of the counts.
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
    classes: np.ndarray
    ballots: Ballots | TableBallots
    _: KW_ONLY
    temperature: float | None = None
    teacher_indices: np.ndarray | None = None
    teachers: list | None = None
    electorate: Any = None
    n_public: int | None = None
    synthesis: Any = None
    not_covered: tuple = ()
    obstacles: tuple = ()

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
        n_teachers = int(counts[0].sum())
        ballots = Ballots(n_teachers=n_teachers, unit="teacher", adjacency=Adjacency.CHANGE_TEACHER)
        return cls(counts, classes, ballots)


def check_predicts(name, estimator, *, numbers):
    """Refuse what cannot be a teacher or a student: what is no classifier or, of numbers, none."""
    if isinstance(estimator, type):
        raise TypeError(f"{name} must be an estimator, {estimator.__name__}(); got the class")
    is_one, kind = (is_regressor, "regressor") if numbers else (is_classifier, "classifier")
    if not hasattr(estimator, "get_params") or not is_one(estimator):
        got = type(estimator).__name__ if hasattr(estimator, "shape") else repr(estimator)
        raise ValueError(f"{name} must be a {kind}; got {got}")
