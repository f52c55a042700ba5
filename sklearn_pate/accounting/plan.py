"""Plan of a fit from public numbers alone: its queries, its cost and the expected labels."""

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..encoding.targets import ClassTarget, Target
from ..forecasts import CellForecast
from ..rdp import Cost
from ..rdp.records import Record
from ..report.formats import text_rounded_up
from ..report.plan import html_of_plan, text_of_plan
from .findings import Finding, findings_of, summary_of
from .made_up_votes import AGREEMENTS, AgreementShares, shares_at
from .propose_test_release import ProposeTestRelease
from .rare_class import RareClass, rare_class_of
from .renyi_filter import RenyiFilter
from .spent import PrivacyForecast
from .trials import Trial


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
        Whether each teacher is trained on the private data of one site. Methods of records are not
        available for such data.
    target_type : type of targets.Target
        The kind of target: classes, or levels of a number.
    n_targets : int
        Number of targets, each with at most `n_classes` classes.
    n_classes_by_target : tuple of int
        For teachers, number of classes of each target; empty for methods of records.

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
    names: tuple[str, ...] = ()
    reason: str = ""
    are_sites: bool = False
    target_type: type[Target] = ClassTarget
    n_targets: int = 1
    n_classes_by_target: tuple[int, ...] = ()

    @property
    def records_per_teacher(self) -> float | None:
        """Number of records, divided by the number of teachers; None if one of them is unknown."""
        if self.n_records is None or self.n_teachers is None:
            return None
        return self.n_records / self.n_teachers


