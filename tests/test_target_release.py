"""Classes and bounds that are not declared: the cost of their release, and its results."""

import math
import threading
import warnings
from collections import Counter
from itertools import product

import numpy as np
import pandas as pd
import pytest
from conftest import sampled, table
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB

from sklearn_pate import PATEClassifier, PATERegressor, PrivacySpent
from sklearn_pate.aggregators import GNMax, LaplaceMechanism, LNMax
from sklearn_pate.encoding.targets import ClassTarget
from sklearn_pate.exceptions import BudgetExceededError
from sklearn_pate.fitting import seeds
from sklearn_pate.ledger import PrivacyLedger
from sklearn_pate.methods import Teachers
from sklearn_pate.rdp import Neighbors
from sklearn_pate.rdp.discrete import DiscreteLaplace
from sklearn_pate.releases import Release
from sklearn_pate.rules import default_target_fraction
from sklearn_pate.schema_release import (
    ClassRelease,
    NumericShareRelease,
    RangeRelease,
    SeveralReleases,
    ShareRelease,
    count_numeric_records,
)
from sklearn_pate.schema_release.targets import FIXED_LABELS
from sklearn_pate.synthesis import synthesizers

REPLACED, JOINED = (
    Neighbors(relation=relation, unit="record") for relation in ("replace_one", "add_or_remove_one")
)
RNG = np.random.default_rng(0)
X = RNG.normal(size=(3000, 3))
Y = np.where(X[:, 0] > 0, "yes", "no")
X_PUBLIC = RNG.normal(size=(400, 3))


# --- cost of the counts ---------------------------------------------------------------------------


def outcomes(release, counts, labels):
    """Return the probabilities of the outcomes of each label, hidden or a count, from -300 on."""
    noise = DiscreteLaplace(1 / release.mechanism().scale)
    values = np.arange(-300, 301)
    for label in labels:
        if label not in counts:
            yield np.eye(1, len(values) + 1)[0]  # always hidden
            continue
        of_values = np.exp(noise.log_pmf(values - counts[label]))
        is_shown = values >= release.threshold(label)
        yield np.concatenate([[of_values[~is_shown].sum()], of_values * is_shown])


def delta_of(release, counts, other, epsilon):
    """Return the hockey-stick divergence of the published counts of two data sets."""
    labels = [k for k in sorted({*counts, *other}, key=str) if counts.get(k) != other.get(k)]
    first, second = (list(outcomes(release, part, labels)) for part in (counts, other))
    p, q = (np.ravel(np.multiply.outer(*part) if len(part) == 2 else part[0]) for part in
            (first, second))  # fmt: skip
    return np.maximum(p - math.exp(epsilon) * q, 0).sum()


#: Counts of text labels or whole numbers of neighboring data sets.
REPLACE = [
    ({"a": 3, "b": 2}, {"a": 2, "b": 3}),
    ({"a": 3, "b": 1}, {"a": 4}),
    ({"a": 9, "b": 1}, {"a": 9, "c": 1}),
    ({"a": 90, "b": 90}, {"a": 89, "b": 91}),
    ({5: 9, 6: 0}, {5: 8, 6: 1}),
    ({5: 1, 1000: 1}, {5: 2}),
]
JOIN = [({"a": 3, "b": 1}, {"a": 3}), ({"a": 30}, {"a": 29}), ({5: 1}, {5: 0})]
PAIRS = [(REPLACED, *pair) for pair in REPLACE] + [(JOINED, *pair) for pair in JOIN]


def worst(release, change):
    """Return the largest delta at the stated epsilon, over the pairs of data sets."""
    pairs = [pair for neighbors, *pair in PAIRS if neighbors == release.neighbors]
    both = [(a, b) for a, b in pairs] + [(b, a) for a, b in pairs]
    changed = change(release)
    return max(delta_of(changed, a, b, release.epsilon) for a, b in both)


@pytest.mark.parametrize("neighbors", [REPLACED, JOINED], ids=["replace", "join"])
@pytest.mark.parametrize("epsilon, delta", [*product([0.2, 1.0, 3.0], [1e-3, 1e-6])])
def test_class_release_is_as_private_as_stated(neighbors, epsilon, delta):
    release = ClassRelease(epsilon=epsilon, delta=delta, neighbors=neighbors)
    assert worst(release, lambda own: own) <= delta * (1 + 1e-9) + 1e-13
    assert 0.999 * epsilon < release.cost.pure <= epsilon and release.cost.delta == delta


class LowThreshold(ClassRelease):
    def threshold(self, label):
        return super().threshold(label) - 1


class LittleNoise(ClassRelease):
    def mechanism(self, fraction=1.0):
        return LaplaceMechanism(super().mechanism(fraction).scale / math.sqrt(2))


@pytest.mark.parametrize("wrong", [LowThreshold, LittleNoise])
@pytest.mark.parametrize("neighbors", [REPLACED, JOINED], ids=["replace", "join"])
def test_enumeration_finds_a_class_release_that_leaks(wrong, neighbors):
    release = ClassRelease(epsilon=3.0, delta=1e-3, neighbors=neighbors)
    change = lambda own: wrong(epsilon=3.0, delta=1e-3, neighbors=neighbors)  # noqa: E731
    assert worst(release, change) > 1.2e-3


