"""Networks trained together against one by one on MNIST, on the CPU, and on a GPU if there is one.

Each way in its own process with the threads of torch; one by one is the same network without
`BatchedTeachers`, n_jobs=1. On a GPU, reduced precision and compilation are compared as well.
"""

import os

import numpy as np

from sklearn_pate import PATEClassifier
from sklearn_pate.datasets import fetch_mnist

from .shared import MissingError, Row, in_child, show

PART = 240  # images of each teacher


def network(device, epochs, one_by_one):
    import torch
    from skorch import NeuralNetClassifier
    from torch import nn

    def layers():
        return nn.Sequential(
            nn.Conv2d(1, 16, 5, stride=2, padding=2),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(32 * 49, 10),
        )

    class OneByOne(NeuralNetClassifier):
        def train_step(self, *args, **kwargs):  # overridden: not batched, even on a GPU
            return super().train_step(*args, **kwargs)

    kind = OneByOne if one_by_one else NeuralNetClassifier
    return kind(
        layers,
        criterion=nn.CrossEntropyLoss,
        optimizer=torch.optim.Adam,
        lr=0.003,
        max_epochs=epochs,
        batch_size=32,
        iterator_train__shuffle=True,
        iterator_valid__batch_size=1000,
        train_split=None,
        classes=list(range(10)),
        device=device,
    )


def seconds_and_accuracy(mode, device, n_teachers, epochs, n_queries):
    """Seconds of a poll, mean accuracy of the teachers, accuracy of their plurality."""
    import time
    import warnings

    from sklearn_pate.teachers.batched import BatchedTeachers

    X, y = fetch_mnist(subset="train", return_X_y=True, as_frame=False)
    X = X.reshape(-1, 1, 28, 28).astype(np.float32) / 255
    y = y.astype(int)
    X_private, X_public = np.split(X, [-n_queries])
    y_private, y_public = np.split(y, [-n_queries])
    X_private = np.resize(X_private, (n_teachers * PART, *X.shape[1:]))
    y_private = np.resize(y_private, n_teachers * PART)
    settings = {"together": {}, "bfloat16": {"autocast": "bfloat16"}, "compiled": {"compile": True}}

    def poll(epochs):
        teachers = network(device, epochs, mode == "one by one")
        if mode != "one by one":
            teachers = BatchedTeachers(teachers, **settings[mode])
        clf = PATEClassifier(teachers, n_teachers=n_teachers, classes=range(10), random_state=0)
        return clf.poll(X_private, y_private, X_public)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if mode == "one by one" else "error")  # must not fall back
        poll(epochs=1)  # warm up, with compilation
        start = time.perf_counter()
        votes = poll(epochs)
    seconds = time.perf_counter() - start
    right = votes.counts[np.arange(n_queries), y_public] / n_teachers
    return seconds, right.mean(), (votes.counts.argmax(axis=1) == y_public).mean()


def rows(quick):
    try:
        import skorch  # noqa: F401
        import torch
    except ImportError:
        raise MissingError("the extra torch") from None
    if "SKLEARN_PATE_DATA" not in os.environ:
        raise MissingError("MNIST in the folder that SKLEARN_PATE_DATA names")
    n_rounds, n_teachers, epochs, n_queries = (1, 4, 1, 100) if quick else (3, 16, 10, 1000)
    yield from compare("cpu", "together", n_rounds, n_teachers, epochs, n_queries)
    if not torch.cuda.is_available():
        yield Row("networks trained together, cuda", "", "", "", missing="a GPU")
        return
    n_rounds, n_few, epochs, n_queries = (1, 8, 1, 100) if quick else (1, 250, 30, 9000)
    for mode in ("together", "bfloat16", "compiled"):
        yield from compare("cuda", mode, n_rounds, n_few, epochs, n_queries)
    n_many = 16 if quick else 5000
    seconds, right, plurality = in_child(
        seconds_and_accuracy, "together", "cuda", n_many, epochs, n_queries
    )
    few_seconds, *_ = in_child(seconds_and_accuracy, "together", "cuda", n_few, epochs, n_queries)
    yield Row(
        f"{n_many:,} networks together, cuda (teachers {right:.3f}, plurality {plurality:.3f})",
        "ms/teacher",
        f"{n_few} together",
        f"MNIST, {PART} images each, {epochs} epochs, {n_queries:,} queries",
        ((seconds * 1e3 / n_many, few_seconds * 1e3 / n_few),),
    )


def compare(device, mode, n_rounds, n_teachers, epochs, n_queries):
    pairs = []
    for _ in range(n_rounds):
        (seconds, right, _), (seconds_alone, right_alone, _) = (
            in_child(seconds_and_accuracy, each, device, n_teachers, epochs, n_queries)
            for each in (mode, "one by one")
        )
        pairs.append((seconds, seconds_alone))
    yield Row(
        f"networks trained together, {device}, {mode} (mean teacher {right:.4f})",
        "s",
        f"skorch, one by one (mean teacher {right_alone:.4f})",
        f"MNIST, {n_teachers} CNNs, {PART} images each, {epochs} epochs, {n_queries:,} queries",
        tuple(pairs),
        (n_teachers, "teachers"),
    )


if __name__ == "__main__":
    show(rows(quick=False))
