"""Progress of a fit: one updating line per phase, and scikit-learn's callbacks. Nothing private."""

import sys
import time
from contextlib import contextmanager

__all__ = ["Progress"]


class Progress:
    """The phases of one call of `fit`, shown as they go; a context manager.

    Parameters
    ----------
    estimator : PATEClassifier
        Its `verbose` says whether lines are printed. Its callbacks are called, with scikit-learn
        1.9 or newer: they get the estimator and counts, never the data.
    n_phases : int
        How many phases there will be.
    """

    def __init__(self, estimator, n_phases):
        self._estimator = estimator
        self._root = None
        if hasattr(estimator, "_init_callback_context"):
            self._root = estimator._init_callback_context(max_subtasks=n_phases)

    def __enter__(self):
        if self._root is not None:
            self._root.call_on_fit_task_begin(estimator=self._estimator)
        return self

    def __exit__(self, *exc_info):
        if self._root is not None and exc_info[0] is None:
            self._root.call_on_fit_task_end(estimator=self._estimator)

    @contextmanager
    def phase(self, name, total):
        """Yield a function to call with how many of `total` steps are done, each time some are."""
        context = line = None
        if self._root is not None:
            context = self._root.subcontext(task_name=name, max_subtasks=total)
            context.call_on_fit_task_begin(estimator=self._estimator)
        if self._estimator.verbose:
            line = _Line(name, total)
        reported = 0

        def done(number):
            nonlocal reported
            if line is not None:
                line.show(number)
            for _ in range(reported, number if context is not None else reported):
                step = context.subcontext(task_name=name)
                step.call_on_fit_task_begin(estimator=self._estimator)
                step.call_on_fit_task_end(estimator=self._estimator)
            reported = number

        try:
            yield done
        finally:
            if line is not None:
                line.end()
        if context is not None:
            context.call_on_fit_task_end(estimator=self._estimator)


class _Line:
    """One line on the output, written again and again."""

    def __init__(self, name, total):
        self._name, self._total, self._start = name, total, time.monotonic()
        self._out = sys.stdout  # as it is now: teachers are silenced while they train
        self.show(0)

    def show(self, number):
        took = time.monotonic() - self._start
        left = f", {took * (self._total - number) / number:.0f} s left" if number else ""
        if number == self._total:
            left = f" in {took:.0f} s"
        self._out.write(f"\r{self._name} {number}/{self._total}{left}    ")
        self._out.flush()

    def end(self):
        self._out.write("\n")
        self._out.flush()
