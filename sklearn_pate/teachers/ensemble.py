"""Fit one classifier per part of the private data and count the votes on the public queries."""

import itertools
import os
import sys

import numpy as np
from joblib import Memory, Parallel, cpu_count, delayed, effective_n_jobs
from joblib.externals.loky import get_reusable_executor
from joblib.parallel import LokyBackend, get_active_backend
from sklearn import get_config
from sklearn.utils.validation import has_fit_parameter
from threadpoolctl import threadpool_limits

from .._sklearn import _num_samples, _safe_indexing
from ..exceptions import TeacherError, warn
from ..isolation import (
    Quiet,
    known_name,
    own_clone,
    own_rows,
)
from ..memory import code_digest, digest
from ..partition import keyed_digests, spelled_names
from .one import SHARES, Settings, fit_and_vote
from .sites import Site, Sites
from .together import batched_network, train_together

__all__ = ["collect_votes"]


def collect_votes(
    estimators,
    X,
    codes,
    X_query,
    *,
    teacher,
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
):
    """Fit the teachers in parallel and count their votes.

    Votes are added up as teachers finish, so nothing of size teachers x queries is ever held, and
    each worker is sent its own part only. Workers share the processor's cores: a teacher's threads
    are limited to its share, and what it runs with joblib runs one after the other. Each teacher
    runs in `isolation.isolated`, so teachers in threads of one process take turns.

    Parameters
    ----------
    estimators : list of classifiers
        Unfitted; teacher `i` is a deep copy of ``estimators[i % len(estimators)]``, with seeds of
        its own, `verbose` off and `memory` parameters set to None.
    X : array-like, sparse matrix or DataFrame with n_samples rows, or Sites
        Private features, passed through as they are.
    codes : ndarray of shape (n_samples,) or None
        Private labels as codes 0..n_classes-1. None with `Sites`.
    X_query : array-like with n_queries rows
        Public points to vote on.
    teacher : ndarray of shape (n_samples,) or None
        The teacher of each record. None with `Sites`.
    n_teachers, n_classes : int
        Numbers of teachers and of classes.
    sample_weight : array-like of shape (n_samples,), default=None
        Cut with the partition; passed to the teachers whose ``fit`` takes it.
    seed : numpy.random.SeedSequence, default=None
        Teacher `i`'s seed depends on this and `i` alone; with `names`, on this and its name.
    names : sequence of str of length n_teachers, default=None
        Public names of the teachers. With `Sites` they are those of the sites.
    n_jobs : int, default=None
        As in joblib.
    classes : ndarray of shape (n_classes,), default=None
        With `Sites`: the sorted labels that codes stand for.
    temperature : float, default=None
        Not None: teachers give their class probabilities instead of one vote, raised to
        ``1 / temperature`` and normalised, in multiples of 2**-20 rounded down.
    keep_teachers : bool, default=False
        Whether to return the fitted teachers.
    timeout : float, default=None
        Seconds for a teacher to fit and vote, in a process of its own; None waits for ever.
    memory : joblib.Memory, default=None
        Where each teacher's result is kept as soon as it is there; what is there already is not
        done again. Private.
    on_done : callable, default=None
        Called with the number of teachers that finished, each time one did.

    Returns
    -------
    votes : ndarray of shape (n_queries, n_classes), int
        Vote counts; each row sums to `n_teachers`. With `temperature`, float sums of probabilities.
    teachers : list of length n_teachers or None
        Fitted teachers; None for a part that needed no fit (no record, or one class).

    Raises
    ------
    TeacherError
        If a teacher fails or exceeds `timeout`; of its error's text, only known phrases are told.
    ValueError
        If `sample_weight` is given and no estimator's ``fit`` takes it, `timeout` and teachers run
        in this process, or a skorch callback writes files that teachers would share.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn_pate.teachers import collect_votes
    >>> X, y = load_iris(return_X_y=True)
    >>> teacher = np.arange(150) % 5
    >>> votes, _ = collect_votes(
    ...     [GaussianNB()], X, y, X[:2], teacher=teacher, n_teachers=5, n_classes=3
    ... )
    >>> votes
    array([[5, 0, 0],
           [5, 0, 0]])
    """
    estimators = [own_clone(estimator, seed=0) for estimator in estimators]
    for estimator in estimators:
        _check_callbacks(estimator)
    seed = np.random.SeedSequence() if seed is None else seed
    if isinstance(X, Sites):
        names = spelled_names(X.names)
    seeds = _seeds(seed, n_teachers, names)
    takes_weight = [has_fit_parameter(e, "sample_weight") for e in estimators]
    if sample_weight is not None and not any(takes_weight):
        raise ValueError(
            "sample_weight was given, but the fit of base_estimator takes none; drop "
            "sample_weight or choose a classifier that takes it"
        )
    if timeout is not None:
        _check_processes(timeout, n_jobs)
    problems = []
    home = os.getpid()
    config = get_config()
    memory = Memory(None) if memory is None else memory
    all_data = None
    if memory.location is not None:  # what sites load is added where it is loaded
        private = None if isinstance(X, Sites) else (X, codes, sample_weight, teacher)
        data = private, X_query
        settings = classes, n_classes, temperature, keep_teachers
        all_data = digest(data, estimators, *settings, code_digest(estimators))
    batched = batched_network(estimators, X, X_query, timeout)
    workers = effective_n_jobs(n_jobs)
    threads = max(cpu_count() // workers, 1) if workers > 1 and not batched else None
    if not batched and _shares_a_process(n_jobs):
        warn(
            "teachers run in threads of one process and take turns, so n_jobs does not speed them "
            "up: threads share the random numbers of numpy, Python and torch. Use a backend of "
            "processes, or workers with one thread each"
        )

    parts = _parts(X, codes, sample_weight, teacher, n_teachers, classes)

    def tasks():
        for i, (part, part_codes, weight) in enumerate(parts):
            if problems:
                return
            k = i % len(estimators)
            yield delayed(fit_and_vote)(
                i,
                estimators[k],
                # One argument: Dask would keep a large one of its own on one worker, and lose it
                (part, part_codes, weight if takes_weight[k] else None, X_query),
                Settings(n_classes, seeds[i], temperature, keep_teachers, threads, config, timeout),
                home,
                memory,
                (all_data, i if names is None else names[i], seeds[i]),
            )

    n_queries = _num_samples(X_query)
    votes = np.zeros((n_queries, n_classes), dtype=np.int64)
    rows = np.arange(n_queries)
    teachers = [None] * n_teachers if keep_teachers else None
    all_kept = True
    with Quiet(), threadpool_limits(threads):
        try:
            if batched:
                results = train_together(
                    batched,
                    (args for _, args, _ in tasks()),
                    X_query,
                    n_classes=n_classes,
                    temperature=temperature,
                    keep=keep_teachers,
                )
            else:
                results = _run(tasks(), n_teachers, n_jobs)
            for done, result in enumerate(results, 1):
                all_kept &= result.is_kept
                if result.problem is not None:
                    problems.append(
                        f"teacher {result.number} failed: {result.problem}. What teachers need of "
                        "preprocessing (an encoder, an imputer) belongs inside base_estimator"
                    )
                    continue  # no more are sent; those under way end in silence
                if temperature is None:
                    votes[rows, result.voted] += 1
                else:
                    votes += result.voted
                if keep_teachers:
                    teachers[result.number] = result.fitted
                if on_done is not None:
                    on_done(done)
        except Exception as error:  # its text may be data: it can hold whole results
            problems.append(
                "teachers could not be sent to or from a worker process, or a worker died "
                f"({known_name(error)}). With keep_teachers=True, and for those that pickle in "
                "their own way, what they are made of must pickle and be importable, not defined "
                "in the script that runs; or use n_jobs=1"
            )
    if problems:
        if "TimeoutError" in problems[0]:  # the name of the error is told, see redacted
            _end_processes()
        raise TeacherError(problems[0]) from None
    if not all_kept:
        warn(
            "memory could not keep the votes of all teachers (a full disk?): the fit is as it "
            "should be, but were it to be interrupted, more would be done again"
        )
    return votes if temperature is None else votes / SHARES, teachers


def _seeds(seed, n_teachers, names):
    """Seed of each teacher: of its number or, if it has one, of its name alone."""
    if names is None:
        return [int(s.generate_state(1)[0]) % 2**31 for s in seed.spawn(n_teachers)]
    return [int(number) % 2**31 for number in keyed_digests(names, seed)]


def _check_processes(timeout, n_jobs):
    """Refuse a timeout for teachers that run in this process."""
    threads = getattr(get_active_backend()[0], "uses_threads", False)
    if effective_n_jobs(n_jobs) == 1 or threads:
        raise ValueError(
            f"timeout={timeout!r} needs teachers in processes of their own, which can be left "
            "behind: set n_jobs to 2 or more, with a backend of processes"
        )


def _check_callbacks(estimator):
    """Refuse skorch's callbacks that use files: teachers would read each other's."""
    skorch = sys.modules.get("skorch")
    if skorch is None:
        return
    kinds = ("Checkpoint", "TrainEndCheckpoint", "LoadInitState")
    users = tuple(getattr(skorch.callbacks, name) for name in kinds)
    for name, value in estimator.get_params(deep=True).items():
        for part in _leaves(value):
            kind = part if isinstance(part, type) else type(part)
            if issubclass(kind, users):
                raise ValueError(
                    f"{name} of base_estimator has a {kind.__name__}, which writes or reads files "
                    "that all teachers would share, so that one teacher's records reach others. "
                    "Leave it out; EarlyStopping(load_best=True) keeps the best weights in memory"
                )


def _leaves(value):
    """Yield what lists, tuples and dicts hold, at any depth."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for part in value:
            yield from _leaves(part)
    else:
        yield value


def _end_processes():
    """Stop loky's workers: one whose teacher hangs keeps its turn, and the next would wait."""
    if isinstance(get_active_backend()[0], LokyBackend):
        get_reusable_executor().shutdown(wait=False, kill_workers=True)


def _shares_a_process(n_jobs):
    """Whether teachers would run side by side in threads of one process."""
    backend = get_active_backend()[0]
    if effective_n_jobs(n_jobs) == 1:
        return False
    cluster = getattr(backend, "client", None)  # Dask's
    if hasattr(cluster, "nthreads"):
        return max(cluster.nthreads().values(), default=1) > 1
    return getattr(backend, "uses_threads", False)


def _rows_by_teacher(teacher, n_teachers):
    """Record numbers of each teacher, ascending."""
    order = np.argsort(teacher, kind="stable")
    return np.split(order, np.searchsorted(teacher[order], np.arange(1, n_teachers)))


def _parts(X, codes, sample_weight, teacher, n_teachers, classes):
    """Yield rows, codes and weights of each teacher; of a site, what loads them."""
    if isinstance(X, Sites):
        yield from ((Site(X.load, name, classes), None, None) for name in X.names)
        return
    for rows in _rows_by_teacher(teacher, n_teachers):
        weight = None if sample_weight is None else sample_weight[rows]
        part = own_rows(X, rows, _safe_indexing) if rows.size else None
        yield part, codes[rows], weight


def _run(tasks, n_tasks, n_jobs):
    """Yield results as they come, holding few; in rounds where the backend cannot stream."""
    workers = effective_n_jobs(n_jobs)
    settings = {
        "n_jobs": n_jobs,
        # joblib's own batches of quick tasks grow without limit, and with them what waits in memory
        # and how long a worker waits for another's last batch
        "batch_size": (batch_size := min(max(n_tasks // (128 * workers), 1), 16)),
        # and it would leave large parts, private data, in files until the end
        "max_nbytes": None,
    }
    try:
        parallel = Parallel(return_as="generator_unordered", **settings)
    except ValueError:  # multiprocessing, and backends built on it
        with Parallel(**settings) as parallel:
            while batch := list(itertools.islice(tasks, 4 * batch_size * workers)):
                yield from parallel(batch)
    else:
        yield from parallel(tasks)
