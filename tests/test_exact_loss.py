"""Statements of whole fits against their exact privacy loss; see `exact_loss`.

The neighboring data sets are chosen so that a true statement exceeds the loss by a few per cent at
most. So a sum that leaves out a step, counts it at half its price, or has all of delta twice is
found without knowing how costs are added.
"""

import contextlib
import copy
import itertools
import math
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from conftest import cases
from exact_loss import RARE, Loss, Recorder, generator_of, loss_of, losses_of
from scipy.special import log_ndtr
from scipy.stats import binom
from sklearn.dummy import DummyClassifier

from sklearn_pate import PATEClassifier, PATERegressor
from sklearn_pate.accounting import RenyiFilter
from sklearn_pate.aggregators import ConfidentGNMax, GaussianMechanism, LaplaceMechanism, LNMax
from sklearn_pate.exceptions import BudgetExceededError, StudentError
from sklearn_pate.fitting import inputs, seeds
from sklearn_pate.ledger import PrivacyLedger
from sklearn_pate.methods import ReverseNeighbors
from sklearn_pate.rdp import Contribution, Event, Neighbors
from sklearn_pate.releases import Release
from sklearn_pate.releases.table import TableRelease
from sklearn_pate.schema_release import ClassRelease, SchemaRelease
from sklearn_pate.schema_release.counts import N_BINS, TEXT, TICKS, schema_contribution, schema_cost
from sklearn_pate.schema_release.estimates import kinds_of
from sklearn_pate.secure import SystemGenerator
from sklearn_pate.synthesis import MarginalSynthesizer

pytestmark = pytest.mark.filterwarnings("ignore")

N = 300
PUBLIC = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]] * 10)
RNG = np.random.default_rng(0)
X = np.where(RNG.random((N, 2)) < 0.5, -1.0, 1.0)
X[0] = 1.0
Y = (X[:, 0] > 0).astype(int)
TEXTS = np.array(["no", "yes"])[Y]


class Counts(Release):
    """The number of records of each class."""

    def __init__(self, scale=None, epsilon_fraction=0.2):
        self.scale, self.epsilon_fraction = scale, epsilon_fraction

    def with_scale(self, scale):
        return type(self)(scale) if self.scale is None else None

    def event(self, neighbors):
        return Event(LaplaceMechanism(self.scale), neighbors.counts(1))

    def gather(self, private):
        return np.bincount(private.codes, minlength=2)[:, None]

    def publish(self, gathered, rng):
        return LaplaceMechanism(self.scale).noisy(gathered, rng)

    def describe(self):
        return "counts"


def replaced(X, y, *records):
    """Return data sets with another first record."""
    found = []
    for row, label in records:
        rows, labels = X.copy(), y.copy()
        labels[0] = label
        if isinstance(rows, pd.DataFrame):
            rows.iloc[0] = row
        else:
            rows[0] = row
        found.append((rows, labels))
    return found


def cells():
    return ReverseNeighbors(n_cells=4, random_state=0)


FIXED = {"random_state": 3, "on_bad_plan": "warn"}


def of_classes(X_public=None, **params):
    """Return a function that fits a classifier, and returns the statement of what was drawn."""

    def fit(X, y):
        given = {"classes": [0, 1], **FIXED} | params
        return spent_by(PATEClassifier(**given).fit, X, y, X_public)

    return fit


def spent_by(fit, *args):
    """Return the statement of a fit, or that of its interruption; None if nothing was spent."""
    try:
        return fit(*args).privacy_spent_
    except KeyboardInterrupt as error:
        return getattr(error, "privacy_spent", None)


def of_numbers(X_public=None, **params):
    def fit(X, y):
        return spent_by(PATERegressor(**FIXED, **params).fit, X, y, X_public)

    return fit


def polled(**params):
    """Votes on synthetic rows, and labels in a later call; the statement covers both."""

    def fit(X, y):
        clf = PATEClassifier(classes=[0, 1], **FIXED, **params)
        votes = clf.poll(X, y)
        return clf.fit_votes(votes, votes.synthesis.rows).privacy_spent_

    return fit


