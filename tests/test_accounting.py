"""Plans, reported costs, the curator's view, and forecasts, from public numbers."""

import copy
import dataclasses
import math
import pickle
import re
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from conftest import cases, table
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import binom, norm
from sklearn.datasets import load_breast_cancer
from sklearn.naive_bayes import GaussianNB

from sklearn_pate import PATEClassifier, PrivacySpent, rdp
from sklearn_pate.accounting import Curator, MethodSummary, StageRecord, plan_queries
from sklearn_pate.accounting.findings import large_delta, weak_promise
from sklearn_pate.aggregators import (
    ConfidentGNMax,
    ExponentialNMax,
    GaussianMechanism,
    GNMax,
    LaplaceMechanism,
    LNMax,
    PluralityVote,
    StableArgmax,
)
from sklearn_pate.exceptions import BadPlanError, BudgetExceededError
from sklearn_pate.methods import ReverseNeighbors
from sklearn_pate.neighbors import ReleasedTable
from sklearn_pate.neighbors.centers import explained_share
from sklearn_pate.rdp import DEFAULT_ORDERS, data_independent_epsilon
from sklearn_pate.rdp.cost import total_cost
from sklearn_pate.synthesis import MarginalSynthesizer
from sklearn_pate.teachers import Sites

PUBLIC = {"n_public": 1000, "n_teachers": 250, "n_classes": 10, "epsilon": 1.0, "delta": 1e-5}


# --- data-independent cost ---------------------------------------------------------------------


def test_cached_costs_equal_those_of_the_same_mechanism_and_sizes():
    sizes = {"n_teachers": 40, "n_classes": 3}
    stages = GNMax(20.0), GNMax(20.0), GNMax(30.0), LNMax(0.05), ExponentialNMax(0.05)
    some = DEFAULT_ORDERS[::9]
    queried = [(stage, some, sizes) for stage in stages]
    for threshold in (1, 1.0):  # of one vote, and of all teachers
        two = {"n_teachers": 40, "n_classes": 2}
        queried.append((ConfidentGNMax(threshold, 5.0, 20.0), some, two))
    queried.append((GNMax(20.0), DEFAULT_ORDERS[1::9], sizes))
    for n_teachers, n_classes in ((4, 3), (40, 2), (None, None)):
        public = {"n_teachers": n_teachers, "n_classes": n_classes}
        queried.append((GNMax(20.0), some, public))
    for stage, orders, public in queried:
        known = stage.costs(orders, **public)(7)
        computed = total_cost(stage, orders, **public)(7)
        np.testing.assert_array_equal(known.rdp, computed.rdp)
        assert (known.pure, known.mu_squared) == (computed.pure, computed.mu_squared)


def test_costs_of_custom_mechanisms_are_not_cached():
    class Mine(GNMax):
        n_queried = 0

        def bounds(self):
            Mine.n_queried += 1
            return super().bounds()

    Mine(20.0).costs(DEFAULT_ORDERS[:3], n_teachers=10, n_classes=2)(1)
    n_queried = Mine.n_queried
    Mine(20.0).costs(DEFAULT_ORDERS[:3], n_teachers=10, n_classes=2)(1)
    assert Mine.n_queried == 2 * n_queried > 0


def test_gaussian_cost_is_at_most_exact_composition():
    for n_queries, best in ((1, "gaussian"), (3, "renyi"), (100, "renyi"), (5000, "renyi")):
        epsilon, method = data_independent_epsilon(GNMax(40.0), n_queries, 1e-5)
        composed = rdp.gdp_to_epsilon(math.sqrt(2 * n_queries) / 40, 1e-5)
        assert method == best
        assert epsilon == composed if best == "gaussian" else 0.75 < epsilon / composed < 1


def test_data_independent_epsilon_is_pure_for_few_queries_of_large_noise():
    # one noise scale is beyond the largest margin: the loss of a label is bounded
    epsilon, method = data_independent_epsilon(GNMax(40.0), 1, 1e-5, n_teachers=20, n_classes=10)
    assert method == "pure" and epsilon < 0.6 * data_independent_epsilon(GNMax(40.0), 1, 1e-5)[0]


def optimal_pure_composition(epsilon, k, delta):
    """Exact k-fold composition of randomised response, the worst pure mechanism (Kairouz 2015)."""
    losses = (k - 2 * np.arange(k + 1)) * epsilon  # log ratio of the two outcome probabilities
    proba = binom.pmf(np.arange(k + 1), k, 1 / (1 + math.exp(epsilon)))

    def excess(e):
        return np.sum(np.maximum(0, -np.expm1(np.minimum(e - losses, 0))) * proba) - delta

    return brentq(excess, 0.0, k * epsilon)


