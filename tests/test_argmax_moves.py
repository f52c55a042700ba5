"""What moves of one vote change, all at once, against the distribution of each neighbour."""

import numpy as np
import pytest
from conftest import moves
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_pate.aggregators import Aggregator, ExponentialNMax, GNMax, LNMax
from sklearn_pate.rdp import DEFAULT_ORDERS, Facts, Gaussian, exact_rdp
from sklearn_pate.rdp import exact as exact_module
from sklearn_pate.rdp.argmax_moves import argmax_moves
from sklearn_pate.rdp.exact import Pairs, round_up

ORDERS = 1 + np.geomspace(0.01, 5000, 60)
VOTES = {
    "one teacher": (1, 0.1),
    "few teachers": (7, 0.5),
    "many ties": (40, 5.0),
    "a clear winner": (250, 0.02),
    "many levels": (5000, 0.1),
    "nearly even": (5000, 30.0),
}
NOISE = [0.7, 3.0, 100.0, 1e6]
CASES = [(kind, scale) for kind in VOTES for scale in NOISE if VOTES[kind][0] <= 150 * scale]


def random_votes(kind, n_classes):
    n_teachers, concentration = VOTES[kind]
    rng = np.random.default_rng([n_teachers, n_classes])
    return rng.multinomial(n_teachers, rng.dirichlet(np.full(n_classes, concentration)))


def by_definition(mechanism, counts, orders):
    """The largest divergence over all neighbours, each with a distribution of its own."""
    after = mechanism.outcome_log_proba(moves(counts))
    before = np.broadcast_to(mechanism.outcome_log_proba([counts]), after.shape)
    costs = []
    for order in orders:
        there = Pairs.from_log_proba(before, after).divergence(order)
        back = Pairs.from_log_proba(after, before).divergence(order)
        costs.append(max(there.max(), back.max()))
    return np.maximum.accumulate(round_up(np.array(costs), orders))


def assert_same_costs(got, expected, orders):
    """The same to 12 digits and what log probabilities of 14 digits can say."""
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(np.isfinite(got), finite)
    blur = 3 * (1e-14 + 4e-16 / (orders - 1)) * np.sqrt(2 * orders * expected)
    deep = 1e-13 * orders * expected  # log probabilities of -700 have 13 digits after the point
    assert (np.abs(got - expected) <= (1e-12 * expected + blur + deep))[finite].all()


@pytest.fixture
def each_query_alone(monkeypatch):
    monkeypatch.setattr(exact_module, "_FEW_CLASSES", 0)


# --- distributions -------------------------------------------------------------------------------


def kinds_of_moves(counts):
    """For each pair of counts between which a vote can move: neighbour, giver and taker."""
    counts = np.asarray(counts)
    for source in np.unique(counts[counts > 0]):
        giver = np.flatnonzero(counts == source)[0]
        for target in np.unique(counts):
            others = np.flatnonzero((counts == target) & (np.arange(counts.size) != giver))
            if others.size:
                neighbour = counts.copy()
                neighbour[giver] -= 1
                neighbour[others[0]] += 1
                yield neighbour, giver, others[0]


def outcomes_of(mechanism, counts):
    """What `argmax_moves` states, from the distribution of one neighbour at a time."""
    before = mechanism.outcome_log_proba([counts])[0]
    rows = []
    for neighbour, giver, taker in kinds_of_moves(counts):
        after = mechanism.outcome_log_proba([neighbour])[0]
        row = []
        for level in np.unique(counts):
            keeps = np.flatnonzero(counts == level)
            keeps = keeps[(keeps != giver) & (keeps != taker)]
            if keeps.size:
                share = before[keeps[0]] + np.log(keeps.size)
                row.append((share, after[keeps[0]] - before[keeps[0]]))
            else:
                row.append((-np.inf, 0.0))
        row.extend((before[k], after[k] - before[k]) for k in (giver, taker))
        rows.append(row)
    return np.moveaxis(np.array(rows), 2, 0)


@pytest.mark.parametrize("kind", VOTES)
@pytest.mark.parametrize("scale", NOISE)
@pytest.mark.parametrize("n_classes", [2, 12])
def test_every_move_changes_outcomes_as_the_neighbours_distribution_says(kind, scale, n_classes):
    counts = random_votes(kind, n_classes)
    for mechanism in (GNMax(scale), LNMax(1 / scale)):
        found = argmax_moves(mechanism.facts().argmax_noise, counts)
        if found is None:
            assert np.ptp(counts) / scale > 100
            continue
        log_p, log_ratio = outcomes_of(mechanism, counts)
        np.testing.assert_allclose(found[0], log_p, rtol=1e-13, atol=1e-13)
        digits = 1e-13 + 4e-15 * np.abs(np.where(np.isfinite(log_p), log_p, 0))
        assert (np.abs(found[1] - log_ratio) <= digits).all()


