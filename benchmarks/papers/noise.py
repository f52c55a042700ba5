"""Laplace against Gaussian noise at equal label accuracy.

The noise of each is the most that leaves that accuracy, in expectation. Gaussian noise costs less
by the papers' bounds and by the data-independent costs; the exact costs of these votes are close.
No seeds: computed.
"""

from sklearn_pate.aggregators import GNMax, LNMax, PluralityVote
from sklearn_pate.rdp import data_independent_epsilon

from .shared import Entry, bound_epsilon, exact_epsilon, noise_for, quality, simulated, stored_votes


def entries(seeds):
    votes, y = (part[:1000] for part in stored_votes("mnist_250_cnn"))
    ensembles = {
        "MNIST, 250 networks": (votes, y),
        "simulated, 1,000 teachers, 50 classes": simulated(1000, 50, 300, 4.0),
    }
    for name, (votes, y) in ensembles.items():
        plain = quality(PluralityVote(), votes, y)[1]
        for loss in (0.01, 0.05):
            ours = {}
            for kind, make in (("Laplace", lambda s: LNMax(1 / s)), ("Gaussian", GNMax)):
                n_teachers = int(votes[0].sum())
                mechanism = noise_for(
                    plain - loss, make, votes, y, n_teachers / 200, 4.0 * n_teachers
                )
                ours[f"{kind}: scale"] = (mechanism.bounds().argmax_noise.scale,)
                public = {"n_teachers": n_teachers, "n_classes": votes.shape[1]}
                data_independent, _ = data_independent_epsilon(
                    mechanism, len(votes), 1e-5, **public
                )
                ours[f"{kind}: bound"] = (bound_epsilon(mechanism, votes),)
                ours[f"{kind}: exact"] = (exact_epsilon(mechanism, votes),)
                ours[f"{kind}: data-independent"] = (data_independent,)
            yield Entry(
                "2018, Figure 2",
                f"{name}, {len(votes):,} queries, label accuracy {plain - loss:.3f}",
                "a plot: Gaussian noise is better",
                ours,
                f"{loss:g} below the plurality's {plain:.3f}",
                "Gaussian noise wins by the bound and by the data-independent cost; by exact cost "
                "they are close"
                if loss == 0.01
                else "",
            )
