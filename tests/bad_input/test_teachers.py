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
    mistakes,
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


@mistakes(
    ("y", lambda: of_sites(y=Y), "y must be None when X is Sites"),
    ("groups", lambda: of_sites(groups=[TEXT]), "groups must be None when X is Sites"),
    ("weights", lambda: of_sites(sample_weight=X[:, 2]), "sample_weight must be None when X"),
    ("no public rows", lambda: of_sites(X_public=None), "X_public is missing"),
    ("no classes", lambda: of_sites({"classes": None}), "classes must be given when X is Si"),
    ("one class", lambda: of_sites({"classes": [0]}), "has 1 class"),
)
def test_sites_beside_other_data(call, message, error):
    with refused(message, error):
        call()


def of_sites(params=None, **data):
    return fit(params, **{"X": sites(), "y": None} | data)


UNKNOWN = "load returned labels .* not in classes"


@table(
    "load, message",
    ("raises", no_load, "load raised KeyError"),
    ("returns None", lambda name: None, "TypeError"),
    ("a column missing", lambda name: (X[:, 1:], Y), "return X with the columns of X_pub"),
    ("a label missing", lambda name: (X, Y[1:]), "return X .* and y with one label per row"),
    ("labels unknown", lambda name: (X, changed(Y, LABEL)), UNKNOWN),
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


SUMS = "sums of probabilities of temperature 1"
SOFT = {"aggregator": SoftVote(5.0)}
WARM = {"aggregator": SoftVote(5.0, temperature=2.0)}


@mistakes(
    (
        "no X_public",
        lambda: fit_votes(X_public=None),
        "X_public is missing: the rows that were voted on",
    ),
    (
        "X_public, a row missing",
        lambda: fit_votes(X_public=X_PUBLIC[1:]),
        "votes has 30 rows and X_public 29",
    ),
    ("unit", lambda: fit_votes(unit="group"), "unit='group', but these votes protect one teac"),
    ("order", lambda: fit_votes(classes=[1, 0]), "columns of votes are the sorted classes"),
    ("classes", lambda: fit_votes(classes=[0, 1, 2]), "votes has 2 columns, and there are 3"),
    ("n_queries", lambda: fit_votes(n_queries=31), "n_queries=31 is more than the rows of X_p"),
    ("SoftVote", lambda: fit_votes(**SOFT), r"or=SoftVote.*votes, which are counts"),
    ("polled, classes", lambda: fit_votes(polled(), classes=[0, 2]), "about other classes"),
    ("polled, unit", lambda: fit_votes(polled(), unit="group"), "these votes protect one rec"),
    ("polled, for SoftVote", lambda: fit_votes(polled(), **SOFT), "aggregator=.*which are c"),
    ("of SoftVote", lambda: fit_votes(polled(1.0)), f"aggregator=GNMax.* {SUMS}"),
    ("of another temperature", lambda: fit_votes(polled(1.0), **WARM), f"aggregator=.* {SUMS}"),
)
def test_votes_that_do_not_fit_the_parameters(call, message, error):
    with refused(message, error):
        call()


@works(
    ("whole floats", lambda: fit_votes(VOTES.astype(float)).n_teachers_ == 4),
    ("no classes", lambda: fit_votes(classes=None).classes_.tolist() == [0, 1]),
    (
        "delta",
        lambda: fit_votes(delta=0.3).n_teachers_ == 4,
        "delta=.* is not below one over the number of teachers, 4",
    ),
    (
        "delta, polled",
        lambda: fit_votes(polled(), delta=0.1).n_teachers_ == 4,
        "delta=.* is not below one over the number of records, 40",
    ),
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
