"""Synthetic rows of one fit are public rows of the next: each fit states and pays its own cost."""

import pickle

import numpy as np
import pytest
from conftest import count_fits_from_one, interrupt
from scipy.optimize import brentq
from scipy.stats import norm
from sklearn.datasets import make_classification
from sklearn.naive_bayes import GaussianNB

from sklearn_pate import PATEClassifier
from sklearn_pate.aggregators import GaussianMechanism, LaplaceMechanism
from sklearn_pate.exceptions import BudgetExceededError
from sklearn_pate.ledger import PrivacyLedger
from sklearn_pate.methods import ReverseNeighbors
from sklearn_pate.model_selection import PrivateGridSearchCV
from sklearn_pate.neighbors.smoothing import ReleasedTable
from sklearn_pate.rdp import Contribution
from sklearn_pate.releases.table import TableRelease
from sklearn_pate.synthesis import ClassSumsSynthesizer, MarginalSynthesizer

# One or two bins of a column, by chance of the noise, hold most of its records. Synthetic rows of
# one fit are not distributed like the records of another; tests/test_shift.py has this warning
pytestmark = [
    pytest.mark.filterwarnings("ignore:nearly all records lie in one or two bins"),
    pytest.mark.filterwarnings("ignore:the public rows differ from the private records"),
]

X, Y = make_classification(1500, n_features=4, random_state=0)
UNRELATED_X, UNRELATED_Y = make_classification(1500, n_features=4, random_state=7)
PUBLIC = np.random.default_rng(1).normal(size=(200, 4))
DRAWS = MarginalSynthesizer(bounds=(-4, 4), missing=[], n_rows=200, noise=LaplaceMechanism())


def pate(**params):
    return PATEClassifier(**({"classes": [0, 1], "epsilon": 1.0} | params))


@pytest.fixture(scope="module")
def drawing():
    """A fit that drew its public rows for 0.4 of its epsilon of 1."""
    return pate(synthesizer=DRAWS).fit(X, Y)


# --- given as X_public ----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1.0, 0.3])
def test_synthetic_rows_of_another_fit_cost_nothing(drawing, epsilon):
    rows = pickle.loads(pickle.dumps(drawing)).X_synthetic_
    clf = pate(epsilon=epsilon, method="neighbors").fit(UNRELATED_X, UNRELATED_Y, X_public=rows)
    spents = [clf.privacy_spent_]
    for given in (drawing.X_synthetic_, rows[::-1], rows[:150]):
        spents.append(clf.plan(UNRELATED_X, UNRELATED_Y, X_public=given).spent)
    for spent in spents:
        assert spent.epsilon == epsilon and spent.delta == 0
        assert (spent.n_synthetic, spent.not_covered) == (0, ())
    assert clf.aggregator_.scale == pytest.approx(2 / epsilon)  # all of epsilon is for votes


@pytest.mark.slow
def test_synthetic_rows_of_another_fit_carry_no_statistics():
    rows = pate(
        synthesizer=ClassSumsSynthesizer((-4, 4), missing=[], n_rows=200, epsilon_fraction=0.25),
        epsilon=4.0,
    ).fit(X, Y)
    clf = pate(epsilon=4.0).fit(UNRELATED_X, UNRELATED_Y, X_public=rows.X_synthetic_)
    assert type(clf.table_) is ReleasedTable


@pytest.mark.slow
def test_synthetic_rows_of_another_fit_are_public_to_searches_and_students(
    drawing, few_units_are_scored
):
    rows = drawing.X_synthetic_
    search = PrivateGridSearchCV(pate(), {"method__n_cells": [8]}, epsilon=3, n_trials=2)
    search.estimator.method = ReverseNeighbors()
    for given in ({}, {"X_val": rows, "y_val": np.arange(len(rows)) % 2}):
        spent = search.fit(X, Y, X_public=rows, **given).privacy_spent_
        assert (spent.n_synthetic, spent.not_covered) == (0, ())
    clf = pate().fit(X, Y, X_public=PUBLIC).fit_student(rows)
    assert clf.privacy_spent_.not_covered == ()


class Fixed(MarginalSynthesizer):
    """Releases noisy histograms, and returns fixed rows."""

    def draw(self, published, rng):
        super().draw(published, rng)
        return PUBLIC.copy()