@given(
    labels=st.lists(st.sampled_from(["a", "b", "c"]), min_size=2, max_size=12),
    new=st.sampled_from(["a", "b", "c"]),
    n_units=st.integers(1, 4),
    data=st.data(),
)
def test_changed_records_of_a_unit_move_one_label(labels, new, n_units, data):
    release = ClassRelease(epsilon=1.0, delta=1e-6, neighbors=REPLACED)
    y = np.array(labels)
    units = np.array([data.draw(st.integers(0, n_units - 1)) for _ in labels])
    changed = y.copy()
    changed[units == units[0]] = new
    counts, other = (release.gather(part, units) for part in (y, changed))
    moved = [abs(counts.get(k, 0) - other.get(k, 0)) for k in {*counts, *other}]
    # Each label has a unit, so no more than one label is known from one data set alone
    assert min(counts.values()) > 0 and len(set(counts) - set(other)) <= 1
    assert sum(moved) <= 2 and max(moved) <= 1
    assert sum(counts.values()) == len(np.unique(units))


@given(numbers=st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=12), new=st.floats(-1e9, 1e9))
def test_changed_records_of_a_unit_move_one_number(numbers, new):
    release = RangeRelease(epsilon=1.0, delta=0.0, neighbors=REPLACED)
    units = np.arange(len(numbers)) // 3
    changed = np.where(units == 0, new, numbers)
    found, other = (release.gather(np.array(part), units) for part in (numbers, changed))
    assert len(found) == len(np.unique(units)) and (found[1:] == other[1:]).all()


def test_range_release_costs_both_of_its_partitions():
    release = RangeRelease(epsilon=0.5, delta=0.0, neighbors=REPLACED)
    scales = [noise.scale for noise in release.mechanisms]
    assert sum(2 / scale for scale in scales) == pytest.approx(0.5)
    assert release.cost.pure == pytest.approx(0.5) and release.cost.pure <= 0.5


# --- found targets --------------------------------------------------------------------------------


def test_labels_below_the_threshold_are_no_classes():
    release = ClassRelease(epsilon=0.1, delta=1e-8, neighbors=REPLACED)
    y = np.repeat(["a", "b", "c"], [5000, release.threshold("b") + 150, 40])
    for seed in range(20):
        found = release.publish(release.gather(y, None), np.random.default_rng(seed))
        assert found.target.values.tolist() == ["a", "b"]
        assert np.abs(found.counts - [5000, release.threshold("b") + 150]).max() < 400


def test_published_counts_have_the_stated_noise():
    release = ClassRelease(epsilon=0.5, delta=1e-6, neighbors=REPLACED)
    counts = release.gather(np.repeat(["a", "b"], 5000), None)
    draws = [release.publish(counts, np.random.default_rng(seed)).counts for seed in range(400)]
    # Laplace noise: the mean size of 800 draws is within 18 % of the scale, but for one in 1e6
    assert np.abs(np.array(draws) - 5000).mean() == pytest.approx(4.0, rel=0.18)


def test_noise_alone_makes_few_fixed_labels_classes():
    release = ClassRelease(epsilon=0.1, delta=1e-8, neighbors=REPLACED)
    counts = release.gather(np.repeat([0, 7], 5000), None)
    assert set(FIXED_LABELS) <= set(counts)
    n_false = sum(
        len(release.publish(counts, np.random.default_rng(seed)).target.values) > 2
        for seed in range(200)
    )
    assert n_false <= 8  # 2 are expected; more than 8 have a probability of 2e-4


def classes_found(release, counts, n_draws):
    """Return how many draws find each list of classes."""
    draws = (release.found_labels(counts, np.random.default_rng(s)) for s in range(n_draws))
    return Counter(tuple(sorted(found)) for found in draws)


def test_consecutive_numbers_are_found_by_their_neighbors():
    """Each of ten digits has 100 records, and few reach the threshold of a label alone."""
    neighbors = Neighbors(relation="replace_one", unit="record", n_records=1000)
    release = ClassRelease(epsilon=0.125, delta=1e-8, neighbors=neighbors)
    assert release.threshold(5) > 130
    counts = release.gather(np.arange(1000) % 10, None)
    assert classes_found(release, counts, 200)[tuple(range(10))] >= 120  # 150 are expected


@pytest.mark.slow
def test_numbers_next_to_two_frequent_classes_are_no_classes():
    """No records are missing, so noise adds no third class but between the two."""
    neighbors = Neighbors(relation="replace_one", unit="record", n_records=1000)
    release = ClassRelease(epsilon=0.125, delta=1e-8, neighbors=neighbors)
    counts = release.gather(np.arange(1000) % 2, None)
    assert classes_found(release, counts, 300)[(0, 1)] >= 285
    apart = classes_found(release, release.gather(np.arange(1000) % 2 * 2, None), 300)
    assert 0 < apart[(0, 1, 2)] <= 22  # 3 %


def test_labels_beyond_the_fixed_ones_are_not_found_by_their_neighbors():
    release = ClassRelease(epsilon=0.125, delta=1e-8, neighbors=REPLACED)
    below = release.threshold(1001) - 100
    assert release.threshold(5) < below
    counts = {1000: 6000, 1001: below, 1002: 6000 - below}
    assert set(classes_found(release, counts, 100)) == {(1000, 1002)}


def test_neighbors_of_a_class_do_not_depend_on_a_private_number_of_records():
    release = ClassRelease(epsilon=0.125, delta=1e-8, neighbors=JOINED)
    next_to = release.gather(np.repeat([5, 6], [6000, 30]), None)
    between = release.gather(np.repeat([5, 6, 7], [6000, 50, 3000]), None)
    assert release.threshold(6) > 65
    assert classes_found(release, next_to, 100)[(5,)] > 90
    assert classes_found(release, between, 100)[(5, 6, 7)] > 85


