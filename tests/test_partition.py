"""Each partition keeps its adjacency: the stated change of the data reaches one teacher at most."""

import copy
import datetime
import enum
import inspect
import io
import pickle
import uuid
import warnings
import zlib
import zoneinfo
from dataclasses import FrozenInstanceError, replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from sklearn_pate import PATEClassifier, PublicData
from sklearn_pate import partition as partition_module
from sklearn_pate.aggregators import GNMax
from sklearn_pate.identifiers import spelled_identifiers
from sklearn_pate.partition import PredefinedPartition, assign_teachers
from sklearn_pate.teachers import Sites, collect_votes

SEED = np.random.SeedSequence(7)


def parts(partition, identifiers, n_teachers=5, groups=False, unit="record"):
    """Which identifiers each teacher holds, as a dict teacher -> set."""
    identifiers = list(identifiers)
    assignment = assign_teachers(
        partition,
        n_records=len(identifiers),
        n_teachers=n_teachers,
        unit=unit,
        index=None if groups else pd.Index(identifiers),
        groups=identifiers if groups else None,
        seed=SEED,
    )
    held = {i: set() for i in range(assignment.n_teachers)}
    for name, teacher in zip(identifiers, assignment.teacher_indices, strict=True):
        held[teacher].add(str(name))
    return held


def n_changed(before, after):
    return sum(before[i] != after[i] for i in before)


# --- random ------------------------------------------------------------------------------------


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 300), st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_random_parts_are_near_equal_and_disjoint(n_records, n_teachers, entropy):
    if n_teachers > n_records:
        return
    assignment = assign_teachers(
        "random",
        n_records=n_records,
        n_teachers=n_teachers,
        unit="record",
        seed=np.random.SeedSequence(entropy),
    )
    sizes = np.bincount(assignment.teacher_indices, minlength=n_teachers)
    assert sizes.sum() == n_records and sizes.max() - sizes.min() <= 1
    assert assignment.adjacency == "replace one record"


def test_random_depends_on_seed_and_length_only():
    first = assign_teachers(
        "random", n_records=50, n_teachers=5, unit="record", seed=np.random.SeedSequence(1)
    )
    again = assign_teachers(
        "random", n_records=50, n_teachers=5, unit="record", seed=np.random.SeedSequence(1)
    )
    other = assign_teachers(
        "random", n_records=50, n_teachers=5, unit="record", seed=np.random.SeedSequence(2)
    )
    np.testing.assert_array_equal(first.teacher_indices, again.teacher_indices)
    assert (first.teacher_indices != other.teacher_indices).any()
    assert (first.teacher_indices != np.arange(50) % 5).any()


def test_more_teachers_than_records_says_both_numbers():
    with pytest.raises(ValueError, match=r"n_teachers=6 .* n_samples=5"):
        assign_teachers("random", n_records=5, n_teachers=6, unit="record")


# --- keyed hashes --------------------------------------------------------------------------------


@pytest.mark.parametrize("groups", [False, True])
@settings(max_examples=100, deadline=None)
@given(names=st.lists(st.integers(0, 10**6), min_size=2, max_size=60, unique=True))
def test_removing_one_identifier_changes_one_teacher(groups, names):
    whole, less = parts("hash", names, groups=groups), parts("hash", names[1:], groups=groups)
    assert n_changed(whole, less) == 1


@pytest.mark.parametrize("groups", [False, True])
@settings(max_examples=100, deadline=None)
@given(name=st.text(min_size=1, max_size=8).filter(lambda name: not name.strip().isdigit()))
def test_one_new_text_identifier_among_numbers_changes_one_teacher(groups, name):
    # The new identifier changes the dtype of all others, from integers to text or object
    numbers = list(range(30))
    changed = n_changed(
        parts("hash", numbers, groups=groups), parts("hash", [*numbers, name], groups=groups)
    )
    assert changed == 1


def _changed_by_one_more(values, extra, index):
    """Teachers whose records change when one identifier joins; `index` or `groups`."""
    before, after = list(values), [*values, extra]
    held = []
    for names in (before, after):
        given_ = {"index": pd.Index(names)} if index else {"groups": names}
        partition = "hash" if index else "random"
        teacher = assign_teachers(
            partition, n_records=len(names), n_teachers=7, unit="record", seed=SEED, **given_
        ).teacher_indices
        held.append([sorted(np.flatnonzero(teacher[: len(before)] == i)) for i in range(7)])
    return sum(a != b for a, b in zip(*held, strict=True))


@pytest.mark.parametrize("index", [True, False])
@pytest.mark.parametrize(
    ("values", "extra"),
    [
        (range(40), "x"),
        (np.arange(40.0).tolist(), "x"),
        ([10**17 + i for i in range(40)], "x"),
        ([2**63 + i for i in range(40)], "x"),
        ([b"p%d" % i for i in range(40)], "x"),
        (pd.date_range("2020-01-01", periods=40).tolist(), "x"),
        (pd.date_range("2020-01-01", periods=40).tolist(), pd.Timestamp("2020-01-01 00:00:00.1")),
        (pd.date_range("2020-01-01", periods=40).to_pydatetime().tolist(), "x"),
        (pd.timedelta_range("1 day", periods=40).tolist(), "x"),
        (pd.interval_range(0, 40).tolist(), pd.Interval(0.0, 1.5)),
        ([True, False], 7),
    ],
)
def test_one_more_identifier_of_another_kind_moves_nobody(values, extra, index):
    if isinstance(extra, pd.Interval):
        with pytest.raises(ValueError, match="not whole"):
            _changed_by_one_more(values, extra, index)
    else:
        assert _changed_by_one_more(values, extra, index) == 0


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        ([1.0, 0.5], "not whole"),
        ([1e17, 1.0], "not whole"),
        ([float("inf"), 1.0], "not whole"),
        ([np.nan, "a"], "missing"),
        ([None, "a"], "missing"),
        (pd.array([1, None], dtype="Int64"), "missing"),
        ([{"a": 1}, "b"], "cannot be compared"),
    ],
)
def test_identifiers_without_one_spelling_are_refused(names, problem):
    with pytest.raises(ValueError, match=f"groups has .*{problem}.*text, a whole number"):
        assign_teachers("random", n_records=2, n_teachers=2, unit="group", groups=names)