def test_a_loss_of_1e_200_is_known_to_13_digits():
    counts = np.array([0, 0, 0, 0, 1210])
    log_p, log_ratio = argmax_moves(Gaussian(40.0), counts)
    stays = log_p.argmax(axis=1)
    row = np.arange(len(log_p))
    gain = np.exp(log_p) * np.expm1(log_ratio)
    gain[row, stays] = 0
    assert log_p[0, :2].max() < -200
    change = log_ratio[row, stays]
    assert (change != 0).all()
    np.testing.assert_allclose(change, -gain.sum(axis=1), rtol=1e-13)


# --- costs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "scale"), CASES)
@pytest.mark.parametrize("n_classes", [25])
def test_costs_of_many_classes_are_the_largest_over_all_moves(kind, scale, n_classes):
    counts = random_votes(kind, n_classes)
    for mechanism in (GNMax(scale), LNMax(1 / scale)):
        expected = by_definition(mechanism, counts, ORDERS[::7])
        assert_same_costs(exact_rdp(mechanism, [counts], ORDERS[::7])[0], expected, ORDERS[::7])


few_classes = st.integers(2, 12).flatmap(
    lambda n: st.lists(st.integers(0, 60), min_size=n, max_size=n).filter(any)
)
any_noise = st.floats(-1.0, 6.0).map(lambda digits: 10.0**digits)


@settings(max_examples=60, deadline=None)
@given(few_classes, any_noise, st.sampled_from([GNMax, LNMax]), st.randoms(use_true_random=False))
def test_few_classes_cost_the_same_one_query_at_a_time(counts, scale, kind, random):
    mechanism = kind(scale) if kind is GNMax else kind(1 / scale)
    together = exact_rdp(mechanism, [counts], ORDERS)[0]
    shuffled = random.sample(counts, len(counts))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact_module, "_FEW_CLASSES", 0)
        alone = exact_rdp(mechanism, [counts, shuffled], ORDERS)
    assert_same_costs(alone[0], together, ORDERS)
    np.testing.assert_array_equal(alone[0], alone[1])


@pytest.mark.parametrize("n_classes", [2, 3, 12])
def test_one_teacher_among_few_classes(each_query_alone, n_classes):
    counts = np.eye(1, n_classes, dtype=int)[0]
    for scale in (0.3, 2.0, 500.0):
        for mechanism in (GNMax(scale), LNMax(1 / scale)):
            expected = by_definition(mechanism, counts, ORDERS)
            assert_same_costs(exact_rdp(mechanism, [counts], ORDERS)[0], expected, ORDERS)


@pytest.mark.parametrize("kind", ["many ties", "many levels", "nearly even"])
def test_orders_together_cost_what_each_costs_alone(kind):
    counts = random_votes(kind, 60)
    for mechanism in (GNMax(60.0), LNMax(1 / 60)):
        together = exact_rdp(mechanism, [counts], DEFAULT_ORDERS)[0]
        for k in range(0, DEFAULT_ORDERS.size, 5):
            alone = exact_rdp(mechanism, [counts], DEFAULT_ORDERS[[k]])[0, 0]
            assert together[k] == pytest.approx(alone, rel=1e-12)


# --- what it leaves to others --------------------------------------------------------------------


def test_noise_too_small_for_it_costs_what_the_definition_says():
    counts = np.array([40, 3] + [0] * 23)
    for mechanism in (GNMax(0.2), LNMax(30.0)):
        assert argmax_moves(mechanism.facts().argmax_noise, counts) is None
        costs = exact_rdp(mechanism, [counts], ORDERS)[0]
        assert_same_costs(costs, by_definition(mechanism, counts, ORDERS), ORDERS)
    with pytest.raises(ValueError, match="too small; use more"):
        exact_rdp(GNMax(0.001), [counts], ORDERS)


def test_other_noise_costs_what_the_definition_says():
    class Loud(Gaussian):
        """Normal noise of twice the scale, if asked for its distribution."""

        def log_argmax(self, votes):
            return Gaussian(2 * self.scale).log_argmax(votes)

    class LoudNMax(Aggregator):
        def outcome_log_proba(self, votes, student_proba=None):
            return Loud(20.0).log_argmax(votes)

        def facts(self):
            return Facts(argmax_noise=Loud(20.0), label_symmetric=True)

    counts = random_votes("a clear winner", 30)
    for mechanism in (LoudNMax(), ExponentialNMax(0.05)):
        expected = by_definition(mechanism, counts, ORDERS)
        assert_same_costs(exact_rdp(mechanism, [counts], ORDERS)[0], expected, ORDERS)
