"""Mechanisms: the outcome distribution against mpmath, closed forms and their own samples."""

import math

import mpmath as mp
import numpy as np
import pytest
from conftest import cases, outcome_probabilities
from draws import assert_drawn_from
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

from sklearn_pate import secure
from sklearn_pate.aggregators import (
    Aggregator,
    ConfidentGNMax,
    ExponentialNMax,
    GNMax,
    ImmutableArgmax,
    LNMax,
    PluralityVote,
    StableArgmax,
)
from sklearn_pate.rdp import DiscreteGaussian, DiscreteLaplace, pure_rdp, worst_case_rdp
from sklearn_pate.rdp.facts import facts_of

MANY = [60, 55, 50, 40, 30, 10, 5, 0, 0, 0]
CASES = [[83, 83, 84], [250, 0, 0], [40, 6, 4], [0, 1, 0], [5, 5, 5, 5, 5], [9] * 9 + [7, 0, 0]]


@pytest.mark.parametrize("mechanism", [LNMax(0.05), LNMax(1.0), GNMax(40.0), GNMax(8.0)])
@pytest.mark.parametrize("counts", [[83, 83, 84], [250, 0, 0], [9] * 9 + [7, 0, 0]])
def test_outcome_distribution_agrees_with_mpmath(mechanism, counts):
    log_proba = mechanism.outcome_log_proba([counts])[0]
    with mp.workdps(50):
        expected = [float(mp.log(p)) for p in outcome_probabilities(mechanism, counts)]
    assert log_proba == pytest.approx(expected, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("mechanism", [LNMax(0.05), LNMax(2.0), GNMax(40.0), GNMax(0.5)])
@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 400), min_size=2, max_size=30).filter(lambda n: sum(n) > 0))
def test_outcome_distribution_is_one_and_follows_the_classes(mechanism, counts):
    log_proba = mechanism.outcome_log_proba([counts, counts[::-1]])
    assert np.isfinite(log_proba).all()
    np.testing.assert_allclose(logsumexp(log_proba, axis=1), 0, atol=1e-9)
    np.testing.assert_allclose(log_proba[0], log_proba[1][::-1], rtol=1e-9, atol=1e-12)
    assert (np.diff(log_proba[0][np.argsort(counts)]) >= -1e-9).all()  # more votes, more probable


@cases(
    "mechanism, counts",
    *((m, [130, 120]) for m in (LNMax(0.05), GNMax(5.0), ExponentialNMax(0.05))),
    *((m, [130, 120]) for m in (LNMax(0.05, "discrete"), GNMax(4.3, "discrete"))),
    *((m, MANY) for m in (LNMax(0.05), GNMax(40.0), ExponentialNMax(0.05), LNMax(1.0, "discrete"))),
    *((m, [6, 5]) for m in (LNMax(3.0), GNMax(0.5), ExponentialNMax(3.0))),  # parts of a vote
)
def test_samples_follow_the_outcome_distribution(mechanism, counts, global_random_seed):
    """Finds noise of 10 % less where the largest counts are about its scale apart."""
    n_samples = 100_000 if facts_of(mechanism).label_symmetric else 200_000 // len(counts)
    labels = mechanism.aggregate(np.tile(counts, (n_samples, 1)), random_state=global_random_seed)
    proba = np.exp(mechanism.outcome_log_proba([counts])[0])
    assert_drawn_from(np.bincount(labels, minlength=len(counts)), proba)


def test_histograms_that_fill_memory_are_computed_in_parts():
    votes = np.random.default_rng(0).integers(0, 3000, (60, 3))
    parts = np.vstack([GNMax(1.0)._noise().log_argmax(row[None]) for row in votes])
    np.testing.assert_allclose(GNMax(1.0)._noise().log_argmax(votes), parts, rtol=1e-9, atol=1e-12)


