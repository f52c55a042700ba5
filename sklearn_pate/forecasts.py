"""Forecasts of cells, noise errors and noise warnings, from public numbers alone."""

from typing import NamedTuple


class CellForecast(NamedTuple):
    """Forecast of the cells of records, from public numbers alone.

    Attributes
    ----------
    n_cells : int
        Largest number of cells.
    n_votes : int
        Number of votes in the table. If the number of records is private, one record for each
        public row is assumed.
    explained : float or None
        Fraction of the variance of public rows that cells of other public rows explain, in [0, 1];
        None if the public rows are not sampled yet.
    n_columns : int or None
        Number of columns of class sums, for methods without cells; None for methods with cells.
    warnings : tuple of str
        Problems that make the student less accurate.
    errors : tuple of str
        Problems that leave nothing to learn.
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
    """Return a message if there are too few records for the noise.

    Parameters
    ----------
    what : str
        Noun for the released statistic: votes, or sums.
    n_records : int or float
        Number of records.
    n_needed : float
        Number of records at which the signal exceeds the noise by the factor that the caller needs.
    kind : str, default="records"
        Noun for the records.
    fewer : str, default=""
        Alternative to more records, such as " or fewer columns".

    Returns
    -------
    str or None
        The message; None if there are enough records.
    """
    if n_records >= n_needed:
        return None
    return (
        f"too few records for the noise on the {what}: there are {n_records} {kind}, and about "
        f"{n_needed:.0f} are needed. Raise epsilon, give more records{fewer}, or join classes"
    )


def errors_and_warnings(
    of_noise: str | None, is_hopeless: bool, *, n_public: int, n_distinct: int, n_classes: int
) -> tuple[list[str], list[str]]:
    """Return the errors and the warnings about the public rows and the noise.

    Parameters
    ----------
    of_noise : str or None
        Result of `noise_exceeds`.
    is_hopeless : bool
        Whether `of_noise` is an error instead of a warning.
    n_public : int
        Number of public rows.
    n_distinct : int
        Number of public rows that differ after the transformation.
    n_classes : int
        Number of classes.

    Returns
    -------
    errors, warnings : list of str
    """
    errors: list[str] = []
    warnings: list[str] = []
    enough = 8 * n_classes
    if n_public < enough or n_distinct < n_classes:
        has_few = n_public < 2 * n_classes or n_distinct == 1
        (errors if has_few else warnings).append(
            f"X_public has {n_public} rows, {n_distinct} of them distinct after the "
            f"transformation: too few for {n_classes} classes. Give {enough} or more distinct rows"
        )
    if of_noise is not None:
        (errors if is_hopeless else warnings).append(of_noise)
    return errors, warnings
