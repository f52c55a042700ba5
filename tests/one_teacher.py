"""A change of one protected unit moves the votes of one teacher, whatever teachers do.

Teachers that draw from global generators, leave settings behind or import what others have not, in
every kind of partition and on every kind of backend, are polled on private data and on the same
with one unit changed: one that belongs to the teacher that runs first. The first may change its
votes, as the unit is its own; any other that does is a leak. On Dask it has to do so each time that
both are polled: Dask's own threads draw from Python's generator now and then.
"""

import atexit
import contextlib
import importlib
import logging
import multiprocessing
import os
import random
import sys
import tempfile
import traceback
import warnings
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import numpy as np
import pandas as pd
import sklearn
from joblib import parallel_config
from joblib.externals.loky import get_reusable_executor
from joblib.externals.loky.backend.context import set_start_method as loky_start
from scipy.stats import loguniform
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier, StackingClassifier
from sklearn.feature_selection import SelectKBest, mutual_info_classif
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import check_random_state

from sklearn_pate import PATEClassifier
from sklearn_pate.aggregators import GNMax
from sklearn_pate.fitting.seeds import seed_streams
from sklearn_pate.methods.teachers import _seeds
from sklearn_pate.partition import assign_teachers
from sklearn_pate.runtime.copies import set_seeds
from sklearn_pate.teachers.training import fit_and_predict

N_RECORDS = 480
N_FEATURES = 6
N_TEACHERS = 12
N_PUBLIC = 30
SEED = 0
#: Seconds to wait for the votes of all teachers.
LIMIT = 60


# --- estimators ----------------------------------------------------------------------------------


class Watched(ClassifierMixin, BaseEstimator):
    """A classifier whose votes can be read one by one, from a file named by its `random_state`.

    Where the estimator cannot be fitted (calibration with one record of a class), it votes for
    the most frequent class, and "refused" is in the name of the file.
    """

    def __init__(self, estimator, folder=None, random_state=None):
        self.estimator, self.folder, self.random_state = estimator, folder, random_state

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.kind_ = "fitted"
        try:
            self.model_ = clone(self.estimator).fit(X, y)
        except ValueError:
            self.kind_ = "refused"
            self.model_ = DummyClassifier().fit(X, y)
        return self

    def predict(self, X):
        votes = self.model_.predict(X)
        np.save(Path(self.folder) / f"{self.random_state}.{self.kind_}.npy", votes)
        return votes


def amount(X):
    """Return a number that depends on all records."""
    return 1 + int(np.asarray(X, dtype=float).sum() * 7 + len(X)) % 97


class Linear(ClassifierMixin, BaseEstimator):
    """Base of the classifiers written here; votes by the sign of a product with its weights."""

    def predict(self, X):
        return ((np.asarray(X, dtype=float) - 2) @ self.weights_ > 0).astype(int)


class Draws(Linear):
    """Draws numbers from a global generator, as many as it has records, then its weights."""

    def __init__(self, source="numpy"):
        self.source = source

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self._numbers(amount(X))
        self.weights_ = self._numbers(N_FEATURES)
        return self

    def _numbers(self, n):
        if self.source == "numpy":
            return np.random.normal(size=n)
        if self.source == "random":
            return np.array([random.gauss(0, 1) for _ in range(n)])
        # here, so that the first teacher of a process that draws from torch imports it
        import torch

        return torch.randn(n).numpy()


class UnderSampled(BaseEstimator, ClassifierMixin):
    """A tree of as many records of each class, chosen by numpy's global generator."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        X = np.asarray(X)
        fewest = max(np.bincount(y).min(), 3)
        chosen = [np.random.permutation(np.flatnonzero(y == c))[:fewest] for c in self.classes_]
        rows = np.concatenate(chosen)
        self.tree_ = DecisionTreeClassifier(random_state=0).fit(X[rows], y[rows])
        return self

    def predict(self, X):
        return self.tree_.predict(np.asarray(X))


class Settings(Linear):
    """Votes by the settings of the process that it finds, and leaves others behind."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        of_numpy = np.geterr()["under"]
        variable, size = os.environ.get("SKLEARN_PATE_LEFT"), sklearn.get_config()["working_memory"]
        settings = (of_numpy, variable, warnings.filters[0][0], size)
        self.weights_ = np.random.default_rng(sum(repr(settings).encode())).normal(size=N_FEATURES)
        left = amount(X)
        np.seterr(under=("ignore", "warn", "print")[left % 3])
        os.environ["SKLEARN_PATE_LEFT"] = str(left)
        warnings.simplefilter(("error", "once", "always")[left % 3])
        sklearn.set_config(working_memory=left)
        return self


