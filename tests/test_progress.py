"""Displays of a fit: lines, diagram, summary, seed and number. None of them is private."""

import html
import pickle
import re
import threading
import warnings

import numpy as np
import pytest
from conftest import cases, table
from faulty import RaisesIt
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.utils import estimator_html_repr

import sklearn_pate
from sklearn_pate import PATEClassifier, PrivacySpent, PublicData
from sklearn_pate.aggregators import GNMax, PluralityVote
from sklearn_pate.exceptions import TeacherError
from sklearn_pate.fitting import seeds
from sklearn_pate.methods import ReverseNeighbors
from sklearn_pate.model_selection import PrivateGridSearchCV
from sklearn_pate.runtime.isolation import next_fit_number

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


def test_progress_prints_one_line_per_phase(capsys):
    X, y, X_public = data()
    model(verbose=1, n_queries=20).fit(X, y, X_public)
    *lines, after = capsys.readouterr().out.split("\n")
    assert after == ""
    shown = [line.split("\r")[-1].split(" in ")[0] for line in lines]
    assert shown == ["teachers 5/5", "queries 20/20", "student 1/1"]


def test_progress_is_off_by_default_and_printed_per_call(capsys):
    X, y, X_public = data()
    model().fit(X, y, X_public)
    votes = model().poll(X, y, X_public)
    assert capsys.readouterr().out == ""
    phase = re.compile(r"(\w+) \d+/\d+ in")
    model(verbose=1).fit_votes(votes, X_public)
    assert phase.findall(capsys.readouterr().out) == ["queries", "student"]


@pytest.mark.slow
def test_progress_of_private_search_trials_is_not_printed(capfd, few_units_are_scored):
    X, y, X_public = data()
    clf = model(aggregator=GNMax(1.0), n_queries=10, n_teachers=20, verbose=1)
    search = PrivateGridSearchCV(clf, {"n_teachers": [20, 30]}, epsilon=90.0, n_trials=2)
    search.fit(X, y, X_public=X_public)
    assert "".join(capfd.readouterr()) == ""


# --- displays in a notebook, and the summary -----------------------------------------------------


def test_html_repr_shows_nothing_of_the_curator():
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


#: Sentences that a contract requires, by their subject; each of a fit of its own.
CONTRACT = {
    "delta": ({}, "(epsilon), plus 1e-05 (delta)."),
    "no delta": ({"delta": 0.0}, "without exception (delta is 0)"),
    "unit": ({}, "Any one record (one row of the table)"),
    "group": ({"unit": "group"}, "any one group, as defined by `groups` (a person only if"),
    "site": ({"relation": "change_one_named"}, "The records of any one site or named group change"),
    "teacher": ({"unit": "teacher"}, "The votes of any one teacher change"),
    "meaning": ({}, "replace one record. The number of rows is public."),
    "odds": ({}, "guess right with a probability of at most 72.72 % (plus delta)."),
    "odds of a pure epsilon": ({"delta": 0.0}, "can become at most 72.72 % sure."),
    "other fits": ({}, "Other fits on the same private data are not covered, nor are"),
    "rows of other fits": ({}, "nor are synthetic rows that they published, whether they are"),
    "number": ({"fit_number": 3}, "not covered (this is fit number 3 of its process), nor are"),
    "table": ({"n_teachers": None}, "The fit released a noisy table of the records' votes. It"),
    "public rows": ({}, "The public rows are not protected"),
    "synthetic rows": ({"n_synthetic": 7}, "The 7 synthetic rows are covered as well"),
    "bounds": ({"n_synthetic": 7}, "names, types, bounds and categories of their columns are not"),
    "rows alone": ({"covers": "rows"}, "guarantee covers the synthetic rows and this statement"),
    "statistics": (
        {"covers": "statistics"},
        "This guarantee covers these statistics and this statement. The names, types,",
    ),
    "statistics that were paid for": (
        {"covers": "statistics"},
        "failed after statistics of the columns were paid for, before synthetic rows were sampled",
    ),
    "uncovered": ({"not_covered": ["this", "that"]}, "Not covered by this guarantee: this; that."),
    "search": ({"composition": "tuning"}, "best_params_, best_score_ and this statement"),
    "nothing released": ({"n_answered": 0}, "are paid for, and no label was released"),
    "scores": ({}, "Other computations on the private data are not covered, such as scores"),
    "rounding": ({}, "This holds in real arithmetic; floating-point numbers round the noise."),
    "whole numbers": ({"arithmetic": "exact"}, "The noise was whole numbers, sampled exactly."),
    "system": ({}, "The noise came from the operating system's generator."),
    "seed": ({"generator": "seed"}, "anyone who has or guesses the random_state can subtract"),
}


