"""Plan of a fit from public numbers alone: its queries, its cost and the expected labels."""

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

#: Number of sampled labels if a share cannot be computed: its standard error is below 0.01.
_N_SAMPLED = 4000

#: Largest number of classes tried as the right class, if a mechanism may prefer some classes.
_MOST_RIGHT = 20


@dataclass(frozen=True, kw_only=True)
class MethodSummary:
    """Summary of a method in public numbers.

    Attributes
    ----------
    n_classes : int
        Number of classes.
    n_teachers : int or None
        Number of teachers; None for methods of records.
    cells : CellForecast or None
        Forecast of the cells of records; None for teachers.
    n_records : int or None
        Number of private records; None if it is private or unknown.
    name : str
        Class of the method, for methods of records.
    names : tuple of str
        Classes of the teachers' models, assigned to the teachers in turn; empty if unknown.
    reason : str
        Reason for the choice of the method.
    are_sites : bool
        Whether each teacher has private data of its own, which no other method can use.
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
    """Epsilon and delta that a synthesizer spends on synthetic rows.

    Attributes
    ----------
    epsilon, delta : float
        Cost of the rows alone. Composed with the cost of the labels, it is at most the cost of the
        plan, and often less than the sum of both.
    n_rows : int
        Number of synthetic rows.
    sums : str or None
        Other released statistics.

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
    """A budget at one Renyi order, fixed in advance, for a random number of steps.

    The full cost of a query is set aside before the query; the unspent part is refunded.

    Parameters
    ----------
    order : float
        The Renyi order.
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
        """Return the cost of the queries that the filter allows.

        Costs grow with the order. The limit thus holds at orders up to the order of the filter; at
        larger orders, only the total holds.

        Parameters
        ----------
        total : Cost
            Cost of all planned queries.

        Returns
        -------
        Cost
            At most the total.
        """
        limits = np.where(self.order >= DEFAULT_ORDERS, self.limit, np.inf)
        return replace(total, rdp=np.minimum(limits, total.rdp))

    def allow(self, paid, check, answer):
        """Spend the budget on the queries, in order, until it is used up.

        Parameters
        ----------
        paid : ndarray of shape (n_queries,), bool
            Whether the answer to each query has to be paid for.
        check, answer : float
            Costs of the two steps of a query.

        Returns
        -------
        int
            Number of queries within the budget.
        """
        n_answered = np.concatenate([[0], np.cumsum(paid)])
        spent = self.spent + check * np.arange(len(paid) + 1) + answer * n_answered
        # Both steps are set aside whatever the result of the check, as a refund follows the query.
        # The sum over queries is rounded; the factor 1 - 1e-12 keeps it within the limit
        fits = spent[:-1] + check + answer <= self.limit * (1 - 1e-12)
        allowed = len(paid) if fits.all() else int(np.argmin(fits))
        self.spent = float(spent[allowed])
        return allowed


@dataclass(frozen=True, eq=False)
class Plan:
    """Forecast of the queries, the cost and the labels of a fit, from public numbers alone.

    Nothing is spent or released yet. The printed plan is a summary to read before a fit; a notebook
    shows the same summary.

    Attributes
    ----------
    stages : list of (Aggregator, int)
        Clones with their noise set, and the number of queries of each.
    epsilon : float
        Data-independent cost, at most the cap.
    composition : str
        As in `PrivacySpent`.
    cost : Cost
        The cost behind `epsilon`, in all measures that compose with the costs of other fits.
    own_cost : Cost or None
        Cost of the queries alone, without the prior cost.
    synthesizer : Synthesizer or None
        Source of the public rows, with its noise set; `epsilon` includes its cost.
    budget : RenyiFilter or None
        Filter that stops the stages before the cap, if the cap does not pay for all queries.
    test : ProposeTestRelease or None
        Test that the votes must pass before labels are released, with ``accounting="ptr"``.
    spent : PrivacyForecast or None
        Forecast of `privacy_spent_` after a fit has paid for its rows and labels: the guarantee is
        the same, and no query is answered yet.
    delta : float or None
        Delta of `epsilon`, if it differs from the given delta.
    method_summary : MethodSummary or None
        The method, and the public numbers behind all forecasts; None if unknown.
    n_public, n_requested : int
        Number of public rows, and number of requested queries before the cap was applied.
    rows_cost : RowsCost or None
        Part of `epsilon` that the synthesizer spends.
    extra_releases : tuple of (str, float)
        Other releases, in words, and the epsilon that each costs by itself.
    warnings : tuple of str
        Warnings of the method about these numbers.
    errors : tuple of str
        Reasons why nothing can be learned. A fit refuses such a plan, see `on_bad_plan`.
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
    ["2 classes and 50 teachers: 7 labels per class, ..."]
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
        """Return HTML for a notebook, on light and dark pages."""
        return card_of(_TITLE, _lines(self), _remarks(self))

    @property
    def n_queries(self):
        """Number of queries of all stages; without stages, number of rows that get a label."""
        if not self.stages:
            return self.n_requested
        return sum(n_queries for _, n_queries in self.stages)

    @property
    def has_teachers(self):
        """Whether teachers vote; False for methods of records, or if the method is unknown."""
        return self.method_summary is not None and self.method_summary.n_teachers is not None

    @cached_property
    def n_labels(self):
        """Number of labels, if every query is answered and paid for in full."""
        if self.budget is None:
            return self.n_queries
        untouched = replace(self, budget=RenyiFilter(self.budget.order, self.budget.limit))
        return sum(untouched.allowed(stage, np.ones(n)) for stage, n in self.stages)

    @property
    def labels_per_class(self):
        """Number of labels, divided by the number of classes."""
        return self.n_labels / self.method_summary.n_classes

    @property
    def noise_std(self):
        """Standard deviation of the noise on a count, in votes; None if unknown.

        With several stages, it is the largest one.
        """
        sizes = [getattr(mechanism, "noise_std", None) for mechanism, _ in self.stages]
        return max((float(size) for size in sizes if size is not None), default=None)

    def share_right(self, agreement):
        """Return the share of right labels, if a given share of the teachers agrees.

        All other teachers vote for one other class. For normal and Laplace noise, no other
        distribution of their votes is worse. The result is thus a lower bound, if the teachers
        agree on the right class. Methods of records have no such share;
        `method_summary.cells.explained` is the part of the variance of the public rows that their
        cells explain.

        Parameters
        ----------
        agreement : float
            Share of the teachers, above 0.5 and at most 1.

        Returns
        -------
        float
            Computed from the mechanism's distribution or, if it has none, from samples with a
            fixed seed. For a mechanism that may refuse to answer, the share refers to its answers;
            NaN if it answers no query. A mechanism that uses a student gets uniform probabilities,
            and a mechanism that uses the teachers' probabilities gets probabilities of 0 and 1.
        """
        if not self.has_teachers:
            raise ValueError("share_right requires teachers, and the method of this plan has none")
        return self._shares(agreement)[1]

    def share_answered(self, agreement):
        """Return the share of answered queries, if a given share of the teachers agrees.

        Parameters
        ----------
        agreement : float
            As in `share_right`.

        Returns
        -------
        float
            1 for methods of records, which label each public row.
        """
        return self._shares(agreement)[0] if self.has_teachers else 1.0

    def _shares(self, agreement):
        """Return the share of answered queries, and the share of right answers among these.

        For each query, the right class gets at least a share `agreement` of the votes, and one
        other class gets all others. No other distribution of these votes is worse, if the noise is
        log-concave, as normal and Laplace noise are.
        """
        if not 0.5 < agreement <= 1:
            raise ValueError(
                "agreement must be a share of the teachers, above 0.5 and at most 1; got "
                f"{agreement!r}"
            )
        n_right = math.ceil(agreement * self.method_summary.n_teachers - 1e-9)
        right_class = np.eye(self.method_summary.n_classes, dtype=int)
        votes = n_right * right_class
        votes += (self.method_summary.n_teachers - n_right) * np.roll(right_class, 1, axis=1)
        n_queried = np.array([n_queries for _, n_queries in self.stages])
        # Clones, as a mechanism may keep these votes and depend on them later
        stages = [(clone(mechanism), n_queries) for mechanism, n_queries in self.stages]
        outcomes = [_outcomes(mechanism, n_queries, votes) for mechanism, n_queries in stages]
        answered, right = n_queried / n_queried.sum() @ outcomes
        return float(answered), (float(right / answered) if answered > 0 else math.nan)

    @cached_property
    def advice(self):
        """Findings about these numbers, with the best remedies: a list of str, or []."""
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
        """Spend on the queries of a stage, in order; return the number that the budget allows."""
        if self.budget is None:
            return len(paid)
        sizes = {
            "n_teachers": self.method_summary.n_teachers,
            "n_classes": self.method_summary.n_classes,
        }
        steps = aggregator.steps(np.array([self.budget.order]), **sizes)
        check, answer = (float(cost[0]) for cost in steps)
        is_refundable = check > 0  # without the price of a check, there is no refund
        paid = paid if is_refundable else np.ones(len(paid))
        return self.budget.allow(paid, check, answer)


