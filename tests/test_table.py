"""Noisy tables of votes: their cost, and readings of a released table at any rows."""

import itertools
import math
import pickle
import warnings
from fractions import Fraction

import mpmath as mp
import numpy as np
import pandas as pd
import pytest
from conftest import cases, interrupt, sampled, three_classes
from dp_accounting.pld import privacy_loss_distribution
from scipy import sparse, stats
from scipy.optimize import brentq
from scipy.spatial.distance import cdist
from scipy.special import expit, logsumexp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.datasets import load_iris, make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_pate import PATEClassifier, rdp
from sklearn_pate.accounting import plan_table
from sklearn_pate.aggregators import GaussianMechanism, LaplaceMechanism
from sklearn_pate.encoding.targets import ClassTarget
from sklearn_pate.exceptions import BudgetExceededError
from sklearn_pate.fitting.inputs import rows_digest
from sklearn_pate.ledger import PrivacyLedger
from sklearn_pate.methods import ReverseNeighbors
from sklearn_pate.neighbors import LandmarkClassifier, ReleasedTable
from sklearn_pate.neighbors.centers import make_centers
from sklearn_pate.neighbors.counting import count_votes
from sklearn_pate.neighbors.smoothing import ProbabilityField, _sharpness, expected_votes, smooth
from sklearn_pate.rdp import Contribution, Neighbors
from sklearn_pate.rdp.discrete import GRID, gaussian_table_cost, laplace_table_cost

ONE, TWO = map(Contribution.of_counts, (1, 2))


def shift_divergence(log_pmf, shift, order):
    """D_a between a distribution on the multiples of `table.GRID` and the same, shifted."""
    steps = round(shift / rdp.discrete.GRID)
    x = range(-60 * steps - 400, 60 * steps + 400)
    with mp.workdps(40):
        terms = [order * log_pmf(k) + (1 - order) * log_pmf(k - steps) for k in x]
        norm = mp.fsum(mp.exp(log_pmf(k)) for k in x)
        return float(mp.log(mp.fsum(map(mp.exp, terms)) / norm) / (order - 1))


@pytest.mark.parametrize(("scale", "order"), [(0.6, 1.1), (0.6, 30.0), (3.0, 2.0), (3.0, 8.0)])
def test_laplace_table_cost_agrees_with_40_digits(monkeypatch, scale, order):
    monkeypatch.setattr(rdp.discrete, "GRID", 0.125)  # sums over 2**20 steps would take long
    rate = mp.mpf(0.125) / scale

    def log_pmf(k):
        return -abs(k) * rate

    whole = shift_divergence(log_pmf, 1, order)
    assert whole <= laplace_table_cost(scale, ONE, [order]).rdp[0] <= whole * (1 + 1e-9) + 1e-12
    for share in (0.125, 0.5, 0.875):  # a part of a vote costs no more than that part
        assert shift_divergence(log_pmf, share, order) <= share * whole * (1 + 1e-12)


@pytest.mark.parametrize("scale", [0.3, 2.0, 40.0, 1e4])
def test_laplace_table_cost_of_fine_steps_equals_continuous_noise(scale):
    orders = rdp.DEFAULT_ORDERS
    costs = (laplace_table_cost(scale, ONE, orders, discrete=kind) for kind in (True, False))
    fine, real = (cost.rdp for cost in costs)
    np.testing.assert_allclose(fine, real, rtol=1e-5, atol=1e-12)
    for order, cost in zip(orders[::40], real[::40], strict=True):
        with mp.workdps(40):
            a, t = mp.mpf(float(order)), 1 / mp.mpf(scale)
            power = a * mp.exp((a - 1) * t) + (a - 1) * mp.exp(-a * t)
            exact = mp.log(power / (2 * a - 1)) / (a - 1)
        assert exact <= cost <= exact * (1 + mp.mpf("1e-9")) + mp.mpf("1e-12")


@pytest.mark.parametrize("epsilon", [0.05, 1 / 3, 0.7, 4.0])
@pytest.mark.parametrize("n_changed", [1, 2, 3])
def test_calibrated_laplace_noise_spends_the_cap_and_no_delta(epsilon, n_changed):
    public = {"contribution": Contribution.of_counts(n_changed), "n_rows": 9, "delta": 1e-5}
    plan = plan_table(LaplaceMechanism(), epsilon=epsilon, **public)
    assert epsilon * (1 - 1e-15) <= plan.epsilon <= epsilon
    assert (plan.delta, plan.composition) == (0.0, "pure")


