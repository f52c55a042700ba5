"""Public rows from elsewhere: null distributions, alarms, weights, and privacy of the warning."""

import math
import pickle
import re
import warnings
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from conftest import sampled, table
from scipy.stats import chi2, norm
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler

from sklearn_pate import PATEClassifier, PATERegressor, shift
from sklearn_pate.aggregators import LaplaceMechanism
from sklearn_pate.exceptions import PublicRowsWarning
from sklearn_pate.methods import ClassSums, ReverseNeighbors
from sklearn_pate.methods.sums import SumsMechanism
from sklearn_pate.neighbors.centers import cells_without_own_row, make_centers, nearest_cells
from sklearn_pate.shift import PublicShift, shift_of_sums, shift_of_votes, weights_of_cells
from sklearn_pate.synthesis import MarginalSynthesizer

DIFFER = "the public rows differ from the private records"


# --- null distributions ---------------------------------------------------------------------------


def drawn_votes(rng, *, n, n_public, n_cells, n_classes, noise_std, n_neighbors=1):
    """Votes and public rows of one distribution; the cells are made of the public rows."""
    rows = rng.normal(size=(n + n_public, 3)) * [3, 1, 0.3]
    private, public = rows[:n], rows[n:]
    centers = make_centers(public, n_cells, 0)
    codes = rng.integers(n_classes, size=n)
    counts = np.zeros((len(centers), n_classes))
    for cell in nearest_cells(private, centers, n_neighbors).T:
        np.add.at(counts, (cell, codes), 1)
    noisy = counts + rng.laplace(scale=noise_std / math.sqrt(2), size=counts.shape)
    return noisy, nearest_cells(public, centers, n_neighbors), centers, noise_std


VOTES = {
    "many records": dict(n=3000, n_public=600, n_cells=60, n_classes=2, noise_std=2.8),
    "much noise": dict(n=1000, n_public=400, n_cells=50, n_classes=10, noise_std=5.7),
    "few cells": dict(n=2000, n_public=300, n_cells=12, n_classes=3, noise_std=2.8),
    "no noise": dict(n=2000, n_public=600, n_cells=40, n_classes=2, noise_std=0.0),
    "three cells": dict(
        n=2000, n_public=600, n_cells=50, n_classes=2, noise_std=8.5, n_neighbors=3
    ),
}


@pytest.mark.slow
@table("sizes", VOTES)
def test_z_of_votes_without_a_shift_is_about_standard_normal(sizes, global_random_seed):
    """The mean of 40 z is about -0.6 with a standard error of 0.15; bounds fail once in 1e3."""
    rng = np.random.default_rng(global_random_seed)
    shifts = [shift_of_votes(*drawn_votes(rng, **sizes)) for _ in range(40)]
    z = np.array([one.z for one in shifts])
    assert -1.2 < z.mean() < 0.4 and 0.55 < z.std() < 1.4
    assert not any(one.is_alarm for one in shifts)
    ratio = np.mean([one.distance for one in shifts]) / np.mean([one.expected for one in shifts])
    assert 0.8 < ratio < 1.06


def test_expected_distance_of_votes_equals_a_hand_computation():
    noisy = np.array([[30.0, 10.0], [20.0, 20.0], [10.0, 10.0]])
    public = np.array([0, 0, 0, 1, 1, 1, 1, 2, 2, 2])[:, None]
    seen = shift_of_votes(noisy, public, np.eye(3), noise_std=2.0)
    share, n, n_public = np.array([0.3, 0.4, 0.3]), 100, 10
    v = share / n + share / n_public + 2 * 1 * 2.0**2 / n**2
    assert seen.distance == pytest.approx((0.1 + 0.0 + 0.1) / 2)
    assert seen.expected == pytest.approx(np.sqrt(2 * v / np.pi).sum() / 2)
    std = np.sqrt((1 - 2 / np.pi) * v.sum()) / 2
    assert seen.z == pytest.approx((seen.distance - seen.expected) / std)


