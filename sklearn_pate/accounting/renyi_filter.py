"""A privacy filter at one Renyi order, which may stop queries before the last one."""

from dataclasses import replace

import numpy as np

from ..rdp import DEFAULT_ORDERS, Cost


class RenyiFilter:
    """A budget at one Renyi order, fixed in advance, for a random number of steps.

    The full cost of a query is set aside before the query; the unspent part is refunded.

    Parameters
    ----------
    order : float
        The Renyi order.
    limit : float
        Largest total cost.

    Notes
    -----
    Privacy filters for Renyi costs: Feldman, Zrnic (2021), Individual privacy accounting via a
    Renyi filter, NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_pate.accounting import RenyiFilter
    >>> budget = RenyiFilter(order=10.0, limit=1.0)
    >>> budget.allow(np.array([True, False, False, True, True]), check=0.1, answer=0.3)
    3
    """

    def __init__(self, order: float, limit: float) -> None:
        self.order = order
        self.limit = limit
        self.spent = 0.0

    def cost(self, total: Cost) -> Cost:
        """Return the cost of the queries that the filter allows.

        Costs grow with the order. The limit thus holds at orders up to the order of the filter; at
        larger orders, only the total holds.

        Parameters
        ----------
        total : Cost
            Cost of all planned queries.

        Returns
        -------
        Cost
            At most the total.
        """
        limits = np.where(self.order >= DEFAULT_ORDERS, self.limit, np.inf)
        return replace(total, rdp=np.minimum(limits, total.rdp))

    def allow(self, paid: np.ndarray, check: float, answer: float) -> int:
        """Spend the budget on the queries, in order, until it is used up.

        Parameters
        ----------
        paid : ndarray of shape (n_queries,), bool
            Whether the answer to each query has to be paid for.
        check, answer : float
            Costs of the two steps of a query.

        Returns
        -------
        int
            Number of queries within the budget.
        """
        n_answered = np.concatenate([[0], np.cumsum(paid)])
        spent = self.spent + check * np.arange(len(paid) + 1) + answer * n_answered
        # The cost of both steps is set aside before the check; a refund follows the query.
        # The sum over queries is rounded; the factor 1 - 1e-12 keeps it within the limit
        fits = spent[:-1] + check + answer <= self.limit * (1 - 1e-12)
        allowed = len(paid) if fits.all() else int(np.argmin(fits))
        self.spent = float(spent[allowed])
        return allowed
