"""Isolation of one fit from the next: generators, settings of the process, copies."""

import io
import logging
import os
import pickle
import random
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from conftest import collect_votes, table
from processes import generator_states, process_settings, run_script
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
from sklearn_pate.runtime.copies import copied_generators, copier, own_copy, seeded, unfitted
from sklearn_pate.runtime.isolation import applied_to_parts, isolated, redacted_text, remedy_of
from sklearn_pate.teachers import Sites

pytestmark = pytest.mark.usefixtures("forked_workers")


def draw(n=3):
    """Draw from each global generator."""
    sampled = [*np.random.normal(size=n), random.gauss(0, 1), random.random()]
    if "torch" in sys.modules:
        sampled += sys.modules["torch"].rand(n).tolist()
    return sampled


# --- generators ---------------------------------------------------------------------------------


@pytest.mark.parametrize("with_torch", [False, True])
@pytest.mark.parametrize("context", [seeded, isolated])
def test_generators_start_from_the_seed_and_are_restored(context, with_torch):
    if with_torch:
        pytest.importorskip("torch", reason="needs the extra 'torch'")
    np.random.normal()  # half of a pair is cached
    random.gauss(0, 1)
    before = generator_states()
    with context(7):
        first = draw()
    draws_between = generator_states()
    with context(7):
        again = draw()
    with context(8):
        other = draw()
    assert first == again and not set(first) & set(other)
    assert draws_between == before == generator_states()


def test_polars_generator_starts_from_the_seed_and_is_reseeded():
    polars = pytest.importorskip("polars", reason="needs polars")
    numbers = polars.Series(range(2**20))
    sampled, afterwards = [], []
    for n_drawn in (1, 3):
        polars.set_random_seed(5)
        with isolated(7):
            sampled.append(numbers.sample(n_drawn)[0])
        with isolated(7):
            sampled.append(numbers.sample(1)[0])
        afterwards.append(numbers.sample(3).to_list())
    assert sampled[1] == sampled[3] == sampled[0] and afterwards[0] != afterwards[1]


def test_generators_are_restored_after_errors_and_nested_isolation():
    before = generator_states()
    with seeded(1):
        expected = draw()
    with pytest.raises(KeyError), seeded(1):
        with isolated(2):
            draw()
        assert draw() == expected
        raise KeyError
    assert generator_states() == before


def test_seeded_threads_run_in_turn():
    def sampled(seed):
        with seeded(seed):
            first = draw(50)
            time.sleep(0.01)
            return first + draw(50)

    with ThreadPoolExecutor(6) as threads:
        together = list(threads.map(sampled, range(6)))
    assert together == [sampled(seed) for seed in range(6)]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_seeded_fork_does_not_wait_for_another_thread():
    code = """if True:
        import os, threading
        from sklearn_pate.runtime.copies import seeded

        def fork():
            if not os.fork():
                with seeded(1):
                    os._exit(3)
            print(os.waitstatus_to_exitcode(os.wait()[1]))

        with seeded(0):
            thread = threading.Thread(target=fork)
            thread.start()
            thread.join()
    """
    run = run_script(code)
    assert run.stdout.strip() == "3", run.stderr


# --- settings of the process --------------------------------------------------------------------


def test_settings_are_restored_after_isolation(tmp_path, monkeypatch):
    monkeypatch.setenv("SKLEARN_PATE_TEST", "as it was")
    before = process_settings()
    with isolated(0):
        np.seterr(all="ignore")
        warnings.simplefilter("error")
        warnings.showwarning = print
        special.seterr(all="raise")
        np.set_printoptions(precision=3)
        logging.disable(5)
        sys.stdout = sys.stderr = io.StringIO()
        sklearn.set_config(assume_finite=True)
        joblib.parallel_config(backend="threading", n_jobs=7)
        os.environ["SKLEARN_PATE_TEST"] = "changed"
        os.environ["SKLEARN_PATE_OTHER"] = "new"
        pd.set_option("display.max_rows", 7)
        os.chdir(tmp_path)
        changed = process_settings()
    assert not [name for name in before if before[name] == changed[name]]
    assert process_settings() == before


