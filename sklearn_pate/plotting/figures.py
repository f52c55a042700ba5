"""What all displays draw with: matplotlib, axes, colors, legends, the mark of a private view."""

# The palette of Okabe and Ito, which color-blind readers can tell apart
BLUE = "#0072B2"
VERMILLION = "#D55E00"
GREEN = "#009E73"
YELLOW = "#F0E442"
SKY = "#56B4E9"
ORANGE = "#E69F00"


def pyplot():
    """Return `matplotlib.pyplot`; displays call this early, before anything slow is computed."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            'displays need matplotlib, which is missing: pip install "sklearn_pate[plot]"'
        ) from error
    return plt


def axes_and_figure(ax):
    """Return the axes to draw on and their figure; None makes new ones."""
    if ax is None:
        _, ax = pyplot().subplots(layout="constrained")
    return ax, ax.figure


def legend_above(ax, **kwargs):
    """Put the legend in one row above the axes, where it hides no bar."""
    ax.legend(
        loc="lower right",
        bbox_to_anchor=(1, 1),
        ncols=3,
        frameon=False,
        fontsize="small",
        **kwargs,
    )


def mark_private(ax):
    """Say on the picture that it must not be published."""
    ax.set_title("private view: do not publish", loc="right", fontsize="small", color=VERMILLION)
