"""Several targets at once: columns of `y` that one fit learns, and their cost together."""

import copy
import pickle
from itertools import combinations_with_replacement, product

import numpy as np
import pandas as pd
import pytest
from conftest import sampled
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import DataConversionWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV
from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import (
    check_classifier_multioutput,
    check_classifiers_multilabel_output_format_decision_function,
    check_classifiers_multilabel_output_format_predict,
    check_classifiers_multilabel_output_format_predict_proba,
    check_classifiers_multilabel_representation_invariance,
    check_regressor_multioutput,
)

from sklearn_pate import PATEClassifier, PATERegressor, PublicData
from sklearn_pate.accounting import plan_table
from sklearn_pate.aggregators import GaussianMechanism, LaplaceMechanism
from sklearn_pate.audit import audit_table
from sklearn_pate.class_sums import statistic
from sklearn_pate.class_sums.statistic import (
    WITH_PUBLIC_ROWS,
    WITHOUT_PUBLIC_ROWS,
    Centre,
    free_weight,
    gather_sums,
    noise_sizes,
    publish_sums,
    sensitivity,
    ticks_of,
    unit,
    with_constant,
)
from sklearn_pate.encoding.targets import ClassTarget, NumberTarget, SeveralTargets
from sklearn_pate.exceptions import BudgetExceededError
from sklearn_pate.ledger import PrivacyLedger
from sklearn_pate.methods import ClassSums, ReverseNeighbors, sums
from sklearn_pate.methods.base import VotingMethod
from sklearn_pate.model_selection import PrivateGridSearchCV
from sklearn_pate.neighbors.counting import count_votes
from sklearn_pate.rdp import Contribution, Neighbors
from sklearn_pate.rdp.discrete import GRID
from sklearn_pate.readouts import SeveralTables
from sklearn_pate.releases import Release
from sklearn_pate.runtime.private_data import PrivateData
from sklearn_pate.schema_release import ClassRelease, RangeRelease, SeveralReleases
from sklearn_pate.synthesis import MarginalSynthesizer

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*released numbers may be little better"),
    pytest.mark.filterwarnings("ignore:too few records|.*explain|a cell has about"),
    pytest.mark.filterwarnings("ignore:.*random_state"),
]

SETS = [(2, 2), (2, 3), (3, 3, 3), (2, 2, 4)]
REPLACED = Neighbors(relation="replace_one", unit="record")
JOINED = Neighbors(relation="add_or_remove_one", unit="record")


def of_classes(numbers):
    return SeveralTargets([ClassTarget(np.arange(n)) for n in numbers])


# --- all neighbouring pairs: class sums ----------------------------------------------------------


def directions():
    """Rows of two columns around the circle, shorter ones, and none at all."""
    angles = np.linspace(0, 2 * np.pi, 17)[:-1]
    around = np.column_stack([np.cos(angles), np.sin(angles)])
    return np.concatenate([around, 0.5 * around, [[0.0, 0.0]]])


def contribution_of(psi, labels, numbers, blocks, of_moment):
    """All that one record adds; the sums and counts of each target have one part of the weight."""
    part = 1 / np.sqrt(len(numbers))
    found = [blocks.total * psi, of_moment * np.outer(psi, psi).ravel()]
    for label, n_classes in zip(labels, numbers, strict=True):
        one_hot = np.eye(n_classes)[label]
        found += [part * np.outer(one_hot - 1 / n_classes, psi).ravel()]
        found += [part * blocks.counts * one_hot * psi.any()]
    return np.concatenate(found)


@pytest.mark.parametrize("numbers", SETS)
@pytest.mark.parametrize(
    "blocks, part", [(WITHOUT_PUBLIC_ROWS, 0.3), (WITHOUT_PUBLIC_ROWS, 1.0), (WITH_PUBLIC_ROWS, 0)]
)
def test_sensitivity_of_several_targets_equals_enumeration(numbers, blocks, part):
    weight = part * free_weight(numbers)
    rows = directions()
    if blocks is WITH_PUBLIC_ROWS:
        rows = np.concatenate([with_constant(unit(rows)), np.zeros((1, 3))])
    every = product(rows, product(*(range(min(n, 3)) for n in numbers)))
    records = [contribution_of(psi, labels, numbers, blocks, weight) for psi, labels in every]
    records = np.array([*records, np.zeros_like(records[0])])
    squares = (records**2).sum(axis=1)
    replaced = np.sqrt((squares[:, None] + squares - 2 * records @ records.T).max())
    given = {"n_classes": numbers, "moment_weight": weight}
    bound = sensitivity(2, blocks, **given)
    assert 0.99 * bound < replaced <= bound * (1 + 1e-12)
    bound = sensitivity(1, blocks, **given)
    assert 0.99 * bound < np.sqrt(squares.max()) <= bound * (1 + 1e-12)


