"""Release of labels from class sums that a synthesizer has published; no record votes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..accounting import MethodSummary, Plan, TableCurator
from ..accounting.budget import guarantee
from ..exceptions import BudgetExceededError
from ..rdp import DEFAULT_ORDERS
from ..rdp.cost import no_cost
from ..readouts import tables_of
from .base import VotesRelease
from .votes import Votes

if TYPE_CHECKING:
    from .._typing import Estimator
    from ..fitting.inputs import Inputs
    from ..methods.base import Method
    from .published import Published


class PublishedSumsRelease(VotesRelease):
    """Labels of synthetic rows from published class sums, at no additional privacy cost."""

    releases_proba = True
    reads_records = False
    max_dry_run_rows = 500

    def mechanism(self, estimator: Estimator, method: Method) -> list[Any]:
        """Return an empty list; raise an error if `aggregator` is set."""
        if estimator.aggregator is not None:
            raise ValueError(
                "aggregator must be None for class sums without public rows: the synthesizer "
                f"calibrates their noise to epsilon; got {estimator.aggregator!r}"
            )
        return []

    def plan(self, inputs: Inputs) -> Plan:
        """Return a plan with the cost of the synthesizer and extra releases, and no queries.

        If the cost exceeds the epsilon limit, raise a BudgetExceededError.
        """
        cost = inputs.prior_cost(DEFAULT_ORDERS)
        delta = inputs.cap[1]
        epsilon, composition, delta = guarantee(cost, delta, is_pure=inputs.prior_is_pure)
        cap = inputs.cap[0]
        if cap is not None and epsilon > cap:
            raise BudgetExceededError(
                f"class sums without public rows get all of epsilon={cap:g}, but together with "
                f"your releases they cost {epsilon:.4g}. Use method='neighbors', which leaves a "
                "part of epsilon for releases, or releases=None"
            )
        return Plan(
            [],
            epsilon,
            composition,
            cost,
            delta=delta,
            own_cost=no_cost(DEFAULT_ORDERS),
            n_public=inputs.n_public,
            n_requested=inputs.n_public,
        )

    def dry_run(self, inputs: Inputs, plan: Plan) -> None:
        """Do nothing, because there is no mechanism."""

    def forecast(self, inputs: Inputs, plan: Plan) -> tuple[MethodSummary, tuple[()], tuple[()]]:
        """Return a summary; the synthesizer's forecast has the warnings and errors."""
        summary = MethodSummary(
            n_classes=inputs.target.max_n_values,
            n_targets=inputs.target.n_targets,
            name=type(inputs.method).__name__,
            target_type=inputs.target.kind,
        )
        return summary, (), ()

    def check_votes(self, votes: Any, method: Method, *, is_given: bool) -> None:
        """Raise an error for votes of another method."""
        cast_by = getattr(votes, "method", None)
        if type(cast_by) is not type(method):
            name = "teachers" if cast_by is None else type(cast_by).__name__
            raise ValueError(f"{name} cast these votes: poll again, or leave method='auto'")

    def rows(self, inputs: Inputs, plan: Plan) -> np.ndarray:
        """Return the indices of all synthetic rows."""
        return np.arange(inputs.n_public)

    def of_rows(self, votes: Votes, rows: np.ndarray) -> Votes:
        """Return the empty votes unchanged."""
        return votes

    def gather(self, inputs: Inputs, plan: Plan, rows: np.ndarray) -> Votes:
        """Return empty `Votes`, because no record votes."""
        counts = np.zeros((0, inputs.target.n_values))
        return Votes(
            counts,
            inputs.target,
            inputs.neighbors,
            method=inputs.method,
            n_public=inputs.n_public,
        )

    def publish(
        self,
        inputs: Inputs,
        plan: Plan,
        rows: np.ndarray,
        votes: Votes,
        published: Published,
        noise: np.random.Generator,
    ) -> None:
        """Compute class probabilities of the synthetic rows from the published sums."""
        tables = tables_of(inputs.known_synthesis.prior)
        for part, table in zip(published.parts, tables, strict=True):
            part.table = table
            part.add_class_proba(*table.read(inputs.X_public))

    def curator(self, published: Published, votes: Votes, plan: Plan, delta: float) -> TableCurator:
        """Return the private view of the results."""
        return TableCurator(votes.counts, plan.cost, delta)
