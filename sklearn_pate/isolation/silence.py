"""Silence: what is printed, logged, warned of or counted while private data are handled goes."""

import contextlib
import ctypes
import errno
import io
import itertools
import logging
import os
import sys
import threading
import warnings
from contextvars import ContextVar
from numbers import Integral

from joblib import cpu_count

from .generators import params_named

_IS_WITHIN = ContextVar("sklearn_pate_is_within_a_fit", default=False)


def silent(estimator):
    """Turn off the `verbose` parameters: compiled code writes past Python's streams."""
    loud = {name: 0 for name, value in params_named(estimator, "verbose").items() if value}
    return estimator.set_params(**loud) if loud else estimator


def limit_threads(estimator, threads):
    """Lower an estimator's `n_jobs` parameters, in place, to a worker's share of the cores.

    None is no limit. What joblib runs is sequential in a worker; this is for libraries with threads
    of their own.
    """
    if threads is None:
        return estimator
    too_many = [
        name
        for name, value in params_named(estimator, "n_jobs").items()
        if isinstance(value, Integral)
        # `effective_n_jobs` says 1 within a task
        and (value if value > 0 else cpu_count() + 1 + value) > threads
    ]
    if too_many:  # and a FrozenEstimator's set_params returns None
        estimator.set_params(**dict.fromkeys(too_many, threads))
    return estimator


class _Nowhere(io.StringIO):
    """A text stream that forgets."""

    def write(self, text):
        return len(text)


@contextlib.contextmanager
def silence():
    """Drop output, logs and warnings, even those that a teacher's own settings let through."""
    level = logging.root.manager.disable
    handled = logging.Logger.callHandlers
    _disable_logs(sys.maxsize)
    # They may be enabled again
    logging.Logger.callHandlers = _forget  # type: ignore[method-assign]
    try:
        with (
            warnings.catch_warnings(record=True),
            contextlib.redirect_stdout(_Nowhere()),
            contextlib.redirect_stderr(_Nowhere()),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.Logger.callHandlers = handled  # type: ignore[method-assign]
        _disable_logs(level)


def _disable_logs(level):
    """Do what `logging.disable` does, unless it is so: it goes through all loggers."""
    if logging.root.manager.disable != level:
        logging.disable(level)


def _forget(logger, record):
    """Do with a record of the log what `_Nowhere` does with text."""


def _flush_of_c():
    """Return the function that flushes the streams of compiled code, or None."""
    try:
        return ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None).fflush
    except (AttributeError, OSError, TypeError):
        return None


_flush_compiled = _flush_of_c()


def _flush():
    """Write out what streams hold back, while they still lead where it belongs."""
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        with contextlib.suppress(Exception):  # there is no stream, or it is closed
            stream.flush()
    if _flush_compiled is not None:
        _flush_compiled(None)


@contextlib.contextmanager
def silence_below():
    """Drop what is written to the file descriptors 1 and 2."""
    _flush()
    duplicates = {}
    try:
        for descriptor in (1, 2):
            try:
                duplicates[descriptor] = os.dup(descriptor)
            except OSError as error:
                if error.errno != errno.EBADF:  # a closed one needs no silence
                    raise
        nowhere = os.open(os.devnull, os.O_WRONLY)
        try:
            for descriptor in duplicates:
                os.dup2(nowhere, descriptor)
        finally:
            os.close(nowhere)
        yield
    finally:
        _flush()
        for descriptor, duplicate in duplicates.items():
            os.dup2(duplicate, descriptor)
            os.close(duplicate)


class Quiet:
    """Keep what teachers print, warn of and log from leaving the process: it may be data.

    Output streams, warning filters and logging are global, and teachers may run in threads: the
    first to enter silences them, and the last to leave restores them. `isolated` silences again
    within, because a teacher may undo this.
    """

    _lock = threading.Lock()
    _depth = 0
    _silence = None

    def __enter__(self):
        with Quiet._lock:
            if Quiet._depth == 0:
                _flush()  # before `isolated` redirects descriptors
                Quiet._silence = silence()
                Quiet._silence.__enter__()
            Quiet._depth += 1

    def __exit__(self, *exc_info):
        with Quiet._lock:
            Quiet._depth -= 1
            if Quiet._depth == 0:
                Quiet._silence.__exit__(None, None, None)


def _new_lock():
    """Make a lock for a forked process, in which threads that held the old one do not exist."""
    Quiet._lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_new_lock)


# --- fits within other fits: how many there are may be private, so nothing counts them -----------


@contextlib.contextmanager
def uncounted():
    """Let the fits of a block be part of the one that it belongs to.

    A teacher whose records have one label is not fitted, so the number of fits that teachers begin
    depends on records, and the number of the next fit of this process would show it.

    Examples
    --------
    >>> from sklearn_pate.isolation import next_fit_number, uncounted
    >>> with uncounted():
    ...     next_fit_number()
    1
    """
    token = _IS_WITHIN.set(True)
    try:
        yield
    finally:
        _IS_WITHIN.reset(token)


_numbers = itertools.count(1)


def next_fit_number():
    """Count one more fit of this process.

    It counts calls, never data: a count of fits "on the same records" would tell whether the
    records changed. A fit counts from its first line on: whether one failed may be private too.
    Fits within a fit (those of teachers, of the trials of a private search) are part of it and do
    not count: how many there are may be private as well. Each worker process counts for itself.

    Returns
    -------
    int
        1 for the first, and for one within another.

    Examples
    --------
    >>> from sklearn_pate.isolation import next_fit_number
    >>> next_fit_number() < next_fit_number()
    True
    """
    return 1 if _IS_WITHIN.get() else next(_numbers)
