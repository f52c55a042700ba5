"""Mechanisms: the outcome distribution against mpmath, closed forms and their own samples."""

import math

import mpmath as mp
import numpy as np
import pytest
from conftest import outcome_probabilities
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from scipy.stats import chisquare
from sklearn.base import clone

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
from sklearn_pate.rdp import (
    DiscreteGaussian,
    DiscreteLaplace,
    data_independent_epsilon,
    discrete,
    exact_rdp,
    pure_rdp,
    worst_case_rdp,
)
from sklearn_pate.rdp.facts import facts_of

CASES = [
    [83, 83, 84],
    [250, 0, 0],
    [40, 6, 4],
    [0, 1, 0],
    [5, 5, 5, 5, 5],
    [9] * 9 + [7, 0, 0],
]


@pytest.mark.parametrize("mechanism", [LNMax(0.05), LNMax(1.0), GNMax(40.0), GNMax(8.0)])
@pytest.mark.parametrize("counts", CASES)
def test_outcome_distribution_agrees_with_mpmath(mechanism, counts):
    log_proba = mechanism.outcome_log_proba([counts])[0]
    with mp.workdps(50):
        expected = [float(mp.log(p)) for p in outcome_probabilities(mechanism, counts)]
    assert log_proba == pytest.approx(expected, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("mechanism", [LNMax(0.05), LNMax(2.0), GNMax(40.0), GNMax(0.5)])
@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 400), min_size=2, max_size=30).filter(lambda n: sum(n) > 0))
def test_outcome_distribution_is_one_and_follows_the_classes(mechanism, counts):
    log_proba = mechanism.outcome_log_proba([counts, counts[::-1]])
    assert np.isfinite(log_proba).all()
    np.testing.assert_allclose(logsumexp(log_proba, axis=1), 0, atol=1e-9)
    np.testing.assert_allclose(log_proba[0], log_proba[1][::-1], rtol=1e-9, atol=1e-12)
    order = np.argsort(counts)
    assert (np.diff(log_proba[0][order]) >= -1e-9).all()  # more votes, more probable


