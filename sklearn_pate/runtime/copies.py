"""Generators of random numbers, and copies that share none with the original."""

import contextlib
import copy
import io
import os
import pickle
import random
import sys
import threading
from functools import partial

import cloudpickle
import numpy as np
import pandas as pd
from joblib import parallel_config
from sklearn.base import clone
from sklearn.utils import check_random_state

from .._sklearn import _safe_indexing

#: What a `random_state` may be instead of a number.
NUMPY_GENERATORS = (np.random.RandomState, np.random.Generator, np.random.BitGenerator)

#: "turn" is held while the generators of the process are swapped, "quiet" as it is silenced.
locks: dict = {}


def _make_locks():
    """Make the locks; in a forked process too, as threads that held the old ones are not in it."""
    locks.update(turn=threading.RLock(), quiet=threading.Lock())


_make_locks()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_make_locks)


def seed_number(sequence):
    """Return a seed of 32 bits that follows from a `numpy.random.SeedSequence`."""
    return int(sequence.generate_state(1)[0])


@contextlib.contextmanager
def seeded(seed):
    """Seed the global generators of numpy, Python, torch and polars for a block; put them back.

    Torch's are those of the CPU and of CUDA, if torch is loaded. The state of polars' cannot be
    read: afterwards it starts from a fresh seed. Threads take turns. What the block runs with
    joblib runs one after the other in this process: workers would not be seeded.

    Parameters
    ----------
    seed : int
        Below 2**32.
    """
    with locks["turn"], contextlib.ExitStack() as stack:
        stack.callback(random.setstate, random.getstate())
        random.seed(seed)
        own = _spare.pop() if _spare else np.random.MT19937()
        stack.callback(_spare.append, own)
        # Normal numbers are drawn in pairs: this holds the second of a pair too, which the
        # generator does not
        stack.callback(np.random.set_state, np.random.get_state(legacy=False))
        stack.callback(np.random.set_bit_generator, np.random.get_bit_generator())
        np.random.set_bit_generator(own)
        np.random.seed(seed)
        torch, polars = sys.modules.get("torch"), sys.modules.get("polars")
        stack.callback(_seed_afresh, had_torch=torch is not None)
        if torch is not None:
            _seed_torch(torch, seed, stack)
        if polars is not None:
            polars.set_random_seed(seed)
        stack.enter_context(parallel_config(backend="sequential"))
        yield


#: Generators of numpy that no block uses: seeding one is fast, and making one is not.
_spare = []  # type: ignore[var-annotated]


def _seed_torch(torch, seed, stack):
    """Seed torch's generators, and leave it to a stack to put them back."""
    has_gpu = torch.cuda.is_available() or torch.backends.mps.is_available()
    had_gpu = torch.cuda.is_initialized()
    if has_gpu:
        stack.callback(_leave_gpu, torch, had_gpu)
    on_gpu = range(torch.cuda.device_count()) if had_gpu else ()
    stack.enter_context(torch.random.fork_rng(on_gpu))
    # Without a GPU `torch.manual_seed` would queue a call for one, each time
    (torch if has_gpu else torch.default_generator).manual_seed(seed)


def _leave_gpu(torch, had_gpu):
    if not torch.cuda.is_initialized():
        # Torch keeps the last seed until a GPU is first used: put back the caller's
        torch.cuda.manual_seed_all(torch.initial_seed())
    elif not had_gpu:  # used first within the block: what was drawn may depend on records
        torch.cuda.seed_all()


def _seed_afresh(*, had_torch):
    """Seed what cannot be put back: polars, and torch if the block imported it."""
    torch, polars = sys.modules.get("torch"), sys.modules.get("polars")
    if torch is not None and not had_torch:
        torch.seed()  # how much was drawn since its import may depend on records
    if polars is not None:
        polars.set_random_seed(fresh_seed())


def params_named(estimator, name):
    """Return the parameters of that name with their values, those of nested estimators too."""
    params = estimator.get_params(deep=True)
    return {key: params[key] for key in params if f"__{key}".endswith(f"__{name}")}


def set_seeds(estimator, seed, *, only_missing=False):
    """Set every `random_state` of an estimator, its nested ones and its CV splitters.

    Parameters
    ----------
    estimator : estimator
        Changed in place.
    seed : int
        What the values follow from.
    only_missing : bool, default=False
        Whether to keep numbers that are set. Generators are replaced: others may draw from them as
        well, or read their state from the fitted estimator.

    Returns
    -------
    estimator
        The one given.
    """
    sequence = np.random.SeedSequence(seed)
    for value in estimator.get_params(deep=True).values():
        if hasattr(value, "split") and _is_missing(getattr(value, "random_state", 0)):
            value.random_state = seed_number(sequence)
    params = params_named(estimator, "random_state")
    states = sequence.generate_state(len(params)) % 2**31  # some libraries want a signed number
    for name, state in zip(sorted(params), states, strict=True):
        if not only_missing or _is_missing(params[name]):
            estimator.set_params(**{name: int(state)})
    return estimator


