"""Checks of a table's mechanism that a user may have written, before it sees private numbers."""

import math
from numbers import Real

import numpy as np
from sklearn.base import clone

from ..secure import noise_generator


def rehearse_table(mechanism, *, n_changed, n_classes):
    """Try a mechanism on a made-up table: what fails now would fail after it is paid for."""
    table = np.zeros((3, n_classes))
    table[0] = 100.0
    table[1, 0] = n_changed
    name = type(mechanism).__name__
    try:
        noise_std = mechanism.noise_std
        if not isinstance(noise_std, Real) or not 0 < noise_std < math.inf:
            raise ValueError(f"noise_std must be a finite number above 0; got {noise_std!r}")
        checked_noisy(clone(mechanism), table, noise_generator(0))
    except Exception as error:
        raise ValueError(
            f"{name} failed when tried on a made-up table of {table.shape[0]} cells and "
            f"{n_classes} classes; nothing was spent. {type(error).__name__}: {error}"
        ) from error


def checked_noisy(mechanism, table, noise):
    """Return the noisy table of a mechanism of the user's."""
    noisy = np.asarray(mechanism.noisy(table, noise))
    if noisy.shape != table.shape or noisy.dtype.kind != "f" or not np.isfinite(noisy).all():
        raise ValueError(
            f"noisy of {type(mechanism).__name__} must return finite floats, a table of the shape "
            f"that it is given, {table.shape}"
        )
    # Its array may be part of a larger one, or its dtype hold notes
    numbers = np.empty(noisy.shape)
    numbers[:] = noisy
    return numbers