class Jitter(TransformerMixin, BaseEstimator):
    """Adds noise of a generator that it keeps, after draws whose number depends on records."""

    def __init__(self, shared=False):
        self.shared = shared

    def fit(self, X, y=None):
        self.generator_ = check_random_state(None if self.shared else 0)
        return self

    def transform(self, X):
        X = np.asarray(X, dtype=float)
        self.generator_.normal(size=amount(X))
        return X + self.generator_.normal(scale=2, size=X.shape)


def random_tree():
    return DecisionTreeClassifier(splitter="random", max_features=1)


def imported(module):
    """Import as a user would have to before the fit."""
    importlib.import_module(module)
    return Draws(module)


def network():
    from skorch import NeuralNetClassifier
    from torch import nn

    settings = {"module__in_features": N_FEATURES, "module__out_features": 2}
    settings |= {"criterion": nn.CrossEntropyLoss, "max_epochs": 2, "batch_size": 8}
    net = NeuralNetClassifier(nn.Linear, iterator_train__shuffle=True, **settings)
    single = FunctionTransformer(np.asarray, kw_args={"dtype": np.float32})
    return make_pipeline(StandardScaler(), single, net)


def after_mutual_information(classifier):
    return make_pipeline(SelectKBest(mutual_info_classif, k=2), classifier)


def after_frozen_jitter(shared):
    jitter = FrozenEstimator(Jitter(shared).fit(None))
    return make_pipeline(jitter, DecisionTreeClassifier(max_depth=3))


SHUFFLED = StratifiedKFold(2, shuffle=True)
#: Functions that make them.
ESTIMATORS = {
    "forest": lambda: RandomForestClassifier(5),
    "bagging": lambda: BaggingClassifier(KNeighborsClassifier(3), n_estimators=5),
    "stacking": lambda: StackingClassifier(
        [("a", GaussianNB()), ("b", random_tree())], cv=SHUFFLED
    ),
    "calibrated": lambda: CalibratedClassifierCV(after_mutual_information(random_tree()), cv=2),
    "grid search": lambda: GridSearchCV(random_tree(), {"max_depth": [1, 3, 5]}, cv=SHUFFLED),
    "random search": lambda: RandomizedSearchCV(
        SVC(), {"C": loguniform(0.01, 100)}, n_iter=3, cv=2
    ),
    "warm forest": lambda: RandomForestClassifier(5, warm_start=True),
    "k best": lambda: after_mutual_information(DecisionTreeClassifier(max_depth=3)),
    "frozen": lambda: after_frozen_jitter(False),
    "frozen, global": lambda: after_frozen_jitter(True),
    "draws, numpy": lambda: Draws("numpy"),
    "draws, random": lambda: Draws("random"),
    "lazy torch": lambda: Draws("torch"),
    "under-sampled": UnderSampled,
    "settings": Settings,
    "draws, torch": lambda: imported("torch"),
    "skorch": network,
}
#: Those to which a worker matters in which other teachers have run before.
SEE_THE_PAST = ("lazy torch", "settings")


# --- data ----------------------------------------------------------------------------------------


class Data(NamedTuple):
    """Arguments of a fit, without the public rows."""

    X: object
    y: np.ndarray
    groups: np.ndarray | None


PARTITIONS = ["random", "hash", "groups", "predefined"]
#: "one class": the first teacher then sees one class, and is not fitted.
CHANGES = ["other records", "one class"]


def public_rows(partition):
    rows = np.random.default_rng(1).integers(0, 5, (N_PUBLIC, N_FEATURES)).astype(float)
    return framed(rows) if partition == "hash" else rows


def framed(X):
    return pd.DataFrame(X, [f"record {i}" for i in range(len(X))]).add_prefix("x")


def settings_of(partition):
    """Return the parameters of a classifier that name the partition."""
    if partition == "groups":
        return {"partition": "random", "unit": "group"}
    return {"partition": partition, "unit": "group" if partition == "predefined" else "record"}


