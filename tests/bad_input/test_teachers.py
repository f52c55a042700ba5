"""Sites, and votes that were cast before."""

import functools

import numpy as np
from sklearn.naive_bayes import GaussianNB

from sklearn_pate import PATEClassifier
from sklearn_pate.aggregators import SoftVote
from sklearn_pate.exceptions import TeacherError
from sklearn_pate.teachers import Sites

from .helpers import (
    INF,
    LABEL,
    NAN,
    NUMBER,
    QUICK,
    TEXT,
    VOTES,
    X_PUBLIC,
    X,
    Y,
    accepted,
    changed,
    fit,
    fit_votes,
    frame,
    refused,
    table,
)

# --- sites ---------------------------------------------------------------------------------------


def no_load(name):
    raise KeyError(TEXT)


NAMES = "names must be a sequence of distinct names"


@table(
    "load, names, message",
    {
        "load=5": (5, ["a"], "load must be callable.*got 5"),
        "names=[]": (no_load, [], NAMES),
        "names=None": (no_load, None, f"{NAMES}.*got None"),
        "names=5": (no_load, 5, f"{NAMES}.*got 5"),
        "names: one text": (no_load, "ab", NAMES),
        "names twice": (no_load, ["a", "a"], NAMES),
    },
)
def test_sites_of_wrong_arguments(load, names, message):
    with refused(message):
        Sites(load, names)


@table(
    "data, message",
    {
        "y": ({"y": Y}, "y must be None when X is Sites"),
        "groups": ({"groups": [TEXT]}, "groups must be None when X is Sites"),
        "sample_weight": (
            {"sample_weight": X[:, 2]},
            "sample_weight must be None when X is Sites",
        ),
        "no public rows": ({"X_public": None}, "X_public is missing"),
        "duplicate names": ({"X_public": frame(X_PUBLIC, "aac")}, "X_public: .*unique column"),
    },
)
def test_sites_beside_other_data(data, message):
    data = {"X": Sites(no_load, ["a", "b", "c"]), "y": None} | data
    with refused(message):
        fit(**data)


@table(
    "classes, message",
    {
        "no classes": (None, "classes must be given when X is Sites"),
        "one class": ([0], "classes has 1 class"),
    },
)
def test_sites_without_classes(classes, message):
    with refused(message):
        fit({"classes": classes}, X=Sites(no_load, ["a", "b", "c"]), y=None)


@table(
    "load, message",
    {
        "raises": (no_load, "load raised KeyError"),
        "returns None": (lambda name: None, "TypeError"),
        "a column missing": (
            lambda name: (X[:, 1:], Y),
            "load must return X with the columns of X_pub",
        ),
        "a label missing": (
            lambda name: (X, Y[1:]),
            "load must return X .* and y with one label per row",
        ),
        "labels unknown": (
            lambda name: (X, changed(Y, LABEL)),
            "load returned labels .* not in classes",
        ),
        "text labels": (
            lambda name: (X, [TEXT, "b"] * 20),
            "load returned labels .* not in classes",
        ),
    },
)
def test_a_site_that_loads_wrong_data(load, message):
    sites = Sites(load, ["a", "b", "c"])
    with refused(f"teacher 0 failed: .*{message}", TeacherError, by_teachers=True):
        fit(X=sites, y=None)


# --- votes ---------------------------------------------------------------------------------------