def test_a_missing_part_of_a_multi_index_is_refused():
    index = pd.MultiIndex.from_tuples([(1, "a"), (2, None)])
    with pytest.raises(ValueError, match="missing"):
        assign_teachers("hash", n_records=2, n_teachers=2, unit="record", index=index)


@pytest.mark.parametrize(
    "partition", [partition_module.RandomPartition(), partition_module.HashPartition()]
)
def test_a_partition_that_splits_groups_cannot_claim_the_unit(partition):
    groups = np.repeat(np.arange(10), 20)
    index = pd.Index([f"r{i}" for i in range(200)])
    with pytest.raises(ValueError, match="splits groups"):
        assign_teachers(
            partition, n_records=200, n_teachers=10, unit="group", groups=groups, index=index
        )


def test_a_group_partition_needs_groups():
    with pytest.raises(ValueError, match="needs groups="):
        assign_teachers(partition_module.GroupPartition(), n_records=4, n_teachers=2, unit="record")


def test_date_identifiers_hash_alike_in_any_unit():
    days = np.array(["2020-01-01", "2021-06-01"], dtype="datetime64[D]")
    kwargs = {"unit": "record", "seed": SEED}
    by_day = assign_teachers("random", n_records=2, n_teachers=1000, groups=days, **kwargs)
    by_nanosecond = assign_teachers(
        "random", n_records=2, n_teachers=1000, groups=days.astype("M8[ns]"), **kwargs
    )
    as_stamps = assign_teachers(
        "random", n_records=2, n_teachers=1000, groups=pd.Series(days), **kwargs
    )
    np.testing.assert_array_equal(by_day.teacher_indices, by_nanosecond.teacher_indices)
    np.testing.assert_array_equal(by_day.teacher_indices, as_stamps.teacher_indices)


def test_replacing_an_identifier_changes_two_teachers_at_most():
    names = list(range(100))
    counts = [
        n_changed(parts("hash", names), parts("hash", [*names[1:], new])) for new in range(200, 260)
    ]
    assert max(counts) == 2 and min(counts) >= 1


def test_all_records_of_a_group_go_to_one_teacher_and_the_unit_is_the_group():
    groups = np.repeat(np.arange(50), 4)
    for partition, unit in (("random", "record"), ("hash", "record"), ("random", "group")):
        assignment = assign_teachers(
            partition, n_records=200, n_teachers=10, unit=unit, groups=groups, seed=SEED
        )
        assert assignment.unit == "group" and "one group" in assignment.adjacency
        for group in range(50):
            assert np.unique(assignment.teacher_indices[groups == group]).size == 1


def test_hash_depends_on_the_key():
    names = pd.Index([f"p{i}" for i in range(50)])
    keyed = [
        assign_teachers(
            "hash",
            n_records=50,
            n_teachers=10,
            unit="record",
            index=names,
            seed=np.random.SeedSequence(k),
        ).teacher_indices
        for k in (1, 2)
    ]
    assert (keyed[0] != keyed[1]).any()


def test_hash_spreads_records_evenly():
    names = pd.Index([f"p{i}" for i in range(20_000)])
    teacher = assign_teachers(
        "hash", n_records=20_000, n_teachers=20, unit="record", index=names, seed=SEED
    ).teacher_indices
    sizes = np.bincount(teacher, minlength=20)
    assert ((sizes - 1000) ** 2 / 1000).sum() < 45  # chi-square, 19 degrees: p < 1e-3 beyond 43.8


def test_more_teachers_than_identifiers_is_no_error_because_their_number_is_private():
    assert len(parts("hash", ["a", "b"], n_teachers=9)) == 9
    assert len(parts("random", ["a", "b"], n_teachers=9, groups=True)) == 9


def test_multi_index_rows_are_identifiers():
    index = pd.MultiIndex.from_tuples([(1, "a"), (2, "b"), (1, "a")])
    teacher = assign_teachers(
        "hash", n_records=3, n_teachers=1000, unit="record", index=index, seed=SEED
    ).teacher_indices
    assert teacher[0] == teacher[2] != teacher[1]


# --- predefined and own objects ----------------------------------------------------------------


def test_predefined_gives_each_named_group_its_teacher():
    hospitals = ["north", "south", "north", "east"]
    assignment = assign_teachers(
        "predefined", n_records=4, n_teachers=100, unit="record", groups=hospitals
    )
    assert assignment.n_teachers == 3 and assignment.unit == "group"
    assert assignment.teacher_indices[0] == assignment.teacher_indices[2]
    assert np.unique(assignment.teacher_indices).size == 3


def test_own_partition_object():
    class Halves:
        adjacency = "replace one record within its half"

        def assign(self, n_records, n_teachers, *, index=None, groups=None, seed=None):
            return (np.arange(n_records) >= n_records // 2).astype(int)

    assignment = assign_teachers(Halves(), n_records=6, n_teachers=2, unit="record")
    assert assignment.teacher_indices.tolist() == [0, 0, 0, 1, 1, 1]
    assert assignment.adjacency == "replace one record within its half"


@pytest.mark.parametrize(
    ("returned", "message"),
    [([0, 1], "6 whole numbers"), ([0.0] * 6, "whole numbers"), ([0, 1, 2, 0, 1, 2], "0 to 1")],
)
def test_own_partition_that_returns_nonsense(returned, message):
    class Broken:
        adjacency = "none"

        def assign(self, *args, **kwargs):
            return returned

    with pytest.raises(ValueError, match=message):
        assign_teachers(Broken(), n_records=6, n_teachers=2, unit="record")


# --- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"partition": "random", "unit": "group"}, 'unit="group" .* needs groups='),
        ({"partition": "hash", "unit": "record"}, "index of a DataFrame"),
        ({"partition": "hash", "unit": "record", "index": pd.RangeIndex(4)}, "RangeIndex"),
        ({"partition": "hash", "unit": "record", "index": pd.Index([1, 2, 3, None])}, "missing"),
        ({"partition": "predefined", "unit": "record"}, "needs groups="),
        ({"partition": "random", "unit": "group", "groups": [1, 2, 3]}, "one identifier per"),
        ({"partition": "random", "unit": "group", "groups": [1, 2, 3, None]}, "missing"),
        ({"partition": "stratified", "unit": "record"}, "must be one of"),
    ],
)
def test_what_a_partition_lacks_is_said(kwargs, message):
    with pytest.raises(ValueError, match=message):
        assign_teachers(n_records=4, n_teachers=2, **kwargs)


