"""The schema release: changes by one record, noise, thresholds, and estimates."""

import io
import math
import pickle
import re
import traceback
import warnings
from functools import partial
from itertools import combinations, combinations_with_replacement, product
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from conftest import cases
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, chi2, norm

from sklearn_pate import PATEClassifier, PATERegressor, rules
from sklearn_pate.aggregators import GaussianMechanism, LaplaceMechanism
from sklearn_pate.encoding import Schema
from sklearn_pate.encoding.schema import estimated_columns
from sklearn_pate.encoding.values import cells_of
from sklearn_pate.ledger import PrivacyLedger
from sklearn_pate.model_selection import PrivateGridSearchCV
from sklearn_pate.rdp import (
    DEFAULT_ORDERS,
    DiscreteGaussian,
    Event,
    Neighbors,
    discrete_gaussian_mu_squared,
    gdp_to_epsilon,
)
from sklearn_pate.schema_release import ScaleRelease, SchemaRelease
from sklearn_pate.schema_release.counts import (
    N_BINS,
    N_LEAVES,
    N_LEVELS,
    RANGES_FRACTION,
    TEXT,
    TICKS,
    Kind,
    range_bins,
    schema_contribution,
)
from sklearn_pate.schema_release.estimates import (
    consistent,
    edges_of,
    estimated,
    is_far_from_zero,
    kinds_of,
)
from sklearn_pate.synthesis import ClassSumsSynthesizer, MarginalSynthesizer

REPLACED, JOINED = (
    Neighbors(relation=relation, unit="record") for relation in ("replace_one", "add_or_remove_one")
)

#: Cells of all kinds, in one column.
CELLS = [0, 1, -1.5, 1e300, "3", "a", "b", True, None, math.nan, math.inf, 2**-30]

LEAVES, FEW_LEAVES = (
    np.concatenate([[-2.0], np.linspace(-1, 4, n - 1), [64.0]]) for n in (N_LEAVES, 2**5)
)


# --- the value of a cell --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "equal",
    [(3, 3.0, "3", "3.0", np.int8(3)), (True, "True", np.True_), (None, math.nan, pd.NA, pd.NaT)],
)
def test_values_that_are_alike_are_one_cell(equal):
    cells = cells_of(pd.Series([*equal], dtype=object))
    assert len(set(cells.all_texts())) == 1
    assert len(set(range_bins(cells))) == 1


def test_cell_does_not_depend_on_other_cells():
    values = [*CELLS, 10**400, -(10**400), b"\xff", "caf\udce9", object(), [], "nan", "1e999"]
    together = cells_of(pd.Series(values, dtype=object))
    for k, value in enumerate(values):
        alone = cells_of(pd.Series([value], dtype=object))
        np.testing.assert_array_equal(alone.numbers, together.numbers[k : k + 1])
        assert alone.all_texts()[0] == together.all_texts()[k]


@cases("dtype", "float64", "Int64", "boolean", "category", "str", "object")
def test_dtype_of_a_column_does_not_matter(dtype):
    values = {"boolean": [True, False, None], "category": ["a", "b", None]}.get(dtype, [1, 2, None])
    column = pd.Series(values, dtype=object)
    if dtype == "float64":
        typed = column.astype("float64")
    elif dtype == "str":
        typed = pd.Series(["1", "2", None], dtype="string")
    else:
        typed = column.astype(dtype)
    assert [*cells_of(typed).all_texts()] == [*cells_of(column).all_texts()]


# --- changes by one record ------------------------------------------------------------------------


def all_counts(rows, release, kinds, units=None, amount=None, places=None):
    """All counts of both steps, each divided by the standard deviation of its noise."""
    columns = pd.DataFrame(rows, dtype=object)
    amount = np.full(len(rows), TICKS) if amount is None else amount
    ranges = release.gather_ranges(columns, amount, places=places) / TICKS / release.sd_ranges
    trees, texts = release.gather_values(columns, amount, units, kinds, places=places)
    sds = release.sd_values(n_trees=len(trees), n_texts=len(texts))
    parts = [ranges.ravel()]
    for leaves in trees.values():
        n_levels = leaves.size.bit_length() - 1
        levels = (leaves.reshape(2**k, -1).sum(axis=1) for k in range(1, n_levels + 1))
        parts += [level / TICKS / sds[0] for level in levels]
    names = sorted({str(name) for own in texts.values() for name in own} | set(NAMES))
    for own in texts.values():
        parts.append(np.array([own.get(name, 0) for name in names]) / TICKS / sds[1])
    return np.concatenate(parts)


NAMES = sorted(
    {name for name in cells_of(pd.Series([*CELLS, 7.0], dtype=object)).all_texts() if name}
)


@cases("kind", "tree", "text")
def test_schema_release_costs_at_least_the_change_by_any_record(kind):
    """All neighboring pairs of tables of one record of two columns, with cells of all kinds."""
    kinds = [Kind(False, LEAVES), Kind(True) if kind == "text" else Kind(False, LEAVES)]
    release = SchemaRelease(2, 1.0, 1e-8)
    rows = list(product(CELLS, [0, "a", None, "b", 7.0]))
    counts = np.array([all_counts([row], release, kinds) for row in rows])
    changes = [((one - other) ** 2).sum() for one, other in combinations(counts, 2)]
    claimed, _ = release.cost(contribution_of(REPLACED))
    assert max(changes) <= claimed
    assert max(changes) > 0.99 * claimed
    joined, _ = release.cost(contribution_of(JOINED))
    assert 0.99 * joined < (counts**2).sum(axis=1).max() <= joined


