"""Isolation of teachers from each other, and suppression of private output and messages."""

from __future__ import annotations

import contextlib
import ctypes
import io
import itertools
import logging
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from joblib import cpu_count, parallel_config
from scipy import special
from sklearn import config_context
from sklearn.base import BaseEstimator

from .._numbers import is_whole
from .._sklearn import InvalidParameterError
from .copies import copied_rows, copier, locks, params_named, seeded

if TYPE_CHECKING:
    from .._typing import Estimator, Rows


@contextlib.contextmanager
def isolated(seed: int, *, descriptors: bool = True) -> Iterator[None]:
    """Run a block without output, and restore the state of the process afterwards.

    Global generators start from the seed (see `seeded`). After the block they are restored, and so
    are error states of numpy and scipy, print options, options of scikit-learn, joblib and pandas,
    torch's defaults, warning filters, output streams, environment variables and the working
    directory. Threads take turns, because they share this state. Fits of this library that begin
    within the block are not counted.

    Parameters
    ----------
    seed : int
        Seed of the global generators, below 2**32.
    descriptors : bool, default=True
        Whether to also drop all output to the file descriptors 1 and 2: the output of compiled
        code, of child processes and of ``sys.__stdout__``, but also the output of other threads at
        the same time, such as a progress bar.

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
        # Entered after the settings, so that it ends before they are read: reading options can fail
        # under a warning filter that a teacher left
        stack.enter_context(silence())
        stack.enter_context(seeded(seed))
        yield


def applied_to_parts(
    function: Callable[..., Any],
    fitted: Estimator,
    X: Rows,
    parts: Iterable[np.ndarray],
    seed: int = 0,
) -> Iterator[tuple[np.ndarray, tuple[Any, str | None]]]:
    """Apply a fitted estimator to parts of rows, so that no part affects another.

    Parameters
    ----------
    function : callable
        Called with a copy of `fitted` and some rows; its errors may quote the rows.
    fitted : estimator
        The fitted estimator, which is copied for each call.
    X : array-like
        Private rows.
    parts : iterable of ndarray of int
        The rows of each call.
    seed : int, default=0
        Seed of the global generators in each call.

    Yields
    ------
    rows : ndarray of int
        A part.
    outcome : (object, str or None)
        The result of the function and its failure, as returned by `attempt`.
    """
    fresh = copier(fitted)
    for rows in parts:
        with isolated(seed):
            outcome = attempt(partial(_applied_to_copies, function, fresh, X, rows))
        yield rows, outcome


def _applied_to_copies(
    function: Callable[..., Any], fresh: Callable[[], Estimator], X: Rows, rows: np.ndarray
) -> Any:
    return function(fresh(), copied_rows(X, rows))


def _put_back(read: Callable[[], Any], write: Callable[[Any], Any], before: Any) -> None:
    if read() != before:
        write(before)


def _working_directory() -> str | None:
    return attempt(os.getcwd)[0]  # None if the directory was deleted


def _return_to(folder: str | None) -> None:
    if folder is not None:
        os.chdir(folder)


def _pandas_options() -> dict[str, Any]:
    """Return the options of pandas by name, faster than by `pd.get_option`.

    They are collected only if one has changed since the last call.
    """
    branches = pd.options.d
    if branches != _collected["branches"]:
        _collected.update(branches=_copied(branches), options=_by_name(branches))
    return _collected["options"]


_collected: dict[str, Any] = {"branches": None, "options": {}}


def _copied(branch: dict[str, Any]) -> dict[str, Any]:
    return {key: _copied(part) if isinstance(part, dict) else part for key, part in branch.items()}


def _by_name(branch: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    options: dict[str, Any] = {}
    for key, value in branch.items():
        if isinstance(value, dict):
            options |= _by_name(value, f"{prefix}{key}.")
        else:
            options[prefix + key] = value
    return options


def _set_pandas_options(before: Any) -> None:
    now = _pandas_options()
    for name, value in before.items():
        if now.get(name) != value:  # because setting a deprecated option would warn
            pd.set_option(name, value)


def _environment() -> dict[Any, Any]:
    """Return the environment variables as `os.environ` holds them, which are not decoded."""
    return dict(os.environ._data)  # type: ignore[attr-defined]


def _set_environment(before: Any) -> None:
    variables = {
        os.environ.decodekey(name): os.environ.decodevalue(value) for name, value in before.items()
    }
    os.environ.clear()
    os.environ.update(variables)


#: Functions that read and write the process-wide settings of torch.
_OF_TORCH = (
    ("get_default_dtype", "set_default_dtype"),
    ("is_grad_enabled", "set_grad_enabled"),
    ("get_deterministic_debug_mode", "set_deterministic_debug_mode"),
    ("is_anomaly_enabled", "set_anomaly_enabled"),
    ("get_float32_matmul_precision", "set_float32_matmul_precision"),
    ("get_num_threads", "set_num_threads"),
)


def _torch_defaults() -> list[Any] | None:
    """Return the settings of torch; None if it is not loaded."""
    torch = sys.modules.get("torch")
    return None if torch is None else [getattr(torch, read)() for read, _ in _OF_TORCH]


def _set_torch_defaults(before: Any) -> None:
    torch = sys.modules["torch"]
    if before is None:  # the block imported torch
        before = (torch.float32, True, 0, False, "highest", torch.get_num_threads())
    for (_, write), value in zip(_OF_TORCH, before, strict=True):
        getattr(torch, write)(value)


#: State that all fits of a process share: context managers that restore it, and functions that read
#: and write it.
_CONTEXTS = (np.errstate, special.errstate, np.printoptions, config_context, parallel_config)
_SETTINGS: Any = (
    (_torch_defaults, _set_torch_defaults),
    (_pandas_options, _set_pandas_options),
    (_environment, _set_environment),
    (_working_directory, _return_to),
)


# --- suppression of output, logs and warnings -----------------------------------------------------


_IS_WITHIN = ContextVar("sklearn_pate_is_within_a_fit", default=False)


def silent(estimator: Estimator) -> Estimator:
    """Set `verbose` parameters to 0, because output of compiled code bypasses Python's streams."""
    for name, value in params_named(estimator, "verbose").items():
        if value:
            estimator.set_params(**{name: 0})  # returns None for a FrozenEstimator
    return estimator


