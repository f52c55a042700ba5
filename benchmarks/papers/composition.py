"""Composition: from strong composition to the exact cost.

The data-independent epsilons of the same noise, by method; and what votes like those of
the shared MNIST teachers cost. No seeds: computed. The 2018 paper's appendix prints 8.42 and
10.14 for data-independent bounds of its own; the setting they belong to could not be told from
the numbers.
"""

import math

from sklearn_pate.aggregators import LNMax
from sklearn_pate.rdp import DEFAULT_ORDERS, pure_rdp, rdp_to_epsilon, worst_case_rdp

from .shared import Entry, bound_epsilon, exact_epsilon, stored_votes


def entries(seeds):
    votes, _ = stored_votes("mnist_250_cnn")
    for n, delta, reported in ((100, 1e-5, "5.80"), (1000, 1e-6, "26")):
        yield Entry(
            "2017, Section 4.2" + (" (SVHN)" if delta == 1e-6 else ""),
            f"{n} queries, LNMax(0.05), delta {delta:g}",
            f"{reported} (strong composition)",
            {name: (value,) for name, value in ways(n, 0.05, delta).items()}
            | {
                "bound": (bound_epsilon(LNMax(0.05), votes[:n], delta),),
                "exact": (exact_epsilon(LNMax(0.05), votes[:n], delta),),
            },
            "the first four are data-independent, for any number of classes, two of them by the "
            "improved conversion; bound (classic conversion) and exact are of the shared votes "
            "of 250 MNIST networks",
        )


def ways(n, gamma, delta):
    """Data-independent epsilons, by method."""
    root = 2 * gamma * math.sqrt(2 * n * math.log(1 / delta))
    pure = n * pure_rdp(2 * gamma, DEFAULT_ORDERS)
    worst = n * worst_case_rdp(LNMax(gamma), DEFAULT_ORDERS)
    return {
        "strong composition as printed": 4 * n * gamma**2 + root,
        "closed form of its moments bound": 2 * n * gamma**2 + root,
        "Renyi cost of pure steps": rdp_to_epsilon(pure, delta, DEFAULT_ORDERS)[0],
        "data-independent cost of the mechanism": rdp_to_epsilon(worst, delta, DEFAULT_ORDERS)[0],
    }
