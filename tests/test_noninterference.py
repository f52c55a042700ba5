"""Nothing but the mechanism: with constant outcomes, private data change nothing that leaves.

Every mechanism is replaced by a constant outcome, and the operating system's randomness by a fixed
stream. Then all that a fit or a search lets out must be byte for byte the same for any two private
data sets that it accepts, and for any state of the global generators.
"""

import contextlib
import logging
import os
import pickle
import random
import re
import sys
import threading
import warnings
from datetime import datetime
from functools import partial
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from conftest import count_fits_from_one, said_while, table
from faulty import RaisesIt
from processes import generator_states, process_settings
from scipy.stats import loguniform
from sklearn import set_config
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.feature_selection import SelectKBest, mutual_info_classif
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RandomizedSearchCV, ShuffleSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.utils import check_random_state

from sklearn_pate import FitOnPublic, PATEClassifier, PATERegressor
from sklearn_pate._sklearn import InvalidParameterError
from sklearn_pate.accounting.propose_test_release import ProposeTestRelease
from sklearn_pate.aggregators import (
    Aggregator,
    ConfidentGNMax,
    GaussianMechanism,
    GNMax,
    InteractiveGNMax,
    LaplaceMechanism,
    LNMax,
    SoftVote,
    StableArgmax,
)
from sklearn_pate.class_sums import statistic
from sklearn_pate.ledger import PrivacyLedger
from sklearn_pate.methods import ReverseNeighbors
from sklearn_pate.methods.sums import ClassSums, SumsMechanism
from sklearn_pate.model_selection import PrivateGridSearchCV, PrivateRandomizedSearchCV
from sklearn_pate.model_selection.trials import PrivateScorer
from sklearn_pate.queries import DiversityQueries, UncertaintyQueries
from sklearn_pate.releases.published_sums import PublishedSumsRelease
from sklearn_pate.releases.table import TableRelease
from sklearn_pate.runtime import copies
from sklearn_pate.schema_release import counts
from sklearn_pate.secure import SystemGenerator
from sklearn_pate.students import SoftLabelClassifier
from sklearn_pate.synthesis import ClassSumsSynthesizer, MarginalSynthesizer, synthesizers
from sklearn_pate.teachers import Sites, training

with contextlib.suppress(ImportError):  # so that torch's generator is among those that are watched
    import skorch.callbacks  # noqa: F401
with contextlib.suppress(ImportError):  # so that its generator starts afresh after each block
    import polars  # noqa: F401

pytestmark = pytest.mark.usefixtures("forked_workers")
N_PUBLIC = 30
MECHANISMS = (GNMax, LNMax, ConfidentGNMax, InteractiveGNMax, StableArgmax)
PUBLIC = pd.DataFrame(np.random.default_rng(99).normal(size=(N_PUBLIC, 3)), columns=list("abc"))


# --- private data, two sets that differ in all that they may ------------------------------------


def private(kind, n_records, seed):
    """Features, labels and groups; of the second kind, most teachers see one class."""
    X = pd.DataFrame(np.random.default_rng(seed).normal(size=(n_records, 3)), columns=list("abc"))
    y = (X["a"] > 0).astype(int).to_numpy()
    if kind == "rare":
        X = (X * 50).round()
        y = np.zeros(n_records, dtype=int)
        y[: n_records // 20] = 1
    X.index = [f"{kind}{i}" for i in range(n_records)]
    return X, y


def two_sets(partition):
    """Arguments of two fits that differ in private data alone."""
    more = 0 if partition in ("random", "own") else 40
    given = []
    for kind, n_records in (("common", 120), ("rare", 120 + more)):
        X, y = private(kind, n_records, seed=n_records)
        groups = {
            "groups": np.array([f"{kind}{i // 3}" for i in range(n_records)]),
            "predefined": np.arange(n_records) % 10,
        }.get(partition)
        given.append({"X": X, "y": y, "groups": groups})
    return given


# --- estimators that draw, and students that keep their generators ------------------------------


def draw(amount):
    """Draw from each global generator, so many times."""
    for _ in range(amount):
        np.random.normal()
        random.gauss(0, 1)
    if "torch" in sys.modules:
        sys.modules["torch"].rand(1 + amount % 9)


class Draws(ClassifierMixin, BaseEstimator):
    """Draws from each global generator; its records determine how often."""

    def fit(self, X, y):
        draw(int(np.abs(np.asarray(X)).sum()))
        self.label_ = int(y[np.random.randint(len(y))])
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.label_)


class Keeps(LogisticRegression):
    """Keeps a generator of the process, or its state."""

    def __init__(self, what="singleton"):
        super().__init__()
        self.what = what

    def fit(self, X, y):
        if self.what == "torch":
            self.rng_ = sys.modules["torch"].default_generator
        else:
            states = np.random.get_state(), random.getstate()
            self.rng_ = check_random_state(None) if self.what == "singleton" else states
        return super().fit(X, y)


class Remembers(GaussianNB):
    """Its predictions move a generator of its own, and it keeps the rows it saw last."""

    def fit(self, X, y):
        self.rng_ = np.random.default_rng(0)
        return super().fit(X, y)

    def predict(self, X):
        self.last_ = np.asarray(X).copy()
        self.rng_.random(1 + int(np.abs(self.last_).sum()) % 7)
        return super().predict(X)


class HoldsGenerator(BaseEstimator):
    def __init__(self, rng=None):
        self.rng = rng


