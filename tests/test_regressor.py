"""Numbers as split votes: changes by one record, releases and statements."""

import pickle
from decimal import Decimal
from itertools import product

import numpy as np
import pytest
from conftest import cases, table
from sklearn.base import BaseEstimator, RegressorMixin, clone, is_regressor
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    HistGradientBoostingRegressor,
    RandomForestRegressor,
    StackingRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_pate import PATEClassifier, PATERegressor
from sklearn_pate.aggregators import GNMax, LaplaceMechanism, SoftVote
from sklearn_pate.audit import audit_table
from sklearn_pate.encoding import RowEncoder
from sklearn_pate.encoding.targets import ClassTarget, NumberTarget
from sklearn_pate.exceptions import BadPlanError, StudentError, TeacherError
from sklearn_pate.ledger import PrivacyLedger
from sklearn_pate.methods import ReverseNeighbors
from sklearn_pate.methods.sums import ClassSums, ReleasedClassSums
from sklearn_pate.methods.teachers import RegressorTeachers
from sklearn_pate.model_selection import PrivateGridSearchCV
from sklearn_pate.neighbors.counting import count_votes
from sklearn_pate.neighbors.smoothing import expected_votes, smooth
from sklearn_pate.partition import PredefinedPartition
from sklearn_pate.plotting import BudgetDisplay, PrivacySpentDisplay
from sklearn_pate.public import PublicData
from sklearn_pate.rdp.discrete import GRID
from sklearn_pate.runtime.private_data import PrivateData
from sklearn_pate.synthesis import ClassSumsSynthesizer, MarginalSynthesizer
from sklearn_pate.teachers import Sites

WHOLE = 2**20
RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(3000, 2))
Y = 20 + 10 * X[:, 0] - 4 * X[:, 1] + RNG.normal(size=3000)
PRIVATE, PUBLIC, TEST = slice(2000), slice(2000, 2500), slice(2500, None)


def fitted(x=X, y=Y, how="fit", **params):
    reg = PATERegressor(**{"bounds": (0, 40), "epsilon": 4.0, "random_state": 0} | params)
    draws_rows = reg.schema is not None or reg.synthesizer is not None
    return getattr(reg, how)(x[PRIVATE], y[PRIVATE], None if draws_rows else x[PUBLIC])


@pytest.fixture(scope="module")
def of_records():
    return fitted()


# --- all neighbouring pairs of a tiny domain -----------------------------------------------------

PLACES = [0.0, 0.3, 1.0, 1.999999, 2.0]
THREE_LEVELS = NumberTarget(np.arange(3.0))
#: Records (x, place along three levels)
TINY = list(product([-1.0, 1.0, np.nan], PLACES))


def tiny_method(n_neighbors, relation="replace_one"):
    """Return a counter of votes in cells at -1, 0 and 1, and the largest change by a record."""

    def private(records):
        rows, places = np.array(records).T
        return PrivateData(X=rows[:, None], codes=places, target=THREE_LEVELS)

    given_ = {"n_cells": 3, "n_neighbors": n_neighbors, "relation": relation, "random_state": 0}
    method = ReverseNeighbors(StandardScaler(), **given_)
    public = np.array([[-1.0], [0.0], [1.0]])
    neighbors = method.prepare(private(TINY), public)
    method.prepare_public(public, noise_std=1.0, n_records=None, n_classes=3)
    return lambda records: method.vote(private(records), public), method.contribution(neighbors)


@pytest.mark.parametrize("n_neighbors", [1, 2])
def test_record_changes_at_most_its_contribution(n_neighbors):
    others = [(1.0, 0.7), (-1.0, 2.0)]
    vote, contribution = tiny_method(n_neighbors)
    found = [vote([record, *others]) for record in TINY]
    changed = [np.abs(a - b) for a, b in product(found, found)]
    assert contribution.l1 == 2 * n_neighbors == max(change.sum() for change in changed)
    assert max(change.max() for change in changed) <= contribution.linf == 1
    assert (
        max((change**2).sum() for change in changed) <= contribution.l2_squared <= contribution.l1
    )
    vote, of_joined = tiny_method(n_neighbors, "add_or_remove_one")
    joined = [np.abs(counts - vote(others)) for counts in found]
    assert of_joined.l1 == n_neighbors == max(change.sum() for change in joined)
    assert max((change**2).sum() for change in joined) <= of_joined.l2_squared <= of_joined.l1


