"""Every aggregator at matched label accuracy: MNIST votes of 250 teachers, and simulated ensembles.

    python benchmarks/compare_aggregators.py [mnist] [stable] [noise]

All numbers are expectations under the mechanisms' outcome distributions, computed, not sampled
(but for `StableArgmax`, whose queries share a run: 20 draws). delta = 1e-5. Exact epsilons and
those by the published bound depend on the votes: private, and no guarantee.

Needs ``$SKLEARN_PATE_DATA/votes``. About five minutes on one core.
"""

import math
import os
import sys
from functools import partial
from pathlib import Path

import numpy as np

from sklearn_pate.aggregators import (
    ConfidentGNMax,
    ExponentialNMax,
    GNMax,
    ImmutableArgmax,
    LNMax,
    PluralityVote,
    StableArgmax,
    distance_to_instability,
)
from sklearn_pate.rdp import (
    DEFAULT_ORDERS,
    data_independent_epsilon,
    exact_rdp,
    gnmax_sigma,
    least_scale,
    rdp_to_epsilon,
)

DELTA = 1e-5


def cost_at(mechanism, scale, orders):
    """Cost of any number of queries of a mechanism whose queries share it."""
    return mechanism.with_scale(scale).costs(orders)(1)


def quality(mechanism, votes, y):
    """Expected share of queries answered, and accuracy of their labels."""
    proba = np.exp(mechanism.outcome_log_proba(votes))[:, : votes.shape[1]]
    return proba.sum() / len(votes), proba[np.arange(len(y)), y].sum() / proba.sum()


def noise_for(accuracy, mechanism_at, votes, y, low, high):
    """Mechanism with the most noise whose labels are at least that accurate."""
    for _ in range(30):
        middle = math.sqrt(low * high)
        fits = quality(mechanism_at(middle), votes, y)[1] >= accuracy
        low, high = (middle, high) if fits else (low, middle)
    return mechanism_at(low)


def epsilons(mechanism, votes, by_bound=True):
    """Epsilon of these votes by the published bound and exact, and data-independent."""
    total = np.zeros(DEFAULT_ORDERS.size)
    bound = np.zeros(DEFAULT_ORDERS.size)
    for part in np.array_split(votes, math.ceil(len(votes) / 2000)):
        total += exact_rdp(mechanism, part, DEFAULT_ORDERS).sum(axis=0)
        if by_bound:
            log_proba = mechanism.outcome_log_proba(part)
            paid = np.exp(log_proba[:, : part.shape[1]]).sum(axis=1)
            bound += mechanism.published_rdp(part, DEFAULT_ORDERS, paid=paid).sum(axis=0)
    public = {"n_teachers": int(votes[0].sum()), "n_classes": votes.shape[1]}
    data_independent, _ = data_independent_epsilon(mechanism, len(votes), DELTA, **public)
    exact = rdp_to_epsilon(total, DELTA, DEFAULT_ORDERS)[0]
    published = math.inf
    if by_bound and np.isfinite(bound).any():
        published = rdp_to_epsilon(bound, DELTA, DEFAULT_ORDERS)[0]
    return published, exact, data_independent


def mnist_votes():
    """Votes of 250 networks on the test images, and their true labels."""
    with np.load(Path(os.environ["SKLEARN_PATE_DATA"]) / "votes" / "mnist_250_cnn.npz") as file:
        return file["votes"], file["y_test"]


def spelled(mechanism):
    """Its name and parameters, numbers to four digits."""
    values = []
    for name, value in mechanism.get_params().items():
        if isinstance(value, float):
            value = float(f"{value:.4g}")
        values.append(f"{name}={value}")
    return f"{type(mechanism).__name__}({', '.join(values)})"


def mnist():
    votes, y = mnist_votes()
    plain = quality(PluralityVote(), votes, y)[1]
    print(f"\n## MNIST, 250 teachers, 10,000 queries; plurality {plain:.4f}\n")
    print("| label accuracy | mechanism | answered | published bound | exact | data-independent |")
    print("|---|---|---|---|---|---|")
    for loss in (0.002, 0.01, 0.03):
        target = plain - loss
        candidates = [
            (lambda scale: LNMax(1 / scale), 1.0, 400.0),
            (lambda scale: ExponentialNMax(1 / scale), 1.0, 400.0),
            (GNMax, 1.0, 400.0),
            (lambda s: ConfidentGNMax(150, sigma1=3 * s, sigma2=s), 1.0, 400.0),
            (lambda s: ConfidentGNMax(200, sigma1=150.0, sigma2=s), 1.0, 400.0),
            (lambda s: ConfidentGNMax(200, sigma1=40.0, sigma2=s), 1.0, 400.0),
        ]
        for mechanism_at, low, high in candidates:
            mechanism = noise_for(target, mechanism_at, votes, y, low, high)
            answered, accuracy = quality(mechanism, votes, y)
            published, exact, data_independent = epsilons(mechanism, votes)
            print(
                f"| {accuracy:.4f} | `{spelled(mechanism)}` | {answered:.3f} "
                f"| {published:.2f} | {exact:.2f} | {data_independent:.2f} |",
                flush=True,
            )
    for immutable in (ImmutableArgmax(sigma=40.0), ImmutableArgmax(gamma=0.05)):
        answered, accuracy = quality(immutable, votes, y)
        claim = immutable.claimed_rdp(votes, DEFAULT_ORDERS).sum(axis=0)
        claimed = rdp_to_epsilon(claim, DELTA, DEFAULT_ORDERS)[0]
        data_independent, _ = data_independent_epsilon(
            immutable, len(votes), DELTA, n_teachers=250, n_classes=10
        )
        share = immutable.qualified(votes).mean()
        print(
            f"| {accuracy:.4f} | `{immutable}` | {answered:.3f} | claim {claimed:.2f}, for "
            f"{share:.1%} of the queries | | {data_independent:.3g} |",
            flush=True,
        )