class OwnPartition(HoldsGenerator):
    """Draws from the global generator, with a number of draws by records, and keeps it."""

    relation = "replace_one"

    def assign(self, n_records, n_teachers, *, index, groups, seed):
        np.random.random(sum(map(len, index)) % 1000)
        return np.random.default_rng(seed).permutation(n_records) % n_teachers


class OwnQueries(HoldsGenerator):
    """Draws from the global generators."""

    n_rounds = 2

    def select(self, X_public, n_queries, random_state, *, queried, labels, student_proba):
        rows = np.setdiff1d(np.arange(len(X_public)), queried)
        np.random.shuffle(rows)
        return rows[:n_queries]


def selecting():
    return make_pipeline(SelectKBest(mutual_info_classif, k=2), LogisticRegression())


# --- all that leaves ----------------------------------------------------------------------------


class Stream:
    """In place of the operating system's randomness: fixed, and from its start when asked."""

    def __init__(self):
        self.restart()

    def restart(self):
        self.rng = random.Random(0)
        self.generators = {}
        count_fits_from_one()

    def apart(self, function):
        """Return a function whose draws are not counted: the system's are independent of others."""

        def called(*args):
            state = self.rng.getstate()
            try:
                return function(*args)
            finally:
                self.rng.setstate(state)

        return called

    def bits(self, n):
        return self.rng.getrandbits(n)

    def bytes(self, n):
        return self.rng.randbytes(n)

    def noise_bits(self, generator, size):
        """Each generator of noise has bits of its own, so one does not affect others."""
        if generator not in self.generators:
            self.generators[generator] = random.Random(len(self.generators))
        n_words = int(np.prod(() if size is None else size, dtype=int))
        sampled = np.frombuffer(self.generators[generator].randbytes(8 * n_words), np.uint64)
        return sampled.reshape(() if size is None else size).copy()


@pytest.fixture
def stream(monkeypatch):
    """Replace every mechanism by a constant, clocks and the system's randomness by fixed ones."""
    stream = Stream()
    monkeypatch.setattr("numpy.random.bit_generator.randbits", stream.bits)
    monkeypatch.setattr(SystemGenerator, "_bits", lambda self, size: stream.noise_bits(self, size))
    monkeypatch.setattr("sklearn_pate.fitting.inputs.time", STOPPED)
    monkeypatch.setattr("sklearn.model_selection._search.time", STOPPED)
    monkeypatch.setattr("sklearn.model_selection._validation.time", STOPPED)
    if "skorch" in sys.modules:
        monkeypatch.setattr("skorch.callbacks.logging.time", STOPPED)

    # Made by the first fit of a process, from the system's randomness
    monkeypatch.setattr(copies, "_spare", [np.random.MT19937(0) for _ in range(9)])
    monkeypatch.setattr(training, "fit_and_predict", stream.apart(training.fit_and_predict))
    # Each held-out unit is shown to a copy of the student that has seeds of its own
    monkeypatch.setattr(PrivateScorer, "_n_right", stream.apart(PrivateScorer._n_right))
    monkeypatch.setattr(copies, "fresh_seed", stream.apart(copies.fresh_seed))  # of polars

    def constant(self, votes, student_proba=None, random_state=None):
        return (np.arange(len(votes)) % np.shape(votes)[1]), np.ones(len(votes), dtype=bool)

    for mechanism in MECHANISMS:
        # in one class with the distribution: costs of a sampler of its own are refused
        for name in ("outcome_log_proba", "aggregate", "release"):
            monkeypatch.setattr(mechanism, name, getattr(mechanism, name))
        monkeypatch.setattr(mechanism, "draw", constant)
    halves = lambda self, sums, rng=None: np.eye(2)[np.arange(len(sums)) % 2]  # noqa: E731
    monkeypatch.setattr(SoftVote, "soft_labels", halves)
    for mechanism in (GaussianMechanism, LaplaceMechanism, SumsMechanism):
        monkeypatch.setattr(mechanism, "noisy", constant_table)
    monkeypatch.setattr(
        statistic, "noisy_sums", lambda whole, *rest: constant_table(None, whole) / 10 + 7
    )
    # The numbers of columns whose edges are estimated; none of the tables has undeclared texts
    monkeypatch.setattr(counts, "plus_noise", lambda whole, *rest: constant_table(None, whole) + 50)
    monkeypatch.setattr(ProposeTestRelease, "passes", lambda self, votes, rng: True)
    monkeypatch.setattr(PrivateScorer, "_with_noise", lambda self, n_right, plan: 5.0)
    return stream


def constant_table(self, table, random_state=None):
    return np.arange(np.size(table)).reshape(np.shape(table)) * 5.0


#: In place of the module `time`: times may reveal data, and are out of scope.
STOPPED = SimpleNamespace(time=lambda: 0.0, monotonic=lambda: 0.0, perf_counter=lambda: 0.0)


#: Where an object lies in memory, as texts show it and as torch writes it into pickles: left out of
#: compared results; see the page on audits.
ADDRESS = re.compile("x[0-9a-fA-F]{9,}")
STORAGE = re.compile(rb"\d{14,15}")
SHORTENED = re.compile(r"\.\.\.[0-9a-fx]{6,14}(?=&gt;)")


def public_attributes(fitted):
    """All that is set on it, but the curator's view and the estimators within."""
    return {
        name: ADDRESS.sub("at", repr(value))
        for name, value in sorted(vars(fitted).items())
        if name not in ("curator_", "ledger") and "estimator" not in name and "student" not in name
    }