def test_added_record_changes_at_most_the_charged_part_for_any_targets():
    """A mix of two and three classes would exceed it with the whole free weight of the moment."""
    several = [
        numbers
        for n_targets in (2, 3, 4)
        for numbers in combinations_with_replacement([2, 3, 4, 7, 10, 1000], n_targets)
    ]
    for numbers in [*several, (2,) * 9 + (1000,), (2,) * 5 + (3,) * 5]:
        for blocks in (WITH_PUBLIC_ROWS, WITHOUT_PUBLIC_ROWS):
            weight = free_weight(numbers) if blocks.has_moment else 0.0
            given = {"n_classes": numbers, "moment_weight": weight}
            one, two = (sensitivity(k, blocks, **given) for k in (1, 2))
            assert one**2 <= blocks.one_changed * two**2


def test_one_target_is_charged_as_without_others():
    for n_classes in (2, 3, 10):
        assert noise_sizes(0.3, n_classes=(n_classes,)) == noise_sizes(0.3, n_classes=n_classes)
    one, two = noise_sizes(0.3, n_classes=2), noise_sizes(0.3, n_classes=(2, 2))
    np.testing.assert_allclose(np.divide(two, one), [1, np.sqrt(2), 1], rtol=1e-6)


def whole_records(numbers):
    """Unit rows in some directions with all labels, and a row that could not be encoded."""
    angles = np.linspace(0, 2 * np.pi, 9)[:-1]
    rows = [*np.column_stack([np.cos(angles), np.sin(angles)]), np.zeros(2)]
    every = list(product(rows, product(*(range(n) for n in numbers))))
    return np.array([row for row, _ in every]), np.array([labels for _, labels in every])


@pytest.mark.parametrize("numbers", [(2, 2), (2, 3)])
def test_sums_of_several_targets_cost_what_is_charged(monkeypatch, numbers):
    """The noise that is really drawn on each entry, and all pairs of records."""
    mu = 0.4
    rows, codes = whole_records(numbers)
    target, sds = of_classes(numbers), []

    def without_noise(whole, sd, step, rng):
        sds.append(np.full(whole.size, sd))
        return whole.astype(float) * step

    monkeypatch.setattr(statistic, "noisy_sums", without_noise)
    found = []
    for row, labels in zip(rows, codes, strict=True):
        sds.clear()
        of_one = gather_sums(
            row[None], labels[None], ticks_of(1), Centre(np.zeros(2)), target=target
        )
        sizes = noise_sizes(mu, n_classes=numbers)[1:]
        noisy = publish_sums(of_one, *sizes, np.random.default_rng(0))
        above = noisy.moment[np.triu_indices(3, 1)]
        parts = (noisy.counts, noisy.by_class, noisy.total, above, np.diag(noisy.moment))
        found.append(np.concatenate([np.ravel(part) for part in parts]))
    found = np.array(found) / np.concatenate(sds)
    squares = (found**2).sum(axis=1)
    changed = (squares[:, None] + squares - 2 * found @ found.T).max()
    rest = mu**2 * (1 - statistic.MEAN_FRACTION)  # the mean has the other part
    assert 0.95 * rest < changed <= rest


@pytest.mark.parametrize("numbers", [(2, 2), (2, 3, 5)])
def test_noise_on_columns_of_several_targets_costs_what_is_charged(monkeypatch, numbers):
    """The noise that `SumsMechanism` draws on each entry, and all pairs of records."""
    stds = []

    class NoNoise:
        def __init__(self, std):
            self.std = std

        def sample(self, rng, shape):
            stds.append(np.full(shape, self.std))
            return np.zeros(shape, dtype=np.int64)

    monkeypatch.setattr(sums, "DiscreteGaussian", NoNoise)
    steps = []
    add = sums.plus_noise
    monkeypatch.setattr(sums, "plus_noise", lambda *a: (steps.append(a[2]), add(*a))[1])
    angles = np.linspace(0, 2 * np.pi, 9)[:-1]
    public = np.column_stack([np.cos(angles), np.sin(angles)])
    target, method = of_classes(numbers), ClassSums(extra_columns=False)
    made_up = PrivateData(X=public, codes=np.zeros((8, len(numbers)), dtype=int), target=target)
    neighbors = method.prepare(made_up, public)
    method.prepare_public(public, noise_std=1.0, n_records=None, n_classes=2)
    mechanism = method.mechanism(None).with_scale(2.0)
    found = []
    for row, labels in product(public[::2], product(*(range(n) for n in numbers))):
        stds.clear(), steps.clear()
        private = PrivateData(X=row[None], codes=np.array([labels]), target=target)
        table = mechanism.noisy(method.vote(private, public), 0)
        first, of_total, *others = stds
        own = [first[:, :-1] * steps[0]]
        own += [std * step for std, step in zip(others, steps[1:], strict=True)]
        own = np.column_stack([*own, of_total * steps[0]])
        found.append((table / own).ravel())
    found = np.array(found)
    squares = (found**2).sum(axis=1)
    changed = (squares[:, None] + squares - 2 * found @ found.T).max()
    charged = mechanism.cost(method.contribution(neighbors)).mu_squared
    assert 0.8 * charged < changed <= charged