def test_group_changes_at_most_as_much_as_a_record():
    """Groups of one to three, whose records have weights, and their neighbours of any size."""
    rng = np.random.default_rng(1)
    largest = 0.0
    for _ in range(200):
        tables = []
        for size in rng.integers(1, 4, size=2):
            weight = rng.choice([0.3, 1.0], size=size)
            given_ = {"sample_weight": weight, "groups": np.zeros(size, dtype=int)}
            given_ |= {"n_cells": 3, "target": THREE_LEVELS}
            cells, places = rng.integers(-1, 3, size=(size, 1)), rng.choice(PLACES, size=size)
            tables.append(count_votes(cells, places, **given_) * GRID)
        change = np.abs(tables[0] - tables[1])
        largest = max(largest, change.sum())
        assert change.sum() <= 2 and (change**2).sum() <= 2
    assert largest > 1.5


# --- an audit ------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:too few records|.*explain")
def test_audit_table_of_the_regressor_stays_below_its_claim(global_random_seed):
    """And catches votes that count three times; each bound fails once in a million."""
    mechanism = LaplaceMechanism(2.0, noise="continuous")
    method = ReverseNeighbors(StandardScaler(), n_cells=1, random_state=0)
    reg = PATERegressor(method=method, bounds=(0, 1), n_levels=4, on_bad_plan="warn")
    tables = []
    for last in (0.0, 1.0):
        votes = reg.poll(np.arange(3.0)[:, None], np.array([0.2, 0.5, last]), X[:40, :1])
        tables.append(votes.counts)
    contribution = votes.method.contribution(votes.neighbors)
    given = {"contribution": contribution, "random_state": global_random_seed}
    found = audit_table(mechanism, *tables, **given, n_samples=2500)
    assert found.epsilon <= found.claimed == 1.0
    assert audit_table(mechanism, tables[0] * 3, tables[1] * 3, **given, n_samples=2500).refuted


# --- releases, and readings of them --------------------------------------------------------------


@table(
    "params, least",
    ("cells", {}, 0.9),
    ("ten levels", {"n_levels": 10}, 0.9),
    ("sums of ten levels", {"method": ClassSums(), "n_levels": 10}, 0.8),
    ("a student", {"student": HistGradientBoostingRegressor()}, 0.9),
    ("several teachers", {"base_estimator": [Ridge(), LinearRegression()]}, 0.7),
    ("a schema", {"schema": (-1, 1)}, 0.8),
    (
        "a schema, sums alone",
        {"synthesizer": ClassSumsSynthesizer((-1, 1), missing=[], epsilon_fraction=1.0)},
        0.7,
    ),
    ("histograms", {"synthesizer": MarginalSynthesizer((-1, 1), missing=[]), "n_levels": 5}, 0.5),
    ("teachers, a schema", {"schema": (-1, 1), "base_estimator": LinearRegression()}, 0.5),
)
@pytest.mark.filterwarnings("ignore:.*histograms|.*noise")
def test_regressor_of_each_method_scores_and_reports(params, least):
    reg = fitted(**params, on_bad_plan="warn")
    epsilon, _ = reg.privacy_spent_
    assert epsilon <= reg.epsilon and reg.score(X[TEST], Y[TEST]) > least
    assert reg.predict(X[TEST]).shape == (500,) and reg.predict(X[TEST]).dtype == float
    means = reg.public_labels_[~np.isnan(reg.public_labels_)]
    assert ((means >= 0) & (means <= 40)).all()
    np.testing.assert_array_equal(reg.levels_, np.linspace(0, 40, reg.n_levels))
    assert not hasattr(reg, "classes_") and "private" not in repr(reg).lower()


