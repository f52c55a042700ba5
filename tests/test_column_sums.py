"""Records that vote with all of their columns: what one of them changes, costs and tells."""

import math
import pickle
from itertools import product

import numpy as np
import pandas as pd
import pytest
from conftest import cases
from scipy import sparse
from scipy.stats import norm
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from sklearn_pate import PATEClassifier
from sklearn_pate.aggregators import LaplaceMechanism
from sklearn_pate.column_sums import _OF_TOTAL, _WHOLE, ColumnSums, ReleasedColumns, SumsMechanism
from sklearn_pate.electorate import PrivateData
from sklearn_pate.exceptions import BadPlanError, TeacherError
from sklearn_pate.model_selection import PrivateGridSearchCV
from sklearn_pate.neighbors import ReverseNeighbors
from sklearn_pate.rdp import gdp_to_epsilon
from sklearn_pate.rules import columns_tell_more
from sklearn_pate.sums import STEP

RNG = np.random.default_rng(0)
PUBLIC = RNG.normal(size=(200, 2)) * [1.0, 3.0]


def table_of(X, codes, *, n_classes, groups=None, weight=None, joins=False):
    """What records cast, in records, with the weight of all of them at their noise."""
    given = {"classes": np.arange(n_classes), "groups": groups, "sample_weight": weight}
    private = PrivateData(X=np.asarray(X, dtype=float), codes=np.asarray(codes), **given)
    voters = ColumnSums(bends=False, adjacency="add_or_remove" if joins else "replace")
    voters.enrol(private, PUBLIC)
    table = voters.vote(private, PUBLIC).astype(float) * STEP / _WHOLE / n_classes
    table[:, -1] *= _OF_TOTAL
    return table


def most(n_classes):
    """What the mechanism takes one record to change."""
    return SumsMechanism(n_classes, 1.0).noise_std


RECORDS = [*(5.0 * np.array([np.cos(a), np.sin(a)]) for a in np.linspace(0, 2 * np.pi, 7)[1:])]
RECORDS += [np.array([0.0, 0.0]), np.array([1e9, -1.0]), np.array([np.nan, np.inf])]


@pytest.mark.parametrize("n_classes", [2, 7])
@cases("codes", [0, 1, 2], [0.0, 0.25, 0.999999, 1.0, 1.5], ids=["classes", "split ballots"])
def test_no_pair_of_records_moves_more_than_is_charged(n_classes, codes):
    codes = sorted({min(code, n_classes - 1) for code in codes})
    given = {"n_classes": n_classes}
    tables = [table_of([row], [code], **given) for row, code in product(RECORDS, codes)]
    moved = [np.linalg.norm(a - b) for a, b in product(tables, tables)]
    assert 0.9 * most(n_classes) < max(moved) <= most(n_classes)
    joined = (table_of([row], codes[:1], **given, joins=True) for row in RECORDS)
    for table in (*tables, *joined):  # what a record that joins is charged
        assert np.linalg.norm(table) <= math.sqrt(0.45) * most(n_classes)


@pytest.mark.parametrize("how", ["groups", "weight", "both"])
def test_a_group_moves_no_more_than_a_record(how):
    rng = np.random.default_rng(1)
    X, codes = 5 * rng.normal(size=(6, 2)), rng.integers(3, size=6)
    others = rng.normal(size=(3, 2))
    for seed in range(8):
        rng = np.random.default_rng(seed)
        groups = np.array([0, 0, 0, 1, 1, 2]) if how != "weight" else None
        weight = rng.random(6) * 1.5 if how != "groups" else None
        given = {"n_classes": 3, "groups": groups, "weight": weight}
        moved = X.copy()
        n_moved = 1 if groups is None else 3
        moved[:n_moved] = others[:n_moved] * rng.choice([-1, 1, 1e6, np.nan], size=(n_moved, 1))
        codes_after = codes.copy()
        codes_after[:n_moved] = rng.integers(3, size=n_moved)
        change = table_of(X, codes, **given) - table_of(moved, codes_after, **given)
        assert np.linalg.norm(change) <= most(3)


def test_one_odd_record_moves_no_other():
    odd = [[np.nan, 1.0], [1e300, -1e300], [np.inf, 0.0]]
    X, codes = RNG.normal(size=(500, 2)), RNG.integers(2, size=500)
    before = table_of(X[1:], codes[1:], n_classes=2)
    for record in odd:
        alone = table_of([record], codes[:1], n_classes=2)
        both = table_of(np.vstack([[record], X[1:]]), codes, n_classes=2)
        np.testing.assert_array_equal(both, before + alone)


