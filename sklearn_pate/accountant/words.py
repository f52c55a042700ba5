"""A guarantee in words, for those who must sign for it, and a table with a title, as HTML."""

import math
from decimal import ROUND_CEILING, Context, Decimal
from html import escape

from ..electorate import Adjacency

#: What a summary says of one change, by unit.
_ABOUT_UNIT = {
    "record": "Any one record (one row of the table) changes",
    "group": (
        "The records of any one group, as `groups` named them (a person only if each group is a "
        "person), change"
    ),
    "teacher": "The votes of any one teacher change",
}
#: Changes of which the groups are named in advance.
_OF_NAMED_GROUPS = (Adjacency.CHANGE_NAMED_GROUP, Adjacency.CHANGE_NAMED_GROUP_NEVER_EMPTY)

#: What a unit leaves out.
_LEFT_OUT_BY_UNIT = {
    "record": "Each row is protected by itself, not all rows of a person together.",
    "teacher": (
        "It is said of votes, not of records: a person is covered only as far as a single teacher "
        "learnt from them."
    ),
}

#: A summary begins with it, after what is not covered.
_SEEDED = (
    "Made with a seed: whoever knows or guesses the random_state can subtract the noise, and then "
    "nothing is protected. Fits that share a seed share their noise: together they can undo it, "
    "for everybody."
)

#: How the noise was computed.
_ABOUT_ARITHMETIC = {
    "exact": "The noise was whole numbers, drawn exactly.",
    "real": "This holds in real arithmetic; floating-point numbers round the noise.",
}

#: What a summary says of the release: before it, after it, and if nobody got a label.
_OF_TABLE = {
    "forecast": "This would be released: {tables}. It says something of {spent.n_queries} {rows}.",
    "answers": "This was released: {tables}. It says something of {spent.n_answered} {rows}.",
    "none": "This is paid for: {tables}. No row was labelled.",
}
_OF_TEACHERS = {
    "forecast": "{spent.n_teachers} teachers would be asked {spent.n_queries} questions.",
    "answers": (
        "{spent.n_teachers} teachers were asked {spent.n_queries} questions and "
        "{spent.n_answered} answers were released."
    ),
    "none": (
        "{spent.n_queries} questions to {spent.n_teachers} teachers are paid for, and no label "
        "was released."
    ),
}

#: What records release where a statement does not say it.
_BALLOTS = ("a noisy table of the records' ballots",)

#: From this epsilon on, odds are said without a number.
_NO_DOUBT = 14


def in_words(spent, *, is_forecast):
    """Return a few short paragraphs that are safe to publish; epsilon is rounded up.

    Parameters
    ----------
    spent : PrivacySpent
        The guarantee.
    is_forecast : bool
        Whether nothing is paid for yet.

    Returns
    -------
    str
    """
    not_covered = "; ".join(spent.not_covered)
    first = f"Not covered by what follows: {not_covered}." if not_covered else ""
    release = _release(spent, is_forecast)
    if not math.isfinite(spent.epsilon):
        none = "No privacy is guaranteed (epsilon is infinite)."
        return _joined(first, none, release)
    is_seeded = spent.generator == "seed"
    is_replaced = spent.adjacency == Adjacency.REPLACE_RECORD
    paragraphs = [
        _joined(first, _SEEDED if is_seeded else ""),
        _joined(
            _bound(spent),
            f"The change that is covered: {spent.adjacency}.",
            "The number of rows is public." if is_replaced else "",
            _odds(spent),
            _LEFT_OUT_BY_UNIT.get(spent.unit, ""),
        ),
        _joined(release, _published(spent), _about_rows(spent)),
        _about_others(spent),
        _joined(
            _ABOUT_ARITHMETIC[spent.arithmetic],
            "" if is_seeded else "It came from the operating system's generator.",
        ),
    ]
    return "\n\n".join(filter(None, paragraphs))


def _joined(*sentences):
    return " ".join(filter(None, sentences))


def text_rounded_up(epsilon, n_decimals=3):
    """Write epsilon with so many decimals at most, never rounded down."""
    if not math.isfinite(epsilon):
        return str(epsilon)
    exact = Decimal(repr(float(epsilon)))
    # A float has up to 309 digits before the point, and quantize refuses to drop any
    text = f"{exact.quantize(Decimal(10) ** -n_decimals, ROUND_CEILING, Context(prec=400)):f}"
    return text.rstrip("0").rstrip(".")


def _release(spent, is_forecast):
    """Say what was released; where it failed, a release that was paid for may not have been."""
    if spent.covers == "rows":
        return "The fit failed after its public rows were drawn, before labels were paid for."
    outcome = "forecast" if is_forecast else "answers" if spent.n_answered else "none"
    texts = _OF_TABLE if spent.n_teachers is None else _OF_TEACHERS
    rows = "drawn rows" if spent.n_synthetic else "public rows"
    tables = ", and ".join(spent.tables or _BALLOTS)
    return texts[outcome].format(spent=spent, tables=tables, rows=rows)


