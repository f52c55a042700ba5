"""What a fit will ask and spend, and what labels to expect of it: from public numbers alone."""

import math
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from ..encoding.targets import ClassTarget, NumberTarget, Target
from ..forecasts import CellForecast
from ..rdp import DEFAULT_ORDERS, Cost
from ..rdp.bounds import bounds_of, has_distribution
from .propose_test_release import ProposeTestRelease
from .spent import PrivacyForecast, card_of, text_rounded_up

#: So many labels are drawn where a share cannot be computed: its standard error is below 0.01.
_N_SAMPLED = 4000

#: So many classes take their turn to be the right one, where a mechanism may prefer some.
_MOST_RIGHT = 20


@dataclass(frozen=True, kw_only=True)
class MethodSummary:
    """Who votes, in public numbers.

    Attributes
    ----------
    n_classes : int
        Number of classes.
    n_teachers : int or None
        Number of teachers; None where records vote.
    cells : CellForecast or None
        What the cells of records will be like; None where teachers vote.
    n_records : int or None
        Number of private records; None where it is private, or unknown.
    name : str
        Class of the electorate, where records vote.
    names : tuple of str
        Classes of the teachers' classifiers, dealt to the teachers in turn; empty if unknown.
    reason : str
        Why they vote.
    are_sites : bool
        Whether each teacher has private data of its own, which no other voters can have.
    target_type : type of targets.Target
        The kind of target: classes, or levels of a number.

    Examples
    --------
    >>> from sklearn_pate.accounting import MethodSummary
    >>> MethodSummary(n_teachers=100, n_classes=10, names=("GaussianNB",)).n_teachers
    100
    """

    n_classes: int
    n_teachers: int | None = None
    cells: CellForecast | None = None
    n_records: int | None = None
    name: str = ""
    names: tuple = ()
    reason: str = ""
    are_sites: bool = False
    target_type: type[Target] = ClassTarget


class RowsCost(NamedTuple):
    """What a synthesizer takes of epsilon and delta, for the public rows that it draws.

    Attributes
    ----------
    epsilon, delta : float
        Of the rows alone. With the labels' own they add up to no more than those of the plan, and
        often to less than the sum.
    n_rows : int
        Number of rows that are drawn.
    sums : str or None
        What else than rows it releases.

    Examples
    --------
    >>> from sklearn_pate.accounting import RowsCost
    >>> RowsCost(0.4, 0.0, n_rows=5000).epsilon
    0.4
    """

    epsilon: float
    delta: float
    n_rows: int
    sums: str | None = None


class RenyiFilter:
    """A budget at one Renyi order, fixed in advance, for steps whose number is an outcome.

    The whole cost of a query is set aside before it is asked; what was not spent is refunded.

    Parameters
    ----------
    order : float
        The order.
    limit : float
        Largest total cost.

    Notes
    -----
    Privacy filters for Renyi costs: Feldman, Zrnic (2021), Individual privacy accounting via a
    Renyi filter, NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_pate.accounting import RenyiFilter
    >>> budget = RenyiFilter(order=10.0, limit=1.0)
    >>> budget.allow(np.array([True, False, False, True, True]), check=0.1, answer=0.3)
    3
    """

    def __init__(self, order, limit):
        self.order = order
        self.limit = limit
        self.spent = 0.0

    def cost(self, total):
        """Cost of what the filter lets through.

        Costs grow with the order: up to the filter's own, its limit holds; above, only the total.

        Parameters
        ----------
        total : Cost
            Of all queries that could be asked.

        Returns
        -------
        Cost
            At most the total.
        """
        limits = np.where(self.order >= DEFAULT_ORDERS, self.limit, np.inf)
        return replace(total, rdp=np.minimum(limits, total.rdp))

    def allow(self, paid, check, answer):
        """Spend on as many of the queries, in order, as the budget pays for.

        Parameters
        ----------
        paid : ndarray of shape (n_queries,), bool
            Whether the answer of each query, if asked, is paid for.
        check, answer : float
            Cost of the two steps of a query.

        Returns
        -------
        int
            How many were asked.
        """
        n_answered = np.concatenate([[0], np.cumsum(paid)])
        spent = self.spent + check * np.arange(len(paid) + 1) + answer * n_answered
        # Both steps are set aside, whatever the check will say: a refund comes after the query.
        # The sum over queries is rounded; 1e-12 keeps it from passing the limit
        fits = spent[:-1] + check + answer <= self.limit * (1 - 1e-12)
        allowed = len(paid) if fits.all() else int(np.argmin(fits))
        self.spent = float(spent[allowed])
        return allowed


