"""Summary of a plan: text for a terminal, and a card for a notebook.

Both have the same lines, each with a name and a description, and the same remarks, the advice of
the plan.
"""

import math
import textwrap
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from ..encoding.targets import ClassTarget, NumberTarget, Target
from .card import card_of
from .formats import number, percent, text_rounded_up

if TYPE_CHECKING:
    from ..accounting.plan import MethodSummary, Plan
    from ..accounting.rare_class import RareClass
    from ..accounting.trials import ScoreForecast, Trial
    from ..forecasts import CellForecast

#: A name with its description.
Line = tuple[str, str]

_TITLE = "Plan: a forecast of the queries and the cost of a fit. Nothing is spent yet."


def text_of_plan(plan: "Plan") -> str:
    """Return a plan as text of at most 88 columns.

    Parameters
    ----------
    plan : Plan
        A plan.

    Returns
    -------
    str

    Examples
    --------
    >>> from sklearn_pate.accounting import plan_queries
    >>> from sklearn_pate.aggregators import GNMax
    >>> from sklearn_pate.report.plan import text_of_plan
    >>> public = {"n_public": 1000, "n_teachers": 250, "n_classes": 2}
    >>> plan = plan_queries(GNMax(sigma=None), 100, **public, epsilon=1.0, delta=1e-5)
    >>> print(text_of_plan(plan).splitlines()[3])
    noise       45.8 votes (standard deviation), compared with 250 teachers, by GNMax
    """
    named = [(f"{name:12}", words) for name, words in _lines(plan)]
    parts = [_TITLE]
    for start, words in [*named, *(("! ", text) for text in _remarks(plan))]:
        rest = " " * len(start)
        parts.append(textwrap.fill(words, 88, initial_indent=start, subsequent_indent=rest))
    return "\n".join(parts)


def html_of_plan(plan: "Plan") -> str:
    """Return a plan as HTML, for light and dark pages.

    Parameters
    ----------
    plan : Plan
        A plan.

    Returns
    -------
    str
    """
    return card_of(_TITLE, _lines(plan), _remarks(plan))


def _remarks(plan: "Plan") -> list[str]:
    """Return the advice of a plan; errors are first, with a prefix."""
    refusals = [f"fit refuses: {text}" for text in plan.errors]
    return [*refusals, *plan.advice[len(refusals) :]]


def _lines(plan: "Plan") -> list[Line]:
    """Return the lines of a plan, from its method to its cost."""
    lines = [("target", plan.first_release)] if plan.first_release else []
    lines += _about_targets(plan)
    lines += [*_about_method(plan), *_about_branches(plan), *_about_other_releases(plan)]
    return [*lines, ("epsilon", _guarantee(plan)), *_about_trials(plan)]


def _about_targets(plan: "Plan") -> list[Line]:
    """Return a list of the line on several targets, or an empty list."""
    summary = plan.method_summary
    if summary is None or summary.n_targets == 1:
        return []
    text = f"{summary.n_targets}, each with up to {summary.n_classes} "
    each = "a record counts once" if summary.n_teachers is None else "each queried row has a query"
    text += f"{summary.target_type.value_nouns}; {each} for each"
    return [("targets", text)]


def _about_branches(plan: "Plan") -> list[Line]:
    """Return a line for each method that may follow the first release, if there are several."""
    if len(plan.branches) < 2:
        return []
    delta = max(branch.delta for branch in plan.branches)
    intro = (
        f"one of {len(plan.branches)} methods follows, chosen by an earlier release; the epsilon "
        f"below and delta {delta:g} are for all of them, including those that are not taken"
    )
    return [("branches", intro), *(("branch", str(branch)) for branch in plan.branches)]


def _about_other_releases(plan: "Plan") -> list[Line]:
    """Return the lines on synthetic rows and on extra releases."""
    lines = []
    rows = plan.rows_cost
    if rows is not None:
        if rows.schema is not None:
            lines.append(("schema", rows.schema))
        if rows.sums is not None:
            lines.append(("sums", rows.sums))
        delta = f" and delta {rows.delta:g}" if rows.delta else ""
        part = f"of the epsilon below, {text_rounded_up(rows.epsilon)}{delta} is for them"
        lines.append(("public rows", f"{rows.n_rows} synthetic rows; {part}"))
    for words, epsilon in plan.extra_releases:
        part = f"of the epsilon below, {text_rounded_up(epsilon)} is for it"
        lines.append(("releases", f"{words}; {part}"))
    return lines


def _guarantee(plan: "Plan") -> str:
    """Return the cost of a plan and, if it is known, the change that the guarantee covers."""
    delta, change = "", ""
    if plan.spent is not None:
        delta = f", delta {plan.spent.delta:g}"
        change = f"; the change that is covered: {plan.spent.change}"
    return f"{text_rounded_up(plan.epsilon)}{delta}, composition {plan.composition}{change}"


