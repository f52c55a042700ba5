"""Interrupted fits of all paths: their gathered, paid and published results."""

import contextlib
import math
import os
import signal
import sys
from functools import cache, partial, wraps

import numpy as np
from joblib import delayed
from scipy.optimize import brentq
from scipy.stats import norm
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB

from sklearn_pate import PATEClassifier, PATERegressor
from sklearn_pate.aggregators import LaplaceMechanism
from sklearn_pate.ledger import PrivacyLedger
from sklearn_pate.methods import ReverseNeighbors
from sklearn_pate.methods.sums import ClassSums
from sklearn_pate.model_selection import PrivateGridSearchCV, search
from sklearn_pate.rdp import Event
from sklearn_pate.releases import Release, extra_releases, synthetic_rows, table
from sklearn_pate.releases.labels import LabelsRelease
from sklearn_pate.releases.published_sums import PublishedSumsRelease
from sklearn_pate.releases.table import TableRelease
from sklearn_pate.runtime.isolation import suppress_output
from sklearn_pate.synthesis import ClassSumsSynthesizer, MarginalSynthesizer, synthesizers

DELTA = 1e-5
PACKAGE = search.__file__.rpartition("sklearn_pate")[0] + "sklearn_pate"

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(400, 2))
Y = (X[:, 0] > 0).astype(int)
X_PUBLIC = RNG.uniform(-1, 1, size=(40, 2))

#: Noise of class sums, and of histograms of two columns and the labels.
MULTIPLIER, SCALE = 0.5, 30.0


def gaussian_epsilon(mu):
    """Epsilon of one Gaussian mechanism, from its definition; rounded up by a little."""

    def excess(epsilon):
        below = norm.cdf(mu / 2 - epsilon / mu), norm.cdf(-mu / 2 - epsilon / mu)
        return below[0] - math.exp(epsilon) * below[1] - DELTA

    return brentq(excess, 0, 100)


class ClassCounts(Release):
    """The number of records of each class."""

    def __init__(self, scale=10.0, epsilon_fraction=0.1):
        self.scale, self.epsilon_fraction = scale, epsilon_fraction

    def with_scale(self, scale):
        return clone(self).set_params(scale=scale) if self.scale is None else None

    def event(self, neighbors):
        return Event(LaplaceMechanism(self.scale), neighbors.counts(1))

    def gather(self, private):
        return np.bincount(np.round(private.codes).astype(int), minlength=2)

    def publish(self, gathered, rng):
        return LaplaceMechanism(self.scale).noisy(gathered[None], rng)[0]

    def describe(self):
        return "the number of records of each class"


#: The cost of each entry of the ledgers of tests, by their files.
COSTS = {}


class Watched(PrivacyLedger):
    """A ledger that notes the cost of each entry, as do its copies."""

    def __init__(self, path, **more):
        super().__init__(path, **{"epsilon": 200.0, "delta": DELTA} | more)
        COSTS[self.path] = {}

    @property
    def costs(self):
        return COSTS[self.path]

    def record(self, spent, cost, entry=None):
        written = super().record(spent, cost, entry)
        self.costs.pop(entry, None)
        self.costs[written] = cost
        return written

    @property
    def epsilon_of_entries(self):
        """Epsilon of all entries at the delta of the fits; 0 without any."""
        costs = list(self.costs.values())
        total = costs[0] if costs else None
        for cost in costs[1:]:
            total = total.plus(cost)
        return 0.0 if total is None else total.epsilon(DELTA)[0]


# --- paths ----------------------------------------------------------------------------------------


def classifier(**params):
    given = {"classes": [0, 1], "epsilon": 20.0, "delta": DELTA, "on_bad_plan": "warn"}
    return PATEClassifier(**(given | params))


def regressor(**params):
    given = {"bounds": (0, 1), "n_levels": 4, "epsilon": 20.0, "delta": DELTA}
    return PATERegressor(**(given | {"on_bad_plan": "warn"} | params))


def sums(**params):
    given = {"missing": [], "n_rows": 40, "noise_multiplier": MULTIPLIER}
    return ClassSumsSynthesizer((-1, 0, 1), **(given | params))  # edges: none are estimated


