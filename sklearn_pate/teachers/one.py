"""What one teacher does, in the worker that trains it."""

import contextlib
import ctypes
import os
import sys
import threading
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from joblib import Memory, cpu_count
from sklearn import config_context

from .._sklearn import _num_samples
from ..isolation import (
    Quiet,
    TellableError,
    copied_data,
    isolated,
    own_clone,
    redacted,
    set_seeds,
    silent,
    without_caches,
)
from ..memory import digest
from .sites import Site

__all__ = [
    "SHARES",
    "Part",
    "Result",
    "Settings",
    "Task",
    "check_voted",
    "compact",
    "constant_votes",
    "fit_and_predict",
    "fit_and_vote",
    "is_kept",
    "shares_of",
]


class Settings(NamedTuple):
    """What all teachers of a fit share besides the data.

    Attributes
    ----------
    n_classes : int
        Number of classes.
    temperature : float or None
        Of probabilities; None for votes.
    keep : bool
        Whether the fitted teachers are returned.
    threads : int or None
        Most threads a teacher may use; None is no limit.
    config : dict
        scikit-learn's configuration where `fit` was called.
    timeout : float or None
        Seconds for a teacher to fit and vote.
    caller : int
        The process where `fit` was called.
    """

    n_classes: int
    temperature: float | None
    keep: bool
    threads: int | None
    config: dict
    timeout: float | None
    caller: int


class Part(NamedTuple):
    """The private records of one teacher.

    Attributes
    ----------
    X : array-like, Site or None
        Features, or what loads them with their codes; None without records.
    codes : ndarray or None
        Labels as codes; None with a `Site`.
    weight : array-like or None
        Weights of the records, for a teacher that takes them.
    """

    X: Any
    codes: np.ndarray | None
    weight: Any = None


class Task(NamedTuple):
    """What a worker is sent to train one teacher.

    Attributes
    ----------
    number : int
        Of the teacher.
    estimator : estimator
        Unfitted, shared with other teachers.
    part : Part
        Its records.
    X_query : array-like with n_queries rows
        Public points to vote on.
    seed : int
        Of this teacher.
    settings : Settings
        What all teachers share.
    memory : joblib.Memory
        Where its votes are kept.
    key : tuple
        What tells its votes from others in memory.
    """

    number: int
    estimator: Any
    part: Part
    X_query: Any
    seed: int
    settings: Settings
    memory: Memory
    key: tuple


class Result(NamedTuple):
    """What a worker returns of one teacher.

    Attributes
    ----------
    number : int
        Of the teacher.
    voted : ndarray or None
        Its votes, or shares of probability; None if it failed.
    fitted : estimator or None
        Itself, if kept.
    problem : str or None
        Why it failed, as it may be told.
    is_kept : bool
        Whether memory, if there is one, has the votes.
    """

    number: int
    voted: np.ndarray | None
    fitted: Any = None
    problem: str | None = None
    is_kept: bool = True


def fit_and_vote(task):
    """Train one teacher, or recall its votes; return its `Result`."""
    settings = task.settings
    # In its own process the caller keeps things quiet, for all threads at once
    with contextlib.nullcontext() if os.getpid() == settings.caller else Quiet():
        # A failure is returned, not raised: a traceback would carry the teacher's own text
        interrupted = False
        try:
            task = _loaded(task)
            constant = constant_votes(
                task.number, task.part.codes, _num_samples(task.X_query), settings
            )
            if constant is not None:
                return Result(task.number, constant)
            train = task.memory.cache(_train, ignore=["task"])
            voted, fitted = _within(settings.timeout, train, task.key, task)
            kept = is_kept(task.memory, train, task.key, task)
        except KeyboardInterrupt:
            interrupted = True
        except BaseException as error:  # SystemExit too: its text may be data
            return Result(task.number, None, problem=redacted(error, task.estimator))
        if interrupted:  # raised out here, it does not hold the one that was caught
            raise KeyboardInterrupt
    return Result(task.number, voted, fitted, is_kept=kept)


def is_kept(memory, function, *args):
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


def _loaded(task):
    """Load the data of a site; its votes in memory are then told apart by these data as well."""
    site = task.part.X
    if not isinstance(site, Site):
        return task
    with isolated(task.seed), config_context(**task.settings.config):
        X, codes = site.read(task.X_query)
    key = None if task.memory.location is None else (*task.key, digest(X, codes))
    return task._replace(part=Part(X, codes), key=key)


def _train(key, task):
    """Fit a teacher and let it vote; in memory, `key` tells its votes from others'."""
    had_torch = "torch" in sys.modules
    result = fit_and_predict(task)
    if "torch" in sys.modules and not had_torch:
        # Imported by this fit, it could not be seeded before. Which teacher is the first to import
        # it may depend on another's records
        result = fit_and_predict(task)
    return result


def fit_and_predict(task):
    """Fit a teacher in isolation; return its votes, and itself if kept."""
    settings = task.settings
    n_classes = settings.n_classes
    with isolated(task.seed), config_context(**settings.config):
        # kept teachers must pickle, which copied functions of the main program do not
        fitted = own_clone(task.estimator, task.seed, functions=not settings.keep)
        set_seeds(fitted, task.seed)
        silent(fitted)
        without_caches(fitted)
        _limited(fitted, settings.threads)
        # Copies, because a teacher that writes to the queries would change others' votes, and
        # because parts that joblib maps from disk are read-only
        part, X_query = copied_data((task.part, task.X_query))
        n_queries = _num_samples(X_query)
        weights = {} if part.weight is None else {"sample_weight": part.weight}
        fitted.fit(part.X, part.codes, **weights)
        if settings.temperature is None:
            voted = fitted.predict(X_query)
            codes = check_voted(voted, n_queries=n_queries, n_classes=n_classes)
            votes = compact(codes, n_classes=n_classes)
        else:
            proba = fitted.predict_proba(X_query)
            votes = shares_of(
                proba, fitted.classes_, n_classes=n_classes, temperature=settings.temperature
            )
    return votes, fitted if settings.keep else None


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


def constant_votes(i, codes, n_queries, settings):
    """Votes of a teacher that sees one class, or no record at all; None if it sees more."""
    n_classes = settings.n_classes
    present = np.unique(codes)
    if present.size > 1:
        return None
    label = present[0] if present.size else i % n_classes
    if settings.temperature is None:
        return compact(np.full(n_queries, label), n_classes=n_classes)
    return shares_of(np.ones((n_queries, 1)), [label], n_classes=n_classes, temperature=1)


def compact(voted, *, n_classes):
    """Codes in the smallest integer type: results wait in memory until they are counted."""
    return voted.astype(np.min_scalar_type(n_classes - 1))


#: Probabilities are whole numbers of this share, so that sums do not depend on their order.
SHARES = 2**20


def shares_of(proba, classes, *, n_classes, temperature):
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
    full[:, np.asarray(classes).astype(np.intp)] = np.floor(tempered / sums * (SHARES - 1))
    return full


def check_voted(voted, *, n_queries, n_classes):
    """Return votes as codes; what is none is refused, and not quoted."""
    voted = np.asarray(voted)
    if voted.shape != (n_queries,):
        raise TellableError("predict must return one label per row, a 1-D array")
    codes = voted.astype(np.int64) if voted.dtype.kind in "iufb" else np.full(n_queries, -1)
    if not np.array_equal(codes, voted) or ((codes < 0) | (codes >= n_classes)).any():
        raise TellableError("predict returned labels that are not among the codes it was fitted on")
    return codes
