"""Students on MNIST: few labels, 9,000 images.

The student is `VATClassifier` with moved images, 12 epochs; it sees the first 9,000 test images
and is scored on the last 1,000. The papers' student is a GAN.
"""

import numpy as np
from joblib import Parallel, delayed

from sklearn_pate.aggregators import ConfidentGNMax, GNMax, LNMax
from sklearn_pate.neural import RandomAffine, VATClassifier

from ..shared import data
from .adult import spent
from .shared import Entry, by_seed, full_name, mnist, mnist_ensemble, mnist_votes

STUDENT = "VATClassifier with RandomAffine"
RUNS = [
    ("2017, Figure 4", LNMax(gamma=0.05), 100, "98.0% at 2.04 (bound)"),
    ("2017, Figure 4", LNMax(gamma=0.05), 1000, "98.1% at 8.03 (bound)"),
    ("", GNMax(sigma=40.0), 100, ""),
    (
        "2018, Figure 5",
        ConfidentGNMax(threshold=200, sigma1=150.0, sigma2=40.0),
        640,
        "98.5% at 1.97 (bound), 286 answered",
    ),
]


def student(seed):
    return VATClassifier(augment=RandomAffine(), max_epochs=12, random_state=seed)


def entries(seeds):
    (_, _), (X, y) = mnist()
    folder = data("papernot2017", "the labels that the 2017 paper's authors published")
    noisy = np.load(folder / "mnist_250_student_labels_lap_20.npy")
    hundred = np.load(folder / "mnist_250_teachers_100_indices_used_by_student.npy")
    for rows, reported in ((hundred, "98.0% at 2.04"), (np.arange(1000), "98.1% at 8.03")):
        labels = np.full(9000, -1)
        labels[rows] = noisy[rows]
        scores = Parallel(2)(delayed(score)(student(seed), X, y, labels) for seed in seeds)
        yield Entry(
            "2017, Figure 4",
            f"{len(rows)} labels that the authors published",
            f"{reported} (bound)",
            {"accuracy": tuple(scores), "labels right": (np.mean(noisy[rows] == y[rows]),)},
            f"{STUDENT}; the seed changes the student",
            "another student",
        )
    votes, seconds = mnist_votes("augmented", 250, 0)
    for source, mechanism, n_queries, reported in RUNS:
        tasks = (delayed(fit)(mechanism, n_queries, seed, votes, X, y) for seed in seeds)
        rows = Parallel(2)(tasks)
        yield Entry(
            source,
            f"end to end, {full_name(mechanism)}, {n_queries} asked",
            reported,
            by_seed(rows),
            f"250 networks, moved images, batch normalisation, 240 images each, one ensemble; "
            f"{STUDENT}; the seed changes queries, noise and student",
            "better teachers: their votes cost less, and their labels are right more often",
            seconds,
            headline=True,
        )
        seconds = 0.0  # counted once


def score(student, X, y, labels):
    """Accuracy of a student that learns these labels."""
    return student.fit(X[:9000], labels).score(X[9000:], y[9000:])


def fit(mechanism, n_queries, seed, votes, X, y):
    """Accuracy and epsilons of one draw of labels and their student."""
    pate = mnist_ensemble("augmented", 250, seed).set_params(
        aggregator=mechanism, student=student(seed), n_queries=n_queries
    )
    pate.fit_votes(votes, X[:9000])
    known = pate.public_labels_ >= 0
    return {
        "accuracy": pate.score(X[9000:], y[9000:]),
        "labels right": np.mean(pate.public_labels_[known] == y[:9000][known]),
        "answered": known.sum(),
    } | spent(pate)
