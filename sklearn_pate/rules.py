"""Formulas for default values of numeric parameters, which use public numbers only.

The files `docs/results/rules_*.csv` contain the results of each formula on the data sets to which
it was fitted, and on other data sets.
"""

import math

from ._numbers import check_positive

__all__ = [
    "default_n_cells",
    "default_n_teachers",
    "default_rows_fraction",
    "default_scale_fraction",
    "default_schema_fraction",
    "default_share_fraction",
    "default_sums_fraction",
    "default_second_target_fraction",
    "default_target_fraction",
    "estimates_scale",
    "estimates_within_bounds",
    "fewest_queries",
    "most_noise",
]

#: Largest number of cells. The time of smoothing grows with the third power of this number.
_MOST_CELLS = 1000

#: A smaller number of cells is doubled, up to this number: smoothing requires several cells.
_FEW_CELLS = 32


def default_n_teachers(*, n_records: int | None, n_classes: int, epsilon: float | None) -> int:
    """Return the default number of teachers.

    It is ``2 * sqrt(n_records * n_classes) / max(1, epsilon)**0.75``, and at most
    ``n_records / 5``. With more teachers, the noise changes fewer labels; with fewer teachers,
    each teacher learns from more records.

    Parameters
    ----------
    n_records : int or None
        Number of private records; None if it is private. The default is then 100 teachers.
    n_classes : int
        Number of classes.
    epsilon : float or None
        Epsilon of the fit; None (no limit) counts as 1.

    Returns
    -------
    int
        Number of teachers, at least 1.

    Examples
    --------
    >>> from sklearn_pate.rules import default_n_teachers
    >>> default_n_teachers(n_records=32_000, n_classes=2, epsilon=1.0)
    505
    """
    if n_records is None:
        return 100
    strict = 1.0 if epsilon is None else max(1.0, check_positive("epsilon", epsilon))
    requested = 2 * math.sqrt(n_records * n_classes) / strict**0.75
    return max(1, int(min(requested, n_records / 5)))


def most_noise(*, n_teachers: int, n_classes: int) -> float:
    """Return the largest useful noise scale, ``n_teachers / (2 * sqrt(n_classes))`` votes.

    If the noise is calibrated, the default number of queries is the number within epsilon at this
    scale. With more noise, there are more labels, but more of them are incorrect; with less noise,
    there are fewer labels.

    Parameters
    ----------
    n_teachers, n_classes : int
        Number of teachers and of classes.

    Returns
    -------
    float
        Scale, in votes.

    Examples
    --------
    >>> from sklearn_pate.rules import most_noise
    >>> most_noise(n_teachers=200, n_classes=4)
    50.0
    """
    return n_teachers / (2 * math.sqrt(n_classes))


def fewest_queries(*, n_classes: int) -> int:
    """Return the smallest default number of queries, 5 for each class.

    If the noise is calibrated, the number of queries is not reduced below this number, even if the
    noise scale then exceeds `most_noise`.

    Parameters
    ----------
    n_classes : int
        Number of classes.

    Returns
    -------
    int

    Examples
    --------
    >>> from sklearn_pate.rules import fewest_queries
    >>> fewest_queries(n_classes=10)
    50
    """
    return 5 * n_classes


def default_n_cells(
    *, n_records: int | None, n_public: int, n_classes: int, noise_std: float
) -> int:
    """Return the default number of cells, about one for each ``7 * noise_std`` records.

    With Laplace noise for replaced records, this is one cell for 20 records at epsilon 1. A number
    below 32 is doubled, up to 32, and there are at least four cells for each class. In any case,
    the number is at most half the number of public rows, and at most 1,000. If the number of
    records is private, the number of public rows is used instead.

    Parameters
    ----------
    n_records : int or None
        Number of private records; None if it is private.
    n_public, n_classes : int
        Number of public rows and of classes.
    noise_std : float
        Standard deviation of the noise on each count, in records.

    Returns
    -------
    int

    Examples
    --------
    >>> from sklearn_pate.rules import default_n_cells
    >>> default_n_cells(n_records=30_000, n_public=5_000, n_classes=2, noise_std=2.83)
    1000
    """
    by_noise = (n_public if n_records is None else n_records) / (7 * noise_std)
    requested = max(by_noise, min(2 * by_noise, _FEW_CELLS), 4 * n_classes)
    return max(1, int(min(requested, n_public / 2, _MOST_CELLS)))


def default_rows_fraction() -> float:
    """Return the default fraction of epsilon for synthetic rows.

    Returns
    -------
    float
        0.4. Within 0.2 to 0.5, the choice affects the accuracy about as much as the seed does.

    Examples
    --------
    >>> from sklearn_pate.rules import default_rows_fraction
    >>> default_rows_fraction()
    0.4
    """
    return 0.4


def default_sums_fraction() -> float:
    """Return the default fraction of epsilon for class sums, if records or teachers also vote.

    Returns
    -------
    float
        0.25.

    Examples
    --------
    >>> from sklearn_pate.rules import default_sums_fraction
    >>> default_sums_fraction()
    0.25
    """
    return 0.25


def default_schema_fraction(*, n_records: int | None, n_columns: int, mu: float) -> float:
    """Return the default fraction of the squared Gaussian-DP parameter for a schema release.

    Parameters
    ----------
    n_records : int or None
        Number of private records; None if it is private.
    n_columns : int
        Number of columns that are not declared.
    mu : float
        Gaussian-DP parameter of the schema and of the statistics after it.

    Returns
    -------
    float
        0.2, 0.1 or 0.05: the larger the ratio of the number of records to the noise on counts, the
        smaller the fraction. It is 0.1 if the number of records is private.

    Examples
    --------
    >>> from sklearn_pate.rules import default_schema_fraction
    >>> default_schema_fraction(n_records=6000, n_columns=7, mu=0.27)
    0.2
    """
    if n_records is None:
        return 0.1
    signal = _signal_of_schema(n_records, n_columns, mu)
    return 0.2 if signal < 100 else 0.1 if signal < 200 else 0.05


