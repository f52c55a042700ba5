"""The figure of the fair table: accuracy against epsilon, a panel for each data set."""

from .found import OURS, other_models
from .models import EPSILONS
from .tables import TABLES

#: Ours, and the best peer that needs public rows or none: colour, line and mark differ.
_OURS = {
    "PATE": ("#0072B2", "-", "o"),
    "PATE, no public rows": ("#0072B2", "--", "s"),
    "PATE, nothing declared": ("#0072B2", ":", "d"),
}
_PEERS = {
    "diffprivlib, naive Bayes": ("#999999", ":", "v"),
    "diffprivlib, logistic regression": ("#999999", "-.", "^"),
    "diffprivlib, random forest": ("#999999", "--", "D"),
    "interpret, DP-EBM": ("#E69F00", "-", "P"),
    "Opacus, logistic regression": ("#D55E00", ":", "<"),
    "Opacus, network": ("#D55E00", "-.", ">"),
    "Opacus, logistic regression on columns of public rows": ("#CC79A7", "-", "x"),
    "Opacus, network on columns of public rows": ("#CC79A7", "--", "+"),
    "Opacus, logistic regression, longer": ("#D55E00", ":", "1"),
    "Opacus, network, longer": ("#D55E00", "-.", "2"),
    "Opacus, logistic regression on columns of public rows, longer": ("#CC79A7", "-", "3"),
    "Opacus, network on columns of public rows, longer": ("#CC79A7", "--", "4"),
    "AdaSSP on columns of public rows": ("#56B4E9", "-", "p"),
    "dpmm, MST and gradient boosting": ("#009E73", "-", "*"),
}


def draw(frame, to):
    """Write peers.svg.

    Parameters
    ----------
    frame : DataFrame
        First settings.
    to : Path
        A folder.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    means = frame.groupby(["table", "model", "epsilon"]).accuracy.mean()
    picture = Figure(figsize=(10, 12), layout="constrained")
    panels = list(picture.subplots(4, 3).flat)
    for axes, name in zip(panels, TABLES, strict=True):
        if name in means:
            _panel(axes, means[name])
        axes.set(title=name, xscale="log")
        axes.set_xticks(EPSILONS, [f"{epsilon:g}" for epsilon in EPSILONS])
        axes.minorticks_off()
    for axes in panels[::3]:
        axes.set_ylabel("accuracy")
    for axes in panels[-3:]:
        axes.set_xlabel("epsilon, one record replaced")
    lines = {}
    for axes in panels:
        lines |= {line.get_label(): line for line in axes.lines}
    names = [*OURS, *other_models(public=True), *_ENDS]
    shown = [lines[name] for name in names if name in lines]
    picture.legend(handles=shown, loc="outside lower center", ncols=2, fontsize=9)
    # With a fixed salt and no date, the same numbers give the same file
    with mpl.rc_context({"svg.hashsalt": "peers"}):
        picture.savefig(to / "peers.svg", metadata={"Date": None})


#: The ends of the scale, as level lines.
_ENDS = {"no privacy, gradient boosting": "-", "majority class": ":"}


def _panel(axes, means):
    for model, (colour, line, mark) in (_PEERS | _OURS).items():
        if model in means:
            points = means[model]
            width = 2.4 if model in _OURS else 1.1
            axes.plot(
                points.index, points, c=colour, ls=line, marker=mark, ms=5, lw=width, label=model
            )
    for model, line in _ENDS.items():
        if model in means:
            axes.axhline(means[model].iloc[0], c="black", ls=line, lw=0.8, label=model)