@pytest.mark.slow
@cases("how", "groups", "weights")
def test_group_or_weighted_record_changes_no_more_than_a_record(how):
    rng = np.random.default_rng(3)
    kinds = [Kind(False, LEAVES), Kind(True)]
    release = SchemaRelease(2, 1.0, 1e-8)
    claimed, _ = release.cost(contribution_of(REPLACED))
    largest = 0.0
    for _ in range(150):
        size = int(rng.integers(1, 5)) if how == "groups" else 1
        tables = [
            [tuple(rng.choice(np.array(CELLS, dtype=object), 2)) for _ in range(size)]
            for _ in range(2)
        ]
        amount = np.full(size, TICKS // size)
        if how == "weights":
            amount = rng.integers(0, TICKS + 1, size=1)
        units = np.zeros(size, dtype=int) if how == "groups" else None
        one, other = (all_counts(rows, release, kinds, units, amount) for rows in tables)
        largest = max(largest, ((one - other) ** 2).sum())
    assert 0.5 * claimed < largest <= claimed


#: Numbers, texts and gaps in one column, few enough for all groups of records.
FEW_CELLS = [0, 3, "a", "b", None]

#: What two columns are counted as, and their limits.
COUNTED = {
    "a tree and texts": ([Kind(False, LEAVES), Kind(True)], None, ()),
    "texts": ([Kind(True), Kind(True)], None, ()),
    "trees within limits": ([Kind(False, LEAVES)] * 2, None, ((-1.0, 3.0), None)),
    "joined columns": ([Kind(False, LEAVES)], [(0, 1)], ((-1.0, 3.0),)),
}


@pytest.mark.parametrize(
    "counted",
    [pytest.param(name, marks=[pytest.mark.slow] * (name != "texts")) for name in COUNTED],
)
def test_schema_release_costs_at_least_the_change_by_any_group(counted):
    """All groups of up to two records of two columns, in all pairs, and each alone."""
    kinds, places, limits = COUNTED[counted]
    release = SchemaRelease(len(kinds), 1.0, 1e-8, limits)
    rows = list(product(FEW_CELLS, FEW_CELLS))
    groups = [[row] for row in rows] + [[*pair] for pair in combinations_with_replacement(rows, 2)]
    counts = np.array(
        [
            all_counts(
                group,
                release,
                kinds,
                np.zeros(len(group), dtype=int),
                np.full(len(group), TICKS // len(group)),
                places,
            )
            for group in groups
        ]
    )
    squares = (counts**2).sum(axis=1)
    changes = squares[:, None] + squares - 2 * counts @ counts.T
    replaced, _ = release.cost(contribution_of(REPLACED))
    joined, _ = release.cost(contribution_of(JOINED))
    assert 0.99 * replaced < changes.max() <= replaced
    assert 0.99 * joined < squares.max() <= joined


def contribution_of(neighbors):
    return schema_contribution(neighbors)


def test_part_of_a_group_changes_one_text_of_a_column():
    """Most frequent text of the group, with the weight of all of its texts."""
    release = SchemaRelease(1, 1.0, 1e-8)
    units, amount = np.zeros(3, dtype=int), np.full(3, TICKS // 3)

    def texts(*values):
        columns = pd.DataFrame({"c": pd.Series(values, dtype=object)})
        return release.gather_values(columns, amount, units, [Kind(True)])[1][0]

    third = TICKS // 3
    assert texts("a", "b", "b") == {"b": 3 * third}
    assert texts("a", "b", "c") == {"a": 3 * third}
    assert texts("a", None, None) == {"a": third}


# --- noise and thresholds -------------------------------------------------------------------------


@pytest.mark.parametrize("n_columns, mu", [(1, 0.05), (7, 0.085), (40, 1.0)])
def test_cost_of_schema_release_is_its_mu(n_columns, mu):
    release = SchemaRelease(n_columns, mu, 1e-8)
    mu_squared, delta = release.cost(contribution_of(REPLACED))
    assert mu**2 * (1 - 1e-6) < mu_squared < mu**2 * (1 + 1e-5)
    assert delta == 1e-8
    of_ranges, no_delta = release.cost(contribution_of(REPLACED), n_steps=1)
    assert of_ranges == pytest.approx(RANGES_FRACTION * mu**2, rel=1e-5) and no_delta == 0
    for n_trees in range(n_columns + 1):  # any kinds cost as much
        sds = release.sd_values(n_trees=n_trees, n_texts=n_columns - n_trees)
        spent = n_trees * 2 * N_LEVELS / sds[0] ** 2 + (n_columns - n_trees) * 2 / sds[1] ** 2
        assert spent <= (1 - RANGES_FRACTION) * mu**2


@pytest.mark.parametrize("sd, n_columns, delta", [(3.0, 1, 1e-3), (40.0, 5, 1e-8), (0.7, 2, 1e-5)])
def test_threshold_bounds_the_probability_of_a_text_of_one_record(sd, n_columns, delta):
    """By the exact tail of the discrete noise, and not by much more than it asks."""
    release = SchemaRelease(n_columns, 1.0, delta)
    threshold = release.threshold(sd)
    noise = DiscreteGaussian(sd * TICKS)
    beyond = np.arange(threshold - TICKS, threshold - TICKS + int(12 * sd * TICKS), 1)
    log_tail = np.logaddexp.reduce(noise.log_pmf(beyond[:4_000_000]))
    tail = math.exp(log_tail)
    assert tail <= delta / n_columns
    assert tail > 0.98 * delta / n_columns
    lower = math.exp(
        np.logaddexp(
            log_tail, noise.log_pmf(np.arange(threshold - 2 * TICKS, threshold - TICKS))
        ).max()
    )
    assert lower > 0 and norm.sf((threshold - 2 * TICKS) / (sd * TICKS)) > delta / n_columns


@pytest.mark.slow
@pytest.mark.usefixtures("small_trees")
def test_audit_of_schema_release_finds_its_mu(global_random_seed):
    """Noise along the difference of two tables: 200 draws of both steps.

    Its size has a standard deviation of 5 %, so noise that is smaller by the root of two is found.
    """
    rng = np.random.default_rng(global_random_seed)
    release = SchemaRelease(1, 1.0, 1e-8)
    kinds = [Kind(False, FEW_LEAVES)]

    def noisy(value):
        columns = pd.DataFrame({"c": [value]})
        amount = np.full(1, TICKS)
        ranges = release.publish_ranges(release.gather_ranges(columns, amount), rng)
        values = release.publish_values(release.gather_values(columns, amount, None, kinds), rng)
        return np.concatenate(
            [ranges.ravel() / release.sd_ranges, *(x / values.sd_trees for x in values.trees[0])]
        )

    exact = [all_counts([(value,)], release, kinds) for value in (-1.5, 3.0)]
    change = exact[0] - exact[1]
    mu = np.linalg.norm(change)
    assert 0.99 < mu <= 1
    along = np.array([(noisy(-1.5) - exact[0]) @ change / mu for _ in range(200)])
    assert abs(along.std() - 1) < 4.9 / math.sqrt(400)
    assert abs(along.mean()) < 4.9 / math.sqrt(200)


def audited(claimed, actual, rng, n_draws=200):
    """Lower bound, at 99.9 %, of the Gaussian parameter of both steps with the noise of `actual`.

    The noise along the difference of two neighboring tables determines how well the best attack,
    their likelihood ratio, distinguishes them. The bound is exact for Gaussian noise. Each text has
    many records, so thresholds have no influence. Counts are in units of the noise of `claimed`.
    """
    many = [(7.0, "a")] * 3000 + [(7.0, "b")] * 3000
    kinds = [Kind(False, FEW_LEAVES), Kind(True)]
    sd_trees, sd_texts = claimed.sd_values(n_trees=1, n_texts=1)
    gathered, exact = [], []
    for row in ((-1.5, "a"), (3.0, "b")):
        columns, amount = pd.DataFrame([*many, row], dtype=object), np.full(6001, TICKS)
        ranges = claimed.gather_ranges(columns, amount)
        gathered.append((ranges, claimed.gather_values(columns, amount, None, kinds)))
        exact.append(all_counts([*many, row], claimed, kinds))
    change = exact[1] - exact[0]
    along = []
    for k in range(n_draws):
        ranges, values = gathered[k % 2]
        noisy = actual.publish_values(values, rng)
        drawn = np.concatenate(
            [
                actual.publish_ranges(ranges, rng).ravel() / claimed.sd_ranges,
                *(level / sd_trees for level in noisy.trees[0]),
                np.array([noisy.texts[1].get(name, 0.0) for name in NAMES]) / sd_texts,
            ]
        )
        along.append((drawn - exact[k % 2]) @ change / np.linalg.norm(change))
    largest_std = np.sqrt(np.square(along).sum() / chi2.ppf(0.001, n_draws))
    return np.linalg.norm(change) / largest_std


@pytest.mark.slow
@pytest.mark.usefixtures("small_trees")
@pytest.mark.parametrize("factor", [1.0, math.sqrt(2)])
def test_audit_of_schema_release_refutes_noise_that_is_too_small(factor, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    claimed, actual = SchemaRelease(2, 1.0, 1e-8), SchemaRelease(2, factor, 1e-8)
    found = audited(claimed, actual, rng)
    assert (found > claimed.mu) == (factor > 1)
    assert found > 0.7 * factor  # the audit has power


def test_noise_of_many_trees_is_independent_and_as_large_as_claimed(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    release = SchemaRelease(70, 1.0, 1e-8)
    leaves = {k: rng.integers(0, 5 * TICKS, N_LEAVES) for k in range(70)}
    noisy = release.publish_values((leaves, {}), rng)
    exact = {
        k: [tree.reshape(2**i, -1).sum(axis=1) for i in range(1, 10)] for k, tree in leaves.items()
    }
    noise = np.array(
        [np.concatenate(noisy.trees[k]) - np.concatenate(exact[k]) / TICKS for k in range(70)]
    )
    assert noise.shape == (70, 2 * N_LEAVES - 2)
    squares = (noise**2).sum() / noisy.sd_trees**2
    assert chi2.ppf(1e-4, noise.size) < squares < chi2.ppf(1 - 1e-4, noise.size)
    correlation = np.corrcoef(noise)[np.triu_indices(70, 1)]
    assert np.abs(correlation).max() < 6 / math.sqrt(noise.shape[1])
    assert all(
        list(map(len, tree)) == [2**i for i in range(1, 10)] for tree in noisy.trees.values()
    )


@pytest.mark.slow
@pytest.mark.parametrize("n_lower", [0, 1])
def test_audit_of_threshold_refutes_one_that_is_a_record_lower(n_lower, global_random_seed):
    """Frequency of a text of one record among those published, by an exact binomial test."""
    rng = np.random.default_rng(global_random_seed)
    release = SchemaRelease(1, 3.0, 0.02)
    columns, amount = pd.DataFrame({"c": ["rare"]}), np.full(1, TICKS)
    gathered = release.gather_values(columns, amount, None, [Kind(True)])
    n_draws = 2000
    with pytest.MonkeyPatch.context() as patch:
        threshold = SchemaRelease.threshold
        lower = n_lower * TICKS
        patch.setattr(SchemaRelease, "threshold", lambda self, sd: threshold(self, sd) - lower)
        n_found = sum(
            "rare" in release.publish_values(gathered, rng).texts[0] for _ in range(n_draws)
        )
    is_refuted = binom.sf(n_found - 1, n_draws, release.delta) < 1e-5
    assert is_refuted == bool(n_lower)
    assert n_found > 0.4 * release.delta * n_draws


def test_texts_of_one_record_are_not_published():
    names = [f"person {k}" for k in range(3000)] + ["common"] * 3000
    columns = pd.DataFrame({"c": names})
    release = SchemaRelease(1, 0.5, 1e-6)
    amount = np.full(len(names), TICKS)
    for seed in range(20):
        gathered = release.gather_values(columns, amount, None, [Kind(True)])
        texts = release.publish_values(gathered, np.random.default_rng(seed)).texts[0]
        assert list(texts) == ["common"]
        assert texts["common"] == pytest.approx(3000, abs=50)


# --- estimates ------------------------------------------------------------------------------------


@given(st.integers(0, 2**32 - 1))
def test_consistent_tree_is_the_least_squares_estimate(seed):
    rng = np.random.default_rng(seed)
    levels = [rng.normal(size=2**k) for k in range(1, 5)]
    rows = [np.kron(np.eye(2**k), np.ones(2 ** (4 - k))) for k in range(1, 5)]
    expected, *_ = np.linalg.lstsq(np.vstack(rows), np.concatenate(levels), rcond=None)
    np.testing.assert_allclose(consistent(levels), expected, atol=1e-9)


def found(frame, *, mu=0.5, seed=0):
    """Schema of a table, estimated with noise."""
    release = SchemaRelease(frame.shape[1], mu, 1e-8)
    rng = np.random.default_rng(seed)
    amount = np.full(len(frame), TICKS)
    ranges = release.publish_ranges(release.gather_ranges(frame, amount), rng)
    kinds = kinds_of(ranges, release.sd_ranges)
    values = release.publish_values(release.gather_values(frame, amount, None, kinds), rng)
    return estimated(release, ranges, values, kinds)


def test_estimated_schema_is_that_of_the_table():
    rng = np.random.default_rng(1)
    n = 20_000
    frame = pd.DataFrame(
        {
            "income": np.exp(rng.normal(10, 1, n)),
            "children": rng.poisson(1.2, n),
            "married": rng.random(n) < 0.4,
            "city": rng.choice(["Oslo", "Bern", "Rome"], n, p=[0.5, 0.3, 0.2]),
            "score": np.where(rng.random(n) < 0.2, np.nan, rng.normal(0, 3, n)),
        }
    )
    columns, gaps, nothing = found(frame)
    assert nothing == [] and gaps == [False, False, False, False, True]
    assert columns[2] == ["False", "True"] and columns[3] == ["Bern", "Oslo", "Rome"]
    assert set(map(float, columns[1])) >= {0.0, 1.0, 2.0, 3.0}
    for k, name in ((0, "income"), (4, "score")):
        values = frame[name].dropna()
        ranks = np.interp(values, columns[k], np.linspace(0, 1, len(columns[k])))
        assert np.abs(np.sort(ranks) - np.linspace(0, 1, len(values))).mean() < 0.02


def test_flags_have_two_edges():
    flags = pd.DataFrame({"f": np.repeat([0, 1], [6000, 4000])})
    columns, _, _ = found(flags, mu=0.3)
    assert columns == [(0.0, 1.0)]


@pytest.mark.parametrize("values", [np.zeros(50), np.full(5000, np.nan), np.full(5000, 7.0)])
def test_columns_without_information_are_no_error(values):
    columns, _, _ = found(pd.DataFrame({"c": values}))
    assert len(columns[0]) >= 2 and np.all(np.diff(columns[0]) > 0)


@pytest.mark.slow
def test_columns_that_are_alike_share_their_range():
    rng = np.random.default_rng(0)
    pixels = np.clip(rng.normal(4, 6, size=(1000, 64)), 0, 16).round()
    columns, _, _ = found(pd.DataFrame(pixels), mu=0.1)
    assert len(set(columns)) == 1
    assert columns[0][0] <= 1 and 12 <= columns[0][-1] <= 32


def test_noise_alone_finds_nothing():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})
    columns, gaps, nothing = found(frame, mu=0.01)
    assert nothing == [0, 1] and gaps == [False, False]


def test_edges_hold_equal_parts_without_noise():
    leaves = np.linspace(0, 1, N_LEAVES + 1)
    counts = np.full(N_LEAVES, 1000.0)
    levels = [counts.reshape(2**k, -1).sum(axis=1) for k in range(1, N_LEVELS + 1)]
    edges = edges_of(leaves, levels, 1e-3)
    assert len(edges) == 65
    np.testing.assert_allclose(edges[1:-1], np.linspace(0, 1, 65)[1:-1], atol=0.005)


# --- in a fit -------------------------------------------------------------------------------------


def table(n=6000, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "income": np.exp(rng.normal(10, 1, n)),
            "age": rng.integers(18, 90, n),
            "city": rng.choice(["Oslo", "Bern", "Rome"], n),
            "owner": rng.random(n) < 0.5,
        }
    )
    score = np.log(X["income"]) - 10 + (X["city"] == "Rome") + 0.02 * (X["age"] - 54)
    return X, (score + rng.normal(0, 0.7, n) > 0.3).astype(int)


def test_fit_without_anything_declared(tmp_path):
    X, y = table()
    clf = PATEClassifier(epsilon=1.0, classes=[0, 1])
    clf.set_params(ledger=PrivacyLedger(tmp_path / "ledger", epsilon=1.0))
    clf.fit(X, y)
    assert clf.score(*table(seed=1)) > 0.75
    spent = clf.privacy_spent_
    assert 0.99 < spent.epsilon <= 1.0 and spent.delta == 1e-5
    assert clf.ledger.epsilon_spent <= 1.0
    copy = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(copy.predict_proba(X), clf.predict_proba(X))
    assert isinstance(clf.schema_, Schema)
    assert clf.schema_.columns["city"] == ["Bern", "Oslo", "Rome"]
    assert clf.schema_.columns["owner"] == ["False", "True"]
    assert spent.not_covered == ()


def test_one_malformed_record_changes_no_other():
    """The dtype of a column does not matter, neither for the fit nor for predictions."""
    X, y = table()
    bad = X.astype(object)
    bad.loc[0, ["income", "age", "owner"]] = "unknown", None, "?"
    # Epsilon is 4, as the counts of more texts draw other noise for all that follows
    clf = PATEClassifier(epsilon=4.0, classes=[0, 1], random_state=0)
    one, other = (clf.fit(rows, y).predict_proba(X) for rows in (X, bad))
    assert np.abs(one - other).mean() < 0.02
    fitted = clf.fit(X, y)
    np.testing.assert_array_equal(
        fitted.predict_proba(X[1:]), fitted.predict_proba(X.astype(object)[1:])
    )


def test_epsilon_of_a_fit_is_that_of_its_parts():
    X, y = table()
    plan = PATEClassifier(epsilon=1.0, classes=[0, 1]).plan(X, y)
    synthesizer = ClassSumsSynthesizer(noise_multiplier=4.0).declare(X, None)
    cost = synthesizer.event(REPLACED).cost()
    assert cost.mu_squared == pytest.approx(1 / 16, rel=1e-4) and cost.delta == 1e-8
    epsilon, _ = cost.epsilon(1e-5)
    assert epsilon >= gdp_to_epsilon(1 / 4, 1e-5 - 1e-8)
    assert plan.epsilon <= 1.0
    steps = [synthesizer.event(REPLACED, n_steps=k).cost().mu_squared for k in (1, 2, 3, 4)]
    assert np.all(np.diff(steps) > 0) and steps[-1] == cost.mu_squared


def test_declared_columns_cost_nothing():
    X, y = table()
    clf = PATEClassifier(epsilon=1.0, classes=[0, 1], schema={"age": (18, 90)}, random_state=0)
    clf.fit(X, y)
    assert clf.schema_.columns["age"] == (18, 90)
    assert clf.schema_.columns["city"] == ["Bern", "Oslo", "Rome"]
    assert clf.schema_.columns["owner"] == [False, True]  # by its dtype
    assert clf.score(*table(seed=1)) > 0.75


@pytest.mark.slow
def test_arrays_without_anything_declared():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 5)) * [1, 10, 100, 0.01, 1]
    y = (X[:, 1] / 10 + X[:, 3] * 100 > 0).astype(int)
    clf = PATEClassifier(epsilon=1.0, classes=[0, 1], random_state=0).fit(X, y)
    assert clf.score(X, y) > 0.85
    assert clf.X_synthetic_.shape == (5000, 5)
    assert set(clf.schema_.columns) == set(range(5))


