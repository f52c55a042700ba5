"""Changes of images that keep their labels."""

import math

import torch
from torch import nn
from torch.nn import functional as F


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