@pytest.mark.parametrize("n_queries", [1, 3, 20, 100, 500])
def test_laplace_cost_covers_the_optimal_composition(n_queries):
    # the loss of a label is pure, so the optimal composition covers any votes; the argmax itself
    # costs less than a mechanism that reaches that loss everywhere
    epsilon, _ = data_independent_epsilon(LNMax(0.05), n_queries, 1e-5)
    exact = optimal_pure_composition(0.1, n_queries, 1e-5)
    assert 0.45 * exact <= epsilon <= min(n_queries * 0.1, 1.1 * exact + 0.05) + 1e-12


# --- plans --------------------------------------------------------------------------------------


@settings(max_examples=5, deadline=None)
@given(
    st.floats(0.2, 10),
    st.sampled_from([LNMax(0.02), GNMax(60.0)]),
    st.integers(1, 900),
    st.sampled_from([2, 3]),
)
def test_plan_with_fixed_noise_stops_at_the_cap_and_not_earlier(
    epsilon, aggregator, requested, n_classes
):
    public = {"n_teachers": 250, "n_classes": n_classes}
    with warnings.catch_warnings(action="ignore"):
        plan = plan_queries(aggregator, requested, **(PUBLIC | public | {"epsilon": epsilon}))
    first = plan.stages[0][0]
    counts = plan.n_queries, plan.n_queries + 1
    spent = [data_independent_epsilon(first, n, 1e-5, **public)[0] for n in counts]
    assert spent[0] == plan.epsilon <= epsilon
    assert plan.n_queries == requested or spent[1] > epsilon


def test_plan_default_n_queries_bounds_the_noise():
    most = 250 / (2 * math.sqrt(3))
    cap = PUBLIC | {"epsilon": 2.0, "n_classes": 3}
    plan = plan_queries(GNMax(None), None, **cap)
    assert plan.n_queries > 5 * 3 and plan.stages[0][0].sigma <= most
    assert plan_queries(GNMax(None), plan.n_queries + 1, **cap).stages[0][0].sigma > most
    plan = plan_queries(LNMax(None), None, **cap)
    assert 1 / plan.stages[0][0].gamma <= most
    assert plan_queries(GNMax(None), None, **(cap | {"n_public": 7})).n_queries == 7


def test_plan_default_n_queries_is_at_least_five_per_class():
    few = PUBLIC | {"n_teachers": 100}
    plan = plan_queries(GNMax(None), None, **few)
    assert plan.n_queries == 5 * PUBLIC["n_classes"]
    assert plan.stages[0][0].sigma > 100 / (2 * math.sqrt(PUBLIC["n_classes"]))
    assert plan.epsilon <= PUBLIC["epsilon"]
    assert plan_queries(GNMax(None), None, **(few | {"n_public": 12})).n_queries == 12


def test_plan_warns_of_a_cap_that_cuts_queries():
    with pytest.warns(UserWarning, match="epsilon=1 pays for 75 of the 500"):
        plan = plan_queries(GNMax(40), 500, **PUBLIC)
    assert plan.n_queries == 75


def test_plan_refuses_too_few_teachers_for_any_query():
    with pytest.raises(BudgetExceededError, match="useful with n_teachers=10. .* more teachers"):
        plan_queries(GNMax(None), None, **(PUBLIC | {"n_teachers": 10}))


def test_discrete_noise_costs_are_composed_by_renyi():
    plan = plan_queries(GNMax(40.0, noise="discrete"), None, **PUBLIC)
    assert plan.composition == "renyi" and 0.97 < plan.epsilon <= 1.0
    every = rdp.rdp_to_epsilon(plan.n_queries * DEFAULT_ORDERS / 40**2, 1e-5, DEFAULT_ORDERS)[0]
    assert plan.epsilon == pytest.approx(every)
    assert plan.n_queries < plan_queries(GNMax(40.0), None, **PUBLIC).n_queries


def test_ptr_cost_adds_up_delta():
    public = {"n_public": 500, "n_teachers": 250, "n_classes": 2, "delta": 1e-5}
    plan = plan_queries(GNMax(40.0), 500, **public, epsilon=1.6, accounting="ptr")
    assert plan.composition == "propose-test-release"
    twice = plan.cost.plus(plan.cost)
    assert twice.epsilon(1.9e-5)[0] == math.inf and 1.6 < twice.epsilon(3e-5)[0] <= 3.2


# --- records ----------------------------------------------------------------------------------


def curator(aggregator, votes):
    return Curator([StageRecord(aggregator, len(votes))], np.asarray(votes), 1e-5, np.arange(5))


