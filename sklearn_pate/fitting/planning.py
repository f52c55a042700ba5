"""What a fit will publish and spend, decided and tried out before anything is paid for."""

import dataclasses
import math

from ..accountant import PrivacyForecast, PrivacySpent, RowsCost
from ..accountant.advice import large_delta, weak_promise
from ..accountant.table import stated_cost
from ..aggregators import TableMechanism
from ..column_sums import ColumnSums
from ..exceptions import BadPlanError, warn
from ..isolation import Quiet
from ..rdp.facts import facts_of
from ..releases.rows import moved_by
from .rehearsal import rehearse
from .seeds import warn_if_seeded
from .voters import OnlySums

#: Why those vote who do by default, by whether they are records.
_BY_DEFAULT = {
    True: "by default: they suit small epsilons, and cost as much for many labels as for one",
    False: "by default, as a parameter speaks of teachers",
}


def make_plan(given):
    """Return what to ask and what it costs, by public numbers; refuse to exceed a budget.

    Parameters
    ----------
    given : Given
        What the fit was given.

    Returns
    -------
    Plan
    """
    estimator = given.estimator
    _check_ledger(given)
    plan = spending_plan(given)
    if estimator.ledger is not None:
        estimator.ledger.check(plan.spent, given.cost_to_pay(plan))
    rehearse(given, plan)
    return forecast(given, plan)


def spending_plan(given):
    """Return what to ask and what it costs; nothing is tried out."""
    plan = given.release.plan(given)
    return dataclasses.replace(plan, spent=spent_by(plan, given))


def accepted(plan, estimator):
    """Return a plan; refuse it or warn of what is bad about it."""
    if estimator.on_bad_plan == "raise" and plan.obstacles:
        raise BadPlanError(
            f"this cannot work: {'. '.join(plan.obstacles)}. To try all the same, set "
            "on_bad_plan='warn'",
            plan,
        )
    warn_of_plan(plan, estimator.epsilon)
    return plan


def _check_ledger(given):
    """Refuse noise that follows from a seed where a ledger adds costs up."""
    if given.estimator.ledger is None:
        return
    if given.synthesis is not None and given.synthesis.generator == "seed":
        raise ValueError(
            "ledger refuses rows that were drawn with a random_state: two draws with one seed "
            "share noise; draw them again with random_state=None"
        )
    if given.estimator.random_state is not None:
        raise ValueError(
            "ledger refuses fits with a random_state: two fits with one seed, for instance of "
            f"clones in a search, share noise; got random_state={given.estimator.random_state!r}, "
            "give random_state=None"
        )


def spent_by(plan, given):
    """Return what `privacy_spent_` will say, with no query answered yet."""
    ballots = given.ballots
    synthesis = given.synthesis
    are_exact = [part.is_exact for part in given.released_before]
    for stage, _ in plan.stages:
        is_table = isinstance(stage, TableMechanism)
        are_exact.append(stage.is_exact if is_table else facts_of(stage).exact)
    sources = (source_of_noise(given.estimator), getattr(synthesis, "generator", None))
    caveats = dict.fromkeys(
        f"{type(stage).__name__}: {stage.caveat}"
        for stage, _ in plan.stages
        if getattr(stage, "caveat", None) is not None
    )
    return PrivacySpent(
        epsilon=plan.epsilon,
        delta=float(given.estimator.delta) if plan.delta is None else plan.delta,
        method=plan.method,
        unit=ballots.unit,
        adjacency=str(ballots.adjacency),  # what is published is plain text
        n_teachers=ballots.n_teachers,
        n_queries=plan.n_queries,
        n_answered=0,
        arithmetic="exact" if plan.test is None and all(are_exact) else "real",
        generator="seed" if "seed" in sources else "system",
        n_synthetic=0 if synthesis is None else given.n_public,
        not_covered=(*given.not_covered, *caveats),
        tables=_tables(given),
        beside=tuple(str(release.describe()) for release in given.beside),
        fit_number=given.fit_number,
    )


