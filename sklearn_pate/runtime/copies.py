"""Generators of random numbers, and copies of objects with their own generators."""

from __future__ import annotations

import contextlib
import copy
import io
import os
import pickle
import random
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

import cloudpickle
import numpy as np
import pandas as pd
from joblib import parallel_config
from sklearn.base import clone
from sklearn.utils import check_random_state

from .._sklearn import _safe_indexing

if TYPE_CHECKING:
    from .._typing import Estimator, Rows

#: Types of a `random_state` that is not a number.
NUMPY_GENERATORS = (np.random.RandomState, np.random.Generator, np.random.BitGenerator)

#: "turn" is held while global generators are seeded, "quiet" while output is turned off or on.
locks: dict = {}


def _make_locks() -> None:
    """Create new locks; in a forked process, no thread would release the old locks."""
    locks.update(turn=threading.RLock(), quiet=threading.Lock())


_make_locks()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_make_locks)


def seed_number(sequence: np.random.SeedSequence) -> int:
    """Return a seed of 32 bits that is derived from a `numpy.random.SeedSequence`."""
    return int(sequence.generate_state(1)[0])


@contextlib.contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed the global generators for a block, and restore them afterwards.

    These are the generators of numpy and Python and, if the packages are loaded, of torch (CPU and
    GPU) and polars. The state of the generator of polars cannot be read, so it gets a fresh seed
    afterwards. Threads take turns. Calls of joblib in the block run sequentially in this process,
    because workers would not be seeded.

    Parameters
    ----------
    seed : int
        Seed, below 2**32.
    """
    with locks["turn"], contextlib.ExitStack() as stack:
        stack.callback(random.setstate, random.getstate())
        random.seed(seed)
        own = _spare.pop() if _spare else np.random.MT19937()
        stack.callback(_spare.append, own)
        # Normal numbers are drawn in pairs. This state includes the second of a pair, which the
        # bit generator does not contain
        stack.callback(np.random.set_state, np.random.get_state(legacy=False))
        stack.callback(np.random.set_bit_generator, np.random.get_bit_generator())  # type: ignore[attr-defined]
        np.random.set_bit_generator(own)  # type: ignore[attr-defined]
        np.random.seed(seed)
        torch, polars = sys.modules.get("torch"), sys.modules.get("polars")
        stack.callback(_seed_afresh, had_torch=torch is not None)
        if torch is not None:
            _seed_torch(torch, seed, stack)
        if polars is not None:
            polars.set_random_seed(seed)
        stack.enter_context(parallel_config(backend="sequential"))
        yield


#: Unused generators of numpy: seeding a generator is fast, and creating one is slow.
_spare: list[Any] = []


def _seed_torch(torch: Any, seed: int, stack: ExitStack) -> None:
    """Seed torch's generators, and register their restoration with an exit stack."""
    has_gpu = torch.cuda.is_available() or torch.backends.mps.is_available()
    had_gpu = torch.cuda.is_initialized()
    if has_gpu:
        stack.callback(_leave_gpu, torch, had_gpu)
    on_gpu = range(torch.cuda.device_count()) if had_gpu else ()
    stack.enter_context(torch.random.fork_rng(on_gpu))
    # Without a GPU, each `torch.manual_seed` would queue a call for one
    (torch if has_gpu else torch.default_generator).manual_seed(seed)


def _leave_gpu(torch: Any, had_gpu: bool) -> None:
    if not torch.cuda.is_initialized():
        # Torch keeps the last seed until the first use of a GPU, so the caller's is restored
        torch.cuda.manual_seed_all(torch.initial_seed())
    elif not had_gpu:  # first used within the block, so its draws may depend on records
        torch.cuda.seed_all()


def _seed_afresh(*, had_torch: bool) -> None:
    """Reseed the generators that cannot be restored: polars, and torch imported by the block."""
    torch, polars = sys.modules.get("torch"), sys.modules.get("polars")
    if torch is not None and not had_torch:
        torch.seed()  # the number of draws since its import may depend on records
    if polars is not None:
        polars.set_random_seed(fresh_seed())


def params_named(estimator: Estimator, name: str) -> dict[str, Any]:
    """Return all parameters with a name, also of nested estimators, with their values."""
    params = estimator.get_params(deep=True)
    return {key: params[key] for key in params if f"__{key}".endswith(f"__{name}")}