def test_torch_defaults_are_restored_after_isolation():
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


def test_output_is_suppressed_in_isolation(capfd, caplog):
    for change in (lambda: logging.disable(logging.NOTSET), warnings.resetwarnings, bool):
        with isolated(0):
            change()
            warnings.warn("private", stacklevel=1)
            logging.getLogger("a library").error("private")
            logging.getLogger().error("private")
            print("private")
    assert capfd.readouterr() == ("", "") and not caplog.records
    logging.getLogger().error("public")
    assert [record.message for record in caplog.records] == ["public"]


def test_logs_in_isolation_reach_no_filter():
    texts, logger = [], logging.getLogger("a library with a filter")
    logger.addFilter(lambda record: texts.append(record.getMessage()))
    for change in (lambda: logging.disable(logging.NOTSET), bool):
        with isolated(0):
            change()
            logger.error("private")
    logger.error("public")
    assert texts == ["public"]


BELOW = """
import ctypes, os, sys, warnings
import numpy as np
from sklearn.naive_bayes import GaussianNB
from sklearn_pate import PATEClassifier
from sklearn_pate.teachers import Sites

def print_anywhere():
    for descriptor in (1, 2):
        os.write(descriptor, b"private")
    for stream in (sys.__stdout__, sys.__stderr__):  # held back for some time
        stream.write("private")
    ctypes.CDLL(None).puts(b"private")
    os.system("echo private; echo private >&2")

class Loud(GaussianNB):
    def fit(self, X, y):
        print_anywhere()
        return super().fit(X, y)

def load(name):
    print_anywhere()
    return X[int(name)::4], y[int(name)::4]

X = np.random.default_rng(0).normal(size=(80, 2))
y = np.arange(80) // 4 % 2
clf = PATEClassifier(Loud(), n_teachers=4, classes=[0, 1], n_jobs=int(sys.argv[1]), verbose=1)
warnings.simplefilter("ignore")
sys.stdout.write("one ")
ctypes.CDLL(None).printf(b"two ")
clf.poll(X, y, X)
clf.poll(Sites(load, list("0123")), None, X)
os.write(1, b"three ")
print("four")
ctypes.CDLL(None).fflush(None)  # the buffered output appears
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs a C library that is found by itself")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_output_below_python_streams_is_dropped(n_jobs):
    run = run_script(BELOW, n_jobs)
    assert run.returncode == 0, run.stderr
    assert "private" not in run.stdout + run.stderr
    assert [run.stdout.count(word) for word in ("one", "two", "three", "four")] == [1] * 4
    assert run.stdout.count("teachers 4/4") == 2  # progress is heard


def test_output_to_a_closed_stream_is_dropped():
    code = """if True:
        import os
        from sklearn_pate.runtime.isolation import isolated

        os.close(1)
        with isolated(0):
            os.write(1, b"private")
        try:
            os.write(1, b"")
        except OSError as error:
            os.write(2, error.strerror.encode())
    """
    assert run_script(code).stderr == "Bad file descriptor"


# --- seeds --------------------------------------------------------------------------------------


def test_unfitted_removes_generators_and_fitted_attributes():
    rng = np.random.RandomState(0)
    forest = RandomForestClassifier(3, random_state=rng).fit([[0], [1]], [0, 1])
    left = unfitted({"a": [forest, (DummyClassifier(), 3)], "b": np.arange(2), "c": "text"})
    assert left["a"][0].random_state is None and not hasattr(left["a"][0], "estimators_")
    assert isinstance(left["a"][1][0], DummyClassifier) and left["a"][1][1] == 3
    assert left["b"].tolist() == [0, 1] and left["c"] == "text" and forest.random_state is rng


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
    [np.random.mtrand._rand, np.random.get_bit_generator(), np.random.normal, random.random],
    ids=["RandomState", "bit generator", "method", "Python's method"],
)
def test_copied_generators_share_no_state(shared):
    held = {"deep": [Holds(shared)], "other": np.arange(3)}
    own = copied_generators(held)
    assert own["deep"][0].what is not shared and own["other"].tolist() == [0, 1, 2]
    before = generator_states()
    pickled = [pickle.dumps(copied_generators(held)) for _ in range(2)]
    assert pickled[0] != pickled[1]  # each has a seed of the operating system
    assert generator_states() == before
    assert np.random.get_state()[1].tobytes()[:64] not in pickled[0]


def test_copies_have_the_same_class():
    class Local(LogisticRegression):
        def fit(self, X, y):
            return super().fit(X, y)

    for kind in (LogisticRegression, Local):
        held = {"one": kind(), "function": lambda kind=kind: kind}
        for own in (*(own_copy(held, 0, functions=some) for some in (0, 1)), copier(held)()):
            assert type(own["one"]) is kind and own["one"] is not held["one"]
            assert own["function"]() is kind and own["function"] is not held["function"]
    Local().fit([[0.0], [1.0]], [0, 1])  # the class itself was left alone


# --- findings, as they were shown ---------------------------------------------------------------

RNG = np.random.default_rng(0)
X, X_PUBLIC = RNG.normal(size=(600, 6)), RNG.normal(size=(80, 6))
Y = (X[:, 0] + RNG.normal(size=600) > 0).astype(int)
FRAME = pd.DataFrame(X, index=[f"p{i}" for i in range(600)])
PUBLIC_FRAME = pd.DataFrame(X_PUBLIC)


def pate(teacher, **params):
    fixed = {"classes": [0, 1], "epsilon": 20.0, "student": LogisticRegression()}
    return PATEClassifier(teacher, **(fixed | params))


def teachers_of(teacher, rows, labels=Y):
    """Return the 20 teachers of one seed that these rows train."""
    clf = pate(teacher, n_teachers=20, partition="hash", random_state=0, keep_teachers=True)
    return clf.poll(rows, labels, X_public=PUBLIC_FRAME).teachers


def selecting():
    return make_pipeline(SelectKBest(mutual_info_classif, k=3), LogisticRegression())


class Boot(ClassifierMixin, BaseEstimator):
    """Draws from the global generator as often as it has records, and shows the numbers."""

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


@pytest.mark.slow
def test_parallel_runs_of_a_teacher_stay_in_isolation(capfd):
    search = GridSearchCV(Boot(), {"n": [0, 1]}, cv=ShuffleSplit(1, random_state=0), n_jobs=2)
    found = []
    for rows in (slice(0, None), slice(1, None)):
        clf = pate(search, student=search, n_teachers=4, partition="hash", random_state=0)
        clf.fit(FRAME[rows], Y[rows], X_public=PUBLIC_FRAME)
        found.append(clf.student_.cv_results_["mean_test_score"].tolist())
    assert found[0] == found[1]
    lines = capfd.readouterr().out.splitlines()
    assert set(lines) <= {f"private {n}" for n in range(1, 81)}  # students'


class Tokens(TransformerMixin, BaseEstimator):
    """Drops words that it does not know, in place."""

    def fit(self, X, y=None):
        self.known_ = {word for cell in X["words"] for word in cell}
        return self

    def transform(self, X):
        for cell in X["words"]:
            cell[:] = [word for word in cell if word in self.known_]
        return np.array([[len(cell), cell.count("a")] for cell in X["words"]], dtype=float)


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_teachers_that_write_into_cells_change_no_other(n_jobs):
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
        teacher = make_pipeline(Tokens(), LogisticRegression())
        by_groups = {"partition": "predefined", "unit": "group"}
        clf = pate(teacher, n_jobs=n_jobs, random_state=0, **by_groups)
        counts.append(clf.poll(X, y, X_public=public, groups=groups).counts)
        assert [list(cell) for cell in public["words"]] == before
    assert np.abs(counts[0] - counts[1]).max() <= 1


@pytest.mark.slow
def test_functions_that_hold_a_cache_change_no_other_teacher():
    seen = {}

    def embed(X):
        X = np.asarray(X)
        return np.array([seen.setdefault(row.tobytes(), scrambled(row)) for row in X])

    def scrambled(row):
        return row * np.random.default_rng(len(seen)).normal(size=row.size)

    teacher = make_pipeline(FunctionTransformer(embed), LogisticRegression())
    predicted = []
    for rows in (slice(0, None), slice(1, None)):
        teachers = teachers_of(teacher, FRAME[rows], Y[rows])
        predicted.append([t.predict(X_PUBLIC.copy()).tolist() for t in teachers])
    assert sum(a != b for a, b in zip(*predicted, strict=True)) <= 1 and not seen


@pytest.mark.slow
def test_pipeline_memory_is_not_shared(tmp_path):
    X = np.tile(RNG.normal(size=(12, 6)), (10, 1))  # all teachers have the same records
    given = {"teacher_indices": np.repeat(np.arange(10), 12), "n_teachers": 10, "n_classes": 2}
    given |= {"keep_teachers": True}
    steps = [("select", SelectKBest(mutual_info_classif, k=2)), ("tree", DecisionTreeClassifier())]
    votes = []
    for memory in (None, str(tmp_path)):
        pipeline = Pipeline(steps, memory=memory)
        given["seed"] = np.random.SeedSequence(0)
        _, teachers = collect_votes([pipeline], X, np.arange(120) % 2, X_PUBLIC, **given)
        votes.append([t.predict(X_PUBLIC).tolist() for t in teachers])
    assert votes[0] == votes[1] and not list(tmp_path.iterdir())


@pytest.mark.parametrize("is_searched", [False, True])
def test_callbacks_that_write_files_are_refused(is_searched):
    pytest.importorskip("torch", reason="needs the extra 'torch'")
    skorch = pytest.importorskip("skorch", reason="needs the extra 'torch'")
    kind = skorch.callbacks.Checkpoint
    network = skorch.NeuralNetClassifier(None, callbacks=None if is_searched else [kind()])
    if is_searched:
        network = GridSearchCV(network, {"callbacks": [[kind()], None]})
    message = r"(callbacks|param_grid) .* Checkpoint, which writes or reads files"
    pytest.raises(ValueError, pate(network).fit, X, Y, X_public=X_PUBLIC).match(message)


class Indexed(DummyClassifier):
    """Keeps the index and the notes of its rows."""

    def fit(self, X, y):
        self.seen_ = X.index, X.attrs
        return super().fit(X, y)


def test_index_and_attrs_of_teacher_rows_are_reset():
    frame = FRAME.copy()
    frame.attrs["mean"] = 119.5
    seen = [teacher.seen_ for teacher in teachers_of(Indexed(), frame)]
    assert all(type(index) is pd.RangeIndex and index[0] == 0 for index, _ in seen)
    assert [notes for _, notes in seen] == [{}] * 20
    assert frame.attrs == {"mean": 119.5} and frame.index[0] == "p0"


def load_by_chance(name):
    """Load as many rows as the global generator gives, and draw as many numbers as there are."""
    rows = np.random.permutation(600)[:40]
    np.random.normal(size=int(np.abs(X[rows]).sum()))
    return X[rows], Y[rows]


class Noting(BaseEstimator):
    """Stores the rows to predict, and draws from numpy's generator."""

    def __init__(self):
        self.seen = []

    def noted(self, rows):
        if rows.min() < 0:
            raise ValueError(f"the secret {rows}")
        self.seen.append(rows)
        return len(self.seen), np.random.random()


