"""Shared code of the papers' modules: an entry of the page, votes of MNIST teachers, helpers."""

import math
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from sklearn_pate.rdp import DEFAULT_ORDERS, exact_rdp, rdp_to_epsilon

from ..shared import data

#: Votes of MNIST teachers are kept here from run to run; made again if deleted.
POLLS = Path(__file__).parents[1] / "results" / "polls"


@dataclass(frozen=True)
class Entry:
    """One result of a paper and ours."""

    #: paper and table, figure or section
    source: str
    #: measured quantity
    what: str
    #: the paper's number as printed; empty where it prints none (a plot, a sentence)
    reported: str = ""
    #: name -> our numbers, one per seed
    ours: dict[str, tuple[float, ...]] = field(default_factory=dict)
    #: data, models, mechanism, effect of the seeds
    setting: str = ""
    #: why ours differs, or what to think of it
    why: str = ""
    #: seconds that an earlier run took to make the votes
    earlier: float = 0.0
    #: whether the headline figure shows it
    headline: bool = False
    #: required data or packages that are missing
    missing: str | None = None


def by_seed(rows):
    """Dicts of numbers, one per seed, as one dict of tuples."""
    return {name: tuple(float(row[name]) for row in rows) for name in rows[0]}


def stored_votes(name):
    """Vote counts and true labels of 250 teachers: "mnist_250_cnn" or "adult_250_random_forest"."""
    folder = data("votes", f"`{name}.npz` (arrays `votes` and `y_test`: counts of 250 teachers)")
    with np.load(folder / f"{name}.npz") as file:
        return file["votes"], file["y_test"]


def full_name(mechanism):
    """Return the name with all parameters; scikit-learn's text leaves out defaults."""
    values = ", ".join(f"{k}={v:g}" for k, v in mechanism.get_params().items() if k != "noise")
    return f"{type(mechanism).__name__}({values})"