SYNTHESIZER = MarginalSynthesizer((-1, 1))
#: A record in another cell and class; the opposite of the first in the same class.
OTHER, OPPOSITE = [((-1.0, -1.0), 1)], [((-1.0, -1.0), 0)]
FEW = Y.copy()
FEW[0] = 0
DATA = (X, FEW)
#: So many records that the residuals of class sums are released, too; labels follow from nothing.
MORE = (np.tile(X, (10, 1)), np.append(0, RNG.integers(0, 2, 10 * N - 1)))
#: Three classes, and a first record of the rarest.
OF_THREE = (MORE[0], np.append(2, RNG.choice(3, size=10 * N - 1, p=[0.48, 0.48, 0.04])))
FRAME = pd.DataFrame({"number": X[:, 0], "text": np.where(X[:, 1] > 0, "x", "w")})

#: For each path, the fit, the data, other first records, and the least part of the stated epsilon.
PATHS = {
    "cells": (of_classes(PUBLIC, method=cells()), DATA, OTHER, 0.999),
    "cells, Gaussian": (
        of_classes(PUBLIC, method=cells(), aggregator=GaussianMechanism()),
        DATA,
        OTHER,
        0.999,
    ),
    "cells and counts": (
        of_classes(PUBLIC, method=cells(), releases=[Counts()]),
        DATA,
        OTHER,
        0.999,
    ),
    "cells, second round of classes": (
        of_classes(PUBLIC, method=cells(), classes=None),
        (X, TEXTS),
        [((-1.0, -1.0), "no")],
        0.999,
    ),
    "cells, fixed noise, second round of classes": (
        of_classes(PUBLIC, method=cells(), classes=None, aggregator=LaplaceMechanism(6.0)),
        (X, TEXTS),
        [((-1.0, -1.0), "no")],
        0.95,
    ),
    "cells, found classes": (
        of_classes(PUBLIC, method=cells(), classes=None, epsilon=3.0),
        DATA,
        OTHER,
        0.999,
    ),
    "numbers in cells, found range": (
        of_numbers(PUBLIC, method=cells(), epsilon=3.0),
        (X, np.append(1000.0, Y[1:])),
        [((-1.0, -1.0), 0.0)],
        0.9,
    ),
    "sums": (of_classes(PUBLIC, method="sums"), DATA, OPPOSITE, 0.99),
    "sums, found classes": (
        of_classes(PUBLIC, method="sums", classes=None),
        DATA,
        [((1.0, 1.0), 1)],
        0.9,
    ),
    "sums without public rows": (
        of_classes(method="sums", schema=[(-1, 1)] * 2),
        DATA,
        OPPOSITE,
        0.9,
    ),
    "sums and residuals": (
        of_classes(method="sums", schema=[(-1, 0, 1)] * 2),
        MORE,
        [((1.0, 1.0), 1)],
        0.95,
    ),
    "sums and residuals of three classes": (
        of_classes(method="sums", classes=[0, 1, 2], schema=[(-1, 0, 1)] * 2),
        OF_THREE,
        [((-1.0, -1.0), 2), ((1.0, 1.0), 1)],
        0.9,
    ),
    "sums, residuals, estimated schema": (
        of_classes(method="sums"),
        MORE,
        [((1.0, 1.0), 1)],
        0.8,
    ),
    "sums, estimated schema": (of_classes(method="sums"), DATA, OPPOSITE, 0.7),
    "synthetic rows and cells": (
        of_classes(method=cells(), synthesizer=SYNTHESIZER),
        DATA,
        OTHER,
        0.95,
    ),
    "synthetic rows and cells, estimated schema": (
        of_classes(method=cells(), synthesizer=MarginalSynthesizer()),
        DATA,
        OTHER,
        0.85,
    ),
    "synthetic rows and cells in two calls": (
        polled(method=cells(), synthesizer=SYNTHESIZER),
        DATA,
        OTHER,
        0.95,
    ),
}

