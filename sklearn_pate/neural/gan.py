"""A generative adversarial network with the classifier as its discriminator."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from .._sklearn import Interval
from .base import NeuralStudent, RowGenerator, SemiSupervisedNet, make_module

if TYPE_CHECKING:
    from .._typing import RandomState


class SSGANClassifier(NeuralStudent):
    """Semi-supervised classifier, trained as the discriminator of a GAN.

    The discriminator of a generative adversarial network has one output per class and one for
    rows of the generator, the fakes. It is trained to predict the classes of labelled rows, and to
    distinguish real rows, with or without labels, from fakes. The generator is trained to match the
    mean features of real rows, which improves the classifier more than realistic fakes. This is the
    student of PATE-G.

    Parameters
    ----------
    module : torch.nn.Module, callable or None, default=None
        The discriminator: a module, or a class or function that returns a module when called
        without arguments. Its last `torch.nn.Linear` returns at least one logit per class (the
        logit of fakes is fixed at 0), and the generator matches the inputs of that layer. The
        default is a network with two hidden layers for tables, or three convolutions for images.
    generator : torch.nn.Module, callable or None, default=None
        The generator, which maps noise of shape (n, noise_dim) to rows with the shape of rows of
        `X`. The default is a network with two hidden layers, with outputs in the range of each
        feature.
    noise_dim : int, default=100
        Length of the generator's noise.
    unlabeled_weight : float, default=1.0
        Weight of the loss that distinguishes real rows from fakes.
    augment : callable or None, default=None
        Function or module that changes a batch of rows but not their labels, for instance
        ``RandomAffine()``. It is applied to real rows in training.
    max_epochs : int, default=30
        Number of passes over the rows of `X`, each of at least 50 steps.
    batch_size, unlabeled_batch_size : int, default=64, 128
        Number of labelled rows, sampled with replacement, and number of rows with or without
        labels, in one step.
    lr : float, default=0.003
        Largest learning rate of Adam. The learning rate rises over the first 50 steps, and falls to
        0 in the second half of the training.
    device : str, default="cpu"
        Device of the training: "cpu", "cuda", ...
    random_state : int, RandomState instance or None, default=None
        Seed of weights, batches, noise, and random draws of `augment`.
    verbose : int, default=0
        If above 0, print a line for each epoch.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Sorted labels, without -1.
    net_ : skorch.NeuralNet
        The fitted networks; `net_.module_.generator` is the generator.
    n_features_in_ : int
        Number of features, or of channels.
    row_shape_ : tuple of int
        Shape of one row.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Feature names, if `X` had string column names.

    References
    ----------
    Salimans, Goodfellow, Zaremba, Cheung, Radford, Chen (2016). Improved techniques for training
    GANs. NeurIPS, sections 3.1 and 5.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from sklearn_pate.neural import SSGANClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> few = np.where(np.arange(len(y)) < 100, y, -1)
    >>> clf = SSGANClassifier(max_epochs=1, random_state=0).fit(X[:900] / 16, few[:900])
    >>> bool(clf.score(X / 16, y) > 0.6)
    True
    """

    _parameter_constraints = {
        **NeuralStudent._parameter_constraints,
        "generator": [nn.Module, callable, None],
        "noise_dim": [Interval(Integral, 1, None, closed="left")],
        "unlabeled_weight": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        module: nn.Module | Callable[..., nn.Module] | None = None,
        *,
        generator: nn.Module | Callable[..., nn.Module] | None = None,
        noise_dim: int = 100,
        unlabeled_weight: float = 1.0,
        augment: Callable[[torch.Tensor], torch.Tensor] | None = None,
        max_epochs: int = 30,
        batch_size: int = 64,
        unlabeled_batch_size: int = 128,
        lr: float = 0.003,
        device: str = "cpu",
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.module = module
        self.generator = generator
        self.noise_dim = noise_dim
        self.unlabeled_weight = unlabeled_weight
        self.augment = augment
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.unlabeled_batch_size = unlabeled_batch_size
        self.lr = lr
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def _make_net(self, X: np.ndarray, n_classes: int) -> Any:
        generator = make_module(self.generator, partial(RowGenerator, X, self.noise_dim))
        params = {"noise_dim": self.noise_dim, "unlabeled_weight": self.unlabeled_weight}
        return self._skorch_net(GANNet, X, n_classes, generator=generator, **params)


class GANNet(SemiSupervisedNet):
    """The skorch net of `SSGANClassifier`: a discriminator and a generator, trained in turn."""

    def __init__(
        self, *args: Any, noise_dim: int = 100, unlabeled_weight: float = 1.0, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.noise_dim = noise_dim
        self.unlabeled_weight = unlabeled_weight

    def initialize_optimizer(self, *args: Any, **kwargs: Any) -> Self:
        """Create an optimizer for the discriminator and one for the generator."""
        adam = partial(self.optimizer, lr=self.lr, betas=(0.5, 0.999))
        self.optimizer_ = adam(self.module_.network.parameters())
        self.optimizer_generator_ = adam(self.module_.generator.parameters())
        return self

    def _all_optimizers(self) -> list[Any]:
        return [self.optimizer_, self.optimizer_generator_]

    def train_step(self, batch: Any, **fit_params: Any) -> dict[str, Any]:
        """Train the discriminator and then the generator on a batch."""
        self._set_training(True)
        labelled, targets, rows = self._prepare(batch)
        fakes = self._make_fakes(rows)
        loss = self._train_discriminator(labelled, targets, rows, fakes.detach())
        self._train_generator(rows, fakes)
        return {"loss": loss, "y_pred": None}

    def _make_fakes(self, rows: torch.Tensor) -> torch.Tensor:
        noise = torch.randn(len(rows), self.noise_dim, device=rows.device)
        fakes = self.module_.generator(noise)
        if fakes.shape != rows.shape:
            raise ValueError(
                f"generator must return a batch of shape {tuple(rows.shape)}, like rows of X, from "
                f"noise of shape {tuple(noise.shape)}; got {tuple(fakes.shape)}"
            )
        return fakes

    def _train_discriminator(
        self, labelled: torch.Tensor, targets: torch.Tensor, rows: torch.Tensor, fakes: torch.Tensor
    ) -> torch.Tensor:
        # In one batch, as batch normalisation of separate batches would reveal the fakes
        logits = self.module_(torch.cat([labelled, rows, fakes]))
        known, real, fake = logits.split([len(labelled), len(rows), len(fakes)])
        # The odds that a row is real are the sum of exp(logits)
        real_loss = F.softplus(-real.logsumexp(dim=1)).mean()
        fake_loss = F.softplus(fake.logsumexp(dim=1)).mean()
        unlabeled_loss = self.unlabeled_weight * (real_loss + fake_loss) / 2
        loss = F.cross_entropy(known, targets) + unlabeled_loss
        self.optimizer_.zero_grad()
        loss.backward()
        self.optimizer_.step()
        return loss

    def _train_generator(self, rows: torch.Tensor, fakes: torch.Tensor) -> None:
        features = self.module_.features(torch.cat([rows, fakes]))
        of_rows, of_fakes = features.split([len(rows), len(fakes)])
        mismatch = (of_fakes.mean(dim=0) - of_rows.mean(dim=0)).square().mean()
        self.optimizer_generator_.zero_grad()
        mismatch.backward(inputs=list(self.module_.generator.parameters()))
        self.optimizer_generator_.step()
