"""Networks: the default ones, what wraps those that are given, and what changes images."""

import copy
import math

import torch
from torch import nn
from torch.nn import functional as F


class StudentModule(nn.Module):
    """A network, cut to as many logits as there are classes, with all else that training needs."""

    def __init__(self, network, n_classes, augment=None, generator=None):
        super().__init__()
        self.augment = augment
        self.generator = generator
        self.network = network
        self.n_classes = n_classes

    def forward(self, X):
        """Return a logit for each class."""
        logits = self.network(X)
        if logits.ndim != 2 or logits.shape[1] < self.n_classes:
            raise ValueError(
                f"module must give at least {self.n_classes} logits per row; got "
                f"{tuple(logits.shape)}"
            )
        return logits[:, : self.n_classes]

    def features(self, X):
        """Return what enters the last linear layer."""
        linear = [layer for layer in self.network.modules() if isinstance(layer, nn.Linear)]
        if not linear:
            raise ValueError("module needs a torch.nn.Linear as its last layer")
        inputs = []

        def keep(layer, args):
            inputs.append(args[0])

        hook = linear[-1].register_forward_pre_hook(keep)
        try:
            self.network(X)
        finally:
            hook.remove()
        return inputs[-1]


def _block(layer):
    """Return a layer, with what normalises and rectifies its outputs."""
    if isinstance(layer, nn.Linear):
        return layer, nn.BatchNorm1d(layer.out_features), nn.LeakyReLU(0.1)
    return layer, nn.BatchNorm2d(layer.out_channels), nn.LeakyReLU(0.1)


def default_module(row_shape, n_classes):
    """Make a small network for rows of this shape."""
    if len(row_shape) == 1:
        hidden = *_block(nn.Linear(row_shape[0], 128)), *_block(nn.Linear(128, 128))
        return nn.Sequential(*hidden, nn.Linear(128, n_classes))
    if len(row_shape) != 3:
        raise ValueError(f"rows of shape {row_shape} have no default network: give module=")
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
    """Turns noise into rows whose features lie in the range of those of `X`."""

    def __init__(self, X, noise_dim):
        super().__init__()
        low, high = X.min(axis=0), X.max(axis=0)
        self.register_buffer("low", torch.as_tensor(low))
        self.register_buffer("width", torch.as_tensor(high - low))
        self.layers = nn.Sequential(
            nn.Linear(noise_dim, 500),
            nn.BatchNorm1d(500),
            nn.ReLU(),
            nn.Linear(500, 500),
            nn.BatchNorm1d(500),
            nn.ReLU(),
            nn.Linear(500, low.size),
        )

    def forward(self, noise):
        """Return one row for each row of noise."""
        shares = self.layers(noise).sigmoid().reshape(-1, *self.low.shape)
        return self.low + self.width * shares


def make_module(module, default):
    """Return a copy of a module, or of what a function makes; None calls the default."""
    if module is None:
        return default()
    # Copied in either case, as a function may return a module that others train as well
    made = copy.deepcopy(module if isinstance(module, nn.Module) else module())
    if not isinstance(made, nn.Module):
        raise ValueError(f"module and generator must be or make a torch.nn.Module; got {made!r}")
    return made


class RandomAffine(nn.Module):
    """Rotate, shift, scale and shear each image of a batch a little: labels of digits survive.

    As a layer of a network it works in training only.

    Parameters
    ----------
    degrees : float, default=15
        Largest rotation, in degrees.
    shift : float, default=0.07
        Largest shift, as a share of the image's height and width.
    scale : float, default=0.1
        Largest relative change of size.
    shear : float, default=0.2
        Largest shear.

    Examples
    --------
    >>> import torch
    >>> from sklearn_pate.neural import RandomAffine
    >>> RandomAffine()(torch.zeros(5, 1, 28, 28)).shape
    torch.Size([5, 1, 28, 28])
    """

    def __init__(self, degrees=15, shift=0.07, scale=0.1, shear=0.2):
        super().__init__()
        self.degrees = degrees
        self.shift = shift
        self.scale = scale
        self.shear = shear

    def extra_repr(self):
        """Parameters, for the repr."""
        return f"{self.degrees}, {self.shift}, {self.scale}, {self.shear}"

    def forward(self, X):
        """Return changed copies of images of shape (n, channels, height, width)."""
        if X.ndim != 4:
            raise ValueError(
                f"RandomAffine changes images, (n, channels, height, width); got {tuple(X.shape)}"
            )
        if not self.training:
            return X

        def uniform(most):
            """Draw one number from -most to most for each image."""
            return (torch.rand(len(X), device=X.device) * 2 - 1) * most

        angle = uniform(math.radians(self.degrees))
        size = 1 + uniform(self.scale)
        cos = angle.cos() * size
        sin = angle.sin() * size
        across = torch.stack([cos, uniform(self.shear) - sin, uniform(2 * self.shift)], dim=1)
        down = torch.stack([sin, cos, uniform(2 * self.shift)], dim=1)
        # F.affine_grid, in steps that torch.func.vmap knows: teachers may be trained together
        y, x = (torch.linspace(-1, 1, n, device=X.device) * (n - 1) / n for n in X.shape[2:])
        points = torch.stack(torch.broadcast_tensors(x, y[:, None], torch.ones_like(x)), dim=-1)
        grid = points.flatten(0, 1) @ torch.stack([across, down], dim=2)
        return F.grid_sample(X, grid.unflatten(1, points.shape[:2]), align_corners=False)