@cases(
    "mechanism",
    GaussianMechanism(),
    GaussianMechanism(noise="continuous"),
    LaplaceMechanism(noise="continuous"),
)
def test_calibrated_noise_spends_the_cap_at_delta(mechanism):
    plan = plan_table(mechanism, contribution=TWO, n_rows=9, epsilon=0.8, delta=1e-5)
    assert 0.8 * (1 - 1e-6) <= plan.epsilon <= 0.8 and plan.delta == 1e-5
    assert plan.composition == ("gaussian" if isinstance(mechanism, GaussianMechanism) else "pure")


def test_plan_table_refuses_noise_that_costs_more_than_the_cap():
    with pytest.raises(BudgetExceededError, match=r"costs epsilon=1, more than the cap"):
        plan_table(LaplaceMechanism(2.0), contribution=TWO, n_rows=9, epsilon=0.9, delta=1e-5)
    with pytest.raises(ValueError, match="epsilon is None"):
        plan_table(LaplaceMechanism(), contribution=TWO, n_rows=9, epsilon=None, delta=1e-5)
    plan = plan_table(LaplaceMechanism(2.0), contribution=TWO, n_rows=9, epsilon=None, delta=1e-5)
    assert plan.epsilon == 1.0


@pytest.mark.parametrize("n_changed", [1, 2, 4])
@pytest.mark.parametrize("scale", [3.0, 10.0])
def test_table_costs_of_five_tables_cover_loss_distributions(n_changed, scale):
    # each of 5 tables: as many entries as can change, each by a whole vote
    step = {"value_discretization_interval": 1e-4}
    one = privacy_loss_distribution.from_laplace_mechanism(scale, sensitivity=1, **step)
    exact = one.self_compose(5 * n_changed).get_epsilon_for_delta(1e-5)
    contribution = Contribution.of_counts(n_changed)
    epsilon, _ = laplace_table_cost(scale, contribution).times(5).epsilon(1e-5)
    assert exact * (1 - 1e-3) <= epsilon <= 1.25 * exact
    given = {"sensitivity": math.sqrt(n_changed)} | step
    one = privacy_loss_distribution.from_gaussian_mechanism(scale, **given)
    exact = one.self_compose(5).get_epsilon_for_delta(1e-5)
    for discrete in (False, True):
        cost = gaussian_table_cost(scale, contribution, discrete=discrete)
        epsilon, _ = cost.times(5).epsilon(1e-5)
        assert exact * (1 - 1e-3) <= epsilon <= 1.1 * exact


# --- discrete Gaussian noise at the price of continuous noise ------------------------------------


def outcomes_of(steps, moves):
    """Log probabilities and privacy losses of discrete Gaussian noise on numbers that move."""
    log_pmf = np.zeros(1)
    loss = np.zeros(1)
    for move in moves:
        far = math.ceil(9 * steps) + move
        x = np.arange(-far, far + 1)
        log_weight = -(x**2) / (2 * steps**2)
        log_pmf = np.add.outer(log_pmf, log_weight - logsumexp(log_weight)).ravel()
        loss = np.add.outer(loss, (move**2 - 2 * move * x) / (2 * steps**2)).ravel()
    return log_pmf, loss


def exact_delta(epsilon, log_pmf, loss):
    """Delta by the sum over all outcomes, whose terms are all above 0."""
    above = loss > epsilon
    return np.sum(np.exp(log_pmf[above]) * -np.expm1(epsilon - loss[above]))