def exact_epsilon(mechanism, votes, delta=1e-5):
    """Exact cost of these votes (private), in parts: a table of moves of many queries is large."""
    parts = np.array_split(votes, -(-len(votes) // 2000))
    total = sum(exact_rdp(mechanism, part, DEFAULT_ORDERS).sum(axis=0) for part in parts)
    return rdp_to_epsilon(total, delta, DEFAULT_ORDERS)[0]


def bound_epsilon(mechanism, votes, delta=1e-5, answered=None, conversion="classic"):
    """Epsilon as the papers print it: their bound, one direction, converted as they did."""
    total = mechanism.published_rdp(votes, DEFAULT_ORDERS, paid=answered).sum(axis=0)
    return rdp_to_epsilon(total, delta, DEFAULT_ORDERS, conversion=conversion)[0]


def mnist():
    """Training and test images with labels, as (n, 1, 28, 28) between 0 and 1."""
    from sklearn_pate.datasets import fetch_mnist

    data("mnist", "MNIST")
    return tuple(
        (part.data.reshape(-1, 1, 28, 28).astype(np.float32) / 255, part.target.astype(int))
        for part in (fetch_mnist(subset="train"), fetch_mnist(subset="test"))
    )


def plain_layers():
    """The 2017 paper's kind of network for MNIST, smaller: two convolutions, two dense layers."""
    from torch import nn

    return nn.Sequential(
        nn.Conv2d(1, 16, 5, stride=2, padding=2),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(32 * 49, 64),
        nn.ReLU(),
        nn.Linear(64, 10),
    )


def augmented_layers(width=16):
    """A better one: batch normalisation, dropout, and images that are moved a little each time."""
    from torch import nn

    from sklearn_pate.neural import RandomAffine

    return nn.Sequential(
        RandomAffine(),
        nn.Conv2d(1, width, 5, stride=2, padding=2),
        nn.BatchNorm2d(width),
        nn.ReLU(),
        nn.Conv2d(width, 2 * width, 3, padding=1),
        nn.BatchNorm2d(2 * width),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(2 * width, 2 * width, 3, padding=1),
        nn.BatchNorm2d(2 * width),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Dropout(0.3),
        nn.Linear(18 * width, 10),
    )


#: Layers, learning rate, and epochs by number of teachers: with many images few are enough
NETWORKS = {
    "plain": (plain_layers, 0.001, {5: 4, 10: 4, 100: 12, 250: 20}),
    "augmented": (augmented_layers, 0.003, {250: 20}),
}


def skorch_ensemble(layers, n_teachers, seed, lr, epochs):
    """A `PATEClassifier` for ten classes whose teachers are skorch networks."""
    import torch
    from skorch import NeuralNetClassifier

    from sklearn_pate import PATEClassifier

    network = NeuralNetClassifier(
        layers,
        criterion=torch.nn.CrossEntropyLoss,
        optimizer=torch.optim.Adam,
        lr=lr,
        max_epochs=epochs,
        batch_size=32,
        iterator_train__shuffle=True,
        iterator_valid__batch_size=1000,
        train_split=None,
        classes=list(range(10)),
        device="cuda" if torch.cuda.is_available() else "cpu",
        verbose=0,
    )
    return PATEClassifier(
        network,
        n_teachers=n_teachers,
        epsilon=None,
        classes=range(10),
        n_jobs=2,
        random_state=seed,
    )


def mnist_ensemble(kind, n_teachers, seed):
    """Teachers for MNIST: "plain" or "augmented"."""
    layers, lr, epochs = NETWORKS[kind]
    return skorch_ensemble(layers, n_teachers, seed, lr, epochs[n_teachers])


def mnist_votes(kind, n_teachers, seed, n_public=9000):
    """Votes of teachers who share the training images, on the first test images.

    With them the seconds that they took in an earlier run; 0 if they were made now.
    """
    file = POLLS / f"mnist_{kind}_{n_teachers}_{seed}.npz"
    if not file.exists():
        start = time.monotonic()
        (X, y), (X_test, _) = mnist()
        votes = mnist_ensemble(kind, n_teachers, seed).poll(X, y, X_test[:n_public])
        file.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(file, counts=votes.counts, seconds=time.monotonic() - start)
        return votes.counts, 0.0
    with np.load(file) as stored:
        return stored["counts"], float(stored["seconds"])


def right_votes(counts, y):
    """Mean accuracy of single teachers, from their votes."""
    return counts[np.arange(len(counts)), y[: len(counts)]].mean() / counts[0].sum()


def quality(mechanism, votes, y):
    """Expected share of queries answered, and accuracy of their labels."""
    proba = np.exp(mechanism.outcome_log_proba(votes))[:, : votes.shape[1]]
    return proba.sum() / len(votes), proba[np.arange(len(y)), y].sum() / proba.sum()


def noise_for(accuracy, mechanism_at, votes, y, low, high):
    """Mechanism with the most noise whose labels are at least that accurate."""
    for _ in range(30):
        middle = math.sqrt(low * high)
        fits = quality(mechanism_at(middle), votes, y)[1] >= accuracy
        low, high = (middle, high) if fits else (low, middle)
    return mechanism_at(low)


def simulated(n_teachers, n_classes, n_queries, strength, seed=0):
    """Votes of teachers who are right with a probability that varies over queries."""
    rng = np.random.default_rng(seed)
    right = rng.beta(strength, 1.0, size=n_queries)
    y = rng.integers(n_classes, size=n_queries)
    others = 1.0 / np.arange(1, n_classes) ** 2  # a few classes attract most of the errors
    votes = np.empty((n_queries, n_classes), dtype=int)
    for q in range(n_queries):
        proba = np.empty(n_classes)
        is_right = np.arange(n_classes) == y[q]
        proba[is_right] = right[q]
        proba[~is_right] = (1 - right[q]) * rng.permutation(others) / others.sum()
        votes[q] = rng.multinomial(n_teachers, proba)
    return votes, y
