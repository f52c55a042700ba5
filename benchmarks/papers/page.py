"""The papers' page: made from docs/results/*.json and nothing else."""

import ast
import json
import math
import statistics
from pathlib import Path

from . import figures

NO_BREAK = "\N{NO-BREAK SPACE}"
PICTURE = "![Accuracy against epsilon on UCI Adult and MNIST](../results/headline.svg)"


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
    """Return the meaning of a row, its place in the papers, how ours was made, and a note."""
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
    return words(ast.get_docstring(ast.parse(source)))


def words(docstring):
    """Title and text of a docstring."""
    title, _, text = docstring.partition("\n")
    return {"title": title.rstrip("."), "text": text.strip()}


def section(results):
    """One module's heading, text, command and table."""
    machine = results["machine"]
    made = f"`{results['command']}`" if "command" in results else f"Commit {results['commit']}"
    where = f"{machine['date']}, {machine['device']}, scikit-learn {machine['scikit-learn']}"
    lines = [
        f"## {results['title']}\n\n{results['text']}\n\n{made} ({where})\n",
        "| what | paper | ours |\n|---|---|---|",
    ]
    for entry in results["entries"]:
        mine = f"not run: needs {entry['missing']}" if entry["missing"] else ours(entry)
        lines.append(f"| {description(entry)} | {entry['reported']} | {mine} |")
    return "\n".join(lines)


def render(docs, names):
    """The page as text."""
    sections = []
    for name in names:
        results = json.loads((docs / "results" / f"{name}.json").read_text())
        sections.append(section(results if "commit" in results else results | heading(name)))
    head = heading("__init__")
    return "\n\n".join([f"# {head['title']}", head["text"], PICTURE, *sections]) + "\n"


def draw(docs):
    """Write the figures."""
    figures.headline(docs / "results")
    figures.records(docs / "results")
