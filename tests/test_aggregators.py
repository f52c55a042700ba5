"""Mechanisms: their outcome distributions, against mpmath and samples, and their statements."""

import copy
import math
import re
from typing import Generic, TypeVar

import mpmath as mp
import numpy as np
import pytest
from conftest import cases, outcome_probabilities, sampled, table
from draws import assert_drawn_from
from faulty import RaisesIt
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB

from sklearn_pate import PATEClassifier, aggregators, rdp, secure
from sklearn_pate.accounting import plan_queries
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
from sklearn_pate.exceptions import BudgetExceededError
from sklearn_pate.methods.sums import SumsMechanism
from sklearn_pate.rdp import DiscreteGaussian, DiscreteLaplace, pure_rdp, worst_case_rdp
from sklearn_pate.rdp.bounds import bounds_of, has_distribution, stating_class

MANY = [60, 55, 50, 40, 30, 10, 5, 0, 0, 0]
CASES = [[83, 83, 84], [250, 0, 0], [40, 6, 4], [0, 1, 0], [5, 5, 5, 5, 5], [9] * 9 + [7, 0, 0]]


@sampled()
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
def test_outcome_distribution_sums_to_one_and_follows_the_classes(mechanism, counts):
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
    n_samples = 100_000 if bounds_of(mechanism).label_symmetric else 200_000 // len(counts)
    labels = mechanism.aggregate(np.tile(counts, (n_samples, 1)), random_state=global_random_seed)
    proba = np.exp(mechanism.outcome_log_proba([counts])[0])
    assert_drawn_from(np.bincount(labels, minlength=len(counts)), proba)


def test_log_argmax_of_many_rows_equals_that_of_each_row():
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


def test_plurality_returns_the_lowest_code_of_a_tie():
    votes = [[3, 5, 5], [4, 4, 5]]
    np.testing.assert_array_equal(PluralityVote().aggregate(votes), [1, 2])
    certain = [[-np.inf, 0, -np.inf], [-np.inf, -np.inf, 0]]
    np.testing.assert_array_equal(PluralityVote().outcome_log_proba(votes), certain)
    assert PluralityVote().bounds().gdp_mu == PluralityVote().bounds().pure_epsilon == math.inf
    assert np.isinf(PluralityVote().published_rdp(votes, [2, 3])).all()
    immutable = ImmutableArgmax(math.inf, sigma=1.0)
    np.testing.assert_array_equal(immutable.outcome_log_proba(votes), certain)


def test_custom_mechanism_requires_its_outcome_distribution_only(global_random_seed):
    class Coin(Aggregator):
        """Answer the plurality or refuse, each with probability 1/2."""

        def outcome_log_proba(self, votes, student_proba=None):
            winner = PluralityVote().outcome_log_proba(votes)
            return np.hstack([winner, np.zeros((len(winner), 1))]) - math.log(2)

    labels = Coin().aggregate(np.tile([1, 9], (4000, 1)), random_state=global_random_seed)
    assert_drawn_from(np.bincount(labels + 1, minlength=3), [0.5, 0, 0.5])


class Echo(Aggregator):
    """Draws from the probabilities of the student."""

    def outcome_log_proba(self, votes, student_proba=None):
        with np.errstate(divide="ignore"):
            return np.log(student_proba)


def test_custom_mechanism_gets_student_proba_and_requires_all_classes():
    assert Echo().aggregate([[1, 9]] * 3, np.eye(3)).tolist() == [0, 1, -1]
    for n_outcomes in (1, 4):
        with pytest.raises(ValueError, match="a column for each of the 2 classes"):
            Echo().aggregate([[1, 9]] * n_outcomes, np.eye(n_outcomes))


