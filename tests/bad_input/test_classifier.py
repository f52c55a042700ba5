"""The parameters of PATEClassifier, and calls after its fit, or too early."""

import threading

import numpy as np
import pytest
from joblib import Memory
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler

from sklearn_pate import FitOnPublic, PATEClassifier, PATERegressor
from sklearn_pate.aggregators import GNMax, PluralityVote
from sklearn_pate.exceptions import BadPlanError, BudgetExceededError, StudentError
from sklearn_pate.ledger import PrivacyLedger
from sklearn_pate.methods import ReverseNeighbors
from sklearn_pate.model_selection import PrivateGridSearchCV
from sklearn_pate.partition import RandomPartition
from sklearn_pate.queries import DiversityQueries
from sklearn_pate.releases import Release
from sklearn_pate.students import SoftLabelClassifier
from sklearn_pate.synthesis import ClassSumsSynthesizer

from . import helpers as h

NOT_A_NUMBER = (*h.NO_FLOATS, "x", [1], {}, 1j)
NOT_WHOLE = (*h.NO_FLOATS, "x", {}, 1j, 2.5, h.NAN, h.INF, np.array([3, 4]))
#: Wrong types, NaN and infinities, below and at the limits
WRONG = {
    "base_estimator": ("x", 5, {}, StandardScaler()),
    "method": ("records", None, 5, GaussianNB(), [ReverseNeighbors()]),
    "n_teachers": (*NOT_WHOLE, [1], 0, -1, False, np.int64(0)),
    "aggregator": ("gnmax", 5, GNMax, (GNMax(),), {}),
    "student": ("x", 5, [GaussianNB()]),
    "n_queries": (*NOT_WHOLE, 0, -1, False, (5,)),
    "query_strategy": ("best", None, 5, ["random"]),
    "epsilon": (*NOT_A_NUMBER, 0, 0.0, -1, h.NAN, h.INF, False, np.float64(0), np.array([1.0])),
    "delta": (*NOT_A_NUMBER, None, 0, 0.0, 1, 1.0, 2, -1e-5, h.NAN, h.INF, True, np.float64(1)),
    "accounting": ("exact", None, 5, ["ptr"]),
    "unit": ("person", None, 5, ["group"]),
    "partition": ("stratified", None, 5, ["random"]),
    "classes": ("01", 5, lambda: [0, 1]),
    "keep_teachers": ("yes", None, 2, 0.5),
    "n_jobs": (*h.NO_FLOATS, "x", 1.5, [2], h.NAN),
    "random_state": ("x", -1, 1.5, [0], np.random.default_rng(0)),
    "timeout": (*NOT_A_NUMBER, 0, -1.0, h.NAN, h.INF),
    "on_bad_plan": ("ignore", None, True, ["raise"]),
    "memory": (5, object(), ["folder"], True),
    "ledger": ("ledger.sqlite", 5, {}),
    "verbose": ("x", None, -1, [1]),
}


@h.each_of(WRONG)
def test_classifier_parameter_refuses_wrong_type_or_range(name, value):
    with h.refused(rf"'{name}' parameter of PATEClassifier must be .*Got"):
        h.fit({name: value})


# --- teachers, student and numbers ---------------------------------------------------------------

NO_TEACHER = "base_estimator must be a classifier"
NO_STAGES = r"must be one number or None, because .* is a single stage; got n_queries=\[5\]"
PTR = {"accounting": "ptr"}
NO_PTR = "accounting='ptr'"
NO_NOISE = {"aggregator": PluralityVote(), "epsilon": None}
CALIBRATED = {"aggregator": None}


