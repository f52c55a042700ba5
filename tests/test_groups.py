"""Scores by group: against scikit-learn's and other computations, and groups of every kind."""

import math

import numpy as np
import pandas as pd
import pytest
from conftest import table
from scipy.stats import binomtest
from sklearn.datasets import load_diabetes, load_iris, make_classification
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import accuracy_score, mean_absolute_error, r2_score, roc_auc_score
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from sklearn_pate import PATEClassifier
from sklearn_pate.groups import group_report
from sklearn_pate.plotting import GroupReportDisplay

X_ARRAY, Y = make_classification(900, n_features=4, flip_y=0.2, random_state=0)
X = pd.DataFrame(X_ARRAY, columns=list("abcd")).assign(
    city=np.array(["Oslo", "Bern", "Rome"])[np.arange(900) % 3]
)
X.loc[:29, "city"] = None
FEATURES = list("abcd")


class OnNumbers(LogisticRegression):
    """Learns the numbers alone."""

    def fit(self, X, y):
        return super().fit(X[FEATURES], y)

    def predict(self, X):
        return super().predict(X[FEATURES])

    def predict_proba(self, X):
        return super().predict_proba(X[FEATURES])


CLF = OnNumbers().fit(X[:300], Y[:300])


def test_report_equals_scores_of_scikit_learn_in_each_group():
    report = group_report(CLF, X, Y, by="city")
    assert report.index.tolist() == ["all rows", "Bern", "Oslo", "Rome", "missing"]
    assert report["n_rows"].tolist() == [900, 290, 290, 290, 30]
    for name, row in report.iloc[1:].iterrows():
        mask = X["city"].isna() if name == "missing" else X["city"] == name
        mask = mask.to_numpy(dtype=bool)
        proba = CLF.predict_proba(X[mask])[:, 1]
        assert row["accuracy"] == pytest.approx(accuracy_score(Y[mask], CLF.predict(X[mask])))
        assert row["auc"] == pytest.approx(roc_auc_score(Y[mask], proba))
        assert row["calibration"] == pytest.approx((proba - Y[mask]).mean())


def test_accuracy_interval_is_the_one_of_wilson():
    report = group_report(CLF, X, Y, by="city", confidence=0.9)
    row = report.loc["missing"]
    result = binomtest(round(row["accuracy"] * 30), 30)
    limits = result.proportion_ci(confidence_level=0.9, method="wilson")
    assert (row["accuracy_low"], row["accuracy_high"]) == pytest.approx(tuple(limits))


def test_auc_interval_holds_the_true_auc_in_about_its_share_of_small_groups(global_random_seed):
    """Scores N(1, 1) and N(0, 1): the AUC is Phi(1 / sqrt 2). By chance below .91 once in 1e4."""
    rng = np.random.default_rng(global_random_seed)
    n_groups = 1000
    y = np.tile(np.repeat([0, 1], 12), n_groups)
    score = rng.normal(size=len(y)) + y
    report = group_report(
        LogisticRegression().fit([[-1.0], [1.0]], [0, 1]),
        score[:, None],
        y,
        by=[f"g{k}" for k in np.repeat(np.arange(n_groups), 24)],
    ).iloc[1:]
    true = 0.5 * (1 + math.erf(0.5))
    holds = (report["auc_low"] <= true) & (true <= report["auc_high"])
    assert 0.92 <= holds.mean() <= 0.985


def test_auc_interval_of_perfect_scores_is_wide_in_a_small_group():
    y = np.array([0, 1, 0, 1, 0, 1])
    clf = LogisticRegression().fit(y[:, None], y)
    report = group_report(clf, y[:, None], y, by=np.repeat(["x", "y"], 3))
    assert report["auc"].tolist() == [1, 1, 1]
    assert (report["auc_low"] < [0.8, 0.6, 0.6]).all() and (report["auc_high"] == 1).all()
    assert report["accuracy_low"].iloc[1] < 0.45


