"""What a fit will ask and spend, and what labels to expect of it: from public numbers alone."""

import math
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone

from ..electorate import CellForecast
from ..propose_test_release import ProposeTestRelease
from ..rdp import DEFAULT_ORDERS, Cost
from ..rdp.facts import facts_of, has_distribution
from .advice import advice_on
from .report import html_of, text_of
from .spent import PrivacyForecast

#: So many labels are drawn where a share cannot be computed: its standard error is below 0.01.
_N_DRAWN = 4000

#: So many classes take their turn to be the right one, where a mechanism may prefer some.
_MOST_RIGHT = 20


@dataclass(frozen=True, kw_only=True)
class Voters:
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
    why : str
        Why they vote.
    are_sites : bool
        Whether each teacher has private data of its own, which no other voters can have.
    are_levels : bool
        Whether the classes are levels of a number.

    Examples
    --------
    >>> from sklearn_pate.accountant import Voters
    >>> Voters(n_teachers=100, n_classes=10, names=("GaussianNB",)).n_teachers
    100
    """

    n_classes: int
    n_teachers: int | None = None
    cells: CellForecast | None = None
    n_records: int | None = None
    name: str = ""
    names: tuple = ()
    why: str = ""
    are_sites: bool = False
    are_levels: bool = False


@dataclass(frozen=True)
class RowsCost:
    """What a synthesizer takes of epsilon and delta, for the public rows that it draws.

    Attributes
    ----------
    epsilon, delta : float
        Of the rows alone. With the labels' own they add up to no more than those of the plan, and
        often to less than the sum.
    adjacency : str
        The change of the private data that is covered.
    n_rows : int
        Number of rows that are drawn.
    sums : str or None
        What else than rows it releases.

    Examples
    --------
    >>> from sklearn_pate.accountant import RowsCost
    >>> RowsCost(0.4, 0.0, adjacency="replace one record", n_rows=5000).epsilon
    0.4
    """

    epsilon: float
    delta: float
    _: KW_ONLY
    adjacency: str
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
    >>> from sklearn_pate.accountant import RenyiFilter
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
        within = self.order >= DEFAULT_ORDERS
        rdp = np.where(within, np.minimum(self.limit, total.rdp), total.rdp)
        return replace(total, rdp=rdp)

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
        n_asked = np.arange(len(paid) + 1)
        n_answered = np.concatenate([[0], np.cumsum(paid)])
        spent = self.spent + check * n_asked + answer * n_answered
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
    method : str
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
    voters : Voters or None
        Who votes, and the public numbers that all forecasts are made of; None if unknown.
    n_public, n_wanted : int
        Public rows, and queries wanted, before the cap was looked at.
    rows_cost : RowsCost or None
        What the synthesizer takes of `epsilon`.
    beside : tuple of (str, float)
        What else is released, in words, and the epsilon that each takes by itself.
    problems : tuple of str
        What those who vote find wrong with these numbers.
    obstacles : tuple of str
        Why nothing can be learnt: a fit refuses such a plan, see `on_bad_plan`.
    is_calibrated : bool
        Whether the noise of a stage follows from `epsilon`.

    Examples
    --------
    >>> from sklearn_pate.accountant import plan_queries
    >>> from sklearn_pate.aggregators import GNMax
    >>> public = {"n_public": 1000, "n_teachers": 50, "n_classes": 2}
    >>> plan = plan_queries(GNMax(sigma=None), None, **public, epsilon=1.0, delta=1e-5)
    >>> plan.n_labels, plan.labels_per_class, round(plan.noise_std, 1)
    (14, 7.0, 17.4)
    >>> round(plan.share_right(0.8), 2)
    0.89
    >>> plan.advice
    ['2 classes and 50 teachers: 7 labels a class, ...']
    """

    stages: list
    epsilon: float
    method: str
    cost: Cost = field(repr=False)
    budget: RenyiFilter | None = None
    test: ProposeTestRelease | None = None
    spent: PrivacyForecast | None = None
    delta: float | None = None
    own_cost: Cost | None = field(default=None, repr=False)
    synthesizer: Any = None
    _: KW_ONLY
    voters: Voters | None = None
    n_public: int = 0
    n_wanted: int = 0
    rows_cost: RowsCost | None = None
    beside: tuple = ()
    problems: tuple = ()
    obstacles: tuple = ()
    is_calibrated: bool = False

    def __str__(self):
        return text_of(self)

    def _repr_html_(self):
        """Return what a notebook shows."""
        return html_of(self)

    @property
    def n_queries(self):
        """Queries of all stages."""
        return sum(n_queries for _, n_queries in self.stages)

    @property
    def has_teachers(self):
        """Whether teachers vote; False where records do, or nobody knows who."""
        return self.voters is not None and self.voters.n_teachers is not None

    @cached_property
    def n_labels(self):
        """Labels, if every query is answered and paid for in full."""
        if self.budget is None:
            return self.n_queries
        sizes = {"n_teachers": self.voters.n_teachers, "n_classes": self.voters.n_classes}
        untouched = replace(self, budget=RenyiFilter(self.budget.order, self.budget.limit))
        return sum(untouched.allowed(stage, np.ones(n), **sizes) for stage, n in self.stages)

    @property
    def labels_per_class(self):
        """Labels, divided by the number of classes."""
        return self.n_labels / self.voters.n_classes

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
        be right. Where records vote, there is no such share: `voters.cells.explained` says how much
        of the public rows their cells tell.

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
                "agreement must be a share of the voters, above 0.5 and at most 1; "
                f"got {agreement!r}"
            )
        n_right = math.ceil(agreement * self.voters.n_teachers - 1e-9)
        right_class = np.eye(self.voters.n_classes, dtype=int)
        votes = n_right * right_class
        votes += (self.voters.n_teachers - n_right) * np.roll(right_class, 1, axis=1)
        n_asked = np.array([n_queries for _, n_queries in self.stages])
        outcomes = [_outcomes(mechanism, n_queries, votes) for mechanism, n_queries in self.stages]
        answered, right = n_asked / n_asked.sum() @ outcomes
        return float(answered), (float(right / answered) if answered > 0 else math.nan)

    @cached_property
    def advice(self):
        """What is to be said of these numbers, and what would help most: a list of str, or []."""
        return advice_on(self)

    def allowed(self, aggregator, paid, *, n_teachers, n_classes):
        """Spend on the queries of a stage, in order; return how many the budget lets through."""
        if self.budget is None:
            return len(paid)
        order = np.array([self.budget.order])
        steps = aggregator.steps(order, n_teachers=n_teachers, n_classes=n_classes)
        check, answer = (float(cost[0]) for cost in steps)
        is_refundable = check > 0  # where no check is paid for, nothing can be given back
        paid = paid if is_refundable else np.ones(len(paid))
        return self.budget.allow(paid, check, answer)


