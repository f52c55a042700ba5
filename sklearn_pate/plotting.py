"""Displays: cost and accuracy of labels, agreement of teachers, the budget, audits and groups.

A display stores the arrays that it draws. Matplotlib is imported when a display is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted

from .accounting import Curator, StageRecord
from .groups import group_report
from .rdp import DEFAULT_ORDERS, Cost
from .rdp.checks import check_delta, check_votes, margins
from .rdp.conversion import conversion_penalty, epsilon_by_order

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ._typing import Estimator, Rows
    from .aggregators.base import Aggregator

# The palette of Okabe and Ito, which color-blind readers can distinguish
BLUE = "#0072B2"
VERMILLION = "#D55E00"
GREEN = "#009E73"
YELLOW = "#F0E442"
SKY = "#56B4E9"


def axes_and_figure(ax: Axes | None) -> tuple[Axes, Any]:
    """Return the axes and their figure; None creates new ones."""
    if ax is None:
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise ImportError("displays require matplotlib: pip install matplotlib") from error
        _, ax = plt.subplots(layout="constrained")
    return ax, ax.figure


def legend_above(ax: Axes, **kwargs: Any) -> None:
    """Put the legend in one row above the axes, where it hides no bar."""
    ax.legend(
        loc="lower right", bbox_to_anchor=(1, 1), ncols=3, frameon=False, fontsize="small", **kwargs
    )


def mark_private(ax: Axes) -> None:
    """Mark a picture as private."""
    ax.set_title("private view: do not publish", loc="right", fontsize="small", color=VERMILLION)


def check_fitted(clf: Estimator) -> Estimator:
    """Return the estimator; raise an error unless it is fitted with teachers."""
    if not hasattr(clf, "fit_votes"):
        raise TypeError(
            f"expected a fitted PATEClassifier or PATERegressor; got {type(clf).__name__}. For a "
            "search or pipeline, use the estimator inside, for instance search.best_estimator_"
        )
    check_is_fitted(clf, "privacy_spent_")
    if clf.privacy_spent_.n_teachers is None:
        raise ValueError(
            "this display requires queries that teachers answer, but this fit has no teachers: it "
            "released a table of votes or class sums as a whole. privacy_spent_ has its cost"
        )
    if clf._fitted_target.n_targets > 1:
        raise ValueError(
            "this display is for one target, and this fit has several: privacy_spent_ has the cost "
            "of all of them, and curator_ the private costs and votes"
        )
    return clf


def public_numbers(clf: Estimator) -> dict[str, Any]:
    """Return the number of teachers, and the number of classes or levels."""
    return {"n_teachers": clf.n_teachers_, "n_classes": clf._fitted_target.n_values}


def curator_of(clf: Estimator) -> Curator:
    """Return `curator_` of a fit; raise an error if it is missing or has no queries."""
    curator = getattr(check_fitted(clf), "curator_", None)
    if curator is None:
        raise ValueError(
            "curator_ is private, and a pickled or copied estimator does not have it: draw the "
            "fitted estimator in the process of its fit"
        )
    check_queried(len(curator.votes))
    return curator


def stages_of(clf: Estimator) -> tuple[list[Any], list[int]]:
    """Return the mechanisms of a fit, and the number of queries of each."""
    stages = clf.aggregator_ if isinstance(clf.aggregator_, list) else [clf.aggregator_]
    n_queried = len(clf.query_indices_)
    if len(stages) == 1:
        return stages, [n_queried]
    if sum(clf.n_queries) != n_queried:
        raise ValueError(
            f"the fit made {n_queried} of n_queries={clf.n_queries} queries, so their number in "
            "each stage is unknown; draw a fit that made all of them"
        )
    return stages, clf.n_queries


def check_some_votes(votes: ArrayLike) -> np.ndarray:
    """Return votes as an array; raise an error if there are no rows."""
    votes = check_votes(votes)
    check_queried(len(votes))
    return votes


def check_queried(n_queries: int) -> None:
    """Raise an error if there are no queries."""
    if n_queries == 0:
        raise ValueError("there are no queries to draw; make at least one query")


# --- cost of labels: epsilon against the number of queries ----------------------------------------


class PrivacySpentDisplay:
    """Epsilon against the number of queries, by three ways to compute it.

    The curves show the bound of the papers on PATE, the exact cost, and the data-independent cost.
    The first two curves are computed from private votes and are therefore private. The third curve
    holds for all votes and may be published.

    Parameters
    ----------
    n_queries : ndarray of shape (n_points,), int
        Numbers of queries, increasing.
    data_independent : ndarray of shape (n_points,)
        Data-independent epsilon of the first queries.
    exact, bound : ndarray of shape (n_points,), default=None
        Epsilon by the exact cost of these queries, and by the bound of the papers. Both are
        private.
    published : float, default=None
        Epsilon of `privacy_spent_`.
    delta : float, default=1e-5
        Delta of all epsilons.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Axes and figure of the picture.
    lines_ : list of matplotlib Line2D
        The curves of `bound`, `exact` and `data_independent`, and the marker of `published`. Values
        that are None have no line.

    Examples
    --------
    >>> from sklearn_pate.aggregators import GNMax
    >>> from sklearn_pate.plotting import PrivacySpentDisplay
    >>> display = PrivacySpentDisplay.from_votes([[90, 10]] * 50, GNMax(sigma=10.0), delta=1e-5)
    >>> [round(float(curve[-1]), 2) for curve in (display.exact, display.data_independent)]
    [0.5, 3.68]
    """

    def __init__(
        self,
        n_queries: np.ndarray,
        data_independent: np.ndarray,
        exact: np.ndarray | None = None,
        bound: np.ndarray | None = None,
        *,
        published: float | None = None,
        delta: float = 1e-5,
    ) -> None:
        self.n_queries = n_queries
        self.data_independent = data_independent
        self.exact = exact
        self.bound = bound
        self.published = published
        self.delta = delta

    @classmethod
    def from_estimator(
        cls, clf: Estimator, *, private: bool = True, ax: Axes | None = None, **kwargs: Any
    ) -> Self:
        """Draw the cost of the queries of a fit.

        Parameters
        ----------
        clf : PATEClassifier
            Fitted classifier. If `private` is True, it must be fitted in this process.
        private : bool, default=True
            Whether to draw the private curves. A picture without them may be published.
        ax, **kwargs
            As in `plot`.

        Returns
        -------
        PrivacySpentDisplay

        Raises
        ------
        ValueError
            If the fit has no teachers or no queries or, with ``private=True``, if the classifier
            has no `curator_`.
        """
        spent = check_fitted(clf).privacy_spent_
        curator = curator_of(clf) if private else None
        n_queries = _points(len(clf.query_indices_))
        if spent.composition in ("filter", "tuning"):
            # These reserve the whole epsilon in advance, for any number of queries
            data_independent = np.full(n_queries.size, spent.epsilon)
        else:
            public = public_numbers(clf)
            data_independent = _guaranteed(*stages_of(clf), n_queries, spent.delta, public)
        exact, bound = None, None
        if curator is not None:
            exact, bound = _private_curves(curator, n_queries, spent.delta)
        display = cls(
            n_queries,
            data_independent,
            exact,
            bound,
            published=spent.epsilon,
            delta=spent.delta,
        )
        return display.plot(ax, **kwargs)

    @classmethod
    def from_votes(
        cls,
        votes: ArrayLike,
        aggregator: Aggregator,
        *,
        delta: float = 1e-5,
        student_proba: ArrayLike | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the cost of queries with given votes, in the order of the rows.

        Parameters
        ----------
        votes : array-like of shape (n_queries, n_classes)
            Vote counts; each row sums to the number of teachers.
        aggregator : Aggregator
            The mechanism. The bound of the papers counts the full cost of each query, answered or
            not.
        delta : float, default=1e-5
            Delta of the guarantee, strictly between 0 and 1.
        student_proba : array-like of shape (n_queries, n_classes), default=None
            The student's probabilities, for mechanisms that use them.
        ax, **kwargs
            As in `plot`.

        Returns
        -------
        PrivacySpentDisplay
        """
        votes = check_some_votes(votes)
        delta = check_delta(delta)
        n_queries = _points(len(votes))
        proba = None if student_proba is None else np.asarray(student_proba)
        stage = StageRecord(aggregator, len(votes), proba)
        exact, bound = _private_curves(Curator([stage], votes, delta, None), n_queries, delta)
        public = {"n_teachers": int(votes[0].sum()), "n_classes": votes.shape[1]}
        data_independent = _guaranteed([aggregator], [len(votes)], n_queries, delta, public)
        return cls(n_queries, data_independent, exact, bound, delta=delta).plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes of the picture; None creates a figure.
        **kwargs : dict
            Passed to ``ax.plot`` of the curves.

        Returns
        -------
        PrivacySpentDisplay
            Itself.
        """
        self.ax_, self.figure_ = axes_and_figure(ax)
        self.lines_ = []
        for epsilons, name, style in (
            (self.bound, "bound of the papers (private)", {"color": VERMILLION, "ls": "--"}),
            (self.exact, "exact (private)", {"color": GREEN, "ls": ":", "lw": 2.5}),
            (self.data_independent, "data-independent (guarantee)", {"color": BLUE, "ls": "-"}),
        ):
            if epsilons is not None:
                label = name if np.isfinite(epsilons[-1]) else f"{name}: infinite"
                style = {"label": label, **style, **kwargs}
                self.lines_ += self.ax_.plot(self.n_queries, epsilons, **style)
        if self.published is not None and np.isfinite(self.published):
            self.lines_ += self.ax_.plot(
                self.n_queries[-1:],
                [self.published],
                marker="*",
                ls="",
                ms=11,
                color="black",
                clip_on=False,
                label="privacy_spent_ (for publication)",
            )
        self.ax_.set(xlabel="number of queries", ylabel=f"epsilon at delta = {self.delta:g}")
        self.ax_.set_xlim(0, None)
        self.ax_.set_ylim(0, 1.3 * self.ax_.get_ylim()[1])  # room for the legend
        self.ax_.legend(loc="upper left", fontsize="small")
        if self.exact is not None or self.bound is not None:
            mark_private(self.ax_)
        return self


def _points(n_queries: int) -> np.ndarray:
    """Return at most 100 numbers of queries, at which curves are computed."""
    check_queried(n_queries)
    return np.unique(np.linspace(1, n_queries, min(n_queries, 100)).round().astype(int))


def _guaranteed(
    aggregators: list[Any],
    n_queried: list[int],
    n_queries: np.ndarray,
    delta: float,
    public: dict[str, Any],
) -> np.ndarray:
    """Return the data-independent epsilon of the first queries, in the order of stages."""
    costs = [stage.costs(**public) for stage in aggregators]
    queried_before = np.cumsum(n_queried) - n_queried
    queries_of_stage = np.clip(n_queries[:, None] - queried_before, 0, n_queried)
    epsilons = []
    for counts in queries_of_stage.tolist():
        stage_costs = [cost(count) for cost, count in zip(costs, counts, strict=True)]
        epsilons.append(reduce(Cost.plus, stage_costs).epsilon(delta)[0])
    return np.array(epsilons)


def _private_curves(curator: Curator, n_queries: np.ndarray, delta: float) -> list[np.ndarray]:
    """Return the epsilon of the first queries by exact cost, and by the bound of the papers."""
    curves = []
    for bound in ("exact", "published"):
        totals = curator.rdp(bound).cumsum(axis=0)[n_queries - 1]
        # Not by rdp_to_epsilon, which warns at the edge of the orders, as for few cheap queries
        epsilons = totals + conversion_penalty(delta, DEFAULT_ORDERS)
        curves.append(np.maximum(epsilons, 0.0).min(axis=1))
    return curves


# --- use of the budget by checks and answers, stage by stage --------------------------------------


#: Style of each column of shares.
_KINDS = (
    {"label": "checks", "color": YELLOW, "hatch": "//"},
    {"label": "answers", "color": SKY, "hatch": ""},
)

#: Smallest width of a bar, in percent, that has room for its number, and the box of the number.
_WIDE_ENOUGH = 7
_BOX = {"boxstyle": "round,pad=0.15", "fc": "white", "ec": "none"}


class BudgetDisplay:
    """Use of the privacy budget for checks and answers, by stage.

    The display is computed from public numbers alone, so the picture may be published.

    Parameters
    ----------
    stages : list of str
        Names of the stages.
    shares : ndarray of shape (n_stages, 2)
        Fractions of the total Renyi cost: of the checks and of the answers of each stage. All
        fractions sum to 1.
    order : float
        The Renyi order that gives the smallest epsilon.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Axes and figure of the picture.
    bars_ : list of matplotlib BarContainer
        One for checks and one for answers, if they have a cost.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn_pate import PATEClassifier
    >>> from sklearn_pate.aggregators import ConfidentGNMax
    >>> from sklearn_pate.plotting import BudgetDisplay
    >>> X, y = make_classification(900, class_sep=2, random_state=0)
    >>> confident = ConfidentGNMax(threshold=0.7, sigma1=40.0, sigma2=20.0)
    >>> queried = {"n_teachers": 50, "n_queries": 50, "epsilon": None, "classes": [0, 1]}
    >>> clf = PATEClassifier(GaussianNB(), aggregator=confident, **queried)
    >>> display = BudgetDisplay.from_estimator(clf.fit(X[:600], y[:600], X_public=X[600:]))
    >>> display.shares.round(2)
    array([[0.2, 0.8]])
    """

    def __init__(self, stages: list[str], shares: np.ndarray, order: float) -> None:
        self.stages = stages
        self.shares = shares
        self.order = order

    @classmethod
    def from_estimator(cls, clf: Estimator, *, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw the use of the privacy budget in a fit.

        Parameters
        ----------
        clf : PATEClassifier
            Fitted classifier.
        ax, **kwargs
            As in `plot`.

        Returns
        -------
        BudgetDisplay

        Raises
        ------
        ValueError
            If the fit has no teachers or no queries, if the costs of its stages are unknown or not
            public, or if a cost is infinite.
        """
        spent = check_fitted(clf).privacy_spent_
        if spent.composition in ("tuning", "propose-test-release"):
            raise ValueError(
                f"a fit with composition={spent.composition!r} has no cost for each stage: draw a "
                "fit without a private search and without accounting='ptr'"
            )
        aggregators, n_queried = stages_of(clf)
        check_queried(sum(n_queried))
        both = zip(aggregators, n_queried, strict=True)
        names = [f"{type(stage).__name__}\n{queried} queries" for stage, queried in both]
        n_paid: list[Any] = [None] * len(n_queried)
        if spent.composition == "filter":  # a filter refunds the cost of missing answers
            if any(stage.uses_student_proba for stage in aggregators):
                raise ValueError(
                    "the number of paid answers is private, because an aggregator compares votes "
                    "with a student; draw a fit without such an aggregator"
                )
            answered = clf.public_labels_[clf.query_indices_] >= 0
            parts = np.split(answered, np.cumsum(n_queried)[:-1])
            n_paid = [int(part.sum()) for part in parts]
            names = [f"{name}, {paid} paid" for name, paid in zip(names, n_paid, strict=True)]
        stages = list(zip(aggregators, n_queried, n_paid, strict=True))
        public = public_numbers(clf)
        costs = np.array([_check_and_answer(*stage, **public) for stage in stages])
        epsilons = epsilon_by_order(costs.sum(axis=(0, 1)), spent.delta, DEFAULT_ORDERS)
        best = np.argmin(epsilons)
        if not np.isfinite(epsilons[best]):
            raise ValueError(
                f"the cost of {aggregators} is infinite, so it cannot be split; use other "
                "aggregators"
            )
        shares = costs[:, :, best] / costs[:, :, best].sum()
        return cls(names, shares, float(DEFAULT_ORDERS[best])).plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw a bar for each stage.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes of the picture; None creates a figure.
        **kwargs : dict
            Passed to ``ax.barh``.

        Returns
        -------
        BudgetDisplay
            Itself.
        """
        self.ax_, self.figure_ = axes_and_figure(ax)
        percent = 100 * np.asarray(self.shares)
        n_stages = len(percent)
        height = 0.3 if n_stages == 1 else 0.6
        left = np.zeros(n_stages)
        self.bars_ = []
        for widths, kind_style in zip(percent.T, _KINDS, strict=True):
            if not widths.any():
                continue
            style = {"left": left, "height": height, "edgecolor": "black", **kind_style, **kwargs}
            bars = self.ax_.barh(range(n_stages), widths, **style)
            texts = [f"{width:.0f}%" if width >= _WIDE_ENOUGH else "" for width in widths]
            self.ax_.bar_label(bars, texts, label_type="center", bbox=_BOX)
            self.bars_.append(bars)
            left = left + widths
        self.ax_.set_yticks(range(n_stages), self.stages)
        self.ax_.set(xlim=(0, 100), ylim=(n_stages - 0.5, -0.5))
        self.ax_.set_xlabel(f"part of the Renyi cost at order {self.order:.3g} (%)")
        legend_above(self.ax_)
        return self


def _check_and_answer(
    aggregator: Any, n_queried: int, n_paid: int, **public: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Return the Renyi costs of a stage's checks and of its answers, shape (n_orders,) each."""
    check, answer = aggregator.steps(DEFAULT_ORDERS, **public) or (0 * DEFAULT_ORDERS, None)
    checks = n_queried * check
    if n_paid is None or answer is None:
        total = aggregator.costs(**public)(n_queried).rdp
        return checks, np.maximum(total - checks, 0)
    # Without checks, each query has a cost, and a filter refunds none
    return checks, (n_paid if checks.any() else n_queried) * answer


