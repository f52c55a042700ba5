"""A noisy table that was released, and the labels of any rows that follow from it."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from .cells import have_distances, nearest_cells
from .rates import LEAST_GAIN, deal_labels, smooth
from .transform import transformed


@dataclass(frozen=True, eq=False, repr=False)
class ReleasedTable:
    """A noisy table of ballots, and what it says of any row: all of this is published.

    `PATEClassifier` has it as `table_` where records vote.

    Attributes
    ----------
    counts : ndarray of shape (n_cells, n_classes)
        Ballots with noise; those of a cell may be below zero.
    centers : ndarray of shape (n_cells, n_columns)
        Centers of the cells, as the transformer's numbers.
    transformer : transformer
        Fitted on public rows.
    smoothing : dict
        The other arguments of `neighbors.rates.smooth`: public numbers.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn_pate import PATEClassifier
    >>> from sklearn_pate.neighbors import ReverseNeighbors
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = PATEClassifier(ReverseNeighbors(n_cells=9), epsilon=10, classes=[0, 1, 2])
    >>> clf = clf.fit(X[::2], y[::2], X_public=X[1:100:2])
    >>> clf.table_.counts.shape
    (9, 3)
    >>> clf.table_.rates(X[101::2]).shape  # of rows that were not there
    (25, 3)
    """

    counts: np.ndarray
    centers: np.ndarray
    transformer: Any
    smoothing: dict = field(repr=False)

    @property
    def is_flat(self):
        """Whether the table says little more than that rates are the same everywhere."""
        return self.surface.gain < LEAST_GAIN

    @cached_property
    def surface(self):
        """The rates of the classes at any place, a `Surface`: computed when it is first needed."""
        return smooth(self.counts, self.centers, **self.smoothing)

    def __repr__(self):
        n_cells, n_classes = self.counts.shape
        return f"ReleasedTable({n_cells} cells, {n_classes} classes)"

    def rates(self, X):
        """Return the rates of the classes near rows, each by itself.

        Parameters
        ----------
        X : array-like with n_samples rows
            With the features of the public rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Rows sum to 1.

        Raises
        ------
        ValueError
            If the transformer makes anything but finite numbers of a row.
        """
        return self.surface.rates(numbers_of_public(self.transformer, X))

    def read(self, X):
        """Return rates, and labels dealt by them, of public rows.

        Parameters
        ----------
        X : array-like with n_public rows
            With the features of the public rows.

        Returns
        -------
        rates : ndarray of shape (n_public, n_classes)
            As from `rates`.
        labels : ndarray of shape (n_public,), int
            Class codes, such that those of a cell's rows come in about the mean of their rates.
        """
        return self.read_numbers(numbers_of_public(self.transformer, X))

    def read_numbers(self, numbers):
        """Do the same for rows that are transformed already, (n_public, n_columns)."""
        rates = self.surface.rates(numbers)
        return rates, deal_labels(rates, nearest_cells(numbers, self.centers)[:, 0])


def numbers_of_public(transformer, X_public):
    """Return the numbers of public rows, (n_public, n_columns), or raise if some are not finite."""
    numbers = transformed(transformer, X_public)
    if not have_distances(numbers, numbers).all():
        raise ValueError(
            "the transformer makes infinite or missing numbers of X_public; scale and impute in it"
        )
    return numbers
