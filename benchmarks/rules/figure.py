"""The figure of the page "Defaults": accuracy against the number of teachers."""

import json
from pathlib import Path

from .formulas import Library, cases

RESULTS = Path(__file__).parents[2] / "docs" / "results"
_LINES = {0.25: ("#D55E00", ":"), 1.0: ("#0072B2", "-"), 4.0: ("#009E73", "--")}
_NAMES = ("digits", "small letters", "Adult", "flights", "Diabetes", "MNIST, 7 x 7")


def draw(folder, to):
    """Write rules.svg, of what votes.json holds."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    file = folder / "votes.json"
    found = cases(json.loads(file.read_text())) if file.exists() else []
    found = [case for case in found if case.kind == "regression" and case.name in _NAMES]
    names = list(dict.fromkeys(case.name for case in found))
    if not names:
        return
    figure = Figure(figsize=(10, 5.4), layout="constrained")
    panels = list(figure.subplots(2, 3).flat)
    for axes in panels[len(names) :]:
        axes.set_visible(False)
    for axes, name in zip(panels, names, strict=False):
        for case in found:
            if case.name == name:
                _draw_case(axes, case)
        axes.set(title=name, xscale="log", xlabel="number of teachers")
        axes.margins(x=0.08, y=0.12)
    for axes in panels[::3]:
        axes.set_ylabel("accuracy of the student")
    lines, labels = panels[0].get_legend_handles_labels()
    figure.legend(lines, labels, loc="outside lower center", ncols=3)
    # With a fixed salt and no date, the same numbers give the same file
    with mpl.rc_context({"svg.hashsalt": "rules"}):
        figure.savefig(to / "rules.svg", metadata={"Date": None})


def _draw_case(axes, case):
    """A line of the best accuracy by number of teachers; a ring where the library's number is."""
    best = {}
    for n_teachers, _, _, score in case.points:
        best[n_teachers] = max(score, best.get(n_teachers, 0))
    sizes = sorted(best)
    colour, line = _LINES[case.epsilon]
    axes.plot(sizes, [best[n] for n in sizes], c=colour, ls=line, label=f"epsilon {case.epsilon:g}")
    chosen = Library().n_teachers(case)
    nearest = min(sizes, key=lambda n: max(n / chosen, chosen / n))
    axes.plot(nearest, best[nearest], "o", ms=9, mfc="none", c=colour)