@dataclass(frozen=True, eq=False)
class Plan:
    """What a fit will ask and spend, decided from public numbers alone.

    It is a forecast: nothing is spent yet, and nothing released. Print it for what a person needs
    to know before a fit; a notebook shows the same.

    Attributes
    ----------
    stages : list of (Aggregator, int)
        Clones with their noise set, and the queries each may ask.
    epsilon : float
        Their data-independent cost, at most the cap.
    composition : str
        As in `PrivacySpent`.
    cost : Cost
        The same as `epsilon`, in all the ways that add up with the costs of other fits.
    own_cost : Cost or None
        Of the queries alone; None if nothing is released before them.
    synthesizer : Synthesizer or None
        What draws the public rows, with its noise set; its cost is in `epsilon`.
    budget : RenyiFilter or None
        What stops the stages before the cap, if not all queries fit.
    test : ProposeTestRelease or None
        What the votes must pass before labels are released, with ``accounting="ptr"``.
    spent : PrivacyForecast or None
        A forecast of what `privacy_spent_` will say once a fit has paid for its rows and labels:
        the guarantee is the same, and no query is answered yet.
    delta : float or None
        The delta of `epsilon`, if it is not the one that was given.
    method_summary : MethodSummary or None
        Who votes, and the public numbers that all forecasts are made of; None if unknown.
    n_public, n_requested : int
        Public rows, and queries wanted, before the cap was looked at.
    rows_cost : RowsCost or None
        What the synthesizer takes of `epsilon`.
    extra_releases : tuple of (str, float)
        What else is released, in words, and the epsilon that each takes by itself.
    warnings : tuple of str
        What those who vote find wrong with these numbers.
    errors : tuple of str
        Why nothing can be learnt: a fit refuses such a plan, see `on_bad_plan`.
    is_calibrated : bool
        Whether the noise of a stage follows from `epsilon`.

    Examples
    --------
    >>> from sklearn_pate.accounting import plan_queries
    >>> from sklearn_pate.aggregators import GNMax
    >>> public = {"n_public": 1000, "n_teachers": 50, "n_classes": 2}
    >>> plan = plan_queries(GNMax(sigma=None), None, **public, epsilon=1.0, delta=1e-5)
    >>> plan.n_labels, plan.labels_per_class, round(plan.noise_std, 1)
    (14, 7.0, 17.4)
    >>> round(plan.share_right(0.8), 2)
    0.89
    >>> plan.advice
    ["2 classes and 50 teachers: 7 labels a class, ..."]
    """

    stages: list
    epsilon: float
    composition: str
    cost: Cost = field(repr=False)
    budget: RenyiFilter | None = None
    test: ProposeTestRelease | None = None
    spent: PrivacyForecast | None = None
    delta: float | None = None
    own_cost: Cost | None = field(default=None, repr=False)
    synthesizer: Any = None
    method_summary: MethodSummary | None = None
    n_public: int = 0
    n_requested: int = 0
    rows_cost: RowsCost | None = None
    extra_releases: tuple = ()
    warnings: tuple = ()
    errors: tuple = ()
    is_calibrated: bool = False

    def __str__(self):
        named = [(f"{name:12}", words) for name, words in _lines(self)]
        parts = [_TITLE]
        for start, words in [*named, *(("! ", text) for text in _remarks(self))]:
            rest = " " * len(start)
            parts.append(textwrap.fill(words, 88, initial_indent=start, subsequent_indent=rest))
        return "\n".join(parts)

    def _repr_html_(self):
        """Return what a notebook shows, on light and dark pages."""
        return card_of(_TITLE, _lines(self), _remarks(self))

    @property
    def n_queries(self):
        """Queries of all stages; where nothing votes, all rows that get a label."""
        if not self.stages:
            return self.n_requested
        return sum(n_queries for _, n_queries in self.stages)

    @property
    def has_teachers(self):
        """Whether teachers vote; False where records do, or nobody knows who."""
        return self.method_summary is not None and self.method_summary.n_teachers is not None

    @cached_property
    def n_labels(self):
        """Labels, if every query is answered and paid for in full."""
        if self.budget is None:
            return self.n_queries
        untouched = replace(self, budget=RenyiFilter(self.budget.order, self.budget.limit))
        return sum(untouched.allowed(stage, np.ones(n)) for stage, n in self.stages)

    @property
    def labels_per_class(self):
        """Labels, divided by the number of classes."""
        return self.n_labels / self.method_summary.n_classes

    @property
    def noise_std(self):
        """Standard deviation of the noise on a count, in votes or ballots; None if unknown.

        Of several stages, the largest.
        """
        sizes = [getattr(mechanism, "noise_std", None) for mechanism, _ in self.stages]
        return max((float(size) for size in sizes if size is not None), default=None)

    def share_right(self, agreement):
        """Return the share of labels that will be right, if so many of those who vote agree.

        All others vote for one other class: of normal and Laplace noise, no other spread of their
        votes is worse. So with teachers who agree on the right class at least so many labels will
        be right. Where records vote, there is no such share;
        `method_summary.cells.explained` is the part of the variance of the public rows that their
        cells explain.

        Parameters
        ----------
        agreement : float
            Share of the teachers, above 0.5 and at most 1.

        Returns
        -------
        float
            Computed from the mechanism's distribution or, where it has none, drawn from a fixed
            seed. Of a mechanism that may refuse to answer, the share of its answers; NaN if it
            answers nothing. One that asks a student gets one that knows nothing, and one that
            takes probabilities teachers who are certain.
        """
        if not self.has_teachers:
            raise ValueError("share_right is about teachers, and the voters of this plan are none")
        return self._shares(agreement)[1]

    def share_answered(self, agreement):
        """Return the share of queries that get an answer, if so many teachers agree.

        Parameters
        ----------
        agreement : float
            As in `share_right`.

        Returns
        -------
        float
            1 where records vote: each public row gets a label.
        """
        return self._shares(agreement)[0] if self.has_teachers else 1.0

    def _shares(self, agreement):
        """Return the share of queries that are answered, and that of the answers that are right.

        Each query has at least a share `agreement` of the votes for one class, which is right, and
        all others for one other class. No other spread of these votes is worse, if the noise is
        log-concave, as normal and Laplace noise are.
        """
        if not 0.5 < agreement <= 1:
            raise ValueError(
                f"agreement must be a share of the voters above 0.5, at most 1; got {agreement!r}"
            )
        n_right = math.ceil(agreement * self.method_summary.n_teachers - 1e-9)
        right_class = np.eye(self.method_summary.n_classes, dtype=int)
        votes = n_right * right_class
        votes += (self.method_summary.n_teachers - n_right) * np.roll(right_class, 1, axis=1)
        n_queried = np.array([n_queries for _, n_queries in self.stages])
        # Clones: a mechanism that has seen votes may keep them, and what it returns depend on them
        stages = [(clone(mechanism), n_queries) for mechanism, n_queries in self.stages]
        outcomes = [_outcomes(mechanism, n_queries, votes) for mechanism, n_queries in stages]
        answered, right = n_queried / n_queried.sum() @ outcomes
        return float(answered), (float(right / answered) if answered > 0 else math.nan)

    @cached_property
    def advice(self):
        """What is to be said of these numbers, and what would help most: a list of str, or []."""
        found = [*self.errors, *self.warnings]
        if self.has_teachers:
            if not self.errors:
                found += [finding(self) for finding in _by_target(self).findings]
            found.append(_stopped(self))
            found += [
                _unstable(stage, n, self.method_summary.n_teachers) for stage, n in self.stages
            ]
        unit = "record" if self.spent is None else self.spent.unit
        return [text for text in (*found, weak_promise(self.epsilon, unit)) if text is not None]

    def allowed(self, aggregator, paid):
        """Spend on the queries of a stage, in order; return how many the budget lets through."""
        if self.budget is None:
            return len(paid)
        sizes = {
            "n_teachers": self.method_summary.n_teachers,
            "n_classes": self.method_summary.n_classes,
        }
        steps = aggregator.steps(np.array([self.budget.order]), **sizes)
        check, answer = (float(cost[0]) for cost in steps)
        is_refundable = check > 0  # where no check is paid for, nothing can be given back
        paid = paid if is_refundable else np.ones(len(paid))
        return self.budget.allow(paid, check, answer)


