"""Text of findings, and of the plans that contain them: one sentence for each code."""

import ast
import dataclasses
import math
import pickle
from pathlib import Path

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

import sklearn_pate.report
from sklearn_pate import PATEClassifier, PrivacySpent
from sklearn_pate.accounting import Finding, PrivacyForecast, findings, plan_queries
from sklearn_pate.accounting.findings import LabelLimit, WeakPromise
from sklearn_pate.aggregators import GNMax, LaplaceMechanism, PluralityVote, StableArgmax
from sklearn_pate.report.findings import SENTENCES
from sklearn_pate.report.formats import factor, number
from sklearn_pate.report.statement import summary_of

PUBLIC = {"n_public": 1000, "n_teachers": 250, "n_classes": 10, "epsilon": 1.0, "delta": 1e-5}


def planned(aggregator, n_queries=None, **changes):
    return plan_queries(aggregator, n_queries, **PUBLIC | changes)


def all_kinds(kind=Finding):
    return [kind, *(lower for sub in kind.__subclasses__() for lower in all_kinds(sub))]


def test_each_code_of_a_finding_has_a_sentence_and_each_sentence_a_code():
    codes = [kind.code for kind in all_kinds()[1:]]
    assert len(codes) == len(set(codes)) > 8
    assert set(codes) == set(SENTENCES)


def test_report_imports_nothing_of_the_accounting_when_it_runs():
    files = list(Path(sklearn_pate.report.__file__).parent.glob("*.py"))
    assert len(files) > 5
    for file in files:
        for statement in ast.parse(file.read_text()).body:  # those under TYPE_CHECKING are deeper
            assert "accounting" not in (getattr(statement, "module", "") or "")


@pytest.mark.slow
def test_findings_contain_numbers_and_survive_a_pickle():
    plan = planned(GNMax(None), n_public=60, epsilon=8.0)
    (finding,) = plan.findings
    assert dataclasses.asdict(finding) == {
        "n_classes": 10,
        "n_teachers": 250,
        "labels_per_class": 6.0,
        "n_needed_per_class": 10,
        "remedy": {
            "limit": LabelLimit.PUBLIC_ROWS,
            "n_needed": 100,
            "n_public": 60,
            "is_calibrated": True,
            "are_sites": False,
        },
    }
    assert plan.advice == [str(finding)]
    assert str(pickle.loads(pickle.dumps(plan))) == str(plan)


@pytest.mark.parametrize(
    "n_public, n_queries, sigma, limit, words",
    [
        (5, None, 1.0, LabelLimit.PUBLIC_ROWS, "There are no more public rows; give 100 or more"),
        (900, 4, 1.0, LabelLimit.QUERIES, "No more are requested; use more queries"),
        (900, None, 20.0, LabelLimit.EPSILON, "Epsilon pays for no more (the cost is 0."),
    ],
)
def test_errors_on_few_labels_name_the_limit(n_public, n_queries, sigma, limit, words):
    epsilon = 0.5 if limit is LabelLimit.EPSILON else 1000.0
    plan = planned(GNMax(sigma), n_queries, n_public=n_public, epsilon=epsilon)
    (error,) = findings.errors_of(plan)
    assert error.limit is limit and words in str(error)
    labels = "1 label." if plan.n_labels == 1 else f"{plan.n_labels} labels."
    assert f"cannot learn all classes from {labels}" in str(error)


def test_more_rows_are_no_remedy_if_epsilon_limits_the_labels():
    plan = planned(GNMax(40.0), n_public=90, epsilon=0.5)
    assert plan.n_labels < plan.n_requested == plan.n_public == 90
    (finding,) = (found for found in plan.findings if found.code == "few_labels")
    assert finding.remedy.limit is LabelLimit.EPSILON and "public rows" not in str(finding)


