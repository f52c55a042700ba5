"""Fits without public rows: a synthesizer draws some, and one epsilon covers rows and labels."""

import copy
import math
import pickle
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from conftest import cases, count_fits_from_one, note_calls
from draws import Constant
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags

from sklearn_pate import PATEClassifier, rdp
from sklearn_pate.aggregators import (
    ConfidentGNMax,
    GaussianMechanism,
    GNMax,
    LaplaceMechanism,
    LNMax,
)
from sklearn_pate.exceptions import BudgetExceededError
from sklearn_pate.ledger import PrivacyLedger
from sklearn_pate.methods import ReverseNeighbors
from sklearn_pate.model_selection import PrivateGridSearchCV
from sklearn_pate.rdp import (
    DEFAULT_ORDERS,
    Contribution,
    Cost,
    Event,
    Neighbors,
    ProvedEvent,
)
from sklearn_pate.rdp.discrete import gaussian_table_cost, laplace_table_cost
from sklearn_pate.secure import SystemGenerator
from sklearn_pate.synthesis import MarginalSynthesizer, Synthesizer
from sklearn_pate.teachers import Sites

RNG = np.random.default_rng(0)
N = 1200
X = pd.DataFrame({"age": RNG.integers(18, 80, N), "income": RNG.uniform(0, 100, N)})
X["job"] = pd.Categorical(RNG.choice(["clerk", "nurse", "none"], N))
Y = (X["age"] + X["income"] / 2 + 20 * (X["job"] == "nurse") > 75).astype(int).to_numpy()
X_TEST, Y_TEST = X[900:], Y[900:]
X, Y = X[:900], Y[:900]
NUMBERS = FunctionTransformer(pd.get_dummies)
ARRAY = X[["age", "income"]].to_numpy()
REPLACED = Neighbors(relation="replace_one", unit="record")


def marginals(**params):
    fixed = {"bounds": {"age": (18, 80), "income": (0, 100)}, "missing": [], "n_rows": 400}
    return MarginalSynthesizer(**(fixed | params))


def by_records(synthesizer=None, **params):
    given = {"method": ReverseNeighbors(), "synthesizer": synthesizer or marginals()}
    return PATEClassifier(**(given | {"epsilon": 4.0, "classes": [0, 1]} | params))


def teachers(synthesizer=None, **params):
    model = make_pipeline(NUMBERS, GaussianNB())
    given = {"method": "teachers", "base_estimator": model, "n_teachers": 60}
    return by_records(synthesizer, **(given | params))


def on_array(noise=None, epsilon_fraction=None, **params):
    """Return a classifier whose records vote, for a table that is quick to transform."""
    given = {
        "bounds": {0: (18, 80), 1: (0, 100)},
        "noise": noise,
        "epsilon_fraction": epsilon_fraction,
    }
    return by_records(marginals(n_rows=100, **given), **params)


@pytest.fixture
def draws(monkeypatch):
    """The records with gathered statistics, in the fits of a test."""

    def note(self, X, codes, **given):
        return {"n_records": len(X), "groups": None, **given}

    return note_calls(monkeypatch, MarginalSynthesizer, "gather", note)


@pytest.fixture
def sources(monkeypatch):
    """The sources of noise and of rows, in the fits of a test."""
    noise = note_calls(monkeypatch, MarginalSynthesizer, "publish", lambda s, g, rng, **given: rng)
    rng = note_calls(monkeypatch, MarginalSynthesizer, "draw", lambda s, published, rng: rng)
    return {"noise": noise, "rng": rng}


# --- learnt and published results ----------------------------------------------------------------


@pytest.mark.parametrize("make", [by_records, pytest.param(teachers, marks=pytest.mark.slow)])
def test_fit_without_public_rows_scores_and_pickles(make):
    clf = make(random_state=0, epsilon=8.0)
    if make is teachers:
        clf.set_params(base_estimator=make_pipeline(NUMBERS, LogisticRegression(max_iter=1000)))
    clf.fit(X, Y)
    assert clf.score(X_TEST, Y_TEST) > 0.75
    sampled = clf.X_synthetic_
    assert len(sampled) == len(clf.public_labels_) == clf.privacy_spent_.n_synthetic == 400
    assert sampled.dtypes.equals(X.dtypes)
    assert "400 synthetic rows are covered as well" in clf.privacy_spent_.summary()
    loaded = pickle.loads(pickle.dumps(clf))
    pd.testing.assert_frame_equal(loaded.X_synthetic_, sampled)
    np.testing.assert_array_equal(loaded.predict(X_TEST), clf.predict(X_TEST))


