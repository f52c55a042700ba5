"""The auditor of fits that draw their public rows: what a record adds to them."""

import numpy as np
import pytest
from conftest import cases
from draws import Constant
from sklearn.base import BaseEstimator, clone
from sklearn.dummy import DummyClassifier

from sklearn_pate import PATEClassifier
from sklearn_pate.aggregators import LaplaceMechanism
from sklearn_pate.audit import Canaries, audit_estimator
from sklearn_pate.neighbors import ReverseNeighbors
from sklearn_pate.rdp.table import GRID
from sklearn_pate.synthesis import MarginalSynthesizer, schema

N_CANARIES = 250
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:the noise drowns")]


class InRows(BaseEstimator):
    """Fits to a table that it makes of the labels, so that a canary's bit is in its row."""

    def __init__(self, classifier, table_of, random_state=None):
        self.classifier, self.table_of = classifier, table_of
        self.random_state = random_state

    def fit(self, X, y, X_public):
        fitted = clone(self.classifier).set_params(random_state=self.random_state)
        fitted.fit(self.table_of(y), np.arange(len(y)) % 2, X_public)
        self.privacy_spent_ = fitted.privacy_spent_
        self.X_synthetic_ = fitted.X_synthetic_
        return self


def pate(synthesizer, epsilon):
    """Nearly all of epsilon is for the rows."""
    given = {"synthesizer": synthesizer.set_params(share=0.98), "student": DummyClassifier()}
    return PATEClassifier(ReverseNeighbors(n_cells=2), epsilon=epsilon, classes=[0, 1], **given)


def audit_of_rows(classifier, table_of, y, *, attack, n_canaries=N_CANARIES, **given):
    labels = np.tile([0, 1], (n_canaries, 1))
    canaries = Canaries(np.arange(n_canaries), np.zeros((n_canaries, 1)), labels)
    given = {"canaries": canaries, "n_copies": 0, "delta": 0, "random_state": 0, **given}
    X = np.zeros((len(y), 1))
    return audit_estimator(InRows(classifier, table_of), X, y, attack=attack, **given)


# --- counts --------------------------------------------------------------------------------------

N_BESIDE = 4
N_RECORDS = (1 + 2 * N_BESIDE) * N_CANARIES
N_ROWS = 40_000
CODES = list(range(2 * N_CANARIES))


def values_of_bits(y):
    """Each canary has one of two values of its own, in both columns; others have them as well."""
    values = 2 * (np.arange(len(y)) % N_CANARIES) + y
    return np.column_stack([values, values])


def likeliest_of_counts(fitted):
    """Laplace noise says as much of a count wherever it is beyond the two that are possible."""
    evidence = np.zeros(len(CODES))
    for drawn in fitted.X_synthetic_.T:
        counts = np.bincount(drawn, minlength=len(CODES)) / N_ROWS * N_RECORDS
        evidence += np.clip(counts - N_BESIDE, 0, 1)
    return evidence[::2] - evidence[1::2]


def audit_of_counts(epsilon=2.0, **given):
    synthesizer = MarginalSynthesizer(
        categories={0: CODES, 1: CODES}, missing=[], given_label=False, n_rows=N_ROWS
    )
    y = np.repeat(np.arange(1 + 2 * N_BESIDE) % 2, N_CANARIES)
    return audit_of_rows(
        pate(synthesizer, epsilon), values_of_bits, y, attack=likeliest_of_counts, **given
    )


def test_of_honest_counts_a_third_of_the_loss_is_found(global_random_seed):
    found = audit_of_counts(n_runs=12, n_guesses=750, random_state=global_random_seed)
    assert 2 / 3 < found.epsilon <= found.claimed == 2.0


def test_an_unpaid_histogram_is_caught(monkeypatch, global_random_seed):
    """Of the guesses 94 % are right, by 5 standard deviations more than the bound needs."""
    n_tables = MarginalSynthesizer.n_tables.fget
    monkeypatch.setattr(MarginalSynthesizer, "n_tables", property(lambda self: n_tables(self) - 1))
    found = audit_of_counts(n_runs=24, n_guesses=1500, random_state=global_random_seed)
    assert found.claimed == 2.0 and found.refuted


def test_counts_without_noise_are_caught(monkeypatch, global_random_seed):
    def bare(self, table, random_state=None):
        return np.asarray(table) / GRID

    monkeypatch.setattr(LaplaceMechanism, "noisy", bare)
    found = audit_of_counts(n_runs=1, n_guesses=150, random_state=global_random_seed)
    assert found.claimed == 2.0 and found.refuted


# --- the schema ----------------------------------------------------------------------------------

N_COLUMNS = 200
OF_CODES = {"categories": dict.fromkeys(range(N_COLUMNS), [0, 1])}
PLAIN = np.random.default_rng(0).random((400, N_COLUMNS))


