"""Findings about a plan: errors and warnings, each with a code and public numbers.

The functions of this module decide which findings apply and compute their numbers.
`report.findings` contains the sentence and the remedy of each code. To add a finding, add a class
and a function that returns it to this module, and a sentence to `report.findings`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from ..aggregators import distance_to_instability
from ..encoding.targets import ClassTarget, NumberTarget, Target
from ..report.findings import sentence_of

if TYPE_CHECKING:
    from .plan import MethodSummary, Plan

#: Number of labels of a class from which a student can learn the class.
_FEW_LABELS = 10

#: There is a warning if the fraction of correct labels is below `_FEW_RIGHT` at this agreement.
_AGREEMENT = 0.8
_FEW_RIGHT = 0.75

#: Nothing can be learned if the fraction of correct labels of unanimous teachers exceeds the
#: probability of a random guess by less than this.
_BARELY_ABOVE_CHANCE = 0.05

#: Largest error of the mean of all answers due to noise, divided by the width of the bounds.
_MOST_OFF = 0.05

#: A larger epsilon is a weak guarantee.
_LARGE_EPSILON = 10


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Base class of findings: a code and numbers; ``str(finding)`` is a sentence.

    All numbers are public, because a plan contains only public numbers.

    Attributes
    ----------
    code : str
        The kind of the finding.

    Examples
    --------
    >>> from sklearn_pate.accounting import plan_queries
    >>> from sklearn_pate.aggregators import GNMax
    >>> public = {"n_public": 60, "n_teachers": 250, "n_classes": 10}
    >>> plan = plan_queries(GNMax(sigma=None), None, **public, epsilon=8.0, delta=1e-5)
    >>> finding = plan.findings[0]
    >>> finding.code, finding.labels_per_class
    ('few_labels', 6.0)
    >>> print(finding)
    10 classes and 250 teachers: 6 labels per class, ... give 100 or more public rows, not 60
    """

    code: ClassVar[str]

    def __str__(self) -> str:
        return sentence_of(self)


# --- few labels -----------------------------------------------------------------------------------


class LabelLimit(StrEnum):
    """Reason for too few labels: few public rows, few queries or a small epsilon."""

    PUBLIC_ROWS = "public_rows"
    QUERIES = "queries"
    EPSILON = "epsilon"


@dataclass(frozen=True, kw_only=True)
class MoreLabels:
    """Public facts that determine the remedy for too few labels.

    Attributes
    ----------
    limit : LabelLimit
        Reason for fewer labels than `n_needed`.
    n_needed, n_public : int
        Number of labels from which a student can learn all classes, and number of public rows.
    is_calibrated, are_sites : bool
        As in `Plan` and in `MethodSummary`.
    """

    limit: LabelLimit
    n_needed: int
    n_public: int
    is_calibrated: bool
    are_sites: bool


@dataclass(frozen=True, kw_only=True)
class FewerLabelsThanClasses(Finding):
    """An error: some classes get no label.

    Attributes
    ----------
    n_classes, n_teachers, n_labels : int
        Number of classes, of teachers and of labels.
    cost : float
        Epsilon of these labels and of all releases before them.
    limit : LabelLimit
        Reason for fewer labels than classes.
    remedy : MoreLabels
        Numbers of the remedy.
    """

    code = "fewer_labels_than_classes"
    n_classes: int
    n_teachers: int
    n_labels: int
    cost: float
    limit: LabelLimit
    remedy: MoreLabels


@dataclass(frozen=True, kw_only=True)
class FewLabels(Finding):
    """A class gets fewer labels than a student needs.

    Attributes
    ----------
    n_classes, n_teachers : int
        Number of classes and of teachers.
    labels_per_class : float
        Number of labels, divided by the number of classes.
    n_needed_per_class : int
        Number of labels from which a student can learn a class.
    remedy : MoreLabels
        Numbers of the remedy.
    """

    code = "few_labels"
    n_classes: int
    n_teachers: int
    labels_per_class: float
    n_needed_per_class: int
    remedy: MoreLabels