@cases(
    "aggregator, bound, noise",
    (GNMax(40.0), rdp.gnmax_rdp, 40.0),
    (LNMax(0.05), rdp.lnmax_rdp, 0.05),
)
def test_curator_epsilon_equals_exact_or_published_bound(aggregator, bound, noise):
    votes = np.random.default_rng(0).multinomial(250, [0.8, 0.15, 0.05], size=300)
    view = curator(aggregator, votes)
    total = bound(votes, noise, DEFAULT_ORDERS).sum(axis=0)
    for conversion in ("improved", "classic"):
        expected, _ = rdp.rdp_to_epsilon(total, 1e-5, DEFAULT_ORDERS, conversion)
        got = view.epsilon(bound="published", conversion=conversion)
        assert got == pytest.approx(expected, rel=1e-9)
    np.testing.assert_array_equal(view.rdp("published", orders=[2, 4]), bound(votes, noise, [2, 4]))
    public = {"n_teachers": 250, "n_classes": 3}
    independent = data_independent_epsilon(aggregator, 300, 1e-5, **public)[0]
    assert view.epsilon(bound="data_independent") == independent
    exact = rdp.exact_rdp(aggregator, votes, DEFAULT_ORDERS).sum(axis=0)
    assert view.epsilon() == rdp.rdp_to_epsilon(exact, 1e-5, DEFAULT_ORDERS)[0]
    assert view.epsilon(delta=1e-3) < view.epsilon() < view.epsilon(bound="published") < independent


def test_curator_refuses_pickle_and_copy():
    view = curator(GNMax(40.0), [[7, 3]])
    assert repr(view) == str(view) == "Curator(private)"
    for leave in (pickle.dumps, copy.copy, copy.deepcopy):
        pytest.raises(TypeError, leave, view).match("private")


def test_cached_costs_are_read_only():
    for stage in (GNMax(20.0), StableArgmax(3.0)):
        cost = stage.costs(n_teachers=200, n_classes=2)(30)
        for change in (np.multiply, np.add):
            with pytest.raises(ValueError, match="read-only"):
                change(cost.rdp, 0.5, out=cost.rdp)
        assert stage.costs(n_teachers=200, n_classes=2)(30).epsilon(1e-5) == cost.epsilon(1e-5)


# --- contents of a plan before a fit --------------------------------------------------------------

RNG = np.random.default_rng(0)
N_RECORDS = 1847  # a number that occurs nowhere else
X = pd.DataFrame(RNG.normal(size=(N_RECORDS, 3)), columns=["a", "b", "c"])
Y = np.arange(N_RECORDS) % 3
X_PUBLIC = pd.DataFrame(RNG.normal(size=(400, 3)), columns=["a", "b", "c"])
SIZES = {"n_public": 1000, "n_teachers": 250, "n_classes": 10, "delta": 1e-5}
FLAT = "the released numbers may be little better than a coin flip"


NAMED = GaussianNB()


def pate(base=NAMED, **params):
    """A classifier with teachers; with None or a method, without any teachers of its own."""
    if "method" in params:
        base = None
    if isinstance(base, GaussianNB):
        params = {"n_teachers": 100} | params
    return PATEClassifier(base, **{"classes": [0, 1, 2], "random_state": 0} | params)


def planned(aggregator, n_queries=100, **changes):
    return plan_queries(aggregator, n_queries, **({"epsilon": None} | SIZES | changes))


def warned_texts(clf, *data, **kwargs):
    """The texts of all warnings of a fit that follow from its plan, which itself warns of none."""
    with warnings.catch_warnings(action="error"):
        clf.plan(*data, **kwargs)
    with warnings.catch_warnings(record=True, action="always") as caught:
        clf.set_params(on_bad_plan="warn").fit(*data, **kwargs)
    texts = [str(warning.message) for warning in caught]
    of_plan = [text for text in texts if not text.startswith(FLAT)]
    # The labels here have nothing to do with the rows: so a table shows, and labels under noise.
    # Under little noise, labels follow what teachers learnt by chance
    n_flat = len(texts) - len(of_plan)
    assert n_flat == 1 or (n_flat == 0 and clf.epsilon > 10)
    return of_plan


# --- the share of labels that will be right ------------------------------------------------------


@cases("n_teachers, agreement", (7, 0.8), (250, 0.51), (250, 1.0))
def test_share_right_of_two_classes_equals_normal_cdf(n_teachers, agreement):
    plan = planned(GNMax(30.0), n_teachers=n_teachers, n_classes=2)
    expected = norm.cdf((2 * math.ceil(agreement * n_teachers) - n_teachers) / (30 * math.sqrt(2)))
    assert plan.share_right(agreement) == pytest.approx(expected, rel=1e-9)
    assert plan.share_answered(agreement) == pytest.approx(1)


