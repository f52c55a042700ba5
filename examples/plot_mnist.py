"""
MNIST end to end: 250 networks as teachers, one vote, many students
====================================================================

250 small convolutional networks share the 60,000 training images, 240 each, and vote once on the
first 9,000 test images (`poll`). Then, without training a teacher again (`fit_votes`):

1. mechanisms and numbers of labels are compared by accuracy and epsilon, with `VATClassifier` as
   student, which learns from all 9,000 images and is scored on the last 1,000. The 2017 paper
   reports 0.980 at epsilon 2.04 (100 labels) and 0.981 at 8.03 (1,000 labels), delta 1e-5;
2. distillation is compared with hard labels (the paper's figure 5), without noise.

The epsilons of the first table are of two kinds. "published bound" and "exact" depend on the votes:
they are private, and as the papers print them. "data-independent" is `privacy_spent_`, which may be
published.

Takes about half an hour on 2 cores (a student takes a minute), less with a GPU. Needs the MNIST
files below ``$SKLEARN_PATE_DATA`` or a network connection, and the extras ``torch`` and ``plot``.
Give a file name to save the figure.
"""

import dataclasses
import sys
import time

import matplotlib.pyplot as plt
import numpy as np
import torch
from sklearn.base import clone
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from skorch import NeuralNetClassifier
from torch import nn

from sklearn_pate import PATEClassifier
from sklearn_pate.aggregators import ConfidentGNMax, GNMax, LNMax, PluralityVote, SoftVote
from sklearn_pate.datasets import fetch_mnist
from sklearn_pate.neural import RandomAffine, VATClassifier
from sklearn_pate.students import SoftLabelClassifier

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
start = time.monotonic()


def minutes():
    return f"[{(time.monotonic() - start) / 60:.0f} min]"


# %%
# Data
# ----
def images_and_labels(subset):
    mnist = fetch_mnist(subset=subset)
    images = mnist.data.reshape(-1, 1, 28, 28).astype(np.float32) / 255
    return images, mnist.target.astype(int)


X, y = images_and_labels("train")
X_all, y_all = images_and_labels("test")
X_public, X_test = np.split(X_all, [9000])
y_public, y_test = np.split(y_all, [9000])


# %%
# Teachers: any skorch network
# ----------------------------
# 240 images are few, so each is changed a little whenever it is shown. With group normalisation
# (not with batch normalisation), a GPU can train all networks together.
def layers(width=16):
    return nn.Sequential(
        RandomAffine(),
        nn.Conv2d(1, width, 5, stride=2, padding=2),
        nn.GroupNorm(4, width),
        nn.ReLU(),
        nn.Conv2d(width, 2 * width, 3, padding=1),
        nn.GroupNorm(4, 2 * width),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(2 * width, 2 * width, 3, padding=1),
        nn.GroupNorm(4, 2 * width),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Dropout(0.3),
        nn.Linear(18 * width, 10),
    )


network = NeuralNetClassifier(
    layers,
    criterion=nn.CrossEntropyLoss,
    optimizer=torch.optim.Adam,
    lr=0.003,
    max_epochs=20,
    batch_size=32,
    iterator_train__shuffle=True,
    iterator_valid__batch_size=1000,
    train_split=None,
    classes=list(range(10)),
    device=DEVICE,
)
pate = PATEClassifier(
    network,
    n_teachers=250,
    student=VATClassifier(augment=RandomAffine(), max_epochs=10, device=DEVICE, verbose=1),
    epsilon=None,
    classes=range(10),
    keep_teachers=True,
    n_jobs=2,
    random_state=0,  # to reproduce the page; never for a model that is published
    verbose=1,
)
votes = pate.poll(X, y, X_public)
torch.set_num_threads(2)
right = [np.mean(t.predict(X_public[:1000]) == y_public[:1000]) for t in votes.teachers]
plurality = np.mean(votes.counts.argmax(axis=1) == y_public)
print(f"mean teacher {np.mean(right):.3f}, plurality {plurality:.3f} {minutes()}")

# %%
# Accuracy and epsilon
# --------------------
print("mechanism, asked, answered: labels right, student, published bound, exact, data-independent")
runs = [
    (LNMax(gamma=0.05), 100),
    (GNMax(sigma=40.0), 100),
    (GNMax(sigma=40.0), 1000),
    (ConfidentGNMax(threshold=0.8, sigma1=100.0, sigma2=40.0), 1000),
]
for aggregator, n_queries in runs:
    clf = clone(pate).set_params(aggregator=aggregator, n_queries=n_queries)
    clf.fit_votes(votes, X_public)
    known = clf.public_labels_ >= 0
    print(
        f"{aggregator}, {n_queries}, {known.sum()}: "
        f"{np.mean(clf.public_labels_[known] == y_public[known]):.3f}, "
        f"{clf.score(X_test, y_test):.4f}, "
        f"{clf.curator_.epsilon(bound='published', conversion='classic'):.2f}, "
        f"{clf.curator_.epsilon():.2f}, {clf.privacy_spent_.epsilon:.2f} {minutes()}",
        flush=True,
    )


# %%
# Distillation
# ------------
# The student learns either the plurality or the teachers' mean probabilities, sharpened or
# flattened by a temperature, of the same images.
def probabilities(temperature):
    total = np.zeros((len(X_public), 10))
    for teacher in votes.teachers:
        tempered = teacher.predict_proba(X_public).astype(float) ** (1 / temperature)
        shares = tempered / tempered.sum(axis=1, keepdims=True)
        total += np.floor(shares * 2**20) / 2**20  # discrete noise is of such numbers
    return dataclasses.replace(votes, counts=total, temperature=temperature)


student = make_pipeline(
    RBFSampler(gamma=0.02, n_components=1000, random_state=0),
    SoftLabelClassifier(LogisticRegression(C=10, max_iter=1000)),
)
kinds = {"hard labels": (votes, PluralityVote())}
for temperature in (1.0, 5.0):
    kinds[f"soft labels, temperature {temperature:g}"] = (
        probabilities(temperature),
        SoftVote(sigma=1e-9, temperature=temperature),
    )
numbers = (50, 100, 200, 500, 1000, 2000)
flat_public = X_public.reshape(9000, -1)
flat_test = X_test.reshape(1000, -1)
figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
for (name, (poll, aggregator)), marker in zip(kinds.items(), "os^", strict=True):
    clf = clone(pate).set_params(aggregator=aggregator, student=student, verbose=0)
    scores = np.empty((len(numbers), 5))
    for k, n_queries in enumerate(numbers):
        for seed in range(5):
            clf.set_params(n_queries=n_queries, random_state=seed)
            scores[k, seed] = clf.fit_votes(poll, flat_public).score(flat_test, y_test)
    axes.errorbar(numbers, scores.mean(axis=1), scores.std(axis=1), marker=marker, label=name)
    print(name, scores.mean(axis=1).round(3), "+-", scores.std(axis=1).round(3))
axes.set(xscale="log", xlabel="labels, without noise", ylabel="accuracy of the student")
axes.legend()
print("done", minutes())
if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=150)
