"""Exact costs, published bounds and smooth sensitivity of MNIST votes against one query at a time.

The published baselines are written in the way of the research code that came with the 2018 paper:
the bound one query at a time (orders in one array, tails from scipy.stats), and smooth sensitivity
by evaluating that bound at every distance, for one query and one order at a time (tails from the
error function alone). That code has no exact costs; their baseline is the definition.
"""

import math
import os
from functools import partial
from pathlib import Path
from unittest.mock import patch

import numpy as np
from scipy.special import erfc, logsumexp
from scipy.stats import laplace, norm

from sklearn_pate.accountant import plan_queries
from sklearn_pate.accountant.calibration import _known_costs
from sklearn_pate.aggregators import GNMax, LNMax
from sklearn_pate.rdp import (
    DEFAULT_ORDERS,
    exact,
    exact_rdp,
    gnmax_rdp,
    margin_rdp,
    supremum,
    threshold_rdp,
    worst_case,
)
from sklearn_pate.rdp.ascent import climb
from sklearn_pate.smooth_sensitivity import half_margins, smooth_sensitivity

from .shared import MissingError, Row, paired, show

SIGMA = 40.0
ORDERS = 1 + np.geomspace(0.1, 2000, 500)


def log_argmax(counts, noise):
    """Log probability that each count is the largest with noise: the integral, by the trapezoid."""
    scale = noise.std()
    grid = np.linspace(counts.min() - 12 * scale, counts.max() + 12 * scale, 1001)[:, None]
    below = noise.logcdf(grid - counts)
    others = below.sum(axis=1, keepdims=True) - below
    log_p = logsumexp(noise.logpdf(grid - counts) + others, axis=0)
    return log_p - logsumexp(log_p)


def exact_one_query(counts, noise, orders):
    """The largest divergence over all moves of one vote, one move at a time."""
    log_p = log_argmax(counts, noise)
    a = orders[:, None]
    largest = np.zeros(len(orders))
    for source in np.flatnonzero(counts):
        for target in range(len(counts)):
            if source == target:
                continue
            moved = counts.copy()
            moved[source] -= 1
            moved[target] += 1
            log_q = log_argmax(moved, noise)
            for p, q in ((log_p, log_q), (log_q, log_p)):
                cost = logsumexp(a * p + (1 - a) * q, axis=1) / (orders - 1)
                largest = np.maximum(largest, cost)
    return largest


def exact_one_at_a_time(votes, noise, orders):
    return np.array([exact_one_query(row, noise, orders) for row in votes])


def exact_by_neighbours(votes, mechanism, orders):
    """The exact cost before it was made faster: all outcomes of one neighbour after another."""
    costs = np.zeros((len(votes), orders.size))
    for cost, counts in zip(costs, np.sort(votes, axis=1), strict=True):
        _, neighbours = exact._neighbours(counts[None], symmetric=True)
        after = mechanism.outcome_log_proba(neighbours)
        before = np.broadcast_to(mechanism.outcome_log_proba(counts[None]), after.shape)
        pairs = exact.Pairs.from_log_proba(
            np.concatenate([before, after]), np.concatenate([after, before])
        )
        coarse = np.unique(np.linspace(0, orders.size - 1, 25).astype(int))
        at_coarse = [pairs.divergence(orders[k]) for k in coarse]
        for k, divergence in zip(coarse, at_coarse, strict=True):
            cost[k] = divergence.max()
        for low, high, at_high in zip(coarse, coarse[1:], at_coarse[1:], strict=False):
            candidates = pairs.take(at_high >= cost[low] * (1 - 1e-9))
            for k in range(low + 1, high):
                cost[k] = candidates.divergence(orders[k]).max()
    return np.maximum.accumulate(exact.round_up(costs, orders), axis=1)


def bound_at(log_q, sigma, orders):
    """Theorem 2 of the 2018 paper for one query, orders in one array."""
    variance = sigma**2
    orders = np.atleast_1d(orders)
    fixed = orders / variance
    if np.isneginf(log_q):
        return np.zeros(orders.size)
    mu2 = math.sqrt(variance * -log_q)
    mu1 = mu2 + 1
    if mu2 <= 1:
        return fixed
    e1 = mu1 / variance
    e2 = mu2 / variance
    limit = (mu2 - 1) * e2 - mu2 * (math.log(mu1 / (mu1 - 1)) + math.log(mu2 / (mu2 - 1)))
    if log_q > limit or log_q + e2 >= 0:
        return fixed
    log_p = math.log1p(-math.exp(log_q))
    log_a = log_p - math.log1p(-math.exp((log_q + e2) * (mu2 - 1) / mu2))
    log_b = e1 - log_q / mu2
    moment = np.logaddexp(log_p + (orders - 1) * log_a, log_q + (orders - 1) * log_b)
    return np.where(mu1 >= orders, np.minimum(fixed, moment / (orders - 1)), fixed)


