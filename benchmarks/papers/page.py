"""The page "Results": made from docs/results/*.json and nothing else."""

import ast
import json
import math
import statistics
from pathlib import Path

from . import ballots_figure, headline

NO_BREAK = "\N{NO-BREAK SPACE}"
HEAD = """# Results: the papers, side by side

<!-- Made by `python -m benchmarks.papers --page` from docs/results/*.json: do not edit. -->

Each row is a result of a paper, as printed there, and ours, by the command above its table. *2017*
and *2018* are Papernot et al. (arXiv 1610.05755 and 1802.08908), *near-zero-cost* is Sun et al.
(2020). Where several seeds ran, ours is mean ± standard deviation of single runs, with the lowest
and the highest in brackets; a seed changes what the setting says. delta is 1e-5 unless said
otherwise.

Four epsilons: *bound* is the papers' bound, converted as they did: it depends on the votes, so it
is private, and it bounds one direction. *Exact* is the cost of the same votes, computed: private
too. *Data-independent* holds whatever the data are: it may be published; it can be below *bound*,
whose theorem and conversion are looser ([errata](errata.md)). *Claimed* is what a paper says of a
mechanism that does not have it. Time is that of all seeds of a row; what several rows share
(teachers) is counted in the first of them.

Rows on "shared votes" read the counts of 250 teachers from a file that is not part of this
project: `mnist_250_cnn.npz` or `adult_250_random_forest.npz`. The sections on teachers and on Adult
train such teachers themselves.

![Accuracy against epsilon on UCI Adult and MNIST](results/headline.svg)

"""


def number(value):
    """Four digits; infinity and NaN in words."""
    if math.isinf(value) or math.isnan(value):
        return str(value)
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def ours(entry):
    """Each quantity with mean, spread and range over seeds."""
    cells = []
    for name, values in entry["ours"].items():
        text = f"{name}: **{number(statistics.fmean(values))}**"
        if len(set(values)) > 1:
            extremes = f"[{number(min(values))}, {number(max(values))}]"
            text += f" ± {statistics.stdev(values):.2g} {extremes}"
        cells.append(text)
    return "<br>".join(cell.replace(" ", NO_BREAK) for cell in cells)


def description(entry):
    """What a row is, where the papers have it, how ours was made, and a note."""
    source = f" ({entry['source']})" if entry["source"] else ""
    why = f"*Note:* {entry['why']}." if entry["why"] else ""
    made = f"{entry['setting']}; {duration(entry)}." if entry["ours"] else entry["setting"]
    return "<br>".join(filter(None, (f"**{entry['what']}**{source}", made, why)))


def duration(entry):
    """Seconds or minutes, with the time of votes that an earlier run made."""
    seconds = entry["seconds"] + entry["earlier"]
    if seconds < 1:
        return "< 1 s"
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def heading(name):
    """Title and text of a section: the module's docstring."""
    source = (Path(__file__).parent / f"{name}.py").read_text(encoding="utf-8")
    title, _, text = ast.get_docstring(ast.parse(source)).partition("\n")
    return {"title": title.rstrip("."), "text": text.strip()}


def section(results):
    """One module's heading, text, command and table."""
    machine = results["machine"]
    lines = [
        f"## {results['title']}",
        "",
        results["text"],
        "",
        f"`{results['command']}` ({machine['date']}, {machine['device']}, "
        f"scikit-learn {machine['scikit-learn']})",
        "",
        "| what | paper | ours |",
        "|---|---|---|",
    ]
    for entry in results["entries"]:
        mine = f"not run: needs {entry['missing']}" if entry["missing"] else ours(entry)
        lines.append(f"| {description(entry)} | {entry['reported']} | {mine} |")
    return "\n".join(lines)


def render(docs, names):
    """The page as text; modules that have not run yet are named at its end."""
    files = {name: docs / "results" / f"{name}.json" for name in names}
    done = [
        json.loads(file.read_text()) | heading(name)
        for name, file in files.items()
        if file.exists()
    ]
    missing = [f"`{name}`" for name, file in files.items() if not file.exists()]
    tail = f"\n\nNot run yet: {', '.join(missing)}.\n" if missing else "\n"
    return HEAD + "\n\n".join(section(results) for results in done) + tail


def write_page(docs, names):
    """Write docs/results.md and its figures."""
    (docs / "results.md").write_text(render(docs, names), encoding="utf-8")
    headline.draw(docs / "results")
    ballots_figure.draw(docs / "results")
