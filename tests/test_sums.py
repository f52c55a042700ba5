"""Class sums: what they cost, by enumeration and by what is drawn, and what is read from them."""

import pickle
from contextlib import nullcontext
from itertools import product

import numpy as np
import pandas as pd
import pytest
from conftest import cases, interrupt, three_classes
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from sklearn_pate import PATEClassifier, sums
from sklearn_pate.aggregators import LaplaceMechanism
from sklearn_pate.exceptions import BadPlanError
from sklearn_pate.ledger import PrivacyLedger
from sklearn_pate.sums import (
    OF_CENTRE,
    OF_COUNTS,
    OF_TOTAL,
    Discriminants,
    free_weight,
    noise_sizes,
    released,
    released_centre,
    sensitivity,
    shares,
    sums_cost,
    unit,
)
from sklearn_pate.synthesis import ClassSums, MarginalSynthesizer, Schema
from sklearn_pate.synthesis.synthesizers import ReleasedSums

# --- what one record changes ---------------------------------------------------------------------


def directions():
    """Rows of two columns around the circle, shorter ones, and none at all."""
    angles = np.linspace(0, 2 * np.pi, 25)[:-1]
    around = np.column_stack([np.cos(angles), np.sin(angles)])
    return np.concatenate([around, 0.999 * around, 0.5 * around, [[0.0, 0.0]]])


def contribution(psi, label, n_classes, of_moment):
    """All that one record adds, each block at its weight."""
    centred = np.eye(n_classes)[label] - 1 / n_classes
    counted = np.eye(n_classes)[label] * psi.any()
    blocks = (np.outer(centred, psi), OF_TOTAL * psi, OF_COUNTS * counted)
    moment = of_moment * np.outer(psi, psi)
    return np.concatenate([np.ravel(block) for block in (*blocks, moment)])


@pytest.mark.parametrize("n_classes", [2, 3, 10])
@pytest.mark.parametrize("part", [0.3, 1.0])
def test_sensitivity_is_that_of_all_neighbouring_pairs(n_classes, part):
    weight = part * free_weight(n_classes)
    of_all = product(directions(), range(min(n_classes, 3)))
    records = [contribution(psi, label, n_classes, weight) for psi, label in of_all]
    records = np.array([*records, np.zeros_like(records[0])])
    replaced = np.linalg.norm(records[:, None] - records[None], axis=2).max()
    bound = sensitivity(2, weight, n_classes=n_classes)
    assert 0.99 * bound < replaced <= bound * (1 + 1e-12)
    joined = np.linalg.norm(records, axis=1).max()
    bound = sensitivity(1, weight, n_classes=n_classes)
    assert 0.99 * bound < joined <= bound * (1 + 1e-12)


@pytest.mark.parametrize("n_classes", [2, 3, 4, 10, 100])
def test_the_moment_is_free_and_no_larger_weight_is(n_classes):
    weight = free_weight(n_classes)
    without = sensitivity(2, 0.0, n_classes=n_classes)
    assert sensitivity(2, weight, n_classes=n_classes) <= without * (1 + 1e-15)
    assert weight**2 <= (1 - 1 / n_classes + OF_TOTAL**2) / 2 * (1 + 1e-12)  # what the proof needs
    if n_classes == 2:
        assert weight**2 == pytest.approx(0.189, abs=1e-3)
        assert sensitivity(2, 1.01 * weight, n_classes=n_classes) > without


@pytest.mark.parametrize("n_classes", [2, 3, 5, 17, 1000])
def test_a_record_that_joins_costs_less_than_is_charged(n_classes):
    weight = free_weight(n_classes)
    one, two = (sensitivity(moved, weight, n_classes=n_classes) for moved in (1, 2))
    spent = OF_CENTRE * ((1 + OF_COUNTS**2) / 4) + (1 - OF_CENTRE) * (one / two) ** 2
    charged = sums_cost(3.0, 1).mu_squared / sums_cost(3.0, 2).mu_squared
    assert 0.8 * charged < spent <= charged


# --- what is drawn costs what is claimed ---------------------------------------------------------


class Still(sums.Centre):
    """Leaves rows where they are: the second step costs as much whatever the centre."""

    def apply(self, psi):
        return np.column_stack([psi, np.zeros(len(psi))])