def _about_method(plan: "Plan") -> list[Line]:
    """Return the lines on the method, its labels and its noise; none if it is unknown."""
    summary = plan.method_summary
    if summary is None:
        return []
    if summary.n_teachers is not None:
        return _about_teachers(plan, summary, summary.n_teachers)
    if not plan.stages:
        return _about_sums_alone(summary)
    if summary.cells is None:
        return []
    if summary.cells.n_columns is not None:
        return _about_sums(plan, summary, summary.cells)
    return _about_cells(plan, summary, summary.cells)


def _reason(summary: "MethodSummary") -> str:
    return f" ({summary.reason})" if summary.reason else ""


# --- teachers -------------------------------------------------------------------------------------


def _about_teachers(plan: "Plan", summary: "MethodSummary", n_teachers: int) -> list[Line]:
    names = f", each a {' or '.join(summary.names)}" if summary.names else ""
    each = ""
    if summary.records_per_teacher is not None:
        each = f", on about {number(summary.records_per_teacher)} records"
    method = f"{n_teachers} teachers{names}{each}{_reason(summary)}"
    noise = "; ".join(_noise_of_stage(*stage, n_teachers) for stage in plan.stages)
    lines_of = _BY_TARGET[summary.target_type].lines_of_teachers
    return [("method", method), *lines_of(plan, summary, ("noise", noise))]


def _means_of_teachers(plan: "Plan", summary: "MethodSummary", noise: Line) -> list[Line]:
    means = f"{plan.n_labels}{_of_each_target(summary)}, of {summary.n_classes} levels "
    means += f"({plan.n_public} public rows)"
    return [("means", means), noise]


def _labels_of_teachers(plan: "Plan", summary: "MethodSummary", noise: Line) -> list[Line]:
    shares = plan.agreement_shares
    agree = f"if {' / '.join(percent(at.agreement) for at in shares)} of the teachers agree"
    right = "none: no query is answered"
    if not any(math.isnan(at.right) for at in shares):
        right = (
            f"at least {' / '.join(percent(at.right) for at in shares)} of the labels, {agree} on "
            "the right class, and all others on one other class"
        )
    labels = (
        f"{'' if plan.answers_all else 'at most '}{plan.n_labels}{_of_each_target(summary)}, on "
        f"average {number(plan.labels_per_class)} for each of {summary.n_classes} classes "
        f"({plan.n_queries * summary.n_targets} queries, {plan.n_public} public rows)"
    )
    lines = [("labels", labels), noise, ("right", right), *_about_rare_class(plan)]
    if not plan.answers_all:
        answered = " / ".join(percent(at.answered) for at in shares)
        lines.append(("answered", f"{answered} of the queries, {agree}"))
    return lines


def _of_each_target(summary: "MethodSummary") -> str:
    return " for each target" if summary.n_targets > 1 else ""


def _noise_of_stage(mechanism: Any, n_queries: int, n_teachers: int) -> str:
    noise = getattr(mechanism, "noise_std", None)
    name = type(mechanism).__name__
    if noise is None:
        return f"{name}, {n_queries} queries: no noise of a known size on the votes"
    size = f"{number(noise)} votes (standard deviation)"
    return f"{size}, compared with {n_teachers} teachers, by {name}"


# --- records --------------------------------------------------------------------------------------


def _about_sums_alone(summary: "MethodSummary") -> list[Line]:
    sums = f"{summary.target_type.value_noun} sums, which get all of epsilon that is left"
    return [("method", f"{sums}; there are no votes{_reason(summary)}")]


def _about_sums(plan: "Plan", summary: "MethodSummary", cells: "CellForecast") -> list[Line]:
    target = summary.target_type
    sums = (
        f"{cells.n_columns} numbers for each of {summary.n_classes} {target.value_nouns}, with "
        f"noise of {_noise_of_records(plan)}, compared with {number(cells.n_votes)} records"
        f"{_expected(summary)}"
    )
    method = f"{target.value_noun} sums, of all columns of the records{_reason(summary)}"
    return [("method", method), ("sums", sums), *_about_rare_class(plan)]


def _about_cells(plan: "Plan", summary: "MethodSummary", cells: "CellForecast") -> list[Line]:
    ((mechanism, n_rows),) = plan.stages
    where = f"each in one of {cells.n_cells} cells{_reason(summary)}"
    average = number(cells.n_votes / cells.n_cells)
    noise = (
        f"{_noise_of_records(plan)} on each {summary.target_type.value_noun} of a cell, compared "
        f"with {average} votes in an average cell{_expected(summary)}, by "
        f"{type(mechanism).__name__}"
    )
    line_of_rows = _BY_TARGET[summary.target_type].line_of_rows
    lines = [
        ("method", f"votes of the records, {where}"),
        line_of_rows(plan, summary, f"{n_rows}, one for each public row"),
        ("noise", noise),
        *_about_rare_class(plan),
    ]
    if cells.explained is not None:
        share = percent(cells.explained)
        text = f"{share} of the variance of the public rows; only the cell of a record counts"
        lines.append(("explained", text))
    return lines


def _means_of_rows(plan: "Plan", summary: "MethodSummary", n_rows: str) -> Line:
    return "means", f"{n_rows}, of {summary.n_classes} levels"


def _labels_of_rows(plan: "Plan", summary: "MethodSummary", n_rows: str) -> Line:
    each = f"{number(plan.labels_per_class)} for each of {summary.n_classes} classes"
    return "labels", f"{n_rows}, {each}, if equally common"