@cases(
    "steps, moves",
    *((2.5, [1]), (3.0, [2]), (8.0, [1]), (8.3, [5]), (20.0, [40]), (64.0, [17])),
    *((3.0, [1, 2]), (8.0, [1, 3]), (20.0, [8, 8]), (3.0, [1, 1, 4]), (4.0, [3, 2, 1])),
)
def test_discrete_gaussian_delta_is_covered_by_sums_over_outcomes(steps, moves):
    norm = math.sqrt(sum(move**2 for move in moves))
    outcomes = outcomes_of(steps, moves)
    pure = 0.7  # compared with one step, the one that costs most
    for epsilon in np.linspace(0, 4 * norm / steps + (norm / steps) ** 2, 10):
        alone = exact_delta(epsilon, *outcomes)
        both = expit(pure) * exact_delta(epsilon - pure, *outcomes)
        both += expit(-pure) * exact_delta(epsilon + pure, *outcomes)
        for tau in (0.5, 0.7, 1.0, 2.0):
            mu = math.sqrt(rdp.discrete_gaussian_mu_squared([steps], [round(norm**2)], tau=tau))
            claimed = rdp.pure_and_gdp_delta(epsilon, pure=0.0, mu=mu)
            assert alone <= claimed and both <= rdp.pure_and_gdp_delta(epsilon, pure=pure, mu=mu)
            if tau >= 1 and steps >= 64:
                assert alone >= 0.99 * claimed


@pytest.mark.parametrize(
    ("steps", "move", "delta", "least"),
    [(0.7, 1, 1e-5, 0.04), (1.0, 1, 1e-3, 0.04), (2.0, 2, 1e-2, 0.01), (8.0, 2, 1e-2, 5e-4)],
)
def test_discrete_gaussian_coarse_noise_costs_more_than_continuous(steps, move, delta, least):
    same = rdp.gdp_to_epsilon(move / steps, delta)
    outcomes = outcomes_of(steps, [move])
    exact = brentq(lambda epsilon: exact_delta(epsilon, *outcomes) - delta, 0, 100)
    assert exact > (1 + least) * same
    mu_squared = rdp.discrete_gaussian_mu_squared([steps], [move**2])
    assert rdp.gdp_to_epsilon(math.sqrt(mu_squared), delta) >= exact


@pytest.mark.parametrize("tau", [0.5, 0.6, 0.8])
def test_discrete_gaussian_noise_equals_rounded_noise_within_eta(tau):
    steps = 3.0
    u, z = np.arange(-40, 40, 0.01), np.arange(-60, 61)
    rounded = np.exp(-((z - u[:, None]) ** 2) / (2 * tau**2))
    norms = rounded.sum(axis=1) / (tau * math.sqrt(2 * math.pi))
    r = np.abs(norms - 1).max()
    two_steps = np.exp(-(u**2) / (2 * (steps**2 - tau**2))) @ (rounded / norms[:, None])
    at_once = np.exp(-(z**2) / (2 * steps**2))
    ratio = (two_steps / two_steps.sum() / (at_once / at_once.sum()))[abs(z) <= 20]
    mu = math.sqrt(rdp.discrete_gaussian_mu_squared([steps], [1], tau=tau))
    eta = (mu * math.sqrt(steps**2 - tau**2) - 1) / (math.sqrt(2 * math.pi) * steps)
    assert 0.99 * eta <= math.log((1 + r) / (1 - r)) <= eta * (1 + 1e-9)
    assert np.abs(np.log(ratio)).max() <= eta


def test_discrete_gaussian_mu_squared_is_rounded_up():
    for steps, squares in [(2.5, 1), (1e3, 7), (2.0**55, 2**81), (1e9 * 2**20, 3 * 2**40)]:
        exact = Fraction(squares) / (Fraction(steps) ** 2 - 4)
        found = Fraction(rdp.discrete_gaussian_mu_squared([steps], [squares]))
        assert exact < found < exact * (1 + Fraction(1, 2**51))
    groups = rdp.discrete_gaussian_mu_squared([30.0, 50.0, 1.0], [4, 9, 0])
    assert groups == pytest.approx(4 / (900 - 4) + 9 / (2500 - 4), rel=1e-15)
    assert rdp.discrete_gaussian_mu_squared([30.0, 2.0], [4, 1]) == math.inf
    assert rdp.discrete_gaussian_mu_squared([math.nan], [1]) == math.inf
    with pytest.raises(ValueError, match="tau must be at least 0.5"):
        rdp.discrete_gaussian_mu_squared([30.0], [4], tau=0.4)
    with pytest.raises(ValueError, match="squared_moves must be integers of at least 0"):
        rdp.discrete_gaussian_mu_squared([30.0, 30.0], [4, -1])
    pytest.raises(TypeError, rdp.discrete_gaussian_mu_squared, [30.0], [4.5])