@pytest.mark.slow
def test_export_of_a_fit_without_anything_declared_predicts_the_same():
    X, y = table()
    clf = PATEClassifier(epsilon=1.0, classes=[0, 1], random_state=0).fit(X, y)
    model = clf.export(X[:20])
    np.testing.assert_allclose(model.predict_proba(X), clf.predict_proba(X), atol=1e-12)


def test_estimated_schema_can_be_declared():
    X, y = table()
    clf = PATEClassifier(epsilon=1.0, classes=[0, 1], random_state=0).fit(X, y)
    schema = eval(repr(clf.schema_), {"Schema": Schema})
    again = X.assign(owner=X["owner"].astype(str))
    assert clf.set_params(schema=schema).fit(again, y).score(again, y) > 0.75


@pytest.mark.slow
@pytest.mark.parametrize("method", ["neighbors", "teachers"])
def test_other_methods_vote_on_rows_of_an_estimated_schema(method):
    X, y = table()
    clf = PATEClassifier(method=method, epsilon=8.0, classes=[0, 1], random_state=0)
    clf.set_params(on_bad_plan="warn").fit(X, y)
    assert clf.score(*table(seed=1)) > 0.65


def test_few_whole_numbers_with_many_records_are_categories():
    """Weekdays are, and counts that reach more than twelve numbers are not."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"day": rng.integers(0, 7, 50_000), "count": rng.poisson(6.0, 50_000)})
    columns, _, _ = found(frame, mu=0.3)
    assert columns[0] == list("0123456")
    assert isinstance(columns[1], tuple)


@pytest.mark.parametrize("step", range(4))
def test_interrupted_fit_goes_on_after_each_step(step, monkeypatch):
    """Its statement covers both attempts, at the cost of one fit."""
    X, y = table(2000)
    clf = PATEClassifier(classes=[0, 1], warm_start=True)
    publish, n_calls = ClassSumsSynthesizer.publish, []

    def interrupted(self, *args, **kwargs):
        n_calls.append(1)
        if len(n_calls) == step + 1:
            raise KeyboardInterrupt
        return publish(self, *args, **kwargs)

    monkeypatch.setattr(ClassSumsSynthesizer, "publish", interrupted)
    with pytest.raises(KeyboardInterrupt) as error:
        clf.fit(X, y)
    spent = error.value.privacy_spent.epsilon
    assert (0.1, 0.3, 0.45, 0.99)[step] < spent <= (0.3, 0.6, 0.7, 1.0)[step]
    clf.fit(X, y)
    assert len(n_calls) == 5  # the interrupted step is drawn once more
    assert 0.99 < clf.privacy_spent_.epsilon <= 1.0


@pytest.mark.slow
def test_private_search_estimates_the_schema_once(monkeypatch):
    monkeypatch.setattr("sklearn_pate.model_selection.trials.MOST_SCORED", 20)
    X, y = table(4000)
    calls = []
    publish = SchemaRelease.publish_values
    monkeypatch.setattr(
        SchemaRelease, "publish_values", lambda *args: calls.append(1) or publish(*args)
    )
    clf = PATEClassifier(classes=[0, 1])
    search = PrivateGridSearchCV(clf, {"method": ["neighbors"]}, epsilon=5.0, n_trials=2)
    search.fit(X, y)
    assert len(calls) == 1
    assert search.score(*table(1000, seed=1)) > 0.65
    assert search.privacy_spent_.schema == "estimated" and search.privacy_spent_.epsilon <= 5.0


@pytest.mark.slow
def test_ledger_pays_for_several_fits_with_an_estimated_schema(tmp_path):
    X, y = table(2000)
    ledger = PrivacyLedger(tmp_path / "ledger", epsilon=10.0)
    clf = PATEClassifier(epsilon=1.0, classes=[0, 1], ledger=ledger)
    for _ in range(10):
        clf.fit(X, y)
    assert ledger.epsilon_spent <= 10.0


def test_statement_names_what_of_the_schema_is_covered():
    X, y = table(2000)
    clf = PATEClassifier(epsilon=1.0, classes=[0, 1])
    summary = clf.fit(X, y).privacy_spent_.summary()
    assert "estimated from noisy counts, and are covered; their names, order and number" in summary
    assert "noisy counts of the columns, which the schema is estimated from" in summary
    partly = clf.set_params(schema={"age": (18, 90)}).fit(X, y).privacy_spent_
    assert partly.schema == "partly estimated"
    assert "declared. Edges, bounds and categories that were estimated" in partly.summary()


@pytest.mark.slow
@pytest.mark.parametrize("given", ["groups", "weights", "regressor"])
def test_fit_of_groups_weights_or_numbers_without_anything_declared(given):
    X, y = table()
    clf, fit_params = PATEClassifier(classes=[0, 1], random_state=0), {}
    if given == "groups":
        clf.set_params(unit="group")
        fit_params["groups"] = np.arange(len(X)) // 2
    elif given == "weights":
        fit_params["sample_weight"] = np.full(len(X), 0.5)
    else:
        clf, y = PATERegressor(bounds=(-4, 4), random_state=0), np.log(X["income"]) - 10
    assert clf.fit(X, y, **fit_params).score(X, y) > 0.75


def messages_of(clf, X, y):
    """Return the warnings of a fit about its schema."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clf.fit(X, y)
    found = [str(warning.message) for warning in caught]
    return [text for text in found if "declare" in text.lower() or "few intervals" in text]