# --- all neighbouring pairs: votes in cells ------------------------------------------------------

LEVELS = NumberTarget(np.arange(3.0))
TARGETS = {
    "classes": (of_classes([2, 3]), [*product([0, 1], [0, 1, 2])]),
    "numbers": (SeveralTargets([LEVELS, LEVELS]), [*product([0.0, 0.3, 2.0], [0.0, 1.7, 2.0])]),
}


@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("n_neighbors", [1, 2])
def test_record_changes_at_most_the_votes_of_all_targets(kind, n_neighbors):
    target, places = TARGETS[kind]
    every = list(product([-1.0, 1.0, np.nan], places))
    public = np.array([[-1.0], [0.0], [1.0]])

    def tables(relation, others):
        def private(records):
            rows = np.array([[row] for row, _ in records])
            return PrivateData(X=rows, codes=np.array([own for _, own in records]), target=target)

        given = {"n_cells": 3, "n_neighbors": n_neighbors, "relation": relation}
        method = ReverseNeighbors(StandardScaler(), random_state=0, **given)
        neighbors = method.prepare(private(every), public)
        method.prepare_public(public, noise_std=1.0, n_records=None, n_classes=3)
        found = [method.vote(private([record, *others]), public) for record in every]
        return found, method.vote(private(others), public), method.contribution(neighbors)

    others = [(1.0, places[0]), (-1.0, places[-1])]
    found, _, contribution = tables("replace_one", others)
    changed = [np.abs(a - b) for a, b in product(found, found)]
    assert contribution.l1 == 4 * n_neighbors == max(change.sum() for change in changed)
    assert max(change.max() for change in changed) <= contribution.linf == 1
    most = max((change**2).sum() for change in changed)
    assert most <= contribution.l2_squared == 4 * n_neighbors
    found, without, contribution = tables("add_or_remove_one", others)
    joined = [np.abs(counts - without) for counts in found]
    assert contribution.l1 == 2 * n_neighbors == max(change.sum() for change in joined)
    assert max((change**2).sum() for change in joined) <= contribution.l2_squared


def test_group_changes_at_most_as_much_as_a_record():
    rng, target = np.random.default_rng(1), of_classes([2, 3])
    largest = 0.0
    for _ in range(200):
        tables = []
        for size in rng.integers(1, 4, size=2):
            given = {"sample_weight": rng.choice([0.3, 1.0], size=size)}
            given |= {"groups": np.zeros(size, dtype=int), "n_cells": 3, "target": target}
            codes = np.column_stack([rng.integers(2, size=size), rng.integers(3, size=size)])
            tables.append(count_votes(rng.integers(-1, 3, size=(size, 1)), codes, **given) * GRID)
        change = np.abs(tables[0] - tables[1])
        largest = max(largest, change.sum())
        assert change.sum() <= 4 and (change**2).sum() <= 4
    assert largest > 3


@pytest.mark.slow
def test_audit_of_two_targets_stays_below_its_claim_and_refutes_that_of_one(global_random_seed):
    mechanism = LaplaceMechanism(2.0, noise="continuous")
    method = ReverseNeighbors(StandardScaler(), n_cells=1, random_state=0)
    clf = PATEClassifier(method=method, classes=[[0, 1], [0, 1]], on_bad_plan="warn")
    rows, tables = np.arange(3.0)[:, None], []
    for last in (0, 1):
        votes = clf.poll(rows, np.array([[0, 1], [1, 0], [last, last]]), X[:40, :1])
        tables.append(votes.counts)
    contribution = votes.method.contribution(votes.neighbors)
    given = {"random_state": global_random_seed, "n_samples": 4000}
    found = audit_table(mechanism, *tables, contribution=contribution, **given)
    assert found.epsilon <= found.claimed == 2.0
    of_one = Contribution.of_counts(2)
    assert audit_table(mechanism, *tables, contribution=of_one, **given).refuted


# --- fits ----------------------------------------------------------------------------------------

CLASSES = [[0, 1], [0, 1], [0, 1, 2]]