def test_means_are_released_for_queried_rows_only():
    reg = fitted(base_estimator=LinearRegression(), n_queries=7)
    queried = np.zeros(500, dtype=bool)
    queried[reg.query_indices_] = True
    assert queried.sum() == 7
    np.testing.assert_array_equal(np.isnan(reg.public_labels_), ~queried)
    np.testing.assert_array_equal(np.isnan(reg.public_soft_labels_[:, 0]), ~queried)
    assert reg.privacy_spent_.n_answered == 7 and reg.aggregator_.sigma is not None


def test_teacher_without_noise_is_reproduced():
    given_ = {"n_teachers": 1, "aggregator": SoftVote(1e-6), "epsilon": None}
    reg = fitted(base_estimator=LinearRegression(), student=LinearRegression(), **given_)
    plain = LinearRegression().fit(X[PRIVATE], Y[PRIVATE])
    np.testing.assert_allclose(reg.public_labels_, plain.predict(X[PUBLIC]), atol=1e-3)
    np.testing.assert_allclose(reg.predict(X[TEST]), plain.predict(X[TEST]), atol=1e-3)


def test_teacher_of_few_records_votes_by_a_fixed_rule():
    names = [f"clinic {k}" for k in range(3)]
    groups = np.where(np.arange(2000) < 1, names[0], names[1])
    reg = PATERegressor(LinearRegression(), bounds=(0, 40), partition=PredefinedPartition(names))
    given_ = {"X": X[PRIVATE], "y": Y[PRIVATE], "X_public": X[PUBLIC], "groups": groups}
    np.testing.assert_array_equal(reg.poll(**given_).counts.sum(axis=1), 3.0)
    reg.set_params(partition=PredefinedPartition([names[2], "nobody"]))
    pytest.raises(ValueError, reg.poll, **given_).match("name")


def test_numbers_beyond_the_bounds_count_at_the_edge():
    far = np.where(Y > 25, 1e200, Y)
    cut = np.where(Y > 25, 25.0, Y)
    for method in (ReverseNeighbors(random_state=0), ClassSums()):
        params = {"bounds": (0, 25), "how": "poll", "method": method}
        one, other = (fitted(y=y, **params) for y in (far, cut))
        np.testing.assert_array_equal(one.counts, other.counts)


@pytest.mark.parametrize("huge", [10**400, Decimal("1e400"), np.longdouble("1e400")])
def test_numbers_beyond_all_floats_count_at_the_edge(huge):
    kind = np.longdouble if isinstance(huge, np.longdouble) else object
    y = Y.astype(kind)
    y[5] = huge
    cut = np.where(np.arange(3000) == 5, 40.0, Y)
    one, other = (fitted(y=y, how="poll") for y in (y, cut))
    np.testing.assert_array_equal(one.counts, other.counts)


def test_unit_adds_one_vote_in_all():
    """Ten times each record, in groups of ten: the same table as once each."""
    rows, y = np.repeat(X[:300], 10, axis=0), np.repeat(Y[:300], 10)
    method = ReverseNeighbors(n_cells=20, random_state=0)
    reg = PATERegressor(method=method, bounds=(0, 40), unit="group", epsilon=2.0)
    votes = reg.poll(rows, y, X[PUBLIC], groups=np.repeat(np.arange(300), 10))
    once = reg.poll(X[:300], Y[:300], X[PUBLIC], groups=np.arange(300))
    assert votes.neighbors.unit == "group" and votes.counts.sum() <= 300
    np.testing.assert_allclose(votes.counts, once.counts, atol=40 * 10 / WHOLE)


