"""Whether noise has the better of histograms, by public numbers alone."""

import math
from typing import NamedTuple

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
