"""Whether a schema suits the records: by public numbers alone, and by noisy counts, for free."""

import math
from typing import NamedTuple

from .columns import NumberColumn
from .table import named

#: Warned of is more noise: that on the bins of a column, together, beside the records of a class.
#: docs/no_public_rows.md has the runs it was chosen by.
_MOST_NOISE = 0.4

#: Fewer bins are too coarse, two of them being the bounds.
_FEWEST_BINS = 8


class Histograms(NamedTuple):
    """What is public of the histograms.

    Attributes
    ----------
    n_columns, n_tables : int
        Number of columns, and of histograms: the label may have one.
    n_bins : float
        Of a column, on average.
    n_classes : int
        For each of which a column has a histogram.
    noise_std : float
        Standard deviation of the noise on each count, in records.
    growth : float
        The noise at equal cost grows with this power of the number of histograms.
    """

    n_columns: int
    n_tables: int
    n_bins: float
    n_classes: int
    noise_std: float
    growth: float

    def noise(self, *, n_records):
        """Return the noise on the bins of a column, beside the records of a class."""
        return self.noise_std * math.sqrt(self.n_bins) * self.n_classes / n_records

    def with_columns(self, n_columns):
        """Return the histograms of fewer columns, at the same cost."""
        n_tables = self.n_tables - self.n_columns + n_columns
        noise_std = self.noise_std * (n_tables / self.n_tables) ** self.growth
        return self._replace(n_columns=n_columns, n_tables=n_tables, noise_std=noise_std)


def drowned(histograms, *, n_records, n_rows):
    """Say that the noise drowns the records, and what would help; None if it does not.

    Parameters
    ----------
    histograms : Histograms
        What is counted, and how noisily.
    n_records : int or None
        Number of private records. None where it is private: that of the rows that are drawn takes
        its place.
    n_rows : int
        Number of rows that are drawn.

    Returns
    -------
    str or None
    """
    n_expected = n_rows if n_records is None else n_records
    noise = histograms.noise(n_records=n_expected)
    if noise <= _MOST_NOISE:
        return None
    of_whom = f"{n_expected} private records"
    if n_records is None:
        of_whom = f"{n_expected} rows to draw, as many records as are expected"
    factor = noise / _MOST_NOISE
    return (
        f"the noise drowns the columns of the synthetic rows: its standard deviation on each count "
        f"is {histograms.noise_std:.3g} records, and there are {of_whom}, for "
        f"{histograms.n_classes} x {histograms.n_bins:.0f} counts in each of "
        f"{histograms.n_columns} columns. {_helps(histograms, n_expected, factor)}"
    )


def _helps(histograms, n_records, factor):
    """Say what would help, what needs no more records or epsilon first."""
    times = f"about {_up(factor)} times"
    helps = [f"an epsilon {times} as large", f"{times} as many records"]
    n_bins = int(histograms.n_bins / factor**2)
    if n_bins >= _FEWEST_BINS:
        helps.insert(0, f"n_bins={n_bins}")
    n_columns = _columns_that_fit(histograms, n_records)
    if n_columns > 1:
        helps.insert(0, f"fewer columns ({n_columns} would do)")
    elif histograms.n_columns > 1:
        helps.insert(0, "fewer columns")
    return f"What would help: {', '.join(helps[:-1])} or {helps[-1]}"


def _columns_that_fit(histograms, n_records):
    """Return the largest number of columns that the noise does not drown; 0 if there is none."""
    for n_columns in range(histograms.n_columns - 1, 0, -1):
        if histograms.with_columns(n_columns).noise(n_records=n_records) <= _MOST_NOISE:
            return n_columns
    return 0


def _up(factor):
    """Return a number rounded up to two digits."""
    digits = 1 - math.floor(math.log10(factor))
    return f"{math.ceil(factor * 10**digits) / 10**digits:g}"


# --- what noisy counts tell ----------------------------------------------------------------------

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
