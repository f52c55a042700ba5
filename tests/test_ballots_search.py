"""Private searches where records vote: what is held out of them, and what one record changes."""

import math
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import cases, count_fits_from_one, note_calls, three_classes
from sklearn.naive_bayes import GaussianNB

from sklearn_pate import PATEClassifier
from sklearn_pate.model_selection import PrivateGridSearchCV, PrivateRandomizedSearchCV, trials
from sklearn_pate.model_selection import search as searches
from sklearn_pate.model_selection.candidates import calibrate, make_candidates
from sklearn_pate.neighbors import ReverseNeighbors
from sklearn_pate.rdp import TrialCount

X, Y = three_classes(1500, 4)
X_PUBLIC, Y_PUBLIC = X[1200:], Y[1200:]
X, Y = X[:1200], Y[:1200]


def search(adjacency="add_or_remove", grid=None, **params):
    voters = ReverseNeighbors(n_cells=12, random_state=0, adjacency=adjacency)
    clf = PATEClassifier(voters, classes=[0, 1, 2])
    grid = {"student": [GaussianNB()]} if grid is None else grid
    params = {"epsilon": 6.0, "n_trials": 3, "random_state": 0, **params}
    return PrivateGridSearchCV(clf, grid, **params)


class Coins:
    """A generator whose draws are given: a row for each record."""

    def __init__(self, draws):
        self.draws = draws

    def random(self, size):
        assert self.draws.shape == size
        return self.draws


def parts_of(draws, fraction):
    """The parts by the records' own numbers, which are the first column of draws."""
    number = draws[:, 0].astype(int)
    train, units = trials.hold_out_by_coins(fraction, Coins(draws[:, 1:]), n_records=len(draws))
    scored = [number[rows].item() for rows in units]
    return set(number[train]), scored


@pytest.mark.parametrize("most", [1, 3, 1000])
@pytest.mark.parametrize("fraction", [0.2, 0.5])
def test_a_record_that_joins_moves_no_other(fraction, most, monkeypatch):
    monkeypatch.setattr(trials, "MOST_SCORED", most)
    rng = np.random.default_rng(0)
    for n_records in range(30):
        own = np.column_stack([np.arange(n_records), rng.random((n_records, 2))])
        train, scored = parts_of(own, fraction)
        for place in range(n_records + 1):
            draws = np.insert(own, place, [n_records, *rng.random(2)], axis=0)
            more_train, more_scored = parts_of(draws, fraction)
            assert more_train - {n_records} == train
            came = set(more_scored) - set(scored)
            went = set(scored) - set(more_scored)
            assert came <= {n_records} and len(went) <= len(came) and not came & more_train
            assert len(more_scored) == len(set(more_scored)) <= most


def test_each_record_has_a_coin_of_its_own(global_random_seed):
    """Finds a chance that is 0.04 off, and the -1/7 of a permutation, in 99 % of runs."""
    rng = np.random.default_rng(global_random_seed)
    held = np.zeros((8000, 8))
    first = np.zeros(8)
    for is_held in held:
        train, units = trials.hold_out_by_coins(0.3, rng, n_records=8)
        is_held[:] = 1
        is_held[train] = 0
        assert sorted(np.concatenate([np.empty(0), *units])) == [*np.flatnonzero(is_held)]
        if units:
            first[units[0]] += 1
    assert np.abs(held.mean(axis=0) - 0.3).max() < 0.03
    assert np.abs(np.corrcoef(held.T) - np.eye(8)).max() < 0.07
    assert held.sum(axis=1).var() == pytest.approx(8 * 0.3 * 0.7, rel=0.1)
    assert np.abs(first / first.sum() - 1 / 8).max() < 0.025


