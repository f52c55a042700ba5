"""A block in which one teacher is kept from the next, and private text from the world."""

import contextlib
import ctypes
import io
import itertools
import logging
import os
import re
import sys
import warnings
from contextvars import ContextVar
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
from joblib import cpu_count, parallel_config
from scipy import special
from sklearn import config_context
from sklearn.base import BaseEstimator

from .._sklearn import InvalidParameterError
from .copies import copied_rows, copier, locks, params_named, seeded


@contextlib.contextmanager
def isolated(seed, *, descriptors=True):
    """Run a teacher in silence, and leave the process as it was.

    Global generators start from the seed (see `seeded`). Afterwards they are put back, and so are
    error states of numpy and scipy, print options, options of scikit-learn, joblib and pandas,
    torch's defaults, warning filters, output streams, environment variables and the working
    directory. All of this belongs to the process, so threads take turns. Fits of this library that
    are begun meanwhile are not counted.

    Parameters
    ----------
    seed : int
        Below 2**32.
    descriptors : bool, default=True
        Whether to drop what is written below Python's streams, to the file descriptors 1 and 2,
        as well: by compiled code, child processes and ``sys.__stdout__``, but also by anything
        else that writes there meanwhile, such as a thread that shows progress.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_pate.runtime.isolation import isolated
    >>> before = np.random.get_state()[2]
    >>> with isolated(3):
    ...     first = np.random.random(100)
    >>> with isolated(3):
    ...     again = np.random.random(100)
    >>> bool((first == again).all()), np.random.get_state()[2] == before
    (True, True)
    """
    with locks["turn"], suppress_output(), uncounted(), contextlib.ExitStack() as stack:
        for context in _CONTEXTS:
            stack.enter_context(context())
        for read, write in _SETTINGS:
            stack.callback(_put_back, read, write, read())
        if descriptors:
            stack.enter_context(silence_below())
        # After the settings, so that it ends before they are read: under a warning filter that a
        # teacher left, reading options can fail
        stack.enter_context(silence())
        stack.enter_context(seeded(seed))
        yield


def applied_to_parts(function, fitted, X, parts, seed=0):
    """Apply something fitted to some rows after others, so that none can tell of another.

    Parameters
    ----------
    function : callable
        Called with a copy of `fitted` and some rows; its errors may quote them.
    fitted : estimator
        What each call gets a copy of.
    X : array-like
        Private rows.
    parts : iterable of ndarray of int
        The rows of each call.
    seed : int, default=0
        What global generators start from in each call.

    Yields
    ------
    rows : ndarray of int
        A part.
    outcome : (object, str or None)
        What the function returned, and what failed, as `attempt` says it.
    """
    fresh = copier(fitted)
    for rows in parts:
        with isolated(seed):
            outcome = attempt(lambda part=rows: function(fresh(), copied_rows(X, part)))
        yield rows, outcome


def _put_back(read, write, before):
    if read() != before:
        write(before)


def _working_directory():
    return attempt(os.getcwd)[0]  # None: it was deleted


def _return_to(folder):
    if folder is not None:
        os.chdir(folder)


def _pandas_options(branch=None, prefix=""):
    """Return the options of pandas by name; `pd.get_option` for each would take long."""
    options = {}
    for key, value in (pd.options.d if branch is None else branch).items():
        if isinstance(value, dict):
            options |= _pandas_options(value, f"{prefix}{key}.")
        else:
            options[prefix + key] = value
    return options


def _set_pandas_options(before):
    now = _pandas_options()
    for name, value in before.items():
        if now.get(name) != value:  # setting a deprecated one would warn
            pd.set_option(name, value)


def _set_environment(before):
    os.environ.clear()
    os.environ.update(before)


#: How settings of torch that belong to the whole process are read and written.
_OF_TORCH = (
    ("get_default_dtype", "set_default_dtype"),
    ("is_grad_enabled", "set_grad_enabled"),
    ("get_deterministic_debug_mode", "set_deterministic_debug_mode"),
    ("is_anomaly_enabled", "set_anomaly_enabled"),
    ("get_float32_matmul_precision", "set_float32_matmul_precision"),
    ("get_num_threads", "set_num_threads"),
)


def _torch_defaults():
    """Return the settings of torch; None if it is not loaded."""
    torch = sys.modules.get("torch")
    return None if torch is None else [getattr(torch, read)() for read, _ in _OF_TORCH]


def _set_torch_defaults(before):
    torch = sys.modules["torch"]
    if before is None:  # the block imported torch
        before = (torch.float32, True, 0, False, "highest", torch.get_num_threads())
    for (_, write), value in zip(_OF_TORCH, before, strict=True):
        getattr(torch, write)(value)


#: What all fits of a process share: context managers that put it back, and functions that read it
#: and write it.
_CONTEXTS = (np.errstate, special.errstate, np.printoptions, config_context, parallel_config)
_SETTINGS: Any = (
    (_torch_defaults, _set_torch_defaults),
    (_pandas_options, _set_pandas_options),
    (partial(dict, os.environ), _set_environment),
    (_working_directory, _return_to),
)


