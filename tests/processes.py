"""New processes that need not import the package again: each is forked from one that has."""

import contextlib
import multiprocessing
import os
import sys
import threading
import traceback
import types
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from joblib.externals.loky import get_reusable_executor
from joblib.externals.loky.backend.context import set_start_method

from benchmarks.isolation import in_new_process


class Run(NamedTuple):
    """How a script ended, and what it wrote."""

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


#: What follows a script that defines `folder`, and `poll(memory)`, which lengthens the file `done`.
_KILLED_TEN_TIMES = """
import signal

def count():
    return os.path.getsize(folder + "/done")

open(folder + "/done", "w").close()
killed = 0
for _ in range(10):
    some = count() + rng.integers(1, 10)
    child = os.fork()
    if not child:
        poll(folder + "/kept")
        os._exit(0)
    while count() < some:
        time.sleep(0.001)
    time.sleep(rng.uniform(0, 0.03))
    os.kill(child, signal.SIGKILL)
    killed += os.waitpid(child, 0)[1] == signal.SIGKILL
before = count()
found = poll(folder + "/kept")
print(killed, before, count(), np.array_equal(found, poll(None)))
"""


def killed_ten_times(code, folder):
    """Kill ten polls while they run; return how much was done until the eleventh had finished."""
    run = run_script(code + _KILLED_TEN_TIMES, folder)
    assert run.returncode == 0, run.stderr
    n_killed, n_before, n_done, is_same = run.stdout.split()
    assert is_same == "True" and int(n_killed) == 10 and int(n_before) > 0
    return int(n_done)


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
