"""Execution of tasks by joblib: processes or threads, batches, and threads of a worker.

Other processes run five kinds of tasks during a fit, and no other tasks: they train a teacher and
return its votes (`teachers.training.fit_and_vote`), count a block of records
(`runtime.blocks.count_block`), add up rows or residuals (`class_sums`), count a block of rows for
an estimated schema (`schema_release.counts`), or load the records of a site and return their counts
or sums (`runtime.sites`). The noise is drawn, and the student and networks of `BatchedTeachers` are
trained, in the process of the fit.

The function of the tasks is pickled once and sent with each task. Each worker unpickles it once,
and keeps it after the fit. The records are pickled task by task (`_packed`); for processes of this
machine, the rows of a mapped file are pickled as their place in the file (`mapped`). Tasks with
records that cannot be pickled run in the process of the fit. joblib pickles the other arguments:
models, queries, seeds and settings. Workers return votes or tables, and fitted teachers as bytes if
they are kept. A pickled estimator has no `curator_`, no fitted parameters and no seed that was used
(`PATEEstimator.__getstate__`).
"""

import functools
import itertools
import math
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import cloudpickle
import numpy as np
from joblib import Parallel, cpu_count, delayed, effective_n_jobs
from joblib.externals.loky import get_reusable_executor
from joblib.parallel import LokyBackend, get_active_backend
from threadpoolctl import ThreadpoolController

from ..exceptions import TeacherError, warn
from .isolation import attempt, suppress_output
from .mapped import Packer, ReplacedFileError

#: Number of times that new workers repeat the tasks of a worker process that died.
_N_RETRIES = 2


class WorkerDeathError(RuntimeError):
    """Worker processes died while they ran private tasks; the message contains no data."""


