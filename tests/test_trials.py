"""Trial fits of plans on labelled public rows."""

import math

import numpy as np
import pytest
from conftest import cases
from sklearn.datasets import make_classification

from sklearn_pate import PATEClassifier, PATERegressor, PublicData
from sklearn_pate.accounting.trials import ScoreForecast
from sklearn_pate.aggregators import GaussianMechanism, LaplaceMechanism
from sklearn_pate.fitting import seeds, trials
from sklearn_pate.methods import ReverseNeighbors

ROWS, LABELS = make_classification(
    6000, 5, n_informative=4, n_redundant=0, class_sep=1.2, flip_y=0.1, random_state=0
)
X, Y = ROWS[:3000], LABELS[:3000]
X_PUBLIC, Y_PUBLIC = ROWS[3000:3600], LABELS[3000:3600]
X_TEST, Y_TEST = ROWS[3600:], LABELS[3600:]
NUMBERS = ROWS[:, 0] + 0.5 * ROWS[:, 1]


@pytest.fixture
def all_trials():
    """Try all splits at all epsilons."""


@pytest.fixture(autouse=True)
def few_trials(request, monkeypatch):
    """Try two splits at two epsilons, unless a test needs all of them."""
    if "all_trials" not in request.fixturenames:
        monkeypatch.setattr(trials, "_N_SPLITS", 2)
        monkeypatch.setattr(trials, "FACTORS", (0.5, 1.0))


def classifier(**params):
    return PATEClassifier(**{"epsilon": 1.0, "classes": [0, 1], "random_state": 0, **params})


def planned(estimator, X=X, y=Y, **given):
    return estimator.plan(X, y, **{"X_public": X_PUBLIC, "y_public": Y_PUBLIC, **given})


@pytest.fixture
def default_plan(few_trials):
    """Return the plan of a classifier with default parameters, made once for all tests."""
    if not MADE:
        MADE.append(planned(classifier()))
    return MADE[0]


MADE = []


def scores(plan):
    return [(trial.epsilon, trial.method, trial.score, trial.auc) for trial in plan.trials]


# --- the forecast --------------------------------------------------------------------------------


@pytest.mark.slow
@cases("method", "neighbors", "sums")
def test_trials_interval_contains_the_accuracy_of_fits(
    method, global_random_seed, all_trials, monkeypatch
):
    monkeypatch.setattr(trials, "FACTORS", (1.0,))  # numbers of other epsilons are not used here
    clf = classifier(method=method, epsilon=0.5, random_state=global_random_seed)
    (trial,) = [trial for trial in planned(clf).trials if trial.epsilon == 0.5]
    for seed in range(4):
        fitted = clf.set_params(random_state=seed).fit(X, Y, X_PUBLIC)
        assert trial.score.low <= fitted.score(X_TEST, Y_TEST) <= trial.score.high
    assert 0.5 < trial.score.low and trial.score.high - trial.score.low < 0.3
    assert 0.5 < trial.auc.mean < 1.0


@pytest.mark.slow
def test_trials_are_more_accurate_at_larger_epsilons(all_trials):
    found = planned(classifier(method="neighbors", epsilon=0.05, on_bad_plan="warn")).trials
    assert [trial.epsilon for trial in found] == pytest.approx([0.0125, 0.025, 0.05, 0.1, 0.2])
    assert found[-1].score.mean > found[0].score.mean + 0.05
    assert {trial.n_failed for trial in found} == {0}


@cases("method", "neighbors", "sums")
def test_trials_of_a_regressor_forecast_r2(method):
    reg = PATERegressor(bounds=(-6, 6), epsilon=1.0, method=method, random_state=0)
    public, numbers = ROWS[3000:5000], NUMBERS[3000:5000]
    plan = planned(reg, y=NUMBERS[:3000], X_public=public, y_public=numbers)
    fitted = reg.fit(X, NUMBERS[:3000], public)
    trial = plan.trials[1]
    assert trial.score_name == "R2" and trial.auc is None
    assert trial.score.mean == pytest.approx(fitted.score(ROWS[5000:], NUMBERS[5000:]), abs=0.1)
    assert "R2          " in str(plan) and "accuracy" not in str(plan)


@cases("params", {"classes": None}, {"classes": None, "method": "sums"})
def test_trials_find_classes_that_are_not_declared(params):
    found = planned(classifier(**params)).trials
    assert [trial.n_failed for trial in found] == [0, 0]
    assert all(trial.score.mean > 0.6 for trial in found)


