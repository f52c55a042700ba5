"""The ledger adds up, refuses and survives."""

import math
import pickle
import sqlite3
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from copy import deepcopy
from dataclasses import replace
from functools import cache, partial, reduce

import numpy as np
import pytest
from conftest import cases, sampled
from faulty import RaisesIt
from hypothesis import given, settings
from hypothesis import strategies as st
from joblib import parallel_config
from processes import run_script
from scipy.stats import binom, norm
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB

from sklearn_pate import PATEClassifier, PrivacySpent, PublicData, rdp
from sklearn_pate.accounting import plan_queries
from sklearn_pate.aggregators import ConfidentGNMax, GNMax, LNMax, SoftVote, StableArgmax
from sklearn_pate.exceptions import BudgetExceededError, PrivacyTestError, TeacherError
from sklearn_pate.ledger import PrivacyLedger
from sklearn_pate.ledger.file import (
    read_budget,
    read_costs,
    read_filters,
    transaction,
    write_fit,
)
from sklearn_pate.ledger.filters import parts_of
from sklearn_pate.methods import ReverseNeighbors
from sklearn_pate.model_selection import PrivateGridSearchCV
from sklearn_pate.rdp import Contribution, NeighboringRelation
from sklearn_pate.rdp.discrete import gaussian_table_cost, laplace_table_cost
from sklearn_pate.releases.labels import LabelsRelease

ONE = Contribution.of_counts(1)
VOTES = np.column_stack([np.full(200, 70), np.full(200, 30)])
VOTES[::2] = VOTES[::2, ::-1]
ROWS = np.column_stack([np.arange(200) % 2, np.arange(200)]).astype(float)


def fit_votes(ledger, aggregator, n_queries, **params):
    given = {"aggregator": aggregator, "n_queries": n_queries, "ledger": ledger} | params
    clf = PATEClassifier(GaussianNB(), **given)
    with warnings.catch_warnings(action="ignore"):  # budgets that cut queries
        return clf.fit_votes(VOTES, ROWS)


def data(n=1500, n_public=300, seed=0):
    X = np.random.default_rng(seed).normal(size=(n + n_public, 2))
    return X[:n], (X[:n, 0] > 0).astype(int), X[n:]


# --- adding up ----------------------------------------------------------------------------------


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.sqlite"


class Unsafe(sqlite3.Connection):
    """Does not wait until the disk has the data."""

    def execute(self, statement, *values):
        statement = statement.replace("synchronous = EXTRA", "synchronous = OFF")
        return super().execute(statement, *values)


@pytest.fixture(autouse=True)
def no_wait_for_the_disk(request, monkeypatch):
    if "power_cut" not in request.node.name:
        monkeypatch.setattr("sqlite3.connect", partial(sqlite3.connect, factory=Unsafe))


@pytest.mark.parametrize("aggregator", [GNMax(40.0), LNMax(0.05)], ids=["GNMax", "LNMax"])
def test_ledger_total_of_fits_is_close_to_one_fit_of_all_queries(path, aggregator):
    ledger = PrivacyLedger(path, epsilon=3.0)
    for done in range(1, 9):
        fit_votes(ledger, aggregator, 20, epsilon=None)
        # one fit of as many queries, by an account that may choose the best order afterwards
        public = {"n_teachers": 100, "n_classes": 2}
        together, _ = rdp.data_independent_epsilon(aggregator, 20 * done, 1e-5, **public)
        assert together <= ledger.epsilon_spent <= 3.0
    assert ledger.epsilon_spent <= 1.3 * together
    history = ledger.history()
    assert len(history) == 8 and history["n_queries"].eq(20).all()
    assert history["epsilon_total"].is_monotonic_increasing
    assert history["epsilon"].sum() > 1.5 * ledger.epsilon_spent  # far less than the plain sum


COSTS = GNMax(30.0).costs(n_teachers=100, n_classes=2)
NUMBERS = {"n_teachers": 100, "n_queries": 5, "n_answered": 0}
SPENT = PrivacySpent(1.0, 1e-5, "renyi", "record", "replace_one", **NUMBERS)


@settings(max_examples=10, deadline=None)
@given(st.lists(st.integers(1, 60), min_size=1, max_size=12), st.floats(0.3, 4.0))
def test_ledger_total_covers_an_independent_sum_within_budget(tmp_path_factory, queried, epsilon):
    ledger = PrivacyLedger(tmp_path_factory.mktemp("ledger") / "one", epsilon=epsilon)
    total = COSTS(sum(n for n in queried if recorded(ledger, [COSTS(n)]))).epsilon(1e-5)[0]
    assert total <= ledger.epsilon_spent + 1e-9 <= epsilon + 2e-9


@pytest.mark.parametrize(
    ("budget", "error", "message"),
    [(0.5, BudgetExceededError, "ledger's epsilon=0.5"), (2.0, TeacherError, "teacher 0 failed")],
    ids=["over budget", "teachers fail"],
)
def test_ledger_refuses_fits_over_budget_before_training(path, budget, error, message):
    ledger = PrivacyLedger(path, epsilon=budget)
    with pytest.raises(error, match=message):
        clf = PATEClassifier(RaisesIt(RuntimeError("trained")), classes=[0, 1], ledger=ledger)
        clf.fit(*data())
    assert ledger.epsilon_spent == 0.0


def test_ledger_records_costs_before_labels_are_released(path, monkeypatch):
    def interrupted(self, given, *args):
        assert len(given.estimator.ledger.history()) == 1
        raise KeyboardInterrupt

    monkeypatch.setattr(LabelsRelease, "publish", interrupted)
    ledger = PrivacyLedger(path, epsilon=1.0)
    with pytest.raises(KeyboardInterrupt):
        PATEClassifier(GaussianNB(), n_queries=20, ledger=ledger).fit_votes(VOTES, ROWS)
    assert PrivacyLedger(path, epsilon=1.0).epsilon_spent > 0.99


def test_ledger_records_a_private_test_that_fails(path):
    votes = np.full((200, 2), 125)
    given = {"aggregator": GNMax(28.0), "n_queries": 200, "accounting": "ptr"}
    given["ledger"] = PrivacyLedger(path, epsilon=3.0, reserved_delta=5e-6)
    clf = PATEClassifier(GaussianNB(), epsilon=1.5, delta=4e-6, **given)
    pytest.raises(PrivacyTestError, clf.fit_votes, votes, ROWS)
    assert clf.ledger.history()["composition"].tolist() == ["propose-test-release"]
    assert clf.ledger.epsilon_spent == 1.5


