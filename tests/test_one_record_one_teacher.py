"""Changing one private unit moves one teacher: on all kinds of teachers and backends."""

import sys

import pytest
from conftest import cases
from one_teacher import (
    CHANGES,
    ESTIMATORS,
    PARTITIONS,
    Combination,
    in_new_process,
    missing,
    moved,
    polled,
)

slow = pytest.mark.slow
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs processes that fork")


def check(*row, fault=None):
    """Return the teachers that moved; skip where an extra is missing."""
    combination = Combination(*row)
    if missing(combination):
        pytest.skip(f"needs {missing(combination)}")
    return moved(combination, fault)


#: Those that each draw or keep something in another way; the others are in the slow tier.
QUICK = ("draws, numpy", "draws, random", "under-sampled", "settings", "k best", "frozen")


@pytest.mark.parametrize(
    ("i", "name"),
    [pytest.param(*row, marks=() if row[1] in QUICK else slow) for row in enumerate(ESTIMATORS)],
)
def test_whatever_the_estimator(i, name):
    partition, kind = PARTITIONS[i % 4], CHANGES[i // 4 % 2]
    assert check(name, partition, "sequential", i // 8 % 2 == 0, kind) in ([], [0])


@pytest.mark.parametrize("kind", CHANGES)
@pytest.mark.parametrize("partition", PARTITIONS)
def test_whatever_the_partition_the_first_teacher_moves(partition, kind):
    assert check("draws, numpy", partition, "sequential", True, kind) == [0]


@pytest.mark.slow
@cases(
    "row",
    ("draws, numpy", "hash", "threading", True, "one class"),
    ("settings", "random", "threading", True, "other records"),
    ("k best", "groups", "loky", False, "one class"),
    ("draws, random", "random", "fork", True, "other records"),
    ("draws, numpy", "predefined", "spawn", True, "one class"),
    ("bagging", "hash", "Dask processes", True, "one class"),
    ("draws, numpy", "hash", "Dask threads", True, "one class"),
    ids=lambda row: f"{row[2]}, {row[0]}",
)
def test_whatever_the_backend(row):
    assert check(*row) in ([], [0])


@slow
def test_the_first_to_import_torch_is_seeded_as_others_are():
    pytest.importorskip("torch", reason="needs the extra 'torch'")
    row = Combination("lazy torch", "random", "sequential", True, "other records")
    first, again = in_new_process(polled, row, [False, False])
    assert first == again


# --- the check can fail --------------------------------------------------------------------------


NOT_ISOLATED = "draws, numpy", "draws, random", "settings", "k best"


@cases("estimator", *NOT_ISOLATED, pytest.param("draws, torch", marks=slow))
def test_without_isolation_others_move(estimator):
    row = estimator, "hash", "sequential", True, "one class"
    assert len(check(*row, fault="no isolation")) > 1


def test_without_copies_a_frozen_generator_is_shared():
    row = "frozen", "random", "sequential", True, "other records"
    assert len(check(*row, fault="no copies")) > 1


@pytest.mark.slow
def test_without_a_second_fit_the_import_of_torch_tells():
    row = "lazy torch", "predefined", "sequential", True, "one class"
    assert len(check(*row, fault="no second fit")) > 1