def limit_threads(estimator: Estimator, threads: int | None) -> Estimator:
    """Reduce `n_jobs` parameters of an estimator in place to the number of cores per worker.

    If `threads` is None, there is no limit. The limit is for libraries with their own threads,
    because calls of joblib are sequential in a worker.
    """
    for name, value in params_named(estimator, "n_jobs").items():
        if threads is not None and is_whole(value):
            # `effective_n_jobs` would return 1 within a task
            n_jobs = value if value > 0 else cpu_count() + 1 + value
            if n_jobs > threads:
                estimator.set_params(**{name: threads})
    return estimator


class _Nowhere(io.StringIO):
    """A text stream that discards its input."""

    def write(self, text: str) -> int:
        return len(text)


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Drop output, logs and warnings, even if a teacher's own settings enable them."""
    with contextlib.ExitStack() as stack:
        stack.callback(_disable_logs, logging.root.manager.disable)  # a teacher may change it
        # Not by `logging.disable`, which takes time for each logger, and which a teacher may undo
        for name, replacement in (("isEnabledFor", _is_enabled), ("callHandlers", _forget)):
            stack.callback(setattr, logging.Logger, name, getattr(logging.Logger, name))
            setattr(logging.Logger, name, replacement)
        stack.enter_context(warnings.catch_warnings(record=True, action="ignore"))
        stack.enter_context(contextlib.redirect_stdout(_Nowhere()))
        stack.enter_context(contextlib.redirect_stderr(_Nowhere()))
        yield


