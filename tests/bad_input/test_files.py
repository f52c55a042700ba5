"""Ledgers, the folder of memory=, what cannot be written to it, and fetchers of data sets."""

import sqlite3
import threading

from sklearn.naive_bayes import GaussianNB

from sklearn_pate import PATEClassifier, datasets
from sklearn_pate.aggregators import PluralityVote
from sklearn_pate.exceptions import BudgetExceededError, TeacherError
from sklearn_pate.ledger import PrivacyLedger

from . import helpers as h

# --- parameters of ledgers -----------------------------------------------------------------------

NO_LEDGER = "ledger.sqlite cannot be used as a ledger"


def ledger(folder, epsilon=30.0, **params):
    return PrivacyLedger(folder / "ledger.sqlite", epsilon, **params)


def ledger_in_use(folder):
    """A ledger with one entry."""
    in_use = ledger(folder)
    PATEClassifier(GaussianNB(), **h.QUICK, ledger=in_use).fit_votes(h.VOTES, h.X_PUBLIC)
    return in_use


def test_ledger_refuses_wrong_budgets_and_places(tmp_path):
    for epsilon in (0, -1, h.NAN, h.INF, "x", None, [1], *h.HUGE, h.TINY):
        with h.refused("epsilon must be a finite number above 0; got"):
            ledger(tmp_path, epsilon)
    for delta in h.NOT_A_DELTA:
        with h.refused("delta must be a number strictly between 0 and 1; got"):
            ledger(tmp_path, delta=delta)
    for part in (*h.HUGE, -1, "x"):
        with h.refused("reserved_delta is a part of delta=1e-05: .*; got"):
            ledger(tmp_path, reserved_delta=part)
    with h.refused("expected str|should be a str", TypeError):
        PrivacyLedger(None, 1.0)
    with h.refused("cannot be used as a ledger"):
        PrivacyLedger(tmp_path, 1.0)
    with h.refused("folder of the ledger does not exist"):
        ledger(tmp_path / "no")
    ledger(tmp_path)
    message = "ledger.sqlite was created with .'epsilon': 30.*got .'epsilon': 3"
    with h.refused(message):
        ledger(tmp_path, 3.0)


# --- damaged ledgers -----------------------------------------------------------------------------


def execute(file, statement):
    with sqlite3.connect(file) as database:
        database.execute(statement)
    database.close()


@h.table(
    "damage, message",
    ("text", lambda file: file.write_text("x"), ""),
    ("cut short", lambda file: file.write_bytes(file.read_bytes()[:5000]), ""),
    ("no budget", lambda file: execute(file, "DELETE FROM budget"), " .it contains no budget"),
)
def test_ledger_refuses_files_that_are_no_ledger(damage, message, tmp_path):
    ledger_in_use(tmp_path)
    damage(tmp_path / "ledger.sqlite")
    with h.refused(NO_LEDGER + message):
        ledger(tmp_path)


@h.table(
    "statement, message",
    ("no budget", "DELETE FROM budget", " .it contains no budget"),
    ("no table", "DROP TABLE spending", ".*nothing was recorded"),
)
def test_fit_refuses_a_damaged_ledger(statement, message, tmp_path):
    in_use = ledger_in_use(tmp_path)
    execute(tmp_path / "ledger.sqlite", statement)
    with h.refused(NO_LEDGER + message):
        h.fit({"ledger": in_use})


# --- fits that a ledger refuses ------------------------------------------------------------------

DEAR = BudgetExceededError
NO_NOISE = {"aggregator": PluralityVote(), "epsilon": None}


@h.table(
    "budget, params, message, error",
    ("random_state", 30.0, {"random_state": 0}, "refuses fits with.*got random_s", ValueError),
    ("over budget", 1.0, {}, "more than the ledger's epsilon=1", DEAR),
    ("no noise", 30.0, NO_NOISE, "costs epsilon=inf.*ledger's epsilon=30", DEAR),
)
def test_ledger_refuses_seeded_and_expensive_fits(budget, params, message, error, tmp_path):
    with h.refused(message, error):
        h.fit({"ledger": ledger(tmp_path, budget)} | params)


def test_ledger_refuses_fits_with_another_relation(tmp_path):
    in_use = ledger_in_use(tmp_path)
    with h.refused("cover the same change of the data.*Use the same partition and unit"):
        h.fit({"ledger": in_use, "epsilon": 3.0, "n_queries": 1})


# --- memory, and objects that do not pickle ------------------------------------------------------


class Locked(h.Teacher):
    """Cannot be pickled, so not be sent to another process."""

    lock = None

    def __init__(self):
        super().__init__()

    def __getstate__(self):
        return super().__getstate__() | {"lock": threading.Lock()}


def test_memory_refuses_folders_it_cannot_write_and_teachers_without_pickle(tmp_path):
    file = tmp_path / "file"
    file.write_text("x")
    for memory in ("", file, str(file / "sub")):
        with h.refused("memory=.*cannot be written to"):
            h.fit({"memory": memory})
    with h.refused("memory requires .* that pickle.*base_estimator"):
        h.fit({"memory": tmp_path, "base_estimator": Locked()})


def test_n_jobs_refuses_teachers_that_do_not_pickle():
    message = "records could not be sent .*PicklingError.*n_jobs=1"
    with h.refused(message, TeacherError, by_teachers=True):
        h.fit({"base_estimator": Locked(), "n_jobs": 2})


# --- data sets -----------------------------------------------------------------------------------


@h.each("fetch", (datasets.fetch_adult, datasets.fetch_diabetes130, datasets.fetch_mnist))
def test_fetchers_refuse_wrong_arguments(fetch, monkeypatch, tmp_path):
    def fetch_openml(*args, **options):
        raise OSError("no network")

    monkeypatch.setattr(datasets, "fetch_openml", fetch_openml)
    monkeypatch.delenv("SKLEARN_PATE_DATA", raising=False)
    for subset in ("Train", None, 5, ["all"]):
        with h.refused("subset must be .*got"):
            fetch(subset=subset)
    with h.refused("No folder has all files of .*Required: .*as data_home or", FileNotFoundError):
        fetch(data_home=tmp_path)
    with h.refused("data_home must be .*got 5", TypeError):
        fetch(data_home=5)