@pytest.mark.parametrize("mechanism", [LNMax(0.05), LNMax(1.0), GNMax(40.0), GNMax(2.0)])
def test_a_class_without_votes_and_hope_reduces_to_two_classes(mechanism):
    two = mechanism.outcome_log_proba([[2600, 2400]])[0]
    three = mechanism.outcome_log_proba([[2600, 2400, 0]])[0]
    assert three[2] < -20
    np.testing.assert_allclose(three[:2], two, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize(
    "mechanism",
    [
        *(LNMax(0.05), GNMax(40.0), GNMax(5.0), ExponentialNMax(0.05)),
        *(LNMax(0.05, "discrete"), LNMax(1.0, "discrete"), GNMax(4.3, "discrete")),
    ],
)
@pytest.mark.parametrize(
    "counts", [[125, 125], [130, 120], [250, 0], [25] * 10, [60, 55, 50, 40, 30, 10, 5, 0, 0, 0]]
)
def test_samples_follow_the_outcome_distribution(mechanism, counts):
    n_samples = 200_000 if facts_of(mechanism).label_symmetric else 400_000 // len(counts)
    labels = mechanism.aggregate(np.tile(counts, (n_samples, 1)), random_state=0)
    expected = n_samples * np.exp(mechanism.outcome_log_proba([counts])[0])
    observed = np.bincount(labels, minlength=len(counts))
    rare = expected < 5  # too few for the chi-square: counted together
    observed = np.append(observed[~rare], observed[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    if expected[-1] < 5:
        assert observed[-1] <= 25
        observed, expected = observed[:-1], expected[:-1] * observed[:-1].sum() / n_samples
    expected *= observed.sum() / expected.sum()
    assert observed.size == 1 or chisquare(observed, expected).pvalue > 1e-6


def test_noise_is_not_truncated_to_whole_votes():
    # Laplace noise of scale 0.2 added to an int array would always leave a margin of one
    labels = LNMax(5.0).aggregate(np.tile([6, 5], (10_000, 1)), random_state=0)
    share = np.exp(LNMax(5.0).outcome_log_proba([[6, 5]])[0, 1])
    assert labels.mean() == pytest.approx(share, abs=5 * math.sqrt(share / 10_000))


@pytest.mark.parametrize("mechanism", [LNMax(0.05), GNMax(40.0)])
def test_noise_is_fresh_unless_seeded(mechanism):
    votes = np.tile([125, 125], (64, 1))
    draws = [mechanism.aggregate(votes) for _ in range(3)]
    assert (draws[0] != draws[1]).any() and (draws[1] != draws[2]).any()
    seeded = [mechanism.aggregate(votes, random_state=3) for _ in range(2)]
    np.testing.assert_array_equal(*seeded)


def test_plurality_takes_the_lowest_code_of_a_tie():
    votes = [[3, 5, 5], [4, 4, 5]]
    np.testing.assert_array_equal(PluralityVote().aggregate(votes), [1, 2])
    np.testing.assert_array_equal(
        PluralityVote().outcome_log_proba(votes), [[-np.inf, 0, -np.inf], [-np.inf, -np.inf, 0]]
    )
    assert PluralityVote().facts().gdp_mu == PluralityVote().facts().pure_epsilon == math.inf
    assert np.isinf(PluralityVote().published_rdp(votes, [2, 3])).all()


def test_own_mechanism_needs_its_outcome_distribution_only():
    class Coin(Aggregator):
        """Answer the plurality or refuse, each with probability 1/2."""

        def outcome_log_proba(self, votes, student_proba=None):
            winner = PluralityVote().outcome_log_proba(votes)
            refuse = np.zeros((len(winner), 1))
            return np.hstack([winner, refuse]) - math.log(2)

    labels = Coin().aggregate(np.tile([1, 9], (4000, 1)), random_state=0)
    assert set(labels.tolist()) == {-1, 1}
    assert (labels == -1).mean() == pytest.approx(0.5, abs=0.05)


def test_no_votes_give_no_labels():
    for mechanism in (LNMax(), GNMax(), ExponentialNMax(), GNMax(4, "discrete"), PluralityVote()):
        for n_classes in (2, 3):
            empty = np.empty((0, n_classes), dtype=int)
            assert mechanism.aggregate(empty).shape == (0,)
            assert mechanism.outcome_log_proba(empty).shape == (0, n_classes)


@pytest.mark.parametrize(
    ("mechanism", "name"),
    [
        (LNMax(gamma=0), "gamma"),
        (LNMax(gamma=-1.0), "gamma"),
        (LNMax(gamma="0.05"), "gamma"),
        (LNMax(gamma=None), "gamma"),
        (LNMax(gamma=math.nan), "gamma"),
        (GNMax(sigma=0.0), "sigma"),
        (GNMax(sigma=-40), "sigma"),
        (GNMax(sigma=math.inf), "sigma"),
        (GNMax(sigma=None), "sigma"),
        (LNMax(gamma=-1.0, noise="discrete"), "gamma"),
        (GNMax(sigma=None, noise="discrete"), "sigma"),
        (GNMax(noise="whole"), "noise"),
        (LNMax(noise=None), "noise"),
    ],
)
def test_bad_noise_is_named_whatever_is_asked(mechanism, name):
    votes = [[5, 5]]
    for call in (
        lambda: mechanism.aggregate(votes),
        lambda: mechanism.outcome_log_proba(votes),
        lambda: mechanism.published_rdp(votes, [2.0]),
        lambda: (facts_of(mechanism).gdp_mu, facts_of(mechanism).pure_epsilon),
    ):
        with pytest.raises(ValueError, match=name):
            call()


@pytest.mark.parametrize("gamma", [0.0, -1.0, None, "0.05", math.nan])
def test_exponential_noise_without_a_scale_is_refused(gamma):
    mechanism = ExponentialNMax(gamma)
    for call in (
        lambda: mechanism.aggregate([[5, 5]]),
        lambda: mechanism.outcome_log_proba([[5, 5]]),
        lambda: facts_of(mechanism).pure_epsilon,
    ):
        with pytest.raises(ValueError, match="gamma"):
            call()


@pytest.mark.parametrize(
    "mechanism",
    [LNMax(), GNMax(), ExponentialNMax(), LNMax(noise="discrete"), PluralityVote()],
)
def test_bad_votes_raise(mechanism):
    for votes in ([[5, -1]], [[5, 5], [4, 5]], [5, 5]):
        with pytest.raises(ValueError, match="votes"):
            mechanism.aggregate(votes)
        with pytest.raises(ValueError, match="votes"):
            mechanism.outcome_log_proba(votes)


def test_mechanisms_clone():
    assert clone(GNMax(sigma=3.0)).sigma == 3.0
    assert clone(LNMax()).set_params(gamma=0.2).gamma == 0.2


def test_noise_too_small_for_its_distribution_is_refused_and_still_samples():
    for mechanism in (GNMax(1e-6), LNMax(1e6)):
        with pytest.raises(ValueError, match="too small for its outcome distribution"):
            mechanism.outcome_log_proba([[250, 0, 0]])
        assert mechanism.aggregate([[250, 0, 0]]).tolist() == [0]


def test_half_precision_parameters_cost_what_they_say():
    assert GNMax(np.float16(40)).facts().gdp_mu == GNMax(40.0).facts().gdp_mu
    assert LNMax(np.float16(0.5)).facts().pure_epsilon == 1.0
    assert (
        type(GNMax(np.float16(40)).facts().gdp_mu)
        is type(LNMax(np.float16(0.5)).facts().pure_epsilon)
        is float
    )


def test_a_subclass_that_changes_what_is_released_inherits_no_claims():
    class Louder(GNMax):
        def outcome_log_proba(self, votes, student_proba=None):
            return super().outcome_log_proba(10 * np.asarray(votes))

    class Renamed(GNMax):
        """Changes nothing that is released."""

    class Immutable(ImmutableArgmax):
        def outcome_log_proba(self, votes, student_proba=None):
            return GNMax(40.0).outcome_log_proba(votes)

    assert (facts_of(Louder()).gdp_mu, facts_of(Louder()).pure_epsilon) == (math.inf, math.inf)
    assert facts_of(Louder()).argmax_noise is None and not facts_of(Louder()).label_symmetric
    assert np.isinf(Louder().published_rdp([[3, 1]], [2.0])).all()
    assert np.isinf(worst_case_rdp(Louder(), [2.0], n_teachers=10, n_classes=3)).all()
    assert (
        facts_of(Renamed()).gdp_mu == GNMax().facts().gdp_mu and facts_of(Renamed()).label_symmetric
    )
    # the sampler of the parent goes with its distribution
    labels = Immutable(1e6, sigma=1.0).aggregate([[126, 124]] * 2000, random_state=0)
    assert 0.4 < labels.mean() < 0.55


class Plain:
    def aggregate(self, votes, student_proba=None, random_state=None):
        return np.argmax(votes, axis=1)


class Drawn:
    def draw(self, votes, student_proba=None, random_state=None):
        return np.argmax(votes, axis=1), np.ones(len(votes), dtype=bool)


@pytest.mark.parametrize("change", [Plain, Drawn])
@pytest.mark.parametrize("parent", [GNMax, LNMax, ConfidentGNMax, StableArgmax])
def test_a_sampler_without_its_distribution_is_refused(change, parent):
    own = {name: value for name, value in vars(change).items() if name in ("aggregate", "draw")}
    for kind in (type("Mixed", (change, parent), {}), type("Written", (parent,), own)):
        mechanism = kind(60, 10.0, 10.0) if parent is ConfidentGNMax else kind()
        for n_classes in (2, 10):
            public = {"n_teachers": 100, "n_classes": n_classes}
            with pytest.raises(ValueError, match="inherits their distribution: its cost is unk"):
                data_independent_epsilon(mechanism, 10, 1e-5, **public)
        with pytest.raises(ValueError, match="Write outcome_log_proba as well"):
            exact_rdp(mechanism, [[60, 40]], [2.0])


# --- exponential noise ---------------------------------------------------------------------------


def log_of(proba):
    """Logs of probabilities given in many digits, near 1 from the others."""
    others = [mp.fsum(proba[:j] + proba[j + 1 :]) for j in range(len(proba))]
    return [
        float(mp.log(p) if other > 0.5 else mp.log1p(-other) if other > 1e-30 else -other)
        for p, other in zip(proba, others, strict=True)
    ]


@pytest.mark.parametrize("gamma", [0.05, 1.0, 3.0, 1e4])
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


@pytest.mark.parametrize("gamma", [0.05, 0.7])
def test_exponential_noise_is_permute_and_flip(gamma):
    # walk through the classes in random order; take one with probability exp(-gamma * behind)
    counts = np.array([30, 29, 25, 3])
    rng, n = np.random.default_rng(1), 200_000
    order = rng.permuted(np.tile(np.arange(4), (n, 1)), axis=1)
    heads = rng.random((n, 4)) < np.exp(gamma * (counts[order] - 30))
    taken = order[np.arange(n), heads.argmax(axis=1)]
    expected = n * np.exp(ExponentialNMax(gamma).outcome_log_proba([counts])[0])
    observed = np.bincount(taken, minlength=4)
    likely = expected > 5
    expected *= observed[likely].sum() / expected[likely].sum()
    assert chisquare(observed[likely], expected[likely]).pvalue > 1e-6


def test_exponential_noise_claims_what_is_known():
    mechanism = ExponentialNMax(0.05)
    assert (facts_of(mechanism).gdp_mu, facts_of(mechanism).pure_epsilon) == (math.inf, 0.1)
    assert np.isinf(mechanism.published_rdp([[30, 20]], [2.0])).all()
    np.testing.assert_array_equal(worst_case_rdp(mechanism, [2.0, 99.0]), pure_rdp(0.1, [2.0, 99]))


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


@pytest.mark.parametrize(
    "mechanism",
    [
        *(GNMax(40.0, "discrete"), GNMax(4.3, "discrete"), GNMax(0.5, "discrete")),
        *(LNMax(0.05, "discrete"), LNMax(1.0, "discrete"), LNMax(3.7, "discrete")),
    ],
)
@pytest.mark.parametrize(
    "counts",
    [[5, 5], [83, 84], [200, 0], [0, 60], [83, 84, 83], [0, 200, 0], [1, 0, 0], [9, 9, 2, 0, 9]],
)
def test_discrete_outcomes_agree_with_sums(mechanism, counts):
    got = mechanism.outcome_log_proba([counts])[0]
    np.testing.assert_allclose(got, whole_reference(mechanism, counts), rtol=1e-12, atol=1e-300)
    assert (
        worst_case_rdp(mechanism, [2.0, 50.0], n_teachers=sum(counts), n_classes=len(counts))
        < np.inf
    ).all()


@pytest.mark.parametrize("mechanism", [LNMax(0.2, "discrete"), GNMax(3.0, "discrete")])
@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 60), min_size=2, max_size=12).filter(lambda n: sum(n) > 0))
def test_discrete_ties_favour_low_codes(mechanism, counts):
    log_proba = mechanism.outcome_log_proba([counts])[0]
    assert not facts_of(mechanism).label_symmetric and facts_of(mechanism).argmax_noise is None
    np.testing.assert_allclose(logsumexp(log_proba), 0, atol=1e-12)
    for n in set(counts):
        level = log_proba[np.array(counts) == n]
        assert (np.diff(level) < 1e-13).all()
    without_noise = type(mechanism)(1e-3 if isinstance(mechanism, GNMax) else 1e5, "discrete")
    assert without_noise.outcome_log_proba([counts])[0, np.argmax(counts)] > -1e-9


