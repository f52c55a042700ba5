"""scikit-learn's checks and tools, on PATEClassifier as it is, with `fit(X, y)` alone."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
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


@pytest.mark.slow
@pytest.mark.filterwarnings(f"ignore::{PrivacyLeakWarning.__module__}.PrivacyLeakWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(
    [
        # As scikit-learn's check of class_weight has its own trees: else they fit every label
        draws_rows(DecisionTreeClassifier(min_weight_fraction_leaf=0.01), n_teachers=3),
        draws_rows(ReverseNeighbors(n_cells=20)),
    ],
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
ARRAY = FRAME[["age", "income"]].to_numpy()

#: For arrays, and for frames
DRAWS = (
    MarginalSynthesizer({0: (18, 80), 1: (0, 100)}, missing=[], n_rows=400),
    MarginalSynthesizer({"age": (18, 80), "income": (0, 100)}, missing=[], n_rows=400),
)
SCALERS = (StandardScaler(), make_pipeline(FunctionTransformer(pd.get_dummies), StandardScaler()))
GIVEN = {"epsilon": 8.0, "random_state": 0}


def ballots(of_frame=False, classes=("no", "yes")):
    """One ballot a record, with noise that leaves something to learn."""
    model = ReverseNeighbors(SCALERS[of_frame], n_cells=30)
    return PATEClassifier(model, classes=classes, **GIVEN, synthesizer=clone(DRAWS[of_frame]))


def teachers(of_frame=False, classes=("no", "yes")):
    """Teachers vote, with a student like them."""
    model = make_pipeline(SCALERS[of_frame], LogisticRegression())
    given = {"synthesizer": clone(DRAWS[of_frame]), "n_teachers": 50, **GIVEN}
    return PATEClassifier(model, classes=classes, **given)


@pytest.mark.slow
@pytest.mark.parametrize(("X", "of_frame"), [(FRAME, True), (ARRAY, False)])
def test_cross_validation(X, of_frame):
    assert cross_val_score(ballots(of_frame), X, Y, cv=2).mean() > 0.7
    found = cross_validate(teachers(of_frame), X, Y, cv=2, scoring="roc_auc", return_estimator=True)
    assert found["test_score"].min() > 0.75
    first, second = (clf.privacy_spent_ for clf in found["estimator"])
    assert first.n_synthetic == second.n_synthetic == 400 and 7.9 < first.epsilon <= 8.0


@pytest.mark.slow
def test_searches():
    clf = ballots()
    grid = {"synthesizer__n_rows": [50, 300], "base_estimator__n_cells": [30]}
    found = GridSearchCV(clf, grid, cv=2).fit(ARRAY, Y)
    n_rows = {params["synthesizer__n_rows"] for params in found.cv_results_["params"]}
    assert n_rows == {50, 300}
    assert len(found.best_estimator_.X_synthetic_) == found.best_params_["synthesizer__n_rows"]
    assert clf.synthesizer.n_rows == 400 and not hasattr(clf.synthesizer, "schema_")
    assert found.score(ARRAY, Y) > 0.6


def test_sparse_rows_are_refused_and_the_tag_says_so():
    clf = ballots()
    assert not get_tags(clf).input_tags.sparse
    trees = PATEClassifier(DecisionTreeClassifier())
    of_tree = get_tags(DecisionTreeClassifier()).input_tags.sparse  # scikit-learn 1.6.0 says no
    assert get_tags(trees).input_tags.sparse == of_tree
    assert not get_tags(trees.set_params(synthesizer=DRAWS[0])).input_tags.sparse
    pytest.raises(ValueError, clf.fit, sparse.csr_array(ARRAY), Y).match("X is sparse")
