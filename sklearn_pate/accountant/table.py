"""What is released at once costs: a noisy table, public rows, what a user adds to them."""

import contextlib
import math
from functools import reduce

import numpy as np
from sklearn.base import clone

from .._sklearn import InvalidParameterError
from ..exceptions import BudgetExceededError
from ..rdp import DEFAULT_ORDERS, Cost, least_scale
from ..rdp.cost import no_cost, sum_up
from .plan import Plan
from .stages import as_cap, check_with_scale


def plan_table(
    mechanism, *, n_changed, n_rows, epsilon, delta, before=no_cost, is_pure_before=True
):
    """Decide the noise on a table of ballots, all of which is released.

    Parameters
    ----------
    mechanism : TableMechanism
        As given by the user; one without noise is calibrated.
    n_changed : int
        Ballots that one protected unit changes at most.
    n_rows : int
        Number of public rows that may get a label.
    epsilon : float or None
        Hard cap; None for no cap.
    delta : float
        Delta of the guarantee. A mechanism that is pure does not spend it.
    before : callable, default=no_cost
        Returns, for Renyi orders, the `Cost` of what is released under the same cap before.
    is_pure_before : bool, default=True
        Whether that cost holds with delta 0: that of rounded noise does not.

    Returns
    -------
    Plan
        Its one stage is the mechanism, with its noise set.

    Raises
    ------
    BudgetExceededError
        If the noise is set and costs more than the cap.
    TypeError
        If `cost` does not return a `rdp.Cost`.
    ValueError
        If there is nothing to calibrate to, no noise is right for `epsilon`, or the numbers of the
        cost are none of a cost.

    Examples
    --------
    >>> from sklearn_pate.accountant.table import plan_table
    >>> from sklearn_pate.aggregators import LaplaceMechanism
    >>> plan = plan_table(LaplaceMechanism(), n_changed=2, n_rows=9, epsilon=0.25, delta=1e-5)
    >>> plan.stages, plan.epsilon, plan.delta
    ([(LaplaceMechanism(scale=8.0), 9)], 0.25, 0.0)
    """
    epsilon, delta = as_cap(epsilon, delta)
    if mechanism.with_scale(1.0) is not None:
        check_with_scale(mechanism)
        rest = before(DEFAULT_ORDERS)
        is_pure = mechanism.is_pure and rest.pure < math.inf
        spent = rest.pure if is_pure else rest.epsilon(delta)[0]
        if epsilon is not None and spent >= epsilon:
            raise BudgetExceededError(
                f"public rows that are drawn from private ones, and releases of yours, cost "
                f"epsilon={spent:.4g}, and epsilon={epsilon:g} is the cap of these and the labels. "
                "Raise it"
            )
        mechanism = calibrated(mechanism, n_changed, epsilon, delta, before)
    mechanism = clone(mechanism)  # the user's may keep the table that it is given
    own = stated_cost(mechanism, n_changed)
    cost = before(DEFAULT_ORDERS).plus(own)
    spent, method = cost.epsilon(delta)
    are_pure = mechanism.is_pure and is_pure_before
    if are_pure and cost.pure < math.inf and cost.delta == 0:
        spent, method, delta = cost.pure, "pure", 0.0
    if epsilon is not None and spent > epsilon:
        raise BudgetExceededError(
            f"{mechanism} costs epsilon={spent:.4g}, more than the cap epsilon={epsilon:g}. Use "
            "more noise, or raise epsilon"
        )
    told = {"own_cost": own, "n_public": n_rows, "n_wanted": n_rows}
    return Plan([(mechanism, n_rows)], spent, method, cost, delta=delta, **told)


def calibrated(part, size, epsilon, delta, before=no_cost):
    """Return a copy of a part without noise, with the least that costs at most `epsilon`.

    Parameters
    ----------
    part : TableMechanism, Synthesizer or Release
        Without noise.
    size : int
        Of the change that is covered: what `cost` of the part is asked for.
    epsilon : float or None
        None is refused.
    delta, before
        As in `plan_table`.
    """
    name = type(part).__name__
    if epsilon is None:
        raise ValueError(
            f"{name} is calibrated to epsilon, or to its share of it, and epsilon is None; set "
            "epsilon, or the noise, for a synthesizer noise=LaplaceMechanism(scale)"
        )
    with_noise = None
    with contextlib.suppress(InvalidParameterError):  # it names the noise, which nobody gave
        with_noise = part.with_scale(least_scale_of(part, size, epsilon, delta, before))
        with_noise.cost(size)
    if with_noise is None:
        raise BudgetExceededError(
            f"{name} cannot be calibrated to epsilon={epsilon:g}, of the fit or its share of that: "
            "there is no noise that costs as much. Choose an epsilon nearer to 1"
        )
    return with_noise


def least_scale_of(part, size, epsilon, delta, before):
    """Return the least noise with which a part costs at most `epsilon`; see `calibrated`."""
    spent = before(DEFAULT_ORDERS).pure
    if not part.is_pure or spent == math.inf:

        def cost_at(scale, orders):
            return before(orders).plus(part.with_scale(scale).cost(size, orders))

        return least_scale(cost_at, epsilon, delta)
    # A pure epsilon falls as one over the scale, and rounding is off by a step or two
    scale = part.with_scale(1.0).cost(size).pure / (epsilon - spent)
    for _ in range(10):
        if sum_up(spent, part.with_scale(scale).cost(size).pure) <= epsilon:
            break
        scale = math.nextafter(scale, math.inf)
    return scale


def stated_cost(part, size, orders=DEFAULT_ORDERS):
    """Return the `Cost` that a part states; refuse what is no cost, or contradicts itself."""
    cost = part.cost(size, orders)
    said = f"cost of {type(part).__name__}"
    if not isinstance(cost, Cost) or np.shape(cost.rdp) != np.shape(orders):
        raise TypeError(
            f"{said} must return rdp.Cost(rdp, mu_squared, pure), with a Renyi cost at each of the "
            "orders that it is given; got another type or shape"
        )
    numbers = np.array([*cost.rdp, cost.mu_squared, cost.pure, cost.delta], dtype=float)
    if not (numbers >= 0).all() or cost.delta >= 1:  # false for NaN, too
        raise ValueError(
            f"{said} must return a rdp.Cost of numbers of at least 0, and a delta below 1"
        )
    sizes = [float(np.max(cost.rdp)), cost.mu_squared, cost.pure]
    if min(sizes) == 0 and any(0 < size < np.inf for size in sizes):
        raise ValueError(f"{said} is 0 in one way and above 0 in another: what has no proof is inf")
    if part.is_pure and cost.delta > 0:
        raise ValueError(f"{said} has delta={cost.delta:g}, and it says is_pure")
    return Cost(cost.rdp, cost.mu_squared, cost.pure, cost.delta)  # its parts follow from these


def cost_of_all(parts, size, orders=DEFAULT_ORDERS):
    """Return the `Cost` of a synthesizer and of releases, each as it states it."""
    return reduce(Cost.plus, [stated_cost(p, size, orders) for p in parts], no_cost(orders))
