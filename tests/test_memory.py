"""`memory=`: finished teachers survive; what changed is done anew; the folder is private."""

import os
import re
import stat
import subprocess
import sys
import types

import numpy as np
import pytest
from conftest import IN_THREADS, cases, table
from faulty import Marked
from joblib import Memory
from processes import marks_since_last, run_script
from sklearn.naive_bayes import GaussianNB

from sklearn_pate import PATEClassifier
from sklearn_pate.aggregators import GNMax, PluralityVote, SoftVote
from sklearn_pate.exceptions import TeacherError
from sklearn_pate.runtime.memory import code_digest, private_memory

pytestmark = [IN_THREADS, pytest.mark.usefixtures("forked_workers")]

RNG = np.random.default_rng(0)
X, X_PUBLIC = RNG.normal(size=(400, 3)), RNG.normal(size=(50, 3))
Y = (X[:, 0] > 0).astype(int)


@pytest.fixture
def trained(tmp_path):
    """Return how many teachers were trained since the last call."""
    return marks_since_last(tmp_path / "trained")


def model(tmp_path, **params):
    given = {"n_teachers": 8, "aggregator": PluralityVote(), "epsilon": None, "classes": [0, 1]}
    given |= {"student": GaussianNB(), "memory": tmp_path / "votes", "random_state": 0}
    given["base_estimator"] = Marked(str(tmp_path / "trained"))
    return PATEClassifier(**(given | params))


@pytest.mark.slow
def test_memory_keeps_finished_teachers(tmp_path, trained):
    first = model(tmp_path).fit(X, Y, X_PUBLIC)
    assert trained() == 8
    again = model(tmp_path, n_jobs=2).fit(X.copy(), Y.tolist(), X_PUBLIC.copy())
    assert trained() == 0
    for other in (again, model(tmp_path, memory=None).fit(X, Y, X_PUBLIC)):
        assert np.array_equal(first.curator_.votes, other.curator_.votes)
        assert np.array_equal(first.curator_.teacher_indices, other.curator_.teacher_indices)


def at(array, place, value):
    changed = array.copy()
    changed[place] = value
    return changed


CHANGES = {
    "seed": ({}, {"random_state": 1}),
    "record": ({"X": at(X, (7, 1), X[7, 1] + 1e-9)}, {}),
    "label": ({"y": at(Y, 7, 1 - Y[7])}, {}),
    "weight": ({"sample_weight": np.ones(len(X))}, {}),
    "public row": ({"X_public": at(X_PUBLIC, (7, 1), X_PUBLIC[7, 1] + 1e-9)}, {}),
    "parameter": ({}, {"base_estimator__var_smoothing": 1e-3}),
    "temperature": ({}, {"aggregator": SoftVote(1.0)}),
}


@pytest.mark.slow
@table("data, params", CHANGES)
def test_memory_trains_teachers_anew_after_a_change(tmp_path, trained, data, params):
    model(tmp_path).poll(X, Y, X_PUBLIC)
    trained()
    model(tmp_path).set_params(**params).poll(**{"X": X, "y": Y, "X_public": X_PUBLIC} | data)
    assert trained() == 8


# --- code ----------------------------------------------------------------------------------------

#: A script with a module of its own, and what may be edited in them.
SCRIPT = """
import sys
from functools import lru_cache, partial

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import own
from own import PARAMS, Base, scale
from sklearn_pate import PATEClassifier

FACTOR = 2.0
COUNT = 0

@lru_cache
def cached(shift):
    return shift * 1.0

def transform(X, *, times=1):
    inner = lambda X: X * FACTOR + cached(0.0)
    return scale(inner(X)) * own.SCALES[0] * times

class Teacher(Base):
    offset = 0.5

    def fit(self, X, y):
        global COUNT
        COUNT += 1
        PARAMS.get(len(X) in {"one", "two", "three"})
        return super().fit(X + self.offset, y)

def make_teacher():
    return make_pipeline(FunctionTransformer(partial(transform, times=1)), Teacher())

rng = np.random.default_rng(0)
X, X_public = rng.normal(size=(120, 3)), rng.normal(size=(30, 3))
y = (X[:, 0] > 0).astype(int)
given = {"n_teachers": 4, "memory": sys.argv[1], "random_state": 0}
clf = PATEClassifier(make_teacher(), classes=[0, 1], **given)
for _ in range(2):
    COUNT = 0
    clf.poll(X, y, X_public)
    print(COUNT)
"""
OWN = """
from sklearn.naive_bayes import GaussianNB

SCALES = [1.0]
PARAMS = {"k": 1.25, "names": {"a", "b", "c"}}

def helper(X):
    return X + 0.0

def scale(X):
    return helper(X) * 1

class Mixin:
    def fit(self, X, y):
        return super().fit(X * 1.5, y)

class Base(Mixin, GaussianNB):
    def predict(self, X):
        return super().predict(X)
"""