def test_no_partition_can_see_labels_or_features():
    for name in ("RandomPartition", "HashPartition", "GroupPartition", "PredefinedPartition"):
        signature = inspect.signature(getattr(partition_module, name).assign)
        assert set(signature.parameters) == {
            "self",
            "n_records",
            "n_teachers",
            "index",
            "groups",
            "seed",
        }


def test_hash_spreads_records_over_more_than_256_teachers():
    # a residue of too few bits would leave teachers without records, or favour the first
    names = pd.Index([f"p{i}" for i in range(100_000)])
    teacher = assign_teachers(
        "hash", n_records=100_000, n_teachers=400, unit="record", index=names, seed=SEED
    ).teacher_indices
    sizes = np.bincount(teacher, minlength=400)
    assert ((sizes - 250) ** 2 / 250).sum() < 500  # chi-square, 399 degrees: p < 1e-3 beyond 490


# --- what one change of the data changes, in 1,000 random trials each ----------------------------


T = 50


class Records:
    """Records of `ids`, with whole-number features and labels; every change makes new ones."""

    def __init__(self, ids, features, labels, names=None):
        self.ids, self.features, self.labels = map(np.asarray, (ids, features, labels))
        self.names = names  # of the groups, one per group number

    @classmethod
    def drawn(cls, rng, n=60, n_groups=None):
        ids = np.arange(n) if n_groups is None else rng.integers(n_groups, size=n)
        names = rng.choice(10**6, size=n + 9, replace=False)
        return cls(ids, rng.integers(1000, size=n), rng.integers(3, size=n), names)

    def changed(self, rows, features=None, labels=None, ids=None):
        parts = [part.copy() for part in (self.ids, self.features, self.labels)]
        for part, new in zip(parts, (ids, features, labels), strict=True):
            if new is not None:
                part[rows] = new
        return Records(*parts, self.names)

    def without(self, rows):
        parts = (np.delete(part, rows) for part in (self.ids, self.features, self.labels))
        return Records(*parts, self.names)

    def plus(self, ids, features, labels, at):
        new = zip((self.ids, self.features, self.labels), (ids, features, labels), strict=True)
        return Records(*(np.insert(part, at, value) for part, value in new), self.names)

    def teachers(self, kind, seed):
        """Teacher of each record."""
        names = self.names[self.ids]
        given_ = {"index": pd.Index(names)} if kind == "hash" else {"groups": names}
        # what "random" becomes with groups, without the check that no group is split
        how = partition_module.GroupPartition() if kind == "groups" else kind
        given_ = {} if kind == "random" else given_
        return assign_teachers(
            how, n_records=len(names), n_teachers=T, unit="record", seed=seed, **given_
        ).teacher_indices

    def keys(self, kind, seed):
        """One number per record and teacher: equal if identifier, features and label are."""
        held = (self.names[self.ids] * 1000 + self.features) * 3 + self.labels
        return self.teachers(kind, seed) * 3 * 10**9 + held