def test_refit_with_public_rows_removes_synthetic_ones():
    clf = on_array().fit(ARRAY, Y)
    clf.set_params(synthesizer=None).fit(ARRAY, Y, X_public=ARRAY[:100].copy())
    assert not hasattr(clf, "X_synthetic_") and clf.privacy_spent_.n_synthetic == 0
    pytest.raises(ValueError, clf.fit_student).match("X_public is missing")


# --- one epsilon ---------------------------------------------------------------------------------


@cases("relation, n_units, share", ("replace_one", 2, None), ("add_or_remove_one", 1, 0.25))
def test_pure_costs_of_rows_and_votes_sum_to_epsilon(relation, n_units, share):
    clf = on_array(epsilon_fraction=share, epsilon=2.0)
    clf.set_params(method__relation=relation, synthesizer__n_rows=400)
    plan = clf.plan(ARRAY, Y)
    of_rows = 3 * n_units / plan.synthesizer.noise.scale  # two columns and the label
    assert of_rows == pytest.approx(2.0 * (share or 0.4), rel=1e-9)
    assert of_rows + n_units / plan.stages[0][0].scale == pytest.approx(2.0, rel=1e-9)
    spent = clf.fit(ARRAY, Y).privacy_spent_
    assert 2.0 - 1e-9 <= spent.epsilon <= 2.0
    assert (spent.delta, spent.composition, spent.arithmetic) == (0, "pure", "exact")


def test_synthesizer_noise_matches_that_of_the_votes():
    for clf, rows, kind in [
        (on_array(), ARRAY, LaplaceMechanism),
        (on_array(aggregator=GaussianMechanism()), ARRAY, GaussianMechanism),
        (teachers(), X, GaussianMechanism),
        (teachers(marginals(noise=LaplaceMechanism())), X, LaplaceMechanism),
    ]:
        assert type(clf.plan(rows, Y).synthesizer.noise) is kind
    assert on_array(LaplaceMechanism(noise="continuous")).plan(ARRAY, Y).spent.arithmetic == "real"


@cases("noise", LaplaceMechanism(), GaussianMechanism())
@pytest.mark.parametrize("aggregator", [GNMax(None), LNMax(None), GaussianMechanism()])
def test_rows_and_labels_cost_the_cap_together(noise, aggregator):
    make = by_records if isinstance(aggregator, GaussianMechanism) else teachers
    plan = make(marginals(noise=noise), aggregator=aggregator, epsilon=3.0).plan(X, Y)
    of_rows = plan.synthesizer.event(REPLACED).cost()
    assert plan.epsilon == pytest.approx(of_rows.plus(plan.own_cost).epsilon(1e-5)[0], rel=1e-12)
    assert 3.0 - 1e-4 < plan.epsilon <= 3.0
    alone = of_rows.pure if noise.is_pure else of_rows.epsilon(1e-5)[0]
    assert alone == pytest.approx(0.4 * 3.0, rel=1e-4)
    assert plan.own_cost.epsilon(1e-5)[0] < plan.epsilon
    if isinstance(aggregator, GaussianMechanism) and not noise.is_pure:
        assert plan.composition == "gaussian"


def test_pure_steps_and_gaussian_noise_are_composed_exactly():
    pure = Cost(rdp.pure_rdp(1.0, DEFAULT_ORDERS), rdp.pure_to_gdp(1.0) ** 2, 1.0)
    gaussian = Cost(DEFAULT_ORDERS * 0.27**2 / 2, 0.27**2, math.inf)
    epsilon, method = pure.plus(gaussian).epsilon(1e-5)
    assert (round(epsilon, 3), method) == (1.987, "mixed")
    assert gaussian.plus(pure).epsilon(1e-5)[0] == epsilon
    assert epsilon < 1.0 + rdp.gdp_to_epsilon(0.27, 1e-5)
    both = pure.times(2).plus(gaussian.times(3)).plus(pure.times(0))
    assert both.pure_part == 2.0 and both.mu_squared_part == pytest.approx(3 * 0.27**2)
    on_a_grid = pure.plus(gaussian_table_cost(1 / 0.27, Contribution.of_counts(1)))
    assert on_a_grid.epsilon(1e-5) == (pytest.approx(epsilon, rel=1e-12), "mixed")
    assert pure.plus(Cost(DEFAULT_ORDERS * 0.01, math.inf, math.inf)).epsilon(1e-5)[1] == "renyi"


