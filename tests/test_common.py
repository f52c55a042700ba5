"""scikit-learn's own checks, on PATEClassifier with public rows added."""

import copy

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_pate import PATEClassifier
from sklearn_pate.aggregators import ExponentialNMax, GNMax, LNMax, PluralityVote
from sklearn_pate.exceptions import PrivacyLeakWarning

pytestmark = [
    pytest.mark.filterwarnings(f"ignore::{PrivacyLeakWarning.__module__}.PrivacyLeakWarning"),
    # Plurality labels of a check's few rows may all be of one class
    pytest.mark.filterwarnings("ignore:.* labels that were released are of one class"),
    # scikit-learn's checks make the estimators inside warn of these
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning"),
]


class SelfPublic(PATEClassifier):
    """The checks call fit(X, y); here the private rows stand in for the missing public ones."""

    def fit(self, X, y, X_public=None, *, groups=None, sample_weight=None):
        if X_public is None:
            X_public = copy.deepcopy(X)
        return super().fit(X, y, X_public, groups=groups, sample_weight=sample_weight)


def expected_failures(estimator):
    weight = (
        "a record of weight 0 is still a record: removing it changes the partition by position, "
        "and so which teacher sees which records"
    )
    reasons = {
        "check_sample_weight_equivalence_on_dense_data": weight,
        "check_sample_weight_equivalence_on_sparse_data": weight,
    }
    return reasons


def without_noise(base_estimator):
    return SelfPublic(
        base_estimator, n_teachers=3, aggregator=PluralityVote(), epsilon=None, random_state=0
    )


@parametrize_with_checks(
    [without_noise(DecisionTreeClassifier()), without_noise(LogisticRegression())],
    expected_failed_checks=expected_failures,
)
def test_sklearn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "aggregator", [GNMax(), LNMax(noise="discrete"), ExponentialNMax(), PluralityVote()]
)
def test_aggregators_follow_parameter_conventions(aggregator):
    params = aggregator.get_params()
    assert type(aggregator)(**params).get_params() == params
