"""What keeps one fit from the next: generators, settings of the process, what is copied."""

import contextlib
import decimal
import gc
import importlib
import io
import locale
import logging
import os
import pickle
import random
import subprocess
import sys
import threading
import time
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from joblib.parallel import get_active_backend
from processes import run_script
from scipy import special
from scipy.stats import loguniform
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectKBest, mutual_info_classif
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV, ShuffleSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import check_random_state

from sklearn_pate import PATEClassifier
from sklearn_pate._sklearn import InvalidParameterError
from sklearn_pate.aggregators import GNMax
from sklearn_pate.exceptions import TeacherError
from sklearn_pate.isolation import (
    copied_data,
    copier,
    isolated,
    known_name,
    own_copy,
    own_generators,
    redacted,
    redaction,
    seeded,
    set_seeds,
    unfitted,
)
from sklearn_pate.partition import PredefinedPartition
from sklearn_pate.teachers import Sites, collect_votes

pytestmark = pytest.mark.usefixtures("forked_workers")


def states():
    """The state of each global generator that can be asked for here."""
    name, keys, *rest = np.random.get_state()
    found = [name, keys.tobytes(), rest, random.getstate()]
    if "torch" in sys.modules:
        found.append(sys.modules["torch"].get_rng_state().numpy().tobytes())
    return found


def draw(n=3):
    """Draw from each global generator."""
    drawn = [*np.random.normal(size=n), random.gauss(0, 1), random.random()]
    if "torch" in sys.modules:
        drawn += sys.modules["torch"].rand(n).tolist()
    return drawn


# --- generators ---------------------------------------------------------------------------------


@pytest.mark.parametrize("context", [seeded, isolated])
def test_generators_start_from_the_seed_and_are_as_before(context):
    np.random.normal()  # half of a pair is kept
    random.gauss(0, 1)
    before = states()
    with context(7):
        first = draw()
    draws_between = states()
    with context(7):
        again = draw()
    with context(8):
        other = draw()
    assert first == again and not set(first) & set(other)
    assert draws_between == before == states()


def test_torchs_generator_is_seeded_and_put_back():
    torch = pytest.importorskip("torch", reason="needs the extra 'torch'")
    torch.manual_seed(5)
    before = torch.get_rng_state()
    with seeded(7):
        first = torch.rand(3)
        torch.manual_seed(0)
    with seeded(7):
        assert torch.equal(first, torch.rand(3))
    assert torch.equal(before, torch.get_rng_state())


def test_polars_starts_from_the_seed_and_then_from_a_fresh_one():
    polars = pytest.importorskip("polars", reason="needs polars")
    numbers = polars.Series(range(2**20))
    drawn, afterwards = [], []
    for n_drawn in (1, 3):
        polars.set_random_seed(5)
        with isolated(7):
            drawn.append(numbers.sample(n_drawn)[0])
        with isolated(7):
            drawn.append(numbers.sample(1)[0])
        afterwards.append(numbers.sample(3).to_list())
    assert drawn[1] == drawn[3] == drawn[0]
    assert afterwards[0] != afterwards[1]


class Ends(GaussianNB):
    """Draws and prints when it ends, as often as its records say."""

    def __init__(self, is_cycle=False):
        super().__init__()
        self.is_cycle = is_cycle

    def fit(self, X, y):
        self.me_ = self if self.is_cycle else None
        return super().fit(X, y)

    def __del__(self):
        if hasattr(self, "theta_"):
            np.random.random(int(1000 * np.abs(self.theta_).sum()))
            print("it ended")


@pytest.mark.parametrize("is_cycle", [False, True])
def test_a_teacher_that_ends_moves_no_generator(is_cycle, capsys):
    X = np.random.default_rng(0).normal(size=(120, 2))
    drawn = []
    for scale in (1.0, 2.0):
        np.random.seed(3)
        teacher_indices = np.arange(120) % 4
        votes, _ = collect_votes(
            [Ends(is_cycle)],
            X * scale,
            (X[:, 0] > 0).astype(int),
            X[:5],
            teacher_indices=teacher_indices,
            n_teachers=4,
            n_classes=2,
        )
        gc.collect()
        drawn.append(np.random.random())
    assert drawn[0] == drawn[1] and capsys.readouterr().out == ""


@pytest.mark.parametrize("n_others", [0, 300_000])  # these make what is young old
def test_a_cycle_ends_however_old_it_is(n_others):
    ended = []

    class Tells:
        def __del__(self):
            ended.append(1)

    def leave_a_cycle():
        left = Tells()
        left.me = left
        del left
        return len([[k] for k in range(n_others)])

    with isolated(0):
        leave_a_cycle()
    assert ended == [1]


def test_collecting_leaves_frozen_objects_alone():
    gc.freeze()
    try:
        n_frozen = gc.get_freeze_count()
        with isolated(0):
            pass
        assert gc.get_freeze_count() > n_frozen / 2 > 0
    finally:
        gc.unfreeze()
    with isolated(0):
        pass
    assert gc.get_freeze_count() == 0


def test_an_error_inside_puts_all_back():
    before = states()
    with pytest.raises(KeyError), isolated(7):
        draw()
        raise KeyError
    assert states() == before