def log_q_of(counts, sigma):
    """Union bound on the probability of any class but the first."""
    q = sum(erfc((counts[0] - n) / (2 * sigma)) / 2 for n in counts[1:])
    return math.log(min(q, 1 - 1 / len(counts))) if q > 0 else -math.inf


def one_query_at_a_time(votes, sigma, orders):
    costs = []
    for row in votes:
        top = row.argmax()
        tails = norm.logsf((row[top] - np.delete(row, top)) / (math.sqrt(2) * sigma))
        log_q = min(logsumexp(tails), math.log1p(-1 / len(row)))
        costs.append(bound_at(log_q, sigma, orders))
    return np.array(costs)


def smooth_one_query(counts, sigma, order, beta):
    """Smooth sensitivity of the bound of one query at one order, distance by distance."""
    counts = np.sort(counts)[::-1].astype(float)
    best = 0.0

    def bound_of(votes):
        return bound_at(log_q_of(votes, sigma), sigma, order)[0]

    for d in range(int(counts.sum())):
        up = counts.copy()
        up[:2] += (1, -1)
        down = counts.copy()
        down[:2] += (-1, 1)
        bound = bound_of(counts)
        local = max(abs(bound_of(up) - bound), abs(bound_of(down) - bound))
        best = max(best, math.exp(-beta * d) * local)
        if counts[0] <= counts[1]:
            break
        counts = down
    return best


def smooth_one_threshold(count, threshold, sigma, order, beta, n_teachers):
    cost = []
    for n in range(-1, n_teachers + 2):
        excess = (n - threshold) / (math.sqrt(2) * sigma)
        q = min(erfc(excess), erfc(-excess)) / 2
        log_q = math.log(q) if q > 0 else -math.inf
        cost.append(bound_at(log_q, math.sqrt(2) * sigma, order)[0])
    best = 0.0
    for d in range(n_teachers):
        for n in (count - d, count + d):
            if 0 <= n <= n_teachers:
                local = max(abs(cost[n + 2] - cost[n + 1]), abs(cost[n] - cost[n + 1]))
                best = max(best, math.exp(-beta * d) * local)
    return best


def smooth_one_at_a_time(votes, order, beta):
    return [smooth_one_query(row, SIGMA, order, beta) for row in votes]


def smooth_thresholds(votes, order, beta):
    count = np.arange(251)
    cost = threshold_rdp(count, 200, 150.0, [order])[:, 0]
    cost = np.maximum(cost, np.maximum(np.roll(cost, 1), np.roll(cost, -1)))  # both directions
    return smooth_sensitivity(cost, votes.max(axis=1), beta)


def smooth_thresholds_one_at_a_time(votes, order, beta):
    return [smooth_one_threshold(row.max(), 200, 150.0, order, beta, 250) for row in votes]


def by_one_climb(noise, orders, widest_margin):
    """The search for the costliest votes before it was made faster: a climb at every order."""
    widest, lowest = supremum._borders(noise, orders, widest_margin)
    region = supremum._Region(noise, widest, lowest)
    margin, level = region.grid
    on_grid = region.cost_at(margin, level)
    best = [on_grid(order).argmax() for order in orders]
    cost = region.cost_at(margin[best], level[best])(orders)
    start = np.array([cost, margin[best], level[best]])
    last_step = 2e-4 * min(1, 30 * region.one_vote)
    borders = widest, lowest, supremum._HIGHEST
    return climb(region.cost_at, orders, start, borders, last_step)[0]


def plan(n_classes, stages=1):
    """Calibrate one stage, or some with 20 queries each; nothing is known from before."""
    _known_costs.cache_clear()
    aggregators = [GNMax(None)] * stages if stages > 1 else GNMax(None)
    return plan_queries(
        aggregators,
        [20] * stages if stages > 1 else None,
        n_public=1000,
        n_teachers=250,
        n_classes=n_classes,
        epsilon=1.0,
        delta=1e-5,
    )


def plan_by_one_climb(n_classes, stages=1):
    with patch.object(worst_case, "argmax_rdp", by_one_climb):
        return plan(n_classes, stages)


