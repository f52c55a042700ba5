"""What a plan is told of those who vote, before a fit; it is refused or warned of here."""

import dataclasses
import math

from ..accountant import PrivacyForecast, RecordVoters, RowsCost
from ..accountant.advice import large_delta, obstacles_to, weak_promise
from ..column_sums import ColumnSums
from ..exceptions import BadPlanError, warn
from ..isolation import Quiet
from ..teachers import SiteEnsemble
from .nobody import OnlySums
from .seeds import warn_if_seeded
from .table import public_numbers

#: Why those vote who do by default, by whether they are records.
_BY_DEFAULT = {
    True: "by default: they suit small epsilons, and cost as much for many labels as for one",
    False: "by default, as a parameter speaks of teachers",
}


def forecast(estimator, task, plan, spent):
    """Return a plan with all that a person needs to know of it, by public numbers alone.

    Parameters
    ----------
    estimator : PATEClassifier
        Its parameters say why those vote who do.
    task : _Task
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
    problems = [_large_delta(spent, task.ballots)]
    obstacles = [*task.obstacles]
    if task.synthesis is not None:
        told["synthesizer"] = task.synthesis.synthesizer
        told["rows_cost"] = _rows_cost(task, estimator.delta)
        problems.append(told["rows_cost"].problem)
        obstacles += task.synthesis.synthesizer.obstacles(**_sizes(task))
    if not task.is_table:
        told["voters"] = dataclasses.replace(
            plan.voters,
            names=_names(task.electorate),
            n_records=task.ballots.n_records,
            why=_why(estimator, task),
            are_sites=isinstance(task.electorate, SiteEnsemble),
        )
        with Quiet():  # a mechanism of the user's may print the votes that are made up for it
            told_of = dataclasses.replace(plan, voters=told["voters"])
            obstacles += obstacles_to(told_of)
    elif task.electorate is not None:
        cells = task.electorate.forecast(
            **public_numbers(task, plan), are_drawn=task.rows_are_to_draw
        )
        told["voters"] = _records(estimator, task, cells)
        problems += cells.problems
        obstacles += cells.obstacles
    elif task.voted is not None:  # `poll` has told of the rest
        cells = task.voted.forecast(**public_numbers(task, plan), are_drawn=True)
        obstacles += cells.obstacles
    problems = tuple(problem for problem in problems if problem is not None)
    return dataclasses.replace(plan, problems=problems, obstacles=tuple(obstacles), **told)


def refuse_hopeless(plan):
    """Refuse a plan from which nothing can be learnt."""
    if plan.obstacles:
        raise BadPlanError(
            f"this cannot work: {'. '.join(plan.obstacles)}. To try all the same, set "
            "on_bad_plan='warn'. Nothing was spent",
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


def _records(estimator, task, cells):
    """Return the records that vote, in public numbers."""
    return RecordVoters(
        n_cells=cells.n_cells,
        n_classes=len(task.classes),
        n_ballots=cells.n_ballots,
        n_records=task.ballots.n_records,
        explained=cells.explained,
        n_columns=cells.n_columns,
        name=type(task.electorate).__name__,
        why=_why(estimator, task),
    )


def _names(electorate):
    """Return the classes of the teachers' classifiers; their parameters may be long."""
    if electorate is None:
        return ()
    return tuple(type(classifier).__name__ for classifier in electorate.classifiers())


def _why(estimator, task):
    """Say why those vote who do."""
    if task.electorate is None:
        return "votes were given"
    if isinstance(task.electorate, OnlySums):
        return "by default, where cells of drawn rows would hold few records or tell little"
    if isinstance(task.electorate, ColumnSums) and estimator.base_estimator is None:
        return "by default, as cells explain little of how public rows differ"
    if estimator.base_estimator is None:
        return _BY_DEFAULT[task.is_table]
    if isinstance(estimator.base_estimator, list):
        return "base_estimator is a list"
    return f"base_estimator is a {type(estimator.base_estimator).__name__}"


def _rows_cost(task, delta):
    """Return what the synthesizer takes for its rows."""
    cost = task.synthesis.cost()
    epsilon, _ = cost.epsilon(delta)
    if task.synthesis.synthesizer.is_pure and cost.pure < math.inf and cost.delta == 0:
        epsilon, delta = cost.pure, 0.0
    return RowsCost(
        float(epsilon),
        float(delta),
        adjacency=str(task.ballots.adjacency),
        n_rows=int(task.synthesis.synthesizer.n_rows),
        problem=task.synthesis.synthesizer.forecast(**_sizes(task)),
        sums=task.synthesis.synthesizer.describe(**_sizes(task)),
    )


def _sizes(task):
    return {"n_records": task.ballots.n_records, "n_classes": len(task.classes)}