def test_difference_of_means_equals_a_hand_computation():
    noisy = np.array([[30.0, 10.0], [20.0, 20.0], [15.0, 5.0]])
    public = np.array([0, 0, 0, 1, 1, 1, 1, 2, 2, 2])[:, None]
    centers = np.array([[0.0, 5.0, 7.0], [1.0, 9.0, 7.0], [2.0, 5.0, 7.0]])
    seen = shift_of_votes(noisy, public, centers, noise_std=2.0)
    # The first column has the mean 1 in public rows and 0.8 in votes; the last is constant
    off = np.array([0.2, 0.0])
    spread = np.array([0.6, 0.4 * 2.4**2 + 0.6 * 1.6**2])
    squares = np.array([2.0, 2.4**2 + 2 * 1.6**2])
    error = spread / 100 + spread / 10 + 2 * 2.0**2 / 100**2 * squares
    ratio = (off / np.sqrt(error)).max()
    assert seen.mean_distance == pytest.approx(0.2 / math.sqrt(0.6))
    assert norm.sf(seen.mean_z) == pytest.approx(4 * norm.sf(ratio))


def test_cells_without_the_own_row_equal_those_of_centers_made_without_it(global_random_seed):
    rows = np.random.default_rng(global_random_seed).normal(size=(40, 4))
    rows[3] = rows[4]
    centers = make_centers(rows, 15, 0)
    own = nearest_cells(rows, centers)[:, 0]
    for n_neighbors in (1, 3):
        found = cells_without_own_row(rows, centers, n_neighbors)
        for k, row in enumerate(rows):
            others = (own == own[k]) & (np.arange(40) != k)
            moved, is_left = centers.copy(), np.ones(len(centers), dtype=bool)
            is_left[own[k]] = others.any()
            if others.any():
                moved[own[k]] = rows[others].mean(axis=0)
            expected = np.flatnonzero(is_left)[
                nearest_cells(row[None], moved[is_left], n_neighbors)[0]
            ]
            assert found[k].tolist() == expected.tolist()
    assert cells_without_own_row(rows, centers[:1]).tolist() == [[0]] * 40


@pytest.mark.slow
def test_votes_in_cells_of_few_rows_have_no_bias(global_random_seed):
    """Rows of very different lengths; the long public rows have cells of their own."""
    rng = np.random.default_rng(global_random_seed)
    z = {cells_without_own_row: [], nearest_cells: []}
    for _ in range(20):
        rows = rng.normal(size=(3500, 20)) * np.exp(rng.normal(size=(3500, 1)))
        private, public = rows[500:], rows[:500]
        centers = make_centers(public, 150, 0)
        counts = np.zeros((len(centers), 2))
        np.add.at(counts, (nearest_cells(private, centers)[:, 0], rng.integers(2, size=3000)), 1)
        noisy = counts + rng.laplace(scale=2.0, size=counts.shape)
        for cells_of, found in z.items():
            seen = shift_of_votes(noisy, cells_of(public, centers), centers, noise_std=2.8)
            found.append(seen.z)
    mended, biased = map(np.mean, z.values())
    assert -1.2 < mended < 0.6 and biased > mended + 1  # about -0.2 and 1.5, errors 0.2
    assert max(z[cells_without_own_row]) < 4


def test_rare_category_has_the_variance_of_all_rows():
    """One of 200 public rows has the category, and 4 % of 1,000 records."""
    noisy, public = np.array([[960.0], [40.0]]), np.repeat([0, 1], [199, 1])[:, None]
    seen = shift_of_votes(noisy, public, np.array([[0.0], [1.0]]), noise_std=0.0)
    middle = 0.005
    of_public = middle * (1 - middle)
    of_records = 0.04 * (1 - middle) ** 2 + 0.96 * middle**2
    pooled = (200 * of_public + 1000 * of_records) / 1200
    assert seen.mean_distance == pytest.approx(0.035 / math.sqrt(pooled))
    ratio = 0.035 / math.sqrt(pooled * (1 / 200 + 1 / 1000))
    assert norm.sf(seen.mean_z) == pytest.approx(2 * norm.sf(ratio))
    assert not seen.is_alarm  # by the variance of public rows alone, the ratio would be 6.4


def test_difference_of_means_without_a_varying_column_is_no_alarm():
    noisy, public = np.array([[30.0, 10.0]]), np.zeros((10, 1), dtype=int)
    seen = shift_of_votes(noisy, public, np.ones((1, 2)), noise_std=2.0)
    assert (seen.mean_distance, seen.mean_z) == (0.0, -math.inf) and not seen.is_alarm


