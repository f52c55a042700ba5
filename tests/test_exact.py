"""Exact costs against 50-digit arithmetic, enumeration and the bounds they must stay below."""

import itertools
import math

import mpmath as mp
import numpy as np
import pytest
from conftest import cases, divergences, histograms_of, moves, outcome_probabilities
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_pate import rdp
from sklearn_pate.accountant import plan_queries
from sklearn_pate.aggregators import Aggregator, ExponentialNMax, GNMax, LNMax, PluralityVote
from sklearn_pate.exceptions import BudgetExceededError
from sklearn_pate.rdp import exact as exact_module
from sklearn_pate.rdp.exact import Pairs, argmax_moves, round_up

histograms = st.lists(st.integers(0, 80), min_size=2, max_size=7).filter(lambda n: sum(n) > 0)
mechanisms = st.one_of(
    st.builds(GNMax, sigma=st.floats(0.7, 100)), st.builds(LNMax, gamma=st.floats(0.01, 2))
)


# --- against mpmath ------------------------------------------------------------------------------


def reference_cost(mechanism, counts, orders):
    """The largest divergence over moves of one vote, both directions, in 50 digits."""
    with mp.workdps(50):
        known = {}

        def proba(histogram):
            sort = sorted(histogram)
            key = tuple(sort)
            if key not in known:
                known[key] = dict(zip(sort, outcome_probabilities(mechanism, sort), strict=True))
            return [known[key][n] for n in histogram]

        p, costs = proba(list(counts)), [mp.mpf(0)] * len(orders)
        seen = set()
        for neighbour in moves(counts):
            pairs = tuple(sorted(zip(counts, neighbour.tolist(), strict=True)))
            if pairs in seen:
                continue
            seen.add(pairs)
            q = proba(neighbour.tolist())
            for k, order in enumerate(orders):
                a = mp.mpf(order)
                for x, y in ((p, q), (q, p)):
                    total = mp.fsum(s**a * t ** (1 - a) for s, t in zip(x, y, strict=True))
                    costs[k] = max(costs[k], mp.log(total) / (a - 1))
        return [float(cost) for cost in costs]


ORDERS = [1.1, 2.0, 17.0, 200.0, 1000.0]


@cases(
    "mechanism, counts",
    (GNMax(40.0), [2500, 2500]),
    (LNMax(0.05), [5000, 0]),
    (LNMax(2.0), [130, 120]),
    (GNMax(1e5), [130, 120]),
    (LNMax(1e-5), [130, 120]),
    (GNMax(40.0), [250] + [0] * 9),
    (LNMax(0.05), [250] + [0] * 9),
    (LNMax(1.0), [20, 9, 1]),
    (GNMax(3.0), [1] + [0] * 3),
    (LNMax(0.3), [5] * 30),
)
def test_exact_costs_agree_with_mpmath(mechanism, counts):
    expected = reference_cost(mechanism, counts, ORDERS)
    for few_classes in (0, 20, 1000):  # all in one way, as it is, all in the other way
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(exact_module, "_FEW_CLASSES", few_classes)
            got = rdp.exact_rdp(mechanism, [counts], ORDERS)[0]
        for ours, reference in zip(got, expected, strict=True):
            if reference > 1e-12:
                assert ours == pytest.approx(reference, rel=1e-6)
            assert ours >= reference * (1 - 1e-12)  # rounded up, never down


# --- properties ----------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", [GNMax(0.8), GNMax(3.0), LNMax(1.3)])
def test_exact_of_every_small_histogram(mechanism):
    # at high orders the worst move may be the last vote of a class, or towards one that has none
    from_single = 0
    for n_teachers, n_classes in ((1, 3), (9, 2), (5, 3), (3, 4)):
        every = histograms_of(n_teachers, n_classes)
        for counts, got in zip(
            every, rdp.exact_rdp(mechanism, every, [1.2, 8.0, 300.0]), strict=True
        ):
            leaving = np.argmin(moves(counts) - counts, axis=1)
            for order, cost in zip([1.2, 8.0, 300.0], got, strict=True):
                each = np.maximum(*divergences(mechanism, counts, order))
                assert cost == pytest.approx(each.max(), rel=1e-6, abs=1e-9)
                if sum(counts) > max(counts) and 1 in counts:
                    others = each[counts[leaving] > 1]
                    from_single += others.size and others.max() < 0.999 * each.max()
    assert from_single > 0 or isinstance(mechanism, LNMax)


