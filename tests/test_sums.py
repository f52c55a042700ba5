"""Class sums: what they cost, by enumeration and by sampling, and what is read from them."""

import json
import math
import pickle
import warnings
from contextlib import nullcontext
from itertools import product

import numpy as np
import pandas as pd
import pytest
from conftest import cases, interrupt, sampled, three_classes
from scipy.special import expit, softmax
from scipy.stats import norm
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import log_loss
from sklearn.tree import DecisionTreeClassifier

from sklearn_pate import PATEClassifier, secure
from sklearn_pate.aggregators import LaplaceMechanism
from sklearn_pate.class_sums import discriminants, residuals, statistic
from sklearn_pate.class_sums.discriminants import Discriminants, _in_blocks, _shrunk_means
from sklearn_pate.class_sums.statistic import (
    WITH_PUBLIC_ROWS,
    WITHOUT_PUBLIC_ROWS,
    ticks_of,
    unit,
    with_constant,
)
from sklearn_pate.encoding import RowEncoder
from sklearn_pate.encoding.targets import ClassTarget, NumberTarget
from sklearn_pate.exceptions import BadPlanError, TeacherError
from sklearn_pate.ledger import PrivacyLedger
from sklearn_pate.methods import ReverseNeighbors
from sklearn_pate.methods.choose import MethodParameters, PublicCounts, choose_method
from sklearn_pate.methods.sums import (
    TICKS,
    ClassSums,
    ReleasedClassSums,
    SumsMechanism,
)
from sklearn_pate.model_selection import PrivateGridSearchCV
from sklearn_pate.rdp import DiscreteGaussian, Neighbors, gdp_mu, gdp_to_epsilon
from sklearn_pate.runtime.private_data import PrivateData
from sklearn_pate.synthesis import ClassSumsSynthesizer, MarginalSynthesizer, Schema, synthesizers
from sklearn_pate.synthesis.synthesizers import ReleasedSums

# --- what one record changes ---------------------------------------------------------------------


REPLACED, JOINED = (
    Neighbors(relation=relation, unit="record") for relation in ("replace_one", "add_or_remove_one")
)


def cost_of(neighbors, multiplier=3.0):
    contribution = statistic.sums_contribution(neighbors, WITHOUT_PUBLIC_ROWS)
    return statistic.sums_cost(multiplier, contribution).mu_squared


def directions():
    """Rows of two columns around the circle, shorter ones, and none at all."""
    angles = np.linspace(0, 2 * np.pi, 25)[:-1]
    around = np.column_stack([np.cos(angles), np.sin(angles)])
    return np.concatenate([around, 0.999 * around, 0.5 * around, [[0.0, 0.0]]])


def contribution(psi, label, n_classes, blocks, of_moment):
    """All that one record adds, each block at its weight."""
    centred = np.eye(n_classes)[label] - 1 / n_classes
    counted = np.eye(n_classes)[label] * psi.any()
    blocks = (
        np.outer(centred, psi),
        blocks.total * psi,
        blocks.counts * counted,
    )
    moment = of_moment * np.outer(psi, psi)
    return np.concatenate([np.ravel(block) for block in (*blocks, moment)])


def rows_of(blocks):
    """Rows in all directions, as these blocks have them, and a row that could not be encoded."""
    if blocks is WITHOUT_PUBLIC_ROWS:
        return directions()
    return np.concatenate([with_constant(unit(directions())), np.zeros((1, 3))])


@pytest.mark.parametrize("n_classes", [2, 3, 10])
@pytest.mark.parametrize(
    "blocks, part", [(WITHOUT_PUBLIC_ROWS, 0.3), (WITHOUT_PUBLIC_ROWS, 1.0), (WITH_PUBLIC_ROWS, 0)]
)
def test_class_sums_sensitivity_equals_enumeration(n_classes, blocks, part):
    weight = part * statistic.free_weight(n_classes)
    of_all = product(rows_of(blocks), range(min(n_classes, 3)))
    records = [contribution(psi, label, n_classes, blocks, weight) for psi, label in of_all]
    records = np.array([*records, np.zeros_like(records[0])])
    replaced = np.linalg.norm(records[:, None] - records[None], axis=2).max()
    given = {"n_classes": n_classes, "moment_weight": weight}
    bound = statistic.sensitivity(2, blocks, **given)
    assert 0.99 * bound < replaced <= bound * (1 + 1e-12)
    joined = np.linalg.norm(records, axis=1).max()
    bound = statistic.sensitivity(1, blocks, **given)
    assert 0.99 * bound < joined <= bound * (1 + 1e-12)


@pytest.mark.parametrize("size", [1e-300, 1e-162, 3e-162, 1e-100, 1.0, 1e100])
def test_rows_of_any_size_have_length_one(size):
    """Squares of tiny numbers are rounded to 0, and those of huge ones are infinite."""
    rows = size * np.random.default_rng(0).normal(size=(50, 200))
    np.testing.assert_allclose(np.linalg.norm(unit(rows), axis=1), 1, rtol=1e-12)
    product = with_constant(unit(rows)) @ with_constant(unit(-rows)).T
    assert product.min() >= WITH_PUBLIC_ROWS.min_product - 1e-9


def test_one_record_changes_at_most_the_charged_part_for_any_number_of_classes():
    for n_classes in [*range(2, 60), 1000]:
        for blocks in (WITH_PUBLIC_ROWS, WITHOUT_PUBLIC_ROWS):
            weight = statistic.free_weight(n_classes) if blocks.has_moment else 0.0
            given = {"n_classes": n_classes, "moment_weight": weight}
            one, two = (statistic.sensitivity(k, blocks, **given) for k in (1, 2))
            assert one**2 <= blocks.one_changed * two**2


def test_polled_votes_are_read_with_their_columns_at_any_epsilon():
    X, y, rows = wide(4000, 4)
    for polled, fitted_at in ((20.0, 0.5), (0.5, 20.0)):
        clf = PATEClassifier(method=ClassSums(), epsilon=polled, classes=[0, 1])
        votes = clf.set_params(on_bad_plan="warn").poll(X, y, X_public=rows)
        width = votes.counts.shape[0]
        clf.set_params(epsilon=fitted_at).fit_votes(votes, rows)
        assert clf.table_.slopes.shape[1] == width - 1
    other = clf.set_params(method=ClassSums(extra_columns=True))
    pytest.raises(ValueError, other.fit_votes, votes, rows).match("extra_columns=True")


@pytest.mark.parametrize("n_classes", [2, 3, 4, 10, 100])
def test_free_weight_of_the_moment_costs_nothing_and_is_the_largest(n_classes):
    def change(weight):
        given = {"n_classes": n_classes, "moment_weight": weight}
        return statistic.sensitivity(2, WITHOUT_PUBLIC_ROWS, **given)

    weight, without = statistic.free_weight(n_classes), change(0.0)
    assert change(weight) <= without * (1 + 1e-15)
    most = (1 - 1 / n_classes + WITHOUT_PUBLIC_ROWS.total**2) / 2  # what the proof needs
    assert weight**2 <= most * (1 + 1e-12)
    if n_classes == 2:
        assert weight**2 == pytest.approx(0.189, abs=1e-3)
        assert change(1.01 * weight) > without


@pytest.mark.parametrize("n_classes", [2, 3, 5, 17, 1000])
def test_joining_record_costs_less_than_charged(n_classes):
    weight = statistic.free_weight(n_classes)
    given = {"n_classes": n_classes, "moment_weight": weight}
    one, two = (statistic.sensitivity(k, WITHOUT_PUBLIC_ROWS, **given) for k in (1, 2))
    spent = (
        statistic.MEAN_FRACTION * ((1 + WITHOUT_PUBLIC_ROWS.counts**2) / 4)
        + (1 - statistic.MEAN_FRACTION) * (one / two) ** 2
    )
    charged = cost_of(JOINED) / cost_of(REPLACED)
    assert 0.8 * charged < spent <= charged


# --- sampled noise costs what is claimed -------------------------------------------------------


class Still(statistic.Centre):
    """Leaves rows where they are: the second step costs as much whatever the centre."""

    def apply(self, psi):
        return np.column_stack([psi, np.zeros(len(psi))])


STILL = Still(None)


def without_noise(whole, sd, step, rng):
    return whole.astype(float) * step


def noted(monkeypatch, noisy=without_noise):
    """Return a list of what will be released: without noise and with it, each beside its noise."""
    sampled = []

    def note(whole, sd, step, rng):
        found = noisy(whole, sd, step, rng)
        sampled.append(np.array([whole * step, found], dtype=float).reshape(2, -1) / sd)
        return found

    monkeypatch.setattr(statistic, "noisy_sums", note)
    monkeypatch.setattr(statistic, "threads_limited", nullcontext)
    return sampled


def released(psi, codes, part, centre, sd, sd_moment, rng, *, target):
    """Return the second step, gathered and published."""
    gathered = statistic.gather_sums(psi, codes, part, centre, target=target)
    return statistic.publish_sums(gathered, sd, sd_moment, rng)


