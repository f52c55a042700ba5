"""Records that vote: what cannot work; masks, and numpy's own settings."""

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import StandardScaler

from sklearn_pate import PATEClassifier, PublicData
from sklearn_pate.exceptions import BadPlanError
from sklearn_pate.methods import ReverseNeighbors
from sklearn_pate.synthesis import MarginalSynthesizer

from . import helpers as h

RNG = np.random.default_rng(0)
MANY = RNG.uniform(size=(2000, 2))
LABELS = (MANY[:, 0] > 0.5).astype(int)
MANY[0, 1] = h.NUMBER
PUBLIC = RNG.uniform(size=(300, 2))


def records(**params):
    clf = PATEClassifier(**{"method": ReverseNeighbors(), "classes": [0, 1]} | params)
    h.ESTIMATORS.append(clf)
    return clf


# --- parameters ----------------------------------------------------------------------------------

NOT_A_COUNT = (0, -1, 2.5, "x")
WRONG = {
    "n_cells": NOT_A_COUNT,
    "n_neighbors": (*NOT_A_COUNT, None),
    "smoothing": (0, 1e-4, 1e4, h.NAN, "x", None),
    "random_state": (2**32, -1, 0.5, "x"),
    "relation": ("remove", "replace one record", None),
}


@h.each_of(WRONG)
def test_reverse_neighbors_parameter_refuses_wrong_type_or_range(name, value):
    with h.refused(f"'{name}' parameter of ReverseNeighbors must be .*Got "):
        records(method=ReverseNeighbors(**{name: value})).fit(MANY, LABELS, PUBLIC)


# --- plans that cannot work ----------------------------------------------------------------------


@h.table(
    "params, public, message",
    ("noise", {"epsilon": 0.001}, PUBLIC, "noise on the votes: there are 2000"),
    ("few rows", {}, PUBLIC[:3], "X_public has 3 rows, .* few for 2 classes.* Give 16"),
    ("equal rows", {}, PUBLIC[[0] * 300], "X_public (has 300 rows, 1 of them|are all equal)"),
)
def test_plan_that_cannot_work_warns_in_poll_and_raises_in_fit(params, public, message):
    clf = records(**params)
    with h.accepted(message):  # votes alone spend nothing, so `poll` warns
        clf.poll(MANY, LABELS, public)
    with h.refused(f"cannot work: .*{message}", BadPlanError) as caught:
        clf.fit(MANY, LABELS, public)
    with pytest.raises(ValueError, match="share_right requires teachers"):
        caught.value.plan.share_right(0.8)


# --- weights -------------------------------------------------------------------------------------

DRAWS = MarginalSynthesizer((0, 1), missing=[])


@h.table("weight", {"above 1": np.nextafter(1, 2), "below 0": -0.1, "NaN": h.NAN, "inf": h.INF})
@h.table(
    "make, public",
    ("records", lambda: records(epsilon=8.0), PUBLIC),
    ("records, no public rows", lambda: records(epsilon=8.0, synthesizer=DRAWS), None),
    ("teachers, no public rows", lambda: h.pate(n_teachers=20, synthesizer=DRAWS), None),
)
def test_sample_weight_outside_unit_interval_is_refused(make, public, weight):
    weights = h.changed(np.linspace(0, 1, 2000), weight)
    message = "sample_weight must be between 0 and 1 where|sample_weight must be 2000 finite"
    for method in ("fit", "plan", "poll"):
        with h.refused(message):
            getattr(make(), method)(MANY, LABELS, public, sample_weight=weights)


# --- tables --------------------------------------------------------------------------------------

LEVELS = pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)])


@h.table("public", {"rows": pd.DataFrame(h.X_PUBLIC, columns=LEVELS), "no rows": None})
def test_multiindex_columns_are_refused(public):
    draws = DRAWS if public is None else None
    with h.refused(r"columns of several levels \(a MultiIndex\) are not supported: flatten"):
        records(synthesizer=draws).plan(h.frame().set_axis(LEVELS, axis=1), h.Y, public)


INFINITE = h.changed(PUBLIC, h.INF, (3, 1))


def test_x_public_with_infinity_is_refused_by_a_transformer():
    with h.refused("could not be fitted on X_public: ValueError: Input X contains infinity"):
        records(method=ReverseNeighbors(StandardScaler())).fit(MANY, LABELS, INFINITE)


def test_x_public_with_infinity_gives_the_plan_of_missing_values():
    plan = records().plan(MANY, LABELS, INFINITE)
    missing = h.changed(PUBLIC, h.NAN, (3, 1))
    assert str(plan) == str(records().plan(MANY, LABELS, missing))


# --- masks ---------------------------------------------------------------------------------------


def masked(values):
    return np.ma.masked_array(values, np.zeros(np.shape(values), bool))


GIVEN = {"X": h.X, "y": h.Y, "X_public": h.X_PUBLIC, "sample_weight": np.ones(40)}


OF_PUBLIC_DATA = {"PublicData": ("X_public", PublicData(masked(h.X_PUBLIC)))}


@h.table("make", {"teachers": h.pate, "records": records})
@h.table(
    "name, value", {name: (name, masked(value)) for name, value in GIVEN.items()} | OF_PUBLIC_DATA
)
def test_masked_arrays_are_refused(make, name, value):
    for method in ("fit", "plan", "poll"):
        with h.refused(
            f"^{name} is a masked array, and its mask would be lost: fill it, for example with "
            f"{name}.filled"
        ):
            getattr(make(), method)(**GIVEN | {name: value})


def test_masked_votes_are_refused():
    with h.refused("votes is a masked array, and its mask would be lost"):
        h.fit_votes(masked(h.VOTES))
    with h.refused("X_public is a masked array, and its mask would be lost"):
        h.fit_votes(X_public=masked(h.X_PUBLIC))


@h.table("make", {"teachers": h.pate, "records": lambda: records(epsilon=20.0)})
def test_predictions_refuse_masked_rows(make):
    clf = make().fit(h.X, h.Y, h.X_PUBLIC)
    h.ESTIMATORS.clear()  # it is fitted
    for method in (clf.predict, clf.predict_proba):
        with pytest.raises(ValueError, match="^X is a masked array, and its mask would be lost"):
            method(masked(h.X))


# --- numpy's own settings ------------------------------------------------------------------------


@h.table(
    "make, public",
    ("teachers", lambda: h.pate(n_teachers=20, n_queries=200, aggregator=None), PUBLIC),
    ("records", records, PUBLIC),
    ("records, no public rows", lambda: records(epsilon=8.0, synthesizer=DRAWS), None),
)
def test_fit_works_while_numpy_raises_on_float_errors(make, public):
    rows, labels = MANY[1:], LABELS[1:]
    with h.accepted(), np.errstate(all="raise"):
        assert str(make().plan(rows, labels, public))
        clf = make().fit(rows, labels, public).fit_student(public)
        assert clf.score(rows, labels) > 0.8 and np.isfinite(clf.predict_proba(PUBLIC)).all()
        assert np.geterr() == dict.fromkeys(("divide", "over", "under", "invalid"), "raise")