def test_plan_warns_once_of_few_records_for_columns_that_are_not_declared():
    X, y = table(300)
    clf = PATEClassifier(classes=[0, 1], random_state=0, on_bad_plan="warn")
    (planned,) = (text for text in clf.plan(X, y).warnings if "not declared" in text)
    assert re.match("300 records are few for . columns that are .* about .* Declare them", planned)
    assert messages_of(clf, X, y) == [planned]
    schema = {name: (0.0, 100.0) for name in X.select_dtypes("number")}
    schema |= {name: sorted(set(X[name].dropna())) for name in X if name not in schema}
    assert messages_of(clf.set_params(schema=schema), X, y) == []


def test_unknown_column_of_a_schema_names_the_schema():
    X, y = table(300)
    clf = PATEClassifier(classes=[0, 1], schema={"unknown": (0, 1)})
    with pytest.raises(
        ValueError, match=r"^schema or bounds has the unknown columns \['unknown'\]"
    ):
        clf.plan(X, y)


def test_texts_hidden_by_noise_are_warned_of():
    X, y = table(3000)
    X["town"] = [f"town {k}" for k in np.arange(3000) % 300]
    (text,) = messages_of(PATEClassifier(classes=[0, 1], random_state=0), X, y)
    assert re.search(r"hides the values of columns \['town'\]: declare them", text)