def test_cells_are_joined_into_32_groups(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    centers, in_cell = rng.normal(size=(400, 4)), rng.poisson(5, size=400)
    group = shift._groups(centers, in_cell)
    assert len(np.unique(group)) == 32 == group.max() + 1
    assert shift._groups(centers[:32], in_cell[:32]).tolist() == list(range(32))


@table(
    "sizes",
    ("many records", dict(n=20_000, n_public=2000, d=10, noise_std=20.0)),
    ("much noise", dict(n=1000, n_public=500, d=40, noise_std=40.0)),
    ("more columns than rows", dict(n=2000, n_public=50, d=80, noise_std=20.0)),
)
def test_z_of_sums_without_a_shift_is_about_standard_normal(sizes, global_random_seed):
    """The mean of 300 z has a standard error of 0.06; by chance each bound fails once in 1e4."""
    rng = np.random.default_rng(global_random_seed)
    n, n_public, d, noise_std = sizes.values()
    scale = np.linspace(0.1, 1, d)
    z, of_means = [], []
    for _ in range(300):
        public = 0.2 + scale * rng.normal(size=(n_public, d)) / math.sqrt(d)
        total = 0.2 * n + scale * rng.normal(size=d) * math.sqrt(n / d)
        total = total + noise_std * rng.normal(size=d)
        seen = shift_of_sums(total, public, n=n, noise_std=noise_std)
        z.append(seen.z)
        of_means.append(seen.mean_z)
    assert abs(np.mean(z)) < 0.3 and 0.8 < np.std(z) < 1.2 and max(z) < 4
    assert max(of_means) < 4 and any(z > 0 for z in of_means)
    assert 0.3 < np.mean(np.array(z) > 0) < 0.65


def test_z_of_sums_has_the_p_value_of_a_scaled_chi_squared_variable():
    public = np.random.default_rng(0).normal(size=(1000, 5))
    middle = public.mean(axis=0)
    covariance = np.cov(public.T)
    n, noise_std = 400, 30.0
    V = covariance * (1 / n + 1 / 1000) + (noise_std / n) ** 2 * np.eye(5)
    off = np.full(5, 0.12)
    seen = shift_of_sums(n * (middle + off), public, n=n, noise_std=noise_std)
    trace, squares = np.trace(V), (V**2).sum()
    p = chi2.sf(off @ off * trace / squares, trace**2 / squares)
    assert 1 - 0.5 * (1 + math.erf(seen.z / math.sqrt(2))) == pytest.approx(p, rel=0.02)
    assert seen.distance == pytest.approx(math.sqrt(off @ off / np.trace(covariance)))
    assert seen.expected == pytest.approx(math.sqrt(trace / np.trace(covariance)))


def test_difference_of_means_of_sums_equals_a_hand_computation():
    public = np.array([[0.0, 0.0, 1.0]] * 3 + [[1.0, 0.5, 1.0]])
    n, noise_std, off = 40, 2.0, np.array([0.15, -0.2, 0.7])
    seen = shift_of_sums(
        n * (public.mean(axis=0) + off), public, n=n, noise_std=noise_std, tolerance=0.1
    )
    # The last column is constant; the farthest values are 0.75 and 0.375 from the means
    spread = np.array([0.1875, 0.046875]) + np.array([0.75, 0.375]) * np.abs(off[:2]) * 40 / 44
    ratio = np.abs(off[:2]) / np.sqrt(spread * (1 / 40 + 1 / 4) + noise_std**2 / n**2)
    assert ratio[1] > ratio[0]
    assert seen.mean_distance == pytest.approx(0.2 / math.sqrt(spread[1]))
    assert norm.sf(seen.mean_z) == pytest.approx(min(1, 4 * norm.sf(ratio[1])))


def test_one_of_many_columns_of_sums_raises_an_alarm(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    n, n_public, d, noise_std = 2000, 300, 4000, 12.5
    public = rng.normal(size=(n_public, d)) / math.sqrt(d)
    total = rng.normal(size=d) * math.sqrt(n / d) + noise_std * rng.normal(size=d)
    same = shift_of_sums(total, public, n=n, noise_std=noise_std)
    total[7] += 3.6 * n / math.sqrt(d)  # 3.6 standard deviations
    seen = shift_of_sums(total, public, n=n, noise_std=noise_std)
    assert not same.is_alarm and same.mean_z < 4
    assert seen.is_alarm and seen.mean_is_off and not seen.is_far
    assert seen.z < 4 and not seen.is_distant


def test_rare_category_of_sums_has_the_variance_of_all_rows():
    """One of 200 public rows has the category, and 4 % of 1,000 records."""
    public = np.zeros((200, 1))
    public[0] = 1.0
    seen = shift_of_sums(np.array([40.0]), public, n=1000, noise_std=1e-3)
    pooled = 0.005 * 0.995 + 0.995 * 0.035 * 1000 / 1200
    ratio = 0.035 / math.sqrt(pooled * (1 / 200 + 1 / 1000))
    assert norm.sf(seen.mean_z) == pytest.approx(2 * norm.sf(ratio))
    assert not seen.mean_is_off


# --- weights --------------------------------------------------------------------------------------


def test_weights_equal_a_hand_computation():
    total, in_cell = np.array([150.0, 30.0, 20.0, 0.0]), np.array([20.0, 10.0, 10.0, 0.0])
    n, sd = 200.0, 4.0
    s = np.array([0.5, 0.25, 0.25])
    a = np.array([1.5, 0.6, 0.4])
    v = 1 / (n * s) + 1 / (40 * s) + sd**2 / (n * s) ** 2
    tau_squared = 0.5 * (0.25 - v[0]) + 0.25 * (0.16 - v[1]) + 0.25 * (0.36 - v[2])
    assert tau_squared == pytest.approx(0.161)
    expected = 1 + tau_squared / (tau_squared + v) * (a - 1)
    weight = weights_of_cells(total, in_cell, n=n, noise_std=sd)
    np.testing.assert_allclose(weight, [*expected, 1.0])
    assert weight[:3] == pytest.approx([1.3616, 0.7759, 0.6639], abs=1e-4)


def test_weights_are_clipped_and_equal_where_ratios_are_noise():
    far = weights_of_cells(np.array([1e5, 0.0]), np.array([100.0, 900.0]), n=1e5, noise_std=1.0)
    assert far.tolist() == [3.0, pytest.approx(1 / 3)]
    same = weights_of_cells(np.array([51.0, 49.0]), np.array([50.0, 50.0]), n=100.0, noise_std=5.0)
    assert same.tolist() == [1.0, 1.0]


def test_weights_without_a_shift_keep_nearly_all_rows(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    effective = []
    for _ in range(10):
        noisy, public, *rest = drawn_votes(rng, **VOTES["many records"])
        weight = shift_of_votes(noisy, public, *rest).cell_weight[public[:, 0]]
        effective.append(weight.sum() ** 2 / (weight**2).sum() / len(weight))
    assert np.mean(effective) > 0.97


# --- alarms of fits -------------------------------------------------------------------------------


def people(n, rng):
    """Made-up people, and whether they have a high income."""
    age = rng.uniform(18, 80, size=n)
    is_woman = rng.random(n) < 0.5
    hours = np.clip(rng.normal(np.where(is_woman, 34, 40), 8), 1, 99)
    years = rng.integers(6, 20, size=n) + (age > 50) * 1.0
    score = 0.08 * (years - 13) + 0.05 * (hours - 38) + 0.03 * (age - 45)
    y = (score + rng.logistic(size=n) / 3 > 0.2).astype(int)
    kinds = pd.CategoricalDtype(["man", "woman"])
    sex = pd.Series(np.where(is_woman, "woman", "man")).astype(kinds)
    return pd.DataFrame({"age": age, "hours": hours, "years": years, "sex": sex}), y


def standardized(X):
    numbers = ["age", "hours", "years"]
    return X.assign(**{k: StandardScaler().fit_transform(X[[k]])[:, 0] for k in numbers})


#: Public rows, from 6,000 of the same population.
SHIFTS = {
    "younger": lambda X: X[X["age"] < 40][:1500],
    "mostly women": lambda X: X[(X["sex"] == "woman") | (X["age"] < 22)][:1500],
    "later years": lambda X: X[X["years"] > 13][:1500],
    "age in months": lambda X: X[:1500].assign(age=12 * X["age"]),
    "hours, twice": lambda X: X[:1500].assign(hours=2 * X["hours"]),
    "columns swapped": lambda X: X[:1500].assign(age=X["hours"], hours=X["age"]),
    "scaler of public rows alone": lambda X: standardized(X[:1500]),
}
METHODS = {"votes": ReverseNeighbors, "sums": ClassSums}


@pytest.fixture(scope="module")
def private():
    return people(8000, np.random.default_rng(0))


@pytest.fixture(scope="module")
def same_population():
    return people(6000, np.random.default_rng(1))[0]


def fit(private, X_public, statistic="votes", **params):
    X, y = private
    given = {"epsilon": 1.0, "classes": [0, 1], "random_state": 0, "method": METHODS[statistic]()}
    return PATEClassifier(**(given | params)).fit(X, y, X_public=X_public)


@sampled()
@table("change", SHIFTS)
@pytest.mark.parametrize("statistic", METHODS)
def test_fit_warns_of_each_shift(change, statistic, private, same_population):
    with pytest.warns(PublicRowsWarning, match=DIFFER) as caught:
        clf = fit(private, change(same_population), statistic)
    seen = clf.table_.shift
    assert seen.is_alarm and seen.z > 4 and seen.statistic == statistic
    text = str(caught[0].message)
    assert f"{seen.distance:.2f}, expected without a shift {seen.expected:.2f}" in text
    for remedy in (
        "population of the records",
        "convert X_public",
        "FitOnPublic(StandardScaler())",
    ):
        assert remedy in text


@sampled()
@pytest.mark.parametrize("statistic", METHODS)
@pytest.mark.parametrize("epsilon", [0.3, 4.0])
def test_fit_without_a_shift_does_not_warn(statistic, epsilon, private, same_population):
    clf = fit(private, same_population[:1500], statistic, epsilon=epsilon)
    assert not clf.table_.shift.is_alarm and clf.table_.shift.z < 4


@pytest.mark.parametrize("statistic", METHODS)
def test_warning_advises_a_fit_without_public_rows_that_are_far_off(
    statistic, private, same_population
):
    advice = r"a fit without public rows, fit\(X, y\), is probably better; it spends anew"
    with pytest.warns(PublicRowsWarning, match=advice):
        clf = fit(private, SHIFTS["scaler of public rows alone"](same_population), statistic)
    assert clf.table_.shift.is_far
    with pytest.warns(PublicRowsWarning, match="FitOnPublic") as caught:
        near = fit(private, SHIFTS["mostly women"](same_population), statistic).table_.shift
    # Weights help where votes are near; nothing corrects class sums
    assert near.is_far == ("fit(X, y)" in str(caught[0].message)) == (statistic == "sums")


def test_arrays_and_numbers_are_compared_as_well(private, same_population):
    X, _ = private
    columns = ["hours", "years"]
    reg = PATERegressor(bounds=(18, 80), random_state=0, method="neighbors")
    public = same_population[columns][:1500].to_numpy()
    reg.fit(X[columns].to_numpy(), X["age"], X_public=public)
    assert not reg.table_.shift.is_alarm
    with pytest.warns(PublicRowsWarning, match=DIFFER):
        reg.fit(X[columns].to_numpy(), X["age"], X_public=public * [2, 1])
    assert reg.table_.shift.is_alarm


@pytest.mark.slow
def test_groups_and_weights_have_a_tolerance(private, same_population):
    X, y = private
    groups = np.arange(len(y)) // 2
    clf = PATEClassifier(classes=[0, 1], random_state=0, method="neighbors")
    clf.fit(X, y, X_public=same_population[:1500], groups=groups)
    assert clf.table_.shift.tolerance == 0.1
    clf.fit(X, y, X_public=same_population[:1500], sample_weight=np.full(len(y), 0.5))
    assert clf.table_.shift.tolerance == 0.1
    assert fit(private, same_population[:1500]).table_.shift.tolerance == 0.0
    numbers = {"statistic": "votes", "distance": 0.12, "expected": 0.03, "z": 20.0}
    assert PublicShift(**numbers).is_alarm
    assert not PublicShift(**numbers, tolerance=0.1).is_alarm
    near = numbers | {"distance": 0.03, "z": 0.0, "mean_z": 6.0}
    assert not PublicShift(**near, mean_distance=0.14).is_alarm
    assert PublicShift(**near, mean_distance=0.16).is_alarm
    assert not PublicShift(**near, mean_distance=0.24, tolerance=0.1).is_alarm
    assert PublicShift(**near, mean_distance=0.26, tolerance=0.1).is_alarm


def test_one_column_that_moves_few_votes_raises_an_alarm(private):
    """Half of the people save nothing; the savings of the public rows are in another unit."""
    X, y = private
    rng = np.random.default_rng(6)

    def with_savings(rows, factor=1.0):
        saves = rng.random(len(rows)) < 0.5
        return rows.assign(savings=factor * saves * np.exp(rng.normal(size=len(rows))))

    others = people(1500, np.random.default_rng(7))[0]
    records = with_savings(X), y
    same = fit(records, with_savings(others))
    assert not same.table_.shift.is_alarm and same.table_.shift.mean_z < 4
    with pytest.warns(PublicRowsWarning, match="mean of an encoded column is 0[.][23]"):
        seen = fit(records, with_savings(others, 2.2)).table_.shift
    assert seen.mean_is_off and seen.z < 4


@pytest.mark.slow
def test_nothing_is_compared_where_nothing_published_shows_it(private, same_population):
    X, y = private
    rows = X.drop(columns="sex")
    clf = PATEClassifier(classes=[0, 1], random_state=0, method="neighbors", epsilon=4.0)
    bounds = {"age": (18, 80), "hours": (0, 99), "years": (0, 30)}
    clf.set_params(schema=bounds).fit(rows, y)
    assert getattr(clf.table_, "shift", None) is None
    synthesizer = MarginalSynthesizer(bounds, n_rows=500)
    clf.set_params(schema=None, synthesizer=synthesizer).fit(rows, y)
    assert getattr(clf.table_, "shift", None) is None and clf.X_synthetic_ is not None
    teachers = PATEClassifier(GaussianNB(), n_teachers=100, epsilon=8.0, classes=[0, 1])
    with warnings.catch_warnings(action="error", category=PublicRowsWarning):
        teachers.fit(rows, y, X_public=1000 * same_population[:500].drop(columns="sex"))


def test_model_is_kept_if_the_warning_is_an_error(private, same_population):
    X, y = private
    clf = PATEClassifier(classes=[0, 1], random_state=0, method="neighbors")
    with (
        warnings.catch_warnings(action="error", category=PublicRowsWarning),
        pytest.raises(PublicRowsWarning, match=DIFFER),
    ):
        clf.fit(X, y, X_public=SHIFTS["younger"](same_population))
    assert clf.predict(X[:5]).shape == (5,) and clf.table_.shift.is_alarm


def test_shift_is_published_and_pickles(private, same_population):
    with pytest.warns(PublicRowsWarning):
        clf = fit(private, SHIFTS["younger"](same_population))
    restored = pickle.loads(pickle.dumps(clf)).table_.shift
    assert restored == clf.table_.shift
    np.testing.assert_array_equal(restored.cell_weight, clf.table_.shift.cell_weight)
    assert re.fullmatch(
        r"PublicShift\(statistic='votes', distance=[\d.]+, expected=[\d.]+, z=[\d.]+, "
        r"tolerance=0.0, mean_distance=[\d.]+, mean_z=[\d.]+\)",
        repr(restored),
    )


# --- weights of the student -----------------------------------------------------------------------


class KeepsWeights(ClassifierMixin, BaseEstimator):
    """Keeps the total weight of each row."""

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight)
        keys = X["age"].to_numpy()
        self.weight_ = pd.Series(weight).groupby(keys).sum()
        self.model_ = LogisticRegression(max_iter=1000).fit(X[["age", "hours"]], y, weight)
        return self

    def predict(self, X):
        return self.model_.predict(X[["age", "hours"]])


def test_student_weights_rows_by_votes_after_an_alarm(private, same_population):
    public = SHIFTS["younger"](same_population)
    with pytest.warns(PublicRowsWarning, match="The student weights public rows by the published"):
        clf = fit(private, public, student=KeepsWeights())
    table_ = clf.table_
    cell = nearest_cells(table_.transformer.transform(public), table_.centers)[:, 0]
    weight = table_.shift.cell_weight[cell]
    expected = pd.Series(weight / weight.mean(), index=public["age"]).sort_index()
    # Class probabilities below 0.01 are left out
    np.testing.assert_allclose(clf.student_.weight_, expected, rtol=0.011)
    assert weight.std() > 0.2
    assert np.corrcoef(weight, public["age"])[0, 1] > 0.3  # the records are older


def test_student_has_equal_weights_without_an_alarm(private, same_population):
    clf = fit(private, same_population[:1500], student=KeepsWeights())
    np.testing.assert_allclose(clf.student_.weight_, 1.0, rtol=0.011)
    with mock.patch.object(shift, "LEAST_Z", np.inf):
        without = fit(private, same_population[:1500])
    default = fit(private, same_population[:1500])
    proba = [one.predict_proba(private[0][:100]) for one in (default, without)]
    np.testing.assert_array_equal(*proba)


def test_weights_raise_the_accuracy_of_a_student_of_other_ages(private, same_population):
    X_test, y_test = people(5000, np.random.default_rng(5))
    public = SHIFTS["age in months"](same_population)
    with pytest.warns(PublicRowsWarning):
        weighted = fit(private, public, epsilon=4.0).score(X_test, y_test)
    with mock.patch.object(shift, "LEAST_Z", np.inf):
        plain = fit(private, public, epsilon=4.0).score(X_test, y_test)
    assert weighted > plain


def test_fit_student_compares_the_votes_with_its_own_rows(private, same_population):
    clf = fit(private, same_population[:1500])
    with pytest.warns(PublicRowsWarning, match="The student weights public rows"):
        clf.fit_student(SHIFTS["younger"](same_population), KeepsWeights())
    assert clf.student_.weight_.std() > 0.1
    with warnings.catch_warnings(action="error", category=PublicRowsWarning):
        clf.fit_student(same_population[1500:3000], KeepsWeights())
    np.testing.assert_allclose(clf.student_.weight_, 1.0, rtol=0.011)
    again = clf.table_.shift_from(same_population[:1500])
    assert again == clf.table_.shift


def test_students_without_weights_learn_labels_and_the_warning_promises_none(
    private, same_population
):
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline

    from sklearn_pate.neighbors import RowVectorizer

    student = make_pipeline(RowVectorizer(), KNeighborsClassifier())
    with pytest.warns(PublicRowsWarning) as caught:
        fit(private, SHIFTS["younger"](same_population), student=student)
    assert "weights public rows" not in str(caught[0].message)


# --- privacy --------------------------------------------------------------------------------------


@table(
    "statistic, mechanism",
    ("votes", ("votes", LaplaceMechanism)),
    ("sums", ("sums", SumsMechanism)),
)
def test_warning_shift_and_weights_depend_on_published_numbers_alone(
    statistic, mechanism, same_population
):
    """Two private data sets with the same published table have the same text and weights."""
    public = SHIFTS["younger"](same_population)
    older, y = people(4000, np.random.default_rng(2))
    older = older.assign(age=80.0, years=20.0)
    seen = []

    def same_outcome(self, table, random_state=None):
        outcome = np.random.default_rng(3).uniform(0, 100, size=np.shape(table))
        return outcome

    for records, labels in (people(4000, np.random.default_rng(4)), (older, np.ones_like(y))):
        with (
            mock.patch.object(mechanism, "noisy", same_outcome),
            pytest.warns(PublicRowsWarning, match=DIFFER) as caught,
        ):
            clf = fit((records, labels), public, statistic)
        texts = [str(one.message) for one in caught]
        seen.append((texts, clf.table_.shift, clf.predict_proba(same_population[:50])))
        weight = clf.table_.shift.cell_weight
        seen[-1] += (None if weight is None else weight.tolist(),)
    (first, second) = seen
    assert first[:2] == second[:2] and first[3] == second[3]
    np.testing.assert_array_equal(first[2], second[2])
