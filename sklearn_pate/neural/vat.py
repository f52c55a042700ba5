"""Virtual adversarial training."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from .._sklearn import Interval
from .base import NeuralStudent, SemiSupervisedNet

if TYPE_CHECKING:
    from .._typing import RandomState


class VATClassifier(NeuralStudent):
    """Neural classifier trained by virtual adversarial training and entropy minimisation.

    The loss is the cross-entropy of the labelled rows and two penalties on rows with or without
    labels: the change of the prediction after a small step in the worst direction, and the entropy
    of the prediction. The penalties move decision boundaries to regions without data.

    Parameters
    ----------
    module : torch.nn.Module, callable or None, default=None
        The network: a module with its initial weights, or a class or function that returns a module
        when called without arguments (`functools.partial` can supply arguments). It maps each row
        of a batch to at least one logit per class; additional logits are ignored. The default is a
        network with two hidden layers for tables, or three convolutions for images.
    radius : float or None, default=None
        Length of the step, in units of `X`. The default is 0.25 times the root mean square distance
        of the rows from their mean; for MNIST in [0, 1], this is a step of 1.8.
    vat_weight, entropy_weight : float, default=1.0
        Weights of the two penalties. The weight of the entropy rises from 0 to this value during
        training.
    augment : callable or None, default=None
        Function or module that changes a batch of rows but not their labels, for instance
        ``RandomAffine()``. It is applied to all rows in training.
    max_epochs : int, default=30
        Number of passes over the rows of `X`, each of at least 50 steps.
    batch_size, unlabeled_batch_size : int, default=64, 128
        Number of labelled rows, sampled with replacement, and number of rows with or without
        labels, in one step.
    lr : float, default=0.002
        Largest learning rate of Adam. The learning rate rises over the first 50 steps, and falls to
        0 in the second half of the training.
    device : str, default="cpu"
        Device of the training: "cpu", "cuda", ...
    random_state : int, RandomState instance or None, default=None
        Seed of weights, batches, steps, and random draws of `augment`.
    verbose : int, default=0
        If above 0, print a line for each epoch.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Sorted labels, without -1.
    net_ : skorch.NeuralNet
        The fitted network.
    n_features_in_ : int
        Number of features, or of channels.
    row_shape_ : tuple of int
        Shape of one row.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Feature names, if `X` had string column names.

    Notes
    -----
    The worst direction is found by one power iteration, which starts from a random step of a third
    of `radius`.

    References
    ----------
    Miyato, Maeda, Koyama, Ishii (2018). Virtual adversarial training: a regularization method for
    supervised and semi-supervised learning. IEEE TPAMI 41(8), algorithm 1 and section 4.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from sklearn_pate.neural import VATClassifier
    >>> X, y = make_moons(500, noise=0.1, random_state=0)
    >>> few = np.where(np.arange(500) < 10, y, -1)
    >>> clf = VATClassifier(max_epochs=5, random_state=0).fit(X, few)
    >>> bool(clf.score(X, y) > 0.8)
    True
    """

    _parameter_constraints = {
        **NeuralStudent._parameter_constraints,
        "radius": [Interval(Real, 0, None, closed="neither"), None],
        "vat_weight": [Interval(Real, 0, None, closed="left")],
        "entropy_weight": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        module: nn.Module | Callable[..., nn.Module] | None = None,
        *,
        radius: float | None = None,
        vat_weight: float = 1.0,
        entropy_weight: float = 1.0,
        augment: Callable[[torch.Tensor], torch.Tensor] | None = None,
        max_epochs: int = 30,
        batch_size: int = 64,
        unlabeled_batch_size: int = 128,
        lr: float = 0.002,
        device: str = "cpu",
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.module = module
        self.radius = radius
        self.vat_weight = vat_weight
        self.entropy_weight = entropy_weight
        self.augment = augment
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.unlabeled_batch_size = unlabeled_batch_size
        self.lr = lr
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def _make_net(self, X: np.ndarray, n_classes: int) -> Any:
        # A quarter of the root mean square distance of the rows from their mean
        variance = np.var(X.reshape(len(X), -1), axis=0, dtype=np.float64).sum()
        radius = 0.25 * (math.sqrt(variance) or 1.0) if self.radius is None else float(self.radius)
        return self._skorch_net(
            VATNet,
            X,
            n_classes,
            radius=radius,
            vat_weight=self.vat_weight,
            entropy_weight=self.entropy_weight,
        )


class VATNet(SemiSupervisedNet):
    """The skorch net of `VATClassifier`."""

    def __init__(
        self,
        *args: Any,
        radius: float = 1.0,
        vat_weight: float = 1.0,
        entropy_weight: float = 1.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.radius = radius
        self.vat_weight = vat_weight
        self.entropy_weight = entropy_weight

    def train_step_single(self, batch: Any, **fit_params: Any) -> dict[str, Any]:
        """Compute the loss of a batch, and its gradients."""
        self._set_training(True)
        labelled, targets, rows = self._prepare(batch)
        loss = F.cross_entropy(self.infer(labelled), targets)
        log_proba = self.infer(rows).log_softmax(dim=1)
        if self.entropy_weight:
            entropy = -(log_proba.exp() * log_proba).sum(dim=1).mean()
            loss = loss + self.share_done * self.entropy_weight * entropy
        if self.vat_weight:
            loss = loss + self.vat_weight * self._adversarial(rows, log_proba.detach())
        loss.backward()
        return {"loss": loss, "y_pred": None}

    def _adversarial(self, rows: torch.Tensor, log_proba: torch.Tensor) -> torch.Tensor:
        """Return the mean divergence after the worst step (Miyato et al., algorithm 1)."""

        def divergence(step: torch.Tensor) -> torch.Tensor:
            changed = self.infer(rows + step).log_softmax(dim=1)
            return (log_proba.exp() * (log_proba - changed)).sum(dim=1).mean()

        step = unit_steps(torch.randn_like(rows)) * self.radius / 3
        step.requires_grad_()
        (direction,) = torch.autograd.grad(divergence(step), step)
        return divergence(self.radius * unit_steps(direction))


def unit_steps(steps: torch.Tensor) -> torch.Tensor:
    """Scale each row's step to length 1."""
    length = steps.flatten(1).norm(dim=1).clamp_min(1e-12)
    one_per_row = [-1] + [1] * (steps.ndim - 1)
    return steps / length.reshape(one_per_row)
