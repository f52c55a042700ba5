"""Exports: the student by itself, its privacy statement, and saved models."""

import functools
import json
import pickle
import runpy
import subprocess
import sys
from importlib.util import find_spec
from inspect import signature
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from conftest import cases
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.utils import all_estimators

from sklearn_pate import PATEClassifier, PrivacySpent
from sklearn_pate.accounting import PrivacyForecast
from sklearn_pate.fitting.export import handed_over
from sklearn_pate.methods import ReverseNeighbors
from sklearn_pate.methods.sums import ClassSums
from sklearn_pate.neighbors import LandmarkClassifier, RowVectorizer
from sklearn_pate.readouts import SumsClassifier
from sklearn_pate.students import SoftLabelClassifier
from sklearn_pate.synthesis import ClassSumsSynthesizer, MarginalSynthesizer, Schema

LETTERS = np.array(["a", "b", "c"])


def coded(n_classes):
    given = {"n_informative": 4, "n_redundant": 0, "n_classes": n_classes, "random_state": 0}
    return make_classification(700, 5, **given)


def numbers(n_classes):
    X, codes = coded(n_classes)
    return X, LETTERS[codes]


def table():
    X, y = numbers(2)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(X[:, :2], columns=["age", "income"])
    frame["city"] = np.where(X[:, 2] > 0, "Oslo", "Bern")
    frame["level"] = pd.Categorical(np.digitize(X[:, 3], [-1, 0, 1]))
    frame["held"] = pd.to_timedelta(np.abs(X[:, 4]), "h")
    frame["flag"] = pd.array(X[:, 0] > 1, dtype="boolean")
    frame["income"] = frame["income"].mask(rng.random(700) < 0.1)
    frame["city"] = frame["city"].mask(rng.random(700) < 0.1)
    frame["flag"] = frame["flag"].mask(rng.random(700) < 0.1)
    return frame, y


def fitted(X, y, estimator=None, student=None, **params):
    """Return a classifier of some rows, and all."""
    params = {"epsilon": 20, "random_state": 0, "classes": np.unique(y)} | params
    clf = PATEClassifier(estimator, student=student, **params)
    return clf.fit(X[:400], y[:400], X_public=X[400:]), X


def by_teachers(student):
    return fitted(*numbers(3), GaussianNB(), student, n_teachers=20, epsilon=50)


def images():
    X, y = numbers(2)
    return np.repeat(X, 4, axis=1).reshape(700, 5, 2, 2).astype(np.float32), y


#: Values of the columns of `table`, without times and flags.
COLUMNS = Schema(
    {"age": (-4, 4), "income": (-4, -1, 0, 1, 4), "city": ["Oslo", "Bern"]},
    missing=["income", "city"],
)


def without_public_rows(X, y, schema, share, **params):
    """Return a classifier of rows that class sums draw, with a share of epsilon, and all rows."""
    params = {"epsilon": 20, "random_state": 0, "classes": np.unique(y)} | params
    sums = ClassSumsSynthesizer(n_rows=300, epsilon_fraction=share)
    return PATEClassifier(schema=schema, synthesizer=sums, **params).fit(X, y), X


def declared():
    X, y = table()
    return X[["age", "income", "city", "level"]], y


MADE = {
    "default_of_declared_table": lambda: without_public_rows(*declared(), COLUMNS, share=1),
    "default_of_declared_array": lambda: without_public_rows(
        *numbers(3), [(-4, 4), (-4, 0, 4), (0, 0), *[(-4, 4)] * 2], 1, class_weight="balanced"
    ),
    "default_of_sums_and_cells": lambda: without_public_rows(*declared(), COLUMNS, share=0.5),
    "default_of_class_sums": lambda: fitted(*images(), method=ClassSums()),
    "default_of_table": lambda: fitted(*table()),
    "cells_of_table": lambda: fitted(*table(), method=ReverseNeighbors()),
    "default_of_images": lambda: fitted(*images()),
    "default_of_teachers": lambda: fitted(*table(), n_teachers=8),
    "linear": lambda: by_teachers(make_pipeline(StandardScaler(), LogisticRegression())),
    "forest": lambda: by_teachers(RandomForestClassifier(5)),
}


@functools.cache
def made(name):
    """A fitted classifier and rows, the same for all tests."""
    return MADE[name]()


@functools.cache
def exported(name):
    """The export of a classifier that is `made`."""
    return made(name)[0].export()


def assert_same(model, clf, X):
    np.testing.assert_array_equal(model.predict(X), clf.predict(X))
    columns = np.searchsorted(clf.classes_, model.classes_)
    np.testing.assert_array_equal(clf.classes_[columns], model.classes_)
    proba = clf.predict_proba(X)[:, columns]
    np.testing.assert_allclose(model.predict_proba(X), proba, rtol=0, atol=1e-12)


