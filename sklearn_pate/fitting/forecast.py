"""What a plan is told of those who vote, before a fit; it is refused or warned of here."""

import math
from dataclasses import replace

from ..accountant import PrivacyForecast, RowsCost
from ..accountant.advice import large_delta, weak_promise
from ..column_sums import ColumnSums
from ..exceptions import BadPlanError, warn
from ..isolation import Quiet
from ..releases.table import OnlySums
from .seeds import warn_if_seeded

#: Why those vote who do by default, by whether they are records.
_BY_DEFAULT = {
    True: "by default: they suit small epsilons, and cost as much for many labels as for one",
    False: "by default, as a parameter speaks of teachers",
}


def forecast(given, plan, spent):
    """Return a plan with all that a person needs to know of it, by public numbers alone.

    Parameters
    ----------
    given : Given
        What the fit was given.
    plan : Plan
        From the accountant.
    spent : PrivacySpent
        What will be spent, with no query answered yet.

    Returns
    -------
    Plan
    """
    told = {"spent": PrivacyForecast.of(spent)}
    problems = [_large_delta(spent, given.ballots)]
    obstacles = [*given.obstacles]
    if given.synthesis is not None:
        told["synthesizer"] = given.synthesis.synthesizer
        told["rows_cost"] = _rows_cost(given)
        problems.append(told["rows_cost"].problem)
        obstacles += given.synthesis.synthesizer.obstacles(**_sizes(given))
    told["beside"] = _costs_beside(given)
    told["voters"], of_voters, against_them = given.release.forecast(given, plan, _why(given))
    problems = tuple(problem for problem in (*problems, *of_voters) if problem is not None)
    return replace(plan, problems=problems, obstacles=(*obstacles, *against_them), **told)


def refuse_hopeless(plan):
    """Refuse a plan from which nothing can be learnt."""
    if plan.obstacles:
        raise BadPlanError(
            f"this cannot work: {'. '.join(plan.obstacles)}. To try all the same, set "
            "on_bad_plan='warn'",
            plan,
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


def _large_delta(spent, ballots):
    """Say that delta is too large for these voters; None if it is not, or is not spent."""
    if spent.delta == 0:
        return None
    n_teachers = getattr(ballots, "n_teachers", None)
    return large_delta(spent.delta, n_teachers=n_teachers, n_records=ballots.n_records)


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
    cost = given.synthesis.cost()
    delta = given.estimator.delta
    epsilon, _ = cost.epsilon(delta)
    if synthesizer.is_pure and cost.pure < math.inf and cost.delta == 0:
        epsilon, delta = cost.pure, 0.0
    return RowsCost(
        float(epsilon),
        float(delta),
        adjacency=str(given.ballots.adjacency),
        n_rows=int(synthesizer.n_rows),
        problem=synthesizer.forecast(**_sizes(given)),
        sums=synthesizer.describe(**_sizes(given)),
    )


def _costs_beside(given):
    """Return what else is released, each with the epsilon that it takes."""
    epsilons = [cost.epsilon(given.estimator.delta)[0] for cost in given.beside.costs()]
    return tuple(zip(given.beside.words, epsilons, strict=True))


def _sizes(given):
    return {"n_records": given.ballots.n_records, "n_classes": len(given.classes)}
