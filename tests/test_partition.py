"""Each partition keeps its relation: the stated change of the data reaches one teacher at most."""

import copy
import datetime
import enum
import inspect
import io
import json
import pickle
import sqlite3
import uuid
import warnings
import zoneinfo
from collections import Counter
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from conftest import cases
from faulty import Counted
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy.stats import chi2
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from sklearn_pate import PATEClassifier, PrivacySpent
from sklearn_pate.aggregators import GNMax
from sklearn_pate.identifiers import normalize_identifiers
from sklearn_pate.partition import (
    GroupPartition,
    HashPartition,
    PredefinedPartition,
    RandomPartition,
    assign_teachers,
)
from sklearn_pate.rdp import NeighboringRelation, Neighbors
from sklearn_pate.teachers import Sites

SEED = np.random.SeedSequence(7)


def assigned(partition="random", n_teachers=10**6, *, seed=SEED, unit="record", **given_):
    """Teachers of records with a number, an index or groups as identifiers."""
    if "index" in given_:
        given_["index"] = pd.Index(given_["index"])
    n_records = given_.pop("n", None) or len(next(iter(given_.values())))
    given_ |= {"n_records": n_records, "n_teachers": n_teachers}
    return assign_teachers(partition, unit=unit, seed=seed, **given_)


def teachers_of(*args, **kwargs):
    return assigned(*args, **kwargs).teacher_indices


# --- each partition ------------------------------------------------------------------------------


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 300), st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_random_partition_has_near_equal_disjoint_blocks(n_records, n_teachers, entropy):
    if n_teachers > n_records:
        return
    found = assigned(n=n_records, n_teachers=n_teachers, seed=np.random.SeedSequence(entropy))
    sizes = np.bincount(found.teacher_indices, minlength=n_teachers)
    assert sizes.sum() == n_records and sizes.max() - sizes.min() <= 1
    assert found.relation == NeighboringRelation.REPLACE_ONE and found.unit == "record"


@pytest.mark.parametrize(
    "given_",
    [{"n": 50}, {"partition": "hash", "index": [f"p{i}" for i in range(50)]}],
    ids=["random", "hash"],
)
def test_partition_depends_on_the_seed(given_):
    seeds = map(np.random.SeedSequence, (1, 1, 2))
    first, again, other = (teachers_of(n_teachers=5, seed=seed, **given_) for seed in seeds)
    np.testing.assert_array_equal(first, again)
    assert (first != other).any() and (first != np.arange(50) % 5).any()


def test_hash_partition_spreads_records_evenly(global_random_seed):
    """Chi-square: finds residues of one byte, which leave 44 teachers empty, in all runs."""
    names = [f"p{i}" for i in range(30_000)]
    seed = np.random.SeedSequence(global_random_seed)
    sizes = np.bincount(teachers_of("hash", 300, index=names, seed=seed), minlength=300)
    assert ((sizes - 100) ** 2 / 100).sum() < chi2.isf(1e-8, 299)


def test_groups_stay_with_one_teacher_and_become_the_unit():
    groups = np.repeat(np.arange(50), 4)
    for partition, unit in (("random", "record"), ("hash", "record"), ("random", "group")):
        found = assigned(partition, 10, unit=unit, groups=groups)
        assert found.unit == "group"
        assert found.relation == NeighboringRelation.ADD_REMOVE_OR_CHANGE_ONE
        for group in range(50):
            assert np.unique(found.teacher_indices[groups == group]).size == 1


def test_n_teachers_may_exceed_a_private_number_of_identifiers():
    assert assigned("hash", 9, index=["a", "b"]).n_teachers == 9
    assert assigned("random", 9, groups=["a", "b"]).n_teachers == 9


def test_predefined_partition_assigns_each_name_its_teacher():
    found = assigned("predefined", 100, groups=["north", "south", "north", "east"])
    assert found.n_teachers == 3 and found.unit == "group"
    assert found.teacher_indices[0] == found.teacher_indices[2]
    assert np.unique(found.teacher_indices).size == 3


class Own:
    relation = "replace one record within its half"

    def __init__(self, teachers):
        self.teachers = teachers

    def assign(self, n_records, n_teachers, *, index=None, groups=None, seed=None):
        return np.asarray(self.teachers)