def _disable_logs(level: int) -> None:
    """Call `logging.disable`, which is slow, only if the level changes."""
    if logging.root.manager.disable != level:
        logging.disable(level)


def _is_enabled(logger: Any, level: Any) -> bool:
    """Return False: no record is made."""
    return False


def _forget(logger: Any, record: Any) -> None:
    """Discard a log record."""


#: Function that flushes the streams of compiled code, if available.
_flush_compiled: Any = None
with contextlib.suppress(AttributeError, OSError, TypeError):
    _flush_compiled = ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None).fflush


def _flush() -> None:
    """Flush buffered output before streams are redirected."""
    streams: tuple[Any, ...] = (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__)
    for stream in streams:
        with contextlib.suppress(Exception):  # for a missing or closed stream
            stream.flush()
    if _flush_compiled is not None:
        _flush_compiled(None)


@contextlib.contextmanager
def silence_below() -> Iterator[None]:
    """Drop all output to the file descriptors 1 and 2."""
    _flush()
    with contextlib.ExitStack() as stack:
        nowhere = 0
        while nowhere < 3:  # closed standard descriptors are reused first
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
    """Suppress output, warnings and logs of teachers, which may contain private data.

    Output streams, warning filters and logging are global, and teachers may run in threads. So the
    first thread that enters turns them off, and the last thread that exits restores them.
    `isolated` turns them off again, because a teacher may turn them on.
    """

    _depth = 0
    _silence: Any = None

    def __enter__(self) -> None:
        with locks["quiet"]:
            if suppress_output._depth == 0:
                _flush()  # before `isolated` redirects descriptors
                suppress_output._silence = silence()
                suppress_output._silence.__enter__()
            suppress_output._depth += 1

    def __exit__(self, *exc_info: Any) -> None:
        with locks["quiet"]:
            suppress_output._depth -= 1
            if suppress_output._depth == 0:
                suppress_output._silence.__exit__(None, None, None)


# --- fits within other fits, which are not counted because their number may be private -----------


@contextlib.contextmanager
def uncounted() -> Iterator[None]:
    """Count the fits of a block as part of the enclosing fit.

    A teacher is not fitted if all of its records have the same label. So the number of fits that
    teachers begin depends on the records. If these fits were counted, the number of the next fit of
    this process would reveal it.

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


def next_fit_number() -> int:
    """Count one more fit of this process, and return its number.

    The number depends on calls and not on data, because a count of fits on the same records would
    reveal whether the records changed. A fit is counted when it begins, because a failure may be
    private. Fits within a fit (of teachers, or of the trials of a private search) are not counted,
    because their number may also be private. Each worker process has its own count.

    Returns
    -------
    int
        Number of the fit: 1 for the first fit, and for any fit within another.

    Examples
    --------
    >>> from sklearn_pate.runtime.isolation import next_fit_number
    >>> next_fit_number() < next_fit_number()
    True
    """
    return 1 if _IS_WITHIN.get() else next(_numbers)


# --- public descriptions of errors, and of the types of private data ------------------------------


def is_ours(part: Any) -> bool:
    """Return whether a class is of this library, so that its messages quote no private values."""
    return type(part).__module__.partition(".")[0] == __package__.partition(".")[0]


def attempt(function: Callable[[], Any]) -> tuple[Any, str | None]:
    """Call a function, and return its result or the class name of its error.

    The text of the error is dropped, because it may quote private values. Callers raise their error
    after the call: an error that is raised within `except` keeps the caught error in its
    `__context__`.

    Parameters
    ----------
    function : callable
        A function without arguments.

    Returns
    -------
    result : object
        The result of the function; None if it failed.
    failed : str or None
        The class name of its error, of any kind; None if it did not fail.

    Raises
    ------
    KeyboardInterrupt
        If the function was interrupted. It is a new error, without private values.

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


