"""What audits found, against what is claimed."""

import numpy as np

from .figures import SKY, VERMILLION, axes_and_figure, legend_above

#: How a bar above its claim is hatched.
_HATCH = "//"


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
            if names is None:
                names = results.keys()
            results = list(results.values())
        if len(results) == 0:
            raise ValueError("results is empty; give at least one audit")
        if names is None:
            names = [str(number) for number in range(1, len(results) + 1)]
        names = list(names)
        if claimed is None:
            claimed = [getattr(result, "claimed", None) for result in results]
        claimed = np.array(claimed, dtype=float)  # None becomes nan
        if claimed.ndim == 0:
            claimed = np.full(len(results), claimed)
        if len(names) != len(results) or claimed.shape != (len(results),):
            raise ValueError(f"give a name and a claim for each of the {len(results)} results")
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
        self.ax_, self.figure_ = axes_and_figure(ax)
        rows = np.arange(len(self.names))
        claimed = np.asarray(self.claimed)
        refuted = np.asarray(self.epsilon) > claimed  # false where there is no claim
        colors = np.where(refuted, VERMILLION, SKY)
        style = {"color": colors, "edgecolor": "black", "height": 0.6, **kwargs}
        self.bars_ = self.ax_.barh(rows, self.epsilon, **style)
        for bar, is_refuted in zip(self.bars_, refuted, strict=True):
            bar.set_hatch(_HATCH if is_refuted else "")
        self.lines_ = []
        known = np.isfinite(claimed)
        if known.any():
            style = {"marker": "|", "ls": "", "ms": 22, "mew": 2.5, "color": "black", "zorder": 3}
            self.lines_ = self.ax_.plot(claimed[known], rows[known], label="claimed", **style)
        self._add_to_legend(refuted)
        self.ax_.set_yticks(rows, self.names)
        self.ax_.set(xlabel="epsilon", ylim=(len(rows) - 0.5, -0.5))
        self.ax_.set_xlim(0, 1.08 * max(1e-9, *self.epsilon, *claimed[known]))
        legend_above(self.ax_, markerscale=0.5)
        return self

    def _add_to_legend(self, refuted):
        """Draw bars without a size: the legend shows these, as the real ones differ in color."""
        style = {"edgecolor": "black", "height": 0}
        if not refuted.all():
            self.ax_.barh([0], [0], label="lower bound", color=SKY, hatch="", **style)
        if refuted.any():
            self.ax_.barh(
                [0], [0], label="above the claim", color=VERMILLION, hatch=_HATCH, **style
            )
