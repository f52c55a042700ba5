"""The cache folder `memory`: its access permissions, and fingerprints of fits as keys."""

import ast
import contextlib
import functools
import hashlib
import importlib.metadata
import importlib.util
import io
import os
import platform
import stat
import sys
import sysconfig
import tempfile
import types
from collections.abc import Callable, Iterator
from os import PathLike
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
from joblib import Memory
from joblib import hash as hash_of

from .isolation import redacted, suppress_output

# --- the folder --------------------------------------------------------------------------------


def private_memory(memory: str | PathLike[str] | Memory | None) -> Memory | None:
    """Convert a path to a joblib.Memory that other users cannot read.

    Parameters
    ----------
    memory : str, path-like, joblib.Memory or None
        As given by the user.

    Returns
    -------
    joblib.Memory or None
        The memory. Results are stored in the subfolder `joblib` of the path. The path is absolute,
        so workers may have any working directory. New folders, including parents, have mode 0700;
        existing folders keep their mode. A `joblib.Memory` and None are returned unchanged.

    Raises
    ------
    ValueError
        If the folder cannot be written to, if other users may write in it or in a folder above it,
        or if other users own or may read its subfolder `joblib`.
    """
    if not isinstance(memory, str | os.PathLike):
        return memory
    if os.fspath(memory):
        memory = os.path.abspath(memory)
    inner = os.path.join(memory, "joblib")  # joblib's own name
    try:
        # One folder at a time, because `os.makedirs` creates parents with the mode of the umask
        for folder in (*reversed(Path(memory).parents), memory, inner):
            os.makedirs(folder, mode=0o700, exist_ok=True)
        with tempfile.TemporaryFile(dir=memory, buffering=0) as file:
            file.write(b"?")  # fails on a full disk
    except OSError as error:
        raise ValueError(
            f"memory={memory!r} cannot be written to ({error.strerror}). Choose a folder that you "
            "own, on a disk with free space, or memory=None"
        ) from None
    if hasattr(os, "getuid"):  # on other systems, modes do not control access
        inner_stat = os.stat(inner)
        others_write = _others_can_replace_within(memory)
        others_read = inner_stat.st_mode & (stat.S_IRWXG | stat.S_IRWXO)
        owners = {os.lstat(inner).st_uid, inner_stat.st_uid}  # of a link and its target
        if others_write or others_read or owners != {os.getuid()}:
            raise ValueError(
                f"memory={memory!r} stores votes in {inner!r}, but other users may write in the "
                "first folder, or own or may read the second. chmod go-w the first and chmod 700 "
                "the second, or choose a folder that does not exist yet"
            )
        # The folders may contain links, so the parents of both the path and its target are checked
        for parent in (*Path(memory).parents, *Path(inner).resolve().parents):
            if _others_can_replace_within(parent):
                raise ValueError(
                    f"memory={memory!r} stores votes, but other users may write in {str(parent)!r} "
                    "above it, and could replace it. chmod go-w or chmod +t that folder, or choose "
                    "a folder elsewhere"
                )
    return Memory(memory, verbose=0)


def _others_can_replace_within(folder: Any) -> bool:
    """Return whether other users may write in a folder without a sticky bit."""
    mode = os.stat(folder).st_mode
    return bool(mode & (stat.S_IWGRP | stat.S_IWOTH)) and not mode & stat.S_ISVTX


def cached_seed(memory: Memory, key: Any) -> np.random.SeedSequence:
    """Return the `SeedSequence` that memory stores for a key."""
    with suppress_output():  # a user's own Memory may print the arguments
        return np.random.SeedSequence(memory.cache(_entropy)(key))


def _entropy(key: Any) -> Any:
    """Return fresh entropy, which memory computes once for each key and caches."""
    return np.random.SeedSequence().entropy


def is_cached(memory: Memory, function: Any, *args: Any) -> bool:
    """Return False if memory could not store a result, for which joblib only warns."""
    return memory.location is None or function.check_call_in_cache(*args)


# --- fingerprints of fits ----------------------------------------------------------------------


def digest(*parts: Any) -> str:
    """Return a fingerprint of data and settings, for results cached in memory."""
    return _fingerprint("data that pickle", lambda: hash_of(parts))


def code_digest(*objects: Any) -> str:
    """Return a fingerprint of estimators and of the code that they use.

    The fingerprint depends on the versions of libraries; on the source of the user's modules that
    define estimators, and of the user's modules that they import; and, for classes and functions of
    the running script, lambdas and nested functions, on their compiled code and the values that
    they refer to.

    Some changes are not detected: values of module variables that the source does not determine,
    compiled code outside of libraries, imports within other statements, and contents of files. The
    fingerprint is different each time if the script creates a generator without a seed, or has a
    variable that a fit changes.

    Parameters
    ----------
    *objects : object
        Estimators, with all their attributes.

    Returns
    -------
    str
        Fingerprint, which is the same in each process.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn_pate.runtime.memory import code_digest
    >>> code_digest(GaussianNB()) == code_digest(GaussianNB())
    True
    """
    return _fingerprint("estimators that pickle (base_estimator)", lambda: _code_digest(objects))


