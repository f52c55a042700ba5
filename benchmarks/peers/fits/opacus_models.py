"""Opacus: logistic regression and a network of one hidden layer, by private gradient descent."""

import math
import sys
from operator import itemgetter
from pathlib import Path

import numpy as np
import torch
from joblib import Memory
from opacus import PrivacyEngine
from opacus.accountants.utils import get_noise_multiplier
from shared import answer
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)

#: Rows below which steps are small: there, a step sees a large part of them.
FEW_RECORDS = 2000


class Rows(TensorDataset):
    """Rows that are read a batch at a time."""

    def __getitems__(self, indices):
        return [self[indices]]


def fit(arrays, one):
    settings = one["settings"]
    torch.manual_seed(one["seed"])
    X = torch.tensor(arrays["X"], dtype=torch.float32)
    y = torch.tensor(arrays["y"], dtype=torch.long)
    n_rows, n_columns = X.shape
    batch = int(np.clip(n_rows / 50, 64, 1024))
    most_steps = settings["steps"] or steps_for(one["epsilon"])
    n_steps = int(min(most_steps, 20 * n_rows / batch))
    rate = settings["lr"] or (0.2 if n_rows < FEW_RECORDS else 2.0)
    module = network(n_columns, int(arrays["n_classes"]), settings["hidden"])
    loader = DataLoader(Rows(X, y), batch_size=batch, collate_fn=itemgetter(0))
    module, optimizer, loss, loader = PrivacyEngine(accountant="rdp").make_private(
        module=module,
        optimizer=torch.optim.SGD(module.parameters(), lr=rate),
        data_loader=loader,
        noise_multiplier=noise(one["epsilon"], one["delta"], math.ceil(n_rows / batch), n_steps),
        max_grad_norm=1.0,
        criterion=nn.CrossEntropyLoss(),
        grad_sample_mode="ghost",  # the same gradients, in less time and memory
    )
    train(module, optimizer, loss, loader, n_steps)
    with torch.no_grad():
        scores = module(torch.tensor(arrays["X_test"], dtype=torch.float32))
    return torch.softmax(scores, dim=1).numpy()


def steps_for(epsilon):
    """Steps, by epsilon for records that join or leave: more of them need more noise."""
    return 200 if epsilon < 0.1 else 500 if epsilon < 0.25 else 1000


@Memory(Path(sys.prefix) / "noise", verbose=0).cache
def noise(epsilon, delta, n_batches, n_steps):
    """The least noise for these steps; each draws a record with probability 1 / n_batches."""
    return get_noise_multiplier(
        target_epsilon=epsilon,
        target_delta=delta,
        sample_rate=1 / n_batches,
        steps=n_steps,
        accountant="prv",
        epsilon_tolerance=0.005 * epsilon,
        eps_error=min(0.01, 0.02 * epsilon),
    )


def network(n_columns, n_classes, n_hidden):
    if not n_hidden:
        return nn.Linear(n_columns, n_classes)
    return nn.Sequential(nn.Linear(n_columns, n_hidden), nn.Tanh(), nn.Linear(n_hidden, n_classes))


def train(module, optimizer, loss, loader, n_steps):
    """Take so many steps; a batch may be empty, as each row is drawn by itself."""
    n_done = 0
    while n_done < n_steps:
        for X, y in loader:
            optimizer.zero_grad()
            loss(module(X), y).backward()
            optimizer.step()
            n_done += 1
            if n_done == n_steps:
                return


if __name__ == "__main__":
    answer(fit)
