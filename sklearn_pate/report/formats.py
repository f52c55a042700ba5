"""Numbers as text; numbers of guarantees and forecasts are rounded conservatively."""

import math
from decimal import ROUND_CEILING, Context, Decimal


def text_rounded_up(epsilon: float, n_decimals: int = 3) -> str:
    """Format a number with at most `n_decimals` decimals, never rounded down.

    Parameters
    ----------
    epsilon : float
        The number.
    n_decimals : int, default=3
        Largest number of decimals; trailing zeros are omitted.

    Returns
    -------
    str

    Examples
    --------
    >>> from sklearn_pate.report.formats import text_rounded_up
    >>> text_rounded_up(0.98001), text_rounded_up(2.0)
    ('0.981', '2')
    """
    if not math.isfinite(epsilon):
        return str(epsilon)
    exact = Decimal(repr(float(epsilon)))
    # A float has up to 309 digits before the point, and quantize does not drop any of them
    text = f"{exact.quantize(Decimal(10) ** -n_decimals, ROUND_CEILING, Context(prec=400)):f}"
    return text.rstrip("0").rstrip(".")


def percent(share: float) -> str:
    """Format a fraction as a percentage, rounded down.

    Parameters
    ----------
    share : float
        Number in [0, 1].

    Returns
    -------
    str

    Examples
    --------
    >>> from sklearn_pate.report.formats import percent
    >>> percent(0.999)
    '99%'
    """
    return f"{math.floor(share * 100 + 1e-9)}%"


def number(value: float) -> str:
    """Format a number with three significant digits, or as an integer if it rounds to 1000 or more.

    Parameters
    ----------
    value : float
        The number.

    Returns
    -------
    str

    Examples
    --------
    >>> from sklearn_pate.report.formats import number
    >>> number(0.12345), number(999.9), number(12345.6)
    ('0.123', '1,000', '12,346')
    """
    return f"{value:,.0f}" if abs(value) >= 999.5 else f"{value:.3g}"


def factor(epsilon: float) -> str:
    """Format exp(epsilon), rounded down to one or two significant digits.

    It is the largest factor by which one unit can change the probability of an outcome.

    Parameters
    ----------
    epsilon : float
        Epsilon of a guarantee, at least 1.

    Returns
    -------
    str

    Examples
    --------
    >>> from sklearn_pate.report.formats import factor
    >>> factor(1.2), factor(10.18), factor(100.0)
    ('3.3', '26,000', '10^43')
    """
    power = math.floor(epsilon / math.log(10))
    if power == 0:
        return f"{math.floor(math.exp(epsilon) * 10) / 10:g}"  # 33 * 0.1 is not 3.3
    if power < 6:
        return f"{math.floor(math.exp(epsilon) / 10 ** (power - 1)) * 10 ** (power - 1):,}"
    return f"10^{power}"


def joined(*sentences: str) -> str:
    """Join sentences with spaces, and skip empty ones.

    Parameters
    ----------
    *sentences : str
        Sentences, or empty strings.

    Returns
    -------
    str

    Examples
    --------
    >>> from sklearn_pate.report.formats import joined
    >>> joined("One.", "", "Two.")
    'One. Two.'
    """
    return " ".join(filter(None, sentences))
