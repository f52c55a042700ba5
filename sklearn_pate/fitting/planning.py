"""What a fit will publish and spend, decided and tried out before anything is paid for."""

import dataclasses

import numpy as np
import pandas as pd
from scipy import sparse

from .._numbers import first_names
from .._sklearn import _num_samples, _safe_indexing
from ..accountant import PrivacyForecast, RowsCost
from ..accountant.plan import large_delta, weak_promise
from ..accountant.pricing import guarantee, stated_cost, stated_event
from ..aggregators import TableMechanism
from ..column_sums import ColumnSums
from ..exceptions import BadPlanError, warn
from ..isolation import Quiet, is_ours, seeded
from ..public import MOST_VALUES, table_of, useless_columns
from ..rdp.facts import facts_of
from ..releases import ahead, release_of
from ..releases.published import check_class_weight, student_of
from ..students import check_scored_alone, rehearse_student, unfitted_copy
from ..synthesis.columns import Columns
from ..teachers.training import Part, Settings, Task, fit_and_predict
from .given import temperature_of, warn_if_seeded
from .voters import OnlySums, make_electorate


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
    plan = spending_plan(given)
    if given.prefix is not None:
        given.prefix.check_plan(given, plan)
    ledger = given.estimator.ledger
    if ledger is not None:
        if plan.spent.generator == "seed":
            seed = given.estimator.random_state
            what = "rows that were drawn" if seed is None else "fits"
            raise ValueError(
                f"ledger refuses {what} with a random_state, as two of one seed share noise: use "
                f"random_state=None; got random_state={seed!r} in this fit"
            )
        given.check_ledger(plan)
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


def spent_by(plan, given):
    """Return what `privacy_spent_` will say, with no query answered yet."""
    synthesis = given.synthesis
    stages = [stage for stage, _ in plan.stages]
    voters = [given.electorate]
    if synthesis is not None:
        voters.insert(0, synthesis.synthesizer)
    are_exact = [event.is_exact for event in given.events_before]
    for stage in stages:
        is_table = isinstance(stage, TableMechanism)
        are_exact.append(stage.is_exact if is_table else facts_of(stage).exact)
    sources = [source_of_noise(given.estimator), getattr(synthesis, "generator", None)]
    if given.prefix is not None:
        sources.append(given.prefix.synthesis.generator)
    unsafe = [stage for stage in stages if getattr(stage, "caveat", None) is not None]
    caveats = dict.fromkeys(f"{type(stage).__name__}: {stage.caveat}" for stage in unsafe)
    return PrivacyForecast(
        epsilon=plan.epsilon,
        delta=float(given.estimator.delta) if plan.delta is None else plan.delta,
        method=plan.method,
        unit=given.neighbors.unit,
        relation=given.neighbors.relation,
        n_teachers=given.n_teachers,
        n_queries=plan.n_queries,
        n_answered=0,
        arithmetic="exact" if plan.test is None and all(are_exact) else "real",
        generator="seed" if "seed" in sources else "system",
        n_synthetic=0 if synthesis is None else given.n_public,
        not_covered=(*given.not_covered, *caveats),
        tables=tuple(voter.released_as for voter in voters if voter.released_as),
        beside=tuple(str(release.describe()) for release in given.beside),
        fit_number=given.fit_number,
    )


def source_of_noise(estimator):
    """Return what `privacy_spent_.generator` says."""
    return "system" if estimator.random_state is None else "seed"


# --- what a person needs to know of a plan -------------------------------------------------------


def forecast(given, plan):
    """Return a plan with all that a person needs to know of it, by public numbers alone."""
    spent = plan.spent
    n_records = given.neighbors.n_records
    told = {"beside": _costs_beside(given, spent)}
    voters, problems, obstacles = given.release.forecast(given, plan)
    told["voters"] = dataclasses.replace(voters, n_records=n_records, why=_why(given))
    if given.synthesis is not None:
        synthesizer = given.synthesis.synthesizer
        sizes = {"n_records": n_records, "n_classes": given.target.n_values}
        told["synthesizer"] = synthesizer
        told["rows_cost"] = _rows_cost(given, synthesizer.describe(**sizes))
        problems = (synthesizer.forecast(**sizes), *problems)
        obstacles = (*synthesizer.obstacles(**sizes), *obstacles)
    of_delta = large_delta(spent.delta, n_teachers=spent.n_teachers, n_records=n_records)
    problems = (of_delta, *problems, *_about_columns(given))
    told["problems"] = tuple(text for text in problems if text is not None)
    return dataclasses.replace(plan, obstacles=(*given.obstacles, *obstacles), **told)


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