# --- what the noise costs ------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_cost_is_that_of_gaussian_noise(epsilon):
    X, y, rows = wide()
    clf = PATEClassifier(ColumnSums(), epsilon=epsilon, classes=[0, 1], on_bad_plan="warn")
    plan = clf.plan(X, y, X_public=rows)
    ((mechanism, _),) = plan.stages
    assert gdp_to_epsilon(1 / mechanism.noise_multiplier, 1e-5) <= plan.epsilon <= epsilon
    assert plan.epsilon > 0.99 * epsilon


@pytest.mark.parametrize("part, fits", [(1.0, True), (math.sqrt(0.5), False)])
def test_an_attack_finds_what_is_charged(part, fits):
    """Power: 10,000 draws tell mu of 1 from 1.41 by more than 15 standard errors."""
    far = [table_of([[x, 0.0]], [0], n_classes=2) for x in (9.0, -9.0)]
    change = far[0] - far[1]
    many = np.zeros((10_000 * len(change), 3), dtype=np.int64)
    noise = SumsMechanism(2, 1.0).noisy(many, np.random.default_rng(0)).reshape(10_000, 3, 3)
    noise *= [part, part, part * _OF_TOTAL]
    np.testing.assert_allclose(noise.std(axis=(0, 1)), part * most(2), rtol=0.02)
    along = (noise * change).sum(axis=(1, 2)) / np.linalg.norm(change)
    found = 2 * norm.ppf((along < np.linalg.norm(change) / 2).mean())  # of two equal errors
    assert (0.9 < found < 1.05) == fits


# --- what is told --------------------------------------------------------------------------------


def wide(n=4000, d=60, n_classes=2, seed=0):
    X = np.random.default_rng(seed).normal(size=(n + 1000, d))
    edges = np.linspace(-2, 2, n_classes + 1)[1:-1]
    return X[:n], np.digitize(X[:, :8].sum(axis=1), edges)[:n], X[n:]


def fitted(**params):
    X, y, rows = wide()
    given = {"epsilon": 1.0, "classes": [0, 1], "random_state": 0} | params
    return PATEClassifier(**given).fit(X, y, X_public=rows), X, y, rows


@pytest.mark.parametrize("n_classes", [2, 4])
def test_without_noise_they_are_linear_discriminants(n_classes):
    X, y, _ = wide(20_000, 20, n_classes)
    rows, _, _ = wide(20_000, 20, seed=1)
    clf = PATEClassifier(ColumnSums(bends=False), epsilon=100.0, classes=range(n_classes))
    clf.fit(X, y, X_public=rows)
    psi = (X - rows.mean(axis=0)) / np.sqrt(rows.std(axis=0))
    psi /= np.linalg.norm(psi, axis=1, keepdims=True)
    expected = LinearDiscriminantAnalysis().fit(psi, y).predict_proba(psi)
    assert np.abs(clf.predict_proba(X) - expected).mean() < 0.01


def test_wide_tables_are_read_by_their_columns():
    clf, X, y, _ = fitted()
    plan = clf.plan(X, y, X_public=wide()[2])
    assert "each with all of its columns (by default" in " ".join(str(plan).split())
    assert isinstance(clf.table_, ReleasedColumns)
    assert clf.score(X, y) > 0.85  # cells: 0.5
    assert clf.privacy_spent_.method == "gaussian" and clf.privacy_spent_.epsilon <= 1.0


def test_bends_are_seen():
    X = np.random.default_rng(0).normal(size=(6000, 8))
    y = ((X[:, :2] ** 2).sum(axis=1) > 1.4).astype(int)
    both = (ColumnSums(bends=bends) for bends in (True, False))
    fits = (PATEClassifier(voters, classes=[0, 1], random_state=0) for voters in both)
    by_bends, straight = (clf.fit(X[:5000], y[:5000], X[5000:]).score(X, y) for clf in fits)
    assert straight < 0.6 and by_bends > 0.8


def test_nothing_to_tell_is_told_of():
    X, _, rows = wide()
    coins = np.random.default_rng(5).integers(2, size=len(X))
    with pytest.warns(UserWarning, match="little better than a coin flip"):
        PATEClassifier(classes=[0, 1], random_state=0).fit(X, coins, X_public=rows)