@pytest.mark.parametrize("n_changed", [1, 2, 6])
def test_discrete_gaussian_table_costs_as_much_as_continuous(n_changed):
    contribution = Contribution.of_counts(n_changed)
    for sigma in (0.01, 0.5, 3.0, 1e3, 1e9):
        kinds = True, False
        discrete, real = (gaussian_table_cost(sigma, contribution, discrete=kind) for kind in kinds)
        excess = (2 * GRID / sigma) ** 2
        assert real.mu_squared <= discrete.mu_squared
        assert discrete.mu_squared == pytest.approx(real.mu_squared * (1 + excess), rel=1e-14)
        np.testing.assert_array_equal(discrete.rdp, real.rdp)
    assert gaussian_table_cost(2 * GRID, contribution).mu_squared == math.inf


# --- all tables of few records -------------------------------------------------------------------

N_CELLS = 3
N_CLASSES = 2
TARGET = ClassTarget(range(N_CLASSES))


def tables_of(records, n_neighbors, weights, by_group):
    """The table of records, each a cell, a class and a group."""
    if not records:
        return np.zeros((N_CELLS, N_CLASSES))
    cell, code, group = np.array(records).T
    cells = (cell[:, None] + np.arange(n_neighbors)) % N_CELLS  # the cell and the next ones
    cells[cell < 0] = -1  # a record that casts no vote
    given = {"sample_weight": None if weights is None else np.array(weights)[cell]}
    given["groups"] = np.unique(group, return_inverse=True)[1] if by_group else None
    return count_votes(cells, code, n_cells=N_CELLS, target=TARGET, **given) * GRID


ALL_RECORDS = list(itertools.product([-1, 0, 1, 2], [0, 1]))


def neighbours(n_records, relation):
    """Pairs of data sets that differ in one record, under a relation."""
    for others in itertools.combinations_with_replacement(ALL_RECORDS, n_records - 1):
        for one in ALL_RECORDS:
            with_one = [(*record, number) for number, record in enumerate([*others, one])]
            if relation == "add_or_remove_one":
                yield with_one, with_one[:-1]
                continue
            for other in ALL_RECORDS:
                yield with_one, [*with_one[:-1], (*other, n_records - 1)]


@sampled(2)
@pytest.mark.parametrize("weights", [None, [0.3, 1.7, -2.0, 0.999]])
@pytest.mark.parametrize("n_neighbors", [1, 2, 3])
@pytest.mark.parametrize(("relation", "n_units"), [("replace_one", 2), ("add_or_remove_one", 1)])
def test_record_changes_at_most_its_contribution(relation, n_units, n_neighbors, weights):
    reached = 0.0
    for before, after in neighbours(3, relation):
        before = tables_of(before, n_neighbors, weights, by_group=False)
        after = tables_of(after, n_neighbors, weights, by_group=False)
        change = np.abs(before - after)
        assert change.max(initial=0) <= 1 and change.sum() <= n_units * n_neighbors
        reached = max(reached, change.sum())
    if weights is None:
        assert reached == n_units * n_neighbors  # and not less


@sampled()
@pytest.mark.parametrize("n_neighbors", [1, 2])
@pytest.mark.parametrize(("relation", "n_units"), [("replace_one", 2), ("add_or_remove_one", 1)])
def test_group_changes_at_most_as_much_as_a_record(relation, n_units, n_neighbors):
    rng = np.random.default_rng(0)
    reached = 0.0

    def some(number, least, most):
        picked = rng.integers(len(ALL_RECORDS), size=rng.integers(least, most))
        return [(*ALL_RECORDS[k], number) for k in picked]

    for _ in range(1000):
        others = some(0, 0, 4) + some(1, 0, 4)
        before = others + some(2, 1, 6)
        after = others + (some(2, 1, 6) if relation == "replace_one" else [])
        before, after = (tables_of(part, n_neighbors, None, True) for part in (before, after))
        change = np.abs(before - after)
        assert change.max(initial=0) <= 1 and change.sum() <= n_units * n_neighbors
        reached = max(reached, change.sum())
    assert reached > 0.9 * n_units * n_neighbors


def test_count_votes_does_not_depend_on_the_order_of_records():
    rng = np.random.default_rng(0)
    cells, codes = rng.integers(0, 5, size=(300, 2)), rng.integers(0, 3, size=300)
    weight, groups = rng.random(300), rng.integers(0, 40, size=300)
    counted = []
    for rows in (np.arange(300), rng.permutation(300)):
        given = {"sample_weight": weight[rows], "groups": groups[rows]}
        given |= {"n_cells": 5, "target": ClassTarget(range(3))}
        counted.append(count_votes(cells[rows], codes[rows], **given))
    first, second = counted
    np.testing.assert_array_equal(first, second)
    assert first.dtype == np.int64


