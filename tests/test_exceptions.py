"""A warning points to the user's line, however many calls of ours lie between."""

import linecache
import pickle

import numpy as np
import pytest
from conftest import table
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_pate import PATEClassifier
from sklearn_pate.aggregators import GNMax
from sklearn_pate.exceptions import BadPlanError, PrivacyLeakWarning
from sklearn_pate.rdp import rdp_to_epsilon

X = np.random.default_rng(0).normal(size=(300, 2))
Y = (X[:, 0] > 0).astype(int)
PRIVATE = (X[:200], Y[:200])
PUBLIC = X[200:]
DATA = (*PRIVATE, PUBLIC)
READ = "classes_ is read.*pass classes="
#: Classes are read if there is no epsilon to find them with.
UNLIMITED = {"classes": None, "epsilon": None, "aggregator": GNMax(4.0), "n_queries": 60}
OF_RECORDS = "not below one over the number of records"


def pate(**params):
    given = {"n_teachers": 20, "epsilon": 10.0, "classes": [0, 1]}
    return PATEClassifier(GaussianNB(), **(given | params))


def in_pipeline():
    pipeline = make_pipeline(StandardScaler(), pate(**UNLIMITED))
    pipeline.fit(*PRIVATE, pateclassifier__X_public=PUBLIC)


def refused():
    with pytest.raises(BadPlanError, match="X_public is X or a part of it"):
        pate().fit(X, Y, X)


#: A call that warns, its warning, and the code on the line that the warning points to.
WARNING = {
    "fit": (lambda: pate(**UNLIMITED).fit(*DATA), READ, '"fit":'),
    "pipeline": (in_pipeline, READ, "pipeline.fit("),
    "private rows": (refused, "X_public is X", ".fit(X, Y, X)"),
    "delta": (lambda: pate(delta=0.01).fit(*DATA), OF_RECORDS, '"delta":'),
    "votes": (
        lambda: pate(delta=0.1).fit_votes(20 * np.eye(2, dtype=int)[Y[200:]], PUBLIC),
        "not below one over the number of teachers",
        ".fit_votes(",
    ),
    "orders": (lambda: rdp_to_epsilon([0.1, 0.2], 1e-5, [2, 4]), "edge of the grid", '"orders":'),
}


@table("act, message, line", WARNING)
def test_warnings_point_to_the_line_of_the_user(act, message, line):
    kind = PrivacyLeakWarning if message in (READ, "X_public is X") else UserWarning
    with pytest.warns(kind, match=message) as caught:
        act()
    (warning,) = caught
    assert warning.filename == __file__
    assert line in linecache.getline(warning.filename, warning.lineno)


def test_bad_plan_error_carries_the_plan_and_pickles():
    clf = pate(aggregator=GNMax(400.0), n_queries=20)
    with pytest.raises(BadPlanError, match="this fit cannot work: .*large for the votes") as caught:
        clf.fit(*DATA)
    error = caught.value
    assert isinstance(error, ValueError) and not hasattr(clf, "privacy_spent_")
    assert error.plan.errors == clf.plan(*DATA).errors != ()
    assert str(error) == (
        f"this fit cannot work: {error.plan.errors[0]}. To fit anyway, set on_bad_plan='warn'"
    )
    restored = pickle.loads(pickle.dumps(error))
    assert type(restored) is BadPlanError and str(restored) == str(error)
    assert str(restored.plan) == str(error.plan) and restored.plan.errors == error.plan.errors
