"""Statements that anybody can check: their steps, their schema, and `sklearn_pate/verify.py`."""

import ast
import copy
import functools
import importlib.util
import itertools
import json
import math
import re
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import mpmath as mp
import numpy as np
import pytest
from conftest import cases, draws, table
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB
from test_releases import Counts

import sklearn_pate
from benchmarks.verify import exact, plans
from benchmarks.verify.command import false_statements, result
from sklearn_pate import PATEClassifier, PATERegressor, verify
from sklearn_pate.aggregators import (
    ConfidentGNMax,
    ExponentialNMax,
    GaussianMechanism,
    GNMax,
    ImmutableArgmax,
    InteractiveGNMax,
    LaplaceMechanism,
    LNMax,
    PluralityVote,
    SoftVote,
    StableArgmax,
)
from sklearn_pate.exceptions import PrivacyTestError, StudentError
from sklearn_pate.ledger import PrivacyLedger
from sklearn_pate.model_selection import PrivateGridSearchCV
from sklearn_pate.rdp import DiscreteLaplace
from sklearn_pate.synthesis import ClassSumsSynthesizer, MarginalSynthesizer
from sklearn_pate.teachers import Sites

PACKAGE = Path(sklearn_pate.__file__).parent
SCHEMA = json.loads((PACKAGE / "statement.schema.json").read_text())
ROWS = np.random.default_rng(0).normal(size=(1200, 3))
X, X_PUBLIC = ROWS[:800], ROWS[800:].copy()
Y = (X[:, 0] > 0).astype(int)
RANGES = {column: (-3, 3) for column in range(3)}
WIDE = {column: (0, 16_000) for column in range(3)}


# --- a small validator of JSON schemas ------------------------------------------------------------

TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "null": type(None),
}


def problem(value, schema):
    """The fault of a value, or None; for the keywords that the schema uses."""
    known = {"$ref", "$defs", "$schema", "title", "description", "type", "const", "enum", "anyOf"}
    known |= {"required", "properties", "additionalProperties", "items", "pattern"}
    assert set(schema) <= known | {"minimum", "maximum"}, "a keyword without a check here"
    if "$ref" in schema:
        return problem(value, SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]])
    if "anyOf" in schema:
        found = [problem(value, each) for each in schema["anyOf"]]
        return None if None in found else f"{value!r}: {found}"
    kind = schema.get("type")
    if kind and (not isinstance(value, TYPES[kind]) or isinstance(value, bool)):
        return f"{value!r} is no {kind}"
    if "const" in schema and (value != schema["const"] or type(value) is not type(schema["const"])):
        return f"{value!r} is not {schema['const']!r}"
    if value not in schema.get("enum", [value]):
        return f"{value!r} is not in {schema['enum']}"
    if isinstance(value, str) and not re.search(schema.get("pattern", ""), value):
        return f"{value!r} does not match"
    if "minimum" in schema and not value >= schema["minimum"]:
        return f"{value!r} is too small"
    if "maximum" in schema and not value <= schema["maximum"]:
        return f"{value!r} is too large"
    if isinstance(value, list):
        return next(filter(None, (problem(v, schema.get("items", {})) for v in value)), None)
    if isinstance(value, dict):
        missing = set(schema.get("required", ())) - set(value)
        if missing:
            return f"{missing} are missing in {sorted(value)}"
        others = schema.get("additionalProperties", {})
        for name, inner in value.items():
            of_name = schema.get("properties", {}).get(name, others)
            found = f"{name!r} is unknown" if of_name is False else problem(inner, of_name)
            if found:
                return f"{name}: {found}"
    return None


def checked(spent):
    """A statement as read from JSON, after the schema and the checker accept it."""
    statement = json.loads(spent.to_json())
    assert problem(statement, SCHEMA) is None
    lines = verify.report(statement)
    assert lines[-1].startswith("The statement claims epsilon")
    return statement


def steps_in(node):
    """All steps of a statement, nested ones included."""
    if isinstance(node, dict):
        own = [node] if "mechanism" in node else []
        return own + [step for value in node.values() for step in steps_in(value)]
    return [step for value in node for step in steps_in(value)] if isinstance(node, list) else []


# --- all paths of the library ---------------------------------------------------------------------


def pate(base=None, **params):
    given = {"epsilon": 4.0, "classes": [0, 1], "student": GaussianNB(), "on_bad_plan": "warn"}
    return PATEClassifier(base, **(given | params))


def teachers(aggregator=None, **params):
    given = {"n_teachers": 50, "n_queries": 20, "aggregator": aggregator}
    return pate(GaussianNB(), **(given | params))


def public(clf, y=Y, **given):
    return lambda: clf.fit(X, y, X_PUBLIC, **given)


def synthetic(clf, y=Y, **given):
    return lambda: clf.fit(X, y, **given)


def searched(**given):
    search = PrivateGridSearchCV(pate(method="neighbors"), {"class_weight": [None, "balanced"]})
    return search.set_params(epsilon=8.0, n_trials=2, **given)