def _fewer_labels_than_classes(plan: "Plan") -> FewerLabelsThanClasses | None:
    summary = summary_of(plan)
    if plan.n_labels >= summary.n_classes:
        return None
    return FewerLabelsThanClasses(
        n_classes=summary.n_classes,
        n_teachers=_n_teachers(plan),
        n_labels=plan.n_labels,
        cost=plan.epsilon,
        limit=_label_limit(plan, summary.n_classes),
        remedy=_more_labels(plan),
    )


def _few_labels(plan: "Plan") -> FewLabels | None:
    if plan.labels_per_class >= _FEW_LABELS:
        return None
    return FewLabels(
        n_classes=summary_of(plan).n_classes,
        n_teachers=_n_teachers(plan),
        labels_per_class=plan.labels_per_class,
        n_needed_per_class=_FEW_LABELS,
        remedy=_more_labels(plan),
    )


def _label_limit(plan: "Plan", n_labels: int) -> LabelLimit:
    """Return the reason why a plan has fewer labels than `n_labels`."""
    if plan.n_labels < plan.n_requested:
        return LabelLimit.EPSILON
    if plan.n_public < n_labels:
        return LabelLimit.PUBLIC_ROWS
    return LabelLimit.QUERIES if plan.n_requested < n_labels else LabelLimit.EPSILON


def _more_labels(plan: "Plan") -> MoreLabels:
    summary = summary_of(plan)
    n_needed = _FEW_LABELS * summary.n_classes
    return MoreLabels(
        limit=_label_limit(plan, n_needed),
        n_needed=n_needed,
        n_public=plan.n_public,
        is_calibrated=plan.is_calibrated,
        are_sites=summary.are_sites,
    )


# --- much noise -----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class NoiseExceedsVotes(Finding):
    """The noise makes many labels incorrect.

    It is an error if the labels of unanimous teachers are barely better than random guesses, else a
    warning.

    Attributes
    ----------
    n_classes, n_teachers : int
        Number of classes and of teachers.
    noise_std : float or None
        Standard deviation of the noise, in votes; None if unknown.
    agreement, share_right : float
        Share of the teachers that agree, and fraction of correct labels in the worst case.
    is_calibrated, are_sites : bool
        As in `Plan` and `MethodSummary`.
    """

    code = "noise_exceeds_votes"
    n_classes: int
    n_teachers: int
    noise_std: float | None
    agreement: float
    share_right: float
    is_calibrated: bool
    are_sites: bool


@dataclass(frozen=True, kw_only=True)
class NoiseExceedsMeans(Finding):
    """The noise is too large for the means of a numeric target.

    Attributes
    ----------
    n_labels : int
        Number of answers.
    error : float
        Error of the mean of all answers due to noise, divided by the width of the bounds.
    is_calibrated, are_sites : bool
        As in `Plan` and `MethodSummary`.
    """

    code = "noise_exceeds_means"
    n_labels: int
    error: float
    is_calibrated: bool
    are_sites: bool


def _noise_exceeds_votes(plan: "Plan") -> NoiseExceedsVotes | None:
    right = plan.share_right(_AGREEMENT)
    if right >= _FEW_RIGHT or math.isnan(right):
        return None
    summary = summary_of(plan)
    return NoiseExceedsVotes(
        n_classes=summary.n_classes,
        n_teachers=_n_teachers(plan),
        noise_std=plan.noise_std,
        agreement=_AGREEMENT,
        share_right=right,
        is_calibrated=plan.is_calibrated,
        are_sites=summary.are_sites,
    )


def _noise_exceeds_means(plan: "Plan") -> NoiseExceedsMeans | None:
    if plan.noise_std is None:
        return None
    error = plan.noise_std / _n_teachers(plan) / math.sqrt(2 * plan.n_labels)
    if error <= _MOST_OFF:
        return None
    return NoiseExceedsMeans(
        n_labels=plan.n_labels,
        error=error,
        is_calibrated=plan.is_calibrated,
        are_sites=summary_of(plan).are_sites,
    )


