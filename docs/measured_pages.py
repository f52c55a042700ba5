"""Pages of what was measured: the files of docs/results as tables, for the folder docs/measured."""

import csv
import re
import sys
from pathlib import Path

DOCS = Path(__file__).parent
RESULTS = DOCS / "results"
#: Tables that a script made which is no longer kept: how their files begin, and the page's title.
TITLES = {
    "neighbors": "Records that vote: how many, and what was tried",
    "networks": "Networks on a GPU",
    "rules": "How the defaults were set, and where they lose",
    "aggregators": "Aggregators at equal accuracy",
    "audit": "Audits",
    "scale": "Reading records from a file",
    "growth": "Time and memory as a fit grows",
    "shift": "Public rows from elsewhere",
    "tests": "What the tests find",
}
PICTURES = {"rules_teachers": "Accuracy against the number of teachers, at three epsilons"}


def section(file):
    """Return the words of a file, which are its comments, and its table."""
    lines = file.read_text(encoding="utf-8").splitlines()
    words = [line.removeprefix("#").removeprefix(" ") for line in lines if line.startswith("#")]
    header, *rows = csv.reader(line for line in lines if not line.startswith("#"))
    table = [header, ["---"] * len(header), *rows]
    picture = ""
    if file.stem in PICTURES:
        picture = f"\n\n![{PICTURES[file.stem]}](../results/rules.svg)"
    body = "\n".join(f"| {' | '.join(row)} |" for row in table)
    return f"## {words[0]}\n" + "\n".join(words[1:]) + f"{picture}\n\n{body}\n"


def pages():
    """Return all pages: name to text."""
    made = {}
    for name, title in TITLES.items():
        sections = [section(file) for file in sorted(RESULTS.glob(f"{name}_*.csv"))]
        made[name] = f"# {title}\n\n" + "\n".join(sections)
    sys.path.insert(0, str(DOCS.parent))
    from benchmarks.papers import command, page
    from benchmarks.peers import page as peers
    from benchmarks.peers.measure import Results

    made["papers"] = page.render(DOCS, command.NAMES)
    made["peers"] = peers.render(Results(RESULTS / "peers"))
    return made


def linked(text):
    """Return a page in which links to files lead to the pages that are made of them."""
    text = re.sub(r"\]\(\.\./examples/(\w+)\.py\)", r"](auto_examples/\1.rst)", text)
    text = re.sub(r"\]\(results/([a-z]+)_\w+\.csv\)", r"](measured/\1.md)", text)
    folders = {
        "../examples": "auto_examples/index.rst",
        "../sklearn_pate": "api/index.rst",
        "results/peers": "measured/peers.md",
        "results": "measured/papers.md",
    }
    for folder, page in folders.items():
        text = text.replace(f"]({folder})", f"]({page})")
    return text


def write(folder):
    """Write the pages that changed."""
    folder.mkdir(exist_ok=True)
    for name, text in pages().items():
        file = folder / f"{name}.md"
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")
