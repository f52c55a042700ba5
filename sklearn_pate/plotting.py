"""Displays: what labels cost, how good they are, how teachers agree, where the budget went, audits.

Their curves hold arrays; matplotlib is imported when they draw.
"""

from functools import partial, reduce

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted

from .rdp import DEFAULT_ORDERS, Cost, exact_rdp
from .rdp.checks import check_delta, check_votes
from .rdp.conversion import conversion_penalty, epsilon_by_order
from .rdp.votes import margins

__all__ = [
    "AuditDisplay",
    "BudgetDisplay",
    "LabelAccuracyDisplay",
    "MarginDisplay",
    "PrivacySpentDisplay",
]

# Okabe and Ito's colours
_BLUE, _VERMILLION, _GREEN = "#0072B2", "#D55E00", "#009E73"
_YELLOW, _SKY, _ORANGE = "#F0E442", "#56B4E9", "#E69F00"

_UNITS = {
    **dict.fromkeys(("sigma", "sigma1", "sigma2"), " (votes)"),
    "gamma": " (1 / votes)",
    "threshold": " (votes, or share of teachers)",
}
_MOST_COSTS = 25_000_000  # per-query costs held at a time: 200 MB


class PrivacySpentDisplay:
    """Epsilon against the number of queries: published bound, exact, and on any votes.

    The first two curves are computed from private votes and are private themselves. The third
    holds on every data set: it may be published.

    Parameters
    ----------
    n_queries : ndarray of shape (n_points,), int
        Numbers of queries asked, increasing.
    data_independent : ndarray of shape (n_points,)
        Epsilon of the first queries on any votes.
    exact, bound : ndarray of shape (n_points,), default=None
        Epsilon of their exact cost, and of the published bound. Private.
    published : float, default=None
        Epsilon of `privacy_spent_`.
    delta : float, default=1e-5
        Failure probability of all epsilons.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    lines_ : list of matplotlib Line2D
        Bound, exact, on any votes; a marker for `published`.

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
    def from_estimator(cls, clf, *, delta=None, private=True, ax=None, **kwargs):
        """Draw what the queries of a fit cost.

        Parameters
        ----------
        clf : PATEClassifier
            Fitted, in this process unless `private` is False.
        delta : float, default=None
            Failure probability; None is the estimator's.
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
            If the curator's view is gone, or a budget stopped the queries at another delta.
        """
        _pyplot()
        curator, spent = _curator(clf) if private else None, _check_fitted(clf).privacy_spent_
        delta = spent.delta if delta is None else check_delta(delta)
        counts = _counts(len(clf.query_indices_))
        if spent.method not in ("filter", "tuning"):
            any_votes = _any_votes(
                *_stages(clf),
                counts,
                delta,
                n_teachers=clf.n_teachers_,
                n_classes=len(clf.classes_),
            )
        elif delta == spent.delta:  # set aside in advance, however many are asked
            any_votes = np.full(counts.size, spent.epsilon)
        else:
            raise ValueError(
                f"what any votes cost is known for delta={spent.delta:g} only, at which a budget "
                f"stopped the queries or a search was paid for; got {delta:g}"
            )
        curves = [
            _running(partial(curator.rdp, method), counts, delta)
            for method in ("exact", "bound")
            if private
        ]
        published = spent.epsilon if delta == spent.delta else None
        display = cls(counts, any_votes, *curves, published=published, delta=delta)
        return display.plot(ax, **kwargs)

    @classmethod
    def from_votes(cls, votes, aggregator, *, delta=1e-5, student_proba=None, ax=None, **kwargs):
        """Draw what asking about these votes, in their order, costs.

        Parameters
        ----------
        votes : array-like of shape (n_queries, n_classes)
            Vote counts; each row sums to the number of teachers.
        aggregator : Aggregator
            The mechanism. Its published bound counts every query in full.
        delta : float, default=1e-5
            Failure probability, strictly between 0 and 1.
        student_proba : array-like of shape (n_queries, n_classes), default=None
            The student's probabilities, for mechanisms that use them.
        ax, **kwargs
            As in `plot`.

        Returns
        -------
        PrivacySpentDisplay
        """
        _pyplot()
        votes, delta = _some_votes(votes), check_delta(delta)
        counts = _counts(len(votes))
        costs = (
            partial(exact_rdp, aggregator, votes, student_proba=student_proba),
            partial(aggregator.published_rdp, votes, student_proba=student_proba),
        )
        curves = [_running(cost, counts, delta) for cost in costs]
        public = {"n_teachers": int(votes[0].sum()), "n_classes": votes.shape[1]}
        any_votes = _any_votes([aggregator], [len(votes)], counts, delta, **public)
        return cls(counts, any_votes, *curves, delta=delta).plot(ax, **kwargs)

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
        self.ax_, self.figure_ = _axes(ax)
        self.lines_ = []
        for epsilons, name, style in (
            (self.bound, "published bound (private)", {"color": _VERMILLION, "ls": "--"}),
            (self.exact, "exact (private)", {"color": _GREEN, "ls": ":", "lw": 2.5}),
            (self.data_independent, "any votes (guarantee)", {"color": _BLUE, "ls": "-"}),
        ):
            if epsilons is not None:
                style["label"] = name if np.isfinite(epsilons[-1]) else f"{name}: infinite"
                self.lines_ += self.ax_.plot(self.n_queries, epsilons, **{**style, **kwargs})
        if self.published is not None and np.isfinite(self.published):
            style = {"marker": "*", "ls": "", "ms": 11, "color": "black", "clip_on": False}
            style["label"] = "privacy_spent_ (published)"
            self.lines_ += self.ax_.plot(self.n_queries[-1:], [self.published], **style)
        self.ax_.set(xlabel="queries asked", ylabel=f"epsilon at delta = {self.delta:g}")
        self.ax_.set_xlim(0, None)
        self.ax_.set_ylim(0, 1.3 * self.ax_.get_ylim()[1])  # room for the legend
        self.ax_.legend(loc="upper left", fontsize="small")
        if self.exact is not None or self.bound is not None:
            _mark_private(self.ax_)
        return self


class LabelAccuracyDisplay:
    """Accuracy of the released labels against a parameter of the mechanism, without sampling.

    Computed from private votes: private.

    Parameters
    ----------
    param_name : str
        The parameter.
    param_range : ndarray of shape (n_values,)
        Its values.
    accuracy : ndarray of shape (n_values,)
        Expected number of right answers over that of answers; nan where there are none.
    answered : ndarray of shape (n_values,)
        Expected share of the queries that get an answer.
    plurality : float, default=None
        Accuracy of the plurality on all queries, without noise.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    lines_ : list of matplotlib Line2D
        Accuracy, plurality and, for mechanisms that may refuse, the answered share.

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

    def __init__(self, param_name, param_range, accuracy, answered, *, plurality=None):
        self.param_name = param_name
        self.param_range = param_range
        self.accuracy = accuracy
        self.answered = answered
        self.plurality = plurality

    @classmethod
    def from_estimator(cls, clf, y_public, *, param_name, param_range, ax=None, **kwargs):
        """Draw how accurate the labels of a fit would have been at other values.

        Parameters
        ----------
        clf : PATEClassifier
            Fitted in this process, with one aggregator.
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
            If the curator's view is gone, the fit had stages, or labels do not fit the rows.
        """
        votes, y = _curator(clf).votes, column_or_1d(y_public)
        if isinstance(clf.aggregator_, list):
            raise ValueError(
                f"clf was fitted in {len(clf.aggregator_)} stages; use from_votes with the votes "
                "and the aggregator of one of them"
            )
        if len(y) != len(clf.public_labels_):
            raise ValueError(
                f"y_public must have one label per row of X_public, {len(clf.public_labels_)}; "
                f"got {len(y)}"
            )
        kwargs |= {"param_name": param_name, "param_range": param_range, "classes": clf.classes_}
        return cls.from_votes(votes, y[clf.query_indices_], clf.aggregator_, ax=ax, **kwargs)

    @classmethod
    def from_votes(
        cls,
        votes,
        y_true,
        aggregator,
        *,
        param_name,
        param_range,
        classes=None,
        student_proba=None,
        ax=None,
        **kwargs,
    ):
        """Draw how accurate the labels of these votes are.

        Parameters
        ----------
        votes, student_proba : array-like of shape (n_queries, n_classes)
            As in `PrivacySpentDisplay.from_votes`.
        y_true : array-like of shape (n_queries,)
            True labels, elements of `classes`.
        aggregator : Aggregator
            The mechanism; a clone of it takes each value.
        param_name : str
            Its parameter, for instance "sigma".
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
            If labels and votes do not belong together, or the mechanism has no such parameter.
        """
        _pyplot()
        votes = _some_votes(votes)
        codes = _codes(y_true, classes, votes.shape)
        if len(param_range) == 0:
            raise ValueError("param_range is empty; give at least one value of the parameter")
        right, answered = [], []
        for value in param_range:
            mechanism = clone(aggregator).set_params(**{param_name: value})
            proba = np.exp(mechanism.outcome_log_proba(votes, student_proba))
            right.append(proba[np.arange(len(votes)), codes].mean())
            answered.append(proba[:, : votes.shape[1]].sum(axis=1).mean())
        with np.errstate(invalid="ignore"):
            accuracy = np.array(right) / np.array(answered)
        plurality = float(np.mean(votes.argmax(axis=1) == codes))
        display = cls(
            param_name, np.asarray(param_range), accuracy, np.array(answered), plurality=plurality
        )
        return display.plot(ax, **kwargs)

    def plot(self, ax=None, **kwargs):
        """Draw accuracy and, for mechanisms that may refuse, the answered share.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        **kwargs : dict
            Passed to ``ax.plot`` of both curves.

        Returns
        -------
        LabelAccuracyDisplay
            Itself.
        """
        self.ax_, self.figure_ = _axes(ax)
        x, label = self.param_range, "accuracy of answers"
        style = {"color": _BLUE, "marker": "o", "label": label, **kwargs}
        self.lines_ = self.ax_.plot(x, self.accuracy, **style)
        if self.plurality is not None:
            label = "plurality, no noise, all queries"
            self.lines_.append(self.ax_.axhline(self.plurality, color="0.3", ls=":", label=label))
        refuses = np.min(self.answered) < 1 - 1e-9
        if refuses:
            self.ax_.set_ylim(0, 1.02)
            style = {"color": _VERMILLION, "marker": "s", "ls": "--", "label": "share answered"}
            self.lines_ += self.ax_.plot(x, self.answered, **{**style, **kwargs})
        if 0 < 5 * np.min(x) < np.max(x):
            self.ax_.set_xscale("log")
        label = self.param_name + _UNITS.get(self.param_name, "")
        ylabel = "accuracy, and share answered" if refuses else "accuracy of the labels"
        self.ax_.set(xlabel=label, ylabel=ylabel)
        self.ax_.legend(fontsize="small")
        _mark_private(self.ax_)
        return self


