"""Who votes on public rows: what an electorate states of itself, and the votes it casts."""

from abc import ABCMeta, abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier

from .adjacency import Adjacency

__all__ = ["Ballots", "Electorate", "PrivateData", "Votes"]


@dataclass(frozen=True, kw_only=True)
class Ballots:
    """What one protected unit can change of the votes: all that the accountant is told of them.

    Every teacher casts one vote on every row. A protected unit reaches one teacher, so it moves at
    most one vote on each row. Everything here is public.

    Attributes
    ----------
    n_teachers : int
        Votes on each row.
    unit : str
        What is protected: "record" or "group"; "teacher" for votes of unknown origin.
    adjacency : str
        The change of the private data that moves no more than that.
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


@dataclass(frozen=True, kw_only=True, eq=False)
class PrivateData:
    """The private data of one fit, checked: it has no repr and cannot be pickled.

    Attributes
    ----------
    X : array-like, sparse matrix or DataFrame with n_samples rows, or teachers.Sites
        Features, as they were given.
    codes : ndarray of shape (n_samples,) or None
        Labels as indices into `classes`. None with `Sites`, which load theirs.
    classes : ndarray of shape (n_classes,)
        Sorted labels: public.
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

    def __repr__(self):
        return "PrivateData(private)"

    def __reduce__(self):
        raise TypeError("private data cannot be pickled or copied")


class Electorate(BaseEstimator, metaclass=ABCMeta):
    """Base class: who votes on public rows.

    `PATEClassifier` makes a `teachers.TeacherEnsemble` of its parameters. Another electorate is
    given in place of `base_estimator`. `enrol` says what one protected unit can change, before
    anything is trained, and `vote` casts the votes. Both run in silence, on a clone; what they
    learn from private data stays in attributes of that clone, which is dropped after the fit.
    Parameters follow scikit-learn's conventions (`get_params`, `clone`).
    """

    #: The teacher of each private record, if there is one: private. For `curator_`.
    teacher_indices_: np.ndarray | None = None

    #: Fitted teachers, if they are kept: private. For `curator_`.
    teachers_: list | None = None

    def check(self, *, temperature=None):
        """Refuse parameters that cannot work, before any data are looked at.

        Parameters
        ----------
        temperature : float or None
            Not None if the mechanism needs probabilities in place of votes. An electorate that
            gives them overrides this method, which refuses.

        Raises
        ------
        ValueError
            What was got, what was expected.
        """
        if temperature is not None:
            raise ValueError(
                f"{type(self).__name__} casts votes, and the aggregator needs probabilities; use "
                "an aggregator that releases classes"
            )

    @abstractmethod
    def enrol(self, private, X_public, *, seed=None, memory=None):
        """Say what one protected unit can change; nothing is trained yet.

        Parameters
        ----------
        private : PrivateData
            What may vote.
        X_public : array-like with n_public rows
            All public rows.
        seed : numpy.random.SeedSequence, default=None
            Source of randomness; None draws from the operating system.
        memory : joblib.Memory or None
            A private folder for what should outlive an interrupted fit; it may be ignored.

        Returns
        -------
        Ballots
            It must be true of all data sets with the public numbers of this one.
        """

    @abstractmethod
    def vote(self, private, X_query, *, temperature=None, seed=None, on_done=None):
        """Cast the votes on public rows.

        Parameters
        ----------
        private : PrivateData
            As in `enrol`, which was called before.
        X_query : array-like with n_queries rows
            The public rows to vote on.
        temperature : float or None
            Of probabilities; None for votes.
        seed : numpy.random.SeedSequence, default=None
            Source of randomness; None draws from the operating system.
        on_done : callable, default=None
            Called with the number of teachers that finished, each time one did.

        Returns
        -------
        ndarray of shape (n_queries, n_classes), int
            Vote counts; each row sums to `n_teachers` of what `enrol` returned.
        """

    def default_student(self):
        """Return what is trained on the released labels if no student is given; None: nothing."""
        return None

    def classifiers(self):
        """Return the unfitted classifiers that vote, for the diagram; an empty list if none do."""
        return []


@dataclass(frozen=True, eq=False)
class Votes:
    """Votes on public rows: private, so it has no repr and cannot be pickled.

    Attributes
    ----------
    counts : ndarray of shape (n_rows, n_classes), int
        Vote counts; with `temperature`, float sums of probabilities.
    classes : ndarray of shape (n_classes,)
        Sorted labels.
    ballots : Ballots
        What one protected unit can change of them.
    temperature : float or None
        Of the teachers' probabilities; None for votes.
    teacher_indices : ndarray of shape (n_samples,), int, or None
        The teacher of each private record, if known.
    teachers : list or None
        Fitted teachers, if kept.
    """

    counts: np.ndarray
    classes: np.ndarray
    ballots: Ballots
    _: KW_ONLY
    temperature: float | None = None
    teacher_indices: np.ndarray | None = None
    teachers: list | None = None

    @classmethod
    def of_teachers(cls, counts, classes=None):
        """Bare counts, of which one teacher may change; `classes` default to 0..n_classes-1."""
        given = np.arange(counts.shape[1]) if classes is None else np.asarray(classes)
        classes = np.unique(given)
        if not np.array_equal(classes, given):
            raise ValueError(
                "the columns of votes are the sorted classes: give classes in that order, and "
                f"without repetition; got classes={given.tolist()}"
            )
        if len(classes) != counts.shape[1]:
            raise ValueError(
                f"votes has {counts.shape[1]} columns, and there are {len(classes)} classes"
            )
        n_teachers = int(counts[0].sum())
        adjacency = Adjacency.CHANGE_TEACHER
        return cls(
            counts, classes, Ballots(n_teachers=n_teachers, unit="teacher", adjacency=adjacency)
        )

    def __repr__(self):
        return "Votes(private)"

    def __reduce__(self):
        raise TypeError("votes are private: they cannot be pickled or copied")


def check_classifier(name, estimator):
    """Refuse what is no unfitted classifier: teachers and students vote for classes."""
    if isinstance(estimator, type):
        raise TypeError(
            f"{name} must be an estimator instance, {estimator.__name__}(); got the class"
        )
    if not hasattr(estimator, "get_params") or not is_classifier(estimator):
        raise ValueError(
            f"{name} must be a classifier: teachers and student must be classifiers, as they vote "
            f"for classes; got {estimator!r}"
        )
