"""Distillation: soft labels against hard ones, without noise.

50 logistic regressions share the MNIST training images. The student learns, of the same images,
either the plurality or the teachers' mean probabilities, sharpened or softened by a temperature.
"""

from sklearn.base import clone
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from sklearn_pate import PATEClassifier
from sklearn_pate.aggregators import PluralityVote, SoftVote
from sklearn_pate.students import SoftLabelClassifier

from .shared import Entry, by_seed, mnist

NUMBERS = (100, 500, 2000)


def entries(seeds):
    (X, y), (X_all, y_all) = ((X.reshape(len(X), -1), y) for X, y in mnist())
    student = make_pipeline(
        RBFSampler(gamma=0.02, n_components=1000, random_state=0),
        SoftLabelClassifier(LogisticRegression(C=10, max_iter=1000)),
    )
    teachers = PATEClassifier(
        LogisticRegression(C=0.1, max_iter=200),
        n_teachers=50,
        student=student,
        epsilon=None,
        classes=range(10),
        n_jobs=2,
        random_state=0,
    )
    kinds = {"hard labels": PluralityVote()} | {
        f"soft labels, temperature {t:g}": SoftVote(sigma=1e-9, temperature=t) for t in (1.0, 5.0)
    }
    for name, aggregator in kinds.items():
        ensemble = clone(teachers).set_params(aggregator=aggregator)
        poll = ensemble.poll(X, y, X_all[:9000])
        rows = []
        for seed in seeds:
            clf = clone(ensemble).set_params(random_state=seed)
            row = {}
            for n in NUMBERS:
                clf.set_params(n_queries=n).fit_votes(poll, X_all[:9000])
                row[f"{n} labels"] = clf.score(X_all[9000:], y_all[9000:])
            rows.append(row)
        yield Entry(
            "2017, Appendix B.1",
            name,
            "a plot",
            by_seed(rows),
            "50 logistic regressions, kernel logistic student; the seed changes the queries",
            "soft labels cost more: nothing hides behind an argmax, and each sum gets noise"
            if name.startswith("soft")
            else "",
        )