def test_custom_partition_sets_teachers_and_relation():
    found = assigned(Own([0, 0, 0, 1, 1, 1]), 2, n=6)
    assert found.teacher_indices.tolist() == [0, 0, 0, 1, 1, 1]
    assert found.relation == "replace one record within its half"


def test_partition_assign_receives_no_labels_or_features():
    seen = {"self", "n_records", "n_teachers", "index", "groups", "seed"}
    for partition in (RandomPartition, HashPartition, GroupPartition, PredefinedPartition):
        assert set(inspect.signature(partition.assign).parameters) == seen


# --- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize("partition", [RandomPartition(), HashPartition()])
def test_partition_that_splits_groups_is_refused_for_unit_group(partition):
    groups = np.repeat(np.arange(10), 20)
    index = [f"r{i}" for i in range(200)]
    with pytest.raises(ValueError, match="splits groups"):
        assigned(partition, 10, unit="group", groups=groups, index=index)


# --- effects of one change of the data, in random trials ------------------------------------------


def records(rng, names):
    """Records with features and labels, in columns of a table of whole numbers."""
    n = len(names)
    return np.column_stack([names, rng.integers(1000, size=n), rng.integers(3, size=n)])


def held(kind, data, seed):
    """Count each teacher's records."""
    names = data[:, 0]
    given_ = {"random": {"n": len(data)}, "hash": {"index": names}}.get(kind, {"groups": names})
    # what "random" becomes with groups, without the check that no group is split
    teachers = teachers_of(GroupPartition() if kind == "groups" else kind, 50, seed=seed, **given_)
    return Counter(zip(teachers.tolist(), map(tuple, data.tolist()), strict=True))


def changes_of(kind, data, rng):
    """Every change of one unit, and how many teachers the relation lets it reach."""
    n = len(data)
    if kind in ("random", "hash"):
        row = rng.integers(n)
        same, new = (records(rng, name) for name in (data[[row], 0], rng.integers(10**6, size=1)))
        less = np.delete(data, row, axis=0)
        yield "replace", np.insert(less, row, new, axis=0), 1 if kind == "random" else 2
        if kind == "hash":
            yield "change", np.insert(less, row, same, axis=0), 1
            yield "remove", less, 1
            yield "add", np.insert(data, rng.integers(n + 1), new, axis=0), 1
            yield "replace elsewhere", np.insert(less, rng.integers(n), new, axis=0), 2
        return
    of_group = data[:, 0] == rng.choice(data[:, 0])
    rows = np.flatnonzero(of_group)
    names = data[of_group, 0]
    at = rng.integers(n + 1, size=rng.integers(1, 6))
    changed, replaced = data.copy(), data.copy()
    changed[rows] = records(rng, names)
    yield "change", changed, 1
    if kind == "predefined":
        yield "more records", np.insert(data, at, records(rng, names[:1].repeat(len(at))), 0), 1
        if len(rows) > 1:  # the name must not vanish
            yield "fewer records", np.delete(data, rows[1:], axis=0), 1
        return
    replaced[rows, 0] = new = rng.integers(10**6)
    yield "remove", data[~of_group], 1
    yield "add", np.insert(data, at, records(rng, np.full(len(at), new)), axis=0), 1
    yield "replace", replaced, 2


@pytest.mark.parametrize("kind", ["random", "hash", "groups", "predefined"])
def test_relation_bounds_the_teachers_that_a_change_reaches(kind, global_random_seed):
    rng, reached = np.random.default_rng(global_random_seed), {}
    for _ in range(100):
        n_names = {"groups": 40, "predefined": 12}.get(kind, 60)
        names = rng.choice(10**6, size=n_names, replace=False)
        data = records(rng, names if n_names == 60 else rng.choice(names, size=60))
        seed = np.random.SeedSequence(int(rng.integers(2**63)))
        before = held(kind, data, seed)
        for change, changed, most in changes_of(kind, data, rng):
            after = held(kind, changed, seed)
            teachers = {teacher for teacher, _ in (before - after) | (after - before)}
            assert len(teachers) <= most, change
            reached.setdefault(change, []).append(len(teachers))
    for change, numbers in reached.items():  # nor for changes that reach nobody
        assert len(numbers) >= 75 and np.mean(numbers) > 0.6
        assert max(numbers) == (2 if "replace" in change and kind != "random" else 1)
    assert len(reached) == {"random": 1, "hash": 5, "groups": 4, "predefined": 3}[kind]