@cases(
    "mechanism",
    *(LNMax(0.05), GNMax(40.0), ConfidentGNMax(150, 40.0, 40.0)),
    *(ImmutableArgmax(0, sigma=40.0), StableArgmax(3.0)),
)
def test_noise_is_fresh_unless_seeded(mechanism):
    votes = np.tile([150, 100], (64, 1))
    draws = [mechanism.aggregate(votes) for _ in range(3)]
    assert (draws[0] != draws[1]).any() and (draws[1] != draws[2]).any()
    np.testing.assert_array_equal(*[mechanism.aggregate(votes, random_state=3) for _ in range(2)])


def test_plurality_takes_the_lowest_code_of_a_tie():
    votes = [[3, 5, 5], [4, 4, 5]]
    np.testing.assert_array_equal(PluralityVote().aggregate(votes), [1, 2])
    certain = [[-np.inf, 0, -np.inf], [-np.inf, -np.inf, 0]]
    np.testing.assert_array_equal(PluralityVote().outcome_log_proba(votes), certain)
    assert PluralityVote().facts().gdp_mu == PluralityVote().facts().pure_epsilon == math.inf
    assert np.isinf(PluralityVote().published_rdp(votes, [2, 3])).all()
    immutable = ImmutableArgmax(math.inf, sigma=1.0)
    np.testing.assert_array_equal(immutable.outcome_log_proba(votes), certain)


def test_own_mechanism_needs_its_outcome_distribution_only(global_random_seed):
    class Coin(Aggregator):
        """Answer the plurality or refuse, each with probability 1/2."""

        def outcome_log_proba(self, votes, student_proba=None):
            winner = PluralityVote().outcome_log_proba(votes)
            return np.hstack([winner, np.zeros((len(winner), 1))]) - math.log(2)

    labels = Coin().aggregate(np.tile([1, 9], (4000, 1)), random_state=global_random_seed)
    assert_drawn_from(np.bincount(labels + 1, minlength=3), [0.5, 0, 0.5])


class Echo(Aggregator):
    """Draws from what the student says."""

    def outcome_log_proba(self, votes, student_proba=None):
        with np.errstate(divide="ignore"):
            return np.log(student_proba)


def test_own_mechanism_is_given_the_student_and_must_have_an_outcome_for_each_class():
    assert Echo().aggregate([[1, 9]] * 3, np.eye(3)).tolist() == [0, 1, -1]
    for n_outcomes in (1, 4):
        with pytest.raises(ValueError, match="a column for each of the 2 classes"):
            Echo().aggregate([[1, 9]] * n_outcomes, np.eye(n_outcomes))


def test_no_votes_give_no_labels():
    for mechanism in (LNMax(), GNMax(), ExponentialNMax(), GNMax(4, "discrete"), PluralityVote()):
        for n_classes in (2, 3):
            empty = np.empty((0, n_classes), dtype=int)
            assert mechanism.aggregate(empty).shape == (0,)
            assert mechanism.outcome_log_proba(empty).shape == (0, n_classes)


@pytest.mark.parametrize("mechanism", [GNMax(), LNMax(noise="discrete"), PluralityVote()])
@pytest.mark.parametrize("votes", [[[5, -1]], [[5, 5], [4, 5]], [5, 5]])
def test_bad_votes_raise(mechanism, votes):
    for call in (mechanism.aggregate, mechanism.outcome_log_proba):
        pytest.raises(ValueError, call, votes).match("votes")


def test_noise_too_small_for_its_distribution_is_refused_and_still_samples():
    for mechanism in (GNMax(1e-6), LNMax(1e6)):
        with pytest.raises(ValueError, match="too small; use more"):
            mechanism.outcome_log_proba([[250, 0, 0]])
        assert mechanism.aggregate([[250, 0, 0]]).tolist() == [0]


def test_a_distribution_of_ones_own_takes_the_sampler_of_the_parent_with_it(global_random_seed):
    class Immutable(ImmutableArgmax):
        def outcome_log_proba(self, votes, student_proba=None):
            return GNMax(40.0).outcome_log_proba(votes)

    votes = [[126, 124]] * 2000
    labels = Immutable(1e6, sigma=1.0).aggregate(votes, random_state=global_random_seed)
    proba = np.exp(GNMax(40.0).outcome_log_proba(votes[:1])[0])
    assert_drawn_from(np.bincount(labels, minlength=2), proba)


