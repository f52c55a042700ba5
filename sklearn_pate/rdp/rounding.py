"""Sums and products of costs as floats that are never below the exact ones."""

import math
from fractions import Fraction


def rounded_up(exact):
    """Return the smallest float that is at least a `fractions.Fraction`."""
    nearest = float(exact)
    return nearest if nearest >= exact else math.nextafter(nearest, math.inf)


def sum_up(*costs):
    """Return a sum, rounded up; inf if a part is.

    Examples
    --------
    >>> from sklearn_pate.rdp.rounding import sum_up
    >>> 0.1 + 0.7, sum_up(0.1, 0.7)
    (0.7999999999999999, 0.8)
    """
    total = math.fsum(costs)  # the float nearest to the exact sum
    if total == math.inf or math.fsum((*costs, -total)) <= 0:
        return total
    return math.nextafter(total, math.inf)


def times_up(number, cost):
    """Return so many times a cost, rounded up; inf if the cost is."""
    return math.inf if cost == math.inf else rounded_up(Fraction(float(cost)) * int(number))
