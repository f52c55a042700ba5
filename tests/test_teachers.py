"""Teachers: votes, seeds, parallel backends, awkward parts and failures that give nothing away."""

import logging
import sys
import threading
import time
import traceback
import warnings
from dataclasses import FrozenInstanceError

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
import threadpoolctl
from conftest import IN_THREADS, cases, collect_votes
from faulty import Counted, RaisesIt
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from sklearn_pate import PATEClassifier
from sklearn_pate.aggregators import GNMax
from sklearn_pate.exceptions import TeacherError
from sklearn_pate.runtime.isolation import redacted_text
from sklearn_pate.teachers import Sites

pytestmark = [IN_THREADS, pytest.mark.usefixtures("forked_workers")]
slow = pytest.mark.slow
N_JOBS = pytest.mark.parametrize("n_jobs", [1, pytest.param(2, marks=slow)])
BACKENDS = cases("backend", "sequential", "threading", pytest.param("loky", marks=slow))
rng = np.random.default_rng(0)
X = rng.normal(size=(240, 4))
Y = (X[:, 0] + X[:, 1] > 0).astype(np.int64) + (X[:, 2] > 1)
X_QUERY = rng.normal(size=(30, 4))
TEACHER_INDICES = np.arange(240) % 8


def votes_of(estimators, X=X, codes=Y, X_query=X_QUERY, **kwargs):
    estimators = estimators if isinstance(estimators, list) else [estimators]
    kwargs = {"teacher_indices": TEACHER_INDICES, "n_teachers": 8, "n_classes": 3} | kwargs
    kwargs.setdefault("seed", np.random.SeedSequence(0))
    return collect_votes(estimators, X, codes, X_query, **kwargs)


