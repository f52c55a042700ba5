"""A block in which one teacher is kept from the next: what a process has one of is put back."""

import contextlib
import os
import sys
from functools import partial

import numpy as np
import pandas as pd
from joblib import parallel_config
from scipy import special
from sklearn import config_context

from .copies import copier, own_rows
from .generators import seeded, turn
from .redaction import attempt
from .silence import Quiet, silence, silence_below, uncounted


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
    >>> from sklearn_pate.isolation import isolated
    >>> before = np.random.get_state()[2]
    >>> with isolated(3):
    ...     first = np.random.random(100)
    >>> with isolated(3):
    ...     again = np.random.random(100)
    >>> bool((first == again).all()), np.random.get_state()[2] == before
    (True, True)
    """
    with turn(), Quiet(), uncounted(), contextlib.ExitStack() as stack:
        for restored in _PROCESS_WIDE:
            stack.enter_context(restored())
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
            outcome = attempt(lambda part=rows: function(fresh(), own_rows(X, part)))
        yield rows, outcome


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


#: Context managers, each of which puts back one thing that all fits of a process share.
_PROCESS_WIDE = (
    np.errstate,
    special.errstate,
    np.printoptions,
    config_context,
    parallel_config,
    partial(_restored, _torch_defaults, _set_torch_defaults),
    partial(_restored, _pandas_options, _set_pandas_options),
    partial(_restored, partial(dict, os.environ), _set_environment),
    partial(_restored, _working_directory, _return_to),
)