def without_noise(whole, sd, step, rng):
    return whole * step


def noted(monkeypatch, noisy=without_noise):
    """Return a list of what will be drawn: without noise and with it, each beside its noise."""
    drawn = []

    def note(whole, sd, step, rng):
        found = noisy(whole, sd, step, rng)
        drawn.append(np.array([whole * step, found], dtype=float).reshape(2, -1) / sd)
        return found

    monkeypatch.setattr(sums, "_noisy", note)
    monkeypatch.setattr(sums, "threadpool_limits", nullcontext)  # a look at all libraries
    return drawn


def draw(drawn, psi, codes, n_classes, sizes, *, rng=None, units=None, weight=None):
    """Return all that is released of records, without noise and with it."""
    drawn.clear()
    part = shares(len(psi), units, weight)
    released_centre(psi, part, sizes[0], rng)
    released(psi, codes, part, Still(None), *sizes[1:], rng, n_classes=n_classes)
    return np.concatenate(drawn, axis=1)


@pytest.mark.parametrize("n_classes", [2, 7])
@cases("kind", "records", "weights", "groups", "numbers", "groups of numbers")
def test_what_is_drawn_has_the_noise_that_is_paid_for(n_classes, kind, monkeypatch):
    """Squared changes beside their noise, added up over all that is drawn, are mu squared at most.

    The code's own sums, in whole steps, of two tables that differ in one record or group. Ballots
    for numbers are split between two levels.
    """
    drawn = noted(monkeypatch)
    multiplier = 2.0
    sizes = noise_sizes(1 / multiplier, n_classes=n_classes)
    rng = np.random.default_rng(n_classes)
    found = []
    size = 3 if "groups" in kind else 1
    candidates = directions()

    def some():
        rows = candidates[rng.integers(len(candidates), size=size)]
        if "numbers" in kind:
            return rows, rng.uniform(0, n_classes - 1, size=size)
        return rows, rng.integers(n_classes, size=size)

    for k in range(60):
        first, second = some(), some()
        if k % 2:  # as far as can be
            first = first[0], np.round(first[1])
            second = -first[0], first[1]
        given = {}
        if "groups" in kind:
            given["units"] = np.zeros(size, dtype=int)
        if kind == "weights":
            given["weight"] = rng.choice([0.3, 1.0, 7.0], size=size)
        one, other = (draw(drawn, *rows, n_classes, sizes, **given)[0] for rows in (first, second))
        found.append(((one - other) ** 2).sum())
    claimed = sums_cost(multiplier, 2).mu_squared
    assert max(found) <= claimed and max(found) > (0.25 if "groups" in kind else 0.9) * claimed


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("most", [0, 2**34])
def test_rows_are_summed_exactly_in_blocks(is_weighted, most, monkeypatch):
    """As in whole numbers of any size."""
    monkeypatch.setattr(sums, "_MOST_COUNTED", most)
    rng = np.random.default_rng(0)
    psi = unit(rng.normal(size=(300, 4)))
    codes = rng.integers(3, size=300)
    amount, whole = shares(300, weight=rng.random(300) if is_weighted else None)
    monkeypatch.setattr(sums, "_noisy", without_noise)
    monkeypatch.setattr(sums, "_ROWS", 64)
    found = released(psi, codes, (amount, whole), Still(None), 1.0, 1.0, None, n_classes=3)
    steps = np.trunc(psi * 2**14 * (1 - 1e-12)).astype(int).astype(object)
    weighted = steps * amount.astype(object)[:, None]
    assert (found.moment[:4, :4] == ((weighted.T @ steps).astype(float) / 2**28 / whole)).all()
    total = weighted.sum(axis=0)
    for code in range(3):
        centred = (3 * weighted[codes == code].sum(axis=0) - total).astype(float)
        assert np.allclose(found.by_class[code, :4], centred / 3 / 2**14 / whole, rtol=1e-14)
    assert found.counts.sum() == amount.sum() / whole


@pytest.mark.parametrize("bad", [np.nan, 1.1])
def test_rows_that_are_too_long_or_not_finite_cast_nothing(bad, monkeypatch):
    sums_of = noiseless(np.array([[0.6, 0.0], [bad, 0.5]]), np.array([0, 1]), 2, monkeypatch)
    assert (sums_of.counts == [1, 0]).all() and sums_of.total[0] == pytest.approx(0.6, abs=1e-4)


