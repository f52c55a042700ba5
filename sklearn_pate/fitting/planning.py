"""What a fit will publish and spend, decided and tried out before anything is paid for."""

import dataclasses
import math

from ..accountant import PrivacyForecast, PrivacySpent, RowsCost
from ..accountant.advice import large_delta, weak_promise
from ..aggregators import TableMechanism
from ..column_sums import ColumnSums
from ..electorate import TableElectorate
from ..exceptions import BadPlanError, warn
from ..isolation import Quiet
from ..rdp.facts import facts_of
from ..releases import beside
from ..releases.published import check_class_weight, student_of
from ..releases.rows import moved_by, stated_cost
from ..releases.table import OnlySums, TableRelease
from ..students import check_scored_alone, rehearse_student
from .given import release_of, temperature_of
from .missing import check_missing
from .seeds import warn_if_seeded
from .synthesizers import rehearse_teachers
from .voters import make_electorate, voters

#: Why those vote who do by default, by whether they are records.
_BY_DEFAULT = {
    True: "by default: they suit small epsilons, and cost as much for many labels as for one",
    False: "by default, as a parameter speaks of teachers",
}


def make_plan(given, *, is_forecast=True):
    """Return what to ask and what it costs, by public numbers; refuse to exceed a budget.

    Parameters
    ----------
    given : Given
        What the fit was given.
    is_forecast : bool, default=True
        Whether the plan says what a person needs to know of it.

    Returns
    -------
    Plan
    """
    estimator = given.estimator
    _check_ledger(given)
    plan = given.release.plan(given)
    spent = spent_by(plan, given)
    if estimator.ledger is not None:
        estimator.ledger.check(spent, given.cost_to_pay(plan))
    _rehearse(given, plan)
    plan = dataclasses.replace(plan, spent=spent)
    return forecast(given, plan, spent) if is_forecast else plan


def accepted(plan, estimator):
    """Return a plan; refuse it or warn of what is bad about it."""
    if estimator.on_bad_plan == "raise":
        refuse_hopeless(plan)
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
    is_exact = _is_exact(plan) and all(part.is_exact for part in given.released_before)
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
        arithmetic="exact" if is_exact else "real",
        generator="seed" if "seed" in sources else "system",
        n_synthetic=0 if synthesis is None else given.n_public,
        not_covered=(*given.not_covered, *caveats),
        beside=tuple(str(release.describe()) for release in given.beside),
        fit_number=given.fit_number,
    )


def source_of_noise(estimator):
    """Return what `privacy_spent_.generator` says."""
    return "system" if estimator.random_state is None else "seed"


def _is_exact(plan):
    """Whether nothing that a plan draws is rounded."""
    if plan.test is not None:
        return False
    return all(
        stage.is_exact if isinstance(stage, TableMechanism) else facts_of(stage).exact
        for stage, _ in plan.stages
    )


def _rehearse(given, plan):
    """Try the user's own mechanisms and student on made-up data, before anything is spent."""
    estimator = given.estimator
    release = given.release
    student = given.student()
    gives_rates = release.gives_rates
    class_weight = getattr(estimator, "class_weight", None)
    check_class_weight(class_weight, given.classes, student, gives_rates=gives_rates)
    release.rehearse(given, plan)
    if given.beside:
        beside.rehearse(given.beside, given.X_public, given.private)
    if given.rows_are_to_draw:
        rehearse_teachers(given, given.synthesis.synthesizer)
    check_missing_in(given, are_drawn=given.synthesis is not None)
    # A student like the teachers is not tried: it trains after them, so they would fail first.
    # Nor is one for a single query: most classifiers cannot be trained on a single class.
    n_queries = min(plan.n_queries, release.most_rehearsed)
    if estimator.student is not None and n_queries > 1:
        rehearse_student(
            estimator.student,
            given.X_public,
            n_queries,
            n_classes=len(given.classes),
            soft=given.temperature is not None,
            levels=given.classes if estimator.predicts_numbers else None,
        )


def check_missing_in(given, *, are_drawn):
    """Refuse missing values in public rows that teachers or student do not take."""
    if given.release.gives_rates and given.estimator.student is None:
        return  # it is of this library, and takes them
    check_missing(
        given.X_public,
        [] if given.private is None else given.electorate.classifiers(),
        given.student(),
        n_classes=len(given.classes),
        are_drawn=are_drawn,
    )


def check_scored(estimator, X_public, n_queries):
    """For a private search: refuse a student whose prediction for a row depends on others."""
    if isinstance(voters(estimator), TableElectorate):
        if estimator.student is None:  # of this library, and tested
            return
        n_queries = min(n_queries, TableRelease.most_rehearsed)
    check_scored_alone(
        student_of(estimator, make_electorate(estimator)),
        X_public,
        n_queries,
        n_classes=len(estimator.classes),
        soft=temperature_of(estimator, release_of(make_electorate(estimator))) is not None,
    )


# --- what a person needs to know of a plan -------------------------------------------------------


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
    told["beside"] = _costs_beside(given, spent)
    told["voters"], of_voters, against_them = given.release.forecast(given, plan, _why(given))
    problems = tuple(problem for problem in (*problems, *of_voters) if problem is not None)
    return dataclasses.replace(
        plan, problems=problems, obstacles=(*obstacles, *against_them), **told
    )


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
    return large_delta(spent.delta, n_teachers=ballots.n_teachers, n_records=ballots.n_records)


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
        problem=synthesizer.forecast(**_sizes(given)),
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