# --- private displays of votes: agreement of teachers, and accuracy of labels ---------------------


class MarginDisplay:
    """Histogram of the margins between the top two vote counts.

    Large margins mean that teachers agree. The display is computed from private votes, so it is
    private.

    Parameters
    ----------
    margins : ndarray of shape (n_queries,)
        Margins, in votes.
    n_teachers : int
        Number of teachers, the largest possible margin.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Axes and figure of the picture.
    bars_ : matplotlib BarContainer
        The bars.

    Examples
    --------
    >>> from sklearn_pate.plotting import MarginDisplay
    >>> MarginDisplay.from_votes([[90, 10, 0], [40, 35, 25]]).margins
    array([80,  5])
    """

    def __init__(self, margins: np.ndarray, *, n_teachers: int) -> None:
        self.margins = margins
        self.n_teachers = n_teachers

    @classmethod
    def from_estimator(cls, clf: Estimator, *, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw the margins of the queries of a fit.

        Parameters
        ----------
        clf : PATEClassifier
            Classifier fitted in this process.
        ax, **kwargs
            As in `plot`.

        Returns
        -------
        MarginDisplay

        Raises
        ------
        ValueError
            If the classifier has no teachers, no queries or no `curator_`.
        """
        found = margins(curator_of(clf).votes)
        return cls(found, n_teachers=clf.n_teachers_).plot(ax, **kwargs)

    @classmethod
    def from_votes(cls, votes: ArrayLike, *, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw the margins of given votes.

        Parameters
        ----------
        votes : array-like of shape (n_queries, n_classes)
            Vote counts; each row sums to the number of teachers.
        ax, **kwargs
            As in `plot`.

        Returns
        -------
        MarginDisplay
        """
        votes = check_some_votes(votes)
        return cls(margins(votes), n_teachers=int(votes[0].sum())).plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw the histogram.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes of the picture; None creates a figure.
        **kwargs : dict
            Passed to ``ax.hist``.

        Returns
        -------
        MarginDisplay
            Itself.
        """
        self.ax_, self.figure_ = axes_and_figure(ax)
        # All bars cover the same whole number of votes, so that their heights can be compared
        width = 1 + self.n_teachers // 40
        edges = np.arange(-0.5, self.n_teachers + width, width)
        style = {"bins": edges, "color": BLUE, "edgecolor": "white", **kwargs}
        _, _, self.bars_ = self.ax_.hist(self.margins, **style)
        self.ax_.set(xlabel="margin between the top two classes (votes)", ylabel="queries")
        mark_private(self.ax_)
        return self


class LabelAccuracyDisplay:
    """Expected accuracy of released labels against a parameter of the mechanism.

    Accuracy is computed from the probabilities of the outcomes, without sampling. The display is
    computed from private votes, so it is private.

    Parameters
    ----------
    param_name : str
        Name of the parameter.
    param_range : ndarray of shape (n_values,)
        Values of the parameter.
    accuracy : ndarray of shape (n_values,)
        Expected number of correct answers divided by the expected number of answers; nan if no
        answers are expected.
    answered : ndarray of shape (n_values,)
        Expected fraction of queries with an answer.
    plurality : float, default=None
        Accuracy on all queries of the class with most votes, without noise.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Axes and figure of the picture.
    lines_ : list of matplotlib Line2D
        Accuracy, plurality and, if some queries may be unanswered, the answered fraction.

    Examples
    --------
    >>> from sklearn_pate.aggregators import GNMax
    >>> from sklearn_pate.plotting import LabelAccuracyDisplay
    >>> display = LabelAccuracyDisplay.from_votes(
    ...     [[90, 10], [40, 60]], [0, 1], GNMax(), param_name="sigma", param_range=[5, 20, 80]
    ... )
    >>> display.accuracy.round(2)
    array([1.  , 0.88, 0.67])
    """

    def __init__(
        self,
        param_name: str,
        param_range: np.ndarray,
        accuracy: np.ndarray,
        answered: np.ndarray,
        *,
        plurality: float | None = None,
    ) -> None:
        self.param_name = param_name
        self.param_range = param_range
        self.accuracy = accuracy
        self.answered = answered
        self.plurality = plurality

    @classmethod
    def from_estimator(
        cls,
        clf: Estimator,
        y_public: ArrayLike,
        *,
        param_name: str,
        param_range: Sequence[Any] | np.ndarray,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw label accuracy against a parameter of the aggregator, for a fit.

        Parameters
        ----------
        clf : PATEClassifier
            Classifier fitted in this process, with a single aggregator that takes votes; `SoftVote`
            takes probabilities, so it cannot be drawn.
        y_public : array-like of shape (n_public,)
            True labels of the rows of `X_public`.
        param_name, param_range
            As in `from_votes`.
        ax, **kwargs
            As in `plot`.

        Returns
        -------
        LabelAccuracyDisplay

        Raises
        ------
        ValueError
            If the classifier has no teachers, no queries or no `curator_`, if its aggregator is a
            list of stages or a `SoftVote`, or if the number of labels differs from the number of
            public rows.
        """
        votes = curator_of(clf).votes
        labels = np.asarray(column_or_1d(y_public))
        _check_takes_votes(clf.aggregator_)
        if isinstance(clf.aggregator_, list):
            raise ValueError(
                f"clf was fitted in {len(clf.aggregator_)} stages; use from_votes with the votes "
                "and aggregator of one stage"
            )
        n_public = len(clf.public_labels_)
        if len(labels) != n_public:
            raise ValueError(f"y_public must have {n_public} labels; got {len(labels)}")
        return cls.from_votes(
            votes,
            labels[clf.query_indices_],
            clf.aggregator_,
            param_name=param_name,
            param_range=param_range,
            classes=clf.classes_,
            ax=ax,
            **kwargs,
        )

    @classmethod
    def from_votes(
        cls,
        votes: ArrayLike,
        y_true: ArrayLike,
        aggregator: Aggregator,
        *,
        param_name: str,
        param_range: Sequence[Any] | np.ndarray,
        classes: ArrayLike | None = None,
        student_proba: ArrayLike | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw label accuracy against a parameter of the aggregator, from votes.

        Parameters
        ----------
        votes, student_proba : array-like of shape (n_queries, n_classes)
            As in `PrivacySpentDisplay.from_votes`.
        y_true : array-like of shape (n_queries,)
            True labels, elements of `classes`.
        aggregator : Aggregator
            The mechanism, which is cloned for each value.
        param_name : str
            Name of its parameter, for instance "sigma".
        param_range : array-like of shape (n_values,)
            Values of the parameter.
        classes : array-like of shape (n_classes,), default=None
            The class of each column of `votes`; None is 0..n_classes-1.
        ax, **kwargs
            As in `plot`.

        Returns
        -------
        LabelAccuracyDisplay

        Raises
        ------
        ValueError
            If `y_true` and `classes` do not match `votes`, if `param_range` is empty, if the
            mechanism has no parameter `param_name`, or if it is a `SoftVote`.
        """
        _check_takes_votes(aggregator)
        votes = check_some_votes(votes)
        codes = _label_codes(y_true, classes, votes.shape)
        if len(param_range) == 0:
            raise ValueError("param_range is empty; give at least one value of the parameter")
        shares = []
        for value in param_range:
            mechanism = clone(aggregator).set_params(**{param_name: value})
            proba = np.exp(mechanism.outcome_log_proba(votes, student_proba))
            answers = proba[:, : votes.shape[1]].sum(axis=1)
            shares.append((proba[np.arange(len(votes)), codes].mean(), answers.mean()))
        right, answered = np.transpose(shares)
        with np.errstate(invalid="ignore"):  # nan where nothing is answered
            accuracy = right / answered
        plurality = float(np.mean(votes.argmax(axis=1) == codes))
        display = cls(param_name, np.asarray(param_range), accuracy, answered, plurality=plurality)
        return display.plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw accuracy and, if some queries may be unanswered, the answered fraction.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes of the picture; None creates a figure.
        **kwargs : dict
            Passed to ``ax.plot`` of both curves.

        Returns
        -------
        LabelAccuracyDisplay
            Itself.
        """
        self.ax_, self.figure_ = axes_and_figure(ax)
        style = {"color": BLUE, "marker": "o", "label": "accuracy of answers", **kwargs}
        self.lines_ = self.ax_.plot(self.param_range, self.accuracy, **style)
        if self.plurality is not None:
            label = "plurality, no noise, all queries"
            self.lines_.append(self.ax_.axhline(self.plurality, color="0.3", ls=":", label=label))
        ylabel = "accuracy of the labels"
        if np.min(self.answered) < 1 - 1e-9:  # a sum of probabilities is 1 up to rounding
            ylabel = "accuracy, and answered fraction"
            self.ax_.set_ylim(0, 1.02)
            style = {"color": VERMILLION, "marker": "s", "ls": "--", "label": "answered fraction"}
            self.lines_ += self.ax_.plot(self.param_range, self.answered, **{**style, **kwargs})
        if 0 < 5 * np.min(self.param_range) < np.max(self.param_range):
            self.ax_.set_xscale("log")
        self.ax_.set(xlabel=self.param_name, ylabel=ylabel)
        self.ax_.legend(fontsize="small")
        mark_private(self.ax_)
        return self


def _check_takes_votes(aggregator: Any) -> None:
    """Raise an error for a mechanism such as `SoftVote`, which takes probabilities."""
    if getattr(aggregator, "temperature", None) is not None:
        raise ValueError(
            f"{aggregator} takes the teachers' probabilities, but this display requires an "
            "aggregator that takes votes, such as GNMax"
        )


def _label_codes(y: Any, classes: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Return the column of votes for each label; errors quote no labels."""
    y = column_or_1d(y)
    classes = np.arange(shape[1]) if classes is None else np.asarray(classes)
    if (len(y), len(classes)) != shape:
        raise ValueError(
            f"votes of shape {shape} require {shape[0]} labels and {shape[1]} classes; got "
            f"{len(y)} labels and {len(classes)} classes"
        )
    codes = pd.Index(classes).get_indexer(y)
    if (codes < 0).any():
        raise ValueError(
            "y has labels that are not in classes: give one class per column, in the type of y"
        )
    return codes


# --- lower bounds of audits, against claims -------------------------------------------------------


#: Styles of bars.
_SOUND = {"label": "lower bound", "color": SKY, "hatch": ""}
_REFUTED = {"label": "above the claim", "color": VERMILLION, "hatch": "//"}


class AuditDisplay:
    """Lower bounds on epsilon from audits, against the claimed epsilons.

    An audit of private data reveals information about them. Draw only audits of data that may be
    published.

    Parameters
    ----------
    names : list of str
        Names of the audits.
    epsilon : ndarray of shape (n_audits,)
        Lower bounds.
    claimed : ndarray of shape (n_audits,)
        Claimed epsilons, nan where there is none.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Axes and figure of the picture.
    bars_ : list of matplotlib BarContainer
        The lower bounds: bars up to the claim first, then bars above it.
    lines_ : list of matplotlib Line2D
        The claims, if any.

    Examples
    --------
    >>> from sklearn_pate.aggregators import GNMax, PluralityVote
    >>> from sklearn_pate.audit import audit_aggregator
    >>> from sklearn_pate.plotting import AuditDisplay
    >>> mechanisms = {"GNMax": GNMax(40.0), "no noise": PluralityVote()}
    >>> audits = {
    ...     name: audit_aggregator(mechanism, [125, 125], random_state=0)
    ...     for name, mechanism in mechanisms.items()
    ... }
    >>> display = AuditDisplay.from_results(audits, claimed=0.15)
    >>> display.epsilon > display.claimed
    array([False,  True])
    """

    def __init__(self, names: list[str], epsilon: np.ndarray, claimed: np.ndarray) -> None:
        self.names = names
        self.epsilon = epsilon
        self.claimed = claimed

    @classmethod
    def from_results(
        cls,
        results: Sequence[Any] | dict[Any, Any],
        *,
        claimed: ArrayLike | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the results of audits.

        Parameters
        ----------
        results : list or dict of AuditResult or EstimatorAudit
            Objects with an `epsilon`. The keys of a dict are the names; a list is numbered.
        claimed : float or array-like of shape (n_audits,), default=None
            Claimed epsilons, nan where there is none; None uses the `claimed` of each result.
        ax, **kwargs
            As in `plot`.

        Returns
        -------
        AuditDisplay

        Raises
        ------
        ValueError
            If there are no results, or if their number differs from the number of claims.
        """
        if not isinstance(results, dict):
            results = dict(enumerate(results, start=1))
        if not results:
            raise ValueError("results is empty; give at least one audit")
        if claimed is None:
            claims: Any = [getattr(result, "claimed", None) for result in results.values()]
        else:
            claims = claimed
        claims = np.broadcast_to(np.array(claims, dtype=float), len(results))  # None becomes nan
        epsilon = np.array([result.epsilon for result in results.values()], dtype=float)
        return cls(list(map(str, results)), epsilon, claims).plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw a bar for each audit, and a mark for each claim.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes of the picture; None creates a figure.
        **kwargs : dict
            Passed to ``ax.barh``.

        Returns
        -------
        AuditDisplay
            Itself.
        """
        self.ax_, self.figure_ = axes_and_figure(ax)
        rows = np.arange(len(self.names))
        epsilon = np.asarray(self.epsilon)
        claimed = np.asarray(self.claimed)
        refuted = epsilon > claimed  # false where there is no claim
        self.bars_ = []
        for these, kind_style in ((~refuted, _SOUND), (refuted, _REFUTED)):
            if these.any():
                style = {"edgecolor": "black", "height": 0.6, **kind_style, **kwargs}
                self.bars_.append(self.ax_.barh(rows[these], epsilon[these], **style))
        self.lines_ = []
        known = np.isfinite(claimed)
        if known.any():
            style = {"marker": "|", "ls": "", "ms": 22, "mew": 2.5, "color": "black", "zorder": 3}
            self.lines_ = self.ax_.plot(claimed[known], rows[known], label="claimed", **style)
        self.ax_.set_yticks(rows, self.names)
        self.ax_.set(xlabel="epsilon", ylim=(len(rows) - 0.5, -0.5))
        self.ax_.set_xlim(0, 1.08 * max(1e-9, *epsilon, *claimed[known]))
        legend_above(self.ax_, markerscale=0.5)
        return self


# --- scores of the published model, by group ------------------------------------------------------

#: Axis labels of scores.
_SCORE_LABELS = {
    "accuracy": "accuracy",
    "auc": "AUC",
    "calibration": "mean predicted probability - observed frequency",
    "r2": "R2",
    "mae": "mean absolute error",
    "bias": "mean prediction - mean of y",
}


class GroupReportDisplay:
    """A score of a published model on labelled public rows, with an interval for each group.

    Parameters
    ----------
    report : DataFrame
        Result of `groups.group_report`.
    score : str
        Column of the report.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Axes and figure of the picture.
    errorbar_ : matplotlib ErrorbarContainer
        Scores of the groups, and their intervals.
    line_ : matplotlib Line2D
        Score of all rows.

    See Also
    --------
    sklearn_pate.groups.group_report : The numbers of the picture.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn_pate.plotting import GroupReportDisplay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> clf = GaussianNB().fit(X[::2], y[::2])
    >>> display = GroupReportDisplay.from_estimator(clf, X[1::2], y[1::2], by="petal width (cm)")
    >>> display.report["n_rows"].tolist()
    [75, 19, 21, 20, 15]
    """

    def __init__(self, report: pd.DataFrame, score: str) -> None:
        self.report = report
        self.score = score

    @classmethod
    def from_estimator(
        cls,
        estimator: Estimator,
        X: Rows,
        y: ArrayLike,
        *,
        by: Any,
        score: str | None = None,
        n_bins: int = 4,
        confidence: float = 0.95,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw a score of a fitted model by group.

        Parameters
        ----------
        estimator, X, y, by, n_bins, confidence
            As in `groups.group_report`.
        score : str, default=None
            Score to draw, a column of the report. None is "accuracy" for classifiers and "r2" for
            regressors.
        ax, **kwargs
            As in `plot`.

        Returns
        -------
        GroupReportDisplay

        Raises
        ------
        ValueError
            If `score` is no score of the report, or as in `groups.group_report`.
        """
        report = group_report(estimator, X, y, by=by, n_bins=n_bins, confidence=confidence)
        scores = [name for name in report if f"{name}_low" in report]
        score = scores[0] if score is None else score
        if score not in scores:
            raise ValueError(f"score must be one of {scores}; got {score!r}")
        return cls(report, score).plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw a point and an interval for each group, and a line for all rows.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes of the picture; None creates a figure.
        **kwargs : dict
            Passed to ``ax.errorbar``.

        Returns
        -------
        GroupReportDisplay
            Itself.
        """
        self.ax_, self.figure_ = axes_and_figure(ax)
        groups = self.report.iloc[1:]
        rows = np.arange(len(groups))
        value = groups[self.score].to_numpy(dtype=float)
        # Rounding may put a score just outside of its interval, which matplotlib refuses
        below = np.maximum(value - groups[f"{self.score}_low"], 0)
        above = np.maximum(groups[f"{self.score}_high"] - value, 0)
        style = {"fmt": "o", "color": BLUE, "capsize": 3, **kwargs}
        limits = np.nan_to_num([below, above])  # no interval
        self.errorbar_ = self.ax_.errorbar(value, rows, xerr=limits, **style)
        style = {"color": "black", "ls": "--", "lw": 0.8, "label": self.report.index[0]}
        self.line_ = self.ax_.axvline(self.report[self.score].iloc[0], **style)
        names = [f"{name} (n={n})" for name, n in zip(groups.index, groups["n_rows"], strict=True)]
        self.ax_.set_yticks(rows, names)
        self.ax_.set(xlabel=_SCORE_LABELS.get(self.score, self.score), ylim=(len(rows) - 0.5, -0.5))
        legend_above(self.ax_)
        return self
