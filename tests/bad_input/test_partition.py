"""Partitions: what they need, and what they return."""

import numpy as np

from sklearn_pate.partition import RandomPartition

from .helpers import NUMBER, TEXT, X_PUBLIC, fit, frame, refused, table


class Assigns:
    """A partition that returns what it was given, or raises it."""

    adjacency = "replace one record"

    def __init__(self, teachers):
        self.teachers = teachers

    def assign(self, n_records, n_teachers, *, index=None, groups=None, seed=None):
        if isinstance(self.teachers, Exception):
            raise self.teachers
        return self.teachers


class NoAdjacency:
    def assign(self, n_records, n_teachers, **more):
        return np.arange(n_records) % n_teachers


# --- what a partition needs ----------------------------------------------------------------------


@table(
    "params, message",
    {
        "unit=group without groups": ({"unit": "group"}, 'unit="group" .* needs groups='),
        "partition=hash of an array": (
            {"partition": "hash"},
            'partition="hash".*index of a DataFrame',
        ),
        "partition=predefined, no groups": (
            {"partition": "predefined"},
            '"predefined" needs groups=',
        ),
        "partition: a class": ({"partition": RandomPartition}, "partition must be an object"),
        "partition without adjacency": (
            {"partition": NoAdjacency()},
            "partition must be an object.*string adjacency",
        ),
    },
)
def test_a_partition_that_cannot_be_used(params, message):
    with refused(message):
        fit(params)


def test_predefined_teachers_of_which_one_has_no_name():
    with refused("groups has a missing value"):
        fit({"partition": "predefined"}, groups=[None, *[TEXT] * 39])


@table(
    "index, message",
    {
        "positions": (range(40), "the index of X is a RangeIndex"),
        "missing": ([None, *[TEXT] * 39], "the index of X has a missing value"),
        "floats": (np.arange(40) + NUMBER, "the index of X has a number that is not whole"),
    },
)
def test_an_index_that_cannot_be_hashed(index, message):
    rows = frame().set_axis(index)
    with refused(message):
        fit({"partition": "hash"}, X=rows, X_public=frame(X_PUBLIC))


# --- what a partition returns --------------------------------------------------------------------

FORTY = "partition.assign must return 40 whole numbers"


@table(
    "teachers, message",
    {
        "None": (None, rf"{FORTY}.*shape \(\)"),
        "nothing": ([], rf"{FORTY}.*shape \(0,\)"),
        "text": (["x"] * 40, f"{FORTY}.*and text$"),
        "floats": (np.zeros(40), f"{FORTY}.*and floats$"),
        "too few": ([0] * 39, rf"{FORTY}.*shape \(39,\)"),
        "two axes": ([[0]] * 40, rf"{FORTY}.*\(40, 1\)"),
        "a teacher too many": ([4] * 40, "partition.assign must return numbers from 0 to 3"),
        "a negative teacher": ([-1] * 40, "partition.assign must return numbers from 0 to 3"),
        "unequal lengths": ([[0], [1, 2]], "partition.assign failed with ValueError"),
    },
)
def test_a_partition_that_returns_no_teacher_for_each_record(teachers, message):
    with refused(message):
        fit({"partition": Assigns(teachers)})


def test_a_partition_that_raises():
    with refused("partition.assign failed with KeyError"):
        fit({"partition": Assigns(KeyError(TEXT))}, groups=[TEXT] * 40)


def test_a_partition_that_splits_groups():
    params = {"partition": Assigns(np.arange(40) % 4), "unit": "group"}
    with refused('unit="group" .* this partition splits groups'):
        fit(params, groups=[TEXT] * 40)