# --- one spelling per identifier -----------------------------------------------------------------

ZONES = [zoneinfo.ZoneInfo(name) for name in ("UTC", "Europe/Berlin", "Asia/Kolkata")]
DAY = datetime.datetime(2020, 1, 1)
INSTANT = datetime.datetime(2020, 1, 1, tzinfo=ZONES[0])
EXACT = 2**53
#: Values that people use as identifiers, many of them equal to one another.
VALUES = [
    *[1, 1.0, True, False, 0, -0.0, 3, 1000, 86_400, 2**63, EXACT - 1, EXACT + 1, -(2**70)],
    *[np.int8(1), np.uint64(1), np.float32(1), np.float16(3), np.float16(1000), np.bool_(True)],
    float(EXACT - 1),
    *["1", "01", "+1.0", "-0", " 1\t", "1e0", ".10e+1", "1 \0 ", "1E+3", ".0", "0e999", "1.50"],
    *["True", "false", "x", "", " x", "x\0", "a\x1fb", "e3", ".", "12e34", "1e400", "9" * 1200],
    *[np.str_("x"), b"1", b"x", b"\xff", "\ud800", "'\\ud800'"],
    *[("a", "b"), (1, "x"), (True, "x"), (1.0, b"x"), ("1", ("x",)), ()],
    *[(INSTANT, 1), (INSTANT.astimezone(ZONES[1]), 1)],
    *[DAY, DAY.date(), pd.Timestamp(DAY), datetime.date(1, 1, 1), 20200101, "20200101.0"],
    *[np.datetime64("2020-01-01"), np.datetime64("2020"), np.datetime64("2020-01")],
    *[np.datetime64("2020-01-01T00:00:00.1", "ms"), pd.Timestamp("2020-01-01 00:00:00.100")],
    pd.Timestamp("2020-01-01 00:00:00.000000001"),
    *["2020", "2020-01", "2020-01-01 ", "2020-1-1", "2020-02-30"],
    *["2020-01-01 00:00:00", "2020-01-01T00:00:00.000000000"],
    "2020-01-01T01:00+01:00",
    *(INSTANT.astimezone(zone) for zone in ZONES),
    *(pd.Timestamp(INSTANT).tz_convert(zone).as_unit("ms") for zone in ZONES),
]

REFUSED = [
    *[None, float("nan"), pd.NaT, pd.NA, np.datetime64("NaT", "s"), (1, None)],
    *[0.5, float(EXACT), float("inf"), 1j, Decimal(1), Fraction(1, 2), uuid.UUID(int=5)],
    *[object(), {1}, frozenset([1]), {"a": 1}, [1], len, np.array(1)],
    *[np.timedelta64(1, "D"), datetime.timedelta(1), datetime.time(1), pd.Interval(0, 1)],
    *["9007199254740993.0", "4.0000000000000001", "4503599627370497.5"],
    *["0.99999999999999999999", enum.Enum("Colour", "red").red],
]


def normalized_alone(value):
    """Return the text of a value that is normalized alone; None if it is refused."""
    try:
        return normalize_identifiers([value], "x")[0]
    except ValueError:
        return None


def normalized(values):
    try:
        return normalize_identifiers(values, "x").tolist()
    except ValueError:
        return None


def equal(one, other):
    """Whether Python takes two values for one."""
    if isinstance(one, tuple) or isinstance(other, tuple):
        return (type(one) is type(other) and len(one) == len(other)) and all(map(equal, one, other))
    try:
        with np.errstate(over="ignore"):
            return bool(one == other)
    except (OverflowError, TypeError):  # a large number and one of numpy
        return False


def masked(values):
    return np.ma.MaskedArray(objects(values), mask=False)


def objects(values):
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


CONTAINERS = {
    "list": list,
    "tuple": tuple,
    "objects": objects,
    "masked": masked,
    "Series": pd.Series,
    "Series of objects": lambda values: pd.Series(values, dtype=object),
    "nullable": lambda values: pd.Series(values).convert_dtypes(),
    "Index": lambda values: pd.Index(values, tupleize_cols=False),
    "pairs": lambda values: pd.MultiIndex.from_arrays([values, [0] * len(values)]),
    "categorical": lambda values: pd.Categorical(objects(values)),
    "categories": lambda values: pd.Series(values).astype("category"),
    "array": np.array,
}


