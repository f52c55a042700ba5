"""Faults: what hangs, dies, fills up or is interrupted; nothing looks fitted, no budget is lost."""

import itertools
import logging
import os
import signal
import sys
import time
import traceback

import joblib
import numpy as np
import pytest
import sklearn
from conftest import IN_THREADS, cases
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from sklearn_pate import PATEClassifier
from sklearn_pate.aggregators import ConfidentGNMax, GNMax, InteractiveGNMax, SoftVote
from sklearn_pate.aggregators.argmax import _NoisyArgmax
from sklearn_pate.exceptions import TeacherError
from sklearn_pate.fitting import run
from sklearn_pate.ledger import PrivacyLedger
from sklearn_pate.methods import teachers
from sklearn_pate.methods.teachers import Teachers
from sklearn_pate.model_selection import PrivateGridSearchCV
from sklearn_pate.queries import Choice
from sklearn_pate.releases import labels

pytestmark = [IN_THREADS, pytest.mark.usefixtures("forked_workers")]

RNG = np.random.default_rng(0)
X, X_PUBLIC = RNG.normal(size=(400, 3)), RNG.normal(size=(100, 3))
Y = (X[:, 0] > 0).astype(int)
SECRET = "s3cr3t"


class Student(LogisticRegression):
    """A student of its own class, so that its methods can be interrupted."""


def model(teacher=None, **params):
    # So little noise that every fit scores above 0.8, by 11 standard deviations over fits
    given = {"n_teachers": 20, "aggregator": GNMax(1.0), "n_queries": 80, "epsilon": 100.0}
    given |= {"classes": [0, 1], "student": Student()}
    return PATEClassifier(GaussianNB() if teacher is None else teacher, **(given | params))


STAGES = [ConfidentGNMax(12, 5.0, 5.0), InteractiveGNMax(12, 5.0, 5.0, 0.9)]


@pytest.fixture
def ledger(tmp_path):
    return PrivacyLedger(tmp_path / "ledger", epsilon=1000.0)


# --- interrupted ---------------------------------------------------------------------------------


def interrupt(monkeypatch, owner, name, call=1, after=False):
    """Interrupt, as Ctrl-C does, a call of a function: before it begins or after it ended."""
    original, calls = getattr(owner, name), itertools.count(1)

    def interrupted(*args, **kwargs):
        is_now = next(calls) == call
        if is_now and not after:
            raise KeyboardInterrupt
        result = original(*args, **kwargs)
        if is_now:
            raise KeyboardInterrupt
        return result

    monkeypatch.setattr(owner, name, interrupted)


BEFORE = {
    "checks": (teachers, "assign_teachers"),
    "plan": (labels, "plan_queries"),
    "ledger asked": (PrivacyLedger, "check"),
    "student in a dry run": (Student, "fit"),
    "queries chosen": (Choice, "_select"),
    "teacher": (GaussianNB, "fit", 7),
    "voting": (GaussianNB, "predict", 20),
    "counted": (Teachers, "vote", 1, True),
    "ledger": (PrivacyLedger, "record"),
}
AFTER = {
    "recorded": (PrivacyLedger, "record", 1, True),
    "private test": (run, "_run_private_test"),
    "noise": (_NoisyArgmax, "aggregate"),
    "labels drawn": (_NoisyArgmax, "aggregate", 1, True),
    "student": (Student, "fit", 2),
    "student fitted": (Student, "fit", 2, True),
}


@pytest.mark.slow
@pytest.mark.parametrize("phase", BEFORE)
def test_interrupt_before_spending_keeps_the_earlier_fit(phase, ledger, monkeypatch):
    clf = model(ledger=ledger).fit(X, Y, X_PUBLIC)
    spent, proba = clf.privacy_spent_, clf.predict_proba(X)
    new = model(ledger=ledger)
    for again in (clf, new):
        with monkeypatch.context() as patched:
            interrupt(patched, *BEFORE[phase])
            stdout = sys.stdout
            pytest.raises(KeyboardInterrupt, again.fit, X[::-1], Y[::-1], X_PUBLIC)
            assert sys.stdout is stdout
    assert len(ledger.history()) == 1
    assert clf.privacy_spent_ == spent and np.array_equal(clf.predict_proba(X), proba)
    assert clf.curator_.votes.shape == (80, 2)
    assert not [name for name in vars(new) if name.endswith("_")]
    pytest.raises(NotFittedError, new.predict, X)
    assert new.fit(X, Y, X_PUBLIC).score(X, Y) > 0.8 and len(ledger.history()) == 2


