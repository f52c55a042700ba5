"""What a fit will publish and spend, decided and tried out before anything is paid for."""

import dataclasses

from ..accountant import PrivacySpent
from ..aggregators import TableMechanism
from ..electorate import TableElectorate
from ..rdp.facts import facts_of
from ..releases.published import check_class_weight, student_of
from ..releases.rows import weakest
from ..releases.table import TableRelease
from ..students import check_scored_alone, rehearse_student
from .forecast import forecast, refuse_hopeless, warn_of_plan
from .given import release_of, temperature_of
from .missing import check_missing
from .synthesizers import rehearse_teachers
from .voters import make_electorate, voters


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
    rows_are_exact = synthesis is None or synthesis.synthesizer.is_exact
    is_exact = _is_exact(plan) and rows_are_exact and given.beside.is_exact
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
        n_teachers=getattr(ballots, "n_teachers", None),  # records may vote themselves
        n_queries=plan.n_queries,
        n_answered=0,
        arithmetic="exact" if is_exact else "real",
        generator=weakest(source_of_noise(given.estimator), synthesis),
        n_synthetic=0 if synthesis is None else given.n_public,
        not_covered=(*given.not_covered, *caveats),
        beside=given.beside.words,
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
    given.beside.rehearse(given.X_public, given.classes)
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