class Teacher(ClassifierMixin, BaseEstimator):
    """Base of the misbehaving teachers below; predicts class 0."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.zeros(len(X), dtype=int)


class Slow(Teacher):
    def fit(self, X, y):
        time.sleep(0.01)
        return super().fit(X, y)


# --- votes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("weight", [None, rng.uniform(size=240)], ids=["plain", "weighted"])
def test_votes_equal_those_of_a_plain_loop(weight):
    votes, teachers = votes_of(GaussianNB(), sample_weight=weight)
    expected = np.zeros((30, 3), dtype=int)
    for i in range(8):
        part = TEACHER_INDICES == i
        own = None if weight is None else weight[part]
        predicted = GaussianNB().fit(X[part], Y[part], own).predict(X_QUERY)
        expected[np.arange(30), predicted] += 1
    np.testing.assert_array_equal(votes, expected)
    assert votes.dtype.kind == "i" and teachers is None


@cases("backend", "threading", *(pytest.param(b, marks=slow) for b in ("loky", "multiprocessing")))
def test_votes_do_not_depend_on_workers(backend):
    tree = DecisionTreeClassifier(splitter="random")
    with joblib.parallel_config(backend=backend):
        votes, _ = votes_of(tree, n_jobs=2)
    np.testing.assert_array_equal(votes, votes_of(tree)[0])


def test_teachers_of_a_list_are_assigned_in_turn_with_their_own_seed():
    _, teachers = votes_of([GaussianNB(), DecisionTreeClassifier()], keep_teachers=True)
    assert [type(teacher) for teacher in teachers] == [GaussianNB, DecisionTreeClassifier] * 4
    assert len({teacher.random_state for teacher in teachers[1::2]}) == 4


def test_teachers_without_records_or_of_one_class_vote_by_a_fixed_rule():
    indices = np.where(TEACHER_INDICES == 5, 4, TEACHER_INDICES)  # teacher 5 gets nothing
    codes = np.where(indices == 2, 1, Y)  # teacher 2 sees class 1 only
    given = {"teacher_indices": indices, "keep_teachers": True}
    votes, teachers = votes_of(GaussianNB(), codes=codes, **given)
    assert teachers[5] is None and teachers[2] is None
    without, _ = votes_of(DummyClassifier(), codes=np.zeros(240, dtype=int), **given)
    # every part has one class, 0; teacher 5 votes for class 5 % 3
    assert (without == [7, 0, 1]).all()
    assert (votes.sum(axis=1) == 8).all() and (votes[:, 1] >= 1).all() and (votes[:, 2] >= 1).all()


def test_sample_weight_is_passed_to_teachers_that_accept_it():
    mixed = [GaussianNB(), KNeighborsClassifier()]
    votes, _ = votes_of(mixed, sample_weight=np.ones(240))
    np.testing.assert_array_equal(votes, votes_of(mixed)[0])


# --- inputs pass through -------------------------------------------------------------------------


class Keeper(Teacher):
    def fit(self, X, y):
        self.given_ = X
        return super().fit(X, y)

    def predict(self, X):
        return np.zeros(X.shape[0], dtype=int)


def test_teachers_get_frames_sparse_rows_and_images():
    frame = pd.DataFrame({"city": rng.choice(["a", "b"], 240), "age": rng.integers(0, 9, 240)})
    frame["kind"] = pd.Categorical(rng.choice(["x", "y"], 240))
    for rows in (frame, sparse.csr_matrix(X), rng.normal(size=(240, 1, 5, 5))):
        _, teachers = votes_of(Keeper(), X=rows, X_query=rows[:5], keep_teachers=True)
        given = teachers[0].given_
        assert type(given) is type(rows) and given.shape == (30, *rows.shape[1:])
        if rows is frame:
            pd.testing.assert_frame_equal(given, frame[::8].reset_index(drop=True))


class Vandal(Teacher):
    """Writes into all its inputs; votes by the values of the queries."""

    def fit(self, X, y):
        X[:] = 99
        return super().fit(X, y)

    def predict(self, X):
        found = (X[:, 0] == 99).astype(int)
        X[:] = 99
        return found


@BACKENDS
def test_teacher_that_writes_to_its_input_changes_no_other(backend):
    private, public = np.repeat(X, 150, axis=1), X_QUERY.repeat(150, axis=1)
    before = private.copy(), public.copy()
    for max_nbytes in (None, 1000):  # parts above joblib's limit are mapped from disk
        with joblib.parallel_config(backend=backend, max_nbytes=max_nbytes):
            votes, _ = votes_of(Vandal(), X=private, X_query=public, n_jobs=2)
        assert (votes == [8, 0, 0]).all()
    np.testing.assert_array_equal(private, before[0])
    np.testing.assert_array_equal(public, before[1])


# --- failures ------------------------------------------------------------------------------------


def failing(message, kind=ValueError):
    return RaisesIt(kind(message))


@cases(
    "text, message",
    ("could not convert string to float: b'SECRET'", "could not convert string to float"),
    ("SECRET\nInput X contains NaN. SECRET", "Input X contains NaN"),
    ("unable to parse: deceased, SECRET", "its text may quote records and is redacted"),
    ("", "its text may quote records and is redacted"),
)
def test_redacted_text_shows_fixed_messages_only(text, message):
    shown = redacted_text(ValueError(text))
    assert shown.startswith(f"ValueError: {message}") and "SECRET" not in shown


SECRET = "xanthippe"  # named, so that tracebacks show the name and not the text


@N_JOBS
@pytest.mark.parametrize("kind", [ValueError, SystemExit, GeneratorExit])
def test_teacher_error_is_raised_for_any_exception_and_redacted(kind, n_jobs):
    message = f"^teacher . failed: {kind.__name__}: its text may quote records"
    with pytest.raises(TeacherError, match=message) as caught:
        votes_of(failing(f"bad row '{SECRET}'", kind), n_jobs=n_jobs)
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    assert caught.value.__suppress_context__


@BACKENDS
def test_output_is_restored_after_a_failure(backend):
    stdout, disabled = sys.stdout, logging.root.manager.disable
    teachers = [Slow(), Slow(), failing("no"), Slow()]
    with joblib.parallel_config(backend=backend), pytest.raises(TeacherError):
        votes_of(teachers, n_jobs=2)
    assert sys.stdout is stdout and logging.root.manager.disable == disabled


def test_teachers_are_not_trained_after_a_failure():
    Counted.n_fits = 0
    pytest.raises(TeacherError, votes_of, [failing("no"), Counted()]).match("teacher 0 failed")
    assert Counted.n_fits == 0


@BACKENDS
def test_sklearn_config_reaches_every_worker(backend):
    class Pandas(Teacher):
        def fit(self, X, y):
            self.output_ = type(StandardScaler().fit_transform(X)).__name__
            return super().fit(X, y)

    pandas = sklearn.config_context(transform_output="pandas")
    with pandas, joblib.parallel_config(backend=backend):
        _, teachers = votes_of(Pandas(), n_jobs=2, keep_teachers=True)
    assert {teacher.output_ for teacher in teachers} == {"DataFrame"}


class Cores(Teacher):
    """Votes for the number of its own jobs, and on the second query for OpenMP's threads."""

    def __init__(self, n_jobs=None):
        self.n_jobs = n_jobs

    def predict(self, X):
        threads = [pool["num_threads"] for pool in threadpoolctl.threadpool_info()]
        return np.minimum([self.n_jobs, max(threads), 0], 7)[: len(X)]


