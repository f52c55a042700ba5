"""Changing one private unit moves one teacher: on all kinds of teachers and backends."""

import sys

import pytest
from conftest import cases
from one_teacher import (
    CHANGES,
    ESTIMATORS,
    PARTITIONS,
    Combination,
    changed,
    differing,
    in_new_process,
    polled,
)

slow = pytest.mark.slow
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs processes that fork")
#: Those that each draw or keep something in another way; the others are in the slow tier.
QUICK = ("draws, numpy", "draws, random", "under-sampled", "settings", "k best", "frozen")
WITH_TORCH = ("lazy torch", "draws, torch", "skorch")
PLAIN = [name for name in ESTIMATORS if name not in WITH_TORCH]


@pytest.mark.parametrize(
    ("i", "name"),
    [pytest.param(*row, marks=() if row[1] in QUICK else slow) for row in enumerate(PLAIN)],
)
def test_changed_record_moves_one_teacher_of_any_estimator(i, name):
    partition, kind = PARTITIONS[i % 4], CHANGES[i // 4 % 2]
    (teachers,) = changed(Combination(name, partition, "sequential", i // 8 % 2 == 0, kind))
    assert teachers in ([], [0])


@pytest.mark.parametrize("kind", CHANGES)
@pytest.mark.parametrize("partition", PARTITIONS)
def test_changed_record_moves_the_first_teacher_of_any_partition(partition, kind):
    assert changed(Combination("draws, numpy", partition, "sequential", True, kind)) == [[0]]


@slow
@cases(
    "backend, rows",
    ("threading", [("draws, numpy", "hash", "one class")]),
    ("threading", [("settings", "random", "other records")]),
    ("loky", [("k best", "groups", "one class")]),
    ("fork", [("draws, random", "random", "other records")]),
    ("Dask", [("bagging", "hash", "one class"), ("draws, numpy", "predefined", "one class")]),
)
def test_changed_record_moves_one_teacher_on_any_backend(backend, rows):
    if backend == "Dask":
        pytest.importorskip("distributed", reason="needs the extra dask")
    found = changed(*(Combination(*row, backend, backend != "loky", kind) for *row, kind in rows))
    assert all(teachers in ([], [0]) for teachers in found)


# --- torch ---------------------------------------------------------------------------------------


@slow
def test_changed_record_moves_one_teacher_that_draws_from_torch():
    pytest.importorskip("skorch", reason="needs the extra 'torch'")
    rows = [("skorch", "random"), ("draws, torch", "predefined"), ("draws, torch", "hash")]
    faults = [None, None, "no isolation"]
    *found, others = changed(
        *(
            Combination(*row, "sequential", True, "one class", fault)
            for row, fault in zip(rows, faults, strict=True)
        )
    )
    assert all(teachers in ([], [0]) for teachers in found) and len(others) > 1


@slow
def test_lazy_import_of_torch_is_seeded_as_others():
    """With a change of the first teacher, another one is the first."""
    pytest.importorskip("torch", reason="needs the extra 'torch'")
    row = Combination("lazy torch", "predefined", "sequential", True, "one class")
    first, again = in_new_process(polled, (row, False), (row, False))
    (other,) = in_new_process(polled, (row, True))
    assert first == again and differing(first, other) in ([], [0])
    row = row._replace(fault="no second fit")
    first, again = in_new_process(polled, (row, False), (row, False))
    assert first != again


# --- the check can fail --------------------------------------------------------------------------


@pytest.mark.slow
@cases("estimator", "draws, numpy", "draws, random", "settings", "k best")
def test_changed_record_moves_others_without_isolation(estimator):
    row = Combination(estimator, "hash", "sequential", True, "one class", "no isolation")
    assert len(changed(row)[0]) > 1


def test_changed_record_moves_others_without_copies():
    row = Combination("frozen", "random", "sequential", True, "other records", "no copies")
    assert len(changed(row)[0]) > 1