# --- sampled noise -----------------------------------------------------------------------------


@pytest.mark.parametrize("noise", ["discrete", "continuous"])
@cases("mechanism, law", (LaplaceMechanism, stats.laplace), (GaussianMechanism, stats.norm))
def test_table_noise_follows_its_distribution(mechanism, law, noise, global_random_seed):
    """Finds noise that is 4 % too small or too large."""
    counts = np.arange(60_000).reshape(-1, 3) % 50
    mechanism = mechanism(3.0, noise)
    noisy = mechanism.noisy(counts, random_state=global_random_seed)
    assert stats.kstest((noisy - counts).ravel(), law(scale=3).cdf).pvalue > 1e-7
    assert mechanism.noise_std == pytest.approx((noisy - counts).std(), rel=0.03)
    assert (noisy / GRID == np.round(noisy / GRID)).all()


@pytest.mark.parametrize("mechanism", [LaplaceMechanism, GaussianMechanism])
def test_table_mechanism_refuses_wrong_tables_and_noise(mechanism):
    pytest.raises(ValueError, mechanism(3.0).noisy, [[0.1, 3.0]]).match("multiples of 2")
    pytest.raises(ValueError, mechanism().noisy, [[1.0, 3.0]]).match("calibrates it")
    for size in (0.0, 1e-300, 2.0**-21, 2e9, math.inf, math.nan):
        for call in (lambda m: m.cost(TWO), lambda m: m.noisy([[1.0, 3.0]])):
            pytest.raises(ValueError, call, mechanism(size)).match("must be a float in the range")
    for size in (2.0**-20, 1e9):  # the least and the most
        noisy = mechanism(size).noisy(np.zeros((50, 2)), random_state=0)
        assert size / 3 < np.abs(noisy).mean() < 3 * size
        assert mechanism(size).cost(TWO).rdp.min() > 0


@pytest.mark.parametrize("mechanism", [LaplaceMechanism, GaussianMechanism])
def test_noise_std_is_none_before_calibration(mechanism):
    assert mechanism().noise_std is None
    assert mechanism(2.0).noise_std > 0


@pytest.mark.parametrize("epsilon", [1e-12, 1e-9])
@pytest.mark.parametrize("mechanism", [LaplaceMechanism(), GaussianMechanism()])
def test_plan_table_names_an_epsilon_out_of_reach(mechanism, epsilon):
    with pytest.raises(ValueError, match="cannot be calibrated to epsilon=1e") as caught:
        plan_table(mechanism, contribution=TWO, n_rows=9, epsilon=epsilon, delta=1e-12)
    assert "in the range" not in str(caught.value) and caught.value.__context__ is None


@pytest.mark.parametrize("epsilon", [1e14, 1e20, 1e308])
@pytest.mark.parametrize("mechanism", [LaplaceMechanism(), GaussianMechanism()])
def test_plan_table_uses_the_least_noise_for_a_huge_epsilon(mechanism, epsilon):
    plan = plan_table(
        mechanism, contribution=Contribution.of_counts(2), n_rows=9, epsilon=epsilon, delta=1e-12
    )
    ((noise, _),) = plan.stages
    assert 2.0**-20 <= noise.noise_std < 2.0**-18
    assert plan.epsilon == noise.cost(Contribution.of_counts(2)).epsilon(1e-12)[0] <= epsilon


@pytest.mark.parametrize("epsilon", [1e3, 1e4, 1e20])
def test_plan_without_public_rows_is_calibrated_to_large_epsilons(epsilon):
    clf = PATEClassifier(schema=[(-5, 5)] * 2, classes=[0, 1, 2], epsilon=epsilon)
    with warnings.catch_warnings(action="ignore"):  # a weak guarantee
        plan = clf.plan(X[:, :2], Y)
    # Its noise is one that a user may set
    plan.synthesizer.event(Neighbors(relation="replace_one", unit="record")).cost()
    assert plan.epsilon <= epsilon and (plan.epsilon > 0.999 * epsilon or epsilon > 1e6)


