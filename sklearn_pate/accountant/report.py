"""A plan in words: text for a terminal, HTML for a notebook."""

import math
import textwrap

from .advice import percent
from .words import card_of, text_rounded_up

#: Shares of the voters who agree, for which a report says how many labels will be right.
_AGREEMENTS = (0.6, 0.8, 0.95)

_AGREEMENTS_SAID = " / ".join(percent(agreement) for agreement in _AGREEMENTS)

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
    parts = [_TITLE]
    for name, words in _lines(plan):
        parts.append(_wrapped(f"{name:{_NAMES}}", words))
    parts += [_wrapped("! ", text) for text in _remarks(plan)]
    return "\n".join(parts)


def _remarks(plan):
    """Return the advice of a plan, and of what a fit refuses that it does."""
    return [f"fit refuses: {text}" if text in plan.obstacles else text for text in plan.advice]


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


def _wrapped(start, words):
    rest = " " * len(start)
    return textwrap.fill(words, _WIDTH, initial_indent=start, subsequent_indent=rest)


def _lines(plan):
    """Return pairs of a name and what is to be said of it."""
    lines = []
    if plan.voters is not None:
        about = _about_teachers if plan.has_teachers else _about_records
        lines += about(plan)
    if plan.rows_cost is not None:
        if plan.rows_cost.sums is not None:
            lines.append(("sums", plan.rows_cost.sums))
        lines.append(("public rows", _rows_cost(plan.rows_cost)))
    for words, epsilon in plan.beside:
        of_it = f"of the epsilon below, {text_rounded_up(epsilon)} is for it"
        lines.append(("beside", f"{words}; {of_it}"))
    lines.append(("epsilon", _guarantee(plan)))
    return lines


def _number(number):
    """Write a number with three digits at least."""
    return f"{number:,.0f}" if number >= 1000 else f"{number:.3g}"


# --- who votes -----------------------------------------------------------------------------------


def _about_teachers(plan):
    voters = plan.voters
    noise = ("noise", "; ".join(_stage(*stage, voters.n_teachers) for stage in plan.stages))
    if voters.are_levels:
        means = f"{plan.n_labels}, of {voters.n_classes} levels ({plan.n_public} public rows)"
        return [("voters", _teachers(voters)), ("means", means), noise]
    lines = [
        ("voters", _teachers(voters)),
        ("labels", _labels(plan)),
        noise,
        ("right", _right_labels(plan)),
    ]
    if not _answers_all(plan):
        shares = f"{_at_agreements(plan.share_answered)} of the queries"
        lines.append(("answered", f"{shares}, where {_AGREEMENTS_SAID} of the teachers agree"))
    return lines


def _answers_all(plan):
    """Whether no query is refused, but for what rounding loses."""
    return min(plan.share_answered(agreement) for agreement in (*_AGREEMENTS, 1.0)) > 0.9995


def _teachers(voters):
    names = ""
    if voters.names:
        names = f", each a {' or '.join(voters.names)}"
    each = ""
    if voters.n_records is not None:
        each = f", on about {_number(voters.n_records / voters.n_teachers)} records"
    return f"{voters.n_teachers} teachers{names}{each}{_why(voters)}"


def _labels(plan):
    number = f"{plan.n_labels}" if _answers_all(plan) else f"at most {plan.n_labels}"
    return (
        f"{number}, on average {_number(plan.labels_per_class)} for each of "
        f"{plan.voters.n_classes} classes ({plan.n_queries} queries, {plan.n_public} public rows)"
    )


def _stage(mechanism, n_queries, n_teachers):
    noise = getattr(mechanism, "noise_std", None)
    name = type(mechanism).__name__
    if noise is None:
        return f"{name}, {n_queries} queries: none of a known size on the votes"
    return f"{_number(noise)} votes (standard deviation) beside {n_teachers} teachers, by {name}"


def _right_labels(plan):
    shares = _at_agreements(plan.share_right)
    if shares is None:
        return "none: nothing is answered"
    return (
        f"{shares} of the labels at least, where {_AGREEMENTS_SAID} of the teachers agree on the "
        "right class, and all others on one other class"
    )


def _about_records(plan):
    voters = plan.voters
    expected = ""
    if voters.n_records is None:
        expected = ", if there are as many as public rows"
    ((mechanism, n_rows),) = plan.stages
    if voters.n_columns is not None:
        return _about_columns(plan, expected)
    if voters.n_cells == 0:
        return [("voters", f"nobody: class sums take all of epsilon{_why(voters)}")]
    labels = (
        "labels",
        f"{n_rows}, one for each public row, on average {_number(plan.labels_per_class)} for "
        f"each of {voters.n_classes} classes",
    )
    if voters.are_levels:
        labels = ("means", f"{n_rows}, one for each public row, of {voters.n_classes} levels")
    return [
        (
            "voters",
            f"the records themselves, each in the cell that it lies in, of {voters.n_cells}"
            f"{_why(voters)}",
        ),
        labels,
        (
            "noise",
            f"{_number(plan.noise_std)} records (standard deviation) on each "
            f"{'level' if voters.are_levels else 'class'} of a cell, "
            f"beside {_number(voters.ballots_per_cell)} in an average cell{expected}, by "
            f"{type(mechanism).__name__}",
        ),
        *_explained(voters),
    ]


def _about_columns(plan, expected):
    voters = plan.voters
    return [
        ("voters", f"the records themselves, each with all of its columns{_why(voters)}"),
        (
            "sums",
            f"{voters.n_columns} numbers for each of {voters.n_classes} "
            f"{'levels' if voters.are_levels else 'classes'}, with noise of "
            f"{_number(plan.noise_std)} records (standard deviation), beside "
            f"{_number(voters.n_ballots)} records{expected}",
        ),
    ]


def _explained(voters):
    if voters.explained is None:
        return []
    share = percent(voters.explained)
    said = f"{share} of how public rows differ; a record says only where it lies"
    return [("cells tell", said)]


def _why(voters):
    return f" ({voters.why})" if voters.why else ""


def _at_agreements(share):
    """Write shares at each of the agreements; None if there is none."""
    shares = [share(agreement) for agreement in _AGREEMENTS]
    known = [percent(value) for value in shares if not math.isnan(value)]
    return " / ".join(known) if len(known) == len(shares) else None


# --- what is spent -------------------------------------------------------------------------------


def _rows_cost(cost):
    delta = f" and delta {cost.delta:g}" if cost.delta else ""
    return (
        f"{cost.n_rows} rows are drawn; of the epsilon below, "
        f"{text_rounded_up(cost.epsilon)}{delta} is for them"
    )


def _guarantee(plan):
    if plan.spent is None:
        return f"{text_rounded_up(plan.epsilon)}, method {plan.method}"
    spent = plan.spent
    return (
        f"{text_rounded_up(spent.epsilon)}, delta {spent.delta:g}, method {spent.method}; the "
        f"change that is covered: {spent.adjacency}"
    )
