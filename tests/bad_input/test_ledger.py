"""Ledgers: their parameters, damaged files, and fits that they refuse."""

import sqlite3

from sklearn.naive_bayes import GaussianNB

from sklearn_pate import PATEClassifier
from sklearn_pate.aggregators import PluralityVote
from sklearn_pate.exceptions import BudgetExceededError
from sklearn_pate.ledger import PrivacyLedger

from .helpers import INF, NAN, NOT_A_DELTA, QUICK, VOTES, X_PUBLIC, each, fit, refused, table

EPSILON = 30.0
NO_LEDGER = "ledger.sqlite cannot be used as a ledger"


def ledger(folder, epsilon=EPSILON, **params):
    return PrivacyLedger(folder / "ledger.sqlite", epsilon, **params)


def ledger_in_use(folder):
    """A ledger with one entry."""
    in_use = ledger(folder)
    PATEClassifier(GaussianNB(), **QUICK, ledger=in_use).fit_votes(VOTES, X_PUBLIC)
    return in_use


def execute(folder, statement):
    with sqlite3.connect(folder / "ledger.sqlite") as database:
        database.execute(statement)
    database.close()


# --- parameters ----------------------------------------------------------------------------------


@each("epsilon", (0, -1, NAN, INF, "x", None, [1]))
def test_a_wrong_epsilon(epsilon, tmp_path):
    with refused("epsilon must be a finite number above 0; got"):
        ledger(tmp_path, epsilon)


@each("delta", NOT_A_DELTA)
def test_a_wrong_delta(delta, tmp_path):
    with refused("delta must be a number strictly between 0 and 1; got"):
        ledger(tmp_path, delta=delta)


@table("path", {"path=None": None, "path=5": 5})
def test_a_path_that_is_none(path):
    with refused(f"path must be .* got {path}", TypeError):
        PrivacyLedger(path, 1.0)


def test_a_folder(tmp_path):
    with refused("cannot be used as a ledger"):
        PrivacyLedger(tmp_path, 1.0)


def test_a_folder_that_does_not_exist(tmp_path):
    with refused("folder of the ledger does not exist"):
        ledger(tmp_path / "no")


def test_another_budget(tmp_path):
    ledger(tmp_path)
    with refused("ledger.sqlite is the ledger of epsilon=30.*got epsilon=3"):
        ledger(tmp_path, 3.0)


# --- damaged files -------------------------------------------------------------------------------


def test_a_file_of_text(tmp_path):
    file = tmp_path / "file"
    file.write_text("x")
    with refused("file cannot be used as a ledger"):
        PrivacyLedger(file, 1.0)


def test_a_file_that_was_cut_short(tmp_path):
    ledger_in_use(tmp_path)
    file = tmp_path / "ledger.sqlite"
    file.write_bytes(file.read_bytes()[:5000])
    with refused(NO_LEDGER):
        ledger(tmp_path)


def test_a_file_that_was_overwritten(tmp_path):
    ledger_in_use(tmp_path)
    file = tmp_path / "ledger.sqlite"
    file.write_bytes(file.read_bytes()[:16] + b"x" * 5000)
    with refused(NO_LEDGER):
        ledger(tmp_path)


def test_a_file_without_its_budget(tmp_path):
    ledger_in_use(tmp_path)
    execute(tmp_path, "DELETE FROM budget")
    with refused(f"{NO_LEDGER} .it holds no budget"):
        ledger(tmp_path)


def test_a_file_that_lost_its_budget_before_a_fit(tmp_path):
    in_use = ledger_in_use(tmp_path)
    execute(tmp_path, "DELETE FROM budget")
    with refused(f"{NO_LEDGER} .it holds no budget"):
        fit({"ledger": in_use})


def test_a_file_that_lost_its_table_before_a_fit(tmp_path):
    in_use = ledger_in_use(tmp_path)
    execute(tmp_path, "DROP TABLE spending")
    with refused(f"{NO_LEDGER}.*nothing was recorded"):
        fit({"ledger": in_use})


# --- fits that a ledger refuses ------------------------------------------------------------------


def test_a_fit_with_a_random_state(tmp_path):
    with refused("ledger refuses fits with a random_state.*got random_state=0"):
        fit({"ledger": ledger(tmp_path), "random_state": 0})


def test_a_fit_over_the_budget_of_the_ledger(tmp_path):
    with refused("more than the ledger's epsilon=1", BudgetExceededError):
        fit({"ledger": ledger(tmp_path, 1.0)})


def test_a_fit_without_noise(tmp_path):
    params = {"aggregator": PluralityVote(), "epsilon": None}
    with refused("costs epsilon=inf.*ledger's epsilon=30", BudgetExceededError):
        fit({"ledger": ledger(tmp_path)} | params)


def test_a_fit_with_another_adjacency(tmp_path):
    in_use = ledger_in_use(tmp_path)
    with refused("costs of one change of the data.*Use the same partition and unit"):
        fit({"ledger": in_use, "epsilon": 3.0, "n_queries": 1})
