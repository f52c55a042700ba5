"""What a fit shows of itself: lines, diagram and summary. None of it is private."""

import pickle
import re

import numpy as np
import pytest
from conftest import cases, table
from sklearn.naive_bayes import GaussianNB
from sklearn.utils import estimator_html_repr

import sklearn_pate
from sklearn_pate import PATEClassifier, PrivacySpent
from sklearn_pate.aggregators import GNMax, PluralityVote
from sklearn_pate.model_selection import PrivateGridSearchCV

EXACT = GNMax(3.0, "discrete")
NUMBERS = {"n_teachers": 100, "n_queries": 20, "n_answered": 15}


def data(n=200):
    """Private rows, their labels, and public rows."""
    rows = np.random.default_rng(0).normal(size=(2 * n, 3))
    X, X_public = rows[:n], rows[n:]
    return X, (X[:, 0] > 0).astype(int), X_public


def model(**params):
    defaults = {"n_teachers": 5, "aggregator": PluralityVote(), "epsilon": None, "classes": [0, 1]}
    return PATEClassifier(**({"base_estimator": GaussianNB()} | defaults | params))


# --- lines ---------------------------------------------------------------------------------------


def test_one_updating_line_per_phase(capsys):
    X, y, X_public = data()
    model(verbose=1, n_queries=20).fit(X, y, X_public)
    *lines, after = capsys.readouterr().out.split("\n")
    assert after == ""
    shown = [line.split("\r")[-1].split(" in ")[0] for line in lines]
    assert shown == ["teachers 5/5", "queries 20/20", "student 1/1"]


def test_silence_is_the_default_and_every_call_has_its_own_phases(capsys):
    X, y, X_public = data()
    model().fit(X, y, X_public)
    votes = model().poll(X, y, X_public)
    assert capsys.readouterr().out == ""
    phase = re.compile(r"(\w+) \d+/\d+ in")
    model(verbose=1).fit_votes(votes, X_public)
    assert phase.findall(capsys.readouterr().out) == ["queries", "student"]


def test_a_private_search_does_not_show_its_trials_whose_number_is_a_secret(capfd):
    X, y, X_public = data()
    clf = model(aggregator=GNMax(1.0), n_queries=10, n_teachers=20, verbose=1)
    search = PrivateGridSearchCV(clf, {"n_teachers": [20, 30]}, epsilon=90.0, n_trials=2)
    search.fit(X, y, X_public=X_public)
    assert "".join(capfd.readouterr()) == ""


# --- what a notebook shows, and the summary ------------------------------------------------------


def test_a_notebook_shows_nothing_of_the_curators():
    clf = model().fit(*data())
    secret = object()
    clf.curator_.votes = secret
    assert repr(secret) not in estimator_html_repr(clf)


@pytest.mark.parametrize(
    ("epsilon", "shown"),
    [(0.98, "0.98"), (0.98000001, "0.981"), (2.0, "2"), (1e-7, "0.001"), (1e30, f"1{'0' * 30}")],
)
def test_summary_rounds_epsilon_up(epsilon, shown):
    assert f"at most a factor e^{shown} (epsilon)," in statement(epsilon=epsilon).summary()