def everything(stream, make, given, state):
    """All that leaves a fit of what `make` returns, in a process whose generators have a state."""
    stream.restart()
    np.random.seed(state)
    random.seed(state)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(state)
    before = generator_states()
    estimator = make()
    if estimator.get_params().get("schema") is None:
        given = given | {"X_public": PUBLIC}
    fitted, out, log, warned = said_while(lambda: estimator.fit(**given))
    html = re.sub(r"id-\d+|[0-9a-f]{8}-[0-9a-f-]{27}", "id", fitted._repr_html_())
    html = SHORTENED.sub("...at", html)
    left = {
        "pickle": STORAGE.sub(b"at", pickle.dumps(fitted)),
        "repr": ADDRESS.sub("at", repr(fitted)),
        "html": ADDRESS.sub("at", html),
        "summary": fitted.privacy_spent_.summary(),
        "spent": repr(fitted.privacy_spent_),
        "out": out,
        "log": log,
        "warned": warned,
        "attributes": public_attributes(fitted),
        "predictions": fitted.predict(PUBLIC).tolist(),
    }
    if hasattr(fitted, "student_"):
        left["student"] = STORAGE.sub(b"at", pickle.dumps(fitted.student_))
    return left, before == generator_states()


DECLARED = {"schema": dict.fromkeys("abc", (-2, 2))}
JOINING = ClassSums(relation="add_or_remove_one")
WITH_SUMS = DECLARED | {"synthesizer": ClassSumsSynthesizer(epsilon_fraction=0.25, n_rows=200)}
ALONE = DECLARED | {"synthesizer": ClassSumsSynthesizer(epsilon_fraction=1.0, n_rows=200)}
HISTOGRAMS = DECLARED | {"synthesizer": MarginalSynthesizer(n_rows=200)}


@pytest.mark.slow
@table(
    "params, partition",
    ("sums and cells", WITH_SUMS, "random"),
    ("sums alone", ALONE, "groups"),
    ("histograms", HISTOGRAMS, "groups"),
    ("sums of columns", {"method": ClassSums(), "class_weight": "balanced"}, "random"),
    ("records that join", {"method": JOINING, "class_weight": "balanced"}, "groups"),
)
def test_fit_of_class_sums_reveals_no_private_data(stream, params, partition):
    make = lambda: PATEClassifier(classes=[0, 1], on_bad_plan="warn", **params)  # noqa: E731
    assert_nothing_differs(stream, make, partition)


class Interrupted(PATEClassifier):
    """Is interrupted, and keeps the steps that it published; or goes on after them."""

    at = "gather_sums"
    goes_on = False

    def fit(self, X, y, X_public=None, *, groups=None, sample_weight=None):
        owner = synthesizers
        if self.at == "gather":
            is_alone = self.synthesizer.epsilon_fraction == 1
            owner = PublishedSumsRelease if is_alone else TableRelease
        with mock.patch.object(owner, self.at, side_effect=KeyboardInterrupt):
            try:
                super().fit(X, y, groups=groups)
            except KeyboardInterrupt as error:
                self.privacy_spent_ = error.privacy_spent
        assert self._prefix.synthesis.published  # contents of a pickle
        return super().fit(X, y, groups=groups) if self.goes_on else self

    def predict(self, X):
        return super().predict(X) if self.goes_on else np.zeros(len(X))


class InterruptedLate(Interrupted):
    at = "gather"


class Continued(Interrupted):
    goes_on = True


class ContinuedLate(Continued):
    at = "gather"


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Interrupted, InterruptedLate, Continued, ContinuedLate])
def test_interrupted_fit_reveals_no_private_data(stream, kind):
    for params in (WITH_SUMS, ALONE):
        given = {"classes": [0, 1], "on_bad_plan": "warn", "warm_start": True} | params
        assert_nothing_differs(stream, partial(kind, **given), "groups")


NUMBERS_FOREST = RandomForestRegressor(3)


class OfColumn(PATERegressor):
    """Predicts the values of a column, so that the numbers of the two sets differ as well."""

    def fit(self, X, y, X_public=None, *, groups=None, sample_weight=None):
        return super().fit(X, X["a"] * (1 + y), X_public, groups=groups)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@table(
    "params, partition",
    ("cells", {"n_levels": 5}, "groups"),
    ("own student", {"student": make_pipeline(StandardScaler(), NUMBERS_FOREST)}, "random"),
    ("sums", {"method": ClassSums()}, "random"),
    ("teachers", {"base_estimator": NUMBERS_FOREST, "aggregator": SoftVote(5.0)}, "groups"),
    ("schema", DECLARED, "random"),
)
def test_regressor_fit_reveals_no_private_data(stream, params, partition):
    fixed = {"bounds": (-2, 2), "epsilon": 20.0, "on_bad_plan": "warn", "verbose": 1}
    assert_nothing_differs(stream, lambda: OfColumn(**fixed | params), partition)


def assert_nothing_differs(stream, make, partition="hash"):
    """Of two private data sets, met by global generators in two states."""
    fits = (everything(stream, make, data, state) for state, data in enumerate(two_sets(partition)))
    (left, unchanged), (found, still) = fits
    differ = [name for name in left if left[name] != found[name]]
    assert not differ, differ
    assert unchanged and still


def model(teacher=None, **params):
    fixed = {"n_teachers": 10, "epsilon": 20.0, "delta": 1e-5, "classes": [0, 1]}
    fixed |= {"n_queries": 20, "student": LogisticRegression(), "verbose": 1}
    fixed |= {"aggregator": GNMax(5.0)}  # noise that is searched for takes long
    teacher = selecting() if teacher is None else teacher
    return PATEClassifier(teacher, **(fixed | params))