# --- unanswered queries ---------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class QueriesDropped(Finding):
    """The cap pays for only some of the requested queries; the plan drops the others.

    Attributes
    ----------
    epsilon : float
        The cap.
    n_queries, n_requested : int
        Number of planned and of requested queries.
    """

    code = "queries_dropped"
    epsilon: float
    n_queries: int
    n_requested: int


@dataclass(frozen=True, kw_only=True)
class BudgetStopsQueries(Finding):
    """The cap may stop a fit before the last query.

    Attributes
    ----------
    epsilon : float
        The cap.
    n_labels, n_queries : int
        Number of answers that the cap pays for, and number of queries.
    last_stage : str or None
        Name of the last mechanism, if it may get no query.
    """

    code = "budget_stops_queries"
    epsilon: float
    n_labels: int
    n_queries: int
    last_stage: str | None


@dataclass(frozen=True, kw_only=True)
class FewStableQueries(Finding):
    """A mechanism that answers only stable queries will answer almost no query.

    Attributes
    ----------
    mechanism : str
        The mechanism with its parameters.
    n_needed : float
        Distance to instability above which a query is likely to be answered, in teachers.
    n_possible : int
        Distance to instability of a query if all teachers agree, in teachers.
    n_teachers : int
        Number of teachers.
    """

    code = "few_stable_queries"
    mechanism: str
    n_needed: float
    n_possible: int
    n_teachers: int


def dropped_queries(*, epsilon: float, n_queries: int, n_requested: int) -> QueriesDropped | None:
    """Return a finding if the cap pays for fewer queries than requested, else None.

    Parameters
    ----------
    epsilon : float
        The cap.
    n_queries, n_requested : int
        Number of planned and of requested queries.

    Returns
    -------
    QueriesDropped or None
    """
    if n_queries >= n_requested:
        return None
    return QueriesDropped(epsilon=epsilon, n_queries=n_queries, n_requested=n_requested)


def _budget_stops_queries(plan: "Plan") -> BudgetStopsQueries | None:
    if plan.budget is None or plan.n_labels >= plan.n_queries:
        return None
    (_, n_of_first), *later = plan.stages
    last_stage = None
    if later and plan.n_labels <= n_of_first:
        last_stage = type(later[-1][0]).__name__
    return BudgetStopsQueries(
        epsilon=plan.epsilon,
        n_labels=plan.n_labels,
        n_queries=plan.n_queries,
        last_stage=last_stage,
    )


def _few_stable_queries(stage: Any, n_queries: int, n_teachers: int) -> FewStableQueries | None:
    n_needed = stage.stability_needed(n_queries)
    n_possible = int(distance_to_instability([[n_teachers, 0]])[0])
    if n_needed <= n_possible:
        return None
    return FewStableQueries(
        mechanism=str(stage), n_needed=n_needed, n_possible=n_possible, n_teachers=n_teachers
    )


# --- weak guarantees ------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class LargeDelta(Finding):
    """Delta is so large that it permits the publication of a random record.

    Attributes
    ----------
    delta : float
        Delta of the guarantee.
    number : int
        Number of records, or number of teachers if the number of records is private.
    counts_teachers : bool
        Whether `number` is the number of teachers.
    """

    code = "large_delta"
    delta: float
    number: int
    counts_teachers: bool


@dataclass(frozen=True, kw_only=True)
class WeakPromise(Finding):
    """Epsilon is large, so the guarantee is weak, or infinite, so there is none.

    Attributes
    ----------
    epsilon : float
        Epsilon of the guarantee, may be inf.
    unit : str
        The protected unit.
    """

    code = "weak_promise"
    epsilon: float
    unit: str


