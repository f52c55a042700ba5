"""The settings that all fits of a process share: they are put back after each."""

import contextlib
import decimal
import gc
import locale
import logging
import os
import sys
import time
import warnings
from functools import partial, reduce
from operator import getitem
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from joblib import parallel_config
from scipy import special
from sklearn import config_context

__all__ = [
    "PROCESS_WIDE",
]


@contextlib.contextmanager
def _restored(read, write):
    """Put back what `read` returns, if the block changed it."""
    before = read()
    try:
        yield
    finally:
        if read() != before:
            write(before)


def _working_directory():
    try:
        return os.getcwd()
    except OSError:  # it was deleted
        return None


def _return_to(folder):
    if folder is not None:
        os.chdir(folder)


def _environment():
    return dict(os.environ), time.tzname


def _set_environment(before):
    variables, _ = before
    os.environ.clear()
    os.environ.update(variables)
    if hasattr(time, "tzset"):
        time.tzset()


def _collecting():
    return gc.isenabled(), gc.get_threshold()


def _set_collecting(before):
    is_enabled, threshold = before
    gc.set_threshold(*threshold)
    if is_enabled:
        gc.enable()
    else:
        gc.disable()


def _import_path():
    return list(sys.path)


def _set_import_path(before):
    sys.path[:] = before


class _Hooks(NamedTuple):
    """What Python calls, and what of it may be replaced."""

    excepthook: Any
    unraisablehook: Any
    formatwarning: Any
    raise_exceptions: bool
    record_factory: Any
    logger_class: Any
    captured_warnings: Any


def _hooks():
    return _Hooks(
        sys.excepthook,
        sys.unraisablehook,
        warnings.formatwarning,
        logging.raiseExceptions,
        logging.getLogRecordFactory(),
        logging.getLoggerClass(),
        logging._warnings_showwarning,  # type: ignore[attr-defined]  # of captureWarnings
    )


def _set_hooks(before):
    sys.excepthook = before.excepthook
    sys.unraisablehook = before.unraisablehook
    warnings.formatwarning = before.formatwarning
    logging.raiseExceptions = before.raise_exceptions
    logging.setLogRecordFactory(before.record_factory)
    logging.setLoggerClass(before.logger_class)
    logging._warnings_showwarning = before.captured_warnings  # type: ignore[attr-defined]


def _pandas_options():
    """Return pandas' options as nested dicts; `pd.get_option` for each would take long."""
    return _copied(pd.options.d)


def _copied(branch):
    return {
        name: _copied(value) if isinstance(value, dict) else value for name, value in branch.items()
    }


def _set_pandas_options(before):
    now = _pandas_options()
    for name in _names(pd.options.d):
        value = _option(before, name)
        if _option(now, name) != value:  # setting a deprecated one would warn
            pd.set_option(name, value)


def _names(branch, prefix=""):
    """Yield the names of the options in a branch."""
    for key, value in branch.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict) and not _is_option(name, value):
            yield from _names(value, f"{name}.")
        else:
            yield name


def _is_option(name, value):
    """Whether a dict is the value of an option, not a branch with options in it."""
    try:
        return pd.get_option(name) is value
    except KeyError:  # none, or several have names that begin so
        return False


def _option(branch, name):
    """Return one of nested options; one that did not exist is as it is now."""
    try:
        return reduce(getitem, name.split("."), branch)
    except KeyError:
        return pd.get_option(name)


class _LoggerSettings(NamedTuple):
    """What a logger is set to; the defaults are those of a new one."""

    level: int = logging.NOTSET
    propagate: bool = True
    disabled: bool = False
    handlers: tuple = ()
    filters: tuple = ()


def _loggers():
    """Return what `_LoggerSettings` holds of all loggers, by name; the root logger's is empty."""
    known = {"": logging.root, **logging.root.manager.loggerDict}
    return {
        name: (
            logger.level,
            logger.propagate,
            logger.disabled,
            tuple((handler, handler.level) for handler in logger.handlers),
            tuple(logger.filters),
        )
        for name, logger in known.items()
        if isinstance(logger, logging.Logger)
    }


def _set_loggers(before):
    for name in _loggers():
        logger = logging.getLogger(name)
        settings = _LoggerSettings(*before.get(name, ()))
        logger.level = settings.level
        logger.propagate = settings.propagate
        logger.disabled = settings.disabled
        logger.handlers = [handler for handler, _ in settings.handlers]
        for handler, level in settings.handlers:
            handler.level = level
        logger.filters = list(settings.filters)
    root_level, *_ = before[""]
    logging.root.setLevel(root_level)  # also clears the levels that loggers cache


class _TorchDefaults(NamedTuple):
    """Settings of torch that belong to the whole process."""

    dtype: Any
    grad: bool
    deterministic: bool
    warn_only: bool
    anomaly: bool
    precision: str
    threads: int | None


def _torch_defaults():
    torch = sys.modules.get("torch")
    if torch is None:
        return None
    return _TorchDefaults(
        torch.get_default_dtype(),
        torch.is_grad_enabled(),
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
        torch.is_anomaly_enabled(),
        torch.get_float32_matmul_precision(),
        torch.get_num_threads(),
    )


def _set_torch_defaults(before):
    torch = sys.modules["torch"]
    if before is None:  # the block imported torch: these are what it starts with
        before = _TorchDefaults(torch.float32, True, False, False, False, "highest", None)
    torch.set_default_dtype(before.dtype)
    torch.set_grad_enabled(before.grad)
    torch.use_deterministic_algorithms(before.deterministic, warn_only=before.warn_only)
    torch.autograd.set_detect_anomaly(before.anomaly)
    torch.set_float32_matmul_precision(before.precision)
    if before.threads is not None:
        torch.set_num_threads(before.threads)


def _locale():
    return locale.setlocale(locale.LC_ALL)


def _set_locale(name):
    locale.setlocale(locale.LC_ALL, name)


#: Context managers, each of which puts back one thing that all fits of a process share.
PROCESS_WIDE = (
    np.errstate,
    special.errstate,
    np.printoptions,
    decimal.localcontext,
    config_context,
    parallel_config,
    partial(_restored, _pandas_options, _set_pandas_options),
    partial(_restored, _torch_defaults, _set_torch_defaults),
    partial(_restored, _loggers, _set_loggers),
    partial(_restored, sys.getrecursionlimit, sys.setrecursionlimit),
    partial(_restored, _collecting, _set_collecting),
    partial(_restored, _import_path, _set_import_path),
    partial(_restored, _hooks, _set_hooks),
    partial(_restored, _environment, _set_environment),
    partial(_restored, _working_directory, _return_to),
    partial(_restored, _locale, _set_locale),
)