def test_aggregate_of_no_votes_returns_no_labels():
    for mechanism in (LNMax(), GNMax(), ExponentialNMax(), GNMax(4, "discrete"), PluralityVote()):
        for n_classes in (2, 3):
            empty = np.empty((0, n_classes), dtype=int)
            assert mechanism.aggregate(empty).shape == (0,)
            assert mechanism.outcome_log_proba(empty).shape == (0, n_classes)


@pytest.mark.parametrize("mechanism", [GNMax(), LNMax(noise="discrete"), PluralityVote()])
@pytest.mark.parametrize("votes", [[[5, -1]], [[5, 5], [4, 5]], [5, 5]])
def test_aggregate_refuses_bad_votes(mechanism, votes):
    for call in (mechanism.aggregate, mechanism.outcome_log_proba):
        pytest.raises(ValueError, call, votes).match("votes")


def test_outcome_distribution_refuses_too_small_noise_that_aggregate_accepts():
    for mechanism in (GNMax(1e-6), LNMax(1e6)):
        with pytest.raises(ValueError, match="too small; use a larger scale"):
            mechanism.outcome_log_proba([[250, 0, 0]])
        assert mechanism.aggregate([[250, 0, 0]]).tolist() == [0]


def test_outcome_distribution_of_a_subclass_replaces_the_parent_sampler(global_random_seed):
    class Immutable(ImmutableArgmax):
        def outcome_log_proba(self, votes, student_proba=None):
            return GNMax(40.0).outcome_log_proba(votes)

    votes = [[126, 124]] * 2000
    labels = Immutable(1e6, sigma=1.0).aggregate(votes, random_state=global_random_seed)
    proba = np.exp(GNMax(40.0).outcome_log_proba(votes[:1])[0])
    assert_drawn_from(np.bincount(labels, minlength=2), proba)


@pytest.mark.parametrize("name", ["aggregate", "draw"])
@pytest.mark.parametrize("parent", [GNMax, StableArgmax])
def test_sampler_without_its_distribution_is_refused(name, parent):
    def method(self, votes, student_proba=None, random_state=None):
        return np.argmax(votes, axis=1)

    base = type("Base", (), {name: method})
    for bases, body in (((base, parent), {}), ((parent,), {name: method})):
        with pytest.raises(TypeError, match="the inherited sampler. Override outcome_log_proba"):
            type("Wrong", bases, body)


# --- exponential noise ---------------------------------------------------------------------------


def log_of(proba):
    """Logs of probabilities given in many digits, near 1 from the others."""
    others = [mp.fsum(proba[:j] + proba[j + 1 :]) for j in range(len(proba))]
    return [
        float(mp.log(p) if other > 0.5 else mp.log1p(-other) if other > 1e-30 else -other)
        for p, other in zip(proba, others, strict=True)
    ]


@sampled()
@pytest.mark.parametrize("gamma", [0.05, 3.0, 1e4])
@pytest.mark.parametrize("counts", [*CASES, [120, 130], [9, 8] + [3] * 60])
def test_exponential_outcomes_equal_the_integral_of_a_polynomial(gamma, counts):
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
def test_bounds_of_exponential_and_discrete_noise_equal_known_ones(mechanism, pure, at_2):
    bounds = bounds_of(mechanism)
    assert (bounds.gdp_mu, bounds.pure_epsilon) == (math.inf, pure)
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
            other_classes = [n + (k < j) for k, n in enumerate(counts) if k != j]
            terms = (
                pmf[abs(x - mine)] * mp.fprod(below[x - n] for n in other_classes)
                for x in range(-reach, reach + 1)
            )
            proba.append(mp.fsum(terms))
        assert abs(mp.fsum(proba) - 1) < 1e-30
        return log_of(proba)


@sampled()
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
def test_discrete_ties_favor_low_codes(mechanism, counts):
    log_proba = mechanism.outcome_log_proba([counts])[0]
    assert not bounds_of(mechanism).label_symmetric and bounds_of(mechanism).argmax_noise is None
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