def default_target_fraction(*, n_records: int | None, epsilon: float, n_targets: int = 1) -> float:
    """Return the default fraction of epsilon that finds the classes, or the bounds of numbers.

    It is ``600 / (n_records * epsilon)``, from 0.01 to 0.25. The labels -1, 0, 1 and 2 are then
    found if they have about 2 % of the records, and texts if they have about 6 %. Several targets
    share this fraction times their number, and at most 0.25.

    Parameters
    ----------
    n_records : int or None
        Number of private records; None if it is private, which gives 0.05.
    epsilon : float
        Epsilon of the fit.
    n_targets : int, default=1
        Number of targets, columns of `y`.

    Returns
    -------
    float

    Examples
    --------
    >>> from sklearn_pate.rules import default_target_fraction
    >>> default_target_fraction(n_records=12_000, epsilon=1.0)
    0.05
    """
    of_one = 0.05 if n_records is None else max(0.01, 600 / (n_records * epsilon))
    return min(0.25, n_targets * of_one)


def default_second_target_fraction(fraction: float) -> float:
    """Return the default fraction of epsilon for a second round that finds the classes.

    It is five times the first fraction, and at most 0.4. Labels are then found if they have about
    a fifth of the records that the first round requires.

    Parameters
    ----------
    fraction : float
        Fraction of the first round, from `default_target_fraction`.

    Returns
    -------
    float

    Examples
    --------
    >>> from sklearn_pate.rules import default_second_target_fraction
    >>> default_second_target_fraction(0.05)
    0.25
    """
    return min(0.4, 5 * fraction)


def default_share_fraction(*, n_records: int | None, epsilon: float) -> float:
    """Return the default fraction of epsilon for class counts, by which the method is chosen.

    It is ``200 / (n_records * epsilon)``, from 0.01 to 0.05. If there are two classes, and the
    number of records is public, the standard deviation of a share is then 0.01, and larger only if
    the fraction is 0.05. A share of 0.06 is below 0.08 with a probability of 0.97.

    Parameters
    ----------
    n_records : int or None
        Number of private records; None if it is private, which gives 0.05.
    epsilon : float
        Epsilon of the fit.

    Returns
    -------
    float

    Examples
    --------
    >>> from sklearn_pate.rules import default_share_fraction
    >>> round(default_share_fraction(n_records=12_000, epsilon=1.0), 4)
    0.0167
    """
    if n_records is None:
        return 0.05
    return min(0.05, max(0.01, 200 / (n_records * epsilon)))


def estimates_within_bounds(*, n_records: int | None, n_columns: int, mu: float) -> bool:
    """Return whether edges of columns with plain bounds are estimated within these bounds.

    Parameters
    ----------
    n_records : int or None
        Number of private records; None if it is private.
    n_columns : int
        Number of columns whose schema would be estimated.
    mu : float
        Gaussian-DP parameter of the schema and of the statistics after it.

    Returns
    -------
    bool
        Whether there are at least 20 records for each standard deviation of the noise on a count.
        True if the number of records is private.

    Examples
    --------
    >>> from sklearn_pate.rules import estimates_within_bounds
    >>> estimates_within_bounds(n_records=6000, n_columns=7, mu=0.27)
    True
    >>> estimates_within_bounds(n_records=1000, n_columns=64, mu=0.27)
    False
    """
    return n_records is None or _signal_of_schema(n_records, n_columns, mu) >= _MIN_SIGNAL_WITHIN


def default_scale_fraction() -> float:
    """Return the default fraction of the squared Gaussian-DP parameter for a common scale.

    Returns
    -------
    float
        0.05.

    Examples
    --------
    >>> from sklearn_pate.rules import default_scale_fraction
    >>> default_scale_fraction()
    0.05
    """
    return 0.05


def estimates_scale(*, n_records: int | None, mu: float) -> bool:
    """Return whether a common scale of columns with plain bounds is estimated.

    It is estimated where `estimates_within_bounds` is False.

    Parameters
    ----------
    n_records : int or None
        Number of private records; None if it is private.
    mu : float
        Gaussian-DP parameter of the scale and of the statistics after it.

    Returns
    -------
    bool
        Whether there are at least 12 records for each standard deviation of the noise on a count.
        False if the number of records is private.

    Examples
    --------
    >>> from sklearn_pate.rules import estimates_scale
    >>> estimates_scale(n_records=1000, mu=0.27)
    True
    >>> estimates_scale(n_records=100, mu=0.27)
    False
    """
    noise = math.sqrt(2 / default_scale_fraction()) / mu
    return n_records is not None and n_records >= _MIN_SIGNAL_OF_SCALE * noise


#: Fewest records, in standard deviations of the noise on a count, for a common scale.
_MIN_SIGNAL_OF_SCALE = 12

#: Fewest records, in standard deviations of the noise on a count, for estimates within bounds.
_MIN_SIGNAL_WITHIN = 20


def _signal_of_schema(n_records: int, n_columns: int, mu: float) -> float:
    """Return the records divided by the noise on counts, at a tenth of the squared parameter."""
    noise_at_a_tenth = math.sqrt(2 * n_columns / (0.1 * 0.3)) / mu
    return n_records / noise_at_a_tenth