#: Those that make one of several values that are equal for numpy.
CONVERT = ("pairs", "categorical", "categories", "array")


def made(container, values):
    """Return values in a container; None if it cannot hold them, or makes other values of them."""
    if container == "nullable" and any(map(large, values)):
        return None  # pandas rounds them to floats, and makes whole numbers of these
    if container in CONVERT and {"\ud800", "'\\ud800'"} <= {v for v in values if type(v) is str}:
        return None  # pandas takes a lone surrogate for the text of its escape sequence
    try:
        given = CONTAINERS[container](values)
    except Exception:  # of numpy and pandas, for some mixtures
        return None
    if container == "array":
        kept = isinstance(given, np.ndarray) and given.ndim == 1
        return given if kept and given.dtype.kind not in "USmV" else None
    return given


def test_equal_identifiers_are_normalized_alike():
    texts = [normalized_alone(value) for value in VALUES]
    assert None not in texts
    for one, text in zip(VALUES, texts, strict=True):
        assert type(text) is str and normalize_identifiers([text], "x")[0] == text
        for other, other_text in zip(VALUES, texts, strict=True):
            assert text == other_text or not equal(one, other), (one, other)
    assert len(set(texts)) > 28  # with few exceptions, different values have different texts


@pytest.mark.parametrize("container", CONTAINERS)
@settings(max_examples=40, deadline=None)
@given(chosen=st.lists(st.sampled_from(range(len(VALUES))), min_size=1, max_size=6))
def test_normalized_identifier_depends_on_no_other(container, chosen):
    values = [VALUES[i] for i in chosen]
    given_ = made(container, values)
    if given_ is None:
        return
    found = normalized(given_)
    expected = [normalized_alone((v, 0) if container == "pairs" else v) for v in values]
    # numbers that were rounded to floats before are refused, never normalized to another
    assert found == expected or (found is None and any(map(large, values))), values


def large(value):
    return isinstance(value, int) and abs(value) >= EXACT


@pytest.mark.parametrize("value", REFUSED, ids=lambda value: f"{type(value).__name__}")
def test_identifiers_without_a_normal_form_are_refused(value):
    for others in ([], ["x"], [1], [DAY], [INSTANT]):
        for values in ([value, *others], objects([value, *others]), [*others, value]):
            with pytest.raises(ValueError, match="^x has .*; every record requires") as caught:
                normalize_identifiers(values, "x")
            assert "0x" not in str(caught.value)


def test_masked_identifiers_count_as_missing():
    with pytest.raises(ValueError, match="missing"):
        normalize_identifiers(np.ma.MaskedArray([1, 2], mask=[True, False]), "x")


@cases(
    "values",
    *[[1, 2], [1.0, 2.0], ["1", "x"], [b"1", b"x"], [True, False]],
    [DAY.date(), datetime.date(1, 1, 1)],
    *([first, first + datetime.timedelta(1)] for first in (DAY, INSTANT)),
    ids=lambda values: str(type(values[0])),
)
def test_arrow_identifiers_are_normalized_like_python_values(values):
    pa = pytest.importorskip("pyarrow", reason="needs pyarrow")
    columns = [pa.array(values)]
    if values[1] == "x":
        columns.append(columns[0].dictionary_encode())
    for column in columns:
        assert normalized(pd.arrays.ArrowExtensionArray(column)) == [*map(normalized_alone, values)]
        missing = pa.array([*values, None], column.type)
        assert normalized(pd.arrays.ArrowExtensionArray(missing)) is None


# --- public names of teachers --------------------------------------------------------------------


HOSPITALS = [f"hospital {i:02}" for i in range(12)]
HOSPITAL = np.array(HOSPITALS)[np.arange(600) % 12]
RNG = np.random.default_rng(0)
X, X_PUBLIC = RNG.normal(size=(600, 4)), RNG.normal(size=(60, 4))
Y = (X[:, 0] + X[:, 1] > 0).astype(int)