@pytest.mark.slow
def test_filter_budget_is_reduced_by_the_rows():
    confident = ConfidentGNMax(40, sigma1=30.0, sigma2=20.0)
    noise = GaussianMechanism(noise="continuous")
    clf = teachers(marginals(noise=noise), aggregator=confident, epsilon=3.0)
    with_rows = clf.plan(X, Y)
    alone = clf.set_params(synthesizer=None).plan(X, Y, X_public=X_TEST)
    at = np.flatnonzero(with_rows.budget.order == DEFAULT_ORDERS)[0]
    both = with_rows.synthesizer.event(REPLACED).cost().rdp[at] + with_rows.budget.limit
    epsilon, _ = rdp.rdp_to_epsilon([both], 1e-5, [with_rows.budget.order])
    assert 2.999 < epsilon <= 3.0 and with_rows.budget.limit < alone.budget.limit
    assert with_rows.cost.epsilon(1e-5)[0] <= 3.0


def test_plan_with_fixed_noise_has_fewer_queries_after_the_rows():
    clf = teachers(marginals(noise=LaplaceMechanism(8.0)), aggregator=GNMax(20.0), epsilon=3.0)
    plan = clf.plan(X, Y)
    (_, n_queries), *_ = plan.stages
    labels = GNMax(20.0).costs(n_teachers=60, n_classes=2)
    rows = laplace_table_cost(8.0, Contribution.of_counts(2 * 4), DEFAULT_ORDERS)
    assert plan.epsilon == pytest.approx(rows.plus(labels(n_queries)).epsilon(1e-5)[0], rel=1e-9)
    assert plan.epsilon <= 3.0 < rows.plus(labels(n_queries + 1)).epsilon(1e-5)[0]


@pytest.mark.slow
def test_search_pays_for_the_rows_in_addition_to_its_trials():
    grid = {"method__n_cells": [8, 40]}
    scored = {"X_val": ARRAY[:50].copy(), "y_val": Y[:50]}
    costs = []
    for scale in (1000.0, 2.0):
        clf = on_array(LaplaceMechanism(scale), aggregator=LaplaceMechanism(4.0), epsilon=None)
        search = PrivateGridSearchCV(clf, grid, epsilon=None, n_trials=3)
        costs.append(search.fit(ARRAY, Y, **scored).privacy_spent_.epsilon)
    assert costs[1] - costs[0] > 2.0  # alone, the rows cost 6 / scale: 0.006 and 3


@pytest.mark.slow
def test_ptr_epsilon_is_reduced_by_the_rows():
    given = {"aggregator": GNMax(15.0), "n_queries": 150, "accounting": "ptr", "n_teachers": 150}
    clf = teachers(marginals(noise=LaplaceMechanism()), **given)
    plan = clf.plan(X, Y)
    assert plan.test is not None
    assert plan.test.epsilon + plan.synthesizer.event(REPLACED).cost().pure == pytest.approx(4.0)
    gaussian = marginals(noise=GaussianMechanism(noise="continuous"))
    plan = clf.set_params(synthesizer=gaussian).plan(X, Y)
    left, _ = plan.synthesizer.event(REPLACED).cost().epsilon(5e-6)
    assert plan.test.epsilon + left == pytest.approx(4.0) and plan.test.delta == 5e-6


def test_rows_that_cost_all_of_epsilon_are_refused():
    greedy = LaplaceMechanism(1.0)  # costs 6, and 8 with three columns
    with pytest.raises(BudgetExceededError, match="the limit epsilon=4 leaves no epsilon"):
        on_array(greedy).fit(ARRAY, Y)
    unlimited = on_array(greedy, epsilon=None, aggregator=LaplaceMechanism(1.0))
    assert unlimited.fit(ARRAY, Y).privacy_spent_.epsilon == 8.0


# --- paid once -----------------------------------------------------------------------------------


def test_ledger_has_one_entry_for_rows_and_labels(tmp_path):
    ledger = PrivacyLedger(tmp_path / "fits", epsilon=5.0, composition="pure")
    on_array(ledger=ledger).fit(ARRAY, Y)
    assert ledger.history()["epsilon"].tolist() == pytest.approx([4.0])
    pytest.raises(BudgetExceededError, on_array(ledger=ledger).fit, ARRAY, Y)
    assert len(ledger.history()) == 1


def test_ledger_refuses_random_state(ledger):
    clf = on_array(ledger=ledger, random_state=0)
    for method in (clf.poll, clf.fit, clf.plan):
        pytest.raises(ValueError, method, ARRAY, Y).match("ledger refuses fits with a random_state")
    assert ledger.epsilon_spent == 0