@pytest.mark.parametrize("name", ["normal", "lognormal", "small", "counts"])
def test_range_holds_most_numbers_and_little_else(name):
    rng = np.random.default_rng(1)
    y = {
        "normal": rng.normal(50, 10, 20_000),
        "lognormal": rng.lognormal(3, 1, 20_000),
        "small": rng.normal(0, 1e-3, 20_000),
        "counts": rng.poisson(5, 20_000).astype(float),
    }[name]
    release = RangeRelease(epsilon=0.1, delta=0.0, neighbors=REPLACED)
    low, high = release.publish(release.gather(y, None), rng).target.values
    assert np.mean((y < low) | (y > high)) < 0.25
    clipped = np.clip(y, low, high)
    assert np.mean((y - clipped) ** 2) < 0.3 * y.var()
    assert high - low < 3 * (np.quantile(y, 0.999) - np.quantile(y, 0.001))


def test_default_fraction_falls_with_the_number_of_records():
    fractions = [default_target_fraction(n_records=n, epsilon=1.0) for n in (100, 6000, 10**6)]
    assert fractions == [0.25, 0.1, 0.01]
    assert default_target_fraction(n_records=None, epsilon=1.0) == 0.05


# --- fits -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("public", [(), (X_PUBLIC,)], ids=["no public rows", "public rows"])
def test_fit_finds_its_classes_within_epsilon(public, tmp_path):
    ledger = PrivacyLedger(tmp_path / "ledger", epsilon=3.0, delta=1e-4)
    clf = PATEClassifier(epsilon=2.0, ledger=ledger).fit(X, Y, *public)
    spent = clf.privacy_spent_
    assert clf.classes_.tolist() == ["no", "yes"] and clf.score(X, Y) > 0.8
    assert 1.999 < spent.epsilon <= 2 and spent.delta <= 1e-5
    assert spent.composition == "sum" and not spent.not_covered
    assert spent.tables[0] == ClassRelease.released_as
    # Class sums may be chosen, also where they are not
    assert spent.delta == pytest.approx(1e-5)
    history = ledger.history()
    assert len(history) == 1 and history["epsilon"].iloc[0] <= 2.001


def test_fit_that_finds_its_classes_takes_the_whole_budget_of_a_ledger(tmp_path):
    ledger = PrivacyLedger(tmp_path / "ledger", epsilon=2.0)
    spent = PATEClassifier(epsilon=2.0, ledger=ledger).fit(X, Y).privacy_spent_
    assert spent.composition == "sum" and 1.999 < spent.epsilon <= 2
    for found in (ledger, PrivacyLedger(tmp_path / "ledger", epsilon=2.0)):
        assert found.history()["epsilon"].tolist() == [spent.epsilon]
        assert found.epsilon_spent == spent.epsilon  # no filter allows it
    again = PATEClassifier(epsilon=0.1, ledger=ledger, on_bad_plan="warn")
    with pytest.raises(BudgetExceededError, match="the 1 earlier fit.* cost 2: together") as caught:
        again.fit(X, Y)
    assert not hasattr(caught.value, "privacy_spent") and len(ledger.history()) == 1


def test_ledger_that_a_fit_may_take_whole_goes_on_after_a_first_release_alone(tmp_path):
    """Without its limit, the first release would be an entry that filters take."""
    ledger = PrivacyLedger(tmp_path / "ledger", epsilon=2.0)
    clf = PATEClassifier(epsilon=2.0, ledger=ledger, method="sums", on_bad_plan="warn")
    with pytest.raises(ValueError, match="at least 2 classes"):
        clf.fit(X, np.full(len(X), "only"))
    # One class alone is too few, so a second round follows: both take half of the fit's epsilon
    first = ledger.epsilon_spent
    assert first == pytest.approx(1.0)
    declared = clone(clf).set_params(classes=["no", "yes"])
    with pytest.raises(BudgetExceededError, match="adds the epsilons and deltas of its fits"):
        declared.fit(X, Y)
    declared.set_params(epsilon=1.999 - first).fit(X, Y)
    # The ledger has a little less delta left than the fit
    spent = first + declared.privacy_spent_.epsilon
    assert spent < ledger.epsilon_spent < spent + 0.001
    assert len(ledger.history()) == 2


def test_found_classes_are_not_paid_for_by_an_order_that_they_choose(tmp_path):
    # The smallest epsilon of the realised cost, 1.935, is within these budgets
    for budget, delta in ((1.95, 1e-5), (1.999, 0.99e-5)):
        ledger = PrivacyLedger(tmp_path / str(budget), epsilon=budget, delta=delta)
        with pytest.raises(BudgetExceededError) as caught:
            PATEClassifier(epsilon=2.0, ledger=ledger).fit(X, Y)
        assert "nothing was spent" in caught.value.__notes__[0] and len(ledger.history()) == 0


def test_refusal_after_the_first_release_has_its_cost(tmp_path, monkeypatch):
    ledger = PrivacyLedger(tmp_path / "ledger", epsilon=3.0)
    clf = PATEClassifier(epsilon=2.0, ledger=ledger)
    publish = ClassRelease.publish

    def exhausted(*args):  # another process records a fit while the classes are found
        ledger.record(spent, gaussian)
        return publish(*args)

    gaussian = GNMax(11.0).costs(n_teachers=100, n_classes=2)(20)
    numbers = {"n_teachers": 100, "n_queries": 20, "n_answered": 0}
    spent = PrivacySpent(1.0, 1e-5, "renyi", "record", "replace_one", **numbers)
    monkeypatch.setattr(ClassRelease, "publish", exhausted)
    with pytest.raises(BudgetExceededError) as caught:
        clf.fit(X, Y)
    assert 0 < caught.value.privacy_spent.epsilon < 1
    assert "is spent" in caught.value.__notes__[0] and len(ledger.history()) == 2


