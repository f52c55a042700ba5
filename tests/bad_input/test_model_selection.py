"""Private searches."""

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import GaussianNB

from sklearn_pate import PATEClassifier
from sklearn_pate.aggregators import StableArgmax
from sklearn_pate.model_selection import PrivateGridSearchCV, PrivateRandomizedSearchCV

from . import helpers as h


def search(settings=None, grid=None, estimator=None, **data):
    settings = {"epsilon": 30.0, "n_trials": 3} | (settings or {})
    grid = {"n_queries": [3, 6]} if grid is None else grid
    estimator = h.pate(n_queries=3) if estimator is None else estimator
    private_search = PrivateGridSearchCV(estimator, grid, **settings)
    h.ESTIMATORS.append(private_search)
    return private_search.fit(**({"X": h.X, "y": h.Y, "X_public": h.X_PUBLIC} | data))


# --- settings ------------------------------------------------------------------------------------

WRONG = {
    "epsilon": (*h.NO_FLOATS, 0, -1, h.NAN, h.INF, "x"),
    "delta": (*h.NO_FLOATS, 0, 1, h.NAN, "x", None),
    "n_trials": (*h.NO_FLOATS, 1, 0, -1, h.NAN, h.INF, "x"),
    "eta": (*h.NO_FLOATS, -1, 21, h.NAN, "x", None),
    "scoring": (5, ["accuracy"]),
    "validation_fraction": (*h.NO_FLOATS, 0, 0.6, -0.1, h.NAN, "x", None),
    "random_state": ("x", -1, 1.5),
}


@h.each_of(WRONG)
def test_search_parameter_refuses_wrong_type_or_range(name, value):
    with h.refused(rf"'{name}' parameter of PrivateGridSearchCV must be .*Got"):
        search({name: value})


def test_search_warns_of_delta_above_one_over_records():
    with h.accepted("delta=.* is not below one over the number of records, 40"):
        assert search({"delta": 0.1, "epsilon": None}).privacy_spent_.delta == 0.1


# --- candidates, the estimator, data -------------------------------------------------------------


NO_ESTIMATOR = "'estimator' parameter of PrivateGridSearchCV"
NOT_IN_CLASSES = "has labels that are not in classes"
RANDOM = "parameter of PrivateRandomizedSearchCV"
STABLE = StableArgmax(0.05, 2)
LABELS = np.arange(30) % 2
VALIDATION = {"X_val": h.X_PUBLIC, "y_val": LABELS}


def random_search(distributions, **params):
    PrivateRandomizedSearchCV(h.pate(), distributions, **params).fit(h.X, h.Y, h.X_PUBLIC)


def unfitted():
    return PrivateGridSearchCV(h.pate(), {})


def of_estimator(grid=None, **params):
    return search({"epsilon": None}, grid, estimator=h.pate(**params))


test_search_is_refused_with_its_reason = h.mistakes(
    ("n_trials", lambda: search({"n_trials": 1e9}), "number of trials .* 1e6"),
    (
        "few",
        lambda: search({"validation_fraction": 1e-9}),
        "=1e-09 of the 40 private records is less",
    ),
    (
        "score",
        lambda: search({"scoring": "accuracy"}),
        "'accuracy' requires public validation data: give X_val",
    ),
    ("grid: a number", lambda: search(grid=5), "'param_grid' parameter of PrivateGridSearchCV"),
    ("grid: none", lambda: search(grid=[]), "no candidates; give at least one set of param"),
    ("grid: no value", lambda: search(grid={"n_teachers": []}), "'n_teachers' .* non-empty"),
    ("grid: unknown", lambda: search(grid={"teachers": [5]}), "Invalid parameter 'teachers'"),
    ("grid: out of range", lambda: search(grid={"n_teachers": [0]}), "'n_teachers' parameter"),
    ("grid: epsilon", lambda: search(grid={"epsilon": [1.0]}), "of the search .* remove epsilon"),
    ("grid: partition", lambda: search(grid={"partition": ["hash"]}), "differ in partition"),
    (
        "grid: student__",
        lambda: search(grid={"student__C": [1]}),
        "set student__C, but student=None",
    ),
    (
        "grid: aggregator__",
        lambda: of_estimator({"aggregator__sigma": [1]}, aggregator=None),
        "aggregator=None has no parameters of its own; set aggregator to an object",
    ),
    (
        "grid: base_estimator__",
        lambda: of_estimator({"base_estimator__C": [1]}, base_estimator=None),
        "base_estimator=None has no parameters .* such as base_estimator=Logistic",
    ),
    (
        "grid: of a list",
        lambda: of_estimator({"base_estimator__C": [1]}, base_estimator=[GaussianNB()]),
        r"base_estimator=\[GaussianNB\(\)\] has no parameters of its own",
    ),
    (
        "grid: unknown__",
        lambda: search(grid={"teachers__C": [5]}),
        "teachers__C: PATEClassifier has no parameter 'teachers'",
    ),
    ("swapped", lambda: search(y=h.X_PUBLIC, X_public=h.Y), "X_public is 1-.* they may be swapped"),
    (
        "y_val, length",
        lambda: search(**VALIDATION | {"y_val": [*LABELS, 0]}),
        "y_val must have one label for each row of X_val; got 31 labels and 30",
    ),
    ("grid: a list", lambda: search(grid=[1]), "Parameter grid is not a dict", TypeError),
    ("random", lambda: random_search(5), f"'param_distributions' {RANDOM}"),
    ("unfitted", lambda: unfitted().predict(h.X), "not fitted", NotFittedError),
    ("another estimator", lambda: search(estimator=GaussianNB()), NO_ESTIMATOR),
    ("a class", lambda: search(estimator=PATEClassifier), NO_ESTIMATOR),
    ("random_state", lambda: of_estimator(random_state=0), "estimator has random_state=0"),
    ("y_val missing", lambda: search(X_val=h.X_PUBLIC), "X_val and y_val belong together"),
    (
        "X_val, features",
        lambda: search(**VALIDATION | {"X_val": h.X_PUBLIC[:, 1:]}),
        r"X_val must have rows with the features of X_public; got shapes \(30, 2\)",
    ),
    ("y_val", lambda: search(**VALIDATION | {"y_val": LABELS + 7}), f"y_val {NOT_IN_CLASSES}"),
    ("y", lambda: search(y=h.changed(h.Y, h.LABEL)), f"y {NOT_IN_CLASSES}"),
    ("a scorer", lambda: search({"scoring": "best"}, **VALIDATION), "scoring|'best'"),
)


@h.table(
    "params, message",
    ("no classes", {"classes": None}, r"an estimator with classes=\[...\].* private labels"),
    ("StableArgmax", {"aggregator": STABLE}, "has its own delta.*neither StableArgmax"),
)
def test_search_refuses_estimators_it_cannot_use(params, message):
    with h.refused(message, warning="counts a query as stable|classes_ is read"):
        of_estimator(**params)


@h.each("n_iter", (0, 2.5, None))
def test_random_search_refuses_wrong_n_iter(n_iter):
    with h.refused(f"'n_iter' {RANDOM} must be"):
        random_search({"n_queries": [3]}, n_iter=n_iter)