def test_class_sums_of_two_levels_equal_least_squares():
    """With hardly any noise, as scikit-learn has them on the same rows of length 1."""
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(20_000, 6))
    y = rows @ [1.0, 2.0, 0, 0, -1, 0] + rng.normal(size=20_000)
    reg = PATERegressor(method=ClassSums(extra_columns=False), bounds=(-15, 15), epsilon=50.0)
    reg.fit(rows, y, X_public=rows.copy())
    ranks = RowEncoder().fit_transform(rows)
    psi = (ranks - ranks.mean(axis=0)) / np.sqrt(ranks.std(axis=0))
    psi /= np.linalg.norm(psi, axis=1, keepdims=True)
    expected = LinearRegression().fit(psi, y).predict(psi)
    assert isinstance(reg.table_, ReleasedClassSums) and reg.table_.proba_is_linear
    assert np.abs(reg.predict(rows) - expected).mean() < 0.02 * y.std()


def test_smoothing_of_numbers_has_a_lower_error_than_of_classes():
    """Numbers that follow from the place: with little noise, all differences are true ones."""
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(200, 2))
    share = 0.5 + 0.1 * np.sin(3 * centers[:, 0])
    noisy = 30 * np.column_stack([1 - share, share]) + 0.3 * rng.normal(size=(200, 2))
    total = expected_votes(noisy, np.full(200, 5), 0.3, n_votes=6000)
    error = {}
    for target_type in (NumberTarget, ClassTarget):
        probability_field = smooth(noisy, centers, total, noise_std=0.3, target=target_type([0, 1]))
        error[target_type] = ((probability_field.class_proba(centers)[:, 1] - share) ** 2).mean()
    assert error[NumberTarget] < 0.5 * error[ClassTarget]


# --- quantiles -----------------------------------------------------------------------------------


@pytest.mark.parametrize("q", [0.1, 0.5, 0.9])
def test_quantiles_of_interpolated_votes_equal_those_of_numbers(q):
    """Of 100,000 numbers over 10 levels, off by less than a tenth of a level."""
    y = np.random.default_rng(0).normal(20, 6, size=100_000).clip(0, 40)
    target = NumberTarget.between((0, 40), 10)
    cells = np.zeros((len(y), 1), int)
    counts = count_votes(cells, target.encode(y), n_cells=1, target=target)
    found = target.quantiles(counts / counts.sum(), np.array([q]))
    assert found[0, 0] == pytest.approx(np.quantile(y, q), abs=0.1 * 40 / 9)


def test_predict_quantiles_cover_the_numbers():
    reg = fitted(n_levels=12, epsilon=4.0)
    low, middle, high = reg.predict_quantiles(X[TEST], [0.1, 0.5, 0.9]).T
    assert (low < middle).all() and (middle < high).all()
    assert ((low < Y[TEST]) & (Y[TEST] < high)).mean() > 0.7
    np.testing.assert_array_equal(reg.predict_quantiles(X[TEST], 0.5), middle)


@pytest.mark.slow
def test_predict_quantiles_refuses_wrong_fits_and_levels(of_records):
    assert not hasattr(of_records, "predict_quantiles")
    of_teachers = fitted(n_levels=3, base_estimator=Ridge())
    pytest.raises(ValueError, of_teachers.predict_quantiles, X, 0.5).match("teachers voted")
    reg = fitted(n_levels=3)
    for q in (1.5, np.nan):
        pytest.raises(ValueError, reg.predict_quantiles, X, q).match("from 0 to 1")


# --- refusals before anything is spent -----------------------------------------------------------

NAN, TEXT = (np.where(np.arange(3000) == 7, what, Y) for what in (np.nan, "7.5x"))
OBJECTS, SIGNALS = Y.astype(object), Y.astype(object)
OBJECTS[3] = {"secret": 1}
SIGNALS[3] = Decimal("sNaN")


class Loses(RegressorMixin, BaseEstimator):
    """A teacher or student whose predictions are not a number for each row."""

    def __init__(self, how="nan"):
        self.how = how

    def fit(self, X, y):
        self.is_fitted_ = True
        return self

    def predict(self, X):
        return np.full(len(X), np.nan) if self.how == "nan" else np.zeros((len(X), 2))


