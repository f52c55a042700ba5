"""The parameters of PATEClassifier, and what is done after its fit, or too early."""

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler

from sklearn_pate.aggregators import GNMax, PluralityVote
from sklearn_pate.exceptions import BadPlanError, BudgetExceededError

from .helpers import (
    INF,
    NAN,
    NO_FLOATS,
    NUMBER,
    X_PUBLIC,
    X,
    Y,
    accepted,
    changed,
    each,
    each_of,
    fit,
    fit_votes,
    fitted,
    mistakes,
    pate,
    refused,
    table,
    works,
)

NOT_A_NUMBER = (*NO_FLOATS, "x", [1], {}, 1j)
NOT_WHOLE = (*NO_FLOATS, "x", {}, 1j, 2.5, NAN, INF, np.array([3, 4]))
#: Wrong types, NaN and infinities, below and at the limits
WRONG = {
    "base_estimator": ("x", 5, {}, StandardScaler()),
    "n_teachers": (*NOT_WHOLE, [1], 0, -1, False, np.int64(0)),
    "aggregator": ("gnmax", 5, GNMax, (GNMax(),), {}),
    "student": ("x", 5, [GaussianNB()]),
    "n_queries": (*NOT_WHOLE, 0, -1, False, (5,)),
    "query_strategy": ("best", None, 5, ["random"]),
    "epsilon": (*NOT_A_NUMBER, 0, 0.0, -1, NAN, INF, False, np.float64(0), np.array([1.0])),
    "delta": (*NOT_A_NUMBER, None, 0, 0.0, 1, 1.0, 2, -1e-5, NAN, INF, True, np.float64(1)),
    "accounting": ("exact", None, 5, ["ptr"]),
    "unit": ("person", None, 5, ["group"]),
    "partition": ("stratified", None, 5, ["random"]),
    "classes": ("01", 5, lambda: [0, 1]),
    "keep_teachers": ("yes", None, 2, 0.5),
    "n_jobs": (*NO_FLOATS, "x", 1.5, [2], NAN),
    "random_state": ("x", -1, 1.5, [0], np.random.default_rng(0)),
    "timeout": (*NOT_A_NUMBER, 0, -1.0, NAN, INF),
    "on_bad_plan": ("ignore", None, True, ["raise"]),
    "memory": (5, object(), ["folder"], True),
    "ledger": ("ledger.sqlite", 5, {}),
    "verbose": ("x", None, -1, [1]),
}


@each_of(WRONG)
def test_a_parameter_of_a_wrong_type_or_size(name, value):
    with refused(rf"'{name}' parameter of PATEClassifier must be .*Got"):
        fit({name: value})


# --- teachers, student and numbers ---------------------------------------------------------------

NO_TEACHER = "base_estimator must be a classifier"
NO_STAGES = "is a list.*aggregator is not"
PTR = {"accounting": "ptr"}
NO_PTR = "accounting='ptr'"
NO_NOISE = {"aggregator": PluralityVote(), "epsilon": None}
CALIBRATED = {"aggregator": None}


@table(
    "params, message",
    ("a number", {"base_estimator": 1.0}, r"was PATEClassifier\(epsilon=1.0\) meant\?"),
    ("no teacher", {"base_estimator": []}, "base_estimator must not be an empty list"),
    ("numbers", {"base_estimator": [5]}, f"{NO_TEACHER}.*got 5"),
    ("a regressor", {"base_estimator": LinearRegression()}, rf"{NO_TEACHER}.*ression\(\)"),
    ("student", {"student": LinearRegression()}, "student must be a classifier"),
    ("many teachers", {"n_teachers": 41}, "n_teachers=41 .* n_samples=40"),
    ("many queries", {"n_queries": 31}, "n_queries=31 is more .* X_public, 30"),
    ("n_queries=[5]", {"n_queries": [5]}, rf"n_queries=\[5\] {NO_STAGES}"),
    ("n_jobs=0", {"n_jobs": 0}, "'n_jobs' parameter of PATEClassifier"),
    ("no budget", {"epsilon": None} | CALIBRATED, r"=None\) is calibrated .* epsilon is None"),
    ("ptr, no noise", PTR | CALIBRATED, rf"{NO_PTR}.*set the noise of GNMax\(sigma=None\) to"),
    ("ptr, no epsilon", PTR | {"epsilon": None}, f"{NO_PTR}.*set epsilon to a number"),
    ("ptr, no n_queries", PTR | {"n_queries": None}, f"{NO_PTR}.*set n_queries to a number"),
    ("ptr, rounds", PTR | {"query_strategy": "uncertainty"}, f"asks in rounds.*{NO_PTR}"),
)
def test_a_parameter_that_does_not_fit_the_others(params, message):
    with refused(message):
        fit(params)


POOR = CALIBRATED | {"epsilon": 0.001, "n_queries": None}


@mistakes(
    ("teachers", lambda: fit({"base_estimator": GaussianNB}), r"GaussianNB\(\)", TypeError),
    ("class", lambda: fit({"student": GaussianNB}), "must be an estimator", TypeError),
    ("no query", lambda: fit(POOR), "epsilon=0.001 pays for no query", BudgetExceededError),
    ("noise", lambda: fit_votes(aggregator=GNMax(100.0)), "drowns the votes", BadPlanError),
    ("plan", lambda: pate().plan(X, Y), "X_public is missing"),
    ("poll", lambda: pate().poll(X, Y), "X_public is missing"),
    ("plan, short y", lambda: pate().plan(X, Y[1:], X_PUBLIC), "inconsistent numbers of sam"),
    ("n_queries", lambda: pate(n_queries=31).plan(X, Y, X_PUBLIC), "more than .* X_public, 30"),
)
def test_calls_that_are_refused(call, message, error):
    with refused(message, error):
        call()


