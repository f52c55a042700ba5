"""Fit one classifier per part of the private data and count the votes on the public queries."""

import contextlib
import ctypes
import itertools
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import KW_ONLY, dataclass
from functools import partial
from numbers import Integral

import numpy as np
from joblib import Memory, Parallel, cpu_count, delayed, effective_n_jobs
from joblib.externals.loky import get_reusable_executor
from joblib.parallel import LokyBackend, get_active_backend
from sklearn import config_context, get_config
from sklearn.utils.validation import has_fit_parameter
from threadpoolctl import threadpool_limits

from ._sklearn import _num_samples, _safe_indexing
from .exceptions import TeacherError
from .isolation import (
    Quiet,
    TellableError,
    attempt,
    copied_data,
    isolated,
    known_name,
    own_clone,
    own_rows,
    redacted,
    set_seeds,
    silent,
    without_caches,
)
from .memory import code_digest, digest
from .partition import keyed_digests, spelled_names
from .schema import difference

__all__ = ["Sites", "Votes", "collect_votes"]


@dataclass(frozen=True, eq=False)
class Votes:
    """Votes of all teachers on public rows: private, so it has no repr and cannot be pickled.

    Attributes
    ----------
    counts : ndarray of shape (n_rows, n_classes), int
        Vote counts; with `temperature`, float sums of probabilities.
    classes : ndarray of shape (n_classes,)
        Sorted labels.
    n_teachers : int
        Number of teachers.
    unit, adjacency : str
        What changes one teacher; as in `PrivacySpent`.
    temperature : float or None
        Of the teachers' probabilities; None for votes.
    teacher_indices : ndarray of shape (n_samples,), int, or None
        The teacher of each private record, if known.
    teachers : list or None
        Fitted teachers, if kept.
    """

    counts: np.ndarray
    classes: np.ndarray
    _: KW_ONLY
    n_teachers: int
    unit: str
    adjacency: str
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
        return cls(
            counts,
            classes,
            n_teachers=int(counts[0].sum()),
            unit="teacher",
            adjacency="change the votes of one",
        )

    def __repr__(self):
        return "Votes(private)"

    def __reduce__(self):
        raise TypeError("votes are private: they cannot be pickled or copied")


@dataclass(frozen=True)
class Sites:
    """Private data that stay where they are: each teacher loads its own, where it is trained.

    Given to ``PATEClassifier(classes=...).fit(Sites(load, names), None, X_public)`` in place of
    the private rows. One site, one teacher; a worker sends back the teacher's votes and nothing
    else. The guarantee covers any change of the data of one site, its unit is "group".

    Parameters
    ----------
    load : callable
        ``load(name)`` returns X and y of one site. It runs in the worker that trains the site's
        teacher, and must be importable there. X has the columns of `X_public`, with their types
        and categories; a site without rows is allowed. It may be called more than once for a
        name, where a worker dies for instance. What it returns must depend on `name` and that
        site's data alone: an encoder, a vocabulary or a cache that it keeps in its module would
        let one site's records reach the teachers of others.
    names : sequence of str
        The sites, all different: public. Kept as a tuple of str. A teacher's seed follows from its
        site's name, its place in a list of classifiers and its vote without records from the
        position of the name. So a site that is put at the end leaves the others' teachers as they
        are.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn_pate import PATEClassifier
    >>> from sklearn_pate.teachers import Sites
    >>> X, y = load_iris(return_X_y=True)
    >>> def load(name):
    ...     return X[int(name) :: 20], y[int(name) :: 20]
    >>> clf = PATEClassifier(GaussianNB(), epsilon=20, classes=[0, 1, 2])
    >>> clf = clf.fit(Sites(load, [str(i) for i in range(20)]), None, X_public=X)
    >>> clf.n_teachers_, clf.privacy_spent_.unit
    (20, 'group')
    """

    load: Callable
    names: Sequence[str]

    def __post_init__(self):
        if not callable(self.load):
            raise ValueError(f"load must be callable, load(name) -> (X, y); got {self.load!r}")
        names = self.names
        if isinstance(names, Iterable) and not isinstance(names, Sequence | Set | Mapping):
            names = list(names)  # an array, an Index, or a generator, which can be read once
        spelled = spelled_names(names)
        # a tuple, because the number of sites is that of votes which one site may change
        named = (
            name if isinstance(name, str) else own for name, own in zip(names, spelled, strict=True)
        )
        object.__setattr__(self, "names", tuple(str.__str__(name) for name in named))

    def __repr__(self):
        return f"Sites({len(self.names)} names)"