def simulated(n_teachers, n_classes, n_queries, strength, seed=0):
    """Votes of teachers who are right with a probability that varies over queries."""
    rng = np.random.default_rng(seed)
    right = rng.beta(strength, 1.0, size=n_queries)
    y = rng.integers(n_classes, size=n_queries)
    others = 1.0 / np.arange(1, n_classes) ** 2  # a few classes attract most of the errors
    votes = np.empty((n_queries, n_classes), dtype=int)
    for q in range(n_queries):
        proba = np.empty(n_classes)
        is_right = np.arange(n_classes) == y[q]
        proba[is_right] = right[q]
        proba[~is_right] = (1 - right[q]) * rng.permutation(others) / others.sum()
        votes[q] = rng.multinomial(n_teachers, proba)
    return votes, y


def best_stable(votes, y, epsilon):
    """The number of runs with most answers: these, their accuracy, the runs, the mechanism."""
    candidates = []
    for runs in (1, 2, 5, 10, 20, 50, 100, 200):
        mechanism = StableArgmax(None, max_unstable=runs, failure_probability=DELTA / 10)
        scale = least_scale(partial(cost_at, mechanism), epsilon, DELTA)
        mechanism = mechanism.with_scale(scale)
        draws = [mechanism.aggregate(votes, random_state=seed) for seed in range(20)]
        answers = np.mean([(labels >= 0).sum() for labels in draws])
        right = np.mean([(labels == y).sum() for labels in draws])
        candidates.append((answers, right / max(answers, 1e-9), runs, mechanism))
    return max(candidates, key=lambda candidate: candidate[0])


def most_answers_of_gnmax(votes, y, epsilon, accuracy):
    """Number of queries whose noise leaves this accuracy: more queries need more noise."""
    public = {"n_teachers": int(votes[0].sum()), "n_classes": votes.shape[1]}
    low, high = 1, len(votes)
    while low < high:
        middle = (low + high + 1) // 2
        sigma = gnmax_sigma(epsilon, DELTA, middle, **public)
        if quality(GNMax(sigma), votes, y)[1] >= accuracy:
            low = middle
        else:
            high = middle - 1
    return low


def stable():
    ensembles = [
        ("MNIST, 250 teachers", *mnist_votes()),
        ("simulated, 1,000 teachers, agreement 0.8", *simulated(1000, 10, 10_000, 4.0)),
        ("simulated, 1,000 teachers, agreement 0.95", *simulated(1000, 10, 10_000, 19.0)),
        ("simulated, 5,000 teachers, agreement 0.8", *simulated(5000, 10, 10_000, 4.0)),
        ("simulated, 5,000 teachers, agreement 0.95", *simulated(5000, 10, 10_000, 19.0)),
    ]
    print("\n## StableArgmax beside GNMax: answers at one guarantee, delta 1e-5\n")
    print(
        "| ensemble | epsilon | runs | threshold | stable queries (d > threshold) | "
        "StableArgmax answers | accuracy | GNMax answers at that accuracy |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for name, votes, y in ensembles:
        plurality = quality(PluralityVote(), votes, y)[1]
        for epsilon in (0.5, 1.0, 2.0):
            answers, accuracy, runs, mechanism = best_stable(votes, y, epsilon)
            threshold = mechanism.stability_needed(len(votes))
            n_stable = (distance_to_instability(votes) > threshold).sum()
            # Where StableArgmax answers easy queries only, GNMax cannot be as accurate
            wanted = min(accuracy, plurality) - 0.002
            n_gnmax = most_answers_of_gnmax(votes, y, epsilon, wanted)
            print(
                f"| {name} | {epsilon:g} | {runs} | {threshold:.0f} | {n_stable} "
                f"| {answers:.0f} | {accuracy:.4f} | {n_gnmax} at {wanted:.4f} |",
                flush=True,
            )


def noise():
    votes, y = mnist_votes()
    ensembles = [
        ("MNIST, 250 teachers, 10 classes", votes[:1000], y[:1000]),
        ("simulated, 250 teachers, 10 classes", *simulated(250, 10, 1000, 4.0)),
        ("simulated, 1,000 teachers, 50 classes", *simulated(1000, 50, 300, 4.0)),
        ("simulated, 5,000 teachers, 50 classes", *simulated(5000, 50, 300, 4.0)),
    ]
    print(
        "\n## Laplace against Gaussian noise at equal label accuracy (the 2018 paper's Figure 2)\n"
    )
    print("| ensemble | label accuracy | noise | published bound | exact | data-independent |")
    print("|---|---|---|---|---|---|")
    for name, votes, y in ensembles:
        plain = quality(PluralityVote(), votes, y)[1]
        for loss in (0.01, 0.05):
            for mechanism_at in (lambda scale: LNMax(1 / scale), GNMax):
                n_teachers = float(votes[0].sum())
                mechanism = noise_for(
                    plain - loss, mechanism_at, votes, y, n_teachers / 200, 4 * n_teachers
                )
                accuracy = quality(mechanism, votes, y)[1]
                published, exact, data_independent = epsilons(mechanism, votes)
                kind = "Laplace" if isinstance(mechanism, LNMax) else "Gaussian"
                scale = mechanism.facts().argmax_noise.scale
                print(
                    f"| {name} | {accuracy:.4f} | {kind}, scale {scale:.1f} | {published:.2f} | "
                    f"{exact:.2f} | {data_independent:.2f} |",
                    flush=True,
                )


if __name__ == "__main__":
    for part in sys.argv[1:] or ["mnist", "stable", "noise"]:
        {"mnist": mnist, "stable": stable, "noise": noise}[part]()
