"""Sites, and votes that were cast before."""

import functools

import numpy as np
from sklearn.naive_bayes import GaussianNB

from sklearn_pate import PATEClassifier
from sklearn_pate.aggregators import SoftVote
from sklearn_pate.exceptions import TeacherError
from sklearn_pate.teachers import Sites

from . import helpers as h

# --- sites ---------------------------------------------------------------------------------------


def no_load(name):
    raise KeyError(h.TEXT)


def sites(load=no_load):
    return Sites(load, ["a", "b", "c"])


def test_sites_of_wrong_arguments():
    with h.refused("load must be callable.*got 5"):
        Sites(5, ["a"])
    for names in ([], None, 5, "ab", ["a", "a"]):
        with h.refused("names must be a sequence of distinct names"):
            Sites(no_load, names)


test_sites_beside_other_data = h.mistakes(
    ("y", lambda: of_sites(y=h.Y), "y must be None when X is Sites"),
    ("groups", lambda: of_sites(groups=[h.TEXT]), "groups must be None when X is Sites"),
    ("weights", lambda: of_sites(sample_weight=h.X[:, 2]), "sample_weight must be None when X"),
    ("no public rows", lambda: of_sites(X_public=None), "X_public is missing"),
    ("no classes", lambda: of_sites({"classes": None}), "classes must be given when X is Si"),
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
def test_a_site_that_loads_wrong_data(load, message):
    with h.refused(f"teacher 0 failed: .*{message}", TeacherError, by_teachers=True):
        h.fit(X=sites(load), y=None)


# --- votes ---------------------------------------------------------------------------------------


LARGE_DELTA = "delta=.* is not below one over the number of"
KIND = "votes must be whole numbers; got an array of kind"


@h.said_of(
    {
        r"votes must have shape .* got shape \(\)": (None, h.TEXT),
        r"votes must have shape .* got shape \(2,\)": (h.VOTES[0],),
        r"at least 2 classes; got shape \(30, 1\)": (h.VOTES[:, :1],),
        "votes must be array-like": ([[h.LABEL], [1, 2]],),
        f"{KIND} '[UOb]'": (h.VOTES.astype(str), h.VOTES.astype(object), h.VOTES > 1),
        "votes has negative counts": (h.changed(h.VOTES, [h.LABEL, -h.LABEL]),),
        "votes must be finite whole": [
            h.changed(h.VOTES, v) for v in ([h.NUMBER, 0.5], h.NAN, h.INF)
        ],
        "every row of votes must sum to the number of teach": (h.changed(h.VOTES, h.LABEL),),
        "every row of votes must sum .* at least 1": (0 * h.VOTES,),
        "votes has no rows": (h.VOTES[:0],),
        "votes has 29 rows and X_public 30": (h.VOTES[1:],),
        "votes has 3 columns, and there are 2": (np.c_[h.VOTES, 0 * h.VOTES[:, 0]],),
    }
)
def test_wrong_votes(value, message):
    with h.refused(message):
        h.fit_votes(value)


SUMS = "sums of probabilities of temperature 1"
SOFT = {"aggregator": SoftVote(5.0)}
WARM = {"aggregator": SoftVote(5.0, temperature=2.0)}


test_votes_that_do_not_fit_the_parameters = h.mistakes(
    ("rows", lambda: h.fit_votes(X_public=None), "X_public is missing: the rows that were voted"),
    ("a row", lambda: h.fit_votes(X_public=h.X_PUBLIC[1:]), "votes has 30 rows and X_public 29"),
    ("unit", lambda: h.fit_votes(unit="group"), "unit='group', but these votes protect one teac"),
    ("order", lambda: h.fit_votes(classes=[1, 0]), "columns of votes are the sorted classes"),
    ("classes", lambda: h.fit_votes(classes=[0, 1, 2]), "votes has 2 columns, and there are 3"),
    ("n_queries", lambda: h.fit_votes(n_queries=31), "n_queries=31 is more than the rows of X_p"),
    ("SoftVote", lambda: h.fit_votes(**SOFT), r"or=SoftVote.*votes, which are counts"),
    ("polled, classes", lambda: h.fit_votes(polled(), classes=[0, 2]), "about other classes"),
    ("polled, unit", lambda: h.fit_votes(polled(), unit="group"), "these votes protect one rec"),
    ("polled, for SoftVote", lambda: h.fit_votes(polled(), **SOFT), "aggregator=.*which are c"),
    ("of SoftVote", lambda: h.fit_votes(polled(1.0)), f"aggregator=GNMax.* {SUMS}"),
    ("of another temperature", lambda: h.fit_votes(polled(1.0), **WARM), f"aggregator=.* {SUMS}"),
)


test_votes_that_are_accepted = h.works(
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
