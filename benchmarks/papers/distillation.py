"""Distillation: soft labels against hard ones, without noise.

50 networks share the MNIST training images. The student learns, of the same images, either the
plurality or the teachers' mean probabilities, sharpened or softened by a temperature.
"""

from sklearn.base import clone
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from sklearn_pate.aggregators import PluralityVote, SoftVote
from sklearn_pate.students import SoftLabelClassifier

from .shared import Entry, by_seed, mnist, mnist_ensemble

NUMBERS = (100, 500, 2000)


def entries(seeds):
    (X, y), (X_all, y_all) = mnist()
    student = make_pipeline(
        RBFSampler(gamma=0.02, n_components=1000, random_state=0),
        SoftLabelClassifier(LogisticRegression(C=10, max_iter=1000)),
    )
    flat, flat_test = X_all[:9000].reshape(9000, -1), X_all[9000:].reshape(1000, -1)
    kinds = {"hard labels": PluralityVote()} | {
        f"soft labels, temperature {t:g}": SoftVote(sigma=1e-9, temperature=t) for t in (1.0, 5.0)
    }
    for name, aggregator in kinds.items():
        ensemble = mnist_ensemble("plain", 50, seed=0).set_params(aggregator=aggregator)
        poll = ensemble.poll(X, y, X_all[:9000])
        rows = []
        for seed in seeds:
            clf = clone(ensemble).set_params(student=student, random_state=seed)
            rows.append({})
            for n in NUMBERS:
                clf.set_params(n_queries=n).fit_votes(poll, flat)
                rows[-1][f"{n} labels"] = clf.score(flat_test, y_all[9000:])
        yield Entry(
            "2017, Appendix B.1",
            name,
            "a plot: soft labels help where labels are few",
            by_seed(rows),
            "50 networks, kernel logistic regression as student; the seed changes the queries",
            "soft labels cost more: nothing hides behind an argmax, and each sum gets noise"
            if name.startswith("soft")
            else "",
        )