def statement(**changes):
    plain = {"epsilon": 0.98, "delta": 1e-5, "composition": "renyi", "unit": "record"}
    return PrivacySpent(**plain | {"relation": "replace_one"} | NUMBERS | changes)


@table("changes, words", CONTRACT)
def test_summary_contains_what_a_contract_needs(changes, words):
    paragraphs = statement(**changes).summary().split("\n\n")
    assert len(paragraphs) >= 4 and any(words in part for part in paragraphs)
    if changes:
        assert words not in statement().summary()


def test_repr_rounds_epsilon():
    spent = statement(epsilon=0.999999804)
    assert repr(spent).startswith("PrivacySpent(epsilon=1.0, delta=1e-05, composition='renyi', ")
    assert spent.epsilon == 0.999999804
    assert "epsilon=0.980001, " in repr(statement(epsilon=0.9800001))
    assert "epsilon=inf" in repr(statement(epsilon=np.inf, composition="none"))


def test_summary_omits_statements_that_do_not_hold():
    for changes, words in (
        ({"epsilon": np.inf, "composition": "none"}, "changes the probability"),
        ({"unit": "group", "relation": "add_or_remove_one"}, "protected by itself"),
        ({"arithmetic": "exact"}, "real arithmetic"),
        ({"generator": "seed"}, "operating system"),
        ({}, "random_state"),
        ({"n_synthetic": 7}, "public rows are not protected"),
    ):
        assert words not in statement(**changes).summary()
    spent = statement(epsilon=np.inf, composition="none")
    assert spent.summary().startswith("No privacy is guaranteed (epsilon is infinite).")


@cases(
    "params, sampled",
    ({}, ("real", "system")),
    ({"random_state": 0}, ("real", "seed")),
    ({"aggregator": EXACT, "random_state": 0}, ("exact", "seed")),
    ({"aggregator": EXACT, "secure": True}, ("exact", "system")),
    ({"aggregator": [EXACT, GNMax(3.0)], "n_queries": [5, 5]}, ("real", "system")),
    ({"secure": True}, ("real", "system")),
    ids=str,
)
def test_privacy_spent_has_arithmetic_generator_and_version(params, sampled):
    defaults = {"aggregator": GNMax(3.0), "n_queries": 10, "n_teachers": 20}
    spent = model(**(defaults | params)).fit(*data()).privacy_spent_
    assert (spent.arithmetic, spent.generator) == sampled
    assert spent.version == sklearn_pate.__version__ and pickle.loads(pickle.dumps(spent)) == spent


# --- seeds ---------------------------------------------------------------------------------------

ROWS = np.random.default_rng(0).normal(size=(900, 3))
X, X_PUBLIC = ROWS[:600], ROWS[600:].copy()
Y = (X[:, 0] > 0).astype(int)
MESSAGE = "the noise follows from a random_state, of this call or of the poll that drew the"
REMEDY = "Use random_state=None for everything that you publish"


@pytest.fixture(autouse=True)
def no_seed_yet(monkeypatch):
    """Let no fit of the process have had a seed."""
    monkeypatch.setattr(seeds, "_has_warned", threading.Event())


def pate(base_estimator=None, **params):
    given = {"epsilon": 20.0, "classes": [0, 1], "student": GaussianNB()}
    given |= {"n_queries": 10} if isinstance(base_estimator, GaussianNB) else {}
    return PATEClassifier(base_estimator, **(given | params))


def search(grid, **params):
    """A private search that is scored on public rows."""
    found = PrivateGridSearchCV(pate(GaussianNB()), grid, epsilon=50.0, n_trials=2, **params)
    return found.fit(X, Y, X_PUBLIC, X_val=X_PUBLIC[:50], y_val=Y[:50])


def warned_of_seeds(*actions):
    with warnings.catch_warnings(record=True, action="always") as caught:
        for action in actions:
            action()
    return sum(MESSAGE in str(w.message) for w in caught)