def trained_by_script(folder, script=SCRIPT, own=OWN, seed="0"):
    """Teachers that two fits of a script in a new process trained; a seed orders sets."""
    (folder / "script.py").write_text(script)
    (folder / "own.py").write_text(own)
    variables = os.environ | {"PYTHONHASHSEED": seed}
    command = [sys.executable, "-W", "ignore", folder / "script.py", folder / "votes"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, env=variables)
    assert run.returncode == 0, run.stderr
    return [int(number) for number in run.stdout.split()]


@pytest.mark.slow
def test_memory_keeps_teachers_after_changes_of_other_code(tmp_path):
    assert trained_by_script(tmp_path) == [4, 0]
    # A module that was compiled before, another order of sets, attributes without a name
    unnamed = SCRIPT.replace("rng = np", "OTHER = 7\n\nrng = np")
    assert trained_by_script(tmp_path, unnamed, seed="1") == [0, 0]


OF_SCRIPT = """class Teacher(Marked):
    def predict(self, X):
        return super().predict(X * 1.5)
"""


def test_memory_trains_teachers_anew_after_a_change_of_their_code(tmp_path, trained):
    for code, n_trained in ((OF_SCRIPT, 8), (OF_SCRIPT, 0), (OF_SCRIPT.replace("1.5", "2.5"), 8)):
        exec(code, script := {"Marked": Marked, "__name__": "__main__"})
        clf = model(tmp_path, base_estimator=script["Teacher"](str(tmp_path / "trained")))
        clf.poll(X, Y, X_PUBLIC)
        assert trained() == n_trained


EDITED = [
    ("super().fit(X + self", "super().fit(X - self"),
    ("*, times=1", "*, times=2"),
    ("lambda X: X *", "lambda X: 1 + X *"),
    ("helper(X) * 1", "helper(X) * 2"),
    ("super().predict(X)", "super().predict(-X)"),
    ('"b", "c"', '"b", "d"'),
]
#: Each number with a point in the code, and what stands before it.
NUMBERS = re.findall(r".{1,9}\b\d+\.\d+", SCRIPT + OWN)


@pytest.mark.parametrize(("old", "new"), [*EDITED, *((number, number + "5") for number in NUMBERS)])
def test_code_digest_changes_with_each_edit(before, old, new):
    assert SCRIPT.count(old) + OWN.count(old) == 1
    folder, fingerprint = before
    script, own = SCRIPT.replace(old, new), OWN.replace(old, new)
    assert digest_by_script(folder, script, own) != fingerprint


@pytest.fixture(scope="module")
def before(tmp_path_factory):
    """A folder, and the fingerprint of a script in it before an edit."""
    folder = tmp_path_factory.mktemp("script")
    one, other = (digest_by_script(folder, SCRIPT, OWN) for _ in range(2))
    assert one == other
    return folder, one


def digest_by_script(folder, script, own):
    """The fingerprint of a script's teachers, in this process."""
    (folder / "own.py").write_text(own)
    main = types.ModuleType("__main__")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        patch.delitem(sys.modules, "own", raising=False)
        patch.setitem(sys.modules, "__main__", main)
        exec(script.partition("rng = np")[0], main.__dict__)
        return code_digest(main.make_teacher())


def test_code_digest_depends_on_values_of_tensors():
    torch = pytest.importorskip("torch")
    ones, same, zeros = torch.ones(3, requires_grad=True), torch.ones(3), torch.zeros(3)
    array = np.ones(3, dtype=np.float32)
    assert code_digest([ones]) == code_digest([same])
    assert len({code_digest([value]) for value in (ones, zeros, array)}) == 3


