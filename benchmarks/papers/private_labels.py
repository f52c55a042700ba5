"""A student on released labels against one on the plurality's, at equal count.

The 2018 paper compares a student of private labels with one of the teachers' plain plurality.
Both learn from as many labels; what passes a check is what the teachers agree on.
"""

import numpy as np
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from sklearn_pate.aggregators import ConfidentGNMax, GNMax

from .shared import Entry, by_seed, full_name, mnist, stored_votes


def entries(seeds):
    X, y = mnist()[1]
    X = X.reshape(len(X), -1)
    votes, _ = stored_votes("mnist_250_cnn")
    plurality = votes.argmax(axis=1)

    def score(rows, labels):
        student = make_pipeline(
            RBFSampler(gamma=0.02, n_components=1000, random_state=0),
            LogisticRegression(C=10.0, max_iter=300),
        )
        return student.fit(X[rows], labels).score(X[9000:], y[9000:])

    for mechanism in (ConfidentGNMax(200, sigma1=150.0, sigma2=40.0), GNMax(40.0)):
        runs = []
        for seed in seeds:
            rng = np.random.default_rng(seed)
            queried = rng.choice(9000, 2000, replace=False)
            labels = mechanism.aggregate(votes[queried], random_state=seed)
            is_answered = labels >= 0
            rows = queried[is_answered]
            other = rng.choice(9000, len(rows), replace=False)
            runs.append(
                {
                    "private labels": score(rows, labels[is_answered]),
                    "plurality, random rows": score(other, plurality[other]),
                    "plurality, the same rows": score(rows, plurality[rows]),
                    "true labels, random rows": score(other, y[other]),
                    "labels": len(rows),
                }
            )
        yield Entry(
            "2018, Section 5",
            f"MNIST, {full_name(mechanism)}, 2,000 asked",
            "",
            by_seed(runs),
            "shared votes of 250 networks, kernel logistic regression as student; the seed changes "
            "queries and noise",
        )
