"""The defaults that are numbers: one formula each, of public numbers alone.

`docs/results/rules_*.csv` shows how each was set, on some data sets, and how it does on others.
"""

import math

from ._numbers import check_positive

__all__ = [
    "default_n_cells",
    "default_n_teachers",
    "default_rows_fraction",
    "default_sums_fraction",
    "fewest_queries",
    "most_noise",
]

#: Most cells: smoothing takes time by their third power.
_MOST_CELLS = 1000

#: Few cells: what is smoothed needs some places to differ at.
_FEW_CELLS = 32


def default_n_teachers(*, n_records, n_classes, epsilon):
    """Return a number of teachers: ``2 * sqrt(n_records * n_classes) / epsilon**0.75``.

    More teachers outvote more noise, and fewer learn more each. Epsilon counts as at least 1, and
    each teacher has at least 5 records.

    Parameters
    ----------
    n_records : int or None
        Number of private records; None where it is private, which gives 100 teachers.
    n_classes : int
        Number of classes.
    epsilon : float or None
        The cap; None, no cap, counts as 1.

    Returns
    -------
    int

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


def most_noise(*, n_teachers, n_classes):
    """Return the largest scale of noise on votes, ``n_teachers / (2 * sqrt(n_classes))``.

    As many queries are asked as the cap pays for with it: more labels, and more of them wrong, or
    fewer that are right.

    Parameters
    ----------
    n_teachers, n_classes : int
        Number of teachers and of classes: the more classes, the fewer votes each gets.

    Returns
    -------
    float
        In votes.

    Examples
    --------
    >>> from sklearn_pate.rules import most_noise
    >>> most_noise(n_teachers=200, n_classes=4)
    50.0
    """
    return n_teachers / (2 * math.sqrt(n_classes))


def fewest_queries(*, n_classes):
    """Return the fewest queries to ask: 5 for each class, even if their noise is larger.

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


def default_n_cells(*, n_records, n_public, n_classes, noise_std):
    """Return a number of cells: about one for each ``7 * noise_std`` records.

    With Laplace noise for replaced records, that is one for 20 records at epsilon 1. Where that
    gives few, there are twice as many, up to 32, and at least four for each class. At most half of
    the public rows, and 1,000. Where the number of records is private, that of the public rows
    takes its place.

    Parameters
    ----------
    n_records : int or None
        Number of private records; None where it is private.
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


def default_rows_fraction():
    """Return the share of epsilon that a synthesizer's rows get.

    Returns
    -------
    float
        0.4. From 0.2 to 0.5, accuracy differs by about as much as from seed to seed.

    Examples
    --------
    >>> from sklearn_pate.rules import default_rows_fraction
    >>> default_rows_fraction()
    0.4
    """
    return 0.4


def default_sums_fraction():
    """Return the share of epsilon that class sums get where records or teachers vote as well.

    Returns
    -------
    float
        A quarter.

    Examples
    --------
    >>> from sklearn_pate.rules import default_sums_fraction
    >>> default_sums_fraction()
    0.25
    """
    return 0.25