def test_scores_that_a_group_does_not_determine_are_missing():
    by = np.repeat(["one row", "one class", "rest"], [1, 9, 890])
    order = np.argsort(Y, kind="stable")
    report = group_report(CLF, X.iloc[order], Y[order], by=by)
    assert report.loc[["one row", "one class"], "auc"].isna().all()
    assert math.isnan(report.loc["one row", "calibration_low"])
    assert report.loc["one row", ["accuracy_low", "accuracy_high"]].notna().all()


def test_numbers_are_binned_by_quantiles_and_few_numbers_are_not():
    report = group_report(CLF, X, Y, by="a", n_bins=3)
    assert report["n_rows"].tolist() == [900, 300, 300, 300]
    gaps = X["a"].where(np.arange(900) >= 100, np.nan).where(np.arange(900) != 200, np.inf)
    with_gaps = group_report(CLF, X, Y, by=gaps, n_bins=2)
    assert with_gaps["n_rows"].tolist() == [900, 400, 399, 101]
    assert with_gaps.index[-1] == "missing"
    few = group_report(CLF, X, Y, by=np.arange(900) % 10)
    assert few.index.tolist() == ["all rows", *map(str, range(10))]
    ties = group_report(CLF, X, Y, by=np.minimum(np.arange(900), 20), n_bins=4)
    assert ties["n_rows"].iloc[1:].sum() == 900


@table(
    "by",
    ("text", np.array(["u", "v"], dtype=object)[np.arange(900) % 2]),
    ("booleans", np.arange(900) % 2 == 0),
    ("categories", pd.Categorical(["v", "u"] * 450, categories=["v", "u", "unused"])),
    ("nullable", pd.array([1, None] * 450, dtype="Int64")),
    ("mixed", np.array([1, "u"], dtype=object)[np.arange(900) % 2]),
    ("dates", pd.to_datetime(["2020-01-01", "2021-01-01"] * 450)),
)
def test_groups_of_every_kind_have_all_rows(by):
    report = group_report(CLF, X, Y, by=by)
    assert report["n_rows"].tolist() == [900, 450, 450]
    assert set(report["accuracy"].iloc[1:]) == {
        accuracy_score(Y[k::2], CLF.predict(X[k::2])) for k in (0, 1)
    }


def test_order_of_categories_is_kept():
    by = pd.Categorical(["high", "low"] * 450, categories=["low", "high"], ordered=True)
    assert group_report(CLF, X, Y, by=by).index.tolist() == ["all rows", "low", "high"]


def test_auc_of_several_classes_is_the_mean_of_each_against_the_others():
    rows, labels = load_iris(return_X_y=True, as_frame=True)
    names = load_iris().target_names[labels]
    clf = GaussianNB().fit(rows[::2], names[::2])
    report = group_report(clf, rows, names, by="sepal width (cm)", n_bins=1)
    proba = clf.predict_proba(rows)
    expected = roc_auc_score(names, proba, multi_class="ovr")
    assert report["auc"].iloc[0] == pytest.approx(expected)
    right = clf.predict(rows) == names
    assert report["calibration"].iloc[0] == pytest.approx((proba.max(axis=1) - right).mean())


def test_labels_that_the_model_never_saw_count_as_errors():
    y = np.where(np.arange(900) < 90, 7, Y)
    report = group_report(CLF, X, y, by=np.arange(900) < 90)
    assert report.loc["True", "accuracy"] == 0 and report.loc["True", "n_rows"] == 90


def test_models_without_probabilities_have_no_calibration():
    clf = LinearSVC().fit(X_ARRAY, Y)
    report = group_report(clf, X_ARRAY, Y, by=0, n_bins=2)
    expected = roc_auc_score(Y, clf.decision_function(X_ARRAY))
    assert report["auc"].iloc[0] == pytest.approx(expected)
    assert report[["calibration", "calibration_low", "calibration_high"]].isna().all(axis=None)
    guess = DummyClassifier().fit(X_ARRAY, Y)
    assert group_report(guess, X_ARRAY, Y, by=0)["auc"].tolist() == [0.5] * 5


