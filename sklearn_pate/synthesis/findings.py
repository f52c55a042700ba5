"""What noisy counts tell of a schema that does not suit the records: free, as the counts are."""

import math
from typing import NamedTuple

from .columns import NumberColumn
from .remedies import named

#: Noise moves a sum by less than this many of its standard deviations.
_SURE = 5

#: Told of are bins that hold more than this share of the records, side by side and no more than
#: one in so many, and a column that loses more than that share; whatever the noise.
_CROWDED = 0.8
_ONE_IN = 5
_LOST = 0.1

_LAST_WORDS = (
    "This is told by noisy counts alone. Let public knowledge mend it, not a look at the records; "
    "another fit spends anew"
)


class _Sum(NamedTuple):
    """A sum of noisy counts, and the variance of its noise."""

    value: float
    variance: float

    def minus(self, other, factor=1.0):
        """Return the difference to a multiple of another sum, of other counts."""
        return _Sum(self.value - factor * other.value, self.variance + factor**2 * other.variance)

    def plus(self, other):
        """Return the sum of both, of different counts."""
        return _Sum(self.value + other.value, self.variance + other.variance)

    @property
    def least(self):
        """What it would be at least without the noise."""
        return self.value - _SURE * math.sqrt(self.variance)


def findings(tables, sizes, schema, noise_std):
    """Return what noisy histograms tell of bounds, categories and missing values.

    Parameters
    ----------
    tables : list of ndarray of shape (n_bins, n_classes)
        The noisy histograms of the columns.
    sizes : ndarray of shape (n_classes,) or None
        The noisy number of records of each class; None if the labels are not counted.
    schema : Columns
        What was declared of the columns.
    noise_std : float
        Standard deviation of the noise on each count.

    Returns
    -------
    list of str
    """
    variance = noise_std**2
    crowded = []
    lost = []
    names = range(len(tables)) if schema.names is None else schema.names
    for k, (name, column, table) in enumerate(zip(names, schema.columns, tables, strict=True)):
        counts = [_Sum(row.sum(), variance * row.size) for row in table]
        n_records = _number(sizes, [*tables[:k], *tables[k + 1 :]], variance)
        if n_records is None:
            continue
        if _is_crowded(column, counts, n_records):
            crowded.append(name)
        total = _Sum(table.sum(), variance * table.size)
        if n_records.minus(total).minus(n_records, _LOST).least > 0:
            lost.append(name)
    return _in_words(crowded, lost)


def _number(sizes, others, variance):
    """Return the noisy number of records: of the labels, else of the fullest other column."""
    counted = others if sizes is None else [sizes]
    sums = [_Sum(table.sum(), variance * table.size) for table in counted]
    return max(sums, key=lambda total: total.least, default=None)


def _is_crowded(column, counts, n_records):
    """Whether a bin, or two side by side, hold nearly all records, and lie within the bounds.

    Bins of one value are not meant: what is drawn from them is right.
    """
    if not isinstance(column, NumberColumn):
        return False
    if column.may_be_missing:
        n_records = n_records.minus(counts[column.n_values])
    inner = [k for k in range(1, column.n_values - 1) if column.is_wide(k)]
    together = []
    if column.n_values >= _ONE_IN:
        together += [counts[k] for k in inner]
    if column.n_values >= 2 * _ONE_IN:
        together += [counts[k].plus(counts[k + 1]) for k in inner if k + 1 in inner]
    return any(count.minus(n_records, _CROWDED).least > 0 for count in together)


def _in_words(crowded, lost):
    texts = []
    if crowded:
        texts.append(
            f"nearly all records lie in one or two bins of columns {named(crowded)}, over which "
            "drawn values are spread: give narrower bounds, or the edges of all bins, most of them "
            f"where values are dense. {_LAST_WORDS}"
        )
    if lost:
        texts.append(
            f"many records have no bin in columns {named(lost)}, and drawn rows follow the others: "
            "give the categories that occur, spelled and of the type that they have in X, and name "
            f"columns whose values may be missing in missing=[...]. {_LAST_WORDS}"
        )
    return texts
