"""The headline figure: accuracy against epsilon, from the results of the other modules alone."""

import json
import statistics

PAPERS = {
    "adult": [(2.66, 0.83, "2017"), (1.90, 0.837, "2018")],
    "students": [(2.04, 0.98, "2017, 100"), (8.03, 0.981, "2017, 1,000"), (1.97, 0.985, "2018")],
}
LINES = [  # epsilon, label, colour, marker: apart without colour, too
    ("bound", "ours, the papers' bound (private)", "#56B4E9", "s"),
    ("exact", "ours, exact (private)", "#0072B2", "o"),
    ("any votes", "ours, publishable", "#009E73", "D"),
]
PEERS = {"naive Bayes": "^", "logistic regression": "v", "random forest": "x"}


def points(entries, epsilon):
    """Mean (epsilon, accuracy, spread) of each entry that has both."""
    found = []
    for entry in entries:
        ours = entry["ours"]
        if epsilon in ours and "accuracy" in ours:
            spread = statistics.stdev(ours["accuracy"]) if len(ours["accuracy"]) > 1 else 0.0
            mean = statistics.fmean(ours["accuracy"])
            found.append((statistics.fmean(ours[epsilon]), mean, spread))
    return sorted(found)


def draw(folder):
    """Write headline.svg."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    loaded = {
        name: json.loads((folder / f"{name}.json").read_text())["entries"]
        for name in ("adult", "students", "peers")
        if (folder / f"{name}.json").exists()
    }
    figure = Figure(figsize=(10, 4.4), layout="constrained")
    for axes, name, title in zip(
        figure.subplots(1, 2), PAPERS, ("UCI Adult", "MNIST"), strict=True
    ):
        for k, (epsilon, accuracy, label) in enumerate(PAPERS[name]):
            axes.plot(epsilon, accuracy, "k*", ms=11, label="" if k else "papers (bound, private)")
            axes.annotate(label, (epsilon, accuracy), (6, -10), textcoords="offset points", size=8)
        for epsilon, label, colour, marker in LINES:
            found = points([e for e in loaded.get(name, []) if e["headline"]], epsilon)
            if found:
                x, y, spread = zip(*found, strict=True)
                axes.errorbar(
                    x, y, spread, ls="none", marker=marker, color=colour, label=label, capsize=2
                )
        if name == "adult":
            for model, marker in PEERS.items():
                found = points(
                    [e for e in loaded.get("peers", []) if e["what"].startswith(model)], "any data"
                )
                if found:
                    x, y, spread = zip(*found, strict=True)
                    axes.errorbar(
                        *(x, y, spread),
                        marker=marker,
                        ls=":",
                        lw=1,
                        color="0.45",
                        capsize=2,
                        label=f"diffprivlib, {model}",
                    )
            axes.axhline(0.7557, color="0.7", lw=1, label="majority class")
        axes.set(title=title, xlabel="epsilon", ylabel="accuracy of the student", xscale="log")
        axes.set_ylim(*((0.72, 0.86) if name == "adult" else (0.96, 1.0)))
        axes.xaxis.set_major_formatter("{x:g}")
        axes.legend(fontsize=8, loc="lower right")
    # the same file from the same numbers
    with mpl.rc_context({"svg.hashsalt": "headline"}):
        figure.savefig(folder / "headline.svg", metadata={"Date": None})
