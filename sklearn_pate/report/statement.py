"""Statement of the privacy of a fit, as paragraphs of text and as a card.

A statement and a forecast have the same attributes; the tense of the text depends on `kind`.
"""

import math
from typing import TYPE_CHECKING

from .card import card_of
from .formats import joined, text_rounded_up
from .relations import is_replaced_record, limits_of_unit, unit_as_subject
from .steps import ledger_in_words

if TYPE_CHECKING:
    from ..accounting.spent import PrivacySpent

#: Title of a card, by the kind of the statement.
_TITLES = {"spent": "Privacy spent", "forecast": "A forecast: nothing is spent yet"}

#: First words of a summary, by the kind of the statement.
_BEGINNINGS = {
    "spent": "",
    "forecast": "A forecast, nothing is spent yet. A fit would have this guarantee: ",
}

#: Warning about a seed, at the beginning of a summary, after the list of gaps.
_SEEDED = (
    "Made with a seed: anyone who has or guesses the random_state can subtract the noise, and then "
    "nothing is protected. Fits that share a seed share their noise: together they can undo it, "
    "for all records."
)

#: At this epsilon or above, a summary contains no probability of a correct guess.
_NO_DIFFERENCE = 14


def html_of_statement(spent: "PrivacySpent") -> str:
    """Return an HTML table of the attributes of a statement and its summary.

    Parameters
    ----------
    spent : PrivacySpent
        A statement, or a forecast.

    Returns
    -------
    str
        HTML.
    """
    shown = vars(spent) | {"epsilon": text_rounded_up(spent.epsilon)}
    steps = spent.describe_steps()
    shown["guarantee"] = "\n".join(steps) or None
    if spent.ledger is not None:
        shown["ledger"] = ledger_in_words(spent.ledger)
    for name in ("not_covered", "tables", "extra_releases", "branches"):
        shown[name] = "; ".join(shown[name]) or None
    lines = [(name, str(value)) for name, value in shown.items() if value is not None]
    return card_of(_TITLES[spent.kind], [*lines, ("in words", summary_of(spent))])


def summary_of(spent: "PrivacySpent") -> str:
    """Return a statement in words; epsilon is rounded up.

    Parameters
    ----------
    spent : PrivacySpent
        A statement, or a forecast.

    Returns
    -------
    str
        Short paragraphs, safe to publish.
    """
    return _BEGINNINGS[spent.kind] + _guarantee(spent)


def _guarantee(spent: "PrivacySpent") -> str:
    """Return the paragraphs of a summary."""
    not_covered = "; ".join(spent.not_covered)
    first = f"Not covered by this guarantee: {not_covered}." if not_covered else ""
    if not math.isfinite(spent.epsilon):
        unlimited = "No privacy is guaranteed (epsilon is infinite)."
        return joined(first, unlimited, _releases(spent), _branches(spent))
    is_seeded = spent.generator == "seed"
    paragraphs = [
        joined(first, _SEEDED if is_seeded else ""),
        joined(_bound(spent), _odds(spent), limits_of_unit(spent.unit)),
        joined(_releases(spent), _covered(spent)),
        _branches(spent),
        _not_covered_by_any_fit(spent),
        _noise(spent),
    ]
    return "\n\n".join(filter(None, paragraphs))


# --- the guarantee --------------------------------------------------------------------------------


def _bound(spent: "PrivacySpent") -> str:
    """Return sentences on the bound of epsilon and delta, and on the change that it covers."""
    # Delta is printed with all digits, because a rounded delta might be too small
    more = f"plus {spent.delta!r} (delta)" if spent.delta else "without exception (delta is 0)"
    is_replaced = is_replaced_record(spent.relation, spent.unit)
    return (
        f"{unit_as_subject(spent.relation, spent.unit)} the probability of any outcome by at most "
        f"a factor e^{text_rounded_up(spent.epsilon)} (epsilon), {more}. The change that is "
        f"covered: {spent.change}.{' The number of rows is public.' if is_replaced else ''}"
    )


def _odds(spent: "PrivacySpent") -> str:
    """Return a sentence on the largest probability of a correct guess, rounded up."""
    is_replaced = is_replaced_record(spent.relation, spent.unit)
    guess = "which of two records it was" if is_replaced else "whether such a change was made"
    error_probability = 1 / (1 + math.exp(min(spent.epsilon, _NO_DIFFERENCE)))
    n_decimals = 2
    if error_probability <= 0.005:
        n_decimals = 1 + math.ceil(-math.log10(100 * error_probability))
    right = f"{text_rounded_up(100 * (1 - error_probability), n_decimals)} %"
    # With a delta above 0, a reader may become certain after a rare outcome. Then only the
    # probability of a correct guess over all outcomes is bounded
    can = f"guess right with a probability of at most {right} (plus delta)"
    if not spent.delta:
        can = f"become at most {right} sure"
    if spent.epsilon >= _NO_DIFFERENCE:
        can = "become practically certain"
    return f"A reader who thought it a toss-up (50 %) {guess} can {can}."