@pytest.mark.parametrize("phase", AFTER)
def test_interrupt_after_spending_is_recorded_once(phase, ledger, monkeypatch):
    for clf in (model(ledger=ledger), model(ledger=ledger).fit(X, Y, X_PUBLIC)):
        before = len(ledger.history())
        with monkeypatch.context() as patched:
            interrupt(patched, *AFTER[phase])
            pytest.raises(KeyboardInterrupt, clf.fit, X[::-1], Y[::-1], X_PUBLIC)
        assert len(ledger.history()) == before + 1  # once, whatever came of it
        released = hasattr(clf, "public_labels_") and (clf.public_labels_ >= 0).any()
        if phase.startswith("student"):
            assert released and clf.privacy_spent_.n_answered == 80
            clf.fit_student(X_PUBLIC)  # the paid results are not lost
            assert clf.score(X, Y) > 0.8 and len(ledger.history()) == before + 1


@pytest.mark.parametrize("owner, name", [(run, "_show_public_attributes"), (run, "published_of")])
def test_interrupt_reports_at_least_the_cost_spent(owner, name, ledger, monkeypatch):
    clf = model(ledger=ledger, n_queries=2).fit(X, Y, X_PUBLIC)
    with monkeypatch.context() as patched:
        interrupt(patched, owner, name)
        with pytest.raises(KeyboardInterrupt) as caught:
            clf.set_params(n_queries=80).fit(X, Y, X_PUBLIC)
    assert caught.value.privacy_spent.epsilon > 2 * clf.plan(X, Y, X_PUBLIC).epsilon / 3
    assert "is spent" in caught.value.__notes__[0]
    assert name == "published_of" or clf.privacy_spent_ == caught.value.privacy_spent


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("searches", [False, True])
def test_interrupt_of_the_ledger_is_reported_as_spent(searches, after, ledger, monkeypatch):
    clf = model(ledger=ledger)
    if searches:
        clf = PrivateGridSearchCV(clf, {"n_teachers": [20]}, epsilon=300.0, n_trials=2)
    interrupt(monkeypatch, PrivacyLedger, "record", 1, after)
    pytest.raises(KeyboardInterrupt, clf.fit, X, Y, X_PUBLIC).match("is spent")
    assert len(ledger.history()) == after


@pytest.mark.slow
@pytest.mark.parametrize("call, n_queried", [(2, 20), (3, 40)])
def test_interrupt_between_stages_keeps_the_finished_stage(call, n_queried, monkeypatch):
    clf = model(aggregator=STAGES, n_queries=[20, 20], student=Student(), epsilon=20.0)
    interrupt(monkeypatch, Student, "fit", call)
    pytest.raises(KeyboardInterrupt, clf.fit, X, Y, X_PUBLIC)
    assert clf.query_indices_.size == n_queried == clf.privacy_spent_.n_queries
    assert clf.privacy_spent_.epsilon <= 20 and len(clf.curator_.votes) == n_queried
    pytest.raises(NotFittedError, clf.predict, X)


# --- teachers that hang or lie -------------------------------------------------------------------


#: Seconds; a teacher that hangs gets half of them.
HANGS = 0.8


class Hanging(GaussianNB):
    """One in ten takes long, and prints: then, and when it is stopped."""

    def __init__(self, where="fit"):
        super().__init__()
        self.where = where

    def fit(self, X, y):
        self.slow_ = (X[:, 2] > 50).any()
        self._hang("fit")
        return super().fit(X, y)

    def predict(self, X):
        self._hang("predict")
        return super().predict(X)

    def _hang(self, where):
        if self.slow_ and where == self.where:
            end = time.monotonic() + HANGS
            try:
                while time.monotonic() < end:
                    time.sleep(0.01)
            finally:
                print(SECRET, flush=True)
                logging.getLogger().error(SECRET)


@pytest.mark.slow
@cases("backend, where", ("loky", "fit"), ("multiprocessing", "predict"))
def test_timeout_fails_the_fit_with_a_teacher_that_hangs(backend, where, capfd, tmp_path):
    marked = X.copy()
    marked[7, 2] = 100
    clf = model(Hanging(where), timeout=HANGS / 2, n_jobs=2, random_state=0)
    with joblib.parallel_config(backend=backend):
        if backend == "loky":  # its workers stay, and are the workers of the fit
            joblib.Parallel(n_jobs=2)(joblib.delayed(write_to)(tmp_path) for _ in range(2))
        with pytest.raises(TeacherError, match=r"teacher \d+ failed: TimeoutError: .* timeout"):
            clf.fit(marked, Y, X_PUBLIC)
        time.sleep(0.75 * HANGS)  # by then, it would have printed
    heard = [path.read_text() for path in tmp_path.iterdir()]
    assert SECRET not in "".join([*capfd.readouterr(), *heard])
    assert len(heard) == 2 * (backend == "loky") and "public_labels_" not in vars(clf)
    clf.set_params(timeout=60)  # a machine may be busy
    assert clf.fit(X, Y, X_PUBLIC).score(X, Y) > 0.8