@cases("backend", "threading", *(pytest.param(b, marks=slow) for b in ("loky", "multiprocessing")))
def test_workers_divide_the_cores(backend, monkeypatch):
    monkeypatch.setattr("sklearn_pate.runtime.workers.cpu_count", lambda: 6)
    for n_jobs in (2, 3):
        with joblib.parallel_config(backend=backend), threadpoolctl.threadpool_limits(5):
            counts, _ = votes_of(Cores(n_jobs=5), X_query=X_QUERY[:3], n_classes=8, n_jobs=n_jobs)
        cores, threads, _ = counts.argmax(axis=1)
        assert cores == 6 // n_jobs and (counts.max(axis=1) == 8).all()
        if backend == "threading":  # processes have limits of joblib's own
            assert threads == 6 // n_jobs


def test_single_worker_is_not_limited():
    with threadpoolctl.threadpool_limits(2):
        counts, _ = votes_of(Cores(n_jobs=5), X_query=X_QUERY[:3], n_classes=8)
    assert counts[:2].argmax(axis=1).tolist() == [5, 2]


@N_JOBS
def test_memory_map_is_read_by_teacher(tmp_path, n_jobs):
    np.save(tmp_path / "X.npy", X)
    readonly = np.load(tmp_path / "X.npy", mmap_mode="r")
    votes, teachers = votes_of(Sized(), X=readonly, n_jobs=n_jobs, keep_teachers=True)
    assert {teacher.given_ for teacher in teachers} == {30 * X.shape[1] * X.itemsize}
    assert (votes == [8, 0, 0]).all() and np.array_equal(readonly, X)


class Sized(Teacher):
    """Measures its inputs, with all objects that they refer to, and writes to them."""

    def fit(self, X, y):
        base = X
        while getattr(base, "base", None) is not None:
            base = base.base
        self.given_ = len(base) if isinstance(base, bytes) else base.nbytes
        X[:] = 0
        return super().fit(X, y)


# --- sites ---------------------------------------------------------------------------------------


def load(name):
    rows = int(name) + 8 * np.arange(30)
    return X[rows], np.array(["a", "b", "c"])[Y[rows]]


NAMES = [str(i) for i in range(8)]


AT_SITES = {"codes": None, "teacher_indices": None, "classes": np.array(["a", "b", "c"])}


@N_JOBS
def test_sites_vote_as_the_same_records_in_memory(n_jobs):
    want, _ = votes_of(DecisionTreeClassifier(), names=NAMES)
    got, _ = votes_of(DecisionTreeClassifier(), X=Sites(load, NAMES), n_jobs=n_jobs, **AT_SITES)
    assert np.array_equal(got, want)


