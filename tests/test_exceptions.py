"""A warning points to the user's line, however many calls of ours lie between."""

import linecache
import pickle

import joblib
import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_pate import PATEClassifier
from sklearn_pate.accountant import plan_queries
from sklearn_pate.aggregators import ConfidentGNMax, GNMax
from sklearn_pate.exceptions import BadPlanError, PrivacyLeakWarning
from sklearn_pate.ledger import PrivacyLedger
from sklearn_pate.model_selection import PrivateGridSearchCV
from sklearn_pate.rdp import rdp_to_epsilon
from sklearn_pate.teachers import collect_votes

X = np.random.default_rng(0).normal(size=(300, 2))
Y = (X[:, 0] > 0).astype(int)
PRIVATE = (X[:200], Y[:200])
PUBLIC = X[200:]
DATA = (*PRIVATE, PUBLIC)
READ = "classes_ is read.*pass classes="
OF_RECORDS = "not below one over the number of records"


def pate(**params):
    given = {"n_teachers": 20, "epsilon": 10.0, "classes": [0, 1]}
    return PATEClassifier(GaussianNB(), **(given | params))


def in_pipeline():
    pipeline = make_pipeline(StandardScaler(), pate(classes=None))
    pipeline.fit(*PRIVATE, pateclassifier__X_public=PUBLIC)


def refused():
    with pytest.raises(BadPlanError, match="X_public is X or a part of it"):
        pate().fit(X, Y, X)


def in_a_search():
    grid = {"student__var_smoothing": [1e-9, 1e-3]}
    clf = pate(student=GaussianNB(), n_teachers=60)
    PrivateGridSearchCV(clf, grid, epsilon=9.0, delta=0.01, n_trials=2).fit(*DATA)


def with_a_ledger(folder):
    ledger = PrivacyLedger(folder / "ledger.sqlite", epsilon=30.0, delta=0.01)
    pate(delta=0.01, ledger=ledger).fit(*DATA)


def stopped_early():
    aggregator = ConfidentGNMax(threshold=0.6, sigma1=10.0, sigma2=6.0)
    pate(aggregator=aggregator, n_queries=100, epsilon=5.0).fit(*DATA)


def planned():
    sizes = {"n_public": 1000, "n_teachers": 250, "n_classes": 10}
    plan_queries(GNMax(40.0), 500, **sizes, epsilon=1.0, delta=1e-5)


def in_threads():
    sizes = {"teacher_indices": np.arange(200) % 10, "n_teachers": 10, "n_classes": 2}
    with joblib.parallel_config(backend="threading"):
        collect_votes([GaussianNB()], *DATA, **sizes, n_jobs=2)


#: What warns, how, and what the line that it points to has.
WARNING = {
    "fit": (lambda: pate(classes=None).fit(*DATA), READ, '"fit":'),
    "pipeline": (in_pipeline, READ, "pipeline.fit("),
    "poll": (lambda: pate(classes=None).poll(*DATA), READ, '"poll":'),
    "plan of private rows": (lambda: pate().plan(X, Y, X), "X_public is X", ".plan(X, Y, X)"),
    "private rows": (refused, "X_public is X", ".fit(X, Y, X)"),
    "delta": (lambda: pate(delta=0.01).fit(*DATA), OF_RECORDS, '"delta":'),
    "votes": (
        lambda: pate(delta=0.1).fit_votes(np.tile([[20, 0], [0, 20]], (50, 1)), PUBLIC),
        "not below one over the number of teachers",
        ".fit_votes(",
    ),
    "search": (in_a_search, OF_RECORDS, "PrivateGridSearchCV("),
    "ledger": (with_a_ledger, OF_RECORDS, "ledger=ledger).fit("),
    "budget": (planned, "pays for 75 of the 500", "plan_queries("),
    "noise": (
        lambda: pate(aggregator=GNMax(40.0), n_queries=20, on_bad_plan="warn").fit(*DATA),
        "drowns the votes",
        'on_bad_plan="warn").fit(',
    ),
    "stopped": (stopped_early, "only those were asked", ".fit("),
    "threads": (in_threads, "take turns", "collect_votes("),
    "orders": (lambda: rdp_to_epsilon([0.1, 0.2], 1e-5, [2, 4]), "edge of the grid", '"orders":'),
}


@pytest.mark.parametrize("case", WARNING)
def test_a_warning_points_to_the_line_that_called(case, tmp_path):
    act, message, line = WARNING[case]
    kind = PrivacyLeakWarning if message in (READ, "X_public is X") else UserWarning
    with pytest.warns(kind, match=message) as caught:
        act(*[tmp_path] * (case == "ledger"))
    (warning,) = caught
    assert warning.filename == __file__
    assert line in linecache.getline(warning.filename, warning.lineno)


def test_a_plan_that_is_refused_comes_with_its_error():
    clf = pate(aggregator=GNMax(400.0), n_queries=20)
    with pytest.raises(BadPlanError, match="this cannot work: .*drowns the votes") as caught:
        clf.fit(*DATA)
    error = caught.value
    assert isinstance(error, ValueError) and not hasattr(clf, "privacy_spent_")
    assert error.plan.obstacles == clf.plan(*DATA).obstacles != ()
    assert str(error) == (
        f"this cannot work: {error.plan.obstacles[0]}. To try all the same, set "
        "on_bad_plan='warn'. Nothing was spent"
    )
    restored = pickle.loads(pickle.dumps(error))
    assert type(restored) is BadPlanError and str(restored) == str(error)
    assert str(restored.plan) == str(error.plan) and restored.plan.obstacles == error.plan.obstacles
