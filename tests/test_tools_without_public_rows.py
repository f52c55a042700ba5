"""scikit-learn's checks and tools, on PATEClassifier as it is, with `fit(X, y)` alone."""

import pickle
from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    RandomizedSearchCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_pate import PATEClassifier
from sklearn_pate.exceptions import PrivacyLeakWarning
from sklearn_pate.neighbors import ReverseNeighbors
from sklearn_pate.synthesis import MarginalSynthesizer

# --- scikit-learn's own checks ------------------------------------------------------------------


def expected_failures(estimator):
    weights = (
        "a record of weight 0 is still a record, which the number of teachers and the partition "
        "by position depend on, and one of weight 2 counts as one in the histograms"
    )
    too_large = "its weights are above 1: they are refused, as they would be cut to 1"
    reasons = {
        "check_sample_weight_equivalence_on_dense_data": weights,
        "check_sample_weights_list": too_large,
        "check_sample_weights_not_overwritten": too_large,
        "check_dtype_object": (
            "what an array of objects holds is not said by its dtype, and to look for numbers in "
            "it would tell whether all records have them"
        ),
    }
    if isinstance(estimator.base_estimator, ReverseNeighbors):
        reasons["check_all_zero_sample_weights_error"] = (
            "weights are private: an error would tell of them"
        )
    return reasons


def draws_rows(base_estimator, **params):
    params = {"epsilon": 1000.0, "random_state": 0} | params
    return PATEClassifier(base_estimator, synthesizer=MarginalSynthesizer(n_rows=300), **params)


@pytest.mark.filterwarnings(f"ignore::{PrivacyLeakWarning.__module__}.PrivacyLeakWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(
    [draws_rows(DecisionTreeClassifier(), n_teachers=3), draws_rows(ReverseNeighbors(n_cells=20))],
    expected_failed_checks=expected_failures,
)
def test_sklearn_checks(estimator, check):
    check(estimator)


# --- tools ---------------------------------------------------------------------------------------

RNG = np.random.default_rng(0)
N_RECORDS = 1000
FRAME = pd.DataFrame(
    {
        "age": RNG.integers(18, 80, N_RECORDS),
        "income": RNG.uniform(0, 100, N_RECORDS),
        "job": pd.Categorical(RNG.choice(["clerk", "nurse", "none"], N_RECORDS)),
    }
)
IS_OLD = FRAME["age"] + FRAME["income"] / 2 + 20 * (FRAME["job"] == "nurse") > 75
Y = np.where(IS_OLD, "yes", "no")
CODES = IS_OLD.to_numpy().astype(int)  # some tools make codes of labels before they fit
ARRAY = FRAME[["age", "income"]].to_numpy()

OF_FRAME = MarginalSynthesizer({"age": (18, 80), "income": (0, 100)}, missing=[], n_rows=400)
OF_ARRAY = MarginalSynthesizer({0: (18, 80), 1: (0, 100)}, missing=[], n_rows=400)
ONE_HOT = FunctionTransformer(pd.get_dummies)

TABLES = pytest.mark.parametrize(
    ("X", "synthesizer"), [(FRAME, OF_FRAME), (ARRAY, OF_ARRAY)], ids=["frame", "array"]
)


def scaler_of(X):
    return make_pipeline(ONE_HOT, StandardScaler()) if X is FRAME else StandardScaler()


def ballots(X, synthesizer, classes=("no", "yes")):
    """One ballot a record, with noise that leaves something to learn."""
    electorate = ReverseNeighbors(scaler_of(X), n_cells=30)
    given = {"synthesizer": clone(synthesizer), "epsilon": 8.0, "classes": classes}
    return PATEClassifier(electorate, **given)


def teachers(X, synthesizer, classes=("no", "yes")):
    """Teachers vote, with a student like them."""
    model = make_pipeline(scaler_of(X), LogisticRegression())
    given = {"synthesizer": clone(synthesizer), "epsilon": 8.0, "classes": classes}
    return PATEClassifier(model, n_teachers=50, **given)


@TABLES
def test_cross_validation(X, synthesizer):
    scores = cross_val_score(ballots(X, synthesizer), X, Y, cv=3)
    assert scores.mean() > 0.7
    found = cross_validate(
        teachers(X, synthesizer), X, Y, cv=2, scoring="roc_auc", return_estimator=True
    )
    assert found["test_score"].min() > 0.75
    first, second = (clf.privacy_spent_ for clf in found["estimator"])
    assert first.n_synthetic == second.n_synthetic == 400
    assert 7.9 < first.epsilon <= 8.0


