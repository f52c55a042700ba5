"""Published steps and plan of an interrupted fit, which `warm_start` continues."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pandas as pd
from pandas.api.extensions import ExtensionDtype

from ..accounting.budget import as_cap
from ..accounting.plan import spent_of
from ..runtime.isolation import is_ours
from .synthetic_rows import Synthesis

if TYPE_CHECKING:
    from ..accounting.plan import Plan
    from ..fitting.inputs import Inputs
    from ..rdp import Cost

#: Parameters of a synthesizer that do not change its results.
_OF_SPEED = ("n_jobs", "memory")


@dataclass(frozen=True, eq=False)
class Prefix:
    """Published steps and plan of an interrupted fit; both are public.

    The cost of these steps and of all later steps was fixed before any step was published. The next
    fit can therefore continue only under the same plan: if the noise of later steps depended on
    published steps, the total cost could exceed the cost of the plan.

    Attributes
    ----------
    synthesis : releases.synthetic_rows.Synthesis
        The published steps, with the ledger entry of their cost.
    fixed : dict
        Result of `fixed_by` for the interrupted fit.
    n_attempts : int
        Number of interrupted fits.
    first_release : fitting.first_release.FirstRelease or None
        The published target; None if it was declared.
    """

    synthesis: Synthesis
    fixed: dict[str, Any]
    n_attempts: int = 1
    first_release: Any = None

    def check_plan(self, inputs: Inputs, plan: Plan) -> None:
        """Raise an error if a plan differs from the plan of the interrupted fit.

        Parameters
        ----------
        inputs : fitting.inputs.Inputs
            Inputs of the next fit.
        plan : Plan
            Plan of the next fit.

        Raises
        ------
        ValueError
            If a value in `fixed` has changed.
        """
        own = fixed_by(inputs, plan)
        changed = [name for name in self.fixed if own[name] != self.fixed[name]]
        if changed:
            raise ValueError(
                "warm_start=True continues the interrupted fit of this estimator under the same "
                "plan, because the cost was fixed before anything was published; changed since: "
                f"{', '.join(changed)}. Give the same values as before, or set warm_start=False "
                "to start anew and pay for all steps"
            )

    def continued(self, synthesis: Synthesis) -> Synthesis:
        """Return the `Synthesis` with the published steps, for use in the next fit.

        It has `n_jobs` and `neighbors` of the planned `synthesis` of the next fit.
        """
        synthesizer = copy.copy(self.synthesis.synthesizer)  # with its released statistics
        for name in _OF_SPEED:
            if hasattr(synthesizer, name):
                setattr(synthesizer, name, getattr(synthesis.synthesizer, name))
        return replace(self.synthesis, synthesizer=synthesizer, neighbors=synthesis.neighbors)


def fixed_by(inputs: Inputs, plan: Plan) -> dict[str, Any]:
    """Return the public values that must not change when an interrupted fit continues.

    Parameters
    ----------
    inputs : fitting.inputs.Inputs
        Inputs of the fit.
    plan : Plan
        Plan of the fit.

    Returns
    -------
    dict
        Values by the names of the parameters that determine them.
    """
    spent = spent_of(plan)
    estimator, cost = inputs.estimator, plan.cost
    synthesizer = n_steps = None
    if inputs.synthesis is not None:
        own = inputs.synthesis.synthesizer
        params = own.get_params(deep=False).items()
        params = {name: value for name, value in params if name not in _OF_SPEED}
        columns = [getattr(own, name, None) for name in ("schema_", "undeclared")]
        synthesizer = type(own).__name__, _plain(params), _plain(columns)
        n_steps = own.n_steps
    steps = [cost] if cost.earlier is None else [cost, cost.earlier, *cost.branches]
    return {
        "synthesizer or schema": synthesizer,
        "number of records": n_steps,  # class sums of many records have one more step
        "classes": (inputs.target, spent.not_covered, inputs.first_release is None),
        "unit or partition": (spent.unit, spent.relation),
        "epsilon": as_cap(estimator.epsilon, estimator.delta),
        "accounting": (getattr(estimator, "accounting", None), plan.composition, plan.epsilon),
        "aggregator": [(str(stage), number) for stage, number in plan.stages],
        "n_teachers or n_queries": (spent.n_teachers, plan.n_queries),
        "releases": spent.extra_releases,
        "noise": [_numbers_of(step) for step in steps],
    }


def can_go_on(synthesis: Synthesis | None) -> bool:
    """Return whether the next fit can continue after the published steps.

    The synthesizer and its noise must be of this library. A user-defined object may hold records,
    so it is not stored.

    Parameters
    ----------
    synthesis : Synthesis or None
        Synthesis of the fit; None if it draws no rows.
    """
    if synthesis is None:
        return False
    synthesizer = synthesis.synthesizer
    return is_ours(synthesizer) and is_ours(getattr(synthesizer, "noise", synthesizer))


def _numbers_of(cost: Cost) -> tuple[Any, ...]:
    """Return all numbers of a cost, except those of its branches."""
    parts = cost.mu_squared, cost.pure, cost.delta, cost.pure_part, cost.mu_squared_part
    return cost.rdp.tobytes(), *parts


def _plain(value: Any) -> Any:
    """Convert a value to nested tuples of text, which are equal for equal values."""
    if isinstance(value, pd.CategoricalDtype):
        value = ["category", value.categories, value.ordered]
    elif isinstance(value, ExtensionDtype):
        return repr(value)
    elif hasattr(value, "tolist"):  # of pandas or NumPy
        value = value.tolist()
    if isinstance(value, dict):
        value = list(value.items())
    if isinstance(value, list | tuple):
        return tuple(map(_plain, value))
    parts = getattr(value, "__dict__", None)
    return repr(value) if parts is None else (type(value).__name__, _plain(parts))
