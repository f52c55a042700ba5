"""Tables of the fair table, without images, and made-up tables with two classes."""

from functools import partial

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from ..peers.tables import TABLES as PEERS
from ..peers.tables import Table

N_PRIVATE, N_PUBLIC, N_TEST = 12_000, 3000, 8000
KINDS = ("additive", "skewed", "bend", "product")
SHARES = (0.02, 0.04, 0.06, 0.1, 0.2, 0.4)
N_COLUMNS = (6, 20)


def made_up(kind, share, n_columns, seed):
    """Draw a table whose second class has this share of the rows.

    The log odds are a sum of columns ("additive"; of logarithms of columns, "skewed"), a sum of
    their absolute values ("bend"), or the sign of a product of two columns ("product").
    """
    rng = np.random.default_rng([seed, n_columns, round(share * 1000), KINDS.index(kind)])
    Z = rng.normal(size=(N_PRIVATE + N_PUBLIC + N_TEST, n_columns))
    weight = np.random.default_rng(n_columns).normal(size=n_columns) * 1.6 / np.sqrt(n_columns)
    if kind == "bend":
        score = 1.7 * (np.abs(Z) - 0.8) @ weight
    elif kind == "product":
        score = 1.8 * np.sign(Z[:, 0] * Z[:, 1])
    else:
        score = Z @ weight
    constant = brentq(lambda constant: expit(score + constant).mean() - share, -20, 20)
    y = (rng.random(len(Z)) < expit(score + constant)).astype(int)
    X = np.exp(Z) if kind == "skewed" else Z
    private, public, test = np.split(np.arange(len(X)), [N_PRIVATE, N_PRIVATE + N_PUBLIC])
    return Table(X[private], y[private], X[public], X[test], y[test])


MADE_UP = {
    f"{kind}, {share:.0%}, {n_columns} columns": partial(made_up, kind, share, n_columns)
    for kind in KINDS
    for share in SHARES
    for n_columns in N_COLUMNS
}
NAMES = [*(name for name in PEERS if name != "MNIST pixels"), *list(MADE_UP)[::3]]
TABLES = {name: (PEERS | MADE_UP)[name] for name in NAMES}
