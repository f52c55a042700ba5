"""What queries cost together: data-independent costs in all the ways that add up."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from .checks import DEFAULT_ORDERS, check_count, check_delta, check_orders
from .conversion import epsilon_by_order, gdp_to_epsilon, pure_and_gdp_to_epsilon, pure_to_gdp
from .facts import facts_of
from .worst_case import worst_case, worst_case_rdp


def data_independent_epsilon(aggregator, n_queries, delta, *, n_teachers=None, n_classes=None):
    """Data-independent epsilon of `n_queries` queries, answered or not.

    Parameters
    ----------
    aggregator : Aggregator
        The mechanism.
    n_queries : int
        Number of queries asked, fixed in advance. How many of them are answered is itself an
        outcome, and never lowers the cost.
    delta : float
        Delta of the guarantee, strictly between 0 and 1.
    n_teachers, n_classes : int, default=None
        Public numbers that make the cost of one query sharper; see `worst_case_rdp`.

    Returns
    -------
    epsilon : float
        The smallest that any known composition gives; inf without a guarantee.
    method : {"gaussian", "renyi", "pure", "none"}
        The composition that gave it: exact for Gaussian noise, of the data-independent Renyi cost
        of one query, or the plain sum of pure epsilons.

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
    """Data-independent cost of a number of queries, in all the ways that add up.

    Attributes
    ----------
    rdp : ndarray of shape (n_orders,)
        Renyi cost.
    mu_squared, pure : float
        Squared Gaussian-DP parameter, and pure epsilon; inf where there is none.
    delta : float
        Probability, already spent, with which these costs do not hold.
    pure_part, mu_squared_part : float
        The same costs once more, each step in one of the two: in the second where it has a Gaussian
        parameter and no pure epsilon, else in the first.

    Examples
    --------
    >>> from sklearn_pate.aggregators import GNMax
    >>> cost = GNMax(40.0).costs()(500)
    >>> epsilon, method = cost.epsilon(1e-5)
    >>> round(epsilon, 2), method
    (2.82, 'renyi')
    """

    rdp: np.ndarray
    mu_squared: float
    pure: float
    delta: float = 0.0
    pure_part: float | None = None
    mu_squared_part: float | None = None

    def __post_init__(self):
        rdp = np.array(self.rdp, dtype=float)
        rdp.setflags(write=False)  # costs are kept, and must not change for those who ask later
        object.__setattr__(self, "rdp", rdp)
        if self.pure_part is None:
            is_gaussian = self.pure == math.inf and self.mu_squared < math.inf
            object.__setattr__(self, "pure_part", 0.0 if is_gaussian else self.pure)
            object.__setattr__(self, "mu_squared_part", self.mu_squared if is_gaussian else 0.0)

    def times(self, n_queries):
        """Cost of that many queries."""
        if n_queries == 0:  # 0 times inf is NaN
            return Cost(np.zeros_like(self.rdp), 0.0, 0.0)
        numbers = [times_up(n_queries, number) for number in self._numbers()]
        return Cost(n_queries * self.rdp, *numbers)

    def plus(self, other):
        """Cost of both, even if the second depends on what the first released."""
        numbers = list(map(sum_up, self._numbers(), other._numbers()))
        return Cost(self.rdp + other.rdp, *numbers)

    def _numbers(self):
        """Return all but the Renyi costs, in the order of the fields."""
        return self.mu_squared, self.pure, self.delta, self.pure_part, self.mu_squared_part

    def epsilon(self, delta, orders=DEFAULT_ORDERS):
        """Smallest epsilon at `delta`, and the composition that gave it.

        Parameters
        ----------
        delta : float
            Delta of the guarantee, strictly between 0 and 1.
        orders : ndarray of shape (n_orders,), default=DEFAULT_ORDERS
            Orders of `rdp`.

        Returns
        -------
        epsilon : float
            inf without a guarantee.
        method : {"gaussian", "renyi", "pure", "mixed", "none"}
            As in `data_independent_epsilon`; "mixed" composes pure steps with Gaussian noise,
            exactly, and "none" says that epsilon is 0 or inf.
        """
        # What was spent of delta adds to the probability that the conversion leaves
        left = check_delta(delta) - self.delta
        if left <= 0:
            return math.inf, "none"
        # All hold and follow from public numbers alone, so the smallest holds as well
        epsilon, method = min(
            (gdp_to_epsilon(math.sqrt(self.mu_squared), left), "gaussian"),
            (self.pure, "pure"),
            (float(epsilon_by_order(self.rdp, left, orders).min()), "renyi"),
            (self._mixed_epsilon(left), "mixed"),
        )
        return epsilon, (method if 0 < epsilon < math.inf else "none")

    def _mixed_epsilon(self, delta):
        """Return the epsilon of pure steps and Gaussian noise together; inf without either."""
        pure, mu_squared = self.pure_part, self.mu_squared_part
        if not (0 < pure < math.inf and 0 < mu_squared < math.inf):
            return math.inf
        return pure_and_gdp_to_epsilon(delta, pure=pure, mu=math.sqrt(mu_squared))