def polled():
    """Labels with another plan than `poll`, whose rows cost half of delta."""
    rows = {"synthesizer": MarginalSynthesizer(noise=GaussianMechanism(20.0)), "schema": RANGES}
    clf = pate(method="neighbors", **rows)
    votes = clf.poll(X, Y)
    clf.set_params(aggregator=GaussianMechanism(5.0))
    return clf.fit_votes(votes)


@functools.cache
def spent_of(path):
    return PATHS[path][0]().privacy_spent_


def text_of(path):
    return spent_of(path).to_json()


def statement_of(path):
    return json.loads(text_of(path))


PTR = {"accounting": "ptr", "n_queries": 100, "n_teachers": 150, "epsilon": 2.0}


def with_stable_queries():
    """A fit in which no query may be answered; its statement is the same."""
    clf = teachers(StableArgmax(None, max_unstable=1), epsilon=20.0, n_queries=5)
    try:
        return clf.fit(X, Y, X_PUBLIC)
    except StudentError as error:
        return SimpleNamespace(privacy_spent_=error.privacy_spent)


def with_private_test():
    """A fit with a private test, which may pass or not; its statement is the same."""
    clf = teachers(GNMax(20.0), **PTR)
    try:
        return clf.fit(X, Y, X_PUBLIC)
    except PrivacyTestError as error:
        return SimpleNamespace(privacy_spent_=error.privacy_spent)


def site(name):
    rows = slice(100 * int(name), 100 * int(name) + 100)
    return X[rows], Y[rows]


GROUPS = np.arange(800) // 2
LABELS = np.column_stack([Y, X[:, 1] > 0]).astype(int)
#: Records with so few labels "yes" that the first round does not find it.
MANY = np.random.default_rng(0).normal(size=(20_000, 2))
TEXTS = np.where(np.arange(20_000) < 600, "yes", "no")
INTERACTIVE = [GNMax(20.0), InteractiveGNMax(0.5, 20.0, 10.0, 0.9)]
#: A fit, its composition, and mechanisms that its statement lists.
PATHS = {
    "neighbors": (public(pate(method="neighbors")), "pure", {"laplace"}),
    "neighbors of groups": (public(pate(method="neighbors"), groups=GROUPS), "pure", {"laplace"}),
    "real noise": (
        public(pate(method="neighbors", aggregator=LaplaceMechanism(noise="continuous"))),
        "pure",
        {"laplace"},
    ),
    "Gaussian table": (
        public(pate(method="neighbors", aggregator=GaussianMechanism())),
        "gaussian",
        {"gaussian"},
    ),
    "sums": (public(pate(method="sums")), "gaussian", {"gaussian"}),
    "classes are found": (public(pate(classes=None)), "sum", {"laplace"}),
    "shares are found": (public(pate()), "sum", {"laplace"}),
    "schema is found": (synthetic(pate(classes=None)), "sum", {"laplace", "gaussian"}),
    "schema is declared": (synthetic(pate(schema=RANGES)), "gaussian", {"gaussian"}),
    "histograms": (
        synthetic(pate(method="neighbors", synthesizer=MarginalSynthesizer())),
        "mixed",
        {"gaussian", "laplace"},
    ),
    "votes on drawn rows": (
        synthetic(pate(method="neighbors", synthesizer=ClassSumsSynthesizer())),
        "mixed",
        {"gaussian", "laplace"},
    ),
    "extra release": (
        public(pate(method="neighbors", releases=[Counts()])),
        "pure",
        {"laplace"},
    ),
    "GNMax": (public(teachers()), "renyi", {"noisy argmax"}),
    "discrete GNMax": (public(teachers(GNMax(None, "discrete"))), "renyi", {"noisy argmax"}),
    "LNMax": (public(teachers(LNMax(None))), "renyi", {"noisy argmax"}),
    "ExponentialNMax": (public(teachers(ExponentialNMax(0.05))), "renyi", {"noisy argmax"}),
    "filter": (
        public(teachers(ConfidentGNMax(0.7, 20.0, 8.0), n_queries=300)),
        "filter",
        {"filter", "noisy argmax"},
    ),
    "stages": (public(teachers(INTERACTIVE, n_queries=[10, 10])), "renyi", {"noisy argmax"}),
    "soft votes": (public(teachers(SoftVote(None))), "renyi", {"gaussian"}),
    "stable": (
        with_stable_queries,
        "pure",
        {"sparse vector"},
    ),
    "private test": (with_private_test, "propose-test-release", {"noisy argmax"}),
    "constant": (
        public(teachers(ImmutableArgmax(5.0, gamma=0.1), epsilon=None)),
        "renyi",
        {"noisy argmax"},
    ),
    "no noise": (public(teachers(PluralityVote(), epsilon=None)), "none", {"stated"}),
    "no cap": (public(teachers(GNMax(20.0), epsilon=None)), "renyi", {"noisy argmax"}),
    "public search": (
        lambda: searched().fit(
            X, Y, X_PUBLIC[:200], X_val=X_PUBLIC[200:], y_val=(X_PUBLIC[200:, 0] > 0).astype(int)
        ),
        "tuning",
        {"best of trials", "laplace"},
    ),
    "private search": (lambda: searched().fit(X, Y, X_PUBLIC), "tuning", {"best of trials"}),
    "range is found": (
        public(PATERegressor(epsilon=4.0), y=X[:, 1]),
        "sum",
        {"laplace", "gaussian"},
    ),
    "numbers of teachers": (
        public(
            PATERegressor(Ridge(), n_teachers=50, n_queries=20, epsilon=4.0, bounds=(-3, 3)),
            y=X[:, 1],
        ),
        "renyi",
        {"gaussian"},
    ),
    "other plan than poll": (polled, "sum", {"gaussian"}),
    "second round": (
        lambda: PATEClassifier(method="neighbors", epsilon=1.0).fit(MANY, TEXTS, MANY[:500] + 0.1),
        "sum",
        {"laplace"},
    ),
    "teachers of several targets": (
        public(teachers(classes=[[0, 1], [0, 1]]), y=LABELS),
        "renyi",
        {"noisy argmax"},
    ),
    "filter of several targets": (
        public(
            teachers(ConfidentGNMax(0.7, 20.0, 8.0), n_queries=300, classes=[[0, 1]] * 2), LABELS
        ),
        "filter",
        {"filter", "noisy argmax"},
    ),
    "several targets": (
        synthetic(pate(classes=None, method="sums", epsilon=8.0), y=LABELS),
        "sum",
        {"laplace", "gaussian"},
    ),
    "several ranges": (
        lambda: PATERegressor(method="neighbors", epsilon=8.0).fit(X, X[:, :2]),
        "sum",
        {"laplace", "gaussian"},
    ),
    "scale is found": (
        lambda: pate(schema=WIDE, method="sums", epsilon=1.0).fit(
            np.abs(ROWS[:1000]), (ROWS[:1000, 0] > 0.6).astype(int)
        ),
        "gaussian",
        {"gaussian"},
    ),
    "records of sites": (
        lambda: pate(classes=None).fit(Sites(site, list("01234567")), None),
        "sum",
        {"laplace", "gaussian"},
    ),
}


