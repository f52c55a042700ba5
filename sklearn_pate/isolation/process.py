"""The settings that all fits of a process share: they are put back after each."""

import contextlib
import decimal
import gc
import locale
import logging
import os
import sys
import time
from functools import partial
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


def _set_environment(variables):
    os.environ.clear()
    os.environ.update(variables)
    if hasattr(time, "tzset"):
        time.tzset()


def _set_collecting(enabled):
    if enabled:
        gc.enable()
    else:
        gc.disable()


def _pandas_options():
    """Return pandas' options as nested dicts; `pd.get_option` for each would take long."""
    return _copied(pd.options.d)


def _copied(branch):
    return {
        name: _copied(value) if isinstance(value, dict) else value for name, value in branch.items()
    }


def _named(branch, prefix=""):
    """Yield the names and values of nested options."""
    for name, value in branch.items():
        if isinstance(value, dict):
            yield from _named(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _set_pandas_options(before):
    now = dict(_named(_pandas_options()))
    for name, value in _named(before):
        if now.get(name) != value:  # setting a deprecated one would warn
            pd.set_option(name, value)


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
            tuple(logger.handlers),
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
        logger.handlers = list(settings.handlers)
        logger.filters = list(settings.filters)
    level, *_ = before[""]
    logging.root.setLevel(level)  # also clears the levels that loggers cache


class _TorchDefaults(NamedTuple):
    """Settings of torch that belong to the whole process."""

    dtype: Any
    grad: bool
    deterministic: bool
    warn_only: bool
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
        torch.get_num_threads(),
    )


def _set_torch_defaults(before):
    torch = sys.modules["torch"]
    if before is None:  # the block imported torch: these are what it starts with
        before = _TorchDefaults(torch.float32, True, False, False, None)
    torch.set_default_dtype(before.dtype)
    torch.set_grad_enabled(before.grad)
    torch.use_deterministic_algorithms(before.deterministic, warn_only=before.warn_only)
    if before.threads is not None:
        torch.set_num_threads(before.threads)


def _locale():
    return locale.setlocale(locale.LC_ALL)


def _set_locale(name):
    locale.setlocale(locale.LC_ALL, name)


def _environment():
    return dict(os.environ)


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
    partial(_restored, gc.isenabled, _set_collecting),
    partial(_restored, _environment, _set_environment),
    partial(_restored, _working_directory, _return_to),
    partial(_restored, _locale, _set_locale),
)