# --- outcomes of made-up votes --------------------------------------------------------------------


def _outcomes(mechanism, n_queries, votes):
    """Return the share of queries that are answered, and the share with the right answer.

    Each row of `votes` has a different right class.
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
    """Return the result of `_outcomes` from samples with a fixed seed, `n_queried` at a time."""
    n_rounds = math.ceil(_N_SAMPLED / n_queried)
    right = np.arange(n_queried) % len(votes)  # all classes in turn
    student = _no_student(mechanism, n_queried, len(votes))
    rng = np.random.default_rng(0)
    rounds = []
    for _ in range(n_rounds):
        labels = np.asarray(mechanism.release(votes[right], student, rng).labels)
        is_right = labels == right[: len(labels)]  # the mechanism may stop early
        rounds.append([(labels >= 0).sum(), is_right.sum()])
    return np.sum(rounds, axis=0) / (n_rounds * n_queried)


def _no_student(mechanism, n_queries, n_classes):
    """Return uniform student probabilities if the mechanism uses a student, else None."""
    return np.full((n_queries, n_classes), 1 / n_classes) if mechanism.uses_student_proba else None


# --- warnings and errors of a plan, with remedies -------------------------------------------------


#: Number of labels of a class from which a student can learn the class.
_FEW_LABELS = 10

#: The share of right labels is too small if it is below `_FEW_RIGHT` at this agreement.
_AGREEMENT = 0.8
_FEW_RIGHT = 0.75

#: Nothing can be learned if unanimous teachers get a share of right labels this close to chance.
_BARELY_ABOVE_CHANCE = 0.05

#: Largest error of the mean of all answers due to noise, divided by the width of the bounds.
_MOST_OFF = 0.05

#: A larger epsilon is hardly a promise.
_LARGE_EPSILON = 10


def errors_of(plan):
    """Return the reasons why a plan of teachers cannot work.

    Parameters
    ----------
    plan : Plan
        A plan with a method summary.

    Returns
    -------
    list of str
    """
    return _by_target(plan).errors(plan)


def _errors_of_classes(plan):
    n_classes = plan.method_summary.n_classes
    if plan.n_labels < n_classes:
        is_little = plan.n_requested < n_classes
        source = "is requested" if is_little else f"epsilon={plan.epsilon:.4g} pays for"
        return [
            f"{_sizes(plan)}: the number of labels is {plan.n_labels}, all that {source}, so the "
            f"student cannot learn all classes; {_more_labels(plan)}"
        ]
    hears_nothing = plan.share_right(1.0) < 1 / n_classes + _BARELY_ABOVE_CHANCE
    noise_exceeds_signal = _noise_exceeds_signal(plan) if hears_nothing else None
    return [] if noise_exceeds_signal is None else [noise_exceeds_signal]


def _errors_of_means(plan):
    return []


def large_delta(delta, *, n_teachers=None, n_records=None):
    """Return a warning if delta permits the publication of a record, else None.

    Parameters
    ----------
    delta : float
        Delta of the guarantee.
    n_teachers, n_records : int or None, default=None
        Public numbers. The number of teachers is used if `n_records` is private, which is None.

    Returns
    -------
    str or None
    """
    number, whose = (n_teachers, "teachers") if n_records is None else (n_records, "records")
    if number is None or delta * number < 1:
        return None
    return (
        f"delta={delta:g} is not below one over the number of {whose}, {number}: the publication "
        "of a random one of them would satisfy the same guarantee. Choose delta well below that"
    )


def weak_promise(epsilon, unit):
    """Return a warning if epsilon is hardly a promise, else None.

    Parameters
    ----------
    epsilon : float
        Epsilon of the guarantee.
    unit : str
        The protected unit.

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
        f"{_factor(epsilon)} times as likely. Choose an epsilon of a few at most"
    )