def test_pure_votes_of_found_classes_have_the_delta_of_the_threshold():
    clf = PATEClassifier(method="neighbors", epsilon=2.0).fit(X, Y, X_PUBLIC)
    assert clf.privacy_spent_.delta == pytest.approx(1e-8, rel=1e-3)


def test_epsilon_of_a_fit_is_that_of_its_parts():
    given = {"method": "neighbors", "random_state": 0}
    clf = PATEClassifier(epsilon=2.0, **given).fit(X, Y, X_PUBLIC)
    own = 2.0 * default_target_fraction(n_records=3000, epsilon=2.0)
    rest = math.nextafter(2.0 - own, 0)
    declared = PATEClassifier(epsilon=rest, classes=["no", "yes"], **given)
    declared.fit(X, Y, X_PUBLIC)
    assert clf.privacy_spent_.epsilon == pytest.approx(own + declared.privacy_spent_.epsilon)
    assert clf.aggregator_.scale == declared.aggregator_.scale
    assert clf.epsilon == 2.0 and clf.classes is None  # parameters do not change


def test_statement_of_teachers_does_not_depend_on_the_classes_that_were_found():
    params = {"aggregator": LNMax(0.05), "n_queries": 30, "n_teachers": 50, "epsilon": 8.0}
    stated = set()
    for y in (Y, np.resize(["a", "b", "c"], 3000)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            clf = PATEClassifier(GaussianNB(), **params).fit(X, y, X_PUBLIC)
        stated.add(tuple(clf.privacy_spent_))
    assert len(stated) == 1 and 7.999 < stated.pop()[0] <= 8


@pytest.mark.parametrize("teacher", [None, GaussianNB()], ids=["records", "teachers"])
def test_records_with_other_labels_count_nowhere(teacher):
    fits = []
    for others in ("rare", "other"):
        y, rows = Y.copy().astype(object), X.copy()
        y[:7] = others
        rows[:7] = -5 if others == "rare" else 5
        clf = PATEClassifier(teacher, epsilon=4.0, random_state=0)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            clf.fit(rows, y.astype(str), X_PUBLIC)
        texts = [str(warning.message) for warning in caught]
        assert clf.classes_.tolist() == ["no", "yes"] and "rare" not in " ".join(texts)
        fits.append((clf.public_labels_.tolist(), clf.privacy_spent_, texts[1:]))
    assert fits[0] == fits[1]


def test_truth_values_beside_other_targets_are_counted_whether_or_not_they_occur():
    release = SeveralReleases(
        kind=ClassRelease, n_targets=2, epsilon=0.2, delta=1e-8, neighbors=REPLACED
    )
    y = pd.DataFrame({"rare": np.zeros(3000, dtype=bool), "text": Y})
    other = y.copy()
    other.loc[7, "rare"] = True
    (counts, _), (counts_of_other, _) = (
        release.gather(release.check(each), None) for each in (y, other)
    )
    assert counts == {0: 3000, 1: 0} and counts_of_other == {0: 2999, 1: 1}
    y["rare"] = X[:, 1] > 0
    found = PATEClassifier(epsilon=20, random_state=0).fit(X, y, X_PUBLIC).classes_
    assert [classes.tolist() for classes in found] == [[0, 1], ["no", "yes"]]


@pytest.mark.parametrize("y", [[0, 1, 1], [True, False, True], [[0, 1], [1, 1], [1, 0]]], ids=str)
@pytest.mark.parametrize("other", ["no", 2, False])
def test_one_record_does_not_change_the_type_of_a_list_of_labels(y, other):
    several = isinstance(y[0], list)
    kept = type(other) is type(y[0][0] if several else y[0])
    changed = [*y[:-1], [y[-1][0], other] if several else other]
    if kept:
        assert len(ClassTarget.columns(changed)) == 1 + several
    else:
        with pytest.raises(ValueError, match="list of labels of several types"):
            ClassTarget.columns(changed)


def test_labels_of_no_unit_are_not_published():
    release = ClassRelease(epsilon=1.0, delta=1e-2, neighbors=REPLACED)
    y = np.concatenate([np.repeat(["a", "b"], 500), [f"own {k}" for k in range(2000)], ["a"]])
    units = np.concatenate([np.arange(1000), np.full(2001, 1000)])
    counts = release.gather(y, units)
    assert counts == {"a": 500, "b": 500, "own 1000": 1}  # the middle one of its records
    for seed in range(50):
        found = release.publish(counts, np.random.default_rng(seed)).target.values.tolist()
        assert found in (["a", "b"], ["a", "b", "own 1000"])


@pytest.mark.parametrize("y", [np.resize([-1000.0, 1000.0], 3000), np.full(3000, 1e15)])
def test_numbers_outside_of_found_bounds_are_no_error(y):
    # An error would show that no number lies between the bounds
    reg = PATERegressor(epsilon=2.0, method="neighbors", random_state=0).fit(X, y, X_PUBLIC)
    assert np.isfinite(reg.predict(X_PUBLIC)).all()


def test_private_number_of_records_does_not_change_the_noise():
    teachers = Teachers([GaussianNB()], n_teachers=20, partition="hash")
    frame = pd.DataFrame(X, columns=list("abc"), index=[f"id {k}" for k in range(3000)])
    public = pd.DataFrame(X_PUBLIC, columns=list("abc"))
    scales = set()
    for n in (2990, 3000):
        clf = PATEClassifier(method=teachers, epsilon=4.0)
        plan = clf.plan(frame[:n], Y[:n], public)
        scales.add(plan.stages[0][0].sigma)
    assert len(scales) == 1


def test_seeded_fit_with_a_first_release_warns_of_its_seed(monkeypatch):
    monkeypatch.setattr(seeds, "_has_warned", threading.Event())
    with pytest.warns(UserWarning, match="random_state"):
        PATEClassifier(epsilon=2.0, random_state=0).fit(X, Y, X_PUBLIC)


@table(
    "y, match",
    ("dates", np.resize(np.array(["2020-01-01", "2020-01-02"], "datetime64[ns]"), 3000), "dates"),
    ("long floats", np.resize([0.0, 2.0**60], 3000), "floats beyond"),
)
def test_labels_that_cannot_be_found_are_refused_before_spending(y, match):
    with pytest.raises(ValueError, match=match) as caught:
        PATEClassifier().fit(X, y, X_PUBLIC)
    assert caught.value.__notes__ == ["Privacy: nothing was spent."]


def test_class_weight_of_labels_that_are_not_found_is_ignored():
    clf = PATEClassifier(epsilon=4.0, class_weight={"yes": 2.0, "never": 5.0}, random_state=0)
    assert clf.fit(X, Y, X_PUBLIC).class_weight == {"yes": 2.0, "never": 5.0}


@table(
    "change, name",
    ("classes", {"classes": ["no", "yes"]}, "classes"),
    ("epsilon", {"epsilon": 0.1}, "epsilon"),
    ("numbers", {"y": (X[:, 0] > 0).astype(int)}, "y"),
)
def test_warm_start_refuses_another_target(change, name, monkeypatch):
    clf = PATEClassifier(epsilon=2.0, warm_start=True)
    with monkeypatch.context() as stopped:
        stopped.setattr(synthesizers, "gather_sums", lambda *_, **__: 1 / 0)
        with pytest.raises(ValueError, match="could not be counted"):
            clf.fit(X, Y)
    change = dict(change)
    y = change.pop("y", Y)
    with pytest.raises(ValueError, match=f"changed since: .*{name}") as caught:
        clf.set_params(**change).fit(X, y)
    assert caught.value.__notes__ == ["Privacy: nothing was spent."]


def test_truth_values_are_known_classes():
    clf = PATEClassifier(method="neighbors", epsilon=2.0).fit(X, Y == "yes", X_PUBLIC)
    assert clf.classes_.tolist() == [False, True]
    assert clf.privacy_spent_.delta == 0 and clf.privacy_spent_.composition == "pure"


@pytest.mark.slow
def test_folds_may_find_other_classes():
    y = np.where(np.arange(3000) % 3 == 0, "maybe", Y)
    scores = cross_val_score(PATEClassifier(epsilon=8.0), X, y, cv=3)
    assert len(scores) == 3 and np.isfinite(scores).all()


# --- the method follows from class shares ---------------------------------------------------------


def rare(n_records, share, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_records, 3))
    y = (rng.random(n_records) < share).astype(int)
    rows[y == 1, 0] += 1.5
    return rows, y


