"""The adjacency is a text that is published, and more is known of those that are ours."""

import pickle
import sqlite3
from contextlib import closing

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from sklearn_pate import PATEClassifier
from sklearn_pate.electorate import Adjacency
from sklearn_pate.ledger import PrivacyLedger
from sklearn_pate.partition import (
    GroupPartition,
    HashPartition,
    PredefinedPartition,
    RandomPartition,
)

PARTITIONS = [
    *(RandomPartition(), HashPartition(), GroupPartition(), PredefinedPartition()),
    PredefinedPartition(names=["north", "south"]),
]


@pytest.mark.parametrize("partition", PARTITIONS, ids=lambda partition: type(partition).__name__)
def test_the_number_of_records_is_public_only_where_one_is_replaced(partition):
    assert partition.adjacency.n_records_is_public == (partition.adjacency == "replace one record")
    assert Adjacency.find(str(partition.adjacency)) is partition.adjacency


def test_nothing_is_known_of_the_text_of_another_partition():
    assert Adjacency.find("add or remove one household") is None


def test_what_is_published_and_kept_is_plain_text(tmp_path):
    X = np.random.default_rng(0).normal(size=(300, 2))
    y = (X[:, 0] > 0).astype(int)
    path = tmp_path / "ledger.sqlite"
    ledger = PrivacyLedger(path, epsilon=30.0)
    clf = PATEClassifier(GaussianNB(), n_teachers=20, epsilon=20.0, classes=[0, 1], ledger=ledger)
    spent = clf.fit(X[:200], y[:200], X[200:]).privacy_spent_
    assert type(spent.adjacency) is str and spent.adjacency == "replace one record"
    assert b"Adjacency" not in pickle.dumps(spent)
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT adjacency FROM budget").fetchall() == [("replace one record",)]