def write_to(folder):
    """Let what this worker writes go to a file, as soon as another worker does so, too."""
    with open(folder / str(os.getpid()), "w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    while len(list(folder.iterdir())) < 2:
        time.sleep(0.01)


@pytest.mark.slow
def test_timeout_keeps_votes_and_settings_of_timely_teachers():
    without = model(random_state=0, keep_teachers=True).fit(X, Y, X_PUBLIC)
    within = model(random_state=0, timeout=60, n_jobs=2).fit(X, Y, X_PUBLIC)
    assert np.array_equal(without.curator_.votes, within.curator_.votes)
    pandas = model(Pandas(), timeout=60, n_jobs=2)
    with sklearn.config_context(transform_output="pandas"):
        pandas.fit(X, Y, X_PUBLIC)


class Pandas(GaussianNB):
    def fit(self, X, y):
        if sklearn.get_config()["transform_output"] != "pandas":
            raise ValueError("the setting did not arrive")
        return super().fit(X, y)


@pytest.mark.parametrize("backend, n_jobs", [("loky", 1), ("threading", 2)])
def test_timeout_requires_processes(backend, n_jobs):
    clf = model(timeout=60, n_jobs=n_jobs)
    with joblib.parallel_config(backend=backend), pytest.raises(ValueError, match="timeout=60"):
        clf.fit(X, Y, X_PUBLIC)
    assert "privacy_spent_" not in vars(clf)


class Unsure(GaussianNB):
    """Probabilities that are none: scaled, or with something odd in their first row."""

    def __init__(self, scale=1.0, odd=None):
        super().__init__()
        self.scale, self.odd = scale, odd

    def predict_proba(self, X):
        proba = super().predict_proba(X) * self.scale
        proba[0] = proba[0] if self.odd is None else self.odd
        return proba


def soft_fit(*unsure):
    clf = model(Unsure(*unsure), aggregator=SoftVote(5.0), random_state=0, epsilon=None)
    return clf.fit(X, Y, X_PUBLIC).curator_.votes


@pytest.mark.slow
@pytest.mark.parametrize("scale", [0.1, 7.0])
def test_probabilities_that_do_not_sum_to_one_count_as_one_vote(scale):
    votes = soft_fit(scale)
    np.testing.assert_allclose(votes, soft_fit(), atol=1e-3)
    assert (votes.sum(axis=1) <= 20).all()


@pytest.mark.parametrize("odd", [(-0.1, 1.1), (np.nan, 1.0), (0.0, 0.0), (np.inf, 0.0)])
def test_probabilities_that_are_invalid_fail(odd):
    pytest.raises(TeacherError, soft_fit, 1.0, odd).match("predict_proba")


class Dying(GaussianNB):
    def fit(self, X, y):
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
def test_killed_worker_fails_the_fit_and_not_the_next_one():
    clf = model(Dying(), n_jobs=2)
    message = r"worker processes died 3 times \(\w+\), perhaps out of memory"
    with pytest.raises(TeacherError, match=message) as caught:
        clf.fit(X, Y, X_PUBLIC)
    assert caught.value.__notes__ == ["Privacy: nothing was spent."]
    assert "s3cr3t" not in "".join(traceback.format_exception(caught.value))
    assert "privacy_spent_" not in vars(clf)
    assert clf.set_params(base_estimator=GaussianNB()).fit(X, Y, X_PUBLIC).score(X, Y) > 0.8


# --- a full disk ---------------------------------------------------------------------------------


def test_memory_on_a_full_disk_is_warned_of(tmp_path, monkeypatch):
    want = model(random_state=0).fit(X, Y, X_PUBLIC).curator_.votes
    monkeypatch.setattr("sklearn_pate.teachers.training.is_cached", lambda *args: False)
    with pytest.warns(UserWarning, match="memory could not keep all votes"):
        clf = model(memory=tmp_path, random_state=0).fit(X, Y, X_PUBLIC)
    assert np.array_equal(clf.curator_.votes, want)
