"""Copies that share no generator with their original, and rows that tell of no others."""

import contextlib
import copy
import io
import pickle
import random
from functools import partial
from typing import NamedTuple

import cloudpickle
import pandas as pd
from sklearn.base import clone

from .generators import NUMPY_GENERATORS, another, fresh_seed, global_generators

__all__ = [
    "copied_data",
    "copies",
    "own_clone",
    "own_copy",
    "own_generators",
    "own_index",
    "own_rows",
    "unfitted",
]


def own_copy(value, seed, *, functions=False):
    """Return a deep copy in which every generator is replaced by a new, seeded one.

    It is pickled and loaded, because `copy.deepcopy` shares functions, with what they refer to.
    Classes, and functions of imported modules, stay shared.

    Parameters
    ----------
    value : object
        An estimator, or anything that it may hold.
    seed : int
        What the seeds of the new generators follow from.
    functions : bool, default=False
        Whether functions of the main program are copied as well. The copies cannot be pickled by
        name afterwards.

    Returns
    -------
    object
        The copy; what can be copied in no way is returned as it is.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_pate.isolation import own_copy
    >>> given = {"rng": np.random.RandomState(0), "rows": [[1, 2]]}
    >>> own = own_copy(given, seed=5)
    >>> own["rng"] is given["rng"], own["rows"] is given["rows"], own["rows"]
    (False, False, [[1, 2]])
    """
    seeds = random.Random(seed)
    for kind in (_CloudPickler,) if functions else (_Pickler, _CloudPickler):
        try:
            return kind(lambda obj: another(obj, seeds)).pickled(value).load()
        except Exception:  # an error of any kind says that it cannot be copied in this way
            continue
    try:
        return copy.deepcopy(value)
    except Exception:
        return value


def own_clone(estimator, seed, *, functions=False):
    """Return a clone, copied deeply: a frozen estimator, for instance, clones to itself.

    Parameters
    ----------
    estimator, seed, functions
        As in `own_copy`.

    Returns
    -------
    estimator
        Unfitted, but for frozen ones within.
    """
    cloned = clone(estimator)
    if cloned is not estimator:
        _without_callbacks(cloned)
    return _without_callbacks(own_copy(cloned, seed, functions=functions))


def _without_callbacks(estimator):
    """Drop scikit-learn's callbacks, in place: they get the records, and are shared by clones."""
    parts = [estimator]
    if hasattr(estimator, "get_params"):
        parts += estimator.get_params(deep=True).values()
    for part in parts:
        if hasattr(part, "get_params") and not isinstance(part, type):
            getattr(part, "__dict__", {}).pop("_skl_callbacks", None)
    return estimator


def copied_data(data):
    """Return a copy of data, with the objects in the cells of a DataFrame.

    Parameters
    ----------
    data : object
        Arrays, DataFrames, or a tuple of such.

    Returns
    -------
    object
        What does not pickle is copied by `copy.deepcopy`, which shares those objects.
    """
    try:
        # from protocol 5 on, copies of read-only arrays are read-only
        return pickle.loads(pickle.dumps(data, protocol=4))
    except Exception:
        return copy.deepcopy(data)


def own_rows(X, rows, select):
    """Select rows of private data, so that they tell of no others.

    Parameters
    ----------
    X : array-like
        All rows.
    rows : ndarray of int
        Which to select.
    select : callable
        ``select(X, rows)``.

    Returns
    -------
    array-like
        With an index as of `own_index`. Positions, which shift when another record leaves, are
        counted anew.
    """
    part = select(X, rows)
    if isinstance(getattr(X, "index", None), pd.RangeIndex):
        part = part.reset_index(drop=True)
    return own_index(part)


def own_index(rows):
    """Give a DataFrame an index made of its own identifiers, and no `attrs`.

    Levels, categories and dtype of an index that was cut from a larger one tell of the others, and
    so may what is noted of them all. Whole floats become ints, dates get one unit: one record makes
    floats of all ints, and one date may decide the unit of all.

    Parameters
    ----------
    rows : object
        Other than a pandas DataFrame, it is returned as it is.

    Returns
    -------
    object
        The same rows.
    """
    if not isinstance(rows, pd.DataFrame):
        return rows
    names = list(rows.index.names)
    if isinstance(rows.index, pd.MultiIndex):
        alone = [tuple(_by_itself(part) for part in name) for name in rows.index]
        own = pd.MultiIndex.from_tuples(alone, names=names)
    else:
        own = pd.Index([_by_itself(name) for name in rows.index], name=names[0])
    rows = rows.set_axis(own)
    rows.attrs = {}
    return rows


