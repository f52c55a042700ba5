"""Release of a noisy table of votes or sums, from which any row can be labelled."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..accounting import MethodSummary, TableCurator, plan_table
from ..aggregators.table import checked_noisy, dry_run_table
from ..readouts import StackedTable, tables_of
from ..runtime.isolation import is_ours, redacted, suppress_output
from .base import VotesRelease
from .votes import Votes

if TYPE_CHECKING:
    from .._typing import Estimator
    from ..accounting.findings import Finding
    from ..accounting.plan import Plan
    from ..aggregators.table import TableMechanism
    from ..fitting.inputs import Inputs
    from ..methods.base import TableMethod
    from .published import Published


class TableRelease(VotesRelease):
    """Release of a noisy table: votes of records in cells, or class sums of columns."""

    releases_proba = True
    max_dry_run_rows = 500

    def check_votes(self, votes: Any, method: TableMethod, *, is_given: bool) -> None:
        """Raise an error for votes of another method, or of one with other parameters.

        Votes of another table method are accepted if `is_given` is False.
        """
        cast_by = getattr(votes, "method", None)
        if cast_by is None:
            raise ValueError(
                f"{type(method).__name__} requires votes in a table, but these are counts or "
                "votes of teachers: pass the votes that poll returned"
            )
        is_same = type(cast_by) is type(method)
        remedy = f"poll again with {type(method).__name__}, or set method='auto'"
        if is_given and not is_same:
            raise ValueError(f"{type(cast_by).__name__} cast these votes: {remedy}")
        cast_with, requested = cast_by.get_params(), method.get_params()
        # The guarantee depends on the first two, and the summed columns on the third
        for param in ("relation", "n_neighbors", "extra_columns"):
            if is_same and cast_with.get(param) != requested.get(param):
                remedy = f"poll again, or set method__{param}={cast_with[param]!r}"
                raise ValueError(
                    f"{param}={requested.get(param)!r}, but these votes were cast with "
                    f"{cast_with[param]!r}: {remedy}"
                )

    def mechanism(self, estimator: Estimator, method: TableMethod) -> TableMechanism:
        """Return the mechanism of the table; raise an error for an unsuitable `aggregator`."""
        return method.mechanism(estimator.aggregator)

    def plan(self, inputs: Inputs) -> Plan:
        """Return a plan with the noise of the table and its cost."""
        plans = [
            plan_table(
                mechanism,
                contribution=inputs.contribution,
                n_rows=inputs.n_public,
                epsilon=inputs.cap[0],
                delta=inputs.cap[1],
                before=inputs.prior_cost,
                prior_is_pure=inputs.prior_is_pure,
            )
            for mechanism in inputs.method.mechanisms(inputs.estimator.aggregator)
        ]
        return plans[0] if len(plans) == 1 else min(plans, key=_noise_of)

    def dry_run(self, inputs: Inputs, plan: Plan) -> None:
        """Try a user-defined mechanism on a made-up table."""
        ((mechanism, _),) = plan.stages
        if not is_ours(mechanism):
            sizes: dict[str, Any] = {
                "contribution": inputs.contribution,
                "n_classes": inputs.target.n_values,
            }
            dry_run_table(mechanism, **sizes)

    def forecast(
        self, inputs: Inputs, plan: Plan
    ) -> tuple[MethodSummary, Iterable[str | Finding], Iterable[str | Finding]]:
        """Return a summary of cells or sums, with warnings and errors, from public numbers."""
        was_polled = inputs.private is None  # `poll` has issued the warnings
        are_synthetic = was_polled or inputs.rows_are_to_draw
        cells = inputs.method.forecast(**_public_numbers(inputs, plan), are_synthetic=are_synthetic)
        method_summary = MethodSummary(
            n_classes=inputs.target.max_n_values,
            n_targets=inputs.target.n_targets,
            cells=cells,
            name=type(inputs.method).__name__,
            target_type=inputs.target.kind,
        )
        return method_summary, () if was_polled else cells.warnings, cells.errors

    def rows(self, inputs: Inputs, plan: Plan) -> np.ndarray:
        """Return the indices of all public rows."""
        return np.arange(inputs.n_public)

    def of_rows(self, votes: Votes, rows: np.ndarray) -> Votes:
        """Return the votes unchanged, because the table labels all rows."""
        return votes

    def gather(self, inputs: Inputs, plan: Plan, rows: np.ndarray) -> Votes:
        """Define the layout of the table from public rows, and count the records in it."""
        method = inputs.method
        with inputs.phase("records", method.n_steps(n_records=inputs.neighbors.n_records)) as done:
            public = inputs.X_public
            method.prepare_public(
                public, **_public_numbers(inputs, plan), are_synthetic=inputs.are_synthetic
            )
            table = method.vote(
                inputs.private,
                public,
                seed=inputs.seeds["teachers"],
                n_jobs=inputs.estimator.n_jobs,
                on_done=done,
            )
        return Votes(
            table, inputs.target, inputs.neighbors, method=method, n_public=inputs.n_public
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
        """Draw the noisy table, and compute class probabilities of each public row from it."""
        ((mechanism, _),) = plan.stages
        noise_std = mechanism.noise_std  # read before a user's mechanism gets the table
        with suppress_output():
            noisy = redacted(
                lambda: checked_noisy(mechanism, votes.counts.copy(), noise),
                f"{type(mechanism).__name__} could not draw a table:",
                "The cost of the plan is spent. Try it on a made-up table",
            )
        tables = tables_of(votes.method.released(noisy, noise_std=noise_std))
        prior = None if inputs.synthesis is None else inputs.synthesis.prior
        if prior is not None:
            tables = tuple(
                of_prior if table is None else StackedTable(table, of_prior, inputs.X_public)
                for table, of_prior in zip(tables, tables_of(prior), strict=True)
            )
        for part, table in zip(published.parts, tables, strict=True):
            part.table = table  # kept if the fit is interrupted
        for part in published.parts:
            table = part.table
            of_rows = votes.method.read(table) if prior is None else table.read(inputs.X_public)
            part.add_class_proba(*of_rows)
            part.weight_rows(inputs.X_public, getattr(table, "shift", None))

    def curator(self, published: Published, votes: Votes, plan: Plan, delta: float) -> TableCurator:
        """Return the private view of the results."""
        return TableCurator(votes.counts, plan.cost, delta)


def _noise_of(plan: Plan) -> float:
    """Return the standard deviation of the noise of a plan."""
    ((mechanism, _),) = plan.stages
    noise_std: float = mechanism.noise_std
    return noise_std


def _public_numbers(inputs: Inputs, plan: Plan) -> dict[str, Any]:
    """Return the public numbers that determine the layout, together with the public rows."""
    ((mechanism, _),) = plan.stages
    return {
        "noise_std": mechanism.noise_std,
        "n_records": inputs.neighbors.n_records,
        "n_classes": inputs.target.max_n_values,
    }
