"""Fit one classifier per part of the private data and count the votes on the public queries."""

import itertools
import os

import numpy as np
from joblib import Memory
from sklearn import get_config
from sklearn.utils.validation import has_fit_parameter
from threadpoolctl import threadpool_limits

from .. import workers
from .._sklearn import _num_samples
from ..exceptions import TeacherError, warn
from ..identifiers import keyed_digests, spelled_names
from ..isolation import Quiet, own_clone, own_rows, seed_number
from ..memory import code_digest, digest
from ..public import table_of
from .one import ADVICE, SHARES, Part, Settings, Task, fit_and_vote, received
from .sites import Site, Sites
from .together import batched_network, check_callbacks, train_together


def collect_votes(
    estimators,
    X,
    codes,
    X_query,
    *,
    teacher_indices,
    n_teachers,
    n_classes,
    sample_weight=None,
    seed=None,
    names=None,
    n_jobs=None,
    classes=None,
    temperature=None,
    keep_teachers=False,
    timeout=None,
    memory=None,
    on_done=None,
    levels=None,
):
    """Fit the teachers in parallel and count their votes.

    Votes are added up as teachers finish, so nothing of size teachers x queries is ever held.
    Each worker is sent only its own part. Workers share the processor's cores: a teacher's threads
    are limited to its share, and what it runs with joblib runs one after the other. Each teacher
    runs in `isolation.isolated`, so teachers in threads of one process take turns.

    Parameters
    ----------
    estimators : list of classifiers
        Unfitted; teacher `i` is a deep copy of ``estimators[i % len(estimators)]``, with its own
        seeds, `verbose` off and `memory` parameters set to None.
    X : array-like, sparse matrix or DataFrame with n_samples rows, or Sites
        Private features, passed to the teachers as they are.
    codes : ndarray of shape (n_samples,) or None
        Private labels as codes 0..n_classes-1. None with `Sites`.
    X_query : array-like with n_queries rows
        Public points to vote on.
    teacher_indices : ndarray of shape (n_samples,), int, or None
        The teacher of each record. None with `Sites`.
    n_teachers, n_classes : int
        Numbers of teachers and of classes.
    sample_weight : array-like of shape (n_samples,), default=None
        Split like the records; passed to the teachers whose ``fit`` takes it.
    seed : numpy.random.SeedSequence, default=None
        The seed of teacher `i` depends on this and `i` alone; with `names`, on this and its name.
    names : sequence of str of length n_teachers, default=None
        Public names of the teachers. With `Sites`, those of the sites.
    n_jobs : int, default=None
        As in joblib.
    classes : ndarray of shape (n_classes,), default=None
        With `Sites`: the sorted labels that codes stand for.
    temperature : float, default=None
        If given, teachers give their class probabilities instead of one vote, raised to
        ``1 / temperature`` and normalised, in multiples of 2**-20 rounded down.
    keep_teachers : bool, default=False
        Whether to return the fitted teachers.
    timeout : float, default=None
        Seconds for a teacher to fit and vote, in its own process; None waits for ever.
    memory : joblib.Memory, default=None
        Where each teacher's result is kept as soon as it is known; what is there already is not
        done again. Private.
    on_done : callable, default=None
        Called with the number of teachers that have finished, each time one does.
    levels : ndarray of shape (n_classes,), default=None
        Where teachers are regressors: `codes` are positions along these, and so are their votes,
        each split between the two levels beside it.

    Returns
    -------
    votes : ndarray of shape (n_queries, n_classes), int
        Vote counts; each row sums to `n_teachers`. With `temperature`, float sums of probabilities.
    teachers : list of length n_teachers or None
        Fitted teachers; None for a part that needed no fit (no record, or one class).

    Raises
    ------
    TeacherError
        If a teacher fails or takes longer than `timeout`; of its error's text, only known phrases
        are told.
    ValueError
        If `sample_weight` is given and no estimator's ``fit`` takes it, if `timeout` is given and
        teachers run in this process, or if a skorch callback writes files that teachers would
        share.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn_pate.teachers import collect_votes
    >>> X, y = load_iris(return_X_y=True)
    >>> teacher_indices = np.arange(150) % 5
    >>> votes, _ = collect_votes(
    ...     [GaussianNB()], X, y, X[:2], teacher_indices=teacher_indices, n_teachers=5, n_classes=3
    ... )
    >>> votes
    array([[5, 0, 0],
           [5, 0, 0]])
    """
    estimators = _prepared(estimators, sample_weight, timeout, n_jobs)
    if isinstance(X, Sites):
        names = spelled_names(X.names)  # so seeds do not depend on how a name is written
    seeds = _seeds(seed, n_teachers, names)

    memory = Memory(None) if memory is None else memory
    # The data of sites join the key where they are loaded
    records = None if isinstance(X, Sites) else (X, codes, sample_weight, teacher_indices)
    options = (classes, n_classes, temperature, keep_teachers)
    fingerprint = None
    if memory.location is not None:
        fingerprint = digest((records, X_query), options, code_digest(estimators))
    # What tells the votes of each teacher from others in memory
    identities = range(n_teachers) if names is None else names
    keys = [(fingerprint, *teacher) for teacher in zip(identities, seeds, strict=True)]

    network = batched_network(estimators, X, X_query, timeout)
    if network is None:
        workers.warn_if_taking_turns(n_jobs)
    threads = workers.threads_per_worker(n_jobs) if network is None else None
    settings = Settings(
        n_classes, temperature, keep_teachers, threads, get_config(), timeout, os.getpid(), levels
    )
    parts = _parts(X, codes, sample_weight, teacher_indices, n_teachers, classes)
    tasks = _tasks(estimators, parts, seeds, keys, X_query, settings, memory)

    count = _Count(_num_samples(X_query), n_teachers, settings)
    # After a failure no more tasks are sent; those under way are finished, and ignored
    tasks = itertools.takewhile(lambda _: count.problem is None, tasks)
    with Quiet(), threadpool_limits(settings.threads):
        if network is None:
            size = workers.batch_size(n_teachers, n_jobs)
            results = workers.run(fit_and_vote, tasks, n_jobs, size)
        else:
            results = train_together(network, tasks, X_query, settings)
        workers.add_up(count, results, on_done, "teachers", ADVICE)
    _check_outcome(count, X_query)
    return count.votes(), count.teachers


