"""Which networks can be trained together: functions that say why not, or return None."""

import copy

import numpy as np
import torch
from skorch import NeuralNetClassifier
from skorch.dataset import Dataset
from torch import nn

from ..isolation import seeded

#: Optimizers that treat every number of a parameter alone, so that a stack is many at once.
ELEMENTWISE = (
    torch.optim.Adadelta,
    torch.optim.Adagrad,
    torch.optim.Adam,
    torch.optim.AdamW,
    torch.optim.Adamax,
    torch.optim.NAdam,
    torch.optim.RAdam,
    torch.optim.RMSprop,
    torch.optim.SGD,
)


def why_not_network(network):
    """Say what in a network's settings keeps its copies from being trained together, or None."""
    if not isinstance(network, NeuralNetClassifier):
        return f"only skorch.NeuralNetClassifier can be batched; got {type(network).__name__}"
    overridden = _overridden(type(network))
    if overridden:
        return f"{type(network).__name__} overrides {overridden[0]}"
    for name, can_be_batched in _settings(network).items():
        if not can_be_batched:
            return f"this setting of {name} cannot be batched"
    return None


def _overridden(kind):
    """Return the names of skorch's that a subclass defines anew."""
    order = kind.__mro__
    subclasses = order[: order.index(NeuralNetClassifier)]
    names = [name for subclass in subclasses for name in vars(subclass)]
    return [name for name in names if name in dir(NeuralNetClassifier) and name[:2] != "__"]


def _settings(network):
    """Return whether each setting that matters here, by its name, can be batched."""
    params = network.get_params(deep=False)
    batch_size = network.get_params().get("iterator_train__batch_size", network.batch_size)
    loader = torch.utils.data.DataLoader
    settings = {
        "callbacks": network.callbacks in (None, "disable") or network.callbacks == [],
        "criterion": network.criterion in (nn.CrossEntropyLoss, nn.NLLLoss),
        "optimizer": network.optimizer in ELEMENTWISE,
        "iterator_train": network.iterator_train is loader,
        "iterator_valid": network.iterator_valid is loader,
        "dataset": network.dataset is Dataset,
        "predict_nonlinearity": network.predict_nonlinearity in ("auto", None),
        "compile": not network.compile,
        "batch_size": batch_size > 0,  # -1, all rows, has another size for each teacher
    }
    for name, value in params.items():
        prefix, _, suffix = name.partition("__")
        if not suffix:
            continue
        if prefix == "criterion":  # reduction="mean" is the default
            settings[name] = suffix in {"weight", "label_smoothing"} or value == "mean"
        elif prefix in {"iterator_train", "iterator_valid"}:
            settings[name] = suffix in {"batch_size", "shuffle", "drop_last"}
        elif prefix in {"dataset", "callbacks"} or name == "optimizer__param_groups":
            settings[name] = False
    return settings


def why_not_data(X, name):
    """Say why data cannot be stacked, or None; of private data, the type alone is told."""
    if type(X) in (np.ndarray, np.memmap) and X.dtype.kind in "fiub":
        return None
    return f"{name} must be a numeric array; got {type(X).__name__}"


def why_rows_meet(module, rows):
    """Say how one row of a batch may reach others in a module, or None."""
    before = copy.deepcopy(dict(module.named_buffers()))
    outputs = []  # of the first row: beside other rows, and beside copies of itself
    for batch in (rows, rows[[0] * len(rows)]):
        with seeded(0):  # the first row meets the same dropout in both batches
            outputs.append(module(batch)[0])
    if not torch.allclose(*outputs, rtol=1e-4, atol=1e-6):
        return "rows of a batch influence each other, as in batch normalisation"
    if any(not torch.equal(before[name], value) for name, value in module.named_buffers()):
        return "buffers change in training, as those of batch normalisation do"
    return None