def redacted(
    function: Callable[[], Any], subject: str, remedy: str, error: type[Exception] = ValueError
) -> Any:
    """Call a user's function on private values, and redact the text of its error.

    Parameters
    ----------
    function : callable
        A function without arguments.
    subject : str
        Subject of the message, followed by the class name of the error.
    remedy : str
        Remedy in the message.
    error : type, default=ValueError
        Type of the raised error.

    Returns
    -------
    object
        The result of the function.

    Raises
    ------
    Exception
        An error of the type `error`, if the function fails.
    """
    result, failed = attempt(function)
    if failed is None:
        return result
    raise error(
        f"{subject} {failed}, whose text is redacted, as it may quote private data. {remedy}"
    )


class PublicError(ValueError):
    """Error whose message was written by this library and contains no private data."""


#: Phrases of other errors that may be published; the rest of their text may contain data.
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

#: Torch's message about rows with another dtype than the network; most networks have float32.
_FLOATS = re.compile(
    r"\b(double|long|int)\b.*\bfloat\b|\bfloat\b.*\b(double|long|int)\b", re.IGNORECASE | re.DOTALL
)
_FLOAT32 = (
    ": networks require float32, but these rows are float64 or integers. Convert X and X_public to "
    "float32: X, X_public = X.astype('float32'), X_public.astype('float32')"
)

#: Public description of a dtype by its kind: widths of numbers and text may depend on one record.
_KINDS = {
    **dict.fromkeys("iuf", "numbers"),
    **dict.fromkeys("SUT", "text"),
    "b": "booleans",
    "O": "objects",
    "M": "dates",
}


def kind_of(dtype: Any) -> str:
    """Describe a numpy dtype without revealing data.

    Parameters
    ----------
    dtype : numpy.dtype
        Dtype of private data.

    Returns
    -------
    str
        Description without widths, units and fields.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_pate.runtime.isolation import kind_of
    >>> kind_of(np.array(["b", "Lovelace"]).dtype)
    'text'
    """
    return _KINDS.get(dtype.kind, "values of another kind")


def redacted_text(error: BaseException, estimator: Estimator = None) -> str:
    """Return a public description of an error that may quote private data.

    Parameters
    ----------
    error : BaseException
        Error of a teacher, or of its preparation.
    estimator : estimator, default=None
        The unfitted teacher. If the error is about a parameter, the parameters of the estimator are
        validated again to find the parameter; this does not depend on records.

    Returns
    -------
    str
        The class name of the error, and a known phrase or a message about the wrong parameter; for
        a `PublicError`, its message.
    """
    if isinstance(error, PublicError):
        return str(error)
    text, _ = attempt(lambda: str(error))  # __str__ may be the teacher's own
    redacted_text = (
        "its text may quote records and is redacted; fit base_estimator yourself to read it"
    )
    reason = next((phrase for phrase in _PUBLIC if phrase in (text or "")), redacted_text)
    if remedy_of(error):
        reason = f"the network and the rows have different dtypes{remedy_of(error)}"
    if isinstance(error, InvalidParameterError) and estimator is not None:
        reason = _wrong_parameter(estimator) or reason
    return f"{type(error).__name__}: {reason}"


def remedy_of(error: BaseException) -> str:
    """Return the remedy for an error of a torch network about dtypes.

    Parameters
    ----------
    error : BaseException
        Error of a teacher or a student.

    Returns
    -------
    str
        The remedy with a line of code; "" if the error has another reason.
    """
    text, _ = attempt(lambda: str(error))
    is_about_floats = isinstance(error, RuntimeError) and _FLOATS.search(text or "") is not None
    return _FLOAT32 if is_about_floats else ""


def _wrong_parameter(estimator: Estimator) -> str | None:
    """Return scikit-learn's message about the first invalid parameter, without its value."""
    for part in [estimator, *estimator.get_params(deep=True).values()]:
        try:
            BaseEstimator._validate_params(part)
        except InvalidParameterError as error:
            return str(error).partition(". Got ")[0]
        except Exception:  # not an estimator
            continue
    return None
