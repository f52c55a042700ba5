"""How joblib runs the teachers: in which processes or threads, and how many at once."""

import itertools

from joblib import Parallel, cpu_count, delayed, effective_n_jobs
from joblib.externals.loky import get_reusable_executor
from joblib.parallel import LokyBackend, get_active_backend

from ..exceptions import warn
from .one import fit_and_vote

__all__ = ["check_timeout", "end_processes", "run", "threads_per_worker", "warn_if_taking_turns"]


def run(tasks, n_tasks, n_jobs):
    """Yield results as they come, few at a time; in rounds if the backend cannot stream them."""
    workers = effective_n_jobs(n_jobs)
    # The batches that joblib makes of quick tasks grow without limit. So do the results that wait
    # in memory, and the time for which workers wait for the last batch
    batch_size = min(max(n_tasks // (128 * workers), 1), 16)
    settings = {
        "n_jobs": n_jobs,
        "batch_size": batch_size,
        # Else joblib writes large arrays, which are private here, to files that stay until the end
        "max_nbytes": None,
    }
    calls = (delayed(fit_and_vote)(task) for task in tasks)
    try:
        parallel = Parallel(return_as="generator_unordered", **settings)
    except ValueError:  # multiprocessing, and backends built on it
        with Parallel(**settings) as parallel:
            while batch := list(itertools.islice(calls, 4 * batch_size * workers)):
                yield from parallel(batch)
    else:
        yield from parallel(calls)


def threads_per_worker(n_jobs):
    """Return a worker's share of the cores; None, which is no limit, where there is one worker."""
    n_workers = effective_n_jobs(n_jobs)
    if n_workers == 1:
        return None
    return max(cpu_count() // n_workers, 1)


def check_timeout(timeout, n_jobs):
    """Refuse a timeout for teachers that run in this process."""
    uses_threads = getattr(get_active_backend()[0], "uses_threads", False)
    if effective_n_jobs(n_jobs) == 1 or uses_threads:
        raise ValueError(
            f"timeout={timeout!r} needs teachers in processes of their own, which can be "
            "stopped: set n_jobs to 2 or more, with a backend of processes"
        )


def end_processes():
    """Stop loky's workers: one whose teacher hangs stays busy, and the next fit would wait."""
    if isinstance(get_active_backend()[0], LokyBackend):
        get_reusable_executor().shutdown(wait=False, kill_workers=True)


def warn_if_taking_turns(n_jobs):
    """Warn if teachers would run side by side in threads of one process."""
    if not _share_a_process(n_jobs):
        return
    warn(
        "teachers run in threads of one process and take turns, so n_jobs does not speed them "
        "up: threads share the random numbers of numpy, Python and torch. Use a backend of "
        "processes, or workers with one thread each"
    )


def _share_a_process(n_jobs):
    """Return whether teachers would run side by side in threads of one process."""
    backend = get_active_backend()[0]
    if effective_n_jobs(n_jobs) == 1:
        return False
    cluster = getattr(backend, "client", None)  # Dask's
    if hasattr(cluster, "nthreads"):
        return max(cluster.nthreads().values(), default=1) > 1
    return getattr(backend, "uses_threads", False)
