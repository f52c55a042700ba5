"""Targets: y as codes, the vote of a record split among values, and published values."""

import pickle
from copy import deepcopy
from dataclasses import FrozenInstanceError
from itertools import product

import numpy as np
import pandas as pd
import pytest
from conftest import cases, table
from hypothesis import example, given, settings
from hypothesis import strategies as some
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge

from sklearn_pate import PATEClassifier, PATERegressor
from sklearn_pate.encoding import targets
from sklearn_pate.encoding.targets import ClassTarget, NumberTarget
from sklearn_pate.rdp.discrete import TICKS
from sklearn_pate.readouts import TableRegressor
from sklearn_pate.runtime.isolation import PublicError
from sklearn_pate.synthesis import MarginalSynthesizer

SECRET = "Ada Lovelace"
WHOLE = 2**20
CLASSES = ClassTarget(range(3))
LEVELS = NumberTarget.between((0, 40), 3)


# --- y as codes, and back ------------------------------------------------------------------------


@table(
    "classes, y",
    ("integers", [7, -1, 3], [3, 7, 7, -1]),
    ("text", ["no", "yes", "a long one"], ["yes", "no", "no"]),
    ("text as objects", ["no", "yes"], np.array(["yes", "no"], dtype=object)),
    ("booleans", [True, False], [False, True, True]),
    ("whole floats", [0.0, 1.0], [1.0, 0.0]),
    ("integers for floats", [0.0, 1.0], [1, 0]),
    ("a Series", range(3), pd.Series([2, 0, 1], index=[5, 6, 7])),
    ("a short type", np.arange(200), np.arange(200, dtype="uint8")),
    ("categories", ["a", "b"], pd.Series(["b", "a"], dtype="category")),
)
def test_class_target_decodes_encoded_labels(classes, y):
    target = ClassTarget(classes)
    codes = target.encode(y)
    assert codes.dtype == np.int64
    assert target.values[codes].tolist() == np.asarray(y).tolist()
    assert target.values.tolist() == sorted(classes)
    assert target.with_one_dtype(np.asarray(y), codes).dtype == target.values.dtype


@cases(
    "classes, y",
    ([7, -1, 3], np.array([3, 5, -1, 7, -2, 8, 7], dtype="int8")),
    ([7, -1, 3], np.array([-128, 127, 3, 3, 3], dtype="int8")),
    ([7, -1, 3], np.array([2**62, 3, -(2**62)])),
    ([2**64 - 1, 3], np.array([2**64 - 1, 3, 4], dtype="uint64")),
    ([3, 4], np.array([3, 4, 300], dtype=">u2")),
    ([True, False], np.array([True, False, True])),
    ([0.5, 1.0], np.array([1, 0, 2])),
    (["1", "2"], np.array([1, 2, 3])),
    (["1", "2"], np.array(["2", "1", "3"])),
)
def test_codes_of_many_labels_equal_codes_of_few(classes, y, monkeypatch):
    target = ClassTarget(classes)
    few = target.codes_with_others(y)
    for most in (2, 9, 300):
        monkeypatch.setattr(targets, "_MAX_RANGE", most)
        many = target.codes_with_others(np.tile(y, 200))
        np.testing.assert_array_equal(many, None if few is None else np.tile(few, 200))
        assert few is None or many.dtype == few.dtype


FINITE = some.floats(allow_nan=False, allow_infinity=False)
N_LEVELS = some.integers(2, 12)


@pytest.mark.slow
@settings(deadline=None)
@given(some.lists(FINITE, min_size=1, max_size=5), N_LEVELS)
@example([-1e308, 1e308], 3)
@example([np.nextafter(0.1, 0), 5e-324], 10)
def test_number_target_decodes_encoded_numbers_within_bounds(y, n_levels):
    target = NumberTarget.between((-3.0, 0.1), n_levels)
    codes = target.encode([*y, 0.0])  # if all were beyond the bounds, they would be refused
    assert codes.dtype == np.float64 and (codes >= 0).all() and (codes <= n_levels - 1).all()
    numbers = target.teacher_values(codes)
    np.testing.assert_allclose(numbers, np.clip([*y, 0.0], -3.0, 0.1), rtol=0, atol=1e-14)
    alone = [target.encode([number, 0.0])[0] for number in y]
    np.testing.assert_array_equal(codes[:-1], alone)  # each by its own number


