"""Defaults that are numbers: formulas of public numbers, and blind to all that is private."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from conftest import cases
from sklearn.naive_bayes import GaussianNB

from sklearn_pate import PATEClassifier
from sklearn_pate.aggregators import LaplaceMechanism
from sklearn_pate.methods import Teachers
from sklearn_pate.partition import HashPartition
from sklearn_pate.rules import default_n_cells, default_n_teachers, default_rows_fraction
from sklearn_pate.synthesis import MarginalSynthesizer

N_RECORDS = 3207
CLASSES = [0, 1, 2]
RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(N_RECORDS, 3)), columns=["a", "b", "c"])
Y = np.arange(N_RECORDS) % 3
X_PUBLIC = pd.DataFrame(RNG.normal(size=(400, 3)), columns=X.columns)


# --- blind to private values: see test_accounting.py for plans ------------------------------------


@pytest.mark.slow
def test_n_teachers_default_changes_with_public_numbers():
    of_teachers = []
    for n_records, epsilon in ((N_RECORDS, 1.0), (N_RECORDS, 4.0), (1000, 1.0)):
        clf = PATEClassifier(GaussianNB(), epsilon=epsilon, classes=CLASSES, random_state=0)
        plan = clf.plan(X[:n_records], Y[:n_records], X_PUBLIC)
        of_teachers.append(plan.method_summary.n_teachers)
    assert of_teachers == [196, 69, 109]


OF_BAYES = partial(Teachers, [GaussianNB()], n_teachers=None)


@cases(
    "params",
    {"partition": "hash"},
    {"method": OF_BAYES(partition="hash")},
    {"method": OF_BAYES(partition=HashPartition())},
    {"base_estimator": GaussianNB(), "unit": "group"},
)
def test_n_teachers_default_is_100_for_plans_with_private_n_records(params):
    named, found = X.set_axis([f"name {k}" for k in range(N_RECORDS)]), set()
    for n in (N_RECORDS, N_RECORDS - 1, 2000):
        clf = PATEClassifier(epsilon=4.0, classes=CLASSES, random_state=0, **params)
        given = {"groups": np.arange(n) // 4} if "unit" in params else {}
        plan = clf.plan(named[:n], Y[:n], X_PUBLIC, **given)
        assert plan.method_summary.n_teachers == plan.spent.n_teachers == 100
        found.add((str(plan), plan.noise_std, plan.n_queries))
    assert len(found) == 1


def test_n_teachers_default_is_100_for_private_n_records():
    for n_classes, epsilon in ((2, 0.25), (26, 4.0), (2, None)):
        assert default_n_teachers(n_records=None, n_classes=n_classes, epsilon=epsilon) == 100


# --- formulas ------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [1, 2, 26, 1000])
@pytest.mark.parametrize("epsilon", [None, 1e-3, 0.25, 1, np.float32(4), 1e6])
def test_n_teachers_default_is_monotone_in_records_classes_and_epsilon(n_classes, epsilon):
    sizes = (1, 4, 5, 99, 1000, 10**5, 10**9)
    found = [default_n_teachers(n_records=n, n_classes=n_classes, epsilon=epsilon) for n in sizes]
    assert all(type(n) is int for n in found) and found == sorted(found)
    for size, n_teachers in zip(sizes, found, strict=True):
        assert 1 <= n_teachers <= max(1, size / 5)
        more = default_n_teachers(n_records=size, n_classes=n_classes + 1, epsilon=epsilon)
        assert more >= n_teachers
        doubled = 2 * (1.0 if epsilon is None else epsilon)
        fewer = default_n_teachers(n_records=size, n_classes=n_classes, epsilon=doubled)
        assert fewer <= n_teachers


def test_n_teachers_default_is_constant_up_to_epsilon_1():
    public = {"n_records": 20_000, "n_classes": 2}
    found = {default_n_teachers(**public, epsilon=e) for e in (None, 0.01, 0.25, 1.0)}
    assert found == {400} and default_n_teachers(n_records=20_000, n_classes=2, epsilon=16.0) == 50


def n_cells(**changes):
    numbers = {"n_records": 30_000, "n_public": 5000, "n_classes": 2, "noise_std": 2.83}
    return default_n_cells(**numbers | changes)


def test_n_cells_default_is_monotone_and_doubled_up_to_32():
    by_records = [n_cells(n_records=n) for n in (1, 100, 1000, 5000, 10**4, 10**6)]
    assert by_records == sorted(by_records) and by_records[0] == 8 and by_records[-1] == 1000
    by_noise = [n_cells(noise_std=noise) for noise in (0.01, 2.83, 10.0, 100.0, 1e9)]
    assert by_noise == sorted(by_noise, reverse=True)
    assert n_cells(n_records=10_000) == int(10_000 / (7 * 2.83))
    assert n_cells(n_records=280) == int(2 * 280 / (7 * 2.83)) == 28
    assert n_cells(n_records=320) == n_cells(n_records=600) == 32
    assert n_cells(n_records=700) == int(700 / (7 * 2.83)) == 35


def test_n_cells_default_is_bounded_by_classes_and_public_rows():
    assert n_cells(n_records=10, n_classes=26) == 104 and n_cells(n_records=600, n_public=50) == 25
    assert n_cells(n_records=10, n_public=1) == 1 and n_cells(n_public=1200) == 600


def test_n_cells_default_uses_public_rows_for_private_n_records():
    assert n_cells(n_records=None, n_public=10_000) == n_cells(n_records=10_000, n_public=10_000)


def test_rows_fraction_default_leaves_most_epsilon_to_votes():
    assert default_rows_fraction() == 0.4
    synthesizer = MarginalSynthesizer((-3, 3), missing=[], noise=LaplaceMechanism())
    plan = PATEClassifier(classes=CLASSES, synthesizer=synthesizer).plan(X, Y)
    assert plan.rows_cost.epsilon == pytest.approx(0.4, abs=1e-6)
