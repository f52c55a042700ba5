"""Common code of both neural students: base class, networks, training steps and batches."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from functools import partial
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data
from skorch import NeuralNet
from torch import nn
from torch.nn import functional as F

from .._sklearn import CheckedEstimator, Interval, _fit_context
from ..runtime.copies import seeded

if TYPE_CHECKING:
    from .._typing import Rows


class NeuralStudent(ClassifierMixin, CheckedEstimator):
    """Base class of the neural students.

    Each subclass has a method `_make_net`, which returns the skorch net that `fit` trains.
    """

    #: `PATEClassifier` passes all public rows to students with this attribute.
    accepts_unlabeled = True

    _parameter_constraints: dict = {
        "module": [nn.Module, callable, None],
        "augment": [callable, None],
        "max_epochs": [Interval(Integral, 1, None, closed="left")],
        "batch_size": [Interval(Integral, 2, None, closed="left")],
        "unlabeled_batch_size": [Interval(Integral, 2, None, closed="left")],
        "lr": [Interval(Real, 0, None, closed="neither")],
        "device": [str, torch.device],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Rows, y: Any) -> Self:
        """Train on labelled and unlabelled rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, channels, height, width)
            Numeric features, preferably scaled to a common range.
        y : array-like of shape (n_samples,)
            Labels; the number -1 marks an unlabelled row. If there are text labels and -1, the
            dtype must be object.

        Returns
        -------
        object
            Itself, fitted.

        Raises
        ------
        ValueError
            If the labels have fewer than two classes, if an array with a text dtype contains "-1",
            or if the module returns fewer outputs than there are classes.
        """
        X, y = validate_data(self, X, y, dtype=np.float32, allow_nd=True)
        if y.dtype.kind in "US" and (y == "-1").any():
            raise ValueError(
                'y has the text "-1", but the number -1 marks unlabelled rows: use text labels '
                "with dtype=object"
            )
        labelled = np.asarray(y != -1)
        # Text labels together with -1 have dtype object; without -1 they get the dtype of text
        known = np.array(y[labelled].tolist())
        check_classification_targets(known)
        self.classes_, codes = np.unique(known, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y must have at least 2 classes; got {len(self.classes_)} class (-1 marks "
                "unlabelled rows, and is not a class)"
            )
        self.row_shape_ = X.shape[1:]
        targets = np.full(len(y), -1)
        targets[labelled] = codes
        seed = check_random_state(self.random_state).randint(2**31)
        with seeded(int(seed)):
            self.net_ = self._make_net(X, len(self.classes_)).fit(X, targets)
        return self

    def predict_proba(self, X: Rows) -> np.ndarray:
        """Predict class probabilities.

        Parameters
        ----------
        X : array-like with the features given to `fit`
            Rows to classify.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float32, allow_nd=True, reset=False)
        if X.shape[1:] != self.row_shape_:
            raise ValueError(
                f"rows of X have shape {X.shape[1:]}, but rows in fit had shape {self.row_shape_}"
            )
        return self.net_.predict_proba(X).astype(np.float64)

    def predict(self, X: Rows) -> np.ndarray:
        """Predict labels.

        Parameters
        ----------
        X : array-like with the features given to `fit`
            Rows to classify.

        Returns
        -------
        ndarray of shape (n_samples,)
            Elements of `classes_`.
        """
        proba = self.predict_proba(X)
        return self.classes_[proba.argmax(axis=1)]

    def _skorch_net(
        self,
        net_class: type[SemiSupervisedNet],
        X: np.ndarray,
        n_classes: int,
        *,
        generator: nn.Module | None = None,
        **params: Any,
    ) -> Any:
        """Return a skorch net with the common settings of both students."""
        network = make_module(self.module, partial(default_module, X.shape[1:], n_classes))
        module = StudentModule(network, n_classes, self.augment, generator)
        own = "lr", "max_epochs", "batch_size", "unlabeled_batch_size", "device", "verbose"
        return net_class(
            # Convolutions on a CPU: twice as fast
            module.to(memory_format=torch.channels_last),  # type: ignore[call-overload]
            criterion=nn.CrossEntropyLoss,  # so skorch treats outputs as logits
            optimizer=torch.optim.Adam,
            train_split=None,
            **{name: getattr(self, name) for name in own},
            **params,
        )


# --- training on labelled and unlabelled rows: the skorch net and its batches ---------------------


#: Number of steps in which the learning rate rises.
_WARM_UP_STEPS = 50

#: Smallest number of steps of an epoch, for few rows.
_LEAST_STEPS = 50

#: Number of rows in one batch of predictions.
_ROWS_AT_A_TIME = 1024


