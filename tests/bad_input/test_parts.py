"""Partitions, query strategies, students, sites and votes: their inputs and results."""

import functools

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Perceptron
from sklearn.naive_bayes import GaussianNB

from sklearn_pate import PATEClassifier, queries
from sklearn_pate.aggregators import SoftVote
from sklearn_pate.exceptions import TeacherError
from sklearn_pate.partition import RandomPartition
from sklearn_pate.students import SoftLabelClassifier
from sklearn_pate.teachers import Sites

from . import helpers as h


class Returns:
    """A partition, or a strategy, that returns a given result, or raises it."""

    relation = "replace_one"

    def __init__(self, value):
        self.value = value

    def assign(self, **known):
        if isinstance(self.value, Exception):
            raise self.value
        return self.value

    def select(self, X_public, n_queries, random_state=None):
        return self.assign()


# --- partitions ----------------------------------------------------------------------------------


class NoRelation:
    def assign(self, n_records, n_teachers, **more):
        return np.arange(n_records) % n_teachers


@h.table(
    "params, message",
    ("no groups", {"unit": "group"}, 'unit="group" .* requires the argument groups'),
    ("no index", {"partition": "hash"}, 'partition="hash".*index of a DataFrame'),
    ("no names", {"partition": "predefined"}, '"predefined" requires the argument groups'),
    ("a class", {"partition": RandomPartition}, "'partition' parameter .* an instance, RandomP"),
    ("no relation", {"partition": NoRelation()}, "must be an instance with an attribute relation"),
)
def test_partition_is_refused_where_it_cannot_be_used(params, message):
    with h.refused(message):
        h.fit(params)


@h.table(
    "index, message",
    ("positions", range(40), "the index of X is a RangeIndex"),
    ("missing", [None, *[h.TEXT] * 39], "the index of X has a missing value"),
    ("floats", np.arange(40) + h.NUMBER, "the index of X has a number that is not whole"),
)
def test_hash_partition_refuses_wrong_indexes(index, message):
    rows = h.frame().set_axis(index)
    with h.refused(message):
        h.fit({"partition": "hash"}, X=rows, X_public=h.frame(h.X_PUBLIC))


FORTY = "partition.assign must return 40 whole numbers"
RANGE = "partition.assign must return 40 whole numbers from 0 to 3"


@h.table(
    "teachers, message",
    ("None", None, rf"{FORTY}.*shape \(\)"),
    ("floats", np.zeros(40), f"{FORTY}.*and numbers$"),
    ("two axes", [[0]] * 40, rf"{FORTY}.*\(40, 1\)"),
    ("a teacher too many", [4] * 40, RANGE),
    ("a negative teacher", [-1] * 40, RANGE),
    ("unequal lengths", [[0], [1, 2]], "partition.assign failed with ValueError"),
    ("an error", KeyError(h.TEXT), "partition.assign failed with KeyError"),
)
def test_partition_that_returns_no_teacher_for_each_record_is_refused(teachers, message):
    with h.refused(message):
        h.fit({"partition": Returns(teachers)}, groups=[h.TEXT] * 40)


# --- query strategies ----------------------------------------------------------------------------


def test_query_strategy_is_refused_where_it_cannot_be_used():
    with h.refused("'query_strategy' parameter .* an instance, .*Got the class"):
        h.fit({"query_strategy": queries.RandomQueries})
    message = r"UncertaintyQueries\(\) needs a student with predict_proba; got Perceptron\(\)"
    with h.refused(message):
        h.fit({"query_strategy": "uncertainty", "base_estimator": Perceptron()})


@h.each("n_rounds", (0, -1, 2.5, "x", None, h.NAN))
def test_query_strategy_refuses_wrong_n_rounds(n_rounds):
    strategy = queries.UncertaintyQueries(n_rounds=n_rounds)
    with h.refused("n_rounds of query_strategy must be a whole number, at least 1; got"):
        h.fit({"query_strategy": strategy})


@h.table(
    "strategy, name",
    ("n_rounds", queries.UncertaintyQueries(n_rounds=1), "n_rounds"),
    ("transformer", queries.DiversityQueries(GaussianNB()), "transformer"),
)
def test_query_strategy_errors_name_the_parameter(strategy, name):
    with h.refused(f"query_strategy failed.*'{name}' parameter of"):
        h.fit({"query_strategy": strategy})