# --- a released table labels other public rows as well; labels of teachers belong to theirs -------

X, Y = three_classes(1200, 5)
X_PUBLIC, X_LATER, Y_LATER = X[600:900], X[900:], Y[900:]
X, Y = X[:600], Y[:600]


def pate(method=None, **params):
    params = {"epsilon": 5.0, "classes": [0, 1, 2], "random_state": 0, **params}
    method = ReverseNeighbors() if method is None else method
    return PATEClassifier(method=method, **params)


def teachers(**params):
    given = {"n_teachers": 20, "epsilon": 10.0, "n_queries": 100} | params
    return pate("teachers", base_estimator=GaussianNB(), **given)


# --- records that vote ---------------------------------------------------------------------------


def test_released_table_read_at_public_rows_equals_released_labels():
    clf = pate().fit(X, Y, X_public=X_PUBLIC)
    assert isinstance(clf.table_, ReleasedTable)
    assert clf.table_.counts.shape == clf.curator_.votes.shape
    assert not np.array_equal(clf.table_.counts, clf.curator_.votes)  # the noise is in it
    np.testing.assert_allclose(
        clf.table_.class_proba(X_PUBLIC), clf.public_soft_labels_, atol=1e-12
    )
    one_by_one = np.vstack([clf.table_.class_proba(row[None]) for row in X_PUBLIC[:20]])
    np.testing.assert_allclose(one_by_one, clf.public_soft_labels_[:20], atol=1e-9)


def test_fit_student_on_other_public_rows_costs_nothing(tmp_path):
    ledger = PrivacyLedger(tmp_path / "ledger", epsilon=5.0, delta=1e-5)  # pays for one fit
    clf = pate(ledger=ledger, random_state=None).fit(X, Y, X_public=X_PUBLIC)
    spent = clf.privacy_spent_
    clf.fit_student(X_LATER)
    assert (clf.privacy_spent_.epsilon, clf.privacy_spent_.delta) == (spent.epsilon, spent.delta)
    assert len(clf.public_labels_) == clf.privacy_spent_.n_answered == 300
    assert (clf.public_labels_ == Y_LATER).mean() > 0.85 and clf.score(X_LATER, Y_LATER) > 0.85
    more = np.concatenate([X_PUBLIC, X_LATER])
    assert clf.fit_student(more, LogisticRegression()).public_soft_labels_.shape == (600, 3)
    assert clf.privacy_spent_.n_answered == len(clf.query_indices_) == 600


def test_released_labels_follow_the_order_of_rows():
    clf = pate().fit(X, Y, X_public=X_PUBLIC)
    class_proba, proba = clf.public_soft_labels_, clf.predict_proba(X_LATER)
    loaded = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(
        loaded.table_.class_proba(X_LATER), clf.table_.class_proba(X_LATER)
    )
    assert repr(loaded.table_).endswith(" cells, 3 classes)")
    clf.fit_student(X_PUBLIC)
    np.testing.assert_array_equal(clf.public_labels_, loaded.public_labels_)
    np.testing.assert_allclose(clf.predict_proba(X_LATER), proba)
    clf.fit_student(X_PUBLIC[::-1])
    np.testing.assert_allclose(clf.public_soft_labels_[::-1], class_proba, atol=1e-12)
    assert loaded.fit_student(X_LATER).score(X_LATER, Y_LATER) > 0.85


def test_fit_student_with_wrong_rows_changes_nothing():
    clf = pate(method=ReverseNeighbors(StandardScaler())).fit(X, Y, X_public=X_PUBLIC)
    before = clf.student_, clf.public_labels_
    wider = X_LATER[:, 1:]
    pytest.raises(ValueError, clf.fit_student, wider).match("does not have the features of X")
    pytest.raises(ValueError, clf.fit_student, np.full((5, 5), np.inf)).match("infinity")
    assert clf.student_ is before[0] and clf.public_labels_ is before[1]


def test_refit_with_teachers_removes_the_table():
    clf = pate().fit(X, Y, X_public=X_PUBLIC)
    clf.set_params(**teachers().get_params(deep=False)).fit(X, Y, X_public=X_PUBLIC)
    assert not hasattr(clf, "table_") and clf.n_teachers_ == 20


# --- teachers ------------------------------------------------------------------------------------