def test_discrete_laplace_samples_a_scale_beyond_64_bits(global_random_seed):
    # gamma = 1e-9 has a denominator of 2**82
    draws = DiscreteLaplace(1e-9).sample(np.random.default_rng(global_random_seed), (20_000,))
    assert np.abs(draws).mean() == pytest.approx(1e9, rel=0.043)  # 6 standard errors
    assert_drawn_from(np.bincount(draws % 2), [0.5, 0.5])


def test_discrete_gaussian_samples_noise_beyond_64_bits(global_random_seed):
    draws = DiscreteGaussian(2.0**70).sample(np.random.default_rng(global_random_seed), (2000,))
    assert draws.dtype == object
    assert draws.astype(float).std() == pytest.approx(2.0**70, rel=0.1)  # 6 standard errors
    released = SumsMechanism(2000, 1e5).noisy(np.zeros((1, 2001), dtype=np.int64), 0)
    expected = SumsMechanism(2000, 1e5).noise_std
    assert released[0, :-1].std() == pytest.approx(expected, rel=0.1)


def test_soft_labels_of_sums_beyond_64_bits_are_distributions():
    sums = np.full((1, 1100), 2.0**33 - 1)  # in whole shares, below 2**53 each
    soft = aggregators.SoftVote(40.0).soft_labels(sums, random_state=0)
    np.testing.assert_allclose(soft, 1 / 1100, rtol=1e-6)


def test_outcome_distribution_refuses_too_large_noise_that_aggregate_accepts():
    for mechanism in (GNMax(1e7, "discrete"), LNMax(1e-7, "discrete")):
        with pytest.raises(ValueError, match='is too large. Use noise="continuous"'):
            mechanism.outcome_log_proba([[250, 0, 0]])
        assert mechanism.aggregate([[250, 0, 0]], random_state=0).shape == (1,)


# --- statements of a mechanism --------------------------------------------------------------------

MECHANISMS = [
    *(aggregators.GNMax(40.0, noise) for noise in ("continuous", "discrete")),
    *(aggregators.LNMax(0.05, noise) for noise in ("continuous", "discrete")),
    *(aggregators.SoftVote(40.0, noise=noise) for noise in ("continuous", "discrete")),
    *(aggregators.ExponentialNMax(0.05), aggregators.ConfidentGNMax(150, 100.0, 40.0)),
    aggregators.InteractiveGNMax(0.5, 100.0, 40.0, confidence=0.9),
    *(aggregators.ImmutableArgmax(sigma=40.0), aggregators.StableArgmax(0.1)),
]
PUBLIC = {"n_public": 1000, "n_teachers": 250, "n_classes": 3, "epsilon": 1.0, "delta": 1e-5}


X = np.random.default_rng(0).normal(size=(900, 2))
Y = (X[:600, 0] > 0).astype(int) + (X[:600, 1] > 0)
CLASSES = [0, 1, 2]


def states_nothing(bounds):
    return all(
        getattr(bounds, name) == getattr(rdp.PrivacyBounds(), name)
        for name in vars(rdp.PrivacyBounds())
    )


def own_names(kind):
    """Names that our classes define, for a subclass to override."""
    ours = [base for base in kind.__mro__ if base.__module__.startswith("sklearn_pate")]
    names = {name for base in ours for name in vars(base) if not name.startswith(("__", "_abc"))}
    return sorted(names - {"costs", "steps", "bounds"})