def test_filter_cost_is_its_cap_below_its_order_and_the_total_above():
    public = {"n_public": 2000, "n_teachers": 250, "n_classes": 2}
    stage = ConfidentGNMax(threshold=0.8, sigma1=100.0, sigma2=40.0)
    plan = plan_queries(stage, 2000, **public, epsilon=1.0, delta=1e-5)
    full = stage.costs(n_teachers=250, n_classes=2)(2000)
    below = plan.budget.order >= rdp.DEFAULT_ORDERS
    assert plan.composition == "filter" and below.any() and not below.all()
    assert (plan.cost.rdp[below] == np.minimum(plan.budget.limit, full.rdp[below])).all()
    assert (plan.cost.rdp[~below] == full.rdp[~below]).all() and plan.cost.epsilon(1e-5)[0] <= 1.0
    assert plan.cost.mu_squared == full.mu_squared


@pytest.mark.slow
def test_ledger_file_is_shared_by_clones_pickles_and_searches(path):
    X, y, X_public = data(200, 60)
    ledger = PrivacyLedger(path, epsilon=8.0)
    given = {"aggregator": GNMax(8.0), "n_queries": 2, "classes": [0, 1], "student": GaussianNB()}
    clf = PATEClassifier(GaussianNB(), n_teachers=50, ledger=ledger, **given)
    search = GridSearchCV(clf, {"n_teachers": [40, 50]}, cv=2, n_jobs=2)
    with parallel_config(backend="multiprocessing"):  # of processes that start at once
        search.fit(X, y, X_public=PublicData(X_public))
    assert len(pickle.loads(pickle.dumps(ledger)).history()) == 5  # 2 candidates x 2 folds + refit
    kept = pickle.loads(pickle.dumps(clf.fit(X, y, X_public))).ledger
    assert kept.path == ledger.path  # a refit of the unpickled model is on the budget as well


# --- compositions -----------------------------------------------------------------------


def pure_cost(epsilon, delta=0.0):
    return rdp.Cost(rdp.pure_rdp(epsilon, rdp.DEFAULT_ORDERS), math.inf, epsilon, delta)


def gaussian_cost(mu):
    return rdp.Cost(rdp.DEFAULT_ORDERS * mu**2 / 2, mu**2, math.inf)


RENYI_ONLY = rdp.Cost(0.01 * rdp.DEFAULT_ORDERS, math.inf, math.inf)


def recorded(ledger, costs):
    """How many of the costs a ledger takes."""
    taken = 0
    for cost in costs:
        try:
            ledger.record(SPENT, cost)
        except BudgetExceededError:
            continue
        taken += 1
    return taken


def test_gaussian_ledger_adds_gaussian_and_pure_fits(path):
    mus = [0.5, 0.8, 0.3]
    pures = [0.4, 1.0]
    ledger = PrivacyLedger(path, epsilon=8.0, composition="gaussian", reserved_delta=0)
    assert recorded(ledger, [gaussian_cost(mu) for mu in mus] + [pure_cost(e) for e in pures]) == 5
    squared = sum(mu**2 for mu in mus)
    squared += sum((2 * norm.ppf(1 / (1 + math.exp(-e)))) ** 2 for e in pures)
    assert ledger.epsilon_spent == pytest.approx(rdp.gdp_to_epsilon(math.sqrt(squared), 1e-5))


@pytest.mark.slow
def test_gaussian_ledger_pays_for_as_many_fits_as_exact_composition(path):
    ledger = PrivacyLedger(path, epsilon=4.0, composition="gaussian", reserved_delta=0)
    assert recorded(ledger, [gaussian_cost(0.1)] * 200) == int(rdp.gdp_mu(4.0, 1e-5) ** 2 / 0.1**2)
    ledger = PrivacyLedger(path.with_name("3"), epsilon=4.0, composition="gaussian")
    tables = gaussian_table_cost(10.0, Contribution.of_counts(1))  # discrete noise
    ledger.record(SPENT, tables.times(50))
    assert ledger.epsilon_spent == pytest.approx(rdp.gdp_to_epsilon(math.sqrt(0.5), 0.9e-5))
    # the queries of a pure mechanism enter one by one, which is much less than their sum would
    for cost, steps in ((LNMax(0.05).costs()(5), 5), (StableArgmax(0.1, 20).costs()(5), 20)):
        step = 2 * norm.ppf(1 / (1 + math.exp(-0.1)))  # of the 0.1-DP query, or run
        assert cost.mu_squared == pytest.approx(steps * step**2)


RENYI = "composition='renyi'"


@cases(
    "composition, cost, message",
    ("gaussian", RENYI_ONLY, f"composition='gaussian'.*no finite cost .*{RENYI}"),
    ("pure", RENYI_ONLY, f"composition='pure'.*no finite cost .*{RENYI}"),
    ("pure", gaussian_cost(0.1), f"composition='pure'.*no finite cost .*{RENYI}"),
    ("renyi", replace(COSTS(1), pure=-1.0), "no negative numbers and no NaN"),
    ("renyi", replace(COSTS(1), pure=math.nan), "no negative numbers and no NaN"),
    ("renyi", replace(COSTS(1), rdp=COSTS(1).rdp[:5]), "one Renyi cost for each of the 204"),
)
def test_ledger_refuses_costs_that_are_negative_or_cannot_be_added(
    path, composition, cost, message
):
    ledger = PrivacyLedger(path, epsilon=8.0, composition=composition)
    for act in (ledger.check, ledger.record):
        pytest.raises((ValueError, BudgetExceededError), act, SPENT, cost).match(message)
    assert len(ledger.history()) == 0


@pytest.mark.parametrize("composition", ["gaussian", "pure"])
def test_ledger_without_renyi_refuses_searches_before_training(path, composition):
    ledger = PrivacyLedger(path, epsilon=4.0, composition=composition)
    clf = PATEClassifier(RaisesIt(RuntimeError("trained")), classes=[0, 1], ledger=ledger)
    search = PrivateGridSearchCV(clf, {"n_teachers": [50, 60]}, epsilon=2.0, n_trials=2)
    with pytest.raises(ValueError, match="composition='tuning'.*composition='renyi'"):
        search.fit(*data(600))
    assert len(ledger.history()) == 0


@pytest.mark.parametrize("composition", ["renyi", "gaussian", "pure"])
@pytest.mark.parametrize("epsilon, delta", [(0.01, 1e-5), (1.0, 1e-9), (8.0, 1e-3)])
def test_ledger_parts_of_delta_sum_to_delta(path, composition, epsilon, delta):
    ledger = PrivacyLedger(path, epsilon, delta, composition=composition)
    with sqlite3.connect(path) as db:
        parts = [part for (part,) in db.execute("SELECT delta FROM filters")]
    db.close()
    assert delta * 0.999 <= sum(parts) + ledger.reserved_delta <= delta * (1 + 1e-12)