# --- the same predictions, without this library --------------------------------------------------


@pytest.mark.parametrize("name", MADE)
def test_export_predicts_as_the_classifier(name):
    clf, X = made(name)
    assert_same(exported(name), clf, X)
    assert_same(clf.export(X), clf, X)
    assert b"sklearn_pate" not in pickle.dumps(exported(name))
    assert clf.student_.predict(X[:1])[0] in range(3)  # its own student still knows codes


def test_export_predicts_odd_rows_as_the_classifier():
    clf, X = made("default_of_table")
    held = pd.to_timedelta([pd.NaT] * 3)
    odd = X[:3].assign(age=[np.nan, 1e9, -1e9], city=["unseen", None, ""], held=held)
    assert_same(clf.export(), clf, odd)


@pytest.mark.parametrize("name", ["default_of_declared_table", "default_of_sums_and_cells"])
def test_export_without_public_rows_predicts_odd_rows_as_the_classifier(name):
    clf, X = made(name)
    odd = X[:4].assign(
        age=[np.nan, 1e9, -1e9, 0.0],  # a gap where none was declared
        income=pd.array([None, 2.0, None, 0.0], dtype="Float64"),
        city=["unseen", None, "Oslo", "Bern"],
        level=pd.Categorical([3, None, 9, 0]),
    )
    assert_same(exported(name), clf, odd)
    assert_same(exported(name), clf, odd[:1])


def test_export_of_sums_classifier_handles_labels_of_one_class():
    clf, X = made("default_of_declared_array")
    student = SumsClassifier(clf.table_).fit(X[:2], np.array([2, 2]))
    model = student.to_sklearn()
    assert model.classes_.tolist() == [2] and (model.predict(X) == 2).all()
    assert (model.predict_proba(X) == student.predict_proba(X)).all()


LOAD = """if True:
    import pickle
    import sys
    from pathlib import Path

    sys.modules["sklearn_pate"] = None  # cannot be imported
    import joblib

    def load(file):
        if file.suffix == ".joblib":
            return joblib.load(file)
        import skops.io

        return skops.io.load(file, trusted=skops.io.get_untrusted_types(file=file))

    folder = Path(sys.argv[1])
    for file in [*folder.glob("*.joblib"), *folder.glob("*.skops")]:
        model = load(file)
        rows = pickle.loads(file.with_suffix(".rows").read_bytes())
        found = [model.predict(rows), model.predict_proba(rows), model.privacy_spent_]
        file.with_name(file.name + ".found").write_bytes(pickle.dumps(found))
    try:
        import sklearn_pate
    except ImportError:
        print("not here")
"""


