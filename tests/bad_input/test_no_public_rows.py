"""Fits without public rows that cannot work: what is said, and that the remedy works."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import VotingClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from sklearn_pate import FitOnPublic, PATEClassifier
from sklearn_pate.aggregators import LaplaceMechanism
from sklearn_pate.exceptions import BudgetExceededError
from sklearn_pate.neighbors import ReverseNeighbors
from sklearn_pate.synthesis import MarginalSynthesizer

from .helpers import LABEL, NUMBER, accepted, each, refused

RNG = np.random.default_rng(0)
N = 1000
ROWS = pd.DataFrame({"age": RNG.uniform(20, 80, N), "visits": RNG.uniform(0, 9, N)})
LABELS = (ROWS["age"] > 50).astype(int).to_numpy()
ROWS.loc[0, "visits"] = NUMBER
MIXED = ROWS.assign(job=pd.Categorical(RNG.choice(["nurse", "clerk"], N)))
WORDS = np.array(["no", "yes"])[LABELS]


def marginals(**params):
    bounds = {"age": (20, 80), "visits": (0, 9)}
    return MarginalSynthesizer(**({"bounds": bounds, "missing": [], "n_rows": 300} | params))


def records(base=None, synthesizer=None, **params):
    given = {"synthesizer": synthesizer or marginals(), "epsilon": 4.0, "classes": [0, 1]} | params
    return PATEClassifier(base or ReverseNeighbors(), **given)


def teachers(base=None, **params):
    return records(GaussianNB() if base is None else base, **{"n_teachers": 20} | params)


@pytest.mark.parametrize("make", [records, teachers])
def test_groups_that_are_protected_and_not_given(make):
    clf = make(unit="group")
    with refused("needs groups=, one ident|give groups=, one identifier per record. Searches"):
        clf.fit(ROWS, LABELS)
    with accepted():
        assert clf.fit(ROWS, LABELS, groups=np.arange(N)).privacy_spent_.unit == "group"


@pytest.mark.parametrize("make", [records, teachers])
def test_an_epsilon_that_pays_for_no_rows(make):
    with refused("MarginalSynthesizer cannot be calibrated to epsilon", BudgetExceededError):
        make(epsilon=1e-9, delta=1e-12).plan(ROWS, LABELS)
    with accepted():
        make(epsilon=4.0, delta=1e-12).plan(ROWS, LABELS)


def test_no_epsilon_to_calibrate_to():
    params = {"epsilon": None, "aggregator": LaplaceMechanism(2.0)}
    with refused(r"epsilon is None; set epsilon, or .*noise=LaplaceMechanism\(scale\)"):
        records(**params).plan(ROWS, LABELS)
    with accepted():
        records(synthesizer=marginals(noise=LaplaceMechanism(3.0)), **params).plan(ROWS, LABELS)


@each("rows", [ROWS, ROWS.to_numpy()])
def test_rows_and_labels_in_each_others_place(rows):
    undrawn = records().set_params(synthesizer=None)
    for clf, public in ((records(), {}), (undrawn, {"X_public": rows})):
        with refused("X and y may be swapped"):
            clf.fit(LABELS, rows, **public)
        with refused("Expected X as a 2D array|two axes"):
            clf.fit(LABELS, LABELS[:, None], **public)


def test_classes_in_words_within_ensembles_that_number_them():
    def within(classes):
        return VotingClassifier([("private", records(classes=classes))])

    with refused("in the type that y has: these are text, y holds numbers"):
        within(["no", "yes"]).fit(ROWS, WORDS)
    with refused("classes must list all labels that may occur, in the type that y has$"):
        records().fit(ROWS, LABELS * LABEL)  # which no ensemble made
    with accepted():
        assert within(range(2)).fit(ROWS, WORDS).score(ROWS[1:], WORDS[1:]) > 0.8


def test_a_transformer_of_public_rows_that_there_are_none_of():
    scaler = StandardScaler()
    with refused(r"got no X_public.* with a synthesizer.*ReverseNeighbors\(transformer\)"):
        make_pipeline(FitOnPublic(scaler), records()).fit(ROWS, LABELS)
    with accepted():
        records(ReverseNeighbors(scaler)).fit(ROWS, LABELS)
        teachers(base=make_pipeline(scaler, GaussianNB())).fit(ROWS, LABELS)


def test_a_transformer_of_numbers_for_columns_of_several_kinds():
    numbers, others = ["age", "visits"], ["job"]
    with refused(
        "could not convert string to float.*columns of several kinds, leave transformer=None"
    ):
        records(ReverseNeighbors(StandardScaler())).fit(MIXED, LABELS)
    words = OneHotEncoder(handle_unknown="ignore")
    of_each = make_column_transformer((StandardScaler(), numbers), (words, others))
    with accepted():
        records(ReverseNeighbors(of_each)).fit(MIXED, LABELS)


# --- noise that drowns the columns, by public numbers alone --------------------------------------

FEW = pd.DataFrame(RNG.uniform(0, 9, (4000, 40)), columns=[f"c{k}" for k in range(40)])


def drowned(n_records=400, n_columns=30, *, aggregator=None, base=None, **params):
    """What a plan says of the noise of synthetic rows; None if nothing."""
    rows = FEW.iloc[:n_records, :n_columns]
    epsilon = params.pop("epsilon", 1.0)
    synthesizer = MarginalSynthesizer((0, 9), **({"missing": []} | params))
    clf = records(base, synthesizer, epsilon=epsilon, aggregator=aggregator)
    with warnings.catch_warnings(action="error"):
        plan = clf.plan(rows, np.arange(n_records) % 2)
    found = [text for text in plan.advice if text.startswith("the noise drowns the columns")]
    # No share of right labels where records vote, and rows that are not drawn yet tell nothing
    assert "\nright " not in str(plan) and "\ncells tell" not in str(plan)
    assert ("\n! the noise drowns the columns" in str(plan)) == bool(found)
    return found[0] if found else None


def test_what_helps_against_noise_helps():
    text = drowned(400, 10)
    n_needed = int(re.search(r"about (\d+) are needed", text)[1])
    assert n_needed > 400 and "fewer columns, lower n_bins" in text
    assert drowned(n_needed + 1, 10) is None and drowned(n_needed - 1, 10) is not None
    assert drowned(400, 2, n_bins=3) is None and drowned(400, 10, epsilon=50.0) is None


def test_noise_is_judged_by_all_bins_of_a_column_beside_a_class():
    for n_records in (700, 900, 1100):
        std = np.sqrt(2) * 2 * 6 / 0.4
        assert (drowned(n_records, 5) is None) == (std * np.sqrt(32) / (n_records / 2) <= 0.4)


def test_a_number_of_records_that_is_private_is_not_told():
    private = {"base": ReverseNeighbors(adjacency="add_or_remove")}
    texts = [drowned(n, 30, n_rows=500, **private) for n in (300, 2000)]
    assert texts[0] == texts[1] and "500 rows to draw" in texts[0]
    assert drowned(300, 30, n_rows=5000, **private) is None


def test_drowned_columns_are_warned_of_in_a_fit():
    rows, labels = load_breast_cancer(return_X_y=True)
    clf = records(synthesizer=MarginalSynthesizer((0, 5000), missing=[], n_rows=200), epsilon=1.0)
    with accepted(
        "the noise drowns the columns of the synthetic rows: there are 569 private records"
    ):
        # With such rows, what the table tells is a matter of luck
        warnings.filterwarnings("ignore", "what was released may be little better")
        clf.fit(rows, labels)