OF_SUMS = {"method": "sums", "schema": [(-1, 1)] * 2}

#: The epsilon that is asked for, if it is not 1.
EPSILON = {"cells, found classes": 3.0, "numbers in cells, found range": 3.0}


@pytest.mark.parametrize("path", PATHS)
def test_statement_of_a_fit_covers_its_exact_loss(path):
    fit, data, others, part = PATHS[path]
    spent, losses = losses_of(fit, data, replaced(*data, *others))
    if spent.delta == 0:
        assert max(loss.largest for loss in losses) <= spent.epsilon * (1 + 1e-12)
    assert max(loss.delta(spent.epsilon) for loss in losses) <= spent.delta * (1 + 1e-6)
    assert max(loss.epsilon(spent.delta) for loss in losses) > part * spent.epsilon
    limit = EPSILON.get(path, 1.0)
    assert max(loss.epsilon(1e-5) for loss in losses) <= limit * (1 + 1e-9)
    assert spent.epsilon <= limit and spent.delta <= 1e-5


@cases("path", "sums without public rows", "sums and residuals")
def test_statement_of_an_interrupted_fit_covers_its_exact_loss(path):
    """After each draw of noise."""
    fit, data, others, _ = PATHS[path]
    with Recorder() as recorder:
        fit(*data)
    n_draws = len(recorder.found)
    found = []
    for stop in range(1, n_draws + 1):
        spent, (loss,) = losses_of(fit, data, replaced(*data, *others), stop)
        epsilon, delta = (0.0, 0.0) if spent is None else spent
        assert loss.delta(epsilon) <= delta * (1 + 1e-6)
        found.append(loss.epsilon(delta) / epsilon)
    assert n_draws > 4 and found[-1] > 0.9


TEXT_FRAME = FRAME.copy()
TEXT_FRAME.loc[0, "text"] = RARE


@cases(
    "fit, data, other, part",
    (
        of_classes(PUBLIC, method=cells(), classes=None, epsilon=6.0),
        (X, np.append(RARE, TEXTS[1:])),
        ((-1.0, -1.0), "yes"),
        0.2,
    ),
    (
        of_classes(method="sums", epsilon=6.0),
        (TEXT_FRAME, FEW),
        ((-1.0, "w"), 1),
        0.0,
    ),
)
def test_statement_covers_a_rare_text(fit, data, other, part):
    """A label or a text of one record is published with a probability of at most delta."""
    spent, (loss,) = losses_of(fit, data, replaced(*data, other))
    assert 0 < loss.revealed and loss.delta(spent.epsilon) <= spent.delta
    assert loss.revealed > part * spent.delta


@pytest.mark.parametrize("fixed", [{}, {"aggregator": LaplaceMechanism(6.0)}])
def test_statement_covers_the_loss_of_each_outcome_of_the_first_release(fixed):
    """Whether a second round follows is an outcome: the statement may not depend on it."""
    data = (X, TEXTS)
    fit = of_classes(PUBLIC, method=cells(), classes=None, **fixed)
    spent, losses = [], []
    for raised in (0, 10_000):
        with Recorder(raised=raised) as first:
            spent.append(fit(*data))
        with Recorder(first.found) as second:
            fit(*replaced(*data, ((-1.0, -1.0), "no"))[0])
        losses.append(loss_of(first.found, second.found))
    assert [len(loss.shifts) for loss in losses] == [6, 4]  # with a second round, and without
    largest = max(loss.largest for loss in losses)
    assert all(0.9 * each.epsilon < largest <= each.epsilon for each in spent)


