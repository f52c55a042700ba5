"""Forecasts from public numbers: cells of records, and errors and warnings about noise."""

from typing import NamedTuple


class CellForecast(NamedTuple):
    """Forecast of the cells of records, from public numbers alone.

    Attributes
    ----------
    n_cells : int
        Largest number of cells.
    n_votes : int
        Number of votes in the table: of the records or, if their number is private, of one record
        for each public row.
    explained : float or None
        Fraction of the variance of public rows that cells of other public rows explain, in [0, 1];
        None if the public rows are not sampled yet.
    n_columns : int or None
        Number of columns of class sums, if there are no cells.
    warnings, errors : tuple of str
        Warnings, and errors if nothing can be learned.
    """

    n_cells: int
    n_votes: int
    explained: float | None = None
    warnings: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    n_columns: int | None = None


def noise_exceeds(
    what: str, n_records: float, n_needed: float, kind: str = "records", *, fewer: str = ""
) -> str | None:
    """Return a message if the noise exceeds what the records contribute; else None.

    Parameters
    ----------
    what : str
        Noun for the released statistic: votes, or sums.
    n_records, n_needed : int, float
        Number of records, and required number of records.
    kind : str, default="records"
        Noun for the records.
    fewer : str, default=""
        Another remedy.
    """
    if n_records >= n_needed:
        return None
    return (
        f"the noise exceeds the {what}: there are {n_records} {kind}, and about {n_needed:.0f} "
        f"are needed. Raise epsilon, give more records{fewer}, or join classes"
    )


def errors_and_warnings(
    of_noise: str | None, is_hopeless: bool, *, n_public: int, n_distinct: int, n_classes: int
) -> tuple[list[str], list[str]]:
    """Return lists of errors and warnings, given numbers of rows and a message on noise.

    Parameters
    ----------
    of_noise : str or None
        Message from `noise_exceeds`.
    is_hopeless : bool
        Whether this message is an error instead of a warning.
    n_public, n_distinct, n_classes : int
        Numbers of public rows, of distinct public rows, and of classes.
    """
    errors: list[str] = []
    warnings: list[str] = []
    enough = 8 * n_classes
    if n_public < enough or n_distinct < n_classes:
        has_few = n_public < 2 * n_classes or n_distinct == 1
        (errors if has_few else warnings).append(
            f"X_public has {n_public} rows, {n_distinct} of them different after the "
            f"transformation, which are few for {n_classes} classes. Give {enough} or more rows"
        )
    if of_noise is not None:
        (errors if is_hopeless else warnings).append(of_noise)
    return errors, warnings
