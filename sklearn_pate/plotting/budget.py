"""Where the budget went: checks, answers and the private test, stage by stage."""

import numpy as np

from ..rdp import DEFAULT_ORDERS
from ..rdp.conversion import conversion_penalty, epsilon_by_order
from . import figures
from .figures import ORANGE, SKY, YELLOW

#: How each column of shares is drawn.
_KINDS = (
    {"label": "checks", "color": YELLOW, "hatch": "//"},
    {"label": "answers", "color": SKY, "hatch": ""},
    {"label": "private test", "color": ORANGE, "hatch": ".."},
)

#: Percent from which a bar has room for its number.
_WIDE_ENOUGH = 7


class BudgetDisplay:
    """Where the budget went: checks, answers and private test, by stages.

    Computed from public numbers alone: the picture may be published.

    Parameters
    ----------
    stages : list of str
        Names of the stages.
    shares : ndarray of shape (n_stages, 3)
        Shares of checks, answers and the test of propose-test-release in the Renyi cost; they add
        up to 1.
    order : float
        The Renyi order: the one that gives the smallest epsilon.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    bars_ : list of matplotlib BarContainer
        One of each kind that has a share.

    Examples
    --------
    >>> from sklearn_pate.aggregators import ConfidentGNMax
    >>> from sklearn_pate.plotting import BudgetDisplay
    >>> confident = ConfidentGNMax(threshold=0.7, sigma1=40.0, sigma2=20.0)
    >>> public = {"n_teachers": 100, "n_classes": 2, "delta": 1e-5}
    >>> display = BudgetDisplay.from_counts([confident], [500], n_paid=[300], **public)
    >>> display.shares.round(2)
    array([[0.17, 0.83, 0.  ]])
    """

    def __init__(self, stages, shares, order):
        self.stages = stages
        self.shares = shares
        self.order = order

    @classmethod
    def from_estimator(cls, clf, *, ax=None, **kwargs):
        """Draw where the budget of a fit went.

        Parameters
        ----------
        clf : PATEClassifier
            Fitted; with ``accounting="ptr"``, in this process, as `curator_` keeps the test.
        ax, **kwargs
            As in `plot`.

        Returns
        -------
        BudgetDisplay

        Raises
        ------
        ValueError
            If the numbers asked and paid for in each stage are not public.
        """
        spent = figures.check_fitted(clf).privacy_spent_
        if spent.method == "tuning":
            raise ValueError("trials of a search are not published; draw a fit, or use from_counts")
        aggregators, n_asked = figures.stages_of(clf)
        fit = {"n_teachers": clf.n_teachers_, "n_classes": len(clf.classes_), "delta": spent.delta}
        if spent.method == "filter":  # it gives back the answers that a check refused
            fit["n_paid"] = _answers_by_stage(clf, aggregators, n_asked)
        if spent.method == "propose-test-release":
            fit["test"] = figures.curator_of(clf).test
        return cls.from_counts(aggregators, n_asked, **fit, ax=ax, **kwargs)

    @classmethod
    def from_counts(
        cls,
        aggregators,
        n_asked,
        *,
        n_teachers,
        n_classes,
        n_paid=None,
        delta=1e-5,
        test=None,
        ax=None,
        **kwargs,
    ):
        """Draw where the budget of a number of queries goes, asked or only planned.

        Parameters
        ----------
        aggregators : list of Aggregator
            The mechanism of each stage.
        n_asked : list of int
            Queries that each asks.
        n_teachers, n_classes : int
            Public numbers.
        n_paid : list of int, default=None
            Answers that each pays for, under a budget that gives back those that a check refused;
            None pays for check and answer of every query, as one mechanism.
        delta : float, default=1e-5
            Delta of the guarantee, strictly between 0 and 1.
        test : ProposeTestRelease, default=None
            The test of propose-test-release, for one stage.
        ax, **kwargs
            As in `plot`.

        Returns
        -------
        BudgetDisplay

        Raises
        ------
        ValueError
            If the lists differ in length, or a mechanism has no finite cost.
        """
        figures.pyplot()
        given = [aggregators, n_asked, n_paid, None if test is None else [test]]
        if len({len(part) for part in given if part is not None}) > 1 or sum(n_asked) < 1:
            raise ValueError(
                "give as many n_asked, and n_paid, as aggregators; a test with one alone"
            )
        n_paid = [None] * len(n_asked) if n_paid is None else n_paid
        stages = list(zip(aggregators, n_asked, n_paid, strict=True))
        public = {"n_teachers": n_teachers, "n_classes": n_classes}
        costs = np.array([_check_and_answer(*stage, **public) for stage in stages])
        epsilons = epsilon_by_order(costs.sum(axis=(0, 1)), delta, DEFAULT_ORDERS)
        best = np.argmin(epsilons if test is None else np.abs(DEFAULT_ORDERS - test.order))
        if not np.isfinite(epsilons[best]):
            raise ValueError(f"cost of {aggregators} is infinite, so it has no shares; use others")
        order = float(DEFAULT_ORDERS[best])
        shares = np.zeros((len(costs), 3))
        shares[:, :2] = costs[:, :, best] / costs[:, :, best].sum()
        if test is not None:  # the cost that the labels leave is the test's
            shares *= test.limit / (test.epsilon - conversion_penalty(test.delta, [order]).item())
            shares[0, 2] = 1 - shares.sum()
        names = [_stage_name(*stage) for stage in stages]
        return cls(names, shares, order).plot(ax, **kwargs)

    def plot(self, ax=None, **kwargs):
        """Draw a bar for each stage.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        **kwargs : dict
            Passed to ``ax.barh``.

        Returns
        -------
        BudgetDisplay
            Itself.
        """
        self.ax_, self.figure_ = figures.axes_and_figure(ax)
        percent = 100 * np.asarray(self.shares)
        n_stages = len(percent)
        height = 0.3 if n_stages == 1 else 0.6
        left = np.zeros(n_stages)
        self.bars_ = []
        for widths, kind_style in zip(percent.T, _KINDS, strict=True):
            if not widths.any():
                continue
            style = {"left": left, "height": height, "edgecolor": "black", **kind_style, **kwargs}
            self.bars_.append(self.ax_.barh(range(n_stages), widths, **style))
            self._write_percents(left, widths)
            left = left + widths
        self.ax_.set_yticks(range(n_stages), self.stages)
        self.ax_.set(xlim=(0, 100), ylim=(n_stages - 0.5, -0.5))
        self.ax_.set_xlabel(f"share of the Renyi cost at order {self.order:.3g} (%)")
        figures.legend_above(self.ax_)
        return self

    def _write_percents(self, left, widths):
        """Write its width into the middle of each bar that has room for it."""
        box = {"boxstyle": "round,pad=0.15", "fc": "white", "ec": "none"}
        for row in np.flatnonzero(widths >= _WIDE_ENOUGH):
            middle = left[row] + widths[row] / 2
            text = f"{widths[row]:.0f}%"
            self.ax_.text(middle, row, text, ha="center", va="center", bbox=box)


def _answers_by_stage(clf, aggregators, n_asked):
    """Return how many queries of each stage were answered, if that is public."""
    if any(stage.uses_student_proba for stage in aggregators):
        raise ValueError("how many interactive answers were paid for is private; use from_counts")
    answered = clf.public_labels_[clf.query_indices_] >= 0
    first_of_stage = np.cumsum(n_asked)[:-1]
    return [int(stage.sum()) for stage in np.split(answered, first_of_stage)]


def _check_and_answer(aggregator, n_asked, n_paid, **public):
    """Return the Renyi costs of a stage's checks and of its answers, shape (n_orders,) each."""
    check, answer = aggregator.steps(DEFAULT_ORDERS, **public) or (0 * DEFAULT_ORDERS, None)
    checks = n_asked * check
    if n_paid is None or answer is None:
        total = aggregator.costs(**public)(n_asked).rdp
        return checks, np.maximum(total - checks, 0)
    # Where nothing is checked, no answer is given back
    return checks, (n_paid if checks.any() else n_asked) * answer


def _stage_name(aggregator, asked, paid):
    name = f"{type(aggregator).__name__}\n{asked} asked"
    return name if paid is None else f"{name}, {paid} paid"
