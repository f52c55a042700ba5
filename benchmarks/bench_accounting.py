"""Accounting: exact costs, published bounds and smooth sensitivity, against one query at a time.

    python benchmarks/bench_accounting.py

Runs on one core. The baselines are written here in the way of the research code that came with the
2018 paper: the published bound one query at a time (orders in one array, tails from scipy.stats),
and smooth sensitivity by evaluating that bound at every distance, for one query and one order at a
time (tails from the error function alone).

MNIST votes of 250 teachers (10,000 queries, 10 classes) from ``$SKLEARN_PATE_DATA/votes``.
"""

import math
import os
import time
from pathlib import Path

import numpy as np
from scipy.special import erfc, logsumexp
from scipy.stats import norm

from sklearn_pate.aggregators import GNMax, LNMax
from sklearn_pate.rdp import exact_rdp, gnmax_rdp, lead_rdp, threshold_rdp, worst_case_rdp
from sklearn_pate.smooth_sensitivity import leads, smooth_sensitivity

SIGMA = 40.0
ORDERS = 1 + np.geomspace(0.1, 2000, 500)


def seconds(function, repeats=3):
    """Fastest of a few runs, and the last result."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = function()
        times.append(time.perf_counter() - start)
    return min(times), result


# --- baselines -----------------------------------------------------------------------------------


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
    e1, e2 = mu1 / variance, mu2 / variance
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
    for d in range(int(counts.sum())):
        here = bound_at(log_q_of(counts, sigma), sigma, order)[0]
        up, down = counts.copy(), counts.copy()
        up[0] += 1
        up[1] -= 1
        down[0] -= 1
        down[1] += 1
        local = max(
            abs(bound_at(log_q_of(other, sigma), sigma, order)[0] - here) for other in (up, down)
        )
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


def main():
    votes = np.load(Path(os.environ["SKLEARN_PATE_DATA"]) / "votes" / "mnist_250_cnn.npz")["votes"]
    rows = []

    start = time.perf_counter()
    one_query_at_a_time(votes[:500], SIGMA, ORDERS[:300])
    base_query = (time.perf_counter() - start) / 500
    for mechanism in (GNMax(SIGMA), LNMax(1 / 20)):
        taken, _ = seconds(lambda mechanism=mechanism: exact_rdp(mechanism, votes, ORDERS), 2)
        rows.append((f"exact costs, 10,000 queries, 500 orders, {mechanism!r}", taken, None))
    taken, _ = seconds(lambda: gnmax_rdp(votes, SIGMA, ORDERS[:300]))
    rows.append(("published GNMax bound, 10,000 queries, 300 orders", taken, base_query * 10_000))
    taken, _ = seconds(lambda: worst_case_rdp(GNMax(SIGMA), ORDERS))
    rows.append(("worst case, any classes, 500 orders", taken, None))

    order, beta = 20.0, 0.01
    start = time.perf_counter()
    for row in votes[:20]:
        smooth_one_query(row, SIGMA, order, beta)
    base_smooth = (time.perf_counter() - start) / 20
    taken, _ = seconds(
        lambda: smooth_sensitivity(
            lead_rdp(GNMax(SIGMA), [order], 250, 10)[:, 0], leads(votes), beta
        )
    )
    rows.append(("smooth sensitivity, GNMax, 10,000 queries, 1 order", taken, base_smooth * 10_000))

    start = time.perf_counter()
    for row in votes[:5]:
        smooth_one_threshold(row.max(), 200, 150.0, order, beta, 250)
    base_check = (time.perf_counter() - start) / 5

    def all_checks():
        count = np.arange(251)
        cost = threshold_rdp(count, 200, 150.0, [order])[:, 0]
        cost = np.maximum(cost, np.maximum(np.roll(cost, 1), np.roll(cost, -1)))  # both directions
        return smooth_sensitivity(cost, votes.max(axis=1), beta)

    taken, _ = seconds(all_checks)
    rows.append(
        ("smooth sensitivity, threshold, 10,000 queries, 1 order", taken, base_check * 10_000)
    )

    print("| task | seconds | one query at a time, seconds | times faster |")
    print("|---|---|---|---|")
    for name, taken, baseline in rows:
        compared = ("", "") if baseline is None else (f"{baseline:.2f}", f"{baseline / taken:.0f}")
        print(f"| {name} | {taken:.4g} | {compared[0]} | {compared[1]} |")


if __name__ == "__main__":
    main()
