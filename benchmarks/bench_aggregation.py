"""Drawing labels from votes against a loop over queries; calibrating noise against a bisection."""

import math
from functools import partial

import numpy as np

from sklearn_pate.aggregators import GNMax, LNMax
from sklearn_pate.rdp import data_independent_epsilon, gnmax_sigma

from .shared import MissingError, Row, paired, show


def one_query_at_a_time(votes, draw):
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


def dp_accounting_sigma(epsilon, delta, n_queries):
    """The same noise by another library, which knows Gaussian noise and not the argmax."""
    try:
        from dp_accounting import (
            GaussianDpEvent,
            SelfComposedDpEvent,
            calibrate_dp_mechanism,
            mechanism_calibration,
        )
        from dp_accounting.rdp import RdpAccountant
    except ImportError:
        raise MissingError("dp-accounting, of the extra `test`") from None

    return calibrate_dp_mechanism(
        RdpAccountant,
        lambda sigma: SelfComposedDpEvent(GaussianDpEvent(sigma / math.sqrt(2)), n_queries),
        epsilon,
        delta,
        mechanism_calibration.ExplicitBracketInterval(1.0, 1000.0),
        tol=1e-4,
    )


def rows(quick):
    n_queries, n_rounds = (1000, 1) if quick else (10_000, 5)
    votes = np.random.default_rng(0).multinomial(250, np.arange(1, 11) / 55, size=n_queries)
    for mechanism, draw in (
        (GNMax(40.0), lambda rng, size: rng.normal(0, 40, size)),
        (LNMax(0.05), lambda rng, size: rng.laplace(0, 20, size)),
    ):
        yield Row(
            f"labels of {mechanism!r}",
            "s",
            "numpy, one query at a time",
            f"{n_queries:,} queries, 10 classes",
            paired(
                partial(mechanism.aggregate, votes),
                partial(one_query_at_a_time, votes, draw),
                n_rounds,
            ),
            (n_queries, "queries"),
        )

    n_classes, n_teachers, n_rounds = (2, 50, 1) if quick else (10, 250, 3)
    public = {"n_teachers": n_teachers, "n_classes": n_classes}
    wanted = (1.0, 1e-5, 100)
    ours = partial(gnmax_sigma, *wanted, **public)
    bisected = partial(bisected_sigma, *wanted, **public)
    np.testing.assert_allclose(ours(), bisected(), rtol=1e-5)
    setting = "100 queries, epsilon 1, delta 1e-5"
    yield Row(
        "sigma of GNMax that costs epsilon, to 1e-6",
        "s",
        "bisection of data_independent_epsilon",
        f"{setting}, {n_teachers} teachers, {n_classes} classes",
        paired(ours, bisected, n_rounds),
    )
    theirs = partial(dp_accounting_sigma, *wanted)
    theirs()  # its imports
    yield Row(
        "sigma of GNMax that costs epsilon, any teachers and classes, to 1e-6",
        "s",
        "dp-accounting, Gaussian noise by RDP, sigma to 1e-4",
        setting,
        paired(partial(gnmax_sigma, *wanted), theirs, n_rounds),
    )


if __name__ == "__main__":
    show(rows(quick=False))