def set_seeds(estimator: Estimator, seed: int, *, only_missing: bool = False) -> Estimator:
    """Set every `random_state` of an estimator and of nested estimators and CV splitters.

    A number that is set in a CV splitter is always kept.

    Parameters
    ----------
    estimator : estimator
        The estimator, which is changed in place.
    seed : int
        Seed from which the values are derived.
    only_missing : bool, default=False
        Whether to keep numbers that are set in estimators. Generators are always replaced, because
        other code may also draw from them, or read their state from the fitted estimator.

    Returns
    -------
    estimator
        The same estimator.
    """
    sequence = np.random.SeedSequence(seed)
    for value in estimator.get_params(deep=True).values():
        if hasattr(value, "split") and _is_missing(getattr(value, "random_state", 0)):
            value.random_state = seed_number(sequence)
    params = params_named(estimator, "random_state")
    states = sequence.generate_state(len(params)) % 2**31  # some libraries need a signed number
    for name, state in zip(sorted(params), states, strict=True):
        if not only_missing or _is_missing(params[name]):
            estimator.set_params(**{name: int(state)})
    return estimator


def without_caches(estimator: Estimator) -> Estimator:
    """Set `memory` parameters to None, because teachers would share a cache.

    Parameters
    ----------
    estimator : estimator
        The estimator, which is changed in place.

    Returns
    -------
    estimator
        The same estimator.
    """
    for name in params_named(estimator, "memory"):
        estimator.set_params(**{name: None})
    return estimator


def _is_missing(random_state: Any) -> bool:
    return random_state is None or isinstance(random_state, NUMPY_GENERATORS)


def new_generator(obj: Any, seeds: Random) -> tuple[Any, ...] | None:
    """Return a callable and its arguments that create a new generator like `obj`.

    The result is None if `obj` is not a generator. Picklers use it as a reduction.
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


def _torch_generator(device: str, seed: int) -> Any:
    import torch

    return torch.Generator(device).manual_seed(seed)


def fresh_seed() -> int:
    """Return a seed from the operating system."""
    return seed_number(np.random.SeedSequence())


# --- copies, and rows without information about other rows ----------------------------------------


def own_copy(value: Any, seed: int, *, functions: bool = False) -> Any:
    """Return a deep copy in which every generator is replaced by a new, seeded one.

    The copy is made by pickling, because `copy.deepcopy` shares functions and the objects that they
    refer to. The copy shares classes, and functions of imported modules. If the value cannot be
    pickled, the copy is made by `copy.deepcopy`, which copies generators with their state.

    Parameters
    ----------
    value : object
        An estimator, or any value that an estimator may hold.
    seed : int
        Determines the seeds of the new generators.
    functions : bool, default=False
        Whether functions of the main program are also copied. Such copies cannot be pickled by
        name.

    Returns
    -------
    object
        The copy, or the value itself if it cannot be copied.

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
        # An error of any kind means that the value cannot be copied in this way
        with contextlib.suppress(Exception):
            return kind(lambda obj: new_generator(obj, seeds)).loader(value)()
    with contextlib.suppress(Exception):
        return copy.deepcopy(value)
    return value


def isolated_clone(estimator: Estimator, seed: int, *, functions: bool = False) -> Estimator:
    """Return a clone that is also a deep copy, without callbacks.

    `sklearn.base.clone` alone is not sufficient: it returns a frozen estimator itself.

    Parameters
    ----------
    estimator, seed, functions
        As in `own_copy`.

    Returns
    -------
    estimator
        The copy, which is unfitted except for frozen estimators in it.
    """
    cloned = clone(estimator)
    if cloned is not estimator:  # so that the user's estimator is unchanged
        _without_callbacks(cloned)
    return _without_callbacks(own_copy(cloned, seed, functions=functions))


def _without_callbacks(estimator: Estimator) -> Estimator:
    """Remove scikit-learn's callbacks in place, because clones share them and pass records."""
    for part in (estimator, *estimator.get_params(deep=True).values()):
        if hasattr(part, "get_params") and not isinstance(part, type):
            getattr(part, "__dict__", {}).pop("_skl_callbacks", None)
    return estimator


def copied_data(data: Any) -> Any:
    """Return a copy of data, including the objects in the cells of a DataFrame.

    Parameters
    ----------
    data : object
        Arrays, DataFrames, or a tuple of these.

    Returns
    -------
    object
        The copy. If the data do not pickle, it is made by `copy.deepcopy`, which shares the objects
        in cells.
    """
    with contextlib.suppress(Exception):
        # From protocol 5 on, copies of read-only arrays are read-only, too
        return pickle.loads(pickle.dumps(data, protocol=4))
    return copy.deepcopy(data)