# --- what comes of made-up votes -----------------------------------------------------------------


def _outcomes(mechanism, n_queries, votes):
    """Return the share of queries that are answered, and the share that are answered right.

    Each row of `votes` is of another class that is right.
    """
    bounds = bounds_of(mechanism)
    shares_cost = bounds.total is not None
    if not has_distribution(mechanism) or shares_cost:
        return _sampled(mechanism, n_queries if shares_cost else _N_SAMPLED, votes)
    n_classes = len(votes)
    n_right = 1 if bounds.label_symmetric else min(n_classes, _MOST_RIGHT)
    right = np.linspace(0, n_classes - 1, n_right, dtype=int)
    student = _no_student(mechanism, n_right, n_classes)
    proba = np.exp(mechanism.outcome_log_proba(votes[right], student))
    answered = proba[:, :n_classes].sum(axis=1).mean()
    return min(answered, 1.0), proba[np.arange(n_right), right].mean()


def _sampled(mechanism, n_queried, votes):
    """Return what `_outcomes` returns, from draws with a fixed seed, so many queries together."""
    n_rounds = math.ceil(_N_SAMPLED / n_queried)
    right = np.arange(n_queried) % len(votes)  # all classes in turn
    student = _no_student(mechanism, n_queried, len(votes))
    rng = np.random.default_rng(0)
    rounds = []
    for _ in range(n_rounds):
        labels = np.asarray(mechanism.release(votes[right], student, rng).labels)
        is_right = labels == right[: len(labels)]  # it may stop early
        rounds.append([(labels >= 0).sum(), is_right.sum()])
    return np.sum(rounds, axis=0) / (n_rounds * n_queried)