#: Paths of each composition that the quick tests check.
QUICK = "neighbors", "sums", "shares are found", "schema is found", "votes on drawn rows"
QUICK += "extra release", "GNMax", "filter", "private test", "no noise", "public search"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "path, composition, mechanisms",
    [
        pytest.param(path, *expected, id=path, marks=[pytest.mark.slow] * (path not in QUICK))
        for path, (_, *expected) in PATHS.items()
    ],
)
def test_statement_of_each_path_is_valid_and_its_claim_holds(path, composition, mechanisms):
    spent = spent_of(path)
    statement = checked(spent)
    assert statement["composition"] == composition
    assert mechanisms <= {step["mechanism"] for step in steps_in(statement["guarantee"])}
    assert len(spent.describe_steps()) >= 2
    found = verify.guarantee_of(statement["guarantee"])
    if spent.epsilon < float("inf"):  # soft votes with discrete noise cost less than is stated
        assert 0.9 * spent.epsilon < float(found.epsilon) <= spent.epsilon * (1 + 1e-8)
    else:
        assert found.epsilon == Decimal("Infinity")


@pytest.mark.filterwarnings("ignore")
@table(
    "path, words",
    {
        "second round": ("second round", ["labels", "labels", "votes"]),
        "several targets": (
            "several targets",
            ["labels", "labels", "bins between", "finer bins", "sums"],
        ),
        "several ranges": (
            "several ranges",
            [*["their bounds were found"] * 4, "bins between", "finer bins", "sums", "votes"],
        ),
        "scale is found": (
            "scale is found",
            ["relative to the bounds", "sums"],
        ),
        "records of sites": ("records of sites", ["labels", "bins between", "finer", "sums"]),
    },
)
def test_statement_lists_every_release(path, words):
    steps = steps_in(statement_of(path)["guarantee"])
    assert len(steps) == len(words)
    for step, each in zip(steps, words, strict=True):
        assert each in step["name"]


@pytest.mark.filterwarnings("ignore")
def test_statement_of_a_failed_fit_lists_only_what_was_published(monkeypatch):
    clf = pate(classes=None, epsilon=2.0)

    def fails(*args, **kwargs):
        raise ValueError("for a test")

    monkeypatch.setattr("sklearn_pate.releases.published_sums.PublishedSumsRelease.gather", fails)
    with pytest.raises(ValueError, match="for a test") as caught:
        clf.fit(X, Y)
    statement = checked(caught.value.privacy_spent)
    assert statement["covers"] == "rows"
    names = [step["name"] for step in steps_in(statement["guarantee"])]
    assert len(names) == 4 and "classes were found" in names[0] and "sums" in names[3]
    monkeypatch.setattr("sklearn_pate.synthesis.ClassSumsSynthesizer._counted", fails)
    with pytest.raises(Exception, match="could not be counted") as caught:
        pate(classes=None, epsilon=2.0).fit(X, Y)
    statement = checked(caught.value.privacy_spent)
    assert statement["covers"] == "statistics" and len(steps_in(statement["guarantee"])) == 3