@settings(max_examples=25, deadline=None)
@given(histograms, mechanisms)
def test_exact_grows_with_the_order_and_stays_below_the_data_independent_cost(counts, mechanism):
    orders = rdp.DEFAULT_ORDERS[::8]
    cost = rdp.exact_rdp(mechanism, [counts], orders)[0]
    assert (np.diff(cost) >= -1e-8 * cost[1:]).all()
    if isinstance(mechanism, GNMax):
        worst = orders / mechanism.sigma**2
    else:
        worst = rdp.pure_rdp(mechanism.facts().pure_epsilon, orders)
    assert (cost <= worst * (1 + 1e-7) + 1e-12).all()


@pytest.mark.parametrize("n_teachers", [1, 255])
@pytest.mark.parametrize("scale", [0.01, 0.06694177748211866, 1.0])
def test_tiny_noise_costs_much_at_every_order(scale, n_teachers):
    # The divergence is flat in the order: rounding must not make a winner look like a loser
    for mechanism in (GNMax(scale), LNMax(1 / scale)):
        some, public = (
            rdp.DEFAULT_ORDERS[::29],
            {"n_teachers": np.uint8(n_teachers), "n_classes": 2},
        )
        costs = rdp.worst_case_rdp(mechanism, rdp.DEFAULT_ORDERS, **public)
        alone = [rdp.worst_case_rdp(mechanism, [order], **public)[0] for order in some]
        np.testing.assert_allclose(costs[::29], alone, rtol=1e-8)
        assert (np.diff(costs) >= -1e-8 * costs[1:]).all() and costs[0] > 0


def test_tiny_noise_never_slips_under_a_cap():
    public = {"n_teachers": 1, "n_classes": 2, "delta": 1e-5}
    epsilon, _ = rdp.data_independent_epsilon(GNMax(0.07), 10, **public)
    assert epsilon == pytest.approx(542.6, abs=0.1)
    with pytest.raises(BudgetExceededError):
        plan_queries(GNMax(0.07), 10, n_public=20, epsilon=1.0, **public)


def test_a_distribution_that_is_none_is_refused():
    class Scores(Aggregator):
        def outcome_log_proba(self, votes, student_proba=None):
            return 0.05 * np.asarray(votes, dtype=float)

    two = {"n_teachers": 250, "n_classes": 2}
    for call, sizes in ((rdp.exact_rdp, {"votes": [[130, 120]]}), (rdp.worst_case_rdp, two)):
        with pytest.raises(ValueError, match="sum to 1 in each row"):
            call(Scores(), orders=[2.0], **sizes)
    pytest.raises(ValueError, Scores().aggregate, [[130, 120]]).match("sum to 1 in each row")


class Biased(Aggregator):
    """Plurality with probability 3/4, class 0 otherwise, no answer when unanimous; asymmetric."""

    def outcome_log_proba(self, votes, student_proba=None):
        votes = np.asarray(votes)
        chosen = (votes.argmax(axis=1)[:, None] == np.arange(votes.shape[1])) * 0.75
        chosen[:, 0] += 0.25
        silent = (votes.max(axis=1) == votes.sum(axis=1)) * 0.5
        proba = np.hstack([chosen * (1 - silent[:, None]), silent[:, None]])
        with np.errstate(divide="ignore"):
            return np.log(proba)


def test_an_own_mechanism_gets_its_exact_cost_from_its_outcome_distribution():
    # [5, 4]: a move to [4, 5] turns P(1) from 0 to 3/4: infinite
    costs = rdp.exact_rdp(Biased(), [[5, 4], [7, 2], [8, 1]], [2.0, 3.0])
    assert np.isinf(costs[0]).all()
    assert (costs[1] < 1e-12).all()  # no move changes the outcome
    assert np.isinf(costs[2]).all()  # unanimity is one move away, and may be silent