def test_an_audit_finds_what_is_claimed(global_random_seed, monkeypatch):
    """Two tables that differ as much as can be are mu apart, beside noise along their difference.

    300 draws: its size has a standard deviation of 4 %. Noise that is smaller by the root of two
    is found at 0.71, and right noise fails once in a million.
    """
    rng = np.random.default_rng(global_random_seed)
    drawn = noted(monkeypatch, sums._noisy)

    def outcome(end):
        psi, sizes = np.array([[end, 0.0]]), noise_sizes(1.0, n_classes=2)
        return draw(drawn, psi, np.array([0]), 2, sizes, rng=rng)

    change = outcome(1.0)[0] - outcome(-1.0)[0]
    mu = np.linalg.norm(change)
    noise = [np.subtract(*outcome(1.0)) @ change / mu for _ in range(300)]
    assert 0.9 < mu <= 1
    assert abs(np.std(noise) - 1) < 4.9 / np.sqrt(600)


# --- what is read from them ----------------------------------------------------------------------


def noiseless(psi, codes, n_classes, monkeypatch):
    monkeypatch.setattr(sums, "_noisy", without_noise)
    noise = 1e-3, 1e-3, None
    return released(psi, codes, shares(len(psi)), Still(None), *noise, n_classes=n_classes)


def test_without_noise_they_are_linear_discriminants(monkeypatch):
    """Of five ordered classes as well, where regression on indicators masks the middle ones."""
    rng = np.random.default_rng(0)
    trait = rng.normal(size=20_000)
    codes = np.digitize(trait, [-1, -0.3, 0.3, 1])
    X = 0.5 * trait[:, None] + rng.normal(size=(20_000, 8))
    psi = unit(np.column_stack([X, np.full(20_000, 5)]))
    read = Discriminants(noiseless(psi, codes, 5, monkeypatch))
    ours = read.logits(Still(None).apply(psi)).argmax(axis=1)
    assert (ours == LinearDiscriminantAnalysis().fit(psi, codes).predict(psi)).mean() > 0.99
    assert read.n == pytest.approx(20_000, rel=1e-3)


@pytest.mark.parametrize("seed", range(2))
def test_noise_alone_is_told_and_gives_the_majority(seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(3000, 20))
    y = (rng.random(3000) < 0.2).astype(int)
    clf = PATEClassifier(schema=(-1, 1), classes=[0, 1], random_state=seed)
    with pytest.warns(UserWarning, match="little better than a coin flip|one class"):
        clf.fit(X, y)
    assert clf.score(X, y) > max(np.bincount(y)) / len(y) - 0.05


def test_drawn_rows_are_as_was_declared():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"age": pd.array(rng.integers(18, 90, 4000), dtype="Int64")})
    rows["job"] = rng.choice(["clerk", "farmer", "spy"], 4000)
    rows["income"] = rng.exponential(1e4, 4000)
    rows["smokes"] = rng.random(4000) < 0.3
    rows.loc[::7, "age"] = pd.NA
    rows.loc[::5, "job"] = None
    labels = np.where(rows["smokes"], "ill", "well")
    columns = {"age": (18, 89), "job": ["clerk", "farmer"], "income": (0, 1e3, 1e4, 1e5)}
    schema = Schema(columns, missing=["age", "job"])
    clf = PATEClassifier(schema=schema, classes=["ill", "well"]).fit(rows, labels)
    drawn = clf.X_synthetic_
    assert (drawn.dtypes == rows.dtypes).all() and drawn["age"].dropna().between(18, 89).all()
    assert set(drawn["job"].dropna()) == {"clerk", "farmer"}
    assert drawn["income"].between(0, 1e5).all() and 0 < drawn["age"].isna().mean() < 0.4
    assert abs(drawn["smokes"].mean() - 0.3) < 0.1 and clf.score(rows, labels) > 0.95
    assert clf.privacy_spent_.not_covered == () and "farmer" in repr(schema)