def test_ledger_composition_is_fixed_by_its_file(path):
    PrivacyLedger(path, 1.0, composition="gaussian")
    with pytest.raises(ValueError, match="1e-05, 'composition': 'gaussian', .*; got .*'renyi'"):
        PrivacyLedger(path, 1.0)
    with pytest.raises(ValueError, match="'reserved_delta': 1.0.*; got .*: 5e-06.*. The budget"):
        PrivacyLedger(path, 1.0, composition="gaussian", reserved_delta=5e-6)
    with pytest.raises(ValueError, match="composition must be one of .'renyi', .* got 'zcdp'"):
        PrivacyLedger(path.with_name("new"), 1.0, composition="zcdp")
    for wrong in (-1e-9, 1e-5, math.nan, "x"):
        with pytest.raises(ValueError, match="reserved_delta is a part of delta=1e-05: it"):
            PrivacyLedger(path.with_name("new"), 1.0, reserved_delta=wrong)
    assert not path.with_name("new").exists()


@pytest.mark.parametrize("composition", ["renyi", "gaussian", "pure"])
def test_ledger_of_each_composition_adds_pure_fits_and_deltas(path, composition):
    ledger = PrivacyLedger(path, epsilon=8.0, composition=composition)
    assert recorded(ledger, [pure_cost(1.0)] * 12) == 8 and ledger.epsilon_spent == 8.0
    given = {"composition": composition, "reserved_delta": 3e-6}
    ledger = PrivacyLedger(path.with_name("2"), 8.0, **given)
    assert recorded(ledger, [pure_cost(0.1, 1e-6)] * 5) == 3
    with pytest.raises(BudgetExceededError, match="3e-06 of this delta is .* fit has 1e-06, and"):
        ledger.record(SPENT, pure_cost(0.1, 1e-6))
    ledger.record(SPENT, pure_cost(0.1))


# Fits as an independent accountant sees them: the outcomes of the mechanism on votes of 100
# teachers and on neighbouring votes, from its parameters alone


#: Noise, as a factor of the usual one; few, as their costs take long to compute
LEVELS = [0.6, 1.0, 1.4]


@cache
def costs_of(aggregator, *noise):
    return aggregator(*noise).costs(n_teachers=100, n_classes=2)


def gnmax_pair(rng, size):
    sigma, n = 30 * rng.choice(LEVELS) / size, int(rng.integers(1, 11))
    proba = norm.cdf([2 / (math.sqrt(2) * sigma), 0])  # a gap of 2 votes, and of none
    return costs_of(GNMax, sigma)(n), [binom.logpmf(np.arange(n + 1), n, p) for p in proba]


def responses(epsilon, n):
    """The `epsilon`-DP step whose composition costs most, repeated."""
    return [binom.logpmf(np.arange(n + 1), n, 1 / (1 + math.exp(-s * epsilon))) for s in (1, -1)]


def pure_pair(rng, size):
    epsilon = 0.1 * (0.5 + rng.random()) * size
    return pure_cost(epsilon), responses(epsilon, 1)


def soft_pair(rng, size):
    sigma, n = 40 * (0.5 + rng.random()) / size, int(rng.integers(1, 11))
    return SoftVote(sigma).costs()(n), sigma / math.sqrt(2 * n)  # sensitivity sqrt(2) each


def least_epsilon(pairs, delta):
    """No more than the epsilon of the composition: every privacy loss is rounded down."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    given = {"pessimistic_estimate": False, "value_discretization_interval": 1e-3}
    steps = []
    for pair in pairs:
        if isinstance(pair, float):
            steps.append(pld.from_gaussian_mechanism(pair, **given))
        else:
            there, back = (dict(enumerate(log_pmf)) for log_pmf in pair)
            steps.append(pld.from_two_probability_mass_functions(there, back, **given))
    return reduce(lambda one, other: one.compose(other), steps).get_epsilon_for_delta(delta)


KINDS = [gnmax_pair, pure_pair, soft_pair]


@pytest.mark.slow
def test_ledger_total_covers_random_sequences_of_fits(tmp_path):
    tightest = {}
    for seed in range(20):
        rng = np.random.default_rng(seed)
        composition = ["renyi", "gaussian", "renyi", "pure", "renyi"][seed % 5]
        epsilon = float(rng.choice([1.0, 4.0, 8.0]))
        kinds = rng.choice(3, size=rng.integers(1, 4), replace=False)
        ledger = PrivacyLedger(tmp_path / str(seed), epsilon, composition=composition)
        pairs, failures, refused, spent = [], 0.0, 0, 0.0
        while len(pairs) < 25 and refused < 3:
            size = epsilon * rng.choice([1.0, 3.0])
            cost, pair = KINDS[rng.choice(kinds)](rng, size)
            try:
                ledger.record(SPENT, cost)
            except ValueError:
                refused += 1
                assert ledger.epsilon_spent == spent
                continue
            pairs.append(pair)
            failures += cost.delta
            spent = ledger.epsilon_spent
            assert spent <= epsilon
        assert failures <= ledger.reserved_delta
        if pairs:
            # with a probability of `failures` all is revealed, else the composition of the others
            least = least_epsilon(pairs, (1e-5 - failures) / (1 - failures))
            assert least <= spent
            tightest[composition] = max(tightest.get(composition, 0.0), least / spent)
    assert tightest["renyi"] > 0.8 and tightest["gaussian"] > 0.8 and tightest["pure"] > 0.6


@pytest.mark.parametrize("composition", ["renyi", "gaussian", "pure"])
def test_ledger_bounds_delta_of_adaptive_strategies(tmp_path, composition):
    # The largest probability of a loss that the guarantee does not cover, over all strategies:
    # by the number of steps of each kind so far and the loss of their results
    epsilon, delta = 1.0, 0.05
    steps = [(pure_cost(0.25), 0.25), (pure_cost(0.6), 0.6), (pure_cost(0.25, 0.005), 0.25)]
    start = (0,) * len(steps)
    ledgers = {start: None}

    def after(taken):
        """The ledger's answer: may a run end there?"""
        if taken not in ledgers:
            file = tmp_path / f"{composition} {taken}"
            ledger = PrivacyLedger(file, epsilon, delta, composition=composition)
            costs = [cost for (cost, _), n in zip(steps, taken, strict=True) for _ in range(n)]
            ledgers[taken] = recorded(ledger, costs) == len(costs)
        return ledgers[taken]

    known = {}

    def worst(taken, net):
        loss = sum(e * n for (_, e), n in zip(steps, net, strict=True))
        if (taken, net) not in known:
            best = max(0.0, 1 - math.exp(epsilon - loss))
            for k, (cost, e) in enumerate(steps):
                then = tuple(n + (j == k) for j, n in enumerate(taken))
                if sum(then) <= 10 and after(then):
                    true = 1 / (1 + math.exp(-e))
                    up = tuple(n + (j == k) for j, n in enumerate(net))
                    down = tuple(n - (j == k) for j, n in enumerate(net))
                    value = true * worst(then, up) + (1 - true) * worst(then, down)
                    best = max(best, cost.delta + (1 - cost.delta) * value)
            known[taken, net] = best
        return known[taken, net]

    assert worst(start, start) <= delta and len(ledgers) > 5