def teachers_changed(keys, other_keys):
    """Teachers whose multiset of (identifier, features, label) is not the same."""
    distinct, where = np.unique(np.concatenate([keys, other_keys]), return_inverse=True)
    sign = np.repeat([1, -1], [len(keys), len(other_keys)])
    differ = np.bincount(where.reshape(-1), weights=sign) != 0
    return np.unique(distinct[differ] // (3 * 10**9))


def changes_of(kind, data, rng):
    """Every change of one unit, and how many teachers the adjacency lets it reach."""
    n = len(data.ids)
    if kind in ("random", "hash"):
        row, new = rng.integers(n), n + rng.integers(9)
        relabelled = data.changed(row, labels=(data.labels[row] + 1 + rng.integers(2)) % 3)
        values = rng.integers(1000), rng.integers(3)
        yield "relabel", relabelled, 1
        yield "replace", data.changed(row, *values, ids=new), 1 if kind == "random" else 2
        if kind == "hash":
            yield "change", data.changed(row, *values), 1
            yield "remove", data.without(row), 1
            yield "add", data.plus(new, *values, at=rng.integers(n + 1)), 1
            yield "replace elsewhere", data.without(row).plus(new, *values, at=rng.integers(n)), 2
        return
    group = rng.choice(data.ids)
    rows = np.flatnonzero(data.ids == group)
    size = rng.integers(1, 6)
    more = rng.integers(1000, size=size), rng.integers(3, size=size)
    at = rng.integers(n + 1, size=size)
    values = rng.integers(1000, size=len(rows)), rng.integers(3, size=len(rows))
    yield "relabel", data.changed(rows, labels=values[1]), 1
    if kind == "predefined":
        yield "more records", data.plus(np.full(size, group), *more, at=at), 1
        if len(rows) > 1:  # the name must not vanish
            yield "fewer records", data.without(rows[1:]), 1
        return
    new = data.ids.max() + 1
    yield "change", data.changed(rows, *values), 1
    yield "remove", data.without(rows), 1
    yield "add", data.plus(np.full(size, new), *more, at=at), 1
    yield "replace", data.changed(rows, ids=np.full(len(rows), new)), 2


@pytest.mark.parametrize("kind", ["random", "hash", "groups", "predefined"])
def test_no_change_reaches_more_teachers_than_the_adjacency_claims(kind):
    rng, reached = np.random.default_rng(0), {}
    for _ in range(1000):
        data = Records.drawn(rng, n_groups={"groups": 40, "predefined": 12}.get(kind))
        seed = np.random.SeedSequence(int(rng.integers(2**63)))
        keys = data.keys(kind, seed)
        for change, after, most in changes_of(kind, data, rng):
            teachers = teachers_changed(keys, after.keys(kind, seed))
            assert len(teachers) <= most, change
            reached.setdefault(change, []).append(len(teachers))
    assert all(len(numbers) >= 900 for numbers in reached.values())
    for change, numbers in reached.items():  # nor is it said of changes that reach nobody
        assert max(numbers) == (2 if "replace" in change and kind != "random" else 1)
        assert np.mean(numbers) > 0.6
    assert len(reached) == {"random": 2, "hash": 6, "groups": 5, "predefined": 3}[kind]


def test_a_rank_or_a_position_would_reach_many_teachers():
    # the count of changed teachers sees what the partitions are there to prevent
    rng, seed = np.random.default_rng(0), np.random.SeedSequence(0)
    data = Records.drawn(rng, n=120)
    keys, less = (d.keys("random", seed) for d in (data, data.without(3)))
    assert len(teachers_changed(keys, less)) > 30
    data = Records.drawn(rng, n=120, n_groups=60)

    class ByRank(Records):
        def teachers(self, kind, seed):
            return np.unique(self.names[self.ids], return_inverse=True)[1] % T

    first = np.flatnonzero(data.names[data.ids] == data.names[data.ids].min())
    keys, less = (
        ByRank(d.ids, d.features, d.labels, d.names).keys("groups", seed)
        for d in (data, data.without(first))
    )
    assert len(teachers_changed(keys, less)) > 30


class Fingerprint(ClassifierMixin, BaseEstimator):
    """Votes by a hash of all it was given: its records, and its seed."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        held = np.sort(3 * X[:, 0] + y).astype(np.int64).tobytes()
        self.print_ = zlib.crc32(held + str(self.random_state).encode())
        return self

    def predict(self, X):
        return self.classes_[(self.print_ // 7 ** X[:, 0].astype(int)) % len(self.classes_)]


@pytest.mark.parametrize("kind", ["random", "hash", "groups", "predefined"])
def test_no_change_reaches_more_votes_than_the_adjacency_claims(kind):
    rng, moved = np.random.default_rng(1), 0
    queries = np.arange(12.0)[:, None]
    for _ in range(4):
        data = Records.drawn(rng, n=400, n_groups={"groups": 150, "predefined": 30}.get(kind))
        seed, teacher_seed = (np.random.SeedSequence(int(e)) for e in rng.integers(2**62, size=2))

        def polled(data, seed=seed, teacher_seed=teacher_seed):
            teacher = data.teachers(kind, seed)
            votes, teachers = collect_votes(
                [Fingerprint()],
                (data.names[data.ids] * 1000 + data.features)[:, None],
                data.labels,
                queries,
                teacher_indices=teacher,
                n_teachers=teacher.max() + 1 if kind == "predefined" else T,
                n_classes=3,
                seed=np.random.SeedSequence(teacher_seed.entropy),
                keep_teachers=True,
            )
            return votes, [t and (t.random_state, t.print_) for t in teachers]

        votes, teachers = polled(data)
        seeds = [t and t[0] for t in teachers]
        assert len(set(seeds) - {None}) == len(seeds) - seeds.count(None) > 10
        for change, after, most in changes_of(kind, data, rng):
            other_votes, others = polled(after)
            differ = [t != o for t, o in zip(teachers, others, strict=True)]
            assert sum(differ) <= most, change
            for t, o in zip(teachers, others, strict=True):
                assert t is None or o is None or t[0] == o[0]  # seeds depend on the number alone
            apart = np.abs(votes - other_votes)
            assert apart.sum(axis=1).max() <= 2 * most and apart.max() <= most
            moved += apart.any()
    assert moved > 0


# --- one spelling per identifier -----------------------------------------------------------------

ZONES = [zoneinfo.ZoneInfo(name) for name in ("UTC", "Europe/Berlin", "Asia/Kolkata")]
DAY = datetime.datetime(2020, 1, 1)
INSTANT = datetime.datetime(2020, 1, 1, tzinfo=ZONES[0])
EXACT = 2**53
#: Values that people use as identifiers, many of them equal to one another.
VALUES = [
    1,
    1.0,
    True,
    False,
    0,
    -0.0,
    "1",
    "01",
    "+1.0",
    "-0",
    "True",
    "false",
    b"1",
    b"x",
    "x",
    "",
    np.int8(1),
    np.uint64(1),
    np.float32(1),
    np.float16(3),
    np.bool_(True),
    np.str_("x"),
    "x\0",
    3,
    2**63,
    EXACT - 1,
    EXACT + 1,
    float(EXACT - 1),
    -(2**70),
    "9" * 1200,
    Decimal("1.0"),
    Decimal(2**70),
    Fraction(3, 1),
    Fraction(2**70),
    "\ud800",
    b"\xff",
    "a\x1fb",
    ("a", "b"),
    DAY,
    DAY.date(),
    pd.Timestamp(DAY),
    np.datetime64("2020-01-01"),
    np.datetime64("2020"),
    np.datetime64("2020-01-01T00:00:00.1", "ms"),
    pd.Timestamp("2020-01-01 00:00:00.100"),
    pd.Timestamp("2020-01-01 00:00:00.000000001"),
    datetime.date(1, 1, 1),
    "2020-02-30",
    "2020-01-01",
    "2020-01-01 00:00:00",
    "2020-01-01T00:00:00.000000000",
    "2020-01-01T01+01:00",
    *(INSTANT.astimezone(zone) for zone in ZONES),
    *(pd.Timestamp(INSTANT).tz_convert(zone).as_unit("ms") for zone in ZONES),
    datetime.timedelta(days=1),
    pd.Timedelta("1D"),
    np.timedelta64(1, "D"),
    np.timedelta64(24, "h"),
    np.timedelta64(86_400, "s"),
    pd.Timedelta(1),
    86_400,
    pd.Period("2020-01-01", "D"),
    pd.Period("2020-01", "M"),
    pd.Period("2020", "Y"),
    "2020",
    pd.Interval(0, 1),
    pd.Interval(0.0, 1.0),
    pd.Interval(0, 1, closed="left"),
    pd.Interval(pd.Timestamp(DAY), pd.Timestamp(DAY) + pd.Timedelta("1D")),
    uuid.UUID(int=5),
    str(uuid.UUID(int=5)),
    (1, "x"),
    (True, "x"),
    (1.0, b"x"),
    ("1", ("x",)),
    (INSTANT, 1),
    (INSTANT.astimezone(ZONES[1]), 1),
    (),
    " 1\t",
    "1e0",
    ".10e+1",
    "1 \0 ",
    1000,
    "1E+3",
    np.float16(1000),
    ".0",
    "0e999",
    "1.50",
    "12e34",
    "1e400",
    " x",
    "2020-1-1",
    "2020/01/01",
    "2020.1.1 ",
    20200101,
    "20200101.0",
    "2020-01",
    "2020-1-1 1:00+01",
    np.datetime64("2020-01"),
    "e3",
    ".",
    "'\\ud800'",
]
#: Before numpy 2.3 the text of a short float that is rounded looks like that of a whole number.
SAYS_ROUNDED = str(np.float16(65_504)) == "6.55e+04"

REFUSED = [
    None,
    float("nan"),
    pd.NaT,
    pd.NA,
    np.datetime64("NaT", "s"),
    Decimal("NaN"),
    (1, None),
    0.5,
    float(EXACT),
    np.float32(2**24),
    np.float16(2048),
    float("inf"),
    Decimal("0.5"),
    1j,
    Decimal("1e5000"),
    Decimal("Infinity"),
    Fraction(1, 2),
    object(),
    {1},
    frozenset([1]),
    {"a": 1},
    [1],
    np.timedelta64(1, "M"),
    np.datetime64(1, "ps"),
    len,
    "9007199254740993.0",
    "-1e+16",
    "1.2e34",
    "4.0000000000000001",
    "0.99999999999999999999",
    "4503599627370497.5",
    "1e-400",
    *(("6.55e+04", "1.3421773e+08") if SAYS_ROUNDED else ()),
    pd.Interval(0.5, 1),
    np.array(1),
    enum.Enum("Colour", "red").red,
    datetime.time(1),
]


def spelled_alone(value):
    """Return the spelling of a value that has no others beside it; None if it is refused."""
    try:
        return spelled_identifiers([value], "x")[0]
    except ValueError:
        return None


def spelled(values):
    try:
        return spelled_identifiers(values, "x").tolist()
    except ValueError:
        return None


def equal(one, other):
    """Whether Python takes two values for one; numpy compares durations with bare numbers."""
    if isinstance(one, tuple) or isinstance(other, tuple):
        same = type(one) is type(other) and len(one) == len(other)
        return same and all(map(equal, one, other))
    if isinstance(one, np.timedelta64) != isinstance(other, np.timedelta64):
        durations = [isinstance(v, datetime.timedelta | np.timedelta64) for v in (one, other)]
        if not all(durations):
            return False
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


#: Those that make one of several values that are equal for numpy, or dates of durations.
CONVERT = ("pairs", "categorical", "categories", "array")


def made(container, values):
    """Return values in a container; None if it cannot hold them, or makes other values of them."""
    durations = [isinstance(value, np.timedelta64) for value in values]
    if container in CONVERT and any(durations) and not all(durations):
        return None  # numpy says that 24 hours are 24
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


def test_equal_identifiers_are_spelled_alike():
    spellings = [spelled_alone(value) for value in VALUES]
    assert None not in spellings
    for one, text in zip(VALUES, spellings, strict=True):
        assert type(text) is str and spelled_identifiers([text], "x")[0] == text
        for other, other_text in zip(VALUES, spellings, strict=True):
            assert text == other_text or not equal(one, other), (one, other)
    assert len(set(spellings)) > 28  # what differs is, with few exceptions, spelled apart


@pytest.mark.parametrize("container", CONTAINERS)
@settings(max_examples=60, deadline=None)
@given(chosen=st.lists(st.sampled_from(range(len(VALUES))), min_size=1, max_size=6))
def test_a_spelling_depends_on_nothing_beside_the_identifier(container, chosen):
    values = [VALUES[i] for i in chosen]
    given_ = made(container, values)
    if given_ is None:
        return
    found = spelled(given_)
    expected = [spelled_alone((v, 0) if container == "pairs" else v) for v in values]
    # what was rounded to a float before it came here is refused, never spelled as another
    assert found == expected or (found is None and any(map(large, values))), values


@pytest.mark.parametrize("number", [np.int8(1), np.uint64(1)], ids=["int8", "uint64"])
def test_numbers_that_cannot_be_compared_are_spelled_each_by_itself(number):
    # numpy's numbers and a Decimal have one hash, and to compare them is an error
    assert spelled(objects([Decimal("1.0"), number])) == ["1", "1"]


def large(value):
    return isinstance(value, int) and abs(value) >= EXACT


@pytest.mark.parametrize("container", CONTAINERS)
@settings(max_examples=60, deadline=None)
@given(chosen=st.lists(st.sampled_from(range(len(VALUES))), min_size=2, max_size=6))
def test_a_row_that_leaves_does_not_rename_the_others(container, chosen):
    values = [VALUES[i] for i in chosen]
    before, after = made(container, values), made(container, values[1:])
    if before is None or after is None:
        return
    before, after = spelled(before), spelled(after)
    assert None in (before, after) or before[1:] == after, values


@pytest.mark.parametrize("value", REFUSED, ids=lambda value: f"{type(value).__name__}")
@pytest.mark.parametrize("others", [[], ["x"], [1], [DAY], [INSTANT]], ids=str)
def test_what_has_no_one_spelling_is_refused_whatever_is_beside_it(value, others):
    for values in ([value, *others], objects([value, *others]), [*others, value]):
        with pytest.raises(ValueError, match="^x has .*; every record needs") as caught:
            spelled_identifiers(values, "x")
        assert "0x" not in str(caught.value)


def test_rows_that_are_masked_are_missing():
    with pytest.raises(ValueError, match="missing"):
        spelled_identifiers(np.ma.MaskedArray([1, 2], mask=[True, False]), "x")


@pytest.mark.parametrize(
    ("dtype", "values"),
    [
        ("int64", [1, 2]),
        ("double", [1.0, 2.0]),
        ("string", ["1", "x"]),
        ("large_binary", [b"1", b"x"]),
        ("bool", [True, False]),
        ("date32", [DAY.date(), datetime.date(1, 1, 1)]),
        ("timestamp ms", [DAY, DAY + datetime.timedelta(1)]),
        ("timestamp zone", [INSTANT, INSTANT + datetime.timedelta(1)]),
        ("duration", [datetime.timedelta(1), datetime.timedelta(2)]),
        ("decimal", [Decimal("1.0"), Decimal("2.0")]),
        ("dictionary", ["1", "x"]),
    ],
)
def test_arrow_spells_as_python_does(dtype, values):
    pa = pytest.importorskip("pyarrow", reason="needs pyarrow")
    special = {
        "timestamp ms": lambda: pa.timestamp("ms"),
        "timestamp zone": lambda: pa.timestamp("us", "Europe/Berlin"),
        "duration": lambda: pa.duration("ms"),
        "decimal": lambda: pa.decimal128(5, 1),
        "dictionary": lambda: pa.dictionary(pa.int8(), pa.string()),
        "double": pa.float64,
        "bool": pa.bool_,
    }
    kind = special.get(dtype, getattr(pa, dtype, None))()
    column = pd.Series(values, dtype=pd.ArrowDtype(kind))
    assert spelled(column) == [spelled_alone(value) for value in values]
    assert spelled(pd.Series([*values, None], dtype=pd.ArrowDtype(kind))) is None


@pytest.mark.parametrize(
    ("rows", "row"),
    [
        ([INSTANT.astimezone(ZONES[1])] * 3, INSTANT),
        ([True, True, False], "x"),
        ([np.timedelta64(1, "D")] * 3, "x"),
        ([np.timedelta64(1, "D")] * 3, np.timedelta64(1, "ns")),
        ([EXACT + 1] * 3, 1.0),
    ],
)
@pytest.mark.parametrize("make", [list, pd.Series, pd.Index, np.array])
def test_one_row_does_not_move_its_group(rows, row, make):
    """The row comes first, so that arrays take their dtype, or a group its spelling, from it."""
    whole, rest = made_by(make, [row, *rows]), made_by(make, rows)
    if whole is None or rest is None:  # refused, or text already
        return
    teachers = [
        assign_teachers(
            "random", n_records=len(given), n_teachers=10**6, unit="record", groups=given, seed=SEED
        ).teacher_indices
        for given in (whole, rest)
    ]
    assert teachers[0][1:].tolist() == teachers[1].tolist()


def made_by(make, values):
    given = make(values)
    if make is np.array and given.dtype.kind in "U" and not isinstance(values[1], bool):
        return None
    return None if spelled(given) is None else given


# --- public names of teachers --------------------------------------------------------------------


HOSPITALS = [f"hospital {i:02}" for i in range(12)]
HOSPITAL = np.array(HOSPITALS)[np.arange(600) % 12]
RNG = np.random.default_rng(0)
X, X_PUBLIC = RNG.normal(size=(600, 4)), RNG.normal(size=(60, 4))
Y = (X[:, 0] + X[:, 1] > 0).astype(int)


def with_names(names=HOSPITALS, **params):
    """Return a classifier whose teachers draw, so that their votes tell their seeds."""
    given_ = {"aggregator": GNMax(3.0), "epsilon": None, "classes": [0, 1], "random_state": 0}
    given_ |= {"student": GaussianNB(), "keep_teachers": True, "n_queries": 60}
    partition = names if isinstance(names, str) else PredefinedPartition(names=names)
    teacher = DecisionTreeClassifier(splitter="random", max_features=1)
    return PATEClassifier(teacher, partition=partition, **(given_ | params))


def votes_by_name(clf, names, rows=slice(None)):
    """Return the votes of each teacher's own, by name; those of a fixed rule have none."""
    clf.fit(X[rows], Y[rows], X_PUBLIC, groups=HOSPITAL[rows])
    teachers = zip(names, clf.curator_.teachers, strict=True)
    return {name: t and t.predict(X_PUBLIC).tolist() for name, t in teachers}


@pytest.mark.parametrize("name", [HOSPITALS[0], HOSPITALS[5], HOSPITALS[11]])
def test_all_records_of_a_name_leave_and_one_teacher_moves(name):
    clf, less = with_names(), with_names()
    before = votes_by_name(clf, HOSPITALS)
    after = votes_by_name(less, HOSPITALS, HOSPITAL != name)
    assert clf.n_teachers_ == less.n_teachers_ == 12
    assert [n for n in HOSPITALS if before[n] != after[n]] == [name] and after[name] is None
    given_ = [(X[r], Y[r], X_PUBLIC, HOSPITAL[r]) for r in (slice(None), HOSPITAL != name)]
    counts = [clf.poll(*data, groups=groups).counts for *data, groups in given_]
    moved = np.abs(counts[0] - counts[1])
    assert 0 < moved.sum() and moved.max() <= 1
    spent = [model.privacy_spent_ for model in (clf, less)]
    assert replace(spent[0], n_answered=0) == replace(spent[1], n_answered=0)
    assert spent[0].unit == "group" and "one named group, even all" in spent[0].adjacency
    assert "names are public" in spent[0].summary()


@pytest.mark.parametrize("names", [HOSPITALS, "predefined"], ids=["given", "read"])
def test_another_name_leaves_the_teachers_of_others_as_they_are(names):
    rows, others = HOSPITAL != HOSPITALS[0], HOSPITALS[1:]
    whole = votes_by_name(with_names(names), HOSPITALS)
    without = votes_by_name(with_names(names if names == "predefined" else others), others, rows)
    assert {name: whole[name] for name in others} == without
    assert len({tuple(votes) for votes in whole.values()}) == 12


def test_sites_have_the_teachers_of_the_same_names():
    def load(name):
        return X[HOSPITAL == name], Y[HOSPITAL == name]

    clf = with_names(keep_teachers=False)
    here = clf.poll(X, Y, X_PUBLIC, groups=HOSPITAL)
    sites = clf.poll(Sites(load, HOSPITALS), None, X_PUBLIC)
    assert np.array_equal(here.counts, sites.counts)
    assert here.ballots == sites.ballots
    fewer = clf.poll(Sites(load, HOSPITALS[1:]), None, X_PUBLIC)
    gone = here.counts - fewer.counts
    assert (gone.sum(axis=1) == 1).all() and gone.min() == 0


def test_without_names_the_adjacency_says_that_a_name_must_stay():
    spent = [
        with_names(partition).fit(X, Y, X_PUBLIC, groups=HOSPITAL).privacy_spent_
        for partition in ("predefined", None)
    ]
    assert spent[0] == spent[1] and spent[0].unit == "group"
    assert "keeps at least one; no name joins" in spent[0].adjacency
    assert "Each row is protected by itself" not in spent[0].summary()


def test_a_record_of_a_name_that_is_not_listed_is_refused_and_not_quoted():
    with pytest.raises(ValueError, match="groups has a name that is not among the 11") as caught:
        with_names(HOSPITALS[1:]).fit(X, Y, X_PUBLIC, groups=HOSPITAL)
    assert "hospital" not in str(caught.value)
    with pytest.raises(ValueError, match="needs groups="):
        with_names().fit(X, Y, X_PUBLIC)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ([], "distinct names, at least 1"),
        (["a", "a"], "distinct names"),
        (["1", 1.0], "distinct names"),
        ("ab", "distinct names"),
        ({"a", "b"}, "distinct names"),
        ({"a": 1}, "distinct names"),
        (5, "distinct names"),
        (["a", None], "missing value"),
        ([object()], "cannot be compared"),
    ],
)
def test_names_that_cannot_be_told_apart_are_refused(names, message):
    for make in (PredefinedPartition, lambda names: Sites(len, names)):
        with pytest.raises(ValueError, match=message):
            make(names)