def with_names(names=HOSPITALS, **params):
    """Return a classifier whose teachers draw, so that their votes depend on their seeds."""
    given_ = {"aggregator": GNMax(3.0), "epsilon": None, "classes": [0, 1], "random_state": 0}
    given_ |= {"student": GaussianNB(), "keep_teachers": True, "n_queries": 60}
    partition = names if isinstance(names, str) else PredefinedPartition(names=names)
    teacher = DecisionTreeClassifier(splitter="random", max_features=1)
    return PATEClassifier(teacher, partition=partition, **(given_ | params))


def votes_by_name(clf, names, rows=slice(None)):
    """Return the votes of each teacher by name; a teacher of a fixed rule has no name."""
    clf.fit(X[rows], Y[rows], X_PUBLIC, groups=HOSPITAL[rows])
    teachers = zip(names, clf.curator_.teachers, strict=True)
    return {name: t and t.predict(X_PUBLIC).tolist() for name, t in teachers}


@pytest.mark.parametrize("name", [HOSPITALS[0], HOSPITALS[5], HOSPITALS[11]])
def test_named_teacher_moves_alone_when_its_records_leave(name):
    clf, less = with_names(), with_names()
    before = votes_by_name(clf, HOSPITALS)
    after = votes_by_name(less, HOSPITALS, HOSPITAL != name)
    assert clf.n_teachers_ == less.n_teachers_ == 12
    assert [n for n in HOSPITALS if before[n] != after[n]] == [name] and after[name] is None
    given_ = [(X[r], Y[r], X_PUBLIC, HOSPITAL[r]) for r in (slice(None), HOSPITAL != name)]
    counts = [clf.poll(*data, groups=groups).counts for *data, groups in given_]
    changed = np.abs(counts[0] - counts[1])
    assert 0 < changed.sum() and changed.max() <= 1
    spent = [model.privacy_spent_ for model in (clf, less)]
    assert replace(spent[0], n_answered=0) == replace(spent[1], n_answered=0)
    assert spent[0].unit == "group" and "one named group, even all" in spent[0].change
    assert spent[0].relation == NeighboringRelation.CHANGE_ONE_NAMED
    assert "names are public" in spent[0].summary()


@pytest.mark.parametrize("names", [HOSPITALS, "predefined"], ids=["given", "read"])
def test_named_teachers_stay_when_another_name_leaves(names):
    rows, others = HOSPITAL != HOSPITALS[0], HOSPITALS[1:]
    whole = votes_by_name(with_names(names), HOSPITALS)
    without = votes_by_name(with_names(names if names == "predefined" else others), others, rows)
    assert {name: whole[name] for name in others} == without
    assert len({tuple(votes) for votes in whole.values()}) == 12


def test_relation_without_names_requires_each_name_to_stay():
    ways = "predefined", None
    fits = (with_names(names).fit(X, Y, X_PUBLIC, groups=HOSPITAL) for names in ways)
    spent = [clf.privacy_spent_ for clf in fits]
    assert spent[0] == spent[1] and spent[0].unit == "group"
    assert "keeps at least one; no name joins" in spent[0].change
    assert spent[0].relation == NeighboringRelation.CHANGE_ONE_NAMED_NONEMPTY
    assert "Each row is protected by itself" not in spent[0].summary()


def test_unlisted_name_is_refused_and_not_quoted():
    with pytest.raises(ValueError, match="groups has a name that is not among the 11") as caught:
        with_names(HOSPITALS[1:]).fit(X, Y, X_PUBLIC, groups=HOSPITAL)
    assert "hospital" not in str(caught.value)
    pytest.raises(ValueError, with_names().fit, X, Y, X_PUBLIC).match("requires the argument group")


@cases(
    "names, message",
    (["1", 1.0], "names that differ after"),
    (["a", None], "missing value"),
    ([object()], "cannot be compared"),
)
def test_names_that_cannot_be_compared_are_refused(names, message):
    for make in (PredefinedPartition, lambda names: Sites(len, names)):
        pytest.raises(ValueError, make, names).match(message)


@pytest.mark.parametrize("make", [list, np.array, iter])
def test_names_are_stored_as_a_normalized_tuple(make):
    partition = PredefinedPartition(make(["b", "a", "01"]))
    assert partition.names == ("b", "a", "1")
    assert pickle.loads(pickle.dumps(partition)) == clone(partition, safe=False) == partition