def _few_labels(plan):
    if plan.labels_per_class >= _FEW_LABELS:
        return None
    each = math.floor(plan.labels_per_class * 10) / 10
    return (
        f"{_sizes(plan)}: {each:g} labels per class, but a student needs about {_FEW_LABELS}; "
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
        f"the noise{noise} exceeds the votes: if {_AGREEMENT:.0%} of {n_teachers} teachers agree "
        f"on one of {n_classes} classes, only {percent(right)} of the labels are right in the "
        f"worst case; use more teachers, {helps}{_or_records(plan)}"
    )


def _noise_exceeds_means(plan):
    if plan.noise_std is None:
        return None
    off = plan.noise_std / plan.method_summary.n_teachers / math.sqrt(2 * plan.n_labels)
    if off <= _MOST_OFF:
        return None
    helps = "raise epsilon, use more teachers" if plan.is_calibrated else "set less noise"
    return (
        f"the noise exceeds the signal of the means: it adds {off:.0%} of the width of bounds to "
        f"the mean of all {plan.n_labels} answers; {helps}{_or_records(plan)}"
    )


def _stopped(plan):
    """Return a warning if the cap stops the teachers before the last query, else None."""
    if plan.budget is None or plan.n_labels >= plan.n_queries:
        return None
    (_, n_of_first), *later = plan.stages
    last = ""
    if later and plan.n_labels <= n_of_first:
        last = f", and {type(later[-1][0]).__name__} may get no query"
    return (
        f"epsilon={plan.epsilon:g} pays for {plan.n_labels} answers to the {plan.n_queries} "
        f"requested queries: a fit stops once epsilon is spent{last}. Use more noise, ask fewer "
        "queries or raise epsilon"
    )


