"""Public data through pipelines, searches and validation, with metadata routing on and off."""

import copy
import pickle
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
import sklearn
from conftest import sampled
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    HalvingGridSearchCV,
    TunedThresholdClassifierCV,
    cross_val_score,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_pate import FitOnPublic, PATEClassifier, PublicData
from sklearn_pate.aggregators import PluralityVote
from sklearn_pate.exceptions import BadPlanError, PrivacyLeakWarning
from sklearn_pate.methods import ReverseNeighbors
from sklearn_pate.model_selection import PrivateGridSearchCV
from sklearn_pate.neighbors import RowVectorizer
from sklearn_pate.public import (
    are_all_equal,
    overlap,
    public_rows,
    useless_columns,
    warn_if_private,
)
from sklearn_pate.synthesis import Schema

N = 300
GRID = {"n_teachers": [3, 5]}
ROUTING = pytest.mark.parametrize("routing", [False, True], ids=["routing off", "routing on"])


@pytest.fixture
def routing_on():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def data(n=N, n_public=N, seed=0, scale=1.0):
    """Private rows, labels and public rows: as many public rows as private ones."""
    X = np.random.default_rng(seed).normal(size=(n + n_public, 3)) * scale
    return X[:n], (X[:n, 0] > 0).astype(int), X[n:]


class Recorder(PATEClassifier):
    """Remembers how many public and private rows each fit was given."""

    seen: list = []

    def fit(self, X, y, X_public=None, *, groups=None, sample_weight=None):
        Recorder.seen.append((len(X), len(public_rows(X_public))))
        return super().fit(X, y, X_public, groups=groups, sample_weight=sample_weight)


def model(kind=PATEClassifier, **params):
    given = {"n_teachers": 5, "aggregator": PluralityVote(), "epsilon": None, "classes": [0, 1]}
    return kind(GaussianNB(), **(given | params))


# --- PublicData --------------------------------------------------------------------------------


def test_public_data_survives_copies_and_pickles():
    X = np.arange(6.0).reshape(3, 2)
    wrapped = PublicData(X)
    for other in (wrapped, copy.copy(wrapped), copy.deepcopy(wrapped), clone(wrapped, safe=False)):
        assert len(other) == 1 and np.array_equal(public_rows(other), X)
    again = pickle.loads(pickle.dumps(wrapped))
    assert type(again) is PublicData and np.array_equal(again[0], X)
    assert public_rows((X,)) is X and public_rows(X) is X and public_rows(None) is None
    assert repr(wrapped) == "PublicData(ndarray of shape (3, 2))"


@pytest.mark.slow
@ROUTING
def test_public_data_is_not_split_by_searches(routing):
    X, y, X_public = data()
    Recorder.seen.clear()
    with sklearn.config_context(enable_metadata_routing=routing):
        search = GridSearchCV(model(Recorder), GRID, cv=3)
        search.fit(X, y, X_public=PublicData(X_public))
    assert len(search.best_estimator_.public_labels_) == N and search.score(X, y) > 0.8
    assert Recorder.seen == [(200, N)] * 6 + [(N, N)]


# --- habits ------------------------------------------------------------------------------------


HABITS = {
    "GridSearchCV": lambda clf: GridSearchCV(clf, GRID, cv=2),
    "HalvingGridSearchCV": lambda clf: HalvingGridSearchCV(clf, GRID, cv=2, min_resources=100),
    "CalibratedClassifierCV": lambda clf: CalibratedClassifierCV(clf, cv=2),
}
WITH_ROUTING_ONLY = {
    "BaggingClassifier": lambda clf: BaggingClassifier(clf, n_estimators=2, random_state=0),
    "TunedThresholdClassifierCV": lambda clf: TunedThresholdClassifierCV(clf, cv=2),
}


@ROUTING
@pytest.mark.parametrize("habit", [*HABITS, *WITH_ROUTING_ONLY])
def test_meta_estimators_pass_public_data(habit, routing):
    X, y, X_public = data()
    with sklearn.config_context(enable_metadata_routing=routing):
        outer = (HABITS | WITH_ROUTING_ONLY)[habit](model())
        if habit in WITH_ROUTING_ONLY and not routing:
            with pytest.raises(ValueError, match="enable_metadata_routing=True"):
                outer.fit(X, y, X_public=PublicData(X_public))
            return
        outer.fit(X, y, X_public=PublicData(X_public))
        assert outer.score(X, y) > 0.8 and outer.predict_proba(X).shape == (N, 2)