# --- a claim holds for the class whose body states it --------------------------------------------


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_bounds_are_lost_in_a_subclass_that_defines_anything(mechanism):
    kind = type(mechanism)
    assert not states_nothing(bounds_of(mechanism))
    for name in own_names(kind):
        body = {name: next(vars(base)[name] for base in kind.__mro__ if name in vars(base))}
        if name in ("aggregate", "draw", "release"):  # a sampler with another's distribution
            with pytest.raises(TypeError, match="Override (outcome_log_proba|soft_labels) as well"):
                type("Changed", (kind,), body)
            continue
        altered = type("Changed", (kind,), body)(**mechanism.get_params())
        assert states_nothing(bounds_of(altered)), name
        if name != "published_rdp" and has_distribution(altered):
            assert np.isinf(altered.published_rdp([[3, 1]], [2.0])).all(), name
    for name in ("__init__", "__getattribute__", "__setattr__", "__sklearn_clone__"):
        altered = type("Changed", (kind,), {name: getattr(kind, name)})  # may replace a sampler
        assert stating_class(altered.__new__(altered)) is None, name
    same = renamed(kind)(**mechanism.get_params())
    assert not states_nothing(bounds_of(same))
    copy.deepcopy(same)  # stores the names of slots in the class
    assert "__slotnames__" in vars(type(same)) and not states_nothing(bounds_of(same))


def renamed(kind):
    """A subclass that only has another name, text and annotation."""

    class Renamed(kind, Generic[TypeVar("T")]):
        """The same."""

        __slots__ = ()
        sigma: float

    assert Renamed.__annotations__  # Python 3.14 stores them in the class on access
    return Renamed


def test_bounds_do_not_cover_noise_that_a_special_method_changes():
    class Less(aggregators.GNMax):
        """The sampler gets a tenth of the noise that the parameter has."""

        def __init__(self, sigma=40.0, noise="continuous"):
            super().__init__(sigma, noise)
            self.aggregate = aggregators.GNMax(sigma / 10).aggregate

    assert np.isinf(rdp.worst_case_rdp(Less(), [2.0], n_classes=3)).all()
    assert np.isinf(Less().published_rdp([[3, 1, 0]], [2.0])).all()


class Unstable:
    """A base that changes the assumptions of a mechanism."""

    def stability_needed(self, n_queries):
        return 0.0


class Sure:
    """A base with the distribution of a mechanism without noise."""

    def outcome_log_proba(self, votes, student_proba=None):
        return aggregators.PluralityVote().outcome_log_proba(votes)


def test_bounds_are_lost_with_other_bases_in_between():
    for base in (Sure, Unstable):
        assert states_nothing(bounds_of(type("Mixed", (base, aggregators.GNMax), {})(40.0)))


def test_bounds_of_a_subclass_are_used_in_its_calibration():
    class Twice(aggregators.GNMax):
        """The votes count twice: a vote moves two counts by two."""

        def outcome_log_proba(self, votes, student_proba=None):
            return aggregators.GNMax(self.sigma).outcome_log_proba(2 * np.asarray(votes))

        def bounds(self):
            return rdp.PrivacyBounds(gdp_mu=2 * math.sqrt(2) / self.sigma, label_symmetric=True)

    assert (rdp.worst_case_rdp(Twice(40.0), [2.0]) == 2 * 8 / 40**2 / 2).all()
    ((calibrated, _),) = plan_queries(Twice(None), 60, **PUBLIC).stages
    # as GNMax it would get noise for an eighth of the epsilon
    assert calibrated.sigma > 1.9 * rdp.gnmax_sigma(1.0, 1e-5, 60, n_teachers=250, n_classes=3)


def argmax(self, votes, student_proba=None, random_state=None):
    return np.argmax(votes, axis=1)


# --- which claim is missing ----------------------------------------------------------------------


class Coin(aggregators.Aggregator):
    def outcome_log_proba(self, votes, student_proba=None):
        return np.full(np.shape(votes), -math.log(np.shape(votes)[1]))


class Shifted(aggregators.GNMax):
    def aggregate(self, votes, student_proba=None, random_state=None):
        return super().aggregate(votes, random_state=random_state)

    def outcome_log_proba(self, votes, student_proba=None):
        return aggregators.GNMax(self.sigma).outcome_log_proba(votes)


