"""How teachers agree: the margins of the queries."""

import numpy as np

from ..rdp.checks import margins
from .figures import BLUE, axes_and_figure, check_some_votes, curator_of, mark_private


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
        return cls(margins(curator_of(clf).votes), n_teachers=clf.n_teachers_).plot(ax, **kwargs)

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
        votes = check_some_votes(votes)
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
        self.ax_, self.figure_ = axes_and_figure(ax)
        # Every bar covers the same whole number of votes, else some would look taller for no reason
        width = 1 + self.n_teachers // 40
        edges = np.arange(-0.5, self.n_teachers + width, width)
        if unit == "votes":
            scale = 1
            unit_name = "votes"
        else:
            scale = self.n_teachers
            unit_name = "share of teachers"
        style = {"bins": edges / scale, "color": BLUE, "edgecolor": "white", **kwargs}
        _, _, self.bars_ = self.ax_.hist(np.asarray(self.margins) / scale, **style)
        self.ax_.set(xlabel=f"margin between the top two classes ({unit_name})", ylabel="queries")
        mark_private(self.ax_)
        return self