@cases("target", CLASSES, LEVELS, ids=["classes", "numbers"])
def test_alternating_codes_are_like_encoded_ones(target):
    made_up = target.alternating(7)
    encoded = target.encode(target.values)
    assert made_up.dtype == encoded.dtype and made_up.shape == (7,)
    np.testing.assert_array_equal(made_up[: target.n_values], encoded)
    np.testing.assert_array_equal(made_up[target.n_values :], made_up[: 7 - target.n_values])


def test_class_target_of_labels_reads_classes():
    assert ClassTarget.of_labels(["b", "a", "b"]) == ClassTarget(["a", "b"])


# --- the vote of a record ------------------------------------------------------------------------


@settings(deadline=None)
@given(FINITE, FINITE, N_LEVELS, some.integers(0, WHOLE), some.integers(0, WHOLE))
@example(-1e308, 1e308, 3, WHOLE, WHOLE)
@example(np.nextafter(0.1, 0), 5e-324, 10, WHOLE, WHOLE)
def test_split_votes_sum_to_their_ticks(y, other, n_levels, n_shares, n_of_other):
    """So two votes differ by at most all of their shares: L1 is 2 exactly, L2 the root of 2."""
    target = NumberTarget.between((-3.0, 0.1), n_levels)
    votes = []
    for number, amount in ((y, n_shares), (other, n_of_other)):
        codes = target.encode([number, 0.0])[:1]
        places, parts = target.split(codes, np.array([amount]))
        vote = np.zeros(n_levels, dtype=object)
        for place, part in zip(places[0], parts[0], strict=True):
            vote[place] += int(part)
        assert min(vote) >= 0 and sum(vote) == amount
        assert np.ptp(np.flatnonzero(vote)) <= 1 if amount else True
        np.testing.assert_array_equal(target.contributions(codes, np.array([amount])), [vote])
        if amount:
            requested = min(max(number, -3.0), 0.1)
            step = 3.1 / (n_levels - 1)
            away = float(vote @ target.values) / amount - requested
            assert -step / amount - 1e-12 <= away <= 1e-12
        votes.append(vote)
    change = votes[0] - votes[1]
    assert sum(abs(change)) <= 2 * WHOLE and sum(change**2) <= 2 * WHOLE**2