@sampled()
@pytest.mark.parametrize("share, name", [(0.04, "sums"), (0.4, "neighbors")])
@pytest.mark.parametrize("classes", [[0, 1], None], ids=["declared", "found"])
def test_rare_class_selects_class_sums(share, name, classes):
    rows, y = rare(6000, share)
    X_public, _ = rare(600, share, seed=1)
    clf = PATEClassifier(classes=classes, epsilon=2.0, random_state=0).fit(rows, y, X_public)
    tables = clf.privacy_spent_.tables
    released = ShareRelease.released_as if classes else ClassRelease.released_as
    assert tables[0] == released
    assert tables[1] == ("noisy sums of the columns, by class" if name == "sums" else VOTES)
    assert 1.999 < clf.privacy_spent_.epsilon <= 2
    assert clf.privacy_spent_.delta == pytest.approx(1e-5)  # the statement of both methods


VOTES = "a noisy table of the records' votes"


def test_shares_are_not_released_where_nothing_depends_on_them():
    rows, y = rare(6000, 0.04)
    others = [
        {"method": "neighbors"},
        {"method": "sums"},
        {"aggregator": LaplaceMechanism()},
        {"classes": [0, 1, 2]},
        {"epsilon": 0.001, "on_bad_plan": "warn"},
    ]
    for params in others:
        params = {"classes": [0, 1], "epsilon": 2.0} | params
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            plan = PATEClassifier(**params).plan(rows, y, X_PUBLIC)
        assert plan.first_release == "" and ShareRelease.released_as not in plan.spent.tables


def test_share_release_is_a_laplace_mechanism_on_class_counts():
    target = ClassTarget(["no", "yes"])
    release = ShareRelease(epsilon=0.3, delta=0.0, neighbors=REPLACED, target=target, rare=0.08)
    assert 0.2999 < release.cost.pure <= 0.3 and release.cost.delta == 0
    codes = np.repeat([0, 1], [950, 50])
    draws = [
        release.publish(release.gather(codes, None), np.random.default_rng(seed)).counts
        for seed in range(400)
    ]
    assert np.abs(np.array(draws) - [950, 50]).mean() == pytest.approx(2 / 0.3, rel=0.18)


def test_share_uses_the_number_of_records_if_it_is_public():
    target, codes = ClassTarget(["no", "yes"]), np.repeat([0, 1], [9500, 500])
    given = {"epsilon": 0.02, "delta": 0.0, "target": target, "rare": 0.08}
    replaced = REPLACED.with_size(10_000)
    joined = Neighbors(relation="add_or_remove_one", unit="record")
    grouped = Neighbors(relation="replace_one", unit="group")
    shares = {}
    for neighbors in (replaced, joined, grouped):
        release = ShareRelease(**given, neighbors=neighbors)
        seeds = range(400)
        found = [
            release.publish(release.gather(codes, None), np.random.default_rng(seed))
            for seed in seeds
        ]
        shares[neighbors.unit, neighbors.relation] = [one.rarest_share for one in found]
        is_public = neighbors is replaced
        assert all((one.n_units is not None) == is_public for one in found)
        for one in found[:20]:
            no, yes = one.counts
            expected = (10_000 + yes - no) / 20_000 if is_public else yes / (no + yes)
            assert one.rarest_share == pytest.approx(max(expected, 0), abs=1e-12)
    # Laplace noise of scale 2 / epsilon on both counts, and half of their difference
    errors = np.array(shares["record", replaced.relation]) - 0.05
    assert errors.std() == pytest.approx(0.01, rel=0.25)