@pytest.mark.slow
def test_export_loads_without_this_library(tmp_path):
    skops_io = pytest.importorskip("skops.io", reason="needs skops")
    for name in MADE:
        (tmp_path / f"{name}.rows").write_bytes(pickle.dumps(made(name)[1][:50]))
        joblib.dump(exported(name), tmp_path / f"{name}.joblib")
        skops_io.dump(exported(name), tmp_path / f"{name}.skops")
    command = [sys.executable, "-c", LOAD, str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == "not here"
    found = list(tmp_path.glob("*.found"))
    assert len(found) == 2 * len(MADE)
    for file in found:
        name, suffix, _ = file.name.split(".")
        clf, X = made(name)
        labels, proba, spent = pickle.loads(file.read_bytes())
        np.testing.assert_array_equal(labels, clf.predict(X[:50]))
        np.testing.assert_allclose(proba, clf.predict_proba(X[:50]), rtol=0, atol=1e-12)
        assert spent == clf.privacy_spent_.to_dict()
        if suffix == "skops":
            unknown = skops_io.get_untrusted_types(file=file.with_suffix(""))
            # Some versions also ask about scipy's splines, and a list within a ColumnTransformer
            unknown = {
                queried for queried in unknown if not queried.startswith(("scipy.", "sklearn."))
            }
            assert unknown <= (TRUSTED if name.startswith(("default", "cells")) else set())


#: What skops asks about in exports of the students by default.
TRUSTED = {"operator.methodcaller", "numpy.dtype", "numpy.asarray", "numpy.interp"}
TRUSTED |= {"numpy.clip", "numpy.nan_to_num"}


def test_page_on_handing_over_lists_the_types_of_skops():
    page = (Path(__file__).parents[1] / "docs" / "handing_over.md").read_text()
    assert all(f"`{name}`" in page for name in TRUSTED)


@pytest.mark.parametrize("name", ["cells_of_table", "linear"])
def test_skops_keeps_the_classifier(name, tmp_path):
    skops_io = pytest.importorskip("skops.io", reason="needs skops")
    clf, X = made(name)
    file = tmp_path / "model.skops"
    skops_io.dump(clf, file)
    unknown = skops_io.get_untrusted_types(file=file)
    assert "sklearn_pate.fitting.export.Saved" in unknown
    loaded = skops_io.load(file, trusted=unknown)
    np.testing.assert_array_equal(loaded.predict(X), clf.predict(X))
    np.testing.assert_array_equal(loaded.predict_proba(X), clf.predict_proba(X))
    assert loaded.privacy_spent_ == clf.privacy_spent_
    assert not hasattr(loaded, "curator_") and loaded.random_state is None


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_onnx_example_runs_or_names_the_missing_package(capsys):
    runpy.run_path(str(Path(__file__).parents[1] / "examples" / "plot_onnx.py"))
    printed = capsys.readouterr().out
    missing = [name for name in ("onnxruntime", "skl2onnx") if find_spec(name) is None]
    assert ("is not installed" in printed) == bool(missing)
    assert ("same labels: 100.0%" in printed) == (not missing)


# --- any student ---------------------------------------------------------------------------------


def taught(student, X, codes, labels):
    """Return a classifier as if its fit had released these labels."""
    clf = PATEClassifier(student=student)
    clf.student_ = student.fit(X, codes)
    clf.classes_ = np.array(labels)
    clf.n_features_in_ = X.shape[1]
    return clf


LEFT_OUT = {
    "ClassifierChain",  # of several labels
    "MultiOutputClassifier",
    "PassiveAggressiveClassifier",  # deprecated
    "SelfTrainingClassifier",  # below: it warns where all rows are labelled
}


def sklearns():
    """Every classifier of scikit-learn by its name; what needs others is made of simple ones."""
    simple = GaussianNB()
    several = [("one", simple), ("two", LogisticRegression())]
    for name, kind in all_estimators("classifier"):
        if name in {"VotingClassifier", "StackingClassifier"}:
            yield name, kind(several)
        elif "SearchCV" in name:
            yield name, kind(simple, {"var_smoothing": [1e-9, 1e-3]})
        elif name not in LEFT_OUT:
            parameters = signature(kind).parameters
            few = {"n_estimators": 5} if "n_estimators" in parameters else {}
            yield name, kind(simple, **few) if "estimator" in parameters else kind(**few)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_export_of_every_sklearn_classifier_predicts_labels():
    for kind, student in sklearns():
        print(kind)  # the last one is that which failed
        check_handed_over(kind, student)


def check_handed_over(kind, student):
    n_classes = 2 if "Threshold" in kind else 3
    X, codes = coded(n_classes)
    X, codes = np.abs(X[:120]), codes[:120]
    if kind == "CategoricalNB":
        X = np.floor(X).clip(0, 3)
    if "Radius" in kind:
        student.set_params(radius=10.0)
    clf = taught(student, X, codes, LETTERS[:n_classes])
    model = handed_over(clf, X)
    np.testing.assert_array_equal(model.predict(X), clf.predict(X))
    np.testing.assert_array_equal(model.classes_, LETTERS[:n_classes])
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(model.predict_proba(X), clf.predict_proba(X), atol=1e-12)
    try:
        alone = handed_over(clf, None)
    except ValueError as error:
        assert "Give public rows" in str(error)
    else:
        np.testing.assert_array_equal(alone.predict(X), clf.predict(X))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), clf.predict(X))


class Contrary(ClassifierMixin, BaseEstimator):
    """Predicts the class of the smallest probability."""

    classes_ = property(lambda self: self.model_.classes_)

    def fit(self, X, y):
        self.model_ = GaussianNB().fit(X, y)
        return self

    def predict_proba(self, X):
        return self.model_.predict_proba(X)

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmin(axis=1)]


def test_export_keeps_labels_of_a_student_with_other_probabilities():
    X, codes = coded(3)
    clf = taught(Contrary(), X, codes, LETTERS)
    model = handed_over(clf, X)
    np.testing.assert_array_equal(model.predict(X), clf.predict(X))
    assert not hasattr(model, "predict_proba")
    model = handed_over(taught(Contrary(), X, codes, [0, 1, 2]), None)
    assert type(model) is Contrary and model is not clf.student_  # no label is to be decoded


@pytest.mark.parametrize("student", [GaussianNB(), RidgeClassifier()])
def test_export_has_no_column_for_a_label_never_released(student):
    X, codes = coded(3)
    clf = taught(student, X[codes != 1], codes[codes != 1], LETTERS)
    model = handed_over(clf, X)
    np.testing.assert_array_equal(model.predict(X), clf.predict(X))
    if hasattr(model, "predict_proba"):
        assert model.classes_.tolist() == ["a", "c"]
        np.testing.assert_array_equal(model.predict_proba(X), clf.predict_proba(X)[:, [0, 2]])


