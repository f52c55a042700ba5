"""Teachers on MNIST: accuracy, margins and queries close to a tie, by number of teachers.

Networks share the 60,000 training images and vote on the first 9,000 test images. The more of
them, the less each has seen and the further apart they vote; and the more the noise drowns.
"""

import numpy as np

from sklearn_pate.aggregators import LNMax, PluralityVote

from .shared import Entry, by_seed, mnist, mnist_votes, quality, right_votes

REPORTED = {250: "teachers 83.86%, with noise 93.18%"}


def entries(seeds):
    y = mnist()[1][1][:9000]
    for n_teachers in (5, 10, 100, 250):
        rows = []
        close = []
        earlier = 0.0
        for seed in seeds:
            votes, seconds = mnist_votes("plain", n_teachers, seed)
            earlier += seconds
            ordered = np.sort(votes, axis=1)
            margin = ordered[:, -1] - ordered[:, -2]
            rows.append(
                {
                    "teachers": right_votes(votes, y),
                    "plurality": quality(PluralityVote(), votes, y)[1],
                    "with noise": quality(LNMax(0.05), votes, y)[1],
                    "median gap": np.median(margin) / n_teachers,
                    "gap above 60%": np.mean(margin > 0.6 * n_teachers),
                }
            )
            close.append({f"gap {d}": np.mean(margin == d) for d in range(4)})
        n_images = 60_000 // n_teachers
        setting = f"networks, {n_images:,} images each; the seed changes parts and weights"
        yield Entry(
            "2017, Figures 2 and 3",
            f"{n_teachers} teachers, LNMax(0.05)",
            REPORTED.get(n_teachers, "a plot"),
            by_seed(rows),
            setting,
            "another network: single teachers are right more often, but err together more often"
            if n_teachers == 250
            else "",
            earlier,
        )
        yield Entry(
            "near-zero-cost, Figure 2",
            f"{n_teachers} teachers: share of queries whose top two are 0, 1, 2, 3 votes apart",
            "a plot",
            by_seed(close),
            setting,
            "with a gap of 2 or less one changed teacher can change the plurality",
        )