def draw(sampled, psi, codes, target, sizes, *, rng=None, units=None, weight=None):
    """Return all that is released of records, without noise and with it."""
    sampled.clear()
    part = ticks_of(len(psi), units, weight, target=target)
    statistic.publish_centre(statistic.gather_total(psi, part), sizes[0], rng)
    released(psi, codes, part, STILL, *sizes[1:], rng, target=target)
    return np.concatenate(sampled, axis=1)


@pytest.mark.parametrize("n_classes", [2, 7])
@cases("kind", "records", "weights", "groups", "numbers", "groups of numbers")
def test_released_statistics_change_at_most_by_the_claimed_mu(n_classes, kind, monkeypatch):
    """Squared changes beside their noise, summed over all that is released, are mu squared at most.

    The code's own sums, in whole steps, of two tables that differ in one record or group. Votes
    for numbers are split between two levels.
    """
    sampled = noted(monkeypatch)
    multiplier = 2.0
    sizes = statistic.noise_sizes(1 / multiplier, n_classes=n_classes)
    rng = np.random.default_rng(n_classes)
    found = []
    size = 3 if "groups" in kind else 1
    candidates = directions()
    target = (NumberTarget if "numbers" in kind else ClassTarget)(range(n_classes))

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
        one, other = (draw(sampled, *rows, target, sizes, **given)[0] for rows in (first, second))
        found.append(((one - other) ** 2).sum())
    claimed = cost_of(REPLACED, multiplier)
    assert max(found) <= claimed and max(found) > (0.25 if "groups" in kind else 0.9) * claimed


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("most", [0, 2**62])
def test_rows_are_summed_exactly_in_blocks(is_weighted, most, monkeypatch):
    """As in whole numbers of any size."""
    monkeypatch.setattr(secure, "_MOST_IN_64_BITS", most)
    rng = np.random.default_rng(0)
    psi = unit(rng.normal(size=(300, 4)))
    codes = rng.integers(3, size=300)
    amount, whole = ticks_of(300, weight=rng.random(300) if is_weighted else None)
    monkeypatch.setattr(statistic, "noisy_sums", without_noise)
    monkeypatch.setattr(statistic, "_ROWS", 64)
    given = (amount, whole), STILL, 1.0, 1.0, None
    found = released(psi, codes, *given, target=ClassTarget(range(3)))
    steps = np.trunc(psi * 2**14 * (1 - 1e-12)).astype(int).astype(object)
    weighted = steps * amount.astype(object)[:, None]
    assert (found.moment[:4, :4] == ((weighted.T @ steps).astype(float) / 2**28 / whole)).all()
    total = weighted.sum(axis=0)
    for code in range(3):
        centred = (3 * weighted[codes == code].sum(axis=0) - total).astype(float)
        assert np.allclose(found.by_class[code, :4], centred / 3 / 2**14 / whole, rtol=1e-14)
    assert found.counts.sum() == amount.sum() / whole


@pytest.mark.parametrize("n_classes, n_blocks, most", [(40, 1, 2**62), (2, 9, 0)])
def test_class_sums_beyond_64_bits_are_exact(n_classes, n_blocks, most, monkeypatch):
    """Many classes, or many blocks, where one block fits into 64 bits."""
    of_block = 2**60 + np.arange(3 * n_classes).reshape(n_classes, 3)
    monkeypatch.setattr(secure, "_MOST_IN_64_BITS", most)
    monkeypatch.setattr(statistic, "of_classes", lambda steps, cast: of_block)
    monkeypatch.setattr(statistic, "_ROWS", 4)
    sampled = []
    monkeypatch.setattr(
        statistic, "noisy_sums", lambda whole, *_: sampled.append(whole) or whole.astype(float)
    )
    codes = np.zeros(4 * n_blocks, dtype=int)
    part = ticks_of(len(codes))
    target = ClassTarget(range(n_classes))
    released(np.eye(len(codes), 2), codes, part, STILL, 1, 1, None, target=target)
    _, centred, total, *_ = sampled
    by_class = [[n_blocks * number for number in row] for row in of_block.tolist()]
    assert total.tolist() == [sum(column) for column in zip(*by_class, strict=True)]
    expected = [[n_classes * a - b for a, b in zip(row, total, strict=True)] for row in by_class]
    assert centred.tolist() == expected


@pytest.mark.parametrize("bad", [np.nan, 1.1])
def test_rows_too_long_or_not_finite_add_nothing(bad, monkeypatch):
    sums_of = noiseless(
        np.array([[0.6, 0.0], [bad, 0.5]]), np.array([0, 1]), ClassTarget(range(2)), monkeypatch
    )
    assert (sums_of.counts == [1, 0]).all() and sums_of.total[0] == pytest.approx(0.6, abs=1e-4)


@pytest.mark.slow
def test_sampled_noise_matches_the_claimed_mu(global_random_seed, monkeypatch):
    """Two tables that differ as much as can be are mu apart, beside noise along their difference.

    300 draws: its size has a standard deviation of 4 %. Noise that is smaller by the root of two
    is found at 0.71, and right noise fails once in a million.
    """
    rng = np.random.default_rng(global_random_seed)
    sampled = noted(monkeypatch, statistic.noisy_sums)

    def outcome(end):
        psi, sizes = np.array([[end, 0.0]]), statistic.noise_sizes(1.0, n_classes=2)
        return draw(sampled, psi, np.array([0]), ClassTarget([0, 1]), sizes, rng=rng)

    change = outcome(1.0)[0] - outcome(-1.0)[0]
    mu = np.linalg.norm(change)
    noise = [np.subtract(*outcome(1.0)) @ change / mu for _ in range(300)]
    assert 0.9 < mu <= 1
    assert abs(np.std(noise) - 1) < 4.9 / np.sqrt(600)


# --- residuals ------------------------------------------------------------------------------------

#: Slopes and constants, by the number of classes. Class 2 is always the least likely.
LINEAR = {
    2: (np.array([[0.0, 0.0, 0.0], [1.5, -0.5, 0.2]]), np.array([0.0, 0.3])),
    3: (np.array([[0.1, 0.2, 0.0], [0.2, -0.1, 0.2], [0.0, 0.1, 0.1]]), np.array([0.0, 0.0, -2.0])),
}


def of_residuals(psi, codes, n_classes=2, **given):
    """Return the sums of rows times residuals, as multiples of the noise at a mu of 1."""
    part = ticks_of(len(psi), **given)
    gathered = residuals.gather_residuals(psi, codes, part, STILL, LINEAR[n_classes])
    step = statistic.STEP / 2**12 / gathered.whole
    return gathered.total.astype(float) * step / residuals.noise_of_residuals(1.0)


@cases("kind", "records", "weights", "groups")
@pytest.mark.parametrize("n_classes", LINEAR)
def test_sums_of_residuals_equal_their_definition(n_classes, kind, monkeypatch):
    """In several blocks."""
    monkeypatch.setattr(statistic, "_ROWS", 64)
    rng = np.random.default_rng(0)
    psi, codes = unit(rng.normal(size=(300, 2))), rng.integers(n_classes, size=300)
    given, amount = {}, np.ones(300)
    if kind == "weights":
        given["weight"] = rng.random(300)
        amount = np.floor(given["weight"] * 2**12) / 2**12
    if kind == "groups":
        given["units"] = np.repeat(np.arange(100), 3)
        amount = np.full(300, np.floor(2**12 / 3) / 2**12)
    rows = np.column_stack([psi, np.zeros(300)])
    slopes, constants = LINEAR[n_classes]
    expected = np.zeros((n_classes, 3))
    for row, code, own in zip(rows, codes, amount, strict=True):
        odds = np.exp(slopes @ row + constants)
        away = np.eye(n_classes) - odds / odds.sum()  # a row for each label
        longest = np.linalg.norm(away, axis=1).max()
        expected += own * np.outer(away[code] / longest, row) / 2
    found = of_residuals(psi, codes, n_classes, **given)
    assert found == pytest.approx(expected, abs=300 * 2**-12)


def test_residuals_of_two_classes_are_those_of_one_probability():
    """The label minus the probability of 1, divided by the larger probability."""
    rng = np.random.default_rng(0)
    psi, codes = unit(rng.normal(size=(300, 2))), rng.integers(2, size=300)
    slopes, constants = LINEAR[2]
    rows = np.column_stack([psi, np.zeros(300)])
    proba = expit(rows @ slopes[1] + constants[1])
    expected = ((codes - proba) / np.maximum(proba, 1 - proba)) @ rows / 2
    found = of_residuals(psi, codes)
    assert found[1] == pytest.approx(expected / math.sqrt(2), abs=300 * 2**-12)
    np.testing.assert_allclose(found[0], -found[1], atol=1e-9)