@cases(
    "aggregator, sample",
    (GNMax(60.0), lambda rng, shape: rng.normal(scale=60, size=shape)),
    (LNMax(0.02), lambda rng, shape: rng.laplace(scale=50, size=shape)),
    (ExponentialNMax(0.02), lambda rng, shape: rng.exponential(50, size=shape)),
    (GNMax(60.0, "discrete"), lambda rng, shape: np.rint(rng.normal(scale=60, size=shape))),
)
def test_share_right_of_ten_classes_equals_sampled_noise(aggregator, sample, global_random_seed):
    """Finds shares that are wrong by 0.012, in all but one of 10^5 runs."""
    noisy = sample(np.random.default_rng(global_random_seed), (100_000, 10))
    noisy[:, :2] += 200, 50
    share = (noisy.argmax(axis=1) == 0).mean()
    assert share_is_close(share, planned(aggregator).share_right(0.8), 100_000)


def share_is_close(share, expected, n, scales=6):
    """Return whether a share of sampled votes is as expected, but once in 10^9 runs."""
    return abs(share - expected) < scales * math.sqrt(expected * (1 - expected) / n)


def test_share_right_counts_answered_queries_only(global_random_seed):
    """Finds shares that are wrong by 0.015, in all but one of 10^5 runs."""
    rng = np.random.default_rng(global_random_seed)
    noisy = rng.normal(scale=40, size=(200_000, 10))
    noisy[:, :2] += 150, 100
    passes = 150 + rng.normal(scale=20, size=200_000) >= 170
    right = noisy.argmax(axis=1)[passes] == 0
    plan = planned(ConfidentGNMax(170, 20.0, 40.0))
    assert share_is_close(passes.mean(), plan.share_answered(0.6), 200_000)
    assert share_is_close(right.mean(), plan.share_right(0.6), len(right))


def test_share_right_of_stages_weights_queries_and_answers():
    confident = ConfidentGNMax(0.9, 5.0, 40.0)
    alone = [planned(confident), planned(GNMax(60.0))]
    both = plan_queries([confident, GNMax(60.0)], [100, 300], **SIZES, epsilon=None)
    answered = [plan.share_answered(0.8) for plan in alone]
    right = [plan.share_right(0.8) for plan in alone]
    assert answered[0] < 0.01 and answered[1] == pytest.approx(1)
    assert both.share_answered(0.8) == pytest.approx(0.25 * answered[0] + 0.75 * answered[1])
    expected = 0.25 * answered[0] * right[0] + 0.75 * answered[1] * right[1]
    assert both.share_right(0.8) * both.share_answered(0.8) == pytest.approx(expected)


@pytest.mark.parametrize("aggregator", [GNMax(3.0), LNMax(0.3), ExponentialNMax(0.3)])
def test_share_right_is_the_minimum_over_votes_of_other_classes(aggregator):
    least = planned(aggregator, n_teachers=10, n_classes=4).share_right(0.6)
    spreads = [[6, a, b, 4 - a - b] for a in range(5) for b in range(5 - a)]
    right = np.exp(aggregator.outcome_log_proba(spreads)[:, 0])
    assert right.min() == pytest.approx(least, rel=1e-9) and right.max() > least + 0.001


def test_share_answered_of_stable_argmax_is_all_or_none():
    plan = planned(StableArgmax(1.0, 2), 300, n_teachers=1000, n_classes=2)
    assert plan.share_answered(0.6) == pytest.approx(1, abs=0.05) and plan.share_right(0.6) == 1
    few = planned(StableArgmax(1.0, 2), 300, n_teachers=20, n_classes=2)
    assert few.share_answered(0.95) == 0 and math.isnan(few.share_right(0.95))
    assert "right       none: no query is answered" in str(few)
    assert "almost no query will be answered" in few.advice[-1]


@pytest.mark.parametrize("agreement", [0.5, 0.2, 1.01, -1, math.nan])
def test_share_right_refuses_agreement_without_majority(agreement):
    with pytest.raises(ValueError, match="agreement must be a share of the teachers"):
        planned(GNMax(40.0)).share_right(agreement)
    with pytest.raises(ValueError, match="share_right requires teachers"):
        pate(method=ReverseNeighbors()).plan(X, Y, X_PUBLIC).share_right(0.8)


# --- labels --------------------------------------------------------------------------------------