@cases(
    "adjacency, by_group, text",
    ("replace", False, "replace one record"),
    ("add_or_remove", False, "add or remove one record"),
    ("replace", True, "replace one group, or add, remove or change some of its records"),
    ("add_or_remove", True, "add or remove one group, with all of its records"),
)
def test_records_that_vote_are_held_out(adjacency, by_group, text, monkeypatch):
    monkeypatch.setattr(trials, "MOST_SCORED", 30)
    groups = np.arange(1200) // 3 if by_group else None
    found = search(adjacency).fit(X, Y, X_PUBLIC, groups=groups)
    spent = found.privacy_spent_
    assert (spent.adjacency, spent.method) == (text, "tuning") and 5.8 < spent.epsilon <= 6.0
    assert found.score(X_PUBLIC, Y_PUBLIC) > 0.6 and 10 < found.best_score_ < 40
    assert "ReverseNeighbors" in found._repr_html_() and "predict" in dir(found)
    may_join = adjacency == "add_or_remove"
    train, scorer = found._hold_out(X, Y, groups, np.random.SeedSequence(1), may_join=may_join)
    assert 850 < len(train) < 1070
    if by_group:
        held = set(groups) - set(groups[train])
        assert all(number in held for rows in scorer._units for number in groups[rows])


def test_the_number_held_out_varies_where_it_is_private():
    def numbers(may_join):
        found = search("add_or_remove" if may_join else "replace")
        seeds = [np.random.SeedSequence(seed) for seed in range(40)]
        parts = [found._hold_out(X, Y, None, seed, may_join=may_join)[0] for seed in seeds]
        return {len(train) for train in parts}

    assert numbers(False) == {960} and len(numbers(True)) > 10


def test_a_secure_search_draws_its_coins_from_the_system(monkeypatch):
    found = search(random_state=None)
    found.estimator.set_params(secure=True)
    drawn = []
    generator = found._generator
    monkeypatch.setattr(found, "_generator", lambda seed: drawn.append(seed) or generator(seed))
    train, _ = found._hold_out(X, Y, None, np.random.SeedSequence(0), may_join=True)
    again, _ = found._hold_out(X, Y, None, np.random.SeedSequence(0), may_join=True)
    assert len(drawn) == 4 and not np.array_equal(train, again)


def planned(found, n_records):
    """What a search plans, by private rows of that number, and all that it warns of or raises."""
    candidates = make_candidates(found.estimator, [{"student": GaussianNB()}], True)
    rows, codes = X[:n_records], Y[:n_records]
    train, scorer = found._hold_out(rows, codes, None, np.random.SeedSequence(0), may_join=True)
    fit_data = {"X": X[train], "y": Y[train], "X_public": X_PUBLIC}
    fit_data |= {"groups": None, "sample_weight": None}
    count = TrialCount(5 * len(candidates), found.eta)
    cost = calibrate(candidates, fit_data, scorer, count, epsilon=6.0, delta=1e-5)
    plans = [candidate.plan for candidate in candidates]
    scales = [scorer.noise_scale(plan) for plan in plans]
    return [str(plan) for plan in plans], scales, cost.epsilon(1e-5), cost.rdp.tolist()


@pytest.mark.parametrize("n_records", [40, 400])
def test_a_plan_says_nothing_of_the_number_of_records(n_records):
    found = search(validation_fraction=0.5)
    assert planned(found, n_records) == planned(found, n_records + 1)


def test_a_small_part_is_refused_where_the_number_is_public_and_nowhere_else():
    with pytest.raises(ValueError, match="less than one of the 1200 private records"):
        search("replace", validation_fraction=0.0005).fit(X, Y, X_PUBLIC)
    texts = []
    for n_records in (300, 301):
        count_fits_from_one()
        found = search(validation_fraction=0.0005)
        found.fit(X[:n_records], Y[:n_records], X_PUBLIC)
        spent = found.privacy_spent_
        texts.append((repr(spent), spent.summary()))
    assert texts[0] == texts[1]