@h.each("rows", (None, [0] * 6, range(5), range(25, 31), range(-6, 0), np.arange(6.0)))
def test_query_strategy_that_returns_wrong_rows_is_refused(rows):
    with h.refused("query_strategy.select must return 6 distinct numbers of rows of X_public"):
        h.fit({"query_strategy": Returns(rows)})


def test_query_strategy_that_raises_is_reported():
    for rows, error in (([[0], [1, 2]], ""), (KeyError("centre"), ". KeyError: 'centre'")):
        with h.refused(f"query_strategy failed.*{error}"):
            h.fit({"query_strategy": Returns(rows)})


# --- students of soft labels ---------------------------------------------------------------------

THREE_ROWS = np.zeros((3, 1))
HALVES = [[0.5, 0.5]] * 3


@h.table(
    "y, message",
    ("a row missing", HALVES[:2], r"y must hold .* 3 rows of X; got shape \(2, 2\)"),
    ("None", None, r"y must hold .* got shape \(\)"),
    ("unequal lengths", [[0.5, 0.5], [1.0], [1.0]], "y must be array-like"),
    ("hard, NaN", [h.NAN, 0, 1], "y contains NaN"),
)
def test_soft_label_classifier_refuses_wrong_labels(y, message):
    with h.refused(message):
        SoftLabelClassifier(GaussianNB()).fit(THREE_ROWS, y)


@h.each("row", ([0.5, 0.6], [1.5, -0.5], [h.NAN, 1.0], ["a", "b"]))
def test_soft_label_classifier_refuses_rows_that_are_no_distribution(row):
    with h.refused("y must hold one label, or one distribution"):
        SoftLabelClassifier(GaussianNB()).fit(THREE_ROWS, [row] * 3)


def test_soft_label_classifier_refuses_wrong_estimators():
    with h.refused("'estimator' parameter of SoftLabelClassifier"):
        SoftLabelClassifier(5).fit(THREE_ROWS, HALVES)
    with h.refused("not fitted yet", NotFittedError):
        SoftLabelClassifier(GaussianNB()).predict(THREE_ROWS)


# --- sites, and votes that were cast before -------------------------------------------------------

# --- sites ---------------------------------------------------------------------------------------


def no_load(name):
    raise KeyError(h.TEXT)


def sites(load=no_load):
    return Sites(load, ["a", "b", "c"])


def test_sites_refuse_wrong_arguments():
    with h.refused("load must be callable.*got 5"):
        Sites(5, ["a"])
    for names in ([], None, 5, "ab", ["a", "a"]):
        with h.refused("names must be a non-empty sequence of names"):
            Sites(no_load, names)


test_sites_refuse_other_data = h.mistakes(
    ("y", lambda: of_sites(y=h.Y), "y must be None when X is Sites"),
    ("groups", lambda: of_sites(groups=[h.TEXT]), "groups must be None when X is Sites"),
    ("weights", lambda: of_sites(sample_weight=h.X[:, 2]), "sample_weight must be None when X"),
    ("no public rows", lambda: of_sites(X_public=None), "X_public is missing"),
    (
        "no classes",
        lambda: of_sites({"classes": None}),
        r"classes=\[all that may occur\] must be given when X is Sites",
    ),
    ("one class", lambda: of_sites({"classes": [0]}), "has 1 class"),
)


def of_sites(params=None, **data):
    return h.fit(params, **{"X": sites(), "y": None} | data)


UNKNOWN = "load returned labels .* not in classes"


@h.table(
    "load, message",
    ("raises", no_load, "load raised KeyError"),
    ("returns None", lambda name: None, "TypeError"),
    ("a column missing", lambda name: (h.X[:, 1:], h.Y), "return X with the columns of X_pub"),
    ("a label missing", lambda name: (h.X, h.Y[1:]), "return X .* and y with one label per row"),
    ("labels unknown", lambda name: (h.X, h.changed(h.Y, h.LABEL)), UNKNOWN),
)
def test_sites_that_load_wrong_data_are_refused(load, message):
    with h.refused(f"teacher 0 failed: .*{message}", TeacherError, by_teachers=True):
        h.fit(X=sites(load), y=None)