def test_regressors_have_r2_and_errors():
    rows, y = load_diabetes(return_X_y=True, as_frame=True)
    reg = LinearRegression().fit(rows[::2], y[::2])
    report = group_report(reg, rows, y, by="sex")
    for k, value in enumerate(sorted(rows["sex"].unique()), start=1):
        mask = rows["sex"] == value
        row, predicted = report.iloc[k], reg.predict(rows[mask])
        assert row["r2"] == pytest.approx(r2_score(y[mask], predicted))
        assert row["mae"] == pytest.approx(mean_absolute_error(y[mask], predicted))
        assert row["bias"] == pytest.approx((predicted - y[mask]).mean())
        assert row["r2_low"] < row["r2"] < row["r2_high"]
        error = np.abs(predicted - y[mask]).std(ddof=1) / math.sqrt(mask.sum())
        assert row["mae_high"] - row["mae"] == pytest.approx(1.959964 * error)
    pd.testing.assert_frame_equal(report, group_report(reg, rows, y, by="sex"))


def test_a_pate_classifier_is_reported_as_any_other():
    clf = PATEClassifier(epsilon=8.0, classes=[0, 1], random_state=0)
    clf.fit(X_ARRAY[:400], Y[:400], X_public=X_ARRAY[400:700])
    rest, y = X_ARRAY[700:], Y[700:]
    report = group_report(clf, rest, y, by=rest[:, 0] > 0)
    assert report["accuracy"].iloc[0] == clf.score(rest, y)
    assert report["n_rows"].tolist() == [200, (rest[:, 0] <= 0).sum(), (rest[:, 0] > 0).sum()]


@table(
    "given, message",
    ("no column", ({"by": "town"}, r"by must be a column of X .*got 'town'. Columns: \['a'")),
    ("length", ({"by": [1, 2]}, "by must have a group for each of 900 rows; got 2")),
    ("bins", ({"by": "a", "n_bins": 0}, "n_bins must be 1 or more; got 0")),
    ("confidence", ({"by": "a", "confidence": 95}, "between 0 and 1; got 95")),
    ("labels", ({"by": "a", "y": [0]}, "y must have a label for each of 900 rows; got 1")),
)
def test_errors_name_the_argument(given, message):
    with pytest.raises(ValueError, match=message):
        group_report(CLF, X, **({"y": Y} | given))


def test_unfitted_models_are_refused():
    with pytest.raises(NotFittedError):
        group_report(LogisticRegression(), X_ARRAY, Y, by=0)


# --- display --------------------------------------------------------------------------------------


def test_display_draws_scores_and_intervals_of_the_report():
    display = GroupReportDisplay.from_estimator(CLF, X, Y, by="city", score="auc")
    report = group_report(CLF, X, Y, by="city")
    pd.testing.assert_frame_equal(display.report, report)
    points, _, (bars,) = display.errorbar_
    assert points.get_xdata().tolist() == report["auc"].iloc[1:].tolist()
    ends = np.array([segment[:, 0] for segment in bars.get_segments()])
    expected = report[["auc_low", "auc_high"]].iloc[1:].to_numpy()
    np.testing.assert_allclose(ends, expected)
    assert display.line_.get_xdata() == [report["auc"].iloc[0]] * 2
    names = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert names == ["Bern (n=290)", "Oslo (n=290)", "Rome (n=290)", "missing (n=30)"]
    assert display.ax_.get_xlabel() == "AUC"


def test_display_has_a_default_score_and_refuses_others():
    assert GroupReportDisplay.from_estimator(CLF, X, Y, by="city").score == "accuracy"
    rows, y = load_diabetes(return_X_y=True)
    reg = LinearRegression().fit(rows, y)
    display = GroupReportDisplay.from_estimator(reg, rows, y, by=1)
    assert display.score == "r2" and display.figure_ is display.ax_.figure
    with pytest.raises(ValueError, match="score must be one of .*'accuracy', 'auc'.*got 'n_rows'"):
        GroupReportDisplay.from_estimator(CLF, X, Y, by="city", score="n_rows")
