"""How many teachers, and how much noise on their votes.

Ensembles of many sizes are polled. Their answers, at several epsilons and numbers of queries, are
drawn anew from the votes, and students learn from them.
"""

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from sklearn_pate import PATEClassifier
from sklearn_pate.classifier.voters import default_classifier
from sklearn_pate.neighbors import RowVectorizer
from sklearn_pate.rdp import gnmax_sigma

from .tables import TABLES, cut

EPSILONS = (0.25, 1.0, 4.0)
N_TEACHERS = (12, 25, 50, 100, 200, 400, 800, 1600, 3200)
N_QUERIES = (50, 100, 200, 400, 800, 1600, 3000)
#: So many more queries for each class.
BY_CLASS = (5, 10, 20)
N_REPEATS = 2
#: Fewest records of a teacher that is measured.
FEWEST_RECORDS = 4
DELTA = 1e-5
N_JOBS = 2


def regression():
    """The library's default, which may stop early: that is faster, and changes next to nothing."""
    return default_classifier().set_params(logisticregression__max_iter=100)


def forest():
    return make_pipeline(RowVectorizer(), RandomForestClassifier(30))


#: Teachers, their student's last step, and the most of them: forests take long.
KINDS = {
    "regression": (regression, lambda: LogisticRegression(max_iter=100), 3200),
    "forest": (forest, lambda: RandomForestClassifier(30), 400),
}


def measure(kept, *, is_quick=False):
    """Measure what is not kept yet."""
    for kind, (_, _, most) in KINDS.items():
        for name in ("wine",) if is_quick else TABLES:
            for n_teachers in N_TEACHERS:
                if n_teachers <= most:
                    key = f"{name} | {kind} | {n_teachers}"
                    kept.measure(key, one_size, name, kind, n_teachers)


def one_size(name, kind, n_teachers):
    """Points of one ensemble; none if its teachers would have too few records."""
    rows = cut(TABLES[name]())
    classes = np.unique(rows.y)
    found = {"n_records": len(rows.y), "n_classes": len(classes), "points": []}
    if len(rows.y) / n_teachers < FEWEST_RECORDS:
        return found
    clf = PATEClassifier(
        KINDS[kind][0](),
        n_teachers=n_teachers,
        classes=classes,
        epsilon=1.0,
        n_jobs=N_JOBS,
        random_state=0,
    )
    votes = clf.poll(rows.X, rows.y, X_public=rows.X_public).counts
    vectorizer = RowVectorizer().fit(rows.X_public)
    X_public, X_test = map(vectorizer.transform, (rows.X_public, rows.X_test))
    y_test = np.searchsorted(classes, rows.y_test)
    n_queries = {*N_QUERIES, *(n * len(classes) for n in BY_CLASS)}
    for epsilon in EPSILONS:
        for asked in sorted(n for n in n_queries if n <= len(votes)):
            sigma = gnmax_sigma(
                epsilon, DELTA, asked, n_teachers=n_teachers, n_classes=len(classes)
            )
            scores = [
                student_score(KINDS[kind][1](), votes, asked, sigma, seed, X_public, X_test, y_test)
                for seed in range(N_REPEATS)
            ]
            point = epsilon, asked, round(float(sigma), 4), round(float(np.mean(scores)), 5)
            found["points"].append(point)
    return found


def student_score(student, votes, asked, sigma, seed, X_public, X_test, y_test):
    """Accuracy of a student of noisy answers."""
    rng = np.random.default_rng([0, seed, asked])
    queries = rng.permutation(len(votes))[:asked]
    noisy = votes[queries] + rng.normal(0, sigma, (asked, votes.shape[1]))
    labels = noisy.argmax(axis=1)
    if (labels == labels[0]).all():
        return (y_test == labels[0]).mean()
    return student.fit(X_public[queries], labels).score(X_test, y_test)
