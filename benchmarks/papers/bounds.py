"""The interplay of bounds: one query's cost by how far the teachers agree.

GNMax(40) and LNMax(0.05), 250 teachers, ten classes, order 20: all votes on two classes, the margin
as named. The paper's bound is the smaller of one that depends on the votes and one that does not;
the exact cost lies below both where teachers are split, too. No seeds: computed.
"""

import numpy as np

from sklearn_pate.aggregators import GNMax, LNMax
from sklearn_pate.rdp import exact_rdp, worst_case_rdp

from .shared import Entry, full_name, stored_votes

ORDER = np.array([20.0])


def entries(seeds):
    for mechanism, source in ((GNMax(40.0), "2018, Figure 3"), (LNMax(0.05), "2017, Theorem 3")):
        worst = float(worst_case_rdp(mechanism, ORDER)[0])
        for share in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0):
            votes = np.zeros((1, 10), dtype=int)
            margin = 2 * round(share * 125)
            votes[0, :2] = 125 + margin // 2, 125 - margin // 2
            yield Entry(
                source,
                f"{full_name(mechanism)}: cost of one query, gap {margin} of 250",
                "a plot" if source.endswith("3") and "Figure" in source else "",
                {
                    "bound": (float(mechanism.published_rdp(votes, ORDER).sum()),),
                    "exact": (float(exact_rdp(mechanism, votes, ORDER).sum()),),
                    "data-independent": (worst,),
                },
                "two classes share the votes",
            )
    votes, _ = stored_votes("mnist_250_cnn")
    mechanism = GNMax(40.0)
    orders = np.array([5.0, 20.0, 80.0])
    bound = mechanism.published_rdp(votes[:1000], orders)
    exact = exact_rdp(mechanism, votes[:1000], orders)
    for k, order in enumerate(orders):
        free = order / 40.0**2
        yield Entry(
            "2018, Figure 3",
            f"1,000 MNIST queries, order {order:g}",
            "a plot",
            {
                "share of queries whose bound depends on votes": (
                    float(np.mean(bound[:, k] < 0.999 * free)),
                ),
                "bound, sum": (float(bound[:, k].sum()),),
                "exact, sum": (float(exact[:, k].sum()),),
                "data-independent, sum": (1000 * free,),
            },
            "shared votes of 250 networks",
        )