def test_parts_of_no_records_are_no_error(monkeypatch):
    """Else an error would tell one record from two, at any epsilon."""
    tables = []
    vote = ReverseNeighbors.vote

    def kept(self, *args, **kwargs):
        tables.append(vote(self, *args, **kwargs))
        return tables[-1]

    monkeypatch.setattr(ReverseNeighbors, "vote", kept)
    n_cast = set()
    for n_records, seed in product((1, 2), range(5)):
        tables.clear()
        groups = [f"person {k}" for k in range(n_records)] if seed % 2 else None
        found = search(validation_fraction=0.5, random_state=seed, n_trials=1.01)
        found.fit(X[:n_records], Y[:n_records], X_PUBLIC[:60], groups=groups)
        assert found.predict(X_PUBLIC).shape == (300,)
        n_cast |= {(n_records, float(table.sum())) for table in tables}
    assert n_cast == {(1, 0.0), (1, 1.0), (2, 0.0), (2, 1.0), (2, 2.0)}


class Knows(GaussianNB):
    """Predicts the label of each record that it was told of."""

    def predict(self, X):
        return np.array([self.label_of[tuple(row)] for row in np.asarray(X)])


@pytest.mark.parametrize("most", [10, 1000])
def test_a_record_that_joins_moves_the_score_by_one_at_most(most, monkeypatch):
    monkeypatch.setattr(trials, "MOST_SCORED", most)
    rng = np.random.default_rng(0)
    student = Knows()
    student.label_of = {tuple(row): int(rng.integers(0, 3)) for row in X[:40]}
    found = search(validation_fraction=0.5)
    reached = 0.0
    for _ in range(25):
        draws = rng.random((40, 2))
        scores = []
        for n_records in (39, 40):
            monkeypatch.setattr(found, "_generator", lambda seed: Coins(draws[:n_records]))  # noqa: B023
            rows, codes, seed = X[:n_records], Y[:n_records], np.random.SeedSequence(0)
            _, scorer = found._hold_out(rows, codes, None, seed, may_join=True)
            scores.append(scorer._n_right(SimpleNamespace(student_=student)))
        assert abs(scores[0] - scores[1]) <= 1
        reached = max(reached, abs(scores[0] - scores[1]))
    assert reached == 1


@cases(
    "grid",
    {"base_estimator__adjacency": ["replace", "add_or_remove"]},
    {"base_estimator": [ReverseNeighbors(adjacency="add_or_remove"), GaussianNB()]},
)
def test_candidates_that_cover_different_changes_are_refused(grid):
    with pytest.raises(ValueError, match="same change of the data"):
        search(grid=grid).fit(X, Y, X_PUBLIC)


def test_coins_follow_the_candidates_that_vote(monkeypatch):

    def number_and_part(fraction, *rest, n_records):
        return n_records, fraction

    drawn = note_calls(monkeypatch, searches, "hold_out_by_coins", number_and_part)
    clf = PATEClassifier(GaussianNB(), classes=[0, 1, 2])
    voters = ReverseNeighbors(n_cells=12, random_state=0, adjacency="add_or_remove")
    grid = {"base_estimator": [voters], "student": [GaussianNB()]}
    params = {"n_iter": 1, "epsilon": 6.0, "n_trials": 2, "random_state": 0}
    found = PrivateRandomizedSearchCV(clf, grid, **params).fit(X, Y, X_PUBLIC)
    assert drawn == [(1200, 0.2)] and found.privacy_spent_.adjacency == "add or remove one record"
    assert math.isfinite(found.best_score_)


@cases("adjacency, groups", ("replace", True), ("add_or_remove", False))
def test_a_partition_is_refused_all_the_same(adjacency, groups):
    found = search(adjacency)
    found.estimator.set_params(partition="predefined")
    with pytest.raises(ValueError, match="partition='predefined' says how teachers are made"):
        found.fit(X, Y, X_PUBLIC, groups=np.arange(1200) % 30 if groups else None)


@pytest.mark.parametrize("name", ["one", "other"])
def test_groups_of_other_names_are_held_out_as_often(name, global_random_seed):
    """Finds a group that is held out twice as often as others, in 99 % of runs."""
    found = search("replace")
    groups = np.array(["same"] * 600 + [name] * 600, dtype=object)
    n_held = 0
    for seed in np.random.SeedSequence(global_random_seed).spawn(300):
        train, _ = found._hold_out(X, Y, groups, seed)
        n_held += 1199 not in train
    assert abs(n_held - 60) < 40  # 5.7 standard deviations