# --- votes ---------------------------------------------------------------------------------------


LARGE_DELTA = "delta=.* is not below one over the number of"


@h.messages_of(
    {
        r"votes must have shape .* got shape \(\)": (None, h.TEXT),
        r"votes must have shape .* got shape \(2,\)": (h.VOTES[0],),
        r"at least 2 classes; got shape \(30, 1\)": (h.VOTES[:, :1],),
        "votes must be array-like": ([[h.LABEL], [1, 2]],),
        "votes must be finite whole": [
            *(h.changed(h.VOTES, v) for v in ([h.NUMBER, 0.5], h.NAN, h.INF, [h.LABEL, -h.LABEL])),
            *(h.VOTES.astype(str), h.VOTES.astype(object), h.VOTES > 1),
        ],
        "every row of votes must sum to the number of teach": (h.changed(h.VOTES, h.LABEL),),
        "every row of votes must sum .* at least 1": (0 * h.VOTES,),
        "votes are for 0 rows": (h.VOTES[:0],),
        "for 29 rows, but X_public has 30": (h.VOTES[1:],),
        "votes must have one column .* got 3 columns": (np.c_[h.VOTES, 0 * h.VOTES[:, 0]],),
    }
)
def test_votes_refuse_wrong_shapes_and_values(value, message):
    with h.refused(message):
        h.fit_votes(value)


SUMS = "sums of probabilities of temperature 1"
SOFT = {"aggregator": SoftVote(5.0)}
WARM = {"aggregator": SoftVote(5.0, temperature=2.0)}


test_votes_that_do_not_match_parameters_are_refused = h.mistakes(
    (
        "rows",
        lambda: h.fit_votes(X_public=None),
        "X_public is missing: pass the rows that the votes",
    ),
    ("a row", lambda: h.fit_votes(X_public=h.X_PUBLIC[1:]), "for 30 rows, but X_public has 29"),
    ("unit", lambda: h.fit_votes(unit="group"), "unit='group', but these votes protect one teac"),
    ("order", lambda: h.fit_votes(classes=[1, 0]), "votes must have one column for each class"),
    ("classes", lambda: h.fit_votes(classes=[0, 1, 2]), "must have one column .* got 2 columns"),
    ("n_queries", lambda: h.fit_votes(n_queries=31), "n_queries=31 is more than the number of r"),
    ("SoftVote", lambda: h.fit_votes(**SOFT), r"or=SoftVote.*votes, which are counts"),
    ("polled, classes", lambda: h.fit_votes(polled(), classes=[0, 2]), "for other classes"),
    ("polled, unit", lambda: h.fit_votes(polled(), unit="group"), "these votes protect one rec"),
    ("polled, for SoftVote", lambda: h.fit_votes(polled(), **SOFT), "aggregator=.*which are c"),
    ("of SoftVote", lambda: h.fit_votes(polled(1.0)), f"aggregator=GNMax.* {SUMS}"),
    ("of another temperature", lambda: h.fit_votes(polled(1.0), **WARM), f"aggregator=.* {SUMS}"),
)


test_votes_of_several_kinds_are_accepted = h.works(
    ("whole floats", lambda: h.fit_votes(h.VOTES.astype(float)).n_teachers_ == 4),
    ("no classes", lambda: h.fit_votes(classes=None).classes_.tolist() == [0, 1]),
    ("delta", lambda: h.fit_votes(delta=0.3).n_teachers_ == 4, f"{LARGE_DELTA} teachers, 4"),
    (
        "polled",
        lambda: h.fit_votes(polled(), delta=0.1).n_teachers_ == 4,
        f"{LARGE_DELTA} records, 40",
    ),
)


# --- votes that were polled ----------------------------------------------------------------------


@functools.cache
def polled(temperature=None):
    aggregator = None if temperature is None else SoftVote(5.0, temperature=temperature)
    params = h.QUICK | {"aggregator": aggregator}
    return PATEClassifier(GaussianNB(), **params).poll(h.X, h.Y, h.X_PUBLIC)
