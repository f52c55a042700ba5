"""Method `teachers`: models trained on parts of the private data vote on public rows.

Statistic: votes, by queried row and class. Contribution: each record reaches one teacher, so one
unit changes at most one vote on each row (`partition`). For several targets, it is one vote for
each, and a row has a query for each (`accounting.targets`). Noise: from the aggregator, on each
queried row. Read-out: a student that learns the released labels.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from joblib import Memory
from sklearn import get_config
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from .._sklearn import _num_samples, has_method, pipeline
from ..encoding.targets import ClassTarget, NumberTarget, Target
from ..encoding.vectorizer import LenientRowVectorizer
from ..identifiers import keyed_digests
from ..partition import Assignment, PredefinedPartition, assign_teachers
from ..rdp import Neighbors
from ..rdp.discrete import TICKS
from ..runtime import workers
from ..runtime.copies import copied_rows, isolated_clone, seed_number, seeded
from ..runtime.isolation import suppress_output
from ..runtime.memory import cached_seed, code_digest, digest
from ..teachers.sites import Site, Sites
from ..teachers.training import (
    Part,
    Settings,
    Task,
    batched_network,
    check_callbacks,
    fit_and_vote,
    received,
    train_together,
)
from .base import VotingMethod

if TYPE_CHECKING:
    from .._typing import Estimator, Rows
    from ..aggregators.base import SoftAggregator
    from ..runtime.private_data import PrivateData
    from ..teachers.training import Result

#: Candidate penalties of the default regressor, for few records or noisy means.
_PENALTIES = (1.0, 10.0, 100.0, 1e3, 1e4, 1e5)


def default_teacher(target_type: type[Target]) -> Estimator:
    """Return the model of default teachers, a linear model on encoded rows."""
    from sklearn.linear_model import LogisticRegression, RidgeCV

    models = {ClassTarget: LogisticRegression(max_iter=1000), NumberTarget: RidgeCV(_PENALTIES)}
    return pipeline.make_pipeline(LenientRowVectorizer(), models[target_type])


class Teachers(VotingMethod):
    """Ensemble of classifiers, each trained on one part of the private data.

    Parameters
    ----------
    estimators : list of classifiers
        Unfitted classifiers, which are assigned to the teachers in turn.
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
    >>> from sklearn_pate.releases import PrivateData
    >>> from sklearn_pate.encoding.targets import ClassTarget
    >>> from sklearn_pate.methods import Teachers
    >>> X, y = load_iris(return_X_y=True)
    >>> private = PrivateData(X=X, codes=y, target=ClassTarget([0, 1, 2]))
    >>> ensemble = Teachers([GaussianNB()], n_teachers=5)
    >>> ensemble.prepare(private, X).unit
    'record'
    >>> ensemble.vote(private, X[:1])
    array([[5, 0, 0]])
    """

    accepts_several_targets = True

    #: Whether each teacher loads the private data of its own site.
    are_sites = False

    def __init__(
        self,
        estimators: list[Estimator],
        *,
        n_teachers: int = 100,
        partition: Literal["random", "hash", "predefined"] | Any = "random",
        unit: Literal["record", "group"] = "record",
        keep_teachers: bool = False,
        n_jobs: int | None = None,
        timeout: float | None = None,
    ) -> None:
        self.estimators = estimators
        self.n_teachers = n_teachers
        self.partition = partition
        self.unit = unit
        self.keep_teachers = keep_teachers
        self.n_jobs = n_jobs
        self.timeout = timeout

    def check(self, *, soft_aggregator: SoftAggregator | None = None) -> None:
        """Raise an error for models of other targets, or an aggregator unsuitable for them."""
        if not self.estimators:
            raise ValueError("base_estimator must not be an empty list; give at least 1 estimator")
        splits_votes = self.target_type.splits_votes
        needs_proba = soft_aggregator is not None and not splits_votes
        for estimator in self.estimators:
            self.target_type.check_predicts("base_estimator", estimator)
            if needs_proba and not has_method(estimator, "predict_proba"):
                raise ValueError(
                    f"{soft_aggregator} needs teachers with predict_proba; got {estimator!r}"
                )
        if splits_votes and soft_aggregator is None:
            raise ValueError(
                "aggregator must be a SoftVote if teachers are regressors: their predictions are "
                "split between levels, and other mechanisms count whole votes"
            )

    def prepare(
        self,
        private: PrivateData,
        X_public: Rows,
        *,
        seed: np.random.SeedSequence | None = None,
        memory: Memory | None = None,
    ) -> Neighbors:
        """Assign the records to teachers; see `Method.prepare`."""
        self._check(private, memory)
        if memory is not None and seed is None:
            # Cached seeds give the same parts and teachers in the next fit on these data
            key = digest(
                private.X, private.codes, private.groups, self.n_teachers, self.partition, self.unit
            )
            seed = cached_seed(memory, (key, "partition"))
            self._cached_seed: Any = cached_seed(memory, (key, "teachers"))
        if seed is None:
            seed = np.random.SeedSequence()
        # A user's partition may print identifiers, or quote them in warnings
        with suppress_output(), seeded(seed_number(seed)):
            self._assignment = assign_teachers(
                clone(self.partition, safe=False),
                n_records=private.n_records,
                n_teachers=self.n_teachers,
                unit=self.unit,
                index=getattr(private.X, "index", None),
                groups=private.groups,
                seed=seed,
            )
        self.teacher_indices_ = self._assignment.teacher_indices
        return self._neighbors().with_size(private.n_records)

    def _check(self, private: PrivateData, memory: Memory | None) -> None:
        """Check callbacks, weights and timeout before training, and store unfitted copies."""
        self._memory = Memory(None) if memory is None else memory
        self._cached_seed = None
        # Copies without fitted state, callbacks and generators, which must not enter cache keys
        self._own = [isolated_clone(estimator, seed=0) for estimator in self.estimators]
        for estimator in self._own:
            check_callbacks(estimator)
        takes_weight = any(has_fit_parameter(part, "sample_weight") for part in self._own)
        if private.sample_weight is not None and not takes_weight:
            raise ValueError(
                "sample_weight was given, but fit of base_estimator does not accept it; omit "
                "sample_weight, or use a base_estimator that accepts it"
            )
        workers.check_timeout(self.timeout, self.n_jobs)

    def _neighbors(self) -> Neighbors:
        """Return the neighboring data sets of the assignment."""
        self.n_teachers_ = int(self._assignment.n_teachers)  # short integers overflow
        return Neighbors(relation=self._assignment.relation, unit=self._assignment.unit)

    def vote(
        self,
        private: PrivateData,
        X_query: Rows,
        *,
        temperature: float | None = None,
        seed: np.random.SeedSequence | None = None,
        on_done: Callable[[int], Any] | None = None,
    ) -> np.ndarray:
        """Train the teachers and count their votes; see `VotingMethod.vote`.

        Votes are added up as teachers finish, so no array of size teachers x queries is stored.
        Networks that can be trained together are trained in this process, see `train_together`. All
        other teachers run by themselves in `runtime.isolation.isolated`, so teachers in threads of
        one process take turns. Each worker receives only the parts of its own teachers. Workers
        share the processor's cores: the number of threads of each teacher is limited, and its
        joblib jobs run sequentially.

        Raises
        ------
        TeacherError
            If a teacher fails or exceeds `timeout`. The text of the teacher's error is redacted,
            except for known phrases.
        """
        n_queries, target = _num_samples(X_query), private.target
        n_targets = target.n_targets
        network = batched_network(self._own, private.X, X_query, self.timeout, n_targets)
        threads = workers.threads_per_worker(self.n_jobs) if network is None else None
        here = {"config": get_config(), "timeout": self.timeout, "caller": os.getpid()}
        settings = Settings(target, temperature, self.keep_teachers, threads=threads, **here)
        if network is None:
            workers.warn_if_taking_turns(self.n_jobs)
            size = workers.batch_size(self._assignment.n_teachers, self.n_jobs)
            may_stay = self.timeout is None  # with a timeout, teachers run in other processes
            options: dict[str, Any] = {
                "n_jobs": self.n_jobs,
                "batch_size": size,
                "may_stay": may_stay,
            }
            start = partial(workers.run, function=fit_and_vote, **options)
        else:
            start = partial(train_together, network, X_query=X_query, settings=settings)
        sums = np.zeros((n_queries, target.n_values), dtype=np.int64)
        sums_by_target = [sums[:, columns] for columns in target.columns_by_target]
        rows = np.arange(n_queries)
        teachers: list[Any] = [None] * self._assignment.n_teachers
        if self.keep_teachers:
            self.teachers_ = teachers

        def add(result: Result) -> str | None:
            fitted, problem = received(result.fitted)
            if problem is not None:
                return f"teacher {result.number} failed: {problem}"
            if self.keep_teachers:
                teachers[result.number] = fitted
            votes = result.votes if n_targets > 1 else [result.votes]
            for of_target, own in zip(sums_by_target, votes, strict=True):
                if temperature is None:
                    of_target[rows, own] += 1
                else:
                    np.add(of_target, np.asarray(own), out=of_target)
            return None

        tasks = self._tasks(private, X_query, settings, seed)
        workers.add_up(add, start, tasks, threads=threads, on_done=on_done)
        return sums if temperature is None else sums / TICKS

    def _tasks(
        self,
        private: PrivateData,
        X_query: Rows,
        settings: Settings,
        seed: np.random.SeedSequence | None,
    ) -> Iterator[tuple[Part, Task]]:
        """Return an iterator over pairs of a `Part` and a `Task`, one pair for each teacher.

        The records of a part are selected only when the iterator reaches it.
        """
        assignment, memory = self._assignment, self._memory
        seed = seed if self._cached_seed is None else self._cached_seed
        seeds = _seeds(seed, assignment.n_teachers, assignment.names)
        names = range(assignment.n_teachers) if assignment.names is None else assignment.names
        fingerprint = None
        if memory.location is not None:
            records = None  # records of sites are added to the key when they are loaded
            if not isinstance(private.X, Sites):
                records = (
                    private.X,
                    private.codes,
                    private.sample_weight,
                    private.is_other,
                    assignment.teacher_indices,
                )
            options = (private.target, settings.temperature, settings.keep)
            fingerprint = digest((records, X_query), options, code_digest(self._own))
        own = self._own
        tasks = (
            Task(i, own[i % len(own)], X_query, seed, settings, memory, (fingerprint, name, seed))
            for i, (name, seed) in enumerate(zip(names, seeds, strict=True))
        )
        return zip(_parts(private, assignment), tasks, strict=True)

    def default_student(self) -> Estimator:
        """Return the first of the estimators."""
        return next(iter(self.estimators), None)

    def classifiers(self) -> list[Estimator]:
        """Return the estimators."""
        return self.estimators


class RegressorTeachers(Teachers):
    """Ensemble of regressors, each trained on one part of the private data.

    A prediction is a vote that is split between two levels.

    Parameters
    ----------
    estimators : list of regressors
        Unfitted regressors, which are assigned to the teachers in turn.
    n_teachers, partition, unit, keep_teachers, n_jobs, timeout
        As in `Teachers`.
    """

    target_type = NumberTarget


class SiteTeachers(Teachers):
    """Ensemble of one classifier per site; each site loads its own private data.

    See `teachers.Sites`.

    Parameters
    ----------
    estimators, n_jobs, timeout
        As in `Teachers`.
    keep_teachers : bool, default=False
        Must be False.
    n_teachers, partition, unit
        Ignored, because each site is one teacher.
    """

    are_sites = True

    def check(self, *, soft_aggregator: SoftAggregator | None = None) -> None:
        """Raise an error as in `Teachers.check`, or if `keep_teachers` is True."""
        super().check(soft_aggregator=soft_aggregator)
        if self.keep_teachers:
            raise ValueError(
                "keep_teachers must be False for Sites: fitted teachers can hold records"
            )

    def prepare(
        self,
        private: PrivateData,
        X_public: Rows,
        *,
        seed: np.random.SeedSequence | None = None,
        memory: Memory | None = None,
    ) -> Neighbors:
        """Return the neighboring data sets of one teacher per site; see `Method.prepare`."""
        self._check(private, memory)
        if memory is not None and seed is None:
            # A key without names, so that cached votes stay valid if a site is added
            self._cached_seed = cached_seed(memory, (digest("sites"), "teachers"))
        named = PredefinedPartition(private.X.names)
        names: Any = named.names
        self._assignment = Assignment(None, len(names), "group", named.relation, names)
        return self._neighbors()


#: Classes of ensembles by the kind of target, for given private rows and for `Sites`.
ENSEMBLES: dict[type[Target], type[Teachers]] = {
    ClassTarget: Teachers,
    NumberTarget: RegressorTeachers,
}
SITE_ENSEMBLES: dict[type[Target], type[Teachers]] = {ClassTarget: SiteTeachers}


def _seeds(
    seed: np.random.SeedSequence | None, n_teachers: int, names: Sequence[str] | None
) -> list[int]:
    """Return the seed of each teacher, derived from its name or, without names, its number."""
    seed = np.random.SeedSequence() if seed is None else seed
    if names is None:
        return [seed_number(child) % 2**31 for child in seed.spawn(n_teachers)]
    return [int(number) % 2**31 for number in keyed_digests(names, seed)]


def _parts(private: PrivateData, assignment: Assignment) -> Iterator[Part]:
    """Yield the `Part` of each teacher; the part of a site has a function that loads it."""
    X, weight = private.X, private.sample_weight
    if isinstance(X, Sites):
        yield from (
            Part(Site(X.load, name, private.target), None)  # type: ignore[arg-type]
            for name in X.names
        )
        return
    codes: Any = private.codes
    is_counted = np.ones(len(codes), dtype=bool) if private.is_other is None else ~private.is_other
    teacher_indices: Any
    teacher_indices, n_teachers, *_ = assignment
    order = np.argsort(teacher_indices, kind="stable")
    starts = np.searchsorted(teacher_indices[order], np.arange(1, n_teachers))
    for part in np.split(order, starts):  # ascending
        rows = part[is_counted[part]]
        features = copied_rows(X, rows) if rows.size else None
        yield Part(features, codes[rows], None if weight is None else weight[rows])
