"""Teachers as an electorate: each private record reaches one teacher, who votes on every row."""

import numpy as np
from sklearn.base import clone

from ..electorate import Adjacency, Ballots, Electorate, check_predicts
from ..isolation import Quiet, seed_number, seeded
from ..memory import digest, kept_seed
from ..partition import Assignment, PredefinedPartition, assign_teachers
from ..workers import check_timeout
from .ensemble import check_weight, collect_votes


class TeacherEnsemble(Electorate):
    """One classifier per part of the private data.

    Parameters
    ----------
    estimators : list of classifiers
        Unfitted. They are dealt to the teachers in turn.
    n_teachers, partition, unit, keep_teachers, n_jobs, timeout
        As in `PATEClassifier`.

    Attributes
    ----------
    teacher_indices_ : ndarray of shape (n_samples,), int, or None
        The teacher of each record. Private. None with `Sites`.
    teachers_ : list or None
        The fitted teachers, if they are kept. Private.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn_pate.electorate import PrivateData
    >>> from sklearn_pate.teachers import TeacherEnsemble
    >>> X, y = load_iris(return_X_y=True)
    >>> private = PrivateData(X=X, codes=y, classes=[0, 1, 2])
    >>> ensemble = TeacherEnsemble([GaussianNB()], n_teachers=5)
    >>> ensemble.enrol(private, X).adjacency
    'replace one record'
    >>> ensemble.vote(private, X[:1])
    array([[5, 0, 0]])
    """

    def __init__(
        self,
        estimators,
        *,
        n_teachers=100,
        partition="random",
        unit="record",
        keep_teachers=False,
        n_jobs=None,
        timeout=None,
    ):
        self.estimators = estimators
        self.n_teachers = n_teachers
        self.partition = partition
        self.unit = unit
        self.keep_teachers = keep_teachers
        self.n_jobs = n_jobs
        self.timeout = timeout

    def check(self, *, soft_aggregator=None):
        """Refuse what is not a classifier, or has no probabilities although they are needed."""
        if not self.estimators:
            raise ValueError("base_estimator must not be an empty list; give at least 1 classifier")
        for estimator in self.estimators:
            check_predicts("base_estimator", estimator)
            if soft_aggregator is not None and not hasattr(estimator, "predict_proba"):
                raise ValueError(
                    f"{soft_aggregator} needs teachers with predict_proba; got {estimator!r}"
                )

    def enrol(self, private, X_public, *, seed=None, memory=None):
        """Deal the records to teachers; see `Electorate.enrol`."""
        check_weight(self.estimators, private.sample_weight)
        check_timeout(self.timeout, self.n_jobs)
        self._memory = memory
        self._kept_seed = None
        if memory is not None and seed is None:
            # Kept seeds: the next fit on these data has the same parts and teachers
            key = digest(
                private.X, private.codes, private.groups, self.n_teachers, self.partition, self.unit
            )
            seed = kept_seed(memory, (key, "partition"))
            self._kept_seed = kept_seed(memory, (key, "teachers"))
        if seed is None:
            seed = np.random.SeedSequence()
        # In silence: what a partition prints or warns of may quote identifiers
        with Quiet(), seeded(seed_number(seed)):
            self._assignment = assign_teachers(
                clone(self.partition, safe=False),
                n_records=len(private.codes),
                n_teachers=self.n_teachers,
                unit=self.unit,
                index=getattr(private.X, "index", None),
                groups=private.groups,
                seed=seed,
            )
        self.teacher_indices_ = self._assignment.teacher_indices
        n_records = Adjacency.public_count(self._assignment.adjacency, len(private.codes))
        return self._ballots(n_records=n_records)

    def _ballots(self, n_records=None):
        """Return what the assignment says of one protected unit."""
        _, n_teachers, unit, adjacency, _ = self._assignment
        return Ballots(n_teachers=n_teachers, unit=unit, adjacency=adjacency, n_records=n_records)

    def vote(self, private, X_query, *, temperature=None, seed=None, on_done=None):
        """Train the teachers and count their votes; see `Electorate.vote`.

        Raises
        ------
        TeacherError
            If a teacher fails or exceeds `timeout`.
        ValueError
            As in `collect_votes`.
        """
        counts, self.teachers_ = collect_votes(
            self.estimators,
            private.X,
            private.codes,
            X_query,
            teacher_indices=self._assignment.teacher_indices,
            n_teachers=self._assignment.n_teachers,
            n_classes=len(private.classes),
            classes=private.classes,
            sample_weight=private.sample_weight,
            seed=seed if self._kept_seed is None else self._kept_seed,
            names=self._assignment.names,
            temperature=temperature,
            n_jobs=self.n_jobs,
            keep_teachers=self.keep_teachers,
            timeout=self.timeout,
            memory=self._memory,
            on_done=on_done,
            levels=self._levels(private),
        )
        return counts

    def _levels(self, private):
        """Return what numbers are split between; None for classes."""
        return None

    def default_student(self):
        """Return the first of the estimators, so that the student is like the teachers."""
        return next(iter(self.estimators), None)

    def classifiers(self):
        """Return the estimators."""
        return self.estimators


class RegressorEnsemble(TeacherEnsemble):
    """One regressor per part of the private data: what it predicts is a vote split between levels.

    Parameters
    ----------
    estimators : list of regressors
        As in `TeacherEnsemble`, which has the others.
    """

    def check(self, *, soft_aggregator=None):
        """Refuse what is not a regressor, and mechanisms that count whole votes."""
        if not self.estimators:
            raise ValueError("base_estimator must not be an empty list; give at least 1 regressor")
        for estimator in self.estimators:
            check_predicts("base_estimator", estimator, numbers=True)
        if soft_aggregator is None:
            raise ValueError(
                "aggregator must be a SoftVote where regressors vote: what they predict is split "
                "between levels, and other mechanisms count whole votes"
            )

    def _levels(self, private):
        return private.classes


class SiteEnsemble(TeacherEnsemble):
    """One classifier per site, which loads its own private data: see `teachers.Sites`.

    Parameters
    ----------
    estimators, n_jobs, timeout
        As in `TeacherEnsemble`. `keep_teachers` must be False. The others do nothing, because each
        site is one teacher.
    """

    def check(self, *, soft_aggregator=None):
        """Refuse what `TeacherEnsemble` refuses, and `keep_teachers`."""
        super().check(soft_aggregator=soft_aggregator)
        if self.keep_teachers:
            raise ValueError(
                "keep_teachers must be False for Sites: fitted teachers can hold records"
            )

    def enrol(self, private, X_public, *, seed=None, memory=None):
        """Enrol one teacher per site; see `Electorate.enrol`."""
        check_timeout(self.timeout, self.n_jobs)
        self._memory = memory
        self._kept_seed = None
        if memory is not None and seed is None:
            # A key without the names: one more site must not discard the votes of the others
            self._kept_seed = kept_seed(memory, (digest("sites"), "teachers"))
        named = PredefinedPartition(private.X.names)
        n_teachers = len(named.names)
        self._assignment = Assignment(None, n_teachers, "group", named.adjacency, named.names)
        return self._ballots()
