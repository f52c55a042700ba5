"""What is printed, logged and warned of while private data are handled: dropped."""

import contextlib
import ctypes
import errno
import io
import logging
import os
import sys
import threading
import warnings

__all__ = [
    "Quiet",
    "silence",
    "silence_below",
    "silent",
]


def silent(estimator):
    """Turn off the `verbose` parameters: compiled code writes past Python's streams."""
    params = estimator.get_params(deep=True)
    names = [p for p in params if p == "verbose" or p.endswith("__verbose")]
    loud = {name: 0 for name in names if params[name]}
    return estimator.set_params(**loud) if loud else estimator


class _Nowhere(io.StringIO):
    """A text stream that forgets."""

    def write(self, text):
        return len(text)


@contextlib.contextmanager
def silence():
    """Drop output, logs and warnings, even warnings that a teacher's own filter lets through."""
    level = logging.root.manager.disable
    logging.disable(sys.maxsize)
    try:
        with (
            warnings.catch_warnings(record=True),
            contextlib.redirect_stdout(_Nowhere()),
            contextlib.redirect_stderr(_Nowhere()),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(level)


def _c_library():
    """Return what flushes the streams of compiled code, or None."""
    try:
        return ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None).fflush
    except (AttributeError, OSError, TypeError):
        return None


_flush_compiled = _c_library()


def _flush():
    """Write out what streams hold back: it belongs to where they lead now."""
    for stream in (sys.__stdout__, sys.__stderr__):
        with contextlib.suppress(Exception):  # there is none, or it is closed
            stream.flush()
    if _flush_compiled is not None:
        _flush_compiled(None)


@contextlib.contextmanager
def silence_below():
    """Drop what is written to the file descriptors 1 and 2."""
    _flush()
    kept = {}
    try:
        for descriptor in (1, 2):
            try:
                kept[descriptor] = os.dup(descriptor)
            except OSError as error:
                if error.errno != errno.EBADF:  # closed: nothing to silence
                    raise
        nowhere = os.open(os.devnull, os.O_WRONLY)
        try:
            for descriptor in kept:
                os.dup2(nowhere, descriptor)
        finally:
            os.close(nowhere)
        yield
    finally:
        _flush()
        for descriptor, copy_of_it in kept.items():
            os.dup2(copy_of_it, descriptor)
            os.close(copy_of_it)


class Quiet:
    """Keep what teachers print, warn of and log from leaving the process: it may be data.

    Output streams, warning filters and logging are global, and teachers may run in threads: the
    first to enter silences them, the last to leave restores them. `isolated` silences again inside
    it, because a teacher may undo this.
    """

    _lock = threading.Lock()
    _depth = 0
    _silence = None

    def __enter__(self):
        with Quiet._lock:
            if Quiet._depth == 0:
                for stream in (sys.stdout, sys.stderr):  # before descriptors lead elsewhere
                    with contextlib.suppress(Exception):
                        stream.flush()
                Quiet._silence = silence()
                Quiet._silence.__enter__()
            Quiet._depth += 1

    def __exit__(self, *exc_info):
        with Quiet._lock:
            Quiet._depth -= 1
            if Quiet._depth == 0:
                Quiet._silence.__exit__(None, None, None)


def _new_lock():
    """In a forked process, threads that held the lock do not exist."""
    Quiet._lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_new_lock)
