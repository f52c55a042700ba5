"""What a search costs: of one fit, of one trial, and of the best of a random number of trials."""

import math

import numpy as np
from scipy.special import logsumexp

from ..rdp import DEFAULT_ORDERS, Cost, pure_rdp


def fit_rdp(plan):
    """Return the Renyi cost of one fit, by whichever way of counting is smallest at each order.

    Parameters
    ----------
    plan : Plan
        Of the fit.

    Returns
    -------
    ndarray of shape (n_orders,)
        At `rdp.DEFAULT_ORDERS`.

    Raises
    ------
    ValueError
        If the fit has a delta of its own, or no guarantee.
    """
    cost = plan.cost
    aggregator, _ = plan.stages[0]
    if cost.delta > 0:
        raise ValueError(
            f"{aggregator} with this accounting has a delta of its own, which the number of "
            "trials would multiply: neither StableArgmax nor accounting='ptr' can be tuned"
        )
    if not math.isfinite(plan.epsilon):
        raise ValueError(f"{aggregator} has no privacy guarantee. {aggregator.missing_facts()}")
    rdp = np.minimum(cost.rdp, DEFAULT_ORDERS * cost.mu_squared / 2)
    if cost.pure < 1e6:  # `pure_rdp` refuses inf, and so large a cost helps nobody
        rdp = np.minimum(rdp, pure_rdp(cost.pure, DEFAULT_ORDERS))
    return rdp


def search_cost(trials_rdp, count):
    """Return what a search costs.

    Parameters
    ----------
    trials_rdp : list of ndarray of shape (n_orders,)
        Renyi cost of one trial of each candidate, its score included.
    count : TrialCount
        The random number of trials.

    Returns
    -------
    Cost
        Of the best trial, with its score and its candidate.
    """
    return Cost(count.rdp(_mixture(trials_rdp), DEFAULT_ORDERS), mu_squared=math.inf, pure=math.inf)


def _mixture(trials_rdp):
    """Return the Renyi cost of one trial, whose candidate is drawn at random and published."""
    exponents = (DEFAULT_ORDERS - 1) * np.array(trials_rdp)
    log_mean = logsumexp(exponents, axis=0) - math.log(len(trials_rdp))
    return log_mean / (DEFAULT_ORDERS - 1)