def batch_size(n_tasks: int, n_jobs: int | None, *, per_worker: int = 128) -> int:
    """Return the number of quick tasks in one batch, of about `per_worker` batches per worker."""
    # joblib's own batches of quick tasks grow without limit, and so do the results that wait in
    # memory and the time that workers wait for the last batch
    return min(max(n_tasks // (per_worker * effective_n_jobs(n_jobs)), 1), 16)


def block_batch_size(n_records: int, block_size: int, n_jobs: int | None) -> int:
    """Return the number of blocks of records in one batch for a worker.

    A block takes about 10 ms, so sending each by itself would take a tenth of the time.
    """
    return batch_size(math.ceil(n_records / block_size), n_jobs, per_worker=64)


def run(
    tasks: Iterable[tuple[Any, ...]],
    function: Callable[..., Any],
    n_jobs: int | None,
    batch_size: int = 1,
    *,
    may_stay: bool = True,
) -> Iterator[Any]:
    """Run tasks, and yield their results in the order in which tasks end.

    If the backend cannot stream results, the tasks run in rounds.

    Parameters
    ----------
    tasks : iterable of tuples
        Each tuple has private records and other arguments, and is read when its task starts. A task
        with records that cannot be pickled runs in this process, after the other tasks, because
        records must not determine whether a fit fails.
    function : callable
        Takes the elements of a tuple. It must return failures, because the text of a raised error
        may quote private data. Workers keep it, so it must be public.
    n_jobs : int or None
        As in joblib.
    batch_size : int, default=1
        Number of tasks in one batch for a worker.
    may_stay : bool, default=True
        Whether tasks may run in this process. If False, records that cannot be pickled raise an
        error.

    Raises
    ------
    WorkerDeathError
        If workers die three times. After the first and second time, new workers run the tasks.
    TypeError
        If `may_stay` is False and records cannot be pickled.
    """
    stay: list[Any] = []
    remote = function
    if not run_in_this_process(n_jobs):
        # Other backends may have workers on other machines
        is_here = type(get_active_backend()[0]) is LokyBackend
        dumps = Packer().dumps if is_here else cloudpickle.dumps
        tasks = _packed(tasks, dumps, stay if may_stay else None)
        remote = partial(_unpacked, cloudpickle.dumps(function))
    waiting = enumerate(tasks)
    # Tasks without a result, by number: few, as tasks are read when they start
    sent: dict[int, Any] = {}
    for n_deaths in itertools.count(1):
        calls = _calls(itertools.chain(list(sent.items()), waiting), sent, remote)
        died = "TerminatedWorkerError"
        try:
            for number, result in _results(calls, n_jobs, batch_size):
                if sent.pop(number, None) is not None:
                    yield result
        except BrokenExecutor as error:
            died = type(error).__name__
        if not sent:
            break
        if n_deaths > _N_RETRIES:
            raise WorkerDeathError(
                f"worker processes died {n_deaths} times ({died}), perhaps out of memory, although "
                "their tasks were given to new workers. Use fewer workers, or n_jobs=1"
            )
    yield from itertools.starmap(function, stay)


def _calls(
    tasks: Iterable[tuple[Any, ...]], sent: Any, function: Callable[..., Any]
) -> Iterator[Any]:
    """Yield a joblib call for each numbered task, and add the task to `sent`."""
    for number, task in tasks:
        sent[number] = task
        yield delayed(_numbered)(function, number, task)


def _numbered(function: Callable[..., Any], number: int, task: tuple[Any, ...]) -> tuple[int, Any]:
    """Return the number of a task, and its result."""
    return number, function(*task)


def _results(calls: Iterable[Any], n_jobs: int | None, batch_size: int) -> Iterator[Any]:
    """Yield the results of calls in the order in which calls end."""
    # With max_nbytes, joblib would write large private arrays to files that stay until the end
    settings = {"n_jobs": n_jobs, "batch_size": batch_size, "max_nbytes": None}
    try:
        parallel = Parallel(return_as="generator_unordered", **settings)
    except ValueError:  # from multiprocessing, and backends built on it
        with Parallel(**settings) as parallel:
            in_a_round = 4 * batch_size * effective_n_jobs(n_jobs)
            while batch := list(itertools.islice(calls, in_a_round)):
                yield from parallel(batch)
    else:
        yield from parallel(calls)


def _packed(
    tasks: Iterable[tuple[Any, ...]], dumps: Callable[[Any], bytes], stay: list[Any] | None
) -> Iterator[tuple[Any, ...]]:
    """Yield tasks with pickled records, and append tasks that do not pickle to `stay`."""
    for records, *others in tasks:
        content, failed = attempt(partial(dumps, records))
        if failed is None:
            yield content, *others
        elif stay is None:
            raise TypeError("records do not pickle")
        else:
            stay.append((records, *others))


def _unpacked(pickled: bytes, content: bytes, *others: Any) -> Any:
    """Run a function on records; both are pickled."""
    return _loaded(pickled)(pickle.loads(content), *others)


@functools.lru_cache(maxsize=1)
def _loaded(pickled: bytes) -> Callable[..., Any]:
    """Return the function of the tasks of a worker, which is public, and prepare the worker."""
    _keep_freed_memory()
    return pickle.loads(pickled)  # type: ignore[no-any-return]


def _keep_freed_memory() -> None:
    """Let this process keep up to 64 MiB of freed memory, for the arrays of the next task.

    The allocator of glibc returns freed memory beyond twice the largest mapped array that was
    freed, up to an array of 32 MiB. Workers that free only small arrays would get new pages in each
    task, which took as long as the counts. The array here is not written, so it takes no memory.
    """
    np.empty(2**25 - 2**16, dtype=np.uint8)


def add_up(
    add: Callable[[Any], Any],
    start: Callable[..., Iterator[Any]],
    tasks: Iterable[tuple[Any, ...]],
    *,
    threads: int | None,
    on_done: Callable[[int], Any] | None = None,
) -> None:
    """Run tasks, and add up their results.

    Parameters
    ----------
    add : callable
        Takes a result, and returns a description of an error in it, or None.
    start : callable
        Takes tasks, and returns an iterable of results. Each result has a `problem`, a public
        description of its failure or None; and `is_cached`, False if memory could not store it.
    tasks : iterable
        The tasks. After a failure, no more tasks are read, and running tasks are finished.
    threads : int or None
        Largest number of threads of a worker.
    on_done : callable, default=None
        Called after each result, with the number of results so far.

    Raises
    ------
    TeacherError
        If a task failed, or could not be sent to a worker. The message is about the first failure.
    """
    problems: list[str] = []
    all_kept = True
    tasks = itertools.takewhile(lambda _: not problems, tasks)
    with suppress_output(), threads_limited(threads):
        try:
            for n_done, result in enumerate(start(tasks), 1):
                all_kept &= result.is_cached
                problem = result.problem or add(result)
                if problem is not None:
                    problems.append(problem)
                elif on_done is not None:
                    on_done(n_done)
        except WorkerDeathError as error:
            problems.append(str(error))
        except ReplacedFileError as error:
            problems.append(str(error))
        except Exception as error:  # its text may contain data, even whole results
            problems.append(
                "private records could not be sent to a worker process, or their result back "
                f"({type(error).__name__}). All objects sent must be picklable and importable: "
                "define classes in a module, not in the script; or use n_jobs=1"
            )
    if problems:
        if "TimeoutError" in problems[0] and isinstance(get_active_backend()[0], LokyBackend):
            # A worker with a hanging teacher stays busy, and the next fit would wait for it
            get_reusable_executor().shutdown(wait=False, kill_workers=True)
        raise TeacherError(problems[0]) from None
    if not all_kept:
        warn(
            "memory could not keep all votes, perhaps because the disk is full. A repeated fit "
            "computes some of them again"
        )


def threads_per_worker(n_jobs: int | None) -> int | None:
    """Return the number of cores per worker; None (no limit) for a single worker."""
    n_workers = effective_n_jobs(n_jobs)
    return None if n_workers == 1 else max(cpu_count() // n_workers, 1)


def threads_limited(threads: int | None) -> AbstractContextManager[Any]:
    """Return a context manager that limits the threads of libraries; None sets no limit.

    At the end of the block, each library has as many threads as at its start.
    """
    # A module may have loaded another library
    return _thread_pools(len(sys.modules)).limit(limits=threads)


@functools.lru_cache(maxsize=1)
def _thread_pools(n_modules: int) -> ThreadpoolController:
    """Find the libraries with threads; this takes as long as a small fit."""
    return ThreadpoolController()


def run_in_this_process(n_jobs: int | None) -> bool:
    """Return whether tasks run in this process."""
    backend = get_active_backend()[0]
    return effective_n_jobs(n_jobs) == 1 or getattr(backend, "uses_threads", False)


def check_timeout(timeout: float | None, n_jobs: int | None) -> None:
    """Raise an error if teachers with a timeout would run in this process."""
    if timeout is not None and run_in_this_process(n_jobs):
        raise ValueError(
            f"timeout={timeout!r} requires that teachers run in separate processes, which can be "
            "stopped: set n_jobs to 2 or more, and do not use a joblib backend of threads"
        )


def warn_if_taking_turns(n_jobs: int | None, who: str = "teachers") -> None:
    """Warn if tasks would run concurrently in threads of one process."""
    backend = get_active_backend()[0]
    take_turns = run_in_this_process(n_jobs)
    cluster: Any = getattr(backend, "client", None)  # Dask's
    if hasattr(cluster, "nthreads"):
        take_turns = max(cluster.nthreads().values(), default=1) > 1
    if take_turns and effective_n_jobs(n_jobs) > 1:
        warn(
            f"{who} run in threads of one process and take turns, so n_jobs does not speed them "
            "up. Use a backend of processes, or workers with one thread each"
        )