def without_caches(estimator):
    """Set `memory` parameters to None: through a cache, teachers would share fitted steps.

    Parameters
    ----------
    estimator : estimator
        Changed in place.

    Returns
    -------
    estimator
        The one given.
    """
    for name in params_named(estimator, "memory"):
        estimator.set_params(**{name: None})
    return estimator


def _is_missing(random_state):
    return random_state is None or isinstance(random_state, NUMPY_GENERATORS)


def new_generator(obj, seeds):
    """Return how pickle is to make a new generator of the same kind: a callable, its arguments.

    None if `obj` is not a generator.
    """
    kind = type(obj)
    if kind in (np.random.RandomState, random.Random) or isinstance(obj, np.random.BitGenerator):
        return kind, (seeds.getrandbits(32),)
    if kind is np.random.Generator:
        return np.random.default_rng, (seeds.getrandbits(32),)
    torch = sys.modules.get("torch")
    if torch is not None and kind is torch.Generator:
        return _torch_generator, (str(obj.device), seeds.getrandbits(32))
    return None


def _torch_generator(device, seed):
    import torch

    return torch.Generator(device).manual_seed(seed)


def fresh_seed():
    """Return a seed from the operating system."""
    return seed_number(np.random.SeedSequence())


# --- copies, and rows that say nothing about others -----------------------------------------------


def own_copy(value, seed, *, functions=False):
    """Return a deep copy in which every generator is replaced by a new, seeded one.

    The copy is made by pickling, because `copy.deepcopy` shares functions and what they refer to.
    Classes, and functions of imported modules, stay shared.

    Parameters
    ----------
    value : object
        An estimator, or anything that one may hold.
    seed : int
        Determines the seeds of the new generators.
    functions : bool, default=False
        Whether functions of the main program are copied as well. The copies cannot be pickled by
        name afterwards.

    Returns
    -------
    object
        The copy; the value itself if it cannot be copied at all.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_pate.runtime.copies import own_copy
    >>> given = {"rng": np.random.RandomState(0), "rows": [[1, 2]]}
    >>> own = own_copy(given, seed=5)
    >>> own["rng"] is given["rng"], own["rows"] is given["rows"], own["rows"]
    (False, False, [[1, 2]])
    """
    seeds = random.Random(seed)
    for kind in [_CloudPickler] if functions else [_Pickler, _CloudPickler]:
        # An error of any kind says that it cannot be copied in this way
        with contextlib.suppress(Exception):
            return kind(lambda obj: new_generator(obj, seeds)).loader(value)()
    with contextlib.suppress(Exception):
        return copy.deepcopy(value)
    return value


def isolated_clone(estimator, seed, *, functions=False):
    """Return a clone that is a deep copy too: a frozen estimator, for instance, is its own clone.

    Parameters
    ----------
    estimator, seed, functions
        As in `own_copy`.

    Returns
    -------
    estimator
        Unfitted, except for frozen ones within.
    """
    cloned = clone(estimator)
    if cloned is not estimator:  # what the user gave stays as it is
        _without_callbacks(cloned)
    return _without_callbacks(own_copy(cloned, seed, functions=functions))


def _without_callbacks(estimator):
    """Drop scikit-learn's callbacks, in place: clones share them, and they see the records."""
    for part in (estimator, *estimator.get_params(deep=True).values()):
        if hasattr(part, "get_params") and not isinstance(part, type):
            getattr(part, "__dict__", {}).pop("_skl_callbacks", None)
    return estimator


def copied_data(data):
    """Return a copy of data, including the objects in the cells of a DataFrame.

    Parameters
    ----------
    data : object
        Arrays, DataFrames, or a tuple of such.

    Returns
    -------
    object
        The copy; if the data do not pickle, by `copy.deepcopy`, which shares those objects.
    """
    with contextlib.suppress(Exception):
        # From protocol 5 on, copies of read-only arrays are read-only as well
        return pickle.loads(pickle.dumps(data, protocol=4))
    return copy.deepcopy(data)


