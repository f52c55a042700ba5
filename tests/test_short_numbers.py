"""numpy's short numbers and fractions as parameters: costs equal costs of the same float or int.

uint8 overflows at 256, float16 and float32 round computed numbers.
"""

import math
import warnings
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from conftest import cases
from sklearn.naive_bayes import GaussianNB

from sklearn_pate import PATEClassifier, aggregators
from sklearn_pate.accounting import plan_queries, plan_table
from sklearn_pate.accounting.budget import calibrated
from sklearn_pate.exceptions import BudgetExceededError
from sklearn_pate.ledger import PrivacyLedger
from sklearn_pate.methods import ReverseNeighbors
from sklearn_pate.model_selection import PrivateGridSearchCV
from sklearn_pate.rdp import (
    DEFAULT_ORDERS,
    Contribution,
    Cost,
    Event,
    TrialCount,
    gnmax_sigma,
)

pytestmark = pytest.mark.filterwarnings(
    "ignore:overflow encountered in cast"  # scikit-learn compares float16 with its bounds
)

SHORT = [np.uint8, np.float16]

VOTES = np.array([[100, 90, 60], [250, 0, 0]])
TWO = Contribution.of_counts(2)


def python(number):
    return number.item() if isinstance(number, np.generic) else number


def short_and_long(kind, params):
    """The same parameters as short numbers, and as Python's; other parameters stay."""
    is_float = issubclass(kind, np.floating)
    short = {
        name: kind(value) if isinstance(value, float) == is_float else value
        for name, value in params.items()
    }
    return short, {name: python(value) for name, value in short.items()}


def cost_of(mechanism):
    cost = mechanism.costs(n_teachers=250, n_classes=10)(30)
    return [cost.epsilon(1e-5), cost.delta, cost.pure, cost.mu_squared, *cost.rdp]


SMALL = {"delta": 1e-6}


@pytest.mark.parametrize("kind", SHORT)
@cases(
    "mechanism, params",
    (aggregators.GNMax, {"sigma": 40.3}),
    (aggregators.LNMax, {"gamma": 0.053}),
    (aggregators.ConfidentGNMax, {"threshold": 120, "sigma1": 100, "sigma2": 120}),
    (aggregators.ImmutableArgmax, {"sigma": 33.3, "failure_probability": 1e-4}),
    (aggregators.StableArgmax, {"run_epsilon": 0.123, "max_unstable": 120} | SMALL),
    (aggregators.SoftVote, {"sigma": 41.7}),
    (aggregators.SoftVote, {"sigma": 120}),
)
def test_aggregators_of_short_numbers_cost_and_draw_the_same(mechanism, params, kind):
    short, long = short_and_long(kind, params)
    short, long = mechanism(**short), mechanism(**long)
    assert cost_of(short) == cost_of(long)
    first = short.release(VOTES, None, 0)
    np.testing.assert_array_equal(first.labels, long.release(VOTES, None, 0).labels)
    if mechanism is not aggregators.SoftVote:
        np.testing.assert_array_equal(short.outcome_log_proba(VOTES), long.outcome_log_proba(VOTES))


FRACTION = Fraction(7, 3)


@cases(
    "mechanism, params",
    (aggregators.GNMax, {"sigma": FRACTION}),
    (aggregators.LNMax, {"gamma": FRACTION}),
    (aggregators.ConfidentGNMax, {"threshold": FRACTION / 4, "sigma1": FRACTION, "sigma2": 20}),
    (aggregators.StableArgmax, {"run_epsilon": FRACTION, "max_unstable": 120} | SMALL),
    (aggregators.SoftVote, {"sigma": FRACTION, "temperature": FRACTION}),
)
def test_aggregators_of_fractions_cost_and_draw_the_same(mechanism, params):
    found, expected = mechanism(**params), mechanism(**{n: float(v) for n, v in params.items()})
    if mechanism is aggregators.StableArgmax:
        expected.set_params(max_unstable=120)
    assert cost_of(found) == cost_of(expected)
    first, second = found.release(VOTES, None, 0), expected.release(VOTES, None, 0)
    np.testing.assert_array_equal(first.labels, second.labels)