def _odds(spent):
    """Say what epsilon means for somebody who guesses, rounded up."""
    what = "whether such a change was made"
    if spent.adjacency == Adjacency.REPLACE_RECORD:
        what = "which of two records it was"
    doubt = 1 / (1 + math.exp(min(spent.epsilon, _NO_DOUBT)))
    n_decimals = 2 if doubt > 0.005 else 1 + math.ceil(-math.log10(100 * doubt))
    percent = f"{text_rounded_up(100 * (1 - doubt), n_decimals)} %"
    # A delta allows rare outcomes after which somebody is certain: it bounds guesses alone
    can = f"guess right with a probability of at most {percent} (plus delta)"
    if not spent.delta:
        can = f"become at most {percent} sure"
    if spent.epsilon >= _NO_DOUBT:
        can = "become practically certain"
    return f"Somebody who thought it a toss-up (50 %) {what} can {can}."


def _bound(spent):
    """Say what epsilon and delta bound."""
    if spent.adjacency in _OF_NAMED_GROUPS:
        change = "The records of any one site or named group change"
    else:
        change = _ABOUT_UNIT.get(spent.unit, f"Any one {spent.unit} changes")
    # All digits of delta: a rounded one might be too small
    more = f"plus {spent.delta!r} (delta)" if spent.delta else "without exception (delta is 0)"
    return (
        f"{change} the probability of any outcome by at most a factor "
        f"e^{text_rounded_up(spent.epsilon)} (epsilon), {more}."
    )


def _published(spent):
    """Say what was published."""
    if spent.covers == "rows":
        return "This covers the rows that were drawn and this statement."
    what, last = "one fit", "the labels and this statement"
    if spent.method == "tuning":
        what, last = "one search", "the labels, best_params_, best_score_ and this statement"
    rows = ["the rows that were drawn"] if spent.n_synthetic else []
    parts = [*rows, *spent.beside, "the student", last]
    return f"This covers all that {what} published: {', '.join(parts)}."


def _about_rows(spent):
    """Say whether public rows are protected."""
    if not spent.n_synthetic:
        return "The public rows are not protected, and may be part of the student."
    return (
        f"It covers the {spent.n_synthetic} drawn rows as well, made from noisy "
        "statistics of the private data; the names, types, bounds and categories of their "
        "columns it does not, nor which columns may have missing values."
    )


def _about_others(spent):
    """Say what other fits mean for this one, and what is outside of any fit."""
    number, other = "", ""
    if spent.fit_number > 1:
        number = f" (this is fit number {spent.fit_number} of its process)"
    if spent.method == "tuning":
        other = "other "
    return (
        f"Other fits on the same private data are not covered{number}: they add up. Nor is what "
        f"was computed from the private data beside the fit, as {other}scores, scaling or a choice "
        f"of {other}settings; nor what follows about a person from facts that are true of many."
    )


# --- a card --------------------------------------------------------------------------------------

_STYLE = """
.sk-pate-card {
  color: var(--sg-text-color, var(--theme-code-foreground, var(--jp-content-font-color1, inherit)));
  font-family: sans-serif; max-width: 52em;
}
.sk-pate-card table { border-collapse: collapse; background: #8881; width: 100%; }
.sk-pate-card caption { text-align: left; padding: 0.4em 0; font-weight: bold; color: inherit; }
.sk-pate-card th, .sk-pate-card td {
  border: 1px dashed #8886; padding: 0.3em 0.6em; text-align: left; vertical-align: top;
  color: inherit; background: transparent; white-space: pre-line;
}
.sk-pate-card li { border-left: 4px solid #e69f00; margin: 0.3em 0; padding: 0.3em 0.6em; }
"""


def card_of(title, lines, remarks=()):
    """Return HTML that needs nothing else, for light and dark pages.

    Parameters
    ----------
    title : str
        Its caption.
    lines : list of (str, str)
        A name, and what is to be said of it.
    remarks : list of str, default=()
        What stands in a list below.

    Returns
    -------
    str
    """
    rows = [
        f"<tr><th scope='row'>{escape(name)}</th><td>{escape(words)}</td></tr>"
        for name, words in lines
    ]
    items = "".join(f"<li>{escape(remark)}</li>" for remark in remarks)
    return (
        f"<div class='sk-pate-card'><style>{_STYLE}</style><table>"
        f"<caption>{escape(title)}</caption>{''.join(rows)}</table>"
        f"{f'<ul>{items}</ul>' if items else ''}</div>"
    )