@table(
    "target, codes",
    ("classes", CLASSES, np.arange(3)),
    ("numbers", LEVELS, np.append(np.linspace(0, 2, 17), 1.999999)),
)
def test_contributions_of_one_record_equal_enumeration(target, codes):
    """All pairs: one replaced changes at most 2 in all and 1 for each value, one that joins 1."""
    shares = np.array([0, 1, WHOLE // 3, WHOLE])
    records = np.array(list(product(codes, shares)))
    votes = target.contributions(records[:, 0].astype(codes.dtype), records[:, 1].astype(int))
    assert votes.dtype == np.int64 and votes.min() == 0
    np.testing.assert_array_equal(votes.sum(axis=1), records[:, 1])
    change = np.abs(votes[:, None] - votes)
    assert change.sum(axis=2).max() == 2 * WHOLE and change.max() == WHOLE
    assert (change**2).sum(axis=2).max() == 2 * WHOLE**2
    assert votes.sum(axis=1).max() == WHOLE  # joining


# --- teachers ------------------------------------------------------------------------------------


def test_votes_of_numbers_sum_to_one_and_change_by_root_two():
    target = NumberTarget.between((0, 40), 5)
    numbers = np.array([-1e300, np.inf, -np.inf, 0.0, 10.0, 12.3, 39.9999999, 40.0, 1e9])
    votes = target.votes_of(numbers, len(numbers))
    assert (votes >= 0).all() and (votes.sum(axis=1) == TICKS).all()
    change = [np.linalg.norm(a - b) / TICKS for a, b in product(votes, votes)]
    assert max(change) == pytest.approx(np.sqrt(2))
    np.testing.assert_allclose(votes @ target.values / TICKS, np.clip(numbers, 0, 40), atol=2e-5)


@cases("dtype, votes", ("float64", 3), ("int8", 3), ("bool", 2), ("object", None))
def test_votes_of_classes_are_codes_of_the_smallest_type(dtype, votes):
    predicted = np.array([0, 1, 2 if votes == 3 else 1]).astype(dtype)
    if votes is None:
        pytest.raises(PublicError, CLASSES.votes_of, predicted, 3).match("not among the codes")
    else:
        found = CLASSES.votes_of(predicted, 3)
        assert found.dtype == np.uint8
        np.testing.assert_array_equal(found, predicted)


@table(
    "target, predicted, match",
    ("a code too large", CLASSES, [0, 1, 3], "labels that are not among the codes"),
    ("a negative code", CLASSES, [0, 1, -1], "labels that are not among the codes"),
    ("a fraction", CLASSES, [0, 1, 0.5], "labels that are not among the codes"),
    ("no number", CLASSES, [0, 1, np.nan], "labels that are not among the codes"),
    ("text", CLASSES, [SECRET] * 3, "labels that are not among the codes"),
    ("few labels", CLASSES, [0, 1], "one label per row, a 1-D array"),
    ("two columns", CLASSES, np.zeros((3, 2)), "one label per row, a 1-D array"),
    ("missing numbers", LEVELS, [0, 1, np.nan], "returned missing numbers"),
    ("text for numbers", LEVELS, [SECRET] * 3, "one number per row, a 1-D array"),
    ("few numbers", LEVELS, [0.5, 1], "one number per row, a 1-D array"),
    ("two columns of numbers", LEVELS, np.zeros((3, 2)), "one number per row, a 1-D array"),
)
def test_votes_of_refuses_wrong_predictions(target, predicted, match):
    with pytest.raises(PublicError, match=match) as caught:
        target.votes_of(predicted, 3)
    assert SECRET not in str(caught.value)


def test_code_without_records_depends_on_the_number_of_the_teacher():
    assert [CLASSES.code_without_records(number) for number in range(5)] == [0, 1, 2, 0, 1]
    middle = LEVELS.votes_at(np.array([LEVELS.code_without_records(7)]))
    np.testing.assert_array_equal(middle, [[0, TICKS, 0]])


# --- published values ----------------------------------------------------------------------------


def test_class_target_publishes_labels_as_codes():
    labels = np.array([0, 2, -1])
    for proba in (None, np.full((3, 3), 1 / 3)):
        published = CLASSES.decode(labels, proba)
        np.testing.assert_array_equal(published, labels)
        np.testing.assert_array_equal(CLASSES.labels_of(published), labels)


def test_number_target_publishes_means():
    proba = np.array([[0.75, 0.25, 0.0], [np.nan] * 3, [0.0, 0.0, 1.0]])
    published = LEVELS.decode(np.array([0, -1, 1]), proba)
    np.testing.assert_array_equal(published, [5.0, np.nan, 40.0])
    np.testing.assert_array_equal(LEVELS.labels_of(published), [0, -1, 0])
    assert np.isnan(LEVELS.decode(np.array([0, 1]), None)).all()


@cases("labels, is_so", ([1, 1], True), ([0, 1], False), ([], False))
def test_labels_of_one_class_are_found_for_classes_only(labels, is_so):
    assert CLASSES.are_of_one_class(np.array(labels)) == is_so
    assert not LEVELS.are_of_one_class(np.array(labels))


@settings(deadline=None)
@given(some.lists(some.floats(0, 1), min_size=3, max_size=12).filter(lambda w: sum(w) > 0))
def test_quantiles_rise_within_the_bounds(weights):
    proba = np.array([weights]) / sum(weights)
    target = NumberTarget.between((-2.0, 5.0), len(weights))
    found = target.quantiles(proba, np.linspace(0, 1, 21))[0]
    assert (np.diff(found) >= 0).all() and found[0] >= -2.0 and found[-1] <= 5.0
    assert -2.0 <= target.mean(proba)[0] <= 5.0


@table(
    "target, predicted, match",
    ("no code", CLASSES, [0, 3], "codes from 0 to 2, as in its fit .*; got numbers"),
    ("no label", CLASSES, [0, -1], "codes from 0 to 2"),
    ("a fraction", CLASSES, [0, 0.5], "codes from 0 to 2"),
    ("text", CLASSES, ["a", "b"], "codes from 0 to 2.*got text of shape"),
    ("a column", CLASSES, [[0], [1]], r"of shape \(2, 1\)"),
    ("few", CLASSES, [0], r"of shape \(1,\)"),
    ("two numbers", LEVELS, [[0, 1], [1, 2]], "one number for each row"),
    ("text for numbers", LEVELS, ["a", "b"], "one number for each row"),
)
def test_check_predicted_refuses_wrong_predictions(target, predicted, match):
    with pytest.raises(ValueError, match=f"predict of the student must return .*{match}"):
        target.check_predicted(predicted, n_rows=2)


def test_check_predicted_returns_codes_or_numbers():
    codes = CLASSES.check_predicted([0.0, 2.0], n_rows=2)
    assert codes.dtype == np.intp and codes.tolist() == [0, 2]
    numbers = LEVELS.check_predicted([7, 99])
    assert numbers.dtype == float and numbers.tolist() == [7.0, 99.0]


def test_check_public_labels_refuses_other_classes():
    CLASSES.check_public_labels("y_val", [0, 2, 2])
    LEVELS.check_public_labels("y_val", [-5.0, 99.0])
    with pytest.raises(ValueError, match=r"y_val has labels that are not in classes: \[3, 4\]"):
        CLASSES.check_public_labels("y_val", [4, 3, 0])


# --- refused inputs ------------------------------------------------------------------------------


@table(
    "classes, match",
    ("one", ["a"], "labels of at least 2 classes; classes has 1 class"),
    ("none", [], "classes has 0 class"),
    ("twice", ["a", "b", "a"], "list each label once; got 3 labels, 2 of them different"),
    ("missing", ["a", None], "must be a list of labels, none of them missing"),
    ("two axes", [[0, 1]], "must be a list of labels"),
    ("a text", "ab", "must be a list of labels"),
    ("a dict", {}, "must be a list of labels"),
    ("NaN", [0, 1, np.nan], "must be a list of labels, none of them missing"),
    ("mixed", np.array([0, "a"], dtype=object), "labels of one type, which can be sorted"),
    ("ragged", [[0], [1, 2]], "classes must be array-like"),
)
def test_class_target_refuses_wrong_classes(classes, match):
    pytest.raises(ValueError, ClassTarget, classes).match(match)


@table(
    "levels, match",
    ("one", [1.0], "levels must be two or more finite numbers"),
    ("equal", [1.0, 1.0], "evenly spaced in ascending order"),
    ("descending", [1.0, 0.0], "evenly spaced in ascending order"),
    ("uneven", [0.0, 1.0, 3.0], "evenly spaced in ascending order"),
    ("infinite", [0.0, np.inf], "finite numbers"),
    ("missing", [0.0, np.nan], "finite numbers"),
    ("two axes", [[0.0, 1.0]], "finite numbers"),
    ("text", ["a", "b"], "levels must be array-like, with rows of equal length that contain num"),
)
def test_number_target_refuses_wrong_levels(levels, match):
    pytest.raises(ValueError, NumberTarget, levels).match(match)


@table(
    "bounds, n_levels, match",
    ("none", None, 2, "bounds is missing: give bounds=.low, high."),
    ("text", ("a", "b"), 2, "bounds must be finite numbers"),
    ("one", (1,), 2, "bounds must be finite numbers"),
    ("three", (1, 2, 3), 2, "bounds must be finite numbers"),
    ("equal", (5, 5), 2, r"low < high .*; got \(5, 5\)"),
    ("infinite", (0, np.inf), 2, "bounds must be finite numbers"),
    ("too far apart", (-1.7e308, 1.7e308), 2, "bounds must be finite numbers"),
    ("too near", (1.0, np.nextafter(1, 2)), 9, "bounds must be farther apart"),
    ("one level", (0, 1), 1, "n_levels must be an integer of at least 2; got 1"),
    ("part of a level", (0, 1), 2.5, "n_levels must be an integer of at least 2; got 2.5"),
)
def test_number_target_refuses_wrong_bounds(bounds, n_levels, match):
    pytest.raises(ValueError, NumberTarget.between, bounds, n_levels).match(match)


MANY = ClassTarget([f"class {k}" for k in range(9)])


@table(
    "target, y, match",
    ("none", CLASSES, None, "requires y to be passed, but the target y is None"),
    ("sparse", CLASSES, sparse.eye(3).tocsr(), "1-D array of labels; got a sparse matrix"),
    ("sparse numbers", LEVELS, sparse.eye(3).tocsr(), "1-D array of numbers; got a sparse"),
    (
        "several",
        CLASSES,
        np.zeros((3, 2), int),
        "one label per record, as one target.*a list for each column",
    ),
    (
        "several numbers",
        LEVELS,
        np.zeros((3, 2)),
        "one number per record.*give bounds a pair for each column",
    ),
    ("complex", CLASSES, [1j], "Complex data not supported: y must hold .* as labels"),
    ("masked", CLASSES, np.ma.array([0, 1]), "y is a masked array"),
    ("missing", CLASSES, [0, None], "NaN or infinity; every record needs a label"),
    ("missing text", MANY, [SECRET, None], "NaN or infinity; every record needs a label"),
    ("a missing number", LEVELS, [1, np.nan], "NaN or infinity; every record needs a number"),
    ("infinite", LEVELS, [1, np.inf], "NaN or infinity; every record needs a number"),
    ("fractions", CLASSES, [0.5, 1.5], "y holds numbers: Unknown label type: continuous"),
    ("lists", CLASSES, np.array([[1], 2], dtype=object), "y holds objects: Unknown label"),
    ("another class", CLASSES, [0, 3], r"not in classes, which are \[0, 1, 2\]; classes must"),
    ("text for numbers", CLASSES, [SECRET, SECRET], "classes are numbers, y holds text; within a"),
    ("one of many", MANY, [SECRET, "class 0"], "'class 4'] and 4 more; classes must list all"),
    ("text", LEVELS, [SECRET, "1"], "y must hold only numbers; got text"),
    ("objects", LEVELS, np.array([{}, 1], dtype=object), "only numbers; got objects"),
    ("all below", LEVELS, [-1, -5], r"outside of bounds=\(0, 40\).*TransformedTargetRegressor"),
    ("all beyond", LEVELS, [-1, 50], "all of y lies outside"),
)
def test_private_y_that_is_refused_is_not_quoted(target, y, match):
    with pytest.raises(ValueError, match=match) as caught:
        target.encode(y)
    assert SECRET not in str(caught.value)
    assert caught.value.__context__ is None and caught.value.__cause__ is None


def test_private_y_of_bytes_is_refused():
    with pytest.raises(TypeError, match="y holds bytes.*decode them"):
        ClassTarget([b"a", b"b"]).encode([b"a", b"b"])


@table(
    "y, match",
    ("one class", [1, 1], "labels of at least 2 classes; y has 1 class"),
    ("mixed", np.array([0, SECRET], dtype=object), "Unknown label type|labels of one type"),
    ("fractions", [0.5, 1.5], "Unknown label type"),
    ("missing", [0, np.nan], "NaN or infinity"),
)
def test_private_labels_without_classes_are_refused_and_not_quoted(y, match):
    with pytest.raises((TypeError, ValueError), match=match) as caught:
        ClassTarget.of_labels(y)
    assert SECRET not in str(caught.value)


@table(
    "target, estimator, error, match",
    ("a class", CLASSES, LogisticRegression, TypeError, r"LogisticRegression\(\); got the class"),
    ("a regressor", CLASSES, Ridge(), ValueError, r"student must be a classifier; got Ridge\(\)"),
    ("a classifier", LEVELS, LogisticRegression(), ValueError, "student must be a regressor"),
    ("no estimator", LEVELS, 5, ValueError, "student must be a regressor; got 5"),
)
def test_check_predicts_refuses_estimators_of_another_target(target, estimator, error, match):
    pytest.raises(error, target.check_predicts, "student", estimator).match(match)


# --- as an object --------------------------------------------------------------------------------


@cases("target", CLASSES, MANY, LEVELS, ids=["integers", "text", "levels"])
def test_targets_are_equal_by_kind_and_values(target):
    for same in (pickle.loads(pickle.dumps(target)), deepcopy(target), type(target)(target.values)):
        assert same == target
        assert same.values.dtype == target.values.dtype
    assert target != type(target)(target.values[:2]) and target != 5
    with pytest.raises(FrozenInstanceError):
        target.values = [0, 1]


def test_targets_of_classes_and_levels_differ():
    assert ClassTarget([0.0, 1.0]) != NumberTarget([0.0, 1.0])
    assert ClassTarget([0, 1]) == ClassTarget([1.0, 0.0])


@table(
    "estimator, declared",
    ("classes", PATEClassifier(classes=["b", "a"]), ClassTarget(["a", "b"])),
    ("none", PATEClassifier(), None),
    ("numbers", PATERegressor(bounds=(0, 40), n_levels=3), LEVELS),
)
def test_estimators_declare_and_fit_their_target(estimator, declared):
    assert estimator._declared_target() == declared
    X = np.random.default_rng(0).normal(size=(300, 2))
    y = np.where(X[:, 0] > 0, "b", "a") if estimator.target_type is ClassTarget else 20 + X[:, 0]
    estimator = clone(estimator).set_params(epsilon=8.0, random_state=0)
    estimator.fit(X, y, X_public=np.random.default_rng(1).normal(size=(100, 2)))
    target = ClassTarget(["a", "b"]) if declared is None else declared
    assert estimator._fitted_target == target and type(target) is estimator.target_type
    assert getattr(estimator, target.fitted_attribute).tolist() == target.values.tolist()


@pytest.mark.filterwarnings("ignore:classes_ is read")
def test_plan_contains_no_class_read_from_labels():
    X = np.random.default_rng(0).normal(size=(300, 2))
    y = np.where(X[:, 0] > 0, SECRET, "b")
    plan = PATEClassifier(epsilon=8.0).plan(X, y, X_public=X[:100] + 0.5)
    assert plan.method_summary.n_classes == 2 and plan.method_summary.target_type is ClassTarget
    assert SECRET.encode() not in pickle.dumps(plan)


def test_table_regressor_is_cloned_with_its_target():
    assert clone(TableRegressor(None, LEVELS)).target == LEVELS


class Overwrites(MarginalSynthesizer):
    """A careless synthesizer of a user's."""

    def declare(self, X, target):
        super().declare(X, target)
        target.values[:] = 9
        return self

    def gather(self, X, codes, *, target, **given):
        gathered = super().gather(X, codes, target=target, **given)
        target.values[:] = 7
        return gathered


def test_custom_synthesizer_cannot_change_the_target():
    X = np.random.default_rng(0).normal(size=(400, 2)).clip(-3, 3)
    clf = PATEClassifier(epsilon=8.0, classes=[0, 1], random_state=0)
    clf.set_params(synthesizer=Overwrites((-3, 3), missing=[], n_rows=100))
    clf.fit(X, (X[:, 0] > 0).astype(int))
    assert clf.classes_.tolist() == [0, 1] and set(clf.predict(X)) <= {0, 1}