@cases("method", "neighbors", "sums")
def test_trials_use_the_class_weight(method):
    share = []
    for weight in (None, {0: 1.0, 1: 1000.0}):
        plan = planned(classifier(class_weight=weight, method=method))
        share.append(plan.trials[-1].score.mean)
    # With this weight, nearly all rows are predicted as class 1, so half of them correctly
    assert share[0] > 0.7 and share[1] < 0.65


def test_trials_of_a_regressor_find_bounds():
    reg = PATERegressor(epsilon=4.0, random_state=0)
    found = planned(reg, y=NUMBERS[:3000], y_public=NUMBERS[3000:3600]).trials
    assert found[-1].score.mean > 0.5 and found[-1].n_failed == 0


def test_trials_that_fail_are_counted_with_their_error():
    plan = planned(classifier(classes=None, epsilon=0.001, on_bad_plan="warn"))
    trial = plan.trials[0]
    assert trial.n_failed == 2 and math.isnan(trial.score.mean)
    assert "a classifier needs at least 2 classes" in trial.error
    assert "2 of 2 trials failed (ValueError" in " ".join(str(plan).split())


@cases(
    "params",
    {"method": "neighbors"},
    {"method": "sums"},
    {"aggregator": GaussianMechanism()},
    {"method": ReverseNeighbors(relation="add_or_remove_one")},
    {"method": "neighbors", "epsilon": 3.0},
)
def test_trials_have_the_noise_of_the_fit_in_proportion_to_records(params, monkeypatch):
    fits = []

    def fitted(*given):
        fits.append(real(*given))
        return fits[-1]

    real = trials._fitted
    monkeypatch.setattr(trials, "_fitted", fitted)
    monkeypatch.setattr(trials, "FACTORS", (1.0,))
    plan = planned(classifier(**params))
    n_records = plan.method_summary.n_records or len(X_PUBLIC)
    expected = plan.noise_std * plan.trials[0].n_records / n_records
    for fit in fits:
        assert fit.aggregator_.noise_std == pytest.approx(expected, rel=1e-3)


def test_trials_choose_class_sums_for_a_rare_class():
    # Cells explain enough in three columns, so the method depends on the share of the classes
    rows = np.random.default_rng(0).normal(size=(3600, 3))
    rare = (rows[:, 0] > 1.9).astype(int)
    given = {"X": rows[:3000], "y": rare[:3000], "X_public": rows[3000:]}
    plan = planned(classifier(), **given, y_public=rare[3000:])
    assert plan.method_summary.name == "ReverseNeighbors"
    assert [trial.method for trial in plan.trials] == ["ClassSums"] * 2
    assert "by ClassSums" in str(plan)


def test_score_forecast_is_students_interval():
    found = ScoreForecast.of([0.7, 0.9, math.nan])
    # The quantile of two values is 12.706, and their standard deviation 0.1414
    assert found.mean == pytest.approx(0.8) and found.low == pytest.approx(0.8 - 2.2007, abs=1e-3)
    assert found.high == 1.0
    assert math.isnan(ScoreForecast.of([0.5]).low) and math.isnan(ScoreForecast.of([]).mean)


# --- no private value ----------------------------------------------------------------------------


@cases("params", {}, {"classes": None}, {"method": "sums"})
def test_trials_are_independent_of_private_values(params, default_plan):
    one = planned(classifier(**params)) if params else default_plan
    other_rows = np.random.default_rng(5).exponential(size=X.shape)
    two = planned(classifier(**params), X=other_rows, y=1 - Y * 0)
    assert scores(one) == scores(two) and str(one) == str(two)
    assert one._repr_html_() == two._repr_html_() and one.trials != ()


def test_trials_are_independent_of_a_private_number_of_records():
    clf = classifier(method=ReverseNeighbors(relation="add_or_remove_one"))
    one, two = planned(clf), planned(clf, X=X[:1200], y=Y[:1200])
    assert scores(one) == scores(two) and str(one) == str(two)
    assert "600 records, as many as public rows" in " ".join(str(one).split())


@pytest.mark.slow
def test_trials_of_groups_use_the_number_of_public_rows():
    groups = np.arange(len(X)) // 2
    one = planned(classifier(unit="group"), groups=groups)
    two = planned(classifier(unit="group"), X=X[:900], y=Y[:900], groups=groups[:900])
    assert scores(one) == scores(two) and one.trials != ()


