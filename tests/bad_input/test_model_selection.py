"""Private searches."""

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import GaussianNB

from sklearn_pate import PATEClassifier
from sklearn_pate.aggregators import StableArgmax
from sklearn_pate.model_selection import PrivateGridSearchCV, PrivateRandomizedSearchCV

from .helpers import (
    ESTIMATORS,
    INF,
    LABEL,
    NAN,
    NO_FLOATS,
    X_PUBLIC,
    X,
    Y,
    accepted,
    changed,
    each,
    each_of,
    mistakes,
    pate,
    refused,
    table,
)


def search(settings=None, grid=None, estimator=None, **data):
    settings = {"epsilon": 30.0, "n_trials": 3} | (settings or {})
    grid = {"n_queries": [3, 6]} if grid is None else grid
    estimator = pate(n_queries=3) if estimator is None else estimator
    private_search = PrivateGridSearchCV(estimator, grid, **settings)
    ESTIMATORS.append(private_search)
    return private_search.fit(**({"X": X, "y": Y, "X_public": X_PUBLIC} | data))


# --- settings ------------------------------------------------------------------------------------

WRONG = {
    "epsilon": (*NO_FLOATS, 0, -1, NAN, INF, "x"),
    "delta": (*NO_FLOATS, 0, 1, NAN, "x", None),
    "n_trials": (*NO_FLOATS, 1, 0, -1, NAN, INF, "x"),
    "distribution": ("uniform", None, 5),
    "eta": (*NO_FLOATS, -1, 21, NAN, "x", None),
    "scoring": (5, ["accuracy"]),
    "validation_fraction": (*NO_FLOATS, 0, 0.6, -0.1, NAN, "x", None),
    "random_state": ("x", -1, 1.5),
}


@each_of(WRONG)
def test_a_parameter_of_a_wrong_type_or_size(name, value):
    with refused(rf"'{name}' parameter of PrivateGridSearchCV must be .*Got"):
        search({name: value})


@table(
    "settings, message",
    {
        "n_trials": ({"n_trials": 1e9}, "number of trials .* 1e6"),
        "few": ({"validation_fraction": 1e-9}, "=1e-09 is less than one of the 40 private records"),
        "scoring": ({"scoring": "accuracy"}, "'accuracy' needs public rows, X_val and y_val"),
    },
)
def test_a_setting_that_does_not_fit_the_data(settings, message):
    with refused(message):
        search(settings)


def test_a_delta_above_one_over_the_records():
    with accepted("delta=.* is not below one over the number of records, 40"):
        assert search({"delta": 0.1, "epsilon": None}).privacy_spent_.delta == 0.1


# --- candidates ----------------------------------------------------------------------------------


NO_GRID = "'param_grid' parameter of PrivateGridSearchCV"


@table(
    "grid, message",
    {
        "a number": (5, NO_GRID),
        "none": ([], "no candidates; give at least one set of parameters"),
        "no value": ({"n_teachers": []}, "parameter 'n_teachers' .* non-empty"),
        "unknown": ({"teachers": [5]}, "Invalid parameter 'teachers'"),
        "out of range": ({"n_teachers": [0]}, "'n_teachers' parameter of PATE"),
        "epsilon": ({"epsilon": [1.0]}, "epsilon of the search .* leave it out"),
        "partition": ({"partition": ["hash"]}, "cannot differ in partition"),
        "student__": ({"student__C": [1]}, "student is None, so it has no param"),
    },
)
def test_wrong_grids(grid, message):
    with refused(message):
        search(grid=grid)


RANDOM = "parameter of PrivateRandomizedSearchCV"


def random_search(distributions, **params):
    PrivateRandomizedSearchCV(pate(), distributions, **params).fit(X, Y, X_PUBLIC)


@mistakes(
    {
        "a list": (lambda: search(grid=[1]), "Parameter grid is not a dict", TypeError),
        "no list": (lambda: search(grid={"n_teachers": 5}), "'n_teachers' needs to be", TypeError),
        "random": (lambda: random_search(5), f"'param_distributions' {RANDOM}"),
        "unfitted": (
            lambda: PrivateGridSearchCV(pate(), {}).predict(X),
            "not fitted",
            NotFittedError,
        ),
    }
)
def test_grids_that_scikit_learn_refuses_and_predictions_before_fit(call, message, error):
    with refused(message, error):
        call()


@each("n_iter", (0, 2.5, None))
def test_a_wrong_number_of_random_candidates(n_iter):
    with refused(f"'n_iter' {RANDOM} must be"):
        random_search({"n_queries": [3]}, n_iter=n_iter)


# --- the estimator -------------------------------------------------------------------------------


@each("estimator", (GaussianNB(), PATEClassifier))
def test_an_estimator_that_is_no_pate_classifier(estimator):
    with refused("'estimator' parameter of PrivateGridSearchCV"):
        search(estimator=estimator)


STABLE = StableArgmax(0.05, 2)


@table(
    "params, message",
    {
        "random_state": ({"random_state": 0}, "estimator has random_state=0"),
        "no classes": ({"classes": None}, r"estimator needs classes=\[...\]"),
        "StableArgmax": ({"aggregator": STABLE}, "a delta of its own.*neither StableArgmax"),
    },
)
def test_an_estimator_that_a_search_cannot_use(params, message):
    with refused(message, warning="counts a query as stable|classes_ is read"):
        search({"epsilon": None}, estimator=pate(**params))


# --- data ----------------------------------------------------------------------------------------


LABELS = np.arange(30) % 2
VALIDATION = {"X_val": X_PUBLIC, "y_val": LABELS}


@table(
    "data, message",
    {
        "X_public missing": ({"X_public": None}, "X_public is missing"),
        "features": ({"X_public": X_PUBLIC[:, 1:]}, "X_public does not have the features"),
        "y_val missing": ({"X_val": X_PUBLIC}, "X_val and y_val belong together"),
        "X_val, features": (
            VALIDATION | {"X_val": X_PUBLIC[:, 1:]},
            r"X_val must have rows with the features of X_public; got shapes \(30, 2\)",
        ),
        "y_val": (VALIDATION | {"y_val": LABELS + 7}, "y_val has labels that are not in classes"),
        "y: unknown labels": ({"y": changed(Y, LABEL)}, "y has labels that are not in classes"),
        "y: short": ({"y": Y[1:]}, "X and y have inconsistent numbers of samples"),
        "scoring": (VALIDATION | {"settings": {"scoring": "best"}}, "scoring|'best'"),
    },
)
def test_wrong_data(data, message):
    with refused(message):
        search(**data)