def test_export_of_students_of_this_library_predicts_labels():
    X, codes = coded(2)
    for student in (
        make_pipeline(RowVectorizer(), StandardScaler(), LandmarkClassifier()),
        SoftLabelClassifier(LogisticRegression()),
        SelfTrainingClassifier(LogisticRegression()),
    ):
        given = codes.copy()
        if type(student) is SelfTrainingClassifier:
            given[-9:] = -1
        clf = taught(student, X, given, LETTERS[:2])
        model = handed_over(clf, X)
        np.testing.assert_array_equal(model.predict(X), clf.predict(X))
        assert b"sklearn_pate" not in pickle.dumps(model)


def of_torch():
    pytest.importorskip("torch", reason="needs the extra 'torch'")
    from sklearn_pate.neural import VATClassifier

    return VATClassifier(max_epochs=1)


def of_the_program():
    return make_pipeline(StandardScaler(), Contrary())


def of_this_library():
    return CalibratedClassifierCV(make_pipeline(RowVectorizer(), GaussianNB()))


@cases(
    "make, reason",
    (of_torch, r"sklearn_pate\.neural\.vat\.VATClassifier"),
    (of_this_library, r"holds sklearn_pate\.encoding\.vectorizer\.RowVectorizer"),
    (of_the_program, r"holds __main__\.Contrary, of the program"),
    (lambda: make_pipeline(FunctionTransformer(lambda X: X), GaussianNB()), "cannot be pickled"),
)
def test_export_refuses_students_it_cannot_copy(make, reason, monkeypatch):
    X, codes = coded(2)
    clf = taught(make(), X, codes, LETTERS[:2])
    if make is of_the_program:
        assert handed_over(clf, X)  # of a module it is not
        monkeypatch.setattr(Contrary, "__module__", "__main__")
        monkeypatch.setattr(sys.modules["__main__"], "Contrary", Contrary, raising=False)
    pytest.raises(ValueError, handed_over, clf, X).match(reason)


def test_export_contains_nothing_private():
    clf, _ = fitted(*numbers(2), GaussianNB(), n_teachers=20, random_state=None)
    model = clf.export()
    assert set(vars(model)) - set(vars(clf.student_)) == {"privacy_spent_", "libraries_"}
    assert set(model.libraries_) == {"sklearn", "numpy"}
    assert model.libraries_["numpy"] == np.__version__


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_export_of_frames_names_pandas_and_accepts_arrays():
    X, y = numbers(2)
    frame = pd.DataFrame(X[:, :2], columns=["age", "income"])
    encoder = make_column_transformer((StandardScaler(), ["age", "income"]))
    clf, _ = fitted(frame, y, make_pipeline(encoder, GaussianNB()), n_teachers=20)
    assert clf.export().libraries_["pandas"] == pd.__version__
    assert np.array_equal(clf.predict_proba(frame.to_numpy()), clf.predict_proba(frame))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
def test_export_requires_no_synthetic_rows():
    X, y = numbers(2)
    X = X.clip(-4, 4)
    rows = MarginalSynthesizer((-4, 4), missing=[])
    clf = PATEClassifier(synthesizer=rows, epsilon=20, classes=LETTERS[:2])
    clf.fit(X, y).fit_student(student=MLPClassifier(max_iter=20))
    assert_same(clf.export(), clf, X)
    assert clf.export().privacy_spent_["n_synthetic"] == len(clf.X_synthetic_)


# --- the statement -------------------------------------------------------------------------------


NUMBERS = {"n_teachers": np.int64(9), "n_queries": 5, "n_answered": np.int64(4)}


def test_privacy_statement_converts_to_dict_and_json():
    spent = PrivacySpent(np.float64(0.75), 1e-5, "renyi", "record", "replace one", **NUMBERS)
    record = spent.to_dict()
    assert record["format"] == 2 and record["kind"] == "spent"
    assert {type(value) for value in record.values()} == {int, float, str, list}
    assert json.loads(spent.to_json()) == record
    assert PrivacyForecast(**vars(spent)).to_dict() == record | {"kind": "forecast"}
    rebuilt = {name: value for name, value in record.items() if name not in ("format", "kind")}
    assert PrivacySpent(**rebuilt) == spent


def test_privacy_statement_json_has_no_infinite_number():
    spent = PrivacySpent(float("inf"), 0.0, "none", "record", "replace one", **NUMBERS)
    text = spent.to_json()
    assert json.loads(text)["epsilon"] == "Infinity"
    assert float(json.loads(text)["epsilon"]) == spent.to_dict()["epsilon"] == float("inf")


def test_privacy_statement_html_rounds_up_and_shows_delta():
    spent = PrivacySpent(0.7501, 1.25e-6, "renyi", "record", "a < b", **NUMBERS)
    card = spent._repr_html_()
    assert "<td>0.751</td>" in card and "<td>1.25e-06</td>" in card and "a &lt; b" in card
    assert "nothing is spent yet" in PrivacyForecast(**vars(spent))._repr_html_()
