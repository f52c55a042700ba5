"""Total costs of queries in all additive measures, and the least noise within an epsilon."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Sequence, Sized
from dataclasses import dataclass, field, replace
from fractions import Fraction
from numbers import Rational
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

from .._numbers import as_float, check_positive
from .bounds import argmax_bounds, bounds_of
from .branches import branches_to_epsilon
from .checks import DEFAULT_ORDERS, check_count, check_delta, check_orders
from .conversion import (
    epsilon_by_order,
    gdp_mu,
    gdp_to_epsilon,
    pure_and_gdp_to_epsilon,
    pure_to_gdp,
)
from .noise import Gaussian
from .worst_case import worst_case

if TYPE_CHECKING:
    from ..aggregators.base import Mechanism
    from .bounds import PrivacyBounds
    from .noise import Noise


def data_independent_epsilon(
    aggregator: Mechanism,
    n_queries: int,
    delta: float,
    *,
    n_teachers: int | None = None,
    n_classes: int | None = None,
) -> tuple[float, str]:
    """Compute the data-independent epsilon of `n_queries` queries, answered or not.

    Parameters
    ----------
    aggregator : Aggregator
        The mechanism.
    n_queries : int
        Number of queries, fixed in advance. A query without an answer costs as much as any other.
    delta : float
        Delta of the guarantee, strictly between 0 and 1.
    n_teachers, n_classes : int, default=None
        Public numbers that make the cost of one query tighter; see `worst_case_rdp`.

    Returns
    -------
    epsilon : float
        The smallest epsilon of all known compositions; inf without a guarantee.
    method : {"gaussian", "renyi", "pure", "none"}
        The composition with this epsilon: the exact composition of Gaussian noise, the composition
        of the data-independent Renyi cost of one query, or the plain sum of pure epsilons; "none"
        if epsilon is 0 or inf. A mechanism with its own ``PrivacyBounds.total`` may also return
        "mixed", see `Cost.epsilon`.

    Examples
    --------
    >>> from sklearn_pate.aggregators import LNMax
    >>> from sklearn_pate.rdp import data_independent_epsilon
    >>> epsilon, method = data_independent_epsilon(LNMax(gamma=0.05), 100, 1e-5)
    >>> round(epsilon, 2), method
    (2.49, 'renyi')
    >>> public = {"n_teachers": 250, "n_classes": 2}
    >>> epsilon, method = data_independent_epsilon(LNMax(gamma=0.05), 100, 1e-5, **public)
    >>> round(epsilon, 2)
    2.13
    """
    n_queries = check_count("n_queries", n_queries, least=0)
    costs = total_cost(aggregator, n_teachers=n_teachers, n_classes=n_classes)
    return costs(n_queries).epsilon(delta)


@dataclass(frozen=True, eq=False)
class Cost:
    """Data-independent cost of a number of queries, in all additive measures.

    Attributes
    ----------
    rdp : ndarray of shape (n_orders,)
        Renyi cost at each order.
    mu_squared : float
        Squared Gaussian-DP parameter; inf if there is none.
    pure : float
        Pure epsilon; inf if there is none.
    delta : float
        Delta of these costs, which adds to the delta of each conversion.
    pure_part, mu_squared_part : float
        Pure epsilon and squared Gaussian-DP parameter of a partition of the steps. A step that has
        a Gaussian-DP parameter but no pure epsilon counts in `mu_squared_part`, any other step in
        `pure_part`.
    earlier : Cost or None
        With branches, the cost of all steps that do not belong to them; else None.
    branches : tuple of Cost
        Costs of the branches, one of which follows; see `worst_of`. Empty without branches. All
        other attributes hold for each branch, so a valid cost remains without `branches`.
    stated : tuple of float or None
        If earlier steps chose the number or the mechanism of later ones, the sums of the epsilons
        and of the deltas of the steps; else None. All other attributes are then for the steps that
        were chosen. They can be summed by a privacy filter, whose
        limit is fixed in advance, but their smallest epsilon is not a guarantee.
    whole : Cost or None
        If these are the first steps of a fit, the cost of all its steps, or a limit of it, fixed
        before the first release; else None. By it, a ledger fixes its rule; it is no cost itself.

    References
    ----------
    C. Dwork, A. Roth (2014), The algorithmic foundations of differential privacy, theorem 3.16
    (`stated`).

    Examples
    --------
    >>> from sklearn_pate.aggregators import GNMax
    >>> cost = GNMax(40.0).costs()(500)
    >>> epsilon, method = cost.epsilon(1e-5)
    >>> round(epsilon, 2), method
    (2.82, 'renyi')
    """

    rdp: NDArray[np.float64]
    mu_squared: float
    pure: float
    delta: float = 0.0
    pure_part: float = None  # type: ignore[assignment] # set below
    mu_squared_part: float = None  # type: ignore[assignment]
    earlier: Cost | None = field(default=None, repr=False, kw_only=True)
    branches: tuple[Cost, ...] = field(default=(), repr=False, kw_only=True)
    stated: tuple[float, float] | None = field(default=None, repr=False, kw_only=True)
    whole: Cost | None = field(default=None, repr=False, kw_only=True)

    def __post_init__(self) -> None:
        rdp = np.array(self.rdp, dtype=float)
        rdp.setflags(write=False)  # costs are cached, so they must not change
        object.__setattr__(self, "rdp", rdp)
        for name in ("mu_squared", "pure", "delta", "pure_part", "mu_squared_part"):
            number = getattr(self, name)
            if number is not None and not isinstance(number, float):
                object.__setattr__(self, name, rounded_up(number))
        if self.pure_part is None or self.mu_squared_part is None:
            is_gaussian = self.pure == math.inf and self.mu_squared < math.inf
            object.__setattr__(self, "pure_part", 0.0 if is_gaussian else self.pure)
            object.__setattr__(self, "mu_squared_part", self.mu_squared if is_gaussian else 0.0)

    def times(self, n_queries: int) -> Cost:
        """Return the cost of a number of queries."""
        n_queries = check_count("n_queries", n_queries, least=0)
        if n_queries == 0:  # 0 times inf is NaN
            return Cost(np.zeros_like(self.rdp), 0.0, 0.0)
        if n_queries == 1:
            return self
        numbers = [times_up(n_queries, number) for number in self._numbers()]
        stated = None
        if self.stated is not None:
            epsilon, delta = self.stated
            stated = times_up(n_queries, epsilon), times_up(n_queries, delta)
        return Cost(n_queries * self.rdp, *numbers, stated=stated)

    def plus(self, other: Cost) -> Cost:
        """Return the total cost of two steps; the second may depend on the release of the first.

        A step that is added to branches counts as earlier than them, in either order, which costs
        at least as much as any order of the steps. If both costs have branches, the total has
        none: it is the sum of all other attributes. A step without `stated` adds its pure epsilon
        to `stated` of the other; the total is then inf if the step has none.
        """
        numbers = list(map(sum_up, self._numbers(), other._numbers()))
        stated = None
        if self.stated is not None or other.stated is not None:
            pairs = [cost.stated or (cost.pure, cost.delta) for cost in (self, other)]
            epsilon, delta = (sum_up(*both) for both in zip(*pairs, strict=True))
            stated = epsilon, delta
        total = Cost(self.rdp + other.rdp, *numbers, stated=stated)
        if bool(self.branches) == bool(other.branches):
            return total
        chosen, rest = (self, other) if self.branches else (other, self)
        assert chosen.earlier is not None
        return replace(total, earlier=chosen.earlier.plus(rest), branches=chosen.branches)

    @classmethod
    def worst_of(cls, costs: Iterable[Cost]) -> Cost:
        """Return the cost of one of several steps, chosen by the release of earlier steps.

        Parameters
        ----------
        costs : iterable of Cost
            Cost of each step that may follow, at the same Renyi orders. All of them are fixed
            before the earlier release, or have these costs as limits. Each is the cost of the step
            alone, without earlier steps.

        Returns
        -------
        Cost
            Each attribute is the largest of all steps. `plus` adds the earlier steps; `epsilon` is
            then at least that of each path, the earlier steps and one branch. If one step has the
            largest of all measures, as with Gaussian noise in each, it alone determines the cost
            and there are no branches.

        Raises
        ------
        ValueError
            If there are no costs, or if their numbers of Renyi orders differ.

        Notes
        -----
        The largest epsilon of all paths is not a guarantee: the earlier release may lead to the
        step that is worst for its own privacy loss. `branches.branches_delta` has the formula and
        its proof. The Renyi costs, Gaussian-DP parameters and pure epsilons of paths have the
        largest of the branches, because each bounds the cost of a branch after any release. The
        delta of the costs is the largest as well: the part of the outcomes without a bound is at
        most the sum of the earlier delta and the delta of the branch that follows.

        The cost of a step that has branches itself is the sum of its other attributes, except where
        nothing precedes these branches.

        Examples
        --------
        >>> import math
        >>> from sklearn_pate.rdp import DEFAULT_ORDERS, Cost, pure_rdp, pure_to_gdp
        >>> first = Cost(0.00359 * DEFAULT_ORDERS, 0.00718, math.inf)
        >>> sums = Cost(0.03233 * DEFAULT_ORDERS, 0.06466, math.inf)
        >>> votes = Cost(pure_rdp(0.7244, DEFAULT_ORDERS), pure_to_gdp(0.7244) ** 2, 0.7244)
        >>> [round(first.plus(cost).epsilon(1e-5)[0], 3) for cost in (sums, votes)]
        [1.0, 1.0]
        >>> epsilon, composition = first.plus(Cost.worst_of([sums, votes])).epsilon(1e-5)
        >>> round(epsilon, 3), composition
        (1.025, 'branches')
        """
        flat: list[Cost] = []
        for cost in costs:
            if cost.earlier is None:
                flat.append(cost)
            elif max(*cost.earlier._numbers(), *cost.earlier.rdp) == 0:
                flat += cost.branches
            else:
                flat.append(replace(cost, earlier=None, branches=()))
        if not flat:
            raise ValueError("worst_of requires at least 1 cost; got none")
        if len({cost.rdp.shape for cost in flat}) > 1:
            raise ValueError("worst_of requires costs at the same Renyi orders")
        if any(cost.stated is not None for cost in flat):
            raise ValueError("worst_of requires costs without `stated`")
        measures = [np.array([*cost.rdp, *cost._numbers()]) for cost in flat]
        largest = np.max(measures, axis=0)
        n_orders = flat[0].rdp.size
        total = cls(largest[:n_orders], *largest[n_orders:].tolist())
        kept: list[Cost] = []
        for cost in flat:
            if not any(cost._is_covered_by(other) for other in kept):
                kept = [other for other in kept if not other._is_covered_by(cost)] + [cost]
        if len(kept) == 1:
            return total
        return replace(total, earlier=no_cost(total.rdp), branches=tuple(kept))

    def _is_covered_by(self, other: Cost) -> bool:
        """Return whether another cost is at least as large in all measures, except delta."""
        names = ("rdp", "mu_squared", "pure", "pure_part", "mu_squared_part")
        return all(np.all(getattr(self, name) <= getattr(other, name)) for name in names)

    def _numbers(self) -> tuple[float, ...]:
        """Return all costs except the Renyi costs, in the order of the fields."""
        return self.mu_squared, self.pure, self.delta, self.pure_part, self.mu_squared_part

    def epsilon(self, delta: float, orders: ArrayLike = DEFAULT_ORDERS) -> tuple[float, str]:
        """Return the smallest epsilon at `delta`, and the composition that it is from.

        Parameters
        ----------
        delta : float
            Delta of the guarantee, strictly between 0 and 1.
        orders : ndarray of shape (n_orders,), default=DEFAULT_ORDERS
            Orders of `rdp`.

        Returns
        -------
        epsilon : float
            Smallest epsilon of all compositions; inf if there is no guarantee at `delta`.
        method : {"gaussian", "renyi", "pure", "mixed", "branches", "sum", "none"}
            As in `data_independent_epsilon`. "mixed" is the exact composition of pure steps with
            Gaussian noise, "branches" the composition of earlier steps with the worst branch after
            each release, and "none" is returned if epsilon is 0 or inf. With `stated`, epsilon is
            its epsilon, and "sum" is returned; inf and "none" if `delta` is below its delta.
        """
        check_delta(delta)
        if self.stated is not None:
            epsilon, needed = self.stated
            epsilon = epsilon if needed <= delta else math.inf
            return epsilon, ("sum" if 0 < epsilon < math.inf else "none")
        # The delta of the costs adds to the delta of the conversion
        left = delta - self.delta
        if left <= 0:
            return math.inf, "none"
        # Each epsilon is valid and depends on public numbers alone, so the smallest is valid
        best = min(
            (gdp_to_epsilon(math.sqrt(self.mu_squared), left), "gaussian"),
            (self.pure, "pure"),
            (float(epsilon_by_order(self.rdp, left, orders).min()), "renyi"),
            (self._mixed_epsilon(left), "mixed"),
        )
        if self.earlier is not None:
            of_branches = branches_to_epsilon(
                left, earlier=self.earlier, branches=self.branches, orders=orders, enough=best[0]
            )
            best = min(best, (of_branches, "branches"))
        epsilon, method = best
        return epsilon, (method if 0 < epsilon < math.inf else "none")

    def _mixed_epsilon(self, delta: float) -> float:
        """Return the epsilon of pure and Gaussian steps together; inf if either kind is missing."""
        pure, mu_squared = self.pure_part, self.mu_squared_part
        if not (0 < pure < math.inf and 0 < mu_squared < math.inf):
            return math.inf
        return pure_and_gdp_to_epsilon(delta, pure=pure, mu=math.sqrt(mu_squared))


def no_cost(orders: Sized) -> Cost:
    """Return a `Cost` of zero, with one Renyi cost for each of `orders`."""
    return Cost(np.zeros(len(orders)), 0.0, 0.0)


def total_cost(
    aggregator: Mechanism,
    orders: ArrayLike = DEFAULT_ORDERS,
    *,
    n_teachers: int | None = None,
    n_classes: int | None = None,
) -> Callable[[int], Cost]:
    """Return a function that computes the data-independent `Cost` of a number of queries.

    Parameters
    ----------
    aggregator, n_teachers, n_classes
        As in `data_independent_epsilon`.
    orders : array-like of shape (n_orders,), default=DEFAULT_ORDERS
        Renyi orders, above 1.

    Returns
    -------
    callable
        Function of the number of queries, answered or not, that returns their `Cost`.
    """
    bounds = bounds_of(aggregator)
    orders = check_orders(orders)
    if bounds.total is None:
        public = {"n_teachers": n_teachers, "n_classes": n_classes}
        rdp, pure = worst_case(aggregator, bounds, orders, **public)
        return Cost(rdp, min(bounds.gdp_mu, pure_to_gdp(pure)) ** 2, pure).times
    cost_of_all = bounds.total(orders)
    return lambda n_queries: cost_of_all if n_queries else cost_of_all.times(0)


# --- sums and products as floats that are never below the exact values ---------------------------


def rounded_up(exact: Rational) -> float:
    """Convert a rational number to a float, rounded up; inf if it is above all floats."""
    nearest = as_float(exact)
    if math.isnan(nearest):  # beyond the largest float
        return math.inf
    return nearest if nearest >= exact else math.nextafter(nearest, math.inf)


def sum_up(*costs: float) -> float:
    """Return the sum of costs, rounded up; inf if a cost is inf.

    Examples
    --------
    >>> from sklearn_pate.rdp.cost import sum_up
    >>> 0.1 + 0.7, sum_up(0.1, 0.7)
    (0.7999999999999999, 0.8)
    """
    try:
        total = math.fsum(costs)  # the float nearest to the exact sum
    except OverflowError:  # beyond the largest float
        return math.inf
    if total == math.inf or math.fsum((*costs, -total)) <= 0:
        return total
    return math.nextafter(total, math.inf)


def times_up(number: int, cost: float) -> float:
    """Return a cost times a number, rounded up; inf if the cost is inf."""
    return math.inf if cost == math.inf else rounded_up(Fraction(float(cost)) * int(number))


# --- the least noise ------------------------------------------------------------------------------


#: Orders of a first search. Few orders are enough because epsilon varies little near the best one.
FEW_ORDERS = DEFAULT_ORDERS[::4]

#: Smallest noise scale that is tried.
LEAST_SCALE = 1e-15

#: Number of orders on each side of the best order in a refined search.
_NEAR = 8


def gnmax_sigma(
    epsilon: float,
    delta: float,
    n_queries: int,
    *,
    n_teachers: int | None = None,
    n_classes: int | None = None,
) -> float:
    """Compute the least noise with which `n_queries` GNMax answers cost `epsilon`.

    The cost is data-independent: it holds for all votes.

    Parameters
    ----------
    epsilon : float
        Total privacy loss, above 0.
    delta : float
        Delta of the guarantee, strictly between 0 and 1.
    n_queries : int
        Number of answers, fixed in advance.
    n_teachers, n_classes : int, default=None
        Public numbers that make the cost tighter; None means any number.

    Returns
    -------
    float
        Standard deviation of the noise on each vote count, in votes: the least value with a
        `data_independent_epsilon` of at most `epsilon`, to 1e-6 relative.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> from sklearn_pate.rdp import gnmax_sigma
    >>> round(gnmax_sigma(1.0, 1e-5, n_queries=20), 1)
    20.7
    """
    n_queries = check_count("n_queries", n_queries)
    public = {"n_teachers": n_teachers, "n_classes": n_classes}

    def cost_at(sigma: float, orders: NDArray[np.float64]) -> Cost:
        argmax: Any = _Argmax(Gaussian(sigma))
        return total_cost(argmax, orders, **public)(n_queries)

    return least_scale(cost_at, epsilon, delta)


def least_scale(
    cost_at: Callable[[float, NDArray[np.float64]], Cost],
    epsilon: float,
    delta: float,
    *,
    start: float | None = None,
) -> float:
    """Compute the least noise scale with a cost of at most `epsilon`.

    Parameters
    ----------
    cost_at : callable
        ``cost_at(scale, orders)`` returns the `Cost` with noise of this scale at these orders. The
        cost must not increase with the scale. It must be inf for a scale that is not valid.
    epsilon : float
        Total privacy loss, above 0.
    delta : float
        Delta of the guarantee, strictly between 0 and 1.
    start : float, default=None
        Scale at which the search starts. None starts at the scale at which the Gaussian or pure
        composition alone costs `epsilon`.

    Returns
    -------
    float
        The scale, to 1e-6 relative; its computed cost is at most `epsilon`. If every scale with a
        finite cost costs less than `epsilon`, the smallest such scale, at least 1e-15. inf if no
        scale up to 1e15 costs at most `epsilon`.

    Notes
    -----
    Epsilon at any set of orders is a guarantee, because the best order depends on public numbers
    alone. So the search uses a few orders near the best one, and is repeated until the best of all
    orders is among them.

    Examples
    --------
    >>> from sklearn_pate.aggregators import GNMax
    >>> from sklearn_pate.rdp import least_scale
    >>> scale = least_scale(lambda scale, orders: GNMax(scale).costs(orders)(20), 1.0, 1e-5)
    >>> round(scale, 1)
    20.7
    """
    epsilon = check_positive("epsilon", epsilon)
    delta = check_delta(delta)

    if start is None:
        start = max(_first_guess(cost_at, epsilon, delta), LEAST_SCALE)
    known = {}

    def cost_of(power: float, orders: NDArray[np.float64]) -> Cost:
        key = power, orders.tobytes()
        if key not in known:
            known[key] = cost_at(start * math.exp(power), orders)
        return known[key]

    # The 3e-7 is a margin: the last digits of a cost depend on the orders computed together
    log_aim = math.log(epsilon) - 3e-7

    # The search uses logarithms: log epsilon is nearly linear in the log of the scale
    def excess_by(orders: NDArray[np.float64]) -> Callable[[float], float]:
        def excess(power: float) -> float:
            reached, _ = cost_of(power, orders).epsilon(delta, orders)
            return math.log(min(max(reached, 1e-300), sys.float_info.max)) - log_aim

        return excess

    # Logarithms of the smallest and the largest scale that are tried, relative to the start
    lowest, highest = math.log(LEAST_SCALE / start), math.log(1e15 / start)
    high = 0.0
    near = orders_near_best(cost_of(high, FEW_ORDERS), delta)
    while excess_by(near)(high) > 0:
        high += 0.5
        if high > highest:
            return math.inf
        near = orders_near_best(cost_of(high, FEW_ORDERS), delta)
    while True:
        high = _where_it_fits(excess_by(near), high, lowest)
        best = _best_order(cost_of(high, DEFAULT_ORDERS), delta, DEFAULT_ORDERS)
        if high == lowest or best in near:
            return start * math.exp(high)
        near = _orders_near(best)


#: Powers that `least_scales` adds until the total cost is within epsilon.
_SLACK = (0.0, 1e-3, 1e-2, 0.1, 1.0)


def least_scales(
    prior_cost: Callable[[NDArray[np.float64]], Cost],
    branches: Sequence[Callable[[float, NDArray[np.float64]], Cost]],
    epsilon: float,
    delta: float,
) -> list[float]:
    """Compute the noise scale of each of several steps, one of which an earlier release chooses.

    Parameters
    ----------
    prior_cost : callable
        ``prior_cost(orders)`` returns the `Cost` of all earlier steps at these Renyi orders.
    branches : list of callable
        ``branch(scale, orders)`` returns the `Cost` of one step that may follow, without the
        earlier steps; see `least_scale`. Its own delta must not depend on the scale.
    epsilon : float
        Total privacy loss of the earlier steps and of the branches, above 0.
    delta : float
        Delta of the guarantee, strictly between 0 and 1.

    Returns
    -------
    list of float
        One scale for each branch. The cost of the earlier steps and of `Cost.worst_of` all branches
        is at most `epsilon`. All scales are inf if one branch has no scale with such a cost.

    Raises
    ------
    ValueError
        If there are no branches, or if `epsilon` or `delta` is out of range.

    Notes
    -----
    Each path by itself, the earlier steps and one branch, costs `epsilon` at the same fraction of
    delta. The fraction is the largest with which the total is within `epsilon`, to 1e-4 relative.
    It is 1 if one branch costs the most after any release, as with Gaussian noise in all branches.
    It is never below one over the number of branches, with which the total is always within
    `epsilon`: the largest of the curves is at most their sum, so the expectations in
    `branches.branches_delta` add up to at most delta.

    Examples
    --------
    >>> import math
    >>> from sklearn_pate.rdp import Cost, least_scales, pure_rdp, pure_to_gdp
    >>> def prior_cost(orders):
    ...     return Cost(0.00359 * orders, 0.00718, math.inf)
    >>> def sums(sigma, orders):
    ...     return Cost(orders / (2 * sigma**2), 1 / sigma**2, math.inf)
    >>> def votes(scale, orders):
    ...     return Cost(pure_rdp(1 / scale, orders), pure_to_gdp(1 / scale) ** 2, 1 / scale)
    >>> [round(scale, 2) for scale in least_scales(prior_cost, [sums, votes], 1.0, 1e-5)]
    [4.11, 1.41]
    """
    epsilon, delta = check_positive("epsilon", epsilon), check_delta(delta)
    if not branches:
        raise ValueError("branches must hold at least 1 function; got none")
    own_deltas = [branch(1.0, FEW_ORDERS[:1]).delta for branch in branches]
    prior = prior_cost(DEFAULT_ORDERS)
    left = delta - prior.delta - max(own_deltas)
    if not left > 0:
        return [math.inf] * len(branches)
    starts: list[float | None] = [None] * len(branches)
    known: dict[float, tuple[list[float], float]] = {}

    def scales_at(fraction: float) -> list[float]:
        """Return the scales with which each path costs `epsilon` at a fraction of delta."""
        for place, (branch, own_delta) in enumerate(zip(branches, own_deltas, strict=True)):

            def path(scale: float, orders: NDArray[np.float64], branch: Any = branch) -> Cost:
                return prior_cost(orders).plus(branch(scale, orders))

            part = prior.delta + own_delta + fraction * left
            scale = least_scale(path, epsilon, part, start=starts[place])
            if scale == math.inf:
                return [math.inf] * len(branches)
            starts[place] = scale
        return [start for start in starts if start is not None]

    def excess(power: float) -> float:
        """Return how far log epsilon is above its limit, at the fraction ``exp(-power)``."""
        if power not in known:
            scales = scales_at(math.exp(-power))
            reached = math.inf
            if math.inf not in scales:
                pairs = zip(branches, scales, strict=True)
                costs = [branch(scale, DEFAULT_ORDERS) for branch, scale in pairs]
                reached, _ = prior.plus(Cost.worst_of(costs)).epsilon(delta)
            known[power] = scales, math.log(max(reached, 1e-300)) - math.log(epsilon)
        return known[power][1]

    power = 0.0
    if excess(power) > 0:
        # The total is computed with rounding upwards, so it may exceed epsilon a little even here
        fewest = math.log(len(branches))
        found = (fewest + slack for slack in _SLACK if excess(fewest + slack) <= 0)
        lowest = next(found, math.inf)
        if lowest == math.inf:  # no scale costs so little
            return [math.inf] * len(branches)
        tolerance = 1e-4
        power = brentq(lambda x: min(excess(x), 1.0), 0.0, lowest, xtol=tolerance)
        while excess(power) > 0:  # the computed root may lie on either side
            power = min(power + tolerance, lowest)
    return known[power][0]


def orders_near_best(cost: Cost, delta: float) -> NDArray[np.float64]:
    """Return the orders around the best order of a cost at `FEW_ORDERS`."""
    return _orders_near(_best_order(cost, delta, FEW_ORDERS))


def _best_order(cost: Cost, delta: float, orders: NDArray[np.float64]) -> float:
    return orders[np.argmin(epsilon_by_order(cost.rdp, delta, orders))]


def _orders_near(order: float) -> NDArray[np.float64]:
    place = int(np.searchsorted(DEFAULT_ORDERS, order))
    return DEFAULT_ORDERS[max(place - _NEAR, 0) : place + _NEAR + 1]


def _where_it_fits(excess: Callable[[float], float], high: float, lowest: float) -> float:
    """Search downwards for the least number at which `excess` is at most 0, to 2e-7.

    If only one noise scale is calibrated, the excess has a slope between -1 and -2.
    """
    step = min(1e-3 - 1.05 * excess(high), 1)
    low = max(high - step, lowest)
    while excess(low) <= 0:
        if low == lowest:
            return low
        high = low
        step *= 2
        low = max(low - step, lowest)
    if excess(high) >= 0:  # possible in the last digits
        return high
    root = brentq(excess, low, high, xtol=2e-7)
    while excess(root) > 0:  # the computed root may be slightly too small
        root += 2e-7
    return min(root, high)


def _first_guess(
    cost_at: Callable[[float, NDArray[np.float64]], Cost], epsilon: float, delta: float
) -> float:
    """Return a sufficient scale if `mu`, or else pure epsilon, is proportional to 1 / scale."""
    at_one = cost_at(1.0, np.array([2.0]))  # only the Renyi cost depends on the order
    if 0 < at_one.mu_squared < math.inf:
        enough = math.sqrt(at_one.mu_squared) / gdp_mu(epsilon, delta)
    elif 0 < at_one.pure < math.inf:
        enough = at_one.pure / epsilon
    else:
        enough = 1.0
    return enough * (1 + 1e-9)  # so that rounding does not make it too small


class _Argmax:
    """A noisy argmax with only the attributes of an aggregator that determine its cost."""

    uses_student_proba = False

    def __init__(self, noise: Noise) -> None:
        self._noise = noise

    def outcome_log_proba(
        self, votes: ArrayLike, student_proba: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        return self._noise.log_argmax(votes)

    def bounds(self) -> PrivacyBounds:
        return argmax_bounds(self._noise)


def bisect(holds: Callable[[Any], Any], low: Any, high: Any, n_steps: int = 45) -> tuple[Any, Any]:
    """Find the largest number at which a condition holds, by bisection.

    Parameters
    ----------
    holds : callable
        ``holds(x)`` returns whether the condition holds at `x`, a float or an array of the shape of
        `low`.
    low : float or ndarray
        Number at which the condition holds.
    high : float or ndarray
        Number at which the condition does not hold.
    n_steps : int, default=45
        Number of halvings of the distance between `low` and `high`; 45 halvings reduce it to a
        fraction of 3e-14.

    Returns
    -------
    low, high : float or ndarray
        The narrowed bounds. Use the bound that is on the safe side.

    Examples
    --------
    >>> from sklearn_pate.rdp.cost import bisect
    >>> low, high = bisect(lambda x: x**2 <= 2, 0.0, 2.0)
    >>> bool(low <= 2**0.5 <= high), round(float(low), 6)
    (True, 1.414214)
    """
    for _ in range(n_steps):
        middle = (low + high) / 2
        fits = holds(middle)
        low = np.where(fits, middle, low)
        high = np.where(fits, high, middle)
    return low[()], high[()]