def _noise(spent: "PrivacySpent") -> str:
    """Return sentences on the rounding and on the source of the noise."""
    arithmetic = "This holds in real arithmetic; floating-point numbers round the noise."
    if spent.arithmetic == "exact":
        arithmetic = "The noise was whole numbers, sampled exactly."
    generator = ""
    if spent.generator == "system":
        generator = "The noise came from the operating system's generator."
    return joined(arithmetic, generator)


# --- releases -------------------------------------------------------------------------------------


def _releases(spent: "PrivacySpent") -> str:
    """Return sentences on the releases of a fit, or on the releases of a failed fit."""
    if spent.covers == "target":
        return f"The fit failed after {spent.tables[0]}, before anything else was paid for."
    if spent.covers == "statistics":
        return (
            "The fit failed after statistics of the columns were paid for, before synthetic rows "
            "were sampled from them."
        )
    if spent.covers == "rows":
        return "The fit failed after its synthetic rows were sampled, before labels were paid for."
    return _release_of_records(spent) if spent.n_teachers is None else _votes_of_teachers(spent)


def _branches(spent: "PrivacySpent") -> str:
    """Return sentences on the methods that an earlier release chose from; "" without a choice.

    The choice may depend on the loss of the earlier release, so the guarantee is the same for all.
    """
    if len(spent.branches) < 2:
        return ""
    chooses = "would choose" if spent.kind == "forecast" else "chose"
    return (
        f"An earlier release of the fit {chooses} one of {len(spent.branches)} methods: "
        f"{'; '.join(spent.branches)}. Epsilon and delta ({spent.delta!r}) are for all of them, "
        "including those that are not taken."
    )


def _release_of_records(spent: "PrivacySpent") -> str:
    """Return sentences on tables and labels of methods of records."""
    tables = ", and ".join(spent.tables or ["a noisy table of the records' votes"])
    rows = "synthetic rows" if spent.n_synthetic else "public rows"
    subject = "The search" if spent.composition == "tuning" else "The fit"
    if spent.kind == "forecast":
        return f"{subject} would release {tables}. It would label {spent.n_queries} {rows}."
    if spent.n_answered:
        return f"{subject} released {tables}. It labelled {spent.n_answered} {rows}."
    return f"{subject} paid for {tables}. It labelled no row."


def _votes_of_teachers(spent: "PrivacySpent") -> str:
    """Return a sentence on the queries and the answers of teachers."""
    n_teachers, n_queries, n_answered = spent.n_teachers, spent.n_queries, spent.n_answered
    if spent.kind == "forecast":
        return f"{n_teachers} teachers would vote on {n_queries} queries."
    if n_answered:
        queried = f"{n_teachers} teachers voted on {n_queries} queries"
        return f"{queried} and {n_answered} answers were released."
    paid = f"{n_queries} queries of {n_teachers} teachers are paid for"
    return f"{paid}, and no label was released."


# --- coverage -------------------------------------------------------------------------------------


#: Sentences on the properties of columns that are not covered, by the source of the schema.
_SCHEMA = {
    "declared": (
        "The names, types, bounds and categories of {} columns are not covered, nor is the choice "
        "of columns that may have missing values."
    ),
    "estimated": (
        "The bounds and categories of {} columns were estimated from noisy counts, and are "
        "covered; their names, order and number are not."
    ),
    "partly estimated": (
        "The names, order and number of {} columns are not covered, nor are the types, bounds, "
        "categories and gaps that were declared. Edges, bounds and categories that were estimated "
        "from noisy counts are covered."
    ),
}


def _covered(spent: "PrivacySpent") -> str:
    """Return sentences on the published objects, and on the protection of public rows."""
    about_rows = "The public rows are not protected, and may be part of the student."
    if spent.n_synthetic:
        about_rows = (
            f"The {spent.n_synthetic} synthetic rows are covered as well: they were made from "
            f"noisy statistics of the private data. {_SCHEMA[spent.schema].format('their')}"
        )
    elif spent.covers == "statistics":
        about_rows = _SCHEMA[spent.schema].format("the")
    if spent.covers != "fit":
        if spent.covers == "target":
            return "This guarantee covers these counts and this statement."
        covered = "the synthetic rows" if spent.covers == "rows" else "these statistics"
        return f"This guarantee covers {covered} and this statement. {about_rows}"
    publisher, last = "one fit", "the labels and this statement"
    if spent.composition == "tuning":
        publisher = "one search"
        last = "the labels, best_params_, best_score_ and this statement"
    rows = ["the synthetic rows"] if spent.n_synthetic else []
    published = ", ".join([*rows, *spent.extra_releases, "the student", last])
    return f"This guarantee covers everything that {publisher} published: {published}. {about_rows}"


def _not_covered_by_any_fit(spent: "PrivacySpent") -> str:
    """Return sentences on other fits, and on uses of the private data outside of any fit."""
    nth = f" (this is fit number {spent.fit_number} of its process)" if spent.fit_number > 1 else ""
    other = "other " if spent.composition == "tuning" else ""
    return (
        f"Other fits on the same private data are not covered{nth}, nor are synthetic rows that "
        "they published, whether they are public rows here or not: their costs add up. Other "
        f"computations on the private data are not covered, such as {other}scores, scaling or a "
        f"choice of {other}settings, nor are conclusions about a person from facts that are true "
        "of many."
    )
