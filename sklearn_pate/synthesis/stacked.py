"""A noisy table of ballots and class sums, read as one."""

from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from ..neighbors.cells import nearest_cells
from ..neighbors.rates import LEAST_RATE, deal_labels, sharpened
from ..neighbors.released import ReleasedTable, numbers_of_public
from .student import SumsClassifier
from .sums import ReleasedSums

__all__ = ["StackedTable"]

#: Powers of the rates of the sums and of the cells that are tried.
_POWERS_OF_SUMS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
_POWERS_OF_CELLS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)


@dataclass(frozen=True, eq=False, repr=False)
class StackedTable:
    """A noisy table, and class sums that were released before it: all of this is published.

    What the sums and the cells say, beside the rates in the whole table, is multiplied, each raised
    to a power: those under which
    one part of the noisy table says most of the other; see `Surface.splits`.

    Attributes
    ----------
    table : ReleasedTable
    sums : ReleasedSums
    X_public : array-like with n_public rows
        The rows that the cells were made of.
    """

    table: ReleasedTable
    sums: ReleasedSums
    X_public: object

    @property
    def is_flat(self):
        """Whether both say little more than how frequent the classes are."""
        return self.table.is_flat and self.sums.is_flat

    def __repr__(self):
        return f"StackedTable({self.table!r}, {self.sums!r}, powers={self.powers})"

    @cached_property
    def powers(self):
        """The powers of the rates of the sums, and of the cells."""
        numbers = numbers_of_public(self.table.transformer, self.X_public)
        cell = nearest_cells(numbers, self.table.centers)[:, 0]
        counts = self.table.counts
        by_sums = np.zeros_like(counts)
        np.add.at(by_sums, cell, self.sums.rates(self.X_public))
        by_sums = np.maximum(by_sums, LEAST_RATE)
        by_sums /= by_sums.sum(axis=1, keepdims=True)
        surface = self.table.surface
        overall = np.maximum(surface.overall, LEAST_RATE)
        powers = list(product(_POWERS_OF_SUMS, _POWERS_OF_CELLS))
        gain = np.zeros(len(powers))
        for means, hidden in surface.splits(counts):
            by_cells = sharpened(means, surface.power)
            gain += [
                (hidden * np.log(_mixed(by_sums, by_cells, overall, both))).sum() for both in powers
            ]
        return powers[int(np.argmax(gain))]

    def default_student(self):
        """Return a classifier that says what both say."""
        return SumsClassifier(self)

    def rates(self, X):
        """Return the rates of the classes at rows; see `ReleasedTable.rates`."""
        overall = np.maximum(self.table.surface.overall, LEAST_RATE)
        return _mixed(self.sums.rates(X), self.table.rates(X), overall, self.powers)

    def read(self, X):
        """Return rates, and labels dealt by them, of public rows; see `ReleasedTable.read`."""
        rates = self.rates(X)
        numbers = numbers_of_public(self.table.transformer, X)
        return rates, deal_labels(rates, nearest_cells(numbers, self.table.centers)[:, 0])


def _mixed(by_sums, by_cells, overall, powers):
    """Return overall rates times what both say beside these, raised to powers, as rates."""
    rates = overall * (by_sums / overall) ** powers[0] * (by_cells / overall) ** powers[1]
    rates = np.maximum(rates / rates.sum(axis=1, keepdims=True), LEAST_RATE)
    return rates / rates.sum(axis=1, keepdims=True)
