"""Wrong parameters, arrays and files: one early error that names them, and no private value."""

import functools
import math
import os
import re
import sqlite3
import threading
import traceback
import warnings
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, Perceptron
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from sklearn_pate import FitOnPublic, PATEClassifier, PublicData, datasets
from sklearn_pate.accountant import plan_queries
from sklearn_pate.aggregators import (
    Aggregator,
    ConfidentGNMax,
    ExponentialNMax,
    GNMax,
    ImmutableArgmax,
    InteractiveGNMax,
    LNMax,
    PluralityVote,
    SoftVote,
    StableArgmax,
)
from sklearn_pate.audit import audit_aggregator
from sklearn_pate.exceptions import BudgetExceededError, TeacherError
from sklearn_pate.ledger import PrivacyLedger
from sklearn_pate.model_selection import (
    PrivateGridSearchCV,
    PrivateRandomizedSearchCV,
)
from sklearn_pate.partition import RandomPartition
from sklearn_pate.queries import (
    BinaryExpertQueries,
    DiversityQueries,
    RandomQueries,
    UncertaintyQueries,
)
from sklearn_pate.rdp import (
    TrialCount,
    data_independent_epsilon,
    exact_rdp,
    gdp_mu,
    gdp_to_epsilon,
    gnmax_rdp,
    gnmax_sigma,
    least_scale,
    lnmax_gamma,
    margin_rdp,
    pure_rdp,
    rdp_to_epsilon,
    worst_case_pure,
    worst_case_rdp,
)
from sklearn_pate.rdp.conversion import epsilon_by_order
from sklearn_pate.smooth_sensitivity import half_margins, smooth_release_rdp, smooth_sensitivity
from sklearn_pate.students import SoftLabelClassifier
from sklearn_pate.teachers import Sites

NAN, INF = math.nan, math.inf

# --- private data that can be told from everything else ------------------------------------------

TEXT, NUMBER, LABEL = "Ada Lovelace", 86420.97531, 918273
SECRETS = "Lovelace", "86420", "918273"

rng = np.random.default_rng(0)
Y = np.arange(40) % 2
X = np.column_stack([Y + rng.normal(scale=0.1, size=40), rng.normal(size=(40, 2))])
X[0, 2] = NUMBER
X_PUBLIC = np.column_stack([np.arange(30) % 2, rng.normal(size=(30, 2))])
VOTES = np.where(np.arange(30)[:, None] % 2 == [0, 1], 3, 1)
ONES = np.ones(40)


class Teacher(GaussianNB):
    """A classifier that counts how often it is fitted."""

    fits = 0

    def fit(self, X, y, sample_weight=None):
        Teacher.fits += 1
        return super().fit(X, y, sample_weight)


#: Noise that is given needs no calibration, which takes its time
QUICK = {"n_teachers": 4, "classes": [0, 1], "n_queries": 6, "epsilon": 20.0}
QUICK["aggregator"] = GNMax(1.5)
MADE: list[Any] = []


def pate(**params):
    MADE.append(PATEClassifier(**({"base_estimator": Teacher()} | QUICK | params)))
    return MADE[-1]


def fit(params=None, **given):
    given = {"X": X, "y": Y, "X_public": X_PUBLIC} | given
    return pate(**(params or {})).fit(**given)


def fit_votes(votes=VOTES, X_public=X_PUBLIC, **params):
    return pate(**params).fit_votes(votes, X_public)


def search(params=None, grid=None, clf=None, **given):
    params = {"epsilon": 30.0, "n_trials": 3} | (params or {})
    grid = {"n_queries": [3, 6]} if grid is None else grid
    MADE.append(PrivateGridSearchCV(pate(n_queries=3) if clf is None else clf, grid, **params))
    return MADE[-1].fit(**({"X": X, "y": Y, "X_public": X_PUBLIC} | given))


@functools.cache
def fitted():
    return PATEClassifier(GaussianNB(), **QUICK).fit(X, Y, X_PUBLIC)