def copied_rows(X: Rows, rows: np.ndarray) -> Rows:
    """Select rows of private data without information about other rows.

    Parameters
    ----------
    X : array-like
        All rows.
    rows : ndarray of int
        Indices of the rows to select.

    Returns
    -------
    array-like
        The rows, as returned by `without_index`.
    """
    return without_index(_safe_indexing(X, rows))


def without_index(rows: Rows) -> Any:
    """Return rows of pandas with a `RangeIndex` and without `attrs`.

    The index of selected rows may reveal information about the other rows: by its levels, its
    dtype, and positions that change if another record is removed. `attrs` may contain metadata
    about all rows.

    Parameters
    ----------
    rows : object
        The rows. All types except DataFrames and Series of pandas are returned unchanged.

    Returns
    -------
    object
        The rows.
    """
    if not isinstance(rows, pd.DataFrame | pd.Series):
        return rows
    rows = rows.reset_index(drop=True)
    rows.attrs = {}
    return rows


def unfitted(value: Any) -> Any:
    """Return a copy of a parameter that may leave the process, with unfitted estimators.

    The state of a generator reveals its earlier draws, so each generator is replaced by a new one.
    A `random_state` that is a generator becomes None.

    Parameters
    ----------
    value : object
        An estimator, or a list, tuple or dict that may hold estimators. Any other value is copied.

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


def copied_generators(value: Any) -> Any:
    """Return an object or, if it holds a global generator, a copy with new generators.

    A `RandomState` that an estimator stores may be numpy's global one. Anyone with a pickle of its
    state can compute all earlier draws of that process.

    Parameters
    ----------
    value : object
        An object that may leave the process.

    Returns
    -------
    object
        The object or its copy. The operating system seeds the new generators.

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
    # The global generators; the methods of the last one are the functions of `random`
    shared = [check_random_state(None), np.random.get_bit_generator(), random._inst]  # type: ignore[attr-defined]
    torch = sys.modules.get("torch")
    if torch is not None:
        shared += [torch.default_generator, *torch.cuda.default_generators]

    def replacement(obj: Any) -> Any:
        is_shared = any(obj is generator for generator in shared)
        return new_generator(obj, seeds) if is_shared else None

    for kind in (_Pickler, _CloudPickler):
        pickler = kind(replacement)
        # An error of any kind means that the value does not pickle
        with contextlib.suppress(Exception):
            load = pickler.loader(value)
            return load() if pickler.has_replaced else value
    return value  # it does not pickle, so it cannot leave the process in a file


def copier(value: Any) -> Callable[[], Any]:
    """Return a function that makes copies of the current state of `value`.

    Parameters
    ----------
    value : object
        A fitted estimator.

    Returns
    -------
    callable
        It takes no arguments, and raises an error if the value cannot be copied.
    """
    with contextlib.suppress(Exception):
        load = _CloudPickler(lambda obj: None).loader(value)
        load()  # a test, because some pickles cannot be loaded
        return load
    return partial(copy.deepcopy, value)


class _Unpickler(pickle.Unpickler):
    """Unpickler that resolves the classes in a pickle of `_Replacing`."""

    def __init__(self, content: bytes, classes: list[Any]) -> None:
        super().__init__(io.BytesIO(content))
        self.classes = classes

    def persistent_load(self, number: int) -> Any:
        return self.classes[number]


class _Replacing:
    """A pickler that replaces some objects by the results of a function."""

    dump: Callable[[Any], None]  # of the pickler, the second base class

    def __init__(self, replacement: Callable[[Any], Any]) -> None:
        self.file = io.BytesIO()
        super().__init__(self.file)  # type: ignore[call-arg]
        self.replacement = replacement
        self.has_replaced = False
        self.classes: list[type] = []

    def loader(self, value: Any) -> Callable[[], Any]:
        """Return a function that makes copies of a value, in this process only."""
        self.dump(value)
        content = self.file.getvalue()
        return lambda: _Unpickler(content, self.classes).load()

    def persistent_id(self, obj: Any) -> Any:
        # Classes are pickled by reference, as objects would not be instances of a copied class
        if not isinstance(obj, type):
            return None
        self.classes.append(obj)
        return len(self.classes) - 1

    def reducer_override(self, obj: Any) -> Any:
        replacement = self.replacement(obj)
        if replacement is not None:
            self.has_replaced = True
            return replacement
        inherited = getattr(super(), "reducer_override", None)
        return NotImplemented if inherited is None else inherited(obj)


class _Pickler(_Replacing, pickle.Pickler):
    """Pickler that pickles functions by name."""


class _CloudPickler(_Replacing, cloudpickle.Pickler):
    """Pickler that pickles lambdas and functions of the main program with all references."""