@cases("kind", "records", "weights", "groups")
@pytest.mark.parametrize("n_changed", [1, 2])
@pytest.mark.parametrize("n_classes", LINEAR)
def test_sums_of_residuals_change_at_most_by_the_claimed_mu(n_classes, n_changed, kind):
    """The limit is reached by the label of a class that is least likely.

    Of two classes, by another label of one row; of three, by the opposite row.
    """
    rng, found = np.random.default_rng(0), []
    size = 3 if kind == "groups" else 1
    for k in range(400):
        first, second = (unit(rng.normal(size=(size, 2))) for _ in range(2))
        codes = [rng.integers(n_classes, size=size) for _ in range(2)]
        if k % 2:  # as far as can be
            first = np.tile([[0.38 / 3, 0.98]], (size, 1))  # of two classes, log odds of 0
            second, codes = first, [np.zeros(size, int), np.ones(size, int)]
            if n_classes == 3:
                second, codes = -first, [np.full(size, 2)] * 2
        given = {"units": np.zeros(size, dtype=int)} if kind == "groups" else {}
        if kind == "weights":
            given["weight"] = rng.choice([0.3, 1.0, 7.0], size=size)
        change = of_residuals(first, codes[0], n_classes, **given)
        if n_changed == 2:
            change = change - of_residuals(second, codes[1], n_classes, **given)
        found.append(np.linalg.norm(change))
    limit = n_changed / 2
    assert 0.95 * limit < max(found) <= limit


@pytest.mark.parametrize("whole", [1, 2**12])
def test_noise_on_residuals_has_the_claimed_size_for_each_class(whole, global_random_seed):
    """400 columns of three classes."""
    rng = np.random.default_rng(global_random_seed)
    total = rng.integers(-(10**9), 10**9, size=(3, 400)) * whole
    sd = residuals.noise_of_residuals(0.5)
    gathered = residuals.GatheredResiduals(total, whole)
    noise = residuals.publish_residuals(gathered, sd, rng).total
    noise -= total * (statistic.STEP / 2**12 / whole)
    assert sd == pytest.approx(4.0)
    np.testing.assert_allclose(noise.std(axis=1), 4.0, rtol=4.9 / np.sqrt(800))
    assert np.abs(np.corrcoef(noise) - np.eye(3)).max() < 4.9 / np.sqrt(400)


@pytest.mark.parametrize("schema", [None, [(-1, 0, 1)] * 2])
def test_noise_on_residuals_is_for_their_part_of_mu_squared(schema, monkeypatch):
    """The part is of what an estimated schema leaves."""
    rng, sizes, publish = np.random.default_rng(0), [], synthesizers.publish_residuals

    def noted_size(gathered, sd, rng):
        sizes.append(sd)
        return publish(gathered, sd, rng)

    monkeypatch.setattr(synthesizers, "publish_residuals", noted_size)
    X, y = rng.choice([-1.0, 1.0], size=(6000, 2)), rng.integers(3, size=6000)
    clf = PATEClassifier(method="sums", classes=[0, 1, 2], schema=schema, on_bad_plan="warn")
    statement = json.loads(clf.fit(X, y).privacy_spent_.to_json())
    steps = statement["guarantee"]["steps"]
    (scale,) = [float.fromhex(step["scale"]) for step in steps if "residuals" in step["name"]]
    assert sizes == [pytest.approx(2 * scale / math.sqrt(0.4), rel=1e-6)]


def test_label_of_no_class_has_a_residual_of_at_most_one_record():
    psi = unit(np.random.default_rng(0).normal(size=(200, 2)))
    lengths = [np.linalg.norm(of_residuals(row[None], np.array([-1]), 3)) for row in psi]
    assert 0.2 < max(lengths) <= 0.5


def test_residuals_beyond_64_bits_are_exact(monkeypatch):
    rng = np.random.default_rng(0)
    psi, codes = unit(rng.normal(size=(300, 2))), rng.integers(3, size=300)
    expected = of_residuals(psi, codes, 3)
    monkeypatch.setattr(secure, "_MOST_IN_64_BITS", 300 * 2**26 - 1)
    part = ticks_of(300)
    found = residuals.gather_residuals(psi, codes, part, STILL, LINEAR[3]).total
    assert found.dtype == object
    np.testing.assert_array_equal(of_residuals(psi, codes, 3), expected)


@pytest.mark.parametrize("size", [1e-300, 1.0, 1e100])
def test_discriminants_of_a_row_do_not_depend_on_other_rows(size):
    """Bit by bit, in blocks of any size and order; a matrix product of floats is not exact."""
    rng = np.random.default_rng(0)
    steps = statistic.whole_steps(unit(rng.normal(size=(200, 57)))).astype(float)
    slopes, constants = size * rng.normal(size=(7, 57)), size * rng.normal(size=7)
    found = residuals._logits(steps, slopes, constants)
    for rows in (slice(None, None, -1), slice(1), slice(3, 10), slice(150, None)):
        np.testing.assert_array_equal(
            residuals._logits(steps[rows], slopes, constants), found[rows]
        )
    expected = np.einsum("ij,kj->ik", steps * statistic.STEP, slopes) + constants
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8 * size)


def test_record_with_discriminants_that_are_not_finite_has_no_residual():
    linear = LINEAR[2][0], np.array([np.inf, np.inf])
    psi, codes = unit(np.array([[1.0, 1.0]])), np.array([1])
    with np.errstate(invalid="ignore"):
        found = residuals.gather_residuals(psi, codes, ticks_of(1), STILL, linear)
    assert not found.total.any()


@pytest.mark.parametrize("bad", [np.nan, 1.1])
def test_rows_too_long_or_not_finite_have_no_residual(bad):
    assert not of_residuals(np.array([[bad, 0.5], [0.0, 0.0]]), np.array([0, 1])).any()


def noiseless_residuals(psi, codes, before, centre):
    """Return residuals of discriminants without noise, as if they had little."""
    linear = before.slopes, before.constants
    gathered = residuals.gather_residuals(psi, codes, ticks_of(len(psi)), centre, linear)
    return residuals.Residuals(gathered.total * statistic.STEP / 2**12, sd=1e-3)


def test_residuals_correct_discriminants_where_classes_are_not_normal(monkeypatch):
    """One column has a long tail that decides: linear discriminants follow the tail's mean."""
    rng = np.random.default_rng(0)
    n = 40_000
    X = np.column_stack([np.where(rng.random(n) < 0.05, 1.0, 0.0), rng.uniform(-1, 1, size=n)])
    truth = -2 + X @ [6.0, 1.5]
    codes = (rng.random(n) < expit(truth)).astype(int)
    centre = statistic.Centre(X.mean(axis=0))
    sums = noiseless(X, codes, ClassTarget([0, 1]), monkeypatch, centre)
    before = Discriminants(sums)
    after = Discriminants(sums, noiseless_residuals(X, codes, before, centre))
    loss = [log_loss(codes, softmax(d.linear(centre.apply(X)), axis=1)) for d in (before, after)]
    best = log_loss(codes, expit(truth))
    assert loss[1] - best < 0.4 * (loss[0] - best)
    # Nothing published but noise: nearly nothing changes
    noise = residuals.Residuals(rng.normal(scale=1e3, size=(2, 3)), sd=1e3)
    after = Discriminants(sums, noise)
    scale = after.constants[1] / before.constants[1]
    assert abs(math.log(scale)) < 0.5
    assert np.abs(after.slopes - scale * before.slopes).max() < 0.1


def from_class_sums(n_classes, share, n_records, monkeypatch):
    """Return rows, their centre, and discriminants of classes with normal columns."""
    rng = np.random.default_rng(0)
    codes = rng.choice(n_classes, size=n_records, p=share)
    X = rng.normal(scale=0.5, size=(n_classes, 8))[codes] + rng.normal(size=(n_records, 8))
    centre = statistic.Centre(X.mean(axis=0))
    sums = noiseless(X, codes, ClassTarget(range(n_classes)), monkeypatch, centre)
    return X, centre, sums


def labels_from(logits):
    """Return random labels with these logarithms of probabilities."""
    proba = softmax(logits, axis=1)
    drawn = np.random.default_rng(1).random((len(proba), 1))
    return (drawn > proba.cumsum(axis=1)[:, :-1]).sum(axis=1)


@pytest.mark.parametrize("n_classes", [2, 10])
def test_residuals_of_right_discriminants_change_nothing(n_classes, monkeypatch):
    """Noise is as small as sampling errors, which are not taken for effects."""
    share = np.full(n_classes, 1 / n_classes)
    X, centre, sums = from_class_sums(n_classes, share, 100_000, monkeypatch)
    before = Discriminants(sums)
    labels = labels_from(before.linear(centre.apply(X)))
    published = noiseless_residuals(X, labels, before, centre)
    after = Discriminants(sums, published._replace(sd=100.0))
    change = after.slopes - before.slopes
    assert np.linalg.norm(change - change.mean(axis=0)) < 0.03 * np.linalg.norm(before.slopes)


@cases("n_classes, most", (2, 0.5), (3, 0.4), (20, 0.5))
def test_residuals_make_a_part_of_the_needed_change(n_classes, most, monkeypatch):
    """The first class, which may be frequent, has other slopes than the class sums show."""
    share = np.append(most, np.full(n_classes - 1, (1 - most) / (n_classes - 1)))
    X, centre, sums = from_class_sums(n_classes, share, 100_000, monkeypatch)
    before = Discriminants(sums)
    psi = centre.apply(X)
    needed = np.zeros_like(before.slopes)
    needed[0, :8] = 0.3 * np.random.default_rng(2).normal(size=8) * before.slopes.std()
    labels = labels_from(before.linear(psi) + psi @ needed.T)
    after = Discriminants(sums, noiseless_residuals(X, labels, before, centre))
    change = after.slopes - before.slopes
    change, needed = change - change.mean(axis=0), needed - needed.mean(axis=0)
    assert 0.15 < (change * needed).sum() / (needed**2).sum() < 1