def test_plan_n_labels_equals_answers_of_a_fit():
    aggregator = ConfidentGNMax(0.6, 10.0, 6.0)
    clf = pate(aggregator=aggregator, n_queries=400, epsilon=5.0)
    votes = np.tile([100, 0, 0], (400, 1))
    public = {"n_public": 400, "n_teachers": 100, "n_classes": 3}
    plan = plan_queries(aggregator, 400, **public, epsilon=5.0, delta=1e-5)
    assert 3 <= plan.n_labels < plan.n_queries == 400
    stops = f"epsilon=5 pays for {plan.n_labels} answers to the 400 requested queries: a fit stops"
    with (
        pytest.warns(UserWarning, match=stops),
        pytest.warns(UserWarning, match="only those were queried"),
        pytest.warns(UserWarning, match="all .* released labels are of one class"),
    ):
        clf.fit_votes(votes, X_PUBLIC)
    assert clf.privacy_spent_.n_answered == plan.n_labels
    assert plan.labels_per_class == plan.n_labels / 3


# --- advice --------------------------------------------------------------------------------------


def test_plan_advises_more_teachers_for_few_labels():
    sizes = {"n_public": 2000, "n_classes": 4, "epsilon": 1.0, "delta": 1e-5}
    text = plan_queries(GNMax(sigma=None), None, n_teachers=60, **sizes).advice[0]
    assert text.startswith("4 classes and 60 teachers: ")
    assert text.endswith("raise epsilon, or set method='neighbors'")
    assert not plan_queries(GNMax(None), None, n_teachers=300, **sizes).advice


def test_plan_of_sites_advises_no_other_method():
    sites = Sites(lambda name: None, list("0123456789"))
    advice = PATEClassifier(GaussianNB(), classes=[0, 1]).plan(sites, None, np.eye(50, 2)).advice
    assert len(advice) == 2 and any("large for the votes" in text for text in advice)
    assert not any("neighbors" in text for text in advice)


@cases(
    "aggregator, n_queries, epsilon, n_teachers, helps",
    (GNMax(sigma=None), 500, 1.0, 100, "use fewer queries, raise epsilon"),
    (ConfidentGNMax(0.6, 100.0, 40.0), 200, 60.0, 40, "set less noise"),
    ids=str,
)
def test_plan_advises_more_teachers_where_noise_exceeds_votes(
    aggregator, n_queries, epsilon, n_teachers, helps
):
    sizes = {"n_public": 1000, "n_classes": 10, "epsilon": epsilon, "delta": 1e-5}
    plan = plan_queries(aggregator, n_queries, n_teachers=n_teachers, **sizes)
    (text,) = (text for text in plan.advice if "large for the votes" in text)
    assert f"only {math.floor(100 * plan.share_right(0.8))}% of the labels are right" in text
    assert f"use more teachers, {helps}, or set method='neighbors'" in text
    more = plan_queries(aggregator, n_queries, n_teachers=10 * n_teachers, **sizes)
    assert more.share_right(0.8) > 0.75


@cases(
    "aggregator, n_queries, changes, advised",
    (GNMax(None), None, {"n_public": 60}, "give 100 or more public rows, not 60"),
    (GNMax(None), 60, {"epsilon": 1.0}, "use more queries, n_queries=100 or None, or set"),
    (GNMax(40.0), None, {"epsilon": 0.5}, "raise epsilon, or set method='neighbors'"),
)
def test_plan_advises_remedies_other_than_teachers(aggregator, n_queries, changes, advised):
    assert advised in planned(aggregator, n_queries, **{"epsilon": 8.0} | changes).advice[0]


def test_plan_gives_no_advice_where_all_is_enough():
    assert planned(GNMax(60.0)).advice == []
    assert planned(GNMax(40.0), 10, n_classes=2, n_teachers=1000).advice != []  # 5 labels per class
    assert planned(GNMax(60.0), 20, n_classes=2).advice == []


def test_weak_promise_and_large_delta_start_at_their_limits():
    assert weak_promise(10.0, "record") is None
    group = str(weak_promise(10.18, "group"))
    assert "one group may make an outcome 26,000 times as likely" in group
    assert "no privacy is guaranteed" in str(weak_promise(math.inf, "record"))
    assert "epsilon is infinite" in planned(PluralityVote()).advice[-1]
    assert large_delta(0.01, n_teachers=50, n_records=99) is None
    assert "records, 100" in str(large_delta(0.01, n_teachers=50, n_records=100))
    assert "teachers, 100" in str(large_delta(0.01, n_teachers=100)) and large_delta(0.5) is None


# --- refused, and warned of ----------------------------------------------------------------------


