"""The figure of the guide to records that vote: accuracy against epsilon, theirs and teachers'."""

import json

from .headline import errorbar, points

_VOTERS = (("ballots", "#0072B2", "o", "-"), ("teachers", "#D55E00", "s", "--"))


def draw(folder):
    """Write ballots.svg, of what ballots.json holds, if there is something to compare in it."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    file = folder / "ballots.json"
    by_data = _by_data(json.loads(file.read_text())["entries"]) if file.exists() else {}
    if not by_data:
        return
    ticks = (0.1, 0.25, 0.5, 1, 2, 4)
    figure = Figure(figsize=(10, 3.6), layout="constrained")
    for axes, name in zip(figure.subplots(1, len(by_data)), by_data, strict=True):
        for voters, colour, marker, line in _VOTERS:
            shown = points(by_data[name][voters], "epsilon")
            errorbar(axes, shown, label=voters, c=colour, marker=marker, ls=line)
        axes.set(title=name, xlabel="epsilon, replace one record", xscale="log")
        axes.set_xticks(ticks, ticks)
        axes.minorticks_off()
        axes.margins(x=0.08, y=0.12)
    figure.axes[0].set_ylabel("accuracy of the student")
    figure.axes[0].legend(loc="lower right")
    # With a fixed salt and no date, the same numbers give the same file
    with mpl.rc_context({"svg.hashsalt": "ballots"}):
        figure.savefig(folder / "ballots.svg", metadata={"Date": None})


def _by_data(entries):
    """Entries by data and voters, of those that are named "data, voters, epsilon number"."""
    by_data = {}
    for entry in entries:
        name, _, epsilon = entry["what"].rpartition(", epsilon ")
        name, _, voters = name.rpartition(", ")
        if voters in ("ballots", "teachers"):
            ours = entry["ours"] | {"epsilon": [float(epsilon)]}
            both = by_data.setdefault(name, {"ballots": [], "teachers": []})
            both[voters].append(entry | {"ours": ours})
    return by_data