@pytest.mark.slow
@cases(
    "params, seed",
    ({"base_estimator": GaussianNB()}, 42),
    ({"method": ReverseNeighbors()}, np.random.RandomState(42)),
)
def test_random_state_is_reported_in_warning_and_statement(params, seed):
    with pytest.warns(UserWarning, match=f"{MESSAGE}.*{REMEDY}"):
        clf = pate(random_state=seed, **params).fit(X, Y, X_PUBLIC)
    assert clf.privacy_spent_.generator == "seed" and "generator='seed'" in repr(clf.privacy_spent_)
    summary = clf.privacy_spent_.summary()
    assert summary.startswith("Made with a seed: anyone who has or guesses the random_state")
    assert summary in html.unescape(clf.privacy_spent_._repr_html_())
    bare = pate(**params).fit(X, Y, X_PUBLIC)
    assert "with a seed" not in bare.privacy_spent_.summary()


@pytest.mark.slow
def test_random_state_warns_once_in_a_process():
    def fit(seed):
        return lambda: pate(GaussianNB(), random_state=seed).fit(X, Y, X_PUBLIC)

    assert warned_of_seeds(fit(None)) == 0
    # A plan warns before anything is spent
    plan = pate(random_state=0).plan
    assert warned_of_seeds(lambda: plan(X, Y, X_PUBLIC), fit(1), fit(2), fit(1)) == 1
    assert warned_of_seeds(fit(3)) == 0


@pytest.mark.slow
def test_random_state_of_a_search_warns_but_not_in_its_trials():
    grid = {"n_teachers": [20, 40]}
    assert warned_of_seeds(lambda: search(grid)) == 0
    assert warned_of_seeds(lambda: search(grid, random_state=0)) == 1
    assert warned_of_seeds(lambda: pate(random_state=0).fit(X, Y, X_PUBLIC)) == 0


# --- numbers of fits -----------------------------------------------------------------------------


def number_of(clf):
    return clf.privacy_spent_.fit_number


@pytest.mark.slow
def test_fit_number_is_shown_after_a_search_of_sklearn():
    search = GridSearchCV(pate(), {"epsilon": [10.0, 20.0]}, cv=2)
    search.fit(X, Y, X_public=PublicData(X_PUBLIC))
    best = search.best_estimator_
    assert number_of(best) == 5 and "fit_number=5" in repr(best.privacy_spent_)
    for text in (best.privacy_spent_.summary(), best.privacy_spent_._repr_html_()):
        assert "this is fit number 5 of its process" in text


@pytest.mark.slow
def test_fit_number_is_counted_for_each_worker_process(forked_workers):
    search = GridSearchCV(pate(), {"epsilon": [10.0, 20.0]}, cv=2, n_jobs=2)
    search.fit(X, Y, X_public=PublicData(X_PUBLIC))
    assert number_of(search.best_estimator_) == 1


def test_fit_number_does_not_depend_on_data():
    fits = [pate().fit(rows, Y[: len(rows)], X_PUBLIC) for rows in (X, X, -X, X[:300])]
    assert [number_of(clf) for clf in fits] == [1, 2, 3, 4]
    assert "fit number" not in fits[0].privacy_spent_.summary()


def test_fit_number_counts_failed_fits_and_no_plans():
    clf = pate(RaisesIt(ValueError("no")), n_teachers=5)
    pytest.raises(TeacherError, clf.fit, X, Y, X_PUBLIC)
    labels = Y.copy()
    labels[0] = 5  # that one record was refused is private, too
    with pytest.raises(ValueError, match="labels that are not in classes"):
        pate().fit(X, labels, X_PUBLIC)
    plan = pate().plan(X, Y, X_PUBLIC)
    assert plan.spent.fit_number == 1 and "fit number" not in plan.spent.summary()
    assert number_of(pate().fit(X, Y, X_PUBLIC)) == 3


def test_fit_number_counts_votes_used_twice():
    clf = pate(GaussianNB(), n_teachers=20)
    votes = clf.poll(X, Y, X_PUBLIC)
    assert number_of(clf.fit_votes(votes, X_PUBLIC)) == 1
    assert number_of(clf.fit_votes(votes, X_PUBLIC)) == 2


def test_fit_number_counts_a_private_search_once():
    found = search({"n_teachers": [20, 30]})
    assert number_of(found) == number_of(found.best_estimator_) == 1 and next_fit_number() == 2


def test_privacy_statements_are_equal_for_any_fit_number():
    given = (1.0, 1e-5, "renyi", "record", "replace_one")
    numbers = {"n_teachers": 5, "n_queries": 3, "n_answered": 3}
    first, second = (PrivacySpent(*given, **numbers, fit_number=k) for k in (1, 2))
    assert first == second and first.summary() != second.summary()
    assert next_fit_number() == 1  # each test has a count of its own