@pytest.mark.parametrize(
    "explained, n_classes, signal, expected",
    [(0.5, 2, 6, True), (0.61, 2, 99, False), (0.5, 3, 99, False), (0.1, 2, 4.9, False)],
)
def test_public_numbers_decide(explained, n_classes, signal, expected):
    told = columns_tell_more(explained=explained, n_classes=n_classes, signal=signal)
    assert told == expected


def test_groups_leave_the_choice_to_public_rows():
    X, y, rows = wide()
    clf, thrice = PATEClassifier(classes=[0, 1]), (np.tile(X, (3, 1)), np.tile(y, 3))
    plans = [clf.plan(*data, rows, groups=np.arange(len(data[0]))) for data in ((X, y), thrice)]
    assert plans[0].voters == plans[1].voters


# --- all that holds for a table ------------------------------------------------------------------


def test_votes_are_cast_once_and_read_often():
    clf, X, y, rows = fitted()
    votes = clf.poll(X, y, X_public=rows)
    twice = [PATEClassifier(epsilon=e, classes=[0, 1], random_state=0) for e in (1.0, 1.0)]
    first, second = (one.fit_votes(votes, rows).predict_proba(X) for one in twice)
    np.testing.assert_array_equal(first, second)
    pytest.raises(ValueError, twice[0].fit_votes, votes, rows[::-1]).match("not what was voted on")
    assert pickle.loads(pickle.dumps(clf)).score(X, y) == clf.score(X, y)
    tree = clf.fit_student(student=DecisionTreeClassifier(max_depth=3), X_public=rows[:500])
    assert isinstance(tree.student_, DecisionTreeClassifier)


def test_mistakes():
    X, y, rows = wide()
    clf = PATEClassifier(ColumnSums(), classes=[0, 1])
    with pytest.raises(ValueError, match="ColumnSums takes DataFrames, and arrays"):
        clf.fit(sparse.csr_array(X), y, X_public=sparse.csr_array(rows))
    with pytest.raises(ValueError, match="needs public rows that are there before a fit"):
        clone(clf).set_params(schema=(-5.0, 5.0)).fit(X, y)  # it has sums of its own
    with pytest.raises(ValueError, match="'adjacency' parameter of ColumnSums"):
        clf.set_params(base_estimator__adjacency="swap").fit(X, y, X_public=rows)


def test_sums_and_cells_have_noise_of_their_own_kind():
    X, y, rows = wide(d=3)
    of_cells = PATEClassifier(aggregator=LaplaceMechanism(), classes=[0, 1], on_bad_plan="warn")
    assert of_cells.plan(X, y, rows).voters.name == ReverseNeighbors.__name__
    with pytest.raises(ValueError, match="ColumnSums has a mechanism of its own"):
        clone(of_cells).set_params(base_estimator=ColumnSums()).fit(X, y, rows)
    with pytest.raises(ValueError, match="aggregator must be a TableMechanism"):
        of_cells.set_params(aggregator=SumsMechanism(2)).fit(X, y, X_public=rows)
    with pytest.raises(ValueError, match="in whole steps, by ColumnSums"):
        SumsMechanism(2, 1.0).noisy(np.zeros((3, 2)))
    pytest.raises(ValueError, SumsMechanism(2, -1.0).cost, 2).match("noise_multiplier")
    short, long = (SumsMechanism(2, kind(np.float32(300.1))) for kind in (np.float32, float))
    assert short.noise_std == long.noise_std
    assert short.cost(2).mu_squared == long.cost(2).mu_squared


@pytest.mark.parametrize("public", [1, 3])
def test_hardly_any_public_rows_are_refused(public):
    X, y, rows = wide()
    for voters in (None, ColumnSums()):
        with pytest.raises(BadPlanError, match="few to tell them apart by"):
            PATEClassifier(voters, classes=[0, 1]).fit(X, y, X_public=rows[:public])


def test_votes_of_others_are_refused():
    X, y, rows = wide()
    cells = PATEClassifier(ReverseNeighbors(), classes=[0, 1], on_bad_plan="warn")
    columns = PATEClassifier(ColumnSums(), classes=[0, 1])
    with pytest.warns(UserWarning, match="a coin flip is likely"):
        votes = cells.poll(X, y, X_public=rows)
    with pytest.raises(ValueError, match="ReverseNeighbors cast these votes"):
        columns.fit_votes(votes, rows)
    votes = columns.poll(X, y, X_public=rows)
    assert columns.fit_votes(votes, rows).score(X, y) > 0.85
    pytest.raises(ValueError, cells.fit_votes, votes, rows).match("ColumnSums cast these votes")


