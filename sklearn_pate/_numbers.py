"""Numbers given by users as floats, and descriptions of values for messages."""

import math
from collections.abc import Sequence
from numbers import Integral, Number, Rational, Real
from typing import Any

#: Largest count, which is the largest int64.
LARGEST_COUNT = 2**63 - 1

#: Largest number of digits in a message; longer numbers are described.
_MOST_SHOWN = 80

#: Largest number of columns or classes that a message names.
_N_NAMED = 5


def as_float(number: Any) -> float:
    """Return a real number as a float, or NaN if it is finite and beyond the largest float.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from sklearn_pate._numbers import as_float
    >>> as_float(Fraction(1, 2)), as_float(10**400)
    (0.5, nan)
    """
    try:
        return float(number)
    except OverflowError:
        return math.nan


def is_number(value: Any) -> bool:
    """Return whether a value is a number of any type, such as `Decimal`, or a complex one."""
    return isinstance(value, Number)


def is_real(value: Any) -> bool:
    """Return whether a value is a `numbers.Real`: `bool` counts as one, `Decimal` does not."""
    return isinstance(value, Real)


def is_whole(value: Any) -> bool:
    """Return whether a value has an integer type; `bool` counts as one."""
    return isinstance(value, Integral)


def check_positive(name: str, value: Any) -> float:
    """Return `value` as a float; raise a ValueError unless it is finite and above 0."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    number = as_float(value) if is_number else math.nan
    if not 0 < number < math.inf:
        raise ValueError(f"{name} must be a finite number above 0; got {shown(value)}")
    return number


def shown(value: Any) -> str:
    """Return a value as text for a message, with a description of numbers over 80 digits.

    Examples
    --------
    >>> from sklearn_pate._numbers import shown
    >>> shown("x"), shown(10**400)
    ("'x'", 'a whole number of about 400 digits')
    """
    if type(value) in (list, tuple) and any(map(has_many_digits, value)):
        return f"[{', '.join(map(shown, value))}]"
    if not has_many_digits(value):
        return repr(value)
    kind = "whole number" if value.denominator == 1 else "fraction"
    return f"a {kind} of about {_n_digits(value)} digits"


def has_many_digits(value: Any) -> bool:
    """Return whether a value is a number that is too long for a message."""
    return isinstance(value, Rational) and _n_digits(value) > _MOST_SHOWN


def _n_digits(value: Rational) -> int:
    """Return the approximate number of digits, without `str`, which fails above 4300 digits."""
    largest = max(abs(int(value.numerator)), int(value.denominator))
    return int(largest.bit_length() * math.log10(2))


def first_names(names: Sequence[Any]) -> str:
    """Return a text with the first names of a list, and the number of other names."""
    more = f" and {len(names) - _N_NAMED} more" if len(names) > _N_NAMED else ""
    return f"{names[:_N_NAMED]}{more}"
