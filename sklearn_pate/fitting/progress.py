"""Progress of a fit: one updating line per phase; nothing private."""

import math
import multiprocessing
import sys
import threading
import time
from contextlib import contextmanager

#: After so many seconds of silence, a person at a terminal is told what a fit does.
_PATIENCE = 4.0


class Progress:
    """Shows the phases of one fit as they go.

    Parameters
    ----------
    verbose : int
        Whether lines are printed. Without, a fit that takes more than a few seconds has one on a
        terminal, and wipes it out in the end.
    """

    def __init__(self, verbose):
        self._verbose = verbose
        self._start = time.monotonic()

    @contextmanager
    def phase(self, name, total):
        """Yield a function to call with the number of steps done of `total`, whenever it grows."""
        if self._verbose:
            line = _Line(name, total, sys.stdout)
        elif _is_watched():
            line = _Line(name, total, sys.stderr, self._start + _PATIENCE, last="\r\x1b[K")
        else:
            yield lambda number: None
            return
        try:
            yield line.show
        finally:
            line.end()


class _Line:
    """One line of output, written over again and again.

    On a terminal it appears once a fit takes long, `first_time`, and is wiped out in the end.
    """

    def __init__(self, name, total, out, first_time=-math.inf, last="\n"):
        self._name = name
        self._total = total
        self._out = out  # as it is now: teachers are silenced while they train
        self._first_time = first_time
        self._last = last
        self._is_shown = False
        self._start = time.monotonic()
        self.show(0)

    def show(self, number):
        now = time.monotonic()
        if now < self._first_time:
            return
        self._is_shown = True
        elapsed = now - self._start
        seconds = ""
        if number == self._total:
            seconds = f" in {elapsed:.0f} s"
        elif number:
            seconds = f", {elapsed * (self._total - number) / number:.0f} s left"
        # Spaces wipe out the end of a longer line
        self._out.write(f"\r{self._name} {number}/{self._total}{seconds}    ")
        self._out.flush()

    def end(self):
        if self._is_shown:
            self._out.write(self._last)
            self._out.flush()


def _is_watched():
    """Whether a person looks on: what is written goes to a terminal, and from one place at once."""
    return (
        sys.stderr is not None
        and sys.stderr.isatty()
        and threading.current_thread() is threading.main_thread()
        and multiprocessing.current_process().name == "MainProcess"
    )
