"""What is proved of a mechanism: the record that costs on any votes are computed from."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real

from .noise import Noise

__all__ = ["Facts", "facts_of"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Facts:
    """What is true of a mechanism on any votes, beyond its distribution; each needs a proof.

    A mechanism returns it from `Aggregator.facts`. What is left out is not claimed. Of several
    claims about costs, the smallest counts.

    Attributes
    ----------
    gdp_mu : float
        Gaussian-DP parameter of one query; inf if it is not Gaussian DP.
    pure_epsilon : float
        Pure epsilon (delta = 0) of one query; inf if there is none.
    rdp : callable or None
        ``rdp(orders, n_teachers=, n_classes=)`` returns the Renyi cost of one query at each order;
        the public numbers may be None, for any number.
    argmax_noise : Noise or None
        The noise on every count, if the class with the largest noisy count is released and
        nothing else.
    label_symmetric : bool
        Whether permuting the vote counts permutes the outcome probabilities and nothing else, so
        that costs depend on the sorted counts only. Ties broken by class number are not symmetric.
    steps : callable or None
        For a query in two steps, of which the second may not happen:
        ``steps(orders, n_teachers=, n_classes=)`` returns the Renyi costs of the two. A query that
        is not paid for in full costs the first alone.
    total : callable or None
        For a mechanism whose queries share their cost: ``total(orders)`` returns the `Cost` of any
        number of queries together.
    exact : bool
        Whether what is released is drawn without rounding, given a generator of whole numbers. If
        not, the other facts hold in real arithmetic, and floating-point numbers come close.

    Examples
    --------
    >>> from sklearn_pate.aggregators import LNMax
    >>> facts = LNMax(gamma=0.05).facts()
    >>> facts.pure_epsilon, facts.gdp_mu, facts.label_symmetric
    (0.1, inf, True)
    """

    gdp_mu: float = math.inf
    pure_epsilon: float = math.inf
    rdp: Callable | None = None
    argmax_noise: Noise | None = None
    label_symmetric: bool = False
    steps: Callable | None = None
    total: Callable | None = None
    exact: bool = False

    def __post_init__(self):
        for name in ("gdp_mu", "pure_epsilon"):
            value = getattr(self, name)
            if not isinstance(value, Real) or not value >= 0:
                raise ValueError(f"Facts.{name} must be a number, at least 0; got {value!r}")
        for name in ("rdp", "steps", "total"):
            value = getattr(self, name)
            if value is not None and not callable(value):
                raise TypeError(f"Facts.{name} must be a function or None; got {value!r}")
        if self.argmax_noise is not None and not isinstance(self.argmax_noise, Noise):
            raise TypeError(
                "Facts.argmax_noise must be an rdp.Noise, such as rdp.Gaussian(40.0), or None; "
                f"got {self.argmax_noise!r}"
            )


def facts_of(aggregator):
    """Return what a mechanism states.

    Parameters
    ----------
    aggregator : Aggregator
        The mechanism.

    Returns
    -------
    Facts

    Raises
    ------
    TypeError
        If its `facts` is no method, or returns something else.
    """
    facts = aggregator.facts() if callable(aggregator.facts) else aggregator.facts
    if not isinstance(facts, Facts) or not callable(aggregator.facts):
        raise TypeError(
            f"facts of {type(aggregator).__name__} must be a method that returns rdp.Facts(...); "
            f"got {facts!r}"
        )
    return facts
