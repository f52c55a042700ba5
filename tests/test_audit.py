"""The auditor: silent about what is private, loud about what is not."""

import math

import numpy as np
import pytest

from sklearn_pate.aggregators import (
    ConfidentGNMax,
    ExponentialNMax,
    GNMax,
    ImmutableArgmax,
    InteractiveGNMax,
    LNMax,
    PluralityVote,
    StableArgmax,
)
from sklearn_pate.audit import audit_aggregator
from sklearn_pate.rdp import DEFAULT_ORDERS, data_independent_epsilon, rdp_to_epsilon

MECHANISMS = [
    GNMax(5.0),
    GNMax(5.0, noise="discrete"),
    LNMax(0.3),
    LNMax(0.3, noise="discrete"),
    ExponentialNMax(0.3),
    ConfidentGNMax(15, sigma1=4.0, sigma2=4.0),
    ImmutableArgmax(gamma=1.0),
    ImmutableArgmax(3.0, sigma=5.0),
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
@pytest.mark.parametrize("votes", [[15, 15], [16, 14], [10, 10, 10], [28, 1, 1]], ids=str)
def test_no_mechanism_leaks_more_than_its_true_cost(mechanism, votes):
    claimed, _ = data_independent_epsilon(mechanism, 1, 1e-5, sum(votes), len(votes))
    n_samples = 20_000 if getattr(mechanism, "noise", "") == "discrete" else 60_000
    found = audit_aggregator(mechanism, votes, n_samples=n_samples, random_state=0)
    assert 0 <= found.epsilon <= claimed


def test_interactive_and_stable_pass_as_well():
    interactive = InteractiveGNMax(5, sigma1=4.0, sigma2=4.0, confidence=0.8)
    claimed, _ = data_independent_epsilon(interactive, 1, 1e-5, 30, 2)
    for student in ([0.5, 0.5], [0.9, 0.1]):

        def run(votes, rng, student=student):
            return interactive.aggregate(votes, np.tile(student, (len(votes), 1)), rng)

        found = audit_aggregator(run, [16, 14], n_samples=60_000, random_state=0)
        assert 0.05 < found.epsilon <= claimed
    stable = StableArgmax(run_epsilon=2.0, max_unstable=1)
    bar = stable.stability_needed(1)

    def alone(votes, rng):  # each query in a run of its own
        on_threshold, on_lead = stable._scales()
        lead = max(math.ceil(abs(votes[0, 0] - votes[0, 1]) / 2) - 1, 0)
        passes = lead + rng.laplace(scale=on_lead, size=len(votes)) > bar + rng.laplace(
            scale=on_threshold, size=len(votes)
        )
        return np.where(passes, votes[0].argmax(), -1)

    for gap in (0, 2, 40, 60):
        found = audit_aggregator(alone, [100 + gap // 2, 100 - gap // 2], random_state=0)
        assert found.epsilon <= 2.0


def test_the_immutable_argmax_fails_at_its_claimed_figure():
    immutable = ImmutableArgmax(sigma=40.0)
    claimed = rdp_to_epsilon(
        immutable.claimed_rdp([[250, 0]], DEFAULT_ORDERS)[0], 1e-5, DEFAULT_ORDERS
    )[0]
    found = audit_aggregator(immutable, [125, 125], random_state=0)
    true, _ = data_independent_epsilon(immutable, 1, 1e-5, 250, 2)
    assert claimed < 0.5 < 3 < found.epsilon <= true
    np.testing.assert_array_equal(found.votes, [125, 125])
    assert np.abs(found.votes - found.neighbour_votes).sum() == 2


def test_the_audit_finds_most_of_a_known_loss():
    # randomised response on two outcomes, epsilon log 3
    def response(votes, rng):
        return np.where(
            rng.random(len(votes)) < 0.75, votes.argmax(axis=1), 1 - votes.argmax(axis=1)
        )

    found = audit_aggregator(response, [5, 6], random_state=0)
    assert 0.95 * math.log(3) < found.epsilon <= math.log(3)
    assert found.event in ((0,), (1,))


def test_a_bound_is_wrong_as_seldom_as_it_says():
    # at confidence 0.8 on the exact edge of a guarantee
    def response(votes, rng):
        return np.where(
            rng.random(len(votes)) < 0.6, votes.argmax(axis=1), 1 - votes.argmax(axis=1)
        )

    wrong = [
        audit_aggregator(
            response, [5, 6], [6, 5], delta=1e-12, n_samples=1000, confidence=0.8, random_state=seed
        ).epsilon
        > math.log(1.5)
        for seed in range(300)
    ]
    assert np.mean(wrong) <= 0.2 + 4 * math.sqrt(0.2 * 0.8 / 300)


def test_the_auditor_refuses_what_is_no_pair():
    for neighbour in ([14, 16], [15, 15, 0], [15, 15]):
        with pytest.raises(ValueError, match="neighbour_votes"):
            audit_aggregator(GNMax(), [15, 15] if neighbour != [14, 16] else [16, 14], neighbour)
    with pytest.raises(ValueError, match="confidence"):
        audit_aggregator(PluralityVote(), [1, 1], confidence=1.0)
