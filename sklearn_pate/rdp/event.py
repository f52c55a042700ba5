"""Events of the accountant: a mechanism with a contribution, or a cost proved by hand."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from .checks import DEFAULT_ORDERS
from .contribution import Contribution
from .cost import Cost
from .records import Record, stated_record


@dataclass(frozen=True, eq=False)
class Event:
    """One release of a statistic by a mechanism.

    Its cost follows from the largest difference of the statistic between neighboring data sets and
    from the noise of the mechanism. All attributes are public.

    Attributes
    ----------
    mechanism : aggregators.TableMechanism
        A mechanism whose noise is set, or any object with the method ``cost(contribution, orders)``
        and the attributes `is_pure` and `is_exact`.
    contribution : Contribution
        The largest change of the statistic.

    Examples
    --------
    >>> from sklearn_pate.aggregators import LaplaceMechanism
    >>> from sklearn_pate.rdp import Event, Neighbors
    >>> neighbors = Neighbors(relation="replace_one", unit="record")
    >>> Event(LaplaceMechanism(scale=4.0), neighbors.counts(1)).cost().pure
    0.5
    """

    mechanism: Any
    contribution: Contribution

    @property
    def is_pure(self) -> bool:
        """Whether the pure epsilon of the cost is a guarantee with delta 0."""
        return self.mechanism.is_pure

    @property
    def is_exact(self) -> bool:
        """Whether the noise is sampled without rounding, from uniform integers."""
        return self.mechanism.is_exact

    def cost(self, orders: ArrayLike = DEFAULT_ORDERS) -> Cost:
        """Return the cost, which holds for every data set.

        Parameters
        ----------
        orders : array-like of shape (n_orders,), default=DEFAULT_ORDERS
            Renyi orders, above 1.

        Returns
        -------
        Cost
        """
        return self.mechanism.cost(self.contribution, orders)

    def records(self, name: str) -> list[Record]:
        """Return the records of the step for a privacy statement.

        Parameters
        ----------
        name : str
            The released statistic, in words.

        Returns
        -------
        list of dict
            One record. It has the noise if the class of the mechanism, and not a base class,
            defines ``step_record(name, contribution)``; else only the cost.
        """
        return [record_of(self.mechanism, name, self.contribution)]


def record_of(mechanism: Any, name: str, contribution: Contribution) -> Record:
    """Return the record of a table with noise by a mechanism; see `Event.records`."""
    if "step_record" in vars(type(mechanism)):
        return mechanism.step_record(name, contribution)
    return stated_record(name, mechanism.cost(contribution))


@dataclass(frozen=True, eq=False)
class ProvedEvent:
    """One release with a cost that is proved by hand, not by a mechanism and a contribution.

    Attributes
    ----------
    cost_at : callable
        ``cost_at(orders)`` returns the `Cost`, which holds for every data set. Measures of the cost
        without a proof are inf.
    is_pure : bool
        Whether the pure epsilon of the cost is a guarantee with delta 0.
    is_exact : bool
        Whether the noise is sampled without rounding, from uniform integers.
    stated : callable or None
        ``stated()`` returns the records of the mechanisms that it consists of, for privacy
        statements. With None, a statement has its cost alone.

    Examples
    --------
    >>> import math
    >>> from sklearn_pate.rdp import Cost, ProvedEvent
    >>> ProvedEvent(lambda orders: Cost(0.05 * orders, 0.1, math.inf)).cost().mu_squared
    0.1
    """

    cost_at: Callable[..., Cost]
    is_pure: bool = False
    is_exact: bool = False
    stated: Callable[[], list[Record]] | None = None

    def cost(self, orders: ArrayLike = DEFAULT_ORDERS) -> Cost:
        """Return the cost, which holds for every data set; see `Event.cost`."""
        return self.cost_at(orders)

    def records(self, name: str) -> list[Record]:
        """Return the records of the step for a privacy statement; see `Event.records`."""
        return [stated_record(name, self.cost())] if self.stated is None else self.stated()