FOREST = RandomForestClassifier(3)
SHUFFLES = FunctionTransformer(np.random.permutation, check_inverse=False)
PTR = {"accounting": "ptr", "epsilon": 4.0}
STAGES = [ConfidentGNMax(5, 4.0, 4.0), InteractiveGNMax(2, 4.0, 4.0, 0.9)]
KEEP = [Keeps("singleton"), Keeps("state")]
SEARCHED_C = {"C": loguniform(0.1, 10)}
SEARCH = RandomizedSearchCV(LogisticRegression(), SEARCHED_C, n_iter=2, cv=ShuffleSplit(2))
SEVERAL = [Draws(), selecting(), FOREST, SEARCH, BaggingClassifier(GaussianNB(), 2)]
NETWORK = MLPClassifier(3, max_iter=5)
STUDENTS = {
    "search": SEARCH,
    "shuffling": make_pipeline(SHUFFLES, LogisticRegression()),
    "unlabelled": SelfTrainingClassifier(NETWORK),
    "shared": RandomForestClassifier(3, random_state=check_random_state(None)),
    "remembers": Remembers(),
    "keeps a generator": Keeps("singleton"),
    "keeps a state": Keeps("state"),
}
STRATEGIES = {
    "uncertainty": UncertaintyQueries(3),
    "diversity": DiversityQueries(),
    "own": OwnQueries(check_random_state(None)),
}
SETTINGS = {
    "secure": {"secure": True, "aggregator": GNMax()},
    "seed": {"random_state": 0},
    "processes": {"n_jobs": 2},
    "own noise": {"aggregator": LNMax(0.5), "epsilon": None, "keep_teachers": True},
    "stages": {"aggregator": STAGES, "n_queries": [10, 10], "epsilon": None},
    "stable": {"aggregator": StableArgmax(run_epsilon=5.0), "epsilon": None},
    "soft": {"aggregator": SoftVote(5.0), "student": SoftLabelClassifier(FOREST), "epsilon": None},
    "a private test that passes": PTR | {"aggregator": GNMax(30.0), "n_teachers": 100},
    "all that the budget pays for": {"n_queries": None, "epsilon": 3.0, "aggregator": GNMax()},
}
#: Varied parameters: teachers, unless they draw, and others
VARIED = {
    "teachers of several kinds": (SEVERAL, {}),
    **{f"student, {name}": (None, {"student": student}) for name, student in STUDENTS.items()},
    **{
        f"strategy, {name}": (None, {"student": FOREST, "query_strategy": strategy})
        for name, strategy in STRATEGIES.items()
    },
    **{name: (None, params) for name, params in SETTINGS.items()},
    # Probabilities for mechanisms that need them; in processes, what can be imported there
    **{name: (selecting(), SETTINGS[name]) for name in ("soft", "processes")},
    "by default the student is what teachers are": (NETWORK, {"student": None}),
}


def test_fit_of_teachers_reveals_no_private_data(stream):
    """The others, slow, vary its parts."""
    assert_nothing_differs(stream, lambda: model(Draws()))


@pytest.mark.parametrize("teacher", ["each", "together"])
def test_fit_of_teachers_of_several_targets_reveals_no_private_data(stream, monkeypatch, teacher):
    """Of models for each target and of one for all, some of whose parts have one class."""

    one_target = two_sets

    def columns(partition):
        given = one_target(partition)
        return [
            each | {"y": np.column_stack([each["y"], each["X"]["b"] > 1]).astype(int)}
            for each in given
        ]

    monkeypatch.setattr(sys.modules[__name__], "two_sets", columns)
    base = Draws() if teacher == "each" else FOREST
    assert_nothing_differs(stream, lambda: model(base, classes=[[0, 1], [0, 1]]))


@pytest.mark.slow
@pytest.mark.parametrize("partition", ["random", "hash", "groups", "predefined", "own"])
def test_fit_with_each_partition_reveals_no_private_data(stream, partition):
    named = {"groups": "random", "own": OwnPartition(check_random_state(None))}
    teacher = selecting() if partition == "hash" else Draws()
    searched = {"aggregator": GNMax(), "partition": named.get(partition, partition)}
    assert_nothing_differs(stream, lambda: model(teacher, **searched), partition)


@pytest.mark.slow
@pytest.mark.parametrize("what", VARIED)
@pytest.mark.filterwarnings("ignore")
def test_fit_with_each_setting_reveals_no_private_data(stream, what):
    teacher, params = VARIED[what]
    make = lambda: model(Draws() if teacher is None else teacher, **params)  # noqa: E731
    assert_nothing_differs(stream, make, "random" if what == "seed" else "hash")


@pytest.mark.slow
def test_fit_with_torch_reveals_no_private_data(stream, monkeypatch):
    pytest.importorskip("torch", reason="needs the extra 'torch'")
    neural = pytest.importorskip("sklearn_pate.neural", reason="needs the extra 'torch'")
    monkeypatch.setattr(neural.base, "_LEAST_STEPS", 3)
    for student in (neural.VATClassifier(max_epochs=1), Keeps("torch")):
        student = make_pipeline(StandardScaler(), student)
        assert_nothing_differs(stream, lambda s=student: model(Draws(), student=s))


