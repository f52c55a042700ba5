"""What audits found, against what is claimed."""

import numpy as np

from .figures import SKY, VERMILLION, axes_and_figure, legend_above

#: How bars are drawn.
_SOUND = {"label": "lower bound", "color": SKY, "hatch": ""}
_REFUTED = {"label": "above the claim", "color": VERMILLION, "hatch": "//"}


class AuditDisplay:
    """Lower bounds on epsilon that audits found, against what is claimed.

    An audit of private data reveals something about them: draw audits of data that may be shown.

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
    bars_ : list of matplotlib BarContainer
        The lower bounds, first those that refute no claim.
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
    def from_results(cls, results, *, claimed=None, ax=None, **kwargs):
        """Draw what audits found.

        Parameters
        ----------
        results : list or dict of AuditResult or EstimatorAudit
            Anything with an `epsilon`; a dict has the names as keys, a list has numbers.
        claimed : float or array-like of shape (n_audits,), default=None
            Claimed epsilons, nan where there is none; None is each result's own `claimed`.
        ax, **kwargs
            As in `plot`.

        Returns
        -------
        AuditDisplay

        Raises
        ------
        ValueError
            If there are no results, or claims do not fit them.
        """
        if not isinstance(results, dict):
            results = dict(enumerate(results, start=1))
        if not results:
            raise ValueError("results is empty; give at least one audit")
        if claimed is None:
            claimed = [getattr(result, "claimed", None) for result in results.values()]
        claimed = np.array(claimed, dtype=float)  # None becomes nan
        claimed = np.broadcast_to(claimed, len(results))
        epsilon = np.array([result.epsilon for result in results.values()], dtype=float)
        return cls(list(map(str, results)), epsilon, claimed).plot(ax, **kwargs)

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
