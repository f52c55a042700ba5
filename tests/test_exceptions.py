"""A warning points to the user's line, however many calls of ours lie between."""

import linecache
import pickle

import joblib
import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_pate import PATEClassifier
from sklearn_pate.accountant import plan_queries
from sklearn_pate.aggregators import ConfidentGNMax, GNMax
from sklearn_pate.exceptions import BadPlanError, PrivacyLeakWarning
from sklearn_pate.ledger import PrivacyLedger
from sklearn_pate.model_selection import PrivateGridSearchCV
from sklearn_pate.rdp import rdp_to_epsilon
from sklearn_pate.teachers import collect_votes

X = np.random.default_rng(0).normal(size=(300, 2))
Y = (X[:, 0] > 0).astype(int)
PRIVATE = (X[:200], Y[:200])
PUBLIC = X[200:]


def classifier(**params):
    return PATEClassifier(GaussianNB(), **{"n_teachers": 20, "epsilon": 10.0, **params})


def check_that_it_points_here(caught, call):
    """The one warning that was caught names the line of this file that has the call."""
    (warning,) = caught
    assert warning.filename == __file__
    assert call in linecache.getline(warning.filename, warning.lineno)


def test_of_private_labels_in_fit():
    with pytest.warns(PrivacyLeakWarning, match="classes_ is read") as caught:
        classifier().fit(*PRIVATE, PUBLIC)
    check_that_it_points_here(caught, "classifier().fit(")


def test_of_private_labels_in_a_pipeline():
    pipeline = make_pipeline(StandardScaler(), classifier())
    with pytest.warns(PrivacyLeakWarning, match="classes_ is read") as caught:
        pipeline.fit(*PRIVATE, pateclassifier__X_public=PUBLIC)
    check_that_it_points_here(caught, "pipeline.fit(")


def test_of_private_labels_in_poll():
    with pytest.warns(PrivacyLeakWarning, match="classes_ is read") as caught:
        classifier().poll(*PRIVATE, PUBLIC)
    check_that_it_points_here(caught, "classifier().poll(")


def test_of_private_rows_in_place_of_public_ones():
    with pytest.warns(PrivacyLeakWarning, match="X_public is X") as caught:
        classifier(classes=[0, 1]).plan(X, Y, X)
    check_that_it_points_here(caught, ".plan(X, Y, X)")
    with (
        pytest.warns(PrivacyLeakWarning, match="X_public is X") as caught,
        pytest.raises(BadPlanError, match="X_public is X or a part of it"),
    ):
        classifier(classes=[0, 1]).fit(X, Y, X)
    check_that_it_points_here(caught, ".fit(X, Y, X)")


def test_of_a_large_delta_in_fit():
    clf = classifier(classes=[0, 1], delta=0.01)
    (advice,) = clf.plan(*PRIVATE, PUBLIC).advice
    with pytest.warns(UserWarning, match="not below one over the number of records") as caught:
        clf.fit(*PRIVATE, PUBLIC)
    check_that_it_points_here(caught, "clf.fit(")
    assert [str(warning.message) for warning in caught] == [advice]


def test_of_a_large_delta_in_fit_votes():
    clf = classifier(classes=[0, 1], delta=0.1)
    votes = np.tile([20, 0], (len(PUBLIC), 1))
    with pytest.warns(UserWarning, match="not below one over the number of teachers") as caught:
        clf.fit_votes(votes, PUBLIC)
    check_that_it_points_here(caught, "clf.fit_votes(")


def test_of_a_large_delta_in_a_fit_with_a_ledger(tmp_path):
    ledger = PrivacyLedger(tmp_path / "ledger.sqlite", epsilon=30.0, delta=0.01)
    with pytest.warns(UserWarning, match="not below one over the number of records") as caught:
        classifier(classes=[0, 1], delta=0.01, ledger=ledger).fit(*PRIVATE, PUBLIC)
    check_that_it_points_here(caught, "ledger=ledger).fit(")


def test_of_a_large_delta_in_a_search():
    grid = {"student__var_smoothing": [1e-9, 1e-3]}
    clf = classifier(classes=[0, 1], student=GaussianNB(), n_teachers=60)
    search = PrivateGridSearchCV(clf, grid, epsilon=9.0, delta=0.01, n_trials=2)
    with pytest.warns(UserWarning, match="not below one over the number of records") as caught:
        search.fit(*PRIVATE, PUBLIC)
    check_that_it_points_here(caught, "search.fit(")


def test_of_a_budget_that_pays_for_less():
    public = {"n_public": 1000, "n_teachers": 250, "n_classes": 10}
    with pytest.warns(UserWarning, match="pays for 75 of the 500") as caught:
        plan_queries(GNMax(40.0), 500, **public, epsilon=1.0, delta=1e-5)
    check_that_it_points_here(caught, "plan_queries(")


def test_of_noise_that_drowns_every_margin():
    clf = classifier(classes=[0, 1], aggregator=GNMax(40.0), n_queries=20)
    (advice,) = clf.plan(*PRIVATE, PUBLIC).advice
    clf.set_params(on_bad_plan="warn")
    with pytest.warns(UserWarning, match="drowns the votes") as caught:
        clf.fit(*PRIVATE, PUBLIC)
    check_that_it_points_here(caught, "clf.fit(")
    assert [str(warning.message) for warning in caught] == [advice]


def test_a_plan_that_is_refused_comes_with_its_error():
    clf = classifier(classes=[0, 1], aggregator=GNMax(400.0), n_queries=20)
    with pytest.raises(BadPlanError, match="this cannot work: .*drowns the votes") as caught:
        clf.fit(*PRIVATE, PUBLIC)
    error = caught.value
    assert isinstance(error, ValueError) and not hasattr(clf, "privacy_spent_")
    assert error.plan.obstacles == clf.plan(*PRIVATE, PUBLIC).obstacles != ()
    assert str(error) == (
        f"this cannot work: {error.plan.obstacles[0]}. To try all the same, set "
        "on_bad_plan='warn'. Nothing was spent"
    )
    restored = pickle.loads(pickle.dumps(error))
    assert type(restored) is BadPlanError and str(restored) == str(error)
    assert str(restored.plan) == str(error.plan) and restored.plan.obstacles == error.plan.obstacles


def test_of_a_budget_that_stopped_the_queries():
    aggregator = ConfidentGNMax(threshold=0.6, sigma1=10.0, sigma2=6.0)
    clf = classifier(classes=[0, 1], aggregator=aggregator, n_queries=100, epsilon=5.0)
    with pytest.warns(UserWarning, match="only those were asked") as caught:
        clf.fit(*PRIVATE, PUBLIC)
    check_that_it_points_here(caught, "clf.fit(")


def test_of_threads_that_take_turns():
    sizes = {"n_teachers": 10, "n_classes": 2}
    dealt = np.arange(200) % 10
    with (
        joblib.parallel_config(backend="threading"),
        pytest.warns(UserWarning, match="take turns") as caught,
    ):
        collect_votes([GaussianNB()], *PRIVATE, PUBLIC, teacher_indices=dealt, **sizes, n_jobs=2)
    check_that_it_points_here(caught, "collect_votes(")


def test_of_a_grid_of_orders_that_is_too_narrow():
    with pytest.warns(UserWarning, match="edge of the grid") as caught:
        rdp_to_epsilon([0.1, 0.2], 1e-5, [2.0, 4.0])
    check_that_it_points_here(caught, "rdp_to_epsilon(")