def copied_rows(X, rows):
    """Select rows of private data, so that they say nothing about others.

    Parameters
    ----------
    X : array-like
        All rows.
    rows : ndarray of int
        Which to select.

    Returns
    -------
    array-like
        The rows, `without_index`.
    """
    return without_index(_safe_indexing(X, rows))


def without_index(rows):
    """Return rows of pandas with positions as their index, and without `attrs`.

    An index that was cut from a larger one tells of the other rows: by its levels, its dtype, and
    positions that shift when another record leaves. So may notes on all of them in `attrs`.

    Parameters
    ----------
    rows : object
        Anything but a DataFrame or Series of pandas is returned as it is.

    Returns
    -------
    object
        The same rows.
    """
    if not isinstance(rows, pd.DataFrame | pd.Series):
        return rows
    rows = rows.reset_index(drop=True)
    rows.attrs = {}
    return rows


def unfitted(value):
    """Return a copy of a parameter that may leave the process: its estimators are unfitted.

    The state of a generator says what was drawn from it, so a new one takes its place; a
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
        for name, part in copied.get_params(deep=True).items():
            if isinstance(part, NUMPY_GENERATORS):
                copied.set_params(**{name: None})
    return own_copy(copied, fresh_seed())


def copied_generators(value):
    """Return the object or, if it holds a global generator, a copy that holds new ones instead.

    A `RandomState` that an estimator stores may be numpy's global one. Anyone who reads its state
    from a pickle can run it backwards, through everything that was drawn from it in that process.

    Parameters
    ----------
    value : object
        What is to leave the process.

    Returns
    -------
    object
        The object, or its copy; new generators are seeded by the operating system.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.utils import check_random_state
    >>> from sklearn_pate.runtime.copies import copied_generators
    >>> shared = {"rng": check_random_state(None), "other": np.random.RandomState(0)}
    >>> own = copied_generators(shared)
    >>> own["rng"] is shared["rng"], own["rng"].random() == shared["rng"].random()
    (False, False)
    """
    seeds = random.Random(fresh_seed())
    # What all draw from; the methods of the last one are the functions of `random`
    shared = [check_random_state(None), np.random.get_bit_generator(), random._inst]
    torch = sys.modules.get("torch")
    if torch is not None:
        shared += [torch.default_generator, *torch.cuda.default_generators]

    def replacement(obj):
        is_shared = any(obj is generator for generator in shared)
        return new_generator(obj, seeds) if is_shared else None

    for kind in (_Pickler, _CloudPickler):
        pickler = kind(replacement)
        # An error of any kind says that it does not pickle
        with contextlib.suppress(Exception):
            load = pickler.loader(value)
            return load() if pickler.has_replaced else value
    return value  # it does not pickle, so it cannot leave in a file


def copier(value):
    """Return a function that makes copies, each as `value` is now.

    Parameters
    ----------
    value : object
        A fitted estimator.

    Returns
    -------
    callable
        Takes no arguments, and raises if the value cannot be copied.
    """
    with contextlib.suppress(Exception):
        load = _CloudPickler(lambda obj: None).loader(value)
        load()  # tried: not all that pickles loads
        return load
    return partial(copy.deepcopy, value)


class _Unpickler(pickle.Unpickler):
    """Finds the classes that a pickle of `_Replacing` refers to."""

    def __init__(self, content, classes):
        super().__init__(io.BytesIO(content))
        self.classes = classes

    def persistent_load(self, number):
        return self.classes[number]


class _Replacing:
    """A pickler that replaces some objects by what a function returns for them."""

    def __init__(self, replacement):
        self.file = io.BytesIO()
        super().__init__(self.file)
        self.replacement = replacement
        self.has_replaced = False
        self.classes = []

    def loader(self, value):
        """Return a function that makes copies, in this process alone."""
        self.dump(value)
        content = self.file.getvalue()
        return lambda: _Unpickler(content, self.classes).load()

    def persistent_id(self, obj):
        # Classes are referred to: a copy of one would make objects that are not its instances
        if not isinstance(obj, type):
            return None
        self.classes.append(obj)
        return len(self.classes) - 1

    def reducer_override(self, obj):
        replacement = self.replacement(obj)
        if replacement is not None:
            self.has_replaced = True
            return replacement
        inherited = getattr(super(), "reducer_override", None)
        return NotImplemented if inherited is None else inherited(obj)


class _Pickler(_Replacing, pickle.Pickler):
    """Pickles functions by name."""


class _CloudPickler(_Replacing, cloudpickle.Pickler):
    """Pickles lambdas and functions of the main program with what they refer to."""