# --- which file -------------------------------------------------------------------------


def test_ledger_attributes_cannot_be_set(path):
    ledger = PrivacyLedger(path, epsilon=1.0)
    for name in ("epsilon", "delta", "path", "composition", "reserved_delta"):
        pytest.raises(AttributeError, setattr, ledger, name, 50.0)


def test_ledger_raises_for_a_lost_file(path):
    ledger = PrivacyLedger(path, epsilon=1.0)
    path.unlink()
    pytest.raises(ValueError, fit_votes, ledger, GNMax(40.0), 5).match("nothing was recorded")
    assert not path.exists()


REPLACED = "cannot be used as a ledger|is another ledger|was created with .'epsilon': 1.0, "


@pytest.mark.parametrize("budget", [1.0, 100.0])
def test_ledger_refuses_a_file_that_replaced_its_own(path, budget):
    ledger = PrivacyLedger(path, 100.0)
    clf = PATEClassifier(GaussianNB(), aggregator=GNMax(40.0), n_queries=5, ledger=ledger)
    kept = pickle.dumps(clf)
    copied = clone(clf)
    ledger.record(SPENT, COSTS(1))
    path.unlink()
    for is_replaced in (False, True):
        if is_replaced:
            new = PrivacyLedger(path, budget)
        for model in (pickle.loads(kept), clf, copied, deepcopy(clf)):
            pytest.raises(ValueError, model.fit_votes, VOTES, ROWS).match(REPLACED)
            pytest.raises(ValueError, model.ledger.history).match(REPLACED)
            for use in (model.ledger.record, model.ledger.check):
                pytest.raises(ValueError, use, SPENT, COSTS(1)).match(REPLACED)
            assert path.exists() == is_replaced  # no new budget is made on the quiet
    assert len(new.history()) == 0
    new.record(SPENT, COSTS(1))


# --- files of version 0.1 -------------------------------------------------------------------------

#: The unit and the text in an old file, and the relation that it is now
OLD_TEXTS = [
    ("record", "replace one record", "replace_one"),
    ("group", "replace one group, or add, remove or change some of its records", "replace_one"),
    ("teacher", "change the votes of one", "replace_one"),
    ("record", "add or remove one record", "add_or_remove_one"),
    ("group", "add or remove one group, with all of its records", "add_or_remove_one"),
    (
        "record",
        "add or remove one record, or change it under the same identifier",
        "add_remove_or_change_one",
    ),
    (
        "group",
        "add or remove one group, or change its records under the same identifier",
        "add_remove_or_change_one",
    ),
    (
        "group",
        "add, remove or change records of one named group, even all; the names are public",
        "change_one_named",
    ),
    (
        "group",
        "add, remove or change records of one named group, which keeps at least one; no name joins",
        "change_one_named_nonempty",
    ),
]


class Stated:
    """A partition that states a relation."""

    def __init__(self, relation):
        self.relation = relation

    def assign(self, *, n_records, n_teachers, index=None, groups=None, seed=None):
        return np.arange(n_records) % 30 % n_teachers


def fit_with(ledger, unit, relation):
    """Fit a model that protects one unit under a relation."""
    if unit == "teacher":
        return fit_votes(ledger, GNMax(40.0), 5)
    given = {"aggregator": GNMax(2.0), "epsilon": None, "n_queries": 5, "classes": [0, 1]}
    given |= {"n_teachers": 10, "unit": unit, "partition": Stated(relation)}
    X, y, X_public = data(300, 20)
    groups = np.arange(300) % 30 if unit == "group" else None
    clf = PATEClassifier(GaussianNB(), ledger=ledger, **given)
    return clf.fit(X, y, X_public, groups=groups)


def old_file(path, unit, text):
    """Return a ledger with one entry, whose file holds a text as version 0.1 wrote it."""
    PrivacyLedger(path, epsilon=50.0).record(SPENT, COSTS(1))
    with transaction(path) as db:
        db.execute("UPDATE budget SET unit = ?, adjacency = ?", (unit, text))
    return PrivacyLedger(path, epsilon=50.0)


@pytest.mark.parametrize("unit, text, relation", OLD_TEXTS)
def test_ledger_of_version_0_1_accepts_fits_of_its_relation_only(path, unit, text, relation):
    ledger = old_file(path, unit, text)
    with transaction(path) as db:
        _, _, protected = read_budget(db)
    assert protected == (unit, relation) and type(protected[1]) is NeighboringRelation
    others = [other for other in NeighboringRelation if (unit, other) != (unit, relation)]
    refused = [("group" if unit == "record" else "record", relation)]
    refused += [(unit, other) for other in others] if unit != "teacher" else []
    for wrong in refused[:2]:
        with pytest.raises(ValueError, match="cover the same change of the data") as error:
            fit_with(ledger, *wrong)
        spent = replace(SPENT, unit=wrong[0], relation=wrong[1])
        assert f"{text!r}; this fit covers {spent.change!r}" in str(error.value)
    for unit_, other in refused:
        spent = replace(SPENT, unit=unit_, relation=other)
        pytest.raises(ValueError, ledger.check, spent, COSTS(1))
    assert len(ledger.history()) == 1
    for n_fits in (2, 3):
        spent = fit_with(ledger, unit, relation).privacy_spent_
        assert (spent.unit, spent.relation, spent.change) == (unit, relation, text)
        assert len(ledger.history()) == n_fits
    with transaction(path) as db:
        written = db.execute("SELECT unit, adjacency FROM budget").fetchall()
    assert written == [(unit, relation)]


def test_ledger_of_version_0_1_keeps_a_text_of_another_unit_as_custom(path):
    ledger = old_file(path, "record", OLD_TEXTS[1][1])  # of groups, by a partition of the user's
    with pytest.raises(ValueError, match="cover the same change of the data"):
        fit_with(ledger, "record", "replace_one")
    fit_with(ledger, "record", OLD_TEXTS[1][1])
    assert len(ledger.history()) == 2


@cases("text", "replace one record", "replace one household")
def test_ledger_adds_fits_of_a_partition_with_a_custom_relation(path, text):
    ledger = PrivacyLedger(path, epsilon=50.0)
    for n_fits in (1, 2):
        fit_with(ledger, "record", text)
        assert len(ledger.history()) == n_fits
    is_known = text == "replace one record"
    for relation in NeighboringRelation:
        if is_known and relation == "replace_one":
            fit_with(ledger, "record", str(relation))
            continue
        with pytest.raises(ValueError, match="cover the same change of the data"):
            fit_with(ledger, "record", str(relation))
    assert len(ledger.history()) == 2 + is_known


# --- power cuts, kills ----------------------------------------------------------------------------


def test_ledger_entries_survive_a_power_cut(path):
    PrivacyLedger(path, epsilon=1.0)
    with transaction(path) as db:
        assert db.execute("PRAGMA synchronous").fetchone() == (3,)  # EXTRA: the folder, too