def _no_student(mechanism, n_queries, n_classes):
    """Return the probabilities of a student that knows nothing, if the mechanism asks for one."""
    return np.full((n_queries, n_classes), 1 / n_classes) if mechanism.uses_student_proba else None


# --- what to say of a plan that will hardly work, and what would help -----------------------------


#: Labels of a class from which a student learns something of it.
_FEW_LABELS = 10

#: Too few labels are right, if not so many are where this share of the teachers agrees.
_AGREEMENT = 0.8
_FEW_RIGHT = 0.75

#: Where all teachers agree and no more labels are right than this above chance, nothing is learnt.
_BARELY_ABOVE_CHANCE = 0.05

#: What the noise adds to the mean of all that teachers answer, beside the width of the bounds.
_MOST_OFF = 0.05

#: An epsilon above this is hardly a promise.
_LARGE_EPSILON = 10


def errors_of(plan):
    """Return why a plan of teachers cannot work.

    Parameters
    ----------
    plan : Plan
        With its voters.

    Returns
    -------
    list of str
    """
    return _by_target(plan).errors(plan)


def _errors_of_classes(plan):
    n_classes = plan.method_summary.n_classes
    if plan.n_labels < n_classes:
        is_little = plan.n_requested < n_classes
        source = "is asked for" if is_little else f"epsilon={plan.epsilon:.4g} pays for"
        return [
            f"{_sizes(plan)}: the number of labels is {plan.n_labels}, all that {source}, so that "
            f"the student cannot learn all classes; {_more_labels(plan)}"
        ]
    hears_nothing = plan.share_right(1.0) < 1 / n_classes + _BARELY_ABOVE_CHANCE
    noise_exceeds_signal = _noise_exceeds_signal(plan) if hears_nothing else None
    return [] if noise_exceeds_signal is None else [noise_exceeds_signal]


def _errors_of_means(plan):
    return []


def large_delta(delta, *, n_teachers=None, n_records=None):
    """Say that a delta would allow to publish a record; None if it would not.

    Parameters
    ----------
    delta : float
        The delta.
    n_teachers, n_records : int or None, default=None
        Public numbers; `n_records` is None if private, and then that of teachers counts.

    Returns
    -------
    str or None
    """
    number, whose = (n_teachers, "teachers") if n_records is None else (n_records, "records")
    if number is None or delta * number < 1:
        return None
    return (
        f"delta={delta:g} is not below one over the number of {whose}, {number}: publishing "
        "one of them at random would be as private. Choose delta well below that"
    )


