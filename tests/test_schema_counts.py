"""The counts of a schema release: the same in blocks, with workers, from memory and in one pass."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from conftest import cases, sampled
from joblib import Memory

from sklearn_pate import PATEClassifier
from sklearn_pate.encoding.values import Cells, cells_of, distinct_cells
from sklearn_pate.exceptions import TeacherError
from sklearn_pate.runtime import blocks, workers
from sklearn_pate.schema_release import SchemaRelease, counts
from sklearn_pate.schema_release.counts import (
    MAX_POWER,
    MIN_POWER,
    N_BINS,
    N_LEAVES,
    TICKS,
    Kind,
    range_bins,
)

N_RECORDS = 2_000
LEAVES = np.concatenate([[-2.0], np.linspace(-1, 4, N_LEAVES - 1), [64.0]])


def frame(n=N_RECORDS, seed=0):
    """Numbers, whole numbers, texts, truth values, categories, and objects of all kinds."""
    rng = np.random.default_rng(seed)
    texts = rng.choice(["Oslo", "Bern", "3", "", "3.0"], n)
    objects = np.empty(n, dtype=object)
    objects[:] = rng.choice(np.array([1, 1.0, True, "1", "a", None, np.nan, -0.0], dtype=object), n)
    return pd.DataFrame(
        {
            "number": np.where(rng.random(n) < 0.1, np.nan, np.exp(rng.normal(0, 4, n))),
            "whole": rng.integers(-40, 40, n),
            "text": pd.Series(texts).where(rng.random(n) < 0.9),
            "object": pd.Series(texts, dtype=object),
            "odd": objects,
            "flag": rng.random(n) < 0.5,
            "category": pd.Categorical(texts),
        },
        index=rng.permutation(n),
    )


KINDS = [
    *(Kind(False, LEAVES), Kind(False, LEAVES), Kind(True), Kind(True), Kind(True)),
    *(Kind(True), Kind(True)),
]


def gathered(X, kinds, amount, units=None, **settings):
    """The counts of both steps, comparable."""
    release = SchemaRelease(len(kinds), 1.0, 1e-8)
    ranges = release.gather_ranges(X, amount, **settings)
    trees, texts = release.gather_values(X, amount, units, kinds, **settings)
    return ranges.tolist(), {k: tree.tolist() for k, tree in trees.items()}, texts


def by_definition(X, kinds, amount, units=None):
    """The counts of both steps, one cell at a time."""
    ranges = np.zeros((len(kinds), N_BINS), dtype=int)
    trees = {k: np.zeros(N_LEAVES, dtype=int) for k, kind in enumerate(kinds) if not kind.is_text}
    votes = {k: {} for k, kind in enumerate(kinds) if kind.is_text}
    units = np.arange(len(amount)) if units is None else units
    for k, (row, ticks) in product(range(len(kinds)), enumerate(amount)):
        values = X.iloc[:, k] if hasattr(X, "iloc") else pd.Series(X[:, k].astype(float))
        cell = cells_of(pd.Series([values.iloc[row]], dtype=object))
        ranges[k, range_bins(cell)[0]] += ticks
        if k in trees and not np.isnan(cell.numbers[0]):
            place = np.searchsorted(LEAVES, cell.numbers[0], side="right") - 1
            trees[k][np.clip(place, 0, N_LEAVES - 1)] += ticks
        text = cell.all_texts()[0]
        if k in votes and text is not None:
            own = votes[k].setdefault(units[row], {})
            own[text] = own.get(text, 0) + ticks
    texts = {k: {} for k in votes}
    for k, by_unit in votes.items():
        for own in by_unit.values():
            text = min(own, key=lambda name: (-own[name], name))
            texts[k][text] = texts[k].get(text, 0) + sum(own.values())
    return ranges.tolist(), {k: tree.tolist() for k, tree in trees.items()}, texts


def as_given(form, n=N_RECORDS):
    """Rows in a form, and what their columns are counted as."""
    if form == "frame":
        return frame(n), KINDS
    X = frame(n)[["number", "whole"]].to_numpy(float)
    return (X > 0, KINDS[:2]) if form == "truth values" else (X, KINDS[:2])


@pytest.fixture
def few_rows(monkeypatch):
    """Blocks of 300 records."""
    monkeypatch.setattr(blocks, "BLOCK_SIZE", 300)
    monkeypatch.setattr(counts, "BLOCK_SIZE", 300)


@sampled(how="groups")
@cases("form", "frame", "array", "truth values")
@cases("how", "weights", "groups")
def test_counts_in_blocks_equal_those_of_one_pass_and_of_the_definition(form, how, monkeypatch):
    X, kinds = as_given(form, n=150)  # one cell at a time
    rng = np.random.default_rng(1)
    amount, units = rng.integers(0, TICKS + 1, len(X)), None
    if how == "groups":
        units = rng.integers(0, 50, len(X))
        amount = TICKS // np.bincount(units)[units]
    one_pass = gathered(X, kinds, amount, units)
    assert one_pass == by_definition(X, kinds, amount, units)
    for size in (1, 37, 75):
        monkeypatch.setattr(blocks, "BLOCK_SIZE", size)
        assert gathered(X, kinds, amount, units) == one_pass


@pytest.mark.usefixtures("few_rows")
@cases("form", "frame", "array")
@pytest.mark.usefixtures("forked_workers")
def test_counts_with_workers_and_from_memory_equal_those_of_one_pass(form, tmp_path):
    X, kinds = as_given(form)
    amount = np.full(len(X), TICKS)
    expected = gathered(X, kinds, amount)
    assert gathered(X, kinds, amount, n_jobs=2) == expected
    memory = Memory(tmp_path, verbose=0)
    for _ in range(2):
        assert gathered(X, kinds, amount, memory=memory) == expected
    assert gathered(X, kinds, amount, memory=memory, n_jobs=2) == expected


@pytest.mark.usefixtures("few_rows")
def test_memory_counts_changed_blocks_alone(tmp_path, monkeypatch):
    X, kinds = as_given("frame")
    amount = np.full(len(X), TICKS)
    memory = Memory(tmp_path, verbose=0)
    gathered(X, kinds, amount, memory=memory)
    n_calls = []
    count = counts._count_ranges

    def counting(*args, **kwargs):
        n_calls.append(1)
        return count(*args, **kwargs)

    monkeypatch.setattr(counts, "_count_ranges", counting)
    changed = X.reset_index(drop=True)
    changed.loc[450, "whole"] = 1_000
    found = gathered(changed, kinds, amount, memory=memory)
    assert len(n_calls) == 1
    assert found == gathered(changed, kinds, amount) != gathered(X, kinds, amount)


@pytest.mark.usefixtures("few_rows")
def test_block_that_is_sent_again_counts_once(monkeypatch):
    """Workers that die after some results, and a result that comes twice."""
    X, kinds = as_given("frame")
    amount = np.full(len(X), TICKS)
    expected = gathered(X, kinds, amount)
    n_rounds = []

    def dying(calls, n_jobs, batch_size):
        n_rounds.append(1)
        results = [function(*args, **kwargs) for function, args, kwargs in calls]
        if len(n_rounds) % 2:
            yield from [*results[:3], results[1]]
            raise workers.BrokenExecutor
        yield from results

    monkeypatch.setattr(workers, "_results", dying)
    assert gathered(X, kinds, amount, n_jobs=2) == expected
    assert len(n_rounds) == 4  # two for each step


def test_counting_errors_quote_no_cell(monkeypatch):
    def fails(cells):
        raise ValueError("SECRET")

    monkeypatch.setattr(counts, "range_bins", fails)
    release = SchemaRelease(7, 1.0, 1e-8)
    with pytest.raises(TeacherError, match="could not be counted: ValueError") as error:
        release.gather_ranges(frame(), np.full(N_RECORDS, TICKS))
    assert "SECRET" not in str(error.value)
    X, y = frame()[["number", "text"]], np.arange(N_RECORDS) % 2
    with pytest.raises(ValueError, match="could not be counted: ValueError") as error:
        PATEClassifier(classes=[0, 1], on_bad_plan="warn").fit(X, y)
    assert "SECRET" not in str(error.value)


@pytest.mark.usefixtures("forked_workers")
def test_counts_of_a_fit_do_not_depend_on_workers_or_memory(tmp_path):
    X = frame()[["number", "whole", "text"]]
    y = (X["whole"] > 0).astype(int)
    clf = PATEClassifier(epsilon=8.0, classes=[0, 1], random_state=0)
    expected = clf.fit(X, y).predict_proba(X)
    clf.set_params(n_jobs=2, memory=str(tmp_path / "counts"))
    for _ in range(2):
        np.testing.assert_array_equal(clf.fit(X, y).predict_proba(X), expected)
    assert any((tmp_path / "counts").rglob("output.pkl"))


# --- joined columns, limits, bins -----------------------------------------------------------------


def test_joined_columns_have_their_mean_counts():
    X = np.array([[1.0, 5.0, -3.0], [np.nan, 2.0, 0.0], [70.0, 1e9, 4.0]])
    amount = np.array([TICKS, TICKS // 2, 1001])
    alone = SchemaRelease(3, 1.0, 0.0)
    together = SchemaRelease(2, 1.0, 0.0)
    places = [(0, 2), 1]
    ranges = together.gather_ranges(X, amount, places=places)
    apart = alone.gather_ranges(X, amount // 2)
    np.testing.assert_array_equal(ranges[0], apart[0] + apart[2])
    np.testing.assert_array_equal(ranges[1], alone.gather_ranges(X, amount)[1])
    kinds = [Kind(False, LEAVES)] * 3
    trees, _ = together.gather_values(X, amount, None, kinds[:2], places=places)
    of_halves, _ = alone.gather_values(X, amount // 2, None, kinds)
    np.testing.assert_array_equal(trees[0], of_halves[0] + of_halves[2])


@pytest.mark.parametrize("values", [[3.0, -1e9, np.inf, np.nan], [3, -(10**9), 10**9, None]])
def test_limits_clip_numbers_and_leave_gaps(values):
    X = pd.DataFrame({"c": pd.Series(values)})
    clipped = X.clip(-5, 60)
    amount = np.full(4, TICKS)
    limited = SchemaRelease(1, 1.0, 0.0, ((-5.0, 60.0),))
    free = SchemaRelease(1, 1.0, 0.0)
    np.testing.assert_array_equal(
        limited.gather_ranges(X, amount), free.gather_ranges(clipped, amount)
    )
    kinds = [Kind(False, LEAVES)]
    np.testing.assert_array_equal(
        limited.gather_values(X, amount, None, kinds)[0][0],
        free.gather_values(clipped, amount, None, kinds)[0][0],
    )


def test_bins_are_between_powers_of_two():
    tiny = np.nextafter(0, 1)
    powers = 2.0 ** np.arange(-30, 50)
    numbers = np.concatenate(
        [[0.0, -0.0, tiny, np.inf, 1.7e308], powers, np.nextafter(powers, 0), 1.3 * powers]
    )
    with np.errstate(divide="ignore"):
        power = np.floor(np.log2(numbers))
    power[5 + len(powers) : 5 + 2 * len(powers)] = np.arange(-31, 49)  # the logarithm rounds
    power = np.clip(power, MIN_POWER, MAX_POWER).astype(int) - MIN_POWER
    n_powers = MAX_POWER - MIN_POWER + 1
    zero = 2 + n_powers
    expected = np.where(numbers == 0, zero, zero + 1 + power)
    np.testing.assert_array_equal(range_bins(Cells(numbers, None)), expected)
    np.testing.assert_array_equal(range_bins(Cells(-numbers, None)), 2 * zero - expected)


@pytest.mark.parametrize("name", list(frame(1)))
def test_distinct_cells_are_those_of_each_row(name):
    values = frame(400)[name]
    cells, codes = distinct_cells(values)
    if codes is None:
        codes = np.arange(len(values))
    one_by_one = [cells_of(pd.Series([value], dtype=object)) for value in values]
    texts = cells.all_texts()[codes]
    assert [*texts] == [cell.all_texts()[0] for cell in one_by_one]
    np.testing.assert_array_equal(
        cells.numbers[codes], np.concatenate([cell.numbers for cell in one_by_one])
    )