def test_fits_of_fractions_equal_fits_of_floats(tmp_path):
    X = np.random.default_rng(0).normal(size=(400, 2))
    y = (X[:, 0] > 0).astype(int)
    given = {"epsilon": Fraction(1, 2), "delta": Fraction(1, 10**5)}
    soft = aggregators.SoftVote(FRACTION * 30, FRACTION)
    for params in ({}, {"n_teachers": 20, "aggregator": soft, "n_queries": 1}):
        fits = []
        for numbers in (given, {name: float(value) for name, value in given.items()}):
            clf = PATEClassifier(classes=[0, 1], random_state=0, on_bad_plan="warn", **params)
            with warnings.catch_warnings(action="ignore"):  # few records, a seed
                fits.append(clf.set_params(**numbers).fit(X[:300], y[:300], X[300:]))
        assert [clf.privacy_spent_.epsilon for clf in fits] == [fits[1].privacy_spent_.epsilon] * 2
        np.testing.assert_array_equal(fits[0].predict(X), fits[1].predict(X))
    ledger = PrivacyLedger(tmp_path / "ledger", **given, reserved_delta=Fraction(1, 10**6))
    assert (ledger.epsilon, ledger.delta, ledger.reserved_delta) == (0.5, 1e-5, 1e-6)


@pytest.mark.slow
def test_searches_accept_fractions(few_units_are_scored):
    X = np.random.default_rng(0).normal(size=(900, 2))
    y = (X[:, 0] > 0).astype(int)
    noise = {"aggregator": aggregators.GNMax(Fraction(9, 2)), "n_queries": 5}
    clf = PATEClassifier(GaussianNB(), classes=[0, 1], n_teachers=20, epsilon=None, **noise)
    numbers = {"epsilon": None, "delta": Fraction(1, 2), "n_trials": Fraction(5, 2)}
    numbers |= {"eta": Fraction(1, 2), "validation_fraction": Fraction(1, 5)}
    search = PrivateGridSearchCV(clf, {"n_teachers": [20, 25]}, **numbers)
    with pytest.warns(UserWarning, match="delta=0.5 is not below"):
        search.fit(X[:700], y[:700], X[700:])
    assert 0 < search.privacy_spent_.epsilon < math.inf and search.privacy_spent_.delta == 0.5


@cases("number", 0.5, Fraction(1, 2), 2.5, -1, 10**400)
def test_costs_refuse_n_queries_that_are_not_whole(number):
    costs = aggregators.LNMax(0.05).costs()
    with pytest.raises(ValueError, match="n_queries must be a whole number"):
        costs(number)


def test_costs_are_floats_rounded_up():
    whole = Cost(np.ones(204), Fraction(1, 3), 10**400, Fraction(1, 10**6))
    assert type(whole.mu_squared) is float and whole.mu_squared >= Fraction(1, 3)
    assert whole.pure == math.inf and whole.delta >= Fraction(1, 10**6)
    largest = Cost(np.ones(204), 1e308, 1e308)
    for total in (largest.plus(largest), largest.times(2**62)):
        assert total.pure == total.mu_squared == math.inf


@pytest.mark.parametrize("kind", SHORT)
@pytest.mark.parametrize("mechanism", [aggregators.LaplaceMechanism, aggregators.GaussianMechanism])
@pytest.mark.parametrize("noise", ["discrete", "continuous"])
def test_table_mechanisms_of_short_numbers_cost_and_draw_the_same(mechanism, noise, kind):
    size = kind(6.7)
    short, long = mechanism(size, noise), mechanism(size.item(), noise)
    assert short.noise_std == long.noise_std
    assert short.cost(TWO).epsilon(1e-5) == long.cost(TWO).epsilon(1e-5)
    np.testing.assert_array_equal(short.cost(TWO).rdp, long.cost(TWO).rdp)
    np.testing.assert_array_equal(short.noisy(VOTES, 0), long.noisy(VOTES, 0))