@pytest.mark.parametrize("make", [list, tuple, np.array, pd.Index, pd.Series, iter])
def test_names_are_kept_as_a_tuple_that_cannot_change(make):
    given_ = make(["b", "a", "01"])
    partition = PredefinedPartition(given_)
    assert partition.names == ("b", "a", "1") and [*map(type, partition.names)] == [str] * 3
    with pytest.raises(FrozenInstanceError):
        partition.names = ("c",)
    for copied in (copy.deepcopy, lambda p: pickle.loads(pickle.dumps(p))):
        assert copied(partition) == partition
    clf = clone(PATEClassifier(partition=partition))
    assert clf.get_params()["partition"] == partition
    assert repr(partition) == "PredefinedPartition(names=('b', 'a', '1'))"


def test_a_grid_search_keeps_the_names():
    clf = with_names(keep_teachers=False, random_state=None)
    grid = {"partition": [clf.partition, PredefinedPartition(HOSPITALS[::-1])]}
    with sklearn.config_context(enable_metadata_routing=True):
        found = GridSearchCV(clf, grid, cv=2)
        found.fit(X, Y, X_public=PublicData(X_PUBLIC), groups=HOSPITAL)
    assert found.best_estimator_.n_teachers_ == 12
    assert found.best_params_["partition"] in grid["partition"]