@TABLES
def test_predictions_of_cross_validation(X, synthesizer):
    labels = cross_val_predict(ballots(X, synthesizer), X, Y, cv=2)
    assert (labels == Y).mean() > 0.7
    clf = ballots(X, synthesizer, classes=(0, 1))
    proba = cross_val_predict(clf, X, CODES, cv=2, method="predict_proba")
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert (proba.argmax(axis=1) == CODES).mean() > 0.7


@TABLES
@pytest.mark.parametrize("search", [GridSearchCV, RandomizedSearchCV])
def test_searches(X, synthesizer, search):
    grid = {"synthesizer__n_rows": [50, 300], "base_estimator__n_cells": [30]}
    given = {"n_iter": 2} if search is RandomizedSearchCV else {}
    found = search(ballots(X, synthesizer), grid, cv=2, **given).fit(X, Y)
    n_rows = {params["synthesizer__n_rows"] for params in found.cv_results_["params"]}
    assert n_rows == {50, 300}
    best = found.best_estimator_
    assert len(best.X_synthetic_) == found.best_params_["synthesizer__n_rows"]
    assert synthesizer.n_rows == 400 and not hasattr(synthesizer, "schema_")
    assert found.score(X, Y) > 0.6


@TABLES
def test_pipelines(X, synthesizer):
    pipe = Pipeline([("same", FunctionTransformer()), ("clf", teachers(X, synthesizer))])
    assert pipe.fit(X, Y).score(X, Y) > 0.7
    assert type(pipe[-1].X_synthetic_) is type(X)
    pipe.set_params(clf__synthesizer__n_rows=30).fit(X, Y)
    assert len(pipe[-1].X_synthetic_) == 30


@TABLES
@pytest.mark.parametrize("combine", [StackingClassifier, VotingClassifier])
def test_ensembles(X, synthesizer, combine):
    given = (X, synthesizer, (0, 1))
    parts = [("ballots", ballots(*given)), ("teachers", teachers(*given))]
    options = {"cv": 2} if combine is StackingClassifier else {"voting": "soft"}
    ensemble = combine(parts, **options).fit(X, CODES)
    assert ensemble.score(X, CODES) > 0.7
    drawn = [part.X_synthetic_ for part in ensemble.estimators_]
    assert [len(rows) for rows in drawn] == [400, 400]


@TABLES
def test_calibration(X, synthesizer):
    calibrated = CalibratedClassifierCV(ballots(X, synthesizer), cv=2).fit(X, Y)
    assert calibrated.score(X, Y) > 0.7
    assert len(calibrated.calibrated_classifiers_) == 2


def pickled(clf):
    return pickle.loads(pickle.dumps(clf))


@TABLES
@pytest.mark.parametrize("copy", [clone, deepcopy, pickled])
def test_copies(X, synthesizer, copy):
    clf = ballots(X, synthesizer).set_params(random_state=0)
    first, second = (copied.fit(X, Y) for copied in (copy(clf), copy(clf)))
    np.testing.assert_array_equal(first.predict(X), second.predict(X))
    again = copy(first)
    if copy is clone:
        assert not hasattr(again, "X_synthetic_")
    else:
        np.testing.assert_array_equal(again.predict_proba(X), first.predict_proba(X))
        pd.testing.assert_frame_equal(
            pd.DataFrame(again.X_synthetic_), pd.DataFrame(first.X_synthetic_)
        )


def test_rows_in_lists_and_in_other_array_likes():
    class Rows:
        def __array__(self, dtype=None, copy=None):
            return np.array(ARRAY, dtype=dtype)

    clf = ballots(ARRAY, OF_ARRAY).set_params(random_state=0)
    with pytest.warns(PrivacyLeakWarning, match="the dtype of X"):
        of_list = clf.fit(ARRAY.tolist(), Y.tolist()).predict(ARRAY)
    with pytest.warns(PrivacyLeakWarning, match="the dtype of X"):
        of_rows = clf.fit(Rows(), Y).predict(ARRAY)
    np.testing.assert_array_equal(of_list, of_rows)


def test_sparse_rows_are_refused_and_the_tag_says_so():
    clf = ballots(ARRAY, OF_ARRAY)
    assert not get_tags(clf).input_tags.sparse
    trees = PATEClassifier(DecisionTreeClassifier())
    assert get_tags(trees).input_tags.sparse
    assert not get_tags(trees.set_params(synthesizer=OF_ARRAY)).input_tags.sparse
    with pytest.raises(ValueError, match="X is sparse"):
        clf.fit(sparse.csr_array(ARRAY), Y)
