"""What one teacher does, in the worker that trains it."""

import contextlib
import ctypes
import os
import sys
import threading
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from joblib import cpu_count
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
    "Result",
    "Settings",
    "check_voted",
    "compact",
    "constant_votes",
    "fit_and_predict",
    "fit_and_vote",
    "is_kept",
    "shares_of",
]


class Settings(NamedTuple):
    """What a worker needs to know of a fit besides the data.

    Attributes
    ----------
    n_classes : int
        Number of classes.
    seed : int
        Of this teacher.
    temperature : float or None
        Of probabilities; None for votes.
    keep : bool
        Whether the fitted teacher is returned.
    threads : int or None
        Most threads a teacher may use; None is no limit.
    config : dict
        scikit-learn's configuration where `fit` was called.
    timeout : float or None
        Seconds for a teacher to fit and vote.
    """

    n_classes: int
    seed: int
    temperature: float | None
    keep: bool
    threads: int | None
    config: dict
    timeout: float | None


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


def fit_and_vote(i, estimator, data, settings, home, memory, key):
    """Train one teacher, or recall its votes; return its `Result`."""
    # In the process `home` the caller keeps things quiet, for all threads at once
    with contextlib.nullcontext() if os.getpid() == home else Quiet():
        # A failure is returned, not raised: a traceback would carry the teacher's own text
        interrupted = False
        try:
            data, key = _loaded(data, memory, key, settings)
            constant = constant_votes(i, data[1], _num_samples(data[3]), settings)
            if constant is not None:
                return Result(i, constant)
            train = memory.cache(_train, ignore=["estimator", "data", "settings"])
            voted, fitted = _within(settings.timeout, train, key, estimator, data, settings)
            kept = is_kept(memory, train, key, estimator, data, settings)
        except KeyboardInterrupt:
            interrupted = True
        except BaseException as error:  # SystemExit too: its text may be data
            return Result(i, None, problem=redacted(error, estimator))
        if interrupted:  # raised out here, it does not hold the one that was caught
            raise KeyboardInterrupt
    return Result(i, voted, fitted, is_kept=kept)


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


def _loaded(data, memory, key, settings):
    """Load the data of a site; what is in memory of them then goes by what they are."""
    X, codes, weight, X_query = data
    if isinstance(X, Site):
        with isolated(settings.seed), config_context(**settings.config):
            X, codes = X.read(X_query)
        key = None if memory.location is None else (*key, digest(X, codes))
    return (X, codes, weight, X_query), key


def _train(key, estimator, data, settings):
    """Fit a teacher and let it vote; `key` tells one from another, for what is in memory."""
    had_torch = "torch" in sys.modules
    result = fit_and_predict(estimator, data, settings)
    if "torch" in sys.modules and not had_torch:
        # Imported by this fit, it could not be seeded before. Which teacher is the first to import
        # it may depend on another's records
        result = fit_and_predict(estimator, data, settings)
    return result


def fit_and_predict(estimator, data, settings):
    """Fit a teacher in isolation; return its votes, and itself if kept."""
    n_classes = settings.n_classes
    seed = settings.seed
    with isolated(seed), config_context(**settings.config):
        # kept teachers must pickle, which copied functions of the main program do not
        fitted = own_clone(estimator, seed, functions=not settings.keep)
        set_seeds(fitted, seed)
        silent(fitted)
        without_caches(fitted)
        _limited(fitted, settings.threads)
        # Copies, because a teacher that writes to the queries would change others' votes, and
        # because parts that joblib maps from disk are read-only
        X, codes, weight, X_query = copied_data(data)
        n_queries = _num_samples(X_query)
        fitted.fit(X, codes, **({} if weight is None else {"sample_weight": weight}))
        if settings.temperature is None:
            voted = check_voted(fitted.predict(X_query), n_queries=n_queries, n_classes=n_classes)
            voted = compact(voted, n_classes=n_classes)
        else:
            proba = fitted.predict_proba(X_query)
            voted = shares_of(
                proba, fitted.classes_, n_classes=n_classes, temperature=settings.temperature
            )
    return voted, fitted if settings.keep else None


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