# pandas 2.1 cannot ask a signal whether it is missing
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@table(
    "params, match",
    ("no bounds", {"bounds": None, "epsilon": None}, "bounds is missing, and epsilon=None"),
    ("equal", {"bounds": (5, 5)}, "low < high"),
    ("one level", {"n_levels": 1}, "'n_levels' parameter"),
    ("missing number", {"y": NAN}, "Input y contains NaN or infinity"),
    ("text for a number", {"y": TEXT}, "y must hold only numbers; got text"),
    ("objects", {"y": OBJECTS}, "y must hold only numbers; got objects"),
    ("a signal", {"y": SIGNALS}, "Input y contains NaN or infinity"),
    ("none", {"y": None}, "requires y to be passed"),
    ("all outside", {"bounds": (100, 200)}, "all of y lies outside of bounds"),
    ("several", {"y": np.column_stack([Y, Y])}, "as one target.*bounds a pair for each"),
    ("classes", {"base_estimator": LogisticRegression()}, "base_estimator must be a regressor"),
    ("a student", {"student": LogisticRegression()}, "student must be a regressor"),
    ("votes", {"base_estimator": Ridge(), "aggregator": GNMax()}, "must be a SoftVote"),
    ("queries", {"base_estimator": Ridge(), "query_strategy": "uncertainty"}, "predict_proba"),
    ("two numbers", {"student": Loses("two")}, "one number for each row"),
)
def test_regressor_refuses_wrong_input_before_spending(params, match, ledger):
    params = {"random_state": None, "ledger": ledger} | params
    y = params.pop("y", Y)
    reg = PATERegressor(**{"bounds": (0, 40)} | params)
    y = y if y is None else y[PRIVATE]
    with pytest.raises(ValueError, match=match) as caught:
        reg.fit(X[PRIVATE], y, X_public=X[PUBLIC])
    assert "secret" not in str(caught.value) and "7.5" not in str(caught.value)
    assert ledger.history().empty and not hasattr(reg, "privacy_spent_")


def test_displays_of_regressor_teachers_are_drawn():
    reg = fitted(base_estimator=Ridge(), n_teachers=50)
    assert BudgetDisplay.from_estimator(reg).shares.sum() == pytest.approx(1)
    assert PrivacySpentDisplay.from_estimator(reg).data_independent[-1] <= 4.0


@cases("how, match", ("nan", "returned missing numbers"), ("two", "one number per row"))
def test_teachers_that_predict_no_numbers_are_refused(how, match):
    pytest.raises(TeacherError, fitted, base_estimator=Loses(how)).match(match)


def test_student_error_keeps_released_means():
    class Fails(Ridge):
        def fit(self, X, y):
            if len(np.unique(y)) > 2:  # not made up
                raise ValueError("no")
            return super().fit(X, y)

    with pytest.raises(StudentError, match="could not be trained on 500 released labels") as caught:
        fitted(student=Fails())
    assert caught.value.public_labels.shape == (500,)
    assert not np.isnan(caught.value.public_labels).any()


def test_teachers_of_regressor_refuse_sites():
    with pytest.raises(ValueError, match="teachers of PATERegressor cannot vote when X is Sites"):
        PATERegressor(Ridge(), bounds=(0, 1)).fit(Sites(print, ["a", "b"]), None, X[PUBLIC])


def test_regressor_refuses_noise_above_all_votes():
    with pytest.raises(BadPlanError, match="too few records for the noise on the votes"):
        PATERegressor(bounds=(0, 40), epsilon=0.01).fit(X[:100], Y[:100], X[PUBLIC])


# --- scikit-learn, and all that a fit may be part of ---------------------------------------------


def test_regressor_works_in_grid_search():
    search = GridSearchCV(PATERegressor(bounds=(0, 40), epsilon=2.0), {"n_levels": [2, 4]}, cv=2)
    search.fit(X[PRIVATE], Y[PRIVATE], X_public=PublicData(X[PUBLIC]))
    assert search.best_score_ > 0.8 and search.score(X[TEST], Y[TEST]) > 0.8