@pytest.mark.parametrize("name", ["aggregate", "draw"])
@pytest.mark.parametrize("parent", [GNMax, StableArgmax])
def test_a_sampler_without_its_distribution_is_refused(name, parent):
    def method(self, votes, student_proba=None, random_state=None):
        return np.argmax(votes, axis=1)

    base = type("Base", (), {name: method})
    for bases, body in (((base, parent), {}), ((parent,), {name: method})):
        with pytest.raises(TypeError, match="its cost is unknown. Write outcome_log_proba as well"):
            type("Wrong", bases, body)


# --- exponential noise ---------------------------------------------------------------------------


def log_of(proba):
    """Logs of probabilities given in many digits, near 1 from the others."""
    others = [mp.fsum(proba[:j] + proba[j + 1 :]) for j in range(len(proba))]
    return [
        float(mp.log(p) if other > 0.5 else mp.log1p(-other) if other > 1e-30 else -other)
        for p, other in zip(proba, others, strict=True)
    ]


@pytest.mark.parametrize("gamma", [0.05, 3.0, 1e4])
@pytest.mark.parametrize("counts", [*CASES, [120, 130], [9, 8] + [3] * 60])
def test_exponential_outcomes_are_the_integral_of_a_polynomial(gamma, counts):
    with mp.workdps(60):
        weights = [mp.exp((n - max(counts)) / mp.mpf(1 / gamma)) for n in counts]
        proba = []
        for j, weight in enumerate(weights):
            polynomial = [mp.mpf(1)]
            for w in weights[:j] + weights[j + 1 :]:
                ends = [*polynomial, 0], [0, *polynomial]
                polynomial = [a - w * b for a, b in zip(*ends, strict=True)]
            proba.append(weight * mp.fsum(c / (i + 1) for i, c in enumerate(polynomial)))
        expected = log_of(proba)
    got = ExponentialNMax(gamma).outcome_log_proba([counts])[0]
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-300)


@cases(
    "mechanism, pure, at_2",
    (ExponentialNMax(0.05), 0.1, pure_rdp(0.1, [2.0])[0]),
    (LNMax(0.05, "discrete"), 0.1, pure_rdp(0.1, [2.0])[0]),
    (GNMax(20.0, "discrete"), math.inf, 2 / 400),
)
def test_other_noise_claims_what_is_known(mechanism, pure, at_2):
    facts = facts_of(mechanism)
    assert (facts.gdp_mu, facts.pure_epsilon) == (math.inf, pure)
    assert np.isinf(mechanism.published_rdp([[30, 20]], [2.0])).all()
    assert worst_case_rdp(mechanism, [2.0])[0] == at_2


# --- discrete noise ------------------------------------------------------------------------------


def whole_reference(mechanism, counts):
    """Log probability that each class wins, by sums of 50-digit probabilities."""
    with mp.workdps(50):
        if isinstance(mechanism, GNMax):
            scale = mp.mpf(mechanism.sigma)
            reach = int(15 * scale) + max(counts) + 2
            pmf = [mp.exp(-(mp.mpf(x) ** 2) / (2 * scale**2)) for x in range(2 * reach + 1)]
            tail = mp.mpf(0)
        else:
            p = mp.exp(-mp.mpf(mechanism.gamma))
            reach = int(100 / mechanism.gamma) + max(counts) + 2
            pmf = [p**x for x in range(2 * reach + 1)]
            tail = p ** (2 * reach + 1) / (1 - p)
        total = 2 * (mp.fsum(pmf) + tail) - pmf[0]
        pmf = [value / total for value in pmf]
        at_least = [tail / total]  # P(Z >= t), t from 2 * reach + 1 down to 0
        for value in reversed(pmf):
            at_least.append(at_least[-1] + value)
        at_least.reverse()

        def cdf(x):
            return at_least[-x] if x < 0 else 1 - at_least[x + 1]

        below = {x: cdf(x) for x in range(-2 * reach - 1, 2 * reach + 1)}
        proba = []
        for j, mine in enumerate(counts):
            rivals = [n + (k < j) for k, n in enumerate(counts) if k != j]
            terms = (
                pmf[abs(x - mine)] * mp.fprod(below[x - n] for n in rivals)
                for x in range(-reach, reach + 1)
            )
            proba.append(mp.fsum(terms))
        assert abs(mp.fsum(proba) - 1) < 1e-30
        return log_of(proba)


