"""What keeps one teacher's fit from the next, and private text from the world.

Teachers share a process. Whatever one of them leaves behind in it, such as how many random numbers
were drawn, may depend on its records and reach the next one. So each fit runs in `isolated`.
"""

import contextlib
import copy
import decimal
import io
import locale
import logging
import os
import pickle
import random
import sys
import threading
import warnings

import numpy as np
import pandas as pd
from joblib import parallel_config
from sklearn import config_context
from sklearn.base import clone
from sklearn.utils import check_random_state

from ._sklearn import InvalidParameterError

__all__ = [
    "Quiet",
    "TellableError",
    "isolated",
    "own_clone",
    "own_generators",
    "redacted",
    "seeded",
    "set_seeds",
    "silent",
    "unfitted",
]


# --- random numbers ----------------------------------------------------------------------------

#: Held while the generators of the process are swapped: threads take turns.
_turn = threading.RLock()


def _new_turn():
    """In a forked process, the thread that held the lock does not exist."""
    global _turn
    _turn = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_new_turn)


@contextlib.contextmanager
def isolated(seed):
    """Run a teacher as if nothing had run before it in this process, in silence, without a trace.

    Global generators (see `seeded`) start from the seed and are as before afterwards. So are
    numpy's error state, decimal contexts, warning filters, the level below which logging is off,
    the output streams, options of scikit-learn, joblib and pandas, environment variables, the
    working directory and the locale. All of this belongs to the process, so threads take turns.

    Parameters
    ----------
    seed : int
        Below 2**32.

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
    with _turn, Quiet(), contextlib.ExitStack() as stack:
        for restored in _PROCESS_WIDE:
            stack.enter_context(restored())
        stack.enter_context(seeded(seed))
        yield


@contextlib.contextmanager
def seeded(seed):
    """Seed the global generators of numpy, Python and torch for the time being.

    Torch's are those of the CPU and of CUDA, if torch is in use. Threads take turns.

    Parameters
    ----------
    seed : int
        Below 2**32.
    """
    with _turn, _numpy_seeded(seed), _python_seeded(seed), _torch_seeded(seed):
        yield


@contextlib.contextmanager
def _numpy_seeded(seed):
    outer = np.random.get_bit_generator()
    # besides the generator's state, it holds half of a pair of normal numbers
    state = np.random.get_state(legacy=False)
    np.random.set_bit_generator(np.random.MT19937(seed))
    try:
        yield
    finally:
        np.random.set_bit_generator(outer)
        np.random.set_state(state)


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
            if torch is not None:  # how much was drawn since its import is nobody's business
                torch.seed()
        return
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
            # torch keeps the last seed for when a GPU is first used: let it be the caller's
            torch.cuda.manual_seed_all(torch.initial_seed())
        elif not had_gpu:
            torch.cuda.seed_all()


def set_seeds(estimator, seed, *, only_missing=False):
    """Set every `random_state` of an estimator, its nested ones and its CV splitters.

    Parameters
    ----------
    estimator : estimator
        Changed in place.
    seed : int
        What the values follow from.
    only_missing : bool, default=False
        Whether to keep numbers that were given. Generators are replaced: others may draw from
        them as well, or read their state from the fitted estimator.

    Returns
    -------
    estimator
        The one given.
    """
    params = estimator.get_params(deep=True)
    sequence = np.random.SeedSequence(seed)
    for value in params.values():
        if hasattr(value, "split") and _is_missing(getattr(value, "random_state", 0)):
            value.random_state = int(sequence.generate_state(1)[0])
    names = sorted(name for name in params if _is_random_state(name))
    states = sequence.generate_state(len(names)) % 2**31
    chosen = {
        name: int(state)
        for name, state in zip(names, states, strict=True)
        if not only_missing or _is_missing(params[name])
    }
    return estimator.set_params(**chosen) if chosen else estimator


def unfitted(value):
    """Return a parameter as it may leave: estimators as before they were fitted.

    A `random_state` that is a generator becomes None: its state tells of what was drawn.

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
    if isinstance(value, type) or not hasattr(copied, "get_params"):
        return copied
    params = copied.get_params(deep=True)
    generators = [name for name, param in params.items() if isinstance(param, _NUMPY_GENERATORS)]
    return copied.set_params(**dict.fromkeys(generators)) if generators else copied


_NUMPY_GENERATORS = (np.random.RandomState, np.random.Generator, np.random.BitGenerator)


def _is_random_state(name):
    return name == "random_state" or name.endswith("__random_state")


def _is_missing(random_state):
    return random_state is None or isinstance(random_state, _NUMPY_GENERATORS)


def own_clone(estimator):
    """Return a clone that shares nothing: frozen estimators, for instance, clone to themselves.

    Parameters
    ----------
    estimator : estimator
        If it cannot be copied in depth, a clone has to do.

    Returns
    -------
    estimator
        Unfitted, but for frozen ones within.
    """
    cloned = clone(estimator)
    try:
        return copy.deepcopy(cloned)
    except Exception:  # it holds a lock, for instance
        return cloned