# --- what is printed, logged, warned of or counted goes -------------------------------------------


_IS_WITHIN = ContextVar("sklearn_pate_is_within_a_fit", default=False)


def silent(estimator):
    """Turn off the `verbose` parameters: compiled code writes past Python's streams."""
    for name, value in params_named(estimator, "verbose").items():
        if value:
            estimator.set_params(**{name: 0})  # of a FrozenEstimator, it returns None
    return estimator


def limit_threads(estimator, threads):
    """Lower an estimator's `n_jobs` parameters, in place, to a worker's share of the cores.

    None is no limit. What joblib runs is sequential in a worker; this is for libraries with threads
    of their own.
    """
    for name, value in params_named(estimator, "n_jobs").items():
        if threads is not None and isinstance(value, Integral):
            # `effective_n_jobs` says 1 within a task
            n_jobs = value if value > 0 else cpu_count() + 1 + value
            if n_jobs > threads:
                estimator.set_params(**{name: threads})
    return estimator


class _Nowhere(io.StringIO):
    """A text stream that forgets."""

    def write(self, text):
        return len(text)


@contextlib.contextmanager
def silence():
    """Drop output, logs and warnings, even those that a teacher's own settings let through."""
    with contextlib.ExitStack() as stack:
        stack.callback(_disable_logs, logging.root.manager.disable)
        stack.callback(setattr, logging.Logger, "callHandlers", logging.Logger.callHandlers)
        _disable_logs(sys.maxsize)
        # They may be enabled again
        logging.Logger.callHandlers = _forget  # type: ignore[method-assign]
        stack.enter_context(warnings.catch_warnings(record=True, action="ignore"))
        stack.enter_context(contextlib.redirect_stdout(_Nowhere()))
        stack.enter_context(contextlib.redirect_stderr(_Nowhere()))
        yield


def _disable_logs(level):
    """Do what `logging.disable` does, unless it is so: it goes through all loggers."""
    if logging.root.manager.disable != level:
        logging.disable(level)


def _forget(logger, record):
    """Do with a record of the log what `_Nowhere` does with text."""


#: Flushes the streams of compiled code, where it is found.
_flush_compiled: Any = None
with contextlib.suppress(AttributeError, OSError, TypeError):
    _flush_compiled = ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None).fflush


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
    with contextlib.ExitStack() as stack:
        nowhere = 0
        while nowhere < 3:  # it takes the places of closed ones first
            nowhere = os.open(os.devnull, os.O_WRONLY)
            stack.callback(os.close, nowhere)
        for descriptor in (1, 2):
            duplicate = os.dup(descriptor)
            stack.callback(os.close, duplicate)
            stack.callback(os.dup2, duplicate, descriptor)
            os.dup2(nowhere, descriptor)
        stack.callback(_flush)
        yield


class suppress_output:
    """Keep what teachers print, warn of and log from leaving the process: it may be data.

    Output streams, warning filters and logging are global, and teachers may run in threads: the
    first to enter silences them, and the last to leave restores them. `isolated` silences again
    within, because a teacher may undo this.
    """

    _depth = 0
    _silence = None

    def __enter__(self):
        with locks["quiet"]:
            if suppress_output._depth == 0:
                _flush()  # before `isolated` redirects descriptors
                suppress_output._silence = silence()
                suppress_output._silence.__enter__()
            suppress_output._depth += 1

    def __exit__(self, *exc_info):
        with locks["quiet"]:
            suppress_output._depth -= 1
            if suppress_output._depth == 0:
                suppress_output._silence.__exit__(None, None, None)


# --- fits within other fits: how many there are may be private, so nothing counts them -----------


@contextlib.contextmanager
def uncounted():
    """Let the fits of a block be part of the one that it belongs to.

    A teacher whose records have one label is not fitted, so the number of fits that teachers begin
    depends on records, and the number of the next fit of this process would show it.

    Examples
    --------
    >>> from sklearn_pate.runtime.isolation import next_fit_number, uncounted
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
    >>> from sklearn_pate.runtime.isolation import next_fit_number
    >>> next_fit_number() < next_fit_number()
    True
    """
    return 1 if _IS_WITHIN.get() else next(_numbers)


# --- what may be told of an error, and of the types of private data -------------------------------


def is_ours(part):
    """Whether an object's class is of this library, whose messages quote no private values."""
    return type(part).__module__.partition(".")[0] == __package__.partition(".")[0]