def weak_promise(epsilon, unit):
    """Say that an epsilon is hardly a promise; None if it is one.

    Parameters
    ----------
    epsilon : float
        The epsilon.
    unit : str
        What is protected.

    Returns
    -------
    str or None
    """
    if epsilon <= _LARGE_EPSILON:
        return None
    if epsilon == math.inf:
        return "epsilon is infinite: no privacy is guaranteed. Use a mechanism with noise"
    return (
        f"epsilon={epsilon:.4g} is hardly a promise: one {unit} may make an outcome "
        f"{_factor(epsilon)} times as likely. Choose epsilon of a few at most"
    )


def _few_labels(plan):
    if plan.labels_per_class >= _FEW_LABELS:
        return None
    each = math.floor(plan.labels_per_class * 10) / 10
    return (
        f"{_sizes(plan)}: {each:g} labels a class, and a student needs about {_FEW_LABELS}; "
        f"{_more_labels(plan)}"
    )


def _sizes(plan):
    return f"{plan.method_summary.n_classes} classes and {plan.method_summary.n_teachers} teachers"


def _noise_exceeds_signal(plan):
    right = plan.share_right(_AGREEMENT)
    if right >= _FEW_RIGHT or math.isnan(right):
        return None
    n_classes, n_teachers = plan.method_summary.n_classes, plan.method_summary.n_teachers
    noise = "" if plan.noise_std is None else f" of standard deviation {plan.noise_std:.3g} votes"
    helps = "ask fewer queries, raise epsilon" if plan.is_calibrated else "set less noise"
    return (
        f"the noise{noise} exceeds the votes: where {_AGREEMENT:.0%} of {n_teachers} teachers "
        f"agree on one of {n_classes} classes, as few as {percent(right)} of the labels are right; "
        f"use more teachers, {helps}{_or_records(plan)}"
    )


def _noise_exceeds_means(plan):
    if plan.noise_std is None:
        return None
    off = plan.noise_std / plan.method_summary.n_teachers / math.sqrt(2 * plan.n_labels)
    if off <= _MOST_OFF:
        return None
    helps = "raise epsilon, use more teachers" if plan.is_calibrated else "set less noise"
    return (
        f"the noise drowns the means: it adds {off:.0%} of the width of bounds to the mean of all "
        f"{plan.n_labels} together; {helps}{_or_records(plan)}"
    )


def _stopped(plan):
    """Say that the cap stops a fit before all queries are asked, if teachers answer them."""
    if plan.budget is None or plan.n_labels >= plan.n_queries:
        return None
    (_, n_of_first), *later = plan.stages
    last = ""
    if later and plan.n_labels <= n_of_first:
        last = f", and {type(later[-1][0]).__name__} may never be asked"
    return (
        f"epsilon={plan.epsilon:g} pays for {plan.n_labels} answers to the {plan.n_queries} "
        f"queries wanted: a fit stops once it is spent{last}. Use more noise, ask fewer queries or "
        "raise epsilon"
    )


def _unstable(stage, n_queries, n_teachers):
    """Say that a mechanism that answers what is stable will answer almost nothing."""
    needed = stage.stability_needed(n_queries)
    if needed <= max(n_teachers / 2 - 1, 0):
        return None
    return (
        f"{stage} counts a query as stable if {needed:.0f} teachers can change without changing "
        f"the answer, and half of n_teachers={n_teachers} is less: almost nothing will be "
        "answered. Use more teachers, fewer runs or a larger epsilon"
    )


def _more_labels(plan):
    """Say what would give a student enough labels of each class, and what would help most."""
    n_needed = _FEW_LABELS * plan.method_summary.n_classes
    if plan.n_public < n_needed:
        return f"give more public rows, {n_needed} or more, not {plan.n_public}"
    if plan.n_requested < n_needed:
        return f"ask more, n_queries={n_needed} or None{_or_records(plan)}"
    # Set noise pays for the same number, whoever votes
    helps = "use more teachers, raise epsilon" if plan.is_calibrated else "raise epsilon"
    return f"{helps}{_or_records(plan)}"


def _or_records(plan):
    """Say that records may vote in place of teachers, unless nobody has all of them."""
    records = ", or set method='neighbors'"
    return "" if plan.method_summary.are_sites else records


