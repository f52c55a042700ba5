"""The parameters of PATEClassifier."""

import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler

from sklearn_pate.aggregators import GNMax, PluralityVote
from sklearn_pate.exceptions import BadPlanError, BudgetExceededError

from .helpers import (
    INF,
    NAN,
    NO_FLOATS,
    X_PUBLIC,
    Teacher,
    X,
    Y,
    accepted,
    each_of,
    fit,
    fit_votes,
    pate,
    refused,
    table,
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


# --- teachers and student ------------------------------------------------------------------------


@table(
    "base_estimator, message",
    {
        "base_estimator=1.0": (1.0, r"was PATEClassifier\(epsilon=1.0\) meant\?"),
        "base_estimator=[]": ([], "base_estimator must not be an empty list"),
        "base_estimator=[5]": ([5], "base_estimator must be a classifier.*got 5"),
        "base_estimator: a regressor": (
            LinearRegression(),
            r"base_estimator must be a classifier.*got LinearRegression\(\)",
        ),
        "base_estimator: a regressor in a list": (
            [Teacher(), LinearRegression()],
            "base_estimator must be a classifier",
        ),
    },
)
def test_a_base_estimator_that_is_no_classifier(base_estimator, message):
    with refused(message):
        fit({"base_estimator": base_estimator})


def test_a_base_estimator_that_is_a_class():
    message = r"base_estimator must be an estimator instance, GaussianNB\(\)"
    with refused(message, TypeError):
        fit({"base_estimator": GaussianNB})


def test_a_student_that_is_a_regressor():
    with refused("student must be a classifier"):
        fit({"student": LinearRegression()})


def test_a_student_that_is_a_class():
    with refused("student must be an estimator", TypeError):
        fit({"student": GaussianNB})


# --- numbers -------------------------------------------------------------------------------------


@table(
    "params, message",
    {
        "n_teachers above the records": ({"n_teachers": 41}, "n_teachers=41 .* n_samples=40"),
        "n_queries above X_public": ({"n_queries": 31}, "n_queries=31 is more .* X_public, 30"),
        "n_queries=[]": ({"n_queries": []}, r"n_queries=\[\] is a list.*aggregator is not"),
        "n_queries=[5]": ({"n_queries": [5]}, r"n_queries=\[5\] is a list.*aggregator is not"),
        "n_jobs=0": ({"n_jobs": 0}, "'n_jobs' parameter of PATEClassifier"),
        "epsilon=None": (
            {"epsilon": None, "aggregator": None},
            r"GNMax\(sigma=None\) is calibrated .* epsilon is None",
        ),
    },
)
def test_a_number_that_does_not_fit_the_others(params, message):
    with refused(message):
        fit(params)


def test_an_epsilon_that_pays_for_no_query():
    with refused("epsilon=0.001 pays for no query", BudgetExceededError):
        fit({"epsilon": 0.001, "n_queries": None, "aggregator": None})


@table(
    "params, n_teachers",
    {
        "n_teachers=1": ({"n_teachers": 1, "aggregator": PluralityVote(), "epsilon": None}, 1),
        "n_teachers: numpy": ({"n_teachers": np.int64(4)}, 4),
        "n_teachers: all records": ({"n_teachers": 40}, 40),
    },
)
def test_numbers_of_teachers_that_are_accepted(params, n_teachers):
    with accepted():
        assert fit(params).n_teachers_ == n_teachers


def test_n_queries_may_be_a_numpy_integer():
    with accepted():
        assert fit({"n_queries": np.int32(5)}).privacy_spent_.n_queries == 5


def test_n_queries_may_be_all_public_rows():
    with accepted():
        assert len(set(fit({"n_queries": 30, "epsilon": None}).query_indices_)) == 30


@table("epsilon", {"epsilon: numpy": np.float32(20), "epsilon: an int": 20})
def test_epsilon_may_be_any_number(epsilon):
    with accepted():
        assert fit({"epsilon": epsilon}).privacy_spent_.epsilon <= 20


def test_epsilon_may_be_none_if_the_noise_is_given():
    with accepted():
        spent = fit({"epsilon": None, "aggregator": GNMax(1.5)}).privacy_spent_
        assert spent.epsilon < INF


def test_epsilon_may_be_none_if_there_is_no_noise():
    with accepted():
        spent = fit({"epsilon": None, "aggregator": PluralityVote()}).privacy_spent_
        assert spent.epsilon == INF


def test_an_epsilon_that_drowns_the_votes():
    hopeless = {"epsilon": 0.1, "aggregator": None}
    message = "this cannot work: the noise .* drowns the votes.*on_bad_plan='warn'. Nothing was spe"
    for call in (fit, lambda params: fit_votes(**params)):
        with refused(message, BadPlanError) as caught:
            call(hopeless)
        assert caught.value.plan.epsilon <= 0.1
        assert "drowns the votes" in caught.value.plan.obstacles[0]
    with accepted():
        plan = pate(**hopeless).plan(X, Y, X_PUBLIC)
        assert plan.advice[0] == plan.obstacles[0] and "drowns the votes" in str(plan)
    with accepted("drowns the votes"):
        insisting = fit(hopeless | {"on_bad_plan": "warn"})
        assert insisting.privacy_spent_.epsilon <= 0.1


def test_an_epsilon_for_fewer_queries():
    with accepted("pays for . of the 6 queries wanted"):
        assert fit({"epsilon": 8.0}).privacy_spent_.n_queries < 6


# --- delta ---------------------------------------------------------------------------------------

LARGE_DELTA = "delta=.* is not below one over the number of"


def test_delta_may_be_a_numpy_float():
    with accepted():
        assert fit({"delta": np.float64(1e-6)}).privacy_spent_.delta == 1e-6


def test_delta_may_be_tiny():
    with accepted():
        assert fit({"delta": 1e-300, "epsilon": 500.0}).n_teachers_ == 4


def test_a_delta_above_one_over_the_records():
    with accepted(f"{LARGE_DELTA} records, 40"):
        assert fit({"delta": 0.1}).privacy_spent_.delta == 0.1


def test_a_delta_of_one_over_the_records():
    with accepted(f"{LARGE_DELTA} records, 40"):
        assert fit({"delta": 1 / 40}).n_teachers_ == 4


def test_a_delta_below_one_over_the_records():
    with accepted():
        assert fit({"delta": 1 / 41}).n_teachers_ == 4


def test_a_delta_below_one_over_the_teachers_where_the_number_of_records_is_private():
    with accepted():
        assert fit({"delta": 0.1}, groups=np.arange(40)).n_teachers_ == 4


def test_a_delta_above_one_over_the_teachers_where_the_number_of_records_is_private():
    with accepted(f"{LARGE_DELTA} teachers, 4"):
        assert fit({"delta": 0.3}, groups=np.arange(40)).n_teachers_ == 4


# --- classes -------------------------------------------------------------------------------------


@table(
    "classes, message",
    {
        "classes=[]": ([], "classes has 0 class"),
        "classes=[0]": ([0], "classes has 1 class"),
        "classes=[0, 0]": ([0, 0], "classes has 1 class"),
        "classes={}": ({}, "classes must be a list of labels"),
        "classes={0, 1}": ({0, 1}, "classes must be a list of labels"),
        "classes=[[0, 1]]": ([[0, 1]], "classes must be a list of labels"),
        "classes=[[0], [1, 2]]": ([[0], [1, 2]], "classes must be array-like"),
        "classes=[0, nan]": ([0, 1, NAN], "classes must .* none of them missing"),
        "classes=[None, a]": ([None, "a"], "classes must .* none of them missing"),
        "classes of two types": (
            np.array([0, "a"], dtype=object),
            "classes must hold labels of one type",
        ),
        "classes of another type": (
            ["0", "1"],
            r"not in classes, which are \['0', '1'\].* classes are text, y holds integers: "
            r"classes=\[0, 1\] or y.astype\(str\)$",
        ),
        "classes that are words": (
            ["no", "yes"],
            r"If these are places in your list: y = numpy.asarray\(classes\)\[y\]. .*"
            r"within them, classes=range\(2\)$",
        ),
        "classes without one": (
            [0, 2],
            r"y has labels that are not in classes, which are \[0, 2\]; .* in the type that y has$",
        ),
        "classes with one twice": ([0, 1, 1], "list each label once; got 3 labels, 2 of them"),
    },
)
def test_wrong_classes(classes, message):
    with refused(message):
        fit({"classes": classes})


def test_labels_in_words_beside_classes_that_are_numbers():
    labels = np.array(["0", "1"] * 20)
    with refused(r"classes are integers, y holds text: classes=\['0', '1'\], or other text as y"):
        fit({"classes": [0, 1]}, y=labels)
    with accepted():
        assert fit({"classes": ["0", "1"]}, y=labels).classes_.tolist() == ["0", "1"]


def test_labels_that_are_places_of_the_classes():
    classes = ["no", "yes"]
    places = np.arange(40) % 2
    with refused("If these are places in your list"):
        fit({"classes": classes}, y=places)
    with accepted():
        fit({"classes": classes}, y=np.asarray(classes)[places])


def test_a_name_in_place_of_groups():
    with refused(r"one identifier for each record, .* of that name, groups=X.pop\(name\)"):
        fit({"unit": "group"}, groups="person")


def test_classes_may_be_a_range():
    with accepted():
        assert fit({"classes": range(2)}).classes_.tolist() == [0, 1]


def test_classes_may_be_a_series():
    with accepted():
        assert fit({"classes": pd.Series([1, 0])}).n_teachers_ == 4


def test_classes_may_hold_some_that_no_record_has():
    params = {"classes": [0, 1, 2, 3], "aggregator": PluralityVote(), "epsilon": None}
    with accepted():
        assert len(fit(params).classes_) == 4


def test_classes_may_be_none():
    with accepted("classes_ is read from the private labels"):
        assert fit({"classes": None}).classes_.tolist() == [0, 1]


# --- the other parameters ------------------------------------------------------------------------


@table(
    "params, message",
    {
        "accounting=ptr, no noise": (
            {"aggregator": None},
            r"accounting='ptr'.*set the noise of GNMax\(sigma=None\) to a number",
        ),
        "accounting=ptr, no epsilon": (
            {"epsilon": None},
            "accounting='ptr'.*set epsilon to a number",
        ),
        "accounting=ptr, no n_queries": (
            {"n_queries": None},
            "accounting='ptr'.*set n_queries to a number",
        ),
        "query_strategy in rounds, accounting=ptr": (
            {"query_strategy": "uncertainty"},
            "query_strategy='uncertainty' asks in rounds.*accounting='ptr'",
        ),
    },
)
def test_parameters_that_propose_test_release_cannot_use(params, message):
    with refused(message):
        fit({"accounting": "ptr"} | params)


def test_propose_test_release_takes_a_list_of_one_stage():
    params = {"accounting": "ptr", "aggregator": [GNMax(2.0)], "n_queries": [5]}
    with accepted():
        assert fit(params).privacy_spent_.n_queries == 5


def test_keep_teachers_may_be_a_numpy_boolean():
    with accepted():
        assert len(fit({"keep_teachers": np.True_}).curator_.teachers) == 4


def test_random_state_may_be_a_numpy_integer():
    with accepted():
        assert fit({"random_state": np.int64(3)}).n_teachers_ == 4


# --- plan and poll -------------------------------------------------------------------------------


@table("method", {"plan": "plan", "poll": "poll"})
def test_plan_and_poll_without_public_rows(method):
    call = getattr(pate(), method)
    with refused("X_public is missing"):
        call(X, Y)


@table("method", {"plan": "plan", "poll": "poll"})
def test_plan_and_poll_with_labels_that_are_too_few(method):
    call = getattr(pate(), method)
    with refused("X and y have inconsistent numbers of samples"):
        call(X, Y[1:], X_PUBLIC)


def test_a_plan_of_more_queries_than_public_rows():
    with refused("n_queries=31 is more than the rows of X_public, 30"):
        pate(n_queries=31).plan(X, Y, X_PUBLIC)