def test_plan_of_shares_states_what_it_assumes():
    rows, y = rare(6000, 0.04)
    plan = PATEClassifier(classes=[0, 1]).plan(rows, y, X_PUBLIC)
    assert "class sums if the rarer class has less than 8 % of the records" in str(plan).replace(
        "\n            ", " "
    )
    assert plan.delta == pytest.approx(1e-5)


def test_plan_does_not_depend_on_labels():
    clf = PATEClassifier(epsilon=2.0)
    texts = {str(clf.plan(X, y, X_PUBLIC)) for y in (Y, np.repeat(["a", "b", "c"], 1000))}
    assert len(texts) == 1
    assert "target      a class is found if it has about" in texts.pop()
    assert not hasattr(clf, "classes_")
    numbers = {str(PATERegressor().plan(X, y, X_PUBLIC)) for y in (X[:, 0], 1e6 * X[:, 1])}
    assert len(numbers) == 1 and "bounds of y are found first" in numbers.pop()


def test_fit_without_two_classes_reports_what_it_spent(tmp_path):
    ledger = PrivacyLedger(tmp_path / "ledger", epsilon=3.0, delta=1e-4)
    clf = PATEClassifier(ledger=ledger)
    with pytest.raises(ValueError, match="at least 2 classes.*Give classes=") as caught:
        clf.fit(X[:300], np.full(300, "only"), X_PUBLIC)
    assert caught.value.privacy_spent.epsilon == pytest.approx(0.25 + 0.4)  # both rounds
    assert caught.value.privacy_spent.covers == "target"
    assert "failed after noisy counts of the labels" in caught.value.privacy_spent.summary()
    assert "epsilon=0.65 is spent" in caught.value.__notes__[0]
    assert ledger.history()["epsilon"].iloc[0] == pytest.approx(0.65, abs=0.01)
    assert not hasattr(clf, "privacy_spent_")


def test_interrupted_fit_keeps_the_classes_that_it_found(tmp_path, monkeypatch):
    ledger = PrivacyLedger(tmp_path / "ledger", epsilon=3.0, delta=1e-4)
    clf = PATEClassifier(epsilon=2.0, ledger=ledger, warm_start=True)
    with monkeypatch.context() as stopped:
        stopped.setattr(synthesizers, "gather_sums", lambda *_, **__: 1 / 0)
        with pytest.raises(ValueError, match="could not be counted") as caught:
            clf.fit(X, Y)
    assert 0.2 < caught.value.privacy_spent.epsilon < 2
    with monkeypatch.context() as unused:
        unused.setattr(ClassRelease, "publish", lambda *_: 1 / 0)
        clf.fit(X, Y)
    assert clf.classes_.tolist() == ["no", "yes"] and 1.999 < clf.privacy_spent_.epsilon <= 2
    assert len(ledger.history()) == 1 and ledger.history()["epsilon"].iloc[0] <= 2.001


def test_interrupted_fit_may_take_the_whole_budget_of_another_ledger(tmp_path, monkeypatch):
    """Without the limit of the whole fit, filters would take its rows and refuse its labels."""
    first, second = (PrivacyLedger(tmp_path / name, epsilon=2.0) for name in ("first", "second"))
    clf = PATEClassifier(epsilon=2.0, ledger=first, warm_start=True)
    with monkeypatch.context() as stopped:
        stopped.setattr(synthesizers, "publish_centre", lambda *_, **__: 1 / 0)
        with pytest.raises(ValueError, match="publish of ClassSumsSynthesizer failed"):
            clf.fit(X, Y)
    assert clf.set_params(ledger=second).fit(X, Y).classes_.tolist() == ["no", "yes"]
    assert second.history()["epsilon"].tolist() == [clf.privacy_spent_.epsilon]
    assert clf.privacy_spent_.epsilon <= 2


class Own(Release):
    def event(self, neighbors): ...
    def gather(self, private): ...
    def publish(self, gathered, rng): ...
    def describe(self): ...


@table(
    "params, match",
    ("releases", {"releases": [Own()]}, "releases of your own .*give classes="),
    ("epsilon", {"epsilon": -1.0}, "'epsilon' parameter"),
    ("missing", {"y": None}, "requires y to be passed"),
    ("fractions", {"y": X[:, 0]}, "Unknown label type"),
)
def test_fit_without_classes_refuses_wrong_input_before_spending(params, match):
    params = dict(params)
    y = params.pop("y", Y)
    with pytest.raises(ValueError, match=match) as caught:
        PATEClassifier(**params).fit(X, y, X_PUBLIC)
    assert all("nothing was spent" in note for note in getattr(caught.value, "__notes__", []))


@pytest.mark.parametrize("estimator", [PATEClassifier(), PATERegressor()])
def test_poll_requires_a_declared_target(estimator):
    y = Y if isinstance(estimator, PATEClassifier) else X[:, 0]
    with pytest.raises(ValueError, match="poll publishes no classes or bounds"):
        estimator.poll(X, y, X_PUBLIC)


