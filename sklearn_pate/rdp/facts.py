"""What is proved of a mechanism: the record that data-independent costs are computed from."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from .checks import check_nonnegative
from .noise import Noise


@dataclass(frozen=True, kw_only=True, eq=False)
class Facts:
    """What is true of a mechanism whatever the votes, beyond its distribution.

    A mechanism returns it from `Mechanism.facts`. Each fact needs a proof; what is left out is not
    claimed. If several facts bound the cost, the smallest bound counts.

    Attributes
    ----------
    gdp_mu : float
        Gaussian-DP parameter of one query; inf if it is not Gaussian DP.
    pure_epsilon : float
        Pure epsilon (delta = 0) of one query; inf if there is none.
    rdp : callable or None
        ``rdp(orders, n_teachers=, n_classes=)`` returns the Renyi cost of one query at each order;
        the public numbers may be None, which stands for any number.
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
            check_nonnegative(f"Facts.{name}", getattr(self, name))
        if self.argmax_noise is not None and not isinstance(self.argmax_noise, Noise):
            raise TypeError(f"Facts.argmax_noise must be an rdp.Noise; got {self.argmax_noise!r}")


def argmax_facts(noise):
    """Return what is proved of an argmax of counts with independent noise on each."""
    return Facts(
        gdp_mu=noise.mu, pure_epsilon=noise.pure_epsilon, argmax_noise=noise, label_symmetric=True
    )


def defines_anything(kind):
    """Whether a class has more in its body than what Python puts there."""
    return any(not name.startswith(("__", "_abc_")) for name in vars(kind))


def age_of(kind, name):
    """Return how old a definition is that a class has: 0 if it is in the class itself."""
    return next(k for k, base in enumerate(kind.__mro__) if name in vars(base))


def check_stated(kind, stated, drawn):
    """Refuse a class that draws in its own way and inherits what is stated of the draws."""
    if getattr(getattr(kind, stated), "__isabstractmethod__", False):
        return  # nothing is stated yet
    for name in drawn:
        if age_of(kind, name) < age_of(kind, stated):
            raise TypeError(
                f"{kind.__name__} changes {name}, how it draws, and inherits {stated}, which is "
                f"that of another mechanism: its cost is unknown. Write {stated} as well"
            )


def stating_class(mechanism):
    """Return the class whose facts hold for a mechanism, or None.

    Facts are proved for one class, and hold for subclasses that define nothing.

    Parameters
    ----------
    mechanism : Mechanism
        The mechanism.

    Returns
    -------
    type or None
    """
    for base in type(mechanism).__mro__:
        if "facts" in vars(base):
            return base
        if defines_anything(base):
            return None
    return None


def has_distribution(mechanism):
    """Whether a mechanism has a distribution over outcomes, from which costs can be computed.

    Parameters
    ----------
    mechanism : Mechanism
        One that releases soft labels has none: its outcomes are no classes.

    Returns
    -------
    bool
    """
    return hasattr(type(mechanism), "outcome_log_proba")


def facts_of(mechanism):
    """Return the facts that hold for a mechanism.

    Parameters
    ----------
    mechanism : Mechanism
        The mechanism.

    Returns
    -------
    Facts
        Empty if the mechanism inherits its facts and defines anything.

    Raises
    ------
    TypeError
        If its `facts` is no method, or returns something else.
    """
    if stating_class(mechanism) is None:
        return Facts()
    facts = mechanism.facts()
    if not isinstance(facts, Facts):
        raise TypeError(
            f"facts of {type(mechanism).__name__} must be a method that returns rdp.Facts(...); "
            f"got {facts!r}"
        )
    return facts
