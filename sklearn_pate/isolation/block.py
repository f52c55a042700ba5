"""A block in which one teacher is kept from the next."""

import contextlib
import gc
import sys

from .generators import seeded, turn
from .process import PROCESS_WIDE
from .silence import Quiet, silence, silence_below
from .uncounted import uncounted

__all__ = ["isolated"]


@contextlib.contextmanager
def isolated(seed, *, descriptors=True):
    """Run a teacher in silence, and leave the process as it was.

    Global generators start from the seed (see `seeded`). Afterwards they are put back, and so are
    error states of numpy and scipy, print options, decimal contexts, options of scikit-learn,
    joblib and pandas, torch's defaults, loggers, warning filters, output streams, environment
    variables, the time zone, the working directory, the locale, hooks of Python, its import path,
    recursion limit and garbage collection. What the block made and nothing uses any more is
    collected before that. All of this belongs to the process, so threads take turns. Fits of this
    library that are begun meanwhile are not counted.

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
        for restored in PROCESS_WIDE:
            stack.enter_context(restored())
        if descriptors:
            stack.enter_context(silence_below())
        # After the settings, so that it ends before they are read: under a warning filter that a
        # teacher left, reading options can fail
        stack.enter_context(silence())
        stack.enter_context(seeded(seed))
        stack.enter_context(_collected())
        yield


@contextlib.contextmanager
def _collected():
    """Collect the cycles that the block leaves behind: their `__del__` may do anything."""
    is_ours = gc.get_freeze_count() == 0
    if is_ours:
        gc.freeze()  # what is older is not looked at, which takes long
    try:
        yield
    finally:
        # A full collection lets Python think that few objects are old, and soon look at all again
        has_old = bool(gc.get_objects(generation=2))  # the objects themselves would stay
        is_full = has_old or not is_ours or sys.version_info >= (3, 14)
        gc.collect(2 if is_full else 1)
        if is_ours:
            gc.unfreeze()
