"""How joblib runs tasks: in which processes or threads, how many at once, with what threads."""

import itertools
import pickle
from concurrent.futures import BrokenExecutor
from functools import partial

import cloudpickle
from joblib import Parallel, cpu_count, delayed, effective_n_jobs
from joblib.externals.loky import get_reusable_executor
from joblib.parallel import LokyBackend, get_active_backend
from threadpoolctl import threadpool_limits

from ..exceptions import TeacherError, warn
from .isolation import attempt, suppress_output

#: So often are the tasks of a worker process that died given to new ones.
_N_RETRIES = 2


class WorkerDeathError(RuntimeError):
    """Worker processes died while they ran private tasks; the text holds no data."""


def batch_size(n_tasks, n_jobs):
    """Return how many quick tasks a worker is sent at once."""
    # The batches that joblib makes of quick tasks grow without limit. So do the results that wait
    # in memory, and the time for which workers wait for the last batch
    return min(max(n_tasks // (128 * effective_n_jobs(n_jobs)), 1), 16)


def run(tasks, function, n_jobs, batch_size=1, *, may_stay=True):
    """Yield results as they come, few at a time; in rounds if the backend cannot stream them.

    Parameters
    ----------
    tasks : iterable of tuples
        Each has private records and other arguments. They are drawn when it is their turn. Records
        of which one object does not pickle stay in this process, and have their turn at the end:
        whether a fit fails must not depend on them.
    function : callable
        Takes what is in a tuple. It returns what went wrong: an error that it raises may quote
        private data.
    n_jobs : int or None
        As in joblib.
    batch_size : int, default=1
        How many tasks a worker is sent at once.
    may_stay : bool, default=True
        Whether tasks may run in this process; else records that do not pickle are an error.

    Raises
    ------
    WorkerDeathError
        If workers died three times. Before that, the tasks of a dead worker are run again.
    """
    stay = []
    remote = function
    if not _share_a_process(n_jobs):
        tasks = _packed(tasks, stay if may_stay else None)
        remote = partial(_unpacked, function)
    waiting = enumerate(tasks)
    sent = {}  # tasks by number whose results have not come: few, as they are drawn at their turn
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
                f"worker processes died {n_deaths} times ({died}), perhaps out of memory: what "
                "they ran was given to new ones each time. Use fewer workers, or n_jobs=1"
            )
    yield from itertools.starmap(function, stay)


def _calls(tasks, sent, function):
    """Yield joblib's calls of numbered tasks, and note which were sent."""
    for number, task in tasks:
        sent[number] = task
        yield delayed(_numbered)(function, number, task)


def _numbered(function, number, task):
    """Return the number of a task, and its result."""
    return number, function(*task)


def _results(calls, n_jobs, batch_size):
    """Yield the results of calls as they come."""
    # With a max_nbytes, joblib writes large arrays, private here, to files that stay to the end
    settings = {"n_jobs": n_jobs, "batch_size": batch_size, "max_nbytes": None}
    try:
        parallel = Parallel(return_as="generator_unordered", **settings)
    except ValueError:  # multiprocessing, and backends built on it
        with Parallel(**settings) as parallel:
            in_a_round = 4 * batch_size * effective_n_jobs(n_jobs)
            while batch := list(itertools.islice(calls, in_a_round)):
                yield from parallel(batch)
    else:
        yield from parallel(calls)


def _packed(tasks, stay):
    """Yield tasks with their records pickled; those whose records do not pickle go to `stay`."""
    for records, *others in tasks:
        content, failed = attempt(partial(cloudpickle.dumps, records))
        if failed is None:
            yield content, *others
        elif stay is None:
            raise TypeError("records do not pickle")
        else:
            stay.append((records, *others))


def _unpacked(function, content, *others):
    return function(pickle.loads(content), *others)


def add_up(add, start, tasks, *, threads, on_done=None):
    """Add up results as they come.

    Parameters
    ----------
    add : callable
        Takes a result, and returns what is wrong with it, or None.
    start : callable
        Takes tasks, and returns an iterable of results. Each has a `problem`, what went wrong as it
        may be told, or None; and `is_cached`, whether memory, if there is one, has it.
    tasks : iterable
        After a failure no more are drawn; those under way are finished, and ignored.
    threads : int or None
        Most threads of a worker.
    on_done : callable, default=None
        Called with the number of results so far, each time one is added.

    Raises
    ------
    TeacherError
        The first failure.
    """
    problems = []
    all_kept = True
    tasks = itertools.takewhile(lambda _: not problems, tasks)
    with suppress_output(), threadpool_limits(threads):
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
        except Exception as error:  # its text may be data: it can hold whole results
            problems.append(
                "private records could not be sent to a worker process, or their result back "
                f"({type(error).__name__}). What is sent must pickle and be importable: define "
                "classes in a module, not in the script; or use n_jobs=1"
            )
    if problems:
        if "TimeoutError" in problems[0] and isinstance(get_active_backend()[0], LokyBackend):
            # A worker whose teacher hangs stays busy, and the next fit would wait
            get_reusable_executor().shutdown(wait=False, kill_workers=True)
        raise TeacherError(problems[0]) from None
    if not all_kept:
        warn("memory could not keep all votes (a full disk?): a repeated fit casts some again")


def threads_per_worker(n_jobs):
    """Return a worker's share of the cores; None, which is no limit, where there is one worker."""
    n_workers = effective_n_jobs(n_jobs)
    return None if n_workers == 1 else max(cpu_count() // n_workers, 1)


def _share_a_process(n_jobs):
    """Whether tasks are run in this process."""
    backend = get_active_backend()[0]
    return effective_n_jobs(n_jobs) == 1 or getattr(backend, "uses_threads", False)


def check_timeout(timeout, n_jobs):
    """Refuse a timeout for teachers that run in this process."""
    if timeout is not None and _share_a_process(n_jobs):
        raise ValueError(
            f"timeout={timeout!r} needs teachers in processes of their own, which can be "
            "stopped: set n_jobs to 2 or more, with a backend of processes"
        )


def warn_if_taking_turns(n_jobs, who="teachers"):
    """Warn if they would run side by side in threads of one process."""
    backend = get_active_backend()[0]
    share_a_process = _share_a_process(n_jobs)
    cluster = getattr(backend, "client", None)  # Dask's
    if hasattr(cluster, "nthreads"):
        share_a_process = max(cluster.nthreads().values(), default=1) > 1
    if share_a_process and effective_n_jobs(n_jobs) > 1:
        warn(
            f"{who} run in threads of one process and take turns, so n_jobs does not speed them "
            "up. Use a backend of processes, or workers with one thread each"
        )