def test_fit_student_warns_of_rows_in_another_order():
    clf = teachers().fit(X, Y, X_public=X_PUBLIC)
    for rows in (X_PUBLIC[::-1], X_LATER, X_PUBLIC + 0.01):
        with pytest.warns(UserWarning, match="Labels are matched to rows by position"):
            clf.fit_student(rows)


@cases("rows", X_PUBLIC.copy(), X_PUBLIC.astype(np.float32), np.asfortranarray(X_PUBLIC))
@pytest.mark.filterwarnings("error")
def test_fit_student_does_not_warn_of_the_same_rows(rows):
    loaded = pickle.loads(pickle.dumps(teachers().fit(X, Y, X_public=X_PUBLIC)))
    assert loaded.fit_student(rows).score(X_LATER, Y_LATER) > 0.7


def test_rows_digest_depends_on_values_and_not_on_containers():
    mixed = pd.DataFrame({"age": [20, 30, 40], "city": ["Oslo", "Bern", None]})
    digest = rows_digest(mixed)
    assert rows_digest(mixed.astype({"city": "category"})) == digest
    assert rows_digest(mixed.iloc[::-1]) != digest
    whole = np.arange(6.0).reshape(3, 2)
    for same in (whole.tolist(), sparse.csr_matrix(whole), pd.DataFrame(whole.astype(int))):
        assert rows_digest(same) == rows_digest(whole)


# --- values that the table must not hold ---------------------------------------------------------


class Shared(TransformerMixin, BaseEstimator):
    """Keeps numpy's global generator, as estimators do whose random_state is None."""

    def fit(self, X, y=None):
        self.rng_ = check_random_state(None)
        return self

    def transform(self, X):
        return X


def test_released_table_contains_no_global_generator():
    clf = pate(method=ReverseNeighbors(Shared())).fit(X, Y, X_public=X_PUBLIC)
    assert clf.table_.transformer.rng_ is not check_random_state(None)
    assert np.random.get_state()[1].tobytes()[:400] not in pickle.dumps(clf.table_)


def test_released_table_keeps_no_index_and_attrs_of_public_rows():
    people = pd.MultiIndex.from_product([["public", "secret"], range(300)])
    frame = pd.DataFrame(np.vstack([X_PUBLIC, X_LATER]), people, list("abcde"))
    frame.attrs["note"] = "secret"

    class Keeps(TransformerMixin, BaseEstimator):
        def fit(self, X, y=None):
            self.rows_ = X
            return self

        def transform(self, X):
            return X.to_numpy()

    private = pd.DataFrame(X, columns=list("abcde"))
    clf = pate(method=ReverseNeighbors(Keeps())).fit(private, Y, X_public=frame[:300])
    kept = clf.table_.transformer.rows_
    assert kept.attrs == {} and type(kept.index) is pd.RangeIndex


def test_continuous_noise_has_digits_independent_of_votes(global_random_seed):
    """Unrounded, the lowest digits of half of the entries differed between 0 and 1.

    Finds digits that are even in 52 % of entries, in 99 % of runs.
    """
    mechanism = LaplaceMechanism(20.0, noise="continuous")
    noisy = mechanism.noisy(np.tile([0.0, 1.0], (50_000, 1)), global_random_seed)
    assert (noisy / GRID == np.round(noisy / GRID)).all()
    even = (noisy / GRID % 2 == 0).mean(axis=0)
    np.testing.assert_allclose(even, 0.5, atol=0.0125)  # 5.6 standard deviations


def test_interrupt_while_smoothing_keeps_the_released_table(monkeypatch):
    X, y = load_iris(return_X_y=True)
    clf = PATEClassifier(epsilon=10, classes=[0, 1, 2], random_state=0)
    with monkeypatch.context() as patch:
        patch.setattr("sklearn_pate.neighbors.smoothing.smooth", interrupt)
        pytest.raises(KeyboardInterrupt, clf.fit, X[::2], y[::2], X_public=X[1::2])
    assert clf.privacy_spent_.epsilon == 10 and not hasattr(clf, "student_")
    table = clf.table_.counts.copy()
    clf.fit_student(X[1::2])  # of the noisy table that is paid for
    assert (clf.table_.counts == table).all() and clf.score(X[1::2], y[1::2]) > 0.8


# --- readings of a noisy table, and the student that learns them ---------------------------