def test_infinite_costs_do_not_hide_those_of_other_queries_or_orders():
    votes = [[5, 4, 0], [7, 2, 0], [8, 1, 0], [4, 3, 2]]
    for mechanism in (Biased(), PluralityVote()):
        together = rdp.exact_rdp(mechanism, votes, rdp.DEFAULT_ORDERS)
        for k in (0, 1, 50, 101, 203):
            for row, counts in zip(together, votes, strict=True):
                alone = rdp.exact_rdp(mechanism, [counts], rdp.DEFAULT_ORDERS[[k]])[0, 0]
                assert row[k] == pytest.approx(alone, rel=1e-12)
        assert np.isinf(together[0]).all() and np.isfinite(together[1]).all()
        assert (together[1] < 1e-12).all()  # no move changes the outcome


# --- worst case over all votes -------------------------------------------------------------------


@pytest.mark.parametrize("n_teachers", [1, 25, 250])
@pytest.mark.parametrize("mechanism", [GNMax(40.0), GNMax(3.0), LNMax(0.05), LNMax(1.0)])
def test_two_class_worst_case_is_the_largest_over_all_gaps(mechanism, n_teachers):
    orders = [1.5, 20.0] if n_teachers > 100 else [1.1, 8.0, 300.0]
    got = rdp.worst_case_rdp(mechanism, orders, n_teachers=n_teachers, n_classes=2)
    with mp.workdps(40):
        votes = [[n, n_teachers - n] for n in range(n_teachers + 1)]
        proba = [outcome_probabilities(mechanism, counts) for counts in votes]
        for a, cost in zip(map(mp.mpf, orders), got, strict=True):
            moments = [
                mp.fsum(x**a * y ** (1 - a) for x, y in zip(p, q, strict=True))
                for pair in itertools.pairwise(proba)
                for p, q in (pair, pair[::-1])
            ]
            largest = mp.log(max(moments)) / (a - 1)
            assert cost == pytest.approx(float(largest), rel=1e-6) and cost >= largest


def test_worst_case_of_mechanisms_without_a_closed_form():
    # two classes: by enumeration, from the outcome distribution alone; else no guarantee
    class Quarter(Aggregator):
        """The plurality's label with probability 3/4, the other with 1/4; ties even."""

        def outcome_log_proba(self, votes, student_proba=None):
            gap = np.sign(np.asarray(votes) @ [1, -1])
            return np.log(np.column_stack([2 + gap, 2 - gap]) / 4)

    worst = rdp.worst_case_rdp(Quarter(), [2.0], n_teachers=11, n_classes=2)[0]
    assert worst == pytest.approx(rdp.pure_rdp(math.log(3), [2.0])[0])
    assert np.isinf(rdp.worst_case_rdp(Quarter(), [2.0], n_teachers=11, n_classes=3)).all()
    assert np.isinf(rdp.worst_case_rdp(PluralityVote(), [2.0], n_teachers=11, n_classes=2)).all()


# --- what moves of one vote change, all at once ---------------------------------------------------

MANY_ORDERS = 1 + np.geomspace(0.01, 5000, 60)
VOTES = {
    "one teacher": (1, 0.1),
    "many ties": (40, 5.0),
    "a clear winner": (250, 0.02),
    "nearly even": (5000, 30.0),
}
NOISE = [0.7, 100.0, 1e6]
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


# --- distributions -------------------------------------------------------------------------------


def test_a_loss_of_1e_200_is_known_to_13_digits():
    counts = np.array([0, 0, 0, 0, 1210])
    log_p, log_ratio = argmax_moves(rdp.Gaussian(40.0), counts)
    stays = log_p.argmax(axis=1)
    row = np.arange(len(log_p))
    gain = np.exp(log_p) * np.expm1(log_ratio)
    gain[row, stays] = 0
    assert log_p[0, :2].max() < -200
    change = log_ratio[row, stays]
    assert (change != 0).all()
    np.testing.assert_allclose(change, -gain.sum(axis=1), rtol=1e-13)


