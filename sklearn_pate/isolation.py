"""What keeps one teacher's fit from the next, and private text from the world.

Teachers share a process. Whatever one of them leaves behind in it, such as how many random numbers
were drawn, may depend on its records and reach the next one. So each fit runs in `isolated`.
"""

import builtins
import contextlib
import copy
import ctypes
import decimal
import errno
import gc
import io
import locale
import logging
import os
import pickle
import random
import sys
import threading
import time
import warnings
from functools import partial
from typing import NamedTuple

import cloudpickle
import numpy as np
import pandas as pd
from joblib import parallel_config
from scipy import special
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state

from ._sklearn import InvalidParameterError

__all__ = [
    "Quiet",
    "TellableError",
    "attempt",
    "copied_data",
    "copies",
    "fresh_seed",
    "isolated",
    "kind_of",
    "known_name",
    "own_clone",
    "own_copy",
    "own_generators",
    "own_index",
    "own_rows",
    "redacted",
    "seeded",
    "set_seeds",
    "silent",
    "unfitted",
    "without_caches",
]


# --- random numbers ----------------------------------------------------------------------------

#: Held while the generators of the process are swapped: threads take turns.
_turn = threading.RLock()


def _new_locks():
    """In a forked process, threads that held a lock do not exist."""
    global _turn
    _turn = threading.RLock()
    Quiet._lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_new_locks)


@contextlib.contextmanager
def isolated(seed, *, descriptors=True):
    """Run a teacher in silence, and leave the process as it was.

    Global generators start from the seed (see `seeded`). Afterwards they are put back, and so are
    error states of numpy and scipy, print options, decimal contexts, options of scikit-learn,
    joblib and pandas, torch's defaults, loggers, warning filters, output streams, environment
    variables, the working directory, the locale, the recursion limit and garbage collection. All
    of this belongs to the process, so threads take turns.

    Parameters
    ----------
    seed : int
        Below 2**32.
    descriptors : bool, default=True
        Whether what is written below Python's streams, to the file descriptors 1 and 2, is dropped
        too. It is by compiled code, child processes and ``sys.__stdout__``; and by whoever else
        writes there meanwhile, such as a thread that shows progress.

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
        if descriptors:
            stack.enter_context(_silence_below())
        # Last, so that it ends first: in a filter that a teacher left, reading options can fail
        stack.enter_context(_silence())
        stack.enter_context(seeded(seed))
        yield


@contextlib.contextmanager
def seeded(seed):
    """Seed the global generators of numpy, Python and torch for a block, then put them back.

    Torch's are those of the CPU and of CUDA, if torch is loaded. Threads take turns. What the
    block runs with joblib runs one after the other in this process: workers would not be seeded.

    Parameters
    ----------
    seed : int
        Below 2**32.
    """
    with _turn, contextlib.ExitStack() as stack:
        for context in (_numpy_seeded, _python_seeded, _torch_seeded):
            stack.enter_context(context(seed))
        stack.enter_context(parallel_config(backend="sequential"))
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
            if torch is not None:  # how much was drawn since the import may depend on records
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
            # torch keeps the last seed until a GPU is first used: restore the caller's
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


def without_caches(estimator):
    """Set the `memory` parameters to None: teachers would share fitted steps through the cache.

    Parameters
    ----------
    estimator : estimator
        Changed in place.

    Returns
    -------
    estimator
        The one given.
    """
    names = [p for p in estimator.get_params(deep=True) if p == "memory" or p.endswith("__memory")]
    return estimator.set_params(**dict.fromkeys(names)) if names else estimator


_NUMPY_GENERATORS = (np.random.RandomState, np.random.Generator, np.random.BitGenerator)


def _is_random_state(name):
    return name == "random_state" or name.endswith("__random_state")


def _is_missing(random_state):
    return random_state is None or isinstance(random_state, _NUMPY_GENERATORS)


# --- copies that share no generator ------------------------------------------------------------


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
            return kind(lambda obj: _another(obj, seeds)).pickled(value).load()
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
        generators = [name for name in params if isinstance(params[name], _NUMPY_GENERATORS)]
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
    shared = _global_generators()

    def replacement(obj):
        is_shared = any(obj is generator for generator in shared)
        return _another(obj, seeds) if is_shared else None

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


def _another(obj, seeds):
    """Return what makes another generator of the same kind, or None if `obj` is none."""
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


def _global_generators():
    shared = [check_random_state(None), np.random.get_bit_generator()]
    shared.append(random._inst)  # the one whose methods `random` offers
    torch = sys.modules.get("torch")
    if torch is not None:
        shared.append(torch.default_generator)
        shared.extend(torch.cuda.default_generators)
    return shared


def fresh_seed():
    """Return a seed from the operating system."""
    return int(np.random.SeedSequence().generate_state(1)[0])


# --- what else belongs to the process ----------------------------------------------------------


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


def _set_environment(variables):
    os.environ.clear()
    os.environ.update(variables)
    if hasattr(time, "tzset"):
        time.tzset()


def _set_collecting(enabled):
    if enabled:
        gc.enable()
    else:
        gc.disable()


def _names_of_options(branch=pd.options, prefix=""):
    """Names of pandas' options, but for deprecated ones, which warn when they are read."""
    for name in dir(branch):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                value = getattr(branch, name)
        except Warning:
            continue
        if isinstance(value, type(pd.options)):
            yield from _names_of_options(value, f"{prefix}{name}.")
        else:
            yield prefix + name