def test_blocks_of_rows_do_not_influence_each_other():
    X = np.array([[1.0], [2.0], [-3.0], [4.0]])
    parts = np.arange(4)[:, None]
    found = [outcome for _, outcome in applied_to_parts(Noting.noted, Noting(), X, parts)]
    sampled = (1, np.random.RandomState(0).random()), None
    assert found == [sampled, sampled, (None, "ValueError"), sampled]


def test_sites_are_loaded_in_isolation():
    counts = []
    for state in (0, 1):
        np.random.seed(state)
        before = generator_states()
        clf = pate(LogisticRegression(), random_state=0)
        names = [str(i) for i in range(10)]
        counts.append(clf.poll(Sites(load_by_chance, names), None, X_public=X_PUBLIC).counts)
        assert generator_states() == before
    assert np.array_equal(*counts)


class Late(LogisticRegression):
    """Takes the global generator when it first predicts."""

    def predict(self, X):
        self.rng_ = check_random_state(None)
        return super().predict(X)


def test_generators_of_a_student_are_not_pickled():
    clf = pate(LogisticRegression(), student=Late(), n_teachers=20)
    clf.fit(X, Y, X_public=X_PUBLIC).predict(X_PUBLIC)
    word = np.random.get_state()[1].tobytes()[:256]
    assert clf.student_.rng_ is check_random_state(None) and word in pickle.dumps(clf.student_.rng_)
    assert word not in pickle.dumps(clf)