class RowsCost(NamedTuple):
    """Epsilon and delta that a synthesizer spends on synthetic rows.

    Attributes
    ----------
    epsilon, delta : float
        Cost of the rows alone. The epsilon of the plan composes it with the cost of the labels. It
        is often less than the sum of the two epsilons.
    n_rows : int
        Number of synthetic rows.
    sums : str or None
        Description of other statistics that the synthesizer releases; None if there are none.
    schema : str or None
        Description of the release from which the schema is estimated; None if it is declared.

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
    schema: str | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Branch:
    """A method that may follow the first release of a fit, which chooses one of several.

    All attributes are public, and fixed before the first release. To choose a method after a first
    release, a fit prices all branches together and describes each of them in its plan::

        cost = first.plus(Cost.worst_of([branch.cost for branch in branches]))
        epsilon, composition = cost.epsilon(delta)
        plan = Plan(stages, epsilon, composition, cost, branches=branches)

    `rdp.least_scales` computes the noise scale of each branch within epsilon. The plan and the cost
    remain the same after the choice, whichever branch follows, and only `stages` is of the branch
    that is taken.

    Attributes
    ----------
    method : str
        Class of the method.
    noise : str
        Its noise, in words with a unit, such as "Gaussian noise of 4.1 records (standard
        deviation)".
    cost : Cost
        Cost of the branch alone, without the first release.
    delta : float
        Delta at which `epsilon` is stated.

    Examples
    --------
    >>> from sklearn_pate.accounting.plan import Branch
    >>> from sklearn_pate.rdp import Contribution, DEFAULT_ORDERS
    >>> from sklearn_pate.rdp.discrete import laplace_table_cost
    >>> cost = laplace_table_cost(2.5, Contribution.of_counts(2))
    >>> of_noise = {"noise": "Laplace noise of scale 2.5", "cost": cost, "delta": 1e-5}
    >>> print(Branch(method="ReverseNeighbors", **of_noise))
    ReverseNeighbors, Laplace noise of scale 2.5, epsilon 0.8 by itself
    """

    method: str
    noise: str
    cost: Cost = field(repr=False)
    delta: float

    @property
    def epsilon(self) -> float:
        """Epsilon of the branch alone, without the first release."""
        return self.cost.epsilon(self.delta)[0]

    def __str__(self) -> str:
        epsilon = text_rounded_up(self.epsilon)
        return f"{self.method}, {self.noise}, epsilon {epsilon} by itself"


@dataclass(frozen=True, eq=False)
class Plan:
    """Forecast of the queries, the cost and the labels of a fit, from public numbers alone.

    Nothing is spent or released yet. Print the plan, or display it in a notebook, to read a summary
    before a fit.

    Attributes
    ----------
    stages : list of (Aggregator, int)
        Clones with their noise set, and the number of queries of each. For several targets of
        teachers, it is the number of rows, with a query for each target.
    epsilon : float
        Data-independent cost, at most the cap.
    composition : str
        As in `PrivacySpent`.
    cost : Cost
        Cost from which `epsilon` is computed, in all measures. It can be composed with the costs of
        other fits.
    own_cost : Cost or None
        Cost of the queries alone, without the prior cost.
    synthesizer : Synthesizer or None
        Source of the public rows, with its noise set; `epsilon` includes its cost.
    budget : RenyiFilter or None
        Filter that stops the stages before the cap, if the cap does not pay for all queries.
    test : ProposeTestRelease or None
        Test that the votes must pass before labels are released, with ``accounting="ptr"``.
    spent : PrivacyForecast or None
        Forecast of `privacy_spent_` of a complete fit: the guarantee is the same, and `n_answered`
        is 0.
    delta : float or None
        Delta of `epsilon`; None for the delta of the estimator.
    method_summary : MethodSummary or None
        The method, and the public numbers from which forecasts are computed; None if unknown.
    n_public, n_requested : int
        Number of public rows, and number of requested queries before the cap was applied.
    rows_cost : RowsCost or None
        Cost of the synthetic rows alone; None without a synthesizer.
    extra_releases : tuple of (str, float)
        Description of each other release, and the epsilon that the release costs by itself.
    warnings : tuple of str
        Warnings of the method about these numbers.
    errors : tuple of str
        Reasons why nothing can be learned. The parameter `on_bad_plan` of the estimator determines
        whether a fit with such a plan raises an error.
    is_calibrated : bool
        Whether the noise of a stage is calibrated to `epsilon`.
    branches : tuple of Branch
        Methods that may follow, if a release of the fit chooses one of several, including those
        that are not taken; `epsilon` and delta hold for all of them. Empty without a choice.
    first_release : str
        Description of the first release, if the fit has one that finds the classes, the bounds or
        the shares of the classes, and of the assumptions of the other numbers of the plan; else
        empty.
    trials : tuple of trials.Trial
        Forecasts of the accuracy at several epsilons, from fits on labelled public rows. Empty
        without `y_public`.
    trials_note : str
        Reason why there are no trials although `y_public` is given; else empty.
    guarantee : dict or None
        How `epsilon` follows from the steps, from `rdp.records`; None for a plan of queries alone.

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

    stages: list[tuple[Any, int]]
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
    extra_releases: tuple[tuple[str, float], ...] = ()
    warnings: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    is_calibrated: bool = False
    branches: tuple[Branch, ...] = ()
    first_release: str = ""
    trials: tuple[Trial, ...] = ()
    trials_note: str = ""
    guarantee: Record | None = field(default=None, repr=False)

    def __str__(self) -> str:
        return text_of_plan(self)

    def _repr_html_(self) -> str:
        """Return HTML for a notebook, on light and dark pages."""
        return html_of_plan(self)

    @property
    def n_queries(self) -> int:
        """Number of queried rows of all stages; without stages, of rows that get a label."""
        if not self.stages:
            return self.n_requested
        return sum(n_queries for _, n_queries in self.stages)

    @property
    def has_teachers(self) -> bool:
        """Whether teachers vote; False for methods of records, or if the method is unknown."""
        return self.method_summary is not None and self.method_summary.n_teachers is not None

    @cached_property
    def n_labels(self) -> int:
        """Number of labels, if every query is answered and paid for in full."""
        if self.budget is None:
            return self.n_queries
        untouched = replace(self, budget=RenyiFilter(self.budget.order, self.budget.limit))
        return sum(untouched.allowed(stage, np.ones(n)) for stage, n in self.stages)

    @property
    def labels_per_class(self) -> float:
        """Number of labels, divided by the number of classes; NaN if the method is unknown."""
        summary = self.method_summary
        return math.nan if summary is None else self.n_labels / summary.n_classes

    @property
    def noise_std(self) -> float | None:
        """Standard deviation of the noise on a count, in votes; None if unknown.

        With several stages, it is the largest one.
        """
        sizes = [getattr(mechanism, "noise_std", None) for mechanism, _ in self.stages]
        return max((float(size) for size in sizes if size is not None), default=None)

    def share_right(self, agreement: float) -> float:
        """Return the fraction of correct labels, if a given share of the teachers agrees.

        All other teachers vote for one other class. For normal and Laplace noise, no other
        distribution of their votes is worse. The result is thus a lower bound, if the teachers
        agree on the correct class. It is not defined for methods of records; for these, see
        `method_summary.cells.explained`, the fraction of the variance of the public rows that the
        cells explain.

        Parameters
        ----------
        agreement : float
            Share of the teachers, above 0.5 and at most 1.

        Returns
        -------
        float
            Number of correct labels, divided by the number of answered queries; NaN if no query is
            answered. It is computed from the mechanism's distribution or, if the mechanism has none
            or charges all queries together, from samples with a fixed seed. Probabilities of a
            student are assumed to be uniform, and probabilities of teachers to be 0 or 1.

        Raises
        ------
        ValueError
            If the plan has no teachers, or if `agreement` is out of range.
        """
        if not self.has_teachers:
            raise ValueError("share_right requires teachers, and the method of this plan has none")
        return self._shares(agreement).right

    def share_answered(self, agreement: float) -> float:
        """Return the fraction of answered queries, if a given share of the teachers agrees.

        Parameters
        ----------
        agreement : float
            As in `share_right`.

        Returns
        -------
        float
            Fraction in [0, 1]. It is 1 for methods of records, which label each public row.
        """
        return self._shares(agreement).answered if self.has_teachers else 1.0

    def _shares(self, agreement: float) -> AgreementShares:
        """Return the fractions of answered queries and correct labels, for a plan of teachers."""
        return shares_at(agreement, self.stages, **self._sizes)

    @cached_property
    def agreement_shares(self) -> tuple[AgreementShares, ...]:
        """Fractions of answered queries and correct labels, by agreement; () without teachers."""
        return tuple(map(self._shares, AGREEMENTS)) if self.has_teachers else ()

    @cached_property
    def answers_all(self) -> bool:
        """Whether nearly all queries are answered, at each of several agreements."""
        unanimous = self.share_answered(1.0)
        # The limit is below 1, because probabilities are rounded
        return min([unanimous, *(at.answered for at in self.agreement_shares)]) > 0.9995

    @property
    def rare_class(self) -> RareClass | None:
        """Expected counts for a hypothetical rare class; None if they cannot be computed."""
        return rare_class_of(self)

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """Warnings that follow from the numbers of the plan, as `Finding` objects."""
        return findings_of(self)

    @property
    def advice(self) -> list[str]:
        """Errors, warnings and findings as sentences, each with a remedy."""
        return [*self.errors, *self.warnings, *map(str, self.findings)]

    @property
    def _sizes(self) -> dict[str, int]:
        """Numbers of teachers and classes; an error without teachers."""
        summary = self.method_summary
        if summary is None or summary.n_teachers is None:
            raise ValueError("the method of this plan has no teachers, or is unknown")
        return {"n_teachers": summary.n_teachers, "n_classes": summary.n_classes}

    def allowed(self, aggregator: Any, paid: np.ndarray) -> int:
        """Spend the budget on the queries of a stage, and return how many rows are allowed.

        `paid` has a column for each of several targets; all queries of a row are made, or none.
        """
        if self.budget is None:
            return len(paid)
        sizes, order = self._sizes, np.array([self.budget.order])
        numbers = summary_of(self).n_classes_by_target or (sizes["n_classes"],)
        steps = [aggregator.steps(order, **sizes | {"n_classes": number}) for number in numbers]
        checks, answers = ([float(cost[0]) for cost in costs] for costs in zip(*steps, strict=True))
        if paid.ndim == 1:  # the same for all targets
            paid = np.column_stack([paid] * len(numbers))
        # Without the cost of a check, there is no refund
        paid = np.where(np.array(checks) > 0, paid, 1.0)
        return self.budget.allow(paid, sum(checks), answers)


def spent_of(plan: Plan) -> PrivacyForecast:
    """Return `spent` of the plan of a fit; raise ValueError for a plan of queries alone."""
    if plan.spent is None:
        raise ValueError("this plan has no forecast of privacy_spent_: it is not the plan of a fit")
    return plan.spent
