"""Displays: their numbers against independent computations, and their pictures."""

import functools
import pickle
import types

import matplotlib.pyplot as plt
import numpy as np
import pytest
from conftest import cases, table
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from sklearn_pate import PATEClassifier, rdp
from sklearn_pate.aggregators import (
    ConfidentGNMax,
    GNMax,
    InteractiveGNMax,
    LNMax,
    PluralityVote,
    SoftVote,
)
from sklearn_pate.plotting import (
    AuditDisplay,
    BudgetDisplay,
    LabelAccuracyDisplay,
    MarginDisplay,
    PrivacySpentDisplay,
)

NAMES = np.array(["ant", "bee"])
X, Y = make_classification(
    1200, n_features=5, n_informative=3, flip_y=0.1, class_sep=1.5, random_state=0
)
X_PRIVATE, Y_PRIVATE, X_PUBLIC, Y_PUBLIC = X[:1000], NAMES[Y[:1000]], X[1000:], NAMES[Y[1000:]]
PARAMS = dict(n_teachers=50, epsilon=None, classes=NAMES, random_state=0, student=GaussianNB())
FITS = {
    "calibrated": dict(epsilon=5.0, n_queries=40),
    "GNMax": dict(aggregator=GNMax(8.0), n_queries=130),
    "filter": dict(aggregator=ConfidentGNMax(0.7, 30.0, 8.0), n_queries=200, epsilon=5.0),
    "stages": dict(aggregator=[ConfidentGNMax(0.7, 20.0, 8.0), GNMax(12.0)], n_queries=[20, 15]),
    "ptr": dict(aggregator=GNMax(9.0), n_queries=100, epsilon=5.5, accounting="ptr"),
    "SoftVote": dict(aggregator=SoftVote(8.0), n_queries=20),
    "no noise": dict(aggregator=PluralityVote(), n_queries=20),
}
MARK = "private view: do not publish"


@pytest.fixture(scope="module")
def votes():
    return PATEClassifier(GaussianNB(), **PARAMS).poll(X_PRIVATE, Y_PRIVATE, X_PUBLIC)


@pytest.fixture(scope="module")
def fitted(votes):
    @functools.cache
    def fit(name):
        clf = PATEClassifier(GaussianNB(), **{**PARAMS, **FITS[name]})
        if name == "SoftVote":
            return clf.fit(X_PRIVATE, Y_PRIVATE, X_PUBLIC)
        if name == "filter":
            with (
                pytest.warns(
                    UserWarning, match="epsilon=5 pays for 52 answers to the 200 requested"
                ),
                pytest.warns(UserWarning, match="epsilon=5 paid for .* of the 200 requested rows"),
            ):
                return clf.fit_votes(votes, X_PUBLIC)
        return clf.fit_votes(votes, X_PUBLIC)

    return fit


@pytest.fixture(scope="module")
def three_classes():
    """Return votes of 50 teachers for three classes, and the true labels."""
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=200)
    proba = rng.dirichlet(np.ones(3), size=200) / 2 + np.eye(3)[y] / 2
    return np.array([rng.multinomial(50, p) for p in proba]), y


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def texts(ax):
    """Everything written on the axes."""
    ax.figure.canvas.draw()
    found = ax.findobj(lambda artist: hasattr(artist, "get_text"))
    return " | ".join(artist.get_text() for artist in found)


# --- PrivacySpentDisplay -----------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:the best Renyi order")  # from the curator, of costs near 0
@pytest.mark.parametrize("name", FITS)
def test_privacy_spent_display_ends_at_the_epsilons_of_the_curator(fitted, name):
    clf = fitted(name)
    display = PrivacySpentDisplay.from_estimator(clf)
    assert display.n_queries[-1] == clf.privacy_spent_.n_queries
    assert len(display.n_queries) <= 100 and (np.diff(display.n_queries) > 0).all()
    curves = {
        "exact": display.exact,
        "published": display.bound,
        "data_independent": display.data_independent,
    }
    for bound, curve in curves.items():
        assert curve[-1] == pytest.approx(clf.curator_.epsilon(bound=bound), rel=1e-9)
        assert (np.diff(curve[np.isfinite(curve)]) >= -1e-12).all()
    assert display.published == clf.privacy_spent_.epsilon
    if name != "ptr":
        assert display.data_independent[-1] == pytest.approx(clf.privacy_spent_.epsilon)


