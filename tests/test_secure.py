"""Noise from the operating system: its distributions, and that nothing else is drawn from."""

import copy
import os
import pickle
from functools import partial

import numpy as np
import pytest
from conftest import cases
from draws import assert_drawn_from
from scipy import stats
from sklearn.naive_bayes import GaussianNB

from sklearn_pate import PATEClassifier, rdp
from sklearn_pate.aggregators import (
    ConfidentGNMax,
    ExponentialNMax,
    GaussianMechanism,
    GNMax,
    ImmutableArgmax,
    InteractiveGNMax,
    LaplaceMechanism,
    LNMax,
    SoftVote,
    StableArgmax,
)
from sklearn_pate.propose_test_release import ProposeTestRelease
from sklearn_pate.secure import SystemGenerator
from sklearn_pate.smooth_sensitivity import SanitizedRelease
from sklearn_pate.synthesis import MarginalSynthesizer

RNG = np.random.default_rng(0)
X, X_PUBLIC = RNG.normal(size=(400, 3)), RNG.normal(size=(60, 3))
Y = (X[:, 0] > 0).astype(int)
N = 100_000
ALMOST_NEVER = 1e-9  # p-value below which an exact sampler is called wrong


@cases(
    "method, law",
    ("random", stats.uniform),
    ("normal", stats.norm),
    ("laplace", stats.laplace),
    ("exponential", stats.expon),
    ("gumbel", stats.gumbel_r),
)
def test_continuous_draws_have_their_distribution(method, law):
    rng = SystemGenerator()
    drawn = getattr(rng, method)(size=(N // 2, 2))
    assert drawn.shape == (N // 2, 2) and np.isfinite(drawn).all()
    assert stats.kstest(drawn.ravel(), law.cdf).pvalue > ALMOST_NEVER
    assert isinstance(getattr(rng, method)(), float)
    if method != "random":
        scale = {"scale": 3.0}
        scaled = getattr(rng, method)(**scale, size=N)
        assert stats.kstest(scaled, law(**scale).cdf).pvalue > ALMOST_NEVER


@pytest.mark.parametrize("low, high", [(0, 2), (-5, 6), (3, 1000)])
def test_whole_numbers_are_uniform(low, high):
    drawn = SystemGenerator().integers(low, high, size=N)
    assert drawn.min() >= low and drawn.max() < high
    assert stats.chisquare(np.bincount(drawn - low, minlength=high - low)).pvalue > ALMOST_NEVER


def test_large_whole_numbers_are_drawn_again_where_some_would_be_likelier():
    width = 2**63 - 2**61  # two thirds of what does not fit would fall below a third of the width
    drawn = SystemGenerator().integers(width, size=N) / width
    assert stats.kstest(drawn, "uniform").pvalue > ALMOST_NEVER
    assert isinstance(SystemGenerator().integers(width), int)
    pytest.raises(ValueError, SystemGenerator().integers, 3, 3).match("high must exceed low")


@cases("noise", rdp.DiscreteLaplace(1.7), rdp.DiscreteGaussian(0.6), rdp.DiscreteGaussian(7.5))
def test_discrete_noise_is_exact(noise):
    drawn = noise.sample(SystemGenerator(), (N,))
    most = int(noise.scale * 4 if noise.scale > 1 else 4)
    inside = np.exp(noise.log_pmf(np.arange(-most, most + 1)))
    counts = np.bincount(np.clip(drawn, -most - 1, most + 1) + most + 1, minlength=2 * most + 3)
    outside = (1 - inside.sum()) / 2
    assert_drawn_from(counts, [outside, *inside, outside])


def test_parameters_that_are_arrays_have_a_draw_each():
    rng, loc = SystemGenerator(), np.zeros((2, 3))
    for drawn in (rng.normal(loc, 40.0), rng.laplace(loc), rng.gumbel(loc), rng.normal(0, loc + 1)):
        assert drawn.shape == (2, 3) and len(np.unique(drawn)) == 6
    assert len(np.unique(rng.exponential(np.ones(9)))) == 9


def test_tails_are_not_cut(monkeypatch):
    words = iter([5 << 12, 0, 0, 1 << 63])

    def bits(self, size):
        return np.full(() if size is None else size, next(words), dtype=np.uint64)

    monkeypatch.setattr(SystemGenerator, "_bits", bits)
    tiny = SystemGenerator().random()
    assert 2.0**-106 < tiny < 2.0**-104  # two words of zeros, and half of the third


def test_what_numpy_would_draw_from_elsewhere_is_refused():
    rng = SystemGenerator()
    for name in set(dir(np.random.Generator)) - {"bit_generator"}:
        if name.startswith("_") or name in OWN:
            continue
        with pytest.raises(NotImplementedError, match="would draw this from elsewhere"):
            getattr(rng, name)(1, 1)


OWN = {"random", "integers", "normal", "laplace", "exponential", "gumbel"}


def test_there_is_no_state_to_take_along():
    for take in (pickle.dumps, copy.copy, copy.deepcopy):
        pytest.raises(TypeError, take, SystemGenerator()).match("no state")


@pytest.fixture
def asked(monkeypatch):
    """How many bytes the system was asked for, call by call."""
    asked, urandom = [], os.urandom
    monkeypatch.setattr("sklearn_pate.secure.urandom", lambda n: asked.append(n) or urandom(n))
    return asked


@cases(
    "secure, aggregator",
    *((False, GNMax(5.0)), (True, ConfidentGNMax(10, 5.0, 5.0)), (True, GNMax(5.0, "discrete"))),
)
def test_a_fit_draws_all_noise_from_the_system(asked, secure, aggregator):
    given = {"n_teachers": 20, "epsilon": None, "classes": [0, 1], "student": GaussianNB()}
    clf = PATEClassifier(GaussianNB(), aggregator=aggregator, random_state=0, **given)
    clf.fit(X, Y, X_PUBLIC)
    assert not asked and clf.privacy_spent_.generator == "seed"
    clf.set_params(random_state=None, secure=secure)
    votes = clf.poll(X, Y, X_PUBLIC)
    assert not asked  # votes have no noise yet
    for fit in (lambda: clf.fit_votes(votes, X_PUBLIC), lambda: clf.fit(X, Y, X_PUBLIC)):
        asked.clear()
        fit()
        assert sum(asked) >= 60 * 8  # eight bytes a query at least
        assert clf.privacy_spent_.generator == "system"


def mechanism_calls():
    """Stand-alone calls that draw noise, and how many bytes that takes at least.

    What numpy would draw from elsewhere is refused (see above).
    """
    votes, table = np.array([[40, 8, 2]] * 50), np.full((50, 3), 20.0)
    of_votes = [GNMax(4.0), GNMax(4.0, noise="discrete"), LNMax(0.05), ExponentialNMax(0.05)]
    of_votes += [LNMax(0.05, noise="discrete"), ConfidentGNMax(30, 4.0, 4.0), SoftVote(4.0)]
    of_votes += [ImmutableArgmax(gamma=0.05)]
    for aggregator in of_votes:
        yield partial(aggregator.release, votes), 50 * 8
        if not isinstance(aggregator, SoftVote | ImmutableArgmax):
            yield partial(aggregator.aggregate, votes), 50 * 8
    yield partial(SoftVote(4.0).soft_labels, votes), 50 * 3 * 8
    yield partial(StableArgmax(run_epsilon=5.0).release, votes), 8
    for noise in ("discrete", "continuous"):
        yield partial(LaplaceMechanism(2.0, noise=noise).noisy, table), 50 * 3 * 8
        yield partial(GaussianMechanism(2.0, noise=noise).noisy, table), 50 * 3 * 8
    interactive = InteractiveGNMax(3, 4.0, 4.0, 0.9)
    yield partial(interactive.release, votes, np.full((50, 3), 1 / 3)), 50 * 8
    release = SanitizedRelease(order=20.0, beta=0.01, sigma_cost=5.0, sigma_scale=5.0)
    yield partial(release.draw, np.exp(-np.arange(30.0)), np.arange(20)), 2 * 8


@pytest.mark.parametrize("number", range(len(list(mechanism_calls()))))
def test_mechanisms_called_by_themselves_draw_from_the_system(asked, number):
    call, n_bytes = list(mechanism_calls())[number]
    call()
    assert sum(asked) >= n_bytes
    asked.clear()
    for seed in (0, np.random.SeedSequence(0), np.random.default_rng(0)):
        call(random_state=seed)
    assert not asked


def test_a_table_and_rows_that_are_drawn_have_noise_from_the_system(asked):
    synthesizer = MarginalSynthesizer((-4, 4), missing=[], n_rows=200)
    for given, public in (({}, X_PUBLIC), ({"synthesizer": synthesizer}, None)):
        clf = PATEClassifier(classes=[0, 1], epsilon=8.0, random_state=0, **given)
        clf.fit(X, Y, public)
        assert clf.privacy_spent_.generator == "seed" and not asked
        clf.set_params(random_state=None).fit(X, Y, public)
        assert clf.privacy_spent_.generator == "system"
        table = clf.table_ if public is not None else clf.table_.table
        # eight bytes an entry at least, and for rows one for each bin and class of three columns
        of_rows = 0 if public is not None else 8 * 3 * 2 * synthesizer.n_bins
        assert sum(asked) >= 8 * table.counts.size + of_rows
        asked.clear()
        clf.poll(X, Y, public)  # draws rows, and no labels
        assert sum(asked) >= of_rows and (of_rows > 0 or not asked)
        asked.clear()


def test_a_private_test_in_a_fit_draws_from_the_system(asked, monkeypatch):
    drawn, passes = [], ProposeTestRelease.passes

    def recorded(self, votes, random_state=None):
        before = sum(asked)
        passed = passes(self, votes, random_state)
        drawn.append(sum(asked) - before)
        return passed

    monkeypatch.setattr(ProposeTestRelease, "passes", recorded)
    given = {"n_queries": 200, "classes": [0, 1], "accounting": "ptr", "epsilon": 2.2}
    clf = PATEClassifier(GaussianNB(), aggregator=GNMax(25.0), student=GaussianNB(), **given)
    votes, public = np.tile([[0, 250], [250, 0]], (100, 1)), RNG.normal(size=(200, 3))
    clf.fit_votes(votes, public)
    assert drawn.pop() >= 8 and sum(asked) >= 8 * 201  # the test, and each of 200 queries
    clf.curator_.test.passes(votes)  # by itself
    assert drawn.pop() >= 8
    asked.clear()
    clf.set_params(random_state=0).fit_votes(votes, public)
    assert drawn == [0] and not asked


@pytest.mark.parametrize("call", ["fit", "plan", "poll", "fit_votes"])
def test_a_seed_is_refused(call):
    clf = PATEClassifier(GaussianNB(), n_teachers=20, classes=[0, 1], secure=True, random_state=0)
    given = (np.full((60, 2), 10), X_PUBLIC) if call == "fit_votes" else (X, Y, X_PUBLIC)
    message = "secure=True .* give random_state=None, got random_state=0"
    pytest.raises(ValueError, getattr(clf, call), *given).match(message)
