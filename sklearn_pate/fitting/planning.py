"""Plans of fits: queries, cost and forecast, before anything is paid for."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from .._numbers import first_names
from ..accounting import PrivacyForecast, RowsCost
from ..accounting.budget import guarantee, stated_cost, stated_event
from ..accounting.findings import WeakPromise, large_delta
from ..accounting.plan import spent_of
from ..aggregators import TableMechanism
from ..encoding.columns import Columns
from ..exceptions import BadPlanError, BudgetExceededError, warn
from ..public import MOST_VALUES, useless_columns
from ..rdp import DEFAULT_ORDERS
from ..rdp.bounds import bounds_of
from ..rdp.records import finished
from ..releases.prefix import fixed_by
from ..runtime.isolation import suppress_output
from .dry_run import dry_run
from .guarantees import after_rows, with_guarantee
from .seeds import warn_if_seeded

if TYPE_CHECKING:
    from .._typing import Estimator
    from ..accounting.plan import Plan
    from ..accounting.spent import PrivacySpent
    from .inputs import Inputs


def make_plan(inputs: Inputs) -> Plan:
    """Return the plan of a fit after a dry run; it depends on public numbers alone.

    Errors of the dry run also depend on which undeclared columns hold mostly texts.

    Parameters
    ----------
    inputs : Inputs
        Inputs of the fit.

    Returns
    -------
    Plan

    Raises
    ------
    BudgetExceededError
        If the plan exceeds `epsilon` or the budget of the ledger.
    ValueError
        If a dry run fails, if the ledger refuses seeded noise, or if the plan differs from the
        plan of an interrupted fit that it continues.
    """
    plan = spending_plan(inputs)
    if inputs.prefix is not None:
        inputs.prefix.check_plan(inputs, plan)
    ledger = inputs.estimator.ledger
    if ledger is not None:
        if spent_of(plan).generator == "seed":
            seed = inputs.estimator.random_state
            what = "fits"
            remedy = f"use random_state=None; got random_state={seed!r}"
            if seed is None:
                what = "rows that were drawn"
                remedy = "call poll again with random_state=None"
                if inputs.prefix is not None:
                    remedy = "set warm_start=False, to draw new rows"
            raise ValueError(
                f"ledger refuses {what} with a random_state, because two fits with one seed share "
                f"their noise: {remedy}"
            )
        inputs.check_ledger(plan)
        spent = dataclasses.replace(spent_of(plan), ledger=inputs.ledger_before())
        plan = dataclasses.replace(plan, spent=spent)
    dry_run(inputs, plan)
    return forecast(inputs, plan)


def spending_plan(inputs: Inputs) -> Plan:
    """Return a plan with its queries and cost, without a dry run or a forecast of accuracy."""
    plan = with_guarantee(inputs.release.plan(inputs), inputs)
    if inputs.first_release is not None:
        plan = inputs.first_release.added_to(plan, inputs.cap, inputs.choice)
    plan = dataclasses.replace(plan, spent=spent_by(plan, inputs))
    synthesis = inputs.synthesis
    fixed = None if synthesis is None else synthesis.fixed  # set by `poll`
    if fixed is not None and fixed_by(inputs, plan) != fixed:
        plan = _plan_after_rows(inputs)
        plan = dataclasses.replace(plan, spent=spent_by(plan, inputs))
    return plan


def _plan_after_rows(inputs: Inputs) -> Plan:
    """Return a plan of labels that may depend on synthetic rows published by `poll`.

    The cost of one plan of rows and labels is valid only if the whole plan was fixed before the
    rows were published. Otherwise the guarantees of rows and labels are added: epsilon is the sum,
    and each guarantee uses half of delta. The sum is also valid if the noise of the labels depends
    on the rows (Dwork, Roth 2014, theorem 3.16, for each outcome of the first release).
    """
    epsilon, delta = inputs.cap
    prior = inputs.prior_cost(DEFAULT_ORDERS)
    of_rows, _, delta_of_rows = guarantee(prior, delta / 2, is_pure=inputs.prior_is_pure)
    if epsilon is not None and of_rows >= epsilon:
        raise BudgetExceededError(
            f"the plan differs from the plan of poll, whose synthetic rows already cost "
            f"epsilon={of_rows:.4g} at half of delta, so the limit epsilon={epsilon:g} leaves no "
            "epsilon for labels. Use the same parameters as in poll, or raise epsilon"
        )
    left = None if epsilon is None else epsilon - of_rows
    labels = dataclasses.replace(inputs, synthesis=None, cap=(left, delta / 2))
    plan = with_guarantee(inputs.release.plan(labels), labels)
    delta_of_labels = delta / 2 if plan.delta is None else plan.delta
    both, delta = of_rows + plan.epsilon, delta_of_rows + delta_of_labels
    return dataclasses.replace(
        plan,
        epsilon=both,
        delta=delta,
        guarantee=after_rows(plan, inputs, epsilon=both, delta=delta),
        composition="sum",
        cost=prior.plus(plan.cost),
        own_cost=plan.cost,
    )


def accepted(plan: Plan, estimator: Estimator) -> Plan:
    """Return a plan and issue its warnings; raise its errors if `on_bad_plan` is "raise"."""
    refuse_errors(plan, estimator)
    warn_of_plan(plan, estimator.epsilon)
    return plan


def refuse_errors(plan: Plan, estimator: Estimator) -> None:
    """Raise the errors of a plan if `on_bad_plan` is "raise"."""
    if estimator.on_bad_plan == "raise" and plan.errors:
        raise BadPlanError(
            f"this fit cannot work: {'. '.join(plan.errors)}. To fit anyway, set "
            "on_bad_plan='warn'",
            plan,
        )


def spent_by(plan: Plan, inputs: Inputs) -> PrivacyForecast:
    """Return a forecast of `privacy_spent_`, in which no query is answered yet."""
    synthesis = inputs.synthesis
    stages = [stage for stage, _ in plan.stages]
    sources_of_tables: list[Any] = [inputs.method]
    if synthesis is not None:
        sources_of_tables.insert(0, synthesis.synthesizer)
    tables = [part.released_as for part in sources_of_tables if part.released_as]
    if inputs.first_release is not None:
        tables = [*inputs.first_release.release.names, *tables]
    are_exact = [event.is_exact for event in inputs.prior_events]
    for stage in stages:
        is_table = isinstance(stage, TableMechanism)
        are_exact.append(stage.is_exact if is_table else bounds_of(stage).exact)
    sources = [source_of_noise(inputs.estimator), getattr(synthesis, "generator", None)]
    if inputs.prefix is not None:
        sources.append(inputs.prefix.synthesis.generator)
    unsafe = [stage for stage in stages if getattr(stage, "caveat", None) is not None]
    caveats = dict.fromkeys(f"{type(stage).__name__}: {stage.caveat}" for stage in unsafe)
    n_queries = plan.n_queries
    if inputs.n_teachers is not None:  # for each target
        n_queries *= inputs.target.n_targets
    return PrivacyForecast(
        epsilon=plan.epsilon,
        delta=float(inputs.estimator.delta) if plan.delta is None else plan.delta,
        composition=plan.composition,
        unit=inputs.neighbors.unit,
        relation=inputs.neighbors.relation,
        n_teachers=inputs.n_teachers,
        n_queries=n_queries,
        n_answered=0,
        arithmetic="exact" if plan.test is None and all(are_exact) else "real",
        generator="seed" if "seed" in sources else "system",
        n_synthetic=0 if synthesis is None else inputs.n_public,
        schema="declared" if synthesis is None else synthesis.schema_source,
        not_covered=(*inputs.not_covered, *caveats),
        tables=tuple(tables),
        extra_releases=tuple(str(release.describe()) for release in inputs.extra_releases),
        branches=tuple(map(str, plan.branches)),
        fit_number=inputs.fit_number,
        guarantee=None if plan.guarantee is None else finished(plan.guarantee),
    )


def source_of_noise(estimator: Estimator) -> str:
    """Return the value of `privacy_spent_.generator`: "system" or "seed"."""
    return "system" if estimator.random_state is None else "seed"


# --- forecast and warnings ------------------------------------------------------------------------


def forecast(inputs: Inputs, plan: Plan) -> Plan:
    """Add the forecast, errors and warnings to a plan, from public numbers alone."""
    spent = spent_of(plan)
    n_records = inputs.neighbors.n_records
    summary, warnings, errors = inputs.release.forecast(inputs, plan)
    rows = {}
    if inputs.synthesis is not None:
        synthesizer = inputs.synthesis.synthesizer
        sizes = {"n_records": n_records, "n_classes": inputs.target.n_classes}
        rows["synthesizer"] = synthesizer
        rows["rows_cost"] = _rows_cost(inputs, synthesizer.describe(**sizes))
        errors_of_rows = synthesizer.errors(**sizes)
        if not errors_of_rows:  # errors replace the warning
            of_schema = synthesizer.schema_warning()
            warnings = (synthesizer.forecast(**sizes), of_schema, *warnings)
        errors = (*errors_of_rows, *errors)
    of_delta = large_delta(spent.delta, n_teachers=spent.n_teachers, n_records=n_records)
    found = (of_delta, *warnings, *_about_columns(inputs))
    return dataclasses.replace(
        plan,
        method_summary=dataclasses.replace(
            summary, n_records=n_records, reason=inputs.choice.reason
        ),
        extra_releases=_costs_of_extra_releases(inputs, spent),
        errors=tuple(map(str, (*inputs.errors, *errors))),
        warnings=tuple(str(warning) for warning in found if warning is not None),
        **rows,
    )


def warn_of_plan(plan: Plan, epsilon: float | None) -> None:
    """Issue the errors, warnings and findings of a plan as warnings.

    Parameters
    ----------
    plan : Plan
        Plan with its forecast.
    epsilon : float or None
        Epsilon limit of the fit. If None, `WeakPromise`, the warning about a large epsilon, is
        omitted.
    """
    spent = spent_of(plan)
    warn_if_seeded(spent)
    with suppress_output():  # a user's mechanism may print made-up votes
        findings = plan.findings
    if epsilon is None:
        findings = tuple(finding for finding in findings if not isinstance(finding, WeakPromise))
    for text in (*plan.errors, *plan.warnings, *map(str, findings)):
        warn(text)


def _about_columns(inputs: Inputs) -> list[str]:
    """Return warnings about columns of public rows or, without public rows, of the schema."""
    if inputs.rows_are_to_draw:
        schema = getattr(inputs.known_synthesis.synthesizer, "schema_", None)
        n_categories = schema.n_categories if isinstance(schema, Columns) else {}
        names = [name for name, number in n_categories.items() if number > MOST_VALUES]
        if not names:
            return []
        return [
            f"columns {first_names(names)} declare more than {MOST_VALUES} categories. The noise "
            "on rare categories is as large as on common ones: join categories, or drop the columns"
        ]
    was_polled = inputs.private is None and inputs.release.releases_proba  # `poll` has warned
    if was_polled or inputs.synthesis is not None:
        return []
    if inputs.warnings_of_columns is None:
        return useless_columns(inputs.X_public)
    return inputs.warnings_of_columns()


def _rows_cost(inputs: Inputs, sums: Any) -> RowsCost:
    """Return the cost of the synthetic rows, with a description of their class sums."""
    synthesizer = inputs.known_synthesis.synthesizer
    cost = stated_cost(synthesizer, inputs.neighbors)
    is_pure = stated_event(synthesizer, inputs.neighbors).is_pure
    epsilon, _, delta = guarantee(cost, inputs.estimator.delta, is_pure=is_pure)
    return RowsCost(
        float(epsilon),
        float(delta),
        n_rows=int(synthesizer.n_rows),
        sums=sums,
        schema=synthesizer.describe_schema(),
    )


def _costs_of_extra_releases(inputs: Inputs, spent: PrivacySpent) -> tuple[Any, ...]:
    """Return descriptions of the extra releases, each with its epsilon."""
    costs = [stated_cost(release, inputs.neighbors) for release in inputs.extra_releases]
    epsilons = [cost.epsilon(inputs.estimator.delta)[0] for cost in costs]
    return tuple(zip(spent.extra_releases, epsilons, strict=True))