# --- one cell changes no other, whatever pandas makes of its column -------------------------------


@pytest.mark.parametrize(
    "values, odd",
    [
        (pd.to_timedelta([1, 2, 3], unit="s"), "oops"),
        (pd.to_timedelta([1, 2, 3], unit="s"), 5.0),
        ([1.5, 2.0, 3.0], 1j),
        ([1, 2, 3], "oops"),
        ([True, False, True], "oops"),
        (np.array(["2020-01-01", "2021-05-03T10:00"], dtype="datetime64[m]"), "oops"),
        (pd.to_datetime(["2020-01-01", "2021-05-03"]), None),
        (pd.interval_range(0, 3), None),
        (["TRUE", "FALSE"], "oops"),
        (["a", "b"], 3),
    ],
)
def test_odd_cell_changes_no_other_cell_of_its_column(values, odd):
    """With inference by pandas, and with objects as they are."""
    alone = cells_of(pd.Series(values))
    inferred = cells_of(pd.Series([*values, odd]))
    objects = np.empty(len(values) + 1, dtype=object)
    objects[:] = [*values, odd]
    as_objects = cells_of(pd.Series(objects, dtype=object))
    for cells in (inferred, as_objects):
        np.testing.assert_array_equal(cells.numbers[:-1], alone.numbers)
        assert [*cells.all_texts()[:-1]] == [*alone.all_texts()]


def test_csv_cells_are_read_as_the_dtype_that_pandas_makes_of_them():
    plain = pd.read_csv(io.StringIO("a,b,c\nTRUE,1,x\nFALSE,2.5,y\n"))
    odd = pd.read_csv(io.StringIO("a,b,c\nTRUE,1,x\nFALSE,2.5,y\noops,oops,4\n"))
    for name in plain:
        one, other = cells_of(plain[name]), cells_of(odd[name])
        assert [*one.all_texts()] == [*other.all_texts()[:2]]


class Masked(str):
    """Equal to another text, with itself as its text."""

    def __str__(self):
        return self

    def __eq__(self, other):
        return other == "Oslo"

    def __hash__(self):
        return hash("Oslo")


class Exits:
    def __str__(self):
        raise SystemExit("SECRET")


class OddClass:
    @property
    def __class__(self):
        raise RuntimeError("SECRET")


@cases("kind", "masked", "exits", "class")
def test_hostile_cell_is_a_cell_of_its_own(kind):
    objects = np.empty(2, dtype=object)
    objects[0] = "Oslo"
    objects[1] = {"masked": partial(Masked, "SECRET"), "exits": Exits, "class": OddClass}[kind]()
    cells = cells_of(pd.Series(objects))
    texts = cells.all_texts()
    assert texts[0] == "Oslo"
    assert texts[1] is None or (type(texts[1]) is str and texts[1] == "SECRET")


def test_nothing_but_names_of_the_private_table_is_in_a_plan_or_an_interrupted_fit():
    rng = np.random.default_rng(0)
    index = pd.CategoricalIndex([f"SECRET{k}" for k in range(600)], name="SECRETINDEX")
    X = pd.DataFrame({"a": rng.normal(size=600)}, index=index)
    X["b"] = pd.Categorical(["common"] * 600, categories=["common", *index[:5]])
    X.attrs["note"] = "SECRETNOTE"
    y = rng.integers(0, 2, 600)
    clf = PATEClassifier(classes=[0, 1], on_bad_plan="warn", epsilon=4.0)
    plan = clf.plan(X, y)
    assert b"SECRET" not in pickle.dumps(plan)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SchemaRelease, "publish_values", lambda *args: 1 / 0)
        pytest.raises(ValueError, clf.set_params(warm_start=True).fit, X, y).match("publish of")
    assert b"SECRET" not in pickle.dumps(clf)
    assert b"SECRET" not in pickle.dumps(PATEClassifier(classes=[0, 1], epsilon=4.0).fit(X, y))