@pytest.mark.slow
def test_fit_with_memory_reveals_no_private_data(stream, tmp_path):
    left, found = (
        everything(stream, lambda k=k: model(Draws(), memory=tmp_path / str(k)), given, 0)[0]
        for k, given in enumerate(two_sets("hash"))
    )
    for name in ("summary", "spent", "log", "warned", "predictions", "student"):
        assert left[name] == found[name]


@pytest.mark.slow
def test_ledger_file_reveals_no_private_data(stream, tmp_path, monkeypatch):
    moment = SimpleNamespace(now=lambda zone: datetime(2020, 1, 1, tzinfo=zone))
    monkeypatch.setattr("sklearn_pate.ledger.file.datetime", moment)
    monkeypatch.setattr("sklearn_pate.ledger.file.token_hex", lambda n: stream.bytes(n).hex())
    contents = []
    for k, given in enumerate(two_sets("groups")):
        stream.restart()
        np.random.seed(0)
        path = tmp_path / f"{k}.sqlite"
        ledger = PrivacyLedger(path, epsilon=20.0)
        for epsilon in (1.0, 2.0):
            clf = model(Draws(), n_teachers=100, ledger=ledger, epsilon=epsilon, verbose=0)
            clf.set_params(aggregator=GNMax())
            clf.fit(**given, X_public=PUBLIC)
        contents.append(path.read_bytes())
    assert contents[0] == contents[1]


# --- records that vote in a table ---------------------------------------------------------------

LARGE = 20.0  # some private values are, no public one is


class Unlike(TransformerMixin, BaseEstimator):
    """Transforms public rows as they are, and does something else as well with private ones."""

    def __init__(self, what="draws"):
        self.what = what

    def fit(self, X, y=None):
        self.columns_ = list(X.columns)
        return self

    def transform(self, X):
        rows = np.asarray(X)
        sum_ = float(np.abs(rows).sum())
        if any(str(name).startswith(("common", "rare")) for name in X.index):
            return getattr(self, self.what)(rows, sum_)
        return rows

    def draws(self, rows, sum_):
        draw(int(sum_) % 99)
        return rows

    def prints_with_any_settings(self, rows, sum_):
        warnings.resetwarnings()
        warnings.simplefilter("always")
        logging.disable(logging.NOTSET)
        warnings.warn(f"sum {sum_}", UserWarning, stacklevel=2)
        print("sum", sum_)
        print("sum", sum_, file=sys.stderr)
        logging.getLogger("mine").error("sum %s", sum_)
        os.write(1, str(sum_).encode())
        return rows

    def changes_itself(self, rows, sum_):
        self.last_ = rows.copy()
        self.what = f"saw {sum_}"
        self.columns_.append(sum_)
        return rows

    def changes_the_process(self, rows, sum_):
        n = int(sum_) % 7
        np.seterr(all=["ignore", "warn"][n % 2])
        os.environ["SUM"] = str(sum_)
        set_config(transform_output="pandas", print_changed_only=bool(n % 2))
        warnings.filterwarnings("error")
        return rows

    def changes_its_rows(self, rows, sum_):
        rows *= 0
        return rows

    def fails(self, rows, sum_, kind=ValueError):
        if (np.abs(rows) > LARGE).any():
            raise kind(f"a secret {rows}")
        return rows

    def exits(self, rows, sum_):
        return self.fails(rows, sum_, SystemExit)

    def answers_in_other_shapes(self, rows, sum_):
        if (np.abs(rows) > LARGE).any():
            return [[str(sum_)], [1, 2]]
        return rows[:, :2]

    def answers_infinity(self, rows, sum_):
        return np.where(np.abs(rows) > LARGE, np.inf, 1e300)


UNLIKE = [name for name in vars(Unlike) if name[0] != "_" and name not in ("fit", "transform")]
#: All that a table is asked of, with transformers that treat private rows in ways of their own.
TABLES = {
    "plain": ({}, {"student": None}, "random"),
    "secure": ({"relation": "add_or_remove_one"}, {"secure": True}, "hash"),
    "given cells": ({"n_cells": 7, "smoothing": 0.5, "random_state": 0}, {}, "groups"),
    "several votes": ({"n_neighbors": 3}, {"aggregator": GaussianMechanism()}, "random"),
    "own noise": ({}, {"aggregator": LaplaceMechanism(2.0), "epsilon": None}, "random"),
}


def table_model(transformer, method, **params):
    fixed = {"epsilon": 2.0, "classes": [0, 1], "verbose": 1, "aggregator": None}
    return PATEClassifier(method=ReverseNeighbors(transformer, **method), **(fixed | params))


@pytest.mark.slow
@pytest.mark.parametrize("kind", TABLES)
def test_fit_of_tables_reveals_no_private_data(stream, kind):
    method, params, partition = TABLES[kind]
    transformer = None if kind == "plain" else Unlike("draws")
    make = lambda: table_model(transformer, method, **{"student": Draws()} | params)  # noqa: E731
    assert_nothing_differs(stream, make, partition)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "is_frozen"),
    [*((what, False) for what in UNLIKE), ("draws", True), ("changes_itself", True)],
)
def test_transformer_side_effects_reveal_no_private_data(stream, capfd, what, is_frozen):
    def make():
        transformer = Unlike(what)
        frozen = FrozenEstimator(transformer.fit(PUBLIC))
        return table_model(frozen if is_frozen else transformer, {})

    settings = process_settings()
    assert_nothing_differs(stream, make, "random")
    assert process_settings() == settings and capfd.readouterr() == ("", "")


# --- searches -----------------------------------------------------------------------------------

