"""Progress of a fit: one updating line per phase, and scikit-learn's callbacks; nothing private."""

import math
import multiprocessing
import sys
import threading
import time
from contextlib import ExitStack, contextmanager
from numbers import Number

from .._sklearn import CallbackSupportMixin

#: After so many seconds of silence, a person at a terminal is told what a fit does.
_PATIENCE = 4.0


class PublicView(CallbackSupportMixin):
    """What callbacks get in place of the classifier: its parameters that are numbers or text.

    The classifier itself would give them the curator's view and, in its parameters, a seed and
    paths.

    Parameters
    ----------
    estimator : PATEClassifier
        What it stands for.
    """

    def __init__(self, estimator):
        public = (Number, str, type(None))
        for name, value in estimator.get_params(deep=False).items():
            if name not in _PRIVATE and isinstance(value, public):
                setattr(self, name, value)
        for name in _ABOUT_CALLBACKS:
            if hasattr(estimator, name):
                setattr(self, name, getattr(estimator, name))

    def __repr__(self):
        return f"{type(self).__name__}(public numbers)"


#: Parameters that are private although they are numbers or text: with the seed one can undo the
#: noise, and the folder holds votes.
_PRIVATE = {"random_state", "memory"}

#: Where scikit-learn keeps the callbacks, and the context of a search around the fit.
_ABOUT_CALLBACKS = ("_skl_callbacks", "_parent_callback_ctx")


class Progress:
    """Shows the phases of one call of `fit` as they go; a context manager.

    Parameters
    ----------
    estimator : PATEClassifier
        Its `verbose` says whether lines are printed. Without, a fit that takes more than a few
        seconds has one on a terminal, and wipes it out in the end. With scikit-learn 1.9 or newer
        its callbacks are called: they get a `PublicView` of it and counts, never the data.
    n_phases : int
        How many phases there will be.
    """

    def __init__(self, estimator, n_phases):
        self._verbose = estimator.verbose
        self._n_phases = n_phases
        # A class of the same name: scikit-learn shows it
        view_class = type(type(estimator).__name__, (PublicView,), {})
        self._view = view_class(estimator)
        self._callback_context = None
        self._start = time.monotonic()

    def __enter__(self):
        if not hasattr(self._view, "_init_callback_context"):  # scikit-learn before 1.9
            return self
        try:
            self._callback_context = self._view._init_callback_context(max_subtasks=self._n_phases)
            self._callback_context.call_on_fit_task_begin(estimator=self._view)
        except BaseException:
            self._tear_down()
            raise
        return self

    def __exit__(self, *exc_info):
        try:
            if self._callback_context is not None and exc_info[0] is None:
                self._callback_context.call_on_fit_task_end(estimator=self._view)
        finally:
            self._tear_down()

    def _tear_down(self):
        """End what callbacks set up: scikit-learn's own way would show them the classifier."""
        with ExitStack() as stack:
            for callback in getattr(self._view, "_skl_callbacks_to_teardown", []):
                context = self._view._callback_fit_ctx
                stack.callback(callback.teardown, estimator=self._view, context=context)

    @contextmanager
    def phase(self, name, total):
        """Yield a function to call with the number of steps done of `total`, whenever it grows."""
        line = None
        context = None
        if self._callback_context is not None:
            context = self._callback_context.subcontext(task_name=name, max_subtasks=total)
            context.call_on_fit_task_begin(estimator=self._view)
        if self._verbose:
            line = _Line(name, total, sys.stdout)
        elif _is_watched():
            line = _Line(name, total, sys.stderr, self._start + _PATIENCE, last="\r\x1b[K")
        reported = 0

        def done(number):
            nonlocal reported
            if line is not None:
                line.show(number)
            if context is not None:
                for _ in range(reported, number):
                    step = context.subcontext(task_name=name)
                    step.call_on_fit_task_begin(estimator=self._view)
                    step.call_on_fit_task_end(estimator=self._view)
            reported = number

        try:
            yield done
        finally:
            if line is not None:
                line.end()
        if context is not None:
            context.call_on_fit_task_end(estimator=self._view)


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
