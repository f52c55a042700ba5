"""Privacy filters of a ledger, which add up the costs of fits."""

from __future__ import annotations

import math
from dataclasses import replace
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
    by_statement : bool
        Whether the epsilons and deltas of fits are added, instead of the amounts of the filters.
        See `with_rule_for`.

    Notes
    -----
    *One rule.* Let A be the runs in which the filters allow all fits, and B the runs in which only
    the sum of epsilons and deltas does. Each rule alone is (epsilon, delta)-DP. If a release of the
    first fit decides between them, the two bounds are added: for an event S,
    ``P(S) - exp(epsilon) Q(S)`` is at most delta in the part of S in A, and at most delta in its
    part in B, 2 delta together. (With a first release by randomised response, the part in A may use
    all of delta, because a Renyi cost is a mean that runs outside of A need not increase. The part
    in B then adds up to half of delta.) So the rule of a ledger is fixed by its first fit, before
    this fit releases anything, from numbers that no release changes: the budget, and the cost or
    the limit of the whole fit. All later records follow the same rule.

    *Sum of statements.* The epsilons and deltas of steps, each chosen after the releases of earlier
    steps, are a privacy filter: stop before the sum of either exceeds the budget (Rogers, Roth,
    Ullman, Vadhan 2016, basic composition; Dwork, Roth 2014, theorem 3.16).
    """

    budget: LedgerTerms
    filters: list[Filter]
    costs: list[Cost]
    protected: tuple[Any, Any] = (None, None)
    by_statement: bool = False

    def epsilon(self) -> float:
        """Return the total epsilon of all costs; it exceeds the budget if no filter allows them.

        If there is only one fit, and no filter allows it, the result is the epsilon of this fit.
        """
        if self.by_statement:
            stated = [self.statement_of(cost) for cost in self.costs]
            delta = sum_up(*(delta for _, delta in stated))
            is_within = delta <= self.budget.delta * (1 + _ROUNDING)
            return sum_up(*(epsilon for epsilon, _ in stated)) if is_within else math.inf
        most = self.budget.reserved_delta * (1 + _ROUNDING)
        if sum_up(*(cost.delta for cost in self.costs)) > most:
            return math.inf
        epsilon = self._epsilon_of_filters()
        if len(self.costs) == 1 and epsilon > self.budget.epsilon:  # it takes the whole budget
            return self.epsilon_alone(self.costs[0])
        return epsilon

    def statement_of(self, cost: Cost) -> tuple[float, float]:
        """Return the epsilon and the delta with which a cost counts if these are added.

        A cost that states none counts with its pure epsilon, or with its epsilon at all of the
        delta that the other fits have left, if that is smaller.
        """
        if cost.stated is not None:
            return cost.stated
        others = (other for other in self.costs if other is not cost)
        left = self.budget.delta - sum_up(*(self.statement_of(other)[1] for other in others))
        epsilon = cost.epsilon(left)[0] if left > 0 else math.inf
        return (float(cost.pure), cost.delta) if cost.pure <= epsilon else (epsilon, left)

    def with_rule_for(self, cost: Cost) -> Self:
        """Return an account without fits with the rule that the first steps of a fit fix.

        The rule is the sum of epsilons and deltas if no filter allows the whole fit, and this sum
        does. Otherwise, the rule is the filters. With them, a fit whose cost is fixed in advance
        and recorded at once may still take the whole budget, see `epsilon`.
        """
        whole = cost if cost.whole is None else cost.whole
        is_recorded_at_once = whole is cost and cost.stated is None
        if is_recorded_at_once or self.budget.composition == "pure":  # its one filter is a sum, too
            return self
        rule = self._replace(by_statement=True)
        is_allowed = self._replace(costs=[replace(whole, stated=None)]).filters_pay()
        return rule if not is_allowed and rule.pays_for(whole) else self

    def recorded(self, cost: Cost) -> Cost:
        """Return a cost as it is recorded in the account: with the statement by which it counts."""
        if self.by_statement:
            cost = replace(cost, stated=self.plus(cost).statement_of(cost))
        return replace(cost, whole=None)

    def filters_pay(self) -> bool:
        """Return whether a filter allows all costs, up to the rounding of floats."""
        most = self.budget.reserved_delta * (1 + _ROUNDING)
        delta = sum_up(*(cost.delta for cost in self.costs))
        return delta <= most and self._epsilon_of_filters() <= self.most_epsilon

    @property
    def most_epsilon(self) -> float:
        """Epsilon of the budget, with the excess that is allowed by the rounding of floats."""
        return self.budget.epsilon * (1 + _ROUNDING)

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
        return self.plus(cost).epsilon() <= self.most_epsilon

    def totals(self) -> NDArray[np.float64]:
        """Return the number of fits, the sum of deltas and the sums of the filters.

        None of them decreases when a fit is added.
        """
        sums = [sum_up(*map(filter_.amount, self.costs)) for filter_ in self.filters]
        return np.array([len(self.costs), sum_up(*(cost.delta for cost in self.costs)), *sums])
