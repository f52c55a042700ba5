"""The folder of `memory=`: who may read it, and what tells one fit from another in it."""

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
from pathlib import Path

import cloudpickle
import numpy as np
from joblib import Memory
from joblib import hash as hash_of

from .isolation import redacted, suppress_output

# --- the folder --------------------------------------------------------------------------------


def private_memory(memory):
    """Return `memory`, a path or a joblib.Memory, as a joblib.Memory that others cannot read.

    Parameters
    ----------
    memory : str, path-like, joblib.Memory or None
        As the user gave it.

    Returns
    -------
    joblib.Memory or None
        Results go to the folder `joblib` within the path, and workers find it from any working
        directory. Folders that are made here, parents too, have mode 0700; those that exist keep
        theirs. A `joblib.Memory` is taken as it is.

    Raises
    ------
    ValueError
        If the folder cannot be written to, if others may write in it or in a folder above it, or
        if others may read its folder `joblib`.
    """
    if not isinstance(memory, str | os.PathLike):
        return memory
    if os.fspath(memory):
        memory = os.path.abspath(memory)
    inner = os.path.join(memory, "joblib")  # joblib's own name
    try:
        # Each by itself: `os.makedirs` gives parents the mode that the umask leaves
        for folder in (*reversed(Path(memory).parents), memory, inner):
            os.makedirs(folder, mode=0o700, exist_ok=True)
        with tempfile.TemporaryFile(dir=memory, buffering=0) as file:
            file.write(b"?")  # a full disk fails here
    except OSError as error:
        raise ValueError(
            f"memory={memory!r} cannot be written to ({error.strerror}). Choose a folder that is "
            "yours, on a disk with room, or memory=None"
        ) from None
    if hasattr(os, "getuid"):  # elsewhere modes do not say who may read
        inner_stat = os.stat(inner)
        others_write = _others_can_replace_within(memory)
        others_read = inner_stat.st_mode & (stat.S_IRWXG | stat.S_IRWXO)
        owners = {os.lstat(inner).st_uid, inner_stat.st_uid}  # of a link and its target
        if others_write or others_read or owners != {os.getuid()}:
            raise ValueError(
                f"memory={memory!r} keeps votes in {inner!r}, and others own one of these folders, "
                "may write in the first or read the second. chmod go-w the first and chmod 700 the "
                "second, or choose a folder that does not exist yet"
            )
        # A link among the folders leads to other ones: both ways are checked
        for parent in (*Path(memory).parents, *Path(inner).resolve().parents):
            if _others_can_replace_within(parent):
                raise ValueError(
                    f"memory={memory!r} is for votes, and others may write in {str(parent)!r} "
                    "above it, so that they can replace it. chmod go-w that folder, or chmod +t "
                    "it, or choose a folder elsewhere"
                )
    return Memory(memory, verbose=0)


def _others_can_replace_within(folder):
    """Return whether others may write in a folder; not with the sticky bit, as of /tmp."""
    mode = os.stat(folder).st_mode
    return bool(mode & (stat.S_IWGRP | stat.S_IWOTH)) and not mode & stat.S_ISVTX


def cached_seed(memory, key):
    """Return a `SeedSequence` that is the same for the same key as long as memory lasts."""
    with suppress_output():  # a Memory of the user's may print the arguments
        return np.random.SeedSequence(memory.cache(_entropy)(key))


def _entropy(key):
    """Return fresh entropy; memory, which calls this once for each key, keeps it."""
    return np.random.SeedSequence().entropy


def is_cached(memory, function, *args):
    """Whether memory, if there is one, has a result: joblib only warns if it cannot write."""
    return memory.location is None or function.check_call_in_cache(*args)


# --- what tells one fit from another -----------------------------------------------------------


def digest(*parts):
    """Return a fingerprint of data and settings, for what is kept in memory."""
    return _fingerprint("data that pickle", lambda: hash_of(parts))


def code_digest(*objects):
    """Return a fingerprint of estimators with the code that they bring along.

    Libraries count by their versions. Modules of one's own that estimators come from count by
    their source, and so do modules of one's own that these import. Classes and functions of the
    script that runs, lambdas and functions within others count by what they were compiled to and
    by the values that they refer to.

    What is not seen: variables of modules whose value does not follow from the source, compiled
    code outside of libraries, and what is imported within other statements or read from a file. A
    generator that the script makes without a seed, and a variable of the script that a fit
    changes, differ each time.

    Parameters
    ----------
    *objects : object
        Estimators, with all that they hold.

    Returns
    -------
    str
        The same in another process if nothing changed.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn_pate.runtime.memory import code_digest
    >>> code_digest(GaussianNB()) == code_digest(GaussianNB())
    True
    """
    return _fingerprint("estimators that pickle (base_estimator)", lambda: _code_digest(objects))