def _tables(given):
    """Say what is released of records that vote: of the rows' synthesizer, and of the votes."""
    sources = [given.electorate]
    if given.synthesis is not None:
        sources.insert(0, given.synthesis.synthesizer)
    return tuple(source.released_as for source in sources if source.released_as)


def source_of_noise(estimator):
    """Return what `privacy_spent_.generator` says."""
    return "system" if estimator.random_state is None else "seed"


# --- what a person needs to know of a plan -------------------------------------------------------


def forecast(given, plan):
    """Return a plan with all that a person needs to know of it, by public numbers alone."""
    spent = plan.spent
    told = {"spent": PrivacyForecast.of(spent)}
    problems = []
    if spent.delta > 0:
        sizes = {"n_teachers": spent.n_teachers, "n_records": given.ballots.n_records}
        problems.append(large_delta(spent.delta, **sizes))
    obstacles = [*given.obstacles]
    if given.synthesis is not None:
        told["synthesizer"] = given.synthesis.synthesizer
        told["rows_cost"] = _rows_cost(given)
        problems.append(given.synthesis.synthesizer.forecast(**_sizes(given)))
        obstacles += given.synthesis.synthesizer.obstacles(**_sizes(given))
    told["beside"] = _costs_beside(given, spent)
    told["voters"], of_voters, against_them = given.release.forecast(given, plan, _why(given))
    problems = tuple(problem for problem in (*problems, *of_voters) if problem is not None)
    return dataclasses.replace(
        plan, problems=problems, obstacles=(*obstacles, *against_them), **told
    )


def warn_of_plan(plan, epsilon):
    """Warn of what is bad about a plan.

    Parameters
    ----------
    plan : Plan
        With its voters.
    epsilon : float or None
        The cap. Who sets none knows that there may be no promise.
    """
    warn_if_seeded(plan.spent)
    known = weak_promise(plan.epsilon, plan.spent.unit) if epsilon is None else None
    with Quiet():  # a mechanism of the user's may print the votes that are made up for it
        advice = plan.advice
    for text in advice:
        if text != known:
            warn(text)


def _why(given):
    """Say why those vote who do."""
    base_estimator = given.estimator.base_estimator
    if given.private is None:
        return "votes were given"
    if isinstance(given.electorate, OnlySums):
        return "by default, where cells of drawn rows would hold few records or tell little"
    if isinstance(given.electorate, ColumnSums) and base_estimator is None:
        explained = given.electorate.cells_explain
        explain = "few records tell more of numbers in sums than in cells"
        if explained is not None:
            explain = f"cells would explain {explained:.0%} of how public rows differ"
        return f"by default, as {explain}; sums take all of epsilon"
    if base_estimator is None:
        return _BY_DEFAULT[given.release.gives_rates]
    if isinstance(base_estimator, list):
        return "base_estimator is a list"
    return f"base_estimator is a {type(base_estimator).__name__}"


def _rows_cost(given):
    """Return what the synthesizer takes for its rows."""
    synthesizer = given.synthesis.synthesizer
    cost = stated_cost(synthesizer, moved_by(given.ballots))
    delta = given.estimator.delta
    epsilon, _ = cost.epsilon(delta)
    if synthesizer.is_pure and cost.pure < math.inf and cost.delta == 0:
        epsilon, delta = cost.pure, 0.0
    return RowsCost(
        float(epsilon),
        float(delta),
        adjacency=str(given.ballots.adjacency),
        n_rows=int(synthesizer.n_rows),
        sums=synthesizer.describe(**_sizes(given)),
    )


def _costs_beside(given, spent):
    """Return what else is released, each with the epsilon that it takes."""
    n_moved = moved_by(given.ballots) if given.beside else 0
    costs = [stated_cost(release, n_moved) for release in given.beside]
    epsilons = [cost.epsilon(given.estimator.delta)[0] for cost in costs]
    return tuple(zip(spent.beside, epsilons, strict=True))


def _sizes(given):
    return {"n_records": given.ballots.n_records, "n_classes": len(given.classes)}
