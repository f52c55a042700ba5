"""Nothing private leaves: pickles, copies, reprs, output, logs, warnings, tracebacks."""

import copy
import io
import pickle
import re
import struct
import sys
import threading
import traceback
import types

import joblib
import numpy as np
import pandas as pd
import pytest
from conftest import cases, said_while, sampled
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from sklearn_pate import PATEClassifier
from sklearn_pate.aggregators import GNMax
from sklearn_pate.exceptions import TeacherError
from sklearn_pate.methods import ReverseNeighbors

pytestmark = pytest.mark.usefixtures("forked_workers")
TEXT, NUMBER, LABEL = "Xanthippe-Zuckerkandl", 0.8726354829174653, "verdict-of-zanzibar"


def data(n=450):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=n), "b": rng.choice(["u", "v"], n)})
    y = np.where(frame["a"] + (frame["b"] == "u") > 0.5, LABEL, "other")
    private, public = frame[: n // 3 * 2].copy(), frame[n // 3 * 2 :].reset_index(drop=True)
    y = y[: len(private)]
    private.loc[7, "a"], private.loc[7, "b"] = NUMBER, TEXT
    return private, y, public


def model(**params):
    words = OneHotEncoder(handle_unknown="ignore")
    columns = make_column_transformer((StandardScaler(), ["a"]), (words, ["b"]))
    fixed = {"classes": [LABEL, "other"], "keep_teachers": True, "n_jobs": 2}
    params = fixed | {"n_teachers": 30, "epsilon": 20.0} | params
    teacher = make_pipeline(columns, KNeighborsClassifier(1))  # teachers that memorise records
    return PATEClassifier(teacher, student=make_pipeline(columns, LogisticRegression()), **params)


def secrets_in(content, clf):
    """Which private things are found in text or bytes, written in any way."""
    if isinstance(content, str):
        content = content.encode()
    needles = {
        "text": [TEXT.encode(), b"Xanthippe", TEXT.encode("utf-16-le")],
        "number": [str(NUMBER)[:9].encode(), *(struct.pack(f, NUMBER) for f in ("<d", ">d", "<f"))],
        "votes": [],
        "teachers": [b"KNeighborsClassifier"] if b"_fit_X" in content else [],
    }
    if clf is not None:
        curator = clf.curator_
        for dtype in (np.int64, np.int32, np.int16, float):
            needles["votes"] += [curator.votes.astype(dtype).tobytes()]
            needles["votes"] += [curator.teacher_indices.astype(dtype).tobytes()]
        private = curator.epsilon()
        needles["epsilon"] = [f"{private:.6f}"[:7].encode(), struct.pack("<d", private)]
    return [kind for kind, forms in needles.items() if any(form in content for form in forms)]


@pytest.fixture(scope="module")
def fitted():
    private, y, public = data()
    fit = model(verbose=2, random_state=3).fit
    clf, out, log, warned = said_while(lambda: fit(private, y, public))
    return clf, (out + log + "".join(message for _, message in warned)), public


@pytest.mark.slow
def test_secrets_in_finds_planted_secrets(fitted):
    clf, _, _ = fitted
    assert secrets_in(f"...{TEXT}...", clf) == ["text"]
    assert secrets_in(pickle.dumps(np.array([NUMBER])), clf) == ["number"]
    assert "votes" in secrets_in(pickle.dumps(clf.curator_.votes), clf)
    kept = next(teacher for teacher in clf.curator_.teachers if teacher is not None)
    assert "teachers" in secrets_in(pickle.dumps(kept), clf)
    whole = pickle.dumps([t for t in clf.curator_.teachers if t is not None])
    assert {"text", "teachers"} <= set(secrets_in(whole, clf))


def joblib_dump(clf):
    buffer = io.BytesIO()
    joblib.dump(clf, buffer)
    return buffer.getvalue()


WAYS_OUT = {
    "pickle": pickle.dumps,
    "joblib": joblib_dump,
    "deep copy": lambda clf: pickle.dumps(copy.deepcopy(clf)),
    "copy": lambda clf: pickle.dumps(copy.copy(clf)),
    "repr": repr,
    "diagram": lambda clf: clf._repr_html_(),
    "repr of the cost": lambda clf: repr(clf.privacy_spent_),
    "repr of the attributes": lambda clf: repr(vars(clf)),
    "the curator's view": lambda clf: repr(clf.curator_) + str(clf.curator_),
}


@pytest.mark.parametrize("way_out", WAYS_OUT)
def test_fitted_classifier_reveals_nothing_private(fitted, way_out):
    clf, _, _ = fitted
    assert secrets_in(WAYS_OUT[way_out](clf), clf) == []


def test_fit_output_reveals_nothing_private(fitted):
    clf, shown, _ = fitted
    assert re.search(r"teachers (\d+)/\1 in", shown) and secrets_in(shown, clf) == []
    assert LABEL not in shown


@cases("make_copy", copy.copy, copy.deepcopy, lambda clf: pickle.loads(pickle.dumps(clf)))
def test_copies_predict_without_curator_and_seed(fitted, make_copy):
    clf, _, public = fitted
    copied = make_copy(clf)
    np.testing.assert_array_equal(copied.predict(public), clf.predict(public))
    assert copied.privacy_spent_ == clf.privacy_spent_ and not hasattr(copied, "curator_")
    assert clf.random_state == 3 and copied.random_state is None
    assert copy.deepcopy(model(random_state=3)).random_state == 3  # not fitted


def test_pickle_contains_parameters_as_unfitted_clones():
    private, y, public = data()
    clf = model(n_queries=40, epsilon=None)
    clf.base_estimator.fit(private, y)  # by a careless user, on all private rows
    clf.aggregator = GNMax(10.0)
    clf.fit(private, y, public)
    assert secrets_in(pickle.dumps(clf), clf) == []


class CannotComeBack(LogisticRegression):
    """Fits, but does not pickle then, with an error that quotes its records."""

    def __reduce__(self):
        if hasattr(self, "coef_"):
            raise self.kind_(f"cannot pickle {TEXT}")
        return super().__reduce__()

    def fit(self, X, y):
        super().fit(X, y)
        self.kind_ = ValueError
        return self


def kept_by_two_workers(teacher):
    params = {"n_teachers": 6, "n_queries": 60, "classes": [0, 1], "n_jobs": 2}
    params |= {"aggregator": GNMax(0.5), "epsilon": None, "keep_teachers": True}
    return PATEClassifier(teacher, student=LogisticRegression(), **params)


@pytest.mark.slow
@cases(
    "backend, message",
    ("loky", "sent back by a worker"),
    (None, "or kept in memory .*memory=None"),
)
def test_teacher_that_cannot_be_returned_or_kept_is_not_quoted(backend, message, tmp_path):
    X = np.random.default_rng(0).normal(size=(300, 2))
    clf = kept_by_two_workers(CannotComeBack())
    if backend is None:
        clf.set_params(n_jobs=1, memory=tmp_path)
    # Sent back by joblib, it would end the other workers, which may then wait for ever
    fails = pytest.raises(TeacherError, match=message)
    with joblib.parallel_config(backend or "loky"), fails as caught:
        clf.fit(X[:200], (X[:200, 0] > 0).astype(int), X_public=X[200:])
    shown = "".join(traceback.format_exception(caught.value))
    assert TEXT not in shown and "array(" not in shown
    assert backend is None or "keep_teachers=True" in str(caught.value)
    assert caught.value.__context__ is None or caught.value.__suppress_context__


OF_SCRIPT = """
import numpy as np
from sklearn.linear_model import LogisticRegression

RNG = np.random.default_rng(5)


class Mine(LogisticRegression):
    def fit(self, X, y):
        RNG.random(int(1000 * np.abs(X).sum()))
        return super().fit(X, y)
"""


@pytest.mark.slow
def test_worker_changes_no_class_of_the_script(monkeypatch):
    script = types.ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", script)
    exec(OF_SCRIPT, vars(script))
    Mine, rng = script.Mine, script.RNG
    fit, state = Mine.fit, rng.bit_generator.state
    X = np.random.default_rng(0).normal(size=(300, 2))
    clf = kept_by_two_workers(Mine()).fit(X[:200], (X[:200, 0] > 0).astype(int), X[200:])
    assert all(type(teacher) is Mine for teacher in clf.curator_.teachers)
    assert Mine.fit is fit and fit.__globals__["RNG"] is rng
    assert rng.bit_generator.state == state


@sampled()
@pytest.mark.slow
@pytest.mark.usefixtures("forked_workers")
@cases("backend", "loky", "multiprocessing")
@pytest.mark.parametrize("who", ["teachers", "records"])
def test_record_that_does_not_pickle_fails_no_fit(who, backend):
    X = np.random.default_rng(0).normal(size=(300, 2))
    private = pd.DataFrame(X[:200], columns=["a", "b"]).assign(note="none")
    private["note"] = private["note"].astype(object)
    private.iat[7, 2] = threading.Lock()
    public = pd.DataFrame(X[200:], columns=["a", "b"]).assign(note=["none", "some"] * 50)
    public = public.astype({"note": object})
    numbers = make_column_transformer(("passthrough", ["a", "b"]))
    given = {"classes": [0, 1], "epsilon": 50.0, "random_state": 0}
    given["student"] = make_pipeline(numbers, GaussianNB())
    if who == "records":
        given["method"] = ReverseNeighbors(numbers, random_state=0)
    else:
        given["base_estimator"] = given["student"]
    labels = []
    for n_jobs in (1, 2):
        clf = PATEClassifier(**given, n_jobs=n_jobs)
        with joblib.parallel_config(backend):
            labels.append(clf.fit(private, (X[:200, 0] > 0).astype(int), public).public_labels_)
            if n_jobs == 2 and who == "teachers":  # one that hangs must not hang this process
                with pytest.raises(TeacherError, match="could not be sent to a worker"):
                    clf.set_params(timeout=60).fit(private, (X[:200, 0] > 0).astype(int), public)
    np.testing.assert_array_equal(*labels)