class OwnOrder(Holds):
    def select(self, X_public, n_queries, random_state=None):
        return random_state.permutation(len(X_public))[:n_queries]


@pytest.mark.slow
@pytest.mark.parametrize("where", ["splitter", "distribution", "strategy", "own"])
def test_generator_shared_with_parameters_is_not_pickled(where):
    rng = np.random.RandomState(12345)
    splitter, distribution = ShuffleSplit(2, random_state=rng), loguniform(0.1, 10)
    distribution.random_state = rng
    given = {
        "splitter": {"base_estimator": GridSearchCV(GaussianNB(), {}, cv=splitter)},
        "distribution": {
            "student": RandomizedSearchCV(LogisticRegression(), {"C": distribution}, n_iter=2, cv=2)
        },
        "strategy": {"query_strategy": OwnOrder(rng)},
        "own": {"student": make_pipeline(Holds(rng), LogisticRegression())},
    }[where]
    clf = pate(LogisticRegression(), n_teachers=20, random_state=rng, n_queries=60)
    clf.set_params(**given).fit(X, Y, X_public=X_PUBLIC)
    word = rng.get_state()[1].tobytes()[:256]
    assert word in pickle.dumps(rng) and word not in pickle.dumps(clf)
    assert word not in pickle.dumps(clf.student_)