def test_no_record_makes_an_error():
    rows = pd.DataFrame({"infinite": [np.inf, -np.inf], "huge": [1e300, 5e-324]}, index=[0, 599])
    rows = rows.reindex(range(600), fill_value=0.5).assign(b=np.linspace(0, 1, 600))
    unmasked = np.array([np.nan, *[0.5] * 599]), np.zeros(600, dtype=bool)
    rows["NaN without a mask"] = pd.arrays.FloatingArray(*unmasked)
    labels = (rows["b"] > 0.5).astype(int)
    clf = PATEClassifier(schema=dict.fromkeys(rows, (0.0, 1.0)), classes=[0, 1], epsilon=5)
    assert np.isfinite(clf.fit(rows, labels).predict_proba(rows[1:-1])).all()


def test_a_dtype_with_categories_that_were_not_declared():
    rows = pd.DataFrame({"job": pd.Categorical(["clerk", "farmer", "spy"] * 200)})
    clf = PATEClassifier(schema={"job": ["clerk", "farmer"]}, classes=[0, 1])
    with pytest.raises(ValueError, match="those of a dtype are published"):
        clf.fit(rows, np.tile([0, 1, 1], 200))


@pytest.mark.parametrize("given", ["groups", "unit"])
def test_where_the_number_of_records_is_private_no_rule_uses_it(given):
    """Around 300 records for each of 4 numbers, by which the rule decides who votes."""
    X = np.random.default_rng(0).random((1201, 3))
    y = (X[:, 0] > 0.5).astype(int)
    groups = np.arange(1201) // 2
    unit = "group" if given == "unit" else "record"
    clf = PATEClassifier(schema=(0.0, 1.0), classes=[0, 1], unit=unit)
    plans = {str(clf.plan(X[:n], y[:n], groups=groups[:n])) for n in (1199, 1200, 1201)}
    assert len(plans) == 1


# --- a fit ---------------------------------------------------------------------------------------


def on_declared(**params):
    """Rows, labels, and a classifier to which the columns are declared."""
    given = {"schema": (-9, 9), "classes": range(3), "epsilon": 2} | params
    return *three_classes(900, 6), PATEClassifier(**given)


def test_a_fit_on_declared_columns(tmp_path):
    X, y = load_digits(return_X_y=True)
    clf = PATEClassifier(schema=(0, 16), classes=range(10), epsilon=2)
    plan = str(clf.plan(X, y))
    assert "nobody: class sums take all of epsilon" in plan
    assert "65 numbers for each of 10 classes" in plan
    ledger = PrivacyLedger(tmp_path / "ledger", epsilon=2, delta=1e-5)
    clf.set_params(ledger=ledger).fit(X, y)
    assert clf.score(X, y) > 0.7
    spent = clf.privacy_spent_
    assert 1.99 < spent.epsilon <= 2
    assert (spent.delta, spent.arithmetic, spent.n_synthetic) == (1e-5, "exact", 5000)
    assert ledger.epsilon_spent == pytest.approx(spent.epsilon)
    assert np.allclose(clf.table_.rates(X).sum(axis=1), 1)
    assert (pickle.loads(pickle.dumps(clf)).predict(X) == clf.predict(X)).all()
    pytest.raises(ValueError, clf.export).match("fit_student")
    model = clf.fit_student(student=LinearDiscriminantAnalysis()).export()  # free
    assert type(model) is LinearDiscriminantAnalysis and len(ledger.history()) == 1
    assert clf.privacy_spent_.epsilon == spent.epsilon


def test_few_columns_of_many_records_are_read_with_cells():
    """Classes that no sum tells apart: the product of two columns."""
    X = np.random.default_rng(0).uniform(-1, 1, size=(20_000, 3))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    clf = PATEClassifier(schema=[(-1, 1)] * 3, classes=[0, 1], epsilon=2).fit(X, y)
    assert "StackedTable" in repr(clf.table_) and clf.score(X, y) > 0.8
    assert clf.privacy_spent_.method == "mixed"


@cases("voters", {"n_teachers": 50}, {"base_estimator": LinearDiscriminantAnalysis()})
def test_teachers_vote_on_rows_that_were_drawn(voters):
    X, y = load_iris(return_X_y=True)
    X, y = np.tile(X, (20, 1)), np.tile(y, 20)
    clf = PATEClassifier(schema=(0, 8), classes=[0, 1, 2], epsilon=3, **voters).fit(X, y)
    assert clf.n_teachers_ > 1 and clf.score(X, y) > 0.7 and clf.privacy_spent_.epsilon <= 3


