"""Rebuild the papers' results.

Each module's entries go to docs/results/<name>.json; the page, which is made with the others by
`make docs`, and its figures (`--page` makes only them) follow from those files alone. All modules
take two hours on two cores, and need the extras `torch` and `plot`. `git diff` then shows what
other seeds (`--first-seed 100`) change.
"""

import argparse
import importlib
import json
import os
import sys
import time
from dataclasses import asdict
from pathlib import Path

from ..shared import MissingError, machine
from .page import draw

#: Sections in the order of the page. A module of that name has `entries(seeds)`, which yields
#: entries; where there is none, the file of results has the commit that had one.
NAMES = (
    *("adult", "diabetes", "teachers", "students", "distillation", "questions", "composition"),
    *("noise", "bounds", "selective", "sanitised", "private_labels", "glyph", "zero_cost"),
    *("records", "records_more", "no_public", "experiments", "peers"),
)
KEPT = [name for name in NAMES if (Path(__file__).parent / f"{name}.py").exists()]
DOCS = Path(__file__).parents[2] / "docs"


def run(name, seeds):
    """All entries of a module, each with the seconds it took."""
    module = importlib.import_module(f".{name}", __package__)
    done = []
    start = time.monotonic()
    for entry in module.entries(seeds):
        ours = {key: [float(value) for value in values] for key, values in entry.ours.items()}
        done.append(asdict(entry) | {"ours": ours, "seconds": time.monotonic() - start})
        print(f"{entry.source}, {entry.what}: {entry.ours}", flush=True)
        start = time.monotonic()
    command = f"python -m benchmarks papers --only {name} --seeds {len(seeds)}"
    if seeds[0]:
        command += f" --first-seed {seeds[0]}"
    return {"command": command, "machine": machine() | {"device": device()}, "entries": done}


def device():
    """What networks are trained on."""
    try:
        import torch
    except ImportError:
        torch = None
    if torch is not None and torch.cuda.is_available():
        return torch.cuda.get_device_name()
    return f"{os.cpu_count()} cores"


def main(arguments):
    """Run some modules and draw the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks papers", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=KEPT, default=KEPT, metavar="NAME")
    parser.add_argument("--seeds", type=int, default=5, metavar="N")
    parser.add_argument("--first-seed", type=int, default=0, metavar="S")
    parser.add_argument("--page", action="store_true", help="run nothing, draw the figures")
    args = parser.parse_args(arguments)
    seeds = range(args.first_seed, args.first_seed + args.seeds)
    left = []
    for name in () if args.page else args.only:
        try:
            results = run(name, seeds)
        except MissingError as error:
            left.append(f"{name} is left as before: it needs {error}")
        else:
            (DOCS / "results" / f"{name}.json").write_text(json.dumps(results, indent=1) + "\n")
    draw(DOCS)
    sys.exit("\n".join(left) or None)