def histograms(**params):
    given = {"missing": [], "n_rows": 40, "n_bins": 4, "noise": LaplaceMechanism(SCALE)}
    return MarginalSynthesizer((-1, 1), **(given | params))


def teachers(**params):
    return {
        "base_estimator": GaussianNB(),
        "n_teachers": 5,
        "n_queries": 5,
        "student": GaussianNB(),
    }


def searched(**params):
    clf = classifier(**params)
    grid = {"class_weight": [None, "balanced"]}
    return PrivateGridSearchCV(clf, grid, epsilon=20.0, delta=DELTA, n_trials=2)


#: Epsilon of the steps that are published when a fit gathers for the first time, the second, ...
OF_MEAN = gaussian_epsilon(math.sqrt(0.1) / MULTIPLIER)
OF_SUMS = gaussian_epsilon(1 / MULTIPLIER)
OF_HISTOGRAMS = 2 * 3 / SCALE
TWO_STEPS = 0, OF_MEAN, OF_SUMS
#: The mean and the class sums have three fifths of mu squared if residuals are released.
THREE_STEPS = (
    *(gaussian_epsilon(math.sqrt(0.6 * part) / MULTIPLIER) if part else 0 for part in (0, 0.1, 1)),
    OF_SUMS,
)
NEAR = ReverseNeighbors(n_cells=4)
COUNTS = {"releases": [ClassCounts()]}
PUBLIC = {"X_public": X_PUBLIC}

#: What makes the model, what `fit` is given, and those epsilons; None is all that a search costs.
PATHS = {
    "records": (partial(classifier, method=NEAR), PUBLIC, (0,)),
    "columns": (partial(classifier, method=ClassSums()), PUBLIC, (0,)),
    "teachers": (partial(classifier, **teachers()), PUBLIC, (0,)),
    "records, releases": (partial(classifier, method=NEAR, **COUNTS), PUBLIC, (0, 0)),
    "sums alone": (partial(classifier, synthesizer=sums(epsilon_fraction=1)), {}, THREE_STEPS),
    "sums, records": (partial(classifier, method=NEAR, synthesizer=sums()), {}, TWO_STEPS),
    "sums, teachers": (partial(classifier, **teachers(), synthesizer=sums()), {}, TWO_STEPS),
    "sums, releases": (
        partial(classifier, method=NEAR, synthesizer=sums(), **COUNTS),
        {},
        (*TWO_STEPS, OF_SUMS),
    ),
    "histograms": (
        partial(classifier, method=NEAR, synthesizer=histograms()),
        {},
        (0, OF_HISTOGRAMS),
    ),
    "numbers, records": (partial(regressor, method=NEAR), PUBLIC, (0,)),
    "numbers, sums": (partial(regressor, synthesizer=sums(epsilon_fraction=1)), {}, TWO_STEPS),
    "search": (partial(searched, method=NEAR), PUBLIC, (None,)),
    "search, sums": (
        partial(searched, method=NEAR, synthesizer=sums()),
        {},
        (0, OF_MEAN, None),
    ),
}


def fit(name, ledger, **params):
    """Return the model of a path, and a function that fits it."""
    make, given, _ = PATHS[name]
    model = make(ledger=ledger, **params)
    return model, partial(model.fit, X, Y, **given)


# --- what happens in a fit ------------------------------------------------------------------------

#: What collects private statistics or votes, and what draws their noise.
GATHERS = [
    (synthetic_rows.Synthesis, "gather"),
    (extra_releases, "gather"),
    (TableRelease, "gather"),
    (LabelsRelease, "gather"),
    (PublishedSumsRelease, "gather"),
]
DRAWS = [
    (synthesizers, "publish_centre"),
    (synthesizers, "publish_sums"),
    (synthesizers, "publish_residuals"),
    (synthesizers, "checked_noisy"),
    (extra_releases, "publish"),
    (table, "checked_noisy"),
    (LabelsRelease, "publish"),
    (PublishedSumsRelease, "publish"),
    (search, "best_trial"),
]