@pytest.mark.slow
def test_search_samples_rows_once_from_training_records(
    draws, sources, monkeypatch, few_units_are_scored
):
    def are_known(self, X_public, *, are_synthetic=False, **numbers):
        return are_synthetic

    known = note_calls(monkeypatch, ReverseNeighbors, "prepare_public", are_known)
    grid = {"method__n_cells": [8, 40]}
    clf = on_array(epsilon=1.0, secure=True)
    search = PrivateGridSearchCV(clf, grid, epsilon=8.0, n_trials=3).fit(ARRAY, Y)
    (given,) = draws
    assert given["n_records"] == 720  # a fifth is held out
    spent = search.privacy_spent_
    assert 7.5 < spent.epsilon <= 8.0 and spent.n_synthetic == 100
    assert len(search.best_estimator_.X_synthetic_) == 100
    assert search.best_estimator_.fit_student(student=SVC()).predict(ARRAY).shape == (900,)
    clf.fit(ARRAY, Y)
    clf.poll(ARRAY, Y)
    assert len(known) > 2 and all(known)
    assert len(sources["noise"]) == len(sources["rng"]) == len(draws) == 3
    for noise, rng in zip(*sources.values(), strict=True):  # the noise has a source of its own
        assert isinstance(noise, SystemGenerator) and not isinstance(rng, SystemGenerator)
    on_array(random_state=0).fit(ARRAY, Y)
    noise, rng = (sources[name][-1].bit_generator.seed_seq for name in ("noise", "rng"))
    assert noise.spawn_key != rng.spawn_key


def test_search_candidates_share_a_synthesizer():
    for grid in ({"synthesizer__n_rows": [10, 20]}, {"synthesizer": [None, marginals()]}):
        with pytest.raises(ValueError, match="candidates cannot differ in synthesizer"):
            PrivateGridSearchCV(by_records(), grid).fit(X, Y)


# --- protection ----------------------------------------------------------------------------------


PEOPLE = np.arange(900) // 3


@pytest.mark.slow
@cases(
    "make, index, given, n_units, unit",
    (on_array, None, {}, None, "record"),
    (partial(on_array, epsilon=20.0), None, {"groups": PEOPLE}, 300, "group"),
    (teachers, None, {"groups": PEOPLE}, 300, "group"),
    (partial(teachers, partition="hash"), PEOPLE, {}, 300, "record"),
    ids=["records", "records, groups", "teachers, groups", "teachers, index"],
)
def test_synthesizer_counts_rows_of_a_unit_once(make, index, given, n_units, unit, draws):
    clf = make()
    rows = ARRAY if isinstance(clf.method, ReverseNeighbors) else X
    if index is not None:
        rows = rows.set_axis([f"person {k}" for k in index])
    clf.fit(rows, Y, **given)
    groups = draws[0]["groups"]
    assert (None if groups is None else len(np.unique(groups))) == n_units
    assert clf.privacy_spent_.unit == unit


class OneHousehold:
    relation = "add or remove one household"

    def assign(self, *, n_records, n_teachers, **given):
        return np.arange(n_records) % n_teachers


def test_custom_relation_is_refused_with_a_synthesizer():
    with pytest.raises(ValueError, match="is not an rdp.NeighboringRelation, so the cost"):
        teachers(partition=OneHousehold()).fit(X, Y)


# --- what leaves ---------------------------------------------------------------------------------


def test_fit_reveals_only_what_mechanisms_release(capfd):
    clf = by_records(marginals(noise=Constant()), aggregator=Constant(), random_state=0)
    clf.set_params(epsilon=8.0, verbose=0)
    other = X.copy()
    other["age"] = 18
    other["income"] = [*RNG.uniform(0, 1e9, 60), *RNG.uniform(0, 100, 839), np.nan]
    other["job"] = pd.Categorical(other["job"][::-1].to_numpy(), X["job"].cat.categories)
    loaded = []
    texts = []
    for data in ((X, Y), (other, 1 - Y)):
        count_fits_from_one()
        with warnings.catch_warnings(record=True, action="always") as caught:
            loaded.append(pickle.loads(pickle.dumps(clf.fit(*data))))
        texts.append([str(warning.message) for warning in caught])
    assert texts[0] == texts[1]
    first, second = map(vars, loaded)
    assert set(first) == set(second)
    for name in first:
        assert pickle.dumps(first[name]) == pickle.dumps(second[name]), name
    assert capfd.readouterr() == ("", "")