def plans(quick, n_rounds):
    settings = [(10, 1)] if quick else [(n_classes, 1) for n_classes in (2, 3, 10, 100, 1000)]
    several = (2, 3) if quick else (10, 3)
    for n_classes, stages in [*settings, several]:
        ours = partial(plan, n_classes, stages)
        baseline = partial(plan_by_one_climb, n_classes, stages)
        yield Row(
            f"plan of {n_classes:,} classes, {stages} calibrated stage{'s' * (stages > 1)}",
            "s",
            "the costliest votes by one climb at every order",
            "250 teachers, epsilon 1",
            paired(ours, baseline, n_rounds),
        )


def many_classes(quick):
    """Exact costs of made-up votes of 5,000 teachers, most of them on few of 150 classes."""
    rng = np.random.default_rng(0)
    mechanism = GNMax(100.0)
    shares = rng.dirichlet(np.full(150, 0.05), size=2 if quick else 20)
    votes = rng.multinomial(5000, shares)
    few = votes[: 1 if quick else 5]
    ours = partial(exact_rdp, mechanism, orders=DEFAULT_ORDERS)
    baseline = partial(exact_by_neighbours, mechanism=mechanism, orders=DEFAULT_ORDERS)
    np.testing.assert_allclose(ours(few), baseline(few), rtol=1e-10)
    scales = (1e3 / len(votes), 1e3 / len(few))
    yield Row(
        "exact cost, 150 classes, 5,000 teachers",
        "ms/query",
        f"all outcomes of one neighbour after another, as before (on {len(few)} queries)",
        f"{len(votes)} queries, {mechanism!r}, {DEFAULT_ORDERS.size} orders",
        paired(partial(ours, votes), partial(baseline, few), 1 if quick else 3, scales),
    )


def mnist_votes():
    """Votes of 250 networks on 10,000 images."""
    path = Path(os.environ.get("SKLEARN_PATE_DATA", "")) / "votes" / "mnist_250_cnn.npz"
    if not path.is_file():
        raise MissingError("votes/mnist_250_cnn.npz in the folder that SKLEARN_PATE_DATA names")
    return np.load(path)["votes"]


def rows(quick):
    n_rounds = 1 if quick else 3
    yield from plans(quick, n_rounds)
    yield from many_classes(quick)
    votes = mnist_votes()[: 500 if quick else 10_000]
    order = 20.0
    beta = 0.01

    def row(name, ours, baseline, baseline_is, n_few, setting):
        scales = (1e3 / len(votes), 1e3 / n_few)
        return Row(
            name,
            "ms/query",
            f"{baseline_is} (on {n_few} queries)",
            f"{len(votes):,} MNIST queries, 250 teachers, {setting}",
            paired(partial(ours, votes), partial(baseline, votes[:n_few]), n_rounds, scales),
        )

    n_few = 1 if quick else 5
    closest = votes[[half_margins(votes).argmin()]]
    for mechanism, noise in ((GNMax(SIGMA), norm(scale=SIGMA)), (LNMax(0.05), laplace(scale=20))):
        ours = partial(exact_rdp, mechanism, orders=ORDERS)
        baseline = partial(exact_one_at_a_time, noise=noise, orders=ORDERS)
        np.testing.assert_allclose(ours(closest), baseline(closest), rtol=0.01)  # the same costs
        yield row(
            f"exact cost, {mechanism!r}",
            ours,
            baseline,
            "scipy.stats, one move of one query at a time",
            n_few,
            f"{ORDERS.size} orders",
        )
    yield row(
        "published GNMax bound",
        partial(gnmax_rdp, sigma=SIGMA, orders=ORDERS[:300]),
        partial(one_query_at_a_time, sigma=SIGMA, orders=ORDERS[:300]),
        "scipy.stats, one query at a time",
        50 if quick else 500,
        "300 orders",
    )
    yield row(
        "smooth sensitivity, GNMax",
        lambda votes: smooth_sensitivity(
            margin_rdp(GNMax(SIGMA), [order], n_teachers=250, n_classes=10)[:, 0],
            half_margins(votes),
            beta,
        ),
        partial(smooth_one_at_a_time, order=order, beta=beta),
        "one distance of one query at a time",
        2 if quick else 20,
        "1 order",
    )
    yield row(
        "smooth sensitivity, threshold",
        partial(smooth_thresholds, order=order, beta=beta),
        partial(smooth_thresholds_one_at_a_time, order=order, beta=beta),
        "one distance of one query at a time",
        2 if quick else 5,
        "1 order",
    )


if __name__ == "__main__":
    show(rows(quick=False))