@pytest.mark.parametrize(
    "noise",
    [
        *(DiscreteLaplace(0.05), DiscreteLaplace(1 / 3), DiscreteLaplace(2.5)),
        *(DiscreteGaussian(40.0), DiscreteGaussian(2.3), DiscreteGaussian(0.4)),
        DiscreteGaussian(12.34567),
    ],
)
@pytest.mark.parametrize("word", [2**62, 4])  # short words: every digit is compared to the last
def test_discrete_samples_follow_their_probabilities(noise, word, monkeypatch):
    if word == 4 and noise.scale > 4:
        pytest.skip("the integers below the scale need one word")
    monkeypatch.setattr(discrete, "_WORD", word)
    n = 100_000
    x = np.arange(-400, 401)
    expected = n * np.exp(noise.log_pmf(x))
    assert expected.sum() == pytest.approx(n, rel=1e-8)
    draws = noise.sample(np.random.default_rng(0), (n // 10, 10))
    assert draws.shape == (n // 10, 10) and draws.dtype == np.int64
    observed = np.bincount(draws.ravel() + 400, minlength=801)
    common = expected > 5
    observed = np.append(observed[common], observed[~common].sum())
    expected = np.append(expected[common], expected[~common].sum())
    assert chisquare(observed + 1e-9, (expected + 1e-9) * (n / expected.sum())).pvalue > 1e-6


def test_discrete_samples_far_beyond_64_bits_of_scale():
    # gamma = 1e-9 has a denominator of 2**82
    draws = DiscreteLaplace(1e-9).sample(np.random.default_rng(0), (20_000,))
    assert np.abs(draws).mean() == pytest.approx(1e9, rel=0.03)
    assert (draws % 2).mean() == pytest.approx(0.5, abs=0.02)


def test_discrete_noise_claims_what_is_known():
    laplace, gaussian = LNMax(0.05, "discrete"), GNMax(20.0, "discrete")
    assert (laplace.facts().gdp_mu, laplace.facts().pure_epsilon) == (math.inf, 0.1)
    assert (gaussian.facts().gdp_mu, gaussian.facts().pure_epsilon) == (math.inf, math.inf)
    np.testing.assert_array_equal(worst_case_rdp(gaussian, [2.0, 99.0]), [2 / 400, 99 / 400])
    for mechanism in (laplace, gaussian):
        assert np.isinf(mechanism.published_rdp([[30, 20]], [2.0])).all()

        class Louder(type(mechanism)):
            def outcome_log_proba(self, votes, student_proba=None):
                return super().outcome_log_proba(10 * np.asarray(votes))

        changed = Louder(noise="discrete")
        assert np.isinf(worst_case_rdp(changed, [2.0], n_teachers=10, n_classes=3)).all()
        assert facts_of(changed).pure_epsilon == math.inf


def test_discrete_noise_too_large_for_its_distribution_is_refused_and_still_samples():
    for mechanism in (GNMax(1e7, "discrete"), LNMax(1e-7, "discrete")):
        with pytest.raises(ValueError, match="too large for its outcome distribution"):
            mechanism.outcome_log_proba([[250, 0, 0]])
        assert mechanism.aggregate([[250, 0, 0]], random_state=0).shape == (1,)
