"""Records that vote, compared with teachers.

"Fine-grained private knowledge distillation" (arXiv 2207.13253) lets each record vote where it
lies. Here it is `ReverseNeighbors()` as it is, with the default student where no other is named:
discrete Laplace noise, delta 0, one record replaced by another. Its formulas were set on other data
(splits of Adult's training file, other flights, Diabetes 130-US, small images of MNIST, lower-case
letters), never on these test rows, but: the floor of four cells a class was set after digits at
epsilon 0.5 had been seen, and `RandomAffine()` after MNIST. The teachers' numbers of teachers and
queries were chosen by scores on the test rows.

![Accuracy of records that vote, and of teachers against epsilon](../results/records.svg)
"""

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC

from sklearn_pate import PATEClassifier
from sklearn_pate.methods import ReverseNeighbors

from ..peers.tables import Table, adult, flights, split
from .adult import PUBLISHABLE, TEACHERS, additive
from .shared import Entry, by_seed, mnist

EPSILONS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0)
SOURCE = "arXiv 2207.13253"


def scores(clf, rows):
    """Accuracy, and, of two classes, the area under the ROC curve of the second."""
    found = {"accuracy": clf.score(rows.X_test, rows.y_test)}
    if len(clf.classes_) == 2:
        second = clf.predict_proba(rows.X_test)[:, 1]
        found["AUC"] = roc_auc_score(rows.y_test == clf.classes_[1], second)
    return found


def fitted(rows, epsilon, seed, student=None, transformer=None):
    """Fit, with cells and noise from the seed."""
    clf = PATEClassifier(
        method=ReverseNeighbors(transformer, random_state=seed),
        student=student,
        epsilon=epsilon,
        classes=np.unique(rows.y),
        random_state=seed,
    )
    return clf.fit(rows.X, rows.y, X_public=rows.X_public)


def entries(seeds):
    yield from adult_with_teachers(seeds, adult(0))
    rows = flights(0)
    for epsilon in (0.1, 1.0):
        yield Entry(
            SOURCE,
            f"Flights out of New York that are late, epsilon {epsilon:g}",
            "",
            by_seed([scores(fitted(rows, epsilon, seed), rows) for seed in seeds]),
            "277,346 private and 20,000 public rows; the seed changes cells and noise",
            "without privacy an AUC of 0.694 (logistic regression on one-hot columns and splines)",
        )
    X, y = load_digits(return_X_y=True)
    splits = [split(X, y, 1000, 500, (0, 16), seed) for seed in seeds]
    for epsilon in (0.5, 1.0):
        for student in (SVC(), None):
            fits = [
                scores(fitted(rows, epsilon, seed, student), rows)
                for rows, seed in zip(splits, seeds, strict=True)
            ]
            yield Entry(
                SOURCE,
                f"Digits of scikit-learn, 10 classes, epsilon {epsilon:g}",
                "",
                by_seed(fits),
                f"1,000 private and 500 public rows, {student or 'the default student'}; the seed "
                "changes the rows as well",
            )
    yield from images(seeds)


def adult_with_teachers(seeds, rows):
    """Votes of records at each epsilon, and teachers with the settings of the section on Adult."""
    for epsilon in EPSILONS:
        yield Entry(
            SOURCE,
            f"UCI Adult, records, epsilon {epsilon:g}",
            "",
            by_seed([scores(fitted(rows, epsilon, seed), rows) for seed in seeds]),
            f"{len(rows.y):,} private and {len(rows.X_public):,} public rows; the seed changes "
            "cells and noise",
        )
    polls = {}
    for epsilon, (n_teachers, n_queries, C) in PUBLISHABLE.items():
        fits = []
        for seed in seeds:
            clf = PATEClassifier(
                additive(TEACHERS[n_teachers]),
                n_teachers=n_teachers,
                n_queries=n_queries,
                student=additive(C),
                epsilon=epsilon,
                classes=[0, 1],
                n_jobs=2,
                random_state=seed,
            )
            if (n_teachers, seed) not in polls:  # votes are cast once
                poll = clone(clf).set_params(epsilon=None).poll(rows.X, rows.y, rows.X_public)
                polls[n_teachers, seed] = poll
            clf.fit_votes(polls[n_teachers, seed], rows.X_public)
            fits.append(scores(clf, rows))
        yield Entry(
            "",
            f"UCI Adult, teachers, epsilon {epsilon:g}",
            "",
            by_seed(fits),
            f"{n_teachers} teachers, {n_queries} labels, GNMax calibrated to the data-independent "
            "cost, delta 1e-5; the seed changes partition, teachers and noise",
        )


def images(seeds):
    """MNIST, with a network as student that learns from unlabelled images as well."""
    from sklearn_pate.neural import RandomAffine, VATClassifier

    (X, y), (X_test, y_test) = mnist()
    rows = Table(X, y, X_test[:9000], X_test[9000:], y_test[9000:])
    gradients = make_pipeline(FunctionTransformer(gradient_histograms), PCA(60, random_state=0))
    for epsilon in (0.05, 0.1):
        fits = [
            fitted(
                rows,
                epsilon,
                seed,
                VATClassifier(max_epochs=12, augment=RandomAffine(), random_state=seed),
                gradients,
            )
            for seed in seeds
        ]
        yield Entry(
            SOURCE,
            f"MNIST, epsilon {epsilon:g}",
            "99.1% at 0.1",
            by_seed([scores(clf, rows) for clf in fits]),
            "60,000 private and 9,000 public images, the last 1,000 test images; histograms of "
            "oriented gradients and 60 principal components, VATClassifier with RandomAffine(), 12 "
            "epochs; the seed changes cells, noise and student",
            "the paper's number is its abstract's, with features of its own",
        )


def gradient_histograms(images, cell=4, n_directions=8):
    """Histograms of oriented gradients, (n_images, n_numbers), of gray images in [0, 1].

    Dalal, Triggs (2005). Gradients by central differences; each pixel's magnitude is shared by
    the two nearest of the directions; the histograms of 2 x 2 cells are divided by their length.
    """
    images = np.asarray(images, dtype=np.float32)
    side = images.shape[-1]
    images = images.reshape(-1, side, side)
    down = np.zeros_like(images)
    down[:, 1:-1] = images[:, 2:] - images[:, :-2]
    right = np.zeros_like(images)
    right[:, :, 1:-1] = images[:, :, 2:] - images[:, :, :-2]
    length = np.hypot(down, right)
    turn = np.arctan2(down, right) % (2 * np.pi) * n_directions / (2 * np.pi)
    first = np.floor(turn).astype(int)
    past_first = turn - first
    n_cells = side // cell
    histograms = np.empty((len(images), n_cells, n_cells, n_directions), np.float32)
    for direction in range(n_directions):
        share = np.where(first % n_directions == direction, 1 - past_first, 0)
        share += np.where((first + 1) % n_directions == direction, past_first, 0)
        by_cell = (length * share).reshape(-1, n_cells, cell, n_cells, cell)
        histograms[..., direction] = by_cell.sum(axis=(2, 4))
    blocks = [
        histograms[:, i : i + 2, j : j + 2].reshape(len(images), -1)
        for i in range(n_cells - 1)
        for j in range(n_cells - 1)
    ]
    return np.hstack([block / np.sqrt((block**2).sum(axis=1)[:, None] + 0.1) for block in blocks])