def spent(**params):
    return fit(params).privacy_spent_


def teachers(groups=None, **params):
    return fit(params, groups=groups).n_teachers_


LARGE_DELTA = "delta=.* is not below one over the number of"
GROUPS = np.arange(40)  # beside them the number of records is private


@works(
    ("n_teachers=1", lambda: teachers(n_teachers=1, **NO_NOISE) == 1),
    ("n_teachers: all records", lambda: teachers(n_teachers=40) == 40),
    ("n_queries: numpy", lambda: spent(n_queries=np.int32(5)).n_queries == 5),
    ("epsilon=None, no noise", lambda: spent(**NO_NOISE).epsilon == INF),
    ("low epsilon", lambda: spent(epsilon=8.0).n_queries < 6, "pays for . of the 6 queries"),
    ("delta: tiny", lambda: teachers(delta=1e-300, epsilon=500.0) == 4),
    ("delta=1/40", lambda: teachers(delta=1 / 40), f"{LARGE_DELTA} records, 40"),
    ("delta=1/41", lambda: teachers(delta=1 / 41)),
    ("groups, delta=0.1", lambda: teachers(GROUPS, delta=0.1)),
    ("groups, delta=0.3", lambda: teachers(GROUPS, delta=0.3), f"{LARGE_DELTA} teachers, 4"),
    ("classes: range", lambda: fit({"classes": range(2)}).classes_.tolist() == [0, 1]),
    ("classes: more", lambda: len(fit({"classes": [0, 1, 2, 3]} | NO_NOISE).classes_) == 4),
    ("ptr", lambda: spent(aggregator=[GNMax(2.0)], n_queries=[5], **PTR).n_queries == 5),
    ("keep_teachers", lambda: len(fit({"keep_teachers": np.True_}).curator_.teachers) == 4),
)
def test_parameters_that_are_accepted(holds, warned):
    with accepted(*warned):
        assert holds()


# --- classes -------------------------------------------------------------------------------------

NO_LIST = "classes must be a list of labels"
PLACES = (
    r"If these are places in your list: y = numpy.asarray\(classes\)\[y\]. .*within them, classes"
)


@table(
    "classes, message",
    ("none", [], "classes has 0 class"),
    ("one", [0], "classes has 1 class"),
    ("a dict", {}, NO_LIST),
    ("two axes", [[0, 1]], NO_LIST),
    ("unequal lengths", [[0], [1, 2]], "classes must be array-like"),
    ("NaN", [0, 1, NAN], "classes must .* none of them missing"),
    ("two types", np.array([0, "a"], dtype=object), "classes must hold labels of one type"),
    ("text", ["0", "1"], r"are text, y holds integers: classes=\[0, 1\] or y.astype\(str\)$"),
    ("words", ["no", "yes"], rf"{PLACES}=range\(2\)$"),
    ("another", [0, 2], r"not in classes, which are \[0, 2\]; .* in the type that y has$"),
    ("three, two alike", [0, 1, 1], "list each label once; got 3 labels, 2 of them"),
)
def test_wrong_classes(classes, message):
    with refused(message):
        fit({"classes": classes})


def test_what_is_said_of_labels_and_classes_of_other_types_helps():
    words = np.array(["0", "1"])
    with refused(r"classes are integers, y holds text: classes=\['0', '1'\], or other text as y"):
        fit({"classes": [0, 1]}, y=words[Y])
    with accepted():
        assert fit({"classes": ["0", "1"]}, y=words[Y]).classes_.tolist() == ["0", "1"]
        fit({"classes": ["no", "yes"]}, y=np.asarray(["no", "yes"])[Y])


# --- before and after a fit ----------------------------------------------------------------------


@each("method", ("predict", "predict_proba", "fit_student"))
def test_a_method_before_fit(method):
    with refused("not fitted yet", NotFittedError):
        getattr(pate(), method)(X)


@table(
    "X, message",
    ("None", None, "Expected X as a 2D array"),
    ("one axis", X[0], "Expected X as a 2D array"),
    ("features", X[:, 1:], "X has 2 features, but PATEClas"),
    ("lengths", [[NUMBER], [1, 2]], "X must be array-like"),
    ("NaN", changed(X, NAN), "Input X contains NaN"),
)
def test_predictions_for_wrong_rows(X, message):
    for method in (fitted().predict, fitted().predict_proba):
        with refused(message):
            method(X)


ROWS_GIVEN = "X_public has 29 rows, and labels were released for the 30 rows"
FEATURES = "X_public does not have the features of X"


@mistakes(
    ("no rows", lambda: fitted().fit_student(None), "X_public is missing: the rows given"),
    ("a row missing", lambda: fitted().fit_student(X_PUBLIC[1:]), ROWS_GIVEN),
    ("a column missing", lambda: fitted().fit_student(X_PUBLIC[:, 1:]), FEATURES),
    ("a number", lambda: fitted().fit_student(X_PUBLIC, 5), "student must be a classifier"),
    ("a class", lambda: fitted().fit_student(X_PUBLIC, GaussianNB), "an estimator", TypeError),
)
def test_a_new_student_that_cannot_be_fitted(call, message, error):
    with refused(message, error):
        call()