CANDIDATES = {"student": [Remembers(), *KEEP], "n_teachers": [10, 20]}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@table(
    "kind, params, candidates, given, partition",
    ("noise that is given", PrivateGridSearchCV, {}, CANDIDATES, {"epsilon": None}, "hash"),
    (
        "noise that is searched for",
        PrivateGridSearchCV,
        {"aggregator": GNMax()},
        {"student__C": [0.1, 1.0]},
        {"epsilon": 20.0},
        "groups",
    ),
    (
        "secure",
        PrivateRandomizedSearchCV,
        {"aggregator": GNMax(), "secure": True},
        {"student__C": loguniform(0.1, 10)},
        {"epsilon": 20.0, "n_iter": 2},
        "random",
    ),
)
def test_search_reveals_no_private_data(stream, kind, params, candidates, given, partition):
    def make():
        clf = model(Draws(), partition="hash" if partition == "hash" else "random", **params)
        return kind(clf, candidates, n_trials=4, **given)

    assert_nothing_differs(stream, make, partition)


# --- other outputs ------------------------------------------------------------------------------


class Topics(FunctionTransformer):
    """Keeps numpy's global generator, as scikit-learn's LatentDirichletAllocation does."""

    def fit(self, X, y=None):
        self.rng_ = check_random_state(None)
        return super().fit(X)


def test_fit_on_public_depends_on_no_global_generator(stream):
    contents = []
    for state in (0, 1):
        stream.restart()
        np.random.seed(state)
        before = generator_states()
        fitted = FitOnPublic(Topics()).fit(None, X_public=PUBLIC)
        assert generator_states() == before
        contents.append((pickle.dumps(fitted), pickle.dumps(fitted.transformer_)))
    assert contents[0] == contents[1]


# --- errors --------------------------------------------------------------------------------------


class Private:
    """Private values of one kind; an error could show each of them."""

    def __init__(self, text, number):
        self.text, self.number = text, number

    def error(self, kind=ValueError):
        error = kind(f"a {self.text}, {self.number}. Got {self.number}")
        error.add_note(self.text)
        error.__cause__ = KeyError(self.text)
        return error


class Speaking:
    """A value that raises an error whenever something is done with it."""

    def __init__(self, error):
        self.error = error

    def speak(self, *args):
        raise self.error

    __str__ = __repr__ = __eq__ = __lt__ = __gt__ = __hash__ = __float__ = speak
    __reduce__ = __reduce_ex__ = __bool__ = __len__ = __deepcopy__ = speak


class SpeakingArray(Speaking):
    """An object with the array interface of numpy."""

    __array__ = Speaking.speak


class RaisesInAssign:
    relation = "replace_one"

    def __init__(self, answer):
        self.answer = answer

    def assign(self, n_records, n_teachers, **given):
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


def all_of(error):
    """All that can be read of an error without its frames: of those it was raised from, too."""
    seen, waiting = [], [error]
    while waiting:
        error = waiting.pop()
        if error is None or any(error is other for other in seen):
            continue
        seen.append(error)
        waiting += [error.__cause__, error.__context__, *getattr(error, "exceptions", ())]
    return "\n".join(
        f"{type(e).__module__} {type(e).__qualname__} {e} {e!r} {e.args!r} "
        f"{getattr(e, '__notes__', [])!r} {vars(e)!r}"
        for e in seen
    )


N = 80
ROWS = np.random.default_rng(3).normal(size=(N, 2))
LABELS = np.arange(N) // 2 % 2


def fit_of(**given):
    """Fit a few teachers; the arguments replace data or parameters."""
    fixed = {"base_estimator": GaussianNB(), "n_teachers": 4, "n_queries": 5}
    return fitted(fixed | {"student": LogisticRegression()} | given)


def table_fit_of(**given):
    """The same fit, where records vote in a table."""
    neighbors_method = ReverseNeighbors(random_state=0)
    return fitted({"method": neighbors_method, "student": GaussianNB(), "random_state": 0} | given)


def fitted(given):
    given = {"classes": [0, 1], "epsilon": 20.0, "X_public": ROWS[:20].copy()} | given
    data = {"X": ROWS, "y": LABELS}
    data |= {k: given.pop(k) for k in [*data, "X_public", "groups", "sample_weight"] if k in given}
    return PATEClassifier(**given).fit(**data)


def cells(value, like=LABELS, at=7):
    """An array of objects, one of them this."""
    array = np.array(like, dtype=object)
    array[at] = value
    return array


def texts(s, like=LABELS):
    return np.where(np.arange(N) == 7, s.text, np.asarray(like).astype("U1"))


def loads(answer):
    def load(name):
        if isinstance(answer, Exception):
            raise answer
        return answer

    return {"X": Sites(load, list("abcd")), "y": None}


def indexed(index):
    return {"X": in_frame().set_index(pd.Index(index)), "X_public": in_frame(), "partition": "hash"}


def objects(value):
    return {"X": np.c_[cells(value), LABELS], "X_public": ROWS.astype(object)}


def raising(error, at="fit"):
    return {"base_estimator": RaisesIt(error, at)}


def in_frame(**columns):
    return pd.DataFrame({"a": ROWS[:, 0]} | columns)


