"""How joblib runs the teachers: in which processes or threads, and how many at once."""

import itertools

from joblib import Parallel, cpu_count, delayed, effective_n_jobs
from joblib.externals.loky import get_reusable_executor
from joblib.parallel import LokyBackend, get_active_backend

from ..exceptions import warn
from .one import fit_and_vote

__all__ = ["check_processes", "end_processes", "run", "threads_per_worker", "warn_if_taking_turns"]


def run(tasks, n_tasks, n_jobs):
    """Yield results as they come, holding few; in rounds where the backend cannot stream."""
    workers = effective_n_jobs(n_jobs)
    # joblib's own batches of quick tasks grow without limit, and with them what waits in memory
    # and how long a worker waits for another's last batch
    batch_size = min(max(n_tasks // (128 * workers), 1), 16)
    settings = {
        "n_jobs": n_jobs,
        "batch_size": batch_size,
        # joblib would leave large parts, private data, in files until the end
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


def check_processes(timeout, n_jobs):
    """Refuse a timeout for teachers that run in this process."""
    uses_threads = getattr(get_active_backend()[0], "uses_threads", False)
    if effective_n_jobs(n_jobs) == 1 or uses_threads:
        raise ValueError(
            f"timeout={timeout!r} needs teachers in processes of their own, which can be left "
            "behind: set n_jobs to 2 or more, with a backend of processes"
        )


def end_processes():
    """Stop loky's workers: one whose teacher hangs keeps its turn, and the next would wait."""
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
    """Whether teachers would run side by side in threads of one process."""
    backend = get_active_backend()[0]
    if effective_n_jobs(n_jobs) == 1:
        return False
    cluster = getattr(backend, "client", None)  # Dask's
    if hasattr(cluster, "nthreads"):
        return max(cluster.nthreads().values(), default=1) > 1
    return getattr(backend, "uses_threads", False)