@pytest.mark.filterwarnings("ignore")
def test_statement_of_a_plan_equals_that_of_its_fit():
    clf = pate(method="neighbors")
    forecast = clf.plan(X, Y, X_PUBLIC).spent
    assert forecast.guarantee == clf.fit(X, Y, X_PUBLIC).privacy_spent_.guarantee
    assert checked(forecast)["kind"] == "forecast"


class OtherNoise(GNMax):
    """The inherited record would state noise that this class does not draw."""

    def _noise(self):
        return super()._noise()

    def bounds(self):
        return super().bounds()


@pytest.mark.filterwarnings("ignore")
def test_statement_has_no_noise_of_a_changed_subclass():
    statement = checked(teachers(OtherNoise(20.0)).fit(X, Y, X_PUBLIC).privacy_spent_)
    (step,) = steps_in(statement["guarantee"])
    assert step["mechanism"] == "stated" and "scale" not in step
    assert any("not rechecked: the cost as a whole" in line for line in verify.report(statement))


def test_statement_contains_no_private_number():
    one = pate(method="neighbors", schema=RANGES, synthesizer=MarginalSynthesizer())
    rows = [X, X[::-1] * 0.5, np.zeros_like(X)]
    texts = {one.fit(own, Y).privacy_spent_.to_json() for own in rows}
    without_number = {re.sub(r'"fit_number": \d+', "", text) for text in texts}
    assert len(without_number) == 1


def test_statement_names_earlier_fits_of_the_ledger(tmp_path):
    ledger = PrivacyLedger(tmp_path / "ledger.sqlite", epsilon=10.0)
    first, second = (
        pate(method="neighbors", ledger=ledger, epsilon=1.0).fit(X, Y, X_PUBLIC).privacy_spent_
        for _ in range(2)
    )
    before = [checked(spent)["ledger"] for spent in (first, second)]
    assert [each["n_fits_before"] for each in before] == [0, 1]
    assert float.fromhex(before[1]["epsilon_before"]) >= 1.0
    assert "had 1 earlier fit with epsilon 1" in second._repr_html_()
    assert any("had 1 earlier fits" in line for line in verify.report(second.to_dict()))


# --- wrong statements -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def statement():
    clf = pate(method="neighbors", epsilon=1.0).fit(X, Y, X_PUBLIC)
    return json.loads(clf.privacy_spent_.to_json())


def refusal(statement):
    with pytest.raises(verify.StatementError) as caught:
        verify.report(statement)
    return str(caught.value)


def test_statement_that_claims_less_is_refused(statement):
    assert "claims epsilon 0.99" in refusal(statement | {"epsilon": 0.99})
    part = statement["guarantee"]
    smaller = part | {"epsilon": (0.99).hex()}
    assert "claims epsilon 0.99" in refusal(statement | {"guarantee": smaller})
    (step,) = part["steps"]
    more = step | {"inverse_scale": (float.fromhex(step["inverse_scale"]) * 1.001).hex()}
    assert "cost 1.001" in refusal(statement | {"guarantee": part | {"steps": [more]}})
    twice = statement | {"guarantee": part | {"steps": [step, step]}}
    assert "cost 2" in refusal(twice)


@pytest.mark.slow
@draws(40, 200)
def test_false_statements_are_refused_and_true_ones_accepted(n_draws):
    rng = np.random.default_rng(1)
    n_false = 0
    for _ in range(n_draws):
        kind, own = plans.random_statement(rng)
        if kind == "branches":
            continue
        found = verify.guarantee_of(own["guarantee"])
        verify.check(own, found)
        best = exact.epsilon(own["guarantee"])
        assert best is None or float(found.epsilon) >= float(best) * (1 - 1e-12)
        for place, false in itertools.islice(false_statements(own, rng), 1):
            n_false += 1
            assert result(false) == math.inf, place
    assert n_false > n_draws / 2


@pytest.mark.slow
def test_statement_of_branches_is_checked():
    _, plan = plans.branches(np.random.default_rng(3))
    part = plans.finished(plan.guarantee)
    found = verify.guarantee_of(part)
    assert "worst branch" in found.how
    assert plan.epsilon * (1 - 1e-9) < float(found.epsilon) <= plan.epsilon * (1 + 2e-9)
    less = part | {"epsilon": (0.999 * plan.epsilon).hex()}
    with pytest.raises(verify.StatementError):
        verify.check(less, verify.guarantee_of(less))


def changed(node, name, factor):
    """A copy of a statement with each number of a name multiplied by a factor."""
    if isinstance(node, dict):
        return {
            key: (float.fromhex(value) * factor).hex()
            if key == name and isinstance(value, str)
            else changed(value, name, factor)
            for key, value in node.items()
        }
    return [changed(value, name, factor) for value in node] if isinstance(node, list) else node