def test_dtypes_of_private_columns_do_not_change_the_plan():
    X, y = table(300)
    plans = [str(PATEClassifier(classes=[0, 1]).plan(rows, y)) for rows in (X, X.astype(object))]
    assert plans[0] == plans[1]


def test_interrupted_fit_does_not_go_on_with_other_columns():
    X, y = table(2000)
    clf = PATEClassifier(classes=[0, 1], warm_start=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SchemaRelease, "publish_values", lambda *args: 1 / 0)
        pytest.raises(ValueError, clf.fit, X, y).match("publish of")
    with pytest.raises(ValueError, match="changed since: synthesizer or schema"):
        clf.fit(X[["age", "income", "city", "owner"]], y)


@pytest.mark.parametrize("step", ["gather_ranges", "gather_values"])
def test_errors_of_counting_quote_nothing(step, monkeypatch):
    def fails(*args, **settings):
        raise ValueError("SECRET")

    monkeypatch.setattr(SchemaRelease, step, fails)
    with pytest.raises(ValueError, match="could not be counted: ValueError") as error:
        PATEClassifier(classes=[0, 1]).fit(*table(500))
    assert "SECRET" not in "".join(traceback.format_exception(error.value))


@pytest.mark.slow
def test_arrays_of_truth_values_and_of_few_numbers_are_numbers():
    rng = np.random.default_rng(0)
    X = rng.random((6000, 3)) < 0.5
    y = (X[:, 0] ^ (rng.random(6000) < 0.1)).astype(int)
    clf = PATEClassifier(classes=[0, 1], random_state=0)
    for rows in (X, rng.integers(0, 5, size=(60_000, 2))):
        labels = y if rows is X else (rows[:, 0] > 2).astype(int)
        clf.fit(rows, labels)
        assert clf.score(rows, labels) > 0.8
        assert clf.export(rows[:20]).score(rows, labels) > 0.8


def test_delta_that_is_too_small_is_refused_before_anything_is_paid():
    X, y = table(500)
    with pytest.raises(ValueError, match="too small for an estimated schema") as error:
        PATEClassifier(classes=[0, 1], delta=1e-310).fit(X, y)
    assert not hasattr(error.value, "privacy_spent")


def test_cost_is_not_less_than_that_of_the_noise_of_any_kinds():
    """At very little noise, discrete noise costs more than continuous noise."""
    for n_columns, mu in ((1, 16.0), (10, 16.0), (1, 5.0)):
        release = SchemaRelease(n_columns, mu, 1e-8)
        claimed, _ = release.cost(contribution_of(REPLACED))
        ranges = discrete_gaussian_mu_squared(
            [release.sd_ranges * TICKS], [2 * n_columns * TICKS**2]
        )
        for n_texts in (0, 1, n_columns):
            n_trees = min(1, n_columns - n_texts)
            sds = release.sd_values(n_trees=n_trees, n_texts=n_texts)
            moves = [2 * N_LEVELS * n_trees * TICKS**2, 2 * n_texts * TICKS**2]
            values = discrete_gaussian_mu_squared([sd * TICKS for sd in sds], moves)
            assert ranges + values <= claimed


# --- estimates within plain bounds ----------------------------------------------------------------


def bounds_of(X, factor=1.0):
    """Plain bounds of the numbers of `table`, and other declarations."""
    wide = 100_000 * factor
    return {"income": (-wide, wide), "age": (18, 90), "city": ["Oslo", "Bern", "Rome"]}


def test_bounds_that_are_too_wide_cost_little():
    X, y = table()
    X_test, y_test = table(seed=1)
    clf = PATEClassifier(epsilon=1.0, classes=[0, 1], random_state=0, method="sums")
    scores = {}
    for name, schema in {"nothing": None, "wide": bounds_of(X, 1000.0)}.items():
        scores[name] = clf.set_params(schema=schema).fit(X, y).score(X_test, y_test)
    assert scores["wide"] > scores["nothing"] - 0.02
    edges = clf.schema_.columns["income"]
    assert len(edges) > 8 and edges[-1] < 1e6
    assert clf.privacy_spent_.schema == "partly estimated"
    assert 0.99 < clf.privacy_spent_.epsilon <= 1.0


def test_plan_of_one_column_has_no_plural():
    X, y = table()
    clf = PATEClassifier(epsilon=1.0, classes=[0, 1], schema={"age": (0, 120)}, method="sums")
    plan = " ".join(str(clf.plan(X[["age"]], y)).split())
    assert "edges of column 'age' within its bounds, estimated first" in plan
    assert "of 1 column, with noise" in plan
    plan = " ".join(str(clf.plan(X[["age", "income"]], y)).split())
    assert "of 1 column, which is not declared, estimated first; edges of column 'age'" in plan
    assert "of 2 columns, with noise" in plan


def test_plan_names_the_columns_with_estimated_edges():
    X, y = table()
    clf = PATEClassifier(epsilon=1.0, classes=[0, 1], schema=bounds_of(X), method="sums")
    plan = " ".join(str(clf.plan(X, y)).split())
    assert "edges of columns ['income', 'age'] within their bounds, estimated first" in plan
    few = " ".join(str(clf.set_params(on_bad_plan="warn").plan(X[:300], y[:300])).split())
    assert "a common scale of columns ['income', 'age'], estimated first" in few
    fewer = " ".join(str(clf.set_params(on_bad_plan="warn").plan(X[:200], y[:200])).split())
    assert "estimated first" not in fewer


@pytest.mark.parametrize(
    "declared, estimates",
    [
        ({"a": (0, 100), "b": (0, 1)}, [0, 1]),
        ({"a": (0, 50, 100), "b": (0, 100)}, [1]),  # declared edges stay
        ({"a": [0, 1, 2], "b": (5, 5)}, []),  # so do categories; one number has no edges
        ({"a": (0, 12), "b": (0, 1)}, [1]),  # whole numbers of few steps
        ({"a": (0, 13), "b": (0, 1)}, [0, 1]),
    ],
)
def test_columns_with_plain_bounds_have_estimates(declared, estimates):
    X = pd.DataFrame({"a": [1, 2], "b": [0.5, 0.25]})
    params = Schema(declared).parameters(X)
    synthesizer = ClassSumsSynthesizer(**params, epsilon_fraction=1.0).declare(X, None)
    planned = synthesizer.planned_for(n_records=100_000, epsilon=1.0, delta=1e-5)
    assert [*planned._within] == [(k,) for k in estimates]
    assert planned.n_steps == (4 if estimates else 2)
    assert synthesizer.planned_for(n_records=50, epsilon=1.0, delta=1e-5).n_steps == 2
    if estimates:
        cost = planned.with_scale(4.0).event(REPLACED).cost()
        assert cost.mu_squared == pytest.approx(1 / 16, rel=1e-4)
        assert cost.delta == 0  # no text is counted


