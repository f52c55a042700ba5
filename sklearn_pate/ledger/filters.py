"""The arithmetic of a ledger: ways of adding up costs, fixed in advance."""

import math
from dataclasses import dataclass
from numbers import Real
from typing import ClassVar, NamedTuple

import numpy as np

from ..rdp import DEFAULT_ORDERS, gdp_mu, gdp_to_epsilon, pure_to_gdp
from ..rdp.conversion import conversion_penalty, epsilon_by_order
from ..rdp.cost import sum_up

#: Ways of adding up that a ledger may have.
COMPOSITIONS = ("renyi", "gaussian", "pure")


class Budget(NamedTuple):
    """What is fixed when the file of a ledger is made; attributes as in `PrivacyLedger`."""

    epsilon: float
    delta: float
    composition: str
    failure_probability: float

    def described(self, other):
        """Return epsilon and delta as text, and what else differs from another budget."""
        texts = [f"epsilon={self.epsilon:g}", f"delta={self.delta:g}"]
        if self.composition != other.composition:
            texts.append(f"composition={self.composition!r}")
        if self.failure_probability != other.failure_probability:
            texts.append(f"failure_probability={self.failure_probability:g}")
        return ", ".join(texts)


def check_failure_probability(value, delta, composition):
    """Return the part of delta for fits with a delta of their own; None is the default."""
    if value is None:
        return delta if composition == "pure" else delta / 10
    # "pure" adds up without a delta; the other compositions need some of it
    may_be_all = composition == "pure"
    is_part = isinstance(value, Real) and 0 <= value <= delta
    if not is_part or (value == delta and not may_be_all):
        most = "at most" if may_be_all else "below"
        raise ValueError(
            f"failure_probability is a part of delta={delta:g}: it must be at least 0 and {most} "
            f"that; got {value!r}"
        )
    return float(value)


@dataclass(frozen=True)
class RenyiFilter:
    """Adds up Renyi costs at one order.

    Attributes
    ----------
    order : float
        One of `rdp.DEFAULT_ORDERS`.
    delta : float
        Its part of delta.
    """

    order: float
    delta: float
    kind: ClassVar[str] = "renyi"

    def amount(self, cost):
        """Return what is added up for a cost."""
        (index,) = np.flatnonzero(self.order == DEFAULT_ORDERS)
        return float(cost.rdp[index])

    def epsilon(self, total):
        """Return the epsilon, at its part of delta, of what was added up."""
        return float(epsilon_by_order([total], self.delta, [self.order]).item())

    def limit(self, epsilon):
        """Return the most that may be added up within an epsilon."""
        return epsilon - conversion_penalty(self.delta, [self.order]).item()


@dataclass(frozen=True)
class GaussianFilter:
    """Adds up squared Gaussian-DP parameters.

    Attributes
    ----------
    delta : float
        Its part of delta.
    """

    delta: float
    kind: ClassVar[str] = "gaussian"
    order: ClassVar[None] = None

    def amount(self, cost):
        """Return what is added up for a cost."""
        return float(min(cost.mu_squared, pure_to_gdp(float(cost.pure)) ** 2))

    def epsilon(self, total):
        """Return the epsilon, at its part of delta, of what was added up."""
        return gdp_to_epsilon(math.sqrt(total), self.delta)

    def limit(self, epsilon):
        """Return the most that may be added up within an epsilon."""
        return gdp_mu(epsilon, self.delta) ** 2


@dataclass(frozen=True)
class PureFilter:
    """Adds up pure epsilons; it needs no delta."""

    kind: ClassVar[str] = "pure"
    order: ClassVar[None] = None
    delta: ClassVar[float] = 0.0

    def amount(self, cost):
        """Return what is added up for a cost."""
        return float(cost.pure)

    def epsilon(self, total):
        """Return the epsilon of what was added up."""
        return total

    def limit(self, epsilon):
        """Return the most that may be added up within an epsilon."""
        return epsilon


#: What sums may lie above a budget, as a part of it: what the numbers of the fits are rounded by.
_ROUNDING = 1e-14

#: Parts of delta of the Renyi orders, from the lowest: each takes five sixths of what is left, the
#: last all of it.
_PARTS = np.array([5 / 6, 5 / 36, 5 / 216, 5 / 1296, 1 / 1296])