def test_fit_refuses_fewer_queries_than_classes_before_spending(ledger):
    clf = pate(n_queries=2, epsilon=8.0, ledger=ledger, random_state=None)
    message = "cannot learn all classes from 2 labels. No more are requested"
    with pytest.raises(BadPlanError, match=message) as caught:
        clf.fit(X, Y, X_PUBLIC)
    assert "use more queries, n_queries=30 or None" in str(caught.value)
    plan = clf.plan(X, Y, X_PUBLIC)
    assert re.search(message, plan.errors[0])
    assert [text for text in plan.advice if "2 labels" in text] == [*plan.errors]
    votes = np.tile([100, 0, 0], (2, 1))
    for own in ({}, {"epsilon": None, "aggregator": GNMax(9.0), "ledger": None}):
        with pytest.raises(BadPlanError, match="no more public rows; give 30 or more public rows"):
            clf.set_params(n_queries=None, **own).fit_votes(votes, X_PUBLIC[:2])
    assert not hasattr(clf, "privacy_spent_") and len(ledger.history()) == 0


def test_plan_refuses_a_budget_for_fewer_queries_than_classes():
    clf = pate(n_teachers=20, epsilon=1.0, aggregator=GNMax(7.0))
    refused = (
        r"2 labels. Epsilon pays for no more \(the cost is 0\.\d+\); raise epsilon, or set "
        "method='neighbors'"
    )
    pytest.raises(BadPlanError, clf.fit, X, Y, X_PUBLIC).match(refused)
    plan = clf.plan(X, Y, X_PUBLIC)
    assert plan.n_labels == 2 and re.search(refused, plan.errors[0])


@pytest.mark.slow
def test_plan_accepts_as_many_queries_as_classes():
    stages = {"aggregator": [GNMax(9.0), GNMax(9.0)], "n_queries": [1, 2], "epsilon": None}
    plan = pate(**stages).plan(X, Y, X_PUBLIC)
    assert plan.n_labels == 3 and plan.errors == ()
    with pytest.warns(UserWarning, match="100 teachers: 1 labels per class"):
        assert pate(**stages).fit(X, Y, X_PUBLIC).privacy_spent_.n_queries == 3


@cases("n_rows, is_warned, is_refused", (5, True, True), (6, True, False), (24, False, False))
def test_plan_warns_of_few_rows_and_refuses_very_few(n_rows, is_warned, is_refused):
    public = X_PUBLIC[:n_rows]
    plan = pate(method=ReverseNeighbors(), epsilon=9.0).plan(X, Y, public)
    text = (
        f"X_public has {n_rows} rows, {n_rows} of them distinct after the transformation: too few "
        "for 3 classes. Give 24 or more distinct rows"
    )
    assert plan.advice == [text] * is_warned and plan.errors == (text,) * is_refused
    equal = pd.concat([public[:1]] * n_rows)
    with pytest.raises(BadPlanError, match=f"all equal.* X_public has {n_rows} rows, 1 of them"):
        pate(method=ReverseNeighbors(), epsilon=9.0).fit(X, Y, equal)


def test_plan_refuses_teachers_only_if_noise_exceeds_unanimous_votes():
    assert pate(n_queries=300, epsilon=0.5).plan(X, Y, X_PUBLIC).errors == ()
    plan = pate(n_queries=300, epsilon=0.01).plan(X, Y, X_PUBLIC)
    (text,) = plan.errors
    assert "large for the votes" in text and plan.share_right(1.0) < 1 / 3 + 0.05
    assert plan.advice == [text] and str(plan).count("too large for") == 1


@pytest.mark.slow
@cases(
    "params, beginnings",
    ({"n_queries": 300, "epsilon": 0.01}, ["the noise of standard deviation"]),
    ({"epsilon": 11.0, "delta": 0.01}, ["delta=0.01 is", "epsilon=11 is a weak"]),
    (
        {"method": ReverseNeighbors(), "delta": 0.1, "aggregator": GaussianMechanism()}
        | {"random_state": 1},  # the noise of one fit in twenty looks like a relation
        ["delta=0.1 is not below one over the number of records, 1847"],
    ),
)
def test_fit_warnings_equal_plan_advice(params, beginnings):
    texts = warned_texts(pate(**params), X, Y, X_PUBLIC)
    assert len(texts) == len(beginnings)
    for text, beginning in zip(texts, beginnings, strict=True):
        assert text.startswith(beginning)
    assert pate(**params).plan(X, Y, X_PUBLIC).advice == texts


@cases(
    "params",
    {"aggregator": GNMax(4000.0), "n_queries": 50},
    {"method": ReverseNeighbors(), "epsilon": 0.001},
)
def test_poll_with_a_synthesizer_refuses_a_hopeless_plan(params):
    drawing = pate(synthesizer=MarginalSynthesizer((-9, 9), missing=[], n_rows=300), **params)
    for act in (drawing.poll, drawing.fit):
        pytest.raises(BadPlanError, act, X, Y).match("cannot work: .*noise.* the votes")
    assert not hasattr(drawing, "X_synthetic_")


