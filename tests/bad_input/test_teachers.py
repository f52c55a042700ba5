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
    refused,
    said_of,
    table,
    works,
)

# --- sites ---------------------------------------------------------------------------------------


def no_load(name):
    raise KeyError(TEXT)


def sites(load=no_load):
    return Sites(load, ["a", "b", "c"])


def test_sites_of_wrong_arguments():
    with refused("load must be callable.*got 5"):
        Sites(5, ["a"])
    for names in ([], None, 5, "ab", ["a", "a"]):
        with refused("names must be a sequence of distinct names"):
            Sites(no_load, names)


@table(
    "data, message",
    {
        "y": ({"y": Y}, "y must be None when X is Sites"),
        "groups": ({"groups": [TEXT]}, "groups must be None when X is Sites"),
        "weights": ({"sample_weight": X[:, 2]}, "sample_weight must be None when X is Sites"),
        "no public rows": ({"X_public": None}, "X_public is missing"),
    },
)
def test_sites_beside_other_data(data, message):
    with refused(message):
        fit(**{"X": sites(), "y": None} | data)


def test_sites_without_classes():
    for classes, message in ((None, "classes must be given when X is Sites"), ([0], "has 1 class")):
        with refused(message):
            fit({"classes": classes}, X=sites(), y=None)


UNKNOWN = "load returned labels .* not in classes"


@table(
    "load, message",
    {
        "raises": (no_load, "load raised KeyError"),
        "returns None": (lambda name: None, "TypeError"),
        "a column missing": (lambda name: (X[:, 1:], Y), "return X with the columns of X_pub"),
        "a label missing": (lambda name: (X, Y[1:]), "return X .* and y with one label per row"),
        "labels unknown": (lambda name: (X, changed(Y, LABEL)), UNKNOWN),
    },
)
def test_a_site_that_loads_wrong_data(load, message):
    with refused(f"teacher 0 failed: .*{message}", TeacherError, by_teachers=True):
        fit(X=sites(load), y=None)


# --- votes ---------------------------------------------------------------------------------------


KIND = "votes must be whole numbers; got an array of kind"


@said_of(
    {
        r"votes must have shape .* got shape \(\)": (None, TEXT),
        r"votes must have shape .* got shape \(2,\)": (VOTES[0],),
        r"at least 2 classes; got shape \(30, 1\)": (VOTES[:, :1],),
        "votes must be array-like": ([[LABEL], [1, 2]],),
        f"{KIND} '[UOb]'": (VOTES.astype(str), VOTES.astype(object), VOTES > 1),
        "votes has negative counts": (changed(VOTES, [LABEL, -LABEL]),),
        "votes must be finite whole numbers": (
            *(changed(VOTES, [NUMBER, 0.5]), changed(VOTES, NAN), changed(VOTES, INF)),
        ),
        "every row of votes must sum to the number of teach": (changed(VOTES, LABEL),),
        "every row of votes must sum .* at least 1": (0 * VOTES,),
        "votes has no rows": (VOTES[:0],),
        "votes has 29 rows and X_public 30": (VOTES[1:],),
        "votes has 3 columns, and there are 2": (np.c_[VOTES, 0 * VOTES[:, 0]],),
    }
)
def test_wrong_votes(value, message):
    with refused(message):
        fit_votes(value)


@table(
    "X_public, message",
    {
        "no X_public": (None, "X_public is missing: the rows that were voted on"),
        "X_public, a row missing": (X_PUBLIC[1:], "votes has 30 rows and X_public 29"),
    },
)
def test_votes_on_wrong_public_rows(X_public, message):
    with refused(message):
        fit_votes(X_public=X_public)


@table(
    "params, message",
    {
        "unit": ({"unit": "group"}, "unit='group', but these votes protect one teacher"),
        "order": ({"classes": [1, 0]}, "columns of votes are the sorted classes"),
        "classes": ({"classes": [0, 1, 2]}, "votes has 2 columns, and there are 3 classes"),
        "n_queries": ({"n_queries": 31}, "n_queries=31 is more than the rows of X_public, 30"),
        "SoftVote": ({"aggregator": SoftVote(5.0)}, r"or=SoftVote.*votes, which are counts"),
    },
)
def test_votes_that_do_not_fit_the_parameters(params, message):
    with refused(message):
        fit_votes(**params)


@works(
    {
        "whole floats": lambda: fit_votes(VOTES.astype(float)).n_teachers_ == 4,
        "no classes": lambda: fit_votes(classes=None).classes_.tolist() == [0, 1],
        "delta": (
            lambda: fit_votes(delta=0.3).n_teachers_ == 4,
            "delta=.* is not below one over the number of teachers, 4",
        ),
        "delta, polled": (
            lambda: fit_votes(polled(), delta=0.1).n_teachers_ == 4,
            "delta=.* is not below one over the number of records, 40",
        ),
    }
)
def test_votes_that_are_accepted(holds, warned):
    with accepted(*warned):
        assert holds()


# --- votes that were polled ----------------------------------------------------------------------


@functools.cache
def polled(temperature=None):
    aggregator = None if temperature is None else SoftVote(5.0, temperature=temperature)
    params = QUICK | {"aggregator": aggregator}
    return PATEClassifier(GaussianNB(), **params).poll(X, Y, X_PUBLIC)


SUMS = "sums of probabilities of temperature 1"
SOFT = {"aggregator": SoftVote(5.0)}
WARM = {"aggregator": SoftVote(5.0, temperature=2.0)}


@table(
    "temperature, params, message",
    {
        "classes": (None, {"classes": [0, 2]}, "votes are about other classes than classes="),
        "unit": (None, {"unit": "group"}, "these votes protect one record"),
        "for SoftVote": (None, SOFT, "aggregator=.*which are counts"),
        "of SoftVote": (1.0, {}, f"aggregator=GNMax.* {SUMS}"),
        "of another temperature": (1.0, WARM, f"aggregator=.* {SUMS}"),
    },
)
def test_polled_votes_that_do_not_fit_the_parameters(temperature, params, message):
    votes = polled(temperature)
    with refused(message):
        fit_votes(votes, **params)
