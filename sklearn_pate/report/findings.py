"""A sentence with a remedy for each finding about a plan, by its code.

`accounting.findings` determines which findings apply, and computes their numbers.
"""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .formats import factor, percent

if TYPE_CHECKING:
    from ..accounting import findings
    from ..accounting.findings import Finding


def sentence_of(finding: "Finding") -> str:
    """Return the sentence of a finding, with the best remedy.

    Parameters
    ----------
    finding : Finding
        A code, and the numbers of the sentence.

    Returns
    -------
    str

    Examples
    --------
    >>> from sklearn_pate.accounting.findings import large_delta
    >>> from sklearn_pate.report.findings import sentence_of
    >>> sentence_of(large_delta(0.5, n_records=100)).split(": ")[0]
    'delta=0.5 is not below one over the number of records, 100'
    """
    return SENTENCES[finding.code](finding)


# --- few labels -----------------------------------------------------------------------------------


def _fewer_labels_than_classes(found: "findings.FewerLabelsThanClasses") -> str:
    labels = "1 label" if found.n_labels == 1 else f"{found.n_labels} labels"
    limit = {
        "public_rows": "There are no more public rows",
        "queries": "No more are requested",
        "epsilon": f"Epsilon pays for no more (the cost is {found.cost:.4g})",
    }[found.limit]
    return (
        f"{_sizes(found)}: the student cannot learn all classes from {labels}. {limit}; "
        f"{_more_labels(found.remedy)}"
    )


def _few_labels(found: "findings.FewLabels") -> str:
    each = math.floor(found.labels_per_class * 10) / 10
    return (
        f"{_sizes(found)}: {each:g} labels per class, but a student needs about "
        f"{found.n_needed_per_class}; {_more_labels(found.remedy)}"
    )


def _sizes(found: "findings.FewLabels | findings.FewerLabelsThanClasses") -> str:
    return f"{found.n_classes} classes and {found.n_teachers} teachers"


def _more_labels(remedy: "findings.MoreLabels") -> str:
    """Return the best remedy for too few labels per class."""
    if remedy.limit == "public_rows":
        return f"give {remedy.n_needed} or more public rows, not {remedy.n_public}"
    other_method = _or_records(remedy.are_sites)
    if remedy.limit == "queries":
        return f"use more queries, n_queries={remedy.n_needed} or None{other_method}"
    # With fixed noise, more teachers do not change the number of queries
    helps = "use more teachers, raise epsilon" if remedy.is_calibrated else "raise epsilon"
    return f"{helps}{other_method}"


def _or_records(are_sites: bool) -> str:
    """Return the remedy to use a method of records, unless the records are held by sites."""
    return "" if are_sites else ", or set method='neighbors'"


# --- much noise -----------------------------------------------------------------------------------


def _noise_exceeds_votes(found: "findings.NoiseExceedsVotes") -> str:
    noise = ""
    if found.noise_std is not None:
        noise = f" of standard deviation {found.noise_std:.3g} votes"
    helps = "use fewer queries, raise epsilon" if found.is_calibrated else "set less noise"
    return (
        f"the noise{noise} is too large for the votes: if {found.agreement:.0%} of "
        f"{found.n_teachers} teachers agree on one of {found.n_classes} classes, only "
        f"{percent(found.share_right)} of the labels are right in the worst case; use more "
        f"teachers, {helps}"
        f"{_or_records(found.are_sites)}"
    )


def _noise_exceeds_means(found: "findings.NoiseExceedsMeans") -> str:
    helps = "raise epsilon, use more teachers" if found.is_calibrated else "set less noise"
    return (
        f"the noise is too large for the means: it changes the mean of all {found.n_labels} "
        f"answers by about {found.error:.0%} of the width of the bounds; {helps}"
        f"{_or_records(found.are_sites)}"
    )


# --- unanswered queries ---------------------------------------------------------------------------


def _queries_dropped(found: "findings.QueriesDropped") -> str:
    return (
        f"epsilon={found.epsilon:g} pays for {found.n_queries} of the {found.n_requested} "
        "requested queries; the others are dropped. Use more noise or raise epsilon to keep all of "
        "them"
    )


def _budget_stops_queries(found: "findings.BudgetStopsQueries") -> str:
    last = "" if found.last_stage is None else f", and {found.last_stage} may get no query"
    return (
        f"epsilon={found.epsilon:g} pays for {found.n_labels} answers to the {found.n_queries} "
        f"requested queries: a fit stops once epsilon is spent{last}. Use more noise, use fewer "
        "queries or raise epsilon"
    )


def _few_stable_queries(found: "findings.FewStableQueries") -> str:
    return (
        f"{found.mechanism} counts a query as stable if {math.ceil(found.n_needed)} teachers can "
        f"change without changing the answer. Of n_teachers={found.n_teachers} only "
        f"{found.n_possible} can, even if all agree: almost no query will be answered. Use more "
        "teachers, fewer runs or a larger epsilon"
    )


# --- weak guarantees ------------------------------------------------------------------------------


def _large_delta(found: "findings.LargeDelta") -> str:
    units = "teachers" if found.counts_teachers else "records"
    return (
        f"delta={found.delta:g} is not below one over the number of {units}, {found.number}: a "
        f"mechanism that publishes one of the {units} at random would satisfy the same guarantee. "
        f"Choose delta well below {1 / found.number:.3g}"
    )


def _weak_promise(found: "findings.WeakPromise") -> str:
    if found.epsilon == math.inf:
        return "epsilon is infinite: no privacy is guaranteed. Use a mechanism with noise"
    return (
        f"epsilon={found.epsilon:.4g} is a weak guarantee: one {found.unit} may make an outcome "
        f"{factor(found.epsilon)} times as likely. Choose an epsilon of a few at most"
    )


#: The sentence of each code.
SENTENCES: dict[str, Callable[[Any], str]] = {
    "fewer_labels_than_classes": _fewer_labels_than_classes,
    "few_labels": _few_labels,
    "noise_exceeds_votes": _noise_exceeds_votes,
    "noise_exceeds_means": _noise_exceeds_means,
    "queries_dropped": _queries_dropped,
    "budget_stops_queries": _budget_stops_queries,
    "few_stable_queries": _few_stable_queries,
    "large_delta": _large_delta,
    "weak_promise": _weak_promise,
}
