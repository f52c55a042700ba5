"""scikit-learn's own checks, on both estimators with public rows added."""

import copy

import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_pate import PATEClassifier, PATERegressor
from sklearn_pate.aggregators import PluralityVote, SoftVote
from sklearn_pate.exceptions import PrivacyLeakWarning

pytestmark = [
    pytest.mark.filterwarnings(f"ignore::{PrivacyLeakWarning.__module__}.PrivacyLeakWarning"),
    # Plurality labels of a check's few rows may all be of one class
    pytest.mark.filterwarnings("ignore:all .* released labels are of one class"),
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
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": WEIGHT,
    "check_sample_weight_equivalence_on_sparse_data": WEIGHT,
}


GIVEN = {"n_teachers": 3, "aggregator": PluralityVote(), "epsilon": None, "random_state": 0}


@parametrize_with_checks(
    [
        SelfPublic(LogisticRegression(), **GIVEN),
        NumbersSelfPublic(Ridge(), bounds=(-500, 500), **GIVEN | {"aggregator": SoftVote(1e-3)}),
    ],
    expected_failed_checks=lambda estimator: EXPECTED,
)
def test_sklearn_checks(estimator, check):
    check(estimator)