_PANDAS_OPTIONS = tuple(_names_of_options())


def _pandas_options():
    return [pd.get_option(name) for name in _PANDAS_OPTIONS]


def _set_pandas_options(before):
    for name, value in zip(_PANDAS_OPTIONS, before, strict=True):
        pd.set_option(name, value)


def _loggers():
    """Settings of the root logger and of all that were asked for, by name."""
    known = {"": logging.root, **logging.root.manager.loggerDict}
    return {
        name: (
            logger.level,
            logger.propagate,
            logger.disabled,
            tuple(logger.handlers),
            tuple(logger.filters),
        )
        for name, logger in known.items()
        if isinstance(logger, logging.Logger)
    }


def _set_loggers(before):
    for name in _loggers():
        logger = logging.getLogger(name)
        settings = before.get(name, (logging.NOTSET, True, False, (), ()))
        logger.level, logger.propagate, logger.disabled, handlers, filters = settings
        logger.handlers = list(handlers)
        logger.filters = list(filters)
    logging.root.setLevel(before[""][0])  # clears what loggers remember of levels


def _torch_defaults():
    torch = sys.modules.get("torch")
    if torch is None:
        return None
    return (
        torch.get_default_dtype(),
        torch.is_grad_enabled(),
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
        torch.get_num_threads(),
    )


def _set_torch_defaults(before):
    torch = sys.modules["torch"]
    if before is None:  # imported meanwhile: what it starts with
        before = torch.float32, True, False, False, None
    dtype, grad, deterministic, warn_only, threads = before
    torch.set_default_dtype(dtype)
    torch.set_grad_enabled(grad)
    torch.use_deterministic_algorithms(deterministic, warn_only=warn_only)
    if threads is not None:
        torch.set_num_threads(threads)