# --- the forecast --------------------------------------------------------------------------------


def test_forecast_summary_differs_from_that_of_a_release():
    clf = pate(method=ReverseNeighbors(), epsilon=4.0)
    spent = clf.plan(X, Y, X_PUBLIC).spent
    text = spent.summary()
    assert text.startswith("A forecast, nothing is spent yet.") and "would release" in text
    assert "fit released" not in text and " voted on" not in text
    assert spent.n_answered == 0 and isinstance(spent, PrivacySpent)
    paid = clf.fit(X, Y, X_PUBLIC).privacy_spent_
    assert type(paid) is PrivacySpent and "forecast" not in paid.summary().lower()
    assert tuple(paid) == tuple(spent) and type(pickle.loads(pickle.dumps(paid))) is PrivacySpent


# --- text and pages ------------------------------------------------------------------------------


def test_plan_html_is_escaped():
    evil = "<script>alert('x')</script>&"
    method_summary = MethodSummary(n_teachers=250, n_classes=10, names=(evil,), reason=evil)
    plan = dataclasses.replace(
        planned(GNMax(40.0)), method_summary=method_summary, warnings=(evil,), composition=evil
    )
    page = plan._repr_html_()
    assert "<script" not in page and "@import" not in page and "http" not in page
    assert page.count("&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt;&amp;") == 4


# --- public numbers alone ------------------------------------------------------------------------

DRAWS = MarginalSynthesizer((-3, 3), missing=[], noise=LaplaceMechanism())


def numbers(plan):
    """Return all that a plan contains."""
    names = (
        "n_labels noise_std labels_per_class rows_cost advice errors warnings method_summary spent"
    )
    shares = []
    if plan.has_teachers:
        shares = [(plan.share_right(a), plan.share_answered(a)) for a in (0.6, 0.8, 0.95)]
    values = [getattr(plan, name) for name in names.split()]
    return [*values, shares, plan.epsilon, str(plan.stages), str(plan), plan._repr_html_()]


@cases(
    "params",
    {"aggregator": ConfidentGNMax(0.6, 20.0, 10.0), "n_queries": 50},
    {"method": ReverseNeighbors(), "epsilon": 0.001},
    {"n_queries": 300, "epsilon": 0.01},
    {"method": ReverseNeighbors(relation="add_or_remove_one")},
    {"synthesizer": MarginalSynthesizer((-9, 9), missing=[]), "epsilon": 2.0},
    {"n_teachers": None, "epsilon": 2.0},
    {"base": None, "epsilon": 0.25},
    {"base": None, "epsilon": 2.0, "n_queries": 50},
    {"base": None, "synthesizer": DRAWS, "epsilon": 1.0},
)
def test_plan_is_independent_of_private_values(params):
    public = None if "synthesizer" in params else X_PUBLIC
    other = pd.DataFrame(RNG.exponential(size=X.shape), columns=X.columns)
    one = pate(**params).plan(X, Y, public)
    two = pate(**params).plan(other, np.zeros(N_RECORDS, dtype=int), public)
    assert numbers(one) == numbers(two)


@cases("params", {"method": ReverseNeighbors(relation="add_or_remove_one")}, {"partition": "hash"})
def test_plan_is_independent_of_a_private_number_of_records(params):
    named = X.set_axis([f"name {k}" for k in range(N_RECORDS)])
    one = pate(**params).plan(named, Y, X_PUBLIC)
    two = pate(**params).plan(named[:1200], Y[:1200], X_PUBLIC)
    assert (
        numbers(one) == numbers(two)
        and "1847" not in str(one)
        and one.method_summary.n_records is None
    )


def test_plan_pickle_contains_no_private_data():
    people = np.array([f"person-{k:05d}-SECRET" for k in range(N_RECORDS)])
    rows = MarginalSynthesizer((-9, 9), missing=[], n_rows=600)
    for params in ({}, {"method": ReverseNeighbors()}, {"synthesizer": rows, "epsilon": 8.0}):
        public = None if "synthesizer" in params else X_PUBLIC
        plan = pate(**{"epsilon": 4.0} | params).plan(X, Y, public, groups=people)
        pickled = pickle.dumps(plan)
        assert len(pickled) < 20_000 and str(pickle.loads(pickled)) == str(plan)
        assert b"SECRET" not in pickled


# --- budgets that would be spent for nothing ------------------------------------------------------

