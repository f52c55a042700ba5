"""Where the budget went: checks and answers, stage by stage."""

import numpy as np

from ..rdp import DEFAULT_ORDERS
from ..rdp.conversion import epsilon_by_order
from . import figures
from .figures import SKY, YELLOW

#: How each column of shares is drawn.
_KINDS = (
    {"label": "checks", "color": YELLOW, "hatch": "//"},
    {"label": "answers", "color": SKY, "hatch": ""},
)

#: Percent from which a bar has room for its number, and what that is written on.
_WIDE_ENOUGH = 7
_BOX = {"boxstyle": "round,pad=0.15", "fc": "white", "ec": "none"}


class BudgetDisplay:
    """Where the budget went: checks and answers, by stages.

    Computed from public numbers alone: the picture may be published.

    Parameters
    ----------
    stages : list of str
        Names of the stages.
    shares : ndarray of shape (n_stages, 2)
        Shares of checks and answers in the Renyi cost; they add up to 1.
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
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn_pate import PATEClassifier
    >>> from sklearn_pate.aggregators import ConfidentGNMax
    >>> from sklearn_pate.plotting import BudgetDisplay
    >>> X, y = make_classification(900, class_sep=2, random_state=0)
    >>> confident = ConfidentGNMax(threshold=0.7, sigma1=40.0, sigma2=20.0)
    >>> asked = {"n_teachers": 50, "n_queries": 50, "epsilon": None, "classes": [0, 1]}
    >>> clf = PATEClassifier(GaussianNB(), aggregator=confident, **asked)
    >>> display = BudgetDisplay.from_estimator(clf.fit(X[:600], y[:600], X_public=X[600:]))
    >>> display.shares.round(2)
    array([[0.2, 0.8]])
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
            Fitted.
        ax, **kwargs
            As in `plot`.

        Returns
        -------
        BudgetDisplay

        Raises
        ------
        ValueError
            If the numbers asked and paid for in each stage are not public, or a cost is infinite.
        """
        spent = figures.check_fitted(clf).privacy_spent_
        if spent.method in ("tuning", "propose-test-release"):
            raise ValueError(f"method={spent.method!r} has no shares by stages: draw another fit")
        aggregators, n_asked = figures.stages_of(clf)
        figures.check_asked(sum(n_asked))
        n_paid = [None] * len(n_asked)
        if spent.method == "filter":  # it gives back the answers that a check refused
            n_paid = _answers_by_stage(clf, aggregators, n_asked)
        stages = list(zip(aggregators, n_asked, n_paid, strict=True))
        public = {"n_teachers": clf.n_teachers_, "n_classes": len(clf.classes_)}
        costs = np.array([_check_and_answer(*stage, **public) for stage in stages])
        epsilons = epsilon_by_order(costs.sum(axis=(0, 1)), spent.delta, DEFAULT_ORDERS)
        best = np.argmin(epsilons)
        if not np.isfinite(epsilons[best]):
            raise ValueError(f"cost of {aggregators} is infinite, so it has no shares; use others")
        shares = costs[:, :, best] / costs[:, :, best].sum()
        names = [_stage_name(*stage) for stage in stages]
        return cls(names, shares, float(DEFAULT_ORDERS[best])).plot(ax, **kwargs)

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
            bars = self.ax_.barh(range(n_stages), widths, **style)
            texts = [f"{width:.0f}%" if width >= _WIDE_ENOUGH else "" for width in widths]
            self.ax_.bar_label(bars, texts, label_type="center", bbox=_BOX)
            self.bars_.append(bars)
            left = left + widths
        self.ax_.set_yticks(range(n_stages), self.stages)
        self.ax_.set(xlim=(0, 100), ylim=(n_stages - 0.5, -0.5))
        self.ax_.set_xlabel(f"share of the Renyi cost at order {self.order:.3g} (%)")
        figures.legend_above(self.ax_)
        return self


def _answers_by_stage(clf, aggregators, n_asked):
    """Return how many queries of each stage were answered, if that is public."""
    if any(stage.uses_student_proba for stage in aggregators):
        raise ValueError("how many interactive answers were paid for is private; draw another fit")
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