# --- what comes of made-up votes -----------------------------------------------------------------


def _outcomes(mechanism, n_queries, votes):
    """Return the share of queries that are answered, and the share that are answered right.

    Each row of `votes` is of another class that is right.
    """
    facts = facts_of(mechanism)
    shares_cost = facts.total is not None
    if not has_distribution(mechanism) or shares_cost:
        return _drawn(mechanism, n_queries if shares_cost else _N_DRAWN, votes)
    n_classes = len(votes)
    n_right = 1 if facts.label_symmetric else min(n_classes, _MOST_RIGHT)
    right = np.linspace(0, n_classes - 1, n_right).astype(int)
    student = _no_student(mechanism, n_right, n_classes)
    proba = np.exp(mechanism.outcome_log_proba(votes[right], student))
    answered = proba[:, :n_classes].sum(axis=1).mean()
    return min(answered, 1.0), proba[np.arange(n_right), right].mean()


def _drawn(mechanism, n_asked, votes):
    """Return what `_outcomes` returns, from draws with a fixed seed, so many queries together."""
    n_rounds = math.ceil(_N_DRAWN / n_asked)
    right = np.arange(n_asked) % len(votes)  # all classes in turn
    student = _no_student(mechanism, n_asked, len(votes))
    rng = np.random.default_rng(0)
    mechanism = clone(mechanism)
    rounds = []
    for _ in range(n_rounds):
        labels = np.asarray(mechanism.release(votes[right], student, rng).labels)
        is_right = labels == right[: len(labels)]  # it may stop early
        rounds.append([(labels >= 0).sum(), is_right.sum()])
    return np.sum(rounds, axis=0) / (n_rounds * n_asked)


def _no_student(mechanism, n_queries, n_classes):
    """Return the probabilities of a student that knows nothing, if the mechanism asks for one."""
    return np.full((n_queries, n_classes), 1 / n_classes) if mechanism.uses_student_proba else None