@h.table(
    "params, message",
    ("a number", {"base_estimator": 1.0}, "'base_estimator' parameter .* must be an object"),
    ("a truth value", {"epsilon": True}, "'epsilon' parameter .* must be a float"),
    ("no teacher", {"base_estimator": []}, "base_estimator must not be an empty list"),
    ("numbers", {"base_estimator": [5]}, f"{NO_TEACHER}.*got 5"),
    ("a regressor", {"base_estimator": LinearRegression()}, rf"{NO_TEACHER}.*ression\(\)"),
    ("student", {"student": LinearRegression()}, "student must be a classifier"),
    ("many teachers", {"n_teachers": 41}, "n_teachers=41 .* n_samples=40"),
    ("many queries", {"n_queries": 31}, "n_queries=31 is more .* X_public, 30"),
    ("n_queries=[5]", {"n_queries": [5]}, NO_STAGES),
    ("n_jobs=0", {"n_jobs": 0}, "'n_jobs' parameter of PATEClassifier"),
    ("no budget", {"epsilon": None} | CALIBRATED, r"=None\) is calibrated .* epsilon is None"),
    ("ptr, no noise", PTR | CALIBRATED, rf"{NO_PTR}.*noise scale of GNMax\(sigma=None\) is None"),
    ("ptr, no epsilon", PTR | {"epsilon": None}, f"{NO_PTR}.*to be set; epsilon is None"),
    ("ptr, no n_queries", PTR | {"n_queries": None}, f"{NO_PTR}.*to be set; n_queries is None"),
    ("ptr, rounds", PTR | {"query_strategy": "uncertainty"}, f"queries in rounds.*{NO_PTR}"),
)
def test_classifier_parameter_is_refused_if_it_contradicts_others(params, message):
    with h.refused(message):
        h.fit(params)


POOR = CALIBRATED | {"epsilon": 0.001, "n_queries": None}


test_classifier_calls_are_refused_with_their_reason = h.mistakes(
    ("teachers", lambda: h.fit({"base_estimator": GaussianNB}), r"GaussianNB\(\)", TypeError),
    ("class", lambda: h.fit({"student": GaussianNB}), "must be an estimator", TypeError),
    ("no query", lambda: h.fit(POOR), "=0.001 does not pay for one query", BudgetExceededError),
    ("noise", lambda: h.fit_votes(aggregator=GNMax(100.0)), "large for the votes", BadPlanError),
    ("short y", lambda: h.pate().plan(h.X, h.Y[1:], h.X_PUBLIC), "inconsistent numbers of sam"),
    ("many", lambda: h.pate(n_queries=31).plan(h.X, h.Y, h.X_PUBLIC), "more than .* X_public, 30"),
)


def spent(**params):
    return h.fit(params).privacy_spent_


def teachers(groups=None, **params):
    return h.fit(params, groups=groups).n_teachers_


LARGE_DELTA = "delta=.* is not below one over the number of"
GROUPS = np.arange(40)  # with groups the number of records is private


test_classifier_accepts_parameters_at_their_limits = h.works(
    ("n_teachers=1", lambda: teachers(n_teachers=1, **NO_NOISE) == 1),
    ("n_teachers: all records", lambda: teachers(n_teachers=40) == 40),
    ("n_queries: numpy", lambda: spent(n_queries=np.int32(5)).n_queries == 5),
    ("epsilon=None, no noise", lambda: spent(**NO_NOISE).epsilon == h.INF),
    ("low epsilon", lambda: spent(epsilon=8.0).n_queries < 6, "pays for . of the 6 requested"),
    ("delta: tiny", lambda: teachers(delta=1e-300, epsilon=500.0) == 4),
    ("delta=1/40", lambda: teachers(delta=1 / 40), f"{LARGE_DELTA} records, 40"),
    ("delta=1/41", lambda: teachers(delta=1 / 41)),
    ("groups, delta=0.1", lambda: teachers(GROUPS, delta=0.1)),
    ("groups, delta=0.3", lambda: teachers(GROUPS, delta=0.3), f"{LARGE_DELTA} teachers, 4"),
    ("classes: range", lambda: h.fit({"classes": range(2)}).classes_.tolist() == [0, 1]),
    ("classes: more", lambda: len(h.fit({"classes": [0, 1, 2, 3]} | NO_NOISE).classes_) == 4),
    ("ptr", lambda: spent(aggregator=[GNMax(2.0)], n_queries=[5], **PTR).n_queries == 5),
    ("keep_teachers", lambda: len(h.fit({"keep_teachers": np.True_}).curator_.teachers) == 4),
)