@pytest.mark.parametrize("scale", [0.3, 1.0])
def test_residuals_multiply_discriminants_that_are_too_sure(scale, monkeypatch):
    """Labels are drawn from discriminants of three classes, multiplied by the scale."""
    X, centre, sums = from_class_sums(3, np.full(3, 1 / 3), 30_000, monkeypatch)
    before = Discriminants(sums)
    labels = labels_from(scale * before.linear(centre.apply(X)))
    after = Discriminants(sums, noiseless_residuals(X, labels, before, centre))
    found = (after.slopes * before.slopes).sum() / (before.slopes**2).sum()
    assert found == pytest.approx(scale, rel=0.1)
    assert np.abs(after.slopes - found * before.slopes).max() < 0.3


@cases(
    "n_records, epsilon, classes, has_residuals",
    (3000, 1.0, 2, True),
    (300, 1.0, 2, False),
    (3000, 1.0, 3, True),
    (3000, 1.0, 40, False),
)
def test_residuals_are_released_for_many_records(n_records, epsilon, classes, has_residuals):
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1, 1, size=(n_records, 2)), rng.integers(classes, size=n_records)
    given = {"schema": [(-1, 0, 1)] * 2, "classes": range(classes), "random_state": 0}
    clf = PATEClassifier(method="sums", epsilon=epsilon, on_bad_plan="warn", **given)
    text = " ".join(str(clf.plan(X, y)).split())
    clf.fit(X, y)
    assert (clf.table_.residuals is not None) == has_residuals
    assert ("times residuals" in clf.privacy_spent_.tables[-1]) == has_residuals
    assert ("sums of rows times residuals, with noise of 11.8" in text) == has_residuals
    assert 0.999 * epsilon < clf.privacy_spent_.epsilon <= epsilon


# --- the mean alone: the first step, which an interrupted fit may have published ------------------


def of_mean(psi, **given):
    """The sum of rows and their number, as multiples of the noise on them at a multiplier of 1."""
    gathered = statistic.gather_total(np.array(psi), ticks_of(len(psi), **given))
    sd = statistic.noise_sizes(1.0, n_classes=2)[0]
    steps = np.append(
        gathered.total, gathered.n_records * WITHOUT_PUBLIC_ROWS.counts / statistic.STEP
    )
    return steps * statistic.STEP / gathered.whole / sd


def tables_of_one(kind):
    """All tables of one unit: rows to the north, the east and so on, or that are not encoded."""
    rows = [np.zeros(2), *np.eye(2), *-np.eye(2), np.full(2, np.sqrt(0.5)), np.full(2, np.nan)]
    if kind == "records":
        return [of_mean([row]) for row in rows]
    if kind == "groups":
        return [of_mean(pair, units=np.zeros(2, dtype=int)) for pair in product(rows, rows)]
    return [of_mean([row], weight=np.array([w])) for row in rows for w in (-1.0, 0.3, 1.0, 7.0)]


@cases("kind", "records", "groups", "weights")
def test_mean_changes_by_its_fraction_of_the_cost(kind, monkeypatch):
    """The whole numbers of the package, for all pairs of one unit, next to its noise."""
    monkeypatch.setattr(statistic, "threads_limited", nullcontext)
    tables = np.array(tables_of_one(kind))
    replaced = ((tables[:, None] - tables[None]) ** 2).sum(axis=2).max()
    joined = (tables**2).sum(axis=1).max()
    for neighbors, changed, least in ((REPLACED, replaced, 0.999), (JOINED, joined, 0.68)):
        contribution = statistic.sums_contribution(neighbors, WITHOUT_PUBLIC_ROWS)
        of_step, of_all = (
            statistic.centre_cost(1.0, contribution),
            statistic.sums_cost(1.0, contribution),
        )
        assert least * of_step.mu_squared < changed <= of_step.mu_squared < 0.11 * of_all.mu_squared


def log_pmfs(sigma, shift):
    """Discrete Gaussians about 0 and about a whole number, by their definition."""
    n = np.arange(-int(20 * sigma), int(20 * sigma) + shift + 1)
    log_total = np.log(np.exp(-(n**2) / (2 * sigma**2)).sum())
    return [-((n - centre) ** 2) / (2 * sigma**2) - log_total for centre in (0, shift)]


def renyi(p, q, order):
    return np.log(np.exp(order * p + (1 - order) * q).sum()) / (order - 1)


def test_mean_cost_equals_sums_over_outcomes():
    """Renyi costs, and delta at the claimed epsilon, of the two outcomes that differ most."""
    multiplier, orders, delta = 0.125, np.array([1.5, 2.0, 4.0]), 1e-5
    sigma = statistic.noise_sizes(1 / multiplier, n_classes=2)[0] / statistic.STEP
    whole = round(1 / statistic.STEP)  # steps of a row of length 1
    replaced = log_pmfs(sigma, 2 * whole)
    joined = (
        log_pmfs(sigma, whole),
        log_pmfs(sigma / WITHOUT_PUBLIC_ROWS.counts, whole),
    )  # row, number
    for neighbors, pairs, least in ((REPLACED, [replaced], 0.999), (JOINED, joined, 0.68)):
        claimed = statistic.centre_cost(
            multiplier, statistic.sums_contribution(neighbors, WITHOUT_PUBLIC_ROWS), orders
        ).rdp
        costs = [sum(renyi(*pair, order) for pair in pairs) for order in orders]
        assert (costs <= claimed).all() and (costs > least * claimed).all()
    epsilon, _ = statistic.centre_cost(
        multiplier, statistic.sums_contribution(REPLACED, WITHOUT_PUBLIC_ROWS)
    ).epsilon(delta)
    p, q = map(np.exp, replaced)
    assert 0.99 * delta < np.maximum(p - np.exp(epsilon) * q, 0).sum() <= delta


# --- what is read from them ----------------------------------------------------------------------


def noiseless(psi, codes, target, monkeypatch, centre=STILL):
    monkeypatch.setattr(statistic, "noisy_sums", without_noise)
    part = ticks_of(len(psi), target=target)
    return released(psi, codes, part, centre, 1e-3, 1e-3, None, target=target)


def test_discriminants_without_noise_equal_linear_discriminant_analysis(monkeypatch):
    """Of five ordered classes as well, where regression on indicators masks the middle ones."""
    rng = np.random.default_rng(0)
    trait = rng.normal(size=20_000)
    codes = np.digitize(trait, [-1, -0.3, 0.3, 1])
    X = 0.5 * trait[:, None] + rng.normal(size=(20_000, 8))
    psi = unit(np.column_stack([X, np.full(20_000, 5)]))
    read = Discriminants(noiseless(psi, codes, ClassTarget(range(5)), monkeypatch))
    ours = read.linear(STILL.apply(psi)).argmax(axis=1)
    assert (ours == LinearDiscriminantAnalysis().fit(psi, codes).predict(psi)).mean() > 0.99
    assert read.n == pytest.approx(20_000, rel=1e-3)


