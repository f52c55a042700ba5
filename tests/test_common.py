"""scikit-learn's own checks: with public rows added, and with `fit(X, y)` alone."""

import copy

import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_pate import PATEClassifier, PATERegressor
from sklearn_pate.aggregators import PluralityVote, SoftVote
from sklearn_pate.exceptions import PrivacyLeakWarning
from sklearn_pate.methods import ReverseNeighbors
from sklearn_pate.synthesis import MarginalSynthesizer

pytestmark = [
    pytest.mark.filterwarnings(f"ignore::{PrivacyLeakWarning.__module__}.PrivacyLeakWarning"),
    # Plurality labels of a check's few rows may all be of one class
    pytest.mark.filterwarnings("ignore:all .* released labels are of one class"),
    # As may the records that they draw rows of
    pytest.mark.filterwarnings("ignore:the released counts show records of one class alone"),
    # scikit-learn's checks make the estimators inside warn of these
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning"),
]


class _SelfPublic:
    """The checks call fit(X, y); here the private rows stand in for the missing public ones."""

    def fit(self, X, y, X_public=None, *, groups=None, sample_weight=None):
        if X_public is None:
            X_public = copy.deepcopy(X)
        return super().fit(X, y, X_public, groups=groups, sample_weight=sample_weight)


class SelfPublic(_SelfPublic, PATEClassifier):
    pass


class NumbersSelfPublic(_SelfPublic, PATERegressor):
    pass


WEIGHT = (
    "a record of weight 0 is still a record: removing it changes the partition by position, "
    "and so which teacher sees which records"
)
EQUIVALENCE = "check_sample_weight_equivalence_on_{}_data"
EXPECTED = {EQUIVALENCE.format(kind): WEIGHT for kind in ("dense", "sparse")}


GIVEN = {"n_teachers": 3, "aggregator": PluralityVote(), "epsilon": None, "random_state": 0}
OF_NUMBERS = GIVEN | {"bounds": (-500, 500), "aggregator": SoftVote(1e-3)}


@parametrize_with_checks(
    [SelfPublic(LogisticRegression(), **GIVEN)],
    expected_failed_checks=lambda estimator: EXPECTED,
)
def test_classifier_passes_sklearn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [NumbersSelfPublic(Ridge(), **OF_NUMBERS)],
    expected_failed_checks=lambda estimator: EXPECTED,
)
def test_regressor_passes_sklearn_checks(estimator, check):
    check(estimator)


# --- without public rows -------------------------------------------------------------------------


WEIGHTS = (
    "a record of weight 0 is still a record, which the number of cells depends on, and one of "
    "weight 2 counts as one in the histograms"
)
TOO_LARGE = "its weights are above 1: they are refused, as they would be cut to 1"
EXPECTED_OF_DRAWN = {
    "check_sample_weight_equivalence_on_dense_data": WEIGHTS,
    "check_sample_weights_list": TOO_LARGE,
    "check_sample_weights_not_overwritten": TOO_LARGE,
    "check_all_zero_sample_weights_error": "weights are private: an error would reveal them",
    "check_dtype_object": (
        "the dtype of an array of objects does not show its contents, and a search for numbers in "
        "it would reveal whether all records have them"
    ),
}


@pytest.mark.slow
@parametrize_with_checks(
    [
        PATEClassifier(
            method=ReverseNeighbors(n_cells=10),
            synthesizer=MarginalSynthesizer((-10, 10), n_rows=100),
            student=DecisionTreeClassifier(),
            epsilon=1000.0,
            random_state=0,
        )
    ],
    expected_failed_checks=lambda estimator: EXPECTED_OF_DRAWN,
)
def test_estimators_pass_sklearn_checks_without_public_rows(estimator, check):
    check(estimator)
