"""A privacy filter at one Renyi order, which may stop queries before the last one."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..rdp import DEFAULT_ORDERS, Cost


class RenyiFilter:
    """A privacy filter at one Renyi order, for a number of queries that depends on the votes.

    The order and the limit are fixed in advance. The full cost of a query is reserved before the
    query; the unspent part is refunded.

    Parameters
    ----------
    order : float
        The Renyi order.
    limit : float
        Largest total Renyi cost at this order.

    Notes
    -----
    Privacy filters for Renyi costs are due to Feldman, Zrnic (2021), Individual privacy accounting
    via a Renyi filter, NeurIPS.

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

        Costs increase with the order. The limit is thus a bound at orders up to the order of the
        filter; at larger orders, only the total is a bound.

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

    def allow(self, paid: np.ndarray, check: float, answer: float | Sequence[float]) -> int:
        """Spend the budget on the queries, in order, until it does not cover the next one.

        Parameters
        ----------
        paid : ndarray of shape (n_queries,) or (n_queries, n_targets), bool
            Whether each query has the cost of an answer, in addition to the cost of the check. For
            several targets, whether the query of each target has it.
        check : float
            Renyi cost of the check of a query, at `order`; for several targets, of all checks.
        answer : float or sequence of float
            Renyi cost of an answer, at `order`; for several targets, of an answer for each.

        Returns
        -------
        int
            Number of queries within the budget.
        """
        answers = np.atleast_1d(answer)
        n_answered = np.zeros((len(paid) + 1, answers.size))
        n_answered[1:] = np.cumsum(np.reshape(paid, (len(paid), answers.size)), axis=0)
        spent = self.spent + check * np.arange(len(paid) + 1) + n_answered @ answers
        # The cost of both steps is reserved before the check; a refund follows the query.
        # The sum over queries is rounded; the factor 1 - 1e-12 keeps it within the limit
        fits = spent[:-1] + check + answers.sum() <= self.limit * (1 - 1e-12)
        allowed = len(paid) if fits.all() else int(np.argmin(fits))
        self.spent = float(spent[allowed])
        return allowed
