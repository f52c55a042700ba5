"""A noisy table of ballots and what was released before it, read as one."""

from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from sklearn.utils.metaestimators import available_if

from ..neighbors.cells import nearest_cells
from ..neighbors.rates import (
    LEAST_RATE,
    ReleasedTable,
    deal_labels,
    floored,
    numbers_of_public,
    sharpened,
)
from .student import SumsClassifier

#: Powers of the rates of the cells that are tried; those of the prior are its own.
_POWERS_OF_CELLS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)


@dataclass(frozen=True, eq=False, repr=False)
class StackedTable:
    """A noisy table, and what was released before it: all of this is published.

    What class sums or histograms say of the classes, and what the cells say, beside the rates in
    the whole table, is multiplied, each raised to a power: those under which one part of the noisy
    table says most of the other; see `Surface.splits`.

    Attributes
    ----------
    table : ReleasedTable
    prior : ReleasedSums or ReleasedHistograms
    X_public : array-like with n_public rows
        The rows that the cells were made of.
    """

    table: ReleasedTable
    prior: object
    X_public: object

    @property
    def is_flat(self):
        """Whether both say little more than how frequent the classes are."""
        return self.table.is_flat and self.prior.is_flat

    def __repr__(self):
        return f"StackedTable({self.table!r}, {self.prior!r}, powers={self.powers})"

    @cached_property
    def powers(self):
        """The powers of the rates of the prior, and of the cells."""
        numbers = numbers_of_public(self.table.transformer, self.X_public)
        cell = nearest_cells(numbers, self.table.centers)[:, 0]
        counts = self.table.counts
        by_prior = np.zeros_like(counts)
        np.add.at(by_prior, cell, self.prior.rates(self.X_public))
        by_prior = floored(by_prior)
        surface = self.table.surface
        overall = np.maximum(surface.overall, LEAST_RATE)
        powers = list(product(self.prior.powers, _POWERS_OF_CELLS))
        gain = np.zeros(len(powers))
        for means, hidden in surface.splits(counts):
            by_cells = sharpened(means, surface.power)
            gain += [
                (hidden * np.log(_mixed(by_prior, by_cells, overall, both))).sum()
                for both in powers
            ]
        return powers[int(np.argmax(gain))]

    @available_if(lambda table: hasattr(table.prior, "default_student"))
    def default_student(self):
        """Return a classifier that says what both say; not of histograms, which see no pairs."""
        return SumsClassifier(self)

    def rates(self, X):
        """Return the rates of the classes at rows; see `ReleasedTable.rates`."""
        overall = np.maximum(self.table.surface.overall, LEAST_RATE)
        return _mixed(self.prior.rates(X), self.table.rates(X), overall, self.powers)

    def read(self, X):
        """Return rates, and labels dealt by them, of public rows; see `ReleasedTable.read`."""
        rates = self.rates(X)
        numbers = numbers_of_public(self.table.transformer, X)
        return rates, deal_labels(rates, nearest_cells(numbers, self.table.centers)[:, 0])


def _mixed(by_prior, by_cells, overall, powers):
    """Return overall rates times what both say beside these, raised to powers, as rates."""
    rates = overall * (by_prior / overall) ** powers[0] * (by_cells / overall) ** powers[1]
    return floored(rates / rates.sum(axis=1, keepdims=True))