def test_trials_share_no_seed_with_a_fit(monkeypatch):
    keys = []

    def drawn(cls, rows, labels, seed):
        keys.append(seed.spawn_key)
        return real(rows, labels, seed)

    real = trials._Split.sampled
    monkeypatch.setattr(trials._Split, "sampled", classmethod(drawn))
    planned(classifier())
    of_fits = {stream.spawn_key for stream in seeds.seed_streams(0).values()}
    assert len(keys) == 2 and not of_fits & set(keys)


@pytest.mark.slow
def test_trials_follow_random_state_and_leave_a_generator_unchanged(default_plan):
    expected = scores(default_plan)
    assert scores(planned(classifier())) == expected
    assert scores(planned(classifier(random_state=1))) != expected
    generator, same = np.random.RandomState(3), np.random.RandomState(3)
    planned(classifier(random_state=generator))
    classifier(random_state=same).plan(X, Y, X_PUBLIC)
    assert generator.randint(2**31) == same.randint(2**31)


def test_trials_spend_nothing_and_leave_the_estimator_unfitted(ledger):
    clf = classifier(ledger=ledger, random_state=None)
    before = vars(clf).copy()
    plan = planned(clf)
    assert len(plan.trials) == 2 and vars(clf) == before
    assert not hasattr(clf, "student_") and ledger.epsilon_spent == 0


def test_trials_do_not_use_up_the_warning_about_seeds():
    seeds._has_warned.clear()
    clf = classifier()
    planned(clf)
    with pytest.warns(UserWarning, match="the noise follows from a random_state"):
        clf.fit(X, Y, X_PUBLIC)


# --- arguments -----------------------------------------------------------------------------------


@cases(
    "given, words",
    ({"y_public": Y_PUBLIC[:-1]}, "one label for each row of X_public; got 599, and 600 rows"),
    ({"y_public": Y_PUBLIC + 5}, r"y_public has labels that are not in classes: \[5, 6\]"),
    ({"X_public": None, "y_public": Y_PUBLIC}, "X_public is missing"),
    (
        {"y_public": np.column_stack([Y_PUBLIC, Y_PUBLIC])},
        "y_public has several columns, but plans try fits for one target only",
    ),
)
def test_plan_refuses_invalid_public_labels(given, words):
    with pytest.raises(ValueError, match=words):
        planned(classifier(), **given)


def test_plan_refuses_missing_public_numbers():
    missing = np.where(np.arange(600) == 3, np.nan, NUMBERS[3000:3600])
    for bounds in (None, (-6, 6)):
        with pytest.raises(ValueError, match="y_public: Input y contains NaN"):
            planned(PATERegressor(bounds=bounds), y=NUMBERS[:3000], y_public=missing)


def test_plan_refuses_public_labels_of_one_class_if_classes_are_not_declared():
    with pytest.raises(ValueError, match="class"):
        planned(classifier(classes=None), y_public=np.zeros(600, dtype=int))


@cases(
    "params, words",
    ({"n_teachers": 20}, "cannot have as many teachers"),
    ({"aggregator": LaplaceMechanism(5.0)}, "the noise of aggregator is set"),
    ({"epsilon": None, "aggregator": LaplaceMechanism(5.0)}, "epsilon is None"),
)
def test_plan_gives_the_reason_why_nothing_is_tried(params, words):
    plan = planned(classifier(**params))
    assert plan.trials == () and words in plan.trials_note
    assert words in " ".join(str(plan).split()) and words in plan._repr_html_()


def test_plan_accepts_public_data_in_any_form(default_plan):
    given = {"X_public": PublicData(X_PUBLIC), "y_public": Y_PUBLIC.tolist()}
    assert scores(planned(classifier(), **given)) == scores(default_plan)


def test_plan_without_public_labels_lists_what_it_cannot_see():
    text = " ".join(str(classifier().plan(X, Y, X_PUBLIC)).split())
    assert "how rare a class is, and on whether nearness or sums" in text and "y_public" in text
    reg = PATERegressor(bounds=(-6, 6))
    text = " ".join(str(reg.plan(X, NUMBERS[:3000], X_PUBLIC)).split())
    assert "it depends on whether nearness or sums" in text