@pytest.mark.parametrize("name", ["sklearn", "numpy", "sklearn_pate"])
def test_code_digest_depends_on_library_versions(name, monkeypatch):
    before = code_digest(GaussianNB())
    monkeypatch.setattr(f"{name}.__version__", "0.0.1")
    assert code_digest(GaussianNB()) != before


def test_memory_is_used_after_changes_outside_teachers(tmp_path, trained):
    model(tmp_path, n_queries=20, query_strategy="uncertainty").fit(X, Y, X_PUBLIC)
    assert trained() == 8
    more = {"aggregator": GNMax(2.0), "n_queries": 30, "query_strategy": "uncertainty"}
    model(tmp_path, **more).fit(X, Y, X_PUBLIC)  # rounds vote on all public rows
    assert trained() == 0


def test_memory_without_a_seed_keeps_teachers_and_draws_fresh_noise(tmp_path, trained):
    settings = {"random_state": None, "aggregator": GNMax(5.0)}
    one, two = (model(tmp_path, **settings).fit(X, Y, X_PUBLIC) for _ in range(2))
    assert trained() == 8
    votes = [fit.curator_.votes[np.argsort(fit.query_indices_)] for fit in (one, two)]
    assert np.array_equal(*votes)
    assert np.array_equal(one.curator_.teacher_indices, two.curator_.teacher_indices)
    assert not np.array_equal(one.public_labels_, two.public_labels_)
    # the published queries do not show that the data changed
    other = model(tmp_path, **settings).fit(X[:-1], Y[:-1], X_PUBLIC)
    assert np.array_equal(other.query_indices_, one.query_indices_)


def test_memory_keeps_teachers_on_request(tmp_path, trained):
    for keep in (True, True, False):
        kept = model(tmp_path, keep_teachers=keep).fit(X, Y, X_PUBLIC).curator_.teachers
        assert (kept is None) != keep and (kept is None or type(kept[0]) is Marked)
    assert trained() == 16


class Unlucky(Marked):
    def fit(self, X, y):
        super().fit(X, y)
        if os.path.exists(self.file + ".bad") and X[0, 0] > 0:
            raise RuntimeError("no")
        return self


def test_memory_does_not_keep_failures(tmp_path, trained):
    clf = model(tmp_path).set_params(base_estimator=Unlucky(str(tmp_path / "trained")))
    (tmp_path / "trained.bad").touch()
    pytest.raises(TeacherError, clf.fit, X, Y, X_PUBLIC)
    n_done = trained()
    (tmp_path / "trained.bad").unlink()
    clf.fit(X, Y, X_PUBLIC)
    assert 0 < trained() <= 8 - (n_done - 1)


posix = pytest.mark.skipif(os.name != "posix", reason="file modes")


@posix
@pytest.mark.parametrize(("outer", "inner"), [(None, None), (0o755, None), (0o1777, 0o700)])
def test_memory_folder_is_private_and_keeps_an_existing_mode(tmp_path, outer, inner):
    folders(tmp_path, outer, inner)
    model(tmp_path).fit(X, Y, X_PUBLIC)
    assert stat.S_IMODE((tmp_path / "votes").stat().st_mode) == (outer or 0o700)
    assert stat.S_IMODE((tmp_path / "votes/joblib").stat().st_mode) == 0o700


@pytest.mark.slow
def test_memory_finds_a_relative_folder_in_workers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model(tmp_path, n_jobs=2, memory="votes").fit(X, Y, X_PUBLIC)
    assert len(list(tmp_path.rglob("output.pkl"))) == 8


def folders(tmp_path, outer, inner=None, *, parents=False):
    """Folders for memory that are there already, with modes."""
    for folder, mode in (("votes", outer), ("votes/joblib", inner)):
        if mode is not None:
            (tmp_path / folder).mkdir(parents=parents)
            (tmp_path / folder).chmod(mode)


@posix
@cases("outer, inner", (0o700, 0o755), (0o700, 0o711), (0o775, None))
def test_memory_refuses_folders_that_others_may_use(tmp_path, trained, outer, inner):
    folders(tmp_path, outer, inner)
    message = "other users may write in the first folder, or own"
    pytest.raises(ValueError, model(tmp_path).fit, X, Y, X_PUBLIC).match(message)
    assert trained() == 0


