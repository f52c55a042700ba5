"""How joblib runs tasks: in which processes or threads, how many at once, with what threads."""

import itertools

from joblib import Parallel, cpu_count, delayed, effective_n_jobs
from joblib.externals.loky import get_reusable_executor
from joblib.parallel import LokyBackend, get_active_backend

from .exceptions import warn


def batch_size(n_tasks, n_jobs):
    """Return how many quick tasks a worker is sent at once."""
    # The batches that joblib makes of quick tasks grow without limit. So do the results that wait
    # in memory, and the time for which workers wait for the last batch
    return min(max(n_tasks // (128 * effective_n_jobs(n_jobs)), 1), 16)


def run(function, tasks, n_jobs, batch_size=1):
    """Yield results as they come, few at a time; in rounds if the backend cannot stream them.

    Parameters
    ----------
    function : callable
        Takes a task. It returns what went wrong: an error that it raises may quote private data.
    tasks : iterable
        They are drawn when it is their turn.
    n_jobs : int or None
        As in joblib.
    batch_size : int, default=1
        How many tasks a worker is sent at once.
    """
    # With a max_nbytes, joblib writes large arrays, private here, to files that stay to the end
    settings = {"n_jobs": n_jobs, "batch_size": batch_size, "max_nbytes": None}
    calls = (delayed(function)(task) for task in tasks)
    try:
        parallel = Parallel(return_as="generator_unordered", **settings)
    except ValueError:  # multiprocessing, and backends built on it
        with Parallel(**settings) as parallel:
            in_a_round = 4 * batch_size * effective_n_jobs(n_jobs)
            while batch := list(itertools.islice(calls, in_a_round)):
                yield from parallel(batch)
    else:
        yield from parallel(calls)


def add_up(sums, results, on_done, what, advice):
    """Add up results as they come, and note what goes wrong on the way.

    Parameters
    ----------
    sums : object
        Its `add` takes a result and says whether that is one; its `fail` takes a text.
    results : iterable
        As `run` yields them.
    on_done : callable or None
        Called with the number of results so far, each time one is added.
    what, advice : str
        What is sent to workers, and what to do where that fails.
    """
    try:
        for n_done, result in enumerate(results, 1):
            is_added = sums.add(result)
            if is_added and on_done is not None:
                on_done(n_done)
    except Exception as error:  # its text may be data: it can hold whole results
        sums.fail(
            f"{what} could not be sent to or from a worker process, or a worker died "
            f"({type(error).__name__}). {advice}"
        )


def threads_per_worker(n_jobs):
    """Return a worker's share of the cores; None, which is no limit, where there is one worker."""
    n_workers = effective_n_jobs(n_jobs)
    return None if n_workers == 1 else max(cpu_count() // n_workers, 1)


def check_timeout(timeout, n_jobs):
    """Refuse a timeout for teachers that run in this process."""
    uses_threads = getattr(get_active_backend()[0], "uses_threads", False)
    if timeout is not None and (effective_n_jobs(n_jobs) == 1 or uses_threads):
        raise ValueError(
            f"timeout={timeout!r} needs teachers in processes of their own, which can be "
            "stopped: set n_jobs to 2 or more, with a backend of processes"
        )


def end_processes():
    """Stop loky's workers: one whose teacher hangs stays busy, and the next fit would wait."""
    if isinstance(get_active_backend()[0], LokyBackend):
        get_reusable_executor().shutdown(wait=False, kill_workers=True)


def warn_if_taking_turns(n_jobs, who="teachers"):
    """Warn if they would run side by side in threads of one process."""
    backend = get_active_backend()[0]
    share_a_process = getattr(backend, "uses_threads", False)
    cluster = getattr(backend, "client", None)  # Dask's
    if hasattr(cluster, "nthreads"):
        share_a_process = max(cluster.nthreads().values(), default=1) > 1
    if share_a_process and effective_n_jobs(n_jobs) > 1:
        warn(
            f"{who} run in threads of one process and take turns, so n_jobs does not speed them "
            "up. Use a backend of processes, or workers with one thread each"
        )