@pytest.mark.parametrize("public", [(), (X_PUBLIC,)], ids=["no public rows", "public rows"])
def test_regressor_finds_its_bounds_within_epsilon(public):
    y = 50 + 10 * X[:, 0]
    reg = PATERegressor(epsilon=4.0).fit(X, y, *public)
    assert reg.score(X, y) > 0.6 and 3.999 < reg.privacy_spent_.epsilon <= 4
    assert reg.levels_[0] < 40 and reg.levels_[-1] > 60
    assert reg.privacy_spent_.tables[0] == RangeRelease.released_as


def test_unit_of_several_records_counts_once():
    groups = np.repeat(np.arange(1000), 3)
    clf = PATEClassifier(epsilon=8.0, unit="group").fit(X, Y, X_PUBLIC, groups=groups)
    assert clf.classes_.tolist() == ["no", "yes"] and clf.privacy_spent_.unit == "group"


def test_units_with_a_rare_label_are_counted_by_one_of_their_records():
    """Each of 2,000 units has two records; one record in ten has the rare label."""
    rng = np.random.default_rng(0)
    labels = rng.choice(["no", "yes"], 4000, p=[0.9, 0.1])
    units = rng.permutation(np.repeat(np.arange(2000), 2))
    release = ClassRelease(epsilon=1.0, delta=1e-8, neighbors=REPLACED)
    counts = release.gather(labels, units)
    assert sum(counts.values()) == 2000
    assert 140 < counts["yes"] < 260
    changed = labels.copy()
    changed[units == 7] = "yes"
    moved = release.gather(changed, units)
    assert sum(abs(moved[name] - counts[name]) for name in counts) <= 2


# --- second round --------------------------------------------------------------------------------


def rare_text(n_records=20_000, share=0.03):
    """Return rows, and labels with a share of "yes" that the first round does not find."""
    rows = np.random.default_rng(0).normal(size=(n_records, 2))
    return rows, np.where(np.arange(n_records) < share * n_records, "yes", "no")


def test_second_round_finds_a_rare_class_within_epsilon(tmp_path):
    rows, labels = rare_text()
    ledger = PrivacyLedger(tmp_path / "ledger", epsilon=1.0, delta=1e-4)
    clf = PATEClassifier(method="neighbors", epsilon=1.0, ledger=ledger)
    first = ClassRelease(epsilon=0.03, delta=1e-8, neighbors=REPLACED)
    assert first.threshold("yes") > 600 + 5 * np.sqrt(2) / 0.015  # the noise hides it
    clf.fit(rows, labels, rows[:500] + 0.1)
    assert clf.classes_.tolist() == ["no", "yes"]
    assert clf.privacy_spent_.epsilon <= 1.0
    assert len(ledger.history()) == 1
    with pytest.raises(BudgetExceededError):
        clf.set_params(epsilon=0.01, classes=["no", "yes"], on_bad_plan="warn")
        clf.fit(rows, labels, rows[:500] + 0.1)


def test_second_round_states_both_rounds():
    neighbors = Neighbors(relation="replace_one", unit="record", n_records=10_000)
    first = ClassRelease(epsilon=0.1, delta=1e-8, neighbors=neighbors, more_epsilon=0.1)
    second = first.second_round()
    assert second.cost.pure == pytest.approx(0.2)
    assert first.cost.delta == second.cost.delta == 1e-8
    assert second.threshold("yes") == first.threshold("yes")
    assert first.threshold("yes") > ClassRelease(
        epsilon=0.1, delta=1e-8, neighbors=neighbors
    ).threshold("yes")