@functools.cache
def stopped():
    """A fit that a budget stopped: what it cost is known at its own delta only."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        params = {"aggregator": ConfidentGNMax(0.5, 4.0, 4.0), "n_queries": 30, "epsilon": 3.5}
        return PATEClassifier(GaussianNB(), **(QUICK | params)).fit_votes(VOTES, X_PUBLIC)


@functools.cache
def polled(temperature=None):
    aggregator = None if temperature is None else SoftVote(5.0, temperature=temperature)
    params = QUICK | {"aggregator": aggregator}
    return PATEClassifier(GaussianNB(), **params).poll(X, Y, X_PUBLIC)


def changed(array, value, at=3):
    """A copy with one entry changed."""
    array = np.array(array, dtype=np.result_type(np.asarray(array), np.asarray(value)))
    array[at] = value
    return array


def frame(rows=X, columns=("a", "b", "c"), **more):
    return pd.DataFrame(rows, columns=list(columns)).assign(**more)


class Returns:
    """A query strategy and a partition that returns what it was given, or raises it."""

    adjacency = "replace one record"

    def __init__(self, answer):
        self.answer = answer

    def select(self, X_public, n_queries, random_state=None):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def assign(self, n_records, n_teachers, *, index=None, groups=None, seed=None):
        return self.select(None, n_records)


class NoAdjacency:
    def assign(self, n_records, n_teachers, **given):
        return np.arange(n_records) % n_teachers


class Outcomes(Aggregator):
    """A mechanism whose distribution has the wrong number of columns, or the wrong sum."""

    def __init__(self, n_outcomes):
        self.n_outcomes = n_outcomes

    def outcome_log_proba(self, votes, student_proba=None):
        return np.zeros((len(votes), self.n_outcomes))


class Locked(Teacher):
    """Cannot be sent to another process."""

    lock = None

    def __init__(self):
        super().__init__()

    def __getstate__(self):
        return super().__getstate__() | {"lock": threading.Lock()}


def no_load(name):
    raise KeyError(TEXT)


# --- the tables ----------------------------------------------------------------------------------


class Case(NamedTuple):
    call: Any
    error: type
    match: str
    teachers: bool = False  # whether only teachers can notice
    warns: str | None = None


REFUSED: dict[str, Case] = {}


def refused(name, call, match, error=ValueError, **how):
    assert name not in REFUSED, name
    REFUSED[name] = Case(call, error, match, **how)


def short(value):
    """What the id of a test says of a value: the same in every run."""
    if isinstance(value, type) or callable(value):
        return getattr(value, "__name__", type(value).__name__)
    if isinstance(value, np.generic):
        return f"{type(value).__name__}({value})"
    text = repr(value) if isinstance(value, np.ndarray) else str(value) or "''"
    return type(value).__name__ if " at 0x" in text else text


PTR, CALIBRATED = {"accounting": "ptr"}, {"aggregator": None}

# Every parameter of PATEClassifier: wrong types, NaN and infinities, below and at its limits
NO_NUMBER = ("x", [1], {}, 1j)
NO_WHOLE = (*NO_NUMBER, 2.5, NAN, INF, np.array([3, 4]))
for name, values in {
    "base_estimator": ("x", 5, {}, StandardScaler()),
    "n_teachers": (*NO_WHOLE, None, 0, -1, False, np.int64(0)),
    "aggregator": ("gnmax", 5, GNMax, (GNMax(),), {}),
    "student": ("x", 5, [GaussianNB()]),
    "n_queries": (*(v for v in NO_WHOLE if not isinstance(v, list)), 0, -1, False, (5,)),
    "query_strategy": ("best", None, 5, ["random"]),
    "epsilon": (*NO_NUMBER, 0, 0.0, -1, NAN, INF, False, np.float64(0), np.array([1.0])),
    "delta": (*NO_NUMBER, None, 0, 0.0, 1, 1.0, 2, -1e-5, NAN, INF, True, np.float64(1)),
    "accounting": ("exact", None, 5, ["ptr"]),
    "unit": ("person", None, 5, ["group"]),
    "partition": ("stratified", None, 5, ["random"]),
    "classes": ("01", 5, lambda: [0, 1]),
    "keep_teachers": ("yes", None, 2, 0.5),
    "n_jobs": ("x", 1.5, [2], NAN),
    "random_state": ("x", -1, 1.5, [0], np.random.default_rng(0)),
    "memory": (5, object(), ["folder"], True),
    "ledger": ("ledger.sqlite", 5, {}),
    "verbose": ("x", None, -1, [1]),
}.items():
    for value in values:
        refused(
            f"{name}={short(value)}",
            lambda _, name=name, value=value: fit({name: value}),
            rf"'{name}' parameter of PATEClassifier must be .*Got",
        )

for name, params, message, *error in (
    ("base_estimator=[]", {"base_estimator": []}, "base_estimator must not be an empty list"),
    ("base_estimator=[5]", {"base_estimator": [5]}, "base_estimator must be a classifier.*got 5"),
    (
        "base_estimator: a regressor",
        {"base_estimator": LinearRegression()},
        r"base_estimator must be a classifier.*got LinearRegression\(\)",
    ),
    (
        "base_estimator: a regressor in a list",
        {"base_estimator": [Teacher(), LinearRegression()]},
        "base_estimator must be a classifier",
    ),
    (
        "base_estimator: a class",
        {"base_estimator": GaussianNB},
        r"base_estimator must be an estimator instance, GaussianNB\(\)",
        TypeError,
    ),
    ("student: a regressor", {"student": LinearRegression()}, "student must be a classifier"),
    ("student: a class", {"student": GaussianNB}, "student must be an estimator", TypeError),
    ("n_teachers above the records", {"n_teachers": 41}, "n_teachers=41 .* n_samples=40"),
    ("n_queries above X_public", {"n_queries": 31}, "n_queries=31 is more .* X_public, 30"),
    ("n_queries=[]", {"n_queries": []}, r"n_queries=\[\] is a list.*aggregator is not"),
    ("n_queries=[5]", {"n_queries": [5]}, r"n_queries=\[5\] is a list.*aggregator is not"),
    ("n_jobs=0", {"n_jobs": 0}, "n_jobs == 0"),
    (
        "epsilon=None",
        {"epsilon": None} | CALIBRATED,
        r"GNMax\(sigma=None\) is calibrated .* epsilon is None",
    ),
    (
        "epsilon too small",
        {"epsilon": 0.001, "n_queries": None, "aggregator": None},
        "epsilon=0.001 pays for no query",
        BudgetExceededError,
    ),
    ("classes=[]", {"classes": []}, "classes has 0 class"),
    ("classes=[0]", {"classes": [0]}, "classes has 1 class"),
    ("classes=[0, 0]", {"classes": [0, 0]}, "classes has 1 class"),
    ("classes={}", {"classes": {}}, "classes must be a list of labels"),
    ("classes={0, 1}", {"classes": {0, 1}}, "classes must be a list of labels"),
    ("classes=[[0, 1]]", {"classes": [[0, 1]]}, "classes must be a list of labels"),
    ("classes=[[0], [1, 2]]", {"classes": [[0], [1, 2]]}, "classes must be array-like"),
    ("classes=[0, nan]", {"classes": [0, 1, NAN]}, "classes must .* none of them missing"),
    ("classes=[None, a]", {"classes": [None, "a"]}, "classes must .* none of them missing"),
    (
        "classes of two types",
        {"classes": np.array([0, "a"], dtype=object)},
        "classes must hold labels of one type",
    ),
    ("classes of another type", {"classes": ["0", "1"]}, "y has labels that are not in classes"),
    ("classes without one", {"classes": [0, 2]}, "y has labels that are not in classes"),
    (
        "accounting=ptr, no noise",
        PTR | CALIBRATED,
        r"accounting='ptr'.*set the noise of GNMax\(sigma=None\) to a number",
    ),
    (
        "accounting=ptr, no epsilon",
        PTR | {"epsilon": None},
        "accounting='ptr'.*set epsilon to a number",
    ),
    (
        "accounting=ptr, no n_queries",
        PTR | {"n_queries": None},
        "accounting='ptr'.*set n_queries to a number",
    ),
    ("unit=group without groups", {"unit": "group"}, 'unit="group" .* needs groups='),
    ("partition=hash of an array", {"partition": "hash"}, 'partition="hash".*index of a DataFrame'),
    ("partition=predefined, no groups", {"partition": "predefined"}, '"predefined" needs groups='),
    ("partition: a class", {"partition": RandomPartition}, "partition must be an object"),
    (
        "partition without adjacency",
        {"partition": NoAdjacency()},
        "partition must be an object.*string adjacency",
    ),
    ("query_strategy: a class", {"query_strategy": RandomQueries}, "query_strategy .* got a class"),
    (
        "query_strategy without probabilities",
        {"query_strategy": "uncertainty", "base_estimator": Perceptron()},
        r"UncertaintyQueries\(\) needs a student with predict_proba; got Perceptron\(\)",
    ),
    (
        "query_strategy in rounds, accounting=ptr",
        PTR | {"query_strategy": "uncertainty"},
        "query_strategy='uncertainty' asks in rounds.*accounting='ptr'",
    ),
    ("memory=''", {"memory": ""}, "memory='' cannot be written to"),
):
    refused(name, lambda _, params=params: fit(params), message, *error)


def file_for_memory(folder):
    (folder / "file").write_text("x")
    return folder / "file"


refused(
    "memory: a file",
    lambda at: fit({"memory": file_for_memory(at)}),
    "memory=.*cannot be written to",
)
refused(
    "memory: below a file",
    lambda at: fit({"memory": str(file_for_memory(at) / "sub")}),
    "memory=.*cannot be written to",
)
refused(
    "memory and teachers that do not pickle",
    lambda at: fit({"memory": at, "base_estimator": Locked()}),
    "memory needs .* that pickle.*base_estimator",
)
refused(
    "n_jobs=2 and teachers that do not pickle",
    lambda _: fit({"base_estimator": Locked(), "n_jobs": 2}),
    "teachers could not be sent .*PicklingError.*n_jobs=1",
    TeacherError,
    teachers=True,
)

# Aggregators: every parameter, stages, and what depends on the teachers
NO_SCALE = (0, -1, NAN, INF, "x", [1], 1j)
for make, values in (
    (lambda v: {"sigma": GNMax(v)}, NO_SCALE),
    (lambda v: {"noise": GNMax(3.0, noise=v)}, ("gaussian", None, 1)),
    (lambda v: {"gamma": LNMax(v)}, NO_SCALE),
    (lambda v: {"noise": LNMax(0.5, noise=v)}, ("laplace", None)),
    (lambda v: {"gamma": ExponentialNMax(v)}, (*NO_SCALE, None)),
    (lambda v: {"threshold": ConfidentGNMax(v, 3.0, 3.0)}, (*NO_SCALE, None)),
    (lambda v: {"sigma1": ConfidentGNMax(2, v, 3.0)}, (*NO_SCALE, None)),
    (lambda v: {"sigma2": ConfidentGNMax(2, 3.0, v)}, (*NO_SCALE, None)),
    (lambda v: {"sigma": SoftVote(v)}, (*NO_SCALE, None)),
    (lambda v: {"temperature": SoftVote(5.0, temperature=v)}, (*NO_SCALE, None)),
    (lambda v: {"run_epsilon": StableArgmax(v)}, NO_SCALE),
    (lambda v: {"max_unstable": StableArgmax(1.0, v)}, (*NO_SCALE, None, 2.5)),
    (lambda v: {"failure_probability": StableArgmax(1.0, 2, v)}, (*NO_SCALE, None, 1)),
    (lambda v: {"constant": ImmutableArgmax(v, gamma=0.5)}, (-1, NAN, "x")),
    (lambda v: {"gamma": ImmutableArgmax(gamma=v)}, (0, -1, NAN, INF, "x")),
    (lambda v: {"sigma": ImmutableArgmax(sigma=v)}, (0, -1, NAN, INF, "x")),
    (
        lambda v: {"failure_probability": ImmutableArgmax(gamma=0.5, failure_probability=v)},
        (0, 1, NAN, "x", None),
    ),
):
    for value in values:
        ((name, mechanism),) = make(value).items()
        kind = type(mechanism).__name__
        refused(
            f"{kind}.{name}={short(value)}",
            lambda _, mechanism=mechanism: fit({"aggregator": mechanism}),
            rf"'{name}' parameter of {kind} must be .*Got",
        )
for value in (-0.1, 1, 1.5, NAN, "x", None):
    stages = [GNMax(1.5), InteractiveGNMax(0.5, 2.0, 2.0, value)]
    refused(
        f"InteractiveGNMax.confidence={short(value)}",
        lambda _, stages=stages: fit({"aggregator": stages, "n_queries": [3, 3]}),
        "'confidence' parameter of InteractiveGNMax must be",
    )
TWO = [GNMax(1.5), GNMax(1.5)]
for name, aggregator, n_queries, message, *error in (
    ("stages: none", [], [], "aggregator must not be an empty list"),
    ("stages: a number", [5], [5], "aggregator must be an Aggregator.*got 5"),
    ("stages: None", [None, GNMax(3.0)], [5, 5], "aggregator must be an Aggregator.*got None"),
    ("stages: a class", [GNMax], [5], "aggregator must be an Aggregator.*each an instance"),
    ("stages, n_queries=None", TWO, None, "list of 2 stages, so n_queries .* got n_queries=None"),
    ("stages, n_queries=5", TWO, 5, "list of 2 stages, so n_queries .* got n_queries=5"),
    ("stages, n_queries short", TWO, [5], r"list of 2 stages, so n_queries .* got n_queries=\[5\]"),
    ("stages, n_queries long", TWO, [5, 5, 5], "list of 2 stages, so n_queries must be a list"),
    ("stages, n_queries with 0", TWO, [5, 0], r"at least 1; got n_queries=\[5, 0\]"),
    ("stages, n_queries with -1", TWO, [5, -1], r"at least 1; got n_queries=\[5, -1\]"),
    ("stages, n_queries with 2.5", TWO, [5, 2.5], r"at least 1; got n_queries=\[5, 2.5\]"),
    ("stages, n_queries with text", TWO, [5, "x"], r"at least 1; got n_queries=\[5, 'x'\]"),
    ("stages, n_queries with None", TWO, [5, None], r"at least 1; got n_queries=\[5, None\]"),
    ("stages, n_queries above X_public", TWO, [16, 15], "n_queries=.*more than .* X_public, 30"),
    ("stages with SoftVote", [GNMax(3.0), SoftVote(5.0)], [5, 5], "SoftVote .* use it alone"),
    (
        "stages that begin with InteractiveGNMax",
        [InteractiveGNMax(0.5, 3.0, 3.0, 0.9), GNMax(3.0)],
        [5, 5],
        "InteractiveGNMax.*put it after another stage, aggregator=",
    ),
    ("threshold above 1, a float", ConfidentGNMax(3.0, 3.0, 3.0), 6, "threshold=3.0 is a float"),
    (
        "threshold above the teachers",
        ConfidentGNMax(5, 2.0, 2.0),
        6,
        "threshold=5 of ConfidentGNMax.*more than n_teachers=4",
    ),
    (
        "threshold above the teachers, in stages",
        [GNMax(1.5), InteractiveGNMax(5, 2.0, 2.0, 0.5)],
        [3, 3],
        "threshold=5 of InteractiveGNMax.*more than n_teachers=4",
    ),
    ("ImmutableArgmax without noise", ImmutableArgmax(), 6, "either gamma .* or sigma"),
    (
        "ImmutableArgmax with both",
        ImmutableArgmax(gamma=0.5, sigma=3.0),
        6,
        "either gamma .* or sigma .*got gamma=0.5 and sigma=3.0",
    ),
    (
        "failure_probability above delta",
        StableArgmax(0.5, failure_probability=0.1),
        6,
        "failure_probability .* 0.1 .*below delta=1e-05",
    ),
    (
        "failure_probability above delta, calibrated",
        StableArgmax(None, failure_probability=0.1),
        6,
        "failure_probability of the aggregator, 0.1 in all, must be below delta=1e-05",
    ),
    ("no noise", PluralityVote(), 6, "epsilon=inf .* set epsilon=None", BudgetExceededError),
    ("too little noise", GNMax(0.01), 6, "GNMax.*cap epsilon=20.*more noise", BudgetExceededError),
    ("own mechanism, columns", Outcomes(7), 6, "outcome_log_proba must return a column"),
    ("own mechanism, sums", Outcomes(2), 6, "outcome_log_proba must .* sum to 1"),
):
    params = {"aggregator": aggregator, "n_queries": n_queries}
    refused(f"aggregator: {name}", lambda _, params=params: fit(params), message, *error)
refused(
    "aggregator: SoftVote of teachers without probabilities",
    lambda _: fit({"aggregator": SoftVote(5.0), "base_estimator": Perceptron()}),
    r"SoftVote\(sigma=5.0\) needs teachers with predict_proba; got Perceptron\(\)",
)
for name, draw, message in (
    ("GNMax.aggregate, votes", lambda: GNMax(3.0).aggregate([[5, -1]]), "votes has negative"),
    ("GNMax.aggregate, sigma=None", lambda: GNMax(None).aggregate([[5, 5]]), "Set sigma to a num"),
    (
        "InteractiveGNMax.aggregate, no student",
        lambda: InteractiveGNMax(0.5, 3.0, 3.0, 0.9).aggregate([[5, 5]]),
        "student_proba must hold .* got None",
    ),
    (
        "InteractiveGNMax.aggregate, shape",
        lambda: InteractiveGNMax(0.5, 3.0, 3.0, 0.9).aggregate([[5, 5]], [[1.0]]),
        r"student_proba must hold .* got shape \(1, 1\)",
    ),
    ("StableArgmax.draw, votes", lambda: StableArgmax().draw([[5.5, 4.5]]), "votes must be finite"),
    ("SoftVote.aggregate, sigma", lambda: SoftVote(0).aggregate([[5.0, 5.0]]), "'sigma' parameter"),
):
    refused(name, lambda _, draw=draw: draw(), message)

# Query strategies
ROUNDS = "n_rounds of query_strategy must be a whole number, at least 1; got"
for value in (0, -1, 2.5, "x", None, NAN):
    strategy = UncertaintyQueries(n_rounds=value)
    refused(
        f"UncertaintyQueries.n_rounds={short(value)}",
        lambda _, strategy=strategy: fit({"query_strategy": strategy}),
        ROUNDS,
    )
for name, strategy in {
    "n_rounds": UncertaintyQueries(n_rounds=1),
    "estimator": BinaryExpertQueries(LinearRegression()),
    "confident": BinaryExpertQueries(GaussianNB(), confident=1.5),
    "possible": BinaryExpertQueries(GaussianNB(), possible=NAN),
    "n_rivals": BinaryExpertQueries(GaussianNB(), n_rivals=0),
    "transformer": DiversityQueries(GaussianNB()),
}.items():
    refused(
        f"{type(strategy).__name__}.{name}, at fit",
        lambda _, strategy=strategy: fit({"query_strategy": strategy}),
        f"query_strategy failed.*nothing was spent.*'{name}' parameter of",
    )
for name, rows in {
    "None": None,
    "nothing": [],
    "text": "rows",
    "one row often": [0] * 6,
    "too few": range(5),
    "too many": range(7),
    "beyond the last": range(25, 31),
    "negative": range(-6, 0),
    "floats": np.arange(6.0),
    "a mask": np.arange(30) < 6,
    "two axes": [[0, 1, 2, 3, 4, 5]],
}.items():
    refused(
        f"query_strategy returns {name}",
        lambda _, rows=rows: fit({"query_strategy": Returns(rows)}),
        "query_strategy.select must return 6 distinct numbers of rows of X_public",
    )
refused(
    "query_strategy returns rows of unequal length",
    lambda _: fit({"query_strategy": Returns([[0], [1, 2]])}),
    "query_strategy failed.*nothing was spent",
)
refused(
    "query_strategy raises",
    lambda _: fit({"query_strategy": Returns(KeyError("centre"))}),
    "query_strategy failed.*nothing was spent. KeyError: 'centre'",
)

# Partitions
for name, teachers, message in (
    ("None", None, r"partition.assign must return 40 whole numbers.*shape \(\)"),
    ("nothing", [], r"partition.assign must return 40 whole numbers.*shape \(0,\)"),
    ("text", ["x"] * 40, "partition.assign must return 40 whole numbers.*and text$"),
    ("floats", np.zeros(40), "partition.assign must return 40 whole numbers.*and floats$"),
    ("too few", [0] * 39, r"partition.assign must return 40 whole numbers.*shape \(39,\)"),
    ("two axes", [[0]] * 40, r"partition.assign must return 40 whole numbers.*\(40, 1\)"),
    ("a teacher too many", [4] * 40, "partition.assign must return numbers from 0 to 3"),
    ("a negative teacher", [-1] * 40, "partition.assign must return numbers from 0 to 3"),
    ("unequal lengths", [[0], [1, 2]], "partition.assign failed with ValueError"),
):
    refused(
        f"partition returns {name}",
        lambda _, teachers=teachers: fit({"partition": Returns(teachers)}),
        message,
    )
refused(
    "partition raises",
    lambda _: fit({"partition": Returns(KeyError(TEXT))}, groups=[TEXT] * 40),
    "partition.assign failed with KeyError",
)
refused(
    "partition that splits groups",
    lambda _: fit({"partition": Returns(np.arange(40) % 4), "unit": "group"}, groups=[TEXT] * 40),
    'unit="group" .* this partition splits groups',
)
for name, index, message in (
    ("positions", None, "the index of X is a RangeIndex"),
    ("missing", [None, *[TEXT] * 39], "the index of X has a missing value"),
    ("floats", np.arange(40) + NUMBER, "the index of X has a number that is not whole"),
):
    refused(
        f"partition=hash, index: {name}",
        lambda _, index=index: fit(
            {"partition": "hash"},
            X=frame().set_axis(index) if index is not None else frame(),
            X_public=frame(X_PUBLIC),
        ),
        message,
    )

# Private rows, labels, groups and weights
for name, given, message, *error in (
    ("X=None", {"X": None}, "Expected X as a 2D array"),
    ("X=5", {"X": 5}, "Expected X as a 2D array"),
    ("X: text", {"X": TEXT}, "Expected X as a 2D array"),
    ("X: a dict", {"X": {TEXT: [NUMBER]}}, "Expected X as a 2D array"),
    ("X: one axis", {"X": X[:, 2]}, "Expected X as a 2D array.*got a 1D array"),
    ("X: a Series", {"X": pd.Series(X[:, 2])}, "Expected X as a 2D array.*got a 1D array"),
    ("X: empty", {"X": X[:0], "y": []}, r"X has 0 sample\(s\)"),
    ("X: no columns", {"X": X[:, :0]}, r"X has 40 sample\(s\) and 0 feature\(s\)"),
    ("X: one row", {"X": X[:1], "y": Y[:1]}, "n_teachers=4 is more .* n_samples=1"),
    ("X: rows of unequal length", {"X": [[1, NUMBER], [1]]}, "X must be array-like, with rows of"),
    ("X: duplicate names", {"X": frame(columns="aac")}, "X: Expected unique column names"),
    (
        "X: names of two types",
        {"X": frame(columns=["a", 1, "c"])},
        "X: Feature names are only supported if all",
        TypeError,
    ),
    ("y=None", {"y": None}, "y to be passed, but the target y is None"),
    ("y=5", {"y": 5}, "y should be a 1d array"),
    ("y: text", {"y": TEXT}, "y should be a 1d array"),
    ("y: a dict", {"y": {TEXT: 1}}, "y should be a 1d array"),
    ("y: empty", {"y": Y[:0]}, "X and y have inconsistent numbers of samples: 40 .* 0"),
    ("y: short", {"y": Y[1:]}, "X and y have inconsistent numbers of samples: 40 .* 39"),
    ("y: long", {"y": [*Y, 0]}, "X and y have inconsistent numbers of samples: 40 .* 41"),
    ("y: two columns", {"y": np.c_[Y, Y]}, r"y must be a 1-D array.*got shape \(40, 2\)"),
    ("y: one-hot", {"y": np.eye(2)[Y]}, r"y must be a 1-D array.*got shape \(40, 2\)"),
    ("y: sparse", {"y": sparse.csr_matrix(np.eye(2)[Y])}, "y must be a 1-D array.*sparse"),
    ("y: rows of unequal length", {"y": [[LABEL], [1, 2]] * 20}, "y must be array-like"),
    ("y: NaN", {"y": changed(Y, NAN)}, "y contains NaN"),
    ("y: inf", {"y": changed(Y, INF)}, "y contains NaN or infinity"),
    ("y: None inside", {"y": [None, LABEL] * 20}, "y contains NaN"),
    ("y: NA", {"y": pd.array([pd.NA, LABEL] * 20, dtype="Int64")}, "y contains NaN"),
    ("y: continuous", {"y": X[:, 2]}, "y holds floats: Unknown label type: continuous"),
    ("y: complex", {"y": Y + 1j * LABEL}, "Complex data not supported: y must hold text"),
    ("y: objects", {"y": changed(Y, LABEL).astype(object)}, "y holds objects: Unknown label"),
    ("y: bytes", {"y": np.array([b"0", b"1"] * 20)}, "y holds bytes: .* not supported", TypeError),
    ("y: a label not in classes", {"y": changed(Y, LABEL)}, "y has labels .* not in classes"),
    ("y: text, classes numbers", {"y": [TEXT, "b"] * 20}, "y has labels .* not in classes"),
    ("y: mixed", {"y": [0, TEXT] * 20}, "y has labels .* not in classes"),
    ("y: dates", {"y": Y.astype("datetime64[s]")}, "y has labels .* not in classes"),
    ("groups=5", {"groups": 5}, r"groups must have one identifier .*\(40,\); got shape \(\)"),
    ("groups: text", {"groups": TEXT}, r"groups must have one identifier .* got shape \(\)"),
    ("groups: a dict", {"groups": {TEXT: 1}}, r"groups must have one identifier .* shape \(\)"),
    ("groups: empty", {"groups": []}, r"groups must have one identifier .* got shape \(0,\)"),
    ("groups: short", {"groups": [TEXT] * 39}, r"groups must have one .* got shape \(39,\)"),
    ("groups: long", {"groups": [TEXT] * 41}, r"groups must have one .* got shape \(41,\)"),
    ("groups: a column", {"groups": X[:, 2:]}, r"groups must have one .* got shape \(40, 1\)"),
    ("groups: a table", {"groups": frame()}, r"groups must have one .* got shape \(40, 3\)"),
    ("groups: unequal lengths", {"groups": [[NUMBER], [1, 2]] * 20}, "groups has values that can"),
    ("groups: NaN", {"groups": changed(ONES, NAN)}, "groups has a missing value"),
    ("groups: None inside", {"groups": [None, *[TEXT] * 39]}, "groups has a missing value"),
    ("groups: fractions", {"groups": X[:, 2]}, "groups has a number that is not whole"),
    ("groups: inf", {"groups": changed(ONES, INF)}, "groups has a number that is not whole"),
    ("sample_weight=2.0", {"sample_weight": 2.0}, r"sample_weight must be 40 .* shape \(\)"),
    ("sample_weight: text", {"sample_weight": TEXT}, "sample_weight must be 40 finite numbers"),
    ("sample_weight: texts", {"sample_weight": [TEXT] * 40}, "sample_weight must be 40 finite"),
    ("sample_weight: short", {"sample_weight": X[1:, 2]}, r"sample_weight must .* \(39,\)"),
    ("sample_weight: two axes", {"sample_weight": X}, r"sample_weight must .* \(40, 3\)"),
    ("sample_weight: NaN", {"sample_weight": changed(X[:, 2], NAN)}, "sample_weight must be 40"),
    ("sample_weight: inf", {"sample_weight": changed(X[:, 2], INF)}, "sample_weight must be 40"),
    (
        "sample_weight: objects",
        {"sample_weight": X[:, 2].astype(object)},
        "sample_weight .*objects$",
    ),
    ("sample_weight: complex", {"sample_weight": X[:, 2] * 1j}, "sample_weight must be 40"),
    (
        "sample_weight: unequal lengths",
        {"sample_weight": [[NUMBER], [1, 2]] * 20},
        "sample_weight must be array-like",
    ),
):
    refused(name, lambda _, given=given: fit(**given), message, *error)
refused(
    "sample_weight that no teacher takes",
    lambda _: fit({"base_estimator": KNeighborsClassifier()}, sample_weight=X[:, 2]),
    "sample_weight was given, but the fit of base_estimator takes none",
)
refused(
    "y: one class, classes=None",
    lambda _: fit({"classes": None}, y=np.full(40, LABEL)),
    "at least 2 classes; y has 1 class",
    warns="classes_ is read from the private labels",
)
refused(
    "X, y and groups where the teachers are predefined, one name missing",
    lambda _: fit({"partition": "predefined"}, groups=[None, *[TEXT] * 39]),
    "groups has a missing value",
)
# What only estimators can judge is left to them, and of their words the known ones are told
for name, rows, message in (
    ("NaN", changed(X, NAN, (5, 1)), "ValueError: Input X contains NaN"),
    ("inf", changed(X, INF, (5, 1)), "ValueError: Input X contains infinity"),
    ("sparse", sparse.csr_matrix(X), "TypeError: Sparse data was passed for X"),
):
    refused(
        f"X: {name}",
        lambda _, rows=rows: fit(X=rows),
        rf"teacher \d failed: .*{message}.*base_estimator",
        TeacherError,
        teachers=True,
    )

refused(
    "X: text among objects",
    lambda _: fit(X=changed(X.astype(object), TEXT, (5, 1)), X_public=X_PUBLIC.astype(object)),
    r"teacher \d failed: ValueError: could not convert string.*base_estimator",
    TeacherError,
    teachers=True,
)
refused(
    "X: complex",
    lambda _: fit(X=X + 1j, X_public=X_PUBLIC + 1j),
    r"teacher \d failed: ValueError: Complex data not supported.*base_estimator",
    TeacherError,
    teachers=True,
)
for name, rows, public, message in (
    (
        "one row of fractions",
        changed(X.astype(int), 0.5, (5, 1)).tolist(),
        "int",
        "than X_public, which has int64",
    ),
    ("objects", X.astype(object), "float", "than X_public, which has float64"),
    ("complex", X + 1j, "float", "than X_public, which has float64"),
    ("float32, sparse", sparse.csr_matrix(X.astype("f")), "float", "which has float64"),
):
    refused(
        f"X of another dtype: {name}",
        lambda _, rows=rows, public=public: fit(X=rows, X_public=X_PUBLIC.astype(public)),
        message,
    )
refused(
    "X of another dtype: text of another length",
    lambda _: fit(X=changed(X.astype(str), TEXT * 9), X_public=X_PUBLIC.astype(str)),
    "than X_public, which has .*; text as dtype object in both",
)
refused("X: a frame, X_public an array", lambda _: fit(X=frame()), "X is a DataFrame and X_public")
refused(
    "X: an array, X_public a frame",
    lambda _: fit(X_public=frame(X_PUBLIC)),
    "X is a ndarray and X_public a DataFrame",
)

# Public rows
for name, rows, message in (
    ("None", None, "X_public is missing: public, unlabelled rows"),
    ("PublicData(None)", PublicData(None), "X_public is missing"),
    ("5", 5, "Expected X_public as a 2D array"),
    ("text", "rows", "Expected X_public as a 2D array"),
    ("()", (), "Expected X_public as a 2D array"),
    ("one axis", X_PUBLIC[0], "Expected X_public as a 2D array.*got a 1D array"),
    ("empty", X_PUBLIC[:0], r"X_public has 0 sample\(s\)"),
    ("one row", X_PUBLIC[:1], "n_queries=6 is more than the rows of X_public, 1"),
    ("unequal lengths", [[1, 2, 3], [1]], "X_public must be array-like, with rows of one length"),
    ("rows and labels", (X_PUBLIC, np.zeros(30)), "X_public must be array-like"),
    ("a column missing", X_PUBLIC[:, 1:], "X_public does not have the features of X: .*2 features"),
    ("labels appended", np.c_[X_PUBLIC, np.zeros(30)], "X_public does not have the features of X"),
):
    refused(f"X_public: {name}", lambda _, rows=rows: fit(X_public=rows), message)
NAMES = "X_public does not have the features of X: .*"
for name, rows, message in (
    ("a label column", frame(X_PUBLIC, label=1), f"{NAMES}unseen at fit time:\n- label"),
    ("a column missing", frame(X_PUBLIC)[["a", "b"]], f"{NAMES}yet now missing:\n- c"),
    ("other names", frame(X_PUBLIC, "abz"), f"{NAMES}unseen at fit time:\n- z"),
    ("another order", frame(X_PUBLIC)[["b", "a", "c"]], f"{NAMES}same order"),
    ("duplicate names", frame(X_PUBLIC, "aac"), f"{NAMES}unique column names"),
    (
        "other dtypes",
        frame(X_PUBLIC).astype(np.float32),
        r"columns \['a', 'b', 'c'\] of X and X_public have different dtypes",
    ),
):
    refused(
        f"X_public, frames: {name}", lambda _, rows=rows: fit(X=frame(), X_public=rows), message
    )
refused(
    "X_public, frames: other categories",
    lambda _: fit(
        X=frame(kind=pd.Categorical([TEXT, "b"] * 20)),
        X_public=frame(X_PUBLIC, kind=pd.Categorical(["a", "b"] * 15)),
    ),
    r"columns \['kind'\] of X and X_public have different dtypes or categories",
)
refused(
    "X_public, frames: categories in another order",
    lambda _: fit(
        X=frame(kind=pd.Categorical(["b", "a"] * 20, categories=["b", "a"])),
        X_public=frame(X_PUBLIC, kind=pd.Categorical(["a", "b"] * 15)),
    ),
    r"columns \['kind'\] of X and X_public have different dtypes or categories",
)
for name, columns, public in (
    ("numbers", [1, 2, 4], [1, 2, 3]),
    ("numbers of another type", [1.0, 2.0, 3.0], [1, 2, 3]),
    (
        "levels",
        pd.MultiIndex([[1, 2, 3, NUMBER], [0]], [[0, 1, 2], [0, 0, 0]]),
        pd.MultiIndex([[1, 2, 3], [0]], [[0, 1, 2], [0, 0, 0]]),
    ),
    ("a name of them", pd.Index([1, 2, 3], name=TEXT), pd.Index([1, 2, 3])),
):
    refused(
        f"X_public, frames: other columns: {name}",
        lambda _, a=columns, b=public: fit(
            X=frame().set_axis(a, axis=1), X_public=frame(X_PUBLIC).set_axis(b, axis=1)
        ),
        "X has other columns than X_public",
    )
for name, ours, public in (
    ("fill value", pd.SparseDtype(float, 0.0), pd.SparseDtype(float, -0.0)),
    (
        "categories of objects",
        *(pd.CategoricalDtype(pd.Index(c, dtype=object)) for c in ([0, 1], [0, True])),
    ),
):
    refused(
        f"X_public, frames: types that only seem to be equal: {name}",
        lambda _, a=ours, b=public: fit(
            X=frame(kind=pd.Series([0, 1] * 20, dtype=a)),
            X_public=frame(X_PUBLIC, kind=pd.Series([0, 1] * 15, dtype=b)),
        ),
        r"columns \['kind'\] of X and X_public have different dtypes or categories",
    )
refused(
    "X of another dtype: what a dtype notes",
    lambda _: fit(X=X.astype(np.dtype(float, metadata={"of": TEXT}))),
    "X has another dtype than X_public",
)
refused(
    "X_public, frames: duplicate names in both",
    lambda _: fit(X=frame(columns="aac"), X_public=frame(X_PUBLIC, "aac")),
    "X: Expected unique column names",
)
refused(
    "X_public: NaN, a student of its own",
    lambda _: fit({"student": GaussianNB()}, X_public=changed(X_PUBLIC, NAN, (slice(None), 1))),
    "the student failed when tried on public rows.*nothing was spent.*contains NaN",
)
refused(
    "X_public: NaN, the teachers' own student",
    lambda _: fit(X_public=changed(X_PUBLIC, NAN, (slice(None), 1))),
    "teacher 0 failed: ValueError: Input X contains NaN",
    TeacherError,
    teachers=True,
)
for method in ("plan", "poll"):
    refused(
        f"{method} without X_public",
        lambda _, method=method: getattr(pate(), method)(X, Y),
        "X_public is missing",
    )
    refused(
        f"{method}, y short",
        lambda _, method=method: getattr(pate(), method)(X, Y[1:], X_PUBLIC),
        "X and y have inconsistent numbers of samples",
    )
refused(
    "plan, n_queries above X_public",
    lambda _: pate(n_queries=31).plan(X, Y, X_PUBLIC),
    "n_queries=31 is more than the rows of X_public, 30",
)

# Sites
SITES = Sites(no_load, ["a", "b", "c"])
for name, load, names, message in (
    ("load=5", 5, ["a"], "load must be callable.*got 5"),
    ("names=[]", no_load, [], "names must be a sequence of distinct names"),
    ("names=None", no_load, None, "names must be a sequence of distinct names.*got None"),
    ("names=5", no_load, 5, "names must be a sequence of distinct names.*got 5"),
    ("names: one text", no_load, "ab", "names must be a sequence of distinct names"),
    ("names twice", no_load, ["a", "a"], "names must be a sequence of distinct names"),
):
    refused(f"Sites: {name}", lambda _, a=load, b=names: Sites(a, b), message)
for name, params, given, message in (
    ("y", {}, {"y": Y}, "y must be None when X is Sites"),
    ("groups", {}, {"groups": [TEXT]}, "groups must be None when X is Sites"),
    ("sample_weight", {}, {"sample_weight": X[:, 2]}, "sample_weight must be None when X is Sites"),
    ("no classes", {"classes": None}, {}, "classes must be given when X is Sites"),
    ("one class", {"classes": [0]}, {}, "classes has 1 class"),
    ("no public rows", {}, {"X_public": None}, "X_public is missing"),
    ("duplicate names", {}, {"X_public": frame(X_PUBLIC, "aac")}, "X_public: .*unique column"),
):
    given = {"X": SITES, "y": None} | given
    refused(f"Sites, {name}", lambda _, a=params, b=given: fit(a, **b), message)
for name, load, message in (
    ("raises", no_load, "load raised KeyError"),
    ("returns None", lambda _: None, "TypeError"),
    ("a column missing", lambda _: (X[:, 1:], Y), "load must return X with the columns of X_pub"),
    ("a label missing", lambda _: (X, Y[1:]), "load must return X .* and y with one label per row"),
    ("labels unknown", lambda _: (X, changed(Y, LABEL)), "load returned labels .* not in classes"),
    ("text labels", lambda _: (X, [TEXT, "b"] * 20), "load returned labels .* not in classes"),
):
    refused(
        f"Sites, load: {name}",
        lambda _, load=load: fit(X=Sites(load, ["a", "b", "c"]), y=None),
        f"teacher 0 failed: .*{message}",
        TeacherError,
        teachers=True,
    )

# Votes that were cast before
for name, votes, message in (
    ("None", None, r"votes must have shape .* got shape \(\)"),
    ("text", TEXT, r"votes must have shape .* got shape \(\)"),
    ("one axis", VOTES[0], r"votes must have shape .* got shape \(2,\)"),
    ("one class", VOTES[:, :1], r"at least 2 classes; got shape \(30, 1\)"),
    ("unequal lengths", [[LABEL], [1, 2]], "votes must be array-like"),
    ("texts", VOTES.astype(str), "votes must be whole numbers; got an array of kind 'U'"),
    ("objects", VOTES.astype(object), "votes must be whole numbers; got an array of kind 'O'"),
    ("a mask", VOTES > 1, "votes must be whole numbers; got an array of kind 'b'"),
    ("negative", changed(VOTES, [LABEL, -LABEL]), "votes has negative counts"),
    ("fractions", changed(VOTES, [NUMBER, 0.5]), "votes must be finite whole numbers"),
    ("NaN", changed(VOTES, NAN), "votes must be finite whole numbers"),
    ("inf", changed(VOTES, INF), "votes must be finite whole numbers"),
    ("another sum", changed(VOTES, LABEL), "every row of votes must sum to the number of teach"),
    ("zeros", 0 * VOTES, "every row of votes must sum .* at least 1"),
    ("no rows", VOTES[:0], "votes has no rows"),
    ("a row missing", VOTES[1:], "votes has 29 rows and X_public 30"),
    ("a class too many", np.c_[VOTES, 0 * VOTES[:, 0]], "votes has 3 columns, and there are 2"),
):
    refused(f"fit_votes, votes: {name}", lambda _, votes=votes: fit_votes(votes), message)
for name, given, message in (
    ("no X_public", {"X_public": None}, "X_public is missing: the rows that were voted on"),
    ("X_public, a row missing", {"X_public": X_PUBLIC[1:]}, "votes has 30 rows and X_public 29"),
    ("X_public, one axis", {"X_public": X_PUBLIC[:, 0]}, "Expected X_public as a 2D array"),
    ("X_public, names", {"X_public": frame(X_PUBLIC, "aac")}, "X_public: .*unique column names"),
    ("unit=group", {"unit": "group"}, "unit='group', but what these votes protect is one teacher"),
    ("classes in another order", {"classes": [1, 0]}, "columns of votes are the sorted classes"),
    ("classes, one more", {"classes": [0, 1, 2]}, "votes has 2 columns, and there are 3 classes"),
    ("n_queries", {"n_queries": 31}, "n_queries=31 is more than the rows of X_public, 30"),
    ("SoftVote", {"aggregator": SoftVote(5.0)}, r"aggregator=SoftVote.*votes, which are counts"),
    ("n_teachers=0", {"n_teachers": 0}, "'n_teachers' parameter of PATEClassifier"),
):
    refused(f"fit_votes: {name}", lambda _, given=given: fit_votes(**given), message)
for name, temperature, params, message in (
    ("other classes", None, {"classes": [0, 2]}, r"votes are about other classes than classes="),
    ("unit=group", None, {"unit": "group"}, "what these votes protect is one record"),
    ("for SoftVote", None, {"aggregator": SoftVote(5.0)}, "aggregator=.*which are counts"),
    ("of SoftVote", 1.0, {}, "aggregator=GNMax.* sums of probabilities of temperature 1"),
    (
        "of another temperature",
        1.0,
        {"aggregator": SoftVote(5.0, temperature=2.0)},
        "aggregator=.* sums of probabilities of temperature 1",
    ),
):
    refused(
        f"fit_votes, polled: {name}",
        lambda _, t=temperature, params=params: fit_votes(polled(t), **params),
        message,
    )

# What is done with a fitted estimator
for name, call, message, *error in (
    ("predict before fit", lambda: pate().predict(X), "not fitted yet", NotFittedError),
    ("predict_proba before fit", lambda: pate().predict_proba(X), "not fitted", NotFittedError),
    ("fit_student before fit", lambda: pate().fit_student(X_PUBLIC), "not fitted", NotFittedError),
    ("predict, X=None", lambda: fitted().predict(None), "Expected X as a 2D array"),
    ("predict, X: one axis", lambda: fitted().predict(X[0]), "Expected X as a 2D array"),
    ("predict, X: empty", lambda: fitted().predict(X[:0]), r"X has 0 sample\(s\)"),
    ("predict, X: features", lambda: fitted().predict(X[:, 1:]), "X has 2 features, but PATEClas"),
    ("predict, X: lengths", lambda: fitted().predict([[NUMBER], [1, 2]]), "X must be array-like"),
    ("predict, X: NaN", lambda: fitted().predict(changed(X, NAN)), "Input X contains NaN"),
    ("predict_proba, X: features", lambda: fitted().predict_proba(X[:, :2]), "X has 2 features"),
    ("fit_student, X_public=None", lambda: fitted().fit_student(None), "Expected X_public as a 2D"),
    (
        "fit_student, a row missing",
        lambda: fitted().fit_student(X_PUBLIC[1:]),
        "X_public has 29 rows, and labels were released for the 30 rows",
    ),
    (
        "fit_student, a column missing",
        lambda: fitted().fit_student(X_PUBLIC[:, 1:]),
        "X_public does not have the features of X",
    ),
    (
        "fit_student, student: a regressor",
        lambda: fitted().fit_student(X_PUBLIC, LinearRegression()),
        "student must be a classifier",
    ),
    ("fit_student, student=5", lambda: fitted().fit_student(X_PUBLIC, 5), "student must be a clas"),
    (
        "fit_student, student: a class",
        lambda: fitted().fit_student(X_PUBLIC, GaussianNB),
        "student must be an estimator instance",
        TypeError,
    ),
    ("curator_.epsilon, method", lambda: fitted().curator_.epsilon(method="rdp"), "method must be"),
    ("curator_.rdp, method", lambda: fitted().curator_.rdp(method=None), "method must be .*None"),
    (
        "curator_.epsilon, conversion",
        lambda: fitted().curator_.epsilon(conversion="best"),
        "conversion must be 'improved' or 'classic'; got 'best'",
    ),
    ("curator_.rdp, orders=[1]", lambda: fitted().curator_.rdp(orders=[1]), "orders must be a non"),
    ("curator_.rdp, orders: text", lambda: fitted().curator_.rdp(orders="x"), "orders must be arr"),
):
    refused(name, lambda _, call=call: call(), message, *error)
for value in (0, 1, -1, NAN, "x", [1]):
    for method in ("exact", "data_independent"):
        refused(
            f"curator_.epsilon({method}), delta={short(value)}",
            lambda _, v=value, method=method: fitted().curator_.epsilon(v, method),
            "delta must be a number strictly between 0 and 1; got",
        )
    refused(
        f"curator_.epsilon of a budget, delta={short(value)}",
        lambda _, v=value: stopped().curator_.epsilon(v, "data_independent"),
        "delta must be a number strictly between 0 and 1; got",
    )
refused(
    "curator_.epsilon of a budget, another delta",
    lambda _: stopped().curator_.epsilon(1e-6, "data_independent"),
    "a budget at delta=1e-05 stopped the queries.*got 1e-06",
)

# Ledgers


def ledger(folder, epsilon=30.0, **params):
    return PrivacyLedger(folder / "ledger.sqlite", epsilon, **params)


def damaged(folder, damage):
    """The file of a ledger with an entry, and something done to it."""
    held, path = ledger(folder), folder / "ledger.sqlite"
    PATEClassifier(GaussianNB(), **QUICK, ledger=held).fit_votes(VOTES, X_PUBLIC)
    if callable(damage):
        path.write_bytes(damage(path.read_bytes()))
    else:
        with sqlite3.connect(path) as db:
            db.execute(damage)
        db.close()
    return held, path


for value in (0, -1, NAN, INF, "x", None, [1]):
    refused(
        f"PrivacyLedger, epsilon={short(value)}",
        lambda at, value=value: ledger(at, value),
        "epsilon must be a finite number above 0; got",
    )
for value in (0, 1, -1, NAN, "x", None):
    refused(
        f"PrivacyLedger, delta={short(value)}",
        lambda at, value=value: ledger(at, delta=value),
        "delta must be a number strictly between 0 and 1; got",
    )
for name, call, message, *error in (
    ("path=None", lambda at: PrivacyLedger(None, 1.0), "path must be .* got None", TypeError),
    ("path=5", lambda at: PrivacyLedger(5, 1.0), "path must be .* got 5", TypeError),
    ("path: a folder", lambda at: PrivacyLedger(at, 1.0), "cannot be used as a ledger"),
    ("path: nowhere", lambda at: ledger(at / "no"), "folder of the ledger does not exist"),
    (
        "a file of text",
        lambda at: PrivacyLedger(file_for_memory(at), 1.0),
        "file cannot be used as a ledger",
    ),
    (
        "another budget",
        lambda at: (ledger(at), ledger(at, 3.0)),
        "ledger.sqlite is the ledger of epsilon=30.*got epsilon=3",
    ),
    (
        "cut short",
        lambda at: PrivacyLedger(damaged(at, lambda b: b[:5000])[1], 30.0),
        "ledger.sqlite cannot be used as a ledger",
    ),
    (
        "overwritten",
        lambda at: PrivacyLedger(damaged(at, lambda b: b[:16] + b"x" * 5000)[1], 30.0),
        "ledger.sqlite cannot be used as a ledger",
    ),
    (
        "emptied",
        lambda at: PrivacyLedger(damaged(at, "DELETE FROM budget")[1], 30.0),
        "ledger.sqlite cannot be used as a ledger .it holds no budget",
    ),
    (
        "emptied, at fit",
        lambda at: fit({"ledger": damaged(at, "DELETE FROM budget")[0]}),
        "ledger.sqlite cannot be used as a ledger .it holds no budget",
    ),
    (
        "without its table, at fit",
        lambda at: fit({"ledger": damaged(at, "DROP TABLE spending")[0]}),
        "ledger.sqlite cannot be used as a ledger.*nothing was recorded",
    ),
    (
        "a random_state",
        lambda at: fit({"ledger": ledger(at), "random_state": 0}),
        "ledger refuses fits with a random_state.*got random_state=0",
    ),
    (
        "too small",
        lambda at: fit({"ledger": ledger(at, 1.0)}),
        "more than the ledger's epsilon=1",
        BudgetExceededError,
    ),
    (
        "another change of the data",
        lambda at: fit({"ledger": damaged(at, lambda b: b)[0], "epsilon": 3.0, "n_queries": 1}),
        "costs of one change of the data.*Use the same partition and unit",
    ),
    (
        "no noise",
        lambda at: fit({"ledger": ledger(at), "aggregator": PluralityVote(), "epsilon": None}),
        "costs epsilon=inf.*ledger's epsilon=30",
        BudgetExceededError,
    ),
):
    refused(f"PrivacyLedger: {name}", call, message, *error)

# Searches
for name, values in {
    "epsilon": (0, -1, NAN, INF, "x"),
    "delta": (0, 1, NAN, "x", None),
    "n_trials": (1, 0, -1, NAN, INF, "x"),
    "distribution": ("uniform", None, 5),
    "eta": (-1, 21, NAN, "x", None),
    "scoring": (5, ["accuracy"]),
    "validation_fraction": (0, 0.6, -0.1, NAN, "x", None),
    "random_state": ("x", -1, 1.5),
}.items():
    for value in values:
        refused(
            f"search, {name}={short(value)}",
            lambda _, name=name, value=value: search({name: value}),
            rf"'{name}' parameter of PrivateGridSearchCV must be .*Got",
        )
for name, how, message, *error in (
    ("estimator: another", {"clf": GaussianNB()}, "'estimator' parameter of PrivateGridSearchCV"),
    ("estimator: a class", {"clf": PATEClassifier}, "'estimator' parameter of PrivateGridSearchCV"),
    ("param_grid=5", {"grid": 5}, "'param_grid' parameter of PrivateGridSearchCV"),
    ("param_grid: text", {"grid": "x"}, "'param_grid' parameter of PrivateGridSearchCV"),
    ("param_grid=[]", {"grid": []}, "no candidates; give at least one set of parameters"),
    ("param_grid=[1]", {"grid": [1]}, "Parameter grid is not a dict", TypeError),
    (
        "param_grid: no list",
        {"grid": {"n_teachers": 5}},
        "grid for parameter 'n_teachers' needs to be a list",
        TypeError,
    ),
    ("param_grid: no value", {"grid": {"n_teachers": []}}, "parameter 'n_teachers' .* non-empty"),
    ("param_grid: unknown", {"grid": {"teachers": [5]}}, "Invalid parameter 'teachers'"),
    ("param_grid: out of range", {"grid": {"n_teachers": [0]}}, "'n_teachers' parameter of PATE"),
    ("param_grid: epsilon", {"grid": {"epsilon": [1.0]}}, "epsilon of the search .* leave it out"),
    ("param_grid: partition", {"grid": {"partition": ["hash"]}}, "cannot differ in partition"),
    ("param_grid: student__", {"grid": {"student__C": [1]}}, "student is None, so it has no param"),
    ("n_trials above a million", {"params": {"n_trials": 1e9}}, "number of trials .* 1e6"),
    (
        "validation_fraction of no record",
        {"params": {"validation_fraction": 1e-9}},
        "validation_fraction=1e-09 is less than one of the 40 private records",
    ),
    (
        "scoring without X_val",
        {"params": {"scoring": "accuracy"}},
        "scoring='accuracy' needs public rows, X_val and y_val",
    ),
    (
        "scoring unknown",
        {"params": {"scoring": "best"}, "X_val": X_PUBLIC, "y_val": np.arange(30) % 2},
        "scoring|'best'",
    ),
    ("X_public missing", {"X_public": None}, "X_public is missing"),
    ("X_public, features", {"X_public": X_PUBLIC[:, 1:]}, "X_public does not have the features"),
    ("y_val missing", {"X_val": X_PUBLIC}, "X_val and y_val belong together"),
    (
        "X_val, features",
        {"X_val": X_PUBLIC[:, 1:], "y_val": np.zeros(30)},
        r"X_val must have rows with the features of X_public; got shapes \(30, 2\)",
    ),
    (
        "y_val, unknown labels",
        {"X_val": X_PUBLIC, "y_val": np.full(30, 7)},
        "y_val has labels that are not in classes",
    ),
    ("y: unknown labels", {"y": changed(Y, LABEL)}, "y has labels that are not in classes"),
    ("y: complex", {"y": Y + 1j * LABEL}, "Complex data not supported: y must hold text"),
    ("y: short", {"y": Y[1:]}, "X and y have inconsistent numbers of samples"),
):
    refused(f"search, {name}", lambda _, how=how: search(**how), message, *error)
for name, params, message in (
    ("estimator with a random_state", {"random_state": 0}, "estimator has random_state=0"),
    ("estimator without classes", {"classes": None}, r"estimator needs classes=\[...\]"),
    (
        "StableArgmax",
        {"aggregator": StableArgmax(0.05, 2)},
        "StableArgmax.*a delta of its own.*neither StableArgmax",
    ),
):
    refused(
        f"search, {name}",
        lambda _, params=params: search({"epsilon": None}, clf=pate(**params)),
        message,
        warns="counts a query as stable|classes_ is read",
    )
refused(
    "search before fit",
    lambda _: PrivateGridSearchCV(pate(), {}).predict(X),
    "not fitted",
    NotFittedError,
)
for value in (0, -1, 2.5, "x", None):
    refused(
        f"randomized search, n_iter={short(value)}",
        lambda _, n=value: PrivateRandomizedSearchCV(pate(), {"n_queries": [3]}, n_iter=n).fit(
            X, Y, X_PUBLIC
        ),
        "'n_iter' parameter of PrivateRandomizedSearchCV must be",
    )
refused(
    "randomized search, param_distributions=5",
    lambda _: PrivateRandomizedSearchCV(pate(), 5).fit(X, Y, X_PUBLIC),
    "'param_distributions' parameter of PrivateRandomizedSearchCV",
)

# Costs
MECHANISM, ORDERS_MUST = GNMax(5.0), "orders must be "


def cost_at(scale, orders):
    return GNMax(scale).costs(orders)(5)


for value in ([1], [0.5], [NAN], [INF], [], "x", None, [[2, 3]], ["a"], [[2], [3, 4]], 0):
    for call in (
        lambda orders: exact_rdp(MECHANISM, [[5, 5]], orders),
        lambda orders: worst_case_rdp(MECHANISM, orders),
        lambda orders: rdp_to_epsilon([1.0], 1e-5, orders),
        lambda orders: smooth_release_rdp(orders, 0.1, 1.0),
    ):
        function = call.__code__.co_names[0]
        refused(f"{function}, orders={short(value)}", lambda _, c=call, v=value: c(v), ORDERS_MUST)
for value in (0, 1, -1, NAN, "x", None):
    for function, call in (
        ("gnmax_sigma", lambda delta: gnmax_sigma(1.0, delta, 5)),
        ("lnmax_gamma", lambda delta: lnmax_gamma(1.0, delta, 5)),
        ("gdp_mu", lambda delta: gdp_mu(1.0, delta)),
        ("gdp_to_epsilon", lambda delta: gdp_to_epsilon(1.0, delta)),
        ("epsilon_by_order", lambda delta: epsilon_by_order([1.0], delta, [2.0])),
        (
            "data_independent_epsilon",
            lambda d: data_independent_epsilon(MECHANISM, 5, d, n_teachers=9, n_classes=2),
        ),
        ("least_scale", lambda delta: least_scale(cost_at, 1.0, delta)),
    ):
        refused(
            f"{function}, delta={short(value)}",
            lambda _, c=call, v=value: c(v),
            "delta must be a number strictly between 0 and 1; got",
        )
for value in (0, -1, NAN, INF, "x", None):
    for function, name, call in (
        ("gnmax_sigma", "epsilon", lambda v: gnmax_sigma(v, 1e-5, 5)),
        ("lnmax_gamma", "epsilon", lambda v: lnmax_gamma(v, 1e-5, 5)),
        ("gdp_mu", "epsilon", lambda v: gdp_mu(v, 1e-5)),
        ("least_scale", "epsilon", lambda v: least_scale(cost_at, v, 1e-5)),
        ("gnmax_rdp", "sigma", lambda v: gnmax_rdp([[5, 5]], v, [2.0])),
        ("smooth_release_rdp", "sigma", lambda v: smooth_release_rdp([2.0], 0.1, v)),
        ("smooth_release_rdp", "beta", lambda v: smooth_release_rdp([2.0], v, 1.0)),
        ("smooth_sensitivity", "beta", lambda v: smooth_sensitivity([1.0, 0.5], [1], v)),
        ("TrialCount", "mean", lambda v: TrialCount(v)),
    ):
        refused(
            f"{function}, {name}={short(value)}",
            lambda _, c=call, v=value: c(v),
            f"{name} must be a finite number above 0; got",
        )
for value in (-1, 2.5, NAN, INF, "x"):
    for function, name, call in (
        ("gnmax_sigma", "n_queries", lambda v: gnmax_sigma(1.0, 1e-5, v)),
        (
            "gnmax_sigma",
            "n_teachers",
            lambda v: gnmax_sigma(1.0, 1e-5, 5, n_classes=3, n_teachers=v),
        ),
        (
            "gnmax_sigma",
            "n_classes",
            lambda v: gnmax_sigma(1.0, 1e-5, 5, n_classes=v, n_teachers=100),
        ),
        (
            "lnmax_gamma",
            "n_teachers",
            lambda v: lnmax_gamma(1.0, 1e-5, 5, n_classes=3, n_teachers=v),
        ),
        (
            "data_independent_epsilon",
            "n_queries",
            lambda v: data_independent_epsilon(MECHANISM, v, 1e-5),
        ),
        (
            "data_independent_epsilon",
            "n_teachers",
            lambda v: data_independent_epsilon(MECHANISM, 5, 1e-5, n_teachers=v, n_classes=2),
        ),
        (
            "worst_case_rdp",
            "n_classes",
            lambda v: worst_case_rdp(MECHANISM, [2.0], n_teachers=10, n_classes=v),
        ),
        (
            "worst_case_pure",
            "n_teachers",
            lambda v: worst_case_pure(MECHANISM, n_teachers=v, n_classes=3),
        ),
        (
            "margin_rdp",
            "n_teachers",
            lambda v: margin_rdp(MECHANISM, [2.0], n_teachers=v, n_classes=2),
        ),
        (
            "margin_rdp",
            "n_classes",
            lambda v: margin_rdp(MECHANISM, [2.0], n_teachers=10, n_classes=v),
        ),
    ):
        refused(
            f"{function}, {name}={short(value)}",
            lambda _, c=call, v=value: c(v),
            f"{name} must be a whole number, at least [012]; got",
        )
for name, call, message in (
    ("gnmax_sigma, n_queries=0", lambda: gnmax_sigma(1.0, 1e-5, 0), "n_queries must be a whole"),
    (
        "gnmax_sigma, n_teachers=0",
        lambda: gnmax_sigma(1.0, 1e-5, 5, n_classes=3, n_teachers=0),
        "n_teachers must be a",
    ),
    (
        "gnmax_sigma, n_classes=1",
        lambda: gnmax_sigma(1.0, 1e-5, 5, n_classes=1, n_teachers=9),
        "n_classes .*at least 2",
    ),
    ("rdp_to_epsilon, lengths", lambda: rdp_to_epsilon([1.0, 2.0], 1e-5, [2]), "rdp must have one"),
    ("rdp_to_epsilon, negative", lambda: rdp_to_epsilon([-1.0], 1e-5, [2]), "rdp must hold costs"),
    ("rdp_to_epsilon, NaN", lambda: rdp_to_epsilon([NAN], 1e-5, [2]), "rdp must hold costs"),
    ("gdp_to_epsilon, mu=-1", lambda: gdp_to_epsilon(-1, 1e-5), "mu must be at least 0; got -1"),
    ("gdp_to_epsilon, mu=nan", lambda: gdp_to_epsilon(NAN, 1e-5), "mu must be at least 0; got nan"),
    ("pure_rdp, epsilon=-1", lambda: pure_rdp(-1, [2.0]), "epsilon must be a finite number"),
    ("exact_rdp, votes", lambda: exact_rdp(MECHANISM, [[5, -1]], [2.0]), "votes has negative"),
    ("exact_rdp, sigma=None", lambda: exact_rdp(GNMax(None), [[5, 5]], [2.0]), "Set sigma to a"),
    ("TrialCount, eta=-1", lambda: TrialCount(5, eta=-1), "eta from -0.9 to 20; got .*eta=-1"),
    ("TrialCount, eta=x", lambda: TrialCount(5, eta="x"), "eta must be a number; got 'x'"),
    ("TrialCount, eta=nan", lambda: TrialCount(5, eta=NAN), "eta from -0.9 to 20; got .*eta=nan"),
    ("TrialCount, distribution", lambda: TrialCount(5, "uniform"), "distribution must be"),
    (
        "smooth_sensitivity, half_margin",
        lambda: smooth_sensitivity([1.0, 0.5], [2], 0.1),
        "half_margin must be",
    ),
    (
        "smooth_sensitivity, half_margin=x",
        lambda: smooth_sensitivity([1.0], "x", 0.1),
        "half_margin must be",
    ),
    (
        "smooth_sensitivity, NaN",
        lambda: smooth_sensitivity([1.0, NAN], [1], 0.1),
        "cost_by_half_margin",
    ),
    (
        "smooth_sensitivity, axes",
        lambda: smooth_sensitivity([[1.0]], [0], 0.1),
        "cost_by_half_margin",
    ),
    (
        "smooth_sensitivity, text",
        lambda: smooth_sensitivity("x", [0], 0.1),
        "cost_by_half_margin must",
    ),
    ("half_margins, votes", lambda: half_margins([[5, -1]]), "votes has negative counts"),
    (
        "plan_queries, aggregator",
        lambda: plan_queries(
            *("x", 5),
            **{"n_public": 9, "n_teachers": 9, "n_classes": 2, "epsilon": 1.0, "delta": 1e-5},
        ),
        "aggregator must be an Aggregator.*got 'x'",
    ),
):
    refused(name, lambda _, call=call: call(), message)

# The auditor
for name, votes, neighbour, message in (
    ("votes: one class", [5], None, "votes must have shape"),
    ("votes: negative", [5, -1], None, "votes has negative counts"),
    ("votes: fractions", [5.5, 4.5], None, "votes must be finite whole numbers"),
    ("votes: none", [0, 0], None, "every row of votes must sum"),
    ("votes: text", TEXT, None, "votes must"),
    ("neighbour_votes: two moves", [5, 5], [7, 3], "neighbour_votes must be votes with one"),
    ("neighbour_votes: the same", [5, 5], [5, 5], "neighbour_votes must be votes with one"),
    ("neighbour_votes: a class more", [5, 5], [5, 4, 1], "neighbour_votes must be votes with one"),
):
    refused(
        f"audit_aggregator, {name}",
        lambda _, v=votes, n=neighbour: audit_aggregator(MECHANISM, v, n, n_samples=200),
        message,
    )
for name, values, message in (
    ("confidence", (0, 1.0, NAN, "x"), "confidence must lie strictly between 0 and 1; got"),
    ("n_samples", (99, 500.0, "x"), "n_samples must be a whole number, at least 100; got"),
    ("delta", (1, -1, NAN, "x", None), "delta must be a number from 0 to below 1; got"),
):
    for value in values:
        refused(
            f"audit_aggregator, {name}={short(value)}",
            lambda _, n=name, v=value: audit_aggregator(MECHANISM, [5, 5], **{n: v}),
            message,
        )

# Students, public data and transformers
THREE = np.zeros((3, 1))
for name, y, message in (
    ("a row missing", [[0.5, 0.5]] * 2, r"y must hold .* 3 rows of X; got shape \(2, 2\)"),
    ("one class", [[1.0]] * 3, r"y must hold .* at least 2 classes .* shape \(3, 1\)"),
    ("three axes", [[[0.5, 0.5]]] * 3, r"y must hold .* got shape \(3, 1, 2\)"),
    ("None", None, r"y must hold .* got shape \(\)"),
    ("another sum", [[0.5, 0.6]] * 3, "soft labels y must be a distribution"),
    ("negative", [[1.5, -0.5]] * 3, "soft labels y must be a distribution"),
    ("NaN", [[NAN, 1.0]] * 3, "soft labels y must be a distribution"),
    ("text", [["a", "b"]] * 3, "soft labels y must be a distribution"),
    ("objects", np.array([[0.5, 0.5]] * 3, dtype=object), "soft labels y must be a distribution"),
    ("unequal lengths", [[0.5, 0.5], [1.0], [1.0]], "y must be array-like"),
    ("hard, NaN", [NAN, 0, 1], "y contains NaN"),
):
    refused(
        f"SoftLabelClassifier, y: {name}",
        lambda _, y=y: SoftLabelClassifier(GaussianNB()).fit(THREE, y),
        message,
    )
SOFT = [[0.5, 0.5]] * 3
for name, call, message, *error in (
    (
        "SoftLabelClassifier, estimator=5",
        lambda: SoftLabelClassifier(5).fit(THREE, SOFT),
        "'estimator' parameter of SoftLabelClassifier",
    ),
    (
        "SoftLabelClassifier, no weights",
        lambda: SoftLabelClassifier(KNeighborsClassifier()).fit(THREE, SOFT),
        r"KNeighborsClassifier\(\) takes no sample_weight",
    ),
    (
        "SoftLabelClassifier before fit",
        lambda: SoftLabelClassifier(GaussianNB()).predict(THREE),
        "not fitted yet",
        NotFittedError,
    ),
    ("PublicData()", lambda: PublicData(), "missing 1 required positional arg.*'X'", TypeError),
    ("PublicData(X, y)", lambda: PublicData(X_PUBLIC, Y), "positional arguments", TypeError),
    (
        "FitOnPublic without X_public",
        lambda: FitOnPublic(StandardScaler()).fit(X),
        "FitOnPublic got no X_public",
    ),
    (
        "FitOnPublic, transformer=5",
        lambda: FitOnPublic(5).fit(X, X_public=X_PUBLIC),
        "'transformer' parameter of FitOnPublic",
    ),
    (
        "FitOnPublic, transformer: a classifier",
        lambda: FitOnPublic(GaussianNB()).fit(X, X_public=X_PUBLIC),
        "'transformer' parameter of FitOnPublic",
    ),
    (
        "FitOnPublic before fit",
        lambda: FitOnPublic(StandardScaler()).transform(X),
        "not fitted yet",
        NotFittedError,
    ),
):
    refused(name, lambda _, call=call: call(), message, *error)

# Data sets
for fetch in (datasets.fetch_adult, datasets.fetch_diabetes130, datasets.fetch_mnist):
    for value in ("Train", None, 5, ["all"]):
        refused(
            f"{fetch.__name__}, subset={short(value)}",
            lambda _, fetch=fetch, value=value: fetch(subset=value),
            "subset must be .*got",
        )
    refused(
        f"{fetch.__name__}, data_home: nothing there",
        lambda at, fetch=fetch: fetch(data_home=at),
        "Found no files of .*Looked for: .*data_home=D",
        FileNotFoundError,
    )
    refused(
        f"{fetch.__name__}, data_home=5",
        lambda _, fetch=fetch: fetch(data_home=5),
        "data_home must be .*got 5",
        TypeError,
    )


# --- one error, early, that names what is wrong --------------------------------------------------


def said(error, warned=()):
    """All that an error and warnings show: messages, causes, tracebacks, attributes."""
    parts = traceback.format_exception(error)
    while error is not None:
        parts += [str(error), repr(error), repr(error.args)]
        error = error.__cause__
    return "\n".join([*parts, *(str(w.message) for w in warned)])


def state(clf):
    return [n for n in vars(clf) if n.endswith("_") and not n.startswith("_")]


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    def fetch_openml(*args, **options):
        raise OSError("no network")

    monkeypatch.setattr(datasets, "fetch_openml", fetch_openml)
    monkeypatch.delenv("SKLEARN_PATE_DATA", raising=False)
    MADE.clear()
    Teacher.fits = 0


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_wrong_input_is_one_early_error_that_names_it(case, tmp_path):
    with warnings.catch_warnings(record=True) as warned, pytest.raises(case.error) as caught:
        warnings.simplefilter("always")
        case.call(tmp_path)
    error = caught.value
    assert re.search(case.match, str(error), re.DOTALL), str(error)
    assert error.__context__ is None or error.__suppress_context__  # raised on purpose, or alone
    assert isinstance(error, TeacherError) == case.teachers
    assert not [s for s in SECRETS if s in said(error, warned)]
    unexpected = [str(w.message) for w in warned]
    assert not [m for m in unexpected if case.warns is None or not re.search(case.warns, m)]
    assert Teacher.fits == 0 or case.teachers
    assert [state(made) for made in MADE if not isinstance(made, type)] == [[]] * len(MADE)


def test_the_search_for_private_values_finds_what_is_there():
    with pytest.raises(ValueError) as caught:
        raise ValueError("the cause") from KeyError(TEXT)
    assert TEXT in said(caught.value) and str(NUMBER) in said(ValueError(X[0, 2]))


# --- types of columns of other libraries ---------------------------------------------------------


def arrow_frame(values, kind):
    arrow = pytest.importorskip("pyarrow", reason="needs pyarrow")
    kinds = {"coded": arrow.dictionary(arrow.int8(), arrow.string()), "text": arrow.string()}
    kinds["list"] = arrow.list_(kinds["coded"])
    kinds["structure"] = arrow.struct([arrow.field("in", kinds["coded"])])
    kinds["map"] = arrow.map_(arrow.string(), kinds["list"])
    wrapped = {
        "list": lambda value: [value],
        "structure": lambda value: {"in": value},
        "map": lambda value: [("in", [value])],
    }.get(kind, lambda value: value)
    column = arrow.array(list(map(wrapped, values)), kinds[kind])
    return pd.DataFrame({"kind": pd.arrays.ArrowExtensionArray(column)})


def polars_frame(values, kind):
    polars = pytest.importorskip("polars", reason="needs polars")
    coded = polars.Categorical
    if kind.startswith("named"):  # these do not equal the class
        coded = polars.Categorical(polars.Categories("animals"))
    kinds = {
        **{"named": coded, "named, list": polars.List(coded)},
        **{"coded": coded, "list": polars.List(coded), "text": polars.String},
        **{"array": polars.Array(coded, 1), "structure": polars.Struct({"in": coded})},
        "fixed": polars.Enum(["a", "b", TEXT]),
    }
    wrapped = {
        **dict.fromkeys(("list", "array", "named, list"), lambda value: [value]),
        "structure": lambda value: {"in": value},
    }.get(kind, lambda value: value)
    return polars.DataFrame({"kind": polars.Series(list(map(wrapped, values)), dtype=kinds[kind])})


class Codes(Teacher):
    """Takes whatever it is given."""

    def fit(self, X, y):
        Codes.fits += 1
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.zeros(X.shape[0], dtype=int)


OF_ANY = {"base_estimator": Codes(), "student": Codes()}
CODED = [
    *((arrow_frame, kind) for kind in ("coded", "list", "structure", "map")),
    *(
        (polars_frame, kind)
        for kind in ("coded", "list", "array", "structure", "named", "named, list")
    ),
]


@pytest.mark.parametrize(("make", "kind"), CODED)
def test_codes_that_are_given_out_as_values_appear_are_refused(make, kind):
    public = make(["a", "b"] * 15, kind)
    for values in ([TEXT, *["a", "b"] * 19, "a"], ["a", "b"] * 20):
        with pytest.raises(
            ValueError, match=r"columns \['kind'\] of X hold dictionaries"
        ) as caught:
            fit(OF_ANY, X=make(values, kind), X_public=public)
        assert TEXT not in said(caught.value)
    with pytest.raises(TeacherError, match="teacher 0 failed: load must return X with categories"):
        site = Sites(lambda name: (make(["a", "b"] * 20, kind), Y), ["a", "b", "c"])
        fit(OF_ANY, X=site, y=None, X_public=public)


def test_a_dictionary_of_arrow_shows_the_records_of_others():
    """What the refusal is for: codes of all rows follow the first record."""
    codes = []
    for first in ("a", "b"):
        column = arrow_frame([first, "b", "a"], "text")["kind"].array._pa_array.dictionary_encode()
        codes.append(column.slice(1).chunk(0).indices.to_pylist())
    assert codes[0] != codes[1]


@pytest.mark.parametrize(
    ("make", "kind"), [(arrow_frame, "text"), (polars_frame, "text"), (polars_frame, "fixed")]
)
def test_other_columns_of_arrow_and_polars_pass(make, kind):
    clf = pate(**OF_ANY).fit(make([TEXT, *"ab" * 19, "a"], kind), Y, make(["a", "b"] * 15, kind))
    assert clf.n_features_in_ == 1


def test_categories_of_polars_are_compared():
    polars = pytest.importorskip("polars", reason="needs polars")
    rows = [
        polars.Series(list("ab") * n, dtype=polars.Enum(k)) for n, k in ((20, "ab"), (15, "ba"))
    ]
    X, X_public = (polars.DataFrame({"kind": column}) for column in rows)
    with pytest.raises(ValueError, match=r"columns \['kind'\] of X and X_public have different"):
        fit(OF_ANY, X=X, X_public=X_public)


def test_tables_whose_types_cannot_be_compared_are_refused():
    arrow = pytest.importorskip("pyarrow", reason="needs pyarrow")
    X, X_public = (arrow.table({"a": np.arange(n)}) for n in (40, 30))
    with pytest.raises(ValueError, match="X and X_public must be arrays, .* or DataFrames"):
        fit(OF_ANY, X=X, X_public=X_public)


def test_sites_are_compared_as_other_rows_are():
    def load(name):
        kinds = ["b", "a"] if name == "d" else ["a", "b"]
        return pd.DataFrame({"kind": pd.Categorical(["a", "b"] * 20, categories=kinds)}), Y

    public = pd.DataFrame({"kind": pd.Categorical(["a", "b"] * 15)})
    given = {"y": None, "X_public": public}
    with pytest.raises(TeacherError, match="teacher 3 failed: load must return X with the dtypes"):
        fit(OF_ANY, X=Sites(load, list("abcd")), **given)
    fit(OF_ANY, X=Sites(load, list("efgh")), **given)
    with pytest.raises(
        TeacherError, match="teacher 0 failed: load must return X as a DataFrame if"
    ):
        fit(OF_ANY, X=Sites(lambda name: (X[:, :1], Y), list("abcd")), **given)


# --- unusual input that is handled as documented -------------------------------------------------


def spent(**params):
    return lambda: fit(params).privacy_spent_


LARGE_DELTA = "delta=.* is not below one over the number of"
BARE = {"aggregator": PluralityVote(), "epsilon": None}
SURE = {"epsilon": None, "n_queries": 20, "random_state": 0}
LEAK = "X_public is X: .* pass rows that are public"

ACCEPTED = {
    "n_teachers=1": (lambda: fit(BARE | {"n_teachers": 1}).n_teachers_ == 1, ""),
    "n_teachers: numpy": (lambda: fit({"n_teachers": np.int64(4)}).n_teachers_ == 4, ""),
    "n_teachers=True, an int": (
        lambda: fit(BARE | {"n_teachers": True}).n_teachers_ == 1,
        "",
    ),
    "n_teachers: all records": (lambda: fit({"n_teachers": 40}).n_teachers_ == 40, ""),
    "n_queries: numpy": (lambda: fit({"n_queries": np.int32(5)}).privacy_spent_.n_queries == 5, ""),
    "n_queries: all rows": (
        lambda: len(set(fit({"n_queries": 30, "epsilon": None}).query_indices_)) == 30,
        "",
    ),
    "epsilon: numpy": (lambda: fit({"epsilon": np.float32(20)}).privacy_spent_.epsilon <= 20, ""),
    "epsilon: an int": (lambda: fit({"epsilon": 20}).privacy_spent_.epsilon <= 20, ""),
    "epsilon=None, noise given": (
        lambda: fit({"epsilon": None, "aggregator": GNMax(1.5)}).privacy_spent_.epsilon < INF,
        "",
    ),
    "epsilon=None, no noise": (
        lambda: fit(BARE).privacy_spent_.epsilon == INF,
        "",
    ),
    "epsilon that drowns the votes": (
        lambda: fit({"epsilon": 0.1, "aggregator": None}).privacy_spent_.epsilon <= 0.1,
        "drowns the largest possible margin",
    ),
    "epsilon for fewer queries": (
        lambda: fit({"epsilon": 8.0}).privacy_spent_.n_queries < 6,
        "pays for . of the 6 queries wanted",
    ),
    "delta: numpy": (lambda: fit({"delta": np.float64(1e-6)}).privacy_spent_.delta == 1e-6, ""),
    "delta=1e-300": (lambda: fit({"delta": 1e-300, "epsilon": 500.0}).n_teachers_ == 4, ""),
    "delta=0.1, 40 records": (
        lambda: fit({"delta": 0.1}).privacy_spent_.delta == 0.1,
        f"{LARGE_DELTA} records, 40",
    ),
    "delta of one over the records": (
        lambda: fit({"delta": 1 / 40}).n_teachers_ == 4,
        f"{LARGE_DELTA} records, 40",
    ),
    "delta below one over the records": (lambda: fit({"delta": 1 / 41}).n_teachers_ == 4, ""),
    "delta=0.1, records not public, 4 teachers": (
        lambda: fit({"delta": 0.1}, groups=np.arange(40)).n_teachers_ == 4,
        "",
    ),
    "delta=0.3, records not public, 4 teachers": (
        lambda: fit({"delta": 0.3}, groups=np.arange(40)).n_teachers_ == 4,
        f"{LARGE_DELTA} teachers, 4",
    ),
    "delta=0.1, polled": (
        lambda: fit_votes(polled(), delta=0.1).n_teachers_ == 4,
        f"{LARGE_DELTA} records, 40",
    ),
    "delta=0.3, bare votes": (
        lambda: fit_votes(delta=0.3).n_teachers_ == 4,
        f"{LARGE_DELTA} teachers, 4",
    ),
    "delta=0.1 of a search": (
        lambda: search({"delta": 0.1, "epsilon": None}).privacy_spent_.delta == 0.1,
        f"{LARGE_DELTA} records, 40",
    ),
    "classes: a range": (lambda: fit({"classes": range(2)}).classes_.tolist() == [0, 1], ""),
    "classes: a Series": (lambda: fit({"classes": pd.Series([1, 0])}).n_teachers_ == 4, ""),
    "classes that no record has": (
        lambda: len(fit(BARE | {"classes": [0, 1, 2, 3]}).classes_) == 4,
        "",
    ),
    "classes=None": (
        lambda: fit({"classes": None}).classes_.tolist() == [0, 1],
        "classes_ is read from the private labels",
    ),
    "keep_teachers: numpy": (
        lambda: len(fit({"keep_teachers": np.True_}).curator_.teachers) == 4,
        "",
    ),
    "random_state: numpy": (lambda: fit({"random_state": np.int64(3)}).n_teachers_ == 4, ""),
    "accounting=ptr with a list of one stage": (
        lambda: (
            fit(PTR | {"aggregator": [GNMax(2.0)], "n_queries": [5]}).privacy_spent_.n_queries == 5
        ),
        "",
    ),
    "threshold of all teachers": (
        lambda: fit(SURE | {"aggregator": ConfidentGNMax(4, 0.3, 0.3)}).n_teachers_ == 4,
        "",
    ),
    "threshold: numpy": (
        lambda: fit(SURE | {"aggregator": ConfidentGNMax(np.int64(2), 0.3, 0.3)}).n_teachers_ == 4,
        "",
    ),
    "threshold=1.0, a share": (
        lambda: fit(SURE | {"aggregator": ConfidentGNMax(1.0, 0.3, 0.3)}).n_teachers_ == 4,
        "",
    ),
    "X: a list": (lambda: fit(X=X.tolist()).n_features_in_ == 3, ""),
    "X: numbers as objects": (
        lambda: fit(X=X.astype(object), X_public=X_PUBLIC.astype(object)).n_features_in_ == 3,
        "",
    ),
    "X: one row, one teacher": (
        lambda: fit(BARE | {"n_teachers": 1}, X=X[:1], y=[1]).n_teachers_ == 1,
        "",
    ),
    "X_public: a list": (lambda: fit(X_public=X_PUBLIC.tolist()).n_teachers_ == 4, ""),
    "X_public: PublicData": (lambda: fit(X_public=PublicData(X_PUBLIC)).n_teachers_ == 4, ""),
    "X_public: PublicData twice": (
        lambda: fit(X_public=PublicData(PublicData(X_PUBLIC))).n_teachers_ == 4,
        "",
    ),
    "X_public: one row": (
        lambda: fit({"n_queries": 1}, X_public=X_PUBLIC[:1]).n_teachers_ == 4,
        "",
    ),
    "X_public is X": (lambda: fit(X_public=X).n_teachers_ == 4, LEAK),
    "X_public is X, in PublicData": (lambda: fit(X_public=PublicData(X)).n_teachers_ == 4, LEAK),
    # Whether public rows equal private ones is private: a warning would tell who is among them
    "X_public equal to X": (lambda: fit(X_public=X.copy()).n_teachers_ == 4, ""),
    "X_public with a row of X": (
        lambda: fit(X_public=np.vstack([X_PUBLIC, X[:1]])).n_teachers_ == 4,
        "",
    ),
    "y: booleans": (lambda: fit(y=Y == 1).classes_.tolist() == [0, 1], ""),
    "y: whole floats": (lambda: fit(y=Y.astype(float)).classes_.tolist() == [0, 1], ""),
    "y: categorical": (lambda: fit(y=pd.Categorical(Y)).n_teachers_ == 4, ""),
    "y: one column": (lambda: fit(y=Y[:, None]).n_teachers_ == 4, "A column-vector y was passed"),
    "y: text": (
        lambda: fit({"classes": ["no", "yes"]}, y=np.where(Y, "yes", "no")).n_teachers_ == 4,
        "",
    ),
    "y: one of two classes": (
        lambda: fit(y=np.zeros(40, int)).privacy_spent_.n_answered == 6,
        "",
    ),
    "groups: one for all": (
        lambda: fit(groups=[TEXT] * 40).privacy_spent_.unit == "group",
        "",
    ),
    "groups: a Series of text": (
        lambda: fit(groups=pd.Series([TEXT, "b"] * 20)).privacy_spent_.unit == "group",
        "",
    ),
    "groups: pairs": (
        lambda: fit(groups=[(i, TEXT) for i in range(40)]).privacy_spent_.unit == "group",
        "",
    ),
    "sample_weight: zeros for some": (
        lambda: fit(sample_weight=np.where(np.arange(40) < 30, 1, 0.5)).n_teachers_ == 4,
        "",
    ),
    "votes: whole floats": (lambda: fit_votes(VOTES.astype(float)).n_teachers_ == 4, ""),
    "votes, classes=None": (
        lambda: fit_votes(classes=None).classes_.tolist() == [0, 1],
        "",
    ),
    "orders: a number": (lambda: exact_rdp(MECHANISM, [[5, 5]], 2).shape == (1, 1), ""),
    "no queries cost nothing": (
        lambda: data_independent_epsilon(MECHANISM, 0, 1e-5, n_teachers=9, n_classes=2)[0] == 0,
        "",
    ),
    "one teacher": (lambda: worst_case_rdp(MECHANISM, [2.0], n_teachers=1, n_classes=2)[0] > 0, ""),
}


@pytest.mark.parametrize("case", ACCEPTED.values(), ids=ACCEPTED)
def test_unusual_input_is_handled_as_documented(case):
    call, expected = case
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        assert call()
    messages = [str(w.message) for w in warned]
    assert bool(messages) == bool(expected), messages
    assert not [m for m in messages if not re.search(expected, m)], messages
    assert not [s for s in SECRETS if s in "".join(messages)]


def test_a_folder_for_memory_may_be_a_path_or_text(tmp_path):
    for memory in (tmp_path / "a", os.fspath(tmp_path / "b")):
        assert fit({"memory": memory}).n_teachers_ == 4