REFUSED = {
    "labels, another": lambda s: {"y": np.where(np.arange(N) == 7, s.number, LABELS)},
    "labels, text": lambda s: {"y": texts(s)},
    "labels, objects": lambda s: {"y": cells(s.text)},
    "labels, values": lambda s: {"y": cells(Speaking(s.error()), texts(s))},
    "labels, fractions": lambda s: {"y": LABELS + s.number},
    "labels, ragged": lambda s: {"y": [[s.text], [1, 2]] * (N // 2)},
    "labels, arrays": lambda s: {"y": [SpeakingArray(s.error())] * N},
    "labels, missing": lambda s: {"y": cells(None, texts(s))},
    "labels, no classes": lambda s: {"y": cells(s.text), "classes": None},
    "groups, missing": lambda s: {"groups": cells(None, texts(s))},
    "groups, fractions": lambda s: {"groups": LABELS + s.number},
    "groups, values": lambda s: {"groups": cells(Speaking(s.error()))},
    "groups, few": lambda s: {"groups": texts(s)[1:]},
    "weights, text": lambda s: {"sample_weight": texts(s)},
    "weights, values": lambda s: {"sample_weight": cells(Speaking(s.error()))},
    "weights, arrays": lambda s: {"sample_weight": [SpeakingArray(s.error())] * N},
    "weights, ragged": lambda s: {"sample_weight": [[s.number], [1, 2]] * (N // 2)},
    "weights, few": lambda s: {"sample_weight": np.full(N - 1, s.number)},
    "index, missing": lambda s: indexed(cells(None, texts(s))),
    "index, fractions": lambda s: indexed(LABELS + s.number),
    "features, text": lambda s: {"X": np.c_[texts(s), texts(s)], "X_public": ROWS.astype("U3")},
    "features, ragged": lambda s: {"X": [[s.text], [1, 2]] * (N // 2)},
    "features, categories": lambda s: {
        "X": in_frame(b=pd.Categorical(texts(s))),
        "X_public": in_frame(b=pd.Categorical(["x"] * N)),
    },
    "features, an encoder": lambda s: {
        "X": in_frame(b=texts(s).astype(object)),
        "X_public": in_frame(b=["x"] * N),
    },
    "features, values": lambda s: objects(Speaking(s.error())),
    "features, values in memory": lambda s: objects(Speaking(s.error())),
    "features, exit in memory": lambda s: objects(Speaking(s.error(SystemExit))),
    "a partition, error": lambda s: {"partition": RaisesInAssign(s.error())},
    "a partition, exit": lambda s: {"partition": RaisesInAssign(s.error(SystemExit))},
    "a partition, text": lambda s: {"partition": RaisesInAssign(texts(s))},
    "a partition, fractions": lambda s: {"partition": RaisesInAssign(LABELS + s.number)},
    "a teacher": lambda s: raising(s.error()),
    "a teacher, predict": lambda s: raising(s.error(), "predict"),
    "a teacher, parameter": lambda s: raising(s.error(InvalidParameterError)),
    "a teacher, known phrase": lambda s: raising(ValueError(f"{s.text} Input X contains NaN")),
    "a teacher, interrupted": lambda s: raising(s.error(KeyboardInterrupt)),
    "a teacher, several": lambda s: raising(ExceptionGroup(s.text, [s.error(), s.error(KeyError)])),
    "a teacher, in a thread": lambda s: raising(s.error()) | {"n_jobs": 2, "timeout": 60},
    "sites, error": lambda s: loads(s.error()),
    "sites, labels": lambda s: loads((ROWS, texts(s))),
    "sites, values": lambda s: loads((ROWS, cells(Speaking(s.error())))),
    "sites, columns": lambda s: (
        loads((in_frame(**{s.text: LABELS}), LABELS)) | {"X_public": in_frame(b=LABELS)}
    ),
}


def assert_the_same_whatever_was_in_the_data(outcome):
    """Outputs of a fit with private values of one kind."""
    found = []
    for s in (Private("Ada Lovelace", 86420.97531), Private("Hypatia", 5e-300)):
        found.append(ADDRESS.sub("at", outcome(s)))
        for part in (s.text, *s.text.split(), str(s.number)):
            assert part not in found[-1]
    assert found[0] == found[1]


def outcome_of(fit, how, folder):
    """Return all outputs of a fit, whether it fails or not."""
    memory = {"memory": folder} if how.endswith("in memory") else {}

    def outcome(s):
        count_fits_from_one()
        try:
            clf = fit(**REFUSED[how](s), **memory)
        except (Exception, KeyboardInterrupt) as error:
            # the number of the failed teacher is public
            return re.sub(r"teacher \d", "teacher", all_of(error))
        assert fit is table_fit_of and how.startswith("features")
        return repr(vars(clf)) + clf.privacy_spent_.summary()

    return outcome


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("how", REFUSED)
def test_errors_are_the_same_for_any_private_values(how, tmp_path):
    assert_the_same_whatever_was_in_the_data(outcome_of(fit_of, how, tmp_path))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "how",
    [h for h in REFUSED if h.split(",")[0] in ("labels", "groups", "weights", "features", "sites")],
)
def test_errors_of_tables_are_the_same_for_any_private_values(how, tmp_path):
    assert_the_same_whatever_was_in_the_data(outcome_of(table_fit_of, how, tmp_path))


# --- warnings and output -------------------------------------------------------------------------


class LoudText(str):
    """Text that prints the values that it is compared with."""

    __hash__ = str.__hash__

    def __eq__(self, other):
        say(self)
        return str.__eq__(self, other)

    def __lt__(self, other):
        say(self)
        return str.__lt__(self, other)


def say(private):
    warnings.warn(f"seen: {private}", UserWarning, stacklevel=2)
    print("seen:", private)


class LoudPartition:
    relation = "replace_one"

    def assign(self, *, n_records, n_teachers, index, groups, seed):
        say(list(index))
        return np.arange(n_records) % n_teachers


class LoudMechanism(Aggregator):
    """A mechanism of one's own that warns while it draws, as a log of 0 votes does."""

    def seen(self, votes):
        say(votes)

    def outcome_log_proba(self, votes, student_proba=None):
        return GNMax(5.0).outcome_log_proba(votes)

    def aggregate(self, votes, student_proba=None, random_state=None):
        if len(votes) > 2:  # not made up
            self.seen(votes)
        return GNMax(5.0).aggregate(votes, random_state=random_state)

    def bounds(self):
        return GNMax(5.0).bounds()


class LoudSoftVote(SoftVote):
    def soft_labels(self, sums, random_state=None):
        if len(sums) > 2:  # not made up
            say(sums)
        return super().soft_labels(sums, random_state)

    def bounds(self):
        return SoftVote(self.sigma).bounds()


class LoudArray(np.ndarray):
    """Rows that print when they are pickled."""

    def __reduce_ex__(self, protocol):
        say("pickled")
        return super().__reduce_ex__(protocol)


LOUD = {
    "labels": {"y": cells(LoudText("b"), np.array(["a", "b"])[LABELS]), "classes": ["a", "b"]},
    "groups": {"groups": cells(LoudText("7"), np.arange(N).astype(str))},
    "partition": {"X": in_frame(), "X_public": in_frame()[:20], "partition": LoudPartition()},
    "mechanism": {"aggregator": LoudMechanism()},
    "stages": {"aggregator": [LoudMechanism(), GNMax(5.0)], "n_queries": [3, 3]},
    "soft votes": {"aggregator": LoudSoftVote(5.0)},
    "memory": {"X": ROWS.view(LoudArray)},
}


@pytest.mark.parametrize("what", LOUD)
def test_warnings_and_output_show_no_private_values(what, tmp_path, capsys):
    with warnings.catch_warnings(record=True, action="always") as caught:
        # By this seed soft labels are of both classes, so that the fit looks for one class alone
        params = {"student": GaussianNB(), "random_state": 1}
        fit_of(**LOUD[what], **params, memory=tmp_path if what == "memory" else None)
    assert not [str(warning.message) for warning in caught if "seen" in str(warning.message)]
    assert "seen" not in "".join(capsys.readouterr())


@pytest.mark.filterwarnings("ignore:the noise")
@pytest.mark.parametrize(
    ("module", "kind"),
    [("mine", ValueError), ("sklearn_pate_extras", SystemExit), ("mine", GeneratorExit)],
)
def test_mechanism_errors_do_not_quote_votes(module, kind):
    class Quotes(LoudMechanism):
        def seen(self, votes):
            raise kind(f"votes {np.asarray(votes).tolist()}")

    Quotes.__module__ = module
    message = f"Quotes could not draw labels: {kind.__name__}"
    with pytest.raises(ValueError, match=message) as caught:
        fit_of(aggregator=Quotes())
    assert "votes [" not in all_of(caught.value)


@pytest.mark.filterwarnings("ignore:the noise")
def test_mechanism_that_keeps_votes_is_not_published():
    class Keeps(LoudMechanism):
        def seen(self, votes):
            self.seen_ = votes

    own = Keeps()
    clf = fit_of(aggregator=own, student=GaussianNB())
    assert type(clf.aggregator_) is Keeps
    assert not vars(clf.aggregator_) and not vars(own) and not vars(clf.aggregator)


@pytest.mark.filterwarnings("ignore:the noise")
def test_warnings_after_a_fit_do_not_depend_on_kept_votes():
    has_votes = []

    class Keeps(LoudMechanism):
        def outcome_log_proba(self, votes, student_proba=None):
            has_votes.append(hasattr(self, "seen_"))
            return super().outcome_log_proba(votes)

        def aggregate(self, votes, student_proba=None, random_state=None):
            self.seen_ = votes
            return super().aggregate(votes, random_state=random_state)

        def bounds(self):
            return super().bounds()

    fit_of(aggregator=Keeps(), student=GaussianNB(), n_queries=20, random_state=0)
    assert has_votes and not any(has_votes)


class Nosy:
    """A callback of scikit-learn that keeps its arguments."""

    def __init__(self):
        self.seen = []
        self.lock = threading.Lock()  # it does not pickle, so that copies would be shared

    def setup(self, *context, **data):
        self.seen.append((context, data))

    teardown = on_fit_task_begin = on_fit_task_end = setup


@pytest.mark.slow
@pytest.mark.skipif(
    not hasattr(LogisticRegression, "set_callbacks"), reason="scikit-learn has callbacks from 1.9"
)
def test_callbacks_of_teachers_and_students_are_not_called():
    nosy = Nosy()
    teacher = LogisticRegression().set_callbacks(nosy)
    student = make_pipeline(StandardScaler(), LogisticRegression().set_callbacks(nosy))
    fit_of(base_estimator=teacher, student=student, n_queries=15, random_state=1)
    clf = PATEClassifier(teacher, student=student, n_teachers=4, classes=[0, 1])
    students = {"student": [student, LogisticRegression().set_callbacks(nosy)]}
    search = PrivateGridSearchCV(clf, students, epsilon=60.0, n_trials=4, random_state=0)
    search.fit(ROWS, LABELS, ROWS[:20].copy())
    assert nosy.seen == []
    assert teacher._skl_callbacks == [nosy]  # the inputs have not changed