@pytest.mark.slow
@pytest.mark.parametrize("random_state", [0, None])
def test_memory_keeps_votes_by_name(tmp_path, random_state):
    def load(name, more=()):
        return X[HOSPITAL == name] + (name in more), Y[HOSPITAL == name]

    clf = with_names(keep_teachers=False, memory=tmp_path, random_state=random_state)
    clf.set_params(base_estimator=Counted())

    def polled(X, y=None, **given_):
        Counted.n_fits = 0  # a class that changed is another teacher
        counts = clf.poll(X, y, X_PUBLIC, **given_).counts
        return Counted.n_fits, counts.tolist()

    assert polled(Sites(load, HOSPITALS[1:]))[0] == 11
    trained, counts = polled(Sites(load, HOSPITALS))
    assert trained == 1 and polled(Sites(load, HOSPITALS[::-1])) == (0, counts)
    assert polled(Sites(lambda name: load(name, HOSPITALS[3:4]), HOSPITALS))[0] == 1
    for partition, n_trained in ((clf.partition, 12), (clf.partition, 0), ("predefined", 12)):
        clf.set_params(partition=partition)
        trained, same = polled(X, Y, groups=HOSPITAL)
        assert trained in ({n_trained} if random_state is None else {n_trained, 0})
        assert same == counts


def test_text_identifiers_are_normalized_like_typed_columns():
    # a table that is read with one malformed value has text where it would have other types
    text = ["2020-01-01", "2020-01-01 00:00:00+01:00", "1.0", "-07", "TRUE", "false"]
    aware = INSTANT - datetime.timedelta(hours=1)
    assert normalized(text) == [normalized_alone(v) for v in (DAY, aware, 1, -7, True, False)]
    text = ["1e5", "+.6e1\t", "123400e-2", "1" + "0" * 30]
    same = [100_000, 6, 1234, 10**30]
    assert normalized(text) == [normalized_alone(v) for v in same]
    other = ["2020-13-01", "2020-01", "2020/1/1", "1.5", "٣", "20200101x", "12e34", "1,000"]
    assert normalized(other) == other


def column(rows, **options):
    """Return a column of a file, each row in quotation marks."""
    file = io.StringIO("id\n" + "".join(f'"{row}"\n' for row in rows))
    # Dates of no format that pandas knows
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        return pd.read_csv(file, **options)["id"]


AS_DATES = {"parse_dates": ["id"]}


@cases(
    "rows, options",
    ([f"{i:+}." for i in range(-100, 100)], {}),
    ([f"2020-{i % 12 + 1:02}-{i % 28 + 1:02}" for i in range(84)], AS_DATES),
    ([f"2020{i % 12 + 1:02}{i % 28 + 1:02}" for i in range(84)], AS_DATES),
)
def test_malformed_row_of_a_file_moves_no_other_record(rows, options):
    whole, rest = column([*rows, "x"], **options), column(rows, **options)
    assert pd.api.types.is_string_dtype(whole) and not pd.api.types.is_string_dtype(rest)
    changed, kept = (teachers_of(unit="group", groups=ids) for ids in (whole, rest))
    assert changed[:-1].tolist() == kept.tolist()


