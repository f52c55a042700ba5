"""Forecasts by public numbers: cells of records, and errors and warnings of too much noise."""

from typing import NamedTuple


class CellForecast(NamedTuple):
    """Forecast of the cells of records that vote, by public numbers alone.

    Attributes
    ----------
    n_cells : int
        Number of cells, at most.
    n_votes : int
        Ballots in the table: of the records or, where their number is private, of as many records
        as there are public rows.
    explained : float or None
        The share of the spread of public rows that cells of other public rows explain, from 0 to 1;
        None where the public rows are still to be drawn.
    n_columns : int or None
        Number of columns that are summed, where there are no cells.
    warnings, errors : tuple of str
        Warnings, and errors that leave nothing to be learnt.
    """

    n_cells: int
    n_votes: int
    explained: float | None = None
    warnings: tuple = ()
    errors: tuple = ()
    n_columns: int | None = None


def noise_exceeds(what, n_records, n_needed, kind="records", *, fewer=""):
    """Return a message if the noise exceeds what the records contribute; else None.

    Parameters
    ----------
    what : str
        Noun for what is released: votes, or sums.
    n_records, n_needed : int, float
        Number of records, and of those that are needed.
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


def errors_and_warnings(of_noise, is_hopeless, *, n_public, n_distinct, n_classes):
    """Return the errors and the warnings of a plan, two lists, by numbers of rows and the noise.

    Parameters
    ----------
    of_noise : str or None
        From `noise_exceeds`.
    is_hopeless : bool
        Whether that is an error, and no warning.
    n_public, n_distinct, n_classes : int
        Numbers of public rows, of different ones, and of classes.
    """
    errors, warnings = [], []
    enough = 8 * n_classes
    if n_public < enough or n_distinct < n_classes:
        has_few = n_public < 2 * n_classes or n_distinct == 1
        (errors if has_few else warnings).append(
            f"X_public has {n_public} rows, {n_distinct} of them different once transformed, and "
            f"there are {n_classes} classes: few to tell them apart by. Give {enough} or more"
        )
    if of_noise is not None:
        (errors if is_hopeless else warnings).append(of_noise)
    return errors, warnings
