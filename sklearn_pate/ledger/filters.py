"""Privacy filters of a ledger, which add up the costs of fits."""

from __future__ import annotations

import math
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from .._numbers import as_float, check_positive, shown
from ..rdp import DEFAULT_ORDERS, gdp_to_epsilon, pure_to_gdp
from ..rdp.checks import check_delta
from ..rdp.conversion import conversion_penalty, epsilon_by_order
from ..rdp.cost import sum_up

if TYPE_CHECKING:
    from ..rdp.cost import Cost

#: Compositions that a ledger may have.
COMPOSITIONS = ("renyi", "gaussian", "pure")


class LedgerTerms(NamedTuple):
    """Terms of a ledger, fixed when its file is created; attributes as in `PrivacyLedger`."""

    epsilon: float
    delta: float
    composition: str
    reserved_delta: float


def checked_budget(epsilon: Any, delta: Any, composition: str, part: float | None) -> LedgerTerms:
    """Check the parameters of a ledger, and return its terms; `part` is `reserved_delta`."""
    epsilon = check_positive("epsilon", epsilon)
    delta = check_delta(delta)
    if composition not in COMPOSITIONS:
        raise ValueError(f"composition must be one of {COMPOSITIONS}; got {composition!r}")
    if part is None:
        part = delta if composition == "pure" else delta / 10
    set_aside = as_float(part) if isinstance(part, Real) else math.nan
    is_part = 0 <= set_aside <= delta
    # "pure" needs no delta for its filter; the other compositions need a part of delta
    if not is_part or (set_aside == delta and composition != "pure"):
        raise ValueError(
            f"reserved_delta is a part of delta={delta:g}: it must be at least 0 and below delta, "
            f"or at most delta with composition='pure'; got {shown(part)}"
        )
    return LedgerTerms(epsilon, delta, composition, set_aside)


class Filter(NamedTuple):
    """A privacy filter: the sum of costs in one measure.

    Attributes
    ----------
    kind : {"renyi", "gaussian", "pure"}
        The summed measure: Renyi costs at one order, squared Gaussian-DP parameters, or pure
        epsilons.
    order : float or None
        One of `rdp.DEFAULT_ORDERS` for "renyi", else None.
    delta : float
        Part of the ledger's delta that the filter uses; 0 for "pure".
    """

    kind: str
    order: float | None
    delta: float

    def amount(self, cost: Cost) -> float:
        """Return the amount that a cost adds to the sum."""
        if self.kind == "pure":
            return float(cost.pure)
        if self.kind == "gaussian":
            return float(min(cost.mu_squared, pure_to_gdp(float(cost.pure)) ** 2))
        return cost.rdp[self.order == DEFAULT_ORDERS].item()

    def epsilon(self, total: float) -> float:
        """Return the epsilon of a sum, at the filter's part of delta."""
        if self.kind == "pure":
            return total
        if self.kind == "gaussian":
            return gdp_to_epsilon(math.sqrt(total), self.delta)
        order = np.array([self.order], dtype=float)
        return float(epsilon_by_order([total], self.delta, order).item())


#: Relative excess over a budget that is allowed, because the costs of fits are rounded.
_ROUNDING = 1e-14

#: Fractions of delta for the Renyi filters, from the lowest order to the highest. Each is five
#: sixths of the remaining delta; the last is all of the remaining delta.
_PARTS = np.array([5 / 6, 5 / 36, 5 / 216, 5 / 1296, 1 / 1296])


def new_filters(budget: LedgerTerms) -> list[Filter]:
    """Return the filters of a new ledger, which depend on its budget alone."""
    delta_left = budget.delta - budget.reserved_delta
    pure = Filter("pure", None, 0.0)
    if budget.composition == "pure":
        return [pure]
    if budget.composition == "gaussian":
        return [Filter("gaussian", None, delta_left), pure]
    deltas = delta_left * _PARTS
    penalties = conversion_penalty(deltas[0], DEFAULT_ORDERS)
    # Costs of Gaussian noise are proportional to the order, and costs of small pure steps nearly so
    answers_paid_for = (budget.epsilon - penalties) / DEFAULT_ORDERS
    first_order = DEFAULT_ORDERS[np.argmax(answers_paid_for)]
    # Larger costs, such as costs of private searches, need higher orders, which need less delta
    requested = (first_order - 1) * 3.0 ** np.arange(len(_PARTS))
    distance = np.abs(np.log(DEFAULT_ORDERS - 1) - np.log(requested)[:, None])
    orders = DEFAULT_ORDERS[np.argmin(distance, axis=1)]
    renyi = [Filter("renyi", *part) for part in np.column_stack([orders, deltas]).tolist()]
    return [*renyi, pure]