def _unstable(stage, n_queries, n_teachers):
    """Return a warning if a mechanism for stable queries will answer almost none, else None."""
    needed = stage.stability_needed(n_queries)
    if needed <= max(n_teachers / 2 - 1, 0):
        return None
    return (
        f"{stage} counts a query as stable if {needed:.0f} teachers can change without changing "
        f"the answer, and half of n_teachers={n_teachers} is less: almost no query will be "
        "answered. Use more teachers, fewer runs or a larger epsilon"
    )


def _more_labels(plan):
    """Return the best remedy for too few labels per class."""
    n_needed = _FEW_LABELS * plan.method_summary.n_classes
    if plan.n_public < n_needed:
        return f"give {n_needed} or more public rows, not {plan.n_public}"
    if plan.n_requested < n_needed:
        return f"ask more queries, n_queries={n_needed} or None{_or_records(plan)}"
    # With fixed noise, more teachers do not change the number of queries
    helps = "use more teachers, raise epsilon" if plan.is_calibrated else "raise epsilon"
    return f"{helps}{_or_records(plan)}"


def _or_records(plan):
    """Return the remedy of a method of records, unless the records are held by sites."""
    records = ", or set method='neighbors'"
    return "" if plan.method_summary.are_sites else records


def percent(share):
    """Format a share in percent, rounded down.

    Parameters
    ----------
    share : float
        Number in [0, 1].

    Returns
    -------
    str
    """
    return f"{math.floor(share * 100 + 1e-9)}%"