def test_class_sums_with_a_release_are_refused_or_within_epsilon():
    given = {"classes": [0, 1], **FIXED, **OF_SUMS, "releases": [Counts()]}
    with pytest.raises(BudgetExceededError, match="together with your releases"):
        PATEClassifier(**given).fit(*DATA)
    fit = of_classes(**OF_SUMS, releases=[Counts(1e5)], epsilon=1.1)
    spent = None
    with contextlib.suppress(BudgetExceededError):
        spent = fit(*DATA)
    assert spent is None or spent.epsilon <= 1.1


# --- single releases and sums of costs -----------------------------------------------------------

ONE = Neighbors(relation="replace_one", unit="record", n_records=60)


def chance_of_class(release):
    """The probability that a label of one record is published, by the size of the noise."""
    beyond = (release.threshold(RARE) - 1) / release.mechanism().scale
    return math.exp(-beyond) / 2


def test_sum_of_two_class_releases_covers_rare_labels_of_both():
    release = ClassRelease(epsilon=3.0, neighbors=ONE, delta=0.2)
    chance = chance_of_class(release)
    total = release.cost.plus(release.cost)
    assert 0.5 * release.delta < chance <= release.cost.delta
    assert 1 - (1 - chance) ** 2 <= total.delta < 0.5


@cases("n_columns, n_steps", (1, None), (3, None), (3, 2))
def test_cost_of_the_schema_covers_rare_texts_of_all_columns(n_columns, n_steps):
    release = SchemaRelease(n_columns=n_columns, mu=1.0, delta=0.01)
    _, sd = release.sd_values(n_trees=0, n_texts=n_columns)
    beyond = (release.threshold(sd) / TICKS - 1) / sd
    revealed = 1 - (1 - math.exp(log_ndtr(-beyond))) ** n_columns
    cost = schema_cost(release, schema_contribution(ONE), n_steps)
    assert 0.9 * cost.delta < revealed <= cost.delta


def test_schema_without_thresholds_publishes_no_texts():
    """A column within bounds has no texts, which no delta pays for."""
    limits = (None, (0.0, 9.0))
    noisy = np.zeros((2, N_BINS))
    noisy[:, TEXT] = 1e4
    kinds = kinds_of(noisy, 1.0, limits)
    assert [kind.is_text for kind in kinds] == [True, False]


@cases(
    "n_laplace, scale, sigma, part",
    (0, 2.0, 9.0, 0.999),
    (1, 2.0, 9.0, 0.9),
    (3, 6.0, 9.0, 0.8),
    (8, 20.0, 12.0, 0.8),
)
def test_cost_of_a_composition_covers_its_exact_loss(n_laplace, scale, sigma, part):
    """Equal Laplace releases, then a Gaussian one; a record changes two counts of each."""
    cost = GaussianMechanism(sigma).cost(Contribution.of_counts(2))
    if n_laplace:
        of_laplace = LaplaceMechanism(scale).cost(Contribution.of_counts(2))
        cost = of_laplace.times(n_laplace).plus(cost)
    loss = Loss(np.full(2 * n_laplace, 1 / scale), 2 / sigma**2, 0.0)
    epsilon, _ = cost.epsilon(1e-5)
    assert loss.delta(epsilon) <= 1e-5 * (1 + 1e-6)
    assert loss.epsilon(1e-5) > part * epsilon


# --- labels of teachers --------------------------------------------------------------------------

LABELS = np.repeat([0, 1], [12, 2])


def labels_of_teachers(y):
    """Each teacher has one record, and votes for its label: 14 teachers, 2 queries of 40 rows."""
    aggregator = LNMax(gamma=0.5, noise="continuous")
    given = {"n_teachers": 14, "n_queries": 2, "epsilon": 2.0, "delta": 1e-9, **FIXED}
    teacher = DummyClassifier(strategy="most_frequent")
    clf = PATEClassifier(teacher, aggregator=aggregator, classes=[0, 1], **given)
    return clf.fit(X[:14], y, PUBLIC)