def large_delta(
    delta: float, *, n_teachers: int | None = None, n_records: int | None = None
) -> LargeDelta | None:
    """Return a finding if delta is at least one over the number of records, else None.

    Parameters
    ----------
    delta : float
        Delta of the guarantee.
    n_teachers, n_records : int or None, default=None
        Number of teachers and of records. If `n_records` is None, because it is private, the number
        of teachers is used instead. If both are None, there is no finding.

    Returns
    -------
    LargeDelta or None
    """
    number = n_teachers if n_records is None else n_records
    if number is None or delta * number < 1:
        return None
    return LargeDelta(delta=delta, number=number, counts_teachers=n_records is None)


def weak_promise(epsilon: float, unit: str) -> WeakPromise | None:
    """Return a finding if epsilon is above 10, else None.

    Parameters
    ----------
    epsilon : float
        Epsilon of the guarantee.
    unit : str
        The protected unit.

    Returns
    -------
    WeakPromise or None
    """
    return None if epsilon <= _LARGE_EPSILON else WeakPromise(epsilon=epsilon, unit=unit)


# --- all findings of a plan -----------------------------------------------------------------------


def errors_of(plan: "Plan") -> list[Finding]:
    """Return the errors of a plan of teachers: reasons why nothing can be learned.

    Parameters
    ----------
    plan : Plan
        A plan with a method summary.

    Returns
    -------
    list of Finding
    """
    return _by_target(plan).errors(plan)


def findings_of(plan: "Plan") -> tuple[Finding, ...]:
    """Return the warnings that follow from the numbers of a plan.

    Parameters
    ----------
    plan : Plan
        A plan. Warnings about labels and noise are omitted if the plan has errors.

    Returns
    -------
    tuple of Finding
    """
    found: list[Finding | None] = []
    if plan.has_teachers:
        if not plan.errors:
            found += [finding_of(plan) for finding_of in _by_target(plan).findings]
        found.append(_budget_stops_queries(plan))
        n_teachers = _n_teachers(plan)
        found += [_few_stable_queries(stage, n, n_teachers) for stage, n in plan.stages]
    unit = "record" if plan.spent is None else plan.spent.unit
    found.append(weak_promise(plan.epsilon, unit))
    return tuple(finding for finding in found if finding is not None)


def _errors_of_classes(plan: "Plan") -> list[Finding]:
    few = _fewer_labels_than_classes(plan)
    if few is not None:
        return [few]
    if plan.share_right(1.0) >= 1 / summary_of(plan).n_classes + _BARELY_ABOVE_CHANCE:
        return []
    noise = _noise_exceeds_votes(plan)
    return [] if noise is None else [noise]


def _errors_of_means(plan: "Plan") -> list[Finding]:
    return []


class _OfTarget(NamedTuple):
    """Functions for teachers that depend on the kind of target.

    Attributes
    ----------
    findings : tuple of callable
        Each returns a warning about the plan, or None.
    errors : callable
        Returns the reasons why nothing can be learned.
    """

    findings: tuple[Callable[["Plan"], Finding | None], ...]
    errors: Callable[["Plan"], list[Finding]]


_BY_TARGET: dict[type[Target], _OfTarget] = {
    ClassTarget: _OfTarget(findings=(_few_labels, _noise_exceeds_votes), errors=_errors_of_classes),
    NumberTarget: _OfTarget(findings=(_noise_exceeds_means,), errors=_errors_of_means),
}


def _by_target(plan: "Plan") -> _OfTarget:
    """Return the functions for the target of a plan."""
    return _BY_TARGET[summary_of(plan).target_type]


def summary_of(plan: "Plan") -> "MethodSummary":
    """Return the method summary of a plan, which must have one."""
    if plan.method_summary is None:
        raise ValueError("the method of this plan is unknown")
    return plan.method_summary


def _n_teachers(plan: "Plan") -> int:
    """Return the number of teachers of a plan, which must have some."""
    n_teachers = summary_of(plan).n_teachers
    if n_teachers is None:
        raise ValueError("the method of this plan has no teachers")
    return n_teachers