@posix
def test_memory_makes_private_parents_under_any_umask(tmp_path):
    before = os.umask(0)
    try:
        private_memory(tmp_path / "a/b/votes")
    finally:
        os.umask(before)
    for folder in ("a", "a/b", "a/b/votes", "a/b/votes/joblib"):
        assert stat.S_IMODE((tmp_path / folder).stat().st_mode) == 0o700


@posix
@cases("mode, is_refused", (0o777, True), (0o775, True), (0o1777, False), (0o755, False))
@cases("place", "shared", "linked", "inner")
def test_memory_refuses_parents_that_others_may_write(tmp_path, mode, is_refused, place):
    shared = tmp_path / "shared"
    folders(shared, 0o700, 0o700, parents=True)
    memory = shared / "votes"
    if place == "linked":  # the link lies in a private folder, its target in the shared one
        memory = tmp_path / "linked"
        memory.symlink_to(shared / "votes")
    elif place == "inner":
        memory = tmp_path / "own"
        memory.mkdir(mode=0o700)
        (memory / "joblib").symlink_to(shared / "votes")
    shared.chmod(mode)
    if is_refused:
        message = "other users may write in '.*shared' above it.*chmod go-w"
        pytest.raises(ValueError, private_memory, memory).match(message)
        shared.chmod(0o755)
    assert private_memory(memory).location == str(memory)


@posix
def test_memory_refuses_a_folder_of_another_user(tmp_path, monkeypatch, trained):
    folders(tmp_path, 0o1777, 0o700)
    user = os.getuid()
    monkeypatch.setattr("os.getuid", lambda: user + 1)
    with pytest.raises(ValueError, match="or own or may read the second"):
        model(tmp_path).fit(X, Y, X_PUBLIC)
    assert trained() == 0


@posix
def test_memory_accepts_a_joblib_memory_and_suppresses_its_output(tmp_path, trained, capfd):
    folders(tmp_path, 0o755, 0o755)
    for location in (tmp_path / "votes", None):  # the second keeps nothing
        for _ in range(2):
            model(tmp_path, memory=Memory(location, verbose=10)).fit(X, Y, X_PUBLIC)
    assert trained() == 8 + 16 and capfd.readouterr() == ("", "")
    assert stat.S_IMODE((tmp_path / "votes/joblib").stat().st_mode) == 0o755


KILLED_FIVE_TIMES = """
import os, signal, sys, time
import numpy as np
from sklearn.naive_bayes import GaussianNB
from sklearn_pate import PATEClassifier

done, kept = sys.argv[1:]
parent = os.getpid()
rng = np.random.default_rng(0)
X, X_public = rng.normal(size=(6000, 3)), rng.normal(size=(101, 3))
y = (X[:, 0] + rng.normal(size=6000) > 0).astype(int)

class SlowTeacher(GaussianNB):
    def fit(self, X, y):
        if len(X) == 50:
            with open(done, "a") as file:
                file.write("x")
            time.sleep(0.02 * (os.getpid() != parent))
        return super().fit(X, y)

def poll(memory):
    given = {"n_teachers": 120, "classes": [0, 1], "random_state": 0}
    return PATEClassifier(SlowTeacher(), memory=memory, **given).poll(X, y, X_public).counts

open(done, "w").close()
for _ in range(5):
    some = os.path.getsize(done) + rng.integers(1, 10)
    child = os.fork()
    if not child:
        poll(kept)
        os._exit(0)
    while os.path.getsize(done) < some:
        time.sleep(0.001)
    time.sleep(rng.uniform(0, 0.03))
    os.kill(child, signal.SIGKILL)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
found = poll(kept)
n_done = os.path.getsize(done)
assert np.array_equal(found, poll(None))
print(n_done)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs fork and SIGKILL")
def test_memory_keeps_votes_of_a_process_killed_five_times(tmp_path):
    run = run_script(KILLED_FIVE_TIMES, tmp_path / "done", tmp_path / "kept")
    assert run.returncode == 0, run.stderr
    assert 120 <= int(run.stdout) <= 120 + 5  # at most the one under way was done again