def no_cost(orders):
    """Return the `Cost` of nothing, at these orders."""
    return Cost(np.zeros(len(orders)), 0.0, 0.0)


def query_steps(aggregator, orders, *, n_teachers, n_classes):
    """Data-independent Renyi costs of the two steps of one query; the second may not happen.

    Parameters
    ----------
    aggregator, orders, n_teachers, n_classes
        As in `data_independent_epsilon`.

    Returns
    -------
    check, answer : ndarray of shape (n_orders,)
        The check costs 0 for a mechanism without steps. None instead of both for a mechanism whose
        queries share their cost.
    """
    orders = check_orders(orders)
    facts = facts_of(aggregator)
    if facts.total is not None:
        return None
    public = {"n_teachers": n_teachers, "n_classes": n_classes}
    if facts.steps is not None:
        return facts.steps(orders, **public)
    return np.zeros(orders.size), worst_case_rdp(aggregator, orders, **public)


def total_cost(aggregator, orders=DEFAULT_ORDERS, *, n_teachers=None, n_classes=None):
    """Return a function from a number of queries to their data-independent `Cost`.

    Parameters
    ----------
    aggregator, orders, n_teachers, n_classes
        As in `data_independent_epsilon`.

    Returns
    -------
    callable
        From a number of queries asked, answered or not, to `Cost`.
    """
    facts = facts_of(aggregator)
    orders = check_orders(orders)
    if facts.total is None:
        public = {"n_teachers": n_teachers, "n_classes": n_classes}
        rdp, pure = worst_case(aggregator, facts, orders, **public)
        return Cost(rdp, min(facts.gdp_mu, pure_to_gdp(pure)) ** 2, pure).times
    cost_of_all = facts.total(orders)
    return lambda n_queries: cost_of_all if n_queries else cost_of_all.times(0)


# --- sums and products as floats that are never below the exact ones -----------------------------


def rounded_up(exact):
    """Return the smallest float that is at least a `fractions.Fraction`."""
    nearest = float(exact)
    return nearest if nearest >= exact else math.nextafter(nearest, math.inf)


def sum_up(*costs):
    """Return a sum, rounded up; inf if a part is.

    Examples
    --------
    >>> from sklearn_pate.rdp.cost import sum_up
    >>> 0.1 + 0.7, sum_up(0.1, 0.7)
    (0.7999999999999999, 0.8)
    """
    total = math.fsum(costs)  # the float nearest to the exact sum
    if total == math.inf or math.fsum((*costs, -total)) <= 0:
        return total
    return math.nextafter(total, math.inf)


def times_up(number, cost):
    """Return so many times a cost, rounded up; inf if the cost is."""
    return math.inf if cost == math.inf else rounded_up(Fraction(float(cost)) * int(number))