@pytest.mark.slow
def test_statement_does_not_depend_on_earlier_fits():
    def statement(**params):
        count_fits_from_one()
        spent = pate(random_state=3, **params).fit(X, Y, X_public=PUBLIC).privacy_spent_
        return spent.to_dict(), spent.summary()

    teachers = {"base_estimator": GaussianNB(), "n_teachers": 50, "on_bad_plan": "warn"}
    before = statement(), statement(**teachers)
    sampled = pate(synthesizer=Fixed(bounds=(-4, 4), missing=[], n_rows=200)).fit(X, Y)
    np.testing.assert_array_equal(sampled.X_synthetic_, PUBLIC)
    pickle.loads(pickle.dumps(pate(synthesizer=DRAWS).fit(X, Y)))
    assert (statement(), statement(**teachers)) == before


# --- what adds up ---------------------------------------------------------------------------------


@pytest.fixture
def of_pure_fits(tmp_path):
    return PrivacyLedger(tmp_path / "fits.sqlite", epsilon=9.0, composition="pure")


@pytest.mark.slow
def test_ledger_adds_the_rows_of_an_earlier_fit(of_pure_fits):
    clf = pate(synthesizer=DRAWS, ledger=of_pure_fits).fit(X, Y)
    clf.set_params(synthesizer=None).fit(X, Y, X_public=clf.X_synthetic_)
    assert of_pure_fits.history()["epsilon"].tolist() == pytest.approx([1.0, 1.0])
    assert of_pure_fits.epsilon_spent == pytest.approx(2.0)


def test_ledger_adds_the_rows_of_an_interrupted_fit(of_pure_fits, monkeypatch):
    clf = pate(synthesizer=DRAWS, ledger=of_pure_fits)
    with monkeypatch.context() as patch:
        patch.setattr(TableRelease, "gather", interrupt)
        with pytest.raises(KeyboardInterrupt) as caught:
            clf.fit(X, Y)
    of_rows = caught.value.privacy_spent
    assert of_rows.covers == "rows" and 0.38 < of_rows.epsilon <= 0.4
    assert "published as X_synthetic_. With warm_start=True" in caught.value.__notes__[0]
    clf.set_params(synthesizer=None, method="neighbors").fit(X, Y, X_public=clf.X_synthetic_)
    spent = clf.privacy_spent_
    assert (spent.epsilon, spent.n_synthetic, spent.not_covered) == (1.0, 0, ())
    assert of_pure_fits.history()["epsilon"].tolist() == pytest.approx([0.4, 1.0])
    assert of_pure_fits.epsilon_spent == pytest.approx(1.4)


def test_statement_names_the_synthetic_rows_of_other_fits(drawing):
    clf = pate().fit(X, Y, X_public=drawing.X_synthetic_)
    for spent in (clf.privacy_spent_, drawing.privacy_spent_):
        text = spent.summary()
        assert "Other fits on the same private data are not covered" in text
        assert "nor are synthetic rows that they published" in text
        assert "whether they are public rows here or not: their costs add up." in text


# --- votes carry the cost of the rows that poll drew ----------------------------------------------


def test_votes_carry_the_cost_of_their_rows_to_another_estimator():
    votes = pate(synthesizer=DRAWS).poll(X, Y)
    clf = pate().fit_votes(votes)
    spent = clf.privacy_spent_
    assert (spent.epsilon, spent.n_synthetic, spent.not_covered) == (1.0, 200, ())
    cost = clf.aggregator_.cost(Contribution.of_counts(2))
    assert cost.pure == pytest.approx(0.6)  # 0.4 went to the rows
    counts = np.tile([[40, 10], [10, 40]], (100, 1))
    assert pate().fit_votes(counts, votes.synthesis.rows).privacy_spent_.n_synthetic == 0


def test_votes_on_equal_rows_carry_the_cost_of_their_own_rows():
    grid = (X[:, :1] > 0).astype(int)
    costs = []
    for scale in (1.0, 40.0):  # the second draw is cheaper, and of the same two values
        one = MarginalSynthesizer(
            categories={0: [0, 1]}, missing=[], n_rows=20, noise=LaplaceMechanism(scale)
        )
        votes = pate(synthesizer=one, epsilon=9.0).poll(grid, Y)
        costs.append((votes, votes.synthesis.synthesizer.event(votes.neighbors).cost().pure))
    assert costs[0][1] > 8 * costs[1][1]
    for votes, of_rows in costs:
        clf = pate(epsilon=9.0, aggregator=LaplaceMechanism(2.0)).fit_votes(votes)
        assert clf.privacy_spent_.epsilon == pytest.approx(of_rows + 1.0)


# --- fit_votes under the plan of poll, and under another ------------------------------------------

SUMS = ClassSumsSynthesizer((-4, 4), missing=[], n_rows=200, epsilon_fraction=0.25)


def gaussian_delta(epsilon, mu):
    """Delta of the Gaussian mechanism (Balle, Wang 2018, theorem 8)."""
    return norm.cdf(mu / 2 - epsilon / mu) - np.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["neighbors", "teachers"])