def test_redacted_text_shows_messages_of_wrong_parameters():
    error = InvalidParameterError("The 'Ada' parameter of Lovelace must be 86420. Got 1")
    tree = DecisionTreeClassifier(max_depth=-3)
    message = "InvalidParameterError: The 'max_depth' parameter of DecisionTreeClassifier must be"
    for estimator in (tree, make_pipeline(Holds(), tree), GridSearchCV(tree, {})):
        assert redacted_text(error, estimator).startswith(message)
        assert "-3" not in redacted_text(error, estimator)
    for estimator in (None, DecisionTreeClassifier()):
        text = redacted_text(error, estimator)
        assert text.startswith("InvalidParameterError: its text may quote records")


@table(
    "words",
    {
        "layers": "mat1 and mat2 must have the same dtype, but got Double and Float",
        "whole numbers": "mat1 and mat2 must have the same dtype, but got Long and Float",
        "convolutions": "Input type (double) and bias type (float) should be the same",
        "old": "expected scalar type Float but found Double",
    },
)
def test_redacted_text_names_float32_for_networks(words):
    assert "X, X_public = X.astype('float32')" in redacted_text(RuntimeError(words))
    assert "float32" not in redacted_text(ValueError(words))
    assert remedy_of(RuntimeError("a float")) == ""


def test_networks_refuse_float64_before_spending():
    torch = pytest.importorskip("torch", reason="needs the extra 'torch'")
    skorch = pytest.importorskip("skorch", reason="needs the extra 'torch'")
    X = np.random.default_rng(0).normal(size=(90, 2))
    y = np.arange(90) % 2

    def network():
        return skorch.NeuralNetClassifier(
            torch.nn.Linear,
            module__in_features=2,
            module__out_features=2,
            criterion=torch.nn.CrossEntropyLoss,
            max_epochs=1,
            train_split=None,
            verbose=0,
        )

    given = {"classes": [0, 1], "epsilon": 50.0, "on_bad_plan": "warn"}
    for params in ({"base_estimator": network(), "n_teachers": 2}, {"student": network()}):
        with pytest.raises(ValueError, match="networks require float32") as caught:
            PATEClassifier(**given, **params).fit(X[:60], y[:60], X[60:].copy())
        assert "nothing was spent" in "".join(caught.value.__notes__)