def neighbours(partition, kind):
    """Return data, and the same after a change of one unit of the first teacher's.

    Values are few and the signal is weak: scores are tied, and votes move easily.
    """
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, (N_RECORDS, N_FEATURES)).astype(float)
    y = (X[:, 0] + X[:, 1] + rng.normal(scale=3, size=N_RECORDS) > 4).astype(int)
    groups = None
    if partition == "groups":
        groups = np.repeat(np.arange(N_RECORDS // 4), 4)
    if partition == "predefined":
        groups = np.array([f"site {i % N_TEACHERS:02}" for i in range(N_RECORDS)])
    if partition == "hash":
        X = framed(X)
    of_first_teacher = np.flatnonzero(teachers_of(partition, X, groups) == 0)
    unit = of_first_teacher[:1]
    if partition == "predefined":
        unit = of_first_teacher
    elif partition == "groups":
        unit = np.flatnonzero(groups == groups[of_first_teacher[0]])
    if kind == "one class":
        y[np.setdiff1d(of_first_teacher, unit)] = 0
        if partition != "predefined":
            y[unit] = 1
    before = Data(X, y, groups)
    if partition in ("hash", "groups"):
        kept = np.setdiff1d(np.arange(N_RECORDS), unit)
        rows = X.iloc[kept] if partition == "hash" else X[kept]
        return before, Data(rows, y[kept], None if groups is None else groups[kept])
    X = X.copy()
    y = y.copy()
    X[unit] = (X[unit] * 3 + 1) % 5
    y[unit] = 0 if kind == "one class" else 1 - y[unit]
    return before, Data(X, y, groups)


def teachers_of(partition, X, groups):
    """Return the teacher of each record, as `PATEClassifier` will deal them."""
    given = {"n_records": N_RECORDS, "n_teachers": N_TEACHERS, "groups": groups}
    index, seed = getattr(X, "index", None), seed_streams(SEED)["partition"]
    return assign_teachers(
        **settings_of(partition), **given, index=index, seed=seed
    ).teacher_indices


# --- backends ------------------------------------------------------------------------------------


class Backend(NamedTuple):
    """A backend of joblib's, the start method of its processes, and if teachers share a process."""

    name: str
    n_jobs: int | None = 2
    start: str | None = None
    threads: bool = False
    workers: tuple | None = None  # how many processes, and threads of each


#: How processes start with this module imported, where the system can fork.
QUICK_START = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
BACKENDS = {
    "sequential": Backend("sequential", 1),
    "loky": Backend("loky"),
    "threading": Backend("threading", threads=True),
    "fork": Backend("multiprocessing", start="fork"),
    "Dask": Backend("dask", None, threads=True, workers=(1, 2)),
}


@contextlib.contextmanager
def started(backend):
    """Start a cluster, where the backend is one, and let joblib use the backend."""
    with contextlib.ExitStack() as stack:
        if backend.workers is not None:
            import dask
            from distributed import Client, LocalCluster

            method = {"distributed.worker.multiprocessing-method": QUICK_START}
            stack.enter_context(dask.config.set(method))
            n_workers, n_threads = backend.workers
            given = {"n_workers": n_workers, "threads_per_worker": n_threads, "processes": True}
            cluster = LocalCluster(dashboard_address=":0", silence_logs=logging.ERROR, **given)
            client = stack.enter_context(Client(stack.enter_context(cluster)))
            client.wait_for_workers(n_workers, timeout=LIMIT)
        if backend.start is not None:
            multiprocessing.set_start_method(backend.start, force=True)
        if backend.name == "loky":
            loky_start(None if QUICK_START == "spawn" else QUICK_START, force=True)
            stack.callback(lambda: get_reusable_executor().shutdown(kill_workers=True))
        stack.enter_context(parallel_config(backend=backend.name, n_jobs=backend.n_jobs))
        yield


# --- faults, to show that the check can fail -----------------------------------------------------


#: Replacements in `sklearn_pate.teachers`; reaches teachers that run in the caller's process.
FAULTS = {
    "no isolation": {"isolated": lambda seed: contextlib.nullcontext()},
    "no copies": {"isolated_clone": lambda estimator, seed, functions=False: clone(estimator)},
    "no second fit": {"_train": lambda key, task: fit_and_predict(task)},
}


def faulty(fault):
    if fault is None:
        return contextlib.nullcontext()
    return mock.patch.multiple("sklearn_pate.teachers.training", **FAULTS[fault])


# --- the check -----------------------------------------------------------------------------------


class Combination(NamedTuple):
    """One row of the table, and one of `FAULTS` or none."""

    estimator: str
    partition: str
    backend: str
    seeded: bool
    kind: str
    fault: str | None = None


def changed(*combinations):
    """Return the numbers of the teachers whose votes differ between data and their neighbour.

    Parameters
    ----------
    *combinations : Combination
        What to run, of one backend, in a process of their own.

    Returns
    -------
    list of (list of int)
        Of each combination; at most [0].
    """
    runs = [(combination, changed) for combination in combinations for changed in (False, True)]
    if combinations[0].estimator in SEE_THE_PAST:
        votes = [in_new_process(polled, run)[0] for run in runs]
    else:  # quicker: the workers of the first poll serve the second
        votes = in_new_process(polled, *runs)
    teachers = []
    for before, after in zip(votes[::2], votes[1::2], strict=True):
        n_fitted = sum(kind == "fitted" for kind, _ in before.values())
        if n_fitted < N_TEACHERS / 2:
            raise RuntimeError(f"only {n_fitted} teachers could be fitted: this shows nothing")
        teachers.append(differing(before, after))
    if BACKENDS[combinations[0].backend].workers and any(
        set(changed) - {0} for changed in teachers
    ):
        # By the data, which would do it every time, or by Dask's threads, which draw now and then?
        for _ in range(3):
            votes = in_new_process(polled, *runs)
            again = [differing(*votes[k : k + 2]) for k in range(0, len(votes), 2)]
            teachers = [
                [i for i in changed if i == 0 or i in other]
                for changed, other in zip(teachers, again, strict=True)
            ]
    return teachers


def differing(votes, other):
    """Return the numbers of teachers whose votes differ."""
    either = sorted(votes.keys() | other.keys())
    return [i for i in either if votes.get(i) != other.get(i)]


def polled(*runs):
    """Return the votes of each fitted teacher, by its number, in runs on changed data or not."""
    with started(BACKENDS[runs[0][0].backend]):
        return [polled_once(*run) for run in runs]


def polled_once(combination, changed):
    data = neighbours(combination.partition, combination.kind)[changed]
    with (
        faulty(combination.fault),
        tempfile.TemporaryDirectory() as folder,
        warnings.catch_warnings(record=True, action="always") as caught,
    ):
        watched = Watched(ESTIMATORS[combination.estimator](), folder)
        given = {"n_teachers": N_TEACHERS, "aggregator": GNMax(3.0), "epsilon": None}
        given |= {"classes": [0, 1], "random_state": SEED} | settings_of(combination.partition)
        clf = PATEClassifier(watched, **given)
        seed_globals(0 if combination.seeded else None)
        counts = clf.poll(*data[:2], public_rows(combination.partition), groups=data.groups).counts
        n_warnings = sum("take turns" in str(warning.message) for warning in caught)
        if n_warnings != BACKENDS[combination.backend].threads:
            raise RuntimeError(f"{n_warnings} warnings that teachers take turns")
        names = np.unique(data.groups) if combination.partition == "predefined" else None
        return read_votes(folder, watched, counts, names)


def read_votes(folder, watched, counts, names=None):
    """Return kind and votes by the teacher's number, if they add up to the counts."""
    seeds = _seeds(seed_streams(SEED)["teachers"], N_TEACHERS, names)  # as in `Teachers`
    numbers = {set_seeds(clone(watched), seed).random_state: i for i, seed in enumerate(seeds)}
    votes = {}
    total = np.zeros(N_PUBLIC, dtype=int)
    for path in Path(folder).iterdir():
        name, kind, _ = path.name.split(".")
        voted = np.load(path)
        total += voted
        votes[numbers[int(name)]] = kind, voted.tolist()
    extra = counts[:, 1] - total  # votes of teachers that saw one class
    if extra.min() < 0 or extra.max() > N_TEACHERS - len(votes):
        raise RuntimeError("the votes watched are not those that were counted")
    return votes


def seed_globals(seed):
    """Seed global generators; with None, by the operating system."""
    np.random.seed(seed)
    random.seed(seed)
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.manual_seed(np.random.SeedSequence(seed).entropy % 2**32)


def in_new_process(function, *args, limit=LIMIT):
    """Call a function where nothing has run before, and only imports of this file are done."""
    context = multiprocessing.get_context(QUICK_START)
    if QUICK_START == "forkserver":
        context.set_forkserver_preload(["tests.one_teacher"])  # from the root; elsewhere, slower
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(sender, function, args))
    process.start()
    sender.close()
    try:
        if not receiver.poll(limit):
            process.kill()
            raise TimeoutError(f"no answer within {limit} seconds")
        result, problem = receiver.recv()
    finally:
        process.join()
    if problem is not None:
        raise RuntimeError(problem)
    return result


def _answer(sender, function, args):
    try:
        answer = function(*args), None
    except Exception:
        answer = None, traceback.format_exc()
    sender.send(answer)
    atexit._run_exitfuncs()  # a process like this one leaves without, and joblib's folders stay
