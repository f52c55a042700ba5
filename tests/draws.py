"""Whether samples follow a distribution, and noise that is the same whatever the table."""

import numpy as np
from scipy.stats import chisquare, poisson

from sklearn_pate.aggregators import LaplaceMechanism
from sklearn_pate.rdp import DEFAULT_ORDERS

#: P-value below which samples do not follow the expected distribution
BY_CHANCE = 1e-7


def assert_drawn_from(observed, proba):
    """Compare how often each outcome was drawn with its probability; join rare outcomes.

    It is wrong once in 10 million runs.
    """
    observed = np.asarray(observed, dtype=float)
    expected = observed.sum() * np.asarray(proba)
    is_common = expected >= 50
    rest, rest_expected = observed[~is_common].sum(), expected[~is_common].sum()
    observed, expected = observed[is_common], expected[is_common]
    if rest_expected >= 50:
        observed, expected = np.append(observed, rest), np.append(expected, rest_expected)
    else:
        assert poisson.sf(rest - 1, rest_expected) > BY_CHANCE
    if observed.size > 1:
        expected *= observed.sum() / expected.sum()
        assert chisquare(observed, expected).pvalue > BY_CHANCE


class Constant(LaplaceMechanism):
    """Costs what Laplace noise does, and releases the same whatever the table."""

    def noisy(self, table, random_state=None):
        return np.random.default_rng(0).normal(10, 5, np.shape(table)).round()

    def cost(self, contribution, orders=DEFAULT_ORDERS):
        return super().cost(contribution, orders)