def _noise_of_records(plan: "Plan") -> str:
    noise = math.nan if plan.noise_std is None else plan.noise_std
    return f"{number(noise)} records (standard deviation)"


def _expected(summary: "MethodSummary") -> str:
    """Return the assumption on the number of records, if this number is private or unknown."""
    return ", if there is one record for each public row" if summary.n_records is None else ""


# --- a rare class ---------------------------------------------------------------------------------


def _about_rare_class(plan: "Plan") -> list[Line]:
    """Return a list of the line on a hypothetical rare class, or an empty list."""
    rare = plan.rare_class
    if rare is None:
        return []
    text = (
        f"a class with a share of {rare.share:.0%} has about {_part_of_rare_class(rare)}. The "
        "number of records of a class is private, so a plan does not depend on it"
    )
    return [("rare class", text)]


def _part_of_rare_class(rare: "RareClass") -> str:
    """Return the expected records, votes or labels of a rare class, in words."""
    if rare.n_records is not None and rare.noise is not None:
        noise = f"noise of length {number(rare.noise)} on its sums"
        return f"{number(rare.n_records)} records, compared with {noise}"
    if rare.votes_per_cell is not None and rare.noise is not None:
        noise = f"noise of {number(rare.noise)}"
        return f"{number(rare.votes_per_cell)} votes in a cell, compared with {noise}"
    labels = "" if rare.n_labels is None else f"{number(rare.n_labels)} of the labels"
    if rare.records_per_teacher is None:
        return labels
    return f"{number(rare.records_per_teacher)} records for each teacher, and {labels}"


# --- trials on labelled public rows ---------------------------------------------------------------


def _about_trials(plan: "Plan") -> list[Line]:
    """Return a line for each epsilon of the trials, and one on their assumptions."""
    if plan.trials_note:
        return [("trials", plan.trials_note)]
    if not plan.trials:
        return _about_unseen(plan)
    lines = [(trial.score_name, _scores(plan, trial)) for trial in plan.trials]
    return [*lines, ("trials", _assumptions(plan, plan.trials[0]))]


def _about_unseen(plan: "Plan") -> list[Line]:
    """Return a line on conditions of the accuracy, for records that vote on public rows."""
    summary = plan.method_summary
    if summary is None or plan.has_teachers or plan.spent is None or plan.spent.n_synthetic:
        return []
    has_classes = issubclass(summary.target_type, ClassTarget)
    rare = "how rare a class is, and on " if has_classes else ""
    text = (
        f"no forecast: it depends on {rare}whether nearness or sums of columns determine the "
        f"{summary.target_type.noun}. With y_public, a plan tries the fit on labelled public rows"
    )
    return [("accuracy", text)]


def _scores(plan: "Plan", trial: "Trial") -> str:
    summary = plan.method_summary
    is_other = summary is not None and trial.method != summary.name
    method = f" by {trial.method}" if is_other else ""
    failed = ""
    if trial.n_failed:
        failed = f"; {trial.n_failed} of {trial.n_splits} trials failed ({trial.error})"
    if math.isnan(trial.score.mean):
        return f"none at epsilon {trial.epsilon:g}{failed}"
    auc = "" if trial.auc is None else f", AUC {_interval(trial.auc)}"
    return f"{_interval(trial.score)} at epsilon {trial.epsilon:g}{method}{auc}{failed}"


def _interval(forecast: "ScoreForecast") -> str:
    if math.isnan(forecast.low):
        return f"{forecast.mean:.3f}"
    return f"{forecast.mean:.3f} ({forecast.low:.3f} to {forecast.high:.3f})"


def _assumptions(plan: "Plan", trial: "Trial") -> str:
    """Return how the trials were made, and effects that they cannot show."""
    summary = plan.method_summary
    n_records = None if summary is None else summary.n_records
    assumed = f"the {n_records} records of the fit"
    if n_records is None:
        assumed = (
            f"{plan.n_public} records, as many as public rows, because their number is private"
        )
    return (
        f"mean and 95% interval of {trial.n_splits} fits to {trial.n_records} labelled public "
        f"rows, with the noise in proportion to {assumed}. A fit to more records is usually more "
        "accurate, sometimes by more than the interval. Nothing shows whether private rows are of "
        "the same population. No private value is used, and nothing is spent"
    )


# --- by the kind of target ------------------------------------------------------------------------


class _OfTarget(NamedTuple):
    """Lines that depend on the kind of target.

    Attributes
    ----------
    lines_of_teachers : callable
        Returns the lines on published labels or means, and on their noise.
    line_of_rows : callable
        Returns the line on published labels or means, for methods of records.
    """

    lines_of_teachers: Callable[["Plan", "MethodSummary", Line], list[Line]]
    line_of_rows: Callable[["Plan", "MethodSummary", str], Line]


_BY_TARGET: dict[type[Target], _OfTarget] = {
    ClassTarget: _OfTarget(_labels_of_teachers, _labels_of_rows),
    NumberTarget: _OfTarget(_means_of_teachers, _means_of_rows),
}