def new_filters(budget):
    """Return the filters of a new ledger: they follow from public numbers, never from an entry."""
    delta_left = budget.delta - budget.failure_probability
    if budget.composition == "pure":
        return [PureFilter()]
    if budget.composition == "gaussian":
        return [GaussianFilter(delta_left), PureFilter()]
    deltas = delta_left * _PARTS
    orders = _renyi_orders(budget.epsilon, deltas[0])
    return [*map(RenyiFilter, orders.tolist(), deltas.tolist()), PureFilter()]


def _renyi_orders(epsilon, first_delta):
    """Return the orders that Renyi costs are added up at, one for each part of delta."""
    # Gaussian noise costs in proportion to the order, and small pure steps nearly so
    answers_paid_for = (epsilon - conversion_penalty(first_delta, DEFAULT_ORDERS)) / DEFAULT_ORDERS
    first_order = DEFAULT_ORDERS[np.argmax(answers_paid_for)]
    # Larger costs, private searches among them, need higher orders; there little delta is enough
    wanted = (first_order - 1) * 3.0 ** np.arange(len(_PARTS))
    distance = np.abs(np.log(DEFAULT_ORDERS - 1) - np.log(wanted)[:, None])
    return DEFAULT_ORDERS[np.argmin(distance, axis=1)]


def epsilon_alone(cost, budget):
    """Return the epsilon of one fit by itself, at the ledger's delta."""
    # A pure cost needs no delta but its own, even where that is all there is
    pure = float(cost.pure) if cost.delta <= budget.delta else math.inf
    if budget.composition == "pure":
        return pure
    epsilon, _ = cost.epsilon(budget.delta)
    return min(epsilon, pure)


@dataclass(frozen=True)
class Account:
    """The costs of fits, added up by every filter of a ledger.

    Attributes
    ----------
    budget : Budget
        What they may cost together.
    filters : list
        The filters that were fixed when the ledger was made.
    costs : list of Cost
        Those of the fits, in order.
    amounts : list of list of float
        What each filter adds up of each cost.
    """

    budget: Budget
    filters: list
    costs: list
    amounts: list

    @classmethod
    def of_costs(cls, budget, filters, costs):
        """Return the account of some costs."""
        amounts = [[filter_.amount(cost) for cost in costs] for filter_ in filters]
        return cls(budget, filters, costs, amounts)

    def first(self, n_fits):
        """Return the account of the first few fits."""
        # Cut, not computed again: a history has one account for each fit
        amounts = [filter_amounts[:n_fits] for filter_amounts in self.amounts]
        return Account(self.budget, self.filters, self.costs[:n_fits], amounts)

    def plus(self, cost):
        """Return the account with one more fit."""
        with_cost = [
            [*filter_amounts, filter_.amount(cost)]
            for filter_, filter_amounts in zip(self.filters, self.amounts, strict=True)
        ]
        return Account(self.budget, self.filters, [*self.costs, cost], with_cost)

    def epsilon(self):
        """Return the epsilon of all costs; above the budget's if no filter allows them."""
        if not self.costs:
            return 0.0
        most = self.budget.failure_probability * (1 + _ROUNDING)
        if sum_up(*(cost.delta for cost in self.costs)) > most:
            return math.inf
        # The smallest is valid: all filters were fixed in advance, and delta is dealt out to them
        epsilon = min(filter_.epsilon(total) for filter_, total in self._totals())
        is_only_fit = len(self.costs) == 1
        if is_only_fit and epsilon > self.budget.epsilon:  # it takes the whole budget
            return epsilon_alone(self.costs[0], self.budget)
        return epsilon

    def is_within_budget(self):
        """Return whether the budget pays for all costs, but for the rounding of floats.

        Ten floats of 0.1, each of which is a little more than a tenth, are within 1.
        """
        return bool(self.epsilon() <= self.budget.epsilon * (1 + _ROUNDING))

    def share(self):
        """Return the part of the budget that is used up, from 0 to 1."""
        shares = [1.0]  # all, where a first fit went beyond every filter
        for filter_, total in self._totals():
            limit = filter_.limit(self.budget.epsilon)
            if limit > 0:
                shares.append(total / limit)
        return min(shares)

    def _totals(self):
        """Return pairs of a filter and what it has added up."""
        totals = [sum_up(*filter_amounts) for filter_amounts in self.amounts]
        return zip(self.filters, totals, strict=True)
