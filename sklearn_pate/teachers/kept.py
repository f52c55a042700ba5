"""Kept teachers on their way, from a worker or to and from memory."""

import io
import pickle
import sys
import types
from functools import partial
from operator import attrgetter
from typing import NamedTuple

import cloudpickle

from ..isolation import attempt, isolated


class Pickled(NamedTuple):
    """A fitted teacher on its way from a worker or into memory, or the error that keeps it there.

    Its own code for this runs in isolation, which that of joblib would not. And if joblib is what
    cannot pickle it, joblib stops all workers, even while they send something: those of
    multiprocessing may then wait for each other for ever.

    Attributes
    ----------
    content : bytes or None
        The teacher.
    failed : str or None
        The name of the error.
    """

    content: bytes | None
    failed: str | None = None


class NotPickledError(Exception):
    """A kept teacher does not pickle: memory keeps no such result."""

    def __init__(self, failed):
        super().__init__(failed)
        self.failed = failed


class _ByName:
    """Pickles what the script defines by its name.

    By value, cloudpickle would put what a worker made of it into the classes of the script.
    """

    def persistent_id(self, obj):
        is_of_script = (
            isinstance(obj, type | types.FunctionType)
            and obj.__module__ == "__main__"
            and "<" not in obj.__qualname__  # a lambda, or within a function
        )
        return obj.__qualname__ if is_of_script else None


class _Pickler(_ByName, pickle.Pickler):
    pass


class _CloudPickler(_ByName, cloudpickle.Pickler):
    pass


class _Unpickler(pickle.Unpickler):
    def persistent_load(self, name):
        return attrgetter(name)(sys.modules["__main__"])


def pickled(fitted):
    """Return a kept teacher as `Pickled`; to be called in isolation."""
    content, failed = attempt(partial(_dumped, fitted, _Pickler))
    if failed is not None:  # by value, where there is no name
        content, failed = attempt(partial(_dumped, fitted, _CloudPickler))
    if failed is not None:
        raise NotPickledError(failed)
    return Pickled(content)


def _dumped(fitted, pickler):
    with io.BytesIO() as file:
        pickler(file).dump(fitted)
        return file.getvalue()


def _loads(content):
    return _Unpickler(io.BytesIO(content)).load()


def received(fitted):
    """Return the fitted teacher of a `Result`, and the name of the error if it did not arrive."""
    if not isinstance(fitted, Pickled):
        return fitted, None
    if fitted.failed is not None:
        return None, fitted.failed
    with isolated(0):
        return attempt(partial(_loads, fitted.content))