def attempt(function):
    """Call a function whose errors may quote private values.

    Raise an error of your own after the call: one that is raised within `except` keeps the one that
    was caught, in its `__context__`.

    Parameters
    ----------
    function : callable
        Without arguments.

    Returns
    -------
    result : object
        What it returned; None if it failed.
    failed : str or None
        The name of its error's class, of any kind; None if it did not fail.

    Raises
    ------
    KeyboardInterrupt
        If it was interrupted; a new one, which holds nothing.

    Examples
    --------
    >>> from sklearn_pate.runtime.isolation import attempt
    >>> attempt(lambda: int("4")), attempt(lambda: int("a secret"))
    ((4, None), (None, 'ValueError'))
    """
    try:
        return function(), None
    except BaseException as error:  # SystemExit and panics of Rust extensions too
        failed = type(error)
    if issubclass(failed, KeyboardInterrupt):
        raise KeyboardInterrupt
    return None, failed.__name__


def redacted(function, subject, remedy, error=ValueError):
    """Call a function of the user's that sees private values, and say no more than that it failed.

    Parameters
    ----------
    function : callable
        Without arguments.
    subject : str
        What failed: the name of its error's class follows.
    remedy : str
        What to do.
    error : type, default=ValueError
        What is raised.

    Returns
    -------
    object
        What it returned.
    """
    result, failed = attempt(function)
    if failed is None:
        return result
    raise error(
        f"{subject} {failed}, whose text is withheld, as it may quote private data. {remedy}"
    )


class PublicError(ValueError):
    """A failure whose text is ours: it holds no data."""


#: Phrases of other errors that may be told; the rest of their text may be data.
_PUBLIC = (
    "Input X contains NaN",
    "Input X contains infinity",
    "could not convert string to float",
    "Complex data not supported",
    "Sparse data was passed for X",
    "make_column_selector can only be applied to pandas dataframes",
    "Encoders require their input argument must be uniformly strings or numbers",
    "'NAType' object has no attribute",
    "Expected n_neighbors <= n_samples",
    "The least populated class in y has only",
    "The number of classes has to be greater than one",
    "Found unknown categories",
    "weights must contain at least one non-zero number",
    "argument must be a string or a real number",
    "it took longer than timeout",
    "could not be loaded with the model",
    "CUDA out of memory",  # then max_teachers=
)

#: Torch's words for rows of another dtype than the network, which mostly has float32.
_FLOATS = re.compile(
    r"\b(double|long|int)\b.*\bfloat\b|\bfloat\b.*\b(double|long|int)\b", re.IGNORECASE | re.DOTALL
)
_FLOAT32 = (
    ": networks take float32, and these rows are float64 or integers. Give X and X_public as "
    "float32: X, X_public = X.astype('float32'), X_public.astype('float32')"
)

#: What is told of a dtype by its kind: widths of numbers and texts may follow from one record.
_KINDS = {
    **dict.fromkeys("iuf", "numbers"),
    **dict.fromkeys("SUT", "text"),
    "b": "booleans",
    "O": "objects",
    "M": "dates",
}


def kind_of(dtype):
    """Describe a numpy dtype in words that give no data away.

    Parameters
    ----------
    dtype : numpy.dtype
        Of private data.

    Returns
    -------
    str
        Without widths, units and fields.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_pate.runtime.isolation import kind_of
    >>> kind_of(np.array(["b", "Lovelace"]).dtype)
    'text'
    """
    return _KINDS.get(dtype.kind, "values of another kind")


def redacted_text(error, estimator=None):
    """Return what may be told of an error that may quote private data.

    Parameters
    ----------
    error : BaseException
        Raised by a teacher, or on the way to one.
    estimator : estimator, default=None
        The teacher, unfitted. If the error is about a parameter, the estimator is asked which one:
        its answer does not depend on records.

    Returns
    -------
    str
        The name of its class, and a known phrase or the estimator's answer.
    """
    if isinstance(error, PublicError):
        return str(error)
    text, _ = attempt(lambda: str(error))  # __str__ may be the teacher's, too
    redacted_text = (
        "its text may quote records and is withheld; fit base_estimator yourself to read it"
    )
    reason = next((phrase for phrase in _PUBLIC if phrase in (text or "")), redacted_text)
    if remedy_of(error):
        reason = f"the network has other numbers than the rows{remedy_of(error)}"
    if isinstance(error, InvalidParameterError) and estimator is not None:
        reason = _wrong_parameter(estimator) or reason
    return f"{type(error).__name__}: {reason}"


def remedy_of(error):
    """Return what helps a network of torch that gets float64 and has float32; else no text.

    Parameters
    ----------
    error : BaseException
        Raised by a teacher or a student.

    Returns
    -------
    str
        With the line of code.
    """
    text, _ = attempt(lambda: str(error))
    is_about_floats = isinstance(error, RuntimeError) and _FLOATS.search(text or "") is not None
    return _FLOAT32 if is_about_floats else ""


def _wrong_parameter(estimator):
    """Return what scikit-learn says of the first parameter that it refuses, without its value."""
    for part in [estimator, *estimator.get_params(deep=True).values()]:
        try:
            BaseEstimator._validate_params(part)
        except InvalidParameterError as error:
            return str(error).partition(". Got ")[0]
        except Exception:  # no estimator
            continue
    return None
