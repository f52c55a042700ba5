"""Kept teachers on their way, from a worker or to and from memory."""

import pickle
from functools import partial

import cloudpickle

from ..isolation import TellableError, attempt, isolated

#: What to do where teachers do not pickle.
ADVICE = (
    "With keep_teachers=True, and for teachers that define their own pickling, everything in them "
    "must pickle and be importable: define it in a module, or use n_jobs=1 and memory=None"
)


def pickled(fitted):
    """Return a kept teacher as bytes; to be called in isolation, which that of joblib would not be.

    If joblib is what cannot pickle it, joblib stops all workers, even while they send something:
    those of multiprocessing may then wait for each other for ever.
    """
    content, failed = attempt(partial(cloudpickle.dumps, fitted))
    if failed is not None:  # raised: memory keeps no such result
        raise TellableError(_not_moved(failed))
    return content


def received(fitted):
    """Return the fitted teacher of a `Result`, and what to say if it did not arrive."""
    if not isinstance(fitted, bytes):
        return fitted, None
    with isolated(0):
        teacher, failed = attempt(partial(pickle.loads, fitted))
    return teacher, None if failed is None else _not_moved(failed)


def _not_moved(failed):
    return f"it could not be sent back by a worker process, or kept in memory ({failed}). {ADVICE}"