@table(
    "votes, message",
    {
        "None": (None, r"votes must have shape .* got shape \(\)"),
        "text": (TEXT, r"votes must have shape .* got shape \(\)"),
        "one axis": (VOTES[0], r"votes must have shape .* got shape \(2,\)"),
        "one class": (VOTES[:, :1], r"at least 2 classes; got shape \(30, 1\)"),
        "unequal lengths": ([[LABEL], [1, 2]], "votes must be array-like"),
        "texts": (VOTES.astype(str), "votes must be whole numbers; got an array of kind 'U'"),
        "objects": (VOTES.astype(object), "votes must be whole numbers; got an array of kind 'O'"),
        "a mask": (VOTES > 1, "votes must be whole numbers; got an array of kind 'b'"),
        "negative": (changed(VOTES, [LABEL, -LABEL]), "votes has negative counts"),
        "fractions": (changed(VOTES, [NUMBER, 0.5]), "votes must be finite whole numbers"),
        "NaN": (changed(VOTES, NAN), "votes must be finite whole numbers"),
        "inf": (changed(VOTES, INF), "votes must be finite whole numbers"),
        "another sum": (
            changed(VOTES, LABEL),
            "every row of votes must sum to the number of teach",
        ),
        "zeros": (0 * VOTES, "every row of votes must sum .* at least 1"),
        "no rows": (VOTES[:0], "votes has no rows"),
        "a row missing": (VOTES[1:], "votes has 29 rows and X_public 30"),
        "a class too many": (
            np.c_[VOTES, 0 * VOTES[:, 0]],
            "votes has 3 columns, and there are 2",
        ),
    },
)
def test_wrong_votes(votes, message):
    with refused(message):
        fit_votes(votes)


@table(
    "X_public, message",
    {
        "no X_public": (None, "X_public is missing: the rows that were voted on"),
        "X_public, a row missing": (X_PUBLIC[1:], "votes has 30 rows and X_public 29"),
        "X_public, one axis": (X_PUBLIC[:, 0], "Expected X_public as a 2D array"),
        "X_public, names": (frame(X_PUBLIC, "aac"), "X_public: .*unique column names"),
    },
)
def test_votes_on_wrong_public_rows(X_public, message):
    with refused(message):
        fit_votes(X_public=X_public)


@table(
    "params, message",
    {
        "unit=group": (
            {"unit": "group"},
            "unit='group', but these votes protect one teacher",
        ),
        "classes in another order": (
            {"classes": [1, 0]},
            "columns of votes are the sorted classes",
        ),
        "classes, one more": (
            {"classes": [0, 1, 2]},
            "votes has 2 columns, and there are 3 classes",
        ),
        "n_queries": ({"n_queries": 31}, "n_queries=31 is more than the rows of X_public, 30"),
        "SoftVote": (
            {"aggregator": SoftVote(5.0)},
            r"aggregator=SoftVote.*votes, which are counts",
        ),
        "n_teachers=0": ({"n_teachers": 0}, "'n_teachers' parameter of PATEClassifier"),
    },
)
def test_votes_that_do_not_fit_the_parameters(params, message):
    with refused(message):
        fit_votes(**params)


def test_votes_may_be_whole_floats():
    with accepted():
        assert fit_votes(VOTES.astype(float)).n_teachers_ == 4


def test_votes_say_how_many_classes_there_are():
    with accepted():
        assert fit_votes(classes=None).classes_.tolist() == [0, 1]


def test_a_delta_above_one_over_the_teachers_of_votes():
    with accepted("delta=.* is not below one over the number of teachers, 4"):
        assert fit_votes(delta=0.3).n_teachers_ == 4


# --- votes that were polled ----------------------------------------------------------------------


@functools.cache
def polled(temperature=None):
    aggregator = None if temperature is None else SoftVote(5.0, temperature=temperature)
    params = QUICK | {"aggregator": aggregator}
    return PATEClassifier(GaussianNB(), **params).poll(X, Y, X_PUBLIC)


@table(
    "temperature, params, message",
    {
        "other classes": (
            None,
            {"classes": [0, 2]},
            "votes are about other classes than classes=",
        ),
        "unit=group": (None, {"unit": "group"}, "these votes protect one record"),
        "for SoftVote": (None, {"aggregator": SoftVote(5.0)}, "aggregator=.*which are counts"),
        "of SoftVote": (
            1.0,
            {},
            "aggregator=GNMax.* sums of probabilities of temperature 1",
        ),
        "of another temperature": (
            1.0,
            {"aggregator": SoftVote(5.0, temperature=2.0)},
            "aggregator=.* sums of probabilities of temperature 1",
        ),
    },
)
def test_polled_votes_that_do_not_fit_the_parameters(temperature, params, message):
    votes = polled(temperature)
    with refused(message):
        fit_votes(votes, **params)


def test_a_delta_above_one_over_the_records_of_polled_votes():
    with accepted("delta=.* is not below one over the number of records, 40"):
        assert fit_votes(polled(), delta=0.1).n_teachers_ == 4
