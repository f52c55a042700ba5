"""What votes show: how much teachers agree, and how good the labels would be. Both are private."""

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.utils import column_or_1d

from ..rdp.checks import margins
from . import figures
from .figures import BLUE, VERMILLION


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
        found = margins(figures.curator_of(clf).votes)
        return cls(found, n_teachers=clf.n_teachers_).plot(ax, **kwargs)

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
        votes = figures.check_some_votes(votes)
        return cls(margins(votes), n_teachers=int(votes[0].sum())).plot(ax, **kwargs)

    def plot(self, ax=None, **kwargs):
        """Draw the histogram.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        **kwargs : dict
            Passed to ``ax.hist``.

        Returns
        -------
        MarginDisplay
            Itself.
        """
        self.ax_, self.figure_ = figures.axes_and_figure(ax)
        # Every bar covers the same whole number of votes, else some would look taller for no reason
        width = 1 + self.n_teachers // 40
        edges = np.arange(-0.5, self.n_teachers + width, width)
        style = {"bins": edges, "color": BLUE, "edgecolor": "white", **kwargs}
        _, _, self.bars_ = self.ax_.hist(self.margins, **style)
        self.ax_.set(xlabel="margin between the top two classes (votes)", ylabel="queries")
        figures.mark_private(self.ax_)
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
        """Draw how accurate the labels of a fit would have been at other values of a parameter.

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
        votes = figures.curator_of(clf).votes
        y_public = column_or_1d(y_public)
        if isinstance(clf.aggregator_, list):
            raise ValueError(
                f"clf was fitted in {len(clf.aggregator_)} stages; use from_votes with one of them"
            )
        if len(y_public) != len(clf.public_labels_):
            raise ValueError(
                f"y_public must have {len(clf.public_labels_)} labels; got {len(y_public)}"
            )
        varied = {"param_name": param_name, "param_range": param_range, "classes": clf.classes_}
        given = votes, y_public[clf.query_indices_], clf.aggregator_
        return cls.from_votes(*given, **varied, ax=ax, **kwargs)

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
        votes = figures.check_some_votes(votes)
        codes = _label_codes(y_true, classes, votes.shape)
        if len(param_range) == 0:
            raise ValueError("param_range is empty; give at least one value of the parameter")
        shares = []
        for value in param_range:
            mechanism = clone(aggregator).set_params(**{param_name: value})
            shares.append(_right_and_answered(mechanism, votes, codes, student_proba))
        right, answered = np.transpose(shares)
        with np.errstate(invalid="ignore"):  # nan where nothing is answered
            accuracy = right / answered
        plurality = float(np.mean(votes.argmax(axis=1) == codes))
        display = cls(param_name, np.asarray(param_range), accuracy, answered, plurality=plurality)
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
        self.ax_, self.figure_ = figures.axes_and_figure(ax)
        style = {"color": BLUE, "marker": "o", "label": "accuracy of answers", **kwargs}
        self.lines_ = self.ax_.plot(self.param_range, self.accuracy, **style)
        if self.plurality is not None:
            label = "plurality, no noise, all queries"
            self.lines_.append(self.ax_.axhline(self.plurality, color="0.3", ls=":", label=label))
        ylabel = "accuracy of the labels"
        if np.min(self.answered) < 1 - 1e-9:  # a sum of probabilities is 1 but for rounding
            ylabel = "accuracy, and share answered"
            self.ax_.set_ylim(0, 1.02)
            style = {"color": VERMILLION, "marker": "s", "ls": "--", "label": "share answered"}
            self.lines_ += self.ax_.plot(self.param_range, self.answered, **{**style, **kwargs})
        if 0 < 5 * np.min(self.param_range) < np.max(self.param_range):
            self.ax_.set_xscale("log")
        self.ax_.set(xlabel=self.param_name, ylabel=ylabel)
        self.ax_.legend(fontsize="small")
        figures.mark_private(self.ax_)
        return self


def _label_codes(y, classes, shape):
    """Return the column of votes for each label; a message must not quote labels."""
    y = column_or_1d(y)
    classes = np.arange(shape[1]) if classes is None else np.asarray(classes)
    if (len(y), len(classes)) != shape:
        raise ValueError(f"votes of shape {shape} need {shape[0]} labels and {shape[1]} classes")
    codes = pd.Index(classes).get_indexer(y)
    if (codes < 0).any():
        raise ValueError(
            "there are labels that are not in classes; give classes=, one per column, in their type"
        )
    return codes


def _right_and_answered(aggregator, votes, codes, student_proba):
    """Return the expected shares of queries that get the right answer, and any answer."""
    proba = np.exp(aggregator.outcome_log_proba(votes, student_proba))
    right = proba[np.arange(len(votes)), codes].mean()
    answered = proba[:, : votes.shape[1]].sum(axis=1).mean()
    return right, answered
