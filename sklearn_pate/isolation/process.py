"""What else all fits of a process share, put back after each."""

import contextlib
import decimal
import gc
import locale
import logging
import os
import sys
import time
import warnings

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


def _names_of_options(branch=pd.options, prefix=""):
    """Names of pandas' options, but for deprecated ones, which warn when they are read."""
    for name in dir(branch):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                value = getattr(branch, name)
        except Warning:
            continue
        if isinstance(value, type(pd.options)):
            yield from _names_of_options(value, f"{prefix}{name}.")
        else:
            yield prefix + name


_PANDAS_OPTIONS = tuple(_names_of_options())


def _pandas_options():
    return [pd.get_option(name) for name in _PANDAS_OPTIONS]


def _set_pandas_options(before):
    for name, value in zip(_PANDAS_OPTIONS, before, strict=True):
        pd.set_option(name, value)


def _loggers():
    """Settings of the root logger and of all that were asked for, by name."""
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
        settings = before.get(name, (logging.NOTSET, True, False, (), ()))
        logger.level, logger.propagate, logger.disabled, handlers, filters = settings
        logger.handlers = list(handlers)
        logger.filters = list(filters)
    logging.root.setLevel(before[""][0])  # clears what loggers remember of levels


def _torch_defaults():
    torch = sys.modules.get("torch")
    if torch is None:
        return None
    return (
        torch.get_default_dtype(),
        torch.is_grad_enabled(),
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
        torch.get_num_threads(),
    )


def _set_torch_defaults(before):
    torch = sys.modules["torch"]
    if before is None:  # imported meanwhile: what it starts with
        before = torch.float32, True, False, False, None
    dtype, grad, deterministic, warn_only, threads = before
    torch.set_default_dtype(dtype)
    torch.set_grad_enabled(grad)
    torch.use_deterministic_algorithms(deterministic, warn_only=warn_only)
    if threads is not None:
        torch.set_num_threads(threads)


#: Context managers, each of which puts back one thing that all fits of a process share.
PROCESS_WIDE = (
    np.errstate,
    special.errstate,
    np.printoptions,
    decimal.localcontext,
    config_context,
    parallel_config,
    lambda: _restored(_pandas_options, _set_pandas_options),
    lambda: _restored(_torch_defaults, _set_torch_defaults),
    lambda: _restored(_loggers, _set_loggers),
    lambda: _restored(sys.getrecursionlimit, sys.setrecursionlimit),
    lambda: _restored(gc.isenabled, _set_collecting),
    lambda: _restored(lambda: dict(os.environ), _set_environment),
    lambda: _restored(_working_directory, _return_to),
    lambda: _restored(
        lambda: locale.setlocale(locale.LC_ALL),
        lambda name: locale.setlocale(locale.LC_ALL, name),
    ),
)