def test_bounds_of_a_transformed_target_are_in_its_unit():
    y = np.exp(Y / 10)
    reg = PATERegressor(bounds=(0, 4), epsilon=4.0)
    logs = TransformedTargetRegressor(reg, func=np.log, inverse_func=np.exp)
    logs.fit(X[PRIVATE], y[PRIVATE], X_public=X[PUBLIC])
    assert logs.score(X[TEST], y[TEST]) > 0.8
    wrong = TransformedTargetRegressor(clone(reg).set_params(bounds=(50, 400)), func=np.log)
    wrong.set_params(inverse_func=np.exp)
    with pytest.raises(ValueError, match="in the new unit"):
        wrong.fit(X[PRIVATE], y[PRIVATE], X_public=X[PUBLIC])


def test_multi_output_regressors_share_a_ledger(tmp_path):
    ledger = PrivacyLedger(tmp_path / "ledger", epsilon=3)
    reg = MultiOutputRegressor(PATERegressor(bounds=(0, 40), epsilon=1.0, ledger=ledger))
    reg.fit(X[PRIVATE], np.column_stack([Y, 40 - Y])[PRIVATE], X_public=X[PUBLIC])
    assert reg.score(X[TEST], np.column_stack([Y, 40 - Y])[TEST]) > 0.8
    assert len(ledger.history()) == 2 and 1.0 < ledger.epsilon_spent <= 2.0


@pytest.mark.slow
def test_private_search_of_a_regressor_requires_public_rows():
    candidates = {"student": [LinearRegression(), RandomForestRegressor(5)]}
    reg = PATERegressor(bounds=(0, 40))
    search = PrivateGridSearchCV(reg, candidates, epsilon=8.0, n_trials=2, random_state=0)
    with pytest.raises(ValueError, match="PATERegressor requires public validation data"):
        search.fit(X[PRIVATE], Y[PRIVATE], X_public=X[PUBLIC])
    search.fit(X[PRIVATE], Y[PRIVATE], X_public=X[PUBLIC], X_val=X[TEST], y_val=Y[TEST])
    assert search.score(X[TEST], Y[TEST]) > 0.5 and search.privacy_spent_.epsilon <= 8.0
    assert is_regressor(search) and not hasattr(search, "classes_")
    assert search.levels_.tolist() == [0.0, 40.0]
    with pytest.raises(ValueError, match="cannot differ in n_levels"):
        PrivateGridSearchCV(reg, {"n_levels": [2, 3]}).fit(X[PRIVATE], Y[PRIVATE], X[PUBLIC])


def test_polled_votes_of_numbers_can_be_read_again():
    votes = fitted(how="poll")
    one = PATERegressor(bounds=(0, 40), epsilon=8.0).fit_votes(votes, X[PUBLIC])
    assert one.score(X[TEST], Y[TEST]) > 0.85
    with pytest.raises(ValueError, match="votes are for other classes"):
        PATERegressor(bounds=(0, 41)).fit_votes(votes, X[PUBLIC])
    of_teachers = fitted(how="poll", base_estimator=LinearRegression())
    again = PATERegressor(LinearRegression(), bounds=(0, 40), epsilon=20.0)
    assert again.fit_votes(of_teachers, X[PUBLIC]).score(X[TEST], Y[TEST]) > 0.6
    with pytest.raises(ValueError, match="SoftVote requires votes from poll"):
        again.fit_votes(np.tile([3, 2], (500, 1)), X[PUBLIC])


@cases("params", {}, {"base_estimator": LinearRegression()}, ids=["records", "teachers"])
def test_regressor_pickle_predicts_without_curator_and_seed(params):
    reg = fitted(**params)
    copy = pickle.loads(pickle.dumps(reg))
    np.testing.assert_array_equal(copy.predict(X[TEST]), reg.predict(X[TEST]))
    assert not hasattr(copy, "curator_") and copy.random_state is None
    assert hasattr(reg, "curator_") and "PATERegressor" in reg._repr_html_()


