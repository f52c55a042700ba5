"""The figures: accuracy against epsilon, from the files of results alone."""

import json
import statistics

PAPERS = {
    "adult": [(2.66, 0.83, "2017"), (1.90, 0.837, "2018")],
    "students": [(2.04, 0.98, "2017, 100"), (8.03, 0.981, "2017, 1,000"), (1.97, 0.985, "2018")],
}
LINES = [  # epsilon, label, colour, marker (so that lines differ without colour, too)
    ("bound", "ours, the papers' bound (private)", "#56B4E9", "s"),
    ("exact", "ours, exact (private)", "#0072B2", "o"),
    ("data-independent", "ours, publishable", "#009E73", "D"),
]
BESIDE = {"textcoords": "offset points", "ha": "center", "size": 8}
METHODS = (("records", "#0072B2", "o", "-"), ("teachers", "#D55E00", "s", "--"))
PEERS = {"naive Bayes": "^", "logistic regression": "v", "random forest": "x"}


def points(entries, epsilon):
    """Mean (epsilon, accuracy, spread) of each entry that has both."""
    shown = []
    for entry in entries:
        ours = entry["ours"]
        if epsilon in ours and "accuracy" in ours:
            spread = statistics.stdev(ours["accuracy"]) if len(ours["accuracy"]) > 1 else 0.0
            mean = statistics.fmean(ours["accuracy"])
            shown.append((statistics.fmean(ours[epsilon]), mean, spread))
    return sorted(shown)


def headline(folder):
    """Write headline.svg: the papers, ours and others without public rows."""
    from matplotlib.figure import Figure

    loaded = {name: entries_of(folder, name) for name in ("adult", "students", "peers")}
    figure = Figure(figsize=(10, 5), layout="constrained")
    for axes, name, title, ticks in zip(
        figure.subplots(1, 2),
        PAPERS,
        ("UCI Adult", "MNIST"),
        ((0.25, 0.5, 1, 2, 4), (0.25, 0.5, 1, 2, 4, 8)),
        strict=True,
    ):
        for k, (epsilon, accuracy, label) in enumerate(PAPERS[name]):
            axes.plot(epsilon, accuracy, "k*", ms=11, label="" if k else "papers (bound, private)")
            axes.annotate(label, (epsilon, accuracy), (0, -12), **BESIDE)
        entries = [entry for entry in loaded.get(name, []) if entry["headline"]]
        for epsilon, label, colour, marker in LINES:
            errorbar(
                axes, points(entries, epsilon), ls="none", c=colour, marker=marker, label=label
            )
        if name == "adult":
            for model, marker in PEERS.items():
                entries = [e for e in loaded["peers"] if e["what"].startswith(model)]
                label = f"diffprivlib, {model}"
                style = {"ls": ":", "lw": 1, "c": "0.45", "marker": marker}
                errorbar(axes, points(entries, "any data"), label=label, **style)
            levels = [e["ours"] for e in loaded["peers"] if e["what"] == "no privacy"]
            for model, style in ("additive model", "--"), ("majority class", "-."):
                for level in levels:
                    mean = statistics.fmean(level[model])
                    axes.axhline(mean, c="0.6", lw=1, ls=style, label=f"no privacy, {model}")
        axes.set(title=title, xlabel="epsilon", ylabel="accuracy of the student", xscale="log")
        axes.set_xticks(ticks, ticks)
        axes.minorticks_off()
        axes.margins(x=0.08, y=0.12)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=8)
    save(figure, folder, "headline")


def records(folder):
    """Write records.svg: records that vote, and teachers."""
    from matplotlib.figure import Figure

    by_data = {}
    for entry in [*entries_of(folder, "records"), *entries_of(folder, "records_more")]:
        name, _, epsilon = entry["what"].rpartition(", epsilon ")
        name, _, method = name.rpartition(", ")
        if method in ("records", "teachers"):
            ours = entry["ours"] | {"epsilon": [float(epsilon)]}
            by_data.setdefault(name, {}).setdefault(method, []).append({"ours": ours})
    ticks = (0.1, 0.25, 0.5, 1, 2, 4)
    figure = Figure(figsize=(10, 3.6), layout="constrained")
    for axes, name in zip(figure.subplots(1, len(by_data)), by_data, strict=True):
        for method, c, marker, ls in METHODS:
            shown = points(by_data[name][method], "epsilon")
            errorbar(axes, shown, label=method, c=c, marker=marker, ls=ls)
        axes.set(title=name, xlabel="epsilon, replace one record", xscale="log")
        axes.set_xticks(ticks, ticks)
        axes.minorticks_off()
        axes.margins(x=0.08, y=0.12)
    figure.axes[0].set_ylabel("accuracy of the student")
    figure.axes[0].legend(loc="lower right")
    save(figure, folder, "records")


def save(figure, folder, name):
    """With a fixed salt and no date, the same numbers give the same file."""
    import matplotlib as mpl

    with mpl.rc_context({"svg.hashsalt": name}):
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None})


def entries_of(folder, name):
    return json.loads((folder / f"{name}.json").read_text())["entries"]


def errorbar(axes, points, **style):
    """Draw means with spreads, if there are any."""
    if points:
        x, y, spread = zip(*points, strict=True)
        axes.errorbar(x, y, spread, capsize=2, **style)