PADS = st.sampled_from(["", "", " ", "\t", "  "])
NUMBERS = st.from_regex(
    r"\A[+-]?([0-9]{1,18}(\.[0-9]{0,22})?|\.[0-9]{1,22})([eE][+-]?[0-9]{1,3})?\Z"
).map(str.strip)
WHOLE = st.builds(  # with a point or an exponent
    "{:.{}f}{}".format,
    st.integers(-(2**54), 2**54).map(Decimal),
    st.integers(0, 9),
    st.sampled_from(["", "e0", "E+00", "e-00"]),
)
NEAR = st.builds(  # so near a whole number that reading rounds
    "{}.{}{}".format, st.integers(0, 2**53), st.sampled_from(["0" * 14, "9" * 14]), st.integers(0)
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(text=st.one_of(NUMBERS, WHOLE, NEAR), pads=st.tuples(PADS, PADS))
@example("4.0000000000000001", ("", ""))
@example("1e-400", ("", ""))
@example("4503599627370497.5", ("", ""))
def test_numbers_of_a_file_are_normalized_like_their_text(text, pads):
    before, after = pads
    text = before + text + after
    number = normalized(column([text]))
    among_text = normalized(column([text, "x"]))
    assume(None not in (number, among_text))  # one of them is refused
    assert number == among_text[:1]


def text_series(values):
    return pd.Series(values, dtype=pd.StringDtype("python"))  # pyarrow's takes no lone surrogates


def text_index(values):
    return pd.Index(text_series(values))


@pytest.mark.parametrize("make", [list, objects, np.array, text_series, text_index])
def test_text_identifiers_are_compared_exactly(make):
    # pandas takes a lone surrogate for the text of its escape sequence, and some end at a NUL
    names = ["'\\udce9'", "\udce9", *(f"\ud800{i}" for i in range(99)), "a\0b", "a\0c"]
    assert normalized(make(names)) == names
    each = Own(np.arange(len(names)))
    assert assigned(each, len(names), unit="group", groups=make(names)).unit == "group"
    with pytest.raises(ValueError, match="splits groups"):
        assigned(Own([0, 0, 1]), 2, unit="group", groups=make([names[0], names[1], names[1]]))
    for given_ in (
        lambda names: {"groups": make(names)},
        lambda names: {"partition": "hash", "index": pd.Index(names, dtype=object)},
    ):
        whole, less = teachers_of(**given_(names)), teachers_of(**given_(names[1:]))
        np.testing.assert_array_equal(whole[1:], less)


def test_dates_are_normalized_to_their_compact_text():
    dates = [DAY, DAY.date(), np.datetime64(DAY), "2020-01-01", "20200101", 20200101, 20200101.0]
    assert {normalized_alone(date) for date in dates} == {"20200101"}
    others = [INSTANT, DAY + datetime.timedelta(0, 1), datetime.date(1, 1, 1)]
    assert all("T" in normalized_alone(other) for other in others)


# --- published texts of a relation ----------------------------------------------------------------

PARTITIONS = [RandomPartition(), HashPartition(), GroupPartition(), PredefinedPartition()]
PARTITIONS += [PredefinedPartition(names=["north", "south"])]


@pytest.mark.parametrize("partition", PARTITIONS, ids=lambda partition: type(partition).__name__)
def test_n_records_is_public_only_if_one_record_is_replaced(partition):
    for unit in ("record", "group"):
        is_public = isinstance(partition, RandomPartition) and unit == "record"
        neighbors = Neighbors(relation=str(partition.relation), unit=unit).with_size(7)
        assert neighbors.n_records == (7 if is_public else None)


def test_relation_is_published_as_plain_text(ledger):
    X = np.random.default_rng(0).normal(size=(300, 2))
    y = (X[:, 0] > 0).astype(int)
    clf = PATEClassifier(GaussianNB(), n_teachers=20, epsilon=20.0, classes=[0, 1], ledger=ledger)
    spent = clf.fit(X[:200], y[:200], X[200:]).privacy_spent_
    assert (spent.relation, spent.change) == ("replace_one", "replace one record")
    assert type(spent.to_dict()["relation"]) is str
    assert json.loads(spent.to_json())["relation"] == "replace_one"
    assert "relation='replace_one'" in repr(spent)
    pickled = pickle.dumps(spent)
    assert b"replace_one" in pickled and b"NeighboringRelation" not in pickled
    with closing(sqlite3.connect(ledger.path)) as db:
        assert db.execute("SELECT adjacency FROM budget").fetchall() == [("replace_one",)]


@pytest.mark.parametrize("relation", [*NeighboringRelation, "replace one household"])
def test_privacy_statement_equals_its_saved_copy(relation):
    numbers = {"n_teachers": 20, "n_queries": 9, "n_answered": 8, "not_covered": ["this"]}
    spent = PrivacySpent(1.0, 1e-5, "renyi", "group", str(relation), **numbers)
    record = json.loads(spent.to_json())
    without = {name: value for name, value in record.items() if name not in ("format", "kind")}
    for loaded in (
        pickle.loads(pickle.dumps(spent)),
        copy.copy(spent),
        replace(spent),
        PrivacySpent(**without),
    ):
        assert loaded == spent and hash(loaded) == hash(spent)
        assert type(loaded.relation) is type(relation) and loaded.relation == relation
        assert (loaded.not_covered, loaded.fit_number) == (("this",), 1)
        assert loaded.to_json() == spent.to_json() and loaded.change == spent.change