def test_another_bit_generator_of_numpys_is_put_back():
    mersenne = np.random.get_bit_generator()
    own = np.random.PCG64(3)
    np.random.set_bit_generator(own)
    try:
        state = own.state
        with seeded(7):
            np.random.set_bit_generator(np.random.Philox(1))
            np.random.random(5)
        assert np.random.get_bit_generator() is own
        assert own.state == state
    finally:
        np.random.set_bit_generator(mersenne)


def test_isolation_within_isolation():
    with seeded(1):
        expected = draw()
    with seeded(1):
        with isolated(2):
            draw()
        assert draw() == expected


def test_threads_take_turns():
    drawn = {}

    def one(seed):
        with seeded(seed):
            first = draw(50)
            threading.Event().wait(0.01)
            drawn[seed] = first + draw(50)

    threads = [threading.Thread(target=one, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for seed in range(6):
        with seeded(seed):
            assert drawn[seed] == draw(50) + draw(50)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_process_forked_while_another_thread_has_its_turn_does_not_wait_for_it():
    code = """if True:
        import os, threading
        from sklearn_pate.isolation import seeded

        entered, leave = threading.Event(), threading.Event()

        def hold():
            with seeded(0):
                entered.set()
                leave.wait()

        thread = threading.Thread(target=hold)
        thread.start()
        entered.wait()
        child = os.fork()
        if child == 0:
            with seeded(1):
                os._exit(3)
        leave.set()
        thread.join()
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    run = run_script(code)
    assert run.stdout.strip() == "3", run.stderr


# --- settings of the process --------------------------------------------------------------------


def settings():
    return {
        "numpy": np.geterr(),
        "decimal": decimal.getcontext().prec,
        "filters": list(warnings.filters),
        "logging": logging.root.manager.disable,
        "out": sys.stdout,
        "err": sys.stderr,
        "scikit-learn": sklearn.get_config(),
        "joblib": (type(get_active_backend()[0]), get_active_backend()[1]),
        "pandas": (pd.get_option("display.max_rows"), pd.get_option("display.html.border")),
        "scipy": special.geterr(),
        "collecting": gc.isenabled(),
        "how often": gc.get_threshold(),
        "import path": list(sys.path),
        "hook of errors": sys.excepthook,
        "hook of errors that cannot be raised": sys.unraisablehook,
        "text of warnings": warnings.formatwarning,
        "errors of logging": logging.raiseExceptions,
        "records of logging": logging.getLogRecordFactory(),
        "class of loggers": logging.getLoggerClass(),
        "printing": np.get_printoptions()["precision"],
        "loggers": [(h, h.level) for h in logging.getLogger("sklearn_pate_test").handlers],
        "level": logging.getLogger("sklearn_pate_test").level,
        "recursion": sys.getrecursionlimit(),
        "environment": dict(os.environ),
        "folder": os.getcwd(),
        "locale": locale.setlocale(locale.LC_ALL),
    }


class Unused(logging.Logger):
    pass


def test_settings_are_put_back(tmp_path, monkeypatch):
    monkeypatch.setenv("SKLEARN_PATE_TEST", "as it was")
    before = settings()
    with isolated(0):
        np.seterr(all="ignore")
        decimal.getcontext().prec = 5
        warnings.simplefilter("error")
        special.seterr(all="raise")
        gc.disable()
        gc.set_threshold(7)
        sys.path.append(str(tmp_path))
        sys.excepthook = sys.unraisablehook = print
        warnings.formatwarning = str
        logging.raiseExceptions = False
        logging.setLogRecordFactory(lambda *args, **kwargs: None)
        logging.setLoggerClass(Unused)
        np.set_printoptions(precision=3)
        logging.getLogger("sklearn_pate_test").addHandler(logging.NullHandler())
        logging.getLogger("sklearn_pate_test").setLevel(7)
        sys.setrecursionlimit(sys.getrecursionlimit() + 7)
        logging.disable(5)
        sys.stdout = sys.stderr = io.StringIO()
        sklearn.set_config(assume_finite=True)
        joblib.parallel_config(backend="threading", n_jobs=7)
        pd.set_option("display.max_rows", 7)
        pd.set_option("display.html.border", 3)
        os.environ["SKLEARN_PATE_TEST"] = "changed"
        os.environ["SKLEARN_PATE_OTHER"] = "new"
        os.chdir(tmp_path)
        locale.setlocale(locale.LC_ALL, "C")
        changed = settings()
    differ = {name for name in before if before[name] != changed[name]}
    assert differ >= set(before) - {"locale"}  # where it is "C" anyway
    assert settings() == before


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="needs time.tzset")
def test_the_time_zone_is_put_back_if_its_variable_was(monkeypatch):
    before = time.tzname
    with isolated(0):
        with monkeypatch.context() as patch:
            patch.setenv("TZ", "ABC-9")
            time.tzset()
        assert time.tzname != before
    assert time.tzname == before


def test_levels_of_handlers_and_captured_warnings_are_put_back():
    logger, handler = logging.getLogger("sklearn_pate_test"), logging.NullHandler()
    logger.addHandler(handler)
    with isolated(0):
        handler.setLevel(40)
        logging.captureWarnings(True)
    logger.removeHandler(handler)
    assert handler.level == logging.NOTSET
    showed = warnings.showwarning
    logging.captureWarnings(True)
    assert warnings.showwarning is not showed
    logging.captureWarnings(False)


@pytest.mark.parametrize("before", [None, {0: "{}"}, {"salary": "{:.2f}"}])
def test_options_of_pandas_that_are_dicts_are_put_back(before):
    with pd.option_context("styler.format.formatter", before):
        with isolated(0):
            pd.set_option("styler.format.formatter", {"age": "{:.1f}"})
            pd.set_option("display.max_rows", 7)
        assert pd.get_option("styler.format.formatter") == before
        assert pd.get_option("display.max_rows") != 7


def test_defaults_of_torch_are_put_back():
    torch = pytest.importorskip("torch", reason="needs the extra 'torch'")

    def defaults():
        flags = torch.is_grad_enabled(), torch.are_deterministic_algorithms_enabled()
        numbers = torch.get_default_dtype(), torch.get_float32_matmul_precision()
        return *numbers, torch.get_num_threads(), torch.is_anomaly_enabled(), *flags

    before = defaults()
    with isolated(0):
        torch.set_default_dtype(torch.float64)
        torch.set_num_threads(before[2] + 1)
        torch.set_float32_matmul_precision("medium")
        torch.autograd.set_detect_anomaly(True)
        torch.set_grad_enabled(False)
        torch.use_deterministic_algorithms(True)
        assert not set(defaults()) & set(before) - {True, False}
    assert defaults() == before


def test_defaults_of_a_torch_that_was_imported_meanwhile_are_those_it_starts_with():
    pytest.importorskip("torch", reason="needs the extra 'torch'")
    code = """if True:
        import sys
        from sklearn_pate.isolation import isolated

        assert "torch" not in sys.modules
        with isolated(0):
            import torch
            torch.set_default_dtype(torch.float64)
            torch.set_grad_enabled(False)
        print(torch.get_default_dtype(), torch.is_grad_enabled())
    """
    run = run_script(code)
    assert run.stdout.strip() == "torch.float32 True", run.stderr


def test_a_teacher_is_silent_whatever_it_sets(capfd, caplog):
    with isolated(0):
        logging.disable(logging.NOTSET)
        warnings.simplefilter("always")
        speak_in_python()
    with isolated(0):
        speak_in_python()
    assert capfd.readouterr() == ("", "")
    assert not caplog.records
    logging.getLogger().error("public")
    assert [record.message for record in caplog.records] == ["public"]


def speak_in_python():
    warnings.warn("private", stacklevel=1)
    logging.getLogger("a library").error("private")
    logging.getLogger().error("private")
    print("private")


BELOW = """
import ctypes, os, sys, warnings
import numpy as np
from joblib import parallel_config
from sklearn.naive_bayes import GaussianNB
from sklearn_pate import PATEClassifier
from sklearn_pate.teachers import Sites

def speak():
    for descriptor in (1, 2):
        os.write(descriptor, b"private")
    for stream in (sys.__stdout__, sys.__stderr__):  # held back for some time
        stream.write("private")
    ctypes.CDLL(None).puts(b"private")
    os.system("echo private; echo private >&2")

class Loud(GaussianNB):
    def fit(self, X, y):
        speak()
        return super().fit(X, y)

def load(name):
    speak()
    return X[int(name)::4], y[int(name)::4]

X = np.random.default_rng(0).normal(size=(80, 2))
y = np.arange(80) // 4 % 2
clf = PATEClassifier(Loud(), n_teachers=4, classes=[0, 1], n_jobs=int(sys.argv[2]), verbose=1)
warnings.simplefilter("ignore")
sys.stdout.write("one ")
ctypes.CDLL(None).printf(b"two ")
with parallel_config(backend=sys.argv[1]):
    clf.poll(X, y, X)
    clf.poll(Sites(load, list("0123")), None, X)
os.write(1, b"three ")
print("four")
ctypes.CDLL(None).fflush(None)  # what was held back is heard
"""


@pytest.mark.skipif(os.name != "posix", reason="needs a C library that is found by itself")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("backend", "n_jobs"), [("loky", 1), ("loky", 2), ("threading", 2)])
def test_what_is_written_below_pythons_streams_is_dropped(backend, n_jobs):
    run = run_script(BELOW, backend, n_jobs)
    assert run.returncode == 0, run.stderr
    assert "private" not in run.stdout + run.stderr
    for word in ("one", "two", "three", "four"):
        assert run.stdout.count(word) == 1
    assert run.stdout.count("teachers 4/4") == 2  # progress is heard
    if n_jobs == 1:
        assert run.stdout.count("teachers 2/4") == 2


def test_what_is_written_below_can_be_let_through(capfd):
    with isolated(0, descriptors=False):
        os.write(1, b"progress")
    with isolated(0), isolated(1):
        os.write(1, b"private")
    os.write(2, b"after")
    assert capfd.readouterr() == ("progress", "after")


def test_without_output_there_is_nothing_to_silence():
    code = """if True:
        import os, sys
        from sklearn_pate.isolation import isolated

        sys.__stdout__ = sys.stdout = None
        os.close(1)
        before = os.fstat(2)
        with isolated(0):
            assert os.fstat(2) != before
        assert os.fstat(2) == before
        try:
            os.fstat(1)
        except OSError:
            sys.exit(3)
    """
    run = run_script(code)
    assert run.returncode == 3, run.stderr


# --- seeds --------------------------------------------------------------------------------------


def test_generators_that_were_given_are_replaced_by_numbers():
    given = np.random.RandomState(0)
    forest = set_seeds(RandomForestClassifier(random_state=given), 1, only_missing=True)
    assert isinstance(forest.random_state, int)
    search = GridSearchCV(forest, {}, cv=ShuffleSplit(2, random_state=given))
    set_seeds(search, 1, only_missing=True)
    assert isinstance(search.cv.random_state, int)
    assert given.get_state()[2] == np.random.RandomState(0).get_state()[2]


def test_parameters_leave_without_generators_and_unfitted():
    rng = np.random.RandomState(0)
    forest = RandomForestClassifier(3, random_state=rng).fit([[0], [1]], [0, 1])
    left = unfitted({"a": [forest, (DummyClassifier(), 3)], "b": np.arange(2), "c": "text"})
    assert left["a"][0].random_state is None and not hasattr(left["a"][0], "estimators_")
    assert isinstance(left["a"][1][0], DummyClassifier) and left["a"][1][1] == 3
    assert left["b"].tolist() == [0, 1] and left["c"] == "text"
    assert forest.random_state is rng


# --- copies that share no generator -------------------------------------------------------------


class Holds(TransformerMixin, BaseEstimator):
    """Holds anything."""

    def __init__(self, what=None):
        self.what = what

    def fit(self, X, y=None):
        self.fitted_ = True
        return self

    def transform(self, X):
        return X


@pytest.mark.parametrize(
    "shared",
    [
        check_random_state(None),
        np.random.get_bit_generator(),
        np.random.normal,
        random._inst,
        random.random,
    ],
    ids=["RandomState", "bit generator", "method", "Random", "Python's method"],
)
def test_what_shares_a_generator_becomes_a_copy_that_does_not(shared):
    held = {"deep": [Holds(shared)], "other": np.arange(3)}
    own = own_generators(held)
    assert own["deep"][0].what is not shared
    assert own["other"].tolist() == [0, 1, 2]
    before = states()
    pickled = [pickle.dumps(own_generators(held)) for _ in range(2)]
    assert pickled[0] != pickled[1]  # each has a seed of the operating system
    assert states() == before
    assert np.random.get_state()[1].tobytes()[:64] not in pickled[0]


class Counted(LogisticRegression):
    """A class, and what is kept in it."""

    fits = []

    def fit(self, X, y):
        self.fits.append(len(y))
        return super().fit(X, y)


def test_copies_are_of_the_same_class():
    made = []

    class Local(Counted):
        def fit(self, X, y):
            made.append(len(y))
            return super().fit(X, y)

    for kind in (Counted, Local):
        fit = kind.fit
        held = {"one": kind(), "function": lambda kind=kind: kind}
        for functions in (False, True):
            own = own_copy(held, 0, functions=functions)
            assert type(own["one"]) is kind and own["one"] is not held["one"]
            assert own["function"]() is kind and own["function"] is not held["function"]
        assert copier(held)()["function"]() is kind
        assert kind.fit is fit  # the class itself was left alone
    Local().fit([[0.0], [1.0]], [0, 1])
    assert made == [2]


def test_data_are_copied_to_the_cell():
    frame = pd.DataFrame({"words": [["a"], ["b"]], "n": [1, 2]})
    array = np.arange(3)
    array.flags.writeable = False
    own, numbers = copied_data((frame, array))
    own.loc[0, "words"].append("c")
    numbers[0] = 7
    assert frame["words"].tolist() == [["a"], ["b"]] and array.tolist() == [0, 1, 2]
    locks = [threading.Lock()]
    with pytest.raises(TypeError):  # neither way
        copied_data(locks)


def test_torchs_default_generator_is_replaced():
    torch = pytest.importorskip("torch", reason="needs the extra 'torch'")
    own = own_generators({"rng": torch.default_generator})
    assert own["rng"] is not torch.default_generator
    assert not torch.equal(own["rng"].get_state(), torch.get_rng_state())


def test_what_shares_none_is_left_as_it_is():
    held = {"rng": np.random.RandomState(0), "python": random.Random(0), "list": [1, 2]}
    assert own_generators(held) is held


def test_what_does_not_pickle_is_copied_in_another_way():
    held = {"function": lambda x: x, "rng": check_random_state(None)}
    own = own_generators(held)
    assert own["rng"] is not held["rng"] and own["function"](3) == 3
    cannot = {"lock": threading.Lock()}
    assert own_generators(cannot) is cannot


# --- findings, as they were shown ---------------------------------------------------------------

RNG = np.random.default_rng(0)
X, X_PUBLIC = RNG.normal(size=(600, 6)), RNG.normal(size=(80, 6))
Y = (X[:, 0] + RNG.normal(size=600) > 0).astype(int)
FRAME = pd.DataFrame(X, index=[f"p{i}" for i in range(600)])
PUBLIC_FRAME = pd.DataFrame(X_PUBLIC)


def selecting():
    return make_pipeline(SelectKBest(mutual_info_classif, k=3), LogisticRegression())


@pytest.mark.parametrize("secure", [False, True])
def test_the_seeds_of_a_student_do_not_follow_the_global_generator(secure):
    def seeds(X, y):
        np.random.seed(0)
        clf = PATEClassifier(
            selecting(),
            n_teachers=5,
            student=RandomForestClassifier(3),
            partition="hash",
            classes=[0, 1],
            aggregator=GNMax(2.0),
            epsilon=None,
            secure=secure,
        )
        clf.fit(X[:150], y[:150], X_public=PUBLIC_FRAME)
        clf = pickle.loads(pickle.dumps(clf))
        return tuple(tree.random_state for tree in clf.student_.estimators_)

    fits = [seeds(FRAME, Y), seeds(FRAME, Y), seeds(FRAME[1:], Y[1:]), seeds(FRAME[1:], Y[1:])]
    assert len(set(fits)) == 4


class Boot(ClassifierMixin, BaseEstimator):
    """Draws from the global generator as often as it has records, and shows what it drew."""

    def __init__(self, n=0):
        self.n = n

    def fit(self, X, y):
        np.random.randint(len(X), size=len(X))
        print("private", len(X))
        self.classes_ = np.unique(y)
        self.draw_ = np.random.random()
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[int(self.draw_ * len(self.classes_))])

    def score(self, X, y):
        return self.draw_


def test_what_a_teacher_runs_in_parallel_stays_in_its_isolation(capfd):
    search = GridSearchCV(Boot(), {"n": [0, 1]}, cv=ShuffleSplit(1, random_state=0), n_jobs=2)
    found = []
    for rows in (slice(0, None), slice(1, None)):
        clf = PATEClassifier(
            search,
            student=search,
            n_teachers=4,
            partition="hash",
            random_state=0,
            classes=[0, 1],
            epsilon=20.0,
        )
        clf.fit(FRAME[rows], Y[rows], X_public=PUBLIC_FRAME)
        found.append(clf.student_.cv_results_["mean_test_score"].tolist())
    assert found[0] == found[1]
    out, _ = capfd.readouterr()
    lines = out.split("\n")
    assert {line for line in lines if line} <= {f"private {n}" for n in range(1, 81)}  # students'


class Tokens(TransformerMixin, BaseEstimator):
    """Drops words that it does not know, in place."""

    def fit(self, X, y=None):
        self.known_ = {word for cell in X["words"] for word in cell}
        return self

    def transform(self, X):
        for cell in X["words"]:
            cell[:] = [word for word in cell if word in self.known_]
        return np.array([[len(cell), cell.count("a")] for cell in X["words"]], dtype=float)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_teachers_that_write_into_cells_reach_nobody(n_jobs):
    def frame(n, words, seed):
        rng = np.random.default_rng(seed)
        return pd.DataFrame({"words": [list(rng.choice(words, 6)) for _ in range(n)]})

    public = frame(30, list("abcdef"), 1)
    before = [list(cell) for cell in public["words"]]
    private, groups = frame(200, list("abcdef"), 2), np.repeat(np.arange(20), 10)
    other = pd.concat([frame(10, ["z"], 3), private[10:]], ignore_index=True)
    y = np.array(["a" in cell for cell in private["words"]]).astype(int)
    counts = []
    for X in (private, other):
        clf = PATEClassifier(
            make_pipeline(Tokens(), LogisticRegression()),
            partition="predefined",
            unit="group",
            classes=[0, 1],
            n_jobs=n_jobs,
            random_state=0,
        )
        counts.append(clf.poll(X, y, X_public=public, groups=groups).counts)
        assert [list(cell) for cell in public["words"]] == before
    assert np.abs(counts[0] - counts[1]).max() <= 1


def moved_by_one_record(make):
    """How many of 20 teachers differ if the first record of one is removed."""
    teachers = []
    for rows in (slice(0, None), slice(1, None)):
        clf = PATEClassifier(
            make(), n_teachers=20, partition="hash", random_state=0, classes=[0, 1], epsilon=20.0
        )
        clf.set_params(keep_teachers=True, student=LogisticRegression(), aggregator=GNMax(5.0))
        clf.fit(FRAME[rows], Y[rows], X_public=PUBLIC_FRAME)
        teachers.append([t.predict(X_PUBLIC.copy()).tolist() for t in clf.curator_.teachers])
    return sum(a != b for a, b in zip(*teachers, strict=True))


def test_functions_that_hold_a_generator_or_a_cache_reach_nobody():
    def with_a_generator():
        rng = np.random.RandomState(0)

        def score(X, y):
            rng.normal(size=int(np.abs(np.asarray(X)).sum()))
            return rng.uniform(size=np.shape(X)[1])

        return make_pipeline(SelectKBest(score, k=2), LogisticRegression())

    seen = {}

    def with_a_cache():
        def embed(X):
            X = np.asarray(X)
            return np.array([seen.setdefault(row.tobytes(), scrambled(row)) for row in X])

        def scrambled(row):
            return row * np.random.default_rng(len(seen)).normal(size=row.size)

        return make_pipeline(FunctionTransformer(embed), LogisticRegression())

    assert moved_by_one_record(with_a_generator) <= 1
    assert moved_by_one_record(with_a_cache) <= 1
    assert not seen


def test_a_pipelines_cache_is_not_shared(tmp_path):
    X = np.tile(RNG.normal(size=(12, 6)), (10, 1))  # all teachers have the same records
    y, teacher = np.tile(np.arange(12) % 2, 10), np.repeat(np.arange(10), 12)
    steps = [("select", SelectKBest(mutual_info_classif, k=2)), ("tree", DecisionTreeClassifier())]
    votes = []
    for memory in (None, str(tmp_path)):
        _, teachers = collect_votes(
            [Pipeline(steps, memory=memory)],
            X,
            y,
            X_PUBLIC,
            teacher_indices=teacher,
            n_teachers=10,
            n_classes=2,
            seed=np.random.SeedSequence(0),
            keep_teachers=True,
        )
        votes.append([t.predict(X_PUBLIC).tolist() for t in teachers])
    assert votes[0] == votes[1]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("given", ["instance", "class", "named", "searched"])
def test_callbacks_that_write_files_are_refused(given):
    pytest.importorskip("torch", reason="needs the extra 'torch'")
    skorch = pytest.importorskip("skorch", reason="needs the extra 'torch'")
    from skorch.callbacks import Checkpoint
    from torch import nn

    callback = {"instance": Checkpoint(), "class": Checkpoint, "named": ("keep", Checkpoint())}
    if given == "searched":
        network = skorch.NeuralNetClassifier(nn.Linear)
        network = GridSearchCV(network, {"callbacks": [[Checkpoint()], None]})
    else:
        network = skorch.NeuralNetClassifier(nn.Linear, callbacks=[callback[given]])
    clf = PATEClassifier(network, student=LogisticRegression(), classes=[0, 1], epsilon=20.0)
    with pytest.raises(
        ValueError, match=r"(callbacks|param_grid) .* Checkpoint, which writes or reads files"
    ):
        clf.fit(X.astype(np.float32), Y, X_public=X_PUBLIC.astype(np.float32))


class Indexed(ClassifierMixin, BaseEstimator):
    """Votes by what the index of its rows tells beside their own identifiers."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        index = X.index
        seen = [str(index.dtype), len(getattr(index, "categories", []))]
        seen += [len(level) for level in getattr(index, "levels", [])]
        self.seen_ = [*seen, *(str(level.dtype) for level in getattr(index, "levels", []))]
        self.vote_ = sum(repr(seen).encode()) % 2
        return self

    def predict(self, X):
        return np.full(len(X), self.vote_)


@pytest.mark.parametrize("kind", ["categories", "levels", "dtype"])
def test_the_index_of_a_part_tells_of_no_other(kind):
    names = [f"p{i}" for i in range(600)]
    made = {
        "categories": lambda rows: pd.CategoricalIndex([names[i] for i in rows]),
        "levels": lambda rows: pd.MultiIndex.from_tuples([(names[i], i) for i in rows]),
        "dtype": lambda rows: pd.Index([i if i else "text" for i in rows]),
    }
    votes = []
    for rows in (np.arange(600), np.arange(1, 600)):
        frame = pd.DataFrame(X[rows], index=made[kind](rows))
        clf = PATEClassifier(
            Indexed(), n_teachers=20, partition="hash", random_state=0, classes=[0, 1]
        )
        clf.set_params(keep_teachers=True)
        votes.append([t.vote_ for t in clf.poll(frame, Y[rows], X_public=PUBLIC_FRAME).teachers])
    assert sum(a != b for a, b in zip(*votes, strict=True)) <= 1


@pytest.mark.parametrize("kind", ["whole numbers", "pairs", "dates"])
def test_one_records_index_changes_no_other_index(kind):
    days = pd.date_range("2020-01-01", periods=600, unit="s")
    finer = pd.Timestamp("2020-01-01 00:00:00.000000001")
    made = {
        "whole numbers": (pd.Index(np.arange(600)), pd.Index([0.5, *range(1, 600)])),
        "pairs": (
            pd.MultiIndex.from_tuples([(i, "a") for i in range(600)]),
            pd.MultiIndex.from_tuples([(0.5, "a"), *((i, "a") for i in range(1, 600))]),
        ),
        "dates": (days, pd.DatetimeIndex([finer, *days[1:]])),
    }
    kinds = []
    for index in made[kind]:
        frame = pd.DataFrame(X[:600], index=index)
        clf = PATEClassifier(Indexed(), n_teachers=20, random_state=0, classes=[0, 1])
        clf = clf.set_params(keep_teachers=True)
        teachers = clf.poll(frame, Y[:600], X_public=PUBLIC_FRAME).teachers
        kinds.append([teacher.seen_ for teacher in teachers])
    assert sum(a != b for a, b in zip(*kinds, strict=True)) <= 1


class Positions(ClassifierMixin, BaseEstimator):
    """Votes by the first position of its rows."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.vote_ = int(X.index[0]) % 2
        return self

    def predict(self, X):
        return np.full(len(X), self.vote_)


@pytest.mark.parametrize("named", [True, False])
def test_positions_that_shift_do_not_reach_the_teachers(named):
    groups = np.repeat(np.arange(120), 5)
    names = PredefinedPartition(names=range(120)) if named else "random"
    votes = []
    for kept in (groups >= 0, groups != 3):
        frame = pd.DataFrame(X[:600][kept])
        frame = frame.reset_index(drop=True)
        clf = PATEClassifier(Positions(), n_teachers=20, partition=names, classes=[0, 1])
        clf = clf.set_params(keep_teachers=True, random_state=0)
        given = {"X_public": PUBLIC_FRAME, "groups": groups[kept]}
        teachers = clf.poll(frame, Y[:600][kept], **given).teachers
        votes.append([getattr(teacher, "vote_", None) for teacher in teachers])
    assert sum(a != b for a, b in zip(*votes, strict=True)) <= 1


class Loud(LogisticRegression):
    """Warns of its records, whatever the filters."""

    def fit(self, X, y):
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.warn(f"private {np.max(X)}", stacklevel=1)
        warnings.resetwarnings()
        return super().fit(X, y)


def test_warnings_that_a_teacher_lets_through_are_dropped():
    clf = PATEClassifier(
        Loud(), student=LogisticRegression(), n_teachers=10, classes=[0, 1], epsilon=20.0
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clf.fit(X, Y, X_public=X_PUBLIC)
    assert not [w for w in caught if "private" in str(w.message)]


def load_by_chance(name):
    """Load as many rows as the global generator says, and draw as many numbers as there are."""
    rows = np.random.permutation(600)[:40]
    np.random.normal(size=int(np.abs(X[rows]).sum()))
    return X[rows], Y[rows]


class Raising(LogisticRegression):
    """Finds numpy's error state as it was, and leaves another."""

    def fit(self, X, y):
        assert np.geterr() == STATE
        np.seterr(all="raise")
        return super().fit(X, y)


STATE = np.geterr()


def test_a_site_and_its_teacher_leave_the_error_state_as_it_was():
    def load(name):
        assert np.geterr() == STATE and special.geterr()["overflow"] == "ignore"
        np.seterr(all="raise")
        special.seterr(all="raise")
        return X[int(name) :: 10], Y[int(name) :: 10]

    clf = PATEClassifier(Raising(), classes=[0, 1], epsilon=20.0)
    clf.poll(Sites(load, list("0123456789")), None, X_public=X_PUBLIC)
    assert np.geterr() == STATE


def test_sites_load_in_isolation():
    counts = []
    for state in (0, 1):
        np.random.seed(state)
        before = states()
        clf = PATEClassifier(LogisticRegression(), classes=[0, 1], epsilon=20.0, random_state=0)
        names = [str(i) for i in range(10)]
        counts.append(clf.poll(Sites(load_by_chance, names), None, X_public=X_PUBLIC).counts)
        assert states() == before
    assert np.array_equal(*counts)


class Late(LogisticRegression):
    """Takes the global generator when it first predicts."""

    def predict(self, X):
        self.rng_ = check_random_state(None)
        return super().predict(X)


def test_a_generator_that_a_student_takes_after_the_fit_is_not_pickled():
    clf = PATEClassifier(
        LogisticRegression(), student=Late(), n_teachers=20, classes=[0, 1], epsilon=20.0
    )
    clf.fit(X, Y, X_public=X_PUBLIC).predict(X_PUBLIC)
    word = np.random.get_state()[1].tobytes()[:256]
    assert clf.student_.rng_ is check_random_state(None)
    assert word in pickle.dumps(clf.student_.rng_)
    assert word not in pickle.dumps(clf)


class OwnOrder(BaseEstimator):
    """A strategy that holds a generator."""

    def __init__(self, rng=None):
        self.rng = rng

    def select(self, X_public, n_queries, random_state=None):
        return random_state.permutation(len(X_public))[:n_queries]


@pytest.mark.parametrize("where", ["splitter", "distribution", "strategy", "own"])
def test_a_generator_shared_with_parts_does_not_give_the_noise_away(where):
    rng = np.random.RandomState(12345)
    given = {"base_estimator": LogisticRegression(), "student": LogisticRegression()}
    if where == "splitter":
        splitter = ShuffleSplit(2, random_state=rng)
        given["base_estimator"] = GridSearchCV(LogisticRegression(), {"C": [1.0]}, cv=splitter)
    if where == "distribution":
        distribution = loguniform(0.1, 10)
        distribution.random_state = rng
        given["student"] = RandomizedSearchCV(
            LogisticRegression(), {"C": distribution}, n_iter=2, cv=2
        )
    if where == "strategy":
        given["query_strategy"] = OwnOrder(rng)
    if where == "own":
        given["student"] = make_pipeline(Holds(rng), LogisticRegression())
    clf = PATEClassifier(
        n_teachers=20, classes=[0, 1], epsilon=20.0, random_state=rng, n_queries=60, **given
    )
    clf.fit(X, Y, X_public=X_PUBLIC)
    word = rng.get_state()[1].tobytes()[:256]
    assert word in pickle.dumps(rng)
    assert word not in pickle.dumps(clf)
    assert word not in pickle.dumps(clf.student_)


@pytest.mark.skipif(os.name != "posix", reason="needs processes that can be ended")
def test_a_teacher_that_hangs_does_not_make_the_next_fit_wait():
    hanging = PATEClassifier(
        Hangs(), student=LogisticRegression(), classes=[0, 1], timeout=0.1, n_jobs=2, epsilon=20.0
    )
    with pytest.raises(TeacherError, match="longer than timeout"):
        hanging.fit(X, Y, X_public=X_PUBLIC)
    start = time.monotonic()
    PATEClassifier(LogisticRegression(), n_jobs=2, classes=[0, 1], epsilon=20.0).fit(
        X, Y, X_public=X_PUBLIC
    )
    assert time.monotonic() - start < 25


class Hangs(LogisticRegression):
    def fit(self, X, y):
        time.sleep(50)
        return super().fit(X, y)


class LazyTorch(ClassifierMixin, BaseEstimator):
    """Imports torch when it is fitted, and votes by a number that it draws from it."""

    def fit(self, X, y):
        import torch

        self.classes_ = np.unique(y)
        self.drawn_ = torch.rand(3).tolist()
        self.vote_ = int(self.drawn_[0] > 0.5)
        return self

    def predict(self, X):
        return np.full(len(X), self.vote_)


@pytest.mark.parametrize("first", ["one class", "two classes"])
def test_the_first_to_import_torch_is_seeded_as_others_are(first):
    pytest.importorskip("torch", reason="needs the extra 'torch'")
    code = f"""if True:
        import sys
        sys.path.insert(0, {os.path.dirname(__file__)!r})
        import numpy as np
        from test_isolation import LazyTorch
        from sklearn_pate.teachers import collect_votes

        assert "torch" not in sys.modules
        teacher, codes = np.arange(120) % 12, np.arange(120) // 60
        if {first!r} == "one class":
            codes = np.where(teacher == 0, 0, codes)
        public = {{"teacher_indices": teacher, "n_teachers": 12, "n_classes": 2}}
        public["seed"] = np.random.SeedSequence(0)
        _, teachers = collect_votes(
            [LazyTorch()], np.zeros((120, 2)), codes, np.zeros((1, 2)), keep_teachers=True, **public
        )
        print([t.drawn_ for t in teachers[1:]])
    """
    run = run_script(code)
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == drawn_if_seeded(), run.stdout


def drawn_if_seeded():
    """What teachers 1 to 11 draw, whoever was first."""
    import torch

    seeds = [int(s.generate_state(1)[0]) % 2**31 for s in np.random.SeedSequence(0).spawn(12)]
    votes = []
    for seed in seeds[1:]:
        with seeded(seed):
            votes.append(torch.rand(3).tolist())
    return str(votes)


def test_threads_are_told_once_that_they_take_turns():
    clf = PATEClassifier(selecting(), n_teachers=10, classes=[0, 1], epsilon=20.0, n_jobs=2)
    with (
        joblib.parallel_config(backend="threading"),
        pytest.warns(UserWarning, match="take turns") as caught,
    ):
        clf.poll(X, Y, X_PUBLIC)
    assert len([w for w in caught if "take turns" in str(w.message)]) == 1
    assert caught[0].filename == __file__


def test_a_part_has_no_notes_of_all_rows():
    frame = pd.DataFrame({"a": np.arange(240.0)})
    frame.attrs["mean"] = frame["a"].mean()
    settings = {"teacher_indices": np.arange(240) % 2, "n_teachers": 2, "n_classes": 2}
    _, teachers = collect_votes(
        [Noted()], frame, np.arange(240) // 2 % 2, frame[:3], keep_teachers=True, **settings
    )
    assert [teacher.notes_ for teacher in teachers] == [{}, {}]
    assert frame.attrs == {"mean": 119.5}


class Noted(DummyClassifier):
    def fit(self, X, y):
        self.notes_ = dict(X.attrs)
        return super().fit(X, y)


class Own(KeyError):
    pass


class Overdone(np.linalg.LinAlgError):
    pass


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (KeyError("x"), "KeyError"),
        (Own("x"), "KeyError"),
        (Overdone("x"), "LinAlgError"),
        (np.exceptions.AxisError("x"), "AxisError"),
        (pd.errors.ParserError("x"), "ParserError"),
        (sklearn.exceptions.NotFittedError("x"), "NotFittedError"),
        (subprocess.TimeoutExpired("x", 1), "TimeoutExpired"),
        (ExceptionGroup("x", [ValueError()]), "ExceptionGroup"),
        (type("ValueError", (Exception,), {"__module__": "builtins"})("x"), "Exception"),
        (type("Ada", (RuntimeError,), {"__module__": "sklearn.exceptions"})("x"), "RuntimeError"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_of_an_error_a_known_name_is_told(error, told):
    assert known_name(error) == told


def test_a_name_that_a_teacher_put_into_a_library_is_not_told(monkeypatch):
    kind = type("Ada", (ValueError,), {"__module__": "sklearn.exceptions"})
    monkeypatch.setattr("sklearn.exceptions.Ada", kind, raising=False)
    monkeypatch.setattr("builtins.Ada", kind, raising=False)
    assert known_name(kind("x")) == "ValueError"

    class Lies(type):
        __mro__ = property(lambda cls: (kind, object))
        __name__ = "Ada"

    assert known_name(Lies("Ada", (OSError,), {})()) == "OSError"


def test_known_errors_are_there():
    """Of libraries that are installed, so that a name that went away is noticed."""
    missing = []
    for module, names in redaction._KNOWN_ERRORS.items():
        with contextlib.suppress(ImportError):
            loaded = importlib.import_module(module)
            missing += [f"{module}.{name}" for name in names if not hasattr(loaded, name)]
    assert missing == []


def test_of_a_wrong_parameter_what_the_estimator_says_is_told():
    error = InvalidParameterError("The 'Ada' parameter of Lovelace must be 86420. Got 1")
    tree = DecisionTreeClassifier(max_depth=-3)
    told = "InvalidParameterError: The 'max_depth' parameter of DecisionTreeClassifier must be"
    for estimator in (tree, make_pipeline(Holds(), tree), GridSearchCV(tree, {})):
        assert redacted(error, estimator).startswith(told)
        assert "-3" not in redacted(error, estimator)
    for estimator in (None, DecisionTreeClassifier()):
        said = redacted(error, estimator)
        assert said.startswith("InvalidParameterError: its text may quote records")


def test_redaction_of_what_has_no_text():
    class Mute(ValueError):
        def __str__(self):
            raise RuntimeError

    assert redacted(Mute()).startswith("ValueError: its text may quote records")