def test_many_columns_with_the_same_bounds_are_joined():
    X = np.zeros((2, 64))
    synthesizer = ClassSumsSynthesizer(bounds=(0, 16), epsilon_fraction=1.0).declare(X, None)
    few = synthesizer.planned_for(n_records=1000, epsilon=1.0, delta=1e-5)
    assert [*few._within] == [tuple(range(64))]
    many = synthesizer.planned_for(n_records=10**6, epsilon=1.0, delta=1e-5)
    assert [*many._within] == [(k,) for k in range(64)]


def test_joined_columns_share_edges_within_wide_bounds():
    rng = np.random.default_rng(0)
    X = np.exp(rng.normal(size=(4000, 20)))
    y = (X[:, :2].sum(axis=1) > 2.5).astype(int)
    clf = PATEClassifier(epsilon=2.0, classes=[0, 1], random_state=0, schema=(-5000, 5000))
    clf.fit(X, y)
    edges = clf.schema_.columns[0]
    assert len(set(clf.schema_.columns.values())) == 1 and edges[-1] < 100
    assert clf.score(X, y) > 0.7
    assert clf.export(X[:20]).score(X, y) > 0.7


@pytest.mark.parametrize("dtype", ["int8", "uint16", "Int64", "float32", "float64"])
def test_estimates_within_bounds_keep_the_dtype(dtype):
    rng = np.random.default_rng(0)
    values = np.minimum(np.exp(rng.normal(1, 1, 6000)), 100)
    X = pd.DataFrame({"c": values.astype(dtype.lower() if dtype == "Int64" else dtype)})
    X = X.astype(dtype)
    y = (X["c"].to_numpy(float) > 3).astype(int)
    clf = PATEClassifier(epsilon=2.0, classes=[0, 1], random_state=0, schema={"c": (0, 120)})
    clf.set_params(method="sums").fit(X, y)
    assert clf.X_synthetic_["c"].dtype == X["c"].dtype
    declared = clf.schema_.columns["c"]
    assert all(0 <= value <= 120 for value in declared)
    if dtype != "float32" and dtype != "float64":
        assert all(value == int(value) for value in declared)
    assert clf.score(X, y) > 0.8


def test_bounds_that_suit_a_column_are_kept():
    rng = np.random.default_rng(0)
    n = 20_000
    frame = pd.DataFrame({"flat": rng.uniform(-1, 1, n), "skewed": np.exp(rng.normal(0, 2, n))})
    release = SchemaRelease(2, 0.5, 0.0, ((-1.0, 1.0), (0.0, 1000.0)))
    amount = np.full(n, TICKS)
    ranges = release.publish_ranges(release.gather_ranges(frame, amount), rng)
    kinds = kinds_of(ranges, release.sd_ranges, release.limits)
    values = release.publish_values(release.gather_values(frame, amount, None, kinds), rng)
    (flat, skewed), _, nothing = estimated(release, ranges, values, kinds)
    assert flat == (-1.0, 1.0) and len(skewed) > 30 and nothing == []


@pytest.mark.parametrize("bounds", [(-5.0, 3.0), (0.0, 64.0), (-64.0, 0.0), (100.0, 101.0)])
def test_leaves_are_within_bounds_and_increase(bounds):
    rng = np.random.default_rng(0)
    for values in (np.full(3000, bounds[1]), rng.uniform(*bounds, 3000), np.zeros(2)):
        frame = pd.DataFrame({"c": values})
        release = SchemaRelease(1, 1.0, 0.0, (bounds,))
        counts = release.gather_ranges(frame, np.full(len(frame), TICKS))
        noisy = release.publish_ranges(counts, rng)
        (kind,) = kinds_of(noisy, release.sd_ranges, release.limits)
        assert len(kind.leaves) == N_LEAVES + 1 and np.all(np.diff(kind.leaves) > 0)
        assert bounds[0] <= kind.leaves[0] and kind.leaves[-1] <= max(bounds[1], 1e-300)


def test_columns_with_bounds_are_never_counted_by_text():
    """Their delta is 0, so no text of theirs may be published."""
    noisy = np.zeros((2, N_BINS))
    noisy[:, TEXT] = 1e6
    bounded, free = kinds_of(noisy, 10.0, ((0.0, 1.0), None))
    assert not bounded.is_text and free.is_text


def test_ledger_without_reserved_delta_accepts_estimates_within_bounds(tmp_path):
    """They have no delta of their own, unlike an estimated schema."""
    X, y = table(2000)
    ledger = PrivacyLedger(tmp_path / "ledger", epsilon=3.0, reserved_delta=0)
    clf = PATEClassifier(epsilon=1.0, classes=[0, 1], method="sums", ledger=ledger)
    with pytest.raises(ValueError, match="delta"):
        clf.fit(X, y)
    schema = {**bounds_of(X), "owner": [False, True]}
    clf.set_params(schema=schema).fit(X, y)
    assert clf.privacy_spent_.schema == "partly estimated" and ledger.epsilon_spent <= 3.0


def test_default_method_needs_edges_that_a_part_of_epsilon_pays_for():
    X, y = table(5200)
    clf = PATEClassifier(epsilon=0.5, classes=[0, 1], schema=bounds_of(X))
    assert "estimated edges need all of epsilon" in " ".join(str(clf.plan(X, y)).split())
    assert rules.estimates_within_bounds(n_records=None, n_columns=3, mu=0.1)


# --- histograms -----------------------------------------------------------------------------------


def test_histograms_without_anything_declared():
    X, y = table(20_000)
    clf = PATEClassifier(
        epsilon=4.0, classes=[0, 1], random_state=0, synthesizer=MarginalSynthesizer()
    )
    clf.fit(X, y)
    spent = clf.privacy_spent_
    assert spent.schema == "estimated" and 3.9 < spent.epsilon <= 4.0
    assert clf.schema_.columns["city"] == ["Bern", "Oslo", "Rome"]
    assert len(clf.schema_.columns["income"]) <= 33
    X_test, y_test = table(2000, seed=1)
    assert clf.score(X_test, y_test) > 0.75
    np.testing.assert_allclose(
        clf.export(X[:20]).predict_proba(X_test), clf.predict_proba(X_test), atol=1e-9
    )


@cases("noise", "gaussian", "laplace")
def test_histograms_pay_for_their_schema_once(noise):
    X, _ = table(100)
    mechanism = {"gaussian": GaussianMechanism(40.0), "laplace": LaplaceMechanism(40.0)}[noise]
    synthesizer = MarginalSynthesizer(noise=mechanism).declare(X, None)
    own = Event(mechanism, REPLACED.counts(5)).cost()
    total = synthesizer.event(REPLACED).cost()
    release = synthesizer._schema_release()
    of_schema, delta = release.cost(schema_contribution(REPLACED))
    assert total.delta == delta == 1e-8
    np.testing.assert_allclose(total.rdp, own.rdp + DEFAULT_ORDERS * of_schema / 2)
    steps = [synthesizer.event(REPLACED, n_steps=k).cost().rdp[5] for k in (1, 2, 3)]
    assert 0 < steps[0] < steps[1] < steps[2] == total.rdp[5]
    mu_squared = 10 / mechanism.noise_std**2
    assert of_schema == pytest.approx(mu_squared * 0.1 / 0.9, rel=1e-4)


