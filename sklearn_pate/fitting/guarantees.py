"""How the epsilon of a plan follows from the steps of its fit, for the privacy statement.

The functions follow `accounting.budget`, which computes the epsilon: the costs of the releases
before the labels and of the labels are added, and a filter or a private test replaces the cost of
the labels. Everything here depends on the plan, and so on public numbers alone.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from typing import TYPE_CHECKING, Any

from ..accounting.budget import guarantee, stated_event
from ..aggregators import TableMechanism
from ..rdp import DEFAULT_ORDERS
from ..rdp.event import record_of
from ..rdp.records import (
    Record,
    composition,
    filter_record,
    private_test,
    stated_record,
    sum_of_parts,
)

if TYPE_CHECKING:
    from ..accounting.plan import Plan
    from ..rdp.cost import Cost
    from .inputs import Inputs


def with_guarantee(plan: Plan, inputs: Inputs) -> Plan:
    """Return a plan with its guarantee, from the steps of the fit.

    Parameters
    ----------
    plan : Plan
        Plan of the labels and of all releases before them, from `VotesRelease.plan`.
    inputs : Inputs
        Inputs of the fit.
    """
    prior, labels = prior_records(inputs), labels_records(plan, inputs)
    cap, limit_of_delta = inputs.cap
    delta = limit_of_delta if plan.delta is None else plan.delta
    if plan.test is not None:
        test = plan.test
        part = private_test(
            labels,
            epsilon=test.epsilon,
            delta=test.delta,
            order=test.order,
            limit=test.limit,
            pass_probabilities=test.pass_probability_at,
        )
        if prior:
            cost = inputs.prior_cost(DEFAULT_ORDERS)
            first = _before_test(prior, cost, limit_of_delta)
            part = sum_of_parts([first, part], epsilon=plan.epsilon, delta=delta)
        return dataclasses.replace(plan, guarantee=part)
    order = None
    if plan.budget is not None:
        order = plan.budget.order
        labels = [filter_record(labels, order=order, limit=plan.budget.limit)]
    part = composition([*prior, *labels], plan.cost, epsilon=plan.epsilon, delta=delta, order=order)
    return dataclasses.replace(plan, guarantee=part)


def _before_test(prior: list[Record], cost: Cost, delta: float) -> Record:
    """Return the guarantee of the releases before a private test; see `budget.plan_queries`."""
    if cost.pure < math.inf:
        return composition(prior, cost, epsilon=cost.pure, delta=cost.delta)
    return composition(prior, cost, epsilon=cost.epsilon(delta / 2)[0], delta=delta / 2)


def after_rows(labels: Plan, inputs: Inputs, *, epsilon: float, delta: float) -> Record:
    """Return the guarantee of published rows, and of labels whose plan may depend on them.

    Parameters
    ----------
    labels : Plan
        Plan of the labels, with its guarantee.
    inputs : Inputs
        Inputs of the fit, with its synthesizer.
    epsilon, delta : float
        Sums of both; each has half of the delta of the fit.
    """
    cost = inputs.prior_cost(DEFAULT_ORDERS)
    half = inputs.cap[1] / 2
    of_rows, _, delta_of_rows = guarantee(cost, half, is_pure=inputs.prior_is_pure)
    rows = composition(prior_records(inputs), cost, epsilon=of_rows, delta=delta_of_rows)
    if labels.guarantee is None:
        raise ValueError("the plan of the labels has no guarantee")
    return sum_of_parts([rows, labels.guarantee], epsilon=epsilon, delta=delta)


def prior_records(inputs: Inputs, n_steps: int | None = None) -> list[Record]:
    """Return the records of the synthesizer, if any, and of the user's releases.

    Parameters
    ----------
    inputs : Inputs
        Inputs of the fit.
    n_steps : int or None, default=None
        Number of first steps of the synthesizer alone; None for all steps and releases.
    """
    records: list[Record] = []
    if inputs.synthesis is not None:
        synthesizer = inputs.synthesis.synthesizer
        event = stated_event(synthesizer, inputs.neighbors)
        if n_steps is not None and n_steps < synthesizer.n_steps:
            event = synthesizer.event(inputs.neighbors, n_steps=n_steps)
        records += event.records(synthesizer.released_as)
    if n_steps is None:
        for release in inputs.extra_releases:
            event = stated_event(release, inputs.neighbors)
            records += event.records(str(release.describe()))
    return records


def labels_records(plan: Plan, inputs: Inputs) -> list[Record]:
    """Return the records of the table of votes, or of the queries of each stage."""
    records = []
    for mechanism, n_queries in plan.stages:
        if isinstance(mechanism, TableMechanism):
            name = inputs.method.released_as or "a noisy table"
            records.append(record_of(mechanism, name, inputs.contribution))
        else:
            is_all = len(plan.stages) == 1 and plan.budget is None and plan.test is None
            n_targets_with = Counter(inputs.target.n_values_by_target)
            own_cost = plan.own_cost if is_all and len(n_targets_with) == 1 else None
            for n_classes, n_targets in n_targets_with.items():
                n_of_all = n_targets * n_queries  # a query of each target, for each row
                name = f"{n_of_all} queries of {inputs.n_teachers} teachers"
                if inputs.target.n_targets > 1:
                    name += f", on {n_queries} rows for {_targets(n_targets, n_classes, inputs)}"
                records.append(_of_queries(mechanism, name, n_of_all, n_classes, inputs, own_cost))
    return records


def _targets(n_targets: int, n_classes: int, inputs: Inputs) -> str:
    """Return some of several targets in words, by their number of classes or levels."""
    nouns = inputs.target.kind.value_nouns
    return f"{n_targets} {'target' if n_targets == 1 else 'targets'} of {n_classes} {nouns}"


def _of_queries(
    mechanism: Any,
    name: str,
    n_queries: int,
    n_classes: int,
    inputs: Inputs,
    own_cost: Cost | None,
) -> Record:
    """Return the record of a stage; its noise is known for mechanisms with their own record.

    `own_cost` is the cost of the stage, if it is known; for a user's mechanism, to compute it again
    may be slow.
    """
    is_stated = "queries_record" in vars(type(mechanism))
    if not is_stated and own_cost is not None:
        return stated_record(name, own_cost)
    costs = mechanism.costs(n_teachers=inputs.n_teachers, n_classes=n_classes)
    if not is_stated:
        return stated_record(name, costs(n_queries))
    return mechanism.queries_record(name, n_queries, n_classes=n_classes, cost=costs(1))