class Counted(GaussianNB):
    fitted = 0

    def fit(self, X, y):
        Counted.fitted += 1
        return super().fit(X, y)


@pytest.mark.parametrize("random_state", [0, None])
def test_kept_votes_go_by_the_name(tmp_path, random_state):
    def load(name):
        return X[HOSPITAL == name], Y[HOSPITAL == name]

    clf = with_names(keep_teachers=False, memory=tmp_path, random_state=random_state)
    clf.set_params(base_estimator=Counted())
    trained = []
    counts = []
    for names in (HOSPITALS[1:], HOSPITALS, HOSPITALS[::-1]):
        Counted.fitted = 0
        counts.append(clf.poll(Sites(load, names), None, X_PUBLIC).counts)
        trained.append(Counted.fitted)
    assert trained == [11, 1, 0] and np.array_equal(counts[1], counts[2])
    for partition, n_trained in ((clf.partition, 12), (clf.partition, 0), ("predefined", 12)):
        Counted.fitted = 0
        clf.set_params(partition=partition)
        counts.append(clf.poll(X, Y, X_PUBLIC, groups=HOSPITAL).counts)
        assert Counted.fitted in ({n_trained} if random_state is None else {n_trained, 0})
    assert all(np.array_equal(each, counts[1]) for each in counts[1:])


