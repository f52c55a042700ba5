"""The steps that an interrupted fit has published, and its plan: `warm_start` goes on with them."""

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

#: Parameters of a synthesizer that do not change its results.
_OF_SPEED = ("n_jobs",)


@dataclass(frozen=True, eq=False)
class Prefix:
    """The steps that an interrupted fit has published, and its plan. Everything here is public.

    Its cost was fixed together with the cost of all later steps, before anything was published. So
    the next fit goes on after them under that plan alone: noise that is chosen after a look at
    published steps would cost more than the plan.

    Attributes
    ----------
    synthesis : releases.synthetic_rows.Synthesis
        The published steps, with the entry of the ledger that has their cost.
    fixed : dict
        From `fixed_by`.
    n_attempts : int
        Number of fits that were interrupted.
    """

    synthesis: Synthesis
    fixed: dict[str, Any]
    n_attempts: int = 1

    def check_plan(self, inputs: Inputs, plan: Plan) -> None:
        """Refuse a plan that differs from the plan of the interrupted fit.

        Parameters
        ----------
        inputs : fitting.inputs.Inputs
            Inputs of the next fit.
        plan : Plan
            Its plan.
        """
        own = fixed_by(inputs, plan)
        changed = [name for name in self.fixed if own[name] != self.fixed[name]]
        if changed:
            raise ValueError(
                "warm_start=True goes on with the interrupted fit of this estimator under its "
                "plan, whose cost was fixed before anything was published; changed since: "
                f"{', '.join(changed)}. Give the same as then, or set warm_start=False: it starts "
                "anew, and pays for all steps"
            )

    def continued(self, synthesis: Synthesis) -> Synthesis:
        """Return the `Synthesis` with the published steps, for use in the next fit.

        It replaces the planned `synthesis`, but takes `n_jobs` and the neighbors from it.
        """
        synthesizer = copy.copy(self.synthesis.synthesizer)  # it keeps what its rows released
        for name in _OF_SPEED:
            if hasattr(synthesizer, name):
                setattr(synthesizer, name, getattr(synthesis.synthesizer, name))
        return replace(self.synthesis, synthesizer=synthesizer, neighbors=synthesis.neighbors)


def fixed_by(inputs: Inputs, plan: Plan) -> dict[str, Any]:
    """Return all that the plan of a fit fixes, by the names of parameters: it is public.

    Parameters
    ----------
    inputs : fitting.inputs.Inputs
        Inputs of the fit.
    plan : Plan
        Its plan.
    """
    spent = spent_of(plan)
    estimator, cost = inputs.estimator, plan.cost
    synthesizer = None
    if inputs.synthesis is not None:
        own = inputs.synthesis.synthesizer
        params = own.get_params(deep=False).items()
        params = {name: value for name, value in params if name not in _OF_SPEED}
        synthesizer = type(own).__name__, _plain(params), _plain(getattr(own, "schema_", None))
    parts = cost.mu_squared, cost.pure, cost.delta, cost.pure_part, cost.mu_squared_part
    return {
        "synthesizer or schema": synthesizer,
        "classes": (inputs.target, spent.not_covered),
        "unit or partition": (spent.unit, spent.relation),
        "epsilon": as_cap(estimator.epsilon, estimator.delta),
        "accounting": (getattr(estimator, "accounting", None), plan.composition, plan.epsilon),
        "aggregator": [(str(stage), number) for stage, number in plan.stages],
        "n_teachers or n_queries": (spent.n_teachers, plan.n_queries),
        "releases": spent.extra_releases,
        "noise": (cost.rdp.tobytes(), *parts),
    }


def can_go_on(synthesis: Synthesis | None) -> bool:
    """Return whether the next fit can go on with the published steps, if there are any.

    A synthesizer or noise of the user's may keep records: its rows stay, and it does not.

    Parameters
    ----------
    synthesis : Synthesis or None
        Of the fit.
    """
    if synthesis is None:
        return False
    synthesizer = synthesis.synthesizer
    return is_ours(synthesizer) and is_ours(getattr(synthesizer, "noise", synthesizer))


def _plain(value: Any) -> Any:
    """Return nested tuples of text that are equal for equal values, also after pickling."""
    if isinstance(value, pd.CategoricalDtype):
        value = ["category", value.categories, value.ordered]
    elif isinstance(value, ExtensionDtype):
        return repr(value)
    elif hasattr(value, "tolist"):  # of pandas, whose attributes hold weak references, or NumPy
        value = value.tolist()
    if isinstance(value, dict):
        value = list(value.items())
    if isinstance(value, list | tuple):
        return tuple(map(_plain, value))
    parts = getattr(value, "__dict__", None)
    return repr(value) if parts is None else (type(value).__name__, _plain(parts))
