"""The folder of `memory=`: who may read it, and what tells one fit from another in it."""

import ast
import contextlib
import dis
import functools
import hashlib
import importlib.metadata
import inspect
import os
import platform
import random
import stat
import sys
import sysconfig
import tempfile
import tokenize
import types
from pathlib import Path

import numpy as np
from joblib import Memory
from joblib.hashing import NumpyHasher

from ._python import PUT_INTO_CLASSES
from .isolation import Quiet, attempt, known_name

__all__ = ["code_digest", "digest", "is_kept", "kept_seed", "private_memory"]


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
        directory. Folders that are made here have mode 0700; those that exist keep theirs, and so
        does that of a `joblib.Memory`.

    Raises
    ------
    ValueError
        If the folder cannot be written to, if others may write in it, or if others may read its
        folder `joblib`.
    """
    if type(memory) is Memory:
        return _absolute(memory)
    if not isinstance(memory, str | os.PathLike):
        return memory
    if os.fspath(memory):
        memory = os.path.abspath(memory)
    inner = os.path.join(memory, "joblib")  # joblib's own name
    problem = None
    try:
        for folder in (memory, inner):
            os.makedirs(folder, mode=0o700, exist_ok=True)
        with tempfile.TemporaryFile(dir=memory, buffering=0) as file:
            file.write(b"?")  # a full disk fails here
    except OSError as error:
        problem = error.strerror
    if problem is not None:
        raise ValueError(
            f"memory={memory!r} cannot be written to ({problem}); nothing was "
            "trained. Choose a folder that is yours, on a disk with room, or memory=None"
        )
    if hasattr(os, "getuid"):  # elsewhere modes do not say who may read
        _check_modes(memory, inner)
    return Memory(memory, verbose=0)


def _absolute(memory):
    """Return a Memory whose folder does not depend on the working directory of a worker."""
    if not isinstance(memory.location, str) or os.path.isabs(memory.location):
        return memory
    return Memory(
        os.path.abspath(memory.location),
        backend=memory.backend,
        mmap_mode=memory.mmap_mode,
        compress=memory.compress,
        verbose=memory._verbose,
        backend_options=memory.backend_options,
    )


def _check_modes(outer, inner):
    """Refuse folders in which others could read votes, or put votes of their own."""
    outer_stat = os.stat(outer)
    inner_stat = os.stat(inner)
    may_write = outer_stat.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    # With the sticky bit, as of /tmp, others cannot replace the folder within
    if may_write and not outer_stat.st_mode & stat.S_ISVTX:
        raise ValueError(
            f"memory={outer!r} has mode {stat.S_IMODE(outer_stat.st_mode):04o}: others may write "
            "in it, and could replace the votes that are kept there by their own. chmod "
            f"go-w {outer!r}, or choose a folder of your own; nothing was trained"
        )
    owners = {os.lstat(inner).st_uid, inner_stat.st_uid}  # of a link and its target
    if owners != {os.getuid()}:
        raise ValueError(
            f"memory={outer!r} has a folder 'joblib' of another user, who could read the votes "
            "that are kept there. Choose a folder of your own; nothing was trained"
        )
    if inner_stat.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise ValueError(
            f"memory={outer!r} keeps single teachers' votes in {inner!r}, which has mode "
            f"{stat.S_IMODE(inner_stat.st_mode):04o}: others may read it. chmod 700 {inner!r}, or "
            "choose a folder that does not exist yet; nothing was trained"
        )


def kept_seed(memory, key):
    """Return a `SeedSequence` that is the same for the same key as long as memory lasts."""
    with Quiet():  # a Memory of the user's may print the arguments
        return np.random.SeedSequence(memory.cache(_entropy)(key))


def _entropy(key):
    """Return fresh entropy; memory, which calls this once for each key, keeps it."""
    return np.random.SeedSequence().entropy


def is_kept(memory, function, *args):
    """Whether memory, if there is one, has a result: joblib only warns if it cannot write."""
    return memory.location is None or function.check_call_in_cache(*args)


# --- what tells one fit from another -----------------------------------------------------------


def digest(*parts):
    """Return a fingerprint of data and settings, for what is kept in memory.

    Classes and functions count by their names, see `code_digest`.
    """
    with Quiet():  # what is hashed may be private
        fingerprint, failed = attempt(lambda: _Hasher().hash(parts))
    if failed is None:
        return fingerprint
    raise ValueError(
        "memory needs data and estimators that pickle, to tell whether they changed; "
        f"{failed} for this data or base_estimator. Use memory=None"
    )


def code_digest(*objects):
    """Return a fingerprint of the code that objects bring along, and of the libraries they use.

    Libraries count by their versions. Classes and functions of anything else count by what they
    were compiled to, with defaults, closures and class attributes; so do the functions, classes
    and modules that they name. Other variables that they name count by their value, wherever it
    came from; lists, dicts and other objects count by the statements of the module that assign
    them as well.

    Some variables count by their type and these statements only, because their value differs
    between fits: random number generators, `os.environ`, and variables that the code that names
    them assigns (``global``), writes items of, or calls a method like `append` or `update` of. Any
    other variable whose value differs counts as changed, even if it was a fit that changed it.

    What is not seen: the value of such a variable if these statements are the same or in another
    module; what code finds by a name made at run time (`getattr`, `globals`), imports inside a
    function or reads from a file; annotations; the state of objects that do not pickle (unless it
    is only their functions and classes that do not); compiled code outside of libraries.

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
    >>> from sklearn_pate.memory import code_digest
    >>> code_digest(GaussianNB()) == code_digest(GaussianNB())
    True
    """
    code = _Code()
    try:
        for name in ("numpy", "scipy", "pandas", "sklearn", "joblib", "sklearn_pate"):
            code.add_library(name)
        for obj in objects:
            code.add(obj)
        return code.digest()
    except Exception as error:  # a class may do anything when it is asked for its parts
        failed = known_name(error)
    raise ValueError(
        f"memory could not read the code of base_estimator, to tell whether it changed ({failed}). "
        "Use memory=None"
    )


#: What classes hold that does not come from their definition, or only describes it.
_NOT_CODE = PUT_INTO_CLASSES | {"__signature__", "__slotnames__"}

#: Values that are told apart by their texts.
_PLAIN = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis))

#: Values that change with each use, or differ in each process.
_VARYING = (random.Random, np.random.Generator, np.random.RandomState, type(os.environ))

#: Methods that change the list, dict or set that they are called on.
_CHANGING = {"add", "append", "clear", "extend", "insert", "pop", "setdefault", "update"}


class _Code:
    """Hashes code and the values it names, each object once."""

    def __init__(self):
        self.hash = hashlib.sha256(platform.python_version().encode())
        self.objects = {}  # by id: number and object, held so that its id is not used again
        self.libraries = set()
        self.variables = set()

    def digest(self):
        return self.hash.hexdigest()

    def token(self, *texts):
        for text in texts:
            self.hash.update(repr(text).encode("utf-8", "surrogatepass") + b"\x00")

    def add(self, value):
        """Add any value, and the code that it brings along."""
        if isinstance(value, _PLAIN):
            self.token(type(value).__name__, value)
            return
        if isinstance(value, tuple):  # processes differ in which equal ones are one object
            self.add_parts("tuple", value)
            return
        if isinstance(value, set | frozenset):
            self.token("set", sorted(map(self.alone, value)))
            return
        if id(value) in self.objects:
            self.token("seen", self.objects[id(value)][0])
            return
        self.objects[id(value)] = (len(self.objects), value)
        self.add_new(value)

    def add_new(self, value):
        """Add a value that was not met before."""
        if isinstance(value, list):
            self.add_parts("list", value)
        elif isinstance(value, dict):
            self.add_parts("dict", value.items())
        elif isinstance(value, types.CodeType):
            self.add_compiled(value)
        elif isinstance(value, types.ModuleType):
            self.token("module", value.__name__)
            self.add_library(value.__name__)
        elif isinstance(value, type):
            self.add_class(value)
        elif isinstance(value, types.FunctionType):
            self.add_function(value)
        elif isinstance(value, types.MethodType):
            self.add(value.__func__)
            self.add(value.__self__)
        elif isinstance(value, staticmethod | classmethod):
            self.token(type(value).__name__)
            self.add(value.__func__)
        elif isinstance(value, property):
            self.add((value.fget, value.fset, value.fdel))
        elif isinstance(value, functools.partial):
            self.add((value.func, value.args, value.keywords))
        elif isinstance(value, types.BuiltinFunctionType):
            self.token("builtin", value.__module__, value.__qualname__)
            self.add_library(str(value.__module__))
        elif inspect.getattr_static(value, "__wrapped__", None) is not None:  # functools.cache
            self.token(type(value).__qualname__)
            self.add(value.__wrapped__)
        else:
            self.add_object(value)

    def add_parts(self, kind, parts):
        self.token(kind, len(parts))
        for part in parts:
            self.add(part)

    def add_object(self, value):
        """Add the classes and functions in an object, and its state, where it pickles."""
        self.add(type(value))
        state = _State()
        with contextlib.suppress(Exception):
            self.token(state.hash(value))
        for part in state.code:
            self.add(part)

    def add_library(self, module):
        """Add the version of the library that a module is in."""
        top = module.partition(".")[0]
        if top not in self.libraries:
            self.libraries.add(top)
            self.token("library", top, _version(top))

    def add_class(self, kind):
        self.token("class", kind.__module__, kind.__qualname__)
        if _is_library(kind.__module__):
            self.add_library(kind.__module__)
            return
        self.add(type(kind))
        for base in kind.__bases__:
            self.add(base)
        for name in sorted(set(vars(kind)) - _NOT_CODE):
            self.token(name)
            self.add(vars(kind)[name])

    def add_function(self, function):
        self.token("function", function.__module__, function.__qualname__)
        if _is_library(function.__module__):
            self.add_library(function.__module__)
            return
        self.add(function.__code__)
        self.add(function.__defaults__)
        self.add(function.__kwdefaults__)
        self.add(function.__dict__)
        for cell in function.__closure__ or ():
            with contextlib.suppress(ValueError):  # it is empty
                self.add(cell.cell_contents)
        self.add_named(function.__code__, function.__globals__)

    def add_compiled(self, code):
        """Add what a function was compiled to, but not where it stands in its file."""
        counts = (
            code.co_argcount,
            code.co_posonlyargcount,
            code.co_kwonlyargcount,
            code.co_flags,
        )
        names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
        self.token("code", code.co_code, counts, names)
        self.token(getattr(code, "co_exceptiontable", b""))
        self.add(code.co_consts)

    def add_named(self, code, variables):
        """Add the variables of its module that a function names."""
        codes = list(_nested(code))
        steps = [step for part in codes for step in dis.get_instructions(part)]
        read = {step.argval for step in steps if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
        written = {step.argval for step in steps if step.opname == "STORE_GLOBAL"}
        written.update(_changed(steps))
        attributes = sorted({name for part in codes for name in part.co_names})
        module = variables.get("__name__")
        for name in sorted(read & set(variables)):
            self.token(name)
            self.add_variable(module, name, variables[name], name in written, attributes)

    def add_variable(self, module, name, value, is_changed, attributes):
        """Add a variable of a module; of a module it leads to, the attributes that are named."""
        if isinstance(value, types.ModuleType):
            self.add(value)
            if not _is_library(value.__name__):
                self.add_attributes(value, attributes)
        elif callable(value) or (isinstance(value, _PLAIN) and not is_changed):
            self.add(value)
        else:
            self.token(_assignments(module).get(name))
            self.add(type(value))
            if not is_changed and not isinstance(value, _VARYING):
                self.add(value)

    def add_attributes(self, module, names):
        """Add variables of a module, each once."""
        for name in names:
            key = (module.__name__, name)
            if name in vars(module) and key not in self.variables:
                self.variables.add(key)
                self.token(name)
                self.add_variable(module.__name__, name, vars(module)[name], False, names)

    def alone(self, value):
        """Return the fingerprint of one value of a set: sets have no order."""
        code = _Code()
        code.objects = self.objects.copy()  # a function may name the set that it is in
        code.add(value)
        return code.digest()


class _Hasher(NumpyHasher):
    """Hashes data; tensors by their values, because their pickles contain addresses."""

    def save(self, obj):
        if isinstance(obj, getattr(sys.modules.get("torch"), "Tensor", ())):
            with contextlib.suppress(TypeError, RuntimeError):  # of a dtype that numpy lacks
                obj = ("tensor", obj.numpy(force=True))
        super().save(obj)


class _State(_Hasher):
    """Hashes what an object holds, and collects the classes and functions in it."""

    def __init__(self):
        super().__init__()
        self.code = []

    def save(self, obj):
        if isinstance(obj, type | types.FunctionType):  # these count by their code, see `_Code`
            self.code.append(obj)
            obj = "code"
        super().save(obj)


def _changed(steps):
    """Yield the names of variables that a function writes items of, or calls `append` of."""
    for step, second, third in zip(steps, steps[1:], steps[2:], strict=False):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            calls = second.opname in ("LOAD_ATTR", "LOAD_METHOD") and second.argval in _CHANGING
            assigns = third.opname in ("STORE_SUBSCR", "DELETE_SUBSCR")
            augments = third.opname == "COPY" and third.arg == 2  # += of an item
            if calls or assigns or augments:
                yield step.argval


def _nested(code):
    """Yield a function's code, and that of functions within it."""
    yield code
    for value in code.co_consts:
        if isinstance(value, types.CodeType):
            yield from _nested(value)