@pytest.mark.parametrize("kind", ["groups", "weights"])
def test_groups_and_weights(kind):
    X, y, clf = on_declared()
    given = {"groups": np.arange(len(y)) // 2} if kind == "groups" else {"sample_weight": y < 2}
    clf.fit(X, y, **given)
    assert clf.privacy_spent_.unit == ("group" if kind == "groups" else "record")
    if kind == "weights":
        assert (clf.predict(X) < 2).mean() > 0.9


SCHEMA = dict.fromkeys(range(6), (0, 16))


@cases(
    "schema, message",
    ([(0, 16)] * 3, "X has 6 columns"),
    ("ages", "schema"),
    ({0: (0, 16)}, "are not declared"),
    ({**SCHEMA, 3: [0, 16]}, "bounds are a tuple"),
    ({**SCHEMA, "age": (0, 1)}, "does not have"),
    ((16, 0), "bounds"),
    (dict.fromkeys(SCHEMA, 3), "a tuple of numbers"),
)
def test_what_is_no_schema(schema, message, ledger):
    X, y, clf = on_declared(schema=schema, ledger=ledger)
    pytest.raises(ValueError, clf.fit, X, y).match(message)
    assert ledger.epsilon_spent == 0


def test_columns_are_declared_once():
    X, y, clf = on_declared(synthesizer=MarginalSynthesizer(bounds=(-9, 9)))
    pytest.raises(ValueError, clf.fit, X, y).match("declared once")
    rows = MarginalSynthesizer(n_rows=100, noise=LaplaceMechanism())
    assert clf.set_params(synthesizer=rows, epsilon=10).fit(X, y).X_synthetic_.shape == (100, 6)


def test_sums_that_noise_drowns_are_refused():
    X, y, clf = on_declared(epsilon=0.01)
    with pytest.raises(BadPlanError, match="the noise drowns the sums"):
        clf.fit(X[:100], y[:100])
    with pytest.raises(ValueError, match="share=1"):
        clf.set_params(epsilon=1, n_teachers=5, synthesizer=ClassSums(share=1)).fit(X, y)


def test_polled_sums_are_read_by_each_call():
    X, y, clf = on_declared()
    assert clf.fit_votes(clf.poll(X, y)).score(X, y) > 0.7 and clf.privacy_spent_.epsilon <= 2


def test_what_fails_after_sums_are_paid_says_so(monkeypatch, tmp_path):
    ledger = PrivacyLedger(tmp_path / "ledger", epsilon=10, delta=1e-5, composition="gaussian")
    X, y, clf = on_declared(ledger=ledger)
    monkeypatch.setattr("sklearn_pate.synthesis.synthesizers.released", interrupt)
    with pytest.raises(KeyboardInterrupt) as caught:
        clf.fit(X, y)
    assert "is spent, and nothing of it was kept" in caught.value.__notes__[0]
    assert caught.value.privacy_spent.epsilon == pytest.approx(2, abs=0.01)
    assert ledger.epsilon_spent == pytest.approx(2, abs=0.1)


def test_a_synthesizer_that_declares_columns_leads_to_the_same_fit():
    X, y, clf = on_declared(schema=None, random_state=0, on_bad_plan="warn")
    ways = {"schema": (-9, 9)}, {"synthesizer": MarginalSynthesizer((-9, 9), missing=[])}
    fits = [clone(clf).set_params(**given).fit(X[:400], y[:400]) for given in ways]
    assert isinstance(fits[1].table_, ReleasedSums)
    assert np.array_equal(*(fit.table_.sums.by_class for fit in fits))
    told = fits[1].set_params(synthesizer__n_bins=4, epsilon=50).plan(X, y)
    assert type(told.synthesizer) is MarginalSynthesizer


def test_sums_do_not_depend_on_the_workers(forked_workers, monkeypatch):
    monkeypatch.setattr(sums, "_ROWS", 64)
    X, y, clf = on_declared(random_state=0)
    fits = [clone(clf).set_params(n_jobs=n_jobs).fit(X, y) for n_jobs in (None, 2)]
    for part in ("by_class", "moment", "counts"):
        assert np.array_equal(*(getattr(fit.table_.sums, part) for fit in fits))
