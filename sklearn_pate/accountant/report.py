"""A plan in words: text for a terminal, HTML for a notebook."""

import math
import textwrap

from .advice import percent
from .words import card_of, text_rounded_up

#: Shares of the voters who agree, for which a report says how many labels will be right.
_AGREEMENTS = (0.6, 0.8, 0.95)

_TEACHERS_AGREE = f"where {' / '.join(map(percent, _AGREEMENTS))} of the teachers agree"

_TITLE = "Plan: a forecast of what a fit would ask and spend. Nothing is spent yet."

_WIDTH = 88
_NAMES = 12


def text_of(plan):
    """Return a plan as text.

    Parameters
    ----------
    plan : Plan
        The plan.

    Returns
    -------
    str
        Made of public numbers alone.
    """
    named = [(f"{name:{_NAMES}}", words) for name, words in _lines(plan)]
    parts = [_TITLE]
    for start, words in [*named, *(("! ", text) for text in _remarks(plan))]:
        rest = " " * len(start)
        parts.append(textwrap.fill(words, _WIDTH, initial_indent=start, subsequent_indent=rest))
    return "\n".join(parts)


def html_of(plan):
    """Return a plan as HTML that needs nothing else, for light and dark pages.

    Parameters
    ----------
    plan : Plan
        The plan.

    Returns
    -------
    str
        Made of public numbers alone.
    """
    return card_of(_TITLE, _lines(plan), _remarks(plan))


def _remarks(plan):
    """Return the advice of a plan, and of what a fit refuses that it does."""
    return [f"fit refuses: {text}" if text in plan.obstacles else text for text in plan.advice]


def _lines(plan):
    """Return pairs of a name and what is to be said of it."""
    lines = []
    if plan.voters is not None:
        lines += _about_teachers(plan) if plan.has_teachers else _about_records(plan)
    rows = plan.rows_cost
    if rows is not None:
        if rows.sums is not None:
            lines.append(("sums", rows.sums))
        delta = f" and delta {rows.delta:g}" if rows.delta else ""
        part = f"of the epsilon below, {text_rounded_up(rows.epsilon)}{delta} is for them"
        lines.append(("public rows", f"{rows.n_rows} rows are drawn; {part}"))
    for words, epsilon in plan.beside:
        part = f"of the epsilon below, {text_rounded_up(epsilon)} is for it"
        lines.append(("beside", f"{words}; {part}"))
    guarantee = f"{text_rounded_up(plan.epsilon)}, method {plan.method}"
    if plan.spent is not None:
        epsilon, delta = plan.spent
        guarantee = (
            f"{text_rounded_up(epsilon)}, delta {delta:g}, method {plan.spent.method}; the change "
            f"that is covered: {plan.spent.adjacency}"
        )
    return [*lines, ("epsilon", guarantee)]


# --- who votes -----------------------------------------------------------------------------------


def _about_teachers(plan):
    voters = plan.voters
    names = f", each a {' or '.join(voters.names)}" if voters.names else ""
    each = ""
    if voters.n_records is not None:
        each = f", on about {_number(voters.n_records / voters.n_teachers)} records"
    who = ("voters", f"{voters.n_teachers} teachers{names}{each}{_why(voters)}")
    noise = ("noise", "; ".join(_noise(*stage, voters.n_teachers) for stage in plan.stages))
    if voters.are_levels:
        means = f"{plan.n_labels}, of {voters.n_classes} levels ({plan.n_public} public rows)"
        return [who, ("means", means), noise]
    right = _at_agreements(plan.share_right)
    if right is not None:
        right = (
            f"{right} of the labels at least, {_TEACHERS_AGREE} on the right class, and all others "
            "on one other class"
        )
    # But for what rounding loses
    all_answered = min(map(plan.share_answered, (*_AGREEMENTS, 1.0))) > 0.9995
    labels = (
        f"{'' if all_answered else 'at most '}{plan.n_labels}, on average "
        f"{_number(plan.labels_per_class)} for each of {voters.n_classes} classes "
        f"({plan.n_queries} queries, {plan.n_public} public rows)"
    )
    lines = [who, ("labels", labels), noise, ("right", right or "none: nothing is answered")]
    if not all_answered:
        answered = f"{_at_agreements(plan.share_answered)} of the queries, {_TEACHERS_AGREE}"
        lines.append(("answered", answered))
    return lines


def _noise(mechanism, n_queries, n_teachers):
    noise = getattr(mechanism, "noise_std", None)
    name = type(mechanism).__name__
    if noise is None:
        return f"{name}, {n_queries} queries: none of a known size on the votes"
    return f"{_number(noise)} votes (standard deviation) beside {n_teachers} teachers, by {name}"


def _at_agreements(share):
    """Write shares at each of the agreements; None if there is none."""
    shares = [share(agreement) for agreement in _AGREEMENTS]
    return None if any(map(math.isnan, shares)) else " / ".join(map(percent, shares))


def _about_records(plan):
    voters = plan.voters
    cells = voters.cells
    expected = ", if there are as many records as public rows" if voters.n_records is None else ""
    ((mechanism, n_rows),) = plan.stages
    level = "level" if voters.are_levels else "class"
    levels = "levels" if voters.are_levels else "classes"
    if cells.n_columns is not None:
        sums = (
            f"{cells.n_columns} numbers for each of {voters.n_classes} {levels}, with noise of "
            f"{_number(plan.noise_std)} records (standard deviation), beside "
            f"{_number(cells.n_ballots)} records{expected}"
        )
        who = f"the records themselves, each with all of its columns{_why(voters)}"
        return [("voters", who), ("sums", sums)]
    if cells.n_cells == 0:
        return [("voters", f"nobody: class sums take all of epsilon{_why(voters)}")]
    where = f"each in the cell that it lies in, of {cells.n_cells}{_why(voters)}"
    labels = f"{n_rows}, one for each public row, "
    if voters.are_levels:
        labels += f"of {voters.n_classes} levels"
    else:
        each = _number(plan.labels_per_class)
        labels += f"{each} for each of {voters.n_classes} classes if all were as common"
    noise = (
        f"{_number(plan.noise_std)} records (standard deviation) on each {level} of a cell, beside "
        f"{_number(cells.n_ballots / cells.n_cells)} in an average cell{expected}, by "
        f"{type(mechanism).__name__}"
    )
    lines = [
        ("voters", f"the records themselves, {where}"),
        ("means" if voters.are_levels else "labels", labels),
        ("noise", noise),
    ]
    if cells.explained is not None:
        share = percent(cells.explained)
        said = f"{share} of how public rows differ; a record says only where it lies"
        lines.append(("cells tell", said))
    return lines


def _why(voters):
    return f" ({voters.why})" if voters.why else ""


def _number(number):
    """Write a number with three digits at least."""
    return f"{number:,.0f}" if number >= 1000 else f"{number:.3g}"