class Own(Synthesizer):
    """Draws public rows by itself."""

    def __init__(self, n_rows=100, epsilon_fraction=0.5, epsilon=None):
        self.n_rows, self.epsilon_fraction, self.epsilon = n_rows, epsilon_fraction, epsilon

    def declare(self, X, target):
        self.dtypes_ = X.dtypes
        return self

    def with_scale(self, scale):
        return copy.copy(self).set_params(epsilon=1 / scale) if self.epsilon is None else None

    def event(self, neighbors, n_steps=None):
        return Event(LaplaceMechanism(1 / self.epsilon), neighbors.counts(1))

    def dry_run_rows(self, n_rows, rng):
        given = {"age": rng.integers(18, 80, n_rows), "income": rng.uniform(0, 100, n_rows)}
        given["job"] = rng.choice(["clerk", "nurse", "none"], n_rows)
        return pd.DataFrame(given).astype(self.dtypes_)

    def gather(self, X, codes, *, target, sample_weight=None, groups=None, published=()):
        return len(codes)

    def publish(self, gathered, rng, *, published=()):
        return LaplaceMechanism(1 / self.epsilon).noisy(np.array([[gathered]]), rng)

    def draw(self, published, rng):
        return self.dry_run_rows(self.n_rows, rng)


@pytest.mark.slow
def test_custom_synthesizer_is_paid_for_and_used():
    clf = by_records(Own(), epsilon=6.0, random_state=0).fit(X, Y)
    assert clf.privacy_spent_.epsilon == pytest.approx(6.0)
    assert clf.aggregator_.scale == pytest.approx(2 / 3) and clf.score(X_TEST, Y_TEST) > 0.6


class Talks(Own):
    """Prints rows as it declares their columns, and may fail with them."""

    def __init__(self, n_rows=100, epsilon_fraction=0.5, epsilon=None, fails=False):
        super().__init__(n_rows, epsilon_fraction, epsilon)
        self.fails = fails

    def declare(self, X, target):
        print(X)
        warnings.warn(str(X), stacklevel=2)
        if self.fails:
            raise ValueError(str(X))
        return super().declare(X, target)


@pytest.mark.slow
def test_custom_synthesizer_declare_shows_no_rows(capfd):
    with pytest.raises(ValueError, match="declare of Talks failed with ValueError, whose text is"):
        by_records(Talks(fails=True), epsilon=6.0, random_state=0).fit(X, Y)
    with warnings.catch_warnings(record=True, action="always") as caught:
        by_records(Talks(), epsilon=6.0, random_state=0).fit(X, Y)
    assert "nurse" not in " ".join(str(warning.message) for warning in caught)
    assert capfd.readouterr() == ("", "")


class Costly(Own):
    """States another cost."""

    def __init__(self, price=None, epsilon=1.0):
        super().__init__(epsilon=epsilon)
        self.price = price

    def event(self, neighbors, n_steps=None):
        return ProvedEvent(lambda orders: self.price, is_pure=True, is_exact=True)


@cases(
    "price, message",
    (1.0, r"cost of Costly must return rdp\.Cost"),
    (Cost(DEFAULT_ORDERS * math.nan, math.nan, math.nan), r"must return an rdp\.Cost"),
    (Cost(0.0, 0.0, math.nan), r"must return (an )?rdp\.Cost"),
    (Cost(DEFAULT_ORDERS * 0 - 1.0, 0.0, -3.0), "at least 0"),
)
def test_custom_synthesizer_refuses_wrong_costs(price, message):
    with pytest.raises((TypeError, ValueError), match=message):
        by_records(Costly(price)).fit(X, Y)


# --- refused before anything is spent ------------------------------------------------------------


def test_synthesizer_refuses_wrong_input_before_spending(ledger):
    clf = by_records(ledger=ledger)

    for given, message in [
        ((X, Y, X_TEST), "two ways to have public rows"),
        ((["some text"] * 900, Y), "X must be array-like, with rows .* that contain numbers"),
    ]:
        pytest.raises(ValueError, clf.fit, *given).match(message)

    sites = Sites(lambda name: None, ["a", "b"])
    with pytest.raises(ValueError, match="a synthesizer cannot draw rows when X is Sites"):
        teachers(ledger=ledger).fit(sites, None)
    unable = make_pipeline(FunctionTransformer(validate=True), GaussianNB())
    with pytest.raises(ValueError, match="the student failed when tried"):
        by_records(student=unable, ledger=ledger).fit(X, Y)
    assert ledger.epsilon_spent == 0