@pytest.mark.parametrize("student", [None, LogisticRegression()])
def test_a_search_may_ask_for_them(student, monkeypatch):
    monkeypatch.setattr("sklearn_pate.model_selection.trials.MOST_SCORED", 20)
    X, y, rows = wide(2000, 10)
    clf = PATEClassifier(ColumnSums(), classes=[0, 1], student=student)
    given = {"epsilon": 3.0, "n_trials": 2, "random_state": 0}
    search = PrivateGridSearchCV(clf, {"delta": [1e-5, 1e-6]}, **given)
    assert search.fit(X, y, X_public=rows).score(X, y) > 0.8


def test_large_groups_count():
    X, y, rows = wide(9000, 20)
    clf = PATEClassifier(ColumnSums(bends=False), classes=[0, 1], on_bad_plan="warn")
    votes = clf.poll(X, y, X_public=rows, groups=np.arange(9000) // 4500)
    step = STEP / _WHOLE / 2
    assert votes.counts[-1, -1] * step == pytest.approx(2 * 0.287, abs=0.01)  # of two groups


@pytest.mark.parametrize("odd", [pd.NaT, 3, b"\xff", "caf\udce9"], ids=repr)
@pytest.mark.parametrize("voters", [ColumnSums(), ReverseNeighbors(random_state=0)])
def test_one_odd_text_moves_no_other(voters, odd):
    def frame(texts):
        x = np.linspace(0, 1, len(texts))
        return pd.DataFrame({"c": pd.Series(texts, dtype=object), "x": x})

    public = frame(["red", "blue"] * 30)
    rest = ["caf\udce9", "red"] * 30
    clf = PATEClassifier(voters, classes=[0, 1], on_bad_plan="warn", random_state=0)
    labels, tables = np.zeros(61, dtype=int), (frame([*rest, last]) for last in (odd, "blue"))
    with_it, without = (clf.poll(rows, labels, X_public=public).counts for rows in tables)
    moved = np.abs(with_it - without).sum()
    if isinstance(voters, ColumnSums):
        moved *= STEP / _WHOLE / 2
    assert moved < 8


def test_columns_that_do_not_vary_say_nothing():
    X, y, rows = wide()
    constant = np.zeros((len(X), 5))
    constant[y == 1] = 1.0  # the label itself, which public rows do not have
    clf = PATEClassifier(ColumnSums(), classes=[0, 1], random_state=0)
    clf.fit(np.hstack([X, constant]), y, X_public=np.hstack([rows, np.zeros((len(rows), 5))]))
    assert 0.8 < clf.score(np.hstack([X, 0 * constant]), y)
    model = clf.export(np.hstack([rows, np.zeros((len(rows), 5))]))
    assert (model.predict(np.hstack([X, constant])) == clf.predict(np.hstack([X, constant]))).all()


def test_sums_are_kept_and_do_not_depend_on_the_workers(tmp_path, forked_workers, monkeypatch):
    monkeypatch.setattr("sklearn_pate.neighbors.electorate.BLOCK_SIZE", 1000)
    X, y, rows = wide()
    groups = np.arange(len(y)) // 3
    clf = PATEClassifier(ColumnSums(), classes=[0, 1])
    fits = [clone(clf).set_params(**given) for given in ({}, {"n_jobs": 2}, {"memory": tmp_path})]
    polled = [clf.poll(X, y, rows, groups=groups).counts for clf in fits]
    chosen = PATEClassifier(classes=[0, 1], memory=tmp_path)
    votes = chosen.poll(X, y, rows)
    assert type(votes.electorate) is ColumnSums
    monkeypatch.setattr("sklearn_pate.column_sums.whole_steps", None)  # nothing is summed again
    polled.append(clone(fits[2]).poll(X, y, rows, groups=groups).counts)
    assert all(np.array_equal(polled[0], counts) for counts in polled)
    assert np.array_equal(chosen.poll(X, y, rows).counts, votes.counts)
    with pytest.raises(TeacherError, match="could not be counted"):
        fits[2].poll(X, 1 - y, rows, groups=groups)


def test_sums_that_whole_numbers_do_not_hold_are_refused(monkeypatch):
    monkeypatch.setattr("sklearn_pate.column_sums._MOST_SUMMED", 7999)
    with pytest.raises(BadPlanError, match="4000 records of 2 classes are more than"):
        fitted(base_estimator=ColumnSums())
    monkeypatch.setattr("sklearn_pate.column_sums._MOST_SUMMED", 8000)
    fitted(base_estimator=ColumnSums())