def test_statement_of_labels_covers_their_exact_loss():
    """Laplace noise of scale 2 on two votes: the probability of the rarer class in closed form."""
    other = LABELS.copy()
    other[0] = 1
    fits = [labels_of_teachers(y) for y in (LABELS, other)]
    spent = fits[0].privacy_spent_
    n_labels = int((fits[0].public_labels_ >= 0).sum())
    rarer = []
    for clf in fits:
        votes = clf.curator_.votes
        assert (votes == votes[0]).all() and len(votes) == n_labels
        gap = 0.5 * abs(float(votes[0, 0] - votes[0, 1]))
        rarer.append((2 + gap) / 4 * math.exp(-gap))
    p, q = np.array([1 - rarer[1], rarer[1]]), np.array([1 - rarer[0], rarer[0]])
    n_rarer = np.arange(n_labels + 1)
    of_p, of_q = (binom.pmf(n_rarer, n_labels, own[1]) for own in (p, q))
    hockey_stick = np.maximum(0, of_p - np.exp(spent.epsilon) * of_q).sum()
    assert n_labels == 2 and hockey_stick <= spent.delta
    assert np.maximum(0, of_p - np.exp(0.8 * spent.epsilon) * of_q).sum() > spent.delta


@cases("sigma, order, delta", (3.0, 8.0, 1e-3), (6.0, 8.0, 0.01))
def test_filter_covers_the_exact_loss_of_every_path(sigma, order, delta):
    """All outcomes of four queries, at all votes of 20 teachers, under a filter for one query."""
    mechanism = ConfidentGNMax(12, sigma1=sigma, sigma2=sigma)
    steps = mechanism.steps(np.array([order]), n_teachers=20, n_classes=2)
    check, answer = (float(cost[0]) for cost in steps)
    limit = (check + answer) * 1.0001
    epsilon = limit + math.log((order - 1) / order) - math.log(delta * order) / (order - 1)
    paths = np.array(list(itertools.product(range(3), repeat=4)))  # 2 is no answer
    queried = [RenyiFilter(order, limit).allow(path < 2, check, answer) for path in paths]
    is_queried = np.arange(4) < np.array(queried)[:, None]
    deltas = []
    for n in range(20):
        votes = [[20 - n, n], [19 - n, n + 1]]
        first, second = (mechanism.outcome_log_proba([own])[0] for own in votes)
        for p, q in ((first, second), (second, first)):
            log_ratio = np.where(is_queried, (q - p)[paths], 0).sum(axis=1)
            proba = np.exp(p[paths].sum(axis=1))
            deltas.append(proba @ np.maximum(0, -np.expm1(epsilon + log_ratio)))
    assert 0.05 * delta < max(deltas) <= delta


def test_labels_under_a_filter_cover_the_exact_loss_of_every_path():
    """All outcomes of two queries of 20 teachers, under an epsilon for one; 2 is no answer.

    Two queries would have twice the stated delta at the stated epsilon.
    """
    threshold, sigma, counts = 12, 6.0, [[1, 19], [0, 20]]
    given = {"n_teachers": 20, "n_queries": 2, "epsilon": 1.05, "classes": [0, 1], **FIXED}
    aggregator = ConfidentGNMax(threshold, sigma1=sigma, sigma2=sigma)
    teacher = DummyClassifier(strategy="most_frequent")
    clf = PATEClassifier(teacher, aggregator=aggregator, **given)
    log_proba = []
    for votes in counts:
        checked, gap = (
            (max(votes) - threshold) / sigma,
            (votes[0] - votes[1]) / sigma / math.sqrt(2),
        )
        found = [log_ndtr(checked) + log_ndtr(gap), log_ndtr(checked) + log_ndtr(-gap)]
        log_proba.append(np.array([*found, log_ndtr(-checked)]))
    paths = list(itertools.product(range(3), repeat=2))
    deltas, n_queried = np.zeros(2), []
    for path in paths:
        forced = np.where(np.array(path) == 2, -1, path)

        def drawn(self, votes, *args, _labels=forced, **given):
            return np.resize(_labels, len(votes))

        patched = mock.patch.object(ConfidentGNMax, "aggregate", drawn)
        with patched, contextlib.suppress(StudentError):  # without an answer; labels are kept
            clf.fit(X[:20], np.repeat([0, 1], counts[0]), PUBLIC)
        assert (clf.curator_.votes == counts[0]).all()
        n_queried.append(len(clf.query_indices_))
        losses = [own[list(path)] for own in log_proba]
        ratio = (losses[1] - losses[0])[: n_queried[-1]].sum()
        epsilon, delta = clf.privacy_spent_
        for k, way in enumerate((1, -1)):
            deltas[k] += math.exp(losses[k].sum()) * max(0.0, -math.expm1(epsilon + way * ratio))
    assert (deltas <= delta).all() and set(n_queried) == {1}