# --- classes -------------------------------------------------------------------------------------


@h.table(
    "classes, message",
    ("a dict", {}, "classes must be a list of labels"),
    ("text", ["0", "1"], "text, y holds numbers; within .* classes=range.2.$"),
    ("another", [0, 2], r"not in classes, which are \[0, 2\]; .* in the type that y has$"),
)
def test_classes_parameter_refuses_wrong_labels(classes, message):
    with h.refused(message):
        h.fit({"classes": classes})


# --- before and after a fit ----------------------------------------------------------------------


@h.each("method", ("predict", "predict_proba", "fit_student"))
def test_methods_raise_not_fitted_error_before_fit(method):
    with h.refused("not fitted yet", NotFittedError):
        getattr(h.pate(), method)(h.X)


@h.table(
    "X, message",
    ("None", None, "Expected X to be an array with two or more"),
    ("one axis", h.X[0], "Expected X to be an array with two or more"),
    ("features", h.X[:, 1:], "X has 2 features, but PATEClas"),
    ("lengths", [[h.NUMBER], [1, 2]], "X must be array-like"),
    ("NaN", h.changed(h.X, h.NAN), "Input X contains NaN"),
)
def test_predictions_refuse_wrong_rows(X, message):
    for method in (h.fitted().predict, h.fitted().predict_proba):
        with h.refused(message):
            method(X)


ROWS_GIVEN = "X_public has 29 rows, but labels were released for the 30 rows"
FEATURES = "X_public does not have the features of X"


test_fit_student_refuses_wrong_rows_and_students = h.mistakes(
    (
        "no rows",
        lambda: h.fitted().fit_student(None),
        "missing: pass the public rows that were given to fit",
    ),
    ("a row missing", lambda: h.fitted().fit_student(h.X_PUBLIC[1:]), ROWS_GIVEN),
    ("a column missing", lambda: h.fitted().fit_student(h.X_PUBLIC[:, 1:]), FEATURES),
    ("a number", lambda: h.fitted().fit_student(h.X_PUBLIC, 5), "student must be a classifier"),
    ("a class", lambda: h.fitted().fit_student(h.X_PUBLIC, GaussianNB), "an estimator", TypeError),
)


# --- classes in the place of instances, and rows in the place of parameters ----------------------


@h.table(
    "params, name",
    ("ledger", {"ledger": PrivacyLedger}, "PrivacyLedger"),
    ("aggregator", {"aggregator": GNMax}, "GNMax"),
    ("stages", {"aggregator": [GNMax], "n_queries": [6]}, "GNMax"),
    ("method", {"method": ReverseNeighbors}, "ReverseNeighbors"),
    ("method as a teacher", {"base_estimator": ReverseNeighbors}, "ReverseNeighbors"),
    ("teachers", {"base_estimator": [GaussianNB]}, "GaussianNB"),
    ("student", {"student": GaussianNB}, "GaussianNB"),
    ("synthesizer", {"synthesizer": ClassSumsSynthesizer}, "ClassSumsSynthesizer"),
    ("partition", {"partition": RandomPartition}, "RandomPartition"),
    ("strategy", {"query_strategy": DiversityQueries}, "DiversityQueries"),
    ("memory", {"memory": Memory}, "Memory"),
    ("releases", {"releases": [Release]}, "Release"),
)
def test_parameters_refuse_classes_in_place_of_instances(params, name):
    with h.refused(rf"must be an \w+, {name}\(.*\)\. Got the class instead\.$"):
        h.fit(params)


