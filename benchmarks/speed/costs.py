"""Exact costs, published bounds, labels and calibration, compared with the plain way to each."""

import math
from functools import partial

import numpy as np
from scipy.special import logsumexp
from scipy.stats import laplace, norm

from sklearn_pate.aggregators import GNMax, LNMax
from sklearn_pate.rdp import (
    DEFAULT_ORDERS,
    data_independent_epsilon,
    exact_rdp,
    gnmax_rdp,
    gnmax_sigma,
)

from .measure import Row, paired

SIGMA = 40.0


def log_argmax(counts, noise):
    """Log probability that each count is the largest with noise: the integral, by the trapezoid."""
    scale = noise.std()
    grid = np.linspace(counts.min() - 12 * scale, counts.max() + 12 * scale, 1001)[:, None]
    below = noise.logcdf(grid - counts)
    others = below.sum(axis=1, keepdims=True) - below
    log_p = logsumexp(noise.logpdf(grid - counts) + others, axis=0)
    return log_p - logsumexp(log_p)


def exact_by_definition(votes, noise):
    """The largest divergence over all moves of one vote, one move at a time."""
    a = DEFAULT_ORDERS[:, None]
    costs = np.zeros((len(votes), DEFAULT_ORDERS.size))
    for cost, counts in zip(costs, votes, strict=True):
        log_p = log_argmax(counts, noise)
        for source in np.flatnonzero(counts):
            for target in np.setdiff1d(range(len(counts)), source):
                changed = counts.copy()
                changed[[source, target]] += (-1, 1)
                log_q = log_argmax(changed, noise)
                for p, q in ((log_p, log_q), (log_q, log_p)):
                    divergence = logsumexp(a * p + (1 - a) * q, axis=1) / (DEFAULT_ORDERS - 1)
                    np.maximum(cost, divergence, out=cost)
    return costs


def bound_of_one_query(log_q):
    """Theorem 2 of the 2018 paper, all orders, in the way of the research code."""
    fixed = DEFAULT_ORDERS / SIGMA**2
    mu2 = SIGMA * math.sqrt(-log_q)
    mu1 = mu2 + 1
    e1, e2 = mu1 / SIGMA**2, mu2 / SIGMA**2
    if mu2 <= 1 or log_q + e2 >= 0:
        return fixed
    limit = (mu2 - 1) * e2 - mu2 * (math.log(mu1 / (mu1 - 1)) + math.log(mu2 / (mu2 - 1)))
    if log_q > limit:
        return fixed
    log_p = math.log1p(-math.exp(log_q))
    log_a = log_p - math.log1p(-math.exp((log_q + e2) * (mu2 - 1) / mu2))
    log_b = e1 - log_q / mu2
    more = DEFAULT_ORDERS - 1
    moment = np.logaddexp(log_p + more * log_a, log_q + more * log_b)
    return np.where(mu1 >= DEFAULT_ORDERS, np.minimum(fixed, moment / more), fixed)


def bound_one_query_at_a_time(votes):
    """The published bound, tails from scipy.stats."""
    costs = []
    for row in votes:
        gaps = row.max() - np.delete(row, row.argmax())
        log_q = logsumexp(norm.logsf(gaps / (math.sqrt(2) * SIGMA)))
        costs.append(bound_of_one_query(min(log_q, math.log1p(-1 / len(row)))))
    return np.array(costs)


def made_up_votes(n_queries):
    """Votes of 250 teachers who mostly agree, on ten classes."""
    rng = np.random.default_rng(0)
    return rng.multinomial(250, rng.dirichlet(np.full(10, 0.1), size=n_queries))


def accounting(quick):
    """Costs of votes, milliseconds a query; the baseline sees a few of them."""
    n_queries, n_few, n_rounds = (100, 1, 1) if quick else (2000, 5, 3)
    votes = made_up_votes(n_queries)
    some = votes[: 20 * n_few]
    for name, ours, baseline, few in (
        (
            "exact cost, GNMax(40)",
            partial(exact_rdp, GNMax(SIGMA), orders=DEFAULT_ORDERS),
            partial(exact_by_definition, noise=norm(scale=SIGMA)),
            votes[:n_few],
        ),
        (
            "exact cost, LNMax(0.05)",
            partial(exact_rdp, LNMax(0.05), orders=DEFAULT_ORDERS),
            partial(exact_by_definition, noise=laplace(scale=20)),
            votes[:n_few],
        ),
        (
            "published GNMax bound",
            partial(gnmax_rdp, sigma=SIGMA, orders=DEFAULT_ORDERS),
            bound_one_query_at_a_time,
            some,
        ),
    ):
        np.testing.assert_allclose(ours(few), baseline(few), rtol=0.01)  # the same costs
        yield Row(
            name,
            "ms/query",
            f"scipy.stats, one move of one query at a time (on {len(few)} queries)",
            f"{n_queries:,} queries, 250 teachers, {DEFAULT_ORDERS.size} orders",
            paired(
                partial(ours, votes),
                partial(baseline, few),
                n_rounds,
                (1e3 / n_queries, 1e3 / len(few)),
            ),
        )


def one_query_at_a_time(votes, draw):
    """Labels by numpy, query by query."""
    rng = np.random.default_rng(0)
    return np.array([int(np.argmax(row + draw(rng, row.size))) for row in votes])


def bisected_sigma(epsilon, delta, n_queries, **public):
    """To 1e-6, with the cost at all orders in each step."""
    low, high = 1.0, 1000.0
    while high > low * (1 + 1e-6):
        middle = math.sqrt(low * high)
        cost, _ = data_independent_epsilon(GNMax(middle), n_queries, delta, **public)
        low, high = (middle, high) if cost > epsilon else (low, middle)
    return high


def aggregation(quick):
    """Labels of votes, and the noise that costs an epsilon."""
    n_queries, n_rounds = (1000, 1) if quick else (10_000, 5)
    votes = made_up_votes(n_queries)
    for name, mechanism, draw in (
        ("GNMax(40)", GNMax(SIGMA), lambda rng, size: rng.normal(0, SIGMA, size)),
        ("LNMax(0.05)", LNMax(0.05), lambda rng, size: rng.laplace(0, 20, size)),
    ):
        yield Row(
            f"labels of {name}",
            "s",
            "numpy, one query at a time",
            f"{n_queries:,} queries, 10 classes",
            paired(
                partial(mechanism.aggregate, votes),
                partial(one_query_at_a_time, votes, draw),
                n_rounds,
            ),
        )
    public = {"n_teachers": 50, "n_classes": 2} if quick else {"n_teachers": 250, "n_classes": 10}
    ours = partial(gnmax_sigma, 1.0, 1e-5, 100, **public)
    bisected = partial(bisected_sigma, 1.0, 1e-5, 100, **public)
    np.testing.assert_allclose(ours(), bisected(), rtol=1e-5)
    yield Row(
        "sigma of GNMax that costs epsilon, to 1e-6",
        "s",
        "bisection of data_independent_epsilon",
        f"100 queries, epsilon 1, delta 1e-5, {public['n_teachers']} teachers",
        paired(ours, bisected, n_rounds),
    )
