"""What the release of a whole noisy table spends, decided from public numbers alone."""

import math

from ..exceptions import BudgetExceededError
from ..rdp import least_scale
from .plan import Plan

__all__ = ["plan_table"]


def plan_table(mechanism, *, n_changed, n_rows, epsilon, delta):
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
        Failure probability. A mechanism that is pure does not spend it.

    Returns
    -------
    Plan
        Its one stage is the mechanism, with its noise set.

    Raises
    ------
    BudgetExceededError
        If the noise is set and costs more than the cap. Nothing was spent.
    ValueError
        If there is nothing to calibrate to.

    Examples
    --------
    >>> from sklearn_pate.accountant.table import plan_table
    >>> from sklearn_pate.aggregators import LaplaceMechanism
    >>> plan = plan_table(LaplaceMechanism(), n_changed=2, n_rows=9, epsilon=0.25, delta=1e-5)
    >>> plan.stages, plan.epsilon, plan.delta
    ([(LaplaceMechanism(scale=8.0), 9)], 0.25, 0.0)
    """
    if mechanism.with_scale(1.0) is not None:
        if epsilon is None:
            raise ValueError(
                f"{mechanism} is calibrated to epsilon, and epsilon is None; set one of them to a "
                "number"
            )
        mechanism = mechanism.with_scale(_least_scale(mechanism, n_changed, epsilon, delta))
    cost = mechanism.cost(n_changed)
    if mechanism.is_pure:
        spent, method, delta = cost.pure, "pure", 0.0
    else:
        spent, method = cost.epsilon(delta)
    if epsilon is not None and spent > epsilon:
        raise BudgetExceededError(
            f"{mechanism} costs epsilon={spent:.4g}, more than the cap epsilon={epsilon:g}. Use "
            "more noise, or raise epsilon. Nothing was spent"
        )
    return Plan([(mechanism, n_rows)], spent, method, cost, delta=delta)


def _least_scale(mechanism, n_changed, epsilon, delta):
    """Return the least noise that costs at most `epsilon`."""
    if not mechanism.is_pure:

        def cost_at(scale, orders):
            return mechanism.with_scale(scale).cost(n_changed, orders)

        return least_scale(cost_at, epsilon, delta)
    scale = mechanism.with_scale(1.0).cost(n_changed).pure / epsilon
    while mechanism.with_scale(scale).cost(n_changed).pure > epsilon:
        scale = math.nextafter(scale, math.inf)
    return scale
