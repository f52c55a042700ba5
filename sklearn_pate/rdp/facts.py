"""What is proved of a mechanism: the record that data-independent costs are computed from."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real

from .._python import PUT_INTO_CLASSES
from .noise import Noise

__all__ = ["Facts", "defined_in", "facts_of", "has_distribution", "stating_class"]


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


def defined_in(kind):
    """Return what a class defines in its own body, a list of names."""
    return sorted(set(vars(kind)) - PUT_INTO_CLASSES)


def stating_class(mechanism):
    """Return the class whose facts hold for a mechanism, or None.

    Facts are proved for one class. They hold for subclasses that define nothing and have no other
    bases, and for objects that have no methods of their own.

    Parameters
    ----------
    mechanism : Mechanism
        The mechanism as it is now: classes can be changed after they were made.

    Returns
    -------
    type or None
    """
    kind = type(mechanism)
    # A method replaced on the object itself may do anything
    replaced = [name for name in vars(mechanism) if callable(getattr(kind, name, None))]
    if replaced:
        return None
    for k, base in enumerate(kind.__mro__):
        if "facts" in vars(base):
            has_no_other_bases = base.__mro__ == kind.__mro__[k:]
            return base if has_no_other_bases else None
        if defined_in(base):
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
    ValueError
        If one class changes how labels are drawn and another writes their distribution.
    """
    _check_sampler(mechanism)
    if stating_class(mechanism) is None:
        return Facts()
    is_method = callable(mechanism.facts)
    facts = mechanism.facts() if is_method else mechanism.facts
    if not isinstance(facts, Facts) or not is_method:
        raise TypeError(
            f"facts of {type(mechanism).__name__} must be a method that returns rdp.Facts(...); "
            f"got {facts!r}"
        )
    return facts


def _check_sampler(mechanism):
    """Refuse what samples from another distribution than the one that costs are computed from."""
    kind = type(mechanism)
    distribution = "outcome_log_proba" if has_distribution(mechanism) else "soft_labels"
    writers = {}
    for name in (distribution, "aggregate", "draw", "release"):
        for base in kind.__mro__:
            if name in vars(base):
                writers[name] = base
                break
    if len(set(writers.values())) > 1:
        samplers = sorted(set(writers) - {distribution})
        raise ValueError(
            f"{kind.__name__} changes how labels are drawn and inherits their distribution: its "
            f"cost is unknown. Write {distribution} as well, in the class that writes "
            f"{' and '.join(samplers)}"
        )