def fit_sites(**params):
    given = {"classes": ["a", "b", "c"], "epsilon": 20, "random_state": 0}
    given |= {"student": DecisionTreeClassifier(), "aggregator": GNMax(2.0)}
    return PATEClassifier(GaussianNB(), **(given | params)).fit(Sites(load, NAMES), None, X_QUERY)


def test_sites_are_teachers_and_protected_groups():
    clf = fit_sites()
    assert clf.n_teachers_ == 8 and clf.privacy_spent_.unit == "group"
    assert "one named group" in clf.privacy_spent_.change
    assert set(clf.predict(X)) <= {"a", "b", "c"}


@pytest.mark.parametrize("make", [list, np.array, pd.Series, iter])
def test_sites_cannot_change_after_they_are_checked(make):
    names = make(["2", "0", "01"])
    sites = Sites(load, names)
    if make is list:  # one site under several names would cast several votes
        names += ["2"] * 17
    assert sites.names == ("2", "0", "01") and {*map(type, sites.names)} == {str}
    for name, value in (("names", ["a"]), ("load", len)):
        pytest.raises(FrozenInstanceError, setattr, sites, name, value)


def test_sites_refuse_keep_teachers():
    pytest.raises(ValueError, fit_sites, keep_teachers=True).match("keep_teachers must be False")


def test_sites_without_records_vote_by_a_fixed_rule():
    def some(name):
        X, y = load(name)
        return (X[:0], y[:0]) if name == "4" else (X, y)

    votes, teachers = votes_of(GaussianNB(), X=Sites(some, NAMES), keep_teachers=True, **AT_SITES)
    assert (votes.sum(axis=1) == 8).all() and (votes[:, 4 % 3] >= 1).all()
    assert teachers[4] is None and None not in teachers[:4]


class Odd(Teacher):
    """Answers queries with the array it was given."""

    def __init__(self, answer=None):
        self.answer = answer

    def predict(self, X):
        return self.answer


#: Answers to 30 queries that are not one code of three classes each.
NO_VOTES = {str(vote): np.full(30, vote) for vote in (3, -1, np.nan, 0.5, "yes")}
NO_VOTES |= {"too few": np.zeros(29, dtype=int), "two columns": np.zeros((30, 2), dtype=int)}


@pytest.mark.parametrize("answer", NO_VOTES)
def test_predictions_that_are_no_votes_are_refused(answer):
    with warnings.catch_warnings(action="error"), pytest.raises(TeacherError, match="predict"):
        votes_of(Odd(NO_VOTES[answer]))
    assert (votes_of(Odd(np.full(30, 2.0)))[0] == [0, 0, 8]).all()  # whole floats are votes


# --- nothing leaves ------------------------------------------------------------------------------


class Chatty(Teacher):
    def fit(self, X, y):
        print("secret-on-stdout", X[0, 0])
        print("secret-on-stderr", file=sys.stderr)
        warnings.warn(f"secret-warning {X[0, 0]}", stacklevel=1)
        logging.getLogger("chatty").error("secret-log %s", X[0, 0])
        logging.getLogger("chatty").log(60, "secret-log %s", X[0, 0])
        return super().fit(X, y)


@BACKENDS
def test_teacher_output_is_suppressed(backend, capfd, caplog):
    with warnings.catch_warnings(record=True) as caught, joblib.parallel_config(backend=backend):
        warnings.simplefilter("always")
        votes_of(Chatty(), n_jobs=2)
    out, err = capfd.readouterr()
    assert "secret" not in (out + err + caplog.text + "".join(str(w.message) for w in caught))
    print("heard again")
    logging.getLogger("chatty").error("logged again")
    assert "heard again" in capfd.readouterr().out and "logged again" in caplog.text


def test_output_is_restored_after_fits_in_overlapping_threads(capfd):
    stdout, disabled = sys.stdout, logging.root.manager.disable
    threads = [threading.Thread(target=votes_of, args=(Slow(),)) for _ in range(6)]
    for thread in threads:
        thread.start()
        time.sleep(0.02)
    for thread in threads:
        thread.join()
    assert sys.stdout is stdout and logging.root.manager.disable == disabled