def test_text_says_what_a_column_would_have_been():
    # a table that is read with one malformed value has text where it would have other types
    text = ["2020-01-01", "2020-01-01 00:00:00+01:00", "1.0", "-07", "TRUE", "false"]
    aware = INSTANT - datetime.timedelta(hours=1)
    assert spelled(text) == [spelled_alone(v) for v in (DAY, aware, 1, -7, True, False)]
    text = ["1e5", " 2020-01", "2020/1/1", "+.6e1\t", "123400e-2", "1" + "0" * 30]
    same = [100_000, DAY, DAY, 6, 1234, 10**30]
    assert spelled(text) == [spelled_alone(v) for v in same]
    other = ["2020-13-01", "1.5", "٣", "yes", "20200101x", "1e", "12e34", "1/5/2020", "1,000"]
    assert spelled(other) == other


def column(rows, **options):
    """Return a column of a file, each row in quotation marks."""
    file = io.StringIO("id\n" + "".join(f'"{row}"\n' for row in rows))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # dates of no format that pandas knows
        return pd.read_csv(file, **options)["id"]


AS_DATES = {"parse_dates": ["id"]}


@pytest.mark.parametrize(
    ("rows", "options"),
    [
        ([f"{i:3}" for i in range(200)], {}),
        ([f"{i}\t" for i in range(200)], {}),
        ([f"{i:+}" for i in range(-100, 100)], {}),
        ([f"{i}e3" for i in range(200)], {}),
        ([f"{i:.18e}" for i in range(200)], {}),
        ([f".{i:04}E4" for i in range(200)], {}),
        ([f"{i}." for i in range(200)], {}),
        ([str(10**18 + i) for i in range(200)], {}),
        ([f"2020-{i % 12 + 1}-{i % 28 + 1}" for i in range(84)], AS_DATES),
        ([f"2020/{i % 12 + 1}/{i % 28 + 1} 9:30" for i in range(84)], AS_DATES),
        ([f"2020{i % 12 + 1:02}{i % 28 + 1:02}" for i in range(84)], AS_DATES),
        ([f" {year}-07" for year in range(1900, 2000)], AS_DATES),
    ],
)
def test_one_malformed_row_of_a_file_moves_nobody(rows, options):
    whole, rest = column([*rows, "x"], **options), column(rows, **options)
    assert pd.api.types.is_string_dtype(whole) and not pd.api.types.is_string_dtype(rest)
    teachers = [
        assign_teachers(
            "random", n_records=len(ids), n_teachers=10**6, unit="group", groups=ids, seed=SEED
        ).teacher_indices
        for ids in (whole, rest)
    ]
    assert teachers[0][:-1].tolist() == teachers[1].tolist()


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