@pytest.mark.slow
def test_privacy_spent_display_of_votes_equals_costs_of_first_queries(three_classes):
    counts = three_classes[0][:130]
    display = PrivacySpentDisplay.from_votes(counts, GNMax(8.0), delta=1e-6)
    for i in (0, 57, len(display.n_queries) - 1):
        k = display.n_queries[i]
        for curve, cost in (
            (display.exact, rdp.exact_rdp(GNMax(8.0), counts[:k], rdp.DEFAULT_ORDERS)),
            (display.bound, rdp.gnmax_rdp(counts[:k], 8.0, rdp.DEFAULT_ORDERS)),
        ):
            epsilon, _ = rdp.rdp_to_epsilon(cost.sum(axis=0), 1e-6, rdp.DEFAULT_ORDERS)
            assert curve[i] == pytest.approx(epsilon, rel=1e-9)
        known = rdp.data_independent_epsilon(GNMax(8.0), k, 1e-6, n_teachers=50, n_classes=3)
        assert display.data_independent[i] == pytest.approx(known[0], rel=1e-12)


def test_privacy_spent_display_of_a_filter_is_constant(fitted):
    clf = fitted("filter")
    display = PrivacySpentDisplay.from_estimator(clf)
    assert clf.privacy_spent_.composition == "filter" and (display.data_independent == 5.0).all()


def test_privacy_spent_display_of_a_pickle_draws_the_guarantee_only(fitted):
    clf = fitted("GNMax")
    display = PrivacySpentDisplay.from_estimator(pickle.loads(pickle.dumps(clf)), private=False)
    assert display.exact is None and display.bound is None
    assert display.data_independent[-1] == pytest.approx(clf.privacy_spent_.epsilon)
    assert "rivate" not in texts(display.ax_)


# --- LabelAccuracyDisplay ----------------------------------------------------------------------


@cases(
    "aggregator, name, values",
    (GNMax(), "sigma", [5.0, 40.0]),
    (LNMax(), "gamma", [0.02, 0.3]),
    (ConfidentGNMax(0.7, 10.0, 10.0), "threshold", [0.5, 45]),
)
def test_label_accuracy_display_equals_accuracy_of_draws(
    three_classes, aggregator, name, values, global_random_seed
):
    """Finds an accuracy that is 1.5 points off, in 99 % of runs."""
    votes, y = three_classes
    sweep = {"param_name": name, "param_range": values}
    display = LabelAccuracyDisplay.from_votes(votes, y, aggregator, **sweep)
    n_draws = 400
    for i, value in enumerate(values):
        mechanism = type(aggregator)(**{**aggregator.get_params(), name: value})
        labels = mechanism.aggregate(np.tile(votes, (n_draws, 1)), random_state=global_random_seed)
        answered = labels >= 0
        accuracy = np.mean(labels[answered] == np.tile(y, n_draws)[answered])
        for found, sampled, n in (
            (display.accuracy[i], accuracy, answered.sum()),
            (display.answered[i], answered.mean(), labels.size),
        ):
            assert abs(found - sampled) <= 5.5 * np.sqrt(sampled * (1 - sampled) / n) + 1e-9


def test_label_accuracy_display_refuses_labels_that_do_not_match(fitted, votes):
    from_estimator = LabelAccuracyDisplay.from_estimator
    from_votes = LabelAccuracyDisplay.from_votes
    for draw, given, name, values, reason in (
        (from_estimator, (fitted("GNMax"), Y_PUBLIC[:3]), "sigma", [1], "200 labels; got 3"),
        (from_estimator, (fitted("stages"), Y_PUBLIC), "sigma", [1], "fitted in 2 stages"),
        (from_estimator, (fitted("SoftVote"), Y_PUBLIC), "sigma", [1], "takes the teachers'"),
        (from_votes, (votes.counts, Y[1000:], SoftVote()), "sigma", [1], "takes the teachers'"),
        (from_votes, (votes.counts, Y_PUBLIC, GNMax()), "sigma", [1], "not in classes"),
        (from_votes, (votes.counts, [0, 1], GNMax()), "sigma", [1], "require 200 labels"),
        (from_votes, (votes.counts, Y[1000:], GNMax()), "sigma", [], "param_range is empty"),
    ):
        with pytest.raises(ValueError, match=reason) as error:
            draw(*given, param_name=name, param_range=values)
        assert not any(label in str(error.value) for label in NAMES)


# --- MarginDisplay -----------------------------------------------------------------------------


