"""What labels cost: epsilon against the number of queries."""

from functools import reduce

import numpy as np

from ..accountant import Curator, StageRecord
from ..rdp import DEFAULT_ORDERS, Cost
from ..rdp.checks import check_delta
from ..rdp.conversion import epsilon_by_order
from . import figures
from .figures import BLUE, GREEN, VERMILLION


class PrivacySpentDisplay:
    """Epsilon against the number of queries: the papers' bound, exact, and data-independent.

    The first two curves are computed from private votes and are private themselves. The third
    holds for all votes: it may be published.

    Parameters
    ----------
    n_queries : ndarray of shape (n_points,), int
        Numbers of queries asked, increasing.
    data_independent : ndarray of shape (n_points,)
        Data-independent epsilon of the first queries.
    exact, bound : ndarray of shape (n_points,), default=None
        Epsilon of their exact cost, and of the published bound. Private.
    published : float, default=None
        Epsilon of `privacy_spent_`.
    delta : float, default=1e-5
        Delta of all epsilons.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    lines_ : list of matplotlib Line2D
        Bound, exact and data-independent curves; a marker for `published`.

    Examples
    --------
    >>> from sklearn_pate.aggregators import GNMax
    >>> from sklearn_pate.plotting import PrivacySpentDisplay
    >>> display = PrivacySpentDisplay.from_votes([[90, 10]] * 50, GNMax(sigma=10.0), delta=1e-5)
    >>> [round(float(curve[-1]), 2) for curve in (display.exact, display.data_independent)]
    [0.5, 3.68]
    """

    def __init__(
        self, n_queries, data_independent, exact=None, bound=None, *, published=None, delta=1e-5
    ):
        self.n_queries = n_queries
        self.data_independent = data_independent
        self.exact = exact
        self.bound = bound
        self.published = published
        self.delta = delta

    @classmethod
    def from_estimator(cls, clf, *, private=True, ax=None, **kwargs):
        """Draw what the queries of a fit cost.

        Parameters
        ----------
        clf : PATEClassifier
            Fitted, in this process unless `private` is False.
        private : bool, default=True
            False draws the guarantee alone: a picture that may be published.
        ax, **kwargs
            As in `plot`.

        Returns
        -------
        PrivacySpentDisplay

        Raises
        ------
        ValueError
            If the curator's view is gone.
        """
        spent = figures.check_fitted(clf).privacy_spent_
        curator = figures.curator_of(clf) if private else None
        n_queries = _points(len(clf.query_indices_))
        if spent.method in ("filter", "tuning"):
            # They set the whole epsilon aside in advance, however many queries are asked
            data_independent = np.full(n_queries.size, spent.epsilon)
        else:
            public = {"n_teachers": clf.n_teachers_, "n_classes": len(clf.classes_)}
            stages = figures.stages_of(clf)
            data_independent = _guaranteed(*stages, n_queries, spent.delta, public)
        curves = _private_curves(curator, n_queries, spent.delta) if private else (None, None)
        told = {"published": spent.epsilon, "delta": spent.delta}
        return cls(n_queries, data_independent, *curves, **told).plot(ax, **kwargs)

    @classmethod
    def from_votes(cls, votes, aggregator, *, delta=1e-5, student_proba=None, ax=None, **kwargs):
        """Draw what asking about these votes, in their order, costs.

        Parameters
        ----------
        votes : array-like of shape (n_queries, n_classes)
            Vote counts; each row sums to the number of teachers.
        aggregator : Aggregator
            The mechanism. Its published bound counts every query in full, answered or not.
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
        votes = figures.check_some_votes(votes)
        delta = check_delta(delta)
        n_queries = _points(len(votes))
        stage = StageRecord(aggregator, len(votes), student_proba)
        exact, bound = _private_curves(Curator([stage], votes, delta, None), n_queries, delta)
        public = {"n_teachers": int(votes[0].sum()), "n_classes": votes.shape[1]}
        data_independent = _guaranteed([aggregator], [len(votes)], n_queries, delta, public)
        return cls(n_queries, data_independent, exact, bound, delta=delta).plot(ax, **kwargs)

    def plot(self, ax=None, **kwargs):
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        **kwargs : dict
            Passed to ``ax.plot`` of the curves.

        Returns
        -------
        PrivacySpentDisplay
            Itself.
        """
        self.ax_, self.figure_ = figures.axes_and_figure(ax)
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
            style = {"marker": "*", "ls": "", "ms": 11, "color": "black", "clip_on": False}
            style["label"] = "privacy_spent_ (for publication)"
            self.lines_ += self.ax_.plot(self.n_queries[-1:], [self.published], **style)
        self.ax_.set(xlabel="queries asked", ylabel=f"epsilon at delta = {self.delta:g}")
        self.ax_.set_xlim(0, None)
        self.ax_.set_ylim(0, 1.3 * self.ax_.get_ylim()[1])  # room for the legend
        self.ax_.legend(loc="upper left", fontsize="small")
        if self.exact is not None or self.bound is not None:
            figures.mark_private(self.ax_)
        return self


def _points(n_queries):
    """Return the numbers of queries, 100 at most, at which curves are computed."""
    figures.check_asked(n_queries)
    return np.unique(np.linspace(1, n_queries, min(n_queries, 100)).round().astype(int))


def _guaranteed(aggregators, n_asked, n_queries, delta, public):
    """Return the data-independent epsilon of the first queries, which run through the stages."""
    costs = [stage.costs(**public) for stage in aggregators]
    asked_before = np.cumsum(n_asked) - n_asked
    asked_of_stage = np.clip(n_queries[:, None] - asked_before, 0, n_asked)
    epsilons = []
    for counts in asked_of_stage.tolist():
        stage_costs = [cost(count) for cost, count in zip(costs, counts, strict=True)]
        epsilons.append(reduce(Cost.plus, stage_costs).epsilon(delta)[0])
    return np.array(epsilons)


def _private_curves(curator, n_queries, delta):
    """Return the exact epsilon of the first queries, and that by the published bound."""
    curves = []
    for method in ("exact", "bound"):
        totals = curator.rdp(method).cumsum(axis=0)[n_queries - 1]
        # Not rdp_to_epsilon: it warns at the edge of the orders, where a few cheap queries end up
        epsilons = [epsilon_by_order(total, delta, DEFAULT_ORDERS).min() for total in totals]
        curves.append(np.array(epsilons))
    return curves