@pytest.mark.filterwarnings("ignore")
@table(
    "path, name, factor, words",
    {
        "noise of sums": ("sums", "noise", 0.99, "noise of the sums is below"),
        "product of rows": ("sums", "least_product", 1.2, "noise of the sums is below"),
        "threshold of labels": ("classes are found", "level", 0.97, "threshold of"),
        "threshold of texts": ("schema is found", "standard_deviations", 0.98, "threshold of"),
        "limit of a filter": ("filter", "limit", 1.01, "claims epsilon"),
        "threshold of runs": ("stable", "threshold", 0.99, "threshold of"),
        "scales of runs": ("stable", "distance_scale", 0.9, "scales of the comparisons"),
        "limit of votes": ("private test", "limit", 1.02, "claims epsilon"),
        "number of trials": ("public search", "mean", 1.2, "claims epsilon"),
        "noise of scores": ("private search", "score_scale", 0.8, "claims epsilon"),
        "check": ("filter", "epsilon", 0.99, "claims epsilon"),
    },
)
def test_changed_number_of_a_statement_is_refused(path, name, factor, words):
    own = statement_of(path)
    verify.report(own)
    assert words in refusal(own | {"guarantee": changed(own["guarantee"], name, factor)})


@pytest.mark.filterwarnings("ignore")
def test_private_test_that_passes_too_often_is_refused():
    test = statement_of("private test")["guarantee"]
    assert test["rule"] == "propose-test-release"
    verify.check(test, verify.guarantee_of(test))
    for place, value in ((0, 1e-3), (50, 0.99)):
        false = copy.deepcopy(test)
        false["pass_probabilities"][place] = value.hex()
        with pytest.raises(verify.StatementError):
            verify.check(false, verify.guarantee_of(false))


@cases(
    "change, words",
    ({"format": 1}, "format 1 is not one of"),
    ({"guarantee": None}, "lists no steps"),
    ({"guarantee": {"rule": "composition", "steps": []}}, "lists no steps"),
    ({"guarantee": {"rule": "sum", "parts": []}}, "lists no steps"),
    ({"guarantee": {"rule": "trust me"}}, "unknown rule 'trust me'"),
    ({"guarantee": {"rule": "composition"}}, "'composition' part of the statement has no 'steps'"),
)
def test_invalid_statement_is_refused(statement, change, words):
    assert words in refusal(statement | change)


@cases(
    "name, value, words",
    ("inverse_scale", "-0x1.0p+0", "is negative"),
    ("inverse_scale", "-0x0.0p+0", "division by zero"),
    ("inverse_scale", "2", "expected a hexadecimal number"),
    ("inverse_scale", "inf", "is not finite"),
    ("inverse_scale", True, "expected a number"),
    ("count", -1, "whole number, at least 1"),
    ("count", 0, "whole number, at least 1"),
    ("count", 1.5, "whole number, at least 1"),
    ("grid", "x", "expected a hexadecimal number"),
    ("delta", "0x0.0p+0", "needs both a threshold and its delta"),
    ("scale", "0x1.0p+9", "unknown 'scale'"),
)
def test_invalid_number_of_a_step_is_refused(statement, name, value, words):
    own = copy.deepcopy(statement)
    own["guarantee"]["steps"][0][name] = value
    assert words in refusal(own)


def place_in(node, *path):
    for key in path:
        node = node[key]
    return node


STEP = ("guarantee", "steps", 0)
ZERO, HALF, LESS = (0.0).hex(), (0.5).hex(), (-3.0).hex()


