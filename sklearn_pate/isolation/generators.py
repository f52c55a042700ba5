"""The random numbers of the process: seeded for a block, then put back."""

import contextlib
import os
import random
import sys
import threading
from operator import itemgetter

import numpy as np
from joblib import parallel_config
from sklearn.utils import check_random_state

#: What a `random_state` may be instead of a number.
NUMPY_GENERATORS = (np.random.RandomState, np.random.Generator, np.random.BitGenerator)

#: Held while the generators of the process are swapped: threads take turns.
_turn = threading.RLock()


def turn():
    """Return the lock under which threads take turns."""
    return _turn


def _new_lock():
    """Make a lock for a forked process, in which threads that held the old one do not exist."""
    global _turn
    _turn = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_new_lock)


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
    with _turn, contextlib.ExitStack() as stack:
        for context in (_numpy_seeded, _python_seeded, _torch_seeded, _polars_seeded):
            stack.enter_context(context(seed))
        stack.enter_context(parallel_config(backend="sequential"))
        yield


#: Generators of numpy that no block uses: seeding one is fast, and making one is not.
_spare = []  # type: ignore[var-annotated]


@contextlib.contextmanager
def _numpy_seeded(seed):
    outer = np.random.get_bit_generator()
    # Normal numbers are drawn in pairs: this holds the second of a pair too, the generator does not
    state = np.random.get_state(legacy=False)
    own = _spare.pop() if _spare else np.random.MT19937()
    np.random.set_bit_generator(own)
    np.random.seed(seed)
    try:
        yield
    finally:
        np.random.set_bit_generator(outer)
        np.random.set_state(state)
        _spare.append(own)


@contextlib.contextmanager
def _python_seeded(seed):
    state = random.getstate()
    random.seed(seed)
    try:
        yield
    finally:
        random.setstate(state)


@contextlib.contextmanager
def _torch_seeded(seed):
    torch = sys.modules.get("torch")
    if torch is None:
        try:
            yield
        finally:
            torch = sys.modules.get("torch")
            if torch is not None:  # how much was drawn since its import may depend on records
                torch.seed()
        return
    # Without a GPU `torch.manual_seed` would queue a call for one, each time
    if not (torch.cuda.is_available() or torch.backends.mps.is_available()):
        with torch.random.fork_rng(()):
            torch.default_generator.manual_seed(seed)
            yield
        return
    had_gpu = torch.cuda.is_initialized()
    on_gpu = range(torch.cuda.device_count()) if had_gpu else ()
    try:
        with torch.random.fork_rng(on_gpu):
            torch.manual_seed(seed)
            yield
    finally:
        if not torch.cuda.is_initialized():
            # Torch keeps the last seed until a GPU is first used: put back the caller's
            torch.cuda.manual_seed_all(torch.initial_seed())
        elif not had_gpu:  # used first within the block: what was drawn may depend on records
            torch.cuda.seed_all()


@contextlib.contextmanager
def _polars_seeded(seed):
    polars = sys.modules.get("polars")
    if polars is not None:
        polars.set_random_seed(seed)
    try:
        yield
    finally:
        polars = sys.modules.get("polars")
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
    params = sorted(params_named(estimator, "random_state").items(), key=itemgetter(0))
    states = sequence.generate_state(len(params)) % 2**31  # some libraries want a signed number
    chosen = {
        name: int(state)
        for (name, value), state in zip(params, states, strict=True)
        if not only_missing or _is_missing(value)
    }
    return estimator.set_params(**chosen) if chosen else estimator


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
    names = params_named(estimator, "memory")
    return estimator.set_params(**dict.fromkeys(names)) if names else estimator


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


def global_generators():
    """Return the generators that anything in the process may draw from."""
    shared = [check_random_state(None), np.random.get_bit_generator()]
    shared.append(random._inst)  # its methods are the functions of `random`
    torch = sys.modules.get("torch")
    if torch is not None:
        shared.append(torch.default_generator)
        shared.extend(torch.cuda.default_generators)
    return shared


def fresh_seed():
    """Return a seed from the operating system."""
    return seed_number(np.random.SeedSequence())