# --- sources of the noise ------------------------------------------------------------------------

#: Uses of randomness whose draws are published, or depend on public rows alone.
KNOWN = ("partition", "queries", "teachers", "student", "synthetic rows")


#: One path for each kind of step.
DRAWN = (
    "cells and counts",
    "cells, second round of classes",
    "sums, estimated schema",
    "synthetic rows and cells",
)


def private_generators(fit, data, others):
    """Return the generators of the draws that depend on the first record, and all streams."""
    with Recorder() as first:
        fit(*data)
    (other,) = replaced(*data, *others)
    with Recorder(first.found) as second:
        fit(*other)
    pairs = zip(first.generators, first.found, second.found, strict=True)
    found = [own for own, *both in pairs if not np.array_equal(*[x.statistic for x in both])]
    return found, first.streams


@pytest.mark.parametrize("path", DRAWN)
def test_no_two_draws_of_a_fit_share_a_generator_state(path):
    fit, data, others, _ = PATHS[path]
    states, every = private_generators(fit, data, others)
    assert len(states) == len(set(states)) > 1 and SystemGenerator not in states
    known = {
        generator_of(np.random.default_rng(streams[use])) for streams in every for use in KNOWN
    }
    assert not known & set(states)


@cases("path", "cells and counts", "cells, second round of classes", "sums without public rows")
def test_seedless_noise_is_drawn_from_the_system(path, monkeypatch):
    monkeypatch.setitem(FIXED, "random_state", None)
    generators, _ = private_generators(*PATHS[path][:3])
    assert set(generators) == {SystemGenerator} and len(generators) > 1


def test_seedless_streams_of_two_fits_differ():
    both = [stream for _ in range(2) for stream in seeds.seed_streams(None).values()]
    entropies = [stream.entropy for stream in both if not isinstance(stream, SystemGenerator)]
    assert len(entropies) == len(set(entropies)) > 0


@cases("mechanism", LaplaceMechanism(2.0), GaussianMechanism(2.0))
def test_seedless_mechanism_draws_from_the_system(mechanism):
    with Recorder() as recorder:
        mechanism.noisy([[1.0, 2.0]])
    assert recorder.generators == [SystemGenerator]


def continued(X, y, *, ledger=None, n_copies=0, again=None, **params):
    """Interrupt a fit, and continue it or copies of it; return all statements."""
    clf = PATEClassifier(classes=[0, 1], warm_start=True, ledger=ledger, **FIXED, **params)
    spent = [spent_by(clf.fit, X, y)]
    goes_on = clf._prefix is not None
    for part in [copy.deepcopy(clf) for _ in range(n_copies)] or [clf]:
        part.set_params(**again or {})
        spent.append(part.fit(X, y).privacy_spent_)
    return spent, goes_on


@cases("n_draws", 2, 4)
def test_continued_fit_draws_other_noise(n_draws):
    with Recorder(stop=n_draws) as recorder:
        (_, spent), goes_on = continued(*DATA, **OF_SUMS)
    assert goes_on and len(recorder.found) > n_draws
    states = recorder.generators
    assert len(states) == len(set(states)) and spent.generator == "seed"