def test_histograms_have_the_parts_of_class_sums(tmp_path):
    """A ledger, an interrupted fit, weights, and declared columns among others."""
    X, y = table(6000)
    ledger = PrivacyLedger(tmp_path / "ledger", epsilon=8.0)
    clf = PATEClassifier(
        epsilon=4.0,
        classes=[0, 1],
        synthesizer=MarginalSynthesizer(),
        schema={"age": (18, 90)},
        warm_start=True,
        ledger=ledger,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SchemaRelease, "publish_values", lambda *args: 1 / 0)
        pytest.raises(ValueError, clf.fit, X, y).match("publish of MarginalSynthesizer failed")
    clf.fit(X, y, sample_weight=np.full(len(X), 0.9))
    assert clf.privacy_spent_.schema == "partly estimated"
    assert clf.schema_.columns["age"] == (18, 90)
    assert clf.privacy_spent_.epsilon <= 4.0
    assert ledger.epsilon_spent <= 5.0  # it adds Renyi costs
    assert clf.score(X, y) > 0.7


# --- a common scale, where records are few --------------------------------------------------------


BOUNDS = ((-4.0, 64.0), (0.0, 7.0))


def scale_counts(rows, release, amount=None):
    """Counts of a common scale, divided by the standard deviation of their noise."""
    amount = np.full(len(rows), TICKS) if amount is None else amount
    return release.gather(pd.DataFrame(rows, dtype=object), amount) / TICKS / release.sd


def test_scale_release_costs_at_least_the_change_by_any_record():
    """All neighboring pairs of tables of one record of two columns, with cells of all kinds."""
    release = ScaleRelease(BOUNDS, 1.0)
    rows = list(product(CELLS, [0, "a", None, -3, 7.0, 0.5]))
    counts = np.array([scale_counts([row], release) for row in rows])
    changes = [((one - other) ** 2).sum() for one, other in combinations(counts, 2)]
    claimed = release.cost(contribution_of(REPLACED)).mu_squared
    assert 0.99 * claimed < max(changes) <= claimed
    joined = release.cost(contribution_of(JOINED)).mu_squared
    assert 0.99 * joined < (counts**2).sum(axis=1).max() <= joined


def test_scale_release_counts_a_group_as_one_record():
    release = ScaleRelease(BOUNDS, 1.0)
    claimed = release.cost(contribution_of(REPLACED)).mu_squared
    groups = list(combinations_with_replacement(product([-3, 60, 0, None], [0, 7.0]), 2))
    half = np.full(2, TICKS // 2)
    counts = np.array([scale_counts(list(group), release, half) for group in groups])
    changes = [((one - other) ** 2).sum() for one, other in combinations(counts, 2)]
    assert 0.99 * claimed < max(changes) <= claimed


def test_scale_release_costs_no_more_than_its_fraction_of_a_fit():
    X = np.zeros((1000, 30))
    bounds = {k: (0.0, 1.0 + k) for k in range(30)}
    sums = ClassSumsSynthesizer(bounds, epsilon_fraction=1.0).declare(X, None)
    sums = sums.planned_for(n_records=1000, epsilon=1.0, delta=1e-5).with_scale(4.0)
    assert sums.n_steps == 3
    assert sums.schema_source == "partly estimated"
    first, second, every = (sums.event(REPLACED, n).cost().mu_squared for n in (1, 2, None))
    assert first == pytest.approx(0.05 / 16, rel=1e-3)
    assert first < second < every
    assert every == pytest.approx(1 / 16, rel=1e-3)


def test_number_has_its_bin_from_its_sign_and_power_of_two():
    release = ScaleRelease(((-8.0, 8.0),), 1.0)
    column = np.array([8.0, 4.0, 3.9, 1e9, -8.0, -1e9, -0.5, 0.0, 1e-9, np.nan])[:, None]
    counts = release.gather(column, np.full(10, TICKS)) / TICKS
    places = np.flatnonzero(counts).tolist()
    assert places == [0, 1, 2, 21, 24]  # zero; from 1/2, from 1/4; to -1/2, to -1/16
    assert counts[places].tolist() == [2, 3, 1, 2, 1]


def test_bounds_are_narrowed_only_if_all_columns_are_far_below_them():
    bounds = ((-800.0, 800.0), (0.0, 1600.0), (700.0, 800.0))
    release = ScaleRelease(bounds, 0.2)
    noisy = np.zeros(41)
    noisy[[0, 5]] = 300.0, 600.0
    assert release.narrowed(noisy) == ((0.0, 50.0), (0.0, 100.0), (700.0, 800.0))
    noisy[21 + 4] = 200.0
    assert release.narrowed(noisy)[:2] == ((-50.0, 50.0), (0.0, 100.0))
    noisy[2] = 200.0  # some columns reach a half of their bounds
    assert release.narrowed(noisy) == bounds
    assert release.narrowed(np.zeros(41)) == bounds


@pytest.mark.parametrize("factor", [1.0, 1000.0])
def test_few_records_are_learnt_within_bounds_that_are_too_wide(factor):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, size=2000)
    X = rng.normal(5, 1, size=(2000, 15)) + 0.7 * y[:, None]
    schema = {k: (0.0, (10.0 + k) * factor) for k in range(15)}
    clf = PATEClassifier(epsilon=0.5, classes=[0, 1], schema=schema, random_state=0)
    score = clf.fit(X[:700], y[:700]).score(X[700:], y[700:])
    bounds = clf.schema_.columns[3]
    assert score > 0.7
    assert bounds == (0.0, 13.0) if factor == 1.0 else bounds[1] < 100
    assert 0.49 < clf.privacy_spent_.epsilon <= 0.5


@pytest.mark.parametrize(("first", "is_far"), [(20_200_101.0, True), (0.0, False), (-1e6, True)])
def test_numbers_far_from_zero_are_reported(first, is_far):
    numbers = first + np.random.default_rng(0).integers(0, 700, 20_000)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clf = PATEClassifier(classes=[0, 1], epsilon=2.0, on_bad_plan="warn")
        clf.fit(numbers[:, None].astype(float), np.arange(20_000) % 2)
    assert (len(clf.schema_.columns[0]) <= 4) == is_far
    assert any("far from zero" in str(warning.message) for warning in caught) == is_far


@cases(
    "edges, is_far",
    ((5.0, 6.0), True),
    ((1.0, 16.0), True),  # noise has doubled one interval
    ((1.0, 20.0), False),
    ((1.0, 4.0, 10.0), False),
    ((-1.0, 5.0), False),
)
def test_few_edges_of_one_sign_are_far_from_zero(edges, is_far):
    assert is_far_from_zero(SimpleNamespace(edges=edges)) == is_far


def test_arrays_of_floats_with_estimated_columns_are_not_copied():
    X = np.random.default_rng(0).normal(size=(50, 2))
    columns = estimated_columns(X, (0, 1), [(-1.0, 1.0), [2.0, 3.0]], [False, True], None, n_bins=4)
    assert np.shares_memory(columns.like(X), X)
    np.testing.assert_array_equal(columns.like(X.astype(int)), X.astype(int).astype(float))