def _fingerprint(of_what, make):
    with suppress_output():  # what is hashed may be private
        subject = f"memory needs {of_what}, to notice changes; got"
        return redacted(make, subject, "Use memory=None")


def _code_digest(objects):
    modules = {"numpy", "scipy", "pandas", "sklearn", "joblib", "sklearn_pate"}
    parts = [platform.python_version().encode(), _pickled(objects, modules)]
    for name in _with_imported(modules):
        file = _own_file(name)
        content = _version(name).encode() if file is None else file.read_bytes()
        parts += [name.encode(), content]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


class _Pickler(cloudpickle.Pickler):
    """Pickles an estimator in the same way in each process, and notes where its parts are from."""

    def __init__(self, file, modules):
        super().__init__(file)
        self.modules = modules

    def reducer_override(self, obj):
        if isinstance(obj, type | types.FunctionType | types.BuiltinFunctionType):
            self.modules.add(str(obj.__module__))
        elif isinstance(obj, types.ModuleType):
            self.modules.add(obj.__name__)
        elif isinstance(obj, _CACHED):  # pickled by its name
            return tuple, ((obj.__wrapped__,),)
        return super().reducer_override(obj)

    def persistent_id(self, obj):
        if isinstance(obj, str):  # each anew: processes differ in which equal ones are one object
            return b"" if obj in _CLASS_NAMES else obj.encode("utf-8", "surrogatepass")
        if isinstance(obj, set | frozenset):  # processes differ in their order
            return b"".join(sorted(_pickled(part, self.modules) for part in obj))
        if isinstance(obj, getattr(sys.modules.get("torch"), "Tensor", ())):
            with contextlib.suppress(TypeError, RuntimeError):  # of a dtype that numpy lacks
                # By its values: its pickle contains addresses
                return _pickled(("tensor", obj.numpy(force=True)), self.modules)
        return None


#: The random names by which `cloudpickle` finds classes of the script again.
_CLASS_NAMES = getattr(cloudpickle.cloudpickle, "_DYNAMIC_CLASS_TRACKER_BY_ID", ())
#: What `functools.cache` makes of functions.
_CACHED = type(functools.cache(len))


def _pickled(obj, modules):
    """Return an object as bytes, and add the names of the modules that it comes from."""
    with io.BytesIO() as file:
        _Pickler(file, modules).dump(obj)
        return file.getvalue()


def _with_imported(modules):
    """Return names of modules and, for those of one's own, of what their sources import."""
    names = list(modules)
    for name in names:  # also those that are added meanwhile
        file = _own_file(name)
        if file is not None:
            names += set(_imported(name, file)) - set(names)
    return sorted(names)


def _imported(name, file):
    """Yield what the source of a module imports: names of modules, and names in them."""
    for statement in ast.parse(file.read_bytes()).body:
        if isinstance(statement, ast.Import):
            yield from (alias.name for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom):
            relative = "." * statement.level + (statement.module or "")
            module = importlib.util.resolve_name(relative, sys.modules[name].__package__)
            yield module
            yield from (f"{module}.{alias.name}" for alias in statement.names)


def _own_file(name):
    """Return the source file of a module of one's own; None of a library, or of the script."""
    file = str(getattr(sys.modules.get(name), "__file__", None))
    is_script = name in ("__main__", "__mp_main__")  # which is pickled by value
    if is_script or name.partition(".")[0] == "sklearn_pate" or not file.endswith(".py"):
        return None
    path = Path(file).resolve()
    folders = [Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib")]
    is_installed = bool({"site-packages", "dist-packages"} & set(path.parts))
    return None if is_installed or any(map(path.is_relative_to, folders)) else path


def _version(name):
    """Return the version of the library that a module is of, as text."""
    top = name.partition(".")[0]
    version = getattr(sys.modules.get(top), "__version__", None)
    if version is None:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            version = importlib.metadata.version(top)
    return str(version)