@pytest.mark.filterwarnings("ignore:.*adds a constant to the top count")
@cases(
    "mechanism, parts",
    (Coin(), ["Coin states no cost", "method bounds that returns rdp.PrivacyBounds with"]),
    (Shifted(), ["Shifted states no cost", "do not hold for a subclass that changes"]),
    (aggregators.PluralityVote(), ["Use an aggregator with noise"]),
    (aggregators.ImmutableArgmax(math.inf, sigma=40.0), ["Use an aggregator with noise"]),
    ids=["own", "inherited", "none", "too large"],
)
def test_plan_error_for_infinite_cost_names_the_missing_bounds(mechanism, parts):
    with pytest.raises(BudgetExceededError) as caught:
        plan_queries(mechanism, 10, **PUBLIC)
    for part in [*parts, "epsilon=None"]:
        assert part in str(caught.value)


# --- calibration of any mechanism ----------------------------------------------------------------


class Geometric(aggregators.Aggregator):
    """A mechanism of one's own with noise of its own."""

    def __init__(self, width=None):
        self.width = width

    def outcome_log_proba(self, votes, student_proba=None):
        return aggregators.LNMax(1 / self.width).outcome_log_proba(votes)

    def bounds(self):
        return rdp.PrivacyBounds(pure_epsilon=2 / self.width)

    def with_scale(self, scale):
        return clone(self).set_params(width=scale) if self.width is None else None


@pytest.mark.filterwarnings("ignore:the noise")
def test_custom_mechanism_is_calibrated_by_its_bounds():
    ((stage, n_queries),) = plan_queries(Geometric(), 50, **PUBLIC).stages
    assert n_queries == 50 and 1 - 1e-5 < rdp.data_independent_epsilon(stage, 50, 1e-5)[0] <= 1.0
    with pytest.raises(ValueError, match=r"Geometric\(\) is calibrated to epsilon, but .* None"):
        plan_queries(Geometric(), 50, **(PUBLIC | {"epsilon": None}))


@cases(
    "aggregator, n_queries, n_classes",
    *((aggregators.GNMax(None), 300, 3), (aggregators.LNMax(None), 40, 2)),
    *((aggregators.GNMax(None, "discrete"), None, 3), (aggregators.LNMax(None, "discrete"), 9, 3)),
    ([aggregators.StableArgmax(None), aggregators.GNMax(None)], [100, 50], 2),
    (aggregators.StableArgmax(None, max_unstable=200, delta=8e-6), 10, 2),
    ([aggregators.ConfidentGNMax(200, 200.0, 100.0), aggregators.LNMax(None)], [30, 20], 2),
    ids=str,
)
@pytest.mark.filterwarnings("ignore:.*almost no query will be answered")
def test_aggregators_without_noise_are_calibrated_to_the_cap(aggregator, n_queries, n_classes):
    plan = plan_queries(aggregator, n_queries, **(PUBLIC | {"n_classes": n_classes}))
    assert 1 - 1e-5 < plan.epsilon <= 1.0
    public = {"n_teachers": 250, "n_classes": n_classes}
    costs = [stage.costs(**public)(n) for stage, n in plan.stages]
    total = costs[0] if len(costs) == 1 else costs[0].plus(costs[1])
    assert total.epsilon(1e-5)[0] == plan.epsilon


def test_calibration_refuses_noise_that_changes_no_cost():
    class Deaf(Geometric):
        def bounds(self):
            return rdp.PrivacyBounds(pure_epsilon=2.0)

    pytest.raises(BudgetExceededError, plan_queries, Deaf(), 50, **PUBLIC).match("does not pay for")


# --- mistakes are found before anything is spent -------------------------------------------------