def _by_itself(name):
    """Return an identifier as it would be in an index of its own."""
    if isinstance(name, float) and name.is_integer():
        return int(name)
    if isinstance(name, pd.Timestamp | pd.Timedelta):
        with contextlib.suppress(pd.errors.OutOfBoundsDatetime, pd.errors.OutOfBoundsTimedelta):
            return name.as_unit("ns")
    return name


def unfitted(value):
    """Return a parameter as it may leave: estimators as before they were fitted.

    The state of a generator tells of what was drawn from it, so there is a new one in its place; a
    `random_state` that is a generator becomes None.

    Parameters
    ----------
    value : object
        An estimator, or a list, tuple or dict that may hold some; anything else is copied.

    Returns
    -------
    object
        The copy.
    """
    if isinstance(value, dict):
        return {name: unfitted(part) for name, part in value.items()}
    if type(value) in (list, tuple):
        return type(value)(unfitted(part) for part in value)
    copied = clone(value, safe=False)
    if hasattr(copied, "get_params") and not isinstance(copied, type):
        params = copied.get_params(deep=True)
        generators = [name for name in params if isinstance(params[name], NUMPY_GENERATORS)]
        if generators:
            copied.set_params(**dict.fromkeys(generators))
    return own_copy(copied, fresh_seed())


def own_generators(value):
    """Return the object or, if it holds a global generator, a copy that holds new ones instead.

    A `RandomState` that an estimator stored may be numpy's global one. Whoever reads its state
    from a pickle can run it backwards, through all that was drawn from it in that process.

    Parameters
    ----------
    value : object
        What is to leave the process.

    Returns
    -------
    object
        New generators are seeded by the operating system.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.utils import check_random_state
    >>> from sklearn_pate.isolation import own_generators
    >>> shared = {"rng": check_random_state(None), "other": np.random.RandomState(0)}
    >>> own = own_generators(shared)
    >>> own["rng"] is shared["rng"], own["rng"].random() == shared["rng"].random()
    (False, False)
    """
    seeds = random.Random(fresh_seed())
    shared = global_generators()

    def replacement(obj):
        is_shared = any(obj is generator for generator in shared)
        return another(obj, seeds) if is_shared else None

    for kind in (_Pickler, _CloudPickler):
        pickler = kind(replacement)
        try:
            pickled = pickler.pickled(value)
            return pickled.load() if pickler.found else value
        except Exception:  # an error of any kind says that it does not pickle
            continue
    try:
        known = {id(generator): own_copy(generator, fresh_seed()) for generator in shared}
        return copy.deepcopy(value, known)
    except Exception:  # neither pickled nor copied: it cannot leave in a file
        return value


def copies(value):
    """Return a function that makes copies, each as `value` is now.

    Parameters
    ----------
    value : object
        A fitted estimator.

    Returns
    -------
    callable
        Without arguments; it raises if the value cannot be copied.
    """
    try:
        pickled = _CloudPickler(lambda obj: None).pickled(value)
        pickled.load()
    except Exception:
        return partial(copy.deepcopy, value)
    return pickled.load


class _Pickled(NamedTuple):
    """A pickle for this process alone: it refers to classes, which are not in it."""

    content: bytes
    classes: list

    def load(self):
        unpickler = _Unpickler(io.BytesIO(self.content))
        unpickler.classes = self.classes
        return unpickler.load()


class _Unpickler(pickle.Unpickler):
    """Finds the classes that a `_Pickled` refers to."""

    def persistent_load(self, number):
        return self.classes[number]


class _Replaces:
    """A pickler that replaces some objects by what a function returns for them."""

    def __init__(self, replacement):
        self.file = io.BytesIO()
        super().__init__(self.file)
        self.replacement = replacement
        self.found = False
        self.classes = []

    def pickled(self, value):
        self.dump(value)
        return _Pickled(self.file.getvalue(), self.classes)

    def persistent_id(self, obj):
        # Copies of a class of the main program would not be instances of it
        if not isinstance(obj, type):
            return None
        self.classes.append(obj)
        return len(self.classes) - 1

    def reducer_override(self, obj):
        new = self.replacement(obj)
        if new is not None:
            self.found = True
            return new
        inherited = getattr(super(), "reducer_override", None)
        return NotImplemented if inherited is None else inherited(obj)


class _Pickler(_Replaces, pickle.Pickler):
    """Pickles functions by name."""


class _CloudPickler(_Replaces, cloudpickle.Pickler):
    """Pickles lambdas and functions of the main program with what they refer to."""
