"""A budget that stops the queries, where the votes decide what each of them costs."""

from dataclasses import replace

import numpy as np

from ..rdp import DEFAULT_ORDERS
from ..rdp.conversion import conversion_penalty


class RenyiFilter:
    """A budget at one Renyi order, fixed in advance, for steps whose number is an outcome.

    The whole cost of a query is set aside before it is asked; what was not spent is refunded.

    Parameters
    ----------
    order : float
        The order.
    limit : float
        Largest total cost.

    Notes
    -----
    Privacy filters for Renyi costs: Feldman, Zrnic (2021), Individual privacy accounting via a
    Renyi filter, NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_pate.accountant import RenyiFilter
    >>> budget = RenyiFilter(order=10.0, limit=1.0)
    >>> budget.allow(np.array([True, False, False, True, True]), check=0.1, answer=0.3)
    3
    """

    def __init__(self, order, limit):
        self.order = order
        self.limit = limit
        self.spent = 0.0

    def cost(self, total):
        """Cost of what the filter lets through.

        Costs grow with the order: up to the filter's own, its limit holds; above, only the total.

        Parameters
        ----------
        total : Cost
            Of all queries that could be asked.

        Returns
        -------
        Cost
            At most the total.
        """
        within = self.order >= DEFAULT_ORDERS
        rdp = np.where(within, np.minimum(self.limit, total.rdp), total.rdp)
        return replace(total, rdp=rdp)

    def allow(self, paid, check, answer):
        """Spend on as many of the queries, in order, as the budget pays for.

        Parameters
        ----------
        paid : ndarray of shape (n_queries,), bool
            Whether the answer of each query, if asked, is paid for.
        check, answer : float
            Cost of the two steps of a query.

        Returns
        -------
        int
            How many were asked.
        """
        n_asked = np.arange(len(paid) + 1)
        n_answered = np.concatenate([[0], np.cumsum(paid)])
        spent = self.spent + check * n_asked + answer * n_answered
        # Both steps are set aside, whatever the check will say: a refund comes after the query.
        # The sum over queries is rounded; 1e-12 keeps it from passing the limit
        fits = spent[:-1] + check + answer <= self.limit * (1 - 1e-12)
        allowed = len(paid) if fits.all() else int(np.argmin(fits))
        self.spent = float(spent[allowed])
        return allowed


def best_filter(aggregators, epsilon, delta, sizes, before=0.0):
    """Return the filter at the order that pays for most answers of the first stage.

    Parameters
    ----------
    aggregators : list of Aggregator
        The stages.
    epsilon, delta : float
        The cap.
    sizes : dict
        `n_teachers` and `n_classes`.
    before : ndarray of shape (n_orders,), default=0.0
        Renyi cost, at each of `rdp.DEFAULT_ORDERS`, of what is released before.

    Returns
    -------
    RenyiFilter or None
        None if at no order the limit pays for one query of each stage.
    """
    steps = [stage.steps(DEFAULT_ORDERS, **sizes) for stage in aggregators]
    if any(step is None for step in steps):
        return None
    limit = epsilon - conversion_penalty(delta, DEFAULT_ORDERS)
    # Less, so that rounding the epsilon of the filter cannot pass the cap
    limit = (limit - before) * (1 - 1e-9)
    one_of_each = sum(check + answer for check, answer in steps)
    # An order counts only if no stage would be planned in vain
    n_answers = np.where(limit >= one_of_each, limit / sum(steps[0]), 0)
    best = int(np.argmax(n_answers))
    if n_answers[best] == 0:
        return None
    return RenyiFilter(float(DEFAULT_ORDERS[best]), float(limit[best]))