@pytest.mark.filterwarnings("ignore")
@table(
    "path, place, changes, words",
    {
        "no change": ("neighbors", (*STEP, "contribution"), {"l1": ZERO}, "no unit changes it"),
        "changes": ("neighbors", (*STEP, "contribution"), {"linf": (1e-6).hex()}, "contradict"),
        "class sums": ("sums", (*STEP, "contribution"), {"l2_squared": HALF}, "is too small"),
        "delta above 1": ("neighbors", ("guarantee",), {"delta": (2.0).hex()}, "from 0 to 1"),
        "order": ("GNMax", ("guarantee",), {"renyi_orders": [HALF]}, "order above 1"),
        "Renyi cost": ("GNMax", STEP, {"renyi": {(2.0).hex(): LESS}}, "at least 0"),
        "order of a cost": ("GNMax", STEP, {"renyi": {HALF: ZERO}}, "order above 1"),
        "check": ("LNMax", STEP, {"check_scale": HALF}, "a scale of Gaussian noise"),
        "stated pure cost": ("no noise", STEP, {"pure": LESS}, "at least 0"),
        "stated Gaussian cost": ("no noise", STEP, {"mu_squared": LESS}, "at least 0"),
        "no trial": ("public search", STEP, {"mean": HALF}, "a mean of at least 1"),
        "eta": ("public search", STEP, {"eta": LESS}, "a mean of at least 1"),
        "second order": ("public search", STEP, {"second_orders": [HALF]}, "order above 1"),
        "trial": ("public search", (*STEP, "candidates", 0), {"steps": []}, "lists no steps"),
        "filter": ("filter", STEP, {"steps": []}, "lists no steps"),
        "order of a filter": ("filter", STEP, {"order": HALF}, "order above 1"),
        "order of a test": ("private test", ("guarantee",), {"order": HALF}, "order above 1"),
        "no label": (
            "second round",
            ("guarantee", "parts", 0, "steps", 1, "threshold"),
            {"count": 0},
            "whole number, at least 1",
        ),
        "exact noise": ("real noise", (), {"arithmetic": "exact"}, "a step has real noise"),
        "generator": ("neighbors", (), {"generator": "Seed"}, "generator 'Seed' is not one of"),
        "format": ("neighbors", (), {"format": 2.0}, "format 2.0 is not one of"),
        "delta of the claim": ("neighbors", (), {"delta": 2.0}, "from 0 to 1"),
    },
)
def test_impossible_statement_is_refused(path, place, changes, words):
    own = statement_of(path)
    verify.report(own)
    place_in(own, *place).update(changes)
    assert words in refusal(own)


@pytest.mark.filterwarnings("ignore")
def test_missing_step_is_refused_if_the_claim_is_lowered():
    own = statement_of("extra release")
    _, table_of_votes = own["guarantee"]["steps"]
    own["guarantee"] |= {"steps": [table_of_votes], "epsilon": (3.0).hex()}
    assert "names 2 releases, but lists 1 steps" in refusal(own | {"epsilon": 3.0})


@pytest.mark.filterwarnings("ignore")
def test_empty_branches_are_refused(statement):
    for branches in ([], [[]], [[], statement["guarantee"]["steps"]]):
        step = {"mechanism": "one of several", "name": "no step", "branches": branches}
        with pytest.raises(verify.StatementError, match="lists no steps"):
            verify.cost_of(step)


@pytest.mark.filterwarnings("ignore")
def test_part_of_a_sum_has_no_negative_epsilon(statement):
    """A test that passes almost surely at any distance has a conversion below 0."""
    test = statement_of("private test")["guarantee"] | {"delta": (1 - 1e-6).hex(), "limit": ZERO}
    test |= {"order": (1.01).hex(), "renyi_orders": [], "pass_probabilities": [HALF, HALF]}
    test |= {"epsilon": (-5.5).hex()}
    sums = {"rule": "sum", "epsilon": ZERO, "delta": (1.0).hex()}
    part = sums | {"parts": [test, statement["guarantee"]]}
    assert verify.guarantee_of(test).epsilon == 0
    with pytest.raises(verify.StatementError, match="its steps cost 0"):
        verify.guarantee_of(part)


@pytest.mark.filterwarnings("ignore")
def test_output_names_each_number_that_is_taken_as_stated():
    """Without a note, a pure cost of a query made the whole step nearly free."""
    own = statement_of("GNMax")
    honest = verify.report(own)
    (bound,) = (line for line in honest if line.startswith("With simple bounds instead"))
    simple = float(re.search("epsilon ([0-9.]+)", bound)[1])
    assert own["epsilon"] < simple
    own["guarantee"]["steps"][0]["pure"] = (1e-9).hex()
    own["guarantee"]["epsilon"] = (0.001).hex()
    lines = verify.report(own | {"epsilon": 0.001})
    assert any("not rechecked: pure epsilon 1e-09 of a query" in line for line in lines)
    assert bound.partition(" at delta")[0] in "\n".join(lines)


@pytest.mark.filterwarnings("ignore")
def test_simple_bounds_replace_no_limit():
    for path in ("filter", "private test"):
        lines = verify.report(statement_of(path))
        assert any("not rechecked: " in line for line in lines)
        assert not any("simple bounds" in line for line in lines)


@cases(
    "change, words",
    (lambda t: t.replace('"epsilon": 1.0', '"epsilon": 0.1, "epsilon": 1.0', 1), "occurs twice"),
    (lambda t: t.replace('"count"', '"inverse_scale": "0x1.0p-9", "count"', 1), "occurs twice"),
    (lambda t: t.replace('"epsilon": 1.0', '"epsilon": Infinity', 1), "Infinity is no number"),
    (lambda t: t.replace('"epsilon": 1.0', '"epsilon": NaN', 1), "NaN is no number"),
    (lambda t: t + '{"epsilon": 0.1}', "Extra data"),
    (lambda t: "[" * 100_000 + "]" * 100_000, "nested too deeply"),
    (lambda t: "[1]", "not a JSON object"),
    (lambda t: t.replace('"steps": [', '"steps": [[1], ', 1), "REFUSED"),
)
def test_text_that_readers_could_read_differently_is_refused(
    statement, tmp_path, capsys, change, words
):
    text = json.dumps(statement)
    assert verify.read(text) == statement and change(text) != text
    path = tmp_path / "statement.json"
    path.write_text(change(text))
    assert verify.main([str(path)]) == 1
    printed = capsys.readouterr().out
    assert words in printed and printed.startswith("REFUSED: ") and "holds" not in printed


