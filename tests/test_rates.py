"""What a noisy table says of public rows, and the student that learns it."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits, make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_pate.neighbors import LandmarkClassifier
from sklearn_pate.neighbors.cells import make_centers
from sklearn_pate.neighbors.rates import Surface, _sharpness, smooth

# scikit-learn's checks skip some of their own
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")


def sharpness(ballots, noise_std, height, rng):
    """Return the power that is chosen for one table of noisy ballots, in cells on a line."""
    n_cells, n_classes = ballots.shape
    total = np.maximum(ballots.sum(axis=1), 1.0)
    overall = ballots.sum(axis=0) / ballots.sum()
    spread = (overall * (1 - overall)).sum() / (n_classes - 1)
    variance = (noise_std**2 + total * spread) / total**2
    centers = np.arange(n_cells)[:, None] / 10
    noisy = ballots + rng.normal(0, noise_std, ballots.shape)
    given = {"steepness": 2.0, "slope": 0.0, "power": 1.0, "variance": variance, "total": total}
    surface = Surface(centers, overall, np.zeros_like(ballots), height * spread, **given)
    return _sharpness(surface, noisy)


def test_rates_of_one_class_a_cell_are_sharpened():
    """Each ten cells are of one class, so means that noise pulls together are too timid."""
    ballots = np.repeat(30.0 * np.eye(10), 10, axis=0)
    assert sharpness(ballots, noise_std=12.0, height=0.3, rng=np.random.default_rng(0)) >= 2


@pytest.mark.parametrize("seed", range(8))
def test_rates_that_are_as_they_seem_are_left(seed):
    """Each cell has the same rates: what the means differ by is noise, which says nothing."""
    rng = np.random.default_rng(seed)
    ballots = rng.multinomial(40, [0.5, 0.5], size=100).astype(float)
    assert sharpness(ballots, noise_std=15.0, height=0.1, rng=rng) == 1


def test_a_smooth_table_is_recovered():
    """Rates that change slowly are found through noise that hides them in each cell alone."""
    rng = np.random.default_rng(0)
    public = rng.random((2000, 2))
    centers = make_centers(public, 200, 0)
    truth = 0.5 + 0.4 * np.sin(3 * centers[:, 0])
    n_ballots = 30
    noisy = n_ballots * np.stack([1 - truth, truth], axis=1) + rng.normal(0, 10, (200, 2))
    cells = cdist(public, centers).argmin(axis=1)
    surface = smooth(noisy, centers, np.bincount(cells), noise_std=10.0, n_ballots=200 * n_ballots)
    rates = surface.rates(public)
    wanted = 0.5 + 0.4 * np.sin(3 * public[:, 0])
    alone = np.clip(noisy / noisy.sum(axis=1, keepdims=True), 0, 1)[cells, 1]
    found = np.abs(rates[:, 1] - wanted).mean()
    assert found < 0.08 and found < np.abs(alone - wanted).mean() / 3


# --- the default student -------------------------------------------------------------------------


def test_what_grows_from_end_to_end_is_seen_where_no_cell_is():
    rng = np.random.default_rng(0)
    centers = rng.uniform(-1, 1, (100, 5))
    of_one = 40 * (0.5 + 0.15 * centers.sum(axis=1) / np.sqrt(5))
    noisy = np.column_stack([of_one, 40 - of_one]) + rng.normal(0, 8.0, (100, 2))
    surface = smooth(noisy, centers, np.full(100, 40), noise_std=8.0)
    ends = surface.rates(np.array([[2.0] * 5, [-2.0] * 5]))[:, 0]
    assert surface.slope > 0
    assert ends[0] > 0.8 and ends[1] < 0.2  # by the slope alone they are 1.17 and -0.17


@parametrize_with_checks([LandmarkClassifier(random_state=0)])
def test_sklearn_checks(estimator, check):
    check(estimator)


def test_landmarks_see_what_columns_do_not():
    X, y = make_moons(600, noise=0.1, random_state=0)
    assert LandmarkClassifier(random_state=0).fit(X[:400], y[:400]).score(X[400:], y[400:]) > 0.97
    assert LogisticRegression().fit(X[:400], y[:400]).score(X[400:], y[400:]) < 0.95


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_a_unit_that_all_columns_share_makes_no_difference(unit):
    X, y = make_moons(200, noise=0.1, random_state=0)
    plain, scaled = (
        LandmarkClassifier(random_state=0).fit(rows, y).predict_proba(rows)
        for rows in (X, X * unit)
    )
    np.testing.assert_allclose(plain, scaled, atol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_weights_are_as_good_as_repeats(n_classes):
    """A row that counts three times is like three rows, and one that counts nothing like none."""
    X, y = make_moons(60, noise=0.2, random_state=0)
    y = y + (X[:, 0] > 1) * (n_classes - 2)
    weight = np.arange(60) % 4
    weighted = LandmarkClassifier(random_state=0).fit(X, y, sample_weight=weight)
    repeated = LandmarkClassifier(random_state=0).fit(X.repeat(weight, axis=0), y.repeat(weight))
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-4)


def test_probabilities_of_many_classes_are_likely():
    X, y = load_digits(return_X_y=True)
    clf = LandmarkClassifier(random_state=0).fit(X[:900], y[:900])
    proba = clf.predict_proba(X[900:])
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    np.testing.assert_array_equal(proba.argmax(axis=1), clf.predict(X[900:]))
    assert clf.score(X[900:], y[900:]) > 0.93 and log_loss(y[900:], proba) < 0.3


def test_equal_rows_and_single_landmarks():
    same = LandmarkClassifier().fit(np.ones((6, 2)), [0, 0, 1, 1, 1, 1])
    np.testing.assert_allclose(same.predict_proba(np.ones((1, 2))), [[1 / 3, 2 / 3]], atol=0.01)
    X, y = make_moons(50, random_state=0)
    assert LandmarkClassifier(n_landmarks=1, random_state=0).fit(X, y).score(X, y) > 0.7


@pytest.mark.parametrize("n_landmarks", [0, 1.5, "many"])
def test_landmarks_are_counted_in_whole_numbers(n_landmarks):
    with pytest.raises(ValueError, match="n_landmarks must be"):
        LandmarkClassifier(n_landmarks=n_landmarks).fit(np.eye(4), [0, 0, 1, 1])