def refused_early(ledger, **params):
    """The error of a fit that no teacher was trained for and nothing was booked of."""
    given = {"n_teachers": 30, "n_queries": 10, "epsilon": 5.0, "classes": CLASSES}
    given |= {"student": GaussianNB(), "ledger": ledger} | params
    clf = PATEClassifier(RaisesIt(AssertionError("trained")), **given)
    with pytest.raises((ValueError, TypeError)) as caught:
        clf.fit(X[:600], Y, X[600:])
    assert "trained" not in str(caught.value).replace("any teacher was trained", "")
    assert ledger.epsilon_spent == 0
    return str(caught.value)


class Mine(aggregators.Aggregator):
    """Random answers, whatever the votes."""

    def outcome_log_proba(self, votes, student_proba=None):
        return np.full(np.shape(votes), -math.log(np.shape(votes)[1]))

    def bounds(self):
        return rdp.PrivacyBounds(pure_epsilon=0.01)


def sampled(labels, paid):
    """A method that draws the same, whatever the votes."""
    return lambda self, votes, p=None, random_state=None: (np.array(labels), np.array(paid))


def stated(**bounds):
    """Return a class body whose method states these bounds."""
    return {"bounds": lambda self: rdp.PrivacyBounds(**bounds)}


MISTAKES = {
    "probabilities, not their logs": (
        {"outcome_log_proba": lambda self, votes, p=None: np.full(np.shape(votes), 1 / 3)},
        "made-up votes of 30 teachers for 3 classes.*log of probabilities",
    ),
    "columns": (
        {"outcome_log_proba": lambda self, votes, p=None: np.zeros((len(votes), 1))},
        "before any label was paid for.*a column for each of the 3 classes",
    ),
    "one argument": (
        {"outcome_log_proba": lambda self, votes: np.full(np.shape(votes), -math.log(3))},
        "before any label was paid for.*TypeError",
    ),
    "codes": (
        {"draw": sampled([3, 7], [True, True])},
        "from 0 to 2, or -1 for no answer; got whole numbers beyond",
    ),
    "paid": ({"draw": sampled([0, 1], [1.0, 1.0])}, "a bool for each label"),
    "bounds as an attribute": ({"bounds": rdp.PrivacyBounds()}, "'PrivacyBounds' object is not"),
    "negative": (stated(pure_epsilon=-1), "PrivacyBounds.pure_epsilon must be a"),
    "text": (stated(gdp_mu="0.1"), "PrivacyBounds.gdp_mu must be a number"),
    "noise": (stated(argmax_noise=40.0), "PrivacyBounds.argmax_noise must be an rdp"),
    "costs": (stated(rdp=np.ones(204)), "'numpy.ndarray' object is not callable"),
    "length": (stated(rdp=lambda *_, **__: 0.1), "PrivacyBounds.rdp of Wrong must return a cost"),
    "with_scale, itself": ({"with_scale": lambda self, scale: self}, "with_scale of Wrong must"),
}


@table("body, message", MISTAKES)
@pytest.mark.filterwarnings("ignore:the noise")
def test_mechanism_mistakes_are_reported_before_training(body, message, ledger):
    own = {name: vars(Mine)[name] for name in ("outcome_log_proba", "bounds")}
    text = refused_early(ledger, aggregator=type("Wrong", (aggregators.Aggregator,), own | body)())
    assert re.search(message, text, re.DOTALL), text


class KeepsMissing(GaussianNB):
    """Takes rows without a label for a class of their own."""

    accepts_unlabeled = True


class FewRows(GaussianNB):
    def predict(self, X):
        return super().predict(X)[:3]


@pytest.mark.filterwarnings("ignore:the noise")
def test_student_mistakes_are_reported_before_training(ledger):
    text = refused_early(ledger, student=KeepsMissing())
    assert "codes from 0 to 2" in text and "-1 marks a row" in text
    assert "got numbers of shape (3,)" in refused_early(ledger, student=FewRows())