def percent(share):
    """Write a share in percent, rounded down.

    Parameters
    ----------
    share : float
        From 0 to 1.

    Returns
    -------
    str
    """
    return f"{math.floor(share * 100 + 1e-9)}%"


def _factor(epsilon):
    """Write how much likelier epsilon lets an outcome become."""
    power = math.floor(epsilon / math.log(10))
    if power < 6:
        return f"{math.floor(math.exp(epsilon) / 10 ** (power - 1)) * 10 ** (power - 1):,}"
    return f"10^{power}"


# --- a plan in words: text for a terminal, HTML for a notebook ------------------------------------


#: Shares of the voters who agree, for which a report says how many labels will be right.
_AGREEMENTS = (0.6, 0.8, 0.95)

#: Share of a class for which a report has the number of votes.
_RARE = 0.03

_TEACHERS_AGREE = f"where {' / '.join(map(percent, _AGREEMENTS))} of the teachers agree"

_TITLE = "Plan: a forecast of what a fit would ask and spend. Nothing is spent yet."


def _remarks(plan):
    """Return the advice of a plan, and of what a fit refuses that it does."""
    return [f"fit refuses: {text}" if text in plan.errors else text for text in plan.advice]


def _lines(plan):
    """Return pairs of a name and what is to be said of it."""
    lines = []
    if plan.method_summary is not None:
        lines += _about_teachers(plan) if plan.has_teachers else _about_records(plan)
    rows = plan.rows_cost
    if rows is not None:
        if rows.sums is not None:
            lines.append(("sums", rows.sums))
        delta = f" and delta {rows.delta:g}" if rows.delta else ""
        part = f"of the epsilon below, {text_rounded_up(rows.epsilon)}{delta} is for them"
        lines.append(("public rows", f"{rows.n_rows} rows are drawn; {part}"))
    for words, epsilon in plan.extra_releases:
        part = f"of the epsilon below, {text_rounded_up(epsilon)} is for it"
        lines.append(("releases", f"{words}; {part}"))
    delta, change = "", ""
    if plan.spent is not None:
        delta = f", delta {plan.spent.delta:g}"
        change = f"; the change that is covered: {plan.spent.change}"
    guarantee = f"{text_rounded_up(plan.epsilon)}{delta}, composition {plan.composition}{change}"
    return [*lines, ("epsilon", guarantee)]


# --- who votes -----------------------------------------------------------------------------------


def _about_teachers(plan):
    method_summary = plan.method_summary
    names = f", each a {' or '.join(method_summary.names)}" if method_summary.names else ""
    each = ""
    if method_summary.n_records is not None:
        each = f", on about {_number(method_summary.n_records / method_summary.n_teachers)} records"
    who = (
        "method",
        f"{method_summary.n_teachers} teachers{names}{each}{_reason(method_summary)}",
    )
    noise = ("noise", "; ".join(_noise(*stage, method_summary.n_teachers) for stage in plan.stages))
    return [who, *_by_target(plan).lines_of_teachers(plan, noise)]


def _means_of_teachers(plan, noise):
    means = (
        f"{plan.n_labels}, of {plan.method_summary.n_classes} levels ({plan.n_public} public rows)"
    )
    return [("means", means), noise]


