"""State of a process, and new processes, each forked from one with the package imported."""

import contextlib
import logging
import multiprocessing
import os
import random
import sys
import threading
import traceback
import types
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import joblib.memory
import numpy as np
import pandas as pd
import sklearn
from joblib.externals.loky import get_reusable_executor
from joblib.externals.loky.backend.context import set_start_method
from joblib.parallel import get_active_backend
from one_teacher import in_new_process
from scipy import special


def generator_states():
    """Return the state of each global generator that can be asked for here."""
    torch = sys.modules.get("torch")
    on_cpu = None if torch is None else torch.get_rng_state().numpy().tobytes()
    name, keys, *rest = np.random.get_state()
    return name, keys.tobytes(), rest, random.getstate(), on_cpu


def process_settings():
    """Return the state of a process that an estimator might change."""
    return {
        "numpy": np.geterr(),
        "filters": list(warnings.filters),
        "logging": logging.root.manager.disable,
        "out": sys.stdout,
        "err": sys.stderr,
        "scikit-learn": sklearn.get_config(),
        "joblib": (type(get_active_backend()[0]), get_active_backend()[1]),
        "scipy": special.geterr(),
        "warnings": warnings.showwarning,
        "printing": np.get_printoptions(),
        "environment": dict(os.environ),
        "folder": os.getcwd(),
        "pandas": pd.get_option("display.max_rows"),
    }


class Run(NamedTuple):
    """Exit status of a script, and its output."""

    returncode: int
    stdout: str
    stderr: str


def run_script(code, *arguments):
    """Run code as a script of a process in which nothing has run, but the package is imported."""
    with TemporaryDirectory() as folder:
        files = [Path(folder) / name for name in ("stdout", "stderr")]
        status = in_new_process(_as_main, code, arguments, files, limit=300)
        return Run(status, *(file.read_text() for file in files))


def _as_main(code, arguments, files):
    for descriptor, (name, file) in enumerate(zip(("stdout", "stderr"), files, strict=True), 1):
        with open(file, "wb") as opened:
            os.dup2(opened.fileno(), descriptor)
        stream = open(descriptor, "w", closefd=False)  # noqa: SIM115
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    sys.argv = ["-c", *map(str, arguments)]
    status = 0
    try:
        exec(code, main.__dict__)
    except SystemExit as end:
        status = end.code
    except BaseException:
        traceback.print_exc()
        status = 1
    threading._shutdown()  # as when Python ends: workers of joblib's end with it
    for stream in filter(None, (sys.stdout, sys.stderr)):
        stream.flush()
    return status


def marks_since_last(file):
    """Return a function that returns the growth of a file since its last call."""
    joblib.memory._FUNCTION_HASHES.clear()  # as in a new process, which may use one folder only
    file.touch()
    seen = [0]

    def since():
        seen.append(file.stat().st_size)
        return seen[-1] - seen[-2]

    return since


@contextlib.contextmanager
def loky_forks():
    """Let loky fork its workers from the same process, which takes no time, for a block."""
    method = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "loky"
    in_new_process(os.getpid)  # starts the process that is forked
    get_reusable_executor().shutdown(kill_workers=True)
    set_start_method(method, force=True)
    try:
        yield
    finally:
        get_reusable_executor().shutdown(kill_workers=True)
        set_start_method(None, force=True)