@h.table(
    "made",
    ("search", lambda: PrivateGridSearchCV(PATEClassifier, {}).fit(h.X, h.Y, h.X_PUBLIC)),
    (
        "ledger of a search",
        lambda: PrivateGridSearchCV(
            h.pate(ledger=PrivacyLedger), {"n_queries": [3, 6]}, epsilon=30.0
        ).fit(h.X, h.Y, h.X_PUBLIC),
    ),
    ("public", lambda: FitOnPublic(StandardScaler).fit(h.X, X_public=h.X_PUBLIC)),
    ("soft", lambda: SoftLabelClassifier(GaussianNB).fit(h.X, h.Y)),
    (
        "transformer",
        lambda: PATEClassifier(method=ReverseNeighbors(StandardScaler), classes=[0, 1]).fit(
            h.X, h.Y, h.X_PUBLIC
        ),
    ),
    ("strategy", lambda: DiversityQueries(StandardScaler)._validate_params()),
)
def test_nested_objects_refuse_classes_in_place_of_instances(made):
    with h.refused("Got the class instead"):
        made()


def test_parameter_errors_do_not_quote_rows():
    for params in ({"base_estimator": h.X}, {"student": h.frame()}, {"n_teachers": h.X[:, 2]}):
        with h.refused(r"Got (ndarray|DataFrame) instead\.$"):
            h.fit(params)
    with h.refused("student must be a classifier; got ndarray$"):
        h.fitted().fit_student(h.X_PUBLIC, h.X[:, 2])


class Locked(StandardScaler):
    """Cannot be copied once it is fitted or, with a lock as a parameter, at all."""

    def __init__(self, lock=None):
        super().__init__()
        self.lock = lock

    def fit(self, X, y=None):
        self.lock_ = threading.Lock()
        return super().fit(X, y)


def test_components_that_cannot_be_copied_are_refused():
    of_records = {"classes": [0, 1], "epsilon": 8.0}
    clf = PATEClassifier(method=ReverseNeighbors(Locked()), **of_records)
    with h.refused("transformer of ReverseNeighbors cannot be copied.*Use one that can be pickled"):
        clf.fit(h.X, h.Y, h.X_PUBLIC)
    clf = PATEClassifier(method=ReverseNeighbors(Locked(threading.Lock())), **of_records)
    with h.refused("method cannot be copied.*no locks", TypeError):
        clf.fit(h.X, h.Y, h.X_PUBLIC)


def test_votes_error_prints_code_that_counts_labels_of_teachers():
    labels, classes = np.arange(90).reshape(30, 3) % 2, [0, 1]
    with h.refused("To count labels with one column per teacher") as caught:
        h.fit_votes(np.c_[labels, h.VOTES])
    code = str(caught.value).splitlines()[-1].strip()
    names = {"numpy": np, "labels": labels, "classes": classes}
    exec(code, names)
    assert (names["votes"].sum(axis=1) == 3).all()


def test_predict_quantiles_with_two_levels_names_n_levels():
    reg = PATERegressor(bounds=(0, 1))
    search = PrivateGridSearchCV(reg, {"n_queries": [3]})
    for estimator in (reg, search):
        with pytest.raises(AttributeError, match="set n_levels=10 and fit again"):
            estimator.predict_quantiles(h.X_PUBLIC, 0.5)
    assert hasattr(PATERegressor(bounds=(0, 1), n_levels=10), "predict_quantiles")


def test_fit_student_error_gives_the_hint_of_fit():
    class NeedsText(GaussianNB):
        def fit(self, X, y, sample_weight=None):
            raise ValueError("could not convert string to float: 'a'")

    with h.refused("ValueError: could not.* preprocessing .* into the student", StudentError):
        # So many labels that they are of both classes: one alone needs no student
        params = h.QUICK | {"n_queries": 30, "epsilon": None, "random_state": 0}
        clf = PATEClassifier(GaussianNB(), **params).fit(h.X, h.Y, h.X_PUBLIC)
        clf.fit_student(h.X_PUBLIC, NeedsText())