class MarginDisplay:
    """Histogram of the margin between the top two vote counts: how much teachers agree.

    Computed from private votes: private.

    Parameters
    ----------
    margins : ndarray of shape (n_queries,)
        Margins, in votes.
    n_teachers : int
        Number of teachers, the largest possible margin.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    bars_ : matplotlib BarContainer
        The bars.

    Examples
    --------
    >>> from sklearn_pate.plotting import MarginDisplay
    >>> MarginDisplay.from_votes([[90, 10, 0], [40, 35, 25]]).margins
    array([80,  5])
    """

    def __init__(self, margins, *, n_teachers):
        self.margins = margins
        self.n_teachers = n_teachers

    @classmethod
    def from_estimator(cls, clf, *, ax=None, **kwargs):
        """Draw the margins of the queries of a fit.

        Parameters
        ----------
        clf : PATEClassifier
            Fitted in this process.
        ax, **kwargs
            As in `plot`.

        Returns
        -------
        MarginDisplay

        Raises
        ------
        ValueError
            If the curator's view is gone.
        """
        return cls(margins(_curator(clf).votes), n_teachers=clf.n_teachers_).plot(ax, **kwargs)

    @classmethod
    def from_votes(cls, votes, *, ax=None, **kwargs):
        """Draw the margins of these votes.

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
        votes = _some_votes(votes)
        return cls(margins(votes), n_teachers=int(votes[0].sum())).plot(ax, **kwargs)

    def plot(self, ax=None, *, unit="votes", **kwargs):
        """Draw the histogram.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        unit : {"votes", "share"}, default="votes"
            Margins in votes, or as a share of the teachers.
        **kwargs : dict
            Passed to ``ax.hist``.

        Returns
        -------
        MarginDisplay
            Itself.
        """
        if unit not in ("votes", "share"):
            raise ValueError(f"unit must be 'votes' or 'share'; got {unit!r}")
        self.ax_, self.figure_ = _axes(ax)
        width = 1 + self.n_teachers // 40  # bars of whole votes, or some would hold more of them
        edges = np.arange(-0.5, self.n_teachers + width, width)
        scale, of = (1, "votes") if unit == "votes" else (self.n_teachers, "share of teachers")
        style = {"bins": edges / scale, "color": _BLUE, "edgecolor": "white", **kwargs}
        self.bars_ = self.ax_.hist(np.asarray(self.margins) / scale, **style)[2]
        self.ax_.set(xlabel=f"margin between the top two classes ({of})", ylabel="queries")
        _mark_private(self.ax_)
        return self


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
        spent = _check_fitted(clf).privacy_spent_
        if spent.method == "tuning":
            raise ValueError(
                "most of the budget of a private search went into trials that are not published; "
                "draw a fit of its own, or use from_counts"
            )
        aggregators, asked = _stages(clf)
        paid = None
        if spent.method == "filter":  # answers that a check refused are given back
            if any(stage.uses_student_proba for stage in aggregators):
                raise ValueError(
                    "a label may be the student's where a mechanism uses the student, so how many "
                    "answers were paid for is not public; use from_counts"
                )
            answered = clf.public_labels_[clf.query_indices_] >= 0
            paid = [int(part.sum()) for part in np.split(answered, np.cumsum(asked)[:-1])]
        kwargs |= {"n_teachers": clf.n_teachers_, "n_classes": len(clf.classes_)}
        kwargs |= {"delta": spent.delta, "n_paid": paid}
        if spent.method == "propose-test-release":
            kwargs["test"] = _curator(clf).test
        return cls.from_counts(aggregators, asked, ax=ax, **kwargs)

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
            Failure probability, strictly between 0 and 1.
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
        _pyplot()
        paid = [None] * len(aggregators) if n_paid is None else n_paid
        lengths = {len(aggregators), len(n_asked), len(paid), *([1] if test is not None else [])}
        if len(lengths) > 1 or sum(n_asked) < 1:
            raise ValueError(
                "give as many n_asked, and n_paid, as aggregators, at least one query, and a test "
                f"with one aggregator only; got {len(aggregators)} aggregators, n_asked={n_asked}, "
                f"n_paid={n_paid}"
            )
        rows = zip(aggregators, n_asked, paid, strict=True)
        public = {"n_teachers": n_teachers, "n_classes": n_classes}
        costs = np.array([_check_and_answer(*row, **public) for row in rows])
        epsilons = epsilon_by_order(costs.sum(axis=(0, 1)), delta, DEFAULT_ORDERS)
        best = np.argmin(epsilons if test is None else np.abs(DEFAULT_ORDERS - test.order))
        if not np.isfinite(epsilons[best]):
            raise ValueError(
                f"the cost of {aggregators} is infinite, so it has no shares; use mechanisms with "
                "a guarantee"
            )
        shares = np.zeros((len(costs), 3))
        shares[:, :2] = costs[:, :, best] / costs[:, :, best].sum()
        order = float(DEFAULT_ORDERS[best])
        if test is not None:  # the labels have its limit, the test what is left of epsilon
            shares *= test.limit / (test.epsilon - conversion_penalty(test.delta, order).item())
            shares[0, 2] = 1 - shares.sum()
        stages = [
            f"{type(stage).__name__}\n{n} asked" + ("" if m is None else f", {m} paid")
            for stage, n, m in zip(aggregators, n_asked, paid, strict=True)
        ]
        return cls(stages, shares, order).plot(ax, **kwargs)

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
        self.ax_, self.figure_ = _axes(ax)
        percent = 100 * np.asarray(self.shares)
        left, height = np.zeros(len(percent)), 0.3 if len(percent) == 1 else 0.6
        self.bars_ = []
        box = {"boxstyle": "round,pad=0.15", "fc": "white", "ec": "none"}
        kinds = (("checks", _YELLOW, "//"), ("answers", _SKY, ""), ("private test", _ORANGE, ".."))
        for widths, (label, color, hatch) in zip(percent.T, kinds, strict=True):
            if not widths.any():
                continue
            style = {"color": color, "hatch": hatch, "edgecolor": "black", "height": height}
            style = {"left": left, "label": label, **style, **kwargs}
            self.bars_.append(self.ax_.barh(range(len(percent)), widths, **style))
            left = left + widths
            for row in np.flatnonzero(widths >= 7):
                middle = left[row] - widths[row] / 2
                text = f"{widths[row]:.0f}%"
                self.ax_.text(middle, row, text, ha="center", va="center", bbox=box)
        self.ax_.set_yticks(range(len(percent)), self.stages)
        self.ax_.set(xlim=(0, 100), ylim=(len(percent) - 0.5, -0.5))
        self.ax_.set_xlabel(f"share of the Renyi cost at order {self.order:.3g} (%)")
        legend = {"loc": "lower right", "bbox_to_anchor": (1, 1), "ncols": 3, "frameon": False}
        self.ax_.legend(**legend, fontsize="small")
        return self


class AuditDisplay:
    """Lower bounds on epsilon that audits found, against what is claimed.

    Audits of private data tell of these data: draw those of data that may be shown.

    Parameters
    ----------
    names : list of str
        What was audited.
    epsilon : ndarray of shape (n_audits,)
        Lower bounds.
    claimed : ndarray of shape (n_audits,)
        Claimed epsilons, nan where there is none.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    bars_ : matplotlib BarContainer
        The lower bounds.
    lines_ : list of matplotlib Line2D
        The claims, if there are any.

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

    def __init__(self, names, epsilon, claimed):
        self.names = names
        self.epsilon = epsilon
        self.claimed = claimed

    @classmethod
    def from_results(cls, results, *, claimed=None, names=None, ax=None, **kwargs):
        """Draw what audits found.

        Parameters
        ----------
        results : list or dict of AuditResult or EstimatorAudit
            Anything with an `epsilon`; a dict has the names as keys.
        claimed : float or array-like of shape (n_audits,), default=None
            Claimed epsilons, nan where there is none; None is each result's own `claimed`.
        names : list of str, default=None
            What was audited; None is a dict's keys, or numbers.
        ax, **kwargs
            As in `plot`.

        Returns
        -------
        AuditDisplay

        Raises
        ------
        ValueError
            If there are no results, or names or claims do not fit them.
        """
        if isinstance(results, dict):
            names = list(results) if names is None else names
            results = list(results.values())
        if len(results) == 0:
            raise ValueError("results is empty; give at least one audit")
        names = [str(k + 1) for k in range(len(results))] if names is None else list(names)
        if claimed is None:
            own = [getattr(result, "claimed", None) for result in results]
            claimed = [np.nan if claim is None else claim for claim in own]
        claimed = np.array(claimed, dtype=float)
        if claimed.ndim == 0:
            claimed = np.full(len(results), claimed)
        if len(names) != len(results) or claimed.shape != (len(results),):
            raise ValueError(
                f"give a name and a claim for each of the {len(results)} results; got "
                f"{len(names)} names and claims of shape {claimed.shape}"
            )
        epsilon = np.array([result.epsilon for result in results], dtype=float)
        return cls(names, epsilon, claimed).plot(ax, **kwargs)

    def plot(self, ax=None, **kwargs):
        """Draw a bar for each audit, and a mark for each claim.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        **kwargs : dict
            Passed to ``ax.barh``.

        Returns
        -------
        AuditDisplay
            Itself.
        """
        self.ax_, self.figure_ = _axes(ax)
        rows = np.arange(len(self.names))
        caught = np.asarray(self.epsilon) > np.asarray(self.claimed)  # false for nan
        style = {"color": np.where(caught, _VERMILLION, _SKY), "edgecolor": "black", "height": 0.6}
        self.bars_ = self.ax_.barh(rows, self.epsilon, **{**style, **kwargs})
        for bar, refuted in zip(self.bars_, caught, strict=True):
            bar.set_hatch("//" if refuted else "")
        self.lines_ = []
        known = np.isfinite(self.claimed)
        if known.any():
            style = {"marker": "|", "ls": "", "ms": 22, "mew": 2.5, "color": "black"}
            label = "claimed"
            x, y = np.asarray(self.claimed)[known], rows[known]
            self.lines_ = self.ax_.plot(x, y, label=label, zorder=3, **style)
        for label, refuted in (("lower bound", False), ("above the claim", True)):
            if (caught == refuted).any():
                color, hatch = (_VERMILLION, "//") if refuted else (_SKY, "")
                style = {"color": color, "hatch": hatch, "edgecolor": "black", "height": 0}
                self.ax_.barh([0], [0], label=label, **style)
        self.ax_.set_yticks(rows, self.names)
        self.ax_.set(xlabel="epsilon", ylim=(len(rows) - 0.5, -0.5))
        self.ax_.set_xlim(0, 1.08 * max(1e-9, *self.epsilon, *np.asarray(self.claimed)[known]))
        legend = {"loc": "lower right", "bbox_to_anchor": (1, 1), "ncols": 3, "frameon": False}
        self.ax_.legend(**legend, fontsize="small", markerscale=0.5)
        return self