def own_generators(value):
    """Return an object that shares no global generator: itself, or a copy with others.

    A `RandomState` that an estimator stored may be numpy's global one. Whoever reads its state
    from a pickle can run it backwards, through all that was drawn from it in that process.

    Parameters
    ----------
    value : object
        What is to leave the process.

    Returns
    -------
    object
        A copy, by pickling, if a global generator was found in it; the new generators are seeded
        by the operating system. What cannot be pickled is copied by `copy.deepcopy`, if it can.

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
    content = io.BytesIO()
    pickler = _Replacing(content)
    try:
        pickler.dump(value)
        return pickle.loads(content.getvalue()) if pickler.found else value
    except Exception:  # an error of any kind says that it does not pickle
        known = {id(old): make(*args) for old, (make, args) in pickler.replacements}
    try:
        return copy.deepcopy(value, known)
    except Exception:
        return value


class _Replacing(pickle.Pickler):
    """Pickles a new generator in the place of each global one."""

    def __init__(self, file):
        super().__init__(file)
        self.replacements = list(_replacements())
        self.found = False

    def reducer_override(self, obj):
        for old, new in self.replacements:
            if obj is old:
                self.found = True
                return new
        return NotImplemented


def _replacements():
    """Each global generator, with the function and arguments that make another."""
    seed = int(np.random.SeedSequence().generate_state(1)[0])
    yield check_random_state(None), (np.random.RandomState, (seed,))
    yield np.random.get_bit_generator(), (np.random.MT19937, (seed,))
    yield random._inst, (random.Random, (seed,))  # the one whose methods `random` offers
    torch = sys.modules.get("torch")
    if torch is not None:
        yield torch.default_generator, (_torch_generator, (seed,))


def _torch_generator(seed):
    import torch

    return torch.Generator().manual_seed(seed)


# --- what else belongs to the process ----------------------------------------------------------


@contextlib.contextmanager
def _restored(read, write):
    """Undo what is changed meanwhile."""
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


def _pandas_options(branch=None, prefix=""):
    """Values of all options, by name."""
    branch = pd.options if branch is None else branch
    found = {}
    for name in dir(branch):
        value = getattr(branch, name)
        if isinstance(value, type(pd.options)):
            found |= _pandas_options(value, f"{prefix}{name}.")
        else:
            found[prefix + name] = value
    return found


def _set_pandas_options(options):
    now = _pandas_options()
    for name, value in options.items():
        if now[name] != value:
            pd.set_option(name, value)


#: Context managers, each of which puts back one thing that all fits of a process share.
_PROCESS_WIDE = (
    np.errstate,
    decimal.localcontext,
    config_context,
    parallel_config,
    lambda: contextlib.redirect_stdout(sys.stdout),
    lambda: contextlib.redirect_stderr(sys.stderr),
    lambda: _restored(lambda: logging.root.manager.disable, logging.disable),
    lambda: _restored(_pandas_options, _set_pandas_options),
    lambda: _restored(lambda: dict(os.environ), _set_environment),
    lambda: _restored(_working_directory, _return_to),
    lambda: _restored(
        lambda: locale.setlocale(locale.LC_ALL),
        lambda name: locale.setlocale(locale.LC_ALL, name),
    ),
    # last, so that it is put back first: in a filter that a teacher left, reading options can fail
    warnings.catch_warnings,
)


# --- silence -----------------------------------------------------------------------------------


def silent(estimator):
    """Turn off the `verbose` parameters: compiled code writes past Python's streams."""
    params = estimator.get_params(deep=True)
    names = [p for p in params if p == "verbose" or p.endswith("__verbose")]
    loud = {name: 0 for name in names if params[name]}
    return estimator.set_params(**loud) if loud else estimator


class _Nowhere(io.StringIO):
    """A text stream that forgets."""

    def write(self, text):
        return len(text)


class Quiet:
    """Keep what teachers print, warn of and log from leaving the process: it may be data.

    Output streams, warning filters and logging are global, and teachers may run in threads: the
    first to enter silences them, the last to leave restores them.
    """

    _lock, _depth, _stack = threading.Lock(), 0, contextlib.ExitStack()

    def __enter__(self):
        with Quiet._lock, contextlib.ExitStack() as stack:
            if Quiet._depth == 0:
                stack.callback(logging.disable, logging.root.manager.disable)
                logging.disable(sys.maxsize)
                stack.enter_context(warnings.catch_warnings())
                warnings.simplefilter("ignore")
                stack.enter_context(contextlib.redirect_stdout(_Nowhere()))
                stack.enter_context(contextlib.redirect_stderr(_Nowhere()))
                Quiet._stack = stack.pop_all()
            Quiet._depth += 1

    def __exit__(self, *exc_info):
        with Quiet._lock:
            Quiet._depth -= 1
            if Quiet._depth == 0:
                Quiet._stack.close()


# --- redaction ---------------------------------------------------------------------------------


class TellableError(ValueError):
    """A failure whose text is ours: it holds no data."""


#: What the text of another error may be told to contain; the rest may be data.
_TELLABLE = (
    *("Input X contains NaN", "Input X contains infinity", "could not convert string to float"),
    *("Complex data not supported", "Sparse data was passed for X", "Negative values in data"),
    *("Found unknown categories", "samples of at least 2 classes", "Expected 2D array"),
    *("weights must contain at least one non-zero number", "unexpected keyword argument"),
    *("argument must be a string or a real number", "it took longer than timeout"),
    "could not be loaded with the model",
    *("Got int64 indices", "No support for np.int64 index based sparse matrices"),
)


def redacted(error):
    """Return what may be told of an error: its type, and known phrases that hold no data."""
    if isinstance(error, TellableError):
        return str(error)
    try:
        text = str(error)
    except Exception:
        text = ""
    withheld = "its text may quote records and is withheld; fit base_estimator yourself to read it"
    known = next((known for known in _TELLABLE if known in text), withheld)
    wrong, got, _ = text.partition(". Got ")  # a value that a teacher may have computed
    if isinstance(error, InvalidParameterError) and got:
        known = wrong
    return f"{type(error).__name__}: {known}"