def _labels_of_teachers(plan, noise):
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
        f"{_number(plan.labels_per_class)} for each of {plan.method_summary.n_classes} classes "
        f"({plan.n_queries} queries, {plan.n_public} public rows)"
    )
    lines = [("labels", labels), noise, ("right", right or "none: nothing is answered")]
    lines += _rare_class(_part_of_teachers(plan))
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
    method_summary, cells = plan.method_summary, plan.method_summary.cells
    expected = (
        ", if there are as many records as public rows" if method_summary.n_records is None else ""
    )
    if not plan.stages:
        reason = _reason(method_summary)
        return [("method", f"class sums, which get all of epsilon: no record votes{reason}")]
    ((mechanism, n_rows),) = plan.stages
    noise = f"{_number(plan.noise_std)} records (standard deviation)"
    value = method_summary.target_type.value_noun
    if cells.n_columns is not None:
        sums = (
            f"{cells.n_columns} numbers for each of {method_summary.n_classes} "
            f"{method_summary.target_type.value_nouns}, with noise of {noise}, beside "
            f"{_number(cells.n_votes)} records{expected}"
        )
        who = f"class sums, of all columns of the records{_reason(method_summary)}"
        length = _number(plan.noise_std * math.sqrt(cells.n_columns))
        has = f"{_number(_RARE * cells.n_votes)} records, beside noise of length {length}"
        rare = _by_target(plan).rare_class(f"{has} on its sums")
        return [("method", who), ("sums", sums), *rare]
    where = f"each in the cell that it lies in, of {cells.n_cells}{_reason(method_summary)}"
    others = f"for {_number(cells.n_votes / cells.n_cells)} votes in an average cell{expected}"
    lines = [
        ("method", f"the records themselves, {where}"),
        _by_target(plan).line_of_rows(plan, f"{n_rows}, one for each public row"),
        (
            "noise",
            f"{noise} on each {value} of a cell, {others}, by {type(mechanism).__name__}",
        ),
    ]
    in_cell = _number(_RARE * cells.n_votes / cells.n_cells)
    has = f"{in_cell} votes in a cell, beside noise of {_number(plan.noise_std)}"
    lines += _by_target(plan).rare_class(has)
    if cells.explained is not None:
        share = percent(cells.explained)
        text = f"{share} of the variance of the public rows; a record counts by its cell alone"
        lines.append(("explained", text))
    return lines


def _means_of_rows(plan, n_rows):
    return "means", f"{n_rows}, of {plan.method_summary.n_classes} levels"


def _labels_of_rows(plan, n_rows):
    number = _number(plan.labels_per_class)
    each = f"{number} for each of {plan.method_summary.n_classes} classes if all were as common"
    return "labels", f"{n_rows}, {each}"


def _rare_class(has):
    """Return the line on a class of a made-up share: the shares in y are private, and not counted.

    `has` is the number of votes or labels of such a class, in words.
    """
    text = (
        f"one with a share of {_RARE:.0%} has about {has}. How many records a class has is "
        "private, so a plan does not depend on it"
    )
    return [("rare class", text)]


def _no_rare_class(has):
    """Return no line: numbers have no classes."""
    return []


def _part_of_teachers(plan):
    """Return the number of labels of a rare class, in words, where teachers vote."""
    method_summary = plan.method_summary
    has = f"{_number(_RARE * plan.n_labels)} of the labels"
    if method_summary.n_records is not None:
        each = _number(_RARE * method_summary.n_records / method_summary.n_teachers)
        has = f"{each} records for each teacher, and {has}"
    return has


def _reason(method_summary):
    return f" ({method_summary.reason})" if method_summary.reason else ""


def _number(number):
    """Write a number with three digits at least."""
    return f"{number:,.0f}" if number >= 1000 else f"{number:.3g}"


# --- by the kind of target -----------------------------------------------------------------------


class _OfTarget(NamedTuple):
    """Functions of a plan that depend on the kind of target.

    Attributes
    ----------
    findings : tuple of callable
        Of teachers that vote: each returns a warning, or None.
    errors : callable
        Of teachers that vote: returns why nothing can be learnt.
    lines_of_teachers : callable
        Returns the lines on published labels or means, and on their noise.
    line_of_rows : callable
        Returns the line on published labels or means, where records vote.
    rare_class : callable
        Returns the line on a rare class, given what it has, in words; or no line.
    """

    findings: tuple
    errors: Callable
    lines_of_teachers: Callable
    line_of_rows: Callable
    rare_class: Callable


_BY_TARGET: dict[type[Target], _OfTarget] = {
    ClassTarget: _OfTarget(
        findings=(_few_labels, _noise_exceeds_signal),
        errors=_errors_of_classes,
        lines_of_teachers=_labels_of_teachers,
        line_of_rows=_labels_of_rows,
        rare_class=_rare_class,
    ),
    NumberTarget: _OfTarget(
        findings=(_noise_exceeds_means,),
        errors=_errors_of_means,
        lines_of_teachers=_means_of_teachers,
        line_of_rows=_means_of_rows,
        rare_class=_no_rare_class,
    ),
}


def _by_target(plan):
    """Return the functions for the target of a plan."""
    return _BY_TARGET[plan.method_summary.target_type]