def test_discriminants_of_numbers_without_noise_equal_least_squares(monkeypatch):
    """Means of numbers are linear in the columns, up to the bounds, and not a logistic curve."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(20_000, 4))
    y = 0.5 + X @ [0.25, -0.1, 0.05, 0.0] + rng.uniform(-0.05, 0.05, 20_000)
    psi = unit(np.column_stack([X, np.full(20_000, 5)]))
    target = NumberTarget.between((0, 1))
    read = Discriminants(noiseless(psi, target.encode(y), target, monkeypatch))
    ours = read.linear(STILL.apply(psi))
    assert read.proba_is_linear
    assert ours.sum(axis=1) == pytest.approx(1)
    theirs = LinearRegression().fit(psi[:, :-1], y).predict(psi[:, :-1])
    assert ours[:, 1] == pytest.approx(theirs, abs=0.01)


def test_directions_in_blocks_are_uncorrelated():
    """The second block has no part of the first; with no last columns, there is one block."""
    rng = np.random.default_rng(0)
    covariance = np.cov(rng.normal(size=(40, 7)) @ rng.normal(size=(7, 7)), rowvar=False)
    for last in (slice(2, 5), slice(0)):
        variance, basis, blocks = _in_blocks(covariance, last)
        assert len(blocks) == (2 if last.stop else 1)
        np.testing.assert_allclose(basis.T @ covariance @ basis, np.diag(variance), atol=1e-9)
        is_last = np.isin(np.arange(7), np.arange(7)[last])
        assert not basis[is_last][:, blocks[0]].any()
        np.testing.assert_allclose(
            np.linalg.norm(basis[is_last][:, blocks[-1]], axis=0), 1 * (len(blocks) == 2)
        )


def test_shrunk_means_are_averages_of_candidates():
    """Little noise keeps the means, much noise removes them, and averages lie in between."""
    rng = np.random.default_rng(0)
    variance = np.geomspace(0.1, 1, 30)
    means = rng.normal(size=(2, 30)) * np.sqrt(variance)
    known = {"n_free": 0.5, "powers": (1.0, 2.0)}
    kept, _ = _shrunk_means(means, variance, np.full((2, 30), 1e-8), **known)
    np.testing.assert_allclose(kept, means, rtol=1e-5)
    lost, _ = _shrunk_means(means, variance, np.full((2, 30), 1e8), **known)
    assert np.abs(lost).max() < 1e-5
    noise = np.full((2, 30), 1.0)
    noisy = means + rng.normal(size=(2, 30))
    average, _ = _shrunk_means(noisy, variance, noise, **known)
    likely, _ = _shrunk_means(noisy, variance, noise, averages=False, **known)
    for shrunk in (average, likely):
        assert (np.abs(shrunk) < np.abs(noisy)).all()
        assert ((shrunk - means) ** 2).sum() < ((noisy - means) ** 2).sum()
    assert np.abs(average - likely).max() > 1e-3


@pytest.mark.parametrize(("effect", "more"), [("fold", 0.01), ("sum", -0.01)])
def test_folded_effects_have_their_own_size_where_it_is_likely(effect, more, monkeypatch):
    """Compared with effects of the same size for all columns, at the same noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9000, 20))
    score = (np.abs(X) if effect == "fold" else X) @ rng.normal(size=20) / 3
    y = (score - np.median(score) + rng.logistic(size=9000) > 1).astype(int)
    clf = PATEClassifier(classes=[0, 1], epsilon=1.0, random_state=0)
    clf.set_params(method=ClassSums(extra_columns=True))
    scores = []
    for folded in (RowEncoder.folded_places, property(lambda self: slice(0))):
        monkeypatch.setattr(RowEncoder, "folded_places", folded)
        clf.fit(X[:4000], y[:4000], X_public=X[4000:6000])
        scores.append(np.corrcoef(clf.predict_proba(X[6000:])[:, 1], score[6000:])[0, 1])
    assert scores[0] > scores[1] + more


@pytest.mark.parametrize(("n_public", "gain"), [(100, 0.01), (4000, 0.0)])
def test_directions_of_little_variance_count_less_if_public_rows_are_few(
    n_public, gain, monkeypatch
):
    """Compared with the same least variance for any number of public rows."""
    rng = np.random.default_rng(0)
    common = rng.normal(size=(9000, 4)) @ rng.normal(size=(4, 60))
    X = common + 0.3 * rng.normal(size=(9000, 60))
    score = common @ rng.normal(size=60) / 20
    y = (score + rng.logistic(size=9000) > 3).astype(int)
    clf = PATEClassifier(classes=[0, 1], epsilon=4.0, random_state=0)
    clf.set_params(method=ClassSums(extra_columns=False))
    scores = []
    for bounds in (discriminants._LEAST_VARIANCE, (0.02, 0.02)):
        monkeypatch.setattr(discriminants, "_LEAST_VARIANCE", bounds)
        clf.fit(X[:3000], y[:3000], X_public=X[3000 : 3000 + n_public])
        proba = clf.predict_proba(X[7000:])[:, 1]
        scores.append(np.corrcoef(norm.ppf(proba), score[7000:])[0, 1])
    assert scores[0] >= scores[1] + gain