# --- costs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind, n_classes", [("many ties", 4), ("nearly even", 60)])
def test_orders_together_in_any_order_cost_what_each_costs_alone(kind, n_classes):
    counts = random_votes(kind, n_classes)
    for mechanism in (GNMax(60.0), LNMax(1 / 60)):
        together = rdp.exact_rdp(mechanism, [counts], np.append(rdp.DEFAULT_ORDERS[::-1], 2.0))[0]
        some = [*range(0, rdp.DEFAULT_ORDERS.size, 13), -1]
        for k, order in zip(some, [*rdp.DEFAULT_ORDERS[::-1][some[:-1]], 2.0], strict=True):
            alone = rdp.exact_rdp(mechanism, [counts], [order])[0, 0]
            assert together[k] == pytest.approx(alone, rel=1e-12)


@cases("kind, scale", *CASES)
def test_costs_of_many_classes_are_the_largest_over_all_moves(kind, scale):
    counts = random_votes(kind, 21)
    for mechanism in (GNMax(scale), LNMax(1 / scale)):
        expected = by_definition(mechanism, counts, MANY_ORDERS[::7])
        got = rdp.exact_rdp(mechanism, [counts], MANY_ORDERS[::7])[0]
        assert_same_costs(got, expected, MANY_ORDERS[::7])


few_classes = st.integers(2, 12).flatmap(
    lambda n: st.lists(st.integers(0, 60), min_size=n, max_size=n).filter(any)
)
any_noise = st.floats(-1.0, 6.0).map(lambda digits: 10.0**digits)


@settings(max_examples=15, deadline=None)
@given(few_classes, any_noise, st.sampled_from([GNMax, LNMax]), st.randoms(use_true_random=False))
def test_costs_are_the_largest_over_all_moves_whatever_the_way(counts, scale, kind, random):
    mechanism = kind(scale) if kind is GNMax else kind(1 / scale)
    shuffled = random.sample(counts, len(counts))
    for few_classes in (0, 20):  # one query at a time, and together
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(exact_module, "_FEW_CLASSES", few_classes)
            got = rdp.exact_rdp(mechanism, [counts, shuffled], MANY_ORDERS)
        np.testing.assert_array_equal(got[0], got[1])
        assert_same_costs(got[0], by_definition(mechanism, counts, MANY_ORDERS), MANY_ORDERS)


# --- what it leaves to others --------------------------------------------------------------------


def test_noise_too_small_for_it_costs_what_the_definition_says():
    counts = np.array([40, 3] + [0] * 23)
    for mechanism in (GNMax(0.2), LNMax(30.0)):
        assert argmax_moves(mechanism.facts().argmax_noise, counts) is None
        costs = rdp.exact_rdp(mechanism, [counts], MANY_ORDERS)[0]
        assert_same_costs(costs, by_definition(mechanism, counts, MANY_ORDERS), MANY_ORDERS)
    with pytest.raises(ValueError, match="too small; use more"):
        rdp.exact_rdp(GNMax(0.001), [counts], MANY_ORDERS)


def test_other_noise_costs_what_the_definition_says():
    class Loud(rdp.Gaussian):
        """Normal noise of twice the scale, if asked for its distribution."""

        def log_argmax(self, votes):
            return rdp.Gaussian(2 * self.scale).log_argmax(votes)

    class LoudNMax(Aggregator):
        def outcome_log_proba(self, votes, student_proba=None):
            return Loud(20.0).log_argmax(votes)

        def facts(self):
            return rdp.Facts(argmax_noise=Loud(20.0), label_symmetric=True)

    counts = random_votes("a clear winner", 30)
    for mechanism in (LoudNMax(), ExponentialNMax(0.05)):
        expected = by_definition(mechanism, counts, MANY_ORDERS)
        assert_same_costs(rdp.exact_rdp(mechanism, [counts], MANY_ORDERS)[0], expected, MANY_ORDERS)