@pytest.mark.parametrize("kind", SHORT)
@cases("mechanism", aggregators.LaplaceMechanism(), aggregators.GaussianMechanism())
def test_table_mechanisms_are_calibrated_to_a_short_epsilon(mechanism, kind):
    epsilon = kind(1.3)
    public = {"contribution": TWO, "n_rows": 9, "delta": np.float32(1e-4)}
    plans = [plan_table(mechanism, epsilon=cap, **public) for cap in (epsilon, epsilon.item())]
    assert plans[0].epsilon == plans[1].epsilon <= epsilon.item()
    assert type(plans[0].epsilon) is float
    (first, _), (second, _) = plans[0].stages[0], plans[1].stages[0]
    np.testing.assert_array_equal(first.noisy(VOTES, 0), second.noisy(VOTES, 0))


def test_calibrated_short_fraction_is_not_rounded_up():
    event_of = partial(Event, contribution=TWO)
    part = calibrated(aggregators.LaplaceMechanism(), event_of, 0.7, 1e-5, fraction=np.float16(0.5))
    assert part.cost(TWO).pure <= 0.35


@pytest.mark.parametrize("kind", [np.float16, np.float32])
def test_cost_just_above_a_short_cap_is_refused_or_cut(kind):
    cap = kind(1.0)
    above = aggregators.LaplaceMechanism(2 * (1 - 1e-9))
    with pytest.raises(BudgetExceededError, match="more than the cap"):
        plan_table(above, contribution=TWO, n_rows=9, epsilon=cap, delta=1e-5)
    public = {"n_teachers": 100, "n_classes": 10}
    ten_cost_more = aggregators.GNMax(gnmax_sigma(1.0, 1e-5, 10, **public) * (1 - 1e-6))
    with pytest.warns(UserWarning, match="pays for 9 of the 10"):
        plan = plan_queries(ten_cost_more, 10, n_public=10, **public, epsilon=cap, delta=1e-5)
    assert plan.n_queries == 9


@pytest.mark.parametrize("kind", SHORT)
@pytest.mark.parametrize("eta", [0.3, 2, 20])
def test_trial_counts_of_short_numbers_cost_and_draw_the_same(eta, kind):
    mean, eta = kind(120), kind(eta)
    short = TrialCount(mean, eta)
    long = TrialCount(mean.item(), eta.item())
    rdp = 0.05 * DEFAULT_ORDERS
    np.testing.assert_array_equal(short.rdp(rdp, DEFAULT_ORDERS), long.rdp(rdp, DEFAULT_ORDERS))
    for seed in range(20):
        sampled = [count.draw(np.random.default_rng(seed)) for count in (short, long)]
        assert sampled[0] == sampled[1]


@pytest.mark.filterwarnings("ignore:too few records for the noise")
@pytest.mark.parametrize("relation", ["replace_one", "add_or_remove_one"])
def test_record_pays_for_all_cells_of_a_short_n_neighbors(relation):
    X = np.random.default_rng(0).normal(size=(300, 2))
    y = (X[:, 0] > 0).astype(int)
    n_neighbors = np.uint8(129)
    params = {"n_neighbors": n_neighbors, "n_cells": 150, "random_state": np.uint8(3)}
    method = ReverseNeighbors(**params, relation=relation)
    clf = PATEClassifier(method=method, epsilon=np.uint8(100), classes=[0, 1])
    votes = clf.poll(X[:100], y[:100], X_public=X[100:])
    changed = 2 if relation == "replace_one" else 1
    contribution = votes.method.contribution(votes.neighbors)
    assert contribution == Contribution.of_counts(changed * n_neighbors.item())
    fewer = clf.poll(X[1:100], y[1:100], X_public=X[100:])
    assert np.abs(votes.counts - fewer.counts).sum() == n_neighbors.item()
    clf.fit_votes(votes, X[100:])
    assert clf.aggregator_.scale == pytest.approx(changed * n_neighbors.item() / 100)