# --- scikit-learn's tools ------------------------------------------------------------------------

WORDS = np.array(["no", "yes"])[Y]


@pytest.mark.slow
def test_cross_validate_fits_on_synthetic_rows():
    given = {"classes": ["no", "yes"], "epsilon": 8.0, "random_state": 0}
    of_teachers = {"base_estimator": LogisticRegression(), "n_teachers": 50, "method": "teachers"}
    for clf in (on_array(**given), on_array(**given, **of_teachers)):
        scores = {"scoring": "roc_auc", "return_estimator": True, "cv": 2}
        found = cross_validate(clf, ARRAY, WORDS, **scores)
        assert found["test_score"].min() > 0.75
        first, second = (clf.privacy_spent_ for clf in found["estimator"])
        assert first.n_synthetic == second.n_synthetic == 100 and 7.9 < first.epsilon <= 8.0


def test_sparse_rows_are_refused_as_the_tag_states():
    clf = on_array()
    assert not get_tags(clf).input_tags.sparse
    trees = PATEClassifier(DecisionTreeClassifier())
    of_tree = get_tags(DecisionTreeClassifier()).input_tags.sparse  # False in 1.6.0
    assert get_tags(trees).input_tags.sparse == of_tree
    assert not get_tags(trees.set_params(synthesizer=marginals())).input_tags.sparse
    pytest.raises(ValueError, clf.fit, sparse.csr_array(ARRAY), Y).match(
        "X is a csr_array.*X.toarray"
    )


def texts_and_numbers(n=20_000, seed=0):
    """Rows with a column of numbers, of texts, and of truth values, and labels."""
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame({"size": rng.normal(size=n), "kind": rng.choice(["a", "b", "c"], n)})
    rows["new"] = rng.random(n) < 0.5
    return rows, (rows["size"] + (rows["kind"] == "a") > 0).astype(int).to_numpy()


@cases("declared", {}, {"classes": [0, 1]}, {"classes": [0, 1], "schema": {"size": (-4, 4)}})
def test_teachers_are_tried_on_texts_before_undeclared_columns_are_paid_for(declared):
    rows, labels = texts_and_numbers()
    clf = PATEClassifier(LogisticRegression(), n_teachers=20, epsilon=4.0, random_state=0)
    clf.set_params(ledger=None, **declared)
    message = r"base_estimator failed when tried.*Columns \['kind'.*.*pandas.to_numeric"
    for call in (clf.plan, clf.fit):
        with pytest.raises(ValueError, match=message) as found:
            call(rows, labels)
        assert not hasattr(found.value, "privacy_spent")


def test_students_are_tried_on_texts_before_undeclared_columns_are_paid_for():
    rows, labels = texts_and_numbers()
    clf = PATEClassifier(student=LogisticRegression(), classes=[0, 1], random_state=0)
    with pytest.raises(ValueError, match="the student failed when tried") as found:
        clf.fit(rows, labels)
    assert not hasattr(found.value, "privacy_spent")
    clf.fit(rows[["size"]], labels)  # numbers are tried as numbers
    assert clf.score(rows[["size"]], labels) > 0.7


def test_texts_of_dry_runs_change_no_plan():
    rows, labels = texts_and_numbers()
    as_texts = rows.astype({"size": object})
    for params in ({}, {"n_teachers": 20}):
        clf = PATEClassifier(classes=[0, 1], epsilon=4.0, random_state=0, **params)
        assert str(clf.plan(as_texts, labels)) == str(clf.plan(rows, labels))


@pytest.mark.slow
def test_one_malformed_cell_does_not_fail_models_of_numbers():
    """The cell is a text, so the dtype is object; nearly all cells are numbers."""
    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(2000, 2)), columns=["a", "b"])
    labels = (rows["a"] > 0).to_numpy().astype(int)
    malformed = rows.astype({"b": object})
    malformed.loc[7, "b"] = "?"
    sparse = rows.astype({"b": pd.SparseDtype(float)})
    for table in (rows, malformed, sparse):
        clf = PATEClassifier(
            classes=[0, 1], epsilon=4.0, student=DecisionTreeClassifier(max_depth=3)
        )
        assert clf.fit(table, labels).score(rows, labels) > 0.7
    malformed.loc[:1500, "b"] = "?"
    with pytest.raises(ValueError, match="the student failed when tried"):
        clf.fit(malformed, labels)