KILLED = """
import os, random, signal, sys, time, warnings
import numpy as np
from sklearn.naive_bayes import GaussianNB
from sklearn_pate import PATEClassifier
from sklearn_pate.aggregators import GNMax
from sklearn_pate.releases.labels import LabelsRelease
from sklearn_pate.ledger import PrivacyLedger

folder, n_processes, n_fits = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
votes = np.tile([[70, 30], [30, 70]], (10, 1))
rows = np.arange(40.0).reshape(20, 2)
ledger = PrivacyLedger(folder + "/ledger", epsilon=50.0)

publish = LabelsRelease.publish

def witnessed(*args):  # here labels are about to be published
    if args[1].estimator.ledger is not None:
        os.write(released, b"x")
    return publish(*args)

LabelsRelease.publish = witnessed

def work():
    for _ in range(n_fits):
        clf = PATEClassifier(GaussianNB(), aggregator=GNMax(40.0), n_queries=5, ledger=ledger)
        clf.fit_votes(votes, rows)
        os.write(finished, b"x")
    os._exit(0)

released = os.open(folder + "/released", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
finished = os.open(folder + "/finished", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
warnings.simplefilter("ignore")
random.seed(0)
killed, running = 0, []
def start():
    running.append(os.fork())
    if not running[-1]:
        work()
for _ in range(n_processes):
    start()
while running:
    time.sleep(random.uniform(0, 0.05))
    if killed < n_processes:
        os.kill(running[random.randrange(len(running))], signal.SIGKILL)
    for pid in list(running):
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            running.remove(pid)
            if status:
                killed += 1
                start()
print(killed, len(ledger.history()))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs fork and SIGKILL")
def test_ledger_survives_killed_processes_without_lock_or_lost_entry(tmp_path):
    # Whenever one is killed, which happens each 0.05 s at least, another starts that will fit 15
    # times, which takes longer: so four are killed before the last one ends
    n_processes, n_fits = 4, 15
    run = run_script(KILLED, tmp_path, n_processes, n_fits)
    assert run.returncode == 0, run.stderr
    killed, recorded = run.stdout.split()
    released, finished = (len((tmp_path / f).read_bytes()) for f in ("released", "finished"))
    assert int(killed) >= n_processes and finished >= n_processes * n_fits
    assert finished <= released <= int(recorded) <= released + int(killed)
    with sqlite3.connect(tmp_path / "ledger", timeout=1) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    db.close()


def test_ledger_repr_and_history_have_their_columns(path):
    plain = PrivacyLedger(path, epsilon=1.0, delta=1e-5)
    assert repr(plain).startswith(
        f"PrivacyLedger({path.name!r}, LedgerTerms(epsilon=1.0, delta=1e-05, "
    )
    columns = "time composition n_teachers n_queries epsilon epsilon_total"
    assert list(plain.history().columns) == columns.split()
    kinds = {"composition": "gaussian", "reserved_delta": 0}
    other = PrivacyLedger(path.with_name("other"), epsilon=4.0, **kinds)
    other.record(SPENT, gaussian_cost(0.3))
    assert other.history()["time"][0].endswith("+00:00")


def test_ledger_entry_of_rows_grows_once_and_never_shrinks(path):
    ledger = PrivacyLedger(path, epsilon=4.0)
    entry = ledger.record(replace(SPENT, n_queries=0), gaussian_cost(0.3))
    with pytest.raises(ValueError, match="has queries, or its cost exceeds the new cost"):
        ledger.record(SPENT, gaussian_cost(0.2), entry=entry)
    grown = ledger.record(SPENT, gaussian_cost(0.5), entry=entry)
    with pytest.raises(ValueError, match="cannot be replaced: it has queries"):
        ledger.record(SPENT, gaussian_cost(0.6), entry=grown)
    alone = PrivacyLedger(path.with_name("alone"), epsilon=4.0)
    alone.record(SPENT, gaussian_cost(0.5))
    assert len(ledger.history()) == 1 and ledger.epsilon_spent == alone.epsilon_spent


def test_ledger_entry_that_has_grown_counts_again_for_another_fit(path):
    """Two copies of an interrupted fit go on with one entry: each publishes, and each counts."""
    ledger = PrivacyLedger(path, epsilon=20.0)
    of_rows = replace(SPENT, n_queries=0)
    for _ in range(2):
        first = ledger.record(of_rows, gaussian_cost(0.3))
        for spent in (of_rows, SPENT):
            ledger.check(spent, gaussian_cost(0.5), first)
            assert ledger.record(spent, gaussian_cost(0.5), first) != first
    alone = PrivacyLedger(path.with_name("alone"), epsilon=20.0)
    for _ in range(4):
        alone.record(SPENT, gaussian_cost(0.5))
    assert len(ledger.history()) == 4 and ledger.epsilon_spent == alone.epsilon_spent


# --- costs in a file ------------------------------------------------------------------------------


def mixed_cost():
    """A pure and a Gaussian step that cost 0.9999 together, and 1.04 as Gaussian steps alone."""
    return laplace_table_cost(2.0, ONE).plus(gaussian_table_cost(6.81, ONE))


AMOUNTS = st.floats(0, math.inf) | st.sampled_from([-0.0, 5e-324, math.inf])


@settings(max_examples=30, deadline=None)
@given(st.tuples(*[AMOUNTS] * 6))
def test_ledger_cost_is_the_same_after_a_round_trip(tmp_path_factory, numbers):
    path = tmp_path_factory.mktemp("ledger") / "one"
    PrivacyLedger(path, 1.0)
    rdp_scale, *others = numbers
    cost = rdp.Cost(np.full(rdp.DEFAULT_ORDERS.shape, rdp_scale), *others)
    with transaction(path) as db:
        write_fit(db, SPENT, cost, None)
    with transaction(path) as db:
        (found,) = read_costs(db).values()
    assert (parts_of(found) == parts_of(cost)).all()


STEPS = st.one_of(
    st.floats(0.01, 0.5).map(lambda epsilon: laplace_table_cost(1 / epsilon, ONE)),
    st.floats(3.0, 50.0).map(lambda sigma: gaussian_table_cost(sigma, ONE)),
    st.integers(1, 20).map(COSTS),
    st.floats(0.001, 0.02).map(lambda a: rdp.Cost(a * rdp.DEFAULT_ORDERS, math.inf, math.inf)),
)


@settings(max_examples=20, deadline=None)
@given(st.lists(STEPS, min_size=1, max_size=4))
def test_ledger_epsilon_agrees_after_reopening(tmp_path_factory, steps):
    path = tmp_path_factory.mktemp("ledger") / "one"
    cost = reduce(rdp.Cost.plus, steps)
    stated, _ = cost.epsilon(1e-5)
    opened = PrivacyLedger(path, epsilon=stated)  # so the fit counts with its own epsilon
    opened.record(SPENT, cost)
    for ledger in (opened, PrivacyLedger(path, epsilon=stated)):
        assert ledger.history()["epsilon"].tolist() == [stated]
        assert ledger.epsilon_spent <= stated


def test_ledger_contains_the_epsilon_of_a_mixed_fit(path):
    ledger = PrivacyLedger(path, epsilon=1.0)
    X, y, _ = data(1000)
    # Gaussian noise on class sums, and Laplace noise on the cells of the rows sampled from them
    clf = PATEClassifier(method="neighbors", schema=[(-3, 3)], classes=[0, 1], ledger=ledger)
    clf.set_params(on_bad_plan="warn")
    with warnings.catch_warnings(action="ignore"):  # few records
        clf.fit(X[:, :1], y)
    spent = clf.privacy_spent_
    assert spent.composition == "mixed" and 0.9999 < spent.epsilon <= 1.0
    for found in (ledger, PrivacyLedger(path, epsilon=1.0)):
        assert found.epsilon_spent == found.history()["epsilon"][0] == spent.epsilon


@pytest.mark.slow
def test_ledger_of_a_search_with_rows_may_have_the_epsilon_of_the_search(path):
    """The rows are recorded first, and do not leave the trials to the filters."""
    ledger = PrivacyLedger(path, epsilon=3.0)
    X, y, _ = data(1000)
    clf = PATEClassifier(method=ReverseNeighbors(), schema=[(-3, 3)], classes=[0, 1], ledger=ledger)
    search = PrivateGridSearchCV(clf, {"method__n_cells": [4, 8]}, epsilon=3.0, n_trials=3)
    with warnings.catch_warnings(action="ignore"):  # few records
        search.fit(X[:, :1], y, X_val=X[:50, :1].copy(), y_val=y[:50])
    assert len(ledger.history()) == 1 and is_by_statement(path)
    spent = search.privacy_spent_.epsilon
    assert 2.9 < ledger.epsilon_spent <= 3.0 and ledger.epsilon_spent == pytest.approx(spent, 1e-3)


# --- fits whose first release chooses the rest ----------------------------------------------------

#: 0.9999 by its best composition, and 2 as the sum of its steps
CHOSEN = replace(mixed_cost(), stated=(2.0, 9e-6))


def test_ledger_counts_a_chosen_fit_as_it_states(path):
    ledger = PrivacyLedger(path, epsilon=2.0)
    ledger.record(replace(SPENT, composition="sum"), CHOSEN)
    for found in (ledger, PrivacyLedger(path, epsilon=2.0)):
        with transaction(path) as db:
            (cost,) = read_costs(db).values()
        assert cost.stated == (2.0, 9e-6) and (parts_of(cost) == parts_of(CHOSEN)).all()
        assert found.history()["epsilon"].tolist() == [2.0]
        # The filters allow it, and are valid for costs that an outcome chose
        assert found.epsilon_spent == ledger_filters(found, CHOSEN)


@cases(
    "budget, delta, is_accepted",
    (1.0, 1e-5, False),  # the smallest epsilon is 0.9999
    (1.01, 9e-6, True),
    (1.01, 8.9e-6, False),  # less than the stated delta
)
def test_ledger_pays_alone_for_what_a_chosen_fit_states(path, budget, delta, is_accepted):
    plain = mixed_cost()
    chosen = replace(plain, stated=(1.01, 9e-6))
    ledger = PrivacyLedger(path, epsilon=budget, delta=delta)
    assert ledger_filters(ledger, plain) > budget >= plain.epsilon(delta)[0]
    assert recorded(ledger, [chosen]) == is_accepted
    if is_accepted:
        assert ledger.epsilon_spent == ledger.history()["epsilon"][0] == 1.01
        assert recorded(ledger, [pure_cost(1e-3)]) == 0


#: A first release, and a limit of the whole fit: its statement, and Gaussian noise of epsilon 1.25
FIRST = pure_cost(0.1, delta=1e-8)
LIMIT = replace(gaussian_cost(rdp.gdp_mu(1.25, 1e-5)), stated=(1.0, 1e-5))
OF_FIRST = replace(SPENT, n_queries=0, covers="target")


@pytest.mark.parametrize("budget", [1.0, 1.2, 2.0, 4.0])
def test_ledger_rule_does_not_depend_on_what_a_first_release_chose(path, budget):
    """The filters refuse the largest cost within 2.0; sums would refuse two fits within 4.0."""
    rules = set()
    for mu in (0.0, 0.01, 0.2, 0.27, 0.6):  # chosen by the outcome
        file = path.with_name(f"{mu}")
        ledger = PrivacyLedger(file, epsilon=budget)
        entry = ledger.record(OF_FIRST, replace(FIRST, whole=LIMIT))
        rules.add(is_by_statement(file))
        cost = replace(FIRST.plus(gaussian_cost(mu)), stated=(1.0, 1e-5))
        filters_pay = ledger_filters(ledger, cost) <= budget
        try:
            ledger.record(SPENT, cost, entry)
            assert filters_pay or rules == {True}
        except BudgetExceededError:
            assert not filters_pay and rules == {False}
        rules.add(is_by_statement(file))
        if rules == {True}:
            assert ledger.epsilon_spent == 1.0
            # Whatever the filters have left, only the rest of epsilon at a delta of 0 is left
            assert recorded(ledger, [gaussian_cost(0.01), pure_cost(budget - 0.99)]) == 0
            assert recorded(ledger, [pure_cost(0.19)]) == (budget == 1.2)
    assert rules == {budget < 2.0}


def test_ledger_that_adds_statements_goes_on_after_an_interrupted_fit(path):
    ledger = PrivacyLedger(path, epsilon=1.0)
    ledger.record(OF_FIRST, replace(FIRST, whole=LIMIT))  # and no more, because it found nothing
    assert ledger.epsilon_spent == ledger.history()["epsilon"][0] == 0.1
    chosen = replace(gaussian_cost(0.01), stated=(0.9, 1e-5))
    with pytest.raises(BudgetExceededError, match="adds the epsilons and deltas.* 9.99e-06 of"):
        ledger.record(SPENT, chosen)
    again = PrivacyLedger(path, epsilon=1.0)
    again.record(SPENT, replace(chosen, stated=(0.9, 9.99e-6)))
    assert again.epsilon_spent == pytest.approx(1.0, abs=1e-15)
    assert again.history()["epsilon"].tolist() == [0.1, 0.9]
    assert ledger.history().equals(again.history())


def test_ledger_that_adds_statements_refuses_a_fit_beyond_its_limit_before_the_first_release(path):
    ledger = PrivacyLedger(path, epsilon=1.0)
    ledger.record(OF_FIRST, replace(FIRST, whole=LIMIT))
    with pytest.raises(BudgetExceededError):
        ledger.record(OF_FIRST, replace(FIRST, whole=LIMIT))
    assert len(ledger.history()) == 1


def test_ledger_entry_that_the_filters_took_cannot_take_the_whole_budget_later(path):
    """Whether a fit goes on may depend on its first release, so the filters remain its rule."""
    mu = rdp.gdp_mu(0.999, 1e-5)
    rows, fit = gaussian_cost(0.9 * mu), gaussian_cost(mu)
    of_rows = replace(SPENT, n_queries=0)
    fixed = PrivacyLedger(path, epsilon=1.0)
    entry = fixed.record(of_rows, replace(rows, whole=fit))
    assert is_by_statement(path)
    fixed.record(SPENT, fit, entry)
    assert fixed.epsilon_spent == pytest.approx(0.999)
    later = path.with_name("later")
    grown = PrivacyLedger(later, epsilon=1.0)
    entry = grown.record(of_rows, gaussian_cost(0.5 * mu))
    with pytest.raises(BudgetExceededError):
        grown.record(SPENT, fit, entry)
    assert recorded(PrivacyLedger(path.with_name("at once"), epsilon=1.0), [fit])


def test_ledger_refuses_an_entry_whose_rule_was_changed(path):
    ledger = PrivacyLedger(path, epsilon=1.0)
    entry = ledger.record(OF_FIRST, replace(FIRST, whole=LIMIT))
    whole = path.read_bytes()
    for value in (None, 0, 2, "x"):
        replace_row(path, "UPDATE spending SET by_statement = ? WHERE fit = ?", value, entry)
        check_refused(path, ledger)
        path.write_bytes(whole)
    assert ledger.epsilon_spent == 0.1


def is_by_statement(path):
    with transaction(path) as db:
        return db.execute("SELECT by_statement FROM spending").fetchall()[0] == (1,)


def ledger_filters(ledger, cost):
    """The least epsilon of the filters for one cost."""
    with transaction(ledger.path) as db:
        budget, _, _ = read_budget(db)
        return min(one.epsilon(one.amount(cost)) for one in read_filters(db, budget))


def test_ledger_with_a_smaller_delta_shows_a_chosen_fit_by_its_filters(path):
    ledger = PrivacyLedger(path, epsilon=3.0, delta=1e-6)
    ledger.record(SPENT, CHOSEN)
    assert ledger.history()["epsilon"].tolist() == [ledger.epsilon_spent]
    assert ledger.epsilon_spent == ledger_filters(ledger, CHOSEN)


@cases("stated", (-1.0, 1e-6), (1.0, math.nan))
def test_ledger_refuses_impossible_statements(path, stated):
    ledger = PrivacyLedger(path, epsilon=3.0)
    cost = replace(pure_cost(0.1), stated=stated)
    pytest.raises(ValueError, ledger.record, SPENT, cost).match("no negative numbers and no NaN")
    assert len(ledger.history()) == 0


@cases("name", "stated_epsilon", "stated_delta")
def test_ledger_refuses_changed_statements(in_use, path, name):
    entry = in_use.record(replace(SPENT, composition="sum"), CHOSEN)
    whole = path.read_bytes()
    for fit in (entry, 3):  # entry 3 has none
        for value in (None, -1.0, 0.25, "x", b""):
            if (fit, value) != (3, None):
                replace_row(path, f"UPDATE spending SET {name} = ? WHERE fit = ?", value, fit)
                check_refused(path, in_use)
                path.write_bytes(whole)
    assert in_use.history()["epsilon"].tolist()[-1] == 2.0


def test_ledger_refuses_statements_moved_to_other_columns(in_use, path):
    entry = in_use.record(replace(SPENT, composition="sum"), CHOSEN)
    moved = "branches = stated_epsilon, stated_epsilon = stated_delta, stated_delta = NULL"
    replace_row(path, f"UPDATE spending SET {moved} WHERE fit = ?", entry)
    check_refused(path, in_use)


@cases("lacks", ["stated_epsilon", "stated_delta"], ["branches", "stated_epsilon", "stated_delta"])
def test_ledger_files_without_statements_open_and_get_them(path, lacks):
    ledger = PrivacyLedger(path, epsilon=9.0)
    ledger.record(SPENT, mixed_cost())
    ledger.record(replace(SPENT, composition="sum"), mixed_cost())  # as earlier versions did
    history = ledger.history()
    with closing(sqlite3.connect(path)) as db, db:
        for name in lacks:
            db.execute(f"ALTER TABLE spending DROP COLUMN {name}")
    before = path.read_bytes()
    reopened = PrivacyLedger(path, epsilon=9.0)
    assert reopened.history().equals(history) and path.read_bytes() == before
    reopened.record(replace(SPENT, composition="sum"), CHOSEN)
    found = PrivacyLedger(path, epsilon=9.0).history()["epsilon"].tolist()
    assert found == [*history["epsilon"], 2.0]


def make_old(path):
    """Give a file the columns of 0.1.0."""
    old = "time, method, n_teachers, n_queries, rdp, mu_squared, pure, delta"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("ALTER TABLE spending RENAME TO new")
        db.execute(
            "CREATE TABLE spending (fit INTEGER PRIMARY KEY, time TEXT, method TEXT, n_teachers "
            "INTEGER, n_queries INTEGER, rdp BLOB, mu_squared REAL, pure REAL, delta REAL)"
        )
        db.execute(f"INSERT INTO spending SELECT fit, {old} FROM new")
        db.execute("DROP TABLE new")


def test_ledger_files_of_0_1_0_open_and_never_count_less(path):
    ledger = PrivacyLedger(path, epsilon=4.0)
    for cost in (mixed_cost(), pure_cost(0.3), gaussian_cost(0.1)):
        ledger.record(SPENT, cost)
    history = ledger.history()
    spent = ledger.epsilon_spent
    make_old(path)
    before = path.read_bytes()
    reopened = PrivacyLedger(path, epsilon=4.0)
    assert reopened.epsilon_spent == ledger.epsilon_spent == spent
    found = reopened.history()["epsilon"]
    assert path.read_bytes() == before  # it may be read-only
    assert 1.04 < found[0] and history["epsilon"][0] < 1.0
    assert found[1:].tolist() == history["epsilon"][1:].tolist()
    reopened.record(SPENT, mixed_cost())
    assert PrivacyLedger(path, 4.0).history()["epsilon"][3] == history["epsilon"][0]
    assert ledger.epsilon_spent > spent


def test_ledger_columns_are_added_with_the_entry_or_not_at_all(path):
    ledger = PrivacyLedger(path, epsilon=1.0)
    ledger.record(SPENT, pure_cost(0.5))
    make_old(path)
    before = path.read_bytes()
    with pytest.raises(BudgetExceededError):
        ledger.record(SPENT, pure_cost(0.6))
    # No integer of SQLite: the insertion fails after the columns are added
    too_large = replace(SPENT, n_queries=2**70)
    pytest.raises(OverflowError, ledger.record, too_large, pure_cost(0.1))
    assert path.read_bytes() == before
    ledger.record(SPENT, pure_cost(0.1))
    assert PrivacyLedger(path, epsilon=1.0).epsilon_spent == pytest.approx(0.6)


# --- damaged files --------------------------------------------------------------------------------

DAMAGED = "cannot be used as a ledger .*nothing was recorded. If it is damaged or.*restore a copy"


def check_refused(path, ledger, message=DAMAGED):
    """Check that neither an open nor a new object reads or writes a file."""
    before = path.read_bytes()
    for use in (
        lambda: ledger.epsilon_spent,
        ledger.history,
        partial(ledger.check, SPENT, pure_cost(0.1)),
        partial(ledger.record, SPENT, pure_cost(0.1)),
    ):
        pytest.raises(ValueError, use).match(message)
    if message is DAMAGED:
        pytest.raises(ValueError, PrivacyLedger, path, ledger.epsilon).match(message)
    assert path.read_bytes() == before


@pytest.fixture
def in_use(path, monkeypatch):
    """A ledger with entries."""
    monkeypatch.setattr("sklearn_pate.ledger.file._SECONDS_TO_MAKE", 0.0)
    ledger = PrivacyLedger(path, epsilon=10.0)
    for _ in range(8):
        ledger.record(SPENT, pure_cost(0.5))
    return ledger


@cases("is_old", False, True)
def test_ledger_refuses_truncated_files(in_use, path, is_old):
    if is_old:
        make_old(path)
    whole = path.read_bytes()
    sizes = {0, 1, 100, 511, 512, 513, len(whole) - 1, *range(4096, len(whole), 4096)}
    for size in sizes | set(np.random.default_rng(0).integers(len(whole), size=8).tolist()):
        path.write_bytes(whole[:size])
        check_refused(path, in_use)
    path.write_bytes(whole)
    assert in_use.epsilon_spent == 4.0


@cases("garbage", b"\0", b"\xff", None)
def test_ledger_refuses_overwritten_files_or_counts_in_full(in_use, path, garbage):
    rng = np.random.default_rng(0)
    whole = path.read_bytes()
    n_refused = 0
    for start in range(0, len(whole), 701):
        size = min(600, len(whole) - start)
        new = rng.bytes(size) if garbage is None else garbage * size
        path.write_bytes(whole[:start] + new + whole[start + size :])
        try:
            spent = PrivacyLedger(path, epsilon=10.0).epsilon_spent
        except ValueError as error:
            assert "nothing was recorded" in str(error) or "was created with" in str(error)
            n_refused += 1
        else:
            assert spent == 4.0  # the overwritten value has no use
    assert n_refused > 0.4 * len(whole) / 701


def replace_row(path, statement, *values):
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(statement, values)


NAMES = ("rdp", "mu_squared", "pure", "delta", "pure_part", "mu_squared_part", "checksum")


@cases("name", *NAMES)
def test_ledger_refuses_changed_entries(in_use, path, name):
    whole = path.read_bytes()
    for value in (None, -1.0, 0.25, "x", b"", -np.ones(204), np.full(204, np.nan), np.zeros(204)):
        stored = value.tobytes() if isinstance(value, np.ndarray) else value
        replace_row(path, f"UPDATE spending SET {name} = ? WHERE fit = 3", stored)
        check_refused(path, in_use)
        path.write_bytes(whole)


@sampled()
@cases("name", "rdp", "mu_squared", "pure", "delta")
@cases("value", None, -1.0, "x", b"")
def test_ledger_refuses_impossible_entries_of_0_1_0(in_use, path, name, value):
    make_old(path)
    replace_row(path, f"UPDATE spending SET {name} = ? WHERE fit = 3", value)
    check_refused(path, in_use)


@cases(
    "statement",
    "UPDATE filters SET delta = NULL",
    "UPDATE filters SET delta = -delta",
    "UPDATE filters SET delta = 0.5",
    'UPDATE filters SET "order" = 3',
    "DELETE FROM filters WHERE rowid = 2",
    "UPDATE budget SET unit = NULL",
)
def test_ledger_refuses_changed_filters(in_use, path, statement):
    replace_row(path, statement)
    check_refused(path, in_use)


@cases("statement", "UPDATE budget SET epsilon = 1000", "UPDATE budget SET delta = NULL")
def test_ledger_refuses_changed_budgets(in_use, path, statement):
    replace_row(path, statement)
    check_refused(path, in_use, "is another ledger")
    pytest.raises(ValueError, PrivacyLedger, path, 10.0).match(".*was created with")


def test_ledger_refuses_a_file_with_fewer_entries_than_read_before(path):
    ledger = PrivacyLedger(path, epsilon=10.0)
    other = PrivacyLedger(path, epsilon=10.0)
    ledger.record(SPENT, pure_cost(0.5))
    older = path.read_bytes()
    ledger.record(SPENT, pure_cost(0.5))
    newer = path.read_bytes()
    kept = pickle.loads(pickle.dumps(ledger))
    read = PrivacyLedger(path, epsilon=10.0)
    path.write_bytes(older)
    for seen in (ledger, kept, deepcopy(ledger), read):
        check_refused(path, seen, "contains less than was recorded in it.*restore the newest copy")
    assert other.epsilon_spent == 0.5  # it has seen no more
    path.write_bytes(newer)
    assert [ledger.epsilon_spent, kept.epsilon_spent, other.epsilon_spent] == [1.0] * 3


def test_ledger_does_not_expect_entries_without_commit(path, monkeypatch):
    ledger = PrivacyLedger(path, epsilon=10.0)

    def full_disk(*args):
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patch:
        patch.setattr("sklearn_pate.ledger.file.write_fit", full_disk)
        pytest.raises(ValueError, ledger.record, SPENT, pure_cost(0.5)).match("disk is full")
    assert ledger.epsilon_spent == 0.0
    ledger.record(SPENT, pure_cost(0.5))


def test_ledger_leaves_no_file_if_it_could_not_be_made(path, monkeypatch):
    def full_disk(*args):
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr("sklearn_pate.ledger.file.make_tables", full_disk)
    pytest.raises(ValueError, PrivacyLedger, path, 1.0).match("disk is full")
    assert not path.exists()
    monkeypatch.undo()
    assert PrivacyLedger(path, 1.0).epsilon_spent == 0.0


def test_ledger_is_shared_by_threads_that_make_it_at_once(path):
    for k in range(5):
        same = path.with_name(str(k))
        with ThreadPoolExecutor(4) as pool:
            ledgers = list(pool.map(lambda _, p=same: PrivacyLedger(p, 10.0), range(4)))
            list(pool.map(lambda one: one.record(SPENT, pure_cost(0.5)), ledgers * 2))
        assert {one.epsilon_spent for one in ledgers} == {4.0} and len(set(ledgers)) == 1