def test_margin_display_counts_margins(fitted):
    clf = fitted("GNMax")
    display = MarginDisplay.from_estimator(clf)
    margins = np.diff(np.sort(clf.curator_.votes, axis=1)[:, -2:])[:, 0]
    np.testing.assert_array_equal(display.margins, margins)
    assert sum(bar.get_height() for bar in display.bars_) == 130


# --- BudgetDisplay -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(set(FITS) - {"no noise", "ptr"}))
def test_budget_display_fractions_sum_to_one(fitted, name):
    display = BudgetDisplay.from_estimator(fitted(name))
    n_stages = len(FITS[name]["n_queries"]) if isinstance(FITS[name]["n_queries"], list) else 1
    assert display.shares.shape == (n_stages, 2) and (display.shares >= 0).all()
    assert display.shares.sum() == pytest.approx(1)


def test_budget_display_of_a_filter_counts_refunds(fitted):
    clf = fitted("filter")
    display = BudgetDisplay.from_estimator(clf)
    order = np.array([display.order])
    check, answer = (c[0] for c in clf.aggregator_.steps(order, n_teachers=50, n_classes=2))
    spent = clf.privacy_spent_
    checks, answers = check * spent.n_queries, answer * spent.n_answered
    assert spent.n_answered < spent.n_queries
    expected = [checks / (checks + answers), answers / (checks + answers)]
    np.testing.assert_allclose(display.shares, [expected], rtol=1e-6)


@pytest.mark.slow
def test_budget_display_refuses_private_numbers(votes):
    stages = [ConfidentGNMax(0.7, 20.0, 8.0), InteractiveGNMax(0.4, 20.0, 8.0, 0.9)]
    params = {**PARAMS, "aggregator": stages, "epsilon": 3.2, "n_queries": [20, 16]}
    clf = PATEClassifier(GaussianNB(), **params)
    with pytest.warns(UserWarning, match="epsilon=3.2 pays for 22 answers to the 36 requested q"):
        clf.fit_votes(votes, X_PUBLIC)
    assert clf.privacy_spent_.composition == "filter"
    with pytest.raises(ValueError, match="is private, because .*; draw a fit without"):
        BudgetDisplay.from_estimator(clf)


# --- AuditDisplay ------------------------------------------------------------------------------


def audit(epsilon, **more):
    return types.SimpleNamespace(epsilon=epsilon, **more)


def test_audit_display_draws_audits_and_claims():
    results = [audit(0.0, claimed=1.0), audit(1.7, claimed=1.0), audit(0.4, claimed=None)]
    names = ["sound", "broken", "unknown"]
    display = AuditDisplay.from_results(dict(zip(names, results, strict=True)))
    assert display.names == names and [len(bars) for bars in display.bars_] == [2, 1]
    np.testing.assert_array_equal(display.epsilon, [0.0, 1.7, 0.4])
    np.testing.assert_array_equal(display.claimed, [1.0, 1.0, np.nan])
    assert MARK not in texts(display.ax_)


# --- all of them -------------------------------------------------------------------------------

DRAW = {
    "spent": (PrivacySpentDisplay.from_estimator, True),
    "accuracy": (
        lambda clf, **kwargs: LabelAccuracyDisplay.from_estimator(
            clf, Y_PUBLIC, param_name="sigma", param_range=[4, 8], **kwargs
        ),
        True,
    ),
    "margin": (MarginDisplay.from_estimator, True),
    "budget": (BudgetDisplay.from_estimator, False),
}


@table("draw, private", DRAW)
def test_displays_use_given_axes_and_refuse_wrong_estimators(fitted, draw, private):
    figure, ax = plt.subplots()
    display = draw(fitted("GNMax"), ax=ax, alpha=0.5)
    assert display.ax_ is ax and display.figure_ is figure and (MARK in texts(ax)) == private
    if private:
        with pytest.raises(ValueError, match="private, and a pickled or copied estimator"):
            draw(pickle.loads(pickle.dumps(fitted("GNMax"))))
    pytest.raises(NotFittedError, draw, PATEClassifier())
    with pytest.raises(TypeError, match="fitted PATEClassifier or PATERegressor; got Logistic"):
        draw(LogisticRegression())


def test_displays_refuse_wrong_votes():
    for draw in (lambda v: PrivacySpentDisplay.from_votes(v, GNMax(8.0)), MarginDisplay.from_votes):
        pytest.raises(ValueError, draw, [[3, 1], [3, 2]]).match("sum to the number of teachers")
        pytest.raises(ValueError, draw, np.zeros((0, 3), dtype=int)).match("there are no queries")
