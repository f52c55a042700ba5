"""Draw the pictures of the methods and of a fit: ``python docs/figures.py`` (needs matplotlib).

All numbers in them are made up.
"""

from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Ellipse, FancyBboxPatch
from scipy.spatial import Voronoi

DOCS = Path(__file__).parent
NO, YES, PUBLIC, LINE = "#0072b2", "#d55e00", "#9a9a9a", "#1a1a1a"
PRIVATE_SIDE, PUBLIC_SIDE = "#fdf0e6", "#e8f2f9"


def draw_cells(rng):
    """Votes in cells: records in a plane, and the noisy table of one cell."""
    figure, (plane, table) = plt.subplots(1, 2, figsize=(8, 3.4), width_ratios=(3, 2))
    centers = rng.uniform(0.05, 0.95, (12, 2))
    far = [[-3, 0.5], [4, 0.5], [0.5, -3], [0.5, 4]]
    cells = Voronoi(np.vstack([centers, far]))
    for pair in cells.ridge_vertices:
        if -1 not in pair:
            plane.plot(*cells.vertices[pair].T, color=LINE, lw=0.8)
    plane.scatter(*rng.uniform(0, 1, (150, 2)).T, s=6, color=PUBLIC, label="public row")
    records = rng.uniform(0, 1, (60, 2))
    is_yes = records.sum(axis=1) + rng.normal(scale=0.25, size=60) > 1
    for value, color in ((False, NO), (True, YES)):
        label = f'record that votes "{"yes" if value else "no"}"'
        plane.scatter(*records[is_yes == value].T, s=26, color=color, label=label)
    plane.set(xlim=(0, 1), ylim=(0, 1), xticks=[], yticks=[], title="cells of public rows")
    plane.legend(
        loc="upper center", bbox_to_anchor=(0.5, -0.02), ncols=3, frameon=False, fontsize=8
    )
    table.axis("off")
    rows = [["", "no", "yes"], ["votes", "2", "9"], ["noise", "+ 1.6", "- 0.8"]]
    rows.append(["published", "3.6", "8.2"])
    grid = table.table(rows, loc="center", cellLoc="center")
    grid.scale(1, 2)
    for (row, _), cell in grid.get_celld().items():
        cell.set_facecolor(PUBLIC_SIDE if row == 3 else PRIVATE_SIDE if row == 1 else "white")
    table.set_title("each cell")
    return figure


def draw_sums(rng):
    """Class sums: means of two classes with their noise, and the discriminant."""
    figure, plane = plt.subplots(figsize=(6, 3.4))
    for mean, color, name in (((-1, -0.3), NO, "no"), ((1, 0.4), YES, "yes")):
        spread = [[0.7, 0.3], [0.3, 0.5]]
        plane.scatter(*rng.multivariate_normal(mean, spread, 120).T, s=8, color=color, alpha=0.4)
        noisy = np.add(mean, rng.normal(scale=0.15, size=2))
        plane.plot(*noisy, "X", color=color, ms=13, mec="white", label=f'noisy mean of "{name}"')
        plane.add_patch(Ellipse(noisy, 0.6, 0.6, fill=False, color=color, ls=":", lw=1.5))
    plane.add_patch(Ellipse((0, 0), 4.6, 2.9, angle=28, fill=False, color=LINE, ls="--"))
    plane.plot([], [], "--", color=LINE, label="noisy covariance")
    plane.plot([0.9, -0.9], [-2, 2.1], color=LINE, label="discriminant")
    plane.set(xlim=(-3.5, 3.5), ylim=(-2, 2.1), xticks=[], yticks=[])
    plane.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False, fontsize=8)
    return figure


def box(axes, x, y, width, height, text, color):
    """Draw a box with a text in its middle."""
    style = "round,pad=0,rounding_size=0.06"
    axes.add_patch(
        FancyBboxPatch((x, y), width, height, boxstyle=style, facecolor=color, edgecolor=LINE)
    )
    axes.text(x + width / 2, y + height / 2, text, ha="center", va="center", fontsize=9)


def arrow(axes, start, end):
    """Draw an arrow."""
    axes.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": LINE})


def draw_teachers():
    """Teachers: parts of the records, models, votes on a public row, a noisy winner."""
    figure, axes = plt.subplots(figsize=(8, 3))
    for k, vote in enumerate(("no", "yes", "yes", "yes")):
        y = 2.55 - 0.8 * k
        box(axes, -0.3, y, 1.6, 0.55, f"records, part {k + 1}", PRIVATE_SIDE)
        box(axes, 2, y, 1.2, 0.55, f"teacher {k + 1}", PRIVATE_SIDE)
        arrow(axes, (1.3, y + 0.27), (2, y + 0.27))
        arrow(axes, (3.2, y + 0.27), (4.5, 1.65))
        axes.text(
            3.6, y + 0.3 - 0.22 * (y - 1.4), vote, fontsize=9, color=YES if vote == "yes" else NO
        )
    box(axes, 4.5, 1.2, 1.7, 0.9, "votes + noise\nno 1.7, yes 2.6", "white")
    box(axes, 7, 1.2, 1.6, 0.9, 'published label\nof a public row:\n"yes"', PUBLIC_SIDE)
    arrow(axes, (6.2, 1.65), (7, 1.65))
    axes.text(7.8, 0.7, "the student\nlearns from it", ha="center", fontsize=9)
    axes.set(xlim=(-0.4, 8.8), ylim=(0, 3.3))
    axes.axis("off")
    return figure


def draw_flow():
    """The steps of a fit, above the line that only published results cross."""
    figure, axes = plt.subplots(figsize=(8.4, 3.2))
    axes.axhspan(1.55, 3.2, color=PRIVATE_SIDE)
    axes.axhspan(0, 1.55, color=PUBLIC_SIDE)
    axes.text(0.05, 3.0, "PRIVATE", color="#a34700", weight="bold", fontsize=9)
    axes.text(0.05, 0.1, "PUBLISHED", color="#00578a", weight="bold", fontsize=9)
    steps = [
        ("counts of labels", "classes"),
        ("counts of values", "schema"),
        ("sums or votes", "noisy sums\nor votes"),
    ]
    for k, (gathered, published) in enumerate(steps):
        x = 0.3 + 2.2 * k
        box(axes, x, 2.1, 1.6, 0.65, gathered, "white")
        box(axes, x, 0.55, 1.6, 0.65, published, "white")
        arrow(axes, (x + 0.8, 2.1), (x + 0.8, 1.2))
        axes.text(x + 0.72, 1.35, "pay, add noise", fontsize=8, ha="right")
        if k < 2:
            arrow(axes, (x + 1.6, 1.0), (x + 2.2, 2.2))
    box(axes, 6.9, 0.55, 1.3, 0.65, "student", "white")
    arrow(axes, (6.3, 0.87), (6.9, 0.87))
    axes.set(xlim=(0, 8.4), ylim=(0, 3.2))
    axes.axis("off")
    return figure


def main():
    """Write all pictures."""
    mpl.use("Agg")
    rng = np.random.default_rng(3)
    pictures = {
        "method_cells": draw_cells(rng),
        "method_sums": draw_sums(rng),
        "method_teachers": draw_teachers(),
        "fit": draw_flow(),
    }
    for name, figure in pictures.items():
        with mpl.rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):
            figure.savefig(DOCS / f"{name}.svg", metadata={"Date": None}, bbox_inches="tight")


if __name__ == "__main__":
    main()
