"""The defaults that are numbers: one formula each, of public numbers alone.

`docs/results/rules_*.csv` shows how each was set, on some data sets, and how it does on others.
"""

import math

from ._numbers import check_positive

__all__ = [
    "bends_are_seen",
    "columns_tell_more",
    "default_n_cells",
    "default_n_teachers",
    "default_share",
    "fewest_queries",
    "most_noise",
    "share_of_sums",
    "signal_of_sums",
    "sums_tell_more",
]

#: Most cells: smoothing takes time by their third power.
_MOST_CELLS = 1000

#: Few cells: what is smoothed needs some places to differ at.
_FEW_CELLS = 32

#: The share of epsilon that class sums get where somebody votes.
_SHARE_OF_SUMS = 0.25

#: Most columns whose cells tell more than sums do, and fewest records for each of their numbers.
_MOST_COLUMNS_OF_CELLS = 15
_RECORDS_PER_NUMBER = 300

#: Cells that explain less of the public rows' spread tell less than sums of columns do: of two
#: classes, and of more. Then so many records are needed for each class, beside the noise.
_LITTLE_EXPLAINED = 0.6
_LITTLE_EXPLAINED_OF_MORE = 0.4
_LEAST_SIGNAL = 5

#: Fewer records, at epsilon 1, tell more of numbers in sums than in cells.
_FEW_RECORDS = 5000

#: With so many, twice as many sums cost little.
_SIGNAL_OF_BENDS = 28


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
    wanted = 2 * math.sqrt(n_records * n_classes) / strict**0.75
    return max(1, int(min(wanted, n_records / 5)))


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
    wanted = max(by_noise, min(2 * by_noise, _FEW_CELLS), 4 * n_classes)
    return max(1, int(min(wanted, n_public / 2, _MOST_CELLS)))


def signal_of_sums(*, n_records, n_columns, n_classes, noise_std):
    """Return the records of a class beside the length of the noise on their sums.

    Parameters
    ----------
    n_records : int
        Number of private records or, where it is private, of public rows.
    n_columns, n_classes : int
        Number of the transformer's numbers, and of classes.
    noise_std : float
        Standard deviation of the noise on each sum, in records.

    Returns
    -------
    float

    Examples
    --------
    >>> from sklearn_pate.rules import signal_of_sums
    >>> round(signal_of_sums(n_records=6000, n_columns=200, n_classes=2, noise_std=5.3))
    40
    """
    return n_records / (n_classes * noise_std * math.sqrt(n_columns))


def columns_tell_more(*, explained, n_classes, signal):
    """Return whether records are to vote with all of their columns, not in cells.

    Where cells explain little of how public rows differ, a record's place tells little; what is
    added up of its columns may tell more, if many records outweigh the noise of the sums. More than
    two classes are rarely told apart by sums alone, so cells must explain less.

    Parameters
    ----------
    explained : float
        The share of the public rows' spread that cells explain.
    n_classes : int
        Number of classes.
    signal : float
        From `signal_of_sums`.

    Returns
    -------
    bool

    Examples
    --------
    >>> from sklearn_pate.rules import columns_tell_more
    >>> columns_tell_more(explained=0.04, n_classes=2, signal=40)
    True
    """
    most = _LITTLE_EXPLAINED if n_classes == 2 else _LITTLE_EXPLAINED_OF_MORE
    return explained < most and signal >= _LEAST_SIGNAL


def sums_tell_more(*, n_records, epsilon, signal):
    """Return whether numbers are to be told by sums of all columns, not in cells.

    What is added up of columns tells much of numbers, and cells all that is left, if many records
    lie in each.

    Parameters
    ----------
    n_records : int
        Number of private records or, where it is private, of public rows.
    epsilon : float
        The cap.
    signal : float
        From `signal_of_sums`.

    Returns
    -------
    bool

    Examples
    --------
    >>> from sklearn_pate.rules import sums_tell_more
    >>> sums_tell_more(n_records=2000, epsilon=1.0, signal=40)
    True
    """
    return n_records * epsilon < _FEW_RECORDS and signal >= _LEAST_SIGNAL


def bends_are_seen(*, signal):
    """Return whether sums of how far numbers are from the middle are worth their noise.

    Parameters
    ----------
    signal : float
        From `signal_of_sums`, of the numbers alone.

    Returns
    -------
    bool

    Examples
    --------
    >>> from sklearn_pate.rules import bends_are_seen
    >>> bends_are_seen(signal=40)
    True
    """
    return signal >= _SIGNAL_OF_BENDS


def default_share():
    """Return the share of epsilon that a synthesizer's rows get.

    Returns
    -------
    float
        0.4. From 0.2 to 0.5, accuracy differs by about as much as from seed to seed.

    Examples
    --------
    >>> from sklearn_pate.rules import default_share
    >>> default_share()
    0.4
    """
    return 0.4


def share_of_sums(*, n_records, n_columns, width, epsilon, may_be_all):
    """Return the share of epsilon that class sums get: a quarter, or all where nobody votes.

    Cells tell more than sums of few columns where many records lie in them: up to 15 columns, and
    300 records for each number that they spread to, at epsilon 1. Else sums are all that is
    released.

    Parameters
    ----------
    n_records : int or None
        Number of private records; None where it is private.
    n_columns, width : int
        Number of columns, and of the numbers that they are spread to: one for each category.
    epsilon : float or None
        The cap; None, no cap, counts as 1.
    may_be_all : bool
        Whether nobody else was asked to vote.

    Returns
    -------
    float

    Examples
    --------
    >>> from sklearn_pate.rules import share_of_sums
    >>> share_of_sums(n_records=1000, n_columns=64, width=65, epsilon=1.0, may_be_all=True)
    1.0
    """
    if not may_be_all:
        return _SHARE_OF_SUMS
    paid = 1.0 if epsilon is None else check_positive("epsilon", epsilon)
    are_many = n_records is not None and n_records * paid >= _RECORDS_PER_NUMBER * width
    return _SHARE_OF_SUMS if are_many and n_columns <= _MOST_COLUMNS_OF_CELLS else 1.0
