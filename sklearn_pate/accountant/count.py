"""How many fits this process has begun, whatever their data, and whatever became of them."""

import itertools

__all__ = ["next_fit_number"]

_numbers = itertools.count(1)


def next_fit_number():
    """Count one more fit of this process.

    It counts calls, never data: a count of fits "on the same records" would tell whether the
    records changed. A fit counts from its first line on: whether one failed may be private too.

    Returns
    -------
    int
        1 for the first.

    Examples
    --------
    >>> from sklearn_pate.accountant import next_fit_number
    >>> next_fit_number() < next_fit_number()
    True
    """
    return next(_numbers)