@pytest.mark.parametrize("n_teachers, n_possible", [(1, 0), (2, 0), (20, 9), (21, 10)])
def test_stable_queries_need_fewer_teachers_than_can_change(n_teachers, n_possible, monkeypatch):
    sizes = {"n_teachers": n_teachers, "n_classes": 2, "epsilon": None}
    for n_needed, is_warned in ((n_possible, False), (n_possible + 0.1, True)):
        monkeypatch.setattr(StableArgmax, "stability_needed", lambda self, n, to=n_needed: to)
        found = planned(StableArgmax(1.0, 2), 10, **sizes).findings
        texts = [str(each) for each in found if each.code == "few_stable_queries"]
        assert len(texts) == is_warned
        for text in texts:
            assert f"if {n_possible + 1} teachers can change" in text
            assert f"Of n_teachers={n_teachers} only {n_possible} can, even if all agree" in text


def test_a_delta_of_mechanisms_is_not_called_a_probability():
    with pytest.raises(ValueError, match="a delta of its own, 0.1 in total") as caught:
        planned(StableArgmax(0.5, delta=0.1), 10)
    assert "probability" not in str(caught.value)


def test_a_mechanism_of_records_is_refused_with_the_parameters_to_reset():
    with pytest.raises(ValueError, match="methods of records: set method='neighbors', and leave"):
        planned(LaplaceMechanism(), 10)
    rows = np.random.default_rng(0).normal(size=(600, 2))
    labels = (rows[:, 0] > 0).astype(int)
    clf = PATEClassifier(GaussianNB(), aggregator=LaplaceMechanism(), classes=[0, 1])
    with pytest.raises(ValueError, match="leave base_estimator, n_teachers and all other"):
        clf.set_params(n_teachers=20).plan(rows[:400], labels[:400], rows[400:])
    clf.set_params(method="neighbors", base_estimator=None, n_teachers=None)
    assert clf.plan(rows[:400], labels[:400], rows[400:]).epsilon == 1.0


def test_an_error_on_synthetic_rows_is_no_warning_as_well():
    rows = np.random.default_rng(0).normal(size=(600, 3))
    clf = PATEClassifier(epsilon=1e-3, classes=[0, 1], schema=[(-4, 4)] * 3)
    plan = clf.plan(rows, (rows[:, 0] > 0).astype(int))
    (error,) = plan.errors
    assert "noise on the sums" in error and error not in plan.warnings
    assert str(plan).count("! fit refuses: ") == str(plan).count("! ") == 1


def test_a_weak_promise_is_no_surprise_without_a_cap(recwarn):
    rows = np.random.default_rng(0).normal(size=(600, 2))
    labels = (rows[:, 0] > 0).astype(int)
    clf = PATEClassifier(GaussianNB(), n_teachers=20, n_queries=30, classes=[0, 1], epsilon=None)
    clf.set_params(aggregator=PluralityVote())
    plan = clf.plan(rows[:400], labels[:400], rows[400:])
    assert [type(finding) for finding in plan.findings] == [WeakPromise]
    clf.fit(rows[:400], labels[:400], rows[400:])
    assert not any("no privacy is guaranteed" in str(warning.message) for warning in recwarn)


def test_summary_of_a_forecast_is_that_of_its_statement_with_a_beginning():
    numbers = {"n_teachers": 100, "n_queries": 9, "n_answered": 0}
    forecast = PrivacyForecast(math.inf, 0.0, "none", "record", "replace_one", **numbers)
    assert (forecast.kind, forecast.paid().kind) == ("forecast", "spent")
    beginning, _, guarantee = forecast.summary().partition(": ")
    assert beginning.startswith("A forecast") and guarantee.startswith("No privacy is guaranteed")
    assert isinstance(forecast.paid(), PrivacySpent)
    assert forecast.summary() == summary_of(forecast) != forecast.paid().summary()


# --- numbers as text ------------------------------------------------------------------------------


def test_number_has_no_exponent_where_it_rounds_to_a_thousand():
    texts = [number(value) for value in (999.4, 999.5, 999.9, 1000, -999.9, 0.5)]
    assert texts == ["999", "1,000", "1,000", "1,000", "-1,000", "0.5"]


def test_factor_has_one_or_two_significant_digits():
    for epsilon in np.arange(1.0, 13.8, 0.01):
        text = factor(epsilon)
        assert len(text.strip("0").replace(",", "").replace(".", "").rstrip("0")) <= 2
        value = float(text.replace(",", ""))
        assert value <= math.exp(epsilon) < 1.1 * value
