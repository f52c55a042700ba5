"""Changing one private unit moves one teacher: a slice of `python benchmarks/isolation.py`."""

import itertools
import sys

import pytest

from benchmarks.isolation import (
    BACKENDS,
    CHANGES,
    ESTIMATORS,
    FACTORS,
    PARTITIONS,
    Combination,
    MissingError,
    combinations,
    moved,
)

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs processes that fork")


def check(*row, fault=None):
    """Return the teachers that moved; skip where an extra is missing."""
    try:
        return moved(Combination(*row), fault)
    except MissingError as error:
        pytest.skip(f"needs {error}")


@posix
@pytest.mark.parametrize("i", range(len(ESTIMATORS)), ids=ESTIMATORS)
def test_whatever_the_estimator(i):
    partition, kind = PARTITIONS[i % 4], CHANGES[i // 4 % 2]
    assert check(ESTIMATORS[i], partition, "sequential", i // 8 % 2 == 0, kind) in ([], [0])


@posix
@pytest.mark.parametrize("kind", CHANGES)
@pytest.mark.parametrize("partition", PARTITIONS)
def test_whatever_the_partition_the_first_teacher_moves(partition, kind):
    assert check("draws, numpy", partition, "sequential", True, kind) == [0]


@posix
@pytest.mark.parametrize(
    "row",
    [
        ("draws, numpy", "hash", "threading", True, "one class"),
        ("settings", "random", "threading", True, "other records"),
        ("k best", "groups", "loky", False, "one class"),
        ("draws, random", "random", "fork", True, "other records"),
        ("draws, numpy", "predefined", "spawn", True, "one class"),
        ("bagging", "hash", "Dask processes", True, "one class"),
        ("draws, numpy", "hash", "Dask threads", True, "one class"),
    ],
    ids=lambda row: f"{row[2]}, {row[0]}",
)
def test_whatever_the_backend(row):
    assert check(*row) in ([], [0])


# --- the check can fail --------------------------------------------------------------------------


@posix
@pytest.mark.parametrize(
    "estimator",
    [
        "draws, numpy",
        "draws, random",
        "draws, torch",
        "under-sampled",
        "shuffled",
        "settings",
        "k best",
        "k best by permutation",
    ],
)
def test_without_isolation_others_move(estimator):
    row = estimator, "hash", "sequential", True, "one class"
    assert len(check(*row, fault="no isolation")) > 1


@posix
def test_without_copies_a_frozen_generator_is_shared():
    row = "frozen", "random", "sequential", True, "other records"
    assert len(check(*row, fault="no copies")) > 1


@posix
def test_without_a_second_fit_the_import_of_torch_tells():
    row = "lazy torch", "predefined", "sequential", True, "one class"
    assert len(check(*row, fault="no second fit")) > 1


# --- the table -----------------------------------------------------------------------------------


def test_each_pair_of_values_is_in_the_table():
    rows = combinations()
    for i, j in itertools.combinations(range(len(FACTORS)), 2):
        assert {(row[i], row[j]) for row in rows} == set(itertools.product(FACTORS[i], FACTORS[j]))
    assert len(rows) < 1.1 * len(ESTIMATORS) * len(BACKENDS)