def test_sums_that_show_no_relation_name_the_method_for_products():
    """The classes depend on a product of columns, whose class means are equal."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 4))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    for method, warns in (("sums", True), ("neighbors", False)):
        clf = PATEClassifier(classes=[0, 1], method=method, random_state=0)
        with warnings.catch_warnings(record=True, action="always") as caught:
            clf.fit(X[:5000], y[:5000], X_public=X[5000:])
        texts = [str(warning.message) for warning in caught]
        assert [("may be little better" in text, "products" in text) for text in texts] == (
            [(True, True)] if warns else []
        )
        assert all("method='neighbors' may help" in text for text in texts)


@pytest.mark.parametrize("kind", ["folds", "few records"])
def test_effects_that_rise_and_fall_are_seen_with_many_records(kind):
    """Folded ranks of estimated columns, where the records of a class outweigh the noise."""
    rng = np.random.default_rng(0)
    n = 12_000 if kind == "folds" else 1500
    X = rng.normal(size=(n, 4))
    y = (np.abs(X[:, 0]) > 0.7).astype(int)
    clf = PATEClassifier(classes=[0, 1], epsilon=1.0, method="sums", random_state=0).fit(X, y)
    names = clf.table_.encoder.get_feature_names_out().tolist()
    assert ("0_folded" in names) == (kind == "folds")
    assert (clf.score(X, y) > 0.9) == (kind == "folds")


@pytest.mark.parametrize("seed", range(2))
def test_class_sums_of_noise_predict_the_majority_with_a_warning(seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(3000, 20))
    y = (rng.random(3000) < 0.2).astype(int)
    clf = PATEClassifier(schema=(-1, 1), classes=[0, 1], random_state=seed)
    with pytest.warns(UserWarning, match="little better than a coin flip|one class"):
        clf.fit(X, y)
    assert clf.score(X, y) > max(np.bincount(y)) / len(y) - 0.05


@pytest.mark.slow
def test_synthetic_rows_match_the_schema():
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
    sampled = clf.X_synthetic_
    assert (sampled.dtypes == rows.dtypes).all() and sampled["age"].dropna().between(18, 89).all()
    assert set(sampled["job"].dropna()) == {"clerk", "farmer"}
    assert sampled["income"].between(0, 1e5).all() and 0 < sampled["age"].isna().mean() < 0.4
    assert abs(sampled["smokes"].mean() - 0.3) < 0.1 and clf.score(rows, labels) > 0.95
    assert clf.privacy_spent_.not_covered == () and "farmer" in repr(schema)


def test_odd_values_of_records_raise_no_error():
    rows = pd.DataFrame({"infinite": [np.inf, -np.inf], "huge": [1e300, 5e-324]}, index=[0, 599])
    rows = rows.reindex(range(600), fill_value=0.5).assign(b=np.linspace(0, 1, 600))
    unmasked = np.array([np.nan, *[0.5] * 599]), np.zeros(600, dtype=bool)
    rows["NaN without a mask"] = pd.arrays.FloatingArray(*unmasked)
    labels = (rows["b"] > 0.5).astype(int)
    clf = PATEClassifier(schema=dict.fromkeys(rows, (0.0, 1.0)), classes=[0, 1], epsilon=5)
    assert np.isfinite(clf.fit(rows, labels).predict_proba(rows[1:-1])).all()


def test_schema_refuses_categories_of_the_dtype_it_omits():
    rows = pd.DataFrame({"job": pd.Categorical(["clerk", "farmer", "spy"] * 200)})
    clf = PATEClassifier(schema={"job": ["clerk", "farmer"]}, classes=[0, 1])
    with pytest.raises(ValueError, match="categories of its dtype, which would be published"):
        clf.fit(rows, np.tile([0, 1, 1], 200))


@pytest.mark.parametrize("given", ["groups", "unit"])
def test_plan_of_class_sums_is_independent_of_a_private_n_records(given):
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
    given = {"schema": (-9, 0, 9), "classes": range(3), "epsilon": 2} | params
    return *three_classes(900, 6), PATEClassifier(**given)


@pytest.mark.slow
def test_fit_with_a_schema_scores_pickles_and_exports(tmp_path):
    X, y = load_digits(return_X_y=True)
    clf = PATEClassifier(schema=(0, 16), classes=range(10), epsilon=2)
    plan = str(clf.plan(X, y))
    assert "class sums, which get all of epsilon that is left" in " ".join(plan.split())
    assert "65 numbers for each of 10 classes" in plan
    ledger = PrivacyLedger(tmp_path / "ledger", epsilon=2, delta=1e-5)
    clf.set_params(ledger=ledger).fit(X, y)
    assert clf.score(X, y) > 0.7
    spent = clf.privacy_spent_
    assert 1.99 < spent.epsilon <= 2
    assert (spent.delta, spent.arithmetic, spent.n_synthetic) == (1e-5, "exact", 5000)
    assert ledger.epsilon_spent == pytest.approx(spent.epsilon)
    assert np.allclose(clf.table_.class_proba(X).sum(axis=1), 1)
    assert (pickle.loads(pickle.dumps(clf)).predict(X) == clf.predict(X)).all()
    np.testing.assert_allclose(clf.export().predict_proba(X), clf.predict_proba(X), atol=1e-12)
    model = clf.fit_student(student=LinearDiscriminantAnalysis()).export()  # free
    assert type(model) is LinearDiscriminantAnalysis and len(ledger.history()) == 1
    assert clf.privacy_spent_.epsilon == spent.epsilon


@pytest.mark.slow
def test_few_columns_of_many_records_are_read_with_cells():
    """Classes that no sum tells apart: the product of two columns."""
    X = np.random.default_rng(0).uniform(-1, 1, size=(20_000, 3))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    clf = PATEClassifier(schema=[(-1, 1)] * 3, classes=[0, 1], epsilon=2).fit(X, y)
    assert "StackedTable" in repr(clf.table_) and clf.score(X, y) > 0.8
    assert clf.privacy_spent_.composition == "sum"  # of class counts, and of both tables


@pytest.mark.slow
@cases("params", {"n_teachers": 50}, {"base_estimator": LinearDiscriminantAnalysis()})
def test_teachers_vote_on_synthetic_rows(params):
    X, y = load_iris(return_X_y=True)
    X, y = np.tile(X, (20, 1)), np.tile(y, 20)
    clf = PATEClassifier(schema=(0, 8), classes=[0, 1, 2], epsilon=3, **params).fit(X, y)
    assert clf.n_teachers_ > 1 and clf.score(X, y) > 0.7 and clf.privacy_spent_.epsilon <= 3


@pytest.mark.parametrize("kind", ["groups", "weights"])
def test_class_sums_handle_groups_and_weights(kind):
    X, y, clf = on_declared(random_state=0)
    given = {"groups": np.arange(len(y)) // 2} if kind == "groups" else {"sample_weight": y < 2}
    clf.fit(X, y, **given)
    assert clf.privacy_spent_.unit == ("group" if kind == "groups" else "record")
    if kind == "weights":
        assert (clf.predict(X) < 2).mean() > 0.9


SCHEMA = dict.fromkeys(range(6), (0, 16))


@cases(
    "schema, message",
    ([(0, 16)] * 3, "one entry for each of the 6 columns of X"),
    ("ages", "schema"),
    ({**SCHEMA, 3: [0, 16]}, r"tuple, \(low, high\); for two .*CategoricalDtype\(\[0, 16\]"),
    ({**SCHEMA, "age": (0, 1)}, r"unknown columns \['age'\]"),
    ((16, 0), "bounds"),
    (dict.fromkeys(SCHEMA, 3), "a tuple of numbers"),
)
def test_schema_refuses_wrong_values(schema, message, ledger):
    X, y, clf = on_declared(schema=schema, ledger=ledger)
    pytest.raises(ValueError, clf.fit, X, y).match(message)
    assert ledger.epsilon_spent == 0


def test_schema_and_synthesizer_bounds_are_refused_together():
    X, y, clf = on_declared(synthesizer=MarginalSynthesizer(bounds=(-9, 9)))
    pytest.raises(ValueError, clf.fit, X, y).match("declared twice, by schema and by bounds of")
    rows = MarginalSynthesizer(n_rows=100, noise=LaplaceMechanism())
    assert clf.set_params(synthesizer=rows, epsilon=10).fit(X, y).X_synthetic_.shape == (100, 6)


def test_class_sums_below_their_noise_are_refused():
    X, y, clf = on_declared(epsilon=0.01)
    with pytest.raises(BadPlanError, match="too few records for the noise on the sums"):
        clf.fit(X[:100], y[:100])
    message = "leaves no epsilon for votes: set epsilon_fraction below 1, or use method='sums'"
    with pytest.raises(ValueError, match=message):
        synthesizer = ClassSumsSynthesizer(epsilon_fraction=1)
        clf.set_params(epsilon=1, n_teachers=5, synthesizer=synthesizer).fit(X, y)


def test_interrupt_after_sums_are_paid_states_the_cost(monkeypatch, tmp_path):
    ledger = PrivacyLedger(tmp_path / "ledger", epsilon=10, delta=1e-5, composition="gaussian")
    X, y, clf = on_declared(ledger=ledger)
    with monkeypatch.context() as patch:
        patch.setattr("sklearn_pate.synthesis.synthesizers.publish_centre", interrupt)
        with pytest.raises(KeyboardInterrupt) as caught:
            clf.fit(X, y)
    assert "is spent, and no result was kept" in caught.value.__notes__[0]
    of_mean = caught.value.privacy_spent
    assert of_mean.covers == "statistics" and 0.5 < of_mean.epsilon < 0.6
    monkeypatch.setattr("sklearn_pate.synthesis.synthesizers.publish_sums", interrupt)
    with pytest.raises(KeyboardInterrupt) as caught:
        clf.fit(X, y)
    assert "is spent. All results until then are kept" in caught.value.__notes__[0]
    assert caught.value.privacy_spent.epsilon == pytest.approx(2, abs=0.01)
    both = math.hypot(gdp_mu(2, 1e-5), gdp_mu(of_mean.epsilon, 1e-5))
    assert ledger.epsilon_spent == pytest.approx(gdp_to_epsilon(both, 1e-5), rel=0.01)


def test_synthesizer_bounds_give_the_fit_of_a_schema():
    X, y, clf = on_declared(schema=None, random_state=0, on_bad_plan="warn")
    ways = {"schema": (-9, 9)}, {"synthesizer": ClassSumsSynthesizer((-9, 9), missing=[])}
    fits = [clone(clf).set_params(**given).fit(X[:400], y[:400]) for given in ways]
    assert isinstance(fits[1].table_, ReleasedSums)
    assert np.array_equal(*(fit.table_.sums.by_class for fit in fits))


@cases("given", {}, {"n_bins": 4}, {"noise": LaplaceMechanism()})
def test_synthesizer_parameter_is_used(given):
    rows = MarginalSynthesizer((-9, 9), missing=[], n_rows=200, **given)
    X, y, clf = on_declared(schema=None, synthesizer=rows, epsilon=50, random_state=0)
    assert type(clf.plan(X, y).synthesizer) is MarginalSynthesizer
    clf.fit(X, y)
    assert len(clf.X_synthetic_) == 200 and not isinstance(clf.table_, ReleasedSums)


@pytest.mark.slow
def test_class_sums_of_a_schema_do_not_depend_on_workers(forked_workers, monkeypatch):
    monkeypatch.setattr(statistic, "_ROWS", 64)
    X, y, clf = on_declared(random_state=0)
    fits = [clone(clf).set_params(n_jobs=n_jobs).fit(X, y) for n_jobs in (None, 2)]
    for part in ("by_class", "moment", "counts"):
        assert np.array_equal(*(getattr(fit.table_.sums, part) for fit in fits))


# --- records that vote with all of their columns --------------------------------------------------

RNG = np.random.default_rng(0)
PUBLIC = RNG.normal(size=(200, 2)) * [1.0, 3.0]


def table_of(X, codes, *, n_classes, groups=None, weight=None, joins=False):
    """What records cast, in records, with the weight of all of them at their noise."""
    codes = np.asarray(codes)
    target = (NumberTarget if codes.dtype == float else ClassTarget)(range(n_classes))
    given = {"target": target, "groups": groups, "sample_weight": weight}
    private = PrivateData(X=np.asarray(X, dtype=float), codes=codes, **given)
    method = ClassSums(
        extra_columns=False, relation="add_or_remove_one" if joins else "replace_one"
    )
    method.prepare(private, PUBLIC)
    table = method.vote(private, PUBLIC).astype(float) * statistic.STEP / TICKS / n_classes
    table[:, -1] *= WITH_PUBLIC_ROWS.total
    return table


def most(n_classes):
    """What the mechanism takes one record to change."""
    return SumsMechanism(n_classes, 1.0).noise_std


RECORDS = [*(5.0 * np.array([np.cos(a), np.sin(a)]) for a in np.linspace(0, 2 * np.pi, 7)[1:])]
RECORDS += [np.array([0.0, 0.0]), np.array([1e9, -1.0]), np.array([np.nan, np.inf])]


@sampled()
@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 7])
@cases("codes", [0, 1, 2], [0.0, 0.25, 0.999999, 1.0, 1.5], ids=["classes", "split votes"])
def test_class_sums_votes_change_at_most_as_charged(n_classes, codes):
    codes = sorted({min(code, n_classes - 1) for code in codes})
    given = {"n_classes": n_classes}
    tables = [table_of([row], [code], **given) for row, code in product(RECORDS, codes)]
    changed = [np.linalg.norm(a - b) for a, b in product(tables, tables)]
    assert 0.9 * most(n_classes) < max(changed) <= most(n_classes)
    joined = (table_of([row], codes[:1], **given, joins=True) for row in RECORDS)
    for table in (*tables, *joined):  # what a record that joins is charged
        assert np.linalg.norm(table) <= math.sqrt(0.45) * most(n_classes)


@pytest.mark.parametrize("how", ["groups", "weight", "both"])
def test_group_changes_at_most_as_much_as_a_record(how):
    rng = np.random.default_rng(1)
    X, codes = 5 * rng.normal(size=(6, 2)), rng.integers(3, size=6)
    others = rng.normal(size=(3, 2))
    for seed in range(8):
        rng = np.random.default_rng(seed)
        groups = np.array([0, 0, 0, 1, 1, 2]) if how != "weight" else None
        weight = rng.random(6) * 1.5 if how != "groups" else None
        given = {"n_classes": 3, "groups": groups, "weight": weight}
        changed = X.copy()
        n_changed = 1 if groups is None else 3
        changed[:n_changed] = others[:n_changed] * rng.choice(
            [-1, 1, 1e6, np.nan], size=(n_changed, 1)
        )
        codes_after = codes.copy()
        codes_after[:n_changed] = rng.integers(3, size=n_changed)
        change = table_of(X, codes, **given) - table_of(changed, codes_after, **given)
        assert np.linalg.norm(change) <= most(3)


def test_odd_record_changes_no_other():
    odd = [[np.nan, 1.0], [1e300, -1e300], [np.inf, 0.0]]
    X, codes = RNG.normal(size=(500, 2)), RNG.integers(2, size=500)
    before = table_of(X[1:], codes[1:], n_classes=2)
    for record in odd:
        alone = table_of([record], codes[:1], n_classes=2)
        both = table_of(np.vstack([[record], X[1:]]), codes, n_classes=2)
        np.testing.assert_array_equal(both, before + alone)


# --- what the noise costs ------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_class_sums_plan_costs_gaussian_noise(epsilon):
    X, y, rows = wide()
    clf = PATEClassifier(method=ClassSums(), epsilon=epsilon, classes=[0, 1], on_bad_plan="warn")
    plan = clf.plan(X, y, X_public=rows)
    ((mechanism, _),) = plan.stages
    assert gdp_to_epsilon(1 / mechanism.noise_multiplier, 1e-5) <= plan.epsilon <= epsilon
    assert plan.epsilon > 0.99 * epsilon


@pytest.mark.parametrize("part, fits", [(1.0, True), (math.sqrt(0.5), False)])
def test_class_sums_noise_resists_an_attack_as_charged(part, fits):
    """Power: 10,000 draws tell mu of 1 from 1.41 by more than 15 standard errors."""
    far = [table_of([[x, 0.0]], [0], n_classes=2) for x in (9.0, -9.0)]
    change = far[0] - far[1]
    many = np.zeros((10_000 * len(change), 3), dtype=np.int64)
    noise = SumsMechanism(2, 1.0).noisy(many, np.random.default_rng(0)).reshape(10_000, 3, 3)
    noise *= [part, part, part * WITH_PUBLIC_ROWS.total]
    np.testing.assert_allclose(noise.std(axis=(0, 1)), part * most(2), rtol=0.02)
    along = (noise * change).sum(axis=(1, 2)) / np.linalg.norm(change)
    found = 2 * norm.ppf((along < np.linalg.norm(change) / 2).mean())  # of two equal errors
    assert (0.9 < found < 1.05) == fits


# --- what is learnt ------------------------------------------------------------------------------


def wide(n=4000, d=60, n_classes=2, seed=0):
    X = np.random.default_rng(seed).normal(size=(n + 1000, d))
    edges = np.linspace(-2, 2, n_classes + 1)[1:-1]
    return X[:n], np.digitize(X[:, :8].sum(axis=1), edges)[:n], X[n:]


def fitted(**params):
    X, y, rows = wide()
    given = {"epsilon": 1.0, "classes": [0, 1], "random_state": 0} | params
    return PATEClassifier(**given).fit(X, y, X_public=rows), X, y, rows


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 4])
def test_class_sums_without_noise_equal_linear_discriminant_analysis(n_classes):
    X, y, _ = wide(20_000, 20, n_classes)
    rows, _, _ = wide(20_000, 20, seed=1)
    clf = PATEClassifier(
        method=ClassSums(extra_columns=False), epsilon=100.0, classes=range(n_classes)
    )
    clf.fit(X, y, X_public=rows)
    encoder = RowEncoder().fit(rows)
    psi, public = encoder.transform(X), encoder.transform(rows)
    psi = (psi - public.mean(axis=0)) / np.sqrt(public.std(axis=0))
    psi /= np.linalg.norm(psi, axis=1, keepdims=True)
    expected = LinearDiscriminantAnalysis().fit(psi, y).predict_proba(psi)
    assert np.abs(clf.predict_proba(X) - expected).mean() < 0.01


def test_wide_tables_are_read_by_class_sums():
    clf, X, y, _ = fitted()
    plan = clf.plan(X, y, X_public=wide()[2])
    assert "class sums, of all columns of the records (by default" in " ".join(str(plan).split())
    assert isinstance(clf.table_, ReleasedClassSums)
    assert clf.score(X, y) > 0.85  # cells: 0.5
    assert clf.privacy_spent_.composition == "gaussian" and clf.privacy_spent_.epsilon <= 1.0


def test_extra_columns_show_effects_that_rise_and_fall():
    X = np.random.default_rng(0).normal(size=(6000, 8))
    y = ((X[:, :2] ** 2).sum(axis=1) > 1.4).astype(int)
    both = (ClassSums(extra_columns=extra_columns) for extra_columns in ("auto", False))
    fits = (PATEClassifier(method=method, classes=[0, 1], random_state=0) for method in both)
    folded, straight = (clf.fit(X[:5000], y[:5000], X[5000:]).score(X, y) for clf in fits)
    assert straight < 0.6 and folded > 0.8


@pytest.mark.parametrize(
    "explained, n_classes, signal, expected",
    [
        (0.5, 2, 6, True),
        (0.69, 2, 6, True),
        (0.71, 2, 99, False),
        (0.5, 3, 99, False),
        (0.1, 2, 4.9, False),
    ],
)
def test_choose_method_depends_on_public_numbers(explained, n_classes, signal, expected):
    noise_std = 2 * math.sqrt(1 - 1 / n_classes) / gdp_mu(1.0, 1e-5)
    counts = PublicCounts(
        n_records=math.ceil(signal * n_classes * noise_std * math.sqrt(50)),
        n_public=1000,
        n_classes=n_classes,
        n_columns=50,
        cells_explain=lambda: explained,
    )
    assert (choose_method(MethodParameters(), counts).name == "sums") == expected


@pytest.mark.slow
def test_choose_method_with_groups_depends_on_public_rows():
    X, y, rows = wide()
    clf, thrice = PATEClassifier(classes=[0, 1]), (np.tile(X, (3, 1)), np.tile(y, 3))
    plans = [clf.plan(*data, rows, groups=np.arange(len(data[0]))) for data in ((X, y), thrice)]
    assert plans[0].method_summary == plans[1].method_summary


# --- all that holds for a table ------------------------------------------------------------------


@pytest.mark.slow
def test_polled_votes_can_be_read_again():
    clf, X, y, rows = fitted()
    votes = clf.poll(X, y, X_public=rows)
    twice = [PATEClassifier(epsilon=e, classes=[0, 1], random_state=0) for e in (1.0, 1.0)]
    first, second = (one.fit_votes(votes, rows).predict_proba(X) for one in twice)
    np.testing.assert_array_equal(first, second)
    pytest.raises(ValueError, twice[0].fit_votes, votes, rows[::-1]).match(
        "X_public differs from the public rows of these votes"
    )
    assert pickle.loads(pickle.dumps(clf)).score(X, y) == clf.score(X, y)
    tree = clf.fit_student(student=DecisionTreeClassifier(max_depth=3), X_public=rows[:500])
    assert isinstance(tree.student_, DecisionTreeClassifier)


def test_class_sums_refuse_wrong_input():
    X, y, rows = wide()
    clf = PATEClassifier(method=ClassSums(), classes=[0, 1])
    with pytest.raises(ValueError, match="ClassSums takes DataFrames, sparse rows, and arrays"):
        clf.fit(np.tile(X, (1, 51)), y, X_public=np.tile(rows, (1, 51)))
    with pytest.raises(ValueError, match="requires public rows before the fit"):
        clone(clf).set_params(schema=(-5.0, 5.0)).fit(X, y)  # it has sums of its own
    with pytest.raises(ValueError, match="'relation' parameter of ClassSums"):
        clf.set_params(method__relation="swap").fit(X, y, X_public=rows)


def test_class_sums_and_cells_refuse_the_mechanism_of_the_other():
    X, y, rows = wide(d=3)
    of_cells = PATEClassifier(aggregator=LaplaceMechanism(), classes=[0, 1], on_bad_plan="warn")
    assert of_cells.plan(X, y, rows).method_summary.name == ReverseNeighbors.__name__
    with pytest.raises(ValueError, match="aggregator of method='sums' must be None"):
        clone(of_cells).set_params(method=ClassSums()).fit(X, y, rows)
    with pytest.raises(ValueError, match="aggregator must be a TableMechanism"):
        of_cells.set_params(aggregator=SumsMechanism(2)).fit(X, y, X_public=rows)
    with pytest.raises(ValueError, match="the integers that ClassSums.vote returns"):
        SumsMechanism(2, 1.0).noisy(np.zeros((3, 2)))
    contribution = ClassSums().contribution(REPLACED)
    pytest.raises(ValueError, SumsMechanism(2, -1.0).cost, contribution).match("noise_multiplier")
    short, long = (SumsMechanism(2, kind(np.float32(300.1))) for kind in (np.float32, float))
    assert short.noise_std == long.noise_std
    assert short.cost(contribution).mu_squared == long.cost(contribution).mu_squared


@pytest.mark.parametrize("public", [1, 3])
def test_few_public_rows_are_refused(public):
    X, y, rows = wide()
    for method in ("auto", ClassSums()):
        with pytest.raises(BadPlanError, match="too few for 2 classes"):
            PATEClassifier(method=method, classes=[0, 1]).fit(X, y, X_public=rows[:public])


@pytest.mark.slow
@pytest.mark.parametrize("student", [None, LogisticRegression()])
def test_private_search_accepts_class_sums(student, few_units_are_scored):
    X, y, rows = wide(2000, 10)
    clf = PATEClassifier(method=ClassSums(), classes=[0, 1], student=student)
    given = {"epsilon": 3.0, "n_trials": 2, "random_state": 0}
    search = PrivateGridSearchCV(clf, {"delta": [1e-5, 1e-6]}, **given)
    assert search.fit(X, y, X_public=rows).score(X, y) > 0.8


def test_large_groups_are_counted():
    X, y, rows = wide(9000, 20)
    clf = PATEClassifier(method=ClassSums(extra_columns=False), classes=[0, 1], on_bad_plan="warn")
    votes = clf.poll(X, y, X_public=rows, groups=np.arange(9000) // 4500)
    step = statistic.STEP / TICKS / 2
    assert votes.counts[-1, -1] * step == pytest.approx(2 * 0.287, abs=0.01)  # of two groups


@sampled()
@pytest.mark.slow
@pytest.mark.parametrize("odd", [pd.NaT, 3, b"\xff", "caf\udce9"], ids=repr)
@pytest.mark.parametrize("method", [ClassSums(), ReverseNeighbors(random_state=0)])
def test_odd_text_changes_no_other_record(method, odd):
    def frame(texts):
        x = np.linspace(0, 1, len(texts))
        return pd.DataFrame({"c": pd.Series(texts, dtype=object), "x": x})

    public = frame(["red", "blue"] * 30)
    rest = ["caf\udce9", "red"] * 30
    clf = PATEClassifier(method=method, classes=[0, 1], on_bad_plan="warn", random_state=0)
    labels, tables = np.zeros(61, dtype=int), (frame([*rest, last]) for last in (odd, "blue"))
    with_it, without = (clf.poll(rows, labels, X_public=public).counts for rows in tables)
    changed = np.abs(with_it - without).sum()
    if isinstance(method, ClassSums):
        changed *= statistic.STEP / TICKS / 2
    assert changed < 8


def test_constant_columns_have_no_influence():
    X, y, rows = wide()
    constant = np.zeros((len(X), 5))
    constant[y == 1] = 1.0  # the label itself, which public rows do not have
    clf = PATEClassifier(method=ClassSums(), classes=[0, 1], random_state=0)
    clf.fit(np.hstack([X, constant]), y, X_public=np.hstack([rows, np.zeros((len(rows), 5))]))
    assert 0.8 < clf.score(np.hstack([X, 0 * constant]), y)
    model = clf.export(np.hstack([rows, np.zeros((len(rows), 5))]))
    assert (model.predict(np.hstack([X, constant])) == clf.predict(np.hstack([X, constant]))).all()


@pytest.mark.slow
def test_class_sums_are_cached_and_do_not_depend_on_workers(tmp_path, forked_workers, monkeypatch):
    monkeypatch.setattr("sklearn_pate.runtime.blocks.BLOCK_SIZE", 1000)
    X, y, rows = wide()
    groups = np.arange(len(y)) // 3
    clf = PATEClassifier(method=ClassSums(), classes=[0, 1])
    fits = [clone(clf).set_params(**given) for given in ({}, {"n_jobs": 2}, {"memory": tmp_path})]
    polled = [clf.poll(X, y, rows, groups=groups).counts for clf in fits]
    chosen = PATEClassifier(classes=[0, 1], memory=tmp_path)
    votes = chosen.poll(X, y, rows)
    assert type(votes.method) is ClassSums
    monkeypatch.setattr("sklearn_pate.methods.sums.whole_steps", None)  # nothing is summed again
    polled.append(clone(fits[2]).poll(X, y, rows, groups=groups).counts)
    assert all(np.array_equal(polled[0], counts) for counts in polled)
    assert np.array_equal(chosen.poll(X, y, rows).counts, votes.counts)
    with pytest.raises(TeacherError, match="could not be counted"):
        fits[2].poll(X, 1 - y, rows, groups=groups)


@pytest.mark.parametrize("n_classes, n_blocks, most", [(40, 1, 2**62), (2, 9, 0)])
def test_class_sums_votes_beyond_64_bits_are_exact(n_classes, n_blocks, most, monkeypatch):
    """Many classes, or many blocks, where one block fits into 64 bits."""
    of_block = 2**60 + np.arange(3 * n_classes).reshape(n_classes, 3)
    monkeypatch.setattr(secure, "_MOST_IN_64_BITS", most)
    monkeypatch.setattr("sklearn_pate.methods.sums.of_classes", lambda steps, cast: of_block)
    monkeypatch.setattr("sklearn_pate.runtime.blocks.BLOCK_SIZE", 4)
    n_records = 4 * n_blocks
    given = {"groups": None, "sample_weight": None, "target": ClassTarget(range(n_classes))}
    private = PrivateData(
        X=RNG.normal(size=(n_records, 2)), codes=np.zeros(n_records, int), **given
    )
    method = ClassSums(extra_columns=False, relation="add_or_remove_one")
    method.prepare(private, PUBLIC)
    table = method.vote(private, PUBLIC)
    by_class = [[n_blocks * number for number in row] for row in of_block.tolist()]
    total = [sum(column) for column in zip(*by_class, strict=True)]
    expected = [[n_classes * a - b for a, b in zip(row, total, strict=True)] for row in by_class]
    assert table[:, :-1].T.tolist() == expected
    assert table[:, -1].tolist() == [n_classes * a for a in total]
    monkeypatch.setattr(DiscreteGaussian, "sample", lambda self, rng, shape: np.zeros(shape, int))
    step = statistic.STEP / TICKS / n_classes
    noisy = SumsMechanism(n_classes, 1.0).noisy(table)
    assert (noisy == np.array([[float(number) * step for number in row] for row in table])).all()


@pytest.mark.slow
def test_wide_integers_change_no_fit(monkeypatch):
    X, y, rows = wide(500, 6)
    fits = []
    for most in (2**62, 0):
        monkeypatch.setattr(secure, "_MOST_IN_64_BITS", most)
        for method in (ClassSums(), ReverseNeighbors(n_cells=4)):
            clf = PATEClassifier(method=method, epsilon=9.0, classes=[0, 1], random_state=0)
            fits.append(clf.fit(X, y, X_public=rows))
    for narrow, exact in zip(fits[:2], fits[2:], strict=True):
        assert narrow.curator_.votes.dtype == exact.curator_.votes.dtype
        np.testing.assert_array_equal(narrow.curator_.votes, exact.curator_.votes)
        np.testing.assert_array_equal(narrow.public_soft_labels_, exact.public_soft_labels_)


def test_forecast_of_many_records_and_classes_has_no_errors():
    """300,000 records of 2,000 classes: 64 bits do not hold their sums in whole steps."""
    method = ClassSums(extra_columns=False, relation="add_or_remove_one")
    given = {"groups": None, "sample_weight": None, "target": ClassTarget(range(2000))}
    private = PrivateData(X=PUBLIC, codes=np.zeros(len(PUBLIC), int), **given)
    method.prepare(private, np.repeat(PUBLIC, 100, axis=0))
    assert method.forecast(noise_std=1.0, n_records=300_000, n_classes=2000).errors == ()


@cases("n_records, n_now", (300, 3000), (3000, 300))
def test_fit_does_not_continue_with_or_without_residuals(n_records, n_now, monkeypatch):
    """The statement of the continued fit would name other sums than those that were published."""
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1, 1, size=(3000, 2)), rng.integers(2, size=3000)
    clf = PATEClassifier(method="sums", classes=[0, 1], schema=[(-1, 0, 1)] * 2, warm_start=True)
    clf.set_params(on_bad_plan="warn")
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(synthesizers, "gather_sums", interrupt)
        clf.fit(X[:n_records], y[:n_records])
    with pytest.raises(ValueError, match="number of records"):
        clf.fit(X[:n_now], y[:n_now])
    clf.fit(X[:n_records], y[:n_records])
    assert 0.99 < clf.privacy_spent_.epsilon <= 1


@cases(
    "n_records, n_classes, n_targets, name",
    (2999, 2, 1, "sums"),
    (2999, 3, 1, "sums"),
    (3001, 2, 1, "sums"),  # residuals
    (3001, 0, 1, "sums"),  # not known yet: there may be two
    (3001, 3, 1, "neighbors"),
    (3001, 2, 2, "neighbors"),
    (6999, 2, 1, "sums"),
    (7001, 2, 1, "neighbors"),
)
def test_two_classes_without_public_rows_vote_in_cells_with_more_records(
    n_records, n_classes, n_targets, name
):
    counts = {"n_records": n_records, "n_classes": n_classes, "n_targets": n_targets}
    counts = PublicCounts(n_columns=5, n_encoded=10, **counts)
    choice = choose_method(MethodParameters(has_public_rows=False), counts)
    assert choice.name == name and choice.is_fixed == (n_records < 3000)