@cases(
    "mechanism",
    *(GNMax(12.0, "discrete"), GNMax(0.5, "discrete")),
    *(LNMax(0.2, "discrete"), LNMax(3.7, "discrete")),
)
@pytest.mark.parametrize("counts", [[0, 60], [83, 84, 83], [1, 0, 0], [9, 9, 2, 0, 9]])
def test_discrete_outcomes_agree_with_sums(mechanism, counts):
    got = mechanism.outcome_log_proba([counts])[0]
    np.testing.assert_allclose(got, whole_reference(mechanism, counts), rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("mechanism", [LNMax(0.2, "discrete"), GNMax(3.0, "discrete")])
@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 60), min_size=2, max_size=12).filter(lambda n: sum(n) > 0))
def test_discrete_ties_favour_low_codes(mechanism, counts):
    log_proba = mechanism.outcome_log_proba([counts])[0]
    assert not facts_of(mechanism).label_symmetric and facts_of(mechanism).argmax_noise is None
    np.testing.assert_allclose(logsumexp(log_proba), 0, atol=1e-12)
    for n in set(counts):
        assert (np.diff(log_proba[np.array(counts) == n]) < 1e-13).all()
    without_noise = type(mechanism)(1e-3 if isinstance(mechanism, GNMax) else 1e5, "discrete")
    assert without_noise.outcome_log_proba([counts])[0, np.argmax(counts)] > -1e-9


@cases(
    "noise, word",
    *((DiscreteLaplace(0.05), 2**62), (DiscreteLaplace(1 / 3), 2**62)),
    *((DiscreteGaussian(40.0), 2**62), (DiscreteGaussian(2.3), 2**62)),
    # short words: every digit is compared to the last
    *((DiscreteLaplace(2.5), 4), (DiscreteGaussian(0.4), 4)),
)
def test_discrete_samples_follow_their_probabilities(noise, word, monkeypatch, global_random_seed):
    """Finds a scale that is 3 % off."""
    monkeypatch.setattr(secure, "_WORD", word)
    proba = np.exp(noise.log_pmf(np.arange(-400, 401)))
    assert proba.sum() == pytest.approx(1, rel=1e-8)
    draws = noise.sample(np.random.default_rng(global_random_seed), (10_000, 10))
    assert draws.shape == (10_000, 10) and draws.dtype == np.int64
    assert_drawn_from(np.bincount(draws.ravel() + 400, minlength=801), proba)


def test_discrete_samples_far_beyond_64_bits_of_scale(global_random_seed):
    # gamma = 1e-9 has a denominator of 2**82
    draws = DiscreteLaplace(1e-9).sample(np.random.default_rng(global_random_seed), (20_000,))
    assert np.abs(draws).mean() == pytest.approx(1e9, rel=0.043)  # 6 standard errors
    assert_drawn_from(np.bincount(draws % 2), [0.5, 0.5])


def test_discrete_noise_too_large_for_its_distribution_is_refused_and_still_samples():
    for mechanism in (GNMax(1e7, "discrete"), LNMax(1e-7, "discrete")):
        with pytest.raises(ValueError, match="too large; use continuous"):
            mechanism.outcome_log_proba([[250, 0, 0]])
        assert mechanism.aggregate([[250, 0, 0]], random_state=0).shape == (1,)