@dataclass(frozen=True)
class _Site:
    """What a worker needs to load the part of one teacher."""

    load: Callable
    name: str
    classes: np.ndarray

    def read(self, X_query):
        """Return X and codes; messages never quote what was loaded."""
        loaded, failed = attempt(lambda: tuple(self.load(self.name)))
        if failed is not None:  # its text may quote records
            raise TellableError(f"load raised {failed}")
        if len(loaded) != 2:
            raise TellableError("load must return X and y")
        X, y = loaded
        X, y = X if hasattr(X, "shape") else np.asarray(X), np.asarray(y)
        if y.shape != X.shape[:1] or X.shape[1:] != X_query.shape[1:]:
            raise TellableError(
                "load must return X with the columns of X_public, and y with one label per row"
            )
        found = difference(X, X_query)
        if found is not None:
            raise TellableError(_OF_A_SITE[found.of])
        codes = np.minimum(np.searchsorted(self.classes, y), len(self.classes) - 1)
        if y.size and not np.all(self.classes[codes] == y):
            raise TellableError("load returned labels that are not in classes")
        return X, codes.astype(np.int64)


#: What to tell of how a site's rows differ in form from the public ones.
_OF_A_SITE = {
    "form": "load must return X as a DataFrame if X_public is one, and as an array if it is one",
    "unknown": "load must return X as an array or a DataFrame, which have the dtypes of X_public",
    "columns": "load must return X with the columns of X_public",
    "dtype": "load must return X with the dtype of X_public",
    "dtypes": "load must return X with the dtypes and categories of X_public",
    "codes": (
        "load must return X with categories that are fixed in advance, no dictionaries of Arrow or "
        "Categorical of polars, whose codes are given out as values appear"
    ),
}


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
    memory, all_data = Memory(None) if memory is None else memory, None
    if memory.location is not None:  # what sites load is added where it is loaded
        data = None if isinstance(X, Sites) else (X, codes, sample_weight, teacher), X_query
        settings = classes, n_classes, temperature, keep_teachers
        all_data = digest(data, estimators, *settings, code_digest(estimators))
    batched, workers = _batched(estimators, X, X_query, timeout), effective_n_jobs(n_jobs)
    threads = max(cpu_count() // workers, 1) if workers > 1 and not batched else None
    if not batched and _shares_a_process(n_jobs):
        warnings.warn(
            "teachers run in threads of one process and take turns, so n_jobs does not speed them "
            "up: threads share the random numbers of numpy, Python and torch. Use a backend of "
            "processes, or workers with one thread each",
            stacklevel=5,
        )

    parts = _parts(X, codes, sample_weight, teacher, n_teachers, classes)

    def tasks():
        for i, (part, part_codes, weight) in enumerate(parts):
            if problems:
                return
            k = i % len(estimators)
            yield delayed(_fit_and_vote)(
                i,
                estimators[k],
                # One argument: Dask would keep a large one of its own on one worker, and lose it
                (part, part_codes, weight if takes_weight[k] else None, X_query),
                (n_classes, seeds[i], temperature, keep_teachers, threads, config, timeout),
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
                shared = X_query, n_classes, temperature, keep_teachers
                results = _train_together(batched, (args for _, args, _ in tasks()), *shared)
            else:
                results = _run(tasks(), n_teachers, n_jobs)
            for done, (i, voted, fitted, problem, kept) in enumerate(results, 1):
                all_kept &= kept
                if problem is not None:
                    problems.append(
                        f"teacher {i} failed: {problem}. What teachers need of preprocessing (an "
                        "encoder, an imputer) belongs inside base_estimator"
                    )
                    continue  # no more are sent; those under way end in silence
                if temperature is None:
                    votes[rows, voted] += 1
                else:
                    votes += voted
                if keep_teachers:
                    teachers[i] = fitted
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
        warnings.warn(
            "memory could not keep the votes of all teachers (a full disk?): the fit is as it "
            "should be, but were it to be interrupted, more would be done again",
            stacklevel=5,
        )
    return votes if temperature is None else votes / _SHARES, teachers


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
        yield from ((_Site(X.load, name, classes), None, None) for name in X.names)
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


def _fit_and_vote(i, estimator, data, settings, home, memory, key):
    """One teacher: its number, vote per query, itself if kept, problem, and if memory has them."""
    # In the process `home` the caller keeps things quiet, for all threads at once
    with contextlib.nullcontext() if os.getpid() == home else Quiet():
        # A failure is returned, not raised: a traceback would carry the teacher's own text
        interrupted = False
        try:
            data, key = _loaded(data, memory, key, settings)
            constant = _constant(i, data[1], _num_samples(data[3]), settings)
            if constant is not None:
                return i, constant, None, None, True
            train = memory.cache(_train, ignore=["estimator", "data", "settings"])
            voted, fitted = _within(settings[-1], train, key, estimator, data, settings)
            kept = _is_kept(memory, train, key, estimator, data, settings)
        except KeyboardInterrupt:
            interrupted = True
        except BaseException as error:  # SystemExit too: its text may be data
            return i, None, None, redacted(error, estimator), True
        if interrupted:  # raised out here, it does not hold the one that was caught
            raise KeyboardInterrupt
    return i, voted, fitted, None, kept


def _is_kept(memory, function, *args):
    """Whether memory, if there is one, has a result: joblib warns if it cannot write, no more."""
    return memory.location is None or function.check_call_in_cache(*args)


def _within(seconds, function, *args):
    """Call a function in a thread; after some seconds, stop it when it next runs Python, and raise.

    Until it has stopped, this process, a worker, stays silent, and the next teacher in it waits.
    What hangs in compiled code is stopped when it returns from there, or with the process.
    """
    if seconds is None:
        return function(*args)
    outcome = []
    started, ended = threading.Event(), threading.Event()

    def run():
        try:
            with Quiet():
                started.set()
                outcome.append((function(*args), None))
        except BaseException as error:
            outcome.append((None, error))
        finally:
            ended.set()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    in_time = False
    try:
        started.wait()
        in_time = ended.wait(seconds)
    finally:  # when interrupted, too
        if not in_time:
            stop = ctypes.c_ulong(thread.ident), ctypes.py_object(SystemExit)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(*stop)
    if not in_time:
        raise TimeoutError("it took longer than timeout")
    result, error = outcome[0]
    if error is not None:
        raise error
    return result


def _loaded(data, memory, key, settings):
    """Load the data of a site; what is in memory of them then goes by what they are."""
    X, codes, weight, X_query = data
    if isinstance(X, _Site):
        _, seed, *_, config, _ = settings
        with isolated(seed), config_context(**config):
            X, codes = X.read(X_query)
        key = None if memory.location is None else (*key, digest(X, codes))
    return (X, codes, weight, X_query), key


def _train(key, estimator, data, settings):
    """Fit a teacher and let it vote; `key` tells one from another, for what is in memory."""
    had_torch = "torch" in sys.modules
    result = _fit_and_predict(estimator, data, settings)
    if "torch" in sys.modules and not had_torch:
        # Imported by this fit, it could not be seeded before. Which teacher is the first to import
        # it may depend on another's records
        result = _fit_and_predict(estimator, data, settings)
    return result


def _fit_and_predict(estimator, data, settings):
    """Fit a teacher in isolation; return its votes, and itself if kept."""
    n_classes, seed, temperature, keep, threads, config, _ = settings
    with isolated(seed), config_context(**config):
        # kept teachers must pickle, which copied functions of the main program do not
        fitted = own_clone(estimator, seed, functions=not keep)
        set_seeds(fitted, seed)
        silent(fitted)
        without_caches(fitted)
        _limited(fitted, threads)
        # Copies, because a teacher that writes to the queries would change others' votes, and
        # because parts that joblib maps from disk are read-only
        X, codes, weight, X_query = copied_data(data)
        n_queries = _num_samples(X_query)
        fitted.fit(X, codes, **({} if weight is None else {"sample_weight": weight}))
        if temperature is None:
            voted = _check_voted(fitted.predict(X_query), n_queries, n_classes)
            voted = _compact(voted, n_classes)
        else:
            proba = fitted.predict_proba(X_query)
            voted = _shares(proba, fitted.classes_, n_classes, temperature)
    return voted, fitted if keep else None


def _batched(estimators, X, X_query, timeout):
    """Return the network whose copies are to be trained together, or None."""
    skorch = sys.modules.get("skorch")
    if skorch is None:
        return None
    from .batched import BatchedTeachers

    batched, *others = estimators
    network = isinstance(batched, skorch.NeuralNetClassifier)
    if network and str(batched.device).startswith("cuda") and not others:
        batched = BatchedTeachers(batched)
    if not isinstance(batched, BatchedTeachers):
        return None
    if others:
        reason = "base_estimator is a list"
    elif isinstance(X, Sites):
        reason = "the data of sites stay with their workers"
    elif timeout is not None:
        reason = "timeout is for one teacher at a time"
    else:
        reason = batched.why_not(X, X_query)
    if reason is not None:
        warnings.warn(f"teachers are trained one by one, not together: {reason}", stacklevel=6)
        return None
    return batched


def _train_together(batched, tasks, X_query, n_classes, temperature, keep):
    """Yield what `_fit_and_vote` returns, of teachers that are trained together, in this process.

    `tasks` are the arguments of that function.
    """
    i, n_queries = None, _num_samples(X_query)

    def parts():
        nonlocal i
        for i, _, data, settings, _, memory, key in tasks:
            X, codes, *_ = data
            constant = _constant(i, codes, n_queries, settings)
            if constant is not None:
                yield (i, (constant, None), None, None), None, settings[1], None, None
                continue
            recall = memory.cache(_recall, ignore=["result"])
            try:
                yield (i, recall(key, None), None, None), None, settings[1], None, None
            except KeyError:
                network = own_clone(batched.estimator, settings[1], functions=not keep)
                silent(set_seeds(network, settings[1]))
                classes = network.classes if network.classes is not None else np.unique(codes)
                keep_it = partial(_keep, memory, recall, key)
                yield (i, None, classes, keep_it), network, settings[1], X, codes

    interrupted = False
    try:
        # Not below Python's streams: progress is shown meanwhile
        with isolated(0, descriptors=False):
            trained = batched.train(parts(), X_query, proba=temperature is not None, keep=keep)
            for (k, known, classes, keep_it), voted, fitted in trained:
                if known is not None:
                    yield k, *known, None, True
                    continue
                if temperature is None:
                    voted = _compact(_check_voted(voted, n_queries, n_classes), n_classes)
                else:
                    voted = _shares(voted, classes, n_classes, temperature)
                yield k, voted, fitted, None, keep_it((voted, fitted))
    except GeneratorExit:
        raise
    except KeyboardInterrupt:
        interrupted = True
    except BaseException as error:
        yield i, None, None, f"or one beside it: {redacted(error)}", True
    if interrupted:
        raise KeyboardInterrupt


def _recall(key, result):
    """Return the result that is in memory for the key, else the one given, which then is."""
    if result is None:
        raise KeyError
    return result


def _keep(memory, recall, key, result):
    recall(key, result)
    return _is_kept(memory, recall, key, result)


def _limited(estimator, threads):
    """Lower the `n_jobs` parameters to a worker's share of the cores; None is no limit.

    What joblib runs is sequential in a teacher: this is for libraries with threads of their own.
    """
    if threads is None:
        return estimator
    params = estimator.get_params(deep=True)
    names = [p for p in params if p == "n_jobs" or p.endswith("__n_jobs")]
    given = {name: params[name] for name in names if isinstance(params[name], Integral)}
    # joblib's rule for negative numbers; effective_n_jobs itself says 1 in here
    wanted = {name: n if n > 0 else cpu_count() + 1 + n for name, n in given.items()}
    return estimator.set_params(**{name: threads for name in given if wanted[name] > threads})


def _constant(i, codes, n_queries, settings):
    """Votes of a teacher that sees one class, or no record at all; None if it sees more."""
    n_classes, _, temperature, *_ = settings
    present = np.unique(codes)
    if present.size > 1:
        return None
    label = present[0] if present.size else i % n_classes
    if temperature is None:
        return _compact(np.full(n_queries, label), n_classes)
    return _shares(np.ones((n_queries, 1)), [label], n_classes, 1)


def _compact(voted, n_classes):
    """Codes in the smallest integer type: results wait in memory until they are counted."""
    return voted.astype(np.min_scalar_type(n_classes - 1))


#: Probabilities are whole numbers of this share, so that sums do not depend on their order.
_SHARES = 2**20


def _shares(proba, classes, n_classes, temperature):
    """Probabilities of all classes as whole shares: none negative, a sum of at most 1 each row."""
    proba = np.asarray(proba, dtype=float)
    if proba.ndim != 2 or proba.shape[1] != len(classes) or not (proba >= 0).all():
        raise TellableError(
            "predict_proba must return a column of probabilities for each class seen"
        )
    tempered = proba ** (1 / temperature)
    sums = tempered.sum(axis=1, keepdims=True)
    if not (np.isfinite(sums) & (sums > 0)).all():
        raise TellableError("predict_proba returned rows that are no probabilities")
    full = np.zeros((len(proba), n_classes), dtype=np.int64)
    full[:, np.asarray(classes).astype(np.intp)] = np.floor(tempered / sums * (_SHARES - 1))
    return full


def _check_voted(voted, n_queries, n_classes):
    voted = np.asarray(voted)
    if voted.shape != (n_queries,):
        raise TellableError("predict must return one label per row, a 1-D array")
    codes = voted.astype(np.int64) if voted.dtype.kind in "iufb" else np.full(n_queries, -1)
    if not np.array_equal(codes, voted) or ((codes < 0) | (codes >= n_classes)).any():
        raise TellableError("predict returned labels that are not among the codes it was fitted on")
    return codes
