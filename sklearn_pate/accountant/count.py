"""How many fits this process has begun, whatever their data, and whatever became of them."""

import itertools

from ..isolation import is_uncounted

_numbers = itertools.count(1)


def next_fit_number():
    """Count one more fit of this process.

    It counts calls, never data: a count of fits "on the same records" would tell whether the
    records changed. A fit counts from its first line on: whether one failed may be private too.
    Fits within a fit (those of teachers, of the trials of a private search) are part of it and do
    not count: how many there are may be private as well. Each worker process counts for itself.

    Returns
    -------
    int
        1 for the first, and for one within another.

    Examples
    --------
    >>> from sklearn_pate.accountant import next_fit_number
    >>> next_fit_number() < next_fit_number()
    True
    """
    return 1 if is_uncounted() else next(_numbers)