def sharpness(votes, noise_std, height, rng):
    """Return the power that is chosen for one table of noisy votes, in cells on a line."""
    n_cells, n_classes = votes.shape
    total = np.maximum(votes.sum(axis=1), 1.0)
    overall = votes.sum(axis=0) / votes.sum()
    spread = (overall * (1 - overall)).sum() / (n_classes - 1)
    variance = (noise_std**2 + total * spread) / total**2
    centers = np.arange(n_cells)[:, None] / 10
    noisy = votes + rng.normal(0, noise_std, votes.shape)
    given = {"steepness": 2.0, "slope": 0.0, "power": 1.0, "variance": variance, "total": total}
    probability_field = ProbabilityField(
        centers, overall, np.zeros_like(votes), height * spread, **given
    )
    return _sharpness(probability_field, noisy, probability_field.kernel(centers))


def test_sharpness_rises_for_cells_of_one_class():
    """Each ten cells are of one class, so means that noise pulls together are too timid."""
    votes = np.repeat(30.0 * np.eye(10), 10, axis=0)
    assert sharpness(votes, noise_std=12.0, height=0.3, rng=np.random.default_rng(0)) >= 2


@pytest.mark.parametrize("seed", range(4))
def test_sharpness_is_one_for_means_that_differ_by_noise(seed):
    """Each cell has the same class probabilities: the means differ by noise alone."""
    rng = np.random.default_rng(seed)
    votes = rng.multinomial(40, [0.5, 0.5], size=100).astype(float)
    assert sharpness(votes, noise_std=15.0, height=0.1, rng=rng) == 1


def errors_of_smoothing(seed):
    """Return the errors of smoothed proportions, and of proportions of each cell by itself."""
    rng = np.random.default_rng(seed)
    public = rng.random((2000, 2))
    centers = make_centers(public, 200, seed)
    truth = 0.5 + 0.4 * np.sin(3 * centers[:, 0])
    n_votes = 30
    noisy = n_votes * np.stack([1 - truth, truth], axis=1) + rng.normal(0, 10, (200, 2))
    cells = cdist(public, centers).argmin(axis=1)
    total = expected_votes(noisy, np.bincount(cells), 10.0, n_votes=200 * n_votes)
    probability_field = smooth(noisy, centers, total, noise_std=10.0, target=TARGET)
    class_proba = probability_field.class_proba(public)
    expected = 0.5 + 0.4 * np.sin(3 * public[:, 0])
    alone = np.clip(noisy / noisy.sum(axis=1, keepdims=True), 0, 1)[cells, 1]
    return np.abs(class_proba[:, 1] - expected).mean(), np.abs(alone - expected).mean()


def test_smooth_recovers_a_smooth_table():
    """Proportions that change slowly are found through noise that hides them in each cell."""
    found, alone = np.mean([errors_of_smoothing(seed) for seed in range(5)], axis=0)
    assert found < 0.06 and found < alone / 3


# --- the default student -------------------------------------------------------------------------


# scikit-learn's checks skip some of their own
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([LandmarkClassifier(random_state=0)])
def test_landmark_classifier_passes_sklearn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_landmark_classifier_is_independent_of_a_common_unit(unit):
    X, y = make_moons(200, noise=0.1, random_state=0)
    fits = ((LandmarkClassifier(random_state=0).fit(rows, y), rows) for rows in (X, X * unit))
    plain, scaled = (clf.predict_proba(rows) for clf, rows in fits)
    np.testing.assert_allclose(plain, scaled, atol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_landmark_classifier_weights_equal_repeated_rows(n_classes):
    """A row that counts three times is like three rows, and one that counts nothing like none."""
    X, y = make_moons(60, noise=0.2, random_state=0)
    y = y + (X[:, 0] > 1) * (n_classes - 2)
    weight = np.arange(60) % 4
    weighted = LandmarkClassifier(random_state=0).fit(X, y, sample_weight=weight)
    repeated = LandmarkClassifier(random_state=0).fit(X.repeat(weight, axis=0), y.repeat(weight))
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-4)


def test_landmark_classifier_merges_equal_rows():
    same = LandmarkClassifier().fit(np.ones((6, 2)), [0, 0, 1, 1, 1, 1])
    np.testing.assert_allclose(same.predict_proba(np.ones((1, 2))), [[1 / 3, 2 / 3]], atol=0.01)
