"""What each class counts: a shift of what was released, by what was released."""

import functools

import numpy as np
import pytest
from conftest import cases
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from sklearn_pate import PATEClassifier
from sklearn_pate.aggregators import GNMax
from sklearn_pate.column_sums import ColumnSums
from sklearn_pate.neighbors import ReverseNeighbors

RNG = np.random.default_rng(0)
RARE = (RNG.random(14_000) < 0.05).astype(int)
ROWS = RNG.normal(size=(14_000, 6)) + 1.2 * RARE[:, None] * (np.arange(6) < 3)
PRIVATE, PUBLIC, TEST = slice(8000), slice(8000, 9000), slice(9000, None)

VOTERS = {
    "cells": {"base_estimator": ReverseNeighbors(), "X_public": ROWS[PUBLIC]},
    "columns": {"base_estimator": ColumnSums(), "X_public": ROWS[PUBLIC]},
    "sums and cells": {"schema": (-5.0, 6.0), "X_public": None},
    "teachers": {
        **{"base_estimator": LogisticRegression(), "n_teachers": 20, "aggregator": GNMax(1.0)},
        **{"epsilon": None, "n_queries": 1000, "student": LogisticRegression()},
        "X_public": ROWS[PUBLIC],
    },
}


@functools.cache
def plain(voters):
    return fitted(voters)


def fitted(voters, **params):
    given = {"epsilon": 2.0, "random_state": 0, "classes": [0, 1]} | VOTERS[voters] | params
    public = given.pop("X_public")
    return PATEClassifier(**given).fit(ROWS[PRIVATE], RARE[PRIVATE], X_public=public)


@pytest.mark.parametrize("voters", VOTERS)
def test_a_rare_class_is_found(voters):
    balanced = fitted(voters, class_weight="balanced")
    predicted = [clf.predict(ROWS[TEST]) for clf in (plain(voters), balanced)]
    found = [balanced_accuracy_score(RARE[TEST], codes) for codes in predicted]
    assert found[0] < 0.65 and found[1] > 0.7
    assert balanced.privacy_spent_.epsilon == plain(voters).privacy_spent_.epsilon


@pytest.mark.parametrize("voters", ["cells", "columns"])
def test_rates_are_shifted_by_the_weights(voters):
    shifted = fitted(voters, class_weight={1: 4.0})
    expected = plain(voters).public_soft_labels_ * [1.0, 4.0]
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(shifted.public_soft_labels_, expected)
    rates = plain(voters).table_.rates(ROWS[TEST])
    np.testing.assert_array_equal(shifted.table_.rates(ROWS[TEST]), rates)


def test_another_student_and_export_count_classes_alike():
    clf = fitted("columns", class_weight="balanced")
    model = clf.export(ROWS[PUBLIC])
    np.testing.assert_allclose(model.predict_proba(ROWS[TEST]), clf.predict_proba(ROWS[TEST]))
    clf.fit_student(ROWS[PUBLIC], SVC())
    assert balanced_accuracy_score(RARE[TEST], clf.predict(ROWS[TEST])) > 0.76


@cases(
    "params, match",
    ({"class_weight": {2: 1.0}}, "names 2, which is none of the 2 classes"),
    ({"class_weight": {1: -1.0}}, "finite numbers above 0"),
    ({"class_weight": {1: np.nan}}, "finite numbers above 0"),
    ({"class_weight": "even"}, "class_weight"),
)
def test_mistakes(params, match):
    pytest.raises(ValueError, fitted, "cells", **params).match(match)


def test_teachers_need_a_student_with_weights():
    with pytest.raises(ValueError, match="KNeighborsClassifier takes no sample_weight"):
        fitted("teachers", student=KNeighborsClassifier(), class_weight="balanced")