def test_second_round_of_a_seeded_fit_has_noise_of_its_own(monkeypatch):
    drawn = []
    noisy = LaplaceMechanism.noisy

    def recorded(mechanism, counts, rng):
        result = noisy(mechanism, counts, rng)
        drawn.append((result - counts)[:, 0] / mechanism.scale)
        return result

    monkeypatch.setattr(LaplaceMechanism, "noisy", recorded)
    with pytest.raises(ValueError, match="at least 2 classes"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        PATEClassifier(random_state=0).fit(X[:300], np.full(300, 7))
    first, second = drawn
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.6  # of 101 labels; 1 with the same noise


@pytest.mark.parametrize(("n_rare", "follows"), [(100, False), (1500, True)])
def test_second_round_follows_records_with_labels_that_were_not_found(n_rare, follows):
    neighbors = Neighbors(relation="replace_one", unit="record", n_records=10_000)
    release = ClassRelease(epsilon=0.5, delta=1e-8, neighbors=neighbors, more_epsilon=0.2)
    counts = {"a": 6000, "b": 4000 - n_rare} | {f"rare {k}": n_rare // 50 for k in range(50)}
    found = release.publish(counts, np.random.default_rng(0))
    assert (found is None) == follows


def test_second_round_does_not_depend_on_a_private_number_of_records():
    release = ClassRelease(epsilon=0.5, delta=1e-8, neighbors=JOINED, more_epsilon=0.2)
    counts = {"a": 6000, "b": 3000} | {f"rare {k}": 20 for k in range(50)}
    assert release.publish(counts, np.random.default_rng(0)) is not None


def test_statement_with_fixed_noise_covers_a_second_round():
    """The noise is fixed, so the rest does not use up epsilon; a second round might."""
    rows, labels = np.random.default_rng(0).normal(size=(4000, 2)), np.arange(4000) % 2
    clf = PATEClassifier(method="neighbors", aggregator=LaplaceMechanism(20.0), epsilon=1.0)
    clf.fit(rows, labels, rows[:500] + 0.1)
    assert clf.privacy_spent_.epsilon == pytest.approx(1.0)


# --- the method of undeclared columns -------------------------------------------------------------


def product_of_columns(n_records=20_000, n_columns=4):
    """Return columns without a signal of their own, and labels from the product of two."""
    X = np.random.default_rng(0).normal(size=(n_records, n_columns))
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)


def method_of(clf):
    votes = any("table of the records' votes" in name for name in clf.privacy_spent_.tables)
    return "neighbors" if votes else "sums"


@pytest.mark.slow
@pytest.mark.parametrize("classes", [None, [0, 1]])
def test_records_with_numbers_alone_vote_in_cells(classes):
    X, y = product_of_columns()
    clf = PATEClassifier(classes=classes).fit(X, y)
    assert method_of(clf) == "neighbors" and clf.score(X, y) > 0.75
    assert 1 - 1e-14 < clf.privacy_spent_.epsilon <= 1.0


def test_fits_on_a_ledger_sum_numbers_alone_as_well(tmp_path):
    """Their cost was fixed before the first release, and cells of one fit cost more."""
    X, y = product_of_columns()
    ledger = PrivacyLedger(tmp_path / "ledger", epsilon=2.5, delta=1e-5, composition="gaussian")
    for _ in range(3):
        clf = PATEClassifier(delta=1e-6, ledger=ledger).fit(X, y)
        assert method_of(clf) == "sums"
    assert len(ledger.history()) == 3


@pytest.mark.slow
@sampled()
@pytest.mark.parametrize("n_others, method", [(1, "neighbors"), (14_000, "sums")])
@pytest.mark.parametrize("other", ["unknown", 1])
def test_method_depends_on_the_share_of_records_with_numbers_alone(other, n_others, method):
    X, y = product_of_columns()
    X = pd.DataFrame(X).astype({2: object})
    X.iloc[:n_others, 2] = other
    clf = PATEClassifier(classes=[0, 1], random_state=0).fit(X, y)
    assert method_of(clf) == method
    # Another outcome would have chosen the other method: the statement covers both
    assert clf.privacy_spent_.epsilon == pytest.approx(1.0, rel=1e-9)
    assert clf.privacy_spent_.delta == pytest.approx(1e-5, rel=1e-9)


def test_records_with_numbers_alone_are_counted_only_if_the_method_depends_on_them():
    X, y = product_of_columns(3900)
    few = PATEClassifier(classes=[0, 1]).plan(X, y)
    X, y = product_of_columns(4100)
    enough = PATEClassifier(classes=[0, 1]).plan(X, y)
    assert "numbers alone" in str(enough) and "numbers alone" not in str(few)
    people = np.arange(len(y)) // 2
    of_groups = PATEClassifier(classes=[0, 1], unit="group").plan(X, y, groups=people)
    assert "numbers alone" not in str(of_groups)


cells = st.one_of(
    st.floats(), st.integers(-5, 5), st.sampled_from(["a", "3", " ", True, None, np.nan, b"x"])
)


@given(rows=st.lists(st.tuples(cells, cells), min_size=1, max_size=6), new=st.tuples(cells, cells))
def test_a_replaced_record_moves_the_number_of_records_with_numbers_alone_by_one(rows, new):
    X = np.empty((len(rows), 2), dtype=object)
    X[:] = rows
    before = count_numeric_records(pd.DataFrame(X))
    for k in range(len(rows)):
        other = X.copy()
        other[k] = new
        assert abs(count_numeric_records(pd.DataFrame(other)) - before) <= 1


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 2.0])
def test_number_of_records_with_numbers_alone_is_paid_for(epsilon):
    neighbors = Neighbors(relation="replace_one", unit="record", n_records=20_000)
    given = {"delta": 1e-8, "neighbors": neighbors, "counts_numeric_records": True}
    release = ClassRelease(epsilon=epsilon, more_epsilon=epsilon, **given)
    scales = [
        float(noise.scale) for noise in (release.mechanism(), release.noise_on_numeric_records)
    ]
    # Two counts of labels change by 1, and the other count by at most 1
    assert 2 / scales[0] + 1 / scales[1] <= release.cost.pure <= epsilon
    assert release.cost.pure == pytest.approx(2 / scales[0] + 2 / scales[1])
    assert len(release.records()) == 2 and len(release.second_round().records()) == 4
    shares = [release.numeric_share(10_000, np.random.default_rng(s)) for s in range(400)]
    sizes = np.abs(np.array(shares) * 20_000 - 10_000)
    assert sizes.mean() == pytest.approx(scales[1], rel=0.25)  # 400 draws: 5 standard errors


def test_records_with_numbers_alone_need_a_public_number_of_records():
    release = ClassRelease(epsilon=0.1, delta=1e-8, neighbors=JOINED, counts_numeric_records=True)
    with pytest.raises(ValueError, match="number of records is public"):
        release.numeric_share(10, np.random.default_rng(0))


def test_more_than_two_declared_classes_are_not_counted():
    X, y = product_of_columns()
    y = y + 2 * (X[:, 2] > 1)
    clf = PATEClassifier(classes=[0, 1, 2, 3]).fit(X, y)
    spent = clf.privacy_spent_
    assert method_of(clf) == "neighbors" and 1 - 1e-14 < spent.epsilon <= 1.0
    assert spent.tables[0] == NumericShareRelease.released_as and len(spent.tables) == 3
    neighbors = Neighbors(relation="replace_one", unit="record", n_records=20_000)
    given = {"epsilon": 0.01, "delta": 0.0, "neighbors": neighbors}
    release = NumericShareRelease(**given, target=ClassTarget([0, 1, 2]))
    assert 1 / release.noise_on_numeric_records.scale <= release.cost.pure <= 0.01
    assert release.cost.pure == pytest.approx(0.01) and len(release.records()) == 1
