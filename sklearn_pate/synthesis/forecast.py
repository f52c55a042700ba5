"""Whether a schema suits the records: by public numbers alone, and by noisy counts, for free."""

import math

from .columns import NumberColumn
from .schema import named

#: Warned of is more noise: that on the bins of a column, together, beside the records of a class.
#: docs/no_public_rows.md has the runs it was chosen by.
_MOST_NOISE = 0.4

#: Fewer bins are too coarse, two of them being the bounds.
_FEWEST_BINS = 8


def drowned(n_bins, *, n_tables, n_classes, noise_std, growth, n_records, n_rows):
    """Say that the noise drowns the records, and what would help; None if it does not.

    Parameters
    ----------
    n_bins : list of int
        Number of bins of each column.
    n_tables : int
        Number of histograms: the label may have one beside the columns.
    n_classes : int
        For each of which a column has a histogram.
    noise_std : float
        Standard deviation of the noise on each count, in records.
    growth : float
        The noise at equal cost grows with this power of the number of histograms.
    n_records : int or None
        Number of private records. None where it is private: that of the rows that are drawn takes
        its place.
    n_rows : int
        Number of rows that are drawn.

    Returns
    -------
    str or None
    """
    n_columns = len(n_bins)
    usual = sum(n_bins) / n_columns
    n_expected = n_rows if n_records is None else n_records
    factor = noise_std * math.sqrt(usual) * n_classes / n_expected / _MOST_NOISE
    if factor <= 1:
        return None
    of_whom = f"{n_expected} private records"
    if n_records is None:
        of_whom = f"{n_expected} rows to draw, as many records as are expected"
    helps = []
    n_fit = math.floor(n_tables * factor ** (-1 / growth)) - (n_tables - n_columns)
    if n_columns > 1:
        helps.append(f"fewer columns ({n_fit} would do)" if n_fit > 1 else "fewer columns")
    n_coarser = int(usual / factor**2)
    if n_coarser >= _FEWEST_BINS:
        helps.append(f"n_bins={n_coarser}")
    digits = 1 - math.floor(math.log10(factor))
    times = f"about {math.ceil(factor * 10**digits) / 10**digits:g} times"  # rounded up
    helps.append(f"an epsilon {times} as large")
    return (
        f"the noise drowns the columns of the synthetic rows: its standard deviation on each count "
        f"is {noise_std:.3g} records, and there are {of_whom}, for {n_classes} x {usual:.0f} "
        f"counts in each of {n_columns} columns. What would help: {', '.join(helps)} or {times} "
        "as many records"
    )


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
    crowded = []
    lost = []
    names = range(len(tables)) if schema.names is None else schema.names
    for k, (name, column, table) in enumerate(zip(names, schema.columns, tables, strict=True)):
        counted = [*tables[:k], *tables[k + 1 :]] if sizes is None else [sizes]
        if not counted:
            continue
        # The number of records: of the labels, else of the fullest other column
        records = max(counted, key=lambda counts: _least(noise_std, (1, counts)))
        if _is_crowded(column, table, records, noise_std):
            crowded.append(name)
        if _least(noise_std, (1, records), (-1, table), (-_LOST, records)) > 0:
            lost.append(name)
    return _in_words(crowded, lost)


def _least(noise_std, *parts):
    """Return the least that noisy counts may sum to without the noise, each part by a factor."""
    value = sum(factor * counts.sum() for factor, counts in parts)
    n_counts = sum(factor**2 * counts.size for factor, counts in parts)
    return value - _SURE * noise_std * math.sqrt(n_counts)


def _is_crowded(column, table, records, noise_std):
    """Whether a bin, or two side by side, hold nearly all records, and lie within the bounds.

    Bins of one value are not meant: what is drawn from them is right.
    """
    if not isinstance(column, NumberColumn):
        return False
    parts = [(-_CROWDED, records)]
    if column.may_be_missing:
        parts.append((_CROWDED, table[column.n_values]))
    inner = [k for k in range(1, column.n_values - 1) if column.is_wide(k)]
    widths = [width for width in (1, 2) if column.n_values >= width * _ONE_IN]
    return any(
        _least(noise_std, (1, table[k : k + width]), *parts) > 0
        for k in inner
        for width in widths
        if k + width - 1 in inner
    )


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
