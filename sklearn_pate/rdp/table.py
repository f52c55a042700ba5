"""What noise on every entry of a table costs, when one protected unit changes few ballots of it.

Ballots are counted in shares. One unit changes at most `n_changed` ballots, each in an entry of
its own: no entry moves by more than 1, and all together move by `n_changed`. The costs of Laplace
and Gaussian noise on one entry are convex functions of how far it moves, and 0 at 0. So no table
costs more than one in which `n_changed` entries move by 1.
"""

import math
from fractions import Fraction

import numpy as np

from .checks import DEFAULT_ORDERS, check_count, check_orders, check_positive
from .conversion import pure_to_gdp
from .cost import Cost, rounded_up
from .discrete import discrete_gaussian_mu_squared
from .published import pure_rdp

#: Discrete noise, and shares of ballots, are whole multiples of this.
GRID = 2.0**-20


def laplace_table_cost(scale, n_changed, orders=DEFAULT_ORDERS, *, discrete=True):
    """Cost of Laplace noise on every entry of a table.

    Parameters
    ----------
    scale : float
        Of the noise, in ballots.
    n_changed : int
        Ballots that one protected unit changes at most.
    orders : array-like of shape (n_orders,), default=DEFAULT_ORDERS
        Renyi orders, above 1.
    discrete : bool, default=True
        Whether the noise is discrete, on the multiples of `GRID`.

    Returns
    -------
    Cost
        Pure epsilon ``n_changed / scale``. Its Renyi cost is exact for a table in which that many
        entries move by 1; it is rounded up by what floating point may hide.

    Notes
    -----
    Continuous noise: Mironov (2017), Proposition 6. Discrete noise of inverse scale `g` in steps
    of `GRID`, on an entry that moves by `s` steps: with ``q = exp(-g)`` and ``w = q**(2a - 1)``,
    the sum of ``P**a Q**(1 - a)`` is a geometric series on each side and one between, together
    ``((1 - q w) exp((a - 1) g s) + (q - w) exp(-a g s)) / ((1 + q) (1 - w))``. Both logarithms are
    convex in the distance, and 0 at 0.

    Examples
    --------
    >>> from sklearn_pate.rdp.table import laplace_table_cost
    >>> cost = laplace_table_cost(scale=8.0, n_changed=2)
    >>> cost.pure
    0.25
    """
    orders = check_orders(orders)
    scale = check_positive("scale", scale)
    n_changed = check_count("n_changed", n_changed)
    pure = rounded_up(n_changed * Fraction(1 / scale))  # the noise is drawn with 1 / scale
    one_entry = _discrete_shift(scale, orders) if discrete else _continuous_shift(scale, orders)
    hidden = 2e-14 / (orders - 1)  # by logarithms that cancel
    rdp = np.minimum(pure_rdp(pure, orders), n_changed * (one_entry * (1 + 1e-12) + hidden))
    return Cost(rdp, pure_to_gdp(pure) ** 2, pure)


def _continuous_shift(scale, orders):
    """Renyi divergence of Laplace noise from the same, moved by 1."""
    up = np.log(orders / (2 * orders - 1)) + (orders - 1) / scale
    down = np.log((orders - 1) / (2 * orders - 1)) - orders / scale
    return np.logaddexp(up, down) / (orders - 1)


def _discrete_shift(scale, orders):
    """The same of discrete Laplace noise on the multiples of `GRID`."""
    g = GRID / scale
    log_w = -(2 * orders - 1) * g
    log_norm = np.log1p(math.exp(-g)) + np.log(-np.expm1(log_w))
    up = np.log(-np.expm1(log_w - g)) + (orders - 1) / scale
    down = -g + np.log(-np.expm1(log_w + g)) - orders / scale
    return (np.logaddexp(up, down) - log_norm) / (orders - 1)


def gaussian_table_cost(sigma, n_changed, orders=DEFAULT_ORDERS, *, discrete=True):
    """Cost of Gaussian noise on every entry of a table.

    Parameters
    ----------
    sigma : float
        Standard deviation of the noise, in ballots.
    n_changed, orders, discrete
        As in `laplace_table_cost`.

    Returns
    -------
    Cost
        Renyi cost ``a n_changed / (2 sigma**2)``, and Gaussian DP: ``n_changed / sigma**2``, for
        discrete noise ``n_changed / (sigma**2 - (2 * GRID)**2)``, inf without a guarantee.

    Notes
    -----
    Discrete noise: Canonne, Kamath, Steinke (2020), Proposition 5, for each entry, and
    `discrete_gaussian_mu_squared`.

    Examples
    --------
    >>> from sklearn_pate.rdp.table import gaussian_table_cost
    >>> gaussian_table_cost(sigma=10.0, n_changed=2, orders=[5.0]).rdp
    array([0.05])
    """
    orders = check_orders(orders)
    sigma = check_positive("sigma", sigma)
    n_changed = check_count("n_changed", n_changed)
    mu_squared = n_changed / sigma**2
    rdp = orders * mu_squared / 2
    if discrete:
        squares = n_changed * round(1 / GRID) ** 2
        mu_squared = discrete_gaussian_mu_squared([sigma / GRID], [squares])
    return Cost(rdp, mu_squared, math.inf)