# --- figures -----------------------------------------------------------------------------------


def _pyplot():
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            'displays need matplotlib, which is missing: pip install "sklearn_pate[plot]"'
        ) from error
    return plt


def _axes(ax):
    plt = _pyplot()
    ax = plt.subplots(layout="constrained")[1] if ax is None else ax
    return ax, ax.figure


def _mark_private(ax):
    ax.set_title("private view: do not publish", loc="right", fontsize="small", color=_VERMILLION)


# --- what a fit says ---------------------------------------------------------------------------


def _check_fitted(clf):
    if not hasattr(clf, "fit_votes"):
        raise TypeError(
            f"expected a fitted PATEClassifier; got {type(clf).__name__}. Of a search or pipeline, "
            "give the PATEClassifier inside, for instance search.best_estimator_"
        )
    check_is_fitted(clf, "privacy_spent_")
    return clf


def _curator(clf):
    curator = getattr(_check_fitted(clf), "curator_", None)
    if curator is None:
        raise ValueError(
            "the curator's view is gone: it is private, and does not survive pickling or copying. "
            "Draw from the estimator itself, in the process that fitted it"
        )
    _counts(len(curator.votes))
    return curator


def _stages(clf):
    """Mechanisms of a fit, and how many queries each asked."""
    stages, n_asked = clf.aggregator_, len(clf.query_indices_)
    if not isinstance(stages, list):
        return [stages], [n_asked]
    if len(stages) > 1 and sum(clf.n_queries) != n_asked:
        raise ValueError(
            f"{n_asked} of the queries n_queries={clf.n_queries} were asked, and which stages "
            "asked fewer is not known"
        )
    return stages, clf.n_queries if len(stages) > 1 else [n_asked]


