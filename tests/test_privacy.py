"""Nothing private leaves: pickles, copies, reprs, output, logs, warnings, tracebacks."""

import copy
import io
import pickle
import re
import struct
import traceback
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
from conftest import said_while
from processes import run_script
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from sklearn_pate import PATEClassifier
from sklearn_pate.aggregators import GNMax
from sklearn_pate.exceptions import TeacherError

pytestmark = pytest.mark.usefixtures("forked_workers")
TEXT, NUMBER, LABEL = "Xanthippe-Zuckerkandl", 0.8726354829174653, "verdict-of-zanzibar"


def data(n=900):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=n), "b": rng.choice(["u", "v"], n)})
    y = np.where(frame["a"] + (frame["b"] == "u") > 0.5, LABEL, "other")
    private, public = frame[: n // 3 * 2].copy(), frame[n // 3 * 2 :].reset_index(drop=True)
    y = y[: len(private)]
    private.loc[7, "a"], private.loc[7, "b"] = NUMBER, TEXT
    return private, y, public


def model(**params):
    columns = make_column_transformer(
        (StandardScaler(), ["a"]), (OneHotEncoder(handle_unknown="ignore"), ["b"])
    )
    params = {"classes": [LABEL, "other"], "keep_teachers": True, "n_jobs": 2} | params
    teacher = make_pipeline(columns, KNeighborsClassifier(1))  # teachers that memorise records
    return PATEClassifier(teacher, student=make_pipeline(columns, LogisticRegression()), **params)


def secrets_in(content, clf):
    """Which private things are found in text or bytes, written in any way."""
    if isinstance(content, str):
        content = content.encode()
    needles = {
        "text": [TEXT.encode(), b"Xanthippe", TEXT.encode("utf-16-le")],
        "number": [
            str(NUMBER)[:9].encode(),
            struct.pack("<d", NUMBER),
            struct.pack(">d", NUMBER),
            struct.pack("<f", NUMBER),
        ],
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
    clf, out, log, told = said_while(lambda: fit(private, y, public))
    said = out + log + "".join(message for _, message in told)
    return clf, said, public


def test_the_search_finds_what_is_planted(fitted):
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


def pickle_of_a_deep_copy(clf):
    return pickle.dumps(copy.deepcopy(clf))


def pickle_of_a_copy(clf):
    return pickle.dumps(copy.copy(clf))


def pickle_of_the_attributes_of_a_copy(clf):
    return pickle.dumps(vars(copy.deepcopy(clf)))


def diagram(clf):
    return clf._repr_html_()


def repr_of_what_was_spent(clf):
    return repr(clf.privacy_spent_)


def repr_of_the_attributes(clf):
    return repr(vars(clf))


def texts_of_the_curators_view(clf):
    return repr(clf.curator_) + str(clf.curator_)


WAYS_OUT = [
    pickle.dumps,
    joblib_dump,
    pickle_of_a_deep_copy,
    pickle_of_a_copy,
    pickle_of_the_attributes_of_a_copy,
    repr,
    str,
    diagram,
    repr_of_what_was_spent,
    repr_of_the_attributes,
    texts_of_the_curators_view,
]


@pytest.mark.parametrize("leave", WAYS_OUT, ids=lambda leave: leave.__name__)
def test_nothing_private_leaves(fitted, leave):
    clf, _, _ = fitted
    assert secrets_in(leave(clf), clf) == []


def test_nothing_private_is_said_while_fitting(fitted):
    clf, said, _ = fitted
    assert re.search(r"teachers (\d+)/\1 in", said)
    assert secrets_in(said, clf) == []
    assert LABEL not in said


def pickled_and_loaded(clf):
    return pickle.loads(pickle.dumps(clf))


@pytest.mark.parametrize("make_copy", [copy.copy, copy.deepcopy, pickled_and_loaded])
def test_copies_predict_but_have_no_curator_and_no_seed(fitted, make_copy):
    clf, _, public = fitted
    copied = make_copy(clf)
    np.testing.assert_array_equal(copied.predict(public), clf.predict(public))
    assert copied.privacy_spent_ == clf.privacy_spent_
    assert not hasattr(copied, "curator_")
    assert clf.random_state == 3 and copied.random_state is None


def test_an_unfitted_copy_keeps_its_seed():
    assert copy.deepcopy(model(random_state=3)).random_state == 3


def test_parameters_are_pickled_as_unfitted_clones():
    private, y, public = data()
    clf = model(n_teachers=40, n_queries=40, epsilon=None)
    clf.base_estimator.fit(private, y)  # by a careless user, on all private rows
    clf.aggregator = GNMax(10.0)
    clf.fit(private, y, public)
    assert secrets_in(pickle.dumps(clf), clf) == []


def test_the_size_of_a_pickle_does_not_depend_on_the_number_of_teachers():
    private, y, public = data()
    sizes = []
    for n_teachers in (20, 80):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            clf = model(n_teachers=n_teachers, n_queries=40, epsilon=5.0, n_jobs=None)
            clf.set_params(aggregator=GNMax(30.0))
            sizes.append(len(pickle.dumps(clf.fit(private, y, public))))
    assert abs(sizes[0] - sizes[1]) <= 16


class Confused(ClassifierMixin, BaseEstimator):
    """Puts what it saw into its error, in every way that a library does."""

    def __init__(self, form="{!r}"):
        self.form = form

    def fit(self, X, y):
        try:
            raise KeyError(TEXT)
        except KeyError:
            raise ValueError(
                self.form.format(X.to_numpy().ravel().tolist() + [TEXT, NUMBER])
            ) from None

    def predict(self, X):
        return np.zeros(len(X))


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("form", ["{!r}", "bad\n{!r}", "value '{}'", '"{}" seen'])
def test_a_traceback_holds_nothing_private(n_jobs, form):
    private, y, public = data()
    clf = PATEClassifier(Confused(form), classes=[LABEL, "other"], n_jobs=n_jobs)
    try:
        clf.fit(private, y, public)
    except ValueError:
        text = traceback.format_exc()
    assert "teacher" in text and "failed" in text
    assert secrets_in(text, None) == []


class NeedsNumbers(LogisticRegression):
    """As scikit-learn's own: its error quotes the text that it could not convert."""


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_scikit_learns_own_errors_hold_nothing_private(n_jobs):
    private, y, public = data()
    private["b"] = TEXT
    clf = PATEClassifier(NeedsNumbers(), classes=[LABEL, "other"], n_jobs=n_jobs)
    with pytest.raises(ValueError, match="could not convert string to float") as caught:
        clf.fit(private, y, public)
    assert secrets_in("".join(traceback.format_exception(caught.value)), None) == []


def bad_labels():
    _, y, _ = data()
    return {
        "outside classes": [TEXT, *y[1:]],
        "missing": [None, *y[1:]],
        "too few": y[1:],
        "two columns": np.c_[y, y],
        "numbers": np.full(len(y), NUMBER),
        "ragged": [[label] for label in y[:-1]] + [[TEXT, LABEL]],
    }


@pytest.mark.parametrize("case", bad_labels())
def test_complaints_about_labels_do_not_quote_them(case):
    private, _, public = data()
    try:
        model().fit(private, bad_labels()[case], public)
    except ValueError:
        text = traceback.format_exc()
    text = text.replace(str(sorted(["other", LABEL])), "")  # the declared classes are public
    assert secrets_in(text, None) == [] and LABEL not in text


def test_complaints_about_groups_do_not_quote_them():
    private, y, public = data()
    groups = np.array([TEXT, None] + ["x"] * (len(y) - 2), dtype=object)
    for bad in (groups, groups[1:], [[TEXT]] * len(y)):
        try:
            model(unit="group").fit(private, y, public, groups=bad)
        except ValueError:
            text = traceback.format_exc()
        assert "groups" in text and secrets_in(text, None) == []


class CannotComeBack(LogisticRegression):
    """Fits, but does not pickle then, and says so with what it learned from."""

    def __reduce__(self):
        if hasattr(self, "coef_"):
            raise self.kind_(f"cannot pickle {TEXT}")
        return super().__reduce__()

    def fit(self, X, y):
        super().fit(X, y)
        self.kind_ = ValueError
        return self


def kept_by_two_workers(teacher):
    return PATEClassifier(
        teacher,
        n_teachers=6,
        student=LogisticRegression(),
        epsilon=None,
        aggregator=GNMax(0.5),
        n_queries=60,
        classes=[0, 1],
        keep_teachers=True,
        n_jobs=2,
    )


@pytest.mark.parametrize("backend", ["loky", "multiprocessing"])
def test_a_fitted_teacher_that_cannot_be_sent_back_says_nothing(backend, capfd):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    clf = kept_by_two_workers(CannotComeBack())
    with joblib.parallel_config(backend=backend), pytest.raises(TeacherError) as caught:
        clf.fit(X[:200], (X[:200, 0] > 0).astype(int), X_public=X[200:])
    shown = "".join(traceback.format_exception(caught.value))
    assert TEXT not in shown and "array(" not in shown
    # Sent back by joblib, it would end the other workers, which may then wait for ever
    assert "could not be sent back by a worker" in str(caught.value)
    assert "keep_teachers=True" in str(caught.value)
    assert caught.value.__context__ is None or caught.value.__suppress_context__


class DrawsWhenLoaded(GaussianNB):
    """Draws from a global generator when it is loaded, as often as its records say."""

    def __setstate__(self, state):
        np.random.random(int(1000 * np.abs(state.get("theta_", 0)).sum()))
        super().__setstate__(state)


@pytest.mark.parametrize("backend", ["loky", "multiprocessing"])
def test_a_teacher_that_is_sent_back_moves_no_generator(backend):
    X = np.random.default_rng(0).normal(size=(300, 2))
    drawn = []
    for scale in (1.0, 2.0):
        clf = kept_by_two_workers(DrawsWhenLoaded())
        np.random.seed(3)
        with joblib.parallel_config(backend=backend):
            clf.fit(X[:200] * scale, (X[:200, 0] > 0).astype(int), X_public=X[200:])
        assert len(clf.curator_.teachers) == 6
        drawn.append(np.random.random())
    assert drawn[0] == drawn[1]


class DrawsWhenPickled(GaussianNB):
    """Draws from a global generator when it is pickled, as often as its records say."""

    def __getstate__(self):
        np.random.random(int(1000 * np.abs(getattr(self, "theta_", 0)).sum()))
        return super().__getstate__()


@pytest.mark.parametrize("teacher", [DrawsWhenLoaded(), DrawsWhenPickled()])
def test_a_teacher_that_is_kept_in_memory_moves_no_generator(teacher, tmp_path):
    X = np.random.default_rng(0).normal(size=(300, 2))
    drawn = set()
    for scale in (1.0, 2.0):
        clf = kept_by_two_workers(teacher).set_params(n_jobs=1, memory=tmp_path, random_state=0)
        for _ in range(2):  # put into memory, then taken from it
            np.random.seed(3)
            clf.fit(X[:200] * scale, (X[:200, 0] > 0).astype(int), X_public=X[200:])
            drawn.add(np.random.random())
    assert len(drawn) == 1


def test_a_fitted_teacher_that_cannot_be_kept_in_memory_says_nothing(tmp_path):
    X = np.random.default_rng(0).normal(size=(300, 2))
    clf = kept_by_two_workers(CannotComeBack()).set_params(n_jobs=1, memory=tmp_path)
    with pytest.raises(TeacherError, match="or kept in memory .*memory=None") as caught:
        clf.fit(X[:200], (X[:200, 0] > 0).astype(int), X_public=X[200:])
    shown = "".join(traceback.format_exception(caught.value))
    assert TEXT not in shown and "array(" not in shown


OF_SCRIPT = """
import joblib
import numpy as np
from sklearn.naive_bayes import GaussianNB
from sklearn_pate import PATEClassifier

RNG = np.random.default_rng(5)


class Mine(GaussianNB):
    def fit(self, X, y):
        RNG.random(int(1000 * np.abs(X).sum()))
        return super().fit(X, y)


def main():
    fit = Mine.fit
    X = np.random.default_rng(0).normal(size=(300, 2))
    clf = PATEClassifier(
        Mine(), n_teachers=6, student=GaussianNB(), classes=[0, 1], keep_teachers=True, n_jobs=2,
        epsilon=1000.0,
    )
    clf.fit(X[:200], (X[:200, 0] > 0).astype(int), X_public=X[200:])
    assert all(type(teacher) is Mine for teacher in clf.curator_.teachers)
    assert Mine.fit is fit and fit.__globals__["RNG"] is RNG
    print(RNG.random() == np.random.default_rng(5).random())


main()
"""


def test_a_worker_changes_no_class_of_the_script():
    run = run_script(OF_SCRIPT)
    assert run.stdout.strip() == "True", run.stderr