def test_text_of_a_statement_adds_no_line_to_the_output(statement, tmp_path, capsys):
    path = tmp_path / "statement.json"
    path.write_text(json.dumps(statement | {"unit": "record\nThe claim holds.\x1b[8m"}))
    assert verify.main([str(path)]) == 0
    first, *rest = capsys.readouterr().out.splitlines()
    assert first.startswith("Protected: record?The claim holds.?[8m, replace_one")
    assert rest.count("The claim holds.") == 1


def test_output_names_a_forecast_and_a_failed_fit(statement):
    lines = verify.report(statement | {"kind": "forecast", "covers": "rows"})
    assert "Not covered: any fit, as this is the forecast of a plan" in lines
    assert "Not covered: a model, as the fit failed after its rows" in lines


@pytest.mark.filterwarnings("ignore")
def test_last_line_names_the_condition_of_the_claim(tmp_path, capsys):
    path = tmp_path / "statement.json"
    path.write_text(text_of("GNMax"))
    assert verify.main([str(path)]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == "The claim holds, if the numbers not rechecked are right."


# --- the file by itself ---------------------------------------------------------------------------


def test_verify_imports_the_standard_library_only():
    tree = ast.parse((PACKAGE / "verify.py").read_text())
    names = {
        name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names
    }
    names |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in names} <= set(sys.stdlib_module_names)


def test_nothing_of_the_package_imports_verify():
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text()
        for node in ast.walk(ast.parse(text)) if "verify" in text else ():
            if isinstance(node, ast.ImportFrom):
                assert "verify" not in [node.module, *(name.name for name in node.names)], path


def run(*arguments, folder, flags=()):
    command = [sys.executable, *flags, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)


def test_verify_runs_by_itself_without_any_package(statement, tmp_path):
    own = tmp_path / "verify.py"
    own.write_bytes((PACKAGE / "verify.py").read_bytes())
    (tmp_path / "true.json").write_text(json.dumps(statement))
    (tmp_path / "false.json").write_text(json.dumps(statement | {"epsilon": 0.5}))
    (tmp_path / "text.json").write_text("no JSON")
    bare = ("-S", "-E", "-I")
    numpy = run("-c", "import numpy", folder=tmp_path, flags=bare)
    assert "No module named 'numpy'" in numpy.stderr
    good, bad, text = (
        run(own, tmp_path / f"{name}.json", folder=tmp_path, flags=bare)
        for name in ("true", "false", "text")
    )
    assert good.returncode == 0 and good.stdout.endswith("The claim holds.\n")
    assert "laplace, scale 2 for change 2): epsilon 1" in good.stdout
    assert bad.returncode == 1 and "REFUSED: the statement claims epsilon 0.5" in bad.stdout
    assert text.returncode == 1 and "REFUSED: not a valid statement" in text.stdout
    assert run(own, folder=tmp_path, flags=bare).returncode == 2
    missing = run(own, tmp_path / "none.json", folder=tmp_path, flags=bare)
    assert missing.returncode == 2 and "cannot read" in missing.stderr


def test_verify_compares_the_digest_of_the_model(tmp_path, capsys):
    clf = pate(method="neighbors").fit(X, Y, X_PUBLIC)
    model, other = tmp_path / "model.bin", tmp_path / "other.bin"
    model.write_bytes(b"a model")
    other.write_bytes(b"another model")
    path = tmp_path / "statement.json"
    path.write_text(clf.privacy_spent_.to_json(model))
    assert problem(json.loads(path.read_text()), SCHEMA) is None
    assert verify.main([str(path), str(model)]) == 0
    assert "has the stated SHA-256 digest" in capsys.readouterr().out
    assert verify.main([str(path), str(other)]) == 1
    assert "statement is of another model" in capsys.readouterr().out
    path.write_text(clf.privacy_spent_.to_json())
    assert verify.main([str(path), str(model)]) == 1
    assert "holds no digest" in capsys.readouterr().out
    with pytest.raises(FileNotFoundError):
        clf.privacy_spent_.to_json(tmp_path / "none.bin")


# --- its formulas ---------------------------------------------------------------------------------


def encloses(found, value, digits=17):
    exact_value = mp.mpf(value)
    low, high = mp.mpf(str(found.low)), mp.mpf(str(found.high))
    assert low <= exact_value <= high
    assert high - low <= abs(exact_value) * mp.mpf(10) ** -digits + mp.mpf(10) ** -36


@pytest.fixture
def many_digits():
    with mp.workdps(60):
        yield


def decimal_of(number):
    return verify.interval(Decimal(number))


