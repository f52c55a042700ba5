"""What keeps one fit from the next: generators, settings of the process, what is copied."""

import decimal
import io
import locale
import logging
import os
import pickle
import random
import subprocess
import sys
import threading
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from joblib.parallel import get_active_backend
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectKBest, mutual_info_classif
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.utils import check_random_state

from sklearn_pate import PATEClassifier
from sklearn_pate.isolation import (
    isolated,
    own_generators,
    redacted,
    seeded,
    set_seeds,
    unfitted,
)


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
    command = [sys.executable, "-W", "ignore", "-c", code]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60)
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
        "environment": dict(os.environ),
        "folder": os.getcwd(),
        "locale": locale.setlocale(locale.LC_ALL),
    }


def test_settings_are_put_back(tmp_path, monkeypatch):
    monkeypatch.setenv("SKLEARN_PATE_TEST", "as it was")
    before = settings()
    with isolated(0):
        np.seterr(all="ignore")
        decimal.getcontext().prec = 5
        warnings.simplefilter("error")
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


def test_a_teacher_is_silent_whatever_it_sets(capfd):
    with isolated(0):
        logging.disable(logging.NOTSET)
        warnings.simplefilter("always")
    with isolated(0):
        warnings.warn("private", stacklevel=1)
        logging.getLogger().error("private")
        print("private")
    assert capfd.readouterr() == ("", "")


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


class Holds(BaseEstimator):
    """Holds anything."""

    def __init__(self, what=None):
        self.what = what


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
            n_teachers=20,
            student=RandomForestClassifier(3),
            partition="hash",
            classes=[0, 1],
            epsilon=20.0,
            secure=secure,
        )
        clf.fit(X, y, X_public=PUBLIC_FRAME)
        clf = pickle.loads(pickle.dumps(clf))
        return tuple(tree.random_state for tree in clf.student_.estimators_)

    fits = [seeds(FRAME, Y), seeds(FRAME, Y), seeds(FRAME[1:], Y[1:]), seeds(FRAME[1:], Y[1:])]
    assert len(set(fits)) == 4


class LazyTorch(ClassifierMixin, BaseEstimator):
    """Imports torch when it is fitted, and votes by a number that it draws from it."""

    def fit(self, X, y):
        import torch

        self.classes_ = np.unique(y)
        self.vote_ = int(torch.randint(2, ()))
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
        public = {{"teacher": teacher, "n_teachers": 12, "n_classes": 2}}
        public["seed"] = np.random.SeedSequence(0)
        _, teachers = collect_votes(
            [LazyTorch()], np.zeros((120, 2)), codes, np.zeros((1, 2)), keep_teachers=True, **public
        )
        print([t.vote_ for t in teachers[1:]])
    """
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == votes_seeded_from_the_start(), run.stdout


def votes_seeded_from_the_start():
    """The votes of teachers 1 to 11, whoever was first."""
    import torch

    seeds = [int(s.generate_state(1)[0]) % 2**31 for s in np.random.SeedSequence(0).spawn(12)]
    votes = []
    for seed in seeds[1:]:
        with seeded(seed):
            votes.append(int(torch.randint(2, ())))
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


def test_redaction_of_what_has_no_text():
    class Mute(ValueError):
        def __str__(self):
            raise RuntimeError

    assert redacted(Mute()).startswith("Mute: its text may quote records")