def made_up(n_records=2400, seed=0):
    """Rows, three columns of labels, and two columns of numbers."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_records, 4))
    labels = np.column_stack(
        [X[:, 0] > 0, X[:, 1] - X[:, 2] > 0, np.digitize(X[:, 3], [-0.5, 0.5])]
    )
    return X, labels.astype(int), np.column_stack([10 + 3 * X[:, 0], X[:, 1] + X[:, 3]])


X, LABELS, NUMBERS = made_up()
PRIVATE, PUBLIC, TEST = slice(0, 1800), slice(1800, 2100), slice(2100, 2400)
BOUNDS = [(0, 20), (-5, 5)]
FAST = {
    "cells": {"method": ReverseNeighbors(n_cells=20)},
    "sums": {"method": "sums"},
}


def classifier(**params):
    return PATEClassifier(**{"classes": CLASSES, "epsilon": 8.0, "random_state": 0} | params)


def fitted(X_public=X[PUBLIC], **params):
    return classifier(**params).fit(X[PRIVATE], LABELS[PRIVATE], X_public)


@sampled()
@pytest.mark.parametrize("has_public_rows", [True, False])
@pytest.mark.parametrize("method", FAST)
def test_classifier_learns_several_targets(method, has_public_rows):
    clf = fitted(X[PUBLIC] if has_public_rows else None, **FAST[method])
    predicted = clf.predict(X[TEST])
    assert predicted.shape == (300, 3) and predicted.dtype == np.int64
    assert ((predicted == LABELS[TEST]).mean(axis=0) > 0.7).all()
    assert clf.privacy_spent_.epsilon <= 8.0
    assert [values.tolist() for values in clf.classes_] == CLASSES
    proba = clf.predict_proba(X[TEST])
    assert [each.shape for each in proba] == [(300, 2), (300, 2), (300, 3)]
    for each, column in zip(proba, predicted.T, strict=True):
        np.testing.assert_allclose(each.sum(axis=1), 1)
        assert (each.argmax(axis=1) == column).mean() > 0.95
    n_rows = len(clf.public_labels_)
    assert clf.public_labels_.shape == (n_rows, 3)
    assert [soft.shape for soft in clf.public_soft_labels_] == [(n_rows, n) for n in (2, 2, 3)]
    assert isinstance(clf.table_, SeveralTables) and len(clf.table_.class_proba(X[:5])) == 3
    right = (predicted == LABELS[TEST]).all(axis=1)
    assert clf.score(X[TEST], LABELS[TEST]) == right.mean()
    reference = MultiOutputClassifier(LogisticRegression()).fit(X[PRIVATE], LABELS[PRIVATE])
    reference.predict = lambda X: predicted  # the score of scikit-learn for these predictions
    assert reference.score(X[TEST], LABELS[TEST]) == right.mean()
    weight = np.arange(300)
    assert clf.score(X[TEST], LABELS[TEST], weight) == pytest.approx(right @ weight / weight.sum())
    copied = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(copied.predict(X[TEST]), predicted)
    np.testing.assert_array_equal(
        clf.predict_log_proba(X[:9])[2], np.log(clf.predict_proba(X[:9])[2])
    )
    assert not hasattr(copied, "curator_") and "3 targets" not in repr(copied)
    assert clone(clf).classes == CLASSES


@sampled()
@pytest.mark.parametrize("has_public_rows", [True, False])
@pytest.mark.parametrize("method", FAST)
def test_regressor_learns_several_targets(method, has_public_rows):
    reg = PATERegressor(bounds=BOUNDS, epsilon=8.0, random_state=0, **FAST[method])
    reg.fit(X[PRIVATE], NUMBERS[PRIVATE], X[PUBLIC] if has_public_rows else None)
    predicted = reg.predict(X[TEST])
    assert predicted.shape == (300, 2)
    assert (r2_score(NUMBERS[TEST], predicted, multioutput="raw_values") > 0.4).all()
    assert reg.score(X[TEST], NUMBERS[TEST]) == r2_score(NUMBERS[TEST], predicted)
    assert reg.public_labels_.shape[1] == 2
    assert [levels.tolist() for levels in reg.levels_] == [[0.0, 20.0], [-5.0, 5.0]]
    with pytest.raises(ValueError, match="for one target"):
        reg.set_params(n_levels=5).predict_quantiles(X[:1], 0.5)


@sampled()
@pytest.mark.parametrize("method", FAST)
@pytest.mark.parametrize("has_public_rows", [True, False])
def test_one_column_is_the_same_fit_as_a_vector(method, has_public_rows):
    given = FAST[method] | {"random_state": 0}
    X_public = X[PUBLIC] if has_public_rows else None
    y = LABELS[PRIVATE, :1]
    one = PATEClassifier(classes=[0, 1], **given).fit(X[PRIVATE], y[:, 0], X_public)
    other = PATEClassifier(classes=[[0, 1]], **given)
    with pytest.warns(DataConversionWarning):
        other.fit(X[PRIVATE], y, X_public)
    np.testing.assert_array_equal(one.predict_proba(X[TEST]), other.predict_proba(X[TEST]))
    np.testing.assert_array_equal(one.public_labels_, other.public_labels_)
    assert tuple(one.privacy_spent_) == tuple(other.privacy_spent_)


def test_text_and_numbers_are_predicted_as_objects():
    frame = pd.DataFrame({"a": np.where(LABELS[:, 0], "yes", "no"), "b": LABELS[:, 2]})
    clf = classifier(classes=[["yes", "no"], [0, 1, 2]], **FAST["sums"])
    clf.fit(X[PRIVATE], frame[PRIVATE], X[PUBLIC])
    predicted = clf.predict(X[TEST])
    assert predicted.dtype == object and set(predicted[:, 0]) == {"yes", "no"}
    assert clf.score(X[TEST], frame[TEST]) > 0.5
    with pytest.raises(ValueError, match="labels of several types cannot be exported"):
        clf.export(X[PUBLIC])


def test_zeros_and_ones_between_bounds_are_predicted_as_probabilities():
    y = np.column_stack([LABELS[:, 0], NUMBERS[:, 0]])
    reg = PATERegressor(bounds=[(0, 1), (0, 20)], random_state=0).fit(
        X[PRIVATE], y[PRIVATE], X[PUBLIC]
    )
    proba, numbers = reg.predict(X[TEST]).T
    assert ((proba > 0.5) == y[TEST, 0]).mean() > 0.8 and 0 <= proba.min() <= proba.max() <= 1
    assert r2_score(y[TEST, 1], numbers) > 0.6


def test_class_weights_apply_to_each_target():
    y = np.column_stack([X[:, 0] > 1.2, X[:, 1] > 1.2]).astype(int)
    given = {"classes": [[0, 1], [0, 1]], "class_weight": ["balanced", {1: 0.5}]}
    clf = classifier(**given, **FAST["sums"]).fit(X[PRIVATE], y[PRIVATE], X[PUBLIC])
    plain = clone(clf).set_params(class_weight=None).fit(X[PRIVATE], y[PRIVATE], X[PUBLIC])
    more, fewer = clf.predict(X[TEST]).mean(axis=0) - plain.predict(X[TEST]).mean(axis=0)
    assert more > 0 > fewer
    with pytest.raises(ValueError, match="list of 2 weights"):
        clf.set_params(class_weight=["balanced"]).fit(X[PRIVATE], y[PRIVATE], X[PUBLIC])
    with pytest.raises(ValueError, match="not one of the 2 classes"):
        clf.set_params(class_weight=[None, {7: 1.0}]).fit(X[PRIVATE], y[PRIVATE], X[PUBLIC])


# --- cost ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_targets", [2, 12])
def test_plan_uses_the_mechanism_with_less_noise(n_targets):
    y = np.tile(LABELS[:, :1], n_targets)
    clf = classifier(classes=[[0, 1]] * n_targets, epsilon=1.0, **FAST["cells"])
    plan = clf.set_params(on_bad_plan="warn").plan(X[PRIVATE], y[PRIVATE], X[PUBLIC])
    contribution = Contribution.of_counts(2 * n_targets)
    given = {"contribution": contribution, "n_rows": 300, "epsilon": 1.0, "delta": 1e-5}
    pure, gaussian = (
        plan_table(mechanism, **given) for mechanism in (LaplaceMechanism(), GaussianMechanism())
    )
    ((mechanism, _),) = plan.stages
    assert isinstance(mechanism, GaussianMechanism) == (n_targets == 12)
    assert plan.noise_std == min(pure.noise_std, gaussian.noise_std)
    assert plan.epsilon <= 1.0 and plan.delta == (1e-5 if n_targets == 12 else 0.0)
    assert f"targets     {n_targets}, each with up to 2 classes" in str(plan)
    set_by_user = clf.set_params(aggregator=LaplaceMechanism())
    ((mechanism, _),) = set_by_user.plan(X[PRIVATE], y[PRIVATE], X[PUBLIC]).stages
    assert isinstance(mechanism, LaplaceMechanism) and mechanism.scale == 2 * n_targets


@pytest.mark.parametrize("method", FAST)
@pytest.mark.usefixtures("forked_workers")
def test_memory_and_workers_give_the_same_fit(method, tmp_path):
    clf = fitted(**FAST[method])
    for params in ({"memory": str(tmp_path)}, {"memory": str(tmp_path)}, {"n_jobs": 2}):
        other = fitted(**params, **FAST[method])
        np.testing.assert_array_equal(other.public_labels_, clf.public_labels_)
        np.testing.assert_array_equal(other.curator_.votes, clf.curator_.votes)


def test_sums_of_two_targets_have_less_noise_than_two_fits():
    one = classifier(method="sums", epsilon=0.5, classes=[0, 1])
    both = classifier(method="sums", epsilon=1.0, classes=[[0, 1], [0, 1]])
    alone = one.plan(X[PRIVATE], LABELS[PRIVATE, 0], X[PUBLIC]).noise_std
    together = both.plan(X[PRIVATE], LABELS[PRIVATE, :2], X[PUBLIC]).noise_std
    assert together < 0.76 * alone


@pytest.mark.parametrize("method", FAST)
def test_plan_of_several_targets_depends_on_public_numbers_alone(method):
    clf = classifier(**FAST[method])
    other = np.roll(LABELS[PRIVATE], 5, axis=0)
    other[:, 0] = 0
    plans = [str(clf.plan(X[PRIVATE], y, X[PUBLIC])) for y in (LABELS[PRIVATE], other)]
    assert plans[0] == plans[1]


def test_ledger_records_one_fit_of_several_targets(tmp_path):
    ledger = PrivacyLedger(tmp_path / "ledger.db", epsilon=10.0, delta=1e-4)
    clf = classifier(ledger=ledger, random_state=None, **FAST["cells"])
    clf.fit(X[PRIVATE], LABELS[PRIVATE], X[PUBLIC])
    assert 7.9 < clf.privacy_spent_.epsilon <= 8.0
    with pytest.raises(BudgetExceededError):
        clf.fit(X[PRIVATE], LABELS[PRIVATE], X[PUBLIC])


# --- targets that are not declared ---------------------------------------------------------------


def test_classes_of_several_targets_are_found():
    X, labels, _ = made_up(9000)
    names = np.array(["low", "mid", "high"])[labels[:, 2]]
    names[:3] = "rare"
    frame = pd.DataFrame({"number": labels[:, 0], "text": names})
    clf = PATEClassifier(method="sums", random_state=0, epsilon=3.0)
    clf.fit(X[:8000], frame[:8000], X[8000:8500])
    assert [values.tolist() for values in clf.classes_] == [[0, 1], ["high", "low", "mid"]]
    epsilon, delta = clf.privacy_spent_
    assert epsilon <= 3.0 and delta <= 1e-5
    assert (
        "from which the classes were found, for each of 2 targets" in clf.privacy_spent_.summary()
    )
    assert clf.score(X[8500:], frame[8500:]) > 0.6
    flags = labels[:, :2] == 1
    clf = PATEClassifier(method="sums", random_state=0).fit(X[:8000], flags[:8000], X[8000:])
    assert [values.tolist() for values in clf.classes_] == [[False, True]] * 2
    assert "were found" not in clf.privacy_spent_.summary()


def test_bounds_of_several_targets_are_found():
    X, _, numbers = made_up(9000)
    reg = PATERegressor(method="sums", random_state=0).fit(X[:8000], numbers[:8000], X[8000:])
    for levels, column in zip(reg.levels_, numbers.T, strict=True):
        assert levels[0] < np.quantile(column, 0.1) and levels[1] > np.quantile(column, 0.9)
    assert reg.privacy_spent_.epsilon <= 1.0 and reg.score(X[8000:], numbers[8000:]) > 0.6


@pytest.mark.parametrize("kind", [ClassRelease, RangeRelease])
def test_releases_of_several_targets_share_epsilon_and_delta(kind):
    one = Neighbors(relation="replace_one", unit="record", n_records=1000)
    for n_targets in (2, 3, 7):
        given = {"epsilon": 0.1, "delta": 1e-8, "neighbors": one}
        release = SeveralReleases(kind=kind, n_targets=n_targets, **given)
        alone = kind(**given)
        assert release.parts[0].mechanism().scale >= n_targets * alone.mechanism().scale
        assert 0.09 < release.cost.pure <= 0.1 and release.cost.delta <= 1e-8


def test_record_with_one_label_that_was_not_found_counts_nowhere():
    """In no target, so that the ticks of a record are the same for each of them."""
    X, labels, _ = made_up(6000)
    y = labels[:, [0, 0]].astype(object)
    y[:2, 1] = 99  # no such class is found
    clf = PATEClassifier(method=ReverseNeighbors(n_cells=5), epsilon=20.0, random_state=0)
    clf.fit(X[:5000], y[:5000].astype(int), X[5000:])
    assert [values.tolist() for values in clf.classes_] == [[0, 1], [0, 1]]
    counts = clf.curator_.votes
    assert counts[:, :2].sum() == counts[:, 2:].sum() == 4998


def test_labels_are_read_without_a_limit_of_epsilon():
    clf = PATEClassifier(
        method=ReverseNeighbors(n_cells=5), aggregator=LaplaceMechanism(2.0), epsilon=None
    )
    with pytest.warns(UserWarning, match="read from the private labels"):
        clf.fit(X[PRIVATE], LABELS[PRIVATE], X[PUBLIC])
    assert [values.tolist() for values in clf.classes_] == CLASSES


# --- students ------------------------------------------------------------------------------------


@sampled()
@pytest.mark.parametrize("method", FAST)
@pytest.mark.parametrize("classes", [CLASSES, [[3, 4], [3, 4], [7, 8, 9]]])
def test_export_of_several_targets_predicts_alike(method, classes):
    labels = np.column_stack(
        [np.array(own)[column] for own, column in zip(classes, LABELS.T, strict=True)]
    )
    clf = classifier(classes=classes, **FAST[method]).fit(X[PRIVATE], labels[PRIVATE], X[PUBLIC])
    students = [None, LogisticRegression(), RandomForestClassifier(5, random_state=0)]
    kinds = [MultiOutputClassifier, MultiOutputClassifier, RandomForestClassifier]
    for student, kind in zip(students, kinds, strict=True):
        model = clf.fit_student(X[PUBLIC], student).export(X[PUBLIC])
        assert isinstance(model, kind) and "sklearn_pate" not in model.libraries_
        np.testing.assert_array_equal(model.predict(X[TEST]), clf.predict(X[TEST]))
        for one, other in zip(
            model.predict_proba(X[TEST]), clf.predict_proba(X[TEST]), strict=True
        ):
            np.testing.assert_allclose(one, other, atol=1e-8)


def test_student_of_each_target_learns_class_probabilities():
    clf = fitted(student=LogisticRegression(), **FAST["cells"])
    assert isinstance(clf.student_, MultiOutputClassifier)
    assert ((clf.predict(X[TEST]) == LABELS[TEST]).mean(axis=0) > 0.75).all()
    together = fitted(student=RandomForestClassifier(20, random_state=0), **FAST["cells"])
    assert isinstance(together.student_, RandomForestClassifier)
    assert together.student_.n_outputs_ == 3
    assert [each.shape for each in together.predict_proba(X[:5])] == [(5, 2), (5, 2), (5, 3)]


def test_regressor_students_of_several_targets():
    reg = PATERegressor(bounds=BOUNDS, random_state=0, **FAST["sums"])
    reg.fit(X[PRIVATE], NUMBERS[PRIVATE], X[PUBLIC])
    model = reg.export(X[PUBLIC])
    assert isinstance(model, MultiOutputRegressor) and "sklearn_pate" not in model.libraries_
    np.testing.assert_allclose(model.predict(X[TEST]), reg.predict(X[TEST]))
    reg.fit_student(X[PUBLIC], Ridge())
    assert isinstance(reg.student_, Ridge) and reg.score(X[TEST], NUMBERS[TEST]) > 0.6
    np.testing.assert_allclose(reg.export(X[PUBLIC]).predict(X[TEST]), reg.predict(X[TEST]))


def test_released_tables_label_other_public_rows():
    clf = fitted(**FAST["sums"])
    spent = tuple(clf.privacy_spent_)
    clf.fit_student(X[TEST])
    assert clf.public_labels_.shape == (300, 3) and tuple(clf.privacy_spent_) == spent
    assert clf.score(X[TEST], LABELS[TEST]) > 0.5


def test_polled_votes_of_several_targets_are_released_alike():
    clf = classifier(**FAST["cells"])
    votes = clf.poll(X[PRIVATE], LABELS[PRIVATE], X[PUBLIC])
    assert votes.counts.shape == (20, 7)
    later = clone(clf).fit_votes(votes, X[PUBLIC])
    np.testing.assert_array_equal(later.predict(X[TEST]), fitted(**FAST["cells"]).predict(X[TEST]))
    with pytest.raises(ValueError, match="for other classes than classes=.*7"):
        clf.set_params(classes=[[0, 1], [0, 1], [0, 7]]).fit_votes(votes, X[PUBLIC])
    with pytest.raises(ValueError, match="counts for one target"):
        classifier().fit_votes(np.full((300, 2), 5), X[PUBLIC])


@pytest.mark.slow
def test_searches_score_several_targets():
    clf = classifier(random_state=None, epsilon=20.0, **FAST["cells"])
    grid = GridSearchCV(clf, {"epsilon": [10.0, 20.0]}, cv=2)
    grid.fit(X[PRIVATE], LABELS[PRIVATE], X_public=PublicData(X[PUBLIC]))
    assert 0.4 < grid.best_score_ == grid.cv_results_["mean_test_score"].max()
    pipe = make_pipeline(FunctionTransformer(), classifier(**FAST["sums"]))
    pipe.fit(X[PRIVATE], LABELS[PRIVATE], pateclassifier__X_public=X[PUBLIC])
    assert pipe.predict(X[:5]).shape == (5, 3)
    binary = classifier(classes=CLASSES[:2], random_state=None, **FAST["cells"])
    auc = GridSearchCV(binary, {"epsilon": [20.0]}, cv=2, scoring="roc_auc")
    auc.fit(X[PRIVATE], LABELS[PRIVATE, :2], X_public=PublicData(X[PUBLIC]))
    assert auc.best_score_ > 0.8


def test_private_search_of_several_targets_needs_public_labels():
    search = PrivateGridSearchCV(
        classifier(random_state=None, **FAST["cells"]),
        {"class_weight": [None, "balanced"]},
        n_trials=2,
    )
    with pytest.raises(ValueError, match="several targets require public validation data"):
        search.fit(X[PRIVATE], LABELS[PRIVATE], X[PUBLIC])
    search.fit(X[PRIVATE], LABELS[PRIVATE], X[PUBLIC], X_val=X[TEST], y_val=LABELS[TEST])
    assert search.best_estimator_.predict(X[:5]).shape == (5, 3)
    assert 0.9 < search.privacy_spent_.epsilon <= 1.0


# --- refusals before anything is paid ------------------------------------------------------------


class OwnVotes(VotingMethod):
    """A method that counts votes for one target."""

    def prepare(self, private, X_public, *, seed=None, memory=None):
        raise AssertionError("not reached")

    def vote(self, private, X_query, *, temperature=None, seed=None, on_done=None):
        raise AssertionError("not reached")


OWN_VOTES = {"method": OwnVotes(), "student": LogisticRegression()}


class Sum(Release):
    """Counts labels of class 1, of all columns: one record adds up to three."""

    epsilon_fraction = 0.1

    def event(self, neighbors):
        raise AssertionError("not reached")

    def gather(self, private):
        return (private.codes == 1).sum()

    def publish(self, gathered, rng):
        return gathered

    def describe(self):
        return "a sum"


@pytest.mark.parametrize(
    "params, y, match",
    [
        ({"accounting": "ptr"}, LABELS, "is for one target"),
        (OWN_VOTES, LABELS, "OwnVotes is for one target, and y has 3"),
        ({"classes": [[0, 1], [0, 1]]}, LABELS, "y must have 2 columns.*got 3"),
        ({"classes": [0, 1, 2]}, LABELS, "as one target is declared.*classes a list for each"),
        ({}, LABELS[:, 0], "y must have 3 columns.*got 1"),
        ({}, LABELS + 1, "labels that are not in classes"),
        ({"classes": [[0, 1], [0]]}, LABELS, "at least 2 classes"),
    ],
)
def test_parts_for_one_target_are_refused_early(params, y, match):
    clf = classifier(**params)
    for call in (clf.fit, clf.plan):
        with pytest.raises(ValueError, match=match) as caught:
            call(X[PRIVATE], y[PRIVATE], X[PUBLIC])
        assert not hasattr(caught.value, "privacy_spent") and not hasattr(clf, "table_")


def test_releases_and_marginals_are_refused_for_several_targets():
    clf = classifier(releases=[Sum()], **FAST["cells"])
    with pytest.raises(ValueError, match="releases are for one target"):
        clf.fit(X[PRIVATE], LABELS[PRIVATE], X[PUBLIC])
    clf = classifier(synthesizer=MarginalSynthesizer((-5, 5)), **FAST["cells"])
    with pytest.raises(ValueError, match="MarginalSynthesizer is for one target"):
        clf.fit(X[PRIVATE], LABELS[PRIVATE])
    with pytest.raises(ValueError, match="y_public has several columns"):
        classifier().plan(X[PRIVATE], LABELS[PRIVATE], X[PUBLIC], y_public=LABELS[PUBLIC])


def test_target_of_several_columns_is_checked():
    target = of_classes([2, 3])
    assert target != of_classes([2, 2]) and target == of_classes([2, 3])
    with pytest.raises(ValueError, match="of one kind"):
        SeveralTargets([ClassTarget([0, 1]), LEVELS])
    with pytest.raises(TypeError, match="belongs to each"):
        target.votes_at(np.zeros((2, 2)))
    assert JOINED.n_units == 1 and REPLACED.n_units == 2


# --- scikit-learn's protocols --------------------------------------------------------------------


def test_tags_allow_several_targets():
    for params, is_so in (
        ({}, True),
        ({"method": "sums"}, True),
        ({"n_teachers": 3}, True),
        ({"base_estimator": make_pipeline(LogisticRegression())}, True),
        ({"method": OwnVotes()}, False),
        ({"synthesizer": MarginalSynthesizer()}, False),
        ({"releases": [Sum()]}, False),
    ):
        tags = get_tags(PATEClassifier(**params))
        assert tags.target_tags.multi_output == tags.classifier_tags.multi_label == is_so
        if "base_estimator" not in params and "method" not in params:
            assert get_tags(PATERegressor(**params)).target_tags.multi_output == is_so
        assert tags.target_tags.single_output


class _SelfPublic:
    """The checks call fit(X, y); here the private rows stand in for the missing public ones."""

    def fit(self, X, y, X_public=None, *, groups=None, sample_weight=None):
        X_public = copy.deepcopy(X) if X_public is None else X_public
        return super().fit(X, y, X_public, groups=groups, sample_weight=sample_weight)


class SelfPublic(_SelfPublic, PATEClassifier):
    pass


class NumbersSelfPublic(_SelfPublic, PATERegressor):
    pass


GIVEN = {"epsilon": 2000.0, "random_state": 0, "on_bad_plan": "warn"}
CHECKED_METHODS = FAST | {"teachers": {"method": "teachers", "n_teachers": 2}}
CHECKED = [
    (check_classifier_multioutput, SelfPublic),
    (check_classifiers_multilabel_representation_invariance, SelfPublic),
    (check_classifiers_multilabel_output_format_predict, SelfPublic),
    (check_classifiers_multilabel_output_format_predict_proba, SelfPublic),
    (check_classifiers_multilabel_output_format_decision_function, SelfPublic),
    (check_regressor_multioutput, NumbersSelfPublic),
]


@sampled()
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", CHECKED_METHODS)
@pytest.mark.parametrize("check, kind", CHECKED)
def test_estimators_pass_sklearn_checks_of_several_targets(check, kind, method):
    """Targets are not declared, so each fit finds them first."""
    estimator = kind(**GIVEN, **CHECKED_METHODS[method])
    assert get_tags(estimator).target_tags.multi_output
    check(kind.__name__, estimator)