def _factor(epsilon):
    """Format exp(epsilon), rounded down: the largest factor on the probability of an outcome."""
    power = math.floor(epsilon / math.log(10))
    if power < 6:
        return f"{math.floor(math.exp(epsilon) / 10 ** (power - 1)) * 10 ** (power - 1):,}"
    return f"10^{power}"


# --- a plan in words: text for a terminal, HTML for a notebook ------------------------------------


#: Shares of agreeing teachers for which a report has the share of right labels.
_AGREEMENTS = (0.6, 0.8, 0.95)

#: Share of a class for which a report has the number of votes.
_RARE = 0.03

_TEACHERS_AGREE = f"if {' / '.join(map(percent, _AGREEMENTS))} of the teachers agree"

_TITLE = "Plan: a forecast of the queries and the cost of a fit. Nothing is spent yet."


def _remarks(plan):
    """Return the advice of a plan; each reason for a refusal is marked."""
    return [f"fit refuses: {text}" if text in plan.errors else text for text in plan.advice]


def _lines(plan):
    """Return pairs of a name and its description."""
    lines = []
    if plan.method_summary is not None:
        lines += _about_teachers(plan) if plan.has_teachers else _about_records(plan)
    rows = plan.rows_cost
    if rows is not None:
        if rows.sums is not None:
            lines.append(("sums", rows.sums))
        delta = f" and delta {rows.delta:g}" if rows.delta else ""
        part = f"of the epsilon below, {text_rounded_up(rows.epsilon)}{delta} is for them"
        lines.append(("public rows", f"{rows.n_rows} synthetic rows; {part}"))
    for words, epsilon in plan.extra_releases:
        part = f"of the epsilon below, {text_rounded_up(epsilon)} is for it"
        lines.append(("releases", f"{words}; {part}"))
    delta, change = "", ""
    if plan.spent is not None:
        delta = f", delta {plan.spent.delta:g}"
        change = f"; the change that is covered: {plan.spent.change}"
    guarantee = f"{text_rounded_up(plan.epsilon)}{delta}, composition {plan.composition}{change}"
    return [*lines, ("epsilon", guarantee)]


# --- lines on the method --------------------------------------------------------------------------


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
            f"at least {right} of the labels, {_TEACHERS_AGREE} on the right class, and all others "
            "on one other class"
        )
    # A probability of 1 may be rounded down
    all_answered = min(map(plan.share_answered, (*_AGREEMENTS, 1.0))) > 0.9995
    labels = (
        f"{'' if all_answered else 'at most '}{plan.n_labels}, on average "
        f"{_number(plan.labels_per_class)} for each of {plan.method_summary.n_classes} classes "
        f"({plan.n_queries} queries, {plan.n_public} public rows)"
    )
    lines = [("labels", labels), noise, ("right", right or "none: no query is answered")]
    lines += _rare_class(_part_of_teachers(plan))
    if not all_answered:
        answered = f"{_at_agreements(plan.share_answered)} of the queries, {_TEACHERS_AGREE}"
        lines.append(("answered", answered))
    return lines


def _noise(mechanism, n_queries, n_teachers):
    noise = getattr(mechanism, "noise_std", None)
    name = type(mechanism).__name__
    if noise is None:
        return f"{name}, {n_queries} queries: no noise of a known size on the votes"
    size = f"{_number(noise)} votes (standard deviation)"
    return f"{size}, compared with {n_teachers} teachers, by {name}"


def _at_agreements(share):
    """Format the share at each of the agreements; None if a share is undefined."""
    shares = [share(agreement) for agreement in _AGREEMENTS]
    return None if any(map(math.isnan, shares)) else " / ".join(map(percent, shares))