def test_student_predictions_are_checked_after_the_fit():
    class Later(GaussianNB):
        def predict(self, X):
            codes = super().predict(X)
            return np.where(np.asarray(X)[:, 0] > 5, -1, codes)

    params = {"n_teachers": 30, "n_queries": 60, "epsilon": 20.0, "classes": CLASSES}
    clf = PATEClassifier(GaussianNB(), student=Later(), **params).fit(X[:600], Y, X[600:])
    assert clf.predict(X[:3]).shape == (3,)
    with pytest.raises(ValueError, match="predict of the student must return codes"):
        clf.predict([[6.0, 0.0]])


@pytest.mark.filterwarnings("ignore:the noise")
def test_mechanism_labels_are_checked_in_the_fit():
    class Later(Mine):
        """Draws a code that does not exist, of votes that are not made up."""

        outcome_log_proba = Mine.outcome_log_proba
        bounds = Mine.bounds

        def aggregate(self, votes, student_proba=None, random_state=None):
            return np.full(len(votes), 0 if len(votes) == 2 else 5)

    params = {"n_teachers": 30, "n_queries": 10, "classes": CLASSES, "student": GaussianNB()}
    clf = PATEClassifier(GaussianNB(), aggregator=Later(), on_bad_plan="warn", **params)
    with pytest.raises(ValueError, match="Later could not draw labels: .*The cost of the plan is"):
        clf.fit(X[:600], Y, X[600:])


# --- soft votes on a grid ------------------------------------------------------------------------


class WholeNumbersOnly(np.random.Generator):
    """A generator that draws no floating-point numbers."""

    def __init__(self):
        super().__init__(np.random.PCG64(0))


for _name in ("normal", "standard_normal", "random", "uniform", "laplace", "exponential"):
    setattr(WholeNumbersOnly, _name, None)