# --- what each teacher is to do ------------------------------------------------------------------


def _prepared(estimators, sample_weight, timeout, n_jobs):
    """Return copies of the classifiers; refuse them if they cannot do what is asked."""
    # Copies: fitted state, callbacks and generators stay here, and out of the keys in memory
    estimators = [own_clone(estimator, seed=0) for estimator in estimators]
    for estimator in estimators:
        check_callbacks(estimator)
    check_weight(estimators, sample_weight)
    workers.check_timeout(timeout, n_jobs)
    return estimators


def check_weight(estimators, sample_weight):
    """Refuse weights that no classifier takes."""
    if sample_weight is not None and not any(_takes_weight(estimators)):
        raise ValueError(
            "sample_weight was given, but the fit of base_estimator takes none; drop "
            "sample_weight or choose a classifier that takes it"
        )


def _takes_weight(estimators):
    """Return, for each classifier, whether its fit takes weights."""
    return [has_fit_parameter(estimator, "sample_weight") for estimator in estimators]


def _seeds(seed, n_teachers, names):
    """Return the seed of each teacher: it follows from its number or, if it has one, its name."""
    seed = np.random.SeedSequence() if seed is None else seed
    if names is None:
        return [seed_number(child) % 2**31 for child in seed.spawn(n_teachers)]
    return [int(number) % 2**31 for number in keyed_digests(names, seed)]


def _parts(X, codes, sample_weight, teacher_indices, n_teachers, classes):
    """Yield the `Part` of each teacher; that of a site says how to load it."""
    if isinstance(X, Sites):
        yield from (Part(Site(X.load, name, classes), None) for name in X.names)
        return
    order = np.argsort(teacher_indices, kind="stable")
    starts = np.searchsorted(teacher_indices[order], np.arange(1, n_teachers))
    for rows in np.split(order, starts):  # ascending
        weight = None if sample_weight is None else sample_weight[rows]
        features = own_rows(X, rows) if rows.size else None
        yield Part(features, codes[rows], weight)


def _tasks(estimators, parts, seeds, keys, X_query, settings, memory):
    """Yield the `Task` of each teacher; its records are selected when it is its turn."""
    takes_weight = _takes_weight(estimators)
    for i, part in enumerate(parts):
        which = i % len(estimators)
        if not takes_weight[which]:
            part = part._replace(weight=None)
        yield Task(i, estimators[which], part, X_query, seeds[i], settings, memory, keys[i])


# --- adding up their votes -----------------------------------------------------------------------


class _Count:
    """The votes so far, added up as teachers finish.

    Attributes
    ----------
    sums : ndarray of shape (n_queries, n_classes), int
        Votes or, with a temperature, shares of probability.
    teachers : list or None
        Fitted teachers, if kept.
    all_kept : bool
        Whether memory, if there is one, has the votes of all of them.
    problem : str or None
        The first failure, as it may be told.
    """

    def __init__(self, n_queries, n_teachers, settings):
        self.sums = np.zeros((n_queries, settings.n_classes), dtype=np.int64)
        self.teachers = [None] * n_teachers if settings.keep else None
        self.all_kept = True
        self.problem = None
        self._rows = np.arange(n_queries)
        self._is_soft = settings.temperature is not None

    def add(self, result):
        """Add a teacher's votes; return False if it failed."""
        self.all_kept &= result.is_kept
        if result.problem is not None:
            self.fail(
                f"teacher {result.number} failed: {result.problem}. Preprocessing that teachers "
                "need (an encoder, an imputer) belongs inside base_estimator"
            )
            return False
        fitted, failed = received(result.fitted)
        if failed is not None:
            self.fail(f"teacher {result.number} failed: {failed}")
            return False
        if self._is_soft:
            self.sums += result.votes
        else:
            self.sums[self._rows, result.votes] += 1
        if self.teachers is not None:
            self.teachers[result.number] = fitted
        return True

    def fail(self, problem):
        """Note a problem, if it is the first."""
        if self.problem is None:
            self.problem = problem

    def votes(self):
        """Return vote counts, or sums of probabilities."""
        return self.sums / SHARES if self._is_soft else self.sums


def _check_outcome(count, X_query):
    """Raise the first problem, and warn if memory does not have all votes."""
    if count.problem is not None:
        if "TimeoutError" in count.problem:  # `redacted` tells the name of an error
            workers.end_processes()
        where = "X_public is not finite: " if _blames_rows(count.problem, X_query) else ""
        raise TeacherError(where + count.problem) from None
    if not count.all_kept:
        warn(
            "memory could not keep the votes of all teachers (a full disk?): the votes are right, "
            "but if this fit is repeated, some teachers will be trained again"
        )


def _blames_rows(problem, X_query):
    """Return whether a teacher refuses NaN or infinity, and public rows have them."""
    if "contains NaN" not in problem and "contains infinity" not in problem:
        return False
    numbers = table_of(X_query).select_dtypes("number")
    return not np.isfinite(numbers.to_numpy(dtype=float, na_value=np.nan)).all()