def _about_records(plan):
    method_summary, cells = plan.method_summary, plan.method_summary.cells
    expected = (
        ", if there is one record for each public row" if method_summary.n_records is None else ""
    )
    if not plan.stages:
        sums = f"{method_summary.target_type.value_noun} sums, which get all of epsilon"
        return [("method", f"{sums}; there are no votes{_reason(method_summary)}")]
    ((mechanism, n_rows),) = plan.stages
    noise = f"{_number(plan.noise_std)} records (standard deviation)"
    value = method_summary.target_type.value_noun
    if cells.n_columns is not None:
        sums = (
            f"{cells.n_columns} numbers for each of {method_summary.n_classes} "
            f"{method_summary.target_type.value_nouns}, with noise of {noise}, compared with "
            f"{_number(cells.n_votes)} records{expected}"
        )
        who = f"{value} sums, of all columns of the records{_reason(method_summary)}"
        length = _number(plan.noise_std * math.sqrt(cells.n_columns))
        has = f"{_number(_RARE * cells.n_votes)} records, compared with noise of length {length}"
        rare = _by_target(plan).rare_class(f"{has} on its sums")
        return [("method", who), ("sums", sums), *rare]
    where = f"each in one of {cells.n_cells} cells{_reason(method_summary)}"
    average = _number(cells.n_votes / cells.n_cells)
    others = f"compared with {average} votes in an average cell{expected}"
    lines = [
        ("method", f"votes of the records, {where}"),
        _by_target(plan).line_of_rows(plan, f"{n_rows}, one for each public row"),
        (
            "noise",
            f"{noise} on each {value} of a cell, {others}, by {type(mechanism).__name__}",
        ),
    ]
    in_cell = _number(_RARE * cells.n_votes / cells.n_cells)
    has = f"{in_cell} votes in a cell, compared with noise of {_number(plan.noise_std)}"
    lines += _by_target(plan).rare_class(has)
    if cells.explained is not None:
        share = percent(cells.explained)
        text = f"{share} of the variance of the public rows; only the cell of a record counts"
        lines.append(("explained", text))
    return lines


def _means_of_rows(plan, n_rows):
    return "means", f"{n_rows}, of {plan.method_summary.n_classes} levels"


def _labels_of_rows(plan, n_rows):
    number = _number(plan.labels_per_class)
    each = f"{number} for each of {plan.method_summary.n_classes} classes, if equally common"
    return "labels", f"{n_rows}, {each}"


def _rare_class(has):
    """Return the line on a class with a made-up share, as class counts in y are private.

    `has` is the number of votes or labels of such a class, in words.
    """
    text = (
        f"a class with a share of {_RARE:.0%} has about {has}. The number of records of a class "
        "is private, so a plan does not depend on it"
    )
    return [("rare class", text)]


def _no_rare_class(has):
    """Return no line, as numbers have no classes."""
    return []


def _part_of_teachers(plan):
    """Return the number of labels of a rare class, in words, for teachers."""
    method_summary = plan.method_summary
    has = f"{_number(_RARE * plan.n_labels)} of the labels"
    if method_summary.n_records is not None:
        each = _number(_RARE * method_summary.n_records / method_summary.n_teachers)
        has = f"{each} records for each teacher, and {has}"
    return has


def _reason(method_summary):
    return f" ({method_summary.reason})" if method_summary.reason else ""


def _number(number):
    """Format a number with at least three digits."""
    return f"{number:,.0f}" if number >= 1000 else f"{number:.3g}"


# --- by the kind of target -----------------------------------------------------------------------


class _OfTarget(NamedTuple):
    """Functions of a plan that depend on the kind of target.

    Attributes
    ----------
    findings : tuple of callable
        For teachers: each returns a warning, or None.
    errors : callable
        For teachers: returns the reasons why nothing can be learned.
    lines_of_teachers : callable
        Returns the lines on published labels or means, and on their noise.
    line_of_rows : callable
        Returns the line on published labels or means, for methods of records.
    rare_class : callable
        Returns the line on a rare class, given its votes or labels in words; or no line.
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