DATA, LABELS = load_breast_cancer(return_X_y=True)
ORDER = np.random.default_rng(0).permutation(len(LABELS))
CELLS, ILL = DATA[ORDER[:350]], LABELS[ORDER[:350]]
OTHER_CELLS = DATA[ORDER[350:]]


def of_two(base_estimator=None, **params):
    return PATEClassifier(base_estimator, **({"classes": [0, 1]} | params))


EQUAL = np.tile(OTHER_CELLS[:1], (100, 1))
ALL_EQUAL = "rows of X_public are all equal"
NOISY = {"n_teachers": 5, "aggregator": GNMax(100.0), "n_queries": 50}
HOPELESS = {
    "noise": (of_two(epsilon=0.01), CELLS[:100], OTHER_CELLS, "noise on the votes: there"),
    "three rows": (of_two(), CELLS, OTHER_CELLS[:3], "X_public has 3 rows"),
    "equal rows": (of_two(), CELLS, EQUAL, "1 of them distinct"),
    "equal, teachers": (of_two(GaussianNB(), n_teachers=20), CELLS, EQUAL, ALL_EQUAL),
    "noise of teachers": (of_two(GaussianNB(), **NOISY), CELLS, OTHER_CELLS, "large for the votes"),
}


@pytest.mark.filterwarnings("ignore")
@table("clf, private, public, words", HOPELESS)
def test_fit_refuses_a_hopeless_plan(clf, private, public, words, tmp_path):
    labels = ILL[: len(private)]
    plan = clf.plan(private, labels, X_public=public)
    assert any(words in text for text in plan.errors) and words in " ".join(plan.advice)
    assert "! fit refuses: " in str(plan)
    votes = clf.poll(private, labels, X_public=public)
    for act, of_act in (
        (partial(clf.fit, private, labels, public), words),
        (partial(clf.fit_votes, votes, public), ALL_EQUAL if public is EQUAL else words),
    ):
        with pytest.raises(BadPlanError, match=f"this fit cannot work: .*{of_act}") as caught:
            act()
        assert caught.value.plan.epsilon == plan.epsilon
    assert not hasattr(clf, "privacy_spent_")
    insists = of_two(**(clf.get_params(deep=False) | {"on_bad_plan": "warn"}))
    with pytest.warns(UserWarning, match=words):
        insists.fit(private, labels, X_public=public)
    assert insists.privacy_spent_.epsilon > 0


def test_fit_accepts_a_plan_that_works():
    assert of_two().plan(CELLS, ILL, X_public=OTHER_CELLS).errors == ()
    clf = of_two(GaussianNB(), n_teachers=40, epsilon=2, random_state=0)
    assert clf.fit(CELLS, ILL, OTHER_CELLS).n_teachers_ == 40


# --- how much the cells explain ------------------------------------------------------------------


@pytest.mark.parametrize("n_columns, low, high", [(2, 0.9, 1), (10, 0.3, 0.8), (200, 0, 0.05)])
def test_explained_share_falls_with_independent_columns(n_columns, low, high):
    public = np.random.default_rng(0).normal(size=(3000, n_columns))
    assert low <= explained_share(public, 100, 0) <= high
    assert explained_share(np.ones((50, n_columns)), 10, 0) == 0


@pytest.mark.slow
def test_plan_warns_of_many_weak_columns():
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(9000, 200))
    slopes = 4 * rng.normal(size=200) / np.sqrt(200)
    labels = (rng.random(9000) < 1 / (1 + np.exp(-wide @ slopes))).astype(int)
    clf = of_two(method=ReverseNeighbors())
    plan = clf.plan(wide[:6000], labels[:6000], X_public=wide[6000:])
    assert plan.method_summary.cells.explained < 0.05 and "as good as a coin flip" in plan.advice[0]
    assert "explained   2% of the variance of the public rows" in str(plan)
    with pytest.warns(UserWarning, match="as good as a coin flip"):
        clf.fit(wide[:6000], labels[:6000], X_public=wide[6000:])


# --- paid results are not lost -------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_explained_share_of_unrelated_truth_values_is_zero(share):
    rows = (np.random.default_rng(0).random((1000, 100)) < share).astype(float)
    assert explained_share(rows, 1, 0) < 0.01 and explained_share(rows, 100, 0) < 0.05


def test_fit_keeps_the_model_where_warnings_are_errors(monkeypatch):
    monkeypatch.setattr(ReleasedTable, "p_value", 0.5)
    clf = of_two()
    raises = pytest.raises(UserWarning, match="little better than a coin flip")
    with warnings.catch_warnings(action="error"), raises:
        clf.fit(CELLS, ILL, X_public=OTHER_CELLS)
    assert clf.predict(OTHER_CELLS).shape == (219,)