@cases("x", *np.linspace(-9, 9, 37), 2.999999, 3.0, 40.0, 1e-12)
def test_tail_encloses_the_normal_distribution(many_digits, x):
    encloses(verify.tail(decimal_of(float(x))), mp.erfc(mp.mpf(float(x)) / mp.sqrt(2)) / 2)


@cases("mu", 0.01, 0.3, 1.0, 5.0)
@cases("epsilon", -2.0, -0.1, 0.0, 0.5, 3.0)
def test_gaussian_delta_encloses_the_exact_delta(many_digits, epsilon, mu):
    e, m = mp.mpf(epsilon), mp.mpf(mu)
    value = mp.ncdf(m / 2 - e / m) - mp.exp(e) * mp.ncdf(-m / 2 - e / m)
    found = verify.gaussian_delta(decimal_of(epsilon), decimal_of(mu))
    assert mp.mpf(str(found.low)) <= value <= mp.mpf(str(found.high)) * (1 + mp.mpf("1e-30"))


@cases("times", 1, 2, 5)
def test_mixed_delta_adds_up_the_losses_of_equal_pure_steps(many_digits, times):
    pure, mu, epsilon = 0.3, 0.4, 1.1
    p = 1 / (1 + mp.exp(-mp.mpf(pure)))

    def delta(e):
        m = mp.mpf(mu)
        return mp.ncdf(m / 2 - e / m) - mp.exp(e) * mp.ncdf(-m / 2 - e / m)

    value = mp.fsum(
        mp.binomial(times, k)
        * p ** (times - k)
        * (1 - p) ** k
        * delta(mp.mpf(epsilon) - (times - 2 * k) * mp.mpf(pure))
        for k in range(times + 1)
    )
    found = verify.mixed_delta(*map(decimal_of, (epsilon, pure)), times, decimal_of(mu))
    encloses(found, value)


@cases("order", 1.1, 2.0, 30.5)
@cases("grid", None, 0.25)
def test_renyi_costs_of_laplace_noise_enclose_sums_over_all_values(many_digits, grid, order):
    rate, distance, a = mp.mpf(0.7), mp.mpf(2), mp.mpf(order)
    found = verify.laplace_shift(
        *map(decimal_of, (0.7, 2.0)), None if grid is None else decimal_of(grid), Decimal(order)
    )
    if grid is None:
        value = exact.laplace_shift(rate, distance, a, None)
    else:
        q = mp.exp(-rate * grid)
        steps = round(2 / grid)
        value = mp.log(
            mp.fsum(
                ((1 - q) / (1 + q)) * q ** (abs(k) * a + abs(k - steps) * (1 - a))
                for k in range(-1500, 1500)
            )
        ) / (a - 1)
    encloses(found, value)
    pure = verify.renyi_of_pure(decimal_of(1.4), Decimal(order))
    value = mp.log(mp.cosh((a - 0.5) * mp.mpf(1.4)) / mp.cosh(mp.mpf(1.4) / 2)) / (a - 1)
    encloses(pure, value)


def test_failure_of_noisy_comparisons_equals_simulation():
    """The threshold is exact: one half of a percent lower fails, one higher does not."""
    for n_runs, n_queries, delta in ((1, 1, 1e-4), (1, 50, 1e-6), (20, 3, 1e-3), (3, 1000, 1e-6)):
        stable = StableArgmax(0.3, max_unstable=n_runs, delta=delta)
        record = stable.queries_record("queries", n_queries, n_classes=2, cost=None)
        verify.cost_of(record)
        record["threshold"] = (0.995 * float.fromhex(record["threshold"])).hex()
        with pytest.raises(verify.StatementError, match="too low for its delta"):
            verify.cost_of(record)


def test_discrete_noise_of_a_record_is_that_of_the_sampler():
    """The inverse scale in a record is the exact parameter of the noise on the grid."""
    mechanism = LaplaceMechanism(3.0)
    record = mechanism.step_record("counts", plans.Contribution.of_counts(2))
    noise = mechanism._noise(3.0)
    assert isinstance(noise, DiscreteLaplace)
    rate, grid = (float.fromhex(record[name]) for name in ("inverse_scale", "grid"))
    assert noise.gamma == rate * grid


@pytest.mark.slow
def test_module_is_found_by_its_name(statement, tmp_path):
    assert importlib.util.find_spec("sklearn_pate.verify").origin == str(PACKAGE / "verify.py")
    path = tmp_path / "statement.json"
    path.write_text(json.dumps(statement))
    found = run("-m", "sklearn_pate.verify", path, folder=PACKAGE.parent)
    assert found.returncode == 0 and found.stdout.endswith("The claim holds.\n")


@table("content", {"a pickle": b"\x80\x04\x95", "half a statement": b'{"epsilon": 1'})
def test_file_that_is_not_json_is_refused_by_name(content, tmp_path, capsys):
    path = tmp_path / "model.joblib"
    path.write_bytes(content)
    assert verify.main([str(path)]) == 1
    assert "model.joblib is not a file of JSON" in capsys.readouterr().out