class SemiSupervisedNet(NeuralNet):
    """A skorch net that trains on labelled rows and on rows with or without labels."""

    def __init__(self, *args: Any, unlabeled_batch_size: int = 128, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.unlabeled_batch_size = unlabeled_batch_size

    def get_iterator(self, dataset: Any, training: bool = False) -> Any:
        """Return batches of rows; in training, return `PairedBatches` and reset the step count."""
        if not training:
            return self._plain_batches(dataset.X)
        batches = PairedBatches(dataset.X, dataset.y, self.batch_size, self.unlabeled_batch_size)
        self.n_steps_ = 0
        self.most_steps_ = self.max_epochs * len(batches)
        return batches

    def _plain_batches(self, X: Any) -> Iterator[tuple[torch.Tensor, None]]:
        # Not by a DataLoader, which draws from torch's generator even without shuffling
        for start in range(0, len(X), _ROWS_AT_A_TIME):
            rows = X[start : start + _ROWS_AT_A_TIME]
            # A copy, because torch warns about read-only arrays
            yield torch.from_numpy(np.array(rows)), None

    def _prepare(self, batch: Any) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Move a batch to the device, augment it, and set the learning rate of this step."""
        labelled, targets, rows = (tensor.to(self.device) for tensor in batch)
        if self.module_.augment is not None:
            labelled = self._augmented(labelled)
            rows = self._augmented(rows)
        rise = min(1, (self.n_steps_ + 1) / _WARM_UP_STEPS)
        fall = min(1, 2 * (1 - self.share_done))
        for optimizer in self._all_optimizers():
            for group in optimizer.param_groups:
                group["lr"] = self.lr * rise * fall
        self.n_steps_ += 1
        return labelled, targets, rows

    @property
    def share_done(self) -> float:
        """Fraction of all steps that have been taken."""
        return self.n_steps_ / self.most_steps_

    def _all_optimizers(self) -> list[Any]:
        return [self.optimizer_]

    def _augmented(self, rows: torch.Tensor) -> torch.Tensor:
        changed = self.module_.augment(rows)
        if not isinstance(changed, torch.Tensor) or changed.shape != rows.shape:
            raise ValueError(
                f"augment must return a torch.Tensor with the shape of its input, "
                f"{tuple(rows.shape)}; got {type(changed).__name__} of shape "
                f"{tuple(getattr(changed, 'shape', ()))}"
            )
        return changed


class PairedBatches:
    """Batches of labelled rows, each paired with a batch of rows with or without labels.

    Labelled rows are sampled with replacement.
    """

    def __init__(
        self, X: np.ndarray, y: np.ndarray, batch_size: int, unlabeled_batch_size: int
    ) -> None:
        self.X = X
        self.y = y
        self.batch_size = batch_size
        self.unlabeled_batch_size = min(unlabeled_batch_size, len(X))

    def __len__(self) -> int:
        return max(len(self.X) // self.unlabeled_batch_size, _LEAST_STEPS)

    def __iter__(self) -> Iterator[tuple[torch.Tensor, ...]]:
        labelled = np.flatnonzero(self.y >= 0)
        size = self.unlabeled_batch_size
        order = torch.randperm(len(self.X)).numpy()
        for start in range(0, len(self) * size, size):
            sampled = labelled[torch.randint(len(labelled), (self.batch_size,)).numpy()]
            rows = order[np.arange(start, start + size) % len(order)]
            batch = (self.X[sampled], self.y[sampled], self.X[rows])
            yield tuple(torch.from_numpy(part) for part in batch)


# --- networks: defaults, a wrapper for given networks, and augmentation of images -----------------


class StudentModule(nn.Module):
    """A network with one logit per class, with the augmentation and the generator of training."""

    def __init__(
        self,
        network: nn.Module,
        n_classes: int,
        augment: Callable[[torch.Tensor], torch.Tensor] | None = None,
        generator: nn.Module | None = None,
    ) -> None:
        super().__init__()
        self.augment = augment
        self.generator = generator
        self.network = network
        self.n_classes = n_classes

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        """Return a logit for each class."""
        logits = self.network(X)
        if logits.ndim != 2 or logits.shape[1] < self.n_classes:
            raise ValueError(
                f"module must return at least {self.n_classes} logits per row; got "
                f"{tuple(logits.shape)}"
            )
        return logits[:, : self.n_classes]

    def features(self, X: torch.Tensor) -> torch.Tensor:
        """Return the inputs of the last linear layer."""
        linear = [layer for layer in self.network.modules() if isinstance(layer, nn.Linear)]
        if not linear:
            raise ValueError("module must have a torch.nn.Linear as its last layer")
        inputs = []

        def keep(layer: Any, args: Any) -> None:
            inputs.append(args[0])

        hook = linear[-1].register_forward_pre_hook(keep)
        try:
            self.network(X)
        finally:
            hook.remove()
        return inputs[-1]


def _block(layer: Any) -> tuple[nn.Module, ...]:
    """Return a layer, followed by batch normalisation and a leaky ReLU."""
    if isinstance(layer, nn.Linear):
        return layer, nn.BatchNorm1d(layer.out_features), nn.LeakyReLU(0.1)
    return layer, nn.BatchNorm2d(layer.out_channels), nn.LeakyReLU(0.1)


def default_module(row_shape: tuple[int, ...], n_classes: int) -> nn.Module:
    """Return a small network for rows of a shape."""
    if len(row_shape) == 1:
        hidden = *_block(nn.Linear(row_shape[0], 128)), *_block(nn.Linear(128, 128))
        return nn.Sequential(*hidden, nn.Linear(128, n_classes))
    if len(row_shape) != 3:
        raise ValueError(f"there is no default network for rows of shape {row_shape}: set module")
    return nn.Sequential(
        *_block(nn.Conv2d(row_shape[0], 16, 5, stride=2, padding=2)),
        *_block(nn.Conv2d(16, 32, 3, padding=1)),
        nn.MaxPool2d(2, ceil_mode=True),
        *_block(nn.Conv2d(32, 64, 3, padding=1)),
        nn.AdaptiveMaxPool2d(3),
        nn.Flatten(),
        nn.Linear(64 * 9, n_classes),
    )


class RowGenerator(nn.Module):
    """Network that maps noise to rows; each feature is in the range of this feature in `X`."""

    low: torch.Tensor
    width: torch.Tensor

    def __init__(self, X: np.ndarray, noise_dim: int) -> None:
        super().__init__()
        low, high = X.min(axis=0), X.max(axis=0)
        self.register_buffer("low", torch.as_tensor(low))
        self.register_buffer("width", torch.as_tensor(high - low))
        first = nn.Linear(noise_dim, 500), nn.BatchNorm1d(500), nn.ReLU()
        second = nn.Linear(500, 500), nn.BatchNorm1d(500), nn.ReLU()
        self.layers = nn.Sequential(*first, *second, nn.Linear(500, low.size))

    def forward(self, noise: torch.Tensor) -> torch.Tensor:
        """Return one row for each row of noise."""
        shares = self.layers(noise).sigmoid().reshape(-1, *self.low.shape)
        return self.low + self.width * shares


def make_module(module: Any, default: Callable[[], nn.Module]) -> nn.Module:
    """Return a copy of a module or of the result of a function, or `default()` for None."""
    if module is None:
        return default()
    # Copied in both cases, as a function may return a module that other code also trains
    made = copy.deepcopy(module if isinstance(module, nn.Module) else module())
    if not isinstance(made, nn.Module):
        raise ValueError(f"module and generator must be or return a torch.nn.Module; got {made!r}")
    return made


class RandomAffine(nn.Module):
    """Rotate, shift, scale and shear each image of a batch by small random amounts.

    The changes are so small that images of digits keep their labels. A `RandomAffine` that is a
    layer of a network changes images in training only.

    Parameters
    ----------
    degrees : float, default=15
        Largest rotation, in degrees.
    shift : float, default=0.07
        Largest shift, as a fraction of the image's height and width.
    scale : float, default=0.1
        Largest relative change of size.
    shear : float, default=0.2
        Largest shear, as the horizontal shift divided by the vertical distance.

    Examples
    --------
    >>> import torch
    >>> from sklearn_pate.neural import RandomAffine
    >>> RandomAffine()(torch.zeros(5, 1, 28, 28)).shape
    torch.Size([5, 1, 28, 28])
    """

    def __init__(
        self, degrees: float = 15, shift: float = 0.07, scale: float = 0.1, shear: float = 0.2
    ) -> None:
        super().__init__()
        self.degrees = degrees
        self.shift = shift
        self.scale = scale
        self.shear = shear

    def extra_repr(self) -> str:
        """Return the parameters for the repr."""
        return f"{self.degrees}, {self.shift}, {self.scale}, {self.shear}"

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        """Return changed copies of images of shape (n, channels, height, width)."""
        if X.ndim != 4:
            raise ValueError(
                "RandomAffine requires images of shape (n, channels, height, width); got shape "
                f"{tuple(X.shape)}"
            )
        if not self.training:
            return X

        def uniform(most: float) -> torch.Tensor:
            """Draw one number from -most to most for each image."""
            return (torch.rand(len(X), device=X.device) * 2 - 1) * most

        angle = uniform(math.radians(self.degrees))
        size = 1 + uniform(self.scale)
        cos = angle.cos() * size
        sin = angle.sin() * size
        across = torch.stack([cos, uniform(self.shear) - sin, uniform(2 * self.shift)], dim=1)
        down = torch.stack([sin, cos, uniform(2 * self.shift)], dim=1)
        # F.affine_grid in steps that torch.func.vmap supports, as teachers may be trained together
        y, x = (torch.linspace(-1, 1, n, device=X.device) * (n - 1) / n for n in X.shape[2:])
        points = torch.stack(torch.broadcast_tensors(x, y[:, None], torch.ones_like(x)), dim=-1)
        grid = points.flatten(0, 1) @ torch.stack([across, down], dim=2)
        return F.grid_sample(X, grid.unflatten(1, points.shape[:2]), align_corners=False)