def are_valid(filters: list[Filter], budget: LedgerTerms) -> bool:
    """Return whether filters have the kinds that a budget requires, and valid orders and deltas."""
    if [filter_.kind for filter_ in filters] != [filter_.kind for filter_ in new_filters(budget)]:
        return False
    for kind, order, delta in filters:
        has_order = order in DEFAULT_ORDERS if kind == "renyi" else order is None
        has_delta = isinstance(delta, float) and (delta == 0 if kind == "pure" else delta > 0)
        if not (has_order and has_delta):
            return False
    shared = sum(filter_.delta for filter_ in filters)
    return budget.reserved_delta + shared <= budget.delta * (1 + 1e-12)


def parts_of(cost: Cost) -> NDArray[np.float64]:
    """Return all numbers of a cost that a ledger records, as one array."""
    numbers = cost.mu_squared, cost.pure, cost.delta, cost.pure_part, cost.mu_squared_part
    return np.array([*np.ravel(cost.rdp), *numbers], dtype=float)


class Account(NamedTuple):
    """The costs of fits, added up by every filter of a ledger.

    Attributes
    ----------
    budget : LedgerTerms
        Budget of the ledger.
    filters : list
        Filters of the ledger.
    costs : list of Cost
        Cost of each fit.
    protected : tuple of two str
        The unit and the relation that all fits protect; both are None before the first fit.
    """

    budget: LedgerTerms
    filters: list[Filter]
    costs: list[Cost]
    protected: tuple[Any, Any] = (None, None)

    def epsilon(self) -> float:
        """Return the total epsilon of all costs; it exceeds the budget if no filter allows them.

        If there is only one fit, and no filter allows it, the result is the epsilon of this fit.
        """
        most = self.budget.reserved_delta * (1 + _ROUNDING)
        if sum_up(*(cost.delta for cost in self.costs)) > most:
            return math.inf
        epsilon = self._epsilon_of_filters()
        if len(self.costs) == 1 and epsilon > self.budget.epsilon:  # it takes the whole budget
            return self.epsilon_alone(self.costs[0])
        return epsilon

    def epsilon_alone(self, cost: Cost) -> float:
        """Return the epsilon of one fit by itself, at the ledger's delta.

        The smallest epsilon of all compositions and orders is not valid for a fit whose first
        release chose its later steps, which has a `Cost.stated`. Its epsilon is the stated one, or
        that of the filters if it states a larger delta. The filters, with limits that were fixed in
        advance, are valid for costs that depend on earlier releases.
        """
        # A pure cost needs only its own delta, which may be the whole delta of the ledger
        pure = float(cost.pure) if cost.delta <= self.budget.delta else math.inf
        if self.budget.composition == "pure":
            return pure
        epsilon, _ = cost.epsilon(self.budget.delta)
        if cost.stated is None:
            return min(epsilon, pure)
        return epsilon if epsilon < math.inf else self._replace(costs=[cost])._epsilon_of_filters()

    def _epsilon_of_filters(self) -> float:
        # The smallest is valid: all filters were fixed in advance, and delta is split among them
        return min(
            filter_.epsilon(sum_up(*map(filter_.amount, self.costs))) for filter_ in self.filters
        )

    def plus(self, cost: Cost) -> Self:
        """Return the account with one more fit."""
        return self._replace(costs=[*self.costs, cost])

    def pays_for(self, cost: Cost) -> bool:
        """Return whether the budget pays for one more fit, up to the rounding of floats.

        For example, ten fits with an epsilon of 0.1 are within a budget of 1, although the float
        0.1 is slightly larger than 1/10.
        """
        return self.plus(cost).epsilon() <= self.budget.epsilon * (1 + _ROUNDING)

    def totals(self) -> NDArray[np.float64]:
        """Return the number of fits, the sum of deltas and the sums of the filters.

        None of them decreases when a fit is added.
        """
        sums = [sum_up(*map(filter_.amount, self.costs)) for filter_ in self.filters]
        return np.array([len(self.costs), sum_up(*(cost.delta for cost in self.costs)), *sums])
