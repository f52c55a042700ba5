"""Opacus: logistic regression and a network of one hidden layer, by private gradient descent."""

import numpy as np
import torch
from opacus import PrivacyEngine
from opacus.accountants.utils import get_noise_multiplier
from shared import answer
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)


def fit(arrays, one):
    settings = one["settings"]
    torch.manual_seed(one["seed"])
    X = torch.tensor(arrays["X"], dtype=torch.float32)
    y = torch.tensor(arrays["y"], dtype=torch.long)
    n_rows, n_columns = X.shape
    batch = int(np.clip(n_rows / 50, 64, 1024))
    n_steps = int(min(settings["steps"], settings["epochs"] * n_rows / batch))
    module = network(n_columns, int(arrays["n_classes"]), settings["hidden"])
    optimizer = torch.optim.SGD(module.parameters(), lr=settings["lr"])
    sigma = get_noise_multiplier(
        target_epsilon=one["epsilon"],
        target_delta=one["delta"],
        sample_rate=batch / n_rows,
        steps=n_steps,
        accountant="prv",
        epsilon_tolerance=0.01 * one["epsilon"],
    )
    module, optimizer, loader = PrivacyEngine(accountant="rdp").make_private(
        module=module,
        optimizer=optimizer,
        data_loader=DataLoader(TensorDataset(X, y), batch_size=batch),
        noise_multiplier=sigma,
        max_grad_norm=1.0,
    )
    train(module, optimizer, loader, n_steps)
    with torch.no_grad():
        scores = module(torch.tensor(arrays["X_test"], dtype=torch.float32))
    return torch.softmax(scores, dim=1).numpy()


def network(n_columns, n_classes, n_hidden):
    if not n_hidden:
        return nn.Linear(n_columns, n_classes)
    return nn.Sequential(nn.Linear(n_columns, n_hidden), nn.Tanh(), nn.Linear(n_hidden, n_classes))


def train(module, optimizer, loader, n_steps):
    """Take so many steps; a batch may be empty, as each row is drawn by itself."""
    loss = nn.CrossEntropyLoss()
    n_done = 0
    while n_done < n_steps:
        for X, y in loader:
            optimizer.zero_grad()
            loss(module(X), y).backward()
            optimizer.step()
            n_done += 1
            if n_done == n_steps:
                return


answer(fit)