def table_of_extremes(y):
    """Each canary may have an extreme value, in a column of its own."""
    X = PLAIN.copy()
    X[np.arange(N_COLUMNS), np.arange(N_COLUMNS)] = np.where(y[:N_COLUMNS], 1e6, 0.5)
    return X


def table_of_codes(y):
    """Each canary may have a value that nobody else has, in a column of its own."""
    X = np.zeros((400, N_COLUMNS), dtype=np.int64)
    X[np.arange(N_COLUMNS), np.arange(N_COLUMNS)] = y[:N_COLUMNS]
    return X


def is_nowhere(is_it):
    return lambda fitted: np.where(is_it(fitted.X_synthetic_).any(axis=0), -1.0, 0.5)


SCHEMAS = cases(
    "table_of, attack, given",
    (table_of_extremes, is_nowhere(lambda X: X > 2), {"bounds": (0, 1)}),
    (table_of_codes, is_nowhere(lambda X: X == 1), OF_CODES),
    ids=["bounds", "categories"],
)


def bounds_read(name, values, bounds, categories):
    bounds[name] = [values.min(), values.max()]


def only_categories_seen(name, values, bounds, categories):
    categories[name] = sorted(set(values))


def categories_in_order_of_records(name, values, bounds, categories):
    categories[name] = list(dict.fromkeys([*values, *categories[name]]))


def looking(monkeypatch, look):
    """Look at the private values of a column before it is made, in silence."""
    make = schema._column

    def column(*given):
        look(*given[:4])
        return make(*given)

    monkeypatch.setattr(schema, "_column", column)


def audit_of_schema(table_of, attack, given, seed):
    synthesizer = MarginalSynthesizer(missing=[], n_rows=300, n_bins=8, **given)
    y = np.arange(400) % 2
    # Noise may hide a value that was there, so what is drawn says more; 25 right ones are above 1
    given = {"attack": attack, "n_canaries": N_COLUMNS, "n_guesses": 25, "random_state": seed}
    return audit_of_rows(pate(synthesizer, 1.0), table_of, y, **given)


@SCHEMAS
def test_a_schema_of_parameters_alone_is_not_refuted(table_of, attack, given, global_random_seed):
    """Guesses are right half of the time: 24 of 25, which is an epsilon of 0.8, once in a million.

    A schema that is read makes all of them right, as the next test shows.
    """
    found = audit_of_schema(table_of, attack, given, global_random_seed)
    assert found.epsilon < 0.75 and not found.refuted


@pytest.mark.filterwarnings("ignore:all .* released labels are of one class")
@pytest.mark.filterwarnings("ignore:what was released is about as likely")
@pytest.mark.filterwarnings("error")
@SCHEMAS
def test_a_schema_that_is_read_in_silence_is_caught(
    monkeypatch, table_of, attack, given, global_random_seed
):
    looking(monkeypatch, bounds_read if "bounds" in given else only_categories_seen)
    found = audit_of_schema(table_of, attack, given, global_random_seed)
    assert found.claimed == 1.0 and found.refuted


# --- the same whatever the records: noise that is constant ----------------------------------------

N_FEW = 20
OF_FEW_CODES = {"categories": dict.fromkeys(range(N_FEW), [0, 1])}


def rows_of_two_tables(table_of, given):
    synthesizer = MarginalSynthesizer(missing=[], n_rows=300, n_bins=8, noise=Constant(), **given)
    drawn = []
    for y in (np.zeros(400, int), np.ones(400, int)):
        clf = pate(clone(synthesizer), 1.0).set_params(aggregator=Constant(), random_state=0)
        drawn.append(clf.fit(table_of(y)[:, :N_FEW], np.arange(400) % 2).X_synthetic_.tobytes())
    return drawn


LOOKS = cases(
    "table_of, given, look",
    (table_of_extremes, {"bounds": (0, 1)}, bounds_read),
    (table_of_codes, OF_FEW_CODES, only_categories_seen),
    (table_of_codes, OF_FEW_CODES, categories_in_order_of_records),
)


@LOOKS
def test_drawn_rows_follow_from_the_release_alone(monkeypatch, table_of, given, look):
    first, second = rows_of_two_tables(table_of, given)
    assert first == second
    looking(monkeypatch, look)
    first, second = rows_of_two_tables(table_of, given)
    assert first != second


# --- without a table of one's own ----------------------------------------------------------------


def test_predictions_can_be_audited_without_public_rows():
    clf = pate(MarginalSynthesizer((0, 1), missing=[], n_rows=300), 1.0)
    given = {"n_copies": 0, "random_state": 0}
    found = audit_estimator(clf, PLAIN[:, :2], np.arange(400) % 2, attack="student", **given)
    assert found.claimed == 1.0 and found.n_guesses == 30 and not found.refuted
    for attack in ("labels", "rates"):
        with pytest.raises(ValueError, match="need n_copies of at least 1"):
            audit_estimator(clf, PLAIN[:, :2], np.arange(400) % 2, attack=attack, **given)