def test_continued_fit_states_the_seed_of_its_first_steps():
    with Recorder(stop=4) as recorder:
        (_, spent), goes_on = continued(*DATA, **OF_SUMS, again={"random_state": None})
    assert goes_on and SystemGenerator in recorder.generators
    assert set(recorder.generators) != {SystemGenerator} and spent.generator == "seed"


# --- several fits on one ledger ------------------------------------------------------------------


@pytest.fixture
def new_ledger(tmp_path, monkeypatch):
    """Return a function that makes a ledger. Fits have seeds, and draw the same rows each time."""
    numbers = itertools.count()
    honest = seeds.seed_streams

    def streams(random_state, secure=False, *, n_attempts=0):
        return honest(7, n_attempts=n_attempts)

    monkeypatch.setattr(inputs, "seed_streams", streams)
    monkeypatch.setitem(FIXED, "random_state", None)
    return lambda: PrivacyLedger(tmp_path / f"{next(numbers)}.db", epsilon=100.0, delta=1e-5)


def two_fits(ledger, X, y):
    """Found classes and cells, then sums."""
    of_classes(PUBLIC, method=cells(), classes=None, epsilon=3.0, ledger=ledger)(X, y)
    of_classes(PUBLIC, method=cells(), classes=None, epsilon=3.0, ledger=ledger)(X, y)


def votes_on_rows(ledger, X, y):
    """Rows that the ledger has not seen, with labels that it pays for."""
    clf = PATEClassifier(
        classes=[0, 1], method=cells(), synthesizer=SYNTHESIZER, epsilon=2.0, **FIXED
    )
    votes = clf.poll(X, y)
    clf.set_params(ledger=ledger).fit_votes(votes, votes.synthesis.rows)


def copies_of_one_fit(ledger, X, y):
    """A fit is interrupted; two copies of it continue."""
    continued(X, y, ledger=ledger, n_copies=2, **OF_SUMS)


def copies_with_labels(ledger, X, y):
    """A fit is interrupted when its rows are published; two copies of it draw labels."""
    given = {"method": cells(), "synthesizer": SYNTHESIZER, "ledger": ledger, **FIXED}
    clf = PATEClassifier(classes=[0, 1], warm_start=True, **given)
    with mock.patch.object(TableRelease, "gather", side_effect=KeyboardInterrupt):
        assert spent_by(clf.fit, X, y).epsilon < 0.9
    for part in [copy.deepcopy(clf) for _ in range(2)]:
        part.fit(X, y)


class Interrupted(DummyClassifier):
    """A student that is interrupted once, after the labels are published."""

    n_calls = 0

    def fit(self, X, y, sample_weight=None):
        Interrupted.n_calls += 1
        if Interrupted.n_calls == 2:  # the first is a dry run
            raise KeyboardInterrupt
        return super().fit(X, y, sample_weight)


def fit_after_labels(ledger, X, y):
    """A fit is interrupted after its labels; the next one begins anew."""
    Interrupted.n_calls = 0
    given = {"method": cells(), "synthesizer": SYNTHESIZER, "student": Interrupted()}
    spent, _ = continued(X, y, ledger=ledger, **given)
    assert len(spent) == 2 and Interrupted.n_calls > 2


@cases(
    "fits, others, stop, part",
    (two_fits, OTHER, None, 0.99),
    (votes_on_rows, OTHER, None, 0.9),
    (copies_of_one_fit, OPPOSITE, 4, 0.65),
    (copies_with_labels, OTHER, None, 0.75),
    (fit_after_labels, OTHER, None, 0.8),
)
def test_ledger_covers_the_exact_loss_of_its_fits(new_ledger, fits, others, stop, part):
    ledgers = []

    def fit(X, y):
        ledgers.append(new_ledger())
        fits(ledgers[-1], X, y)

    _, (loss,) = losses_of(fit, DATA, replaced(*DATA, *others), stop)
    stated = ledgers[0].epsilon_spent
    assert part * stated < loss.epsilon(1e-5) <= stated * (1 + 1e-6)