def _some_votes(votes):
    votes = check_votes(votes)
    _counts(len(votes))
    return votes


def _codes(y, classes, shape):
    y = column_or_1d(y)
    classes = np.arange(shape[1]) if classes is None else np.asarray(classes)
    if (len(y), len(classes)) != shape:
        raise ValueError(
            f"votes of shape {shape} need a label per row and a class per column; got {len(y)} "
            f"labels and {len(classes)} classes"
        )
    codes = pd.Index(classes).get_indexer(y)
    if (codes < 0).any():
        raise ValueError(
            "there are labels that are not in classes; give classes=, one per column of votes, in "
            "the type that the labels have"
        )
    return codes


# --- costs -------------------------------------------------------------------------------------


def _counts(n_queries):
    """Numbers of queries, 100 at most, at which costs are converted to epsilon."""
    if n_queries == 0:
        raise ValueError("no query was asked, so there is nothing to draw; ask at least one")
    return np.unique(np.linspace(1, n_queries, min(n_queries, 100)).round().astype(int))


def _running(cost, counts, delta):
    """Epsilon of the first queries; ``cost(orders)`` has shape (n_queries, n_orders)."""
    # A few orders at a time, as the costs of all queries at all orders may not fit into memory
    size = max(1, _MOST_COSTS // counts[-1])
    parts = [DEFAULT_ORDERS[k : k + size] for k in range(0, DEFAULT_ORDERS.size, size)]
    starts = np.append(0, counts[:-1])
    totals = np.hstack([np.add.reduceat(cost(orders), starts).cumsum(axis=0) for orders in parts])
    # Not rdp_to_epsilon: it warns at the edge of the orders, where a few cheap queries end up
    return np.array([epsilon_by_order(total, delta, DEFAULT_ORDERS).min() for total in totals])


def _any_votes(aggregators, n_asked, counts, delta, *, n_teachers, n_classes):
    """Epsilon of the first queries on any votes."""
    public = {"n_teachers": n_teachers, "n_classes": n_classes}
    costs = [stage.costs(**public) for stage in aggregators]
    before = np.cumsum(n_asked) - n_asked
    of_stage = np.clip(counts[:, None] - before, 0, n_asked).tolist()
    totals = (
        reduce(Cost.plus, (cost(n) for cost, n in zip(costs, row, strict=True))) for row in of_stage
    )
    return np.array([total.epsilon(delta)[0] for total in totals])


def _check_and_answer(aggregator, n_asked, n_paid, **public):
    """Renyi cost of the checks and of the answers of a stage, each of shape (n_orders,)."""
    steps = aggregator.steps(DEFAULT_ORDERS, **public)
    check = np.zeros(DEFAULT_ORDERS.size) if steps is None else n_asked * steps[0]
    if steps is not None and n_paid is not None:
        return check, (n_paid if check.any() else n_asked) * steps[1]
    total = aggregator.costs(**public)(n_asked).rdp
    return check, np.maximum(total - check, 0)