NAMED = "add, remove or change records of one named group, even all; the names are public"
#: What a contract needs, by what it is about; each of a fit of its own.
CONTRACT = {
    "delta": ({}, "(epsilon), plus 1e-05 (delta)."),
    "no delta": ({"delta": 0.0}, "without exception (delta is 0)"),
    "unit": ({}, "Any one record (one row of the table)"),
    "group": ({"unit": "group"}, "any one group, as `groups` named them (a person only if"),
    "site": ({"adjacency": NAMED}, "The records of any one site or named group change"),
    "teacher": ({"unit": "teacher"}, "The votes of any one teacher change"),
    "what it means": ({}, "replace one record. The number of rows is public."),
    "odds": ({}, "guess right with a probability of at most 72.72 % (plus delta)."),
    "odds of a pure epsilon": ({"delta": 0.0}, "can become at most 72.72 % sure."),
    "other fits": ({}, "Other fits on the same private data are not covered: they add up."),
    "number": ({"fit_number": 3}, "not covered (this is fit number 3 of its process): they add"),
    "table": ({"n_teachers": None}, "This was released: a noisy table of the records' ballots. It"),
    "public rows": ({}, "The public rows are not protected"),
    "drawn rows": ({"n_synthetic": 7}, "It covers the 7 drawn rows as well"),
    "bounds": ({"n_synthetic": 7}, "names, types, bounds and categories of their columns it does"),
    "rows alone": ({"covers": "rows"}, "This covers the rows that were drawn and this statement"),
    "uncovered": ({"not_covered": ["this", "that"]}, "Not covered by what follows: this; that."),
    "search": ({"method": "tuning"}, "best_params_, best_score_ and this statement"),
    "nothing released": ({"n_answered": 0}, "are paid for, and no label was released"),
    "beside": ({}, "Nor is what was computed from the private data beside the fit, as scores"),
    "rounding": ({}, "This holds in real arithmetic; floating-point numbers round the noise."),
    "whole numbers": ({"arithmetic": "exact"}, "The noise was whole numbers, drawn exactly."),
    "system": ({}, "It came from the operating system's generator."),
    "seed": ({"generator": "seed"}, "whoever knows or guesses the random_state can subtract"),
}


def statement(**changes):
    plain = {"epsilon": 0.98, "delta": 1e-5, "method": "renyi", "unit": "record"}
    return PrivacySpent(**plain | {"adjacency": "replace one record"} | NUMBERS | changes)


@table("changes, words", CONTRACT)
def test_the_summary_is_fit_for_a_contract(changes, words):
    paragraphs = statement(**changes).summary().split("\n\n")
    assert len(paragraphs) >= 4 and any(words in part for part in paragraphs)
    if changes:
        assert words not in statement().summary()


def test_what_is_printed_has_an_epsilon_that_people_can_read():
    spent = statement(epsilon=0.999999804)
    assert repr(spent).startswith("PrivacySpent(epsilon=1.0, delta=1e-05, method='renyi', ")
    assert spent.epsilon == 0.999999804
    assert "epsilon=0.980001, " in repr(statement(epsilon=0.9800001))
    assert "epsilon=inf" in repr(statement(epsilon=np.inf, method="none"))


def test_a_summary_does_not_say_what_does_not_hold():
    for changes, words in (
        ({"epsilon": np.inf, "method": "none"}, "changes the probability"),
        ({"unit": "group", "adjacency": "add or remove one group"}, "protected by itself"),
        ({"arithmetic": "exact"}, "real arithmetic"),
        ({"generator": "seed"}, "operating system"),
        ({}, "random_state"),
        ({"n_synthetic": 7}, "public rows are not protected"),
    ):
        assert words not in statement(**changes).summary()
    spent = statement(epsilon=np.inf, method="none")
    assert spent.summary().startswith("No privacy is guaranteed (epsilon is infinite).")


@cases(
    "params, drawn",
    ({}, ("real", "system")),
    ({"random_state": 0}, ("real", "seed")),
    ({"aggregator": EXACT, "random_state": 0}, ("exact", "seed")),
    ({"aggregator": EXACT, "secure": True}, ("exact", "system")),
    ({"aggregator": [EXACT, GNMax(3.0)], "n_queries": [5, 5]}, ("real", "system")),
    ({"secure": True}, ("real", "system")),
    ids=str,
)
def test_what_was_spent_says_how_noise_was_drawn_and_by_which_version(params, drawn):
    defaults = {"aggregator": GNMax(3.0), "n_queries": 10, "n_teachers": 20}
    spent = model(**(defaults | params)).fit(*data()).privacy_spent_
    assert (spent.arithmetic, spent.generator) == drawn
    assert spent.version == sklearn_pate.__version__ and pickle.loads(pickle.dumps(spent)) == spent