def _statements(body):
    """Yield the statements of a module, also those within others, but not within functions."""
    for statement in body:
        yield statement
        if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for field in ("body", "orelse", "handlers", "finalbody", "cases"):
                yield from _statements(getattr(statement, field, ()))


def _assignments(module):
    """Return the statements that assign each variable of a module, as text without comments."""
    try:
        with tokenize.open(sys.modules[module].__file__) as file:
            statements = list(_statements(ast.parse(file.read()).body))
    except Exception:  # no source, as in an interactive session
        return {}
    texts = {}
    for statement in statements:
        if isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    texts[node.id] = texts.get(node.id, "") + ast.unparse(statement)
    return texts


def _standard_library_folders():
    """Return the folders of the standard library."""
    paths = [sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")]
    return [Path(path).resolve() for path in paths if path]


def _is_library(module):
    """Return whether a module belongs to Python, to an installed package or to this one."""
    top = str(module).partition(".")[0]
    if top == "sklearn_pate":
        return True
    if top in ("__main__", "__mp_main__"):
        return False
    file = getattr(sys.modules.get(str(module)), "__file__", None)
    if file is None:
        return top in sys.stdlib_module_names
    parents = Path(file).resolve().parents
    installed = any(parent.name in ("site-packages", "dist-packages") for parent in parents)
    return installed or any(folder in parents for folder in _standard_library_folders())


def _modified(folders):
    """Return when something was last put into each folder."""
    times = []
    for folder in folders:
        try:
            times.append((folder, os.stat(folder or ".").st_mtime_ns))
        except OSError:
            times.append((folder, None))
    return tuple(times)


@functools.lru_cache(maxsize=1)
def _distributions(modified):
    """Return the distributions of each top-level module, which takes long to find."""
    return importlib.metadata.packages_distributions()


def _version(top):
    """Return the version of a top-level module's distribution, or None."""
    if top in sys.stdlib_module_names:
        return platform.python_version()
    version = getattr(sys.modules.get(top), "__version__", None)
    if isinstance(version, str):
        return version
    for name in (top, *_distributions(_modified(sys.path)).get(top, ())):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            return importlib.metadata.version(name)
    return None