def test_fit_votes_with_the_parameters_of_poll_has_its_plan(method):
    clf = pate(synthesizer=SUMS, method=method, on_bad_plan="warn")
    planned = clf.plan(X, Y).spent
    votes = clf.poll(X, Y)
    for _ in range(2):  # a second call has the same plan, which was fixed before the rows
        spent = clf.fit_votes(votes).privacy_spent_
        stated = (spent.epsilon, spent.delta, spent.composition)
        assert stated == (planned.epsilon, planned.delta, planned.composition)


@pytest.mark.parametrize(
    "changed",
    [{"epsilon": 2.0}, {"delta": 1e-4}, {"aggregator": GaussianMechanism()}],
    ids=["epsilon", "delta", "aggregator"],
)
def test_fit_votes_under_another_plan_adds_both_guarantees(changed):
    clf = pate(synthesizer=SUMS, method="neighbors", on_bad_plan="warn")
    votes = clf.poll(X, Y)
    spent = clf.set_params(**changed).fit_votes(votes).privacy_spent_
    mu = np.sqrt(votes.synthesis.cost.mu_squared)
    of_rows = brentq(lambda epsilon: gaussian_delta(epsilon, mu) - clf.delta / 2, 1e-6, 50)
    left = clf.epsilon - of_rows
    assert spent.composition == "sum" and spent.epsilon == pytest.approx(clf.epsilon, rel=1e-6)
    contribution = Contribution.of_counts(2)
    cost = clf.aggregator_.cost(contribution)
    if isinstance(clf.aggregator_, GaussianMechanism):
        assert spent.delta == pytest.approx(clf.delta)
        of_labels = np.sqrt(cost.mu_squared)
        assert gaussian_delta(left, of_labels) == pytest.approx(clf.delta / 2, rel=1e-4)
    else:
        assert spent.delta == pytest.approx(clf.delta / 2)
        assert cost.pure == pytest.approx(left, rel=1e-6)


def test_noise_under_another_plan_exceeds_that_of_one_plan():
    """One plan of Gaussian rows and Laplace votes claims less than their sum."""
    clf = pate(synthesizer=SUMS, method="neighbors", on_bad_plan="warn")
    votes = clf.poll(X, Y)
    together = clf.fit_votes(votes).aggregator_.scale
    clf.set_params(delta=1.0001e-5).fit_votes(votes)
    assert clf.privacy_spent_.composition == "sum" and clf.aggregator_.scale > together


def test_fit_votes_refuses_a_cap_that_the_rows_use_up():
    clf = pate(synthesizer=SUMS, method="neighbors", on_bad_plan="warn")
    votes = clf.poll(X, Y)
    mu = np.sqrt(votes.synthesis.cost.mu_squared)
    of_rows = brentq(lambda epsilon: gaussian_delta(epsilon, mu) - 5e-6, 1e-6, 50)
    clf.set_params(epsilon=of_rows * 0.999)
    message = "differs from the plan of poll.*leaves no epsilon for labels"
    with pytest.raises(BudgetExceededError, match=message):
        clf.fit_votes(votes)


def test_ledger_without_the_rows_refuses_labels_under_another_plan(tmp_path):
    """One entry would count as one plan: (1.7, 1e-5) would hold Laplace or Gaussian labels."""
    votes = pate(synthesizer=SUMS, method="neighbors", on_bad_plan="warn").poll(X, Y)
    ledger = PrivacyLedger(tmp_path / "late.sqlite", epsilon=1.7)
    clf = pate(method="neighbors", on_bad_plan="warn", ledger=ledger, epsilon=1.5)
    with pytest.raises(
        ValueError, match="the ledger must already have an entry for the synthetic rows"
    ):
        clf.fit_votes(votes)
    assert len(ledger.history()) == 0
    clf.set_params(epsilon=1.0).fit_votes(votes)  # the plan of poll
    assert len(ledger.history()) == 1


def test_ledger_adds_labels_under_another_plan_once(tmp_path):
    ledger = PrivacyLedger(tmp_path / "mixed.sqlite", epsilon=9.0, delta=1e-3)
    clf = pate(synthesizer=SUMS, method="neighbors", on_bad_plan="warn", ledger=ledger)
    votes = clf.poll(X, Y)
    clf.set_params(epsilon=3.0).fit_votes(votes)
    of_rows, of_labels = ledger.history()["epsilon"]
    pure = clf.aggregator_.cost(Contribution.of_counts(2)).pure
    assert 0.99 * pure < of_labels <= pure  # at the delta of the ledger
    assert of_rows < 0.26 < of_labels