def _fingerprint(of_what: str, make: Callable[[], str]) -> str:
    with suppress_output():  # the hashed values may be private
        subject = f"memory requires {of_what}, to detect changes; got"
        return redacted(make, subject, "Use memory=None")


def _code_digest(objects: Any) -> str:
    modules = {"numpy", "scipy", "pandas", "sklearn", "joblib", "sklearn_pate"}
    parts = [platform.python_version().encode(), _pickled(objects, modules)]
    for name in _with_imported(modules):
        file = _own_file(name)
        content = _version(name).encode() if file is None else file.read_bytes()
        parts += [name.encode(), content]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


class _Pickler(cloudpickle.Pickler):
    """Pickler with the same result in each process, which collects the modules of all objects."""

    def __init__(self, file: Any, modules: Any) -> None:
        super().__init__(file)
        self.modules = modules

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, type | types.FunctionType | types.BuiltinFunctionType):
            self.modules.add(str(obj.__module__))
        elif isinstance(obj, types.ModuleType):
            self.modules.add(obj.__name__)
        elif isinstance(obj, _CACHED):  # which would be pickled by its name
            return tuple, ((obj.__wrapped__,),)
        return super().reducer_override(obj)

    def persistent_id(self, obj: Any) -> Any:
        if isinstance(obj, str):  # by value, because the identity of equal strings may differ
            return b"" if obj in _CLASS_NAMES else obj.encode("utf-8", "surrogatepass")
        if isinstance(obj, set | frozenset):  # sorted, because the order differs between processes
            return b"".join(sorted(_pickled(part, self.modules) for part in obj))
        is_tensor = isinstance(obj, getattr(sys.modules.get("torch"), "Tensor", ()))
        if is_tensor:
            with contextlib.suppress(TypeError, RuntimeError):  # for a dtype that numpy lacks
                # By value, because the pickle of a tensor contains addresses
                return _pickled(("tensor", obj.numpy(force=True)), self.modules)
        return None


#: The random names under which `cloudpickle` tracks classes of the script.
_CLASS_NAMES = getattr(cloudpickle.cloudpickle, "_DYNAMIC_CLASS_TRACKER_BY_ID", ())
#: Type of the functions that `functools.cache` returns.
_CACHED = type(functools.cache(len))


def _pickled(obj: Any, modules: Any) -> bytes:
    """Return an object as bytes, and add the names of its modules to `modules`."""
    with io.BytesIO() as file:
        _Pickler(file, modules).dump(obj)
        return file.getvalue()


def _with_imported(modules: Any) -> list[str]:
    """Return names of modules and of the imports of the user's own modules."""
    names = list(modules)
    for name in names:  # includes names that are appended in the loop
        file = _own_file(name)
        if file is not None:
            names += set(_imported(name, file)) - set(names)
    return sorted(names)


def _imported(name: str, file: Path) -> Iterator[str]:
    """Yield the top-level imports in a module's source: names of modules, and names in them.

    Imports within other statements, such as functions, are not found.
    """
    for statement in ast.parse(file.read_bytes()).body:
        if isinstance(statement, ast.Import):
            yield from (alias.name for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom):
            relative = "." * statement.level + (statement.module or "")
            module = importlib.util.resolve_name(relative, sys.modules[name].__package__)
            yield module
            yield from (f"{module}.{alias.name}" for alias in statement.names)


def _own_file(name: str) -> Path | None:
    """Return the source file of a user's own module; None for a library or the script."""
    file = str(getattr(sys.modules.get(name), "__file__", None))
    is_script = name in ("__main__", "__mp_main__")  # which is pickled by value
    if is_script or name.partition(".")[0] == "sklearn_pate" or not file.endswith(".py"):
        return None
    path = Path(file).resolve()
    is_installed = bool({"site-packages", "dist-packages"} & set(path.parts))
    return None if is_installed or any(map(path.is_relative_to, _python_folders())) else path


@functools.cache
def _python_folders() -> list[Path]:
    """Return the folders of Python's standard library."""
    return [Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib")]


def _version(name: str) -> str:
    """Return the version of the library that contains a module, as text."""
    top = name.partition(".")[0]
    version = getattr(sys.modules.get(top), "__version__", None)
    if version is None:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            version = importlib.metadata.version(top)
    return str(version)