#: Context managers, each of which puts back one thing that all fits of a process share.
_PROCESS_WIDE = (
    np.errstate,
    special.errstate,
    np.printoptions,
    decimal.localcontext,
    config_context,
    parallel_config,
    lambda: _restored(_pandas_options, _set_pandas_options),
    lambda: _restored(_torch_defaults, _set_torch_defaults),
    lambda: _restored(_loggers, _set_loggers),
    lambda: _restored(sys.getrecursionlimit, sys.setrecursionlimit),
    lambda: _restored(gc.isenabled, _set_collecting),
    lambda: _restored(lambda: dict(os.environ), _set_environment),
    lambda: _restored(_working_directory, _return_to),
    lambda: _restored(
        lambda: locale.setlocale(locale.LC_ALL),
        lambda name: locale.setlocale(locale.LC_ALL, name),
    ),
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


@contextlib.contextmanager
def _silence():
    """Drop output, logs and warnings, even warnings that a teacher's own filter lets through."""
    level = logging.root.manager.disable
    logging.disable(sys.maxsize)
    try:
        with (
            warnings.catch_warnings(record=True),
            contextlib.redirect_stdout(_Nowhere()),
            contextlib.redirect_stderr(_Nowhere()),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(level)


def _c_library():
    """Return what flushes the streams of compiled code, or None."""
    try:
        return ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None).fflush
    except (AttributeError, OSError, TypeError):
        return None


_flush_compiled = _c_library()


def _flush():
    """Write out what streams hold back: it belongs to where they lead now."""
    for stream in (sys.__stdout__, sys.__stderr__):
        with contextlib.suppress(Exception):  # there is none, or it is closed
            stream.flush()
    if _flush_compiled is not None:
        _flush_compiled(None)


@contextlib.contextmanager
def _silence_below():
    """Drop what is written to the file descriptors 1 and 2."""
    _flush()
    kept = {}
    try:
        for descriptor in (1, 2):
            try:
                kept[descriptor] = os.dup(descriptor)
            except OSError as error:
                if error.errno != errno.EBADF:  # closed: nothing to silence
                    raise
        nowhere = os.open(os.devnull, os.O_WRONLY)
        try:
            for descriptor in kept:
                os.dup2(nowhere, descriptor)
        finally:
            os.close(nowhere)
        yield
    finally:
        _flush()
        for descriptor, copy_of_it in kept.items():
            os.dup2(copy_of_it, descriptor)
            os.close(copy_of_it)


class Quiet:
    """Keep what teachers print, warn of and log from leaving the process: it may be data.

    Output streams, warning filters and logging are global, and teachers may run in threads: the
    first to enter silences them, the last to leave restores them. `isolated` silences again inside
    it, because a teacher may undo this.
    """

    _lock = threading.Lock()
    _depth = 0
    _silence = None

    def __enter__(self):
        with Quiet._lock:
            if Quiet._depth == 0:
                for stream in (sys.stdout, sys.stderr):  # before descriptors lead elsewhere
                    with contextlib.suppress(Exception):
                        stream.flush()
                Quiet._silence = _silence()
                Quiet._silence.__enter__()
            Quiet._depth += 1

    def __exit__(self, *exc_info):
        with Quiet._lock:
            Quiet._depth -= 1
            if Quiet._depth == 0:
                Quiet._silence.__exit__(None, None, None)


# --- redaction ---------------------------------------------------------------------------------


def attempt(function):
    """Call what may quote private values when it fails.

    Raise your own error after it, not within `except`, where an error keeps the one that was
    caught.

    Parameters
    ----------
    function : callable
        Without arguments.

    Returns
    -------
    result : object
        What it returned; None if it failed.
    failed : str or None
        The known name of its error, of any kind, see `known_name`. None if it did not fail.

    Raises
    ------
    KeyboardInterrupt
        A new one, if it was interrupted.

    Examples
    --------
    >>> from sklearn_pate.isolation import attempt
    >>> attempt(lambda: int("4")), attempt(lambda: int("a secret"))
    ((4, None), (None, 'ValueError'))
    """
    try:
        return function(), None
    except BaseException as error:  # SystemExit and panics of Rust extensions too
        interrupted = isinstance(error, KeyboardInterrupt)
        failed = known_name(error)
    if interrupted:
        raise KeyboardInterrupt
    return None, failed


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

#: Names of errors that may be told, by module. They stand here: a class says of itself what it
#: likes, and so does a module, once a teacher has written to it.
_KNOWN_ERRORS = {
    "builtins": tuple(
        name
        for name, kind in vars(builtins).items()
        if isinstance(kind, type) and issubclass(kind, BaseException)
    ),
    "pickle": ("PickleError", "PicklingError", "UnpicklingError"),
    "json": ("JSONDecodeError",),
    "csv": ("Error",),
    "decimal": ("InvalidOperation",),
    "zipfile": ("BadZipFile",),
    "subprocess": ("CalledProcessError", "TimeoutExpired"),
    "sqlite3": ("DatabaseError", "IntegrityError", "InterfaceError", "OperationalError"),
    "socket": ("gaierror",),
    "ssl": ("SSLError",),
    "urllib.error": ("HTTPError", "URLError"),
    "concurrent.futures": ("BrokenExecutor", "CancelledError"),
    "concurrent.futures.process": ("BrokenProcessPool",),
    "joblib.externals.loky.process_executor": ("BrokenProcessPool", "TerminatedWorkerError"),
    "numpy.exceptions": ("AxisError", "ComplexWarning", "DTypePromotionError"),
    "numpy.linalg": ("LinAlgError",),
    "pandas.errors": (
        *("DataError", "EmptyDataError", "IntCastingNaNError", "InvalidIndexError", "MergeError"),
        *("OutOfBoundsDatetime", "OutOfBoundsTimedelta", "ParserError", "PerformanceWarning"),
        *("UndefinedVariableError", "UnsortedIndexError"),
    ),
    "scipy.linalg": ("LinAlgWarning",),
    "scipy.optimize": ("OptimizeWarning",),
    "scipy.sparse": ("SparseEfficiencyWarning",),
    "scipy.sparse.linalg": ("ArpackError", "ArpackNoConvergence", "MatrixRankWarning"),
    "scipy.spatial": ("QhullError",),
    "sklearn.exceptions": (
        *("ConvergenceWarning", "DataConversionWarning", "FitFailedWarning", "NotFittedError"),
        *("InconsistentVersionWarning", "UndefinedMetricWarning", "UnsetMetadataPassedError"),
    ),
    "sklearn.utils._param_validation": ("InvalidParameterError",),
    "sklearn_pate.exceptions": (
        *("BudgetExceededError", "PrivacyLeakWarning", "PrivacyTestError", "StudentError"),
        "TeacherError",
    ),
    "torch": ("OutOfMemoryError",),
    "skorch.exceptions": ("NotInitializedError", "SkorchException"),
    "distributed": ("CancelledError", "KilledWorker"),
    "distributed.comm": ("CommClosedError",),
    "lightgbm.basic": ("LightGBMError",),
    "xgboost.core": ("XGBoostError",),
    "catboost": ("CatBoostError",),
    "pyarrow": ("ArrowException", "ArrowInvalid", "ArrowTypeError"),
    "polars.exceptions": ("ColumnNotFoundError", "ComputeError", "PolarsError", "SchemaError"),
}

#: Builtin ones as they were, before any teacher ran.
_BUILTIN_ERRORS = {name: getattr(builtins, name) for name in _KNOWN_ERRORS["builtins"]}


def known_name(error):
    """Return the name of the error's class, or of the nearest it inherits from that we know.

    Parameters
    ----------
    error : BaseException
        Of any class, whose own name may be data.

    Returns
    -------
    str
        A name of Python's or of a library's.

    Examples
    --------
    >>> from sklearn_pate.isolation import known_name
    >>> known_name(type("Mrs O'Hara, 47", (KeyError,), {})())
    'KeyError'
    """
    # not type(error).__mro__, for which a metaclass may answer
    for kind in type.__dict__["__mro__"].__get__(type(error)):
        for module, names in _KNOWN_ERRORS.items():
            if module == "builtins":
                found = _BUILTIN_ERRORS
            else:
                found = getattr(sys.modules.get(module), "__dict__", {})
            for name in names:
                if found.get(name) is kind:
                    return name
    return "Exception"


#: What is told of a dtype by its kind: widths of numbers and texts may follow from one record.
_KINDS = {
    **{"b": "booleans", "i": "integers", "u": "integers", "f": "floats", "c": "complex numbers"},
    **{"S": "bytes", "U": "text", "T": "text", "O": "objects", "M": "dates", "m": "durations"},
}


def kind_of(dtype):
    """Return in words what may be told of a numpy dtype.

    Parameters
    ----------
    dtype : numpy.dtype
        Of private data.

    Returns
    -------
    str
        Without widths, units and fields.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_pate.isolation import kind_of
    >>> kind_of(np.array(["b", "Lovelace"]).dtype)
    'text'
    """
    return _KINDS.get(dtype.kind, "values of another kind")


def redacted(error, estimator=None):
    """Return what may be told of an error that private data were part of.

    Parameters
    ----------
    error : BaseException
        Raised by a teacher, or on the way to it.
    estimator : estimator, default=None
        The teacher, unfitted. If the error is about a parameter, it is asked which: what it says
        does not depend on records.

    Returns
    -------
    str
        The name of a known class, and a known phrase or what the estimator said.
    """
    if type(error) is TellableError:
        return str(error)
    try:
        text = str(error)
    except BaseException:  # it is the teacher's, too
        text = ""
    withheld = "its text may quote records and is withheld; fit base_estimator yourself to read it"
    known = next((known for known in _TELLABLE if known in text), withheld)
    if isinstance(error, InvalidParameterError):
        known = _wrong_parameter(estimator) or known
    return f"{known_name(error)}: {known}"


def _wrong_parameter(estimator):
    """What scikit-learn says of the first parameter that it refuses, without its value."""
    if not hasattr(estimator, "get_params"):
        return None
    for part in [estimator, *estimator.get_params(deep=True).values()]:
        own = getattr(type(part), "_validate_params", None)
        if own is not BaseEstimator._validate_params:  # another's may say anything
            continue
        try:
            part._validate_params()
        except InvalidParameterError as error:
            return str(error).partition(". Got ")[0]
        except Exception:
            continue
    return None
