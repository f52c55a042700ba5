"""Asking only what is cheap: cost and correctness by the teachers' agreement.

10,000 MNIST queries, shared votes of 250 networks. Queries on which teachers agree cost less and
are right more often; a check that finds them costs something itself.
"""

import numpy as np

from sklearn_pate.aggregators import ConfidentGNMax, GNMax, LNMax
from sklearn_pate.rdp import data_independent_epsilon

from .shared import Entry, bound_epsilon, exact_epsilon, full_name, quality, stored_votes


def entries(seeds):
    votes, y = stored_votes("mnist_250_cnn")
    order = np.argsort(-votes.max(axis=1), kind="stable")
    plain = GNMax(40.0)
    for share in (0.25, 0.5, 0.75, 1.0):
        rows = order[: round(share * len(votes))]
        yield Entry(
            "2018, Figure 4",
            f"GNMax(40) on the {share:.0%} of queries with the largest pluralities",
            "a plot",
            {
                "bound": (bound_epsilon(plain, votes[rows]),),
                "exact": (exact_epsilon(plain, votes[rows]),),
                "labels right": (quality(plain, votes[rows], y[rows])[1],),
            },
            "chosen by the true votes: what a perfect, free check would do; not private",
        )
    for mechanism in (LNMax(0.05), plain, ConfidentGNMax(200, sigma1=150.0, sigma2=40.0)):
        right = quality(mechanism, votes, y)[1]
        answered = np.exp(mechanism.outcome_log_proba(votes)[:, :10]).sum(axis=1)
        data_independent, _ = data_independent_epsilon(
            mechanism, len(votes), 1e-5, n_teachers=250, n_classes=10
        )
        yield Entry(
            "2018, Figure 4",
            f"{full_name(mechanism)}, 10,000 asked",
            "a plot",
            {
                "answered": (answered.mean(),),
                "labels right": (right,),
                "bound": (bound_epsilon(mechanism, votes, answered=answered),),
                "exact": (exact_epsilon(mechanism, votes),),
                "data-independent": (data_independent,),
            },
            "computed, not drawn: the bound counts expected answers, as the paper does",
        )
    mechanism = ConfidentGNMax(200, sigma1=150.0, sigma2=40.0)
    proba = np.exp(mechanism.outcome_log_proba(votes))
    top = votes.max(axis=1)
    right = votes.argmax(axis=1) == y
    for low, high in ((0, 100), (100, 150), (150, 200), (200, 251)):
        inside = (top >= low) & (top < high)
        yield Entry(
            "2018, Figure 6",
            f"queries whose plurality has {low} to {high - 1} votes",
            "a histogram",
            {
                "share of queries": (inside.mean(),),
                "answered": (1 - proba[inside, -1].mean(),),
                "plurality right": (right[inside].mean(),),
            },
            full_name(mechanism),
        )