def test_fit_student_of_a_regressor_costs_nothing():
    reg = fitted()
    before = reg.privacy_spent_
    reg.fit_student(X[PUBLIC], RandomForestRegressor(20, random_state=0))
    assert reg.privacy_spent_ == before and reg.score(X[TEST], Y[TEST]) > 0.85
    reg.fit_student(X[TEST], LinearRegression())
    assert reg.public_labels_.shape == (500,) and reg.score(X[TEST], Y[TEST]) > 0.9
    with pytest.raises(ValueError, match="student must be a regressor"):
        reg.fit_student(X[PUBLIC], LogisticRegression())


@pytest.mark.slow
@cases("name", "student", "base_estimator")
def test_stacking_regressor_is_accepted(name):
    stacking = StackingRegressor([("ridge", Ridge()), ("linear", LinearRegression())])
    params = {name: make_pipeline(StandardScaler(), stacking)}
    if name == "base_estimator":
        params |= {"n_teachers": 20, "n_queries": 40, "epsilon": 20.0}
    assert fitted(**params).score(X[TEST], Y[TEST]) > 0.8


def test_regressor_export_predicts_as_the_regressor(of_records):
    reg = fitted(student=make_pipeline(StandardScaler(), Ridge()))
    model = reg.export(X[PUBLIC])
    np.testing.assert_array_equal(model.predict(X[TEST]), reg.predict(X[TEST]))
    assert model.privacy_spent_["epsilon"] == reg.privacy_spent_.epsilon
    assert_exported(of_records, X[TEST])


@cases(
    "params, student_reads",
    ({"method": ClassSums()}, "ReleasedClassSums(2"),
    ({"method": ClassSums(), "n_levels": 5}, "ReleasedClassSums(5"),
    ({"method": ReverseNeighbors(), "n_levels": 5}, "ReleasedTable("),
    ({"schema": (-1, 1)}, "ReleasedSums("),
    ({"synthesizer": MarginalSynthesizer((-1, 1), n_bins=8)}, "ReleasedHistograms("),
)
def test_regressor_export_of_default_students_predicts_alike(params, student_reads):
    reg = fitted(**params)
    assert student_reads in repr(reg.student_.released)
    assert_exported(reg, X[TEST])


def assert_exported(reg, rows):
    """Both predict the same, and an export needs scikit-learn alone."""
    model = reg.export()
    np.testing.assert_allclose(model.predict(rows), reg.predict(rows), rtol=1e-9)
    np.testing.assert_array_equal(reg.export(rows).predict(rows), model.predict(rows))
    assert b"sklearn_pate" not in pickle.dumps(model)


@table(
    "params, expected",
    ("cells", {}, ["means", "of 2 levels", "each level of a cell"]),
    ("sums", {"epsilon": 1.0}, ["sums of few records predict numbers better", "each of 2 levels"]),
    ("teachers", {"base_estimator": Ridge(), "n_levels": 3}, ["means", "of 3 levels"]),
    ("noise above the signal", {"n_teachers": 50, "epsilon": 1.0}, ["too large for the means"]),
)
def test_plan_of_a_regressor_names_levels(params, expected):
    plan = fitted(how="plan", **params)
    text = " ".join(str(plan).split())
    assert all(words in text for words in expected) and "class" not in text.lower()


def test_classifier_has_classes_and_no_levels():
    clf = PATEClassifier(classes=[0, 1], random_state=0).fit(X[PRIVATE], Y[PRIVATE] > 20, X[PUBLIC])
    assert not hasattr(clf, "levels_") and clf.public_labels_.dtype.kind == "i"


def test_regressor_teachers_are_refused_by_the_classifier():
    with pytest.raises(ValueError, match="RegressorTeachers votes for numbers"):
        PATEClassifier(method=RegressorTeachers([Ridge()]), classes=[0, 1]).plan(X, Y > 20, X)


def test_regressor_docstring_lists_parameters_and_attributes(of_records):
    reg = fitted(base_estimator=LinearRegression())
    names = set(vars(reg)) | set(vars(of_records)) | set(reg.get_params(deep=False))
    public = {name for name in names if not name.startswith("_")} - {"feature_names_in_"}
    assert {name for name in public if name not in PATERegressor.__doc__} == set()