def test_groups_dropped_by_searches_are_an_error():
    X, y, X_public = data()
    clf, params = model(unit="group"), {"X_public": PublicData(X_public)}
    with pytest.raises(ValueError, match="drop groups unless metadata routing is on"):
        cross_val_score(clf, X, y, cv=2, error_score="raise", params=params)


def test_groups_reach_splitter_and_estimator_with_routing(routing_on):
    X, y, X_public = data()
    search = GridSearchCV(model(unit="group"), GRID, cv=GroupKFold(2))
    search.fit(X, y, groups=np.arange(N) // 2, X_public=PublicData(X_public))
    assert search.best_estimator_.privacy_spent_.unit == "group"


FRAME = pd.DataFrame(data()[0], columns=["a", "b", "c"])
TABLES = {
    "numbers": FRAME,
    "whole numbers and truth values": FRAME.assign(n=np.arange(N) % 7, t=FRAME["b"] > 0),
    "gaps": FRAME.assign(n=pd.array([1, None, 3] * (N // 3), dtype="Int64")),
}
OF_TEXT = {
    "text": FRAME.assign(t=np.where(FRAME["a"] > 0, "yes", "no")),
    "categories": FRAME.assign(t=pd.Categorical(["x", "y"] * (N // 2))),
}


def bagging_of(clf):
    return BaggingClassifier(clf.set_params(classes=[0, 1]), n_estimators=2, random_state=0)


@pytest.mark.parametrize("kind", TABLES)
def test_bagging_accepts_public_frames_of_numbers(kind, routing_on):
    frame, y = TABLES[kind], data()[1]
    bagging = bagging_of(PATEClassifier(n_teachers=5, epsilon=None, aggregator=PluralityVote()))
    bagging.fit(frame[:200], y[:200], X_public=PublicData(frame[200:]))
    assert bagging.score(frame[200:], y[200:]) > 0.8


METHODS = {
    "teachers": {"n_teachers": 5, "epsilon": None, "aggregator": PluralityVote()},
    "records": {"epsilon": 20.0},
}


@sampled()
@pytest.mark.parametrize("params", METHODS.values(), ids=METHODS)
@pytest.mark.parametrize("kind", OF_TEXT)
def test_bagging_of_text_frames_is_refused_with_a_remedy(kind, params, routing_on):
    frame, y = OF_TEXT[kind], data()[1]
    bagging = bagging_of(PATEClassifier(**params))
    public = PublicData(frame[200:])
    with pytest.raises(ValueError, match="X_public: an array that holds text.*\n.*\n") as caught:
        bagging.fit(frame[:200], y[:200], X_public=public)
    assert "nothing was spent" in caught.value.__notes__[0]
    remedy = "neighbors.RowVectorizer().fit(X_public).transform"
    assert str(caught.value).endswith(f"encode both as numbers first, with {remedy}")
    transform = RowVectorizer().fit(frame[200:]).transform
    numbers = transform(frame)
    bagging.fit(numbers[:200], y[:200], X_public=PublicData(numbers[200:]))
    assert bagging.score(numbers[200:], y[200:]) > 0.8


def test_public_frames_and_arrays_give_one_model():
    frame, y = TABLES["numbers"], data()[1]
    X, X_public = frame[:200].to_numpy(), frame[200:]
    with_frame = model(random_state=0).fit(X, y[:200], X_public=X_public)
    with_array = model(random_state=0).fit(X, y[:200], X_public=X_public.to_numpy())
    assert not hasattr(with_frame, "feature_names_in_")
    proba = with_array.predict_proba(X)
    assert np.array_equal(with_frame.predict_proba(X), proba)
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # names are new to it
        assert np.array_equal(with_frame.fit_student(X_public).predict_proba(X), proba)


# --- stacks -------------------------------------------------------------------------------------


def test_stacking_passes_public_data_to_its_final_estimator(routing_on):
    X, y, X_public = data()
    Recorder.seen.clear()
    stacked = StackingClassifier([("pate", model(Recorder))], LogisticRegression(), cv=5)
    with pytest.raises(TypeError, match="unexpected keyword argument 'X_public'"):
        stacked.fit(X, y, X_public=PublicData(X_public))
    assert len(Recorder.seen) == 6  # all of them are paid for


@pytest.mark.slow
@ROUTING
def test_stacking_fits_models_with_a_schema(routing):
    X, y, X_public = data()
    clf = PATEClassifier(schema=(-4.0, 4.0), epsilon=20.0, classes=range(2), random_state=0)
    with sklearn.config_context(enable_metadata_routing=routing):
        stacked = StackingClassifier([("pate", clf)], LogisticRegression(), cv=2).fit(X, y)
    assert stacked.score(X_public, X_public[:, 0] > 0) > 0.8


@ROUTING
def test_stacking_of_fitted_models_spends_nothing(routing):
    X, y, X_public = data()
    clf = model(Recorder).fit(X, y, X_public=X_public)
    Recorder.seen.clear()
    stacked = StackingClassifier([("pate", clf)], LogisticRegression(), cv="prefit")
    with sklearn.config_context(enable_metadata_routing=routing):
        stacked.fit(X_public, (X_public[:, 0] > 0).astype(int))
    assert stacked.score(X, y) > 0.8 and Recorder.seen == []


def test_voting_accepts_public_data_and_requires_numbered_classes(routing_on):
    X, y, X_public = data()
    labels = np.array(["no", "yes"])[y]
    vote = VotingClassifier([("pate", model(Recorder, classes=range(2)))], voting="soft")
    vote.fit(X, labels, X_public=PublicData(X_public))
    assert vote.score(X, labels) > 0.8
    with pytest.raises(ValueError, match=r"within a VotingClassifier, give classes=range\(2\)"):
        vote.set_params(pate__classes=["no", "yes"]).fit(X, labels, X_public=PublicData(X_public))


# --- arrays that models of frames predict --------------------------------------------------------

NO_NAMES = "X does not have valid feature names, but PATEClassifier was fitted with feature names"


@sampled()
@pytest.mark.parametrize("kind", ["numbers", "whole numbers and truth values", "gaps"])
@pytest.mark.parametrize(
    "params", [METHODS["teachers"], {"method": ReverseNeighbors(), "epsilon": 20}], ids=METHODS
)
def test_models_of_frames_predict_arrays_of_numbers(kind, params):
    frame, y = TABLES[kind], data()[1]
    clf = PATEClassifier(classes=[0, 1], on_bad_plan="warn", **params)
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # of few records
        clf.fit(frame[:200], y[:200], X_public=frame[200:])
    expected = clf.predict_proba(frame)
    for rows in (frame.to_numpy(float, na_value=np.nan), frame.to_numpy(object, na_value=np.nan)):
        with pytest.warns(UserWarning, match=NO_NAMES):
            assert np.allclose(clf.predict_proba(rows), expected)


def test_models_of_frames_without_names_predict_arrays():
    frame, y = pd.DataFrame(data()[0]), data()[1]
    clf = PATEClassifier(n_teachers=5, epsilon=None, aggregator=PluralityVote(), classes=[0, 1])
    clf.fit(frame[:200], y[:200], X_public=frame[200:])
    assert np.array_equal(clf.predict(frame.to_numpy()), clf.predict(frame))


def test_models_of_polars_frames_predict_arrays():
    table, y = as_polars(data()[0]), data()[1]
    clf = PATEClassifier(n_teachers=5, epsilon=None, aggregator=PluralityVote(), classes=[0, 1])
    clf.fit(table[:200], y[:200], X_public=table[200:])
    with pytest.warns(UserWarning, match=NO_NAMES):
        assert np.array_equal(clf.predict(table.to_numpy()), clf.predict(table))


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_models_of_frames_work_in_sklearn_inspection():
    frame, y = TABLES["numbers"], data()[1]
    clf = model().fit(frame[:200], y[:200], X_public=frame[200:])
    found = permutation_importance(clf, frame.to_numpy(), y, n_repeats=2, random_state=0)
    assert found.importances_mean.argmax() == 0
    average = partial_dependence(clf, frame.to_numpy(), [0], grid_resolution=5)["average"][0]
    assert average[0] < 0.5 < average[-1]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("kind", OF_TEXT)
def test_text_arrays_are_refused_by_models_of_frames_with_a_remedy(kind):
    frame, y = OF_TEXT[kind], data()[1]
    clf = PATEClassifier(n_teachers=5, epsilon=None, aggregator=PluralityVote(), classes=[0, 1])
    X, X_public = frame[:200], frame[200:]
    clf.fit(X, y[:200], X_public=X_public)
    rows = X.to_numpy()
    with pytest.raises(ValueError, match="so it requires a DataFrame; got ndarray") as caught:
        clf.predict(rows)
    remedy = str(caught.value).rpartition(" = ")[2]
    rows = eval(remedy, {"pd": pd, "X": rows, "X_public": X_public})
    assert np.array_equal(clf.predict(rows), clf.predict(X))


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_text_arrays_are_refused_by_models_of_polars_frames_with_a_remedy():
    pl = pytest.importorskip("polars", reason="needs polars")
    frame, y = pl.DataFrame(OF_TEXT["text"].to_dict("list")), data()[1]
    clf = PATEClassifier(n_teachers=5, epsilon=None, aggregator=PluralityVote(), classes=[0, 1])
    X, X_public = frame[:200], frame[200:]
    clf.fit(X, y[:200], X_public=X_public)
    with pytest.raises(ValueError, match="so it requires a DataFrame; got ndarray") as caught:
        clf.predict(X.to_numpy())
    remedy = str(caught.value).partition(" = ")[2]
    rows = eval(remedy, {"pl": pl, "X": X.to_numpy(), "X_public": X_public})
    assert rows.schema == X.schema and np.array_equal(clf.predict(rows), clf.predict(X))


@pytest.mark.slow
def test_truth_values_other_than_0_and_1_are_refused():
    frame, y = TABLES["whole numbers and truth values"], data()[1]
    clf = PATEClassifier(n_teachers=5, epsilon=None, aggregator=PluralityVote(), classes=[0, 1])
    clf.fit(frame[:200], y[:200], X_public=frame[200:])
    rows = frame.to_numpy(float)
    rows[0, -1] = 0.5
    with (
        pytest.warns(UserWarning, match=NO_NAMES),
        pytest.raises(ValueError, match="fitted on a DataFrame, so it requires"),
    ):
        clf.predict(rows)


# --- pipelines ---------------------------------------------------------------------------------


def test_pipeline_preprocesses_on_public_rows(routing_on):
    X, y, X_public = data(scale=np.array([1.0, 1000.0, 1e-3]))
    steps = [("scale", FitOnPublic(StandardScaler())), ("pate", model(random_state=0))]
    pipe = Pipeline(steps, transform_input=["X_public"]).fit(X, y, X_public=X_public)
    scaler = pipe.named_steps["scale"].transformer_
    assert np.array_equal(scaler.mean_, X_public.mean(axis=0))  # nothing of X
    # the same as the scaler, fitted on public rows, inside teachers and student
    frozen = FrozenEstimator(StandardScaler().fit(X_public))
    of_frozen = make_pipeline(frozen, GaussianNB())
    inside = clone(model(random_state=0)).set_params(base_estimator=of_frozen)
    inside.fit(X, y, X_public)
    assert np.array_equal(pipe[-1].public_labels_, inside.public_labels_)
    assert np.allclose(pipe.predict_proba(X), inside.predict_proba(X))


# --- FitOnPublic -------------------------------------------------------------------------------


class OnItself(FitOnPublic):
    """scikit-learn's checks call fit(X): here those rows are the public ones."""

    def fit(self, X, y=None, X_public=None):
        return super().fit(X, y, X if X_public is None else X_public)


@pytest.mark.filterwarnings(f"ignore::{PrivacyLeakWarning.__module__}.PrivacyLeakWarning")
@parametrize_with_checks([OnItself(StandardScaler())])
def test_fit_on_public_passes_sklearn_checks(estimator, check):
    check(estimator)


def test_fit_on_public_delegates_to_its_transformer():
    X, _, X_public = data()
    frame = pd.DataFrame(X_public, columns=["a", "b", "c"])
    fitted = FitOnPublic(StandardScaler()).fit(X, X_public=PublicData(frame))
    assert fitted.get_feature_names_out().tolist() == ["a", "b", "c"]
    assert fitted.feature_names_in_.tolist() == ["a", "b", "c"]
    assert np.allclose(fitted.inverse_transform(fitted.transform(frame)), frame)
    assert not hasattr(FitOnPublic(OneHotEncoder()).fit(X, X_public=X_public), "no_such_thing")
    assert not hasattr(FitOnPublic(make_pipeline(PolynomialFeatures())), "inverse_transform")


# --- private rows as public ones -----------------------------------------------------------------


def as_polars(X):
    return pytest.importorskip("polars", reason="needs polars").DataFrame(X, schema=list("abc"))


def as_frame(X):
    frame = pd.DataFrame(X, columns=list("abc"))
    frame["kind"] = pd.Categorical(["x", "y"] * (len(X) // 2))
    return frame


def warnings_of_public_rows(X, X_public):
    """Return the first words of each warning of the check of public rows."""
    with warnings.catch_warnings(record=True, action="always") as caught:
        warn_if_private(X_public, X)
    assert all(w.category is PrivacyLeakWarning for w in caught)
    return [str(w.message).partition(":")[0] for w in caught]


SLICES = {
    "some": lambda X: X[:50],
    "backwards": lambda X: X[::-1],
    "wrapped": lambda X: PublicData(X[100:]),
}


@pytest.mark.parametrize("make", [np.asarray, as_frame])
@pytest.mark.parametrize("which", SLICES)
def test_slices_of_private_rows_are_warned_of(which, make):
    X = make(data()[0])
    warning = "X_public shares memory with X (is it a slice of X?)"
    assert warnings_of_public_rows(X, SLICES[which](X)) == [warning]


@pytest.mark.parametrize("make", [np.asarray, as_frame, as_polars])
def test_memory_warning_depends_on_objects_and_not_on_values(make):
    rows = data()[0]
    table = make(rows)
    # Equal values elsewhere, and other rows of one table, even interlocked: no word
    assert warnings_of_public_rows(table, make(rows.copy())) == []
    assert warnings_of_public_rows(table[:100], table[100:]) == []
    assert warnings_of_public_rows(table[::2], table[1::2]) == []
    # Unlike values in one place: a word
    zeros = np.zeros((100, 3))
    assert len(warnings_of_public_rows(zeros, zeros[:50])) == 1


@pytest.mark.slow
@pytest.mark.parametrize("wrap", [np.asarray, PublicData], ids=["bare", "PublicData"])
def test_fits_searches_and_transformers_warn_of_slices(wrap):
    X, y, _ = data()
    rows = wrap(X[::-1])
    warned = partial(pytest.warns, PrivacyLeakWarning, match="X_public shares memory")
    with warned(), pytest.raises(BadPlanError, match="X_public is X or a part of it"):
        model().fit(X, y, X_public=rows)
    with warned():
        FitOnPublic(StandardScaler()).fit(X, y, X_public=rows)
    clf = PATEClassifier(GaussianNB(), n_teachers=20, n_queries=10, classes=[0, 1])
    search = PrivateGridSearchCV(clf, {"n_teachers": [20]}, epsilon=50.0, n_trials=2)
    with warned():
        search.fit(X, y, X_public=rows)


def test_overlap_finds_copies_of_private_rows_of_any_form():
    X, y, X_public = data()
    mixed = np.vstack([X_public[:4], X[[7]], X_public[4:], X[[3]]])
    for make in (np.asarray, sparse.csr_array, PublicData, pd.DataFrame):
        found = overlap(X, y, make(mixed))
        assert found.public_rows.tolist() == [4, len(mixed) - 1] and found.label_columns == []
    assert overlap(X, y, X_public).public_rows.size == 0
    images = X.reshape(-1, 3, 1)
    assert overlap(images, None, images[5:9].copy()).public_rows.tolist() == [0, 1, 2, 3]


def test_overlap_finds_missing_values_and_renamed_labels():
    private = pd.DataFrame({"age": [30, 40, None, 30], "copy": ["no", "yes", "yes", "no"]})
    private = private.assign(kind=pd.Categorical(["a", "b", None, "a"]), constant=1)
    public = private.iloc[[2, 0]].astype({"kind": object, "constant": float})
    public.iloc[1, 0] = 31
    found = overlap(private, [0, 1, 1, 0], public)
    assert found.public_rows.tolist() == [0] and found.label_columns == ["copy"]
    with pytest.raises(ValueError, match="same number of columns; got 4 and 2"):
        overlap(private, None, public[["age", "kind"]])


def test_overlap_refuses_pickle_and_copy():
    X, y, _ = data()
    found = overlap(X, y, X[[7, 123]])
    assert repr(found) == "Overlap(private)"
    for keep in (pickle.dumps, copy.copy, copy.deepcopy):
        pytest.raises(TypeError, keep, found).match("private: it cannot be pickled or copied")


# --- columns of public rows that no model can use -------------------------------------------------


def columns_of(n_rows):
    """Columns of many kinds; none of them is reported."""
    rng = np.random.default_rng(3)
    return {
        "size": rng.normal(size=n_rows),
        "age": rng.integers(18, 90, n_rows),
        "weight": rng.integers(10_000, 900_000, n_rows) // 7,
        "job": rng.choice(["clerk", "farmer", "spy"], n_rows),
        "some": np.where(rng.random(n_rows) < 0.3, "yes", None),
    }


USELESS = {
    "index": (np.arange(2000) + 7, "a different value in each public row"),
    "shuffled": (np.random.default_rng(0).permutation(4000)[:2000], "a different value in each"),
    "sparse": (np.random.default_rng(0).integers(10**12, size=2000), "a different value in each"),
    "name": ([f"person {k}" for k in range(2000)], "a different value in each public row"),
    "note": ([f"note {k // 2 % 900}" for k in range(1700)] + ["none"] * 300, None),
    "street": ([f"street {k // 2 % 900}" for k in range(1800)] * 1 + ["x"] * 200, None),
    "code": ([f"code {k % 1200}" for k in range(2000)], "hold text with more values"),
    "unit": (["cm"] * 2000, "one value in all public rows"),
}


@pytest.mark.parametrize("name", USELESS)
def test_useless_columns_are_named_and_others_are_not(name):
    values, expected = USELESS[name]
    rows = pd.DataFrame(columns_of(2000) | {name: values})
    texts = useless_columns(rows)
    if expected is None:
        assert texts == []
    else:
        (text,) = texts
        assert f"columns ['{name}'] " in text and expected in text


def test_useless_columns_of_arrays_are_distinct_whole_numbers():
    rng = np.random.default_rng(0)
    assert useless_columns(rng.normal(size=(2000, 3))) == []
    whole = np.column_stack([rng.integers(9, size=500), np.zeros(500, int), 100 + np.arange(500)])
    (text,) = useless_columns(whole)
    assert text.startswith("columns [2] have a different value")
    assert useless_columns(np.zeros((500, 2, 2), int)) == []


@pytest.mark.parametrize("load", [load_digits, load_breast_cancer, load_iris])
def test_useless_columns_are_not_found_in_measurements(load):
    assert useless_columns(load().data) == []


@pytest.mark.parametrize("dtype", [float, object, "category"])
def test_all_rows_are_equal_only_if_every_column_has_one_value(dtype):
    rows = pd.DataFrame({"a": [1.0, 1.0] * 30, "b": [np.nan, np.nan] * 30}).astype(dtype)
    assert are_all_equal(rows) and are_all_equal(rows.to_numpy()) and not are_all_equal(rows[:1])
    rows = rows.astype(object)
    rows.iloc[59, 1] = 0.0  # beyond the first rows, which are compared first
    assert not are_all_equal(rows.astype(dtype))


def test_plan_warns_of_useless_columns_by_public_rows_only():
    public = pd.DataFrame(columns_of(300) | {"id": np.arange(300)})
    private = pd.DataFrame(columns_of(900) | {"id": np.zeros(900, int)})
    clf = PATEClassifier(classes=[0, 1], epsilon=4.0)
    y = np.arange(900) % 2
    plan = clf.plan(private, y, X_public=public)
    assert any("columns ['id'] have a different value" in text for text in plan.advice)
    clf.set_params(schema={"id": [f"c{k}" for k in range(1500)]})
    named = pd.DataFrame({"id": ["c1", "c2"] * 450})
    plan = clf.plan(named, y)
    assert any("columns ['id'] declare more than 1000 categories" in t for t in plan.advice)


@pytest.mark.parametrize("n_categories", [1000, 1001])
def test_plan_does_not_count_the_bin_for_gaps_as_a_category(n_categories):
    schema = Schema({"id": [f"c{k}" for k in range(n_categories)]}, missing=["id"])
    named = pd.DataFrame({"id": ["c1", "c2"] * 450})
    plan = PATEClassifier(classes=[0, 1], epsilon=4.0, schema=schema).plan(named, [0, 1] * 450)
    found = [text for text in plan.advice if "declare more than 1000 categories" in text]
    assert len(found) == (n_categories > 1000)


def test_dates_and_numbers_held_as_objects_are_reported():
    days = pd.Series(np.arange(100) % 50)
    rows = pd.DataFrame(
        {
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(days, unit="D"),
            "amount": (days / 4).astype(object),
            "text": pd.Series(["a", "b"] * 50, dtype=object),
        }
    )
    dates, numbers = useless_columns(rows)
    assert "['day'] hold dates" in dates and "public date" in dates
    assert "['amount'] hold numbers in a column of objects" in numbers
    assert "X.astype({column: float})" in numbers