class Watch:
    """Notes of a fit: how often it gathered, paid and drew noise.

    Attributes
    ----------
    n_gathers, n_published : int
        Number of calls that gather, and of steps that were published.
    is_paid : bool
        Whether the ledger has recorded a cost since the last call that gathers.
    unpaid : list of str
        Functions that drew noise before it was paid for.
    """

    def __init__(self):
        self.n_gathers = self.n_published = 0
        self.is_paid = self.searches = False
        self.unpaid = []

    def gathering(self, function, when):
        def gather(*args, **kwargs):
            self.n_gathers += 1
            if not self.searches:  # trials are paid for together
                self.is_paid = False
            with when(self.n_gathers):
                return function(*args, **kwargs)

        return gather

    def drawing(self, function):
        def draw(*args, **kwargs):
            if not self.is_paid:
                self.unpaid.append(function.__name__)
            self.searches |= function.__name__ == "best_trial"
            return function(*args, **kwargs)

        return draw

    def paying(self, function):
        @wraps(function)  # whether it takes an entry determines the next one
        def record(*args, **kwargs):
            entry = function(*args, **kwargs)
            self.is_paid = True
            return entry

        return record

    def publishing(self, function):
        def publish(*args, **kwargs):
            part = function(*args, **kwargs)
            self.n_published += 1
            return part

        return publish


@contextlib.contextmanager
def watched(monkeypatch, when=lambda number: contextlib.nullcontext()):
    """Yield the `Watch` of the fits of a block; each call that gathers runs within `when`."""
    watch = Watch()
    with monkeypatch.context() as patch:
        for owner, name in GATHERS:
            patch.setattr(owner, name, watch.gathering(getattr(owner, name), when))
        for owner, name in DRAWS:
            patch.setattr(owner, name, watch.drawing(getattr(owner, name)))
        patch.setattr(Watched, "record", watch.paying(Watched.record))
        publish = synthetic_rows.Synthesis.publish
        patch.setattr(synthetic_rows.Synthesis, "publish", watch.publishing(publish))
        yield watch


def calls_that_die(folder, n_deaths):
    """Return a function in place of `workers._calls`: the first calls kill their processes."""

    def calls(tasks, sent, function):
        for number, task in tasks:
            sent[number] = task
            yield delayed(die_or_run)(folder, n_deaths, function, number, task)

    return calls


def die_or_run(folder, n_deaths, function, number, task):
    """Kill this process, if fewer than `n_deaths` others have died; else run a task."""
    for k in range(n_deaths):
        with contextlib.suppress(FileExistsError):
            os.close(os.open(folder / f"death {k}", os.O_CREAT | os.O_EXCL))
            os.kill(os.getpid(), signal.SIGKILL)
    return number, function(*task)


@cache
def is_own(name):
    """Whether a file is of the package, and may be interrupted at any line."""
    # What redirects output cannot be, and holds no cost
    return name.startswith(PACKAGE) and not name.endswith("runtime/isolation.py")


def apart(function):
    """Call a function where the exceptions that it handles end with it.

    One that a trace raises in an `except` block leaves the exception of that block behind, as if it
    were handled for ever, and it would be the context of all errors to come. A generator has
    handled exceptions of its own.
    """

    def generator():
        yield function()

    return next(generator())


class Lines:
    """Counts the lines of the package that run within blocks, and interrupts one of them.

    Parameters
    ----------
    target : int or None, default=None
        The number of the line before which `KeyboardInterrupt` is raised. None only counts.
    """

    def __init__(self, target=None):
        self.target = target
        self.n_lines = 0

    @contextlib.contextmanager
    def within(self, number=None):
        """Count the lines of a block."""
        before, depth = sys.gettrace(), suppress_output._depth
        sys.settrace(self._called)
        try:
            yield
        finally:
            sys.settrace(before)
            # A trace can raise where a `with` is left, before its exit runs; signals are not
            # handled there. Later tests of this process must not find output suppressed
            while suppress_output._depth > depth:
                suppress_output().__exit__()

    def _called(self, frame, event, arg):
        return self._line if is_own(frame.f_code.co_filename) else None

    def _line(self, frame, event, arg):
        if event == "line":
            self.n_lines += 1
            if self.n_lines == self.target:
                sys.settrace(None)
                raise KeyboardInterrupt
        return self._line
