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
            *(nn.Conv2d(1, 16, 5, stride=2, padding=2), nn.ReLU()),
            *(nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Flatten(), nn.Linear(32 * 49, 10)),
        )

    class OneByOne(NeuralNetClassifier):
        def train_step(self, *args, **kwargs):  # overridden: not batched, even on a GPU
            return super().train_step(*args, **kwargs)

    return (OneByOne if one_by_one else NeuralNetClassifier)(
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


def seconds_and_accuracy(how, device, n_teachers, epochs, n_queries):
    """Seconds of a poll, mean accuracy of the teachers, accuracy of their plurality."""
    import time
    import warnings

    from sklearn_pate.teachers.batched import BatchedTeachers

    X, y = fetch_mnist(subset="train", return_X_y=True, as_frame=False)
    X, y = X.reshape(-1, 1, 28, 28).astype(np.float32) / 255, y.astype(int)
    X_public, y_public = X[-n_queries:], y[-n_queries:]
    X, y = (np.resize(part[:-n_queries], (n_teachers * PART, *part.shape[1:])) for part in (X, y))
    settings = {"together": {}, "bfloat16": {"autocast": "bfloat16"}, "compiled": {"compile": True}}

    def poll(epochs):
        teachers = network(device, epochs, how == "one by one")
        if how != "one by one":
            teachers = BatchedTeachers(teachers, **settings[how])
        clf = PATEClassifier(teachers, n_teachers=n_teachers, classes=range(10), random_state=0)
        return clf.poll(X, y, X_public)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if how == "one by one" else "error")  # must not fall back
        poll(epochs=1)  # warm up, with compilation
        start = time.perf_counter()
        votes = poll(epochs)
    taken = time.perf_counter() - start
    right = votes.counts[np.arange(n_queries), y_public] / n_teachers
    return taken, right.mean(), (votes.counts.argmax(axis=1) == y_public).mean()


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
        missing = "a GPU"
        yield Row("networks trained together, cuda", "", "", "", missing=missing)
        return
    sizes = (1, 8, 1, 100) if quick else (1, 250, 30, 9000)
    for how in ("together", "bfloat16", "compiled"):
        yield from compare("cuda", how, *sizes)
    many = (1, 16, 1, 100) if quick else (1, 5000, 30, 9000)
    taken, right, plurality = in_child(seconds_and_accuracy, "together", "cuda", *many[1:])
    few, *_ = in_child(seconds_and_accuracy, "together", "cuda", *sizes[1:])
    yield Row(
        f"{many[1]:,} networks together, cuda (teachers {right:.3f}, plurality {plurality:.3f})",
        "ms/teacher",
        f"{sizes[1]} together",
        f"MNIST, {PART} images each, {many[2]} epochs, {many[3]:,} queries",
        ((taken * 1e3 / many[1], few * 1e3 / sizes[1]),),
    )


def compare(device, how, n_rounds, *sizes):
    n_teachers, epochs, n_queries = sizes
    taken = []
    for _ in range(n_rounds):
        ours, alone = (
            in_child(seconds_and_accuracy, h, device, *sizes) for h in (how, "one by one")
        )
        taken.append((ours[0], alone[0]))
    yield Row(
        f"networks trained together, {device}, {how} (mean teacher {ours[1]:.4f})",
        "s",
        f"skorch, one by one (mean teacher {alone[1]:.4f})",
        f"MNIST, {n_teachers} CNNs, {PART} images each, {epochs} epochs, {n_queries:,} queries",
        tuple(taken),
        (n_teachers, "teachers"),
    )


if __name__ == "__main__":
    show(rows(quick=False))