def _about_columns(given):
    """Return warnings about columns, by public rows or, where there are none, by the schema."""
    if given.rows_are_to_draw:
        schema = getattr(given.synthesis.synthesizer, "schema_", None)
        n_categories = schema.n_categories if isinstance(schema, Columns) else {}
        names = [name for name, number in n_categories.items() if number > MOST_VALUES]
        if not names:
            return []
        return [
            f"columns {first_names(names)} declare more than {MOST_VALUES} categories, and the "
            "noise on each is that of a common one: join categories, or leave the columns out"
        ]
    was_told = given.private is None and given.release.gives_rates  # by `poll`
    return [] if was_told or given.synthesis is not None else useless_columns(given.X_public)


#: Why those vote who do by default, by whether they are records.
_BY_DEFAULT = {
    True: "by default: they suit small epsilons, and cost as much for many labels as for one",
    False: "by default, as a parameter speaks of teachers",
}


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


def _rows_cost(given, sums):
    """Return what the synthesizer takes for its rows."""
    synthesizer = given.synthesis.synthesizer
    cost = stated_cost(synthesizer, given.neighbors)
    is_pure = stated_event(synthesizer, given.neighbors).is_pure
    epsilon, _, delta = guarantee(cost, given.estimator.delta, is_pure=is_pure)
    return RowsCost(
        float(epsilon),
        float(delta),
        n_rows=int(synthesizer.n_rows),
        sums=sums,
    )


def _costs_beside(given, spent):
    """Return what else is released, each with the epsilon that it takes."""
    costs = [stated_cost(release, given.neighbors) for release in given.beside]
    epsilons = [cost.epsilon(given.estimator.delta)[0] for cost in costs]
    return tuple(zip(spent.beside, epsilons, strict=True))


# --- what is tried out: mechanisms, teachers, students, missing values ----------------------------


#: So many rows with missing values are tried, and so many without, or five for each class.
_N_TRIED = 20
_N_COMPLETE = 50

#: Encoders and imputers want NaN in its place.
_NAN_FOR_NA = """. Where text holds pandas.NA, make it NaN:
    text = dict.fromkeys(X_public.select_dtypes(["object", "string"]), object)
    X, X_public = (t.astype(text).where(t.notna(), float("nan")) for t in (X, X_public))"""


def rehearse(given, plan):
    """Try the user's own mechanisms and student on made-up data, before anything is spent."""
    estimator = given.estimator
    release = given.release
    weight = getattr(estimator, "class_weight", None)
    check_class_weight(
        weight,
        given.target.values,
        given.student(),
        given.X_public,
        gives_rates=release.gives_rates,
    )
    release.rehearse(given, plan)
    if given.beside:
        ahead.rehearse(given.beside, given.X_public, given.private)
    if given.rows_are_to_draw:
        rehearse_teachers(given, given.synthesis.synthesizer)
    check_missing(given, are_drawn=given.synthesis is not None)
    # A student like the teachers is not tried: it trains after them, so they would fail first.
    # Nor is one for a single query: most classifiers cannot be trained on a single class.
    n_queries = min(plan.n_queries, release.most_rehearsed)
    if estimator.student is not None and n_queries > 1:
        rehearse_student(
            estimator.student,
            given.X_public,
            n_queries,
            target=given.target,
            soft=release.gives_rates or given.temperature is not None,
        )


def check_scored(estimator, X_public, n_queries):
    """For a private search: refuse a student whose prediction for a row depends on others."""
    electorate = make_electorate(estimator)
    release = release_of(electorate)
    if release.gives_rates and estimator.student is None:
        return  # it is of this library, and tested
    check_scored_alone(
        student_of(estimator, electorate),
        X_public,
        min(n_queries, release.most_rehearsed),
        target=estimator._declared_target(),
        soft=release.gives_rates or temperature_of(estimator, release) is not None,
    )