def test_soft_labels_depend_on_noisy_whole_numbers_only(monkeypatch):
    # Whatever comes out of one data set could have come out of its neighbour, digit by digit: the
    # noise makes up for the difference. Floating-point noise does not.
    rng = np.random.default_rng(0)
    n_classes = 400
    sums = rng.multinomial(50 * 2**20, np.ones(n_classes) / n_classes)[None]
    changed = sums.copy()
    changed[0, :2] += [-(2**20) // 3, 2**20 // 3]
    sampled = rng.integers(-(2**25), 2**25, size=sums.shape)

    def soft_label_with(noise, shares):
        monkeypatch.setattr(aggregators.base.DiscreteGaussian, "sample", lambda *_: noise)
        return aggregators.SoftVote(40.0).soft_labels(shares / 2**20)

    first = soft_label_with(sampled, sums)
    second = soft_label_with(sampled + sums - changed, changed)
    assert first.tobytes() == second.tobytes()


def test_soft_labels_are_sampled_as_whole_numbers():
    sums = [[6.25, 3.5, 0.25]] * 99
    labels = aggregators.SoftVote(2.0).soft_labels(sums, random_state=WholeNumbersOnly())
    assert labels.shape == (99, 3)
    with pytest.raises(TypeError):
        aggregators.SoftVote(2.0, noise="continuous").soft_labels([[1.0, 2.0]], WholeNumbersOnly())


@pytest.mark.parametrize("noise", ["discrete", "continuous"])
def test_soft_vote_noise_has_the_claimed_std(noise, global_random_seed):
    """Finds noise of 3 % less on a sum."""
    sums = np.tile([600.0, 400.0], (50_000, 1))
    soft_vote = aggregators.SoftVote(20.0, noise=noise)
    share = soft_vote.soft_labels(sums, random_state=global_random_seed)[:, 0]
    # at these sums the share is nearly linear in the noise
    expected = 20 * math.hypot(600, 400) / 1000**2
    assert share.std() == pytest.approx(expected, rel=0.02)  # more than 6 standard errors
    assert share.mean() == pytest.approx(0.6, abs=6 * expected / math.sqrt(50_000))
    assert aggregators.SoftVote(sigma=0.1).soft_labels([[-5.0, -5.0]]).tolist() == [[0.5, 0.5]]


def test_soft_labels_require_multiples_of_ticks():
    with pytest.raises(ValueError, match="requires sums that are multiples of 2"):
        aggregators.SoftVote(40.0).soft_labels([[0.1, 0.9]])
    assert aggregators.SoftVote(40.0, noise="continuous").soft_labels([[0.1, 0.9]]).shape == (1, 2)


@pytest.mark.parametrize("sigma", [0.3, 2.0, 40.0])
def test_discrete_soft_votes_cost_as_much_as_whole_gaussians(sigma):
    # one teacher moves all its weight from one class to another: two sums shift by 2**20 units
    orders = np.array([1.5, 4.0, 30.0])
    claimed = rdp.worst_case_rdp(aggregators.SoftVote(sigma), orders)
    np.testing.assert_allclose(claimed, orders / sigma**2, rtol=1e-12)
    grid = 2**6  # coarser, so that sums over the whole numbers are short
    scale = sigma * grid
    log_p = -0.5 * (np.arange(-math.ceil(60 * scale), math.ceil(60 * scale) + 1) / scale) ** 2
    log_p -= np.logaddexp.reduce(log_p)
    for order, bound in zip(orders, claimed, strict=True):
        if order * grid > 50 * scale:
            continue  # the worst term lies outside the window
        shifted = log_p[:-grid], log_p[grid:]
        for p, q in (shifted, shifted[::-1]):
            one = np.logaddexp.reduce(order * p + (1 - order) * q) / (order - 1)
            assert 2 * one <= bound * (1 + 1e-9) and 2 * one >= bound * 0.98


class Clipped(aggregators.SoftAggregator):
    """Shares of the sums after noise: a soft mechanism of one's own."""

    def __init__(self, sigma=5.0, temperature=2.0):
        self.sigma, self.temperature = sigma, temperature

    def soft_labels(self, sums, random_state=None):
        noise = np.random.default_rng(random_state).normal(scale=self.sigma, size=np.shape(sums))
        positive = np.maximum(np.asarray(sums) + noise, 1e-3)
        return positive / positive.sum(axis=1, keepdims=True)

    def bounds(self):
        return rdp.PrivacyBounds(gdp_mu=math.sqrt(2) / self.sigma)


def test_custom_soft_mechanism_releases_soft_labels():
    params = {"n_teachers": 30, "n_queries": 20, "epsilon": 9.0, "classes": CLASSES}
    clf = PATEClassifier(GaussianNB(), aggregator=Clipped(), **params)
    clf.fit(X[:600], Y, X[600:])
    labels = clf.public_soft_labels_[clf.query_indices_]
    np.testing.assert_allclose(labels.sum(axis=1), 1)
    np.testing.assert_array_equal(labels.argmax(axis=1), clf.public_labels_[clf.query_indices_])
    assert clf.privacy_spent_.epsilon == rdp.gdp_to_epsilon(math.sqrt(40) / 5.0, 1e-5)
    assert clf.privacy_spent_.n_answered == 20 and clf.poll(X[:600], Y, X[600:]).temperature == 2.0


def test_soft_mechanism_has_no_distribution_over_classes():
    assert has_distribution(aggregators.GNMax()) and not has_distribution(aggregators.SoftVote())
    assert aggregators.GNMax().temperature is None
    assert aggregators.SoftVote(temperature=3.0).temperature == 3.0

    with pytest.raises(TypeError, match="Override soft_labels as well"):
        type("Louder", (aggregators.SoftVote,), {"aggregate": argmax})


def test_custom_aggregator_of_votes_refuses_temperature():
    class Softmax(Mine):
        def __init__(self, temperature=1.0):
            self.temperature = temperature

    with pytest.raises(ValueError, match="Softmax.* aggregates votes, but has a temperature"):
        plan_queries(Softmax(), 10, **PUBLIC)