@settings(max_examples=200, deadline=None)
@given(text=st.one_of(NUMBERS, WHOLE, NEAR), pads=st.tuples(PADS, PADS))
@example("4.0000000000000001", ("", ""))
@example("1e-400", ("", ""))
@example("4503599627370497.5", ("", ""))
def test_a_number_of_a_file_is_spelled_as_its_text(text, pads):
    before, after = pads
    text = before + text + after
    number = spelled(column([text]))
    among_text = spelled(column([text, "x"]))
    assert None in (number, among_text) or number == among_text[:1]


@settings(max_examples=100, deadline=None)
@given(
    day=st.dates(datetime.date(1900, 1, 1), datetime.date(2100, 1, 1)),
    form=st.sampled_from(["{:%Y-%m-%d}", "{:%Y%m%d}", "{:%Y/%m/%d}", "{0.year}-{0.month}-{0.day}"]),
    time=st.sampled_from(["", " 09:30", " 9:05:10.25", "T00:00:00", " 23:59:59.123456+01:00"]),
    pads=st.tuples(PADS, PADS),
)
def test_a_date_of_a_file_is_spelled_as_its_text(day, form, time, pads):
    before, after = pads
    text = before + form.format(day) + ("" if form == "{:%Y%m%d}" else time) + after
    dates, among_text = (column(rows, **AS_DATES) for rows in ([text], [text, "x"]))
    assert dates.dtype.kind == "M"
    assert spelled(among_text)[:1] == spelled(dates)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_floats_that_numpy_made_text_of_are_the_same_or_refused(kind, data):
    large = {np.float16: 65_504, np.float32: 10**15, np.float64: 10**17}[kind]
    value = kind(data.draw(st.integers(0, 2**12) | st.integers(-large, large)))
    found = spelled(np.array([value, "x"]))
    alone = spelled(np.array([value]))
    assert found is None or found[0] == str(int(value)) or not SAYS_ROUNDED
    assert alone is None or found[:1] == alone


def text_series(values):
    return pd.Series(values, dtype=pd.StringDtype("python"))  # pyarrow's takes no lone surrogates


def text_index(values):
    return pd.Index(text_series(values))


@pytest.mark.parametrize("make", [list, objects, np.array, text_series, text_index])
def test_text_is_told_apart_by_itself(make):
    # pandas takes a lone surrogate for the text of its escape sequence, and some end at a NUL
    names = ["'\\udce9'", "\udce9", *(f"\ud800{i}" for i in range(99)), "a\0b", "a\0c"]
    assert spelled(make(names)) == names

    class Each:
        adjacency = "none"

        def assign(self, n_records, **kwargs):
            return np.arange(n_records)

    class Halves(Each):
        def assign(self, n_records, **kwargs):
            return np.array([0, 0, 1])

    given_ = {"n_records": len(names), "n_teachers": len(names), "groups": make(names)}
    assert assign_teachers(Each(), unit="group", **given_).n_teachers == len(names)
    with pytest.raises(ValueError, match="splits groups"):
        split = [names[0], names[1], names[1]]
        assign_teachers(Halves(), n_records=3, n_teachers=2, unit="group", groups=make(split))
    given_ |= {"n_teachers": 10**6, "seed": SEED}
    teacher = assign_teachers("random", unit="group", **given_).teacher_indices
    less = given_ | {"n_records": len(names) - 1, "groups": make(names[1:])}
    np.testing.assert_array_equal(
        teacher[1:], assign_teachers("random", unit="group", **less).teacher_indices
    )
    hashed = [
        partition_module.HashPartition().assign(
            n_records=len(part), n_teachers=10**6, index=pd.Index(part, dtype=object), seed=SEED
        )
        for part in (names, names[1:])
    ]
    np.testing.assert_array_equal(hashed[0][1:], hashed[1])


def test_a_date_is_the_number_of_its_compact_text():
    dates = [DAY, DAY.date(), np.datetime64(DAY), "2020-01-01", "20200101", 20200101, 20200101.0]
    assert {spelled_alone(date) for date in dates} == {"20200101"}
    others = [INSTANT, DAY + datetime.timedelta(0, 1), datetime.date(1, 1, 1)]
    assert all("T" in spelled_alone(other) for other in others)
