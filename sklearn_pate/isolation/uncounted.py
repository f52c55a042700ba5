"""Fits within other fits: how many there are may be private, so nothing counts them."""

import contextlib
from contextvars import ContextVar

_IS_WITHIN = ContextVar("sklearn_pate_is_within_a_fit", default=False)


@contextlib.contextmanager
def uncounted():
    """Let the fits of a block be part of the one that it belongs to.

    A teacher whose records have one label is not fitted, so the number of fits that teachers begin
    depends on records, and the number of the next fit of this process would show it.

    Examples
    --------
    >>> from sklearn_pate.isolation import is_uncounted, uncounted
    >>> with uncounted():
    ...     is_uncounted()
    True
    >>> is_uncounted()
    False
    """
    token = _IS_WITHIN.set(True)
    try:
        yield
    finally:
        _IS_WITHIN.reset(token)


def is_uncounted():
    """Return whether this is a block of `uncounted`.

    Returns
    -------
    bool
    """
    return _IS_WITHIN.get()