def rehearse_teachers(given, synthesizer):
    """Try the teachers on rows drawn from the schema alone, before rows are paid for.

    Parameters
    ----------
    given : Given
        Of a fit whose rows are to be drawn.
    synthesizer : Synthesizer
        Declared.
    """
    target = given.target
    n_records, n_teachers = given.neighbors.n_records, given.n_teachers
    n_train = 500 if None in (n_records, n_teachers) else min(500, n_records // n_teachers)
    # Fewer might be of one class, which is not learnt
    n_train = max(n_train, 20, 2 * target.n_values)
    rows = synthesizer.rehearsal_rows(n_train + 500, np.random.default_rng(0))
    part = Part(_safe_indexing(rows, np.arange(n_train)), target.alternating(n_train))
    asked = _safe_indexing(rows, np.arange(n_train, _num_samples(rows)))
    settings = Settings(target, given.temperature)
    for classifier in given.electorate.classifiers() if is_ours(given.electorate) else []:
        try:
            fit_and_predict(Task(0, classifier, asked, 0, settings, part=part))
        except Exception as error:
            raise ValueError(
                "base_estimator failed when tried on made-up rows and labels. It must take what is "
                "drawn: missing values, and categories that none of its few rows has "
                f"(OneHotEncoder(handle_unknown='ignore')). {type(error).__name__}: {error}"
            ) from error


def check_missing(given, *, are_drawn):
    """Refuse public rows with missing values if teachers or student do not take them.

    Teachers are asked about some rows only, so that without this a fit would fail or not by the
    draw of these; and a student is tried on the first rows only. This looks at public rows alone,
    or at made-up rows in place of those that will be drawn.

    Parameters
    ----------
    given : Given
        What the fit was given.
    are_drawn : bool
        Whether a synthesizer draws the rows.

    Raises
    ------
    ValueError
        If one of them takes rows without missing values, and not those with.
    """
    if given.release.gives_rates and given.estimator.student is None:
        return  # it is of this library, and takes them
    X_public, target = given.X_public, given.target
    is_missing = is_missing_in(X_public)
    if is_missing.all() or not is_missing.any():
        return  # then all rows that may be asked are alike
    rows = np.flatnonzero(is_missing)
    complete = np.flatnonzero(~is_missing)[: max(_N_COMPLETE, 5 * target.n_values)]
    tried = np.append(complete, rows[:_N_TRIED])
    labels = target.teacher_values(target.alternating(len(tried)))
    classifiers = [] if given.private is None else given.electorate.classifiers()
    parts = [("base_estimator", classifier) for classifier in classifiers]
    for name, classifier in [*parts, ("student", given.student())]:
        both = _safe_indexing(X_public, complete), _safe_indexing(X_public, tried)
        problem = _problem(classifier, *both, labels, learns=name == "student")
        if problem is None:
            continue
        found = f"X_public has missing values in {len(rows)} rows (the first is row {rows[0]})"
        others = "leave these rows out"
        others += _NAN_FOR_NA if isinstance(X_public, pd.DataFrame) else ""
        if are_drawn:
            found = "the synthesizer may draw missing values"
            others = "name fewer columns in its missing=[...]"
        raise ValueError(
            f"{found}, and {name}, a {type(classifier).__name__}, does not take them: {problem}. "
            "This is refused whichever rows are asked. Put an imputer inside, "
            f"make_pipeline(SimpleImputer(), ...), or {others}"
        )


def is_missing_in(X):
    """Return for each row whether a value is missing in it.

    Parameters
    ----------
    X : array-like with n_rows rows
        Of any form.

    Returns
    -------
    ndarray of shape (n_rows,), bool
    """
    if sparse.issparse(X):
        return np.diff((X != X).tocsr().indptr) > 0  # a missing value is unequal to itself
    return table_of(X).isna().to_numpy().any(axis=1)


def _problem(classifier, complete, tried, labels, *, learns):
    """Say how a classifier fails on missing values; None if it does not, or fails without them.

    `learns` says whether it is to learn from public rows, not only to predict them.
    """
    with Quiet(), seeded(0):  # any number: nothing of this fit is kept
        try:
            fitted = unfitted_copy(classifier, 0).fit(complete, labels[: _num_samples(complete)])
            fitted.predict(complete)
        except Exception:
            return None
        try:
            if learns:
                fitted = unfitted_copy(classifier, 0).fit(tried, labels)
            fitted.predict(tried)
        except Exception as error:
            return f"{type(error).__name__}: {str(error).partition(chr(10))[0].rstrip('.')}"
    return None
